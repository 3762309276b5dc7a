//! The documentation of one name, as text for people and as JSON. `lookup` builds the entries;
//! `iverson doc` and `?name` print them.

use lang_core::syntax::docs;

use crate::json;
use crate::pages;

/// The documentation of a definition, a module or a word of the language.
#[derive(Clone, Default, Debug)]
pub(crate) struct DocEntry {
    /// The name by which a user can look it up: `linalg.solve`.
    pub(crate) name: String,
    /// The module, for JSON; `None` for a word of the language.
    pub(crate) module: Option<String>,
    /// The kind: `def`, `type`, `module`, `scalar function`.
    pub(crate) kind: &'static str,
    /// The text after the name in the first line: its origin or its kind.
    pub(crate) origin: String,
    pub(crate) signature: String,
    /// The documentation in Markdown, with its examples.
    pub(crate) docs: String,
    /// The texts of its derivative rules, or of its partial derivatives.
    pub(crate) rules: Vec<String>,
    /// The text of its definition.
    pub(crate) source: Option<String>,
    /// The definitions of a module, each with a one-sentence summary.
    pub(crate) members: Vec<(String, String)>,
    /// Other definitions with the same name, each with the prefix that distinguishes it.
    pub(crate) same_name_definitions: Vec<String>,
}

impl DocEntry {
    /// Returns the first sentence of the documentation.
    pub(crate) fn summary(&self) -> String {
        first_sentence(&self.docs)
    }

    /// Renders the entry for people, with the text of the definition if `source` is true.
    pub(crate) fn text(&self, source: bool) -> String {
        let mut text = format!("{}, {}\n", self.name, self.origin);
        let own = self.source.as_deref().filter(|_| source).unwrap_or_default();
        // A form's documentation begins with its usage, and a function's text with its signature.
        // In both cases the signature line would be a repetition.
        if !own.starts_with(&self.signature) && !self.docs.starts_with(&self.signature) {
            text += &section("", &indent_code(&self.signature));
        }
        text += &section("", &indent_code(own));
        text += &section("", &pages::strip_markdown(&self.docs));
        if !self.members.is_empty() {
            text += &section("", &two_columns(&self.members));
        }
        let rules: Vec<String> = self.rules.iter().map(|rule| indent_code(rule)).collect();
        text += &section(if rules.len() == 1 { "Rule:\n\n" } else { "Rules:\n\n" }, &rules.join("\n"));
        if !self.same_name_definitions.is_empty() {
            text += &section("", &format!("See also {}.\n", self.same_name_definitions.join(", ")));
        }
        text
    }

    /// Renders the entry as JSON.
    pub(crate) fn json(&self) -> String {
        let text = |text: &str| if text.is_empty() { "null".to_owned() } else { json::string(text) };
        let (prose, example) = docs::split_examples(&self.docs);
        let name = self.name.rsplit('.').next().unwrap_or_default();
        let mut fields = vec![
            ("name", json::string(name)),
            ("module", text(self.module.as_deref().unwrap_or_default())),
            ("kind", json::string(self.kind)),
            ("signature", text(&self.signature)),
            ("doc", text(&prose)),
            ("example", text(&example)),
            ("rule", text(&self.rules.join("\n"))),
        ];
        if !self.members.is_empty() {
            let member = |(name, line): &(String, String)| {
                json::object([("name", json::string(name)), ("summary", json::string(line))])
            };
            fields.push(("definitions", json::array(self.members.iter().map(member))));
        }
        json::object(fields)
    }
}

/// Returns the first sentence of a documentation text.
pub(crate) fn first_sentence(docs: &str) -> String {
    let paragraph = docs::summary(docs);
    match paragraph.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => paragraph,
    }
}

/// Returns a section of the text after an empty line, or nothing if its body is blank.
fn section(title: &str, body: &str) -> String {
    if body.trim().is_empty() { String::new() } else { format!("\n{title}{}\n", body.trim_end()) }
}

fn indent_code(code: &str) -> String {
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") };
    code.lines().map(line).collect()
}

/// Lays out names and their lines in two columns.
pub(crate) fn two_columns(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().min(24);
    rows.iter().map(|(name, line)| format!("{}\n", format!("  {name:<width$}  {line}").trim_end())).collect()
}
