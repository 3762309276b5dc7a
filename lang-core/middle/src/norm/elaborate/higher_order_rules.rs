//! **Rules of definitions that take functions.** A definition with a rule is called, never inlined,
//! because otherwise its derivative would be that of its body. If it takes functions, its body with
//! these functions inlined becomes a local function of their captures and the real arguments.
//!
//! The rule becomes a function of the same parameters, and of a tangent for each real part of them,
//! captures included. It is elaborated only if a derivative requests it
//! ([`lang_ir::core::LocalFunctionRule`]). Then the definition is elaborated again up to the call,
//! and the rule there.
//!
//! In the rule the tangent of a function is the function with the tangents of its captures
//! ([`Closure::Tangent`]). Its value at a point is a forward derivative of the function there.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::closure_conversion::LocalFunction;
use super::derive::{DerivativeTarget, has_real_leaf, is_real_leaf, unit_expr};
use super::{Closure, ElabBody, ElabEnv, ElabFrame, ElabResult, Elaborator, SymbolicValue};
use lang_base::{GlobalName, Name, Span};
use lang_ir::core::{
    Constant, CoreExpr, CoreFunction, CoreType, ExprKind, ExprRef, NoCoreFormReason, RuleKind, ScalarOp, TupleLabels,
};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{LocalId, Poly};
use lang_syntax::ops::Scalar;
use lang_types::ty::Type;

/// The tangents of captured variables: one for each real part.
pub(super) type CaptureTangents = HashMap<LocalId, Vec<ExprRef>>;

/// A definition applied to functions.
struct RuledCall<'a> {
    name: &'a GlobalName,
    types: Vec<Type>,
    sizes: &'a [Poly],
    args: Vec<SymbolicValue>,
    span: Span,
}

impl Elaborator<'_> {
    /// Elaborates a call of a definition that has a rule and takes functions.
    pub(super) fn call_with_rule(
        &mut self,
        name: &GlobalName,
        types: Vec<Type>,
        sizes: &[Poly],
        args: Vec<SymbolicValue>,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let body = self.bodies.body(name).ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))?;
        let mut params = Vec::new();
        let mut own = Vec::new();
        let mut named = Vec::new();
        for (arg, local) in args.into_iter().zip(&body.params) {
            let name = body.locals.get(local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
            let arg = self.name_value(arg, &name);
            let before = own.len();
            collect_real_data(&arg, &mut own);
            params.extend(own.iter().skip(before).map(|e| (Some(name.clone()), e.ty.clone())));
            named.push(arg);
        }
        let args = named;
        let also = args.iter().map(|arg| replace_real_data(arg, &mut std::iter::empty())).collect::<Vec<_>>();
        let of = RuledCall { name, types, sizes, args, span };
        let around = (std::mem::take(&mut self.in_loop_body), self.pending_checkpoint.take());
        let enclosed = self.make_local_function_capturing(params, &also, span, |this, values| {
            let mut data = values.into_iter();
            let args = of.args.iter().map(|arg| replace_real_data(arg, &mut data)).collect();
            this.inline_body(name, of.types.clone(), sizes, args, span)
        });
        (self.in_loop_body, self.pending_checkpoint) = around;
        let enclosed = enclosed?;
        // A caller cannot know extents that only the body computes.
        if !self.knows_result_extents(&enclosed) {
            return Err(self.no_core_form(NoCoreFormReason::DataRange, span));
        }
        if let Some(function) = self.local_functions.last_mut() {
            Arc::make_mut(function).rule_of = Some(name.clone());
        }
        let wanted = self.callee.rules.get(self.rules_entered).copied();
        if let Some(wanted) = wanted
            && enclosed.callee.local == Some(wanted.local)
        {
            self.rules_entered += 1;
            let rule = self.elaborate_rule(&of, &enclosed, wanted.kind);
            if self.requested_rule.is_none() {
                self.requested_rule = Some(rule);
            }
            return Err(self.no_core_form(NoCoreFormReason::Derivative, span));
        }
        let captured = enclosed.captured.iter().map(|(local, ty)| self.captured_arg(*local, ty, span));
        let args = captured.chain(own).collect();
        let sizes = enclosed.sizes.iter().map(|l| Poly::atom(self.vars.atom(*l))).collect();
        Ok(self.symbolic_value(CoreExpr::new(ExprKind::Call(enclosed.callee, sizes, args), enclosed.result, span)))
    }

    /// Inlines the body of a definition.
    pub(super) fn inline_body(
        &mut self,
        name: &GlobalName,
        types: Vec<Type>,
        sizes: &[Poly],
        args: Vec<SymbolicValue>,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        if self.inline_stack.len() >= super::MAX_INLINE_DEPTH {
            return Err(self.no_core_form(NoCoreFormReason::Recursion, span));
        }
        let body = self.bodies.body(name).ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))?;
        let root = body.root.ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))?;
        let mut env = ElabEnv::new();
        for (local, size) in body.sizes.iter().zip(sizes) {
            env.insert(*local, SymbolicValue::Int { poly: size.clone(), exact: true });
        }
        for (local, arg) in body.params.iter().zip(args) {
            let name = body.locals.get(local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
            let arg = self.name_value(arg, &name);
            env.insert(*local, arg);
        }
        let code = Rc::new(ElabBody { item: name.clone(), body, types, inlined: Some(span) });
        self.inline_stack.push(name.clone());
        let value = lang_base::ensure_sufficient_stack(|| self.expr(&mut ElabFrame { code, env }, root));
        self.inline_stack.pop();
        value
    }

    /// Elaborates the rule of the local function that was just built.
    fn elaborate_rule(
        &mut self,
        of: &RuledCall<'_>,
        primal: &LocalFunction,
        kind: RuleKind,
    ) -> ElabResult<CoreFunction> {
        let span = of.span;
        let outside = |this: &Self| this.no_core_form(NoCoreFormReason::Derivative, span);
        let all = || primal.captured.iter().chain(&primal.params).map(|(_, ty)| ty).chain([&primal.result]);
        // The tangent of a sum type repeats the parts that are not real.
        if all().any(has_sum_type) {
            return Err(outside(self));
        }
        let rule = self.bodies.rule(of.name, kind).ok_or_else(|| outside(self))?;
        // The rule numbers its local functions separately.
        self.local_functions.clear();
        let own = primal.params.iter().map(|(local, ty)| (Some(self.vars.name(*local)), ty.clone()));
        let mut params: Vec<(Option<Name>, CoreType)> = own.collect();
        let count = params.len();
        let mut captured = Vec::new();
        match kind {
            RuleKind::Derivative => {
                for (local, ty) in &primal.captured {
                    let leaves: Vec<CoreType> =
                        ty.leaves().iter().filter(|leaf| is_real_leaf(leaf)).map(|leaf| leaf.ty()).collect();
                    captured.push((*local, leaves.len()));
                    let name: Name = format!("{}_tan", self.vars.name(*local)).into();
                    params.extend(leaves.into_iter().map(|ty| (Some(name.clone()), ty)));
                }
                params.extend(primal.params.iter().map(|(_, ty)| (Some("x_tan".into()), tangent_type(ty))));
            }
            RuleKind::Adjoint => params.push((Some("y_adj".into()), tangent_type(&primal.result))),
        }
        let also: Vec<SymbolicValue> =
            primal.captured.iter().map(|(l, ty)| SymbolicValue::Data(self.captured_arg(*l, ty, span))).collect();
        let sizes =
            primal.sizes.iter().map(|l| SymbolicValue::Int { poly: Poly::atom(self.vars.atom(*l)), exact: true });
        let also: Vec<SymbolicValue> = also.into_iter().chain(sizes).collect();
        let enclosed = self.make_local_function_capturing(params, &also, span, |this, mut values| {
            let mut deltas = values.split_off(count).into_iter();
            let mut data = values.into_iter();
            let args: Vec<SymbolicValue> = of.args.iter().map(|arg| replace_real_data(arg, &mut data)).collect();
            let types = of.types.clone();
            if kind == RuleKind::Adjoint {
                let all = args.iter().cloned().chain(deltas).collect();
                let cotangents = this.inline_body(&rule, types, of.sizes, all, span)?;
                return this.rule_cotangents(&args, &cotangents, primal, span);
            }
            let mut tangents = CaptureTangents::new();
            for (local, leaves) in captured {
                let these: Vec<SymbolicValue> = deltas.by_ref().take(leaves).collect();
                let these = these.iter().map(|t| this.data_value(t, span)).collect::<ElabResult<Vec<ExprRef>>>()?;
                tangents.insert(local, these);
            }
            let tangents = Rc::new(tangents);
            let beside: Vec<SymbolicValue> =
                args.iter().map(|arg| this.argument_tangent(arg, &tangents, &mut deltas, span)).collect();
            let all = args.into_iter().chain(beside).collect();
            this.inline_body(&rule, types, of.sizes, all, span)
        })?;
        if enclosed.sizes != primal.sizes || enclosed.captured != primal.captured {
            return Err(outside(self));
        }
        let function = self.local_functions.pop().ok_or_else(|| outside(self))?;
        let locals = std::mem::take(&mut self.local_functions);
        Ok(CoreFunction { callee: Arc::clone(&self.callee), local_functions: locals, ..(*function).clone() })
    }

    /// Returns the tangent of an argument, from the tangents of captured variables and of the
    /// arguments.
    fn argument_tangent(
        &mut self,
        arg: &SymbolicValue,
        captured: &Rc<CaptureTangents>,
        own: &mut dyn Iterator<Item = SymbolicValue>,
        span: Span,
    ) -> SymbolicValue {
        match arg {
            SymbolicValue::Fun(of) => {
                SymbolicValue::Fun(Rc::new(Closure::Tangent { function: Rc::clone(of), along: Rc::clone(captured) }))
            }
            SymbolicValue::Data(e) if has_real_leaf(e) => {
                own.next().unwrap_or_else(|| SymbolicValue::Data(unit_expr(span)))
            }
            SymbolicValue::Data(e) => SymbolicValue::Data(self.assemble_tangent(e, &mut std::iter::empty(), span)),
            SymbolicValue::Tuple(items, labels) => {
                let items = items.iter().map(|item| self.argument_tangent(item, captured, own, span)).collect();
                SymbolicValue::Tuple(items, labels.clone())
            }
            SymbolicValue::Int { .. } | SymbolicValue::Bool(_) => SymbolicValue::Data(unit_expr(span)),
        }
    }

    /// Returns the tangent of a function at arguments.
    pub(super) fn apply_function_tangent(
        &mut self,
        of: &Rc<Closure>,
        along: &Rc<CaptureTangents>,
        args: Vec<SymbolicValue>,
        types: &[Type],
        ty: &Type,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let args: Vec<SymbolicValue> = args.into_iter().map(|arg| self.name_value(arg, "x")).collect();
        let mut own = Vec::new();
        args.iter().for_each(|arg| collect_real_data(arg, &mut own));
        let params = own.iter().map(|e| (None, e.ty.clone())).collect();
        let enclosed = self.make_local_function(params, span, |this, values| {
            let mut data = values.into_iter();
            let args = args.iter().map(|arg| replace_real_data(arg, &mut data)).collect();
            this.apply_closure(of, args, types, ty, span)
        })?;
        let LocalFunction { callee, sizes, captured, result, .. } = enclosed;
        let (mut by, mut tangents) = (Vec::new(), Vec::new());
        let mut first = 0;
        for (local, ty) in &captured {
            let leaves: Vec<_> = (first..).zip(ty.leaves()).collect();
            first += u32::try_from(leaves.len()).unwrap_or(u32::MAX);
            let real: Vec<_> = leaves.into_iter().filter(|(_, leaf)| is_real_leaf(leaf)).collect();
            match along.get(local) {
                Some(these) if these.len() == real.len() => {
                    by.extend(real);
                    tangents.extend(these.iter().cloned());
                }
                _ if real.is_empty() => {}
                _ => return Err(self.no_core_form(NoCoreFormReason::Derivative, span)),
            }
        }
        let args = captured.iter().map(|(local, ty)| self.captured_arg(*local, ty, span)).chain(own).collect();
        let sizes = sizes.into_iter().map(|l| Poly::atom(self.vars.atom(l))).collect();
        let target =
            DerivativeTarget { callee, sizes, args, wrt: by, outputs: result.leaves(), result: result.clone() };
        let (values, tangents) = self.call_forward(&target, tangents, span);
        let value = self.assemble(&result, &mut values.into_iter(), span);
        let value = self.bind("y", value);
        let tangent = self.assemble_tangent(&value, &mut tangents.into_iter(), span);
        Ok(self.symbolic_value(tangent))
    }

    /// Returns the cotangents of captured variables, then of the arguments, part by part.
    ///
    /// For each function argument an adjoint rule returns a function from a tangent of that
    /// argument to the change of the result. This map is linear. So the cotangents of the captures
    /// are its gradient by their tangents, at any point. The pass takes it at a generic point,
    /// because such a function may choose steps by it, as `ode.dopri5` does.
    fn rule_cotangents(
        &mut self,
        args: &[SymbolicValue],
        cotangents: &SymbolicValue,
        primal: &LocalFunction,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let (mut functions, mut parts) = (Vec::new(), Vec::new());
        for (k, arg) in args.iter().enumerate() {
            let of = if args.len() == 1 { cotangents.clone() } else { self.component(cotangents, k)? };
            self.collect_cotangents(arg, &of, &mut functions, &mut parts, span)?;
        }
        let mut points = Vec::new();
        let mut captured = Vec::new();
        for (local, ty) in &primal.captured {
            let leaves: Vec<_> = ty.leaves().into_iter().filter(is_real_leaf).collect();
            captured.push((*local, leaves.len()));
            for leaf in &leaves {
                let at = self.generic_tangent(&leaf.ty(), points.len(), span);
                points.push((Name::from("t"), at));
            }
        }
        let change = self.close_over(points, span, |this, values| {
            let mut data = values.into_iter();
            let mut along = CaptureTangents::new();
            for (local, leaves) in captured {
                let these: Vec<SymbolicValue> = data.by_ref().take(leaves).collect();
                let these = these.iter().map(|t| this.data_value(t, span)).collect::<ElabResult<Vec<ExprRef>>>()?;
                along.insert(local, these);
            }
            let along = Rc::new(along);
            let mut terms = Vec::new();
            for (of, cotangent) in &functions {
                let tangent =
                    SymbolicValue::Fun(Rc::new(Closure::Tangent { function: Rc::clone(of), along: Rc::clone(&along) }));
                let change = this.apply_closure(cotangent, vec![tangent], &[], &Type::F64, span)?;
                terms.push(this.data_value(&change, span)?);
            }
            let real = CoreType::Scalar(Scalar::F64);
            Ok(SymbolicValue::Data(match terms.len() {
                0 => CoreExpr::new(ExprKind::Constant(Constant::Real(0.0)), real, span),
                1 => terms.swap_remove(0),
                _ => CoreExpr::new(ExprKind::Add(terms), real, span),
            }))
        })?;
        let one = self.unit_seed(&change);
        let (_, mut all) = self.call_adjoint(&change, vec![one], span);
        all.extend(parts);
        Ok(SymbolicValue::Data(super::derive::tuple_expr(all, TupleLabels::Positions, span)))
    }

    /// Returns a generic tangent: its reals follow no pattern and are between 0.5 and 2.5.
    fn generic_tangent(&mut self, ty: &CoreType, number: usize, span: Span) -> ExprRef {
        let real = ty.split_array().1.clone();
        let place = Poly::constant(i128::try_from(number).unwrap_or_default());
        let mut place = place;
        let mut indices = Vec::new();
        for n in ty.split_array().0.into_iter().cloned().collect::<Vec<Poly>>() {
            let index = self.vars.fresh_index("i", n);
            place = place.scale(7).add(&index.value());
            indices.push(index);
        }
        let place = CoreExpr::new(ExprKind::Index(place), CoreType::Scalar(Scalar::I64), span);
        let apply = |of, e| CoreExpr::new(ExprKind::Apply(of, vec![e]), real.clone(), span);
        let Some(scalar) = real.scalar() else { return unit_expr(span) };
        let place = apply(ScalarOp::Convert(scalar), place);
        let wave = apply(ScalarOp::Scalar(ScalarFn::Sin), place);
        let middle = CoreExpr::new(ExprKind::Constant(Constant::Real(1.5)), real.clone(), span);
        let e = CoreExpr::new(ExprKind::Add(vec![middle, wave]), real.clone(), span);
        indices.into_iter().rev().fold(e, |e, i| CoreExpr::generate(i, e))
    }

    /// Collects functions with their cotangents, and the cotangents of the real parts of other
    /// arguments.
    fn collect_cotangents(
        &mut self,
        arg: &SymbolicValue,
        cotangent: &SymbolicValue,
        functions: &mut Vec<(Rc<Closure>, Rc<Closure>)>,
        parts: &mut Vec<ExprRef>,
        span: Span,
    ) -> ElabResult<()> {
        match (arg, cotangent) {
            (SymbolicValue::Fun(of), SymbolicValue::Fun(cotangent)) => {
                functions.push((Rc::clone(of), Rc::clone(cotangent)))
            }
            (SymbolicValue::Fun(_), _) => return Err(self.no_core_form(NoCoreFormReason::FunctionValue, span)),
            (SymbolicValue::Tuple(items, _), _) => {
                for (k, item) in items.iter().enumerate() {
                    let of = self.component(cotangent, k)?;
                    self.collect_cotangents(item, &of, functions, parts, span)?;
                }
            }
            (SymbolicValue::Data(e), _) if has_real_leaf(e) => {
                let cotangent = self.data_value(cotangent, span)?;
                let cotangent = self.bind("c", cotangent);
                for leaf in e.ty.leaves().iter().filter(|leaf| is_real_leaf(leaf)) {
                    parts.push(self.component_array(&cotangent, &leaf.path));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Collects the parts of an argument that are data with reals in them.
fn collect_real_data(arg: &SymbolicValue, found: &mut Vec<ExprRef>) {
    match arg {
        SymbolicValue::Data(e) if has_real_leaf(e) => found.push(e.clone()),
        SymbolicValue::Tuple(items, _) => items.iter().for_each(|item| collect_real_data(item, found)),
        _ => {}
    }
}

/// Replaces the real data of an argument by the values of `data`, or by nothing if they run out.
fn replace_real_data(arg: &SymbolicValue, data: &mut dyn Iterator<Item = SymbolicValue>) -> SymbolicValue {
    match arg {
        SymbolicValue::Data(e) if has_real_leaf(e) => {
            data.next().unwrap_or_else(|| SymbolicValue::Tuple(Vec::new(), TupleLabels::Positions))
        }
        SymbolicValue::Tuple(items, labels) => {
            SymbolicValue::Tuple(items.iter().map(|item| replace_real_data(item, data)).collect(), labels.clone())
        }
        other => other.clone(),
    }
}

/// Returns the type of the tangents of data.
fn tangent_type(ty: &CoreType) -> CoreType {
    match ty {
        CoreType::Scalar(Scalar::F64 | Scalar::F32) => ty.clone(),
        CoreType::Scalar(_) | CoreType::Rel(_) => CoreType::unit(),
        CoreType::Tensor(n, inner) => match tangent_type(inner) {
            inner if inner == CoreType::unit() => inner,
            inner => CoreType::Tensor(n.clone(), Arc::new(inner)),
        },
        CoreType::Tuple(items, labels) => CoreType::Tuple(items.iter().map(tangent_type).collect(), labels.clone()),
    }
}

fn has_sum_type(ty: &CoreType) -> bool {
    match ty {
        CoreType::Scalar(_) | CoreType::Rel(_) => false,
        CoreType::Tensor(_, inner) => has_sum_type(inner),
        CoreType::Tuple(items, labels) => labels.sum().is_some() || items.iter().any(has_sum_type),
    }
}
