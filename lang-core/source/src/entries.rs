//! **Derivatives entry by entry**, for a reader who looks at one expression: `w[j]` for `x[i]`. If
//! equations determine the indices of an array, the entry is the element that they select; all
//! others are zero. The session calls `entries` for hovers on expressions and derivative operators.

use std::collections::HashSet;
use std::sync::Arc;

use super::cases::{self, Case, MANY, cases, refutable};
use super::constructors::{Found, names_in};
use super::grouped::{self, grouped, too_many};
use super::mentioned::{mentioned, once};
use super::merge::{settled, substituted};
use super::read::lines;
use super::shape::{Asked, Base, Head, Param, has_real, is_only, mirror, part};
use super::table::Table;
use super::tree::Ex;
use super::ways::{self, Given, has_sum};
use super::writer::{Writer, writer};
use super::{Outside, Shelf, Which, derived};
use lang_base::{Name, Span};
use lang_ir::core::{Callee, Constant, CoreType, Derivation, Outside as NoCore, Reason};
use lang_ir::flat::{Input, Source};
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, index};
use lang_middle::ad::{is_real, real_outputs};
use lang_middle::norm::Bodies;
use lang_middle::pipeline::Callees;
use lang_resolve::Names;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};

/// The derivative whose entries are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// The partial derivatives of the result, a real number, by all real inputs.
    Partials,
    /// The cotangent of a parameter, at the point where the parameter is zero.
    Cotangent {
        /// The number of the parameter.
        param: u32,
        /// The role of the function in the program.
        whose: Whose,
    },
    /// The gradient of a function with one real result by a parameter. For other results, the
    /// cotangent of the parameter.
    Gradient {
        /// The number of the parameter.
        param: u32,
    },
    /// The real parts of the function's value, in order.
    Value(Vec<ValuePart>),
}

/// A real part of a value, with its label.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ValuePart {
    /// The components of tuples and the fields of records on the way to it.
    pub path: Vec<(u32, Option<Name>)>,
    /// For each axis a variable of the program with the same axis, whose index names are used.
    pub axes: Vec<Option<(Name, usize)>>,
    /// The texts before, between and after the indices, one more than axes.
    pub label: Vec<String>,
}

impl ValuePart {
    /// Returns whether it is the part of a value of this type at these positions. Fields are
    /// compared by name, because records have another order there.
    fn is_at(&self, ty: &CoreType, path: &[u32]) -> bool {
        let mut ty = ty;
        let all = self.path.iter().zip(path).all(|((k, name), at)| {
            let CoreType::Tuple(items, labels) = ty.peel().1 else { return false };
            ty = items.get(*at as usize).unwrap_or(ty);
            match name {
                Some(name) => labels.field(*at).is_some_and(|field| *field == **name),
                None => k == at,
            }
        });
        all && self.path.len() == path.len()
    }
}

/// The owner of the result whose cotangent occurs in the entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Whose {
    /// A definition.
    Definition,
    /// An iteration of a loop that carries this name or pattern.
    Iteration(String),
    /// Such an iteration that also yields a value.
    Yielding(String),
    /// A function without a name.
    Function,
}

/// One entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// The variable by which it is the derivative: `x[i]`.
    pub of: String,
    /// The indices of that variable.
    pub at: Vec<String>,
    /// The derivative.
    pub value: String,
}

/// The entries of one case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entries {
    /// The `let`s of shared values that the program does not name.
    pub lets: Vec<String>,
    /// The entries that are not zero everywhere.
    pub all: Vec<Told>,
    /// The part of the expression that they belong to: `[i].mean`; empty for a number.
    pub part: String,
    /// The case, if constructors of sum types decide: `where s is Circle(r)`, `elsewhere`.
    pub case: Option<String>,
    /// The name of the cotangent that occurs in them, and its owner.
    pub cotangent: Option<(Name, Whose)>,
    /// The variables whose names are hidden at the expression: their names in the entries, and in
    /// the program.
    pub hidden: Vec<(Name, Name)>,
}

impl Entries {
    /// Returns whether a text of the entries contains the name.
    #[must_use]
    pub fn mention(&self, name: &str) -> bool {
        let texts = self.lets.iter().chain(self.all.iter().flat_map(|told| [&told.of, &told.value]));
        texts.flat_map(|text| names_in(text)).any(|word| word == name)
    }
}

/// The reason why no entries are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unshown {
    /// The function has no core form.
    Core(Box<NoCore>),
    /// The entries have no text.
    Text(Outside),
    /// The value has many parts.
    Several,
    /// No input or no result is real.
    Constant,
}

impl Unshown {
    /// Returns the reason as text; `None` for a constant, which needs no explanation.
    #[must_use]
    pub fn phrase(&self) -> Option<String> {
        Some(match self {
            Self::Core(why) => why.what.phrase().to_owned(),
            Self::Text(why) => why.phrase().to_owned(),
            Self::Several => "it has many parts, each with its own".to_owned(),
            Self::Constant => return None,
        })
    }
}

impl From<Outside> for Unshown {
    fn from(why: Outside) -> Self {
        Self::Text(why)
    }
}

/// A variable in scope at the expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Its name.
    pub name: Name,
    /// Its rank.
    pub rank: usize,
    /// The variable whose constructor pattern binds it, if one does.
    pub inside: Option<Name>,
}

/// The reader of entries.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// The variables in scope.
    pub(super) seen: Vec<Seen>,
    /// Whether the seed is 1. Then no cotangent of the program occurs.
    pub(super) of_one: bool,
}

/// The context of an expression whose entries are shown. Its functions use the variables of an
/// `Ssa` in polynomials.
pub struct Surroundings<'k> {
    /// The variables in scope.
    pub seen: Vec<Seen>,
    /// The names of the indices around, which are the first indices of a cotangent's parameter.
    pub indices: &'k [Name],
    /// Returns the values at which these indices start; the parameter counts from there. `None` if
    /// one has no form.
    pub begins: &'k dyn Fn(&Ssa) -> Option<Vec<Poly>>,
    /// Returns the facts that hold if the indices of an entry have these values.
    pub known: &'k dyn Fn(&Ssa, &[Poly]) -> Vec<Pred>,
}

impl Surroundings<'_> {
    /// Returns the context of a whole definition.
    #[must_use]
    pub fn none() -> Self {
        Self { seen: Vec::new(), indices: &[], begins: &|_| Some(Vec::new()), known: &|_, _| Vec::new() }
    }
}

/// Returns the entries of a function, for a reader who sees these variables. If they depend on the
/// constructors of sum types, the result has one element for each distinct case that is not zero.
///
/// # Errors
/// The reason why no entries are shown.
pub fn entries(
    module: &dyn Callees,
    bodies: &dyn Bodies,
    names: &dyn Names,
    callee: &Arc<Callee>,
    entry: &Entry,
    around: Surroundings<'_>,
) -> Result<Vec<Entries>, Unshown> {
    let ssa = at_point(module, callee, entry)?.ok_or(Unshown::Constant)?;
    if let Entry::Value(_) = entry
        && has_sum(&ssa.result)
    {
        return Err(Outside::SumType.into());
    }
    let stages = module.stages(callee).map_err(Unshown::Core)?;
    let ssa = Arc::new(ssa);
    let (def, which, shelf) = (&callee.def, Which::Adjoint, &Shelf::default());
    let asked = Asked { module, bodies, names, shelf, def, text: "", which, stages: &stages, derived: &ssa };
    lang_base::guarded(|| told(&asked, entry, around))
}

/// Returns the form whose outputs are the entries, without checks: the primal for a value, else the
/// adjoint. Its seed is 1 if `of_one` holds; the parameter of a cotangent is 0. `None` if nothing
/// is real.
fn at_point(module: &dyn Callees, callee: &Arc<Callee>, entry: &Entry) -> Result<Option<Ssa>, Unshown> {
    let adjoint = match entry {
        Entry::Partials => derived(module, callee, Which::Adjoint).map_err(Unshown::Core)?,
        Entry::Value(_) => Some(Arc::clone(&module.stages(callee).map_err(Unshown::Core)?.ssa)),
        Entry::Cotangent { param, .. } | Entry::Gradient { param } => {
            let stages = module.stages(callee).map_err(Unshown::Core)?;
            let inputs = (0..).zip(&stages.ssa.inputs);
            let wrt: Vec<u32> = inputs.filter(|(_, i)| i.source == Source::Param(*param)).map(|(k, _)| k).collect();
            let of = real_outputs(&stages.ssa);
            if of.is_empty() || wrt.is_empty() {
                return Ok(None);
            }
            let adjoint = callee.derive(Derivation::Adjoint { of: of.into(), wrt: wrt.into() });
            let none = || NoCore { what: Reason::Derivative, item: callee.def.clone(), span: Span::default() };
            Some(module.ssa(&Arc::new(adjoint)).ok_or_else(|| Unshown::Core(Box::new(none())))?)
        }
    };
    let Some(adjoint) = adjoint else { return Ok(None) };
    let mut ssa = (*adjoint).clone();
    let of_one = of_one(module, callee, entry)?;
    for stmt in &mut ssa.stmts {
        let Rhs::Input(k) = &stmt.rhs else { continue };
        match (entry, ssa.inputs.get(*k as usize).map(|i| &i.source)) {
            (_, Some(Source::Cotangent(_))) if of_one => stmt.rhs = Rhs::Constant(Constant::Real(1.0)),
            (Entry::Cotangent { param, .. }, Some(Source::Param(p))) if p == param => stmt.rhs = Rhs::Zero,
            _ => {}
        }
    }
    ssa.checks.clear();
    ssa.stmts.iter_mut().for_each(|s| s.needs.clear());
    ssa.needs.clear();
    named(&mut ssa);
    Ok(Some(ssa))
}

/// Returns whether the seed is 1. If the result is not a single real number, the seed is a
/// parameter.
fn of_one(module: &dyn Callees, callee: &Arc<Callee>, entry: &Entry) -> Result<bool, Unshown> {
    Ok(match entry {
        Entry::Partials => true,
        Entry::Cotangent { .. } | Entry::Value(_) => false,
        Entry::Gradient { .. } => is_number(&module.stages(callee).map_err(Unshown::Core)?.ssa.result),
    })
}

/// Returns whether it is the type of a real number.
fn is_number(ty: &CoreType) -> bool {
    matches!(ty, CoreType::Scalar(s) if is_real(Some(*s)))
}

/// Returns `x_adj[i]` for `x[i]`.
fn adjoint_of(part: &str) -> String {
    let end = part.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(part.len());
    let (name, rest) = part.split_at(end);
    format!("{name}_adj{rest}")
}

/// Moves the name of a sum to its only term that is not zero.
fn named(ssa: &mut Ssa) {
    for k in 0..ssa.stmts.len() {
        let Some(Stmt { name: Some(name), rhs: Rhs::Add(terms), dims, .. }) = ssa.stmts.get(k) else { continue };
        let is_zero = |of: &Access| ssa.stmts.get(of.var.0 as usize).is_some_and(|s| s.rhs == Rhs::Zero);
        let mut others = terms.iter().filter(|t| !is_zero(&t.of));
        let own: Vec<Poly> = (0..).zip(dims).map(|(k, n)| index(k, n).value()).collect();
        let (Some(one), None) = (others.next().filter(|t| t.pred.is_true() && !t.neg && t.of.at == own), others.next())
        else {
            continue;
        };
        let (of, name) = (one.of.var.0 as usize, name.clone());
        if ssa.stmts.get(of).is_some_and(|of| of.name.is_none() && of.dims == *dims) {
            ssa.stmts.iter_mut().skip(of).take(1).for_each(|of| of.name = Some(name.clone()));
            ssa.stmts.iter_mut().skip(k).take(1).for_each(|sum| sum.name = None);
        }
    }
}

fn told(asked: &Asked<'_>, entry: &Entry, around: Surroundings<'_>) -> Result<Vec<Entries>, Unshown> {
    let mut head = head(asked, entry);
    let mut wanted = (**asked.derived).clone();
    match entry {
        Entry::Value(parts) => {
            let is_told = |path: &[u32]| parts.iter().any(|part| part.is_at(&asked.stages.ssa.result, path));
            wanted.outputs.retain(|(leaf, _)| is_told(&leaf.path));
        }
        _ => wanted.outputs = asked.outputs(&head)?,
    }
    let parts = wanted.outputs.len();
    let _ = lang_middle::norm::dead::remove(&mut wanted);
    as_given(&mut wanted, &mut head, &around.seen);
    let given = asked.bodies.body(asked.def).map(|body| Given::in_body(&body)).unwrap_or_default();
    let plain = lines(&wanted, &mut Table::default())?;
    let cases = cases(asked, &head, &wanted, &plain, &given, (&around.seen, MANY));
    let refutable = refutable(&head, &cases);
    let of = Of { asked, entry, head: &head, wanted: &wanted, parts, given: &given, refutable: &refutable };
    let mut told = Vec::new();
    for case in &cases {
        told.extend(of.told(case, &around)?);
        if too_many(&told) {
            return Err(Unshown::Several);
        }
    }
    grouped(&told)
}

/// The request, which is answered case by case.
struct Of<'a> {
    asked: &'a Asked<'a>,
    entry: &'a Entry,
    head: &'a Head,
    wanted: &'a Ssa,
    parts: usize,
    given: &'a Given,
    /// The parameters with several ways.
    refutable: &'a [cases::Of],
}

impl Of<'_> {
    /// Returns the entries of a case, or `None` if the case is impossible.
    fn told(&self, case: &Case, around: &Surroundings<'_>) -> Result<Option<grouped::Of>, Unshown> {
        let Self { asked, entry, head, wanted, given, .. } = *self;
        let facts = match entry {
            Entry::Partials | Entry::Value(_) => (around.known)(wanted, &[]),
            Entry::Cotangent { .. } | Entry::Gradient { .. } => Vec::new(),
        };
        let Some((mut writer, ssa, live)) = writer(asked, head, wanted, self.parts, case, given, &facts)? else {
            return Ok(None);
        };
        around.seen.iter().for_each(|seen| writer.taken.take(&seen.name));
        around.indices.iter().for_each(|name| writer.taken.take(name));
        writer.reader = Some(Reader { seen: around.seen.clone(), of_one: head.beside.is_empty() });
        let mut lets = writer.lets(head, &ssa, &live, case)?;
        let mut all = match entry {
            Entry::Value(parts) => writer.parts_of_value(head, &ssa, parts, around)?,
            Entry::Gradient { .. } if head.beside.is_empty() => {
                writer.entries(head, &ssa, case, around, &|of| format!("∇{of}"))?
            }
            Entry::Gradient { .. } => writer.entries(head, &ssa, case, around, &adjoint_of)?,
            Entry::Partials | Entry::Cotangent { .. } => writer.entries(head, &ssa, case, around, &str::to_owned)?,
        };
        lets = once(lets, &mut all);
        lets = mentioned(&lets, all.iter().flat_map(|told| [told.of.as_str(), &told.value]));
        if let Some(why) = writer.wrong {
            return Err(why.into());
        }
        let texts = lets.iter().chain(all.iter().flat_map(|told| [&told.of, &told.value]));
        let mut used: HashSet<String> = texts.flat_map(|text| names_in(text)).collect();
        let words = |used: &HashSet<String>| case.words(asked, head, used, self.refutable).ok_or(Outside::Foreign);
        let (words, ways) = (words(&used)?, words(&HashSet::new())?);
        used.retain(|name| !around.seen.iter().any(|seen| seen.name == **name));
        let (_, first) = case.taken_apart(asked, head, &used, self.refutable).ok_or(Outside::Foreign)?;
        lets.splice(0..0, first);
        let has = |name: &Name| {
            let texts = lets.iter().chain(all.iter().map(|told| &told.value));
            texts.flat_map(|text| names_in(text)).any(|word| word == name.as_str())
        };
        let cotangent = head.beside.iter().find(|(of, _)| of.is_none()).map(|(_, p)| p.base.name.clone());
        let whose = match entry {
            Entry::Cotangent { whose, .. } => whose.clone(),
            Entry::Partials | Entry::Gradient { .. } | Entry::Value(_) => Whose::Definition,
        };
        let cotangent = cotangent.filter(has).map(|name| (name, whose));
        let entries = Entries { lets, all, part: String::new(), case: None, cotangent, hidden: Vec::new() };
        Ok(Some(grouped::Of { entries, words, ways }))
    }
}

/// Turns results of loops, updates and sorts into parameters if the reader sees them by name.
fn as_given(ssa: &mut Ssa, head: &mut Head, seen: &[Seen]) {
    let is_seen = |s: &Stmt| seen.iter().any(|seen| Some(&seen.name) == s.name.as_ref() && seen.rank == s.dims.len());
    let once = |s: &Stmt| ssa.stmts.iter().filter(|other| other.name == s.name && is_seen(other)).count() == 1;
    let is_made = |s: &Stmt| matches!(s.rhs, Rhs::Loop(..) | Rhs::Update { .. } | Rhs::Order(_));
    let found = (0..ssa.stmts.len()).filter(|k| ssa.stmts.get(*k).is_some_and(|s| is_made(s) && is_seen(s) && once(s)));
    for k in found.collect::<Vec<_>>() {
        let Some(Stmt { name: Some(name), scalar: Some(scalar), dims, .. }) = ssa.stmts.get(k).cloned() else {
            continue;
        };
        let (Ok(param), Ok(input)) = (u32::try_from(head.own.len()), u32::try_from(ssa.inputs.len())) else { continue };
        let ty = CoreType::Scalar(scalar).array(dims.iter().cloned());
        let Some(leaf) = ty.leaves().into_iter().next() else { continue };
        let local = Var(u32::try_from(k).unwrap_or(u32::MAX)).local();
        ssa.inputs.push(Input { local, source: Source::Param(param), leaf });
        head.own.push(Param { base: Base { name, ty }, written: String::new() });
        ssa.stmts.iter_mut().skip(k).take(1).for_each(|s| s.rhs = Rhs::Input(input));
    }
    let _ = lang_middle::norm::dead::remove(ssa);
}

/// Returns the parameters, and the results whose entries are shown.
fn head(asked: &Asked<'_>, entry: &Entry) -> Head {
    let ssa = &asked.stages.ssa;
    let param = |(local, ty): &(_, _)| Param {
        base: Base { name: ssa.vars.name(*local), ty: Clone::clone(ty) },
        written: String::new(),
    };
    let own: Vec<Param> = ssa.params.iter().map(param).collect();
    let result = |(k, p): (usize, &Param)| (Some(k), mirror(&p.base.ty), String::new());
    let all = own.iter().enumerate();
    match entry {
        Entry::Partials => {
            let results = all.filter(|(_, p)| has_real(&p.base.ty)).map(result).collect();
            Head { own, beside: Vec::new(), results }
        }
        Entry::Value(_) => Head { own, beside: Vec::new(), results: vec![(None, ssa.result.clone(), String::new())] },
        Entry::Gradient { param } => {
            let results = all.filter(|(k, _)| *k == *param as usize).map(result).collect();
            let mut beside = Vec::new();
            if !is_number(&ssa.result) {
                let name = asked.result_name(None, &|name| own.iter().any(|p| p.base.name == name));
                let base = Base { name, ty: mirror(&ssa.result) };
                beside.push((None, Param { base, written: String::new() }));
            }
            Head { own, beside, results }
        }
        Entry::Cotangent { param, whose } => {
            let results = all.filter(|(k, _)| *k == *param as usize).map(result).collect();
            let carried = match whose {
                Whose::Iteration(carried) if is_name(carried) => Some(carried.as_str()),
                _ => None,
            };
            let name = asked.result_name(carried, &|name| own.iter().any(|p| p.base.name == name));
            let base = Base { name, ty: mirror(&ssa.result) };
            let beside = vec![(None, Param { base, written: String::new() })];
            Head { own, beside, results }
        }
    }
}

/// A printer of an entry's label and value at its indices.
type Tell<'w, 'a> = dyn Fn(&mut Writer<'w>, &[Poly], &Ex) -> (String, String) + 'a;

impl<'w> Writer<'w> {
    fn entries(
        &mut self,
        head: &Head,
        ssa: &Ssa,
        case: &Case,
        around: &Surroundings<'_>,
        called: &dyn Fn(&str) -> String,
    ) -> Result<Vec<Told>, Outside> {
        let begins = (around.begins)(ssa).ok_or(Outside::Loop)?;
        let known: &dyn Fn(&[Poly]) -> Vec<Pred> = &|at| (around.known)(ssa, at);
        let mut given = ssa.outputs.iter().map(|(_, v)| *v);
        let mut all = Vec::new();
        for (of, ty, _) in &head.results {
            let (param, base) = of.and_then(|k| Some((k, &head.own.get(k)?.base))).ok_or(Outside::Unreadable)?;
            for leaf in ty.leaves() {
                if is_only(ty, &leaf.path) {
                    continue;
                }
                let v = given.next().ok_or(Outside::Unreadable)?;
                if !is_real(leaf.scalar) {
                    continue;
                }
                let (base, path) = match case.part(param, &leaf.path) {
                    Some(ways::Known::Part(base, path)) => (base, path),
                    Some(ways::Known::Constructor(_) | ways::Known::Other) => continue,
                    None => (base.clone(), leaf.path),
                };
                let around = (around.indices, begins.as_slice());
                let hints = |this: &Self, k: usize| this.hint(&base.name, k);
                let told = |this: &mut Self, at: &[Poly], e: &Ex| {
                    let (of, value) = this.told(&base, &path, at, e);
                    (called(&of), value)
                };
                all.extend(self.entries_of(v, around, known, &hints, &told));
            }
        }
        Ok(all)
    }

    /// Returns the entries of the real parts of the value.
    fn parts_of_value(
        &mut self,
        head: &Head,
        ssa: &Ssa,
        parts: &[ValuePart],
        around: &Surroundings<'_>,
    ) -> Result<Vec<Told>, Outside> {
        let known: &dyn Fn(&[Poly]) -> Vec<Pred> = &|at| (around.known)(ssa, at);
        let mut all = Vec::new();
        for (leaf, v) in &ssa.outputs {
            let part = parts
                .iter()
                .find(|part| part.is_at(&self.asked.stages.ssa.result, &leaf.path))
                .ok_or(Outside::Unreadable)?;
            let is_own = |name: &Name| head.own.iter().any(|p| p.base.name == *name);
            let hints = |this: &Self, k: usize| {
                let (name, axis) = part.axes.get(k)?.as_ref().filter(|(name, _)| is_own(name))?;
                this.hint(name, *axis)
            };
            let told = |this: &mut Self, at: &[Poly], e: &Ex| {
                let mut label = part.label.iter();
                let mut of = label.next().cloned().unwrap_or_default();
                for (p, text) in at.iter().zip(label) {
                    of += &bare(this.poly(p).0);
                    of += text;
                }
                (of, this.whole_text(e))
            };
            all.extend(self.entries_of(*v, (&[], &[]), known, &hints, &told));
        }
        Ok(all)
    }

    /// Prints an entry's label and value. A leaf inside an element of a sum type has a label with
    /// the constructor: `r where s[i] is Circle(r)`.
    fn told(&mut self, base: &Base, path: &[u32], at: &[Poly], e: &Ex) -> (String, String) {
        let (site, rest) = match self.find(base, path, at) {
            Found::Inside(site, rest, _) => (site, rest),
            Found::Part(base, path, at) => {
                let at: Vec<String> = at.iter().map(|p| bare(self.poly(p).0)).collect();
                return (part(&base, &path, &at), self.whole_text(e));
            }
            Found::Constructor(_) | Found::Other => {
                self.wrong = Some(Outside::Unreadable);
                return (String::new(), String::new());
            }
        };
        let constructor = rest.first().and_then(|k| usize::try_from(*k).ok()?.checked_sub(1));
        let whole = self.site_text(&site);
        let made = constructor.and_then(|k| {
            self.opening(&site, k, &mut |this| {
                let e = this.assumed(e);
                let (of, value) = this.told(base, path, at, &e);
                // One text, because the pattern must bind the names of both.
                Some(format!("{of}\n{value}"))
            })
        });
        let Some((pattern, (of, value))) =
            made.as_ref().and_then(|(pattern, both)| Some((pattern, both.split_once('\n')?)))
        else {
            self.wrong = Some(Outside::Foreign);
            return (String::new(), String::new());
        };
        let join = if of.contains(WHERE) { ", " } else { WHERE };
        (format!("{of}{join}{whole} is {pattern}"), value.to_owned())
    }

    /// Returns the entries of one leaf of a parameter, which the statement `v` holds. The first
    /// indices are those around the expression, each with its start. Equations for them stay,
    /// because the entry is shown at their current values.
    fn entries_of(
        &mut self,
        v: Var,
        (names, begins): (&[Name], &[Poly]),
        known: &dyn Fn(&[Poly]) -> Vec<Pred>,
        hints: &dyn Fn(&Self, usize) -> Option<Name>,
        told: &Tell<'w, '_>,
    ) -> Vec<Told> {
        let (own, e) = (self.indices_of(v), self.root(v));
        // Unnamed lines are inlined, so that the facts at this place simplify them.
        let unnamed = |v: Var| self.lines.get(v.0 as usize).filter(|_| !self.named.contains_key(&v)).cloned();
        let e = substituted(&e, &unnamed, &mut self.table);
        let mut all = Vec::new();
        let from_begin = |a: &Atom| {
            let k = own.iter().position(|i| i.atom() == *a)?;
            let begin = begins.get(k).filter(|begin| **begin != Poly::default())?;
            Some(Poly::atom(a.clone()).sub(begin))
        };
        let e = e.map_polys(&|p| p.substitute(&from_begin));
        let mut found = apart(&own, names.len(), e.clone());
        // If an array has entries at several places, one entry covers them all, and its terms state
        // their places.
        if found.len() > 1 {
            found = vec![(own.iter().map(Index::value).collect(), vec![(false, Pred::truth(), e)])];
        }
        for (at, terms) in found {
            let (mark, depth) = (self.context.mark(), self.scope.len());
            for (k, i) in own.iter().enumerate() {
                if let Some(name) = names.get(k) {
                    self.scope.push((i.local, name.clone()));
                } else if at.get(k) == Some(&i.value()) {
                    let hint = hints(self, k);
                    let name = self.taken.index(hint.as_ref());
                    self.scope.push((i.local, name));
                }
                if begins.get(k).is_none_or(|begin| *begin == Poly::default()) {
                    self.context.enter(i);
                }
            }
            known(&at).iter().for_each(|p| self.context.assume(p));
            let terms = terms.into_iter().map(|(neg, p, e)| (neg, Ex::guard(p, e)));
            let e = settled(Ex::sum(terms.collect()), &mut self.context, &mut self.table);
            if e.as_real() != Some(0.0) {
                let (of, value) = told(self, &at, &e);
                let at = at.iter().map(|p| bare(self.poly(p).0)).collect();
                all.push(Told { of, at, value });
            }
            self.context.release(mark);
            self.leave(depth);
            names.iter().for_each(|name| self.taken.take(name));
        }
        all
    }
}

/// The text between a label and its constructor.
const WHERE: &str = " where ";

/// Returns whether the text is one name, not a pattern.
fn is_name(text: &str) -> bool {
    text != "_" && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Removes parentheses around the whole text.
fn bare(text: String) -> String {
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let mut depth = 0_i32;
    let closed = |inner: &str| {
        inner.chars().all(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth >= 0
        })
    };
    match inner.map(closed) {
        Some(true) => inner.unwrap_or_default().to_owned(),
        _ => text,
    }
}

/// A term: whether it is subtracted, its predicate, its value.
type Term = (bool, Pred, Ex);

/// Groups the terms of an element by the places that equations determine, for all indices but the
/// first ones.
fn apart(own: &[Index], first: usize, e: Ex) -> Vec<(Vec<Poly>, Vec<Term>)> {
    let terms = if let Ex::Sum(terms) = e { terms } else { vec![(false, e)] };
    let mut all: Vec<(Vec<Poly>, Vec<Term>)> = Vec::new();
    for (neg, e) in terms {
        let (mut pred, mut e) = if let Ex::Guard(p, e) = e { (p, *e) } else { (Pred::truth(), e) };
        let mut at: Vec<Poly> = own.iter().map(Index::value).collect();
        for i in own.iter().skip(first) {
            let atom = i.atom();
            let Some(is) = pred.solution(&atom) else { continue };
            if own.iter().any(|j| is.mentions(&j.atom())) {
                continue;
            }
            let put = |p: &Poly| p.substitute(&|a| (*a == atom).then(|| is.clone()));
            pred = pred.map(&put);
            e = e.map_polys(&put);
            at.iter_mut().for_each(|p| *p = put(p));
        }
        match all.iter_mut().find(|(known, _)| *known == at) {
            Some((_, terms)) => terms.push((neg, pred, e)),
            None => all.push((at, vec![(neg, pred, e)])),
        }
    }
    all
}
