//! Items whose type would be needed to find their type, and modules that import each other.
//! Found on a plain graph of what each item's type needs, without asking for any type; without
//! recursion too, as chains of definitions may be as long as a file.

use std::collections::{BTreeSet, HashMap, HashSet};

use salsa::Database;

use super::db::{Item, SourceFile};
use super::queries::{let_types, resolved, signature, tree, type_head, type_info};
use super::scope::imports;
use super::view::View;
use crate::base::{GlobalName, ModuleName};
use crate::syntax::ast;
use crate::syntax::split::ItemKind;

/// The items, of any module, that an item leads to.
#[derive(Clone, PartialEq, Debug, Default, salsa::SalsaValue)]
pub(super) struct Links {
    /// All that it mentions.
    pub(super) mentions: Vec<Item>,
    /// Those whose types must be known before its own type is. A definition with a written
    /// result needs what its signature mentions, one without all that it mentions; a `let` all
    /// too; a type the aliases and `let`s in it.
    pub(super) needs: Vec<Item>,
}

/// The items that an item leads to.
#[salsa::tracked]
pub(super) fn links(db: &dyn Database, item: Item) -> Links {
    let view = View::new(db);
    let resolved = resolved(db, item);
    let to_items =
        |uses: &BTreeSet<GlobalName>| -> Vec<Item> { uses.iter().flat_map(|name| view.targets(name)).collect() };
    let mentions = to_items(&resolved.uses);
    let needs = match &tree(db, item).tree.item {
        ast::Item::Def(def) if def.result.is_some() => to_items(&resolved.signature_uses),
        ast::Item::Def(_) | ast::Item::Let(_) => mentions.clone(),
        ast::Item::Type(_) => {
            let is_sum = |i: &Item| i.kind(db) == ItemKind::Type && type_head(db, *i).is_sum;
            mentions.iter().filter(|i| !is_sum(i)).copied().collect()
        }
        ast::Item::Import(_) | ast::Item::Do(_) | ast::Item::Rule(_) | ast::Item::Error => Vec::new(),
    };
    Links { mentions, needs }
}

/// In which order the types of items can be found.
#[derive(Clone, PartialEq, Debug, Default, salsa::SalsaValue)]
pub(super) struct Order {
    /// The items of a file and all that they mention and need, each after those it needs.
    pub(super) items: Vec<Item>,
    /// Those among them that lie on a circle of needs.
    pub(super) cyclic: HashSet<Item>,
}

/// The order for a file. Tarjan's algorithm with its stack spelled out.
#[salsa::tracked]
pub(super) fn order(db: &dyn Database, file: SourceFile) -> Order {
    let mut order = Order::default();
    let mut number: HashMap<Item, usize> = HashMap::new();
    let mut low: HashMap<Item, usize> = HashMap::new();
    let mut open: Vec<Item> = Vec::new();
    let mut is_open: HashSet<Item> = HashSet::new();
    let own = file.items(db).iter();
    // Items of this file are roots by themselves.
    let others = own.clone().flat_map(|item| &links(db, *item).mentions).filter(|item| item.file(db) != file);
    for root in own.chain(others) {
        // Items on the way, each with how many of its needs are done.
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
            let all = &links(db, item).needs;
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
                    order.cyclic.extend(&component);
                }
                order.items.extend(component);
            }
        }
    }
    order
}

fn lower(low: &mut HashMap<Item, usize>, item: Item, child: &Item) {
    let other = low.get(child).copied().unwrap_or(usize::MAX);
    if let Some(own) = low.get_mut(&item) {
        *own = (*own).min(other);
    }
}

/// The items of a file's order that lie on a circle of needs: mostly none, whatever the order.
#[salsa::tracked]
pub(super) fn cyclic(db: &dyn Database, file: SourceFile) -> HashSet<Item> {
    order(db, file).cyclic.clone()
}

/// Does the item lie on a circle of needs?
#[salsa::tracked(returns(copy))]
pub(super) fn is_cyclic(db: &dyn Database, item: Item) -> bool {
    cyclic(db, item.file(db)).contains(&item)
}

/// Is the type of `needed` needed to find that of an item?
pub(super) fn needs(db: &dyn Database, item: Item, needed: Item) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![item];
    while let Some(next) = open.pop() {
        if next == needed {
            return true;
        }
        if seen.insert(next) {
            open.extend(&links(db, next).needs);
        }
    }
    false
}

/// Computes the types that the checks of a file's items ask for, those first that need no
/// others: so queries that ask each other never stand deeper than a few, however long a chain of
/// definitions is. That goes for finding out that nothing changed too, which happens in the same
/// order. Everything that is asked of a whole file from outside asks this first.
#[salsa::tracked(returns(copy))]
pub(super) fn prepared(db: &dyn Database, file: SourceFile) {
    order(db, file).items.iter().for_each(|item| typed(db, *item));
}

/// Computes the type of an item.
fn typed(db: &dyn Database, item: Item) {
    match item.kind(db) {
        ItemKind::Def => drop(signature(db, item)),
        ItemKind::Type => drop(type_info(db, item)),
        ItemKind::Let => drop(let_types(db, item)),
        ItemKind::Import | ItemKind::Do | ItemKind::Derivative | ItemKind::Adjoint | ItemKind::Junk => {}
    }
}

/// More items than these are not worth finding one by one.
const FEW: usize = 64;

/// Computes the types that the check of one item asks for, in the order of [`prepared`]: everything that is asked of an
/// item from outside asks this first.
#[salsa::tracked(returns(copy))]
pub(super) fn ready(db: &dyn Database, item: Item) {
    let mut seen: HashSet<Item> = HashSet::new();
    let mut found = Vec::new();
    let roots = links(db, item).mentions.iter().copied().chain([item]);
    let mut way: Vec<(Item, bool)> = roots.map(|root| (root, false)).collect();
    while let Some((next, after)) = way.pop() {
        if after {
            found.push(next);
        } else if seen.insert(next) {
            if seen.len() > FEW {
                return prepared(db, item.file(db));
            }
            way.push((next, true));
            way.extend(links(db, next).needs.iter().map(|need| (*need, false)));
        }
    }
    found.into_iter().for_each(|item| typed(db, item));
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
