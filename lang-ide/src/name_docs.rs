//! **Documentation of names.** The signature and documentation of a name, computed on demand: for
//! `completionItem/resolve` and for signature help.

use lang_core::base::{GlobalName, ModuleName, Name};
use lang_core::resolve::vocabulary;
use lang_core::session::{PRELUDE, Session};
use lang_core::syntax::ast::Item;
use lang_core::syntax::docs;

use crate::symbols::join_code_lines;

/// A thing that has documentation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DocumentedName {
    /// A definition or a variable of a top-level `let`.
    Value(GlobalName),
    /// A type.
    Type(GlobalName),
    /// A constructor: its type, its name.
    Ctor(GlobalName, Name),
    /// A module.
    Module(ModuleName),
    /// A word of the language.
    Word(Name),
}

/// The signature and documentation of a subject.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct NameDocs {
    /// Code, for example `def f(x: f64) -> f64`.
    pub signature: String,
    /// Markdown; empty if there is no documentation.
    pub docs: String,
}

impl DocumentedName {
    /// Returns a text that identifies the subject, because a completion item can carry text to
    /// `completionItem/resolve`.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Value(name) => format!("value\n{}\n{}", name.module, name.name),
            Self::Type(name) => format!("type\n{}\n{}", name.module, name.name),
            Self::Ctor(ty, name) => format!("constructor\n{}\n{}\n{name}", ty.module, ty.name),
            Self::Module(module) => format!("module\n{module}"),
            Self::Word(word) => format!("word\n{word}"),
        }
    }

    /// Parses a text that [`DocumentedName::key`] returned.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        let parts: Vec<&str> = key.split('\n').collect();
        match parts.as_slice() {
            ["value", module, name] => Some(Self::Value(GlobalName::new(module, name))),
            ["type", module, name] => Some(Self::Type(GlobalName::new(module, name))),
            ["constructor", module, ty, name] => Some(Self::Ctor(GlobalName::new(module, ty), (*name).into())),
            ["module", module] => Some(Self::Module((*module).into())),
            ["word", word] => Some(Self::Word((*word).into())),
            _ => None,
        }
    }

    /// Returns the signature and documentation, or `None` if the subject no longer exists. A result
    /// type or `let` type that is not written is inferred by the checker.
    #[must_use]
    pub fn docs(&self, session: &Session) -> Option<NameDocs> {
        match self {
            Self::Value(name) => {
                let item = session.item(name)?;
                let parsed = session.tree(&item)?;
                let signature = match &parsed.tree.item {
                    Item::Let(_) => {
                        let ty = session.let_type(name);
                        ty.map_or_else(|| format!("let {}", name.name), |ty| format!("let {}: {ty}", name.name))
                    }
                    Item::Def(def) => match (def.result, session.signature(name)) {
                        (None, Some(signature)) => format!("def {}{signature}", name.name),
                        _ => declaration_head(&item.text, parsed.tree.span.range()),
                    },
                    _ => declaration_head(&item.text, parsed.tree.span.range()),
                };
                Some(NameDocs { signature, docs: parsed.tree.docs.clone() })
            }
            Self::Type(name) | Self::Ctor(name, _) => {
                let item = session.type_item(name)?;
                let parsed = session.tree(&item)?;
                let text = item.text.get(parsed.tree.span.range()).unwrap_or_default();
                Some(NameDocs { signature: join_code_lines(text), docs: parsed.tree.docs.clone() })
            }
            Self::Module(module) => {
                let text = session.text(module)?;
                let signature = if *module == PRELUDE { String::new() } else { format!("import {module}") };
                Some(NameDocs { signature, docs: docs::ModuleDocs::from_text(&text).head })
            }
            Self::Word(word) => {
                let all = vocabulary::describe(word);
                let first = all.first()?;
                let docs: Vec<String> = all.iter().map(vocabulary::WordDoc::description).collect();
                let signatures: Vec<&str> = all.iter().map(|d| d.signature.as_str()).collect();
                let partials = first.partials.iter().map(|(by, partial)| format!("\n\n∂/∂{by}: `{partial}`"));
                Some(NameDocs {
                    signature: signatures.join("\n"),
                    docs: docs.join("\n\n") + &partials.collect::<String>(),
                })
            }
        }
    }
}

/// Returns the text before the `=` of a definition.
fn declaration_head(text: &str, range: std::ops::Range<usize>) -> String {
    use lang_core::syntax::lexer::{Token, lex};
    use lang_core::syntax::token::Sym;
    let code = text.get(range).unwrap_or_default();
    let lexed = lex(code);
    let end = lexed.tokens.iter().find(|t| t.token == Token::Sym(Sym::Assign)).map(|t| t.span.range().start);
    join_code_lines(code.get(..end.unwrap_or(code.len())).unwrap_or_default())
}
