//! **Sum types inside expressions.** A read of a value of a sum type is printed in an arm of a
//! `match`. For a type with one constructor it is printed after a `let`. Values of sum types are
//! built with constructors. This module serves the values that [`super::cases`] does not take
//! apart.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::arrays::direct_reads;
use super::cases::disagreement;
use super::known::{Fact, constant, told};
use super::merge::settled;
use super::read::zero;
use super::shape::{Base, part};
use super::tree::Ex;
use super::writer::{Level, Named, Parts, Writer};
use lang_ir::core::{Constant, CoreType, Labels, SumType};
use lang_ir::ssa::{FIRST_INDEX, Var};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_syntax::lexer::{Token, lex};
use lang_syntax::ops::Scalar;

/// A value of a sum type by its location: a part of a named value, at some indices.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Site {
    base: Base,
    path: Vec<u32>,
    at: Vec<Poly>,
}

/// A site whose constructor is known, and the names of the constructor's arguments.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    site: Site,
    constructor: usize,
    args: Vec<Base>,
}

/// The location of a part of a named value, under the known constructors.
pub(super) enum Found {
    /// A part of a named value.
    Part(Base, Vec<u32>, Vec<Poly>),
    /// The tag of a known constructor.
    Constructor(usize),
    /// A leaf of another constructor than the known one.
    Other,
    /// A leaf inside a value of a sum type: the site, the path inside, and the remaining indices.
    Inside(Site, Vec<u32>, Vec<Poly>),
}

impl Writer<'_> {
    /// Locates a part.
    pub(super) fn find(&self, base: &Base, path: &[u32], at: &[Poly]) -> Found {
        let (mut base, mut path, mut at) = (base.clone(), path.to_vec(), at.to_vec());
        loop {
            let Some((steps, dims)) = crossing(&base.ty, &path) else { return Found::Part(base, path, at) };
            let (before, rest) = path.split_at_checked(steps).unwrap_or_default();
            let Some((first, last)) = at.split_at_checked(dims) else { return Found::Part(base, path, at) };
            let site = Site { base: base.clone(), path: before.to_vec(), at: first.to_vec() };
            let opened = self
                .opened
                .iter()
                .find(|o| o.site.base.name == site.base.name && o.site.path == site.path && o.site.at == site.at);
            let Some(opened) = opened else {
                let only = sum_at(&site).is_some_and(|(sum, _)| sum.constructors.len() == 1);
                return match rest {
                    [0] if only => Found::Constructor(0),
                    _ => Found::Inside(site, rest.to_vec(), last.to_vec()),
                };
            };
            match rest {
                [0] => return Found::Constructor(opened.constructor),
                [of, arg, rest @ ..] if *of as usize == opened.constructor + 1 => {
                    let Some(arg) = opened.args.get(*arg as usize) else { return Found::Other };
                    (base, path, at) = (arg.clone(), rest.to_vec(), last.to_vec());
                }
                _ => return Found::Other,
            }
        }
    }

    /// Prints an element inside a value of a sum type as a `match` of its own.
    pub(super) fn read_inside(&mut self, site: &Site, rest: &[u32], at: &[Poly]) -> (String, Level) {
        let Some((sum, types)) = sum_at(site) else { return self.unwritten() };
        let of = self.site_text(site);
        let mut arms = Vec::new();
        for k in 0..sum.constructors.len() {
            let Some(name) = self.asked.constructor(&sum, k) else { return self.unwritten() };
            let arity = types.get(k).map_or(0, Vec::len);
            let held = matches!(rest, [of, ..] if *of as usize == k + 1);
            let (value, read) = match rest {
                [0] => (k.to_string(), None),
                [_, arg, path @ ..] if held => {
                    let ty = types.get(k).and_then(|t| t.get(*arg as usize)).cloned().unwrap_or_else(CoreType::unit);
                    let base = Base { name: self.taken.fresh("v"), ty };
                    let texts: Vec<String> = at.iter().map(|p| self.poly(p).0).collect();
                    self.taken.release(&base.name);
                    (part(&base, path, &texts), Some((*arg as usize, base.name)))
                }
                _ => continue,
            };
            let args: Vec<String> = (0..arity)
                .map(|j| match &read {
                    Some((arg, name)) if *arg == j => name.to_string(),
                    _ => "_".to_owned(),
                })
                .collect();
            let pattern = if args.is_empty() { name } else { format!("{name}({})", args.join(", ")) };
            arms.push(format!("{pattern}: {value}"));
        }
        if arms.len() < sum.constructors.len() {
            let mut ty = &site.base.ty;
            let path: Vec<u32> = site.path.iter().chain(rest).copied().collect();
            let scalar = leaf_scalar(&mut ty, &path);
            arms.push(format!("_: {scalar}"));
        }
        (format!("(match {of} {{ {} }})", arms.join(", ")), Level::Post)
    }

    fn unwritten(&mut self) -> (String, Level) {
        self.wrong = Some(super::Outside::Foreign);
        ("_".to_owned(), Level::Post)
    }

    pub(super) fn site_text(&mut self, site: &Site) -> String {
        let at: Vec<String> = site.at.iter().map(|p| self.poly(p).0).collect();
        part(&site.base, &site.path, &at)
    }

    /// Prints a whole expression. A value of a sum type that it reads at indices in scope is
    /// matched around the expression.
    pub(super) fn whole_text(&mut self, e: &Ex) -> String {
        let sites = if self.lifted.is_empty() { self.sites_in(e) } else { Vec::new() };
        if sites.is_empty() {
            return self.ex(e).0;
        }
        self.apart(&sites, &mut |this| {
            let e = this.assumed(e);
            this.whole_text(&e)
        })
    }

    /// Returns the values of sum types that an expression reads at places independent of its bound
    /// indices and of data.
    fn sites_in(&mut self, e: &Ex) -> Vec<Site> {
        let mut sites: Vec<Site> = Vec::new();
        for (v, at) in self.reads_in(e) {
            let Some(Named::Part(base, path) | Named::Let(base, path)) = self.named.get(&v) else { continue };
            let Found::Inside(site, ..) = self.find(base, path, &at) else { continue };
            let mut around = true;
            site.at.iter().for_each(|p| {
                p.for_each_atom(&mut |a| match a {
                    Atom::Local(l, _) if l.0 >= FIRST_INDEX => around &= self.index_name(*l).is_some(),
                    Atom::Read(..) => around = false,
                    _ => {}
                });
            });
            if around && !sites.contains(&site) {
                sites.push(site);
            }
        }
        sites
    }

    /// Returns the reads of named statements, also through inlined statements.
    fn reads_in(&mut self, e: &Ex) -> Vec<(Var, Vec<Poly>)> {
        let (mut found, mut open, mut done) = (Vec::new(), direct_reads(e), HashSet::new());
        while let Some((v, at)) = open.pop() {
            if !done.insert((v, at.clone())) {
                continue;
            }
            match self.written_out(v, &at) {
                Some(inner) => open.extend(direct_reads(&inner)),
                None => found.push((v, at)),
            }
        }
        // In the order of the statements.
        found.sort_by_key(|(v, _)| *v);
        found
    }

    /// Prints a text for each constructor of the first of these values. A tangent has the
    /// constructor of its value.
    fn apart(&mut self, sites: &[Site], write: &mut dyn FnMut(&mut Self) -> String) -> String {
        let Some(first) = sites.first() else { return write(self) };
        let own = self.value_of(first);
        let is_open = |this: &Self, site: &Site| this.opened.iter().any(|o| o.site == *site);
        match own {
            Some(own) if !is_open(self, &own) => self.arms(&own, Some(first), write),
            Some(_) => self.arms_of_tangent(first, write),
            None => {
                let tangent = sites.iter().find(|s| self.value_of(s).is_some_and(|own| own == *first));
                self.arms(first, tangent, write)
            }
        }
    }

    /// Returns the value that another one is the tangent of.
    fn value_of(&self, site: &Site) -> Option<Site> {
        let (_, base) = self.tangents.iter().find(|(name, _)| *name == site.base.name)?;
        Some(Site { base: base.clone(), ..site.clone() })
    }

    /// Prints a text where the value is made by constructor `k`. Returns the pattern and the text.
    pub(super) fn opening(
        &mut self,
        site: &Site,
        k: usize,
        write: &mut dyn FnMut(&mut Self) -> Option<String>,
    ) -> Option<(String, String)> {
        let (sum, types) = sum_at(site)?;
        let types = types.get(k)?;
        let name = self.asked.constructor(&sum, k)?;
        let wanted = self.sum_names.of(&site.base.name, k, types.len());
        let mut args = Vec::new();
        for (j, ty) in types.iter().enumerate() {
            let wanted = wanted.get(j).cloned().flatten().unwrap_or_else(|| format!("{}{j}", site.base.name).into());
            args.push(Base { name: self.taken.fresh(&wanted), ty: ty.clone() });
        }
        let of = self.value_of(site);
        let own = self.opened.iter().find(|o| Some(&o.site) == of.as_ref()).map(|o| o.args.clone()).unwrap_or_default();
        let before = self.tangents.len();
        self.tangents.extend(args.iter().map(|a| a.name.clone()).zip(own));
        self.opened.push(Opened { site: site.clone(), constructor: k, args: args.clone() });
        let text = write(self);
        self.opened.pop();
        self.tangents.truncate(before);
        args.iter().for_each(|arg| self.taken.release(&arg.name));
        let text = text?;
        let used = names_in(&text);
        let args: Vec<&str> =
            args.iter().map(|a| if used.iter().any(|u| *u == *a.name) { a.name.as_str() } else { "_" }).collect();
        Some((if args.is_empty() { name } else { format!("{name}({})", args.join(", ")) }, text))
    }

    /// Prints a text for each constructor of a value and of its tangent.
    fn arms(&mut self, site: &Site, tangent: Option<&Site>, write: &mut dyn FnMut(&mut Self) -> String) -> String {
        let Some((sum, _)) = sum_at(site) else { return self.unwritten().0 };
        let of = self.site_text(site);
        let beside = tangent.map(|t| self.site_text(t));
        let count = sum.constructors.len();
        let mut arms: Vec<(String, String)> = Vec::new();
        for k in 0..count {
            let mut second = None;
            let arm = self.opening(site, k, &mut |this| match tangent {
                None => Some(write(this)),
                Some(tangent) => {
                    let (pattern, text) = this.opening(tangent, k, &mut |this| Some(write(this)))?;
                    second = Some(pattern);
                    Some(text)
                }
            });
            let Some((pattern, text)) = arm else { return self.unwritten().0 };
            let pattern = second.map_or_else(|| pattern.clone(), |second| format!("({pattern}, {second})"));
            arms.push((pattern, text));
        }
        let of = beside.map_or_else(|| of.clone(), |beside| format!("({of}, {beside})"));
        match arms.as_slice() {
            [(pattern, text)] => format!("let {pattern} = {of} in {text}"),
            _ => {
                if tangent.is_some() {
                    arms.push(("_".to_owned(), disagreement()));
                } else {
                    gathered(&mut arms);
                }
                let arms: Vec<String> = arms.iter().map(|(p, text)| format!("{p}: {text}")).collect();
                format!("match {of} {{ {} }}", arms.join(", "))
            }
        }
    }

    /// Prints a text for a tangent whose value has a known constructor.
    fn arms_of_tangent(&mut self, site: &Site, write: &mut dyn FnMut(&mut Self) -> String) -> String {
        let own = self.value_of(site);
        let k = self.opened.iter().find(|o| Some(&o.site) == own.as_ref()).map(|o| o.constructor);
        let (Some(k), Some((sum, _))) = (k, sum_at(site)) else { return self.unwritten().0 };
        let of = self.site_text(site);
        match self.opening(site, k, &mut |this| Some(write(this))) {
            Some((pattern, text)) if sum.constructors.len() == 1 => format!("let {pattern} = {of} in {text}"),
            Some((pattern, text)) => format!("match {of} {{ {pattern}: {text}, _: {} }}", disagreement()),
            None => self.unwritten().0,
        }
    }

    /// Substitutes the facts that known constructors imply, and simplifies.
    pub(super) fn assumed(&mut self, e: &Ex) -> Ex {
        let mut found: HashMap<(Var, Vec<Poly>), Fact> = HashMap::new();
        for (v, at) in direct_reads(e) {
            let fact = match self.named.get(&v) {
                Some(Named::Part(base, path) | Named::Let(base, path)) => match self.find(base, path, &at) {
                    Found::Constructor(k) => i64::try_from(k).ok().map(|k| Fact::Is(Constant::Int(k))),
                    Found::Other => {
                        let scalar = self.lines.get(v.0 as usize).and_then(|l| l.scalar);
                        Some(Fact::Absent(zero(scalar.unwrap_or(Scalar::F64))))
                    }
                    Found::Part(..) | Found::Inside(..) => None,
                },
                None => self.written_out(v, &at).and_then(|inner| {
                    let inner = self.assumed(&inner);
                    let scalar = self.lines.get(v.0 as usize).and_then(|l| l.scalar);
                    constant(&inner, scalar.unwrap_or(Scalar::F64)).map(Fact::Is)
                }),
            };
            if let Some(fact) = fact {
                found.insert((v, at), fact);
            }
        }
        let (e, _) = told(e, &|v, at| found.get(&(v, at.to_vec())).cloned());
        settled(e, &mut self.context, &mut self.table)
    }

    /// Prints a value of a sum type from its leaves, at the indices `at` in scope.
    #[expect(clippy::too_many_arguments, reason = "a value by its parts, as others are")]
    pub(super) fn made(
        &mut self,
        sum: &Arc<SumType>,
        types: &[CoreType],
        path: &mut Vec<u32>,
        at: &mut Vec<Index>,
        parts: &Parts,
        name: &str,
        expected: bool,
    ) -> String {
        // The leaves are rewritten over the indices in scope.
        let put = |i: &[Index], e: &Ex| {
            e.map_polys(&|p| {
                p.substitute(&|a| i.iter().position(|i| i.atom() == *a).and_then(|k| at.get(k)).map(Index::value))
            })
        };
        let below = parts.iter().filter(|(p, ..)| p.starts_with(path));
        let parts: Parts = below
            .map(|(p, i, e)| {
                let rest = i.get(at.len()..).unwrap_or_default();
                (p.clone(), at.iter().chain(rest).cloned().collect(), put(i.get(..at.len()).unwrap_or_default(), e))
            })
            .collect();
        let tag: Vec<u32> = path.iter().copied().chain([0]).collect();
        // The tag of a sole constructor carries no information.
        let telling = parts.iter().filter(|(p, ..)| sum.constructors.len() > 1 || *p != tag).cloned().collect();
        if let Some(text) = self.passed_on(path, at, &telling) {
            return text;
        }
        let Some(tag) = parts.iter().find(|(p, ..)| *p == tag).map(|(.., e)| e.clone()) else {
            self.wrong = Some(super::Outside::SumType);
            return String::new();
        };
        let tag = self.assumed(&tag);
        let assumed = |this: &mut Self| -> Parts {
            parts.iter().map(|(p, i, e)| (p.clone(), i.clone(), this.assumed(e))).collect()
        };
        if let Some(Constant::Int(k)) = constant(&tag, Scalar::I64) {
            let held: Vec<u32> = path.iter().copied().chain(u32::try_from(k + 1)).collect();
            let mut sites = Vec::new();
            for (.., e) in parts.iter().filter(|(p, ..)| p.starts_with(&held)) {
                sites.extend(self.sites_in(e));
            }
            if !sites.is_empty() {
                return self.apart(&sites, &mut |this| {
                    let parts = assumed(this);
                    this.made(sum, types, path, at, &parts, name, expected)
                });
            }
            let parts = assumed(self);
            let k = usize::try_from(k).unwrap_or(usize::MAX);
            return self.constructed(sum, types, k, path, at, &parts, name, expected);
        }
        let mut sites = self.sites_in(&tag);
        if !sites.is_empty() {
            for (.., e) in &parts {
                sites.extend(self.sites_in(e));
            }
            return self.apart(&sites, &mut |this| {
                let parts = assumed(this);
                this.made(sum, types, path, at, &parts, name, expected)
            });
        }
        let mut under = |this: &mut Self, p: &Pred, k: usize| {
            let mark = this.context.mark();
            this.context.assume(p);
            let parts: Parts = parts
                .iter()
                .map(|(p, i, e)| (p.clone(), i.clone(), settled(e.clone(), &mut this.context, &mut this.table)))
                .collect();
            let text = this.constructed(sum, types, k, path, at, &parts, name, expected);
            this.context.release(mark);
            text
        };
        let number = |e: &Ex| match e {
            Ex::Constant(Constant::Int(k)) => usize::try_from(*k).ok(),
            _ => None,
        };
        let branches = match &tag {
            Ex::Guard(p, e) => number(e).map(|k| (p.clone(), k, 0)),
            Ex::Choice(p, a, b) => number(a).zip(number(b)).map(|(a, b)| (p.clone(), a, b)),
            _ => None,
        };
        if let Some((p, a, b)) = branches {
            let (a, b) = (under(self, &p, a), under(self, &p.negated(), b));
            return format!("if {} then {a} else {b}", self.pred(&p).0);
        }
        let last = sum.constructors.len().saturating_sub(1);
        let mut arms = Vec::new();
        for k in 0..=last {
            let text = under(self, &Pred::truth(), k);
            arms.push(if k == last { format!("_: {text}") } else { format!("{k}: {text}") });
        }
        format!("match {} {{ {} }}", self.whole_text(&tag), arms.join(", "))
    }

    /// Prints a constructor applied to its arguments.
    #[expect(clippy::too_many_arguments, reason = "a value by its parts, as others are")]
    fn constructed(
        &mut self,
        sum: &Arc<SumType>,
        types: &[CoreType],
        k: usize,
        path: &mut Vec<u32>,
        at: &mut Vec<Index>,
        parts: &Parts,
        name: &str,
        expected: bool,
    ) -> String {
        let Some(constructor) = self.asked.constructor(sum, k) else { return self.unwritten().0 };
        let Some(CoreType::Tuple(args, _)) = types.get(k + 1) else { return constructor };
        let mut texts = Vec::new();
        path.push(u32::try_from(k + 1).unwrap_or(u32::MAX));
        for (j, ty) in (0..).zip(args.iter()) {
            path.push(j);
            texts.push(self.value(ty, path, at, parts, name, expected));
            path.pop();
        }
        path.pop();
        if texts.is_empty() {
            return constructor;
        }
        let text = format!("{constructor}({})", texts.join(", "));
        self.wholes.iter().find(|(whole, _)| *whole == text).map_or(text, |(_, name)| name.to_string())
    }

    /// Returns the text of a named value, if all leaves read that value unchanged.
    fn passed_on(&mut self, path: &[u32], at: &[Index], parts: &Parts) -> Option<String> {
        let mut found: Option<(Base, Vec<u32>, Vec<Poly>)> = None;
        for (p, i, e) in parts {
            let Ex::Read(v, ix) = e else { return None };
            let (Named::Part(base, whole) | Named::Let(base, whole)) = self.named.get(v)?;
            let (Found::Inside(..) | Found::Part(..)) = self.find(base, whole, ix) else { return None };
            let rest = p.get(path.len()..)?;
            let before = whole.strip_suffix(rest)?;
            let own = i.get(at.len()..)?;
            let first = ix.len().checked_sub(own.len())?;
            let (first, last) = ix.split_at_checked(first)?;
            let same = last.iter().zip(own).all(|(p, i)| *p == i.value());
            let here = (base.clone(), before.to_vec(), first.to_vec());
            if !same || found.as_ref().is_some_and(|(b, p, a)| b.name != here.0.name || *p != here.1 || *a != here.2) {
                return None;
            }
            found = Some(here);
        }
        let (base, path, at) = found?;
        let Found::Part(base, path, at) = self.find(&base, &path, &at) else { return None };
        let at: Vec<String> = at.iter().map(|p| self.poly(p).0).collect();
        Some(part(&base, &path, &at))
    }
}

/// Merges arms with the same body that use no name of their pattern into one last arm.
pub(super) fn gathered(arms: &mut Vec<(String, String)>) {
    let binds = |(pattern, text): &(String, String)| {
        let used = names_in(text);
        names_in(pattern).iter().any(|name| name.starts_with(char::is_lowercase) && used.contains(name))
    };
    let count = |arms: &[(String, String)], text: &str| arms.iter().filter(|a| a.1 == text && !binds(a)).count();
    let Some(most) = arms.iter().map(|a| a.1.clone()).max_by_key(|text| count(arms, text)) else { return };
    if count(arms, &most) < 2 {
        return;
    }
    arms.retain(|a| a.1 != most || binds(a));
    arms.push(("_".to_owned(), most));
}

/// Returns the names in a text.
pub(super) fn names_in(text: &str) -> Vec<String> {
    let names = lex(text).tokens.into_iter();
    names.filter_map(|t| if let Token::Name(name) = t.token { Some(name.to_string()) } else { None }).collect()
}

/// Finds the first value of a sum type on a path: the number of steps to it, and the number of
/// indices.
fn crossing(ty: &CoreType, path: &[u32]) -> Option<(usize, usize)> {
    let (mut ty, mut dims) = (ty, 0);
    for (steps, k) in path.iter().enumerate() {
        while let CoreType::Tensor(_, inner) = ty {
            ty = inner;
            dims += 1;
        }
        let CoreType::Tuple(items, labels) = ty else { return None };
        if labels.sum().is_some() {
            return Some((steps, dims));
        }
        ty = items.get(*k as usize)?;
    }
    None
}

/// Returns the sum type at a site, and the argument types of its constructors.
fn sum_at(site: &Site) -> Option<(Arc<SumType>, Vec<Vec<CoreType>>)> {
    let mut ty = &site.base.ty;
    for k in &site.path {
        ty = ty.peel().1;
        let CoreType::Tuple(items, _) = ty else { return None };
        ty = items.get(*k as usize)?;
    }
    let CoreType::Tuple(items, Labels::Sum(sum)) = ty.peel().1 else { return None };
    let args = items.iter().skip(1).map(|t| if let CoreType::Tuple(args, _) = t { args.to_vec() } else { Vec::new() });
    Some((Arc::clone(sum), args.collect()))
}

/// Returns the text of the zero of the scalar at a path.
fn leaf_scalar(ty: &mut &CoreType, path: &[u32]) -> &'static str {
    for k in path {
        let CoreType::Tuple(items, _) = ty.peel().1 else { return "0.0" };
        let Some(inner) = items.get(*k as usize) else { return "0.0" };
        *ty = inner;
    }
    match ty.peel().1 {
        CoreType::Scalar(Scalar::I64) => "0",
        CoreType::Scalar(Scalar::Bool) => "false",
        _ => "0.0",
    }
}
