//! **Merging lines.** Substitutes a line into its readers if the line is free to read. A line that
//! is read once, at each index once, is also substituted, unless the program has a telling name for
//! it. Nothing is computed more often than before.
//!
//! [`super::writer`] runs the rules of this module and of [`super::shorten`] until none applies.

use std::collections::HashMap;
use std::sync::Arc;

use super::read::{Call, Is, Line, Updated};
use super::rules::{clean, inside, simplified, under};
use super::table::Table;
use super::tree::Ex;
use lang_base::{Large, pause};
use lang_ir::core::Callee;
use lang_ir::ssa::Var;
use lang_sizes::predicate::{Context, Index, Poly};

/// The most nodes of a program that is fit to read.
const MOST_NODES: usize = 20_000;

/// The most lines of such a program; more would also take long to merge.
const MOST_LINES: usize = 400;

/// A line that is read once stays separate if its reader would then have more nodes than this.
const LONG: usize = 60;

/// The most rounds of rules, as a guard against a rule that reports a change without making one.
const MOST_ROUNDS: usize = 1_000;

/// The lines, with the known facts about sizes.
pub(super) struct Merging<'a> {
    pub(super) lines: Large<Vec<Line>>,
    pub(super) context: Context,
    pub(super) fresh: &'a mut Table,
    /// The lines that must exist: the leaves of the result, and the lines that checks read.
    pub(super) roots: Vec<Var>,
    /// Whether the program introduces a name.
    pub(super) names: &'a dyn Fn(&str) -> bool,
    /// Whether a callee never fails.
    pub(super) total: &'a dyn Fn(&Arc<Callee>) -> bool,
}

/// A callback for each read: the line read, its subscripts, and the indices around.
type OnRead<'f> = &'f mut dyn FnMut(Var, &[Poly], &[Index]);

/// The uses of a line.
#[derive(Clone, Default)]
pub(super) struct Uses {
    /// The number of reads as an element.
    pub(super) elements: usize,
    /// The number of reads in an index or a predicate.
    pub(super) asked: usize,
    /// Whether it is a root, or a loop refers to it.
    pub(super) root: bool,
}

impl Merging<'_> {
    /// Applies the rules until none changes a line. Returns `false` if the program is too large.
    pub(super) fn run(&mut self) -> bool {
        self.clean_all();
        for _ in 0..MOST_ROUNDS {
            pause();
            let size: usize = self.live().iter().filter_map(|v| self.line(*v)?.element().map(Ex::size)).sum();
            if size > MOST_NODES || self.live().len() > MOST_LINES {
                return false;
            }
            let changed = self.covered()
                || self.free()
                || self.once()
                || self.constants()
                || self.unguarded()
                || self.one_call()
                || self.reached()
                || self.scaled()
                || self.centred();
            if !changed {
                return true;
            }
        }
        // Reached only if a rule reports a change without making one.
        debug_assert!(false, "{MOST_ROUNDS} rounds");
        true
    }

    pub(super) fn line(&self, v: Var) -> Option<&Line> {
        self.lines.get(v.0 as usize)
    }

    fn vars(&self) -> impl Iterator<Item = Var> + use<> {
        (0..u32::try_from(self.lines.len()).unwrap_or(0)).map(Var)
    }

    /// Returns the lines that the roots need, in order.
    pub(super) fn live(&self) -> Vec<Var> {
        let mut live = vec![false; self.lines.len()];
        let mut open = self.roots.clone();
        while let Some(v) = open.pop() {
            let Some(slot @ false) = live.get_mut(v.0 as usize) else { continue };
            *slot = true;
            self.for_each_use(v, &mut |v, _| open.push(v));
            self.line(v).into_iter().for_each(|line| line.for_each_link(&mut |v| open.push(v)));
        }
        let mut all: Vec<Var> = self.vars().filter(|v| live.get(v.0 as usize) == Some(&true)).collect();
        all.sort_by_key(|v| self.line(*v).map(|line| line.order));
        all
    }

    pub(super) fn for_each_use(&self, v: Var, f: &mut dyn FnMut(Var, bool)) {
        self.line(v).into_iter().for_each(|line| line.for_each_use(f));
    }

    pub(super) fn uses(&self) -> HashMap<Var, Uses> {
        let mut uses: HashMap<Var, Uses> = HashMap::new();
        for v in self.live() {
            self.for_each_use(v, &mut |v, asked| {
                let uses = uses.entry(v).or_default();
                if asked { uses.asked += 1 } else { uses.elements += 1 }
            });
            self.line(v).into_iter().for_each(|l| l.for_each_link(&mut |v| uses.entry(v).or_default().root = true));
        }
        for v in &self.roots {
            uses.entry(*v).or_default().root = true;
        }
        uses
    }

    fn clean_all(&mut self) {
        for v in self.live() {
            self.replace(v, &|_| None);
            let Some(line) = self.line(v).cloned() else { continue };
            let mut around = self.fresh.ranges(line.home(self.fresh));
            let pred = match &line.is {
                Is::Call(call, _) => {
                    around.extend(call.batch.iter().cloned());
                    &call.pred
                }
                Is::Update(of) => {
                    around.extend(of.batch.iter().chain(&of.bound).cloned());
                    &of.pred
                }
                _ => continue,
            };
            let (context, fresh) = (&mut self.context, &*self.fresh);
            let pred = inside(&around, context, |context| simplified(pred, context, fresh));
            let is = match &line.is {
                Is::Call(call, part) => Is::Call(Call { pred, ..call.clone() }, *part),
                Is::Update(of) => Is::Update(Box::new(Updated { pred, ..(**of).clone() })),
                _ => continue,
            };
            self.lines.get_mut(v.0 as usize).into_iter().for_each(|slot| slot.is = is.clone());
        }
    }

    /// Substitutes elements for reads in a line, and simplifies it. Returns whether the line
    /// changed.
    pub(super) fn replace(&mut self, v: Var, put: &dyn Fn(Var) -> Option<Line>) -> bool {
        pause();
        let Some(line) = self.line(v).cloned() else { return false };
        if matches!(line.is, Is::Input) {
            return false;
        }
        let (context, fresh) = (&mut self.context, &mut *self.fresh);
        let mut home = fresh.ranges(line.home(fresh));
        let first = home.len();
        let is = line.is.map(&line.indices, &mut |around, pred, e| {
            let e = substituted(e, put, fresh);
            home.truncate(first);
            home.extend(around.iter().cloned());
            inside(&home, context, |context| under(pred, context, |context| settled(e, context, fresh)))
        });
        let changed = is != line.is;
        if let Some(slot) = self.lines.get_mut(v.0 as usize) {
            slot.is = is;
        }
        changed
    }

    /// Substitutes lines that are free to read into their readers.
    fn free(&mut self) -> bool {
        let mut changed = false;
        for v in self.live() {
            let lines = &self.lines;
            let mut reads = Vec::new();
            self.for_each_use(v, &mut |u, asked| {
                let free = lines.get(u.0 as usize).and_then(Line::element).is_some_and(Ex::is_free);
                if free && !asked {
                    reads.push(u);
                }
            });
            if reads.is_empty() {
                continue;
            }
            let known: HashMap<Var, Line> = reads.iter().filter_map(|u| Some((*u, self.line(*u)?.clone()))).collect();
            self.replace(v, &|u| known.get(&u).cloned());
            changed = true;
        }
        changed
    }

    /// Substitutes a line that is read once, at each of its indices once, into its reader.
    fn once(&mut self) -> bool {
        let uses = self.uses();
        for v in self.live() {
            let mut found = None;
            let before = self.line(v).and_then(Line::element).map_or(0, Ex::size);
            let is_once = |u: Var| {
                let line = self.line(u)?;
                let e = line.element()?;
                let uses = uses.get(&u)?;
                let single = uses.elements == 1 && uses.asked == 0 && !uses.root;
                let named = line.name.as_ref().is_some_and(|n| (self.names)(n)) && says_something(e);
                (single && !named && before + e.size() <= LONG).then_some(())
            };
            self.for_each_read(v, &mut |u, at, around| {
                if is_once(u).is_some() && each_once(at, &self.between(u, v, around)) {
                    found = Some(u);
                }
            });
            if let Some(u) = found
                && let Some(line) = self.line(u).cloned()
            {
                return self.replace(v, &|w| (w == u).then(|| line.clone()));
            }
        }
        false
    }

    /// Returns the indices around a read, with those of the loops that contain the reader but not
    /// the line it reads.
    fn between(&self, u: Var, v: Var, around: &[Index]) -> Vec<Index> {
        let home = self.line(v).and_then(|line| line.home(self.fresh));
        let outer = self.line(u).and_then(|line| line.within);
        let (all, known) = (self.fresh.around(home), self.fresh.around(outer).len());
        all.into_iter().skip(known).chain(around.iter().cloned()).collect()
    }

    /// Calls `f` for each element that a line reads, with the indices around it.
    fn for_each_read(&self, v: Var, f: OnRead<'_>) {
        let Some(line) = self.line(v) else { return };
        line.is.for_each_part(&line.indices, &mut |around, e| reads_in(e, &mut around.to_vec(), f));
    }
}

/// Returns whether a name for the expression helps a reader. A multiple of a named value needs no
/// name.
fn says_something(e: &Ex) -> bool {
    match e {
        Ex::Guard(_, e) => says_something(e),
        Ex::Product(p) => p.over.len() + p.under.len() > 1 || p.over.iter().any(says_something),
        Ex::Read(..) | Ex::Constant(_) | Ex::Index(_) => false,
        _ => true,
    }
}

/// Simplifies the expression until it no longer changes, at most 8 times.
pub(super) fn settled(mut e: Ex, context: &mut Context, fresh: &mut Table) -> Ex {
    for _ in 0..8 {
        let next = clean(&e, context, fresh);
        if next == e {
            break;
        }
        e = next;
    }
    e
}

/// Substitutes elements for reads.
pub(super) fn substituted(e: &Ex, put: &dyn Fn(Var) -> Option<Line>, fresh: &mut Table) -> Ex {
    match e {
        Ex::Read(v, at) => match put(*v).and_then(|line| line.at(at, fresh)) {
            // The substituted element may read other lines that are substituted, too.
            Some(inner) => substituted(&inner, &|w| if w == *v { None } else { put(w) }, fresh),
            None => e.clone(),
        },
        _ => e.rebuilt(&mut |e| substituted(e, put, fresh)),
    }
}

/// Calls `f` for each read, with the indices around it.
fn reads_in(e: &Ex, around: &mut Vec<Index>, f: OnRead<'_>) {
    match e {
        Ex::Read(v, at) => f(*v, at, around),
        Ex::Reduce(r) => {
            let before = around.len();
            around.extend(r.indices.iter().cloned());
            reads_in(&r.body, around, f);
            around.truncate(before);
        }
        Ex::Total(i, _, inner) => {
            let before = around.len();
            around.extend(i.iter().cloned());
            reads_in(inner, around, f);
            around.truncate(before);
        }
        other => other.for_each_child(&mut |e| reads_in(e, around, f)),
    }
}

/// Returns whether different values of the indices around always read different elements. The
/// subscripts must determine each index.
fn each_once(at: &[Poly], around: &[Index]) -> bool {
    let mut open: Vec<&Index> = around.iter().collect();
    loop {
        let told = open.iter().position(|i| {
            at.iter().any(|p| {
                let others = open.iter().filter(|j| j.local != i.local);
                p.linear_in(&i.atom()).is_some_and(|(_, rest)| !others.clone().any(|j| rest.mentions(&j.atom())))
            })
        });
        match told {
            Some(k) => drop(open.remove(k)),
            None => return open.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_with_nan_is_settled() {
        let (mut context, mut fresh) = (Context::default(), Table::default());
        let gap = Ex::product(2.0, vec![Ex::real(f64::NAN)], Vec::new());
        let e = Ex::Sum(vec![(false, Ex::real(1.0)), (true, gap)]);
        let settled = settled(e, &mut context, &mut fresh);
        assert_eq!(clean(&settled, &mut context, &mut fresh), settled);
    }
}
