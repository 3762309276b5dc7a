//! `iverson explain E0300`: prints the book's page of an error code; without a code, the list of
//! codes. An argument that is no code is looked up as by `iverson doc`.

use lang_core::base::Code;

use super::doc;
use crate::engine::Engine;
use crate::json;
use crate::out::{OutputWriter, Status};
use crate::pages;
use crate::problem::Problem;
use crate::show;
use crate::source::Sources;
use crate::suggest;
use crate::wrap;

pub(crate) fn run(code: Option<&str>, engine: &Engine, out: OutputWriter) -> Status {
    let Some(wanted) = code else {
        if out.is_json() {
            let all = Code::ALL.iter().map(|c| (c.name(), json::string(c.title())));
            out.print(&format!("{}\n", json::object(all)));
        } else {
            let all: String = Code::ALL.iter().map(|c| format!("{c}  {}\n", c.title())).collect();
            out.print(&all);
        }
        return Status::Success;
    };
    match parse_code(wanted) {
        Some(code) => show_page(code, out),
        None if is_code_like(wanted) => {
            let mut problem = Problem::new(Code::E0600, format!("`{wanted}` is not an error code"));
            problem.help = Some(match suggest::closest(&wanted.to_uppercase(), Code::ALL.iter().map(|c| c.name())) {
                Some(near) => format!("did you mean `{near}`? `iverson explain` lists all codes"),
                None => "`iverson explain` lists all codes".to_owned(),
            });
            out.report_failure(&[problem], &Sources::default());
            Status::Usage
        }
        None => doc::show_documentation(engine, None, wanted, false, out),
    }
}

/// Parses a code: `E0300`, `e0300`, `[E0300]`, `e300` or `300`.
pub(crate) fn parse_code(wanted: &str) -> Option<Code> {
    let (letter, digits) = split_code(wanted)?;
    let number: u32 = digits.parse().ok()?;
    let name = format!("{}{number:04}", letter.to_ascii_uppercase());
    Code::ALL.iter().copied().find(|c| c.name() == name)
}

fn is_code_like(wanted: &str) -> bool {
    split_code(wanted).is_some()
}

/// Splits a code into its letter, by default `E`, and its digits.
fn split_code(wanted: &str) -> Option<(char, &str)> {
    let wanted = wanted.trim_matches(['[', ']']);
    let (letter, digits) = match wanted.strip_prefix(['E', 'W', 'e', 'w']) {
        Some(digits) => (wanted.chars().next()?, digits),
        None => ('E', wanted),
    };
    (!digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())).then_some((letter, digits))
}

/// Shows the page of a code.
pub(crate) fn show_page(code: Code, out: OutputWriter) -> Status {
    let page = pages::page(code);
    if out.is_json() {
        let document = json::object([
            ("code", json::string(code.name())),
            ("title", json::string(code.title())),
            ("page", json::string(page)),
        ]);
        out.print(&format!("{document}\n"));
    } else {
        out.print(&wrap::wrap_page(&pages::strip_markdown(page), show::terminal_width()));
    }
    Status::Success
}
