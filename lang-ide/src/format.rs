//! **Formatting** in the language's single layout. Calls the formatter of
//! `lang_core::syntax::format`, and reduces its result to edits of the lines that differ.

use lang_core::base::Span;
use lang_core::session::Session;
use lang_core::syntax::format::{format, format_item};
use lang_core::syntax::parser::parse_split;
use lang_core::syntax::split::split;

use crate::{Edit, Location};

/// Returns the edits that format a module, in order, item by item. If the module has syntax errors,
/// only the items without errors are formatted.
#[must_use]
pub fn format_module(session: &Session, module: &str) -> Vec<Edit> {
    let Some(text) = session.text(module) else { return Vec::new() };
    let Ok(laid_out) = format(&text) else { return format_range(session, module, Span::new(0, u32::MAX)) };
    let mut edits = Vec::new();
    if laid_out == *text {
        return edits;
    }
    let (old, new) = (split_at_items(&text), split_at_items(&laid_out));
    match old.len() == new.len() {
        true => {
            for ((start, old), (_, new)) in old.iter().zip(&new) {
                edits.extend(line_edit(module, *start, old, new));
            }
        }
        false => edits.extend(line_edit(module, 0, &text, &laid_out)),
    }
    edits
}

/// Returns the edits that format the items in a range. Items with syntax errors stay unchanged.
#[must_use]
pub fn format_range(session: &Session, module: &str, range: Span) -> Vec<Edit> {
    let Some(text) = session.text(module) else { return Vec::new() };
    let mut edits = Vec::new();
    for item in split(&text) {
        let end = item.start.saturating_add(u32::try_from(item.text.len()).unwrap_or(u32::MAX));
        if end < range.start || item.start > range.end {
            continue;
        }
        let parsed = parse_split(item.kind, &item.text);
        if parsed.diagnostics.iter().any(lang_core::base::Diagnostic::is_error) {
            continue;
        }
        if let Some(laid_out) = format_item(&parsed.tree, &item.text) {
            edits.extend(line_edit(module, item.start, &item.text, &laid_out));
        }
    }
    edits
}

/// Splits the text where its items begin, with the offset of each part.
fn split_at_items(text: &str) -> Vec<(u32, &str)> {
    let mut starts: Vec<u32> = split(text).iter().map(|item| item.start).skip(1).collect();
    starts.insert(0, 0);
    let ends = starts.iter().skip(1).map(|s| *s as usize).chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| (*start, text.get(*start as usize..end).unwrap_or_default())).collect()
}

/// Returns the edit of the lines between the common head and the common tail.
fn line_edit(module: &str, start: u32, old: &str, new: &str) -> Option<Edit> {
    if old == new {
        return None;
    }
    let lines = |text: &str| text.split_inclusive('\n').map(str::len).collect::<Vec<usize>>();
    let (before, after) = (lines(old), lines(new));
    let mut head = 0;
    for (a, b) in before.iter().zip(&after) {
        if a != b || old.get(head..head + a) != new.get(head..head + b) {
            break;
        }
        head += a;
    }
    let mut tail = 0;
    for (a, b) in before.iter().rev().zip(after.iter().rev()) {
        let (ends, ends_new) = (old.len().checked_sub(tail + a)?, new.len().checked_sub(tail + b)?);
        if a != b || ends < head || ends_new < head || old.get(ends..ends + a) != new.get(ends_new..ends_new + b) {
            break;
        }
        tail += a;
    }
    let at = |offset: usize| start.saturating_add(u32::try_from(offset).unwrap_or(u32::MAX));
    let span = Span::new(at(head), at(old.len().checked_sub(tail)?));
    let text = new.get(head..new.len().checked_sub(tail)?)?.to_owned();
    Some(Edit { at: Location { module: module.into(), span }, text })
}
