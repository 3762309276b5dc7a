//! **Command-line grammar**, as clap derives it. `--help` teaches by example. The `///` comments on
//! fields and variants are the text of `--help`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use lang_core::runtime::print::Digits;

const EXAMPLES: &str = "\
Examples:
  iverson                                  the REPL
  iverson run conv.iv x='[1, 2, 3]' c='[1, -1]'
                                           main of conv.iv with these arguments
  iverson eval 'sum i < 10: i^2'           one expression
  iverson eval 'loss(3)' -l loss.iv        … with the definitions of a file
  iverson check *.iv                       what is wrong with these files
  iverson fmt *.iv                         write them in the one layout
  iverson doc linalg.solve                 what a function does, with an example
  iverson explain E0300                    what an error code means

Exit status: 0 good, 1 the program is wrong or failed, 2 the command line is wrong.";

const RUN_EXAMPLES: &str = "\
The items of FILE run in order; then `main`, if there is one, is called with the arguments and its
value is printed. A value is an Iverson literal, or @ and the name of a data file: .npy, .npz, .csv,
.json or .png.

Examples:
  iverson run hello.iv
  iverson run fit.iv n=10 rate=1e-3 'w={x: [0, 1], y: 2}'
  iverson run fit.iv data=@points.csv start=@w.npy --format json
  iverson run fit.iv n=1000 --time --count";

const EVAL_EXAMPLES: &str = "\
Examples:
  iverson eval '1 + 2 * 3'
  iverson eval 'for i < 3, j < 3: [i == j] * 1.0' --format json
  iverson eval 'for i < 5000: sqrt(i)' --digits all
  iverson eval 'conv([1, 2, 3], [1, -1])' -l conv.iv
  iverson eval '-2^2'                      an expression may begin with a minus";

const CHECK_EXAMPLES: &str = "\
Examples:
  iverson check a.iv b.iv
  iverson check --format short *.iv        one line for each mistake
  iverson check --format json a.iv         a list for programs; lines and columns count from 1
  generate | iverson check -               from standard input";

const FMT_EXAMPLES: &str = "\
Examples:
  iverson fmt a.iv b.iv                    rewrites the files that need it
  iverson fmt --check *.iv                 names those that need it, and exits with 1 if there are any
  iverson fmt - < a.iv                     from standard input to standard output";

const DOC_EXAMPLES: &str = "\
Signature, documentation, example and derivative rules of what a name stands for.

Examples:
  iverson doc linalg.solve                 a function of the library
  iverson doc solve                        … by its name alone, wherever it is
  iverson doc linalg                       a module, and what it has
  iverson doc grad                         an operator, a form or a keyword of the language
  iverson doc sin --format json            for programs
  iverson doc conv -l conv.iv              a definition of a file
  iverson doc                              the modules of the library";

const SHOW_EXAMPLES: &str = "\
The forms that a definition goes through on its way to a derivative. Type parameters stand for f64.

Examples:
  iverson show core conv.iv conv           with calls, brackets and indices spelled out
  iverson show ssa conv.iv loss            one operation on whole arrays in each line
  iverson show adjoint conv.iv loss        the cotangents of its arguments, as Iverson
  iverson show forward conv.iv loss        the tangent of its result, as Iverson
  iverson show ssa conv.iv loss_adj        the adjoint, one operation in each line
  iverson show adjoint conv.iv loss --origins   the same, and for what in loss each line is";

const BENCH_EXAMPLES: &str = "\
Each is run once to be ready, which is told as the time to compile, and then until the time is over, at least five times.
Reals between -1 and 1 are made up for what the definition takes, type parameters stand for f64.

Examples:
  iverson bench conv.iv loss n=1000 m=16
  iverson bench conv.iv loss n=1000 m=16 --backend interp   by the interpreter";

/// Parses a positive number of seconds, at most a day.
fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("a number of seconds is wanted, more than 0 and at most a day".to_owned()),
    }
}

const COST_EXAMPLES: &str = "\
Work is the real operations, iterations the index tuples visited, io the reals that go in and come out.
Where data decide, \"<=\" stands before the most that it can be. Type parameters stand for f64.

Examples:
  iverson cost conv.iv loss                           formulas in the sizes, and how much dearer the adjoint is
  iverson cost conv.iv loss --at n=64,m=8             the definition, its tangent, its adjoint
  iverson cost conv.iv loss --at n=64,m=8 --measure   … and what the interpreters count";

const COMPLETION_EXAMPLES: &str = "\
Examples:
  iverson completions bash > ~/.local/share/bash-completion/completions/iverson
  iverson completions zsh > ~/.zfunc/_iverson
  iverson completions fish > ~/.config/fish/completions/iverson.fish";

/// Iverson, a differentiable array language.
///
/// Without a command: the REPL on a terminal; on a pipe the same, line by line, without prompts.
#[derive(Parser, Debug)]
#[command(name = "iverson", version, after_long_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct CommonOptions {
    /// What computes
    #[arg(long, global = true, value_enum, default_value = "cpu", hide_possible_values = false)]
    pub(crate) backend: BackendChoice,
    /// How many threads compute (default: as many as there are cores)
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: Option<u32>,
    /// What `f64` is computed in
    #[arg(long, global = true, value_enum, default_value = "f64")]
    pub(crate) precision: Precision,
    /// Tell how long checking and running took
    #[arg(long, global = true)]
    pub(crate) time: bool,
    /// Tell the work, tests and iterations of the run
    #[arg(long, global = true)]
    pub(crate) count: bool,
    /// Where an operation gives NaN though no operand is one: stop there, or go on with it
    #[arg(long, global = true, value_enum, default_value = "ignore")]
    pub(crate) nan: NanPolicy,
    /// How results and mistakes are written; `short` is one line for each mistake
    #[arg(long, global = true, value_enum, default_value = "text")]
    pub(crate) format: OutputFormat,
    /// Significant digits of reals, or all; `all` leaves nothing out of arrays either
    #[arg(long, global = true, value_name = "N|all", value_parser = parse_digits)]
    pub(crate) digits: Option<Digits>,
    /// Colours; `auto` is on a terminal unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorMode,
    /// A bar for work that takes long; `auto` is on a terminal
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) progress: ProgressMode,
}

/// `--backend`
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BackendChoice {
    /// The interpreter alone, derivatives too
    Interp,
    /// The processor
    Cpu,
    /// The graphics card
    Gpu,
}

/// `--precision`
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Precision {
    /// 32 bits
    F32,
    /// 64 bits
    F64,
}

/// `--nan`
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NanPolicy {
    /// The run fails there
    Stop,
    /// NaN is a value like others
    Ignore,
}

/// A form of `iverson show`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CompilerForm {
    /// The core calculus
    Core,
    /// Every `let` outermost
    Lifted,
    /// Without tuples
    Pairs,
    /// Every `for` outermost
    Pushed,
    /// Tensor SSA
    Ssa,
    /// Loop nests, as they run
    Loops,
    /// The loop nests as Cranelift has them, before they are machine code
    Clif,
    /// The forward derivative, as Iverson
    Forward,
    /// The adjoint, as Iverson
    Adjoint,
}

/// `--format`
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// For people, one line for each mistake
    Short,
    /// For programs
    Json,
    /// Values for people, mistakes for programs: each is a line of JSON
    JsonErrors,
}

/// `--progress`
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProgressMode {
    /// On a terminal
    Auto,
    /// No
    Never,
}

/// `--color`
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColorMode {
    /// On a terminal
    Auto,
    /// Yes
    Always,
    /// No
    Never,
}

/// Accepts an expression, which may begin with one minus. Two minuses would begin a comment, so the
/// text is a mistyped option.
fn parse_expression(text: &str) -> Result<String, String> {
    match text.starts_with("--") {
        true => Err("there is no such option".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Parses a number of significant digits from 1 to 17, or `all`.
pub(crate) fn parse_digits(text: &str) -> Result<Digits, String> {
    match text.parse() {
        // An `f64` needs at most 17 digits.
        Ok(n @ 1..=17) => Ok(Digits::AtMost(n)),
        _ if text == "all" => Ok(Digits::All),
        _ => Err("a number from 1 to 17, or `all`".to_owned()),
    }
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum CliCommand {
    /// Run a file and print the value of its main
    #[command(after_long_help = RUN_EXAMPLES)]
    Run {
        /// The file, or - for standard input
        file: PathBuf,
        /// Arguments of main, as name=value
        #[arg(value_name = "NAME=VALUE")]
        arguments: Vec<String>,
    },
    /// Evaluate an expression and print its value
    #[command(after_long_help = EVAL_EXAMPLES)]
    Eval {
        /// The expression
        #[arg(value_name = "EXPR", allow_hyphen_values = true, value_parser = parse_expression)]
        expression: String,
        /// A file whose definitions are in scope
        #[arg(short, long = "load", value_name = "FILE")]
        load: Option<PathBuf>,
    },
    /// Tell what is wrong with files, without running them
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check {
        /// The files, - for standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Write files in the one layout
    #[command(after_long_help = FMT_EXAMPLES)]
    Fmt {
        /// Change nothing; name the files that would change
        #[arg(long)]
        check: bool,
        /// The files, - for standard input to standard output
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Show the documentation of a function, a module or a word of the language
    #[command(after_long_help = DOC_EXAMPLES)]
    Doc {
        /// The name, such as linalg.solve; without one, what there is
        name: Option<String>,
        /// A file whose definitions are known
        #[arg(short, long = "load", value_name = "FILE")]
        load: Option<PathBuf>,
    },
    /// Show a definition in a form of the compiler
    #[command(after_long_help = SHOW_EXAMPLES)]
    Show {
        /// Which form
        #[arg(value_enum)]
        stage: CompilerForm,
        /// The file, or - for standard input
        file: PathBuf,
        /// The definition
        def: String,
        /// Tell of each line of Tensor SSA, also of a derivative's, where it comes from
        #[arg(long)]
        origins: bool,
    },
    /// Tell what a definition and its derivatives cost, as formulas or at given sizes
    #[command(after_long_help = COST_EXAMPLES)]
    Cost {
        /// The file, or - for standard input
        file: PathBuf,
        /// The definition; without one, all of the file
        def: Option<String>,
        /// Sizes, and integer arguments: n=64 m=8
        sizes: Vec<String>,
        /// The same: n=64,m=8
        #[arg(long, value_name = "SIZES")]
        at: Vec<String>,
        /// Also run it, on made-up values, and count
        #[arg(long)]
        measure: bool,
    },
    /// Tell how long a definition and its gradient take at given sizes, on made-up values
    #[command(after_long_help = BENCH_EXAMPLES)]
    Bench {
        /// The file, or - for standard input
        file: PathBuf,
        /// The definition
        def: String,
        /// Sizes, and integer arguments: n=1000 m=16
        sizes: Vec<String>,
        /// How long each is run at least
        #[arg(long, default_value_t = 1.0, value_name = "SECONDS", value_parser = parse_seconds)]
        seconds: f64,
    },
    /// Explain an error code
    Explain {
        /// The code, such as E0300; without one, all codes are listed
        code: Option<String>,
    },
    /// Speak the protocol of the benchmark suite GradBench: lines of JSON on standard input and output
    Gradbench {
        /// The folder with the modules
        #[arg(long, default_value = "examples/gradbench")]
        dir: PathBuf,
        /// By several threads: as many as there are cores, or as `--threads` says
        #[arg(long)]
        multithreaded: bool,
    },
    /// Tell what this machine offers and what will be used
    Doctor,
    /// Write the completions of a shell
    #[command(after_long_help = COMPLETION_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}
