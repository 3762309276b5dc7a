//! The listing of a session by `:env`, and its snapshot for the line editor after every input.

use lang_core::base::Name;
use lang_core::runtime::Value;
use lang_core::syntax::split::ItemKind;
use lang_core::types::ty::Type;

use super::super::editor_snapshot::{EditorSnapshot, ValueShape, one_line};
use super::super::session_document::{SessionDocument, SessionEntry};
use super::ReplSession;
use crate::rescue;

/// The smallest value, in bytes, whose size is shown.
const MIN_SHOWN_SIZE: usize = 1 << 10;

impl ReplSession {
    pub(super) fn environment_listing(&self) -> String {
        let line = |entry: &SessionEntry| {
            let lines = entry.names.iter().filter_map(|name| {
                let line = self.engine.describe(&self.module_name(), entry.kind, name)?;
                Some(format!("{line}{}\n", self.size_remark(entry, name)))
            });
            lines.collect::<String>()
        };
        self.document.entries.iter().map(line).collect()
    }

    /// Returns the size of a large value as a remark.
    fn size_remark(&self, entry: &SessionEntry, name: &Name) -> String {
        let value = (entry.kind == ItemKind::Let).then(|| self.engine.global_value(&self.global_name(name))).flatten();
        match value.map_or(0, |known| value_bytes(&known.value)) {
            0..MIN_SHOWN_SIZE => String::new(),
            n if n < 1 << 20 => format!("  -- {} KiB", n >> 10),
            n => format!("  -- {} MiB", n >> 20),
        }
    }

    /// Removes all definitions.
    pub(super) fn remove_definitions(&mut self) {
        let names = self.document.entries.iter().flat_map(|e| e.names.iter().map(|n| self.global_name(n))).collect();
        self.engine.drop_values(&names);
        self.set_document(SessionDocument::default());
        self.loaded_files.clear();
    }

    /// Updates the snapshot of the line editor, and the text that is rescued if the process must be
    /// ended.
    pub(super) fn update_snapshot(&self) {
        let module = self.module_name();
        let mut known = EditorSnapshot { color: self.out.uses_color(), ..EditorSnapshot::default() };
        known.names.extend(self.engine.prefixed_names(&module));
        for (name, imported) in self.engine.named_imports(&module) {
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
                        let ty = self.engine.type_of_let(&self.global_name(name));
                        match ty.map(|ty| (self.value_shape(&ty, 0), ty)) {
                            Some((_, ty @ Type::Fun(_))) => {
                                known.signatures.insert(name.to_string(), format!("{ty}"));
                            }
                            Some((shape, _)) if shape != ValueShape::Other => {
                                known.shapes.insert(name.to_string(), shape);
                            }
                            _ => {}
                        }
                    }
                    _ => {}
                }
            }
        }
        if let Ok(mut shared) = self.snapshot.lock() {
            *shared = known;
        }
        rescue::store_source(self.source_without_values());
    }

    /// Returns the structure of a type's values. The depth is limited, because aliases can nest
    /// types deeper than they are written.
    fn value_shape(&self, ty: &Type, depth: usize) -> ValueShape {
        if depth > 16 {
            return ValueShape::Other;
        }
        let part = |ty: &Type| self.value_shape(ty, depth + 1);
        match self.engine.expand_alias(ty) {
            Type::Record(fields) => {
                ValueShape::Record(fields.iter().map(|(name, ty)| (name.to_string(), part(ty))).collect())
            }
            Type::Tuple(parts) => ValueShape::Tuple(parts.iter().map(part).collect()),
            Type::Array(_, element) => match part(&element) {
                ValueShape::Other => ValueShape::Other,
                ValueShape::Array(inner) => ValueShape::Array(inner),
                shape => ValueShape::Array(Box::new(shape)),
            },
            _ => ValueShape::Other,
        }
    }
}

/// Returns the approximate size in bytes of the numbers in a value.
fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Array(array) => {
            let one = match array.element(0) {
                None => 0,
                Some(Value::Bool(_)) => 1,
                Some(Value::F32(_)) => 4,
                // All elements of an array of records or tuples have the same size.
                Some(element) => value_bytes(&element),
            };
            one.saturating_mul(array.count())
        }
        Value::Tuple(items) => items.values().iter().map(value_bytes).sum(),
        Value::Record(record) => record.values().iter().map(value_bytes).sum(),
        _ => 8,
    }
}
