//! Items whose type would be needed to find their type, and modules that import each other.
//! Found on a plain graph of what each item's type needs, without asking for any type; without
//! recursion too, as chains of definitions may be as long as a file.

use std::collections::{BTreeSet, HashMap, HashSet};

use salsa::Database;

use super::db::{Item, SourceFile};
use super::queries::{checked, let_types, resolved, signature, tree, type_head, type_info};
use super::scope::imports;
use super::view::View;
use crate::base::{GlobalName, ModuleName};
use crate::syntax::ast;
use crate::syntax::split::ItemKind;

/// The items whose types must be known before this item's own type is. A definition with a
/// written result needs what its signature mentions, one without all that it uses; a `let` all
/// that it uses; a type the aliases and `let`s in it.
#[salsa::tracked]
pub(super) fn needs<'db>(db: &'db dyn Database, item: Item<'db>) -> Vec<Item<'db>> {
    let view = View::new(db);
    let resolved = resolved(db, item);
    let to_items =
        |uses: &BTreeSet<GlobalName>| -> Vec<Item<'db>> { uses.iter().flat_map(|name| view.targets(name)).collect() };
    match &tree(db, item).tree.item {
        ast::Item::Def(def) if def.result.is_some() => to_items(&resolved.signature_uses),
        ast::Item::Def(_) | ast::Item::Let(_) => to_items(&resolved.uses),
        ast::Item::Type(_) => {
            let mut items = to_items(&resolved.uses);
            items.retain(|i| i.kind(db) != ItemKind::Type || !type_head(db, *i).is_sum);
            items
        }
        ast::Item::Import(_) | ast::Item::Do(_) | ast::Item::Rule(_) | ast::Item::Error => Vec::new(),
    }
}

/// The items that lie on a circle of needs, among those a file's items reach. Tarjan's algorithm
/// with its stack spelled out.
#[salsa::tracked]
pub(super) fn cyclic(db: &dyn Database, file: SourceFile) -> HashSet<Item<'_>> {
    let mut found = HashSet::new();
    let mut number: HashMap<Item<'_>, usize> = HashMap::new();
    let mut low: HashMap<Item<'_>, usize> = HashMap::new();
    let mut open: Vec<Item<'_>> = Vec::new();
    let mut is_open: HashSet<Item<'_>> = HashSet::new();
    for root in super::queries::items(db, file) {
        // Items on the way, each with how many of its needs are done.
        let mut way = vec![(*root, 0_usize)];
        while let Some((item, next)) = way.pop() {
            if next == 0 {
                if number.contains_key(&item) {
                    continue;
                }
                number.insert(item, number.len());
                low.insert(item, number.len() - 1);
                open.push(item);
                is_open.insert(item);
            }
            let all = needs(db, item);
            if let Some(child) = next.checked_sub(1).and_then(|i| all.get(i)) {
                lower(&mut low, item, child);
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
                    lower(&mut low, item, child);
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
                    found.extend(component);
                }
            }
        }
    }
    found
}

fn lower<'db>(low: &mut HashMap<Item<'db>, usize>, item: Item<'db>, child: &Item<'db>) {
    let other = low.get(child).copied().unwrap_or(usize::MAX);
    if let Some(own) = low.get_mut(&item) {
        *own = (*own).min(other);
    }
}

/// Does the item lie on a circle of needs?
#[salsa::tracked(returns(copy))]
pub(super) fn is_cyclic<'db>(db: &'db dyn Database, item: Item<'db>) -> bool {
    cyclic(db, item.file(db)).contains(&item)
}

/// Computes the types that an item's check asks for, those first that need no others: so the
/// queries that ask each other never stand deeper than a few, however long a chain of
/// definitions is. `done` is shared between calls.
pub(super) fn prepare<'db>(db: &'db dyn Database, item: Item<'db>, done: &mut HashSet<Item<'db>>) {
    let view = View::new(db);
    let roots = resolved(db, item).uses.iter().flat_map(|name| view.targets(name)).chain([item]);
    let mut way: Vec<(Item<'db>, bool)> = roots.map(|i| (i, false)).collect();
    while let Some((item, ready)) = way.pop() {
        if ready {
            match item.kind(db) {
                ItemKind::Def => drop(signature(db, item)),
                ItemKind::Type => drop(type_info(db, item)),
                ItemKind::Let => drop(let_types(db, item)),
                _ => drop(checked(db, item)),
            }
        } else if done.insert(item) {
            way.push((item, true));
            way.extend(needs(db, item).iter().map(|i| (*i, false)));
        }
    }
}

/// Can `from` be reached from `to` by imports?
pub(super) fn leads_back(db: &dyn Database, from: &ModuleName, to: &ModuleName) -> bool {
    let view = View::new(db);
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
