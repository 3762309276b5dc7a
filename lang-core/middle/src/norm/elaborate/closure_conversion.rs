//! **Closure conversion** (lambda lifting). Turns an expression inside a definition into a local
//! function, for derivative operators and loops. Its first parameters are the variables that it
//! captures. Captured index variables and sizes become its sizes, integer parameters remain integer
//! parameters, and everything else is data.
//!
//! The function is called only where it is created, so facts about captured variables that hold
//! there also hold inside it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::derive::{DerivativeTarget, is_real_leaf};
use super::{Closure, ElabResult, Elaborator, SymbolicValue};
use lang_base::ensure_sufficient_stack;
use lang_base::{Name, Span};
use lang_ir::core::{
    CheckpointSpacing, CoreExpr, CoreFunction, CoreType, ExprKind, ExprRef, FunctionKey, NoCoreFormReason, ScalarOp,
};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

impl Elaborator<'_> {
    /// Builds a function of these parameters, to be differentiated by them at these arguments.
    pub(super) fn close_over(
        &mut self,
        params: Vec<(Name, ExprRef)>,
        span: Span,
        body: impl FnOnce(&mut Self, Vec<SymbolicValue>) -> ElabResult<SymbolicValue>,
    ) -> ElabResult<DerivativeTarget> {
        let types = params.iter().map(|(name, arg)| (Some(name.clone()), arg.ty.clone())).collect();
        let LocalFunction { callee, sizes, captured, params: own, result } =
            self.make_local_function(types, span, body)?;
        let mut args: Vec<ExprRef> = captured.iter().map(|(local, ty)| self.captured_arg(*local, ty, span)).collect();
        args.extend(params.into_iter().map(|(_, arg)| arg));
        let before = captured.iter().map(|(_, ty)| ty.leaves().len()).sum::<usize>();
        let first = u32::try_from(before).unwrap_or(u32::MAX);
        let leaves = (first..).zip(own.iter().flat_map(|(_, ty)| ty.leaves()));
        let by = leaves.filter(|(_, leaf)| is_real_leaf(leaf)).collect();
        let sizes = sizes.into_iter().map(|l| Poly::atom(self.vars.atom(l))).collect();
        Ok(DerivativeTarget { callee, sizes, args, wrt: by, outputs: result.leaves(), result })
    }

    /// Returns whether the value is the same for all index variables, and its computation never
    /// fails.
    pub(super) fn is_loop_invariant(&self, e: &ExprRef) -> bool {
        let mut free = FreeVariables::default();
        free.expr(e);
        let outer = |l: &LocalId| {
            let index = self.indices.get(l).is_some_and(Option::is_some);
            !index && self.depths.get(l).is_none_or(|depth| *depth == 0)
        };
        is_infallible(e) && free.used.iter().all(|l| free.bound.contains(l) || outer(l))
    }

    /// Builds a function of parameters of these types, and finds its captures. A parameter may have
    /// a name of the program.
    pub(super) fn make_local_function(
        &mut self,
        params: Vec<(Option<Name>, CoreType)>,
        span: Span,
        body: impl FnOnce(&mut Self, Vec<SymbolicValue>) -> ElabResult<SymbolicValue>,
    ) -> ElabResult<LocalFunction> {
        self.make_local_function_capturing(params, &[], span, body)
    }

    /// Does the same, and also captures the variables of the values `also`.
    pub(super) fn make_local_function_capturing(
        &mut self,
        params: Vec<(Option<Name>, CoreType)>,
        also: &[SymbolicValue],
        span: Span,
        body: impl FnOnce(&mut Self, Vec<SymbolicValue>) -> ElabResult<SymbolicValue>,
    ) -> ElabResult<LocalFunction> {
        let mut own = Vec::new();
        let mut values = Vec::new();
        for (name, ty) in params {
            let local = match name {
                Some(name) => self.vars.fresh(name),
                None => self.vars.fresh_synthetic("carry"),
            };
            self.types.insert(local, ty.clone());
            values.push(self.variable(local, &ty, span));
            own.push((local, ty));
        }
        let depths = std::mem::take(&mut self.depths);
        let depth = std::mem::take(&mut self.depth);
        // The enclosing index variables are sizes inside the function.
        let sizes = self.indices.keys().map(|l| (*l, None)).collect();
        let indices = std::mem::replace(&mut self.indices, sizes);
        let body = self.in_closed_scope(span, |this| body(this, values));
        let inner_indices = std::mem::replace(&mut self.indices, indices);
        for (local, extent) in inner_indices {
            self.indices.entry(local).or_insert(extent);
        }
        (self.depths, self.depth) = (depths, depth);
        let body = body?;
        let mut free = FreeVariables::default();
        for (local, ty) in &own {
            free.bound.insert(*local);
            free.ty(ty);
        }
        free.expr(&body);
        also.iter().for_each(|sym| free.sym(sym));
        let (sizes, captured) = self.collect_captures(free, span)?;
        let local = u32::try_from(self.local_functions.len()).unwrap_or(u32::MAX);
        let callee = Arc::new(FunctionKey { local: Some(local), ..(*self.callee).clone() });
        let result = body.ty.clone();
        let is_integer =
            |(l, ty): &&(LocalId, CoreType)| self.params.contains(l) && *ty == CoreType::Scalar(Scalar::I64);
        let bounded = captured.iter().filter(is_integer).map(|(local, _)| *local).collect();
        self.local_functions.push(Arc::new(CoreFunction {
            callee: Arc::clone(&callee),
            vars: self.vars.clone(),
            sizes: sizes.clone(),
            params: captured.iter().cloned().chain(own.iter().cloned()).collect(),
            bounded_params: bounded,
            body,
            local_functions: Vec::new(),
            rule_of: None,
        }));
        Ok(LocalFunction { callee, sizes, captured, params: own, result })
    }

    /// Returns whether the extents of the result are known at the call.
    pub(super) fn knows_result_extents(&self, of: &LocalFunction) -> bool {
        let mut free = FreeVariables::default();
        free.ty(&of.result);
        let captured = |l: &LocalId| of.sizes.contains(l) || of.captured.iter().any(|(x, _)| x == l);
        free.used.iter().all(captured)
    }

    /// Returns a captured variable as an argument of the call.
    pub(super) fn captured_arg(&self, local: LocalId, ty: &CoreType, span: Span) -> ExprRef {
        let integer = self.params.contains(&local) && *ty == CoreType::Scalar(Scalar::I64);
        let kind = if integer { ExprKind::Index(Poly::atom(self.vars.atom(local))) } else { ExprKind::Var(local) };
        CoreExpr::new(kind, ty.clone(), span)
    }

    /// Returns the captured sizes and index variables, then the captured data, each in the order of
    /// creation.
    fn collect_captures(&self, mut free: FreeVariables, span: Span) -> ElabResult<CaptureList> {
        let (mut sizes, mut data) = (BTreeSet::new(), BTreeSet::new());
        // Captures extend to the extents of captured data.
        while let Some(local) = free.used.pop_last() {
            if free.bound.contains(&local) || data.contains(&local) {
                continue;
            }
            if self.indices.contains_key(&local) {
                sizes.insert(local);
                continue;
            }
            let ty = self.types.get(&local).ok_or_else(|| self.no_core_form(NoCoreFormReason::DataRange, span))?;
            data.insert(local);
            free.ty(ty);
        }
        let typed = data.into_iter().filter_map(|l| Some((l, self.types.get(&l)?.clone()))).collect();
        Ok((sizes.into_iter().collect(), typed))
    }
}

/// Returns whether the computation never fails.
pub(super) fn is_infallible(e: &ExprRef) -> bool {
    let mut total = match &e.kind {
        ExprKind::Check(..) | ExprKind::Call(..) | ExprKind::Loop(..) | ExprKind::Update(..) => false,
        ExprKind::Apply(ScalarOp::PowInt, _) => e.ty != CoreType::Scalar(Scalar::I64),
        ExprKind::Apply(ScalarOp::Binary(BinOp::FloorDiv | BinOp::Mod), args) => match args.get(1).map(|e| &e.kind) {
            Some(ExprKind::Index(p)) => p.as_constant().is_some_and(|c| c != 0),
            _ => e.ty != CoreType::Scalar(Scalar::I64),
        },
        _ => true,
    };
    e.for_each_child(&mut |e| total = total && ensure_sufficient_stack(|| is_infallible(e)));
    total
}

/// A function built inside a definition.
pub(super) struct LocalFunction {
    pub(super) callee: Arc<FunctionKey>,
    /// The captured sizes and index variables.
    pub(super) sizes: Vec<LocalId>,
    /// The captured data, which are its first parameters.
    pub(super) captured: Vec<(LocalId, CoreType)>,
    /// Its other parameters.
    pub(super) params: Vec<(LocalId, CoreType)>,
    /// The type of its result.
    pub(super) result: CoreType,
}

/// The captured sizes, then the captured data with their types.
type CaptureList = (Vec<LocalId>, Vec<(LocalId, CoreType)>);

/// The free variables of an expression: those used, minus those bound.
#[derive(Default)]
struct FreeVariables {
    used: BTreeSet<LocalId>,
    bound: BTreeSet<LocalId>,
}

impl FreeVariables {
    fn expr(&mut self, e: &ExprRef) {
        ensure_sufficient_stack(|| {
            self.ty(&e.ty);
            match &e.kind {
                ExprKind::Var(x) => drop(self.used.insert(*x)),
                ExprKind::Index(p) | ExprKind::Access(_, p) => self.poly(p),
                ExprKind::Gen(i, _) | ExprKind::Sum(i, _) | ExprKind::Argsort(i, _) => {
                    self.poly(&i.extent);
                    self.bound.insert(i.local);
                }
                ExprKind::Reduce(r) => {
                    for i in &r.indices {
                        self.poly(&i.extent);
                        self.bound.insert(i.local);
                    }
                    self.poly(&r.arg_value);
                    self.pred(&r.filter);
                }
                ExprKind::Guard(p, _) | ExprKind::Check(p, ..) => self.pred(p),
                ExprKind::Let(bindings, _) => self.bound.extend(bindings.iter().map(|(x, _)| *x)),
                ExprKind::Call(_, sizes, _) => sizes.iter().for_each(|p| self.poly(p)),
                ExprKind::Loop(repeat, _) => {
                    repeat.sizes.iter().for_each(|p| self.poly(p));
                    self.poly(&repeat.counter.extent);
                    self.bound.insert(repeat.counter.local);
                    let spacing = repeat.checkpoint.as_ref().and_then(CheckpointSpacing::fixed_distance);
                    repeat.trip_count.fixed().into_iter().chain(spacing).for_each(|p| self.poly(p));
                }
                ExprKind::Update(update, ..) => {
                    update.at.iter().for_each(|p| self.poly(p));
                    self.pred(&update.pred);
                    for index in &update.indices {
                        self.poly(&index.extent);
                        self.bound.insert(index.local);
                    }
                }
                ExprKind::Global(_)
                | ExprKind::Constant(_)
                | ExprKind::Add(_)
                | ExprKind::Mul(..)
                | ExprKind::Neg(_)
                | ExprKind::Apply(..)
                | ExprKind::Tuple(_)
                | ExprKind::Proj(..) => {}
            }
            e.for_each_child(&mut |e| self.expr(e));
        });
    }

    /// Collects the variables of a value; for a function, those that it captured.
    fn sym(&mut self, sym: &SymbolicValue) {
        match sym {
            SymbolicValue::Int { poly, .. } => self.poly(poly),
            SymbolicValue::Bool(p) => self.pred(p),
            SymbolicValue::Data(e) => self.expr(e),
            SymbolicValue::Tuple(items, _) => items.iter().for_each(|item| self.sym(item)),
            SymbolicValue::Fun(closure) => ensure_sufficient_stack(|| self.closure(closure)),
        }
    }

    fn closure(&mut self, closure: &Closure) {
        match closure {
            Closure::Lambda { env, .. } => env.values().for_each(|sym| self.sym(sym)),
            Closure::Reference { scope, env, node } => {
                let free = lang_types::free::free(&scope.body, *node);
                free.iter().filter_map(|l| env.get(l)).for_each(|sym| self.sym(sym));
            }
            Closure::Definition { types, sizes, .. } => {
                sizes.iter().for_each(|p| self.poly(p));
                types.iter().for_each(|t| t.visit(&mut |_| {}, &mut |p| self.poly(p)));
            }
            Closure::Tangent { function: of, along } => {
                self.closure(of);
                along.values().flatten().for_each(|e| self.expr(e));
            }
            Closure::Operator { of, .. } => self.closure(&of.closure),
            Closure::Builtin(_) | Closure::Scalar(_) | Closure::Constructor(..) => {}
        }
    }

    fn ty(&mut self, ty: &CoreType) {
        match ty {
            CoreType::Scalar(_) => {}
            CoreType::Tuple(items, _) => items.iter().for_each(|t| self.ty(t)),
            CoreType::Tensor(n, t) => {
                self.poly(n);
                self.ty(t);
            }
            CoreType::Rel(dims) => dims.iter().for_each(|n| self.poly(n)),
        }
    }

    fn poly(&mut self, p: &Poly) {
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) | Atom::Read(l, ..) = a {
                self.used.insert(*l);
            }
        });
    }

    fn pred(&mut self, p: &Pred) {
        match p {
            Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| self.pred(p)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => self.poly(p),
            Pred::Element(x, _, at, _) | Pred::Member(x, _, at, _) => {
                self.used.insert(*x);
                at.iter().for_each(|p| self.poly(p));
            }
            Pred::Exists(index, body, _) => {
                self.poly(&index.extent);
                self.bound.insert(index.local);
                self.pred(body);
            }
        }
    }
}
