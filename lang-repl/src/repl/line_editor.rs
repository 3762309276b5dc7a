//! **The line editor** of the REPL. Inputs of several lines are edited as one block, with history,
//! completion, colours and hints. Key bindings are in `key_bindings`; the rendering of lines is in
//! `highlight` and `margin`.

use std::borrow::Cow;
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hint, Hinter};
use rustyline::history::SearchDirection;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, ExternalPrinter as _, Helper};

use super::completion;
use super::editor_snapshot::SharedSnapshot;
use super::highlight::{self, BOLD, DIM, styled};
use super::input_history::{self, InputHistory, SharedPrefixSearch};
use super::input_splitter;
use super::key_bindings;
use super::key_bursts::BurstDetector;
use super::margin::{self, MARGIN, PROMPT};
use super::signature_help::{self, SignatureHint};
use crate::out;
use crate::show;

/// The most entries of the history.
const MAX_HISTORY: usize = 10_000;
/// The longest input, in bytes, that is added to the history.
const MAX_ENTRY: usize = 64 << 10;
/// The least number of typed characters for a suggestion from the history.
const MIN_SUGGESTED: usize = 2;

/// Moves to the line below. Without the blank, a line exactly as wide as the terminal would move
/// down twice.
const LINE_BELOW: &str = " \n";

/// Clears the text after the cursor.
const ERASE_BELOW: &str = "\x1b[J";

/// Moves up and down a line. Writing it makes the line editor repaint the input.
const REPAINT: &str = "\x1b[A\n";

/// The result of reading.
#[derive(PartialEq, Debug)]
pub(crate) enum EditorResult {
    /// An input; pasted text may have several lines.
    Input(String),
    /// Ctrl-C: the line was abandoned.
    Abandoned,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The line editor with its history.
pub(crate) struct LineEditor {
    editor: Editor<EditorHelper, InputHistory>,
    history: Option<PathBuf>,
    bursts: BurstDetector,
}

impl LineEditor {
    /// Creates the editor; `None` if the terminal does not support line editing.
    pub(crate) fn new(known: SharedSnapshot) -> Option<Self> {
        let config = Config::builder()
            .max_history_size(MAX_HISTORY)
            .and_then(|c| c.history_ignore_dups(true))
            .ok()?
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .bracketed_paste(true)
            // The prompts are painted even without colours.
            .color_mode(ColorMode::Forced)
            .build();
        let search = SharedPrefixSearch::default();
        let recall = InputHistory::new(&config, search.clone());
        let mut editor = Editor::with_history(config, recall).ok()?;
        let bursts = BurstDetector::default();
        editor.set_helper(Some(EditorHelper {
            snapshot: known,
            files: FilenameCompleter::new(),
            is_final_paint: Cell::new(false),
            hint_parameter: Cell::new(None),
            hint_lines: Cell::new(0),
            pending_candidates: Cell::new(0),
            bursts: bursts.clone(),
            in_burst: Cell::new(false),
        }));
        // Without an external printer, the colours after a burst appear with the next key.
        if let Ok(mut printer) = editor.create_external_printer() {
            bursts.start_painter(move || drop(printer.print(REPAINT.to_owned())));
        }
        key_bindings::bind_keys(&mut editor, &search);
        let history = input_history::history_path();
        if let Some(path) = &history {
            // On the first run the file does not exist.
            let _ = editor.load_history(path);
        }
        Some(Self { editor, history, bursts })
    }

    /// Reads an input.
    pub(crate) fn read_input(&mut self) -> EditorResult {
        let typed = std::mem::take(&mut *typed_ahead());
        self.bursts.set_reading(true);
        let read = self.editor.readline_with_initial(PROMPT, (&typed, ""));
        self.bursts.set_reading(false);
        let line = match read {
            Ok(text) => EditorResult::Input(margin::strip_prompts(&margin::without_margins(&text))),
            Err(ReadlineError::Interrupted) => EditorResult::Abandoned,
            Err(_) => EditorResult::End,
        };
        if let EditorResult::Input(text) = &line
            && !text.trim().is_empty()
            && text.len() <= MAX_ENTRY
        {
            self.append_to_history(text.trim_end());
        }
        line
    }

    /// Appends the entry immediately, so that neither concurrent sessions nor a crash lose it. A
    /// failure to write is ignored.
    fn append_to_history(&mut self, text: &str) {
        let added = self.editor.add_history_entry(text).unwrap_or(false);
        if let (true, Some(path)) = (added, &self.history) {
            let _ = self.editor.append_history(path);
        }
    }
}

/// An input that was typed ahead and taken for the answer to a question, although it is no answer.
static TYPED_AHEAD: Mutex<String> = Mutex::new(String::new());

fn typed_ahead() -> MutexGuard<'static, String> {
    TYPED_AHEAD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks the user whether to run a computation. Any answer but yes means no. Text that is no answer
/// at all is kept for the next prompt.
pub(crate) fn confirm_run(question: &str) -> bool {
    let Ok(mut editor) = rustyline::DefaultEditor::new() else { return false };
    let Ok(answer) = editor.readline(&format!("{question}; run it? [y/N] ")) else { return false };
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => return true,
        "" | "n" | "no" => {}
        _ => *typed_ahead() = answer,
    }
    false
}

struct EditorHelper {
    snapshot: SharedSnapshot,
    files: FilenameCompleter,
    /// Whether the line is painted for the last time, without hints and bracket matches.
    is_final_paint: Cell<bool>,
    /// The byte range of the current parameter in the shown hint.
    hint_parameter: Cell<Option<(usize, usize)>>,
    /// An upper bound on the lines that the shown hint takes below the cursor.
    hint_lines: Cell<usize>,
    /// The number of candidates in a list that are not shown yet. While it is positive, no hint is
    /// shown.
    pending_candidates: Cell<usize>,
    bursts: BurstDetector,
    /// Whether the current key belongs to a burst.
    in_burst: Cell<bool>,
}

impl EditorHelper {
    fn color(&self) -> bool {
        self.snapshot.lock().is_ok_and(|known| known.color)
    }

    /// Returns the signature of the open call, or the rest of a history entry that begins with this
    /// line.
    fn current_hint(&self, line: &str, at: usize, ctx: &Context<'_>) -> Option<EditorHint> {
        let before = line.get(..at)?;
        let known = self.snapshot.lock().ok()?;
        if let Some(SignatureHint { text, current_parameter: parameter }) =
            signature_help::signature_hint(before, &known)
        {
            let start = LINE_BELOW.len() + MARGIN.len();
            self.hint_parameter.set(parameter.map(|(from, to)| (start + from, start + to)));
            return Some(EditorHint { text: format!("{LINE_BELOW}{MARGIN}{text}"), can_accept: false });
        }
        // Without colours the user could not tell the suggestion from the typed text.
        if !known.color || at < line.len() || line.trim().len() < MIN_SUGGESTED || line.contains('\n') {
            return None;
        }
        let last = ctx.history().len().checked_sub(1)?;
        let found = ctx.history().starts_with(line, last, SearchDirection::Reverse).ok()??;
        let rest = found.entry.get(at..).filter(|rest| !rest.is_empty())?;
        Some(EditorHint { text: rest.to_owned(), can_accept: true })
    }
}

impl Helper for EditorHelper {}

impl Completer for EditorHelper {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<completion::CompletionCandidates> {
        let before = line.get(..at).unwrap_or_default();
        let Ok(known) = self.snapshot.lock() else { return Ok((at, Vec::new())) };
        let found = completion::completion_candidates(before, &known, &self.files);
        // The line editor writes its list over a hint after the cursor, so the hint is erased
        // first.
        if found.1.len() > 1 {
            self.pending_candidates.set(found.1.len());
            if at == line.len() {
                out::print(ERASE_BELOW);
            }
        }
        Ok(found)
    }
}

/// Used only if the terminal supports nothing more than lines.
impl Validator for EditorHelper {
    fn validate(&self, ctx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let more = input_splitter::needs_more_lines(&margin::strip_prompts(&margin::without_margins(ctx.input())));
        Ok(if more { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

/// A hint at the end of the line.
struct EditorHint {
    text: String,
    /// Whether the hint can be accepted as input.
    can_accept: bool,
}

impl Hint for EditorHint {
    fn display(&self) -> &str {
        &self.text
    }

    fn completion(&self) -> Option<&str> {
        self.can_accept.then_some(&self.text)
    }
}

impl Hinter for EditorHelper {
    type Hint = EditorHint;

    fn hint(&self, line: &str, at: usize, ctx: &Context<'_>) -> Option<EditorHint> {
        self.hint_parameter.set(None);
        self.in_burst.set(self.bursts.record_key(Instant::now()));
        let shown = if self.pending_candidates.take() > 0 || self.in_burst.get() {
            None
        } else {
            self.current_hint(line, at, ctx)
        };
        let columns = show::terminal_width().unwrap_or(1).max(1);
        self.hint_lines.set(shown.as_ref().map_or(0, |shown| {
            let ends = shown.text.matches('\n').count();
            ends + 1 + shown.text.chars().count() / columns
        }));
        shown
    }
}

impl Highlighter for EditorHelper {
    fn highlight<'l>(&self, line: &'l str, at: usize) -> Cow<'l, str> {
        let cursor = (!self.is_final_paint.get()).then_some(at);
        Cow::Owned(highlight::highlight(line, cursor, self.color()))
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        if self.color() { Cow::Owned(styled(BOLD, prompt)) } else { Cow::Borrowed(prompt) }
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        if !self.color() {
            return Cow::Borrowed(hint);
        }
        let parts = self
            .hint_parameter
            .get()
            .and_then(|(from, to)| Some((hint.get(..from)?, hint.get(from..to)?, hint.get(to..)?)));
        Cow::Owned(match parts {
            Some((before, parameter, after)) => {
                format!("{}{}{}", styled(DIM, before), styled(BOLD, parameter), styled(DIM, after))
            }
            None => styled(DIM, hint),
        })
    }

    fn highlight_candidate<'c>(&self, candidate: &'c str, _: CompletionType) -> Cow<'c, str> {
        let left = self.pending_candidates.get();
        self.pending_candidates.set(left.saturating_sub(1));
        // The line editor still counts the hint. It moves down by that many lines before it shows
        // the prompt, and clears them on its way up. So that many empty lines are added below the
        // list.
        match self.hint_lines.get() {
            below @ 1.. if left == 1 => Cow::Owned(format!("{candidate}{}\x1b[{below}A", "\n".repeat(below))),
            _ => Cow::Borrowed(candidate),
        }
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        self.is_final_paint.set(kind == CmdKind::ForcedRefresh);
        !(kind == CmdKind::Other && self.in_burst.get())
    }
}
