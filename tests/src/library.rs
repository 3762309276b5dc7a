//! **Documentation tests** of the standard library. Runs and records the examples in a module's
//! comments, and generates the module's page of the book.
//!
//! An example is a block of inputs as at the REPL: items, and expressions whose values are shown.
//! It imports the module that it documents under the module's own name.

use lang_core::session::{PRELUDE, Session};
use lang_core::syntax::docs::{DefinitionDocs, DocsPart, ModuleDocs, split_examples};
use lang_core::syntax::parser::{is_incomplete, parse_expr, parse_item};
use lang_core::syntax::split::ItemKind;

use crate::literate::{self, BlockKind};
use crate::run;

/// The first line of a generated page, up to the name of its source.
pub const GENERATED_PREFIX: &str = "<!-- Made from ";

/// Returns the name under which a module is shown.
#[must_use]
pub fn title(module: &str) -> &str {
    if module == PRELUDE { "prelude" } else { module }
}

/// Runs the examples of a module's text and checks that every definition has some. The session must
/// hold the module. Returns the faults, and the text with the current outputs.
#[must_use]
pub fn check(session: &mut Session, module: &str, text: &str) -> (Vec<String>, String) {
    let mut faults = Vec::new();
    let mut updated = String::new();
    let mut copied = 0;
    let documented = ModuleDocs::from_text(text);
    if documented.head.is_empty() {
        faults.push(format!("{}: no comment at its head, in sentences, says what it is", title(module)));
    }
    for definition in documented.definitions() {
        let name = qualified(module, definition);
        if definition.docs.is_empty() {
            faults.push(format!("{name} has no documentation"));
            continue;
        }
        let mut shows = false;
        let seen = literate::check(&format!("{}\n", definition.docs), |blocks, at| {
            let example = blocks.get(at).filter(|block| block.kind == BlockKind::Program);
            let output = example.map_or_else(String::new, |block| example_output(session, module, &block.text));
            shows |= !output.is_empty();
            output
        });
        match (seen, documentation_range(text, definition)) {
            (Ok((found, docs)), Some((from, to))) => {
                faults.extend(found.iter().map(|fault| format!("{name}, {fault}")));
                updated.push_str(text.get(copied..from).unwrap_or_default());
                for line in docs.lines() {
                    updated.push_str(format!("--| {line}").trim_end());
                    updated.push('\n');
                }
                copied = to;
            }
            (Ok(_), None) => faults.push(format!("{name}: no comment stands above it")),
            (Err(fault), _) => faults.push(format!("{name}: {fault} of its documentation")),
        }
        if definition.kind == ItemKind::Def && !shows {
            faults.push(format!("{name} has no example that shows something"));
        }
    }
    updated.push_str(text.get(copied..).unwrap_or_default());
    (faults, updated)
}

/// Returns the byte range of a definition's documentation in the module's text.
fn documentation_range(text: &str, definition: &DefinitionDocs) -> Option<(usize, usize)> {
    let above = text.get(..usize::try_from(definition.start).ok()?)?;
    let lines = above.split_inclusive('\n').rev().take_while(|line| line.starts_with("--|"));
    Some((above.len() - lines.map(str::len).sum::<usize>(), above.len()))
}

/// Returns the output of an example of a module.
fn example_output(session: &mut Session, module: &str, example: &str) -> String {
    let mut program = String::new();
    for input in inputs(example) {
        let wrong = |diagnostics: &[lang_core::base::Diagnostic]| diagnostics.iter().any(|d| d.is_error());
        let expression = wrong(&parse_item(&input).diagnostics) && !wrong(&parse_expr(&input).diagnostics);
        program.push_str(if expression { "do " } else { "" });
        program.push_str(&input);
    }
    // The import follows the example, so that positions in messages are those of the example. An
    // import applies to the whole file.
    if module != PRELUDE {
        program.push_str(&format!("import {module}\n"));
    }
    run::output_in_session(session, &program)
}

/// Splits an example into inputs, each with the end of its last line. A line begins an input unless
/// it is indented or the parser needs more text after the previous lines.
fn inputs(example: &str) -> Vec<String> {
    let mut inputs: Vec<String> = Vec::new();
    for line in example.split_inclusive('\n').filter(|line| !line.trim().is_empty()) {
        match inputs.last_mut() {
            Some(last) if line.starts_with(' ') || is_incomplete(last) => last.push_str(line),
            _ => inputs.push(line.to_owned()),
        }
    }
    inputs
}

fn qualified(module: &str, definition: &DefinitionDocs) -> String {
    let names: Vec<&str> = match definition.kind {
        ItemKind::Type => definition.names.iter().take(1).map(|n| n.as_str()).collect(),
        _ => definition.names.iter().map(|n| n.as_str()).collect(),
    };
    let name = names.join(", ");
    if module == PRELUDE { name } else { format!("{module}.{name}") }
}

/// Returns the module's page of the book.
#[must_use]
pub fn page(module: &str, text: &str) -> String {
    let documented = ModuleDocs::from_text(text);
    let title = title(module);
    let mut page =
        format!("{GENERATED_PREFIX}std/{title}.iv; change it there. -->\n\n# {title}\n\n{}\n", documented.head);
    page.push_str(match module == PRELUDE {
        true => "\nThe examples are inputs as at the [REPL](../tools/repl.md), and what they show.\n",
        false => "\nThe examples are inputs as at the [REPL](../tools/repl.md), with the module imported, and what they show.\n",
    });
    for part in &documented.parts {
        match part {
            DocsPart::Section(title, text) => {
                page.push_str(&format!("\n## {title}\n"));
                if !text.is_empty() {
                    page.push_str(&format!("\n{text}\n"));
                }
            }
            DocsPart::Definition(definition) => {
                let (prose, example) = split_examples(&definition.docs);
                page.push_str(&format!("\n### `{}`\n", qualified(module, definition)));
                page.push_str(&format!("\n```iverson\n{}\n```\n\n{prose}\n", definition.signature));
                let rules: Vec<String> = definition.rules.iter().map(|rule| format!("`{}`", rule.keyword)).collect();
                match &*rules {
                    [] => {}
                    [rule] => page.push_str(&format!("\nIt has a rule of its own: {rule}.\n")),
                    _ => page.push_str(&format!("\nIt has rules of its own: {}.\n", rules.join(" and "))),
                }
                if !example.is_empty() {
                    page.push_str(&format!("\n{example}\n"));
                }
            }
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
-- Sums.

--| Twice.
--|
--| ```iverson
--| let x = sums.twice(1)
--| for i < 2:
--|   x + i
--| ```
--| ```output
--| old
--| ```
def twice(x: i64) -> i64 = 2 * x
derivative twice(x; dx) = ()

def bare() -> i64 = 1
--| Thrice.
def thrice(x: i64) -> i64 = 3 * x
";

    #[test]
    fn examples_are_run_and_recorded() {
        let mut session = Session::new();
        session.set_text("sums", TEXT);
        let (faults, updated) = check(&mut session, "sums", TEXT);
        assert_eq!(updated, TEXT.replace("--| old", "--| [2, 3]"));
        let short: Vec<&str> = faults.iter().filter_map(|f| f.lines().next()).collect();
        assert_eq!(
            short,
            [
                "sums.twice, line 4:",
                "sums.bare has no documentation",
                "sums.thrice has no example that shows something"
            ]
        );
        session.set_text("sums", &updated);
        assert_eq!(check(&mut session, "sums", &updated).0.len(), 2);
    }

    #[test]
    fn a_page_tells_all() {
        let page = page("sums", TEXT);
        assert!(page.starts_with("<!-- Made from std/sums.iv; change it there. -->\n\n# sums\n\nSums.\n"), "{page}");
        assert!(page.contains("\n### `sums.twice`\n\n```iverson\ndef twice(x: i64) -> i64\n```\n\nTwice.\n"), "{page}");
        assert!(page.contains("\nIt has a rule of its own: `derivative`.\n\n```iverson\nlet x"), "{page}");
    }
}
