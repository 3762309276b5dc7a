//! `iverson run`: runs the items of a file in order, then calls `main` with the arguments of the
//! command line.

use std::fs;
use std::path::Path;

use lang_core::base::{Code, Span};
use lang_core::runtime::Refusal;
use lang_core::types::ty::Signature;

use crate::cli::{BackendChoice, CommonOptions, Precision};
use crate::clock::Clock;
use crate::data::{DataFormat, TableOptions};
use crate::engine::Engine;
use crate::files;
use crate::fit;
use crate::interrupt::ComputationGuard;
use crate::literal::{self, ReadContent, UntypedContent};
use crate::out::{OutputWriter, Status};
use crate::problem::Problem;
use crate::show;
use crate::suggest;
use crate::types;

/// Returns the problem if an option selects a feature that is not implemented yet.
pub(crate) fn unavailable_feature(common: &CommonOptions) -> Option<Problem> {
    if common.backend == BackendChoice::Gpu {
        let problem = Problem::new(Code::E0510, "the gpu backend is not available yet");
        return Some(
            problem.with_help("`--backend interp` runs every program; `iverson doctor` lists the available backends"),
        );
    }
    (common.precision == Precision::F32).then(|| {
        Problem::new(Code::E0510, "`--precision f32` is not available yet").with_help("write `f32` in the program")
    })
}

pub(crate) fn run(path: &Path, arguments: &[String], common: &CommonOptions, out: OutputWriter) -> Status {
    let mut engine = Engine::new(common, out);
    match run_program(&mut engine, path, arguments, common, out) {
        Ok(status) => status,
        Err((status, problems)) => {
            out.report_failure(&problems, &engine.sources);
            status
        }
    }
}

type RunFailure = (Status, Vec<Problem>);

fn run_program(
    engine: &mut Engine,
    path: &Path,
    arguments: &[String],
    common: &CommonOptions,
    out: OutputWriter,
) -> Result<Status, RunFailure> {
    if let Some(problem) = unavailable_feature(common) {
        return Err((Status::Usage, vec![problem]));
    }
    let mut clock = Clock::start();
    let module = engine.load(path).map_err(|p| (files::read_failure_status(&p), vec![*p]))?;
    let problems = engine.problems(std::slice::from_ref(&module));
    if problems.iter().any(Problem::is_error) {
        return Err((Status::Failed, problems));
    }
    out.report_warnings(&problems, &engine.sources);

    let main = engine.main_signature(&module);
    if main.is_none() && (!arguments.is_empty() || !engine.has_runnable_items(&module)) {
        let nothing = match arguments.is_empty() {
            true => "has nothing to run: no `do` and no `main`",
            false => "has no `main` to take the arguments",
        };
        let problem = Problem::new(Code::E0601, format!("`{}` {nothing}", files::display_path(path)));
        let help = "`do e` shows a value, `def main(…) = …` takes arguments; `iverson eval EXPR -l FILE` evaluates anything else";
        return Err((Status::Failed, vec![problem.with_help(help)]));
    }
    let reads = match &main {
        Some(signature) => read_arguments(path, signature, arguments, engine).map_err(|p| (Status::Usage, p))?,
        None => Vec::new(),
    };
    // Arguments that do not fit are reported before anything runs. If a size is a `let` of the
    // program, that must be computed first.
    let fit = |engine: &Engine| match &main {
        Some(signature) => {
            let fitted = fit::fit_arguments(signature, &reads, engine);
            let fitted = fitted.map_err(|p| (Status::Usage, add_signature_help(p, signature)))?;
            out.report_warnings(&fitted.warnings, &engine.sources);
            Ok(Some(fitted))
        }
        None => Ok(None),
    };
    let early = if main.as_deref().is_some_and(types::mentions_globals) { None } else { fit(engine)? };
    clock.finish_check();
    let _computing = ComputationGuard::start();
    engine
        .run_items(&module, &|value| out.print_program_output(&format!("{}\n", show::format_value(value, out.view))))
        .map_err(|p| (Status::Failed, p))?;
    let mut result = None;
    if let Some(signature) = &main {
        let fitted = match early {
            Some(fitted) => Some(fitted),
            None => fit(engine)?,
        };
        if let Some(fitted) = fitted {
            result = Some(engine.call_main(&module, signature, &fitted).map_err(|p| (Status::Failed, p))?);
        }
    }
    clock.finish_run();
    Ok(out.print_result(result.as_ref(), common, &clock, engine.counts))
}

/// Reads the arguments, and returns them in the order of the parameters.
fn read_arguments(
    path: &Path,
    signature: &Signature,
    arguments: &[String],
    engine: &mut Engine,
) -> Result<Vec<ReadContent>, Vec<Problem>> {
    let names: Vec<&str> = signature.params.iter().map(|(name, _)| name.as_str()).collect();
    let mut contents: Vec<Option<ReadContent>> = names.iter().map(|_| None).collect();
    let mut problems = Vec::new();
    for argument in arguments {
        let Some((name, text)) = argument.split_once('=') else {
            let problem = Problem::new(Code::E0600, format!("the argument `{argument}` has no name"));
            problems.push(problem.with_help("write arguments as name=value"));
            continue;
        };
        let position = names.iter().position(|n| *n == name);
        let Some(slot) = position.and_then(|at| contents.get_mut(at)) else {
            let problem = Problem::new(Code::E0600, format!("`main` has no parameter `{name}`"));
            problems.push(match suggest::closest(name, names.iter().copied()) {
                Some(near) => problem.with_help(format!("did you mean `{near}`?")),
                None => problem,
            });
            continue;
        };
        if slot.is_some() {
            problems.push(Problem::new(Code::E0600, format!("duplicate argument `{name}`")));
            continue;
        }
        match read_value(name, text, engine) {
            Ok(read) => *slot = Some(read),
            Err(mut found) => {
                let ty = position.and_then(|at| signature.params.get(at)).map(|(_, ty)| ty);
                // The text is no valid literal; the parameter's type shows how to write one.
                if let (Some(last), Some(ty)) = (found.last_mut(), ty)
                    && !text.starts_with('@')
                    && let Some(example) = types::example_literal(ty)
                {
                    let help = format!("argument `{name}` must have type `{ty}`, as in `{name}={example}`");
                    last.help = Some(last.help.take().map_or_else(|| help.clone(), |own| format!("{own}\n{help}")));
                }
                problems.extend(found);
            }
        }
    }
    // A misspelt argument may be the missing one, so missing arguments are reported only if no
    // other problem exists.
    if problems.is_empty() {
        let missing: Vec<&str> =
            names.iter().zip(&contents).filter(|(_, r)| r.is_none()).map(|(name, _)| *name).collect();
        let problem = |name: &&str| Problem::new(Code::E0600, format!("the argument `{name}` is missing"));
        problems.extend(missing.iter().map(problem));
        if let Some(last) = problems.last_mut() {
            let written: String = missing.iter().map(|name| format!(" {name}=…")).collect();
            last.help = Some(format!("write `iverson run {}{written}`", path.display()));
        }
    }
    if problems.is_empty() {
        Ok(contents.into_iter().flatten().collect())
    } else {
        Err(add_signature_help(problems, signature))
    }
}

/// Adds the signature of `main` to the help of the last problem.
fn add_signature_help(mut problems: Vec<Problem>, signature: &Signature) -> Vec<Problem> {
    if let Some(last) = problems.last_mut() {
        let takes = format!("the program has `main{signature}`");
        last.help = Some(match last.help.take() {
            Some(help) => format!("{help}\n{takes}"),
            None => takes,
        });
    }
    problems
}

/// Reads a literal, or the data file that follows `@`.
fn read_value(name: &str, text: &str, engine: &mut Engine) -> Result<ReadContent, Vec<Problem>> {
    let source = engine.sources.add(format!("argument {name}"), text);
    let Some(file) = text.strip_prefix('@') else { return literal::read_literal(text, source) };
    let path = Path::new(file);
    let format = DataFormat::from_path(path).filter(|format| *format != DataFormat::Txt).ok_or_else(|| {
        let problem = Problem::new(Code::E0600, format!("`{file}` is not a data file"));
        vec![problem.with_help("data files end in .npy, .npz, .csv, .json or .png")]
    })?;
    let shown = files::display_path(path);
    let unread = |why: Refusal| {
        let problem = Problem::new(why.code, why.message).with_file(shown.clone());
        vec![if why.is_missing_file {
            problem.with_help("paths are relative to the current directory")
        } else {
            problem
        }]
    };
    // A report about JSON shows the place in the file's text.
    let json = format == DataFormat::Json;
    let text_of = || String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let content = format.load(path, &TableOptions::default(), None).map_err(unread)?.map_err(|why| {
        let problem = Problem::new(Code::E0603, format!("`{shown}`: {}", why.message)).with_file(shown.clone());
        vec![match why.position {
            Some((line, column)) => {
                let source = engine.sources.add(shown.clone(), text_of());
                let start = engine.sources.get(source).map_or(0, |s| s.line_start(line.saturating_sub(1)));
                let at = u32::try_from(start + column.saturating_sub(1)).unwrap_or(u32::MAX);
                problem.with_place(source, Span::new(at, at), "")
            }
            None => problem,
        }]
    })?;
    // Problems of literals point into the text they were read from; for JSON that is the file.
    let (source, at) = match &content {
        UntypedContent::Literal(_) => (engine.sources.add(shown.clone(), text_of()), Span::default()),
        UntypedContent::File(_) => (source, Span::new(0, u32::try_from(text.len()).unwrap_or(u32::MAX))),
    };
    let file = matches!(content, UntypedContent::File(_)).then_some(shown);
    Ok(ReadContent { content, source: Some(source), report_span: Some(at), is_json: json, file, is_used_once: true })
}
