//! **Free variables** of the expressions of a body: the locals that an expression reads and does
//! not bind, and the top-level functions that it mentions.

use super::tree::{TypedBody, TypedExpr, TypedId};
use super::ty::Type;
use lang_base::GlobalName;
use lang_sizes::predicate::{Atom, LocalId, Poly};

/// Returns the top-level `let`s with functions that an expression of a body mentions, with their
/// types.
#[must_use]
pub fn mentioned(body: &TypedBody, root: TypedId) -> Vec<(GlobalName, Type)> {
    let mut found: Vec<(GlobalName, Type)> = Vec::new();
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        let node = &body.nodes[id];
        if let TypedExpr::Global(name) = &node.kind
            && has_function(&node.ty)
            && !found.iter().any(|(known, _)| known == name)
        {
            found.push((name.clone(), node.ty.clone()));
        }
        node.kind.for_each_child(&body.nodes, &mut |child| open.push(child));
    }
    found
}

/// Returns whether a value of the type can contain a function.
fn has_function(ty: &Type) -> bool {
    let mut open = vec![ty];
    while let Some(ty) = open.pop() {
        match ty {
            Type::Fun(_) => return true,
            Type::Tuple(items) => open.extend(items.iter()),
            Type::Record(fields) => open.extend(fields.iter().map(|(_, t)| t)),
            _ => {}
        }
    }
    false
}

/// Returns the locals that an expression of a body reads and does not bind, including those in its
/// types.
#[must_use]
pub fn free(body: &TypedBody, root: TypedId) -> Vec<LocalId> {
    let (mut read, mut bound) = (Vec::new(), Vec::new());
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        let node = &body.nodes[id];
        node.kind.for_each_local(&mut |l| read.push(l), &mut |l| bound.push(l));
        node.ty.visit(&mut |_| {}, &mut |p: &Poly| {
            p.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a {
                    read.push(*l);
                }
            });
        });
        node.kind.for_each_child(&body.nodes, &mut |child| open.push(child));
    }
    read.sort_unstable();
    read.dedup();
    read.retain(|l| !bound.contains(l));
    read
}
