//! Lines by what is known of those that read them: constants that all readers multiply by, brackets that hold
//! wherever a line is read, multiples of an array, calls that are one.

use super::merge::{Merging, settled, substituted};
use super::read::{Call, Is, Line};
use super::rules::{inside, under};
use super::table::Table;
use super::tree::Ex;
use crate::ir::core::Operation;
use crate::ir::ssa::Var;
use crate::predicate::{Context, Index, Poly, Pred};

impl Merging<'_> {
    /// A constant that every reader multiplies a number by is in the number.
    pub(super) fn constants(&mut self) -> bool {
        let uses = self.uses();
        for u in self.live() {
            let Some(line) = self.line(u) else { continue };
            let (Some(e), Some(count)) = (line.element(), uses.get(&u)) else { continue };
            if count.asked > 0 || count.root || line.name.as_ref().is_some_and(|n| (self.names)(n)) {
                continue;
            }
            let mut factors = Vec::new();
            for v in self.live() {
                let Some(Is::Element(e)) = self.line(v).map(|l| &l.is) else { continue };
                e.visit(&mut |e| {
                    if let Ex::Product(p) = e
                        && p.over.iter().any(|f| matches!(f, Ex::Read(w, _) if *w == u))
                    {
                        factors.push(p.by / p.per);
                    }
                });
            }
            let Some(by) = factors.first().copied() else { continue };
            let alike = factors.len() == count.elements && factors.iter().all(|f| *f == by);
            if !alike || by == 1.0 || by == 0.0 {
                continue;
            }
            let scaled = Ex::product(by, vec![e.clone()], Vec::new());
            let smaller = weight(&scaled) < weight(e);
            if weight(&scaled) > weight(e) || by < 0.0 && !smaller && !lighter(e, &scaled) {
                continue;
            }
            if let Some(slot) = self.lines.get_mut(u.0 as usize) {
                slot.is = Is::Element(scaled);
            }
            for v in self.live() {
                let Some(Is::Element(e)) = self.line(v).map(|l| l.is.clone()) else { continue };
                let e = unscaled(&e, u);
                if let Some(slot) = self.lines.get_mut(v.0 as usize) {
                    slot.is = Is::Element(e);
                }
            }
            return true;
        }
        false
    }

    /// A bracket that says only that there is a reader goes, where what it guards is there anyway.
    pub(super) fn unguarded(&mut self) -> bool {
        let uses = self.uses();
        for u in self.live() {
            let Some(line) = self.line(u).cloned() else { continue };
            let Is::Element(Ex::Guard(p, e)) = &line.is else { continue };
            let own = line.indices.iter().any(|i| p.mentions(&i.atom()));
            if own || uses.get(&u).is_none_or(|uses| uses.root || uses.asked > 0) {
                continue;
            }
            let mut all = true;
            for v in self.live() {
                let (Some(Line { indices, is: Is::Element(reader), .. }), context) = (self.line(v), &self.context)
                else {
                    let mut calls = false;
                    self.for_each_use(v, &mut |w, _| calls |= w == u);
                    all &= !calls;
                    continue;
                };
                let mut context = context.clone();
                inside(indices, &mut context, |context| holds_where_read(reader, u, p, context, &mut all));
            }
            let mut context = self.context.clone();
            let table = &*self.fresh;
            let there = all && inside(&line.indices, &mut context, |context| table.in_bounds(e, context));
            if there {
                let e = e.as_ref().clone();
                if let Some(slot) = self.lines.get_mut(u.0 as usize) {
                    slot.is = Is::Element(e);
                }
                return true;
            }
        }
        false
    }

    /// What is read only where there are indices is simplified as where there are.
    pub(super) fn reached(&mut self) -> bool {
        let uses = self.uses();
        for u in self.live() {
            let Some(Line { is: Is::Element(e), .. }) = self.line(u).cloned() else { continue };
            if uses.get(&u).is_none_or(|uses| uses.root || uses.asked > 0) {
                continue;
            }
            let mut extents = Vec::new();
            e.visit(&mut |e| {
                if let Ex::Total(i, ..) = e {
                    extents.extend(i.iter().map(|i| i.extent.clone()));
                }
            });
            extents.retain(|n| self.holds_at_reads(u, &Pred::less(&Poly::default(), n)));
            if extents.is_empty() {
                continue;
            }
            self.fresh.reached = extents;
            let changed = self.replace(u, &|_| None);
            self.fresh.reached.clear();
            if changed {
                return true;
            }
        }
        false
    }

    /// Does a predicate over sizes hold wherever a line is read?
    fn holds_at_reads(&self, u: Var, p: &Pred) -> bool {
        let mut all = true;
        for v in self.live() {
            match self.line(v) {
                Some(Line { indices, is: Is::Element(reader), .. }) => {
                    let mut context = self.context.clone();
                    inside(indices, &mut context, |context| holds_where_read(reader, u, p, context, &mut all));
                }
                _ => self.for_each_use(v, &mut |w, _| all &= w != u),
            }
        }
        all
    }

    /// Multiples of an array are read in sums as the array, where that makes them less.
    pub(super) fn scaled(&mut self) -> bool {
        for u in self.live() {
            let Some(line) = self.line(u).cloned() else { continue };
            let Some(Ex::Product(p)) = line.element() else { continue };
            let free = |e: &Ex| !line.indices.iter().any(|i| e.mentions(&i.atom()));
            let own = p.over.iter().filter(|e| !free(e)).collect::<Vec<_>>();
            if !matches!(own.as_slice(), [Ex::Read(..)]) || !p.under.iter().all(free) || line.indices.is_empty() {
                continue;
            }
            for v in self.live() {
                let Some(Line { indices, is: Is::Element(reader), .. }) = self.line(v).cloned() else { continue };
                let (context, fresh) = (&mut self.context, &mut *self.fresh);
                let put = in_totals(&reader, u, &line, fresh);
                if put == reader {
                    continue;
                }
                let put = inside(&indices, context, |context| settled(put, context, fresh));
                if put.size() < reader.size() {
                    if let Some(slot) = self.lines.get_mut(v.0 as usize) {
                        slot.is = Is::Element(put);
                    }
                    return true;
                }
            }
        }
        false
    }

    /// The differences of numbers from their mean have the sum 0.
    pub(super) fn centred(&mut self) -> bool {
        for v in self.live() {
            let Some(Line { indices, is: Is::Element(e), .. }) = self.line(v).cloned() else { continue };
            let put = self.without_centred(&e);
            if put == e {
                continue;
            }
            let (context, fresh) = (&mut self.context, &mut *self.fresh);
            let put = inside(&indices, context, |context| settled(put, context, fresh));
            if let Some(slot) = self.lines.get_mut(v.0 as usize) {
                slot.is = Is::Element(put);
            }
            return true;
        }
        false
    }

    fn without_centred(&self, e: &Ex) -> Ex {
        let gone = |e: &Ex| match e {
            Ex::Total(indices, p, body) => match indices.as_slice() {
                [i] => p.is_true() && self.is_centred(body, i),
                _ => false,
            },
            _ => false,
        };
        let product = if let Ex::Product(p) = e { p.over.iter().any(gone) } else { false };
        if product || gone(e) {
            return Ex::real(0.0);
        }
        e.rebuilt(&mut |e| self.without_centred(e))
    }

    /// Is it, for all values of the index, what a number of an array differs from their mean, times what does not
    /// depend on the index?
    fn is_centred(&self, e: &Ex, i: &Index) -> bool {
        match e {
            Ex::Product(p) => {
                let (own, free): (Vec<&Ex>, Vec<&Ex>) = p.over.iter().partition(|e| e.mentions(&i.atom()));
                let _ = free;
                matches!(own.as_slice(), [one] if self.is_centred(one, i))
                    && !p.under.iter().any(|e| e.mentions(&i.atom()))
            }
            Ex::Read(u, at) => {
                let mut table = Table::default();
                let line = self.line(*u);
                let direct = at.iter().filter(|p| p.mentions(&i.atom())).count() == 1;
                let inner = line.filter(|l| direct && !matches!(l.is, Is::Input)).and_then(|l| l.at(at, &mut table));
                inner.is_some_and(|e| matches!(e, Ex::Product(_) | Ex::Sum(_)) && self.is_centred(&e, i))
            }
            Ex::Sum(terms) => match terms.as_slice() {
                [(a, x @ Ex::Read(..)), (b, mean)] if a != b => self.is_mean(mean, x, i),
                _ => false,
            },
            _ => false,
        }
    }

    /// `(sum i: x[i]) / f64(n)`
    fn is_mean(&self, e: &Ex, x: &Ex, i: &Index) -> bool {
        let mut table = Table::default();
        let e = match e {
            Ex::Read(u, at) => self.line(*u).and_then(|l| l.at(at, &mut table)).unwrap_or_else(|| e.clone()),
            other => other.clone(),
        };
        let Ex::Product(p) = e else { return false };
        let ([Ex::Total(indices, q, body)], [count]) = (p.over.as_slice(), p.under.as_slice()) else { return false };
        let ([j], true, true) = (indices.as_slice(), q.is_true(), p.by == 1.0 && p.per == 1.0) else { return false };
        let put = |p: &Poly| p.substitute(&|a| (*a == j.atom()).then(|| i.value()));
        let counted =
            |n: &Poly| matches!(count, Ex::Apply(Operation::Convert(_), args) if args == &[Ex::Index(n.clone())]);
        j.extent == i.extent && counted(&i.extent) && body.map_polys(&put) == *x
    }

    /// Parts of one call have one call.
    pub(super) fn one_call(&mut self) -> bool {
        let mut first: Vec<Call> = Vec::new();
        let mut changed = false;
        for v in self.live() {
            let Some(Line { is: Is::Call(call, part), .. }) = self.line(v).cloned() else { continue };
            match first.iter().find(|c| alike(c, &call)) {
                Some(known) if *known != call => {
                    let known = known.clone();
                    if let Some(slot) = self.lines.get_mut(v.0 as usize) {
                        slot.indices = known
                            .batch
                            .iter()
                            .cloned()
                            .chain(slot.indices.iter().skip(known.batch.len()).cloned())
                            .collect();
                        slot.is = Is::Call(known, part);
                        changed = true;
                    }
                }
                Some(_) => {}
                None => first.push(call),
            }
        }
        changed
    }
}

/// The same call but for the numbers of indices.
fn alike(a: &Call, b: &Call) -> bool {
    let extents = |c: &Call| c.batch.iter().map(|i| i.extent.clone()).collect::<Vec<Poly>>();
    if a.callee != b.callee || extents(a) != extents(b) || a.args.len() != b.args.len() {
        return false;
    }
    let put = |p: &Poly| {
        p.substitute(&|x| {
            let k = b.batch.iter().position(|i| i.atom() == *x)?;
            a.batch.get(k).map(Index::value)
        })
    };
    a.pred == b.pred.map(&put)
        && a.args.iter().zip(&b.args).all(|((own, x), (other, y))| {
            let own_too = |p: &Poly| {
                put(p).substitute(&|x| {
                    let k = other.iter().position(|i| i.atom() == *x)?;
                    own.get(k).map(Index::value)
                })
            };
            own.len() == other.len() && x.key() == y.map_polys(&own_too).key()
        })
}

/// Elements of a line in place of reads of it at indices of sums.
fn in_totals(e: &Ex, u: Var, line: &Line, table: &mut Table) -> Ex {
    let Ex::Total(indices, p, body) = e else { return e.rebuilt(&mut |e| in_totals(e, u, line, table)) };
    let put = |v: Var| (v == u).then(|| line.clone());
    let moves = |at: &[Poly]| indices.iter().any(|i| at.iter().any(|p| p.mentions(&i.atom())));
    let mut here = false;
    body.visit(&mut |e| here |= matches!(e, Ex::Read(v, at) if *v == u && moves(at)));
    let body = if here { substituted(body, &put, table) } else { in_totals(body, u, line, table) };
    Ex::total(indices.clone(), p.clone(), body)
}

/// Without the constant beside reads of a line.
fn unscaled(e: &Ex, u: Var) -> Ex {
    match e.rebuilt(&mut |e| unscaled(e, u)) {
        Ex::Product(p) if p.over.iter().any(|f| matches!(f, Ex::Read(w, _) if *w == u)) => {
            Ex::product(1.0, p.over, p.under)
        }
        other => other,
    }
}

/// How much there is to write, numbers included.
fn weight(e: &Ex) -> usize {
    let mut numbers = 0;
    e.visit(&mut |e| {
        if let Ex::Product(p) = e {
            numbers += usize::from(p.by.abs() != 1.0) + usize::from(p.per != 1.0);
        }
    });
    e.size() + numbers
}

/// Is the second without a sign that the first has?
fn lighter(before: &Ex, after: &Ex) -> bool {
    let signed = |e: &Ex| matches!(e, Ex::Product(p) if p.by < 0.0);
    signed(before) && !signed(after)
}

/// Does the predicate hold wherever the line is read?
fn holds_where_read(e: &Ex, u: Var, p: &Pred, context: &mut Context, all: &mut bool) {
    match e {
        Ex::Read(v, _) if *v == u => *all &= context.implies(p),
        Ex::Guard(q, inner) => under(q, context, |context| holds_where_read(inner, u, p, context, all)),
        Ex::Total(i, q, inner) => inside(i, context, |context| {
            under(q, context, |context| holds_where_read(inner, u, p, context, all));
        }),
        Ex::Choice(q, a, b) => {
            under(q, context, |context| holds_where_read(a, u, p, context, all));
            under(&q.negated(), context, |context| holds_where_read(b, u, p, context, all));
        }
        other => {
            let _ = other.map_children(&mut |e| {
                holds_where_read(e, u, p, context, all);
                e.clone()
            });
        }
    }
}
