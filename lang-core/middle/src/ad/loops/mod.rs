//! **Derivatives of loops.** Derives the body of a loop, and builds a loop of the result.
//!
//! The forward derivative also carries the tangents of the carried inputs. The adjoint is a loop
//! that runs from the last iteration to the first. It carries the cotangents of the carried inputs,
//! and the cotangents of inputs that every iteration reads whole, because these are sums over all
//! iterations.
//!
//! The reverse recomputes the cheap statements of the body that it reads. The forward loop outputs
//! the rest for every iteration, so it keeps nothing if the body is linear. For an array that the
//! body only updates, the forward loop keeps the overwritten elements instead of states. The
//! reverse loop restores them (PAPERS, "Don't Unroll Adjoint").

mod back;
mod checkpoint;
mod plan;
mod split;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

pub(in crate::ad) use self::back::PutBack;
use self::checkpoint::Backward;
use self::plan::Plan;
use self::split::{Fed, Made};
use super::adjoint::{Term, active};
use super::forward::spread;
use super::{Deriving, Presence, Tangent, adjoint, forward, is_real, own};
use crate::norm::{inline, loops};
use lang_ir::core::{Derivation, Leaf};
use lang_ir::reduce::{Reduce, Reducer};
use lang_ir::region::{Arg, Loop, Part, Trips};
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, at_indices, index, index_number, reads};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The loop of a forward derivative.
pub(super) struct ForwardLoop {
    of: Arc<Loop>,
    new: Arc<Loop>,
    /// Maps from inputs to the inputs that are their tangents, and from outputs to the outputs that
    /// are their tangents.
    inputs: BTreeMap<u32, u32>,
    outputs: BTreeMap<u32, u32>,
    /// Whether a tangent in the loop may be a structural zero in places.
    partly: bool,
}

/// Returns the inputs of the body that vary if these arguments do, including carried inputs that
/// depend on them.
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

    /// Returns the tangent of a part of a loop, `Some(None)` if it is zero, or `None` if the loop
    /// has no derivative.
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
            Part::State(k) => made.inputs.get(&k).map(|k| Part::State(*k)),
            Part::Trips => None,
        };
        let (Some(part), new) = (part, made.new.clone()) else { return Some(None) };
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        Some(Some(self.builder.looped(&stmt.dims, scalar, &new, part, stmt.needs.clone())))
    }

    fn forward_loop(&mut self, of: &Arc<Loop>, tangents: &[Option<Tangent>]) -> Option<ForwardLoop> {
        let found = |a: &Access| tangents.get(a.var.0 as usize)?.as_ref();
        let tangent = |a: &Access| found(a).map(|t| t.var);
        let wrt: Vec<u32> = varying(of, &|a| tangent(a).is_some()).into_iter().collect();
        let mut made = ForwardLoop {
            of: of.clone(),
            new: of.clone(),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            partly: false,
        };
        if wrt.is_empty() {
            return Some(made);
        }
        let active = active(&of.body, &wrt);
        let derivation = Derivation::Forward(wrt.clone().into());
        let (mut pass, mut outputs) = forward::forward(&of.body, &wrt, &[], self.functions, self.hits)?;
        // Predicates of one iteration do not hold in the next. A tangent may lack terms in some
        // iteration while a factor may be infinite. Then a comparison with zero decides where the
        // tangent has a term.
        let real = |k: u32| of.body.outputs.iter().take(k as usize).filter(|(leaf, _)| is_real(leaf.scalar)).count();
        let partly = |k: &&u32| {
            of.args.get(**k as usize).is_some_and(|arg| {
                let whole = found(arg.access()).is_some_and(|t| t.present.is_true());
                let next = if let Arg::Carried { next, .. } = arg { pass.present.get(real(*next)) } else { None };
                !whole || next.is_some_and(|present| !present.is_true())
            })
        };
        let partly: Vec<u32> = if pass.asks { wrt.iter().filter(partly).copied().collect() } else { Vec::new() };
        if !partly.is_empty() {
            let is_carried = |k: &&u32| matches!(of.args.get(**k as usize), Some(Arg::Carried { .. }));
            let all: Vec<u32> = wrt.iter().filter(|k| is_carried(k) || partly.contains(*k)).copied().collect();
            (pass, outputs) = forward::forward(&of.body, &wrt, &all, self.functions, self.hits)?;
            made.partly = true;
        }
        let (body, _) = pass.finish(&derivation, of.body.needs.clone(), outputs);
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
        // The new loop computes the primal values too.
        self.builder.replace_loop(of, &made.new);
        Some(made)
    }

    /// Returns whether tangents in this loop, which the pass has derived, may be structural zeros
    /// in places.
    pub(super) fn is_partly(&self, of: &Arc<Loop>) -> bool {
        self.loops.iter().any(|l| l.partly && (Arc::ptr_eq(&l.of, of) || l.of == *of))
    }

    /// Returns the output of the derived body that is the tangent of output `k`.
    fn tangent_output(&self, of: &Loop, k: u32) -> Option<u32> {
        let before = of.body.outputs.iter().take(k as usize).filter(|(leaf, _)| is_real(leaf.scalar)).count();
        u32::try_from(of.body.outputs.len() + before).ok()
    }

    /// Adds arguments for the top-level `let`s that only the derived body reads.
    fn globals(&mut self, body: &Ssa, args: &mut Vec<Arg>) {
        for input in body.inputs.iter().skip(args.len()) {
            let (vars, inputs) = (&mut self.vars, &mut self.inputs);
            let var = crate::norm::to_ssa::input_of(&mut self.builder, vars, inputs, input);
            args.push(Arg::Given(Access { var, at: Vec::new() }));
        }
    }

    /// Returns zeros of the shape of an operand.
    fn zeros_like(&mut self, a: &Access) -> Access {
        let dims: Vec<Poly> = self.builder.dims(a.var).into_iter().skip(a.at.len()).collect();
        let scalar = self.builder.scalar(a.var);
        Access { var: self.builder.zero(&dims, scalar), at: Vec::new() }
    }

    // ---- adjoint ----

    /// Adds to the cotangents of a loop's operands, from the cotangents `given` of its parts.
    pub(super) fn loop_adjoint(
        &mut self,
        of: &Arc<Loop>,
        given: &[(Part, Tangent)],
        is_active: &dyn Fn(&Access) -> bool,
        needs: &[u32],
        terms: &mut [Vec<Term>],
    ) -> Option<()> {
        let (of, given) = &self.with_states(of, given, needs);
        let plan = Plan::of(of, given, is_active);
        if plan.carried.is_empty() && plan.given.is_empty() {
            return Some(());
        }
        let whole = |k: &u32| of.args.get(*k as usize).is_some_and(|a| !mentions(a.access(), of.batch.len()));
        let sums: Vec<u32> = plan.given.iter().copied().filter(whole).collect();
        let next: HashMap<u32, u32> = of.carried().collect();
        let wrt: Vec<u32> = plan.carried.iter().chain(&plan.given).copied().collect();
        let seeds = |present: &[Presence]| -> Vec<(u32, Presence)> {
            let carried = plan.carried.iter().zip(present).filter_map(|(k, p)| Some((*next.get(k)?, p.clone())));
            let of_every = |present: &Pred| Presence { inside: Pred::truth(), nonzero: !present.is_true() };
            carried.chain(plan.every.iter().map(|(k, _, present)| (*k, of_every(present)))).collect()
        };
        // The first attempt assumes that a carried cotangent keeps its initial support in all
        // iterations. If the body's adjoint does not confirm that, a second attempt lets the
        // cotangent have terms wherever it is not zero.
        let whole_at_first = |k: &u32| plan.last.get(k).is_some_and(|last| last.present.is_true());
        let mut present: Vec<Presence> = plan
            .carried
            .iter()
            .map(|k| Presence { inside: plan.present(of, *k), nonzero: !whole_at_first(k) })
            .collect();
        let mut made = adjoint::adjoint(&of.body, &seeds(&present), &wrt, Some(&sums), self.functions, self.hits)?;
        let (mut more, mut less) = (false, false);
        for ((before, after), k) in present.iter().zip(&made.0.present).zip(&plan.carried) {
            let dims = of.body.inputs.get(*k as usize).map(|i| i.leaf.dims.clone()).unwrap_or_default();
            more |= !made.0.builder.implies(&dims, after, &before.inside);
            less |= made.0.asks && !before.nonzero && !after.is_true();
        }
        if more || less {
            for before in &mut present {
                before.nonzero = true;
                if more {
                    before.inside = Pred::truth();
                }
            }
            made = adjoint::adjoint(&of.body, &seeds(&present), &wrt, Some(&sums), self.functions, self.hits)?;
        }
        let (mut pass, outputs) = made;
        let everywhere: Vec<bool> = pass.present.iter().map(Pred::is_true).collect();
        let seeds = plan.carried.len() + plan.every.len();
        let cotangents: Vec<Var> = outputs.iter().skip(of.body.outputs.len()).map(|(_, v)| *v).collect();
        let split = pass.split(of, &cotangents, &[]);
        let carried = plan.carried.len();
        let made = split.made(of, &pass, (seeds, u32::try_from(carried).ok()?), &cotangents);
        let ends = self.ends(of, &plan, &sums, &wrt)?;
        let segments = self.segments(of, needs);
        let batch = of.batch.len();
        let (Backward { of: backward, parts }, (trips, extent)) = match &segments {
            Some(segments) => {
                let known = self.trips(of, needs)?;
                (self.backward_segments(of, segments, &made, &ends, &wrt, needs)?, known)
            }
            None => {
                // The primal loop itself outputs the kept values.
                let forward = Arc::new(Loop { body: Arc::new(made.forward.clone()), ..(**of).clone() });
                self.builder.replace_loop(of, &forward);
                let known = self.trips(&forward, needs)?;
                let of = self.backward(of, &forward, &made, &ends, (&known.0, &known.1), needs)?;
                let end = |place: u32| {
                    let next = |a: &Arg| matches!(a, Arg::Carried { next, .. } if *next == place);
                    let input = of.args.iter().position(next).and_then(|k| u32::try_from(k).ok());
                    input.map_or(Part::Every(place), Part::Last)
                };
                let parts = (0..).take(wrt.len()).map(end).collect();
                (Backward { of, parts }, known)
            }
        };
        let runs =
            of.pred.is_true() && self.builder.implies(&of.batch, &Pred::truth(), &Pred::less(&Poly::default(), &trips));
        for ((part, k), whole) in parts.into_iter().zip(&wrt).zip(everywhere) {
            let arg = of.args.get(*k as usize)?.clone();
            let scalar = self.builder.scalar(arg.access().var);
            // A cotangent that the reverse carries is read after its last iteration.
            if let Part::Last(_) = part {
                let (dims, read) = spread(self, &of.batch, arg.access());
                let var = self.builder.looped(&dims, scalar, &backward, part, needs.to_vec());
                let whole = whole && (runs || of.pred.is_true() && whole_at_first(k));
                self.hand_on(&dims, &of.pred, needs, &read, (self.whole(var), whole), terms);
                continue;
            }
            // The cotangent of a slice is an output of the slice's iteration.
            self.hits.count("cotangent of a slice");
            let outer: Vec<Poly> = of.batch.iter().cloned().chain([extent.clone()]).collect();
            let (dims, read) = spread(self, &outer, arg.access());
            let number = of.number();
            let (extents, place) = match &segments {
                Some(segments) => (segments.extents().to_vec(), segments.place(&number)?.to_vec()),
                None => (vec![extent.clone()], vec![trips.plus(-1).sub(&number)]),
            };
            let (mut all, mut at) = (dims.clone(), own(&dims));
            all.splice(batch..=batch, extents);
            at.splice(batch..=batch, place);
            let var = self.builder.looped(&all, scalar, &backward, part, needs.to_vec());
            let pred = of.pred.and(&Pred::less(&number, &trips));
            self.hand_on(&dims, &pred, needs, &read, (Access { var, at }, whole), terms);
        }
        Some(())
    }

    /// Returns the loop with its differentiated states as outputs of the iterations, and the
    /// cotangents of its parts.
    fn with_states(&mut self, of: &Arc<Loop>, given: &[(Part, Tangent)], needs: &[u32]) -> (Arc<Loop>, Vec<Cotangent>) {
        let states = given.iter().any(|(part, _)| matches!(part, Part::State(_)));
        let segments = if states { self.segments(of, needs) } else { None };
        let number = of.number();
        let whole: Vec<Poly> = (0..of.batch.len()).map(|k| index(k, &Poly::default()).value()).collect();
        let at = |of: Poly| whole.iter().cloned().chain([of]).collect::<Vec<Poly>>();
        let mut body = (*of.body).clone();
        let mut all = Vec::new();
        for (part, cotangent) in given {
            let every = |at| Access { var: cotangent.var, at };
            all.push(match part {
                Part::State(k) => {
                    let Some(input) = body.inputs.get(*k as usize).cloned() else { continue };
                    let var = body.input(*k).unwrap_or_else(|| {
                        let Leaf { dims, scalar, .. } = input.leaf.clone();
                        body.stmts.push(Stmt { dims, scalar, rhs: Rhs::Input(*k), needs: Vec::new(), name: None });
                        Var(u32::try_from(body.stmts.len() - 1).unwrap_or(u32::MAX))
                    });
                    body.outputs.push((Leaf { path: Vec::new(), ..input.leaf }, var));
                    let output = u32::try_from(body.outputs.len() - 1).unwrap_or(u32::MAX);
                    // A state that is not kept has no cotangent. Its place is -1, which is outside
                    // the array and so reads as zero.
                    let outside = Poly::constant(-1);
                    let place = segments.as_ref().and_then(|s| s.kept_at(&number)).unwrap_or(outside);
                    Cotangent { part: Part::Every(output), of: cotangent.clone(), at: every(at(place)) }
                }
                _ => Cotangent { part: *part, of: cotangent.clone(), at: every(at(number.clone())) },
            });
        }
        if !all.iter().any(|c| matches!(c.part, Part::Every(k) if k as usize >= of.body.outputs.len())) {
            return (of.clone(), all);
        }
        let new = Arc::new(Loop { body: Arc::new(body), ..(**of).clone() });
        self.builder.replace_loop(of, &new);
        (new, all)
    }

    /// Returns the initial values of the reverse loop.
    fn ends(&mut self, of: &Loop, plan: &Plan, sums: &[u32], wrt: &[u32]) -> Option<Ends> {
        let batch: Vec<Poly> = (0..of.batch.len()).map(|k| index(k, &Poly::default()).value()).collect();
        let every = plan.every.iter().map(|(_, at, _)| at.clone()).collect();
        let mut ends = Ends { carried: Vec::new(), every, sums: Vec::new(), count: wrt.len() };
        for k in &plan.carried {
            ends.carried.push(match plan.last.get(k) {
                Some(c) => Access { var: c.var, at: batch.clone() },
                None => self.zeros_like(of.args.get(*k as usize)?.access()),
            });
        }
        for k in sums {
            let init = self.zeros_like(of.args.get(*k as usize)?.access());
            ends.sums.push((init, plan.output(*k)?));
        }
        Some(ends)
    }

    /// Builds the reverse of a loop whose kept values `forward` outputs. `trips` and `extent` are
    /// its trip count.
    fn backward(
        &mut self,
        of: &Loop,
        forward: &Arc<Loop>,
        made: &Made,
        ends: &Ends,
        (trips, extent): (&Poly, &Poly),
        needs: &[u32],
    ) -> Option<Arc<Loop>> {
        let batch: Vec<Poly> = (0..of.batch.len()).map(|k| index(k, &Poly::default()).value()).collect();
        let last = trips.plus(-1).sub(&forward.number());
        let places: Vec<Poly> = batch.iter().cloned().chain([last.clone()]).collect();
        let turned = |a: &Access| Access { var: a.var, at: a.at.iter().map(|p| at_indices(p, &places)).collect() };
        self.hits.count("reverse loop");
        let (mut args, mut back) = (Vec::new(), Vec::new());
        for input in &made.inputs {
            input.rule().into_iter().for_each(|rule| self.hits.count(rule));
            args.push(match input {
                Fed::Global(global) => {
                    let (vars, inputs) = (&mut self.vars, &mut self.inputs);
                    let var = crate::norm::to_ssa::input_of(&mut self.builder, vars, inputs, global);
                    Arg::Given(Access { var, at: Vec::new() })
                }
                Fed::Given(k) => Arg::Given(turned(of.args.get(*k as usize)?.access())),
                Fed::Kept(k) => {
                    let (leaf, _) = forward.body.outputs.get(*k as usize)?;
                    let dims = self.stacked(forward, extent, &leaf.clone(), needs)?;
                    let scalar = leaf.scalar?;
                    let var = self.builder.looped(&dims, scalar, forward, Part::Every(*k), needs.to_vec());
                    Arg::Given(Access { var, at: places.clone() })
                }
                Fed::Seed(j) => match ends.carried.get(*j as usize) {
                    Some(init) => Arg::Carried { init: init.clone(), next: *j },
                    None => Arg::Given(turned(ends.every.get(*j as usize - ends.carried.len())?)),
                },
                Fed::Sum(j) => {
                    let (init, next) = ends.sums.get(*j as usize)?.clone();
                    Arg::Carried { init, next }
                }
                Fed::Back(k) => {
                    let init = of.args.get(*k as usize)?.access().clone();
                    let own: Vec<Poly> = self.builder.dims(init.var).into_iter().skip(init.at.len()).collect();
                    let dims: Vec<Poly> = of.batch.iter().cloned().chain(own).collect();
                    let scalar = self.builder.scalar(init.var);
                    let var = self.builder.looped(&dims, scalar, forward, Part::Last(*k), needs.to_vec());
                    let next = made.back.iter().position(|j| j == k)? + ends.count;
                    back.push((var, u32::try_from(args.len()).ok()?));
                    Arg::Carried { init: Access { var, at: batch.clone() }, next: u32::try_from(next).ok()? }
                }
            });
        }
        let backward = Arc::new(Loop {
            batch: of.batch.clone(),
            pred: of.pred.clone(),
            trips: Trips::Count(trips.clone()),
            checkpoint: None,
            sizes: of.sizes.iter().map(|p| at_indices(p, &places)).collect(),
            args,
            body: Arc::new(made.reverse.clone()),
        });
        let back = back.into_iter().map(|(after, input)| PutBack { after, by: backward.clone(), input });
        self.back.extend(back);
        Some(backward)
    }

    /// Adds a term to the cotangent of an operand: everywhere if `all`, else only where the term is
    /// not zero.
    fn hand_on(
        &mut self,
        dims: &[Poly],
        pred: &Pred,
        needs: &[u32],
        of: &Access,
        (cotangent, all): (Access, bool),
        terms: &mut [Vec<Term>],
    ) {
        let scalar = Some(self.builder.scalar(of.var));
        let pred = self.builder.simplify(dims, pred);
        let inner = Stmt { dims: dims.to_vec(), scalar, rhs: Rhs::Zero, needs: needs.to_vec(), name: None };
        let present = match all {
            true => Pred::truth(),
            false => self.nonzero(cotangent.var).map(&|p| at_indices(p, &cotangent.at)),
        };
        self.transpose(&inner, &[], (&pred, &present), false, of, &[cotangent], terms);
    }

    /// Returns the trip count of a loop over its batch, and an extent that suffices for the whole
    /// batch.
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

    /// Returns an extent that suffices for all indices of these ranges. If `n` depends on data per
    /// index, a `max` over the indices computes it.
    fn extent(&mut self, n: &Poly, dims: &[Poly], pred: &Pred, needs: &[u32]) -> Poly {
        if let Some(hull) = hull(n, dims) {
            return hull;
        }
        self.hits.count("greatest extent");
        let each = self.builder.index(dims, n);
        let reduce = Reduce {
            reducer: Reducer::Max,
            bound: dims.to_vec(),
            pred: Pred::truth(),
            terms: pred.clone(),
            place: Poly::default(),
            of: Access { var: each, at: own(dims) },
        };
        let most = self.builder.reduce(&[], Scalar::I64, reduce, needs.to_vec());
        inline::integer(&self.builder, &[], &Pred::truth(), &Access { var: most, at: Vec::new() })
    }

    /// Returns the extents of an output that is stacked over all iterations. `None` if they depend
    /// on data that the loop does not output.
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

    /// Rewrites a polynomial of the body over the batch and the iteration number. Data in it are
    /// read from outputs of the loop; `None` if the loop does not output them.
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

/// The cotangent of a part of a loop, and the access that reads it for one iteration.
struct Cotangent {
    part: Part,
    of: Tangent,
    at: Access,
}

/// The initial values of a reverse loop, over the batch. Those that vary per iteration are also
/// over the iteration number.
struct Ends {
    /// The initial cotangents of the carried inputs, which are the first outputs of the reverse.
    carried: Vec<Access>,
    /// The cotangents of the outputs of each iteration.
    every: Vec<Access>,
    /// The initial values of cotangents that are sums over iterations, with their outputs of the
    /// reverse.
    sums: Vec<(Access, u32)>,
    /// The number of cotangents that the reverse returns.
    count: usize,
}

/// Whether the access depends on index number `k`.
fn mentions(a: &Access, k: usize) -> bool {
    let atom = index(k, &Poly::default()).atom();
    a.at.iter().any(|p| p.mentions(&atom))
}

/// Returns an upper bound of the polynomial over all indices of these extents. `None` if it is not
/// linear in an index, or if it reads data at an index.
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
