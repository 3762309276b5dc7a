//! **Rules that need all readers of a line.** A constant by which all readers multiply moves into
//! the line. A bracket that holds at every read is dropped. Multiples of an array are substituted
//! into sums, and equal calls become one. These are further rules of [`super::merge`].

use std::mem::discriminant;

use super::merge::{Merging, settled, substituted};
use super::read::{Call, Is, Line};
use super::rules::{inside, under};
use super::table::Table;
use super::tree::Ex;
use lang_ir::core::Operation;
use lang_ir::ssa::{Var, for_each_read};
use lang_sizes::predicate::{Context, Index, Poly, Pred};

impl Merging<'_> {
    /// Moves a constant into a line if every reader multiplies the line by it and the text does not
    /// grow.
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

    /// Drops the bracket of a line if it holds at every read, and if the guarded expression is in
    /// bounds without it.
    pub(super) fn unguarded(&mut self) -> bool {
        let uses = self.uses();
        for u in self.live() {
            let Some(line) = self.line(u).cloned() else { continue };
            if uses.get(&u).is_none_or(|uses| uses.root) {
                continue;
            }
            let own = |p: &Pred| line.indices.iter().any(|i| p.mentions(&i.atom()));
            match &line.is {
                // A data-dependent bracket stays, because it saves work.
                Is::Element(Ex::Guard(p, e)) if !own(p) && (!p.is_opaque() || e.is_free()) => {
                    let (mut context, table) = (self.context.clone(), &*self.fresh);
                    let there = inside(&line.indices, &mut context, |context| table.in_bounds(e, context));
                    if there && self.holds_at_reads(u, p) {
                        self.set(u, Is::Element(e.as_ref().clone()));
                        return true;
                    }
                }
                Is::Call(call, _) if !call.pred.is_true() && !own(&call.pred) && !call.pred.is_opaque() => {
                    let parts: Vec<Var> = self.live().into_iter().filter(|v| self.is_part(*v, call)).collect();
                    let read = parts
                        .iter()
                        .all(|v| uses.get(v).is_none_or(|uses| !uses.root) && self.holds_at_reads(*v, &call.pred));
                    if read && self.is_total(call) {
                        let call = Call { pred: Pred::truth(), ..call.clone() };
                        for v in parts {
                            if let Some(Is::Call(_, part)) = self.line(v).map(|l| l.is.clone()) {
                                self.set(v, Is::Call(call.clone(), part));
                            }
                        }
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn set(&mut self, v: Var, is: Is) {
        if let Some(slot) = self.lines.get_mut(v.0 as usize) {
            slot.is = is;
        }
    }

    fn is_part(&self, v: Var, of: &Call) -> bool {
        matches!(self.line(v).map(|l| &l.is), Some(Is::Call(call, _)) if call == of)
    }

    /// Returns whether the call cannot fail, for any sizes.
    fn is_total(&self, call: &Call) -> bool {
        let (mut context, table) = (self.context.clone(), &*self.fresh);
        let args = call.args.iter().all(|(own, e)| {
            let all: Vec<Index> = call.batch.iter().chain(own).cloned().collect();
            inside(&all, &mut context, |context| table.in_bounds(e, context))
        });
        args && (self.total)(&call.callee)
    }

    /// Replaces a guarded expression by a read of an earlier line that computes the same without a
    /// guard.
    pub(super) fn covered(&mut self) -> bool {
        let live = self.live();
        for u in &live {
            let Some(Line { indices, is: Is::Element(Ex::Guard(_, e)), .. }) = self.line(*u).cloned() else { continue };
            if e.is_free() {
                continue;
            }
            let key = |own: &[Index], e: &Ex| {
                let put = |p: &Poly| {
                    p.substitute(&|a| {
                        let k = own.iter().position(|i| i.atom() == *a)?;
                        indices.get(k).map(Index::value)
                    })
                };
                e.map_polys(&put).key()
            };
            let wanted = e.key();
            let within = self.line(*u).and_then(|l| l.within);
            let before = live.iter().take_while(|v| *v != u).find(|v| {
                self.line(**v).filter(|l| l.within == within).is_some_and(|l| {
                    let same = l.indices.iter().map(|i| &i.extent).eq(indices.iter().map(|i| &i.extent));
                    let alike = |other: &Ex| discriminant(other) == discriminant(&e) && other.size() == e.size();
                    same && l.element().is_some_and(|e| alike(e) && key(&l.indices, e) == wanted)
                })
            });
            if let Some(v) = before.copied()
                && let Some(Is::Element(Ex::Guard(_, e))) = self.lines.get_mut(u.0 as usize).map(|l| &mut l.is)
            {
                **e = Ex::Read(v, indices.iter().map(Index::value).collect());
                return true;
            }
        }
        false
    }

    /// Simplifies a line under the assumption that its ranges are not empty, if that holds at every
    /// read.
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

    /// Returns whether a predicate holds at every read of a line, in elements, indices and
    /// predicates.
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

    /// Substitutes a multiple of an array into the sums that read it, if that makes the reader
    /// smaller.
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
                let Some(Line { indices, is: Is::Element(reader), within, .. }) = self.line(v).cloned() else {
                    continue;
                };
                if within != line.within {
                    continue;
                }
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

    /// Removes sums of deviations from the mean, because they are zero.
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

    /// Returns whether the expression is, as a function of the index, the deviation of an array's
    /// element from the mean, times factors without the index.
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

    /// Returns whether it is the mean of `x` over `i`: `(sum i: x[i]) / f64(n)`.
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

    /// Makes the results of equal calls share one call.
    pub(super) fn one_call(&mut self) -> bool {
        let mut first: Vec<(Option<u32>, Call)> = Vec::new();
        let mut changed = false;
        for v in self.live() {
            let Some(Line { is: Is::Call(call, part), within, .. }) = self.line(v).cloned() else { continue };
            match first.iter().find(|(of, c)| *of == within && alike(c, &call)).map(|(_, c)| c) {
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
                None => first.push((within, call)),
            }
        }
        changed
    }
}

/// Returns whether two calls are equal up to the numbers of indices.
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

/// Substitutes a line for the reads of it at indices of sums.
fn in_totals(e: &Ex, u: Var, line: &Line, table: &mut Table) -> Ex {
    let Ex::Total(indices, p, body) = e else { return e.rebuilt(&mut |e| in_totals(e, u, line, table)) };
    let put = |v: Var| (v == u).then(|| line.clone());
    let moves = |at: &[Poly]| indices.iter().any(|i| at.iter().any(|p| p.mentions(&i.atom())));
    let mut here = false;
    body.visit(&mut |e| here |= matches!(e, Ex::Read(v, at) if *v == u && moves(at)));
    let body = if here { substituted(body, &put, table) } else { in_totals(body, u, line, table) };
    Ex::total(indices.clone(), p.clone(), body)
}

/// Drops the constant beside reads of a line.
fn unscaled(e: &Ex, u: Var) -> Ex {
    match e.rebuilt(&mut |e| unscaled(e, u)) {
        Ex::Product(p) if p.over.iter().any(|f| matches!(f, Ex::Read(w, _) if *w == u)) => {
            Ex::product(1.0, p.over, p.under)
        }
        other => other,
    }
}

/// Returns the amount of text: nodes and constants.
fn weight(e: &Ex) -> usize {
    let mut numbers = 0;
    e.visit(&mut |e| {
        if let Ex::Product(p) = e {
            numbers += usize::from(p.by.abs() != 1.0) + usize::from(p.per != 1.0);
        }
    });
    e.size() + numbers
}

/// Returns whether only the first of the two has a minus sign.
fn lighter(before: &Ex, after: &Ex) -> bool {
    let signed = |e: &Ex| matches!(e, Ex::Product(p) if p.by < 0.0);
    signed(before) && !signed(after)
}

/// Clears `all` unless the predicate holds wherever `e` reads the line.
fn holds_where_read(e: &Ex, u: Var, p: &Pred, context: &mut Context, all: &mut bool) {
    let holds = |q: &Pred, context: &mut Context, all: &mut bool| {
        if asks(q, u) {
            // Bounds are evaluated before elements.
            let first = Pred::all(q.conjuncts().iter().filter(|q| !q.is_opaque()).cloned());
            *all &= under(&first, context, |context| context.implies(p));
        }
    };
    let mut at = |of: &Poly| {
        if asks(&Pred::nonneg(of), u) {
            *all &= context.implies(p);
        }
    };
    match e {
        Ex::Read(_, places) => places.iter().for_each(&mut at),
        Ex::Index(place) => at(place),
        Ex::Total(i, ..) => i.iter().for_each(|i| at(&i.extent)),
        Ex::Reduce(r) => r.indices.iter().map(|i| &i.extent).chain([&r.place]).for_each(&mut at),
        _ => {}
    }
    match e {
        Ex::Read(v, _) if *v == u => *all &= context.implies(p),
        Ex::Guard(q, inner) => {
            holds(q, context, all);
            under(q, context, |context| holds_where_read(inner, u, p, context, all));
        }
        Ex::Total(i, q, inner) => inside(i, context, |context| {
            holds(q, context, all);
            under(q, context, |context| holds_where_read(inner, u, p, context, all));
        }),
        Ex::Reduce(r) => inside(&r.indices, context, |context| {
            holds(&r.terms, context, all);
            under(&r.terms, context, |context| holds_where_read(&r.body, u, p, context, all));
        }),
        Ex::Choice(q, a, b) => {
            holds(q, context, all);
            under(q, context, |context| holds_where_read(a, u, p, context, all));
            under(&q.negated(), context, |context| holds_where_read(b, u, p, context, all));
        }
        other => other.for_each_child(&mut |e| holds_where_read(e, u, p, context, all)),
    }
}

fn asks(p: &Pred, u: Var) -> bool {
    let mut found = false;
    for_each_read(p, &mut |v| found |= v == u);
    found
}
