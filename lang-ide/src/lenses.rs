//! Lenses above definitions: what the function and its gradient cost, the certificate, and what can be done with it.

use std::collections::BTreeMap;

use lang_core::base::{GlobalName, Name, Span};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Expr, Item, Tree};
use lang_core::syntax::parser::parse_expr;
use lang_core::syntax::split::ItemKind;
use lang_core::types::ty::{Scalar, Type};

use crate::costs::{Costs, brief, costs};
use crate::find::is_hidden;
use crate::names::{Use, What, untyped_uses};

/// What a lens is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lens {
    /// It tells the costs, which [`cost_title`] makes when it is seen.
    Cost,
    /// It evaluates the definition, on the arguments of an example if it takes any; without a name, it runs the file.
    Run,
    /// It opens a view of the definition.
    View(&'static str),
}

/// A lens at its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LensAt {
    /// The name of the definition.
    pub span: Span,
    /// The definition.
    pub def: Name,
    /// What it is for.
    pub lens: Lens,
}

/// The lenses of a module. No costs are asked for.
#[must_use]
pub fn lenses(session: &Session, module: &str) -> Vec<LensAt> {
    let examples = Examples::of(session, module);
    session.items(module).iter().flat_map(|item| of_item(session, item, Some(&examples))).collect()
}

/// The lenses of the definition whose name stands at a place, but for the one that evaluates it on an example.
#[must_use]
pub fn lenses_at(session: &Session, module: &str, at: u32) -> Vec<LensAt> {
    let all = session.items_in(module, Span::new(at, at)).flat_map(|item| of_item(session, &item, None));
    all.filter(|lens| lens.span.touches(at)).collect()
}

fn of_item(session: &Session, item: &ItemRef, examples: Option<&Examples>) -> Vec<LensAt> {
    let Some(parsed) = session.tree(item) else { return Vec::new() };
    let def = match &parsed.tree.item {
        Item::Def(def) => def,
        // What a file does is done by running it.
        Item::Do(_) => {
            let start = parsed.tree.span.start + item.start;
            return vec![LensAt { span: Span::new(start, start + 2), def: Name::default(), lens: Lens::Run }];
        }
        _ => return Vec::new(),
    };
    if def.name.name.is_empty() || is_hidden(session, item) {
        return Vec::new();
    }
    let span = def.name.span.shift(item.start);
    let at = |lens| LensAt { span, def: def.name.name.clone(), lens };
    let mut all = vec![at(Lens::Cost)];
    if def.params.is_empty() || examples.is_some_and(|all| all.find(session, item).is_some()) {
        all.push(at(Lens::Run));
    }
    let views: &[&str] =
        if may_be_differentiated(session, &item.global) { &["adjoint", "forward", "ssa"] } else { &["ssa"] };
    all.extend(views.iter().map(|stage| at(Lens::View(stage))));
    all
}

/// Does a definition take reals and give some, as far as its signature tells?
pub(crate) fn may_be_differentiated(session: &Session, def: &GlobalName) -> bool {
    let signature = session.signature(def);
    signature.is_some_and(|s| s.params.iter().any(|(_, ty)| has_real(ty)) && has_real(&s.result))
}

/// May it hold a real number?
fn has_real(ty: &Type) -> bool {
    match ty {
        Type::Scalar(s) => matches!(s, Scalar::F64 | Scalar::F32),
        Type::Array(_, element) => has_real(element),
        Type::Tuple(items) => items.iter().any(has_real),
        Type::Record(fields) => fields.iter().any(|(_, ty)| has_real(ty)),
        // What is not looked into.
        _ => true,
    }
}

/// What begins the line of a comment whose expression is evaluated.
pub const ASKED: &str = "-- >>> ";

/// The expression of a line, if it is such a comment.
#[must_use]
pub fn asked(line: &str) -> Option<&str> {
    line.trim().strip_prefix(ASKED).map(str::trim).filter(|expression| !expression.is_empty())
}

/// Expressions by the definitions that they call, which evaluate these on arguments.
struct Examples {
    /// Of comments.
    asked: BTreeMap<Name, String>,
    /// Of the top level, where they mention nothing else than that has.
    called: BTreeMap<Name, String>,
}

impl Examples {
    fn of(session: &Session, module: &str) -> Self {
        let (mut asked, mut called) = (BTreeMap::new(), BTreeMap::new());
        let text = session.text(module).unwrap_or_default();
        for expression in text.lines().filter_map(self::asked) {
            let parsed = parse_expr(expression);
            if parsed.diagnostics.is_empty() {
                for (name, _) in calls(&parsed.tree) {
                    asked.entry(name).or_insert_with(|| expression.to_owned());
                }
            }
        }
        for item in session.items(module).iter().filter(|i| matches!(i.kind, ItemKind::Let | ItemKind::Do)) {
            let Some(parsed) = session.tree(item).filter(|parsed| parsed.diagnostics.is_empty()) else { continue };
            let used = untyped_uses(session, item);
            let local = |u: &&Use| matches!(u.what, What::Local(..));
            let locals: Vec<Span> = used.iter().filter(local).map(|u| u.span).collect();
            for (name, span) in calls(&parsed.tree) {
                let place = span.shift(item.start);
                if !locals.iter().any(|at| place.start <= at.start && at.end <= place.end) {
                    let text = || item.text.get(span.range()).unwrap_or_default().to_owned();
                    called.entry(name).or_insert_with(text);
                }
            }
        }
        Self { asked, called }
    }

    /// That of a definition: a comment's, else the first example of its documentation, else a call of the top level.
    fn find(&self, session: &Session, item: &ItemRef) -> Option<String> {
        let documented = || {
            let docs = &session.tree(item)?.tree.docs;
            let (_, block) = docs.split_once("```iverson\n")?;
            let (block, _) = block.split_once("\n```")?;
            let parsed = parse_expr(block);
            let calls = parsed.diagnostics.is_empty() && calls(&parsed.tree).iter().any(|(name, _)| *name == item.name);
            calls.then(|| block.to_owned())
        };
        let found = self.asked.get(&item.name).cloned().or_else(documented);
        found.or_else(|| self.called.get(&item.name).cloned())
    }
}

/// The names that are called in a tree, with the calls.
fn calls(tree: &Tree) -> Vec<(Name, Span)> {
    let calls = tree.exprs.iter().filter_map(|(_, e)| match &e.kind {
        Expr::Call(of, _) => match &tree.exprs[*of].kind {
            Expr::Name(name) => Some((name.clone(), e.span)),
            _ => None,
        },
        _ => None,
    });
    calls.collect()
}

/// The expression that evaluates what a name stands for.
///
/// # Errors
/// Why there is none: it takes arguments, and nothing calls it with any.
pub fn evaluation(session: &Session, module: &str, name: &str) -> Result<String, String> {
    let item = session.item(&GlobalName::new(module, name));
    let parsed = item.as_ref().and_then(|item| session.tree(item));
    match parsed.as_ref().map(|p| &p.tree.item) {
        Some(Item::Let(_)) => Ok(name.to_owned()),
        Some(Item::Def(def)) if !def.params.is_empty() => {
            item.and_then(|item| Examples::of(session, module).find(session, &item)).ok_or_else(|| {
                format!("`{name}` takes arguments: a comment `{ASKED}{name}(…)` gives it some and is evaluated")
            })
        }
        _ => Ok(format!("{name}()")),
    }
}

/// What the lens of costs says: `work 2·n·m − n · ∇ 4·n·m − n − 2·m + 1 · ≤ 2× proved`.
#[must_use]
pub fn cost_title(session: &Session, module: &str, def: &str) -> Option<String> {
    Some(title(&costs(session, &GlobalName::new(module, def))?))
}

fn title(costs: &Costs) -> String {
    let mut parts = Vec::new();
    parts.extend(costs.primal.as_ref().map(|c| format!("work {}", brief(&c.work))));
    parts.extend(costs.adjoint.as_ref().map(|c| format!("∇ {}", brief(&c.work))));
    parts.extend(costs.certificate.as_ref().map(|c| c.short.clone()));
    parts.join(" · ")
}
