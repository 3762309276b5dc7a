//! **Navigation requests**: definition, declaration, implementation, type, references and
//! highlights.

use lang_ide::highlight::highlights;
use lang_ide::{Location, Session, definition, references};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    self as lsp, DocumentHighlight, DocumentHighlightKind, GotoDefinitionResponse, TextDocumentPositionParams,
};

use super::locations;
use crate::snapshot::RequestContext;

/// A query for locations related to the name at an offset.
type LocationQuery = fn(&Session, &str, u32) -> Vec<Location>;

/// The kind of location that a request wants.
#[derive(Clone, Copy)]
pub(crate) enum NavigationTarget {
    Definition,
    Declaration,
    Implementation,
    Type,
}

/// Returns the requested locations.
pub(crate) fn go_to(
    context: &RequestContext<'_>,
    at: &TextDocumentPositionParams,
    target: NavigationTarget,
) -> Result<Option<GotoDefinitionResponse>> {
    let find: LocationQuery = match target {
        NavigationTarget::Definition => definition::definition,
        NavigationTarget::Declaration => definition::declaration,
        NavigationTarget::Implementation => definition::implementation,
        NavigationTarget::Type => definition::type_definition,
    };
    let text = context.document(&at.text_document.uri)?;
    let found = find(context.session, &text.module, text.offset(at.position));
    Ok(Some(GotoDefinitionResponse::Array(locations(context, found))))
}

/// Returns the references of a name.
pub(crate) fn find_references(
    context: &RequestContext<'_>,
    at: &TextDocumentPositionParams,
    declaration: bool,
) -> Result<Option<Vec<lsp::Location>>> {
    let text = context.document(&at.text_document.uri)?;
    let found = references::references(context.session, &text.module, text.offset(at.position), declaration);
    Ok(Some(locations(context, found)))
}

/// Returns the occurrences of a name in the document.
pub(crate) fn highlight(
    context: &RequestContext<'_>,
    at: &TextDocumentPositionParams,
) -> Result<Option<Vec<DocumentHighlight>>> {
    let text = context.document(&at.text_document.uri)?;
    let found = highlights(context.session, &text.module, text.offset(at.position));
    let one = |h: lang_ide::highlight::Highlight| {
        let kind = if h.write { DocumentHighlightKind::WRITE } else { DocumentHighlightKind::READ };
        DocumentHighlight { range: text.range(h.span), kind: Some(kind) }
    };
    Ok(Some(found.into_iter().map(one).collect()))
}
