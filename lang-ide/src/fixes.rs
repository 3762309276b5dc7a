//! **Quick fixes for unresolved names.** Imports a library module, qualifies a definition of one,
//! or replaces the name by the closest match. Also fixes an unmatched bracket if its place is
//! clear, and `**` for a power.

use lang_core::base::{Code, Diagnostic, Span};
use lang_core::resolve::suggest::{nearest_name, one_word_replacement};
use lang_core::resolve::{NameEnv, vocabulary};
use lang_core::session::{ItemRef, LIBRARY, Session};
use lang_core::syntax::ast::Item;
use lang_core::syntax::lexer::{SpannedToken, Token, lex};
use lang_core::syntax::parser::parse_split;
use lang_core::syntax::split::ItemKind;
use lang_core::syntax::token::Sym;

use crate::actions::{Action, ActionKind};
use crate::completion::{Completion, CompletionKind, complete};
use crate::names::{NameRole, NameTarget, untyped_uses};
use crate::{Edit, Location};

/// Returns the fixes for the unresolved names and unmatched brackets in the selection.
pub(crate) fn fixes(session: &Session, item: &ItemRef, selected: Span) -> Vec<Action> {
    let unknown = untyped_uses(session, item).into_iter().filter(|u| {
        u.meaning == NameTarget::Unknown
            && u.role == NameRole::Use
            && u.span.start <= selected.end
            && selected.start <= u.span.end
    });
    let of_names = unknown.flat_map(|u| name_fixes(session, &item.module, &u.name, u.span));
    of_names
        .chain(import_fix(session, item))
        .chain(bracket_fix(session, item, selected))
        .chain(power_fix(session, item, selected))
        .collect()
}

/// Returns the fix of an import of an unknown module to the closest library module.
fn import_fix(session: &Session, item: &ItemRef) -> Option<Action> {
    let parsed = session.tree(item).filter(|_| item.kind == ItemKind::Import)?;
    let Item::Import(import) = &parsed.tree.item else { return None };
    let library = LIBRARY.iter().map(|(name, _)| *name);
    let name = import.path.name.as_str();
    if import.is_file || library.clone().any(|known| known == name) {
        return None;
    }
    let near = nearest_name(name, library)?;
    let at = Location { module: item.module.clone(), span: import.path.span.shift(item.start) };
    let edit = Edit { at, text: near.clone() };
    let title = format!("Change `{name}` to `{near}`");
    Some(Action { preferred: true, ..Action::new(title, ActionKind::Fix, vec![edit]) })
}

/// Replaces `x ** 2` on the selected lines by `x^2`. Offered only if the item then has no syntax
/// error.
fn power_fix(session: &Session, item: &ItemRef, selected: Span) -> Option<Action> {
    let parsed = session.tree(item)?;
    if !parsed.diagnostics.iter().any(Diagnostic::is_error) {
        return None;
    }
    let tokens = lex(&item.text).tokens;
    let is_star = |t: &SpannedToken| t.token == Token::Sym(Sym::Star);
    let mut all: Vec<Span> = Vec::new();
    for (first, second) in tokens.iter().zip(tokens.iter().skip(1)) {
        if is_star(first) && is_star(second) && first.span.end == second.span.start {
            all.push(first.span.to(second.span));
        }
    }
    all.iter().find(|span| begins_on_selected_line(item, selected, **span))?;
    let mut mended = item.text.to_string();
    all.iter().rev().for_each(|span| mended.replace_range(span.range(), "^"));
    if parse_split(item.kind, &mended).diagnostics.iter().any(Diagnostic::is_error) {
        return None;
    }
    let edit = |span: &Span| {
        let at = Location { module: item.module.clone(), span: span.shift(item.start) };
        Edit { at, text: "^".to_owned() }
    };
    let title = "Replace `**` with `^`".to_owned();
    Some(Action { preferred: true, ..Action::new(title, ActionKind::Fix, all.iter().map(edit).collect()) })
}

/// Returns whether a span of an item begins on one of the selected lines.
fn begins_on_selected_line(item: &ItemRef, selected: Span, place: Span) -> bool {
    let begin = selected.start.saturating_sub(item.start) as usize;
    let end = selected.end.saturating_sub(item.start) as usize;
    let line = |at: usize| item.text.get(..at).map(|before| before.matches('\n').count());
    (line(begin)..=line(end)).contains(&line(place.start as usize))
}

/// The maximal number of places that are tried for a bracket.
const MAX_BRACKET_POSITIONS: usize = 64;

/// Fixes an unmatched bracket on the selected lines. An unclosed bracket is closed at the end of
/// its line, else at the end of its item, else at the first possible place. A bracket that closes
/// nothing is removed. Offered only if the item then has no syntax error.
fn bracket_fix(session: &Session, item: &ItemRef, selected: Span) -> Option<Action> {
    let parsed = session.tree(item)?;
    let lone = |d: &&Diagnostic| d.code == Code::E0002 && d.related.is_empty();
    let on_lines = |d: &&Diagnostic| begins_on_selected_line(item, selected, d.span);
    let span = parsed.diagnostics.iter().filter(lone).find(on_lines)?.span;
    let bracket = item.text.get(span.range())?;
    let close = match bracket {
        "(" => ")",
        "[" => "]",
        "{" => "}",
        _ => "",
    };
    let tokens = lex(&item.text).tokens;
    let line_end = item.text.get(span.end as usize..)?.find('\n').map_or(item.text.len(), |n| span.end as usize + n);
    let last_before = |end: usize| {
        let last = tokens.iter().map(|token| token.span.end).rfind(|at| (*at as usize) <= end)?;
        Some(Span::new(last, last))
    };
    let places = match close {
        "" => vec![span],
        _ => {
            let ends = tokens.iter().map(|token| token.span.end).filter(|at| *at >= span.end);
            let likely = [last_before(line_end), last_before(item.text.len())].into_iter().flatten();
            likely.chain(ends.map(|at| Span::new(at, at))).take(MAX_BRACKET_POSITIONS).collect::<Vec<_>>()
        }
    };
    let place = places.into_iter().find(|place| {
        let Some((before, after)) = item.text.get(..place.start as usize).zip(item.text.get(place.end as usize..))
        else {
            return false;
        };
        let mended = format!("{before}{close}{after}");
        !parse_split(item.kind, &mended).diagnostics.iter().any(Diagnostic::is_error)
    })?;
    let title = match close {
        "" => format!("Remove `{bracket}`"),
        _ => format!("Close `{bracket}` with `{close}`"),
    };
    let at = Location { module: item.module.clone(), span: place.shift(item.start) };
    let edit = Edit { at, text: close.to_owned() };
    Some(Action { preferred: true, ..Action::new(title, ActionKind::Fix, vec![edit]) })
}

fn name_fixes(session: &Session, module: &str, name: &str, span: Span) -> Vec<Action> {
    let at = Location { module: module.into(), span };
    let fix = |title: String, text: Option<&str>, more: &[Edit]| {
        let own = text.map(|text| Edit { at: at.clone(), text: text.to_owned() });
        Action::new(title, ActionKind::Fix, own.into_iter().chain(more.iter().cloned()).collect())
    };
    // Candidates with exactly this name, elsewhere.
    let same = |c: &Completion| c.label == name && (!c.edits.is_empty() || c.insert != c.label) && !c.is_snippet;
    let offered = complete(session, module, span.end).items;
    let mut all: Vec<Action> = Vec::new();
    for c in offered.iter().filter(|c| same(c)) {
        all.push(match c.kind {
            CompletionKind::Module => fix(format!("Import `{}`", c.insert), None, &c.edits),
            _ => fix(format!("Use `{}`", c.insert), Some(&c.insert), &c.edits),
        });
    }
    let exact = all.len();
    // The equivalent of a name from another language.
    let is_type = session.item_at(module, span.start).and_then(|item| {
        let own = span.start.checked_sub(item.start)?;
        Some(session.tree(&item)?.tree.types.iter().any(|(_, node)| node.span.start <= own && own < node.span.end))
    });
    let habit = one_word_replacement(name, is_type == Some(true)).filter(|_| exact == 0);
    all.extend(habit.map(|word| fix(format!("Change `{name}` to `{word}`"), Some(word), &[])));
    let meant = |c: &Completion| {
        let is_name = !matches!(c.kind, CompletionKind::Keyword | CompletionKind::Form | CompletionKind::Symbol);
        is_name && !c.is_snippet && c.edits.is_empty() && c.insert == c.label && c.label != name
    };
    let known = complete(session, module, span.start).items;
    let mut candidates: Vec<&str> = known.iter().filter(|c| meant(c)).map(|c| c.label.as_str()).collect();
    let own = session.view().value_names(&module.into());
    // Completion returns only a part of a large module.
    if known.iter().any(|c| own.iter().any(|name| *name == *c.label)) {
        candidates.extend(own.iter().map(|name| name.as_str()));
    }
    // In a text that does not parse, a word of the language may be in a place where it means
    // nothing.
    let known = !vocabulary::describe(name).is_empty();
    if let Some(near) = nearest_name(name, candidates).filter(|_| !known && habit.is_none()) {
        all.push(fix(format!("Change `{name}` to `{near}`"), Some(&near), &[]));
    }
    // An exact match is likelier than a similar name. The first fix is preferred only if at most
    // one exact match exists.
    if let Some(first) = all.first_mut() {
        first.preferred = exact <= 1;
    }
    all
}
