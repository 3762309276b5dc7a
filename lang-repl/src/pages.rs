//! Pages of the book that are compiled into the binary: the error codes, and the examples of the
//! words of the language. So `iverson explain` and `iverson doc` need no files.

use lang_core::base::Code;

macro_rules! pages {
    ($($code:ident)*) => {
        /// Returns the page of a code. A code without a page does not compile.
        pub(crate) fn page(code: Code) -> &'static str {
            match code {
                $(Code::$code => include_str!(concat!("../../docs/book/src/errors/", stringify!($code), ".md"))),*
            }
        }
    };
}

pages! {
    E0001 E0002 E0003 E0004 E0005 E0006 E0007 E0008 E0009 E0010 E0011 E0012
    E0100 E0101 E0102 E0103 E0104 E0105 E0106 E0107 E0108 E0109 W0110 E0200
    E0201 E0202 E0203 E0204 E0205 E0206 E0207 E0208 E0209 E0210 E0211 E0212
    E0213 E0214 E0215 E0216 E0217 E0218 E0219 W0220 E0300 E0301 E0302 E0303 E0304 E0305 E0306
    E0307 E0308 E0309 E0310 E0311 W0312 W0313 W0314 E0400 W0401 E0402 E0403 E0404 E0500 E0501 E0502
    E0503 E0504 E0505 E0506 E0507 E0508 E0509 E0510 E0511 E0512 E0513 E0514 E0515 E0516 E0517 E0600
    E0601 E0602 E0603 E0604 E0605 W0606 W0700
}

/// The page of words. Each section has the names of its words, in backticks, in its title, and then
/// examples.
static WORDS: &str = include_str!("../../docs/book/src/reference/words.md");

/// Returns the titles and texts of the sections of the page of words.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    WORDS.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'))
}

/// Returns the section of a word.
pub(crate) fn word_section(name: &str) -> Option<String> {
    let title = format!("`{name}`");
    let (_, text) = sections().find(|(names, _)| names.split(", ").any(|n| n == title))?;
    // HTML comments are for the page's tests.
    let lines: Vec<&str> = text.trim().lines().filter(|line| !line.starts_with("<!--")).collect();
    Some(lines.join("\n"))
}

/// Renders a page without Markdown marks: code is indented, and links become their text.
pub(crate) fn strip_markdown(page: &str) -> String {
    let mut text = String::new();
    let mut code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            code = !code;
            // The fences of code and of its output follow each other directly.
            if code && !text.is_empty() && !text.ends_with("\n\n") {
                text.push('\n');
            }
        } else if code {
            text += &format!("    {line}\n");
        } else if !line.starts_with("<!--") {
            text += &without_links(line.strip_prefix("# ").unwrap_or(line));
            text.push('\n');
        }
    }
    text
}

/// Replaces links by their text: `[E0501](E0501.md)` becomes `E0501`.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let (Some((lead, words)), Some((_, tail))) = (before.rsplit_once('['), after.split_once(')')) else { break };
        text.extend([lead, words]);
        rest = tail;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use lang_core::resolve::vocabulary;

    #[test]
    fn every_word_has_an_example() {
        for name in vocabulary::all_words() {
            assert!(word_section(name).is_some_and(|text| text.contains("```iverson")), "{name}");
        }
        for (title, _) in sections() {
            for name in title.split(", ").map(|n| n.trim_matches('`')) {
                assert!(!vocabulary::describe(name).is_empty(), "{name} is no word");
            }
        }
    }
}
