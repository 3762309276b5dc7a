//! **Writer.** Holds the state of printing one body: its lines, their names, the indices in scope,
//! the known facts. `definition` is the driver: it splits the parameters into cases, merges the
//! lines of each case, and prints them.
//!
//! The printing itself is in impl blocks of other modules: [`super::definition`] prints bodies,
//! [`super::arrays`] arrays and index names, [`super::text`] expressions, [`super::predicate`]
//! predicates, [`super::call`] calls.

use std::collections::HashMap;
use std::sync::Arc;

use super::cases::{Case, MANY, MOST, cases, joined};
use super::constructors::Opened;
use super::definition::{Body, whole};
use super::entries::Reader;
use super::hints::Hints;
use super::merge::Merging;
use super::names::{Taken, spelled};
use super::read::{Line, lines};
use super::shape::{Asked, Base, Head};
use super::table::Table;
use super::tree::Ex;
use super::ways::Given;
use super::{Definition, Outside};
use lang_base::{Code, GlobalName, Large, Name};
use lang_ir::core::{Callee, Failing};
use lang_ir::origin::Fate;
use lang_ir::ssa::{Check, FIRST_INDEX, Rhs, Ssa, Var, for_each_read};
use lang_middle::norm::{Bodies, OTHER_CONSTRUCTOR};
use lang_middle::pipeline::Callees;
use lang_resolve::Names;
use lang_sizes::predicate::{Context, Index, LocalId, Poly, Pred};

/// The binding strength of a text. A text needs parentheses where a higher level is required.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Level {
    /// Extends as far to the right as it can.
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

/// The named value that a statement is read from.
#[derive(Clone, Debug)]
pub(super) enum Named {
    /// A part of a parameter or of a top-level value.
    Part(Base, Vec<u32>),
    /// A `let`, or a part of one that binds the result of a call. The type of its base has the
    /// batch axes of the call before its own.
    Let(Base, Vec<u32>),
}

/// The state of printing one body.
pub(super) struct Writer<'a> {
    pub(super) asked: &'a Asked<'a>,
    /// The names of the definition's own variables and indices.
    pub(super) given: Vec<Name>,
    pub(super) lines: Large<Vec<Line>>,
    pub(super) named: HashMap<Var, Named>,
    pub(super) hints: Hints,
    pub(super) taken: Taken,
    /// The indices in scope with their names, outermost first.
    pub(super) scope: Vec<(LocalId, Name)>,
    pub(super) context: Context,
    pub(super) table: Large<Table>,
    /// If not empty, a whole array is printed in place of its element at these indices.
    pub(super) lifted: Vec<Index>,
    /// The printed derivatives of the callees.
    pub(super) made: Vec<(Arc<Callee>, Arc<Definition>)>,
    /// The values of sum types whose constructor is known in the current context.
    pub(super) opened: Vec<Opened>,
    /// The names of tangents, with the values that they are tangents of.
    pub(super) tangents: Vec<(Name, Base)>,
    /// The texts of parameters rebuilt from their parts, with the names of the parameters.
    pub(super) wholes: Vec<(String, Name)>,
    /// The program's names for the arguments of constructors.
    pub(super) sum_names: &'a Given,
    /// The reader of the entries, if entries are printed. A line that is read once then needs no
    /// name.
    pub(super) reader: Option<Reader>,
    /// The lines of the result, and the lines that checks read.
    pub(super) roots: Vec<Var>,
    /// The printed `let`s, with their statements.
    pub(super) written: Vec<(Name, Var)>,
    /// The reason why something could not be printed.
    pub(super) wrong: Option<Outside>,
}

/// The leaves of a value: the path, the indices and the element of each.
pub(super) type Parts = Vec<(Vec<u32>, Vec<Index>, Ex)>;

/// Prints the definition, without layout.
pub(super) fn definition(asked: &Asked<'_>) -> Result<Definition, Outside> {
    let head = asked.head()?;
    let ssa = asked.derived;
    // Keeps the results, and the statements that they need.
    let mut wanted = Large::new((**ssa).clone());
    wanted.outputs = asked.outputs(&head)?;
    let parts = wanted.outputs.len();
    wanted.outputs.extend(asked.constructors(&head));
    let before = wanted.outputs.iter().take(parts).map(|(_, v)| *v).collect();
    let fates = lang_middle::norm::dead::remove(&mut wanted);
    let given = asked.bodies.body(asked.def).map(|body| Given::in_body(&body)).unwrap_or_default();
    let plain = Large::new(lines(&wanted, &mut Table::default())?);
    let mut all = cases(asked, &head, &wanted, &plain, &given, (&[], MANY));
    let possible = |case: &&Case| {
        let (mut ssa, mut read) = (Large::new(wanted.clone()), Large::new(plain.clone()));
        case.put(asked, &head, &mut ssa, &mut read);
        case.fits(&head, ssa.outputs.get(parts..).unwrap_or_default(), &read).is_some()
    };
    if all.len() > MOST && all.iter().filter(possible).count() > MOST {
        all = cases(asked, &head, &wanted, &plain, &given, (&[], MOST));
    }
    let mut bodies = Vec::new();
    for case in &all {
        let body = match writer(asked, &head, &wanted, parts, case, &given, &[])? {
            Some((writer, ssa, live)) => Some(writer.finish(&head, &ssa, &live, case)?),
            None => None,
        };
        bodies.push(body);
    }
    let body = joined(asked, &head, &all, &bodies).ok_or(Outside::Foreign)?;
    let mut made = whole(asked, &head, &body);
    let kept = |now: Var| fates.iter().position(|fate| *fate == Fate::Kept(now)).and_then(|k| u32::try_from(k).ok());
    made.lets.retain_mut(|(_, v)| kept(*v).map(|k| *v = Var(k)).is_some());
    made.results = before;
    Ok(made)
}

/// The writer of a body, the Tensor SSA of the body, and its live statements.
pub(super) type Written<'a> = (Writer<'a>, Large<Ssa>, Vec<Var>);

/// Prepares the writer of a body for one case under some facts. The first `parts` outputs of
/// `wanted` are the results; the others are constructor tags, which must fit the case. Returns
/// `None` if the case is impossible.
pub(super) fn writer<'a>(
    asked: &'a Asked<'a>,
    head: &Head,
    wanted: &Ssa,
    parts: usize,
    case: &Case,
    sum_names: &'a Given,
    facts: &[Pred],
) -> Result<Option<Written<'a>>, Outside> {
    let mut wanted = Large::new(wanted.clone());
    let mut fresh: Large<Table> = Large::default();
    let mut read = Large::new(lines(&wanted, &mut fresh)?);
    case.put(asked, head, &mut wanted, &mut read);
    let told = wanted.outputs.split_off(parts);
    let Some(fits) = case.fits(head, &told, &read) else { return Ok(None) };
    // The check fails for all data.
    let never = |c: &Check| c.cond.is_false() && c.guard.is_true() && c.dims.is_empty();
    if wanted.checks.iter().any(|c| never(c) && c.what.what == OTHER_CONSTRUCTOR) {
        return Ok(None);
    }
    if !fits.is_true() {
        let what = OTHER_CONSTRUCTOR.into();
        let what = Failing { code: Code::E0501, what, item: asked.def.clone(), node: None };
        let (guard, cond) = (Pred::truth(), fits.clone());
        wanted.checks.push(Check { dims: Vec::new(), guard, cond, what: Arc::new(what) });
    }
    let sizes: Vec<Poly> = wanted.sizes.iter().map(|l| Poly::atom(wanted.vars.atom(*l))).collect();
    let mut context = Context::new(&sizes);
    wanted.checks = super::checks::needed(&wanted, &context);
    [&fits].into_iter().chain(facts).for_each(|p| context.assume(p));
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
    let (live, lines, context, roots) = (merging.live(), merging.lines, merging.context, merging.roots);
    let params = head.own.iter().chain(head.beside.iter().map(|b| &b.1)).map(|p| p.base.name.clone());
    let mut taken = Taken::new(params.chain(case.names().cloned()));
    wanted.sizes.iter().for_each(|l| drop(taken.fresh(&wanted.vars.name(*l))));
    let beside = head.beside.iter().filter_map(|b| Some((b.1.base.name.clone(), head.own.get(b.0?)?.base.clone())));
    let tangents = case.tangents(head).into_iter().chain(beside).collect();
    let writer = Writer {
        asked,
        sum_names,
        given,
        lines,
        named: HashMap::new(),
        hints: Hints::of(&asked.stages.core, asked.module),
        taken,
        scope: Vec::new(),
        context,
        table: fresh,
        lifted: Vec::new(),
        made: Vec::new(),
        opened: Vec::new(),
        tangents,
        wholes: case.wholes(asked, head),
        reader: None,
        roots,
        written: Vec::new(),
        wrong: None,
    };
    Ok(Some((writer, wanted, live)))
}

/// Returns whether the callee never fails, for any arguments and sizes.
fn never_fails(module: &dyn Callees, callee: &Arc<Callee>) -> bool {
    lang_base::guarded(|| {
        let Some(ssa) = module.ssa(callee) else { return false };
        ssa.checks.is_empty()
            && ssa.stmts.iter().all(|s| match &s.rhs {
                Rhs::Call { callee, .. } => never_fails(module, callee),
                _ => true,
            })
    })
}

/// Returns the names of a definition's own variables and indices.
fn given_names(bodies: &dyn Bodies, def: &GlobalName) -> Vec<Name> {
    let Some(body) = bodies.body(def) else { return Vec::new() };
    body.locals.iter().map(|l| l.name.clone()).collect()
}

impl Writer<'_> {
    fn finish(mut self, head: &Head, ssa: &Ssa, live: &[Var], case: &Case) -> Result<Body, Outside> {
        let body = self.body(head, ssa, live, case)?;
        self.wrong.map_or(Ok(body), Err)
    }

    pub(super) fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        self.asked.module.ssa(callee)
    }

    pub(super) fn names(&self) -> &dyn Names {
        self.asked.names
    }

    pub(super) fn home(&self) -> &Name {
        &self.asked.def.module
    }

    /// Prints `for i, j: …` around the text that `inside` prints.
    pub(super) fn around(&mut self, own: &[Index], inside: &mut dyn FnMut(&mut Self) -> String) -> String {
        self.generated(own, &Ex::real(0.0), "-", false, &Vec::new(), inside)
    }

    /// Prints a lambda over the arguments that vary.
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

    /// Prints a binder over whole ranges. Returns its head, and the text that `inside` prints in
    /// its scope.
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

    /// Returns the name of an index in scope.
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
