//! **Closure conversion** (lambda lifting). Turns an expression inside a definition into a local
//! function, for derivative operators and loops. Its first parameters are the variables that it
//! captures. Captured index variables and sizes become its sizes, integer parameters remain integer
//! parameters, and everything else is data.
//!
//! The function is called only where it is created, so facts about captured variables that hold
//! there also hold inside it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::derive::{Target, is_real};
use super::{Closure, Elaborator, Out, Sym};
use lang_base::guarded;
use lang_base::{Name, Span};
use lang_ir::core::{Callee, CoreType, E, Expr, Function, Kind, Operation, Reason, Spacing};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

impl Elaborator<'_> {
    /// Builds a function of these parameters, to be differentiated by them at these arguments.
    pub(super) fn close(
        &mut self,
        params: Vec<(Name, E)>,
        span: Span,
        body: impl FnOnce(&mut Self, Vec<Sym>) -> Out<Sym>,
    ) -> Out<Target> {
        let types = params.iter().map(|(name, arg)| (Some(name.clone()), arg.ty.clone())).collect();
        let Enclosed { callee, sizes, captured, own, result } = self.enclose(types, span, body)?;
        let mut args: Vec<E> = captured.iter().map(|(local, ty)| self.capture(*local, ty, span)).collect();
        args.extend(params.into_iter().map(|(_, arg)| arg));
        let before = captured.iter().map(|(_, ty)| ty.leaves().len()).sum::<usize>();
        let first = u32::try_from(before).unwrap_or(u32::MAX);
        let leaves = (first..).zip(own.iter().flat_map(|(_, ty)| ty.leaves()));
        let by = leaves.filter(|(_, leaf)| is_real(leaf)).collect();
        let sizes = sizes.into_iter().map(|l| Poly::atom(self.vars.atom(l))).collect();
        Ok(Target { callee, sizes, args, by, outputs: result.leaves(), result })
    }

    /// Returns whether the value is the same for all index variables, and its computation never
    /// fails.
    pub(super) fn is_outer(&self, e: &E) -> bool {
        let mut free = Free::default();
        free.expr(e);
        let outer = |l: &LocalId| {
            let index = self.indices.get(l).is_some_and(Option::is_some);
            !index && self.depths.get(l).is_none_or(|depth| *depth == 0)
        };
        is_total(e) && free.used.iter().all(|l| free.bound.contains(l) || outer(l))
    }

    /// Builds a function of parameters of these types, and finds its captures. A parameter may have
    /// a name of the program.
    pub(super) fn enclose(
        &mut self,
        params: Vec<(Option<Name>, CoreType)>,
        span: Span,
        body: impl FnOnce(&mut Self, Vec<Sym>) -> Out<Sym>,
    ) -> Out<Enclosed> {
        self.enclose_with(params, &[], span, body)
    }

    /// Does the same, and also captures the variables of the values `also`.
    pub(super) fn enclose_with(
        &mut self,
        params: Vec<(Option<Name>, CoreType)>,
        also: &[Sym],
        span: Span,
        body: impl FnOnce(&mut Self, Vec<Sym>) -> Out<Sym>,
    ) -> Out<Enclosed> {
        let mut own = Vec::new();
        let mut given = Vec::new();
        for (name, ty) in params {
            let local = match name {
                Some(name) => self.vars.fresh(name),
                None => self.vars.made("carry"),
            };
            self.types.insert(local, ty.clone());
            given.push(self.variable(local, &ty, span));
            own.push((local, ty));
        }
        let depths = std::mem::take(&mut self.depths);
        let depth = std::mem::take(&mut self.depth);
        // The enclosing index variables are sizes inside the function.
        let sizes = self.indices.keys().map(|l| (*l, None)).collect();
        let indices = std::mem::replace(&mut self.indices, sizes);
        let body = self.closed(span, |this| body(this, given));
        let made = std::mem::replace(&mut self.indices, indices);
        for (local, extent) in made {
            self.indices.entry(local).or_insert(extent);
        }
        (self.depths, self.depth) = (depths, depth);
        let body = body?;
        let mut free = Free::default();
        for (local, ty) in &own {
            free.bound.insert(*local);
            free.ty(ty);
        }
        free.expr(&body);
        also.iter().for_each(|sym| free.sym(sym));
        let (sizes, captured) = self.captured(free, span)?;
        let local = u32::try_from(self.locals.len()).unwrap_or(u32::MAX);
        let callee = Arc::new(Callee { local: Some(local), ..(*self.callee).clone() });
        let result = body.ty.clone();
        let is_integer =
            |(l, ty): &&(LocalId, CoreType)| self.params.contains(l) && *ty == CoreType::Scalar(Scalar::I64);
        let bounded = captured.iter().filter(is_integer).map(|(local, _)| *local).collect();
        self.locals.push(Arc::new(Function {
            callee: Arc::clone(&callee),
            vars: self.vars.clone(),
            sizes: sizes.clone(),
            params: captured.iter().cloned().chain(own.iter().cloned()).collect(),
            bounded,
            body,
            locals: Vec::new(),
            rule_of: None,
        }));
        Ok(Enclosed { callee, sizes, captured, own, result })
    }

    /// Returns whether the extents of the result are known at the call.
    pub(super) fn knows(&self, of: &Enclosed) -> bool {
        let mut free = Free::default();
        free.ty(&of.result);
        let captured = |l: &LocalId| of.sizes.contains(l) || of.captured.iter().any(|(x, _)| x == l);
        free.used.iter().all(captured)
    }

    /// Returns a captured variable as an argument of the call.
    pub(super) fn capture(&self, local: LocalId, ty: &CoreType, span: Span) -> E {
        let integer = self.params.contains(&local) && *ty == CoreType::Scalar(Scalar::I64);
        let kind = if integer { Kind::Index(Poly::atom(self.vars.atom(local))) } else { Kind::Var(local) };
        Expr::new(kind, ty.clone(), span)
    }

    /// Returns the captured sizes and index variables, then the captured data, each in the order of
    /// creation.
    fn captured(&self, mut free: Free, span: Span) -> Out<Captured> {
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
            let ty = self.types.get(&local).ok_or_else(|| self.outside(Reason::DataRange, span))?;
            data.insert(local);
            free.ty(ty);
        }
        let typed = data.into_iter().filter_map(|l| Some((l, self.types.get(&l)?.clone()))).collect();
        Ok((sizes.into_iter().collect(), typed))
    }
}

/// Returns whether the computation never fails.
pub(super) fn is_total(e: &E) -> bool {
    let mut total = match &e.kind {
        Kind::Check(..) | Kind::Call(..) | Kind::Loop(..) | Kind::Update(..) => false,
        Kind::Apply(Operation::PowInt, _) => e.ty != CoreType::Scalar(Scalar::I64),
        Kind::Apply(Operation::Binary(BinOp::FloorDiv | BinOp::Mod), args) => match args.get(1).map(|e| &e.kind) {
            Some(Kind::Index(p)) => p.as_constant().is_some_and(|c| c != 0),
            _ => e.ty != CoreType::Scalar(Scalar::I64),
        },
        _ => true,
    };
    e.for_each_child(&mut |e| total = total && guarded(|| is_total(e)));
    total
}

/// A function built inside a definition.
pub(super) struct Enclosed {
    pub(super) callee: Arc<Callee>,
    /// The captured sizes and index variables.
    pub(super) sizes: Vec<LocalId>,
    /// The captured data, which are its first parameters.
    pub(super) captured: Vec<(LocalId, CoreType)>,
    /// Its other parameters.
    pub(super) own: Vec<(LocalId, CoreType)>,
    /// The type of its result.
    pub(super) result: CoreType,
}

/// The captured sizes, then the captured data with their types.
type Captured = (Vec<LocalId>, Vec<(LocalId, CoreType)>);

/// The free variables of an expression: those used, minus those bound.
#[derive(Default)]
struct Free {
    used: BTreeSet<LocalId>,
    bound: BTreeSet<LocalId>,
}

impl Free {
    fn expr(&mut self, e: &E) {
        guarded(|| {
            self.ty(&e.ty);
            match &e.kind {
                Kind::Var(x) => drop(self.used.insert(*x)),
                Kind::Index(p) | Kind::Access(_, p) => self.poly(p),
                Kind::Gen(i, _) | Kind::Sum(i, _) | Kind::Order(i, _) => {
                    self.poly(&i.extent);
                    self.bound.insert(i.local);
                }
                Kind::Reduce(r) => {
                    for i in &r.indices {
                        self.poly(&i.extent);
                        self.bound.insert(i.local);
                    }
                    self.poly(&r.place);
                    self.pred(&r.terms);
                }
                Kind::Guard(p, _) | Kind::Check(p, ..) => self.pred(p),
                Kind::Let(bindings, _) => self.bound.extend(bindings.iter().map(|(x, _)| *x)),
                Kind::Call(_, sizes, _) => sizes.iter().for_each(|p| self.poly(p)),
                Kind::Loop(repeat, _) => {
                    repeat.sizes.iter().for_each(|p| self.poly(p));
                    self.poly(&repeat.counter.extent);
                    self.bound.insert(repeat.counter.local);
                    let spacing = repeat.checkpoint.as_ref().and_then(Spacing::told);
                    repeat.trips.count().into_iter().chain(spacing).for_each(|p| self.poly(p));
                }
                Kind::Update(update, ..) => {
                    update.at.iter().for_each(|p| self.poly(p));
                    self.pred(&update.pred);
                    for index in &update.over {
                        self.poly(&index.extent);
                        self.bound.insert(index.local);
                    }
                }
                Kind::Global(_)
                | Kind::Constant(_)
                | Kind::Add(_)
                | Kind::Mul(..)
                | Kind::Neg(_)
                | Kind::Apply(..)
                | Kind::Tuple(_)
                | Kind::Proj(..) => {}
            }
            e.for_each_child(&mut |e| self.expr(e));
        });
    }

    /// Collects the variables of a value; for a function, those that it captured.
    fn sym(&mut self, sym: &Sym) {
        match sym {
            Sym::Int { poly, .. } => self.poly(poly),
            Sym::Bool(p) => self.pred(p),
            Sym::Data(e) => self.expr(e),
            Sym::Tuple(items, _) => items.iter().for_each(|item| self.sym(item)),
            Sym::Fun(closure) => guarded(|| self.closure(closure)),
        }
    }

    fn closure(&mut self, closure: &Closure) {
        match closure {
            Closure::Lambda { env, .. } => env.values().for_each(|sym| self.sym(sym)),
            Closure::Named { scope, env, node } => {
                let free = lang_types::free::free(&scope.body, *node);
                free.iter().filter_map(|l| env.get(l)).for_each(|sym| self.sym(sym));
            }
            Closure::Definition { types, sizes, .. } => {
                sizes.iter().for_each(|p| self.poly(p));
                types.iter().for_each(|t| t.visit(&mut |_| {}, &mut |p| self.poly(p)));
            }
            Closure::Tangent { of, along } => {
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
            Pred::Is(x, _, at, _) | Pred::Member(x, _, at, _) => {
                self.used.insert(*x);
                at.iter().for_each(|p| self.poly(p));
            }
            Pred::Any(index, body, _) => {
                self.poly(&index.extent);
                self.bound.insert(index.local);
                self.pred(body);
            }
        }
    }
}
