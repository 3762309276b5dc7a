//! **Quick fixes from diagnostics.** Offers the fixes that a diagnostic carries and the code that
//! its help text quotes. The quoted code replaces the error, wraps an operand or replaces an index.
//! Also adds the missing arms of a `match`. Each change is tried by [`crate::try_edit`] before it
//! is offered, except outside of items.

use lang_core::base::{Code, Diagnostic, Span};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Expr, Subscript, Tree};
use lang_core::syntax::split::ItemKind;

use crate::actions::Action;
use crate::try_edit::{self, CandidateEdit, parsable_actions, verified_actions};

/// The placeholder in a help text for code that is already written.
const ELLIPSIS: &str = "…";

/// The body of an arm that the user has yet to write.
const PLACEHOLDER_BODY: &str = "error(\"not implemented\")";

/// Returns the fixes of the errors in the selection. If `with_quoted` is set, includes those that a
/// help text quotes.
pub(crate) fn fixes(session: &Session, item: &ItemRef, selected: Span, with_quoted: bool) -> Vec<Action> {
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
        let help = d.help.as_ref().filter(|_| with_quoted);
        let (Some(span), Some(help)) = (own(d.span).filter(|_| here), help) else { continue };
        let Some(text) = item.text.get(span.range()) else { continue };
        if d.code == Code::E0400 {
            changes.extend(missing_arms_change(&parsed.tree, item, span, &quoted_parts(&d.message)));
            continue;
        }
        changes.extend(removal_change(item, span, text, help));
        for code in quoted_parts(help) {
            changes.extend(if begins_expression(d, text) {
                insertion_change(item, span, &code)
            } else {
                replacement_change(item, span, text, help, &code)
            });
            if !unread {
                let places = d.related.iter().rev().filter(|l| l.module.is_none()).filter_map(|l| own(l.span));
                changes.extend(places.filter_map(|place| wrapping_change(item, place, &code)));
                changes.extend(index_change(&parsed.tree, item, span, &code));
            }
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

/// Returns whether an expression begins with the unexpected token, so that a token is missing
/// before it. A token that means nothing replaces another one instead.
fn begins_expression(d: &Diagnostic, text: &str) -> bool {
    let begins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '(' | '[' | '{' | '\\' | '!' | '"' | '.');
    d.code == Code::E0001 && !d.message.ends_with("means nothing here") && text.starts_with(begins)
}

/// For "is a `:` missing?": the symbol is inserted before the unexpected token.
fn insertion_change(item: &ItemRef, span: Span, code: &str) -> Option<CandidateEdit> {
    let is_symbol = code.chars().all(|c| c.is_ascii_punctuation());
    let before = item.text.get(..span.start as usize).filter(|_| is_symbol)?;
    let end = u32::try_from(before.trim_end().len()).ok()?;
    // A colon follows the text before it without a space.
    let text = if code == ":" { ": ".to_owned() } else { format!(" {code} ") };
    Some(CandidateEdit { title: format!("Insert `{code}`"), span: Span::new(end, span.start), text })
}

/// Returns the parts of a text in backticks.
fn quoted_parts(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// For "leave `return` out": removes the word and the space after it. For "leave the point out":
/// removes the point.
fn removal_change(item: &ItemRef, span: Span, text: &str, help: &str) -> Option<CandidateEdit> {
    if help.ends_with("leave the point out") {
        let rest = text.strip_prefix('.')?;
        return Some(CandidateEdit { title: format!("Change `{text}` to `{rest}`"), span, text: rest.to_owned() });
    }
    let (_, behind) = help.split_once("leave `")?;
    let (word, _) = behind.split_once("` out").filter(|(word, _)| *word == text)?;
    let rest = item.text.get(span.end as usize..)?;
    let space = u32::try_from(rest.len() - rest.trim_start_matches(' ').len()).ok()?;
    let span = Span::new(span.start, span.end + space);
    Some(CandidateEdit { title: format!("Remove `{word}`"), span, text: String::new() })
}

/// For "equality is written `==`" and "did you mean `mean`?": the quoted code replaces the error.
fn replacement_change(item: &ItemRef, span: Span, text: &str, help: &str, code: &str) -> Option<CandidateEdit> {
    let is_symbol = code.chars().all(|c| c.is_ascii_punctuation());
    let is_said = help.starts_with("did you mean ") || help == format!("write `{code}`");
    if code.contains(ELLIPSIS) || !(is_symbol || is_said) {
        return None;
    }
    // The rest of the comment stays.
    if let Some(rest) = text.strip_prefix('#').filter(|_| code == "--") {
        let title = "Start the comment with `--`".to_owned();
        return Some(CandidateEdit { title, span, text: format!("--{rest}") });
    }
    let (before, behind) = item.text.get(..span.start as usize).zip(item.text.get(span.end as usize..))?;
    let space = if matches!(code, "->" | "=") && !before.ends_with(' ') { " " } else { "" };
    // A prefix operator is adjacent to its operand.
    let gap = if code == "!" { behind.len() - behind.trim_start_matches(' ').len() } else { 0 };
    let title = if text.is_empty() { format!("Write `{code}`") } else { format!("Change `{text}` to `{code}`") };
    let span = Span::new(span.start, span.end + u32::try_from(gap).ok()?);
    Some(CandidateEdit { title, span, text: format!("{space}{code}") })
}

/// For "convert the second with `f64(…)`": the quoted code wraps an operand.
fn wrapping_change(item: &ItemRef, place: Span, code: &str) -> Option<CandidateEdit> {
    let (open, close) = code.split_once(ELLIPSIS).filter(|(_, close)| !close.contains(ELLIPSIS))?;
    let text = format!("{open}{}{close}", item.text.get(place.range())?);
    Some(CandidateEdit { title: format!("Write `{}`", abbreviate(&text)), span: place, text })
}

/// For "the last element is `x[n - 1]`": the quoted index replaces the index, if the array is a
/// name with one index.
fn index_change(tree: &Tree, item: &ItemRef, span: Span, code: &str) -> Option<CandidateEdit> {
    let is_only = |e: &Expr| match e {
        Expr::Index(of, subscripts) => {
            let one = matches!(subscripts.as_slice(), [Subscript::Index(index)] if tree.exprs[*index].span == span);
            one && matches!(tree.exprs[*of].kind, Expr::Name(_))
        }
        _ => false,
    };
    let (_, node) = tree.exprs.iter().find(|(_, node)| is_only(&node.kind))?;
    let index = code.strip_suffix(']')?.split_once('[')?.1;
    let (whole, name) =
        (item.text.get(node.span.range())?, item.text.get(node.span.start as usize..span.start as usize)?);
    let title = format!("Change `{whole}` to `{name}{index}]`");
    Some(CandidateEdit { title, span, text: index.to_owned() })
}

/// For "no arm for `Point`": adds an arm for each missing pattern, with a body that stops a run.
fn missing_arms_change(tree: &Tree, item: &ItemRef, span: Span, missing: &[String]) -> Option<CandidateEdit> {
    let around = tree.exprs.iter().filter(|(_, node)| node.span.start <= span.start && span.end <= node.span.end);
    let matches = around.filter_map(|(_, node)| match &node.kind {
        Expr::Match(_, arms) => Some((node.span, arms.last().map(|arm| tree.exprs[arm.body].span.end))),
        _ => None,
    });
    let (whole, last) = matches.min_by_key(|(span, _)| span.end - span.start)?;
    let patterns: Vec<&String> = missing.iter().filter(|text| *text != "match").collect();
    let title = match patterns.as_slice() {
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
