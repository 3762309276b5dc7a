//! **Deferred checks.** A check on loop-carried data, such as an index that the loop computes,
//! cannot be hoisted. The pass drops it from the body, carries a truth value of all checks so far,
//! and checks that value after the loop.
//!
//! ```text
//! L0 = loop j0 < n {                            L0 = loop j0 < n {
//!   check 0: Y1 < m
//!   Y0 = given X0                                 Y0 = given X0
//!   Y1 = carried X1 then Y2                       Y1 = carried X1 then Y2
//!   Y2 = Y0[Y1]  needs 0                          Y2 = Y0[Y1]
//! }                                               Y3 = carried X3 then Y5
//! X2 = L0.last Y1                                 Y4 = true
//!                                                 Y5 = [Y3 && Y1 < m] * Y4
//!                                               }
//!                                               check 0: X4
//!                                               X2 = L0.last Y1  needs 0
//!                                               X3 = true
//!                                               X4 = L0.last Y3
//! ```
//!
//! Compiled code reads another element in place of one out of bounds; the results are discarded,
//! because the final check fails. A `while` loop also ends at the first failed check, because it
//! might not terminate otherwise. The interpreter then reports which check failed. As separate
//! steps such loops would fail late, so they are left unchanged in that case (`in_order`).

use std::sync::Arc;

use lang_ir::core::{Constant, Failing, Leaf};
use lang_ir::flat::{Input, Source};
use lang_ir::region::{Arg, Loop, Part, Trips};
use lang_ir::ssa::{Access, Check, Rhs, Ssa, Stmt, Var, for_each_read, index};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// A loop, and its form with deferred checks.
pub(super) type Pair = (Arc<Loop>, Arc<Loop>);

/// Defers the checks of the loops of a function, except the loops in `steps`. `None` if nothing
/// changes.
pub(super) fn watched(ssa: &Ssa, steps: &[Arc<Loop>]) -> Option<(Ssa, Vec<Pair>)> {
    let mut tried: Vec<&Arc<Loop>> = steps.iter().collect();
    let mut made = ssa.clone();
    let mut all = Vec::new();
    for stmt in &ssa.stmts {
        let Rhs::Loop(of, _) = &stmt.rhs else { continue };
        if tried.iter().any(|other| Arc::ptr_eq(other, of) || *other == of) {
            continue;
        }
        tried.push(of);
        if let Some(watched) = Watched::new(of) {
            all.push((Arc::clone(of), watched.put(of, &mut made)?));
        }
    }
    (!all.is_empty()).then_some((made, all))
}

/// A loop in the making.
struct Watched {
    body: Ssa,
    args: Vec<Arg>,
    /// What is wrong where not all is so.
    failing: Arc<Failing>,
}

impl Watched {
    /// The loop without the checks of its body that cannot be asked before it, if there are any.
    fn new(of: &Loop) -> Option<Self> {
        let body = &*of.body;
        let mut asked: Vec<u32> = body.stmts.iter().flat_map(|stmt| &stmt.needs).chain(&body.needs).copied().collect();
        asked.sort_unstable();
        asked.dedup();
        // Of a loop that data end they would be asked for iterations that there are not.
        let endless = matches!(of.trips, Trips::While(_));
        asked.retain(|c| endless || body.checks.get(*c as usize).is_some_and(|check| is_late(of, check)));
        let checks: Vec<&Check> = asked.iter().filter_map(|c| body.checks.get(*c as usize)).collect();
        let failing = Arc::clone(&checks.first()?.what);
        let mut made = Self { body: body.clone(), args: of.args.clone(), failing };
        let needs = made.body.stmts.iter_mut().map(|stmt| &mut stmt.needs).chain([&mut made.body.needs]);
        needs.for_each(|needs| needs.retain(|c| !asked.contains(c)));
        if endless {
            made.body.checks.clear();
        }
        made.carries(&checks)?;
        if let Trips::While(k) = of.trips {
            made.ends(k)?;
        }
        Some(made)
    }

    /// Carries whether all checks held, in the last input.
    fn carries(&mut self, checks: &[&Check]) -> Option<()> {
        let leaf = Leaf { path: Vec::new(), dims: Vec::new(), scalar: Some(Scalar::Bool) };
        let k = u32::try_from(self.body.inputs.len()).ok()?;
        let local = self.body.vars.fresh("fine");
        self.body.inputs.push(Input { local, source: Source::Param(k), leaf: leaf.clone() });
        let before = self.push(Scalar::Bool, Rhs::Input(k))?;
        let mut all = vec![holds(before, Vec::new())];
        for check in checks {
            let fails = check.guard.and(&check.cond.negated());
            all.push(match check.dims.is_empty() {
                true => fails.negated(),
                false => {
                    let one = self.push(Scalar::I64, Rhs::Constant(Constant::Int(1)))?;
                    let (bound, factors) = (check.dims.clone(), vec![whole(one)]);
                    let count = self.push(Scalar::I64, Rhs::Contract { bound, pred: fails, neg: false, factors })?;
                    Pred::zero(&Poly::atom(Atom::Read(count.local(), count.name(), Vec::new().into())))
                }
            });
        }
        let yes = self.push(Scalar::Bool, Rhs::Constant(Constant::Bool(true)))?;
        let after = self.where_holds(Pred::all(all), yes)?;
        // What it begins with is known where the loop is put.
        let next = self.output(leaf, after)?;
        self.args.push(Arg::Carried { init: whole(before), next });
        Some(())
    }

    /// A loop that goes on while this input holds ends where a check failed, too.
    fn ends(&mut self, k: u32) -> Option<()> {
        let Arg::Carried { init, next } = self.args.get(k as usize)?.clone() else { return None };
        let fine = self.body.outputs.last()?.1;
        let (leaf, asked) = self.body.outputs.get(next as usize)?.clone();
        let goes_on = self.where_holds(holds(fine, Vec::new()), asked)?;
        let next = self.output(leaf, goes_on)?;
        *self.args.get_mut(k as usize)? = Arg::Carried { init, next };
        Some(())
    }

    /// A truth value where the predicate holds.
    fn where_holds(&mut self, pred: Pred, of: Var) -> Option<Var> {
        self.push(Scalar::Bool, Rhs::Contract { bound: Vec::new(), pred, neg: false, factors: vec![whole(of)] })
    }

    fn push(&mut self, scalar: Scalar, rhs: Rhs) -> Option<Var> {
        push(&mut self.body, Vec::new(), scalar, rhs)
    }

    fn output(&mut self, leaf: Leaf, var: Var) -> Option<u32> {
        self.body.outputs.push((leaf, var));
        u32::try_from(self.body.outputs.len() - 1).ok()
    }

    /// Puts it where the loop was, of which nothing is read that failed.
    fn put(mut self, of: &Arc<Loop>, ssa: &mut Ssa) -> Option<Arc<Loop>> {
        let yes = push(ssa, Vec::new(), Scalar::Bool, Rhs::Constant(Constant::Bool(true)))?;
        let number = u32::try_from(self.args.len()).ok()?.checked_sub(1)?;
        if let Some(Arg::Carried { init, .. }) = self.args.last_mut() {
            *init = whole(yes);
        }
        let made = Arc::new(Loop { args: self.args, body: Arc::new(self.body), ..Loop::clone(of) });
        let fine = push(ssa, of.batch.clone(), Scalar::Bool, Rhs::Loop(Arc::clone(&made), Part::Last(number)))?;
        let at = (0..of.batch.len()).map(|k| index(k, &Poly::default()).value()).collect();
        let check = u32::try_from(ssa.checks.len()).ok()?;
        let cond = holds(fine, at);
        ssa.checks.push(Check { dims: of.batch.clone(), guard: Pred::truth(), cond, what: self.failing });
        for stmt in &mut ssa.stmts {
            if let Rhs::Loop(other, part) = &stmt.rhs
                && (Arc::ptr_eq(other, of) || other == of)
            {
                stmt.rhs = Rhs::Loop(Arc::clone(&made), *part);
                stmt.needs.push(check);
            }
        }
        Some(made)
    }
}

/// Does a check ask for what the loop carries or computes?
fn is_late(of: &Loop, check: &Check) -> bool {
    let is_carried = |k: u32| matches!(of.args.get(k as usize), Some(Arg::Carried { .. }));
    let mut late = false;
    let mut computed = |var: Var| match of.body.stmts.get(var.0 as usize).map(|stmt| &stmt.rhs) {
        Some(Rhs::Input(k)) => late |= is_carried(*k),
        _ => late = true,
    };
    [&check.guard, &check.cond].into_iter().for_each(|p| for_each_read(p, &mut computed));
    let mut local = |p: &Poly| {
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) = a
                && let Some(k) = of.body.inputs.iter().position(|input| input.local == *l)
            {
                late |= u32::try_from(k).is_ok_and(is_carried);
            }
        });
    };
    check.dims.iter().for_each(&mut local);
    [&check.guard, &check.cond].into_iter().for_each(|p| p.visit(&mut local, &mut |_| {}));
    late
}

fn push(ssa: &mut Ssa, dims: Vec<Poly>, scalar: Scalar, rhs: Rhs) -> Option<Var> {
    let var = Var(u32::try_from(ssa.stmts.len()).ok()?);
    ssa.stmts.push(Stmt { dims, scalar: Some(scalar), rhs, needs: Vec::new(), name: None });
    Some(var)
}

fn whole(var: Var) -> Access {
    Access { var, at: Vec::new() }
}

fn holds(var: Var, at: Vec<Poly>) -> Pred {
    Pred::Is(var.local(), var.name(), at.into(), true)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use lang_reader::read_ssa;

    #[track_caller]
    fn check(of_loop: &str, expected: Expect) {
        let text = format!(
            "ssa f[n, m](x: [n]f64, k: [n]i64) -> i64 =
  X0[i0 < n]: f64 = input x
  X1[i0 < n]: i64 = input k
  X2: i64 = 0
  X3: bool = true
{of_loop}
  X4: i64 = L0.last Y1
  out X4
"
        );
        let ssa = read_ssa("a.iv", &text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let made = watched(&ssa, &[]).map_or("it stays\n".to_owned(), |(ssa, _)| {
            let text = ssa.to_string();
            let shown = text.lines().skip(1).filter(|line| !line.contains(" = input "));
            shown.map(|line| format!("{}\n", line.get(2..).unwrap_or_default())).collect()
        });
        expected.assert_eq(&made);
    }

    #[test]
    fn what_is_asked_of_what_is_carried_is_asked_last() {
        check(
            "  L0 = loop j0 < n with n {
    check 0: Y1 < n && 0 <= Y1, E0500 \"index out of bounds\"
    Y0[i0 < n]: i64 = given X1
    Y1: i64 = carried X2 then Y2
    Y2: i64 = Y0[Y1]  needs 0
  }",
            expect![[r#"
                  check 0: X6, E0500 "index out of bounds"
                  X2: i64 = 0
                  X3: bool = true
                  L0 = loop j0 < n with n {
                    check 0: Y1 < n && 0 <= Y1, E0500 "index out of bounds"
                    Y0[i0 < n]: i64 = given X1
                    Y1: i64 = carried X2 then Y3
                    Y2: bool = carried X5 then Y5
                    Y3: i64 = Y0[Y1]
                    Y4: bool = true
                    Y5: bool = [Y1 < n && 0 <= Y1 && Y2] * Y4
                  }
                  X4: i64 = L0.last Y1  needs 0
                  X5: bool = true
                  X6: bool = L0.last Y2
                  out X4
            "#]],
        );
    }

    #[test]
    fn what_data_end_ends_where_a_check_fails() {
        check(
            "  L0 = loop j0 while Y2 with n {
    check 0: Y1 < n && 0 <= Y1, E0500 \"index out of bounds\"
    check 1[i0 < n]: Y0[i0] != Y1, E0505 \"division by zero\"
    Y0[i0 < n]: i64 = given X1
    Y1: i64 = carried X2 then Y3
    Y2: bool = carried X3 then Y4
    Y3: i64 = Y0[Y1]  needs 0, 1
    Y4: bool = [Y3 < 5] * Y2
  }",
            expect![[r#"
                  check 0: X6, E0500 "index out of bounds"
                  X2: i64 = 0
                  X3: bool = true
                  L0 = loop j0 while Y2 with n {
                    Y0[i0 < n]: i64 = given X1
                    Y1: i64 = carried X2 then Y4
                    Y2: bool = carried X3 then Y10
                    Y3: bool = carried X5 then Y9
                    Y4: i64 = Y0[Y1]
                    Y5: bool = [Y4 <= 4] * Y2
                    Y6: i64 = 1
                    Y7: i64 = sum i0 < n: [Y0[i0] == Y1] * Y6
                    Y8: bool = true
                    Y9: bool = [Y1 < n && 0 <= Y1 && Y7 == 0 && Y3] * Y8
                    Y10: bool = [Y9] * Y5
                  }
                  X4: i64 = L0.last Y1  needs 0
                  X5: bool = true
                  X6: bool = L0.last Y3
                  out X4
            "#]],
        );
    }

    #[test]
    fn what_is_asked_of_what_is_given_is_asked_before() {
        check(
            "  L0 = loop j0 < n with n {
    check 0: Y2 < n && 0 <= Y2, E0500 \"index out of bounds\"
    Y0[i0 < n]: i64 = given X1
    Y1: i64 = carried X2 then Y3
    Y2: i64 = given X1[j0]
    Y3: i64 = Y1 + Y0[Y2]  needs 0
  }",
            expect![[r#"
            it stays
        "#]],
        );
    }
}
