//! **Quick fixes from diagnostics.** Offers the fixes that a diagnostic carries and the code that
//! its help text quotes. The quoted code replaces the error, wraps an operand or replaces an index.
//! Also adds the missing arms of a `match`. Each change is tried by [`crate::trial`] before it is
//! offered, except outside of items.

use lang_core::base::{Code, Diagnostic, Span};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Expr, Subscript, Tree};
use lang_core::syntax::split::ItemKind;

use crate::actions::Action;
use crate::trial::{self, Change, read_again, tried};

/// The placeholder in a help text for code that is already written.
const REST: &str = "…";

/// The body of an arm that the user has yet to write.
const UNWRITTEN: &str = "error(\"not written yet\")";

/// Returns the fixes of the errors in the selection. If `with_quoted` is set, includes those that a
/// help text quotes.
pub(crate) fn fixes(session: &Session, item: &ItemRef, selected: Span, with_quoted: bool) -> Vec<Action> {
    if item.kind == ItemKind::Junk {
        return outside_items(session, item, selected);
    }
    let Some(parsed) = session.tree(item) else { return Vec::new() };
    let unread = parsed.diagnostics.iter().any(Diagnostic::is_error);
    let own = |span: Span| {
        let start = span.start.checked_sub(item.start)?;
        Some(Span::new(start, span.end.checked_sub(item.start)?))
    };
    let mut changes: Vec<Change> = Vec::new();
    for d in session.item_diagnostics(item).iter().filter(|d| d.is_error()) {
        let touches = |span: Span| span.start <= selected.end && selected.start <= span.end;
        let here = touches(d.span);
        let source = session.text(&item.module).unwrap_or_default();
        for fix in d.fixes.iter().filter(|fix| here || touches(fix.span)) {
            changes.extend(own(fix.span).and_then(|span| change(item, span, fix.text(&source)?)));
        }
        let help = d.help.as_ref().filter(|_| with_quoted);
        let (Some(span), Some(help)) = (own(d.span).filter(|_| here), help) else { continue };
        let Some(text) = item.text.get(span.range()) else { continue };
        if d.code == Code::E0400 {
            changes.extend(arms(&parsed.tree, item, span, &quoted(&d.message)));
            continue;
        }
        changes.extend(left_out(item, span, text, help));
        for code in quoted(help) {
            changes.extend(if begins_expression(d, text) {
                put_in(item, span, &code)
            } else {
                instead(item, span, text, help, &code)
            });
            if !unread {
                let places = d.related.iter().rev().filter(|l| l.module.is_none()).filter_map(|l| own(l.span));
                changes.extend(places.filter_map(|place| wrapped(item, place, &code)));
                changes.extend(around(&parsed.tree, item, span, &code));
            }
        }
    }
    if unread { read_again(item, changes) } else { tried(session, item, changes) }
}

/// Returns the fixes for text outside of any item, which turn it into an item or a comment.
fn outside_items(session: &Session, item: &ItemRef, selected: Span) -> Vec<Action> {
    let source = session.text(&item.module).unwrap_or_default();
    let mut changes = Vec::new();
    for d in session.item_diagnostics(item).iter().filter(|d| d.is_error()) {
        for fix in
            d.fixes.iter().filter(|fix| d.span.start <= selected.end && selected.start <= fix.span.end.max(d.span.end))
        {
            let span = |at: u32| at.checked_sub(item.start);
            let span = span(fix.span.start).zip(span(fix.span.end)).map(|(start, end)| Span::new(start, end));
            changes.extend(span.and_then(|span| change(item, span, fix.text(&source)?)));
        }
    }
    trial::untried(item, changes)
}

/// Converts a fix that a diagnostic carries.
fn change(item: &ItemRef, span: Span, text: String) -> Option<Change> {
    let was = item.text.get(span.range())?;
    let title = match (was.trim(), text.trim()) {
        ("", new) => format!("Write `{}`", one_line(new)),
        (old, "") => format!("Leave `{}` out", one_line(old)),
        (old, new) => format!("Change `{}` to `{}`", one_line(old), one_line(new)),
    };
    Some(Change { title, span, text })
}

/// Returns whether an expression begins with the unexpected token, so that a token is missing
/// before it. A token that means nothing replaces another one instead.
fn begins_expression(d: &Diagnostic, text: &str) -> bool {
    let begins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '(' | '[' | '{' | '\\' | '!' | '"' | '.');
    d.code == Code::E0001 && !d.message.ends_with("means nothing here") && text.starts_with(begins)
}

/// For "is a `:` missing?": the symbol is inserted before the unexpected token.
fn put_in(item: &ItemRef, span: Span, code: &str) -> Option<Change> {
    let is_symbol = code.chars().all(|c| c.is_ascii_punctuation());
    let before = item.text.get(..span.start as usize).filter(|_| is_symbol)?;
    let end = u32::try_from(before.trim_end().len()).ok()?;
    // A colon follows the text before it without a space.
    let text = if code == ":" { ": ".to_owned() } else { format!(" {code} ") };
    Some(Change { title: format!("Put `{code}` in"), span: Span::new(end, span.start), text })
}

/// Returns the parts of a text in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// For "leave `return` out": removes the word and the space after it. For "leave the point out":
/// removes the point.
fn left_out(item: &ItemRef, span: Span, text: &str, help: &str) -> Option<Change> {
    if help.ends_with("leave the point out") {
        let rest = text.strip_prefix('.')?;
        return Some(Change { title: format!("Change `{text}` to `{rest}`"), span, text: rest.to_owned() });
    }
    let (_, behind) = help.split_once("leave `")?;
    let (word, _) = behind.split_once("` out").filter(|(word, _)| *word == text)?;
    let rest = item.text.get(span.end as usize..)?;
    let space = u32::try_from(rest.len() - rest.trim_start_matches(' ').len()).ok()?;
    let span = Span::new(span.start, span.end + space);
    Some(Change { title: format!("Leave `{word}` out"), span, text: String::new() })
}

/// For "equality is written `==`" and "did you mean `mean`?": the quoted code replaces the error.
fn instead(item: &ItemRef, span: Span, text: &str, help: &str, code: &str) -> Option<Change> {
    let is_symbol = code.chars().all(|c| c.is_ascii_punctuation());
    let is_said = help.starts_with("did you mean ") || help == format!("write `{code}`");
    if code.contains(REST) || !(is_symbol || is_said) {
        return None;
    }
    // The rest of the comment stays.
    if let Some(rest) = text.strip_prefix('#').filter(|_| code == "--") {
        let title = "Begin the comment with `--`".to_owned();
        return Some(Change { title, span, text: format!("--{rest}") });
    }
    let (before, behind) = item.text.get(..span.start as usize).zip(item.text.get(span.end as usize..))?;
    let space = if matches!(code, "->" | "=") && !before.ends_with(' ') { " " } else { "" };
    // A prefix operator is adjacent to its operand.
    let gap = if code == "!" { behind.len() - behind.trim_start_matches(' ').len() } else { 0 };
    let title = if text.is_empty() { format!("Write `{code}`") } else { format!("Change `{text}` to `{code}`") };
    let span = Span::new(span.start, span.end + u32::try_from(gap).ok()?);
    Some(Change { title, span, text: format!("{space}{code}") })
}

/// For "convert the second with `f64(…)`": the quoted code wraps an operand.
fn wrapped(item: &ItemRef, place: Span, code: &str) -> Option<Change> {
    let (open, close) = code.split_once(REST).filter(|(_, close)| !close.contains(REST))?;
    let text = format!("{open}{}{close}", item.text.get(place.range())?);
    Some(Change { title: format!("Write `{}`", one_line(&text)), span: place, text })
}

/// For "the last element is `x[n - 1]`": the quoted index replaces the index, if the array is a
/// name with one index.
fn around(tree: &Tree, item: &ItemRef, span: Span, code: &str) -> Option<Change> {
    let is_only = |e: &Expr| match e {
        Expr::Index(of, subscripts) => {
            let one = matches!(subscripts.as_slice(), [Subscript::At(index)] if tree.exprs[*index].span == span);
            one && matches!(tree.exprs[*of].kind, Expr::Name(_))
        }
        _ => false,
    };
    let (_, node) = tree.exprs.iter().find(|(_, node)| is_only(&node.kind))?;
    let index = code.strip_suffix(']')?.split_once('[')?.1;
    let (whole, name) =
        (item.text.get(node.span.range())?, item.text.get(node.span.start as usize..span.start as usize)?);
    let title = format!("Change `{whole}` to `{name}{index}]`");
    Some(Change { title, span, text: index.to_owned() })
}

/// For "no arm for `Point`": adds an arm for each missing pattern, with a body that stops a run.
fn arms(tree: &Tree, item: &ItemRef, span: Span, missing: &[String]) -> Option<Change> {
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
    let each: Vec<String> = patterns.iter().map(|pattern| format!("{pattern}: {UNWRITTEN}")).collect();
    let (end, comma) = match last {
        Some(end) => (end, ", "),
        None => (whole.start + u32::try_from(item.text.get(whole.range())?.find('{')?).ok()? + 1, " "),
    };
    Some(Change { title, span: Span::new(end, end), text: format!("{comma}{}", each.join(", ")) })
}

/// Joins a text into one line and cuts it if it is long.
fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= 40 { text } else { format!("{}…", text.chars().take(40).collect::<String>()) }
}
