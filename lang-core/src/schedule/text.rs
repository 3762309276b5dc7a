//! Steps as text:
//!
//! ```text
//! kernel X4, X5
//!   given X0[n], X1[m]; makes X5[n]
//!   for i < n, in chunks:  -- n times
//!     X4 = 0
//!     for j in max(0, i - n + 1)..min(m, i + 1):  -- at most n*m times
//!       X4 += X0[i - j] * X1[j]
//!     X5[i] = exp(X4)
//! ```
//!
//! Behind a loop stands how often what is in it runs.

use std::collections::HashSet;
use std::fmt;

use super::chunks::{self, Own};
use super::kernel::{Join, Kernel, Loop, Node, Place, Product, Role, Set};
use super::{Schedule, Step, is_trivial};
use crate::ir::core::Constant;
use crate::ir::reduce::Reducer;
use crate::ir::ssa::{Rhs, Ssa, Var};
use crate::ir::ssa_text::rhs_text;
use crate::predicate::{Index, Poly};
use crate::syntax::ops::Scalar;

/// The steps of a function for a reader. What is said of a statement stands behind its line.
pub struct Shown<'a> {
    /// The function.
    pub ssa: &'a Ssa,
    /// Its steps.
    pub schedule: &'a Schedule,
    /// What is to be said of a statement.
    pub note: &'a dyn Fn(Var) -> Option<String>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut read: HashSet<Var> = self.ssa.outputs.iter().map(|(_, v)| *v).collect();
        self.ssa.stmts.iter().for_each(|s| s.rhs.for_each_operand(&mut |v| read.extend([v])));
        let constants = self
            .ssa
            .stmts
            .iter()
            .enumerate()
            .filter(|(k, s)| is_trivial(&s.rhs) && u32::try_from(*k).is_ok_and(|k| read.contains(&Var(k))));
        for (k, stmt) in constants {
            let of = stmt.scalar.unwrap_or(Scalar::F64);
            writeln!(f, "X{k} is {}", rhs_text(self.ssa, &stmt.rhs, of))?;
        }
        for step in &self.schedule.steps {
            match step {
                Step::Statement(v) => {
                    let stmt = self.ssa.stmts.get(v.0 as usize);
                    let of = stmt.and_then(|s| s.scalar).unwrap_or(Scalar::F64);
                    let text = stmt.map(|s| rhs_text(self.ssa, &s.rhs, of)).unwrap_or_default();
                    let text = if text.is_empty() { "a part of a loop".to_owned() } else { text };
                    writeln!(f, "{} = {text}", v.name())?;
                }
                Step::Kernel(kernel, needs) => self.kernel(f, kernel, needs)?,
            }
        }
        Ok(())
    }
}

/// The greatest or the least of these.
fn bound(first: Poly, more: &[Poly], word: &str) -> String {
    let all: Vec<&Poly> = [&first].into_iter().chain(more).collect();
    let constants = all.iter().filter_map(|p| p.as_constant());
    let constant = if word == "max" { constants.max() } else { constants.min() };
    let mut items: Vec<String> = constant.iter().map(ToString::to_string).collect();
    for p in all.iter().filter(|p| p.as_constant().is_none()).map(ToString::to_string) {
        if !items.contains(&p) {
            items.push(p);
        }
    }
    if let [one] = items.as_slice() { one.clone() } else { format!("{word}({})", items.join(", ")) }
}

fn place(p: &Place) -> String {
    let axes: Vec<String> = p.axes.iter().flatten().map(ToString::to_string).collect();
    if axes.is_empty() { p.var.name().to_string() } else { format!("{}[{}]", p.var.name(), axes.join(", ")) }
}

/// What a node stands in: how deep, and how often it runs, exactly or at most.
struct Around {
    depth: usize,
    times: Poly,
    exact: bool,
    /// The loops around, with how often each of them runs.
    loops: Vec<(Index, Poly)>,
}

impl Around {
    fn inside(&self) -> Self {
        Self { depth: self.depth + 1, times: self.times.clone(), exact: self.exact, loops: self.loops.clone() }
    }

    /// What is around the body of a loop.
    fn within(&self, of: &Loop) -> Self {
        let mut inside = self.inside();
        inside.exact &= of.from.is_empty() && of.to.is_empty();
        // The parts of a loop that is done in strips are as many as its extent says, all together.
        let strips = self.loops.iter().find(|(strip, _)| is_strip_of(of, strip));
        let times = strips.map_or(&self.times, |(_, times)| times);
        inside.loops.push((of.index.clone(), self.times.clone()));
        inside.times = times.mul(&of.index.extent);
        inside
    }

    fn asked(&self) -> Self {
        Self { exact: false, ..self.inside() }
    }
}

/// Does the loop go on, in each iteration of the other, where it ended in the one before?
fn is_strip_of(of: &Loop, other: &Index) -> bool {
    let mut pairs = of.from.iter().flat_map(|from| of.to.iter().map(move |to| (from, to)));
    pairs.any(|(from, to)| from.linear_in(&other.atom()).is_some_and(|(by, _)| to.sub(from).as_constant() == Some(by)))
}

fn in_chunks(own: &[(Var, Own)]) -> String {
    let of = |which: fn(&Own) -> bool, word: &str| {
        let vars: Vec<String> = own.iter().filter(|(_, own)| which(own)).map(|(v, _)| v.name().to_string()).collect();
        if vars.is_empty() { String::new() } else { format!(", {} {word}", vars.join(" and ")) }
    };
    let joined = of(|own| matches!(own, Own::Chunk(_)), "joined");
    let by_thread = of(|own| matches!(own, Own::Thread), "of each thread");
    format!(", in chunks{joined}{by_thread}")
}

impl Shown<'_> {
    fn kernel(&self, f: &mut fmt::Formatter<'_>, kernel: &Kernel, needs: &[u32]) -> fmt::Result {
        let of = |role: Role, word: &str| {
            let places = kernel.places.iter().filter(|p| p.role == role && !p.is_register());
            let all: Vec<String> = places.map(place).collect();
            if all.is_empty() { None } else { Some(format!("{word} {}", all.join(", "))) }
        };
        let heads = [of(Role::Given, "given"), of(Role::Made, "makes"), of(Role::Within, "within")];
        writeln!(f, "kernel {}", heads.into_iter().flatten().collect::<Vec<_>>().join("; "))?;
        if !needs.is_empty() {
            let needs: Vec<String> = needs.iter().map(u32::to_string).collect();
            writeln!(f, "  after checks {}", needs.join(", "))?;
        }
        let around = Around { depth: 1, times: Poly::constant(1), exact: true, loops: Vec::new() };
        for node in &kernel.body {
            let own = if let Node::Loop(of) = node { chunks::own(self.ssa, kernel, of) } else { None };
            self.node(f, node, &around, own.as_deref())?;
        }
        Ok(())
    }

    /// A node; of a loop that runs in chunks, what each of these has of its own.
    fn node(
        &self,
        f: &mut fmt::Formatter<'_>,
        node: &Node,
        around: &Around,
        own: Option<&[(Var, Own)]>,
    ) -> fmt::Result {
        let within = |f: &mut fmt::Formatter<'_>, body: &[Node], around: &Around| {
            body.iter().try_for_each(|node| self.node(f, node, around, None))
        };
        write!(f, "{:1$}", "", 2 * around.depth)?;
        match node {
            Node::Loop(of @ Loop { index, from, to, in_order, body }) => {
                let inside = around.within(of);
                let (from, to) = (bound(Poly::default(), from, "max"), bound(index.extent.clone(), to, "min"));
                let range = if from == "0" { format!("< {to}") } else { format!("in {from}..{to}") };
                let order = if *in_order { ", in order".to_owned() } else { own.map(in_chunks).unwrap_or_default() };
                let most = if inside.exact { "" } else { "at most " };
                writeln!(f, "for {} {range}{order}:  -- {most}{} times", index.name, inside.times)?;
                within(f, body, &inside)
            }
            Node::Told { index, value, body } => {
                writeln!(f, "at {} = {value} if < {}:", index.name, index.extent)?;
                within(f, body, &around.asked())
            }
            Node::If(p, body) => {
                writeln!(f, "if {p}:")?;
                within(f, body, &around.asked())
            }
            Node::Product(of) => {
                let Product { var, at: own, neg, along: [m, n, k], factors, body, .. } = &**of;
                let at = |at: &[Poly]| at.iter().map(ToString::to_string).collect::<Vec<String>>();
                let [a, b] = factors.each_ref().map(|f| element(f.var, &at(&f.at)));
                let sign = if *neg { "-" } else { "" };
                let range = |i: &Index| format!("{} < {}", i.name, i.extent);
                let product = format!("{} = {sign}sum {}: {a} * {b}", element(*var, &at(own)), range(k));
                writeln!(f, "matrices {product} for {}, {}; by loops, if they are small:", range(m), range(n))?;
                within(f, body, &around.inside())
            }
            Node::Clear(var, at, with) => {
                let at: Vec<String> = at.iter().map(|p| p.as_ref().map_or("_".to_owned(), Poly::to_string)).collect();
                let of = self.ssa.stmts.get(var.0 as usize).and_then(|s| s.scalar).unwrap_or(Scalar::F64);
                let with = match with {
                    Constant::Int(k) => k.to_string(),
                    Constant::Real(x) => format!("{x:?}"),
                    other => rhs_text(self.ssa, &Rhs::Constant(*other), of),
                };
                writeln!(f, "{} = {with}", element(*var, &at))
            }
            Node::Set(set) => self.set(f, set),
        }
    }

    fn set(&self, f: &mut fmt::Formatter<'_>, set: &Set) -> fmt::Result {
        let at: Vec<String> = set.at.iter().map(ToString::to_string).collect();
        let of = self.ssa.stmts.get(set.var.0 as usize).and_then(|s| s.scalar).unwrap_or(Scalar::F64);
        let sign = match set.join {
            None => "=",
            Some(Join::Sum) => "+=",
            Some(Join::Reduce(Reducer::Prod)) => "*=",
            Some(Join::Reduce(Reducer::Min)) => "min=",
            Some(Join::Reduce(Reducer::Max)) => "max=",
            Some(Join::Reduce(Reducer::Argmin)) => "argmin=",
            Some(Join::Reduce(Reducer::Argmax)) => "argmax=",
        };
        let rhs = match &set.rhs {
            Rhs::Reduce(r) => {
                let at: Vec<String> = r.of.at.iter().map(ToString::to_string).collect();
                let of = element(r.of.var, &at);
                if r.reducer.gives_place() { format!("{of} at {}", r.place) } else { of }
            }
            rhs => rhs_text(self.ssa, rhs, of),
        };
        write!(f, "{} {sign} {rhs}", element(set.var, &at))?;
        if let Some(note) = (self.note)(set.var) {
            write!(f, "  -- {note}")?;
        }
        writeln!(f)
    }
}

fn element(var: Var, at: &[String]) -> String {
    if at.is_empty() { var.name().to_string() } else { format!("{}[{}]", var.name(), at.join(", ")) }
}
