//! **Command-line grammar** of `iverson`, from which clap derives the parser and `--help`. The
//! `///` comments on fields and variants are the text of `--help`, and the constants its examples.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use lang_core::opt::{PASSES, PassSelection};
use lang_core::runtime::print::Digits;

const EXAMPLES: &str = "Examples:
  iverson                                  start the REPL
  iverson run conv.iv x='[1, 2, 3]' c='[1, -1]'
                                           call main of conv.iv with these arguments
  iverson eval 'sum i < 10: i^2'           evaluate an expression
  iverson eval 'loss(3)' -l loss.iv        … with the definitions of a file in scope
  iverson check *.iv                       report problems in these files
  iverson fmt *.iv                         format these files
  iverson doc linalg.solve                 show the documentation of a function
  iverson explain E0300                    explain an error code

Exit status: 0 success, 1 error in the program, 2 error in the command line.";

const RUN_EXAMPLES: &str =
    "Runs the items of FILE in order. Then calls `main`, if it exists, with the arguments and prints its
value. A value is an Iverson literal, or @ and the name of a data file: .npy, .npz, .csv,
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

const CHECK_EXAMPLES: &str = "Examples:
  iverson check a.iv b.iv
  iverson check --format short *.iv        one line per problem
  iverson check --format json a.iv         for programs; lines and columns count from 1
  generate | iverson check -               from standard input";

const FMT_EXAMPLES: &str = "Examples:\n  iverson fmt a.iv b.iv                    format both files in place\n  iverson fmt --check *.iv                 list the files that are not formatted; if any, exit with 1\n  iverson fmt - < a.iv                     format standard input to standard output";

const DOC_EXAMPLES: &str = "Prints the signature, documentation, example and derivative rules of a name.

Examples:
  iverson doc linalg.solve                 a function of the library
  iverson doc solve                        … by its name alone, in any module
  iverson doc linalg                       a module and its contents
  iverson doc grad                         an operator, a special form or a keyword
  iverson doc sin --format json            for programs
  iverson doc conv -l conv.iv              a definition of a file
  iverson doc                              the modules of the library";

const SHOW_EXAMPLES: &str = "Prints an intermediate form or a derivative of a definition. Type parameters are f64.

Examples:
  iverson show core conv.iv conv           with explicit calls, brackets and indices
  iverson show ssa conv.iv loss            one array operation per line
  iverson show opt conv.iv loss            … after the passes of the optimiser
  iverson show opt conv.iv loss --stats    … with the effect of each pass
  iverson show opt conv.iv loss --after factor_sums
  iverson show adjoint conv.iv loss        the cotangents of its arguments, as Iverson source
  iverson show forward conv.iv loss        the tangent of its result, as Iverson source
  iverson show ssa conv.iv loss_adj        the adjoint, one array operation per line
  iverson show adjoint conv.iv loss --origins   … with the origin of each line in loss";

const BENCH_EXAMPLES: &str =
    "Runs the definition and its gradient once each to compile them. Then runs each at least five times, and
for at least the minimum time.
The arguments are pseudo-random reals between -1 and 1. Type parameters are f64.

Examples:
  iverson bench conv.iv loss n=1000 m=16
  iverson bench conv.iv loss n=1000 m=16 --backend interp   with the interpreter";

/// Parses a positive number of seconds, at most a day.
fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("expected a number of seconds, greater than 0 and at most one day".to_owned()),
    }
}

const COST_EXAMPLES: &str =
    "Work counts operations on reals, iterations the visited index tuples, io the reals in inputs and outputs.
If a cost depends on data, \"<=\" marks its upper bound. Type parameters are f64.

Examples:
  iverson cost conv.iv loss                           formulas in the sizes, and the certified cost ratio of the adjoint
  iverson cost conv.iv loss --at n=64,m=8             the definition, its tangent, its adjoint
  iverson cost conv.iv loss --at n=64,m=8 --measure   … and the counts of actual runs";

const COMPLETION_EXAMPLES: &str = "\
Examples:
  iverson completions bash > ~/.local/share/bash-completion/completions/iverson
  iverson completions zsh > ~/.zfunc/_iverson
  iverson completions fish > ~/.config/fish/completions/iverson.fish";

/// Iverson, a differentiable array language.
///
/// Without a command, starts the REPL. On a pipe, the REPL reads line by line without prompts.
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
    /// Backend that runs programs
    #[arg(long, global = true, value_enum, default_value = "cpu", hide_possible_values = false)]
    pub(crate) backend: BackendChoice,
    /// Passes over Tensor SSA: `-NAME` switches one off, `NAME,NAME` selects only these, `none`
    /// none
    #[arg(
        long,
        global = true,
        value_name = "LIST",
        allow_hyphen_values = true,
        default_value = "",
        hide_default_value = true,
        value_parser = parse_passes
    )]
    pub(crate) passes: PassSelection,
    /// Number of threads (default: one per core)
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: Option<u32>,
    /// Precision in which `f64` is computed
    #[arg(long, global = true, value_enum, default_value = "f64")]
    pub(crate) precision: Precision,
    /// Print the times of checking and running
    #[arg(long, global = true)]
    pub(crate) time: bool,
    /// Print the work, tests and iterations of the run
    #[arg(long, global = true)]
    pub(crate) count: bool,
    /// Action if an operation produces NaN from operands that are not NaN
    #[arg(long, global = true, value_enum, default_value = "ignore")]
    pub(crate) nan: NanPolicy,
    /// Format of results and problems; `short` prints one line per problem
    #[arg(long, global = true, value_enum, default_value = "text")]
    pub(crate) format: OutputFormat,
    /// Significant digits of reals; `all` also prints arrays in full
    #[arg(long, global = true, value_name = "N|all", value_parser = parse_digits)]
    pub(crate) digits: Option<Digits>,
    /// Coloured output; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorMode,
    /// Progress bar for long computations; `auto`: on a terminal
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) progress: ProgressMode,
}

/// `--backend`
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BackendChoice {
    /// The interpreter only, also for derivatives
    Interp,
    /// Machine code for the CPU
    Cpu,
    /// The GPU
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
    /// Stop the run with an error
    Stop,
    /// Treat NaN like any other value
    Ignore,
}

/// A form of `iverson show`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CompilerForm {
    /// The core calculus
    Core,
    /// Core with every `let` outermost
    Lifted,
    /// Core without tuples
    Flat,
    /// Core with every `for` outermost
    Pushed,
    /// Tensor SSA
    Ssa,
    /// Tensor SSA after the passes of the optimiser
    Opt,
    /// Loop nests as they run
    Loops,
    /// Loop nests as Cranelift IR
    Clif,
    /// The forward derivative as Iverson source
    Forward,
    /// The adjoint as Iverson source
    Adjoint,
}

/// `--format`
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// For people, one line per problem
    Short,
    /// For programs
    Json,
    /// Values for people; each problem as one line of JSON
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
        true => Err("unknown option".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Parses `--passes`.
pub(crate) fn parse_passes(text: &str) -> Result<PassSelection, String> {
    PassSelection::parse(text).map_err(|name| unknown_pass(&name))
}

/// Parses the name of a pass.
fn parse_pass(text: &str) -> Result<String, String> {
    match PASSES.iter().any(|pass| pass.name == text) {
        true => Ok(text.to_owned()),
        false => Err(unknown_pass(text)),
    }
}

fn unknown_pass(name: &str) -> String {
    let mut names: Vec<&str> = PASSES.iter().map(|pass| pass.name).collect();
    names.sort_unstable();
    names.dedup();
    format!("no pass is named `{name}`; the passes are {}", names.join(", "))
}

/// Parses a number of significant digits from 1 to 17, or `all`.
pub(crate) fn parse_digits(text: &str) -> Result<Digits, String> {
    match text.parse() {
        // An `f64` needs at most 17 digits.
        Ok(n @ 1..=17) => Ok(Digits::AtMost(n)),
        _ if text == "all" => Ok(Digits::All),
        _ => Err("expected a number from 1 to 17, or `all`".to_owned()),
    }
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum CliCommand {
    /// Run a file and print the value of its `main`
    #[command(after_long_help = RUN_EXAMPLES)]
    Run {
        /// The file, or - for standard input
        file: PathBuf,
        /// Arguments of `main`, as name=value
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
    /// Report problems in files without running them
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check {
        /// The files, - for standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Format files
    #[command(after_long_help = FMT_EXAMPLES)]
    Fmt {
        /// List the files that would change, and write none
        #[arg(long)]
        check: bool,
        /// The files, - for standard input to standard output
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Show the documentation of a function, a module or a language construct
    #[command(after_long_help = DOC_EXAMPLES)]
    Doc {
        /// The name, such as linalg.solve; without it, an overview
        name: Option<String>,
        /// A file whose definitions are in scope
        #[arg(short, long = "load", value_name = "FILE")]
        load: Option<PathBuf>,
    },
    /// Show a definition in an intermediate form of the compiler
    #[command(after_long_help = SHOW_EXAMPLES)]
    Show {
        /// The form
        #[arg(value_enum)]
        stage: CompilerForm,
        /// The file, or - for standard input
        file: PathBuf,
        /// The definition
        def: String,
        /// Print the origin of each line of Tensor SSA, also for derivatives
        #[arg(long)]
        origins: bool,
        /// With `opt`: stop after this pass
        #[arg(long, value_name = "PASS", value_parser = parse_pass)]
        after: Option<String>,
        /// With `opt`: print the effect of each pass on the number of statements
        #[arg(long)]
        stats: bool,
    },
    /// Report the cost of a definition and its derivatives, as formulas or at fixed sizes
    #[command(after_long_help = COST_EXAMPLES)]
    Cost {
        /// The file, or - for standard input
        file: PathBuf,
        /// The definition; without it, all definitions of the file
        def: Option<String>,
        /// Sizes and integer arguments: n=64 m=8
        sizes: Vec<String>,
        /// Sizes and integer arguments in one list: n=64,m=8
        #[arg(long, value_name = "SIZES")]
        at: Vec<String>,
        /// Also run it on synthetic arguments and print the counts
        #[arg(long)]
        measure: bool,
    },
    /// Measure the run times of a definition and its gradient at fixed sizes, on synthetic
    /// arguments
    #[command(after_long_help = BENCH_EXAMPLES)]
    Bench {
        /// The file, or - for standard input
        file: PathBuf,
        /// The definition
        def: String,
        /// Sizes and integer arguments: n=1000 m=16
        sizes: Vec<String>,
        /// Minimum total run time of each function
        #[arg(long, default_value_t = 1.0, value_name = "SECONDS", value_parser = parse_seconds)]
        seconds: f64,
    },
    /// Explain an error code
    Explain {
        /// The code, such as E0300; without it, the list of all codes
        code: Option<String>,
    },
    /// Serve the protocol of the GradBench benchmark suite: lines of JSON on standard input and
    /// output
    Gradbench {
        /// The folder with the modules
        #[arg(long, default_value = "examples/gradbench")]
        dir: PathBuf,
        /// Use several threads: one per core, or the number of `--threads`
        #[arg(long)]
        multithreaded: bool,
    },
    /// Report the features of this machine and the selected backend
    Doctor,
    /// Print the completion script of a shell
    #[command(after_long_help = COMPLETION_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}
