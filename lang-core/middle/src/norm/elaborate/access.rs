//! **Indexing and reshaping.** Elaborates elements, slices, array literals and `reshape` to
//! accesses and generations of core, with bounds checks for unproved subscripts.

use super::{Elaborator, Frame, Out, Sym};
use lang_base::{Code, Span};
use lang_ir::core::{CoreType, E, Expr, Kind, Reason};
use lang_ir::reduce::numbered;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_types::tree::{Subscript, TId};
use lang_types::ty::Type;

/// An elaborated subscript.
pub(super) enum Sub {
    At(Poly),
    /// The first index and the count.
    Range(Poly, Poly),
    Whole(Poly),
}

impl Elaborator<'_> {
    /// Elaborates `x[i, a..b, _]`.
    pub(super) fn index(&mut self, f: &mut Frame, id: TId, x: TId, subs: &[Subscript]) -> Out<Sym> {
        let span = self.span(f, id);
        let base = self.expr(f, x)?;
        let base = self.data(&base, span)?;
        let mut e = self.bind("x", base);
        let mut places = Vec::new();
        let mut ty = e.ty.clone();
        let mut holds = Pred::truth();
        for sub in subs {
            let CoreType::Tensor(n, inner) = ty else { return Err(self.outside(Reason::Errors, span)) };
            let (place, inside) = self.subscript(f, sub, &n)?;
            holds = holds.and(&inside);
            places.push(place);
            ty = (*inner).clone();
        }
        let check = (!self.proves(&holds)).then(|| (holds, self.failing(f, id, Code::E0500, "index out of bounds")));
        // An element is checked where it is read, a slice before that.
        let element_wise = places.iter().all(|p| matches!(p, Sub::At(_)));
        if let (Some((holds, what)), false) = (&check, element_wise) {
            e = Expr::new(Kind::Check(holds.clone(), what.clone(), e.clone()), e.ty.clone(), e.span);
            e = self.bind("x", e);
        }
        let mut indices: Vec<Index> = Vec::new();
        let mut element = e;
        for place in places {
            let at = match place {
                Sub::At(at) => at,
                Sub::Range(first, count) => {
                    let index = self.vars.index("i", count);
                    let at = first.add(&index.value());
                    indices.push(index);
                    at
                }
                Sub::Whole(n) => {
                    let index = self.vars.index("i", n);
                    let at = index.value();
                    indices.push(index);
                    at
                }
            };
            element = Expr::access(&element, at);
        }
        if let (Some((holds, what)), true) = (check, element_wise) {
            element = Expr::new(Kind::Check(holds, what, element.clone()), element.ty.clone(), element.span);
        }
        let e = indices.into_iter().rev().fold(element, |e, i| Expr::generate(i, e));
        Ok(self.known(e))
    }

    /// Elaborates a subscript of an axis of extent `n`. Returns it with the condition that it is
    /// inside.
    pub(super) fn subscript(&mut self, f: &mut Frame, sub: &Subscript, n: &Poly) -> Out<(Sub, Pred)> {
        Ok(match sub {
            // The polynomial of a proved index is right even if an operation on the way wraps.
            Subscript::At { index, proved: true } => {
                let span = self.span(f, *index);
                match self.expr(f, *index)? {
                    Sym::Int { poly, .. } if !poly.overflowed() => {
                        self.use_in_index(&poly);
                        (Sub::At(poly), Pred::truth())
                    }
                    _ => return Err(self.outside(Reason::TooLarge, span)),
                }
            }
            Subscript::At { index, proved: false } => {
                let at = self.place_of(f, *index)?;
                let inside = Pred::inside(&at, n);
                (Sub::At(at), inside)
            }
            Subscript::Range { from, to, proved } => {
                let end = self.span(f, *to);
                let (from, to) = (self.place_of(f, *from)?, self.place_of(f, *to)?);
                let count = self.extent(to.sub(&from), end)?;
                let inside = match proved {
                    true => Pred::truth(),
                    false => Pred::all([Pred::nonneg(&from), Pred::at_most(&from, &to), Pred::at_most(&to, n)]),
                };
                (Sub::Range(from, count), inside)
            }
            Subscript::Whole => (Sub::Whole(n.clone()), Pred::truth()),
        })
    }

    /// Elaborates an index that a check will test, such as `k[i] + 3`. A sum of an integer and a
    /// small constant needs no variable of its own: if it wraps, the wrapped value is outside the
    /// array too.
    fn place_of(&mut self, f: &mut Frame, id: TId) -> Out<Poly> {
        let span = self.span(f, id);
        let value = self.expr(f, id)?;
        if let Sym::Int { poly, exact: false } = &value {
            let constant = poly.terms().iter().find(|(m, _)| m.is_empty()).map_or(0, |(_, c)| *c);
            if constant.unsigned_abs() < 1 << 62 && poly.plus(-constant).as_atom().is_some() {
                self.use_in_index(poly);
                return Ok(poly.clone());
            }
        }
        let poly = self.exact(value, span)?;
        self.use_in_index(&poly);
        if poly.overflowed() { Err(self.outside(Reason::TooLarge, span)) } else { Ok(poly) }
    }

    /// Returns an extent over outer variables. Fails with `DataRange` if it depends on an index (a
    /// ragged array).
    pub(super) fn extent(&mut self, n: Poly, span: Span) -> Out<Poly> {
        let n = self.outward(&n);
        let mut ragged = false;
        n.for_each_atom(&mut |a| {
            ragged |= match a {
                Atom::Read(..) => false,
                Atom::Local(l, _) => self.indices.get(l).is_some_and(Option::is_some),
                _ => false,
            };
        });
        if ragged || self.is_ragged(&n) { Err(self.outside(Reason::DataRange, span)) } else { Ok(n) }
    }

    /// Elaborates `[a, b, c]` to a generation that selects by index.
    pub(super) fn literal(&mut self, f: &mut Frame, items: &[TId], ty: &Type, span: Span) -> Out<Sym> {
        let mut parts = Vec::new();
        for item in items {
            let value = self.expr(f, *item)?;
            let e = self.data(&value, span)?;
            parts.push(self.bind("e", e));
        }
        let CoreType::Tensor(n, element) = self.core_type(f, ty, span)? else {
            return Err(self.outside(Reason::Errors, span));
        };
        let index = self.vars.index("i", n);
        let arms: Vec<(Pred, E)> =
            (0..).zip(parts).map(|(k, e)| (Pred::equal(&index.value(), &Poly::constant(k)), e)).collect();
        let e = self.merge(&element, &arms, span);
        Ok(Sym::Data(Expr::generate(index, e)))
    }

    /// Returns the value whose predicate holds, or zero if none does. The predicates must exclude
    /// each other, and values of array or tuple type must be free to read repeatedly.
    pub(super) fn merge(&mut self, ty: &CoreType, arms: &[(Pred, E)], span: Span) -> E {
        match ty {
            CoreType::Scalar(_) | CoreType::Rel(_) => match arms {
                [(p, e)] => Expr::guard(p.clone(), e.clone()),
                arms => {
                    let terms = arms.iter().map(|(p, e)| Expr::guard(p.clone(), e.clone())).collect();
                    Expr::new(Kind::Add(terms), ty.clone(), span)
                }
            },
            CoreType::Tuple(types, _) => {
                let part = |(k, ty): (usize, &CoreType)| {
                    let k = u32::try_from(k).unwrap_or(u32::MAX);
                    let arms: Vec<_> = arms.iter().map(|(p, e)| (p.clone(), projected(e, k))).collect();
                    self.merge(ty, &arms, span)
                };
                let items = types.iter().enumerate().map(part).collect();
                Expr::new(Kind::Tuple(items), ty.clone(), span)
            }
            CoreType::Tensor(n, inner) => {
                let index = self.vars.index("i", n.clone());
                let arms: Vec<_> = arms.iter().map(|(p, e)| (p.clone(), Expr::access(e, index.value()))).collect();
                let e = self.merge(inner, &arms, span);
                Expr::generate(index, e)
            }
        }
    }

    /// Elaborates `reshape(x, n, m, …)` by the row-major position of an element in both shapes.
    pub(super) fn reshape(&mut self, f: &mut Frame, id: TId, x: TId, ty: &Type, span: Span) -> Out<Sym> {
        let value = self.expr(f, x)?;
        let mut e = self.data(&value, span)?;
        let new = self.core_type(f, ty, span)?;
        let (dims, _) = new.peel();
        let (old, _) = e.ty.peel();
        let old: Vec<Poly> = old.into_iter().take(self.rank_of(f, x)).cloned().collect();
        let one = Poly::constant(1);
        let (before, after) = (old.iter().fold(one.clone(), |p, n| p.mul(n)), dims.iter().fold(one, |p, n| p.mul(n)));
        let whole = Pred::equal(&before, &after);
        if !self.context.implies(&whole) {
            let what = self.failing(f, id, Code::E0501, "the number of elements of `reshape`");
            e = Expr::new(Kind::Check(whole, what, e.clone()), e.ty.clone(), e.span);
        }
        let e = self.bind("x", e);
        let indices: Vec<Index> = dims.into_iter().cloned().map(|n| self.vars.index("i", n)).collect();
        let place = indices.iter().fold(Poly::default(), |at, i| at.mul(&i.extent).add(&i.value()));
        let at = numbered(old.iter(), &place);
        if at.iter().any(Poly::overflowed) {
            return Err(self.outside(Reason::TooLarge, span));
        }
        let element = at.into_iter().fold(e, |e, i| Expr::access(&e, i));
        Ok(Sym::Data(indices.into_iter().rev().fold(element, |e, i| Expr::generate(i, e))))
    }

    fn rank_of(&self, f: &Frame, x: TId) -> usize {
        f.code.body.nodes[x].ty.peel().0.len()
    }

    /// Returns the extent of an array's first axis.
    pub(super) fn length(&mut self, value: &Sym, span: Span) -> Out<Sym> {
        let e = self.data(value, span)?;
        match &e.ty {
            CoreType::Tensor(n, _) => Ok(Sym::Int { poly: n.clone(), exact: true }),
            _ => Err(self.outside(Reason::Errors, span)),
        }
    }
}

/// Returns a component; for a tuple expression, the component itself.
fn projected(e: &E, k: u32) -> E {
    match &e.kind {
        Kind::Tuple(items) => items.get(k as usize).cloned().unwrap_or_else(|| e.clone()),
        _ => Expr::proj(e, k),
    }
}
