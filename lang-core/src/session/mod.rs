//! The session: text goes in by edits, and everything known about it comes out, recomputed only
//! as far as the edits reach. It alone knows Salsa. It does no input or output: the host gives it
//! the text of the files that it asks for.
//!
//! Layers: the text of a module is split into items (`text`, `inputs`); each item has a tree, resolved
//! names (`queries`), a signature or type and a typed body, each a query; the names of a module (`scope`) are
//! asked for one by one. Places in the file are kept apart from all of these, so what stands
//! before an item does not matter to it. Passes see a [`View`].

mod db;
mod inputs;
mod library;
mod path;
mod text;

mod passes;

mod cycles;
mod forms;
mod queries;
mod report;
mod scope;
mod view;

mod alone;
mod around;
mod blame;
mod costs;
mod evaluations;
mod inside;
mod kept;
mod leaves;
mod operators;
mod program;
mod within;

#[cfg(test)]
mod tests;

use kept::edited;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};

use salsa::Database;
use salsa::plumbing::{AsId, FromId};

use crate::base::{Diagnostic, GlobalName, ModuleName, Name, Span};
use crate::cost::{Bound, Cost};
use crate::ir::core::Callee;
use crate::ir::ssa::Ssa;
use crate::pipeline::{InCore, InStages, Traced};
use crate::resolve::{self, Resolved};
use crate::syntax::parser::Parsed;
use crate::syntax::split::ItemKind;
use crate::types::check::Checked;
use crate::types::env::Env;
use crate::types::info::TypeInfo;
use crate::types::ty::{Signature, Type};
pub use blame::Blame;
pub use costs::Term;
use db::{Db, Item, Log, Symbol, Workspace};
pub use evaluations::Evaluations;
use forms::Asked;
use inputs::{Inputs, Module};
pub use library::{INTERACTIVE, LIBRARY, PRELUDE};
pub use operators::Derivative;
pub use path::normalize as module_name;
pub use program::Running;
pub use report::{Found, called, with_ending};
pub use view::View;

/// All modules, and everything known about them.
pub struct Session {
    /// The texts, and what the queries know them by. A snapshot lets go of them before it lets an edit go on.
    inputs: Inputs,
    db: Db,
    /// What ran, for tests.
    log: Option<Log>,
}

/// An item and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemRef {
    /// The module.
    pub module: ModuleName,
    /// What it is.
    pub kind: ItemKind,
    /// Its name as the split found it.
    pub name: Name,
    /// How many items of this kind and name stand before it.
    pub ordinal: u32,
    /// Its identity among all items, for messages and [`Session::checked`].
    pub global: GlobalName,
    /// Where its text begins in the file. Spans in its trees are relative to this.
    pub start: u32,
    /// Its text.
    pub text: Arc<str>,
}

impl ItemRef {
    /// The place of its text in the file.
    #[must_use]
    pub fn span(&self) -> Span {
        let length = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        Span::new(self.start, self.start.saturating_add(length))
    }
}

/// An import whose module is missing: a file that the host may load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingImport {
    /// The module that is wanted, in normal spelling.
    pub module: ModuleName,
    /// The module that imports it.
    pub importer: ModuleName,
    /// The path as written, absolute in the importer.
    pub span: Span,
}

/// An expression that stands in no file, checked in the scope of a module.
pub struct Evaluable {
    /// Its tree.
    pub parsed: Parsed,
    /// Its names.
    pub resolved: Resolved,
    /// Its typed body.
    pub checked: Option<Checked>,
    /// Everything wrong with it, relative to its text, sorted by place.
    pub diagnostics: Vec<Diagnostic>,
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// A session with the library in it.
    #[must_use]
    pub fn new() -> Self {
        Self::with(None)
    }

    /// A session that notes which queries run, for tests; see [`Session::ran_queries`].
    #[must_use]
    pub fn logging() -> Self {
        Self::with(Some(Log::default()))
    }

    fn with(log: Option<Log>) -> Self {
        let mut db = Db::new(log.clone());
        // Questions about the library are not asked again until another module comes.
        let inputs = Inputs::of_library(&mut db, library::modules());
        Self { db, log, inputs }
    }

    // ---- text ----

    /// Sets the whole text of a module, which is made if there is none of that name.
    ///
    /// While a [`Snapshot`] is alive on another thread, its queries are cancelled first; one that
    /// is alive on this thread would make this wait for ever.
    pub fn set_text(&mut self, module: &str, text: &str) {
        let module = path::normalize(module);
        if self.module(&module).is_none_or(|m| **m.text.text() != *text) {
            edited(|| self.inputs.set(&mut self.db, &module, |old| old.set(text)));
        }
    }

    /// Replaces a range of bytes in a module's text. A range that leaves the text or cuts a
    /// character is made smaller until it fits; an unknown module is left alone.
    pub fn edit(&mut self, module: &str, range: Range<usize>, text: &str) {
        let module = path::normalize(module);
        if self.module(&module).is_some() {
            edited(|| self.inputs.set(&mut self.db, &module, |old| old.edit(range, text)));
        }
    }

    /// Takes a module away.
    pub fn remove(&mut self, module: &str) {
        edited(|| self.inputs.remove(&mut self.db, &path::normalize(module)));
    }

    /// A module by its name in normal spelling.
    fn module(&self, name: &str) -> Option<&Module> {
        self.inputs.module(&self.db, name)
    }

    fn named(&self, module: &str) -> Option<&Module> {
        self.module(&path::normalize(module))
    }

    /// The text of a module.
    #[must_use]
    pub fn text(&self, module: &str) -> Option<Arc<str>> {
        self.named(module).map(|m| Arc::clone(m.text.text()))
    }

    /// Another number after each edit by which a name may mean something else in an item whose text it leaves alone. While
    /// it is the same, [`Self::resolved`] is the same of every item with the same text.
    #[must_use]
    pub fn shape(&self) -> u64 {
        self.inputs.shape()
    }

    /// The names of all modules, those of the library too.
    #[must_use]
    pub fn modules(&self) -> Vec<ModuleName> {
        Workspace::get(&self.db).files(&self.db).keys().cloned().collect()
    }

    /// The quoted imports whose module is missing, by importer and place.
    #[must_use]
    pub fn missing_imports(&self) -> Vec<MissingImport> {
        let files = Workspace::get(&self.db).files(&self.db);
        files.keys().flat_map(|importer| self.missing_imports_of(importer)).collect()
    }

    /// The modules that one module imports and nobody has set.
    #[must_use]
    pub fn missing_imports_of(&self, importer: &str) -> Vec<MissingImport> {
        let files = Workspace::get(&self.db).files(&self.db);
        let Some(module) = self.named(importer) else { return Vec::new() };
        let mut missing = Vec::new();
        for (item, start) in module.placed(&self.db) {
            if let Some(import) = report::import_at(&self.db, item)
                && import.is_file
                && !files.contains_key(&import.module)
            {
                let (module, span) = (import.module.clone(), import.span.shift(start));
                missing.push(MissingImport { module, importer: importer.into(), span });
            }
        }
        missing
    }

    // ---- answers ----

    /// Everything wrong in a module, absolute and sorted by place.
    #[must_use]
    pub fn diagnostics(&self, module: &str) -> Vec<Diagnostic> {
        self.found(module).diagnostics()
    }

    /// Everything wrong in one item by itself, absolute and sorted by place.
    #[must_use]
    pub fn item_diagnostics(&self, item: &ItemRef) -> Vec<Diagnostic> {
        self.item_of(item).map(|found| report::of_item(&self.db, found, item.start)).unwrap_or_default()
    }

    /// What is wrong in a module, by items.
    #[must_use]
    pub fn found(&self, module: &str) -> Found {
        self.named(module).map(|module| report::found(&self.db, module)).unwrap_or_default()
    }

    /// What can be told at once after an edit: what is wrong in the items that were edited, and what was found before in
    /// all others, whether the edit reached them or not. `None` if many were edited.
    #[must_use]
    pub fn found_soon(&self, module: &str, before: &Found) -> Option<Found> {
        report::soon(&self.db, self.named(module)?, before)
    }

    /// The items of a module, in order.
    #[must_use]
    pub fn items(&self, module: &str) -> Vec<ItemRef> {
        self.items_in(module, Span::new(0, u32::MAX)).collect()
    }

    /// Those of its items whose texts meet a span, in order; others are not looked at.
    pub fn items_in<'s>(&'s self, module: &str, span: Span) -> impl Iterator<Item = ItemRef> + use<'s> {
        let placed = move |module: &'s Module| {
            let first = module.text.before(span.start).unwrap_or_default();
            let met = module.placed_from(&self.db, first).skip_while(move |i| end(&self.db, *i) < span.start);
            met.take_while(move |(_, start)| *start <= span.end)
        };
        self.named(module).into_iter().flat_map(placed).map(|(item, start)| self.item_ref(item, start))
    }

    /// The item whose text holds the byte `at`, its end included.
    #[must_use]
    pub fn item_at(&self, module: &str, at: u32) -> Option<ItemRef> {
        self.items_in(module, Span::new(at, at)).last()
    }

    /// The item that defines a value (or is a rule or `do`) of that name.
    #[must_use]
    pub fn item(&self, name: &GlobalName) -> Option<ItemRef> {
        self.item_ref_of(self.find(name)?)
    }

    /// The `type` item of that name.
    #[must_use]
    pub fn type_item(&self, name: &GlobalName) -> Option<ItemRef> {
        self.item_ref_of(View::new(&self.db).type_item(name)?)
    }

    fn item_ref_of(&self, wanted: Item) -> Option<ItemRef> {
        let db = &self.db;
        let module = self.module(wanted.file(db).module(db))?;
        let key = (wanted.kind(db), wanted.name(db).clone(), wanted.ordinal(db));
        let piece = module.text.pieces().get(*module.positions.get(&key)?)?;
        Some(self.item_ref(wanted, piece.start))
    }

    fn item_ref(&self, item: Item, start: u32) -> ItemRef {
        let db = &self.db;
        ItemRef {
            module: item.file(db).module(db).clone(),
            kind: item.kind(db),
            name: item.name(db).clone(),
            ordinal: item.ordinal(db),
            global: global_name(db, item),
            start,
            text: Arc::clone(item.text(db)),
        }
    }

    /// The tree of an item and its syntax errors.
    #[must_use]
    pub fn tree(&self, item: &ItemRef) -> Option<Arc<Parsed>> {
        Some(Arc::clone(queries::tree(&self.db, self.item_of(item)?)))
    }

    /// The meaning of the names in an item.
    #[must_use]
    pub fn resolved(&self, item: &ItemRef) -> Option<Arc<Resolved>> {
        Some(Arc::clone(queries::resolved(&self.db, self.item_of(item)?)))
    }

    /// The typed body of an item.
    #[must_use]
    pub fn checked_item(&self, item: &ItemRef) -> Option<Arc<Checked>> {
        self.check(self.item_of(item)?)
    }

    /// The typed body of the item of that name.
    #[must_use]
    pub fn checked(&self, name: &GlobalName) -> Option<Arc<Checked>> {
        self.check(self.find(name)?)
    }

    fn check(&self, item: Item) -> Option<Arc<Checked>> {
        cycles::ready(&self.db, item);
        queries::checked(&self.db, item).clone()
    }

    /// The signature of a definition.
    #[must_use]
    pub fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>> {
        cycles::ready(&self.db, self.find(name)?);
        View::new(&self.db).signature(name)
    }

    /// The core form of a definition.
    ///
    /// # Errors
    /// What in it has none.
    pub fn core(&self, callee: &Arc<Callee>) -> InCore {
        forms::prepare(&self.db, callee);
        forms::core(&self.db, Asked::new(&self.db, Arc::clone(callee))).clone()
    }

    /// A definition in every form of the compiler's middle.
    ///
    /// # Errors
    /// What in it, or in what it calls, has no core form.
    pub fn stages(&self, callee: &Arc<Callee>) -> InStages {
        forms::prepare(&self.db, callee);
        forms::stages(&self.db, Asked::new(&self.db, Arc::clone(callee))).value()
    }

    /// A definition, or a derivative of one, in Tensor SSA; `None` where it has no such form.
    #[must_use]
    pub fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        forms::prepare(&self.db, callee);
        forms::ssa(&self.db, Asked::new(&self.db, Arc::clone(callee))).value()
    }

    /// What it costs, as formulas.
    #[must_use]
    pub fn cost(&self, callee: &Arc<Callee>) -> Option<Arc<Cost>> {
        forms::prepare_cost(&self.db, callee);
        forms::cost(&self.db, Asked::new(&self.db, Arc::clone(callee))).value()
    }

    /// How much dearer a derivative is than its function, with its certificate.
    #[must_use]
    pub fn bound(&self, derived: &Arc<Callee>) -> Option<Arc<Bound>> {
        forms::prepare_cost(&self.db, derived);
        forms::bound(&self.db, Asked::new(&self.db, Arc::clone(derived))).value()
    }

    /// The same, and where its statements come from.
    #[must_use]
    pub fn traced(&self, callee: &Arc<Callee>) -> Option<Traced> {
        forms::prepare(&self.db, callee);
        forms::traced(&self.db, Asked::new(&self.db, Arc::clone(callee))).value()
    }

    /// What a type is.
    #[must_use]
    pub fn type_info(&self, name: &GlobalName) -> Option<Arc<TypeInfo>> {
        let view = View::new(&self.db);
        cycles::ready(&self.db, view.type_item(name)?);
        view.type_info(name)
    }

    /// The type of a variable of a top-level `let`.
    #[must_use]
    pub fn let_type(&self, name: &GlobalName) -> Option<Type> {
        cycles::ready(&self.db, self.find(name)?);
        View::new(&self.db).let_type(name)
    }

    /// Reads an expression in the scope of a module. Nothing is kept of it.
    #[must_use]
    pub fn expression(&self, module: &str, text: &str) -> Evaluable {
        let module = path::normalize(module);
        let view = View::of_input(&self.db);
        let parsed = passes::parse_expr(text);
        let resolved = resolve::resolve(&parsed.tree, &module, &view);
        let used: HashSet<Item> = resolved.uses.iter().flat_map(|name| view.targets(name)).collect();
        for item in used {
            cycles::ready(&self.db, item);
        }
        let checked = passes::check(&parsed.tree, &resolved, &module, &view);
        let mut diagnostics = parsed.diagnostics.clone();
        diagnostics.extend(resolved.diagnostics.iter().cloned());
        diagnostics.extend(checked.iter().flat_map(|c| c.diagnostics.iter().cloned()));
        diagnostics.sort_by_key(|d| (d.span.start, d.span.end, d.code));
        Evaluable { parsed, resolved, checked, diagnostics }
    }

    /// The world as the passes see it.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View::new(&self.db)
    }

    fn item_of(&self, item: &ItemRef) -> Option<Item> {
        let module = self.module(&item.module)?;
        let at = module.positions.get(&(item.kind, item.name.clone(), item.ordinal))?;
        module.file.items(&self.db).get(*at).copied()
    }

    fn find(&self, name: &GlobalName) -> Option<Item> {
        let view = View::new(&self.db);
        let value = view.value_item(name).filter(|v| !matches!(v, scope::Value::Ctor(..)));
        value.map(scope::Value::item).or_else(|| self.unbound(name))
    }

    /// The item of that name which binds no value of it: a rule, an import, a `do`, a definition that another one hides.
    fn unbound(&self, name: &GlobalName) -> Option<Item> {
        let db = &self.db;
        let module = self.module(&name.module)?;
        let of_key = |kind, name: &str, ordinal| {
            let at = module.positions.get(&(kind, Name::from(name), ordinal))?;
            module.file.items(db).get(*at).copied()
        };
        let Some((word, of)) = name.name.split_once(' ') else {
            let junk = of_key(ItemKind::Junk, "", 0).filter(|item| global_name(db, *item) == *name);
            return junk.or_else(|| of_key(ItemKind::Def, &name.name, 0));
        };
        match word {
            "derivative" => of_key(ItemKind::Derivative, of, 0),
            "adjoint" => of_key(ItemKind::Adjoint, of, 0),
            "import" => of_key(ItemKind::Import, of, 0),
            "do" => of_key(ItemKind::Do, "", of.parse::<u32>().ok()?.checked_sub(1)?),
            // One that binds no name is known by how many of the same pattern stand before it.
            _ => {
                let mut lets = module.file.items(db).iter().copied().filter(|item| item.kind(db) == ItemKind::Let);
                lets.find(|item| global_name(db, *item) == *name)
            }
        }
    }

    // ---- threads and tests ----

    /// A handle for reading on another thread. An edit cancels what it computes.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(Self { db: self.db.clone(), log: self.log.clone(), inputs: self.inputs.clone() })
    }

    /// Asks what may be stopped while it is answered: by an edit, if this is a snapshot, and by what is given to `begun`,
    /// which has no effect any more when this returns. `None` if it was.
    pub fn ask<G, T>(&self, begun: impl FnOnce(Stop) -> G, question: impl FnOnce(&Self) -> T) -> Option<T> {
        let asked = || {
            salsa::attach(&self.db, || {
                let _until = begun(Stop(self.db.cancellation_token()));
                question(self)
            })
        };
        salsa::Cancelled::catch(AssertUnwindSafe(asked)).ok()
    }

    /// Ends the question that [`Session::ask`] asks here if it is to be stopped: for who waits for something else than
    /// a query.
    pub fn unless_stopped(&self) {
        self.db.unwind_if_revision_cancelled();
    }

    /// The queries that ran since this was last asked, as `query(item)`, in order. Only a
    /// session made by [`Session::logging`] knows.
    #[must_use]
    pub fn ran_queries(&self) -> Vec<String> {
        let db = &self.db;
        let mut names = HashMap::new();
        for (module, file) in Workspace::get(db).files(db) {
            names.insert(file.as_id(), module.to_string());
            for item in file.items(db) {
                names.insert(item.as_id(), global_name(db, *item).to_string());
            }
        }
        let ran = match &self.log {
            Some(log) => std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner)),
            None => Vec::new(),
        };
        let show = |(query, key): (_, salsa::Id)| {
            let query = db.ingredient_debug_name(query);
            let name = match &*query {
                "core" | "stages" | "outside" | "traced" | "ssa" => Asked::from_id(key).callee(db).to_string(),
                _ => names.get(&key).cloned().unwrap_or_default(),
            };
            format!("{query}({name})")
        };
        ran.into_iter().map(show).collect()
    }
}

/// Where the text of an item ends that begins there.
fn end(db: &dyn Database, (item, start): (Item, u32)) -> u32 {
    start.saturating_add(u32::try_from(item.text(db).len()).unwrap_or(u32::MAX))
}

/// The name of an item among all items. A `let` goes by the first name it binds.
fn global_name(db: &dyn Database, item: Item) -> GlobalName {
    let name = item.name(db);
    let ordinal = item.ordinal(db).saturating_add(1);
    let name = match item.kind(db) {
        ItemKind::Def | ItemKind::Type => name.clone(),
        ItemKind::Derivative => format!("derivative {name}").into(),
        ItemKind::Adjoint => format!("adjoint {name}").into(),
        ItemKind::Import => format!("import {name}").into(),
        ItemKind::Do => format!("do {ordinal}").into(),
        ItemKind::Junk => "text".into(),
        ItemKind::Let => {
            let names = scope::let_names(db, item);
            let value = |name: &Name| scope::value_named(db, item.file(db), Symbol::new(db, name.clone()));
            let bound = |name: &&Name| value(name) == Some(scope::Value::Let(item));
            names.iter().find(bound).cloned().unwrap_or_else(|| format!("let {ordinal}").into())
        }
    };
    GlobalName { module: item.file(db).module(db).clone(), name }
}

/// A handle for reading on another thread; all that a [`Session`] answers, it answers too.
pub struct Snapshot(Session);

impl Snapshot {
    /// Asks; `None` if an edit came in between.
    pub fn ask<T>(&self, question: impl FnOnce(&Session) -> T) -> Option<T> {
        self.0.ask(|_| {}, question)
    }
}

/// Stops what a session is asked, from any thread.
#[derive(Clone, Debug)]
pub struct Stop(salsa::CancellationToken);

impl Stop {
    /// The answer is not wanted any more.
    pub fn stop(&self) {
        self.0.cancel();
    }
}
