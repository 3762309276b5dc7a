//! **Completion** of the text before the cursor: names, fields, symbols, commands with their
//! arguments, and files. Names of the session come from the snapshot in `editor_snapshot`, so
//! completion computes nothing.

use lang_core::base::Code;
use lang_core::resolve::forms::{AXIS_SCALES, LoadOption, PlotKind, PlotOption};
use lang_core::resolve::vocabulary;
use lang_core::session::{LIBRARY, PRELUDE};
use lang_core::syntax::lexer::{Token, is_name_continue, is_name_start, lex};
use lang_core::syntax::token::Word;
use rustyline::completion::{FilenameCompleter, Pair};

use super::commands::{self, ArgumentKind};
use super::editor_snapshot::{EditorSnapshot, ValueShape};
use super::{settings, tex_completion};
use crate::lookup;

/// The start of the replaced text, and the candidates.
pub(crate) type CompletionCandidates = (usize, Vec<Pair>);

/// Returns the completion candidates for the end of the text.
pub(crate) fn completion_candidates(
    before: &str,
    known: &EditorSnapshot,
    files: &FilenameCompleter,
) -> CompletionCandidates {
    let paths = |from: usize| {
        let part = before.get(from..).unwrap_or_default();
        let (start, found) = files.complete_path(part, part.len()).unwrap_or_default();
        (from + start, found)
    };
    if let Some(quote) = open_quote(before) {
        let head = before.get(..quote).unwrap_or_default();
        return match is_in_plot(head).then(|| plot_string_candidates(head)) {
            Some(Some(texts)) => candidates_with_prefix(before, quote + 1, texts.into_iter().map(str::to_owned)),
            Some(None) => paths(quote),
            None if expects_file(head) => paths(quote),
            None => (before.len(), Vec::new()),
        };
    }
    if let Some((start, found)) = tex_completion::complete_symbol(before)
        && !found.is_empty()
    {
        let pair = |(display, replacement)| Pair { display, replacement };
        return (start, found.into_iter().map(pair).collect());
    }
    let blanks = before.len() - before.trim_start().len();
    let line = before.get(blanks..).unwrap_or_default();
    if let Some(question) = line.strip_prefix('?') {
        return question_candidates(before, question, known);
    }
    if let Some(command) = line.strip_prefix(':') {
        let Some((name, argument)) = command.split_once(char::is_whitespace) else {
            let names = commands::COMMANDS.iter().map(|c| c.name.to_owned());
            return candidates_with_prefix(before, before.len() - command.len(), names);
        };
        let start = before.len() - argument.trim_start().len();
        let argument = argument.trim_start();
        match commands::COMMANDS.iter().find(|c| c.name == name.trim_end_matches('!')).map(|c| c.argument) {
            Some(ArgumentKind::File) => return paths(start),
            Some(ArgumentKind::Code) => {
                return candidates_with_prefix(before, start, Code::ALL.iter().map(|c| c.name().to_owned()));
            }
            Some(ArgumentKind::Command) => {
                return candidates_with_prefix(before, start, commands::COMMANDS.iter().map(|c| c.name.to_owned()));
            }
            Some(ArgumentKind::Setting) => {
                return match argument.split_once(char::is_whitespace) {
                    None => candidates_with_prefix(before, start, settings::SETTINGS.iter().map(|s| s.name.to_owned())),
                    Some((setting, value)) => {
                        let values = settings::listed_values(setting).map(str::to_owned);
                        candidates_with_prefix(before, before.len() - value.trim_start().len(), values)
                    }
                };
            }
            Some(ArgumentKind::Value(setting)) => {
                return candidates_with_prefix(before, start, settings::listed_values(setting).map(str::to_owned));
            }
            Some(ArgumentKind::None) => return (before.len(), Vec::new()),
            Some(ArgumentKind::Name) => return question_candidates(before, argument, known),
            Some(ArgumentKind::Expression | ArgumentKind::PlotArguments) | None => {}
        }
    }
    let start = word_start(before);
    if let Some(dot) = before.get(..start).and_then(|text| text.strip_suffix('.')).filter(|text| !text.ends_with('.')) {
        return member_candidates(before, start, dot, known);
    }
    let word = before.get(start..).unwrap_or_default();
    if !word.starts_with(is_name_start) {
        return (before.len(), Vec::new());
    }
    if before
        .get(..start)
        .is_some_and(|text| lex(text).tokens.last().is_some_and(|t| t.token == Token::Keyword(Word::Import)))
    {
        return candidates_with_prefix(before, start, library_modules());
    }
    let own = known.names.iter().filter(|name| !name.contains('.')).cloned();
    let modules = known.modules.keys().cloned();
    let options = PlotOption::ALL.iter().filter(|_| is_in_plot(before)).map(|o| format!("{}: ", o.name()));
    let load = LoadOption::ALL.iter().filter(|_| is_call_open(before, "load")).map(|o| format!("{}: ", o.name()));
    let options = options.chain(load);
    candidates_with_prefix(
        before,
        start,
        vocabulary::all_words().map(str::to_owned).chain(own).chain(modules).chain(options),
    )
}

/// Returns the library modules that can be imported by name alone.
fn library_modules() -> impl Iterator<Item = String> {
    LIBRARY.iter().map(|(module, _)| *module).filter(|module| *module != PRELUDE).map(str::to_owned)
}

/// Whether the text ends inside the arguments of `plot`.
fn is_in_plot(text: &str) -> bool {
    let command = text.trim_start().strip_prefix(':').and_then(|c| c.split([' ', '(']).next());
    command.is_some_and(|name| name.len() < text.trim_start().len() - 1 && !name.is_empty() && "plot".starts_with(name))
        || is_call_open(text, "plot")
}

/// Returns the candidates for a string that begins after `head`, inside the arguments of `plot`.
/// `None` if it is a file name.
fn plot_string_candidates(head: &str) -> Option<Vec<&'static str>> {
    let head = head.trim_end();
    let option = head.strip_suffix(':').and_then(|name| name.get(word_start(name)..)).and_then(PlotOption::by_name);
    match option {
        Some(PlotOption::File) => None,
        Some(PlotOption::Xscale | PlotOption::Yscale) => Some(AXIS_SCALES.to_vec()),
        Some(_) => Some(Vec::new()),
        None => Some(PlotKind::ALL.iter().map(|kind| kind.name()).collect()),
    }
}

/// Returns the names that begin with the text after `start`, sorted.
fn candidates_with_prefix(before: &str, start: usize, all: impl Iterator<Item = String>) -> CompletionCandidates {
    let word = before.get(start..).unwrap_or_default();
    let mut found: Vec<String> = all.filter(|name| name.starts_with(word)).collect();
    found.sort_unstable();
    found.dedup();
    (start, found.into_iter().map(|name| Pair { display: name.clone(), replacement: name }).collect())
}

/// Returns the start of the name at the end of the text.
fn word_start(before: &str) -> usize {
    let of_word = before.char_indices().rev().take_while(|(_, c)| is_name_continue(*c));
    of_word.last().map_or(before.len(), |(at, _)| at)
}

/// Returns the candidates for a question `?name`. Library names are included without an import.
fn question_candidates(before: &str, question: &str, known: &EditorSnapshot) -> CompletionCandidates {
    let prefix = question.trim_start_matches('?').trim_start();
    let start = before.len() - prefix.len();
    let all =
        vocabulary::all_words().map(str::to_owned).chain(known.names.iter().cloned()).chain(lookup::library_names());
    // Names with a prefix are offered only after a dot.
    candidates_with_prefix(before, start, all.filter(|name| prefix.contains('.') || !name.contains('.')))
}

/// Returns the candidates after the dot of a value or a module.
fn member_candidates(before: &str, start: usize, of: &str, known: &EditorSnapshot) -> CompletionCandidates {
    let Some(path) = parse_path(of) else { return (before.len(), Vec::new()) };
    if let [PathStep::Name(module)] = path.as_slice() {
        let prefix = format!("{module}.");
        let of_module: Vec<String> =
            known.names.iter().filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned).collect();
        if !of_module.is_empty() && !known.shapes.contains_key(module) {
            return candidates_with_prefix(before, start, of_module.into_iter());
        }
    }
    let mut steps = path.into_iter();
    let Some(PathStep::Name(first)) = steps.next() else { return (before.len(), Vec::new()) };
    let mut shape = known.shapes.get(&first);
    for step in steps {
        shape = match step {
            PathStep::Name(name) => shape.and_then(|s| s.member(&name)),
            PathStep::Subscript => shape.map(ValueShape::element),
        };
    }
    candidates_with_prefix(before, start, shape.map(ValueShape::member_names).unwrap_or_default().into_iter())
}

/// A step to a part of a value.
#[derive(PartialEq, Debug)]
enum PathStep {
    Name(String),
    Subscript,
}

/// Parses the path at the end of a text: a name, then fields and subscripts. Returns `None` for any
/// other text.
fn parse_path(text: &str) -> Option<Vec<PathStep>> {
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        if rest.ends_with(']') {
            // Nested brackets are skipped with their contents.
            let mut depth = 0usize;
            let open = rest.char_indices().rev().find(|(_, c)| {
                match c {
                    ']' => depth += 1,
                    '[' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0
            });
            rest = rest.get(..open?.0)?;
            if steps.last() != Some(&PathStep::Subscript) {
                steps.push(PathStep::Subscript);
            }
            continue;
        }
        let start = word_start(rest);
        let word = rest.get(start..).filter(|word| !word.is_empty())?;
        steps.push(PathStep::Name(word.to_owned()));
        match rest.get(..start)?.strip_suffix('.') {
            Some(before) if !before.ends_with('.') => rest = before,
            _ => break,
        }
    }
    steps.reverse();
    Some(steps)
}

/// Returns the position of the opening quote if the text ends inside a string.
fn open_quote(text: &str) -> Option<usize> {
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let mut open = None;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < line) {
        match (c, open) {
            _ if escaped => escaped = false,
            ('\\', Some(_)) => escaped = true,
            ('"', Some(_)) => open = None,
            ('"', None) => open = Some(at),
            _ => {}
        }
    }
    open
}

/// Whether a string that begins after this text is a file name.
fn expects_file(before: &str) -> bool {
    let before = before.trim_end();
    let command = before.trim_start().strip_prefix(':').is_some_and(|c| c.starts_with("load") || c.starts_with("save"));
    is_call_open(before, "load") || is_call_open(before, "save") || command || before.ends_with("import")
}

/// Whether a call of `name` is open at the end of the text.
fn is_call_open(text: &str, name: &str) -> bool {
    text.rfind(&format!("{name}(")).is_some_and(|at| {
        let inside = text.get(at + name.len()..).unwrap_or_default();
        let depth = inside.chars().fold(0i64, |n, c| match c {
            '(' => n + 1,
            ')' => n - 1,
            _ => n,
        });
        depth > 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> EditorSnapshot {
        let mut known = EditorSnapshot::default();
        for name in ["loss", "lossy", "μ₀", "p", "ps", "la.solve", "la.solve_lower"] {
            known.names.insert(name.to_owned());
        }
        known.modules.insert("la".to_owned(), "linalg".to_owned());
        let point = ValueShape::Record(vec![
            ("x".to_owned(), ValueShape::Other),
            ("to".to_owned(), ValueShape::Tuple(vec![ValueShape::Other, ValueShape::Other])),
        ]);
        known.shapes.insert("p".to_owned(), point.clone());
        known.shapes.insert("ps".to_owned(), ValueShape::Array(Box::new(point)));
        known
    }

    #[track_caller]
    fn check(before: &str, expected: &[&str]) {
        let (_, pairs) = completion_candidates(before, &known(), &FilenameCompleter::new());
        let found: Vec<String> = pairs.into_iter().map(|p| p.replacement).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn names_and_words() {
        check("1 + los", &["loss", "lossy"]);
        check("f(μ", &["μ₀"]);
        check("hess", &["hessian"]);
        check("x[0..loss", &["loss", "lossy"]);
        check(":type los", &["loss", "lossy"]);
        check("?linalg.eig", &["linalg.eigh", "linalg.eigvalsh"]);
        check("??ode", &["ode"]);
        check("1 + ", &[]);
        check("zzz", &[]);
        check("\\alpha", &["α"]);
    }

    #[test]
    fn parts_of_values_and_modules() {
        check("p.", &["to", "x"]);
        check("2 * p.to.", &["0", "1"]);
        check("ps[0].t", &["to"]);
        check("ps[f(1, [2])][0].to.", &["0", "1"]);
        check("x + la.sol", &["solve", "solve_lower"]);
        check("q.", &[]);
        check("linalg.eig", &[]);
        check("0..", &[]);
    }

    #[test]
    fn commands_and_what_they_take() {
        check(":lo", &["load"]);
        check(":help ty", &["type"]);
        check(
            ":explain E050",
            &["E0500", "E0501", "E0502", "E0503", "E0504", "E0505", "E0506", "E0507", "E0508", "E0509"],
        );
        check(":set na", &["nan"]);
        check(":set nan ", &["ignore", "stop"]);
        check(":env x", &[]);
    }

    #[test]
    fn plots_and_imports() {
        check(":plot loss, \"p", &["points"]);
        check("do plot(p, \"h", &["heatmap", "histogram"]);
        check("plot(p, \"line\", xs", &["xscale: "]);
        check(":plot p, xscale: \"l", &["linear", "log"]);
        check("plot(p, title: \"p", &[]);
        check("plot(p) + xs", &[]);
        check("print(p, \"po", &[]);
        check("import o", &["ode", "optim"]);
        check("import linalg as l", &["la", "len", "let", "lgamma", "load", "log", "log1p", "loop", "loss", "lossy"]);
    }

    #[test]
    fn names_of_files() {
        let folder = std::env::temp_dir().join(format!("iverson-complete-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("points.csv"), "").unwrap();
        let start = folder.join("poi").display().to_string();
        let whole = folder.join("points.csv").display().to_string();
        check(&format!("let x: [?n]f64 = load(\"{start}"), &[&whole]);
        check(&format!("save((1, 2), \"{start}"), &[&whole]);
        check(&format!(":load {start}"), &[&whole]);
        check(&format!(":save {start}"), &[&whole]);
        check(&format!("print(\"{start}"), &[]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
