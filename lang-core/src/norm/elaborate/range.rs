//! The ranges of index variables. In core an index runs from 0 to an extent that is the same for all outer indices: a box
//! around what there is, and a predicate that says what there is. Where outer indices tell a bound linearly, the box
//! ends where they make it greatest. Where data tell it for each of them, as in `ptr[i]..ptr[i + 1]`, it ends at the
//! greatest bound of all, which is computed before: a reduction outside all indices.

use std::sync::Arc;

use super::{Elaborator, Frame, Out};
use crate::base::{Code, Span};
use crate::ir::core::{CoreType, E, Expr, Kind, Reason};
use crate::ir::reduce::{Reducer, Reduction};
use crate::predicate::{Atom, Index, LocalId, Poly, Pred};
use crate::syntax::ops::Scalar;
use crate::types::tree::{IndexRange, IndexVar, TId};

/// The values of an index variable: `first`, `first + by`, …
pub(super) struct Range {
    pub(super) first: Poly,
    pub(super) by: Poly,
    pub(super) count: Poly,
    /// Is the step above 0? Where it has to be asked for.
    pub(super) asked: Option<Pred>,
}

/// An index variable from 0, its value in the program, where it is in the range, and what is asked of the step.
type Asked = (Index, Poly, Pred, Option<Pred>);

impl Range {
    /// The value at a number.
    pub(super) fn at(&self, number: &Poly) -> Poly {
        self.first.add(&number.mul(&self.by))
    }
}

impl Elaborator<'_> {
    /// An index variable from 0, its value in the program, and where it is in the range. A step that may be below 1 is
    /// outside.
    pub(super) fn range(&mut self, f: &mut Frame, var: &IndexVar, span: Span) -> Out<(Index, Poly, Pred)> {
        let (index, value, inside, asked) = self.asked_range(f, var, span)?;
        if asked.is_some() { Err(self.outside(Reason::DataRange, span)) } else { Ok((index, value, inside)) }
    }

    /// The same, with what has to be asked of the step.
    pub(super) fn asked_range(&mut self, f: &mut Frame, var: &IndexVar, span: Span) -> Out<Asked> {
        let name = f.code.body.locals.get(var.local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
        let mut range = self.span_of(f, var)?;
        if self.hull(&range.count).is_none() {
            range.count = self.outward(&range.count);
        }
        let count = &range.count;
        let hull = match self.hull(count) {
            Some(hull) => hull,
            None => self.greatest(count, span)?,
        };
        let index = self.vars.index(name, hull.clone());
        let inside = if hull == *count { Pred::truth() } else { Pred::less(&index.value(), count) };
        Ok((index.clone(), range.at(&index.value()), inside, range.asked))
    }

    /// An extent that is no less wherever outer indices are, where these tell it linearly: they are put at the end of
    /// their range that makes it largest.
    pub(super) fn hull(&self, count: &Poly) -> Option<Poly> {
        if self.is_ragged(count) {
            return None;
        }
        let mut hull = count.clone();
        for _ in 0..=self.indices.len() {
            let next = self.indices_of(&hull).into_iter().next();
            let Some((atom, extent)) = next else { return Some(hull) };
            let (c, rest) = hull.linear_in(&atom)?;
            hull = if c > 0 { rest.add(&extent.scale(c)) } else { rest };
        }
        None
    }

    /// The index variables in scope that it mentions, with their extents.
    fn indices_of(&self, p: &Poly) -> Vec<(Atom, Poly)> {
        let mut found: Vec<(Atom, Poly)> = Vec::new();
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) = a
                && let Some(Some(extent)) = self.indices.get(l)
                && found.iter().all(|(known, _)| known != a)
            {
                found.push((a.clone(), extent.clone()));
            }
        });
        found
    }

    /// The same with integers that were named inside index variables and are the same for all of them, and elements of
    /// arrays that are, read outside them. What they fail by is asked here.
    pub(super) fn outward(&mut self, p: &Poly) -> Poly {
        let mut moved: Vec<(LocalId, LocalId, Vec<Poly>)> = Vec::new();
        let mut named: Vec<(LocalId, Poly)> = Vec::new();
        let mut inner = Vec::new();
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, ..) = a
                && self.depths.get(x).is_some_and(|depth| *depth > 0)
            {
                inner.push(*x);
            }
        });
        for x in inner {
            let scopes = self.scopes.iter().rev();
            let Some((_, e)) = scopes.flat_map(|s| &s.bindings).find(|(local, _)| *local == x).cloned() else {
                continue;
            };
            let (mut of, mut asked) = (e, Vec::new());
            while let Kind::Check(p, what, inner) = &of.kind {
                asked.push((p.clone(), what.clone()));
                of = inner.clone();
            }
            let mut at = Vec::new();
            if !self.is_outer(&of) {
                while let Kind::Access(inner, p) = &of.kind {
                    at.push(p.clone());
                    of = inner.clone();
                }
                at.reverse();
            }
            // Another name for such an integer.
            let renamed = match super::element(&of) {
                Some((y, place)) if !self.is_outer(&of) && at.is_empty() => {
                    let other = Poly::atom(Atom::Read(y, self.vars.name(y), place.into()));
                    let known = self.outward(&other);
                    (known != other).then_some(known)
                }
                _ => None,
            };
            if renamed.is_none() && !self.is_outer(&of) {
                continue;
            }
            for (p, what) in asked {
                let unit = of.with(Kind::Tuple(Vec::new()), CoreType::unit());
                let check = unit.with(Kind::Check(p, what, unit.clone()), unit.ty.clone());
                self.bind("assert", check);
            }
            match renamed {
                Some(known) => named.push((x, known)),
                None => {
                    let name = self.vars.name(x);
                    moved.push((x, self.name_outside(&name, of), at));
                }
            }
        }
        p.substitute(&|a| match a {
            Atom::Read(x, _, rest) => {
                if let (Some((_, known)), true) = (named.iter().find(|(old, _)| old == x), rest.is_empty()) {
                    return Some(known.clone());
                }
                let (_, new, at) = moved.iter().find(|(old, ..)| old == x)?;
                let at = at.iter().chain(&**rest).cloned().collect();
                Some(Poly::atom(Atom::Read(*new, self.vars.name(*new), at)))
            }
            _ => None,
        })
    }

    /// The greatest that outer indices make of it, zero if there are none.
    fn greatest(&mut self, p: &Poly, span: Span) -> Out<Poly> {
        let over = self.indices_of(p);
        // It is computed outside all indices, so what it reads has to be there.
        let mut read: Vec<(LocalId, Vec<Poly>)> = Vec::new();
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a {
                read.push((*x, at.to_vec()));
            }
        });
        if read.iter().any(|(x, _)| self.depths.get(x).is_some_and(|depth| *depth > 0)) {
            return Err(self.outside(Reason::DataRange, span));
        }
        let own: Vec<(Atom, Index)> = over
            .into_iter()
            .map(|(atom, extent)| {
                let name = if let Atom::Local(_, name) = &atom { name.clone() } else { "i".into() };
                (atom, self.vars.index(name, extent))
            })
            .collect();
        let put = |p: &Poly| p.substitute(&|a| own.iter().find(|(atom, _)| atom == a).map(|(_, index)| index.value()));
        // Where brackets around it leave indices out, it may read outside.
        let mut terms = Pred::truth();
        for (x, at) in &read {
            let Some(ty) = self.types.get(x) else { return Err(self.outside(Reason::DataRange, span)) };
            let (dims, _) = ty.peel();
            for (at, n) in at.iter().zip(dims) {
                terms = terms.and(&Pred::inside(at, n));
            }
        }
        let terms = terms.map(&put);
        let integer = CoreType::Scalar(Scalar::I64);
        let body = Expr::new(Kind::Index(put(p)), integer.clone(), span);
        let indices = own.into_iter().map(|(_, index)| index).collect();
        let reduction = Reduction { reducer: Reducer::Max, indices, terms, place: Poly::default(), body };
        let e = Expr::new(Kind::Reduce(Box::new(reduction)), integer, span);
        let most = self.name_outside("most", e);
        Ok(Poly::atom(Atom::Read(most, self.vars.name(most), Arc::from([]))))
    }

    /// The values of an index variable.
    pub(super) fn span_of(&mut self, f: &mut Frame, var: &IndexVar) -> Out<Range> {
        let span = f.code.inlined.unwrap_or_default();
        let one = Poly::constant(1);
        let (first, by, count) = match &var.range {
            IndexRange::Extent(n) => (Poly::default(), one, self.poly(f, n, span)?),
            IndexRange::Below(e) => (Poly::default(), one, self.index_of(f, *e)?),
            IndexRange::Range(a, b, by) => {
                let (a, b) = (self.index_of(f, *a)?, self.index_of(f, *b)?);
                let by = by.map_or(Ok(one), |e| self.index_of(f, e))?;
                let width = b.sub(&a);
                let count = match by.as_constant() {
                    Some(1) => width,
                    _ => width.add(&by).plus(-1).div(&by).unwrap_or_else(|| Poly::atom(Atom::Overflow)),
                };
                (a, by, count)
            }
        };
        if count.overflowed() || first.overflowed() {
            return Err(self.outside(Reason::DataRange, span));
        }
        let positive = Pred::less(&Poly::default(), &by);
        let asked = (!self.context.implies(&positive)).then_some(positive);
        Ok(Range { first, by, count, asked })
    }

    /// A value over a range whose step is asked.
    pub(super) fn stepping(&self, f: &Frame, id: TId, asked: Option<Pred>, e: E) -> E {
        let Some(asked) = asked else { return e };
        let what = self.failing(f, id, Code::E0511, "the stride is below 1");
        e.with(Kind::Check(asked, what, e.clone()), e.ty.clone())
    }

    /// Do data tell it that are another for each value of an index variable in scope?
    pub(super) fn is_ragged(&self, p: &Poly) -> bool {
        let mut ragged = false;
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a {
                ragged |= self.depths.get(x).is_some_and(|depth| *depth > 0);
                for p in &**at {
                    p.for_each_atom(&mut |a| {
                        ragged |= match a {
                            Atom::Local(l, _) => self.indices.get(l).is_some_and(Option::is_some),
                            Atom::Read(..) => true,
                            _ => false,
                        };
                    });
                }
            }
        });
        ragged
    }
}
