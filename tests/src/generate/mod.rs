//! **Property tests of the syntax.** Draws random surface programs and checks the laws of printing,
//! parsing and formatting.
//!
//! A program is drawn as trees, not as text. Every variant of the surface tree must occur, which
//! `hits` checks. Each tree is printed, and its text scrambled, before the formatter reads it.

pub mod draw;
pub mod hits;
pub mod scramble;

use draw::tree;
use hits::SyntaxCoverage;
use lang_core::syntax::ast::Tree;
use lang_core::syntax::format::{dump_tree, format_file, print_tree, same_meaning, same_tree};
use lang_core::syntax::lexer::lex;
use lang_core::syntax::parser::parse_item;
use lang_core::syntax::split::split;
use scramble::{damage, scramble_all};

use crate::random::Random;

/// The result of a run.
#[derive(Debug, Default)]
pub struct SyntaxReport {
    /// The number of programs drawn.
    pub programs: u64,
    /// The variants that occurred in them.
    pub hits: SyntaxCoverage,
    /// The number of programs that broke a law.
    pub broken: u64,
    /// The broken laws and the texts of the shortest failures.
    pub failures: Vec<String>,
}

/// The number of failures in a report. The shortest are kept, because they are the easiest to read.
const KEPT: usize = 5;

/// Draws `count` programs from `seed` and checks the laws on each.
#[must_use]
pub fn run(seed: u64, count: u64) -> SyntaxReport {
    let mut report = SyntaxReport::default();
    for nth in 0..count {
        let mut random = Random::new(seed.wrapping_add(nth).wrapping_mul(0x2545_f491_4f6c_dd1d));
        report.programs += 1;
        let items = 1 + random.number_below(8) / 6;
        let trees: Vec<Tree> = (0..items).map(|_| tree(&mut random)).collect();
        trees.iter().for_each(|tree| report.hits.count(tree));
        let texts: Result<Vec<String>, String> = trees.iter().map(print_laws).collect();
        if let Err(failure) = texts.and_then(|texts| format_laws(&mut random, &texts)) {
            report.broken += 1;
            report.failures.push(format!("program {nth} of seed {seed}: {failure}"));
            report.failures.sort_by_key(String::len);
            report.failures.truncate(KEPT);
        }
    }
    report
}

/// Checks the laws of printing a tree and returns its text.
fn print_laws(tree: &Tree) -> Result<String, String> {
    let text = print_tree(tree);
    let parsed = parse_item(&text);
    if let Some(diagnostic) = parsed.diagnostics.first() {
        return Err(format!("printed text has an error: {} {:?}\n{text}", diagnostic.message, diagnostic.span));
    }
    if !same_meaning(tree, &parsed.tree) {
        let (was, is) = (dump_tree(tree, false), dump_tree(&parsed.tree, false));
        return Err(format!("another tree comes back:\n{text}\nwas {was}\nis  {is}"));
    }
    let reprinted = print_tree(&parsed.tree);
    if reprinted != text {
        return Err(format!("printing what was parsed differs:\n{text}\n---\n{reprinted}"));
    }
    let whole = format!("{text}\n");
    let formatted = file(&whole)?;
    if formatted != whole {
        return Err(format!("a printed tree is laid out differently:\n{whole}---\n{formatted}"));
    }
    Ok(text)
}

/// Checks the laws of formatting a scrambled file of these items.
fn format_laws(random: &mut Random, texts: &[String]) -> Result<(), String> {
    let scrambled = scramble_all(random, texts);
    let plain = file(&scrambled)?;
    let twice = file(&plain).map_err(|e| format!("{e}\nwhich is the layout of\n{scrambled}"))?;
    if twice != plain {
        return Err(format!("formatting twice differs:\n{scrambled}---\n{plain}---\n{twice}"));
    }
    let (before, after) = (split(&scrambled), split(&plain));
    let same = before.len() == texts.len()
        && after.len() == texts.len()
        && before.iter().zip(&after).all(|(a, b)| same_tree(&parse_item(&a.text).tree, &parse_item(&b.text).tree));
    if !same {
        return Err(format!("formatting changes a tree:\n{scrambled}---\n{plain}"));
    }
    if comment_texts(&scrambled) != comment_texts(&plain) {
        return Err(format!("formatting changes the comments:\n{scrambled}---\n{plain}"));
    }
    if let Some(line) = plain.lines().find(|line| line.len() > line.trim_end().len()) {
        return Err(format!("a line ends in blanks: {line:?}\n{plain}"));
    }
    for text in texts {
        survives(&damage(random, text))?;
    }
    Ok(())
}

/// Checks the laws of formatting any text, even a wrong one.
fn survives(text: &str) -> Result<(), String> {
    let Ok(once) = format_file(text) else { return Ok(()) };
    let twice = format_file(&once.text).map_err(|_| format!("the layout has errors:\n{text}\n---\n{}", once.text))?;
    if twice != once {
        return Err(format!("formatting twice differs:\n{text}\n---\n{}---\n{}", once.text, twice.text));
    }
    if comment_texts(text) != comment_texts(&once.text) {
        return Err(format!("formatting changes the comments:\n{text}\n---\n{}", once.text));
    }
    if once.unformatted_items > 0 {
        return Err(format!("left alone:\n{text}"));
    }
    Ok(())
}

fn comment_texts(text: &str) -> Vec<&str> {
    let mut all: Vec<&str> = lex(text).comments.iter().filter_map(|c| text.get(c.span.range())).collect();
    all.sort_unstable();
    all
}

fn file(text: &str) -> Result<String, String> {
    let formatted = format_file(text).map_err(|errors| {
        let message = errors.first().map_or_else(String::new, |e| format!("{} {:?}", e.message, e.span));
        format!("does not parse: {message}\n{text}")
    })?;
    if formatted.unformatted_items > 0 {
        return Err(format!("left alone:\n{text}"));
    }
    Ok(formatted.text)
}

#[cfg(test)]
mod tests {
    use super::run;
    use crate::random::{case_count, seed};

    /// Takes some seconds; the soak test runs longer.
    const PROGRAMS: u64 = 2000;

    #[test]
    fn laws_hold() {
        let report = run(seed(), case_count(PROGRAMS));
        assert!(report.broken == 0, "{} broke a law:\n{}", report.broken, report.failures.join("\n\n"));
        println!("{}", report.hits);
        assert_eq!(report.hits.missing(), Vec::<&str>::new());
    }
}
