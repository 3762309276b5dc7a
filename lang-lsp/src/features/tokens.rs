//! **Semantic token requests.** Encodes each token as its distance from the previous one. For a
//! document whose tokens the client already has, sends only the difference.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use lang_ide::tokens::{SemanticToken as Token, TokenCache, TokenKind, TokenSection, token_sections, tokens_in};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    Position, Range, SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensDelta,
    SemanticTokensEdit, SemanticTokensFullDeltaResult, SemanticTokensLegend, Url,
};

use crate::lines::clamp;
use crate::snapshot::{ModuleText, RequestContext};

/// Returns the protocol's numbering of token kinds and modifiers.
pub(crate) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TokenKind::ALL.iter().map(|kind| token_type(*kind)).collect(),
        token_modifiers: vec![
            SemanticTokenModifier::DECLARATION,
            SemanticTokenModifier::DEFAULT_LIBRARY,
            SemanticTokenModifier::DOCUMENTATION,
        ],
    }
}

/// Returns the protocol's name of a kind. Indices and sizes are not in the protocol; our own
/// extensions define colours for them.
fn token_type(kind: TokenKind) -> SemanticTokenType {
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

/// The tokens that the client has, by document.
#[derive(Default)]
pub(crate) struct SentTokens {
    next_id: u64,
    documents: HashMap<Url, SentDocument>,
}

/// The tokens that were sent for a document, and the data to reuse for the next request.
#[derive(Default)]
struct SentDocument {
    id: String,
    runs: Vec<TokenRun>,
    cache: TokenCache,
}

/// A run of consecutive tokens: of an item, or of the comments between two items.
#[derive(Clone)]
struct TokenRun {
    /// The first token, encoded relative to the last one of the previous run.
    first: SemanticToken,
    encoded: Arc<EncodedRun>,
}

/// The encoded tokens of a run. They do not depend on the position of the run in the document.
struct EncodedRun {
    /// The source tokens. Keeping them alive ensures that no other allocation has the same address.
    source_tokens: Arc<[Token]>,
    /// Whether the run begins at the start of a line. Its positions are relative to the start of
    /// its first line.
    begins_line: bool,
    /// The position of the first token, relative to the first line of the run.
    first: (Position, SemanticToken),
    rest: Vec<SemanticToken>,
    /// The position of the last token.
    last: Position,
}

impl PartialEq for TokenRun {
    fn eq(&self, other: &Self) -> bool {
        self.first == other.first
            && (Arc::ptr_eq(&self.encoded, &other.encoded) || self.encoded.rest == other.encoded.rest)
    }
}

impl TokenRun {
    fn len(&self) -> usize {
        self.encoded.rest.len() + 1
    }

    fn tokens(&self) -> impl Iterator<Item = SemanticToken> + '_ {
        std::iter::once(self.first).chain(self.encoded.rest.iter().copied())
    }
}

impl SentTokens {
    /// Forgets a closed document.
    pub(crate) fn forget(&mut self, url: &Url) {
        self.documents.remove(url);
    }

    /// Stores the tokens that are sent, and returns their id.
    fn remember(&mut self, url: &Url, mut document: SentDocument) -> String {
        self.next_id = self.next_id.saturating_add(1);
        let id = self.next_id.to_string();
        document.id.clone_from(&id);
        self.documents.insert(url.clone(), document);
        id
    }
}

fn lock_sent(sent: &Mutex<SentTokens>) -> std::sync::MutexGuard<'_, SentTokens> {
    sent.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Encodes the current tokens of a document, and reuses the runs that were sent before.
fn encode_document(context: &RequestContext<'_>, text: &ModuleText, mut document: SentDocument) -> SentDocument {
    let parts = token_sections(context.session, &text.module, &mut document.cache);
    let mut before = PreviousRuns { runs: std::mem::take(&mut document.runs), next: 0, index_by_address: None };
    let mut at = Position::default();
    for part in parts {
        let start = text.position(part.start);
        let known = if start.character == 0 { before.find(&part.tokens) } else { None };
        let Some(encoded) = known.or_else(|| EncodedRun::new(context, text, &part, start).map(Arc::new)) else {
            continue;
        };
        let (place, first) = encoded.first;
        let line = start.line.saturating_add(place.line);
        let delta_line = line.saturating_sub(at.line);
        let delta_start = if delta_line == 0 { place.character.saturating_sub(at.character) } else { place.character };
        let first = SemanticToken { delta_line, delta_start, ..first };
        at = Position { line: start.line.saturating_add(encoded.last.line), character: encoded.last.character };
        document.runs.push(TokenRun { first, encoded });
    }
    document
}

/// The previous runs, searched by their source tokens, most often in order.
struct PreviousRuns {
    runs: Vec<TokenRun>,
    /// The index at which the next search begins.
    next: usize,
    /// The index of each run by the address of its source tokens, built at the first search out of
    /// order.
    index_by_address: Option<HashMap<usize, usize>>,
}

impl PreviousRuns {
    fn find(&mut self, of: &Arc<[Token]>) -> Option<Arc<EncodedRun>> {
        let is_it = |run: &TokenRun| run.encoded.begins_line && Arc::ptr_eq(&run.encoded.source_tokens, of);
        let address = |of: &Arc<[Token]>| Arc::as_ptr(of).cast::<Token>().addr();
        let at = if self.runs.get(self.next).is_some_and(is_it) {
            self.next
        } else {
            let places = self.index_by_address.get_or_insert_with(|| {
                let all = self.runs.iter().enumerate();
                all.map(|(at, run)| (address(&run.encoded.source_tokens), at)).collect()
            });
            *places.get(&address(of))?
        };
        self.next = at.saturating_add(1);
        self.runs.get(at).filter(|run| is_it(run)).map(|run| Arc::clone(&run.encoded))
    }
}

/// Returns all tokens of a document.
pub(crate) fn full(context: &RequestContext<'_>, url: &Url, sent: &Mutex<SentTokens>) -> Result<SemanticTokens> {
    let text = context.document(url)?;
    let before = lock_sent(sent).documents.remove(url).unwrap_or_default();
    let document = encode_document(context, &text, before);
    let data = document.runs.iter().flat_map(TokenRun::tokens).collect();
    let id = lock_sent(sent).remember(url, document);
    Ok(SemanticTokens { result_id: Some(id), data })
}

/// Returns the tokens of a range.
pub(crate) fn tokens_of_range(context: &RequestContext<'_>, url: &Url, range: Range) -> Result<SemanticTokens> {
    let text = context.document(url)?;
    let found = tokens_in(context.session, &text.module, text.span(range));
    let data = encode_tokens(context, &text, found.into_iter(), Position::default());
    Ok(SemanticTokens { result_id: None, data })
}

/// Returns the difference to the tokens with the id `previous`, or all tokens if those are no
/// longer stored.
pub(crate) fn delta(
    context: &RequestContext<'_>,
    url: &Url,
    previous: &str,
    sent: &Mutex<SentTokens>,
) -> Result<SemanticTokensFullDeltaResult> {
    let known = {
        let mut sent = lock_sent(sent);
        match sent.documents.entry(url.clone()) {
            Entry::Occupied(entry) if entry.get().id == previous => Some(entry.remove()),
            _ => None,
        }
    };
    let Some(known) = known else { return Ok(SemanticTokensFullDeltaResult::Tokens(full(context, url, sent)?)) };
    let text = context.document(url)?;
    let old = known.runs.clone();
    let document = encode_document(context, &text, known);
    let edits = difference(&old, &document.runs);
    let id = lock_sent(sent).remember(url, document);
    Ok(SemanticTokensFullDeltaResult::TokensDelta(SemanticTokensDelta { result_id: Some(id), edits }))
}

/// Returns one edit that replaces the part between the common prefix and suffix. It counts numbers,
/// five for each token.
fn difference(old: &[TokenRun], new: &[TokenRun]) -> Vec<SemanticTokensEdit> {
    let (same, old, new) = trim_common(old, new);
    let before: usize = same.iter().map(TokenRun::len).sum();
    let tokens = |runs: &[TokenRun]| runs.iter().flat_map(|run| run.tokens().collect::<Vec<_>>()).collect::<Vec<_>>();
    let (old, new) = (tokens(old), tokens(new));
    let (same, old, new) = trim_common(&old, &new);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    vec![SemanticTokensEdit {
        start: clamp((before + same.len()).saturating_mul(5)),
        delete_count: clamp(old.len().saturating_mul(5)),
        data: Some(new.to_vec()),
    }]
}

/// Returns the common prefix, and the part of each slice between it and the common suffix.
fn trim_common<'t, T: PartialEq>(old: &'t [T], new: &'t [T]) -> (&'t [T], &'t [T], &'t [T]) {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (same, old) = old.split_at(start);
    let new = new.get(start..).unwrap_or_default();
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let till = |of: &'t [T]| of.get(..of.len().saturating_sub(end)).unwrap_or_default();
    (same, till(old), till(new))
}

impl EncodedRun {
    /// Encodes the tokens of a part that begins at `start`. `None` if it has none.
    fn new(context: &RequestContext<'_>, text: &ModuleText, part: &TokenSection, start: Position) -> Option<Self> {
        let placed = part.tokens.iter().map(|t| Token { span: t.span.shift(part.start), ..*t });
        let mut rest = encode_tokens(context, text, placed, Position { line: start.line, character: 0 });
        let first = if rest.is_empty() { return None } else { rest.remove(0) };
        let place = Position { line: first.delta_line, character: first.delta_start };
        let last = rest.iter().fold(place, |at, t| match t.delta_line {
            0 => Position { character: at.character.saturating_add(t.delta_start), ..at },
            lines => Position { line: at.line.saturating_add(lines), character: t.delta_start },
        });
        let begins_line = start.character == 0;
        Some(Self { source_tokens: Arc::clone(&part.tokens), begins_line, first: (place, first), rest, last })
    }
}

/// Encodes tokens, which must be in order, as distances. The first distance is from `before`.
fn encode_tokens(
    context: &RequestContext<'_>,
    text: &ModuleText,
    all: impl Iterator<Item = Token>,
    mut before: Position,
) -> Vec<SemanticToken> {
    let encoding = context.abilities.encoding;
    let mut data = Vec::new();
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

    fn runs(of: &[Vec<u32>]) -> Vec<TokenRun> {
        let run = |tokens: &Vec<u32>| {
            let (place, rest) = (Position::default(), tokens[1..].iter().copied().map(token).collect());
            let first = token(tokens[0]);
            let encoded = EncodedRun {
                source_tokens: Arc::from([]),
                begins_line: true,
                first: (place, first),
                rest,
                last: place,
            };
            TokenRun { first, encoded: Arc::new(encoded) }
        };
        of.iter().map(run).collect()
    }

    proptest! {
        #[test]
        fn edits_make_the_new_of_the_old(
            old in prop::collection::vec(prop::collection::vec(0u32..3, 1..4), 0..6),
            new in prop::collection::vec(prop::collection::vec(0u32..3, 1..4), 0..6),
        ) {
            let (old, new): (Vec<_>, Vec<_>) = (runs(&old), runs(&new));
            let flat = |runs: &[TokenRun]| runs.iter().flat_map(|r| r.tokens().collect::<Vec<_>>()).collect::<Vec<_>>();
            let mut edited_tokens = flat(&old);
            for edit in difference(&old, &new) {
                let start = edit.start as usize / 5;
                edited_tokens.splice(start..start + edit.delete_count as usize / 5, edit.data.unwrap());
            }
            prop_assert_eq!(edited_tokens, flat(&new));
        }
    }
}
