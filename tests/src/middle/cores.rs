//! **Random core functions.** Draws programs of core that elaboration never produces, so that every
//! rule of the passes is reached. Examples are a generation that is indexed at once, a tuple that
//! is destructured where it is built, and `let`s everywhere.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use lang_core::ad;
use lang_core::base::{Code, GlobalName, Span};
use lang_core::ir::core::{
    CheckFailure, Constant, CoreExpr, CoreFunction, CoreType, ExprKind, ExprRef, FunctionKey, ScalarOp, Vars,
};
use lang_core::ir::reduce::{CoreReduction, Reducer, linear_index};
use lang_core::ir::ssa::SsaFunction;
use lang_core::ir::value::IrValue;
use lang_core::norm::{RuleCoverage, let_lifting, pair_elimination, pushout, to_ssa};
use lang_core::pipeline::{MemoisedForms, Stages};
use lang_core::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_core::resolve::scalar_fn::ScalarFn;
use lang_core::session::Session;
use lang_core::syntax::ops::{BinOp, Scalar};

use super::form_laws::{BrokenLaw, LawChecker};
use super::forms::FormProvider;
use super::interpreter_oracle::{grid, point};
use super::soak::MiddleReport;
use crate::random::Random;

/// Functions of core in all their forms.
struct CoreForms<'a> {
    known: RefCell<HashMap<FunctionKey, Arc<Stages>>>,
    derived: RefCell<HashMap<FunctionKey, Option<Arc<SsaFunction>>>>,
    /// The tables of the derivatives of scalar functions.
    tables: &'a MemoisedForms<'a>,
    hits: RefCell<RuleCoverage>,
}

impl CoreForms<'_> {
    fn add(&self, core: &CoreFunction) -> Arc<Stages> {
        let hits = &mut *self.hits.borrow_mut();
        let lifted = let_lifting::lift_lets(core, hits);
        let pairs = pair_elimination::eliminate_pairs(&lifted, hits);
        let pushed = pushout::push_out_generations(&pairs, hits);
        let known = |callee: &Arc<FunctionKey>| self.known.borrow().get(&**callee).map(|s| s.ssa.clone());
        let (ssa, origins) = to_ssa::to_ssa(&pushed, &known, false, hits);
        let stages = Arc::new(Stages {
            core: Arc::new(core.clone()),
            lifted: Arc::new(lifted),
            flat: Arc::new(pairs),
            pushed: Arc::new(pushed),
            ssa: Arc::new(ssa),
            origins: Arc::new(origins),
        });
        self.known.borrow_mut().insert((*core.callee).clone(), stages.clone());
        stages
    }
}

impl FormProvider for CoreForms<'_> {
    fn stages(&self, callee: &Arc<FunctionKey>) -> Option<Arc<Stages>> {
        self.known.borrow().get(&**callee).cloned()
    }

    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        let Some((last, before)) = callee.derivatives.split_last() else {
            return self.stages(callee).map(|s| s.ssa.clone()).or_else(|| self.tables.ssa(callee));
        };
        if let Some(known) = self.derived.borrow().get(&**callee) {
            return known.clone();
        }
        let of = Arc::new(FunctionKey { derivatives: before.into(), ..(**callee).clone() });
        let derived = self.ssa(&of).and_then(|ssa| {
            let mut hits = RuleCoverage::default();
            let derived = ad::derive(&ssa, last, &|c| self.ssa(c), &mut hits);
            self.hits.borrow_mut().merge(&hits);
            derived.map(|(ssa, _)| Arc::new(ssa))
        });
        self.derived.borrow_mut().insert((**callee).clone(), derived.clone());
        derived
    }

    fn global(&self, _: &GlobalName) -> Option<IrValue> {
        None
    }
}

thread_local! {
    static TABLES: MemoisedForms<'static> = MemoisedForms::new(Box::leak(Box::new(Session::new())));
}

/// Draws functions and checks the laws on each.
///
/// # Errors
/// The broken law, and the shrunk functions.
pub fn judge(seed: u64, report: &mut MiddleReport) -> Result<(), (String, String)> {
    let mut functions: Vec<CoreFunction> = Vec::new();
    let mut random = Random::new(seed ^ 0x5eed);
    for k in 0..1 + random.number_below(2) {
        functions.push(CoreGenerator::function(&mut random, k, &functions, Random::new(seed ^ 0x0de5).once_in(3)));
    }
    report.programs += 1;
    let Err(broken) = laws(&functions, report) else { return Ok(()) };
    let mut unused = MiddleReport { without_costs: report.without_costs, ..MiddleReport::default() };
    let (small, how) = shrink(functions, &broken, &mut unused);
    let text: Vec<String> = small.iter().map(ToString::to_string).collect();
    Err((broken.law, format!("{how}\nmade smaller\n{}", text.join("\n"))))
}

fn laws(functions: &[CoreFunction], report: &mut MiddleReport) -> Result<(), BrokenLaw> {
    TABLES.with(|tables| {
        let forms = CoreForms {
            known: RefCell::default(),
            derived: RefCell::default(),
            // The tables are leaked once for each thread.
            tables,
            hits: RefCell::default(),
        };
        let mut judge =
            LawChecker::new(&forms).map_err(|how| BrokenLaw { law: "the tolerances can be read".into(), how })?;
        judge.costs = !report.without_costs;
        let mut random = Random::new(23);
        let mut result = Ok(());
        'all: for function in functions {
            report.definitions += 1;
            let stages = forms.add(function);
            result = judge.shapes(&stages);
            if result.is_err() {
                break;
            }
            for (nth, sizes) in grid(&mut random, function, 2).iter().enumerate() {
                judge.twice = nth == 3;
                let Some(point) = point(&mut random, function, sizes) else { continue };
                result = judge.point(&stages, &point, None, &mut random);
                if result.is_err() {
                    break 'all;
                }
            }
        }
        report.tally.add(&judge.tally);
        report.hits.merge(&forms.hits.borrow());
        result
    })
}

// ---- drawing ----

struct CoreGenerator<'r> {
    random: &'r mut Random,
    vars: Vars,
    scope: Vec<(LocalId, CoreType)>,
    indices: Vec<Index>,
    known: &'r [CoreFunction],
    n: Poly,
    m: Poly,
    /// The inputs that hold indices into other inputs, and truth values.
    k: LocalId,
    b: LocalId,
    left: usize,
    smooth: bool,
    /// Whether `argsort` may be drawn.
    orders: bool,
    /// Whether products over ranges may be drawn.
    prods: bool,
}

const REAL: CoreType = CoreType::Scalar(Scalar::F64);

fn pair(a: CoreType, b: CoreType) -> CoreType {
    CoreType::tuple([a, b])
}

fn tensor(n: &Poly, of: CoreType) -> CoreType {
    CoreType::Tensor(n.clone(), Arc::new(of))
}

fn node(kind: ExprKind, ty: CoreType) -> ExprRef {
    CoreExpr::new(kind, ty, Span::default())
}

impl<'r> CoreGenerator<'r> {
    fn function(random: &'r mut Random, number: usize, known: &'r [CoreFunction], orders: bool) -> CoreFunction {
        let mut vars = Vars::default();
        let sizes: Vec<LocalId> = ["n", "m"].into_iter().map(|name| vars.fresh(name)).collect();
        let [n, m] = [0, 1].map(|k| Poly::atom(vars.atom(LocalId(k))));
        let types = [
            ("x", tensor(&n, REAL)),
            ("a", tensor(&n, tensor(&m, REAL))),
            ("q", tensor(&n, pair(REAL, REAL))),
            ("p", pair(REAL, tensor(&m, REAL))),
            ("k", tensor(&m, CoreType::Scalar(Scalar::I64))),
            ("b", tensor(&n, CoreType::Scalar(Scalar::Bool))),
            ("s", REAL),
        ];
        let params: Vec<(LocalId, CoreType)> = types.into_iter().map(|(name, ty)| (vars.fresh(name), ty)).collect();
        let find = |name: &str| params.iter().find(|(l, _)| vars.name(*l).as_str() == name).map_or(LocalId(0), |p| p.0);
        let (k, b) = (find("k"), find("b"));
        let (left, smooth) = (12 + random.number_below(if number == 0 { 60 } else { 30 }), random.number_below(2) == 0);
        let prods = random.once_in(5);
        let results = [
            REAL,
            REAL,
            REAL,
            tensor(&n, REAL),
            tensor(&n, tensor(&m, REAL)),
            pair(REAL, tensor(&m, REAL)),
            tensor(&n, pair(REAL, REAL)),
        ];
        let ty = random.pick(&results).cloned().unwrap_or(REAL);
        let mut draw = CoreGenerator {
            random,
            vars,
            scope: params.clone(),
            indices: Vec::new(),
            known,
            n,
            m,
            k,
            b,
            left,
            smooth,
            orders,
            prods,
        };
        let body = draw.expr(&ty, 6);
        CoreFunction {
            callee: Arc::new(FunctionKey::new(GlobalName::new("core", &format!("f{number}")), Vec::new())),
            vars: draw.vars,
            sizes,
            params,
            bounded_params: std::collections::BTreeSet::new(),
            body,
            local_functions: Vec::new(),
            rule_of: None,
        }
    }

    fn extent(&mut self) -> Poly {
        if self.random.number_below(2) == 0 { self.n.clone() } else { self.m.clone() }
    }

    /// Draws a type for a subexpression.
    fn some(&mut self) -> CoreType {
        let extent = self.extent();
        match self.random.number_below(6) {
            0 => tensor(&extent, REAL),
            1 => pair(REAL, REAL),
            2 => pair(REAL, tensor(&extent, REAL)),
            3 => tensor(&extent, pair(REAL, REAL)),
            _ => REAL,
        }
    }

    /// Returns an index of this extent in scope, as a polynomial.
    fn at(&mut self, extent: &Poly) -> Option<Poly> {
        let all: Vec<Poly> = self.indices.iter().filter(|i| i.extent == *extent).map(Index::value).collect();
        self.random.pick(&all).cloned()
    }

    fn over<T>(&mut self, extent: &Poly, inside: impl FnOnce(&mut Self) -> T) -> (Index, T) {
        let index = self.vars.fresh_index("i", extent.clone());
        self.indices.push(index.clone());
        let scope = self.scope.len();
        let inner = inside(self);
        self.scope.truncate(scope);
        self.indices.pop();
        (index, inner)
    }

    fn expr(&mut self, ty: &CoreType, depth: usize) -> ExprRef {
        self.left = self.left.saturating_sub(1);
        if depth == 0 || self.left == 0 {
            return self.leaf(ty);
        }
        let d = depth - 1;
        match self.random.number_below(14) {
            0 | 1 => {
                let some = self.some();
                let value = self.expr(&some, d);
                let x = self.vars.fresh("v");
                let scope = self.scope.len();
                self.scope.push((x, some));
                let body = self.expr(ty, d);
                self.scope.truncate(scope);
                CoreExpr::lets(vec![(x, value)], body)
            }
            2 => {
                let p = self.pred(true);
                CoreExpr::guard(p, self.expr(ty, d))
            }
            3 => {
                let other = self.some();
                let (e, rest) = (self.expr(ty, d), self.expr(&other, d.min(1)));
                let (items, k) = if self.random.number_below(2) == 0 { (vec![e, rest], 0) } else { (vec![rest, e], 1) };
                let types = items.iter().map(|e| e.ty.clone()).collect::<Vec<_>>();
                CoreExpr::proj(&node(ExprKind::Tuple(items), CoreType::tuple(types)), k)
            }
            4 | 5 => {
                let extent = self.extent();
                match self.at(&extent) {
                    Some(at) => CoreExpr::access(&self.expr(&tensor(&extent, ty.clone()), d), at),
                    None => self.own(ty, d),
                }
            }
            6 | 12 => self.call(ty, d).unwrap_or_else(|| self.own(ty, d)),
            7 if self.random.once_in(3) => {
                let p = self.pred(true);
                let e = self.expr(ty, d);
                self.check(p, &e)
            }
            _ => self.own(ty, d),
        }
    }

    fn check(&mut self, p: Pred, e: &ExprRef) -> ExprRef {
        let what = CheckFailure {
            code: Code::E0502,
            message: "a drawn check".into(),
            item: GlobalName::new("core", "f"),
            node: None,
        };
        e.with_kind(ExprKind::Check(p, Arc::new(what), e.clone()), e.ty.clone())
    }

    /// Draws the form that constructs a value of the type.
    fn own(&mut self, ty: &CoreType, d: usize) -> ExprRef {
        match ty {
            CoreType::Tensor(n, inner) => {
                let (index, e) = self.over(n, |g| g.expr(inner, d));
                CoreExpr::generate(index, e)
            }
            CoreType::Tuple(types, _) => {
                let items = types.iter().map(|t| self.expr(t, d)).collect();
                node(ExprKind::Tuple(items), ty.clone())
            }
            _ => self.scalar(d),
        }
    }

    fn scalar(&mut self, d: usize) -> ExprRef {
        match self.random.number_below(15) {
            12..=14 if self.orders && self.random.number_below(2) == 0 => self.order(d),
            12..=14 => self.reduction(d),
            0..=2 => {
                let items = (0..2 + self.random.number_below(2)).map(|_| self.expr(&REAL, d)).collect();
                node(ExprKind::Add(items), REAL)
            }
            3 | 4 => {
                let (a, b) = (self.expr(&REAL, d), self.expr(&REAL, d));
                node(ExprKind::Mul(a, b), REAL)
            }
            5 => node(ExprKind::Neg(self.expr(&REAL, d)), REAL),
            6..=8 => {
                let extent = self.extent();
                let (index, e) = self.over(&extent, |g| g.expr(&REAL, d));
                node(ExprKind::Sum(index, e), REAL)
            }
            9 if self.smooth => {
                let f = self
                    .random
                    .pick_or(&[ScalarFn::Sin, ScalarFn::Tanh, ScalarFn::Max, ScalarFn::Hypot], ScalarFn::Sin);
                let args = f.arguments().iter().map(|_| self.expr(&REAL, d)).collect();
                node(ExprKind::Apply(ScalarOp::Scalar(f), args), REAL)
            }
            10 if self.smooth => {
                // A quotient whose divisor is at least 2.
                let (a, b) = (self.expr(&REAL, d), self.expr(&REAL, 0));
                let two = node(ExprKind::Constant(Constant::Real(2.0)), REAL);
                let b = node(ExprKind::Add(vec![two, node(ExprKind::Mul(b.clone(), b), REAL)]), REAL);
                node(ExprKind::Apply(ScalarOp::Binary(BinOp::Div), vec![a, b]), REAL)
            }
            _ => {
                let e = self.expr(&REAL, d);
                let two = node(ExprKind::Constant(Constant::Int(2)), CoreType::Scalar(Scalar::I64));
                node(ExprKind::Apply(ScalarOp::PowInt, vec![e, two]), REAL)
            }
        }
    }

    /// Draws a reduction: a product, a maximum, a minimum, their argument, or the element at it.
    fn reduction(&mut self, d: usize) -> ExprRef {
        let several = self.random.once_in(3);
        let reducers = [Reducer::Max, Reducer::Min, Reducer::Argmax, Reducer::Argmin, Reducer::Max, Reducer::Prod];
        let reducer = self.random.pick_or(&reducers, Reducer::Max);
        let reducer = if reducer == Reducer::Prod && !self.prods { Reducer::Min } else { reducer };
        let (n, m) = (self.extent(), self.extent());
        let inside = |g: &mut Self| {
            let terms = if g.random.once_in(2) { g.pred(true) } else { Pred::truth() };
            (terms, g.expr(&REAL, d))
        };
        let (indices, (terms, body)) = if several {
            let (i, (j, inner)) = self.over(&n, |g| g.over(&m, inside));
            (vec![i, j], inner)
        } else {
            let (i, inner) = self.over(&n, inside);
            (vec![i], inner)
        };
        let place = if reducer.is_arg_reduction() { linear_index(&indices) } else { Poly::default() };
        let ty = if reducer.is_arg_reduction() { CoreType::Scalar(Scalar::I64) } else { REAL };
        let extent = indices.first().map(|i| i.extent.clone()).unwrap_or_default();
        let e = node(
            ExprKind::Reduce(Box::new(CoreReduction { reducer, indices, filter: terms, arg_value: place, body })),
            ty,
        );
        if !reducer.is_arg_reduction() {
            return e;
        }
        if self.random.number_below(2) == 0 {
            return node(ExprKind::Apply(ScalarOp::Convert(Scalar::F64), vec![e]), REAL);
        }
        let k = self.vars.fresh("k");
        let read = Poly::atom(Atom::Read(k, self.vars.name(k), [].into()));
        let of = self.expr(&tensor(&extent, REAL), d.min(1));
        let element = CoreExpr::guard(Pred::in_range(&read, &extent), CoreExpr::access(&of, read));
        CoreExpr::lets(vec![(k, e)], element)
    }

    /// Draws the first position in an order of reals or of truth values, or a sum over the elements
    /// at all positions.
    fn order(&mut self, d: usize) -> ExprRef {
        let extent = self.extent();
        let truths = self.random.once_in(3);
        let (index, key) = self.over(&extent, |g| {
            let key = g.expr(&REAL, d.min(2));
            if truths {
                let bool = CoreType::Scalar(Scalar::Bool);
                let zero = node(ExprKind::Constant(Constant::Real(0.0)), REAL);
                node(ExprKind::Apply(ScalarOp::Binary(BinOp::Lt), vec![zero, key]), bool)
            } else {
                key
            }
        });
        let p = self.vars.fresh("p");
        let order = CoreExpr::argsort(index, key);
        let of = self.expr(&tensor(&extent, REAL), d.min(1));
        let name = self.vars.name(p);
        let read = |at: Poly| Poly::atom(Atom::Read(p, name.clone(), [at].into()));
        let body = if self.random.once_in(3) {
            let first = CoreExpr::access(&of, read(Poly::default()));
            CoreExpr::guard(Pred::less(&Poly::default(), &extent), first)
        } else {
            let index = self.vars.fresh_index("i", extent);
            let element = CoreExpr::access(&of, read(index.value()));
            let by = node(ExprKind::Index(index.value()), CoreType::Scalar(Scalar::I64));
            let by = node(ExprKind::Apply(ScalarOp::Convert(Scalar::F64), vec![by]), REAL);
            node(ExprKind::Sum(index, node(ExprKind::Mul(element, by), REAL)), REAL)
        };
        CoreExpr::lets(vec![(p, order)], body)
    }

    fn call(&mut self, ty: &CoreType, d: usize) -> Option<ExprRef> {
        let all: Vec<usize> = (0..self.known.len()).collect();
        let f = self.known.get(*self.random.pick(&all)?)?;
        let (n, m) = (self.n.clone(), self.m.clone());
        let put = |p: &Poly| {
            p.substitute(&|a| match a {
                Atom::Local(LocalId(0), _) => Some(n.clone()),
                Atom::Local(LocalId(1), _) => Some(m.clone()),
                _ => None,
            })
        };
        if f.body.ty.map_sizes(&put) != *ty {
            return None;
        }
        let args = f.params.iter().map(|(_, t)| {
            let t = t.map_sizes(&put);
            let real = t.leaves().iter().all(|l| l.scalar == Some(Scalar::F64));
            if real { self.expr(&t, d.min(1)) } else { self.leaf(&t) }
        });
        let args = args.collect();
        Some(node(ExprKind::Call(f.callee.clone(), vec![n, m], args), ty.clone()))
    }

    /// Draws a small expression: a variable, an element or a component, or else a constant.
    fn leaf(&mut self, ty: &CoreType) -> ExprRef {
        let mut all: Vec<ExprRef> = Vec::new();
        for (x, of) in self.scope.clone() {
            let mut open = vec![node(ExprKind::Var(x), of)];
            while let Some(e) = open.pop() {
                if e.ty == *ty {
                    all.push(e);
                    continue;
                }
                match &e.ty {
                    CoreType::Tuple(types, _) => {
                        open.extend((0..).zip(types.iter()).map(|(k, _)| CoreExpr::proj(&e, k)))
                    }
                    CoreType::Tensor(n, _) => {
                        let n = n.clone();
                        if let Some(at) = self.at(&n) {
                            open.push(CoreExpr::access(&e, at.clone()));
                            // The next element, if it exists.
                            let next = at.add_constant(1);
                            let inner = CoreExpr::access(&e, next.clone());
                            if inner.ty == *ty && self.random.once_in(4) {
                                all.push(CoreExpr::guard(Pred::less(&next, &n), inner));
                            }
                            // The element at an index read from data.
                        }
                        let data = if n == self.n { self.at(&self.m.clone()) } else { None };
                        if let Some(at) = data
                            && self.random.once_in(3)
                        {
                            let read = Poly::atom(Atom::Read(self.k, self.vars.name(self.k), [at].into()));
                            let inner = CoreExpr::access(&e, read.clone());
                            if inner.ty == *ty {
                                let inside = Pred::in_range(&read, &n);
                                all.push(if self.random.once_in(8) {
                                    self.check(inside, &inner)
                                } else {
                                    CoreExpr::guard(inside, inner)
                                });
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        match ty {
            CoreType::Scalar(Scalar::F64) => {
                let constant = self.random.pick_or(&[0.5, 2.0, -1.5, 1.0, 0.0], 0.5);
                all.push(node(ExprKind::Constant(Constant::Real(constant)), REAL));
            }
            CoreType::Tensor(n, inner) if all.is_empty() => {
                let (index, e) = self.over(n, |g| g.leaf(inner));
                all.push(CoreExpr::generate(index, e));
            }
            CoreType::Tuple(types, _) if all.is_empty() => {
                let items = types.iter().map(|t| self.leaf(t)).collect();
                all.push(node(ExprKind::Tuple(items), ty.clone()));
            }
            _ => {}
        }
        let k = self.random.number_below(all.len());
        all.swap_remove(k)
    }

    fn pred(&mut self, compound: bool) -> Pred {
        let mut all = vec![Pred::less(&self.n, &self.m.add_constant(1)), Pred::equal(&self.n, &self.m)];
        let zero = Poly::default();
        for i in &self.indices {
            let a = i.value();
            all.extend([Pred::equal(&a, &zero), Pred::less(&zero, &a), Pred::less(&a.add_constant(1), &i.extent)]);
            if i.extent == self.n {
                all.push(Pred::Element(self.b, self.vars.name(self.b), [a.clone()].into(), true));
                all.push(Pred::Element(self.b, self.vars.name(self.b), [a.clone()].into(), false));
            }
            for j in &self.indices {
                if i.local == j.local {
                    continue;
                }
                let c = j.value();
                all.extend([
                    Pred::equal(&a, &c),
                    Pred::less(&a, &c),
                    Pred::equal(&a.add_constant(1), &c),
                    Pred::equal(&a, &c).negated(),
                ]);
                if i.extent == self.m {
                    let read = Poly::atom(Atom::Read(self.k, self.vars.name(self.k), [a.clone()].into()));
                    all.push(Pred::equal(&read, &c));
                }
            }
        }
        let simple = self.random.pick(&all).cloned().unwrap_or_default();
        match self.random.number_below(9) {
            0 if compound => simple.and(&self.pred(false)),
            1 if compound => Pred::any_of([simple, self.pred(false)]),
            2 if compound => {
                let extent = self.extent();
                let (index, inner) = self.over(&extent, |g| g.pred(false));
                Pred::exists(&index, &inner)
            }
            3 if compound => simple.negated(),
            _ => simple,
        }
    }
}

// ---- shrinking ----

/// The greatest number of candidates.
const TRIES: usize = 1500;

/// Replaces expressions with parts of them as long as the same law breaks. Returns the smallest
/// functions and the details.
fn shrink(
    mut functions: Vec<CoreFunction>,
    broken: &BrokenLaw,
    unused: &mut MiddleReport,
) -> (Vec<CoreFunction>, String) {
    let (mut how, mut tries) = (broken.how.clone(), 0);
    'again: loop {
        for k in 0..functions.len() {
            let Some(body) = functions.get(k).map(|f| f.body.clone()) else { continue };
            for smaller in candidates(&body) {
                tries += 1;
                if tries > TRIES {
                    return (functions, how);
                }
                let mut others = functions.clone();
                if let Some(f) = others.get_mut(k) {
                    f.body = smaller;
                }
                if let Err(b) = laws(&others, unused)
                    && b.law == broken.law
                {
                    (functions, how) = (others, b.how);
                    continue 'again;
                }
            }
        }
        return (functions, how);
    }
}

/// Returns the expression with one node replaced by a smaller one of its type, the smallest result
/// first.
fn candidates(e: &ExprRef) -> Vec<ExprRef> {
    let mut nodes = Vec::new();
    list(e, &mut nodes);
    let mut all = Vec::new();
    for (at, outer) in nodes.iter().enumerate() {
        let mut inner = Vec::new();
        list(outer, &mut inner);
        let mut put = |new: &ExprRef| {
            let mut next = 0;
            all.push(replace(e, at, new, &mut next));
        };
        if outer.ty == REAL && !matches!(outer.kind, ExprKind::Constant(_)) {
            put(&node(ExprKind::Constant(Constant::Real(1.0)), REAL));
        }
        inner.iter().skip(1).filter(|i| i.ty == outer.ty).for_each(&mut put);
    }
    all.sort_by_cached_key(size);
    let own = size(e);
    all.retain(|c| size(c) < own);
    all
}

fn list(e: &ExprRef, out: &mut Vec<ExprRef>) {
    out.push(e.clone());
    e.for_each_child(&mut |e| list(e, out));
}

fn size(e: &ExprRef) -> usize {
    let mut nodes = Vec::new();
    list(e, &mut nodes);
    nodes.len()
}

/// Returns the expression with node number `at`, in the order of [`list`], replaced.
fn replace(e: &ExprRef, at: usize, new: &ExprRef, next: &mut usize) -> ExprRef {
    let own = *next;
    *next += 1;
    if own == at {
        // The nodes inside have numbers too.
        *next += size(e) - 1;
        return new.clone();
    }
    e.map(&mut |e| replace(e, at, new, next), &Poly::clone, &Pred::clone)
}
