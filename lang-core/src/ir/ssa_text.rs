//! Tensor SSA as text: a line for each statement, with its indices on the left, and what has to hold for it.

use std::fmt;

use super::ssa::{Access, Rhs, Ssa, index};
use crate::predicate::{Poly, Pred};

impl fmt::Display for Ssa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(|l| self.vars.name(*l).to_string()).collect();
        let params: Vec<String> = self.params.iter().map(|(x, ty)| format!("{}: {ty}", self.vars.name(*x))).collect();
        let head = format!("{}[{}]({})", self.callee, sizes.join(", "), params.join(", "));
        writeln!(f, "ssa {head} -> {} =", self.result)?;
        for (k, check) in self.checks.iter().enumerate() {
            write!(f, "  check {k}{}: ", indices(&check.dims, 0))?;
            if !check.guard.is_true() {
                write!(f, "{} => ", check.guard)?;
            }
            writeln!(f, "{}, \"{}\"", check.cond, check.what.what)?;
        }
        for (k, stmt) in self.stmts.iter().enumerate() {
            let scalar = stmt.scalar.map_or("rel", |s| s.name());
            write!(f, "  X{k}{}: {scalar} = {}", indices(&stmt.dims, 0), Shown(&stmt.rhs, stmt.dims.len(), self))?;
            if !stmt.needs.is_empty() {
                let needs: Vec<String> = stmt.needs.iter().map(u32::to_string).collect();
                write!(f, "  needs {}", needs.join(", "))?;
            }
            if let Some(name) = &stmt.name {
                write!(f, "  -- {name}")?;
            }
            writeln!(f)?;
        }
        let outputs: Vec<String> = self.outputs.iter().map(|(_, v)| v.name().to_string()).collect();
        write!(f, "  out {}", outputs.join(", "))?;
        if !self.needs.is_empty() {
            let needs: Vec<String> = self.needs.iter().map(u32::to_string).collect();
            write!(f, "  needs {}", needs.join(", "))?;
        }
        writeln!(f)
    }
}

/// `[i0 < n, i1 < m]`
fn indices(dims: &[Poly], from: usize) -> String {
    if dims.is_empty() {
        return String::new();
    }
    let list = dims.iter().enumerate().map(|(k, n)| format!("{} < {n}", index(from + k, n).name));
    format!("[{}]", list.collect::<Vec<_>>().join(", "))
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.var.name())?;
        if self.at.is_empty() {
            return Ok(());
        }
        let at: Vec<String> = self.at.iter().map(ToString::to_string).collect();
        write!(f, "[{}]", at.join(", "))
    }
}

/// A right-hand side with so many free indices.
struct Shown<'a>(&'a Rhs, usize, &'a Ssa);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bracket = |f: &mut fmt::Formatter<'_>, p: &Pred| {
            if p.is_true() { Ok(()) } else { write!(f, "[{p}] * ") }
        };
        let list = |items: &[Access]| items.iter().map(ToString::to_string).collect::<Vec<_>>();
        match self.0 {
            Rhs::Input(k) => {
                let input = self.2.inputs.get(*k as usize);
                write!(f, "input {}", input.map(|i| self.2.vars.name(i.local)).unwrap_or_default())
            }
            Rhs::Constant(c) => write!(f, "{c}"),
            Rhs::Zero => f.write_str("0"),
            Rhs::Index(p) => write!(f, "{p}"),
            Rhs::Add(items) => {
                for (k, a) in items.iter().enumerate() {
                    f.write_str(match (k, a.neg) {
                        (0, true) => "-",
                        (0, false) => "",
                        (_, true) => " - ",
                        (_, false) => " + ",
                    })?;
                    bracket(f, &a.pred)?;
                    write!(f, "{}", a.of)?;
                }
                Ok(())
            }
            Rhs::Contract { bound, pred, neg, factors } => {
                f.write_str(if *neg { "-" } else { "" })?;
                if !bound.is_empty() {
                    let bound = indices(bound, self.1);
                    write!(f, "sum {}: ", bound.trim_matches(['[', ']']))?;
                }
                bracket(f, pred)?;
                write!(f, "{}", list(factors).join(" * "))
            }
            Rhs::Map { operation, pred, args } => {
                bracket(f, pred)?;
                write!(f, "{}({})", operation.name(), list(args).join(", "))
            }
            Rhs::Call { callee, sizes, pred, args, part, .. } => {
                bracket(f, pred)?;
                let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
                write!(f, "{}[{}]({}).{part}", callee, sizes.join(", "), list(args).join(", "))
            }
        }
    }
}
