//! **Sorting and filtering.** The positions in sorted order are data, and elements are read at
//! these positions. For a filter, the positions whose condition holds come first, and a sum counts
//! them.
//!
//! A filter inside an index range has another extent for each index, so it is outlined
//! ([`Elaborator::apart`]).

use std::sync::Arc;

use super::{Closure, Elaborator, Frame, Out, Sym};
use lang_base::Span;
use lang_ir::core::{Constant, CoreType, E, Expr, Kind, Reason};
use lang_resolve::builtin::Builtin;
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::TId;
use lang_types::ty::Type;

impl Elaborator<'_> {
    /// Elaborates a library function that is not written in Iverson, at arguments of these types.
    pub(super) fn builtin(&mut self, builtin: Builtin, args: &[Sym], types: &[Type], span: Span) -> Out<Sym> {
        match (builtin, args) {
            (Builtin::Len, [x]) => self.length(x, span),
            (Builtin::Argsort, [x]) => {
                let x = self.data(x, span)?;
                Ok(Sym::Data(self.order_of(&x, span)?.1))
            }
            (Builtin::Sort, [x]) => {
                let x = self.data(x, span)?;
                let (x, order) = self.order_of(&x, span)?;
                let CoreType::Tensor(n, _) = x.ty.clone() else { return Err(self.outside(Reason::Errors, span)) };
                Ok(Sym::Data(self.read_at(&x, &order, n, span)?))
            }
            (Builtin::Filter, [Sym::Fun(p), x]) => {
                let x = self.data(x, span)?;
                let element = match types.last() {
                    Some(Type::Array(_, element)) => (**element).clone(),
                    _ => return Err(self.outside(Reason::Errors, span)),
                };
                self.filtered(p, &x, &element, span)
            }
            _ => Err(self.outside(Reason::FunctionValue, span)),
        }
    }

    /// Returns an array and the positions of its elements in order, both bound to variables.
    fn order_of(&mut self, x: &E, span: Span) -> Out<(E, E)> {
        let CoreType::Tensor(n, _) = x.ty.clone() else { return Err(self.outside(Reason::Errors, span)) };
        let x = self.bind("x", x.clone());
        let index = self.vars.index("i", n);
        let element = Expr::access(&x, index.value());
        let order = self.positions(Expr::at(&Expr::order(index, element), span));
        Ok((x, order))
    }

    /// Binds an array of positions, and records that they are inside their axis.
    fn positions(&mut self, order: E) -> E {
        let extent = order.ty.peel().0.first().map(|n| (*n).clone());
        let order = self.bind("order", order);
        if let (Kind::Var(local), Some(n)) = (&order.kind, extent) {
            self.ordered.insert(*local, n);
        }
        order
    }

    /// Reads the first `count` elements in this order.
    fn read_at(&mut self, x: &E, order: &E, count: Poly, span: Span) -> Out<E> {
        let Kind::Var(positions) = order.kind else { return Err(self.outside(Reason::Errors, span)) };
        let index = self.vars.index("i", count);
        let at = Atom::Read(positions, self.vars.name(positions), Arc::from([index.value()]));
        Ok(Expr::at(&Expr::generate(index, Expr::access(x, Poly::atom(at))), span))
    }

    /// Elaborates `filter(p, x)`.
    fn filtered(&mut self, p: &Closure, x: &E, element: &Type, span: Span) -> Out<Sym> {
        if self.depth > 0 {
            return Err(self.outside(Reason::DataRange, span));
        }
        let CoreType::Tensor(n, _) = x.ty.clone() else { return Err(self.outside(Reason::Errors, span)) };
        let x = self.bind("x", x.clone());
        let index = self.vars.index("i", n.clone());
        let holds = self.inside(&index, |this| {
            this.closed_in_binder(span, |this| {
                let of = this.known(Expr::access(&x, index.value()));
                this.apply_closure(p, vec![of], std::slice::from_ref(element), &Type::BOOL, span)
            })
        })?;
        let kept = self.bind("kept", Expr::generate(index, holds));
        let Kind::Var(flags) = kept.kind else { return Err(self.outside(Reason::Errors, span)) };
        let order = self.vars.index("i", n.clone());
        let flag = Expr::access(&kept, order.value());
        let order = self.positions(Expr::order(order, flag));
        let each = self.vars.index("i", n.clone());
        let integer = CoreType::Scalar(Scalar::I64);
        let one = Expr::new(Kind::Constant(Constant::Int(1)), integer.clone(), span);
        let at = Arc::from([each.value()]);
        let one = Expr::guard(Pred::Is(flags, self.vars.name(flags), at, true), one);
        let count = self.known(Expr::new(Kind::Sum(each, one), integer, span));
        let count = self.exact(count, span)?;
        self.context.assume(&Pred::all([Pred::nonneg(&count), Pred::at_most(&count, &n)]));
        Ok(Sym::Data(self.read_at(&x, &order, count, span)?))
    }

    /// Returns whether the context implies the predicate, with positions known to be inside their
    /// axis.
    pub(super) fn proves(&mut self, p: &Pred) -> bool {
        if self.ordered.is_empty() {
            return self.context.implies(p);
        }
        let mut known = Vec::new();
        p.visit(
            &mut |p| {
                p.for_each_atom(&mut |a| {
                    if let Atom::Read(x, ..) = a
                        && let Some(n) = self.ordered.get(x)
                    {
                        known.push(Pred::inside(&Poly::atom(a.clone()), n));
                    }
                });
            },
            &mut |_| {},
        );
        self.under(&Pred::all(known), |this| Ok(this.context.implies(p))).unwrap_or(false)
    }

    /// Elaborates the body of a binder in a scope of its own. If extents in it vary with the index,
    /// the body is outlined.
    pub(super) fn closed_in_binder(&mut self, span: Span, mut f: impl FnMut(&mut Self) -> Out<Sym>) -> Out<E> {
        let locals = self.locals.len();
        let outside = match self.closed(span, &mut f) {
            Err(outside) if outside.what == Reason::DataRange && self.depth > 0 => outside,
            other => return other,
        };
        self.locals.truncate(locals);
        let apart = self.closed(span, |this| {
            let e = this.apart(span, |this| {
                let value = f(this)?;
                this.data(&value, span)
            })?;
            Ok(Sym::Data(e))
        });
        apart.map_err(|_| outside)
    }

    /// Elaborates a truth value to a predicate.
    pub(super) fn predicate(&mut self, f: &mut Frame, id: TId) -> Out<Pred> {
        let span = self.span(f, id);
        let value = match self.expr(f, id) {
            Err(outside) if outside.what == Reason::DataRange && self.depth > 0 => {
                let e = self.closed_in_binder(span, |this| this.expr(f, id))?;
                self.known(e)
            }
            other => other?,
        };
        let value = if let Sym::Data(e) = value { self.known(e) } else { value };
        if let Sym::Bool(p) = value { Ok(p) } else { Err(self.outside(Reason::Errors, span)) }
    }
}
