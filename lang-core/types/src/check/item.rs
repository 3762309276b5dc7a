//! **Entry points of the checker**, one for each kind of item, and the signature that dependents
//! read. The session's queries call them.

use std::sync::Arc;

use super::super::env::TypeEnv;
use super::super::lower::{lower_signature, signature_sizes};
use super::super::tree::{TypedBody, TypedExpr as Typed, TypedId, TypedPattern as TypedPat};
use super::super::ty::{Scalar, Signature, SizeParam, SizeSource, Type};
use super::TypeChecker;
use super::extents::length_expr;
use lang_base::{Code, Diagnostic, Fact, GlobalName, ModuleName, Name, Span};
use lang_resolve::{LocalDecl, LocalKind, Resolved, TypeRes, ValueRef};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ast::{Item, Pat, PatId, Tree};

/// The result of checking an item.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckedItem {
    /// The typed tree. For a top-level `let`, its value is the tuple of `exports`.
    pub body: Arc<TypedBody>,
    /// The names that a top-level `let` binds, with their types. Extents in these types that are
    /// known only with the value are exported under names that no text can contain.
    pub exports: Vec<(Name, Type)>,
    /// The exports that are an `i64` with a known value: a constant, or a polynomial in top-level
    /// sizes.
    pub size_values: Vec<(Name, Poly)>,
    /// The result type of a definition, in terms of the body's locals.
    pub result: Type,
    /// The errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks a definition's body against its written types. Errors in the signature itself are
/// reported by [`item_signature`].
pub fn check_def(tree: &Tree, resolved: &Resolved, module: &ModuleName, env: &dyn TypeEnv) -> CheckedItem {
    let mut c = TypeChecker::new(tree, resolved, module, env);
    let Item::Def(def) = &tree.item else { return c.finish_invalid() };
    let mut params = Vec::new();
    // Types of parameters may mention later parameters.
    for p in &def.params {
        if resolved.types.get(&p.ty) == Some(&TypeRes::Scalar(Scalar::I64))
            && let Some(l) = c.declared_local(p.name.span)
        {
            c.bind_local(l, Type::I64, None);
        }
    }
    let types: Vec<Type> = def.params.iter().map(|p| c.lower_annotation(p.ty)).collect();
    for (p, t) in def.params.iter().zip(&types) {
        if let Some(l) = c.declared_local(p.name.span) {
            c.bind_local(l, t.clone(), None);
            params.push(l);
        }
    }
    for t in &types {
        c.assume_lone_extents(t);
    }
    let wanted = def.result.map(|t| c.lower_annotation(t));
    // [`item_signature`] reports the errors of the signature.
    c.diagnostics.clear();
    let what = format!("the result of `{}`", def.name.name);
    let root = match &wanted {
        Some(t) => c.check_result(def.body, t, &what),
        None => c.infer(def.body, None),
    };
    let result = wanted.unwrap_or_else(|| c.nodes[root].ty.clone());
    let sizes = signature_sizes(tree, resolved)
        .into_iter()
        .filter(|(_, s)| s.source == SizeSource::Implicit)
        .map(|(l, _)| l)
        .collect();
    c.finish(root, sizes, params, Vec::new(), result)
}

/// Checks a `do`.
pub fn check_do(tree: &Tree, resolved: &Resolved, module: &ModuleName, env: &dyn TypeEnv) -> CheckedItem {
    let mut c = TypeChecker::new(tree, resolved, module, env);
    let Item::Do(e) = tree.item else { return c.finish_invalid() };
    c.allows_effects = true;
    let root = c.infer(e, None);
    let result = c.nodes[root].ty.clone();
    c.finish(root, Vec::new(), Vec::new(), Vec::new(), result)
}

/// Checks a top-level `let`.
pub fn check_let(tree: &Tree, resolved: &Resolved, module: &ModuleName, env: &dyn TypeEnv) -> CheckedItem {
    let mut c = TypeChecker::new(tree, resolved, module, env);
    let Item::Let(item) = &tree.item else { return c.finish_invalid() };
    c.allows_effects = true;
    let (pat, value) = c.infer_let_binding(item.pat, item.ty, item.value);
    let mut names = Vec::new();
    collect_bound_names(tree, resolved, item.pat, &mut names);
    c.finish_let(pat, value, names, tree.exprs[item.value].span)
}

/// Checks a derivative rule against the signature of its definition.
pub fn check_rule(tree: &Tree, resolved: &Resolved, module: &ModuleName, env: &dyn TypeEnv) -> CheckedItem {
    let mut c = TypeChecker::new(tree, resolved, module, env);
    let Some(rule) = c.rule_item().cloned() else { return c.finish_invalid() };
    let Some(signature) = env.signature(&GlobalName { module: module.clone(), name: rule.name.name.clone() }) else {
        return c.finish_invalid();
    };
    let kind = if rule.is_adjoint { "adjoint" } else { "derivative" };
    if let Some(size) = signature.sizes.iter().find(|s| s.source == SizeSource::Result) {
        let message =
            format!("the result of `{}` has an extent `?{}`, which no rule can determine", rule.name.name, size.name);
        let d = Diagnostic::new(Code::E0214, rule.name.span, message);
        c.report(d.help(
            "remove the rule, because Iverson differentiates the functions that the definition calls and uses their rules",
        ));
        return c.finish_invalid();
    }
    // The definition's sizes are locals here; its `i64` parameters are the rule's own.
    let param = |k: u32| rule.params.get(k as usize).and_then(|p| resolved.decls.get(&p.span)).copied();
    let mut sizes = Vec::new();
    let mut implicit = Vec::new();
    for s in &signature.sizes {
        let l = match s.source {
            SizeSource::Param(k) => param(k),
            SizeSource::Implicit => implicit_size(resolved, &s.name),
            SizeSource::Result => None,
        };
        let l = l.unwrap_or_else(|| c.fresh_extent(&s.name, rule.name.span));
        if s.source == SizeSource::Implicit {
            implicit.push(l);
        }
        sizes.push(Poly::atom(Atom::Local(l, s.name.clone())));
    }
    c.classes = signature.type_params.iter().map(|p| p.1).collect();
    let open = |t: &Type| {
        t.map_sizes(&|p, _| {
            p.substitute(&|a| match a {
                Atom::SizeParam(k, _) => sizes.get(*k as usize).cloned(),
                _ => None,
            })
        })
    };
    let types: Vec<Type> = signature.params.iter().map(|(_, t)| open(t)).collect();
    let (deltas, result) = c.rule_types(rule.is_adjoint, &types, &open(&signature.result));
    for (have, want, what, one) in [
        (&rule.params, types.len(), "parameters", "parameter"),
        (&rule.tangents, deltas.len(), "names after `;`", "name after `;`"),
    ] {
        // After a syntax error the parser has already reported the problem.
        if have.len() != want && tree.skipped_names.is_empty() {
            let what = if have.len() == 1 { one } else { what };
            let wanted = if want == 1 { "1 is expected".to_owned() } else { format!("{want} are expected") };
            let d = Diagnostic::new(
                Code::E0201,
                rule.name.span,
                format!("the {kind} rule of `{}` has {} {what}, but {wanted}", rule.name.name, have.len()),
            );
            c.report(d.help(if rule.is_adjoint {
                format!("an adjoint rule is `adjoint {0}(parameters; cotangent of the result) = cotangents of the parameters`", rule.name.name)
            } else {
                format!("a derivative rule is `derivative {0}(parameters; a tangent for each) = tangent of the result`", rule.name.name)
            }));
        }
    }
    let (mut locals, mut tangents) = (Vec::new(), Vec::new());
    for (name, t) in rule.params.iter().zip(&types) {
        if let Some(l) = c.declared_local(name.span) {
            c.bind_local(l, t.clone(), None);
            locals.push(l);
        }
    }
    let params = locals.len();
    for (name, t) in rule.tangents.iter().zip(&deltas) {
        if let Some(l) = c.declared_local(name.span) {
            c.bind_local(l, t.clone(), None);
            locals.push(l);
            tangents.push((l, name.name.clone()));
        }
    }
    let root = c.check_expr(rule.body, &result, &format!("the {kind} rule of `{}`", rule.name.name));
    c.check_linearity(root, rule.is_adjoint, &rule.name.name, locals.get(..params).unwrap_or_default(), &tangents);
    c.finish(root, implicit, locals, Vec::new(), result)
}

/// Returns the local of a definition's size in the scope of its rule.
fn implicit_size(resolved: &Resolved, name: &str) -> Option<LocalId> {
    let is_it = |d: &LocalDecl| d.kind == LocalKind::ImplicitSize && d.name == name;
    (0..).map(LocalId).zip(&resolved.locals).find(|(_, d)| is_it(d)).map(|(l, _)| l)
}

/// Returns the signature of a definition for its dependents; `None` if it has errors.
///
/// If the result is not written, the body is checked to infer it. The caller must ensure that the
/// definition is then not recursive.
pub fn item_signature(
    tree: &Tree,
    resolved: &Resolved,
    module: &ModuleName,
    env: &dyn TypeEnv,
) -> (Option<Signature>, Vec<Diagnostic>) {
    let Some(mut written) = lower_signature(tree, resolved, env) else { return (None, Vec::new()) };
    for d in &mut written.diagnostics {
        if let Some(Fact::UnsolvedSize(name)) = &d.fact
            && matches!(env.top_level_value(module, name), Some(ValueRef::Let(_)))
        {
            let remark = format!("; a size in a signature is separate from the top-level `let {name}`");
            d.help = d.help.take().map(|help| help.append(&remark));
        }
    }
    let mut signature = written.signature;
    let bad =
        written.diagnostics.iter().any(Diagnostic::is_error) || signature.params.iter().any(|(_, t)| t.has_error());
    if bad {
        return (None, written.diagnostics);
    }
    if !written.has_result {
        let checked = check_def(tree, resolved, module, env);
        let mut sizes = signature_sizes(tree, resolved);
        // Extents that only the body knows become existential extents of the result.
        let wrong = resolved.diagnostics.iter().chain(&checked.diagnostics).any(Diagnostic::is_error);
        let mut unknown = false;
        checked.result.visit(&mut |_| {}, &mut |p| {
            p.for_each_atom(&mut |a| {
                unknown |= matches!(a, Atom::Meta(_) | Atom::Overflow);
                if let Atom::Local(l, name) = a
                    && !sizes.iter().any(|s| s.0 == *l)
                {
                    sizes.push((*l, SizeParam { name: name.clone(), source: SizeSource::Result }));
                }
            });
        });
        // If an error left an extent open, no consequence of it is reported again at each call.
        if wrong && unknown {
            return (None, written.diagnostics);
        }
        signature.result = checked.result.map_sizes(&|p, _| {
            p.substitute(&|a| match a {
                Atom::Local(l, name) => {
                    let k = sizes.iter().position(|s| s.0 == *l)?;
                    Some(Poly::atom(Atom::SizeParam(u32::try_from(k).ok()?, name.clone())))
                }
                _ => None,
            })
        });
        signature.sizes = sizes.into_iter().map(|s| s.1).collect();
    }
    if signature.result.has_error() { (None, written.diagnostics) } else { (Some(signature), written.diagnostics) }
}

/// Collects the names that a pattern binds, with their locals.
fn collect_bound_names(tree: &Tree, resolved: &Resolved, pat: PatId, out: &mut Vec<(Name, LocalId)>) {
    let mut by_span = |name: &Name, span: Span| {
        if let Some(l) = resolved.decls.get(&span) {
            out.push((name.clone(), *l));
        }
    };
    match &tree.pats[pat].kind {
        Pat::Name(n) => {
            if let Some(lang_resolve::PatRes::Bind(l)) = resolved.pats.get(&pat) {
                out.push((n.clone(), *l));
            }
        }
        Pat::Tuple(items) | Pat::Ctor { args: items, .. } => {
            items.iter().for_each(|p| collect_bound_names(tree, resolved, *p, out));
        }
        Pat::Record(fields) => {
            for (name, sub) in fields {
                match sub {
                    Some(p) => collect_bound_names(tree, resolved, *p, out),
                    None => {
                        if let Some(l) = resolved.decls.get(&name.span) {
                            out.push((name.name.clone(), *l));
                        }
                    }
                }
            }
        }
        Pat::Sized(names, inner) => {
            names.iter().for_each(|n| by_span(&n.name, n.span));
            collect_bound_names(tree, resolved, *inner, out);
        }
        Pat::Error | Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
    }
}

impl TypeChecker<'_> {
    fn finish_invalid(mut self) -> CheckedItem {
        let root = self.error_node(Span::default());
        self.finish(root, Vec::new(), Vec::new(), Vec::new(), Type::Error)
    }

    /// Assumes that a local is not negative if it is, by itself, an extent of the type.
    fn assume_lone_extents(&mut self, t: &Type) {
        let mut lone = Vec::new();
        t.visit(&mut |_| {}, &mut |p| {
            if let Some(Atom::Local(..)) = p.as_atom() {
                lone.push(p.clone());
            }
        });
        lone.retain(|p| super::extents::has_extent(t, p));
        lone.into_iter().for_each(|p| self.scopes.assume_nonneg(p));
    }

    /// Returns whether an exported local is the extent or an alias of it.
    fn is_export_of(&self, export: LocalId, extent: LocalId) -> bool {
        let value = self.local_info(export).and_then(|i| i.poly.as_ref()).and_then(Poly::as_atom);
        export == extent || matches!(value, Some(Atom::Local(l, _)) if *l == extent)
    }

    /// Finishes a top-level `let`; its value is the tuple of the exported locals.
    fn finish_let(mut self, pat: TypedPat, value: TypedId, names: Vec<(Name, LocalId)>, span: Span) -> CheckedItem {
        self.solve_remaining();
        let mut exports: Vec<(Name, LocalId, Type)> = names
            .into_iter()
            .map(|(n, l)| {
                let t = self.local_info(l).map_or(Type::Error, |i| self.metas.zonk(&i.ty));
                (n, l, t)
            })
            .collect();
        // An unnamed extent in the types is exported under the expression that a user can write for
        // it, if one exists.
        let mut k = 0;
        while let Some((name, _, t)) = exports.get(k) {
            let (name, t) = (name.clone(), t.clone());
            let mut hidden = Vec::new();
            t.visit(&mut |_| {}, &mut |p| {
                p.for_each_atom(&mut |a| {
                    if let Atom::Local(l, _) = a {
                        hidden.push(*l);
                    }
                });
            });
            for l in hidden {
                if !exports.iter().any(|e| self.is_export_of(e.1, l)) {
                    let called = length_expr(&name, &t, &self.local_size(l));
                    let called = called.unwrap_or_else(|| format!("{name}#{}", exports.len()));
                    exports.push((called.into(), l, Type::I64));
                }
            }
            k += 1;
        }
        let module = self.module.clone();
        let global = |t: &Type| {
            t.map_sizes(&|p, _| {
                p.substitute(&|a| match a {
                    Atom::Local(l, _) => {
                        let (name, ..) = exports.iter().find(|e| self.is_export_of(e.1, *l))?;
                        Some(Poly::atom(Atom::Global(GlobalName { module: module.clone(), name: name.clone() })))
                    }
                    _ => None,
                })
            })
        };
        let names = exports.iter().map(|(n, _, t)| (n.clone(), global(t))).collect();
        let sizes = exports.iter().filter_map(|(name, l, t)| {
            let p = self.metas.zonk_size(self.local_info(*l)?.poly.as_ref().filter(|_| *t == Type::I64)?);
            if !self.is_exact(&p) {
                return None;
            }
            let value = global(&Type::array([p].into_iter(), Type::I64));
            let p = (*value.split_array().0.first()?).clone();
            let mut closed = !p.has_overflowed();
            p.for_each_atom(&mut |a| match a {
                Atom::Global(g) => closed &= g.module != module || g.name != *name,
                Atom::Local(..) | Atom::Meta(_) | Atom::SizeParam(..) | Atom::Arg(..) | Atom::Read(..) => {
                    closed = false
                }
                _ => {}
            });
            closed.then(|| (name.clone(), p))
        });
        let sizes = sizes.collect();
        let locals: Vec<TypedId> =
            exports.iter().map(|(_, l, t)| self.alloc(Typed::Local(*l), t.clone(), span)).collect();
        let ty = Type::Tuple(exports.iter().map(|e| e.2.clone()).collect());
        let tuple = self.alloc(Typed::Tuple(locals), ty.clone(), span);
        let root = self.alloc(Typed::Let(vec![(pat, value)], tuple), ty.clone(), span);
        CheckedItem { size_values: sizes, ..self.finish(root, Vec::new(), Vec::new(), names, ty) }
    }
}
