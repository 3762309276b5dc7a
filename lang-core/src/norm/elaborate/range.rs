//! The ranges of index variables. In core an index runs from 0 to an extent that is the same for all outer indices: a box
//! around what there is, and a predicate that says what there is. Where outer indices tell a bound linearly, the box
//! ends where they make it greatest. Where data tell it for each of them, as in `ptr[i]..ptr[i + 1]`, it ends at the
//! greatest bound of all, which is computed before: a reduction outside all indices.

use super::{Elaborator, Frame, Out};
use crate::base::Span;
use crate::ir::core::{CoreType, Expr, Kind, Reason};
use crate::ir::reduce::{Reducer, Reduction};
use crate::predicate::{Atom, Index, LocalId, Poly, Pred};
use crate::syntax::ops::Scalar;
use crate::types::tree::{IndexRange, IndexVar};

/// The values of an index variable: `first`, `first + by`, …
pub(super) struct Range {
    pub(super) first: Poly,
    pub(super) by: i128,
    pub(super) count: Poly,
}

impl Range {
    /// The value at a number.
    pub(super) fn at(&self, number: &Poly) -> Poly {
        self.first.add(&number.scale(self.by))
    }
}

impl Elaborator<'_> {
    /// An index variable from 0, its value in the program, and where it is in the range.
    pub(super) fn range(&mut self, f: &mut Frame, var: &IndexVar, span: Span) -> Out<(Index, Poly, Pred)> {
        let name = f.code.body.locals.get(var.local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
        let range = self.span_of(f, var)?;
        let count = &range.count;
        let hull = match self.hull(count) {
            Some(hull) => hull,
            None => self.greatest(count, span)?,
        };
        let index = self.vars.index(name, hull.clone());
        let inside = if hull == *count { Pred::truth() } else { Pred::less(&index.value(), count) };
        Ok((index.clone(), range.at(&index.value()), inside))
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
        Ok(self.bind_outside("most", e))
    }

    /// The values of an index variable.
    pub(super) fn span_of(&mut self, f: &mut Frame, var: &IndexVar) -> Out<Range> {
        let span = f.code.inlined.unwrap_or_default();
        let (first, by, count) = match &var.range {
            IndexRange::Extent(n) => (Poly::default(), 1, self.poly(f, n, span)?),
            IndexRange::Below(e) => (Poly::default(), 1, self.index_of(f, *e)?),
            IndexRange::Range(a, b, by) => {
                let (a, b) = (self.index_of(f, *a)?, self.index_of(f, *b)?);
                let by = match by {
                    None => 1,
                    Some(e) => {
                        let by = self.index_of(f, *e)?;
                        let by = by.as_constant().filter(|by| *by > 0);
                        by.ok_or_else(|| self.outside(Reason::DataRange, span))?
                    }
                };
                let width = b.sub(&a);
                let count = match by {
                    1 => width,
                    by => width.plus(by - 1).div(&Poly::constant(by)).unwrap_or_default(),
                };
                (a, by, count)
            }
        };
        if count.overflowed() || first.overflowed() {
            return Err(self.outside(Reason::DataRange, span));
        }
        Ok(Range { first, by, count })
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
