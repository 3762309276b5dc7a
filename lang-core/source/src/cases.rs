//! **Case analysis on parameters.** If parts of a parameter with sum types are read, the derivative
//! gets one body for each combination of constructors. A tangent has the constructors of its value.

use std::collections::{HashMap, HashSet};

use super::constructors::{gathered, names_in};
use super::definition::Body;
use super::entries::Seen;
use super::known::{Fact, constant, told, told_poly, told_pred};
use super::merge::settled;
use super::names::Taken;
use super::read::{Is, Line, Sorted, zero};
use super::regions::{Carried, Looped};
use super::shape::{Asked, Base, Head};
use super::table::Table;
use super::tree::Ex;
use super::ways::{Given, Known, Named, has_sum, ways};
use super::{Definition, Which};
use lang_base::Name;
use lang_ir::core::{Constant, Leaf, SumType};
use lang_ir::flat::Input;
use lang_ir::ssa::{Rhs, Ssa, Var, for_each_read, reads};
use lang_middle::norm::OTHER_CONSTRUCTOR;
use lang_sizes::predicate::{Atom, Context, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The most bodies. A parameter that would need more is matched where it is read.
pub(super) const MOST: usize = 8;

/// The most cases that are considered.
pub(super) const MANY: usize = 64;

/// A parameter of the definition, or an additional one, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    Own(usize),
    Beside(usize),
}

/// A combination of constructors: the parameters that are taken apart, each with its way.
pub(super) struct Case(Vec<(Of, Named)>);

/// Returns at most `most` cases for the parameters that are taken apart. Names in a pattern avoid
/// the other names that the reader sees.
pub(super) fn cases(
    asked: &Asked<'_>,
    head: &Head,
    ssa: &Ssa,
    lines: &[Line],
    given: &Given,
    (seen, most): (&[Seen], usize),
) -> Vec<Case> {
    let read = read_inputs(ssa, lines);
    // Parts of tangents and cotangents may be results themselves.
    let results: HashSet<usize> = ssa.outputs.iter().filter_map(|(_, v)| input(ssa, *v)).collect();
    let reads = |of: Of| {
        let is_read = |k: &usize| read.contains(k) || matches!(of, Of::Beside(_)) && results.contains(k);
        (0..ssa.inputs.len()).any(|k| is_read(&k) && parameter(asked, head, &ssa.inputs, k) == Some(of))
    };
    let mut apart: Vec<(Of, Option<usize>)> = Vec::new();
    for (k, param) in head.own.iter().enumerate() {
        let beside = head.beside.iter().position(|b| b.0 == Some(k));
        let made = asked.which == Which::Adjoint && head.results.iter().any(|r| r.0 == Some(k));
        let refutable = ways(&param.base.ty, MOST).is_some_and(|w| w.len() > 1);
        let beside = beside.filter(|b| reads(Of::Beside(*b)));
        let wanted = reads(Of::Own(k)) || made || beside.is_some() && refutable;
        if has_sum(&param.base.ty) {
            match (wanted, beside) {
                (true, beside) => apart.push((Of::Own(k), beside)),
                (false, Some(b)) => apart.push((Of::Beside(b), None)),
                (false, None) => {}
            }
        }
    }
    if let Some(b) = head.beside.iter().position(|b| b.0.is_none())
        && head.beside.get(b).is_some_and(|b| has_sum(&b.1.base.ty))
        && reads(Of::Beside(b))
    {
        apart.push((Of::Beside(b), None));
    }
    let mut all = vec![Case(Vec::new())];
    for (of, tangent) in apart {
        let Some(base) = base(head, of) else { continue };
        let Some(ways) = ways(&base.ty, MOST).filter(|w| w.len() * all.len() <= most) else { continue };
        let mut longer = Vec::new();
        for case in &all {
            for way in &ways {
                let mut taken = taken(asked, head);
                let others = seen.iter().filter(|s| s.inside.as_ref() != Some(&base.name));
                others.for_each(|other| taken.take(&other.name));
                case.0.iter().flat_map(|(_, named)| named.bound()).for_each(|name| taken.take(name));
                let tangent_of = |of: Of| match of {
                    Of::Beside(b) => head.beside.get(b).and_then(|b| head.own.get(b.0?)).map(|p| &p.base.name),
                    Of::Own(_) => None,
                };
                let mut parts = case.0.clone();
                let (stem, suffix) = tangent_of(of).map_or((&base.name, ""), |own| (own, "_tan"));
                parts.push((of, Named::new(way.clone(), stem, given, &mut taken, suffix)));
                if let Some(b) = tangent {
                    parts.push((Of::Beside(b), Named::new(way.clone(), &base.name, given, &mut taken, "_tan")));
                }
                longer.push(Case(parts));
            }
        }
        all = longer;
    }
    all
}

fn taken(asked: &Asked<'_>, head: &Head) -> Taken {
    let params = head.own.iter().chain(head.beside.iter().map(|b| &b.1)).map(|p| p.base.name.clone());
    let sizes = asked.derived.sizes.iter().map(|l| asked.derived.vars.name(*l));
    Taken::new(params.chain(sizes))
}

fn base(head: &Head, of: Of) -> Option<&Base> {
    match of {
        Of::Own(k) => head.own.get(k).map(|p| &p.base),
        Of::Beside(k) => head.beside.get(k).map(|b| &b.1.base),
    }
}

/// Returns the parameter that an input is a part of.
fn parameter(asked: &Asked<'_>, head: &Head, inputs: &[Input], k: usize) -> Option<Of> {
    let (base, _) = asked.base(head, inputs, k).ok()?;
    let own = head.own.iter().position(|p| p.base.name == base.name).map(Of::Own);
    own.or_else(|| head.beside.iter().position(|b| b.1.base.name == base.name).map(Of::Beside))
}

/// Returns the inputs that a computation reads. Passing an input on in a call does not count.
fn read_inputs(ssa: &Ssa, lines: &[Line]) -> HashSet<usize> {
    let mut vars: Vec<Var> = Vec::new();
    for line in lines {
        match &line.is {
            Is::Input => {}
            Is::Element(e) => e.for_each_use(&mut |v, _| vars.push(v)),
            Is::Call(call, _) => for_each_read(&call.pred, &mut |v| vars.push(v)),
            Is::Update(_) | Is::Loop(_) | Is::Carried(_) | Is::Order(_) => line.for_each_use(&mut |v, _| vars.push(v)),
        }
    }
    for check in &ssa.checks {
        [&check.guard, &check.cond].into_iter().for_each(|p| for_each_read(p, &mut |v| vars.push(v)));
    }
    for stmt in &ssa.stmts {
        stmt.dims.iter().for_each(|p| reads(p, &mut |v| vars.push(v)));
    }
    vars.into_iter().filter_map(|v| input(ssa, v)).collect()
}

/// Returns the number of the input that a statement is.
fn input(ssa: &Ssa, v: Var) -> Option<usize> {
    match ssa.stmts.get(v.0 as usize).map(|s| &s.rhs) {
        Some(Rhs::Input(k)) => Some(*k as usize),
        _ => None,
    }
}

impl Case {
    /// Returns the role of an input in this case.
    pub(super) fn known(&self, asked: &Asked<'_>, head: &Head, inputs: &[Input], k: usize) -> Option<Known> {
        let of = parameter(asked, head, inputs, k)?;
        let (_, named) = self.0.iter().find(|(o, _)| *o == of)?;
        let (_, path) = asked.base(head, inputs, k).ok()?;
        Some(named.part(&path))
    }

    /// Substitutes the facts of this case in lines and checks.
    pub(super) fn put(&self, asked: &Asked<'_>, head: &Head, ssa: &mut Ssa, lines: &mut [Line]) {
        let mut known: HashMap<Var, Fact> = HashMap::new();
        for (k, line) in (0..).zip(lines) {
            let stmt = ssa.stmts.get(k as usize);
            let facts = |v: Var, _: &[Poly]| known.get(&v).cloned();
            line.indices.iter_mut().for_each(|i| i.extent = told_poly(&i.extent, &facts));
            let fact = match &line.is {
                Is::Input => {
                    let Some(Rhs::Input(input)) = stmt.map(|s| &s.rhs) else { continue };
                    match self.known(asked, head, &ssa.inputs, *input as usize) {
                        Some(Known::Constructor(of)) => Fact::Is(Constant::Int(i64::try_from(of).unwrap_or(i64::MAX))),
                        Some(Known::Other) => Fact::Absent(zero(line.scalar.unwrap_or(Scalar::F64))),
                        Some(Known::Part(..)) | None => continue,
                    }
                }
                Is::Element(e) => {
                    let (e, absent) = told(e, &facts);
                    let fact = if absent {
                        Some(Fact::Absent(e.clone()))
                    } else {
                        constant(&e, line.scalar.unwrap_or(Scalar::F64)).map(Fact::Is)
                    };
                    line.is = Is::Element(e);
                    let Some(fact) = fact else { continue };
                    fact
                }
                Is::Call(call, part) => {
                    line.is = Is::Call(call.told(&facts), *part);
                    continue;
                }
                Is::Update(of) => {
                    line.is = Is::Update(Box::new(of.told(&facts)));
                    continue;
                }
                Is::Loop(of) => {
                    line.is = Is::Loop(Box::new(Looped {
                        pred: told_pred(&of.pred, &facts),
                        trips: of.trips.as_ref().map(|p| told_poly(p, &facts)),
                        ..(**of).clone()
                    }));
                    continue;
                }
                Is::Order(of) => {
                    let (pred, key) = (told_pred(&of.pred, &facts), told(&of.key, &facts).0);
                    line.is = Is::Order(Box::new(Sorted { pred, key, ..(**of).clone() }));
                    continue;
                }
                Is::Carried(of) => {
                    line.is = Is::Carried(Box::new(Carried { init: told(&of.init, &facts).0, ..(**of).clone() }));
                    continue;
                }
            };
            line.is = Is::Element(match &fact {
                Fact::Is(Constant::Real(x)) => Ex::real(*x),
                Fact::Is(c) => Ex::Constant(*c),
                Fact::Absent(zero) => zero.clone(),
            });
            known.insert(Var(k), fact);
        }
        let facts = |v: Var, _: &[Poly]| known.get(&v).cloned();
        for check in &mut ssa.checks {
            (check.guard, check.cond) = (told_pred(&check.guard, &facts), told_pred(&check.cond, &facts));
        }
    }

    /// Returns the condition under which the result has the constructors of its cotangent, or
    /// `None` if that is impossible. `told` holds the tags of the result, by path.
    pub(super) fn fits(&self, head: &Head, told: &[(Leaf, Var)], lines: &[Line]) -> Option<Pred> {
        let beside = |of: &Of| matches!(of, Of::Beside(b) if head.beside.get(*b).is_some_and(|b| b.0.is_none()));
        let Some((_, named)) = self.0.iter().find(|(of, _)| beside(of)) else { return Some(Pred::truth()) };
        let mut all = Pred::truth();
        for (leaf, v) in told {
            let Known::Constructor(k) = named.part(&leaf.path) else { continue };
            // The tag in the result of a call is read from there.
            let e = lines.get(v.0 as usize).and_then(Line::element).cloned().unwrap_or(Ex::Read(*v, Vec::new()));
            let e = settled(e, &mut Context::default(), &mut Table::default());
            let number = |e: &Ex| match constant(e, Scalar::I64) {
                Some(Constant::Int(of)) => usize::try_from(of).ok(),
                _ => None,
            };
            let wanted = |p: &Pred, a: usize, b: usize| match (a == k, b == k) {
                (true, true) => Pred::truth(),
                (true, false) => p.clone(),
                (false, true) => p.negated(),
                (false, false) => Pred::falsity(),
            };
            let fits = match &e {
                Ex::Guard(p, a) => number(a).map(|a| wanted(p, a, 0)),
                Ex::Choice(p, a, b) => number(a).zip(number(b)).map(|(a, b)| wanted(p, a, b)),
                e => number(e).map(|a| wanted(&Pred::truth(), a, 0)),
            };
            let read = || Poly::atom(Atom::Read(v.local(), v.name(), std::sync::Arc::from([])));
            all =
                all.and(&fits.unwrap_or_else(|| Pred::equal(&read(), &Poly::constant(i128::try_from(k).unwrap_or(0)))));
        }
        (!all.is_false()).then_some(all)
    }

    /// Returns the patterns of the refutable parameters, and `let`s that destructure the others as
    /// far as they are used. `None` if a constructor has no name in this module.
    pub(super) fn taken_apart(
        &self,
        asked: &Asked<'_>,
        head: &Head,
        used: &HashSet<String>,
        refutable: &[Of],
    ) -> Option<(Vec<String>, Vec<String>)> {
        let mut missing = false;
        let mut spelled = |sum: &SumType, k: usize| {
            let text = asked.constructor(sum, k);
            missing |= text.is_none();
            text.unwrap_or_default()
        };
        let (mut patterns, mut lets) = (Vec::new(), Vec::new());
        for (of, named) in self.in_order() {
            let pattern = named.pattern(&|name| used.contains(name), &mut spelled);
            if refutable.contains(of) {
                patterns.push(pattern);
            } else if named.bound().any(|name| used.contains(name.as_str())) {
                lets.push(format!("let {pattern} = {}", base(head, *of)?.name));
            }
        }
        (!missing).then_some((patterns, lets))
    }

    /// Returns a text for the constructor of each refutable parameter: `s is Circle(r)`. `None` as
    /// for [`Self::taken_apart`].
    pub(super) fn words(
        &self,
        asked: &Asked<'_>,
        head: &Head,
        used: &HashSet<String>,
        refutable: &[Of],
    ) -> Option<Vec<String>> {
        let (patterns, _) = self.taken_apart(asked, head, used, refutable)?;
        let of = self.in_order().map(|(of, _)| of).filter(|of| refutable.contains(of));
        let one = |(of, pattern): (&Of, String)| Some(format!("{} is {pattern}", base(head, *of)?.name));
        of.zip(patterns).map(one).collect()
    }

    /// Returns the role of a leaf of a parameter, if it is taken apart.
    pub(super) fn part(&self, param: usize, path: &[u32]) -> Option<Known> {
        self.0.iter().find(|(of, _)| *of == Of::Own(param)).map(|(_, named)| named.part(path))
    }

    /// Returns the names of tangents in its patterns, with the values that they are tangents of.
    pub(super) fn tangents(&self, head: &Head) -> Vec<(Name, Base)> {
        let mut pairs = Vec::new();
        for (of, tangent) in &self.0 {
            let Of::Beside(b) = of else { continue };
            let own = head.beside.get(*b).and_then(|b| b.0);
            if let Some((_, own)) = self.0.iter().find(|(of, _)| own.is_some_and(|k| *of == Of::Own(k))) {
                pairs.extend(tangent.beside(own));
            }
        }
        pairs
    }

    /// Returns for each parameter that is taken apart the text that rebuilds it, and its name.
    pub(super) fn wholes(&self, asked: &Asked<'_>, head: &Head) -> Vec<(String, Name)> {
        let mut spelled = |sum: &SumType, k: usize| asked.constructor(sum, k).unwrap_or_default();
        let whole = |(of, named): &(Of, Named)| {
            let name = base(head, *of)?.name.clone();
            named.bound().next().map(|_| (named.pattern(&|_| true, &mut spelled), name))
        };
        self.0.iter().filter_map(whole).collect()
    }

    /// Returns its patterns in the order of the parameters.
    fn in_order(&self) -> impl Iterator<Item = &(Of, Named)> {
        let (own, beside): (Vec<_>, Vec<_>) = self.0.iter().partition(|(of, _)| matches!(of, Of::Own(_)));
        own.into_iter().chain(beside)
    }

    /// Returns the names in its patterns.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().flat_map(|(_, named)| named.bound())
    }
}

/// Returns the text of the failure if a tangent or cotangent has another constructor than its
/// value.
pub(super) fn disagreement() -> String {
    format!("error(\"{OTHER_CONSTRUCTOR}\")")
}

/// Returns the parameters with several ways, if several cases exist.
pub(super) fn refutable(head: &Head, cases: &[Case]) -> Vec<Of> {
    match cases {
        [] | [_] => Vec::new(),
        [first, ..] => {
            let ways = |of: Of| base(head, of).and_then(|b| ways(&b.ty, MOST)).map_or(0, |w| w.len());
            // A tangent has the ways of its value.
            first.in_order().map(|(of, _)| *of).filter(|of| ways(*of) > 1).collect()
        }
    }
}

/// Joins the bodies of all cases into a `match`. A single case needs none.
pub(super) fn joined(asked: &Asked<'_>, head: &Head, cases: &[Case], bodies: &[Option<Body>]) -> Option<Body> {
    let refutable = refutable(head, cases);
    let mut arms: Vec<(Vec<String>, String)> = Vec::new();
    let mut only = None;
    let never = Body { lets: Vec::new(), named: Vec::new(), value: disagreement(), before: Vec::new() };
    let mut before: Vec<Definition> = Vec::new();
    let mut all_named = Vec::new();
    for (case, body) in cases.iter().zip(bodies) {
        let Body { lets, named: own, value, before: called } = body.as_ref().unwrap_or(&never);
        all_named.extend(own.iter().cloned());
        for made in called {
            if !before.contains(made) {
                before.push(made.clone());
            }
        }
        let used: HashSet<String> = lets.iter().chain([value]).flat_map(|text| names_in(text)).collect();
        let (patterns, first) = case.taken_apart(asked, head, &used, &refutable)?;
        let lets: Vec<String> = first.into_iter().chain(lets.iter().cloned()).collect();
        if cases.len() == 1 {
            only = Some(Body { lets, named: own.clone(), value: value.clone(), before: called.clone() });
        } else {
            let body = if lets.is_empty() { value.clone() } else { format!("{} in {value}", lets.join(" ")) };
            arms.push((patterns, body));
        }
    }
    if only.is_some() {
        return only;
    }
    let tuple = |items: &[String]| if let [one] = items { one.clone() } else { format!("({})", items.join(", ")) };
    let of: Vec<String> = refutable.iter().filter_map(|of| Some(base(head, *of)?.name.to_string())).collect();
    let tangents =
        refutable.iter().any(|of| matches!(of, Of::Beside(b) if head.beside.get(*b).is_some_and(|b| b.0.is_some())));
    let mut texts: Vec<(String, String)> = arms.iter().map(|(p, body)| (tuple(p), body.clone())).collect();
    let never = disagreement();
    if tangents || texts.iter().any(|(_, text)| *text == never) {
        texts.retain(|(_, text)| *text != never);
        texts.push(("_".to_owned(), never));
    } else {
        gathered(&mut texts);
    }
    let arms: Vec<String> = texts.iter().map(|(p, body)| format!("{p}: {body}")).collect();
    let value = format!("match {} {{ {} }}", tuple(&of), arms.join(", "));
    Some(Body { lets: Vec::new(), named: all_named, value, before })
}
