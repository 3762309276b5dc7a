//! **Counting of existentials.** An existential over computed truth values becomes a sum of ones
//! over its bound variables. The sum is an ordinary loop, which can fuse with the computation of
//! the truth values. An existential would be evaluated as a step of its own, after all of them
//! exist.
//!
//! ```text
//! X1[i, j] = X0[i] < X0[j]                    X1[i, j] = X0[i] < X0[j]
//! X2[i] = [any j < n: X1[i, j]] * X0[i]       X2[i] = [0 < X4[i]] * X0[i]
//!                                             X3 = 1
//!                                             X4[i] = sum j < n: [X1[i, j]] * X3
//! ```
//!
//! Existentials over inputs stay, as do those over fewer truth values than index tuples. They stop
//! at the first tuple that satisfies them, and equations on their indices allow lookups.

use std::collections::HashMap;

use super::index_util::{indices, is_in_bounds};
use super::kernel_statements::has_reads;
use super::rewriter::{Rewriter, Rewritten};
use lang_ir::core::Constant;
use lang_ir::ssa::{Rhs, SsaFunction, Statement, StmtId, TensorAccess, statement_index};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_syntax::ops::Scalar;

pub(crate) fn run(ssa: &SsaFunction) -> Option<Rewritten> {
    let mut pass =
        ExistentialCounting { rewriter: Rewriter::new(ssa), reader: StmtId(0), one: None, counts: HashMap::new() };
    for k in (0..).take(ssa.stmts.len()) {
        pass.rewrite_stmt(StmtId(k));
    }
    pass.rewriter.finish()
}

struct ExistentialCounting {
    rewriter: Rewriter,
    /// The statement whose predicates are rewritten.
    reader: StmtId,
    one: Option<StmtId>,
    /// The existing counts, by extents, number of free indices, and predicate.
    counts: HashMap<(Vec<Poly>, usize, Pred), StmtId>,
}

/// The indices in scope of a predicate, with their extents: those of the statement, then those of
/// enclosing existentials.
type IndexScope = Vec<(Atom, Poly)>;

impl ExistentialCounting {
    fn rewrite_stmt(&mut self, reader: StmtId) {
        let Some(stmt) = self.rewriter.get(reader) else { return };
        let mut asks = false;
        stmt.rhs.for_each_pred(&mut |p| asks |= has_existential(p));
        if !asks {
            return;
        }
        let mut stmt = stmt.clone();
        self.reader = reader;
        let bound = match &stmt.rhs {
            Rhs::Contract { bound, .. } => bound.clone(),
            Rhs::Reduce(r) => r.bound.clone(),
            _ => Vec::new(),
        };
        let extents = stmt.dims.iter().chain(&bound).enumerate();
        let scope: IndexScope = extents.map(|(k, n)| (statement_index(k, n).atom(), n.clone())).collect();
        let mut put = |pred: &mut Pred| {
            if let Some(counted) = self.rewrite_pred(pred, &scope) {
                *pred = counted;
            }
        };
        match &mut stmt.rhs {
            Rhs::Add(items) => items.iter_mut().for_each(|item| put(&mut item.pred)),
            Rhs::Contract { pred, .. } | Rhs::Map { pred, .. } => put(pred),
            Rhs::Reduce(r) => {
                put(&mut r.pred);
                put(&mut r.filter);
            }
            _ => {}
        }
        self.rewriter.set_rhs(reader, stmt.rhs);
    }

    /// Replaces the existentials in a predicate by counts; `None` if nothing changes.
    fn rewrite_pred(&mut self, p: &Pred, scope: &IndexScope) -> Option<Pred> {
        match p {
            Pred::And(items) | Pred::Or(items) => {
                let each: Vec<Option<Pred>> = items.iter().map(|p| self.rewrite_pred(p, scope)).collect();
                if each.iter().all(Option::is_none) {
                    return None;
                }
                let each = each.into_iter().zip(&**items).map(|(new, old)| new.unwrap_or_else(|| old.clone()));
                Some(if matches!(p, Pred::And(_)) { Pred::all(each) } else { Pred::any_of(each) })
            }
            Pred::Exists(own, body, wanted) => self.rewrite_existential(own, body, *wanted, scope),
            _ => None,
        }
    }

    fn rewrite_existential(&mut self, own: &Index, body: &Pred, wanted: bool, scope: &IndexScope) -> Option<Pred> {
        // Nested existentials become one count over all their indices.
        let mut bound = vec![own.clone()];
        let mut body = body;
        while let Pred::Exists(inner, of, true) = body {
            bound.push(inner.clone());
            body = of;
        }
        let mut inside = scope.clone();
        inside.extend(bound.iter().map(|index| (index.atom(), index.extent.clone())));
        let body = self.rewrite_pred(body, &inside).unwrap_or_else(|| body.clone());
        if has_existential(&body) {
            return None;
        }
        let free: IndexScope = scope.iter().filter(|(atom, _)| body.mentions(atom)).cloned().collect();
        let all: IndexScope =
            free.iter().cloned().chain(bound.iter().map(|index| (index.atom(), index.extent.clone()))).collect();
        let plain = |n: &Poly| !has_reads(n) && !inside.iter().any(|(atom, _)| n.mentions(atom));
        if !all.iter().all(|(_, n)| plain(n)) {
            return None;
        }
        let dims: Vec<Poly> = all.iter().map(|(_, n)| n.clone()).collect();
        let place = |a: &Atom| {
            let at = all.iter().position(|(atom, _)| atom == a)?;
            Some(statement_index(at, &Poly::default()).value())
        };
        let pred = body.substitute(&place);
        if !self.is_computed_per_tuple(&pred, &dims) {
            return None;
        }
        let count = self.satisfying_count(dims, free.len(), pred)?;
        let at = free.iter().map(|(atom, _)| Poly::atom(atom.clone())).collect();
        let count = Poly::atom(Atom::Read(count.local(), count.name(), at));
        Some(if wanted { Pred::less(&Poly::default(), &count) } else { Pred::equal(&count, &Poly::default()) })
    }

    /// Returns whether all reads are in bounds, and one computed array has an element for each
    /// tuple of these indices.
    fn is_computed_per_tuple(&self, p: &Pred, dims: &[Poly]) -> bool {
        let mut reads = Vec::new();
        let known = collect_pred_accesses(p, &mut reads);
        let is_for_each = |of: &TensorAccess| {
            let computed = self.rewriter.get(of.var).is_some_and(|s| !matches!(s.rhs, Rhs::Input(_)));
            computed && indices(&of.at).len() == dims.len()
        };
        known
            && reads.iter().any(is_for_each)
            && reads.iter().all(|of| is_in_bounds(self.rewriter.ssa(), dims, &Pred::truth(), of))
    }

    /// Returns the number of tuples of the bound indices that satisfy the predicate. The count
    /// needs no checks: it is defined wherever its operands are, and some checks may depend on it.
    fn satisfying_count(&mut self, dims: Vec<Poly>, free: usize, pred: Pred) -> Option<StmtId> {
        let key = (dims, free, pred);
        if let Some(var) = self.counts.get(&key).copied() {
            return Some(var);
        }
        let one = match self.one {
            Some(one) => one,
            None => {
                let one = self.push_stmt(Vec::new(), Rhs::Constant(Constant::Int(1)));
                *self.one.insert(one)
            }
        };
        let (dims, _, pred) = &key;
        let (own, bound) = dims.split_at_checked(free)?;
        let factors = vec![TensorAccess { var: one, at: Vec::new() }];
        let rhs = Rhs::Contract { bound: bound.to_vec(), pred: pred.clone(), neg: false, factors };
        let var = self.push_stmt(own.to_vec(), rhs);
        self.counts.insert(key, var);
        Some(var)
    }

    fn push_stmt(&mut self, dims: Vec<Poly>, rhs: Rhs) -> StmtId {
        let stmt = Statement { dims, scalar: Some(Scalar::I64), rhs, needs: Vec::new(), name: None };
        self.rewriter.push(self.reader, stmt)
    }
}

fn has_existential(p: &Pred) -> bool {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().any(has_existential),
        Pred::Exists(..) => true,
        _ => false,
    }
}

/// Collects the reads of a predicate. Returns false if it contains a relation or an existential.
fn collect_pred_accesses(p: &Pred, found: &mut Vec<TensorAccess>) -> bool {
    let mut known = true;
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| known &= collect_pred_accesses(p, found)),
        Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => collect_poly_accesses(p, found),
        Pred::Element(x, _, at, _) => {
            at.iter().for_each(|p| collect_poly_accesses(p, found));
            match StmtId::from_local(*x) {
                Some(var) => found.push(TensorAccess { var, at: at.to_vec() }),
                None => known = false,
            }
        }
        Pred::Member(..) | Pred::Exists(..) => known = false,
    }
    known
}

fn collect_poly_accesses(p: &Poly, found: &mut Vec<TensorAccess>) {
    // `for_each_atom` also visits nested atoms.
    p.for_each_atom(&mut |a| {
        if let Atom::Read(x, _, at) = a
            && let Some(var) = StmtId::from_local(*x)
        {
            found.push(TensorAccess { var, at: at.to_vec() });
        }
    });
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use lang_reader::read_ssa;

    #[track_caller]
    fn check(pred: &str, expected: Expect) {
        let text = format!(
            "ssa f[n, m](x: [n]f64, y: [m]f64, k: [m]i64) -> [n]f64 =
  X0[i0 < n]: f64 = input x
  X1[i0 < m]: f64 = input y
  X2[i0 < m]: i64 = input k
  X3[i0 < n, i1 < m]: bool = <(X0[i0], X1[i1])
  X4[i0 < n]: f64 = [{pred}] * X0[i0]
  out X4
"
        );
        let ssa = read_ssa("a.iv", &text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let actual = run(&ssa).map_or("it stays\n".to_owned(), |rewritten| {
            let text = rewritten.ssa.to_string();
            text.lines()
                .skip_while(|line| !line.starts_with("  X3["))
                .skip(1)
                .map(|line| format!("{}\n", line.trim_start()))
                .collect()
        });
        expected.assert_eq(&actual);
    }

    #[test]
    fn computed_truth_values_are_counted() {
        check(
            "any j < m: X3[i0, j]",
            expect![[r#"
                X4: i64 = 1
                X5[i0 < n]: i64 = sum i1 < m: [X3[i0, i1]] * X4
                X6[i0 < n]: f64 = [0 < X5[i0]] * X0[i0]
                out X6
            "#]],
        );
        check(
            "!(any j < m: X3[i0, j]) && 3 <= i0",
            expect![[r#"
                X4: i64 = 1
                X5[i0 < n]: i64 = sum i1 < m: [X3[i0, i1]] * X4
                X6[i0 < n]: f64 = [2 < i0 && X5[i0] == 0] * X0[i0]
                out X6
            "#]],
        );
        check(
            "(any j < m: X3[i0, j]) || (any j < m: X3[i0, j] && i0 < j)",
            expect![[r#"
                X4: i64 = 1
                X5[i0 < n]: i64 = sum i1 < m: [i0 < i1 && X3[i0, i1]] * X4
                X6[i0 < n]: i64 = sum i1 < m: [X3[i0, i1]] * X4
                X7[i0 < n]: f64 = [0 < X5[i0] || 0 < X6[i0]] * X0[i0]
                out X7
            "#]],
        );
        check(
            "any j < n: !(any l < m: X3[j, l])",
            expect![[r#"
                X4: i64 = 1
                X5[i0 < n]: i64 = sum i1 < m: [X3[i0, i1]] * X4
                X6: i64 = sum i0 < n: [X5[i0] == 0] * X4
                X7[i0 < n]: f64 = [0 < X6] * X0[i0]
                out X7
            "#]],
        );
        check(
            "any j < n: (any l < m: X3[j, l])",
            expect![[r#"
                X4: i64 = 1
                X5: i64 = sum i0 < n, i1 < m: [X3[i0, i1]] * X4
                X6[i0 < n]: f64 = [0 < X5] * X0[i0]
                out X6
            "#]],
        );
    }

    #[test]
    fn others_stay() {
        // Input data, fewer booleans than tuples, an element out of bounds, an extent that
        // depends on an index.
        check(
            "any j < m: i0 == X2[j]",
            expect![[r#"
            it stays
        "#]],
        );
        check(
            "any j < m: X3[0, j] && i0 < j",
            expect![[r#"
            it stays
        "#]],
        );
        check(
            "any j < m: X3[i0 + 1, j]",
            expect![[r#"
            it stays
        "#]],
        );
        check(
            "any j < i0: X3[i0, j]",
            expect![[r#"
            it stays
        "#]],
        );
    }
}
