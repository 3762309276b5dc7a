//! **Type checker.** Reads the syntax tree of an item and its resolved names, and writes the typed
//! tree ([`super::tree`]).
//!
//! It is bidirectional: types are inferred in one walk, and a hint from the context goes down.
//! Sizes unify by normal form. A question that the walk cannot decide becomes an obligation, stored
//! with its scope, whose facts hold at that place.
//!
//! `finish` decides the obligations when all metavariables are solved. An access is proved in
//! bounds or checked at run time. A size constraint is proved, refuted, or checked at run time.

mod advice;
mod agree;
mod arguments;
mod binder;
mod call;
mod control;
mod derive;
mod ends;
mod expr;
mod extents;
mod files;
mod finish;
mod form;
mod index;
mod item;
mod linear;
mod meant;
mod mismatch;
mod ops;
mod order;
mod pattern;
mod plot;
mod repeated;
mod scope;
mod tail;
mod zero;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

pub use derive::tangent;
pub use item::{Checked, check_def, check_do, check_let, check_rule, signature};

use super::env::Env;
use super::limits::too_large;
use super::lower::Lower;
use super::phrase::Phrases;
use super::tree::{Demand, Expr as Typed, Node, Pat, SizeCheck, TId};
use super::ty::{Class, Scalar, Type};
use super::unify::{Goals, Metas, Mismatch};
use lang_base::{Arena, Code, Diagnostic, GlobalName, ModuleName, Name, Span};
use lang_resolve::{LocalKind, Resolved};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ast::{ExprId, Tree, TypeId};
use scope::{Obligation, ScopeKind, Scopes};

/// Known facts about a local.
#[derive(Clone)]
pub(super) struct LocalInfo {
    name: Name,
    span: Span,
    ty: Type,
    /// Its value as a polynomial, if it is an `i64`.
    sym: Option<Poly>,
    /// An upper bound of its absolute value, if it is smaller than that of every `i64`.
    magnitude: Option<i128>,
    /// The scope that binds it.
    scope: usize,
}

/// The exclusive upper bound of sizes and of the extents of all arrays and loops.
const MAX_SIZE: i128 = 1 << 47;

/// A lifted operation whose operand types were unknown when the walk reached it.
struct Deferred {
    operands: Vec<TId>,
    /// The node that checks the sizes of the operands; it wraps the last of them.
    verifier: TId,
    result: Type,
    class: Class,
    /// The scalar type of the result, if it differs from that of the operands.
    elem: Option<Scalar>,
    what: String,
    span: Span,
    scope: usize,
}

/// A bare index variable.
struct Bare {
    extent: Poly,
    index: LocalId,
    name: Name,
    span: Span,
    /// The scope of its binder.
    scope: usize,
}

/// Patterns that must be exhaustive.
pub(super) struct Coverage {
    ty: Type,
    pats: Vec<Pat>,
    /// The spans of the arms of a `match`; empty for a pattern that must be irrefutable.
    spans: Vec<Span>,
    span: Span,
}

/// The state of the check of one item.
pub(super) struct Checker<'a> {
    tree: &'a Tree,
    resolved: &'a Resolved,
    module: &'a ModuleName,
    env: &'a dyn Env,
    nodes: Arena<Node>,
    /// The polynomial value of each node, if it is an `i64` expression that sizes can represent.
    syms: Vec<Option<Poly>>,
    locals: Vec<LocalInfo>,
    metas: Metas,
    classes: Vec<Class>,
    scopes: Scopes,
    obligations: Vec<(usize, Obligation)>,
    /// Operations that wait for the types of their operands, by their order in the text.
    deferred: BTreeMap<u32, Deferred>,
    /// The top-level value by which an enclosing `deriv` differentiates, and the local that
    /// replaces it.
    varied: Option<(GlobalName, LocalId)>,
    coverage: Vec<Coverage>,
    /// Types of `error(…)` expressions, which may be any type.
    any_value: Vec<Type>,
    /// Extents that differ between the branches of a value with extents `?k`.
    branch_extents: Vec<Poly>,
    diagnostics: Vec<Diagnostic>,
    /// Whether effects (`print`, …) are allowed here.
    effects: bool,
    /// Bare index variables whose extents must be solved in the end.
    bare: Vec<Bare>,
    /// Index variables that run through all of their range.
    runs: Vec<ends::Run>,
    /// Bare index variables in scope with their extents.
    bare_locals: Vec<(LocalId, Poly)>,
    /// Types of values that leave a scope.
    exits: Vec<scope::Exit>,
    reported: HashSet<(Code, Span)>,
    /// Guarded values and the spans of their brackets.
    guarded: Vec<(TId, Span)>,
}

impl<'a> Checker<'a> {
    fn new(tree: &'a Tree, resolved: &'a Resolved, module: &'a ModuleName, env: &'a dyn Env) -> Self {
        let locals = resolved.locals.iter().map(|d| LocalInfo {
            name: d.name.clone(),
            span: d.span,
            ty: Type::Error,
            sym: None,
            magnitude: matches!(d.kind, LocalKind::ImplicitSize | LocalKind::ResultSize | LocalKind::Extent)
                .then_some(MAX_SIZE),
            scope: 0,
        });
        let (type_params, _) = super::lower::classes(tree, resolved);
        let mut this = Self {
            tree,
            resolved,
            module,
            env,
            nodes: Arena::default(),
            syms: Vec::new(),
            locals: locals.collect(),
            metas: Metas::default(),
            classes: type_params.into_iter().map(|p| p.1).collect(),
            scopes: Scopes::default(),
            obligations: Vec::new(),
            deferred: BTreeMap::new(),
            varied: None,
            coverage: Vec::new(),
            any_value: Vec::new(),
            branch_extents: Vec::new(),
            diagnostics: Vec::new(),
            effects: false,
            bare: Vec::new(),
            runs: Vec::new(),
            bare_locals: Vec::new(),
            exits: Vec::new(),
            reported: HashSet::new(),
            guarded: Vec::new(),
        };
        for (l, d) in (0..).map(LocalId).zip(&resolved.locals) {
            if matches!(d.kind, LocalKind::ImplicitSize | LocalKind::ResultSize) {
                this.bind(l, Type::I64, None);
                this.scopes.assume_nonneg(this.atom(l));
            }
        }
        this
    }

    fn report(&mut self, d: Diagnostic) {
        if self.reported.insert((d.code, d.span)) {
            self.diagnostics.push(d);
        }
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::new(code, span, message));
    }

    // ---- locals ----

    fn local(&self, l: LocalId) -> Option<&LocalInfo> {
        self.locals.get(l.0 as usize)
    }

    fn name_of(&self, l: LocalId) -> Name {
        self.local(l).map(|i| i.name.clone()).unwrap_or_default()
    }

    /// Prints the expression of a node as an operand in a message.
    fn phrase(&self, node: TId) -> String {
        let phrases = Phrases { nodes: &self.nodes, name: &|l| self.name_of(l), ty: &|n| self.ty(n) };
        phrases.operand(node)
    }

    /// Returns the local as an atom of sizes.
    fn atom(&self, l: LocalId) -> Poly {
        Poly::atom(Atom::Local(l, self.name_of(l)))
    }

    /// Gives a local its type and, for an `i64`, its value; if `sym` is `None`, the value is the
    /// local itself.
    ///
    /// An undecided literal that defaults to an integer counts as an `i64`, until it becomes a
    /// real.
    fn bind(&mut self, l: LocalId, ty: Type, sym: Option<Poly>) {
        let scope = self.scopes.current;
        let sym = match ty {
            Type::I64 => Some(sym.unwrap_or_else(|| self.atom(l))),
            Type::Meta(id) if self.metas.integer_by_default(id) => Some(sym.unwrap_or_else(|| self.atom(l))),
            _ => None,
        };
        if let Some(info) = self.locals.get_mut(l.0 as usize) {
            *info = LocalInfo { ty, sym, scope, ..info.clone() };
        }
    }

    /// Creates an `i64` local for an extent that is known only at run time.
    fn fresh_extent(&mut self, name: &str, span: Span) -> LocalId {
        let l = self.fresh_local(name, Type::I64, span);
        self.bounded(l, Some(MAX_SIZE));
        l
    }

    /// Sets the bound of the local's absolute value.
    fn bounded(&mut self, l: LocalId, magnitude: Option<i128>) {
        if let Some(info) = self.locals.get_mut(l.0 as usize) {
            info.magnitude = magnitude;
        }
    }

    /// Creates a local that the text does not declare.
    fn fresh_local(&mut self, name: &str, ty: Type, span: Span) -> LocalId {
        let l = LocalId(u32::try_from(self.locals.len()).unwrap_or(u32::MAX));
        let scope = self.scopes.current;
        self.locals.push(LocalInfo { name: name.into(), span, ty: ty.clone(), sym: None, magnitude: None, scope });
        self.bind(l, ty, None);
        l
    }

    /// Returns the local that the identifier at `span` declares.
    fn declared(&self, span: Span) -> Option<LocalId> {
        self.resolved.decls.get(&span).copied()
    }

    // ---- nodes ----

    fn alloc(&mut self, kind: Typed, ty: Type, span: Span) -> TId {
        self.alloc_sym(kind, ty, span, None)
    }

    fn alloc_sym(&mut self, kind: Typed, ty: Type, span: Span, sym: Option<Poly>) -> TId {
        let (kind, ty) = if self.small_enough(&ty, span) { (kind, ty) } else { (Typed::Error, Type::Error) };
        self.syms.push(sym);
        self.nodes.alloc(Node { kind, ty, span })
    }

    /// Returns whether the type is small enough to walk, and reports a type that is not, here or
    /// since the last call.
    ///
    /// An item has at most one such diagnostic, at the first place. Without the limit, types that
    /// double with every `let`, call or constructor would fill the memory.
    pub(super) fn small_enough(&mut self, t: &Type, span: Span) -> bool {
        let fits = self.metas.fits(t);
        if (self.metas.take_large() || !fits) && !std::mem::replace(&mut self.metas.told_large, true) {
            self.report(too_large(span));
        }
        fits
    }

    fn set_sym(&mut self, node: TId, sym: Poly) {
        if let Some(s) = self.syms.get_mut(node.index()) {
            *s = Some(sym);
        }
    }

    fn error_node(&mut self, span: Span) -> TId {
        self.alloc(Typed::Error, Type::Error, span)
    }

    /// Returns the type of a node, with its outermost constructor resolved as far as it is known.
    fn ty(&self, node: TId) -> Type {
        self.metas.shallow(&self.nodes[node].ty)
    }

    fn span(&self, node: TId) -> Span {
        self.nodes[node].span
    }

    fn sym(&self, node: TId) -> Option<&Poly> {
        self.syms.get(node.index()).and_then(Option::as_ref)
    }

    fn expr_span(&self, e: ExprId) -> Span {
        self.tree.exprs[e].span
    }

    // ---- types ----

    /// Lowers a written type, in terms of this item's locals.
    fn written(&mut self, id: TypeId) -> Type {
        let locals = &self.locals;
        let used = RefCell::new(Vec::new());
        let local = |l: LocalId| {
            used.borrow_mut().push(l);
            locals.get(l.0 as usize).and_then(|l| l.sym.clone())
        };
        let mut lower = Lower::new(self.tree, self.resolved, self.env, &local);
        let t = lower.ty(id);
        let found = std::mem::take(&mut lower.diagnostics);
        found.into_iter().for_each(|d| self.report(d));
        // A literal that is used as a size is an integer.
        for l in used.into_inner() {
            let Some(Type::Meta(literal)) = self.local(l).map(|i| i.ty.clone()) else { continue };
            if self.unify(&Type::Meta(literal), &Type::I64).is_err() {
                self.error(Code::E0309, self.tree.types[id].span, "only an `i64` can be a size");
            }
        }
        t
    }

    fn unify(&mut self, found: &Type, wanted: &Type) -> Result<Goals, Mismatch> {
        let mut goals = Vec::new();
        let classes = &self.classes;
        let class = |k: u32| classes.get(k as usize).copied().unwrap_or(Class::Any);
        self.metas.unify(found, wanted, &class, &mut goals)?;
        Ok(goals)
    }

    fn demand(&mut self, t: &Type, class: Class) -> Result<(), Mismatch> {
        let classes = &self.classes;
        self.metas.demand(t, class, &|k| classes.get(k as usize).copied().unwrap_or(Class::Any))
    }

    /// Wraps the node in a check of the size equations that unification left open.
    fn with_goals(&mut self, node: TId, goals: Goals, what: &str, code: Code) -> TId {
        let demands =
            goals.into_iter().map(|(found, wanted)| (found, Demand::Equal(wanted), what.to_owned())).collect();
        self.with_checks(node, demands, code)
    }

    /// Wraps the node in a check of constraints on sizes, each with its subject for messages.
    fn with_checks(&mut self, node: TId, demands: Vec<(Poly, Demand, String)>, code: Code) -> TId {
        if demands.is_empty() {
            return node;
        }
        let span = self.span(node);
        let ty = self.nodes[node].ty.clone();
        let sym = self.sym(node).cloned();
        let checked = self.alloc_sym(Typed::Checked(Vec::new(), node), ty, span, sym);
        for (found, wanted, what) in demands {
            let check = SizeCheck { found, wanted, what, span, first: false };
            self.obligations.push((self.scopes.current, Obligation::Size { node: checked, check, code }));
        }
        checked
    }

    /// Requires that a node has the type. Returns the node, wrapped in a check if size equations
    /// are open. Reports a mismatch.
    fn expect(&mut self, node: TId, wanted: &Type, what: &str) -> TId {
        let found = self.nodes[node].ty.clone();
        match self.unify(&found, wanted) {
            Ok(goals) if goals.is_empty() => node,
            Ok(goals) => {
                // A value that passes the check has the sizes of the wanted type.
                let checked = self.with_goals(node, goals, what, Code::E0300);
                self.nodes[checked].ty = wanted.clone();
                checked
            }
            Err(mismatch) => {
                self.unfit(&mismatch, node, wanted, what);
                self.alloc(Typed::Error, wanted.clone(), self.span(node))
            }
        }
    }

    /// Infers with the wanted type as hint, then requires that type.
    fn check(&mut self, e: ExprId, wanted: &Type, what: &str) -> TId {
        let node = self.infer(e, Some(wanted));
        self.expect(node, wanted, what)
    }

    /// Leaves a scope with a value of this type. `finish` checks that no variable of the scope
    /// occurs in the type.
    fn leave(&mut self, scope: usize, ty: &Type, span: Span) {
        let kind = self.scopes.kind(scope);
        self.exits.push(scope::Exit { ty: ty.clone(), first: scope, last: self.scopes.last(), kind, span });
        self.scopes.leave(scope);
    }

    fn enter(&mut self, kind: ScopeKind) -> usize {
        self.scopes.enter(kind)
    }
}

/// Joins items as in "`a`", "`a` and `b`", "`a`, `b` and `c`".
fn and_list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
