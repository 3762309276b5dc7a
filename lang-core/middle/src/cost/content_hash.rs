//! **Content hashing** of data-dependent numbers. The content of a value is a 128-bit hash of how
//! it is computed from the inputs of the function. So a function and its derivative name equal
//! numbers equally.
//!
//! Inputs are named by their parameter and path, and statements by their operation on contents. The
//! order of terms in a polynomial and of conjuncts in a predicate does not matter. A carried value
//! is named by its initial value and by the change in an iteration ([`CarryDependences`]). For
//! mutually dependent values the change is followed often enough to distinguish any two.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, hash_map::DefaultHasher};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::nest::NestForm;
use lang_base::check_cancelled;
use lang_ir::flat::FunctionInput;
use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{Rhs, SsaFunction, Statement, StmtId, TensorAccess, index_number};
use lang_sizes::predicate::poly::Monomial;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// The largest number of statements named for one cost.
const MAX_STATEMENTS: u32 = 20_000;

/// The largest number of inputs and sizes named for one function.
const MAX_NAMED_INPUTS: usize = 128;

/// The largest number of mutually dependent carried values.
const MAX_CARRY_GROUP: usize = 8;

/// The largest number of index orders tried for a nest.
const MAX_INDEX_ORDERS: usize = 24;

/// Up to this number of orders, all are tried. Beyond it the indices are first distinguished by
/// content.
const EXHAUSTIVE_INDEX_ORDERS: usize = 4;

/// The content of a value, and the inputs and sizes of the function that it depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContentHash {
    hash: u128,
    /// One bit for each input, then one for each size.
    dependences: u128,
}

/// The arguments of a callee: the name of each of its inputs and sizes, with its content.
pub(super) struct CalleeArgs(Vec<(u128, Option<ContentHash>)>);

/// The contents of the statements of a function or a loop body.
pub(super) struct ContentHasher<'s> {
    ssa: &'s SsaFunction,
    /// For a loop body: the contents around the loop, and the loop.
    enclosing_loop: Option<(&'s ContentHasher<'s>, &'s SsaLoop)>,
    cache: Rc<ContentCache>,
    shared: &'s HasherState,
}

/// Memoised contents of a function or a body.
#[derive(Default)]
struct ContentCache {
    /// The contents of inputs and sizes, as far as they were queried.
    inputs: RefCell<HashMap<usize, Option<ContentHash>>>,
    sizes: OnceCell<HashMap<LocalId, Option<ContentHash>>>,
    statements: RefCell<HashMap<StmtId, Option<ContentHash>>>,
    bodies: RefCell<HashMap<*const SsaLoop, Rc<ContentCache>>>,
    /// For a body in which some inputs have preliminary contents: the final contents of the others,
    /// the dependences, and these inputs.
    preliminary: Option<(Rc<ContentCache>, Rc<CarryDependences>, BTreeSet<usize>)>,
}

/// The state shared by the contents of a function and all its bodies.
#[derive(Default)]
pub(super) struct HasherState {
    statement_count: Cell<u32>,
    carry_dependences: RefCell<HashMap<*const SsaLoop, Rc<CarryDependences>>>,
}

/// A hash under construction.
#[derive(Clone)]
struct HashBuilder {
    halves: [DefaultHasher; 2],
    dependences: u128,
}

impl HashBuilder {
    fn new(tag: &str) -> Self {
        let half = |k: u8| {
            let mut half = DefaultHasher::new();
            (k, tag).hash(&mut half);
            half
        };
        Self { halves: [half(0), half(1)], dependences: 0 }
    }

    fn write(&mut self, part: &impl Hash) {
        self.halves.iter_mut().for_each(|half| part.hash(half));
    }

    fn chain(mut self, part: &impl Hash) -> Self {
        self.write(part);
        self
    }

    fn write_content(&mut self, content: ContentHash) {
        self.write(&content.hash);
        self.dependences |= content.dependences;
    }

    /// Adds contents regardless of their order.
    fn write_unordered(&mut self, mut contents: Vec<ContentHash>) {
        contents.sort_unstable();
        self.write(&contents.len());
        contents.into_iter().for_each(|c| self.write_content(c));
    }

    fn finish(self) -> ContentHash {
        let [high, low] = self.halves.map(|half| u128::from(half.finish()));
        ContentHash { hash: high << 64 | low, dependences: self.dependences }
    }
}

/// Combines contents in order; `None` if one is missing.
fn combine_in_order(tag: &str, contents: impl IntoIterator<Item = Option<ContentHash>>) -> Option<ContentHash> {
    let mut mix = HashBuilder::new(tag);
    for content in contents {
        mix.write_content(content?);
    }
    Some(mix.finish())
}

/// Returns the name of an input. The derivative of an adjoint has several cotangents of one output,
/// so the name counts the equal ones before it.
fn input_name(inputs: &[FunctionInput], k: usize) -> Option<u128> {
    let of = inputs.get(k)?;
    let is_same = |other: &&FunctionInput| other.source == of.source && other.leaf.path == of.leaf.path;
    let before = inputs.get(..k)?.iter().filter(is_same).count();
    Some(HashBuilder::new("input").chain(&of.source).chain(&of.leaf.path).chain(&before).finish().hash)
}

/// Returns the name of a size by position.
fn size_name(k: usize) -> u128 {
    HashBuilder::new("size").chain(&k).finish().hash
}

impl ContentHash {
    /// Returns the hash, which is equal for equal contents in a function and its derivatives.
    #[must_use]
    pub fn hash_value(&self) -> u128 {
        self.hash
    }

    /// Returns the content of an input or size, or `None` if its position is too large.
    fn of_input(number: u128, place: usize) -> Option<Self> {
        (place < MAX_NAMED_INPUTS).then(|| Self { hash: number, dependences: 1 << place })
    }

    /// Returns the content at a call, where the callee receives these arguments.
    pub(super) fn at_call(self, CalleeArgs(arguments): &CalleeArgs) -> Option<Self> {
        let mut parts = Vec::new();
        let mut of = self.dependences;
        while of != 0 {
            let (name, content) = arguments.get(of.trailing_zeros() as usize)?;
            parts.push((*name, (*content)?));
            of &= of - 1;
        }
        // Sorted by name, because positions differ between functions.
        parts.sort_unstable();
        let mut mix = HashBuilder::new("given").chain(&self.hash);
        for (name, content) in parts {
            mix.write(&name);
            mix.write_content(content);
        }
        Some(mix.finish())
    }

    /// Returns the content of a total over all repetitions.
    pub(super) fn over_repetitions(self, times: Self) -> Self {
        let mut mix = HashBuilder::new("times");
        mix.write_content(self);
        mix.write_content(times);
        mix.finish()
    }

    /// Returns the content of one of several numbers about this value.
    pub(super) fn aspect(self, what: &str) -> Self {
        let mut mix = HashBuilder::new(what);
        mix.write_content(self);
        mix.finish()
    }
}

impl<'s> ContentHasher<'s> {
    /// Returns the contents of a function.
    pub(super) fn new(ssa: &'s SsaFunction, shared: &'s HasherState) -> Self {
        Self { ssa, enclosing_loop: None, cache: Rc::default(), shared }
    }

    fn input_content(&self, k: usize) -> Option<ContentHash> {
        if let Some(known) = self.cache.inputs.borrow().get(&k) {
            return *known;
        }
        let content = match (self.enclosing_loop, &self.cache.preliminary) {
            (None, _) => ContentHash::of_input(input_name(&self.ssa.inputs, k)?, k),
            (Some((outer, of)), Some((rest, ..))) => outer.body_hasher_with(of, Rc::clone(rest)).input_content(k),
            (Some((outer, of)), None) => match of.args.get(k)? {
                LoopArg::Captured(a) => outer.initial_content(a),
                LoopArg::Carried { .. } => {
                    self.hash_carries(outer, of, k);
                    *self.cache.inputs.borrow().get(&k)?
                }
            },
        };
        self.cache.inputs.borrow_mut().insert(k, content);
        content
    }

    fn size_content(&self, local: LocalId) -> Option<Option<ContentHash>> {
        let first = self.ssa.inputs.len();
        let named = |(k, l): (usize, &LocalId)| (*l, ContentHash::of_input(size_name(k), first + k));
        let own = || self.ssa.sizes.iter().enumerate().map(named).collect();
        let of = || self.enclosing_loop.map_or_else(own, |(outer, of)| outer.body_sizes(of));
        self.cache.sizes.get_or_init(of).get(&local).copied()
    }

    /// Returns the contents of the body of a loop in this function.
    pub(super) fn body_hasher<'b>(&'b self, of: &'b SsaLoop) -> ContentHasher<'b> {
        let found = Rc::clone(self.cache.bodies.borrow_mut().entry(of).or_default());
        self.body_hasher_with(of, found)
    }

    fn body_hasher_with<'b>(&'b self, of: &'b SsaLoop, found: Rc<ContentCache>) -> ContentHasher<'b> {
        ContentHasher { ssa: &of.body, enclosing_loop: Some((self, of)), cache: found, shared: self.shared }
    }

    /// Returns the content of a value.
    pub(super) fn statement_content(&self, var: StmtId) -> Option<ContentHash> {
        // Operands come first.
        let mut open = vec![(var, false)];
        while let Some((v, ready)) = open.pop() {
            if self.cache.statements.borrow().contains_key(&v) {
                continue;
            }
            if let (Some((rest, needs, group)), Some((outer, of))) = (&self.cache.preliminary, self.enclosing_loop)
                && !needs.depends_on(v, group)
            {
                let content = outer.body_hasher_with(of, Rc::clone(rest)).statement_content(v);
                self.cache.statements.borrow_mut().insert(v, content);
                continue;
            }
            let stmt = self.ssa.stmts.get(v.0 as usize)?;
            if ready {
                check_cancelled();
                let named = self.shared.statement_count.get();
                self.shared.statement_count.set(named.saturating_add(1));
                let content = if named < MAX_STATEMENTS { self.hash_statement(stmt) } else { None };
                self.cache.statements.borrow_mut().insert(v, content);
                continue;
            }
            open.push((v, true));
            stmt.rhs.for_each_operand(&mut |x| {
                if x.0 < v.0 {
                    open.push((x, false));
                }
            });
        }
        self.cache.statements.borrow().get(&var).copied().flatten()
    }

    /// Returns the content of a nest: of its set of index tuples. If `distinguishes_free`, its
    /// free indices differ from the others.
    pub(super) fn nest_content(&self, (dims, free, pred): &NestForm, distinguishes_free: bool) -> Option<ContentHash> {
        let split = HashBuilder::new("split").chain(&distinguishes_free.then_some(*free)).finish();
        let named = |places: &[usize]| {
            let names = IndexNames { positions: places, bound: &[] };
            let mut extents: Vec<(usize, Option<ContentHash>)> =
                places.iter().copied().zip(dims.iter().map(|n| self.poly(n, names))).collect();
            extents.sort_unstable();
            let extents = combine_in_order("extents", extents.into_iter().map(|(_, n)| n));
            combine_in_order("nest", [Some(split), extents, self.pred(pred, names)])
        };
        let first = if distinguishes_free { *free } else { dims.len() };
        candidate_orders(first, dims.len(), &named)?.iter().map(|places| named(places)).min().flatten()
    }

    /// Returns the content of a loop's repetition: its batch, its predicate and its trip count.
    pub(super) fn repetition_content(&self, of: &SsaLoop) -> Option<ContentHash> {
        let here = IndexNames::default();
        let batch = combine_in_order("batch", of.batch.iter().map(|n| self.poly(n, here)))?;
        let trips = match &of.trip_count {
            LoopTripCount::Fixed(n) => combine_in_order("count", [self.poly(n, here)]),
            LoopTripCount::While(k) => combine_in_order("while", [self.body_hasher(of).input_content(*k as usize)]),
        };
        combine_in_order("loop", [Some(batch), self.pred(&of.pred, here), trips])
    }

    /// Returns the content of a call's batch: its extents and its predicate.
    pub(super) fn batch_content(&self, dims: &[Poly], pred: &Pred) -> Option<ContentHash> {
        let here = IndexNames::default();
        let dims = combine_in_order("batch", dims.iter().map(|n| self.poly(n, here)));
        combine_in_order("called", [dims, self.pred(pred, here)])
    }

    /// Returns the arguments of a callee.
    pub(super) fn callee_args(&self, callee: &SsaFunction, sizes: &[Poly], args: &[TensorAccess]) -> CalleeArgs {
        let mut args = args.iter();
        let inputs = callee.inputs.iter().enumerate().map(|(k, of)| {
            let name = input_name(&callee.inputs, k).unwrap_or_default();
            // A global is the same in all functions.
            let global = Some(ContentHash { hash: name, dependences: 0 });
            (name, if of.source.is_passed() { args.next().and_then(|a| self.access(a)) } else { global })
        });
        let mut all: Vec<(u128, Option<ContentHash>)> = inputs.collect();
        all.extend(sizes.iter().enumerate().map(|(k, p)| (size_name(k), self.poly(p, IndexNames::default()))));
        CalleeArgs(all)
    }

    fn body_sizes(&self, of: &SsaLoop) -> HashMap<LocalId, Option<ContentHash>> {
        of.body.sizes.iter().copied().zip(of.sizes.iter().map(|p| self.poly(p, IndexNames::default()))).collect()
    }

    /// Returns the content of a loop's argument at its start.
    fn initial_content(&self, a: &TensorAccess) -> Option<ContentHash> {
        combine_in_order("start", [self.access(a)])
    }

    /// Computes the contents of a carried input of this body, and of all carried inputs that it
    /// needs.
    fn hash_carries(&self, outer: &ContentHasher<'_>, of: &SsaLoop, k: usize) {
        let needs = Rc::clone(
            self.shared
                .carry_dependences
                .borrow_mut()
                .entry(of)
                .or_insert_with(|| Rc::new(CarryDependences::of_loop(of))),
        );
        let next = |k: usize| match of.args.get(k)? {
            LoopArg::Carried { next, .. } => of.body.outputs.get(*next as usize).map(|(_, v)| *v),
            LoopArg::Captured(_) => None,
        };
        // A group follows the groups that it needs.
        for group in needs.dependence_groups(k) {
            if group.iter().all(|j| self.cache.inputs.borrow().contains_key(j)) {
                continue;
            }
            let first: Vec<(usize, Option<ContentHash>)> =
                group.iter().filter_map(|j| Some((*j, outer.initial_content(of.args.get(*j)?.access())))).collect();
            let mut now = first.clone();
            let few = group.len() <= MAX_CARRY_GROUP;
            // This number of rounds distinguishes the values of any two groups of this size.
            for _ in 0..if few { 2 * group.len() - 1 } else { 0 } {
                let inside = ContentCache {
                    inputs: RefCell::new(now.iter().copied().collect()),
                    preliminary: Some((Rc::clone(&self.cache), Rc::clone(&needs), group.clone())),
                    ..ContentCache::default()
                };
                let body = outer.body_hasher_with(of, Rc::new(inside));
                let length = HashBuilder::new("length").chain(&group.len()).finish();
                let carried = |(j, first): &(usize, Option<ContentHash>)| {
                    (
                        *j,
                        combine_in_order(
                            "carried",
                            [Some(length), *first, next(*j).and_then(|v| body.statement_content(v))],
                        ),
                    )
                };
                now = first.iter().map(carried).collect();
            }
            self.cache.inputs.borrow_mut().extend(now.into_iter().map(|(j, content)| (j, content.filter(|_| few))));
        }
    }

    fn hash_statement(&self, stmt: &Statement) -> Option<ContentHash> {
        let here = IndexNames::default();
        let dims = combine_in_order("dims", stmt.dims.iter().map(|n| self.poly(n, here)))?;
        let access = |a: &TensorAccess| self.access(a);
        let pred = |p: &Pred| self.pred(p, here);
        let polys = |all_of: &[Poly]| combine_in_order("polys", all_of.iter().map(|p| self.poly(p, here)));
        let what = match &stmt.rhs {
            Rhs::Input(k) => return self.input_content(*k as usize),
            Rhs::Constant(c) => Some(HashBuilder::new("constant").chain(c).finish()),
            Rhs::Zero => Some(HashBuilder::new("zero").finish()),
            Rhs::Index(p) => combine_in_order("index", [self.poly(p, here)]),
            Rhs::Add(items) => combine_in_order(
                "add",
                items.iter().map(|a| {
                    let sign = HashBuilder::new("sign").chain(&a.neg).finish();
                    combine_in_order("addend", [Some(sign), pred(&a.pred), access(&a.operand)])
                }),
            ),
            Rhs::Contract { bound, pred: p, neg, factors } => {
                let factors: Vec<ContentHash> = factors.iter().map(access).collect::<Option<_>>()?;
                let mut product = HashBuilder::new("product").chain(neg);
                product.write_unordered(factors);
                combine_in_order("contract", [polys(bound), pred(p), Some(product.finish())])
            }
            Rhs::Reduce(r) => {
                let by = HashBuilder::new("by").chain(&r.reducer).finish();
                let parts = [Some(by), polys(&r.bound), pred(&r.pred), pred(&r.filter), access(&r.operand)];
                combine_in_order("reduce", parts.into_iter().chain([self.poly(&r.arg_value, here)]))
            }
            Rhs::Argsort(o) => combine_in_order("order", [pred(&o.pred), access(&o.keys)]),
            Rhs::Map { operation, pred: p, args } => {
                let operation = HashBuilder::new("operation").chain(operation).finish();
                combine_in_order("map", [Some(operation), pred(p)].into_iter().chain(args.iter().map(access)))
            }
            Rhs::Call { callee, sizes, pred: p, args } => {
                let of = HashBuilder::new("callee").chain(callee).finish();
                combine_in_order("call", [Some(of), polys(sizes), pred(p)].into_iter().chain(args.iter().map(access)))
            }
            Rhs::Update { base, batch, bound, pred: p, at, value, accumulate: add } => {
                let how = HashBuilder::new("how").chain(batch).chain(add).finish();
                combine_in_order("update", [Some(how), access(base), polys(bound), pred(p), polys(at), access(value)])
            }
            Rhs::CallResult(producer, output) => {
                let output = HashBuilder::new("output").chain(output).finish();
                combine_in_order("call result", [self.statement_content(*producer), Some(output)])
            }
            Rhs::LoopResult(producer, result) => self.loop_result_content(self.ssa.loop_at(*producer)?, *result),
            // Only its results are values.
            Rhs::Loop(_) => None,
        };
        let kind = HashBuilder::new("kind").chain(&stmt.scalar).finish();
        combine_in_order("statement", [Some(kind), Some(dims), what])
    }

    fn loop_result_content(&self, of: &SsaLoop, part: LoopResult) -> Option<ContentHash> {
        let repeated = self.repetition_content(of)?;
        match part {
            LoopResult::TripCount => combine_in_order("trips", [Some(repeated)]),
            LoopResult::Final(k) => {
                combine_in_order("last", [Some(repeated), self.body_hasher(of).input_content(k as usize)])
            }
            LoopResult::Checkpoint(k) => {
                let spacing = match of.checkpoint.as_ref()?.fixed_distance() {
                    Some(p) => self.poly(p, IndexNames::default()),
                    None => Some(HashBuilder::new("root").finish()),
                };
                combine_in_order("state", [Some(repeated), spacing, self.body_hasher(of).input_content(k as usize)])
            }
            LoopResult::PerIteration(k) => {
                let body = self.body_hasher(of);
                let (_, output) = of.body.outputs.get(k as usize)?;
                combine_in_order("every", [Some(repeated), body.statement_content(*output)])
            }
        }
    }

    fn access(&self, a: &TensorAccess) -> Option<ContentHash> {
        let at = combine_in_order("at", a.at.iter().map(|p| self.poly(p, IndexNames::default())));
        combine_in_order("access", [self.statement_content(a.var), at])
    }

    fn poly(&self, p: &Poly, names: IndexNames<'_>) -> Option<ContentHash> {
        let term = |(m, c): &(Monomial, i128)| {
            let mut factors =
                m.iter().map(|(a, power)| Some((self.atom(a, names)?, *power))).collect::<Option<Vec<_>>>()?;
            factors.sort_unstable();
            let mut term = HashBuilder::new("term").chain(c);
            for (atom, power) in factors {
                term.write(&power);
                term.write_content(atom);
            }
            Some(term.finish())
        };
        let mut sum = HashBuilder::new("sum");
        sum.write_unordered(p.terms().iter().map(term).collect::<Option<Vec<_>>>()?);
        Some(sum.finish())
    }

    fn atom(&self, a: &Atom, names: IndexNames<'_>) -> Option<ContentHash> {
        let both = |tag, p, q| combine_in_order(tag, [self.poly(p, names), self.poly(q, names)]);
        let any = |tag, p, q| {
            let mut mix = HashBuilder::new(tag);
            mix.write_unordered(vec![self.poly(p, names)?, self.poly(q, names)?]);
            Some(mix.finish())
        };
        match a {
            Atom::Local(l, _) => self.local(*l, names),
            Atom::Global(name) => Some(HashBuilder::new("global").chain(name).finish()),
            Atom::Div(p, q) => both("div", p, q),
            Atom::Mod(p, q) => both("mod", p, q),
            Atom::Min(p, q) => any("min", p, q),
            Atom::Max(p, q) => any("max", p, q),
            Atom::Read(x, _, at) => self.element(*x, at, names),
            Atom::SizeParam(..) | Atom::Arg(..) | Atom::Meta(..) | Atom::Overflow => None,
        }
    }

    fn local(&self, local: LocalId, names: IndexNames<'_>) -> Option<ContentHash> {
        if let Some(level) = names.bound.iter().position(|l| *l == local) {
            return Some(HashBuilder::new("bound").chain(&level).finish());
        }
        match index_number(local) {
            Some(k) => Some(HashBuilder::new("i").chain(names.positions.get(k).unwrap_or(&k)).finish()),
            None => self
                .size_content(local)
                .unwrap_or_else(|| self.input_content(self.ssa.inputs.iter().position(|i| i.local == local)?)),
        }
    }

    fn element(&self, x: LocalId, at: &[Poly], names: IndexNames<'_>) -> Option<ContentHash> {
        let of = match StmtId::from_local(x) {
            Some(var) => self.statement_content(var),
            None => self.local(x, names),
        };
        combine_in_order("element", [of, combine_in_order("at", at.iter().map(|p| self.poly(p, names)))])
    }

    fn pred(&self, p: &Pred, names: IndexNames<'_>) -> Option<ContentHash> {
        let several = |tag, items: &[Pred]| {
            let items: Vec<ContentHash> = items.iter().map(|p| self.pred(p, names)).collect::<Option<_>>()?;
            let mut mix = HashBuilder::new(tag);
            mix.write_unordered(items);
            Some(mix.finish())
        };
        // The sign of an equation depends on the numbers of its atoms, so both signs are combined.
        let zero = |tag, p: &Poly| {
            let mut mix = HashBuilder::new(tag);
            mix.write_unordered(vec![self.poly(p, names)?, self.poly(&p.neg(), names)?]);
            Some(mix.finish())
        };
        match p {
            Pred::And(items) => several("and", items),
            Pred::Or(items) => several("or", items),
            Pred::Ge(p) => combine_in_order("ge", [self.poly(p, names)]),
            Pred::Eq(p) => zero("eq", p),
            Pred::Ne(p) => zero("ne", p),
            Pred::Element(x, _, at, is) | Pred::Member(x, _, at, is) => {
                let is = HashBuilder::new("is").chain(is).finish();
                combine_in_order("holds", [Some(is), self.element(*x, at, names)])
            }
            Pred::Exists(index, body, is) => {
                let bound: Vec<LocalId> = names.bound.iter().copied().chain([index.local]).collect();
                let inner = IndexNames { bound: &bound, ..names };
                let is = HashBuilder::new("some").chain(is).finish();
                combine_in_order("any", [Some(is), self.poly(&index.extent, names), self.pred(body, inner)])
            }
        }
    }
}

/// The names of indices.
#[derive(Clone, Copy, Default)]
struct IndexNames<'n> {
    /// The positions of the nest's indices.
    positions: &'n [usize],
    /// The indices of the enclosing existentials.
    bound: &'n [LocalId],
}

/// Returns candidate positions for the indices of a nest. For any two orders of the indices, some
/// candidate makes equal nests equal. The `first` leading indices stay before the others. `named`
/// returns the content of the nest at some positions.
fn candidate_orders(
    first: usize,
    count: usize,
    named: &dyn Fn(&[usize]) -> Option<ContentHash>,
) -> Option<Vec<Vec<usize>>> {
    let parts = [0..first, first..count];
    let many = |lengths: &mut dyn Iterator<Item = usize>| {
        lengths.fold(1_usize, |all, n| (1..=n).fold(all, |all, k| all.saturating_mul(k)))
    };
    let mut groups: Vec<Vec<usize>> = parts.iter().map(|part| part.clone().collect()).collect();
    if many(&mut parts.iter().map(ExactSizeIterator::len)) > EXHAUSTIVE_INDEX_ORDERS {
        // Groups the indices by the content of the nest in which only one of them is distinguished.
        groups.clear();
        for part in parts {
            let alone = |k: usize| -> Vec<usize> {
                (0..count).map(|j| if j == k { count } else { usize::from(j >= first) }).collect()
            };
            let mut keyed = part.map(|k| Some((named(&alone(k))?, k))).collect::<Option<Vec<_>>>()?;
            keyed.sort_unstable();
            groups.extend(keyed.chunk_by(|a, b| a.0 == b.0).map(|same| same.iter().map(|(_, k)| *k).collect()));
        }
    }
    let all = if many(&mut groups.iter().map(Vec::len)) > MAX_INDEX_ORDERS {
        vec![groups.concat()]
    } else {
        groups.iter().fold(vec![Vec::new()], |all, group| {
            let orders = permutations(group);
            all.iter().flat_map(|before| orders.iter().map(|order| [before.as_slice(), order].concat())).collect()
        })
    };
    let place = |order: &Vec<usize>, k| order.iter().position(|j| *j == k).unwrap_or(0);
    Some(all.iter().map(|order| (0..count).map(|k| place(order, k)).collect()).collect())
}

fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    of.iter().fold(vec![Vec::new()], |all, k| {
        let inserted = |order: &Vec<usize>, at: usize| {
            let mut longer = order.clone();
            longer.insert(at, *k);
            longer
        };
        all.iter().flat_map(|order| (0..=order.len()).map(move |at| inserted(order, at))).collect()
    })
}

/// The dependences of a loop body on its carried inputs.
struct CarryDependences {
    /// For each carried input, those that it needs from earlier iterations, itself included.
    transitive: HashMap<usize, BTreeSet<usize>>,
    /// For each statement, the carried inputs that it needs in the same iteration.
    statement_reads: Vec<BTreeSet<usize>>,
}

impl CarryDependences {
    fn of_loop(of: &SsaLoop) -> Self {
        let body = &of.body;
        let carried: HashMap<usize, u32> = of.carried_inputs().map(|(k, next)| (k as usize, next)).collect();
        let mut read: Vec<BTreeSet<usize>> = Vec::new();
        let by_local: HashMap<LocalId, usize> = body.inputs.iter().enumerate().map(|(k, i)| (i.local, k)).collect();
        for stmt in &body.stmts {
            let mut own = BTreeSet::new();
            if let Rhs::Input(k) = &stmt.rhs {
                own.insert(*k as usize);
            }
            let of_var = |v: StmtId| read.get(v.0 as usize).into_iter().flatten().copied();
            stmt.rhs.for_each_operand(&mut |v| own.extend(of_var(v)));
            let mut locals = |p: &Poly| {
                p.for_each_atom(&mut |a| match a {
                    Atom::Local(l, _) => own.extend(by_local.get(l)),
                    Atom::Read(x, ..) => own.extend(StmtId::from_local(*x).into_iter().flat_map(of_var)),
                    _ => {}
                });
            };
            stmt.rhs.for_each_poly(&mut locals);
            stmt.rhs.for_each_pred(&mut |p| p.visit(&mut locals, &mut |_| {}));
            stmt.dims.iter().for_each(&mut locals);
            own.retain(|k| carried.contains_key(k));
            read.push(own);
        }
        let direct = |k: usize| {
            let var = carried.get(&k).and_then(|next| body.outputs.get(*next as usize)).map(|(_, v)| v.0 as usize);
            var.and_then(|v| read.get(v)).into_iter().flatten().copied()
        };
        let mut all = HashMap::new();
        for k in carried.keys() {
            let mut found = BTreeSet::from([*k]);
            let mut open = vec![*k];
            while let Some(at) = open.pop() {
                open.extend(direct(at).filter(|j| found.insert(*j)));
            }
            all.insert(*k, found);
        }
        Self { transitive: all, statement_reads: read }
    }

    /// Whether a statement needs one of these inputs.
    fn depends_on(&self, v: StmtId, of: &BTreeSet<usize>) -> bool {
        self.statement_reads.get(v.0 as usize).is_some_and(|read| !read.is_disjoint(of))
    }

    /// Returns the inputs that this one needs, grouped by mutual dependence. Each group follows the
    /// groups that it needs.
    fn dependence_groups(&self, k: usize) -> Vec<BTreeSet<usize>> {
        let mut groups: Vec<(usize, BTreeSet<usize>)> = Vec::new();
        for j in self.transitive.get(&k).into_iter().flatten() {
            let Some(needs) = self.transitive.get(j) else { continue };
            let first = |group: &BTreeSet<usize>| group.first().and_then(|i| self.transitive.get(i));
            match groups.iter_mut().find(|(_, group)| first(group) == Some(needs)) {
                Some((_, group)) => drop(group.insert(*j)),
                None => groups.push((needs.len(), BTreeSet::from([*j]))),
            }
        }
        groups.sort_by_key(|(needs, _)| *needs);
        groups.into_iter().map(|(_, group)| group).collect()
    }
}
