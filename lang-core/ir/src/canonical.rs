//! **Canonical forms** of core and Tensor SSA, as the printers write them. Variables are numbered
//! in binding order, each has a name that is unique in its scope, and source locations are removed.
//! Forms that print alike are equal here, however their passes numbered the variables. The printers
//! call this module; [`super::canonical_region`] treats loops.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::canonical_region;
use super::core::{Constant, CoreType, E, Expr, Failing, Function, Kind, Repeat, Spacing, Trips, Update, Vars};
use super::flat::Input;
use super::reduce::Reduction;
use super::region::Loop;
use super::ssa::{Access, Check, Rhs, Ssa, Stmt, Var, index_number};
use lang_base::guarded;
use lang_base::{GlobalName, Name, Span};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::lexer::{is_name_continue, is_name_start};
use lang_syntax::ops::Scalar;

/// Words that the texts never use as names.
const WORDS: &[&str] = &["for", "let", "in", "check", "true", "false", "nan", "inf", "_"];

/// A canonical form, with the declarations that its text prints beside it.
#[derive(Clone, Debug)]
pub struct Canonical<T> {
    /// The form. Top-level `let`s have their printed names in it.
    pub form: T,
    /// The top-level `let`s that the form reads: printed name, global name, and type.
    pub globals: Vec<(Name, GlobalName, CoreType)>,
    /// Integer variables that the text prints as plain index expressions. All other integers are
    /// read as data.
    pub indices: BTreeSet<LocalId>,
}

/// Whether the text is a word that the reader accepts as a name.
#[must_use]
pub fn is_name(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(is_name_continue)
}

/// Returns the canonical form of a core function.
#[must_use]
pub fn core(function: &Function) -> Canonical<Function> {
    let used = Used::of(function);
    let is_i64 = |ty: &CoreType| *ty == CoreType::Scalar(Scalar::I64);
    let mut naming = Naming::new(false);
    naming.old_indices = used.local.clone();
    naming.old_indices.extend(&function.sizes);
    // An integer parameter is an index expression unless all its uses read it as data.
    let plain = |l: &LocalId| !used.read.contains(l);
    naming.old_indices.extend(function.params.iter().filter(|(l, ty)| is_i64(ty) && plain(l)).map(|p| p.0));
    let sizes = function.sizes.iter().map(|l| naming.enter(*l, &function.vars.name(*l)).0).collect();
    let locals: Vec<LocalId> =
        function.params.iter().map(|(l, _)| naming.enter(*l, &function.vars.name(*l)).0).collect();
    naming.globals(used.globals);
    let params = locals.iter().zip(&function.params).map(|(l, (_, ty))| (*l, naming.ty(ty))).collect();
    // `bounded` also lists captured data, but only integers are printed as bounded.
    let integers = function.params.iter().filter(|(l, ty)| is_i64(ty) && function.bounded.contains(l));
    let bounded = integers.map(|(l, _)| naming.local(*l)).collect();
    let mut core = Core { naming, own: &function.callee.def, names: &function.vars };
    let body = core.expr(&function.body);
    let naming = core.naming;
    let body = body.with(body.kind.clone(), function.body.ty.map_sizes(&|p| naming.outside(p)));
    Canonical {
        form: Function {
            callee: Arc::clone(&function.callee),
            vars: naming.vars,
            sizes,
            params,
            bounded,
            body,
            locals: function.locals.clone(),
            rule_of: None,
        },
        globals: naming.declared,
        indices: naming.indices,
    }
}

/// Returns the canonical form of a function in Tensor SSA.
#[must_use]
pub fn ssa(ssa: &Ssa) -> Canonical<Ssa> {
    let mut naming = Naming::new(true);
    let mut globals = BTreeMap::new();
    let mut poly = |p: &Poly| global_atoms(p, &mut globals);
    canonical_region::for_each_poly(ssa, &mut poly);
    ssa.params.iter().map(|p| &p.1).chain([&ssa.result]).for_each(|ty| for_each_extent(ty, &mut poly));
    let sizes = ssa.sizes.iter().map(|l| naming.enter(*l, &ssa.vars.name(*l)).0).collect();
    for local in ssa.params.iter().map(|p| p.0).chain(ssa.inputs.iter().map(|i| i.local)) {
        if !naming.env.contains_key(&local) {
            naming.enter(local, &ssa.vars.name(local));
        }
    }
    naming.globals(globals);
    let mut done = ssa.clone();
    done.sizes = sizes;
    done.params = ssa.params.iter().map(|(l, ty)| (naming.local(*l), naming.ty(ty))).collect();
    let integer = |i: &&Input| i.leaf.dims.is_empty() && i.leaf.scalar == Some(Scalar::I64);
    let integers = ssa.inputs.iter().filter(integer).filter(|i| ssa.bounded.contains(&i.local));
    done.bounded = integers.map(|i| naming.local(i.local)).collect();
    for (k, input) in (0..).zip(&mut done.inputs) {
        let stmt = ssa.input(k).and_then(|v| ssa.stmts.get(v.0 as usize));
        input.local = naming.local(input.local);
        input.leaf.dims = naming.polys(stmt.map_or(&input.leaf.dims, |s| &s.dims));
    }
    done.result = ssa.result.map_sizes(&|n| naming.outside(n));
    for ((leaf, _), told) in done.outputs.iter_mut().zip(done.result.leaves()) {
        leaf.dims = told.dims;
    }
    naming.name_loops(ssa, &ssa.callee);
    done.stmts = ssa.stmts.iter().map(|stmt| naming.stmt(stmt)).collect();
    done.checks = ssa.checks.iter().map(|check| naming.check(check, &ssa.callee.def)).collect();
    done.vars = naming.vars;
    Canonical { form: done, globals: naming.declared, indices: naming.indices }
}

/// Returns the failure without its location, because texts have no locations.
fn nowhere(what: &Failing, own: &GlobalName) -> Arc<Failing> {
    Arc::new(Failing { item: own.clone(), node: None, ..what.clone() })
}

/// Rounds a constant to its scalar type.
#[expect(clippy::cast_possible_truncation, reason = "the nearest `f32`, as the evaluators take it")]
fn rounded(c: Constant, of: Option<Scalar>) -> Constant {
    match (c, of) {
        (Constant::Real(x), Some(Scalar::F32)) => Constant::Real(f64::from(x as f32)),
        _ => c,
    }
}

fn for_each_extent(ty: &CoreType, f: &mut dyn FnMut(&Poly)) {
    match ty {
        CoreType::Scalar(_) => {}
        CoreType::Tuple(items, _) => items.iter().for_each(|t| for_each_extent(t, f)),
        CoreType::Tensor(n, t) => {
            f(n);
            for_each_extent(t, f);
        }
        CoreType::Rel(dims) => dims.iter().for_each(f),
    }
}

fn global_atoms(p: &Poly, globals: &mut BTreeMap<GlobalName, CoreType>) {
    p.for_each_atom(&mut |a| {
        if let Atom::Global(name) = a {
            globals.entry(name.clone()).or_insert(CoreType::Scalar(Scalar::I64));
        }
    });
}

/// The uses of variables in a function.
#[derive(Default)]
struct Used {
    /// Variables that index expressions use directly.
    local: HashSet<LocalId>,
    /// Variables read as data.
    read: HashSet<LocalId>,
    /// Top-level `let`s.
    globals: BTreeMap<GlobalName, CoreType>,
}

impl Used {
    fn of(function: &Function) -> Self {
        let mut used = Self::default();
        function.params.iter().for_each(|(_, ty)| for_each_extent(ty, &mut |p| used.poly(p)));
        for_each_extent(&function.body.ty, &mut |p| used.poly(p));
        used.expr(&function.body);
        used
    }

    fn poly(&mut self, p: &Poly) {
        global_atoms(p, &mut self.globals);
        p.for_each_atom(&mut |a| match a {
            Atom::Local(l, _) => drop(self.local.insert(*l)),
            Atom::Read(l, ..) => drop(self.read.insert(*l)),
            _ => {}
        });
    }

    fn expr(&mut self, e: &E) {
        match &e.kind {
            Kind::Var(x) => drop(self.read.insert(*x)),
            Kind::Global(name) => drop(self.globals.insert(name.clone(), e.ty.clone())),
            Kind::Index(p) | Kind::Access(_, p) => self.poly(p),
            Kind::Reduce(r) => {
                for i in &r.indices {
                    self.poly(&i.extent);
                    self.local.insert(i.local);
                }
                r.terms.visit(&mut |p| self.poly(p), &mut |_| {});
                self.poly(&r.place);
            }
            Kind::Gen(i, _) | Kind::Sum(i, _) | Kind::Order(i, _) => {
                self.poly(&i.extent);
                self.local.insert(i.local);
            }
            Kind::Call(_, sizes, _) => {
                sizes.iter().for_each(|p| self.poly(p));
                for_each_extent(&e.ty, &mut |p| self.poly(p));
            }
            Kind::Guard(p, _) | Kind::Check(p, ..) => p.visit(&mut |p| self.poly(p), &mut |_| {}),
            Kind::Loop(repeat, _) => {
                let spacing = repeat.checkpoint.as_ref().and_then(Spacing::told);
                repeat.sizes.iter().chain(repeat.trips.count()).chain(spacing).for_each(|p| self.poly(p));
                self.poly(&repeat.counter.extent);
                self.local.insert(repeat.counter.local);
                for_each_extent(&e.ty, &mut |p| self.poly(p));
            }
            Kind::Update(update, ..) => {
                update.at.iter().for_each(|p| self.poly(p));
                update.pred.visit(&mut |p| self.poly(p), &mut |_| {});
                for i in &update.over {
                    self.poly(&i.extent);
                    self.local.insert(i.local);
                }
            }
            _ => {}
        }
        e.for_each_child(&mut |e| guarded(|| self.expr(e)));
    }
}

/// The previous binding of a variable, which [`Naming::leave`] restores at the end of the scope,
/// and the name that becomes free.
type Before = (LocalId, Option<(LocalId, Name)>, Name);

pub(super) struct Naming {
    pub(super) vars: Vars,
    /// The new id and name of each variable, by old id.
    env: HashMap<LocalId, (LocalId, Name)>,
    taken: HashSet<Name>,
    aliases: HashMap<GlobalName, Name>,
    declared: Vec<(Name, GlobalName, CoreType)>,
    old_indices: HashSet<LocalId>,
    indices: BTreeSet<LocalId>,
    /// Whether the form is Tensor SSA, where the names of statements and of their indices are
    /// reserved.
    ssa: bool,
    /// The number of enclosing loops.
    depth: u32,
    /// The new position of each statement of a region, by old position.
    places: Option<Vec<u32>>,
    /// Whether indices belong to a loop, not to a statement.
    of_loop: bool,
    /// The loops of the function.
    pub(super) loops: Vec<canonical_region::Named>,
}

impl Naming {
    fn new(ssa: bool) -> Self {
        Self {
            vars: Vars::default(),
            env: HashMap::new(),
            taken: HashSet::new(),
            aliases: HashMap::new(),
            declared: Vec::new(),
            old_indices: HashSet::new(),
            indices: BTreeSet::new(),
            ssa,
            depth: 0,
            places: None,
            of_loop: false,
            loops: Vec::new(),
        }
    }

    /// Starts the naming of a region of this function. A region sees only top-level `let`s.
    pub(super) fn inside(&self, places: Vec<u32>) -> Self {
        Self {
            taken: self.aliases.values().cloned().collect(),
            aliases: self.aliases.clone(),
            depth: self.depth + 1,
            places: Some(places),
            ..Self::new(true)
        }
    }

    pub(super) fn knows(&self, local: LocalId) -> bool {
        self.env.contains_key(&local)
    }

    /// Picks a printed name: the name itself if it is a word, not reserved and not taken. Otherwise
    /// it is the name with a prime and a number.
    fn pick(&self, name: &Name, may_be_index: bool) -> Name {
        let mut plain: String = name.chars().map(|c| if is_name_continue(c) { c } else { '_' }).collect();
        if !plain.starts_with(is_name_start) {
            plain.insert(0, 'x');
        }
        let word = plain.trim_end_matches(|c: char| c.is_ascii_digit());
        let of_indices = matches!(word, "i" | "j") && !may_be_index;
        let of_ssa = word.len() < plain.len() && (of_indices || is_statements(word));
        let reserved = WORDS.contains(&plain.as_str()) || self.ssa && of_ssa;
        if !reserved && !self.taken.contains(plain.as_str()) {
            return plain.into();
        }
        let names = (1_u64..).map(|k| Name::from(format!("{plain}'{k}")));
        names.into_iter().find(|n| !self.taken.contains(n)).unwrap_or_default()
    }

    /// Brings a variable into scope. Returns its new id and the state to restore at the end of the
    /// scope.
    pub(super) fn enter(&mut self, local: LocalId, name: &Name) -> (LocalId, Before) {
        let name = self.pick(name, false);
        let new = self.vars.fresh(name.clone());
        if self.old_indices.contains(&local) {
            self.indices.insert(new);
        }
        self.taken.insert(name.clone());
        let before = self.env.insert(local, (new, name.clone()));
        (new, (local, before, name))
    }

    fn leave(&mut self, (local, before, name): Before) {
        self.taken.remove(&name);
        match before {
            Some(before) => drop(self.env.insert(local, before)),
            None => drop(self.env.remove(&local)),
        }
    }

    fn globals(&mut self, globals: BTreeMap<GlobalName, CoreType>) {
        for (global, ty) in globals {
            let alias = self.pick(&global.name, false);
            self.taken.insert(alias.clone());
            self.aliases.insert(global.clone(), alias.clone());
            let ty = self.ty(&ty);
            self.declared.push((alias, global, ty));
        }
    }

    fn alias(&self, global: &GlobalName) -> GlobalName {
        let name = self.aliases.get(global).unwrap_or(&global.name);
        GlobalName { module: global.module.clone(), name: name.clone() }
    }

    fn var(&self, v: Var) -> Var {
        self.places.as_ref().map_or(v, |p| Var(p.get(v.0 as usize).copied().unwrap_or(v.0)))
    }

    fn local(&self, local: LocalId) -> LocalId {
        match Var::of_local(local) {
            Some(v) if self.ssa => self.var(v).local(),
            _ => self.env.get(&local).map_or(local, |n| n.0),
        }
    }

    fn name(&self, local: LocalId, otherwise: &Name) -> Name {
        match Var::of_local(local) {
            Some(v) if self.ssa => statement(self.depth, self.var(v)),
            _ => self.env.get(&local).map_or_else(|| otherwise.clone(), |n| n.1.clone()),
        }
    }

    /// Returns the name of the `k`-th index of a statement, or of a loop.
    fn index(&self, k: usize) -> Name {
        format!("{}{k}", if self.of_loop { 'j' } else { 'i' }).into()
    }

    fn poly(&self, p: &Poly) -> Poly {
        p.substitute(&|a| {
            Some(Poly::atom(match a {
                Atom::Local(l, _) => match (index_number(*l), self.env.get(l)) {
                    (Some(k), None) if self.of_loop => Atom::Local(*l, self.index(k)),
                    (_, named) => Atom::Local(named?.0, named?.1.clone()),
                },
                Atom::Global(name) => Atom::Global(self.alias(name)),
                Atom::Read(x, name, at) => {
                    let (x, mut name) = (self.local(*x), self.name(*x, name));
                    // An index variable that is read as data prints as `x[]`.
                    if at.is_empty() && self.indices.contains(&x) {
                        name = format!("{name}[]").into();
                    }
                    Atom::Read(x, name, at.iter().map(|p| self.poly(p)).collect())
                }
                _ => return None,
            }))
        })
    }

    /// Renames an extent of a result. Returns `Overflow` if the extent depends on a variable that
    /// only the body binds.
    fn outside(&self, p: &Poly) -> Poly {
        let mut known = true;
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) | Atom::Read(l, ..) = a {
                known &= self.knows(*l) || self.ssa && Var::of_local(*l).is_some();
            }
        });
        if known { self.poly(p) } else { Poly::atom(Atom::Overflow) }
    }

    fn polys(&self, items: &[Poly]) -> Vec<Poly> {
        items.iter().map(|p| self.poly(p)).collect()
    }

    fn ty(&self, ty: &CoreType) -> CoreType {
        ty.map_sizes(&|p| self.poly(p))
    }

    fn pred(&mut self, p: &Pred) -> Pred {
        match p {
            Pred::And(items) => Pred::all(items.iter().map(|p| self.pred(p)).collect::<Vec<_>>()),
            Pred::Or(items) => Pred::any_of(items.iter().map(|p| self.pred(p)).collect::<Vec<_>>()),
            Pred::Ge(p) => Pred::nonneg(&self.poly(p)),
            Pred::Eq(p) => Pred::zero(&self.poly(p)),
            Pred::Ne(p) => Pred::nonzero(&self.poly(p)),
            Pred::Is(x, name, at, holds) => {
                Pred::Is(self.local(*x), self.name(*x, name), self.polys(at).into(), *holds)
            }
            Pred::Member(x, name, at, holds) => {
                Pred::Member(self.local(*x), self.name(*x, name), self.polys(at).into(), *holds)
            }
            Pred::Any(index, body, holds) => {
                let extent = self.poly(&index.extent);
                let name = self.pick(&index.name, true);
                self.taken.insert(name.clone());
                let before = self.env.insert(index.local, (index.local, name.clone()));
                let body = guarded(|| self.pred(body));
                self.leave((index.local, before, name.clone()));
                let any = Pred::some(&Index { local: index.local, name, extent }, &body);
                if *holds { any } else { any.negated() }
            }
        }
    }

    fn trips(&self, trips: &Trips) -> Trips {
        match trips {
            Trips::Count(n) => Trips::Count(self.poly(n)),
            Trips::While => Trips::While,
        }
    }

    /// Renames a predicate over the first `count` indices of a statement.
    fn pred_in(&mut self, count: usize, p: &Pred) -> Pred {
        let own: Vec<Name> = (0..count).map(|k| self.index(k)).collect();
        self.taken.extend(own.iter().cloned());
        let p = self.pred(p);
        for name in &own {
            self.taken.remove(name);
        }
        p
    }

    fn access(&self, a: &Access) -> Access {
        Access { var: self.var(a.var), at: self.polys(&a.at) }
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        let free = stmt.dims.len();
        let rhs = match &stmt.rhs {
            Rhs::Constant(c) => Rhs::Constant(rounded(*c, stmt.scalar)),
            Rhs::Loop(of, part) => self.part(of, *part),
            rhs => {
                let count = free
                    + match rhs {
                        Rhs::Contract { bound, .. } | Rhs::Update { bound, .. } => bound.len(),
                        Rhs::Reduce(r) => r.bound.len(),
                        _ => 0,
                    };
                let naming = std::cell::RefCell::new(&mut *self);
                rhs.map(&mut |a| naming.borrow().access(a), &|p| naming.borrow().poly(p), &|p| {
                    naming.borrow_mut().pred_in(count, p)
                })
            }
        };
        Stmt { dims: self.polys(&stmt.dims), rhs, ..stmt.clone() }
    }

    /// Renames a loop, except its body.
    pub(super) fn around(&mut self, of: &Loop) -> Loop {
        self.of_loop = true;
        let naming = std::cell::RefCell::new(&mut *self);
        let around = of.map(&mut |a| naming.borrow().access(a), &|p| naming.borrow().poly(p), &|p| {
            naming.borrow_mut().pred_in(of.batch.len(), p)
        });
        self.of_loop = false;
        around
    }

    pub(super) fn check(&mut self, check: &Check, own: &GlobalName) -> Check {
        Check {
            dims: self.polys(&check.dims),
            guard: self.pred_in(check.dims.len(), &check.guard),
            cond: self.pred_in(check.dims.len(), &check.cond),
            what: nowhere(&check.what, own),
        }
    }
}

/// Returns the prefix of statement names at a loop depth: `X` in a function, `Y` in its loops, `Z`
/// in the loops of those, then `XX`, and so on.
#[must_use]
pub fn statements(depth: u32) -> String {
    let letter = match depth % 3 {
        0 => "X",
        1 => "Y",
        _ => "Z",
    };
    letter.repeat(depth as usize / 3 + 1)
}

/// Whether the word is the prefix of statement names at some depth.
fn is_statements(word: &str) -> bool {
    word.starts_with(['X', 'Y', 'Z']) && word.chars().all(|c| word.starts_with(c))
}

/// Returns the name of a statement at a loop depth.
#[must_use]
pub fn statement(depth: u32, v: Var) -> Name {
    format!("{}{}", statements(depth), v.0).into()
}

struct Core<'a> {
    naming: Naming,
    own: &'a GlobalName,
    names: &'a Vars,
}

impl Core<'_> {
    fn expr(&mut self, e: &E) -> E {
        guarded(|| self.node(e))
    }

    fn list(&mut self, items: &[E]) -> Vec<E> {
        items.iter().map(|e| self.expr(e)).collect()
    }

    fn bound(&mut self, index: &Index, body: &E) -> (Index, E) {
        let extent = self.naming.poly(&index.extent);
        let (local, before) = self.naming.enter(index.local, &index.name);
        let name = before.2.clone();
        let body = self.expr(body);
        self.naming.leave(before);
        (Index { local, name, extent }, body)
    }

    fn reduction(&mut self, r: &Reduction) -> Reduction {
        let extents: Vec<Poly> = r.indices.iter().map(|i| self.naming.poly(&i.extent)).collect();
        let (mut indices, mut open) = (Vec::new(), Vec::new());
        for (i, extent) in r.indices.iter().zip(extents) {
            let (local, before) = self.naming.enter(i.local, &i.name);
            indices.push(Index { local, name: before.2.clone(), extent });
            open.push(before);
        }
        let (terms, place) = (self.naming.pred(&r.terms), self.naming.poly(&r.place));
        let body = self.expr(&r.body);
        open.into_iter().rev().for_each(|before| self.naming.leave(before));
        Reduction { reducer: r.reducer, indices, terms, place, body }
    }

    fn node(&mut self, e: &Expr) -> E {
        let kind = match &e.kind {
            Kind::Var(x) => Kind::Var(self.naming.local(*x)),
            Kind::Global(name) => Kind::Global(self.naming.alias(name)),
            Kind::Constant(c) => Kind::Constant(rounded(*c, e.ty.scalar())),
            Kind::Index(p) => Kind::Index(self.naming.poly(p)),
            Kind::Add(items) => Kind::Add(self.list(items)),
            Kind::Mul(a, b) => Kind::Mul(self.expr(a), self.expr(b)),
            Kind::Neg(a) => Kind::Neg(self.expr(a)),
            Kind::Apply(f, items) => Kind::Apply(*f, self.list(items)),
            Kind::Tuple(items) => Kind::Tuple(self.list(items)),
            Kind::Proj(a, k) => Kind::Proj(self.expr(a), *k),
            Kind::Gen(i, body) => {
                let (i, body) = self.bound(i, body);
                Kind::Gen(i, body)
            }
            Kind::Sum(i, body) => {
                let (i, body) = self.bound(i, body);
                Kind::Sum(i, body)
            }
            Kind::Reduce(r) => Kind::Reduce(Box::new(self.reduction(r))),
            Kind::Order(i, body) => {
                let (i, body) = self.bound(i, body);
                Kind::Order(i, body)
            }
            Kind::Access(a, p) => Kind::Access(self.expr(a), self.naming.poly(p)),
            Kind::Guard(p, body) => Kind::Guard(self.naming.pred(p), self.expr(body)),
            Kind::Let(bindings, body) => {
                let (mut named, mut open) = (Vec::new(), Vec::new());
                for (x, value) in bindings {
                    let value = self.expr(value);
                    let (local, before) = self.naming.enter(*x, &self.names.name(*x));
                    named.push((local, value));
                    open.push(before);
                }
                let body = self.expr(body);
                open.into_iter().rev().for_each(|before| self.naming.leave(before));
                Kind::Let(named, body)
            }
            Kind::Call(callee, sizes, args) => {
                Kind::Call(Arc::clone(callee), self.naming.polys(sizes), self.list(args))
            }
            Kind::Check(p, what, body) => Kind::Check(self.naming.pred(p), nowhere(what, self.own), self.expr(body)),
            Kind::Loop(repeat, args) => {
                let args = self.list(args);
                let (extent, trips) = (self.naming.poly(&repeat.counter.extent), self.naming.trips(&repeat.trips));
                let checkpoint = repeat.checkpoint.as_ref().map(|s| s.map(|k| self.naming.poly(k)));
                let (local, before) = self.naming.enter(repeat.counter.local, &repeat.counter.name);
                let counter = Index { local, name: before.2.clone(), extent };
                let sizes = self.naming.polys(&repeat.sizes);
                self.naming.leave(before);
                Kind::Loop(Arc::new(Repeat { body: repeat.body.clone(), sizes, counter, trips, checkpoint }), args)
            }
            Kind::Update(update, base, value) => {
                let (base, value) = (self.expr(base), self.expr(value));
                let pred = self.naming.pred(&update.pred);
                let (mut over, mut open) = (Vec::new(), Vec::new());
                for i in &update.over {
                    let extent = self.naming.poly(&i.extent);
                    let (local, before) = self.naming.enter(i.local, &i.name);
                    over.push(Index { local, name: before.2.clone(), extent });
                    open.push(before);
                }
                let at = self.naming.polys(&update.at);
                open.into_iter().rev().for_each(|before| self.naming.leave(before));
                Kind::Update(Arc::new(Update { over, at, pred, add: update.add }), base, value)
            }
        };
        Expr::new(kind, self.naming.ty(&e.ty), Span::default())
    }
}
