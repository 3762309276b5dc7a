//! What data tell, named by what it is: the content of a value is how it is made of the inputs of the function, as a number
//! of 128 bits, so that a function and its derivative name what is the same in both alike.
//!
//! Inputs are named by the parameter that they are part of, and statements by what they compute of contents; the order of
//! terms of a polynomial and of parts of a predicate does not matter. What a loop carries is named by what it is at first
//! and by how an iteration changes it, which is followed around often enough to tell any two apart.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map::DefaultHasher};
use std::hash::{Hash, Hasher};

use super::nest::Form;
use crate::ir::flat::Input;
use crate::ir::region::{Loop, Part, Trips};
use crate::ir::ssa::{Access, Rhs, Ssa, Stmt, Var, index_number};
use crate::predicate::{Atom, LocalId, Poly, Pred};

/// Statements that are named at most, for one cost.
const MOST: u32 = 20_000;

/// Values that a loop carries and that need one another, at most.
const MOST_CARRIED: usize = 8;

/// Indices of a nest whose order is left open.
const MOST_INDICES: usize = 4;

/// What a value is, and of which inputs and sizes of the function it is made.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Content {
    number: u128,
    of: BTreeSet<u128>,
}

/// Inputs and sizes by what names them.
pub(super) type Passed = BTreeMap<u128, Content>;

/// The contents of the statements of a function.
pub(super) struct Contents<'s> {
    ssa: &'s Ssa,
    /// Of the body of a loop that loop, and where it stands.
    repeats: Option<(&'s Contents<'s>, &'s Loop)>,
    /// What inputs and sizes are, if it was asked for.
    inputs: OnceCell<Vec<Option<Content>>>,
    sizes: OnceCell<HashMap<LocalId, Option<Content>>>,
    known: RefCell<HashMap<Var, Option<Content>>>,
    /// What the inputs of the bodies of loops are.
    bodies: RefCell<HashMap<*const Loop, Vec<Option<Content>>>>,
    left: &'s Cell<u32>,
}

/// A number that is made of others.
#[derive(Clone)]
struct Mix {
    halves: [DefaultHasher; 2],
    of: BTreeSet<u128>,
}

impl Mix {
    fn new(tag: &str) -> Self {
        let half = |k: u8| {
            let mut half = DefaultHasher::new();
            (k, tag).hash(&mut half);
            half
        };
        Self { halves: [half(0), half(1)], of: BTreeSet::new() }
    }

    fn put(&mut self, part: &impl Hash) {
        self.halves.iter_mut().for_each(|half| part.hash(half));
    }

    fn with(mut self, part: &impl Hash) -> Self {
        self.put(part);
        self
    }

    fn and(&mut self, content: &Content) {
        self.put(&content.number);
        self.of.extend(&content.of);
    }

    /// These in any order.
    fn any_order(&mut self, contents: &[Content]) {
        self.put(&contents.len());
        self.put(&contents.iter().fold(0_u128, |sum, c| sum.wrapping_add(c.number)));
        contents.iter().for_each(|c| self.of.extend(&c.of));
    }

    fn end(self) -> Content {
        let [high, low] = self.halves.map(|half| u128::from(half.finish()));
        Content { number: high << 64 | low, of: self.of }
    }
}

/// Contents in order.
fn all(tag: &str, contents: impl IntoIterator<Item = Option<Content>>) -> Option<Content> {
    let mut mix = Mix::new(tag);
    for content in contents {
        mix.and(&content?);
    }
    Some(mix.end())
}

/// What names an input of a function.
pub(super) fn input(of: &Input) -> u128 {
    Mix::new("input").with(&of.source).with(&of.leaf.path).end().number
}

/// What names the size of this position.
pub(super) fn size(k: usize) -> u128 {
    Mix::new("size").with(&k).end().number
}

impl Content {
    fn alone(number: u128) -> Self {
        Self { number, of: BTreeSet::from([number]) }
    }

    /// What it is where its function is called and is given these.
    pub(super) fn passed(&self, passed: &Passed) -> Option<Self> {
        let mut mix = Mix::new("given").with(&self.number);
        for of in &self.of {
            mix.put(of);
            mix.and(passed.get(of)?);
        }
        Some(mix.end())
    }

    /// What it is all times together that something is done.
    pub(super) fn times(&self, times: &Self) -> Self {
        let mut mix = Mix::new("times");
        mix.and(self);
        mix.and(times);
        mix.end()
    }

    /// One of several numbers about it.
    pub(super) fn asked(&self, what: &str) -> Self {
        let mut mix = Mix::new(what);
        mix.and(self);
        mix.end()
    }
}

impl<'s> Contents<'s> {
    /// Those of a function.
    pub(super) fn new(ssa: &'s Ssa, left: &'s Cell<u32>) -> Self {
        left.set(MOST);
        Self::beginning(ssa, None, left)
    }

    fn beginning(ssa: &'s Ssa, repeats: Option<(&'s Contents<'s>, &'s Loop)>, left: &'s Cell<u32>) -> Self {
        let (inputs, sizes) = (OnceCell::new(), OnceCell::new());
        Self { ssa, repeats, inputs, sizes, known: RefCell::default(), bodies: RefCell::default(), left }
    }

    fn input(&self, k: usize) -> Option<Content> {
        let own = || self.ssa.inputs.iter().map(|of| Some(Content::alone(input(of)))).collect();
        let of = || self.repeats.map_or_else(own, |(outer, of)| outer.inputs_of(of));
        self.inputs.get_or_init(of).get(k)?.clone()
    }

    fn size(&self, local: LocalId) -> Option<Option<Content>> {
        let own = || self.ssa.sizes.iter().enumerate().map(|(k, l)| (*l, Some(Content::alone(size(k))))).collect();
        let of = || self.repeats.map_or_else(own, |(outer, of)| outer.sizes_of(of));
        self.sizes.get_or_init(of).get(&local).cloned()
    }

    /// Those of the body of a loop that stands here.
    pub(super) fn body<'b>(&'b self, of: &'b Loop) -> Contents<'b> {
        Contents::beginning(&of.body, Some((self, of)), self.left)
    }

    /// The content of a value.
    pub(super) fn var(&self, var: Var) -> Option<Content> {
        // What it is made of comes first.
        let mut open = vec![(var, false)];
        while let Some((v, ready)) = open.pop() {
            if self.known.borrow().contains_key(&v) {
                continue;
            }
            let stmt = self.ssa.stmts.get(v.0 as usize)?;
            if ready {
                let content = self.left.get().checked_sub(1).and_then(|left| {
                    self.left.set(left);
                    self.stmt(stmt)
                });
                self.known.borrow_mut().insert(v, content);
                continue;
            }
            open.push((v, true));
            stmt.rhs.for_each_operand(&mut |x| {
                if x.0 < v.0 {
                    open.push((x, false));
                }
            });
        }
        self.known.borrow().get(&var).cloned().flatten()
    }

    /// The content of a nest: which tuples of indices there are. `free`: are its first indices told from the others?
    pub(super) fn nest(&self, (dims, free, pred): &Form, apart: bool) -> Option<Content> {
        let count = dims.len();
        let parts = if apart { *free } else { count };
        let mut least: Option<Content> = None;
        for places in orders(parts, count) {
            let names = Names { places: &places, bound: &[] };
            let mut extents: Vec<(usize, Option<Content>)> =
                places.iter().copied().zip(dims.iter().map(|n| self.poly(n, names))).collect();
            extents.sort_by_key(|(place, _)| *place);
            let extents = all("extents", extents.into_iter().map(|(_, n)| n));
            let split = Mix::new("split").with(&apart.then_some(*free)).end();
            let content = all("nest", [Some(split), extents, self.pred(pred, names)])?;
            least = Some(least.map_or(content.clone(), |least| least.min(content)));
        }
        least
    }

    /// How often, and where, a loop runs.
    pub(super) fn repeated(&self, of: &Loop) -> Option<Content> {
        let here = Names::default();
        let batch = all("batch", of.batch.iter().map(|n| self.poly(n, here)))?;
        let trips = match &of.trips {
            Trips::Count(n) => all("count", [self.poly(n, here)]),
            Trips::While(k) => all("while", [self.inputs_of(of).get(*k as usize)?.clone()]),
        };
        all("loop", [Some(batch), self.pred(&of.pred, here), trips])
    }

    /// For which indices something is called.
    pub(super) fn called(&self, dims: &[Poly], pred: &Pred) -> Option<Content> {
        let here = Names::default();
        let dims = all("batch", dims.iter().map(|n| self.poly(n, here)));
        all("called", [dims, self.pred(pred, here)])
    }

    /// What a callee is given: its sizes and inputs by their names.
    pub(super) fn passed(&self, callee: &Ssa, sizes: &[Poly], args: &[Access]) -> Passed {
        let sizes = sizes.iter().enumerate().map(|(k, p)| (size(k), self.poly(p, Names::default())));
        let passed = callee.inputs.iter().filter(|i| i.source.is_passed());
        let args = passed.zip(args).map(|(i, a)| (input(i), self.access(a)));
        let global = callee.inputs.iter().filter(|i| !i.source.is_passed());
        let global = global.map(|i| (input(i), Some(Content::alone(input(i)))));
        sizes.chain(args).chain(global).filter_map(|(name, content)| Some((name, content?))).collect()
    }

    fn sizes_of(&self, of: &Loop) -> HashMap<LocalId, Option<Content>> {
        of.body.sizes.iter().copied().zip(of.sizes.iter().map(|p| self.poly(p, Names::default()))).collect()
    }

    /// What the inputs of the body of a loop are.
    fn inputs_of(&self, of: &Loop) -> Vec<Option<Content>> {
        if let Some(known) = self.bodies.borrow().get(&std::ptr::from_ref(of)) {
            return known.clone();
        }
        let found = self.followed(of);
        self.bodies.borrow_mut().insert(of, found.clone());
        found
    }

    fn followed(&self, of: &Loop) -> Vec<Option<Content>> {
        let first: Vec<Option<Content>> = of.args.iter().map(|a| all("start", [self.access(a.access())])).collect();
        let needs = needs(of);
        let rounds = |k: usize| needs.get(&k).map_or(0, |all| 2 * all.len());
        let last = needs.keys().map(|k| rounds(*k)).filter(|n| *n <= 2 * MOST_CARRIED).max().unwrap_or(0);
        let (mut now, mut done) = (first.clone(), first.clone());
        for (k, _) in of.carried() {
            done.get_mut(k as usize).into_iter().for_each(|slot| *slot = None);
        }
        for round in 1..=last {
            let body = Contents { inputs: OnceCell::from(now.clone()), ..self.body(of) };
            for (k, next) in of.carried() {
                let k = k as usize;
                if rounds(k) < round {
                    continue;
                }
                let next = of.body.outputs.get(next as usize).and_then(|(_, v)| body.var(*v));
                let content = all("carried", [first.get(k).cloned().flatten(), next]);
                now.get_mut(k).into_iter().for_each(|slot| slot.clone_from(&content));
                if rounds(k) == round {
                    done.get_mut(k).into_iter().for_each(|slot| slot.clone_from(&content));
                }
            }
        }
        done
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
                product.any_order(&factors);
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
            Part::Last(k) => all("last", [Some(repeated), self.inputs_of(of).get(k as usize)?.clone()]),
            Part::State(k) => {
                let spacing = match of.checkpoint.as_ref()?.told() {
                    Some(p) => self.poly(p, Names::default()),
                    None => Some(Mix::new("root").end()),
                };
                all("state", [Some(repeated), spacing, self.inputs_of(of).get(k as usize)?.clone()])
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
        let mut terms = Vec::new();
        for (m, c) in p.terms() {
            let mut factors = Vec::new();
            for (a, power) in m {
                let power = Mix::new("power").with(power).end();
                factors.push(all("factor", [Some(power), self.atom(a, names)])?);
            }
            let mut term = Mix::new("term").with(c);
            term.any_order(&factors);
            terms.push(term.end());
        }
        let mut sum = Mix::new("sum");
        sum.any_order(&terms);
        Some(sum.end())
    }

    fn atom(&self, a: &Atom, names: Names<'_>) -> Option<Content> {
        let both = |tag, p, q| all(tag, [self.poly(p, names), self.poly(q, names)]);
        let any = |tag, p, q| {
            let mut mix = Mix::new(tag);
            mix.any_order(&[self.poly(p, names)?, self.poly(q, names)?]);
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
            mix.any_order(&items);
            Some(mix.end())
        };
        // Which coefficient leads depends on the numbers of atoms.
        let zero = |tag, p: &Poly| {
            let mut mix = Mix::new(tag);
            mix.any_order(&[self.poly(p, names)?, self.poly(&p.neg(), names)?]);
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

/// What indices are called.
#[derive(Clone, Copy, Default)]
struct Names<'n> {
    /// The places of those of the nest.
    places: &'n [usize],
    /// Those of existentials around.
    bound: &'n [LocalId],
}

/// The places that indices may have: the first ones in any order, and the others, if there are few.
fn orders(first: usize, count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    if count > MOST_INDICES {
        return vec![(0..count).collect()];
    }
    for part in [0..first, first..count] {
        for _ in part.clone() {
            let free = |have: &Vec<usize>| part.clone().filter(|p| !have.contains(p)).collect::<Vec<_>>();
            let longer = all.iter().flat_map(|have: &Vec<usize>| {
                free(have).into_iter().map(|p| have.iter().copied().chain([p]).collect())
            });
            all = longer.collect();
        }
    }
    all
}

/// Of what a loop carries, what each needs of an iteration before, itself counted.
fn needs(of: &Loop) -> HashMap<usize, BTreeSet<usize>> {
    let body = &of.body;
    let carried: Vec<(usize, u32)> = of.carried().map(|(k, next)| (k as usize, next)).collect();
    let mut read: Vec<BTreeSet<usize>> = Vec::new();
    let by_local: HashMap<LocalId, usize> = body.inputs.iter().enumerate().map(|(k, i)| (i.local, k)).collect();
    for stmt in &body.stmts {
        let mut own = BTreeSet::new();
        if let Rhs::Input(k) = &stmt.rhs {
            own.insert(*k as usize);
        }
        stmt.rhs.for_each_operand(&mut |v| own.extend(read.get(v.0 as usize).into_iter().flatten()));
        let mut locals = |p: &Poly| {
            p.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a {
                    own.extend(by_local.get(l));
                }
            });
        };
        stmt.rhs.for_each_poly(&mut locals);
        stmt.rhs.for_each_pred(&mut |p| p.visit(&mut locals, &mut |_| {}));
        stmt.dims.iter().for_each(&mut locals);
        read.push(own);
    }
    let direct = |k: usize| {
        let next = carried.iter().find(|(c, _)| *c == k).map(|(_, next)| *next);
        let var = next.and_then(|next| body.outputs.get(next as usize)).map(|(_, v)| v.0 as usize);
        var.and_then(|v| read.get(v)).into_iter().flatten().copied().filter(|j| carried.iter().any(|(c, _)| c == j))
    };
    let mut all = HashMap::new();
    for (k, _) in &carried {
        let mut found = BTreeSet::from([*k]);
        let mut open = vec![*k];
        while let Some(at) = open.pop() {
            for j in direct(at) {
                if found.insert(j) {
                    open.push(j);
                }
            }
        }
        all.insert(*k, found);
    }
    all
}
