//! **Salsa database.** Declares the inputs that the host sets, the identities that survive edits,
//! and, for tests, a log of the queries that ran.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use salsa::plumbing::IngredientIndex;
use salsa::{Event, EventKind, Id, Storage};

use super::{cycles, evaluation_costs, middle_queries, operators, queries, scope, subexpression, without_primal};
use lang_base::{ModuleName, Name};
use lang_syntax::split::ItemKind;

/// A module.
#[salsa::input(debug)]
pub(super) struct SourceFile {
    /// Its name, in normal spelling.
    pub(super) module: ModuleName,
    /// Its items, in order.
    pub(super) items: Vec<ItemInput>,
}

/// The set of all modules.
#[salsa::input(singleton)]
pub(super) struct Workspace {
    /// The modules by name.
    pub(super) files: BTreeMap<ModuleName, SourceFile>,
}

/// A name as a query key. Names are never collected: they are few and small, and queries need not
/// revalidate them.
#[salsa::interned(debug, revisions = usize::MAX)]
pub(super) struct NameKey<'db> {
    /// The name.
    #[returns(ref)]
    pub(super) text: Name,
}

/// An item. Its kind, name and ordinal identify it, so an edit inside or before it preserves all
/// identities.
#[salsa::input(debug)]
pub(super) struct ItemInput {
    /// The file that contains it.
    #[returns(copy)]
    pub(super) file: SourceFile,
    /// Its kind.
    #[returns(copy)]
    pub(super) kind: ItemKind,
    /// Its name, as the splitter found it.
    #[returns(ref)]
    pub(super) name: Name,
    /// The number of items of this kind and name before it.
    #[returns(copy)]
    pub(super) ordinal: u32,
    /// Its text, without the comments before and after it that are not documentation.
    #[returns(ref)]
    pub(super) text: Arc<str>,
}

/// The queries that ran.
pub(super) type QueryLog = Arc<Mutex<Vec<(IngredientIndex, Id)>>>;

/// The database.
#[salsa::db]
#[derive(Clone)]
pub(super) struct Db {
    storage: Storage<Self>,
}

#[salsa::db]
impl salsa::Database for Db {}

impl Db {
    /// Creates an empty database that logs queries in `log`. Listening costs time at every query,
    /// so only tests do it.
    pub(super) fn new(log: Option<QueryLog>) -> Self {
        let listener = log.map(|log| -> Box<dyn Fn(Event) + Send + Sync> {
            Box::new(move |event| {
                if let EventKind::WillExecute { database_key: key } = event.kind {
                    let entry = (key.ingredient_index(), key.key_index());
                    log.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
                }
            })
        });
        let mut storage = Storage::builder();
        if let Some(listener) = listener {
            storage = storage.event_callback(listener);
        }
        let storage = storage
            .ingredient::<SourceFile>()
            .ingredient::<Workspace>()
            .ingredient::<NameKey<'_>>()
            .ingredient::<ItemInput>()
            .ingredient::<queries::tree>()
            .ingredient::<queries::resolved>()
            .ingredient::<queries::signature_names>()
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
            .ingredient::<scope::types_by_name>()
            .ingredient::<scope::type_named>()
            .ingredient::<scope::ctors>()
            .ingredient::<scope::let_names>()
            .ingredient::<scope::unnamed_extents>()
            .ingredient::<scope::unparsed_names>()
            .ingredient::<scope::param_uses>()
            .ingredient::<scope::size_params>()
            .ingredient::<scope::values_by_name>()
            .ingredient::<scope::value_named>()
            .ingredient::<scope::value_candidates>()
            .ingredient::<scope::type_candidates>()
            .ingredient::<scope::library_spellings>()
            .ingredient::<scope::rules>()
            .ingredient::<scope::duplicate_bindings>()
            .ingredient::<cycles::item_dependencies>()
            .ingredient::<cycles::dependency_order>()
            .ingredient::<cycles::cyclic>()
            .ingredient::<cycles::is_cyclic>()
            .ingredient::<cycles::types_prepared>()
            .ingredient::<cycles::item_types_ready>()
            .ingredient::<middle_queries::CalleeKey<'_>>()
            .ingredient::<middle_queries::core>()
            .ingredient::<middle_queries::called_definitions>()
            .ingredient::<middle_queries::stages>()
            .ingredient::<middle_queries::missing_form_reason>()
            .ingredient::<middle_queries::traced>()
            .ingredient::<middle_queries::ssa>()
            .ingredient::<middle_queries::cost>()
            .ingredient::<middle_queries::bound>()
            .ingredient::<without_primal::without_primal>()
            .ingredient::<without_primal::cost_without_primal>()
            .ingredient::<without_primal::bound_without_primal>()
            .ingredient::<subexpression::SubexpressionKey<'_>>()
            .ingredient::<subexpression::RealPartKey<'_>>()
            .ingredient::<subexpression::subexpression_cost>()
            .ingredient::<evaluation_costs::evaluation_costs>()
            .ingredient::<subexpression::partials>()
            .ingredient::<subexpression::cotangent>()
            .ingredient::<operators::derivative>()
            .ingredient::<operators::ParameterKey<'_>>()
            .ingredient::<operators::gradient>()
            .build();
        Self { storage }
    }
}
