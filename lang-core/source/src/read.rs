//! **Tensor SSA to lines.** A [`Line`] is one statement as an expression for its element, over
//! indices of its own. Its reads still refer to other statements; [`super::merge`] substitutes
//! them. [`super::writer`] and [`super::entries`] call [`lines`] first; [`super::regions`] reads
//! the bodies of loops.

use std::collections::HashMap;
use std::sync::Arc;

use super::Outside;
use super::known::{Facts, told, told_poly, told_pred};
use super::regions::{Again, Carried, Known, Looped, Piece};
use super::table::Table;
use super::tree::{Ex, Reduced};
use lang_base::{Code, Name, pause};
use lang_ir::core::{Callee, Constant, Operation};
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, for_each_read, index, index_number, reads};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// A statement of Tensor SSA, as an expression over its own indices.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Its indices.
    pub(super) indices: Vec<Index>,
    /// The scalar type of its elements; `None` for a relation.
    pub(super) scalar: Option<Scalar>,
    /// Its kind, with its expressions.
    pub(super) is: Is,
    /// The name that the program has for it.
    pub(super) name: Option<Name>,
    /// The innermost loop that contains it.
    pub(super) within: Option<u32>,
    /// The sort key of its position among the lines of its loop.
    pub(super) order: u32,
}

/// The kind of a line.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Is {
    /// A part of a parameter or of a top-level `let`.
    Input,
    /// A statement with an expression for its element.
    Element(Ex),
    /// One leaf of the result of a call, by its number.
    Call(Call, u32),
    /// An array with some elements replaced.
    Update(Box<Updated>),
    /// One result of a loop.
    Loop(Box<Looped>),
    /// A value that a loop carries.
    Carried(Box<Carried>),
    /// A sorting permutation.
    Order(Box<Sorted>),
}

/// `argsort(for i: key)`, for every tuple of the batch indices; `own` is `i`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Sorted {
    pub(super) batch: Vec<Index>,
    pub(super) own: Index,
    pub(super) pred: Pred,
    pub(super) key: Ex,
}

/// `base with [at] = value`, for every tuple of the batch indices and the bound indices.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Updated {
    pub(super) batch: Vec<Index>,
    /// The axes of the array.
    pub(super) own: Vec<Index>,
    /// The element of the array before the update, over `own`.
    pub(super) base: Ex,
    pub(super) bound: Vec<Index>,
    pub(super) pred: Pred,
    pub(super) at: Vec<Poly>,
    pub(super) value: Ex,
    /// Whether the value is added (`+=`).
    pub(super) add: bool,
}

/// A rewrite of one expression of a line. It gets the line's own indices around the expression, the
/// predicate that holds there, and the expression.
type OnPart<'f> = &'f mut dyn FnMut(&[Index], &Pred, &Ex) -> Ex;

impl Is {
    /// Maps its expressions.
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
            Self::Loop(_) => self.clone(),
            Self::Order(of) => {
                let around = and(&of.batch, std::slice::from_ref(&of.own));
                Self::Order(Box::new(Sorted { key: f(&around, &of.pred, &of.key), ..(**of).clone() }))
            }
            Self::Carried(of) => {
                Self::Carried(Box::new(Carried { init: f(&of.around, &truth, &of.init), ..(**of).clone() }))
            }
        }
    }

    /// Calls `f` with each of its expressions and the line's own indices around it.
    pub(super) fn for_each_part(&self, indices: &[Index], f: &mut dyn FnMut(&[Index], &Ex)) {
        let and = |a: &[Index], b: &[Index]| a.iter().chain(b).cloned().collect::<Vec<Index>>();
        match self {
            Self::Input | Self::Loop(_) => {}
            Self::Element(e) => f(indices, e),
            Self::Call(call, _) => call.args.iter().for_each(|(own, e)| f(&and(&call.batch, own), e)),
            Self::Update(of) => {
                f(&and(&of.batch, &of.own), &of.base);
                f(&and(&of.batch, &of.bound), &of.value);
            }
            Self::Order(of) => f(&and(&of.batch, std::slice::from_ref(&of.own)), &of.key),
            Self::Carried(of) => f(&of.around, &of.init),
        }
    }
}

/// A call, for every tuple of the batch indices.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Call {
    pub(super) callee: Arc<Callee>,
    pub(super) pred: Pred,
    /// The leaves of the arguments, each with indices of its own.
    pub(super) args: Vec<(Vec<Index>, Ex)>,
    /// The batch indices.
    pub(super) batch: Vec<Index>,
}

impl Call {
    /// Returns the call with known facts substituted.
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
    /// Calls `f` for each read of a statement. The flag is true if the read is in an index or a
    /// predicate.
    pub(super) fn for_each_use(&self, f: &mut dyn FnMut(Var, bool)) {
        self.is.for_each_part(&self.indices, &mut |_, e| e.for_each_use(f));
        match &self.is {
            Is::Call(call, _) => for_each_read(&call.pred, &mut |v| f(v, true)),
            Is::Update(of) => {
                for_each_read(&of.pred, &mut |v| f(v, true));
                of.at.iter().chain(of.bound.iter().map(|i| &i.extent)).for_each(|p| reads(p, &mut |v| f(v, true)));
            }
            Is::Loop(of) => {
                for_each_read(&of.pred, &mut |v| f(v, true));
                of.trips.iter().for_each(|p| reads(p, &mut |v| f(v, true)));
                self.indices.iter().for_each(|i| reads(&i.extent, &mut |v| f(v, true)));
            }
            Is::Order(of) => for_each_read(&of.pred, &mut |v| f(v, true)),
            Is::Input | Is::Element(_) | Is::Carried(_) => {}
        }
    }

    /// Calls `f` with the lines of a loop body that it refers to: the condition and the result of a
    /// loop, or a carried line's next value.
    pub(super) fn for_each_link(&self, f: &mut dyn FnMut(Var)) {
        match &self.is {
            Is::Loop(of) => {
                of.going.into_iter().for_each(&mut *f);
                if let Piece::Last(v) | Piece::Every(v) = of.piece {
                    f(v);
                }
            }
            Is::Carried(of) => f(of.next),
            _ => {}
        }
    }

    /// Returns the loop that evaluates its expressions. For a carried line that is the enclosing
    /// loop, because its expression is the initial value.
    pub(super) fn home(&self, table: &Table) -> Option<u32> {
        match &self.is {
            Is::Carried(_) => table.regions.get(self.within? as usize)?.parent,
            _ => self.within,
        }
    }

    /// Returns the expression for its element, if it is an `Element`.
    pub(super) fn element(&self) -> Option<&Ex> {
        if let Is::Element(e) = &self.is { Some(e) } else { None }
    }

    /// Returns its element at the indices `at`, with fresh bound indices. `None` if it is not an
    /// `Element`.
    pub(super) fn at(&self, at: &[Poly], fresh: &mut Table) -> Option<Ex> {
        let put = |p: &Poly| {
            p.substitute(&|a| self.indices.iter().position(|i| i.atom() == *a).and_then(|k| at.get(k).cloned()))
        };
        Some(self.element()?.refreshed(fresh).map_polys(&put))
    }

    /// Returns its extents.
    pub(super) fn extents(&self) -> Vec<Poly> {
        self.indices.iter().map(|i| i.extent.clone()).collect()
    }
}

/// Reads all statements of a function, with the bodies of its loops.
pub(super) fn lines(ssa: &Ssa, fresh: &mut Table) -> Result<Vec<Line>, Outside> {
    let (lines, loops, agains, states) = (Vec::new(), Vec::new(), Vec::new(), HashMap::new());
    let mut reading = Reading { lines, fresh, loops, agains, states };
    reading.room(ssa.stmts.len());
    lang_base::guarded(|| reading.body(ssa, &Scope::default()))?;
    Ok(reading.lines)
}

/// The state of reading a function: the lines so far.
pub(super) struct Reading<'a> {
    pub(super) lines: Vec<Line>,
    pub(super) fresh: &'a mut Table,
    /// The loops read so far; `agains` are the iterations of them that other loops recompute.
    pub(super) loops: Vec<Known>,
    pub(super) agains: Vec<Again>,
    /// For each line of a loop body, the line that holds its values in all iterations.
    pub(super) states: HashMap<Var, Var>,
}

/// The position of a function's statements among the lines, and the values of its variables there.
#[derive(Clone, Default)]
pub(super) struct Scope {
    /// The offset added to the numbers of its statements.
    pub(super) offset: u32,
    pub(super) locals: HashMap<LocalId, Poly>,
    pub(super) within: Option<u32>,
    /// Whether these statements recompute an iteration of another loop.
    pub(super) again: bool,
}

impl Reading<'_> {
    /// Reads the statements of a function or of a loop body. The inputs of a loop body are skipped,
    /// because [`super::regions`] has set their lines.
    pub(super) fn body(&mut self, ssa: &Ssa, scope: &Scope) -> Result<(), Outside> {
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            if scope.offset > 0 && matches!(stmt.rhs, Rhs::Input(_)) {
                continue;
            }
            pause();
            let line = line(ssa, stmt, k, scope, self)?;
            self.set(Var(scope.offset + k), line);
        }
        Ok(())
    }

    /// Grows the list of lines and the tables to `count` entries.
    pub(super) fn room(&mut self, count: usize) {
        let none = Line { indices: Vec::new(), scalar: None, is: Is::Input, name: None, within: None, order: 0 };
        self.lines.resize(count.max(self.lines.len()), none);
        self.fresh.counts.resize(self.lines.len(), false);
        self.fresh.extents.resize(self.lines.len(), Vec::new());
        self.fresh.tame.resize(self.lines.len(), true);
        self.fresh.places.resize(self.lines.len(), None);
    }

    /// Stores a line, and the facts about it in the table.
    pub(super) fn set(&mut self, v: Var, line: Line) {
        let at = v.0 as usize;
        self.room(at + 1);
        let (tame, counts) = match &line.is {
            Is::Input => (true, false),
            Is::Element(e) => (self.fresh.is_tame(e), self.fresh.is_count(e)),
            Is::Call(..) | Is::Update(_) | Is::Loop(_) | Is::Carried(_) | Is::Order(_) => (false, true),
        };
        self.fresh.counts.get_mut(at).into_iter().for_each(|slot| *slot = counts);
        self.fresh.extents.get_mut(at).into_iter().for_each(|slot| *slot = line.extents());
        self.fresh.tame.get_mut(at).into_iter().for_each(|slot| *slot = tame);
        let places =
            line.element().and_then(Ex::places).filter(|n| !line.indices.iter().any(|i| n.mentions(&i.atom())));
        self.fresh.places.get_mut(at).into_iter().for_each(|slot| *slot = places.cloned());
        self.lines.get_mut(at).into_iter().for_each(|slot| *slot = line.clone());
    }
}

fn line(ssa: &Ssa, stmt: &Stmt, k: u32, scope: &Scope, reading: &mut Reading<'_>) -> Result<Line, Outside> {
    if let Rhs::Loop(of, part) = &stmt.rhs {
        let is = reading.looped(ssa, scope, (of, *part), k)?;
        let mut values = Vec::new();
        let mut indices = Vec::new();
        for n in &stmt.dims {
            let n = Place { values: values.clone(), scope }.poly(n);
            let index = reading.fresh.index(n);
            values.push(index.value());
            indices.push(index);
        }
        // If another line already holds the same values in every iteration, this line reads it.
        let is = match &is {
            Is::Loop(looped) => match looped.piece {
                Piece::Every(v) => match reading.states.get(&v).copied() {
                    Some(known) if known != Var(scope.offset + k) => {
                        Is::Element(Ex::Read(known, indices.iter().map(Index::value).collect()))
                    }
                    _ => is,
                },
                _ => is,
            },
            _ => is,
        };
        let (name, within, order) = (stmt.name.clone(), scope.within, scope.offset + k);
        return Ok(Line { indices, scalar: stmt.scalar, is, name, within, order });
    }
    let Reading { lines: before, fresh, .. } = reading;
    let before = before.get(scope.offset as usize..).unwrap_or_default();
    let mut place = Place { values: Vec::new(), scope };
    let mut own: Vec<Index> = Vec::new();
    for n in &stmt.dims {
        let n = place.poly(n);
        let index = fresh.index(n);
        place.values.push(index.value());
        own.push(index);
    }
    let shown = |v: Var| Var(scope.offset + v.0);
    let scalar = stmt.scalar.unwrap_or(Scalar::F64);
    let read = |place: &Place, a: &Access| Ex::Read(shown(a.var), a.at.iter().map(|p| place.poly(p)).collect());
    let is = match &stmt.rhs {
        Rhs::Input(_) => Is::Input,
        Rhs::Constant(c) => Is::Element(constant(*c)),
        Rhs::Zero => Is::Element(zero(scalar)),
        Rhs::Index(p) => Is::Element(Ex::Index(place.poly(p))),
        Rhs::Add(items) => {
            if scalar == Scalar::Bool {
                return Err(Outside::Truth);
            }
            let term = |a: &lang_ir::ssa::Addend| {
                let pred = Pred::all(a.pred.conjuncts().iter().filter(|p| !says_where(ssa, &a.of, p)).cloned());
                (a.neg, Ex::guard(place.pred(&pred), read(&place, &a.of)))
            };
            Is::Element(Ex::sum(items.iter().map(term).collect()))
        }
        Rhs::Contract { bound, pred, neg, factors } => {
            let mut indices = Vec::new();
            for n in bound {
                let index = fresh.index(place.poly(n));
                place.values.push(index.value());
                indices.push(index);
            }
            if scalar == Scalar::Bool && (factors.len() > 1 || !indices.is_empty()) {
                return Err(Outside::Truth);
            }
            let kept = pred.conjuncts().iter().filter(|p| match factors.as_slice() {
                [one] => !says_where(ssa, one, p),
                _ => true,
            });
            let pred = place.pred(&Pred::all(kept.cloned()));
            let factors: Vec<Ex> = factors.iter().map(|a| read(&place, a)).collect();
            let product = match factors.as_slice() {
                [one] if !*neg => one.clone(),
                _ => Ex::product(if *neg { -1.0 } else { 1.0 }, factors, Vec::new()),
            };
            Is::Element(Ex::total(indices, pred, product))
        }
        Rhs::Reduce(r) => {
            let mut indices = Vec::new();
            for n in &r.bound {
                let index = fresh.index(place.poly(n));
                place.values.push(index.value());
                indices.push(index);
            }
            let put = r.map(&|p| place.poly(p), &|p| place.pred(p), &mut |a| Access {
                var: shown(a.var),
                at: a.at.iter().map(|p| place.poly(p)).collect(),
            });
            let body = Ex::Read(put.of.var, put.of.at);
            // In the language, `argmax` and a maximum of integers fail over an empty range. If the
            // statement has no such check, a choice supplies the value for no terms.
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
            let pred = place.pred(pred);
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
            let pred = place.pred(pred);
            let mut parts = Vec::new();
            for a in args {
                let first: Vec<Poly> = a.at.iter().map(|p| place.poly(p)).collect();
                let inner = before.get(a.var.0 as usize).map(|l| l.indices.clone()).unwrap_or_default();
                let mut rest = Vec::new();
                for i in inner.iter().skip(first.len()) {
                    rest.push(fresh.index(i.extent.clone()));
                }
                let at = first.into_iter().chain(rest.iter().map(Index::value)).collect();
                parts.push((rest, Ex::Read(shown(a.var), at)));
            }
            Is::Call(Call { callee: callee.clone(), pred, args: parts, batch }, *part)
        }
        Rhs::Order(o) => {
            let (axis, batch) = own.split_last().ok_or(Outside::Unreadable)?;
            let key = read(&place, &o.of);
            // Truth values sort with `true` first, so the key of `false` is 1.
            let truth = ssa.stmts.get(o.of.var.0 as usize).is_some_and(|s| s.scalar == Some(Scalar::Bool));
            let key = match key {
                Ex::Read(v, at) if truth => {
                    let not = Pred::Is(v.local(), v.name(), at.into(), false);
                    Ex::guard(not, Ex::Constant(Constant::Int(1)))
                }
                key => key,
            };
            Is::Order(Box::new(Sorted { batch: batch.to_vec(), own: axis.clone(), pred: place.pred(&o.pred), key }))
        }
        Rhs::Update { base, batch, bound, pred, at, value, add } => {
            let (batch, left) = own.split_at_checked(*batch as usize).ok_or(Outside::Unreadable)?;
            let mut along = Vec::new();
            for n in bound {
                let index = fresh.index(place.poly(n));
                place.values.push(index.value());
                along.push(index);
            }
            let mut base = read(&place, base);
            if let Ex::Read(_, at) = &mut base {
                at.extend(left.iter().map(Index::value));
            }
            let updated = Updated {
                batch: batch.to_vec(),
                own: left.to_vec(),
                base,
                bound: along,
                pred: place.pred(pred),
                at: at.iter().map(|p| place.poly(p)).collect(),
                value: read(&place, value),
                add: *add,
            };
            let zero = before.get(value.var.0 as usize).and_then(Line::element).is_some_and(Ex::is_zero);
            // Inside a loop the update happens in place, so it stays an update.
            let element = if scope.within.is_none() { updated.element(zero) } else { None };
            element.map_or_else(|| Is::Update(Box::new(updated)), Is::Element)
        }
        Rhs::Loop(..) => return Err(Outside::Loop),
    };
    let (name, within, order) = (stmt.name.clone(), scope.within, scope.offset + k);
    Ok(Line { indices: own, scalar: stmt.scalar, is, name, within, order })
}

/// Returns whether the statement carries the check for an empty range (E0504).
fn fails(ssa: &Ssa, stmt: &Stmt) -> bool {
    let code = |c: &u32| ssa.checks.get(*c as usize).map(|c| c.what.code);
    stmt.needs.iter().any(|c| code(c) == Some(Code::E0504))
}

/// Returns whether `p` states only that the sum `of` has a term. The guard is then redundant,
/// because the sum is zero otherwise.
fn says_where(ssa: &Ssa, of: &Access, p: &Pred) -> bool {
    let Some(Rhs::Contract { bound, pred, .. }) = ssa.stmts.get(of.var.0 as usize).map(|s| &s.rhs) else {
        return false;
    };
    let Some(free) = ssa.stmts.get(of.var.0 as usize).map(|s| s.dims.len()) else { return false };
    let some = bound.iter().enumerate().rev();
    let some = some.fold(pred.clone(), |p, (k, n)| Pred::exists(&index(free + k, n), &p));
    let some = some.map(&|p| lang_ir::ssa::at_indices(p, &of.at));
    matches!(p, Pred::Any(..)) && some.conjuncts().contains(p)
}

/// Returns the integer constant that the line of `var` holds, if it is one.
fn integer(lines: &[Line], var: Var) -> Option<i64> {
    match lines.get(var.0 as usize)?.element()? {
        Ex::Constant(Constant::Int(k)) => Some(*k),
        _ => None,
    }
}

fn constant(c: Constant) -> Ex {
    if let Constant::Real(x) = c { Ex::real(x) } else { Ex::Constant(c) }
}

/// Returns the zero of a scalar type.
pub(super) fn zero(scalar: Scalar) -> Ex {
    match scalar {
        Scalar::F64 | Scalar::F32 => Ex::real(0.0),
        Scalar::I64 => Ex::Constant(Constant::Int(0)),
        Scalar::Bool => Ex::Constant(Constant::Bool(false)),
    }
}

/// The values of a statement's canonical indices, and of the variables of its function.
pub(super) struct Place<'a> {
    pub(super) values: Vec<Poly>,
    pub(super) scope: &'a Scope,
}

impl Place<'_> {
    pub(super) fn poly(&self, p: &Poly) -> Poly {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => match index_number(*l) {
                Some(k) => self.values.get(k).cloned(),
                None => self.scope.locals.get(l).cloned(),
            },
            Atom::Read(x, _, at) if self.scope.offset > 0 => {
                let v = Var(self.scope.offset + Var::of_local(*x)?.0);
                Some(Poly::atom(Atom::Read(v.local(), v.name(), at.iter().map(|p| self.poly(p)).collect())))
            }
            _ => None,
        })
    }

    pub(super) fn pred(&self, p: &Pred) -> Pred {
        let p = p.map(&|p| self.poly(p));
        if self.scope.offset == 0 {
            return p;
        }
        p.replace_opaque(&|x| {
            let v = Var(self.scope.offset + Var::of_local(x.of)?.0);
            let (local, name, at) = (v.local(), v.name(), x.at.into());
            Some(if x.array { Pred::Is(local, name, at, true) } else { Pred::Member(local, name, at, true) })
        })
    }
}
