//! **Signature of a derivative.** Computes its parameters (the primal's, then the tangents or the
//! cotangent) and its results, which mirror the types of the primal. Tensor SSA holds an array of
//! records as one array per field; here values have the types that the program writes. The writer
//! calls this module before it prints the body.

use std::sync::Arc;

use super::constructor_patterns::contains_sum_type;
use super::names::qualified_spelling;
use super::{DerivativeMode, NoTextReason, PrintedDerivativeCache};
use lang_base::{GlobalName, Name};
use lang_ir::core::{CoreType, SumType, TupleLabels, TypeLeaf};
use lang_ir::flat::{FunctionInput, InputSource};
use lang_ir::ssa::{Rhs, SsaFunction, StmtId};
use lang_middle::ad::is_real;
use lang_middle::norm::ElabQueries;
use lang_middle::pipeline::{CalleeForms, Stages};
use lang_resolve::NameEnv;
use lang_sizes::predicate::Poly;
use lang_syntax::ast::Item;
use lang_syntax::ops::Scalar;
use lang_syntax::parser::parse_item;
use lang_types::check::tangent_type;
use lang_types::ty::{GenericArg, Signature, Type};

/// A request to print a derivative, with the environment that answers questions about it.
pub(super) struct PrintRequest<'a> {
    pub(super) module: &'a dyn CalleeForms,
    pub(super) bodies: &'a dyn ElabQueries,
    pub(super) names: &'a dyn NameEnv,
    /// The memoised derivatives of callees.
    pub(super) cache: &'a PrintedDerivativeCache,
    pub(super) def: &'a GlobalName,
    /// The source text of the definition.
    pub(super) text: &'a str,
    pub(super) mode: DerivativeMode,
    pub(super) stages: &'a Stages,
    pub(super) derivative_ssa: &'a Arc<SsaFunction>,
}

/// A value whose parts are inputs: its name and type.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct NamedValue {
    pub(super) name: Name,
    pub(super) ty: CoreType,
}

/// A parameter with the text of its type.
#[derive(Clone, Debug)]
pub(super) struct SignatureParameter {
    pub(super) value: NamedValue,
    pub(super) type_text: String,
}

/// The parameters and results of the derivative.
#[derive(Debug)]
pub(super) struct DerivativeSignature {
    /// The parameters of the definition.
    pub(super) primal_parameters: Vec<SignatureParameter>,
    /// The additional parameters: the cotangent of the result (`None`), or the tangents, each with
    /// the number of its primal parameter.
    pub(super) additional_parameters: Vec<(Option<usize>, SignatureParameter)>,
    /// The results: the number of the parameter whose cotangent it is (`None` for the result's
    /// tangent), the type, and the type's text.
    pub(super) results: Vec<(Option<usize>, CoreType, String)>,
}

impl PrintRequest<'_> {
    /// Computes the parameters and results.
    pub(super) fn signature(&self) -> Result<DerivativeSignature, NoTextReason> {
        let signature = self.bodies.signature(self.def).ok_or(NoTextReason::InternalError)?;
        let ssa = &self.stages.ssa;
        let texts = self.written_type_texts(&signature);
        let mut own = Vec::new();
        for (k, ((name, ty), (_, core))) in signature.params.iter().zip(&ssa.params).enumerate() {
            let ty = with_f64_parameters(ty, &signature);
            let base = NamedValue { name: name.clone(), ty: core.clone() };
            let written = texts.get(k).cloned().flatten();
            own.push(SignatureParameter { value: base, type_text: written.map_or_else(|| self.print_type(&ty), Ok)? });
        }
        let text = |k: Option<usize>| texts.get(k.unwrap_or(signature.params.len())).cloned().flatten();
        let result = with_f64_parameters(&signature.result, &signature);
        let taken =
            |name: &str| signature.params.iter().any(|p| p.0 == name) || signature.sizes.iter().any(|s| s.name == name);
        let mirrored = |k: Option<usize>, core: &CoreType, ty: &Type| -> Result<(CoreType, String), NoTextReason> {
            let tangents = tangent_type(ty);
            let written = match text(k).filter(|_| tangents == *ty) {
                Some(text) => text,
                None => self.print_type(&tangents)?,
            };
            Ok((tangent_core_type(core), written))
        };
        let vary: Vec<usize> =
            (0..ssa.params.len()).filter(|k| ssa.params.get(*k).is_some_and(|p| has_real(&p.1))).collect();
        let types: Vec<Type> = signature.params.iter().map(|(_, ty)| with_f64_parameters(ty, &signature)).collect();
        let mut head =
            DerivativeSignature { primal_parameters: own, additional_parameters: Vec::new(), results: Vec::new() };
        match self.mode {
            DerivativeMode::Adjoint => {
                let (ty, written) = mirrored(None, &ssa.result, &result)?;
                head.additional_parameters.push((
                    None,
                    SignatureParameter {
                        value: NamedValue { name: self.result_cotangent_name(None, &taken), ty },
                        type_text: written,
                    },
                ));
                for k in vary {
                    let (Some((_, core)), Some(ty)) = (ssa.params.get(k), types.get(k)) else { continue };
                    let (core, written) = mirrored(Some(k), core, ty)?;
                    head.results.push((Some(k), core, written));
                }
            }
            DerivativeMode::Forward => {
                for k in vary {
                    let (Some((_, core)), Some(ty)) = (ssa.params.get(k), types.get(k)) else { continue };
                    let (ty, written) = mirrored(Some(k), core, ty)?;
                    let own = signature.params.get(k).map(|p| p.0.clone()).unwrap_or_default();
                    let mut name = format!("{own}_tan");
                    while taken(&name) {
                        name.push('_');
                    }
                    head.additional_parameters.push((
                        Some(k),
                        SignatureParameter { value: NamedValue { name: name.into(), ty }, type_text: written },
                    ));
                }
                let (ty, written) = mirrored(None, &ssa.result, &result)?;
                head.results.push((None, ty, written));
            }
        }
        Ok(head)
    }

    /// Chooses the name of the result's cotangent. If the program carries the result as `carried`,
    /// the cotangent is `carried_adj` if that name is free.
    pub(super) fn result_cotangent_name(&self, carried: Option<&str>, taken: &dyn Fn(&str) -> bool) -> Name {
        // If the program has a variable `y`, the name `y_adj` belongs to it.
        let body = self.bodies.body(self.def);
        let is_local_name = |name: &str| body.iter().any(|b| b.locals.iter().any(|l| l.name == name));
        if let Some(own) = carried.map(|name| format!("{name}_adj")).filter(|own| !taken(own) && !is_local_name(own)) {
            return own.into();
        }
        let free = |name: &&str| !(taken(name) || *name == "y_adj" && (taken("y") || is_local_name("y")));
        ["y_adj", "out_adj", "result_adj"].into_iter().find(free).unwrap_or("y_adj_").into()
    }

    /// Returns the texts of the parameter types and of the result type as the program writes them.
    /// Empty if the definition has type parameters, because the texts then mention them.
    fn written_type_texts(&self, signature: &Signature) -> Vec<Option<String>> {
        let tree = parse_item(self.text).tree;
        let Item::Def(def) = &tree.item else { return Vec::new() };
        if !signature.type_params.is_empty() {
            return Vec::new();
        }
        let types = def.params.iter().map(|p| Some(p.ty)).chain([def.result]);
        let text = |t| self.text.get(tree.types[t].span.range()).filter(|text| !text.contains(['?', '\n']));
        types.map(|t| text(t?).map(str::to_owned)).collect()
    }

    /// Returns the leaves of the results in order, each with the statement that computes it. Real
    /// leaves are derivatives; inside sum types the other leaves are those of the primal value. The
    /// tag of a sum type with one constructor is omitted.
    pub(super) fn result_leaves(&self, head: &DerivativeSignature) -> Result<Vec<(TypeLeaf, StmtId)>, NoTextReason> {
        let (primal, ssa) = (&self.stages.ssa, self.derivative_ssa);
        let mut derived = ssa.outputs.iter().skip(primal.outputs.len()).cloned();
        let mut outputs = Vec::new();
        for (of, ty, _) in &head.results {
            for leaf in ty.leaves() {
                if is_sole_constructor_tag(ty, &leaf.path) {
                    continue;
                }
                if is_real(leaf.scalar) {
                    outputs.push(derived.next().ok_or(NoTextReason::InternalError)?);
                    continue;
                }
                let var = match of {
                    // A leaf of a parameter is one of the inputs.
                    Some(k) => ssa.stmts.iter().position(|stmt| {
                        let Rhs::Input(input) = &stmt.rhs else { return false };
                        ssa.inputs.get(*input as usize).is_some_and(|i| {
                            i.source == InputSource::Param(u32::try_from(*k).unwrap_or(u32::MAX))
                                && i.leaf.path == leaf.path
                        })
                    }),
                    None => primal.outputs.iter().position(|(l, _)| l.path == leaf.path),
                };
                let var = var.and_then(|k| match of {
                    Some(_) => u32::try_from(k).ok().map(StmtId),
                    None => ssa.outputs.get(k).map(|(_, v)| *v),
                });
                outputs.push((leaf, var.ok_or(NoTextReason::InternalError)?));
            }
        }
        Ok(outputs)
    }

    /// Returns the constructor tags of the result, with their statements, if a cotangent must have
    /// the same constructors; otherwise nothing.
    pub(super) fn result_tags(&self, head: &DerivativeSignature) -> Vec<(TypeLeaf, StmtId)> {
        let cotangent = head.additional_parameters.iter().any(|b| b.0.is_none() && contains_sum_type(&b.1.value.ty));
        let outputs = self.stages.ssa.outputs.iter().zip(&self.derivative_ssa.outputs);
        let outputs = outputs.filter(|((leaf, _), _)| leaf.dims.is_empty() && leaf.scalar == Some(Scalar::I64));
        let outputs = outputs.filter(|((leaf, _), _)| !is_sole_constructor_tag(&self.stages.ssa.result, &leaf.path));
        outputs.filter(|_| cotangent).map(|((leaf, _), (_, v))| (leaf.clone(), *v)).collect()
    }

    /// Returns the value that an input is a part of, and the path to the part.
    pub(super) fn input_location(
        &self,
        head: &DerivativeSignature,
        inputs: &[FunctionInput],
        input: usize,
    ) -> Result<(NamedValue, Vec<u32>), NoTextReason> {
        let input = inputs.get(input).ok_or(NoTextReason::InternalError)?;
        let primal = &self.stages.ssa;
        let find = |of: Option<usize>| head.additional_parameters.iter().find(|b| b.0 == of).map(|b| b.1.value.clone());
        Ok(match &input.source {
            InputSource::Param(k) => {
                let param = head.primal_parameters.get(*k as usize).ok_or(NoTextReason::InternalError)?;
                (param.value.clone(), input.leaf.path.clone())
            }
            InputSource::Global(name) => {
                if !input.leaf.path.is_empty() {
                    return Err(NoTextReason::TopLevelComponent);
                }
                let name =
                    qualified_spelling(self.names, &self.def.module, name).ok_or(NoTextReason::UnimportedName)?;
                (NamedValue { name: name.into(), ty: input.leaf.ty() }, Vec::new())
            }
            InputSource::Tangent(k) => {
                let of = primal.inputs.get(*k as usize).ok_or(NoTextReason::InternalError)?;
                let InputSource::Param(p) = &of.source else { return Err(NoTextReason::HigherDerivative) };
                (find(Some(*p as usize)).ok_or(NoTextReason::InternalError)?, of.leaf.path.clone())
            }
            InputSource::Cotangent(k) => {
                let (leaf, _) = primal.outputs.get(*k as usize).ok_or(NoTextReason::InternalError)?;
                (find(None).ok_or(NoTextReason::InternalError)?, leaf.path.clone())
            }
        })
    }

    /// Returns the name of a constructor as the definition's module writes it.
    pub(super) fn constructor_spelling(&self, of: &SumType, k: usize) -> Option<String> {
        let name = GlobalName { module: of.name.module.clone(), name: of.constructors.get(k)?.clone() };
        qualified_spelling(self.names, &self.def.module, &name)
    }

    /// Returns the text of a type as the definition's module writes it.
    fn print_type(&self, ty: &Type) -> Result<String, NoTextReason> {
        Ok(self.with_spelled_names(ty)?.to_string())
    }

    fn with_spelled_names(&self, ty: &Type) -> Result<Type, NoTextReason> {
        Ok(match ty {
            Type::Data(name, args) => {
                let name =
                    qualified_spelling(self.names, &self.def.module, name).ok_or(NoTextReason::UnimportedName)?;
                let args = args.iter().map(|a| {
                    Ok(match a {
                        GenericArg::Type(t) => GenericArg::Type(self.with_spelled_names(t)?),
                        GenericArg::Size(p) => GenericArg::Size(p.clone()),
                    })
                });
                Type::Data(GlobalName::new(&self.def.module, &name), args.collect::<Result<_, NoTextReason>>()?)
            }
            Type::Array(n, t) => Type::Array(n.clone(), Arc::new(self.with_spelled_names(t)?)),
            Type::Tuple(items) => {
                Type::Tuple(items.iter().map(|t| self.with_spelled_names(t)).collect::<Result<_, _>>()?)
            }
            Type::Record(fields) => {
                let fields = fields.iter().map(|(n, t)| Ok((n.clone(), self.with_spelled_names(t)?)));
                Type::Record(fields.collect::<Result<_, NoTextReason>>()?)
            }
            other => other.clone(),
        })
    }
}

/// Returns the type with `f64` for each type parameter.
fn with_f64_parameters(ty: &Type, signature: &Signature) -> Type {
    ty.substitute(&|k| signature.type_params.get(k as usize).map(|_| Type::F64), &|_| None)
}

/// Returns the type of its tangents: `()` replaces components that are not real.
pub(super) fn tangent_core_type(ty: &CoreType) -> CoreType {
    let unit = || CoreType::unit();
    match ty {
        CoreType::Scalar(s) if is_real(Some(*s)) => ty.clone(),
        // A sum type keeps its components that are not real.
        CoreType::Tuple(_, TupleLabels::Sum(_)) => ty.clone(),
        CoreType::Scalar(_) | CoreType::Rel(_) => unit(),
        CoreType::Tuple(items, names) => CoreType::Tuple(items.iter().map(tangent_core_type).collect(), names.clone()),
        CoreType::Tensor(n, t) => match tangent_core_type(t) {
            CoreType::Tuple(items, TupleLabels::Positions) if items.is_empty() => unit(),
            t => CoreType::Tensor(n.clone(), Arc::new(t)),
        },
    }
}

/// Returns whether the path leads to the tag of a sum type with one constructor.
pub(super) fn is_sole_constructor_tag(ty: &CoreType, path: &[u32]) -> bool {
    let Some((0, before)) = path.split_last() else { return false };
    let inner = before.iter().try_fold(ty, |ty, k| match ty.split_array().1 {
        CoreType::Tuple(items, _) => items.get(*k as usize),
        _ => None,
    });
    match inner.map(|ty| ty.split_array().1) {
        Some(CoreType::Tuple(_, labels)) => labels.sum().is_some_and(|sum| sum.constructors.len() == 1),
        _ => false,
    }
}

/// Returns whether the type has a real leaf.
pub(super) fn has_real(ty: &CoreType) -> bool {
    ty.leaves().iter().any(|leaf| is_real(leaf.scalar))
}

/// Formats a part of a value at some indices: `p[i].x[j]`.
pub(super) fn print_part(base: &NamedValue, path: &[u32], at: &[String]) -> String {
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

/// Returns the extents of a part of a value, outermost first, and whether they belong to one array.
pub(super) fn part_extents(base: &NamedValue, path: &[u32]) -> (Vec<Poly>, bool) {
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
                // A tuple between the axes, or between them and the element, separates arrays.
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
