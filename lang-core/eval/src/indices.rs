//! **Evaluation of index expressions** and predicates at concrete numbers (ATL Fig. 5). The
//! evaluators of core and of Tensor SSA share it; each implements [`Numbers`] for its own
//! variables.

use super::eval::Stopped;
use lang_base::GlobalName;
use lang_runtime::scalar::i64s;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::BinOp;

type Eval<T> = Result<T, Stopped>;

/// The defect reported if an index or a predicate reads an element out of bounds.
pub(super) const OUTSIDE: &str = "an element outside";

/// The values of the variables in index expressions and predicates.
pub(super) trait Numbers {
    /// Returns an index, a size or an integer.
    fn local(&self, x: LocalId) -> Eval<i64>;
    /// Returns an integer bound by a top-level `let`.
    fn global(&self, name: &GlobalName) -> Eval<i64>;
    /// Returns an element of an array of integers.
    fn read(&self, x: LocalId, at: &[i64]) -> Eval<i64>;
    /// Returns an element of an array of truth values.
    fn truth(&self, x: LocalId, at: &[i64]) -> Eval<bool>;
    /// Whether the tuple is a member of the relation.
    fn member(&self, x: LocalId, at: &[i64]) -> Eval<bool>;
    /// Binds the variable of an existential to a value, or unbinds it.
    fn bind(&mut self, x: LocalId, value: Option<i64>);
    /// Counts one step against the limit.
    fn step(&mut self) -> Eval<()>;
}

/// Returns the value of an index expression, in wrapping `i64` arithmetic.
pub(super) fn poly(of: &impl Numbers, p: &Poly) -> Eval<i64> {
    let mut sum = 0_i64;
    for (m, c) in p.terms() {
        #[expect(clippy::cast_possible_truncation, reason = "arithmetic modulo 2^64")]
        let mut product = *c as i64;
        for (a, k) in m {
            product = product.wrapping_mul(atom(of, a)?.wrapping_pow(*k));
        }
        sum = sum.wrapping_add(product);
    }
    Ok(sum)
}

fn polys(of: &impl Numbers, at: &[Poly]) -> Eval<Vec<i64>> {
    at.iter().map(|p| poly(of, p)).collect()
}

fn atom(of: &impl Numbers, a: &Atom) -> Eval<i64> {
    Ok(match a {
        Atom::Local(x, _) => of.local(*x)?,
        Atom::Global(name) => of.global(name)?,
        Atom::Read(x, _, at) => of.read(*x, &polys(of, at)?)?,
        Atom::Div(p, q) | Atom::Mod(p, q) => {
            let op = if matches!(a, Atom::Div(..)) { BinOp::FloorDiv } else { BinOp::Mod };
            // In an empty range a divisor may be 0. The element is then never read.
            i64s::arith(op, poly(of, p)?, poly(of, q)?).unwrap_or(0)
        }
        Atom::Min(p, q) => poly(of, p)?.min(poly(of, q)?),
        Atom::Max(p, q) => poly(of, p)?.max(poly(of, q)?),
        Atom::Bound(..) | Atom::Arg(..) | Atom::Meta(_) | Atom::Overflow => return Err(Stopped::Broken("a size")),
    })
}

/// Returns the exact value of a polynomial in a comparison.
pub(super) fn compared(of: &impl Numbers, p: &Poly) -> Eval<i128> {
    let mut sum = 0_i128;
    for (m, c) in p.terms() {
        let mut product = *c;
        for (a, k) in m {
            product = product.saturating_mul(i128::from(atom(of, a)?).saturating_pow(*k));
        }
        sum = sum.saturating_add(product);
    }
    Ok(sum)
}

/// Evaluates a predicate. A predicate that reads out of bounds is undefined, which is an error with
/// [`OUTSIDE`]. Undefined parts do not matter if others decide: a false part of a conjunction, a
/// true part of a disjunction, or a witness of an existential.
pub(super) fn holds(of: &mut impl Numbers, p: &Pred) -> Eval<bool> {
    of.step()?;
    Ok(match p {
        Pred::And(items) => {
            // A part that reads data is evaluated only if all other parts hold.
            let mut outside = false;
            for late in [false, true] {
                for p in items.iter().filter(|p| p.is_opaque() == late) {
                    match holds(of, p) {
                        Ok(true) => {}
                        Ok(false) => return Ok(false),
                        Err(Stopped::Broken(OUTSIDE)) => outside = true,
                        Err(stopped) => return Err(stopped),
                    }
                }
            }
            if outside {
                return Err(Stopped::Broken(OUTSIDE));
            }
            true
        }
        Pred::Or(items) => {
            let mut outside = false;
            for p in &**items {
                match holds(of, p) {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(Stopped::Broken(OUTSIDE)) => outside = true,
                    Err(stopped) => return Err(stopped),
                }
            }
            if outside {
                return Err(Stopped::Broken(OUTSIDE));
            }
            false
        }
        Pred::Ge(p) => compared(of, p)? >= 0,
        Pred::Eq(p) => compared(of, p)? == 0,
        Pred::Ne(p) => compared(of, p)? != 0,
        Pred::Is(x, _, at, holds) => of.truth(*x, &polys(of, at)?)? == *holds,
        Pred::Member(x, _, at, holds) => of.member(*x, &polys(of, at)?)? == *holds,
        Pred::Any(index, body, wanted) => {
            let (mut found, mut outside) = (false, false);
            for i in 0..poly(of, &index.extent)? {
                of.bind(index.local, Some(i));
                match holds(of, body) {
                    Ok(holds) => found = holds,
                    Err(Stopped::Broken(OUTSIDE)) => outside = true,
                    Err(stopped) => return Err(stopped),
                }
                if found {
                    break;
                }
            }
            of.bind(index.local, None);
            if outside && !found {
                return Err(Stopped::Broken(OUTSIDE));
            }
            found == *wanted
        }
    })
}
