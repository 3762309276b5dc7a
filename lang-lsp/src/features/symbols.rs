//! **Symbol requests** for a document and for the workspace.

use lang_ide::symbols::{Symbol, SymbolKind, document_symbols, workspace_symbols};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{self as lsp, DocumentSymbol, DocumentSymbolResponse, SymbolInformation, Url};

use super::locations;
use crate::world::{Seen, Text};

/// Returns the symbols of a document.
pub(crate) fn of_document(seen: &Seen<'_>, url: &Url) -> Result<Option<DocumentSymbolResponse>> {
    let text = seen.document(url)?;
    let found = document_symbols(seen.session, &text.module);
    if seen.abilities.nested_symbols {
        return Ok(Some(DocumentSymbolResponse::Nested(found.into_iter().map(|s| nested(&text, s)).collect())));
    }
    let mut flat = Vec::new();
    found.iter().for_each(|s| flatten(&text, url, s, None, &mut flat));
    Ok(Some(DocumentSymbolResponse::Flat(flat)))
}

fn nested(text: &Text, symbol: Symbol) -> DocumentSymbol {
    let children: Vec<_> = symbol.children.into_iter().map(|child| nested(text, child)).collect();
    #[allow(deprecated, reason = "the type has the field")]
    DocumentSymbol {
        name: named(&symbol.name),
        detail: Some(symbol.detail).filter(|detail| !detail.is_empty()),
        kind: kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: text.range(symbol.span),
        selection_range: text.range(symbol.selection),
        children: (!children.is_empty()).then_some(children),
    }
}

fn flatten(text: &Text, url: &Url, symbol: &Symbol, within: Option<&str>, flat: &mut Vec<SymbolInformation>) {
    let location = lsp::Location { uri: url.clone(), range: text.range(symbol.span) };
    flat.push(information(&symbol.name, symbol.kind, location, within));
    symbol.children.iter().for_each(|child| flatten(text, url, child, Some(&symbol.name), flat));
}

fn information(name: &str, of: SymbolKind, location: lsp::Location, within: Option<&str>) -> SymbolInformation {
    #[allow(deprecated, reason = "the type has the field")]
    SymbolInformation {
        name: named(name),
        kind: kind(of),
        tags: None,
        deprecated: None,
        location,
        container_name: within.map(str::to_owned),
    }
}

/// Replaces an empty name, which the protocol does not allow.
fn named(name: &str) -> String {
    if name.is_empty() { "_".to_owned() } else { name.to_owned() }
}

/// Returns the symbols of all modules that match a query.
pub(crate) fn of_workspace(seen: &Seen<'_>, query: &str) -> Result<Option<Vec<SymbolInformation>>> {
    let found = workspace_symbols(seen.session, query).into_iter();
    let one = |s: lang_ide::symbols::WorkspaceSymbol| {
        let module = s.location.module.rsplit('/').next().unwrap_or_default().to_owned();
        let within = s.container.as_deref().map_or(module, str::to_owned);
        let location = locations(seen, vec![s.location]).pop()?;
        Some(information(&s.name, s.kind, location, Some(&within)))
    };
    Ok(Some(found.filter_map(one).collect()))
}

/// Converts the kind of a symbol.
pub(crate) fn kind(kind: SymbolKind) -> lsp::SymbolKind {
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
