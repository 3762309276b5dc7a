//! Repository chores, started by `cargo xtask COMMAND`: `tidy` checks what the compiler cannot
//! (layers, headers, sizes, pages of the book, one set of features), `bless` rewrites recorded
//! outputs after a wanted change, `soak` runs the random tests for much longer than CI does.

mod soak;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  tidy              check layers, headers, file sizes, error pages, links, features
  bless             rerun the tests that record output, rewriting what they recorded
  soak [--count N]  run the random tests with N executions each (1000000)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["tidy"] => tidy::run(&root()),
        ["bless"] => bless(),
        ["soak"] => soak::run(&root(), soak::DEFAULT_COUNT),
        ["soak", "--count", count] => match count.replace('_', "").parse() {
            Ok(count) => soak::run(&root(), count),
            Err(_) => usage(),
        },
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// The repository: the parent of this crate's folder. It is asked when it runs, as checkouts that
/// share a build cache share this program.
fn root() -> PathBuf {
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Rewrites what the literate tests and the expect-tests recorded. Read the difference before
/// committing it: each line of it is what a user will see.
fn bless() -> ExitCode {
    let root = root();
    let good = cargo(&root, &["test", "--workspace", "--locked", "--no-fail-fast"], &[("UPDATE_EXPECT", "1".into())]);
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs cargo in `root`, showing the command. Did it succeed?
fn cargo(root: &Path, args: &[&str], env: &[(&str, String)]) -> bool {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let shown: Vec<String> = env.iter().map(|(k, v)| format!("{k}={v}")).collect();
    println!("{} cargo {}", shown.join(" "), args.join(" "));
    match Command::new(program).args(args).envs(env.iter().map(|(k, v)| (k, v))).current_dir(root).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cargo cannot be started: {error}");
            false
        }
    }
}
