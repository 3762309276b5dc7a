//! **Names of axes.** Collects the index names that the program uses for each axis: `a[i, k]` calls
//! the axes of `a` `i` and `k`. The derivative uses the same names for indices along these axes.

use std::collections::HashMap;

use lang_base::Name;
use lang_ir::core::{E, Function, Kind};
use lang_middle::pipeline::Callees;
use lang_sizes::predicate::{Atom, LocalId, Poly};

/// The depth to which nested calls are searched.
const DEPTH: u32 = 6;

/// The names of axes, by array name and axis. The result of the function has the empty name.
#[derive(Default, Debug)]
pub(super) struct Hints(HashMap<(Name, usize), Name>);

impl Hints {
    /// Collects the names from the core form of a function.
    pub(super) fn of(function: &Function, module: &dyn Callees) -> Self {
        let mut hints = Self::default();
        hints.read(function, module, DEPTH);
        hints
    }

    /// Returns the name of an axis.
    pub(super) fn get(&self, array: &str, axis: usize) -> Option<&Name> {
        self.0.get(&(array.into(), axis))
    }

    /// Records the name of an axis, unless it has one.
    pub(super) fn note(&mut self, array: &str, axis: usize, name: &Name) {
        self.0.entry((array.into(), axis)).or_insert_with(|| name.clone());
    }

    fn read(&mut self, function: &Function, module: &dyn Callees, depth: u32) {
        let mut result = &function.body;
        while let Kind::Let(_, body) = &result.kind {
            result = body;
        }
        self.generated("", result);
        self.walk(&function.body, function, module, depth);
    }

    /// Records the indices of `for i, j: …` as the axes of the array.
    fn generated(&mut self, array: &str, e: &E) {
        let (mut e, mut axis) = (e, 0);
        while let Kind::Gen(index, body) = &e.kind {
            self.note(array, axis, &index.name);
            axis += 1;
            e = body;
        }
    }

    fn walk(&mut self, e: &E, function: &Function, module: &dyn Callees, depth: u32) {
        lang_base::guarded(|| {
            match &e.kind {
                Kind::Let(bindings, _) => {
                    for (x, e) in bindings {
                        self.generated(&function.vars.name(*x), e);
                    }
                }
                Kind::Access(..) => self.access(e, function),
                Kind::Call(callee, _, args) if depth > 0 => {
                    if let Ok(stages) = module.stages(callee) {
                        let mut inner = Self::default();
                        inner.read(&stages.core, module, depth - 1);
                        for (arg, (param, _)) in args.iter().zip(&stages.core.params) {
                            if let Some(x) = variable(arg) {
                                self.pass_on(&inner, &stages.core.vars.name(*param), &function.vars.name(x));
                            }
                        }
                    }
                }
                _ => {}
            }
            e.for_each_child(&mut |e| self.walk(e, function, module, depth));
        });
    }

    fn pass_on(&mut self, inner: &Self, from: &str, to: &str) {
        let axes: Vec<(usize, Name)> =
            inner.0.iter().filter(|((array, _), _)| array == from).map(|((_, k), name)| (*k, name.clone())).collect();
        axes.iter().for_each(|(k, name)| self.note(to, *k, name));
    }

    fn access(&mut self, e: &E, function: &Function) {
        let (mut base, mut at): (&E, Vec<&Poly>) = (e, Vec::new());
        loop {
            match &base.kind {
                Kind::Access(inner, p) => {
                    at.push(p);
                    base = inner;
                }
                Kind::Proj(inner, _) => base = inner,
                _ => break,
            }
        }
        let Kind::Var(x) = base.kind else { return };
        at.reverse();
        for (axis, p) in at.into_iter().enumerate() {
            if let Some(Atom::Local(_, name)) = p.as_atom() {
                self.note(&function.vars.name(x), axis, name);
            }
        }
    }
}

/// Returns the variable, if the argument is one.
fn variable(e: &E) -> Option<LocalId> {
    if let Kind::Var(x) = e.kind { Some(x) } else { None }
}
