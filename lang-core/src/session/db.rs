//! The database: inputs that the host sets, identities that survive edits, and a log of what
//! was computed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use salsa::plumbing::IngredientIndex;
use salsa::{DatabaseKeyIndex, EventKind, Id, Storage};

use super::{cycles, queries, scope};
use crate::base::{ModuleName, Name};
use crate::syntax::split::ItemKind;

/// The text of a module.
#[salsa::input(debug)]
pub(super) struct SourceFile {
    /// Its name, in normal spelling.
    pub(super) module: ModuleName,
    /// Its text.
    pub(super) text: Arc<str>,
}

/// All modules there are.
#[salsa::input(singleton)]
pub(super) struct Workspace {
    /// By name.
    pub(super) files: BTreeMap<ModuleName, SourceFile>,
}

/// A name as a key of queries.
#[salsa::interned(debug)]
pub(super) struct Symbol<'db> {
    /// The name.
    #[returns(ref)]
    pub(super) text: Name,
}

/// An item. What it is and its name are its identity: an edit inside one, or before it, leaves
/// all identities as they are.
#[salsa::tracked(debug)]
pub(super) struct Item<'db> {
    /// The file it stands in.
    #[returns(copy)]
    pub(super) file: SourceFile,
    /// What it is.
    #[returns(copy)]
    pub(super) kind: ItemKind,
    /// Its name, as the split found it.
    #[returns(ref)]
    pub(super) name: Name,
    /// How many items of this kind and name stand before it.
    #[returns(copy)]
    pub(super) ordinal: u32,
    /// Its text.
    #[tracked]
    #[returns(ref)]
    pub(super) text: Arc<str>,
}

/// The queries that ran, while someone listens.
#[derive(Default)]
pub(super) struct Log {
    on: AtomicBool,
    ran: Mutex<Vec<(IngredientIndex, Id)>>,
}

impl Log {
    /// Begins to listen; what ran before is forgotten.
    pub(super) fn listen(&self) {
        self.take();
        self.on.store(true, Ordering::Relaxed);
    }

    /// What ran since last asked.
    pub(super) fn take(&self) -> Vec<(IngredientIndex, Id)> {
        std::mem::take(&mut *self.ran.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, key: DatabaseKeyIndex) {
        if self.on.load(Ordering::Relaxed) {
            let entry = (key.ingredient_index(), key.key_index());
            self.ran.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        }
    }
}

/// The database.
#[salsa::db]
#[derive(Clone)]
pub(super) struct Db {
    storage: Storage<Self>,
    pub(super) log: Arc<Log>,
}

#[salsa::db]
impl salsa::Database for Db {}

impl Db {
    pub(super) fn new() -> Self {
        let log = Arc::new(Log::default());
        let listener = Arc::clone(&log);
        let storage = Storage::builder()
            .event_callback(Box::new(move |event| {
                if let EventKind::WillExecute { database_key } = event.kind {
                    listener.note(database_key);
                }
            }))
            .ingredient::<SourceFile>()
            .ingredient::<Workspace>()
            .ingredient::<Symbol<'_>>()
            .ingredient::<Item<'_>>()
            .ingredient::<queries::split_text>()
            .ingredient::<queries::items>()
            .ingredient::<queries::tree>()
            .ingredient::<queries::resolved>()
            .ingredient::<queries::signature>()
            .ingredient::<queries::builtin_signatures>()
            .ingredient::<queries::type_head>()
            .ingredient::<queries::type_info>()
            .ingredient::<queries::let_types>()
            .ingredient::<queries::checked>()
            .ingredient::<scope::file_named>()
            .ingredient::<scope::import_of>()
            .ingredient::<scope::imports>()
            .ingredient::<scope::import_named>()
            .ingredient::<scope::types>()
            .ingredient::<scope::type_named>()
            .ingredient::<scope::ctors>()
            .ingredient::<scope::let_names>()
            .ingredient::<scope::param_uses>()
            .ingredient::<scope::size_params>()
            .ingredient::<scope::scope>()
            .ingredient::<scope::value_named>()
            .ingredient::<cycles::needs>()
            .ingredient::<cycles::cyclic>()
            .ingredient::<cycles::is_cyclic>()
            .build();
        Self { storage, log }
    }
}
