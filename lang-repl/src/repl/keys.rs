//! What keys do that the line editor does not do by itself: Enter asks the parser whether the input is
//! complete, the arrows bring back what begins as what was typed, and margins are stepped over as if
//! they were not there.

use rustyline::history::History;
use rustyline::{
    At, CharSearch, Cmd, ConditionalEventHandler, Editor, Event, EventContext, EventHandler, Helper, KeyCode, KeyEvent,
    Modifiers, Movement, RepeatCount, Word,
};

use super::history::SharedSearch;
use super::input;
use super::margin::{self, LAST, MARGIN};

/// Gives the keys their meaning.
pub(crate) fn bind<H: Helper, I: History>(editor: &mut Editor<H, I>, search: &SharedSearch) {
    let mut on = |key: KeyEvent, handler: Box<dyn ConditionalEventHandler>| {
        let _ = editor.bind_sequence(Event::from(key), EventHandler::Conditional(handler));
    };
    let plain = |code: KeyCode| KeyEvent(code, Modifiers::NONE);
    on(plain(KeyCode::Enter), Box::new(Enter));
    on(KeyEvent::ctrl('M'), Box::new(Enter));
    on(KeyEvent::ctrl('J'), Box::new(NewLine));
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
    // The line editor gives movements its own count, so these need none.
    let (back, onward) =
        (Movement::ViCharSearch(1, CharSearch::Backward('\n')), Movement::ForwardWord(1, At::Start, Word::Big));
    for (keys, side, command) in [
        ([plain(KeyCode::Backspace), KeyEvent::ctrl('H')], Side::Before, Cmd::Kill(back.clone())),
        ([plain(KeyCode::Left), KeyEvent::ctrl('B')], Side::Before, Cmd::Move(back)),
        ([plain(KeyCode::Delete), plain(KeyCode::Delete)], Side::After, Cmd::Kill(onward.clone())),
        ([plain(KeyCode::Right), KeyEvent::ctrl('F')], Side::After, Cmd::Move(onward)),
    ] {
        for key in keys {
            on(key, Box::new(Over(side, command.clone())));
        }
    }
    for key in [plain(KeyCode::Home), KeyEvent::ctrl('A')] {
        on(key, Box::new(Home));
    }
}

fn before<'c>(ctx: &'c EventContext<'_>) -> &'c str {
    ctx.line().get(..ctx.pos()).unwrap_or_default()
}

/// Ends the input if it is complete, wherever the cursor is; else begins a new line.
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

/// Brings back what was typed before. The arrows move inside an input of several lines first.
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

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

/// Moves or deletes over the end of a line together with the margin of the next, on this side of the cursor.
struct Over(Side, Cmd);

impl ConditionalEventHandler for Over {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let end = format!("\n{MARGIN}");
        let there = match self.0 {
            Side::Before => before(ctx).ends_with(&end),
            Side::After => ctx.line().get(ctx.pos()..).unwrap_or_default().starts_with(&end),
        };
        there.then(|| self.1.clone())
    }
}

/// Moves to the beginning of the line, behind its margin.
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
