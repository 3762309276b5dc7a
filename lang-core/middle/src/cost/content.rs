//! **Content hashing** of data-dependent numbers. The content of a value is a 128-bit hash of how
//! it is computed from the inputs of the function. So a function and its derivative name equal
//! numbers equally.
//!
//! Inputs are named by their parameter and path, and statements by their operation on contents. The
//! order of terms in a polynomial and of conjuncts in a predicate does not matter. A carried value
//! is named by its initial value and by the change in an iteration ([`Needs`]). For mutually
//! dependent values the change is followed often enough to distinguish any two.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, hash_map::DefaultHasher};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::nest::Form;
use lang_base::pause;
use lang_ir::flat::Input;
use lang_ir::region::{Arg, Loop, Part, Trips};
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, index_number};
use lang_sizes::predicate::poly::Monomial;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// The largest number of statements named for one cost.
const MOST: u32 = 20_000;

/// The largest number of inputs and sizes named for one function.
const MOST_NAMED: usize = 128;

/// The largest number of mutually dependent carried values.
const MOST_CARRIED: usize = 8;

/// The largest number of index orders tried for a nest.
const MOST_ORDERS: usize = 24;

/// Up to this number of orders, all are tried. Beyond it the indices are first distinguished by
/// content.
const FEW_ORDERS: usize = 4;

/// The content of a value, and the inputs and sizes of the function that it depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Content {
    number: u128,
    /// One bit for each input, then one for each size.
    of: u128,
}

/// The arguments of a callee: the name of each of its inputs and sizes, with its content.
pub(super) struct Passed(Vec<(u128, Option<Content>)>);

/// The contents of the statements of a function or a loop body.
pub(super) struct Contents<'s> {
    ssa: &'s Ssa,
    /// For a loop body: the contents around the loop, and the loop.
    repeats: Option<(&'s Contents<'s>, &'s Loop)>,
    found: Rc<Found>,
    shared: &'s Shared,
}

/// Memoised contents of a function or a body.
#[derive(Default)]
struct Found {
    /// The contents of inputs and sizes, as far as they were queried.
    inputs: RefCell<HashMap<usize, Option<Content>>>,
    sizes: OnceCell<HashMap<LocalId, Option<Content>>>,
    known: RefCell<HashMap<Var, Option<Content>>>,
    bodies: RefCell<HashMap<*const Loop, Rc<Found>>>,
    /// For a body in which some inputs have preliminary contents: the final contents of the others,
    /// the dependences, and these inputs.
    apart: Option<(Rc<Found>, Rc<Needs>, BTreeSet<usize>)>,
}

/// The state shared by the contents of a function and all its bodies.
#[derive(Default)]
pub(super) struct Shared {
    named: Cell<u32>,
    needs: RefCell<HashMap<*const Loop, Rc<Needs>>>,
}

/// A hash under construction.
#[derive(Clone)]
struct Mix {
    halves: [DefaultHasher; 2],
    of: u128,
}

impl Mix {
    fn new(tag: &str) -> Self {
        let half = |k: u8| {
            let mut half = DefaultHasher::new();
            (k, tag).hash(&mut half);
            half
        };
        Self { halves: [half(0), half(1)], of: 0 }
    }

    fn put(&mut self, part: &impl Hash) {
        self.halves.iter_mut().for_each(|half| part.hash(half));
    }

    fn with(mut self, part: &impl Hash) -> Self {
        self.put(part);
        self
    }

    fn and(&mut self, content: Content) {
        self.put(&content.number);
        self.of |= content.of;
    }

    /// Adds contents regardless of their order.
    fn any_order(&mut self, mut contents: Vec<Content>) {
        contents.sort_unstable();
        self.put(&contents.len());
        contents.into_iter().for_each(|c| self.and(c));
    }

    fn end(self) -> Content {
        let [high, low] = self.halves.map(|half| u128::from(half.finish()));
        Content { number: high << 64 | low, of: self.of }
    }
}

/// Combines contents in order; `None` if one is missing.
fn all(tag: &str, contents: impl IntoIterator<Item = Option<Content>>) -> Option<Content> {
    let mut mix = Mix::new(tag);
    for content in contents {
        mix.and(content?);
    }
    Some(mix.end())
}

/// Returns the name of an input. The derivative of an adjoint has several cotangents of one output,
/// so the name counts the equal ones before it.
fn input(inputs: &[Input], k: usize) -> Option<u128> {
    let of = inputs.get(k)?;
    let is_same = |other: &&Input| other.source == of.source && other.leaf.path == of.leaf.path;
    let before = inputs.get(..k)?.iter().filter(is_same).count();
    Some(Mix::new("input").with(&of.source).with(&of.leaf.path).with(&before).end().number)
}

/// Returns the name of a size by position.
fn size(k: usize) -> u128 {
    Mix::new("size").with(&k).end().number
}

impl Content {
    /// Returns the hash, which is equal for equal contents in a function and its derivatives.
    #[must_use]
    pub fn name(&self) -> u128 {
        self.number
    }

    /// Returns the content of an input or size, or `None` if its position is too large.
    fn named(number: u128, place: usize) -> Option<Self> {
        (place < MOST_NAMED).then(|| Self { number, of: 1 << place })
    }

    /// Returns the content at a call, where the callee receives these arguments.
    pub(super) fn passed(self, Passed(given): &Passed) -> Option<Self> {
        let mut parts = Vec::new();
        let mut of = self.of;
        while of != 0 {
            let (name, content) = given.get(of.trailing_zeros() as usize)?;
            parts.push((*name, (*content)?));
            of &= of - 1;
        }
        // Sorted by name, because positions differ between functions.
        parts.sort_unstable();
        let mut mix = Mix::new("given").with(&self.number);
        for (name, content) in parts {
            mix.put(&name);
            mix.and(content);
        }
        Some(mix.end())
    }

    /// Returns the content of a total over all repetitions.
    pub(super) fn times(self, times: Self) -> Self {
        let mut mix = Mix::new("times");
        mix.and(self);
        mix.and(times);
        mix.end()
    }

    /// Returns the content of one of several numbers about this value.
    pub(super) fn asked(self, what: &str) -> Self {
        let mut mix = Mix::new(what);
        mix.and(self);
        mix.end()
    }
}

impl<'s> Contents<'s> {
    /// Returns the contents of a function.
    pub(super) fn new(ssa: &'s Ssa, shared: &'s Shared) -> Self {
        Self { ssa, repeats: None, found: Rc::default(), shared }
    }

    fn input(&self, k: usize) -> Option<Content> {
        if let Some(known) = self.found.inputs.borrow().get(&k) {
            return *known;
        }
        let content = match (self.repeats, &self.found.apart) {
            (None, _) => Content::named(input(&self.ssa.inputs, k)?, k),
            (Some((outer, of)), Some((rest, ..))) => outer.body_with(of, Rc::clone(rest)).input(k),
            (Some((outer, of)), None) => match of.args.get(k)? {
                Arg::Given(a) => outer.first(a),
                Arg::Carried { .. } => {
                    self.follow(outer, of, k);
                    *self.found.inputs.borrow().get(&k)?
                }
            },
        };
        self.found.inputs.borrow_mut().insert(k, content);
        content
    }

    fn size(&self, local: LocalId) -> Option<Option<Content>> {
        let first = self.ssa.inputs.len();
        let named = |(k, l): (usize, &LocalId)| (*l, Content::named(size(k), first + k));
        let own = || self.ssa.sizes.iter().enumerate().map(named).collect();
        let of = || self.repeats.map_or_else(own, |(outer, of)| outer.sizes_of(of));
        self.found.sizes.get_or_init(of).get(&local).copied()
    }

    /// Returns the contents of the body of a loop in this function.
    pub(super) fn body<'b>(&'b self, of: &'b Loop) -> Contents<'b> {
        let found = Rc::clone(self.found.bodies.borrow_mut().entry(of).or_default());
        self.body_with(of, found)
    }

    fn body_with<'b>(&'b self, of: &'b Loop, found: Rc<Found>) -> Contents<'b> {
        Contents { ssa: &of.body, repeats: Some((self, of)), found, shared: self.shared }
    }

    /// Returns the content of a value.
    pub(super) fn var(&self, var: Var) -> Option<Content> {
        // Operands come first.
        let mut open = vec![(var, false)];
        while let Some((v, ready)) = open.pop() {
            if self.found.known.borrow().contains_key(&v) {
                continue;
            }
            if let (Some((rest, needs, apart)), Some((outer, of))) = (&self.found.apart, self.repeats)
                && !needs.touches(v, apart)
            {
                let content = outer.body_with(of, Rc::clone(rest)).var(v);
                self.found.known.borrow_mut().insert(v, content);
                continue;
            }
            let stmt = self.ssa.stmts.get(v.0 as usize)?;
            if ready {
                pause();
                let named = self.shared.named.get();
                self.shared.named.set(named.saturating_add(1));
                let content = if named < MOST { self.stmt(stmt) } else { None };
                self.found.known.borrow_mut().insert(v, content);
                continue;
            }
            open.push((v, true));
            stmt.rhs.for_each_operand(&mut |x| {
                if x.0 < v.0 {
                    open.push((x, false));
                }
            });
        }
        self.found.known.borrow().get(&var).copied().flatten()
    }

    /// Returns the content of a nest: of its set of index tuples. `apart`: whether its free indices
    /// are distinguished from the others.
    pub(super) fn nest(&self, (dims, free, pred): &Form, apart: bool) -> Option<Content> {
        let split = Mix::new("split").with(&apart.then_some(*free)).end();
        let named = |places: &[usize]| {
            let names = Names { places, bound: &[] };
            let mut extents: Vec<(usize, Option<Content>)> =
                places.iter().copied().zip(dims.iter().map(|n| self.poly(n, names))).collect();
            extents.sort_unstable();
            let extents = all("extents", extents.into_iter().map(|(_, n)| n));
            all("nest", [Some(split), extents, self.pred(pred, names)])
        };
        let first = if apart { *free } else { dims.len() };
        orders(first, dims.len(), &named)?.iter().map(|places| named(places)).min().flatten()
    }

    /// Returns the content of a loop's repetition: its batch, its predicate and its trip count.
    pub(super) fn repeated(&self, of: &Loop) -> Option<Content> {
        let here = Names::default();
        let batch = all("batch", of.batch.iter().map(|n| self.poly(n, here)))?;
        let trips = match &of.trips {
            Trips::Count(n) => all("count", [self.poly(n, here)]),
            Trips::While(k) => all("while", [self.body(of).input(*k as usize)]),
        };
        all("loop", [Some(batch), self.pred(&of.pred, here), trips])
    }

    /// Returns the content of a call's batch: its extents and its predicate.
    pub(super) fn called(&self, dims: &[Poly], pred: &Pred) -> Option<Content> {
        let here = Names::default();
        let dims = all("batch", dims.iter().map(|n| self.poly(n, here)));
        all("called", [dims, self.pred(pred, here)])
    }

    /// Returns the arguments of a callee.
    pub(super) fn passed(&self, callee: &Ssa, sizes: &[Poly], args: &[Access]) -> Passed {
        let mut args = args.iter();
        let inputs = callee.inputs.iter().enumerate().map(|(k, of)| {
            let name = input(&callee.inputs, k).unwrap_or_default();
            // A global is the same in all functions.
            let global = Some(Content { number: name, of: 0 });
            (name, if of.source.is_passed() { args.next().and_then(|a| self.access(a)) } else { global })
        });
        let mut all: Vec<(u128, Option<Content>)> = inputs.collect();
        all.extend(sizes.iter().enumerate().map(|(k, p)| (size(k), self.poly(p, Names::default()))));
        Passed(all)
    }

    fn sizes_of(&self, of: &Loop) -> HashMap<LocalId, Option<Content>> {
        of.body.sizes.iter().copied().zip(of.sizes.iter().map(|p| self.poly(p, Names::default()))).collect()
    }

    /// Returns the content of a loop's argument at its start.
    fn first(&self, a: &Access) -> Option<Content> {
        all("start", [self.access(a)])
    }

    /// Computes the contents of a carried input of this body, and of all carried inputs that it
    /// needs.
    fn follow(&self, outer: &Contents<'_>, of: &Loop, k: usize) {
        let needs = Rc::clone(self.shared.needs.borrow_mut().entry(of).or_insert_with(|| Rc::new(Needs::of(of))));
        let next = |k: usize| match of.args.get(k)? {
            Arg::Carried { next, .. } => of.body.outputs.get(*next as usize).map(|(_, v)| *v),
            Arg::Given(_) => None,
        };
        // A group follows the groups that it needs.
        for group in needs.groups(k) {
            if group.iter().all(|j| self.found.inputs.borrow().contains_key(j)) {
                continue;
            }
            let first: Vec<(usize, Option<Content>)> =
                group.iter().filter_map(|j| Some((*j, outer.first(of.args.get(*j)?.access())))).collect();
            let mut now = first.clone();
            let few = group.len() <= MOST_CARRIED;
            // This number of rounds distinguishes the values of any two groups of this size.
            for _ in 0..if few { 2 * group.len() - 1 } else { 0 } {
                let inside = Found {
                    inputs: RefCell::new(now.iter().copied().collect()),
                    apart: Some((Rc::clone(&self.found), Rc::clone(&needs), group.clone())),
                    ..Found::default()
                };
                let body = outer.body_with(of, Rc::new(inside));
                let length = Mix::new("length").with(&group.len()).end();
                let carried = |(j, first): &(usize, Option<Content>)| {
                    (*j, all("carried", [Some(length), *first, next(*j).and_then(|v| body.var(v))]))
                };
                now = first.iter().map(carried).collect();
            }
            self.found.inputs.borrow_mut().extend(now.into_iter().map(|(j, content)| (j, content.filter(|_| few))));
        }
    }

    fn stmt(&self, stmt: &Stmt) -> Option<Content> {
        let here = Names::default();
        let dims = all("dims", stmt.dims.iter().map(|n| self.poly(n, here)))?;
        let access = |a: &Access| self.access(a);
        let pred = |p: &Pred| self.pred(p, here);
        let polys = |all_of: &[Poly]| all("polys", all_of.iter().map(|p| self.poly(p, here)));
        let what = match &stmt.rhs {
            Rhs::Input(k) => return self.input(*k as usize),
            Rhs::Constant(c) => Some(Mix::new("constant").with(c).end()),
            Rhs::Zero => Some(Mix::new("zero").end()),
            Rhs::Index(p) => all("index", [self.poly(p, here)]),
            Rhs::Add(items) => all(
                "add",
                items.iter().map(|a| {
                    let sign = Mix::new("sign").with(&a.neg).end();
                    all("addend", [Some(sign), pred(&a.pred), access(&a.of)])
                }),
            ),
            Rhs::Contract { bound, pred: p, neg, factors } => {
                let factors: Vec<Content> = factors.iter().map(access).collect::<Option<_>>()?;
                let mut product = Mix::new("product").with(neg);
                product.any_order(factors);
                all("contract", [polys(bound), pred(p), Some(product.end())])
            }
            Rhs::Reduce(r) => {
                let by = Mix::new("by").with(&r.reducer).end();
                let parts = [Some(by), polys(&r.bound), pred(&r.pred), pred(&r.terms), access(&r.of)];
                all("reduce", parts.into_iter().chain([self.poly(&r.place, here)]))
            }
            Rhs::Order(o) => all("order", [pred(&o.pred), access(&o.of)]),
            Rhs::Map { operation, pred: p, args } => {
                let operation = Mix::new("operation").with(operation).end();
                all("map", [Some(operation), pred(p)].into_iter().chain(args.iter().map(access)))
            }
            Rhs::Call { callee, sizes, pred: p, args, batch, part } => {
                let of = Mix::new("callee").with(callee).with(batch).with(part).end();
                all("call", [Some(of), polys(sizes), pred(p)].into_iter().chain(args.iter().map(access)))
            }
            Rhs::Update { base, batch, bound, pred: p, at, value, add } => {
                let how = Mix::new("how").with(batch).with(add).end();
                all("update", [Some(how), access(base), polys(bound), pred(p), polys(at), access(value)])
            }
            Rhs::Loop(of, part) => self.part(of, *part),
        };
        let kind = Mix::new("kind").with(&stmt.scalar).end();
        all("statement", [Some(kind), Some(dims), what])
    }

    fn part(&self, of: &Loop, part: Part) -> Option<Content> {
        let repeated = self.repeated(of)?;
        match part {
            Part::Trips => all("trips", [Some(repeated)]),
            Part::Last(k) => all("last", [Some(repeated), self.body(of).input(k as usize)]),
            Part::State(k) => {
                let spacing = match of.checkpoint.as_ref()?.told() {
                    Some(p) => self.poly(p, Names::default()),
                    None => Some(Mix::new("root").end()),
                };
                all("state", [Some(repeated), spacing, self.body(of).input(k as usize)])
            }
            Part::Every(k) => {
                let body = self.body(of);
                let (_, made) = of.body.outputs.get(k as usize)?;
                all("every", [Some(repeated), body.var(*made)])
            }
        }
    }

    fn access(&self, a: &Access) -> Option<Content> {
        let at = all("at", a.at.iter().map(|p| self.poly(p, Names::default())));
        all("access", [self.var(a.var), at])
    }

    fn poly(&self, p: &Poly, names: Names<'_>) -> Option<Content> {
        let term = |(m, c): &(Monomial, i128)| {
            let mut factors =
                m.iter().map(|(a, power)| Some((self.atom(a, names)?, *power))).collect::<Option<Vec<_>>>()?;
            factors.sort_unstable();
            let mut term = Mix::new("term").with(c);
            for (atom, power) in factors {
                term.put(&power);
                term.and(atom);
            }
            Some(term.end())
        };
        let mut sum = Mix::new("sum");
        sum.any_order(p.terms().iter().map(term).collect::<Option<Vec<_>>>()?);
        Some(sum.end())
    }

    fn atom(&self, a: &Atom, names: Names<'_>) -> Option<Content> {
        let both = |tag, p, q| all(tag, [self.poly(p, names), self.poly(q, names)]);
        let any = |tag, p, q| {
            let mut mix = Mix::new(tag);
            mix.any_order(vec![self.poly(p, names)?, self.poly(q, names)?]);
            Some(mix.end())
        };
        match a {
            Atom::Local(l, _) => self.local(*l, names),
            Atom::Global(name) => Some(Mix::new("global").with(name).end()),
            Atom::Div(p, q) => both("div", p, q),
            Atom::Mod(p, q) => both("mod", p, q),
            Atom::Min(p, q) => any("min", p, q),
            Atom::Max(p, q) => any("max", p, q),
            Atom::Read(x, _, at) => self.element(*x, at, names),
            Atom::Bound(..) | Atom::Arg(..) | Atom::Meta(..) | Atom::Overflow => None,
        }
    }

    fn local(&self, local: LocalId, names: Names<'_>) -> Option<Content> {
        if let Some(level) = names.bound.iter().position(|l| *l == local) {
            return Some(Mix::new("bound").with(&level).end());
        }
        match index_number(local) {
            Some(k) => Some(Mix::new("i").with(names.places.get(k).unwrap_or(&k)).end()),
            None => {
                self.size(local).unwrap_or_else(|| self.input(self.ssa.inputs.iter().position(|i| i.local == local)?))
            }
        }
    }

    fn element(&self, x: LocalId, at: &[Poly], names: Names<'_>) -> Option<Content> {
        let of = match Var::of_local(x) {
            Some(var) => self.var(var),
            None => self.local(x, names),
        };
        all("element", [of, all("at", at.iter().map(|p| self.poly(p, names)))])
    }

    fn pred(&self, p: &Pred, names: Names<'_>) -> Option<Content> {
        let several = |tag, items: &[Pred]| {
            let items: Vec<Content> = items.iter().map(|p| self.pred(p, names)).collect::<Option<_>>()?;
            let mut mix = Mix::new(tag);
            mix.any_order(items);
            Some(mix.end())
        };
        // The sign of an equation depends on the numbers of its atoms, so both signs are combined.
        let zero = |tag, p: &Poly| {
            let mut mix = Mix::new(tag);
            mix.any_order(vec![self.poly(p, names)?, self.poly(&p.neg(), names)?]);
            Some(mix.end())
        };
        match p {
            Pred::And(items) => several("and", items),
            Pred::Or(items) => several("or", items),
            Pred::Ge(p) => all("ge", [self.poly(p, names)]),
            Pred::Eq(p) => zero("eq", p),
            Pred::Ne(p) => zero("ne", p),
            Pred::Is(x, _, at, is) | Pred::Member(x, _, at, is) => {
                let is = Mix::new("is").with(is).end();
                all("holds", [Some(is), self.element(*x, at, names)])
            }
            Pred::Any(index, body, is) => {
                let bound: Vec<LocalId> = names.bound.iter().copied().chain([index.local]).collect();
                let inner = Names { bound: &bound, ..names };
                let is = Mix::new("some").with(is).end();
                all("any", [Some(is), self.poly(&index.extent, names), self.pred(body, inner)])
            }
        }
    }
}

/// The names of indices.
#[derive(Clone, Copy, Default)]
struct Names<'n> {
    /// The positions of the nest's indices.
    places: &'n [usize],
    /// The indices of the enclosing existentials.
    bound: &'n [LocalId],
}

/// Returns candidate positions for the indices of a nest. For any two orders of the indices, some
/// candidate makes equal nests equal. The `first` leading indices stay before the others. `named`
/// returns the content of the nest at some positions.
fn orders(first: usize, count: usize, named: &dyn Fn(&[usize]) -> Option<Content>) -> Option<Vec<Vec<usize>>> {
    let parts = [0..first, first..count];
    let many = |lengths: &mut dyn Iterator<Item = usize>| {
        lengths.fold(1_usize, |all, n| (1..=n).fold(all, |all, k| all.saturating_mul(k)))
    };
    let mut groups: Vec<Vec<usize>> = parts.iter().map(|part| part.clone().collect()).collect();
    if many(&mut parts.iter().map(ExactSizeIterator::len)) > FEW_ORDERS {
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
    let all = if many(&mut groups.iter().map(Vec::len)) > MOST_ORDERS {
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
struct Needs {
    /// For each carried input, those that it needs from earlier iterations, itself included.
    of: HashMap<usize, BTreeSet<usize>>,
    /// For each statement, the carried inputs that it needs in the same iteration.
    read: Vec<BTreeSet<usize>>,
}

impl Needs {
    fn of(of: &Loop) -> Self {
        let body = &of.body;
        let carried: HashMap<usize, u32> = of.carried().map(|(k, next)| (k as usize, next)).collect();
        let mut read: Vec<BTreeSet<usize>> = Vec::new();
        let by_local: HashMap<LocalId, usize> = body.inputs.iter().enumerate().map(|(k, i)| (i.local, k)).collect();
        for stmt in &body.stmts {
            let mut own = BTreeSet::new();
            if let Rhs::Input(k) = &stmt.rhs {
                own.insert(*k as usize);
            }
            let of_var = |v: Var| read.get(v.0 as usize).into_iter().flatten().copied();
            stmt.rhs.for_each_operand(&mut |v| own.extend(of_var(v)));
            let mut locals = |p: &Poly| {
                p.for_each_atom(&mut |a| match a {
                    Atom::Local(l, _) => own.extend(by_local.get(l)),
                    Atom::Read(x, ..) => own.extend(Var::of_local(*x).into_iter().flat_map(of_var)),
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
        Self { of: all, read }
    }

    /// Whether a statement needs one of these inputs.
    fn touches(&self, v: Var, of: &BTreeSet<usize>) -> bool {
        self.read.get(v.0 as usize).is_some_and(|read| !read.is_disjoint(of))
    }

    /// Returns the inputs that this one needs, grouped by mutual dependence. Each group follows the
    /// groups that it needs.
    fn groups(&self, k: usize) -> Vec<BTreeSet<usize>> {
        let mut groups: Vec<(usize, BTreeSet<usize>)> = Vec::new();
        for j in self.of.get(&k).into_iter().flatten() {
            let Some(needs) = self.of.get(j) else { continue };
            let first = |group: &BTreeSet<usize>| group.first().and_then(|i| self.of.get(i));
            match groups.iter_mut().find(|(_, group)| first(group) == Some(needs)) {
                Some((_, group)) => drop(group.insert(*j)),
                None => groups.push((needs.len(), BTreeSet::from([*j]))),
            }
        }
        groups.sort_by_key(|(needs, _)| *needs);
        groups.into_iter().map(|(_, group)| group).collect()
    }
}
