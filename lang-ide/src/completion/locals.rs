//! **Scope at a cursor.** Finds the local variables in scope at an offset, even in incomplete text.
//! The resolver records only the meaning of names that are written, so this module computes the
//! scopes from the syntax tree.

use lang_core::base::{Name, Span};
use lang_core::predicate::LocalId;
use lang_core::resolve::{LocalKind, PatRes, Resolved};
use lang_core::syntax::ast::{Expr, ExprId, Item, Pat, PatId, Tree, TypeExpr};

/// A local in scope.
pub(crate) struct LocalInScope {
    /// The name.
    pub(crate) name: Name,
    /// The identity.
    pub(crate) id: LocalId,
    /// The kind of binding.
    pub(crate) kind: LocalKind,
}

/// Returns the locals in scope at the offset `at`, relative to the item, innermost first. The last
/// token before `at` ends at `read`.
pub(crate) fn locals_in_scope(tree: &Tree, resolved: &Resolved, at: u32, read: u32) -> Vec<LocalInScope> {
    let mut scope = ScopeCollector { tree, resolved, at, last_token_end: read, bindings: Vec::new() };
    for (id, decl) in (0..).map(LocalId).zip(&resolved.locals) {
        let everywhere = match decl.kind {
            LocalKind::ImplicitSize => true,
            LocalKind::Param => !matches!(tree.item, Item::Type(_)),
            // A type may use `?n` again after its declaration.
            LocalKind::ResultSize => decl.span.end < at,
            // The result of a function type may use its parameters.
            LocalKind::FunTypeParam => is_in_function_result(tree, decl.span, at),
            LocalKind::NamedExtent => matches!(tree.item, Item::Let(_)) && decl.span.end < at,
            _ => false,
        };
        if everywhere {
            scope.bindings.push((0, id));
        }
    }
    for (_, node) in tree.exprs.iter() {
        scope.add_expression(&node.kind, node.span);
    }
    let mut found = scope.bindings;
    found.sort_by_key(|(depth, id)| (std::cmp::Reverse(*depth), std::cmp::Reverse(*id)));
    let mut all: Vec<LocalInScope> = Vec::new();
    for (_, id) in found {
        let Some(decl) = resolved.locals.get(id.0 as usize) else { continue };
        if !matches!(decl.name.as_str(), "" | "_") && all.iter().all(|known| known.name != decl.name) {
            all.push(LocalInScope { name: decl.name.clone(), id, kind: decl.kind });
        }
    }
    all
}

/// Returns whether the offset is in the result of the function type that declares the parameter.
fn is_in_function_result(tree: &Tree, param: Span, at: u32) -> bool {
    tree.types.iter().any(|(_, ty)| match &ty.kind {
        TypeExpr::Fun(params, result) => {
            let own = params.iter().any(|(name, _)| name.as_ref().is_some_and(|name| name.span == param));
            let result = tree.types[*result].span;
            own && result.start <= at && at <= result.end
        }
        _ => false,
    })
}

struct ScopeCollector<'a> {
    tree: &'a Tree,
    resolved: &'a Resolved,
    at: u32,
    last_token_end: u32,
    /// The position of each binding, and the local.
    bindings: Vec<(u32, LocalId)>,
}

impl ScopeCollector<'_> {
    /// Returns whether the range contains the cursor, or ends at the last token before it, so that
    /// the text may continue it.
    fn contains_cursor(&self, start: u32, end: u32) -> bool {
        start < self.at && (self.at <= end || end >= self.last_token_end)
    }

    fn add_expression(&mut self, expr: &Expr, span: Span) {
        if !self.contains_cursor(span.start, span.end) {
            return;
        }
        let value = |e: &ExprId| self.tree.exprs[*e].span;
        match expr {
            Expr::Lambda(params, _) => params.iter().for_each(|p| self.add_pattern(p.pat)),
            Expr::Let(binds, body) => {
                let ends: Vec<(PatId, Span)> = binds.iter().map(|b| (b.pat, value(&b.value))).collect();
                let body = value(body);
                for (pat, value) in ends {
                    // A variable is not in scope in its own value.
                    let within = self.at <= value.end && value.start <= self.at || self.at < value.start;
                    let goes_on = value.end >= self.last_token_end && body.start >= body.end;
                    if !within && !goes_on {
                        self.add_pattern(pat);
                    }
                }
            }
            Expr::Match(_, arms) => {
                let starts: Vec<(PatId, u32)> =
                    arms.iter().map(|a| (a.pat, self.tree.pats[a.pat].span.start)).collect();
                for (nth, (pat, start)) in starts.iter().enumerate() {
                    let next = starts.get(nth + 1).map_or(u32::MAX, |n| n.1);
                    if *start < self.at && self.at < next {
                        self.add_pattern(*pat);
                    }
                }
            }
            Expr::Binder { vars, .. } => vars.iter().for_each(|v| self.add_identifier(v.name.span)),
            Expr::Fold { vars, acc, init, .. } if self.at > value(init).end => {
                vars.iter().for_each(|v| self.add_identifier(v.name.span));
                self.add_pattern(*acc);
            }
            Expr::Loop { acc, init, .. } if self.at > value(init).end => self.add_pattern(*acc),
            _ => {}
        }
    }

    fn add_identifier(&mut self, span: Span) {
        if span.end < self.at
            && let Some(id) = self.resolved.decls.get(&span)
        {
            self.bindings.push((span.start.saturating_add(1), *id));
        }
    }

    fn add_pattern(&mut self, pat: PatId) {
        let node = &self.tree.pats[pat];
        match &node.kind {
            Pat::Error | Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
            Pat::Name(_) => {
                if let Some(PatRes::Bind(id)) = self.resolved.pats.get(&pat)
                    && node.span.end < self.at
                {
                    self.bindings.push((node.span.start.saturating_add(1), *id));
                }
            }
            Pat::Ctor { args: items, .. } | Pat::Tuple(items) => items.iter().for_each(|p| self.add_pattern(*p)),
            Pat::Record(fields) => {
                for (name, pat) in fields {
                    match pat {
                        Some(pat) => self.add_pattern(*pat),
                        None => self.add_identifier(name.span),
                    }
                }
            }
            Pat::Sized(sizes, inner) => {
                sizes.iter().for_each(|s| self.add_identifier(s.span));
                self.add_pattern(*inner);
            }
        }
    }
}
