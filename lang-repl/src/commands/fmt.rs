//! `iverson fmt`: formats files. A file with syntax errors is left unchanged. A file is written
//! only if it changes, and the write is atomic.

use std::path::{Path, PathBuf};

use lang_core::syntax::format;

use crate::files;
use crate::json;
use crate::out::{OutputWriter, Status};
use crate::problem::{self, Problem};
use crate::source::Sources;

/// The outcome for one file.
enum FormatOutcome {
    Unchanged,
    /// The file was rewritten or, with `--check`, would be.
    Changed,
    /// The formatted text of standard input.
    Text(String),
}

pub(crate) fn run(paths: &[PathBuf], check: bool, out: OutputWriter) -> Status {
    let mut sources = Sources::default();
    let mut status = Status::Success;
    let mut problems = Vec::new();
    let mut lists = (Vec::new(), Vec::new());
    let mut text = None;
    for path in paths {
        match format_file(path, check, &mut sources) {
            Ok(FormatOutcome::Unchanged) => lists.1.push(files::display_path(path)),
            Ok(FormatOutcome::Changed) => {
                if check {
                    status = status.max(Status::Failed);
                }
                lists.0.push(files::display_path(path));
            }
            Ok(FormatOutcome::Text(formatted)) => text = Some(formatted),
            Err((failed, found)) => {
                status = status.max(failed);
                problems.extend(found);
            }
        }
    }
    if out.is_json() {
        if !problems.is_empty() {
            out.report_failure(&problems, &sources);
            return status;
        }
        let names = |names: &[String]| json::array(names.iter().map(|n| json::string(n)));
        let mut fields = vec![("changed", names(&lists.0)), ("unchanged", names(&lists.1))];
        fields.extend(text.map(|t| ("text", json::string(&t))));
        out.print(&format!("{}\n", json::object(fields)));
        return status;
    }
    out.report_failure(&problems, &sources);
    if check {
        for name in &lists.0 {
            out.print(&format!("{name}\n"));
        }
    }
    if let Some(text) = text {
        out.print(&text);
    }
    status
}

fn format_file(path: &Path, check: bool, sources: &mut Sources) -> Result<FormatOutcome, (Status, Vec<Problem>)> {
    let text = files::read(path, sources).map_err(|p| (files::read_failure_status(&p), vec![*p]))?;
    let formatted = format::format(&text).map_err(|diagnostics| {
        let source = sources.add(files::display_path(path), text.as_str());
        (Status::Failed, diagnostics.iter().map(|d| problem::from_diagnostic(d, source)).collect())
    })?;
    if files::is_stdin(path) && !check {
        return Ok(FormatOutcome::Text(formatted));
    }
    if formatted == text {
        return Ok(FormatOutcome::Unchanged);
    }
    if !check {
        files::replace(path, &formatted).map_err(|p| (Status::Failed, vec![*p]))?;
    }
    Ok(FormatOutcome::Changed)
}
