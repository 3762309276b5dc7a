//! Semantic tokens: each as its distance from the one before, and of a document that the client has tokens of, what is
//! other than those.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use lang_ide::tokens::{Kept, Part, SemanticToken as Token, TokenKind, parts, tokens_in};
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
    last: HashMap<Url, Document>,
}

/// What was sent of a document, and what it was made of, to be used again.
#[derive(Default)]
struct Document {
    id: String,
    runs: Vec<Run>,
    kept: Kept,
}

/// Tokens that follow one another: of an item, or of the comments between two.
#[derive(Clone)]
struct Run {
    /// The first, by its distance from the last of the run before.
    first: SemanticToken,
    encoded: Arc<Encoded>,
}

/// The tokens of a run, as distances. They are the same wherever it stands in a document.
struct Encoded {
    /// What they were made of: while it is here its place in memory is no other's.
    of: Arc<[Token]>,
    /// Does the run begin a line? Positions in it are told from the beginning of its first line.
    begins_line: bool,
    /// Where the first stands, by lines from the beginning of the run.
    first: (Position, SemanticToken),
    rest: Vec<SemanticToken>,
    /// Where the last stands.
    last: Position,
}

impl PartialEq for Run {
    fn eq(&self, other: &Self) -> bool {
        self.first == other.first
            && (Arc::ptr_eq(&self.encoded, &other.encoded) || self.encoded.rest == other.encoded.rest)
    }
}

impl Run {
    fn len(&self) -> usize {
        self.encoded.rest.len() + 1
    }

    fn tokens(&self) -> impl Iterator<Item = SemanticToken> + '_ {
        std::iter::once(self.first).chain(self.encoded.rest.iter().copied())
    }
}

impl Sent {
    /// The document is closed.
    pub(crate) fn forget(&mut self, url: &Url) {
        self.last.remove(url);
    }

    /// Remembers what is sent; its name.
    fn remember(&mut self, url: &Url, mut document: Document) -> String {
        self.next = self.next.saturating_add(1);
        let id = self.next.to_string();
        document.id.clone_from(&id);
        self.last.insert(url.clone(), document);
        id
    }
}

fn locked(sent: &Mutex<Sent>) -> std::sync::MutexGuard<'_, Sent> {
    sent.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The document as it is now, made of what was sent of it before.
fn now(seen: &Seen<'_>, text: &Text, mut document: Document) -> Document {
    let parts = parts(seen.session, &text.module, &mut document.kept);
    let mut before = Before { runs: std::mem::take(&mut document.runs), next: 0, places: None };
    let mut at = Position::default();
    for part in parts {
        let start = text.position(part.start);
        let known = if start.character == 0 { before.find(&part.tokens) } else { None };
        let Some(encoded) = known.or_else(|| Encoded::new(seen, text, &part, start).map(Arc::new)) else { continue };
        let (place, first) = encoded.first;
        let line = start.line.saturating_add(place.line);
        let delta_line = line.saturating_sub(at.line);
        let delta_start = if delta_line == 0 { place.character.saturating_sub(at.character) } else { place.character };
        let first = SemanticToken { delta_line, delta_start, ..first };
        at = Position { line: start.line.saturating_add(encoded.last.line), character: encoded.last.character };
        document.runs.push(Run { first, encoded });
    }
    document
}

/// Runs that were sent, to be found by what they were made of: most often in their order.
struct Before {
    runs: Vec<Run>,
    /// Where the next is looked for.
    next: usize,
    /// Where each is, by the address of what it was made of, when one was not there.
    places: Option<HashMap<usize, usize>>,
}

impl Before {
    fn find(&mut self, of: &Arc<[Token]>) -> Option<Arc<Encoded>> {
        let is_it = |run: &Run| run.encoded.begins_line && Arc::ptr_eq(&run.encoded.of, of);
        let address = |of: &Arc<[Token]>| Arc::as_ptr(of).cast::<Token>().addr();
        let at = if self.runs.get(self.next).is_some_and(is_it) {
            self.next
        } else {
            let places = self.places.get_or_insert_with(|| {
                let all = self.runs.iter().enumerate();
                all.map(|(at, run)| (address(&run.encoded.of), at)).collect()
            });
            *places.get(&address(of))?
        };
        self.next = at.saturating_add(1);
        self.runs.get(at).filter(|run| is_it(run)).map(|run| Arc::clone(&run.encoded))
    }
}

/// All tokens of a document.
pub(crate) fn full(seen: &Seen<'_>, url: &Url, sent: &Mutex<Sent>) -> Result<SemanticTokens> {
    let text = seen.document(url)?;
    let before = locked(sent).last.remove(url).unwrap_or_default();
    let document = now(seen, &text, before);
    let data = document.runs.iter().flat_map(Run::tokens).collect();
    let id = locked(sent).remember(url, document);
    Ok(SemanticTokens { result_id: Some(id), data })
}

/// The tokens of a range.
pub(crate) fn within(seen: &Seen<'_>, url: &Url, range: Range) -> Result<SemanticTokens> {
    let text = seen.document(url)?;
    let found = tokens_in(seen.session, &text.module, text.span(range));
    let data = encoded(seen, &text, found.into_iter(), Position::default());
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
        let mut sent = locked(sent);
        match sent.last.entry(url.clone()) {
            Entry::Occupied(entry) if entry.get().id == previous => Some(entry.remove()),
            _ => None,
        }
    };
    let Some(known) = known else { return Ok(SemanticTokensFullDeltaResult::Tokens(full(seen, url, sent)?)) };
    let text = seen.document(url)?;
    let old = known.runs.clone();
    let document = now(seen, &text, known);
    let edits = difference(&old, &document.runs);
    let id = locked(sent).remember(url, document);
    Ok(SemanticTokensFullDeltaResult::TokensDelta(SemanticTokensDelta { result_id: Some(id), edits }))
}

/// One edit of what lies between the common beginning and end. It counts numbers, of which a token has five.
fn difference(old: &[Run], new: &[Run]) -> Vec<SemanticTokensEdit> {
    let (same, old, new) = between(old, new);
    let before: usize = same.iter().map(Run::len).sum();
    let tokens = |runs: &[Run]| runs.iter().flat_map(|run| run.tokens().collect::<Vec<_>>()).collect::<Vec<_>>();
    let (old, new) = (tokens(old), tokens(new));
    let (same, old, new) = between(&old, &new);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    vec![SemanticTokensEdit {
        start: clamp((before + same.len()).saturating_mul(5)),
        delete_count: clamp(old.len().saturating_mul(5)),
        data: Some(new.to_vec()),
    }]
}

/// What both begin with, and what of each is between that and what both end with.
fn between<'t, T: PartialEq>(old: &'t [T], new: &'t [T]) -> (&'t [T], &'t [T], &'t [T]) {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (same, old) = old.split_at(start);
    let new = new.get(start..).unwrap_or_default();
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let till = |of: &'t [T]| of.get(..of.len().saturating_sub(end)).unwrap_or_default();
    (same, till(old), till(new))
}

impl Encoded {
    /// The tokens of a part that begins at `start`; `None` if it has none.
    fn new(seen: &Seen<'_>, text: &Text, part: &Part, start: Position) -> Option<Self> {
        let placed = part.tokens.iter().map(|t| Token { span: t.span.shift(part.start), ..*t });
        let mut rest = encoded(seen, text, placed, Position { line: start.line, character: 0 });
        let first = if rest.is_empty() { return None } else { rest.remove(0) };
        let place = Position { line: first.delta_line, character: first.delta_start };
        let last = rest.iter().fold(place, |at, t| match t.delta_line {
            0 => Position { character: at.character.saturating_add(t.delta_start), ..at },
            lines => Position { line: at.line.saturating_add(lines), character: t.delta_start },
        });
        let begins_line = start.character == 0;
        Some(Self { of: Arc::clone(&part.tokens), begins_line, first: (place, first), rest, last })
    }
}

/// Tokens, which are in order, as distances, the first from `before`.
fn encoded(seen: &Seen<'_>, text: &Text, all: impl Iterator<Item = Token>, mut before: Position) -> Vec<SemanticToken> {
    let encoding = seen.abilities.encoding;
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

    fn runs(of: &[Vec<u32>]) -> Vec<Run> {
        let run = |tokens: &Vec<u32>| {
            let (place, rest) = (Position::default(), tokens[1..].iter().copied().map(token).collect());
            let first = token(tokens[0]);
            let encoded = Encoded { of: Arc::from([]), begins_line: true, first: (place, first), rest, last: place };
            Run { first, encoded: Arc::new(encoded) }
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
            let flat = |runs: &[Run]| runs.iter().flat_map(|r| r.tokens().collect::<Vec<_>>()).collect::<Vec<_>>();
            let mut made = flat(&old);
            for edit in difference(&old, &new) {
                let start = edit.start as usize / 5;
                made.splice(start..start + edit.delete_count as usize / 5, edit.data.unwrap());
            }
            prop_assert_eq!(made, flat(&new));
        }
    }
}
