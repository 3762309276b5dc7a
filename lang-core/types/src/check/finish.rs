//! **Conclusion of a check.** Applies defaults to metavariables and decides the obligations from
//! the facts of their scopes. An undecided obligation becomes a runtime check or a diagnostic. Then
//! builds the typed body.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::coverage;
use super::super::lower::instantiate_type_body;
use super::super::tree::{
    BodyLocal, Callee, Instantiation, SizeCheck, SizeConstraint, TypedBody, TypedExpr as Typed, TypedId,
    TypedIndexRange, TypedLambda, TypedPattern, TypedSubscript, TypedUpdateTarget,
};
use super::super::ty::{Scalar, Type};
use super::super::type_info::TypeInfoBody;
use super::super::unify::{SizeOrigin, has_meta};
use super::TypeChecker;
use super::item::CheckedItem;
use super::mismatch::{size_mismatch, two_extents_diagnostic};
use super::scope::{FactClaim, Obligation, ScopeKind};
use super::size_names::{names_in_sizes, names_in_types};
use lang_base::{Code, Diagnostic, Fact, Fix, Name, RealConst, RelatedLabel, Span};
use lang_resolve::TypeRes;
use lang_sizes::predicate::prove::FactSet;
use lang_sizes::predicate::{Atom, LocalId, Poly};

/// The maximal number of additional places that a diagnostic points at.
const MAX_RELATED_SPANS: usize = 6;

/// The facts of the scopes on the path from the item to one scope. Between obligations it changes
/// as little as possible.
#[derive(Default)]
pub(super) struct ScopeContext {
    pub(super) facts: FactSet,
    /// The scopes on the path, each with the mark before its facts.
    path: Vec<(usize, usize)>,
    /// Polynomials that are zero in a scope, because a check on its entry compares them.
    pub(super) entry_equalities: Vec<(usize, Poly)>,
}

impl ScopeContext {
    /// Leaves all scopes, because the facts of one have changed.
    pub(super) fn reset(&mut self) {
        if let Some((_, mark)) = self.path.first() {
            self.facts.release(*mark);
        }
        self.path.clear();
    }
}

/// Replaces unknown parts of the type by [`Type::Error`]; an unknown size makes the whole an error.
/// A size that overflowed is an error only if `doubtful`, that is, if the item has errors.
fn erase_unknown(t: &Type, doubtful: bool) -> Type {
    let mut open = false;
    t.visit(&mut |_| {}, &mut |p| open |= has_meta(p) || doubtful && p.has_overflowed());
    match open {
        true => Type::Error,
        false => t.map(&|t, _| matches!(t, Type::Meta(_)).then_some(Type::Error), &|p, _| p.clone()),
    }
}

impl TypeChecker<'_> {
    /// Solves the remaining metavariables by defaults.
    pub(super) fn solve_remaining(&mut self) {
        self.settle_deferred(false);
        self.metas.apply_defaults();
        self.settle_deferred(true);
        self.metas.apply_defaults();
        self.metas.apply_real_defaults();
        for t in std::mem::take(&mut self.error_call_types) {
            if let Type::Meta(_) = self.metas.shallow_resolve(&t) {
                let _ = self.unify(&t, &Type::unit());
            }
        }
    }

    pub(super) fn finish(
        mut self,
        root: TypedId,
        sizes: Vec<LocalId>,
        params: Vec<LocalId>,
        exports: Vec<(Name, Type)>,
        result: Type,
    ) -> CheckedItem {
        self.solve_remaining();
        self.check_powers();
        self.decide_obligations();
        self.default_branch_extents();
        let reported = self.check_bare_indices();
        self.check_scope_exits(&reported);
        self.check_coverage();
        self.check_guard_zeros();
        self.zonk_nodes();
        self.check_derivatives();
        self.compute_captures();
        self.check_type_limits(&Type::Error, self.nodes[root].span);
        if !self.has_errors() {
            let from: Vec<LocalId> = sizes.iter().chain(&params).copied().collect();
            self.check_extent_order(root, &from);
        }
        if !self.has_errors() {
            self.check_loop_invariants(root);
        }
        self.add_size_hints();
        self.diagnostics.sort_by_key(|d| (d.span.start, d.span.end, d.code));
        let ok = !self.has_errors() && !self.nodes.iter().any(|(_, n)| n.kind == Typed::Error);
        // Unknown parts were reported here, so dependents must not report them again.
        let doubtful = self.has_errors() || self.has_tainting_error();
        let exported_type = |t: &Type| erase_unknown(&self.metas.zonk(t), doubtful);
        let result = exported_type(&result);
        let exports = exports.into_iter().map(|(name, t)| (name, exported_type(&t))).collect();
        let locals = self
            .locals
            .iter()
            .map(|l| BodyLocal { name: l.name.clone(), ty: self.metas.zonk(&l.ty), span: l.span })
            .collect();
        CheckedItem {
            body: Arc::new(TypedBody { nodes: self.nodes, sizes, params, locals, root: ok.then_some(root) }),
            exports,
            size_values: Vec::new(),
            result,
            diagnostics: self.diagnostics,
        }
    }

    fn has_errors(&self) -> bool {
        self.diagnostics.iter().chain(&self.resolved.diagnostics).any(Diagnostic::is_error)
    }

    // ---- obligations ----

    fn enter_context(&self, c: &mut ScopeContext, scope: usize) {
        // The path holds each scope at its depth. The new part is below the first scope that the
        // path already contains.
        let (mut way, mut s) = (Vec::new(), scope);
        let shared = loop {
            let depth = self.scopes.depth(s);
            if c.path.get(depth).is_some_and(|have| have.0 == s) {
                break depth + 1;
            }
            way.push(s);
            if s == 0 {
                break 0;
            }
            s = self.scopes.parent(s);
        };
        if let Some((_, mark)) = c.path.get(shared) {
            c.facts.release(*mark);
        }
        c.path.truncate(shared);
        for s in way.into_iter().rev() {
            c.path.push((s, c.facts.mark()));
            c.entry_equalities.iter().filter(|(at, _)| *at == s).for_each(|(_, p)| c.facts.assume_zero(p.clone()));
            let Some(fact) = self.scopes.fact(s) else { continue };
            if self.metas.shallow_resolve(&fact.operand_type) == Type::I64 {
                let p = self.metas.zonk_size(&fact.poly);
                match fact.claim {
                    FactClaim::NonNegative => c.facts.assume_nonneg(p),
                    FactClaim::Zero => c.facts.assume_zero(p),
                    FactClaim::NonZero => c.facts.assume_nonzero(&p),
                }
            }
        }
    }

    fn decide_obligations(&mut self) {
        let mut obligations = std::mem::take(&mut self.obligations);
        obligations.sort_by_key(|o| o.0);
        self.full_range_indices.sort_by_key(|r| r.body_scope);
        let mut context = ScopeContext::default();
        // The same two extents for several indices are one mistake.
        let mut differing: Vec<(Poly, Span)> = Vec::new();
        self.assume_global_sizes(&obligations, &mut context.facts);
        for (scope, o) in obligations {
            match o {
                Obligation::Index { node, update, position, index, extent, axis, span } => {
                    let (i, n) = (self.metas.zonk_size(&index), self.metas.zonk_size(&extent));
                    self.enter_context(&mut context, scope);
                    let f = &context.facts;
                    if self.reported.contains(&(Code::E0304, span)) {
                        // The extents of this index differ, which was reported.
                    } else if f.proves_nonneg(&i) && f.proves_nonneg(&n.sub(&i).add_constant(-1)) {
                        self.mark_proved(node, update, position);
                    } else if n.is_zero() && i.as_constant().is_none() {
                        // A loop over an empty axis never runs.
                    } else if (f.proves_nonneg(&i.sub(&n)) || f.proves_nonneg(&i.neg().add_constant(-1)))
                        && !f.is_contradictory()
                    {
                        let mut d = Diagnostic::new(
                            Code::E0306,
                            span,
                            format!("the index `{i}` is always out of bounds: axis {axis} has extent `{n}`"),
                        );
                        d = if n.is_zero() {
                            d.help("this axis has no elements")
                        } else if i.as_constant().is_some_and(|c| c < 0) {
                            d.help(format!("indices count from 0; the last element is `x[{}]`", n.add_constant(-1)))
                        } else {
                            d.help(format!("indices run from 0 to `{}`", n.add_constant(-1)))
                        };
                        d = d
                            .fix(Fix::replace(span, n.add_constant(-1).to_string()))
                            .size_names(names_in_sizes([&i, &n]));
                        self.report(self.add_constant_values(d, &[&i, &n]));
                    } else {
                        self.check_loop_ends(&context.facts, scope, &i, &n, span);
                    }
                }
                Obligation::Slice { node, update, position, from, to, extent, span } => {
                    let (a, b, n) =
                        (self.metas.zonk_size(&from), self.metas.zonk_size(&to), self.metas.zonk_size(&extent));
                    self.enter_context(&mut context, scope);
                    let goals = [a.clone(), b.sub(&a), n.sub(&b)];
                    let f = &context.facts;
                    if goals.iter().all(|g| f.proves_nonneg(g)) {
                        self.mark_proved(node, update, position);
                    } else if goals.iter().any(|g| f.proves_nonneg(&g.neg().add_constant(-1))) && !f.is_contradictory()
                    {
                        self.report(
                            Diagnostic::new(
                                Code::E0306,
                                span,
                                format!("the slice `{a}..{b}` never fits an axis of extent `{n}`"),
                            )
                            .help("a slice `a..b` must satisfy `0 <= a <= b <= extent`; `b` is exclusive")
                            .size_names(names_in_sizes([&a, &b, &n])),
                        );
                    }
                }
                Obligation::Size { node, check, code } => {
                    self.decide_size_check(&mut context, scope, node, check, code)
                }
                Obligation::Extent { extent, is_array: array, span } => {
                    let n = self.metas.zonk_size(&extent);
                    let negative = n.neg().add_constant(-1);
                    self.enter_context(&mut context, scope);
                    if array && context.facts.proves_nonneg(&negative) && !context.facts.is_contradictory() {
                        self.report(
                            Diagnostic::new(
                                Code::E0307,
                                span,
                                format!("this range has the extent `{n}`, which is always negative"),
                            )
                            .help("an extent must not be negative")
                            .size_names(names_in_sizes([&n])),
                        );
                    } else if n.as_constant().is_some_and(|c| c >= 1 << 47) {
                        self.report(
                            Diagnostic::new(Code::E0308, span, "this extent is too large")
                                .help("extents must be below 2^47"),
                        );
                    }
                }
                Obligation::EqualExtents { index, span, first, second } => {
                    let (n, m) = (self.metas.zonk_size(&first), self.metas.zonk_size(&second));
                    let d = n.sub(&m);
                    // An extent that is unknown because of an error may be any.
                    if (d.has_overflowed() || has_meta(&d)) && (self.has_errors() || self.has_tainting_error()) {
                        continue;
                    }
                    self.enter_context(&mut context, scope);
                    if !(d.is_zero()
                        || context.facts.proves_zero(&d)
                        || self.add_entry_check(&mut context, index, &n, &m, span))
                    {
                        let opposite = d.neg();
                        let known = differing.iter().find(|(e, _)| *e == d || *e == opposite);
                        if let Some((_, at)) = known.filter(|_| n != m) {
                            let first = self.diagnostics.iter_mut().find(|d| d.code == Code::E0304 && d.span == *at);
                            if let Some(first) = first.filter(|d| d.related.len() < MAX_RELATED_SPANS) {
                                first.related.push(RelatedLabel { span, message: "here too".to_owned(), module: None });
                            }
                            continue;
                        }
                        differing.push((d, span));
                        let name = self.local_name(index);
                        let place = self.local_info(index).map_or(span, |i| i.span);
                        let d = two_extents_diagnostic(&name, span, &n, &m);
                        let d =
                            d.related(place, format!("`{name}` takes its extent from the axes that it indexes alone"));
                        self.report(self.add_constant_values(d, &[&n, &m]));
                    }
                }
            }
        }
    }

    fn decide_size_check(
        &mut self,
        context: &mut ScopeContext,
        scope: usize,
        node: TypedId,
        check: SizeCheck,
        code: Code,
    ) {
        let found = self.metas.zonk_size(&check.found);
        let wanted = match &check.constraint {
            SizeConstraint::Equal(p) => SizeConstraint::Equal(self.metas.zonk_size(p)),
            SizeConstraint::ValidExtent => SizeConstraint::ValidExtent,
        };
        // The facts may prove that the constraint holds, or that it never does.
        let (holds, fails, message, label) = match &wanted {
            SizeConstraint::Equal(w) => {
                let d = found.sub(w);
                if d.is_zero() {
                    return;
                }
                if has_meta(&d) {
                    // This equation may still solve one metavariable.
                    let mut left = Vec::new();
                    match self.metas.unify_size(&found, w, &mut left) {
                        Ok(()) if left.is_empty() => return,
                        _ => {}
                    }
                    self.report_unsolved_size(&d);
                    return;
                }
                self.enter_context(context, scope);
                let facts = &context.facts;
                let differ = d.as_constant().is_some()
                    || facts.proves_nonneg(&d.add_constant(-1))
                    || facts.proves_nonneg(&d.neg().add_constant(-1));
                let label = format!("the size `{found}` does not match the expected `{w}`");
                (facts.proves_zero(&d), differ, format!("sizes differ for {}", check.subject), label)
            }
            SizeConstraint::ValidExtent => {
                // An unsolved metavariable is reported elsewhere.
                if has_meta(&found) {
                    return;
                }
                self.enter_context(context, scope);
                let facts = &context.facts;
                let negative = facts.proves_nonneg(&found.neg().add_constant(-1));
                let label = format!("it would be `{found}`, but a size must not be negative");
                let small = found.terms().iter().try_fold(0_i128, |most, (m, c)| match (m.as_slice(), *c < 0) {
                    ([], _) => Some(most + c),
                    ([(a, 1)], false) => Some(most.saturating_add(c.saturating_mul(self.atom_magnitude(a)?))),
                    // A negative term does not raise the bound if its atom is not negative.
                    ([(a, 1)], true) => facts.proves_nonneg(&Poly::atom(a.clone())).then_some(most),
                    _ => None,
                });
                let holds = small.is_some_and(|most| most <= super::MAX_SIZE) && facts.proves_nonneg(&found);
                (holds, negative, format!("{} is negative", check.subject), label)
            }
        };
        if holds {
            return;
        }
        let sizes = match &wanted {
            SizeConstraint::Equal(w) => vec![&found, w],
            SizeConstraint::ValidExtent => vec![&found],
        };
        let diagnostic = || {
            let mut d = Diagnostic::new(code, check.span, message).label(label);
            if let SizeConstraint::Equal(w) = &wanted {
                d = d.fact(size_mismatch(&found, w));
            }
            d.size_names(names_in_sizes(sizes.iter().copied()))
        };
        if fails && !context.facts.is_contradictory() {
            let d = diagnostic();
            self.report(self.add_constant_values(d, &sizes));
            return;
        }
        // A size that an argument of a function value determines is unknown here.
        let open = |p: &Poly| {
            let mut open = false;
            p.for_each_atom(&mut |a| open |= matches!(a, Atom::Arg(..)));
            open
        };
        if open(&found) || matches!(&wanted, SizeConstraint::Equal(w) if open(w)) {
            let d = diagnostic();
            self.report(d.help("the size depends on an argument of a function value, which is not known here"));
            return;
        }
        let checked = SizeCheck { found, constraint: wanted, ..check };
        if let Typed::Checked(checks, _) = &mut self.nodes[node].kind {
            checks.push(checked);
        }
    }

    fn mark_proved(&mut self, node: TypedId, update: Option<usize>, position: usize) {
        let subs = match (&mut self.nodes[node].kind, update) {
            (Typed::Index(_, subs), None) => Some(subs),
            (Typed::With(_, updates), Some(k)) => match updates.get_mut(k).map(|u| &mut u.target) {
                Some(TypedUpdateTarget::Index(subs)) => Some(subs),
                _ => None,
            },
            _ => None,
        };
        match subs.and_then(|s| s.get_mut(position)) {
            Some(TypedSubscript::Index { is_proved: proved, .. } | TypedSubscript::Range { is_proved: proved, .. }) => {
                *proved = true
            }
            Some(TypedSubscript::FullAxis) | None => {}
        }
    }

    /// Returns whether the item has an error, reported here or elsewhere, that may cause others.
    pub(super) fn has_tainting_error(&self) -> bool {
        let unread = self.tree.exprs.iter().any(|(e, _)| self.is_unparsed(e));
        let untyped = self.resolved.types.values().any(|t| *t == TypeRes::Error);
        unread || untyped || self.nodes.iter().any(|(_, n)| n.kind == Typed::Error || n.ty.has_error())
    }

    fn report_unsolved_size(&mut self, p: &Poly) {
        if self.has_tainting_error() {
            return;
        }
        let mut metas = Vec::new();
        p.for_each_atom(&mut |a| {
            if let Atom::Meta(id) = a {
                metas.push(*id);
            }
        });
        for id in metas {
            let (span, why) = self.metas.size_origin(id);
            match why {
                SizeOrigin::Index(name) => self.report_no_extent(&name, span),
                SizeOrigin::Param(size, of) => self.report(
                    Diagnostic::new(Code::E0301, span, format!("the size `{size}` of `{of}` cannot be inferred here"))
                        .help("write the type of the argument or of the result, so that its extents are known")
                        .size_names([size]),
                ),
                SizeOrigin::Other => self.report(
                    Diagnostic::new(Code::E0301, span, "an extent of this array is not known")
                        .help("write its type: `let x: [?n]f64 = …`"),
                ),
            }
        }
    }

    fn report_no_extent(&mut self, name: &Name, span: Span) {
        let Some(help) = self.no_extent_help(name, span) else { return };
        self.report(
            Diagnostic::new(Code::E0303, span, format!("the index `{name}` has no extent"))
                .label("it indexes no array by itself, and no expected type determines its range")
                .help(help),
        );
    }

    /// Reports bare indices whose extents are unknown on entry of their binder. Returns the locals
    /// inside the binder on which the reported extents depend.
    fn check_bare_indices(&mut self) -> Vec<LocalId> {
        let mut reported = Vec::new();
        if self.has_tainting_error() {
            return reported;
        }
        for bare in std::mem::take(&mut self.bare_indices) {
            let extent = self.metas.zonk_size(&bare.extent);
            if let Some(Atom::Meta(_)) = extent.as_atom() {
                self.report_no_extent(&bare.name, bare.span);
                continue;
            }
            // Locals bound inside the binder have no value when its loop starts.
            let mut inside = None;
            extent.for_each_atom(&mut |a| {
                if let Atom::Local(l, name) = a
                    && *l >= bare.index
                    && self.local_info(*l).is_some_and(|i| i.scope >= bare.scope)
                {
                    inside = Some((*l, name.clone()));
                }
            });
            let Some((l, inside)) = inside.filter(|_| !self.has_extent_conflict(bare.span)) else { continue };
            reported.push(l);
            let (name, message) = (&bare.name, "is known only inside its loop");
            self.report(
                Diagnostic::new(
                    Code::E0303,
                    bare.span,
                    format!("the extent `{inside}` of the index `{name}` {message}"),
                )
                .help(format!("bind the array first, `let x = …`, or write the range: `{name} < …`"))
                .size_names([inside]),
            );
        }
        reported
    }

    /// Returns whether a diagnostic already reports two extents for the index bound here.
    fn has_extent_conflict(&self, index: Span) -> bool {
        let mut conflicts = self.diagnostics.iter().filter(|d| d.code == Code::E0304);
        conflicts.any(|d| d.related.iter().any(|l| l.span == index))
    }

    /// Reports types that leave a scope and mention a local of the scope, except the locals in
    /// `reported`, which have a diagnostic.
    fn check_scope_exits(&mut self, reported: &[LocalId]) {
        for e in std::mem::take(&mut self.scope_exits) {
            let t = self.metas.zonk(&e.ty);
            let mut inner = None;
            t.visit(&mut |_| {}, &mut |p| {
                p.for_each_atom(&mut |a| {
                    if let Atom::Local(l, _) = a
                        && self.local_info(*l).is_some_and(|i| (e.first..=e.last).contains(&i.scope))
                    {
                        inner = Some(*l);
                    }
                });
            });
            let Some(l) = inner.filter(|l| !reported.contains(l)) else { continue };
            let (name, place) = self.local_info(l).map(|i| (i.name.clone(), i.span)).unwrap_or_default();
            let d = if e.kind == ScopeKind::Binder {
                self.ragged_array_error(e.span, &t, l)
            } else {
                Diagnostic::new(
                    Code::E0310,
                    e.span,
                    format!("the extent `{name}` in `{t}` is not known outside this branch or function"),
                )
                .related(place, "it becomes known here")
                .help("move it before the branch, or return it from a definition whose result has an extent `?k`")
                .size_names([name])
                .size_names(names_in_types([&t]))
            };
            self.report(d);
        }
    }

    // ---- patterns ----

    fn check_coverage(&mut self) {
        let env = self.env;
        let ctors = |t: &Type| match t {
            Type::Data(name, args) => match &env.type_info(name)?.body {
                TypeInfoBody::Sum(ctors) => Some(
                    ctors
                        .iter()
                        .map(|c| (c.name.clone(), c.args.iter().map(|t| instantiate_type_body(t, args)).collect()))
                        .collect(),
                ),
                TypeInfoBody::Alias(_) => None,
            },
            _ => None,
        };
        for c in std::mem::take(&mut self.coverage_obligations) {
            let ty = self.metas.zonk(&c.ty);
            if ty.has_error() {
                continue;
            }
            let pats: Vec<&TypedPattern> = c.pats.iter().collect();
            let result = coverage::check_match(&ty, &pats, &ctors);
            if result.too_large {
                let whole = if c.spans.is_empty() { "pattern" } else { "`match`" };
                let message = format!("this {whole} is too large for the exhaustiveness check");
                let help = "add a last arm `_: …`, or split it into several smaller matches";
                self.report(Diagnostic::new(Code::E0404, c.span, message).help(help));
            }
            let missing: Vec<String> = result
                .missing
                .iter()
                .map(|m| match m.as_str() {
                    "_" if c.spans.is_empty() => "all values".to_owned(),
                    "_" if ty == Type::I64 => "other integers".to_owned(),
                    "_" => "other values".to_owned(),
                    _ => format!("`{m}`"),
                })
                .collect();
            if !missing.is_empty() {
                if c.spans.is_empty() {
                    self.report(
                        Diagnostic::new(Code::E0402, c.span, "this pattern must match every value, but it may fail")
                            .label(format!("does not match {}", super::and_list(&missing)))
                            .help("use `match e { … }` with an arm for every case"),
                    );
                } else {
                    let uncovered = result.missing.iter().filter(|m| *m != "_").cloned().collect();
                    self.report(
                        Diagnostic::new(
                            Code::E0400,
                            c.span,
                            format!("this `match` has no arm for {}", super::and_list(&missing)),
                        )
                        .fact(Fact::MissingPatterns(uncovered))
                        .help(match result.missing.first().map(String::as_str) {
                            Some("_") | None => "add `_: …` for the remaining values".to_owned(),
                            Some(first) => format!("add `{first}: …`, or `_: …` for the remaining values"),
                        }),
                    );
                }
            }
            // Arms after a misspelt constructor become reachable once it is corrected.
            let hidden = c.spans.iter().position(|s| self.has_misspelt_ctor(*s)).unwrap_or(c.spans.len());
            for k in result.redundant {
                if let Some(span) = c.spans.get(k).filter(|_| k <= hidden) {
                    self.report(
                        Diagnostic::new(
                            Code::W0401,
                            *span,
                            "this arm is never reached, because earlier arms match all of its values",
                        )
                        .help("remove it, or move it up"),
                    );
                }
            }
        }
    }

    /// Returns whether the pattern contains a name with a warning that it is not a constructor.
    fn has_misspelt_ctor(&self, pattern: Span) -> bool {
        let mut warnings = self.resolved.diagnostics.iter().filter(|d| d.code == Code::W0110);
        warnings.any(|d| pattern.to(d.span) == pattern)
    }

    // ---- the body ----

    /// Substitutes the solutions in all nodes and reports metavariables that are still unsolved.
    fn zonk_nodes(&mut self) {
        let clean = !self.has_errors() && !self.has_tainting_error();
        let mut open: Vec<u32> = Vec::new();
        let mut open_sizes: Vec<Poly> = Vec::new();
        let ids: Vec<TypedId> = self.nodes.iter().map(|(id, _)| id).collect();
        for id in ids {
            let ty = self.metas.zonk(&self.nodes[id].ty);
            self.check_type_limits(&ty, self.nodes[id].span);
            ty.visit(
                &mut |t| {
                    if let Type::Meta(m) = t {
                        open.push(*m);
                    }
                },
                &mut |p| {
                    if has_meta(p) {
                        open_sizes.push(p.clone());
                    }
                },
            );
            let mut kind = std::mem::replace(&mut self.nodes[id].kind, Typed::Error);
            match &mut kind {
                Typed::Int(n) => {
                    if let Type::Scalar(Scalar::F64 | Scalar::F32) = ty {
                        #[expect(clippy::cast_precision_loss, reason = "the literal is rounded, as any real literal")]
                        let x = *n as f64;
                        kind = Typed::Real(RealConst(x));
                    }
                }
                Typed::Size(p) => *p = self.metas.zonk_size(p),
                Typed::DefValue(_, instance) | Typed::BuiltinValue(_, instance) => self.zonk_instance(instance),
                Typed::Call { callee: Callee::Def(_, instance) | Callee::Builtin(_, instance), .. } => {
                    self.zonk_instance(instance);
                    for p in &instance.sizes {
                        if has_meta(p) {
                            open_sizes.push(p.clone());
                        }
                    }
                }
                Typed::Binder { vars, .. } | Typed::Fold { vars, .. } => {
                    for v in vars {
                        if let TypedIndexRange::Extent(p) = &mut v.range {
                            *p = self.metas.zonk_size(p);
                        }
                    }
                }
                _ => {}
            }
            self.nodes[id].kind = kind;
            self.nodes[id].ty = ty;
        }
        // Removes checks that turned out to be empty.
        let ids: Vec<TypedId> = self.nodes.iter().map(|(id, _)| id).collect();
        for id in ids {
            if let Typed::Checked(checks, inner) = &self.nodes[id].kind
                && checks.is_empty()
            {
                let inner = self.nodes[*inner].clone();
                self.nodes[id].kind = inner.kind;
            }
        }
        if clean && !self.metas.has_reported_large {
            open_sizes.iter().for_each(|p| self.report_unsolved_size(p));
            open.sort_unstable();
            open.dedup();
            for m in open {
                let span = self.metas.type_span(m);
                self.report(
                    Diagnostic::new(Code::E0210, span, "the type of this cannot be inferred")
                        .help("write it: `\\(x: f64): …` for a parameter, `let x: [?n]f64 = …` for a value"),
                );
            }
        }
    }

    fn zonk_instance(&self, i: &mut Instantiation) {
        i.types.iter_mut().for_each(|t| *t = self.metas.zonk(t));
        i.sizes.iter_mut().for_each(|p| *p = self.metas.zonk_size(p));
    }

    /// Computes the captures of each lambda: the locals that it reads from the enclosing frame.
    fn compute_captures(&mut self) {
        let lambdas: Vec<TypedId> =
            self.nodes.iter().filter(|(_, n)| matches!(n.kind, Typed::Lambda(_))).map(|(id, _)| id).collect();
        for id in lambdas {
            let Typed::Lambda(lambda) = self.nodes[id].kind.clone() else { continue };
            let (mut read, mut bound) = (HashSet::new(), HashSet::new());
            lambda.params.iter().for_each(|p| collect_pattern_locals(p, &mut bound));
            let mut stack = vec![lambda.body];
            while let Some(n) = stack.pop() {
                let node = &self.nodes[n];
                node.ty.visit(&mut |_| {}, &mut |p| collect_poly_locals(p, &mut read));
                node.kind.for_each_local(
                    &mut |l| {
                        read.insert(l);
                    },
                    &mut |l| {
                        bound.insert(l);
                    },
                );
                node.kind.for_each_child(&self.nodes, &mut |c| stack.push(c));
            }
            let mut captures: Vec<LocalId> = read.difference(&bound).copied().collect();
            captures.sort_unstable();
            self.nodes[id].kind = Typed::Lambda(Arc::new(TypedLambda { captures, ..(*lambda).clone() }));
        }
    }
}

/// Collects the locals that a size reads.
fn collect_poly_locals(p: &Poly, out: &mut HashSet<LocalId>) {
    p.for_each_atom(&mut |a| {
        if let Atom::Local(l, _) = a {
            out.insert(*l);
        }
    });
}

fn collect_pattern_locals(p: &TypedPattern, out: &mut HashSet<LocalId>) {
    p.for_each_local(&mut |l| {
        out.insert(l);
    });
}
