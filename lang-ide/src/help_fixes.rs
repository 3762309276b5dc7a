//! **Quick fixes from diagnostics.** Offers the fixes that a diagnostic carries and the edits that
//! its hint suggests. Also adds the missing arms of a `match`. Each change is tried by
//! [`crate::try_edit`] before it is offered, except outside of items.

use lang_core::base::{Diagnostic, Fact, Span, Suggestion};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Expr, Tree};
use lang_core::syntax::split::ItemKind;

use crate::actions::Action;
use crate::try_edit::{self, CandidateEdit, parsable_actions, verified_actions};

/// The body of an arm that the user has yet to write.
const PLACEHOLDER_BODY: &str = "error(\"not implemented\")";

/// Returns the fixes of the errors in the selection. If `with_suggestions` is set, includes those
/// that a hint suggests and the missing arms of a `match`.
pub(crate) fn fixes(session: &Session, item: &ItemRef, selected: Span, with_suggestions: bool) -> Vec<Action> {
    if item.kind == ItemKind::StrayText {
        return fixes_outside_items(session, item, selected);
    }
    let Some(parsed) = session.tree(item) else { return Vec::new() };
    let unread = parsed.diagnostics.iter().any(Diagnostic::is_error);
    let own = |span: Span| {
        let start = span.start.checked_sub(item.start)?;
        Some(Span::new(start, span.end.checked_sub(item.start)?))
    };
    let mut changes: Vec<CandidateEdit> = Vec::new();
    for d in session.item_diagnostics(item).iter().filter(|d| d.is_error()) {
        let touches = |span: Span| span.start <= selected.end && selected.start <= span.end;
        let here = touches(d.span);
        let source = session.text(&item.module).unwrap_or_default();
        for fix in d.fixes.iter().filter(|fix| here || touches(fix.span)) {
            changes.extend(own(fix.span).and_then(|span| change_from_fix(item, span, fix.text(&source)?)));
        }
        let Some(span) = own(d.span).filter(|_| here && with_suggestions) else { continue };
        if let Some(Fact::MissingPatterns(patterns)) = &d.fact {
            changes.extend(missing_arms_change(&parsed.tree, item, span, patterns));
        }
        let Some(marked) = item.text.get(span.range()) else { continue };
        for suggestion in d.help.iter().flat_map(|hint| hint.suggestions()) {
            changes.extend(match suggestion {
                Suggestion::Replace(code) => replacement_change(item, span, marked, code),
                Suggestion::Expect(symbol) if begins_expression(marked) => insertion_change(item, span, symbol),
                Suggestion::Expect(symbol) => replacement_change(item, span, marked, symbol),
                Suggestion::Remove => removal_change(item, span, marked),
                Suggestion::Wrap { .. } if unread => None,
                Suggestion::Wrap { operand, before, after } => {
                    own(*operand).and_then(|operand| wrapping_change(item, operand, before, after))
                }
            });
        }
    }
    if unread { parsable_actions(item, changes) } else { verified_actions(session, item, changes) }
}

/// Returns the fixes for text outside of any item, which turn it into an item or a comment.
fn fixes_outside_items(session: &Session, item: &ItemRef, selected: Span) -> Vec<Action> {
    let source = session.text(&item.module).unwrap_or_default();
    let mut changes = Vec::new();
    for d in session.item_diagnostics(item).iter().filter(|d| d.is_error()) {
        for fix in
            d.fixes.iter().filter(|fix| d.span.start <= selected.end && selected.start <= fix.span.end.max(d.span.end))
        {
            let span = |at: u32| at.checked_sub(item.start);
            let span = span(fix.span.start).zip(span(fix.span.end)).map(|(start, end)| Span::new(start, end));
            changes.extend(span.and_then(|span| change_from_fix(item, span, fix.text(&source)?)));
        }
    }
    try_edit::unverified_actions(item, changes)
}

/// Converts a fix that a diagnostic carries.
fn change_from_fix(item: &ItemRef, span: Span, text: String) -> Option<CandidateEdit> {
    let was = item.text.get(span.range())?;
    let title = match (was.trim(), text.trim()) {
        ("", new) => format!("Write `{}`", abbreviate(new)),
        (old, "") => format!("Remove `{}`", abbreviate(old)),
        (old, new) => format!("Change `{}` to `{}`", abbreviate(old), abbreviate(new)),
    };
    Some(CandidateEdit { title, span, text })
}

/// Returns whether an expression begins with the marked text.
fn begins_expression(marked: &str) -> bool {
    let begins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '(' | '[' | '{' | '\\' | '!' | '"' | '.');
    marked.starts_with(begins)
}

/// Inserts a symbol before the marked text.
fn insertion_change(item: &ItemRef, span: Span, symbol: &str) -> Option<CandidateEdit> {
    let before = item.text.get(..span.start as usize)?;
    let end = u32::try_from(before.trim_end().len()).ok()?;
    // A colon follows the text before it without a space.
    let text = if symbol == ":" { ": ".to_owned() } else { format!(" {symbol} ") };
    Some(CandidateEdit { title: format!("Insert `{symbol}`"), span: Span::new(end, span.start), text })
}

/// Removes the marked text and the spaces after it.
fn removal_change(item: &ItemRef, span: Span, marked: &str) -> Option<CandidateEdit> {
    let rest = item.text.get(span.end as usize..)?;
    let space = u32::try_from(rest.len() - rest.trim_start_matches(' ').len()).ok()?;
    let span = Span::new(span.start, span.end + space);
    Some(CandidateEdit { title: format!("Remove `{marked}`"), span, text: String::new() })
}

/// Replaces the marked text by code.
fn replacement_change(item: &ItemRef, span: Span, marked: &str, code: &str) -> Option<CandidateEdit> {
    let (before, behind) = item.text.get(..span.start as usize).zip(item.text.get(span.end as usize..))?;
    let space = if matches!(code, "->" | "=") && !before.ends_with(' ') { " " } else { "" };
    // A prefix operator is adjacent to its operand.
    let gap = if code == "!" { behind.len() - behind.trim_start_matches(' ').len() } else { 0 };
    let title = if marked.is_empty() { format!("Write `{code}`") } else { format!("Change `{marked}` to `{code}`") };
    let span = Span::new(span.start, span.end + u32::try_from(gap).ok()?);
    Some(CandidateEdit { title, span, text: format!("{space}{code}") })
}

/// Wraps an operand in code.
fn wrapping_change(item: &ItemRef, operand: Span, before: &str, after: &str) -> Option<CandidateEdit> {
    let text = format!("{before}{}{after}", item.text.get(operand.range())?);
    Some(CandidateEdit { title: format!("Write `{}`", abbreviate(&text)), span: operand, text })
}

/// Adds an arm for each missing pattern, with a body that stops a run.
fn missing_arms_change(tree: &Tree, item: &ItemRef, span: Span, patterns: &[String]) -> Option<CandidateEdit> {
    let around = tree.exprs.iter().filter(|(_, node)| node.span.start <= span.start && span.end <= node.span.end);
    let matches = around.filter_map(|(_, node)| match &node.kind {
        Expr::Match(_, arms) => Some((node.span, arms.last().map(|arm| tree.exprs[arm.body].span.end))),
        _ => None,
    });
    let (whole, last) = matches.min_by_key(|(span, _)| span.end - span.start)?;
    let title = match patterns {
        [] => return None,
        [one] => format!("Add an arm for `{one}`"),
        all => format!("Add {} arms", all.len()),
    };
    let each: Vec<String> = patterns.iter().map(|pattern| format!("{pattern}: {PLACEHOLDER_BODY}")).collect();
    let (end, comma) = match last {
        Some(end) => (end, ", "),
        None => (whole.start + u32::try_from(item.text.get(whole.range())?.find('{')?).ok()? + 1, " "),
    };
    Some(CandidateEdit { title, span: Span::new(end, end), text: format!("{comma}{}", each.join(", ")) })
}

/// Joins a text into one line and cuts it if it is long.
fn abbreviate(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= 40 { text } else { format!("{}…", text.chars().take(40).collect::<String>()) }
}
