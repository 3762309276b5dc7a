//! **Forward/reverse partition** of a loop body and its adjoint. It produces two bodies: the primal
//! body, which also outputs the kept values, and the body of the reverse loop.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::super::Deriving;
use super::back::{Chain, overwritten};
use crate::norm::{dead, loops};
use lang_ir::core::{Leaf, Vars};
use lang_ir::flat::{Input, Source};
use lang_ir::region::Loop;
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, for_each_read, index, reads};
use lang_sizes::predicate::{Atom, Poly, Pred};

/// The source of an input of the reverse body.
#[derive(Clone, Debug)]
pub(super) enum Fed {
    /// A part of a top-level `let`.
    Global(Input),
    /// An input of the primal body that is not carried, in the same iteration.
    Given(u32),
    /// A kept value: an output of the extended primal body.
    Kept(u32),
    /// The cotangent of an output, by its position among the seeds.
    Seed(u32),
    /// The sum of an input's cotangents so far, by its position among the sums.
    Sum(u32),
    /// An updated array, as it was after the iteration.
    Back(u32),
}

impl Fed {
    /// Returns the name under which this source is counted.
    pub(super) fn rule(&self) -> Option<&'static str> {
        Some(match self {
            Self::Global(_) => return None,
            Self::Given(_) => "given again",
            Self::Kept(_) => "kept for the reverse",
            Self::Seed(_) => "carried cotangent",
            Self::Sum(_) => "sum over iterations",
            Self::Back(_) => "put back",
        })
    }
}

/// The partition of a body and its adjoint, by the primal values that the reverse reads.
pub(super) struct Split {
    /// Primal statements that the reverse recomputes.
    again: BTreeSet<u32>,
    /// Primal statements that the forward loop keeps.
    kept: Vec<Var>,
    /// Statements of the reverse.
    reverse: BTreeSet<u32>,
    /// Arrays that the body only updates and the reverse restores.
    back: Vec<Chain>,
    /// A version of such an array that a nested loop computes and that no loop restores yet.
    pub(super) missing: Option<Var>,
}

/// The primal part of a pass over a body.
struct Primal<'a> {
    stmts: &'a [Stmt],
    count: usize,
    loops: Vec<&'a Arc<Loop>>,
}

impl<'a> Primal<'a> {
    fn of(of: &Loop, pass: &'a Deriving<'_>) -> Self {
        let (stmts, count) = (pass.builder.stmts.as_slice(), of.body.stmts.len());
        let loops = stmts.iter().take(count);
        let loops = loops.filter_map(|s| if let Rhs::Loop(of, _) = &s.rhs { Some(of) } else { None }).collect();
        Self { stmts, count, loops }
    }

    /// Returns the parts of loops that the body did not read before, and the statements that their
    /// extents need. Operands come first.
    fn new_parts(&self) -> BTreeSet<u32> {
        let all = (0..).take(self.stmts.len()).map(Var);
        let mut open: Vec<Var> = all.skip(self.count).filter(|v| self.has(*v)).collect();
        let mut found = BTreeSet::new();
        while let Some(v) = open.pop() {
            let Some(stmt) = self.stmts.get(v.0 as usize).filter(|_| v.0 as usize >= self.count) else { continue };
            if found.insert(v.0) {
                stmt.dims.iter().for_each(|n| reads(n, &mut |v| open.push(v)));
                stmt.rhs.for_each_operand(&mut |v| open.push(v));
            }
        }
        found
    }

    /// Returns whether this is a statement of the body, or a newly read part of a loop in it.
    fn has(&self, v: Var) -> bool {
        let part = || match self.stmts.get(v.0 as usize).map(|s| &s.rhs) {
            Some(Rhs::Loop(of, _)) => self.loops.iter().any(|other| Arc::ptr_eq(other, of)),
            _ => false,
        };
        (v.0 as usize) < self.count || part()
    }
}

/// The two bodies.
pub(super) struct Made {
    /// The primal body, which also outputs the kept values.
    pub(super) forward: Ssa,
    pub(super) reverse: Ssa,
    /// The carried inputs that the reverse restores. Their outputs come last.
    pub(super) back: Vec<u32>,
    /// The sources of the reverse body's inputs.
    pub(super) inputs: Vec<Fed>,
}

impl Split {
    /// Computes the partition for a reverse that computes the statements `ends`, with these arrays
    /// that the body only updates.
    pub(super) fn of(of: &Loop, pass: &Deriving<'_>, ends: &[Var], chains: &[Chain]) -> Self {
        let stmts = &pass.builder.stmts;
        let primal = Primal::of(of, pass);
        let mut split = Self {
            again: BTreeSet::new(),
            kept: Vec::new(),
            reverse: BTreeSet::new(),
            back: Vec::new(),
            missing: None,
        };
        let carried: BTreeSet<u32> = of.carried().map(|(k, _)| k).collect();
        let mut open: Vec<Var> = ends.to_vec();
        while let Some(v) = open.pop() {
            let Some(stmt) = stmts.get(v.0 as usize) else { continue };
            let k = v.0;
            if primal.has(v) {
                if split.again.contains(&k) || split.kept.contains(&v) {
                    continue;
                }
                if let Some(chain) = chains.iter().find(|c| c.has(v)) {
                    if !split.back.iter().any(|c| c.input == chain.input) {
                        split.back.push(chain.clone());
                        for link in &chain.links {
                            match link.before {
                                Some(before) => open.push(before),
                                None => split.open_update(stmts, link.after, &mut open),
                            }
                        }
                    }
                    continue;
                }
                let again = match &stmt.rhs {
                    Rhs::Input(k) => !carried.contains(k),
                    Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_) => true,
                    Rhs::Contract { bound, factors, .. } if bound.is_empty() && factors.len() == 1 => {
                        // A view is recomputed, unless it has fewer axes than its operand: then the
                        // view itself is kept. A view of an input that is not carried is always
                        // recomputed.
                        let shown = factors.first().and_then(|f| stmts.get(f.var.0 as usize));
                        let given = shown.is_some_and(|s| matches!(s.rhs, Rhs::Input(k) if !carried.contains(&k)));
                        given || shown.is_some_and(|s| s.dims.len() <= stmt.dims.len())
                    }
                    _ => false,
                };
                if !again {
                    split.kept.push(v);
                    stmt.dims.iter().for_each(|n| reads(n, &mut |v| open.push(v)));
                    continue;
                }
                split.again.insert(k);
            } else if !split.reverse.insert(k) {
                continue;
            }
            stmt.dims.iter().for_each(|n| reads(n, &mut |v| open.push(v)));
            stmt.rhs.for_each_operand(&mut |v| open.push(v));
            for c in &stmt.needs {
                if let Some(check) = pass.builder.checks.get(*c as usize) {
                    [&check.guard, &check.cond].into_iter().for_each(|p| for_each_read(p, &mut |v| open.push(v)));
                }
            }
        }
        split.kept.sort_unstable();
        split
    }

    /// Collects the operands that restoring an update needs, which describe its position. After a
    /// nested loop, marks the version as missing.
    fn open_update(&mut self, stmts: &[Stmt], after: Var, open: &mut Vec<Var>) {
        match stmts.get(after.0 as usize).map(|s| &s.rhs) {
            Some(Rhs::Update { bound, pred, at, .. }) => {
                bound.iter().chain(at).for_each(|p| reads(p, &mut |v| open.push(v)));
                for_each_read(pred, &mut |v| open.push(v));
            }
            _ => self.missing = Some(after),
        }
    }

    /// Builds the extended primal body and the reverse body. The first `seeds` inputs after the
    /// primal's are seeds, of which `carried` are carried.
    pub(super) fn made(
        &self,
        of: &Loop,
        pass: &Deriving<'_>,
        (seeds, carried): (usize, u32),
        cotangents: &[Var],
    ) -> Made {
        let stmts = &pass.builder.stmts;
        let mut forward = (*of.body).clone();
        // Nested loops output the values that their reverses keep.
        for (slot, stmt) in forward.stmts.iter_mut().zip(stmts) {
            slot.rhs.clone_from(&stmt.rhs);
        }
        // Parts of loops that the body did not read before, and the statements that their extents
        // need.
        let primal = Primal::of(of, pass);
        let mut moved: HashMap<u32, u32> = (0..).take(forward.stmts.len()).map(|k: u32| (k, k)).collect();
        for k in primal.new_parts() {
            let Some(stmt) = stmts.get(k as usize) else { continue };
            let put = Places { places: &moved };
            let dims = stmt.dims.iter().map(|n| put.poly(n)).collect();
            let rhs = match &stmt.rhs {
                // A loop reads statements of the body, whose numbers do not change.
                Rhs::Loop(..) => stmt.rhs.clone(),
                rhs => rhs.map(&mut |a| put.access(a), &|p| put.poly(p), &|p| put.pred(p)),
            };
            forward.stmts.push(Stmt { dims, rhs, ..stmt.clone() });
            moved.insert(k, u32::try_from(forward.stmts.len() - 1).unwrap_or(u32::MAX));
        }
        let keep = |forward: &mut Ssa, v: Var| {
            let stmt = forward.stmts.get(v.0 as usize);
            let (dims, scalar) = stmt.map(|s| (s.dims.clone(), s.scalar)).unwrap_or_default();
            forward.outputs.push((Leaf { path: Vec::new(), dims, scalar }, v));
            u32::try_from(forward.outputs.len() - 1).unwrap_or(u32::MAX)
        };
        let (mut inputs, mut feeds, mut all) = (Vec::new(), Vec::new(), Vec::new());
        let mut places: HashMap<u32, u32> = HashMap::new();
        let mut vars = pass.vars.clone();
        let push = |all: &mut Vec<Stmt>, stmt: Stmt| {
            all.push(stmt);
            u32::try_from(all.len() - 1).unwrap_or(u32::MAX)
        };
        let input = |stmt: &Stmt, k: u32| Stmt { rhs: Rhs::Input(k), needs: Vec::new(), ..stmt.clone() };
        let leaf_of = |stmt: &Stmt| Leaf { path: Vec::new(), dims: stmt.dims.clone(), scalar: stmt.scalar };
        for v in &self.kept {
            let Some(stmt) = stmts.get(v.0 as usize) else { continue };
            let k = keep(&mut forward, Places { places: &moved }.var(*v));
            let number = fresh("kept", leaf_of(stmt), Fed::Kept(k), &mut inputs, &mut feeds, &mut vars);
            places.insert(v.0, push(&mut all, input(stmt, number)));
        }
        for chain in &self.back {
            let Some(stmt) = stmts.get(chain.first.0 as usize) else { continue };
            let number = fresh("after", leaf_of(stmt), Fed::Back(chain.input), &mut inputs, &mut feeds, &mut vars);
            places.insert(chain.last().0, push(&mut all, input(stmt, number)));
        }
        for k in self.again.iter().chain(&self.reverse) {
            let Some(stmt) = stmts.get(*k as usize) else { continue };
            let mut stmt = stmt.clone();
            if let Rhs::Input(j) = stmt.rhs {
                let Some(old) = pass.inputs.get(j as usize) else { continue };
                let count = of.body.inputs.len();
                let place = |k: usize| u32::try_from(k).unwrap_or(u32::MAX);
                let feed = match (j as usize).checked_sub(count) {
                    None => Fed::Given(j),
                    Some(_) if !old.source.is_passed() => Fed::Global(old.clone()),
                    Some(k) if k < seeds => Fed::Seed(place(k)),
                    Some(k) => Fed::Sum(place(k - seeds)),
                };
                let given = matches!(feed, Fed::Given(_));
                let number =
                    fresh(&pass.vars.name(old.local), leaf_of(&stmt), feed, &mut inputs, &mut feeds, &mut vars);
                if let (Some(slot), true) = (inputs.last_mut(), given) {
                    // The local stays the same, because an integer input may be a size.
                    slot.local = old.local;
                }
                stmt = input(&stmt, number);
            }
            places.insert(*k, push(&mut all, stmt));
        }
        // A carried cotangent is an input even if nothing in the body reads it.
        for j in 0..carried {
            let known = feeds.iter().any(|f| matches!(f, Fed::Seed(k) if *k == j));
            let old = pass.inputs.get(of.body.inputs.len() + j as usize);
            if let (false, Some(old)) = (known, old) {
                let leaf = old.leaf.clone();
                fresh(&pass.vars.name(old.local), leaf, Fed::Seed(j), &mut inputs, &mut feeds, &mut vars);
            }
        }
        // Earlier versions, from the last to the first, each written back from the overwritten
        // elements.
        for (before, link) in self.back.iter().flat_map(Chain::backwards) {
            if let Some(place) = link.before.and_then(|v| places.get(&v.0)).copied() {
                places.insert(before.0, place);
                continue;
            }
            let Some(stmt) = stmts.get(link.after.0 as usize) else { continue };
            let Rhs::Update { bound, pred, at, .. } = &stmt.rhs else { continue };
            let old = overwritten(stmt, before);
            let v = Var(push(&mut forward.stmts, old.clone()));
            let k = keep(&mut forward, v);
            let number = fresh("old", leaf_of(&old), Fed::Kept(k), &mut inputs, &mut feeds, &mut vars);
            let value = Var(push(&mut all, input(&old, number)));
            let free = stmt.dims.len();
            let own = (0..bound.len()).map(|k| index(free + k, &Poly::default()).value()).collect();
            // All statement numbers in this update are old ones, except the value's.
            let rhs = Rhs::Update {
                base: Access { var: link.after, at: Vec::new() },
                batch: 0,
                bound: bound.clone(),
                pred: pred.clone(),
                at: at.clone(),
                value: Access { var: Var(NEW + value.0), at: own },
                add: false,
            };
            places.insert(before.0, push(&mut all, Stmt { rhs, ..stmt.clone() }));
        }
        let put = Places { places: &places };
        for stmt in &mut all {
            stmt.dims = stmt.dims.iter().map(|n| put.poly(n)).collect();
            stmt.rhs = stmt.rhs.map(&mut |a| put.access(a), &|p| put.poly(p), &|p| put.pred(p));
        }
        let mut checks = pass.builder.checks.clone();
        for check in &mut checks {
            check.dims.iter_mut().for_each(|n| *n = put.poly(n));
            (check.guard, check.cond) = (put.pred(&check.guard), put.pred(&check.cond));
        }
        // Integers that are sizes of the remaining statements.
        let mut sizes = BTreeSet::new();
        let used = Ssa { stmts: all.clone(), checks: checks.clone(), ..(*of.body).clone() };
        loops::for_each_local(&used, &mut |l| {
            sizes.insert(l);
        });
        for (k, old) in (0..).zip(&of.body.inputs).filter(|(_, i)| sizes.contains(&i.local)) {
            if feeds.iter().any(|f| matches!(f, Fed::Given(j) if *j == k)) {
                continue;
            }
            fresh(&pass.vars.name(old.local), old.leaf.clone(), Fed::Given(k), &mut inputs, &mut feeds, &mut vars);
            inputs.last_mut().into_iter().for_each(|i| i.local = old.local);
        }
        for input in &mut inputs {
            input.leaf.dims.iter_mut().for_each(|n| *n = put.poly(n));
        }
        let ends = cotangents.iter().copied().chain(self.back.iter().map(|c| c.first));
        let outputs: Vec<(Leaf, Var)> = ends
            .map(|v| {
                let var = put.var(v);
                let leaf =
                    all.get(var.0 as usize).map(|s| Leaf { path: Vec::new(), dims: s.dims.clone(), scalar: s.scalar });
                (leaf.unwrap_or(Leaf { path: Vec::new(), dims: Vec::new(), scalar: None }), var)
            })
            .collect();
        let mut reverse = Ssa { vars, inputs, stmts: all, checks, needs: Vec::new(), outputs, ..(*of.body).clone() };
        // Data that are extents of kept values become outputs too.
        let mut extents = BTreeSet::new();
        forward.outputs.iter().for_each(|(leaf, _)| {
            leaf.dims.iter().for_each(|n| {
                reads(n, &mut |v| {
                    extents.insert(v);
                });
            });
        });
        for v in extents {
            let scalar = forward.stmts.get(v.0 as usize).is_some_and(|s| s.dims.is_empty());
            if scalar && !forward.outputs.iter().any(|(_, output)| *output == v) {
                keep(&mut forward, v);
            }
        }
        dead::remove(&mut reverse);
        dead::remove(&mut forward);
        Made { forward, reverse, back: self.back.iter().map(|c| c.input).collect(), inputs: feeds }
    }
}

/// The offset of the numbers of new reverse statements, until all statements are renumbered.
const NEW: u32 = 1 << 22;

/// A map from old statement numbers to new ones.
struct Places<'a> {
    places: &'a HashMap<u32, u32>,
}

impl Places<'_> {
    fn var(&self, v: Var) -> Var {
        match v.0.checked_sub(NEW) {
            Some(new) => Var(new),
            None => Var(self.places.get(&v.0).copied().unwrap_or(u32::MAX >> 8)),
        }
    }

    fn access(&self, a: &Access) -> Access {
        Access { var: self.var(a.var), at: a.at.iter().map(|p| self.poly(p)).collect() }
    }

    fn poly(&self, p: &Poly) -> Poly {
        p.substitute(&|a| match a {
            Atom::Read(x, _, at) => {
                let v = self.var(Var::of_local(*x)?);
                Some(Poly::atom(Atom::Read(v.local(), v.name(), at.iter().map(|p| self.poly(p)).collect())))
            }
            _ => None,
        })
    }

    fn pred(&self, p: &Pred) -> Pred {
        p.map(&|p| self.poly(p)).replace_opaque(&|x| {
            let v = self.var(Var::of_local(x.of)?);
            let (local, name, at) = (v.local(), v.name(), x.at.into());
            Some(if x.array { Pred::Is(local, name, at, true) } else { Pred::Member(local, name, at, true) })
        })
    }
}

/// Adds an input, and returns its number.
fn fresh(name: &str, leaf: Leaf, feed: Fed, inputs: &mut Vec<Input>, feeds: &mut Vec<Fed>, vars: &mut Vars) -> u32 {
    let number = u32::try_from(inputs.len()).unwrap_or(u32::MAX);
    inputs.push(Input { local: vars.fresh(name), source: Source::Param(number), leaf });
    feeds.push(feed);
    number
}
