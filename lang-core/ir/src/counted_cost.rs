//! The **cost** `$` of Tensor SSA (ATL Figs. 6 and 17), at concrete sizes and without data: counts
//! the index tuples that satisfy the predicates. A predicate on data counts as true, and an index
//! that data determine counts as one value. The cost is then an upper bound.
//!
//! A sum of `k` terms costs `k − 1` additions and its products. A scalar function costs
//! [`ScalarOp::work`], a call costs as much as its callee, and a view costs nothing. A sort costs
//! its maximal number of comparisons. An update visits the elements that it writes. Copies of the
//! rest, needed if the array is also read elsewhere, are not counted.
//!
//! [`ScalarOp::work`]: super::core::ScalarOp::work

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::argsort;
use super::core::{FunctionKey, ScalarOp};
use super::eval_nest::{EvalNest, NestEnv};
use super::region::{LoopResult, SsaLoop};
use super::ssa::{Rhs, SsaFunction, StmtId, TensorAccess, index_number, statement_index, substitute_indices};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The cost of a function.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CountedCost {
    /// Real operations.
    pub work: u64,
    /// Visited index tuples.
    pub iterations: u64,
    /// Real elements of the inputs and outputs.
    pub io: u64,
    /// Bytes that loops keep for other loops to read: outputs of every iteration, and checkpointed
    /// states. A reverse derivative keeps them. Only the body that keeps most counts, because the
    /// memory of a body is freed when it ends.
    pub stored_bytes: u64,
    /// Whether the cost is only an upper bound, because it depends on data.
    pub is_upper_bound: bool,
}

/// The reasons why a cost is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownCost {
    /// An extent that depends on data.
    Extent,
    /// More tuples than the limit.
    TooMany,
    /// A callee without Tensor SSA.
    Callee,
}

/// Looks up the function of a callee.
pub type SsaLookup<'a> = &'a dyn Fn(&Arc<FunctionKey>) -> Option<Arc<SsaFunction>>;

/// Computes the cost of a function at these values of its sizes and integer parameters. `limit` is
/// the maximal number of tuples to count.
///
/// # Errors
/// [`UnknownCost`], if the cost depends on data or exceeds the limit.
pub fn count_cost(
    ssa: &SsaFunction,
    locals: &HashMap<LocalId, i64>,
    functions: SsaLookup<'_>,
    limit: u64,
) -> Result<CountedCost, UnknownCost> {
    let mut counting =
        CostCounter { functions, remaining: limit, callee_costs: HashMap::new(), body_costs: Vec::new() };
    counting.function(ssa, locals)
}

/// Evaluates extents at these values of sizes. An extent may come out negative.
///
/// # Errors
/// [`UnknownCost`]
pub fn eval_extents(dims: &[Poly], locals: &HashMap<LocalId, i64>) -> Result<Vec<i64>, UnknownCost> {
    let mut sizes = SizeEnv { locals, remaining: &mut 0 };
    dims.iter().map(|n| sizes.eval_poly_exact(n, &[])).collect()
}

struct CostCounter<'a> {
    functions: SsaLookup<'a>,
    remaining: u64,
    callee_costs: HashMap<CalleeAtSizes, CountedCost>,
    /// The cost of recently counted loop bodies, by body and sizes.
    body_costs: Vec<(Arc<SsaFunction>, SizeValues, CountedCost)>,
}

/// The values of sizes, sorted by variable.
type SizeValues = Vec<(LocalId, i64)>;

/// A callee at concrete sizes.
type CalleeAtSizes = (Arc<FunctionKey>, SizeValues);

/// An environment with the values of sizes, and no other data.
struct SizeEnv<'a> {
    locals: &'a HashMap<LocalId, i64>,
    remaining: &'a mut u64,
}

impl CostCounter<'_> {
    fn function(&mut self, ssa: &SsaFunction, locals: &HashMap<LocalId, i64>) -> Result<CountedCost, UnknownCost> {
        let mut total = CountedCost::default();
        let scalars = eval_scalar_integers(ssa, locals);
        let locals =
            if scalars.is_empty() { locals } else { &locals.iter().map(|(l, n)| (*l, *n)).chain(scalars).collect() };
        let read = read_by_loops(ssa);
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            if matches!(stmt.rhs, Rhs::LoopResult(_, LoopResult::PerIteration(_) | LoopResult::Checkpoint(_)))
                && read.contains(&StmtId(k))
            {
                let extents = SizeEnv { locals, remaining: &mut self.remaining }.extents(&stmt.dims)?;
                let elements: u64 = extents.iter().map(|n| n.unsigned_abs()).product();
                total.stored_bytes =
                    total.stored_bytes.saturating_add(elements.saturating_mul(element_bytes(stmt.scalar)));
            }
        }
        let mut most = 0;
        for stmt in &ssa.stmts {
            let own = std::mem::take(&mut total.stored_bytes);
            self.statement(ssa, stmt.dims.as_slice(), stmt.scalar, &stmt.rhs, locals, &mut total)?;
            most = most.max(std::mem::replace(&mut total.stored_bytes, own));
        }
        total.stored_bytes = total.stored_bytes.saturating_add(most);
        let mut world = SizeEnv { locals, remaining: &mut self.remaining };
        let inputs = ssa.inputs.iter().map(|i| &i.leaf);
        for leaf in inputs.chain(ssa.outputs.iter().map(|(leaf, _)| leaf)).filter(|leaf| is_real(leaf.scalar)) {
            total.io = total.io.saturating_add(world.extents(&leaf.dims)?.iter().map(|n| n.unsigned_abs()).product());
        }
        Ok(total)
    }

    fn statement(
        &mut self,
        ssa: &SsaFunction,
        dims: &[Poly],
        scalar: Option<Scalar>,
        rhs: &Rhs,
        locals: &HashMap<LocalId, i64>,
        total: &mut CountedCost,
    ) -> Result<(), UnknownCost> {
        let mut world = SizeEnv { locals, remaining: &mut self.remaining };
        let real = u64::from(is_real(scalar));
        let free = world.extents(dims)?;
        match rhs {
            Rhs::Input(_) | Rhs::Constant(_) | Rhs::Zero | Rhs::CallResult(..) | Rhs::LoopResult(..) => {}
            Rhs::Index(_) => total.iterations += world.visit_tuples(free, dims.len(), &Pred::truth(), &mut |_| {})?.0,
            Rhs::Add(items) => {
                let mut present = TermMask::new(&free)?;
                let mut terms = 0;
                for item in items {
                    let (count, bound) =
                        world.visit_tuples(free.clone(), dims.len(), &item.pred, &mut |at| present.mark(at))?;
                    terms += count;
                    total.is_upper_bound |= bound;
                }
                total.iterations += terms;
                total.work += real * terms.saturating_sub(present.count);
            }
            Rhs::Contract { bound, pred, factors, .. } => {
                let mut present = TermMask::new(&free)?;
                let all: Vec<i64> = free.iter().copied().chain(world.extents(bound)?).collect();
                let (terms, most) = world.visit_tuples(all, dims.len(), pred, &mut |at| present.mark(at))?;
                total.is_upper_bound |= most;
                total.iterations += terms;
                let products = terms * u64::try_from(factors.len().saturating_sub(1)).unwrap_or(0);
                total.work += real * (products + terms.saturating_sub(present.count));
            }
            Rhs::Reduce(r) => {
                let mut present = TermMask::new(&free)?;
                let all: Vec<i64> = free.iter().copied().chain(world.extents(&r.bound)?).collect();
                let (terms, most) =
                    world.visit_tuples(all, dims.len(), &r.visited_domain(), &mut |at| present.mark(at))?;
                total.is_upper_bound |= most;
                total.iterations += terms;
                let of = ssa.stmts.get(r.operand.var.0 as usize).and_then(|s| s.scalar);
                total.work += u64::from(is_real(of)) * terms.saturating_sub(present.count);
            }
            Rhs::Argsort(o) => {
                let mut outer = free;
                let count = outer.pop().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
                let (rows, most) = world.visit_tuples(outer, dims.len().saturating_sub(1), &o.pred, &mut |_| {})?;
                let visited = rows.checked_mul(count).ok_or(UnknownCost::TooMany)?;
                *world.remaining = world.remaining.checked_sub(visited).ok_or(UnknownCost::TooMany)?;
                let of = ssa.stmts.get(o.keys.var.0 as usize).and_then(|s| s.scalar);
                let compared = rows.saturating_mul(u64::from(is_real(of)) * argsort::max_comparisons(count));
                total.is_upper_bound |= most || compared > rows.saturating_mul(u64::from(count == 2));
                total.iterations += visited;
                total.work += compared;
            }
            Rhs::Map { operation, pred, args } => {
                let (count, bound) = world.visit_tuples(free, dims.len(), pred, &mut |_| {})?;
                total.is_upper_bound |= bound;
                total.iterations += count;
                let of = args.first().and_then(|a| ssa.stmts.get(a.var.0 as usize)?.scalar).unwrap_or(Scalar::Bool);
                total.work += count * operation.work(of);
            }
            Rhs::Loop(of) => return self.loop_cost(of, locals, total),
            Rhs::Update { batch, bound, pred, accumulate: add, .. } => {
                let batch = *batch as usize;
                let inner = world.extents(bound)?;
                let mut all = free;
                all.iter_mut().skip(batch).for_each(|n| *n = 1);
                all.extend(inner);
                let (count, most) = world.visit_tuples(all, dims.len(), pred, &mut |_| {})?;
                total.is_upper_bound |= most;
                total.iterations += count;
                total.work += if *add { real * count } else { 0 };
            }
            Rhs::Call { callee, sizes, pred, args } => {
                let called = (self.functions)(callee).ok_or(UnknownCost::Callee)?;
                let mut places = Vec::new();
                let (_, bound) = world.visit_tuples(free, dims.len(), pred, &mut |at| places.push(at.to_vec()))?;
                total.is_upper_bound |= bound;
                for at in places {
                    let mut inner: HashMap<LocalId, i64> = HashMap::new();
                    let mut world = SizeEnv { locals, remaining: &mut self.remaining };
                    for (local, p) in called.sizes.iter().zip(sizes) {
                        inner.insert(*local, world.eval_poly_exact(p, &at)?);
                    }
                    let passed = called.inputs.iter().filter(|i| i.source.is_passed());
                    for (input, arg) in passed.zip(args) {
                        if input.leaf.scalar == Some(Scalar::I64)
                            && input.leaf.dims.is_empty()
                            && let Some(value) = integer_argument(ssa, arg, &at, &mut world)
                        {
                            inner.insert(input.local, value);
                        }
                    }
                    let mut key: Vec<(LocalId, i64)> = inner.iter().map(|(l, n)| (*l, *n)).collect();
                    key.sort_unstable();
                    let key = (Arc::clone(callee), key);
                    let cost = match self.callee_costs.get(&key) {
                        Some(cost) => *cost,
                        None => {
                            let cost = lang_base::ensure_sufficient_stack(|| self.function(&called, &inner))?;
                            self.callee_costs.insert(key, cost);
                            cost
                        }
                    };
                    total.work += cost.work;
                    total.iterations += cost.iterations;
                    total.stored_bytes = total.stored_bytes.max(cost.stored_bytes);
                    total.is_upper_bound |= cost.is_upper_bound;
                }
            }
        }
        Ok(())
    }

    /// Adds the cost of the iterations of a loop, for each tuple of its batch.
    fn loop_cost(
        &mut self,
        of: &SsaLoop,
        locals: &HashMap<LocalId, i64>,
        total: &mut CountedCost,
    ) -> Result<(), UnknownCost> {
        let Some(count) = of.fixed_trip_count() else { return Err(UnknownCost::Extent) };
        let mut world = SizeEnv { locals, remaining: &mut self.remaining };
        let (outer, mut places) = (world.extents(&of.batch)?, Vec::new());
        let (_, bound) = world.visit_tuples(outer, of.batch.len(), &of.pred, &mut |at| places.push(at.to_vec()))?;
        total.is_upper_bound |= bound;
        for at in places {
            let trips = SizeEnv { locals, remaining: &mut self.remaining }.eval_poly_exact(count, &at)?;
            for t in 0..trips {
                self.remaining = self.remaining.checked_sub(1).ok_or(UnknownCost::TooMany)?;
                let place: Vec<i64> = at.iter().copied().chain([t]).collect();
                let mut world = SizeEnv { locals, remaining: &mut self.remaining };
                let mut inner = HashMap::new();
                for (local, p) in of.body.sizes.iter().zip(&of.sizes) {
                    inner.insert(*local, world.eval_poly_exact(p, &place)?);
                }
                let mut key: Vec<(LocalId, i64)> = inner.iter().map(|(l, n)| (*l, *n)).collect();
                key.sort_unstable();
                let known = self.body_costs.iter().find(|(body, at, _)| Arc::ptr_eq(body, &of.body) && *at == key);
                let cost = match known {
                    Some((_, _, cost)) => *cost,
                    None => {
                        let cost = lang_base::ensure_sufficient_stack(|| self.function(&of.body, &inner))?;
                        self.body_costs.push((of.body.clone(), key, cost));
                        if self.body_costs.len() > MAX_BODY_COSTS {
                            self.body_costs.remove(0);
                        }
                        cost
                    }
                };
                total.work += cost.work;
                total.iterations += cost.iterations + 1;
                total.stored_bytes = total.stored_bytes.max(cost.stored_bytes);
                total.is_upper_bound |= cost.is_upper_bound;
            }
        }
        Ok(())
    }
}

/// Evaluates the scalar integer statements that sizes determine. The result is keyed by the local
/// of each statement's array.
fn eval_scalar_integers(ssa: &SsaFunction, locals: &HashMap<LocalId, i64>) -> HashMap<LocalId, i64> {
    let mut reals: HashMap<StmtId, f64> = HashMap::new();
    let mut known: HashMap<LocalId, i64> = HashMap::new();
    for (k, stmt) in (0..).zip(&ssa.stmts).filter(|(_, s)| s.dims.is_empty()) {
        let integer = |a: &TensorAccess| known.get(&a.var.local()).copied();
        let real = |a: &TensorAccess| reals.get(&a.var).copied();
        match &stmt.rhs {
            Rhs::Index(p) => {
                if let Ok(n) = (SizeEnv { locals, remaining: &mut 0 }).eval_poly_exact(p, &[]) {
                    known.insert(StmtId(k).local(), n);
                }
            }
            Rhs::Map { operation, pred, args } if pred.is_true() => {
                let [of] = args.as_slice() else { continue };
                #[expect(
                    clippy::cast_precision_loss,
                    clippy::cast_possible_truncation,
                    reason = "as the operation does"
                )]
                match (operation, integer(of), real(of)) {
                    (ScalarOp::Convert(Scalar::F64), Some(n), _) => drop(reals.insert(StmtId(k), n as f64)),
                    (ScalarOp::Convert(Scalar::I64), _, Some(x)) => drop(known.insert(StmtId(k).local(), x as i64)),
                    (ScalarOp::Scalar(ScalarFn::Sqrt), _, Some(x)) => drop(reals.insert(StmtId(k), x.sqrt())),
                    (ScalarOp::Scalar(ScalarFn::Ceil), _, Some(x)) => drop(reals.insert(StmtId(k), x.ceil())),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    known
}

/// Returns the statements that loops read as arguments.
pub fn read_by_loops(ssa: &SsaFunction) -> BTreeSet<StmtId> {
    let mut read = BTreeSet::new();
    for stmt in &ssa.stmts {
        if let Rhs::Loop(of) = &stmt.rhs {
            read.extend(of.args.iter().map(|a| a.access().var));
        }
    }
    read
}

/// Returns the size of an element in bytes.
pub fn element_bytes(scalar: Option<Scalar>) -> u64 {
    match scalar {
        Some(Scalar::F64 | Scalar::I64) => 8,
        Some(Scalar::F32) => 4,
        Some(Scalar::Bool) | None => 1,
    }
}

/// The maximal number of memoised costs of loop bodies.
const MAX_BODY_COSTS: usize = 32;

/// Returns the value of an integer argument, if sizes and indices determine it.
fn integer_argument(ssa: &SsaFunction, arg: &TensorAccess, at: &[i64], world: &mut SizeEnv<'_>) -> Option<i64> {
    let places: Vec<Poly> = at.iter().map(|i| Poly::constant((*i).into())).collect();
    let own: Vec<Poly> = arg.at.iter().map(|p| substitute_indices(p, &places)).collect();
    match &ssa.stmts.get(arg.var.0 as usize)?.rhs {
        Rhs::Index(p) => world.eval_poly_exact(&substitute_indices(p, &own), &[]).ok(),
        Rhs::Constant(super::core::Constant::Int(i)) => Some(*i),
        Rhs::Input(k) => world.locals.get(&ssa.inputs.get(*k as usize)?.local).copied(),
        Rhs::Contract { bound, pred, neg: false, factors } if bound.is_empty() && pred.is_true() => {
            match factors.as_slice() {
                [one] => {
                    let one =
                        TensorAccess { var: one.var, at: one.at.iter().map(|p| substitute_indices(p, &own)).collect() };
                    integer_argument(ssa, &one, &[], world)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether the solution `by` of an index depends on the index `on`, directly or through the
/// solutions of other indices.
fn solution_depends_on(by: &Poly, on: usize, known: &[Option<Poly>]) -> bool {
    let mut found = false;
    by.for_each_atom(&mut |a| {
        let Atom::Local(l, _) = a else { return };
        let Some(k) = index_number(*l) else { return };
        found = found
            || k == on
            || known.get(k).and_then(Option::as_ref).is_some_and(|q| solution_depends_on(q, on, known));
    });
    found
}

/// The elements of a tensor that have at least one term.
struct TermMask {
    extents: Vec<i64>,
    marked: Vec<bool>,
    count: u64,
}

impl TermMask {
    fn new(extents: &[i64]) -> Result<Self, UnknownCost> {
        let size = extents.iter().try_fold(1_usize, |n, d| n.checked_mul(usize::try_from(*d).ok()?));
        let size = size.filter(|n| *n <= 1 << 28).ok_or(UnknownCost::TooMany)?;
        Ok(Self { extents: extents.to_vec(), marked: vec![false; size], count: 0 })
    }

    fn mark(&mut self, at: &[i64]) {
        let offset = at.iter().zip(&self.extents).fold(0, |offset, (i, n)| offset * n + i);
        let slot = usize::try_from(offset).ok().and_then(|k| self.marked.get_mut(k));
        if let Some(slot @ false) = slot {
            *slot = true;
            self.count += 1;
        }
    }
}

impl SizeEnv<'_> {
    fn extents(&mut self, dims: &[Poly]) -> Result<Vec<i64>, UnknownCost> {
        dims.iter().map(|n| Ok(self.eval_poly_exact(n, &[])?.max(0))).collect()
    }

    /// Visits the tuples for which the predicate may hold, passing their free indices. Returns
    /// their number, and whether it is only an upper bound.
    fn visit_tuples(
        &mut self,
        mut extents: Vec<i64>,
        free: usize,
        pred: &Pred,
        f: &mut dyn FnMut(&[i64]),
    ) -> Result<(u64, bool), UnknownCost> {
        let (opaque, mut plain): (Vec<&Pred>, Vec<&Pred>) = pred.conjuncts().iter().partition(|p| p.depends_on_data());
        let mut known: Vec<Option<Poly>> = vec![None; extents.len()];
        for p in &opaque {
            // `[i == x[j]]` leaves one value of `i` for each `j`, unless `i` itself determines `j`.
            let solution = (0..extents.len()).rev().find_map(|k| {
                let by = p.solve_for(&statement_index(k, &Poly::default()).atom())?;
                (extents.get(k) != Some(&1) && !solution_depends_on(&by, k, &known)).then_some((k, by))
            });
            if let Some((k, by)) = solution {
                known.get_mut(k).into_iter().for_each(|slot| *slot = Some(by.clone()));
                extents.get_mut(k).into_iter().for_each(|n| *n = (*n).min(1));
                plain.retain(|p| !p.mentions(&statement_index(k, &Poly::default()).atom()));
            }
        }
        let plain = Pred::all(plain.into_iter().cloned());
        let nest = EvalNest::new(extents, free, &plain, self)?;
        let mut count = 0_u64;
        nest.visit(self, &mut |world, at| {
            count += 1;
            *world.remaining = world.remaining.checked_sub(1).ok_or(UnknownCost::TooMany)?;
            f(at.get(..free).unwrap_or_default());
            Ok(())
        })?;
        Ok((count, !opaque.is_empty()))
    }

    fn eval_atom(&mut self, a: &Atom, at: &[i64]) -> Result<i64, UnknownCost> {
        use lang_runtime::scalar::i64s;
        use lang_syntax::ops::BinOp;
        Ok(match a {
            Atom::Local(l, _) => match index_number(*l) {
                Some(k) => at.get(k).copied().ok_or(UnknownCost::Extent)?,
                None => self.locals.get(l).copied().ok_or(UnknownCost::Extent)?,
            },
            Atom::Read(x, _, at) if at.is_empty() => self.locals.get(x).copied().ok_or(UnknownCost::Extent)?,
            Atom::Div(p, q) | Atom::Mod(p, q) => {
                let op = if matches!(a, Atom::Div(..)) { BinOp::FloorDiv } else { BinOp::Mod };
                i64s::arith(op, self.eval_poly_exact(p, at)?, self.eval_poly_exact(q, at)?).unwrap_or(0)
            }
            Atom::Min(p, q) => self.eval_poly_exact(p, at)?.min(self.eval_poly_exact(q, at)?),
            Atom::Max(p, q) => self.eval_poly_exact(p, at)?.max(self.eval_poly_exact(q, at)?),
            _ => return Err(UnknownCost::Extent),
        })
    }

    fn eval_poly_exact(&mut self, p: &Poly, at: &[i64]) -> Result<i64, UnknownCost> {
        let mut sum = 0_i128;
        for (m, c) in p.terms() {
            let mut product = *c;
            for (a, k) in m {
                let value = i128::from(self.eval_atom(a, at)?);
                for _ in 0..*k {
                    product = product.saturating_mul(value);
                }
            }
            sum = sum.saturating_add(product);
        }
        i64::try_from(sum).map_err(|_| UnknownCost::TooMany)
    }

    fn eval_truth(&mut self, p: &Pred, at: &[i64]) -> Result<bool, UnknownCost> {
        Ok(match p {
            Pred::And(items) => {
                for p in &**items {
                    if !self.eval_truth(p, at)? {
                        return Ok(false);
                    }
                }
                true
            }
            Pred::Or(items) => {
                for p in &**items {
                    if self.eval_truth(p, at)? {
                        return Ok(true);
                    }
                }
                false
            }
            Pred::Ge(p) => self.eval_poly_exact(p, at)? >= 0,
            Pred::Eq(p) => self.eval_poly_exact(p, at)? == 0,
            Pred::Ne(p) => self.eval_poly_exact(p, at)? != 0,
            Pred::Exists(of, body, wanted) => {
                let mut found = false;
                for i in 0..self.eval_poly_exact(&of.extent, at)? {
                    let put = |p: &Poly| p.substitute(&|a| (*a == of.atom()).then(|| Poly::constant(i.into())));
                    *self.remaining = self.remaining.checked_sub(1).ok_or(UnknownCost::TooMany)?;
                    if self.eval_truth(&body.map(&put), at)? {
                        found = true;
                        break;
                    }
                }
                found == *wanted
            }
            // Data are unknown here; a predicate on them counts as true.
            Pred::Element(..) | Pred::Member(..) => true,
        })
    }
}

impl NestEnv for SizeEnv<'_> {
    type Interruption = UnknownCost;

    fn eval_poly(&mut self, p: &Poly, at: &[i64]) -> Result<Option<i64>, UnknownCost> {
        self.eval_poly_exact(p, at).map(Some)
    }

    fn eval_comparand(&mut self, p: &Poly, at: &[i64]) -> Result<Option<i128>, UnknownCost> {
        self.eval_poly_exact(p, at).map(|value| Some(value.into()))
    }

    fn eval_pred(&mut self, p: &Pred, at: &[i64]) -> Result<Option<bool>, UnknownCost> {
        self.eval_truth(p, at).map(Some)
    }
}

/// Returns whether a scalar type is real: `f64` or `f32`.
pub fn is_real(scalar: Option<Scalar>) -> bool {
    matches!(scalar, Some(Scalar::F64 | Scalar::F32))
}
