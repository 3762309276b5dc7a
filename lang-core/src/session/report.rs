//! What is wrong in a module: the diagnostics of its items, moved to their places in the file,
//! and what only shows when items stand side by side.

use std::collections::HashMap;

use salsa::Database;

use super::cycles::{leads_back, prepared};
use super::db::{Item, SourceFile};
use super::library::{LIBRARY, PRELUDE};
use super::queries::{item_diagnostics, items, name_span, split_text, tree};
use super::scope::{Binding, ImportRef, Space, import_of, pattern_names, twice};
use super::view::View;
use crate::base::{Code, Diagnostic, Label, Span};
use crate::resolve::Names;
use crate::resolve::type_items::constructors;
use crate::syntax::ast;
use crate::syntax::lexer::{MAX_TEXT, lex};
use crate::syntax::split::ItemKind;

/// Everything wrong in a file, sorted by place.
pub(super) fn diagnostics(db: &dyn Database, file: SourceFile) -> Vec<Diagnostic> {
    if file.text(db).len() > MAX_TEXT {
        return lex(file.text(db)).diagnostics;
    }
    prepared(db, file);
    let mut all = Vec::new();
    for (item, start) in placed(db, file) {
        let own = item_diagnostics(db, item).into_iter().chain(import(db, item));
        all.extend(own.map(|d| d.shift(start)));
    }
    all.extend(defined_twice(db, file));
    all.sort_by_key(|d| (d.span.start, d.span.end, d.code));
    all
}

/// The items of a file with the offsets of their texts.
pub(super) fn placed(db: &dyn Database, file: SourceFile) -> impl Iterator<Item = (Item<'_>, u32)> {
    items(db, file).iter().copied().zip(split_text(db, file).iter().map(|t| t.start))
}

/// What is wrong with an import: no such module, or a circle.
fn import(db: &dyn Database, item: Item<'_>) -> Option<Diagnostic> {
    let import = import_at(db, item)?;
    let view = View::new(db);
    if !view.has_module(&import.module) {
        let diagnostic = Diagnostic::new(Code::E0102, import.span, format!("there is no module `{}`", import.module));
        return Some(match import.is_file {
            true => diagnostic.help("the path is relative to the file that imports"),
            false => {
                let library: Vec<String> =
                    LIBRARY.iter().filter(|m| m.0 != PRELUDE).map(|m| format!("`{}`", m.0)).collect();
                diagnostic.help(format!(
                    "the library has {}; a file beside this one is imported by `import \"./{}.iv\"`",
                    library.join(", "),
                    import.module
                ))
            }
        });
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

/// The import that an item is; asks only where it may be one.
pub(super) fn import_at<'db>(db: &'db dyn Database, item: Item<'db>) -> Option<&'db ImportRef<'db>> {
    (item.kind(db) == ItemKind::Import).then(|| import_of(db, item).as_ref()).flatten()
}

/// Names that a module defines twice.
fn defined_twice(db: &dyn Database, file: SourceFile) -> Vec<Diagnostic> {
    let twice = twice(db, file);
    if twice.is_empty() {
        return Vec::new();
    }
    let starts: HashMap<Item<'_>, u32> = placed(db, file).collect();
    let place = |binding: &Binding<'_>| {
        let start = starts.get(&binding.item).copied().unwrap_or_default();
        binding_span(db, binding).shift(start)
    };
    let report = |(first, again): &(Binding<'_>, Binding<'_>)| {
        let what = again.space.describe(&again.name);
        let mut diagnostic = Diagnostic::new(Code::E0104, place(again), format!("{what} is defined twice"));
        let module = Some(file.module(db).clone());
        diagnostic.related.push(Label { span: place(first), message: "first here".to_owned(), module });
        diagnostic
    };
    twice.iter().map(report).collect()
}

/// The place of a name that an item binds, relative to the item.
fn binding_span(db: &dyn Database, binding: &Binding<'_>) -> Span {
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
