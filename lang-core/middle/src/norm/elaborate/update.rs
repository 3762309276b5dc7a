//! **Updates**: `x with …`, for arrays with some elements replaced or incremented, and for records
//! with another component.
//!
//! Outside loops, an element at understood indices becomes a selection for each element, so that
//! later passes see through it. In a loop, at data-dependent indices, and for slices it is an
//! update of core, which costs no more than the elements it writes.

use std::sync::Arc;

use super::access::Sub;
use super::{Elaborator, Frame, Out, Sym};
use lang_base::{Code, Span};
use lang_ir::core::{CoreType, E, Expr, Kind, Reason, Update};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_types::tree::{self, Place, Subscript, TId};
use lang_types::ty::Type;

impl Elaborator<'_> {
    /// Elaborates `x with [i] = e` and `x with .k = e`. All other elements stay.
    pub(super) fn update(&mut self, f: &mut Frame, x: TId, updates: &[tree::Update], span: Span) -> Out<Sym> {
        let mut value = self.expr(f, x)?;
        let ty = f.code.body.nodes[x].ty.clone();
        let mut steps = Vec::new();
        for update in updates {
            let new = match (self.expr(f, update.value), &update.place) {
                // The extent of the value may be that of the slice. Elaborating the ends of the
                // slice first binds them.
                (Err(outside), Place::Index(subs)) if outside.what == Reason::DataRange => {
                    for sub in subs {
                        if let Subscript::Range { from, to, .. } = sub {
                            self.index_of(f, *from)?;
                            self.index_of(f, *to)?;
                        }
                    }
                    self.expr(f, update.value)?
                }
                (new, _) => new?,
            };
            let place = match &update.place {
                Place::Proj(k) => (Some(*k), Vec::new()),
                Place::Index(subs) => (None, subs.clone()),
            };
            steps.push((place, update.add, new));
        }
        for ((field, subs), add, new) in steps {
            value = match field {
                Some(k) => self.replace_component(f, &value, &ty, k, add, new, span)?,
                None => self.replace_elements(f, &value, &subs, add, &new, span)?,
            };
        }
        Ok(value)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of an update")]
    fn replace_component(
        &mut self,
        f: &Frame,
        value: &Sym,
        ty: &Type,
        k: u32,
        add: bool,
        new: Sym,
        span: Span,
    ) -> Out<Sym> {
        let core = match value {
            Sym::Tuple(items, names) => (items.len(), names.clone()),
            Sym::Data(e) => match &e.ty {
                CoreType::Tuple(items, names) => (items.len(), names.clone()),
                _ => return Err(self.outside(Reason::Errors, span)),
            },
            _ => return Err(self.outside(Reason::Errors, span)),
        };
        let old = self.project(f, value, ty, k)?;
        let new = if add { self.sum(vec![old, new], span)? } else { new };
        let at = match ty {
            Type::Record(fields) => super::field_order(fields).iter().position(|j| *j == k as usize).unwrap_or(0),
            _ => k as usize,
        };
        let mut items = (0..core.0).map(|j| self.component(value, j)).collect::<Out<Vec<Sym>>>()?;
        if let Some(slot) = items.get_mut(at) {
            *slot = new;
        }
        Ok(Sym::Tuple(items, core.1))
    }

    /// Replaces elements or slices.
    fn replace_elements(
        &mut self,
        f: &mut Frame,
        value: &Sym,
        subs: &[Subscript],
        add: bool,
        new: &Sym,
        span: Span,
    ) -> Out<Sym> {
        let base = self.data(value, span)?;
        let new = self.data(new, span)?;
        // Nothing is added where the bracket is false.
        let present = match &new.kind {
            Kind::Guard(p, _) if add => p.clone(),
            _ => Pred::truth(),
        };
        let new = self.bind("new", new);
        let (mut ty, mut places, mut holds, mut node) = (base.ty.clone(), Vec::new(), Pred::truth(), None);
        for sub in subs {
            let CoreType::Tensor(n, inner) = ty else { return Err(self.outside(Reason::Errors, span)) };
            let (place, inside) = self.subscript(f, sub, &n)?;
            holds = holds.and(&inside);
            places.push(place);
            ty = (*inner).clone();
            node = node.or(match sub {
                Subscript::At { index, .. } => Some(*index),
                Subscript::Range { from, .. } => Some(*from),
                Subscript::Whole => None,
            });
        }
        let data = places.iter().any(|p| matches!(p, Sub::At(at) if reads(at)));
        let single = places.iter().all(|p| matches!(p, Sub::At(_)));
        let proved = self.proves(&holds);
        let updated = if single && !data && !self.repeated && proved && (!add || matches!(ty, CoreType::Scalar(_))) {
            self.masked_update(&base, places, &ty, (add, present), &new, span)
        } else {
            self.update_of(base, places, &ty, (add, present), &new, span)?
        };
        if proved {
            return Ok(Sym::Data(updated));
        }
        let Some(node) = node else { return Ok(Sym::Data(updated)) };
        let what = self.failing(f, node, Code::E0500, "index out of bounds");
        Ok(Sym::Data(updated.with(Kind::Check(holds, what, updated.clone()), updated.ty.clone())))
    }

    /// Builds a selection for each element.
    fn masked_update(
        &mut self,
        base: &E,
        places: Vec<Sub>,
        ty: &CoreType,
        (add, present): (bool, Pred),
        new: &E,
        span: Span,
    ) -> E {
        let base = self.bind("x", base.clone());
        let (mut outer, mut indices, mut here) = (base.ty.clone(), Vec::new(), present);
        for place in places {
            let CoreType::Tensor(n, inner) = outer else { break };
            let index = self.vars.index("i", n);
            if let Sub::At(at) = place {
                here = here.and(&Pred::equal(&index.value(), &at));
            }
            indices.push(index);
            outer = (*inner).clone();
        }
        let old = indices.iter().fold(base, |e, i: &Index| Expr::access(&e, i.value()));
        let element = if add {
            Expr::new(Kind::Add(vec![old, Expr::guard(here, new.clone())]), ty.clone(), span)
        } else {
            self.merge(ty, &[(here.negated(), old), (here, new.clone())], span)
        };
        indices.into_iter().rev().fold(element, |e, i| Expr::generate(i, e))
    }

    /// Builds an update. The value for a slice may be one scalar for all its elements.
    fn update_of(
        &mut self,
        base: E,
        places: Vec<Sub>,
        ty: &CoreType,
        (add, pred): (bool, Pred),
        new: &E,
        span: Span,
    ) -> Out<E> {
        // An updated array that stays unnamed has no other reader.
        let base = if matches!(base.kind, Kind::Update(..)) { base } else { self.bind("x", base) };
        let (mut over, mut at) = (Vec::new(), Vec::new());
        for place in places {
            let (first, count) = match place {
                Sub::At(place) => {
                    at.push(place);
                    continue;
                }
                Sub::Range(first, count) => (first, count),
                Sub::Whole(n) => (Poly::default(), n),
            };
            let index = self.vars.index("i", count);
            at.push(first.add(&index.value()));
            over.push(index);
        }
        let scalar = ty.peel().1.scalar();
        let whole = ty.clone().array(over.iter().map(|i| i.extent.clone()));
        let value = if rank(&new.ty) == rank(&whole) {
            new.clone()
        } else {
            // One scalar fills the whole slice.
            let extents = whole.peel().0.into_iter().cloned().collect::<Vec<Poly>>();
            let indices: Vec<Index> = extents.into_iter().map(|n| self.vars.index("i", n)).collect();
            let filled = indices.into_iter().rev().fold(new.clone(), |e, i| Expr::generate(i, e));
            self.bind("new", filled)
        };
        if add && scalar.is_none() && !matches!(ty.peel().1, CoreType::Tuple(..)) {
            return Err(self.outside(Reason::Update, span));
        }
        let of = base.ty.clone();
        let update = Update { over, at, pred, add };
        Ok(Expr::new(Kind::Update(Arc::new(update), base, value), of, span))
    }
}

fn rank(ty: &CoreType) -> usize {
    ty.peel().0.len()
}

fn reads(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(..)));
    found
}

/// Merges several values of one array: if each arm is the same array with or without updates,
/// returns that array with all updates, guarded by their arms. Otherwise `None`.
pub(super) fn updated(arms: &[(Pred, E)]) -> Option<E> {
    let mut base: Option<E> = None;
    let mut steps = Vec::new();
    for (p, e) in arms {
        let (mut at, mut own) = (e, Vec::new());
        while let Kind::Update(update, before, value) = &at.kind {
            own.push((p.clone(), update.clone(), value.clone(), at.span));
            at = before;
        }
        match &base {
            None if at.is_free() => base = Some(at.clone()),
            Some(base) if base.kind == at.kind => {}
            _ => return None,
        }
        steps.extend(own.into_iter().rev());
    }
    if steps.is_empty() {
        return None;
    }
    let base = base?;
    Some(steps.into_iter().fold(base, |base, (p, update, value, span)| {
        // The value may be defined only where its arm is selected.
        let known = matches!(value.kind, Kind::Var(_) | Kind::Constant(_));
        let value = if known { value } else { Expr::guard(p.clone(), value) };
        let update = Update { pred: p.and(&update.pred), ..(*update).clone() };
        let ty = base.ty.clone();
        Expr::new(Kind::Update(Arc::new(update), base, value), ty, span)
    }))
}
