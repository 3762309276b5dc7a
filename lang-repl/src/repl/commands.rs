//! The REPL's commands: one table with names, arguments and help.

use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::token::{Sym, Word};

use crate::suggest;

/// A command.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// How its argument is shown; empty if it takes none.
    argument: &'static str,
    /// A line.
    summary: &'static str,
    /// What `:help NAME` adds.
    details: &'static str,
}

/// Which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Type,
    Explain,
    Load,
    Reload,
    Env,
    Help,
    Quit,
}

/// All commands, in the order of `:help`.
pub(crate) const ALL: &[Command] = &[
    Command {
        name: "type",
        kind: Kind::Type,
        argument: "EXPR",
        summary: "the type of an expression, which is not evaluated",
        details: "Of a function by its name the signature.\n  :type for i < 3: 2 * i",
    },
    Command {
        name: "explain",
        kind: Kind::Explain,
        argument: "CODE",
        summary: "what an error code means",
        details: "  :explain E0300",
    },
    Command {
        name: "load",
        kind: Kind::Load,
        argument: "FILE",
        summary: "bring in the definitions of a file and run its `let` and `do` items",
        details: "Definitions of the same names are replaced. A file that does not check changes\nnothing; one whose `do` fails is loaded.\n  :load examples/deconvolution.iv",
    },
    Command {
        name: "reload",
        kind: Kind::Reload,
        argument: "",
        summary: "read loaded and imported files again",
        details: "What was typed since and has the same name is replaced by what the files say.",
    },
    Command { name: "env", kind: Kind::Env, argument: "", summary: "what is defined here", details: "" },
    Command {
        name: "help",
        kind: Kind::Help,
        argument: "[COMMAND]",
        summary: "this list, or more about one command",
        details: "",
    },
    Command { name: "quit", kind: Kind::Quit, argument: "", summary: "leave; Ctrl-D does too", details: "" },
];

/// An input that is a command: which, and its argument. `Err` says what is wrong.
pub(crate) fn parse(input: &str) -> Option<Result<(Kind, &str), String>> {
    let rest = input.trim().strip_prefix(':')?;
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = argument.trim();
    // `:t` is enough where only one command begins so.
    let mut begin = ALL.iter().filter(|c| !name.is_empty() && c.name.starts_with(name));
    let command = match (ALL.iter().find(|c| c.name == name), begin.next(), begin.next()) {
        (Some(command), ..) | (None, Some(command), None) => command,
        _ => return Some(Err(unknown(name))),
    };
    Some(match (command.argument, argument) {
        ("", "") => Ok((command.kind, "")),
        ("", _) => Err(format!(":{} takes no argument", command.name)),
        (wanted, "") if !wanted.starts_with('[') => Err(format!(":{} needs {wanted}; see :help {0}", command.name)),
        _ => Ok((command.kind, argument)),
    })
}

/// Words by which one leaves or asks for help elsewhere, and the command that is meant.
const WORDS: &[(&str, &str)] = &[
    ("?", "help"),
    ("??", "help"),
    ("help", "help"),
    ("quit", "quit"),
    ("exit", "quit"),
    ("bye", "quit"),
    ("logout", "quit"),
];

/// A question: the name that is asked for, and whether its text is wanted too: `?name`, `??name`.
pub(crate) fn question(input: &str) -> Option<(&str, bool)> {
    let rest = input.trim().strip_prefix('?')?;
    let (name, source) = rest.strip_prefix('?').map_or((rest, false), |rest| (rest, true));
    let name = name.trim();
    (!name.is_empty()).then_some((name, source))
}

/// What to say to `type f`, which is meant to ask for a type.
pub(crate) fn asks_type(input: &str) -> Option<String> {
    let tokens = lex(input).tokens;
    let mut begin = tokens.iter().map(|t| &t.token);
    let (Some(Token::Word(Word::Type)), Some(Token::Name(_))) = (begin.next(), begin.next()) else { return None };
    let asked = input.trim().strip_prefix("type")?.trim();
    let defines = tokens.iter().any(|t| t.token == Token::Sym(Sym::Assign));
    (!defines && !asked.contains('\n')).then(|| format!("a command begins with a colon: write `:type {asked}`"))
}

/// What to say to an input that is such a word, perhaps written as a call, and which it is.
pub(crate) fn word(input: &str) -> Option<(&'static str, String)> {
    let input = input.trim().trim_end_matches(';');
    let input = input.strip_suffix("()").unwrap_or(input);
    let (word, command) = WORDS.iter().find(|(word, _)| *word == input)?;
    Some((word, format!("a command begins with a colon: write :{command}")))
}

fn unknown(name: &str) -> String {
    match suggest::closest(name, ALL.iter().map(|c| c.name)) {
        Some(near) => format!("there is no command :{name}; did you mean :{near}?"),
        None => format!("there is no command :{name}; :help lists all"),
    }
}

fn line(what: &str, summary: &str) -> String {
    format!("  {what:<16} {summary}\n")
}

/// The text of `:help`.
pub(crate) fn help(about: &str) -> String {
    let about = about.trim_start_matches(':');
    if about.is_empty() {
        let mut text = String::from(
            "Type an expression to see its value, or a definition (def, type, let, import) to keep it.\n\
             `ans` is the last value; `;` at the end prints nothing; Ctrl-C stops a computation.\n\n",
        );
        text += &line("?NAME", "what a name is: signature, documentation, example, rule; ??NAME its text too");
        for c in ALL {
            text += &line(format!(":{} {}", c.name, c.argument).trim_end(), c.summary);
        }
        return text;
    }
    match ALL.iter().find(|c| c.name == about) {
        Some(c) => {
            let details = if c.details.is_empty() { String::new() } else { format!("{}\n", c.details) };
            format!("{}: {}\n{details}", format!(":{} {}", c.name, c.argument).trim_end(), c.summary)
        }
        None => format!("{}\n", unknown(about)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: Option<Result<(Kind, &str), &str>>) {
        let found = parse(input);
        assert_eq!(found, expected.map(|r| r.map_err(str::to_owned)));
    }

    #[test]
    fn words_of_elsewhere_are_known() {
        assert_eq!(word(" exit() "), Some(("exit", "a command begins with a colon: write :quit".to_owned())));
        assert_eq!(word("helper"), None);
        let asked = asks_type("type f(2)");
        assert_eq!(asked.as_deref(), Some("a command begins with a colon: write `:type f(2)`"));
        assert_eq!(asks_type("type T = A"), None);
    }

    #[test]
    fn questions_ask_for_names() {
        assert_eq!(question(" ?linalg.solve "), Some(("linalg.solve", false)));
        assert_eq!(question("?? f"), Some(("f", true)));
        assert_eq!(question("??"), None);
        assert_eq!(question("x ? y"), None);
    }

    #[test]
    fn commands_are_understood() {
        check("1 + 2", None);
        check(":type 1 + 2", Some(Ok((Kind::Type, "1 + 2"))));
        check("  :t x ", Some(Ok((Kind::Type, "x"))));
        check(":type", Some(Err(":type needs EXPR; see :help type")));
        check(":quit now", Some(Err(":quit takes no argument")));
        check(":help", Some(Ok((Kind::Help, ""))));
        check(":laod f", Some(Err("there is no command :laod; did you mean :load?")));
        check(":", Some(Err("there is no command :; :help lists all")));
        check(":r", Some(Ok((Kind::Reload, ""))));
    }
}
