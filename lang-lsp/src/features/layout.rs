//! The layout of a text: formatting, folding, what is selected around a place.

use lang_ide::folding::{FoldKind, folds};
use lang_ide::format::{format_module, format_range};
use lang_ide::selection::selection;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{FoldingRange, FoldingRangeKind, Position, Range, SelectionRange, TextEdit, Url};

use super::text_edits;
use crate::world::Seen;

/// The document in the one layout. Items that cannot be parsed are left alone: the diagnostics say why.
pub(crate) fn formatting(seen: &Seen<'_>, url: &Url) -> Result<Option<Vec<TextEdit>>> {
    let text = seen.document(url)?;
    Ok(Some(text_edits(&text, format_module(seen.session, &text.module))))
}

/// The items that a range meets in the one layout.
pub(crate) fn range_formatting(seen: &Seen<'_>, url: &Url, range: Range) -> Result<Option<Vec<TextEdit>>> {
    let text = seen.document(url)?;
    Ok(Some(text_edits(&text, format_range(seen.session, &text.module, text.span(range)))))
}

/// What can be folded.
pub(crate) fn folding(seen: &Seen<'_>, url: &Url) -> Result<Option<Vec<FoldingRange>>> {
    let text = seen.document(url)?;
    let fold = |fold: lang_ide::folding::Fold| {
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
    let found = folds(seen.session, &text.module).into_iter().map(fold);
    Ok(Some(found.filter(|fold| fold.start_line < fold.end_line).collect()))
}

/// What is selected around each place, the smallest first.
pub(crate) fn selections(seen: &Seen<'_>, url: &Url, places: &[Position]) -> Result<Option<Vec<SelectionRange>>> {
    let text = seen.document(url)?;
    let around = |place: &Position| {
        let spans = selection(seen.session, &text.module, text.offset(*place));
        let outer = |parent: Option<SelectionRange>, span: &lang_ide::Span| {
            Some(SelectionRange { range: text.range(*span), parent: parent.map(Box::new) })
        };
        let nothing = SelectionRange { range: Range { start: *place, end: *place }, parent: None };
        spans.iter().rev().fold(None, outer).unwrap_or(nothing)
    };
    Ok(Some(places.iter().map(around).collect()))
}
