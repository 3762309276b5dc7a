//! **Run-time specialisation.** Elaborates a derivative operator that the run has applied, or an
//! expression that it has reached ([`RuntimeRequest`]), to a function. Its parameters are the data
//! that the function values have captured, and the arguments, in the order in which they are read
//! off the values. Captured functions are known here as in an elaborated text, so that they are
//! inlined or called.
//!
//! Sizes have different names at the definition of a function and at the operator. Sizes that the
//! types equate become one size: the parameter types of a function are the types of the arguments
//! it receives.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::derive::DerivativeOperand;
use super::{Closure, ElabBody, ElabEnv, ElabFrame, ElabResult, Elaborator, SymbolicValue};
use lang_base::{Code, GlobalName, Name, Span};
use lang_ir::core::{CheckFailure, CoreExpr, CoreFunction, CoreType, FunctionKey, NoCoreFormReason, TupleLabels};
use lang_ir::runtime_request::{
    CaptureScope, DerivativeOperator, FunctionShape, ItemBody, RequestSite, RuntimeRequest, StaticShape, TypeArgs,
};
use lang_resolve::forms::DerivativeOp;
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ops::Scalar;
use lang_types::tree::{self, TypedBody};
use lang_types::ty::{FunType, SizeSource, Type};

/// The sizes and parameters of the function.
#[derive(Default)]
struct RequestParams {
    sizes: Vec<LocalId>,
    params: Vec<(LocalId, CoreType)>,
}

/// The sizes of one scope as polynomials over those of another, solved from types.
type SolvedSizes = HashMap<LocalId, Poly>;

impl Elaborator<'_> {
    pub(super) fn elaborate_request(
        &mut self,
        callee: &Arc<FunctionKey>,
        applied: &RuntimeRequest,
    ) -> ElabResult<CoreFunction> {
        let mut passed = RequestParams::default();
        let span = Span::default();
        for (name, ty, shape) in &applied.globals {
            let sym = self.add_value_params(&mut passed, shape, ty, &name.name)?;
            self.globals.insert(name.clone(), sym);
        }
        let (bindings, result) = self.in_scope(|this| match &applied.site {
            RequestSite::Operator(operator, shapes) => this.apply_operator(&mut passed, operator, shapes),
            RequestSite::Variable { scope, variable: by, expression: of, .. } => {
                let mut frame = this.frame_for_scope(&mut passed, scope, &SolvedSizes::new())?;
                let span = this.span(&frame, *of);
                this.deriv(&mut frame, *by, *of, span)
            }
            RequestSite::Expression { scope, node } => {
                let mut frame = this.frame_for_scope(&mut passed, scope, &SolvedSizes::new())?;
                this.expr(&mut frame, *node)
            }
        })?;
        let body = CoreExpr::lets(bindings, self.data_value(&result, span)?);
        let RequestParams { sizes, params } = passed;
        let (vars, bounded) = (std::mem::take(&mut self.vars), std::mem::take(&mut self.bounded_params));
        let locals = std::mem::take(&mut self.local_functions);
        Ok(CoreFunction {
            callee: callee.clone(),
            vars,
            sizes,
            params,
            bounded_params: bounded,
            body,
            local_functions: locals,
            rule_of: None,
        })
    }

    /// Elaborates an operator at arguments.
    fn apply_operator(
        &mut self,
        passed: &mut RequestParams,
        operator: &DerivativeOperator,
        shapes: &[StaticShape],
    ) -> ElabResult<SymbolicValue> {
        let span = Span::default();
        let frame = self.frame_for_scope(passed, &operator.scope, &SolvedSizes::new())?;
        let ty = self.operator_type(&frame, operator)?;
        let wanted = self.operand_params(&ty, operator.operator, Self::operand_arity(&frame.code.body, operator));
        let of = self.function_operand(passed, &operator.function, Some(&wanted))?;
        let arguments =
            shapes.iter().zip(&ty.params).map(|(shape, (name, ty))| (shape, name.as_deref().unwrap_or("x"), ty));
        // Integer arguments may be sizes, also in the types of arguments after them.
        let mut integer =
            |shape: &StaticShape, name| matches!(shape, StaticShape::Integer).then(|| self.vars.fresh(name));
        let integers: Vec<Option<LocalId>> = arguments.clone().map(|(shape, name, _)| integer(shape, name)).collect();
        let values: Vec<Option<Poly>> =
            integers.iter().map(|local| local.map(|local| Poly::atom(self.vars.atom(local)))).collect();
        let mut args: Vec<SymbolicValue> = Vec::new();
        for ((shape, name, ty), local) in arguments.zip(integers) {
            args.push(match local {
                Some(local) => self.add_integer_param(passed, local),
                None => self.add_value_params(passed, shape, &ty.substitute_arguments(&values), name)?,
            });
        }
        let wrt = operator.wrt.to_vec();
        self.apply_derivative(&of, operator.operator, wrt, args, span)
    }

    /// Returns the type of the operator together with its function.
    fn operator_type(&mut self, frame: &ElabFrame, operator: &DerivativeOperator) -> ElabResult<FunType> {
        let body = Arc::clone(&frame.code.body);
        match &body.nodes[operator.node].ty {
            Type::Fun(ty) => self.function_type(frame, ty),
            _ => Err(self.no_core_form(NoCoreFormReason::Errors, Span::default())),
        }
    }

    /// Returns the number of arguments that the operator's function takes.
    fn operand_arity(body: &TypedBody, operator: &DerivativeOperator) -> usize {
        let inner = match &body.nodes[operator.node].kind {
            tree::TypedExpr::Form(_, items) => items.first(),
            _ => None,
        };
        match inner.map(|inner| &body.nodes[*inner].ty) {
            Some(Type::Fun(ty)) => ty.params.len(),
            _ => 0,
        }
    }

    /// Returns a function type over the variables of the function. Sizes that depend on arguments
    /// stay open.
    fn function_type(&mut self, frame: &ElabFrame, ty: &FunType) -> ElabResult<FunType> {
        let span = Span::default();
        let params = ty.params.iter().map(|(name, t)| Ok((name.clone(), self.open_type(frame, t, span)?)));
        Ok(FunType { params: params.collect::<ElabResult<_>>()?, result: self.open_type(frame, &ty.result, span)? })
    }

    /// Returns the parameter types of an operator's function, from the type of the operator.
    fn operand_params(&self, ty: &FunType, operator: DerivativeOp, arity: usize) -> FunType {
        use DerivativeOp::{Hvp, Jvp, Jvp2, Vjp, Vjp2};
        let pair = matches!(operator, Jvp | Jvp2 | Vjp | Vjp2 | Hvp);
        let params = match ty.params.first() {
            Some((_, Type::Tuple(items))) if pair && arity != 1 => items.iter().map(|t| (None, t.clone())).collect(),
            Some(first) if pair => vec![first.clone()],
            _ => ty.params.clone(),
        };
        FunType { params, result: Type::Error }
    }

    // ---- function values ----

    /// Returns a function value with its parameter types, which match those of `wanted`.
    fn function_operand(
        &mut self,
        passed: &mut RequestParams,
        known: &FunctionShape,
        wanted: Option<&FunType>,
    ) -> ElabResult<DerivativeOperand> {
        match known {
            FunctionShape::Lambda { scope, node } => self.lambda_operand(passed, scope, *node, wanted),
            FunctionShape::Definition { name, types, sizes } => {
                self.definition_operand(passed, name, types, *sizes, wanted)
            }
            FunctionShape::Operator(operator) => self.operator_operand(passed, operator, wanted),
            FunctionShape::Builtin(b) => self.named_operand(Closure::Builtin(*b), wanted),
            FunctionShape::Scalar(f) => self.named_operand(Closure::Scalar(*f), wanted),
            FunctionShape::Constructor(k) => {
                let of = wanted.map(|w| w.result.clone()).unwrap_or(Type::Error);
                self.named_operand(Closure::Constructor(of, *k), wanted)
            }
        }
    }

    fn named_operand(&mut self, closure: Closure, wanted: Option<&FunType>) -> ElabResult<DerivativeOperand> {
        let ty = wanted.cloned().ok_or_else(|| self.no_core_form(NoCoreFormReason::FunctionValue, Span::default()))?;
        Ok(self.new_operand(closure, ty))
    }

    fn new_operand(&self, closure: Closure, ty: FunType) -> DerivativeOperand {
        let disagreeing = CheckFailure {
            code: Code::E0501,
            message: crate::norm::CONSTRUCTOR_MISMATCH.into(),
            item: self.item.clone(),
            node: None,
        };
        DerivativeOperand { closure: Rc::new(closure), ty, mismatch: Arc::new(disagreeing) }
    }

    fn lambda_operand(
        &mut self,
        passed: &mut RequestParams,
        scope: &CaptureScope,
        node: tree::TypedId,
        wanted: Option<&FunType>,
    ) -> ElabResult<DerivativeOperand> {
        let body = Arc::clone(&scope.item_body.body);
        let (tree::TypedExpr::Lambda(lambda), Type::Fun(ty)) = (&body.nodes[node].kind, &body.nodes[node].ty) else {
            return Err(self.no_core_form(NoCoreFormReason::Errors, Span::default()));
        };
        let solved = wanted.map(|wanted| solve_sizes(wanted, ty)).unwrap_or_default();
        let frame = self.frame_for_scope(passed, scope, &solved)?;
        let ty = self.function_type(&frame, ty)?;
        let closure = Closure::Lambda { scope: frame.code, env: frame.env, lambda: Arc::clone(lambda) };
        Ok(self.new_operand(closure, ty))
    }

    fn definition_operand(
        &mut self,
        passed: &mut RequestParams,
        name: &GlobalName,
        types: &TypeArgs,
        sizes: u32,
        wanted: Option<&FunType>,
    ) -> ElabResult<DerivativeOperand> {
        let signature = self.bodies.signature(name);
        let signature = signature.ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, Span::default()))?;
        let types = self.type_arguments(passed, types);
        // Size number `k` of a signature is represented by local number `k`.
        let as_local = |k: u32| Some(Poly::atom(Atom::Local(LocalId(k), Name::default())));
        let own = |k: u32| types.get(k as usize).cloned();
        let params = signature.params.iter().map(|(n, t)| (Some(n.clone()), t.substitute(&own, &as_local)));
        let open = FunType { params: params.collect(), result: Type::Error };
        let solved = wanted.map(|wanted| solve_sizes(wanted, &open)).unwrap_or_default();
        let mut size_values = Vec::new();
        for k in 0..sizes {
            let size_name = signature.sizes.get(k as usize).map(|s| s.name.clone()).unwrap_or_default();
            let size = self.add_size(size_name);
            passed.sizes.push(size);
            size_values.push(solved.get(&LocalId(k)).cloned().unwrap_or_else(|| Poly::atom(self.vars.atom(size))));
        }
        // Sizes that an integer argument determines stay open.
        let bound = |k: u32| match signature.sizes.get(k as usize)?.source {
            SizeSource::Param(p) => Some(Poly::atom(Atom::Arg(0, p))),
            _ => size_values.get(k as usize).cloned(),
        };
        let params = signature.params.iter().map(|(n, t)| (Some(n.clone()), t.substitute(&own, &bound)));
        let ty = FunType { params: params.collect(), result: signature.result.substitute(&own, &bound) };
        let result = ty.result.clone();
        let closure = Closure::Definition { name: name.clone(), types: types.clone(), sizes: size_values, result };
        Ok(self.new_operand(closure, ty))
    }

    fn operator_operand(
        &mut self,
        passed: &mut RequestParams,
        operator: &DerivativeOperator,
        wanted: Option<&FunType>,
    ) -> ElabResult<DerivativeOperand> {
        let body = Arc::clone(&operator.scope.item_body.body);
        let Type::Fun(declared) = &body.nodes[operator.node].ty else {
            return Err(self.no_core_form(NoCoreFormReason::Errors, Span::default()));
        };
        let solved = wanted.map(|wanted| solve_sizes(wanted, declared)).unwrap_or_default();
        let frame = self.frame_for_scope(passed, &operator.scope, &solved)?;
        let ty = self.operator_type(&frame, operator)?;
        let point = self.operand_params(&ty, operator.operator, Self::operand_arity(&body, operator));
        let of = self.function_operand(passed, &operator.function, Some(&point))?;
        let closure = Closure::Operator { operator: operator.operator, wrt: operator.wrt.clone(), of: Box::new(of) };
        Ok(self.new_operand(closure, ty))
    }

    // ---- frames ----

    /// Returns the frame in which a function value was created, as far as it is known.
    fn frame_for_scope(
        &mut self,
        passed: &mut RequestParams,
        scope: &CaptureScope,
        solved: &SolvedSizes,
    ) -> ElabResult<ElabFrame> {
        let ItemBody { item, body } = &scope.item_body;
        let types = self.type_arguments(passed, &scope.types);
        // Spans of another item have no meaning in diagnostics of this one.
        let inlined = (*item != self.item).then(Span::default);
        let code = Rc::new(ElabBody { item: item.clone(), body: Arc::clone(body), types, inlined });
        let mut frame = ElabFrame { code, env: ElabEnv::new() };
        for (local, shape) in &scope.locals {
            let declared = body.locals.get(local.0 as usize);
            let (name, ty) = declared.map(|l| (l.name.clone(), l.ty.clone())).unwrap_or((Name::default(), Type::I64));
            let sym = match shape {
                StaticShape::Size => {
                    let size = self.add_size(name);
                    passed.sizes.push(size);
                    SymbolicValue::Int { poly: Poly::atom(self.vars.atom(size)), exact: true }
                }
                StaticShape::Integer => self.add_value_params(passed, shape, &Type::I64, &name)?,
                _ => {
                    let ty = self.open_type(&frame, &ty, Span::default())?;
                    self.add_value_params(passed, shape, &ty, &name)?
                }
            };
            let sym = match (shape, solved.get(local)) {
                (StaticShape::Size | StaticShape::Integer, Some(poly)) => {
                    SymbolicValue::Int { poly: poly.clone(), exact: true }
                }
                _ => sym,
            };
            frame.env.insert(*local, sym);
        }
        Ok(frame)
    }

    /// Returns the type arguments, with a size of the function for each extent in them.
    fn type_arguments(&mut self, passed: &mut RequestParams, types: &TypeArgs) -> Vec<Type> {
        let mut extents = Vec::new();
        for k in 0..types.extent_count {
            let size = self.add_size(format!("s{k}").into());
            passed.sizes.push(size);
            extents.push(Poly::atom(self.vars.atom(size)));
        }
        let bound = |k: u32| extents.get(k.checked_sub(FunctionKey::FIRST_TYPE_EXTENT)? as usize).cloned();
        types.args.iter().map(|t| t.substitute(&|_| None, &bound)).collect()
    }

    /// Adds an integer parameter.
    fn add_integer_param(&mut self, passed: &mut RequestParams, param: LocalId) -> SymbolicValue {
        let scalar = CoreType::Scalar(Scalar::I64);
        self.params.insert(param);
        self.types.insert(param, scalar.clone());
        passed.params.push((param, scalar));
        SymbolicValue::Int { poly: Poly::atom(self.vars.atom(param)), exact: true }
    }

    /// Adds parameters for a value of this type, over the variables of the function.
    fn add_value_params(
        &mut self,
        passed: &mut RequestParams,
        shape: &StaticShape,
        ty: &Type,
        name: &str,
    ) -> ElabResult<SymbolicValue> {
        let span = Span::default();
        match (shape, ty) {
            (StaticShape::Integer | StaticShape::Size, _) => {
                let param = self.vars.fresh(name);
                Ok(self.add_integer_param(passed, param))
            }
            (StaticShape::Data, _) => {
                let ty = self.to_core_type(ty, &mut Vec::new(), span)?;
                let param = self.vars.fresh(name);
                self.params.insert(param);
                self.types.insert(param, ty.clone());
                passed.params.push((param, ty.clone()));
                Ok(self.variable(param, &ty, span))
            }
            (StaticShape::Function(known), ty) => {
                let wanted = if let Type::Fun(ty) = ty { Some(&**ty) } else { None };
                let operand = self.function_operand(passed, known, wanted)?;
                Ok(SymbolicValue::Fun(operand.closure))
            }
            (StaticShape::Tuple(items), Type::Tuple(types)) => {
                let parts =
                    items.iter().zip(types.iter()).map(|(item, ty)| self.add_value_params(passed, item, ty, name));
                Ok(SymbolicValue::Tuple(parts.collect::<ElabResult<_>>()?, TupleLabels::Positions))
            }
            (StaticShape::Record(fields), Type::Record(types)) => {
                let mut parts = Vec::new();
                for (field, field_shape) in fields {
                    let ty = types.iter().find(|(n, _)| n == field).map_or(&Type::Error, |(_, t)| t);
                    parts.push(self.add_value_params(passed, field_shape, ty, field)?);
                }
                let names = fields.iter().map(|(n, _)| n.clone()).collect();
                Ok(SymbolicValue::Tuple(parts, TupleLabels::Fields(names)))
            }
            _ => Err(self.no_core_form(NoCoreFormReason::FunctionValue, span)),
        }
    }
}

/// Solves the sizes in `declared`, which are locals, by matching its parameter types with those of
/// `wanted`.
fn solve_sizes(wanted: &FunType, declared: &FunType) -> SolvedSizes {
    let mut solved = SolvedSizes::new();
    let mut open: Vec<(&Type, &Type)> =
        wanted.params.iter().zip(&declared.params).map(|((_, wanted), (_, declared))| (wanted, declared)).collect();
    open.reverse();
    while let Some((wanted, declared)) = open.pop() {
        match (wanted, declared) {
            (Type::Array(n, wanted), Type::Array(m, declared)) => {
                if let Some(Atom::Local(l, _)) = m.as_atom()
                    && !mentions_argument(n)
                {
                    solved.entry(*l).or_insert_with(|| n.clone());
                }
                open.push((wanted, declared));
            }
            (Type::Tuple(wanted), Type::Tuple(declared)) => open.extend(wanted.iter().zip(declared.iter()).rev()),
            (Type::Record(wanted), Type::Record(declared)) => {
                let of = |name: &Name| wanted.iter().find(|(n, _)| n == name).map(|(_, t)| t);
                open.extend(declared.iter().rev().filter_map(|(name, t)| Some((of(name)?, t))));
            }
            _ => {}
        }
    }
    solved
}

fn mentions_argument(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Arg(..)));
    found
}

/// Returns the values of integer arguments, which may determine sizes.
pub(super) fn integer_arguments(args: &[SymbolicValue]) -> Vec<Option<Poly>> {
    let integer =
        |sym: &SymbolicValue| if let SymbolicValue::Int { poly, .. } = sym { Some(poly.clone()) } else { None };
    args.iter().map(integer).collect()
}
