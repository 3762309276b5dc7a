//! **Rename requests.** Answers `textDocument/prepareRename` and `textDocument/rename` for
//! `server`. `lang_ide::rename` finds the edits in all modules; this module converts them to the
//! protocol.

use std::collections::BTreeMap;

use lang_ide::rename::{prepare_rename, rename as rename_edits};
use lang_ide::{Edit, ModuleName};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, PrepareRenameResponse, TextDocumentEdit,
    TextDocumentPositionParams, WorkspaceEdit,
};

use super::text_edits;
use crate::snapshot::{RequestContext, request_failed};

/// Returns the range and the current name of the symbol to be renamed.
pub(crate) fn prepare(
    context: &RequestContext<'_>,
    at: &TextDocumentPositionParams,
) -> Result<Option<PrepareRenameResponse>> {
    let text = context.document(&at.text_document.uri)?;
    let (span, name) =
        prepare_rename(context.session, &text.module, text.offset(at.position)).map_err(request_failed)?;
    let range = text.range(span);
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder: name.to_string() }))
}

/// Returns the edits of the rename.
pub(crate) fn rename(
    context: &RequestContext<'_>,
    at: &TextDocumentPositionParams,
    new: &str,
) -> Result<Option<WorkspaceEdit>> {
    let text = context.document(&at.text_document.uri)?;
    let edits = rename_edits(context.session, &text.module, text.offset(at.position), new).map_err(request_failed)?;
    Ok(Some(workspace_edit(context, edits)))
}

/// Converts edits of several modules to the protocol. If the client supports versioned edits, each
/// document has its version.
fn workspace_edit(context: &RequestContext<'_>, edits: Vec<Edit>) -> WorkspaceEdit {
    let mut by_module: BTreeMap<ModuleName, Vec<Edit>> = BTreeMap::new();
    for edit in edits {
        by_module.entry(edit.at.module.clone()).or_default().push(edit);
    }
    let changed = by_module.into_iter().filter_map(|(module, edits)| {
        let version = context.documents.of_module(&module).map(|d| d.version);
        Some((context.url(&module)?, version, text_edits(&context.text(&module)?, edits)))
    });
    if !context.abilities.document_changes {
        let changes = changed.map(|(url, _, edits)| (url, edits)).collect();
        return WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() };
    }
    let one = |(uri, version, edits): (_, _, Vec<_>)| TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri, version },
        edits: edits.into_iter().map(OneOf::Left).collect(),
    };
    let changes = DocumentChanges::Edits(changed.map(one).collect());
    WorkspaceEdit { document_changes: Some(changes), ..WorkspaceEdit::default() }
}
