//! Tensor SSA as lines: for each statement what an element of it is, as an expression over the statement's own
//! indices. What it reads are still elements of other statements; [`super::merge`] puts those together.

use std::sync::Arc;

use super::Outside;
use super::known::{Facts, told, told_poly, told_pred};
use super::table::Table;
use super::tree::{Ex, Reduced};
use crate::base::{Code, Name};
use crate::ir::core::{Callee, Constant, Operation};
use crate::ir::ssa::{Access, Rhs, Ssa, Stmt, Var, for_each_read, index, index_number, reads};
use crate::predicate::{Atom, Index, Poly, Pred};
use crate::syntax::ops::{BinOp, Scalar};

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Its indices.
    pub(super) indices: Vec<Index>,
    /// What it holds; a relation holds none.
    pub(super) scalar: Option<Scalar>,
    /// What it is.
    pub(super) is: Is,
    /// A name of the program for it.
    pub(super) name: Option<Name>,
}

/// What a line is.
#[derive(Clone, Debug)]
pub(super) enum Is {
    /// A part of a parameter or of a top-level `let`.
    Input,
    /// Its element.
    Element(Ex),
    /// A part of a call.
    Call(Call, u32),
    /// An array with some of its elements replaced.
    Update(Box<Updated>),
}

/// `base with [at] = value`, for every tuple of the first indices and of the bound ones.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Updated {
    pub(super) batch: Vec<Index>,
    /// The axes of the array.
    pub(super) own: Vec<Index>,
    /// Its element before.
    pub(super) base: Ex,
    pub(super) bound: Vec<Index>,
    pub(super) pred: Pred,
    pub(super) at: Vec<Poly>,
    pub(super) value: Ex,
    /// Is it added?
    pub(super) add: bool,
}

/// What is done with an expression of a line: the indices around it that are the line's own, and what holds there.
type OnPart<'f> = &'f mut dyn FnMut(&[Index], &Pred, &Ex) -> Ex;

impl Is {
    /// With its expressions replaced.
    pub(super) fn map(&self, indices: &[Index], f: OnPart<'_>) -> Self {
        let truth = Pred::truth();
        let and = |a: &[Index], b: &[Index]| a.iter().chain(b).cloned().collect::<Vec<Index>>();
        match self {
            Self::Input => Self::Input,
            Self::Element(e) => Self::Element(f(indices, &truth, e)),
            Self::Call(call, part) => {
                let args = call.args.iter().map(|(own, e)| (own.clone(), f(&and(&call.batch, own), &call.pred, e)));
                Self::Call(Call { args: args.collect(), ..call.clone() }, *part)
            }
            Self::Update(of) => Self::Update(Box::new(Updated {
                base: f(&and(&of.batch, &of.own), &truth, &of.base),
                value: f(&and(&of.batch, &of.bound), &of.pred, &of.value),
                ..(**of).clone()
            })),
        }
    }

    /// Calls `f` on its expressions, each with the indices around it.
    pub(super) fn for_each_part(&self, indices: &[Index], f: &mut dyn FnMut(&[Index], &Ex)) {
        let _ = self.map(indices, &mut |around, _, e| {
            f(around, e);
            e.clone()
        });
    }
}

/// A call for every tuple of the first indices.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Call {
    pub(super) callee: Arc<Callee>,
    pub(super) pred: Pred,
    /// Parts of the arguments, each with its own indices.
    pub(super) args: Vec<(Vec<Index>, Ex)>,
    /// The extents of the place.
    pub(super) batch: Vec<Index>,
}

impl Call {
    /// The call with facts put in.
    pub(super) fn told(&self, facts: Facts<'_>) -> Self {
        let index = |i: &Index| Index { extent: told_poly(&i.extent, facts), ..i.clone() };
        let args = self.args.iter().map(|(own, e)| (own.iter().map(index).collect(), told(e, facts).0));
        Self {
            callee: Arc::clone(&self.callee),
            pred: told_pred(&self.pred, facts),
            args: args.collect(),
            batch: self.batch.iter().map(index).collect(),
        }
    }
}

impl Line {
    /// The statements that it reads, each time it does; `true` where that is in an index or predicate.
    pub(super) fn for_each_use(&self, f: &mut dyn FnMut(Var, bool)) {
        self.is.for_each_part(&self.indices, &mut |_, e| e.for_each_use(f));
        match &self.is {
            Is::Call(call, _) => for_each_read(&call.pred, &mut |v| f(v, true)),
            Is::Update(of) => {
                for_each_read(&of.pred, &mut |v| f(v, true));
                of.at.iter().chain(of.bound.iter().map(|i| &i.extent)).for_each(|p| reads(p, &mut |v| f(v, true)));
            }
            Is::Input | Is::Element(_) => {}
        }
    }

    /// Its element, if it is one.
    pub(super) fn element(&self) -> Option<&Ex> {
        if let Is::Element(e) = &self.is { Some(e) } else { None }
    }

    /// The element at some indices.
    pub(super) fn at(&self, at: &[Poly], fresh: &mut Table) -> Option<Ex> {
        let put = |p: &Poly| {
            p.substitute(&|a| self.indices.iter().position(|i| i.atom() == *a).and_then(|k| at.get(k).cloned()))
        };
        Some(self.element()?.refreshed(fresh).map_polys(&put))
    }

    /// Its extents.
    pub(super) fn extents(&self) -> Vec<Poly> {
        self.indices.iter().map(|i| i.extent.clone()).collect()
    }
}

/// The lines of a function.
pub(super) fn lines(ssa: &Ssa, fresh: &mut Table) -> Result<Vec<Line>, Outside> {
    let mut lines: Vec<Line> = Vec::new();
    for stmt in &ssa.stmts {
        let line = line(ssa, stmt, &lines, fresh)?;
        let (tame, counts) = match &line.is {
            Is::Input => (true, false),
            Is::Element(e) => (fresh.is_tame(e), fresh.is_count(e)),
            Is::Call(..) | Is::Update(_) => (false, true),
        };
        fresh.counts.push(counts);
        fresh.extents.push(line.extents());
        fresh.tame.push(tame);
        lines.push(line);
    }
    Ok(lines)
}

fn line(ssa: &Ssa, stmt: &Stmt, before: &[Line], fresh: &mut Table) -> Result<Line, Outside> {
    let mut place = Place { indices: Vec::new() };
    for n in &stmt.dims {
        let n = place.poly(n);
        place.indices.push(fresh.index(n));
    }
    let own = place.indices.clone();
    let scalar = stmt.scalar.unwrap_or(Scalar::F64);
    let read = |place: &Place, a: &Access| Ex::Read(a.var, a.at.iter().map(|p| place.poly(p)).collect());
    let is = match &stmt.rhs {
        Rhs::Input(_) => Is::Input,
        Rhs::Constant(c) => Is::Element(constant(*c)),
        Rhs::Zero => Is::Element(zero(scalar)),
        Rhs::Index(p) => Is::Element(Ex::Index(place.poly(p))),
        Rhs::Add(items) => {
            if scalar == Scalar::Bool {
                return Err(Outside::Truth);
            }
            let term = |a: &crate::ir::ssa::Addend| {
                let pred = Pred::all(a.pred.conjuncts().iter().filter(|p| !says_where(ssa, &a.of, p)).cloned());
                (a.neg, Ex::guard(pred.map(&|p| place.poly(p)), read(&place, &a.of)))
            };
            Is::Element(Ex::sum(items.iter().map(term).collect()))
        }
        Rhs::Contract { bound, pred, neg, factors } => {
            let mut indices = Vec::new();
            for n in bound {
                let index = fresh.index(place.poly(n));
                place.indices.push(index.clone());
                indices.push(index);
            }
            if scalar == Scalar::Bool && (factors.len() > 1 || !indices.is_empty()) {
                return Err(Outside::Truth);
            }
            let kept = pred.conjuncts().iter().filter(|p| match factors.as_slice() {
                [one] => !says_where(ssa, one, p),
                _ => true,
            });
            let pred = Pred::all(kept.cloned()).map(&|p| place.poly(p));
            let factors: Vec<Ex> = factors.iter().map(|a| read(&place, a)).collect();
            let product = match factors.as_slice() {
                [one] if !*neg => one.clone(),
                _ => Ex::product(if *neg { -1.0 } else { 1.0 }, factors, Vec::new()),
            };
            Is::Element(Ex::total(indices, pred, product))
        }
        Rhs::Reduce(r) => {
            for n in &r.bound {
                let index = fresh.index(place.poly(n));
                place.indices.push(index);
            }
            let put = r.put(&|p| place.poly(p));
            let indices = place.indices.get(own.len()..).unwrap_or_default().to_vec();
            let body = Ex::Read(put.of.var, put.of.at);
            // A place, or the greatest of integers, over nothing is a failure in the language: where that is none it
            // is asked for.
            let (reducer, terms, place) = (put.reducer, put.terms, put.place);
            let of = ssa.stmts.get(r.of.var.0 as usize).and_then(|s| s.scalar).unwrap_or(Scalar::F64);
            let reduced = Reduced { reducer, fails: reducer.needs_terms(of), indices, terms, place, body };
            let some = reduced.some();
            let asked = reducer.needs_terms(of) && (!reducer.gives_place() || some.is_opaque()) && !fails(ssa, stmt);
            let nothing = reducer.nothing(of);
            let reduced = Ex::Reduce(Box::new(reduced));
            let reduced = if asked { Ex::choice(some, reduced, Ex::Constant(nothing)) } else { reduced };
            Is::Element(Ex::guard(put.pred, reduced))
        }
        Rhs::Map { operation, pred, args } => {
            let pred = pred.map(&|p| place.poly(p));
            let exponent = args.get(1).and_then(|a| integer(before, a.var));
            let args: Vec<Ex> = args.iter().map(|a| read(&place, a)).collect();
            let e = match (operation, args.as_slice()) {
                (Operation::Binary(BinOp::Div), [a, b]) => Ex::product(1.0, vec![a.clone()], vec![b.clone()]),
                (Operation::PowInt, [x, _]) if exponent.is_some() && scalar != Scalar::I64 => {
                    Ex::power(x.clone(), exponent.unwrap_or(1))
                }
                _ => Ex::Apply(*operation, args),
            };
            Is::Element(Ex::guard(pred, e))
        }
        Rhs::Call { callee, pred, args, batch, part, .. } => {
            let batch: Vec<Index> = own.iter().take(*batch as usize).cloned().collect();
            let pred = pred.map(&|p| place.poly(p));
            let mut parts = Vec::new();
            for a in args {
                let first: Vec<Poly> = a.at.iter().map(|p| place.poly(p)).collect();
                let inner = before.get(a.var.0 as usize).map(|l| l.indices.clone()).unwrap_or_default();
                let mut rest = Vec::new();
                for i in inner.iter().skip(first.len()) {
                    rest.push(fresh.index(i.extent.clone()));
                }
                let at = first.into_iter().chain(rest.iter().map(Index::value)).collect();
                parts.push((rest, Ex::Read(a.var, at)));
            }
            Is::Call(Call { callee: callee.clone(), pred, args: parts, batch }, *part)
        }
        Rhs::Order(_) => return Err(Outside::Order),
        Rhs::Update { base, batch, bound, pred, at, value, add } => {
            let (batch, left) = own.split_at_checked(*batch as usize).ok_or(Outside::Unreadable)?;
            for n in bound {
                let index = fresh.index(place.poly(n));
                place.indices.push(index);
            }
            let mut base = read(&place, base);
            if let Ex::Read(_, at) = &mut base {
                at.extend(left.iter().map(Index::value));
            }
            let updated = Updated {
                batch: batch.to_vec(),
                own: left.to_vec(),
                base,
                bound: place.indices.get(own.len()..).unwrap_or_default().to_vec(),
                pred: pred.map(&|p| place.poly(p)),
                at: at.iter().map(|p| place.poly(p)).collect(),
                value: read(&place, value),
                add: *add,
            };
            let zero = before.get(value.var.0 as usize).and_then(Line::element).is_some_and(Ex::is_zero);
            updated.element(zero).map_or_else(|| Is::Update(Box::new(updated)), Is::Element)
        }
        Rhs::Loop(..) => return Err(Outside::Loop),
    };
    Ok(Line { indices: own, scalar: stmt.scalar, is, name: stmt.name.clone() })
}

/// Does it fail where there is no term?
fn fails(ssa: &Ssa, stmt: &Stmt) -> bool {
    let code = |c: &u32| ssa.checks.get(*c as usize).map(|c| c.what.code);
    stmt.needs.iter().any(|c| code(c) == Some(Code::E0504))
}

/// Does it say of what is read only that there is a term in it, where it is zero otherwise?
fn says_where(ssa: &Ssa, of: &Access, p: &Pred) -> bool {
    let Some(Rhs::Contract { bound, pred, .. }) = ssa.stmts.get(of.var.0 as usize).map(|s| &s.rhs) else {
        return false;
    };
    let Some(free) = ssa.stmts.get(of.var.0 as usize).map(|s| s.dims.len()) else { return false };
    let some = bound.iter().enumerate().rev();
    let some = some.fold(pred.clone(), |p, (k, n)| Pred::exists(&index(free + k, n), &p));
    let some = some.map(&|p| crate::ir::ssa::at_indices(p, &of.at));
    matches!(p, Pred::Any(..)) && some.conjuncts().contains(p)
}

/// The integer constant that a line is.
fn integer(lines: &[Line], var: Var) -> Option<i64> {
    match lines.get(var.0 as usize)?.element()? {
        Ex::Constant(Constant::Int(k)) => Some(*k),
        _ => None,
    }
}

fn constant(c: Constant) -> Ex {
    if let Constant::Real(x) = c { Ex::real(x) } else { Ex::Constant(c) }
}

/// The zero of a scalar type.
pub(super) fn zero(scalar: Scalar) -> Ex {
    match scalar {
        Scalar::F64 | Scalar::F32 => Ex::real(0.0),
        Scalar::I64 => Ex::Constant(Constant::Int(0)),
        Scalar::Bool => Ex::Constant(Constant::Bool(false)),
    }
}

/// The indices of a statement in place of the canonical ones.
pub(super) struct Place {
    pub(super) indices: Vec<Index>,
}

impl Place {
    pub(super) fn poly(&self, p: &Poly) -> Poly {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => self.indices.get(index_number(*l)?).map(Index::value),
            _ => None,
        })
    }
}
