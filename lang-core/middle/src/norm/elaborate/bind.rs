//! **Let bindings** of core: names for values, taken from the program or generated.

use super::Elaborator;
use lang_ir::core::{ExprKind, ExprRef};
use lang_sizes::predicate::LocalId;

impl Elaborator<'_> {
    /// Binds a value to a generated name, unless it is free to read twice.
    pub(super) fn bind(&mut self, name: &str, e: ExprRef) -> ExprRef {
        if e.is_duplicable() {
            return e;
        }
        let local = self.vars.fresh_synthetic(name);
        self.bind_to(local, e)
    }

    /// Binds a value to a name of the program. An unnamed variable or part that is free to read
    /// receives the name.
    pub(super) fn bind_named(&mut self, name: &str, e: ExprRef) -> ExprRef {
        if e.is_duplicable() {
            match variable_component(&e) {
                Some((local, path)) if path.is_empty() => self.vars.set_source_name(local, name),
                Some((local, path)) => self.vars.set_component_name(local, path, name),
                None => {}
            }
            return e;
        }
        let local = self.vars.fresh(name);
        self.bind_to(local, e)
    }

    pub(super) fn bind_to(&mut self, local: LocalId, e: ExprRef) -> ExprRef {
        let var = e.with_kind(ExprKind::Var(local), e.ty.clone());
        self.types.insert(local, e.ty.clone());
        self.depths.insert(local, self.depth);
        if let Some(scope) = self.scopes.last_mut() {
            scope.bindings.push((local, e));
        }
        var
    }

    pub(super) fn bind_always(&mut self, e: &ExprRef) -> ExprRef {
        let local = self.vars.fresh_synthetic("k");
        self.bind_to(local, e.clone())
    }

    /// Binds a value outside all index variables.
    pub(super) fn bind_outermost(&mut self, name: &str, e: ExprRef) -> LocalId {
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
fn variable_component(mut e: &ExprRef) -> Option<(LocalId, Vec<u32>)> {
    let mut path = Vec::new();
    while let ExprKind::Proj(of, k) = &e.kind {
        path.insert(0, *k);
        e = of;
    }
    if let ExprKind::Var(local) = e.kind { Some((local, path)) } else { None }
}
