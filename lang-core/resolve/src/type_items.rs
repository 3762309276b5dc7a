//! **Pre-resolution of types.** Determines the facts about `type` items that resolution needs
//! first: the constructors, and the parameters that are sizes. Both follow from the written items
//! and the set of type names, never from resolved items. Types may therefore mention each other in
//! any order.

use std::collections::BTreeSet;

use super::{NameEnv, suggest};
use lang_base::{GlobalName, ModuleName};
use lang_syntax::ast::{Expr, Ident, Item, Tree, TypeArg, TypeBody, TypeDef, TypeExpr, TypeId};
use lang_syntax::ops::Scalar;

/// Returns the scalar type of that name.
pub(super) fn scalar_by_name(name: &str) -> Option<Scalar> {
    Scalar::ALL.into_iter().find(|s| s.name() == name)
}

/// Returns the name and arguments of the constructor that is the whole right side of
/// `type T = C(…)`. Returns `None` if the item has another form or its right side names a type.
pub(super) fn single_ctor<'t>(
    tree: &'t Tree,
    def: &TypeDef,
    module: &ModuleName,
    names: &dyn NameEnv,
) -> Option<(&'t Ident, &'t [TypeArg])> {
    let TypeBody::Single(id) = def.body else { return None };
    let TypeExpr::Name { module: None, name, args } = &tree.types[id].kind else { return None };
    let itself = GlobalName { module: module.clone(), name: def.name.name.clone() };
    let is_type = def.params.iter().any(|p| p.name == name.name)
        || names.top_level_type(module, &name.name).is_some_and(|t| t != itself)
        || scalar_by_name(&name.name).is_some()
        || suggest::foreign_type_help(&name.name).is_some();
    (!is_type).then_some((name, args.as_slice()))
}

/// Returns the constructors of a `type` item, in order. It queries only the type names of `names`.
pub fn constructors(tree: &Tree, module: &ModuleName, names: &dyn NameEnv) -> Vec<Ident> {
    let Item::Type(def) = &tree.item else { return Vec::new() };
    match &def.body {
        TypeBody::Sum(ctors) => ctors.iter().map(|c| c.name.clone()).collect(),
        TypeBody::Single(_) => single_ctor(tree, def, module, names).map(|(n, _)| n.clone()).into_iter().collect(),
    }
}

/// The uses of a parameter of a `type` in its right side.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ParamUses {
    /// Whether it occurs as a size.
    pub is_size: bool,
    /// The type parameters to which it is passed as a bare argument.
    pub passed_to: BTreeSet<(GlobalName, usize)>,
}

/// Returns the uses of each parameter of a `type` item. It queries only the type names and imports
/// of `names`.
pub fn param_uses(tree: &Tree, module: &ModuleName, names: &dyn NameEnv) -> Vec<ParamUses> {
    let Item::Type(def) = &tree.item else { return Vec::new() };
    // The unreadable parts of a type are usually extents.
    let size = |p: &Ident| tree.skipped_names.contains(&p.name);
    let mut uses: Vec<_> = def.params.iter().map(|p| ParamUses { is_size: size(p), ..ParamUses::default() }).collect();
    // Every expression in a `type` item is a size.
    for (_, node) in tree.exprs.iter() {
        if let Expr::Name(name) = &node.kind {
            for (param, uses) in def.params.iter().zip(&mut uses) {
                uses.is_size |= param.name == *name;
            }
        }
    }
    let ctor = single_ctor(tree, def, module, names).is_some();
    for (id, node) in tree.types.iter() {
        let TypeExpr::Name { module: qualifier, name, args } = &node.kind else { continue };
        if ctor && matches!(def.body, TypeBody::Single(root) if root == id) {
            continue;
        }
        let target = match qualifier {
            None => Some(module.clone()),
            Some(alias) => names.imported_module(module, &alias.name),
        };
        let Some(callee) = target.and_then(|m| names.top_level_type(&m, &name.name)) else { continue };
        for (position, arg) in args.iter().enumerate() {
            let Some(bare) = bare_arg(tree, arg) else { continue };
            for (param, uses) in def.params.iter().zip(&mut uses) {
                if param.name == bare.1 {
                    uses.passed_to.insert((callee.clone(), position));
                }
            }
        }
    }
    uses
}

/// Returns the type argument if it is a bare name.
pub(super) fn bare_arg<'t>(tree: &'t Tree, arg: &TypeArg) -> Option<(TypeId, &'t str)> {
    let TypeArg::Type(id) = arg else { return None };
    match &tree.types[*id].kind {
        TypeExpr::Name { module: None, name, args } if args.is_empty() => Some((*id, &name.name)),
        _ => None,
    }
}

/// Returns for each parameter of `ty` whether it is a size. It is if it occurs as a size in `ty`,
/// or in the types to which it is passed, transitively. `uses` returns the [`param_uses`] of a
/// type.
pub fn size_params<U: AsRef<[ParamUses]>>(
    ty: &GlobalName,
    mut uses: impl FnMut(&GlobalName) -> Option<U>,
) -> Vec<bool> {
    let arity = uses(ty).map_or(0, |u| u.as_ref().len());
    let mut is_size = |position: usize| {
        let mut seen = BTreeSet::new();
        let mut todo = vec![(ty.clone(), position)];
        while let Some(next) = todo.pop() {
            if !seen.insert(next.clone()) {
                continue;
            }
            let Some(found) = uses(&next.0) else { continue };
            let Some(param) = found.as_ref().get(next.1) else { continue };
            if param.is_size {
                return true;
            }
            todo.extend(param.passed_to.iter().cloned());
        }
        false
    };
    (0..arity).map(&mut is_size).collect()
}
