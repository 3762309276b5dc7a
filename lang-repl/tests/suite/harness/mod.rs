//! Test harness: runs the binary in a directory of its own, and records all visible output.

#![allow(dead_code, reason = "no test uses all of it")]

#[cfg(unix)]
pub mod screen;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::Expect;

/// A program whose `main` takes arrays.
pub(crate) const CONV: &str = "\
--| Valid convolution of a signal with a kernel.
def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: sum j < m: x[i + j] * c[j]

def main(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = conv(x, c)
";

/// A program that imports [`MINE`] from `./lib/mine.iv`.
pub(crate) const SCRIPT: &str = "\
import \"./lib/mine.iv\" as m
let a = m.twice(21.0)
do print(\"a is\", a)
def main() -> f64 = a + m.offset
";

/// A module.
pub(crate) const MINE: &str = "let offset = 0.5\ndef twice(x: f64) -> f64 = 2 * x\n";

/// A temporary directory, which is removed on drop.
pub(crate) struct Dir(PathBuf);

impl Dir {
    /// Creates a directory with these files.
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("iverson-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        for (name, content) in files {
            let file = path.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, content).unwrap();
        }
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns a command that runs the binary with these arguments in this directory.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iverson"));
        command.args(args).current_dir(&self.0);
        command.env_remove("NO_COLOR").env("XDG_DATA_HOME", self.0.join("data"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the binary. Returns its standard output, its standard error, and its status if that is
    /// not 0.
    pub(crate) fn run(&self, args: &[&str], stdin: &[u8]) -> String {
        let mut child = self.command(args).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let bytes = stdin.to_vec();
        let writer = std::thread::spawn(move || drop(input.write_all(&bytes)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let mut shown = String::from_utf8(output.stdout).unwrap();
        if !output.stderr.is_empty() {
            shown += "--- stderr\n";
            shown += &String::from_utf8(output.stderr).unwrap();
        }
        match output.status.code() {
            Some(0) => {}
            Some(code) => shown += &format!("--- status {code}\n"),
            None => shown += "--- killed\n",
        }
        shown
    }
}

impl Dir {
    /// Runs several command lines in turn, and compares their combined output.
    #[track_caller]
    pub(crate) fn check_all(&self, lines: &[&[&str]], expected: Expect) {
        let mut all = String::new();
        for args in lines {
            all += &format!("$ iverson {}\n{}", args.join(" "), self.run(args, b""));
        }
        expected.assert_eq(&all);
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a session on a pipe, and compares its output.
#[track_caller]
pub(crate) fn session(input: &str, expected: Expect) {
    session_in(&Dir::new(&[]), input, expected);
}

/// Runs a session on a pipe in a directory. Standard error is interleaved with standard output, as
/// on a terminal.
#[track_caller]
pub(crate) fn session_in(dir: &Dir, input: &str, expected: Expect) {
    use std::io::Read as _;
    let mut command = dir.command(&[]);
    let (mut read, write) = std::io::pipe().unwrap();
    command.stdout(write.try_clone().unwrap()).stderr(write);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || drop(std::io::Write::write_all(&mut stdin, input.as_bytes())));
    let mut shown = String::new();
    read.read_to_string(&mut shown).unwrap();
    writer.join().unwrap();
    let status = child.wait().unwrap();
    if !status.success() {
        shown += &format!("--- {status}\n");
    }
    expected.assert_eq(&shown);
}
