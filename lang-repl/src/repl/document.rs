//! The text of a session: the definitions in force, in the order they were made. It is the text
//! of an ordinary module; a definition takes the place of earlier ones of its names.

use std::sync::Arc;

use lang_core::base::{Name, Span};
use lang_core::syntax::split::{ItemKind, ItemText};

use crate::engine::Segment;
use crate::source::SourceId;

/// A definition in force.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: ItemKind,
    /// What it defines; of a rule, what it belongs to.
    pub(crate) names: Vec<Name>,
    pub(crate) text: Arc<str>,
    /// Where it was typed or read.
    pub(crate) source: SourceId,
    pub(crate) offset: u32,
    /// Its right side stands for a value that is kept: that of `ans`, or of what was computed
    /// from what is no longer there.
    pub(crate) frozen: bool,
}

/// Names that exclude each other.
#[derive(PartialEq, Eq)]
enum Space {
    /// Modules too: `k.f` would be a field of a value `k`.
    Value,
    Type,
    Derivative,
    Adjoint,
}

impl Entry {
    /// The entry for an item of a text.
    pub(crate) fn new(item: &ItemText, source: SourceId) -> Self {
        let names = item.name.split(',').filter(|n| !n.is_empty()).map(Name::from).collect();
        Self { kind: item.kind, names, text: item.text.clone(), source, offset: item.start, frozen: false }
    }

    /// `let name: ty = …` for a value that is kept.
    pub(crate) fn frozen(name: &Name, ty: &str, source: SourceId) -> Self {
        let text = format!("let {name}: {ty} = error(\"the value is kept\")").into();
        Self { kind: ItemKind::Let, names: vec![name.clone()], text, source, offset: 0, frozen: true }
    }

    fn space(&self) -> Space {
        match self.kind {
            ItemKind::Type => Space::Type,
            ItemKind::Derivative => Space::Derivative,
            ItemKind::Adjoint => Space::Adjoint,
            ItemKind::Import | ItemKind::Def | ItemKind::Let | ItemKind::Do | ItemKind::Junk => Space::Value,
        }
    }

    /// Do both define some name?
    pub(crate) fn clashes(&self, other: &Self) -> bool {
        self.space() == other.space() && self.names.iter().any(|n| other.names.contains(n))
    }

    /// Is it a rule of what the other one defines? A rule says what the derivative of one definition
    /// is, and of another one it may be wrong.
    pub(crate) fn is_rule_of(&self, other: &Self) -> bool {
        matches!(self.space(), Space::Derivative | Space::Adjoint) && self.names.iter().any(|n| other.defines(n))
    }

    /// Does it define a value of that name?
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.kind != ItemKind::Import && self.space() == Space::Value && self.names.iter().any(|n| n == name)
    }
}

/// The definitions in force.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Document {
    pub(crate) entries: Vec<Entry>,
}

/// Between two entries; a comment at the end of one is not taken for one of the next.
const GAP: &str = "\n\n";

impl Document {
    /// The document with these entries in place of those of their names and of the rules of these; and
    /// what was replaced.
    pub(crate) fn with(&self, new: Vec<Entry>) -> (Self, Vec<Entry>) {
        let (gone, mut entries): (Vec<_>, Vec<_>) =
            self.entries.iter().cloned().partition(|old| new.iter().any(|n| n.clashes(old) || old.is_rule_of(n)));
        entries.extend(new);
        (Self { entries }, gone)
    }

    /// Without the entry.
    pub(crate) fn without(&self, entry: &Entry) -> Self {
        Self { entries: self.entries.iter().filter(|e| *e != entry).cloned().collect() }
    }

    /// Its text, and which part of it comes from where.
    pub(crate) fn text(&self) -> (String, Vec<Segment>) {
        let mut text = String::new();
        let mut segments = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            push(&mut text, &mut segments, &entry.text, entry.source, entry.offset);
        }
        (text, segments)
    }
}

fn push(text: &mut String, segments: &mut Vec<Segment>, item: &str, source: SourceId, offset: u32) {
    let position = |text: &String| u32::try_from(text.len()).unwrap_or(u32::MAX);
    let start = position(text);
    text.push_str(item);
    segments.push(Segment { span: Span::new(start, position(text)), source, offset });
    text.push_str(GAP);
}
