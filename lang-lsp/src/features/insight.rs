//! What is told of the code beside it: hovers, hints, lenses, views, and changes that are offered.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::PoisonError;

use lang_ide::Code;
use lang_ide::actions::{ActionKind, actions};
use lang_ide::hints::{Hint, HintKind, Wanted, hints};
use lang_ide::hover::{Depth, hover as told_at};
use lang_ide::lenses::{Lens, cost_title, lenses};
use lang_ide::views::{STAGES, view as view_of};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeLens, Command, Diagnostic, Hover,
    HoverContents, InlayHint, InlayHintKind, InlayHintLabel, MarkupContent, MarkupKind, NumberOrString, Position,
    Range, TextDocumentPositionParams, TextEdit, Url, WorkspaceEdit,
};

use super::text_edits;
use crate::commands::{EVALUATE, RUN, SHOW_VIEW};
use crate::evaluate;
use crate::lines::clamp;
use crate::world::{Seen, Text, failed};

/// The scheme of views as documents: `iverson-view:/<def>.<stage>.iv?<the source's URI>`.
pub(crate) const VIEW_SCHEME: &str = "iverson-view";

/// What is told of a place.
pub(crate) fn hover(seen: &Seen<'_>, at: &TextDocumentPositionParams, depth: Depth) -> Result<Option<Hover>> {
    let text = seen.document(&at.text_document.uri)?;
    let Some(told) = told_at(seen.session, &text.module, text.offset(at.position), depth) else { return Ok(None) };
    let (kind, value) = match seen.abilities.markdown {
        true => (MarkupKind::Markdown, told.markdown(seen.abilities.tables)),
        false => (MarkupKind::PlainText, told.plain()),
    };
    let contents = HoverContents::Markup(MarkupContent { kind, value });
    Ok(Some(Hover { contents, range: Some(text.range(told.span)) }))
}

/// The hints of a range. Costs are those that are known; when more are, the client is told to ask again.
pub(crate) fn inlay_hints(seen: &Seen<'_>, url: &Url, range: Range) -> Result<Option<Vec<InlayHint>>> {
    let text = seen.document(url)?;
    let chosen = seen.settings.hints;
    let wanted = Wanted { extents: chosen.extents, sizes: chosen.sizes, types: chosen.types, cost: false };
    let span = text.span(range);
    let mut all = hints(seen.session, &text.module, span, wanted);
    if chosen.cost {
        let checker = seen.checker.lock().unwrap_or_else(PoisonError::into_inner);
        let known = checker.cost_hints(seen.session, &text.module, chosen.change);
        // Without what they were before, those that changed read otherwise.
        let plain = checker.cost_hints(seen.session, &text.module, false);
        let shown = known.into_iter().zip(plain).filter(|(hint, plain)| chosen.every_cost || hint.text != plain.text);
        all.extend(shown.map(|(hint, _)| hint).filter(|hint| span.touches(hint.at)));
    }
    Ok(Some(all.into_iter().map(|hint| inlay_hint(&text, hint)).collect()))
}

fn inlay_hint(text: &Text, hint: Hint) -> InlayHint {
    let position = text.position(hint.at);
    let edit = TextEdit { range: Range { start: position, end: position }, new_text: hint.text.clone() };
    InlayHint {
        position,
        label: InlayHintLabel::String(hint.text),
        kind: matches!(hint.kind, HintKind::Type | HintKind::Size).then_some(InlayHintKind::TYPE),
        text_edits: hint.insert.then(|| vec![edit]),
        tooltip: None,
        padding_left: (hint.kind == HintKind::Cost).then_some(true),
        padding_right: None,
        data: None,
    }
}

/// The lenses of a document: of its definitions, and of its comments `-- >>> expr`. That of costs gets its title when it
/// is seen.
pub(crate) fn code_lenses(seen: &Seen<'_>, url: &Url) -> Result<Option<Vec<CodeLens>>> {
    let text = seen.document(url)?;
    let chosen = seen.settings.lenses;
    let found = lenses(seen.session, &text.module).into_iter().filter(|at| match at.lens {
        Lens::Cost => chosen.cost,
        Lens::Run => chosen.run,
        Lens::View(_) => chosen.views,
    });
    let one = |at: lang_ide::lenses::LensAt| {
        let (def, range) = (at.def.as_str(), text.range(at.span));
        match at.lens {
            Lens::Cost => CodeLens { range, command: None, data: Some(json!({"uri": url, "def": def})) },
            Lens::Run => lens(range, "run", RUN, vec![json!(url), json!(def)]),
            Lens::View(stage) => lens(range, title(stage), SHOW_VIEW, vec![json!(url), json!(def), json!(stage)]),
        }
    };
    let comments = text.text.lines().enumerate().filter(|(_, line)| chosen.run && evaluate::asked(line).is_some());
    let evaluates = comments.map(|(line, _)| {
        let at = Position { line: clamp(line), character: 0 };
        lens(Range { start: at, end: at }, "evaluate", EVALUATE, vec![json!(url), json!(line)])
    });
    Ok(Some(found.map(one).chain(evaluates).collect()))
}

/// What the lens of a view is called.
fn title(stage: &str) -> &str {
    if stage == "ssa" { "SSA" } else { stage }
}

fn lens(range: Range, title: &str, command: &str, arguments: Vec<Value>) -> CodeLens {
    let command = Command { title: title.to_owned(), command: command.to_owned(), arguments: Some(arguments) };
    CodeLens { range, command: Some(command), data: None }
}

/// The document and the definition that a lens of costs is of.
pub(crate) fn lens_of(data: Option<&Value>) -> Option<(Url, String)> {
    let data = data?;
    let url = data.get("uri")?.as_str().and_then(|url| Url::parse(url).ok())?;
    Some((url, data.get("def")?.as_str()?.to_owned()))
}

/// What a lens of costs says.
pub(crate) fn resolve_lens(seen: &Seen<'_>, range: Range, url: &Url, def: &str) -> Result<CodeLens> {
    let text = seen.document(url)?;
    let said = cost_title(seen.session, &text.module, def).filter(|said| !said.is_empty());
    let said = said.unwrap_or_else(|| "cost unknown".to_owned());
    Ok(lens(range, &said, SHOW_VIEW, vec![json!(url), json!(def), json!("cost")]))
}

/// What can be done with what is selected.
pub(crate) fn code_actions(seen: &Seen<'_>, params: &CodeActionParams) -> Result<Option<Vec<CodeActionOrCommand>>> {
    let text = seen.document(&params.text_document.uri)?;
    if !seen.abilities.action_literals {
        return Ok(None);
    }
    let only = params.context.only.as_deref();
    let asked = |kind: &CodeActionKind| {
        let within = |wanted: &CodeActionKind| kind.as_str().starts_with(wanted.as_str());
        only.is_none_or(|only| only.iter().any(within))
    };
    // A fix belongs to what is wrong at its place.
    let wrong = |at: Range| {
        let there = params.context.diagnostics.iter().filter(|d| d.range.start <= at.end && at.start <= d.range.end);
        Some(there.cloned().collect::<Vec<_>>()).filter(|all| !all.is_empty())
    };
    let mut all = Vec::new();
    if asked(&CodeActionKind::QUICKFIX) {
        all.extend(
            params.context.diagnostics.iter().flat_map(|d| explained(seen, &text, &params.text_document.uri, d)),
        );
    }
    for action in actions(seen.session, &text.module, text.span(params.range)) {
        let kind = match action.kind {
            ActionKind::Fix => CodeActionKind::QUICKFIX,
            ActionKind::Source => CodeActionKind::REFACTOR,
            ActionKind::Rewrite => CodeActionKind::REFACTOR_REWRITE,
            ActionKind::Extract => CodeActionKind::REFACTOR_EXTRACT,
        };
        let changes = HashMap::from([(params.text_document.uri.clone(), text_edits(&text, action.edits))]);
        let edit = Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() });
        if asked(&kind) {
            let diagnostics = if kind == CodeActionKind::QUICKFIX { wrong(params.range) } else { None };
            let is_preferred = action.preferred.then_some(true);
            let (title, kind) = (action.title, Some(kind));
            let action = CodeAction { title, kind, edit, diagnostics, is_preferred, ..CodeAction::default() };
            all.push(CodeActionOrCommand::CodeAction(action));
        }
    }
    Ok(Some(all))
}

/// Of an adjoint that costs ever more than its function: what shows why.
fn explained(seen: &Seen<'_>, text: &Text, url: &Url, wrong: &Diagnostic) -> Vec<CodeActionOrCommand> {
    if wrong.code != Some(NumberOrString::String(Code::W0700.name().to_owned())) {
        return Vec::new();
    }
    let Some(item) = seen.session.item_at(&text.module, text.offset(wrong.range.start)) else { return Vec::new() };
    let show = |(what, stage): (&str, &str)| {
        let title = format!("Show {what} of `{}`", item.name);
        let arguments = Some(vec![json!(url), json!(item.name.as_str()), json!(stage)]);
        let command = Some(Command { title: title.clone(), command: SHOW_VIEW.to_owned(), arguments });
        let (kind, diagnostics) = (Some(CodeActionKind::QUICKFIX), Some(vec![wrong.clone()]));
        CodeActionOrCommand::CodeAction(CodeAction { title, kind, command, diagnostics, ..CodeAction::default() })
    };
    [("the adjoint", "adjoint"), ("the costs", "cost")].map(show).into()
}

/// A view as our extensions have it.
pub(crate) fn view(seen: &Seen<'_>, url: &Url, def: &str, stage: &str) -> Result<Value> {
    let text = seen.document(url)?;
    let Some((_, stage)) = STAGES.iter().find(|(name, _)| *name == stage) else {
        return Err(failed(format!("there is no view `{stage}`")));
    };
    let view = view_of(seen.session, &text.module, def, *stage).map_err(failed)?;
    let lines = view.lines.iter().map(|(line, spans)| {
        let origins: Vec<Range> = spans.iter().map(|span| text.range(*span)).collect();
        json!({"line": line, "origins": origins})
    });
    let lines: Vec<Value> = lines.collect();
    let language = if view.is_program { "iverson" } else { "iverson-form" };
    let mut answer = json!({"text": view.text, "language": language, "lines": lines});
    if let (Some(note), Some(answer)) = (view.note, answer.as_object_mut()) {
        answer.insert("note".to_owned(), Value::String(note));
    }
    Ok(answer)
}

/// The document of a view.
pub(crate) fn view_url(source: &Url, def: &str, stage: &str) -> Option<Url> {
    let mut url = Url::from_str(&format!("{VIEW_SCHEME}:/")).ok()?;
    url.set_path(&format!("/{def}.{stage}.iv"));
    url.set_query(Some(&percent_encoded(source.as_str())));
    Some(url)
}

/// What the document of a view is a view of: source, definition and stage.
pub(crate) fn viewed(url: &Url) -> Option<(Url, String, String)> {
    if url.scheme() != VIEW_SCHEME {
        return None;
    }
    let path = percent_decoded(url.path());
    let (def, stage) = path.trim_start_matches('/').strip_suffix(".iv")?.rsplit_once('.')?;
    let source = Url::parse(&percent_decoded(url.query()?)).ok()?;
    Some((source, def.to_owned(), stage.to_owned()))
}

fn percent_encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let code = more.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = more.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_views() {
        let source = Url::parse("file:///a/b%20c.iv").unwrap();
        let url = view_url(&source, "μ_1", "adjoint").unwrap();
        assert!(url.as_str().ends_with(".adjoint.iv?file%3A%2F%2F%2Fa%2Fb%2520c.iv"), "{url}");
        assert_eq!(viewed(&url), Some((source, "μ_1".to_owned(), "adjoint".to_owned())));
        assert_eq!(viewed(&Url::parse("file:///a.adjoint.iv?x").unwrap()), None);
    }
}
