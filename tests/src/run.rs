//! What a user sees of a program: its diagnostics and, if none of them is an error, what it prints
//! and the values of its `do` items and of `main`.

use lang_core::session::Session;
use lang_core::syntax::parser::parse_item;
use lang_core::syntax::split::split;

use crate::literate::{Block, Kind};
use crate::render;

/// The module that a program by itself is.
pub const MAIN: &str = "main.iv";

/// What is seen of block number `at` of a page. Modules of the page that stand before it may be
/// imported.
#[must_use]
pub fn see_block(blocks: &[Block], at: usize) -> String {
    let Some(block) = blocks.get(at) else { return String::new() };
    let modules: Vec<(&str, &str)> = blocks
        .iter()
        .filter_map(|other| match &other.kind {
            Kind::Module(name) => Some((name.as_str(), other.text.as_str())),
            Kind::Program | Kind::Fragment | Kind::Unchecked => None,
        })
        .collect();
    match &block.kind {
        Kind::Program => see(&block.text, &modules),
        Kind::Module(name) => render::diagnostics(&block.text, &load(&modules).diagnostics(name)),
        Kind::Fragment => split(&block.text)
            .iter()
            .flat_map(|item| parse_item(&item.text).diagnostics.into_iter().map(|d| d.shift(item.start)))
            .map(|d| render::diagnostic(&block.text, &d))
            .collect(),
        Kind::Unchecked => String::new(),
    }
}

/// What is seen of a program among these modules.
#[must_use]
pub fn see(text: &str, modules: &[(&str, &str)]) -> String {
    let mut session = load(modules);
    session.set_text(MAIN, text);
    let diagnostics = session.diagnostics(MAIN);
    render::diagnostics(text, &diagnostics)
}

fn load(modules: &[(&str, &str)]) -> Session {
    let mut session = Session::new();
    for (name, text) in modules {
        session.set_text(name, text);
    }
    session
}
