//! **Syntax grammars.** Generates the word and symbol tables of the editors' grammars from the
//! lexer's and the resolver's own tables. A generated table lies between a line with `table: NAME`
//! and a line with `table end`. In a format without comments, these marks are members that the
//! editor ignores.
//!
//! The `editors` test compares the files below `editors/` with the output of [`refresh`].

use std::fmt::Write as _;

use lang_core::resolve::builtin::Builtin;
use lang_core::resolve::forms::{Const, DerivativeOp, SpecialForm};
use lang_core::resolve::scalar_fn::ScalarFn;
use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::ops::{BinderKind, Scalar};
use lang_core::syntax::token::{Sym, Word};

/// The files that hold tables, with the function that writes a row of each.
pub const FILES: [(&str, Row); 4] = [
    ("editors/vscode/syntaxes/iverson.tmLanguage.json", textmate),
    ("editors/nvim/syntax/iverson.vim", vim),
    ("editors/emacs/iverson-mode.el", emacs),
    ("editors/kakoune/iverson.kak", kakoune),
];

/// A function that writes the row of one group.
pub type Row = fn(group: &Group) -> String;

/// Words or symbols that an editor highlights alike.
pub struct Group {
    /// The kind of the group: `item`, `binder`.
    pub name: &'static str,
    /// Their spellings, sorted.
    pub spelled: Vec<String>,
}

/// Returns the file with its tables regenerated.
///
/// # Errors
/// If a table has an unknown name or no end mark.
pub fn refresh(text: &str, row: Row) -> Result<String, String> {
    let mut out = String::new();
    let mut lines = text.lines();
    let mut tables = 0;
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some((_, name)) = line.split_once("table: ") else { continue };
        let name: String = name.chars().take_while(char::is_ascii_alphabetic).collect();
        let groups = match name.as_str() {
            "words" => words(),
            "symbols" => symbols(),
            _ => return Err(format!("there is no table `{name}`")),
        };
        tables += 1;
        groups.iter().for_each(|group| out.push_str(&row(group)));
        let end = lines.find(|line| line.contains("table end")).ok_or("a table without its end")?;
        out.push_str(end);
        out.push('\n');
    }
    if tables == 0 { Err("it has no table".into()) } else { Ok(out) }
}

/// Returns the words of the language by group. A symbol that the lexer reads as a word, such as `⊞`
/// and `∑`, belongs to the group of that word.
fn words() -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut add = |name: &'static str, word: &str| {
        let at = groups.iter().position(|g| g.name == name).unwrap_or_else(|| {
            groups.push(Group { name, spelled: Vec::new() });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.spelled.push(word.to_owned());
        }
    };
    for word in Word::ALL {
        add(reserved(*word), word.text());
    }
    for binder in BinderKind::ALL.into_iter().filter(|b| Word::from_text(b.keyword()).is_none()) {
        add("binder", binder.keyword());
    }
    let binder = |name: &str| BinderKind::ALL.iter().any(|b| b.keyword() == name);
    for scalar in Scalar::ALL {
        add("type", scalar.name());
    }
    for operator in DerivativeOp::ALL {
        add("derivative", operator.name());
    }
    for form in SpecialForm::ALL {
        add("form", form.name());
    }
    for function in ScalarFn::ALL.iter().map(|f| f.name()).chain(Builtin::ALL.iter().map(|b| b.name())) {
        add("function", function);
    }
    for constant in Const::ALL {
        add("constant", constant.name());
    }
    for c in glyphs() {
        match token(c) {
            Some(Token::Keyword(word)) => add(reserved(word), &c.to_string()),
            Some(Token::Name(name)) if binder(&name) => add("binder", &c.to_string()),
            Some(Token::Name(name)) if DerivativeOp::by_name(&name).is_some() => add("derivative", &c.to_string()),
            Some(Token::Name(name)) if Const::by_name(&name).is_some() => add("constant", &c.to_string()),
            _ => {}
        }
    }
    for group in &mut groups {
        group.spelled.sort();
    }
    groups
}

/// Returns the group of a reserved word.
fn reserved(word: Word) -> &'static str {
    match word {
        Word::Def | Word::Type | Word::Import | Word::Let | Word::Do | Word::In | Word::Where | Word::As => "item",
        Word::For => "generator",
        Word::If
        | Word::Then
        | Word::Else
        | Word::Match
        | Word::Fold
        | Word::Scan
        | Word::Loop
        | Word::While
        | Word::With
        | Word::Yield
        | Word::Checkpoint
        | Word::By => "control",
        Word::True | Word::False => "truth",
    }
}

/// Returns the operators, the longest first. Brackets and separators are not operators.
fn symbols() -> Vec<Group> {
    let mut spelled: Vec<String> =
        Sym::ALL.iter().filter(|sym| is_operator(**sym)).map(|sym| sym.text().to_owned()).collect();
    let glyphs = glyphs().filter(|c| matches!(token(*c), Some(Token::Sym(sym)) if is_operator(sym)));
    spelled.extend(glyphs.map(String::from));
    spelled.sort_by(|a, b| b.chars().count().cmp(&a.chars().count()).then_with(|| a.cmp(b)));
    vec![Group { name: "operator", spelled }]
}

fn is_operator(sym: Sym) -> bool {
    match sym {
        Sym::LParen
        | Sym::RParen
        | Sym::LBracket
        | Sym::RBracket
        | Sym::LBrace
        | Sym::RBrace
        | Sym::Comma
        | Sym::Semi
        | Sym::Colon
        | Sym::Dot
        | Sym::Underscore => false,
        Sym::DotDot
        | Sym::Assign
        | Sym::PlusAssign
        | Sym::Arrow
        | Sym::Backslash
        | Sym::Question
        | Sym::Bar
        | Sym::Pipe
        | Sym::Or
        | Sym::And
        | Sym::Bang
        | Sym::Eq
        | Sym::Ne
        | Sym::Lt
        | Sym::Le
        | Sym::Gt
        | Sym::Ge
        | Sym::Plus
        | Sym::Minus
        | Sym::Star
        | Sym::Slash
        | Sym::FloorDiv
        | Sym::Percent
        | Sym::Caret => true,
    }
}

/// The characters beyond ASCII that the lexer may read as another spelling of a token.
fn glyphs() -> impl Iterator<Item = char> {
    ('\u{a1}'..='\u{3ff}').chain('\u{2000}'..='\u{2bff}')
}

/// Returns the token of a lone character, or `None` if the lexer reports an error or reads it as a
/// name.
fn token(c: char) -> Option<Token> {
    let lexed = lex(&c.to_string());
    let [only] = lexed.tokens.as_slice() else { return None };
    let own = matches!(&only.token, Token::Name(name) if **name == *c.to_string());
    (lexed.diagnostics.is_empty() && !own).then(|| only.token.clone())
}

fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Splits the spellings into those made of letters and the others.
fn parted(group: &Group) -> (Vec<&str>, Vec<&str>) {
    group.spelled.iter().map(String::as_str).partition(|text| is_word(text))
}

/// Returns an alternation of the spellings, as an Oniguruma regular expression. A word must end
/// where a name ends.
fn choice(group: &Group) -> String {
    let (words, others) = parted(group);
    let others: Vec<String> = others.into_iter().map(escaped).collect();
    match (words.is_empty(), others.is_empty()) {
        (true, _) => format!("(?:{})", others.join("|")),
        (_, true) => format!("{BEGIN}(?:{}){END}", words.join("|")),
        _ => format!("(?:{BEGIN}(?:{}){END}|{})", words.join("|"), others.join("|")),
    }
}

/// The start of a word: no name ends and no field access precedes here. After one dot every word is
/// a field name; after the two dots of a range it is not.
const BEGIN: &str = r"(?<![\p{L}\p{N}_'])(?<![^.]\.)(?<!^\.)";
const END: &str = r"(?![\p{L}\p{N}_'])";

fn escaped(text: &str) -> String {
    let special =
        |c: char| matches!(c, '\\' | '^' | '$' | '.' | '|' | '?' | '*' | '+' | '(' | ')' | '[' | ']' | '{' | '}');
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

fn textmate(group: &Group) -> String {
    // A program may define the same name, so the pattern matches only calls.
    let called = format!("{}(?=\\s*\\()", choice(group));
    // A binder's word is a binder only if a variable follows; a reserved word is not a variable.
    let reserved: Vec<&str> = Word::ALL.iter().map(|w| w.text()).collect();
    let variable = format!(r"(?=\s*+(?!(?:{}){END})[\p{{L}}_])", reserved.join("|"));
    let (scope, pattern) = match group.name {
        // Before a colon these words are field names: `{in: 1}`.
        "item" => ("keyword.control.item", choice(group) + r"(?!\s*:)"),
        "control" => ("keyword.control", choice(group)),
        "generator" => ("keyword.control.binder", choice(group) + r"(?!\s*:)"),
        "binder" => ("keyword.control.binder", choice(group) + &variable),
        "truth" => ("constant.language.boolean", choice(group)),
        "constant" => ("constant.language", choice(group)),
        "type" => ("support.type", choice(group)),
        "derivative" => ("support.function.derivative", called),
        "form" => ("support.function.form", called),
        "function" => ("support.function", called),
        _ => ("keyword.operator", choice(group)),
    };
    let text = serde_json::to_string(&pattern).unwrap_or_default();
    format!("        {{ \"name\": \"{scope}.iverson\", \"match\": {text} }},\n")
}

fn vim(group: &Group) -> String {
    let name = format!("iverson{}", capital(group.name));
    let (words, others) = parted(group);
    let mut out = String::new();
    if !words.is_empty() {
        let words = words.join("|");
        let after = match group.name {
            "binder" => r"%(\s+%([[:alpha:]_]|[^\x00-\x7f]))@=",
            "derivative" | "form" | "function" => r"%(\s*\()@=",
            _ => "",
        };
        let _ = writeln!(out, r"syn match {name} /\v%(%(^|[^.])\.)@5<!<%({words})>{after}/");
    }
    // Longer symbols come later, because the last match wins in Vim.
    for text in others.iter().rev() {
        let _ = writeln!(out, r"syn match {name} /\V{}/", text.replace('\\', r"\\").replace('/', r"\/"));
    }
    out
}

fn emacs(group: &Group) -> String {
    let quoted: Vec<String> = group.spelled.iter().map(|text| format!("{text:?}")).collect();
    format!("(defconst iverson-{}s\n  '({}))\n", group.name, wrapped(&quoted.join(" "), "    "))
}

fn kakoune(group: &Group) -> String {
    let face = match group.name {
        "item" | "control" | "generator" | "binder" => "keyword",
        "truth" | "constant" => "value",
        "type" => "type",
        "operator" => "operator",
        _ => "builtin",
    };
    let (words, others) = parted(group);
    let mut out = String::new();
    if !words.is_empty() {
        let after = match group.name {
            // Kakoune cannot repeat a lookahead, so the pattern matches the following text without
            // a face.
            "binder" => r"\h+\w",
            "derivative" | "form" | "function" => r"\h*\(",
            _ => "",
        };
        let words = words.join("|");
        let pattern = format!("(?<![^.]\\.)(?<!')\\b({words})\\b(?!'){after}");
        let _ = writeln!(out, "add-highlighter shared/iverson/code/ regex \"{pattern}\" 1:{face}");
    }
    if !others.is_empty() {
        let others: Vec<String> = others.into_iter().map(escaped).collect();
        let pattern = others.join("|").replace('%', "%%");
        let _ = writeln!(out, "add-highlighter shared/iverson/code/ regex \"{pattern}\" 0:{face}");
    }
    out
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

/// Wraps words to lines of at most a hundred columns. The first line follows other text.
fn wrapped(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut column = indent.len();
    for word in text.split(' ') {
        if column > indent.len() && column + word.chars().count() > 96 {
            out.push('\n');
            out.push_str(indent);
            column = indent.len();
        } else if column > indent.len() {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.chars().count();
    }
    out
}
