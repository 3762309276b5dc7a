//! **Repository tasks**, started by `cargo xtask COMMAND`. `tidy` checks properties that the
//! compiler cannot (crates, headers, file sizes, pages of the book, features, prose). `prose`
//! prints statistics of comments and pages, or lowers the budgets of files. `bless` rewrites
//! recorded outputs after an intended change. `release` packs the programs. `soak` runs the random
//! tests for much longer than CI does.

mod prose;
mod release;
mod soak;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  tidy              check crates, headers, file sizes, error pages, links, features, prose
  prose [--lower]   print the statistics of comments and pages, or lower the budgets of files
  bless             rerun the tests that record output, and rewrite the recorded output
  release           build the programs, and pack them and the VS Code extension into dist/
  soak [--count N]  run the random tests with N executions each (1000000)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["tidy"] => tidy::run(&root()),
        ["prose"] => prose(false),
        ["prose", "--lower"] => prose(true),
        ["bless"] => bless(),
        ["release"] => release::run(&root()),
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

/// Returns the root of the repository, the parent of this crate's folder. It is read at run time,
/// because checkouts that share a build cache share this program.
fn root() -> PathBuf {
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Rewrites the outputs that the literate tests and the expect-tests recorded. Review the
/// difference before committing, because users will see each line of it.
fn bless() -> ExitCode {
    let root = root();
    let good = cargo(&root, &["test", "--workspace", "--locked", "--no-fail-fast"], &[("UPDATE_EXPECT", "1".into())]);
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the statistics of prose, or lowers the budgets of files as far as their prose allows.
fn prose(lower: bool) -> ExitCode {
    let root = root();
    let done = tidy::read_files(&root).and_then(|files| match lower {
        true => std::fs::write(root.join(tidy::BUDGETS), tidy::lowered_budgets(&files)),
        false => {
            print!("{}", prose::statistics_table(&files));
            Ok(())
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints and runs a cargo command in `root`. Returns whether it succeeded.
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
