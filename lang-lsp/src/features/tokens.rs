//! Semantic tokens: each as its distance from the one before, and of a document that the client has tokens of, what is
//! other than those.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lang_ide::tokens::{TokenKind, tokens, tokens_in};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    Position, Range, SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensDelta,
    SemanticTokensEdit, SemanticTokensFullDeltaResult, SemanticTokensLegend, Url,
};

use crate::lines::clamp;
use crate::world::{Seen, Text};

/// Kinds and marks by number.
pub(crate) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TokenKind::ALL.iter().map(|kind| name(*kind)).collect(),
        token_modifiers: vec![
            SemanticTokenModifier::DECLARATION,
            SemanticTokenModifier::DEFAULT_LIBRARY,
            SemanticTokenModifier::DOCUMENTATION,
        ],
    }
}

/// What the protocol calls it. Indices and sizes are of our own: our extensions give them colours.
fn name(kind: TokenKind) -> SemanticTokenType {
    match kind {
        TokenKind::Module => SemanticTokenType::NAMESPACE,
        TokenKind::Type => SemanticTokenType::TYPE,
        TokenKind::TypeParameter => SemanticTokenType::TYPE_PARAMETER,
        TokenKind::Constructor => SemanticTokenType::ENUM_MEMBER,
        TokenKind::Function => SemanticTokenType::FUNCTION,
        TokenKind::Derivative => SemanticTokenType::MACRO,
        TokenKind::Value | TokenKind::Variable => SemanticTokenType::VARIABLE,
        TokenKind::Parameter | TokenKind::Argument => SemanticTokenType::PARAMETER,
        TokenKind::Index => SemanticTokenType::new("index"),
        TokenKind::Size => SemanticTokenType::new("size"),
        TokenKind::Field => SemanticTokenType::PROPERTY,
        TokenKind::Keyword => SemanticTokenType::KEYWORD,
        TokenKind::Number => SemanticTokenType::NUMBER,
        TokenKind::String => SemanticTokenType::STRING,
        TokenKind::Comment => SemanticTokenType::COMMENT,
    }
}

/// What clients have been sent, by document.
#[derive(Default)]
pub(crate) struct Sent {
    next: u64,
    last: HashMap<Url, (String, Arc<Vec<SemanticToken>>)>,
}

impl Sent {
    /// The document is closed.
    pub(crate) fn forget(&mut self, url: &Url) {
        self.last.remove(url);
    }

    /// Remembers what is sent; its name.
    fn remember(&mut self, url: &Url, tokens: Arc<Vec<SemanticToken>>) -> String {
        self.next = self.next.saturating_add(1);
        let id = self.next.to_string();
        self.last.insert(url.clone(), (id.clone(), tokens));
        id
    }
}

/// All tokens of a document.
pub(crate) fn full(seen: &Seen<'_>, url: &Url, sent: &Mutex<Sent>) -> Result<SemanticTokens> {
    let text = seen.document(url)?;
    let data = Arc::new(encoded(seen, &text, tokens(seen.session, &text.module)));
    let id = sent.lock().unwrap_or_else(PoisonError::into_inner).remember(url, Arc::clone(&data));
    Ok(SemanticTokens { result_id: Some(id), data: Arc::unwrap_or_clone(data) })
}

/// The tokens of a range.
pub(crate) fn within(seen: &Seen<'_>, url: &Url, range: Range) -> Result<SemanticTokens> {
    let text = seen.document(url)?;
    let data = encoded(seen, &text, tokens_in(seen.session, &text.module, text.span(range)));
    Ok(SemanticTokens { result_id: None, data })
}

/// What is other than in the tokens of that name; all tokens where these are not known any more.
pub(crate) fn delta(
    seen: &Seen<'_>,
    url: &Url,
    previous: &str,
    sent: &Mutex<Sent>,
) -> Result<SemanticTokensFullDeltaResult> {
    let known = {
        let sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.last.get(url).filter(|(id, _)| id == previous).map(|(_, tokens)| Arc::clone(tokens))
    };
    let Some(old) = known else { return Ok(SemanticTokensFullDeltaResult::Tokens(full(seen, url, sent)?)) };
    let text = seen.document(url)?;
    let new = Arc::new(encoded(seen, &text, tokens(seen.session, &text.module)));
    let edits = difference(&old, &new);
    let id = sent.lock().unwrap_or_else(PoisonError::into_inner).remember(url, new);
    Ok(SemanticTokensFullDeltaResult::TokensDelta(SemanticTokensDelta { result_id: Some(id), edits }))
}

/// One edit of what lies between the common beginning and end. It counts numbers, of which a token has five.
fn difference(old: &[SemanticToken], new: &[SemanticToken]) -> Vec<SemanticTokensEdit> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (gone, come) = (old.len().saturating_sub(end), new.len().saturating_sub(end));
    if gone == 0 && come == 0 {
        return Vec::new();
    }
    vec![SemanticTokensEdit {
        start: clamp(start.saturating_mul(5)),
        delete_count: clamp(gone.saturating_mul(5)),
        data: Some(new.get(..come).unwrap_or_default().to_vec()),
    }]
}

/// Tokens, which are in order, as distances.
fn encoded(seen: &Seen<'_>, text: &Text, all: Vec<lang_ide::tokens::SemanticToken>) -> Vec<SemanticToken> {
    let encoding = seen.abilities.encoding;
    let mut before = Position::default();
    let mut data = Vec::with_capacity(all.len());
    for token in all {
        let at = text.position(token.span.start);
        let content = text.text.get(token.span.range()).unwrap_or_default();
        let length = encoding.len(content);
        if length == 0 {
            continue;
        }
        let delta_line = at.line.saturating_sub(before.line);
        let delta_start = if delta_line == 0 { at.character.saturating_sub(before.character) } else { at.character };
        let marks = [token.declaration, token.library, token.documentation];
        data.push(SemanticToken {
            delta_line,
            delta_start,
            length,
            token_type: clamp(TokenKind::ALL.iter().position(|kind| *kind == token.kind).unwrap_or_default()),
            token_modifiers_bitset: marks.iter().rev().fold(0, |bits, mark| bits * 2 + u32::from(*mark)),
        });
        before = at;
    }
    data
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token(n: u32) -> SemanticToken {
        SemanticToken { delta_line: n, delta_start: 0, length: 1, token_type: 0, token_modifiers_bitset: 0 }
    }

    proptest! {
        #[test]
        fn edits_make_the_new_of_the_old(
            old in prop::collection::vec(0u32..3, 0..8),
            new in prop::collection::vec(0u32..3, 0..8),
        ) {
            let (old, new): (Vec<_>, Vec<_>) = (old.into_iter().map(token).collect(), new.into_iter().map(token).collect());
            let mut made = old.clone();
            for edit in difference(&old, &new) {
                let start = edit.start as usize / 5;
                made.splice(start..start + edit.delete_count as usize / 5, edit.data.unwrap());
            }
            prop_assert_eq!(made, new);
        }
    }
}
