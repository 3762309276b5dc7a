//! **Cost of calls and loops**: the cost of the inside, summed over all repetitions. A cost that
//! differs between repetitions is summed over their indices; if that has no formula, it becomes a
//! symbol.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::function::{Own, Scope, Walk, Whole, elements};
use super::most::over_index;
use super::nest::{Nest, has_data};
use super::symbol::{self, Kind, Symbol, mentioned};
use super::{Amount, Greatest};
use lang_base::Large;
use lang_ir::cost::is_real;
use lang_ir::region::{Arg, Loop};
use lang_ir::ssa::{Rhs, Ssa, Stmt, at_indices, index};
use lang_sizes::count::{self, Formula, Piece, Ratio, Uncounted};
use lang_sizes::predicate::{Atom, Context, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The first local number of repetition indices around a statement.
const OUTER: u32 = (1 << 22) + (1 << 21);

/// The number of distinct repetition indices. Beyond it the numbers repeat.
const MOST: u32 = 1 << 20;

/// The repetitions of a call or loop: their index tuples and their count.
struct Times<'s> {
    indices: Vec<Index>,
    pred: Pred,
    known: &'s Context,
    count: Formula,
}

impl Walk<'_> {
    pub(super) fn call(&mut self, scope: &Scope<'_>, stmt: &Stmt) -> Own {
        let Rhs::Call { callee, sizes, pred, args, batch, .. } = &stmt.rhs else { return Own::default() };
        let path = scope.path.clone();
        let batch = *batch as usize;
        let indices = self.indices(scope, stmt.dims.get(..batch).unwrap_or_default(), 0);
        let asked = self.asked(scope, pred);
        let form = (stmt.dims.get(..batch).unwrap_or_default().to_vec(), pred.clone());
        let nest = Nest::new(form.0.clone(), indices.clone(), batch, asked, scope.given());
        let pred = nest.pred().clone();
        let count = self.told(scope, Kind::Terms(0), &[&nest], nest.terms(), || nest.most());
        let tests = nest.tests();
        let times = Times { indices, pred, known: &scope.known, count };
        let Some((ssa, cost)) = (self.callees)(callee) else {
            return self.unknown(&path);
        };
        // Its sizes and integer parameters, in terms of those of the caller.
        let mut put: HashMap<LocalId, Poly> = HashMap::new();
        for (local, p) in ssa.sizes.iter().zip(sizes) {
            put.insert(*local, self.poly(scope, p));
        }
        for (input, arg) in ssa.inputs.iter().filter(|i| i.source.is_passed()).zip(args) {
            if input.leaf.scalar == Some(Scalar::I64) && input.leaf.dims.is_empty() {
                let at: Vec<Poly> = arg.at.iter().map(|p| self.poly(scope, p)).collect();
                let known = self.integer(scope, arg.var, &at);
                put.insert(input.local, known.unwrap_or_else(|| data(&ssa, input.local)));
            }
        }
        // Its symbols belong to statements inside this one.
        let inside = |s: &Symbol| path.iter().chain(&*s.path).copied().collect::<Vec<u32>>();
        let passed = LazyCell::new(|| scope.contents.passed(&ssa, sizes, args));
        let called = LazyCell::new(|| scope.contents.called(&form.0, &form.1));
        let mut own = |s: &Symbol| {
            let content = s.content.and_then(|c| Some(c.passed(&passed)?.times((*called)?)));
            self.symbol(&inside(s), s.kind, None, content)
        };
        let symbols: Vec<Poly> = cost.symbols.iter().map(&mut own).collect();
        let by = |a: &Atom| match symbol::number(a) {
            Some(k) => symbols.get(k).cloned(),
            None => local(a, &put),
        };
        for (own, of) in symbols.iter().zip(&cost.symbols) {
            let most = of.most.as_ref().and_then(|most| times.most(&most.substitute(&by)));
            let slot = own.as_atom().and_then(symbol::number).and_then(|k| self.symbols.get_mut(k));
            slot.into_iter().for_each(|slot| slot.most.clone_from(&most));
        }
        self.bounds.extend(cost.bounds.iter().filter_map(|f| times.all(&f.substitute(&by))));
        let put = |f: &Formula| f.substitute(&by);
        let put_all = |all: &Greatest| Large::new(all.map(&mut |f| put(f)));
        let Amount { work, tests: inside, iterations, carried } = &cost.total;
        let total = Amount { work: put(work), tests: put(inside), iterations: put(iterations), carried: put(carried) };
        let inner = Whole { total, parts: Large::default(), kept: put_all(&cost.kept), span: put_all(&cost.span) };
        self.times(scope, &times, &inner, tests, false)
    }

    /// Returns the cost of a callee whose cost is unknown: symbols.
    fn unknown(&mut self, path: &[u32]) -> Own {
        let mut of = |kind| Formula::from(self.symbol(path, kind, None, None));
        let (work, tests, iterations) = (of(Kind::Work), of(Kind::Tests), of(Kind::Iterations));
        let amount = Amount { work, tests, iterations, carried: Formula::default() };
        Own { span: amount.work.clone().into(), amount, kept: Greatest::default() }
    }

    /// Returns the cost of the iterations of a loop, for all of its batch.
    pub(super) fn repeated(&mut self, scope: &Scope<'_>, of: &Loop) -> Own {
        let path = scope.path.clone();
        let batch = of.batch.len();
        let own = self.indices(scope, &of.batch, 0);
        let asked = self.asked(scope, &of.pred);
        let tests = Nest::new(of.batch.clone(), own.clone(), batch, asked.clone(), scope.given()).tests();
        let mut indices = own;
        let trips = of.count().map(|n| self.poly(scope, n));
        // A placeholder for a trip count that is unknown before the run. No iteration number is
        // provably below it.
        let unbounded = || Poly::atom(Atom::Read(LocalId(0), "trips".into(), Arc::from([])));
        let trips_told = trips.as_ref().is_some_and(|n| !has_data(n));
        let mut dims = of.batch.clone();
        dims.push(of.count().cloned().unwrap_or_else(unbounded));
        indices.push(index(batch, &trips.filter(|n| !has_data(n)).unwrap_or_else(unbounded)));
        let nest = Nest::new(dims, indices.clone(), batch, asked, scope.given());
        let terms = if trips_told { nest.terms() } else { Err(Uncounted::Data) };
        let most = || if trips_told { nest.most() } else { None };
        let repeated = || scope.contents.repeated(of);
        let count = match terms {
            Ok(count) => count,
            Err(_) => {
                let content = repeated().map(|c| c.asked("trips"));
                self.symbol(&path, Kind::Trips, most(), content).into()
            }
        };
        // The outer indices receive other names, because the body has indices of its own.
        let renamed: Vec<Index> = indices.iter().map(|i| self.named(i)).collect();
        let names: Vec<Poly> = renamed.iter().map(Index::value).collect();
        let of_outer = |p: &Poly| at_indices(p, &names);
        let indices: Vec<Index> = renamed.into_iter().map(|i| Index { extent: of_outer(&i.extent), ..i }).collect();
        let pred = nest.pred().map(&of_outer);
        let mut known = scope.known.clone();
        indices.iter().filter(|i| !has_data(&i.extent)).for_each(|i| known.enter(i));
        known.assume(&pred.known());
        let mut put: HashMap<LocalId, Poly> = HashMap::new();
        for (local, p) in of.body.sizes.iter().zip(&of.sizes) {
            put.insert(*local, of_outer(&self.poly(scope, p)));
        }
        for (input, arg) in of.body.inputs.iter().zip(&of.args) {
            if input.leaf.scalar == Some(Scalar::I64) && input.leaf.dims.is_empty() {
                let told = match arg {
                    Arg::Given(a) => {
                        let at: Vec<Poly> = a.at.iter().map(|p| self.poly(scope, p)).collect();
                        self.integer(scope, a.var, &at).map(|p| of_outer(&p))
                    }
                    Arg::Carried { .. } => None,
                };
                put.insert(input.local, told.unwrap_or_else(|| data(&of.body, input.local)));
            }
        }
        let once = false;
        let mut body_scope = Scope {
            ssa: &of.body,
            put,
            known,
            path: path.clone(),
            once,
            sure: Large::default(),
            dims: Large::default(),
            contents: scope.contents.body(of),
            counts: Large::default(),
            met: Large::default(),
        };
        let (first, bounds) = (self.symbols.len(), self.bounds.len());
        let mut inner = self.function(&mut body_scope);
        inner.total.iterations = inner.total.iterations.add(&Poly::constant(1).into());
        let times = Times { indices, pred, known: &scope.known, count };
        let repeated = if self.symbols.len() > first { repeated() } else { None };
        for symbol in self.symbols.iter_mut().skip(first) {
            symbol.most = symbol.most.take().and_then(|most| times.most(&most));
            symbol.content = symbol.content.zip(repeated).map(|(c, all)| c.times(all));
        }
        let inside = self.bounds.split_off(bounds);
        self.bounds.extend(inside.iter().filter_map(|f| times.all(f)));
        for (k, _) in of.carried() {
            let leaf = of.body.inputs.get(k as usize).map(|i| &i.leaf).filter(|leaf| is_real(leaf.scalar));
            let dims = leaf.map(|leaf| leaf.dims.iter().map(|n| self.poly(&body_scope, n)).collect::<Vec<_>>());
            if let Some(dims) = dims {
                inner.total.carried = inner.total.carried.add(&elements(&dims, &body_scope.known));
            }
        }
        self.times(scope, &times, &inner, tests, true)
    }

    /// Returns the index under a fresh name.
    fn named(&mut self, i: &Index) -> Index {
        self.outer = (self.outer + 1) % MOST;
        Index { local: LocalId(OUTER + self.outer), ..i.clone() }
    }

    /// Returns the cost of all repetitions. `tests` counts the tests of the repetition itself.
    /// `after`: whether the repetitions run in sequence.
    fn times(
        &mut self,
        scope: &Scope<'_>,
        times: &Times<'_>,
        inner: &Whole,
        tests: Result<Formula, Uncounted>,
        after: bool,
    ) -> Own {
        let path = &scope.path;
        let Amount { work, tests: inside, iterations, carried } = &inner.total;
        let mut all = |of: &Formula, kind: Kind, more: Result<Formula, Uncounted>| match (times.all(of), more) {
            (Some(all), Ok(more)) => all.add(&more),
            (_, more) => {
                let most = times.most(of).and_then(|most| Some(most.add(&more.ok()?)));
                self.symbol(path, kind, most, None).into()
            }
        };
        let nothing = || Ok(Formula::default());
        let amount = Amount {
            work: all(work, Kind::Work, nothing()),
            tests: all(inside, Kind::Tests, tests),
            iterations: all(iterations, Kind::Iterations, nothing()),
            carried: times.all(carried).or_else(|| times.most(carried)).unwrap_or_default(),
        };
        let most = |f: &Formula| times.greatest(f).or_else(|| times.all(f));
        let some = times.some();
        let mut untold = false;
        let mut kept = inner.kept.map(&mut |f| {
            let most = most(f).unwrap_or_else(|| {
                untold = true;
                Formula::default()
            });
            most.guarded(&some)
        });
        if untold {
            kept = Formula::from(self.symbol(path, Kind::Kept, None, None)).into();
        }
        let mut untold = false;
        let mut one = |f: &Formula| {
            let told = if after { times.all(f) } else { most(f) };
            told.unwrap_or_else(|| {
                untold = true;
                Formula::default()
            })
        };
        let mut span = inner.span.map(&mut one);
        if untold {
            // The span is at most the work.
            span = amount.work.clone().into();
        }
        Own { amount, kept, span }
    }
}

impl Times<'_> {
    /// Whether it is exactly one repetition.
    fn is_one(&self) -> bool {
        self.indices.is_empty() && self.pred.is_true()
    }

    /// Returns the predicate that a repetition exists, as far as sizes determine it.
    fn some(&self) -> Pred {
        let extents = self.indices.iter().map(|i| Pred::nonneg(&i.extent.plus(-1)));
        let told = |p: &Pred| !p.is_opaque() && !self.indices.iter().any(|i| p.mentions(&i.atom()));
        Pred::all(self.pred.conjuncts().iter().cloned().chain(extents).filter(told))
    }

    fn mentions(&self, a: &Atom) -> bool {
        self.indices.iter().any(|i| a.mentions(&i.atom()))
    }

    /// Returns the sum of a formula over all repetitions; `None` if that is not a formula.
    fn all(&self, of: &Formula) -> Option<Formula> {
        if of.overflowed() || of.pieces().iter().any(|p| has_data(p.value.parts().0) || p.pred.is_opaque()) {
            return None;
        }
        if self.is_one() {
            return Some(of.clone());
        }
        if self.indices.is_empty() && !self.pred.is_opaque() {
            return Some(of.guarded(&self.pred));
        }
        let mut sum = Formula::default();
        for piece in of.pieces() {
            let (plain, of_symbols) = apart(&piece.value)?;
            let (mut asked, mut here) = (false, false);
            piece.pred.visit(
                &mut |p| {
                    asked |= mentioned(p);
                    p.for_each_atom(&mut |a| here |= self.mentions(a));
                },
                &mut |_| {},
            );
            if asked {
                return None;
            }
            // A symbol is a total over all repetitions already.
            let mut varies = false;
            of_symbols.parts().0.for_each_atom(&mut |a| varies |= self.mentions(a));
            if !of_symbols.is_zero() {
                if varies || here {
                    return None;
                }
                sum = sum.add(&Formula::of([Piece { pred: piece.pred.clone(), value: of_symbols }]));
            }
            if plain.is_zero() {
                continue;
            }
            let mut varies = here;
            plain.parts().0.for_each_atom(&mut |a| varies |= self.mentions(a));
            sum = sum.add(&if varies {
                if self.pred.is_opaque() || self.indices.iter().any(|i| has_data(&i.extent)) {
                    return None;
                }
                count::sum(&self.indices, &self.pred.and(&piece.pred), &plain, self.known).ok()?
            } else {
                self.count.times(&plain).guarded(&piece.pred)
            });
        }
        (!sum.overflowed()).then_some(sum)
    }

    /// Returns an upper bound of the sum over all repetitions.
    fn most(&self, of: &Formula) -> Option<Formula> {
        let told = Self {
            indices: self.indices.clone(),
            pred: self.pred.known(),
            known: self.known,
            count: count::count(&self.indices, &self.pred.known(), self.known).ok()?,
        };
        told.all(of)
    }

    /// Returns an upper bound of the value in any single repetition.
    fn greatest(&self, of: &Formula) -> Option<Formula> {
        if of.pieces().iter().any(|p| has_data(p.value.parts().0) || p.pred.is_opaque()) {
            return None;
        }
        let mut of = of.clone();
        for i in self.indices.iter().rev() {
            let mut mentioned = false;
            for p in of.pieces() {
                mentioned |= p.pred.mentions(&i.atom()) || p.value.parts().0.mentions(&i.atom());
            }
            if mentioned {
                of = over_index(&of, &i.atom(), &i.extent)?;
            }
        }
        of.pieces().iter().all(|p| !has_data(p.value.parts().0)).then_some(of)
    }
}

/// Splits a value into the terms without symbols and those with one. `None` if symbols are
/// multiplied, or if one is inside another atom.
fn apart(value: &Ratio) -> Option<(Ratio, Ratio)> {
    let (over, under) = value.parts();
    let (mut plain, mut with) = (Poly::default(), Poly::default());
    for (m, c) in over.terms() {
        let mut degree = 0;
        for (a, power) in m {
            if symbol::number(a).is_some() {
                degree += power;
            } else if mentioned(&Poly::atom(a.clone())) {
                return None;
            }
        }
        if degree > 1 {
            return None;
        }
        let term = Poly::term(m.clone(), *c);
        let side = if degree == 0 { &mut plain } else { &mut with };
        *side = side.add(&term);
    }
    Some((Ratio::over(plain, under), Ratio::over(with, under)))
}

fn local(a: &Atom, put: &HashMap<LocalId, Poly>) -> Option<Poly> {
    if let Atom::Local(l, _) = a { put.get(l).cloned() } else { None }
}

/// Returns an integer that only the run knows, and that differs between repetitions.
fn data(of: &Ssa, local: LocalId) -> Poly {
    Poly::atom(Atom::Read(local, of.vars.name(local), Arc::from([])))
}
