//! **Checkpointing** of loops (Griewank and Walther, ch. 12; here of one level). The forward pass
//! of such a loop keeps every k-th state and nothing else.
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

use super::super::{Deriving, own};
use super::Ends;
use super::split::{Fed, Made};
use crate::norm::{dead, inline, loops};
use lang_ir::core::{CoreType, Leaf, OPEN_SPACING, Operation, Spacing, Vars};
use lang_ir::flat::{Input, Source};
use lang_ir::region::{Arg, Loop, Part, Trips};
use lang_ir::ssa::{Access, Builder, Rhs, Ssa, Stmt, Var, index};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The segments of a loop, over its batch.
#[derive(Clone)]
pub(super) struct Segments {
    /// The trip count of the loop.
    trips: Poly,
    /// The length of a segment; the last one may be shorter.
    length: Poly,
    /// The number of segments.
    count: Poly,
    /// The extents of the segment axis and of the axis in a segment, sufficient for the whole
    /// batch.
    extents: [Poly; 2],
}

impl Segments {
    /// Returns the position of iteration `t` in an output of the reverse that has both axes: the
    /// segment, then the position in it. Both count from the end.
    pub(super) fn place(&self, t: &Poly) -> Option<[Poly; 2]> {
        let segment = t.div(&self.length)?;
        let long = self.length.least(&self.trips.sub(&segment.mul(&self.length)));
        Some([self.count.plus(-1).sub(&segment), long.plus(-1).sub(&t.rem(&self.length)?)])
    }

    /// Returns the position of the state of iteration `t` among the kept states, or -1 if it is not
    /// kept.
    pub(super) fn kept_at(&self, t: &Poly) -> Option<Poly> {
        let segment = t.div(&self.length)?;
        let inside = t.rem(&self.length)?.least(&Poly::constant(1));
        Some(segment.sub(&inside.mul(&segment.plus(1))))
    }

    /// Returns the extents of the two axes of an output of the reverse.
    pub(super) fn extents(&self) -> &[Poly] {
        &self.extents
    }
}

/// The reverse loop over segments.
pub(super) struct Backward {
    pub(super) of: Arc<Loop>,
    /// The parts that hold the cotangents, in the order of `wrt`. Carried cotangents are read after
    /// the last segment.
    pub(super) parts: Vec<Part>,
}

impl Deriving<'_> {
    /// Returns the segments of a loop with checkpoints. `None` if the loop has no checkpoints, or
    /// if the segments have no polynomial form.
    pub(super) fn segments(&mut self, of: &Arc<Loop>, needs: &[u32]) -> Option<Segments> {
        let spacing = of.checkpoint.as_ref()?;
        if of.carried().any(|(k, _)| of.body.inputs.get(k as usize).is_none_or(|i| i.leaf.scalar.is_none())) {
            return None;
        }
        let (trips, _) = self.trips(of, needs)?;
        let one = Poly::constant(1);
        let length = match (spacing, of.count()) {
            (Spacing::Every(k), _) if *k == one => one,
            (Spacing::Every(k), _) => k.least(&trips).greatest(&one),
            (Spacing::Root, Some(_)) => self.root(&of.batch, &trips),
            (Spacing::Root, None) => Poly::constant(OPEN_SPACING.into()).least(&trips).greatest(&one),
        };
        let count = trips.plus(-1).add(&length).div(&length)?;
        if length.overflowed() || count.overflowed() {
            return None;
        }
        let extents = [&count, &length].map(|n| self.extent(n, &of.batch, &of.pred, needs));
        Some(Segments { trips, length, count, extents })
    }

    /// Returns the square root of max(n, 1), rounded up.
    fn root(&mut self, batch: &[Poly], n: &Poly) -> Poly {
        let n = self.builder.index(batch, &n.greatest(&Poly::constant(1)));
        let steps = [
            (Operation::Convert(Scalar::F64), Scalar::F64),
            (Operation::Scalar(ScalarFn::Sqrt), Scalar::F64),
            (Operation::Scalar(ScalarFn::Ceil), Scalar::F64),
            (Operation::Convert(Scalar::I64), Scalar::I64),
        ];
        let root = steps.into_iter().fold(n, |var, (operation, scalar)| {
            let args = [self.whole(var)];
            self.builder.map(batch, scalar, operation, &Pred::truth(), &args, Vec::new())
        });
        inline::integer(&self.builder, batch, &Pred::truth(), &Access { var: root, at: own(batch) })
    }

    /// Builds the loop over segments from the bodies of the loops without checkpoints. `wrt` lists
    /// the inputs that have cotangents.
    pub(super) fn backward_segments(
        &mut self,
        of: &Arc<Loop>,
        segments: &Segments,
        made: &Made,
        ends: &Ends,
        wrt: &[u32],
        needs: &[u32],
    ) -> Option<Backward> {
        self.hits.count("reverse loop over segments");
        let batch = of.batch.len();
        let outer: Vec<Poly> = (0..batch).map(|k| index(k, &Poly::default()).value()).collect();
        // The segments in turn, from the last.
        let nth = segments.count.plus(-1).sub(&of.number());
        let start = nth.mul(&segments.length);
        let states = self.states(of, segments, needs)?;
        let mut shell = Shell::new(&self.builder, batch);
        let first = shell.size(&start);
        let count = shell.size(&segments.length.least(&segments.trips.sub(&start)));
        let extent = shell.size(&segments.extents[1]);
        let number = first.add(&index(0, &Poly::default()).value());
        let mut args = Vec::new();
        for (k, arg) in (0..).zip(&of.args) {
            args.push(match arg {
                Arg::Given(a) => Arg::Given(shell.slice(a, &number)),
                Arg::Carried { next, .. } => {
                    let at = outer.iter().cloned().chain([nth.clone()]).collect();
                    let init = shell.given(Access { var: *states.get(&k)?, at });
                    Arg::Carried { init, next: *next }
                }
            });
        }
        let forward = Arc::new(Loop {
            batch: Vec::new(),
            pred: Pred::truth(),
            trips: Trips::Count(count.clone()),
            checkpoint: None,
            sizes: of.sizes.iter().map(|p| shell.inside(p, &number)).collect(),
            args,
            body: Arc::new(made.forward.clone()),
        });
        let carried = |shell: &mut Shell<'_>, init: &Access, place: usize| {
            let next = u32::try_from(place).unwrap_or(u32::MAX);
            shell.input(Arg::Carried { init: init.clone(), next })
        };
        let summed = |j: usize| made.inputs.iter().any(|i| matches!(i, Fed::Sum(k) if *k as usize == j));
        let mut inner = Ends { carried: Vec::new(), every: Vec::new(), sums: Vec::new(), count: ends.count };
        for (place, init) in ends.carried.iter().enumerate() {
            inner.carried.push(carried(&mut shell, init, place));
        }
        for (j, (init, place)) in ends.sums.iter().enumerate() {
            let init = if summed(j) { carried(&mut shell, init, *place as usize) } else { init.clone() };
            inner.sums.push((init, *place));
        }
        for of in &ends.every {
            inner.every.push(shell.slice(of, &number));
        }
        let Shell { sizes, args, .. } = &shell;
        let (sizes, mut args) = (sizes.iter().map(|(_, n)| n.clone()).collect::<Vec<Poly>>(), args.clone());
        let region = shell.region(&of.body);
        let mut pass = Deriving::new(&region, self.functions, self.hits);
        pass.builder.region = true;
        let backward = pass.backward(&forward, &forward, made, &inner, (&count, &extent), &[])?;
        let mut outputs = Vec::new();
        let mut ended = Vec::new();
        for (place, k) in (0..).zip(wrt) {
            let access = forward.args.get(*k as usize)?.access();
            let mut dims: Vec<Poly> = pass.builder.dims(access.var).into_iter().skip(access.at.len()).collect();
            let scalar = pass.builder.scalar(access.var);
            let last = backward.args.iter().position(|a| matches!(a, Arg::Carried { next, .. } if *next == place));
            let part = match last {
                Some(input) => Part::Last(u32::try_from(input).ok()?),
                None => {
                    dims.insert(0, extent.clone());
                    Part::Every(place)
                }
            };
            ended.push(last.is_some());
            let var = pass.builder.looped(&dims, scalar, &backward, part, Vec::new());
            outputs.push((Leaf { path: Vec::new(), dims, scalar: Some(scalar) }, var));
        }
        let Deriving { builder, inputs, vars, .. } = pass;
        let Builder { stmts, checks, .. } = builder.take();
        let mut body = Ssa { vars, inputs, stmts, checks, outputs, ..region.clone() };
        dead::remove(&mut body);
        self.globals(&body, &mut args);
        let carried = |place: usize| {
            let at = args.iter().position(|a| matches!(a, Arg::Carried { next, .. } if *next as usize == place));
            at.and_then(|k| u32::try_from(k).ok())
        };
        let mut parts = Vec::new();
        for (place, ended) in ended.into_iter().enumerate() {
            parts.push(if ended { Part::Last(carried(place)?) } else { Part::Every(u32::try_from(place).ok()?) });
        }
        let all = Loop {
            batch: of.batch.clone(),
            pred: of.pred.clone(),
            trips: Trips::Count(segments.count.clone()),
            // A derivative of this loop recomputes segments too.
            checkpoint: Some(Spacing::Every(Poly::constant(1))),
            sizes,
            args,
            body: Arc::new(body.closed()),
        };
        let (all, moved) = loops::pruned(&all, &parts.iter().copied().collect());
        let parts = parts.iter().map(|p| moved.get(p).copied()).collect::<Option<Vec<Part>>>()?;
        Some(Backward { of: Arc::new(all), parts })
    }

    /// Returns the kept states, by carried input.
    fn states(&mut self, of: &Arc<Loop>, segments: &Segments, needs: &[u32]) -> Option<HashMap<u32, Var>> {
        let [extent, _] = &segments.extents;
        let mut states = HashMap::new();
        for (k, _) in of.carried() {
            let init = of.args.get(k as usize)?.access();
            let own: Vec<Poly> = self.builder.dims(init.var).into_iter().skip(init.at.len()).collect();
            let scalar = self.builder.get(init.var)?.scalar?;
            let dims: Vec<Poly> = of.batch.iter().chain([extent]).cloned().chain(own).collect();
            states.insert(k, self.builder.looped(&dims, scalar, of, Part::State(k), needs.to_vec()));
        }
        Some(states)
    }
}

/// A region under construction: its inputs, its arguments and its sizes.
struct Shell<'a> {
    outer: &'a Builder,
    /// The number of batch indices. The index after them is the iteration number.
    batch: usize,
    vars: Vars,
    sizes: Vec<(LocalId, Poly)>,
    inputs: Vec<Input>,
    stmts: Vec<Stmt>,
    args: Vec<Arg>,
}

impl<'a> Shell<'a> {
    fn new(outer: &'a Builder, batch: usize) -> Self {
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
    fn size(&mut self, p: &Poly) -> Poly {
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
    fn input(&mut self, arg: Arg) -> Access {
        let of = arg.access();
        let same = |other: &Arg| matches!((other, &arg), (Arg::Given(a), Arg::Given(b)) if a == b);
        if let Some(var) = self.args.iter().position(same).and_then(|k| u32::try_from(k).ok()) {
            return Access { var: Var(var), at: Vec::new() };
        }
        let dims: Vec<Poly> = self.outer.dims(of.var).into_iter().skip(of.at.len()).collect();
        let dims: Vec<Poly> = dims.iter().map(|n| self.size(n)).collect();
        let scalar = self.outer.get(of.var).and_then(|s| s.scalar);
        let number = u32::try_from(self.args.len()).unwrap_or(u32::MAX);
        let leaf = Leaf { path: Vec::new(), dims: dims.clone(), scalar };
        let local = self.vars.fresh(format!("x{number}"));
        self.inputs.push(Input { local, source: Source::Param(number), leaf });
        self.stmts.push(Stmt { dims, scalar, rhs: Rhs::Input(number), needs: Vec::new(), name: None });
        self.args.push(arg);
        Access { var: Var(number), at: Vec::new() }
    }

    fn given(&mut self, of: Access) -> Access {
        self.input(Arg::Given(of))
    }

    /// Returns an access inside the region for an operand of the inner loop. The region receives
    /// the operand at its leading indices, up to the first that depends on the inner iteration
    /// number.
    fn slice(&mut self, of: &Access, number: &Poly) -> Access {
        let own = index(self.batch, &Poly::default()).atom();
        let count = of.at.iter().take_while(|p| !p.mentions(&own)).count();
        let (first, rest) = of.at.split_at(count);
        let Access { var, .. } = self.given(Access { var: of.var, at: first.to_vec() });
        Access { var, at: rest.iter().map(|p| self.inside(p, number)).collect() }
    }

    /// Rewrites a polynomial over the batch and the inner loop's iteration number for the inside of
    /// the region, where that number is `number`.
    fn inside(&mut self, p: &Poly, number: &Poly) -> Poly {
        let own = index(self.batch, &Poly::default()).atom();
        if !p.mentions(&own) {
            return self.size(p);
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
                a if *a == own => number.clone(),
                Atom::Read(x, _, at) => {
                    let Some(var) = Var::of_local(*x) else { continue };
                    let Access { var, .. } = self.given(Access { var, at: Vec::new() });
                    let at = at.iter().map(|p| self.inside(p, number)).collect();
                    Poly::atom(Atom::Read(var.local(), var.name(), at))
                }
                other => self.size(&Poly::atom(other.clone())),
            };
            known.insert(atom, value);
        }
        p.substitute(&|a| known.get(a).cloned())
    }

    /// Returns the region as a function with no statements except its inputs.
    fn region(self, like: &Ssa) -> Ssa {
        Ssa {
            callee: like.callee.clone(),
            vars: self.vars,
            sizes: self.sizes.into_iter().map(|(l, _)| l).collect(),
            bounded: like.bounded.clone(),
            params: Vec::new(),
            inputs: self.inputs,
            stmts: self.stmts,
            checks: Vec::new(),
            needs: Vec::new(),
            opaque: false,
            outputs: Vec::new(),
            result: CoreType::unit(),
        }
    }
}
