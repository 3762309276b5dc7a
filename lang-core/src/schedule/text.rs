//! Steps as text:
//!
//! ```text
//! kernel X4, X5
//!   given X0[n], X1[m]; makes X5[n]
//!   for i < n:
//!     X4 = 0
//!     for j in max(0, i - n + 1)..min(m, i + 1):
//!       X4 += X0[i - j] * X1[j]
//!     X5[i] = exp(X4)
//! ```

use std::fmt;

use super::kernel::{Join, Kernel, Loop, Node, Place, Role, Set};
use super::{Schedule, Step, is_trivial};
use crate::ir::core::Constant;
use crate::ir::reduce::Reducer;
use crate::ir::ssa::{Rhs, Ssa, Var};
use crate::ir::ssa_text::rhs_text;
use crate::predicate::Poly;
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
        let constants = self.ssa.stmts.iter().enumerate().filter(|(_, s)| is_trivial(&s.rhs));
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

fn place(p: &Place) -> String {
    let axes: Vec<String> = p.axes.iter().flatten().map(ToString::to_string).collect();
    if axes.is_empty() { p.var.name().to_string() } else { format!("{}[{}]", p.var.name(), axes.join(", ")) }
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
        kernel.body.iter().try_for_each(|node| self.node(f, node, 1))
    }

    fn node(&self, f: &mut fmt::Formatter<'_>, node: &Node, depth: usize) -> fmt::Result {
        write!(f, "{:1$}", "", 2 * depth)?;
        match node {
            Node::Loop(Loop { index, from, to, body }) => {
                let all = |first: Poly, more: &[Poly], word: &str| {
                    let items: Vec<String> = [first].iter().chain(more).map(ToString::to_string).collect();
                    if let [one] = items.as_slice() { one.clone() } else { format!("{word}({})", items.join(", ")) }
                };
                let (from, to) = (all(Poly::default(), from, "max"), all(index.extent.clone(), to, "min"));
                let range = if from == "0" { format!("< {to}") } else { format!("in {from}..{to}") };
                writeln!(f, "for {} {range}:", index.name)?;
                body.iter().try_for_each(|node| self.node(f, node, depth + 1))
            }
            Node::Told { index, value, body } => {
                writeln!(f, "at {} = {value} if < {}:", index.name, index.extent)?;
                body.iter().try_for_each(|node| self.node(f, node, depth + 1))
            }
            Node::If(p, body) => {
                writeln!(f, "if {p}:")?;
                body.iter().try_for_each(|node| self.node(f, node, depth + 1))
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
