//! Tests of the command lines in the book, the README and `examples`. In a `console` block, `$`
//! begins a command, and its output follows. `UPDATE_EXPECT=1` records the current output.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().unwrap().to_path_buf()
}

/// Returns the output of a command line in the root of the repository, including standard error.
fn shown(line: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_iverson")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths =
        std::env::join_paths(std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&path))).unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {line}")])
        .current_dir(root())
        .env("PATH", paths)
        .env("NO_COLOR", "1")
        .env_remove("UPDATE_EXPECT")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

/// Returns the page with the current output of its command lines.
fn fresh(page: &str) -> String {
    let mut out = String::new();
    let (mut console, mut commands) = (false, Vec::new());
    for line in page.lines() {
        if console && line != "```" {
            // Recorded output is dropped; the commands are run again.
            commands.extend(line.strip_prefix("$ "));
            continue;
        }
        if console {
            for command in std::mem::take(&mut commands) {
                out.push_str(&format!("$ {command}\n{}", shown(command)));
            }
        }
        console = line == "```console";
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[test]
fn command_lines_show_what_is_recorded() {
    let update = std::env::var("UPDATE_EXPECT").is_ok_and(|value| value == "1");
    let folder = root().join("docs/book/src/tools");
    let tools = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let others =
        ["README.md", "examples/README.md", "docs/book/src/reference/forms.md", "docs/book/src/reference/cost.md"];
    let pages = tools.chain(others.map(|page| root().join(page)));
    for path in pages.filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let page = std::fs::read_to_string(&path).unwrap();
        let now = fresh(&page);
        if update {
            std::fs::write(&path, now).unwrap();
        } else {
            assert!(page == now, "{} shows something else now:\n{now}", path.display());
        }
    }
}
