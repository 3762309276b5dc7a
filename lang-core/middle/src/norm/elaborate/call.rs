//! **Calls and constructors.** A definition that takes and returns only data is called. A
//! definition with function arguments, and a lambda, is inlined at the call. So no function value
//! is left for the run.

use std::rc::Rc;
use std::sync::Arc;

use super::relation::makes_relations;
use super::{Closure, Elaborator, Env, Frame, Item, Out, Sym, holds_function};
use lang_base::{GlobalName, Span};
use lang_ir::core::{Callee, CoreType, E, Expr, Kind, Labels, Operation, Reason, SumType};
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ops::Scalar;
use lang_types::info::TypeInfoBody;
use lang_types::tree::{self, Instance, Lambda, Special, TId};
use lang_types::ty::{Type, TypeArg};

impl Elaborator<'_> {
    pub(super) fn call(&mut self, f: &mut Frame, id: TId, callee: &tree::Callee, args: &[TId]) -> Out<Sym> {
        let body = Arc::clone(&f.code.body);
        let span = self.span(f, id);
        let function = match callee {
            tree::Callee::Value(e) => Some(self.expr(f, *e)?),
            _ => None,
        };
        let types: Vec<Type> = args.iter().map(|a| body.nodes[*a].ty.clone()).collect();
        let args = args.iter().map(|a| self.expr(f, *a)).collect::<Out<Vec<Sym>>>()?;
        let ty = &body.nodes[id].ty;
        match (callee, function) {
            (tree::Callee::Def(name, instance), _) => self.call_def(f, name, instance, args, ty, span),
            (tree::Callee::Builtin(builtin, _), _) => self.builtin(*builtin, &args, &types, span),
            (tree::Callee::Ctor(_, k), _) => self.construct(f, ty, *k, args, span),
            (tree::Callee::Value(_), Some(Sym::Fun(closure))) => self.apply_closure(&closure, args, &types, ty, span),
            (tree::Callee::Value(_), _) => Err(self.outside(Reason::FunctionValue, span)),
        }
    }

    fn call_def(
        &mut self,
        f: &Frame,
        name: &GlobalName,
        instance: &Instance,
        args: Vec<Sym>,
        ty: &Type,
        span: Span,
    ) -> Out<Sym> {
        let (types, sizes) = self.instance(f, instance, span)?;
        let params: Vec<Type> = match self.bodies.signature(name) {
            Some(signature) => signature.params.iter().map(|(_, ty)| ty.clone()).collect(),
            None => Vec::new(),
        };
        if !is_data(&args, &types, ty) || makes_relations(&args, &params, ty) {
            return self.inline(name, types, &sizes, args, span);
        }
        match self.core_type(f, ty, span) {
            Ok(ty) => self.call_at(name, &types, sizes, &args, ty, span),
            // If the definition computes its extents, inlining makes them known.
            Err(outside) if outside.what == Reason::DataRange => self.inline(name, types, &sizes, args, span),
            Err(outside) => Err(outside),
        }
    }

    /// Calls a definition that takes and returns data.
    fn call_at(
        &mut self,
        name: &GlobalName,
        types: &[Type],
        sizes: Vec<Poly>,
        args: &[Sym],
        ty: CoreType,
        span: Span,
    ) -> Out<Sym> {
        let args = args.iter().map(|a| self.data(a, span)).collect::<Out<Vec<E>>>()?;
        let (callee, sizes) = callee(name, types, sizes);
        Ok(self.known(Expr::new(Kind::Call(callee, sizes, args), ty, span)))
    }

    /// Returns the type arguments and sizes of an instance.
    pub(super) fn instance(&mut self, f: &Frame, of: &Instance, span: Span) -> Out<(Vec<Type>, Vec<Poly>)> {
        let types = of.types.iter().map(|t| self.concrete(f, t, span)).collect::<Out<_>>()?;
        Ok((types, of.sizes.iter().map(|p| self.poly(f, p, span)).collect::<Out<_>>()?))
    }

    /// Inlines a definition. If it has a derivative rule, calls a local function instead.
    fn inline(&mut self, name: &GlobalName, types: Vec<Type>, sizes: &[Poly], args: Vec<Sym>, span: Span) -> Out<Sym> {
        if self.bodies.has_rule(name) {
            let real = |t: &Type| matches!(t, Type::Scalar(Scalar::F64 | Scalar::F32));
            let gives_function = self.bodies.signature(name).is_some_and(|s| s.result.has_function());
            if !args.iter().any(holds_function) {
                // The derivative would be that of its body.
                return Err(self.outside(Reason::Derivative, span));
            }
            // A rule has no tangent for a function in the result. At types that are not real, its
            // own types would mean something else.
            if types.iter().all(real) && !gives_function {
                return self.call_ruled(name, types, sizes, args, span);
            }
        }
        self.body_of(name, types, sizes, args, span)
    }

    /// Calls a function that is known here.
    pub(super) fn apply_closure(
        &mut self,
        closure: &Closure,
        args: Vec<Sym>,
        types: &[Type],
        ty: &Type,
        span: Span,
    ) -> Out<Sym> {
        match closure {
            Closure::Lambda { scope, env, lambda } => self.apply_lambda(scope, env, lambda, args, types, span),
            Closure::Definition { name, types, sizes, result } => {
                let result = result.with_arguments(&super::applied::integers(&args));
                if !is_data(&args, types, &result) {
                    return self.inline(name, types.clone(), sizes, args, span);
                }
                let ty = self.core_of(&result, &mut Vec::new(), span)?;
                self.call_at(name, types, sizes.clone(), &args, ty, span)
            }
            Closure::Builtin(builtin) => self.builtin(*builtin, &args, types, span),
            Closure::Scalar(function) => {
                let first = args.first().map(|a| self.data(a, span)).transpose()?;
                let of = first.and_then(|e| e.ty.peel().1.scalar());
                let of = of.ok_or_else(|| self.outside(Reason::Errors, span))?;
                self.apply(Operation::Scalar(*function), args, of, span)
            }
            Closure::Constructor(ty, k) => self.construct_of(ty, *k, args, span),
            Closure::Tangent { of, along } => self.tangent_at(of, along, args, types, ty, span),
            Closure::Operator { operator, wrt, of } => self.derivative_of(of, *operator, wrt.to_vec(), args, span),
            Closure::Named { scope, env, node } => {
                let node = scope.body.nodes[*node].clone();
                let mut f = Frame { code: Rc::clone(scope), env: env.clone() };
                match &node.kind {
                    // The result type is written in the sizes of the place that names the function.
                    tree::Expr::DefValue(name, instance) => {
                        let ty = if let Type::Fun(of) = &node.ty { of.result.clone() } else { ty.clone() };
                        self.call_def(&f, name, instance, args, &ty, span)
                    }
                    tree::Expr::BuiltinValue(builtin, _) => self.builtin(*builtin, &args, types, span),
                    tree::Expr::ScalarValue(function) => {
                        let Type::Fun(of) = &node.ty else { return Err(self.outside(Reason::Errors, span)) };
                        let of = self.scalar_of(&f, &of.result, span)?;
                        self.apply(Operation::Scalar(*function), args, of, span)
                    }
                    tree::Expr::CtorValue(_, k) => {
                        let Type::Fun(of) = &node.ty else { return Err(self.outside(Reason::Errors, span)) };
                        self.construct(&f, &of.result, *k, args, span)
                    }
                    tree::Expr::Special(Special::Derive(operator, wrt), inner) => match inner.as_slice() {
                        [inner] => self.derivative(&mut f, *operator, wrt.as_deref(), *inner, args, span),
                        _ => Err(self.outside(Reason::Errors, span)),
                    },
                    _ => Err(self.outside(Reason::Errors, span)),
                }
            }
        }
    }

    fn apply_lambda(
        &mut self,
        scope: &Rc<Item>,
        env: &Env,
        lambda: &Lambda,
        args: Vec<Sym>,
        types: &[Type],
        span: Span,
    ) -> Out<Sym> {
        self.spend(span)?;
        let mut frame = Frame { code: Rc::clone(scope), env: env.clone() };
        for (k, (pat, arg)) in lambda.params.iter().zip(args).enumerate() {
            let ty = types.get(k).cloned().unwrap_or(Type::Error);
            self.pattern(&mut frame, pat, &arg, &ty, span)?;
        }
        lang_base::guarded(|| self.expr(&mut frame, lambda.body))
    }

    // ---- sum types ----

    /// Returns the argument types of a constructor, at a sum type.
    pub(super) fn constructor(&self, ty: &Type, k: u32, span: Span) -> Out<Vec<Type>> {
        let Type::Data(name, args) = ty else { return Err(self.outside(Reason::Errors, span)) };
        let info = self.bodies.type_info(name).ok_or_else(|| self.outside(Reason::Errors, span))?;
        let TypeInfoBody::Sum(ctors) = &info.body else { return Err(self.outside(Reason::Errors, span)) };
        let ctor = ctors.get(k as usize).ok_or_else(|| self.outside(Reason::Errors, span))?;
        Ok(ctor.args.iter().map(|t| put_arguments(t, args)).collect())
    }

    /// Returns the core type of a sum type: the constructor's number, then the arguments of each
    /// constructor. Those of the other constructors are zeros. Fails if the type is recursive.
    pub(super) fn sum_type(&self, ty: &Type, inside: &mut Vec<GlobalName>, span: Span) -> Out<CoreType> {
        let Type::Data(name, args) = ty else { return Err(self.outside(Reason::Errors, span)) };
        if inside.contains(name) {
            return Err(self.outside(Reason::RecursiveType, span));
        }
        let info = self.bodies.type_info(name).ok_or_else(|| self.outside(Reason::Errors, span))?;
        let TypeInfoBody::Sum(ctors) = &info.body else { return Err(self.outside(Reason::Errors, span)) };
        inside.push(name.clone());
        let mut parts = vec![CoreType::Scalar(Scalar::I64)];
        for ctor in ctors {
            let types = ctor.args.iter().map(|t| self.core_of(&put_arguments(t, args), inside, span));
            parts.push(CoreType::tuple(types.collect::<Out<Vec<_>>>()?));
        }
        inside.pop();
        let constructors = ctors.iter().map(|c| c.name.clone()).collect();
        Ok(CoreType::Tuple(parts.into(), Labels::Sum(Arc::new(SumType { name: name.clone(), constructors }))))
    }

    /// Elaborates a value of a sum type.
    pub(super) fn construct(&mut self, f: &Frame, ty: &Type, k: u32, args: Vec<Sym>, span: Span) -> Out<Sym> {
        let ty = self.concrete(f, ty, span)?;
        self.construct_of(&ty, k, args, span)
    }

    fn construct_of(&mut self, ty: &Type, k: u32, args: Vec<Sym>, span: Span) -> Out<Sym> {
        let CoreType::Tuple(parts, labels) = self.core_of(ty, &mut Vec::new(), span)? else {
            return Err(self.outside(Reason::Errors, span));
        };
        let mut args = Some(args);
        let mut items = vec![Sym::Int { poly: Poly::constant(k.into()), exact: true }];
        for (j, part) in (0..).zip(parts.iter().skip(1)) {
            items.push(match args.take_if(|_| j == k) {
                Some(args) => Sym::Tuple(args, Labels::Places),
                None => Sym::Data(self.zero(part, span)),
            });
        }
        Ok(Sym::Tuple(items, labels))
    }
}

/// Substitutes the arguments of a sum type in the type of a constructor's argument.
fn put_arguments(ty: &Type, args: &[TypeArg]) -> Type {
    ty.substitute(
        &|k| match args.get(k as usize) {
            Some(TypeArg::Type(t)) => Some(t.clone()),
            _ => None,
        },
        &|k| match args.get(k as usize) {
            Some(TypeArg::Size(p)) => Some(p.clone()),
            _ => None,
        },
    )
}

/// Whether the call passes and returns only data, and no argument determines the result's shape.
/// Such a definition is called.
pub(super) fn is_data(args: &[Sym], types: &[Type], result: &Type) -> bool {
    !args.iter().any(holds_function)
        && !types.iter().any(Type::has_function)
        && !result.has_function()
        && result.arguments().is_empty()
}

/// Returns the callee for a definition at types, and the sizes of the call.
pub(super) fn callee(name: &GlobalName, types: &[Type], sizes: Vec<Poly>) -> (Arc<Callee>, Vec<Poly>) {
    let (types, extra) = abstracted(types);
    (Arc::new(Callee::new(name.clone(), types)), sizes.into_iter().chain(extra).collect())
}

/// Replaces each extent in the types by a parameter. Returns the types and these extents.
fn abstracted(types: &[Type]) -> (Vec<Type>, Vec<Poly>) {
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
        Poly::atom(Atom::Bound(Callee::FIRST_EXTRA + k, format!("s{k}").into()))
    };
    let types = types.iter().map(|t| t.map_sizes(&parameter)).collect();
    (types, extents)
}
