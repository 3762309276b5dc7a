//! What goes in and what comes out: the parameters of the definition and those that its derivative has beside
//! them, and results that mirror their types. Arrays of records are arrays of parts in Tensor SSA; here they are
//! what the program has.

use std::sync::Arc;

use super::names::spelled;
use super::ways::has_sum;
use super::{Outside, Shelf, Which};
use crate::ad::is_real;
use crate::base::{GlobalName, Name};
use crate::ir::core::{CoreType, Labels, Leaf, SumType};
use crate::ir::flat::{Input, Source};
use crate::ir::ssa::{Rhs, Ssa, Var};
use crate::norm::Bodies;
use crate::pipeline::{Callees, Stages};
use crate::predicate::Poly;
use crate::resolve::Names;
use crate::syntax::ast::Item;
use crate::syntax::ops::Scalar;
use crate::syntax::parser::parse_item;
use crate::types::check::tangent;
use crate::types::ty::{Signature, Type, TypeArg};

/// What is asked.
pub(super) struct Asked<'a> {
    pub(super) module: &'a dyn Callees,
    pub(super) bodies: &'a dyn Bodies,
    pub(super) names: &'a dyn Names,
    /// Derivatives of what is called.
    pub(super) shelf: &'a Shelf,
    pub(super) def: &'a GlobalName,
    /// Its text.
    pub(super) text: &'a str,
    pub(super) which: Which,
    pub(super) stages: &'a Stages,
    pub(super) derived: &'a Arc<Ssa>,
}

/// A value whose parts inputs are: a name and its type.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Base {
    pub(super) name: Name,
    pub(super) ty: CoreType,
}

/// A parameter as it is written.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub(super) base: Base,
    pub(super) written: String,
}

/// The head of the derivative.
#[derive(Debug)]
pub(super) struct Head {
    /// The parameters of the definition.
    pub(super) own: Vec<Param>,
    /// Those beside them: a cotangent, or tangents, each with the number of the own one.
    pub(super) beside: Vec<(Option<usize>, Param)>,
    /// The results: the number of a parameter, or the result's tangent; how each is written.
    pub(super) results: Vec<(Option<usize>, CoreType, String)>,
}

impl Asked<'_> {
    /// The head.
    pub(super) fn head(&self) -> Result<Head, Outside> {
        let signature = self.bodies.signature(self.def).ok_or(Outside::Unreadable)?;
        let ssa = &self.stages.ssa;
        let texts = self.texts(&signature);
        let mut own = Vec::new();
        for (k, ((name, ty), (_, core))) in signature.params.iter().zip(&ssa.params).enumerate() {
            let ty = plain(ty, &signature);
            let base = Base { name: name.clone(), ty: core.clone() };
            let written = texts.get(k).cloned().flatten();
            own.push(Param { base, written: written.map_or_else(|| self.written(&ty), Ok)? });
        }
        let text = |k: Option<usize>| texts.get(k.unwrap_or(signature.params.len())).cloned().flatten();
        let result = plain(&signature.result, &signature);
        let taken =
            |name: &str| signature.params.iter().any(|p| p.0 == name) || signature.sizes.iter().any(|s| s.name == name);
        let mirrored = |k: Option<usize>, core: &CoreType, ty: &Type| -> Result<(CoreType, String), Outside> {
            let tangents = tangent(ty);
            let written = match text(k).filter(|_| tangents == *ty) {
                Some(text) => text,
                None => self.written(&tangents)?,
            };
            Ok((mirror(core), written))
        };
        let vary: Vec<usize> =
            (0..ssa.params.len()).filter(|k| ssa.params.get(*k).is_some_and(|p| has_real(&p.1))).collect();
        let types: Vec<Type> = signature.params.iter().map(|(_, ty)| plain(ty, &signature)).collect();
        let mut head = Head { own, beside: Vec::new(), results: Vec::new() };
        match self.which {
            Which::Adjoint => {
                let (ty, written) = mirrored(None, &ssa.result, &result)?;
                head.beside.push((None, Param { base: Base { name: self.result_name(None, &taken), ty }, written }));
                for k in vary {
                    let (Some((_, core)), Some(ty)) = (ssa.params.get(k), types.get(k)) else { continue };
                    let (core, written) = mirrored(Some(k), core, ty)?;
                    head.results.push((Some(k), core, written));
                }
            }
            Which::Forward => {
                for k in vary {
                    let (Some((_, core)), Some(ty)) = (ssa.params.get(k), types.get(k)) else { continue };
                    let (ty, written) = mirrored(Some(k), core, ty)?;
                    let own = signature.params.get(k).map(|p| p.0.clone()).unwrap_or_default();
                    let mut name = format!("{own}_tan");
                    while taken(&name) {
                        name.push('_');
                    }
                    head.beside.push((Some(k), Param { base: Base { name: name.into(), ty }, written }));
                }
                let (ty, written) = mirrored(None, &ssa.result, &result)?;
                head.results.push((None, ty, written));
            }
        }
        Ok(head)
    }

    /// What the cotangent of the result is called; of what the program calls `carried` first after that.
    pub(super) fn result_name(&self, carried: Option<&str>, taken: &dyn Fn(&str) -> bool) -> Name {
        // What belongs to a `y` of the program has its name.
        let body = self.bodies.body(self.def);
        let given = |name: &str| body.iter().any(|b| b.locals.iter().any(|l| l.name == name));
        if let Some(own) = carried.map(|name| format!("{name}_adj")).filter(|own| !taken(own) && !given(own)) {
            return own.into();
        }
        let free = |name: &&str| !(taken(name) || *name == "y_adj" && (taken("y") || given("y")));
        ["y_adj", "out_adj", "result_adj"].into_iter().find(free).unwrap_or("y_adj_").into()
    }

    /// The types of the parameters and of the result as the program has them, if it has them for these types.
    fn texts(&self, signature: &Signature) -> Vec<Option<String>> {
        let tree = parse_item(self.text).tree;
        let Item::Def(def) = &tree.item else { return Vec::new() };
        if !signature.type_params.is_empty() {
            return Vec::new();
        }
        let types = def.params.iter().map(|p| Some(p.ty)).chain([def.result]);
        let text = |t| self.text.get(tree.types[t].span.range()).filter(|text| !text.contains(['?', '\n']));
        types.map(|t| text(t?).map(str::to_owned)).collect()
    }

    /// What the results are made of, in the order of their parts: derivatives, and inside constructors what is not real
    /// of the values that they belong to, but for the number of a constructor beside which there is no other.
    pub(super) fn outputs(&self, head: &Head) -> Result<Vec<(Leaf, Var)>, Outside> {
        let (primal, ssa) = (&self.stages.ssa, self.derived);
        let mut derived = ssa.outputs.iter().skip(primal.outputs.len()).cloned();
        let mut outputs = Vec::new();
        for (of, ty, _) in &head.results {
            for leaf in ty.leaves() {
                if is_only(ty, &leaf.path) {
                    continue;
                }
                if is_real(leaf.scalar) {
                    outputs.push(derived.next().ok_or(Outside::Unreadable)?);
                    continue;
                }
                let var = match of {
                    // A parameter's.
                    Some(k) => ssa.stmts.iter().position(|stmt| {
                        let Rhs::Input(input) = &stmt.rhs else { return false };
                        ssa.inputs.get(*input as usize).is_some_and(|i| {
                            i.source == Source::Param(u32::try_from(*k).unwrap_or(u32::MAX)) && i.leaf.path == leaf.path
                        })
                    }),
                    None => primal.outputs.iter().position(|(l, _)| l.path == leaf.path),
                };
                let var = var.and_then(|k| match of {
                    Some(_) => u32::try_from(k).ok().map(Var),
                    None => ssa.outputs.get(k).map(|(_, v)| *v),
                });
                outputs.push((leaf, var.ok_or(Outside::Unreadable)?));
            }
        }
        Ok(outputs)
    }

    /// The numbers of the constructors of the result, where a cotangent has to have the same.
    pub(super) fn constructors(&self, head: &Head) -> Vec<(Leaf, Var)> {
        let cotangent = head.beside.iter().any(|b| b.0.is_none() && has_sum(&b.1.base.ty));
        let outputs = self.stages.ssa.outputs.iter().zip(&self.derived.outputs);
        let outputs = outputs.filter(|((leaf, _), _)| leaf.dims.is_empty() && leaf.scalar == Some(Scalar::I64));
        let outputs = outputs.filter(|((leaf, _), _)| !is_only(&self.stages.ssa.result, &leaf.path));
        outputs.filter(|_| cotangent).map(|((leaf, _), (_, v))| (leaf.clone(), *v)).collect()
    }

    /// The value that an input is a part of, and the path to it.
    pub(super) fn base(&self, head: &Head, inputs: &[Input], input: usize) -> Result<(Base, Vec<u32>), Outside> {
        let input = inputs.get(input).ok_or(Outside::Unreadable)?;
        let primal = &self.stages.ssa;
        let find = |of: Option<usize>| head.beside.iter().find(|b| b.0 == of).map(|b| b.1.base.clone());
        Ok(match &input.source {
            Source::Param(k) => {
                let param = head.own.get(*k as usize).ok_or(Outside::Unreadable)?;
                (param.base.clone(), input.leaf.path.clone())
            }
            Source::Global(name) => {
                if !input.leaf.path.is_empty() {
                    return Err(Outside::Parts);
                }
                let name = spelled(self.names, &self.def.module, name).ok_or(Outside::Foreign)?;
                (Base { name: name.into(), ty: input.leaf.ty() }, Vec::new())
            }
            Source::Tangent(k) => {
                let of = primal.inputs.get(*k as usize).ok_or(Outside::Unreadable)?;
                let Source::Param(p) = &of.source else { return Err(Outside::Nested) };
                (find(Some(*p as usize)).ok_or(Outside::Unreadable)?, of.leaf.path.clone())
            }
            Source::Cotangent(k) => {
                let (leaf, _) = primal.outputs.get(*k as usize).ok_or(Outside::Unreadable)?;
                (find(None).ok_or(Outside::Unreadable)?, leaf.path.clone())
            }
        })
    }

    /// A constructor as the definition's module writes it.
    pub(super) fn constructor(&self, of: &SumType, k: usize) -> Option<String> {
        let name = GlobalName { module: of.name.module.clone(), name: of.constructors.get(k)?.clone() };
        spelled(self.names, &self.def.module, &name)
    }

    /// A type as the definition's module writes it.
    fn written(&self, ty: &Type) -> Result<String, Outside> {
        Ok(self.named(ty)?.to_string())
    }

    fn named(&self, ty: &Type) -> Result<Type, Outside> {
        Ok(match ty {
            Type::Data(name, args) => {
                let name = spelled(self.names, &self.def.module, name).ok_or(Outside::Foreign)?;
                let args = args.iter().map(|a| {
                    Ok(match a {
                        TypeArg::Type(t) => TypeArg::Type(self.named(t)?),
                        TypeArg::Size(p) => TypeArg::Size(p.clone()),
                    })
                });
                Type::Data(GlobalName::new(&self.def.module, &name), args.collect::<Result<_, Outside>>()?)
            }
            Type::Array(n, t) => Type::Array(n.clone(), Arc::new(self.named(t)?)),
            Type::Tuple(items) => Type::Tuple(items.iter().map(|t| self.named(t)).collect::<Result<_, _>>()?),
            Type::Record(fields) => {
                let fields = fields.iter().map(|(n, t)| Ok((n.clone(), self.named(t)?)));
                Type::Record(fields.collect::<Result<_, Outside>>()?)
            }
            other => other.clone(),
        })
    }
}

/// The type with the definition's type parameters real.
fn plain(ty: &Type, signature: &Signature) -> Type {
    ty.substitute(&|k| signature.type_params.get(k as usize).map(|_| Type::F64), &|_| None)
}

/// The type of its tangents: `()` in place of what is not real.
pub(super) fn mirror(ty: &CoreType) -> CoreType {
    let unit = || CoreType::unit();
    match ty {
        CoreType::Scalar(s) if is_real(Some(*s)) => ty.clone(),
        // What is not real in constructors stays.
        CoreType::Tuple(_, Labels::Sum(_)) => ty.clone(),
        CoreType::Scalar(_) | CoreType::Rel(_) => unit(),
        CoreType::Tuple(items, names) => CoreType::Tuple(items.iter().map(mirror).collect(), names.clone()),
        CoreType::Tensor(n, t) => match mirror(t) {
            CoreType::Tuple(items, Labels::Places) if items.is_empty() => unit(),
            t => CoreType::Tensor(n.clone(), Arc::new(t)),
        },
    }
}

/// Is it the number of a constructor beside which there is no other?
pub(super) fn is_only(ty: &CoreType, path: &[u32]) -> bool {
    let Some((0, before)) = path.split_last() else { return false };
    let inner = before.iter().try_fold(ty, |ty, k| match ty.peel().1 {
        CoreType::Tuple(items, _) => items.get(*k as usize),
        _ => None,
    });
    match inner.map(|ty| ty.peel().1) {
        Some(CoreType::Tuple(_, labels)) => labels.sum().is_some_and(|sum| sum.constructors.len() == 1),
        _ => false,
    }
}

/// Has it a part that is real?
pub(super) fn has_real(ty: &CoreType) -> bool {
    ty.leaves().iter().any(|leaf| is_real(leaf.scalar))
}

/// A part of a value at some indices, as it is written: `p[i].x[j]`.
pub(super) fn part(base: &Base, path: &[u32], at: &[String]) -> String {
    let mut text = base.name.to_string();
    let (mut ty, mut path, mut at) = (&base.ty, path.iter(), at.iter());
    let mut open = false;
    loop {
        match ty {
            CoreType::Tensor(_, inner) => {
                let Some(i) = at.next() else { break };
                text += if open { ", " } else { "[" };
                text += i;
                open = true;
                ty = inner;
            }
            CoreType::Tuple(items, names) => {
                if std::mem::take(&mut open) {
                    text += "]";
                }
                let Some(k) = path.next() else { break };
                let Some(inner) = items.get(*k as usize) else { break };
                match names.field(*k) {
                    Some(name) => text += &format!(".{name}"),
                    None => text += &format!(".{k}"),
                }
                ty = inner;
            }
            CoreType::Scalar(_) | CoreType::Rel(_) => break,
        }
    }
    if open { text + "]" } else { text }
}

/// The extents of a part of a value, outermost first, and whether they are those of one array.
pub(super) fn axes(base: &Base, path: &[u32]) -> (Vec<Poly>, bool) {
    let (mut dims, mut groups) = (Vec::new(), 0);
    let (mut ty, mut path, mut inside) = (&base.ty, path.iter(), false);
    loop {
        match ty {
            CoreType::Tensor(n, inner) => {
                groups += usize::from(!std::mem::replace(&mut inside, true));
                dims.push(n.clone());
                ty = inner;
            }
            CoreType::Tuple(items, _) => {
                // What stands between axes and the element splits them.
                groups += usize::from(inside);
                inside = false;
                let Some(inner) = path.next().and_then(|k| items.get(*k as usize)) else { break };
                ty = inner;
            }
            CoreType::Scalar(_) | CoreType::Rel(_) => break,
        }
    }
    (dims, groups <= 1)
}
