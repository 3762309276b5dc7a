//! The derivative operators: calls of derived functions. What is differentiated is a definition, or a function
//! made here of a lambda or of what is inlined, with what it captures as its first parameters
//! ([`super::close`]). A derived function takes and gives tensors, part by part ([`Derivation`]); tangents and
//! cotangents are taken apart and put together here as their types say.

use std::rc::Rc;
use std::sync::Arc;

use super::jacobian::Blocks;
use super::{Closure, Elaborator, Frame, Out, Sym, holds_function};
use crate::base::{Name, Span};
use crate::ir::core::{Callee, Constant, CoreType, Derivation, E, Expr, Kind, Leaf, Reason};
use crate::predicate::{LocalId, Poly};
use crate::resolve::forms::Derivative;
use crate::syntax::ops::Scalar;
use crate::types::tree::{self, TId};
use crate::types::ty::{FunType, Type};

/// A function to be differentiated, at a point.
pub(super) struct Target {
    pub(super) callee: Arc<Callee>,
    pub(super) sizes: Vec<Poly>,
    /// The arguments, what is captured first.
    pub(super) args: Vec<E>,
    /// The parts by which it is differentiated: which input each is, and its extents.
    pub(super) by: Vec<(u32, Leaf)>,
    /// What it gives.
    pub(super) result: CoreType,
    /// The parts of the result.
    pub(super) outputs: Vec<Leaf>,
}

/// What is differentiated by: the core type of each argument; none for one that has no real parts.
pub(super) type Varying = Vec<Option<CoreType>>;

impl Elaborator<'_> {
    /// `op(f)(args)`, where `inner` is `f`.
    pub(super) fn derivative(
        &mut self,
        f: &mut Frame,
        operator: Derivative,
        wrt: Option<&[u32]>,
        inner: TId,
        mut args: Vec<Sym>,
        span: Span,
    ) -> Out<Sym> {
        use Derivative::{Grad, Hessian, Hvp, Jacobian, Jvp, Jvp2, ValueAndGrad, Vjp, Vjp2};
        let Type::Fun(ty) = f.code.body.nodes[inner].ty.clone() else {
            return Err(self.outside(Reason::Errors, span));
        };
        let Sym::Fun(closure) = self.expr(f, inner)? else { return Err(self.outside(Reason::FunctionValue, span)) };
        let pair = matches!(operator, Jvp | Jvp2 | Vjp | Vjp2 | Hvp);
        let beside = if pair { args.pop() } else { None };
        if pair && ty.params.len() != 1 {
            let point = args.pop().ok_or_else(|| self.outside(Reason::Errors, span))?;
            args = (0..ty.params.len()).map(|k| self.component(&point, k)).collect::<Out<_>>()?;
        }
        let wrt: Vec<usize> = match wrt {
            Some(wrt) => wrt.iter().map(|k| *k as usize).collect(),
            None => (0..ty.params.len()).collect(),
        };
        self.mirrored(f, &ty.result, span)?;
        let (target, varying) = self.target(f, &closure, &ty, args, &wrt, span)?;
        let result = target.result.clone();
        let bare = wrt.len() == 1;
        let beside = beside.map(|b| self.data(&b, span)).transpose()?;
        match (operator, beside) {
            (Grad | ValueAndGrad, _) => {
                let (values, gradients) = self.adjoint(&target, vec![self.one(&target)], span);
                let gradient = self.mirror(&varying, bare, gradients, span);
                if operator == Grad {
                    return Ok(gradient);
                }
                let value = self.assembled(&result, &mut values.into_iter(), false, span);
                Ok(Sym::Tuple(vec![self.known(value), gradient], None))
            }
            (Jvp | Jvp2, Some(tangent)) => {
                let tangents = self.parts_of(&tangent, &varying, bare);
                let (values, tangents) = self.forward(&target, tangents, span);
                let tangent = self.assembled(&result, &mut tangents.into_iter(), true, span);
                if operator == Jvp {
                    return Ok(self.known(tangent));
                }
                let value = self.assembled(&result, &mut values.into_iter(), false, span);
                Ok(Sym::Tuple(vec![self.known(value), self.known(tangent)], None))
            }
            (Vjp | Vjp2, Some(cotangent)) => {
                let real = result.leaves().into_iter().filter(is_real);
                let cotangents = real.map(|leaf| self.part_at(&cotangent, &leaf.path)).collect();
                let (values, cotangents) = self.adjoint(&target, cotangents, span);
                let cotangent = self.mirror(&varying, bare, cotangents, span);
                if operator == Vjp {
                    return Ok(cotangent);
                }
                let value = self.assembled(&result, &mut values.into_iter(), false, span);
                Ok(Sym::Tuple(vec![self.known(value), cotangent], None))
            }
            (Jacobian, _) => Ok(self.jacobian(&target, 0, &Blocks::of(&result), &Blocks::by(&varying, bare), span)),
            (Hessian | Hvp, beside) => {
                let target = self.gradient_of(target);
                let by = Blocks::by(&varying, bare);
                match beside {
                    // The first part is the value.
                    None => Ok(self.jacobian(&target, 1, &by.after(1), &by, span)),
                    Some(tangent) => {
                        let tangents = self.parts_of(&tangent, &varying, bare);
                        let (_, tangents) = self.forward(&target, tangents, span);
                        Ok(self.mirror(&varying, bare, tangents.into_iter().skip(1).collect(), span))
                    }
                }
            }
            _ => Err(self.outside(Reason::Errors, span)),
        }
    }

    /// `deriv(e, x)`: the Jacobian of `e` by the variable, everything else as it is here.
    pub(super) fn deriv(&mut self, f: &mut Frame, by: LocalId, e: TId, span: Span) -> Out<Sym> {
        let code = Rc::clone(&f.code);
        let (of, local) = (&code.body.nodes[e].ty, code.body.locals.get(by.0 as usize));
        let local = local.ok_or_else(|| self.outside(Reason::Errors, span))?;
        self.mirrored(f, of, span)?;
        let x = f.env.get(&by).cloned().ok_or_else(|| self.outside(Reason::DataRange, span))?;
        let varying = vec![self.varying(f, &local.ty, &x, span)?];
        let args: Vec<(Name, E)> = match varying.as_slice() {
            [Some(_)] => vec![(local.name.clone(), self.data(&x, span)?)],
            _ => Vec::new(),
        };
        let env = f.env.clone();
        let target = self.close(args, span, |this, given| {
            let mut frame = Frame { code, env };
            for x in given {
                frame.env.insert(by, x);
            }
            this.expr(&mut frame, e)
        })?;
        Ok(self.jacobian(&target, 0, &Blocks::of(&target.result), &Blocks::by(&varying, true), span))
    }

    /// The tangents of the values of a sum type are not parts of one type.
    fn mirrored(&self, f: &Frame, ty: &Type, span: Span) -> Out<()> {
        if holds_data(f, ty) { Err(self.outside(Reason::Derivative, span)) } else { Ok(()) }
    }

    /// The core type of what varies.
    fn varying(&mut self, f: &Frame, ty: &Type, value: &Sym, span: Span) -> Out<Option<CoreType>> {
        if holds_function(value) || matches!(value, Sym::Int { .. } | Sym::Bool(_)) {
            return Ok(None);
        }
        self.mirrored(f, ty, span)?;
        let ty = self.data(value, span)?.ty.clone();
        Ok(ty.leaves().iter().any(is_real).then_some(ty))
    }

    /// The function that is differentiated, at these arguments, by those at these positions.
    fn target(
        &mut self,
        f: &Frame,
        closure: &Rc<Closure>,
        ty: &FunType,
        args: Vec<Sym>,
        wrt: &[usize],
        span: Span,
    ) -> Out<(Target, Varying)> {
        let mut named = Vec::new();
        for (arg, (name, _)) in args.into_iter().zip(&ty.params) {
            named.push(self.named(arg, name.as_deref().unwrap_or("x")));
        }
        let args = named;
        let mut varying = Vec::new();
        for k in wrt {
            let (Some(arg), Some((_, ty))) = (args.get(*k), ty.params.get(*k)) else {
                return Err(self.outside(Reason::Errors, span));
            };
            varying.push(self.varying(f, ty, arg, span)?);
        }
        if let Some(target) = self.definition(closure, &args, wrt, &varying, span)? {
            return Ok((target, varying));
        }
        let chosen: Vec<usize> = wrt.iter().zip(&varying).filter(|(_, v)| v.is_some()).map(|(k, _)| *k).collect();
        let mut params = Vec::new();
        for k in &chosen {
            let (Some(arg), Some((name, _))) = (args.get(*k), ty.params.get(*k)) else { continue };
            let name = name.clone().unwrap_or_else(|| "x".into());
            params.push((name, self.data(arg, span)?));
        }
        let types: Vec<Type> = ty.params.iter().map(|(_, t)| t.clone()).collect();
        let (closure, result) = (Rc::clone(closure), ty.result.clone());
        let target = self.close(params, span, |this, given| {
            let mut args = args;
            for (k, value) in chosen.iter().zip(given) {
                if let Some(slot) = args.get_mut(*k) {
                    *slot = value;
                }
            }
            this.apply_closure(&closure, args, &types, &result, span)
        })?;
        Ok((target, varying))
    }

    /// A definition that takes and gives data is differentiated itself, once for all its calls.
    fn definition(
        &mut self,
        closure: &Closure,
        args: &[Sym],
        wrt: &[usize],
        varying: &Varying,
        span: Span,
    ) -> Out<Option<Target>> {
        let Closure::Named { scope, env, node } = closure else { return Ok(None) };
        let node = scope.body.nodes[*node].clone();
        let (tree::Expr::DefValue(name, instance), Type::Fun(of)) = (&node.kind, &node.ty) else { return Ok(None) };
        let f = Frame { code: Rc::clone(scope), env: env.clone() };
        let (types, sizes) = self.instance(&f, instance, span)?;
        if !super::call::is_data(args, &types, &of.result) {
            return Ok(None);
        }
        let (callee, sizes) = super::call::callee(name, &types, sizes);
        let result = self.core_type(&f, &of.result, span)?;
        let args = args.iter().map(|a| self.data(a, span)).collect::<Out<Vec<E>>>()?;
        let mut first = 0;
        let mut by = vec![Vec::new(); args.len()];
        for (arg, slot) in args.iter().zip(&mut by) {
            let leaves = (first..).zip(arg.ty.leaves());
            slot.extend(leaves.filter(|(_, leaf)| is_real(leaf)));
            first += u32::try_from(arg.ty.leaves().len()).unwrap_or(u32::MAX);
        }
        let chosen = wrt.iter().zip(varying).filter(|(_, v)| v.is_some());
        let by = chosen.filter_map(|(k, _)| by.get(*k)).flatten().cloned().collect();
        Ok(Some(Target { callee, sizes, args, by, outputs: result.leaves(), result }))
    }

    /// The gradient of a function as a function to be differentiated: its parts come after the value.
    fn gradient_of(&self, target: Target) -> Target {
        let one = self.one(&target);
        let callee = target.callee.derive(Derivation::Adjoint { of: Arc::from([0]), wrt: inputs(&target) });
        let outputs = target.outputs.iter().chain(target.by.iter().map(|(_, leaf)| leaf)).cloned().collect();
        let args = target.args.into_iter().chain([one]).collect();
        Target { callee: Arc::new(callee), args, outputs, ..target }
    }

    // ---- calls of derived functions ----

    /// The parts of the value, and the tangents of those that are real.
    fn forward(&mut self, target: &Target, tangents: Vec<E>, span: Span) -> (Vec<E>, Vec<E>) {
        let real = target.outputs.iter().filter(|leaf| is_real(leaf)).cloned().collect();
        self.derived(target, Derivation::Forward(inputs(target)), tangents, real, span)
    }

    /// The parts of the value, and the cotangents of what it is differentiated by.
    fn adjoint(&mut self, target: &Target, cotangents: Vec<E>, span: Span) -> (Vec<E>, Vec<E>) {
        let by = target.by.iter().map(|(_, leaf)| leaf.clone()).collect();
        let of = (0..).zip(&target.outputs).filter(|(_, leaf)| is_real(leaf)).map(|(k, _)| k).collect();
        self.derived(target, Derivation::Adjoint { of, wrt: inputs(target) }, cotangents, by, span)
    }

    fn derived(
        &mut self,
        target: &Target,
        derivation: Derivation,
        beside: Vec<E>,
        more: Vec<Leaf>,
        span: Span,
    ) -> (Vec<E>, Vec<E>) {
        let callee = Arc::new(target.callee.derive(derivation));
        let parts: Vec<CoreType> = target.outputs.iter().chain(&more).map(Leaf::ty).collect();
        let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let args = target.args.iter().cloned().chain(beside).collect();
        let call = Kind::Call(callee, target.sizes.clone(), args);
        let call = Expr::new(call, CoreType::Tuple(parts.into(), None), span);
        let call = self.bind("d", call);
        let mut values: Vec<E> = (0..count).map(|k| Expr::proj(&call, k)).collect();
        let more = values.split_off(target.outputs.len().min(values.len()));
        (values, more)
    }

    /// The cotangent of a real result that is asked for its gradient.
    fn one(&self, target: &Target) -> E {
        let scalar = target.outputs.first().and_then(|leaf| leaf.scalar).unwrap_or(Scalar::F64);
        Expr::new(Kind::Constant(Constant::Real(1.0)), CoreType::Scalar(scalar), Span::default())
    }

    // ---- values and their parts ----

    /// The real parts of tangents of what varies.
    fn parts_of(&mut self, value: &E, varying: &Varying, bare: bool) -> Vec<E> {
        let mut parts = Vec::new();
        for (k, ty) in (0..).zip(varying) {
            let Some(ty) = ty else { continue };
            let of = if bare { value.clone() } else { Expr::proj(value, k) };
            for leaf in ty.leaves().iter().filter(|leaf| is_real(leaf)) {
                parts.push(self.part_at(&of, &leaf.path));
            }
        }
        parts
    }

    /// The part of a value at a path through its tuples, as an array.
    pub(super) fn part_at(&mut self, e: &E, path: &[u32]) -> E {
        match (&e.ty, path.split_first()) {
            (_, None) => e.clone(),
            (CoreType::Tensor(n, _), Some(_)) => {
                let index = self.vars.index("i", n.clone());
                let element = Expr::access(e, index.value());
                let part = self.part_at(&element, path);
                Expr::generate(index, part)
            }
            (_, Some((k, rest))) => self.part_at(&Expr::proj(e, *k), rest),
        }
    }

    /// Tangents of what varies, of their parts; bare if it is one argument.
    fn mirror(&mut self, varying: &Varying, bare: bool, parts: Vec<E>, span: Span) -> Sym {
        let mut parts = parts.into_iter();
        let mut items = Vec::new();
        for ty in varying {
            let e = match ty {
                Some(ty) => self.assembled(ty, &mut parts, true, span),
                None => unit(span),
            };
            items.push(self.known(e));
        }
        match (bare, items.pop()) {
            (true, Some(one)) => one,
            (_, last) => Sym::Tuple(items.into_iter().chain(last).collect(), None),
        }
    }

    /// A value of its parts; of a tangent only the real ones are there, and the others are `()`.
    fn assembled(&mut self, ty: &CoreType, parts: &mut dyn Iterator<Item = E>, tangent: bool, span: Span) -> E {
        self.assembled_at(ty, parts, tangent, &mut Vec::new(), span)
    }

    fn assembled_at(
        &mut self,
        ty: &CoreType,
        parts: &mut dyn Iterator<Item = E>,
        tangent: bool,
        at: &mut Vec<Poly>,
        span: Span,
    ) -> E {
        match ty {
            CoreType::Tuple(types, names) => {
                let items: Vec<E> = types.iter().map(|t| self.assembled_at(t, parts, tangent, at, span)).collect();
                let ty = CoreType::Tuple(items.iter().map(|e| e.ty.clone()).collect(), names.clone());
                Expr::new(Kind::Tuple(items), ty, span)
            }
            CoreType::Tensor(n, inner) if matches!(ty.peel().1, CoreType::Tuple(..)) => {
                let index = self.vars.index("i", n.clone());
                at.push(index.value());
                let e = self.assembled_at(inner, parts, tangent, at, span);
                at.pop();
                // An array of `()` is `()`.
                if e.ty == unit(span).ty && tangent { e } else { Expr::generate(index, e) }
            }
            CoreType::Scalar(_) | CoreType::Tensor(..) | CoreType::Rel(_) => {
                let real = ty.leaves().iter().any(is_real);
                if tangent && !real {
                    return unit(span);
                }
                let part = parts.next().unwrap_or_else(|| unit(span));
                at.iter().fold(part, |e, i| Expr::access(&e, i.clone()))
            }
        }
    }
}

pub(super) fn tuple(items: Vec<E>, names: Option<Arc<[Name]>>, span: Span) -> E {
    let ty = CoreType::Tuple(items.iter().map(|e| e.ty.clone()).collect(), names);
    Expr::new(Kind::Tuple(items), ty, span)
}

/// `()`
pub(super) fn unit(span: Span) -> E {
    tuple(Vec::new(), None, span)
}

/// The inputs by which it is differentiated.
pub(super) fn inputs(target: &Target) -> Arc<[u32]> {
    target.by.iter().map(|(k, _)| *k).collect()
}

pub(super) fn is_real(leaf: &Leaf) -> bool {
    matches!(leaf.scalar, Some(Scalar::F64 | Scalar::F32))
}

/// Is a value of a sum type in it?
fn holds_data(f: &Frame, ty: &Type) -> bool {
    match ty {
        Type::Data(..) => true,
        // What a type parameter is mentions none.
        Type::Param(k, _) => f.code.types.get(*k as usize).is_some_and(|t| holds_data(f, t)),
        Type::Array(_, t) => holds_data(f, t),
        Type::Tuple(items) => items.iter().any(|t| holds_data(f, t)),
        Type::Record(fields) => fields.iter().any(|(_, t)| holds_data(f, t)),
        _ => false,
    }
}
