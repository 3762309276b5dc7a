//! **Documentation extraction.** Reads the documentation of a module from its text: the head
//! comment, the sections, and each definition's signature, documentation and rules. It needs only
//! the parser, so it works for a module with errors.
//!
//! Documentation is Markdown. Its examples are blocks of `iverson`, each followed by a block of
//! `output` with the printed result. The REPL and the language server show these parts.

use super::ast::{Item, TypeBody, TypeExpr};
use super::lexer::{Token, lex};
use super::parser::parse_split;
use super::split::{ItemKind, split};
use super::token::Sym;
use lang_base::Name;

/// The documentation of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleDocs {
    /// The comment at the start of the module, if it ends with a full stop; otherwise empty.
    pub head: String,
    /// Sections and definitions, in source order.
    pub parts: Vec<DocsPart>,
}

/// A part of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DocsPart {
    /// A comment with blank lines around it: its first sentence, without the full stop, and the
    /// rest.
    Section(String, String),
    /// A definition.
    Definition(DefinitionDocs),
}

/// A `def`, `type` or `let`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefinitionDocs {
    /// The kind of item.
    pub kind: ItemKind,
    /// The defined names: the name itself, and for a sum type its constructors after it.
    pub names: Vec<Name>,
    /// The text before `=` for a `def` or `let`; the whole text for a `type`.
    pub signature: String,
    /// Whether the signature contains the type: a `def` has a result, a `let` a type.
    pub has_type: bool,
    /// The text of its `--|` lines; empty if it has none.
    pub docs: String,
    /// Its source text, from the keyword on.
    pub source: String,
    /// The offset of the source text in the module.
    pub start: u32,
    /// Its rules, collected from anywhere in the module.
    pub rules: Vec<RuleDocs>,
}

/// A derivative rule of a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleDocs {
    /// `derivative` or `adjoint`.
    pub keyword: &'static str,
    /// Its source text.
    pub source: String,
}

impl ModuleDocs {
    /// Reads the documentation of a module from its text.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let mut parts: Vec<(u32, DocsPart)> = Vec::new();
        let mut rules = Vec::new();
        for item in split(text) {
            let tree = parse_split(item.kind, &item.text).tree;
            let source = item.text.get(tree.span.range()).unwrap_or_default().to_owned();
            let (names, typed) = match (&tree.item, item.kind) {
                (_, ItemKind::Derivative) => {
                    rules.push((item.name, RuleDocs { keyword: "derivative", source }));
                    continue;
                }
                (_, ItemKind::Adjoint) => {
                    rules.push((item.name, RuleDocs { keyword: "adjoint", source }));
                    continue;
                }
                (Item::Def(def), _) => (vec![item.name], def.result.is_some()),
                (Item::Let(found), _) => {
                    (item.name.split(',').filter(|n| !n.is_empty()).map(Name::from).collect(), found.ty.is_some())
                }
                (Item::Type(ty), _) => {
                    let mut names = vec![item.name];
                    match &ty.body {
                        TypeBody::Sum(ctors) => names.extend(ctors.iter().map(|c| c.name.name.clone())),
                        TypeBody::Single(body) => {
                            // The name may be a constructor, because no type of that name is known
                            // here.
                            if let TypeExpr::Name { module: None, name, .. } = &tree.types[*body].kind {
                                names.push(name.name.clone());
                            }
                        }
                    }
                    (names, true)
                }
                _ => continue,
            };
            let signature = match item.kind {
                ItemKind::Type => source.clone(),
                _ => signature_text(&source),
            };
            let start = item.start.saturating_add(tree.span.start);
            let (kind, docs, rules) = (item.kind, tree.docs, Vec::new());
            let definition = DefinitionDocs { kind, names, signature, has_type: typed, docs, source, start, rules };
            parts.push((start, DocsPart::Definition(definition)));
        }
        for (name, rule) in rules {
            let of = parts.iter_mut().find_map(|(_, part)| match part {
                DocsPart::Definition(d) if d.kind == ItemKind::Def && d.names.contains(&name) => Some(d),
                _ => None,
            });
            if let Some(definition) = of {
                definition.rules.push(rule);
            }
        }
        let mut head = String::new();
        for (at, comment) in standalone_comments(text) {
            if head.is_empty() && at == 0 && comment.ends_with('.') {
                head = comment;
            } else {
                let (title, rest) = comment.split_once(". ").unwrap_or((&comment, ""));
                let title = title.trim_end_matches('.').replace('\n', " ");
                parts.push((at, DocsPart::Section(title, rest.to_owned())));
            }
        }
        parts.sort_by_key(|(at, _)| *at);
        Self { head, parts: parts.into_iter().map(|(_, part)| part).collect() }
    }

    /// Returns the definitions, in source order.
    pub fn definitions(&self) -> impl Iterator<Item = &DefinitionDocs> {
        self.parts.iter().filter_map(|part| match part {
            DocsPart::Definition(definition) => Some(definition),
            DocsPart::Section(..) => None,
        })
    }

    /// Returns the definition of a name. A function or variable takes precedence over a type, and a
    /// type over a constructor.
    #[must_use]
    pub fn definition(&self, name: &str) -> Option<&DefinitionDocs> {
        let rank = |d: &&DefinitionDocs| match d.kind {
            ItemKind::Def | ItemKind::Let => 0,
            _ if d.names.first().is_some_and(|n| n == name) => 1,
            _ => 2,
        };
        self.definitions().filter(|d| d.names.iter().any(|n| n == name)).min_by_key(rank)
    }
}

/// Returns the text before the `=` of a definition.
fn signature_text(source: &str) -> String {
    let mut depth = 0usize;
    let assign = lex(source).tokens.into_iter().find(|t| {
        match t.token {
            Token::Sym(sym) if sym.closer().is_some() => depth += 1,
            Token::Sym(sym) if sym.is_closer() => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && t.token == Token::Sym(Sym::Assign)
    });
    let end = assign.map_or(source.len(), |t| t.span.range().start);
    source.get(..end).unwrap_or(source).trim_end().to_owned()
}

/// Returns the blocks of `--` lines in column 0 with no other text directly above or below, with
/// their offsets.
fn standalone_comments(text: &str) -> Vec<(u32, String)> {
    let plain = |line: &str| line.starts_with("--") && !line.starts_with("--|");
    let mut found = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    let (mut at, mut begin, mut lone) = (0usize, 0usize, true);
    for line in text.split_inclusive('\n').chain([""]) {
        let shown = line.trim_end();
        if plain(shown) {
            if block.is_empty() {
                begin = at;
            }
            let words = shown.trim_start_matches("--");
            block.push(words.strip_prefix(' ').unwrap_or(words));
        } else {
            // A head comment may directly precede an `import`, because it belongs to the module.
            let below = shown.is_empty() || begin == 0 && shown.starts_with("import ");
            if !block.is_empty() && lone && below {
                found.push((u32::try_from(begin).unwrap_or(u32::MAX), block.join("\n")));
            }
            block.clear();
            lone = shown.is_empty();
        }
        at += line.len();
    }
    found
}

/// Returns the first paragraph of documentation as one line.
#[must_use]
pub fn summary(docs: &str) -> String {
    let paragraph = docs.lines().take_while(|line| !line.trim().is_empty() && !line.starts_with("```"));
    paragraph.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Splits documentation into the prose and the examples.
#[must_use]
pub fn split_examples(docs: &str) -> (String, String) {
    let (mut prose, mut examples) = (String::new(), String::new());
    let mut fenced = false;
    for line in docs.lines() {
        let opens = !fenced && (line.starts_with("```iverson") || line.starts_with("```output"));
        let into = if fenced || opens { &mut examples } else { &mut prose };
        into.push_str(line);
        into.push('\n');
        fenced = opens || fenced && line.trim_end() != "```";
    }
    (prose.trim().to_owned(), examples.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
-- Shapes. And
-- more.
import linalg

-- Making

--| A shape.
--|
--| ```iverson
--| shapes.unit()
--| ```
type Shape = Disc(f64) | Square(f64)

-- Measures. Of the
-- plane.

--| Its area,
--| exactly.
def area(
  s: Shape
) -> f64 = match s { Disc(r): pi * r^2, Square(a): a^2 }
-- not documentation
derivative area(s; ds) = 0

def f(x: f64) = x
let (a, b): (i64, i64) = (1, 2)
adjoint area(s; dy) = ()
";

    #[test]
    fn a_module_in_parts() {
        let module = ModuleDocs::from_text(TEXT);
        assert_eq!(module.head, "Shapes. And\nmore.");
        let shown = |part: &DocsPart| match part {
            DocsPart::Section(title, text) => format!("# {title}|{text}"),
            DocsPart::Definition(d) => {
                let rules: Vec<&str> = d.rules.iter().map(|r| r.keyword).collect();
                format!("{:?} {:?} {} {} {rules:?}", d.names, d.signature, d.has_type, summary(&d.docs))
            }
        };
        let parts: Vec<String> = module.parts.iter().map(shown).collect();
        assert_eq!(
            parts,
            [
                "# Making|",
                "[\"Shape\", \"Disc\", \"Square\"] \"type Shape = Disc(f64) | Square(f64)\" true A shape. []",
                "# Measures|Of the\nplane.",
                "[\"area\"] \"def area(\\n  s: Shape\\n) -> f64\" true Its area, exactly. [\"derivative\", \"adjoint\"]",
                "[\"f\"] \"def f(x: f64)\" false  []",
                "[\"a\", \"b\"] \"let (a, b): (i64, i64)\" true  []",
            ]
        );
        assert_eq!(module.definition("Disc").map(|d| d.source.as_str()), Some("type Shape = Disc(f64) | Square(f64)"));
        assert_eq!(module.definition("linalg"), None);
    }

    #[test]
    fn no_head_is_a_section() {
        let module = ModuleDocs::from_text("-- Making\n\ndef f() -> i64 = 1\n");
        assert_eq!((module.head.as_str(), module.parts.len()), ("", 2));
        assert_eq!(
            ModuleDocs::from_text("-- Only a comment."),
            ModuleDocs { head: "Only a comment.".to_owned(), parts: vec![] }
        );
        assert_eq!(ModuleDocs::from_text("def ((\n-- x").definitions().count(), 1);
    }

    #[test]
    fn examples_apart() {
        let (prose, example) = split_examples("One\ntwo.\n\n```iverson\nf(1)\n```\n```output\n1\n```\nAfter.");
        assert_eq!(prose, "One\ntwo.\n\nAfter.");
        assert_eq!(example, "```iverson\nf(1)\n```\n```output\n1\n```");
        assert_eq!(split_examples("```text\nx\n```"), ("```text\nx\n```".to_owned(), String::new()));
    }
}
