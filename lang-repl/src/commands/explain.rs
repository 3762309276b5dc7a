//! `iverson explain E0300`: the book's page of an error code; without a code, the list of them.

use lang_core::base::Code;

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
        let mut problem = Problem::new(Code::E0600, format!("there is no error code `{wanted}`"));
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
        out.print(page);
    }
    Status::Good
}
