//! **Loops to text.** Prints `fold (s, t) = (0.0, 1.0) for i < n: … yield s`, or `loop` and `scan`
//! with `while`. A result of each iteration is yielded if it depends only on values before the
//! iteration. Otherwise the iteration stores it in a carried array. The bindings of the results are
//! in [`super::parts`].

use super::Outside;
use super::merge::substituted;
use super::read::{Is, Line, zero};
use super::regions::{Carried, Looped, Piece, Region, reads_of};
use super::rules::{inside, under};
use super::tree::Ex;
use super::writer::Writer;
use lang_base::Name;
use lang_ir::ssa::{Check, Var};
use lang_sizes::predicate::{Atom, Context, Index, Poly, Pred};
use lang_syntax::ops::Scalar;

/// A carried variable in the text: its name, its initial value and its next value.
struct Slot {
    name: Name,
    init: String,
    next: String,
    /// The line or loop result that it holds.
    of: Slotted,
}

/// The content of a carried variable.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Slotted {
    /// A carried line.
    Line(Var),
    /// The values of a loop result in all iterations.
    Every(Var),
}

/// The carried variables with their names, and the results that the loop yields.
pub(super) type Made = (Vec<(Slotted, Name)>, Vec<Var>);

pub(super) fn tuple(items: &[String]) -> String {
    match items {
        [one] => one.clone(),
        items => format!("({})", items.join(", ")),
    }
}

impl Writer<'_> {
    /// Prints the `let`s that bind the results of a loop.
    pub(super) fn loop_let(&mut self, of: &Looped, live: &[Var]) -> Vec<String> {
        match self.repeated(of, live) {
            Ok(lets) => lets,
            Err(why) => {
                self.wrong.get_or_insert(why);
                Vec::new()
            }
        }
    }

    fn part_of(&self, v: Var, id: u32) -> Option<Piece> {
        match &self.lines.get(v.0 as usize)?.is {
            Is::Loop(of) if of.id == id => Some(of.piece),
            _ => None,
        }
    }

    fn repeated(&mut self, of: &Looped, live: &[Var]) -> Result<Vec<String>, Outside> {
        let region = self.table.regions.get(of.id as usize).cloned().ok_or(Outside::Unreadable)?;
        let parts: Vec<(Var, Piece)> = live.iter().filter_map(|v| Some((*v, self.part_of(*v, of.id)?))).collect();
        let plain = of.batch.is_empty() && of.pred.is_true();
        let ends = parts.iter().all(|(_, piece)| matches!(piece, Piece::Last(_)));
        if !plain && of.trips.is_none() && !ends {
            return Err(Outside::Loop);
        }
        let mut made = None;
        let text = self.around(&of.batch.clone(), &mut |this| {
            let (mark, depth) = (this.context.mark(), this.scope.len());
            let outer = this.context.clone();
            this.context.assume(&of.pred);
            let written = this.loop_text(of, &region, &parts, live, &outer);
            this.context.release(mark);
            this.leave(depth);
            match written {
                Ok((text, slots)) => {
                    made = Some(Ok(slots));
                    if of.pred.is_true() { text } else { format!("[{}] * ({text})", this.pred(&of.pred).0) }
                }
                Err(why) => {
                    made = Some(Err(why));
                    String::new()
                }
            }
        });
        let slots = made.unwrap_or(Err(Outside::Unreadable))?;
        if of.trips.is_none() && !ends {
            return self.open_parts(&parts, &slots.0, &text);
        }
        if plain { self.patterns(&parts, &slots, &text) } else { self.paths(of, &parts, &slots, &text) }
    }

    /// Prints the loop. Returns the text, with the carried variables and the yielded results.
    fn loop_text(
        &mut self,
        of: &Looped,
        region: &Region,
        parts: &[(Var, Piece)],
        all: &[Var],
        outer: &Context,
    ) -> Result<(String, Made), Outside> {
        let within = Some(of.id);
        let taken = self.taken.clone();
        let written = self.written.len();
        let going = if of.trips.is_none() { region.going } else { None };
        let condition = going.and_then(|v| self.condition(v, of.id));
        let carried: Vec<Var> = region.carried.iter().map(|c| c.0).collect();
        let needed = self.needed(of.id, parts, going.filter(|_| condition.is_some()), all);
        let live: Vec<Var> = all.iter().copied().filter(|v| !self.is_inside(*v, of.id) || needed.contains(v)).collect();
        let carried: Vec<Var> = carried.into_iter().filter(|v| live.contains(v)).collect();
        // Initial values are printed in the scope outside the loop.
        let mut inits = Vec::new();
        for v in &carried {
            let Some(Is::Carried(at)) = self.lines.get(v.0 as usize).map(|l| l.is.clone()) else { continue };
            inits.push(self.init(of, &at));
        }
        let mut slots = Vec::new();
        for ((v, integer), init) in carried.iter().map(|v| (*v, region.carried.iter().find(|c| c.0 == *v))).zip(inits) {
            let line = self.lines.get(v.0 as usize).cloned().ok_or(Outside::Unreadable)?;
            let name = self.taken.fresh(&self.called(line.name.as_ref()));
            self.name_let(v, &name, &line.indices, line.scalar.unwrap_or(Scalar::F64));
            if let Some((_, Some(index))) = integer {
                self.scope.push((index.local, name.clone()));
            }
            slots.push(Slot { name, init, next: String::new(), of: Slotted::Line(v) });
        }
        let condition_text = condition.as_ref().map(|e| self.ex(e).0);
        // The index; in a reversed loop, `counter` counts up and `number` is computed from it.
        let number = self.number_name(of.id, region, &live);
        let counter = if region.reversed { self.taken.index(None) } else { number.clone() };
        self.scope.push((region.number.local, number.clone()));
        if region.counted {
            self.context.enter(&region.number);
        }
        let every: Vec<(Var, Var)> = parts
            .iter()
            .filter_map(|(v, piece)| if let Piece::Every(w) = piece { Some((*v, *w)) } else { None })
            .collect();
        let nexts: Vec<Var> = carried.iter().filter_map(|v| self.next_of(*v)).collect();
        let results: Vec<Var> = nexts.iter().copied().chain(every.iter().map(|e| e.1)).collect();
        let checks = self.inner_checks(region, &live);
        let lets = self.block(within, &checks, &live, &results);
        let mut yields = Vec::new();
        for (v, w) in every {
            let state = carried.contains(&w);
            let back = !state && region.reversed && self.is_read_back(v, of, all);
            if of.trips.is_none() && nexts.contains(&w) {
                continue;
            }
            let (own, e, wide) = self.every(v, w, of, outer)?;
            let at_hand = !wide && !back && self.is_at_hand(w, of.id);
            match (&of.trips, state) {
                (None, true) => {}
                (Some(_), _) if at_hand => yields.push((v, self.array(&own, &e, "-", false))),
                _ => slots.push(self.stored((v, w), (&own, &e), of, region, back)?),
            }
        }
        for (slot, next) in slots.iter_mut().zip(nexts) {
            slot.next = match self.lines.get(next.0 as usize).map(|l| l.is.clone()) {
                Some(Is::Update(of)) if !self.named.contains_key(&next) => self.updated(&of),
                _ => self.array(&self.indices_of(next), &self.root(next), &slot.name, false),
            };
        }
        let mut body: Vec<String> = Vec::new();
        let turned = region.reversed.then(|| self.turned(of, &number, &counter)).flatten();
        let told: Vec<String> = lets.iter().cloned().chain(slots.iter().map(|s| s.next.clone())).collect();
        let given: Vec<String> = yields.iter().map(|y| y.1.clone()).collect();
        let mentions = |told: &[String]| {
            told.iter().any(|text| super::constructors::names_in(text).iter().any(|word| *word == *number))
        };
        let (inside, yielded) = (mentions(&told), mentions(&given));
        let is_counted = (inside || yielded) && (turned.is_some() || !region.reversed);
        let head = if is_counted { counter.to_string() } else { "_".into() };
        // The `let`s of the body are not in scope in `yield`.
        let given = match turned.as_ref().filter(|_| yielded && !slots.is_empty()) {
            Some(turned) => format!("{turned} in {}", tuple(&given)),
            None => tuple(&given),
        };
        body.extend(turned.filter(|_| inside || yielded && slots.is_empty()));
        body.extend(lets);
        let next = tuple(&slots.iter().map(|s| s.next.clone()).collect::<Vec<_>>());
        let mut body = if body.is_empty() { next } else { format!("{} in {next}", body.join(" ")) };
        if !yields.is_empty() && body.contains("fold ") {
            body = format!("({body})");
        }
        let pattern = tuple(&slots.iter().map(|s| s.name.to_string()).collect::<Vec<_>>());
        let init = tuple(&slots.iter().map(|s| s.init.clone()).collect::<Vec<_>>());
        let ranges = |this: &mut Self| of.trips.as_ref().map(|n| this.poly(n).0);
        let text = match (ranges(self), slots.is_empty()) {
            (Some(n), true) => {
                let body = body.strip_suffix("()").map(str::to_owned).unwrap_or(body);
                format!("for {head} < {n}: {body}{given}")
            }
            (Some(n), false) if yields.is_empty() => format!("fold {pattern} = {init} for {head} < {n}: {body}"),
            (Some(n), false) => format!("fold {pattern} = {init} for {head} < {n}: {body} yield {given}"),
            (None, _) => {
                let name = going.and_then(|v| slots.iter().find(|s| s.of == Slotted::Line(v)));
                let holds = condition_text.or_else(|| name.map(|s| s.name.to_string())).ok_or(Outside::Loop)?;
                let kept = parts.iter().any(|(_, piece)| !matches!(piece, Piece::Last(_)));
                format!("{} {pattern} = {init} while {holds}: {body}", if kept { "scan" } else { "loop" })
            }
        };
        self.taken = taken;
        self.written.truncate(written);
        self.named.retain(|v, _| {
            let line = self.lines.get(v.0 as usize);
            !line.is_some_and(|l| self.table.is_inside(l.within, of.id))
        });
        let slots = slots.into_iter().map(|s| (s.of, s.name)).collect();
        Ok((text, (slots, yields.into_iter().map(|y| y.0).collect())))
    }

    fn is_inside(&self, v: Var, id: u32) -> bool {
        self.lines.get(v.0 as usize).is_some_and(|l| self.table.is_inside(l.within, id))
    }

    pub(super) fn next_of(&self, v: Var) -> Option<Var> {
        match &self.lines.get(v.0 as usize)?.is {
            Is::Carried(of) => Some(of.next),
            _ => None,
        }
    }

    /// Returns the body lines that the results and the checks need, if the text omits the carried
    /// line `without`.
    fn needed(&self, id: u32, parts: &[(Var, Piece)], without: Option<Var>, live: &[Var]) -> Vec<Var> {
        let mut open: Vec<Var> = Vec::new();
        for (_, piece) in parts {
            if let Piece::Last(v) | Piece::Every(v) = piece {
                open.push(*v);
            }
        }
        if without.is_none() {
            open.extend(self.table.regions.get(id as usize).and_then(|r| r.going));
        }
        for (check, _) in self.table.regions.get(id as usize).into_iter().flat_map(|r| &r.checks) {
            open.extend(reads_of(check).into_iter().filter(|v| live.contains(v)));
        }
        let mut found: Vec<Var> = Vec::new();
        while let Some(v) = open.pop() {
            if found.contains(&v) {
                continue;
            }
            let Some(line) = self.lines.get(v.0 as usize) else { continue };
            if self.is_inside(v, id) {
                found.push(v);
                line.for_each_use(&mut |v, _| open.push(v));
                line.for_each_link(&mut |v| open.push(v));
            }
        }
        found
    }

    /// Prints the initial value of a carried line.
    fn init(&mut self, of: &Looped, at: &Carried) -> String {
        let (first, own) = at.around.split_at_checked(of.batch.len()).unwrap_or((&[], &at.around));
        let put = |p: &Poly| {
            p.substitute(&|a| first.iter().position(|i| i.atom() == *a).and_then(|k| of.batch.get(k)).map(Index::value))
        };
        self.array(own, &at.init.map_polys(&put), "-", false)
    }

    /// Chooses the name of the iteration number, from the hints of its uses.
    fn number_name(&mut self, id: u32, region: &Region, live: &[Var]) -> Name {
        let mut hint = None;
        for v in live.iter().filter(|v| self.is_inside(**v, id)) {
            let Some(line) = self.lines.get(v.0 as usize).cloned() else { continue };
            line.is.for_each_part(&line.indices, &mut |_, e| {
                hint = hint.take().or_else(|| {
                    let alone = self.alone(e, &region.number);
                    alone.iter().find_map(|(n, axis, _)| self.hint(n, *axis))
                });
            });
        }
        self.taken.index(hint.as_ref())
    }

    /// Prints the index of a reversed loop: `let i = n - 1 - k`.
    fn turned(&mut self, of: &Looped, number: &Name, counter: &Name) -> Option<String> {
        let last = of.trips.as_ref()?.plus(-1);
        let index = self.table.index(Poly::default());
        self.scope.push((index.local, counter.clone()));
        let (last, counter) = (self.poly(&last), self.poly(&index.value()).0);
        self.scope.pop();
        Some(format!("let {number} = {} - {counter}", last.0))
    }

    /// Returns the checks of a body that do not follow from known facts, simplified.
    fn inner_checks(&mut self, region: &Region, live: &[Var]) -> Vec<Check> {
        let mut context = self.context.clone();
        let mut kept = Vec::new();
        for (check, needed) in &region.checks {
            let asked = reads_of(check);
            if !needed.iter().any(|v| live.contains(v)) || !asked.iter().all(|v| live.contains(v) || !self.is_own(*v)) {
                continue;
            }
            let indices: Vec<Index> = check.dims.iter().enumerate().map(|(k, n)| lang_ir::ssa::index(k, n)).collect();
            let (guard, cond) = inside(&indices, &mut context, |context| {
                let guard = context.simplify(&check.guard);
                let cond = under(&guard, context, |context| context.simplify(&check.cond));
                (guard, cond)
            });
            if !guard.is_false() && !cond.is_true() {
                kept.push(Check { guard, cond, ..check.clone() });
            }
        }
        kept
    }

    /// Returns whether the line is inside a loop.
    fn is_own(&self, v: Var) -> bool {
        self.lines.get(v.0 as usize).is_some_and(|l| l.within.is_some())
    }

    /// Returns whether the line depends only on values before the iteration.
    fn is_at_hand(&self, v: Var, id: u32) -> bool {
        let Some(line) = self.lines.get(v.0 as usize) else { return false };
        match &line.is {
            Is::Carried(_) => true,
            _ if self.named.contains_key(&v) => !self.is_inside(v, id),
            Is::Element(e) => {
                let mut all = true;
                e.for_each_use(&mut |v, _| all &= !self.is_inside(v, id) || self.is_at_hand(v, id));
                all
            }
            _ => false,
        }
    }

    /// Returns whether a loop result is read only from the last iteration to the first. If so,
    /// turns the subscripts of all readers around, so that each value is stored where it is read.
    fn is_read_back(&mut self, v: Var, of: &Looped, live: &[Var]) -> bool {
        let Some(trips) = of.trips.clone() else { return false };
        let (axis, mut all, mut found) = (of.batch.len(), !self.roots.contains(&v), 0);
        let last = trips.plus(-1);
        let turned = |p: &Poly| last.sub(p);
        let fewer = |p: &Poly| turned(p).terms().len() < p.terms().len();
        for u in live.iter().filter(|u| **u != v) {
            let Some(line) = self.lines.get(u.0 as usize) else { continue };
            let mut count = 0_i64;
            line.for_each_use(&mut |w, _| count += i64::from(w == v));
            line.is.for_each_part(&line.indices, &mut |_, e| {
                e.visit(&mut |e| {
                    if let Ex::Read(w, at) = e
                        && *w == v
                    {
                        count -= 1;
                        found += 1;
                        all &= at.get(axis).is_some_and(fewer);
                    }
                });
            });
            all &= count == 0;
            line.for_each_link(&mut |w| all &= w != v);
        }
        if !all || found == 0 || !of.batch.is_empty() {
            return false;
        }
        for line in self.lines.iter_mut() {
            let is = line.is.map(&line.indices.clone(), &mut |_, _, e| turned_reads(e, v, axis, &turned));
            line.is = is;
        }
        true
    }

    /// Returns the indices and the element of a body line, with the extents of the loop result. The
    /// flag is true if an extent may be negative; the text then uses 0 for it, because no array has
    /// such an extent.
    fn every(&mut self, v: Var, w: Var, of: &Looped, outer: &Context) -> Result<(Vec<Index>, Ex, bool), Outside> {
        let first = of.batch.len();
        let mut all = self.indices_of(v);
        let (batch, _) = all.split_at_checked(first).ok_or(Outside::Unreadable)?;
        let pairs: Vec<(Atom, Poly)> = batch.iter().map(Index::atom).zip(of.batch.iter().map(Index::value)).collect();
        let put = |p: &Poly| p.substitute(&|a| pairs.iter().find(|(b, _)| b == a).map(|(_, p)| p.clone()));
        let trips = all.get(first).map(|i| put(&i.extent)).ok_or(Outside::Unreadable)?;
        if of.trips.as_ref().is_some_and(|n| *n != trips) {
            return Err(Outside::Loop);
        }
        let mut wide = false;
        for i in all.iter_mut().skip(first) {
            if of.trips.is_some() && !outer.implies(&Pred::nonneg(&put(&i.extent))) {
                i.extent = i.extent.greatest(&Poly::default());
                wide = true;
            }
        }
        if let Some(line) = self.lines.get_mut(v.0 as usize) {
            line.indices.clone_from(&all);
        }
        let (own, e) = (self.indices_of(w), self.root(w));
        let extents: Vec<Poly> = all.iter().skip(first + 1).map(|i| put(&i.extent)).collect();
        if own.iter().map(|i| &i.extent).eq(extents.iter()) {
            return Ok((own, e, wide));
        }
        let inside = Pred::all(own.iter().map(|i| Pred::less(&i.value(), &i.extent)));
        let wider = own.iter().zip(extents).map(|(i, n)| Index { extent: n, ..i.clone() }).collect();
        Ok((wider, Ex::guard(inside, e), wide))
    }

    /// Prints a carried array in which each iteration stores its value.
    fn stored(
        &mut self,
        (v, w): (Var, Var),
        (own, e): (&[Index], &Ex),
        of: &Looped,
        region: &Region,
        back: bool,
    ) -> Result<Slot, Outside> {
        let line = self.lines.get(v.0 as usize).cloned().ok_or(Outside::Unreadable)?;
        let inner = self.lines.get(w.0 as usize).and_then(|l| l.name.clone());
        let wanted = line.name.clone().or(inner).filter(|n| self.is_given(n)).unwrap_or_else(|| "t".into());
        let wanted = self.for_reader(&wanted);
        let name = if back { self.taken.fresh(&wanted) } else { self.taken.fresh(&format!("{wanted}_at")) };
        let empty = zero(line.scalar.unwrap_or(Scalar::F64));
        let value = if own.is_empty() { self.put(e) } else { self.array(own, e, "-", false) };
        let Some(trips) = of.trips.clone() else {
            // In a `scan`, the next state holds the value.
            let init = self.array(own, &empty, "-", false);
            return Ok(Slot { name, init, next: value, of: Slotted::Every(v) });
        };
        let number = region.number.value();
        let at = if region.reversed && !back { trips.plus(-1).sub(&number) } else { number };
        let extent = self.indices_of(v).get(of.batch.len()).map(|i| i.extent.clone()).unwrap_or_default();
        let extent = if extent.as_atom().is_some_and(|a| matches!(a, Atom::Max(..))) {
            trips.greatest(&Poly::default())
        } else {
            trips
        };
        let mut indices = vec![self.table.index(extent)];
        indices.extend(own.iter().map(|i| Index { extent: i.extent.clone(), ..self.table.index(Poly::default()) }));
        let init = self.array(&indices, &empty, "-", false);
        let next = format!("{name} with [{}] = {value}", self.poly(&at).0);
        Ok(Slot { name, init, next, of: Slotted::Every(v) })
    }

    /// Returns the condition of a `while` loop as an expression over the other carried lines.
    /// `None` if the carried truth value is not the same function of them at first and later.
    fn condition(&mut self, going: Var, id: u32) -> Option<Ex> {
        let region = self.table.regions.get(id as usize)?.clone();
        let Is::Carried(of) = self.lines.get(going.0 as usize)?.is.clone() else { return None };
        // The truth value before an iteration is a function of the values carried with it.
        let nexts: Vec<(Var, Var)> =
            region.carried.iter().filter(|c| c.0 != going).filter_map(|c| Some((self.next_of(c.0)?, c.0))).collect();
        let next = self.expanded(&Ex::Read(of.next, Vec::new()), &|v| !nexts.iter().any(|(n, _)| *n == v), 0)?;
        let holds = renamed(&next, &|v| nexts.iter().find(|(n, _)| *n == v).map(|(_, c)| *c));
        let mut own = true;
        holds.for_each_use(&mut |v, _| {
            own &= !self.is_inside(v, id) || region.carried.iter().any(|c| c.0 == v && v != going);
        });
        let inits: Vec<(Var, Line)> = region
            .carried
            .iter()
            .filter_map(|(v, _)| {
                let line = self.lines.get(v.0 as usize)?.clone();
                let Is::Carried(of) = &line.is else { return None };
                Some((*v, Line { indices: of.around.clone(), is: Is::Element(of.init.clone()), ..line }))
            })
            .collect();
        let put = |v: Var| inits.iter().find(|(w, _)| *w == v).map(|(_, line)| line.clone());
        let first = substituted(&holds, &put, &mut self.table);
        let (first, told) = (self.expanded(&first, &|_| true, 0)?, self.expanded(&of.init, &|_| true, 0)?);
        (own && first.key() == told.key()).then_some(holds)
    }

    /// Substitutes the lines that it reads, where `may` allows it. `None` if the result is too deep
    /// or too large.
    fn expanded(&mut self, e: &Ex, may: &dyn Fn(Var) -> bool, depth: u32) -> Option<Ex> {
        let mut reads = Vec::new();
        e.for_each_use(&mut |v, asked| reads.push((v, asked)));
        let known: Vec<(Var, Line)> = reads
            .iter()
            .filter(|(v, asked)| !asked && may(*v))
            .filter_map(|(v, _)| Some((*v, self.lines.get(v.0 as usize)?.clone())))
            .filter(|(_, line)| line.element().is_some())
            .collect();
        if known.is_empty() {
            return Some(e.clone());
        }
        if depth > 50 || e.size() > 500 {
            return None;
        }
        let put = |v: Var| known.iter().find(|(w, _)| *w == v).map(|(_, line)| line.clone());
        let e = substituted(e, &put, &mut self.table);
        self.expanded(&e, may, depth + 1)
    }

    /// Chooses the name of a carried variable: `s` if the program has no name for it.
    pub(super) fn called(&self, name: Option<&Name>) -> Name {
        let Some(name) = name.filter(|name| !self.is_given(name)) else {
            return self.for_reader(&name.cloned().unwrap_or_else(|| "s".into()));
        };
        let suffix = ["_adj", "_tan"].into_iter().find(|suffix| name.ends_with(suffix)).unwrap_or_default();
        self.for_reader(&format!("s{suffix}").into())
    }

    /// Returns the name that a reader sees. If the seed is 1, no value is a cotangent of the
    /// program, so `x_adj` is called `x_grad`.
    pub(super) fn for_reader(&self, name: &Name) -> Name {
        let stem = name.strip_suffix("_adj").filter(|_| self.reader.as_ref().is_some_and(|r| r.of_one));
        stem.map_or_else(|| name.clone(), |stem| format!("{stem}_grad").into())
    }
}

/// Renames the statements that it reads.
fn renamed(e: &Ex, name: &dyn Fn(Var) -> Option<Var>) -> Ex {
    match e {
        Ex::Read(v, at) => Ex::Read(name(*v).unwrap_or(*v), at.clone()),
        _ => e.rebuilt(&mut |e| renamed(e, name)),
    }
}

/// Maps the subscript on one axis in all reads of a statement.
fn turned_reads(e: &Ex, v: Var, axis: usize, turned: &dyn Fn(&Poly) -> Poly) -> Ex {
    match e {
        Ex::Read(w, at) if *w == v => {
            let at = at.iter().enumerate().map(|(k, p)| if k == axis { turned(p) } else { p.clone() });
            Ex::Read(v, at.collect())
        }
        _ => e.map_children(&mut |e| turned_reads(e, v, axis, turned)),
    }
}
