//! **Key bindings** that the line editor lacks. Enter asks the parser whether the input is
//! complete. The arrow keys search the history by prefix. The cursor steps over margins.

use rustyline::history::History;
use rustyline::{
    At, CharSearch, Cmd, ConditionalEventHandler, Editor, Event, EventContext, EventHandler, Helper, KeyCode, KeyEvent,
    Modifiers, Movement, RepeatCount, Word,
};

use super::input_history::SharedPrefixSearch;
use super::input_splitter;
use super::margin::{self, MARGIN, MARGIN_END};

/// Binds the keys.
pub(crate) fn bind_keys<H: Helper, I: History>(editor: &mut Editor<H, I>, search: &SharedPrefixSearch) {
    let mut on = |key: KeyEvent, handler: Box<dyn ConditionalEventHandler>| {
        let _ = editor.bind_sequence(Event::from(key), EventHandler::Conditional(handler));
    };
    let plain = |code: KeyCode| KeyEvent(code, Modifiers::NONE);
    on(plain(KeyCode::Enter), Box::new(EnterHandler));
    on(KeyEvent::ctrl('M'), Box::new(EnterHandler));
    // The code of Enter if it was typed during a computation, while the terminal was in cooked
    // mode.
    on(KeyEvent::ctrl('J'), Box::new(EnterHandler));
    on(KeyEvent(KeyCode::Enter, Modifiers::ALT), Box::new(NewLineHandler));
    on(KeyEvent(KeyCode::Char('M'), Modifiers::CTRL_ALT), Box::new(NewLineHandler));
    for (key, step) in [
        (plain(KeyCode::Up), HistoryStep::Up),
        (plain(KeyCode::Down), HistoryStep::Down),
        (KeyEvent::ctrl('P'), HistoryStep::Previous),
        (KeyEvent::ctrl('N'), HistoryStep::Next),
    ] {
        on(key, Box::new(HistoryHandler { step, search: search.clone() }));
    }
    for key in [plain(KeyCode::Backspace), KeyEvent::ctrl('H')] {
        on(key, Box::new(BackwardOverMargin(Cmd::Kill)));
    }
    for key in [plain(KeyCode::Left), KeyEvent::ctrl('B')] {
        on(key, Box::new(BackwardOverMargin(Cmd::Move)));
    }
    on(plain(KeyCode::Delete), Box::new(ForwardOverMargin(Cmd::Kill, CharSearch::ForwardBefore)));
    for key in [plain(KeyCode::Right), KeyEvent::ctrl('F')] {
        on(key, Box::new(ForwardOverMargin(Cmd::Move, CharSearch::Forward)));
    }
    for key in [plain(KeyCode::Home), KeyEvent::ctrl('A')] {
        on(key, Box::new(HomeHandler));
    }
}

fn text_before_cursor<'c>(ctx: &'c EventContext<'_>) -> &'c str {
    ctx.line().get(..ctx.pos()).unwrap_or_default()
}

/// Ends a complete input, wherever the cursor is; otherwise begins a new line.
struct EnterHandler;

impl ConditionalEventHandler for EnterHandler {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        if input_splitter::needs_more_lines(&margin::strip_prompts(&margin::without_margins(ctx.line()))) {
            return Some(Cmd::Insert(1, margin::next_line(text_before_cursor(ctx))));
        }
        Some(Cmd::AcceptLine)
    }
}

/// Begins a new line.
struct NewLineHandler;

impl ConditionalEventHandler for NewLineHandler {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        Some(Cmd::Insert(1, margin::next_line(text_before_cursor(ctx))))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HistoryStep {
    Up,
    Down,
    Previous,
    Next,
}

/// Recalls history entries. The arrow keys first move inside an input of several lines.
struct HistoryHandler {
    step: HistoryStep,
    search: SharedPrefixSearch,
}

impl ConditionalEventHandler for HistoryHandler {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let (line, before) = (ctx.line(), text_before_cursor(ctx));
        let after = line.get(ctx.pos()..).unwrap_or_default();
        match self.step {
            HistoryStep::Up if before.contains('\n') => return Some(Cmd::Move(Movement::LineUp(1))),
            HistoryStep::Down if after.contains('\n') => return Some(Cmd::Move(Movement::LineDown(1))),
            _ => {}
        }
        if let Ok(mut search) = self.search.lock() {
            search.begin(line, before);
        }
        Some(if matches!(self.step, HistoryStep::Up | HistoryStep::Previous) {
            Cmd::PreviousHistory
        } else {
            Cmd::NextHistory
        })
    }
}

/// Moves or deletes backwards over a margin and the line end before it. The line editor sets the
/// repeat count of a movement itself, so a count cannot express the distance. The movement is a
/// search for the nearest line end instead.
struct BackwardOverMargin(fn(Movement) -> Cmd);

impl ConditionalEventHandler for BackwardOverMargin {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let over = text_before_cursor(ctx).strip_suffix(MARGIN)?.ends_with('\n');
        over.then(|| self.0(Movement::ViCharSearch(1, CharSearch::Backward('\n'))))
    }
}

/// Moves or deletes forwards over a line end and the margin after it.
struct ForwardOverMargin(fn(Movement) -> Cmd, fn(char) -> CharSearch);

impl ConditionalEventHandler for ForwardOverMargin {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let after = ctx.line().get(ctx.pos()..)?.strip_prefix('\n')?.strip_prefix(MARGIN)?;
        Some(self.0(match after.chars().next() {
            None => Movement::EndOfBuffer,
            // A search for a blank would stop at the blanks of the margin.
            Some(' ') => Movement::ForwardWord(1, At::Start, Word::Big),
            Some(first) => Movement::ViCharSearch(1, (self.1)(first)),
        }))
    }
}

/// Moves to the beginning of the line, after its margin.
struct HomeHandler;

impl ConditionalEventHandler for HomeHandler {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let (_, line) = text_before_cursor(ctx).rsplit_once('\n')?;
        match line.strip_prefix(MARGIN)? {
            "" => Some(Cmd::Noop),
            _ => Some(Cmd::Move(Movement::ViCharSearch(1, CharSearch::BackwardAfter(MARGIN_END)))),
        }
    }
}
