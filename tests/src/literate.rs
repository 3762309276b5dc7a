//! **Literate tests.** Finds the programs in Markdown files and compares their output with the
//! recorded output, so that the documentation stays true. The tests in `tests/tests/suite` call
//! [`check`] with a runner such as [`crate::run::block_output`]. A block
//!
//! ````text
//! ```iverson
//! do 1 + 1
//! ```
//! ```output
//! 2
//! ```
//! ````
//!
//! is one program and exactly the output that a user sees. A program without output has no `output`
//! block. Other kinds of block:
//!
//! - `iverson,file=mine.iv` is a module that later programs of the page may import;
//! - `iverson,fragment` must parse but is not checked or run, and `iverson,nocheck` is skipped; the
//!   line before must state the reason: `<!-- fragment: … -->`, `<!-- nocheck: … -->`;
//! - blocks in other languages are text.
//!
//! With `UPDATE_EXPECT=1`, [`compare_or_update`] rewrites the output blocks in place.

use std::path::{Path, PathBuf};

/// The treatment of a block of Iverson.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockKind {
    /// Checked and run.
    Program,
    /// A module of this name, checked as part of the programs that import it.
    Module(String),
    /// Parsed only.
    Fragment,
    /// Skipped.
    Unchecked,
}

/// A block of Iverson in a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The treatment of the block.
    pub kind: BlockKind,
    /// Its text.
    pub text: String,
    /// The line of the page on which the text starts, from 1.
    pub line: usize,
    /// The recorded output; empty if no output block follows.
    pub output: String,
    /// The lines of the page, from 0, that the output block occupies, with its fences and the blank
    /// lines before it. If no output block exists, the range is empty and follows the program.
    recorded: std::ops::Range<usize>,
}

/// Returns the blocks of a page.
///
/// # Errors
/// The line and the kind of fault: an unclosed fence, an unknown attribute, or an excluded block
/// without a reason.
pub fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let lines: Vec<&str> = page.lines().collect();
    let line = |at: usize| lines.get(at).copied().unwrap_or_default();
    let mut found: Vec<Block> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some((fence, info)) = parse_opening_fence(line(at)) else {
            at += 1;
            continue;
        };
        let open = at;
        at += 1;
        while at < lines.len() && !closes_fence(line(at), fence) {
            at += 1;
        }
        if at == lines.len() {
            return Err(format!("line {}: fence is never closed", open + 1));
        }
        let text: String = lines.iter().take(at).skip(open + 1).flat_map(|l| [l, "\n"]).collect();
        at += 1;
        let (language, attribute) = info.split_once(',').unwrap_or((info, ""));
        match language {
            "iverson" => {
                let kind = block_kind(attribute, line(open.saturating_sub(1)))
                    .map_err(|fault| format!("line {}: {fault}", open + 1))?;
                found.push(Block { kind, text, line: open + 2, output: String::new(), recorded: at..at });
            }
            "output" => match found.last_mut() {
                Some(block) if block.recorded.is_empty() && is_blank_range(&lines, block.recorded.start, open) => {
                    block.output = text;
                    block.recorded.end = at;
                }
                _ => return Err(format!("line {}: output without a program", open + 1)),
            },
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the fence that a line opens: the number of backticks, and the text after them.
fn parse_opening_fence(line: &str) -> Option<(usize, &str)> {
    let info = line.trim_start_matches('`');
    let fence = line.len() - info.len();
    (fence >= 3 && !info.contains('`')).then_some((fence, info.trim()))
}

/// Returns whether a line closes a fence of this width.
fn closes_fence(line: &str, fence: usize) -> bool {
    parse_opening_fence(line).is_some_and(|(width, info)| width >= fence && info.is_empty())
}

/// Returns whether the lines of a range are blank.
fn is_blank_range(lines: &[&str], from: usize, to: usize) -> bool {
    lines.get(from..to).is_some_and(|between| between.iter().all(|l| l.trim().is_empty()))
}

/// Returns the kind of a block, from its attribute and the line before it.
fn block_kind(attribute: &str, before: &str) -> Result<BlockKind, String> {
    let require_reason = |word: &str| {
        let reason = before.strip_prefix("<!-- ").and_then(|l| l.strip_prefix(word)).and_then(|l| l.strip_prefix(": "));
        match reason {
            Some(reason) if reason.trim_end_matches("-->").trim().len() > 3 => Ok(()),
            _ => Err(format!("say why before the block: <!-- {word}: … -->")),
        }
    };
    match attribute {
        "" => Ok(BlockKind::Program),
        "fragment" => require_reason("fragment").map(|()| BlockKind::Fragment),
        "nocheck" => require_reason("nocheck").map(|()| BlockKind::Unchecked),
        other => match other.strip_prefix("file=") {
            Some(name) => Ok(BlockKind::Module(name.into())),
            None => Err(format!("unknown attribute `{other}`")),
        },
    }
}

/// Returns the page with these outputs recorded, one for each block of [`blocks`]. An empty output
/// has no block.
#[must_use]
pub fn with_outputs(page: &str, blocks: &[Block], outputs: &[String]) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let mut out = String::new();
    let mut copied = 0;
    for (block, output) in blocks.iter().zip(outputs) {
        let start = block.recorded.start;
        out.extend(lines.iter().take(start).skip(copied).flat_map(|l| [l, "\n"]));
        copied = block.recorded.end;
        if !output.is_empty() {
            out.push_str("```output\n");
            out.push_str(output);
            out.push_str("```\n");
        }
    }
    out.extend(lines.iter().skip(copied).flat_map(|l| [l, "\n"]));
    out
}

/// Runs a page. `output_of` returns the output of block number `i`. Returns the differences from
/// the recorded outputs, one for each block that differs, and the page with the current outputs.
///
/// # Errors
/// Those of [`blocks`].
pub fn check(
    page: &str,
    mut output_of: impl FnMut(&[Block], usize) -> String,
) -> Result<(Vec<String>, String), String> {
    let blocks = blocks(page)?;
    let outputs: Vec<String> = (0..blocks.len()).map(|i| output_of(&blocks, i)).collect();
    let faults = blocks
        .iter()
        .zip(&outputs)
        .filter(|(block, output)| block.output != **output)
        .map(|(block, output)| {
            format!("line {}:\n--- recorded\n{}--- now\n{output}---\n{}", block.line, block.output, block.text)
        })
        .collect();
    let updated = with_outputs(page, &blocks, &outputs);
    Ok((faults, updated))
}

/// Returns all Markdown files below a folder, sorted.
#[must_use]
pub fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    files_with_extension(folder, "md")
}

/// Returns all files below a folder with this extension, sorted.
#[must_use]
pub fn files_with_extension(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the root of the repository. It comes from the environment at run time, because checkouts
/// may share a build cache.
#[must_use]
pub fn repository_root() -> PathBuf {
    let crate_folder =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    crate_folder.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Returns whether recorded outputs must be rewritten.
#[must_use]
pub fn is_update_mode() -> bool {
    std::env::var("UPDATE_EXPECT").is_ok_and(|value| value == "1")
}

/// Compares the recorded text of a file with the wanted text. If they differ, writes the wanted
/// text in update mode, else adds a fault.
///
/// # Panics
/// If the file cannot be written.
#[expect(clippy::panic, reason = "a test goes no further")]
pub fn compare_or_update(path: &Path, recorded: &str, wanted: &str, faults: &mut Vec<String>) {
    if recorded == wanted {
        return;
    }
    if is_update_mode() {
        std::fs::write(path, wanted).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    } else {
        faults.push(format!("{} is not what it was recorded as", path.display()));
    }
}

/// Fails if faults exist.
///
/// # Panics
/// If the list is not empty.
#[track_caller]
pub fn assert_no_faults(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{}\n\n{} faults; `cargo xtask bless` records what is shown now",
        faults.join("\n\n"),
        faults.len()
    );
}

#[cfg(test)]
mod tests {
    use super::{BlockKind, blocks, check};

    const PAGE: &str = "# Title\n\n```iverson\ndo 1\n```\n\n```output\n1\n```\ntext\n```sh\nls\n```\n```iverson,file=a.iv\ndef f() -> i64 = 1\n```\n";

    #[test]
    fn blocks_are_found_with_their_output() {
        let found = blocks(PAGE).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].text.as_str(), found[0].output.as_str(), found[0].line), ("do 1\n", "1\n", 4));
        assert_eq!(found[1].kind, BlockKind::Module("a.iv".into()));
    }

    #[test]
    fn recorded_outputs_are_compared_and_rewritten() {
        let see = |answer: &'static str| {
            move |_: &[super::Block], i: usize| if i == 0 { answer.to_string() } else { String::new() }
        };
        assert_eq!(check(PAGE, see("1\n")).unwrap(), (vec![], PAGE.replace("\n\n```output", "\n```output")));
        let (faults, updated) = check(PAGE, see("2\n")).unwrap();
        assert_eq!(faults.len(), 1);
        assert!(updated.contains("```output\n2\n```\ntext\n"), "{updated}");
        let (_, gone) = check(PAGE, see("")).unwrap();
        assert!(!gone.contains("output"), "{gone}");
        assert!(check(&gone, see("3\n")).unwrap().1.contains("```\n```output\n3\n```\ntext"));
    }

    #[test]
    fn malformed_fences_are_reported() {
        let fault = |page: &str| blocks(page).unwrap_err();
        assert_eq!(fault("```iverson\n"), "line 1: fence is never closed");
        assert_eq!(fault("```output\n```\n"), "line 1: output without a program");
        assert_eq!(fault("```iverson\n```\ntext\n```output\n```\n"), "line 4: output without a program");
        assert_eq!(fault("```iverson,odd\n```\n"), "line 1: unknown attribute `odd`");
        assert_eq!(fault("```iverson,fragment\n```\n"), "line 1: say why before the block: <!-- fragment: … -->");
        assert!(blocks("<!-- nocheck: a grammar -->\n```iverson,nocheck\n```\n").is_ok());
    }
}
