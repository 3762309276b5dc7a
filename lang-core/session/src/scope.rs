//! **Names of a module.** Each question about one name is a query of its own. A new definition thus
//! invalidates only the queries that depend on its name. The resolver and the checker read these
//! queries through [`ProgramView`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use salsa::Database;

use super::db::{ItemInput, NameKey, SourceFile, Workspace};
use super::path;
use super::queries::tree;
use super::view::{MOST_NAMES, ProgramView};
use lang_base::{GlobalName, ModuleName, Name, Span};
use lang_middle::norm::RuleKind;
use lang_resolve::name_env;
use lang_resolve::suggest::NameCandidate;
use lang_resolve::type_items::{self, ParamUses};
use lang_syntax::ast::{self, Pat, PatId, Tree};
use lang_syntax::split::{ItemKind, file_stem};

/// The meaning of a value name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, salsa::SalsaValue)]
pub(super) enum ValueBinding {
    /// A definition.
    Def(ItemInput),
    /// A variable that this `let` binds.
    Let(ItemInput),
    /// A constructor: its type and its position there.
    Ctor(ItemInput, u32),
}

impl ValueBinding {
    /// Returns the item that defines it.
    pub(super) fn item(self) -> ItemInput {
        match self {
            Self::Def(item) | Self::Let(item) | Self::Ctor(item, _) => item,
        }
    }
}

/// An import as written.
#[derive(Clone, PartialEq, Eq, Debug, salsa::SalsaValue)]
pub(super) struct ImportRef {
    /// The item.
    pub(super) item: ItemInput,
    /// The name of the module here.
    pub(super) alias: Name,
    /// The module to which it refers.
    pub(super) module: ModuleName,
    /// Whether it is quoted: a file, not a library module.
    pub(super) is_file: bool,
    /// The span of the path, relative to the item.
    pub(super) span: Span,
}

/// Returns the file of a module.
#[salsa::tracked(returns(copy))]
pub(super) fn file_named<'db>(db: &'db dyn Database, module: NameKey<'db>) -> Option<SourceFile> {
    Workspace::try_get(db)?.files(db).get(module.text(db)).copied()
}

/// Returns the import that an item is.
#[salsa::tracked]
pub(super) fn import_of(db: &dyn Database, item: ItemInput) -> Option<ImportRef> {
    let ast::Item::Import(import) = &tree(db, item).tree.item else { return None };
    if import.path.name.is_empty() {
        return None;
    }
    let module = match import.is_file {
        true => path::relative(item.file(db).module(db), &import.path.name),
        false => import.path.name.clone(),
    };
    let alias = match &import.alias {
        Some(alias) => alias.name.clone(),
        None => file_stem(&import.path.name).into(),
    };
    Some(ImportRef { item, alias, module, is_file: import.is_file, span: import.path.span })
}

/// Returns the imports of a file, in order.
#[salsa::tracked]
pub(super) fn imports(db: &dyn Database, file: SourceFile) -> Vec<ImportRef> {
    let imports = file.items(db).iter().filter(|item| item.kind(db) == ItemKind::Import);
    imports.filter_map(|item| import_of(db, *item).clone()).collect()
}

/// Returns the module imported under a name.
#[salsa::tracked(returns(clone))]
pub(super) fn import_named<'db>(db: &'db dyn Database, file: SourceFile, alias: NameKey<'db>) -> Option<ModuleName> {
    imports(db, file).iter().find(|i| i.alias == *alias.text(db)).map(|i| i.module.clone())
}

/// Returns the types of a file by name. The first of several with one name counts.
#[salsa::tracked]
pub(super) fn types_by_name(db: &dyn Database, file: SourceFile) -> BTreeMap<Box<str>, ItemInput> {
    let mut types = BTreeMap::new();
    for item in file.items(db).iter().filter(|i| i.kind(db) == ItemKind::Type) {
        if !item.name(db).is_empty() {
            types.entry(item.name(db).as_str().into()).or_insert(*item);
        }
    }
    types
}

/// Returns the type of that name.
#[salsa::tracked(returns(copy))]
pub(super) fn type_named<'db>(db: &'db dyn Database, file: SourceFile, name: NameKey<'db>) -> Option<ItemInput> {
    types_by_name(db, file).get(name.text(db).as_str()).copied()
}

/// Returns the constructors of a `type` item, in order.
#[salsa::tracked]
pub(super) fn ctors(db: &dyn Database, item: ItemInput) -> Vec<Name> {
    let module = item.file(db).module(db);
    let ctors = type_items::constructors(&tree(db, item).tree, module, &ProgramView::new(db));
    ctors.into_iter().map(|c| c.name).collect()
}

/// Returns the names in the pattern of a `let` item, which may include constructors without
/// arguments.
#[salsa::tracked]
pub(super) fn let_names(db: &dyn Database, item: ItemInput) -> Vec<Name> {
    let tree = &tree(db, item).tree;
    let ast::Item::Let(top) = &tree.item else { return Vec::new() };
    let mut names = Vec::new();
    pattern_names(tree, top.pat, &mut |name, _| names.push(name.clone()));
    names
}

/// Calls `found` with every name that a pattern may bind, and its span.
pub(super) fn pattern_names(tree: &Tree, pat: PatId, found: &mut dyn FnMut(&Name, Span)) {
    let node = &tree.pats[pat];
    match &node.kind {
        Pat::Error | Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
        Pat::Name(name) => found(name, node.span),
        Pat::Ctor { args: items, .. } | Pat::Tuple(items) => {
            items.iter().for_each(|p| pattern_names(tree, *p, found));
        }
        Pat::Record(fields) => {
            for (name, pat) in fields {
                match pat {
                    Some(pat) => pattern_names(tree, *pat, found),
                    None => found(&name.name, name.span),
                }
            }
        }
        Pat::Sized(sizes, pat) => {
            sizes.iter().for_each(|s| found(&s.name, s.span));
            pattern_names(tree, *pat, found);
        }
    }
}

/// Returns the extents `?n` in the types of the `let` items of a file, each with the help text for
/// it.
#[salsa::tracked]
pub(super) fn unnamed_extents(db: &dyn Database, file: SourceFile) -> BTreeMap<Box<str>, String> {
    let mut extents = BTreeMap::new();
    for item in file.items(db).iter().filter(|i| i.kind(db) == ItemKind::Let) {
        for (name, help) in lang_resolve::unnamed_extents::unnamed_extents(&tree(db, *item).tree) {
            extents.entry(name.as_str().into()).or_insert(help);
        }
    }
    extents
}

/// Returns the names in the unparsed parts of a file's items.
#[salsa::tracked]
pub(super) fn unparsed_names(db: &dyn Database, file: SourceFile) -> BTreeSet<Box<str>> {
    let names = file.items(db).iter().flat_map(|item| &tree(db, *item).tree.skipped_names);
    names.map(|name| name.as_str().into()).collect()
}

/// Returns the uses of its parameters in a `type` item.
#[salsa::tracked]
pub(super) fn param_uses(db: &dyn Database, item: ItemInput) -> Vec<ParamUses> {
    type_items::param_uses(&tree(db, item).tree, item.file(db).module(db), &ProgramView::new(db))
}

/// Returns for each parameter of a `type` item whether it is a size.
#[salsa::tracked]
pub(super) fn size_params(db: &dyn Database, item: ItemInput) -> Vec<bool> {
    let view = ProgramView::new(db);
    let own = GlobalName { module: item.file(db).module(db).clone(), name: item.name(db).clone() };
    type_items::size_params(&own, |ty| view.type_item(ty).map(|item| param_uses(db, item)))
}

/// Returns the values of a file by name. The first of several with one name counts.
#[salsa::tracked]
pub(super) fn values_by_name(db: &dyn Database, file: SourceFile) -> BTreeMap<Box<str>, ValueBinding> {
    let mut values = BTreeMap::new();
    let all = file.items(db);
    let known: BTreeSet<&Name> =
        all.iter().filter(|i| i.kind(db) == ItemKind::Type).flat_map(|i| ctors(db, *i)).collect();
    let mut add = |name: &Name, value| {
        if !name.is_empty() {
            values.entry(name.as_str().into()).or_insert(value);
        }
    };
    for item in all {
        match item.kind(db) {
            ItemKind::Def => add(item.name(db), ValueBinding::Def(*item)),
            ItemKind::Type => {
                for (position, ctor) in (0..).zip(ctors(db, *item)) {
                    add(ctor, ValueBinding::Ctor(*item, position));
                }
            }
            ItemKind::Let => {
                for name in let_names(db, *item).iter().filter(|n| !known.contains(n)) {
                    add(name, ValueBinding::Let(*item));
                }
            }
            ItemKind::Import | ItemKind::Do | ItemKind::Derivative | ItemKind::Adjoint | ItemKind::StrayText => {}
        }
    }
    values
}

/// Returns the values of a file as candidates for the suggestion of a name.
#[salsa::tracked]
pub(super) fn value_candidates(db: &dyn Database, file: SourceFile) -> Vec<NameCandidate> {
    values_by_name(db, file).keys().take(MOST_NAMES).map(|name| NameCandidate::new(name)).collect()
}

/// Returns the types of a file as candidates for the suggestion of a name.
#[salsa::tracked]
pub(super) fn type_candidates(db: &dyn Database, file: SourceFile) -> Vec<NameCandidate> {
    types_by_name(db, file).keys().take(MOST_NAMES).map(|name| NameCandidate::new(name)).collect()
}

/// Returns the values of the library, by their names without case and underscores.
#[salsa::tracked]
pub(super) fn library_spellings(db: &dyn Database) -> BTreeMap<String, Vec<(ModuleName, Name)>> {
    name_env::index_by_spelling(&ProgramView::new(db))
}

/// Returns the value of that name.
#[salsa::tracked(returns(copy))]
pub(super) fn value_named<'db>(db: &'db dyn Database, file: SourceFile, name: NameKey<'db>) -> Option<ValueBinding> {
    values_by_name(db, file).get(name.text(db).as_str()).copied()
}

/// Returns the rules of a module.
#[salsa::tracked]
pub(super) fn rules(db: &dyn Database, file: SourceFile) -> Vec<ItemInput> {
    let is_rule = |item: &ItemInput| matches!(item.kind(db), ItemKind::Derivative | ItemKind::Adjoint);
    file.items(db).iter().copied().filter(is_rule).collect()
}

/// Returns the rule of a definition.
pub(super) fn rule_named(db: &dyn Database, file: SourceFile, kind: RuleKind, name: &str) -> Option<ItemInput> {
    let kind = match kind {
        RuleKind::Derivative => ItemKind::Derivative,
        RuleKind::Adjoint => ItemKind::Adjoint,
    };
    rules(db, file).iter().copied().find(|item| item.kind(db) == kind && item.name(db) == name)
}

/// The namespaces of a module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Namespace {
    /// Definitions, variables, constructors.
    Values,
    /// Types.
    Types,
    /// Imported modules.
    Modules,
    /// `derivative` rules, by their definition.
    Derivatives,
    /// `adjoint` rules, by their definition.
    Adjoints,
}

impl Namespace {
    /// Returns a name of this namespace as the subject of a sentence.
    pub(super) fn describe(self, name: &str) -> String {
        match self {
            Self::Values => format!("`{name}`"),
            Self::Types => format!("the type `{name}`"),
            Self::Modules => format!("the module name `{name}`"),
            Self::Derivatives => format!("the derivative of `{name}`"),
            Self::Adjoints => format!("the adjoint of `{name}`"),
        }
    }
}

/// A name that an item binds.
#[derive(Clone, PartialEq, Eq, Debug, salsa::SalsaValue)]
pub(super) struct NameBinding {
    /// The namespace.
    pub(super) namespace: Namespace,
    /// The name.
    pub(super) name: Name,
    /// The item.
    pub(super) item: ItemInput,
    /// The position among the names that the item binds in this namespace.
    pub(super) position: usize,
}

/// Returns the names that several items of a file bind: pairs of the first binding and a later one.
#[salsa::tracked]
pub(super) fn duplicate_bindings(db: &dyn Database, file: SourceFile) -> Vec<(NameBinding, NameBinding)> {
    let mut first: HashMap<(Namespace, &Name), (ItemInput, usize)> = HashMap::new();
    let mut twice = Vec::new();
    let all = file.items(db);
    let constructors: HashSet<&Name> =
        all.iter().filter(|i| i.kind(db) == ItemKind::Type).flat_map(|i| ctors(db, *i)).collect();
    for item in all {
        let mut bind = |space, name, position| {
            if <Name>::is_empty(name) {
                return;
            }
            let (item_before, position_before) = *first.entry((space, name)).or_insert((*item, position));
            // The parser reports a name that one item binds twice.
            if item_before != *item {
                let at = |item, position| NameBinding { namespace: space, name: name.clone(), item, position };
                twice.push((at(item_before, position_before), at(*item, position)));
            }
        };
        let name = item.name(db);
        match item.kind(db) {
            ItemKind::Def => bind(Namespace::Values, name, 0),
            ItemKind::Type => {
                bind(Namespace::Types, name, 0);
                for (position, ctor) in ctors(db, *item).iter().enumerate() {
                    bind(Namespace::Values, ctor, position);
                }
            }
            ItemKind::Let => {
                for (position, name) in let_names(db, *item).iter().enumerate() {
                    if !constructors.contains(name) {
                        bind(Namespace::Values, name, position);
                    }
                }
            }
            ItemKind::Import => {
                if let Some(import) = import_of(db, *item) {
                    bind(Namespace::Modules, &import.alias, 0);
                }
            }
            ItemKind::Derivative => bind(Namespace::Derivatives, name, 0),
            ItemKind::Adjoint => bind(Namespace::Adjoints, name, 0),
            ItemKind::Do | ItemKind::StrayText => {}
        }
    }
    twice
}
