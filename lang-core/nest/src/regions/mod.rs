//! **In-place loops.** A loop whose body updates arrays becomes one kernel. The loop over the
//! iterations contains the steps of the body, one after the other, and updates the loop-carried
//! arrays in place.
//!
//! An update must own the array that it changes: all other readers must read it before
//! ([`Versions`]). Temporaries of an iteration have memory for one iteration. Such a kernel is not
//! equivalent to any order of its statements one by one. If one iteration contains a parallel nest,
//! a loop over loops, the loop stays as it is, so that threads can share that nest.

mod nodes;
mod put;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::group::loop_name;
use super::inside::Inside;
use super::items::{asked_by, has_reads};
use super::kernel::{FIRST_LOOP, Join, Kernel, Loop, Node, Role, Set};
use super::numbers::{alone, indices, is_inside};
use super::{OfLoops, Schedule, Step, is_trivial, places, sets};
use lang_base::Name;
use lang_base::guarded;
use lang_ir::core::Constant;
use lang_ir::region::{self, Arg, Part};
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, at_indices, for_each_read, index};
use lang_sizes::predicate::{Atom, Context, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;
use nodes::{by_nodes, is_same, is_shared, read, reads_of};

/// A kernel has no more statements.
const LONGEST: usize = 400;

/// Returns the prepared function of a loop's body and its schedule.
pub(super) type Bodies<'b> = &'b dyn Fn(&Arc<Ssa>) -> (Arc<Ssa>, Schedule);

/// How what is carried begins, and what it is next, by the statement of the body.
type States = (Vec<Node>, Vec<(Access, Var)>);

/// Replaces loops by kernels where possible. Returns the function with their statements, the steps,
/// and the ranges of new statements, each with the first part of its loop. `None` if no loop is
/// replaced.
pub(super) fn regions(ssa: &Ssa, schedule: &Schedule, bodies: Bodies<'_>) -> Option<(Ssa, Schedule, OfLoops)> {
    let count = |ssa: &Ssa| u32::try_from(ssa.stmts.len()).unwrap_or(u32::MAX);
    let mut statements = Vec::new();
    let mut made: Option<(Ssa, Schedule)> = None;
    let mut tried: Vec<Arc<region::Loop>> = Vec::new();
    for step in &schedule.steps {
        let Step::Statement(var) = step else { continue };
        let Some(Rhs::Loop(of, _)) = ssa.stmts.get(var.0 as usize).map(|s| &s.rhs) else { continue };
        if tried.contains(of) || !updates(&of.body) {
            continue;
        }
        tried.push(Arc::clone(of));
        let (now, steps) = made.as_ref().map_or((ssa, schedule), |(ssa, steps)| (ssa, steps));
        let parts: HashSet<Var> =
            (0..).map(Var).zip(&now.stmts).filter(|(_, s)| is_part(s, of)).map(|(v, _)| v).collect();
        let (body, of_body) = bodies(&of.body);
        let of = Region::new(now, of, &body).and_then(|region| region.made(&of_body, &parts));
        let Some(Made { ssa: next, kernel, needs, carried }) = of else { continue };
        let (before, behind) = asked_of(now, &parts);
        let needs = before.into_iter().chain(needs).collect();
        let mut own = vec![Step::Kernel(Arc::new(kernel), needs)];
        own.extend((!behind.is_empty()).then_some(Step::Checks(behind)));
        let here = |step: &Step| match step {
            Step::Statement(v) if parts.contains(v) => std::mem::take(&mut own),
            other => vec![other.clone()],
        };
        let carried = steps.carried.iter().cloned().chain(carried).collect();
        let steps = Schedule { steps: steps.steps.iter().flat_map(here).collect(), carried, is_whole: steps.is_whole };
        statements.push((count(now)..count(&next), *var));
        made = Some((next, steps));
    }
    made.map(|(ssa, steps)| (ssa, steps, statements))
}

/// What is asked of the parts of a loop: before it, and of what they are.
fn asked_of(ssa: &Ssa, parts: &HashSet<Var>) -> (Vec<u32>, Vec<u32>) {
    let parts_of = || (0..).map(Var).zip(&ssa.stmts).filter(|(var, _)| parts.contains(var));
    let mut all: Vec<u32> = parts_of().flat_map(|(_, stmt)| &stmt.needs).copied().collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().partition(|c| !asked_by(ssa, *c).iter().any(|var| parts.contains(var)))
}

/// Is an array changed in a body, or in a loop there? Others are not worth being scheduled for it.
fn updates(body: &Ssa) -> bool {
    body.stmts.iter().any(|stmt| match &stmt.rhs {
        Rhs::Update { .. } => true,
        Rhs::Loop(of, _) => guarded(|| updates(&of.body)),
        _ => false,
    })
}

fn is_part(stmt: &Stmt, of: &Arc<region::Loop>) -> bool {
    matches!(&stmt.rhs, Rhs::Loop(other, _) if Arc::ptr_eq(other, of) || other == of)
}

/// A loop as a kernel.
struct Made {
    /// The function with its statements.
    ssa: Ssa,
    kernel: Kernel,
    /// What is asked before it.
    needs: Vec<u32>,
    /// What is carried, and what that begins with.
    carried: Vec<(Var, Access)>,
}

/// A loop as a kernel in the making.
struct Region<'r> {
    /// The function around, with the statements of the body.
    ssa: Ssa,
    of: &'r region::Loop,
    body: &'r Ssa,
    /// The loops around an iteration: over the batch, and over the iterations.
    around: Vec<Index>,
    /// What the sizes and integers of the body are there.
    locals: HashMap<LocalId, Poly>,
    /// What indices are there.
    indices: HashMap<LocalId, Poly>,
    /// What has the elements of a statement of the body, at these first indices.
    vars: HashMap<Var, Access>,
    versions: Versions,
    carried: Vec<(Var, Access)>,
    /// How many loops there are.
    loops: u32,
    /// What sizes are called.
    names: Vec<Name>,
}

/// What is changed in place is there as it is now: which state of it a statement of the body is.
#[derive(Default)]
struct Versions {
    /// Of statements, what has them, and the how manieth.
    of: HashMap<Var, (Var, u32)>,
    /// The last ones.
    now: HashMap<Var, u32>,
}

impl Versions {
    /// What changes there is this statement from now on.
    fn changes(&mut self, there: Var, by: Var) {
        let now = self.now.entry(there).or_default();
        *now += 1;
        self.of.insert(by, (there, *now));
    }

    /// Is it there as it was?
    fn is_there(&self, var: Var) -> bool {
        self.of.get(&var).is_none_or(|(there, version)| self.now.get(there).copied().unwrap_or(0) == *version)
    }
}

impl<'r> Region<'r> {
    /// Nothing of the body is there yet but what it is given.
    fn new(ssa: &Ssa, of: &'r region::Loop, body: &'r Ssa) -> Option<Self> {
        let count = of.count()?;
        let fixed = |n: &Poly| !has_reads(n) && indices([n]).is_empty();
        let plain = of.pred.is_true() && of.batch.iter().chain([count]).all(fixed) && !of.sizes.iter().any(has_reads);
        if !plain || body.stmts.len() > LONGEST {
            return None;
        }
        let names = ssa.sizes.iter().map(|l| ssa.vars.name(*l)).collect();
        let mut made = Self {
            ssa: ssa.clone(),
            of,
            body,
            around: Vec::new(),
            locals: HashMap::new(),
            indices: HashMap::new(),
            vars: HashMap::new(),
            versions: Versions::default(),
            carried: Vec::new(),
            loops: 0,
            names,
        };
        for extent in of.batch.iter().chain([count]) {
            let index = made.index(extent.clone(), made.around.len());
            made.around.push(index);
        }
        Some(made)
    }

    /// The kernel, the function with its statements, and what is asked before it. `parts`: what is read of the loop.
    fn made(mut self, steps: &Schedule, parts: &HashSet<Var>) -> Option<Made> {
        let updates = |step: &Step| match step {
            Step::Statement(v) => {
                self.body.stmts.get(v.0 as usize).is_some_and(|s| matches!(s.rhs, Rhs::Update { .. }))
            }
            Step::Kernel(..) | Step::Checks(_) => false,
        };
        if steps.carried.is_empty() && !steps.steps.iter().any(updates) {
            return None;
        }
        let needs = self.asked(steps)?;
        self.given()?;
        let (init, ends) = self.states(parts)?;
        let every = self.every(parts)?;
        for (var, stmt) in (0..).map(Var).zip(&self.body.stmts) {
            if is_trivial(&stmt.rhs) {
                let _ = self.there(var);
            }
        }
        let mut body = Vec::new();
        for (var, copy) in &every {
            // What is carried as the iteration begins.
            if self.body.stmts.get(var.0 as usize).is_some_and(|s| matches!(s.rhs, Rhs::Input(_))) {
                body.push(self.copy(copy, *var)?);
            }
        }
        let reads: Vec<HashSet<Var>> = steps.steps.iter().map(|step| self.read_by(step)).collect();
        let mut kept: HashSet<Var> = every.iter().map(|(v, _)| *v).collect();
        kept.extend(self.body.outputs.iter().map(|(_, v)| *v));
        for (k, step) in steps.steps.iter().enumerate() {
            if !reads.get(k)?.iter().all(|v| self.versions.is_there(*v)) {
                return None;
            }
            let later = |v: &Var| kept.contains(v) || reads.iter().skip(k + 1).any(|read| read.contains(v));
            match step {
                Step::Kernel(kernel, _) => {
                    self.continued(kernel, steps, &later);
                    body.extend(self.cleared(kernel)?);
                    for node in &kernel.body {
                        let node = self.node(node, self.around.len())?;
                        // What threads share by themselves they would no longer.
                        if node.as_ref().is_some_and(is_shared) {
                            return None;
                        }
                        body.extend(node);
                    }
                }
                Step::Statement(var) => match &self.body.stmts.get(var.0 as usize)?.rhs {
                    Rhs::Update { .. } => body.push(self.update(*var)?),
                    rhs if is_trivial(rhs) => {}
                    _ => return None,
                },
                Step::Checks(_) => return None,
            }
            for (var, copy) in &every {
                let is_set = match step {
                    Step::Kernel(kernel, _) => kernel.sets.contains(var),
                    Step::Statement(of) => of == var,
                    Step::Checks(_) => false,
                };
                if is_set {
                    body.push(self.copy(copy, *var)?);
                }
            }
        }
        for (var, copy) in &every {
            if self.body.stmts.get(var.0 as usize).is_some_and(|s| is_trivial(&s.rhs)) {
                body.push(self.copy(copy, *var)?);
            }
        }
        let states: HashSet<Var> = ends.iter().map(|(to, _)| to.var).collect();
        for (to, next) in ends {
            let from = self.access(&Access { var: next, at: Vec::new() })?;
            if !self.versions.is_there(next) {
                return None;
            }
            // What another state is it may be no more.
            match from == to {
                true => {}
                false if states.contains(&from.var) => return None,
                false => body.push(self.copy(&to, next)?),
            }
        }
        let batch = self.of.batch.len();
        let mut nodes = init;
        nodes.push(self.looped(batch, body)?);
        for k in (0..batch).rev() {
            nodes = vec![self.looped(k, nodes)?];
        }
        let set = sets(&nodes);
        let ssa = self.ssa;
        let mut places = places::places(&ssa, &nodes, &set, parts, &|_| false);
        // Memory has the same extents in all iterations.
        let moves = |n: &Poly| has_reads(n) || !indices([n]).is_empty();
        if places.iter().flat_map(|p| p.axes.iter().flatten()).any(moves) {
            return None;
        }
        places::wholes(&nodes, &mut places);
        let integers = places::integers(&ssa, &nodes, &mut places);
        let kernel = Kernel { places, integers, body: nodes, sets: set };
        Some(Made { ssa, kernel, needs, carried: self.carried })
    }

    /// One of the loops around an iteration.
    fn looped(&self, k: usize, body: Vec<Node>) -> Option<Node> {
        let index = self.around.get(k)?.clone();
        Some(Node::Loop(Loop::over(index, true, body)))
    }

    /// An index of a loop so deep.
    fn index(&mut self, extent: Poly, depth: usize) -> Index {
        let local = LocalId(FIRST_LOOP.saturating_add(self.loops));
        self.loops += 1;
        Index { local, name: loop_name(depth, &self.names), extent }
    }

    /// What the steps ask, of all iterations before the first.
    fn asked(&mut self, steps: &Schedule) -> Option<Vec<u32>> {
        let mut all: Vec<u32> = self.body.needs.clone();
        for step in &steps.steps {
            match step {
                Step::Kernel(_, needs) => all.extend(needs),
                Step::Statement(var) => all.extend(&self.body.stmts.get(var.0 as usize)?.needs),
                Step::Checks(_) => return None,
            }
        }
        all.sort_unstable();
        all.dedup();
        let around = self.around.iter().map(|i| i.extent.clone()).collect();
        let mut inside = Inside::new(&self.ssa, self.body, &self.of.sizes, around);
        // What the body computes is not there before.
        let none = Access { var: Var(1 << 20), at: Vec::new() };
        for (input, arg) in self.body.inputs.iter().zip(&self.of.args) {
            match arg {
                Arg::Given(of) => inside.integer(input, of)?,
                Arg::Carried { .. } => {
                    let read = Poly::atom(Atom::Read(none.var.local(), none.var.name(), Vec::new().into()));
                    inside.put.locals.insert(input.local, read);
                }
            }
        }
        for stmt in &self.body.stmts {
            let there = match &stmt.rhs {
                Rhs::Input(k) => match self.of.args.get(*k as usize)? {
                    Arg::Given(of) => of.clone(),
                    Arg::Carried { .. } => none.clone(),
                },
                _ => none.clone(),
            };
            inside.put.vars.push(there);
        }
        let needs = all.iter().map(|c| inside.check(self.body, *c)).collect::<Option<Vec<u32>>>()?;
        self.ssa = inside.ssa;
        Some(needs)
    }

    /// The values of the indices that the loop and its parts name.
    fn values(&self) -> Vec<Poly> {
        self.around.iter().map(Index::value).collect()
    }

    /// What the body is given, and what its sizes are.
    fn given(&mut self) -> Option<()> {
        let (of, values) = (self.of, self.values());
        let put = |p: &Poly| at_indices(p, &values);
        self.locals.extend(self.body.sizes.iter().copied().zip(of.sizes.iter().map(put)));
        let extents: Vec<Poly> = self.around.iter().map(|i| i.extent.clone()).collect();
        for (var, stmt) in (0..).map(Var).zip(&self.body.stmts) {
            let Rhs::Input(k) = &stmt.rhs else { continue };
            let Arg::Given(given) = of.args.get(*k as usize)? else { continue };
            if !is_inside(&self.ssa, &extents, &Pred::truth(), given) || given.at.iter().any(has_reads) {
                return None;
            }
            let there = Access { var: given.var, at: given.at.iter().map(put).collect() };
            let input = self.body.inputs.get(*k as usize)?;
            if input.leaf.dims.is_empty() {
                let value = match &self.ssa.stmts.get(there.var.0 as usize)?.rhs {
                    Rhs::Index(p) => at_indices(p, &there.at),
                    _ => read(&there),
                };
                self.locals.insert(input.local, value);
            }
            self.vars.insert(var, there);
        }
        Some(())
    }

    /// What is carried: how it begins, and what it is next, by the statement of the body.
    fn states(&mut self, parts: &HashSet<Var>) -> Option<States> {
        let (mut init, mut ends) = (Vec::new(), Vec::new());
        let batch = self.of.batch.len();
        let around: Vec<Poly> = self.values().into_iter().take(batch).collect();
        for (k, arg) in (0..).zip(&self.of.args) {
            let Arg::Carried { init: from, next } = arg else { continue };
            let input = self.body.inputs.get(k as usize)?;
            let own = input.leaf.dims.iter().map(|n| self.fixed(n)).collect::<Option<Vec<Poly>>>()?;
            let dims: Vec<Poly> = self.of.batch.iter().chain(&own).cloned().collect();
            let last = |v: &&Var| matches!(self.part(**v), Some(Part::Last(of)) if of == k);
            let mut lasts = parts.iter().filter(last);
            let state = match (lasts.next().copied(), lasts.next()) {
                (None, _) => self.push(dims.clone(), input.leaf.scalar?)?,
                (Some(var), None) => var,
                (Some(_), Some(_)) => return None,
            };
            let at = |p: &Poly| at_indices(p, &around);
            let from = Access { var: from.var, at: from.at.iter().map(at).collect() };
            let slot = self.ssa.stmts.get_mut(state.0 as usize)?;
            if slot.dims != dims {
                return None;
            }
            slot.rhs = by_nodes();
            let to = Access { var: state, at: around.clone() };
            init.push(self.copied(&to, &from, &own, batch));
            self.carried.push((state, from));
            if input.leaf.dims.is_empty() {
                self.locals.insert(input.local, read(&to));
            }
            for (var, _) in (0..).map(Var).zip(&self.body.stmts).filter(|(_, s)| s.rhs == Rhs::Input(k)) {
                self.vars.insert(var, to.clone());
                self.versions.of.insert(var, (state, 0));
            }
            ends.push((to, self.body.outputs.get(*next as usize)?.1));
        }
        Some((init, ends))
    }

    fn part(&self, var: Var) -> Option<Part> {
        match &self.ssa.stmts.get(var.0 as usize)?.rhs {
            Rhs::Loop(_, part) => Some(*part),
            _ => None,
        }
    }

    /// Of what is read of every iteration the statement of the body, and where it is kept.
    fn every(&mut self, parts: &HashSet<Var>) -> Option<Vec<(Var, Access)>> {
        let mut all = Vec::new();
        let mut parts: Vec<Var> = parts.iter().copied().collect();
        parts.sort_unstable();
        for var in parts {
            match self.part(var) {
                // That is a state by now.
                None => {}
                Some(Part::Every(k)) => {
                    let of = self.body.outputs.get(k as usize)?.1;
                    let own = self.body.stmts.get(of.0 as usize)?.dims.iter().map(|n| self.fixed(n));
                    let own = own.collect::<Option<Vec<Poly>>>()?;
                    let dims: Vec<Poly> = self.around.iter().map(|i| i.extent.clone()).chain(own).collect();
                    let to = Access { var, at: self.values() };
                    let slot = self.ssa.stmts.get_mut(var.0 as usize)?;
                    if slot.dims != dims {
                        return None;
                    }
                    slot.rhs = by_nodes();
                    all.push((of, to));
                }
                Some(_) => return None,
            }
        }
        Some(all)
    }

    /// An extent that is the same in all iterations.
    fn fixed(&self, n: &Poly) -> Option<Poly> {
        let there = self.poly(n)?;
        let mut moves = has_reads(&there);
        self.around.iter().for_each(|i| moves |= there.mentions(&i.atom()));
        (!moves).then_some(there)
    }

    /// An extent that indices and sizes tell.
    fn known(&self, n: &Poly) -> Option<Poly> {
        self.poly(n).filter(|n| !has_reads(n))
    }

    /// A statement that is set by nodes alone.
    fn push(&mut self, dims: Vec<Poly>, scalar: Scalar) -> Option<Var> {
        let var = Var(u32::try_from(self.ssa.stmts.len()).ok()?);
        self.ssa.stmts.push(Stmt { dims, scalar: Some(scalar), rhs: by_nodes(), needs: Vec::new(), name: None });
        Some(var)
    }

    /// What a step reads of the body.
    fn read_by(&self, step: &Step) -> HashSet<Var> {
        let mut all = HashSet::new();
        match step {
            Step::Kernel(kernel, _) => {
                let given = kernel.places.iter().filter(|p| p.role == Role::Given);
                all.extend(given.map(|p| p.var));
            }
            Step::Statement(var) => {
                if let Some(stmt) = self.body.stmts.get(var.0 as usize) {
                    stmt.rhs.for_each_operand(&mut |v| all.extend([v]));
                }
            }
            Step::Checks(_) => {}
        }
        all
    }

    /// What a kernel of the body may leave as it is begins with zeros in every iteration.
    fn cleared(&mut self, kernel: &Kernel) -> Option<Vec<Node>> {
        let mut nodes = Vec::new();
        for place in kernel.places.iter().filter(|p| p.role != Role::Given && !p.is_whole) {
            let to = self.own(place.var)?;
            let zero = match place.scalar {
                Scalar::F64 | Scalar::F32 => Constant::Real(0.0),
                Scalar::I64 => Constant::Int(0),
                Scalar::Bool => Constant::Bool(false),
            };
            let at = to.at.into_iter().map(Some).chain(place.axes.iter().map(|_| None)).collect();
            nodes.push(Node::Clear(to.var, at, zero));
        }
        Some(nodes)
    }

    /// What a loop in the body carries goes on in the place of what it begins with, where nobody reads that later.
    fn continued(&mut self, kernel: &Kernel, steps: &Schedule, later: &dyn Fn(&Var) -> bool) {
        for (state, init) in &steps.carried {
            let begun = kernel.sets.contains(state) && init.at.is_empty() && !later(&init.var);
            let Some(there) = self.vars.get(&init.var).filter(|_| begun).cloned() else { continue };
            let dims = |v: Var| self.body.stmts.get(v.0 as usize).map(|s| &s.dims);
            let is_whole = kernel.places.iter().any(|p| p.var == *state && p.is_whole);
            let is_own = self.versions.of.contains_key(&init.var) && reads_of(self.body, kernel, init.var) == 1;
            if is_own && is_whole && dims(*state) == dims(init.var) && !self.vars.contains_key(state) {
                self.vars.insert(*state, there.clone());
                self.versions.changes(there.var, *state);
            }
        }
    }

    fn node(&mut self, node: &Node, depth: usize) -> Option<Option<Node>> {
        let within = |this: &mut Self, body: &[Node]| -> Option<Vec<Node>> {
            let all = body.iter().map(|node| this.node(node, depth + 1)).collect::<Option<Vec<Option<Node>>>>()?;
            Some(all.into_iter().flatten().collect())
        };
        Some(match node {
            Node::Loop(Loop { index, from, to, in_order, goes_on, body }) => {
                let new = self.index(self.known(&index.extent)?, depth);
                self.indices.insert(index.local, new.value());
                let (from, to) = (self.puts(from)?, self.puts(to)?);
                let goes_on = match goes_on {
                    Some(of) => Some(self.access(of)?),
                    None => None,
                };
                let body = within(self, body)?;
                let of = Loop { index: new, from, to, in_order: *in_order, goes_on, body };
                (!of.body.is_empty()).then_some(Node::Loop(of))
            }
            Node::Told { index, value, body } => {
                let new = self.index(self.poly(&index.extent)?, depth);
                let value = self.puts(std::slice::from_ref(value))?.pop()?;
                self.indices.insert(index.local, new.value());
                Some(Node::Told { index: new, value, body: within(self, body)? })
            }
            Node::If(p, body) => {
                let mut read = Vec::new();
                for_each_read(p, &mut |v| read.push(v));
                read.into_iter().try_for_each(|v| self.there(v).map(drop))?;
                Some(Node::If(self.pred(p)?, within(self, body)?))
            }
            Node::Product(_) => return None,
            Node::Clear(var, at, with) => {
                let to = self.own(*var)?;
                let own = at.iter().map(|p| p.as_ref().map_or(Some(None), |p| self.poly(p).map(Some)));
                let own = own.collect::<Option<Vec<Option<Poly>>>>()?;
                Some(Node::Clear(to.var, to.at.into_iter().map(Some).chain(own).collect(), *with))
            }
            Node::Set(set) => {
                let to = self.own(set.var)?;
                let at = to.at.into_iter().chain(self.puts(&set.at)?).collect();
                let set = Set { var: to.var, at, rhs: self.rhs(&set.rhs)?, join: set.join };
                (!is_same(&set)).then_some(Node::Set(set))
            }
        })
    }

    /// The statement that a kernel of the body sets.
    fn own(&mut self, var: Var) -> Option<Access> {
        if let Some(there) = self.vars.get(&var) {
            return Some(there.clone());
        }
        let stmt = self.body.stmts.get(var.0 as usize)?;
        let dims = self.polys(&stmt.dims)?;
        let new = self.push(dims, stmt.scalar?)?;
        let there = Access { var: new, at: Vec::new() };
        self.vars.insert(var, there.clone());
        self.versions.of.insert(var, (new, 0));
        // Of places it is told what they are among.
        if let Rhs::Reduce(_) = &stmt.rhs {
            let rhs = self.rhs(&stmt.rhs)?;
            self.ssa.stmts.get_mut(new.0 as usize)?.rhs = rhs;
        }
        Some(there)
    }

    /// The node of an update.
    fn update(&mut self, var: Var) -> Option<Node> {
        let stmt = self.body.stmts.get(var.0 as usize)?;
        let Rhs::Update { base, batch: 0, bound, pred, at, value, add } = &stmt.rhs else { return None };
        let there = self.vars.get(&base.var).filter(|_| base.at.is_empty()).cloned()?;
        // What is given to the loop is not its own.
        self.versions.of.get(&base.var)?;
        let extents = stmt.dims.iter().map(|n| self.poly(n)).collect::<Option<Vec<Poly>>>()?;
        let mut loops = Vec::new();
        let mut depth = self.around.len();
        for (k, extent) in (stmt.dims.len()..).zip(bound) {
            let new = self.index(self.known(extent)?, depth);
            depth += 1;
            self.indices.insert(index(k, &Poly::default()).local, new.value());
            loops.push(new);
        }
        let own: Vec<Poly> = loops.iter().map(Index::value).collect();
        let of_bound = |p: &Poly| loops.iter().any(|i| p.mentions(&i.atom()));
        let sizes: Vec<Poly> = self.ssa.sizes.iter().map(|l| Poly::atom(self.ssa.vars.atom(*l))).collect();
        let mut known = Context::new(&sizes);
        self.around.iter().chain(&loops).for_each(|index| known.enter(index));
        let (mut told, mut places) = (Vec::new(), there.at.clone());
        for (p, extent) in at.iter().zip(&extents) {
            let place = self.poly(p)?;
            let along =
                alone(p).and_then(|k| loops.get(k.checked_sub(stmt.dims.len())?)).filter(|i| i.extent == *extent);
            if along.is_some() || known.implies(&Pred::inside(&place, extent)) {
                places.push(place);
                continue;
            }
            let new = self.index(extent.clone(), depth);
            depth += 1;
            places.push(new.value());
            told.push((new, place));
        }
        let asked = known.simplify(&self.pred(pred)?);
        let from = self.access(value)?;
        // Elements that are changed one after the other are read before.
        let mut reads_own = from.var == there.var;
        let mut see =
            |p: &Poly| p.for_each_atom(&mut |a| reads_own |= matches!(a, Atom::Read(x, ..) if *x == there.var.local()));
        told.iter().for_each(|(_, p)| see(p));
        from.at.iter().for_each(&mut see);
        let mut asks_own = false;
        asked.visit(&mut see, &mut |x| asks_own |= x == there.var.local());
        if (reads_own || asks_own) && !own.is_empty() {
            return None;
        }
        let rhs = Rhs::Contract { bound: Vec::new(), pred: Pred::truth(), neg: false, factors: vec![from] };
        let mut node = Node::Set(Set { var: there.var, at: places, rhs, join: add.then_some(Join::Sum) });
        let put = |node: Node, (index, value): (Index, Poly)| Node::Told { index, value, body: vec![node] };
        let (inner, outer): (Vec<_>, Vec<_>) = told.into_iter().partition(|(_, p)| of_bound(p));
        let mut asked_outside = true;
        asked.visit(&mut |p| asked_outside &= !of_bound(p), &mut |_| {});
        node = inner.into_iter().fold(node, put);
        if !asked_outside {
            node = Node::If(asked.clone(), vec![node]);
        }
        for index in loops.iter().rev() {
            let body = vec![node];
            node = Node::Loop(Loop::over(index.clone(), false, body));
        }
        node = outer.into_iter().fold(node, put);
        if asked_outside && !asked.is_true() {
            node = Node::If(asked, vec![node]);
        }
        for k in (stmt.dims.len()..).take(bound.len()) {
            self.indices.remove(&index(k, &Poly::default()).local);
        }
        self.vars.insert(var, there.clone());
        self.versions.changes(there.var, var);
        Some(node)
    }

    /// Puts a statement of the body somewhere.
    fn copy(&mut self, to: &Access, var: Var) -> Option<Node> {
        if !self.versions.is_there(var) {
            return None;
        }
        let own =
            self.body.stmts.get(var.0 as usize)?.dims.iter().map(|n| self.fixed(n)).collect::<Option<Vec<Poly>>>()?;
        let from = self.access(&Access { var, at: Vec::new() })?;
        Some(self.copied(to, &from, &own, self.around.len()))
    }

    /// Elements of these extents that are those of another, so deep in loops.
    fn copied(&mut self, to: &Access, from: &Access, own: &[Poly], depth: usize) -> Node {
        let loops: Vec<Index> = (depth..).zip(own).map(|(depth, n)| self.index(n.clone(), depth)).collect();
        let values = || loops.iter().map(Index::value);
        let from = Access { var: from.var, at: from.at.iter().cloned().chain(values()).collect() };
        let at = to.at.iter().cloned().chain(values()).collect();
        let rhs = Rhs::Contract { bound: Vec::new(), pred: Pred::truth(), neg: false, factors: vec![from] };
        let mut node = Node::Set(Set { var: to.var, at, rhs, join: None });
        for index in loops.into_iter().rev() {
            node = Node::Loop(Loop::over(index, false, vec![node]));
        }
        node
    }
}
