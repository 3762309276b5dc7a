//! **Type checker.** Reads the syntax tree of an item and its resolved names, and writes the typed
//! tree ([`super::tree`]).
//!
//! It is bidirectional: types are inferred in one walk, and a hint from the context goes down.
//! Sizes unify by normal form. A question that the walk cannot decide becomes an obligation, stored
//! with its scope, whose facts hold at that place.
//!
//! `finish` decides the obligations when all metavariables are solved. An access is proved in
//! bounds or checked at run time. A size constraint is proved, refuted, or checked at run time.

mod argument_swaps;
mod arguments;
mod binder;
mod call;
mod control;
mod data_files;
mod derive;
mod entry_checks;
mod evaluation_order;
mod expr;
mod extents;
mod finish;
mod guard_zeros;
mod index;
mod item;
mod linearity;
mod loop_end_bounds;
mod loop_invariants;
mod mismatch;
mod mismatch_help;
mod ops;
mod pattern;
mod plot;
mod scope;
mod size_names;
mod special_form;
mod tail;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

pub use derive::tangent_type;
pub use item::{CheckedItem, check_def, check_do, check_let, check_rule, item_signature};

use super::env::TypeEnv;
use super::limits::too_large_error;
use super::lower::TypeLowering;
use super::phrase::PhrasePrinter;
use super::tree::{SizeCheck, SizeConstraint, TypedExpr as Typed, TypedId, TypedNode, TypedPattern};
use super::ty::{Scalar, Type, TypeClass};
use super::unify::{MetaTable, Mismatch, SizeGoals};
use lang_base::{Arena, Code, Diagnostic, GlobalName, ModuleName, Name, Span};
use lang_resolve::{LocalKind, Resolved};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ast::{ExprId, Tree, TypeId};
use scope::{Obligation, ScopeKind, ScopeTree};

/// Known facts about a local.
#[derive(Clone)]
pub(super) struct CheckedLocal {
    name: Name,
    span: Span,
    ty: Type,
    /// Its value as a polynomial, if it is an `i64`.
    poly: Option<Poly>,
    /// An upper bound of its absolute value, if it is smaller than that of every `i64`.
    magnitude: Option<i128>,
    /// The scope that binds it.
    scope: usize,
}

/// The exclusive upper bound of sizes and of the extents of all arrays and loops.
const MAX_SIZE: i128 = 1 << 47;

/// A lifted operation whose operand types were unknown when the walk reached it.
struct DeferredLift {
    operands: Vec<TypedId>,
    /// The node that checks the sizes of the operands; it wraps the last of them.
    check_node: TypedId,
    result: Type,
    class: TypeClass,
    /// The scalar type of the result, if it differs from that of the operands.
    result_scalar: Option<Scalar>,
    subject: String,
    span: Span,
    scope: usize,
}

/// A bare index variable.
struct BareIndex {
    extent: Poly,
    index: LocalId,
    name: Name,
    span: Span,
    /// The scope of its binder.
    scope: usize,
}

/// Patterns that must be exhaustive.
pub(super) struct CoverageObligation {
    ty: Type,
    pats: Vec<TypedPattern>,
    /// The spans of the arms of a `match`; empty for a pattern that must be irrefutable.
    spans: Vec<Span>,
    span: Span,
}

/// The state of the check of one item.
pub(super) struct TypeChecker<'a> {
    tree: &'a Tree,
    resolved: &'a Resolved,
    module: &'a ModuleName,
    env: &'a dyn TypeEnv,
    nodes: Arena<TypedNode>,
    /// The polynomial value of each node, if it is an `i64` expression that sizes can represent.
    polys: Vec<Option<Poly>>,
    locals: Vec<CheckedLocal>,
    metas: MetaTable,
    classes: Vec<TypeClass>,
    scopes: ScopeTree,
    obligations: Vec<(usize, Obligation)>,
    /// Operations that wait for the types of their operands, by their order in the text.
    deferred_lifts: BTreeMap<u32, DeferredLift>,
    /// The top-level value by which an enclosing `deriv` differentiates, and the local that
    /// replaces it.
    deriv_global: Option<(GlobalName, LocalId)>,
    coverage_obligations: Vec<CoverageObligation>,
    /// Types of `error(…)` expressions, which may be any type.
    error_call_types: Vec<Type>,
    /// Extents that differ between the branches of a value with extents `?k`.
    branch_extents: Vec<Poly>,
    diagnostics: Vec<Diagnostic>,
    /// Whether effects (`print`, …) are allowed here.
    allows_effects: bool,
    /// Bare index variables whose extents must be solved in the end.
    bare_indices: Vec<BareIndex>,
    /// Index variables that run through all of their range.
    full_range_indices: Vec<loop_end_bounds::FullRangeIndex>,
    /// Bare index variables in scope with their extents.
    bare_extents: Vec<(LocalId, Poly)>,
    /// Types of values that leave a scope.
    scope_exits: Vec<scope::ScopeExit>,
    reported: HashSet<(Code, Span)>,
    /// Guarded values and the spans of their brackets.
    guarded_values: Vec<(TypedId, Span)>,
}

impl<'a> TypeChecker<'a> {
    fn new(tree: &'a Tree, resolved: &'a Resolved, module: &'a ModuleName, env: &'a dyn TypeEnv) -> Self {
        let locals = resolved.locals.iter().map(|d| CheckedLocal {
            name: d.name.clone(),
            span: d.span,
            ty: Type::Error,
            poly: None,
            magnitude: matches!(d.kind, LocalKind::ImplicitSize | LocalKind::ResultSize | LocalKind::NamedExtent)
                .then_some(MAX_SIZE),
            scope: 0,
        });
        let (type_params, _) = super::lower::type_param_classes(tree, resolved);
        let mut this = Self {
            tree,
            resolved,
            module,
            env,
            nodes: Arena::default(),
            polys: Vec::new(),
            locals: locals.collect(),
            metas: MetaTable::default(),
            classes: type_params.into_iter().map(|p| p.1).collect(),
            scopes: ScopeTree::default(),
            obligations: Vec::new(),
            deferred_lifts: BTreeMap::new(),
            deriv_global: None,
            coverage_obligations: Vec::new(),
            error_call_types: Vec::new(),
            branch_extents: Vec::new(),
            diagnostics: Vec::new(),
            allows_effects: false,
            bare_indices: Vec::new(),
            full_range_indices: Vec::new(),
            bare_extents: Vec::new(),
            scope_exits: Vec::new(),
            reported: HashSet::new(),
            guarded_values: Vec::new(),
        };
        for (l, d) in (0..).map(LocalId).zip(&resolved.locals) {
            if matches!(d.kind, LocalKind::ImplicitSize | LocalKind::ResultSize) {
                this.bind_local(l, Type::I64, None);
                this.scopes.assume_nonneg(this.local_size(l));
            }
        }
        this
    }

    fn report(&mut self, d: Diagnostic) {
        if self.reported.insert((d.code, d.span)) {
            self.diagnostics.push(d);
        }
    }

    fn report_error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::new(code, span, message));
    }

    // ---- locals ----

    fn local_info(&self, l: LocalId) -> Option<&CheckedLocal> {
        self.locals.get(l.0 as usize)
    }

    fn local_name(&self, l: LocalId) -> Name {
        self.local_info(l).map(|i| i.name.clone()).unwrap_or_default()
    }

    /// Prints the expression of a node as an operand in a message.
    fn operand_phrase(&self, node: TypedId) -> String {
        let phrases = PhrasePrinter {
            nodes: &self.nodes,
            local_name: &|l| self.local_name(l),
            node_type: &|n| self.node_type(n),
        };
        phrases.print_operand(node)
    }

    /// Returns the local as an atom of sizes.
    fn local_size(&self, l: LocalId) -> Poly {
        Poly::atom(Atom::Local(l, self.local_name(l)))
    }

    /// Gives a local its type and, for an `i64`, its value; if `sym` is `None`, the value is the
    /// local itself.
    ///
    /// An undecided literal that defaults to an integer counts as an `i64`, until it becomes a
    /// real.
    fn bind_local(&mut self, l: LocalId, ty: Type, sym: Option<Poly>) {
        let scope = self.scopes.current;
        let sym = match ty {
            Type::I64 => Some(sym.unwrap_or_else(|| self.local_size(l))),
            Type::Meta(id) if self.metas.defaults_to_integer(id) => Some(sym.unwrap_or_else(|| self.local_size(l))),
            _ => None,
        };
        if let Some(info) = self.locals.get_mut(l.0 as usize) {
            *info = CheckedLocal { ty, poly: sym, scope, ..info.clone() };
        }
    }

    /// Creates an `i64` local for an extent that is known only at run time.
    fn fresh_extent(&mut self, name: &str, span: Span) -> LocalId {
        let l = self.fresh_local(name, Type::I64, span);
        self.set_magnitude(l, Some(MAX_SIZE));
        l
    }

    /// Sets the bound of the local's absolute value.
    fn set_magnitude(&mut self, l: LocalId, magnitude: Option<i128>) {
        if let Some(info) = self.locals.get_mut(l.0 as usize) {
            info.magnitude = magnitude;
        }
    }

    /// Creates a local that the text does not declare.
    fn fresh_local(&mut self, name: &str, ty: Type, span: Span) -> LocalId {
        let l = LocalId(u32::try_from(self.locals.len()).unwrap_or(u32::MAX));
        let scope = self.scopes.current;
        self.locals.push(CheckedLocal { name: name.into(), span, ty: ty.clone(), poly: None, magnitude: None, scope });
        self.bind_local(l, ty, None);
        l
    }

    /// Returns the local that the identifier at `span` declares.
    fn declared_local(&self, span: Span) -> Option<LocalId> {
        self.resolved.decls.get(&span).copied()
    }

    // ---- nodes ----

    fn alloc(&mut self, kind: Typed, ty: Type, span: Span) -> TypedId {
        self.alloc_with_poly(kind, ty, span, None)
    }

    fn alloc_with_poly(&mut self, kind: Typed, ty: Type, span: Span, sym: Option<Poly>) -> TypedId {
        let (kind, ty) = if self.check_type_limits(&ty, span) { (kind, ty) } else { (Typed::Error, Type::Error) };
        self.polys.push(sym);
        self.nodes.alloc(TypedNode { kind, ty, span })
    }

    /// Returns whether the type is small enough to walk, and reports a type that is not, here or
    /// since the last call.
    ///
    /// An item has at most one such diagnostic, at the first place. Without the limit, types that
    /// double with every `let`, call or constructor would fill the memory.
    pub(super) fn check_type_limits(&mut self, t: &Type, span: Span) -> bool {
        let fits = self.metas.is_within_limits(t);
        if (self.metas.take_skipped_large() || !fits) && !std::mem::replace(&mut self.metas.has_reported_large, true) {
            self.report(too_large_error(span));
        }
        fits
    }

    fn set_poly(&mut self, node: TypedId, sym: Poly) {
        if let Some(s) = self.polys.get_mut(node.index()) {
            *s = Some(sym);
        }
    }

    fn error_node(&mut self, span: Span) -> TypedId {
        self.alloc(Typed::Error, Type::Error, span)
    }

    /// Returns the type of a node, with its outermost constructor resolved as far as it is known.
    fn node_type(&self, node: TypedId) -> Type {
        self.metas.shallow_resolve(&self.nodes[node].ty)
    }

    fn node_span(&self, node: TypedId) -> Span {
        self.nodes[node].span
    }

    fn poly(&self, node: TypedId) -> Option<&Poly> {
        self.polys.get(node.index()).and_then(Option::as_ref)
    }

    fn expr_span(&self, e: ExprId) -> Span {
        self.tree.exprs[e].span
    }

    // ---- types ----

    /// Lowers a written type, in terms of this item's locals.
    fn lower_annotation(&mut self, id: TypeId) -> Type {
        let locals = &self.locals;
        let used = RefCell::new(Vec::new());
        let local = |l: LocalId| {
            used.borrow_mut().push(l);
            locals.get(l.0 as usize).and_then(|l| l.poly.clone())
        };
        let mut lower = TypeLowering::new(self.tree, self.resolved, self.env, &local);
        let t = lower.lower_type(id);
        let found = std::mem::take(&mut lower.diagnostics);
        found.into_iter().for_each(|d| self.report(d));
        // A literal that is used as a size is an integer.
        for l in used.into_inner() {
            let Some(Type::Meta(literal)) = self.local_info(l).map(|i| i.ty.clone()) else { continue };
            if self.unify(&Type::Meta(literal), &Type::I64).is_err() {
                self.report_error(Code::E0309, self.tree.types[id].span, "only an `i64` can be a size");
            }
        }
        t
    }

    fn unify(&mut self, found: &Type, wanted: &Type) -> Result<SizeGoals, Mismatch> {
        let mut goals = Vec::new();
        let classes = &self.classes;
        let class = |k: u32| classes.get(k as usize).copied().unwrap_or(TypeClass::Any);
        self.metas.unify(found, wanted, &class, &mut goals)?;
        Ok(goals)
    }

    fn require_class(&mut self, t: &Type, class: TypeClass) -> Result<(), Mismatch> {
        let classes = &self.classes;
        self.metas.require_class(t, class, &|k| classes.get(k as usize).copied().unwrap_or(TypeClass::Any))
    }

    /// Wraps the node in a check of the size equations that unification left open.
    fn wrap_in_goal_checks(&mut self, node: TypedId, goals: SizeGoals, what: &str, code: Code) -> TypedId {
        let demands =
            goals.into_iter().map(|(found, wanted)| (found, SizeConstraint::Equal(wanted), what.to_owned())).collect();
        self.wrap_in_size_checks(node, demands, code)
    }

    /// Wraps the node in a check of constraints on sizes, each with its subject for messages.
    fn wrap_in_size_checks(
        &mut self,
        node: TypedId,
        demands: Vec<(Poly, SizeConstraint, String)>,
        code: Code,
    ) -> TypedId {
        if demands.is_empty() {
            return node;
        }
        let span = self.node_span(node);
        let ty = self.nodes[node].ty.clone();
        let sym = self.poly(node).cloned();
        let checked = self.alloc_with_poly(Typed::Checked(Vec::new(), node), ty, span, sym);
        for (found, wanted, what) in demands {
            let check = SizeCheck { found, constraint: wanted, subject: what, span, is_precondition: false };
            self.obligations.push((self.scopes.current, Obligation::Size { node: checked, check, code }));
        }
        checked
    }

    /// Requires that a node has the type. Returns the node, wrapped in a check if size equations
    /// are open. Reports a mismatch.
    fn require_type(&mut self, node: TypedId, wanted: &Type, what: &str) -> TypedId {
        let found = self.nodes[node].ty.clone();
        match self.unify(&found, wanted) {
            Ok(goals) if goals.is_empty() => node,
            Ok(goals) => {
                // A value that passes the check has the sizes of the wanted type.
                let checked = self.wrap_in_goal_checks(node, goals, what, Code::E0300);
                self.nodes[checked].ty = wanted.clone();
                checked
            }
            Err(mismatch) => {
                self.report_unfit(&mismatch, node, wanted, what);
                self.alloc(Typed::Error, wanted.clone(), self.node_span(node))
            }
        }
    }

    /// Infers with the wanted type as hint, then requires that type.
    fn check_expr(&mut self, e: ExprId, wanted: &Type, what: &str) -> TypedId {
        let node = self.infer(e, Some(wanted));
        self.require_type(node, wanted, what)
    }

    /// Leaves a scope with a value of this type. `finish` checks that no variable of the scope
    /// occurs in the type.
    fn leave_scope(&mut self, scope: usize, ty: &Type, span: Span) {
        let kind = self.scopes.kind(scope);
        self.scope_exits.push(scope::ScopeExit {
            ty: ty.clone(),
            first: scope,
            last: self.scopes.last_index(),
            kind,
            span,
        });
        self.scopes.leave(scope);
    }

    fn enter_scope(&mut self, kind: ScopeKind) -> usize {
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
