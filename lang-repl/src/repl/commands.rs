//! The table of the REPL's commands, with names, arguments and help. `session` executes them;
//! `completion` and `:help` read the table.

use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::token::{Sym, Word};

use super::settings;
use crate::suggest;
use crate::wrap::wrap_text;

/// A command of the REPL.
#[derive(Debug)]
pub(crate) struct ReplCommand {
    pub(crate) name: &'static str,
    pub(crate) kind: CommandKind,
    pub(crate) argument: ArgumentKind,
    /// The one-line summary.
    summary: &'static str,
    /// The text that `:help NAME` adds.
    details: &'static str,
}

/// The kind of a command's argument, which sets its placeholder in help and its completion
/// candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ArgumentKind {
    None,
    /// An expression.
    Expression,
    /// The name of a definition.
    Name,
    /// The arguments of `plot`.
    PlotArguments,
    /// An error code.
    Code,
    /// The file of a program.
    File,
    /// A setting and its value, both optional.
    Setting,
    /// A command, optional.
    Command,
    /// The value of this setting, optional.
    Value(&'static str),
}

impl ArgumentKind {
    /// Returns the placeholder of the argument; an optional one is in brackets.
    fn placeholder(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Expression => "EXPR",
            Self::Name => "NAME",
            Self::PlotArguments => "ARGS",
            Self::Code => "CODE",
            Self::File => "FILE",
            Self::Setting => "[NAME [VALUE]]",
            Self::Command => "[COMMAND]",
            Self::Value("backend") => "[cpu|interp]",
            Self::Value(_) => "[N]",
        }
    }
}

/// The action of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CommandKind {
    Type,
    Cost,
    Time,
    Bench,
    Grad,
    Adjoint,
    Forward,
    Ssa,
    Plot,
    Explain,
    Load,
    Reload,
    /// `:save`; the flag is true for `:save!`, which replaces any file.
    Save(bool),
    Env,
    Reset,
    Set,
    Backend,
    Threads,
    Help,
    Quit,
}

/// All commands, in the order of `:help`.
pub(crate) const COMMANDS: &[ReplCommand] = &[
    ReplCommand {
        name: "type",
        kind: CommandKind::Type,
        argument: ArgumentKind::Expression,
        summary: "the type of an expression, without evaluating it",
        details: "For the name of a function, prints its signature.\n  :type for i < 3: 2 * i",
    },
    ReplCommand {
        name: "cost",
        kind: CommandKind::Cost,
        argument: ArgumentKind::Expression,
        summary: "the work, tests and iterations of one evaluation, or the formulas of a definition",
        details: "Work counts operations on reals, tests the evaluated conditions, iterations the visited index\ntuples. The value is not shown. For the name of a definition, prints formulas in its sizes and\nthe certified cost ratio of its adjoint.\n  :cost sum i < 100: f64(i)^2\n  :cost linalg.matmul",
    },
    ReplCommand {
        name: "time",
        kind: CommandKind::Time,
        argument: ArgumentKind::Expression,
        summary: "the value, and the times of checking and running",
        details: "  :time sum i < 1000: f64(i)^2",
    },
    ReplCommand {
        name: "bench",
        kind: CommandKind::Bench,
        argument: ArgumentKind::Expression,
        summary: "the time of an evaluation: median and spread of many runs",
        details: "Evaluates the expression for about two seconds, at least once, without its output.\n  :bench sum i < 1000: f64(i)^2",
    },
    ReplCommand {
        name: "grad",
        kind: CommandKind::Grad,
        argument: ArgumentKind::Expression,
        summary: "the value of an expression and its gradient",
        details: "For a call `f(x, y)`, differentiates with respect to each real argument, under the names of the\nparameters. For any other expression, differentiates with respect to its real session variables.\n  :grad loss(x, c)",
    },
    ReplCommand {
        name: "adjoint",
        kind: CommandKind::Adjoint,
        argument: ArgumentKind::Name,
        summary: "the adjoint of a definition, as Iverson source: the cotangents of its arguments",
        details: "The output is a definition that can be entered and edited.\n  :adjoint linalg.dot",
    },
    ReplCommand {
        name: "forward",
        kind: CommandKind::Forward,
        argument: ArgumentKind::Name,
        summary: "the forward derivative of a definition, as Iverson source: the tangent of its result",
        details: "  :forward linalg.dot",
    },
    ReplCommand {
        name: "plot",
        kind: CommandKind::Plot,
        argument: ArgumentKind::PlotArguments,
        summary: "short for `do plot(ARGS)`",
        details: "A string sets how the data before it is drawn; options have names.\n  :plot xs, ys, \"points: measured\", title: \"Growth\"",
    },
    ReplCommand {
        name: "explain",
        kind: CommandKind::Explain,
        argument: ArgumentKind::Code,
        summary: "the explanation of an error code",
        details: "  :explain E0300",
    },
    ReplCommand {
        name: "load",
        kind: CommandKind::Load,
        argument: ArgumentKind::File,
        summary: "load the definitions of a file and run its `let` and `do` items",
        details: "Replaces definitions of the same names. Omits definitions with errors and their users. A\nfile whose `do` fails stays loaded.\n  :load examples/deconvolution.iv",
    },
    ReplCommand {
        name: "reload",
        kind: CommandKind::Reload,
        argument: ArgumentKind::None,
        summary: "read loaded and imported files again",
        details: "Definitions in the files replace those of the same names that were entered since.",
    },
    ReplCommand {
        name: "save",
        kind: CommandKind::Save(false),
        argument: ArgumentKind::File,
        summary: "write the session to a file for `:load` and `iverson run`; :save! replaces any file",
        details: "Writes definitions in the order of their dependencies, with their documentation and rules. A `let`\nkeeps its text. `ans`, and values whose inputs no longer exist, are saved as values; large ones\nas data files beside the file. Does not replace a file that :save did not write; :save! does.\n  :save session.iv",
    },
    ReplCommand {
        name: "ssa",
        kind: CommandKind::Ssa,
        argument: ArgumentKind::Name,
        summary: "a definition in Tensor SSA: one array operation per line",
        details: "`f_adj` and `f_tan` are the derivatives of `f`, unless definitions have these names.\n  :ssa linalg.dot_adj",
    },
    ReplCommand {
        name: "env",
        kind: CommandKind::Env,
        argument: ArgumentKind::None,
        summary: "the current definitions and the sizes of their values",
        details: "",
    },
    ReplCommand {
        name: "reset",
        kind: CommandKind::Reset,
        argument: ArgumentKind::None,
        summary: "remove all definitions",
        details: "Keeps the settings and the history.",
    },
    ReplCommand {
        name: "set",
        kind: CommandKind::Set,
        argument: ArgumentKind::Setting,
        summary: "show all settings, or show or change one",
        details: "A setting lasts until the session ends.\n  :set digits 4\n  :set nan stop",
    },
    ReplCommand {
        name: "backend",
        kind: CommandKind::Backend,
        argument: ArgumentKind::Value("backend"),
        summary: "the backend: machine code for the CPU, or the interpreter only",
        details: "The same as :set backend. The results of the two backends differ at most in the last digits.\n  :backend interp",
    },
    ReplCommand {
        name: "threads",
        kind: CommandKind::Threads,
        argument: ArgumentKind::Value("threads"),
        summary: "the number of threads",
        details: "The same as :set threads. Results are bit-identical for any number of threads.\n  :threads 4",
    },
    ReplCommand {
        name: "help",
        kind: CommandKind::Help,
        argument: ArgumentKind::Command,
        summary: "this list, or details of one command",
        details: "",
    },
    ReplCommand {
        name: "quit",
        kind: CommandKind::Quit,
        argument: ArgumentKind::None,
        summary: "leave the session; Ctrl-D does too",
        details: "",
    },
];

/// Parses an input that is a command; `None` if it is not one. Returns the command and its
/// argument, or an error message.
pub(crate) fn parse_command(input: &str) -> Option<Result<(CommandKind, &str), String>> {
    let rest = input.trim().strip_prefix(':')?;
    // `:plot(x, y)` is accepted like `:plot x, y`.
    let end = rest.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(rest.len());
    let (name, argument) = rest.split_at(end);
    let argument = argument.trim();
    let (name, forced) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
    let command = match find_command(name) {
        Ok(command) => command,
        Err(message) => return Some(Err(message)),
    };
    let kind = match (command.kind, forced) {
        (CommandKind::Save(_), true) => CommandKind::Save(true),
        (_, true) => return Some(Err(unknown_command(&format!("{name}!")))),
        (kind, false) => kind,
    };
    Some(match (command.argument.placeholder(), argument) {
        ("", "") => Ok((kind, "")),
        ("", _) => Err(format!(":{} takes no argument", command.name)),
        (wanted, "") if !wanted.starts_with('[') => Err(format!(":{} needs {wanted}; see :help {0}", command.name)),
        _ => Ok((kind, argument)),
    })
}

/// Returns the command of a name or of an unambiguous prefix, or an error message.
fn find_command(name: &str) -> Result<&'static ReplCommand, String> {
    let whole = ABBREVIATIONS.iter().find(|(short, _)| *short == name).map_or(name, |(_, whole)| whole);
    if let Some(command) = COMMANDS.iter().find(|c| c.name == whole) {
        return Ok(command);
    }
    let begin: Vec<&'static ReplCommand> =
        COMMANDS.iter().filter(|c| !name.is_empty() && c.name.starts_with(name)).collect();
    match begin.as_slice() {
        [command] => Ok(command),
        [] => Err(unknown_command(name)),
        several => {
            let names: Vec<String> = several.iter().map(|c| format!(":{}", c.name)).collect();
            Err(format!("`:{name}` is ambiguous: {}", names.join(", ")))
        }
    }
}

/// Abbreviations of frequent commands, valid although other commands begin with the same letter.
const ABBREVIATIONS: &[(&str, &str)] = &[("t", "type")];

/// Words that leave or ask for help in other programs, with the intended command.
const FOREIGN_WORDS: &[(&str, &str)] = &[
    ("?", "help"),
    ("??", "help"),
    ("help", "help"),
    ("quit", "quit"),
    ("exit", "quit"),
    ("bye", "quit"),
    ("logout", "quit"),
];

/// Parses `?name` or `??name`. Returns the name, and whether its source text is wanted too.
pub(crate) fn parse_question(input: &str) -> Option<(&str, bool)> {
    let rest = input.trim().strip_prefix('?')?;
    let (name, source) = rest.strip_prefix('?').map_or((rest, false), |rest| (rest, true));
    let name = name.trim();
    (!name.is_empty()).then_some((name, source))
}

/// Returns the advice for an input such as `type f` or `set digits 3`, which lacks its colon. No
/// expression has a value right after a name.
pub(crate) fn missing_colon_advice(input: &str) -> Option<String> {
    let tokens = lex(input).tokens;
    let mut begin = tokens.iter().map(|t| &t.token);
    let meant = match (begin.next()?, begin.next()?) {
        (Token::Keyword(Word::Type), Token::Name(_)) => !tokens.iter().any(|t| t.token == Token::Sym(Sym::Assign)),
        (Token::Name(set), Token::Name(setting)) if set == "set" => {
            settings::SETTINGS.iter().any(|s| s.name == setting)
        }
        // `adjoint f(x; dy) = …` is a derivative rule.
        (Token::Name(_), Token::Name(_)) if tokens.iter().any(|t| t.token == Token::Sym(Sym::Assign)) => false,
        (Token::Name(name), Token::Name(_) | Token::Str(_) | Token::Int(_) | Token::Float(_)) => {
            COMMANDS.iter().any(|c| {
                c.name == name
                    && !matches!(c.argument, ArgumentKind::None | ArgumentKind::Setting | ArgumentKind::Value(_))
            })
        }
        _ => false,
    };
    let input = input.trim();
    (meant && !input.contains('\n')).then(|| format!("a command begins with a colon: write `:{input}`"))
}

/// Returns the word and the advice for an input that is one of `WORDS`, with or without `()`.
pub(crate) fn foreign_word_advice(input: &str) -> Option<(&'static str, String)> {
    let input = input.trim().trim_end_matches(';');
    let input = input.strip_suffix("()").unwrap_or(input);
    let (word, command) = FOREIGN_WORDS.iter().find(|(word, _)| *word == input)?;
    Some((word, format!("a command begins with a colon: write :{command}")))
}

fn unknown_command(name: &str) -> String {
    if settings::SETTINGS.iter().any(|s| s.name == name) {
        return format!("unknown command :{name}; did you mean `:set {name}`?");
    }
    match suggest::closest(name, COMMANDS.iter().map(|c| c.name)) {
        Some(near) => format!("unknown command :{name}; did you mean :{near}?"),
        None => format!("unknown command :{name}; :help lists all commands"),
    }
}

/// The column at which summaries begin.
const SUMMARY_COLUMN: usize = 24;

fn help_line(what: &str, summary: &str, width: Option<usize>) -> String {
    wrap_text(&format!("  {what:<21} {summary}"), width, 0, SUMMARY_COLUMN) + "\n"
}

/// Returns the text of `:help`, wrapped at `width`.
pub(crate) fn help_text(about: &str, width: Option<usize>) -> String {
    let about = about.trim_start_matches(':');
    if about.is_empty() {
        let mut text = wrap_text(
            "Enter an expression to see its value, or a definition (def, type, let, import) to keep it.\n`ans` is the last value; a final `;` suppresses the output; Ctrl-C stops a computation.\n\n",
            width,
            0,
            0,
        );
        text += &help_line(
            "?NAME",
            "documentation of a name: signature, text, example, rules; ??NAME adds its source and adjoint",
            width,
        );
        for c in COMMANDS {
            text += &help_line(format!(":{} {}", c.name, c.argument.placeholder()).trim_end(), c.summary, width);
        }
        return text;
    }
    match find_command(about) {
        Ok(c) => {
            let details = if c.details.is_empty() { String::new() } else { format!("{}\n", c.details) };
            let name = format!(":{} {}", c.name, c.argument.placeholder());
            wrap_text(&format!("{}: {}\n{details}", name.trim_end(), c.summary), width, 0, 4)
        }
        Err(message) => format!("{message}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: Option<Result<(CommandKind, &str), &str>>) {
        let found = parse_command(input);
        assert_eq!(found, expected.map(|r| r.map_err(str::to_owned)));
    }

    #[test]
    fn words_of_elsewhere_are_known() {
        assert_eq!(
            foreign_word_advice(" exit() "),
            Some(("exit", "a command begins with a colon: write :quit".to_owned()))
        );
        assert_eq!(foreign_word_advice("helper"), None);
        for input in ["type f(2)", "set digits 3", "plot x, y", "load \"a.iv\"", "explain E0300", "time 3 * 4"] {
            assert_eq!(missing_colon_advice(input), Some(format!("a command begins with a colon: write `:{input}`")));
        }
        for input in ["type T = A", "adjoint f(x; dy) = dy", "set x 3", "plot(x)", "save", "time - 3", "plot\nx", "f x"]
        {
            assert_eq!(missing_colon_advice(input), None);
        }
    }

    #[test]
    fn questions_ask_for_names() {
        assert_eq!(parse_question(" ?linalg.solve "), Some(("linalg.solve", false)));
        assert_eq!(parse_question("?? f"), Some(("f", true)));
        assert_eq!(parse_question("??"), None);
        assert_eq!(parse_question("x ? y"), None);
    }

    #[test]
    fn commands_are_understood() {
        check("1 + 2", None);
        check(":type 1 + 2", Some(Ok((CommandKind::Type, "1 + 2"))));
        check(":plot(x, y)", Some(Ok((CommandKind::Plot, "(x, y)"))));
        check("  :t x ", Some(Ok((CommandKind::Type, "x"))));
        check(":type", Some(Err(":type needs EXPR; see :help type")));
        check(":quit now", Some(Err(":quit takes no argument")));
        check(":help", Some(Ok((CommandKind::Help, ""))));
        check(":digits 3", Some(Err("unknown command :digits; did you mean `:set digits`?")));
        check(":laod f", Some(Err("unknown command :laod; did you mean :load?")));
        check(":save! f.iv", Some(Ok((CommandKind::Save(true), "f.iv"))));
        check(":load! f", Some(Err("unknown command :load!; did you mean :load?")));
        check(":", Some(Err("unknown command :; :help lists all commands")));
        check(":q", Some(Ok((CommandKind::Quit, ""))));
        check(":rel", Some(Ok((CommandKind::Reload, ""))));
        check(":re", Some(Err("`:re` is ambiguous: :reload, :reset")));
        check(":e x", Some(Err("`:e` is ambiguous: :explain, :env")));
        check(":adj f", Some(Ok((CommandKind::Adjoint, "f"))));
    }
}
