//! **Symbol requests** for a document and for the workspace.

use lang_ide::symbols::{ModuleSymbol, SymbolKind, document_symbols, workspace_symbols};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{self as lsp, DocumentSymbol, DocumentSymbolResponse, SymbolInformation, Url};

use super::locations;
use crate::snapshot::{ModuleText, RequestContext};

/// Returns the symbols of a document.
pub(crate) fn symbols_of_document(context: &RequestContext<'_>, url: &Url) -> Result<Option<DocumentSymbolResponse>> {
    let text = context.document(url)?;
    let found = document_symbols(context.session, &text.module);
    if context.abilities.nested_symbols {
        return Ok(Some(DocumentSymbolResponse::Nested(found.into_iter().map(|s| to_nested(&text, s)).collect())));
    }
    let mut flat = Vec::new();
    found.iter().for_each(|s| flatten(&text, url, s, None, &mut flat));
    Ok(Some(DocumentSymbolResponse::Flat(flat)))
}

fn to_nested(text: &ModuleText, symbol: ModuleSymbol) -> DocumentSymbol {
    let children: Vec<_> = symbol.children.into_iter().map(|child| to_nested(text, child)).collect();
    #[allow(deprecated, reason = "the type has the field")]
    DocumentSymbol {
        name: nonempty_name(&symbol.name),
        detail: Some(symbol.detail).filter(|detail| !detail.is_empty()),
        kind: to_protocol_kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: text.range(symbol.span),
        selection_range: text.range(symbol.selection),
        children: (!children.is_empty()).then_some(children),
    }
}

fn flatten(
    text: &ModuleText,
    url: &Url,
    symbol: &ModuleSymbol,
    within: Option<&str>,
    flat: &mut Vec<SymbolInformation>,
) {
    let location = lsp::Location { uri: url.clone(), range: text.range(symbol.span) };
    flat.push(information(&symbol.name, symbol.kind, location, within));
    symbol.children.iter().for_each(|child| flatten(text, url, child, Some(&symbol.name), flat));
}

fn information(name: &str, of: SymbolKind, location: lsp::Location, within: Option<&str>) -> SymbolInformation {
    #[allow(deprecated, reason = "the type has the field")]
    SymbolInformation {
        name: nonempty_name(name),
        kind: to_protocol_kind(of),
        tags: None,
        deprecated: None,
        location,
        container_name: within.map(str::to_owned),
    }
}

/// Replaces an empty name, which the protocol does not allow.
fn nonempty_name(name: &str) -> String {
    if name.is_empty() { "_".to_owned() } else { name.to_owned() }
}

/// Returns the symbols of all modules that match a query.
pub(crate) fn symbols_of_workspace(
    context: &RequestContext<'_>,
    query: &str,
) -> Result<Option<Vec<SymbolInformation>>> {
    let found = workspace_symbols(context.session, query).into_iter();
    let one = |s: lang_ide::symbols::WorkspaceSymbol| {
        let module = s.location.module.rsplit('/').next().unwrap_or_default().to_owned();
        let within = s.container.as_deref().map_or(module, str::to_owned);
        let location = locations(context, vec![s.location]).pop()?;
        Some(information(&s.name, s.kind, location, Some(&within)))
    };
    Ok(Some(found.filter_map(one).collect()))
}

/// Converts the kind of a symbol.
pub(crate) fn to_protocol_kind(kind: SymbolKind) -> lsp::SymbolKind {
    match kind {
        SymbolKind::Function => lsp::SymbolKind::FUNCTION,
        SymbolKind::Value => lsp::SymbolKind::CONSTANT,
        SymbolKind::Type => lsp::SymbolKind::CLASS,
        SymbolKind::Constructor => lsp::SymbolKind::ENUM_MEMBER,
        SymbolKind::Field => lsp::SymbolKind::FIELD,
        SymbolKind::Rule => lsp::SymbolKind::METHOD,
        SymbolKind::Module => lsp::SymbolKind::MODULE,
    }
}
