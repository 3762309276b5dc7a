//! **Loops** in the evaluator of Tensor SSA: runs the body for each iteration and keeps the parts
//! of the result that statements read.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Eval, Run, Tensor, paste};
use crate::eval::Stopped;
use crate::indices;
use lang_ir::core::Spacing;
use lang_ir::nest::Nest;
use lang_ir::region::{Loop, Part, Trips};
use lang_ir::ssa::{Access, Rhs};
use lang_ir::value::Value;
use lang_syntax::ops::Scalar;

/// The finished runs of a loop, one for each tuple of its batch.
pub(super) struct Ran {
    of: Arc<Loop>,
    of_all: Vec<OneLoop>,
}

/// One run of a loop.
struct OneLoop {
    /// The tuple of the batch.
    at: Vec<i64>,
    last: HashMap<u32, Arc<Tensor>>,
    every: HashMap<u32, Vec<Arc<Tensor>>>,
    states: HashMap<u32, Vec<Arc<Tensor>>>,
    trips: i64,
    /// The longest chains to the parts of its result.
    chains: HashMap<Part, u64>,
}

impl Run<'_, '_> {
    /// Evaluates a part of a loop. All parts share the same run.
    pub(super) fn looped(&mut self, of: &Arc<Loop>, part: Part, mut out: Tensor) -> Eval<Arc<Tensor>> {
        let known = self.loops.iter().position(|ran| Arc::ptr_eq(&ran.of, of) || ran.of == *of);
        let at = match known {
            Some(at) => at,
            None => {
                let ran = self.repeat(of)?;
                self.loops.push(ran);
                self.loops.len() - 1
            }
        };
        let Some(ran) = self.loops.get(at) else { return Err(Stopped::Broken("a loop")) };
        self.chains.ends(ran.of_all.iter().filter_map(|one| one.chains.get(&part)).copied().max().unwrap_or_default());
        let batch = of.batch.len();
        let parts = self.ssa.stmts.iter().filter(|s| match &s.rhs {
            Rhs::Loop(other, p) => *p == part && (Arc::ptr_eq(other, of) || other == of),
            _ => false,
        });
        if let ([_], Part::Last(k), 1) = (ran.of_all.as_slice(), part, parts.count())
            && batch == 0
        {
            // Only this statement reads the part, so its users may update it in place.
            let one = self.loops.get_mut(at).and_then(|ran| ran.of_all.first_mut());
            return one.and_then(|one| one.last.remove(&k)).ok_or(Stopped::Broken("a part of a loop"));
        }
        let broken = Stopped::Broken("a part of a loop");
        for one in &ran.of_all {
            let mut at: Vec<usize> = one.at.iter().map(|i| usize::try_from(*i).unwrap_or(usize::MAX)).collect();
            match part {
                Part::Last(k) => paste(&mut out, &at, one.last.get(&k).ok_or(broken.clone())?)?,
                Part::Every(k) => {
                    for (t, tensor) in one.every.get(&k).ok_or(broken.clone())?.iter().enumerate() {
                        at.truncate(batch);
                        at.push(t);
                        paste(&mut out, &at, tensor)?;
                    }
                }
                Part::State(k) => {
                    for (t, tensor) in one.states.get(&k).ok_or(broken.clone())?.iter().enumerate() {
                        at.truncate(batch);
                        at.push(t);
                        paste(&mut out, &at, tensor)?;
                    }
                }
                Part::Trips => {
                    let trips = Tensor { dims: Vec::new(), items: vec![Value::I64(one.trips)] };
                    paste(&mut out, &at, &trips)?;
                }
            }
        }
        Ok(Arc::new(out))
    }

    fn repeat(&mut self, of: &Arc<Loop>) -> Eval<Ran> {
        let mut parts: BTreeSet<Part> = BTreeSet::new();
        for stmt in &self.ssa.stmts {
            if let Rhs::Loop(other, part) = &stmt.rhs
                && (Arc::ptr_eq(other, of) || other == of)
            {
                parts.insert(*part);
            }
        }
        let extents = self.extents(&of.batch)?;
        let nest = Nest::new(extents, of.batch.len(), &of.pred, self)?;
        let places = self.chain_to_places(&Rhs::Loop(of.clone(), Part::Trips));
        let mut all = Vec::new();
        nest.visit(self, &mut |run, at| {
            all.push(run.iterate(of, &parts, at, places)?);
            Ok(())
        })?;
        Ok(Ran { of: of.clone(), of_all: all })
    }

    /// Runs one loop. `places` is the chain to the data that determine where and how often it runs.
    fn iterate(&mut self, of: &Loop, parts: &BTreeSet<Part>, at: &[i64], places: u64) -> Eval<OneLoop> {
        let broken = Stopped::Broken("a loop");
        let count = of.count().map(|n| self.number(n, at)).transpose()?;
        let next: HashMap<usize, u32> = of.carried().map(|(k, next)| (k as usize, next)).collect();
        let (mut carry, mut held): (HashMap<usize, Arc<Tensor>>, Vec<Arc<Tensor>>) = (HashMap::new(), Vec::new());
        for k in next.keys() {
            let init = of.args.get(*k).ok_or(broken.clone())?.access();
            // An initial value that nothing else reads is updated in place.
            let own = init.at.is_empty() && self.last.get(init.var.0 as usize) == Some(&Some(self.at));
            let readers = of.args.iter().filter(|a| a.access().var == init.var).count();
            let taken = if own && at.is_empty() && readers == 1 {
                self.values.get_mut(init.var.0 as usize).and_then(Option::take)
            } else {
                None
            };
            let tensor = match taken {
                Some(tensor) => tensor,
                None => {
                    let tensor = self.slice(init, at)?;
                    held.push(tensor.clone());
                    tensor
                }
            };
            carry.insert(*k, tensor);
        }
        let firsts = held.len();
        let mut every: HashMap<u32, Vec<Arc<Tensor>>> = HashMap::new();
        parts.iter().for_each(|part| {
            if let Part::Every(k) = part {
                every.insert(*k, Vec::new());
            }
        });
        let kept = parts.iter().filter_map(|p| if let Part::State(k) = p { Some((*k, Vec::new())) } else { None });
        let mut states: HashMap<u32, Vec<Arc<Tensor>>> = kept.collect();
        let mut to: Vec<u64> = of.args.iter().map(|a| self.chain_to(a.access()).max(places)).collect();
        let mut chains: HashMap<Part, u64> = HashMap::new();
        let mut chain = |part: Part, to: u64| {
            let most = chains.entry(part).or_default();
            *most = to.max(*most);
        };
        let told = of.checkpoint.as_ref().and_then(Spacing::told).map(|n| self.number(n, at)).transpose()?;
        let spacing = Spacing::value(told, count);
        let mut trips = 0;
        loop {
            let on = match (&of.trips, count) {
                (_, Some(n)) => trips < n,
                (Trips::While(k), None) => {
                    let flag = carry.get(&(*k as usize)).and_then(|t| t.items.first()?.truth());
                    flag.ok_or(broken.clone())?
                }
                (Trips::Count(_), None) => false,
            };
            if !on {
                break;
            }
            self.iteration()?;
            self.own.trips += 1;
            let place: Vec<i64> = at.iter().copied().chain([trips]).collect();
            let sizes = of.sizes.iter().map(|p| self.number(p, &place)).collect::<Eval<Vec<i64>>>()?;
            for (k, kept) in states.iter_mut().filter(|_| trips % spacing == 0) {
                kept.push(carry.get(&(*k as usize)).cloned().ok_or(broken.clone())?);
                chain(Part::State(*k), to.get(*k as usize).copied().unwrap_or_default());
            }
            let mut inputs = Vec::new();
            for (k, arg) in of.args.iter().enumerate() {
                inputs.push(match carry.remove(&k) {
                    Some(tensor) => tensor,
                    None => {
                        let tensor = self.given(of, k, arg.access(), &place)?;
                        held.push(tensor.clone());
                        tensor
                    }
                });
            }
            let (outputs, given) = self.chained(to.clone(), |run| {
                lang_base::guarded(|| run.inside(|evaluator| evaluator.run(&of.body, &sizes, inputs)))
            })?;
            held.truncate(firsts);
            for (k, kept) in &mut every {
                kept.push(outputs.get(*k as usize).cloned().ok_or(broken.clone())?);
                chain(Part::Every(*k), given.get(*k as usize).copied().unwrap_or_default());
            }
            let mut outputs: Vec<Option<Arc<Tensor>>> = outputs.into_iter().map(Some).collect();
            let mut left: HashMap<u32, usize> = HashMap::new();
            next.values().for_each(|n| *left.entry(*n).or_default() += 1);
            for (k, n) in &next {
                let slot = outputs.get_mut(*n as usize).ok_or(broken.clone())?;
                let more = left.get_mut(n).is_some_and(|left| {
                    *left -= 1;
                    *left > 0
                });
                let value = if more { slot.clone() } else { slot.take() };
                carry.insert(*k, value.ok_or(broken.clone())?);
                if let (Some(slot), Some(given)) = (to.get_mut(*k), given.get(*n as usize)) {
                    *slot = *given;
                }
            }
            trips += 1;
        }
        if let Trips::While(k) = &of.trips {
            chain(Part::Trips, to.get(*k as usize).copied().unwrap_or_default());
        }
        for k in next.keys() {
            chain(Part::Last(u32::try_from(*k).unwrap_or(u32::MAX)), to.get(*k).copied().unwrap_or_default());
        }
        let last = carry.into_iter().filter_map(|(k, t)| Some((u32::try_from(k).ok()?, t))).collect();
        Ok(OneLoop { at: at.to_vec(), last, every, states, trips, chains })
    }

    /// Returns the value of an input in an iteration. It is zero if the access is out of bounds.
    fn given(&mut self, of: &Loop, k: usize, a: &Access, at: &[i64]) -> Eval<Arc<Tensor>> {
        match self.slice(a, at) {
            Err(Stopped::Broken("a slice" | indices::OUTSIDE)) => {}
            found => return found,
        }
        let whole = self.tensor(a.var)?;
        let input = of.body.inputs.get(k).ok_or(Stopped::Broken("an input"))?;
        let dims: Vec<usize> = whole.dims.iter().skip(a.at.len()).copied().collect();
        let count: usize = dims.iter().product();
        let zero = Value::zero_of(input.leaf.scalar.unwrap_or(Scalar::F64));
        Ok(Arc::new(Tensor { items: vec![zero; count], dims }))
    }
}
