//! **Key bindings** that the line editor lacks. Enter asks the parser whether the input is
//! complete. The arrow keys search the history by prefix. The cursor steps over margins.

use rustyline::history::History;
use rustyline::{
    At, CharSearch, Cmd, ConditionalEventHandler, Editor, Event, EventContext, EventHandler, Helper, KeyCode, KeyEvent,
    Modifiers, Movement, RepeatCount, Word,
};

use super::history::SharedSearch;
use super::input;
use super::margin::{self, LAST, MARGIN};

/// Binds the keys.
pub(crate) fn bind<H: Helper, I: History>(editor: &mut Editor<H, I>, search: &SharedSearch) {
    let mut on = |key: KeyEvent, handler: Box<dyn ConditionalEventHandler>| {
        let _ = editor.bind_sequence(Event::from(key), EventHandler::Conditional(handler));
    };
    let plain = |code: KeyCode| KeyEvent(code, Modifiers::NONE);
    on(plain(KeyCode::Enter), Box::new(Enter));
    on(KeyEvent::ctrl('M'), Box::new(Enter));
    // The code of Enter if it was typed during a computation, while the terminal was in cooked
    // mode.
    on(KeyEvent::ctrl('J'), Box::new(Enter));
    on(KeyEvent(KeyCode::Enter, Modifiers::ALT), Box::new(NewLine));
    on(KeyEvent(KeyCode::Char('M'), Modifiers::CTRL_ALT), Box::new(NewLine));
    for (key, step) in [
        (plain(KeyCode::Up), Arrow::Up),
        (plain(KeyCode::Down), Arrow::Down),
        (KeyEvent::ctrl('P'), Arrow::Before),
        (KeyEvent::ctrl('N'), Arrow::After),
    ] {
        on(key, Box::new(Recalls { step, search: search.clone() }));
    }
    for key in [plain(KeyCode::Backspace), KeyEvent::ctrl('H')] {
        on(key, Box::new(Back(Cmd::Kill)));
    }
    for key in [plain(KeyCode::Left), KeyEvent::ctrl('B')] {
        on(key, Box::new(Back(Cmd::Move)));
    }
    on(plain(KeyCode::Delete), Box::new(Onward(Cmd::Kill, CharSearch::ForwardBefore)));
    for key in [plain(KeyCode::Right), KeyEvent::ctrl('F')] {
        on(key, Box::new(Onward(Cmd::Move, CharSearch::Forward)));
    }
    for key in [plain(KeyCode::Home), KeyEvent::ctrl('A')] {
        on(key, Box::new(Home));
    }
}

fn before<'c>(ctx: &'c EventContext<'_>) -> &'c str {
    ctx.line().get(..ctx.pos()).unwrap_or_default()
}

/// Ends a complete input, wherever the cursor is; otherwise begins a new line.
struct Enter;

impl ConditionalEventHandler for Enter {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        if input::wants_more(&margin::typed(&margin::without(ctx.line()))) {
            return Some(Cmd::Insert(1, margin::next_line(before(ctx))));
        }
        Some(Cmd::AcceptLine)
    }
}

/// Begins a new line.
struct NewLine;

impl ConditionalEventHandler for NewLine {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        Some(Cmd::Insert(1, margin::next_line(before(ctx))))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrow {
    Up,
    Down,
    Before,
    After,
}

/// Recalls history entries. The arrow keys first move inside an input of several lines.
struct Recalls {
    step: Arrow,
    search: SharedSearch,
}

impl ConditionalEventHandler for Recalls {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let (line, before) = (ctx.line(), before(ctx));
        let after = line.get(ctx.pos()..).unwrap_or_default();
        match self.step {
            Arrow::Up if before.contains('\n') => return Some(Cmd::Move(Movement::LineUp(1))),
            Arrow::Down if after.contains('\n') => return Some(Cmd::Move(Movement::LineDown(1))),
            _ => {}
        }
        if let Ok(mut search) = self.search.lock() {
            search.begin(line, before);
        }
        Some(if matches!(self.step, Arrow::Up | Arrow::Before) { Cmd::PreviousHistory } else { Cmd::NextHistory })
    }
}

/// Moves or deletes backwards over a margin and the line end before it. The line editor sets the
/// repeat count of a movement itself, so a count cannot express the distance. The movement is a
/// search for the nearest line end instead.
struct Back(fn(Movement) -> Cmd);

impl ConditionalEventHandler for Back {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let over = before(ctx).strip_suffix(MARGIN)?.ends_with('\n');
        over.then(|| self.0(Movement::ViCharSearch(1, CharSearch::Backward('\n'))))
    }
}

/// Moves or deletes forwards over a line end and the margin after it.
struct Onward(fn(Movement) -> Cmd, fn(char) -> CharSearch);

impl ConditionalEventHandler for Onward {
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
struct Home;

impl ConditionalEventHandler for Home {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let (_, line) = before(ctx).rsplit_once('\n')?;
        match line.strip_prefix(MARGIN)? {
            "" => Some(Cmd::Noop),
            _ => Some(Cmd::Move(Movement::ViCharSearch(1, CharSearch::BackwardAfter(LAST)))),
        }
    }
}
