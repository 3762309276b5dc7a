//! **Duplicate names** in one list: parameters, index variables, fields. The parser runs this check
//! on trees without syntax errors.
//!
//! Patterns are checked only where every name is certainly a variable (`let`, lambdas, carries). In
//! an arm of `match` a name may be a constructor, as in `(None, None)`, so name resolution checks
//! those.

use std::collections::HashMap;

use crate::ast::{Expr, Ident, Item, Pat, PatId, Tree, TypeBody, TypeExpr};
use lang_base::{Code, Diagnostic, Name, Span};

/// Returns a diagnostic for each duplicate name of an item.
pub(super) fn duplicates(tree: &Tree) -> Vec<Diagnostic> {
    let mut found = DuplicateFinder { tree, diagnostics: Vec::new() };
    match &tree.item {
        Item::Def(def) => {
            found.check_names("parameter", def.params.iter().map(|p| &p.name));
            found.check_names("constraint on", def.constraints.iter().map(|c| &c.var));
        }
        Item::Type(def) => {
            found.check_names("type parameter", &def.params);
            if let TypeBody::Sum(ctors) = &def.body {
                found.check_names("constructor", ctors.iter().map(|c| &c.name));
            }
        }
        Item::DerivativeRule(rule) => found.check_names("parameter", rule.params.iter().chain(&rule.tangents)),
        Item::Let(top) => found.check_patterns(&[top.pat]),
        Item::Import(_) | Item::Do(_) | Item::Error => {}
    }
    for (_, node) in tree.exprs.iter() {
        match &node.kind {
            Expr::Record(fields) => found.check_names("field", fields.iter().map(|(name, _)| name)),
            Expr::Binder { vars, .. } => found.check_names("index variable", vars.iter().map(|v| &v.name)),
            Expr::Fold { vars, acc, .. } => {
                found.check_names("index variable", vars.iter().map(|v| &v.name));
                found.check_patterns(&[*acc]);
            }
            Expr::Loop { acc, .. } => found.check_patterns(&[*acc]),
            Expr::Lambda(params, _) => found.check_patterns(&params.iter().map(|p| p.pat).collect::<Vec<_>>()),
            Expr::Let(binds, _) => binds.iter().for_each(|b| found.check_patterns(&[b.pat])),
            _ => {}
        }
    }
    for (_, node) in tree.pats.iter() {
        if let Pat::Record(fields) = &node.kind {
            found.check_names("field", fields.iter().map(|(name, _)| name));
        }
    }
    for (_, node) in tree.types.iter() {
        match &node.kind {
            TypeExpr::Record(fields) => found.check_names("field", fields.iter().map(|(name, _)| name)),
            TypeExpr::Fun(params, _) => {
                found.check_names("parameter", params.iter().filter_map(|(name, _)| name.as_ref()))
            }
            _ => {}
        }
    }
    found.diagnostics
}

struct DuplicateFinder<'a> {
    tree: &'a Tree,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> DuplicateFinder<'a> {
    fn check_names(&mut self, what: &str, names: impl IntoIterator<Item = &'a Ident>) {
        let mut seen: HashMap<&Name, Span> = HashMap::new();
        for ident in names {
            if ident.name.is_empty() || ident.name == "_" {
                continue;
            }
            match seen.get(&ident.name) {
                Some(before) => self.report(what, &ident.name, ident.span, *before),
                None => {
                    seen.insert(&ident.name, ident.span);
                }
            }
        }
    }

    /// Checks the variables of patterns in the same binding.
    fn check_patterns(&mut self, roots: &[PatId]) {
        let tree = self.tree;
        let mut bound: Vec<(&Name, Span)> = Vec::new();
        let mut open: Vec<PatId> = roots.to_vec();
        while let Some(id) = open.pop() {
            let node = &tree.pats[id];
            match &node.kind {
                Pat::Name(name) => bound.push((name, node.span)),
                Pat::Ctor { args, .. } | Pat::Tuple(args) => open.extend(args),
                Pat::Record(fields) => {
                    open.extend(fields.iter().filter_map(|(_, p)| *p));
                    bound.extend(fields.iter().filter(|(_, p)| p.is_none()).map(|(name, _)| (&name.name, name.span)));
                }
                Pat::Sized(names, p) => {
                    bound.extend(names.iter().map(|n| (&n.name, n.span)));
                    open.push(*p);
                }
                Pat::Error | Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
            }
        }
        bound.sort_by_key(|(_, span)| *span);
        let mut seen: HashMap<&Name, Span> = HashMap::new();
        for (name, span) in bound {
            match seen.get(name) {
                Some(before) => self.report("variable", name, span, *before),
                None => {
                    seen.insert(name, span);
                }
            }
        }
    }

    fn report(&mut self, what: &str, name: &Name, span: Span, before: Span) {
        let diagnostic = Diagnostic::new(Code::E0012, span, format!("duplicate {what} `{name}`"));
        self.diagnostics.push(diagnostic.related(before, "first occurrence"));
    }
}
