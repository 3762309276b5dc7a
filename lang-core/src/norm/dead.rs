//! Statements and checks that nothing reads go, and the others are renumbered. "A transformed program may omit
//! a failure whose value is unused."

use crate::ir::origin::Fate;
use crate::ir::ssa::{Access, Addend, Rhs, Ssa, Stmt, Var, for_each_read};
use crate::predicate::{Atom, LocalId, Poly, Pred};

/// Removes what is not needed for the outputs. Inputs stay. Tells what became of each statement.
pub(crate) fn remove(ssa: &mut Ssa) -> Vec<Fate> {
    let mut live = vec![false; ssa.stmts.len()];
    let mut asked = vec![false; ssa.checks.len()];
    let mut open: Vec<Var> = ssa.outputs.iter().map(|(_, v)| *v).collect();
    let mut checks: Vec<u32> = ssa.needs.clone();
    for (k, stmt) in (0..).zip(&ssa.stmts) {
        if matches!(stmt.rhs, Rhs::Input(_)) {
            open.push(Var(k));
        }
    }
    loop {
        if let Some(c) = checks.pop() {
            if let (Some(slot @ false), Some(check)) = (asked.get_mut(c as usize), ssa.checks.get(c as usize)) {
                *slot = true;
                [&check.guard, &check.cond].into_iter().for_each(|p| for_each_read(p, &mut |v| open.push(v)));
            }
            continue;
        }
        let Some(v) = open.pop() else { break };
        let (Some(slot @ false), Some(stmt)) = (live.get_mut(v.0 as usize), ssa.stmts.get(v.0 as usize)) else {
            continue;
        };
        *slot = true;
        stmt.rhs.for_each_operand(&mut |v| open.push(v));
        checks.extend(&stmt.needs);
    }
    let new = |kept: &[bool]| {
        let mut next = 0;
        let number = |k: &bool| {
            let at = next;
            next += u32::from(*k);
            at
        };
        kept.iter().map(number).collect::<Vec<u32>>()
    };
    let (vars, numbers) = (new(&live), new(&asked));
    let renumber = Renumber { vars: &vars, checks: &numbers };
    let fates = fates(&ssa.stmts, &live, &renumber);
    let mut kept = live.iter();
    ssa.stmts.retain(|_| kept.next().copied().unwrap_or(false));
    let mut kept = asked.iter();
    ssa.checks.retain(|_| kept.next().copied().unwrap_or(false));
    for stmt in &mut ssa.stmts {
        stmt.rhs = renumber.rhs(&stmt.rhs);
        stmt.needs.iter_mut().for_each(|c| *c = renumber.check(*c));
    }
    for check in &mut ssa.checks {
        (check.guard, check.cond) = (renumber.pred(&check.guard), renumber.pred(&check.cond));
    }
    ssa.needs.iter_mut().for_each(|c| *c = renumber.check(*c));
    ssa.outputs.iter_mut().for_each(|(_, v)| *v = renumber.var(*v));
    fates
}

fn fates(stmts: &[Stmt], live: &[bool], renumber: &Renumber<'_>) -> Vec<Fate> {
    let mut fates: Vec<Fate> = Vec::with_capacity(stmts.len());
    for ((k, stmt), live) in (0..).zip(stmts).zip(live) {
        fates.push(match &stmt.rhs {
            _ if *live => Fate::Kept(renumber.var(Var(k))),
            Rhs::Contract { bound, factors, .. } if bound.is_empty() => match factors.as_slice() {
                [one] => match fates.get(one.var.0 as usize) {
                    Some(Fate::Kept(var) | Fate::View(var)) => Fate::View(*var),
                    Some(Fate::Gone) | None => Fate::Gone,
                },
                _ => Fate::Gone,
            },
            _ => Fate::Gone,
        });
    }
    fates
}

struct Renumber<'a> {
    vars: &'a [u32],
    checks: &'a [u32],
}

impl Renumber<'_> {
    fn var(&self, v: Var) -> Var {
        Var(self.vars.get(v.0 as usize).copied().unwrap_or_default())
    }

    fn check(&self, c: u32) -> u32 {
        self.checks.get(c as usize).copied().unwrap_or_default()
    }

    fn local(&self, x: LocalId) -> Option<Var> {
        Var::of_local(x).map(|v| self.var(v))
    }

    fn poly(&self, p: &Poly) -> Poly {
        p.substitute(&|a| match a {
            Atom::Read(x, _, at) => {
                let v = self.local(*x)?;
                Some(Poly::atom(Atom::Read(v.local(), v.name(), at.iter().map(|p| self.poly(p)).collect())))
            }
            _ => None,
        })
    }

    fn pred(&self, p: &Pred) -> Pred {
        p.map(&|p| self.poly(p)).replace_opaque(&|x| {
            let v = self.local(x.of)?;
            let (local, name, at) = (v.local(), v.name(), x.at.into());
            Some(if x.array { Pred::Is(local, name, at, true) } else { Pred::Member(local, name, at, true) })
        })
    }

    fn access(&self, a: &Access) -> Access {
        Access { var: self.var(a.var), at: a.at.iter().map(|p| self.poly(p)).collect() }
    }

    fn rhs(&self, rhs: &Rhs) -> Rhs {
        let all = |items: &[Access]| items.iter().map(|a| self.access(a)).collect();
        match rhs {
            Rhs::Input(_) | Rhs::Constant(_) | Rhs::Zero => rhs.clone(),
            Rhs::Index(p) => Rhs::Index(self.poly(p)),
            Rhs::Add(items) => Rhs::Add(
                items.iter().map(|a| Addend { neg: a.neg, pred: self.pred(&a.pred), of: self.access(&a.of) }).collect(),
            ),
            Rhs::Contract { bound, pred, neg, factors } => Rhs::Contract {
                bound: bound.iter().map(|p| self.poly(p)).collect(),
                pred: self.pred(pred),
                neg: *neg,
                factors: all(factors),
            },
            Rhs::Map { operation, pred, args } => {
                Rhs::Map { operation: *operation, pred: self.pred(pred), args: all(args) }
            }
            Rhs::Call { callee, sizes, pred, args, batch, part } => Rhs::Call {
                callee: callee.clone(),
                sizes: sizes.iter().map(|p| self.poly(p)).collect(),
                pred: self.pred(pred),
                args: all(args),
                batch: *batch,
                part: *part,
            },
        }
    }
}
