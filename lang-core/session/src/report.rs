//! **Diagnostics of a module.** Collects the diagnostics of its items, and adds those that concern
//! several items or modules: duplicate names and wrong imports. [`super::Session`] calls it.
//!
//! Spans from the queries are relative to the item. Here *absolute* spans are positions in the
//! file.

use std::collections::HashMap;
use std::sync::Arc;

use salsa::Database;

use super::cycles::{import_path_exists, item_types_ready, types_prepared};
use super::db::ItemInput;
use super::inputs::ModuleInput;
use super::library::{LIBRARY, PRELUDE};
use super::path::relative;
use super::queries::{item_diagnostics, name_span, tree};
use super::scope::{ImportRef, NameBinding, Namespace, duplicate_bindings, import_of, pattern_names};
use super::view::ProgramView;
use lang_base::{Code, Diagnostic, Fix, RelatedLabel, Span};
use lang_resolve::NameEnv;
use lang_resolve::suggest::did_you_mean;
use lang_resolve::type_items::constructors;
use lang_syntax::ast;
use lang_syntax::lexer::lex;
use lang_syntax::split::ItemKind;

/// The diagnostics of a module by item, so that an edit can reuse those of other items.
#[derive(Clone, Default, Debug)]
pub struct ModuleDiagnostics {
    items: Vec<ItemDiagnostics>,
    /// The diagnostics that concern several items, with absolute spans.
    cross_item: Vec<Diagnostic>,
}

/// The diagnostics of an item, with spans relative to its text.
#[derive(Clone, Debug)]
struct ItemDiagnostics {
    item: ItemInput,
    /// The position of its text in the file.
    start: u32,
    text: Arc<str>,
    diagnostics: Vec<Diagnostic>,
}

impl ModuleDiagnostics {
    /// Returns all diagnostics, with absolute spans and sorted by position.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let placed = self.items.iter().flat_map(|i| i.diagnostics.iter().map(|d| d.clone().shift(i.start)));
        sort_by_position(placed.chain(self.cross_item.iter().cloned()).collect())
    }

    /// Returns the number of items that were checked.
    #[must_use]
    pub fn items(&self) -> usize {
        self.items.len()
    }
}

/// The largest number of edited items that [`diagnostics_after_edit`] checks.
const MAX_EDITED_ITEMS: usize = 16;

/// Checks the edited items of a module, and keeps the earlier diagnostics of all others, even if
/// the edit affects them. So the result is available at once. `None` if many items were edited.
pub(super) fn diagnostics_after_edit(
    db: &dyn Database,
    module: &ModuleInput,
    before: &ModuleDiagnostics,
) -> Option<ModuleDiagnostics> {
    let known: HashMap<ItemInput, &ItemDiagnostics> = before.items.iter().map(|i| (i.item, i)).collect();
    let mut checked = 0;
    let mut items = Vec::with_capacity(before.items.len());
    for (item, start) in module.items_with_starts(db) {
        let text = item.text(db);
        match known.get(&item).filter(|known| known.text == *text) {
            Some(known) => items.push(ItemDiagnostics { start, ..(*known).clone() }),
            None if checked == MAX_EDITED_ITEMS => return None,
            None => {
                checked += 1;
                item_types_ready(db, item);
                items.push(collect_item_diagnostics(db, item, start));
            }
        }
    }
    Some(ModuleDiagnostics { items, cross_item: duplicate_definitions(db, module) })
}

/// Returns the diagnostics of an item that begins at `start`, with absolute spans.
pub(super) fn absolute_item_diagnostics(db: &dyn Database, item: ItemInput, start: u32) -> Vec<Diagnostic> {
    item_types_ready(db, item);
    sort_by_position(
        collect_item_diagnostics(db, item, start).diagnostics.into_iter().map(|d| d.shift(start)).collect(),
    )
}

fn sort_by_position(mut all: Vec<Diagnostic>) -> Vec<Diagnostic> {
    all.sort_by_key(|d| (d.span.start, d.span.end, d.code));
    all
}

fn collect_item_diagnostics(db: &dyn Database, item: ItemInput, start: u32) -> ItemDiagnostics {
    let diagnostics = item_diagnostics(db, item).into_iter().chain(import_diagnostic(db, item)).collect();
    ItemDiagnostics { item, start, text: Arc::clone(item.text(db)), diagnostics }
}

/// Checks all items of a module, and returns its diagnostics.
pub(super) fn module_diagnostics(db: &dyn Database, module: &ModuleInput) -> ModuleDiagnostics {
    if module.text.is_too_long() {
        return ModuleDiagnostics { items: Vec::new(), cross_item: lex(module.text.text()).diagnostics };
    }
    types_prepared(db, module.file);
    let items = module.items_with_starts(db).map(|(item, start)| collect_item_diagnostics(db, item, start)).collect();
    ModuleDiagnostics { items, cross_item: duplicate_definitions(db, module) }
}

/// Returns the diagnostic of an import: a missing module, or a cycle.
fn import_diagnostic(db: &dyn Database, item: ItemInput) -> Option<Diagnostic> {
    let import = import_of_item(db, item)?;
    let view = ProgramView::new(db);
    if !view.has_module(&import.module) {
        let diagnostic = Diagnostic::new(Code::E0102, import.span, format!("cannot find module `{}`", import.module));
        let written = item.text(db).get(import.span.range()).unwrap_or_default();
        let path = with_file_extension(written.trim_matches('"'));
        let file = relative(item.file(db).module(db), &path);
        let help = match (view.has_module(&file), import.is_file) {
            (true, _) => {
                let path = if import.is_file { path } else { format!("./{path}") };
                return Some(
                    diagnostic
                        .help(missing_extension_help(&file))
                        .fix(Fix::replace(import.span, format!("\"{path}\""))),
                );
            }
            (false, true) => "write the path relative to the importing file".to_owned(),
            (false, false) => {
                let library: Vec<String> =
                    LIBRARY.iter().filter(|m| m.0 != PRELUDE).map(|m| format!("`{}`", m.0)).collect();
                let near = did_you_mean(&import.module, LIBRARY.iter().map(|m| m.0));
                format!(
                    "{}the library has {}; to import a file in the same folder, write `import \"./{}.iv\"`",
                    near.map(|near| format!("{near} ")).unwrap_or_default(),
                    library.join(", "),
                    import.module
                )
            }
        };
        return Some(diagnostic.help(help));
    }
    let own = item.file(db).module(db);
    import_path_exists(db, own, &import.module).then(|| {
        let message = match import.module == *own {
            true => "this module imports itself".to_owned(),
            false => format!("`{}` imports this module, directly or through other modules", import.module),
        };
        Diagnostic::new(Code::E0103, import.span, message).help("move the shared definitions into a third module")
    })
}

/// Returns the path of an import with the file extension `.iv`.
#[must_use]
pub fn with_file_extension(path: &str) -> String {
    format!("{}.iv", path.strip_suffix(".iv").unwrap_or(path))
}

/// Returns the help text for an import whose file exists under the name with the extension.
#[must_use]
pub fn missing_extension_help(file: &str) -> String {
    format!("the file is `{file}`; write the whole file name in quotes")
}

/// Returns the import of an `import` item, and `None` for other items. Runs no query for those.
pub(super) fn import_of_item(db: &dyn Database, item: ItemInput) -> Option<&ImportRef> {
    (item.kind(db) == ItemKind::Import).then(|| import_of(db, item).as_ref()).flatten()
}

/// Returns the diagnostics of names that a module defines twice.
fn duplicate_definitions(db: &dyn Database, module: &ModuleInput) -> Vec<Diagnostic> {
    let file = module.file;
    let duplicates = duplicate_bindings(db, file);
    if duplicates.is_empty() {
        return Vec::new();
    }
    let starts: HashMap<ItemInput, u32> = module.items_with_starts(db).collect();
    let place = |binding: &NameBinding| {
        let start = starts.get(&binding.item).copied().unwrap_or_default();
        binding_span(db, binding).shift(start)
    };
    let report = |(first, second): &(NameBinding, NameBinding)| {
        let description = second.namespace.describe(&second.name);
        let mut diagnostic = Diagnostic::new(Code::E0104, place(second), format!("{description} is defined twice"));
        let module = Some(file.module(db).clone());
        diagnostic.related.push(RelatedLabel { span: place(first), message: "first defined here".to_owned(), module });
        diagnostic
    };
    duplicates.iter().map(report).collect()
}

/// Returns the span of a name that an item binds, relative to the item.
fn binding_span(db: &dyn Database, binding: &NameBinding) -> Span {
    let tree = &tree(db, binding.item).tree;
    let mut places = Vec::new();
    match &tree.item {
        ast::Item::Let(top) => pattern_names(tree, top.pat, &mut |_, span| places.push(span)),
        ast::Item::Type(_) if binding.namespace == Namespace::Values => {
            let module = binding.item.file(db).module(db);
            places.extend(constructors(tree, module, &ProgramView::new(db)).into_iter().map(|c| c.span));
        }
        _ => {}
    }
    places.get(binding.position).copied().unwrap_or_else(|| name_span(db, binding.item))
}
