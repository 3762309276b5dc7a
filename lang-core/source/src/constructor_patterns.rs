//! **Constructor patterns.** Enumerates the ways to construct a value of a type that contains sum
//! types: `None`, `Some(x)`. For a tuple it combines the ways of its components. Arrays are not
//! taken apart.

use std::collections::HashMap;
use std::sync::Arc;

use super::derivative_signature::NamedValue;
use super::names::UsedNames;
use lang_base::Name;
use lang_ir::core::{CoreType, SumType, TupleLabels};
use lang_sizes::predicate::LocalId;
use lang_types::tree::{TypedBody, TypedExpr, TypedId, TypedPattern};

/// A way to construct a value.
#[derive(Clone, Debug)]
pub(super) enum ConstructorPattern {
    /// A value that is not taken apart.
    Opaque(CoreType),
    /// A tuple or record of parts.
    Components(Vec<ConstructorPattern>, TupleLabels),
    /// A sum type, the number of its constructor, and the ways of the arguments.
    Constructor(Arc<SumType>, usize, Vec<ConstructorPattern>),
}

/// The role of a leaf of a value that is constructed in a known way.
pub(super) enum LeafRole {
    /// A part of the value that a name in the pattern binds.
    Part(NamedValue, Vec<u32>),
    /// The tag of the constructor, with the constructor's number.
    Tag(usize),
    /// A leaf of another constructor.
    OtherConstructor,
}

/// Returns all ways to construct a value of a type, or `None` if they are more than `most`.
pub(super) fn constructor_patterns(ty: &CoreType, most: usize) -> Option<Vec<ConstructorPattern>> {
    match ty {
        CoreType::Tuple(types, TupleLabels::Sum(sum)) => {
            let mut all = Vec::new();
            for (k, args) in types.iter().skip(1).enumerate() {
                let CoreType::Tuple(args, _) = args else { return None };
                all.extend(
                    pattern_products(args, most)?
                        .into_iter()
                        .map(|args| ConstructorPattern::Constructor(sum.clone(), k, args)),
                );
            }
            (all.len() <= most).then_some(all)
        }
        CoreType::Tuple(types, labels) if contains_sum_type(ty) => Some(
            pattern_products(types, most)?
                .into_iter()
                .map(|items| ConstructorPattern::Components(items, labels.clone()))
                .collect(),
        ),
        _ => Some(vec![ConstructorPattern::Opaque(ty.clone())]),
    }
}

fn pattern_products(types: &[CoreType], most: usize) -> Option<Vec<Vec<ConstructorPattern>>> {
    types.iter().try_fold(vec![Vec::new()], |products: Vec<Vec<ConstructorPattern>>, ty| {
        let of = constructor_patterns(ty, most)?;
        let longer =
            products.iter().flat_map(|items| of.iter().map(|w| items.iter().cloned().chain([w.clone()]).collect()));
        let longer: Vec<Vec<ConstructorPattern>> = longer.collect();
        (longer.len() <= most).then_some(longer)
    })
}

/// Returns whether the type contains a sum type outside arrays.
pub(super) fn contains_sum_type(ty: &CoreType) -> bool {
    match ty {
        CoreType::Tuple(_, TupleLabels::Sum(_)) => true,
        CoreType::Tuple(items, _) => items.iter().any(contains_sum_type),
        CoreType::Scalar(_) | CoreType::Tensor(..) | CoreType::Rel(_) => false,
    }
}

/// A way with a name for each value that it does not take apart, by path.
#[derive(Clone, Debug)]
pub(super) struct NamedPattern {
    pub(super) pattern: ConstructorPattern,
    names: Vec<(Vec<u32>, Name)>,
}

impl NamedPattern {
    /// Chooses names for the values inside a value called `name`.
    pub(super) fn new(
        way: ConstructorPattern,
        name: &str,
        argument_names: &ArgumentNames,
        taken: &mut UsedNames,
        suffix: &str,
    ) -> Self {
        let mut names = Vec::new();
        argument_names.name_opaque_parts(&way, name, &mut Vec::new(), &mut names);
        let names = names.into_iter().map(|(path, wanted)| (path, taken.fresh(&format!("{wanted}{suffix}")))).collect();
        Self { pattern: way, names }
    }

    /// Returns the role of the leaf at a path.
    pub(super) fn leaf_role(&self, path: &[u32]) -> LeafRole {
        let (mut way, mut at) = (&self.pattern, 0);
        loop {
            let rest = path.get(at..).unwrap_or_default();
            match way {
                ConstructorPattern::Opaque(ty) => {
                    let before = path.get(..at).unwrap_or_default();
                    let name = self.names.iter().find(|(p, _)| p == before).map(|(_, n)| n.clone()).unwrap_or_default();
                    return LeafRole::Part(NamedValue { name, ty: ty.clone() }, rest.to_vec());
                }
                ConstructorPattern::Components(items, _) => match rest.first().and_then(|k| items.get(*k as usize)) {
                    Some(item) => (way, at) = (item, at + 1),
                    None => return LeafRole::OtherConstructor,
                },
                ConstructorPattern::Constructor(_, k, args) => match rest {
                    [0] => return LeafRole::Tag(*k),
                    [of, arg, ..] if *of as usize == k + 1 => match args.get(*arg as usize) {
                        Some(arg) => (way, at) = (arg, at + 2),
                        None => return LeafRole::OtherConstructor,
                    },
                    _ => return LeafRole::OtherConstructor,
                },
            }
        }
    }

    /// Prints the way as a pattern that binds the used names. `spelled` returns the text of a
    /// constructor.
    pub(super) fn print_used(
        &self,
        used: &dyn Fn(&str) -> bool,
        spelled: &mut dyn FnMut(&SumType, usize) -> String,
    ) -> String {
        self.print_node(&self.pattern, &mut Vec::new(), used, spelled)
    }

    fn print_node(
        &self,
        way: &ConstructorPattern,
        path: &mut Vec<u32>,
        used: &dyn Fn(&str) -> bool,
        spelled: &mut dyn FnMut(&SumType, usize) -> String,
    ) -> String {
        let mut each = |items: &[ConstructorPattern], path: &mut Vec<u32>| -> Vec<String> {
            let mut texts = Vec::new();
            for (k, item) in (0..).zip(items) {
                path.push(k);
                texts.push(self.print_node(item, path, used, spelled));
                path.pop();
            }
            texts
        };
        match way {
            ConstructorPattern::Opaque(_) => match self.names.iter().find(|(p, name)| p == path && used(name)) {
                Some((_, name)) => name.to_string(),
                None => "_".to_owned(),
            },
            ConstructorPattern::Components(items, labels) => {
                let texts = each(items, path);
                match labels.fields() {
                    Some(names) => {
                        let fields = names.iter().zip(texts).map(|(n, t)| format!("{n}: {t}"));
                        format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
                    }
                    None => format!("({})", texts.join(", ")),
                }
            }
            ConstructorPattern::Constructor(sum, k, args) => {
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
    pub(super) fn pair_with_values(&self, own: &Self) -> Vec<(Name, NamedValue)> {
        let of = |path: &[u32]| match own.leaf_role(path) {
            LeafRole::Part(base, rest) if rest.is_empty() => Some(base),
            _ => None,
        };
        self.names.iter().filter_map(|(path, name)| Some((name.clone(), of(path)?))).collect()
    }

    /// Returns the names that it binds.
    pub(super) fn bound_names(&self) -> impl Iterator<Item = &Name> {
        self.names.iter().map(|(_, name)| name)
    }
}

/// The program's names for the arguments of constructors, by the name of the matched variable, the
/// constructor and its arity.
#[derive(Default)]
pub(super) struct ArgumentNames(HashMap<(Name, u32, usize), Vec<Option<Name>>>);

impl ArgumentNames {
    /// Collects the names in the patterns of a body.
    pub(super) fn from_body(body: &TypedBody) -> Self {
        let mut argument_names = Self::default();
        for (_, node) in body.nodes.iter() {
            match &node.kind {
                TypedExpr::Let(binds, _) => {
                    binds.iter().for_each(|(pat, of)| argument_names.record_pattern(body, pat, *of))
                }
                TypedExpr::Match(of, arms) => {
                    arms.iter().for_each(|(pat, _)| argument_names.record_pattern(body, pat, *of))
                }
                _ => {}
            }
        }
        argument_names
    }

    /// Records the names in a pattern of the value `of`.
    fn record_pattern(&mut self, body: &TypedBody, pat: &TypedPattern, of: TypedId) {
        match (pat, &body.nodes[of].kind) {
            (TypedPattern::Tuple(items), TypedExpr::Tuple(of)) => {
                items.iter().zip(of).for_each(|(pat, of)| self.record_pattern(body, pat, *of));
            }
            (TypedPattern::Sized(_, inner), _) => self.record_pattern(body, inner, of),
            _ => {
                if let Some(local) = matched_local(body, of).and_then(|l| body.locals.get(l.0 as usize)) {
                    self.record_constructor(body, pat, &local.name);
                }
            }
        }
    }

    /// Records the names in a pattern of a value called `name`.
    fn record_constructor(&mut self, body: &TypedBody, pat: &TypedPattern, name: &str) {
        let TypedPattern::Ctor(k, args) = pat else { return };
        let bound = |p: &TypedPattern| match p {
            TypedPattern::Bind(l) => body.locals.get(l.0 as usize).map(|l| l.name.clone()),
            _ => None,
        };
        let known = self.0.entry((name.into(), *k, args.len())).or_insert_with(|| vec![None; args.len()]);
        for (slot, arg) in known.iter_mut().zip(args) {
            *slot = slot.take().or_else(|| bound(arg));
        }
        args.iter().enumerate().for_each(|(j, arg)| self.record_constructor(body, arg, &format!("{name}{j}")));
    }

    /// Returns the names of a constructor's arguments in a value called `name`, or in its tangent.
    pub(super) fn argument_names(&self, name: &str, constructor: usize, arity: usize) -> Vec<Option<Name>> {
        let constructor = u32::try_from(constructor).unwrap_or(u32::MAX);
        let (own, suffix) = name.strip_suffix("_tan").map_or((name, ""), |own| (own, "_tan"));
        let recorded_names = self.0.get(&(own.into(), constructor, arity)).into_iter().flatten();
        recorded_names.map(|name| name.as_ref().map(|name| format!("{name}{suffix}").into())).collect()
    }

    /// Chooses a name for each value that the way does not take apart.
    fn name_opaque_parts(
        &self,
        way: &ConstructorPattern,
        name: &str,
        path: &mut Vec<u32>,
        out: &mut Vec<(Vec<u32>, Name)>,
    ) {
        match way {
            ConstructorPattern::Opaque(_) => out.push((path.clone(), name.into())),
            ConstructorPattern::Components(items, labels) => {
                for (k, item) in (0..).zip(items) {
                    path.push(k);
                    let own = labels.field(k).map_or_else(|| format!("{name}{k}"), |field| format!("{name}_{field}"));
                    self.name_opaque_parts(item, &own, path, out);
                    path.pop();
                }
            }
            ConstructorPattern::Constructor(_, k, args) => {
                let constructor = u32::try_from(*k).unwrap_or(u32::MAX);
                let recorded_names = self.argument_names(name, *k, args.len());
                for (j, arg) in (0..).zip(args) {
                    path.extend([constructor + 1, j]);
                    let own = recorded_names.get(j as usize).cloned().flatten();
                    self.name_opaque_parts(arg, &own.unwrap_or_else(|| format!("{name}{j}").into()), path, out);
                    path.truncate(path.len() - 2);
                }
            }
        }
    }
}

/// Returns the local whose value or element the node is.
fn matched_local(body: &TypedBody, of: TypedId) -> Option<LocalId> {
    match &body.nodes[of].kind {
        TypedExpr::Local(l) => Some(*l),
        TypedExpr::Index(of, _) => matched_local(body, *of),
        _ => None,
    }
}
