//! `iverson explain E0300`: the book's page of an error code; without a code, the list of them.
//! `iverson explain sum`: a form or function of the language, in a line or two.

use lang_core::base::Code;
use lang_core::resolve::builtin::Builtin;
use lang_core::resolve::forms::{Const, Derivative, Form};
use lang_core::resolve::scalar_fn::ScalarFn;
use lang_core::syntax::ops::BinderKind;
use lang_core::syntax::parser;
use lang_core::syntax::split::split;
use lang_core::syntax::token::Word;

use crate::json;
use crate::out::{Out, Status};
use crate::pages;
use crate::problem::Problem;
use crate::source::Sources;
use crate::suggest;

pub(crate) fn run(code: Option<&str>, out: Out) -> Status {
    let Some(wanted) = code else {
        if out.is_json() {
            let all = Code::ALL.iter().map(|c| (c.name(), json::string(c.title())));
            out.print(&format!("{}\n", json::object(all)));
        } else {
            let all: String = Code::ALL.iter().map(|c| format!("{c}  {}\n", c.title())).collect();
            out.print(&all);
        }
        return Status::Good;
    };
    let upper = wanted.trim_matches(['[', ']']).to_uppercase();
    let Some(code) = Code::ALL.iter().find(|c| c.name() == upper) else {
        if let Some(text) = name(wanted) {
            let document = || json::object([("name", json::string(wanted)), ("text", json::string(&text))]);
            out.print(&if out.is_json() { format!("{}\n", document()) } else { format!("{text}\n") });
            return Status::Good;
        }
        let mut problem = Problem::new(Code::E0600, format!("`{wanted}` is no error code, form or function"));
        problem.help = Some(match suggest::closest(&upper, Code::ALL.iter().map(|c| c.name())) {
            Some(near) => format!("did you mean `{near}`? `iverson explain` lists all"),
            None => "`iverson explain` lists all".to_owned(),
        });
        out.fail(&[problem], &Sources::default());
        return Status::Usage;
    };
    let page = pages::page(*code);
    if out.is_json() {
        let document = json::object([
            ("code", json::string(code.name())),
            ("title", json::string(code.title())),
            ("page", json::string(page)),
        ]);
        out.print(&format!("{document}\n"));
    } else {
        out.print(&for_terminal(page));
    }
    Status::Good
}

/// The library that every program sees.
const PRELUDE: &str = include_str!("../../../std/prelude.iv");

/// What a name of the language is.
fn name(wanted: &str) -> Option<String> {
    if let Some(binder) = BinderKind::ALL.into_iter().find(|b| b.word() == wanted) {
        return Some(form(binder));
    }
    if let Some(word) = Word::ALL.iter().find(|w| w.text() == wanted) {
        return keyword(*word).map(str::to_owned);
    }
    if let Some(builtin) = Builtin::by_name(wanted) {
        return Some(format!("{}\n{}", builtin.signature(), builtin.doc()));
    }
    if let Some(scalar) = ScalarFn::ALL.iter().find(|f| f.name() == wanted) {
        let arguments: Vec<&str> = scalar.arguments().iter().map(|x| x.name).collect();
        let shown = scalar.doc().contains(&format!("{wanted}("));
        let head = if shown { String::new() } else { format!("{wanted}({})\n", arguments.join(", ")) };
        return Some(head + scalar.doc());
    }
    let own = Form::by_name(wanted).map(Form::doc).or_else(|| Derivative::by_name(wanted).map(Derivative::doc));
    if let Some(doc) = own.or_else(|| Const::by_name(wanted).map(Const::doc)) {
        return Some(doc.to_owned());
    }
    let item = split(PRELUDE).into_iter().find(|item| item.name == wanted)?;
    let docs = parser::parse_item(&item.text).tree.docs;
    let head = item.text.lines().find(|line| line.starts_with("def "))?;
    let (signature, _) = head.rsplit_once(" =")?;
    Some(format!("{signature}\n{docs}"))
}

/// What a binder is.
fn form(binder: BinderKind) -> String {
    let meaning = match binder {
        BinderKind::For => {
            return "for i < n: e\nThe array of the values of e; for i < n, j < m: e has two axes.".to_owned();
        }
        BinderKind::Sum => "The sum of the values of e; 0 over nothing.",
        BinderKind::Prod => "The product of the values of e; 1 over nothing.",
        BinderKind::Max => "The greatest value of e. With commas, max(a, b), the greater of two.",
        BinderKind::Min => "The least value of e. With commas, min(a, b), the lesser of two.",
        BinderKind::Argmax => "The first index where e is greatest.",
        BinderKind::Argmin => "The first index where e is least.",
        BinderKind::Any => "Does e hold for some index?",
        BinderKind::All => "Does e hold for every index?",
        BinderKind::Rel => return "rel i < n, j < m: p\nThe relation of the indices where p holds.".to_owned(),
    };
    let word = binder.word();
    let ranges = "The range is i < n, i in a..b, or i alone where it indexes an array in e.";
    format!(
        "{word} i < n: e, {word} i < n if p: e\n{meaning} {ranges}\nThe body e reaches as far right as it can: close it with ( … )."
    )
}

/// What begins with a word.
fn keyword(word: Word) -> Option<&'static str> {
    Some(match word {
        Word::Def => "def f(x: [n]f64) -> f64 = e\nDefines a function.",
        Word::Let | Word::In => "let x = e in e2\nNames a value; let x = e at the top level has no in.",
        Word::If | Word::Then | Word::Else => {
            "if c then a else b\nA choice; both branches are there and have one type."
        }
        Word::Match => "match e { p: a, q: b }\nA choice by patterns.",
        Word::Fold | Word::Yield => {
            "fold acc = init for i < n: e\nThe last value of acc, which is e after each i; yield e2 gives outputs on the way."
        }
        Word::Scan => "scan acc = init for i < n: e\nAll values of acc, the first one too.",
        Word::Loop | Word::While => "loop acc = init while c: e\nThe first value of acc where c does not hold.",
        Word::With => "x with [i] = e\nThe array x but for one element; r with a = e the record r but for one field.",
        Word::Do => "do e\nEvaluates e when the file is run, and shows its value.",
        Word::Import => "import linalg, import \"./file.iv\" as m\nBrings in a module, whose names are linalg.f.",
        Word::Type => "type T = A(f64) | B\nDefines a type.",
        _ => return None,
    })
}

/// A page without its marks: code is indented, links are their texts.
fn for_terminal(page: &str) -> String {
    let mut text = String::new();
    let mut code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            code = !code;
            // Code and what it shows stand in fences one right after the other.
            if code && !text.ends_with("\n\n") {
                text.push('\n');
            }
        } else if code {
            text += &format!("    {line}\n");
        } else {
            text += &without_links(line.strip_prefix("# ").unwrap_or(line));
            text.push('\n');
        }
    }
    text
}

/// `[E0501](E0501.md)` is `E0501`.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let (Some((lead, words)), Some((_, tail))) = (before.rsplit_once('['), after.split_once(')')) else { break };
        text.extend([lead, words]);
        rest = tail;
    }
    text + rest
}
