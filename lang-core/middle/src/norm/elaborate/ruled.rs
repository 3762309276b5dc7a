//! **Rules of definitions that take functions.** A definition with a rule is called, never inlined,
//! because otherwise its derivative would be that of its body. If it takes functions, its body with
//! these functions inlined becomes a local function of their captures and the real arguments.
//!
//! The rule becomes a function of the same parameters, and of a tangent for each real part of them,
//! captures included. It is elaborated only if a derivative requests it
//! ([`lang_ir::core::LocalRule`]). Then the definition is elaborated again up to the call, and
//! the rule there.
//!
//! In the rule the tangent of a function is the function with the tangents of its captures
//! ([`Closure::Tangent`]). Its value at a point is a forward derivative of the function there.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::close::Enclosed;
use super::derive::{Target, has_real, is_real, unit};
use super::{Closure, Elaborator, Env, Frame, Item, Out, Sym};
use lang_base::{GlobalName, Name, Span};
use lang_ir::core::{Constant, CoreType, E, Expr, Function, Kind, Labels, Operation, Reason, Rule};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{LocalId, Poly};
use lang_syntax::ops::Scalar;
use lang_types::ty::Type;

/// The tangents of captured variables: one for each real part.
pub(super) type Tangents = HashMap<LocalId, Vec<E>>;

/// A definition applied to functions.
struct Applied<'a> {
    name: &'a GlobalName,
    types: Vec<Type>,
    sizes: &'a [Poly],
    args: Vec<Sym>,
    span: Span,
}

impl Elaborator<'_> {
    /// Elaborates a call of a definition that has a rule and takes functions.
    pub(super) fn call_ruled(
        &mut self,
        name: &GlobalName,
        types: Vec<Type>,
        sizes: &[Poly],
        args: Vec<Sym>,
        span: Span,
    ) -> Out<Sym> {
        let body = self.bodies.body(name).ok_or_else(|| self.outside(Reason::Errors, span))?;
        let mut params = Vec::new();
        let mut own = Vec::new();
        let mut named = Vec::new();
        for (arg, local) in args.into_iter().zip(&body.params) {
            let name = body.locals.get(local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
            let arg = self.named(arg, &name);
            let before = own.len();
            reals(&arg, &mut own);
            params.extend(own.iter().skip(before).map(|e| (Some(name.clone()), e.ty.clone())));
            named.push(arg);
        }
        let args = named;
        let also = args.iter().map(|arg| with(arg, &mut std::iter::empty())).collect::<Vec<_>>();
        let of = Applied { name, types, sizes, args, span };
        let around = (std::mem::take(&mut self.repeated), self.kept.take());
        let enclosed = self.enclose_with(params, &also, span, |this, given| {
            let mut given = given.into_iter();
            let args = of.args.iter().map(|arg| with(arg, &mut given)).collect();
            this.body_of(name, of.types.clone(), sizes, args, span)
        });
        (self.repeated, self.kept) = around;
        let enclosed = enclosed?;
        // A caller cannot know extents that only the body computes.
        if !self.knows(&enclosed) {
            return Err(self.outside(Reason::DataRange, span));
        }
        if let Some(function) = self.locals.last_mut() {
            Arc::make_mut(function).rule_of = Some(name.clone());
        }
        let wanted = self.callee.rules.get(self.led).copied();
        if let Some(wanted) = wanted
            && enclosed.callee.local == Some(wanted.local)
        {
            self.led += 1;
            let rule = self.rule_at(&of, &enclosed, wanted.kind);
            if self.found.is_none() {
                self.found = Some(rule);
            }
            return Err(self.outside(Reason::Derivative, span));
        }
        let captured = enclosed.captured.iter().map(|(local, ty)| self.capture(*local, ty, span));
        let args = captured.chain(own).collect();
        let sizes = enclosed.sizes.iter().map(|l| Poly::atom(self.vars.atom(*l))).collect();
        Ok(self.known(Expr::new(Kind::Call(enclosed.callee, sizes, args), enclosed.result, span)))
    }

    /// Inlines the body of a definition.
    pub(super) fn body_of(
        &mut self,
        name: &GlobalName,
        types: Vec<Type>,
        sizes: &[Poly],
        args: Vec<Sym>,
        span: Span,
    ) -> Out<Sym> {
        if self.inlined.len() >= super::MAX_INLINED {
            return Err(self.outside(Reason::Recursion, span));
        }
        let body = self.bodies.body(name).ok_or_else(|| self.outside(Reason::Errors, span))?;
        let root = body.root.ok_or_else(|| self.outside(Reason::Errors, span))?;
        let mut env = Env::new();
        for (local, size) in body.sizes.iter().zip(sizes) {
            env.insert(*local, Sym::Int { poly: size.clone(), exact: true });
        }
        for (local, arg) in body.params.iter().zip(args) {
            let name = body.locals.get(local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
            let arg = self.named(arg, &name);
            env.insert(*local, arg);
        }
        let code = Rc::new(Item { item: name.clone(), body, types, inlined: Some(span) });
        self.inlined.push(name.clone());
        let value = lang_base::guarded(|| self.expr(&mut Frame { code, env }, root));
        self.inlined.pop();
        value
    }

    /// Elaborates the rule of the local function that was just built.
    fn rule_at(&mut self, of: &Applied<'_>, primal: &Enclosed, kind: Rule) -> Out<Function> {
        let span = of.span;
        let outside = |this: &Self| this.outside(Reason::Derivative, span);
        let all = || primal.captured.iter().chain(&primal.own).map(|(_, ty)| ty).chain([&primal.result]);
        // The tangent of a sum type repeats the parts that are not real.
        if all().any(has_sum) {
            return Err(outside(self));
        }
        let rule = self.bodies.rule(of.name, kind).ok_or_else(|| outside(self))?;
        // The rule numbers its local functions separately.
        self.locals.clear();
        let own = primal.own.iter().map(|(local, ty)| (Some(self.vars.name(*local)), ty.clone()));
        let mut params: Vec<(Option<Name>, CoreType)> = own.collect();
        let count = params.len();
        let mut captured = Vec::new();
        match kind {
            Rule::Derivative => {
                for (local, ty) in &primal.captured {
                    let leaves: Vec<CoreType> =
                        ty.leaves().iter().filter(|leaf| is_real(leaf)).map(|leaf| leaf.ty()).collect();
                    captured.push((*local, leaves.len()));
                    let name: Name = format!("{}_tan", self.vars.name(*local)).into();
                    params.extend(leaves.into_iter().map(|ty| (Some(name.clone()), ty)));
                }
                params.extend(primal.own.iter().map(|(_, ty)| (Some("x_tan".into()), tangent_type(ty))));
            }
            Rule::Adjoint => params.push((Some("y_adj".into()), tangent_type(&primal.result))),
        }
        let also: Vec<Sym> = primal.captured.iter().map(|(l, ty)| Sym::Data(self.capture(*l, ty, span))).collect();
        let sizes = primal.sizes.iter().map(|l| Sym::Int { poly: Poly::atom(self.vars.atom(*l)), exact: true });
        let also: Vec<Sym> = also.into_iter().chain(sizes).collect();
        let enclosed = self.enclose_with(params, &also, span, |this, mut given| {
            let mut deltas = given.split_off(count).into_iter();
            let mut given = given.into_iter();
            let args: Vec<Sym> = of.args.iter().map(|arg| with(arg, &mut given)).collect();
            let types = of.types.clone();
            if kind == Rule::Adjoint {
                let all = args.iter().cloned().chain(deltas).collect();
                let cotangents = this.body_of(&rule, types, of.sizes, all, span)?;
                return this.cotangents(&args, &cotangents, primal, span);
            }
            let mut tangents = Tangents::new();
            for (local, leaves) in captured {
                let these: Vec<Sym> = deltas.by_ref().take(leaves).collect();
                let these = these.iter().map(|t| this.data(t, span)).collect::<Out<Vec<E>>>()?;
                tangents.insert(local, these);
            }
            let tangents = Rc::new(tangents);
            let beside: Vec<Sym> = args.iter().map(|arg| this.tangent_of(arg, &tangents, &mut deltas, span)).collect();
            let all = args.into_iter().chain(beside).collect();
            this.body_of(&rule, types, of.sizes, all, span)
        })?;
        if enclosed.sizes != primal.sizes || enclosed.captured != primal.captured {
            return Err(outside(self));
        }
        let function = self.locals.pop().ok_or_else(|| outside(self))?;
        let locals = std::mem::take(&mut self.locals);
        Ok(Function { callee: Arc::clone(&self.callee), locals, ..(*function).clone() })
    }

    /// Returns the tangent of an argument, from the tangents of captured variables and of the
    /// arguments.
    fn tangent_of(
        &mut self,
        arg: &Sym,
        captured: &Rc<Tangents>,
        own: &mut dyn Iterator<Item = Sym>,
        span: Span,
    ) -> Sym {
        match arg {
            Sym::Fun(of) => Sym::Fun(Rc::new(Closure::Tangent { of: Rc::clone(of), along: Rc::clone(captured) })),
            Sym::Data(e) if has_real(e) => own.next().unwrap_or_else(|| Sym::Data(unit(span))),
            Sym::Data(e) => Sym::Data(self.tangent(e, &mut std::iter::empty(), span)),
            Sym::Tuple(items, labels) => {
                let items = items.iter().map(|item| self.tangent_of(item, captured, own, span)).collect();
                Sym::Tuple(items, labels.clone())
            }
            Sym::Int { .. } | Sym::Bool(_) => Sym::Data(unit(span)),
        }
    }

    /// Returns the tangent of a function at arguments.
    pub(super) fn tangent_at(
        &mut self,
        of: &Rc<Closure>,
        along: &Rc<Tangents>,
        args: Vec<Sym>,
        types: &[Type],
        ty: &Type,
        span: Span,
    ) -> Out<Sym> {
        let args: Vec<Sym> = args.into_iter().map(|arg| self.named(arg, "x")).collect();
        let mut own = Vec::new();
        args.iter().for_each(|arg| reals(arg, &mut own));
        let params = own.iter().map(|e| (None, e.ty.clone())).collect();
        let enclosed = self.enclose(params, span, |this, given| {
            let mut given = given.into_iter();
            let args = args.iter().map(|arg| with(arg, &mut given)).collect();
            this.apply_closure(of, args, types, ty, span)
        })?;
        let Enclosed { callee, sizes, captured, result, .. } = enclosed;
        let (mut by, mut tangents) = (Vec::new(), Vec::new());
        let mut first = 0;
        for (local, ty) in &captured {
            let leaves: Vec<_> = (first..).zip(ty.leaves()).collect();
            first += u32::try_from(leaves.len()).unwrap_or(u32::MAX);
            let real: Vec<_> = leaves.into_iter().filter(|(_, leaf)| is_real(leaf)).collect();
            match along.get(local) {
                Some(these) if these.len() == real.len() => {
                    by.extend(real);
                    tangents.extend(these.iter().cloned());
                }
                _ if real.is_empty() => {}
                _ => return Err(self.outside(Reason::Derivative, span)),
            }
        }
        let args = captured.iter().map(|(local, ty)| self.capture(*local, ty, span)).chain(own).collect();
        let sizes = sizes.into_iter().map(|l| Poly::atom(self.vars.atom(l))).collect();
        let target = Target { callee, sizes, args, by, outputs: result.leaves(), result: result.clone() };
        let (values, tangents) = self.forward(&target, tangents, span);
        let value = self.assembled(&result, &mut values.into_iter(), span);
        let value = self.bind("y", value);
        let tangent = self.tangent(&value, &mut tangents.into_iter(), span);
        Ok(self.known(tangent))
    }

    /// Returns the cotangents of captured variables, then of the arguments, part by part.
    ///
    /// For each function argument an adjoint rule returns a function from a tangent of that
    /// argument to the change of the result. This map is linear. So the cotangents of the captures
    /// are its gradient by their tangents, at any point. The pass takes it at a generic point,
    /// because such a function may choose steps by it, as `ode.dopri5` does.
    fn cotangents(&mut self, args: &[Sym], cotangents: &Sym, primal: &Enclosed, span: Span) -> Out<Sym> {
        let (mut functions, mut parts) = (Vec::new(), Vec::new());
        for (k, arg) in args.iter().enumerate() {
            let of = if args.len() == 1 { cotangents.clone() } else { self.component(cotangents, k)? };
            self.pair_up(arg, &of, &mut functions, &mut parts, span)?;
        }
        let mut points = Vec::new();
        let mut captured = Vec::new();
        for (local, ty) in &primal.captured {
            let leaves: Vec<_> = ty.leaves().into_iter().filter(is_real).collect();
            captured.push((*local, leaves.len()));
            for leaf in &leaves {
                let at = self.generic(&leaf.ty(), points.len(), span);
                points.push((Name::from("t"), at));
            }
        }
        let change = self.close(points, span, |this, given| {
            let mut given = given.into_iter();
            let mut along = Tangents::new();
            for (local, leaves) in captured {
                let these: Vec<Sym> = given.by_ref().take(leaves).collect();
                let these = these.iter().map(|t| this.data(t, span)).collect::<Out<Vec<E>>>()?;
                along.insert(local, these);
            }
            let along = Rc::new(along);
            let mut terms = Vec::new();
            for (of, cotangent) in &functions {
                let tangent = Sym::Fun(Rc::new(Closure::Tangent { of: Rc::clone(of), along: Rc::clone(&along) }));
                let change = this.apply_closure(cotangent, vec![tangent], &[], &Type::F64, span)?;
                terms.push(this.data(&change, span)?);
            }
            let real = CoreType::Scalar(Scalar::F64);
            Ok(Sym::Data(match terms.len() {
                0 => Expr::new(Kind::Constant(Constant::Real(0.0)), real, span),
                1 => terms.swap_remove(0),
                _ => Expr::new(Kind::Add(terms), real, span),
            }))
        })?;
        let one = self.one(&change);
        let (_, mut all) = self.adjoint(&change, vec![one], span);
        all.extend(parts);
        Ok(Sym::Data(super::derive::tuple(all, Labels::Places, span)))
    }

    /// Returns a generic tangent: its reals follow no pattern and are between 0.5 and 2.5.
    fn generic(&mut self, ty: &CoreType, number: usize, span: Span) -> E {
        let real = ty.peel().1.clone();
        let place = Poly::constant(i128::try_from(number).unwrap_or_default());
        let mut place = place;
        let mut indices = Vec::new();
        for n in ty.peel().0.into_iter().cloned().collect::<Vec<Poly>>() {
            let index = self.vars.index("i", n);
            place = place.scale(7).add(&index.value());
            indices.push(index);
        }
        let place = Expr::new(Kind::Index(place), CoreType::Scalar(Scalar::I64), span);
        let apply = |of, e| Expr::new(Kind::Apply(of, vec![e]), real.clone(), span);
        let Some(scalar) = real.scalar() else { return unit(span) };
        let place = apply(Operation::Convert(scalar), place);
        let wave = apply(Operation::Scalar(ScalarFn::Sin), place);
        let middle = Expr::new(Kind::Constant(Constant::Real(1.5)), real.clone(), span);
        let e = Expr::new(Kind::Add(vec![middle, wave]), real.clone(), span);
        indices.into_iter().rev().fold(e, |e, i| Expr::generate(i, e))
    }

    /// Collects functions with their cotangents, and the cotangents of the real parts of other
    /// arguments.
    fn pair_up(
        &mut self,
        arg: &Sym,
        cotangent: &Sym,
        functions: &mut Vec<(Rc<Closure>, Rc<Closure>)>,
        parts: &mut Vec<E>,
        span: Span,
    ) -> Out<()> {
        match (arg, cotangent) {
            (Sym::Fun(of), Sym::Fun(cotangent)) => functions.push((Rc::clone(of), Rc::clone(cotangent))),
            (Sym::Fun(_), _) => return Err(self.outside(Reason::FunctionValue, span)),
            (Sym::Tuple(items, _), _) => {
                for (k, item) in items.iter().enumerate() {
                    let of = self.component(cotangent, k)?;
                    self.pair_up(item, &of, functions, parts, span)?;
                }
            }
            (Sym::Data(e), _) if has_real(e) => {
                let cotangent = self.data(cotangent, span)?;
                let cotangent = self.bind("c", cotangent);
                for leaf in e.ty.leaves().iter().filter(|leaf| is_real(leaf)) {
                    parts.push(self.part_at(&cotangent, &leaf.path));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Collects the parts of an argument that are data with reals in them.
fn reals(arg: &Sym, found: &mut Vec<E>) {
    match arg {
        Sym::Data(e) if has_real(e) => found.push(e.clone()),
        Sym::Tuple(items, _) => items.iter().for_each(|item| reals(item, found)),
        _ => {}
    }
}

/// Replaces the real data of an argument by the values of `given`, or by nothing if they run out.
fn with(arg: &Sym, given: &mut dyn Iterator<Item = Sym>) -> Sym {
    match arg {
        Sym::Data(e) if has_real(e) => given.next().unwrap_or_else(|| Sym::Tuple(Vec::new(), Labels::Places)),
        Sym::Tuple(items, labels) => Sym::Tuple(items.iter().map(|item| with(item, given)).collect(), labels.clone()),
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

fn has_sum(ty: &CoreType) -> bool {
    match ty {
        CoreType::Scalar(_) | CoreType::Rel(_) => false,
        CoreType::Tensor(_, inner) => has_sum(inner),
        CoreType::Tuple(items, labels) => labels.sum().is_some() || items.iter().any(has_sum),
    }
}
