//! **Fresh names** for values and indices that the program does not name, or whose name is in use.
//! Also spells names of other modules as the current module imports them.

use std::collections::HashSet;

use lang_base::Name;
use lang_resolve::NameEnv;
use lang_resolve::vocabulary;
use lang_syntax::lexer::{Token, lex};

/// The names for indices whose axis has no hint, in order of preference.
const INDEX_NAMES: &[&str] = &["i", "j", "k", "l", "p", "q", "r", "s", "t", "u", "v", "w"];

/// The names in use.
#[derive(Clone, Debug)]
pub(super) struct UsedNames(HashSet<Name>);

impl UsedNames {
    /// Creates the set of these names.
    pub(super) fn new(names: impl IntoIterator<Item = Name>) -> Self {
        Self(names.into_iter().collect())
    }

    /// Returns whether the name is in use.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Marks the name as used, even if it already was.
    pub(super) fn mark_used(&mut self, name: &str) {
        self.0.insert(name.into());
    }

    /// Returns an unused name close to the wanted one, and marks it as used.
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

    /// Returns a name for an index, and marks it as used: the wanted one if it is free, else the
    /// first free one of [`INDEX_NAMES`].
    pub(super) fn fresh_index(&mut self, wanted: Option<&Name>) -> Name {
        if let Some(name) = wanted.filter(|n| is_name(n) && !self.0.contains(*n)) {
            self.0.insert(name.clone());
            return name.clone();
        }
        let free = INDEX_NAMES.iter().find(|name| !self.0.contains(**name)).copied();
        self.fresh(free.unwrap_or("i"))
    }

    /// Marks the name as unused.
    pub(super) fn mark_unused(&mut self, name: &str) {
        self.0.remove(name);
    }
}

/// Returns whether the text can name a variable: one name token that is not a word of the language.
fn is_name(text: &str) -> bool {
    matches!(lex(text).tokens.as_slice(), [one] if matches!(&one.token, Token::Name(_)))
        && !vocabulary::all_words().any(|word| word == text)
}

/// Returns the name of another item as the module `home` writes it; `None` if `home` does not
/// import its module.
pub(super) fn qualified_spelling(names: &dyn NameEnv, home: &Name, of: &lang_base::GlobalName) -> Option<String> {
    if of.module == *home || of.module.is_empty() {
        return Some(of.name.to_string());
    }
    let (prefix, _) = names.imports(home).into_iter().find(|(_, module)| *module == of.module)?;
    Some(format!("{prefix}.{}", of.name))
}
