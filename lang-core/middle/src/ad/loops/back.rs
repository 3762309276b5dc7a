//! **Store-on-kill** for arrays that the body of a loop only updates. The forward loop keeps the
//! overwritten elements instead of states, and the reverse writes them back, update by update.
//!
//! If a nested loop updates the array, the reverse of that loop restores it. If no such reverse
//! restores it, a separate loop does.

use std::sync::Arc;

use super::super::Deriving;
use super::Ends;
use super::split::Split;
use lang_ir::region::{Arg, Loop, Part};
use lang_ir::ssa::{Access, Rhs, Stmt, Var, index, index_number};
use lang_sizes::predicate::{Atom, Poly};

/// A carried array that a body only updates, with all its versions.
#[derive(Clone)]
pub(super) struct Chain {
    /// The carried input, and the statement that reads it.
    pub(super) input: u32,
    pub(super) first: Var,
    /// The later versions, in order.
    pub(super) links: Vec<Link>,
}

/// A version of an array, after an update or after a nested loop of updates.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) after: Var,
    /// After a nested loop: the statement of the reverse that computes the previous version.
    pub(super) before: Option<Var>,
}

impl Chain {
    /// Whether the statement is one of the versions.
    pub(super) fn has(&self, v: Var) -> bool {
        self.first == v || self.links.iter().any(|l| l.after == v)
    }

    /// Returns the last version.
    pub(super) fn last(&self) -> Var {
        self.links.last().map_or(self.first, |l| l.after)
    }

    /// Iterates over the versions from the last to the first, each with the version before it.
    pub(super) fn backwards(&self) -> impl Iterator<Item = (Var, &Link)> {
        let before = std::iter::once(self.first).chain(self.links.iter().map(|l| l.after));
        let all: Vec<(Var, &Link)> = before.zip(&self.links).collect();
        all.into_iter().rev()
    }
}

/// A loop of a reverse that restores an array: the version it starts from, and its input for the
/// array.
pub(in crate::ad) struct PutBack {
    pub(super) after: Var,
    pub(super) by: Arc<Loop>,
    pub(super) input: u32,
}

/// Returns the carried arrays that a body only updates.
fn chains(of: &Loop) -> Vec<Chain> {
    of.carried().filter_map(|(k, next)| chain(of, k, next)).collect()
}

fn chain(of: &Loop, input: u32, next: u32) -> Option<Chain> {
    let (leaf, last) = of.body.outputs.get(next as usize)?;
    if leaf.dims.is_empty() {
        return None;
    }
    let (mut links, mut at) = (Vec::new(), *last);
    loop {
        let before = match &of.body.stmts.get(at.0 as usize)?.rhs {
            Rhs::Input(k) if *k == input && !links.is_empty() => break,
            Rhs::Update { base, batch: 0, .. } => base,
            Rhs::Loop(inner, Part::Last(k)) if inner.batch.is_empty() && inner.checkpoint.is_none() => {
                let Arg::Carried { init, next } = inner.args.get(*k as usize)? else { return None };
                chain(inner, *k, *next)?;
                init
            }
            _ => return None,
        };
        if !before.at.is_empty() {
            return None;
        }
        links.push(Link { after: at, before: None });
        at = before.var;
    }
    links.reverse();
    Some(Chain { input, first: at, links })
}

impl Deriving<'_> {
    /// Partitions a loop body and its adjoint, which this pass holds. The reverse part computes
    /// these cotangents and restores these inputs.
    pub(super) fn split(&mut self, of: &Loop, cotangents: &[Var], inputs: &[u32]) -> Split {
        let mut chains = chains(of);
        loop {
            let back = chains.iter().filter(|c| inputs.contains(&c.input)).map(|c| c.first);
            let ends: Vec<Var> = cotangents.iter().copied().chain(back).collect();
            let split = Split::of(of, self, &ends, &chains);
            let Some(after) = split.missing else { return split };
            let before = self.before(after);
            for link in chains.iter_mut().flat_map(|c| &mut c.links).filter(|l| l.after == after) {
                link.before = before;
            }
            if before.is_none() {
                // No loop restores the array, so the forward loop keeps whole states.
                chains.retain(|c| !c.has(after));
            }
        }
    }

    /// Returns the version of an array before the nested loop that updates it, or `None` if it
    /// cannot be restored.
    fn before(&mut self, after: Var) -> Option<Var> {
        let stmt = self.builder.get(after)?.clone();
        let known = self.back.iter().find(|b| b.after == after).map(|b| (b.by.clone(), b.input));
        let (by, input) = match known {
            Some(known) => known,
            None => self.put_back(&stmt)?,
        };
        Some(self.builder.looped(&stmt.dims, stmt.scalar?, &by, Part::Last(input), stmt.needs))
    }

    /// Builds a loop that restores the array which a nested loop updates. Returns the loop and its
    /// input for the array.
    fn put_back(&mut self, stmt: &Stmt) -> Option<(Arc<Loop>, u32)> {
        let Rhs::Loop(of, Part::Last(k)) = &stmt.rhs else { return None };
        let mut pass = Deriving::new(&of.body, self.functions, self.hits);
        pass.builder.region = true;
        let made = pass.split(of, &[], &[*k]).made(of, &pass, (0, 0), &[]);
        let output = made.back.iter().position(|j| j == k)?;
        let forward = Arc::new(Loop { body: Arc::new(made.forward.clone()), ..(**of).clone() });
        self.builder.replace_loop(of, &forward);
        let (trips, extent) = self.trips(&forward, &stmt.needs)?;
        let ends = Ends { carried: Vec::new(), every: Vec::new(), sums: Vec::new(), count: 0 };
        let by = self.backward(of, &forward, &made, &ends, (&trips, &extent), &stmt.needs)?;
        let carried = |a: &Arg| matches!(a, Arg::Carried { next, .. } if *next as usize == output);
        let input = by.args.iter().position(carried)?;
        Some((by, u32::try_from(input).ok()?))
    }
}

/// Returns a statement over the bound indices of an update that reads the elements it overwrites.
pub(super) fn overwritten(stmt: &Stmt, before: Var) -> Stmt {
    let Rhs::Update { bound, pred, at, .. } = &stmt.rhs else { return stmt.clone() };
    let free = stmt.dims.len();
    let down = |p: &Poly| {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => {
                let k = index_number(*l)?.checked_sub(free)?;
                Some(index(k, &Poly::default()).value())
            }
            _ => None,
        })
    };
    let rhs = Rhs::Contract {
        bound: Vec::new(),
        pred: pred.map(&down),
        neg: false,
        factors: vec![Access { var: before, at: at.iter().map(down).collect() }],
    };
    Stmt { dims: bound.clone(), scalar: stmt.scalar, rhs, needs: stmt.needs.clone(), name: None }
}
