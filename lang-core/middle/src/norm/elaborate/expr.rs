//! **Expressions.** Dispatches on each kind of typed expression, and elaborates constants, tuples,
//! records, checks and comparisons. Calls, control flow and indexing have files of their own.

use std::rc::Rc;
use std::sync::Arc;

use super::repeat::Fold;
use super::{Closure, Elaborator, Frame, Out, Sym, field_order};
use lang_base::{Code, Name, Span};
use lang_ir::core::{Constant, CoreType, E, Expr, Kind, Labels, Operation, Reason};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};
use lang_types::tree::{self, Demand, SizeCheck, Special, TId};
use lang_types::ty::Type;

impl Elaborator<'_> {
    /// Elaborates an expression to its symbolic value.
    pub(super) fn expr(&mut self, f: &mut Frame, id: TId) -> Out<Sym> {
        let value = self.node(f, id)?;
        // A value that comes from a subexpression, or from elsewhere, keeps the span of its origin.
        let own = matches!(
            f.code.body.nodes[id].kind,
            tree::Expr::Local(_)
                | tree::Expr::Neg(_)
                | tree::Expr::Arith(..)
                | tree::Expr::Guard(..)
                | tree::Expr::Proj(..)
                | tree::Expr::Index(..)
                | tree::Expr::Binder { .. }
        );
        Ok(match value {
            Sym::Data(e) if own => Sym::Data(Expr::at(&e, self.span(f, id))),
            value => value,
        })
    }

    fn node(&mut self, f: &mut Frame, id: TId) -> Out<Sym> {
        let body = Arc::clone(&f.code.body);
        let node = &body.nodes[id];
        let span = self.span(f, id);
        self.spend(span)?;
        let outside = |this: &Self, reason| Err(this.outside(reason, span));
        match &node.kind {
            tree::Expr::Error => outside(self, Reason::Errors),
            tree::Expr::Str(_) => outside(self, Reason::Effect),
            tree::Expr::Real(x) => self.real(f, x.0, &node.ty, span),
            tree::Expr::Int(i) => self.int(f, *i, &node.ty, span),
            tree::Expr::Bool(b) => Ok(Sym::Bool(if *b { Pred::truth() } else { Pred::falsity() })),
            tree::Expr::Local(l) => match f.env.get(l) {
                Some(sym) => Ok(sym.clone()),
                None => outside(self, Reason::DataRange),
            },
            tree::Expr::Global(name) if self.globals.contains_key(name) => match self.globals.get(name) {
                Some(sym) => Ok(sym.clone()),
                None => outside(self, Reason::FunctionValue),
            },
            tree::Expr::Global(name) => {
                let ty = self.core_type(f, &node.ty, span)?;
                if ty == CoreType::Scalar(Scalar::I64) {
                    return Ok(Sym::Int { poly: Poly::atom(Atom::Global(name.clone())), exact: true });
                }
                Ok(self.known(Expr::new(Kind::Global(name.clone()), ty, span)))
            }
            tree::Expr::Size(p) => Ok(Sym::Int { poly: self.poly(f, p, span)?, exact: true }),
            tree::Expr::DefValue(..)
            | tree::Expr::BuiltinValue(..)
            | tree::Expr::ScalarValue(_)
            | tree::Expr::Special(Special::Derive(..), _) => {
                let scope = Rc::clone(&f.code);
                Ok(Sym::Fun(Rc::new(Closure::Named { scope, env: f.env.clone(), node: id })))
            }
            tree::Expr::CtorValue(_, k) => match &node.ty {
                Type::Fun(_) => {
                    let scope = Rc::clone(&f.code);
                    Ok(Sym::Fun(Rc::new(Closure::Named { scope, env: f.env.clone(), node: id })))
                }
                ty => self.construct(f, ty, *k, Vec::new(), span),
            },
            tree::Expr::Neg(a) => {
                let a = self.expr(f, *a)?;
                self.negate(a, span)
            }
            tree::Expr::Not(a) => match self.expr(f, *a)? {
                Sym::Bool(p) => Ok(Sym::Bool(p.negated())),
                a => self.apply(Operation::Not, vec![a], Scalar::Bool, span),
            },
            tree::Expr::Arith(..) => self.chain(f, id),
            tree::Expr::Compare(first, rest) => self.compare(f, *first, rest, span),
            tree::Expr::And(items) => self.conjunction(f, items, true),
            tree::Expr::Or(items) => self.conjunction(f, items, false),
            tree::Expr::Pow(a, b) => {
                let (a, b) = (self.expr(f, *a)?, self.expr(f, *b)?);
                self.power(f, id, a, b, span)
            }
            tree::Expr::Scalar(function, args) => {
                let args = args.iter().map(|a| self.expr(f, *a)).collect::<Out<Vec<Sym>>>()?;
                let of = self.scalar_of(f, &node.ty, span)?;
                self.apply(Operation::Scalar(*function), args, of, span)
            }
            tree::Expr::Convert(to, a) => {
                let a = self.expr(f, *a)?;
                if let (Scalar::I64, Sym::Int { .. }) = (to, &a) {
                    return Ok(a);
                }
                self.apply(Operation::Convert(*to), vec![a], *to, span)
            }
            tree::Expr::Guard(p, e) => self.guard(f, *p, *e, span),
            tree::Expr::Array(items) => self.literal(f, items, &node.ty, span),
            tree::Expr::Tuple(items) => {
                let items = items.iter().map(|e| self.expr(f, *e)).collect::<Out<_>>()?;
                Ok(Sym::Tuple(items, Labels::Places))
            }
            tree::Expr::Record(items) => self.record(f, items, &node.ty),
            tree::Expr::Proj(e, k) => {
                let ty = body.nodes[*e].ty.clone();
                let value = self.expr(f, *e)?;
                self.project(f, &value, &ty, *k)
            }
            tree::Expr::Index(x, subs) => self.index(f, id, *x, subs),
            tree::Expr::Call { callee, args } => self.call(f, id, callee, args),
            tree::Expr::Checked(checks, e) => {
                let value = self.expr(f, *e)?;
                self.checked(f, id, checks, value)
            }
            tree::Expr::Opened(opens, e) => {
                let value = self.expr(f, *e)?;
                self.opened(f, opens, &body.nodes[*e].ty, &value, span)?;
                Ok(value)
            }
            tree::Expr::Card(r) => self.population(f, *r, span),
            tree::Expr::Lambda(lambda) => {
                let captures = lambda.captures.iter().filter_map(|l| Some((*l, f.env.get(l)?.clone())));
                let (scope, env) = (Rc::clone(&f.code), captures.collect());
                Ok(Sym::Fun(Rc::new(Closure::Lambda { scope, env, lambda: lambda.clone() })))
            }
            tree::Expr::Let(bindings, e) => {
                for (pat, e) in bindings {
                    let value = self.expr(f, *e)?;
                    self.pattern(f, pat, &value, &body.nodes[*e].ty, span)?;
                }
                self.expr(f, *e)
            }
            tree::Expr::If(arms, last) => self.choice(f, arms, *last, &node.ty, span),
            tree::Expr::Match(e, arms) => self.matching(f, *e, arms, &node.ty, span),
            tree::Expr::Binder { kind, vars, filter, body } => self.binder(f, id, *kind, vars, *filter, *body),
            tree::Expr::Fold { scan, acc, init, vars, body, yields } => {
                let fold = Fold { scan: *scan, acc, init: *init, vars, body: *body, yields: *yields };
                self.fold(f, id, &fold)
            }
            tree::Expr::Checkpoint(every, of) => self.checkpoint(f, *every, *of),
            tree::Expr::Loop { scan, acc, init, cond, body } => self.repeat(f, id, *scan, acc, *init, *cond, *body),
            tree::Expr::With(x, updates) => self.update(f, *x, updates, span),
            tree::Expr::Member(r, args) => self.member(f, *r, args, span),
            tree::Expr::Special(special, args) => self.special(f, id, special, args),
        }
    }

    fn special(&mut self, f: &mut Frame, id: TId, special: &Special, args: &[TId]) -> Out<Sym> {
        let span = self.span(f, id);
        let node = f.code.body.nodes[id].clone();
        let outside = |this: &Self, reason| Err(this.outside(reason, span));
        let first = args.first().copied();
        match (special, first) {
            (Special::Assert(text), Some(p)) => {
                let p = self.predicate(f, p)?;
                let what = self.failing(f, id, Code::E0502, format!("assertion failed: {text}"));
                // Nothing reads the value of an assertion. So it has a binding of its own, which
                // every form keeps.
                let unit = Expr::new(Kind::Tuple(Vec::new()), CoreType::unit(), span);
                let ty = unit.ty.clone();
                let check = Expr::new(Kind::Check(p, what, unit), ty, span);
                Ok(Sym::Data(self.bind("assert", check)))
            }
            (Special::Error(text), _) => {
                let what = self.failing(f, id, Code::E0503, text.clone());
                let ty = self.core_type(f, &node.ty, span)?;
                let zero = self.zero(&ty, span);
                Ok(self.checking(Pred::falsity(), what, &zero))
            }
            (Special::Par, _) => {
                let items = args.iter().map(|e| self.expr(f, *e)).collect::<Out<_>>()?;
                Ok(Sym::Tuple(items, Labels::Places))
            }
            (Special::Stop, Some(e)) => {
                let value = self.expr(f, e)?;
                let ty = self.core_type(f, &node.ty, span)?;
                self.stopped(&value, &ty, span)
            }
            (Special::Reshape, Some(x)) => self.reshape(f, id, x, &node.ty, span),
            (Special::Relation, Some(rows)) => self.listed(f, id, rows, span),
            (Special::Deriv(by), Some(e)) => self.deriv(f, *by, e, span),
            _ => outside(self, Reason::Effect),
        }
    }

    /// Makes a value constant to derivatives (`stop`), leaf by leaf.
    fn stopped(&mut self, value: &Sym, ty: &CoreType, span: Span) -> Out<Sym> {
        Ok(match (value, ty) {
            (Sym::Int { .. } | Sym::Bool(_), _) => value.clone(),
            (_, CoreType::Scalar(_) | CoreType::Tensor(..)) => {
                let e = self.data(value, span)?;
                let stop = |items: Vec<E>| {
                    let ty = items.first().map_or(CoreType::Scalar(Scalar::F64), |e| e.ty.clone());
                    Expr::new(Kind::Apply(Operation::Stop, items), ty, span)
                };
                match ty.peel().1 {
                    CoreType::Scalar(_) => Sym::Data(self.lift(vec![e], ty, &stop)),
                    _ => return Err(self.outside(Reason::Derivative, span)),
                }
            }
            (_, CoreType::Tuple(types, names)) => {
                let mut items = Vec::new();
                for (k, ty) in types.iter().enumerate() {
                    let item = self.component(value, k)?;
                    items.push(self.stopped(&item, ty, span)?);
                }
                Sym::Tuple(items, names.clone())
            }
            (_, CoreType::Rel(_)) => value.clone(),
        })
    }

    // ---- constants ----

    fn real(&mut self, f: &Frame, x: f64, ty: &Type, span: Span) -> Out<Sym> {
        let ty = self.core_type(f, ty, span)?;
        Ok(Sym::Data(Expr::new(Kind::Constant(Constant::Real(x)), ty, span)))
    }

    /// Elaborates an integer literal, which is real if a type parameter requires it.
    #[expect(clippy::cast_precision_loss, reason = "literals become the nearest real, as in the interpreter")]
    fn int(&mut self, f: &Frame, i: i64, ty: &Type, span: Span) -> Out<Sym> {
        let ty = self.core_type(f, ty, span)?;
        Ok(match ty {
            CoreType::Scalar(Scalar::F64) => Sym::Data(Expr::new(Kind::Constant(Constant::Real(i as f64)), ty, span)),
            CoreType::Scalar(Scalar::F32) => {
                Sym::Data(Expr::new(Kind::Constant(Constant::Real(f64::from(i as f32))), ty, span))
            }
            _ => Sym::Int { poly: Poly::constant(i.into()), exact: true },
        })
    }

    /// Returns the zero of a type: a bracket that is false.
    pub(super) fn zero(&mut self, ty: &CoreType, span: Span) -> E {
        match ty {
            CoreType::Scalar(s) => {
                let zero = match s {
                    Scalar::F64 | Scalar::F32 => Constant::Real(0.0),
                    Scalar::I64 => Constant::Int(0),
                    Scalar::Bool => Constant::Bool(false),
                };
                let e = Expr::new(Kind::Constant(zero), ty.clone(), span);
                Expr::guard(Pred::falsity(), e)
            }
            CoreType::Tensor(n, inner) => {
                let index = self.vars.index("i", n.clone());
                let inner = self.zero(inner, span);
                Expr::generate(index, inner)
            }
            CoreType::Tuple(items, _) => {
                let items = items.iter().map(|t| self.zero(t, span)).collect();
                Expr::new(Kind::Tuple(items), ty.clone(), span)
            }
            CoreType::Rel(_) => Expr::new(Kind::Tuple(Vec::new()), ty.clone(), span),
        }
    }

    // ---- tuples, records, sums ----

    fn record(&mut self, f: &mut Frame, items: &[(u32, TId)], ty: &Type) -> Out<Sym> {
        let Type::Record(fields) = ty else { return Err(self.outside(Reason::Errors, Span::default())) };
        let mut values: Vec<Option<Sym>> = vec![None; fields.len()];
        for (k, e) in items {
            let value = self.expr(f, *e)?;
            if let Some(slot) = values.get_mut(*k as usize) {
                *slot = Some(value);
            }
        }
        let order = field_order(fields);
        let names: Arc<[Name]> = order.iter().filter_map(|k| Some(fields.get(*k)?.0.clone())).collect();
        let values = order.iter().filter_map(|k| values.get(*k)?.clone()).collect();
        Ok(Sym::Tuple(values, Labels::Fields(names)))
    }

    /// Returns a component by its position in the source type.
    pub(super) fn project(&mut self, f: &Frame, value: &Sym, ty: &Type, k: u32) -> Out<Sym> {
        let ty = self.concrete_shape(f, ty);
        let at = match &ty {
            Type::Record(fields) => field_order(fields).iter().position(|j| *j == k as usize).unwrap_or_default(),
            _ => k as usize,
        };
        self.component(value, at)
    }

    /// Returns the type with a type parameter substituted; sizes stay.
    fn concrete_shape(&self, f: &Frame, ty: &Type) -> Type {
        match ty {
            Type::Param(k, _) => f.code.types.get(*k as usize).cloned().unwrap_or(Type::Error),
            other => other.clone(),
        }
    }

    /// Returns a component by its position in core.
    pub(super) fn component(&mut self, value: &Sym, k: usize) -> Out<Sym> {
        match value {
            Sym::Tuple(items, _) => match items.get(k) {
                Some(item) => Ok(item.clone()),
                None => Err(self.outside(Reason::Errors, Span::default())),
            },
            Sym::Data(e) => {
                let e = self.bind("t", e.clone());
                let part = Expr::proj(&e, u32::try_from(k).unwrap_or(u32::MAX));
                Ok(self.known(part))
            }
            _ => Err(self.outside(Reason::Errors, Span::default())),
        }
    }

    // ---- checks ----

    /// Returns the value with a check, unless the context implies the predicate.
    pub(super) fn checking(&mut self, p: Pred, what: Arc<lang_ir::core::Failing>, e: &E) -> Sym {
        if self.context.implies(&p) {
            return self.known(e.clone());
        }
        let e = Expr::new(Kind::Check(p, what, e.clone()), e.ty.clone(), e.span);
        self.known(e)
    }

    fn checked(&mut self, f: &mut Frame, id: TId, checks: &[SizeCheck], value: Sym) -> Out<Sym> {
        let span = self.span(f, id);
        let mut value = value;
        for check in checks {
            let found = self.poly(f, &check.found, span)?;
            let p = match &check.wanted {
                Demand::Equal(wanted) => Pred::equal(&found, &self.poly(f, wanted, span)?),
                Demand::Size => Pred::inside(&found, &Poly::constant(super::BOUND)),
            };
            if self.context.implies(&p) {
                continue;
            }
            let what = self.failing(f, id, Code::E0501, check.what.clone());
            value = match &value {
                Sym::Fun(_) => return Err(self.outside(Reason::FunctionValue, span)),
                other => {
                    let e = self.data(other, span)?;
                    self.checking(p, what, &e)
                }
            };
        }
        Ok(value)
    }

    // ---- truth values ----

    /// Elaborates `&&` and `||`. Each operand is evaluated only if those before it do not decide
    /// the result.
    fn conjunction(&mut self, f: &mut Frame, items: &[TId], and: bool) -> Out<Sym> {
        let mut so_far = if and { Pred::truth() } else { Pred::falsity() };
        for e in items {
            let reached = if and { so_far.clone() } else { so_far.negated() };
            let (bindings, p) = self.scope(|this| this.under(&reached, |this| this.predicate(f, *e)))?;
            self.bind_under(&reached, bindings);
            so_far = if and { so_far.and(&p) } else { Pred::any_of([so_far, p]) };
        }
        Ok(Sym::Bool(so_far))
    }

    /// Moves bindings of an inner scope into the current one, evaluated where a predicate holds.
    pub(super) fn bind_under(&mut self, p: &Pred, bindings: Vec<(lang_sizes::predicate::LocalId, E)>) {
        let guarded = bindings.into_iter().map(|(x, e)| (x, Expr::guard(p.clone(), e)));
        if let Some(scope) = self.scopes.last_mut() {
            scope.bindings.extend(guarded);
        }
    }

    /// Elaborates `a < b <= c`.
    fn compare(&mut self, f: &mut Frame, first: TId, rest: &[(BinOp, TId)], span: Span) -> Out<Sym> {
        let mut left = self.expr(f, first)?;
        if let ([(op, e)], false) = (rest, matches!(left, Sym::Int { .. } | Sym::Bool(_))) {
            let right = self.expr(f, *e)?;
            return self.comparison(*op, left, right, span);
        }
        let mut so_far = Pred::truth();
        for (op, e) in rest {
            let reached = so_far.clone();
            let before = left.clone();
            let (bindings, (p, right)) = self.scope(|this| {
                this.under(&reached, |this| {
                    let right = this.expr(f, *e)?;
                    let p = this.comparison(*op, before, right.clone(), span)?;
                    let p = match p {
                        Sym::Bool(p) => p,
                        _ => return Err(this.outside(Reason::Errors, span)),
                    };
                    Ok((p, right))
                })
            })?;
            self.bind_under(&reached, bindings);
            so_far = so_far.and(&p);
            left = right;
        }
        Ok(Sym::Bool(so_far))
    }

    /// Elaborates one comparison: a predicate for integers that cannot have wrapped, else an
    /// operation.
    fn comparison(&mut self, op: BinOp, a: Sym, b: Sym, span: Span) -> Out<Sym> {
        if let (Sym::Int { .. }, Sym::Int { .. }) = (&a, &b) {
            let (a, b) = (self.exact(a, span)?, self.exact(b, span)?);
            self.use_in_index(&a);
            self.use_in_index(&b);
            return Ok(Sym::Bool(match op {
                BinOp::Eq => Pred::equal(&a, &b),
                BinOp::Ne => Pred::equal(&a, &b).negated(),
                BinOp::Lt => Pred::less(&a, &b),
                BinOp::Le => Pred::at_most(&a, &b),
                BinOp::Gt => Pred::less(&b, &a),
                _ => Pred::at_most(&b, &a),
            }));
        }
        if let (Sym::Bool(p), Sym::Bool(q), BinOp::Eq | BinOp::Ne) = (&a, &b, op) {
            let same = Pred::any_of([p.and(q), p.negated().and(&q.negated())]);
            return Ok(Sym::Bool(if op == BinOp::Eq { same } else { same.negated() }));
        }
        self.apply(Operation::Binary(op), vec![a, b], Scalar::Bool, span)
    }

    /// Returns the polynomial of an integer. If an operation on it may have wrapped, returns a
    /// variable that holds the value instead.
    ///
    /// Fails with `Wraps` if small numbers suffice for the wrap, because a later pass substitutes
    /// the variable's polynomial. The interpreter evaluates such a program.
    pub(super) fn exact(&mut self, a: Sym, span: Span) -> Out<Poly> {
        Ok(match a {
            Sym::Int { poly, exact: true } => poly,
            Sym::Int { poly, .. } if is_steep(&poly) => return Err(self.outside(Reason::Wraps, span)),
            Sym::Int { poly, .. } => {
                let e = Expr::new(Kind::Index(poly), CoreType::Scalar(Scalar::I64), span);
                let e = self.bind_always(&e);
                match super::element(&e) {
                    Some((x, at)) => Poly::atom(Atom::Read(x, self.vars.name(x), at.into())),
                    None => Poly::atom(Atom::Overflow),
                }
            }
            _ => Poly::atom(Atom::Overflow),
        })
    }

    /// Elaborates an integer expression as an index.
    pub(super) fn index_of(&mut self, f: &mut Frame, id: TId) -> Out<Poly> {
        let span = self.span(f, id);
        let value = self.expr(f, id)?;
        let poly = self.exact(value, span)?;
        self.use_in_index(&poly);
        if poly.overflowed() { Err(self.outside(Reason::TooLarge, span)) } else { Ok(poly) }
    }

    /// Returns the element type of a type.
    pub(super) fn scalar_of(&mut self, f: &Frame, ty: &Type, span: Span) -> Out<Scalar> {
        let ty = self.core_type(f, ty, span)?;
        ty.peel().1.scalar().ok_or_else(|| self.outside(Reason::Errors, span))
    }
}

/// Returns whether the polynomial has coefficients with which numbers far below 2^47 leave the
/// range of `i64`.
pub(super) fn is_steep(p: &Poly) -> bool {
    const STEEP: u128 = 1 << 16;
    p.terms().iter().any(|(m, c)| {
        let inner = |a: &Atom| match a {
            Atom::Div(p, q) | Atom::Mod(p, q) | Atom::Min(p, q) | Atom::Max(p, q) => is_steep(p) || is_steep(q),
            _ => false,
        };
        !m.is_empty() && c.unsigned_abs() >= STEEP || m.iter().any(|(a, _)| inner(a))
    })
}
