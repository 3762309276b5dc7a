//! **Hover contents** and their rendering, as Markdown or as plain text. [`crate::hover`] fills a
//! [`Hover`], and the server renders it.

use lang_core::base::{Name, Span};

use crate::table::format_lets;

/// The note for a variable that is shadowed at the hovered expression.
pub(crate) const SHADOWED_SUFFIX: &str = "that is shadowed here";

/// The contents of a hover.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Hover {
    /// The span that the hover describes.
    pub span: Span,
    /// Iverson code: a signature, or an expression with its type.
    pub code: String,
    /// A short description of the kind of thing.
    pub kind_text: String,
    /// The rows of the first table: a label and code.
    pub rows: Vec<(String, String)>,
    /// The `let`s that the table mentions.
    pub lets: Vec<String>,
    /// Further tables with their `let`s. A new table begins if a `let` would redefine a name of the
    /// previous one.
    pub further_tables: Vec<HoverTable>,
    /// Notes on the tables: the meaning of a name in them, or the reason why derivatives are
    /// missing.
    pub notes: Vec<String>,
    /// Documentation, as Markdown.
    pub docs: String,
    /// The adjoint as Iverson source.
    pub adjoint: String,
    /// Whether costs and derivatives exist that this depth did not request.
    pub pending: bool,
}

/// A table with the `let`s that it mentions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HoverTable {
    /// The rows: a label and code.
    pub rows: Vec<(String, String)>,
    /// The `let`s.
    pub lets: Vec<String>,
}

impl Hover {
    /// Notes that the derivatives are missing, if there is a reason to show.
    pub(crate) fn note_missing(&mut self, what: &str, why: Option<String>) {
        if let Some(why) = why {
            self.add_note(format!("the {what} not shown: {why}"));
        }
    }

    /// Adds a note unless it is already present.
    pub(crate) fn add_note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Notes the variables that are shadowed here, with the names that the rows use for them.
    pub(crate) fn note_shadowed(&mut self, hidden: &[(Name, Name)]) {
        hidden.iter().for_each(|(own, name)| self.add_note(format!("`{own}` is the `{name}` {SHADOWED_SUFFIX}")));
    }

    /// Adds rows with the `let`s that they mention. They become a table of their own if a `let`
    /// redefines a name of the last table.
    pub(crate) fn add_rows(&mut self, rows: Vec<(String, String)>, lets: Vec<String>) {
        let (last, known) = match self.further_tables.last_mut() {
            Some(HoverTable { rows, lets }) => (rows, lets),
            None => (&mut self.rows, &mut self.lets),
        };
        let named = |l: &String| l.split_once(" = ").map(|(name, _)| name.to_owned());
        let other = |l: &String| known.iter().any(|m| m != l && named(m).is_some() && named(m) == named(l));
        if lets.iter().any(other) {
            self.further_tables.push(HoverTable { rows, lets });
        } else {
            last.extend(rows);
            let new: Vec<String> = lets.into_iter().filter(|l| !known.contains(l)).collect();
            known.extend(new);
        }
    }

    /// Renders the hover as Markdown. If `tables` is false, rows become lines of text, for clients
    /// that do not render tables.
    #[must_use]
    pub fn markdown(&self, tables: bool) -> String {
        let mut parts = Vec::new();
        if !self.code.is_empty() {
            parts.push(format!("```iverson\n{}\n```", self.code));
        }
        parts.extend(Some(self.kind_text.clone()).filter(|what| !what.is_empty()));
        for (rows, lets) in self.tables() {
            if !rows.is_empty() && !tables {
                parts.push(format!("```\n{}\n```", align_rows(rows)));
            } else if !rows.is_empty() {
                let cell = |code: &str| format!("`{}`", code.replace('|', "\\|"));
                let rows =
                    rows.iter().map(|(what, code)| format!("| {} | {} |\n", what.replace('|', "\\|"), cell(code)));
                parts.push(format!("| | |\n|---|---|\n{}", rows.collect::<String>().trim_end()));
            }
            if !lets.is_empty() {
                parts.push(format!("where\n```iverson\n{}\n```", format_lets(lets)));
            }
        }
        parts.extend(self.notes.iter().map(|note| format!("*{note}*")));
        if self.pending {
            parts.push("*costs and derivatives are being computed*".to_owned());
        }
        parts.extend(Some(self.docs.clone()).filter(|docs| !docs.is_empty()));
        if !self.adjoint.is_empty() {
            parts.push(format!("```iverson\n{}\n```", self.adjoint.trim_end()));
        }
        parts.join("\n\n")
    }

    /// Returns the tables with their `let`s.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&[(String, String)], &[String])> {
        let first = (self.rows.as_slice(), self.lets.as_slice());
        [first]
            .into_iter()
            .chain(self.further_tables.iter().map(|after| (after.rows.as_slice(), after.lets.as_slice())))
    }

    /// Renders the hover as plain text.
    #[must_use]
    pub fn plain(&self) -> String {
        let mut parts = vec![self.code.clone(), self.kind_text.clone()];
        for (rows, lets) in self.tables() {
            parts.push(align_rows(rows));
            if !lets.is_empty() {
                parts.push(format!("where\n  {}", format_lets(lets).replace('\n', "\n  ")));
            }
        }
        parts.extend(self.notes.iter().cloned());
        if self.pending {
            parts.push("costs and derivatives are being computed".to_owned());
        }
        parts.extend([self.docs.clone(), self.adjoint.trim_end().to_owned()]);
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n")
    }
}

/// Renders rows as aligned lines.
fn align_rows(rows: &[(String, String)]) -> String {
    let wide = rows.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
    let rows: Vec<String> = rows.iter().map(|(what, code)| format!("{what:<wide$}  {code}")).collect();
    rows.join("\n")
}
