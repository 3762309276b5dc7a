//! **Completion and signature help requests.** Converts the results of `lang_ide::completion` and
//! `lang_ide::signature`.

use lang_ide::completion::{Completion, CompletionKind, complete, is_derivative_operand};
use lang_ide::name_docs::DocumentedName;
use lang_ide::signature::signature_help;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionResponse, CompletionTextEdit, Documentation,
    InsertTextFormat, MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp,
    SignatureInformation, TextDocumentPositionParams, TextEdit,
};

use super::text_edits;
use crate::lines::clamp;
use crate::snapshot::{ModuleText, RequestContext};

/// Returns the completion candidates. `bracket` is set if an opened bracket triggered the request.
pub(crate) fn completion(
    context: &RequestContext<'_>,
    at: &TextDocumentPositionParams,
    bracket: bool,
) -> Result<Option<CompletionResponse>> {
    let text = context.document(&at.text_document.uri)?;
    if bracket && !is_derivative_operand(context.session, &text.module, text.offset(at.position)) {
        return Ok(None);
    }
    let found = complete(context.session, &text.module, text.offset(at.position));
    let range = text.range(found.replaced_span);
    let one = |completion: Completion| {
        let new_text = match completion.is_snippet && !context.abilities.snippets {
            true => without_placeholders(&completion.insert),
            false => completion.insert.clone(),
        };
        let template = completion.is_snippet && context.abilities.snippets;
        to_protocol(&text, completion, TextEdit { range, new_text }, template)
    };
    let items = found.items.into_iter().map(one).collect();
    Ok(Some(CompletionResponse::List(CompletionList { is_incomplete: found.incomplete, items })))
}

fn to_protocol(text: &ModuleText, completion: Completion, edit: TextEdit, template: bool) -> CompletionItem {
    CompletionItem {
        sort_text: Some(format!("{:04} {}", completion.rank, completion.label)),
        kind: Some(to_protocol_kind(completion.kind)),
        detail: Some(completion.detail).filter(|detail| !detail.is_empty()),
        insert_text_format: template.then_some(InsertTextFormat::SNIPPET),
        text_edit: Some(CompletionTextEdit::Edit(edit)),
        additional_text_edits: (!completion.edits.is_empty()).then(|| text_edits(text, completion.edits)),
        data: completion.subject.map(|subject| Value::String(subject.key())),
        label: completion.label,
        ..CompletionItem::default()
    }
}

fn to_protocol_kind(kind: CompletionKind) -> CompletionItemKind {
    match kind {
        CompletionKind::Local(_) => CompletionItemKind::VARIABLE,
        CompletionKind::Function => CompletionItemKind::FUNCTION,
        CompletionKind::Value => CompletionItemKind::CONSTANT,
        CompletionKind::Type => CompletionItemKind::CLASS,
        CompletionKind::TypeParameter => CompletionItemKind::TYPE_PARAMETER,
        CompletionKind::Constructor => CompletionItemKind::ENUM_MEMBER,
        CompletionKind::Module => CompletionItemKind::MODULE,
        CompletionKind::Field => CompletionItemKind::FIELD,
        CompletionKind::Argument => CompletionItemKind::PROPERTY,
        CompletionKind::Keyword => CompletionItemKind::KEYWORD,
        CompletionKind::Form => CompletionItemKind::SNIPPET,
        CompletionKind::Symbol | CompletionKind::Text => CompletionItemKind::TEXT,
    }
}

/// Replaces the placeholders of a snippet by their default texts.
fn without_placeholders(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, place)) = rest.split_once('$') {
        text.push_str(before);
        rest = place.trim_start_matches(|c: char| c.is_ascii_digit());
        if let Some((content, behind)) = place.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            text.push_str(content.split_once(':').map_or("", |(_, said)| said));
            rest = behind;
        }
    }
    text + rest
}

/// Adds the documentation of a candidate.
pub(crate) fn resolve(context: &RequestContext<'_>, mut item: CompletionItem) -> Result<CompletionItem> {
    let subject = item.data.as_ref().and_then(Value::as_str).and_then(DocumentedName::from_key);
    if let Some(said) = subject.and_then(|subject| subject.docs(context.session)) {
        let code = Some(said.signature).filter(|code| !code.is_empty());
        let parts = code.map(|code| format!("```iverson\n{code}\n```")).into_iter().chain([said.docs]);
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        item.documentation = Some(markdown(parts.join("\n\n")));
    }
    Ok(item)
}

fn markdown(value: String) -> Documentation {
    Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })
}

/// Returns the signatures of the call at a position, with the active parameter.
pub(crate) fn signatures(
    context: &RequestContext<'_>,
    at: &TextDocumentPositionParams,
) -> Result<Option<SignatureHelp>> {
    let text = context.document(&at.text_document.uri)?;
    let found = signature_help(context.session, &text.module, text.offset(at.position));
    if found.is_empty() {
        return Ok(None);
    }
    let one = |help: lang_ide::signature::SignatureHelp| {
        // Offsets in a label are UTF-16 code units, regardless of the negotiated position encoding.
        let place = |byte: u32| {
            let before = help.label.get(..byte as usize).unwrap_or_default();
            clamp(before.encode_utf16().count())
        };
        let parameter = |span: &lang_ide::Span| ParameterInformation {
            label: ParameterLabel::LabelOffsets([place(span.start), place(span.end)]),
            documentation: None,
        };
        let parameters: Vec<_> = help.parameters.iter().map(parameter).collect();
        // An index after the last parameter means that none is active.
        let active = clamp(help.active.unwrap_or(parameters.len()));
        SignatureInformation {
            parameters: Some(parameters),
            active_parameter: Some(active),
            documentation: (!help.docs.is_empty()).then(|| markdown(help.docs)),
            label: help.label,
        }
    };
    let signatures: Vec<_> = found.into_iter().map(one).collect();
    let active_parameter = signatures.first().and_then(|s| s.active_parameter);
    Ok(Some(SignatureHelp { signatures, active_signature: Some(0), active_parameter }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_for_clients_without_them() {
        assert_eq!(without_placeholders("sum ${1:i} < ${2:n}: $0"), "sum i < n: ");
        assert_eq!(without_placeholders("f($1)"), "f()");
        assert_eq!(without_placeholders("no places"), "no places");
    }
}
