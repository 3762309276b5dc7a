//! **Dependency cycles.** Finds the items whose type depends on itself, and modules that import
//! each other. The search runs on a plain graph of the types that each item needs, without
//! computing a type. It is iterative, because chains of definitions may be as long as a file.

use std::collections::{BTreeSet, HashMap, HashSet};

use salsa::Database;

use super::db::{ItemInput, SourceFile};
use super::queries::{let_types, resolved, signature, tree, type_head, type_info};
use super::scope::imports;
use super::view::ProgramView;
use lang_base::{GlobalName, ModuleName};
use lang_syntax::ast;
use lang_syntax::split::ItemKind;

/// The items, of any module, to which an item refers.
#[derive(Clone, PartialEq, Debug, Default, salsa::SalsaValue)]
pub(super) struct ItemDependencies {
    /// All items that it mentions.
    pub(super) mentions: Vec<ItemInput>,
    /// The items whose types its own type needs. A definition with a written result needs the items
    /// in its signature; without one, all that it mentions. A `let` needs all, too; a type needs
    /// the aliases and `let`s in it.
    pub(super) type_dependencies: Vec<ItemInput>,
}

/// Returns the items to which an item refers.
#[salsa::tracked]
pub(super) fn item_dependencies(db: &dyn Database, item: ItemInput) -> ItemDependencies {
    let view = ProgramView::new(db);
    let resolved = resolved(db, item);
    let to_items =
        |uses: &BTreeSet<GlobalName>| -> Vec<ItemInput> { uses.iter().flat_map(|name| view.targets(name)).collect() };
    let mentions = to_items(&resolved.referenced_items);
    let needs = match &tree(db, item).tree.item {
        ast::Item::Def(def) if def.result.is_some() => to_items(&resolved.signature_references),
        ast::Item::Def(_) | ast::Item::Let(_) => mentions.clone(),
        ast::Item::Type(_) => {
            let is_sum = |i: &ItemInput| i.kind(db) == ItemKind::Type && type_head(db, *i).is_sum;
            mentions.iter().filter(|i| !is_sum(i)).copied().collect()
        }
        ast::Item::Import(_) | ast::Item::Do(_) | ast::Item::DerivativeRule(_) | ast::Item::Error => Vec::new(),
    };
    ItemDependencies { mentions, type_dependencies: needs }
}

/// An order in which the types of items can be computed.
#[derive(Clone, PartialEq, Debug, Default, salsa::SalsaValue)]
pub(super) struct DependencyOrder {
    /// The items of a file and all that they mention and need, each after those that it needs.
    pub(super) items: Vec<ItemInput>,
    /// The items among them that lie on a cycle of needs.
    pub(super) cyclic: HashSet<ItemInput>,
}

/// Computes the order for a file by Tarjan's algorithm with an explicit stack.
#[salsa::tracked]
pub(super) fn dependency_order(db: &dyn Database, file: SourceFile) -> DependencyOrder {
    let mut order = DependencyOrder::default();
    let mut number: HashMap<ItemInput, usize> = HashMap::new();
    let mut low: HashMap<ItemInput, usize> = HashMap::new();
    let mut open: Vec<ItemInput> = Vec::new();
    let mut is_open: HashSet<ItemInput> = HashSet::new();
    let own = file.items(db).iter();
    // Items of this file are roots by themselves.
    let others =
        own.clone().flat_map(|item| &item_dependencies(db, *item).mentions).filter(|item| item.file(db) != file);
    for root in own.chain(others) {
        // The items on the path, each with the number of its needs that are done.
        let mut way = vec![(*root, 0_usize)];
        while let Some((item, next)) = way.pop() {
            if next == 0 {
                if number.contains_key(&item) {
                    continue;
                }
                low.insert(item, number.len());
                number.insert(item, number.len());
                open.push(item);
                is_open.insert(item);
            }
            let all = &item_dependencies(db, item).type_dependencies;
            if let Some(child) = next.checked_sub(1).and_then(|i| all.get(i)) {
                propagate_low_link(&mut low, item, child);
            }
            let mut next = next;
            let mut descend = None;
            while let Some(child) = all.get(next) {
                next += 1;
                if !number.contains_key(child) {
                    descend = Some(*child);
                    break;
                }
                if is_open.contains(child) {
                    propagate_low_link(&mut low, item, child);
                }
            }
            if let Some(child) = descend {
                way.push((item, next));
                way.push((child, 0));
                continue;
            }
            if low.get(&item) == number.get(&item) {
                let size = open.iter().rev().take_while(|i| **i != item).count() + 1;
                let component = open.split_off(open.len() - size.min(open.len()));
                for member in &component {
                    is_open.remove(member);
                    low.insert(*member, usize::MAX);
                }
                if component.len() > 1 || all.contains(&item) {
                    order.cyclic.extend(&component);
                }
                order.items.extend(component);
            }
        }
    }
    order
}

fn propagate_low_link(low: &mut HashMap<ItemInput, usize>, item: ItemInput, child: &ItemInput) {
    let other = low.get(child).copied().unwrap_or(usize::MAX);
    if let Some(own) = low.get_mut(&item) {
        *own = (*own).min(other);
    }
}

/// Returns the items of a file's order that lie on a cycle of needs. The set is mostly empty, so a
/// change of the order rarely invalidates its users.
#[salsa::tracked]
pub(super) fn cyclic(db: &dyn Database, file: SourceFile) -> HashSet<ItemInput> {
    dependency_order(db, file).cyclic.clone()
}

/// Returns whether the item lies on a cycle of needs.
#[salsa::tracked(returns(copy))]
pub(super) fn is_cyclic(db: &dyn Database, item: ItemInput) -> bool {
    cyclic(db, item.file(db)).contains(&item)
}

/// Returns whether the type of `item` needs that of `needed`.
pub(super) fn type_depends_on(db: &dyn Database, item: ItemInput, needed: ItemInput) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![item];
    while let Some(next) = open.pop() {
        if next == needed {
            return true;
        }
        if seen.insert(next) {
            open.extend(&item_dependencies(db, next).type_dependencies);
        }
    }
    false
}

/// Computes the types that the checks of a file's items need, dependencies first. Nested queries
/// thus stay shallow, however long a chain of definitions is. The same holds for the validation of
/// unchanged results, which takes the same order. Every question from outside about a whole file
/// must call this first.
#[salsa::tracked(returns(copy))]
pub(super) fn types_prepared(db: &dyn Database, file: SourceFile) {
    dependency_order(db, file).items.iter().for_each(|item| compute_item_type(db, *item));
}

/// Computes the type of an item.
fn compute_item_type(db: &dyn Database, item: ItemInput) {
    match item.kind(db) {
        ItemKind::Def => drop(signature(db, item)),
        ItemKind::Type => drop(type_info(db, item)),
        ItemKind::Let => drop(let_types(db, item)),
        ItemKind::Import | ItemKind::Do | ItemKind::Derivative | ItemKind::Adjoint | ItemKind::StrayText => {}
    }
}

/// The most items that are worth visiting one by one.
const MAX_SEPARATE_VISITS: usize = 64;

/// Computes the types that the check of one item needs, in the order of [`types_prepared`]. Every
/// question from outside about an item must call this first.
#[salsa::tracked(returns(copy))]
pub(super) fn item_types_ready(db: &dyn Database, item: ItemInput) {
    let mut seen: HashSet<ItemInput> = HashSet::new();
    let mut found = Vec::new();
    let roots = item_dependencies(db, item).mentions.iter().copied().chain([item]);
    let mut way: Vec<(ItemInput, bool)> = roots.map(|root| (root, false)).collect();
    while let Some((next, after)) = way.pop() {
        if after {
            found.push(next);
        } else if seen.insert(next) {
            if seen.len() > MAX_SEPARATE_VISITS {
                return types_prepared(db, item.file(db));
            }
            way.push((next, true));
            way.extend(item_dependencies(db, next).type_dependencies.iter().map(|need| (*need, false)));
        }
    }
    found.into_iter().for_each(|item| compute_item_type(db, item));
}

/// Returns whether imports lead from `to` to `from`.
pub(super) fn import_path_exists(db: &dyn Database, from: &ModuleName, to: &ModuleName) -> bool {
    let view = ProgramView::new(db);
    let mut seen = BTreeSet::new();
    let mut todo = vec![to.clone()];
    while let Some(module) = todo.pop() {
        if module == *from {
            return true;
        }
        if let Some(file) = view.file(&module)
            && seen.insert(module)
        {
            todo.extend(imports(db, file).iter().map(|i| i.module.clone()));
        }
    }
    false
}
