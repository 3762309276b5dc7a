//! A snapshot of the session for the line editor: names in scope, signatures of functions, and the
//! structure of values.
//!
//! The session replaces it after every input. The editor only reads it, so no key starts a
//! computation.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use lang_core::resolve::vocabulary;
use lang_core::session::{LIBRARY, PRELUDE};
use lang_core::syntax::docs;
use lang_core::syntax::split::ItemKind;

/// A snapshot shared by the session and the editor.
pub(crate) type SharedSnapshot = Arc<Mutex<EditorSnapshot>>;

/// The contents of a snapshot.
#[derive(Default)]
pub(crate) struct EditorSnapshot {
    /// The session's names in scope, including those with a prefix.
    pub(crate) names: BTreeSet<String>,
    /// The signatures of callable names: `f` maps to `(x: f64) -> f64`.
    pub(crate) signatures: HashMap<String, String>,
    /// The structure of values that have fields or components.
    pub(crate) shapes: HashMap<String, ValueShape>,
    /// The imported modules, by their local names.
    pub(crate) modules: HashMap<String, String>,
    /// Whether colours are enabled.
    pub(crate) color: bool,
}

/// The structure of a value, for the completion of fields.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ValueShape {
    Record(Vec<(String, ValueShape)>),
    Tuple(Vec<ValueShape>),
    /// An array; the payload is the structure of its elements.
    Array(Box<ValueShape>),
    /// A value without fields or components.
    Other,
}

impl ValueShape {
    /// Returns the names that can follow the dot.
    pub(crate) fn member_names(&self) -> Vec<String> {
        match self {
            Self::Record(fields) => fields.iter().map(|(name, _)| name.clone()).collect(),
            Self::Tuple(parts) => (0..parts.len()).map(|k| k.to_string()).collect(),
            Self::Array(_) | Self::Other => Vec::new(),
        }
    }

    /// Returns the structure of the field or component with that name.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Record(fields) => fields.iter().find(|(field, _)| field == name).map(|(_, shape)| shape),
            Self::Tuple(parts) => parts.get(name.parse::<usize>().ok()?),
            Self::Array(_) | Self::Other => None,
        }
    }

    /// Returns the structure of an element, independent of the number of subscripts.
    pub(crate) fn element(&self) -> &Self {
        match self {
            Self::Array(element) => element,
            other => other,
        }
    }
}

impl EditorSnapshot {
    /// Returns the signature of the function that `name` calls. Looks in the session, imported
    /// modules, the prelude and the built-in words.
    pub(crate) fn signature(&self, name: &str) -> Option<String> {
        if let Some(own) = self.signatures.get(name) {
            return Some(format!("{name}{own}"));
        }
        if self.names.contains(name) && !name.contains('.') {
            return None;
        }
        if let Some((prefix, inner)) = name.split_once('.') {
            let module = self.modules.get(prefix)?;
            return library_signatures().get(&format!("{module}.{inner}")).map(|own| format!("{name}{own}"));
        }
        if let Some(own) = library_signatures().get(&format!("{PRELUDE}.{name}")) {
            return Some(format!("{name}{own}"));
        }
        let called = vocabulary::describe(name).into_iter().map(|word| word.signature);
        let called = called.map(|s| s.strip_prefix("def ").map(str::to_owned).unwrap_or(s));
        called.into_iter().find(|s| s.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')))
    }
}

/// Returns the signatures of the library by `module.name`. The first call reads them from the
/// library's text.
fn library_signatures() -> &'static HashMap<String, String> {
    static SIGNATURES: OnceLock<HashMap<String, String>> = OnceLock::new();
    SIGNATURES.get_or_init(|| {
        let of = |(module, text): &(&str, &str)| -> Vec<(String, String)> {
            let docs = docs::ModuleDocs::from_text(text);
            let defs = docs.definitions().filter(|d| d.kind == ItemKind::Def);
            defs.filter_map(|d| {
                let name = d.names.first()?;
                let own = d.signature.strip_prefix("def ")?.strip_prefix(name.as_str())?;
                Some((format!("{module}.{name}"), one_line(own)))
            })
            .collect()
        };
        LIBRARY.iter().flat_map(of).collect()
    })
}

/// Joins a signature of several lines to one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(" )", ")")
}
