//! **Relations.** A relation that the program builds is an array of truth values, one for each
//! tuple. A relation that is passed in stays abstract. Where both may occur, as in a loop's carry,
//! it becomes an array too.
//!
//! A definition that takes a built relation, or returns one, is inlined.

use std::sync::Arc;

use super::{ElabFrame, ElabResult, Elaborator, SymbolicValue};
use lang_base::{Code, Span};
use lang_ir::core::{CoreExpr, CoreType, ExprKind, ExprRef, NoCoreFormReason};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::{TypedId, TypedIndexVar};
use lang_types::ty::Type;

const INTEGER: CoreType = CoreType::Scalar(Scalar::I64);

impl Elaborator<'_> {
    /// Elaborates `R(i, j)`.
    pub(super) fn membership(
        &mut self,
        f: &mut ElabFrame,
        relation: TypedId,
        args: &[TypedId],
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let relation = self.expr(f, relation)?;
        let relation = self.data_value(&relation, span)?;
        let at = args.iter().map(|a| self.index_poly(f, *a)).collect::<ElabResult<Vec<Poly>>>()?;
        Ok(SymbolicValue::Bool(self.membership_pred(&relation, &at, span)?))
    }

    fn membership_pred(&mut self, relation: &ExprRef, at: &[Poly], span: Span) -> ElabResult<Pred> {
        if let (ExprKind::Var(r), CoreType::Rel(_)) = (&relation.kind, &relation.ty) {
            return Ok(Pred::Member(*r, self.vars.name(*r), at.into(), true));
        }
        let array = self.bind_array(relation.clone());
        let ExprKind::Var(r) = array.kind else { return Err(self.no_core_form(NoCoreFormReason::Relation, span)) };
        // A tuple outside the extents is not a member.
        let (dims, _) = array.ty.split_array();
        let inside = Pred::all(at.iter().zip(dims).map(|(at, n)| Pred::in_range(at, n)));
        let inside = if self.context.implies(&inside) { Pred::truth() } else { inside };
        Ok(inside.and(&Pred::Element(r, self.vars.name(r), at.into(), true)))
    }

    /// Elaborates `|R|`.
    pub(super) fn cardinality(
        &mut self,
        f: &mut ElabFrame,
        relation: TypedId,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let relation = self.expr(f, relation)?;
        let relation = self.data_value(&relation, span)?;
        let dims: Vec<Poly> = match &relation.ty {
            CoreType::Rel(dims) => dims.to_vec(),
            ty => ty.split_array().0.into_iter().cloned().collect(),
        };
        let indices: Vec<Index> = dims.into_iter().map(|n| self.vars.fresh_index("i", n)).collect();
        let at: Vec<Poly> = indices.iter().map(Index::value).collect();
        let member = self.membership_pred(&relation, &at, span)?;
        let one = CoreExpr::new(ExprKind::Index(Poly::constant(1)), INTEGER, span);
        let count = CoreExpr::guard(member, one);
        let count = indices.into_iter().rev().fold(count, |e, i| CoreExpr::new(ExprKind::Sum(i, e), INTEGER, span));
        Ok(self.symbolic_value(count))
    }

    /// Elaborates `rel i < n, j < m if p: q`.
    pub(super) fn comprehension(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        vars: &[TypedIndexVar],
        filter: Option<TypedId>,
        body: TypedId,
    ) -> ElabResult<SymbolicValue> {
        let span = self.span(f, id);
        for var in vars {
            // The index variables are the components of the tuple.
            let range = self.range_values(f, var)?;
            if !range.first.is_zero() || range.step != Poly::constant(1) {
                return Err(self.no_core_form(NoCoreFormReason::Relation, span));
            }
        }
        let mut term = |this: &mut Self, f: &mut ElabFrame, _: &[Index]| {
            let p = filter.map_or(Ok(Pred::truth()), |p| this.predicate(f, p))?;
            let (bindings, q) = this.in_scope(|this| this.assuming(&p, |this| this.predicate(f, body)))?;
            this.bind_where(&p, bindings);
            Ok(SymbolicValue::Bool(p.and(&q)))
        };
        let e = self.generation(f, vars, id, &mut term)?;
        Ok(SymbolicValue::Data(e))
    }

    /// Elaborates `relation(idx, n, m)`: counts how often each tuple is among the rows, with one
    /// step for each row.
    pub(super) fn relation_from_rows(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        rows: TypedId,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let rows = self.expr(f, rows)?;
        let rows = self.data_value(&rows, span)?;
        let rows = self.bind_array(rows);
        let ty = f.code.body.nodes[id].ty.clone();
        let (ExprKind::Var(x), CoreType::Tensor(count, _), CoreType::Rel(dims)) =
            (&rows.kind, &rows.ty, self.core_type(f, &ty, span)?)
        else {
            return Err(self.no_core_form(NoCoreFormReason::Relation, span));
        };
        let (x, name) = (*x, self.vars.name(*x));
        let place = |row: &Poly, axis: usize| {
            let axis = Poly::constant(i128::try_from(axis).unwrap_or(0));
            Poly::atom(Atom::Read(x, name.clone(), [row.clone(), axis].into()))
        };
        let row = self.vars.fresh_index("row", count.clone());
        let inside = dims.iter().enumerate().map(|(k, n)| Pred::in_range(&place(&row.value(), k), n).negated());
        let outside = Pred::exists(&row, &Pred::any_of(inside));
        let what = self.check_failure(f, id, Code::E0500, "relation index out of bounds");
        let indices: Vec<Index> = dims.iter().map(|n| self.vars.fresh_index("i", n.clone())).collect();
        let row = self.vars.fresh_index("row", count.clone());
        let equations = indices.iter().enumerate().map(|(k, i)| Pred::equal(&i.value(), &place(&row.value(), k)));
        let row_pred = Pred::all(equations);
        let one = CoreExpr::new(ExprKind::Index(Poly::constant(1)), INTEGER, span);
        let count = CoreExpr::new(ExprKind::Sum(row, CoreExpr::guard(row_pred, one)), INTEGER, span);
        let counts = indices.iter().rev().fold(count, |e, i| CoreExpr::generate(i.clone(), e));
        let counts = counts.with_kind(ExprKind::Check(outside.negated(), what, counts.clone()), counts.ty.clone());
        let counts = self.bind_array(counts);
        let ExprKind::Var(counts) = counts.kind else {
            return Err(self.no_core_form(NoCoreFormReason::Relation, span));
        };
        let indices: Vec<Index> = dims.iter().map(|n| self.vars.fresh_index("i", n.clone())).collect();
        let at: Arc<[Poly]> = indices.iter().map(Index::value).collect();
        let many = Poly::atom(Atom::Read(counts, self.vars.name(counts), at));
        let holds = self.bool_data(&Pred::less(&Poly::default(), &many), span);
        Ok(SymbolicValue::Data(indices.into_iter().rev().fold(holds, |e, i| CoreExpr::generate(i, e))))
    }

    /// Returns a passed relation as an array of truth values, alone or inside a tuple.
    pub(super) fn relation_as_array(&mut self, e: ExprRef) -> ElabResult<ExprRef> {
        let span = e.span;
        match &e.ty {
            CoreType::Rel(dims) => {
                let indices: Vec<Index> = dims.iter().map(|n| self.vars.fresh_index("i", n.clone())).collect();
                let at: Vec<Poly> = indices.iter().map(Index::value).collect();
                let member = self.membership_pred(&e, &at, span)?;
                let holds = self.bool_data(&member, span);
                Ok(indices.into_iter().rev().fold(holds, |e, i| CoreExpr::generate(i, e)))
            }
            CoreType::Tuple(types, names) if types.iter().any(|ty| matches!(ty, CoreType::Rel(_))) => {
                let items = match &e.kind {
                    ExprKind::Tuple(items) => items.clone(),
                    _ => (0..).take(types.len()).map(|k| CoreExpr::proj(&e, k)).collect(),
                };
                let items =
                    items.into_iter().map(|item| self.relation_as_array(item)).collect::<ElabResult<Vec<ExprRef>>>()?;
                let ty = CoreType::Tuple(items.iter().map(|e| e.ty.clone()).collect(), names.clone());
                Ok(CoreExpr::new(ExprKind::Tuple(items), ty, span))
            }
            _ => Ok(e),
        }
    }
}

/// Whether the call takes a relation that the program builds, or returns one.
pub(super) fn builds_relations(args: &[SymbolicValue], types: &[Type], result: &Type) -> bool {
    let is_built = |(arg, ty): (&SymbolicValue, &Type)| {
        contains_relation(ty) && !matches!(arg, SymbolicValue::Data(e) if matches!(e.ty, CoreType::Rel(_)))
    };
    contains_relation(result) || args.iter().zip(types).any(is_built)
}

fn contains_relation(ty: &Type) -> bool {
    match ty {
        Type::Rel(_) => true,
        Type::Array(_, t) => contains_relation(t),
        Type::Tuple(items) => items.iter().any(contains_relation),
        Type::Record(fields) => fields.iter().any(|(_, t)| contains_relation(t)),
        _ => false,
    }
}
