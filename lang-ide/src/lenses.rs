//! Lenses above definitions: what the function and its gradient cost, the certificate, and what can be done with it.

use lang_core::base::{Name, Span};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::Item;
use lang_core::syntax::split::ItemKind;

use crate::costs::{Costs, brief, costs};

/// What a lens is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lens {
    /// It tells the costs, which [`cost_title`] makes when it is seen.
    Cost,
    /// It evaluates the definition, which takes no arguments, or the `let` or `do`.
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
    session.items(module).iter().flat_map(|item| of_item(session, item)).collect()
}

fn of_item(session: &Session, item: &ItemRef) -> Vec<LensAt> {
    if item.kind != ItemKind::Def {
        return Vec::new();
    }
    let Some(parsed) = session.tree(item) else { return Vec::new() };
    let Item::Def(def) = &parsed.tree.item else { return Vec::new() };
    if def.name.name.is_empty() {
        return Vec::new();
    }
    let span = def.name.span.shift(item.start);
    let at = |lens| LensAt { span, def: def.name.name.clone(), lens };
    let mut all = vec![at(Lens::Cost)];
    if def.params.is_empty() {
        all.push(at(Lens::Run));
    }
    let views: &[&str] = if def.params.is_empty() { &["ssa"] } else { &["adjoint", "forward", "ssa"] };
    all.extend(views.iter().map(|stage| at(Lens::View(stage))));
    all
}

/// What the lens of costs says: `work 2·n·m − n · ∇ 4·n·m − n − 2·m + 1 · ≤ 2× proved`.
#[must_use]
pub fn cost_title(session: &Session, module: &str, def: &str) -> Option<String> {
    Some(title(&costs(session, &lang_core::base::GlobalName::new(module, def))?))
}

fn title(costs: &Costs) -> String {
    let mut parts = Vec::new();
    parts.extend(costs.primal.as_ref().map(|c| format!("work {}", brief(&c.work))));
    parts.extend(costs.adjoint.as_ref().map(|c| format!("∇ {}", brief(&c.work))));
    parts.extend(costs.certificate.as_ref().map(|c| c.short.clone()));
    parts.join(" · ")
}
