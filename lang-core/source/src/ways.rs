//! **Constructor patterns.** Enumerates the ways to construct a value of a type that contains sum
//! types: `None`, `Some(x)`. For a tuple it combines the ways of its components. Arrays are not
//! taken apart.

use std::collections::HashMap;
use std::sync::Arc;

use super::names::Taken;
use super::shape::Base;
use lang_base::Name;
use lang_ir::core::{CoreType, Labels, SumType};
use lang_sizes::predicate::LocalId;
use lang_types::tree::{Body, Expr, Pat, TId};

/// A way to construct a value.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// A value that is not taken apart.
    Any(CoreType),
    /// A tuple or record of parts.
    Parts(Vec<Way>, Labels),
    /// A sum type, the number of its constructor, and the ways of the arguments.
    Made(Arc<SumType>, usize, Vec<Way>),
}

/// The role of a leaf of a value that is constructed in a known way.
pub(super) enum Known {
    /// A part of the value that a name in the pattern binds.
    Part(Base, Vec<u32>),
    /// The tag of the constructor, with the constructor's number.
    Constructor(usize),
    /// A leaf of another constructor.
    Other,
}

/// Returns all ways to construct a value of a type, or `None` if they are more than `most`.
pub(super) fn ways(ty: &CoreType, most: usize) -> Option<Vec<Way>> {
    match ty {
        CoreType::Tuple(types, Labels::Sum(sum)) => {
            let mut all = Vec::new();
            for (k, args) in types.iter().skip(1).enumerate() {
                let CoreType::Tuple(args, _) = args else { return None };
                all.extend(products(args, most)?.into_iter().map(|args| Way::Made(sum.clone(), k, args)));
            }
            (all.len() <= most).then_some(all)
        }
        CoreType::Tuple(types, labels) if has_sum(ty) => {
            Some(products(types, most)?.into_iter().map(|items| Way::Parts(items, labels.clone())).collect())
        }
        _ => Some(vec![Way::Any(ty.clone())]),
    }
}

fn products(types: &[CoreType], most: usize) -> Option<Vec<Vec<Way>>> {
    types.iter().try_fold(vec![Vec::new()], |made: Vec<Vec<Way>>, ty| {
        let of = ways(ty, most)?;
        let longer =
            made.iter().flat_map(|items| of.iter().map(|w| items.iter().cloned().chain([w.clone()]).collect()));
        let longer: Vec<Vec<Way>> = longer.collect();
        (longer.len() <= most).then_some(longer)
    })
}

/// Returns whether the type contains a sum type outside arrays.
pub(super) fn has_sum(ty: &CoreType) -> bool {
    match ty {
        CoreType::Tuple(_, Labels::Sum(_)) => true,
        CoreType::Tuple(items, _) => items.iter().any(has_sum),
        CoreType::Scalar(_) | CoreType::Tensor(..) | CoreType::Rel(_) => false,
    }
}

/// A way with a name for each value that it does not take apart, by path.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) way: Way,
    names: Vec<(Vec<u32>, Name)>,
}

impl Named {
    /// Chooses names for the values inside a value called `name`.
    pub(super) fn new(way: Way, name: &str, given: &Given, taken: &mut Taken, suffix: &str) -> Self {
        let mut names = Vec::new();
        given.names(&way, name, &mut Vec::new(), &mut names);
        let names = names.into_iter().map(|(path, wanted)| (path, taken.fresh(&format!("{wanted}{suffix}")))).collect();
        Self { way, names }
    }

    /// Returns the role of the leaf at a path.
    pub(super) fn part(&self, path: &[u32]) -> Known {
        let (mut way, mut at) = (&self.way, 0);
        loop {
            let rest = path.get(at..).unwrap_or_default();
            match way {
                Way::Any(ty) => {
                    let before = path.get(..at).unwrap_or_default();
                    let name = self.names.iter().find(|(p, _)| p == before).map(|(_, n)| n.clone()).unwrap_or_default();
                    return Known::Part(Base { name, ty: ty.clone() }, rest.to_vec());
                }
                Way::Parts(items, _) => match rest.first().and_then(|k| items.get(*k as usize)) {
                    Some(item) => (way, at) = (item, at + 1),
                    None => return Known::Other,
                },
                Way::Made(_, k, args) => match rest {
                    [0] => return Known::Constructor(*k),
                    [of, arg, ..] if *of as usize == k + 1 => match args.get(*arg as usize) {
                        Some(arg) => (way, at) = (arg, at + 2),
                        None => return Known::Other,
                    },
                    _ => return Known::Other,
                },
            }
        }
    }

    /// Prints the way as a pattern that binds the used names. `spelled` returns the text of a
    /// constructor.
    pub(super) fn pattern(
        &self,
        used: &dyn Fn(&str) -> bool,
        spelled: &mut dyn FnMut(&SumType, usize) -> String,
    ) -> String {
        self.written(&self.way, &mut Vec::new(), used, spelled)
    }

    fn written(
        &self,
        way: &Way,
        path: &mut Vec<u32>,
        used: &dyn Fn(&str) -> bool,
        spelled: &mut dyn FnMut(&SumType, usize) -> String,
    ) -> String {
        let mut each = |items: &[Way], path: &mut Vec<u32>| -> Vec<String> {
            let mut texts = Vec::new();
            for (k, item) in (0..).zip(items) {
                path.push(k);
                texts.push(self.written(item, path, used, spelled));
                path.pop();
            }
            texts
        };
        match way {
            Way::Any(_) => match self.names.iter().find(|(p, name)| p == path && used(name)) {
                Some((_, name)) => name.to_string(),
                None => "_".to_owned(),
            },
            Way::Parts(items, labels) => {
                let texts = each(items, path);
                match labels.fields() {
                    Some(names) => {
                        let fields = names.iter().zip(texts).map(|(n, t)| format!("{n}: {t}"));
                        format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
                    }
                    None => format!("({})", texts.join(", ")),
                }
            }
            Way::Made(sum, k, args) => {
                path.push(u32::try_from(k + 1).unwrap_or(u32::MAX));
                let texts = each(args, path);
                path.pop();
                let name = spelled(sum, *k);
                if texts.is_empty() { name } else { format!("{name}({})", texts.join(", ")) }
            }
        }
    }

    /// Pairs each of its names with the value at the same path in `own`, which is constructed in
    /// the same way.
    pub(super) fn beside(&self, own: &Self) -> Vec<(Name, Base)> {
        let of = |path: &[u32]| match own.part(path) {
            Known::Part(base, rest) if rest.is_empty() => Some(base),
            _ => None,
        };
        self.names.iter().filter_map(|(path, name)| Some((name.clone(), of(path)?))).collect()
    }

    /// Returns the names that it binds.
    pub(super) fn bound(&self) -> impl Iterator<Item = &Name> {
        self.names.iter().map(|(_, name)| name)
    }
}

/// The program's names for the arguments of constructors, by the name of the matched variable, the
/// constructor and its arity.
#[derive(Default)]
pub(super) struct Given(HashMap<(Name, u32, usize), Vec<Option<Name>>>);

impl Given {
    /// Collects the names in the patterns of a body.
    pub(super) fn in_body(body: &Body) -> Self {
        let mut given = Self::default();
        for (_, node) in body.nodes.iter() {
            match &node.kind {
                Expr::Let(binds, _) => binds.iter().for_each(|(pat, of)| given.note(body, pat, *of)),
                Expr::Match(of, arms) => arms.iter().for_each(|(pat, _)| given.note(body, pat, *of)),
                _ => {}
            }
        }
        given
    }

    /// Records the names in a pattern of the value `of`.
    fn note(&mut self, body: &Body, pat: &Pat, of: TId) {
        match (pat, &body.nodes[of].kind) {
            (Pat::Tuple(items), Expr::Tuple(of)) => {
                items.iter().zip(of).for_each(|(pat, of)| self.note(body, pat, *of));
            }
            (Pat::Sized(_, inner), _) => self.note(body, inner, of),
            _ => {
                if let Some(local) = local(body, of).and_then(|l| body.locals.get(l.0 as usize)) {
                    self.inside(body, pat, &local.name);
                }
            }
        }
    }

    /// Records the names in a pattern of a value called `name`.
    fn inside(&mut self, body: &Body, pat: &Pat, name: &str) {
        let Pat::Ctor(k, args) = pat else { return };
        let bound = |p: &Pat| match p {
            Pat::Bind(l) => body.locals.get(l.0 as usize).map(|l| l.name.clone()),
            _ => None,
        };
        let known = self.0.entry((name.into(), *k, args.len())).or_insert_with(|| vec![None; args.len()]);
        for (slot, arg) in known.iter_mut().zip(args) {
            *slot = slot.take().or_else(|| bound(arg));
        }
        args.iter().enumerate().for_each(|(j, arg)| self.inside(body, arg, &format!("{name}{j}")));
    }

    /// Returns the names of a constructor's arguments in a value called `name`, or in its tangent.
    pub(super) fn of(&self, name: &str, constructor: usize, arity: usize) -> Vec<Option<Name>> {
        let constructor = u32::try_from(constructor).unwrap_or(u32::MAX);
        let (own, suffix) = name.strip_suffix("_tan").map_or((name, ""), |own| (own, "_tan"));
        let given = self.0.get(&(own.into(), constructor, arity)).into_iter().flatten();
        given.map(|name| name.as_ref().map(|name| format!("{name}{suffix}").into())).collect()
    }

    /// Chooses a name for each value that the way does not take apart.
    fn names(&self, way: &Way, name: &str, path: &mut Vec<u32>, out: &mut Vec<(Vec<u32>, Name)>) {
        match way {
            Way::Any(_) => out.push((path.clone(), name.into())),
            Way::Parts(items, labels) => {
                for (k, item) in (0..).zip(items) {
                    path.push(k);
                    let own = labels.field(k).map_or_else(|| format!("{name}{k}"), |field| format!("{name}_{field}"));
                    self.names(item, &own, path, out);
                    path.pop();
                }
            }
            Way::Made(_, k, args) => {
                let constructor = u32::try_from(*k).unwrap_or(u32::MAX);
                let given = self.of(name, *k, args.len());
                for (j, arg) in (0..).zip(args) {
                    path.extend([constructor + 1, j]);
                    let own = given.get(j as usize).cloned().flatten();
                    self.names(arg, &own.unwrap_or_else(|| format!("{name}{j}").into()), path, out);
                    path.truncate(path.len() - 2);
                }
            }
        }
    }
}

/// Returns the local whose value or element the node is.
fn local(body: &Body, of: TId) -> Option<LocalId> {
    match &body.nodes[of].kind {
        Expr::Local(l) => Some(*l),
        Expr::Index(of, _) => local(body, *of),
        _ => None,
    }
}
