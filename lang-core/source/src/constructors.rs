//! **Sum types inside expressions.** A read of a value of a sum type is printed in an arm of a
//! `match`. For a type with one constructor it is printed after a `let`. Values of sum types are
//! built with constructors. This module serves the values that [`super::cases`] does not take
//! apart.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::arrays::direct_reads;
use super::cases::constructor_mismatch_text;
use super::constant_propagation::{ElementFact, as_constant, propagate_facts};
use super::derivative_signature::{NamedValue, print_part};
use super::expression_tree::SourceExpr;
use super::merge::simplify_to_fixpoint;
use super::read_ssa::zero_of;
use super::writer::{BindingStrength, BodyWriter, ReadSource, ValueLeaves};
use lang_ir::core::{Constant, CoreType, SumType, TupleLabels};
use lang_ir::ssa::{FIRST_INDEX_LOCAL, StmtId};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_syntax::lexer::{Token, lex};
use lang_syntax::ops::Scalar;

/// A value of a sum type by its location: a part of a named value, at some indices.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SumTypeSite {
    base: NamedValue,
    path: Vec<u32>,
    at: Vec<Poly>,
}

/// A site whose constructor is known, and the names of the constructor's arguments.
#[derive(Clone, Debug)]
pub(super) struct KnownConstructor {
    site: SumTypeSite,
    constructor: usize,
    args: Vec<NamedValue>,
}

/// The location of a part of a named value, under the known constructors.
pub(super) enum PartLocation {
    /// A part of a named value.
    Part(NamedValue, Vec<u32>, Vec<Poly>),
    /// The tag of a known constructor.
    KnownTag(usize),
    /// A leaf of another constructor than the known one.
    OtherConstructor,
    /// A leaf inside a value of a sum type: the site, the path inside, and the remaining indices.
    InsideSumType(SumTypeSite, Vec<u32>, Vec<Poly>),
}

impl BodyWriter<'_> {
    /// Locates a part.
    pub(super) fn locate_part(&self, base: &NamedValue, path: &[u32], at: &[Poly]) -> PartLocation {
        let (mut base, mut path, mut at) = (base.clone(), path.to_vec(), at.to_vec());
        loop {
            let Some((steps, dims)) = first_sum_type_on_path(&base.ty, &path) else {
                return PartLocation::Part(base, path, at);
            };
            let (before, rest) = path.split_at_checked(steps).unwrap_or_default();
            let Some((first, last)) = at.split_at_checked(dims) else { return PartLocation::Part(base, path, at) };
            let site = SumTypeSite { base: base.clone(), path: before.to_vec(), at: first.to_vec() };
            let opened = self
                .known_constructors
                .iter()
                .find(|o| o.site.base.name == site.base.name && o.site.path == site.path && o.site.at == site.at);
            let Some(opened) = opened else {
                let only = sum_type_at(&site).is_some_and(|(sum, _)| sum.constructors.len() == 1);
                return match rest {
                    [0] if only => PartLocation::KnownTag(0),
                    _ => PartLocation::InsideSumType(site, rest.to_vec(), last.to_vec()),
                };
            };
            match rest {
                [0] => return PartLocation::KnownTag(opened.constructor),
                [of, arg, rest @ ..] if *of as usize == opened.constructor + 1 => {
                    let Some(arg) = opened.args.get(*arg as usize) else { return PartLocation::OtherConstructor };
                    (base, path, at) = (arg.clone(), rest.to_vec(), last.to_vec());
                }
                _ => return PartLocation::OtherConstructor,
            }
        }
    }

    /// Prints an element inside a value of a sum type as a `match` of its own.
    pub(super) fn print_match_read(
        &mut self,
        site: &SumTypeSite,
        rest: &[u32],
        at: &[Poly],
    ) -> (String, BindingStrength) {
        let Some((sum, types)) = sum_type_at(site) else { return self.fail_without_spelling() };
        let of = self.site_text(site);
        let mut arms = Vec::new();
        for k in 0..sum.constructors.len() {
            let Some(name) = self.request.constructor_spelling(&sum, k) else { return self.fail_without_spelling() };
            let arity = types.get(k).map_or(0, Vec::len);
            let held = matches!(rest, [of, ..] if *of as usize == k + 1);
            let (value, read) = match rest {
                [0] => (k.to_string(), None),
                [_, arg, path @ ..] if held => {
                    let ty = types.get(k).and_then(|t| t.get(*arg as usize)).cloned().unwrap_or_else(CoreType::unit);
                    let base = NamedValue { name: self.used_names.fresh("v"), ty };
                    let texts: Vec<String> = at.iter().map(|p| self.print_polynomial(p).0).collect();
                    self.used_names.mark_unused(&base.name);
                    (print_part(&base, path, &texts), Some((*arg as usize, base.name)))
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
            let scalar = zero_text_at(&mut ty, &path);
            arms.push(format!("_: {scalar}"));
        }
        (format!("(match {of} {{ {} }})", arms.join(", ")), BindingStrength::Postfix)
    }

    fn fail_without_spelling(&mut self) -> (String, BindingStrength) {
        self.failure = Some(super::NoTextReason::UnimportedName);
        ("_".to_owned(), BindingStrength::Postfix)
    }

    pub(super) fn site_text(&mut self, site: &SumTypeSite) -> String {
        let at: Vec<String> = site.at.iter().map(|p| self.print_polynomial(p).0).collect();
        print_part(&site.base, &site.path, &at)
    }

    /// Prints a whole expression. A value of a sum type that it reads at indices in scope is
    /// matched around the expression.
    pub(super) fn print_with_matches(&mut self, e: &SourceExpr) -> String {
        let sites = if self.elementwise_indices.is_empty() { self.sum_type_sites(e) } else { Vec::new() };
        if sites.is_empty() {
            return self.print_expression(e).0;
        }
        self.match_sites(&sites, &mut |this| {
            let e = this.propagate_known_constructors(e);
            this.print_with_matches(&e)
        })
    }

    /// Returns the values of sum types that an expression reads at places independent of its bound
    /// indices and of data.
    fn sum_type_sites(&mut self, e: &SourceExpr) -> Vec<SumTypeSite> {
        let mut sites: Vec<SumTypeSite> = Vec::new();
        for (v, at) in self.named_reads(e) {
            let Some(ReadSource::Part(base, path) | ReadSource::Let(base, path)) = self.read_sources.get(&v) else {
                continue;
            };
            let PartLocation::InsideSumType(site, ..) = self.locate_part(base, path, &at) else { continue };
            let mut around = true;
            site.at.iter().for_each(|p| {
                p.for_each_atom(&mut |a| match a {
                    Atom::Local(l, _) if l.0 >= FIRST_INDEX_LOCAL => around &= self.index_name(*l).is_some(),
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
    fn named_reads(&mut self, e: &SourceExpr) -> Vec<(StmtId, Vec<Poly>)> {
        let (mut found, mut open, mut done) = (Vec::new(), direct_reads(e), HashSet::new());
        while let Some((v, at)) = open.pop() {
            if !done.insert((v, at.clone())) {
                continue;
            }
            match self.inlined_element(v, &at) {
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
    fn match_sites(&mut self, sites: &[SumTypeSite], write: &mut dyn FnMut(&mut Self) -> String) -> String {
        let Some(first) = sites.first() else { return write(self) };
        let own = self.primal_site(first);
        let is_open = |this: &Self, site: &SumTypeSite| this.known_constructors.iter().any(|o| o.site == *site);
        match own {
            Some(own) if !is_open(self, &own) => self.print_match(&own, Some(first), write),
            Some(_) => self.print_tangent_match(first, write),
            None => {
                let tangent = sites.iter().find(|s| self.primal_site(s).is_some_and(|own| own == *first));
                self.print_match(first, tangent, write)
            }
        }
    }

    /// Returns the value that another one is the tangent of.
    fn primal_site(&self, site: &SumTypeSite) -> Option<SumTypeSite> {
        let (_, base) = self.tangents.iter().find(|(name, _)| *name == site.base.name)?;
        Some(SumTypeSite { base: base.clone(), ..site.clone() })
    }

    /// Prints a text where the value is made by constructor `k`. Returns the pattern and the text.
    pub(super) fn print_under_constructor(
        &mut self,
        site: &SumTypeSite,
        k: usize,
        write: &mut dyn FnMut(&mut Self) -> Option<String>,
    ) -> Option<(String, String)> {
        let (sum, types) = sum_type_at(site)?;
        let types = types.get(k)?;
        let name = self.request.constructor_spelling(&sum, k)?;
        let wanted = self.argument_names.argument_names(&site.base.name, k, types.len());
        let mut args = Vec::new();
        for (j, ty) in types.iter().enumerate() {
            let wanted = wanted.get(j).cloned().flatten().unwrap_or_else(|| format!("{}{j}", site.base.name).into());
            args.push(NamedValue { name: self.used_names.fresh(&wanted), ty: ty.clone() });
        }
        let of = self.primal_site(site);
        let own = self
            .known_constructors
            .iter()
            .find(|o| Some(&o.site) == of.as_ref())
            .map(|o| o.args.clone())
            .unwrap_or_default();
        let before = self.tangents.len();
        self.tangents.extend(args.iter().map(|a| a.name.clone()).zip(own));
        self.known_constructors.push(KnownConstructor { site: site.clone(), constructor: k, args: args.clone() });
        let text = write(self);
        self.known_constructors.pop();
        self.tangents.truncate(before);
        args.iter().for_each(|arg| self.used_names.mark_unused(&arg.name));
        let text = text?;
        let used = names_in_text(&text);
        let args: Vec<&str> =
            args.iter().map(|a| if used.iter().any(|u| *u == *a.name) { a.name.as_str() } else { "_" }).collect();
        Some((if args.is_empty() { name } else { format!("{name}({})", args.join(", ")) }, text))
    }

    /// Prints a text for each constructor of a value and of its tangent.
    fn print_match(
        &mut self,
        site: &SumTypeSite,
        tangent: Option<&SumTypeSite>,
        write: &mut dyn FnMut(&mut Self) -> String,
    ) -> String {
        let Some((sum, _)) = sum_type_at(site) else { return self.fail_without_spelling().0 };
        let of = self.site_text(site);
        let beside = tangent.map(|t| self.site_text(t));
        let count = sum.constructors.len();
        let mut arms: Vec<(String, String)> = Vec::new();
        for k in 0..count {
            let mut second = None;
            let arm = self.print_under_constructor(site, k, &mut |this| match tangent {
                None => Some(write(this)),
                Some(tangent) => {
                    let (pattern, text) = this.print_under_constructor(tangent, k, &mut |this| Some(write(this)))?;
                    second = Some(pattern);
                    Some(text)
                }
            });
            let Some((pattern, text)) = arm else { return self.fail_without_spelling().0 };
            let pattern = second.map_or_else(|| pattern.clone(), |second| format!("({pattern}, {second})"));
            arms.push((pattern, text));
        }
        let of = beside.map_or_else(|| of.clone(), |beside| format!("({of}, {beside})"));
        match arms.as_slice() {
            [(pattern, text)] => format!("let {pattern} = {of} in {text}"),
            _ => {
                if tangent.is_some() {
                    arms.push(("_".to_owned(), constructor_mismatch_text()));
                } else {
                    merge_equal_arms(&mut arms);
                }
                let arms: Vec<String> = arms.iter().map(|(p, text)| format!("{p}: {text}")).collect();
                format!("match {of} {{ {} }}", arms.join(", "))
            }
        }
    }

    /// Prints a text for a tangent whose value has a known constructor.
    fn print_tangent_match(&mut self, site: &SumTypeSite, write: &mut dyn FnMut(&mut Self) -> String) -> String {
        let own = self.primal_site(site);
        let k = self.known_constructors.iter().find(|o| Some(&o.site) == own.as_ref()).map(|o| o.constructor);
        let (Some(k), Some((sum, _))) = (k, sum_type_at(site)) else { return self.fail_without_spelling().0 };
        let of = self.site_text(site);
        match self.print_under_constructor(site, k, &mut |this| Some(write(this))) {
            Some((pattern, text)) if sum.constructors.len() == 1 => format!("let {pattern} = {of} in {text}"),
            Some((pattern, text)) => format!("match {of} {{ {pattern}: {text}, _: {} }}", constructor_mismatch_text()),
            None => self.fail_without_spelling().0,
        }
    }

    /// Substitutes the facts that known constructors imply, and simplifies.
    pub(super) fn propagate_known_constructors(&mut self, e: &SourceExpr) -> SourceExpr {
        let mut found: HashMap<(StmtId, Vec<Poly>), ElementFact> = HashMap::new();
        for (v, at) in direct_reads(e) {
            let fact = match self.read_sources.get(&v) {
                Some(ReadSource::Part(base, path) | ReadSource::Let(base, path)) => match self
                    .locate_part(base, path, &at)
                {
                    PartLocation::KnownTag(k) => i64::try_from(k).ok().map(|k| ElementFact::Constant(Constant::Int(k))),
                    PartLocation::OtherConstructor => {
                        let scalar = self.lines.get(v.0 as usize).and_then(|l| l.scalar);
                        Some(ElementFact::OtherConstructor(zero_of(scalar.unwrap_or(Scalar::F64))))
                    }
                    PartLocation::Part(..) | PartLocation::InsideSumType(..) => None,
                },
                None => self.inlined_element(v, &at).and_then(|inner| {
                    let inner = self.propagate_known_constructors(&inner);
                    let scalar = self.lines.get(v.0 as usize).and_then(|l| l.scalar);
                    as_constant(&inner, scalar.unwrap_or(Scalar::F64)).map(ElementFact::Constant)
                }),
            };
            if let Some(fact) = fact {
                found.insert((v, at), fact);
            }
        }
        let (e, _) = propagate_facts(e, &|v, at| found.get(&(v, at.to_vec())).cloned());
        simplify_to_fixpoint(e, &mut self.context, &mut self.facts)
    }

    /// Prints a value of a sum type from its leaves, at the indices `at` in scope.
    #[expect(clippy::too_many_arguments, reason = "a value by its parts, as others are")]
    pub(super) fn print_sum_value(
        &mut self,
        sum: &Arc<SumType>,
        types: &[CoreType],
        path: &mut Vec<u32>,
        at: &mut Vec<Index>,
        parts: &ValueLeaves,
        name: &str,
        expected: bool,
    ) -> String {
        // The leaves are rewritten over the indices in scope.
        let put = |i: &[Index], e: &SourceExpr| {
            e.map_polys(&|p| {
                p.substitute(&|a| i.iter().position(|i| i.atom() == *a).and_then(|k| at.get(k)).map(Index::value))
            })
        };
        let below = parts.iter().filter(|(p, ..)| p.starts_with(path));
        let parts: ValueLeaves = below
            .map(|(p, i, e)| {
                let rest = i.get(at.len()..).unwrap_or_default();
                (p.clone(), at.iter().chain(rest).cloned().collect(), put(i.get(..at.len()).unwrap_or_default(), e))
            })
            .collect();
        let tag: Vec<u32> = path.iter().copied().chain([0]).collect();
        // The tag of a sole constructor carries no information.
        let telling = parts.iter().filter(|(p, ..)| sum.constructors.len() > 1 || *p != tag).cloned().collect();
        if let Some(text) = self.unchanged_value_text(path, at, &telling) {
            return text;
        }
        let Some(tag) = parts.iter().find(|(p, ..)| *p == tag).map(|(.., e)| e.clone()) else {
            self.failure = Some(super::NoTextReason::UnknownConstructor);
            return String::new();
        };
        let tag = self.propagate_known_constructors(&tag);
        let assumed = |this: &mut Self| -> ValueLeaves {
            parts.iter().map(|(p, i, e)| (p.clone(), i.clone(), this.propagate_known_constructors(e))).collect()
        };
        if let Some(Constant::Int(k)) = as_constant(&tag, Scalar::I64) {
            let held: Vec<u32> = path.iter().copied().chain(u32::try_from(k + 1)).collect();
            let mut sites = Vec::new();
            for (.., e) in parts.iter().filter(|(p, ..)| p.starts_with(&held)) {
                sites.extend(self.sum_type_sites(e));
            }
            if !sites.is_empty() {
                return self.match_sites(&sites, &mut |this| {
                    let parts = assumed(this);
                    this.print_sum_value(sum, types, path, at, &parts, name, expected)
                });
            }
            let parts = assumed(self);
            let k = usize::try_from(k).unwrap_or(usize::MAX);
            return self.print_constructor(sum, types, k, path, at, &parts, name, expected);
        }
        let mut sites = self.sum_type_sites(&tag);
        if !sites.is_empty() {
            for (.., e) in &parts {
                sites.extend(self.sum_type_sites(e));
            }
            return self.match_sites(&sites, &mut |this| {
                let parts = assumed(this);
                this.print_sum_value(sum, types, path, at, &parts, name, expected)
            });
        }
        let mut under = |this: &mut Self, p: &Pred, k: usize| {
            let mark = this.context.mark();
            this.context.assume(p);
            let parts: ValueLeaves = parts
                .iter()
                .map(|(p, i, e)| {
                    (p.clone(), i.clone(), simplify_to_fixpoint(e.clone(), &mut this.context, &mut this.facts))
                })
                .collect();
            let text = this.print_constructor(sum, types, k, path, at, &parts, name, expected);
            this.context.release(mark);
            text
        };
        let number = |e: &SourceExpr| match e {
            SourceExpr::Constant(Constant::Int(k)) => usize::try_from(*k).ok(),
            _ => None,
        };
        let branches = match &tag {
            SourceExpr::Guard(p, e) => number(e).map(|k| (p.clone(), k, 0)),
            SourceExpr::Choice(p, a, b) => number(a).zip(number(b)).map(|(a, b)| (p.clone(), a, b)),
            _ => None,
        };
        if let Some((p, a, b)) = branches {
            let (a, b) = (under(self, &p, a), under(self, &p.negated(), b));
            return format!("if {} then {a} else {b}", self.print_predicate(&p).0);
        }
        let last = sum.constructors.len().saturating_sub(1);
        let mut arms = Vec::new();
        for k in 0..=last {
            let text = under(self, &Pred::truth(), k);
            arms.push(if k == last { format!("_: {text}") } else { format!("{k}: {text}") });
        }
        format!("match {} {{ {} }}", self.print_with_matches(&tag), arms.join(", "))
    }

    /// Prints a constructor applied to its arguments.
    #[expect(clippy::too_many_arguments, reason = "a value by its parts, as others are")]
    fn print_constructor(
        &mut self,
        sum: &Arc<SumType>,
        types: &[CoreType],
        k: usize,
        path: &mut Vec<u32>,
        at: &mut Vec<Index>,
        parts: &ValueLeaves,
        name: &str,
        expected: bool,
    ) -> String {
        let Some(constructor) = self.request.constructor_spelling(sum, k) else {
            return self.fail_without_spelling().0;
        };
        let Some(CoreType::Tuple(args, _)) = types.get(k + 1) else { return constructor };
        let mut texts = Vec::new();
        path.push(u32::try_from(k + 1).unwrap_or(u32::MAX));
        for (j, ty) in (0..).zip(args.iter()) {
            path.push(j);
            texts.push(self.print_value(ty, path, at, parts, name, expected));
            path.pop();
        }
        path.pop();
        if texts.is_empty() {
            return constructor;
        }
        let text = format!("{constructor}({})", texts.join(", "));
        self.rebuilt_parameters.iter().find(|(whole, _)| *whole == text).map_or(text, |(_, name)| name.to_string())
    }

    /// Returns the text of a named value, if all leaves read that value unchanged.
    fn unchanged_value_text(&mut self, path: &[u32], at: &[Index], parts: &ValueLeaves) -> Option<String> {
        let mut found: Option<(NamedValue, Vec<u32>, Vec<Poly>)> = None;
        for (p, i, e) in parts {
            let SourceExpr::Read(v, ix) = e else { return None };
            let (ReadSource::Part(base, whole) | ReadSource::Let(base, whole)) = self.read_sources.get(v)?;
            let (PartLocation::InsideSumType(..) | PartLocation::Part(..)) = self.locate_part(base, whole, ix) else {
                return None;
            };
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
        let PartLocation::Part(base, path, at) = self.locate_part(&base, &path, &at) else { return None };
        let at: Vec<String> = at.iter().map(|p| self.print_polynomial(p).0).collect();
        Some(print_part(&base, &path, &at))
    }
}

/// Merges arms with the same body that use no name of their pattern into one last arm.
pub(super) fn merge_equal_arms(arms: &mut Vec<(String, String)>) {
    let binds = |(pattern, text): &(String, String)| {
        let used = names_in_text(text);
        names_in_text(pattern).iter().any(|name| name.starts_with(char::is_lowercase) && used.contains(name))
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
pub(super) fn names_in_text(text: &str) -> Vec<String> {
    let names = lex(text).tokens.into_iter();
    names.filter_map(|t| if let Token::Name(name) = t.token { Some(name.to_string()) } else { None }).collect()
}

/// Finds the first value of a sum type on a path: the number of steps to it, and the number of
/// indices.
fn first_sum_type_on_path(ty: &CoreType, path: &[u32]) -> Option<(usize, usize)> {
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
fn sum_type_at(site: &SumTypeSite) -> Option<(Arc<SumType>, Vec<Vec<CoreType>>)> {
    let mut ty = &site.base.ty;
    for k in &site.path {
        ty = ty.split_array().1;
        let CoreType::Tuple(items, _) = ty else { return None };
        ty = items.get(*k as usize)?;
    }
    let CoreType::Tuple(items, TupleLabels::Sum(sum)) = ty.split_array().1 else { return None };
    let args = items.iter().skip(1).map(|t| if let CoreType::Tuple(args, _) = t { args.to_vec() } else { Vec::new() });
    Some((Arc::clone(sum), args.collect()))
}

/// Returns the text of the zero of the scalar at a path.
fn zero_text_at(ty: &mut &CoreType, path: &[u32]) -> &'static str {
    for k in path {
        let CoreType::Tuple(items, _) = ty.split_array().1 else { return "0.0" };
        let Some(inner) = items.get(*k as usize) else { return "0.0" };
        *ty = inner;
    }
    match ty.split_array().1 {
        CoreType::Scalar(Scalar::I64) => "0",
        CoreType::Scalar(Scalar::Bool) => "false",
        _ => "0.0",
    }
}
