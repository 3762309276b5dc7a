//! **One-level checkpointing** of loops (Griewank and Walther, chapter 12). The forward pass of
//! such a loop keeps every k-th state and nothing else. The adjoint of a loop in `super` calls
//! [`Differentiator::segments`] and [`Differentiator::build_segmented_reverse`].
//!
//! The reverse is a loop over segments of k iterations, from the last to the first. For each
//! segment it runs the primal again from the kept state, now keeping the values that the reverse
//! reads. Then it runs the reverse loop over the segment.
//!
//! Both inner loops have the bodies of the loops without checkpoints, and the outer loop carries
//! the same cotangents. So every operation has the same operands, and gradients are bit-identical
//! to those without checkpoints.
//!
//! An array that is updated in place is kept whole at a checkpoint, and restored inside a segment.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::{Differentiator, canonical_indices};
use super::ReverseInitialValues;
use super::partition::{PartitionedBodies, ReverseInput};
use lang_ir::core::{CheckpointSpacing, CoreType, ScalarOp, TypeLeaf, UNKNOWN_COUNT_SPACING, Vars};
use lang_ir::flat::{FunctionInput, InputSource};
use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{Rhs, SsaBuilder, SsaFunction, Statement, StmtId, TensorAccess, statement_index};
use lang_opt::{dce, inline, loop_pruning};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The segments of a loop. The polynomials are over the indices of its batch.
#[derive(Clone)]
pub(super) struct CheckpointSegments {
    /// The trip count of the loop.
    trips: Poly,
    /// The length of a segment; the last one may be shorter.
    length: Poly,
    /// The number of segments.
    count: Poly,
    /// The extents of the axis of segments and of the axis of iterations in a segment, sufficient
    /// for the whole batch.
    extents: [Poly; 2],
}

impl CheckpointSegments {
    /// Returns the position of iteration `t` in a per-iteration output of the reverse: the segment,
    /// then the iteration in it. Both count from the end.
    pub(super) fn reverse_position(&self, t: &Poly) -> Option<[Poly; 2]> {
        let segment = t.div(&self.length)?;
        let actual_length = self.length.minimum(&self.trips.sub(&segment.mul(&self.length)));
        Some([self.count.add_constant(-1).sub(&segment), actual_length.add_constant(-1).sub(&t.rem(&self.length)?)])
    }

    /// Returns the position of the state of iteration `t` among the kept states, or -1 if it is not
    /// kept.
    pub(super) fn checkpoint_position(&self, t: &Poly) -> Option<Poly> {
        let segment = t.div(&self.length)?;
        let is_inside = t.rem(&self.length)?.minimum(&Poly::constant(1));
        Some(segment.sub(&is_inside.mul(&segment.add_constant(1))))
    }

    /// Returns the extents of the two axes of an output of the reverse.
    pub(super) fn extents(&self) -> &[Poly] {
        &self.extents
    }
}

/// The reverse loop over segments.
pub(super) struct ReverseLoop {
    pub(super) reverse_loop: Arc<SsaLoop>,
    /// The results of the loop that hold the cotangents, in the order of `wrt`. A carried cotangent
    /// is a result after the last segment.
    pub(super) cotangent_results: Vec<LoopResult>,
}

impl Differentiator<'_> {
    /// Returns the segments of a loop with checkpoints. `None` if the loop has no checkpoints, if a
    /// carried input has no scalar type, or if the segments have no polynomial form.
    pub(super) fn segments(&mut self, of: &Arc<SsaLoop>, needs: &[u32]) -> Option<CheckpointSegments> {
        let spacing = of.checkpoint.as_ref()?;
        if of.carried_inputs().any(|(k, _)| of.body.inputs.get(k as usize).is_none_or(|i| i.leaf.scalar.is_none())) {
            return None;
        }
        let (trips, _) = self.trip_count(of, needs)?;
        let one = Poly::constant(1);
        let length = match (spacing, of.fixed_trip_count()) {
            (CheckpointSpacing::Fixed(k), _) if *k == one => one,
            (CheckpointSpacing::Fixed(k), _) => k.minimum(&trips).maximum(&one),
            (CheckpointSpacing::SquareRoot, Some(_)) => self.ceil_sqrt(&of.batch, &trips),
            (CheckpointSpacing::SquareRoot, None) => {
                Poly::constant(UNKNOWN_COUNT_SPACING.into()).minimum(&trips).maximum(&one)
            }
        };
        let count = trips.add_constant(-1).add(&length).div(&length)?;
        if length.has_overflowed() || count.has_overflowed() {
            return None;
        }
        let extents = [&count, &length].map(|n| self.uniform_extent(n, &of.batch, &of.pred, needs));
        Some(CheckpointSegments { trips, length, count, extents })
    }

    /// Returns the square root of max(n, 1), rounded up.
    fn ceil_sqrt(&mut self, batch: &[Poly], n: &Poly) -> Poly {
        let n = self.builder.index(batch, &n.maximum(&Poly::constant(1)));
        let steps = [
            (ScalarOp::Convert(Scalar::F64), Scalar::F64),
            (ScalarOp::Scalar(ScalarFn::Sqrt), Scalar::F64),
            (ScalarOp::Scalar(ScalarFn::Ceil), Scalar::F64),
            (ScalarOp::Convert(Scalar::I64), Scalar::I64),
        ];
        let root = steps.into_iter().fold(n, |var, (operation, scalar)| {
            let args = [self.at_own_indices(var)];
            self.builder.map(batch, scalar, operation, &Pred::truth(), &args, Vec::new())
        });
        inline::integer_poly(
            &self.builder,
            batch,
            &Pred::truth(),
            &TensorAccess { var: root, at: canonical_indices(batch) },
        )
    }

    /// Builds the loop over segments from `bodies`, the bodies of the loops without checkpoints,
    /// and `initial`, the initial values of the reverse. `wrt` lists the inputs that have
    /// cotangents.
    pub(super) fn build_segmented_reverse(
        &mut self,
        of: &Arc<SsaLoop>,
        segments: &CheckpointSegments,
        bodies: &PartitionedBodies,
        initial: &ReverseInitialValues,
        wrt: &[u32],
        needs: &[u32],
    ) -> Option<ReverseLoop> {
        self.hits.count("reverse loop over segments");
        let batch = of.batch.len();
        let outer: Vec<Poly> = (0..batch).map(|k| statement_index(k, &Poly::default()).value()).collect();
        // Iteration j of the outer loop reverses segment `count - 1 - j`.
        let segment = segments.count.add_constant(-1).sub(&of.iteration_number());
        let start = segment.mul(&segments.length);
        let states = self.checkpoints(of, segments, needs)?;
        let mut region_builder = SegmentRegion::new(&self.builder, batch);
        let first = region_builder.add_size(&start);
        let count = region_builder.add_size(&segments.length.minimum(&segments.trips.sub(&start)));
        let extent = region_builder.add_size(&segments.extents[1]);
        let iteration = first.add(&statement_index(0, &Poly::default()).value());
        let mut args = Vec::new();
        for (k, arg) in (0..).zip(&of.args) {
            args.push(match arg {
                LoopArg::Captured(a) => LoopArg::Captured(region_builder.captured_slice(a, &iteration)),
                LoopArg::Carried { next, .. } => {
                    let at = outer.iter().cloned().chain([segment.clone()]).collect();
                    let init = region_builder.add_captured(TensorAccess { var: *states.get(&k)?, at });
                    LoopArg::Carried { init, next: *next }
                }
            });
        }
        let forward = Arc::new(SsaLoop {
            batch: Vec::new(),
            pred: Pred::truth(),
            trip_count: LoopTripCount::Fixed(count.clone()),
            checkpoint: None,
            sizes: of.sizes.iter().map(|p| region_builder.rewrite_poly(p, &iteration)).collect(),
            args,
            body: Arc::new(bodies.forward.clone()),
        });
        let carried = |region_builder: &mut SegmentRegion<'_>, init: &TensorAccess, place: usize| {
            let next = u32::try_from(place).unwrap_or(u32::MAX);
            region_builder.add_input(LoopArg::Carried { init: init.clone(), next })
        };
        let is_summed = |j: usize| bodies.inputs.iter().any(|i| matches!(i, ReverseInput::Sum(k) if *k as usize == j));
        let mut inner = ReverseInitialValues {
            carried: Vec::new(),
            per_iteration: Vec::new(),
            sums: Vec::new(),
            count: initial.count,
        };
        for (place, init) in initial.carried.iter().enumerate() {
            inner.carried.push(carried(&mut region_builder, init, place));
        }
        for (j, (init, place)) in initial.sums.iter().enumerate() {
            let init = if is_summed(j) { carried(&mut region_builder, init, *place as usize) } else { init.clone() };
            inner.sums.push((init, *place));
        }
        for of in &initial.per_iteration {
            inner.per_iteration.push(region_builder.captured_slice(of, &iteration));
        }
        let SegmentRegion { sizes, args, .. } = &region_builder;
        let (sizes, mut args) = (sizes.iter().map(|(_, n)| n.clone()).collect::<Vec<Poly>>(), args.clone());
        let region = region_builder.into_function(&of.body);
        let mut inner_pass = Differentiator::new(&region, self.functions, self.hits);
        inner_pass.builder.is_region = true;
        let backward = inner_pass.build_reverse(&forward, &forward, bodies, &inner, (&count, &extent), &[])?;
        let mut outputs = Vec::new();
        let mut is_carried = Vec::new();
        for (place, k) in (0..).zip(wrt) {
            let access = forward.args.get(*k as usize)?.access();
            let mut dims: Vec<Poly> = inner_pass.builder.dims(access.var).into_iter().skip(access.at.len()).collect();
            let scalar = inner_pass.builder.scalar(access.var);
            let carried_input =
                backward.args.iter().position(|a| matches!(a, LoopArg::Carried { next, .. } if *next == place));
            let result = match carried_input {
                Some(input) => LoopResult::Final(u32::try_from(input).ok()?),
                None => {
                    dims.insert(0, extent.clone());
                    LoopResult::PerIteration(place)
                }
            };
            is_carried.push(carried_input.is_some());
            let var = inner_pass.builder.loop_result(&dims, scalar, &backward, result, Vec::new());
            outputs.push((TypeLeaf { path: Vec::new(), dims, scalar: Some(scalar) }, var));
        }
        let Differentiator { builder, inputs, vars, .. } = inner_pass;
        let SsaBuilder { stmts, checks, .. } = builder.take();
        let mut body = SsaFunction { vars, inputs, stmts, checks, outputs, ..region.clone() };
        dce::eliminate_dead_code(&mut body);
        self.add_global_arguments(&body, &mut args);
        let carried = |place: usize| {
            let at = args.iter().position(|a| matches!(a, LoopArg::Carried { next, .. } if *next as usize == place));
            at.and_then(|k| u32::try_from(k).ok())
        };
        let mut results = Vec::new();
        for (place, is_carried) in is_carried.into_iter().enumerate() {
            results.push(if is_carried {
                LoopResult::Final(carried(place)?)
            } else {
                LoopResult::PerIteration(u32::try_from(place).ok()?)
            });
        }
        let outer_loop = SsaLoop {
            batch: of.batch.clone(),
            pred: of.pred.clone(),
            trip_count: LoopTripCount::Fixed(segments.count.clone()),
            // A derivative of this loop recomputes segments too.
            checkpoint: Some(CheckpointSpacing::Fixed(Poly::constant(1))),
            sizes,
            args,
            body: Arc::new(body.into_region()),
        };
        let (outer_loop, moved) = loop_pruning::prune_loop(&outer_loop, &results.iter().copied().collect());
        let results = results.iter().map(|p| moved.get(p).copied()).collect::<Option<Vec<LoopResult>>>()?;
        Some(ReverseLoop { reverse_loop: Arc::new(outer_loop), cotangent_results: results })
    }

    /// Adds the kept states as results of the loop, and returns them by carried input.
    fn checkpoints(
        &mut self,
        of: &Arc<SsaLoop>,
        segments: &CheckpointSegments,
        needs: &[u32],
    ) -> Option<HashMap<u32, StmtId>> {
        let [extent, _] = &segments.extents;
        let mut states = HashMap::new();
        for (k, _) in of.carried_inputs() {
            let init = of.args.get(k as usize)?.access();
            let own: Vec<Poly> = self.builder.dims(init.var).into_iter().skip(init.at.len()).collect();
            let scalar = self.builder.get(init.var)?.scalar?;
            let dims: Vec<Poly> = of.batch.iter().chain([extent]).cloned().chain(own).collect();
            states.insert(k, self.builder.loop_result(&dims, scalar, of, LoopResult::Checkpoint(k), needs.to_vec()));
        }
        Some(states)
    }
}

/// The body of the loop over segments under construction: its inputs, their arguments in the
/// enclosing function, and its sizes.
struct SegmentRegion<'a> {
    /// The enclosing function.
    outer: &'a SsaBuilder,
    /// The number of batch indices. The index after them is the iteration number.
    batch: usize,
    vars: Vars,
    /// The sizes, with their values in the enclosing function.
    sizes: Vec<(LocalId, Poly)>,
    inputs: Vec<FunctionInput>,
    stmts: Vec<Statement>,
    args: Vec<LoopArg>,
}

impl<'a> SegmentRegion<'a> {
    fn new(outer: &'a SsaBuilder, batch: usize) -> Self {
        Self {
            outer,
            batch,
            vars: Vars::default(),
            sizes: Vec::new(),
            inputs: Vec::new(),
            stmts: Vec::new(),
            args: Vec::new(),
        }
    }

    /// Returns the size of the region that equals this polynomial over the loop's batch and
    /// iteration number. Adds the size if it is new.
    fn add_size(&mut self, p: &Poly) -> Poly {
        if p.as_constant().is_some() {
            return p.clone();
        }
        let known = self.sizes.iter().find(|(_, n)| n == p).map(|(l, _)| *l);
        let local = known.unwrap_or_else(|| {
            let local = self.vars.fresh(format!("n{}", self.sizes.len()));
            self.sizes.push((local, p.clone()));
            local
        });
        Poly::atom(self.vars.atom(local))
    }

    /// Returns the region's input for an argument, and adds the input if it is new.
    fn add_input(&mut self, arg: LoopArg) -> TensorAccess {
        let of = arg.access();
        let same = |other: &LoopArg| matches!((other, &arg), (LoopArg::Captured(a), LoopArg::Captured(b)) if a == b);
        if let Some(var) = self.args.iter().position(same).and_then(|k| u32::try_from(k).ok()) {
            return TensorAccess { var: StmtId(var), at: Vec::new() };
        }
        let dims: Vec<Poly> = self.outer.dims(of.var).into_iter().skip(of.at.len()).collect();
        let dims: Vec<Poly> = dims.iter().map(|n| self.add_size(n)).collect();
        let scalar = self.outer.get(of.var).and_then(|s| s.scalar);
        let number = u32::try_from(self.args.len()).unwrap_or(u32::MAX);
        let leaf = TypeLeaf { path: Vec::new(), dims: dims.clone(), scalar };
        let local = self.vars.fresh(format!("x{number}"));
        self.inputs.push(FunctionInput { local, source: InputSource::Param(number), leaf });
        self.stmts.push(Statement { dims, scalar, rhs: Rhs::Input(number), needs: Vec::new(), name: None });
        self.args.push(arg);
        TensorAccess { var: StmtId(number), at: Vec::new() }
    }

    /// Returns the region's input for a value that it captures, and adds the input if it is new.
    fn add_captured(&mut self, of: TensorAccess) -> TensorAccess {
        self.add_input(LoopArg::Captured(of))
    }

    /// Returns an access inside the region for an operand of the inner loop. The region receives
    /// the operand at its leading indices, up to the first that depends on the inner iteration
    /// number. That number is `iteration` in the region.
    fn captured_slice(&mut self, of: &TensorAccess, iteration: &Poly) -> TensorAccess {
        let iteration_atom = statement_index(self.batch, &Poly::default()).atom();
        let count = of.at.iter().take_while(|p| !p.mentions(&iteration_atom)).count();
        let (first, rest) = of.at.split_at(count);
        let TensorAccess { var, .. } = self.add_captured(TensorAccess { var: of.var, at: first.to_vec() });
        TensorAccess { var, at: rest.iter().map(|p| self.rewrite_poly(p, iteration)).collect() }
    }

    /// Rewrites a polynomial over the batch and the inner loop's iteration number for the inside of
    /// the region, where that number is `iteration`.
    fn rewrite_poly(&mut self, p: &Poly, iteration: &Poly) -> Poly {
        let iteration_atom = statement_index(self.batch, &Poly::default()).atom();
        if !p.mentions(&iteration_atom) {
            return self.add_size(p);
        }
        let mut atoms = Vec::new();
        p.for_each_atom(&mut |a| {
            if matches!(a, Atom::Local(..) | Atom::Read(..)) && !atoms.contains(a) {
                atoms.push(a.clone());
            }
        });
        let mut known: HashMap<Atom, Poly> = HashMap::new();
        for atom in atoms {
            let value = match &atom {
                a if *a == iteration_atom => iteration.clone(),
                Atom::Read(x, _, at) => {
                    let Some(var) = StmtId::from_local(*x) else { continue };
                    let TensorAccess { var, .. } = self.add_captured(TensorAccess { var, at: Vec::new() });
                    let at = at.iter().map(|p| self.rewrite_poly(p, iteration)).collect();
                    Poly::atom(Atom::Read(var.local(), var.name(), at))
                }
                other => self.add_size(&Poly::atom(other.clone())),
            };
            known.insert(atom, value);
        }
        p.substitute(&|a| known.get(a).cloned())
    }

    /// Returns the region as a function with no statements except its inputs.
    fn into_function(self, like: &SsaFunction) -> SsaFunction {
        SsaFunction {
            callee: like.callee.clone(),
            vars: self.vars,
            sizes: self.sizes.into_iter().map(|(l, _)| l).collect(),
            bounded: like.bounded.clone(),
            params: Vec::new(),
            inputs: self.inputs,
            stmts: self.stmts,
            checks: Vec::new(),
            needs: Vec::new(),
            is_opaque: false,
            outputs: Vec::new(),
            result: CoreType::unit(),
        }
    }
}
