//! What a hover tells, and how it is written: as Markdown, or as plain text.

use lang_core::base::{Name, Span};

use crate::cells::laid_out;

/// What is said of a variable whose name means another one.
pub(crate) const HIDES: &str = "that another one hides here";

/// What is told of a place.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Hover {
    /// What it is told of.
    pub span: Span,
    /// In Iverson: a signature, or an expression with its type.
    pub code: String,
    /// What it is, in a few words.
    pub what: String,
    /// A table: what, and code.
    pub rows: Vec<(String, String)>,
    /// `let`s that the table mentions.
    pub lets: Vec<String>,
    /// More tables with their `let`s, where a name is another in these.
    pub after: Vec<Table>,
    /// What is to be said of the tables: what a name in them is, what they do not tell, and why.
    pub notes: Vec<String>,
    /// Documentation, as Markdown.
    pub docs: String,
    /// Its adjoint as Iverson.
    pub adjoint: String,
    /// Is there more to be told that was not asked for?
    pub pending: bool,
}

/// A table, with `let`s that it mentions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// What, and code.
    pub rows: Vec<(String, String)>,
    /// The `let`s.
    pub lets: Vec<String>,
}

impl Hover {
    /// That the derivatives of this name are not told, for this reason.
    pub(crate) fn missing(&mut self, what: &str, why: Option<String>) {
        if let Some(why) = why {
            self.note(format!("the {what} not shown: {why}"));
        }
    }

    /// Something to be said of the tables, once.
    pub(crate) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What variables are called whose names stand for others here.
    pub(crate) fn hides(&mut self, hidden: &[(Name, Name)]) {
        hidden.iter().for_each(|(own, name)| self.note(format!("`{own}` is the `{name}` {HIDES}")));
    }

    /// More rows, and what they mention: a table of their own where a name stands for something else in the last one.
    pub(crate) fn add(&mut self, rows: Vec<(String, String)>, lets: Vec<String>) {
        let (last, known) = match self.after.last_mut() {
            Some(Table { rows, lets }) => (rows, lets),
            None => (&mut self.rows, &mut self.lets),
        };
        let named = |l: &String| l.split_once(" = ").map(|(name, _)| name.to_owned());
        let other = |l: &String| known.iter().any(|m| m != l && named(m).is_some() && named(m) == named(l));
        if lets.iter().any(other) {
            self.after.push(Table { rows, lets });
        } else {
            last.extend(rows);
            let new: Vec<String> = lets.into_iter().filter(|l| !known.contains(l)).collect();
            known.extend(new);
        }
    }

    /// As Markdown. Rows are a table, or, for who does not show one as that, lines of text.
    #[must_use]
    pub fn markdown(&self, tables: bool) -> String {
        let mut parts = Vec::new();
        if !self.code.is_empty() {
            parts.push(format!("```iverson\n{}\n```", self.code));
        }
        parts.extend(Some(self.what.clone()).filter(|what| !what.is_empty()));
        for (rows, lets) in self.tables() {
            if !rows.is_empty() && !tables {
                parts.push(format!("```\n{}\n```", lines(rows)));
            } else if !rows.is_empty() {
                let cell = |code: &str| format!("`{}`", code.replace('|', "\\|"));
                let rows =
                    rows.iter().map(|(what, code)| format!("| {} | {} |\n", what.replace('|', "\\|"), cell(code)));
                parts.push(format!("| | |\n|---|---|\n{}", rows.collect::<String>().trim_end()));
            }
            if !lets.is_empty() {
                parts.push(format!("where\n```iverson\n{}\n```", laid_out(lets)));
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

    /// Its tables with their `let`s.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&[(String, String)], &[String])> {
        let first = (self.rows.as_slice(), self.lets.as_slice());
        [first].into_iter().chain(self.after.iter().map(|after| (after.rows.as_slice(), after.lets.as_slice())))
    }

    /// As text.
    #[must_use]
    pub fn plain(&self) -> String {
        let mut parts = vec![self.code.clone(), self.what.clone()];
        for (rows, lets) in self.tables() {
            parts.push(lines(rows));
            if !lets.is_empty() {
                parts.push(format!("where\n  {}", laid_out(lets).replace('\n', "\n  ")));
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

/// Rows as lines.
fn lines(rows: &[(String, String)]) -> String {
    let wide = rows.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
    let rows: Vec<String> = rows.iter().map(|(what, code)| format!("{what:<wide$}  {code}")).collect();
    rows.join("\n")
}
