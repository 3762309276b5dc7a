//! **Commands** of lenses and code actions that the server executes (`workspace/executeCommand`).

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{ExecuteCommandParams, MessageType, Position, Range, Url};

use lang_ide::lenses::evaluation_expression;

use crate::evaluate::{self, EvaluationOutcome, EvaluationRequest, EvaluationTarget};
use crate::files;
use crate::lines::{LineIndex, clamp};
use crate::progress::ProgressIndicator;
use crate::run_errors;
use crate::snapshot::request_failed;
use crate::state::ServerState;

/// Runs a definition or the file.
pub(crate) const RUN: &str = "iverson.run";
/// Evaluates the expression of a comment.
pub(crate) const EVALUATE: &str = "iverson.evaluate";
/// Stops the running evaluation.
pub(crate) const STOP: &str = "iverson.stop";
/// Shows a view. A client with its own support for views executes this command itself.
pub(crate) const SHOW_VIEW: &str = "iverson.showView";
/// Returns the commands that the server executes.
pub(crate) fn command_names(with_views: bool) -> Vec<String> {
    let own = [RUN, EVALUATE, STOP].into_iter().chain((!with_views).then_some(SHOW_VIEW));
    own.map(str::to_owned).collect()
}

/// The channel for the response of a command.
type CommandReply = oneshot::Sender<Result<Option<Value>>>;

/// Executes a command.
pub(crate) fn execute(state: &mut ServerState, params: &ExecuteCommandParams, reply: CommandReply) {
    let url = params.arguments.first().and_then(Value::as_str).and_then(|url| Url::parse(url).ok());
    let second = params.arguments.get(1);
    let done = match (params.command.as_str(), url, second) {
        (STOP, ..) => {
            state.evaluator.stop();
            let _ = reply.send(Ok(None));
            return;
        }
        (RUN, Some(url), Some(Value::String(name))) => run_definition(state, url, name, reply),
        (EVALUATE, Some(url), Some(line)) if line.is_u64() => {
            let line = line.as_u64().and_then(|line| usize::try_from(line).ok()).unwrap_or(usize::MAX);
            evaluate_line(state, url, line, reply)
        }
        (name @ (RUN | EVALUATE), ..) => Err((Error::invalid_params(format!("invalid arguments of {name}")), reply)),
        (name, ..) => Err((Error::invalid_params(format!("unknown command {name}")), reply)),
    };
    if let Err((error, reply)) = done {
        let _ = reply.send(Err(error));
    }
}

type StartResult = std::result::Result<(), (Error, CommandReply)>;

/// Runs a definition, on the arguments of an example if it has parameters. For `main` or an empty
/// name, runs all items of the file.
fn run_definition(state: &mut ServerState, url: Url, name: &str, reply: CommandReply) -> StartResult {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    if !name.chars().all(word) {
        return Err((Error::invalid_params("invalid name"), reply));
    }
    state.flush();
    let module = state.module(&url);
    let what = match name {
        "" | "main" => EvaluationTarget::Main,
        _ => match evaluation_expression(&state.session, &module, name) {
            Ok(text) => EvaluationTarget::Expression(text),
            Err(why) => {
                state.client.show_message(MessageType::WARNING, why.clone());
                let _ = reply.send(Ok(Some(json!({"failed": why}))));
                return Ok(());
            }
        },
    };
    let name = match &what {
        EvaluationTarget::Main if name.is_empty() => "the file".to_owned(),
        EvaluationTarget::Main => name.to_owned(),
        EvaluationTarget::Expression(text) => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let text = words.join(" ");
            text.strip_suffix("()").map_or(text.clone(), str::to_owned)
        }
    };
    start_evaluation(state, url, what, reply, move |state, outcome| {
        let (typ, message) = match outcome {
            EvaluationOutcome::Value(value, said) => {
                let value = match value.as_str() {
                    "" => format!("{name} finished without output"),
                    value if name == "the file" => value.to_owned(),
                    // The rows of a value are aligned below one another.
                    value if value.contains('\n') => format!("{name} =\n{value}"),
                    value => format!("{name} = {value}"),
                };
                (MessageType::INFO, if said.is_empty() { value } else { format!("{said}\n{value}") })
            }
            EvaluationOutcome::Failed(why, _) => (MessageType::ERROR, why.clone()),
            EvaluationOutcome::Limit(why) => (MessageType::ERROR, format!("{name} was {why}")),
            EvaluationOutcome::Stopped => (MessageType::INFO, format!("{name} was stopped")),
        };
        state.client.show_message(typ, message);
    })
}

/// Evaluates the comment `-- >>> expression` on a line, and writes the value below it.
fn evaluate_line(state: &mut ServerState, url: Url, line: usize, reply: CommandReply) -> StartResult {
    let comment = state.text(&url).and_then(|text| text.lines().nth(line)).unwrap_or_default().to_owned();
    let Some(expression) = evaluate::evaluated_expression(&comment) else {
        let why = format!("line {} is not a comment `{}…`", line.saturating_add(1), evaluate::EVALUATE_PREFIX);
        return Err((request_failed(why), reply));
    };
    let (what, stopped) = (EvaluationTarget::Expression(expression.to_owned()), format!("{expression} was stopped"));
    start_evaluation(state, url.clone(), what, reply, move |state, outcome| {
        let value = match outcome {
            EvaluationOutcome::Value(value, _) => value.clone(),
            // An error in the text is already shown at its span; only the messages of a run belong
            // in the text.
            EvaluationOutcome::Failed(why, found) if run_errors::has_static_errors(found) => {
                return state.client.show_message(MessageType::ERROR, why);
            }
            EvaluationOutcome::Failed(why, _) | EvaluationOutcome::Limit(why) => why.clone(),
            EvaluationOutcome::Stopped => return state.client.show_message(MessageType::INFO, stopped),
        };
        write_value_below(state, &url, line, &comment, &value);
    })
}

/// Writes a value below its comment, if the comment is still there.
fn write_value_below(state: &ServerState, url: &Url, line: usize, comment: &str, value: &str) {
    let Some(text) = state.text(url).filter(|text| text.lines().nth(line) == Some(comment)) else {
        state.client.show_message(MessageType::INFO, value);
        return;
    };
    let indent: String = comment.chars().take_while(|c| c.is_whitespace()).collect();
    let next = line.saturating_add(1);
    let old = evaluate::old_value_line_count(text.lines().skip(next));
    let mut new_text = evaluate::value_lines(value, &indent);
    let lines = LineIndex::new(text);
    let start = Position { line: clamp(next), character: 0 };
    let end = Position { line: clamp(next.saturating_add(old)), character: 0 };
    // After the last line there is no line to begin at, so a line break is added.
    if next >= lines.count() {
        new_text.insert(0, '\n');
    }
    // Keep the line endings of the document.
    if text.contains("\r\n") {
        new_text = new_text.replace('\n', "\r\n");
    }
    let clamped = |p| lines.position(text, lines.offset(text, p, state.abilities.encoding), state.abilities.encoding);
    let range = Range { start: clamped(start), end: clamped(end) };
    let edit = json!({"range": range, "newText": new_text});
    let version = state.documents.get(url).map(|d| d.version);
    let edit = match state.abilities.document_changes {
        true => json!({"documentChanges": [{"textDocument": {"uri": url, "version": version}, "edits": [edit]}]}),
        false => json!({"changes": {url.as_str(): [edit]}}),
    };
    state.client.request_by_name("workspace/applyEdit", json!({"label": "Evaluate", "edit": edit}), |_| {});
}

/// Starts an evaluation. The command's response is sent when it ends.
fn start_evaluation(
    state: &mut ServerState,
    url: Url,
    what: EvaluationTarget,
    reply: CommandReply,
    then: impl FnOnce(&mut ServerState, &EvaluationOutcome) + Send + 'static,
) -> StartResult {
    let Some(text) = state.text(&url).map(str::to_owned) else {
        return Err((request_failed(format!("{url} is not open")), reply));
    };
    let folder = files::path_of(&url).and_then(|path| path.parent().map(ToOwned::to_owned));
    let (seconds, memory) = (state.settings.time_limit_seconds, state.settings.memory_limit_mib);
    let run = EvaluationRequest { target: what, text: text.clone(), folder, seconds, memory };
    let progress = ProgressIndicator::cancellable(&state.client, &state.abilities, "Evaluating");
    let queue = state.queue.clone();
    state.evaluator.start(run, progress.token(), move |outcome| {
        drop(progress);
        queue.send(move |state| {
            then(state, &outcome);
            state.evaluation_finished(&url, &text, &outcome);
            let _ = reply.send(match outcome {
                EvaluationOutcome::Value(value, _) => Ok(Some(json!({"value": value}))),
                // The user has already seen the message; a client would show an error response a
                // second time.
                EvaluationOutcome::Failed(why, _) | EvaluationOutcome::Limit(why) => Ok(Some(json!({"failed": why}))),
                EvaluationOutcome::Stopped => Ok(None),
            });
        });
    });
    Ok(())
}
