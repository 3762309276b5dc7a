//! **Cost of a function**: visits its statements in order and adds up their costs.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::content::{Content, Contents, Shared};
use super::nest::{Counts, Form, Given, MOST_STEPS, Nest, Sure};
use super::symbol::{self, Kind, Symbol};
use super::{Amount, Callees, Cost, Greatest, Place, inputs};
use lang_base::{Large, pause};
use lang_ir::core::{Constant, Operation};
use lang_ir::cost::{bytes, is_real, read_by_loops, same_call};
use lang_ir::order;
use lang_ir::region::Part;
use lang_ir::ssa::{Access, CHECK, Check, Rhs, Ssa, Stmt, Var, at_indices, for_each_read, index};
use lang_sizes::count::{self, Formula, Ratio, Uncounted};
use lang_sizes::predicate::{Atom, Context, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The largest number of pieces of a formula. A larger one becomes a symbol.
const MOST: usize = 24;

/// The state of a cost computation.
pub(super) struct Walk<'a> {
    pub(super) callees: Callees<'a>,
    pub(super) symbols: Large<Vec<Symbol>>,
    /// Facts about symbols: non-negative formulas.
    pub(super) bounds: Large<Vec<Formula>>,
    /// The number of repetition indices that have names.
    pub(super) outer: u32,
}

/// The symbols of nests, by kind and by the forms of the nests.
pub(super) type Met = HashMap<(Kind, Vec<Form>), Poly>;

/// A function or loop body in its place.
pub(super) struct Scope<'a> {
    pub(super) ssa: &'a Ssa,
    /// Its sizes and integer parameters, in terms of those of the outermost function.
    pub(super) put: HashMap<LocalId, Poly>,
    pub(super) known: Context,
    pub(super) path: Vec<u32>,
    /// Whether it runs at most once.
    pub(super) once: bool,
    pub(super) sure: Large<Vec<Sure>>,
    /// The extents of arrays that predicates read.
    pub(super) dims: Large<HashMap<LocalId, Vec<Poly>>>,
    /// The contents of its values, in terms of the function's inputs.
    pub(super) contents: Contents<'a>,
    /// Memoised counts.
    pub(super) counts: Large<Counts>,
    /// The symbols of the nests counted so far.
    pub(super) met: Large<RefCell<Met>>,
}

impl Scope<'_> {
    pub(super) fn given(&self) -> Given<'_> {
        Given { known: &self.known, sure: &self.sure, dims: &self.dims, counts: &self.counts }
    }
}

/// The cost of a statement.
#[derive(Default)]
pub(super) struct Own {
    pub(super) amount: Amount,
    /// The memory kept during its computation.
    pub(super) kept: Greatest,
    /// The span from its operands to its result.
    pub(super) span: Greatest,
}

/// The cost of a function in its place.
pub(super) struct Whole {
    pub(super) total: Amount,
    pub(super) parts: Large<Vec<(Place, Amount)>>,
    pub(super) kept: Large<Greatest>,
    pub(super) span: Large<Greatest>,
}

pub(super) fn cost(ssa: &Ssa, given: &[Pred], callees: Callees<'_>) -> Cost {
    let mut sizes: Vec<Poly> = Vec::new();
    let mut of = |p: &Poly| {
        if p.as_constant().is_none() && !sizes.contains(p) {
            sizes.push(p.clone());
        }
    };
    ssa.sizes.iter().for_each(|l| of(&Poly::atom(Atom::Local(*l, ssa.vars.name(*l)))));
    ssa.inputs.iter().flat_map(|i| &i.leaf.dims).filter(|n| !super::nest::has_data(n)).for_each(of);
    let mut known = Context::new(&sizes);
    given.iter().for_each(|p| known.assume(p));
    let names = inputs::names(ssa);
    let constructors = inputs::constructors(ssa, &names);
    constructors.iter().for_each(|p| known.assume(&Pred::nonneg(p)));
    let mut walk = Walk { callees, symbols: Large::default(), bounds: Large::default(), outer: 0 };
    let shared = Shared::default();
    let mut scope = Scope {
        ssa,
        put: HashMap::new(),
        known,
        path: Vec::new(),
        once: true,
        sure: Large::default(),
        dims: Large::default(),
        contents: Contents::new(ssa, &shared),
        counts: Large::default(),
        met: Large::default(),
    };
    let Whole { mut total, parts, kept, span } = walk.function(&mut scope);
    for (of, kind) in
        [(&mut total.work, Kind::Work), (&mut total.tests, Kind::Tests), (&mut total.iterations, Kind::Iterations)]
    {
        if of.overflowed() {
            *of = walk.symbol(&[], kind, None, None).into();
        }
    }
    let leaves = ssa.inputs.iter().map(|i| &i.leaf).chain(ssa.outputs.iter().map(|(leaf, _)| leaf));
    let mut io = Formula::default();
    for leaf in leaves.filter(|leaf| is_real(leaf.scalar)) {
        let dims: Vec<Poly> = leaf.dims.iter().map(|n| walk.poly(&scope, n)).collect();
        io = io.add(&elements(&dims, &scope.known));
    }
    let admitted = admitted(&scope);
    sizes.extend(admitted);
    sizes.extend(constructors);
    let known = &scope.known;
    Cost {
        total: total.cases(known),
        parts: parts.take(),
        io: io.cases(known),
        kept: kept.take(),
        span: span.take(),
        symbols: walk.symbols.take(),
        known: sizes,
        bounds: walk.bounds.take(),
        names,
    }
}

/// Returns polynomials that checks prove non-negative for all sizes at which the function has a
/// value. A condition over indices that mentions none of them holds if the range is not empty. So
/// its product with the number of index tuples is non-negative for all sizes.
fn admitted(scope: &Scope<'_>) -> Vec<Poly> {
    let mut all = Vec::new();
    for sure in scope.sure.iter().filter(|s| s.guard.is_true()) {
        let extents: Vec<&Poly> = sure.indices.iter().map(|i| &i.extent).collect();
        if !extents.iter().all(|n| scope.known.implies(&Pred::nonneg(n))) {
            continue;
        }
        for p in sure.cond.conjuncts().iter().filter(|p| !p.is_opaque()) {
            let p = match p {
                Pred::Ge(p) => p.clone(),
                Pred::Ne(p) if scope.known.implies(&Pred::nonneg(p)) => p.plus(-1),
                _ => continue,
            };
            let fact = extents.iter().fold(p, |fact, n| fact.mul(n));
            let indexed = sure.indices.iter().any(|i| fact.mentions(&i.atom()));
            let told = indexed || super::nest::has_data(&fact) || symbol::mentioned(&fact) || fact.overflowed();
            if !told && !scope.known.implies(&Pred::nonneg(&fact)) && !all.contains(&fact) {
                all.push(fact);
            }
        }
    }
    all
}

/// Returns the number of elements of an array with these extents.
pub(super) fn elements(dims: &[Poly], known: &Context) -> Formula {
    let indices: Vec<Index> = dims.iter().enumerate().map(|(k, n)| index(k, n)).collect();
    count::count(&indices, &Pred::truth(), known).unwrap_or_else(|_| {
        let all = dims.iter().fold(Poly::constant(1), |all, n| all.mul(n));
        Formula::from(all).guarded(&Pred::all(dims.iter().map(Pred::nonneg)))
    })
}

impl Walk<'_> {
    /// Returns the symbol for a number that only the run knows: a total over all runs of a
    /// statement.
    pub(super) fn symbol(&mut self, path: &[u32], kind: Kind, most: Option<Formula>, content: Option<Content>) -> Poly {
        let known = self.symbols.iter().position(|s| s.kind == kind && *s.path == *path);
        let k = known.unwrap_or(self.symbols.len());
        let symbol = Poly::atom(symbol::atom(k));
        if known.is_none() {
            if kind != Kind::Value {
                self.bounds.push(symbol.clone().into());
            }
            if let Some(most) = &most {
                self.bounds.push(minus(most, &symbol.clone().into()));
            }
            self.symbols.push(Symbol { path: path.into(), kind, most, content });
        }
        symbol
    }

    /// Returns the cost of a function in its place.
    pub(super) fn function(&mut self, scope: &mut Scope<'_>) -> Whole {
        let ssa = scope.ssa;
        let asked: BTreeSet<u32> = ssa.stmts.iter().flat_map(|s| &s.needs).chain(&ssa.needs).copied().collect();
        let checks: Vec<(u32, &Check)> =
            asked.iter().filter_map(|c| Some((*c, ssa.checks.get(*c as usize)?))).collect();
        self.read_by_predicates(scope, checks.iter().map(|(_, check)| *check));
        for (_, check) in &checks {
            let indices = self.indices(scope, &check.dims, 0);
            let (guard, cond) = (self.pred(scope, &check.guard), self.pred(scope, &check.cond));
            scope.sure.push(Sure { indices, guard, cond });
        }
        self.places(scope);
        let mut parts: Large<Vec<(Place, Amount)>> = Large::default();
        let (mut most, mut own) = (Large::<Greatest>::default(), Formula::default());
        let mut spans: Large<Vec<Greatest>> = Large::default();
        let mut calls: Vec<(u32, &Rhs)> = Vec::new();
        let read = read_by_loops(ssa);
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            pause();
            if matches!(stmt.rhs, Rhs::Loop(_, Part::Every(_) | Part::State(_))) && read.contains(&Var(k)) {
                let dims: Vec<Poly> = stmt.dims.iter().map(|n| self.poly(scope, n)).collect();
                own = own.add(&elements(&dims, &scope.known).times(&Ratio::constant(bytes(stmt.scalar).into())));
            }
            // One computation yields all parts of a call.
            if matches!(stmt.rhs, Rhs::Call { .. } | Rhs::Loop(..)) {
                if let Some((first, _)) = calls.iter().find(|(_, c)| same_call(c, &stmt.rhs)) {
                    let span = spans.get(*first as usize).cloned().unwrap_or_default();
                    spans.push(span);
                    continue;
                }
                calls.push((k, &stmt.rhs));
            }
            scope.path.push(k);
            let cost = self.statement(scope, stmt);
            scope.path.pop();
            let mut before = Greatest::default();
            let mut reads = |v: Var| {
                if let Some(span) = spans.get(v.0 as usize) {
                    before = std::mem::take(&mut before).or(span);
                }
            };
            stmt.rhs.for_each_operand(&mut reads);
            spans.push(sum(&before, &cost.span));
            *most = std::mem::take(&mut *most).or(&cost.kept);
            if !cost.amount.is_zero() {
                parts.push((Place::Statement(Var(k)), cost.amount));
            }
        }
        for (c, check) in &checks {
            let amount = self.check(scope, *c, check);
            if !amount.is_zero() {
                parts.push((Place::Check(*c), amount));
            }
        }
        let total = parts.iter().fold(Amount::default(), |sum, (_, amount)| sum.add(amount));
        let all = spans.iter().fold(Greatest::default(), |all, one| all.or(one));
        Whole { total, parts, kept: Large::new(most.plus(&own)), span: Large::new(all) }
    }

    /// Records the extents of arrays that predicates read.
    fn read_by_predicates<'c>(&mut self, scope: &mut Scope<'_>, checks: impl Iterator<Item = &'c Check>) {
        let mut read: BTreeSet<Var> = BTreeSet::new();
        let mut note = |p: &Pred| for_each_read(p, &mut |v| read.extend([v]));
        scope.ssa.stmts.iter().for_each(|s| s.rhs.for_each_pred(&mut note));
        checks.for_each(|c| [&c.guard, &c.cond].into_iter().for_each(&mut note));
        for var in read {
            let Some(stmt) = scope.ssa.stmts.get(var.0 as usize) else { continue };
            let dims = stmt.dims.iter().map(|n| self.poly(scope, n)).collect();
            scope.dims.insert(var.local(), dims);
        }
    }

    /// Records the ranges of data-dependent positions. Positions in an order are below the extent.
    /// An `argmax` or `argmin` is the position of a term, if one exists.
    fn places(&mut self, scope: &mut Scope<'_>) {
        let ssa = scope.ssa;
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            let (below, pred, some) = match &stmt.rhs {
                Rhs::Order(o) => match stmt.dims.last() {
                    Some(n) => (self.poly(scope, n), self.pred(scope, &o.pred), Pred::truth()),
                    None => continue,
                },
                Rhs::Reduce(r) if r.reducer.gives_place() && r.is_number(stmt.dims.len()) => {
                    let all = r.bound.iter().fold(Poly::constant(1), |all, n| all.mul(&self.poly(scope, n)));
                    // Without a term the position is -1.
                    let some = if r.terms.is_true() { Pred::nonneg(&all.plus(-1)) } else { Pred::falsity() };
                    (all, self.pred(scope, &r.pred), some)
                }
                _ => continue,
            };
            if scope.once && stmt.dims.is_empty() {
                let mut here = scope.known.clone();
                here.assume(&pred);
                self.place(scope, Var(k), &below, if here.implies(&some) { 0 } else { -1 });
                continue;
            }
            let indices = self.indices(scope, &stmt.dims, 0);
            let own = Atom::Read(Var(k).local(), Var(k).name(), indices.iter().map(Index::value).collect());
            let cond = Pred::inside(&Poly::atom(own), &below);
            scope.sure.push(Sure { indices, guard: pred.and(&some), cond });
        }
    }

    /// Records the range of a single position: below the extent, if that is not 0.
    fn place(&mut self, scope: &mut Scope<'_>, var: Var, below: &Poly, least: i128) {
        let Some(place) = self.read(scope, var.local(), &[]) else { return };
        let most = below.plus(-1).greatest(&Poly::default());
        for fact in [place.plus(-least), most.sub(&place)] {
            scope.known.assume(&Pred::nonneg(&fact));
            self.bounds.push(fact.into());
        }
    }

    fn check(&mut self, scope: &mut Scope<'_>, c: u32, check: &Check) -> Amount {
        let guard = self.asked(scope, &check.guard);
        let nest = self.nest(scope, &check.dims, check.dims.len(), guard);
        let (mut tests, mut most) = (nest.tests(), nest.most_tests());
        if check.cond.is_opaque() {
            tests = tests.and_then(|tests| Ok(tests.add(&nest.terms()?)));
            most = most.and_then(|most| Some(most.add(&nest.most()?)));
        }
        let mut path = scope.path.clone();
        path.push(CHECK | c);
        let tests = tests.ok().filter(|t| t.pieces().len() <= MOST);
        let tests = tests.unwrap_or_else(|| self.symbol(&path, Kind::Tests, most, None).into());
        Amount { tests, ..Amount::default() }
    }

    fn statement(&mut self, scope: &Scope<'_>, stmt: &Stmt) -> Own {
        let path = scope.path.clone();
        let real = i128::from(is_real(stmt.scalar));
        let mut own = Own::default();
        match &stmt.rhs {
            Rhs::Input(_) | Rhs::Constant(_) | Rhs::Zero => {}
            Rhs::Index(_) => {
                let nest = self.nest(scope, &stmt.dims, stmt.dims.len(), Vec::new());
                own.amount.iterations = self.terms(scope, 0, &nest);
            }
            Rhs::Add(items) => {
                let free = self.indices(scope, &stmt.dims, 0);
                let (mut terms, mut any) = (Formula::default(), Vec::new());
                let mut nests = Vec::new();
                for (k, item) in (0..).zip(items) {
                    let asked = self.asked(scope, &item.pred);
                    let nest = self.nest(scope, &stmt.dims, free.len(), asked);
                    terms = terms.add(&self.terms(scope, k, &nest));
                    any.push((item.pred.clone(), nest.pred().clone()));
                    nests.push(nest);
                }
                own.amount.tests = self.tests(scope, &nests.iter().collect::<Vec<_>>());
                if real > 0 {
                    let (forms, preds): (Vec<Pred>, Vec<Pred>) = any.into_iter().unzip();
                    if !apart(&preds, &free, &scope.known) {
                        let any = (Pred::any_of(forms), Pred::any_of(preds));
                        let nest = self.nest(scope, &stmt.dims, free.len(), vec![any]);
                        own.amount.work = minus(&terms, &self.present(scope, &nest, &terms));
                    }
                    let additions = i128::try_from(items.len().saturating_sub(1)).unwrap_or(0);
                    own.span = Formula::from(Poly::constant(additions)).into();
                }
                own.amount.iterations = terms;
            }
            Rhs::Contract { bound, pred, factors, .. } => {
                let products = i128::try_from(factors.len().saturating_sub(1)).unwrap_or(0);
                self.reduced(scope, stmt, bound, pred, (real > 0).then_some(products), None, &mut own);
            }
            Rhs::Reduce(r) => {
                let of = scope.ssa.stmts.get(r.of.var.0 as usize).and_then(|s| s.scalar);
                let work = is_real(of).then_some(0);
                self.reduced(scope, stmt, &r.bound, &r.visited(), work, Some(&r.pred), &mut own);
            }
            Rhs::Order(o) => {
                let pred = self.asked(scope, &o.pred);
                let (outer, last) = stmt.dims.split_at(stmt.dims.len().saturating_sub(1));
                let last = self.indices(scope, last, outer.len());
                let nest = self.nest(scope, outer, outer.len(), pred.clone());
                own.amount.tests = self.tests(scope, &[&nest]);
                let all = self.nest(scope, &stmt.dims, stmt.dims.len(), pred);
                own.amount.iterations = self.terms(scope, 0, &all);
                let of = scope.ssa.stmts.get(o.of.var.0 as usize).and_then(|s| s.scalar);
                let alone = last.iter().all(|i| i.extent.as_constant().is_some_and(|n| n <= 1));
                if is_real(of) && !alone {
                    let n = last.first().and_then(|i| i.extent.as_constant()).and_then(|n| u64::try_from(n).ok());
                    let most = n.map(order::most).map(|c| Ratio::constant(c.into()));
                    let most = nest.most().and_then(|rows| Some(rows.times(&most?)));
                    let content = scope.path.last().and_then(|k| scope.contents.var(Var(*k))).map(|c| c.asked("work"));
                    own.amount.work = self.symbol(&path, Kind::Work, most, content).into();
                    own.span = own.amount.work.clone().into();
                }
            }
            Rhs::Map { operation, pred, args } => {
                let of = args.first().and_then(|a| scope.ssa.stmts.get(a.var.0 as usize)?.scalar);
                self.mapped(scope, stmt, *operation, pred, of.unwrap_or(Scalar::Bool), &mut own);
            }
            Rhs::Update { batch, bound, pred, add, .. } => {
                let batch = *batch as usize;
                let mut dims: Vec<Poly> = stmt.dims.clone();
                dims.iter_mut().skip(batch).for_each(|n| *n = Poly::constant(1));
                let free = dims.len();
                dims.extend(bound.iter().cloned());
                let asked = self.asked(scope, pred);
                let nest = self.nest(scope, &dims, free, asked);
                let terms = self.terms(scope, 0, &nest);
                own.amount.tests = self.tests(scope, &[&nest]);
                if *add && real > 0 {
                    own.amount.work = terms.clone();
                    own.span = Formula::from(Poly::constant(1)).into();
                }
                own.amount.iterations = terms;
            }
            Rhs::Call { .. } => return self.call(scope, stmt),
            Rhs::Loop(of, _) => return self.repeated(scope, of),
        }
        own
    }

    /// Adds the cost of a contraction or a reduction: `products` multiplications for each term, and
    /// the additions of the terms. `products` is `None` if the elements are not real, which costs
    /// no work. `first` is a predicate that is evaluated once for each element.
    #[expect(clippy::too_many_arguments, reason = "the parts of both right-hand sides")]
    fn reduced(
        &mut self,
        scope: &Scope<'_>,
        stmt: &Stmt,
        bound: &[Poly],
        pred: &Pred,
        products: Option<i128>,
        first: Option<&Pred>,
        own: &mut Own,
    ) {
        let dims: Vec<Poly> = stmt.dims.iter().chain(bound).cloned().collect();
        let asked = self.asked(scope, pred);
        let nest = self.nest(scope, &dims, stmt.dims.len(), asked);
        let terms = self.terms(scope, 0, &nest);
        let first = first.map(|p| {
            let asked = self.asked(scope, p);
            self.nest(scope, &stmt.dims, stmt.dims.len(), asked)
        });
        own.amount.tests = self.tests(scope, &[&nest].into_iter().chain(first.as_ref()).collect::<Vec<_>>());
        if let Some(products) = products {
            // Without bound indices, each element has one term.
            let present = if bound.is_empty() { terms.clone() } else { self.present(scope, &nest, &terms) };
            own.amount.work = minus(&terms.times(&Ratio::constant(products + 1)), &present);
            let inner = self.indices(scope, bound, stmt.dims.len());
            // An element has at most as many terms as the bound indices have values.
            let each = count::count(&inner, &Pred::truth(), &scope.known).unwrap_or_else(|_| terms.clone());
            let chain = minus(&each, &Formula::from(Poly::constant(1))).add(&Formula::from(Poly::constant(products)));
            let some = Pred::all(inner.iter().map(|i| Pred::nonneg(&i.extent.plus(-1))));
            own.span = chain.guarded(&some).simplify(&scope.known).into();
        }
        own.amount.iterations = terms;
    }

    fn mapped(&mut self, scope: &Scope<'_>, stmt: &Stmt, operation: Operation, pred: &Pred, of: Scalar, own: &mut Own) {
        let asked = self.asked(scope, pred);
        let nest = self.nest(scope, &stmt.dims, stmt.dims.len(), asked);
        let terms = self.terms(scope, 0, &nest);
        own.amount.tests = self.tests(scope, &[&nest]);
        let work = i128::from(operation.work(of));
        own.amount.work = terms.times(&Ratio::constant(work));
        own.amount.iterations = terms;
        own.span = Formula::from(Poly::constant(work)).into();
    }

    /// Returns the loop nest over indices of these extents, of which the first `free` are free.
    pub(super) fn nest<'n>(
        &mut self,
        scope: &'n Scope<'_>,
        dims: &[Poly],
        free: usize,
        asked: Vec<(Pred, Pred)>,
    ) -> Nest<'n> {
        Nest::new(dims.to_vec(), self.indices(scope, dims, 0), free, asked, scope.given())
    }

    /// Returns a count of nests: the formula if it is small, else a symbol. Equal nests have equal
    /// symbols.
    pub(super) fn told(
        &mut self,
        scope: &Scope<'_>,
        kind: Kind,
        nests: &[&Nest<'_>],
        of: Result<Formula, Uncounted>,
        most: impl FnOnce() -> Option<Formula>,
    ) -> Formula {
        if let Ok(of) = of
            && of.pieces().len() <= MOST
            && !of.overflowed()
        {
            return of;
        }
        let key = key(kind, nests);
        if let Some(known) = scope.met.borrow().get(&key) {
            return known.clone().into();
        }
        let content = match (kind, nests) {
            (Kind::Terms(_), [nest]) => scope.contents.nest(&nest.form(), false).map(|c| c.asked("terms")),
            (Kind::Present, [nest]) => scope.contents.nest(&nest.form(), true).map(|c| c.asked("present")),
            _ => None,
        };
        let symbol = self.symbol(&scope.path, kind, most(), content);
        scope.met.borrow_mut().insert(key, symbol.clone());
        symbol.into()
    }

    fn terms(&mut self, scope: &Scope<'_>, k: u32, nest: &Nest<'_>) -> Formula {
        let own = nest.terms();
        let other = if own.is_err() { rest(scope, Kind::Terms(0), nest, Nest::terms) } else { None };
        other.unwrap_or_else(|| self.told(scope, Kind::Terms(k), &[nest], own, || nest.most()))
    }

    /// Returns the number of elements that have a term.
    fn present(&mut self, scope: &Scope<'_>, nest: &Nest<'_>, terms: &Formula) -> Formula {
        let own = nest.present();
        let other = if own.is_err() { rest(scope, Kind::Present, nest, Nest::present) } else { None };
        if let Some(other) = other {
            return other;
        }
        let count = self.symbols.len();
        let present = self.told(scope, Kind::Present, &[nest], own, || nest.most_present());
        if self.symbols.len() > count {
            self.bounds.push(minus(terms, &present));
        }
        present
    }

    /// Returns the tests of all these nests together.
    fn tests(&mut self, scope: &Scope<'_>, nests: &[&Nest<'_>]) -> Formula {
        let sum = nests.iter().try_fold(Formula::default(), |sum, n| Ok(sum.add(&n.tests()?)));
        let most = || nests.iter().try_fold(Formula::default(), |sum, n| Some(sum.add(&n.most_tests()?)));
        self.told(scope, Kind::Tests, nests, sum, most)
    }

    /// Returns indices of these extents, numbered from `from`.
    pub(super) fn indices(&mut self, scope: &Scope<'_>, dims: &[Poly], from: usize) -> Vec<Index> {
        dims.iter().enumerate().map(|(k, n)| index(from + k, &self.poly(scope, n))).collect()
    }

    /// Returns the conjuncts of a predicate, each also in terms of the sizes.
    pub(super) fn asked(&mut self, scope: &Scope<'_>, p: &Pred) -> Vec<(Pred, Pred)> {
        p.conjuncts().iter().map(|p| (p.clone(), self.pred(scope, p))).collect()
    }

    /// Returns a predicate in terms of the sizes.
    pub(super) fn pred(&mut self, scope: &Scope<'_>, p: &Pred) -> Pred {
        let mut found: HashMap<Poly, Poly> = HashMap::new();
        p.visit(&mut |p| drop(found.insert(p.clone(), Poly::default())), &mut |_| {});
        for (from, to) in &mut found {
            *to = self.poly(scope, from);
        }
        p.map(&|p| found.get(p).cloned().unwrap_or_else(|| p.clone()))
    }

    /// Returns a polynomial in terms of the sizes. Data that may differ between runs of a statement
    /// remain reads.
    pub(super) fn poly(&mut self, scope: &Scope<'_>, p: &Poly) -> Poly {
        if scope.put.is_empty() && !super::nest::has_data(p) {
            return p.clone();
        }
        let mut atoms: Vec<Atom> = Vec::new();
        p.for_each_atom(&mut |a| {
            if matches!(a, Atom::Local(..) | Atom::Read(..)) && !atoms.contains(a) {
                atoms.push(a.clone());
            }
        });
        let mut put: Vec<(Atom, Poly)> = Vec::new();
        for a in atoms {
            let by = match &a {
                Atom::Local(l, _) => scope.put.get(l).cloned(),
                Atom::Read(x, name, at) => {
                    let at: Vec<Poly> = at.iter().map(|p| self.poly(scope, p)).collect();
                    Some(
                        self.read(scope, *x, &at)
                            .unwrap_or_else(|| Poly::atom(Atom::Read(*x, name.clone(), at.into()))),
                    )
                }
                _ => None,
            };
            put.extend(by.map(|by| (a, by)));
        }
        p.substitute(&|a| put.iter().find(|(b, _)| a == b).map(|(_, p)| p.clone()))
    }

    /// Returns an element of an integer array, if sizes and indices determine it, or if it is
    /// computed only once.
    fn read(&mut self, scope: &Scope<'_>, x: LocalId, at: &[Poly]) -> Option<Poly> {
        let var = Var::of_local(x)?;
        if let Some(p) = self.integer(scope, var, at) {
            return Some(p);
        }
        if scope.once && at.is_empty() {
            let path: Vec<u32> =
                scope.path.iter().copied().take(scope.path.len().saturating_sub(1)).chain([var.0]).collect();
            let content = match &scope.ssa.stmts.get(var.0 as usize)?.rhs {
                Rhs::Loop(of, Part::Trips) => scope.contents.repeated(of).map(|c| c.asked("trips")),
                _ => scope.contents.var(var).map(|c| c.asked("value")),
            };
            return Some(self.symbol(&path, Kind::Value, None, content));
        }
        None
    }

    /// Returns an integer that sizes and indices determine.
    pub(super) fn integer(&mut self, scope: &Scope<'_>, var: Var, at: &[Poly]) -> Option<Poly> {
        match &scope.ssa.stmts.get(var.0 as usize)?.rhs {
            Rhs::Index(p) => {
                let p = at_indices(p, at);
                Some(self.poly(scope, &p)).filter(|p| !super::nest::has_data(p))
            }
            Rhs::Constant(Constant::Int(i)) => Some(Poly::constant((*i).into())),
            Rhs::Input(k) => {
                let input = scope.ssa.inputs.get(*k as usize)?;
                let local = || Poly::atom(Atom::Local(input.local, scope.ssa.vars.name(input.local)));
                let by = scope.put.get(&input.local).cloned().or_else(|| scope.once.then(local))?;
                (at.is_empty() && input.leaf.dims.is_empty() && !super::nest::has_data(&by)).then_some(by)
            }
            Rhs::Contract { bound, pred, neg: false, factors } if bound.is_empty() && pred.is_true() => {
                let [Access { var, at: inner }] = factors.as_slice() else { return None };
                let inner: Vec<Poly> = inner.iter().map(|p| at_indices(p, at)).collect();
                self.integer(scope, *var, &inner)
            }
            _ => None,
        }
    }
}

/// Returns the key under which equal counts of nests share a symbol.
fn key(kind: Kind, nests: &[&Nest<'_>]) -> (Kind, Vec<Form>) {
    let class = match kind {
        Kind::Terms(_) => Kind::Terms(0),
        // Without bound indices, each element has one term.
        Kind::Present if nests.iter().all(|n| n.is_free()) => Kind::Terms(0),
        other => other,
    };
    (class, nests.iter().map(|n| n.form()).collect())
}

/// Returns the count of a nest as a difference, if the nest with one conjunct negated was counted.
/// Both together are the count without that conjunct.
fn rest<'n>(
    scope: &Scope<'_>,
    kind: Kind,
    nest: &Nest<'n>,
    count: fn(&Nest<'n>) -> Result<Formula, Uncounted>,
) -> Option<Formula> {
    let met = |nest: &Nest<'_>| scope.met.borrow().get(&key(kind, &[nest])).cloned().map(Formula::from);
    nest.others(kind == Kind::Present).into_iter().find_map(|(other, without)| {
        let part = met(&other)?;
        let all = count(&without).ok().or_else(|| met(&without));
        Some(minus(&all?, &part))
    })
}

/// Whether these predicates exclude each other pairwise.
fn apart(preds: &[Pred], indices: &[Index], known: &Context) -> bool {
    // In an array literal, each element has an index of its own.
    let own = |i: &Index| {
        let at: Option<BTreeSet<i128>> = preds.iter().map(|p| p.solution(&i.atom())?.as_constant()).collect();
        at.is_some_and(|at| at.len() == preds.len())
    };
    if indices.iter().any(own) {
        return true;
    }
    let mut inside = known.clone();
    indices.iter().for_each(|i| inside.enter(i));
    preds.iter().enumerate().all(|(k, p)| {
        pause();
        known.spent() < MOST_STEPS && preds.iter().skip(k + 1).all(|q| inside.refutes(&p.and(q)))
    })
}

/// Adds spans in sequence.
pub(super) fn sum(before: &Greatest, own: &Greatest) -> Greatest {
    match own.formulas() {
        [] => before.clone(),
        all => all.iter().fold(Greatest::default(), |sum, one| sum.or(&before.plus(one))),
    }
}

pub(super) fn minus(a: &Formula, b: &Formula) -> Formula {
    a.add(&b.times(&Ratio::constant(-1)))
}
