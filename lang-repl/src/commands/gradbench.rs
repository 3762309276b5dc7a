//! `iverson gradbench`: the protocol of the GradBench benchmark suite. The suite defines modules,
//! and has their functions evaluated and timed.
//!
//! Requests and responses are lines of JSON on standard input and output; a response has the `id`
//! of its request. No request ends the process: an error becomes a response.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::path::Path;
use std::time::Duration;

use lang_core::base::{GlobalName, ModuleName, Name};
use lang_core::types::ty::{Signature, Type};
use serde::Serialize;
use serde_json::Value;

use crate::cli::{CommonOptions, OutputFormat};
use crate::commands::run::unavailable_feature;
use crate::data;
use crate::engine::Engine;
use crate::fit;
use crate::interrupt::ComputationGuard;
use crate::literal::{ReadContent, UntypedContent};
use crate::out::{OutputWriter, Status};
use crate::problem::Problem;
use crate::report;
use crate::show;

/// The message of a failed request.
type RequestError = String;

/// A line of output: the response to the request with this `id`.
#[derive(Serialize)]
struct GradbenchResponse {
    id: Value,
    #[serde(flatten)]
    body: ResponseBody,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResponseBody {
    Started { tool: &'static str },
    Acknowledged {},
    Defined { success: bool },
    Evaluated { success: bool, output: Value, timings: Vec<Timing> },
    Rejected { success: bool, error: RequestError },
}

/// A named duration: one run, or the making of code.
#[derive(Serialize)]
struct Timing {
    name: &'static str,
    nanoseconds: u64,
}

impl Timing {
    fn new(name: &'static str, took: Duration) -> Self {
        Self { name, nanoseconds: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) }
    }
}

/// The state of the protocol's tool.
struct GradbenchTool<'d> {
    folder: &'d Path,
    common: &'d CommonOptions,
    out: OutputWriter,
    /// The defined modules, each with its own engine.
    modules: HashMap<String, (Engine, ModuleName)>,
}

pub(crate) fn run(folder: &Path, multithreaded: bool, common: &CommonOptions, out: OutputWriter) -> Status {
    if let Some(problem) = unavailable_feature(common) {
        out.report_failure(&[problem], &crate::source::Sources::default());
        return Status::Usage;
    }
    // Output of programs must not mix with the responses; in JSON mode it goes to standard error.
    let threads = if multithreaded { common.threads } else { Some(1) };
    let common = CommonOptions { format: OutputFormat::Json, threads, ..common.clone() };
    let mut tool = GradbenchTool { folder, common: &common, out: OutputWriter::new(&common), modules: HashMap::new() };
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => return Status::Success,
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => {}
            Err(e) => {
                tool.respond(Value::Null, Err(format!("cannot read the messages: {e}")));
                return Status::Failed;
            }
        }
        let (id, answer) = match serde_json::from_slice::<Value>(&line) {
            Ok(message) => {
                let id = message.get("id").cloned().unwrap_or_default();
                (id, tool.handle_message(&message))
            }
            Err(e) => (Value::Null, Err(format!("the message is not JSON: {e}"))),
        };
        tool.respond(id, answer);
    }
}

impl GradbenchTool<'_> {
    fn respond(&self, id: Value, answer: Result<ResponseBody, RequestError>) {
        let answer = answer.unwrap_or_else(|error| ResponseBody::Rejected { success: false, error });
        // Serialising a response cannot fail, because all keys are strings.
        let line = serde_json::to_string(&GradbenchResponse { id, body: answer }).unwrap_or_default();
        self.out.print(&format!("{line}\n"));
    }

    fn handle_message(&mut self, message: &Value) -> Result<ResponseBody, RequestError> {
        let text = |name: &str| {
            let value = message.get(name).and_then(Value::as_str);
            value.ok_or_else(|| format!("the message has no string `{name}`"))
        };
        match text("kind")? {
            "start" => Ok(ResponseBody::Started { tool: "iverson" }),
            "define" => {
                self.define_module(text("module")?)?;
                Ok(ResponseBody::Defined { success: true })
            }
            "evaluate" => {
                let input = message.get("input").ok_or("the message has no `input`")?;
                self.evaluate(text("module")?, text("function")?, input)
            }
            // The suite's evaluation of a response.
            "analysis" => Ok(ResponseBody::Acknowledged {}),
            kind => Err(format!("unknown message kind `{kind}`")),
        }
    }

    /// Loads a module. A module that is already defined is loaded again.
    fn define_module(&mut self, name: &str) -> Result<(), RequestError> {
        self.modules.remove(name);
        if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
            return Err(format!("`{name}` is not a module name"));
        }
        let mut engine = Engine::new(self.common, self.out);
        let path = self.folder.join(format!("{name}.iv"));
        let module = engine.load(&path).map_err(|problem| problems_text(&[*problem], &engine))?;
        let problems = engine.problems(std::slice::from_ref(&module));
        let errors: Vec<Problem> = problems.into_iter().filter(Problem::is_error).collect();
        if !errors.is_empty() {
            return Err(problems_text(&errors, &engine));
        }
        let _computing = ComputationGuard::start();
        engine.run_items(&module, &|_| {}).map_err(|problems| problems_text(&problems, &engine))?;
        self.modules.insert(name.to_owned(), (engine, module));
        Ok(())
    }

    fn evaluate(&mut self, module: &str, function: &str, input: &Value) -> Result<ResponseBody, RequestError> {
        if !self.modules.contains_key(module) {
            self.define_module(module)?;
        }
        let (engine, name) = self.modules.get_mut(module).ok_or("the module was not defined")?;
        let def = GlobalName::new(name, function);
        let signature = engine.signature(&def).ok_or_else(|| format!("`{module}` has no definition `{function}`"))?;
        let arguments = arguments_from_json(&signature, input)?;
        let fitted = fit::fit_arguments(&signature, &arguments, &*engine)
            .map_err(|problems| problems_text(&problems, engine))?;
        let wanted = RunRequirement::from_input(input)?;
        let (mut compile, mut all, mut runs) = (Duration::ZERO, Duration::ZERO, Vec::new());
        let _computing = ComputationGuard::start();
        let value = engine.call_fitted_repeatedly(&def, &signature, &fitted, &mut |took, making| {
            compile += making;
            all += took;
            runs.push(Timing::new("evaluate", took));
            runs.len() < MOST_RUNS && wanted.needs_more(runs.len(), all)
        });
        let value = value.map_err(|problems| problems_text(&problems, engine))?;
        if wanted.needs_more(runs.len(), all) {
            return Err(format!("the limit of {MOST_RUNS} runs was reached after {:.3} s", all.as_secs_f64()));
        }
        let text = show::value_json(&value).ok_or("the value is too large to print")?;
        // Parsing and printing again keeps the numbers, because `serde_json` is built with
        // `float_roundtrip`.
        let output: Value = serde_json::from_str(&text).map_err(|e| format!("the value is not JSON: {e}"))?;
        runs.insert(0, Timing::new("compile", compile));
        Ok(ResponseBody::Evaluated { success: true, output, timings: runs })
    }
}

/// Formats problems as one text.
fn problems_text(problems: &[Problem], engine: &Engine) -> RequestError {
    report::render(problems, &engine.sources, report::ReportStyle::Short).trim_end().to_owned()
}

/// Returns the arguments in the order of the parameters: the fields of the input, or the input
/// itself for a single parameter.
fn arguments_from_json(signature: &Signature, input: &Value) -> Result<Vec<ReadContent>, RequestError> {
    let values: Vec<Value> = match input {
        Value::Object(fields) => {
            let field = |(name, ty): &(Name, Type)| {
                let value = fields.get(name.as_str()).ok_or_else(|| format!("the input has no `{name}`"))?;
                Ok(drop_undeclared_fields(value, ty))
            };
            signature.params.iter().map(field).collect::<Result<_, RequestError>>()?
        }
        _ if signature.params.len() == 1 => vec![input.clone()],
        _ => {
            return Err(format!(
                "the function takes {} arguments, but the input is not an object",
                signature.params.len()
            ));
        }
    };
    let read = |value: &Value| {
        let literal = data::json(&value.to_string()).map_err(|e| e.message)?;
        Ok(ReadContent {
            content: UntypedContent::Literal(literal),
            source: None,
            report_span: None,
            is_json: true,
            file: None,
            is_used_once: true,
        })
    };
    values.iter().map(read).collect()
}

/// The most runs of one request. Each has a line in the response; this many take about half a
/// gigabyte.
const MOST_RUNS: usize = 10_000_000;

/// Drops the fields of records that the type does not declare, at any depth.
fn drop_undeclared_fields(value: &Value, ty: &Type) -> Value {
    match (value, ty) {
        (Value::Object(fields), Type::Record(known)) => {
            let kept = known
                .iter()
                .filter_map(|(name, ty)| Some((name.to_string(), drop_undeclared_fields(fields.get(&**name)?, ty))));
            Value::Object(kept.collect())
        }
        (Value::Array(items), Type::Tuple(types)) if items.len() == types.len() => {
            Value::Array(items.iter().zip(types.iter()).map(|(item, ty)| drop_undeclared_fields(item, ty)).collect())
        }
        // The value of an array type with several axes is nested arrays.
        (Value::Array(items), Type::Array(_, element)) => {
            let each = |item: &Value| {
                if item.is_array() { drop_undeclared_fields(item, ty) } else { drop_undeclared_fields(item, element) }
            };
            Value::Array(items.iter().map(each).collect())
        }
        _ => value.clone(),
    }
}

/// The least number of runs and the least total time that the input requests.
struct RunRequirement {
    runs: usize,
    seconds: f64,
}

impl RunRequirement {
    fn from_input(input: &Value) -> Result<Self, RequestError> {
        let runs = match input.get("min_runs") {
            None => 1,
            Some(runs) => runs
                .as_u64()
                .and_then(|runs| usize::try_from(runs).ok())
                .filter(|runs| (1..=MOST_RUNS).contains(runs))
                .ok_or_else(|| format!("`min_runs` is {runs}, but must be an integer from 1 to {MOST_RUNS}"))?,
        };
        let seconds = match input.get("min_seconds") {
            None => 0.0,
            Some(seconds) => seconds
                .as_f64()
                .filter(|seconds| *seconds >= 0.0)
                .ok_or_else(|| format!("`min_seconds` is {seconds}, but must be a number of at least 0"))?,
        };
        Ok(Self { runs, seconds })
    }

    /// Whether another run is needed after `runs` runs, which took `took` in total.
    fn needs_more(&self, runs: usize, took: Duration) -> bool {
        runs < self.runs || took.as_secs_f64() < self.seconds
    }
}
