//! **Record of a field.** Reads off the typed tree which record each field access, update and
//! record pattern belongs to. A record is represented by the names of its fields, because record
//! types are structural. [`crate::names`] calls it.

use std::collections::HashMap;

use lang_core::base::{Name, Span};
use lang_core::session::Session;
use lang_core::syntax::ast::{self, ExprId, PatId, Tree};
use lang_core::types::env::TypeEnv;
use lang_core::types::tree::{TypedBody, TypedExpr as Typed};
use lang_core::types::ty::{GenericArg, Type};
use lang_core::types::type_info::TypeInfoBody;

/// The fields of the record at each span, in alphabetical order.
#[derive(Default)]
pub(crate) struct RecordShapes {
    fields_by_span: HashMap<Span, Vec<Name>>,
}

impl RecordShapes {
    /// Returns whether the tree has fields whose record only the types determine.
    pub(crate) fn needs_types(tree: &Tree) -> bool {
        let field = |e: &ast::Expr| matches!(e, ast::Expr::Field(..) | ast::Expr::With(..));
        tree.exprs.iter().any(|(_, node)| field(&node.kind))
            || tree.pats.iter().any(|(_, node)| matches!(node.kind, ast::Pat::Record(_)))
    }

    /// Collects the shapes of an item.
    pub(crate) fn from_body(session: &Session, tree: &Tree, body: &TypedBody) -> Self {
        let mut shapes = Self::default();
        // If several nodes have one span, the last one represents the whole.
        let mut types: HashMap<Span, &Type> = HashMap::new();
        for (_, node) in body.nodes.iter() {
            types.insert(node.span, &node.ty);
            match &node.kind {
                Typed::Proj(of, _) => shapes.add(node.span, &body.nodes[*of].ty),
                Typed::With(of, _) => shapes.add(node.span, &body.nodes[*of].ty),
                _ => {}
            }
        }
        let patterns = PatternWalker { session, tree, types };
        patterns.collect_all(&mut shapes);
        shapes
    }

    /// Returns the fields of the record that is accessed, updated or destructured at the span;
    /// empty if unknown.
    pub(crate) fn fields_at(&self, span: Span) -> Vec<Name> {
        self.fields_by_span.get(&span).cloned().unwrap_or_default()
    }

    fn add(&mut self, span: Span, ty: &Type) {
        if let Type::Record(fields) = ty {
            self.fields_by_span.insert(span, sorted_field_names(fields));
        }
    }
}

/// Returns the names of a record's fields, in alphabetical order.
pub(crate) fn sorted_field_names(fields: &[(Name, Type)]) -> Vec<Name> {
    let mut names: Vec<Name> = fields.iter().map(|f| f.0.clone()).collect();
    names.sort_unstable();
    names
}

struct PatternWalker<'a> {
    session: &'a Session,
    tree: &'a Tree,
    types: HashMap<Span, &'a Type>,
}

impl PatternWalker<'_> {
    fn collect_all(&self, shapes: &mut RecordShapes) {
        if !self.tree.pats.iter().any(|(_, node)| matches!(node.kind, ast::Pat::Record(_))) {
            return;
        }
        if let ast::Item::Let(top) = &self.tree.item {
            self.collect_binding(top.pat, top.value, shapes);
        }
        for (_, node) in self.tree.exprs.iter() {
            match &node.kind {
                ast::Expr::Let(binds, _) => binds.iter().for_each(|b| self.collect_binding(b.pat, b.value, shapes)),
                ast::Expr::Match(value, arms) => {
                    arms.iter().for_each(|arm| self.collect_binding(arm.pat, *value, shapes))
                }
                ast::Expr::Fold { acc, init, .. } | ast::Expr::Loop { acc, init, .. } => {
                    self.collect_binding(*acc, *init, shapes);
                }
                ast::Expr::Lambda(params, _) => {
                    if let Some(Type::Fun(fun)) = self.types.get(&node.span) {
                        for (param, (_, ty)) in params.iter().zip(&fun.params) {
                            self.collect_pattern(param.pat, ty, shapes);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn collect_binding(&self, pat: PatId, value: ExprId, shapes: &mut RecordShapes) {
        // The typed node of a parenthesised expression has the span of its contents.
        let mut value = value;
        while let ast::Expr::Paren(inner) = &self.tree.exprs[value].kind {
            value = *inner;
        }
        if let Some(ty) = self.types.get(&self.tree.exprs[value].span) {
            self.collect_pattern(pat, ty, shapes);
        }
    }

    fn collect_pattern(&self, pat: PatId, ty: &Type, shapes: &mut RecordShapes) {
        let node = &self.tree.pats[pat];
        match (&node.kind, ty) {
            (ast::Pat::Record(fields), Type::Record(types)) => {
                shapes.add(node.span, ty);
                for (name, sub) in fields {
                    let of = types.iter().find(|f| f.0 == name.name);
                    if let (Some(sub), Some((_, ty))) = (sub, of) {
                        self.collect_pattern(*sub, ty, shapes);
                    }
                }
            }
            (ast::Pat::Tuple(items), Type::Tuple(types)) => {
                items.iter().zip(types.iter()).for_each(|(p, t)| self.collect_pattern(*p, t, shapes));
            }
            (ast::Pat::Sized(_, inner), _) => self.collect_pattern(*inner, ty, shapes),
            (ast::Pat::Ctor { name, args, .. }, Type::Data(data, type_args)) => {
                let Some(info) = self.session.view().type_info(data) else { return };
                let TypeInfoBody::Sum(ctors) = &info.body else { return };
                let Some(ctor) = ctors.iter().find(|c| c.name == name.name) else { return };
                for (arg, ty) in args.iter().zip(&ctor.args) {
                    let ty = match ty {
                        Type::Param(k, _) => match type_args.get(*k as usize) {
                            Some(GenericArg::Type(ty)) => ty,
                            _ => continue,
                        },
                        ty => ty,
                    };
                    self.collect_pattern(*arg, ty, shapes);
                }
            }
            _ => {}
        }
    }
}
