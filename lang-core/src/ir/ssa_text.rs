//! Tensor SSA as text: a line for each statement, with its indices on the left, and what has to hold for it.
//! What is printed is read again by [`super::read`].

use std::fmt;

use super::callee_text::{Called, Qualified};
use super::canonical;
use super::core::CoreType;
use super::flat::{Input, Source};
use super::ssa::{Access, Rhs, Ssa, Var, index};
use super::text::{Typed, declared, digits};
use crate::predicate::{LocalId, Poly, Pred};
use crate::syntax::ops::Scalar;

impl fmt::Display for Ssa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Noted { ssa: self, note: &|_| None }.fmt(f)
    }
}

/// The text with something to be said of statements, in the comments at the ends of their lines.
pub struct Noted<'a> {
    /// The function.
    pub ssa: &'a Ssa,
    /// What is to be said of a statement.
    pub note: &'a dyn Fn(Var) -> Option<String>,
}

impl fmt::Display for Noted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let canonical = canonical::ssa(self.ssa);
        let ssa = &canonical.form;
        let own = ssa.callee.def.module.as_str();
        let marked = |x: LocalId| format!("{}{}", bounded(ssa, x), ssa.vars.name(x));
        let params = ssa.params.iter().map(|(x, ty)| format!("{}: {}", marked(*x), Typed(ty, own)));
        let params: Vec<String> = params.chain(canonical.globals.iter().map(|g| declared(g, own))).collect();
        let sizes: Vec<Poly> = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
        let called = Called { callee: &ssa.callee, own, sizes: &sizes };
        let opaque = if ssa.opaque { "opaque " } else { "" };
        writeln!(f, "{opaque}ssa {called}({}) -> {} =", params.join(", "), Typed(&ssa.result, own))?;
        for (k, check) in ssa.checks.iter().enumerate() {
            write!(f, "  check {k}{}: ", indices(&check.dims, 0))?;
            if !check.guard.is_true() {
                write!(f, "{} => ", check.guard)?;
            }
            writeln!(f, "{}, {} {:?}", check.cond, check.what.code, check.what.what.as_str())?;
        }
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            let scalar = stmt.scalar.map_or("rel", |s| s.name());
            let of = stmt.scalar.unwrap_or(Scalar::F64);
            let rhs = Shown { rhs: &stmt.rhs, free: stmt.dims.len(), of, ssa };
            write!(f, "  X{k}{}: {scalar} = {rhs}", indices(&stmt.dims, 0))?;
            needs(f, &stmt.needs)?;
            let comment = [stmt.name.as_ref().map(ToString::to_string), (self.note)(Var(k))];
            let comment: Vec<String> = comment.into_iter().flatten().collect();
            if !comment.is_empty() {
                write!(f, "  -- {}", comment.join("; "))?;
            }
            writeln!(f)?;
        }
        let expected = output_paths(&ssa.result, !ssa.callee.derived.is_empty());
        let outputs = ssa.outputs.iter().enumerate().map(|(k, (leaf, v))| {
            let path: Vec<String> = leaf.path.iter().map(u32::to_string).collect();
            match expected.get(k) {
                Some(expected) if *expected == leaf.path => v.name().to_string(),
                _ => format!("{} at {}", v.name(), if path.is_empty() { "()".to_owned() } else { path.join(".") }),
            }
        });
        write!(f, "  out {}", outputs.collect::<Vec<_>>().join(", "))?;
        needs(f, &ssa.needs)?;
        writeln!(f)
    }
}

/// Where in the result the parts are; in a derivative that tells nothing.
pub(super) fn output_paths(result: &CoreType, derived: bool) -> Vec<Vec<u32>> {
    result.leaves().into_iter().map(|leaf| if derived { Vec::new() } else { leaf.path }).collect()
}

fn bounded(ssa: &Ssa, x: LocalId) -> &'static str {
    if ssa.bounded.contains(&x) { "bounded " } else { "" }
}

fn needs(f: &mut fmt::Formatter<'_>, needs: &[u32]) -> fmt::Result {
    if needs.is_empty() {
        return Ok(());
    }
    let needs: Vec<String> = needs.iter().map(u32::to_string).collect();
    write!(f, "  needs {}", needs.join(", "))
}

/// `x`, a whole parameter; `p_x = p.0`; `x_tan = tan 0`; `y_adj = adj 0`; `eps = let linalg.eps`
fn input(ssa: &Ssa, input: &Input) -> String {
    let name = ssa.vars.name(input.local);
    let dotted = |path: &[u32]| path.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
    let after = |path: &[u32]| if path.is_empty() { String::new() } else { format!(".{}", dotted(path)) };
    let path = input.leaf.path.as_slice();
    let source = match &input.source {
        Source::Param(k) => {
            let param = ssa.params.get(*k as usize).map(|p| p.0);
            if param == Some(input.local) && path.is_empty() {
                return name.to_string();
            }
            format!("{}{}", param.map(|l| ssa.vars.name(l)).unwrap_or_default(), after(path))
        }
        Source::Global(global) => format!("let {}{}", Qualified(global, &ssa.callee.def.module), after(path)),
        Source::Tangent(k) | Source::Cotangent(k) => {
            let word = if matches!(input.source, Source::Tangent(_)) { "tan" } else { "adj" };
            let place = if path == seed_path(&input.source, &ssa.inputs) {
                String::new()
            } else {
                format!(" at {}", if path.is_empty() { "()".to_owned() } else { dotted(path) })
            };
            format!("{word} {k}{place}")
        }
    };
    let param = ssa.params.iter().any(|p| p.0 == input.local);
    let mark = if param { "" } else { bounded(ssa, input.local) };
    format!("{mark}{name} = {source}")
}

/// A tangent is the same part of its argument as what it is the tangent of; a cotangent has no place.
pub(super) fn seed_path<'i>(source: &Source, inputs: &'i [Input]) -> &'i [u32] {
    match source {
        Source::Tangent(k) => inputs.get(*k as usize).map_or(&[], |i| i.leaf.path.as_slice()),
        Source::Param(_) | Source::Cotangent(_) | Source::Global(_) => &[],
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
struct Shown<'a> {
    rhs: &'a Rhs,
    free: usize,
    of: Scalar,
    ssa: &'a Ssa,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bracket = |f: &mut fmt::Formatter<'_>, p: &Pred| {
            if p.is_true() { Ok(()) } else { write!(f, "[{p}] * ") }
        };
        let list = |items: &[Access]| items.iter().map(ToString::to_string).collect::<Vec<_>>();
        match self.rhs {
            Rhs::Input(k) => match self.ssa.inputs.get(*k as usize) {
                Some(found) => write!(f, "input {}", input(self.ssa, found)),
                None => write!(f, "input {k}"),
            },
            Rhs::Constant(c) => f.write_str(&digits(*c, self.of)),
            Rhs::Zero => f.write_str("zero"),
            Rhs::Index(p) => write!(f, "index {p}"),
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
                    let bound = bound.iter().enumerate().map(|(k, n)| {
                        let own = index(self.free + k, n);
                        format!("{} < {n}", own.name)
                    });
                    write!(f, "sum {}: ", bound.collect::<Vec<_>>().join(", "))?;
                }
                bracket(f, pred)?;
                write!(f, "{}", list(factors).join(" * "))
            }
            Rhs::Map { operation, pred, args } => {
                bracket(f, pred)?;
                write!(f, "{}({})", operation.name(), list(args).join(", "))
            }
            Rhs::Call { callee, sizes, pred, args, batch, part } => {
                if *batch > 0 {
                    let own = (0..*batch).map(|k| format!("i{k}"));
                    write!(f, "for {}: ", own.collect::<Vec<_>>().join(", "))?;
                }
                bracket(f, pred)?;
                let called = Called { callee, own: &self.ssa.callee.def.module, sizes };
                write!(f, "{called}({}).{part}", list(args).join(", "))
            }
        }
    }
}
