//! The **cost** `$` of Tensor SSA (ATL Figs. 6 and 17), at concrete sizes and without data: counts
//! the index tuples that satisfy the predicates. A predicate on data counts as true, and an index
//! that data determine counts as one value. The cost is then an upper bound.
//!
//! A sum of `k` terms costs `k − 1` additions and its products. A scalar function costs
//! [`Operation::work`], a call costs as much as its callee, and a view costs nothing. A sort costs
//! its maximal number of comparisons. An update visits the elements that it writes. Copies of the
//! rest, needed if the array is also read elsewhere, are not counted.
//!
//! [`Operation::work`]: super::core::Operation::work

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::core::{Callee, Operation};
use super::nest::{Nest, World};
use super::order;
use super::region::{Loop, Part};
use super::ssa::{Access, Rhs, Ssa, Var, at_indices, index, index_number};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The cost of a function.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cost {
    /// Real operations.
    pub work: u64,
    /// Visited index tuples.
    pub iterations: u64,
    /// Real elements of the inputs and outputs.
    pub io: u64,
    /// Bytes that loops keep for other loops to read: outputs of every iteration, and checkpointed
    /// states. A reverse derivative keeps them. Only the body that keeps most counts, because the
    /// memory of a body is freed when it ends.
    pub kept: u64,
    /// Whether the cost is only an upper bound, because it depends on data.
    pub bound: bool,
}

/// The reasons why a cost is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// An extent that depends on data.
    Extent,
    /// More tuples than the limit.
    TooMany,
    /// A callee without Tensor SSA.
    Callee,
}

/// Looks up the function of a callee.
pub type Functions<'a> = &'a dyn Fn(&Arc<Callee>) -> Option<Arc<Ssa>>;

/// Computes the cost of a function at these values of its sizes and integer parameters. `limit` is
/// the maximal number of tuples to count.
///
/// # Errors
/// [`Unknown`], if the cost depends on data or exceeds the limit.
pub fn cost(ssa: &Ssa, locals: &HashMap<LocalId, i64>, functions: Functions<'_>, limit: u64) -> Result<Cost, Unknown> {
    let mut counting = Counting { functions, left: limit, known: HashMap::new(), bodies: Vec::new() };
    counting.function(ssa, locals)
}

/// Evaluates extents at these values of sizes. An extent may come out negative.
///
/// # Errors
/// [`Unknown`]
pub fn extents(dims: &[Poly], locals: &HashMap<LocalId, i64>) -> Result<Vec<i64>, Unknown> {
    let mut sizes = Sizes { locals, left: &mut 0 };
    dims.iter().map(|n| sizes.value(n, &[])).collect()
}

struct Counting<'a> {
    functions: Functions<'a>,
    left: u64,
    known: HashMap<At, Cost>,
    /// The cost of recently counted loop bodies, by body and sizes.
    bodies: Vec<(Arc<Ssa>, Valued, Cost)>,
}

/// The values of sizes, sorted by variable.
type Valued = Vec<(LocalId, i64)>;

/// A callee at concrete sizes.
type At = (Arc<Callee>, Valued);

/// An environment with the values of sizes, and no other data.
struct Sizes<'a> {
    locals: &'a HashMap<LocalId, i64>,
    left: &'a mut u64,
}

impl Counting<'_> {
    fn function(&mut self, ssa: &Ssa, locals: &HashMap<LocalId, i64>) -> Result<Cost, Unknown> {
        let mut total = Cost::default();
        let scalars = scalars(ssa, locals);
        let locals =
            if scalars.is_empty() { locals } else { &locals.iter().map(|(l, n)| (*l, *n)).chain(scalars).collect() };
        let read = read_by_loops(ssa);
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            if matches!(stmt.rhs, Rhs::Loop(_, Part::Every(_) | Part::State(_))) && read.contains(&Var(k)) {
                let extents = Sizes { locals, left: &mut self.left }.extents(&stmt.dims)?;
                let elements: u64 = extents.iter().map(|n| n.unsigned_abs()).product();
                total.kept = total.kept.saturating_add(elements.saturating_mul(bytes(stmt.scalar)));
            }
        }
        let mut most = 0;
        // Statements that read parts of one call share that call.
        let mut calls: Vec<&Rhs> = Vec::new();
        for stmt in &ssa.stmts {
            if let call @ (Rhs::Call { .. } | Rhs::Loop(..)) = &stmt.rhs {
                if calls.iter().any(|c| same_call(c, call)) {
                    continue;
                }
                calls.push(call);
            }
            let own = std::mem::take(&mut total.kept);
            self.statement(ssa, stmt.dims.as_slice(), stmt.scalar, &stmt.rhs, locals, &mut total)?;
            most = most.max(std::mem::replace(&mut total.kept, own));
        }
        total.kept = total.kept.saturating_add(most);
        let mut world = Sizes { locals, left: &mut self.left };
        let inputs = ssa.inputs.iter().map(|i| &i.leaf);
        for leaf in inputs.chain(ssa.outputs.iter().map(|(leaf, _)| leaf)).filter(|leaf| is_real(leaf.scalar)) {
            total.io = total.io.saturating_add(world.extents(&leaf.dims)?.iter().map(|n| n.unsigned_abs()).product());
        }
        Ok(total)
    }

    fn statement(
        &mut self,
        ssa: &Ssa,
        dims: &[Poly],
        scalar: Option<Scalar>,
        rhs: &Rhs,
        locals: &HashMap<LocalId, i64>,
        total: &mut Cost,
    ) -> Result<(), Unknown> {
        let mut world = Sizes { locals, left: &mut self.left };
        let real = u64::from(is_real(scalar));
        let free = world.extents(dims)?;
        match rhs {
            Rhs::Input(_) | Rhs::Constant(_) | Rhs::Zero => {}
            Rhs::Index(_) => total.iterations += world.tuples(free, dims.len(), &Pred::truth(), &mut |_| {})?.0,
            Rhs::Add(items) => {
                let mut present = Elements::new(&free)?;
                let mut terms = 0;
                for item in items {
                    let (count, bound) =
                        world.tuples(free.clone(), dims.len(), &item.pred, &mut |at| present.mark(at))?;
                    terms += count;
                    total.bound |= bound;
                }
                total.iterations += terms;
                total.work += real * terms.saturating_sub(present.count);
            }
            Rhs::Contract { bound, pred, factors, .. } => {
                let mut present = Elements::new(&free)?;
                let all: Vec<i64> = free.iter().copied().chain(world.extents(bound)?).collect();
                let (terms, most) = world.tuples(all, dims.len(), pred, &mut |at| present.mark(at))?;
                total.bound |= most;
                total.iterations += terms;
                let products = terms * u64::try_from(factors.len().saturating_sub(1)).unwrap_or(0);
                total.work += real * (products + terms.saturating_sub(present.count));
            }
            Rhs::Reduce(r) => {
                let mut present = Elements::new(&free)?;
                let all: Vec<i64> = free.iter().copied().chain(world.extents(&r.bound)?).collect();
                let (terms, most) = world.tuples(all, dims.len(), &r.visited(), &mut |at| present.mark(at))?;
                total.bound |= most;
                total.iterations += terms;
                let of = ssa.stmts.get(r.of.var.0 as usize).and_then(|s| s.scalar);
                total.work += u64::from(is_real(of)) * terms.saturating_sub(present.count);
            }
            Rhs::Order(o) => {
                let mut outer = free;
                let count = outer.pop().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
                let (rows, most) = world.tuples(outer, dims.len().saturating_sub(1), &o.pred, &mut |_| {})?;
                let visited = rows.checked_mul(count).ok_or(Unknown::TooMany)?;
                *world.left = world.left.checked_sub(visited).ok_or(Unknown::TooMany)?;
                let of = ssa.stmts.get(o.of.var.0 as usize).and_then(|s| s.scalar);
                let compared = rows.saturating_mul(u64::from(is_real(of)) * order::most(count));
                total.bound |= most || compared > rows.saturating_mul(u64::from(count == 2));
                total.iterations += visited;
                total.work += compared;
            }
            Rhs::Map { operation, pred, args } => {
                let (count, bound) = world.tuples(free, dims.len(), pred, &mut |_| {})?;
                total.bound |= bound;
                total.iterations += count;
                let of = args.first().and_then(|a| ssa.stmts.get(a.var.0 as usize)?.scalar).unwrap_or(Scalar::Bool);
                total.work += count * operation.work(of);
            }
            Rhs::Loop(of, _) => return self.repeated(of, locals, total),
            Rhs::Update { batch, bound, pred, add, .. } => {
                let batch = *batch as usize;
                let inner = world.extents(bound)?;
                let mut all = free;
                all.iter_mut().skip(batch).for_each(|n| *n = 1);
                all.extend(inner);
                let (count, most) = world.tuples(all, dims.len(), pred, &mut |_| {})?;
                total.bound |= most;
                total.iterations += count;
                total.work += if *add { real * count } else { 0 };
            }
            Rhs::Call { callee, sizes, pred, args, batch, .. } => {
                let called = (self.functions)(callee).ok_or(Unknown::Callee)?;
                let batch = *batch as usize;
                let mut places = Vec::new();
                let outer = free.get(..batch).unwrap_or_default().to_vec();
                let (_, bound) = world.tuples(outer, batch, pred, &mut |at| places.push(at.to_vec()))?;
                total.bound |= bound;
                for at in places {
                    let mut inner: HashMap<LocalId, i64> = HashMap::new();
                    let mut world = Sizes { locals, left: &mut self.left };
                    for (local, p) in called.sizes.iter().zip(sizes) {
                        inner.insert(*local, world.value(p, &at)?);
                    }
                    let passed = called.inputs.iter().filter(|i| i.source.is_passed());
                    for (input, arg) in passed.zip(args) {
                        if input.leaf.scalar == Some(Scalar::I64)
                            && input.leaf.dims.is_empty()
                            && let Some(value) = integer(ssa, arg, &at, &mut world)
                        {
                            inner.insert(input.local, value);
                        }
                    }
                    let mut key: Vec<(LocalId, i64)> = inner.iter().map(|(l, n)| (*l, *n)).collect();
                    key.sort_unstable();
                    let key = (Arc::clone(callee), key);
                    let cost = match self.known.get(&key) {
                        Some(cost) => *cost,
                        None => {
                            let cost = lang_base::guarded(|| self.function(&called, &inner))?;
                            self.known.insert(key, cost);
                            cost
                        }
                    };
                    total.work += cost.work;
                    total.iterations += cost.iterations;
                    total.kept = total.kept.max(cost.kept);
                    total.bound |= cost.bound;
                }
            }
        }
        Ok(())
    }

    /// Adds the cost of the iterations of a loop, for each tuple of its batch.
    fn repeated(&mut self, of: &Loop, locals: &HashMap<LocalId, i64>, total: &mut Cost) -> Result<(), Unknown> {
        let Some(count) = of.count() else { return Err(Unknown::Extent) };
        let mut world = Sizes { locals, left: &mut self.left };
        let (outer, mut places) = (world.extents(&of.batch)?, Vec::new());
        let (_, bound) = world.tuples(outer, of.batch.len(), &of.pred, &mut |at| places.push(at.to_vec()))?;
        total.bound |= bound;
        for at in places {
            let trips = Sizes { locals, left: &mut self.left }.value(count, &at)?;
            for t in 0..trips {
                self.left = self.left.checked_sub(1).ok_or(Unknown::TooMany)?;
                let place: Vec<i64> = at.iter().copied().chain([t]).collect();
                let mut world = Sizes { locals, left: &mut self.left };
                let mut inner = HashMap::new();
                for (local, p) in of.body.sizes.iter().zip(&of.sizes) {
                    inner.insert(*local, world.value(p, &place)?);
                }
                let mut key: Vec<(LocalId, i64)> = inner.iter().map(|(l, n)| (*l, *n)).collect();
                key.sort_unstable();
                let known = self.bodies.iter().find(|(body, at, _)| Arc::ptr_eq(body, &of.body) && *at == key);
                let cost = match known {
                    Some((_, _, cost)) => *cost,
                    None => {
                        let cost = lang_base::guarded(|| self.function(&of.body, &inner))?;
                        self.bodies.push((of.body.clone(), key, cost));
                        if self.bodies.len() > MOST_BODIES {
                            self.bodies.remove(0);
                        }
                        cost
                    }
                };
                total.work += cost.work;
                total.iterations += cost.iterations + 1;
                total.kept = total.kept.max(cost.kept);
                total.bound |= cost.bound;
            }
        }
        Ok(())
    }
}

/// Evaluates the scalar integer statements that sizes determine. The result is keyed by the local
/// of each statement's array.
fn scalars(ssa: &Ssa, locals: &HashMap<LocalId, i64>) -> HashMap<LocalId, i64> {
    let mut reals: HashMap<Var, f64> = HashMap::new();
    let mut known: HashMap<LocalId, i64> = HashMap::new();
    for (k, stmt) in (0..).zip(&ssa.stmts).filter(|(_, s)| s.dims.is_empty()) {
        let integer = |a: &Access| known.get(&a.var.local()).copied();
        let real = |a: &Access| reals.get(&a.var).copied();
        match &stmt.rhs {
            Rhs::Index(p) => {
                if let Ok(n) = (Sizes { locals, left: &mut 0 }).value(p, &[]) {
                    known.insert(Var(k).local(), n);
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
                    (Operation::Convert(Scalar::F64), Some(n), _) => drop(reals.insert(Var(k), n as f64)),
                    (Operation::Convert(Scalar::I64), _, Some(x)) => drop(known.insert(Var(k).local(), x as i64)),
                    (Operation::Scalar(ScalarFn::Sqrt), _, Some(x)) => drop(reals.insert(Var(k), x.sqrt())),
                    (Operation::Scalar(ScalarFn::Ceil), _, Some(x)) => drop(reals.insert(Var(k), x.ceil())),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    known
}

/// Returns the statements that loops read as arguments.
pub fn read_by_loops(ssa: &Ssa) -> BTreeSet<Var> {
    let mut read = BTreeSet::new();
    for stmt in &ssa.stmts {
        if let Rhs::Loop(of, _) = &stmt.rhs {
            read.extend(of.args.iter().map(|a| a.access().var));
        }
    }
    read
}

/// Returns the size of an element in bytes.
pub fn bytes(scalar: Option<Scalar>) -> u64 {
    match scalar {
        Some(Scalar::F64 | Scalar::I64) => 8,
        Some(Scalar::F32) => 4,
        Some(Scalar::Bool) | None => 1,
    }
}

/// The maximal number of memoised costs of loop bodies.
const MOST_BODIES: usize = 32;

/// Whether both read parts of the same call or loop.
pub fn same_call(a: &Rhs, b: &Rhs) -> bool {
    match (a, b) {
        (Rhs::Loop(a, _), Rhs::Loop(b, _)) => Arc::ptr_eq(a, b) || a == b,
        (
            Rhs::Call { callee: f, sizes: m, pred: p, args: x, batch: i, .. },
            Rhs::Call { callee: g, sizes: n, pred: q, args: y, batch: j, .. },
        ) => (f, m, p, x, i) == (g, n, q, y, j),
        _ => false,
    }
}

/// Returns the value of an integer argument, if sizes and indices determine it.
fn integer(ssa: &Ssa, arg: &Access, at: &[i64], world: &mut Sizes<'_>) -> Option<i64> {
    let places: Vec<Poly> = at.iter().map(|i| Poly::constant((*i).into())).collect();
    let own: Vec<Poly> = arg.at.iter().map(|p| at_indices(p, &places)).collect();
    match &ssa.stmts.get(arg.var.0 as usize)?.rhs {
        Rhs::Index(p) => world.value(&at_indices(p, &own), &[]).ok(),
        Rhs::Constant(super::core::Constant::Int(i)) => Some(*i),
        Rhs::Input(k) => world.locals.get(&ssa.inputs.get(*k as usize)?.local).copied(),
        Rhs::Contract { bound, pred, neg: false, factors } if bound.is_empty() && pred.is_true() => {
            match factors.as_slice() {
                [one] => {
                    let one = Access { var: one.var, at: one.at.iter().map(|p| at_indices(p, &own)).collect() };
                    integer(ssa, &one, &[], world)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether the solution `by` of an index depends on the index `on`, directly or through the
/// solutions of other indices.
fn depends(by: &Poly, on: usize, known: &[Option<Poly>]) -> bool {
    let mut found = false;
    by.for_each_atom(&mut |a| {
        let Atom::Local(l, _) = a else { return };
        let Some(k) = index_number(*l) else { return };
        found = found || k == on || known.get(k).and_then(Option::as_ref).is_some_and(|q| depends(q, on, known));
    });
    found
}

/// The elements of a tensor that have at least one term.
struct Elements {
    extents: Vec<i64>,
    marked: Vec<bool>,
    count: u64,
}

impl Elements {
    fn new(extents: &[i64]) -> Result<Self, Unknown> {
        let size = extents.iter().try_fold(1_usize, |n, d| n.checked_mul(usize::try_from(*d).ok()?));
        let size = size.filter(|n| *n <= 1 << 28).ok_or(Unknown::TooMany)?;
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

impl Sizes<'_> {
    fn extents(&mut self, dims: &[Poly]) -> Result<Vec<i64>, Unknown> {
        dims.iter().map(|n| Ok(self.value(n, &[])?.max(0))).collect()
    }

    /// Visits the tuples for which the predicate may hold, passing their free indices. Returns
    /// their number, and whether it is only an upper bound.
    fn tuples(
        &mut self,
        mut extents: Vec<i64>,
        free: usize,
        pred: &Pred,
        f: &mut dyn FnMut(&[i64]),
    ) -> Result<(u64, bool), Unknown> {
        let (opaque, mut plain): (Vec<&Pred>, Vec<&Pred>) = pred.conjuncts().iter().partition(|p| p.is_opaque());
        let mut known: Vec<Option<Poly>> = vec![None; extents.len()];
        for p in &opaque {
            // `[i == x[j]]` leaves one value of `i` for each `j`, unless `i` itself determines `j`.
            let told = (0..extents.len()).rev().find_map(|k| {
                let by = p.solution(&index(k, &Poly::default()).atom())?;
                (extents.get(k) != Some(&1) && !depends(&by, k, &known)).then_some((k, by))
            });
            if let Some((k, by)) = told {
                known.get_mut(k).into_iter().for_each(|slot| *slot = Some(by.clone()));
                extents.get_mut(k).into_iter().for_each(|n| *n = (*n).min(1));
                plain.retain(|p| !p.mentions(&index(k, &Poly::default()).atom()));
            }
        }
        let plain = Pred::all(plain.into_iter().cloned());
        let nest = Nest::new(extents, free, &plain, self)?;
        let mut count = 0_u64;
        nest.visit(self, &mut |world, at| {
            count += 1;
            *world.left = world.left.checked_sub(1).ok_or(Unknown::TooMany)?;
            f(at.get(..free).unwrap_or_default());
            Ok(())
        })?;
        Ok((count, !opaque.is_empty()))
    }

    fn atom(&mut self, a: &Atom, at: &[i64]) -> Result<i64, Unknown> {
        use lang_runtime::scalar::i64s;
        use lang_syntax::ops::BinOp;
        Ok(match a {
            Atom::Local(l, _) => match index_number(*l) {
                Some(k) => at.get(k).copied().ok_or(Unknown::Extent)?,
                None => self.locals.get(l).copied().ok_or(Unknown::Extent)?,
            },
            Atom::Read(x, _, at) if at.is_empty() => self.locals.get(x).copied().ok_or(Unknown::Extent)?,
            Atom::Div(p, q) | Atom::Mod(p, q) => {
                let op = if matches!(a, Atom::Div(..)) { BinOp::FloorDiv } else { BinOp::Mod };
                i64s::arith(op, self.value(p, at)?, self.value(q, at)?).unwrap_or(0)
            }
            Atom::Min(p, q) => self.value(p, at)?.min(self.value(q, at)?),
            Atom::Max(p, q) => self.value(p, at)?.max(self.value(q, at)?),
            _ => return Err(Unknown::Extent),
        })
    }

    fn value(&mut self, p: &Poly, at: &[i64]) -> Result<i64, Unknown> {
        let mut sum = 0_i128;
        for (m, c) in p.terms() {
            let mut product = *c;
            for (a, k) in m {
                let value = i128::from(self.atom(a, at)?);
                for _ in 0..*k {
                    product = product.saturating_mul(value);
                }
            }
            sum = sum.saturating_add(product);
        }
        i64::try_from(sum).map_err(|_| Unknown::TooMany)
    }

    fn truth(&mut self, p: &Pred, at: &[i64]) -> Result<bool, Unknown> {
        Ok(match p {
            Pred::And(items) => {
                for p in &**items {
                    if !self.truth(p, at)? {
                        return Ok(false);
                    }
                }
                true
            }
            Pred::Or(items) => {
                for p in &**items {
                    if self.truth(p, at)? {
                        return Ok(true);
                    }
                }
                false
            }
            Pred::Ge(p) => self.value(p, at)? >= 0,
            Pred::Eq(p) => self.value(p, at)? == 0,
            Pred::Ne(p) => self.value(p, at)? != 0,
            Pred::Any(of, body, wanted) => {
                let mut found = false;
                for i in 0..self.value(&of.extent, at)? {
                    let put = |p: &Poly| p.substitute(&|a| (*a == of.atom()).then(|| Poly::constant(i.into())));
                    *self.left = self.left.checked_sub(1).ok_or(Unknown::TooMany)?;
                    if self.truth(&body.map(&put), at)? {
                        found = true;
                        break;
                    }
                }
                found == *wanted
            }
            // Data are unknown here; a predicate on them counts as true.
            Pred::Is(..) | Pred::Member(..) => true,
        })
    }
}

impl World for Sizes<'_> {
    type Stop = Unknown;

    fn poly(&mut self, p: &Poly, at: &[i64]) -> Result<Option<i64>, Unknown> {
        self.value(p, at).map(Some)
    }

    fn compared(&mut self, p: &Poly, at: &[i64]) -> Result<Option<i128>, Unknown> {
        self.value(p, at).map(|value| Some(value.into()))
    }

    fn holds(&mut self, p: &Pred, at: &[i64]) -> Result<Option<bool>, Unknown> {
        self.truth(p, at).map(Some)
    }
}

/// Returns whether a scalar type is real: `f64` or `f32`.
pub fn is_real(scalar: Option<Scalar>) -> bool {
    matches!(scalar, Some(Scalar::F64 | Scalar::F32))
}
