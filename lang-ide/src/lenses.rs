//! **Code lenses** above definitions: the costs of the function and its gradient, the certificate,
//! and commands to run or view the definition.

use std::collections::BTreeMap;

use lang_core::base::{GlobalName, Name, Span};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Expr, Item, Tree};
use lang_core::syntax::parser::parse_expr;
use lang_core::syntax::split::ItemKind;
use lang_core::types::ty::{Scalar, Type};

use crate::costs::{DefinitionCosts, abbreviate_formula, costs};
use crate::find::is_shadowed_duplicate;
use crate::names::{NameTarget, NameUse, untyped_uses};

/// The purpose of a lens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lens {
    /// Shows the costs. [`cost_title`] computes the title when the lens becomes visible.
    Cost,
    /// Evaluates the definition, on the arguments of an example if it has parameters. Without a
    /// name, runs the file.
    Run,
    /// Opens a view of the definition.
    View(&'static str),
}

/// A lens at a span.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedLens {
    /// The span of the definition's name.
    pub span: Span,
    /// The definition.
    pub def: Name,
    /// The purpose.
    pub lens: Lens,
}

/// Returns the lenses of a module, without computing costs.
#[must_use]
pub fn lenses(session: &Session, module: &str) -> Vec<PlacedLens> {
    let examples = ExampleCalls::in_module(session, module);
    session.items(module).iter().flat_map(|item| lenses_of_item(session, item, Some(&examples))).collect()
}

/// Returns the lenses of the definition whose name touches an offset, except the one that evaluates
/// it on an example.
#[must_use]
pub fn lenses_at(session: &Session, module: &str, at: u32) -> Vec<PlacedLens> {
    let all = session.items_in(module, Span::new(at, at)).flat_map(|item| lenses_of_item(session, &item, None));
    all.filter(|lens| lens.span.contains_inclusive(at)).collect()
}

fn lenses_of_item(session: &Session, item: &ItemRef, examples: Option<&ExampleCalls>) -> Vec<PlacedLens> {
    let Some(parsed) = session.tree(item) else { return Vec::new() };
    let def = match &parsed.tree.item {
        Item::Def(def) => def,
        // A `do` item is executed by running the file.
        Item::Do(_) => {
            let start = parsed.tree.span.start + item.start;
            return vec![PlacedLens { span: Span::new(start, start + 2), def: Name::default(), lens: Lens::Run }];
        }
        _ => return Vec::new(),
    };
    if def.name.name.is_empty() || is_shadowed_duplicate(session, item) {
        return Vec::new();
    }
    let span = def.name.span.shift(item.start);
    let at = |lens| PlacedLens { span, def: def.name.name.clone(), lens };
    let mut all = vec![at(Lens::Cost)];
    if def.params.is_empty() || examples.is_some_and(|all| all.example_of(session, item).is_some()) {
        all.push(at(Lens::Run));
    }
    let views: &[&str] =
        if has_derivative_types(session, &item.global) { &["adjoint", "forward", "ssa"] } else { &["ssa"] };
    all.extend(views.iter().map(|stage| at(Lens::View(stage))));
    all
}

/// Returns whether the signature allows a derivative: a parameter and the result can contain reals.
pub(crate) fn has_derivative_types(session: &Session, def: &GlobalName) -> bool {
    let signature = session.signature(def);
    signature.is_some_and(|s| s.params.iter().any(|(_, ty)| has_real(ty)) && has_real(&s.result))
}

/// Returns whether a value of the type can contain a real number.
fn has_real(ty: &Type) -> bool {
    match ty {
        Type::Scalar(s) => matches!(s, Scalar::F64 | Scalar::F32),
        Type::Array(_, element) => has_real(element),
        Type::Tuple(items) => items.iter().any(has_real),
        Type::Record(fields) => fields.iter().any(|(_, ty)| has_real(ty)),
        // Other types are not inspected.
        _ => true,
    }
}

/// The prefix of a comment whose expression is evaluated.
pub const EVALUATE_PREFIX: &str = "-- >>> ";

/// Returns the expression of a line if the line is such a comment.
#[must_use]
pub fn evaluated_expression(line: &str) -> Option<&str> {
    line.trim().strip_prefix(EVALUATE_PREFIX).map(str::trim).filter(|expression| !expression.is_empty())
}

/// Expressions that call definitions with arguments, by the definition's name.
struct ExampleCalls {
    /// The expressions of comments.
    from_comments: BTreeMap<Name, String>,
    /// The calls of top-level items that mention only top-level names.
    from_items: BTreeMap<Name, String>,
}

impl ExampleCalls {
    fn in_module(session: &Session, module: &str) -> Self {
        let (mut comment_calls, mut called) = (BTreeMap::new(), BTreeMap::new());
        let text = session.text(module).unwrap_or_default();
        for expression in text.lines().filter_map(evaluated_expression) {
            let parsed = parse_expr(expression);
            if parsed.diagnostics.is_empty() {
                for (name, _) in called_names(&parsed.tree) {
                    comment_calls.entry(name).or_insert_with(|| expression.to_owned());
                }
            }
        }
        for item in session.items(module).iter().filter(|i| matches!(i.kind, ItemKind::Let | ItemKind::Do)) {
            let Some(parsed) = session.tree(item).filter(|parsed| parsed.diagnostics.is_empty()) else { continue };
            let used = untyped_uses(session, item);
            let local = |u: &&NameUse| matches!(u.meaning, NameTarget::Local(..));
            let locals: Vec<Span> = used.iter().filter(local).map(|u| u.span).collect();
            for (name, span) in called_names(&parsed.tree) {
                let place = span.shift(item.start);
                if !locals.iter().any(|at| place.start <= at.start && at.end <= place.end) {
                    let text = || item.text.get(span.range()).unwrap_or_default().to_owned();
                    called.entry(name).or_insert_with(text);
                }
            }
        }
        Self { from_comments: comment_calls, from_items: called }
    }

    /// Returns the example of a definition: a comment's, else the first example of its
    /// documentation, else a call of the top level.
    fn example_of(&self, session: &Session, item: &ItemRef) -> Option<String> {
        let documented = || {
            let docs = &session.tree(item)?.tree.docs;
            let (_, block) = docs.split_once("```iverson\n")?;
            let (block, _) = block.split_once("\n```")?;
            let parsed = parse_expr(block);
            let calls =
                parsed.diagnostics.is_empty() && called_names(&parsed.tree).iter().any(|(name, _)| *name == item.name);
            calls.then(|| block.to_owned())
        };
        let found = self.from_comments.get(&item.name).cloned().or_else(documented);
        found.or_else(|| self.from_items.get(&item.name).cloned())
    }
}

/// Returns the names that are called in a tree, with the spans of the calls.
fn called_names(tree: &Tree) -> Vec<(Name, Span)> {
    let calls = tree.exprs.iter().filter_map(|(_, e)| match &e.kind {
        Expr::Call(of, _) => match &tree.exprs[*of].kind {
            Expr::Name(name) => Some((name.clone(), e.span)),
            _ => None,
        },
        _ => None,
    });
    calls.collect()
}

/// Returns the expression that evaluates a name.
///
/// # Errors
/// The reason why there is none: the definition has parameters, and no example calls it.
pub fn evaluation_expression(session: &Session, module: &str, name: &str) -> Result<String, String> {
    let item = session.item(&GlobalName::new(module, name));
    let parsed = item.as_ref().and_then(|item| session.tree(item));
    match parsed.as_ref().map(|p| &p.tree.item) {
        Some(Item::Let(_)) => Ok(name.to_owned()),
        Some(Item::Def(def)) if !def.params.is_empty() => {
            item.and_then(|item| ExampleCalls::in_module(session, module).example_of(session, &item)).ok_or_else(|| {
                format!(
                    "`{name}` takes arguments: to evaluate it, write a comment such as `{EVALUATE_PREFIX}{name}(…)`"
                )
            })
        }
        _ => Ok(format!("{name}()")),
    }
}

/// Returns the title of the cost lens: `work 2·n·m − n · ∇ 4·n·m − n − 2·m + 1 · ≤ 2× proved`.
#[must_use]
pub fn cost_title(session: &Session, module: &str, def: &str) -> Option<String> {
    Some(format_cost_title(&costs(session, &GlobalName::new(module, def))?))
}

fn format_cost_title(costs: &DefinitionCosts) -> String {
    let mut parts = Vec::new();
    parts.extend(costs.primal.as_ref().map(|c| format!("work {}", abbreviate_formula(&c.work))));
    parts.extend(costs.adjoint.as_ref().map(|c| format!("∇ {}", abbreviate_formula(&c.work))));
    parts.extend(costs.certificate.as_ref().map(|c| c.short.clone()));
    parts.join(" · ")
}
