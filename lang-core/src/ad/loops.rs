//! Derivatives of loops: the derivative of the body, and a loop of it.
//!
//! Forward, the tangents of what is carried are carried too. The adjoint is a loop that runs from the last iteration to
//! the first: what is carried in it are the cotangents of what was carried, and the cotangents of what every iteration
//! is given whole, which are sums over all of them. Of the loop itself it reads what the reverse of the body reads
//! and cannot be given again, which the loop then gives for every iteration: nothing is kept where the body is
//! linear. Of an array that the body only updates no states are kept but the elements that are overwritten: the
//! reverse loop puts them back (PAPERS, "Don't Unroll Adjoint").

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::adjoint::{Term, active};
use super::forward::spread;
use super::{Deriving, Tangent, adjoint, is_real, own};
use crate::ir::core::{Derivation, Leaf, Vars};
use crate::ir::flat::{Input, Source};
use crate::ir::reduce::{Reduce, Reducer};
use crate::ir::region::{Arg, Loop, Part, Trips};
use crate::ir::ssa::{Access, Rhs, Ssa, Stmt, Var, at_indices, for_each_read, index, index_number, reads};
use crate::norm::{dead, inline, loops};
use crate::predicate::{Atom, Poly, Pred};
use crate::syntax::ops::Scalar;

/// The loop of a forward derivative.
pub(super) struct ForwardLoop {
    of: Arc<Loop>,
    new: Arc<Loop>,
    /// The input that is the tangent of an input, and the output that is the tangent of an output.
    inputs: BTreeMap<u32, u32>,
    outputs: BTreeMap<u32, u32>,
}

/// Which inputs of the body vary, if these arguments do: carried ones that depend on them too.
fn varying(of: &Loop, is_active: &dyn Fn(&Access) -> bool) -> BTreeSet<u32> {
    let real = |k: u32| of.body.inputs.get(k as usize).is_some_and(|i| is_real(i.leaf.scalar));
    let mut varying: BTreeSet<u32> =
        (0..).zip(&of.args).filter(|(k, a)| real(*k) && is_active(a.access())).map(|(k, _)| k).collect();
    loop {
        let wrt: Vec<u32> = varying.iter().copied().collect();
        let active = active(&of.body, &wrt);
        let output =
            |k: u32| of.body.outputs.get(k as usize).is_some_and(|(_, v)| active.get(v.0 as usize) == Some(&true));
        let more: Vec<u32> = of
            .carried()
            .filter(|(k, next)| !varying.contains(k) && real(*k) && output(*next))
            .map(|(k, _)| k)
            .collect();
        if more.is_empty() {
            return varying;
        }
        varying.extend(more);
    }
}

impl Deriving<'_> {
    // ---- forward ----

    /// The tangent of a part of a loop; `Some(None)`: it is zero.
    #[expect(clippy::option_option, reason = "no derivative, or a derivative that is zero")]
    pub(super) fn loop_tangent(
        &mut self,
        of: &Arc<Loop>,
        part: Part,
        stmt: &Stmt,
        tangents: &[Option<Tangent>],
    ) -> Option<Option<Var>> {
        let at = match self.loops.iter().position(|l| Arc::ptr_eq(&l.of, of) || l.of == *of) {
            Some(at) => at,
            None => {
                let made = self.forward_loop(of, tangents)?;
                self.loops.push(made);
                self.loops.len() - 1
            }
        };
        let made = self.loops.get(at)?;
        let part = match part {
            Part::Last(k) => made.inputs.get(&k).map(|k| Part::Last(*k)),
            Part::Every(k) => made.outputs.get(&k).map(|k| Part::Every(*k)),
            Part::Trips => None,
        };
        let (Some(part), new) = (part, made.new.clone()) else { return Some(None) };
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        Some(Some(self.builder.looped(&stmt.dims, scalar, &new, part, stmt.needs.clone())))
    }

    fn forward_loop(&mut self, of: &Arc<Loop>, tangents: &[Option<Tangent>]) -> Option<ForwardLoop> {
        let tangent = |a: &Access| tangents.get(a.var.0 as usize)?.as_ref().map(|t| t.var);
        let wrt: Vec<u32> = varying(of, &|a| tangent(a).is_some()).into_iter().collect();
        let mut made =
            ForwardLoop { of: of.clone(), new: of.clone(), inputs: BTreeMap::new(), outputs: BTreeMap::new() };
        if wrt.is_empty() {
            return Some(made);
        }
        let active = active(&of.body, &wrt);
        let derivation = Derivation::Forward(wrt.clone().into());
        let (body, _) = super::derive(&of.body, &derivation, self.functions, self.hits)?;
        let first = u32::try_from(of.body.inputs.len()).ok()?;
        let mut place = u32::try_from(of.body.outputs.len()).ok()?;
        for (k, (leaf, v)) in (0..).zip(&of.body.outputs) {
            if is_real(leaf.scalar) {
                if active.get(v.0 as usize) == Some(&true) {
                    made.outputs.insert(k, place);
                }
                place += 1;
            }
        }
        let mut args = of.args.clone();
        for (j, k) in (first..).zip(&wrt) {
            made.inputs.insert(*k, j);
            let arg = of.args.get(*k as usize)?;
            let a = arg.access();
            let tangent = match tangent(a) {
                Some(var) => Access { var, at: a.at.clone() },
                None => self.zeros_like(a),
            };
            args.push(match arg {
                Arg::Given(_) => Arg::Given(tangent),
                Arg::Carried { next, .. } => Arg::Carried { init: tangent, next: self.tangent_output(of, *next)? },
            });
        }
        self.hits.count("tangents of a loop");
        self.globals(&body, &mut args);
        made.new = Arc::new(Loop { args, body: Arc::new(body.closed()), ..(**of).clone() });
        // The values come from it too.
        self.builder.replace_loop(of, &made.new);
        Some(made)
    }

    /// Where in the derived body the tangent of an output is.
    fn tangent_output(&self, of: &Loop, k: u32) -> Option<u32> {
        let before = of.body.outputs.iter().take(k as usize).filter(|(leaf, _)| is_real(leaf.scalar)).count();
        u32::try_from(of.body.outputs.len() + before).ok()
    }

    /// What a body reads of top-level `let`s that it did not read before.
    fn globals(&mut self, body: &Ssa, args: &mut Vec<Arg>) {
        for input in body.inputs.iter().skip(args.len()) {
            let (vars, inputs) = (&mut self.vars, &mut self.inputs);
            let var = crate::norm::to_ssa::input_of(&mut self.builder, vars, inputs, input);
            args.push(Arg::Given(Access { var, at: Vec::new() }));
        }
    }

    /// Zeros of the shape of what is read.
    fn zeros_like(&mut self, a: &Access) -> Access {
        let dims: Vec<Poly> = self.builder.dims(a.var).into_iter().skip(a.at.len()).collect();
        let scalar = self.builder.scalar(a.var);
        Access { var: self.builder.zero(&dims, scalar), at: Vec::new() }
    }

    // ---- adjoint ----

    /// Gives what a loop reads its part of the cotangents of the parts of the loop.
    pub(super) fn loop_adjoint(
        &mut self,
        of: &Arc<Loop>,
        given: &[(Part, Tangent)],
        is_active: &dyn Fn(&Access) -> bool,
        needs: &[u32],
        terms: &mut [Vec<Term>],
    ) -> Option<()> {
        let plan = Plan::of(of, given, is_active);
        if plan.carried.is_empty() && plan.given.is_empty() {
            return Some(());
        }
        let whole = |k: &u32| of.args.get(*k as usize).is_some_and(|a| !mentions(a.access(), of.batch.len()));
        let sums: Vec<u32> = plan.given.iter().copied().filter(whole).collect();
        let next: HashMap<u32, u32> = of.carried().collect();
        let wrt: Vec<u32> = plan.carried.iter().chain(&plan.given).copied().collect();
        let seeds = |present: &[Pred]| -> Vec<(u32, Pred)> {
            let carried = plan.carried.iter().zip(present).filter_map(|(k, p)| Some((*next.get(k)?, p.clone())));
            carried.chain(plan.every.iter().map(|(k, _)| (*k, Pred::truth()))).collect()
        };
        // Where the cotangents of what is carried have terms at first they may have later, and nowhere else: if the body
        // shows it.
        let mut present: Vec<Pred> = plan.carried.iter().map(|k| plan.present(of, *k)).collect();
        let mut made = adjoint::adjoint(&of.body, &seeds(&present), &wrt, Some(&sums), self.functions, self.hits)?;
        let more = present.iter().zip(&made.0.present).zip(&plan.carried).any(|((before, after), k)| {
            let dims = of.body.inputs.get(*k as usize).map(|i| i.leaf.dims.clone()).unwrap_or_default();
            !made.0.builder.implies(&dims, after, before)
        });
        if more {
            present.fill(Pred::truth());
            made = adjoint::adjoint(&of.body, &seeds(&present), &wrt, Some(&sums), self.functions, self.hits)?;
        }
        let (pass, outputs) = made;
        let seeds = plan.carried.len() + plan.every.len();
        let cotangents: Vec<Var> = outputs.iter().skip(of.body.outputs.len()).map(|(_, v)| *v).collect();
        let split = Split::of(of, &pass, &cotangents);
        let Made { forward, reverse, back, inputs } =
            split.made(of, &pass, (seeds, u32::try_from(plan.carried.len()).ok()?), &cotangents);
        // The loop itself gives what is kept.
        let forward = Arc::new(Loop { body: Arc::new(forward), ..(**of).clone() });
        self.builder.replace_loop(of, &forward);
        let batch: Vec<Poly> = (0..of.batch.len()).map(|k| index(k, &Poly::default()).value()).collect();
        let (trips, extent) = self.trips(&forward, needs)?;
        let last = trips.plus(-1).sub(&forward.number());
        let turned = |a: &Access| {
            let at = |p: &Poly| {
                let places: Vec<Poly> = batch.iter().cloned().chain([last.clone()]).collect();
                at_indices(p, &places)
            };
            Access { var: a.var, at: a.at.iter().map(at).collect() }
        };
        let slice = |var: Var| Access { var, at: batch.iter().cloned().chain([last.clone()]).collect() };
        self.hits.count("reverse loop");
        let mut args = Vec::new();
        for input in &inputs {
            input.rule().into_iter().for_each(|rule| self.hits.count(rule));
            let output = |k: u32| plan.output(k);
            args.push(match input {
                Fed::Global(global) => {
                    let (vars, inputs) = (&mut self.vars, &mut self.inputs);
                    let var = crate::norm::to_ssa::input_of(&mut self.builder, vars, inputs, global);
                    Arg::Given(Access { var, at: Vec::new() })
                }
                Fed::Given(k) => Arg::Given(turned(of.args.get(*k as usize)?.access())),
                Fed::Kept(k) => {
                    let (leaf, _) = forward.body.outputs.get(*k as usize)?;
                    let dims = self.stacked(&forward, &extent, &leaf.clone(), needs)?;
                    let scalar = leaf.scalar?;
                    let var = self.builder.looped(&dims, scalar, &forward, Part::Every(*k), needs.to_vec());
                    Arg::Given(slice(var))
                }
                Fed::Seed(j) => match plan.carried.get(*j as usize) {
                    Some(k) => {
                        let init = match plan.last.get(k) {
                            Some(c) => Access { var: c.var, at: batch.clone() },
                            None => self.zeros_like(of.args.get(*k as usize)?.access()),
                        };
                        Arg::Carried { init, next: output(*k)? }
                    }
                    None => Arg::Given(slice(plan.every.get(*j as usize - plan.carried.len())?.1)),
                },
                Fed::Sum(j) => {
                    let k = sums.get(*j as usize)?;
                    let init = self.zeros_like(of.args.get(*k as usize)?.access());
                    Arg::Carried { init, next: output(*k)? }
                }
                Fed::Back(k) => {
                    let init = of.args.get(*k as usize)?.access().clone();
                    let own: Vec<Poly> = self.builder.dims(init.var).into_iter().skip(init.at.len()).collect();
                    let dims: Vec<Poly> = of.batch.iter().cloned().chain(own).collect();
                    let scalar = self.builder.scalar(init.var);
                    let var = self.builder.looped(&dims, scalar, &forward, Part::Last(*k), needs.to_vec());
                    let next = back.iter().position(|j| j == k)? + wrt.len();
                    Arg::Carried { init: Access { var, at: batch.clone() }, next: u32::try_from(next).ok()? }
                }
            });
        }
        let turned_sizes = of.sizes.iter().map(|p| {
            let places: Vec<Poly> = batch.iter().cloned().chain([last.clone()]).collect();
            at_indices(p, &places)
        });
        let backward = Arc::new(Loop {
            batch: of.batch.clone(),
            pred: of.pred.clone(),
            trips: Trips::Count(trips.clone()),
            sizes: turned_sizes.collect(),
            args,
            body: Arc::new(reverse),
        });
        for (place, k) in wrt.iter().enumerate() {
            let arg = of.args.get(*k as usize)?.clone();
            let scalar = self.builder.scalar(arg.access().var);
            let carried =
                backward.args.iter().position(|a| matches!(a, Arg::Carried { next, .. } if *next as usize == place));
            match carried {
                // What is carried has its cotangent at the end.
                Some(input) => {
                    let (dims, read) = spread(self, &of.batch, arg.access());
                    let part = Part::Last(u32::try_from(input).ok()?);
                    let var = self.builder.looped(&dims, scalar, &backward, part, needs.to_vec());
                    self.hand_on(&dims, &of.pred, needs, &read, self.whole(var), terms);
                }
                // A slice has it in its iteration.
                None => {
                    self.hits.count("cotangent of a slice");
                    let outer: Vec<Poly> = of.batch.iter().cloned().chain([extent.clone()]).collect();
                    let (dims, read) = spread(self, &outer, arg.access());
                    let part = Part::Every(u32::try_from(place).ok()?);
                    let var = self.builder.looped(&dims, scalar, &backward, part, needs.to_vec());
                    let mut at = own(&dims);
                    if let Some(slot) = at.get_mut(batch.len()) {
                        *slot = trips.plus(-1).sub(slot);
                    }
                    let inside = Pred::less(&forward.number(), &trips);
                    let pred = of.pred.and(&inside);
                    self.hand_on(&dims, &pred, needs, &read, Access { var, at }, terms);
                }
            }
        }
        Some(())
    }

    /// A term of the cotangent of what is read.
    fn hand_on(
        &mut self,
        dims: &[Poly],
        pred: &Pred,
        needs: &[u32],
        of: &Access,
        cotangent: Access,
        terms: &mut [Vec<Term>],
    ) {
        let scalar = Some(self.builder.scalar(of.var));
        let pred = self.builder.simplify(dims, pred);
        let inner = Stmt { dims: dims.to_vec(), scalar, rhs: Rhs::Zero, needs: needs.to_vec(), name: None };
        self.transpose(&inner, &[], (&pred, &Pred::truth()), false, of, &[cotangent], terms);
    }

    /// How often a loop runs, over its batch, and an extent for all of the batch.
    fn trips(&mut self, of: &Arc<Loop>, needs: &[u32]) -> Option<(Poly, Poly)> {
        let trips = match of.count() {
            Some(n) => n.clone(),
            None => {
                self.hits.count("trips that the run knows");
                let var = self.builder.looped(&of.batch, Scalar::I64, of, Part::Trips, needs.to_vec());
                let at: Arc<[Poly]> = own(&of.batch).into();
                Poly::atom(Atom::Read(var.local(), var.name(), at))
            }
        };
        let extent = self.extent(&trips, &of.batch, &of.pred, needs);
        Some((trips, extent))
    }

    /// An extent that is enough wherever indices of these ranges are: where data tell it for each of them the greatest
    /// of all.
    fn extent(&mut self, n: &Poly, dims: &[Poly], pred: &Pred, needs: &[u32]) -> Poly {
        if let Some(hull) = hull(n, dims) {
            return hull;
        }
        self.hits.count("greatest extent");
        let each = inline::index_statement(&mut self.builder, dims, n);
        let reduce = Reduce {
            reducer: Reducer::Max,
            bound: dims.to_vec(),
            pred: Pred::truth(),
            terms: pred.clone(),
            place: Poly::default(),
            of: Access { var: each, at: own(dims) },
        };
        let most = self.builder.reduce(&[], Scalar::I64, reduce, needs.to_vec());
        inline::integer(&self.builder, &Access { var: most, at: Vec::new() })
    }

    /// The extents of what every iteration gives; none where data tell them that the loop does not give.
    fn stacked(&mut self, of: &Arc<Loop>, extent: &Poly, leaf: &Leaf, needs: &[u32]) -> Option<Vec<Poly>> {
        let all: Vec<Poly> = of.batch.iter().chain([extent]).cloned().collect();
        let mut dims = all.clone();
        let inside = match of.count() {
            Some(n) => of.pred.and(&Pred::less(&of.number(), n)),
            None => {
                let (trips, _) = self.trips(of, needs)?;
                of.pred.and(&Pred::less(&of.number(), &trips))
            }
        };
        for n in &leaf.dims {
            let n = self.of_iteration(of, n, &all, needs)?;
            dims.push(self.extent(&n, &all, &inside, needs));
        }
        Some(dims)
    }

    /// A polynomial of the body over the batch and the number of the iteration: the data in it are given by the loop.
    fn of_iteration(&mut self, of: &Arc<Loop>, n: &Poly, all: &[Poly], needs: &[u32]) -> Option<Poly> {
        let sizes = loops::outside(&self.builder, of);
        if let Some(known) = loops::lifted(n, &sizes, &loops::given(of)) {
            return Some(known);
        }
        let mut data = Vec::new();
        reads(n, &mut |v| data.push(v));
        let mut given = HashMap::new();
        for v in data {
            let k = of.body.outputs.iter().position(|(_, output)| *output == v)?;
            let part = Part::Every(u32::try_from(k).ok()?);
            let var = self.builder.looped(all, Scalar::I64, of, part, needs.to_vec());
            let at: Arc<[Poly]> = own(all).into();
            given.insert(v, Poly::atom(Atom::Read(var.local(), var.name(), at)));
        }
        Some(n.substitute(&|a| match a {
            Atom::Local(l, _) => sizes.get(l).cloned(),
            Atom::Read(x, _, _) => given.get(&Var::of_local(*x)?).cloned(),
            _ => None,
        }))
    }
}

/// Does it depend on the index of this number?
fn mentions(a: &Access, k: usize) -> bool {
    let atom = index(k, &Poly::default()).atom();
    a.at.iter().any(|p| p.mentions(&atom))
}

/// What is no less wherever the indices of these extents are; none where data tell it for each of them.
fn hull(p: &Poly, batch: &[Poly]) -> Option<Poly> {
    let mut hull = p.clone();
    for (k, n) in batch.iter().enumerate() {
        let atom = index(k, n).atom();
        if hull.mentions(&atom) {
            let (c, rest) = hull.linear_in(&atom)?;
            hull = if c > 0 { rest.add(&n.scale(c)) } else { rest };
        }
    }
    let mut over = false;
    hull.for_each_atom(&mut |a| over |= matches!(a, Atom::Local(l, _) if index_number(*l).is_some()));
    (!over).then_some(hull)
}

/// Which cotangents there are in the adjoint of a loop.
struct Plan {
    /// The inputs that are carried and have cotangents.
    carried: Vec<u32>,
    /// Those that are given.
    given: Vec<u32>,
    /// The cotangents of the last values of carried inputs.
    last: HashMap<u32, Tangent>,
    /// Outputs of every iteration with their cotangents.
    every: Vec<(u32, Var)>,
}

impl Plan {
    fn of(of: &Loop, cotangents: &[(Part, Tangent)], is_active: &dyn Fn(&Access) -> bool) -> Self {
        let varying = varying(of, is_active);
        let next: HashMap<u32, u32> = of.carried().collect();
        let mut plan = Self { carried: Vec::new(), given: Vec::new(), last: HashMap::new(), every: Vec::new() };
        let mut outputs = BTreeSet::new();
        for (part, cotangent) in cotangents {
            match part {
                Part::Last(k) => drop(plan.last.insert(*k, cotangent.clone())),
                Part::Every(k) => {
                    plan.every.push((*k, cotangent.var));
                    outputs.insert(*k);
                }
                Part::Trips => {}
            }
        }
        let mut carried: BTreeSet<u32> = plan.last.keys().copied().filter(|k| varying.contains(k)).collect();
        loop {
            outputs.extend(carried.iter().filter_map(|k| next.get(k)));
            let read = reached(&of.body, &outputs, &varying);
            let more: Vec<u32> =
                read.iter().copied().filter(|k| next.contains_key(k) && !carried.contains(k)).collect();
            if more.is_empty() {
                plan.given = read.into_iter().filter(|k| !next.contains_key(k)).collect();
                break;
            }
            carried.extend(more);
        }
        // What is only carried through has the cotangent that it had.
        plan.carried = carried.into_iter().collect();
        plan
    }

    /// Where the cotangent of a carried input may have terms, as the body says it. What the body itself adds is not
    /// known before.
    fn present(&self, of: &Loop, k: u32) -> Pred {
        let Some(last) = self.last.get(&k) else { return Pred::falsity() };
        let present = last.present.known();
        let sizes: HashMap<&Atom, Poly> = of
            .sizes
            .iter()
            .zip(&of.body.sizes)
            .filter_map(|(outer, inner)| Some((outer.as_atom()?, Poly::atom(of.body.vars.atom(*inner)))))
            .collect();
        let batch = of.batch.len();
        let mut known = true;
        let inside = |p: &Poly, known: &mut bool| {
            p.for_each_atom(&mut |a| {
                *known &= match a {
                    Atom::Local(l, _) => index_number(*l).is_some_and(|k| k >= batch) || sizes.contains_key(a),
                    _ => false,
                };
            });
        };
        present.visit(&mut |p| inside(p, &mut known), &mut |_| {});
        if !known || present.conjuncts().iter().any(|p| matches!(p, Pred::Any(..))) {
            return Pred::truth();
        }
        present.map(&|p| {
            p.substitute(&|a| match a {
                // Indices of the batch are sizes of the body, if it knows them.
                Atom::Local(l, _) => match index_number(*l).and_then(|k| k.checked_sub(batch)) {
                    Some(own) => Some(index(own, &Poly::default()).value()),
                    None => sizes.get(a).cloned(),
                },
                _ => None,
            })
        })
    }

    /// The output of the reverse body that is the cotangent of an input.
    fn output(&self, k: u32) -> Option<u32> {
        let at = self.carried.iter().chain(&self.given).position(|j| *j == k)?;
        u32::try_from(at).ok()
    }
}

/// The inputs, of those that vary, that some outputs read as reals.
fn reached(body: &Ssa, outputs: &BTreeSet<u32>, varying: &BTreeSet<u32>) -> BTreeSet<u32> {
    let wrt: Vec<u32> = varying.iter().copied().collect();
    let active = active(body, &wrt);
    let is_active = |v: Var| active.get(v.0 as usize) == Some(&true);
    let mut open: Vec<Var> = outputs.iter().filter_map(|k| body.outputs.get(*k as usize)).map(|(_, v)| *v).collect();
    let (mut seen, mut inputs) = (BTreeSet::new(), BTreeSet::new());
    while let Some(v) = open.pop() {
        let Some(stmt) = body.stmts.get(v.0 as usize).filter(|_| is_active(v)) else { continue };
        if !seen.insert(v) {
            continue;
        }
        if let Rhs::Input(k) = stmt.rhs {
            inputs.insert(k);
        }
        stmt.rhs.for_each_access(&mut |a| open.push(a.var));
    }
    inputs
}

/// What an input of the reverse body is.
#[derive(Clone, Debug)]
enum Fed {
    /// A part of a top-level `let`.
    Global(Input),
    /// An input of the body that is given, in the same iteration.
    Given(u32),
    /// What the loop keeps: this output of the extended body.
    Kept(u32),
    /// The cotangent of one of the outputs, by its place among the seeds.
    Seed(u32),
    /// The sum of the cotangents of an input so far, by its place among those.
    Sum(u32),
    /// An array that was updated, as it was after the iteration.
    Back(u32),
}

impl Fed {
    /// As it is counted.
    fn rule(&self) -> Option<&'static str> {
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

/// The body and its adjoint, taken apart: what of the primal the reverse reads.
struct Split {
    /// Statements of the primal that the reverse makes again.
    again: BTreeSet<u32>,
    /// Statements of the primal that are kept.
    kept: Vec<Var>,
    /// Statements of the reverse.
    reverse: BTreeSet<u32>,
    /// Arrays that are only updated: the carried input, and the versions that it has, first the input itself.
    back: Vec<(u32, Vec<Var>)>,
}

/// What of a pass over a body is the body.
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

    /// The parts of loops that were not read before, each behind what its extents are made of.
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

    /// Is it a statement of the body, or a part of a loop in it that was not read before?
    fn has(&self, v: Var) -> bool {
        let part = || match self.stmts.get(v.0 as usize).map(|s| &s.rhs) {
            Some(Rhs::Loop(of, _)) => self.loops.iter().any(|other| Arc::ptr_eq(other, of)),
            _ => false,
        };
        (v.0 as usize) < self.count || part()
    }
}

/// The two bodies.
struct Made {
    /// The body, which gives what is kept too.
    forward: Ssa,
    reverse: Ssa,
    /// The carried inputs that the reverse puts back; their outputs come last.
    back: Vec<u32>,
    /// What the inputs of the reverse are.
    inputs: Vec<Fed>,
}

impl Split {
    fn of(of: &Loop, pass: &Deriving<'_>, cotangents: &[Var]) -> Self {
        let stmts = &pass.builder.stmts;
        let primal = Primal::of(of, pass);
        let chains = chains(of);
        let mut split = Self { again: BTreeSet::new(), kept: Vec::new(), reverse: BTreeSet::new(), back: Vec::new() };
        let carried: BTreeSet<u32> = of.carried().map(|(k, _)| k).collect();
        let mut open: Vec<Var> = cotangents.to_vec();
        while let Some(v) = open.pop() {
            let Some(stmt) = stmts.get(v.0 as usize) else { continue };
            let k = v.0;
            if primal.has(v) {
                if split.again.contains(&k) || split.kept.contains(&v) {
                    continue;
                }
                if let Some((input, versions)) = chains.iter().find(|(_, versions)| versions.contains(&v)) {
                    if !split.back.iter().any(|(j, _)| j == input) {
                        split.back.push((*input, versions.clone()));
                        for version in versions {
                            let Some(stmt) = stmts.get(version.0 as usize) else { continue };
                            if let Rhs::Update { bound, pred, at, .. } = &stmt.rhs {
                                bound.iter().chain(at).for_each(|p| reads(p, &mut |v| open.push(v)));
                                for_each_read(pred, &mut |v| open.push(v));
                            }
                        }
                    }
                    continue;
                }
                let again = match &stmt.rhs {
                    Rhs::Input(k) => !carried.contains(k),
                    Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_) => true,
                    Rhs::Contract { bound, factors, .. } if bound.is_empty() && factors.len() == 1 => {
                        // A view is made again unless it is less than what it shows.
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

    /// The extended body and the reverse one.
    fn made(&self, of: &Loop, pass: &Deriving<'_>, (seeds, carried): (usize, u32), cotangents: &[Var]) -> Made {
        let stmts = &pass.builder.stmts;
        let mut forward = (*of.body).clone();
        // Statements of loops inside give what is kept of them.
        for (slot, stmt) in forward.stmts.iter_mut().zip(stmts) {
            slot.rhs.clone_from(&stmt.rhs);
        }
        // Parts of loops that were not read before, and what their extents are made of.
        let primal = Primal::of(of, pass);
        let mut moved: HashMap<u32, u32> = (0..).take(forward.stmts.len()).map(|k: u32| (k, k)).collect();
        for k in primal.new_parts() {
            let Some(stmt) = stmts.get(k as usize) else { continue };
            let put = Places { places: &moved };
            let dims = stmt.dims.iter().map(|n| put.poly(n)).collect();
            let rhs = match &stmt.rhs {
                // It reads what the body has.
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
        let mut back = Vec::new();
        for (k, versions) in &self.back {
            let (Some(last), Some(first)) = (versions.last(), versions.first()) else { continue };
            let Some(stmt) = stmts.get(first.0 as usize) else { continue };
            let number = fresh("after", leaf_of(stmt), Fed::Back(*k), &mut inputs, &mut feeds, &mut vars);
            places.insert(last.0, push(&mut all, input(stmt, number)));
            back.push((*k, *first));
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
                    // An integer may be a size.
                    slot.local = old.local;
                }
                stmt = input(&stmt, number);
            }
            places.insert(*k, push(&mut all, stmt));
        }
        // What is carried has its cotangent though nothing in the body reads it.
        for j in 0..carried {
            let known = feeds.iter().any(|f| matches!(f, Fed::Seed(k) if *k == j));
            let old = pass.inputs.get(of.body.inputs.len() + j as usize);
            if let (false, Some(old)) = (known, old) {
                let leaf = old.leaf.clone();
                fresh(&pass.vars.name(old.local), leaf, Fed::Seed(j), &mut inputs, &mut feeds, &mut vars);
            }
        }
        // Versions before, from the last to the first, with what was overwritten.
        for (_, versions) in &self.back {
            for pair in versions.windows(2).rev() {
                let [before, after] = pair else { continue };
                let Some(stmt) = stmts.get(after.0 as usize) else { continue };
                let Rhs::Update { bound, pred, at, .. } = &stmt.rhs else { continue };
                let old = overwritten(stmt, *before);
                let v = Var(push(&mut forward.stmts, old.clone()));
                let k = keep(&mut forward, v);
                let number = fresh("old", leaf_of(&old), Fed::Kept(k), &mut inputs, &mut feeds, &mut vars);
                let value = Var(push(&mut all, input(&old, number)));
                let free = stmt.dims.len();
                let own = (0..bound.len()).map(|k| index(free + k, &Poly::default()).value()).collect();
                // Of the numbers here all but the value's are those before.
                let rhs = Rhs::Update {
                    base: Access { var: *after, at: Vec::new() },
                    batch: 0,
                    bound: bound.clone(),
                    pred: pred.clone(),
                    at: at.clone(),
                    value: Access { var: Var(NEW + value.0), at: own },
                    add: false,
                };
                places.insert(before.0, push(&mut all, Stmt { rhs, ..stmt.clone() }));
            }
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
        // Integers that are sizes of what is left.
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
        let ends = cotangents.iter().copied().chain(back.iter().map(|(_, v)| *v));
        let outputs: Vec<(Leaf, Var)> = ends
            .map(|v| {
                let var = put.var(v);
                let leaf =
                    all.get(var.0 as usize).map(|s| Leaf { path: Vec::new(), dims: s.dims.clone(), scalar: s.scalar });
                (leaf.unwrap_or(Leaf { path: Vec::new(), dims: Vec::new(), scalar: None }), var)
            })
            .collect();
        let mut reverse = Ssa { vars, inputs, stmts: all, checks, needs: Vec::new(), outputs, ..(*of.body).clone() };
        // Data that are extents of what is kept are given too.
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
        Made { forward, reverse, back: back.into_iter().map(|(k, _)| k).collect(), inputs: feeds }
    }
}

/// Statements of the reverse body that are new have numbers from here on until all are placed.
const NEW: u32 = 1 << 22;

/// Old numbers of statements to new ones.
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

/// A new input, by its number.
fn fresh(name: &str, leaf: Leaf, feed: Fed, inputs: &mut Vec<Input>, feeds: &mut Vec<Fed>, vars: &mut Vars) -> u32 {
    let number = u32::try_from(inputs.len()).unwrap_or(u32::MAX);
    inputs.push(Input { local: vars.fresh(name), source: Source::Param(number), leaf });
    feeds.push(feed);
    number
}

/// What an update overwrites, over its bound indices.
fn overwritten(stmt: &Stmt, before: Var) -> Stmt {
    let Rhs::Update { bound, pred, at, .. } = &stmt.rhs else { return stmt.clone() };
    let free = stmt.dims.len();
    let down = |p: &Poly| {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => {
                let k = index_number(*l)?.checked_sub(free)?;
                Some(index(k, &Poly::default()).value())
            }
            _ => None,
        })
    };
    let rhs = Rhs::Contract {
        bound: Vec::new(),
        pred: pred.map(&down),
        neg: false,
        factors: vec![Access { var: before, at: at.iter().map(down).collect() }],
    };
    Stmt { dims: bound.clone(), scalar: stmt.scalar, rhs, needs: stmt.needs.clone(), name: None }
}

/// The carried arrays of a body that it only updates: the input, and its versions, first the input itself.
fn chains(of: &Loop) -> Vec<(u32, Vec<Var>)> {
    let body = &of.body;
    let mut chains = Vec::new();
    for (k, next) in of.carried() {
        let Some((leaf, last)) = body.outputs.get(next as usize) else { continue };
        if leaf.dims.is_empty() {
            continue;
        }
        let mut versions = vec![*last];
        let mut at = *last;
        while let Some(Rhs::Update { base, batch: 0, .. }) = body.stmts.get(at.0 as usize).map(|s| &s.rhs)
            && base.at.is_empty()
        {
            at = base.var;
            versions.push(at);
        }
        versions.reverse();
        let own = matches!(body.stmts.get(at.0 as usize).map(|s| &s.rhs), Some(Rhs::Input(j)) if *j == k);
        if own && versions.len() > 1 {
            chains.push((k, versions));
        }
    }
    chains
}
