//! **Deferred checks.** A check on loop-carried data, such as an index that the loop computes,
//! cannot be hoisted. The pass drops it from the body, carries a truth value of all checks so far,
//! and checks that value after the loop.
//!
//! ```text
//! X2 = loop j0 < n {                            X2 = loop j0 < n {
//!   check 0: Y1 < m
//!   Y0 = given X0                                 Y0 = given X0
//!   Y1 = carried X1 then Y2                       Y1 = carried X1 then Y2
//!   Y2 = Y0[Y1]  needs 0                          Y2 = Y0[Y1]
//! }                                               Y3 = carried X4 then Y5
//! X3 = X2.last Y1                                 Y4 = true
//!                                                 Y5 = [Y3 && Y1 < m] * Y4
//!                                               }
//!                                               check 0: X5
//!                                               X3 = X2.last Y1  needs 0
//!                                               X4 = true
//!                                               X5 = X2.last Y3
//! ```
//!
//! Compiled code reads another element in place of one out of bounds; the results are discarded,
//! because the final check fails. A `while` loop also ends at the first failed check, because it
//! might not terminate otherwise. The interpreter then reports which check failed. As separate
//! steps such loops would fail late, so they are left unchanged in that case
//! (`schedule_with_fallback`).

use std::sync::Arc;

use lang_ir::core::{CheckFailure, Constant, TypeLeaf};
use lang_ir::flat::{FunctionInput, InputSource};
use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{
    Rhs, RuntimeCheck, SsaFunction, Statement, StmtId, TensorAccess, for_each_pred_read, statement_index,
};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// Defers the checks of the loops of a function, except the loops in `steps`. Returns the function,
/// and the loops with deferred checks. `None` if nothing changes.
pub(super) fn defer_checks(ssa: &SsaFunction, steps: &[StmtId]) -> Option<(SsaFunction, Vec<StmtId>)> {
    let mut rewritten = ssa.clone();
    let mut all = Vec::new();
    for (producer, stmt) in (0..).map(StmtId).zip(&ssa.stmts).filter(|(producer, _)| !steps.contains(producer)) {
        let Rhs::Loop(of) = &stmt.rhs else { continue };
        if let Some(watched) = CheckDeferral::new(of) {
            watched.replace_loop((producer, of), &mut rewritten)?;
            all.push(producer);
        }
    }
    (!all.is_empty()).then_some((rewritten, all))
}

/// A loop under construction.
struct CheckDeferral {
    body: SsaFunction,
    args: Vec<LoopArg>,
    /// The failure to report if a check fails.
    failure: Arc<CheckFailure>,
}

impl CheckDeferral {
    /// Drops the checks of the body that cannot be hoisted; `None` if there are none.
    fn new(of: &SsaLoop) -> Option<Self> {
        let body = &*of.body;
        let mut deferred: Vec<u32> =
            body.stmts.iter().flat_map(|stmt| &stmt.needs).chain(&body.needs).copied().collect();
        deferred.sort_unstable();
        deferred.dedup();
        // Hoisted checks of a `while` loop would cover iterations that never run.
        let endless = matches!(of.trip_count, LoopTripCount::While(_));
        deferred.retain(|c| endless || body.checks.get(*c as usize).is_some_and(|check| is_loop_dependent(of, check)));
        let checks: Vec<&RuntimeCheck> = deferred.iter().filter_map(|c| body.checks.get(*c as usize)).collect();
        let failing = Arc::clone(&checks.first()?.failure);
        let mut deferral = Self { body: body.clone(), args: of.args.clone(), failure: failing };
        let needs = deferral.body.stmts.iter_mut().map(|stmt| &mut stmt.needs).chain([&mut deferral.body.needs]);
        needs.for_each(|needs| needs.retain(|c| !deferred.contains(c)));
        if endless {
            deferral.body.checks.clear();
        }
        deferral.carry_conjunction(&checks)?;
        if let LoopTripCount::While(k) = of.trip_count {
            deferral.end_at_failure(k)?;
        }
        Some(deferral)
    }

    /// Carries the conjunction of all checks so far, as the last input.
    fn carry_conjunction(&mut self, checks: &[&RuntimeCheck]) -> Option<()> {
        let leaf = TypeLeaf { path: Vec::new(), dims: Vec::new(), scalar: Some(Scalar::Bool) };
        let k = u32::try_from(self.body.inputs.len()).ok()?;
        let local = self.body.vars.fresh("fine");
        self.body.inputs.push(FunctionInput { local, source: InputSource::Param(k), leaf: leaf.clone() });
        let before = self.push_stmt(Scalar::Bool, Rhs::Input(k))?;
        let mut all = vec![truth_pred(before, Vec::new())];
        for check in checks {
            let fails = check.guard.and(&check.cond.negated());
            all.push(match check.dims.is_empty() {
                true => fails.negated(),
                false => {
                    let one = self.push_stmt(Scalar::I64, Rhs::Constant(Constant::Int(1)))?;
                    let (bound, factors) = (check.dims.clone(), vec![scalar_access(one)]);
                    let count =
                        self.push_stmt(Scalar::I64, Rhs::Contract { bound, pred: fails, neg: false, factors })?;
                    Pred::zero(&Poly::atom(Atom::Read(count.local(), count.name(), Vec::new().into())))
                }
            });
        }
        let yes = self.push_stmt(Scalar::Bool, Rhs::Constant(Constant::Bool(true)))?;
        let after = self.guarded_truth(Pred::all(all), yes)?;
        // The initial value is a placeholder until the loop is in its function.
        let next = self.push_output(leaf, after)?;
        self.args.push(LoopArg::Carried { init: scalar_access(before), next });
        Some(())
    }

    /// Ends a `while` loop also at the first failed check. The input `k` is its condition.
    fn end_at_failure(&mut self, k: u32) -> Option<()> {
        let LoopArg::Carried { init, next } = self.args.get(k as usize)?.clone() else { return None };
        let fine = self.body.outputs.last()?.1;
        let (leaf, condition) = self.body.outputs.get(next as usize)?.clone();
        let goes_on = self.guarded_truth(truth_pred(fine, Vec::new()), condition)?;
        let next = self.push_output(leaf, goes_on)?;
        *self.args.get_mut(k as usize)? = LoopArg::Carried { init, next };
        Some(())
    }

    /// Adds a truth value that is `of` if the predicate holds, and false otherwise.
    fn guarded_truth(&mut self, pred: Pred, of: StmtId) -> Option<StmtId> {
        self.push_stmt(
            Scalar::Bool,
            Rhs::Contract { bound: Vec::new(), pred, neg: false, factors: vec![scalar_access(of)] },
        )
    }

    fn push_stmt(&mut self, scalar: Scalar, rhs: Rhs) -> Option<StmtId> {
        push_stmt(&mut self.body, Vec::new(), scalar, rhs)
    }

    fn push_output(&mut self, leaf: TypeLeaf, var: StmtId) -> Option<u32> {
        self.body.outputs.push((leaf, var));
        u32::try_from(self.body.outputs.len() - 1).ok()
    }

    /// Replaces the loop in its function. All its other results need the final check.
    fn replace_loop(mut self, (producer, of): (StmtId, &SsaLoop), ssa: &mut SsaFunction) -> Option<()> {
        let yes = push_stmt(ssa, Vec::new(), Scalar::Bool, Rhs::Constant(Constant::Bool(true)))?;
        let number = u32::try_from(self.args.len()).ok()?.checked_sub(1)?;
        if let Some(LoopArg::Carried { init, .. }) = self.args.last_mut() {
            *init = scalar_access(yes);
        }
        let results: Vec<StmtId> = ssa.loop_results(producer).map(|(v, _)| v).collect();
        let new_loop = SsaLoop { args: self.args, body: Arc::new(self.body), ..of.clone() };
        ssa.stmts.get_mut(producer.0 as usize)?.rhs = Rhs::Loop(Arc::new(new_loop));
        let last = Rhs::LoopResult(producer, LoopResult::Final(number));
        let fine = push_stmt(ssa, of.batch.clone(), Scalar::Bool, last)?;
        let at = (0..of.batch.len()).map(|k| statement_index(k, &Poly::default()).value()).collect();
        let check = u32::try_from(ssa.checks.len()).ok()?;
        let cond = truth_pred(fine, at);
        ssa.checks.push(RuntimeCheck { dims: of.batch.clone(), guard: Pred::truth(), cond, failure: self.failure });
        for v in results {
            ssa.stmts.get_mut(v.0 as usize)?.needs.push(check);
        }
        Some(())
    }
}

/// Returns whether a check depends on values that the loop carries or computes.
fn is_loop_dependent(of: &SsaLoop, check: &RuntimeCheck) -> bool {
    let is_carried = |k: u32| matches!(of.args.get(k as usize), Some(LoopArg::Carried { .. }));
    let mut late = false;
    let mut computed = |var: StmtId| match of.body.stmts.get(var.0 as usize).map(|stmt| &stmt.rhs) {
        Some(Rhs::Input(k)) => late |= is_carried(*k),
        _ => late = true,
    };
    [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut computed));
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

fn push_stmt(ssa: &mut SsaFunction, dims: Vec<Poly>, scalar: Scalar, rhs: Rhs) -> Option<StmtId> {
    let var = StmtId(u32::try_from(ssa.stmts.len()).ok()?);
    ssa.stmts.push(Statement { dims, scalar: Some(scalar), rhs, needs: Vec::new(), name: None });
    Some(var)
}

fn scalar_access(var: StmtId) -> TensorAccess {
    TensorAccess { var, at: Vec::new() }
}

fn truth_pred(var: StmtId, at: Vec<Poly>) -> Pred {
    Pred::Element(var.local(), var.name(), at.into(), true)
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
  X5: i64 = X4.last Y1
  out X5
"
        );
        let ssa = read_ssa("a.iv", &text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let actual = defer_checks(&ssa, &[]).map_or("it stays\n".to_owned(), |(ssa, _)| {
            let text = ssa.to_string();
            let shown = text.lines().skip(1).filter(|line| !line.contains(" = input "));
            shown.map(|line| format!("{}\n", line.get(2..).unwrap_or_default())).collect()
        });
        expected.assert_eq(&actual);
    }

    #[test]
    fn what_is_asked_of_what_is_carried_is_asked_last() {
        check(
            "  X4 = loop j0 < n with n {
    check 0: Y1 < n && 0 <= Y1, E0500 \"index out of bounds\"
    Y0[i0 < n]: i64 = given X1
    Y1: i64 = carried X2 then Y2
    Y2: i64 = Y0[Y1]  needs 0
  }",
            expect![[r#"
                  check 0: X7, E0500 "index out of bounds"
                  X2: i64 = 0
                  X3: bool = true
                  X4 = loop j0 < n with n {
                    check 0: Y1 < n && 0 <= Y1, E0500 "index out of bounds"
                    Y0[i0 < n]: i64 = given X1
                    Y1: i64 = carried X2 then Y3
                    Y2: bool = carried X6 then Y5
                    Y3: i64 = Y0[Y1]
                    Y4: bool = true
                    Y5: bool = [Y1 < n && 0 <= Y1 && Y2] * Y4
                  }
                  X5: i64 = X4.last Y1  needs 0
                  X6: bool = true
                  X7: bool = X4.last Y2
                  out X5
            "#]],
        );
    }

    #[test]
    fn what_data_end_ends_where_a_check_fails() {
        check(
            "  X4 = loop j0 while Y2 with n {
    check 0: Y1 < n && 0 <= Y1, E0500 \"index out of bounds\"
    check 1[i0 < n]: Y0[i0] != Y1, E0505 \"integer division by zero\"
    Y0[i0 < n]: i64 = given X1
    Y1: i64 = carried X2 then Y3
    Y2: bool = carried X3 then Y4
    Y3: i64 = Y0[Y1]  needs 0, 1
    Y4: bool = [Y3 < 5] * Y2
  }",
            expect![[r#"
                  check 0: X7, E0500 "index out of bounds"
                  X2: i64 = 0
                  X3: bool = true
                  X4 = loop j0 while Y2 with n {
                    Y0[i0 < n]: i64 = given X1
                    Y1: i64 = carried X2 then Y4
                    Y2: bool = carried X3 then Y10
                    Y3: bool = carried X6 then Y9
                    Y4: i64 = Y0[Y1]
                    Y5: bool = [Y4 <= 4] * Y2
                    Y6: i64 = 1
                    Y7: i64 = sum i0 < n: [Y0[i0] == Y1] * Y6
                    Y8: bool = true
                    Y9: bool = [Y1 < n && 0 <= Y1 && Y7 == 0 && Y3] * Y8
                    Y10: bool = [Y9] * Y5
                  }
                  X5: i64 = X4.last Y1  needs 0
                  X6: bool = true
                  X7: bool = X4.last Y3
                  out X5
            "#]],
        );
    }

    #[test]
    fn what_is_asked_of_what_is_given_is_asked_before() {
        check(
            "  X4 = loop j0 < n with n {
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
