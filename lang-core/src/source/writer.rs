//! What writes a derivative: the lines of its program, what they are called, the indices around. [`super::definition`]
//! has the definition, [`super::arrays`] arrays and names of indices, [`super::text`] expressions,
//! [`super::predicate`] predicates, [`super::call`] calls.

use std::collections::HashMap;
use std::sync::Arc;

use super::hints::Hints;
use super::merge::Merging;
use super::names::{Taken, spelled};
use super::read::{Line, lines};
use super::shape::{Asked, Base};
use super::table::Table;
use super::tree::Ex;
use super::{Definition, Outside};
use crate::base::{GlobalName, Name};
use crate::ir::core::Callee;
use crate::ir::ssa::{FIRST_INDEX, Rhs, Ssa, Var, for_each_read};
use crate::norm::Bodies;
use crate::pipeline::Callees;
use crate::predicate::{Context, Index, LocalId, Poly};
use crate::resolve::Names;

/// How tightly a text holds together: what may stand around it without parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Level {
    /// Reaches as far to the right as it can.
    #[default]
    Open,
    Or,
    And,
    Not,
    Compare,
    Sum,
    Product,
    Sign,
    Power,
    Post,
}

/// How an input or let is read.
#[derive(Clone, Debug)]
pub(super) enum Named {
    /// A part of a value.
    Part(Base, Vec<u32>),
    /// A `let`, or a part of one that a call gives: its base has the axes of the call before its own.
    Let(Base, Vec<u32>),
}

/// What writes.
pub(super) struct Writer<'a> {
    pub(super) asked: &'a Asked<'a>,
    /// The names that the definition gives.
    pub(super) given: Vec<Name>,
    pub(super) lines: Vec<Line>,
    pub(super) named: HashMap<Var, Named>,
    pub(super) hints: Hints,
    pub(super) taken: Taken,
    /// The indices around, with their names.
    pub(super) scope: Vec<(LocalId, Name)>,
    pub(super) context: Context,
    pub(super) table: Table,
    /// Whole arrays stand for their elements at these indices.
    pub(super) lifted: Vec<Index>,
    /// The derivatives that calls are calls of.
    pub(super) made: Vec<(Arc<Callee>, Arc<Definition>)>,
    /// What could not be written.
    pub(super) wrong: Option<Outside>,
}

/// Parts of a value: for each path its indices and its element.
pub(super) type Parts = Vec<(Vec<u32>, Vec<Index>, Ex)>;

/// The definition, not laid out.
pub(super) fn definition(asked: &Asked<'_>) -> Result<Definition, Outside> {
    let head = asked.head()?;
    let ssa = asked.derived;
    // The results, and nothing that only others need.
    let primal = &asked.stages.ssa;
    let mut wanted = (**ssa).clone();
    wanted.outputs = ssa.outputs.iter().skip(primal.outputs.len()).cloned().collect();
    let _ = crate::norm::dead::remove(&mut wanted);
    let mut fresh = Table::default();
    let read = lines(&wanted, &mut fresh)?;
    let sizes: Vec<Poly> = wanted.sizes.iter().map(|l| Poly::atom(wanted.vars.atom(*l))).collect();
    let context = Context::new(&sizes);
    wanted.checks = super::checks::needed(&wanted, &context);
    let mut roots: Vec<Var> = wanted.outputs.iter().map(|(_, v)| *v).collect();
    for check in &wanted.checks {
        for_each_read(&check.guard, &mut |v| roots.push(v));
        for_each_read(&check.cond, &mut |v| roots.push(v));
    }
    let given = given_names(asked.bodies, asked.def);
    let names = |name: &str| given.iter().any(|n| n == name);
    let total = |callee: &Arc<Callee>| never_fails(asked.module, callee);
    let mut merging = Merging { lines: read, context, fresh: &mut fresh, roots, names: &names, total: &total };
    if !merging.run() {
        return Err(Outside::TooLarge);
    }
    let (live, lines, context) = (merging.live(), merging.lines, merging.context);
    let mut taken = Taken::new(head.own.iter().chain(head.beside.iter().map(|b| &b.1)).map(|p| p.base.name.clone()));
    wanted.sizes.iter().for_each(|l| drop(taken.fresh(&wanted.vars.name(*l))));
    let hints = Hints::of(&asked.stages.core, asked.module);
    let mut writer = Writer {
        asked,
        given: given.clone(),
        lines,
        named: HashMap::new(),
        hints,
        taken,
        scope: Vec::new(),
        context,
        table: fresh,
        lifted: Vec::new(),
        made: Vec::new(),
        wrong: None,
    };
    let text = writer.definition(&head, &wanted, &live)?;
    match writer.wrong {
        Some(why) => Err(why),
        None => Ok(text),
    }
}

/// Does it fail for no arguments, whatever the sizes are?
fn never_fails(module: &dyn Callees, callee: &Arc<Callee>) -> bool {
    crate::interp::guarded(|| {
        let Some(ssa) = module.ssa(callee) else { return false };
        ssa.checks.is_empty()
            && ssa.stmts.iter().all(|s| match &s.rhs {
                Rhs::Call { callee, .. } => never_fails(module, callee),
                _ => true,
            })
    })
}

/// The names that a definition gives with `let`, and its index variables.
fn given_names(bodies: &dyn Bodies, def: &GlobalName) -> Vec<Name> {
    let Some(body) = bodies.body(def) else { return Vec::new() };
    body.locals.iter().map(|l| l.name.clone()).collect()
}

impl Writer<'_> {
    pub(super) fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        self.asked.module.ssa(callee)
    }

    pub(super) fn names(&self) -> &dyn Names {
        self.asked.names
    }

    pub(super) fn home(&self) -> &Name {
        &self.asked.def.module
    }

    /// `for i, j: …` around what is written inside.
    pub(super) fn around(&mut self, own: &[Index], inside: &mut dyn FnMut(&mut Self) -> String) -> String {
        self.generated(own, &Ex::real(0.0), "-", false, &Vec::new(), inside)
    }

    /// A function of those arguments that vary.
    pub(super) fn partly(&mut self, name: &str, args: &[String], varying: &[usize]) -> String {
        let mut inner = Vec::new();
        let mut params: Vec<Name> = Vec::new();
        for (k, arg) in args.iter().enumerate() {
            if varying.contains(&k) {
                let param = self.taken.fresh("v");
                inner.push(param.to_string());
                params.push(param);
            } else {
                inner.push(arg.clone());
            }
        }
        params.iter().for_each(|p| self.taken.release(p));
        format!("\\{}: {name}({})", params.join(", "), inner.join(", "))
    }

    /// A binder over whole ranges, and what is written inside.
    pub(super) fn bound_by(
        &mut self,
        word: &str,
        indices: &[Index],
        inside: &mut dyn FnMut(&mut Self) -> String,
    ) -> (String, String) {
        let depth = self.scope.len();
        let mut heads = Vec::new();
        for i in indices {
            let name = self.taken.index(None);
            heads.push(format!("{name} < {}", self.poly(&i.extent).0));
            self.scope.push((i.local, name));
        }
        let text = inside(self);
        self.leave(depth);
        (format!("{word} {}", heads.join(", ")), text)
    }

    pub(super) fn is_index(&self, local: LocalId) -> bool {
        local.0 >= FIRST_INDEX || self.scope.iter().any(|(l, _)| *l == local)
    }

    /// The name of an index.
    pub(super) fn index_name(&self, local: LocalId) -> Option<Name> {
        self.scope.iter().find(|(l, _)| *l == local).map(|(_, name)| name.clone())
    }

    pub(super) fn global(&mut self, name: &GlobalName) -> Option<String> {
        let text = spelled(self.asked.names, &self.asked.def.module, name);
        if text.is_none() {
            self.wrong = Some(Outside::Foreign);
        }
        text
    }
}
