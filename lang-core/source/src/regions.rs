//! **Loops as lines.** Reads the loops of Tensor SSA for [`super::read`]. The statements of a body
//! become lines after those of the function, each with the number of its loop.
//!
//! A reverse loop recomputes the values of a forward iteration from the states before it, as one
//! would write it by hand. If that needs whole arrays as states that are not kept already, it reads
//! the kept values instead.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::Outside;
use super::read::{Is, Line, Place, Reading, Scope};
use super::table::Table;
use super::tree::Ex;
use lang_base::Name;
use lang_ir::region::{Arg, Loop, Part, Trips};
use lang_ir::ssa::{Access, Check, Rhs, Ssa, Stmt, Var, for_each_read, index, reads};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// A loop.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// The enclosing loop.
    pub(super) parent: Option<u32>,
    /// The batch indices of the loop; `number` is the index of the iteration.
    pub(super) batch: Vec<Index>,
    pub(super) number: Index,
    /// Whether it runs from the last iteration number to the first.
    pub(super) reversed: bool,
    /// Whether the trip count is known before the loop runs.
    pub(super) counted: bool,
    /// The carried lines. A carried integer has an index variable, because indices may depend on
    /// it.
    pub(super) carried: Vec<(Var, Option<Index>)>,
    /// The carried truth value; the loop continues while it holds.
    pub(super) going: Option<Var>,
    /// The checks of an iteration, each with the lines that need it.
    pub(super) checks: Vec<(Check, Vec<Var>)>,
}

/// A result of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// The final value of a carried line.
    Last(Var),
    /// The values of a body line in all iterations; for a carried line, its values before each.
    Every(Var),
    /// The trip count.
    Trips,
}

/// A line that is a result of a loop.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Looped {
    pub(super) id: u32,
    pub(super) piece: Piece,
    pub(super) batch: Vec<Index>,
    pub(super) pred: Pred,
    pub(super) trips: Option<Poly>,
    /// The carried truth value; the loop continues while it holds.
    pub(super) going: Option<Var>,
}

/// A carried line.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Carried {
    /// The batch indices of the loop, then the axes, of the initial value.
    pub(super) around: Vec<Index>,
    pub(super) init: Ex,
    /// The line that computes its value for the next iteration.
    pub(super) next: Var,
}

/// A loop that has been read.
pub(super) struct Known {
    of: Arc<Loop>,
    /// The offset of the statements around it.
    outer: u32,
    id: u32,
    /// The offset of its body.
    offset: u32,
    /// The lines of its inputs, by number.
    inputs: Vec<Var>,
    /// The first statement that is a result of it.
    order: u32,
}

/// A line that is read, and its first subscripts.
type Given = (Var, Vec<Poly>);

/// A body that is recomputed for the iteration `at`, inside the loop `within`.
pub(super) struct Again {
    of: u32,
    at: Vec<Poly>,
    within: u32,
    offset: u32,
}

impl Table {
    /// Returns the indices of a loop and of the loops around it, outermost first.
    pub(super) fn around(&self, within: Option<u32>) -> Vec<Index> {
        let mut all = Vec::new();
        let mut next = within.and_then(|id| self.regions.get(id as usize));
        while let Some(region) = next {
            all.splice(0..0, region.batch.iter().cloned().chain([region.number.clone()]));
            next = region.parent.and_then(|id| self.regions.get(id as usize));
        }
        all
    }

    /// Returns whether the loop `within` is the loop `id` or lies inside it.
    pub(super) fn is_inside(&self, within: Option<u32>, id: u32) -> bool {
        let mut next = within;
        while let Some(at) = next {
            if at == id {
                return true;
            }
            next = self.regions.get(at as usize).and_then(|r| r.parent);
        }
        false
    }

    /// Returns the indices of [`Self::around`] whose ranges are known.
    pub(super) fn ranges(&self, within: Option<u32>) -> Vec<Index> {
        let open = |i: &Index| self.regions.iter().any(|r| !r.counted && r.number.local == i.local);
        self.around(within).into_iter().filter(|i| !open(i)).collect()
    }
}

impl Reading<'_> {
    /// Reads one result of a loop.
    pub(super) fn looped(
        &mut self,
        ssa: &Ssa,
        scope: &Scope,
        (of, part): (&Arc<Loop>, Part),
        k: u32,
    ) -> Result<Is, Outside> {
        let at = self.known(ssa, scope, of, k)?;
        let known = self.loops.get(at).ok_or(Outside::Unreadable)?;
        let piece = match part {
            Part::Last(k) => Piece::Last(*known.inputs.get(k as usize).ok_or(Outside::Unreadable)?),
            Part::Every(k) => {
                let (_, v) = of.body.outputs.get(k as usize).ok_or(Outside::Unreadable)?;
                Piece::Every(Var(known.offset + v.0))
            }
            Part::Trips => Piece::Trips,
            Part::State(_) => return Err(Outside::Loop),
        };
        if let Piece::Every(v) = piece {
            self.states.entry(v).or_insert(Var(scope.offset + k));
        }
        Ok(self.part(known.id, scope, of, piece))
    }

    fn part(&self, id: u32, scope: &Scope, of: &Loop, piece: Piece) -> Is {
        let region = self.fresh.regions.get(id as usize);
        let batch = region.map(|r| r.batch.clone()).unwrap_or_default();
        let place = Place { values: batch.iter().map(Index::value).collect(), scope };
        Is::Loop(Box::new(Looped {
            id,
            piece,
            pred: place.pred(&of.pred),
            trips: of.count().map(|n| place.poly(n)),
            going: region.and_then(|r| r.going),
            batch,
        }))
    }

    /// Returns the position of the loop in `loops`, after reading it if necessary.
    fn known(&mut self, ssa: &Ssa, scope: &Scope, of: &Arc<Loop>, k: u32) -> Result<usize, Outside> {
        let same = |known: &Known| known.outer == scope.offset && (Arc::ptr_eq(&known.of, of) || known.of == *of);
        if let Some(at) = self.loops.iter().position(same) {
            return Ok(at);
        }
        let mut values: Vec<Poly> = Vec::new();
        let mut batch = Vec::new();
        for n in &of.batch {
            let n = Place { values: values.clone(), scope }.poly(n);
            let index = self.fresh.index(n);
            values.push(index.value());
            batch.push(index);
        }
        let trips = of.count().map(|n| Place { values: values.clone(), scope }.poly(n));
        let number = self.fresh.index(trips.clone().unwrap_or_default());
        let directions = directions(of);
        let reversed = trips.is_some() && directions == BTreeSet::from([-1]);
        if trips.is_none() && !directions.is_empty() {
            return Err(Outside::Loop);
        }
        values.push(match &trips {
            Some(n) if reversed => n.plus(-1).sub(&number.value()),
            _ => number.value(),
        });
        let id = u32::try_from(self.fresh.regions.len()).map_err(|_| Outside::TooLarge)?;
        self.fresh.regions.push(Region {
            parent: scope.within,
            batch,
            number,
            reversed,
            counted: trips.is_some(),
            carried: Vec::new(),
            going: None,
            checks: Vec::new(),
        });
        let given = self.given(ssa, scope, of, &values, id)?;
        let (offset, inputs) = self.block(&of.body)?;
        let mut inner = Scope { offset, locals: HashMap::new(), within: Some(id), again: scope.again };
        let place = Place { values: values.clone(), scope };
        for (l, p) in of.body.sizes.iter().zip(&of.sizes) {
            inner.locals.insert(*l, place.poly(p));
        }
        let mut carried = Vec::new();
        for ((arg, input), v) in of.args.iter().zip(&of.body.inputs).zip(&inputs) {
            if input.leaf.scalar != Some(Scalar::I64) || !input.leaf.dims.is_empty() {
                carried.extend(matches!(arg, Arg::Carried { .. }).then_some((*v, None)));
                continue;
            }
            let value = match arg {
                Arg::Given(a) => self.integer(ssa, scope, a, &place),
                Arg::Carried { .. } => {
                    let index = self.fresh.index(Poly::default());
                    carried.push((*v, Some(index.clone())));
                    index.value()
                }
            };
            inner.locals.insert(input.local, value);
        }
        let going = if let Trips::While(k) = of.trips { inputs.get(k as usize).copied() } else { None };
        if let Some(region) = self.fresh.regions.get_mut(id as usize) {
            (region.carried, region.going) = (carried, going);
        }
        self.loops.push(Known {
            of: of.clone(),
            outer: scope.offset,
            id,
            offset,
            inputs: inputs.clone(),
            order: scope.offset + k,
        });
        let at = self.loops.len() - 1;
        for (((arg, input), v), given) in of.args.iter().zip(&of.body.inputs).zip(&inputs).zip(given) {
            let own = self.axes(&input.leaf.dims, &inner);
            let is = match (arg, given) {
                (Arg::Given(_), Some((var, first))) => {
                    let at = first.into_iter().chain(own.iter().map(Index::value)).collect();
                    Is::Element(Ex::Read(var, at))
                }
                (Arg::Carried { init, next }, _) => {
                    let region = self.fresh.regions.get(id as usize);
                    let mut around = region.map(|r| r.batch.clone()).unwrap_or_default();
                    let place = Place { values: around.iter().map(Index::value).collect(), scope };
                    let own = self.axes(&input.leaf.dims, &inner);
                    let first = init.at.iter().map(|p| place.poly(p));
                    let at = first.chain(own.iter().map(Index::value)).collect();
                    let init = Ex::Read(Var(scope.offset + init.var.0), at);
                    around.extend(own);
                    let (_, next) = of.body.outputs.get(*next as usize).ok_or(Outside::Unreadable)?;
                    Is::Carried(Box::new(Carried { around, init, next: Var(offset + next.0) }))
                }
                _ => return Err(Outside::Unreadable),
            };
            let name = named(&of.body, input.local, arg);
            self.set(*v, Line { indices: own, scalar: input.leaf.scalar, is, name, within: Some(id), order: v.0 });
        }
        self.body(&of.body, &inner)?;
        let checks = (0..).zip(&of.body.checks).map(|(c, check)| {
            let place = Place { values: Vec::new(), scope: &inner };
            let check = Check {
                dims: check.dims.iter().map(|n| place.poly(n)).collect(),
                guard: place.pred(&check.guard),
                cond: place.pred(&check.cond),
                what: check.what.clone(),
            };
            let needed = (0..).zip(&of.body.stmts).filter(|(_, s)| s.needs.contains(&c));
            (check, needed.map(|(k, _)| Var(offset + k)).collect())
        });
        let checks = checks.collect();
        if let Some(region) = self.fresh.regions.get_mut(id as usize) {
            region.checks = checks;
        }
        Ok(at)
    }

    /// Returns fresh indices for the axes of a body line.
    fn axes(&mut self, dims: &[Poly], scope: &Scope) -> Vec<Index> {
        let mut own: Vec<Index> = Vec::new();
        for n in dims {
            let n = Place { values: own.iter().map(Index::value).collect(), scope }.poly(n);
            own.push(self.fresh.index(n));
        }
        own
    }

    /// Reserves the lines of a body. Returns their offset, and the lines of the inputs.
    fn block(&mut self, body: &Ssa) -> Result<(u32, Vec<Var>), Outside> {
        let offset = u32::try_from(self.lines.len()).map_err(|_| Outside::TooLarge)?;
        let mut next = offset + u32::try_from(body.stmts.len()).map_err(|_| Outside::TooLarge)?;
        let mut inputs = Vec::new();
        for k in (0..).take(body.inputs.len()) {
            inputs.push(body.input(k).map_or_else(
                || {
                    next += 1;
                    Var(next - 1)
                },
                |v| Var(offset + v.0),
            ));
        }
        self.room(next as usize);
        Ok((offset, inputs))
    }

    /// Returns for each `Arg::Given` the line that it reads, with its first subscripts; `None` for
    /// a carried input.
    fn given(
        &mut self,
        ssa: &Ssa,
        scope: &Scope,
        of: &Loop,
        values: &[Poly],
        within: u32,
    ) -> Result<Vec<Option<Given>>, Outside> {
        let mut all = Vec::new();
        for arg in &of.args {
            let Arg::Given(a) = arg else {
                all.push(None);
                continue;
            };
            let at: Vec<Poly> = a.at.iter().map(|p| Place { values: values.to_vec(), scope }.poly(p)).collect();
            all.push(Some(self.read_of(ssa, scope, a.var, at, within)?));
        }
        Ok(all)
    }

    /// Returns the line that a read inside the loop `within` refers to. A read of a body line of
    /// another loop refers to that line recomputed, if it can be.
    fn read_of(
        &mut self,
        ssa: &Ssa,
        scope: &Scope,
        var: Var,
        at: Vec<Poly>,
        within: u32,
    ) -> Result<(Var, Vec<Poly>), Outside> {
        let plain = (Var(scope.offset + var.0), at.clone());
        let Some(Rhs::Loop(of, Part::Every(o))) = ssa.stmts.get(var.0 as usize).map(|s| &s.rhs) else {
            return Ok(plain);
        };
        let Some((_, v)) = of.body.outputs.get(*o as usize) else { return Ok(plain) };
        let count = of.batch.len() + 1;
        let carried = matches!(of.body.stmts.get(v.0 as usize).map(|s| &s.rhs), Some(Rhs::Input(_)));
        if carried || at.len() < count || !self.can_be_again(ssa, of, *v) {
            return Ok(plain);
        }
        let (place, rest) = at.split_at(count);
        let offset = self.again(ssa, scope, of, place, within)?;
        Ok((Var(offset + v.0), rest.to_vec()))
    }

    /// Returns whether a body statement can be recomputed. It may depend on `Arg::Given` inputs, on
    /// carried scalars, and on carried arrays whose states are kept anyway.
    fn can_be_again(&self, ssa: &Ssa, of: &Arc<Loop>, v: Var) -> bool {
        let kept = |k: u32| {
            ssa.stmts.iter().any(|s| match &s.rhs {
                Rhs::Loop(other, Part::Every(o)) if Arc::ptr_eq(other, of) || other == of => {
                    of.body.outputs.get(*o as usize).is_some_and(|(_, v)| Some(*v) == of.body.input(k))
                }
                _ => false,
            })
        };
        let (mut open, mut seen) = (vec![v], BTreeSet::new());
        while let Some(v) = open.pop() {
            let Some(stmt) = of.body.stmts.get(v.0 as usize) else { return false };
            if !seen.insert(v) {
                continue;
            }
            if let Rhs::Input(k) = stmt.rhs {
                let carried = matches!(of.args.get(k as usize), Some(Arg::Carried { .. }));
                if carried && !stmt.dims.is_empty() && !kept(k) {
                    return false;
                }
            }
            stmt.dims.iter().for_each(|n| reads(n, &mut |v| open.push(v)));
            stmt.rhs.for_each_operand(&mut |v| open.push(v));
        }
        true
    }

    /// Recomputes an iteration of a loop inside another loop. Returns the offset of its lines.
    fn again(&mut self, ssa: &Ssa, scope: &Scope, of: &Arc<Loop>, at: &[Poly], within: u32) -> Result<u32, Outside> {
        let same = |known: &&Known| known.outer == scope.offset && (Arc::ptr_eq(&known.of, of) || known.of == *of);
        let known = self.loops.iter().find(same).ok_or(Outside::Unreadable)?;
        let (id, order, states) = (known.id, known.order, known.inputs.clone());
        let made = |a: &&Again| a.of == id && a.at == at && a.within == within;
        if let Some(again) = self.agains.iter().find(made) {
            return Ok(again.offset);
        }
        // Its `Arg::Given` inputs may need recomputation, too.
        let given = self.given(ssa, scope, of, at, within)?;
        let (offset, inputs) = self.block(&of.body)?;
        self.agains.push(Again { of: id, at: at.to_vec(), within, offset });
        let mut inner = Scope { offset, locals: HashMap::new(), within: Some(within), again: true };
        let place = Place { values: at.to_vec(), scope };
        for (l, p) in of.body.sizes.iter().zip(&of.sizes) {
            inner.locals.insert(*l, place.poly(p));
        }
        let mut reads = Vec::new();
        for (((arg, input), v), given) in of.args.iter().zip(&of.body.inputs).zip(&states).zip(given) {
            let (var, first) = match given {
                Some(given) => given,
                None => (self.state(ssa, scope, of, *v, order)?, at.to_vec()),
            };
            if input.leaf.scalar == Some(Scalar::I64) && input.leaf.dims.is_empty() {
                let value = match arg {
                    Arg::Given(a) => self.integer(ssa, scope, a, &place),
                    Arg::Carried { .. } => Poly::atom(Atom::Read(var.local(), var.name(), first.clone().into())),
                };
                inner.locals.insert(input.local, value);
            }
            reads.push((var, first));
        }
        for (((arg, input), v), (var, first)) in of.args.iter().zip(&of.body.inputs).zip(&inputs).zip(reads) {
            let own = self.axes(&input.leaf.dims, &inner);
            let at = first.into_iter().chain(own.iter().map(Index::value)).collect();
            let name = named(&of.body, input.local, arg);
            let is = Is::Element(Ex::Read(var, at));
            self.set(*v, Line { indices: own, scalar: input.leaf.scalar, is, name, within: Some(within), order: v.0 });
        }
        self.body(&of.body, &inner)?;
        Ok(offset)
    }

    /// Returns the line that holds the values of a carried line before every iteration.
    fn state(&mut self, ssa: &Ssa, scope: &Scope, of: &Arc<Loop>, v: Var, order: u32) -> Result<Var, Outside> {
        if let Some(known) = self.states.get(&v) {
            return Ok(*known);
        }
        let same = |known: &&Known| known.outer == scope.offset && (Arc::ptr_eq(&known.of, of) || known.of == *of);
        let id = self.loops.iter().find(same).ok_or(Outside::Unreadable)?.id;
        let line = self.lines.get(v.0 as usize).cloned().ok_or(Outside::Unreadable)?;
        let is = self.part(id, scope, of, Piece::Every(v));
        // Its indices: the batch, the iteration, and the axes of the carried line.
        let mut indices: Vec<Index> = Vec::new();
        for n in &of.batch {
            let n = Place { values: indices.iter().map(Index::value).collect(), scope }.poly(n);
            indices.push(self.fresh.index(n));
        }
        let trips = match of.count() {
            Some(n) => Place { values: indices.iter().map(Index::value).collect(), scope }.poly(n),
            None => self.trips(ssa, scope, of)?,
        };
        indices.push(self.fresh.index(trips));
        for i in &line.indices {
            indices.push(self.fresh.index(i.extent.clone()));
        }
        let var = Var(u32::try_from(self.lines.len()).map_err(|_| Outside::TooLarge)?);
        self.set(var, Line { indices, is, within: scope.within, order, ..line });
        self.states.insert(v, var);
        Ok(var)
    }

    /// Returns the trip count of a `while` loop, which only the run computes.
    fn trips(&self, ssa: &Ssa, scope: &Scope, of: &Arc<Loop>) -> Result<Poly, Outside> {
        let same = |s: &Stmt| matches!(&s.rhs, Rhs::Loop(other, Part::Trips) if Arc::ptr_eq(other, of) || other == of);
        let at = ssa.stmts.iter().position(|s| same(s) && s.dims.is_empty()).ok_or(Outside::Loop)?;
        let var = Var(scope.offset + u32::try_from(at).map_err(|_| Outside::TooLarge)?);
        Ok(Poly::atom(Atom::Read(var.local(), var.name(), Arc::from([]))))
    }

    /// Returns an integer input as a polynomial over the indices.
    fn integer(&self, ssa: &Ssa, scope: &Scope, a: &Access, place: &Place<'_>) -> Poly {
        let var = Var(scope.offset + a.var.0);
        let at: Vec<Poly> = a.at.iter().map(|p| place.poly(p)).collect();
        let line = self.lines.get(var.0 as usize);
        if let Some(Ex::Index(p)) = line.and_then(Line::element) {
            let own = line.map(|l| l.indices.clone()).unwrap_or_default();
            return p.substitute(&|a| own.iter().position(|i| i.atom() == *a).and_then(|k| at.get(k).cloned()));
        }
        if let Some(Rhs::Input(k)) = ssa.stmts.get(a.var.0 as usize).map(|s| &s.rhs)
            && let Some(input) = ssa.inputs.get(*k as usize)
            && at.is_empty()
            && (ssa.bounded.contains(&input.local) || scope.locals.contains_key(&input.local))
        {
            let own = Poly::atom(ssa.vars.atom(input.local));
            return scope.locals.get(&input.local).cloned().unwrap_or(own);
        }
        Poly::atom(Atom::Read(var.local(), var.name(), at.into()))
    }
}

/// Returns the coefficients of the iteration number in the places that the loop reads; 0 if it is
/// not linear there.
fn directions(of: &Loop) -> BTreeSet<i128> {
    let number = index(of.batch.len(), &Poly::default()).atom();
    let mut all = BTreeSet::new();
    let mut see = |p: &Poly| {
        if p.mentions(&number) {
            all.insert(p.linear_in(&number).map_or(0, |(c, _)| c));
        }
    };
    of.sizes.iter().for_each(&mut see);
    for arg in &of.args {
        if let Arg::Given(a) = arg {
            a.at.iter().for_each(&mut see);
        }
    }
    all
}

/// Chooses the name of a body input. A carried input without a name of the program takes that of
/// its next value. A carried cotangent always does, because its initial value belongs to the value
/// that an iteration makes.
fn named(body: &Ssa, local: LocalId, arg: &Arg) -> Option<Name> {
    let next = match arg {
        Arg::Carried { next, .. } => body.outputs.get(*next as usize),
        Arg::Given(_) => None,
    };
    let next = next.and_then(|(_, v)| body.stmts.get(v.0 as usize)).and_then(|s| s.name.clone());
    let own = body.vars.given(local);
    own.clone().filter(|name| !name.ends_with("_adj")).or(next).or(own).or_else(|| Some(body.vars.name(local)))
}

/// Returns the lines that a check reads.
pub(super) fn reads_of(check: &Check) -> Vec<Var> {
    let mut all = Vec::new();
    [&check.guard, &check.cond].into_iter().for_each(|p| for_each_read(p, &mut |v| all.push(v)));
    all
}
