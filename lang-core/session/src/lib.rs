//! **Incremental session.** Edits go in; trees, names, types, diagnostics, forms and costs come
//! out, recomputed only as far as the edits reach. Only this crate has Salsa queries. It does no
//! input or output: the host supplies the text of the files that [`Session::missing_imports`]
//! reports.
//!
//! Layers: the text of a module is split into items (`text`, `inputs`). Each item has a tree,
//! resolved names, a signature or type and a typed body, each a query (`queries`). The names of a
//! module are queried one by one (`scope`). Positions in the file are not part of these inputs, so
//! text before an item does not invalidate it. The compiler's middle is queried by definition
//! (`middle_queries`). The passes see a [`ProgramView`].

#![forbid(unsafe_code)]

mod db;
mod inputs;
mod library;
mod path;
mod text;

mod passes;

mod cycles;
mod middle_queries;
mod queries;
mod report;
mod scope;
mod view;

mod blame;
mod costs;
mod deferred_drop;
mod enclosing;
mod evaluation_costs;
mod operators;
mod overlay;
mod program;
mod real_parts;
mod subexpression;
mod without_primal;

#[cfg(test)]
mod tests;

use deferred_drop::with_deferred_drops;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};

use salsa::Database;
use salsa::plumbing::{AsId, FromId};

pub use blame::Blame;
pub use costs::CostTerm;
use db::{Db, ItemInput, NameKey, QueryLog, Workspace};
pub use evaluation_costs::EvaluationCosts;
use inputs::{Inputs, ModuleInput};
use lang_base::{Diagnostic, GlobalName, ModuleName, Name, Span};
use lang_ir::core::FunctionKey;
use lang_ir::ssa::SsaFunction;
use lang_middle::cost::{CostFormulas, CostRatio};
use lang_middle::pipeline::{CoreResult, SsaWithOrigins, StagesResult};
use lang_resolve::{self, Resolved};
use lang_syntax::parser::ParsedItem;
use lang_syntax::split::ItemKind;
use lang_types::check::CheckedItem;
use lang_types::env::TypeEnv;
use lang_types::ty::{Signature, Type};
use lang_types::type_info::TypeInfo;
pub use library::{INTERACTIVE, LIBRARY, PRELUDE};
use middle_queries::CalleeKey;
pub use operators::ReadableDerivative;
pub use path::normalize as module_name;
pub use program::SessionProgram;
pub use report::{ModuleDiagnostics, missing_extension_help, with_file_extension};
pub use view::ProgramView;

/// All modules, and the memoised results about them.
pub struct Session {
    /// The texts, and the inputs that hold them. The field precedes `db`, because a snapshot must
    /// drop its texts before it lets an edit proceed.
    inputs: Inputs,
    db: Db,
    /// The queries that ran, for tests.
    log: Option<QueryLog>,
}

/// An item and its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemRef {
    /// The module.
    pub module: ModuleName,
    /// Its kind.
    pub kind: ItemKind,
    /// Its name, as the splitter found it.
    pub name: Name,
    /// The number of items of this kind and name before it.
    pub ordinal: u32,
    /// Its name among all items, for messages and [`Session::checked`].
    pub global: GlobalName,
    /// The position of its text in the file. Spans in its trees are relative to it.
    pub start: u32,
    /// Its text.
    pub text: Arc<str>,
}

impl ItemRef {
    /// Returns the span of its text in the file.
    #[must_use]
    pub fn span(&self) -> Span {
        let length = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        Span::new(self.start, self.start.saturating_add(length))
    }
}

/// An import whose module is missing: a file that the host may load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingImport {
    /// The missing module, in normal spelling.
    pub module: ModuleName,
    /// The module that imports it.
    pub importer: ModuleName,
    /// The path as written, as a span in the importer's text.
    pub span: Span,
}

/// An expression outside all files, checked in the scope of a module.
pub struct CheckedExpression {
    /// Its tree.
    pub parsed: ParsedItem,
    /// Its resolved names.
    pub resolved: Resolved,
    /// Its typed body.
    pub checked: Option<CheckedItem>,
    /// Its diagnostics, relative to its text and sorted by position.
    pub diagnostics: Vec<Diagnostic>,
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// Creates a session that contains the library.
    #[must_use]
    pub fn new() -> Self {
        Self::with_optional_log(None)
    }

    /// Creates a session that logs which queries run, for tests; see [`Session::ran_queries`].
    #[must_use]
    pub fn with_query_log() -> Self {
        Self::with_optional_log(Some(QueryLog::default()))
    }

    fn with_optional_log(log: Option<QueryLog>) -> Self {
        let mut db = Db::new(log.clone());
        // The inputs of the library have high durability, so its queries are not revalidated until
        // a module is added.
        let inputs = Inputs::with_library(&mut db, library::modules());
        Self { db, log, inputs }
    }

    // ---- text ----

    /// Sets the whole text of a module, and creates the module if it does not exist.
    ///
    /// If a [`Snapshot`] is alive on another thread, this cancels its queries first. A snapshot
    /// that is alive on this thread makes this wait for ever.
    pub fn set_text(&mut self, module: &str, text: &str) {
        let module = path::normalize(module);
        if self.module(&module).is_none_or(|m| **m.text.text() != *text) {
            with_deferred_drops(|| self.inputs.set(&mut self.db, &module, |old| old.set(text)));
        }
    }

    /// Replaces a range of bytes in a module's text. The range shrinks until it lies in the text
    /// and on character boundaries. An unknown module is ignored.
    pub fn edit(&mut self, module: &str, range: Range<usize>, text: &str) {
        let module = path::normalize(module);
        if self.module(&module).is_some() {
            with_deferred_drops(|| self.inputs.set(&mut self.db, &module, |old| old.edit(range, text)));
        }
    }

    /// Removes a module.
    pub fn remove(&mut self, module: &str) {
        with_deferred_drops(|| self.inputs.remove(&mut self.db, &path::normalize(module)));
    }

    /// Returns a module by its name in normal spelling.
    fn module(&self, name: &str) -> Option<&ModuleInput> {
        self.inputs.module(&self.db, name)
    }

    fn module_by_any_spelling(&self, module: &str) -> Option<&ModuleInput> {
        self.module(&path::normalize(module))
    }

    /// Returns the text of a module.
    #[must_use]
    pub fn text(&self, module: &str) -> Option<Arc<str>> {
        self.module_by_any_spelling(module).map(|m| Arc::clone(m.text.text()))
    }

    /// Returns a number that changes with each edit after which a name may have another meaning in
    /// an item that the edit did not touch. While it is the same, [`Self::resolved`] is the same
    /// for every item with the same text.
    #[must_use]
    pub fn naming_revision(&self) -> u64 {
        self.inputs.naming_revision()
    }

    /// Returns the names of all modules, those of the library included.
    #[must_use]
    pub fn modules(&self) -> Vec<ModuleName> {
        Workspace::get(&self.db).files(&self.db).keys().cloned().collect()
    }

    /// Returns the quoted imports whose module is missing, by importer and position.
    #[must_use]
    pub fn missing_imports(&self) -> Vec<MissingImport> {
        let files = Workspace::get(&self.db).files(&self.db);
        files.keys().flat_map(|importer| self.missing_imports_of(importer)).collect()
    }

    /// Returns the quoted imports of one module whose module is missing.
    #[must_use]
    pub fn missing_imports_of(&self, importer: &str) -> Vec<MissingImport> {
        let files = Workspace::get(&self.db).files(&self.db);
        let Some(module) = self.module_by_any_spelling(importer) else { return Vec::new() };
        let mut missing = Vec::new();
        for (item, start) in module.items_with_starts(&self.db) {
            if let Some(import) = report::import_of_item(&self.db, item)
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

    /// Returns all diagnostics of a module, with absolute spans and sorted by position.
    #[must_use]
    pub fn diagnostics(&self, module: &str) -> Vec<Diagnostic> {
        self.module_diagnostics(module).diagnostics()
    }

    /// Returns the diagnostics of one item by itself, with absolute spans and sorted by position.
    #[must_use]
    pub fn item_diagnostics(&self, item: &ItemRef) -> Vec<Diagnostic> {
        self.item_of_ref(item)
            .map(|found| report::absolute_item_diagnostics(&self.db, found, item.start))
            .unwrap_or_default()
    }

    /// Returns the diagnostics of a module, by item.
    #[must_use]
    pub fn module_diagnostics(&self, module: &str) -> ModuleDiagnostics {
        self.module_by_any_spelling(module)
            .map(|module| report::module_diagnostics(&self.db, module))
            .unwrap_or_default()
    }

    /// Returns the diagnostics that are available at once after an edit. Edited items are checked;
    /// all others keep their diagnostics of `before`, even if the edit affects them. `None` if many
    /// items were edited.
    #[must_use]
    pub fn diagnostics_after_edit(&self, module: &str, before: &ModuleDiagnostics) -> Option<ModuleDiagnostics> {
        report::diagnostics_after_edit(&self.db, self.module_by_any_spelling(module)?, before)
    }

    /// Returns the items of a module, in order.
    #[must_use]
    pub fn items(&self, module: &str) -> Vec<ItemRef> {
        self.items_in(module, Span::new(0, u32::MAX)).collect()
    }

    /// Returns the items of a module whose texts meet a span, in order, without visiting the
    /// others.
    pub fn items_in<'s>(&'s self, module: &str, span: Span) -> impl Iterator<Item = ItemRef> + use<'s> {
        let placed = move |module: &'s ModuleInput| {
            let first = module.text.last_piece_before(span.start).unwrap_or_default();
            let met =
                module.items_with_starts_from(&self.db, first).skip_while(move |i| item_end(&self.db, *i) < span.start);
            met.take_while(move |(_, start)| *start <= span.end)
        };
        self.module_by_any_spelling(module).into_iter().flat_map(placed).map(|(item, start)| self.item_ref(item, start))
    }

    /// Returns the item whose text contains the byte `at`, its end included.
    #[must_use]
    pub fn item_at(&self, module: &str, at: u32) -> Option<ItemRef> {
        self.items_in(module, Span::new(at, at)).last()
    }

    /// Returns the item that defines the value of that name, or the rule or `do` of that name.
    #[must_use]
    pub fn item(&self, name: &GlobalName) -> Option<ItemRef> {
        self.item_ref_of(self.find_item(name)?)
    }

    /// Returns the `type` item of that name.
    #[must_use]
    pub fn type_item(&self, name: &GlobalName) -> Option<ItemRef> {
        self.item_ref_of(ProgramView::new(&self.db).type_item(name)?)
    }

    fn item_ref_of(&self, wanted: ItemInput) -> Option<ItemRef> {
        let db = &self.db;
        let module = self.module(wanted.file(db).module(db))?;
        let key = (wanted.kind(db), wanted.name(db).clone(), wanted.ordinal(db));
        let piece = module.text.pieces().get(*module.positions.get(&key)?)?;
        Some(self.item_ref(wanted, piece.start))
    }

    fn item_ref(&self, item: ItemInput, start: u32) -> ItemRef {
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

    /// Returns the tree of an item, with its syntax errors.
    #[must_use]
    pub fn tree(&self, item: &ItemRef) -> Option<Arc<ParsedItem>> {
        Some(Arc::clone(queries::tree(&self.db, self.item_of_ref(item)?)))
    }

    /// Returns the resolved names of an item.
    #[must_use]
    pub fn resolved(&self, item: &ItemRef) -> Option<Arc<Resolved>> {
        Some(Arc::clone(queries::resolved(&self.db, self.item_of_ref(item)?)))
    }

    /// Returns the typed body of an item.
    #[must_use]
    pub fn checked_item(&self, item: &ItemRef) -> Option<Arc<CheckedItem>> {
        self.check_item(self.item_of_ref(item)?)
    }

    /// Returns the typed body of the item of that name.
    #[must_use]
    pub fn checked(&self, name: &GlobalName) -> Option<Arc<CheckedItem>> {
        self.check_item(self.find_item(name)?)
    }

    fn check_item(&self, item: ItemInput) -> Option<Arc<CheckedItem>> {
        cycles::item_types_ready(&self.db, item);
        queries::checked(&self.db, item).clone()
    }

    /// Returns the signature of a definition.
    #[must_use]
    pub fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>> {
        cycles::item_types_ready(&self.db, self.find_item(name)?);
        ProgramView::new(&self.db).signature(name)
    }

    /// Returns the core form of a definition.
    ///
    /// # Errors
    /// The part of it that has no core form.
    pub fn core(&self, callee: &Arc<FunctionKey>) -> CoreResult {
        middle_queries::prepare(&self.db, callee);
        middle_queries::core(&self.db, CalleeKey::new(&self.db, Arc::clone(callee))).clone()
    }

    /// Returns a definition in every form of the compiler's middle.
    ///
    /// # Errors
    /// The part of it, or of a callee, that has no core form.
    pub fn stages(&self, callee: &Arc<FunctionKey>) -> StagesResult {
        middle_queries::prepare(&self.db, callee);
        middle_queries::stages(&self.db, CalleeKey::new(&self.db, Arc::clone(callee))).value()
    }

    /// Returns a definition, or a derivative of one, in Tensor SSA; `None` if it has no such form.
    #[must_use]
    pub fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        middle_queries::prepare(&self.db, callee);
        middle_queries::ssa(&self.db, CalleeKey::new(&self.db, Arc::clone(callee))).value()
    }

    /// Returns its cost, as formulas.
    #[must_use]
    pub fn cost(&self, callee: &Arc<FunctionKey>) -> Option<Arc<CostFormulas>> {
        middle_queries::prepare_cost(&self.db, callee);
        middle_queries::cost(&self.db, CalleeKey::new(&self.db, Arc::clone(callee))).value()
    }

    /// Returns the bound of a derivative's cost by that of its function, with the certificate.
    #[must_use]
    pub fn bound(&self, derived: &Arc<FunctionKey>) -> Option<Arc<CostRatio>> {
        middle_queries::prepare_cost(&self.db, derived);
        middle_queries::bound(&self.db, CalleeKey::new(&self.db, Arc::clone(derived))).value()
    }

    /// Returns its Tensor SSA, with the origins of the statements.
    #[must_use]
    pub fn traced(&self, callee: &Arc<FunctionKey>) -> Option<SsaWithOrigins> {
        middle_queries::prepare(&self.db, callee);
        middle_queries::traced(&self.db, CalleeKey::new(&self.db, Arc::clone(callee))).value()
    }

    /// Returns the definition of a type.
    #[must_use]
    pub fn type_info(&self, name: &GlobalName) -> Option<Arc<TypeInfo>> {
        let view = ProgramView::new(&self.db);
        cycles::item_types_ready(&self.db, view.type_item(name)?);
        view.type_info(name)
    }

    /// Returns the type of a variable of a top-level `let`.
    #[must_use]
    pub fn let_type(&self, name: &GlobalName) -> Option<Type> {
        cycles::item_types_ready(&self.db, self.find_item(name)?);
        ProgramView::new(&self.db).let_type(name)
    }

    /// Parses, resolves and checks an expression in the scope of a module. The result is not
    /// memoised.
    #[must_use]
    pub fn check_expression(&self, module: &str, text: &str) -> CheckedExpression {
        let module = path::normalize(module);
        let view = ProgramView::for_interactive_input(&self.db);
        let parsed = passes::parse_expr(text);
        let resolved = lang_resolve::resolve(&parsed.tree, &module, &view);
        let used: HashSet<ItemInput> = resolved.referenced_items.iter().flat_map(|name| view.targets(name)).collect();
        for item in used {
            cycles::item_types_ready(&self.db, item);
        }
        let checked = passes::check(&parsed.tree, &resolved, &module, &view);
        let mut diagnostics = parsed.diagnostics.clone();
        diagnostics.extend(resolved.diagnostics.iter().cloned());
        diagnostics.extend(checked.iter().flat_map(|c| c.diagnostics.iter().cloned()));
        diagnostics.sort_by_key(|d| (d.span.start, d.span.end, d.code));
        CheckedExpression { parsed, resolved, checked, diagnostics }
    }

    /// Returns the environment that the passes see.
    #[must_use]
    pub fn view(&self) -> ProgramView<'_> {
        ProgramView::new(&self.db)
    }

    fn item_of_ref(&self, item: &ItemRef) -> Option<ItemInput> {
        let module = self.module(&item.module)?;
        let at = module.positions.get(&(item.kind, item.name.clone(), item.ordinal))?;
        module.file.items(&self.db).get(*at).copied()
    }

    fn find_item(&self, name: &GlobalName) -> Option<ItemInput> {
        let view = ProgramView::new(&self.db);
        let value = view.value_item(name).filter(|v| !matches!(v, scope::ValueBinding::Ctor(..)));
        value.map(scope::ValueBinding::item).or_else(|| self.find_item_without_value(name))
    }

    /// Returns an item of that name that binds no value of it: a rule, an import, a `do`, or a
    /// definition that another one hides.
    fn find_item_without_value(&self, name: &GlobalName) -> Option<ItemInput> {
        let db = &self.db;
        let module = self.module(&name.module)?;
        let of_key = |kind, name: &str, ordinal| {
            let at = module.positions.get(&(kind, Name::from(name), ordinal))?;
            module.file.items(db).get(*at).copied()
        };
        let Some((word, of)) = name.name.split_once(' ') else {
            let junk = of_key(ItemKind::StrayText, "", 0).filter(|item| global_name(db, *item) == *name);
            return junk.or_else(|| of_key(ItemKind::Def, &name.name, 0));
        };
        match word {
            "derivative" => of_key(ItemKind::Derivative, of, 0),
            "adjoint" => of_key(ItemKind::Adjoint, of, 0),
            "import" => of_key(ItemKind::Import, of, 0),
            "do" => of_key(ItemKind::Do, "", of.parse::<u32>().ok()?.checked_sub(1)?),
            // A `let` that binds no name is identified by the number of `let`s with the same
            // pattern before it.
            _ => {
                let mut lets = module.file.items(db).iter().copied().filter(|item| item.kind(db) == ItemKind::Let);
                lets.find(|item| global_name(db, *item) == *name)
            }
        }
    }

    // ---- threads and tests ----

    /// Returns a handle for queries on another thread. An edit cancels its queries.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(Self { db: self.db.clone(), log: self.log.clone(), inputs: self.inputs.clone() })
    }

    /// Answers a question that may be stopped: by an edit if this is a snapshot, and by the
    /// [`CancellationHandle`] that `begun` receives. After this returns, that `CancellationHandle`
    /// has no effect. Returns `None` if the question was stopped.
    pub fn ask<G, T>(
        &self,
        begun: impl FnOnce(CancellationHandle) -> G,
        question: impl FnOnce(&Self) -> T,
    ) -> Option<T> {
        let attached_question = || {
            salsa::attach(&self.db, || {
                let _until = begun(CancellationHandle(self.db.cancellation_token()));
                question(self)
            })
        };
        salsa::Cancelled::catch(AssertUnwindSafe(attached_question)).ok()
    }

    /// Unwinds to [`Session::ask`] if the question was stopped. A question that waits for anything
    /// but a query must call this.
    pub fn unwind_if_stopped(&self) {
        self.db.unwind_if_revision_cancelled();
    }

    /// Returns the queries that ran since the last call, as `query(item)`, in order. Empty unless
    /// the session was created by [`Session::with_query_log`].
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
                "core" | "stages" | "outside" | "traced" | "ssa" => CalleeKey::from_id(key).callee(db).to_string(),
                _ => names.get(&key).cloned().unwrap_or_default(),
            };
            format!("{query}({name})")
        };
        ran.into_iter().map(show).collect()
    }
}

/// Returns the end of the text of an item that begins there.
fn item_end(db: &dyn Database, (item, start): (ItemInput, u32)) -> u32 {
    start.saturating_add(u32::try_from(item.text(db).len()).unwrap_or(u32::MAX))
}

/// Returns the name of an item among all items. A `let` has the first name that it binds.
fn global_name(db: &dyn Database, item: ItemInput) -> GlobalName {
    let name = item.name(db);
    let ordinal = item.ordinal(db).saturating_add(1);
    let name = match item.kind(db) {
        ItemKind::Def | ItemKind::Type => name.clone(),
        ItemKind::Derivative => format!("derivative {name}").into(),
        ItemKind::Adjoint => format!("adjoint {name}").into(),
        ItemKind::Import => format!("import {name}").into(),
        ItemKind::Do => format!("do {ordinal}").into(),
        ItemKind::StrayText => "text".into(),
        ItemKind::Let => {
            let names = scope::let_names(db, item);
            let value = |name: &Name| scope::value_named(db, item.file(db), NameKey::new(db, name.clone()));
            let bound = |name: &&Name| value(name) == Some(scope::ValueBinding::Let(item));
            names.iter().find(bound).cloned().unwrap_or_else(|| format!("let {ordinal}").into())
        }
    };
    GlobalName { module: item.file(db).module(db).clone(), name }
}

/// A handle for queries on another thread; it answers every question that a [`Session`] answers.
pub struct Snapshot(Session);

impl Snapshot {
    /// Answers a question; `None` if an edit cancelled it.
    pub fn ask<T>(&self, question: impl FnOnce(&Session) -> T) -> Option<T> {
        self.0.ask(|_| {}, question)
    }
}

/// A handle that stops a question to a session, from any thread.
#[derive(Clone, Debug)]
pub struct CancellationHandle(salsa::CancellationToken);

impl CancellationHandle {
    /// Stops the question.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}
