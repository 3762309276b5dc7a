//! Index expressions and predicates at numbers (ATL Fig. 5), for the evaluators: each says what its variables are.

use super::eval::Stopped;
use crate::base::GlobalName;
use crate::interp::scalar::i64s;
use crate::predicate::{Atom, LocalId, Poly, Pred};
use crate::syntax::ops::BinOp;

type Eval<T> = Result<T, Stopped>;

/// What is broken where an index or predicate reads an element that there is not.
pub(super) const OUTSIDE: &str = "an element outside";

/// What the variables of index expressions and predicates are.
pub(super) trait Numbers {
    /// An index, a size, an integer.
    fn local(&self, x: LocalId) -> Eval<i64>;
    /// An integer bound by a top-level `let`.
    fn global(&self, name: &GlobalName) -> Eval<i64>;
    /// An element of an array of integers.
    fn read(&self, x: LocalId, at: &[i64]) -> Eval<i64>;
    /// An element of an array of truth values.
    fn truth(&self, x: LocalId, at: &[i64]) -> Eval<bool>;
    /// Is it a member of the relation?
    fn member(&self, x: LocalId, at: &[i64]) -> Eval<bool>;
    /// The variable of an existential has this value from now on; none after it.
    fn bind(&mut self, x: LocalId, value: Option<i64>);
    /// One step more.
    fn step(&mut self) -> Eval<()>;
}

/// The value of an index expression; what wraps, wraps.
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
            // In an empty range a divisor may be 0; the element is not asked for.
            i64s::arith(op, poly(of, p)?, poly(of, q)?).unwrap_or(0)
        }
        Atom::Min(p, q) => poly(of, p)?.min(poly(of, q)?),
        Atom::Max(p, q) => poly(of, p)?.max(poly(of, q)?),
        Atom::Bound(..) | Atom::Arg(..) | Atom::Meta(_) | Atom::Overflow => return Err(Stopped::Broken("a size")),
    })
}

/// A polynomial that is compared: exactly.
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

/// Does the predicate hold? What reads outside is neither true nor false, and so is what it decides: a disjunction of
/// which another part holds is true, an existential that has a tuple is.
pub(super) fn holds(of: &mut impl Numbers, p: &Pred) -> Eval<bool> {
    of.step()?;
    Ok(match p {
        Pred::And(items) => {
            // What reads data is asked only where the rest holds.
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
