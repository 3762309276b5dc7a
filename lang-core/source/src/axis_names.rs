//! **Names of axes.** Collects the index names that the program uses for each axis: `a[i, k]` calls
//! the axes of `a` `i` and `k`. The derivative uses the same names for indices along these axes.

use std::collections::HashMap;

use lang_base::Name;
use lang_ir::core::{CoreFunction, ExprKind, ExprRef};
use lang_middle::pipeline::CalleeForms;
use lang_sizes::predicate::{Atom, LocalId, Poly};

/// The depth to which nested calls are searched.
const MAX_CALL_DEPTH: u32 = 6;

/// The names of axes, by array name and axis. The result of the function has the empty name.
#[derive(Default, Debug)]
pub(super) struct AxisNames(HashMap<(Name, usize), Name>);

impl AxisNames {
    /// Collects the names from the core form of a function.
    pub(super) fn from_function(function: &CoreFunction, module: &dyn CalleeForms) -> Self {
        let mut hints = Self::default();
        hints.read_function(function, module, MAX_CALL_DEPTH);
        hints
    }

    /// Returns the name of an axis.
    pub(super) fn get(&self, array: &str, axis: usize) -> Option<&Name> {
        self.0.get(&(array.into(), axis))
    }

    /// Records the name of an axis, unless it has one.
    pub(super) fn record(&mut self, array: &str, axis: usize, name: &Name) {
        self.0.entry((array.into(), axis)).or_insert_with(|| name.clone());
    }

    fn read_function(&mut self, function: &CoreFunction, module: &dyn CalleeForms, depth: u32) {
        let mut result = &function.body;
        while let ExprKind::Let(_, body) = &result.kind {
            result = body;
        }
        self.record_generation("", result);
        self.record_accesses(&function.body, function, module, depth);
    }

    /// Records the indices of `for i, j: …` as the axes of the array.
    fn record_generation(&mut self, array: &str, e: &ExprRef) {
        let (mut e, mut axis) = (e, 0);
        while let ExprKind::Gen(index, body) = &e.kind {
            self.record(array, axis, &index.name);
            axis += 1;
            e = body;
        }
    }

    fn record_accesses(&mut self, e: &ExprRef, function: &CoreFunction, module: &dyn CalleeForms, depth: u32) {
        lang_base::ensure_sufficient_stack(|| {
            match &e.kind {
                ExprKind::Let(bindings, _) => {
                    for (x, e) in bindings {
                        self.record_generation(&function.vars.name(*x), e);
                    }
                }
                ExprKind::Access(..) => self.record_access(e, function),
                ExprKind::Call(callee, _, args) if depth > 0 => {
                    if let Ok(stages) = module.stages(callee) {
                        let mut inner = Self::default();
                        inner.read_function(&stages.core, module, depth - 1);
                        for (arg, (param, _)) in args.iter().zip(&stages.core.params) {
                            if let Some(x) = as_variable(arg) {
                                self.inherit_names(&inner, &stages.core.vars.name(*param), &function.vars.name(x));
                            }
                        }
                    }
                }
                _ => {}
            }
            e.for_each_child(&mut |e| self.record_accesses(e, function, module, depth));
        });
    }

    fn inherit_names(&mut self, inner: &Self, from: &str, to: &str) {
        let axes: Vec<(usize, Name)> =
            inner.0.iter().filter(|((array, _), _)| array == from).map(|((_, k), name)| (*k, name.clone())).collect();
        axes.iter().for_each(|(k, name)| self.record(to, *k, name));
    }

    fn record_access(&mut self, e: &ExprRef, function: &CoreFunction) {
        let (mut base, mut at): (&ExprRef, Vec<&Poly>) = (e, Vec::new());
        loop {
            match &base.kind {
                ExprKind::Access(inner, p) => {
                    at.push(p);
                    base = inner;
                }
                ExprKind::Proj(inner, _) => base = inner,
                _ => break,
            }
        }
        let ExprKind::Var(x) = base.kind else { return };
        at.reverse();
        for (axis, p) in at.into_iter().enumerate() {
            if let Some(Atom::Local(_, name)) = p.as_atom() {
                self.record(&function.vars.name(x), axis, name);
            }
        }
    }
}

/// Returns the variable, if the argument is one.
fn as_variable(e: &ExprRef) -> Option<LocalId> {
    if let ExprKind::Var(x) = e.kind { Some(x) } else { None }
}
