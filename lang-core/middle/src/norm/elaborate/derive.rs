//! **Derivative operators.** Elaborates `grad`, `jvp`, `vjp`, `hvp`, `jacobian`, `hessian` and
//! `deriv` to calls of derived functions. The differentiated function is a definition, or a local
//! function built from a lambda or an inlined body, with its captures as first parameters
//! ([`super::closure_conversion`]).
//!
//! A derived function takes and returns tensors, part by part ([`DerivativeKind`]). This module
//! flattens tangents and cotangents into parts and reassembles them as their types prescribe.

use std::rc::Rc;
use std::sync::Arc;

use super::jacobian::BlockStructure;
use super::{Closure, ElabFrame, ElabResult, Elaborator, SymbolicValue, contains_function};
use lang_base::{Name, Span};
use lang_ir::core::{
    CheckFailure, Constant, CoreExpr, CoreType, DerivativeKind, ExprKind, ExprRef, FunctionKey, NoCoreFormReason,
    TupleLabels, TypeLeaf,
};
use lang_resolve::forms::DerivativeOp;
use lang_sizes::predicate::{LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::{self, TypedId};
use lang_types::ty::{FunType, Type};

/// A function to differentiate, at a point.
pub(super) struct DerivativeTarget {
    pub(super) callee: Arc<FunctionKey>,
    pub(super) sizes: Vec<Poly>,
    /// The arguments, captures first.
    pub(super) args: Vec<ExprRef>,
    /// The parts by which the function is differentiated: the number and the leaf of each input.
    pub(super) wrt: Vec<(u32, TypeLeaf)>,
    /// The type of the result.
    pub(super) result: CoreType,
    /// The parts of the result.
    pub(super) outputs: Vec<TypeLeaf>,
}

/// A function to differentiate. Its parameter types are over the variables of the function under
/// construction.
pub(super) struct DerivativeOperand {
    pub(super) closure: Rc<Closure>,
    pub(super) ty: FunType,
    /// The failure if a tangent does not fit its value.
    pub(super) mismatch: Arc<CheckFailure>,
}

/// The values of the arguments by which a function is differentiated. `None` for a function, an
/// integer or a truth value.
pub(super) type WrtValues = Vec<Option<ExprRef>>;

impl Elaborator<'_> {
    /// Elaborates `op(f)(args)`, where `inner` is `f`.
    pub(super) fn derivative_operator(
        &mut self,
        f: &mut ElabFrame,
        operator: DerivativeOp,
        wrt: Option<&[u32]>,
        inner: TypedId,
        args: Vec<SymbolicValue>,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let Type::Fun(ty) = f.code.body.nodes[inner].ty.clone() else {
            return Err(self.no_core_form(NoCoreFormReason::Errors, span));
        };
        let SymbolicValue::Fun(closure) = self.expr(f, inner)? else {
            return Err(self.no_core_form(NoCoreFormReason::FunctionValue, span));
        };
        let wrt: Vec<usize> = match wrt {
            Some(wrt) => wrt.iter().map(|k| *k as usize).collect(),
            None => (0..ty.params.len()).collect(),
        };
        let of = DerivativeOperand { closure, ty: (*ty).clone(), mismatch: self.constructor_mismatch(f, inner) };
        self.apply_derivative(&of, operator, wrt, args, span)
    }

    /// Applies an operator to a function that is known here.
    pub(super) fn apply_derivative(
        &mut self,
        of: &DerivativeOperand,
        operator: DerivativeOp,
        wrt: Vec<usize>,
        mut args: Vec<SymbolicValue>,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        use DerivativeOp::{Grad, Hessian, Hvp, Jacobian, Jvp, Jvp2, ValueAndGrad, Vjp, Vjp2};
        let DerivativeOperand { closure, ty, mismatch: disagreeing } = of;
        let pair = matches!(operator, Jvp | Jvp2 | Vjp | Vjp2 | Hvp);
        let beside = if pair { args.pop() } else { None };
        if pair && ty.params.len() != 1 {
            let point = args.pop().ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))?;
            args = (0..ty.params.len()).map(|k| self.component(&point, k)).collect::<ElabResult<_>>()?;
        }
        let (target, varying) = self.derivative_target(closure, ty, args, &wrt, span)?;
        let result = target.result.clone();
        let bare = wrt.len() == 1;
        let beside = beside.map(|b| self.name_value(b, "v"));
        let beside = beside.map(|b| self.data_value(&b, span)).transpose()?;
        match (operator, beside) {
            (Grad | ValueAndGrad, _) => {
                let (values, gradients) = self.call_adjoint(&target, vec![self.unit_seed(&target)], span);
                let gradient = self.assemble_like_args(&varying, bare, gradients, span);
                if operator == Grad {
                    return Ok(gradient);
                }
                let value = self.assemble(&result, &mut values.into_iter(), span);
                Ok(SymbolicValue::Tuple(vec![self.symbolic_value(value), gradient], TupleLabels::Positions))
            }
            (Jvp | Jvp2, Some(tangent)) => {
                let agrees = self.tangents_agree(&tangent, &varying, bare);
                let tangents = self.real_components(&tangent, &varying, bare);
                let (values, tangents) = self.call_forward(&target, tangents, span);
                let value = self.assemble(&result, &mut values.into_iter(), span);
                let value = self.bind("y", value);
                let tangent = self.assemble_tangent(&value, &mut tangents.into_iter(), span);
                let tangent = self.check_agreement(&agrees, disagreeing, tangent);
                if operator == Jvp {
                    return Ok(self.symbolic_value(tangent));
                }
                Ok(SymbolicValue::Tuple(
                    vec![self.symbolic_value(value), self.symbolic_value(tangent)],
                    TupleLabels::Positions,
                ))
            }
            (Vjp | Vjp2, Some(cotangent)) => {
                let real = result.leaves().into_iter().filter(is_real_leaf);
                let cotangents = real.map(|leaf| self.component_array(&cotangent, &leaf.path)).collect();
                let (values, cotangents) = self.call_adjoint(&target, cotangents, span);
                let value = self.assemble(&result, &mut values.into_iter(), span);
                let value = self.bind("y", value);
                let agrees = self.agreement_pred(&value, &cotangent);
                let cotangents = self.check_cotangent_agreement(&agrees, disagreeing, &varying, cotangents);
                let cotangent = self.assemble_like_args(&varying, bare, cotangents, span);
                if operator == Vjp {
                    return Ok(cotangent);
                }
                Ok(SymbolicValue::Tuple(vec![self.symbolic_value(value), cotangent], TupleLabels::Positions))
            }
            (Jacobian, _) => Ok(self.jacobian(
                &target,
                0,
                &BlockStructure::of_result(&result),
                &BlockStructure::of_args(&varying, bare),
                span,
            )),
            (Hessian | Hvp, beside) => {
                let target = self.gradient_target(target);
                let by = BlockStructure::of_args(&varying, bare);
                match beside {
                    // The first part is the value.
                    None => Ok(self.jacobian(&target, 1, &by.of_gradient(1), &by, span)),
                    Some(tangent) => {
                        let agrees = self.tangents_agree(&tangent, &varying, bare);
                        let tangents = self.real_components(&tangent, &varying, bare);
                        let (_, tangents) = self.call_forward(&target, tangents, span);
                        let tangents =
                            tangents.into_iter().skip(1).map(|e| self.check_agreement(&agrees, disagreeing, e));
                        let tangents = tangents.collect();
                        Ok(self.assemble_like_args(&varying, bare, tangents, span))
                    }
                }
            }
            _ => Err(self.no_core_form(NoCoreFormReason::Errors, span)),
        }
    }

    /// Elaborates `deriv(e, x)`: the Jacobian of `e` by the variable, with everything else
    /// constant.
    pub(super) fn deriv(
        &mut self,
        f: &mut ElabFrame,
        by: LocalId,
        e: TypedId,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let code = Rc::clone(&f.code);
        let local = code.body.locals.get(by.0 as usize);
        let local = local.ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))?;
        let x = f.env.get(&by).cloned().ok_or_else(|| self.no_core_form(NoCoreFormReason::DataRange, span))?;
        let varying = vec![self.wrt_value(&x, span)?];
        let args: Vec<(Name, ExprRef)> = match varying.as_slice() {
            [Some(e)] if has_real_leaf(e) => vec![(local.name.clone(), e.clone())],
            _ => Vec::new(),
        };
        let env = f.env.clone();
        let target = self.close_over(args, span, |this, values| {
            let mut frame = ElabFrame { code, env };
            for x in values {
                frame.env.insert(by, x);
            }
            this.expr(&mut frame, e)
        })?;
        Ok(self.jacobian(
            &target,
            0,
            &BlockStructure::of_result(&target.result),
            &BlockStructure::of_args(&varying, true),
            span,
        ))
    }

    /// Returns an argument as data to differentiate by, or `None` if it has no derivative.
    fn wrt_value(&mut self, value: &SymbolicValue, span: Span) -> ElabResult<Option<ExprRef>> {
        if contains_function(value) || matches!(value, SymbolicValue::Int { .. } | SymbolicValue::Bool(_)) {
            return Ok(None);
        }
        Ok(Some(self.data_value(value, span)?))
    }

    /// Returns the function to differentiate at these arguments, by those at the positions `wrt`.
    fn derivative_target(
        &mut self,
        closure: &Rc<Closure>,
        ty: &FunType,
        args: Vec<SymbolicValue>,
        wrt: &[usize],
        span: Span,
    ) -> ElabResult<(DerivativeTarget, WrtValues)> {
        let mut named = Vec::new();
        for (arg, (name, _)) in args.into_iter().zip(&ty.params) {
            named.push(self.name_value(arg, name.as_deref().unwrap_or("x")));
        }
        let args = named;
        let mut varying = Vec::new();
        for k in wrt {
            let arg = args.get(*k).ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))?;
            varying.push(self.wrt_value(arg, span)?);
        }
        if let Some(target) = self.definition_target(closure, &args, wrt, &varying, span)? {
            return Ok((target, varying));
        }
        let chosen: Vec<usize> =
            wrt.iter().zip(&varying).filter(|(_, v)| v.as_ref().is_some_and(has_real_leaf)).map(|(k, _)| *k).collect();
        let mut params = Vec::new();
        for k in &chosen {
            let (Some(arg), Some((name, _))) = (args.get(*k), ty.params.get(*k)) else { continue };
            let name = name.clone().unwrap_or_else(|| "x".into());
            params.push((name, self.data_value(arg, span)?));
        }
        let types: Vec<Type> = ty.params.iter().map(|(_, t)| t.clone()).collect();
        let (closure, result) = (Rc::clone(closure), ty.result.clone());
        let target = self.close_over(params, span, |this, values| {
            let mut args = args;
            for (k, value) in chosen.iter().zip(values) {
                if let Some(slot) = args.get_mut(*k) {
                    *slot = value;
                }
            }
            this.apply_closure(&closure, args, &types, &result, span)
        })?;
        Ok((target, varying))
    }

    /// Differentiates a definition that takes and returns data directly, so that all its calls
    /// share one derivative.
    fn definition_target(
        &mut self,
        closure: &Closure,
        args: &[SymbolicValue],
        wrt: &[usize],
        varying: &WrtValues,
        span: Span,
    ) -> ElabResult<Option<DerivativeTarget>> {
        let (name, types, sizes, result) = match closure {
            Closure::Reference { scope, env, node } => {
                let node = scope.body.nodes[*node].clone();
                let (tree::TypedExpr::DefValue(name, instance), Type::Fun(of)) = (&node.kind, &node.ty) else {
                    return Ok(None);
                };
                let f = ElabFrame { code: Rc::clone(scope), env: env.clone() };
                let (types, sizes) = self.instance_args(&f, instance, span)?;
                if !super::call::is_data_call(args, &types, &of.result) {
                    return Ok(None);
                }
                (name.clone(), types, sizes, self.core_type(&f, &of.result, span)?)
            }
            Closure::Definition { name, types, sizes, result } => {
                let result = result.substitute_arguments(&super::runtime_request::integer_arguments(args));
                if !super::call::is_data_call(args, types, &result) {
                    return Ok(None);
                }
                let result = self.to_core_type(&result, &mut Vec::new(), span)?;
                (name.clone(), types.clone(), sizes.clone(), result)
            }
            _ => return Ok(None),
        };
        let (callee, sizes) = super::call::callee_at_types(&name, &types, sizes);
        let args = args.iter().map(|a| self.data_value(a, span)).collect::<ElabResult<Vec<ExprRef>>>()?;
        let mut first = 0;
        let mut by = vec![Vec::new(); args.len()];
        for (arg, slot) in args.iter().zip(&mut by) {
            let leaves = (first..).zip(arg.ty.leaves());
            slot.extend(leaves.filter(|(_, leaf)| is_real_leaf(leaf)));
            first += u32::try_from(arg.ty.leaves().len()).unwrap_or(u32::MAX);
        }
        let chosen = wrt.iter().zip(varying).filter(|(_, v)| v.is_some());
        let by = chosen.filter_map(|(k, _)| by.get(*k)).flatten().cloned().collect();
        Ok(Some(DerivativeTarget { callee, sizes, args, wrt: by, outputs: result.leaves(), result }))
    }

    /// Returns the gradient of a function as a function to differentiate. The gradient's parts
    /// follow the value.
    fn gradient_target(&self, target: DerivativeTarget) -> DerivativeTarget {
        let one = self.unit_seed(&target);
        let callee =
            target.callee.derivative(DerivativeKind::Adjoint { outputs: Arc::from([0]), wrt: wrt_inputs(&target) });
        let outputs = target.outputs.iter().chain(target.wrt.iter().map(|(_, leaf)| leaf)).cloned().collect();
        let args = target.args.into_iter().chain([one]).collect();
        DerivativeTarget { callee: Arc::new(callee), args, outputs, ..target }
    }

    // ---- calls of derived functions ----

    /// Calls the forward derivative. Returns the parts of the value, and the tangents of the real
    /// parts.
    pub(super) fn call_forward(
        &mut self,
        target: &DerivativeTarget,
        tangents: Vec<ExprRef>,
        span: Span,
    ) -> (Vec<ExprRef>, Vec<ExprRef>) {
        let real = target.outputs.iter().filter(|leaf| is_real_leaf(leaf)).cloned().collect();
        self.call_derived(target, DerivativeKind::Forward(wrt_inputs(target)), tangents, real, span)
    }

    /// Calls the adjoint. Returns the parts of the value, and the cotangents of the varying parts.
    pub(super) fn call_adjoint(
        &mut self,
        target: &DerivativeTarget,
        cotangents: Vec<ExprRef>,
        span: Span,
    ) -> (Vec<ExprRef>, Vec<ExprRef>) {
        let by = target.wrt.iter().map(|(_, leaf)| leaf.clone()).collect();
        let of = (0..).zip(&target.outputs).filter(|(_, leaf)| is_real_leaf(leaf)).map(|(k, _)| k).collect();
        self.call_derived(
            target,
            DerivativeKind::Adjoint { outputs: of, wrt: wrt_inputs(target) },
            cotangents,
            by,
            span,
        )
    }

    fn call_derived(
        &mut self,
        target: &DerivativeTarget,
        derivation: DerivativeKind,
        beside: Vec<ExprRef>,
        more: Vec<TypeLeaf>,
        span: Span,
    ) -> (Vec<ExprRef>, Vec<ExprRef>) {
        let callee = Arc::new(target.callee.derivative(derivation));
        let parts: Vec<CoreType> = target.outputs.iter().chain(&more).map(TypeLeaf::ty).collect();
        let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let args = target.args.iter().cloned().chain(beside).collect();
        let call = ExprKind::Call(callee, target.sizes.clone(), args);
        let call = CoreExpr::new(call, CoreType::tuple(parts), span);
        let call = self.bind("d", call);
        let mut values: Vec<ExprRef> = (0..count).map(|k| CoreExpr::proj(&call, k)).collect();
        let more = values.split_off(target.outputs.len().min(values.len()));
        (values, more)
    }

    /// Returns the seed of a gradient: 1 in the type of the result.
    pub(super) fn unit_seed(&self, target: &DerivativeTarget) -> ExprRef {
        let scalar = target.outputs.first().and_then(|leaf| leaf.scalar).unwrap_or(Scalar::F64);
        CoreExpr::new(ExprKind::Constant(Constant::Real(1.0)), CoreType::Scalar(scalar), Span::default())
    }

    // ---- values and their parts ----

    /// Returns the predicate that the tangents have the constructors of the varying values.
    fn tangents_agree(&mut self, tangent: &ExprRef, varying: &WrtValues, bare: bool) -> Pred {
        let mut all = Vec::new();
        for (k, like) in (0..).zip(varying) {
            let Some(like) = like else { continue };
            let of = if bare { tangent.clone() } else { CoreExpr::proj(tangent, k) };
            all.push(self.agreement_pred(like, &of));
        }
        Pred::all(all)
    }

    /// Returns the real parts of the tangents of the varying values.
    fn real_components(&mut self, value: &ExprRef, varying: &WrtValues, bare: bool) -> Vec<ExprRef> {
        let mut parts = Vec::new();
        for (k, like) in (0..).zip(varying) {
            let Some(like) = like else { continue };
            let of = if bare { value.clone() } else { CoreExpr::proj(value, k) };
            for leaf in like.ty.leaves().iter().filter(|leaf| is_real_leaf(leaf)) {
                parts.push(self.component_array(&of, &leaf.path));
            }
        }
        parts
    }

    /// Returns the part of a value at a path through its tuples, as an array.
    pub(super) fn component_array(&mut self, e: &ExprRef, path: &[u32]) -> ExprRef {
        match (&e.ty, path.split_first()) {
            (_, None) => e.clone(),
            (CoreType::Tensor(n, _), Some(_)) => {
                let index = self.vars.fresh_index("i", n.clone());
                let element = CoreExpr::access(e, index.value());
                let part = self.component_array(&element, path);
                CoreExpr::generate(index, part)
            }
            (_, Some((k, rest))) => self.component_array(&CoreExpr::proj(e, *k), rest),
        }
    }

    /// Assembles the tangents of the varying values from their parts. With `bare` the result is
    /// that of the only argument, not a tuple.
    fn assemble_like_args(
        &mut self,
        varying: &WrtValues,
        bare: bool,
        parts: Vec<ExprRef>,
        span: Span,
    ) -> SymbolicValue {
        let mut parts = parts.into_iter();
        let mut items = Vec::new();
        for like in varying {
            let e = match like {
                Some(like) => self.assemble_tangent(like, &mut parts, span),
                None => unit_expr(span),
            };
            items.push(self.symbolic_value(e));
        }
        match (bare, items.pop()) {
            (true, Some(one)) => one,
            (_, last) => SymbolicValue::Tuple(items.into_iter().chain(last).collect(), TupleLabels::Positions),
        }
    }

    /// Assembles a value from its parts.
    pub(super) fn assemble(&mut self, ty: &CoreType, parts: &mut dyn Iterator<Item = ExprRef>, span: Span) -> ExprRef {
        self.assemble_at(ty, parts, None, &mut Vec::new(), span)
    }

    /// Assembles a tangent of a value from its real parts.
    pub(super) fn assemble_tangent(
        &mut self,
        of: &ExprRef,
        parts: &mut dyn Iterator<Item = ExprRef>,
        span: Span,
    ) -> ExprRef {
        let like = TangentTemplate { value: of.clone(), inside_constructor: false };
        self.assemble_at(&of.ty, parts, Some(&like), &mut Vec::new(), span)
    }

    fn assemble_at(
        &mut self,
        ty: &CoreType,
        parts: &mut dyn Iterator<Item = ExprRef>,
        like: Option<&TangentTemplate>,
        at: &mut Vec<Poly>,
        span: Span,
    ) -> ExprRef {
        if let Some(like) = like
            && !ty.leaves().iter().any(is_real_leaf)
            && (like.inside_constructor || !matches!(ty.split_array().1, CoreType::Tuple(..)))
        {
            return if like.inside_constructor { like.value.clone() } else { unit_expr(span) };
        }
        match ty {
            CoreType::Tuple(types, labels) => {
                let mut items = Vec::new();
                for (k, ty) in (0..).zip(types.iter()) {
                    let like = like.map(|l| TangentTemplate {
                        value: CoreExpr::proj(&l.value, k),
                        inside_constructor: l.inside_constructor || labels.sum().is_some(),
                    });
                    items.push(self.assemble_at(ty, parts, like.as_ref(), at, span));
                }
                tuple_expr(items, labels.clone(), span)
            }
            CoreType::Tensor(n, inner) if matches!(ty.split_array().1, CoreType::Tuple(..)) => {
                let index = self.vars.fresh_index("i", n.clone());
                at.push(index.value());
                let element = like.map(|l| TangentTemplate {
                    value: CoreExpr::access(&l.value, index.value()),
                    inside_constructor: l.inside_constructor,
                });
                let e = self.assemble_at(inner, parts, element.as_ref(), at, span);
                at.pop();
                // An array of `()` is `()`.
                if e.ty == CoreType::unit() && like.is_some_and(|l| !l.inside_constructor) {
                    e
                } else {
                    CoreExpr::generate(index, e)
                }
            }
            CoreType::Scalar(_) | CoreType::Tensor(..) | CoreType::Rel(_) => {
                let part = parts.next().unwrap_or_else(|| unit_expr(span));
                at.iter().fold(part, |e, i| CoreExpr::access(&e, i.clone()))
            }
        }
    }
}

/// The value that a tangent belongs to.
struct TangentTemplate {
    value: ExprRef,
    /// Whether it is inside a constructor. Parts that are not real keep their value there;
    /// elsewhere they are `()`.
    inside_constructor: bool,
}

pub(super) fn tuple_expr(items: Vec<ExprRef>, labels: TupleLabels, span: Span) -> ExprRef {
    let ty = CoreType::Tuple(items.iter().map(|e| e.ty.clone()).collect(), labels);
    CoreExpr::new(ExprKind::Tuple(items), ty, span)
}

/// Returns `()`.
pub(super) fn unit_expr(span: Span) -> ExprRef {
    tuple_expr(Vec::new(), TupleLabels::Positions, span)
}

/// Returns the inputs by which the function is differentiated.
pub(super) fn wrt_inputs(target: &DerivativeTarget) -> Arc<[u32]> {
    target.wrt.iter().map(|(k, _)| *k).collect()
}

pub(super) fn is_real_leaf(leaf: &TypeLeaf) -> bool {
    matches!(leaf.scalar, Some(Scalar::F64 | Scalar::F32))
}

pub(super) fn has_real_leaf(e: &ExprRef) -> bool {
    e.ty.leaves().iter().any(is_real_leaf)
}
