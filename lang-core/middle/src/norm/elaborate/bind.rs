//! **Let bindings** of core: names for values, taken from the program or generated.

use super::Elaborator;
use lang_ir::core::{E, Kind};
use lang_sizes::predicate::LocalId;

impl Elaborator<'_> {
    /// Binds a value to a generated name, unless it is free to read twice.
    pub(super) fn bind(&mut self, name: &str, e: E) -> E {
        if e.is_free() {
            return e;
        }
        let local = self.vars.made(name);
        self.bind_to(local, e)
    }

    /// Binds a value to a name of the program. An unnamed variable or part that is free to read
    /// receives the name.
    pub(super) fn bind_given(&mut self, name: &str, e: E) -> E {
        if e.is_free() {
            match part_of(&e) {
                Some((local, path)) if path.is_empty() => self.vars.give(local, name),
                Some((local, path)) => self.vars.give_part(local, path, name),
                None => {}
            }
            return e;
        }
        let local = self.vars.fresh(name);
        self.bind_to(local, e)
    }

    pub(super) fn bind_to(&mut self, local: LocalId, e: E) -> E {
        let var = e.with(Kind::Var(local), e.ty.clone());
        self.types.insert(local, e.ty.clone());
        self.depths.insert(local, self.depth);
        if let Some(scope) = self.scopes.last_mut() {
            scope.bindings.push((local, e));
        }
        var
    }

    pub(super) fn bind_always(&mut self, e: &E) -> E {
        let local = self.vars.made("k");
        self.bind_to(local, e.clone())
    }

    /// Binds a value outside all index variables.
    pub(super) fn name_outside(&mut self, name: &str, e: E) -> LocalId {
        let local = self.vars.fresh(name);
        self.types.insert(local, e.ty.clone());
        self.depths.insert(local, 0);
        if let Some(scope) = self.scopes.iter_mut().rev().find(|scope| scope.depth == 0) {
            scope.bindings.push((local, e));
        }
        local
    }
}

/// Returns the variable and the path, if the expression is a part of a variable.
fn part_of(mut e: &E) -> Option<(LocalId, Vec<u32>)> {
    let mut path = Vec::new();
    while let Kind::Proj(of, k) = &e.kind {
        path.insert(0, *k);
        e = of;
    }
    if let Kind::Var(local) = e.kind { Some((local, path)) } else { None }
}
