//! **Names in sizes**: the variables that a message prints in the sizes of its types. Diagnostics
//! carry them, so that help can refer to them without parsing the message.

use super::super::ty::Type;
use lang_base::Name;
use lang_sizes::predicate::{Atom, Poly};

/// Returns the names in these sizes, in order; a name may occur several times.
pub(super) fn names_in_sizes<'p>(sizes: impl IntoIterator<Item = &'p Poly>) -> Vec<Name> {
    let mut names = Vec::new();
    for size in sizes {
        size.for_each_atom(&mut |atom| match atom {
            Atom::SizeParam(_, name) | Atom::Local(_, name) | Atom::Read(_, name, _) => names.push(name.clone()),
            Atom::Global(global) => names.push(global.name.clone()),
            _ => {}
        });
    }
    names
}

/// Returns the names in the sizes of these types, in order.
pub(super) fn names_in_types<'t>(types: impl IntoIterator<Item = &'t Type>) -> Vec<Name> {
    let mut sizes = Vec::new();
    types.into_iter().for_each(|ty| ty.visit(&mut |_| {}, &mut |size| sizes.push(size.clone())));
    names_in_sizes(&sizes)
}
