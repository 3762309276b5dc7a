//! **Arithmetic.** Sums and products use the calculus's own forms, and every other operation is a
//! black box. All of them are lifted over arrays by generations.

use std::sync::Arc;

use super::close::is_total;
use super::expr::is_steep;
use super::{Elaborator, Frame, Out, Sym};
use lang_base::{Code, Span};
use lang_ir::core::{CoreType, E, Expr, Failing, Kind, Operation, Reason};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};
use lang_types::tree::{self, TId};

/// The failure of a partial operation, and the condition on the second operand under which it is
/// defined.
type Asked<'a> = (Arc<Failing>, &'a dyn Fn(&Poly) -> Pred);

impl Elaborator<'_> {
    /// Elaborates `+ - * / // %`. Chains nest to the left without limit, and consecutive terms
    /// become one sum.
    pub(super) fn chain(&mut self, f: &mut Frame, id: TId) -> Out<Sym> {
        let body = Arc::clone(&f.code.body);
        let mut links = Vec::new();
        let mut first = id;
        while let tree::Expr::Arith(op, a, b) = &body.nodes[first].kind {
            links.push((*op, *b, first));
            first = *a;
        }
        let mut value = self.expr(f, first)?;
        let mut terms: Vec<Sym> = Vec::new();
        let mut before = self.span(f, first);
        for (op, b, at) in links.into_iter().rev() {
            let span = self.span(f, at);
            // The left operand's span covers the whole chain so far.
            let so_far = std::mem::replace(&mut before, span);
            let right = self.expr(f, b)?;
            let sum = matches!(op, BinOp::Add | BinOp::Sub) && !matches!(value, Sym::Int { .. });
            if sum {
                if terms.is_empty() {
                    terms.push(value.clone());
                }
                terms.push(if op == BinOp::Sub { self.negate(right, span)? } else { right });
                continue;
            }
            if !terms.is_empty() {
                value = self.sum(std::mem::take(&mut terms), so_far)?;
            }
            value = match self.arith(f, at, op, value, right, span)? {
                Sym::Data(e) => Sym::Data(Expr::at(&e, span)),
                value => value,
            };
        }
        if terms.is_empty() { Ok(value) } else { self.sum(terms, self.span(f, id)) }
    }

    fn arith(&mut self, f: &Frame, id: TId, op: BinOp, a: Sym, b: Sym, span: Span) -> Out<Sym> {
        if let (Sym::Int { poly: p, exact: x }, Sym::Int { poly: q, exact: y }) = (&a, &b)
            && let Some(value) = self.integers(op, (p, *x), (q, *y))
        {
            return Ok(value);
        }
        match op {
            BinOp::Add => self.sum(vec![a, b], span),
            BinOp::Sub => {
                let b = self.negate(b, span)?;
                self.sum(vec![a, b], span)
            }
            BinOp::Mul => {
                let (a, b) = (self.data(&a, span)?, self.data(&b, span)?);
                let ty = joint(&a.ty, &b.ty);
                let p = self.mask_of_product(&[&a, &b]);
                let (a, b) = (self.evaluated(&p, a), self.evaluated(&p, b));
                let product = |mut args: Vec<E>| {
                    let (b, a) = (args.pop(), args.pop());
                    match (a, b) {
                        (Some(a), Some(b)) => Expr::guard(p.clone(), a.with(Kind::Mul(a.clone(), b), a.ty.clone())),
                        _ => Expr::new(Kind::Tuple(Vec::new()), CoreType::unit(), span),
                    }
                };
                let e = self.lift(vec![a, b], &ty, &product);
                Ok(self.known(e))
            }
            BinOp::Div => {
                let of = self.scalar_of(f, &f.code.body.nodes[id].ty, span)?;
                let (a, b) = (self.data(&a, span)?, self.data(&b, span)?);
                let p = self.mask_of_product(&[&a]);
                let args = vec![Sym::Data(self.evaluated(&p, a)), Sym::Data(self.evaluated(&p, b))];
                self.apply_where(&p, Operation::Binary(op), args, of, span)
            }
            _ => {
                let divides = matches!(op, BinOp::FloorDiv | BinOp::Mod);
                let of = self.scalar_of(f, &f.code.body.nodes[id].ty, span)?;
                if divides && of == Scalar::I64 {
                    return self.integer_quotient(f, id, op, &a, &b, span);
                }
                self.apply(Operation::Binary(op), vec![a, b], of, span)
            }
        }
    }

    /// Returns the result as a polynomial, if the operation has one.
    fn integers(&mut self, op: BinOp, (p, x): (&Poly, bool), (q, y): (&Poly, bool)) -> Option<Sym> {
        let poly = match op {
            BinOp::Add => p.add(q),
            BinOp::Sub => p.sub(q),
            BinOp::Mul => p.mul(q),
            // A division by a possible 0 fails, and a wrapped operand has another quotient than its
            // polynomial.
            BinOp::FloorDiv if x && q.as_constant().is_some() => p.div(q)?,
            BinOp::Mod if x && q.as_constant().is_some() => p.rem(q)?,
            _ => return None,
        };
        let quotient = matches!(op, BinOp::FloorDiv | BinOp::Mod);
        let fits = self.fits(&poly);
        (!poly.overflowed() && (fits || !quotient)).then(|| wrapped(poly, x && y && fits))
    }

    /// Elaborates a division of integers whose divisor may be 0.
    fn integer_quotient(&mut self, f: &Frame, id: TId, op: BinOp, a: &Sym, b: &Sym, span: Span) -> Out<Sym> {
        let what = self.failing(f, id, Code::E0505, "division by zero");
        self.partial(Operation::Binary(op), a, b, (what, &|divisor| Pred::zero(divisor).negated()), span)
    }

    /// Elaborates an integer operation that is defined only for some second operands. Each element
    /// has a check of its own.
    fn partial(&mut self, operation: Operation, a: &Sym, b: &Sym, (what, holds): Asked<'_>, span: Span) -> Out<Sym> {
        let integer = CoreType::Scalar(Scalar::I64);
        let apply = |a: E, b: E| Expr::new(Kind::Apply(operation, vec![a, b]), CoreType::Scalar(Scalar::I64), span);
        // A quotient of a wrapped number is not the quotient of its polynomial.
        if matches!(a, Sym::Int { poly, exact: false } if is_steep(poly)) {
            return Err(self.outside(Reason::Wraps, span));
        }
        let first = self.data(a, span)?;
        let second = self.data(b, span)?;
        let array = matches!(second.ty, CoreType::Tensor(..));
        let of = if array { Poly::default() } else { self.integer_of(b, &second, span)? };
        let ty = joint(&first.ty, &second.ty);
        let dims: Vec<Poly> = ty.peel().0.into_iter().cloned().collect();
        let scalar = self.data(&Sym::Int { poly: of.clone(), exact: true }, span)?;
        if dims.is_empty() {
            return Ok(self.checking(holds(&of), what, &apply(first, scalar)));
        }
        let (first, second) = (self.named_array(first), self.named_array(second));
        let indices: Vec<_> = dims.into_iter().map(|n| self.vars.index("i", n)).collect();
        let at = |e: &E| match e.ty {
            CoreType::Tensor(..) => indices.iter().fold(e.clone(), |e, i| Expr::access(&e, i.value())),
            _ => e.clone(),
        };
        let second = if array { at(&second) } else { scalar };
        let of = match super::element(&second) {
            Some((x, at)) if array => Poly::atom(Atom::Read(x, self.vars.name(x), at.into())),
            _ => of,
        };
        let mut e = apply(at(&first), second);
        let p = holds(&of);
        if !self.context.implies(&p) {
            e = Expr::new(Kind::Check(p, what, e), integer, span);
        }
        Ok(Sym::Data(indices.into_iter().rev().fold(e, |e, i| Expr::generate(i, e))))
    }

    /// Returns the polynomial of an integer operand.
    fn integer_of(&mut self, value: &Sym, data: &E, span: Span) -> Out<Poly> {
        let value = match value {
            Sym::Int { .. } => value.clone(),
            _ => self.known(data.clone()),
        };
        self.exact(value, span)
    }

    /// Binds an array to a variable, so that its elements are elements of a variable.
    pub(super) fn named_array(&mut self, e: E) -> E {
        if matches!(e.kind, Kind::Var(_)) || !matches!(e.ty, CoreType::Tensor(..)) { e } else { self.bind_always(&e) }
    }

    pub(super) fn negate(&mut self, a: Sym, span: Span) -> Out<Sym> {
        if let Sym::Int { poly, exact } = &a {
            let poly = poly.neg();
            let exact = *exact && self.fits(&poly);
            return Ok(wrapped(poly, exact));
        }
        let a = self.data(&a, span)?;
        let ty = a.ty.clone();
        let p = if matches!(ty, CoreType::Tensor(..)) { mask(&a).unwrap_or_default() } else { Pred::truth() };
        let negative = |args: Vec<E>| match args.into_iter().next() {
            Some(a) if !p.is_true() => {
                let a = Expr::guard(p.clone(), a);
                a.with(Kind::Neg(a.clone()), a.ty.clone())
            }
            Some(a) => a.with(Kind::Neg(a.clone()), a.ty.clone()),
            None => Expr::new(Kind::Tuple(Vec::new()), CoreType::unit(), span),
        };
        let e = self.lift(vec![a], &ty, &negative);
        Ok(self.known(e))
    }

    /// Elaborates a sum of terms, left to right.
    pub(super) fn sum(&mut self, terms: Vec<Sym>, span: Span) -> Out<Sym> {
        let terms = terms.iter().map(|t| self.data(t, span)).collect::<Out<Vec<E>>>()?;
        let ty = terms.iter().fold(CoreType::Scalar(Scalar::Bool), |ty, t| joint(&ty, &t.ty));
        // If a term is a bracket of an array, each of its elements is under the same bracket.
        let masks: Vec<Pred> = terms.iter().map(|t| mask(t).unwrap_or_default()).collect();
        let lifted = matches!(ty, CoreType::Tensor(..));
        let add = |args: Vec<E>| {
            let masked = args.into_iter().zip(&masks);
            let args: Vec<E> = masked.map(|(e, p)| if lifted { Expr::guard(p.clone(), e) } else { e }).collect();
            let ty = args.first().map_or(CoreType::Scalar(Scalar::F64), |e| e.ty.clone());
            Expr::new(Kind::Add(args), ty, span)
        };
        let e = self.lift(terms, &ty, &add);
        Ok(self.known(e))
    }

    pub(super) fn power(&mut self, f: &Frame, id: TId, a: Sym, b: Sym, span: Span) -> Out<Sym> {
        if let (Sym::Int { poly: p, exact }, Sym::Int { poly: q, .. }) = (&a, &b)
            && let Some(k) = q.as_constant().and_then(|k| u32::try_from(k).ok())
        {
            let poly = p.pow(k);
            if !poly.overflowed() {
                let exact = *exact && self.fits(&poly);
                return Ok(wrapped(poly, exact));
            }
        }
        let of = self.scalar_of(f, &f.code.body.nodes[id].ty, span)?;
        let integer = matches!(&b, Sym::Int { .. })
            || matches!(&b, Sym::Data(e) if e.ty.peel().1 == &CoreType::Scalar(Scalar::I64));
        if of == Scalar::I64 {
            let what = self.failing(f, id, Code::E0513, "a negative power of an integer");
            return self.partial(Operation::PowInt, &a, &b, (what, &Pred::nonneg), span);
        }
        let operation = if integer { Operation::PowInt } else { Operation::Pow };
        self.apply(operation, vec![a, b], of, span)
    }

    /// Returns the predicate under which a product has a term: the brackets of all its factors.
    fn mask_of_product(&self, factors: &[&E]) -> Pred {
        let mask = factors.iter().filter_map(|e| mask(e)).fold(Pred::truth(), |p, q| p.and(&q));
        if self.context.implies(&mask) { Pred::truth() } else { mask }
    }

    /// Returns a factor of a product that is zero unless `p` holds. A factor that may fail is bound
    /// before the product, because it is evaluated where `p` is false too.
    fn evaluated(&mut self, p: &Pred, e: E) -> E {
        let fails_elsewhere = !p.is_true() && mask(&e).as_ref() != Some(p) && !is_total(&e);
        if fails_elsewhere { self.bind_always(&e) } else { e }
    }

    /// Applies a scalar operation, lifted over arrays. `of` is the element type of the result.
    pub(super) fn apply(&mut self, operation: Operation, args: Vec<Sym>, of: Scalar, span: Span) -> Out<Sym> {
        self.apply_where(&Pred::truth(), operation, args, of, span)
    }

    /// Does the same, with zero where the predicate does not hold.
    fn apply_where(&mut self, p: &Pred, op: Operation, args: Vec<Sym>, of: Scalar, span: Span) -> Out<Sym> {
        let args = args.iter().map(|a| self.data(a, span)).collect::<Out<Vec<E>>>()?;
        let shape = args.iter().fold(CoreType::Scalar(of), |ty, a| joint(&ty, &a.ty));
        let dims: Vec<Poly> = shape.peel().0.into_iter().cloned().collect();
        let ty = CoreType::Scalar(of).array(dims.into_iter());
        let apply = |args: Vec<E>| Expr::guard(p.clone(), Expr::new(Kind::Apply(op, args), CoreType::Scalar(of), span));
        let e = self.lift(args, &ty, &apply);
        Ok(self.known(e))
    }

    /// Lifts a scalar operation over arrays of equal shapes. A scalar operand is used for every
    /// element.
    pub(super) fn lift(&mut self, args: Vec<E>, ty: &CoreType, f: &dyn Fn(Vec<E>) -> E) -> E {
        let dims: Vec<Poly> = ty.peel().0.into_iter().cloned().collect();
        if dims.is_empty() {
            return f(args);
        }
        let args: Vec<E> = args.into_iter().map(|a| self.bind("a", a)).collect();
        let indices: Vec<_> = dims.into_iter().map(|n| self.vars.index("i", n)).collect();
        let element = |a: &E| match a.ty {
            CoreType::Tensor(..) => indices.iter().fold(a.clone(), |a, i| Expr::access(&a, i.value())),
            _ => a.clone(),
        };
        let e = f(args.iter().map(element).collect());
        indices.into_iter().rev().fold(e, |e, i| Expr::generate(i, e))
    }
}

/// Returns the predicate under which brackets leave a term of a product or sum. Elsewhere the whole
/// expression is zero.
pub(super) fn mask(e: &E) -> Option<Pred> {
    match &e.kind {
        Kind::Add(terms) => terms.iter().map(mask).collect::<Option<Vec<_>>>().map(Pred::any_of),
        Kind::Guard(p, e) => Some(p.and(&mask(e).unwrap_or_default())),
        Kind::Neg(e) => mask(e),
        Kind::Gen(index, e) => mask(e).filter(|p| !p.mentions(&index.atom())),
        _ => None,
    }
}

/// Returns the type of an elementwise operation: the array type, if one operand is an array.
fn joint(a: &CoreType, b: &CoreType) -> CoreType {
    match (a, b) {
        (CoreType::Tensor(..), _) => a.clone(),
        _ => b.clone(),
    }
}

/// Returns an integer; a constant outside the range of `i64` wraps.
fn wrapped(poly: Poly, exact: bool) -> Sym {
    match poly.as_constant().map(|c| (c, i64::try_from(c))) {
        Some((c, Err(_))) => {
            let low = u64::try_from(c.rem_euclid(1 << 64)).unwrap_or_default();
            Sym::Int { poly: Poly::constant(low.cast_signed().into()), exact: true }
        }
        _ => Sym::Int { poly, exact },
    }
}
