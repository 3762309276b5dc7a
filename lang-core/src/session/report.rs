//! What is wrong in a module: the diagnostics of its items, moved to their places in the file,
//! and what only shows when items stand side by side.

use std::collections::{BTreeMap, HashSet};

use salsa::Database;

use super::cycles::{leads_back, prepare};
use super::db::{Item, SourceFile};
use super::queries::{item_diagnostics, items, name_span, split_text, tree};
use super::scope::{ImportRef, ctors, import_of, let_names, pattern_names};
use super::view::View;
use crate::base::{Code, Diagnostic, Label, Name, Span};
use crate::resolve::Names;
use crate::syntax::ast;
use crate::syntax::lexer::{MAX_TEXT, lex};
use crate::syntax::split::ItemKind;

/// Everything wrong in a file, sorted by place.
pub(super) fn diagnostics(db: &dyn Database, file: SourceFile) -> Vec<Diagnostic> {
    if file.text(db).len() > MAX_TEXT {
        return lex(file.text(db)).diagnostics;
    }
    let mut all = Vec::new();
    let mut done = HashSet::new();
    for (item, start) in placed(db, file) {
        prepare(db, item, &mut done);
        let own = item_diagnostics(db, item).into_iter().chain(import(db, item));
        all.extend(own.map(|d| d.shift(start)));
    }
    all.extend(twice(db, file));
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
            false => diagnostic.help(format!(
                "it is no library module; a file beside this one is imported by `import \"./{}.iv\"`",
                import.module
            )),
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
fn twice(db: &dyn Database, file: SourceFile) -> Vec<Diagnostic> {
    let mut report = Vec::new();
    let mut values: BTreeMap<Name, Span> = BTreeMap::new();
    let mut types: BTreeMap<Name, Span> = BTreeMap::new();
    let mut rules: BTreeMap<(bool, Name), Span> = BTreeMap::new();
    let mut modules: BTreeMap<Name, Span> = BTreeMap::new();
    let constructors: HashSet<&Name> =
        items(db, file).iter().filter(|i| i.kind(db) == ItemKind::Type).flat_map(|i| ctors(db, *i)).collect();
    let mut again = |first: Option<Span>, here: Span, what: String| {
        if let Some(first) = first {
            let module = Some(file.module(db).clone());
            let mut diagnostic = Diagnostic::new(Code::E0104, here, format!("{what} is defined twice"));
            diagnostic.related.push(Label { span: first, message: "first here".to_owned(), module });
            report.push(diagnostic);
        }
    };
    for (item, start) in placed(db, file) {
        let here = name_span(db, item).shift(start);
        let name = item.name(db);
        match item.kind(db) {
            _ if name.is_empty() => {}
            ItemKind::Def => again(first(&mut values, name, here), here, format!("`{name}`")),
            ItemKind::Type => {
                again(first(&mut types, name, here), here, format!("the type `{name}`"));
                for (ctor, span) in ctor_places(db, item) {
                    let here = span.shift(start);
                    again(first(&mut values, &ctor, here), here, format!("`{ctor}`"));
                }
            }
            ItemKind::Let => {
                if let_names(db, item).is_empty() {
                    continue;
                }
                let tree = &tree(db, item).tree;
                let ast::Item::Let(top) = &tree.item else { continue };
                pattern_names(tree, top.pat, &mut |name, span| {
                    if !constructors.contains(name) && !name.is_empty() {
                        let here = span.shift(start);
                        again(first(&mut values, name, here), here, format!("`{name}`"));
                    }
                });
            }
            ItemKind::Import => {
                if let Some(import) = import_at(db, item) {
                    let alias = &import.alias;
                    again(first(&mut modules, alias, here), here, format!("the module name `{alias}`"));
                }
            }
            kind @ (ItemKind::Derivative | ItemKind::Adjoint) => {
                let adjoint = kind == ItemKind::Adjoint;
                let which = if adjoint { "adjoint" } else { "derivative" };
                again(rules.insert((adjoint, name.clone()), here), here, format!("the {which} of `{name}`"));
            }
            ItemKind::Do | ItemKind::Junk => {}
        }
    }
    report
}

/// Where the name was defined before; notes the place if nowhere.
fn first(seen: &mut BTreeMap<Name, Span>, name: &Name, here: Span) -> Option<Span> {
    let before = seen.get(name).copied();
    if before.is_none() {
        seen.insert(name.clone(), here);
    }
    before
}

fn ctor_places(db: &dyn Database, item: Item<'_>) -> Vec<(Name, Span)> {
    let found =
        crate::resolve::type_items::constructors(&tree(db, item).tree, item.file(db).module(db), &View::new(db));
    found.into_iter().map(|c| (c.name, c.span)).collect()
}
