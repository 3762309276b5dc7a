//! **Latency of hovers**: keystrokes while a hover's derivative is computed, and hovers of every
//! definition of the library and the examples.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lang_ide::Session;
use lang_ide::hover::HoverDepth;
use serde_json::{Value, json};

use crate::client::ScriptedClient;
use crate::times::{Times, report, timed};

const URI: &str = "untitled:derivative";

/// The part of a hover that shows that more is being computed.
const PENDING: &str = "being computed";

/// The number of measured keystrokes.
const ROUNDS: u32 = 150;
/// The step between the delays of keystrokes after the hover request.
const STEP: Duration = Duration::from_millis(20);
/// The number of the slowest hovers that are listed.
const SLOWEST: usize = 8;
/// The longest wait for a hover.
const PATIENCE: Duration = Duration::from_secs(60);

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn hover(uri: &str, line: usize) -> Value {
    json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": 5}})
}

/// A document with a derivative that takes seconds, and the client that edits it.
struct Edited {
    client: ScriptedClient,
    version: i64,
    /// The line of the definition whose derivative is slow.
    derived: usize,
    /// The line of a definition that it calls, and the position of the digit that is typed in it.
    called: usize,
    digit: (u32, u32),
}

impl Edited {
    fn open(text: &str) -> Self {
        let line = |begin: &str| text.lines().position(|line| line.starts_with(begin)).unwrap();
        let typed = line("  in lens.f * (1");
        let column = text.lines().nth(typed).unwrap().find("(1").unwrap() + 2;
        let mut client = ScriptedClient::start(json!({}));
        client.open(URI, text);
        client.diagnostics(URI, 1);
        let digit = (typed as u32, column as u32);
        Self { client, version: 1, derived: line("def stepped("), called: line("def seen("), digit }
    }

    /// Types or deletes the digit, and returns the time until its diagnostics arrive.
    fn keystroke(&mut self) -> Duration {
        let ((line, column), begun) = (self.digit, Instant::now());
        self.version += 1;
        match self.version % 2 {
            0 => self.client.change(URI, self.version, Some([line, column, line, column]), "7"),
            _ => self.client.change(URI, self.version, Some([line, column, line, column + 1]), ""),
        }
        let wanted = self.version;
        let is_it = |m: &Value| m["method"] == "textDocument/publishDiagnostics" && m["params"]["version"] == wanted;
        self.client.wait(is_it).0.saturating_duration_since(begun)
    }

    /// Requests a hover, and returns whether it is pending.
    fn hover(&mut self, line: usize) -> bool {
        timed(&mut self.client, "textDocument/hover", hover(URI, line)).1["result"].to_string().contains(PENDING)
    }
}

/// Measures keystrokes, and hovers over another definition, while a derivative is computed that
/// takes seconds.
pub(crate) fn keystrokes() {
    let text = std::fs::read_to_string(workspace().join("examples/bundle/bundle.iv")).unwrap();
    let (definitions, lines) = (text.matches("\ndef ").count(), text.lines().count());
    let mut edited = Edited::open(&text);
    let (mut keystrokes, mut hovers, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    let mut pending = 0;
    for round in 0..ROUNDS {
        // The hover is not requested again, so its derivative is computed until the keystroke
        // cancels it.
        pending += usize::from(edited.hover(edited.derived));
        std::thread::sleep(STEP * (round % 100));
        keystrokes.push(edited.keystroke());
    }
    for round in 0..ROUNDS {
        // In every other round nothing else is computed.
        if round % 2 == 0 {
            edited.hover(edited.derived);
            std::thread::sleep(STEP * (round % 50));
        }
        let begun = Instant::now();
        while edited.hover(edited.called) && begun.elapsed() < PATIENCE {}
        if round % 2 == 0 { &mut hovers } else { &mut alone }.push(begun.elapsed());
        edited.keystroke();
    }
    report("keystroke in a derivative", definitions, lines, keystrokes);
    println!("    of {ROUNDS} derivatives {pending} were being computed");
    report("hover after a derivative", definitions, lines, hovers);
    report("the same hover alone", definitions, lines, alone);
    edited.client.leave();
}

/// The times of one hover.
struct HoverAnswer {
    name: String,
    /// The time until the first answer.
    first: Duration,
    /// The time until the complete answer, requested again and again.
    all: Duration,
    /// The file and the line, if the first answer is incomplete.
    pending: Option<(PathBuf, usize)>,
}

/// Measures the hovers of all definitions of the library and the examples.
pub(crate) fn of_programs() {
    let mut files = Vec::new();
    find(&workspace().join("std"), &mut files);
    find(&workspace().join("examples"), &mut files);
    files.sort();
    let mut answers: Vec<HoverAnswer> = Vec::new();
    let mut client = ScriptedClient::start(json!({"textDocument": {"hover": {"contentFormat": ["markdown"]}}}));
    for (file, number) in files.iter().zip(0..) {
        let text = std::fs::read_to_string(file).unwrap();
        let name = file.file_stem().unwrap().to_string_lossy();
        // A module of the library is opened as a user's program, so that no earlier hover has
        // computed it.
        let uri = match file.starts_with(workspace().join("std")) {
            true => format!("untitled:{name}-{number}"),
            false => format!("file://{}", file.canonicalize().unwrap().display()),
        };
        client.open(&uri, &text);
        client.diagnostics(&uri, 1);
        for (line, content) in text.lines().enumerate().filter(|(_, line)| line.starts_with("def ")) {
            let def = content.trim_start_matches("def ").split('(').next().unwrap_or_default();
            let begun = Instant::now();
            let (first, mut answer) = timed(&mut client, "textDocument/hover", hover(&uri, line));
            let pending = answer["result"].to_string().contains(PENDING).then(|| (file.clone(), line));
            while answer["result"].to_string().contains(PENDING) && begun.elapsed() < PATIENCE {
                answer = timed(&mut client, "textDocument/hover", hover(&uri, line)).1;
            }
            answers.push(HoverAnswer { name: format!("{name}.{def}"), first, all: begun.elapsed(), pending });
        }
        client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    }
    client.leave();
    rows("the first answer", &mut answers, |hover_answer| hover_answer.first);
    rows("the whole hover", &mut answers, |answer| answer.all);
    let ratio = |hover_answer: &HoverAnswer| {
        let (file, line) = hover_answer.pending.as_ref()?;
        Some((hover_answer.all.as_secs_f64() / alone(&files, file, *line).as_secs_f64(), hover_answer.name.clone()))
    };
    let mut ratios: Vec<(f64, String)> = answers.iter().filter_map(ratio).collect();
    ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("hovers that say \"{PENDING}\": {}; ratio to the time without a server:", ratios.len());
    ratios.iter().take(SLOWEST).for_each(|(ratio, name)| println!("    {ratio:>8.2}    {name}"));
}

/// Computes a hover in a new session without a server, and returns the time.
fn alone(files: &[PathBuf], file: &Path, line: usize) -> Duration {
    let module = |file: &Path| file.strip_prefix(workspace()).unwrap().to_string_lossy().into_owned();
    let mut session = Session::new();
    for beside in files.iter().filter(|beside| beside.parent() == file.parent()) {
        session.set_text(&module(beside), &std::fs::read_to_string(beside).unwrap());
    }
    let text = std::fs::read_to_string(file).unwrap();
    let at = text.split_inclusive('\n').take(line).map(str::len).sum::<usize>() + 5;
    let begun = Instant::now();
    let hover_info = lang_ide::hover::hover(&session, &module(file), u32::try_from(at).unwrap(), HoverDepth::Full);
    assert!(hover_info.is_some(), "{}: {line}", file.display());
    begun.elapsed()
}

/// Prints the percentiles of the times, and the greatest ones with their names.
fn rows(what: &str, hover_answer: &mut [HoverAnswer], of: fn(&HoverAnswer) -> Duration) {
    let times = Times::of(hover_answer.iter().map(of).collect());
    println!(
        "hovers, {what}: {} definitions   p50 {:>7.2} ms   p99 {:>7.2} ms   most {:>7.2} ms",
        hover_answer.len(),
        times.at(50),
        times.at(99),
        times.at(100)
    );
    hover_answer.sort_by_key(|answers| std::cmp::Reverse(of(answers)));
    for one in hover_answer.iter().take(SLOWEST) {
        println!("    {:>8.1} ms {}", of(one).as_secs_f64() * 1e3, one.name);
    }
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|e| e == "iv") {
            files.push(path);
        }
    }
}
