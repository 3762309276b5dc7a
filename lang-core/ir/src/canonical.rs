//! **Canonical forms** of core and Tensor SSA, as the printers write them. Variables are numbered
//! in binding order, each has a name that is unique in its scope, and source locations are removed.
//! Forms that print alike are equal here, however their passes numbered the variables. The printers
//! call this module; [`super::canonical_region`] treats loops.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::canonical_region;
use super::core::{
    CheckFailure, CheckpointSpacing, Constant, CoreExpr, CoreFunction, CoreLoop, CoreTripCount, CoreType, CoreUpdate,
    ExprKind, ExprRef, Vars,
};
use super::flat::FunctionInput;
use super::reduce::CoreReduction;
use super::region::SsaLoop;
use super::ssa::{Rhs, RuntimeCheck, SsaFunction, Statement, StmtId, TensorAccess, index_number};
use lang_base::ensure_sufficient_stack;
use lang_base::{GlobalName, Name, Span};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::lexer::{is_name_continue, is_name_start};
use lang_syntax::ops::Scalar;

/// Words that the texts never use as names.
const RESERVED_WORDS: &[&str] = &["for", "let", "in", "check", "true", "false", "nan", "inf", "_"];

/// A canonical form, with the declarations that its text prints beside it.
#[derive(Clone, Debug)]
pub struct CanonicalForm<T> {
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
pub fn canonicalize_core(function: &CoreFunction) -> CanonicalForm<CoreFunction> {
    let used = VariableUses::of_function(function);
    let is_i64 = |ty: &CoreType| *ty == CoreType::Scalar(Scalar::I64);
    let mut naming = Renamer::new(false);
    naming.old_indices = used.index_uses.clone();
    naming.old_indices.extend(&function.sizes);
    // An integer parameter is an index expression unless all its uses read it as data.
    let plain = |l: &LocalId| !used.data_uses.contains(l);
    naming.old_indices.extend(function.params.iter().filter(|(l, ty)| is_i64(ty) && plain(l)).map(|p| p.0));
    let sizes = function.sizes.iter().map(|l| naming.bind(*l, &function.vars.name(*l)).0).collect();
    let locals: Vec<LocalId> =
        function.params.iter().map(|(l, _)| naming.bind(*l, &function.vars.name(*l)).0).collect();
    naming.declare_globals(used.globals);
    let params = locals.iter().zip(&function.params).map(|(l, (_, ty))| (*l, naming.ty(ty))).collect();
    // `bounded` also lists captured data, but only integers are printed as bounded.
    let integers = function.params.iter().filter(|(l, ty)| is_i64(ty) && function.bounded_params.contains(l));
    let bounded = integers.map(|(l, _)| naming.local(*l)).collect();
    let mut core = CoreCanonicalizer { naming, current_item: &function.callee.def, names: &function.vars };
    let body = core.expr(&function.body);
    let naming = core.naming;
    let body = body.with_kind(body.kind.clone(), function.body.ty.map_sizes(&|p| naming.result_extent(p)));
    CanonicalForm {
        form: CoreFunction {
            callee: Arc::clone(&function.callee),
            vars: naming.vars,
            sizes,
            params,
            bounded_params: bounded,
            body,
            local_functions: function.local_functions.clone(),
            rule_of: None,
        },
        globals: naming.declarations,
        indices: naming.indices,
    }
}

/// Returns the canonical form of a function in Tensor SSA.
#[must_use]
pub fn canonicalize_ssa(ssa: &SsaFunction) -> CanonicalForm<SsaFunction> {
    let mut naming = Renamer::new(true);
    let mut globals = BTreeMap::new();
    let mut poly = |p: &Poly| collect_globals(p, &mut globals);
    canonical_region::for_each_poly(ssa, &mut poly);
    ssa.params.iter().map(|p| &p.1).chain([&ssa.result]).for_each(|ty| for_each_extent(ty, &mut poly));
    let sizes = ssa.sizes.iter().map(|l| naming.bind(*l, &ssa.vars.name(*l)).0).collect();
    for local in ssa.params.iter().map(|p| p.0).chain(ssa.inputs.iter().map(|i| i.local)) {
        if !naming.env.contains_key(&local) {
            naming.bind(local, &ssa.vars.name(local));
        }
    }
    naming.declare_globals(globals);
    let mut done = ssa.clone();
    done.sizes = sizes;
    done.params = ssa.params.iter().map(|(l, ty)| (naming.local(*l), naming.ty(ty))).collect();
    let integer = |i: &&FunctionInput| i.leaf.dims.is_empty() && i.leaf.scalar == Some(Scalar::I64);
    let integers = ssa.inputs.iter().filter(integer).filter(|i| ssa.bounded.contains(&i.local));
    done.bounded = integers.map(|i| naming.local(i.local)).collect();
    for (k, input) in (0..).zip(&mut done.inputs) {
        let stmt = ssa.input_statement(k).and_then(|v| ssa.stmts.get(v.0 as usize));
        input.local = naming.local(input.local);
        input.leaf.dims = naming.polys(stmt.map_or(&input.leaf.dims, |s| &s.dims));
    }
    done.result = ssa.result.map_sizes(&|n| naming.result_extent(n));
    for ((leaf, _), result_leaf) in done.outputs.iter_mut().zip(done.result.leaves()) {
        leaf.dims = result_leaf.dims;
    }
    naming.canonicalize_loops(ssa, &ssa.callee);
    done.stmts = (0..).zip(&ssa.stmts).map(|(k, stmt)| naming.stmt(Some(StmtId(k)), stmt)).collect();
    done.checks = ssa.checks.iter().map(|check| naming.check(check, &ssa.callee.def)).collect();
    done.vars = naming.vars;
    CanonicalForm { form: done, globals: naming.declarations, indices: naming.indices }
}

/// Returns the failure without its location, because texts have no locations.
fn without_location(what: &CheckFailure, own: &GlobalName) -> Arc<CheckFailure> {
    Arc::new(CheckFailure { item: own.clone(), node: None, ..what.clone() })
}

/// Rounds a constant to its scalar type.
#[expect(clippy::cast_possible_truncation, reason = "the nearest `f32`, as the evaluators take it")]
fn round_to_scalar(c: Constant, of: Option<Scalar>) -> Constant {
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

fn collect_globals(p: &Poly, globals: &mut BTreeMap<GlobalName, CoreType>) {
    p.for_each_atom(&mut |a| {
        if let Atom::Global(name) = a {
            globals.entry(name.clone()).or_insert(CoreType::Scalar(Scalar::I64));
        }
    });
}

/// The uses of variables in a function.
#[derive(Default)]
struct VariableUses {
    /// Variables that index expressions use directly.
    index_uses: HashSet<LocalId>,
    /// Variables read as data.
    data_uses: HashSet<LocalId>,
    /// Top-level `let`s.
    globals: BTreeMap<GlobalName, CoreType>,
}

impl VariableUses {
    fn of_function(function: &CoreFunction) -> Self {
        let mut used = Self::default();
        function.params.iter().for_each(|(_, ty)| for_each_extent(ty, &mut |p| used.poly(p)));
        for_each_extent(&function.body.ty, &mut |p| used.poly(p));
        used.expr(&function.body);
        used
    }

    fn poly(&mut self, p: &Poly) {
        collect_globals(p, &mut self.globals);
        p.for_each_atom(&mut |a| match a {
            Atom::Local(l, _) => drop(self.index_uses.insert(*l)),
            Atom::Read(l, ..) => drop(self.data_uses.insert(*l)),
            _ => {}
        });
    }

    fn expr(&mut self, e: &ExprRef) {
        match &e.kind {
            ExprKind::Var(x) => drop(self.data_uses.insert(*x)),
            ExprKind::Global(name) => drop(self.globals.insert(name.clone(), e.ty.clone())),
            ExprKind::Index(p) | ExprKind::Access(_, p) => self.poly(p),
            ExprKind::Reduce(r) => {
                for i in &r.indices {
                    self.poly(&i.extent);
                    self.index_uses.insert(i.local);
                }
                r.filter.visit(&mut |p| self.poly(p), &mut |_| {});
                self.poly(&r.arg_value);
            }
            ExprKind::Gen(i, _) | ExprKind::Sum(i, _) | ExprKind::Argsort(i, _) => {
                self.poly(&i.extent);
                self.index_uses.insert(i.local);
            }
            ExprKind::Call(_, sizes, _) => {
                sizes.iter().for_each(|p| self.poly(p));
                for_each_extent(&e.ty, &mut |p| self.poly(p));
            }
            ExprKind::Guard(p, _) | ExprKind::Check(p, ..) => p.visit(&mut |p| self.poly(p), &mut |_| {}),
            ExprKind::Loop(repeat, _) => {
                let spacing = repeat.checkpoint.as_ref().and_then(CheckpointSpacing::fixed_distance);
                repeat.sizes.iter().chain(repeat.trip_count.fixed()).chain(spacing).for_each(|p| self.poly(p));
                self.poly(&repeat.counter.extent);
                self.index_uses.insert(repeat.counter.local);
                for_each_extent(&e.ty, &mut |p| self.poly(p));
            }
            ExprKind::Update(update, ..) => {
                update.at.iter().for_each(|p| self.poly(p));
                update.pred.visit(&mut |p| self.poly(p), &mut |_| {});
                for i in &update.indices {
                    self.poly(&i.extent);
                    self.index_uses.insert(i.local);
                }
            }
            _ => {}
        }
        e.for_each_child(&mut |e| ensure_sufficient_stack(|| self.expr(e)));
    }
}

/// The previous binding of a variable, which [`Renamer::unbind`] restores at the end of the scope,
/// and the name that becomes free.
type SavedBinding = (LocalId, Option<(LocalId, Name)>, Name);

pub(super) struct Renamer {
    pub(super) vars: Vars,
    /// The new id and name of each variable, by old id.
    env: HashMap<LocalId, (LocalId, Name)>,
    used_names: HashSet<Name>,
    aliases: HashMap<GlobalName, Name>,
    declarations: Vec<(Name, GlobalName, CoreType)>,
    old_indices: HashSet<LocalId>,
    indices: BTreeSet<LocalId>,
    /// Whether the form is Tensor SSA, where the names of statements and of their indices are
    /// reserved.
    ssa: bool,
    /// The number of enclosing loops.
    depth: u32,
    /// The new position of each statement of a region, by old position.
    statement_positions: Option<Vec<u32>>,
    /// Whether indices belong to a loop, not to a statement.
    indices_of_loop: bool,
    /// The loops of the function, by statement.
    pub(super) loops: BTreeMap<StmtId, canonical_region::CanonicalLoop>,
}

impl Renamer {
    fn new(ssa: bool) -> Self {
        Self {
            vars: Vars::default(),
            env: HashMap::new(),
            used_names: HashSet::new(),
            aliases: HashMap::new(),
            declarations: Vec::new(),
            old_indices: HashSet::new(),
            indices: BTreeSet::new(),
            ssa,
            depth: 0,
            statement_positions: None,
            indices_of_loop: false,
            loops: BTreeMap::new(),
        }
    }

    /// Starts the naming of a region of this function. A region sees only top-level `let`s.
    pub(super) fn for_region(&self, places: Vec<u32>) -> Self {
        Self {
            used_names: self.aliases.values().cloned().collect(),
            aliases: self.aliases.clone(),
            depth: self.depth + 1,
            statement_positions: Some(places),
            ..Self::new(true)
        }
    }

    pub(super) fn is_bound(&self, local: LocalId) -> bool {
        self.env.contains_key(&local)
    }

    /// Picks a printed name: the name itself if it is a word, not reserved and not taken. Otherwise
    /// it is the name with a prime and a number.
    fn fresh_name(&self, name: &Name, may_be_index: bool) -> Name {
        let mut plain: String = name.chars().map(|c| if is_name_continue(c) { c } else { '_' }).collect();
        if !plain.starts_with(is_name_start) {
            plain.insert(0, 'x');
        }
        let word = plain.trim_end_matches(|c: char| c.is_ascii_digit());
        let of_indices = matches!(word, "i" | "j") && !may_be_index;
        let of_ssa = word.len() < plain.len() && (of_indices || is_statement_prefix(word));
        let reserved = RESERVED_WORDS.contains(&plain.as_str()) || self.ssa && of_ssa;
        if !reserved && !self.used_names.contains(plain.as_str()) {
            return plain.into();
        }
        let names = (1_u64..).map(|k| Name::from(format!("{plain}'{k}")));
        names.into_iter().find(|n| !self.used_names.contains(n)).unwrap_or_default()
    }

    /// Brings a variable into scope. Returns its new id and the state to restore at the end of the
    /// scope.
    pub(super) fn bind(&mut self, local: LocalId, name: &Name) -> (LocalId, SavedBinding) {
        let name = self.fresh_name(name, false);
        let new = self.vars.fresh(name.clone());
        if self.old_indices.contains(&local) {
            self.indices.insert(new);
        }
        self.used_names.insert(name.clone());
        let before = self.env.insert(local, (new, name.clone()));
        (new, (local, before, name))
    }

    fn unbind(&mut self, (local, before, name): SavedBinding) {
        self.used_names.remove(&name);
        match before {
            Some(before) => drop(self.env.insert(local, before)),
            None => drop(self.env.remove(&local)),
        }
    }

    fn declare_globals(&mut self, globals: BTreeMap<GlobalName, CoreType>) {
        for (global, ty) in globals {
            let alias = self.fresh_name(&global.name, false);
            self.used_names.insert(alias.clone());
            self.aliases.insert(global.clone(), alias.clone());
            let ty = self.ty(&ty);
            self.declarations.push((alias, global, ty));
        }
    }

    fn alias(&self, global: &GlobalName) -> GlobalName {
        let name = self.aliases.get(global).unwrap_or(&global.name);
        GlobalName { module: global.module.clone(), name: name.clone() }
    }

    pub(super) fn var(&self, v: StmtId) -> StmtId {
        self.statement_positions.as_ref().map_or(v, |p| StmtId(p.get(v.0 as usize).copied().unwrap_or(v.0)))
    }

    fn local(&self, local: LocalId) -> LocalId {
        match StmtId::from_local(local) {
            Some(v) if self.ssa => self.var(v).local(),
            _ => self.env.get(&local).map_or(local, |n| n.0),
        }
    }

    fn name(&self, local: LocalId, otherwise: &Name) -> Name {
        match StmtId::from_local(local) {
            Some(v) if self.ssa => statement_name(self.depth, self.var(v)),
            _ => self.env.get(&local).map_or_else(|| otherwise.clone(), |n| n.1.clone()),
        }
    }

    /// Returns the name of the `k`-th index of a statement, or of a loop.
    fn index(&self, k: usize) -> Name {
        format!("{}{k}", if self.indices_of_loop { 'j' } else { 'i' }).into()
    }

    fn poly(&self, p: &Poly) -> Poly {
        p.substitute(&|a| {
            Some(Poly::atom(match a {
                Atom::Local(l, _) => match (index_number(*l), self.env.get(l)) {
                    (Some(k), None) if self.indices_of_loop => Atom::Local(*l, self.index(k)),
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
    fn result_extent(&self, p: &Poly) -> Poly {
        let mut known = true;
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) | Atom::Read(l, ..) = a {
                known &= self.is_bound(*l) || self.ssa && StmtId::from_local(*l).is_some();
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
            Pred::Element(x, name, at, holds) => {
                Pred::Element(self.local(*x), self.name(*x, name), self.polys(at).into(), *holds)
            }
            Pred::Member(x, name, at, holds) => {
                Pred::Member(self.local(*x), self.name(*x, name), self.polys(at).into(), *holds)
            }
            Pred::Exists(index, body, holds) => {
                let extent = self.poly(&index.extent);
                let name = self.fresh_name(&index.name, true);
                self.used_names.insert(name.clone());
                let before = self.env.insert(index.local, (index.local, name.clone()));
                let body = ensure_sufficient_stack(|| self.pred(body));
                self.unbind((index.local, before, name.clone()));
                let any = Pred::raw_exists(&Index { local: index.local, name, extent }, &body);
                if *holds { any } else { any.negated() }
            }
        }
    }

    fn trips(&self, trips: &CoreTripCount) -> CoreTripCount {
        match trips {
            CoreTripCount::Fixed(n) => CoreTripCount::Fixed(self.poly(n)),
            CoreTripCount::While => CoreTripCount::While,
        }
    }

    /// Renames a predicate over the first `count` indices of a statement.
    fn pred_over_indices(&mut self, count: usize, p: &Pred) -> Pred {
        let own: Vec<Name> = (0..count).map(|k| self.index(k)).collect();
        self.used_names.extend(own.iter().cloned());
        let p = self.pred(p);
        for name in &own {
            self.used_names.remove(name);
        }
        p
    }

    fn access(&self, a: &TensorAccess) -> TensorAccess {
        TensorAccess { var: self.var(a.var), at: self.polys(&a.at) }
    }

    pub(super) fn stmt(&mut self, var: Option<StmtId>, stmt: &Statement) -> Statement {
        let free = stmt.dims.len();
        let rhs = match &stmt.rhs {
            Rhs::Loop(of) => {
                let named = var.and_then(|v| self.loops.get(&v));
                Rhs::Loop(named.map_or_else(|| of.clone(), |named| named.canonical.clone()))
            }
            Rhs::Constant(c) => Rhs::Constant(round_to_scalar(*c, stmt.scalar)),
            Rhs::LoopResult(of, result) => self.loop_result(*of, *result),
            rhs => {
                let count = free
                    + match rhs {
                        Rhs::Contract { bound, .. } | Rhs::Update { bound, .. } => bound.len(),
                        Rhs::Reduce(r) => r.bound.len(),
                        _ => 0,
                    };
                let naming = std::cell::RefCell::new(&mut *self);
                rhs.map(&mut |a| naming.borrow().access(a), &|p| naming.borrow().poly(p), &|p| {
                    naming.borrow_mut().pred_over_indices(count, p)
                })
            }
        };
        Statement { dims: self.polys(&stmt.dims), rhs, ..stmt.clone() }
    }

    /// Renames a loop, except its body.
    pub(super) fn loop_header(&mut self, of: &SsaLoop) -> SsaLoop {
        self.indices_of_loop = true;
        let naming = std::cell::RefCell::new(&mut *self);
        let around = of.map(&mut |a| naming.borrow().access(a), &|p| naming.borrow().poly(p), &|p| {
            naming.borrow_mut().pred_over_indices(of.batch.len(), p)
        });
        self.indices_of_loop = false;
        around
    }

    pub(super) fn check(&mut self, check: &RuntimeCheck, own: &GlobalName) -> RuntimeCheck {
        RuntimeCheck {
            dims: self.polys(&check.dims),
            guard: self.pred_over_indices(check.dims.len(), &check.guard),
            cond: self.pred_over_indices(check.dims.len(), &check.cond),
            failure: without_location(&check.failure, own),
        }
    }
}

/// Returns the prefix of statement names at a loop depth: `X` in a function, `Y` in its loops, `Z`
/// in the loops of those, then `XX`, and so on.
#[must_use]
pub fn statement_prefix(depth: u32) -> String {
    let letter = match depth % 3 {
        0 => "X",
        1 => "Y",
        _ => "Z",
    };
    letter.repeat(depth as usize / 3 + 1)
}

/// Whether the word is the prefix of statement names at some depth.
fn is_statement_prefix(word: &str) -> bool {
    word.starts_with(['X', 'Y', 'Z']) && word.chars().all(|c| word.starts_with(c))
}

/// Returns the name of a statement at a loop depth.
#[must_use]
pub fn statement_name(depth: u32, v: StmtId) -> Name {
    format!("{}{}", statement_prefix(depth), v.0).into()
}

struct CoreCanonicalizer<'a> {
    naming: Renamer,
    current_item: &'a GlobalName,
    names: &'a Vars,
}

impl CoreCanonicalizer<'_> {
    fn expr(&mut self, e: &ExprRef) -> ExprRef {
        ensure_sufficient_stack(|| self.rename_node(e))
    }

    fn list(&mut self, items: &[ExprRef]) -> Vec<ExprRef> {
        items.iter().map(|e| self.expr(e)).collect()
    }

    fn bind_index(&mut self, index: &Index, body: &ExprRef) -> (Index, ExprRef) {
        let extent = self.naming.poly(&index.extent);
        let (local, before) = self.naming.bind(index.local, &index.name);
        let name = before.2.clone();
        let body = self.expr(body);
        self.naming.unbind(before);
        (Index { local, name, extent }, body)
    }

    fn reduction(&mut self, r: &CoreReduction) -> CoreReduction {
        let extents: Vec<Poly> = r.indices.iter().map(|i| self.naming.poly(&i.extent)).collect();
        let (mut indices, mut open) = (Vec::new(), Vec::new());
        for (i, extent) in r.indices.iter().zip(extents) {
            let (local, before) = self.naming.bind(i.local, &i.name);
            indices.push(Index { local, name: before.2.clone(), extent });
            open.push(before);
        }
        let (terms, place) = (self.naming.pred(&r.filter), self.naming.poly(&r.arg_value));
        let body = self.expr(&r.body);
        open.into_iter().rev().for_each(|before| self.naming.unbind(before));
        CoreReduction { reducer: r.reducer, indices, filter: terms, arg_value: place, body }
    }

    fn rename_node(&mut self, e: &CoreExpr) -> ExprRef {
        let kind = match &e.kind {
            ExprKind::Var(x) => ExprKind::Var(self.naming.local(*x)),
            ExprKind::Global(name) => ExprKind::Global(self.naming.alias(name)),
            ExprKind::Constant(c) => ExprKind::Constant(round_to_scalar(*c, e.ty.scalar())),
            ExprKind::Index(p) => ExprKind::Index(self.naming.poly(p)),
            ExprKind::Add(items) => ExprKind::Add(self.list(items)),
            ExprKind::Mul(a, b) => ExprKind::Mul(self.expr(a), self.expr(b)),
            ExprKind::Neg(a) => ExprKind::Neg(self.expr(a)),
            ExprKind::Apply(f, items) => ExprKind::Apply(*f, self.list(items)),
            ExprKind::Tuple(items) => ExprKind::Tuple(self.list(items)),
            ExprKind::Proj(a, k) => ExprKind::Proj(self.expr(a), *k),
            ExprKind::Gen(i, body) => {
                let (i, body) = self.bind_index(i, body);
                ExprKind::Gen(i, body)
            }
            ExprKind::Sum(i, body) => {
                let (i, body) = self.bind_index(i, body);
                ExprKind::Sum(i, body)
            }
            ExprKind::Reduce(r) => ExprKind::Reduce(Box::new(self.reduction(r))),
            ExprKind::Argsort(i, body) => {
                let (i, body) = self.bind_index(i, body);
                ExprKind::Argsort(i, body)
            }
            ExprKind::Access(a, p) => ExprKind::Access(self.expr(a), self.naming.poly(p)),
            ExprKind::Guard(p, body) => ExprKind::Guard(self.naming.pred(p), self.expr(body)),
            ExprKind::Let(bindings, body) => {
                let (mut named, mut open) = (Vec::new(), Vec::new());
                for (x, value) in bindings {
                    let value = self.expr(value);
                    let (local, before) = self.naming.bind(*x, &self.names.name(*x));
                    named.push((local, value));
                    open.push(before);
                }
                let body = self.expr(body);
                open.into_iter().rev().for_each(|before| self.naming.unbind(before));
                ExprKind::Let(named, body)
            }
            ExprKind::Call(callee, sizes, args) => {
                ExprKind::Call(Arc::clone(callee), self.naming.polys(sizes), self.list(args))
            }
            ExprKind::Check(p, what, body) => {
                ExprKind::Check(self.naming.pred(p), without_location(what, self.current_item), self.expr(body))
            }
            ExprKind::Loop(repeat, args) => {
                let args = self.list(args);
                let (extent, trips) = (self.naming.poly(&repeat.counter.extent), self.naming.trips(&repeat.trip_count));
                let checkpoint = repeat.checkpoint.as_ref().map(|s| s.map(|k| self.naming.poly(k)));
                let (local, before) = self.naming.bind(repeat.counter.local, &repeat.counter.name);
                let counter = Index { local, name: before.2.clone(), extent };
                let sizes = self.naming.polys(&repeat.sizes);
                self.naming.unbind(before);
                ExprKind::Loop(
                    Arc::new(CoreLoop { body: repeat.body.clone(), sizes, counter, trip_count: trips, checkpoint }),
                    args,
                )
            }
            ExprKind::Update(update, base, value) => {
                let (base, value) = (self.expr(base), self.expr(value));
                let pred = self.naming.pred(&update.pred);
                let (mut over, mut open) = (Vec::new(), Vec::new());
                for i in &update.indices {
                    let extent = self.naming.poly(&i.extent);
                    let (local, before) = self.naming.bind(i.local, &i.name);
                    over.push(Index { local, name: before.2.clone(), extent });
                    open.push(before);
                }
                let at = self.naming.polys(&update.at);
                open.into_iter().rev().for_each(|before| self.naming.unbind(before));
                ExprKind::Update(
                    Arc::new(CoreUpdate { indices: over, at, pred, accumulate: update.accumulate }),
                    base,
                    value,
                )
            }
        };
        CoreExpr::new(kind, self.naming.ty(&e.ty), Span::default())
    }
}
