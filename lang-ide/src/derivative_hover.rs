//! **Derivatives in a hover.** Adds the derivative that `grad(f)`, its call or `deriv(e, x)`
//! denotes, and the gradient of a definition with respect to a parameter. The rows are the entries
//! of the derivative and its cost. [`crate::hover`] calls this module for full hovers.

use lang_core::base::GlobalName;
use lang_core::session::{ItemRef, ReadableDerivative, Session};
use lang_core::source::NotShownReason;
use lang_core::syntax::ast::Item;
use lang_core::types::tree::{TypedBody, TypedExpr, TypedForm, TypedId};

use crate::costs;
use crate::hover::{describe_result, exceeds_hover};
use crate::hover_text::Hover;
use crate::table::{as_formula, truncate_cases, truncate_to_cell};
use crate::views::{self, ViewStage};

/// Adds the derivative that a node represents, if any.
pub(crate) fn add_operator_derivative(
    session: &Session,
    item: &ItemRef,
    body: &TypedBody,
    node: TypedId,
    hover: &mut Hover,
) {
    let Some(derivative) = session.derivative(&item.global, node) else { return };
    let of = differentiated_definition(body, node);
    let before = hover.rows.len();
    add_entries(session, of.as_ref().unwrap_or(&item.global), &derivative, "derivative", hover);
    if let TypedExpr::Form(TypedForm::Deriv(_), of) = &body.nodes[node].kind
        && let Some(text) = of.first().and_then(|of| item.text.get(body.nodes[*of].span.range()))
    {
        // Without the expression's text, the label would look like a row of the hovered expression.
        let text = if text.chars().count() > MAX_LABEL_LENGTH { "…" } else { text };
        let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_');
        let text = if is_name { text.to_owned() } else { format!("({text})") };
        for (what, _) in hover.rows.iter_mut().skip(before) {
            let rest = what.strip_prefix('∂').map(|rest| rest.strip_prefix('·').unwrap_or(rest).to_owned());
            if let Some(rest) = rest {
                *what = format!("∂{text}{rest}");
            }
        }
    }
    if !hover.rows.is_empty() && !derivative.parameters.is_empty() {
        let all: Vec<String> = derivative.parameters.iter().map(|name| format!("`{name}`")).collect();
        let of =
            derivative.function_name.as_ref().map_or_else(|| "the function".to_owned(), |name| format!("`{name}`"));
        hover.add_note(match all.as_slice() {
            [one] => format!("{one} is the parameter of {of}"),
            several => format!("{} are the parameters of {of}", several.join(", ")),
        });
    }
}

/// Adds the gradient of a definition with respect to a parameter.
pub(crate) fn add_gradient(session: &Session, def: &GlobalName, param: u32, hover: &mut Hover) {
    let Some(gradient) = session.gradient(def, param) else { return };
    add_entries(session, def, &gradient, "gradient", hover);
}

fn add_entries(session: &Session, def: &GlobalName, derivative: &ReadableDerivative, what: &str, hover: &mut Hover) {
    let entries = match &derivative.entries {
        Ok(entries) => entries,
        Err(NotShownReason::NotReal) => return,
        Err(why) => {
            let why = why.phrase().unwrap_or_default();
            hover.add_note(format!("cannot print the {what} here, because of {why}{}", view_reference(session, def)));
            return;
        }
    };
    if entries.iter().any(|of| exceeds_hover(&of.lets) || of.entries.len() > MAX_ROWS) {
        hover.add_note(format!("the {what} is too long to show here{}", view_reference(session, def)));
        return;
    }
    let mut some = false;
    for of in entries {
        hover.note_shadowed(&of.renamed_variables);
        if let Some((name, whose)) = &of.cotangent {
            hover.add_note(format!("`{name}` is the cotangent of {}", describe_result(whose, def)));
        }
        let case = of.case.as_ref().map(|case| format!(" {case}")).unwrap_or_default();
        let row = |entry: &lang_core::source::DerivativeEntry| {
            some = true;
            (format!("{}{case}", entry.variable), truncate_to_cell(as_formula(&entry.value)))
        };
        let rows: Vec<(String, String)> = of.entries.iter().map(row).collect();
        hover.add_rows(rows, of.lets.clone());
    }
    if !some {
        hover.add_rows(vec![(what.to_owned(), "0".to_owned())], Vec::new());
    }
    if let Some(cost) = &derivative.cost {
        hover.rows.push((format!("work of the {what}"), truncate_cases(costs::format_formula(&cost.total.work, cost))));
    }
}

/// The maximal length of an expression in the label of its derivative, in characters.
const MAX_LABEL_LENGTH: usize = 24;

/// The maximal number of rows of one case. For a longer derivative, the hover refers to a view.
const MAX_ROWS: usize = 12;

/// Returns a reference to the view that shows the whole derivative, if it exists.
fn view_reference(session: &Session, def: &GlobalName) -> String {
    let is_def =
        session.item(def).and_then(|item| session.tree(&item)).is_some_and(|p| matches!(p.tree.item, Item::Def(_)));
    if is_def && views::view(session, &def.module, &def.name, ViewStage::Adjoint).is_ok() {
        format!("; see the adjoint view of `{}`", def.name)
    } else {
        String::new()
    }
}

/// Returns the definition that an operator differentiates, through nested operators.
fn differentiated_definition(body: &TypedBody, mut node: TypedId) -> Option<GlobalName> {
    loop {
        node = match &body.nodes[node].kind {
            TypedExpr::Form(TypedForm::Derive(..), of) => *of.first()?,
            TypedExpr::Call { callee: lang_core::types::tree::Callee::Value(f), .. } => *f,
            TypedExpr::Checked(_, of) | TypedExpr::Opened(_, of) => *of,
            TypedExpr::DefValue(name, _) => return Some(name.clone()),
            _ => return None,
        };
    }
}
