//! **Relations.** A relation that the program builds is an array of truth values, one for each
//! tuple. A relation that is passed in stays abstract. Where both may occur, as in a loop's carry,
//! it becomes an array too.
//!
//! A definition that takes a built relation, or returns one, is inlined.

use std::sync::Arc;

use super::{Elaborator, Frame, Out, Sym};
use lang_base::{Code, Span};
use lang_ir::core::{CoreType, E, Expr, Kind, Reason};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::{IndexVar, TId};
use lang_types::ty::Type;

const INTEGER: CoreType = CoreType::Scalar(Scalar::I64);

impl Elaborator<'_> {
    /// Elaborates `R(i, j)`.
    pub(super) fn member(&mut self, f: &mut Frame, relation: TId, args: &[TId], span: Span) -> Out<Sym> {
        let relation = self.expr(f, relation)?;
        let relation = self.data(&relation, span)?;
        let at = args.iter().map(|a| self.index_of(f, *a)).collect::<Out<Vec<Poly>>>()?;
        Ok(Sym::Bool(self.is_member(&relation, &at, span)?))
    }

    fn is_member(&mut self, relation: &E, at: &[Poly], span: Span) -> Out<Pred> {
        if let (Kind::Var(r), CoreType::Rel(_)) = (&relation.kind, &relation.ty) {
            return Ok(Pred::Member(*r, self.vars.name(*r), at.into(), true));
        }
        let array = self.named_array(relation.clone());
        let Kind::Var(r) = array.kind else { return Err(self.outside(Reason::Relation, span)) };
        // A tuple outside the extents is not a member.
        let (dims, _) = array.ty.peel();
        let inside = Pred::all(at.iter().zip(dims).map(|(at, n)| Pred::inside(at, n)));
        let inside = if self.context.implies(&inside) { Pred::truth() } else { inside };
        Ok(inside.and(&Pred::Is(r, self.vars.name(r), at.into(), true)))
    }

    /// Elaborates `|R|`.
    pub(super) fn population(&mut self, f: &mut Frame, relation: TId, span: Span) -> Out<Sym> {
        let relation = self.expr(f, relation)?;
        let relation = self.data(&relation, span)?;
        let dims: Vec<Poly> = match &relation.ty {
            CoreType::Rel(dims) => dims.to_vec(),
            ty => ty.peel().0.into_iter().cloned().collect(),
        };
        let indices: Vec<Index> = dims.into_iter().map(|n| self.vars.index("i", n)).collect();
        let at: Vec<Poly> = indices.iter().map(Index::value).collect();
        let member = self.is_member(&relation, &at, span)?;
        let one = Expr::new(Kind::Index(Poly::constant(1)), INTEGER, span);
        let count = Expr::guard(member, one);
        let count = indices.into_iter().rev().fold(count, |e, i| Expr::new(Kind::Sum(i, e), INTEGER, span));
        Ok(self.known(count))
    }

    /// Elaborates `rel i < n, j < m if p: q`.
    pub(super) fn comprehension(
        &mut self,
        f: &mut Frame,
        id: TId,
        vars: &[IndexVar],
        filter: Option<TId>,
        body: TId,
    ) -> Out<Sym> {
        let span = self.span(f, id);
        for var in vars {
            // The index variables are the components of the tuple.
            let range = self.span_of(f, var)?;
            if !range.first.is_zero() || range.by != Poly::constant(1) {
                return Err(self.outside(Reason::Relation, span));
            }
        }
        let mut term = |this: &mut Self, f: &mut Frame, _: &[Index]| {
            let p = filter.map_or(Ok(Pred::truth()), |p| this.predicate(f, p))?;
            let (bindings, q) = this.scope(|this| this.under(&p, |this| this.predicate(f, body)))?;
            this.bind_under(&p, bindings);
            Ok(Sym::Bool(p.and(&q)))
        };
        let e = self.generation(f, vars, id, &mut term)?;
        Ok(Sym::Data(e))
    }

    /// Elaborates `relation(idx, n, m)`: counts how often each tuple is among the rows, with one
    /// step for each row.
    pub(super) fn listed(&mut self, f: &mut Frame, id: TId, rows: TId, span: Span) -> Out<Sym> {
        let rows = self.expr(f, rows)?;
        let rows = self.data(&rows, span)?;
        let rows = self.named_array(rows);
        let ty = f.code.body.nodes[id].ty.clone();
        let (Kind::Var(x), CoreType::Tensor(count, _), CoreType::Rel(dims)) =
            (&rows.kind, &rows.ty, self.core_type(f, &ty, span)?)
        else {
            return Err(self.outside(Reason::Relation, span));
        };
        let (x, name) = (*x, self.vars.name(*x));
        let place = |row: &Poly, axis: usize| {
            let axis = Poly::constant(i128::try_from(axis).unwrap_or(0));
            Poly::atom(Atom::Read(x, name.clone(), [row.clone(), axis].into()))
        };
        let row = self.vars.index("row", count.clone());
        let inside = dims.iter().enumerate().map(|(k, n)| Pred::inside(&place(&row.value(), k), n).negated());
        let outside = Pred::exists(&row, &Pred::any_of(inside));
        let what = self.failing(f, id, Code::E0500, "an index of a relation is out of bounds");
        let indices: Vec<Index> = dims.iter().map(|n| self.vars.index("i", n.clone())).collect();
        let row = self.vars.index("row", count.clone());
        let told = indices.iter().enumerate().map(|(k, i)| Pred::equal(&i.value(), &place(&row.value(), k)));
        let told = Pred::all(told);
        let one = Expr::new(Kind::Index(Poly::constant(1)), INTEGER, span);
        let count = Expr::new(Kind::Sum(row, Expr::guard(told, one)), INTEGER, span);
        let counts = indices.iter().rev().fold(count, |e, i| Expr::generate(i.clone(), e));
        let counts = counts.with(Kind::Check(outside.negated(), what, counts.clone()), counts.ty.clone());
        let counts = self.named_array(counts);
        let Kind::Var(counts) = counts.kind else { return Err(self.outside(Reason::Relation, span)) };
        let indices: Vec<Index> = dims.iter().map(|n| self.vars.index("i", n.clone())).collect();
        let at: Arc<[Poly]> = indices.iter().map(Index::value).collect();
        let many = Poly::atom(Atom::Read(counts, self.vars.name(counts), at));
        let holds = self.truth(&Pred::less(&Poly::default(), &many), span);
        Ok(Sym::Data(indices.into_iter().rev().fold(holds, |e, i| Expr::generate(i, e))))
    }

    /// Returns a passed relation as an array of truth values, alone or inside a tuple.
    pub(super) fn as_array(&mut self, e: E) -> Out<E> {
        let span = e.span;
        match &e.ty {
            CoreType::Rel(dims) => {
                let indices: Vec<Index> = dims.iter().map(|n| self.vars.index("i", n.clone())).collect();
                let at: Vec<Poly> = indices.iter().map(Index::value).collect();
                let member = self.is_member(&e, &at, span)?;
                let holds = self.truth(&member, span);
                Ok(indices.into_iter().rev().fold(holds, |e, i| Expr::generate(i, e)))
            }
            CoreType::Tuple(types, names) if types.iter().any(|ty| matches!(ty, CoreType::Rel(_))) => {
                let items = match &e.kind {
                    Kind::Tuple(items) => items.clone(),
                    _ => (0..).take(types.len()).map(|k| Expr::proj(&e, k)).collect(),
                };
                let items = items.into_iter().map(|item| self.as_array(item)).collect::<Out<Vec<E>>>()?;
                let ty = CoreType::Tuple(items.iter().map(|e| e.ty.clone()).collect(), names.clone());
                Ok(Expr::new(Kind::Tuple(items), ty, span))
            }
            _ => Ok(e),
        }
    }
}

/// Whether the call takes a relation that the program builds, or returns one.
pub(super) fn makes_relations(args: &[Sym], types: &[Type], result: &Type) -> bool {
    let made = |(arg, ty): (&Sym, &Type)| {
        holds_relation(ty) && !matches!(arg, Sym::Data(e) if matches!(e.ty, CoreType::Rel(_)))
    };
    holds_relation(result) || args.iter().zip(types).any(made)
}

fn holds_relation(ty: &Type) -> bool {
    match ty {
        Type::Rel(_) => true,
        Type::Array(_, t) => holds_relation(t),
        Type::Tuple(items) => items.iter().any(holds_relation),
        Type::Record(fields) => fields.iter().any(|(_, t)| holds_relation(t)),
        _ => false,
    }
}
