//! **Derivative operators.** Elaborates `grad`, `jvp`, `vjp`, `hvp`, `jacobian`, `hessian` and
//! `deriv` to calls of derived functions. The differentiated function is a definition, or a local
//! function built from a lambda or an inlined body, with its captures as first parameters
//! ([`super::close`]).
//!
//! A derived function takes and returns tensors, part by part ([`Derivation`]). This module
//! flattens tangents and cotangents into parts and reassembles them as their types prescribe.

use std::rc::Rc;
use std::sync::Arc;

use super::jacobian::Blocks;
use super::{Closure, Elaborator, Frame, Out, Sym, holds_function};
use lang_base::{Name, Span};
use lang_ir::core::{Callee, Constant, CoreType, Derivation, E, Expr, Failing, Kind, Labels, Leaf, Reason};
use lang_resolve::forms::Derivative;
use lang_sizes::predicate::{LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::{self, TId};
use lang_types::ty::{FunType, Type};

/// A function to differentiate, at a point.
pub(super) struct Target {
    pub(super) callee: Arc<Callee>,
    pub(super) sizes: Vec<Poly>,
    /// The arguments, captures first.
    pub(super) args: Vec<E>,
    /// The parts by which the function is differentiated: the number and the leaf of each input.
    pub(super) by: Vec<(u32, Leaf)>,
    /// The type of the result.
    pub(super) result: CoreType,
    /// The parts of the result.
    pub(super) outputs: Vec<Leaf>,
}

/// A function to differentiate. Its parameter types are over the variables of the function under
/// construction.
pub(super) struct Operand {
    pub(super) closure: Rc<Closure>,
    pub(super) ty: FunType,
    /// The failure if a tangent does not fit its value.
    pub(super) disagreeing: Arc<Failing>,
}

/// The values of the arguments by which a function is differentiated. `None` for a function, an
/// integer or a truth value.
pub(super) type Varying = Vec<Option<E>>;

impl Elaborator<'_> {
    /// Elaborates `op(f)(args)`, where `inner` is `f`.
    pub(super) fn derivative(
        &mut self,
        f: &mut Frame,
        operator: Derivative,
        wrt: Option<&[u32]>,
        inner: TId,
        args: Vec<Sym>,
        span: Span,
    ) -> Out<Sym> {
        let Type::Fun(ty) = f.code.body.nodes[inner].ty.clone() else {
            return Err(self.outside(Reason::Errors, span));
        };
        let Sym::Fun(closure) = self.expr(f, inner)? else { return Err(self.outside(Reason::FunctionValue, span)) };
        let wrt: Vec<usize> = match wrt {
            Some(wrt) => wrt.iter().map(|k| *k as usize).collect(),
            None => (0..ty.params.len()).collect(),
        };
        let of = Operand { closure, ty: (*ty).clone(), disagreeing: self.disagreeing(f, inner) };
        self.derivative_of(&of, operator, wrt, args, span)
    }

    /// Applies an operator to a function that is known here.
    pub(super) fn derivative_of(
        &mut self,
        of: &Operand,
        operator: Derivative,
        wrt: Vec<usize>,
        mut args: Vec<Sym>,
        span: Span,
    ) -> Out<Sym> {
        use Derivative::{Grad, Hessian, Hvp, Jacobian, Jvp, Jvp2, ValueAndGrad, Vjp, Vjp2};
        let Operand { closure, ty, disagreeing } = of;
        let pair = matches!(operator, Jvp | Jvp2 | Vjp | Vjp2 | Hvp);
        let beside = if pair { args.pop() } else { None };
        if pair && ty.params.len() != 1 {
            let point = args.pop().ok_or_else(|| self.outside(Reason::Errors, span))?;
            args = (0..ty.params.len()).map(|k| self.component(&point, k)).collect::<Out<_>>()?;
        }
        let (target, varying) = self.target(closure, ty, args, &wrt, span)?;
        let result = target.result.clone();
        let bare = wrt.len() == 1;
        let beside = beside.map(|b| self.named(b, "v"));
        let beside = beside.map(|b| self.data(&b, span)).transpose()?;
        match (operator, beside) {
            (Grad | ValueAndGrad, _) => {
                let (values, gradients) = self.adjoint(&target, vec![self.one(&target)], span);
                let gradient = self.mirror(&varying, bare, gradients, span);
                if operator == Grad {
                    return Ok(gradient);
                }
                let value = self.assembled(&result, &mut values.into_iter(), span);
                Ok(Sym::Tuple(vec![self.known(value), gradient], Labels::Places))
            }
            (Jvp | Jvp2, Some(tangent)) => {
                let agrees = self.agree(&tangent, &varying, bare);
                let tangents = self.parts_of(&tangent, &varying, bare);
                let (values, tangents) = self.forward(&target, tangents, span);
                let value = self.assembled(&result, &mut values.into_iter(), span);
                let value = self.bind("y", value);
                let tangent = self.tangent(&value, &mut tangents.into_iter(), span);
                let tangent = self.agreeing(&agrees, disagreeing, tangent);
                if operator == Jvp {
                    return Ok(self.known(tangent));
                }
                Ok(Sym::Tuple(vec![self.known(value), self.known(tangent)], Labels::Places))
            }
            (Vjp | Vjp2, Some(cotangent)) => {
                let real = result.leaves().into_iter().filter(is_real);
                let cotangents = real.map(|leaf| self.part_at(&cotangent, &leaf.path)).collect();
                let (values, cotangents) = self.adjoint(&target, cotangents, span);
                let value = self.assembled(&result, &mut values.into_iter(), span);
                let value = self.bind("y", value);
                let agrees = self.agrees(&value, &cotangent);
                let cotangents = self.agreeing_parts(&agrees, disagreeing, &varying, cotangents);
                let cotangent = self.mirror(&varying, bare, cotangents, span);
                if operator == Vjp {
                    return Ok(cotangent);
                }
                Ok(Sym::Tuple(vec![self.known(value), cotangent], Labels::Places))
            }
            (Jacobian, _) => Ok(self.jacobian(&target, 0, &Blocks::of(&result), &Blocks::by(&varying, bare), span)),
            (Hessian | Hvp, beside) => {
                let target = self.gradient_of(target);
                let by = Blocks::by(&varying, bare);
                match beside {
                    // The first part is the value.
                    None => Ok(self.jacobian(&target, 1, &by.of_gradient(1), &by, span)),
                    Some(tangent) => {
                        let agrees = self.agree(&tangent, &varying, bare);
                        let tangents = self.parts_of(&tangent, &varying, bare);
                        let (_, tangents) = self.forward(&target, tangents, span);
                        let tangents = tangents.into_iter().skip(1).map(|e| self.agreeing(&agrees, disagreeing, e));
                        let tangents = tangents.collect();
                        Ok(self.mirror(&varying, bare, tangents, span))
                    }
                }
            }
            _ => Err(self.outside(Reason::Errors, span)),
        }
    }

    /// Elaborates `deriv(e, x)`: the Jacobian of `e` by the variable, with everything else
    /// constant.
    pub(super) fn deriv(&mut self, f: &mut Frame, by: LocalId, e: TId, span: Span) -> Out<Sym> {
        let code = Rc::clone(&f.code);
        let local = code.body.locals.get(by.0 as usize);
        let local = local.ok_or_else(|| self.outside(Reason::Errors, span))?;
        let x = f.env.get(&by).cloned().ok_or_else(|| self.outside(Reason::DataRange, span))?;
        let varying = vec![self.varying(&x, span)?];
        let args: Vec<(Name, E)> = match varying.as_slice() {
            [Some(e)] if has_real(e) => vec![(local.name.clone(), e.clone())],
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

    /// Returns an argument as data to differentiate by, or `None` if it has no derivative.
    fn varying(&mut self, value: &Sym, span: Span) -> Out<Option<E>> {
        if holds_function(value) || matches!(value, Sym::Int { .. } | Sym::Bool(_)) {
            return Ok(None);
        }
        Ok(Some(self.data(value, span)?))
    }

    /// Returns the function to differentiate at these arguments, by those at the positions `wrt`.
    fn target(
        &mut self,
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
            let arg = args.get(*k).ok_or_else(|| self.outside(Reason::Errors, span))?;
            varying.push(self.varying(arg, span)?);
        }
        if let Some(target) = self.definition(closure, &args, wrt, &varying, span)? {
            return Ok((target, varying));
        }
        let chosen: Vec<usize> =
            wrt.iter().zip(&varying).filter(|(_, v)| v.as_ref().is_some_and(has_real)).map(|(k, _)| *k).collect();
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

    /// Differentiates a definition that takes and returns data directly, so that all its calls
    /// share one derivative.
    fn definition(
        &mut self,
        closure: &Closure,
        args: &[Sym],
        wrt: &[usize],
        varying: &Varying,
        span: Span,
    ) -> Out<Option<Target>> {
        let (name, types, sizes, result) = match closure {
            Closure::Named { scope, env, node } => {
                let node = scope.body.nodes[*node].clone();
                let (tree::Expr::DefValue(name, instance), Type::Fun(of)) = (&node.kind, &node.ty) else {
                    return Ok(None);
                };
                let f = Frame { code: Rc::clone(scope), env: env.clone() };
                let (types, sizes) = self.instance(&f, instance, span)?;
                if !super::call::is_data(args, &types, &of.result) {
                    return Ok(None);
                }
                (name.clone(), types, sizes, self.core_type(&f, &of.result, span)?)
            }
            Closure::Definition { name, types, sizes, result } => {
                let result = result.with_arguments(&super::applied::integers(args));
                if !super::call::is_data(args, types, &result) {
                    return Ok(None);
                }
                let result = self.core_of(&result, &mut Vec::new(), span)?;
                (name.clone(), types.clone(), sizes.clone(), result)
            }
            _ => return Ok(None),
        };
        let (callee, sizes) = super::call::callee(&name, &types, sizes);
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

    /// Returns the gradient of a function as a function to differentiate. The gradient's parts
    /// follow the value.
    fn gradient_of(&self, target: Target) -> Target {
        let one = self.one(&target);
        let callee = target.callee.derive(Derivation::Adjoint { of: Arc::from([0]), wrt: inputs(&target) });
        let outputs = target.outputs.iter().chain(target.by.iter().map(|(_, leaf)| leaf)).cloned().collect();
        let args = target.args.into_iter().chain([one]).collect();
        Target { callee: Arc::new(callee), args, outputs, ..target }
    }

    // ---- calls of derived functions ----

    /// Calls the forward derivative. Returns the parts of the value, and the tangents of the real
    /// parts.
    pub(super) fn forward(&mut self, target: &Target, tangents: Vec<E>, span: Span) -> (Vec<E>, Vec<E>) {
        let real = target.outputs.iter().filter(|leaf| is_real(leaf)).cloned().collect();
        self.derived(target, Derivation::Forward(inputs(target)), tangents, real, span)
    }

    /// Calls the adjoint. Returns the parts of the value, and the cotangents of the varying parts.
    pub(super) fn adjoint(&mut self, target: &Target, cotangents: Vec<E>, span: Span) -> (Vec<E>, Vec<E>) {
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
        let call = Expr::new(call, CoreType::tuple(parts), span);
        let call = self.bind("d", call);
        let mut values: Vec<E> = (0..count).map(|k| Expr::proj(&call, k)).collect();
        let more = values.split_off(target.outputs.len().min(values.len()));
        (values, more)
    }

    /// Returns the seed of a gradient: 1 in the type of the result.
    pub(super) fn one(&self, target: &Target) -> E {
        let scalar = target.outputs.first().and_then(|leaf| leaf.scalar).unwrap_or(Scalar::F64);
        Expr::new(Kind::Constant(Constant::Real(1.0)), CoreType::Scalar(scalar), Span::default())
    }

    // ---- values and their parts ----

    /// Returns the predicate that the tangents have the constructors of the varying values.
    fn agree(&mut self, tangent: &E, varying: &Varying, bare: bool) -> Pred {
        let mut all = Vec::new();
        for (k, like) in (0..).zip(varying) {
            let Some(like) = like else { continue };
            let of = if bare { tangent.clone() } else { Expr::proj(tangent, k) };
            all.push(self.agrees(like, &of));
        }
        Pred::all(all)
    }

    /// Returns the real parts of the tangents of the varying values.
    fn parts_of(&mut self, value: &E, varying: &Varying, bare: bool) -> Vec<E> {
        let mut parts = Vec::new();
        for (k, like) in (0..).zip(varying) {
            let Some(like) = like else { continue };
            let of = if bare { value.clone() } else { Expr::proj(value, k) };
            for leaf in like.ty.leaves().iter().filter(|leaf| is_real(leaf)) {
                parts.push(self.part_at(&of, &leaf.path));
            }
        }
        parts
    }

    /// Returns the part of a value at a path through its tuples, as an array.
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

    /// Assembles the tangents of the varying values from their parts. With `bare` the result is
    /// that of the only argument, not a tuple.
    fn mirror(&mut self, varying: &Varying, bare: bool, parts: Vec<E>, span: Span) -> Sym {
        let mut parts = parts.into_iter();
        let mut items = Vec::new();
        for like in varying {
            let e = match like {
                Some(like) => self.tangent(like, &mut parts, span),
                None => unit(span),
            };
            items.push(self.known(e));
        }
        match (bare, items.pop()) {
            (true, Some(one)) => one,
            (_, last) => Sym::Tuple(items.into_iter().chain(last).collect(), Labels::Places),
        }
    }

    /// Assembles a value from its parts.
    pub(super) fn assembled(&mut self, ty: &CoreType, parts: &mut dyn Iterator<Item = E>, span: Span) -> E {
        self.assembled_at(ty, parts, None, &mut Vec::new(), span)
    }

    /// Assembles a tangent of a value from its real parts.
    pub(super) fn tangent(&mut self, of: &E, parts: &mut dyn Iterator<Item = E>, span: Span) -> E {
        let like = Like { value: of.clone(), held: false };
        self.assembled_at(&of.ty, parts, Some(&like), &mut Vec::new(), span)
    }

    fn assembled_at(
        &mut self,
        ty: &CoreType,
        parts: &mut dyn Iterator<Item = E>,
        like: Option<&Like>,
        at: &mut Vec<Poly>,
        span: Span,
    ) -> E {
        if let Some(like) = like
            && !ty.leaves().iter().any(is_real)
            && (like.held || !matches!(ty.peel().1, CoreType::Tuple(..)))
        {
            return if like.held { like.value.clone() } else { unit(span) };
        }
        match ty {
            CoreType::Tuple(types, labels) => {
                let mut items = Vec::new();
                for (k, ty) in (0..).zip(types.iter()) {
                    let like =
                        like.map(|l| Like { value: Expr::proj(&l.value, k), held: l.held || labels.sum().is_some() });
                    items.push(self.assembled_at(ty, parts, like.as_ref(), at, span));
                }
                tuple(items, labels.clone(), span)
            }
            CoreType::Tensor(n, inner) if matches!(ty.peel().1, CoreType::Tuple(..)) => {
                let index = self.vars.index("i", n.clone());
                at.push(index.value());
                let element = like.map(|l| Like { value: Expr::access(&l.value, index.value()), held: l.held });
                let e = self.assembled_at(inner, parts, element.as_ref(), at, span);
                at.pop();
                // An array of `()` is `()`.
                if e.ty == CoreType::unit() && like.is_some_and(|l| !l.held) { e } else { Expr::generate(index, e) }
            }
            CoreType::Scalar(_) | CoreType::Tensor(..) | CoreType::Rel(_) => {
                let part = parts.next().unwrap_or_else(|| unit(span));
                at.iter().fold(part, |e, i| Expr::access(&e, i.clone()))
            }
        }
    }
}

/// The value that a tangent belongs to.
struct Like {
    value: E,
    /// Whether it is inside a constructor. Parts that are not real keep their value there;
    /// elsewhere they are `()`.
    held: bool,
}

pub(super) fn tuple(items: Vec<E>, labels: Labels, span: Span) -> E {
    let ty = CoreType::Tuple(items.iter().map(|e| e.ty.clone()).collect(), labels);
    Expr::new(Kind::Tuple(items), ty, span)
}

/// Returns `()`.
pub(super) fn unit(span: Span) -> E {
    tuple(Vec::new(), Labels::Places, span)
}

/// Returns the inputs by which the function is differentiated.
pub(super) fn inputs(target: &Target) -> Arc<[u32]> {
    target.by.iter().map(|(k, _)| *k).collect()
}

pub(super) fn is_real(leaf: &Leaf) -> bool {
    matches!(leaf.scalar, Some(Scalar::F64 | Scalar::F32))
}

pub(super) fn has_real(e: &E) -> bool {
    e.ty.leaves().iter().any(is_real)
}
