//! **Formatting, folding and selection range requests.** Converts the results of `lang-ide`.

use lang_ide::folding::{FoldKind, folds};
use lang_ide::format::{format_module, format_range};
use lang_ide::selection::selection;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{FoldingRange, FoldingRangeKind, Position, Range, SelectionRange, TextEdit, Url};

use super::text_edits;
use crate::snapshot::RequestContext;

/// Returns the edits that format a document. Items that do not parse stay unchanged, and the
/// diagnostics explain why.
pub(crate) fn formatting(context: &RequestContext<'_>, url: &Url) -> Result<Option<Vec<TextEdit>>> {
    let text = context.document(url)?;
    Ok(Some(text_edits(&text, format_module(context.session, &text.module))))
}

/// Returns the edits that format the items in a range.
pub(crate) fn range_formatting(context: &RequestContext<'_>, url: &Url, range: Range) -> Result<Option<Vec<TextEdit>>> {
    let text = context.document(url)?;
    Ok(Some(text_edits(&text, format_range(context.session, &text.module, text.span(range)))))
}

/// Returns the folding ranges.
pub(crate) fn folding(context: &RequestContext<'_>, url: &Url) -> Result<Option<Vec<FoldingRange>>> {
    let text = context.document(url)?;
    let fold = |fold: lang_ide::folding::FoldRange| {
        let Range { start, end } = text.range(fold.span);
        FoldingRange {
            start_line: start.line,
            end_line: end.line,
            kind: match fold.kind {
                FoldKind::Code => None,
                FoldKind::Comment => Some(FoldingRangeKind::Comment),
                FoldKind::Imports => Some(FoldingRangeKind::Imports),
            },
            ..FoldingRange::default()
        }
    };
    let found = folds(context.session, &text.module).into_iter().map(fold);
    Ok(Some(found.filter(|fold| fold.start_line < fold.end_line).collect()))
}

/// Returns the selection ranges around each position, smallest first.
pub(crate) fn selections(
    context: &RequestContext<'_>,
    url: &Url,
    places: &[Position],
) -> Result<Option<Vec<SelectionRange>>> {
    let text = context.document(url)?;
    let around = |place: &Position| {
        let spans = selection(context.session, &text.module, text.offset(*place));
        let outer = |parent: Option<SelectionRange>, span: &lang_ide::Span| {
            Some(SelectionRange { range: text.range(*span), parent: parent.map(Box::new) })
        };
        let nothing = SelectionRange { range: Range { start: *place, end: *place }, parent: None };
        spans.iter().rev().fold(None, outer).unwrap_or(nothing)
    };
    Ok(Some(places.iter().map(around).collect()))
}
