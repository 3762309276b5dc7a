//! **Calls and constructors.** A definition that takes and returns only data is called. A
//! definition with function arguments, and a lambda, is inlined at the call. So no function value
//! is left for the run.

use std::rc::Rc;
use std::sync::Arc;

use super::relation::builds_relations;
use super::{Closure, ElabBody, ElabEnv, ElabFrame, ElabResult, Elaborator, SymbolicValue, contains_function};
use lang_base::{GlobalName, Span};
use lang_ir::core::{
    CoreExpr, CoreType, ExprKind, ExprRef, FunctionKey, NoCoreFormReason, ScalarOp, SumType, TupleLabels,
};
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ops::Scalar;
use lang_types::tree::{self, Instantiation, TypedForm, TypedId, TypedLambda};
use lang_types::ty::{GenericArg, Type};
use lang_types::type_info::TypeInfoBody;

impl Elaborator<'_> {
    pub(super) fn call(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        callee: &tree::Callee,
        args: &[TypedId],
    ) -> ElabResult<SymbolicValue> {
        let body = Arc::clone(&f.code.body);
        let span = self.span(f, id);
        let function = match callee {
            tree::Callee::Value(e) => Some(self.expr(f, *e)?),
            _ => None,
        };
        let types: Vec<Type> = args.iter().map(|a| body.nodes[*a].ty.clone()).collect();
        let args = args.iter().map(|a| self.expr(f, *a)).collect::<ElabResult<Vec<SymbolicValue>>>()?;
        let ty = &body.nodes[id].ty;
        match (callee, function) {
            (tree::Callee::Def(name, instance), _) => self.call_def(f, name, instance, args, ty, span),
            (tree::Callee::Builtin(builtin, _), _) => self.builtin(*builtin, &args, &types, span),
            (tree::Callee::Ctor(_, k), _) => self.construct(f, ty, *k, args, span),
            (tree::Callee::Value(_), Some(SymbolicValue::Fun(closure))) => {
                self.apply_closure(&closure, args, &types, ty, span)
            }
            (tree::Callee::Value(_), _) => Err(self.no_core_form(NoCoreFormReason::FunctionValue, span)),
        }
    }

    fn call_def(
        &mut self,
        f: &ElabFrame,
        name: &GlobalName,
        instance: &Instantiation,
        args: Vec<SymbolicValue>,
        ty: &Type,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let (types, sizes) = self.instance_args(f, instance, span)?;
        let params: Vec<Type> = match self.bodies.signature(name) {
            Some(signature) => signature.params.iter().map(|(_, ty)| ty.clone()).collect(),
            None => Vec::new(),
        };
        if !is_data_call(&args, &types, ty) || builds_relations(&args, &params, ty) {
            return self.inline_definition(name, types, &sizes, args, span);
        }
        match self.core_type(f, ty, span) {
            Ok(ty) => self.call_data_definition(name, &types, sizes, &args, ty, span),
            // If the definition computes its extents, inlining makes them known.
            Err(outside) if outside.reason == NoCoreFormReason::DataRange => {
                self.inline_definition(name, types, &sizes, args, span)
            }
            Err(outside) => Err(outside),
        }
    }

    /// Calls a definition that takes and returns data.
    fn call_data_definition(
        &mut self,
        name: &GlobalName,
        types: &[Type],
        sizes: Vec<Poly>,
        args: &[SymbolicValue],
        ty: CoreType,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let args = args.iter().map(|a| self.data_value(a, span)).collect::<ElabResult<Vec<ExprRef>>>()?;
        let (callee, sizes) = callee_at_types(name, types, sizes);
        Ok(self.symbolic_value(CoreExpr::new(ExprKind::Call(callee, sizes, args), ty, span)))
    }

    /// Returns the type arguments and sizes of an instance.
    pub(super) fn instance_args(
        &mut self,
        f: &ElabFrame,
        of: &Instantiation,
        span: Span,
    ) -> ElabResult<(Vec<Type>, Vec<Poly>)> {
        let types = of.types.iter().map(|t| self.concrete(f, t, span)).collect::<ElabResult<_>>()?;
        Ok((types, of.sizes.iter().map(|p| self.elaborate_size(f, p, span)).collect::<ElabResult<_>>()?))
    }

    /// Inlines a definition. If it has a derivative rule, calls a local function instead.
    fn inline_definition(
        &mut self,
        name: &GlobalName,
        types: Vec<Type>,
        sizes: &[Poly],
        args: Vec<SymbolicValue>,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        if self.bodies.has_rule(name) {
            let real = |t: &Type| matches!(t, Type::Scalar(Scalar::F64 | Scalar::F32));
            let gives_function = self.bodies.signature(name).is_some_and(|s| s.result.has_function());
            if !args.iter().any(contains_function) {
                // The derivative would be that of its body.
                return Err(self.no_core_form(NoCoreFormReason::Derivative, span));
            }
            // A rule has no tangent for a function in the result. At types that are not real, its
            // own types would mean something else.
            if types.iter().all(real) && !gives_function {
                return self.call_with_rule(name, types, sizes, args, span);
            }
        }
        self.inline_body(name, types, sizes, args, span)
    }

    /// Calls a function that is known here.
    pub(super) fn apply_closure(
        &mut self,
        closure: &Closure,
        args: Vec<SymbolicValue>,
        types: &[Type],
        ty: &Type,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        match closure {
            Closure::Lambda { scope, env, lambda } => self.apply_lambda(scope, env, lambda, args, types, span),
            Closure::Definition { name, types, sizes, result } => {
                let result = result.substitute_arguments(&super::runtime_request::integer_arguments(&args));
                if !is_data_call(&args, types, &result) {
                    return self.inline_definition(name, types.clone(), sizes, args, span);
                }
                let ty = self.to_core_type(&result, &mut Vec::new(), span)?;
                self.call_data_definition(name, types, sizes.clone(), &args, ty, span)
            }
            Closure::Builtin(builtin) => self.builtin(*builtin, &args, types, span),
            Closure::Scalar(function) => {
                let first = args.first().map(|a| self.data_value(a, span)).transpose()?;
                let of = first.and_then(|e| e.ty.split_array().1.scalar());
                let of = of.ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))?;
                self.apply_scalar_op(ScalarOp::Scalar(*function), args, of, span)
            }
            Closure::Constructor(ty, k) => self.construct_value(ty, *k, args, span),
            Closure::Tangent { function: of, along } => self.apply_function_tangent(of, along, args, types, ty, span),
            Closure::Operator { operator, wrt, of } => self.apply_derivative(of, *operator, wrt.to_vec(), args, span),
            Closure::Reference { scope, env, node } => {
                let node = scope.body.nodes[*node].clone();
                let mut f = ElabFrame { code: Rc::clone(scope), env: env.clone() };
                match &node.kind {
                    // The result type is written in the sizes of the place that names the function.
                    tree::TypedExpr::DefValue(name, instance) => {
                        let ty = if let Type::Fun(of) = &node.ty { of.result.clone() } else { ty.clone() };
                        self.call_def(&f, name, instance, args, &ty, span)
                    }
                    tree::TypedExpr::BuiltinValue(builtin, _) => self.builtin(*builtin, &args, types, span),
                    tree::TypedExpr::ScalarValue(function) => {
                        let Type::Fun(of) = &node.ty else {
                            return Err(self.no_core_form(NoCoreFormReason::Errors, span));
                        };
                        let of = self.element_scalar(&f, &of.result, span)?;
                        self.apply_scalar_op(ScalarOp::Scalar(*function), args, of, span)
                    }
                    tree::TypedExpr::CtorValue(_, k) => {
                        let Type::Fun(of) = &node.ty else {
                            return Err(self.no_core_form(NoCoreFormReason::Errors, span));
                        };
                        self.construct(&f, &of.result, *k, args, span)
                    }
                    tree::TypedExpr::Form(TypedForm::Derive(operator, wrt), inner) => match inner.as_slice() {
                        [inner] => self.derivative_operator(&mut f, *operator, wrt.as_deref(), *inner, args, span),
                        _ => Err(self.no_core_form(NoCoreFormReason::Errors, span)),
                    },
                    _ => Err(self.no_core_form(NoCoreFormReason::Errors, span)),
                }
            }
        }
    }

    fn apply_lambda(
        &mut self,
        scope: &Rc<ElabBody>,
        env: &ElabEnv,
        lambda: &TypedLambda,
        args: Vec<SymbolicValue>,
        types: &[Type],
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        self.spend_fuel(span)?;
        let mut frame = ElabFrame { code: Rc::clone(scope), env: env.clone() };
        for (k, (pat, arg)) in lambda.params.iter().zip(args).enumerate() {
            let ty = types.get(k).cloned().unwrap_or(Type::Error);
            self.bind_pattern(&mut frame, pat, &arg, &ty, span)?;
        }
        lang_base::ensure_sufficient_stack(|| self.expr(&mut frame, lambda.body))
    }

    // ---- sum types ----

    /// Returns the argument types of a constructor, at a sum type.
    pub(super) fn constructor_arg_types(&self, ty: &Type, k: u32, span: Span) -> ElabResult<Vec<Type>> {
        let Type::Data(name, args) = ty else { return Err(self.no_core_form(NoCoreFormReason::Errors, span)) };
        let info = self.bodies.type_info(name).ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))?;
        let TypeInfoBody::Sum(ctors) = &info.body else {
            return Err(self.no_core_form(NoCoreFormReason::Errors, span));
        };
        let ctor = ctors.get(k as usize).ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))?;
        Ok(ctor.args.iter().map(|t| substitute_type_args(t, args)).collect())
    }

    /// Returns the core type of a sum type: the constructor's number, then the arguments of each
    /// constructor. Those of the other constructors are zeros. Fails if the type is recursive.
    pub(super) fn sum_type(&self, ty: &Type, inside: &mut Vec<GlobalName>, span: Span) -> ElabResult<CoreType> {
        let Type::Data(name, args) = ty else { return Err(self.no_core_form(NoCoreFormReason::Errors, span)) };
        if inside.contains(name) {
            return Err(self.no_core_form(NoCoreFormReason::RecursiveType, span));
        }
        let info = self.bodies.type_info(name).ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))?;
        let TypeInfoBody::Sum(ctors) = &info.body else {
            return Err(self.no_core_form(NoCoreFormReason::Errors, span));
        };
        inside.push(name.clone());
        let mut parts = vec![CoreType::Scalar(Scalar::I64)];
        for ctor in ctors {
            let types = ctor.args.iter().map(|t| self.to_core_type(&substitute_type_args(t, args), inside, span));
            parts.push(CoreType::tuple(types.collect::<ElabResult<Vec<_>>>()?));
        }
        inside.pop();
        let constructors = ctors.iter().map(|c| c.name.clone()).collect();
        Ok(CoreType::Tuple(parts.into(), TupleLabels::Sum(Arc::new(SumType { name: name.clone(), constructors }))))
    }

    /// Elaborates a value of a sum type.
    pub(super) fn construct(
        &mut self,
        f: &ElabFrame,
        ty: &Type,
        k: u32,
        args: Vec<SymbolicValue>,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let ty = self.concrete(f, ty, span)?;
        self.construct_value(&ty, k, args, span)
    }

    fn construct_value(
        &mut self,
        ty: &Type,
        k: u32,
        args: Vec<SymbolicValue>,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let CoreType::Tuple(parts, labels) = self.to_core_type(ty, &mut Vec::new(), span)? else {
            return Err(self.no_core_form(NoCoreFormReason::Errors, span));
        };
        let mut args = Some(args);
        let mut items = vec![SymbolicValue::Int { poly: Poly::constant(k.into()), exact: true }];
        for (j, part) in (0..).zip(parts.iter().skip(1)) {
            items.push(match args.take_if(|_| j == k) {
                Some(args) => SymbolicValue::Tuple(args, TupleLabels::Positions),
                None => SymbolicValue::Data(self.zero(part, span)),
            });
        }
        Ok(SymbolicValue::Tuple(items, labels))
    }
}

/// Substitutes the arguments of a sum type in the type of a constructor's argument.
fn substitute_type_args(ty: &Type, args: &[GenericArg]) -> Type {
    ty.substitute(
        &|k| match args.get(k as usize) {
            Some(GenericArg::Type(t)) => Some(t.clone()),
            _ => None,
        },
        &|k| match args.get(k as usize) {
            Some(GenericArg::Size(p)) => Some(p.clone()),
            _ => None,
        },
    )
}

/// Whether the call passes and returns only data, and no argument determines the result's shape.
/// Such a definition is called.
pub(super) fn is_data_call(args: &[SymbolicValue], types: &[Type], result: &Type) -> bool {
    !args.iter().any(contains_function)
        && !types.iter().any(Type::has_function)
        && !result.has_function()
        && result.free_arguments().is_empty()
}

/// Returns the callee for a definition at types, and the sizes of the call.
pub(super) fn callee_at_types(name: &GlobalName, types: &[Type], sizes: Vec<Poly>) -> (Arc<FunctionKey>, Vec<Poly>) {
    let (types, extra) = abstract_extents(types);
    (Arc::new(FunctionKey::new(name.clone(), types)), sizes.into_iter().chain(extra).collect())
}

/// Replaces each extent in the types by a parameter. Returns the types and these extents.
fn abstract_extents(types: &[Type]) -> (Vec<Type>, Vec<Poly>) {
    let mut extents: Vec<Poly> = Vec::new();
    for ty in types {
        ty.visit(&mut |_| {}, &mut |p| {
            if !extents.contains(p) {
                extents.push(p.clone());
            }
        });
    }
    let parameter = |p: &Poly, _: u32| {
        let k = extents.iter().position(|q| q == p).and_then(|k| u32::try_from(k).ok()).unwrap_or_default();
        Poly::atom(Atom::SizeParam(FunctionKey::FIRST_TYPE_EXTENT + k, format!("s{k}").into()))
    };
    let types = types.iter().map(|t| t.map_sizes(&parameter)).collect();
    (types, extents)
}
