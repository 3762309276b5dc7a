//! The listing of a session by `:env`, and its snapshot for the line editor after every input.

use lang_core::base::Name;
use lang_core::runtime::Value;
use lang_core::syntax::split::ItemKind;
use lang_core::types::ty::Type;

use super::super::document::{Document, Entry};
use super::super::known::{Known, Shape, one_line};
use super::Session;
use crate::rescue;

/// The smallest value, in bytes, whose size is shown.
const SMALL: usize = 1 << 10;

impl Session {
    pub(super) fn listing(&self) -> String {
        let line = |entry: &Entry| {
            let lines = entry.names.iter().filter_map(|name| {
                let line = self.engine.describe(&self.module(), entry.kind, name)?;
                Some(format!("{line}{}\n", self.size_of(entry, name)))
            });
            lines.collect::<String>()
        };
        self.document.entries.iter().map(line).collect()
    }

    /// Returns the size of a large value as a remark.
    fn size_of(&self, entry: &Entry, name: &Name) -> String {
        let value = (entry.kind == ItemKind::Let).then(|| self.engine.global_value(&self.global(name))).flatten();
        match value.map_or(0, |known| bytes(&known.value)) {
            0..SMALL => String::new(),
            n if n < 1 << 20 => format!("  -- {} KiB", n >> 10),
            n => format!("  -- {} MiB", n >> 20),
        }
    }

    /// Removes all definitions.
    pub(super) fn reset(&mut self) {
        let names = self.document.entries.iter().flat_map(|e| e.names.iter().map(|n| self.global(n))).collect();
        self.engine.forget(&names);
        self.install(Document::default());
        self.loaded.clear();
    }

    /// Updates the snapshot of the line editor, and the text that is rescued if the process must be
    /// ended.
    pub(super) fn tell_editor(&self) {
        let module = self.module();
        let mut known = Known { color: self.out.colored(), ..Known::default() };
        known.names.extend(self.engine.prefixed(&module));
        for (name, imported) in self.engine.imports_of(&module) {
            known.modules.insert(name.to_string(), imported.to_string());
        }
        for entry in &self.document.entries {
            for name in &entry.names {
                known.names.insert(name.to_string());
                match entry.kind {
                    ItemKind::Def => {
                        let line = self.engine.describe(&module, entry.kind, name);
                        let own =
                            line.as_deref().and_then(|line| line.strip_prefix("def ")?.strip_prefix(name.as_str()));
                        known.signatures.extend(own.map(|own| (name.to_string(), one_line(own))));
                    }
                    ItemKind::Let => {
                        let ty = self.engine.type_of_let(&self.global(name));
                        match ty.map(|ty| (self.shape(&ty, 0), ty)) {
                            Some((_, ty @ Type::Fun(_))) => {
                                known.signatures.insert(name.to_string(), format!("{ty}"));
                            }
                            Some((shape, _)) if shape != Shape::Other => {
                                known.shapes.insert(name.to_string(), shape);
                            }
                            _ => {}
                        }
                    }
                    _ => {}
                }
            }
        }
        if let Ok(mut shared) = self.known.lock() {
            *shared = known;
        }
        rescue::keep(self.source_without_values());
    }

    /// Returns the structure of a type's values. The depth is limited, because aliases can nest
    /// types deeper than they are written.
    fn shape(&self, ty: &Type, depth: usize) -> Shape {
        if depth > 16 {
            return Shape::Other;
        }
        let part = |ty: &Type| self.shape(ty, depth + 1);
        match self.engine.unfolded(ty) {
            Type::Record(fields) => {
                Shape::Record(fields.iter().map(|(name, ty)| (name.to_string(), part(ty))).collect())
            }
            Type::Tuple(parts) => Shape::Tuple(parts.iter().map(part).collect()),
            Type::Array(_, element) => match part(&element) {
                Shape::Other => Shape::Other,
                Shape::Array(inner) => Shape::Array(inner),
                shape => Shape::Array(Box::new(shape)),
            },
            _ => Shape::Other,
        }
    }
}

/// Returns the approximate size in bytes of the numbers in a value.
fn bytes(value: &Value) -> usize {
    match value {
        Value::Array(array) => {
            let one = match array.element(0) {
                None => 0,
                Some(Value::Bool(_)) => 1,
                Some(Value::F32(_)) => 4,
                // All elements of an array of records or tuples have the same size.
                Some(element) => bytes(&element),
            };
            one.saturating_mul(array.count())
        }
        Value::Tuple(items) => items.values().iter().map(bytes).sum(),
        Value::Record(record) => record.values().iter().map(bytes).sum(),
        _ => 8,
    }
}
