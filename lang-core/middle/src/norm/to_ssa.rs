//! **Conversion to Tensor SSA** (ATL Figs. 11 and 12), from flat core. It is the last pass of
//! normalisation. Enclosing generations and brackets are carried down as a context `⊞ i: [p] · _`,
//! and reach every operation as its own indices and predicate. The builder of [`lang_ir::ssa`]
//! brings each statement to solved form.
//!
//! (5.29) drops the predicate in print; this pass keeps it. Nested sums are one contraction, as
//! Fig. 6 counts them, and a product in a sum becomes its factors (5.32 and 5.34 at once).

use std::collections::HashMap;
use std::sync::Arc;

use super::hits::Hits;
use super::inline::{self, Call};
use lang_base::Name;
use lang_base::guarded;
use lang_ir::core::{self, Callee, E, Expr, Failing, Kind, Leaf, Repeat, Update, Vars};
use lang_ir::flat::{Flat, Input, Source};
use lang_ir::order::Order;
use lang_ir::origin::{Ancestor, Origins};
use lang_ir::reduce::{Reduce, Reduction};
use lang_ir::region::{Arg, Loop, Part, Trips};
use lang_ir::ssa::{self, Access, Addend, Builder, Check, Rhs, Ssa, Stmt, Var};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The names under which rules are counted.
pub const RULES: &[&str] =
    &["5.25", "5.26", "5.27", "5.28", "5.29", "5.30", "5.31", "5.32", "5.33", "5.34", REDUCTION, ORDER];

/// The rule for a reduction other than a sum, which the paper lacks.
const REDUCTION: &str = "reduction";

/// The rule for positions in sorted order.
const ORDER: &str = "order";

/// A resolver from a callee to its definition in Tensor SSA.
pub type Callees<'a> = &'a dyn Fn(&Arc<Callee>) -> Option<Arc<Ssa>>;

/// Returns the function in Tensor SSA, and the origins of its statements. The function must be
/// pushed out.
#[must_use]
pub fn to_ssa(flat: &Flat, callees: Callees<'_>, in_place: bool, hits: &mut Hits) -> (Ssa, Origins) {
    let own = |l: &LocalId| Poly::atom(flat.vars.atom(*l));
    let mut pass = Convert {
        builder: Builder::new(flat.sizes.iter().map(own).collect()),
        env: HashMap::new(),
        callees,
        vars: flat.vars.clone(),
        inputs: flat.inputs.clone(),
        hits,
    };
    pass.builder.in_place = in_place;
    pass.builder.trace.enter(Ancestor::Input);
    for (k, input) in (0..).zip(&flat.inputs) {
        // An extent may be an integer input that precedes this one.
        let dims: Vec<Poly> = input.leaf.dims.iter().map(|n| pass.poly(&Place::default(), n)).collect();
        if let Some(own) = pass.inputs.get_mut(k as usize) {
            own.leaf.dims.clone_from(&dims);
        }
        let var = pass.builder.push(dims, input.leaf.scalar, Rhs::Input(k), Vec::new());
        pass.name(var, flat.vars.given(input.local));
        pass.env.insert(input.local, var);
    }
    let mut asserted = Vec::new();
    let top = Place::default();
    for (x, e) in &flat.bindings {
        if e.ty.leaves().is_empty() {
            pass.asserted(&top, e, &mut asserted);
            continue;
        }
        pass.hits.count("5.25");
        let var = pass.convert(&top, e);
        pass.name(var, flat.vars.given(*x));
        pass.env.insert(*x, var);
    }
    let outputs = flat.outputs.iter().map(|(leaf, e)| {
        let var = pass.convert(&top, e);
        let dims = leaf.dims.iter().map(|n| pass.poly(&top, n)).collect();
        (Leaf { dims, ..leaf.clone() }, var)
    });
    let outputs = outputs.collect();
    let trace = pass.builder.trace;
    let mut ssa = Ssa {
        callee: flat.callee.clone(),
        vars: pass.vars,
        sizes: flat.sizes.clone(),
        bounded: flat.bounded.clone(),
        params: flat.params.clone(),
        inputs: pass.inputs,
        stmts: pass.builder.stmts,
        checks: pass.builder.checks,
        needs: asserted,
        opaque: false,
        outputs,
        result: flat.result.clone(),
    };
    let fates = super::dead::remove(&mut ssa);
    (ssa, trace.finish(&fates))
}

/// The context of an expression.
#[derive(Clone, Default)]
struct Place {
    /// The enclosing generations, outermost first.
    indices: Vec<Index>,
    /// The enclosing brackets, over statements and canonical indices.
    pred: Pred,
    /// The enclosing checks.
    needs: Vec<u32>,
}

struct Convert<'a> {
    builder: Builder,
    env: HashMap<LocalId, Var>,
    callees: Callees<'a>,
    vars: Vars,
    inputs: Vec<Input>,
    hits: &'a mut Hits,
}

impl Convert<'_> {
    fn name(&mut self, var: Var, name: Option<Name>) {
        if let Some(Stmt { name: slot @ None, .. }) = self.builder.stmts.get_mut(var.0 as usize) {
            *slot = name;
        }
    }

    /// Converts `⊞ place: e`.
    fn convert(&mut self, place: &Place, e: &E) -> Var {
        let before = self.builder.trace.enter_text(e.span);
        let var = guarded(|| self.convert_node(place, e));
        self.builder.trace.gives(var);
        self.builder.trace.back(before);
        var
    }

    fn convert_node(&mut self, place: &Place, e: &E) -> Var {
        let dims = self.dims(place);
        let scalar = e.ty.peel().1.scalar().unwrap_or(Scalar::F64);
        match &e.kind {
            Kind::Gen(index, body) => {
                self.hits.count("5.27");
                let mut inner = place.clone();
                inner.indices.push(index.clone());
                self.convert(&inner, body)
            }
            Kind::Guard(p, body) => {
                self.hits.count("5.28");
                let mut inner = place.clone();
                inner.pred = inner.pred.and(&self.pred(place, p));
                self.convert(&inner, body)
            }
            Kind::Check(p, what, body) => {
                let cond = self.pred(place, p);
                let mut inner = place.clone();
                inner.needs.push(self.checked(place, cond, what));
                self.convert(&inner, body)
            }
            Kind::Constant(c) => {
                self.hits.count("5.29");
                let var = self.builder.constant(*c, scalar);
                let of = Access { var, at: Vec::new() };
                self.builder.contract(&dims, Vec::new(), &place.pred, false, &[of], Vec::new())
            }
            Kind::Index(p) => {
                let p = self.poly(place, p);
                let var = self.builder.index(&dims, &p);
                let mut reads = false;
                ssa::reads(&p, &mut |_| reads = true);
                // An expression of indices alone cannot fail.
                let needs = if reads { place.needs.clone() } else { Vec::new() };
                let of = Access { var, at: self.own(place) };
                self.builder.contract(&dims, Vec::new(), &place.pred, false, &[of], needs)
            }
            Kind::Var(_) | Kind::Access(..) | Kind::Proj(..) => self.element(place, e),
            Kind::Add(items) => {
                self.hits.count("5.31");
                let (mut terms, mut needs) = (Vec::new(), place.needs.clone());
                for item in items {
                    let (mut inner, mut neg, mut item) = (place.clone(), false, item);
                    // The sum takes over the sign, the bracket and the check of a term.
                    loop {
                        match &item.kind {
                            Kind::Neg(e) => {
                                neg = !neg;
                                item = e;
                            }
                            Kind::Guard(p, e) => {
                                inner.pred = inner.pred.and(&self.pred(place, p));
                                item = e;
                            }
                            Kind::Check(p, what, e) => {
                                let cond = self.pred(place, p);
                                let check = self.checked(&inner, cond, what);
                                inner.needs.push(check);
                                needs.push(check);
                                item = e;
                            }
                            _ => break,
                        }
                    }
                    let var = self.convert(&inner, item);
                    let of = Access { var, at: self.own(place) };
                    terms.push(Addend { neg, pred: inner.pred, of });
                }
                self.builder.add(&dims, scalar, &terms, needs)
            }
            Kind::Mul(a, b) => {
                self.hits.count("5.32");
                let factors = [a, b].map(|e| self.convert(place, e));
                let factors = factors.map(|var| Access { var, at: self.own(place) });
                self.builder.contract(&dims, Vec::new(), &place.pred, false, &factors, place.needs.clone())
            }
            Kind::Neg(a) => {
                let var = self.convert(place, a);
                let at = self.own(place);
                self.view(place, Access { var, at }, true)
            }
            Kind::Apply(operation, args) => {
                self.hits.count("5.33");
                let vars: Vec<Var> = args.iter().map(|e| self.convert(place, e)).collect();
                let args: Vec<Access> = vars.into_iter().map(|var| Access { var, at: self.own(place) }).collect();
                self.builder.map(&dims, scalar, *operation, &place.pred, &args, place.needs.clone())
            }
            Kind::Sum(..) => self.summation(place, e),
            Kind::Reduce(r) => self.reduction(place, r, scalar),
            Kind::Order(index, body) => {
                self.hits.count(ORDER);
                let mut inner = place.clone();
                inner.indices.push(index.clone());
                let var = self.convert(&inner, body);
                let of = Access { var, at: self.own(&inner) };
                let order = Order { pred: place.pred.clone(), of };
                self.builder.order(&self.dims(&inner), order, place.needs.clone())
            }
            // Earlier passes leave no tuples, `let`s, globals or bare calls, so the last case does
            // not occur.
            Kind::Update(update, base, value) => self.update(place, update, base, value, scalar),
            Kind::Tuple(_) | Kind::Let(..) | Kind::Global(_) | Kind::Call(..) | Kind::Loop(..) => {
                self.builder.zero(&dims, scalar)
            }
        }
    }

    /// Converts `Σ i: [p] · Σ j: [q] · a · b` to one contraction.
    fn summation(&mut self, place: &Place, e: &E) -> Var {
        self.hits.count("5.34");
        let (mut inner, mut bound, mut neg, mut body) = (place.clone(), Vec::new(), false, e);
        loop {
            match &body.kind {
                Kind::Sum(index, e) => {
                    bound.push(self.poly(&inner, &index.extent));
                    inner.indices.push(index.clone());
                    body = e;
                }
                Kind::Guard(p, e) => {
                    inner.pred = inner.pred.and(&self.pred(&inner, p));
                    body = e;
                }
                Kind::Check(p, what, e) => {
                    let cond = self.pred(&inner, p);
                    let check = self.checked(&inner, cond, what);
                    inner.needs.push(check);
                    body = e;
                }
                Kind::Neg(e) => {
                    neg = !neg;
                    body = e;
                }
                _ => break,
            }
        }
        let factors = match &body.kind {
            Kind::Mul(a, b) => {
                self.hits.count("5.32");
                vec![a, b]
            }
            _ => vec![body],
        };
        let vars: Vec<Var> = factors.into_iter().map(|e| self.convert(&inner, e)).collect();
        let factors: Vec<Access> = vars.into_iter().map(|var| Access { var, at: self.own(&inner) }).collect();
        let dims = self.dims(place);
        self.builder.contract(&dims, bound, &inner.pred, neg, &factors, inner.needs.clone())
    }

    /// Converts `max i if p: e`: the terms become a tensor, and the reduction reads its elements.
    fn reduction(&mut self, place: &Place, r: &Reduction, scalar: Scalar) -> Var {
        self.hits.count(REDUCTION);
        let bound = r.indices.iter().map(|i| self.poly(place, &i.extent)).collect();
        let mut inner = place.clone();
        inner.indices.extend(r.indices.iter().cloned());
        let terms = self.pred(&inner, &r.terms);
        inner.pred = inner.pred.and(&terms);
        let var = self.convert(&inner, &r.body);
        let of = Access { var, at: self.own(&inner) };
        let (pred, chosen) = (place.pred.clone(), self.poly(&inner, &r.place));
        let reduce = Reduce { reducer: r.reducer, bound, pred, terms, place: chosen, of };
        self.builder.reduce(&self.dims(place), scalar, reduce, place.needs.clone())
    }

    /// Converts `x[a…]`, including the remaining whole axes, or a part of the result of a call.
    fn element(&mut self, place: &Place, e: &Expr) -> Var {
        self.hits.count("5.30");
        let mut at = Vec::new();
        let mut base = e;
        while let Kind::Access(inner, p) = &base.kind {
            at.push(self.poly(place, p));
            base = inner;
        }
        at.reverse();
        let var = match &base.kind {
            Kind::Var(x) => self.env.get(x).copied(),
            Kind::Proj(call, part) => {
                at = self.own(place).into_iter().chain(at).collect();
                self.call(place, call, *part)
            }
            _ => None,
        };
        let Some(var) = var else {
            let dims = self.dims(place);
            return self.builder.zero(&dims, Scalar::F64);
        };
        let rest: Vec<Poly> = self.builder.dims(var).into_iter().skip(at.len()).collect();
        let mut place = place.clone();
        for n in rest {
            let k = place.indices.len();
            let index = ssa::index(k, &n);
            at.push(index.value());
            place.indices.push(index);
        }
        self.hits.count("5.26");
        self.view(&place, Access { var, at }, false)
    }

    /// Converts a part of the result of a call, with the indices of the place before its own.
    fn call(&mut self, place: &Place, call: &Expr, part: u32) -> Option<Var> {
        if let Kind::Loop(repeat, args) = &call.kind {
            return self.repeat(place, call, repeat, args, part);
        }
        let Kind::Call(callee, sizes, args) = &call.kind else { return None };
        let ssa = (self.callees)(callee)?;
        let args: Vec<Var> = args.iter().map(|e| self.convert(place, e)).collect();
        let sizes = sizes.iter().map(|p| self.poly(place, p)).collect();
        let (dims, pred, needs) = (self.dims(place), place.pred.clone(), place.needs.clone());
        let call = Call { callee, sizes, args, dims, pred, needs };
        let (vars, inputs) = (&mut self.vars, &mut self.inputs);
        let parts = inline::call(&mut self.builder, &call, &ssa, &mut |builder, global| {
            input_of(builder, vars, inputs, global)
        });
        parts.get(part as usize).copied()
    }

    /// Converts a part of the result of a loop, with the indices of the place before its own.
    fn repeat(&mut self, place: &Place, call: &Expr, repeat: &Repeat, args: &[E], part: u32) -> Option<Var> {
        let body = (self.callees)(&repeat.body)?;
        let leaves = call.ty.leaves();
        let carried = leaves.iter().filter(|leaf| leaf.path.first() == Some(&0)).count();
        let given = args.len().checked_sub(carried)?;
        let (batch, own) = (self.dims(place), self.own(place));
        // The checks of this place apply to the loop, not to its arguments.
        let around = Place { needs: Vec::new(), ..place.clone() };
        let mut passed = Vec::new();
        for e in args {
            let var = self.convert(&around, e);
            let of = Access { var, at: own.clone() };
            passed.push(self.builder.whole_below(&of, &batch, &place.pred));
        }
        let mut passed = passed.into_iter().enumerate();
        let mut all = Vec::new();
        for input in &body.inputs {
            if !input.source.is_passed() {
                let var = input_of(&mut self.builder, &mut self.vars, &mut self.inputs, input);
                all.push(Arg::Given(Access { var, at: Vec::new() }));
                continue;
            }
            let (k, of) = passed.next()?;
            all.push(match k.checked_sub(given) {
                None => Arg::Given(of),
                Some(next) => Arg::Carried { init: of, next: u32::try_from(next).ok()? },
            });
        }
        let first = all.iter().position(|a| matches!(a, Arg::Carried { .. })).and_then(|k| u32::try_from(k).ok());
        let mut inside = place.clone();
        inside.indices.push(repeat.counter.clone());
        let of = Loop {
            pred: place.pred.clone(),
            trips: match &repeat.trips {
                core::Trips::Count(n) => Trips::Count(self.poly(place, n)),
                core::Trips::While => Trips::While(first?),
            },
            checkpoint: repeat.checkpoint.as_ref().map(|s| s.map(|k| self.poly(place, k))),
            sizes: repeat.sizes.iter().map(|p| self.poly(&inside, p)).collect(),
            args: all,
            body: Arc::new((*body).clone().closed()),
            batch,
        };
        let of = Arc::new(super::loops::sliced(&self.builder, &of));
        let leaf = leaves.get(part as usize)?;
        let extents = leaf.dims.iter().map(|n| self.poly(place, n));
        let dims: Vec<Poly> = of.batch.iter().cloned().chain(extents).collect();
        let part = match leaf.path.first()? {
            0 => Part::Last(first? + part),
            1 => Part::Every(part),
            _ => Part::Trips,
        };
        Some(self.builder.looped(&dims, leaf.scalar?, &of, part, place.needs.clone()))
    }

    /// Converts an update of an array, for every tuple of indices of the place.
    fn update(&mut self, place: &Place, update: &Update, base: &E, value: &E, scalar: Scalar) -> Var {
        let (base, value) = (self.convert(place, base), self.convert(place, value));
        let dims = self.builder.dims(base);
        let (outer, own) = (place.indices.len(), self.own(place));
        // The indices of the written value follow those of the array. Then follow those of the axes
        // below.
        let below: Vec<Poly> = dims.iter().skip(outer + update.at.len()).cloned().collect();
        let bound: Vec<Poly> = update.over.iter().map(|i| self.poly(place, &i.extent)).chain(below).collect();
        let free = dims.len();
        let put = |this: &Self, p: &Poly| {
            let p = p.substitute(&|a| {
                let k = update.over.iter().position(|i| i.atom() == *a)?;
                Some(ssa::index(free + k, &Poly::default()).value())
            });
            this.poly(place, &p)
        };
        let index = |k: usize| ssa::index(free + k, &Poly::default()).value();
        let mut at: Vec<Poly> = update.at.iter().map(|p| put(self, p)).collect();
        at.extend((update.over.len()..bound.len()).map(index));
        let of = Rhs::Update {
            base: Access { var: base, at: own.clone() },
            batch: u32::try_from(outer).unwrap_or(u32::MAX),
            pred: place.pred.and(&self.pred(place, &update.pred)),
            at,
            value: Access { var: value, at: own.into_iter().chain((0..bound.len()).map(index)).collect() },
            add: update.add,
            bound,
        };
        self.builder.update(&dims, scalar, of, place.needs.clone())
    }

    fn view(&mut self, place: &Place, of: Access, neg: bool) -> Var {
        let dims = self.dims(place);
        self.builder.contract(&dims, Vec::new(), &place.pred, neg, &[of], place.needs.clone())
    }

    fn checked(&mut self, place: &Place, cond: Pred, what: &Arc<Failing>) -> u32 {
        let dims = self.dims(place);
        self.builder.check(Check { dims, guard: place.pred.clone(), cond, what: what.clone() })
    }

    /// Converts an assertion. Its checks belong to the function.
    fn asserted(&mut self, place: &Place, e: &E, checks: &mut Vec<u32>) {
        guarded(|| match &e.kind {
            Kind::Gen(index, body) => {
                let mut inner = place.clone();
                inner.indices.push(index.clone());
                self.asserted(&inner, body, checks);
            }
            Kind::Guard(p, body) => {
                let mut inner = place.clone();
                inner.pred = inner.pred.and(&self.pred(place, p));
                self.asserted(&inner, body, checks);
            }
            Kind::Check(p, what, body) => {
                let cond = self.pred(place, p);
                checks.push(self.checked(place, cond, what));
                self.asserted(place, body, checks);
            }
            _ => {}
        });
    }

    // ---- indices ----

    /// Returns the extents of the enclosing generations.
    fn dims(&self, place: &Place) -> Vec<Poly> {
        place.indices.iter().map(|i| self.poly(place, &i.extent)).collect()
    }

    /// Returns the canonical indices of a place.
    fn own(&self, place: &Place) -> Vec<Poly> {
        (0..place.indices.len()).map(|k| ssa::index(k, &Poly::default()).value()).collect()
    }

    fn poly(&self, place: &Place, p: &Poly) -> Poly {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => {
                let k = place.indices.iter().rposition(|i| i.local == *l)?;
                Some(ssa::index(k, &Poly::default()).value())
            }
            Atom::Read(x, _, at) => {
                let var = self.env.get(x)?;
                let at = at.iter().map(|p| self.poly(place, p)).collect();
                let of = self.through(Access { var: *var, at });
                Some(Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.into())))
            }
            _ => None,
        })
    }

    fn pred(&self, place: &Place, p: &Pred) -> Pred {
        let p = p.map(&|p| self.poly(place, p)).replace_opaque(&|x| {
            let var = self.env.get(&x.of)?;
            if !x.array {
                return Some(Pred::Member(var.local(), var.name(), x.at.into(), true));
            }
            let of = self.through(Access { var: *var, at: x.at.to_vec() });
            Some(Pred::Is(of.var.local(), of.var.name(), of.at.into(), true))
        });
        // This is the form that predicates of statements have, so that the builder can prove them.
        self.builder.asked(&p)
    }

    /// Looks through views that hide nothing, for an access that is read as data.
    fn through(&self, of: Access) -> Access {
        match self.builder.see(&of) {
            Some(seen) if seen.pred.is_true() && !seen.neg && seen.needs.is_empty() => seen.of,
            _ => of,
        }
    }
}

/// Returns the input for a part of a top-level `let`, and adds it if it is new.
pub(crate) fn input_of(builder: &mut Builder, vars: &mut Vars, inputs: &mut Vec<Input>, global: &Input) -> Var {
    let same = |i: &Input| i.source == global.source && i.leaf.path == global.leaf.path;
    let at = inputs.iter().position(same).unwrap_or_else(|| {
        let name = match &global.source {
            Source::Global(name) => name.name.clone(),
            Source::Param(_) | Source::Tangent(_) | Source::Cotangent(_) => Name::default(),
        };
        inputs.push(Input { local: vars.fresh(name), ..global.clone() });
        inputs.len() - 1
    });
    let k = u32::try_from(at).unwrap_or(u32::MAX);
    builder.push(global.leaf.dims.clone(), global.leaf.scalar, Rhs::Input(k), Vec::new())
}
