//! **Protocol adapters** for the features of `lang-ide`. They convert positions to bytes, and
//! results back to positions.

pub(crate) mod calls;
pub(crate) mod complete;
pub(crate) mod insight;
pub(crate) mod layout;
pub(crate) mod navigate;
pub(crate) mod rename;
pub(crate) mod symbols;
pub(crate) mod tokens;

use lang_ide::{Edit, Location};
use tower_lsp::lsp_types::{self as lsp, TextEdit, Url};

use crate::snapshot::{ModuleText, RequestContext};

/// Converts locations to the protocol. Each module's text is read once.
fn locations(context: &RequestContext<'_>, mut all: Vec<Location>) -> Vec<lsp::Location> {
    all.sort();
    let mut found = Vec::with_capacity(all.len());
    let mut last: Option<(ModuleText, Url)> = None;
    for location in all {
        if last.as_ref().is_none_or(|(text, _)| text.module != location.module) {
            last = context.text(&location.module).zip(context.url(&location.module));
        }
        if let Some((text, uri)) = &last
            && text.module == location.module
        {
            found.push(lsp::Location { uri: uri.clone(), range: text.range(location.span) });
        }
    }
    found
}

/// Converts edits of one document to the protocol.
fn text_edits(text: &ModuleText, edits: Vec<Edit>) -> Vec<TextEdit> {
    edits.into_iter().map(|edit| TextEdit { range: text.range(edit.at.span), new_text: edit.text }).collect()
}
