//! **Derivative operators.** Computes the derivative that an operator inside a definition denotes,
//! as in `grad(f)`, `hessian(f)(x)` or `deriv(e, x)`, in the names of the program. Also computes
//! the gradient of a definition by one of its parameters.
//!
//! An operator without arguments, or with arguments that are more than names, is applied to
//! variables named like the function's parameters. The call becomes a function of its own
//! ([`Inside`]), whose value is printed part by part. Its core form contains the derivative,
//! because elaboration replaces the operator.

use std::sync::Arc;

use salsa::Database;

use super::around::{around, name_of};
use super::forms::{self, Asked, Forms};
use super::inside::{InCases, Inner, Inside, Lets, body_of, calls_derivatives, free};
use super::kept::Kept;
use super::leaves::{Leaf, Step, fresh, leaves, read};
use super::view::View;
use super::within::Within;
use super::{Session, cycles};
use lang_base::{GlobalName, Name};
use lang_ir::core::{Callee as Core, Derivation};
use lang_ir::flat::Source;
use lang_middle::ad::real_outputs;
use lang_middle::cost::Cost;
use lang_middle::norm::Bodies as _;
use lang_middle::pipeline::Callees as _;
use lang_resolve::forms::Derivative as Operator;
use lang_sizes::predicate::{Atom, Poly};
use lang_source::{Entry, Surroundings, ValuePart, entries, shown_callee};
use lang_types::check::tangent;
use lang_types::env::Env as _;
use lang_types::tree::{Body, Callee, Expr, Node, Pat, Special, TId};
use lang_types::ty::{FunType, Scalar, Type};

/// A derivative for a reader.
#[derive(Clone, PartialEq, Debug)]
pub struct Derivative {
    /// Its real parts, for each case that differs.
    pub entries: InCases,
    /// The names of the function's parameters that occur in it; empty if the program supplies the
    /// point.
    pub parameters: Vec<Name>,
    /// The name of the function, if it has one.
    pub of: Option<Name>,
    /// The cost of one evaluation.
    pub cost: Option<Arc<Cost>>,
}

impl Session {
    /// Returns the derivative that a node denotes: an operator, a call of one, or `deriv`.
    #[must_use]
    pub fn derivative(&self, def: &GlobalName, node: TId) -> Option<Arc<Derivative>> {
        derivative(&self.db, self.place_inside(def, node)?).value()
    }

    /// Returns the gradient of a definition by a parameter. If the result is not a single real
    /// number, returns the cotangent of the parameter as a function of the result's cotangent.
    #[must_use]
    pub fn gradient(&self, def: &GlobalName, param: u32) -> Option<Arc<Derivative>> {
        cycles::ready(&self.db, self.find(def)?);
        gradient(&self.db, ParamOf::new(&self.db, def.clone(), param)).value()
    }
}

/// A parameter of a definition as a key of queries.
#[salsa::interned(debug)]
pub(super) struct ParamOf<'db> {
    /// The definition.
    #[returns(ref)]
    pub(super) def: GlobalName,
    /// The number of the parameter.
    #[returns(copy)]
    pub(super) param: u32,
}

/// Returns the gradient by a parameter.
#[salsa::tracked]
pub(super) fn gradient<'db>(db: &'db dyn Database, of: ParamOf<'db>) -> Kept<Option<Arc<Derivative>>> {
    gradient_of(db, of).into()
}

fn gradient_of<'db>(db: &'db dyn Database, of: ParamOf<'db>) -> Option<Arc<Derivative>> {
    let (forms, param) = (Forms { db }, of.param(db));
    let callee = shown_callee(&forms, of.def(db))?;
    forms::prepare(db, &callee);
    let derived = gradient_callee(&forms, &callee, param);
    let calls = derived.as_ref().and_then(|derived| forms.ssa(derived)).is_some_and(|ssa| calls_derivatives(&ssa));
    let view = View::new(db);
    let within = || {
        let (body, signature) = (forms.body(&callee.def)?, view.signature(&callee.def)?);
        Some(Within::new(db, callee.def.clone(), body, signature).in_place())
    };
    let entry = Entry::Gradient { param };
    let entries = match within().filter(|_| calls) {
        Some(within) => entries(&within, &within, &view, &callee, &entry, Surroundings::none()),
        None => entries(&forms, &forms, &view, &callee, &entry, Surroundings::none()),
    };
    let cost = derived.and_then(|derived| {
        forms::prepare_cost(db, &derived);
        super::alone::cost_alone(db, Asked::new(db, derived)).value()
    });
    Some(Arc::new(Derivative { entries, parameters: Vec::new(), of: None, cost }))
}

/// Returns the adjoint by one parameter, if something real varies.
fn gradient_callee(forms: &Forms<'_>, callee: &Arc<Core>, param: u32) -> Option<Arc<Core>> {
    let ssa = forms.ssa(callee)?;
    let inputs = (0..).zip(&ssa.inputs).filter(|(_, i)| i.source == Source::Param(param));
    let wrt: Vec<u32> = inputs.filter(|(_, i)| lang_middle::ad::is_real(i.leaf.scalar)).map(|(k, _)| k).collect();
    let of = real_outputs(&ssa);
    let derived = callee.derive(Derivation::Adjoint { of: of.clone().into(), wrt: wrt.clone().into() });
    (!of.is_empty() && !wrt.is_empty()).then(|| Arc::new(derived))
}

/// Returns the derivative that a node denotes.
#[salsa::tracked]
pub(super) fn derivative<'db>(db: &'db dyn Database, of: Inner<'db>) -> Kept<Option<Arc<Derivative>>> {
    derivative_at(db, of).into()
}

fn derivative_at<'db>(db: &'db dyn Database, of: Inner<'db>) -> Option<Arc<Derivative>> {
    let (def, node) = (of.def(db), of.node(db));
    let body = body_of(db, def).filter(|body| node.index() < body.nodes.len())?;
    let applied = Applied::of(db, (*body).clone(), node)?;
    let Applied { body, root, params, lets, parts, mut parameters, name, gradients } = applied;
    let around = around(&body, node)?;
    let mut inside = Inside::of_value(db, def, body, (root, params), around, lets)?;
    let cost = inside.cost().map(|(_, cost)| cost);
    let mut entries = inside.entries_in_place(db, &Entry::Value(parts));
    // The definition's own adjoint distinguishes cases, if sum types have several constructors.
    if entries.is_err()
        && let Some((def, wrt, names)) = gradients
    {
        let by = |k: u32| gradient(db, ParamOf::new(db, def.clone(), k)).as_ref()?.entries.clone().ok();
        if let Some(all) = wrt.into_iter().map(by).collect::<Option<Vec<_>>>() {
            (entries, parameters) = (Ok(all.concat()), names);
        }
    }
    Some(Arc::new(Derivative { entries, parameters, of: name, cost }))
}

/// A derivative at a point, in a body of its own.
struct Applied {
    body: Body,
    /// The node of its value.
    root: TId,
    /// Its parameters, in addition to the variables around it.
    params: Vec<lang_sizes::predicate::LocalId>,
    lets: Lets,
    parts: Vec<ValuePart>,
    parameters: Vec<Name>,
    name: Option<Name>,
    /// The definition whose gradients it holds, the numbers of the parameters, and the names of
    /// all.
    gradients: Option<(GlobalName, Vec<u32>, Vec<Name>)>,
}

impl Applied {
    /// Applies the operator of a node to a point: an operator, a call of one, or `deriv`. `None`
    /// for other nodes.
    fn of(db: &dyn Database, mut body: Body, node: TId) -> Option<Self> {
        if let Expr::Special(Special::Deriv(by), of) = &body.nodes[node].kind {
            let by = body.locals.get(by.0 as usize)?;
            let names = [by.name.clone()];
            let labels = Labels { operator: Operator::Jacobian, wrt: &[0], names: &names, name: None };
            let parts =
                labels.parts(&body.nodes[node].ty, &body.nodes[*of.first()?].ty, std::slice::from_ref(&by.ty))?;
            return Some(Self {
                root: node,
                params: Vec::new(),
                lets: Lets::OfFunctions,
                parts,
                parameters: Vec::new(),
                name: None,
                gradients: None,
                body,
            });
        }
        let (at, call) = match &body.nodes[node].kind {
            Expr::Special(Special::Derive(..), _) => (node, call_of(&body, node)),
            Expr::Call { callee: Callee::Value(f), .. } => (peeled(&body, *f), Some(node)),
            _ => return None,
        };
        let Expr::Special(Special::Derive(operator, wrt), of) = body.nodes[at].kind.clone() else { return None };
        let of = *of.first()?;
        let (Type::Fun(fun), Type::Fun(derived)) = (body.nodes[of].ty.clone(), body.nodes[at].ty.clone()) else {
            return None;
        };
        let wrt: Vec<usize> = match wrt {
            Some(wrt) => wrt.iter().map(|k| *k as usize).collect(),
            None => (0..fun.params.len()).collect(),
        };
        let (own, name) = parameters(db, &body, of);
        let taken: Vec<Name> = free(&body, at).into_iter().map(|l| name_of(&body, l)).collect();
        let names = named(&fun, &own, &taken);
        let types: Vec<Type> = fun.params.iter().map(|(_, ty)| ty.clone()).collect();
        let gradients = match &body.nodes[peeled(&body, of)].kind {
            Expr::DefValue(def, _) if operator == Operator::Grad => {
                let wrt = wrt.iter().filter_map(|k| u32::try_from(*k).ok()).collect();
                Some((def.clone(), wrt, own.iter().flatten().cloned().collect()))
            }
            _ => None,
        };
        let labels = Labels { operator, wrt: &wrt, names: &names, name: name.as_ref() };
        let at_point = call.filter(|call| match &body.nodes[*call].kind {
            Expr::Call { args, .. } => args.iter().all(|arg| is_named(&body, *arg)),
            _ => false,
        });
        if let Some(root) = at_point {
            let parts = labels.parts(&body.nodes[root].ty, &fun.result, &types)?;
            let (params, parameters) = (Vec::new(), Vec::new());
            return Some(Self { root, params, lets: Lets::OfFunctions, parts, parameters, name, gradients, body });
        }
        let (root, params) = apply(&mut body, at, operator, (&fun, &derived), &wrt, &names)?;
        let parts = labels.parts(&body.nodes[root].ty, &fun.result, &types)?;
        Some(Self { root, params, lets: Lets::OfFunctions, parts, parameters: names, name, gradients, body })
    }
}

/// Returns the call of a function value.
fn call_of(body: &Body, function: TId) -> Option<TId> {
    let calls =
        |node: &Node| matches!(&node.kind, Expr::Call { callee: Callee::Value(f), .. } if peeled(body, *f) == function);
    body.nodes.iter().find(|(_, node)| calls(node)).map(|(id, _)| id)
}

/// Strips the checks around a node.
fn peeled(body: &Body, mut node: TId) -> TId {
    while let Expr::Checked(_, inner) | Expr::Opened(_, inner) = &body.nodes[node].kind {
        node = *inner;
    }
    node
}

/// Returns whether it is a variable, a part of one, or a tuple of these.
fn is_named(body: &Body, node: TId) -> bool {
    let node = peeled(body, node);
    match &body.nodes[node].kind {
        Expr::Local(_) | Expr::Global(_) => true,
        Expr::Proj(of, _) => is_named(body, *of),
        Expr::Tuple(items) => items.iter().all(|item| is_named(body, *item)),
        _ => false,
    }
}

/// Returns the names of a function's parameters, as far as it has them, and its own name.
fn parameters(db: &dyn Database, body: &Body, of: TId) -> (Vec<Option<Name>>, Option<Name>) {
    match &body.nodes[peeled(body, of)].kind {
        Expr::DefValue(name, _) => {
            let signature = View::new(db).signature(name);
            let names = signature.map(|s| s.params.iter().map(|(name, _)| Some(name.clone())).collect());
            (names.unwrap_or_default(), Some(name.name.clone()))
        }
        Expr::Lambda(lambda) => {
            let name = |pat: &Pat| if let Pat::Bind(l) = pat { Some(name_of(body, *l)) } else { None };
            (lambda.params.iter().map(name).collect(), None)
        }
        Expr::Local(local) => {
            let bound = body.nodes.iter().find_map(|(_, node)| {
                let Expr::Let(binds, _) = &node.kind else { return None };
                binds.iter().find(|(pat, _)| *pat == Pat::Bind(*local)).map(|(_, value)| *value)
            });
            let names = bound.map(|value| parameters(db, body, value).0).unwrap_or_default();
            (names, Some(name_of(body, *local)))
        }
        Expr::ScalarValue(function) => (Vec::new(), Some(function.name().into())),
        Expr::Special(
            Special::Derive(Operator::Grad | Operator::ValueAndGrad | Operator::Jacobian | Operator::Hessian, _),
            inner,
        ) => match inner.first() {
            Some(inner) => (parameters(db, body, *inner).0, None),
            None => (Vec::new(), None),
        },
        _ => (Vec::new(), None),
    }
}

/// Returns a unique name for each parameter of a function.
fn named(fun: &FunType, own: &[Option<Name>], taken: &[Name]) -> Vec<Name> {
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
fn apply(
    body: &mut Body,
    at: TId,
    operator: Operator,
    (fun, derived): (&FunType, &FunType),
    wrt: &[usize],
    names: &[Name],
) -> Option<(TId, Vec<lang_sizes::predicate::LocalId>)> {
    let (mut params, mut point, mut known) = (Vec::new(), Vec::new(), Vec::new());
    for ((_, ty), name) in fun.params.iter().zip(names) {
        let ty = ty.with_arguments(&known);
        let local = fresh(body, name, ty.clone(), at)?;
        known.push((ty == Type::Scalar(Scalar::I64)).then(|| Poly::atom(Atom::Local(local, name.clone()))));
        params.push(local);
        point.push(read(&mut body.nodes, local, ty, at));
    }
    let args = match operator {
        Operator::Grad | Operator::ValueAndGrad | Operator::Jacobian | Operator::Hessian => point,
        Operator::Jvp | Operator::Jvp2 | Operator::Hvp => {
            let mut along = Vec::new();
            for k in wrt {
                let (ty, name) = (tangent(&fun.params.get(*k)?.1), names.get(*k)?);
                let local = fresh(body, &format!("{name}_tan"), ty.clone(), at)?;
                params.push(local);
                along.push(read(&mut body.nodes, local, ty, at));
            }
            vec![bundle(body, point, at)?, bundle(body, along, at)?]
        }
        Operator::Vjp | Operator::Vjp2 => {
            let ty = tangent(&fun.result);
            let taken = |name: &str| names.iter().any(|n| *n == *name);
            let name = ["y_adj", "out_adj", "result_adj"].into_iter().find(|n| !taken(n)).unwrap_or("y_adj_");
            let local = fresh(body, name, ty.clone(), at)?;
            params.push(local);
            vec![bundle(body, point, at)?, read(&mut body.nodes, local, ty, at)]
        }
    };
    let ty = derived.result.with_arguments(&known);
    let span = body.nodes[at].span;
    let kind = Expr::Call { callee: Callee::Value(at), args };
    Some((body.nodes.alloc(Node { kind, ty, span }), params))
}

/// Builds a tuple of several values; a single one stays.
fn bundle(body: &mut Body, values: Vec<TId>, at: TId) -> Option<TId> {
    if let [one] = values.as_slice() {
        return Some(*one);
    }
    let ty = Type::Tuple(values.iter().map(|v| body.nodes[*v].ty.clone()).collect());
    let span = body.nodes[at].span;
    Some(body.nodes.alloc(Node { kind: Expr::Tuple(values), ty, span }))
}

/// The placeholder for an index in a label.
const INDEX: &str = "\0";

/// The context of the labels for the parts of a derivative.
struct Labels<'a> {
    operator: Operator,
    /// The numbers of the parameters that vary.
    wrt: &'a [usize],
    names: &'a [Name],
    /// The name of the function.
    name: Option<&'a Name>,
}

/// A label under construction: its text, and for each index the variable whose axis it is.
type Label = (String, Vec<Option<(Name, usize)>>);

impl Labels<'_> {
    /// Returns the labelled real parts of a derivative of type `ty`, for a function with this
    /// result and these parameters.
    fn parts(&self, ty: &Type, result: &Type, params: &[Type]) -> Option<Vec<ValuePart>> {
        let one = |leaf: Leaf| {
            let path = leaf.steps.iter().filter_map(|step| match step {
                Step::Component(k, name) => Some((*k, name.clone())),
                Step::Element(_) => None,
            });
            let path = path.collect();
            let (text, axes) = self.label(&leaf.steps, result, params)?;
            Some(ValuePart { path, axes, label: text.split(INDEX).map(str::to_owned).collect() })
        };
        leaves(ty).into_iter().map(one).collect()
    }

    fn label(&self, steps: &[Step], result: &Type, params: &[Type]) -> Option<Label> {
        let gradient = |steps: &[Step]| self.by(steps).map(|(text, axes)| (format!("∇{text}"), axes));
        let of = self.name.map(Name::to_string).unwrap_or_default();
        match self.operator {
            Operator::Grad => gradient(steps),
            Operator::ValueAndGrad => match steps.split_first()? {
                (Step::Component(0, _), rest) => Some(plain("value", rest)),
                (_, rest) => gradient(rest),
            },
            Operator::Jvp => Some(plain("tangent", steps)),
            Operator::Jvp2 => match steps.split_first()? {
                (Step::Component(0, _), rest) => Some(plain("value", rest)),
                (_, rest) => Some(plain("tangent", rest)),
            },
            Operator::Vjp => self.cotangent(steps),
            Operator::Vjp2 => match steps.split_first()? {
                (Step::Component(0, _), rest) => Some(plain("value", rest)),
                (_, rest) => self.cotangent(rest),
            },
            Operator::Hvp if self.wrt.len() == 1 => Some(plain("hvp", steps)),
            Operator::Hvp => self.by(steps).map(|(text, axes)| (format!("hvp.{text}"), axes)),
            Operator::Jacobian => {
                let (out, by) = blocks(steps, result)?;
                let (out, own) = plain("", &out);
                let of = if of.is_empty() && !out.is_empty() { "·" } else { &of };
                let (by, axes) = self.by(&by)?;
                Some((format!("∂{of}{out}/∂{by}"), own.into_iter().chain(axes).collect()))
            }
            Operator::Hessian => {
                let types: Option<Vec<Type>> = self.wrt.iter().map(|k| params.get(*k).cloned()).collect();
                let gradient = match types?.as_slice() {
                    [one] => one.clone(),
                    several => Type::Tuple(several.into()),
                };
                let (first, then) = blocks(steps, &gradient)?;
                let ((first, mut axes), (second, more)) = (self.by(&first)?, self.by(&then)?);
                axes.extend(more);
                Some((format!("∂²{of}/∂{first}∂{second}"), axes))
            }
        }
    }

    /// Returns the label of a cotangent: `x_adj[j]`.
    fn cotangent(&self, steps: &[Step]) -> Option<Label> {
        let (k, rest) = self.varying(steps)?;
        let (text, axes) = plain("", rest);
        let name = self.names.get(k)?;
        let axes = axes.iter().enumerate().map(|(axis, _)| Some((name.clone(), axis))).collect();
        Some((format!("{name}_adj{text}"), axes))
    }

    /// Returns the label of a part of a varying parameter: `x[j]`.
    fn by(&self, steps: &[Step]) -> Option<Label> {
        let (k, rest) = self.varying(steps)?;
        let name = self.names.get(k)?;
        let (text, axes) = plain(name, rest);
        Some((text, axes.iter().enumerate().map(|(axis, _)| Some((name.clone(), axis))).collect()))
    }

    /// Returns the varying parameter that the first step selects, and the steps inside it. If only
    /// one parameter varies, all steps are inside it.
    fn varying<'s>(&self, steps: &'s [Step]) -> Option<(usize, &'s [Step])> {
        if let [one] = self.wrt {
            return Some((*one, steps));
        }
        let (Step::Component(k, _), rest) = steps.split_first()? else { return None };
        Some((*self.wrt.get(*k as usize)?, rest))
    }
}

/// Returns the label of a name and the steps after it.
fn plain(name: &str, steps: &[Step]) -> Label {
    let leaf = Leaf { steps: steps.to_vec() };
    let count = leaf.extents().count();
    let at = vec![INDEX.to_owned(); count];
    (format!("{name}{}", leaf.text(&at)), vec![None; count])
}

/// Splits the steps of a block of partial derivatives. The first part leads into the differentiated
/// value, which has type `ty`; the second leads into the variable. The components of both come
/// before the axes of both.
fn blocks(steps: &[Step], ty: &Type) -> Option<(Vec<Step>, Vec<Step>)> {
    let (mut ty, mut first, mut then) = (ty.clone(), Vec::new(), Vec::new());
    let mut elements = Vec::new();
    for step in steps {
        match (step, &ty) {
            (Step::Element(_), _) => elements.push(step.clone()),
            (Step::Component(k, _), Type::Tuple(items)) => {
                first.push(step.clone());
                ty = items.get(*k as usize)?.clone();
            }
            (Step::Component(k, _), Type::Record(fields)) => {
                first.push(step.clone());
                ty = fields.get(*k as usize)?.1.clone();
            }
            (Step::Component(..), _) => then.push(step.clone()),
        }
    }
    let rank = ty.peel().0.len();
    let (own, rest) = elements.split_at_checked(rank)?;
    first.extend(own.iter().cloned());
    then.extend(rest.iter().cloned());
    Some((first, then))
}
