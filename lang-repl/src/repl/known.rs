//! What the line editor knows of the session: the names in scope, the signatures of functions, which
//! values have fields. The session tells it after every input; the editor only reads, so no key that is
//! pressed makes anyone compute.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use lang_core::resolve::words;
use lang_core::session::{LIBRARY, PRELUDE};
use lang_core::syntax::docs;
use lang_core::syntax::split::ItemKind;

/// Shared by the session and the editor.
pub(crate) type SharedKnown = Arc<Mutex<Known>>;

/// What is known.
#[derive(Default)]
pub(crate) struct Known {
    /// Names in scope that the session has, those with a prefix too.
    pub(crate) names: BTreeSet<String>,
    /// Signatures of what can be called: `f` to `(x: f64) -> f64`.
    pub(crate) signatures: HashMap<String, String>,
    /// What values consist of, if there is something to be chosen.
    pub(crate) shapes: HashMap<String, Shape>,
    /// Modules by the names they have here.
    pub(crate) modules: HashMap<String, String>,
    /// Are colours wanted?
    pub(crate) color: bool,
}

/// What a value consists of.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Shape {
    Record(Vec<(String, Shape)>),
    Tuple(Vec<Shape>),
    /// An array of that.
    Array(Box<Shape>),
    /// Nothing that can be chosen.
    Other,
}

impl Shape {
    /// What stands after the dot behind it.
    pub(crate) fn parts(&self) -> Vec<String> {
        match self {
            Self::Record(fields) => fields.iter().map(|(name, _)| name.clone()).collect(),
            Self::Tuple(parts) => (0..parts.len()).map(|k| k.to_string()).collect(),
            Self::Array(_) | Self::Other => Vec::new(),
        }
    }

    /// The part of that name.
    pub(crate) fn part(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Record(fields) => fields.iter().find(|(field, _)| field == name).map(|(_, shape)| shape),
            Self::Tuple(parts) => parts.get(name.parse::<usize>().ok()?),
            Self::Array(_) | Self::Other => None,
        }
    }

    /// An element, however many subscripts choose it.
    pub(crate) fn element(&self) -> &Self {
        match self {
            Self::Array(element) => element,
            other => other,
        }
    }
}

impl Known {
    /// The signature of what is called by that name, which stands before a parenthesis: of the session,
    /// of the prelude, of an imported module, of the language.
    pub(crate) fn signature(&self, name: &str) -> Option<String> {
        if let Some(own) = self.signatures.get(name) {
            return Some(format!("{name}{own}"));
        }
        if self.names.contains(name) && !name.contains('.') {
            return None;
        }
        if let Some((prefix, inner)) = name.split_once('.') {
            let module = self.modules.get(prefix)?;
            return library().get(&format!("{module}.{inner}")).map(|own| format!("{name}{own}"));
        }
        if let Some(own) = library().get(&format!("{PRELUDE}.{name}")) {
            return Some(format!("{name}{own}"));
        }
        let called = words::describe(name).into_iter().map(|word| word.signature);
        let called = called.map(|s| s.strip_prefix("def ").map(str::to_owned).unwrap_or(s));
        called.into_iter().find(|s| s.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')))
    }
}

/// Signatures of the library, read from its text when first needed.
fn library() -> &'static HashMap<String, String> {
    static SIGNATURES: OnceLock<HashMap<String, String>> = OnceLock::new();
    SIGNATURES.get_or_init(|| {
        let of = |(module, text): &(&str, &str)| -> Vec<(String, String)> {
            let docs = docs::Module::of(text);
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

/// A signature that may stand on several lines, on one.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(" )", ")")
}
