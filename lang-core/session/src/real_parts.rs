//! **Real leaves of a value.** Enumerates its real parts, through elements of arrays, components of
//! tuples and fields of records to any depth. Also builds the typed nodes that read such a part, or
//! add to it.

use std::sync::Arc;

use lang_base::{Arena, Name};
use lang_sizes::predicate::{LocalId, Poly};
use lang_syntax::ops::{BinOp, BinderKind, Scalar};
use lang_types::tree::{
    BodyLocal, TypedBody, TypedExpr, TypedId, TypedIndexRange, TypedIndexVar, TypedNode, TypedPattern, TypedSubscript,
};
use lang_types::ty::Type;

/// A step from a value to a part of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum PartStep {
    /// An element of an array of that extent.
    Element(Poly),
    /// A component of a tuple, or a field of a record with its name.
    Component(u32, Option<Name>),
}

/// A real part, by the steps that lead to it.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct RealPart {
    pub(super) steps: Vec<PartStep>,
}

/// Returns the real parts of a value of that type, in order.
pub(super) fn real_parts(ty: &Type) -> Vec<RealPart> {
    let behind = |step: PartStep, ty: &Type| {
        let all = real_parts(ty).into_iter();
        all.map(|leaf| RealPart { steps: [step.clone()].into_iter().chain(leaf.steps).collect() }).collect::<Vec<_>>()
    };
    match ty {
        Type::Scalar(Scalar::F64 | Scalar::F32) | Type::Param(..) => vec![RealPart::default()],
        Type::Array(n, element) => behind(PartStep::Element(n.clone()), element),
        Type::Tuple(items) => {
            (0..).zip(items.iter()).flat_map(|(k, ty)| behind(PartStep::Component(k, None), ty)).collect()
        }
        Type::Record(fields) => {
            let field = |(k, (name, ty)): (u32, &(Name, Type))| behind(PartStep::Component(k, Some(name.clone())), ty);
            (0..).zip(fields.iter()).flat_map(field).collect()
        }
        _ => Vec::new(),
    }
}

impl RealPart {
    /// Returns the extents of the arrays on the way, outermost first.
    pub(super) fn extents(&self) -> impl DoubleEndedIterator<Item = &Poly> {
        self.steps.iter().filter_map(|step| match step {
            PartStep::Element(n) => Some(n),
            PartStep::Component(..) => None,
        })
    }

    /// Returns the type of one number of it.
    pub(super) fn scalar_type(&self, ty: &Type) -> Option<Type> {
        self.steps.iter().try_fold(ty.clone(), |ty, step| match (step, &ty) {
            (PartStep::Element(_), Type::Array(_, element)) => Some((**element).clone()),
            (PartStep::Component(k, _), _) => component_types(&ty).into_iter().nth(*k as usize),
            _ => None,
        })
    }

    /// Formats the steps with these indices, `[i].mean[j, k]`, or without any, `.mean`.
    pub(super) fn path_text(&self, at: &[String]) -> String {
        let (mut text, mut open, mut at) = (String::new(), false, at.iter());
        for step in &self.steps {
            match step {
                PartStep::Element(_) => {
                    let Some(i) = at.next() else { continue };
                    text += if open { ", " } else { "[" };
                    text += i;
                    open = true;
                }
                PartStep::Component(k, name) => {
                    text += if std::mem::take(&mut open) { "]." } else { "." };
                    text += &name.as_ref().map_or_else(|| k.to_string(), Name::to_string);
                }
            }
        }
        text + if open { "]" } else { "" }
    }

    /// Builds the node of this part of a value, at these integers as indices of the arrays on the
    /// way.
    pub(super) fn build_read(&self, nodes: &mut Arena<TypedNode>, value: TypedId, at: &[LocalId]) -> TypedId {
        let (mut part, mut at) = (value, at.iter());
        let mut open = Vec::new();
        for step in &self.steps {
            match step {
                PartStep::Element(_) => open.extend(at.next()),
                PartStep::Component(k, _) => {
                    let tuple = build_element(nodes, part, &std::mem::take(&mut open));
                    part = build_component(nodes, tuple, *k);
                }
            }
        }
        build_element(nodes, part, &open)
    }
}

/// Builds a node that reads a local.
pub(super) fn build_local_read(nodes: &mut Arena<TypedNode>, local: LocalId, ty: Type, at: TypedId) -> TypedId {
    let span = nodes[at].span;
    nodes.alloc(TypedNode { kind: TypedExpr::Local(local), ty, span })
}

/// Builds the element of an array at these integers.
pub(super) fn build_element(nodes: &mut Arena<TypedNode>, array: TypedId, at: &[LocalId]) -> TypedId {
    let at: Vec<(LocalId, Poly)> = at.iter().map(|local| (*local, Poly::default())).collect();
    build_offset_element(nodes, array, &at)
}

/// Builds the element of an array at integers, each minus its start.
pub(super) fn build_offset_element(nodes: &mut Arena<TypedNode>, array: TypedId, at: &[(LocalId, Poly)]) -> TypedId {
    if at.is_empty() {
        return array;
    }
    let (mut ty, span) = (nodes[array].ty.clone(), nodes[array].span);
    let mut subscripts = Vec::new();
    for (local, begin) in at {
        let mut index = build_local_read(nodes, *local, Type::I64, array);
        if *begin != Poly::default() {
            let kind = TypedExpr::Size(begin.clone());
            let begin = nodes.alloc(TypedNode { kind, ty: Type::I64, span });
            index = nodes.alloc(TypedNode { kind: TypedExpr::Arith(BinOp::Sub, index, begin), ty: Type::I64, span });
        }
        subscripts.push(TypedSubscript::Index { index, is_proved: true });
        if let Type::Array(_, element) = ty {
            ty = (*element).clone();
        }
    }
    nodes.alloc(TypedNode { kind: TypedExpr::Index(array, subscripts), ty, span })
}

/// Builds a component of a tuple or record.
fn build_component(nodes: &mut Arena<TypedNode>, of: TypedId, k: u32) -> TypedId {
    let TypedNode { ty, span, .. } = &nodes[of];
    let (inner, span) = (component_types(ty).into_iter().nth(k as usize).unwrap_or(Type::Error), *span);
    nodes.alloc(TypedNode { kind: TypedExpr::Proj(of, k), ty: inner, span })
}

/// Returns the types of the components of a tuple or record.
fn component_types(ty: &Type) -> Vec<Type> {
    match ty {
        Type::Tuple(items) => items.to_vec(),
        Type::Record(fields) => fields.iter().map(|(_, ty)| ty.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Adds a local to the body.
pub(super) fn add_local(body: &mut TypedBody, name: &str, ty: Type, at: TypedId) -> Option<LocalId> {
    let local = LocalId(u32::try_from(body.locals.len()).ok()?);
    let span = body.nodes[at].span;
    body.locals.push(BodyLocal { name: name.into(), ty, span });
    Some(local)
}

/// Builds a value with a number or array added to the part at these steps.
pub(super) fn build_sum_at_part(
    body: &mut TypedBody,
    steps: &[PartStep],
    value: TypedId,
    what: TypedId,
) -> Option<TypedId> {
    let TypedNode { ty, span, .. } = body.nodes[value].clone();
    if steps.iter().all(|step| matches!(step, PartStep::Element(_))) {
        return Some(body.nodes.alloc(TypedNode { kind: TypedExpr::Arith(BinOp::Add, value, what), ty, span }));
    }
    let (step, rest) = steps.split_first()?;
    let whole = add_local(body, "_", ty.clone(), value)?;
    let bound = build_local_read(&mut body.nodes, whole, ty.clone(), value);
    let kind = match step {
        PartStep::Element(n) => {
            let i = add_local(body, "_", Type::I64, value)?;
            let (own, more) = (build_element(&mut body.nodes, bound, &[i]), build_element(&mut body.nodes, what, &[i]));
            let inner = build_sum_at_part(body, rest, own, more)?;
            let vars = vec![TypedIndexVar { local: i, range: TypedIndexRange::Extent(n.clone()) }];
            TypedExpr::Binder { kind: BinderKind::For, vars, filter: None, body: inner }
        }
        PartStep::Component(k, name) => {
            let mut all = Vec::new();
            for j in 0..u32::try_from(component_types(&ty).len()).ok()? {
                let own = build_component(&mut body.nodes, bound, j);
                all.push(if j == *k { build_sum_at_part(body, rest, own, what)? } else { own });
            }
            if name.is_some() { TypedExpr::Record((0..).zip(all).collect()) } else { TypedExpr::Tuple(all) }
        }
    };
    let sum_node = body.nodes.alloc(TypedNode { kind, ty: ty.clone(), span });
    let kind = TypedExpr::Let(vec![(TypedPattern::Bind(whole), value)], sum_node);
    Some(body.nodes.alloc(TypedNode { kind, ty, span }))
}

/// Returns the type of an array with these extents and elements.
pub(super) fn array_type(extents: Vec<Poly>, element: Type) -> Type {
    extents.into_iter().rev().fold(element, |ty, n| Type::Array(n, Arc::new(ty)))
}
