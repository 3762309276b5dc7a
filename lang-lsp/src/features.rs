//! Features of `lang-ide` as the protocol has them: positions become bytes, answers become positions.

use lang_core::syntax::format;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{TextEdit, Url};

use crate::world::{Seen, Text};

/// The document in the one layout.
pub(crate) fn formatting(seen: &Seen<'_>, url: &Url) -> Result<Option<Vec<TextEdit>>> {
    let text = seen.document(url)?;
    // What cannot be parsed is left alone: the diagnostics say why.
    let Ok(formatted) = format::format(&text.text) else { return Ok(None) };
    Ok(Some(difference(&text, &formatted).into_iter().collect()))
}

/// One edit from a text to another, of what lies between their common beginning and end.
fn difference(text: &Text, new: &str) -> Option<TextEdit> {
    let old = &*text.text;
    if old == new {
        return None;
    }
    let common = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
    };
    let start = common(&mut old.chars().zip(new.chars()));
    let (old_rest, new_rest) = (old.get(start..)?, new.get(start..)?);
    let end = common(&mut old_rest.chars().rev().zip(new_rest.chars().rev()));
    let until = old.len().saturating_sub(end);
    let new_text = new.get(start..new.len().saturating_sub(end))?.to_owned();
    let span = lang_ide::Span::new(crate::lines::clamp(start), crate::lines::clamp(until));
    Some(TextEdit { range: text.range(span), new_text })
}
