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

use crate::cli::{Common, Format};
use crate::commands::run::not_available;
use crate::data;
use crate::engine::Engine;
use crate::fit;
use crate::interrupt::Computing;
use crate::literal::{Content, Read};
use crate::out::{Out, Status};
use crate::problem::Problem;
use crate::report;
use crate::show;

/// The message of a failed request.
type Wrong = String;

/// A line of output: the response to the request with this `id`.
#[derive(Serialize)]
struct Answered {
    id: Value,
    #[serde(flatten)]
    answer: Answer,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Started { tool: &'static str },
    Noted {},
    Defined { success: bool },
    Evaluated { success: bool, output: Value, timings: Vec<Timing> },
    Refused { success: bool, error: Wrong },
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
struct Tool<'d> {
    folder: &'d Path,
    common: &'d Common,
    out: Out,
    /// The defined modules, each with its own engine.
    modules: HashMap<String, (Engine, ModuleName)>,
}

pub(crate) fn run(folder: &Path, multithreaded: bool, common: &Common, out: Out) -> Status {
    if let Some(problem) = not_available(common) {
        out.fail(&[problem], &crate::source::Sources::default());
        return Status::Usage;
    }
    // Output of programs must not mix with the responses; in JSON mode it goes to standard error.
    let threads = if multithreaded { common.threads } else { Some(1) };
    let common = Common { format: Format::Json, threads, ..common.clone() };
    let mut tool = Tool { folder, common: &common, out: Out::new(&common), modules: HashMap::new() };
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => return Status::Good,
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => {}
            Err(e) => {
                tool.answer(Value::Null, Err(format!("the messages cannot be read: {e}")));
                return Status::Failed;
            }
        }
        let (id, answer) = match serde_json::from_slice::<Value>(&line) {
            Ok(message) => {
                let id = message.get("id").cloned().unwrap_or_default();
                (id, tool.message(&message))
            }
            Err(e) => (Value::Null, Err(format!("the message is no JSON: {e}"))),
        };
        tool.answer(id, answer);
    }
}

impl Tool<'_> {
    fn answer(&self, id: Value, answer: Result<Answer, Wrong>) {
        let answer = answer.unwrap_or_else(|error| Answer::Refused { success: false, error });
        // Serialising a response cannot fail, because all keys are strings.
        let line = serde_json::to_string(&Answered { id, answer }).unwrap_or_default();
        self.out.print(&format!("{line}\n"));
    }

    fn message(&mut self, message: &Value) -> Result<Answer, Wrong> {
        let text = |name: &str| {
            let value = message.get(name).and_then(Value::as_str);
            value.ok_or_else(|| format!("the message has no `{name}` that is a string"))
        };
        match text("kind")? {
            "start" => Ok(Answer::Started { tool: "iverson" }),
            "define" => {
                self.define(text("module")?)?;
                Ok(Answer::Defined { success: true })
            }
            "evaluate" => {
                let input = message.get("input").ok_or("the message has no `input`")?;
                self.evaluate(text("module")?, text("function")?, input)
            }
            // The suite's evaluation of a response.
            "analysis" => Ok(Answer::Noted {}),
            kind => Err(format!("there is no message of kind `{kind}`")),
        }
    }

    /// Loads a module. A module that is already defined is loaded again.
    fn define(&mut self, name: &str) -> Result<(), Wrong> {
        self.modules.remove(name);
        if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
            return Err(format!("`{name}` is no name of a module"));
        }
        let mut engine = Engine::new(self.common, self.out);
        let path = self.folder.join(format!("{name}.iv"));
        let module = engine.load(&path).map_err(|problem| told(&[*problem], &engine))?;
        let problems = engine.problems(std::slice::from_ref(&module));
        let errors: Vec<Problem> = problems.into_iter().filter(Problem::is_error).collect();
        if !errors.is_empty() {
            return Err(told(&errors, &engine));
        }
        let _computing = Computing::start();
        engine.run_items(&module, &|_| {}).map_err(|problems| told(&problems, &engine))?;
        self.modules.insert(name.to_owned(), (engine, module));
        Ok(())
    }

    fn evaluate(&mut self, module: &str, function: &str, input: &Value) -> Result<Answer, Wrong> {
        if !self.modules.contains_key(module) {
            self.define(module)?;
        }
        let (engine, name) = self.modules.get_mut(module).ok_or("the module was not defined")?;
        let def = GlobalName::new(name, function);
        let signature = engine.signature(&def).ok_or_else(|| format!("`{module}` has no definition `{function}`"))?;
        let arguments = arguments(&signature, input)?;
        let fitted = fit::fit(&signature, &arguments, &*engine).map_err(|problems| told(&problems, engine))?;
        let wanted = Wanted::of(input)?;
        let (mut compile, mut all, mut runs) = (Duration::ZERO, Duration::ZERO, Vec::new());
        let _computing = Computing::start();
        let value = engine.call_timed(&def, &signature, &fitted, &mut |took, making| {
            compile += making;
            all += took;
            runs.push(Timing::new("evaluate", took));
            runs.len() < MOST_RUNS && wanted.more(runs.len(), all)
        });
        let value = value.map_err(|problems| told(&problems, engine))?;
        if wanted.more(runs.len(), all) {
            return Err(format!("{MOST_RUNS} runs are the most, and they took {:.3} s", all.as_secs_f64()));
        }
        let text = show::json(&value).ok_or("the value is too large for a text")?;
        // Parsing and printing again keeps the numbers, because `serde_json` is built with
        // `float_roundtrip`.
        let output: Value = serde_json::from_str(&text).map_err(|e| format!("the value is no JSON: {e}"))?;
        runs.insert(0, Timing::new("compile", compile));
        Ok(Answer::Evaluated { success: true, output, timings: runs })
    }
}

/// Formats problems as one text.
fn told(problems: &[Problem], engine: &Engine) -> Wrong {
    report::text(problems, &engine.sources, report::Style::Short).trim_end().to_owned()
}

/// Returns the arguments in the order of the parameters: the fields of the input, or the input
/// itself for a single parameter.
fn arguments(signature: &Signature, input: &Value) -> Result<Vec<Read>, Wrong> {
    let values: Vec<Value> = match input {
        Value::Object(fields) => {
            let field = |(name, ty): &(Name, Type)| {
                let value = fields.get(name.as_str()).ok_or_else(|| format!("the input has no `{name}`"))?;
                Ok(declared(value, ty))
            };
            signature.params.iter().map(field).collect::<Result<_, Wrong>>()?
        }
        _ if signature.params.len() == 1 => vec![input.clone()],
        _ => {
            return Err(format!("the function takes {} arguments, and the input is no object", signature.params.len()));
        }
    };
    let read = |value: &Value| {
        let literal = data::json(&value.to_string()).map_err(|e| e.message)?;
        Ok(Read { content: Content::Literal(literal), source: None, at: None, json: true, file: None, once: true })
    };
    values.iter().map(read).collect()
}

/// The most runs of one request. Each has a line in the response; this many take about half a
/// gigabyte.
const MOST_RUNS: usize = 10_000_000;

/// Drops the fields of records that the type does not declare, at any depth.
fn declared(value: &Value, ty: &Type) -> Value {
    match (value, ty) {
        (Value::Object(fields), Type::Record(known)) => {
            let kept =
                known.iter().filter_map(|(name, ty)| Some((name.to_string(), declared(fields.get(&**name)?, ty))));
            Value::Object(kept.collect())
        }
        (Value::Array(items), Type::Tuple(types)) if items.len() == types.len() => {
            Value::Array(items.iter().zip(types.iter()).map(|(item, ty)| declared(item, ty)).collect())
        }
        // The value of an array type with several axes is nested arrays.
        (Value::Array(items), Type::Array(_, element)) => {
            let each = |item: &Value| if item.is_array() { declared(item, ty) } else { declared(item, element) };
            Value::Array(items.iter().map(each).collect())
        }
        _ => value.clone(),
    }
}

/// The least number of runs and the least total time that the input requests.
struct Wanted {
    runs: usize,
    seconds: f64,
}

impl Wanted {
    fn of(input: &Value) -> Result<Self, Wrong> {
        let runs = match input.get("min_runs") {
            None => 1,
            Some(runs) => runs
                .as_u64()
                .and_then(|runs| usize::try_from(runs).ok())
                .filter(|runs| (1..=MOST_RUNS).contains(runs))
                .ok_or_else(|| format!("`min_runs` is {runs}, not a whole number from 1 to {MOST_RUNS}"))?,
        };
        let seconds = match input.get("min_seconds") {
            None => 0.0,
            Some(seconds) => seconds
                .as_f64()
                .filter(|seconds| *seconds >= 0.0)
                .ok_or_else(|| format!("`min_seconds` is {seconds}, not a number from 0"))?,
        };
        Ok(Self { runs, seconds })
    }

    /// Whether another run is needed after `runs` runs, which took `took` in total.
    fn more(&self, runs: usize, took: Duration) -> bool {
        runs < self.runs || took.as_secs_f64() < self.seconds
    }
}
