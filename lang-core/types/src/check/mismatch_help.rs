//! **Help texts for values of a wrong type**, chosen by the found and the expected type and by the
//! expression.

use super::super::show::argument_count;
use super::super::tree::{TypedExpr as Typed, TypedId};
use super::super::ty::{FunType, Scalar, Type};
use super::TypeChecker;
use super::mismatch::types_differ;
use super::size_names::names_in_types;
use lang_base::{Code, Diagnostic, Hint, Name, Span};
use lang_resolve::{LocalKind, suggest, vocabulary};
use lang_sizes::predicate::LocalId;
use lang_syntax::ast::{Expr, ExprId, Ident, Subscript};
use lang_syntax::ops::BinOp;

impl TypeChecker<'_> {
    /// Returns the name expression with this span.
    pub(super) fn name_expr_at(&self, span: Span) -> Option<&Name> {
        self.tree.exprs.iter().find_map(|(_, node)| match &node.kind {
            Expr::Name(name) if node.span == span => Some(name),
            _ => None,
        })
    }

    /// Returns help for a value of another type, if the context is more informative than the types.
    pub(super) fn mismatch_help(&self, node: TypedId, found: &Type, wanted: &Type) -> Option<String> {
        let (found, wanted) = (self.metas.zonk(found), self.metas.zonk(wanted));
        match (&found, &wanted) {
            (Type::Fun(f), Type::Fun(w)) => self.function_mismatch_help(f, w),
            (_, Type::Str) => Some(match self.name_expr_at(self.node_span(node)) {
                Some(name) => format!("write a string in quotes, as in `\"{name}\"`"),
                None => "write a string in quotes, as in `\"a title\"`".to_owned(),
            }),
            (Type::Str, Type::Array(..)) => {
                Some("a string has no elements; it serves as a message, a title or a file name".to_owned())
            }
            (Type::Tuple(items), Type::Array(_, element)) => self.tuple_for_array_help(node, items, element),
            (_, Type::Record(fields)) if is_random_key(fields) => {
                Some("create a random key from an integer: `rand.key(0)`".to_owned())
            }
            _ => None,
        }
    }

    /// Describes the difference between two function types.
    fn function_mismatch_help(&self, found: &FunType, wanted: &FunType) -> Option<String> {
        let shown = |t: &Type| self.metas.with_defaults(t);
        let (takes, required_count) = (found.params.len(), wanted.params.len());
        if takes != required_count {
            return Some(format!("it must accept {}, but takes {takes}", argument_count(required_count)));
        }
        let mut pairs = found.params.iter().zip(&wanted.params).enumerate();
        if let Some((k, ((name, f), (_, w)))) = pairs.find(|(_, ((_, f), (_, w)))| types_differ(&self.metas, f, w)) {
            let which = name.as_ref().map_or_else(|| (k + 1).to_string(), |name| format!("`{name}`"));
            return Some(format!("its parameter {which} has type `{}`, but must accept `{}`", shown(f), shown(w)));
        }
        if !types_differ(&self.metas, &found.result, &wanted.result) {
            return None;
        }
        let mut help = format!("it returns `{}`, but must return `{}`", shown(&found.result), shown(&wanted.result));
        let named: Option<Vec<String>> = found
            .params
            .iter()
            .map(|(name, t)| Some(format!("`{}: {}`", name.as_ref().filter(|n| !n.is_empty())?, shown(t))))
            .collect();
        if let Some(named) = named.filter(|_| takes > 1) {
            help.push_str(&format!("; its parameters, in order, are {}", super::and_list(&named)));
        } else if let (Type::Array(..), Type::Scalar(_)) = (&found.result, &wanted.result) {
            help.push_str("; reduce the array to a number, for example with `sum i: …`");
        }
        Some(help)
    }

    /// Returns help for a tuple in a position that expects an array.
    fn tuple_for_array_help(&self, node: TypedId, items: &[Type], element: &Type) -> Option<String> {
        let Typed::Tuple(parts) = &self.nodes[node].kind else { return None };
        if items.iter().all(|t| matches!(t, Type::Scalar(_))) && matches!(element, Type::Scalar(_)) {
            return Some("write an array with brackets, `[a, b]`".to_owned());
        }
        let several = matches!(element, Type::Tuple(_)) || self.metas.is_unknown(element);
        if !several || !items.iter().all(|t| matches!(t, Type::Array(..))) {
            return None;
        }
        let names: Option<Vec<String>> =
            parts.iter().map(|part| Some(format!("{}[i]", self.name_expr_at(self.node_span(*part))?))).collect();
        let names = names.unwrap_or_else(|| vec!["x[i]".to_owned(), "y[i]".to_owned()]);
        Some(format!("write an array of tuples as `for i: ({})`", names.join(", ")))
    }

    /// Reports an array used as a subscript, with help that selects several elements. Returns
    /// whether it did.
    pub(super) fn report_array_index(&mut self, e: ExprId, node: TypedId, of: Span) -> bool {
        let t = self.metas.zonk(&self.nodes[node].ty);
        let (dims, element) = t.split_array();
        if dims.len() != 1 || !matches!(element, Type::Scalar(Scalar::I64 | Scalar::Bool)) {
            return false;
        }
        let x = self.name_expr_at(of).cloned().unwrap_or_else(|| "x".into());
        let own = match &self.tree.exprs[e].kind {
            Expr::Name(name) => Some(name.clone()),
            _ => None,
        };
        let help = match (element, own) {
            (Type::Scalar(Scalar::Bool), None) => {
                format!(
                    r"to select elements by a condition, write `filter(\v: …, {x})`, as in `filter(\v: v > 0, {x})`"
                )
            }
            (Type::Scalar(Scalar::Bool), Some(p)) => format!(
                r"to select the elements where it holds, write `let k = filter(\i: {p}[i], iota(len({p}))) in for j: {x}[k[j]]`"
            ),
            (_, None) => format!("to select several elements, write `let k = … in for j: {x}[k[j]]`"),
            (_, Some(k)) => {
                let free = |i: &&str| *i != x.as_str() && *i != k.as_str();
                let i = ["i", "j", "k"].into_iter().find(free).unwrap_or("i");
                format!("to select several elements, write `for {i}: {x}[{k}[{i}]]`")
            }
        };
        let message = format!("this has type `{}`, but `i64` is expected for an index", self.metas.with_defaults(&t));
        let at = self.node_span(node);
        self.report(Diagnostic::new(Code::E0200, at, message).help(help));
        true
    }

    /// Returns help for a text used as a subscript of a record.
    pub(super) fn text_subscript_help(&self, of: Span, subscript: Option<&Subscript>) -> Option<String> {
        let Some(Subscript::Index(e)) = subscript else { return None };
        let Expr::Str(field) = &self.tree.exprs[*e].kind else { return None };
        let record = self.name_expr_at(of).cloned().unwrap_or_else(|| "r".into());
        Some(format!("write the field as `{record}.{field}`"))
    }

    /// Returns help for a field access on an array.
    pub(super) fn array_field_help(&self, base: Span, array: &Type, field: &str) -> Option<Hint> {
        let x = self.name_expr_at(base).cloned().unwrap_or_else(|| "x".into());
        let (dims, element) = array.split_array();
        if let Type::Record(fields) = element
            && fields.iter().any(|(name, _)| name.as_str() == field)
        {
            let indices: Vec<&str> = ["i", "j", "k", "l"].into_iter().take(dims.len()).collect();
            let indices = indices.join(", ");
            return Some(format!("for every element, write `for {indices}: {x}[{indices}].{field}`").into());
        }
        let axes: Vec<&str> = ["n", "m", "k", "l"].into_iter().take(dims.len()).collect();
        let text = match field {
            "shape" | "size" | "length" | "len" => format!(
                "the extent of the first axis is `len({x})`; `let [{}] y = {x} in …` names {}",
                axes.join(", "),
                if axes.len() == 1 { "it" } else { "all" }
            ),
            "T" => format!("the transpose is `transpose({x})`"),
            "sum" | "max" | "min" => format!("write `{field} i: {x}[i]`"),
            _ if !vocabulary::describe(field).is_empty() => {
                format!("write a function before its arguments: `{field}({x}, …)`")
            }
            // The field is marked, not the whole access.
            _ => return suggest::foreign_value_help(field).map(Hint::without_suggestions),
        };
        Some(text.into())
    }

    /// Extends the diagnostic for a missing field. A module may be meant that has the name of the
    /// value and defines the name of the field.
    pub(super) fn explain_hidden_module(&self, mut d: Diagnostic, base: TypedId, field: &Ident) -> Diagnostic {
        let at = self.node_span(base);
        let Some(name) = self.name_expr_at(at) else { return d };
        let imported = self.env.imported_module(self.module, name);
        let library = || self.env.library_modules().into_iter().find(|module| module == name);
        let Some(module) = imported.or_else(library) else { return d };
        if !self.env.value_names(&module).contains(&field.name) {
            return d;
        }
        let path = if self.env.library_modules().contains(&module) { module.as_str() } else { "…" };
        let other: String = name.chars().take(2).collect();
        d.message = format!("`{name}` is a value here, not the module `{name}`");
        d.span = at;
        d.fixes.clear();
        let local = self.locals.iter().find(|local| local.name == *name && local.span.start < at.start);
        if let Some(local) = local {
            d = d.related(local.span, format!("`{name}` is bound here"));
        }
        let called = self.unused_name(&other).unwrap_or_else(|| format!("{name}_module"));
        d.help(format!(
            "rename the value or the module: `import {path} as {called}`, then write `{called}.{}`",
            field.name
        ))
    }

    /// Returns the name if it is unused here.
    fn unused_name(&self, name: &str) -> Option<String> {
        let local = self.locals.iter().any(|local| local.name.as_str() == name);
        let known = local
            || self.env.top_level_value(self.module, name).is_some()
            || self.env.imported_module(self.module, name).is_some();
        (!known && vocabulary::describe(name).is_empty()).then(|| name.to_owned())
    }

    /// Warns of comparisons with NaN, whose result is constant.
    pub(super) fn warn_nan_comparisons(&mut self, operands: &[TypedId], ops: &[BinOp]) {
        let is_nan = |node: &TypedId| match &self.nodes[*node].kind {
            Typed::Real(x) => x.0.is_nan(),
            Typed::Neg(inner) => matches!(self.nodes[*inner].kind, Typed::Real(x) if x.0.is_nan()),
            _ => false,
        };
        let mut warnings = Vec::new();
        for (pair, op) in operands.windows(2).zip(ops) {
            let [a, b] = pair else { continue };
            let (nan, other) = match (is_nan(a), is_nan(b)) {
                (false, true) => (b, a),
                (true, false) => (a, b),
                // A comparison of two NaN literals is deliberate.
                _ => continue,
            };
            let other = self.name_expr_at(self.node_span(*other)).cloned().unwrap_or_else(|| "x".into());
            let always = if *op == BinOp::Ne { "true" } else { "false" };
            let message = format!("a comparison with NaN by `{}` is always {always}", op.symbol());
            let help = format!(
                "only NaN differs from itself: `{other} != {other}` tests for NaN, `{other} == {other}` for any other number"
            );
            warnings.push(Diagnostic::new(Code::W0220, self.node_span(*nan), message).help(help));
        }
        warnings.into_iter().for_each(|d| self.report(d));
    }

    /// Builds the diagnostic for rows of different lengths, caused by a local bound inside a
    /// binder.
    pub(super) fn ragged_array_error(&self, at: Span, t: &Type, inner: LocalId) -> Diagnostic {
        let (name, place) = self.local_info(inner).map(|i| (i.name.clone(), i.span)).unwrap_or_default();
        let declared = self.resolved.locals.get(inner.0 as usize).map(|d| d.kind);
        let is_index = declared == Some(LocalKind::Index);
        let d = Diagnostic::new(
            Code::E0305,
            at,
            format!("this array would be ragged: an extent in `{t}` depends on `{name}`"),
        )
        .size_names(names_in_types([t]))
        .size_names([name.clone()]);
        match is_index {
            true => d
                .related(place, format!("`{name}` is bound here, inside the array"))
                .help("all rows must have the same length: pad the rows and guard them, `for j < n: [j < i] * …`"),
            false => d.related(place, format!("the extent `{name}` is determined here, separately for each row")).help(
                "all rows must have the same length: reduce each row to a number, as in `for k < n: len(filter(…))`",
            ),
        }
    }
}

/// Returns whether these are the fields of a key of random numbers.
fn is_random_key(fields: &[(Name, Type)]) -> bool {
    fields.len() == 2 && ["k0", "k1"].iter().all(|k| fields.iter().any(|(name, t)| name == *k && *t == Type::I64))
}
