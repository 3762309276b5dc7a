//! `iverson gradbench`: the protocol of the benchmark suite GradBench, by which it defines modules and has their functions
//! evaluated and timed. Messages and answers are lines of JSON on standard input and output; an answer has the `id` of its
//! message. Nothing that a message holds ends it: what is wrong is answered.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::path::Path;
use std::time::Duration;

use lang_core::base::{GlobalName, ModuleName};
use lang_core::types::ty::Signature;
use serde_json::{Map, Value, json};

use crate::cli::{Common, Format};
use crate::commands::run::not_available;
use crate::engine::Engine;
use crate::fit;
use crate::interrupt::Computing;
use crate::literal::{self, Content, Read};
use crate::out::{Out, Status};
use crate::problem::Problem;
use crate::report;
use crate::show;

/// What ends a message without its answer.
type Wrong = String;

/// What is being talked to.
struct Tool<'d> {
    folder: &'d Path,
    common: &'d Common,
    out: Out,
    /// The modules that were defined.
    modules: HashMap<String, (Engine, ModuleName)>,
}

pub(crate) fn run(folder: &Path, multithreaded: bool, common: &Common, out: Out) -> Status {
    if let Some(problem) = not_available(common) {
        out.fail(&[problem], &crate::source::Sources::default());
        return Status::Usage;
    }
    // What programs print has no place among the answers.
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
    fn answer(&self, id: Value, answer: Result<Map<String, Value>, Wrong>) {
        let mut all = Map::from_iter([("id".to_owned(), id)]);
        match answer {
            Ok(fields) => all.extend(fields),
            Err(error) => all.extend([("success".to_owned(), json!(false)), ("error".to_owned(), json!(error))]),
        }
        self.out.print(&format!("{}\n", Value::Object(all)));
    }

    fn message(&mut self, message: &Value) -> Result<Map<String, Value>, Wrong> {
        let text = |name: &str| {
            let value = message.get(name).and_then(Value::as_str);
            value.ok_or_else(|| format!("the message has no `{name}` that is a string"))
        };
        match text("kind")? {
            "start" => Ok(fields([("tool", json!("iverson"))])),
            "define" => {
                self.define(text("module")?)?;
                Ok(fields([("success", json!(true))]))
            }
            "evaluate" => {
                let input = message.get("input").ok_or("the message has no `input`")?;
                self.evaluate(text("module")?, text("function")?, input)
            }
            // What the suite thinks of an answer.
            "analysis" => Ok(Map::new()),
            kind => Err(format!("there is no message of kind `{kind}`")),
        }
    }

    /// Loads a module; one that was defined before is loaded anew.
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

    fn evaluate(&mut self, module: &str, function: &str, input: &Value) -> Result<Map<String, Value>, Wrong> {
        if !self.modules.contains_key(module) {
            self.define(module)?;
        }
        let (engine, name) = self.modules.get_mut(module).ok_or("the module was not defined")?;
        let def = GlobalName::new(name, function);
        let signature = engine.signature(&def).ok_or_else(|| format!("`{module}` has no definition `{function}`"))?;
        let arguments = arguments(&signature, input)?;
        let fitted = fit::fit(&signature, &arguments, &*engine).map_err(|problems| told(&problems, engine))?;
        let wanted = Wanted::of(input);
        let (mut compile, mut all, mut runs) = (Duration::ZERO, Duration::ZERO, Vec::new());
        let _computing = Computing::start();
        let value = engine.call_timed(&def, &signature, &fitted, &mut |took, making| {
            compile += making;
            all += took;
            runs.push(took);
            wanted.more(runs.len(), all)
        });
        let value = value.map_err(|problems| told(&problems, engine))?;
        let text = show::json(&value).ok_or("the value is too large for a text")?;
        // As it is: parsed and written again its numbers would be the same.
        let output: Value = serde_json::from_str(&text).map_err(|e| format!("the value is no JSON: {e}"))?;
        let timing = |name: &str, took: &Duration| json!({"name": name, "nanoseconds": u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)});
        let timings = std::iter::once(timing("compile", &compile)).chain(runs.iter().map(|r| timing("evaluate", r)));
        let timings: Vec<Value> = timings.collect();
        Ok(fields([("success", json!(true)), ("output", output), ("timings", json!(timings))]))
    }
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Problems as one text.
fn told(problems: &[Problem], engine: &Engine) -> Wrong {
    report::text(problems, &engine.sources, report::Style::Short).trim_end().to_owned()
}

/// The arguments in the order of the parameters: the fields of the input by their names, or the input itself.
fn arguments(signature: &Signature, input: &Value) -> Result<Vec<Read>, Wrong> {
    let names = signature.params.iter().map(|(name, _)| name);
    let values: Vec<&Value> = match input {
        Value::Object(fields) => {
            let field =
                |name: &lang_core::base::Name| fields.get(name.as_str()).ok_or(format!("the input has no `{name}`"));
            names.map(field).collect::<Result<_, _>>()?
        }
        _ if signature.params.len() == 1 => vec![input],
        _ => {
            return Err(format!("the function takes {} arguments, and the input is no object", signature.params.len()));
        }
    };
    let read = |value: &Value| {
        let literal = literal::json(&value.to_string()).map_err(|e| e.to_string())?;
        Ok(Read { content: Content::Literal(literal), source: None, at: None, json: true, file: None })
    };
    values.into_iter().map(read).collect()
}

/// How often the input wants a function to be run.
struct Wanted {
    runs: u64,
    seconds: f64,
}

impl Wanted {
    fn of(input: &Value) -> Self {
        let runs = input.get("min_runs").and_then(Value::as_u64).unwrap_or(1);
        let seconds = input.get("min_seconds").and_then(Value::as_f64).unwrap_or(0.0);
        Self { runs, seconds }
    }

    /// Is another run wanted after so many, which took so long?
    fn more(&self, runs: usize, took: Duration) -> bool {
        u64::try_from(runs).unwrap_or(u64::MAX) < self.runs || took.as_secs_f64() < self.seconds
    }
}
