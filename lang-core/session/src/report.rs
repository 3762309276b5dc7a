//! **Diagnostics of a module.** Moves the diagnostics of its items to their places in the file, and
//! adds those that concern several items: duplicate names.

use std::collections::HashMap;
use std::sync::Arc;

use salsa::Database;

use super::cycles::{leads_back, prepared, ready};
use super::db::Item;
use super::inputs::Module;
use super::library::{LIBRARY, PRELUDE};
use super::path::relative;
use super::queries::{item_diagnostics, name_span, tree};
use super::scope::{Binding, ImportRef, Space, import_of, pattern_names, twice};
use super::view::View;
use lang_base::{Code, Diagnostic, Fix, Label, Span};
use lang_resolve::Names;
use lang_resolve::suggest::did_you_mean;
use lang_resolve::type_items::constructors;
use lang_syntax::ast;
use lang_syntax::lexer::lex;
use lang_syntax::split::ItemKind;

/// The diagnostics of a module by item, so that those of unedited items can be reused.
#[derive(Clone, Default, Debug)]
pub struct Found {
    items: Vec<InItem>,
    /// The diagnostics that concern several items, absolute.
    beside: Vec<Diagnostic>,
}

/// The diagnostics of an item, relative to its text.
#[derive(Clone, Debug)]
struct InItem {
    item: Item,
    start: u32,
    text: Arc<str>,
    diagnostics: Vec<Diagnostic>,
}

impl Found {
    /// Returns all diagnostics, absolute and sorted by position.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let placed = self.items.iter().flat_map(|i| i.diagnostics.iter().map(|d| d.clone().shift(i.start)));
        sorted(placed.chain(self.beside.iter().cloned()).collect())
    }

    /// Returns the number of items that were checked.
    #[must_use]
    pub fn items(&self) -> usize {
        self.items.len()
    }
}

/// The most edited items that [`soon`] checks.
const FEW: usize = 16;

/// Returns the diagnostics of edited items, and the earlier ones of all others. This needs no check
/// whether an edit affects an item. `None` if many items were edited.
pub(super) fn soon(db: &dyn Database, module: &Module, before: &Found) -> Option<Found> {
    let known: HashMap<Item, &InItem> = before.items.iter().map(|i| (i.item, i)).collect();
    let mut asked = 0;
    let mut items = Vec::with_capacity(before.items.len());
    for (item, start) in module.placed(db) {
        let text = item.text(db);
        match known.get(&item).filter(|known| known.text == *text) {
            Some(known) => items.push(InItem { start, ..(*known).clone() }),
            None if asked == FEW => return None,
            None => {
                asked += 1;
                ready(db, item);
                items.push(in_item(db, item, start));
            }
        }
    }
    Some(Found { items, beside: defined_twice(db, module) })
}

/// Returns the diagnostics of an item that begins there, absolute.
pub(super) fn of_item(db: &dyn Database, item: Item, start: u32) -> Vec<Diagnostic> {
    ready(db, item);
    sorted(in_item(db, item, start).diagnostics.into_iter().map(|d| d.shift(start)).collect())
}

fn sorted(mut all: Vec<Diagnostic>) -> Vec<Diagnostic> {
    all.sort_by_key(|d| (d.span.start, d.span.end, d.code));
    all
}

fn in_item(db: &dyn Database, item: Item, start: u32) -> InItem {
    let diagnostics = item_diagnostics(db, item).into_iter().chain(import(db, item)).collect();
    InItem { item, start, text: Arc::clone(item.text(db)), diagnostics }
}

/// Returns the diagnostics of a module.
pub(super) fn found(db: &dyn Database, module: &Module) -> Found {
    if module.text.is_too_long() {
        return Found { items: Vec::new(), beside: lex(module.text.text()).diagnostics };
    }
    prepared(db, module.file);
    let items = module.placed(db).map(|(item, start)| in_item(db, item, start)).collect();
    Found { items, beside: defined_twice(db, module) }
}

/// Returns the diagnostic of an import: a missing module, or a cycle.
fn import(db: &dyn Database, item: Item) -> Option<Diagnostic> {
    let import = import_at(db, item)?;
    let view = View::new(db);
    if !view.has_module(&import.module) {
        let diagnostic = Diagnostic::new(Code::E0102, import.span, format!("there is no module `{}`", import.module));
        let written = item.text(db).get(import.span.range()).unwrap_or_default();
        let path = with_ending(written.trim_matches('"'));
        let file = relative(item.file(db).module(db), &path);
        let help = match (view.has_module(&file), import.is_file) {
            (true, _) => {
                let path = if import.is_file { path } else { format!("./{path}") };
                return Some(diagnostic.help(called(&file)).fix(Fix::replace(import.span, format!("\"{path}\""))));
            }
            (false, true) => "the path is relative to the file that imports".to_owned(),
            (false, false) => {
                let library: Vec<String> =
                    LIBRARY.iter().filter(|m| m.0 != PRELUDE).map(|m| format!("`{}`", m.0)).collect();
                let near = did_you_mean(&import.module, LIBRARY.iter().map(|m| m.0));
                format!(
                    "{}the library has {}; a file beside this one is imported by `import \"./{}.iv\"`",
                    near.map(|near| format!("{near} ")).unwrap_or_default(),
                    library.join(", "),
                    import.module
                )
            }
        };
        return Some(diagnostic.help(help));
    }
    let own = item.file(db).module(db);
    leads_back(db, own, &import.module).then(|| {
        let message = match import.module == *own {
            true => "this module imports itself".to_owned(),
            false => format!("`{}` imports this module, perhaps through others", import.module),
        };
        Diagnostic::new(Code::E0103, import.span, message).help("move what both need into a third module")
    })
}

/// Returns the path of an import with the file ending.
#[must_use]
pub fn with_ending(path: &str) -> String {
    format!("{}.iv", path.strip_suffix(".iv").unwrap_or(path))
}

/// Returns the hint for an import whose file exists under the name with the ending.
#[must_use]
pub fn called(file: &str) -> String {
    format!("the file is called `{file}`, and an import has the whole name of a file in quotes")
}

/// Returns the import that an item is. It queries only items of that kind.
pub(super) fn import_at(db: &dyn Database, item: Item) -> Option<&ImportRef> {
    (item.kind(db) == ItemKind::Import).then(|| import_of(db, item).as_ref()).flatten()
}

/// Returns the diagnostics of names that a module defines twice.
fn defined_twice(db: &dyn Database, module: &Module) -> Vec<Diagnostic> {
    let file = module.file;
    let twice = twice(db, file);
    if twice.is_empty() {
        return Vec::new();
    }
    let starts: HashMap<Item, u32> = module.placed(db).collect();
    let place = |binding: &Binding| {
        let start = starts.get(&binding.item).copied().unwrap_or_default();
        binding_span(db, binding).shift(start)
    };
    let report = |(first, again): &(Binding, Binding)| {
        let what = again.space.describe(&again.name);
        let mut diagnostic = Diagnostic::new(Code::E0104, place(again), format!("{what} is defined twice"));
        let module = Some(file.module(db).clone());
        diagnostic.related.push(Label { span: place(first), message: "first here".to_owned(), module });
        diagnostic
    };
    twice.iter().map(report).collect()
}

/// Returns the span of a name that an item binds, relative to the item.
fn binding_span(db: &dyn Database, binding: &Binding) -> Span {
    let tree = &tree(db, binding.item).tree;
    let mut places = Vec::new();
    match &tree.item {
        ast::Item::Let(top) => pattern_names(tree, top.pat, &mut |_, span| places.push(span)),
        ast::Item::Type(_) if binding.space == Space::Values => {
            let module = binding.item.file(db).module(db);
            places.extend(constructors(tree, module, &View::new(db)).into_iter().map(|c| c.span));
        }
        _ => {}
    }
    places.get(binding.position).copied().unwrap_or_else(|| name_span(db, binding.item))
}
