//! The text of a session: the current definitions, in the order of their input. It is the text of
//! an ordinary module. A definition replaces earlier ones of its names.

use std::sync::Arc;

use lang_core::base::{Name, Span};
use lang_core::syntax::split::{ItemKind, ItemText};

use crate::engine::Segment;
use crate::source::SourceId;

/// A current definition.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SessionEntry {
    pub(crate) kind: ItemKind,
    /// The names that it defines; for a derivative rule, the name of its function.
    pub(crate) names: Vec<Name>,
    pub(crate) text: Arc<str>,
    /// The text in which it was typed or read.
    pub(crate) source: SourceId,
    pub(crate) offset: u32,
    /// Whether its right side is a placeholder for a stored value. That is so for `ans`, and for a
    /// value whose inputs no longer exist.
    pub(crate) is_stored: bool,
}

/// A namespace. Two entries of one namespace exclude each other if they share a name.
#[derive(PartialEq, Eq)]
enum EntryNamespace {
    /// Values and modules: `k.f` would also be a field of a value `k`.
    Value,
    Type,
    Derivative,
    Adjoint,
}

impl SessionEntry {
    /// Returns the entry for an item of a text.
    pub(crate) fn new(item: &ItemText, source: SourceId) -> Self {
        let names = item.name.split(',').filter(|n| !n.is_empty()).map(Name::from).collect();
        Self { kind: item.kind, names, text: item.text.clone(), source, offset: item.start, is_stored: false }
    }

    /// Returns the entry `let name: ty = …` for a stored value.
    pub(crate) fn stored(name: &Name, ty: &str, source: SourceId) -> Self {
        let text = format!("let {name}: {ty} = error(\"the value is kept\")").into();
        Self { kind: ItemKind::Let, names: vec![name.clone()], text, source, offset: 0, is_stored: true }
    }

    fn namespace(&self) -> EntryNamespace {
        match self.kind {
            ItemKind::Type => EntryNamespace::Type,
            ItemKind::Derivative => EntryNamespace::Derivative,
            ItemKind::Adjoint => EntryNamespace::Adjoint,
            ItemKind::Import | ItemKind::Def | ItemKind::Let | ItemKind::Do | ItemKind::StrayText => {
                EntryNamespace::Value
            }
        }
    }

    /// Whether both define the same name in the same namespace.
    pub(crate) fn conflicts_with(&self, other: &Self) -> bool {
        self.namespace() == other.namespace() && self.names.iter().any(|n| other.names.contains(n))
    }

    /// Whether this is a derivative rule of `other`. A rule is valid for one definition; for its
    /// replacement it may be wrong.
    pub(crate) fn is_rule_of(&self, other: &Self) -> bool {
        matches!(self.namespace(), EntryNamespace::Derivative | EntryNamespace::Adjoint)
            && self.names.iter().any(|n| other.defines(n))
    }

    /// Whether it defines a value of that name.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.kind != ItemKind::Import
            && self.namespace() == EntryNamespace::Value
            && self.names.iter().any(|n| n == name)
    }
}

/// The current definitions.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct SessionDocument {
    pub(crate) entries: Vec<SessionEntry>,
}

/// The text between two entries. It keeps a comment at the end of one entry apart from the next.
const ENTRY_SEPARATOR: &str = "\n\n";

impl SessionDocument {
    /// Adds entries. Removes the entries of the same names, and the derivative rules of those;
    /// returns them with the new document.
    pub(crate) fn with_entries(&self, new: Vec<SessionEntry>) -> (Self, Vec<SessionEntry>) {
        let (gone, mut entries): (Vec<_>, Vec<_>) = self
            .entries
            .iter()
            .cloned()
            .partition(|old| new.iter().any(|n| n.conflicts_with(old) || old.is_rule_of(n)));
        entries.extend(new);
        (Self { entries }, gone)
    }

    /// Returns the document without an entry.
    pub(crate) fn without_entry(&self, entry: &SessionEntry) -> Self {
        Self { entries: self.entries.iter().filter(|e| *e != entry).cloned().collect() }
    }

    /// Returns the module's text, and the segments that map its parts to their origins.
    pub(crate) fn text(&self) -> (String, Vec<Segment>) {
        let mut text = String::new();
        let mut segments = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            push_segment(&mut text, &mut segments, &entry.text, entry.source, entry.offset);
        }
        (text, segments)
    }
}

fn push_segment(text: &mut String, segments: &mut Vec<Segment>, item: &str, source: SourceId, offset: u32) {
    let position = |text: &String| u32::try_from(text.len()).unwrap_or(u32::MAX);
    let start = position(text);
    text.push_str(item);
    segments.push(Segment { span: Span::new(start, position(text)), source, offset });
    text.push_str(ENTRY_SEPARATOR);
}
