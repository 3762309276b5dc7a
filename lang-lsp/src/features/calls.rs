//! **Call hierarchy requests.** Converts the results of `lang_ide::calls`.

use lang_ide::calls::{CallItem, CallSites, incoming as callers, outgoing as called, prepare_calls};
use lang_ide::costs::abbreviate_formula;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall, Range, SymbolKind,
    TextDocumentPositionParams,
};

use crate::snapshot::{ModuleText, RequestContext};

/// Returns the definition at a position.
pub(crate) fn prepare(
    context: &RequestContext<'_>,
    at: &TextDocumentPositionParams,
) -> Result<Option<Vec<CallHierarchyItem>>> {
    let text = context.document(&at.text_document.uri)?;
    let found = prepare_calls(context.session, &text.module, text.offset(at.position));
    Ok(found.and_then(|found| to_protocol(context, &found)).map(|item| vec![item]))
}

fn to_protocol(context: &RequestContext<'_>, of: &CallItem) -> Option<CallHierarchyItem> {
    let text = context.text(&of.location.module)?;
    Some(CallHierarchyItem {
        name: of.name.to_string(),
        kind: SymbolKind::FUNCTION,
        tags: None,
        detail: Some(of.detail.clone()),
        uri: context.url(&of.location.module)?,
        range: text.range(of.location.span),
        selection_range: text.range(of.selection),
        data: None,
    })
}

/// Prefixes the item's detail with the share of the caller's work that the calls cost.
fn with_work(mut item: CallHierarchyItem, calls: &CallSites) -> CallHierarchyItem {
    if let Some(work) = &calls.work {
        let is = item.detail.unwrap_or_default();
        item.detail = Some(format!("work here {} · {is}", abbreviate_formula(work)));
    }
    item
}

/// Finds the item that the client sent back.
fn find_item(context: &RequestContext<'_>, item: &CallHierarchyItem) -> Result<Option<CallItem>> {
    let text = context.document(&item.uri)?;
    Ok(prepare_calls(context.session, &text.module, text.offset(item.selection_range.start)))
}

fn ranges(text: &ModuleText, calls: &CallSites) -> Vec<Range> {
    calls.spans.iter().map(|span| text.range(*span)).collect()
}

/// Returns the callers.
pub(crate) fn incoming(
    context: &RequestContext<'_>,
    of: &CallHierarchyItem,
) -> Result<Option<Vec<CallHierarchyIncomingCall>>> {
    let Some(of) = find_item(context, of)? else { return Ok(None) };
    let one = |calls: CallSites| {
        let text = context.text(&calls.item.location.module)?;
        Some(CallHierarchyIncomingCall {
            from: with_work(to_protocol(context, &calls.item)?, &calls),
            from_ranges: ranges(&text, &calls),
        })
    };
    Ok(Some(callers(context.session, &of).into_iter().filter_map(one).collect()))
}

/// Returns the callees.
pub(crate) fn outgoing(
    context: &RequestContext<'_>,
    of: &CallHierarchyItem,
) -> Result<Option<Vec<CallHierarchyOutgoingCall>>> {
    let Some(of) = find_item(context, of)? else { return Ok(None) };
    let Some(text) = context.text(&of.location.module) else { return Ok(None) };
    let one = |calls: CallSites| {
        Some(CallHierarchyOutgoingCall {
            to: with_work(to_protocol(context, &calls.item)?, &calls),
            from_ranges: ranges(&text, &calls),
        })
    };
    Ok(Some(called(context.session, &of).into_iter().filter_map(one).collect()))
}
