//! Names for what has none, and for what has one that is taken.

use std::collections::HashSet;

use crate::base::Name;
use crate::resolve::Names;
use crate::resolve::words;
use crate::syntax::lexer::{Token, lex};

/// What an index is called whose axis has no name, the first that is not taken.
const INDICES: &[&str] = &["i", "j", "k", "l", "p", "q", "r", "s", "t", "u", "v", "w"];

/// The names in use.
#[derive(Clone, Debug)]
pub(super) struct Taken(HashSet<Name>);

impl Taken {
    /// These alone.
    pub(super) fn new(names: impl IntoIterator<Item = Name>) -> Self {
        Self(names.into_iter().collect())
    }

    /// Is it in use?
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// It is in use, whatever else it is.
    pub(super) fn take(&mut self, name: &str) {
        self.0.insert(name.into());
    }

    /// A name that is not in use, near the wanted one; it is from now on.
    pub(super) fn fresh(&mut self, wanted: &str) -> Name {
        let wanted = if is_name(wanted) { wanted } else { "t" };
        let mut name: Name = wanted.into();
        let mut k = 2_u64;
        while self.0.contains(&name) {
            let gap = if wanted.ends_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
            name = format!("{wanted}{gap}{k}").into();
            k += 1;
        }
        self.0.insert(name.clone());
        name
    }

    /// A name for an index.
    pub(super) fn index(&mut self, wanted: Option<&Name>) -> Name {
        if let Some(name) = wanted.filter(|n| is_name(n) && !self.0.contains(*n)) {
            self.0.insert(name.clone());
            return name.clone();
        }
        let free = INDICES.iter().find(|name| !self.0.contains(**name)).copied();
        self.fresh(free.unwrap_or("i"))
    }

    /// It is not in use any more.
    pub(super) fn release(&mut self, name: &str) {
        self.0.remove(name);
    }
}

/// Can it be a variable? Not if it is a word of the language.
fn is_name(text: &str) -> bool {
    matches!(lex(text).tokens.as_slice(), [one] if matches!(&one.token, Token::Name(_)))
        && !words::all().any(|word| word == text)
}

/// A name of another item as the module of a definition writes it.
pub(super) fn spelled(names: &dyn Names, home: &Name, of: &crate::base::GlobalName) -> Option<String> {
    if of.module == *home || of.module.is_empty() {
        return Some(of.name.to_string());
    }
    let (prefix, _) = names.imports(home).into_iter().find(|(_, module)| *module == of.module)?;
    Some(format!("{prefix}.{}", of.name))
}
