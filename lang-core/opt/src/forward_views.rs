//! **Forwarding of views to loops.** A loop argument may only pass on another array, for example to
//! each of a batch of loops. The pass replaces it by that array, so that the view need not be
//! materialised.
//!
//! ```text
//! X4[i0 < m, i1 < n] = X3[i1]
//! X5 = for j0 < m: loop … {                     X5 = for j0 < m: loop … {
//!   Y0 = given X4[j0]                             Y0 = given X3
//! ```

use std::sync::Arc;

use super::index_util::{as_index, indices};
use super::rewriter::{Rewriter, Rewritten};
use lang_ir::region::{LoopArg, SsaLoop};
use lang_ir::ssa::{Rhs, SsaFunction, StmtId, TensorAccess, substitute_indices};

pub(crate) fn run(ssa: &SsaFunction) -> Option<Rewritten> {
    let mut rewriter = Rewriter::new(ssa);
    for (k, stmt) in (0..).zip(&ssa.stmts) {
        let Rhs::Loop(of) = &stmt.rhs else { continue };
        let args: Vec<LoopArg> = of.args.iter().map(|arg| forward_arg(ssa, arg)).collect();
        if args != of.args {
            rewriter.set_rhs(StmtId(k), Rhs::Loop(Arc::new(SsaLoop { args, ..SsaLoop::clone(of) })));
        }
    }
    rewriter.finish()
}

fn forward_arg(ssa: &SsaFunction, arg: &LoopArg) -> LoopArg {
    let LoopArg::Captured(of) = arg else { return arg.clone() };
    let mut of = of.clone();
    while let Some(next) = view_source(ssa, &of) {
        of = next;
    }
    LoopArg::Captured(of)
}

/// Returns the source of a view at these first indices, if its other axes are whole axes of the
/// source.
fn view_source(ssa: &SsaFunction, of: &TensorAccess) -> Option<TensorAccess> {
    let stmt = ssa.stmts.get(of.var.0 as usize).filter(|stmt| stmt.needs.is_empty())?;
    let Rhs::Contract { bound, pred, neg: false, factors } = &stmt.rhs else { return None };
    let ([one], true, true) = (factors.as_slice(), bound.is_empty(), pred.is_true()) else { return None };
    let own = stmt.dims.get(of.at.len()..)?;
    let (first, rest) = one.at.split_at_checked(one.at.len().checked_sub(own.len())?)?;
    let whole = (of.at.len()..).zip(rest).all(|(k, p)| as_index(p) == Some(k));
    let plain = indices(first).iter().all(|k| *k < of.at.len());
    let source = ssa.stmts.get(one.var.0 as usize)?;
    if !whole
        || !plain
        || source.dims.get(first.len()..) != Some(own)
        || super::kernel_statements::is_trivial(&source.rhs)
    {
        return None;
    }
    Some(TensorAccess { var: one.var, at: first.iter().map(|p| substitute_indices(p, &of.at)).collect() })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use lang_reader::read_ssa;

    #[track_caller]
    fn check(view: &str, expected: Expect) {
        let text = format!(
            "ssa f[n, m](x: [n]f64, a: [m, n]f64) -> [m]f64 =
  X0[i0 < n]: f64 = input x
  X1[i0 < m, i1 < n]: f64 = input a
  X2: f64 = 0.0
  X3[i0 < m, i1 < n]: f64 = {view}
  X4 = for j0 < m: loop j1 < n with n, t = j1 {{
    Y0[i0 < n]: f64 = given X3[j0]
    Y1: f64 = carried X2 then Y2
    Y2: f64 = Y1 + Y0[t]
  }}
  X5[i0 < m]: f64 = X4.last Y1
  out X5
"
        );
        let ssa = read_ssa("a.iv", &text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let actual = run(&ssa).map_or("it stays\n".to_owned(), |rewritten| {
            let text = rewritten.ssa.to_string();
            let shown = text.lines().filter(|line| line.contains(" X3[") || line.contains("given"));
            shown.map(|line| format!("{}\n", line.trim_start())).collect()
        });
        expected.assert_eq(&actual);
    }

    #[test]
    fn views_are_seen_through() {
        check(
            "X0[i1]",
            expect![[r#"
                Y0[i0 < n]: f64 = given X0
            "#]],
        );
        check(
            "X1[m - i0 - 1, i1]",
            expect![[r#"
                Y0[i0 < n]: f64 = given X1[m - j0 - 1]
            "#]],
        );
    }

    #[test]
    fn others_stay() {
        for view in ["X0[n - i1 - 1]", "-X0[i1]", "[i0 < 3] * X0[i1]"] {
            check(
                view,
                expect![[r#"
                    it stays
                "#]],
            );
        }
    }
}
