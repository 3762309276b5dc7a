//! The `iverson` command line and REPL. The language itself is in `lang-core`; this crate owns
//! files, terminals, threads and the text of reports.
//!
//! `cli` is the grammar of the command line, `commands` has one file per command, and `repl` is the
//! interactive session. All of them check and run programs through `engine`, and report through
//! `problem`, `report` and `out`. Only `out` writes results to standard output; `clippy.toml`
//! enforces it, with one exception in `signals`.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod cli;
mod clock;
mod commands;
mod data;
mod doc_entry;
mod engine;
mod files;
mod fit;
mod host;
mod interrupt;
mod json;
mod literal;
mod lookup;
mod machine;
mod out;
mod pages;
mod plot;
mod problem;
mod progress;
mod repl;
mod report;
mod rescue;
mod show;
mod signals;
mod source;
mod suggest;
mod types;
mod wrap;

#[doc(hidden)]
pub use data::probe as probe_data_file;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use lang_core::base::Code;

use cli::{Cli, CliCommand};
use engine::Engine;
use out::{OutputWriter, Status};

/// The stack size of the main thread. Only the pages in use take memory.
const STACK_SIZE: usize = 256 << 20;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let run = || run(std::env::args_os().collect());
    let thread = std::thread::Builder::new().name("iverson".to_owned()).stack_size(STACK_SIZE);
    let status = match thread.spawn(run) {
        // A panic is a defect; the panic hook has already reported it.
        Ok(thread) => thread.join().unwrap_or(Status::Failed),
        // The system may refuse so large a stack; the default one serves all but the deepest
        // programs.
        Err(_) => run(),
    };
    ExitCode::from(out::final_status(status).code())
}

fn run(args: Vec<OsString>) -> Status {
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return report_usage_error(&error, &args),
    };
    progress::configure(&cli.common);
    let out = OutputWriter::new(&cli.common);
    match &cli.command {
        None => repl::run(&cli.common, out),
        Some(command) => {
            interrupt::install_handler(false);
            run_command(command, &cli, out)
        }
    }
}

fn run_command(command: &CliCommand, cli: &Cli, out: OutputWriter) -> Status {
    match command {
        CliCommand::Run { file, arguments } => commands::run::run(file, arguments, &cli.common, out),
        CliCommand::Eval { expression, load } => commands::eval::run(expression, load.as_deref(), &cli.common, out),
        CliCommand::Check { files } => commands::check::run(files, &cli.common, out),
        CliCommand::Fmt { check, files } => commands::fmt::run(files, *check, out),
        CliCommand::Explain { code } => commands::explain::run(code.as_deref(), &Engine::new(&cli.common, out), out),
        CliCommand::Doc { name, load } => commands::doc::run(name.as_deref(), load.as_deref(), &cli.common, out),
        CliCommand::Cost { file, def, sizes, at, measure } => {
            let sizes: Vec<String> = sizes.iter().chain(at).cloned().collect();
            commands::cost::run(file, def.as_deref(), &sizes, *measure, &cli.common, out)
        }
        CliCommand::Show { stage, file, def, origins, after, stats } => {
            let view = commands::show::ShownView { origins: *origins, after: after.as_deref(), statistics: *stats };
            commands::show::run(*stage, file, def, &view, &cli.common, out)
        }
        CliCommand::Bench { file, def, sizes, seconds } => {
            let request = commands::bench::BenchRequest { file, def, sizes, seconds: *seconds };
            commands::bench::run(&request, &cli.common, out)
        }
        CliCommand::Gradbench { dir, multithreaded } => commands::gradbench::run(dir, *multithreaded, &cli.common, out),
        CliCommand::Doctor => commands::doctor::run(&cli.common, out),
        CliCommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "iverson", &mut script);
            out.print(&String::from_utf8_lossy(&script));
            Status::Success
        }
    }
}

/// Reports an error of clap. Help and version are no errors and go to standard output. An error
/// goes to standard error, or as JSON to standard output if the arguments select `--format json`.
fn report_usage_error(error: &clap::Error, args: &[OsString]) -> Status {
    let wants_json = args.iter().any(|a| a == "--format=json")
        || args.windows(2).any(|w| w.first().is_some_and(|a| a == "--format") && w.last().is_some_and(|a| a == "json"));
    // The same as `Error::print`, but through the checked writes of `out`.
    let rendered = |colored: bool| match colored && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) {
        true => error.render().ansi().to_string(),
        false => error.render().to_string(),
    };
    if !error.use_stderr() {
        out::print(&rendered(out::is_stdout_terminal()));
        return Status::Success;
    }
    if wants_json {
        let text = error.to_string();
        let paragraph = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
        let message = paragraph.collect::<Vec<_>>().join(" ");
        let problem = problem::Problem::new(Code::E0600, message.trim_start_matches("error: "));
        let list = report::json_list(&[problem], &source::Sources::default());
        out::print(&format!("{}\n", json::object([("error", list)])));
    } else {
        out::note(&rendered(std::io::stderr().is_terminal()));
        let file = args.iter().skip(1).find(|a| Path::new(a).extension().is_some_and(|e| e == "iv"));
        if let (clap::error::ErrorKind::InvalidSubcommand, Some(file)) = (error.kind(), file) {
            out::note(&format!("help: write `iverson run {}`\n", file.display()));
        }
        let runs = args.get(1).is_some_and(|a| a == "run");
        let option = args.iter().filter_map(|a| a.to_str()?.strip_prefix("--")).find(|a| a.contains('='));
        if let (clap::error::ErrorKind::UnknownArgument, true, Some(argument)) = (error.kind(), runs, option) {
            out::note(&format!("help: write an argument of the program without dashes: `{argument}`\n"));
        }
    }
    Status::Usage
}
