//! **Evaluation of index expressions** and predicates at concrete numbers (ATL Fig. 5). The
//! evaluators of core and of Tensor SSA share it; each implements [`IndexEnv`] for its own
//! variables.

use super::eval_core::EvalError;
use lang_base::GlobalName;
use lang_runtime::scalar::i64s;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::BinOp;

type IndexResult<T> = Result<T, EvalError>;

/// The defect reported if an index or a predicate reads an element out of bounds.
pub(super) const OUT_OF_BOUNDS: &str = "an element outside";

/// The values of the variables in index expressions and predicates.
pub(super) trait IndexEnv {
    /// Returns an index, a size or an integer.
    fn local_value(&self, x: LocalId) -> IndexResult<i64>;
    /// Returns an integer bound by a top-level `let`.
    fn global_value(&self, name: &GlobalName) -> IndexResult<i64>;
    /// Returns an element of an array of integers.
    fn integer_element(&self, x: LocalId, at: &[i64]) -> IndexResult<i64>;
    /// Returns an element of an array of truth values.
    fn bool_element(&self, x: LocalId, at: &[i64]) -> IndexResult<bool>;
    /// Whether the tuple is a member of the relation.
    fn is_member(&self, x: LocalId, at: &[i64]) -> IndexResult<bool>;
    /// Binds the variable of an existential to a value, or unbinds it.
    fn bind_existential(&mut self, x: LocalId, value: Option<i64>);
    /// Counts one step against the limit.
    fn count_step(&mut self) -> IndexResult<()>;
}

/// Returns the value of an index expression, in wrapping `i64` arithmetic.
pub(super) fn eval_poly(of: &impl IndexEnv, p: &Poly) -> IndexResult<i64> {
    let mut sum = 0_i64;
    for (m, c) in p.terms() {
        #[expect(clippy::cast_possible_truncation, reason = "arithmetic modulo 2^64")]
        let mut product = *c as i64;
        for (a, k) in m {
            product = product.wrapping_mul(eval_atom(of, a)?.wrapping_pow(*k));
        }
        sum = sum.wrapping_add(product);
    }
    Ok(sum)
}

fn eval_polys(of: &impl IndexEnv, at: &[Poly]) -> IndexResult<Vec<i64>> {
    at.iter().map(|p| eval_poly(of, p)).collect()
}

fn eval_atom(of: &impl IndexEnv, a: &Atom) -> IndexResult<i64> {
    Ok(match a {
        Atom::Local(x, _) => of.local_value(*x)?,
        Atom::Global(name) => of.global_value(name)?,
        Atom::Read(x, _, at) => of.integer_element(*x, &eval_polys(of, at)?)?,
        Atom::Div(p, q) | Atom::Mod(p, q) => {
            let op = if matches!(a, Atom::Div(..)) { BinOp::FloorDiv } else { BinOp::Mod };
            // In an empty range a divisor may be 0. The element is then never read.
            i64s::arith(op, eval_poly(of, p)?, eval_poly(of, q)?).unwrap_or(0)
        }
        Atom::Min(p, q) => eval_poly(of, p)?.min(eval_poly(of, q)?),
        Atom::Max(p, q) => eval_poly(of, p)?.max(eval_poly(of, q)?),
        Atom::SizeParam(..) | Atom::Arg(..) | Atom::Meta(_) | Atom::Overflow => {
            return Err(EvalError::IllFormed("a size"));
        }
    })
}

/// Returns the exact value of a polynomial in a comparison.
pub(super) fn eval_comparand(of: &impl IndexEnv, p: &Poly) -> IndexResult<i128> {
    let mut sum = 0_i128;
    for (m, c) in p.terms() {
        let mut product = *c;
        for (a, k) in m {
            product = product.saturating_mul(i128::from(eval_atom(of, a)?).saturating_pow(*k));
        }
        sum = sum.saturating_add(product);
    }
    Ok(sum)
}

/// Evaluates a predicate. A predicate that reads out of bounds is undefined, which is an error with
/// [`OUT_OF_BOUNDS`]. Undefined parts do not matter if others decide: a false part of a
/// conjunction, a true part of a disjunction, or a witness of an existential.
pub(super) fn eval_pred(of: &mut impl IndexEnv, p: &Pred) -> IndexResult<bool> {
    of.count_step()?;
    Ok(match p {
        Pred::And(items) => {
            // A part that reads data is evaluated only if all other parts hold.
            let mut outside = false;
            for late in [false, true] {
                for p in items.iter().filter(|p| p.depends_on_data() == late) {
                    match eval_pred(of, p) {
                        Ok(true) => {}
                        Ok(false) => return Ok(false),
                        Err(EvalError::IllFormed(OUT_OF_BOUNDS)) => outside = true,
                        Err(stopped) => return Err(stopped),
                    }
                }
            }
            if outside {
                return Err(EvalError::IllFormed(OUT_OF_BOUNDS));
            }
            true
        }
        Pred::Or(items) => {
            let mut outside = false;
            for p in &**items {
                match eval_pred(of, p) {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(EvalError::IllFormed(OUT_OF_BOUNDS)) => outside = true,
                    Err(stopped) => return Err(stopped),
                }
            }
            if outside {
                return Err(EvalError::IllFormed(OUT_OF_BOUNDS));
            }
            false
        }
        Pred::Ge(p) => eval_comparand(of, p)? >= 0,
        Pred::Eq(p) => eval_comparand(of, p)? == 0,
        Pred::Ne(p) => eval_comparand(of, p)? != 0,
        Pred::Element(x, _, at, holds) => of.bool_element(*x, &eval_polys(of, at)?)? == *holds,
        Pred::Member(x, _, at, holds) => of.is_member(*x, &eval_polys(of, at)?)? == *holds,
        Pred::Exists(index, body, wanted) => {
            let (mut found, mut outside) = (false, false);
            for i in 0..eval_poly(of, &index.extent)? {
                of.bind_existential(index.local, Some(i));
                match eval_pred(of, body) {
                    Ok(holds) => found = holds,
                    Err(EvalError::IllFormed(OUT_OF_BOUNDS)) => outside = true,
                    Err(stopped) => return Err(stopped),
                }
                if found {
                    break;
                }
            }
            of.bind_existential(index.local, None);
            if outside && !found {
                return Err(EvalError::IllFormed(OUT_OF_BOUNDS));
            }
            found == *wanted
        }
    })
}
