//! `iverson doc NAME`, and `?NAME` in the REPL: prints the signature, documentation, example and
//! rules of a definition, a module or a word of the language.

use std::path::Path;

use lang_core::base::{Code, ModuleName};

use super::explain;
use crate::cli::CommonOptions;
use crate::doc_entry::{DocEntry, two_columns};
use crate::engine::Engine;
use crate::files;
use crate::json;
use crate::lookup;
use crate::out::{OutputWriter, Status};
use crate::problem::Problem;
use crate::show;
use crate::wrap;

pub(crate) fn run(name: Option<&str>, load: Option<&Path>, common: &CommonOptions, out: OutputWriter) -> Status {
    let mut engine = Engine::new(common, out);
    let module = match load.map(|path| engine.load(path)).transpose() {
        Ok(module) => module,
        Err(problem) => {
            out.report_failure(std::slice::from_ref(&*problem), &engine.sources);
            return files::read_failure_status(&problem);
        }
    };
    match name {
        Some(name) => show_documentation(&engine, module.as_ref(), name, false, out),
        None => list_entries(&engine, module.as_ref(), out),
    }
}

/// Shows the documentation of a name, as it is visible in module `here` if that is `Some`. Includes
/// the definition's text if `source` is true.
pub(crate) fn show_documentation(
    engine: &Engine,
    here: Option<&ModuleName>,
    name: &str,
    source: bool,
    out: OutputWriter,
) -> Status {
    let found = lookup::find_documentation(engine, here, name);
    if found.is_empty() {
        if let Some(code) = explain::parse_code(name) {
            return explain::show_page(code, out);
        }
        let mut problem = Problem::new(Code::E0600, format!("no documentation for `{name}`"));
        problem.help = Some(match lookup::nearest_name(engine, here, name) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`iverson doc` lists the modules".to_owned(),
        });
        out.report_failure(&[problem], &engine.sources);
        return Status::Failed;
    }
    if out.is_json() {
        let mut documents: Vec<String> = found.iter().map(DocEntry::json).collect();
        let document = match documents.len() {
            1 => documents.remove(0),
            _ => json::array(documents),
        };
        out.print(&format!("{document}\n"));
    } else {
        let texts: Vec<String> = found.iter().map(|entry| entry.text(source)).collect();
        out.print(&wrap::wrap_page(&texts.join("\n"), show::terminal_width()));
    }
    Status::Success
}

/// Lists the definitions of a file, or the modules of the library.
fn list_entries(engine: &Engine, here: Option<&ModuleName>, out: OutputWriter) -> Status {
    let entries = match here {
        Some(module) => lookup::definition_entries(engine, module),
        None => lookup::library_modules(engine),
    };
    if out.is_json() {
        out.print(&format!("{}\n", json::array(entries.iter().map(DocEntry::json))));
        return Status::Success;
    }
    let lines: Vec<(String, String)> = entries.iter().map(|e| (e.name.clone(), e.summary())).collect();
    out.print(&wrap::wrap_page(&two_columns(&lines), show::terminal_width()));
    if here.is_none() {
        out.print("\nKeywords and operators have documentation too: for example, `iverson doc grad`.\n");
    }
    Status::Success
}
