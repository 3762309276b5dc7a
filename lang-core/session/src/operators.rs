//! **Derivative operators.** Computes the derivative that an operator inside a definition denotes,
//! as in `grad(f)`, `hessian(f)(x)` or `deriv(e, x)`, in the names of the program. Also computes
//! the gradient of a definition by one of its parameters.
//!
//! An operator without arguments, or with arguments that are more than names, is applied to
//! variables named like the function's parameters. The call becomes a function of its own
//! ([`SubexpressionFunction`]), whose value is printed part by part. Its core form contains the
//! derivative, because elaboration replaces the operator.

use std::sync::Arc;

use salsa::Database;

use super::deferred_drop::DeferredDrop;
use super::enclosing::{enclosing_constructs, local_name};
use super::middle_queries::{self, CalleeKey, MiddleQueries};
use super::overlay::OverlayProgram;
use super::real_parts::{PartStep, RealPart, add_local, build_local_read, real_parts};
use super::subexpression::{
    EnclosingLets, EntriesOfCases, SubexpressionFunction, SubexpressionKey, calls_derivatives, evaluable_body,
    free_locals,
};
use super::view::ProgramView;
use super::{Session, cycles};
use lang_base::{GlobalName, Name};
use lang_ir::core::{DerivativeKind, FunctionKey as Core};
use lang_ir::flat::InputSource;
use lang_middle::ad::real_outputs;
use lang_middle::cost::CostFormulas;
use lang_middle::norm::ElabQueries as _;
use lang_middle::pipeline::CalleeForms as _;
use lang_resolve::forms::DerivativeOp as Operator;
use lang_sizes::predicate::{Atom, Poly};
use lang_source::{ExpressionContext, ShownDerivative, ValuePart, callee_at_f64, entries};
use lang_types::check::tangent_type;
use lang_types::env::TypeEnv as _;
use lang_types::tree::{Callee, TypedBody, TypedExpr, TypedForm, TypedId, TypedNode, TypedPattern};
use lang_types::ty::{FunType, Scalar, Type};

/// A derivative for a reader.
#[derive(Clone, PartialEq, Debug)]
pub struct ReadableDerivative {
    /// Its real parts, for each case that differs.
    pub entries: EntriesOfCases,
    /// The names of the function's parameters that occur in it; empty if the program supplies the
    /// point.
    pub parameters: Vec<Name>,
    /// The name of the function, if it has one.
    pub function_name: Option<Name>,
    /// The cost of one evaluation.
    pub cost: Option<Arc<CostFormulas>>,
}

impl Session {
    /// Returns the derivative that a node denotes: an operator, a call of one, or `deriv`.
    #[must_use]
    pub fn derivative(&self, def: &GlobalName, node: TypedId) -> Option<Arc<ReadableDerivative>> {
        derivative(&self.db, self.subexpression_key(def, node)?).value()
    }

    /// Returns the gradient of a definition by a parameter. If the result is not a single real
    /// number, returns the cotangent of the parameter as a function of the result's cotangent.
    #[must_use]
    pub fn gradient(&self, def: &GlobalName, param: u32) -> Option<Arc<ReadableDerivative>> {
        cycles::item_types_ready(&self.db, self.find_item(def)?);
        gradient(&self.db, ParameterKey::new(&self.db, def.clone(), param)).value()
    }
}

/// A parameter of a definition as a key of queries.
#[salsa::interned(debug)]
pub(super) struct ParameterKey<'db> {
    /// The definition.
    #[returns(ref)]
    pub(super) def: GlobalName,
    /// The number of the parameter.
    #[returns(copy)]
    pub(super) param: u32,
}

/// Returns the gradient by a parameter.
#[salsa::tracked]
pub(super) fn gradient<'db>(
    db: &'db dyn Database,
    of: ParameterKey<'db>,
) -> DeferredDrop<Option<Arc<ReadableDerivative>>> {
    compute_gradient(db, of).into()
}

fn compute_gradient<'db>(db: &'db dyn Database, of: ParameterKey<'db>) -> Option<Arc<ReadableDerivative>> {
    let (forms, param) = (MiddleQueries { db }, of.param(db));
    let callee = callee_at_f64(&forms, of.def(db))?;
    middle_queries::prepare(db, &callee);
    let derived = adjoint_callee(&forms, &callee, param);
    let calls = derived.as_ref().and_then(|derived| forms.ssa(derived)).is_some_and(|ssa| calls_derivatives(&ssa));
    let view = ProgramView::new(db);
    let within = || {
        let (body, signature) = (forms.body(&callee.def)?, view.signature(&callee.def)?);
        Some(OverlayProgram::new(db, callee.def.clone(), body, signature).with_inlining())
    };
    let entry = ShownDerivative::Gradient { param };
    let entries = match within().filter(|_| calls) {
        Some(within) => entries(&within, &within, &view, &callee, &entry, ExpressionContext::of_definition()),
        None => entries(&forms, &forms, &view, &callee, &entry, ExpressionContext::of_definition()),
    };
    let cost = derived.and_then(|derived| {
        middle_queries::prepare_cost(db, &derived);
        super::without_primal::cost_without_primal(db, CalleeKey::new(db, derived)).value()
    });
    Some(Arc::new(ReadableDerivative { entries, parameters: Vec::new(), function_name: None, cost }))
}

/// Returns the adjoint by one parameter, if something real varies.
fn adjoint_callee(forms: &MiddleQueries<'_>, callee: &Arc<Core>, param: u32) -> Option<Arc<Core>> {
    let ssa = forms.ssa(callee)?;
    let inputs = (0..).zip(&ssa.inputs).filter(|(_, i)| i.source == InputSource::Param(param));
    let wrt: Vec<u32> = inputs.filter(|(_, i)| lang_middle::ad::is_real(i.leaf.scalar)).map(|(k, _)| k).collect();
    let of = real_outputs(&ssa);
    let derived = callee.derivative(DerivativeKind::Adjoint { outputs: of.clone().into(), wrt: wrt.clone().into() });
    (!of.is_empty() && !wrt.is_empty()).then(|| Arc::new(derived))
}

/// Returns the derivative that a node denotes.
#[salsa::tracked]
pub(super) fn derivative<'db>(
    db: &'db dyn Database,
    of: SubexpressionKey<'db>,
) -> DeferredDrop<Option<Arc<ReadableDerivative>>> {
    compute_derivative(db, of).into()
}

fn compute_derivative<'db>(db: &'db dyn Database, of: SubexpressionKey<'db>) -> Option<Arc<ReadableDerivative>> {
    let (def, node) = (of.def(db), of.node(db));
    let body = evaluable_body(db, def).filter(|body| node.index() < body.nodes.len())?;
    let applied = AppliedOperator::apply_at_node(db, (*body).clone(), node)?;
    let AppliedOperator { body, root, params, lets, parts, mut parameters, function_name: name, gradients } = applied;
    let around = enclosing_constructs(&body, node)?;
    let mut inside = SubexpressionFunction::from_value(db, def, body, (root, params), around, lets)?;
    let cost = inside.cost().map(|(_, cost)| cost);
    let mut entries = inside.entries_with_inlining(db, &ShownDerivative::Value(parts));
    // The definition's own adjoint distinguishes cases, if sum types have several constructors.
    if entries.is_err()
        && let Some((def, wrt, names)) = gradients
    {
        let by = |k: u32| gradient(db, ParameterKey::new(db, def.clone(), k)).as_ref()?.entries.clone().ok();
        if let Some(all) = wrt.into_iter().map(by).collect::<Option<Vec<_>>>() {
            (entries, parameters) = (Ok(all.concat()), names);
        }
    }
    Some(Arc::new(ReadableDerivative { entries, parameters, function_name: name, cost }))
}

/// A derivative at a point, in a body of its own.
struct AppliedOperator {
    body: TypedBody,
    /// The node of its value.
    root: TypedId,
    /// Its parameters, in addition to the variables around it.
    params: Vec<lang_sizes::predicate::LocalId>,
    lets: EnclosingLets,
    parts: Vec<ValuePart>,
    parameters: Vec<Name>,
    function_name: Option<Name>,
    /// The definition whose gradients it holds, the numbers of the parameters, and the names of
    /// all.
    gradients: Option<(GlobalName, Vec<u32>, Vec<Name>)>,
}

impl AppliedOperator {
    /// Applies the operator of a node to a point: an operator, a call of one, or `deriv`. `None`
    /// for other nodes.
    fn apply_at_node(db: &dyn Database, mut body: TypedBody, node: TypedId) -> Option<Self> {
        if let TypedExpr::Form(TypedForm::Deriv(by), of) = &body.nodes[node].kind {
            let by = body.locals.get(by.0 as usize)?;
            let names = [by.name.clone()];
            let labels = PartLabels { operator: Operator::Jacobian, wrt: &[0], names: &names, function_name: None };
            let parts = labels.labelled_parts(
                &body.nodes[node].ty,
                &body.nodes[*of.first()?].ty,
                std::slice::from_ref(&by.ty),
            )?;
            return Some(Self {
                root: node,
                params: Vec::new(),
                lets: EnclosingLets::Functions,
                parts,
                parameters: Vec::new(),
                function_name: None,
                gradients: None,
                body,
            });
        }
        let (at, call) = match &body.nodes[node].kind {
            TypedExpr::Form(TypedForm::Derive(..), _) => (node, find_call(&body, node)),
            TypedExpr::Call { callee: Callee::Value(f), .. } => (without_checks(&body, *f), Some(node)),
            _ => return None,
        };
        let TypedExpr::Form(TypedForm::Derive(operator, wrt), of) = body.nodes[at].kind.clone() else { return None };
        let of = *of.first()?;
        let (Type::Fun(fun), Type::Fun(derived)) = (body.nodes[of].ty.clone(), body.nodes[at].ty.clone()) else {
            return None;
        };
        let wrt: Vec<usize> = match wrt {
            Some(wrt) => wrt.iter().map(|k| *k as usize).collect(),
            None => (0..fun.params.len()).collect(),
        };
        let (own, name) = parameter_names(db, &body, of);
        let taken: Vec<Name> = free_locals(&body, at).into_iter().map(|l| local_name(&body, l)).collect();
        let names = unique_parameter_names(&fun, &own, &taken);
        let types: Vec<Type> = fun.params.iter().map(|(_, ty)| ty.clone()).collect();
        let gradients = match &body.nodes[without_checks(&body, of)].kind {
            TypedExpr::DefValue(def, _) if operator == Operator::Grad => {
                let wrt = wrt.iter().filter_map(|k| u32::try_from(*k).ok()).collect();
                Some((def.clone(), wrt, own.iter().flatten().cloned().collect()))
            }
            _ => None,
        };
        let labels = PartLabels { operator, wrt: &wrt, names: &names, function_name: name.as_ref() };
        let at_point = call.filter(|call| match &body.nodes[*call].kind {
            TypedExpr::Call { args, .. } => args.iter().all(|arg| is_variable_path(&body, *arg)),
            _ => false,
        });
        if let Some(root) = at_point {
            let parts = labels.labelled_parts(&body.nodes[root].ty, &fun.result, &types)?;
            let (params, parameters) = (Vec::new(), Vec::new());
            return Some(Self {
                root,
                params,
                lets: EnclosingLets::Functions,
                parts,
                parameters,
                function_name: name,
                gradients,
                body,
            });
        }
        let (root, params) = apply_to_variables(&mut body, at, operator, (&fun, &derived), &wrt, &names)?;
        let parts = labels.labelled_parts(&body.nodes[root].ty, &fun.result, &types)?;
        Some(Self {
            root,
            params,
            lets: EnclosingLets::Functions,
            parts,
            parameters: names,
            function_name: name,
            gradients,
            body,
        })
    }
}

/// Returns the call of a function value.
fn find_call(body: &TypedBody, function: TypedId) -> Option<TypedId> {
    let calls = |node: &TypedNode| matches!(&node.kind, TypedExpr::Call { callee: Callee::Value(f), .. } if without_checks(body, *f) == function);
    body.nodes.iter().find(|(_, node)| calls(node)).map(|(id, _)| id)
}

/// Strips the checks around a node.
fn without_checks(body: &TypedBody, mut node: TypedId) -> TypedId {
    while let TypedExpr::Checked(_, inner) | TypedExpr::Opened(_, inner) = &body.nodes[node].kind {
        node = *inner;
    }
    node
}

/// Returns whether it is a variable, a part of one, or a tuple of these.
fn is_variable_path(body: &TypedBody, node: TypedId) -> bool {
    let node = without_checks(body, node);
    match &body.nodes[node].kind {
        TypedExpr::Local(_) | TypedExpr::Global(_) => true,
        TypedExpr::Proj(of, _) => is_variable_path(body, *of),
        TypedExpr::Tuple(items) => items.iter().all(|item| is_variable_path(body, *item)),
        _ => false,
    }
}

/// Returns the names of a function's parameters, as far as it has them, and its own name.
fn parameter_names(db: &dyn Database, body: &TypedBody, of: TypedId) -> (Vec<Option<Name>>, Option<Name>) {
    match &body.nodes[without_checks(body, of)].kind {
        TypedExpr::DefValue(name, _) => {
            let signature = ProgramView::new(db).signature(name);
            let names = signature.map(|s| s.params.iter().map(|(name, _)| Some(name.clone())).collect());
            (names.unwrap_or_default(), Some(name.name.clone()))
        }
        TypedExpr::Lambda(lambda) => {
            let name =
                |pat: &TypedPattern| if let TypedPattern::Bind(l) = pat { Some(local_name(body, *l)) } else { None };
            (lambda.params.iter().map(name).collect(), None)
        }
        TypedExpr::Local(local) => {
            let bound = body.nodes.iter().find_map(|(_, node)| {
                let TypedExpr::Let(binds, _) = &node.kind else { return None };
                binds.iter().find(|(pat, _)| *pat == TypedPattern::Bind(*local)).map(|(_, value)| *value)
            });
            let names = bound.map(|value| parameter_names(db, body, value).0).unwrap_or_default();
            (names, Some(local_name(body, *local)))
        }
        TypedExpr::ScalarValue(function) => (Vec::new(), Some(function.name().into())),
        TypedExpr::Form(
            TypedForm::Derive(Operator::Grad | Operator::ValueAndGrad | Operator::Jacobian | Operator::Hessian, _),
            inner,
        ) => match inner.first() {
            Some(inner) => (parameter_names(db, body, *inner).0, None),
            None => (Vec::new(), None),
        },
        _ => (Vec::new(), None),
    }
}

/// Returns a unique name for each parameter of a function.
fn unique_parameter_names(fun: &FunType, own: &[Option<Name>], taken: &[Name]) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    for (k, (written, _)) in fun.params.iter().enumerate() {
        let usual = ["x", "y", "z", "u", "v", "w"].get(k).copied().unwrap_or("x");
        let stem = own.get(k).cloned().flatten().or_else(|| written.clone()).unwrap_or_else(|| usual.into());
        let free = |name: &str| !names.iter().chain(taken).any(|known| *known == *name);
        let mut name = stem.to_string();
        let mut count = 1;
        while !free(&name) {
            name = format!("{stem}{count}");
            count += 1;
        }
        names.push(name.as_str().into());
    }
    names
}

/// Applies the operator to variables of these names. Returns the call, and the variables.
fn apply_to_variables(
    body: &mut TypedBody,
    at: TypedId,
    operator: Operator,
    (fun, derived): (&FunType, &FunType),
    wrt: &[usize],
    names: &[Name],
) -> Option<(TypedId, Vec<lang_sizes::predicate::LocalId>)> {
    let (mut params, mut point, mut known) = (Vec::new(), Vec::new(), Vec::new());
    for ((_, ty), name) in fun.params.iter().zip(names) {
        let ty = ty.substitute_arguments(&known);
        let local = add_local(body, name, ty.clone(), at)?;
        known.push((ty == Type::Scalar(Scalar::I64)).then(|| Poly::atom(Atom::Local(local, name.clone()))));
        params.push(local);
        point.push(build_local_read(&mut body.nodes, local, ty, at));
    }
    let args = match operator {
        Operator::Grad | Operator::ValueAndGrad | Operator::Jacobian | Operator::Hessian => point,
        Operator::Jvp | Operator::Jvp2 | Operator::Hvp => {
            let mut along = Vec::new();
            for k in wrt {
                let (ty, name) = (tangent_type(&fun.params.get(*k)?.1), names.get(*k)?);
                let local = add_local(body, &format!("{name}_tan"), ty.clone(), at)?;
                params.push(local);
                along.push(build_local_read(&mut body.nodes, local, ty, at));
            }
            vec![build_tuple(body, point, at)?, build_tuple(body, along, at)?]
        }
        Operator::Vjp | Operator::Vjp2 => {
            let ty = tangent_type(&fun.result);
            let taken = |name: &str| names.iter().any(|n| *n == *name);
            let name = ["y_adj", "out_adj", "result_adj"].into_iter().find(|n| !taken(n)).unwrap_or("y_adj_");
            let local = add_local(body, name, ty.clone(), at)?;
            params.push(local);
            vec![build_tuple(body, point, at)?, build_local_read(&mut body.nodes, local, ty, at)]
        }
    };
    let ty = derived.result.substitute_arguments(&known);
    let span = body.nodes[at].span;
    let kind = TypedExpr::Call { callee: Callee::Value(at), args };
    Some((body.nodes.alloc(TypedNode { kind, ty, span }), params))
}

/// Builds a tuple of several values; a single one stays.
fn build_tuple(body: &mut TypedBody, values: Vec<TypedId>, at: TypedId) -> Option<TypedId> {
    if let [one] = values.as_slice() {
        return Some(*one);
    }
    let ty = Type::Tuple(values.iter().map(|v| body.nodes[*v].ty.clone()).collect());
    let span = body.nodes[at].span;
    Some(body.nodes.alloc(TypedNode { kind: TypedExpr::Tuple(values), ty, span }))
}

/// The placeholder for an index in a label.
const INDEX_PLACEHOLDER: &str = "\0";

/// The context of the labels for the parts of a derivative.
struct PartLabels<'a> {
    operator: Operator,
    /// The numbers of the parameters that vary.
    wrt: &'a [usize],
    names: &'a [Name],
    /// The name of the function.
    function_name: Option<&'a Name>,
}

/// A label under construction: its text, and for each index the variable whose axis it is.
type LabelWithAxes = (String, Vec<Option<(Name, usize)>>);

impl PartLabels<'_> {
    /// Returns the labelled real parts of a derivative of type `ty`, for a function with this
    /// result and these parameters.
    fn labelled_parts(&self, ty: &Type, result: &Type, params: &[Type]) -> Option<Vec<ValuePart>> {
        let one = |leaf: RealPart| {
            let path = leaf.steps.iter().filter_map(|step| match step {
                PartStep::Component(k, name) => Some((*k, name.clone())),
                PartStep::Element(_) => None,
            });
            let path = path.collect();
            let (text, axes) = self.label(&leaf.steps, result, params)?;
            Some(ValuePart { path, axes, label: text.split(INDEX_PLACEHOLDER).map(str::to_owned).collect() })
        };
        real_parts(ty).into_iter().map(one).collect()
    }

    fn label(&self, steps: &[PartStep], result: &Type, params: &[Type]) -> Option<LabelWithAxes> {
        let gradient = |steps: &[PartStep]| self.parameter_label(steps).map(|(text, axes)| (format!("∇{text}"), axes));
        let of = self.function_name.map(Name::to_string).unwrap_or_default();
        match self.operator {
            Operator::Grad => gradient(steps),
            Operator::ValueAndGrad => match steps.split_first()? {
                (PartStep::Component(0, _), rest) => Some(path_label("value", rest)),
                (_, rest) => gradient(rest),
            },
            Operator::Jvp => Some(path_label("tangent", steps)),
            Operator::Jvp2 => match steps.split_first()? {
                (PartStep::Component(0, _), rest) => Some(path_label("value", rest)),
                (_, rest) => Some(path_label("tangent", rest)),
            },
            Operator::Vjp => self.cotangent_label(steps),
            Operator::Vjp2 => match steps.split_first()? {
                (PartStep::Component(0, _), rest) => Some(path_label("value", rest)),
                (_, rest) => self.cotangent_label(rest),
            },
            Operator::Hvp if self.wrt.len() == 1 => Some(path_label("hvp", steps)),
            Operator::Hvp => self.parameter_label(steps).map(|(text, axes)| (format!("hvp.{text}"), axes)),
            Operator::Jacobian => {
                let (out, by) = split_block_steps(steps, result)?;
                let (out, own) = path_label("", &out);
                let of = if of.is_empty() && !out.is_empty() { "·" } else { &of };
                let (by, axes) = self.parameter_label(&by)?;
                Some((format!("∂{of}{out}/∂{by}"), own.into_iter().chain(axes).collect()))
            }
            Operator::Hessian => {
                let types: Option<Vec<Type>> = self.wrt.iter().map(|k| params.get(*k).cloned()).collect();
                let gradient = match types?.as_slice() {
                    [one] => one.clone(),
                    several => Type::Tuple(several.into()),
                };
                let (first, then) = split_block_steps(steps, &gradient)?;
                let ((first, mut axes), (second, more)) = (self.parameter_label(&first)?, self.parameter_label(&then)?);
                axes.extend(more);
                Some((format!("∂²{of}/∂{first}∂{second}"), axes))
            }
        }
    }

    /// Returns the label of a cotangent: `x_adj[j]`.
    fn cotangent_label(&self, steps: &[PartStep]) -> Option<LabelWithAxes> {
        let (k, rest) = self.split_varying_parameter(steps)?;
        let (text, axes) = path_label("", rest);
        let name = self.names.get(k)?;
        let axes = axes.iter().enumerate().map(|(axis, _)| Some((name.clone(), axis))).collect();
        Some((format!("{name}_adj{text}"), axes))
    }

    /// Returns the label of a part of a varying parameter: `x[j]`.
    fn parameter_label(&self, steps: &[PartStep]) -> Option<LabelWithAxes> {
        let (k, rest) = self.split_varying_parameter(steps)?;
        let name = self.names.get(k)?;
        let (text, axes) = path_label(name, rest);
        Some((text, axes.iter().enumerate().map(|(axis, _)| Some((name.clone(), axis))).collect()))
    }

    /// Returns the varying parameter that the first step selects, and the steps inside it. If only
    /// one parameter varies, all steps are inside it.
    fn split_varying_parameter<'s>(&self, steps: &'s [PartStep]) -> Option<(usize, &'s [PartStep])> {
        if let [one] = self.wrt {
            return Some((*one, steps));
        }
        let (PartStep::Component(k, _), rest) = steps.split_first()? else { return None };
        Some((*self.wrt.get(*k as usize)?, rest))
    }
}

/// Returns the label of a name and the steps after it.
fn path_label(name: &str, steps: &[PartStep]) -> LabelWithAxes {
    let leaf = RealPart { steps: steps.to_vec() };
    let count = leaf.extents().count();
    let at = vec![INDEX_PLACEHOLDER.to_owned(); count];
    (format!("{name}{}", leaf.path_text(&at)), vec![None; count])
}

/// Splits the steps of a block of partial derivatives. The first part leads into the differentiated
/// value, which has type `ty`; the second leads into the variable. The components of both come
/// before the axes of both.
fn split_block_steps(steps: &[PartStep], ty: &Type) -> Option<(Vec<PartStep>, Vec<PartStep>)> {
    let (mut ty, mut first, mut then) = (ty.clone(), Vec::new(), Vec::new());
    let mut elements = Vec::new();
    for step in steps {
        match (step, &ty) {
            (PartStep::Element(_), _) => elements.push(step.clone()),
            (PartStep::Component(k, _), Type::Tuple(items)) => {
                first.push(step.clone());
                ty = items.get(*k as usize)?.clone();
            }
            (PartStep::Component(k, _), Type::Record(fields)) => {
                first.push(step.clone());
                ty = fields.get(*k as usize)?.1.clone();
            }
            (PartStep::Component(..), _) => then.push(step.clone()),
        }
    }
    let rank = ty.split_array().0.len();
    let (own, rest) = elements.split_at_checked(rank)?;
    first.extend(own.iter().cloned());
    then.extend(rest.iter().cloned());
    Some((first, then))
}
