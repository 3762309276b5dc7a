//! What there is to say of a name, as text for people and as JSON.

use lang_core::syntax::docs;

use crate::json;
use crate::pages;

/// What a name is: a definition, a module, a word of the language.
#[derive(Clone, Default, Debug)]
pub(crate) struct Entry {
    /// As it may be asked for: `linalg.solve`.
    pub(crate) name: String,
    /// The module, as JSON has it; a word of the language has none.
    pub(crate) module: Option<String>,
    /// `def`, `type`, `module`, `scalar function`.
    pub(crate) kind: &'static str,
    /// What stands after the name in the first line: where it is from or what it is.
    pub(crate) origin: String,
    pub(crate) signature: String,
    /// Markdown, examples included.
    pub(crate) docs: String,
    /// The texts of its rules, or of its partial derivatives.
    pub(crate) rules: Vec<String>,
    /// The text of its definition.
    pub(crate) source: Option<String>,
    /// Of a module its definitions, each with a sentence.
    pub(crate) members: Vec<(String, String)>,
    /// Others of that name, which a prefix tells apart.
    pub(crate) others: Vec<String>,
}

impl Entry {
    /// The first sentence of the documentation.
    pub(crate) fn summary(&self) -> String {
        sentence(&self.docs)
    }

    /// For people; with the text of the definition, if wanted.
    pub(crate) fn text(&self, source: bool) -> String {
        let mut text = format!("{}, {}\n", self.name, self.origin);
        let own = self.source.as_deref().filter(|_| source).unwrap_or_default();
        // The line of a form begins with how it is used, the text of a function with its signature.
        if !own.starts_with(&self.signature) && !self.docs.starts_with(&self.signature) {
            text += &section("", &indented(&self.signature));
        }
        text += &section("", &indented(own));
        text += &section("", &pages::for_terminal(&self.docs));
        if !self.members.is_empty() {
            text += &section("", &columns(&self.members));
        }
        let rules: Vec<String> = self.rules.iter().map(|rule| indented(rule)).collect();
        text += &section(if rules.len() == 1 { "Rule:\n\n" } else { "Rules:\n\n" }, &rules.join("\n"));
        if !self.others.is_empty() {
            text += &section("", &format!("See also {}.\n", self.others.join(", ")));
        }
        text
    }

    /// For programs.
    pub(crate) fn json(&self) -> String {
        let text = |text: &str| if text.is_empty() { "null".to_owned() } else { json::string(text) };
        let (prose, example) = docs::without_examples(&self.docs);
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

/// The first sentence of documentation.
pub(crate) fn sentence(docs: &str) -> String {
    let paragraph = docs::summary(docs);
    match paragraph.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => paragraph,
    }
}

/// A part of the text, after an empty line; nothing if there is nothing.
fn section(title: &str, body: &str) -> String {
    if body.trim().is_empty() { String::new() } else { format!("\n{title}{}\n", body.trim_end()) }
}

fn indented(code: &str) -> String {
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") };
    code.lines().map(line).collect()
}

/// Names and lines side by side.
pub(crate) fn columns(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().min(24);
    rows.iter().map(|(name, line)| format!("{}\n", format!("  {name:<width$}  {line}").trim_end())).collect()
}
