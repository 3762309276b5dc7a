//! **Printing of Tensor SSA**: one line for each statement, with its indices on the left and the
//! checks that it needs. [`lang_reader`] reads the text again.
//!
//! A loop is printed before the first statement that reads a part of it:
//!
//! ```text
//! L0 = for j0 < m: loop j1 < n with n, k = n - j1 - 1 {
//!   Y0[i0 < n]: f64 = given X0[j0, k]
//!   Y1: f64 = carried X1 then Y2
//!   Y2: f64 = sum i0 < k: Y1 * Y0[i0]
//! }
//! X2[i0 < m]: f64 = L0.last Y1
//! X3[i0 < m, i1 < n]: f64 = L0.every Y2
//! ```
//!
//! Its indices are `j0`, `j1`, …; the last is the iteration number. `with` lists the sizes that
//! occur in the body; `n` has the same value as outside. The statements of the body are `Y0`, `Y1`,
//! …, those of a nested loop `Z0`, `Z1`, …, then `XX0`.
//!
//! The first statements read the enclosing function: anew in every iteration, or once before the
//! first. After that, a carried statement is the value that the named statement had in the previous
//! iteration. `last` is the final value of a carried statement, `every` a statement in all
//! iterations, and `trips` the trip count. With `while Y0` instead of `< n`, the loop runs while
//! the carried statement `Y0` is true.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::callee_text::{Called, Qualified};
use super::canonical::{self, statement};
use super::canonical_region::same;
use super::core::CoreType;
use super::core::Spacing;
use super::flat::{Input, Source};
use super::region::{Arg, Loop, Part, Trips};
use super::ssa::{Access, Rhs, Ssa, Var, index};
use super::text::{Typed, declared, digits, filter};
use lang_base::Name;
use lang_base::guarded;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

impl fmt::Display for Ssa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Noted { ssa: self, note: &|_| None }.fmt(f)
    }
}

/// The text of a function with notes on its statements, in comments at the ends of their lines.
pub struct Noted<'a> {
    /// The function.
    pub ssa: &'a Ssa,
    /// Returns the note on a statement, if it has one.
    pub note: &'a dyn Fn(Var) -> Option<String>,
}

impl fmt::Display for Noted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let canonical = canonical::ssa(self.ssa);
        let ssa = &canonical.form;
        let own = ssa.callee.def.module.as_str();
        let data = read_as_data(ssa);
        let marked = |x: &LocalId| match bounded(ssa, *x) {
            "" if data.contains(x) => "data ",
            mark => mark,
        };
        let params = ssa.params.iter().map(|(x, ty)| format!("{}{}: {}", marked(x), ssa.vars.name(*x), Typed(ty, own)));
        let params: Vec<String> = params.chain(canonical.globals.iter().map(|g| declared(g, own))).collect();
        let sizes: Vec<Poly> = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
        let called = Called { callee: &ssa.callee, own, sizes: &sizes };
        let opaque = if ssa.opaque { "opaque " } else { "" };
        writeln!(f, "{opaque}ssa {called}({}) -> {} =", params.join(", "), Typed(&ssa.result, own))?;
        Block { ssa, of: None, depth: 0, loops: &Cell::new(0), note: self.note }.fmt(f)?;
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

/// Returns the paths of the parts in the result. A derivative has no such structure, so its paths
/// are empty.
pub fn output_paths(result: &CoreType, derived: bool) -> Vec<Vec<u32>> {
    result.leaves().into_iter().map(|leaf| if derived { Vec::new() } else { leaf.path }).collect()
}

/// Returns the integer parameters that extents read as data.
fn read_as_data(ssa: &Ssa) -> BTreeSet<LocalId> {
    let mut data = BTreeSet::new();
    for ty in ssa.params.iter().map(|p| &p.1).chain([&ssa.result]) {
        for leaf in ty.leaves() {
            for n in &leaf.dims {
                n.for_each_atom(&mut |a| {
                    if let Atom::Read(x, ..) = a {
                        data.insert(*x);
                    }
                });
            }
        }
    }
    data
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

/// Prints an input: `x`, a whole parameter; `p_x = p.0`; `x_tan = tan 0`; `y_adj = adj 0`;
/// `eps = let linalg.eps`
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

/// Returns the default path of an input. A tangent has the path of its primal input; a cotangent
/// has none.
pub fn seed_path<'i>(source: &Source, inputs: &'i [Input]) -> &'i [u32] {
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

/// The checks and statements of a function, or of a region.
struct Block<'a> {
    ssa: &'a Ssa,
    /// The loop to which the region belongs.
    of: Option<&'a Loop>,
    /// The number of enclosing loops.
    depth: u32,
    /// The number of loops printed so far.
    loops: &'a Cell<u32>,
    note: &'a dyn Fn(Var) -> Option<String>,
}

impl fmt::Display for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ssa = self.ssa;
        for (k, check) in ssa.checks.iter().enumerate() {
            self.line(f, 1)?;
            write!(f, "check {k}{}: ", indices(&check.dims, 0))?;
            if !check.guard.is_true() {
                write!(f, "{} => ", check.guard)?;
            }
            writeln!(f, "{}, {} {:?}", check.cond, check.what.code, check.what.what.as_str())?;
        }
        let mut known: Vec<(&Arc<Loop>, u32)> = Vec::new();
        let mut inputs = 0;
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            let number = match &stmt.rhs {
                Rhs::Loop(of, _) => match known.iter().find(|(other, _)| same(other, of)) {
                    Some((_, number)) => *number,
                    None => {
                        let number = self.loops.replace(self.loops.get() + 1);
                        known.push((of, number));
                        guarded(|| self.head(f, of, number))?;
                        number
                    }
                },
                _ => 0,
            };
            let scalar = stmt.scalar.map_or("rel", |s| s.name());
            self.line(f, 1)?;
            write!(f, "{}{}: {scalar} = ", statement(self.depth, Var(k)), indices(&stmt.dims, 0))?;
            match (&stmt.rhs, self.of) {
                (Rhs::Loop(of, part), _) => f.write_str(&LoopText { of, number, depth: self.depth }.part(*part))?,
                (Rhs::Input(k), Some(of)) => {
                    f.write_str(&LoopText { of, number, depth: self.depth.saturating_sub(1) }.argument(*k))?;
                }
                (Rhs::Input(k), None) => {
                    let number = if *k == inputs { String::new() } else { format!("{k}: ") };
                    let told = ssa.inputs.get(*k as usize).map(|of| input(ssa, of)).unwrap_or_default();
                    write!(f, "input {number}{told}")?;
                    inputs += 1;
                }
                _ => {
                    let of = stmt.scalar.unwrap_or(Scalar::F64);
                    Shown { rhs: &stmt.rhs, free: stmt.dims.len(), of, ssa, depth: self.depth }.fmt(f)?;
                }
            }
            needs(f, &stmt.needs)?;
            let comment = [stmt.name.as_ref().map(ToString::to_string), (self.note)(Var(k))];
            let comment: Vec<String> = comment.into_iter().flatten().collect();
            if !comment.is_empty() {
                write!(f, "  -- {}", comment.join("; "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Block<'_> {
    fn line(&self, f: &mut fmt::Formatter<'_>, more: usize) -> fmt::Result {
        write!(f, "{:1$}", "", 2 * (self.depth as usize + more))
    }

    /// Prints a loop with its body.
    fn head(&self, f: &mut fmt::Formatter<'_>, of: &Loop, number: u32) -> fmt::Result {
        let body = &of.body;
        self.line(f, 1)?;
        writeln!(f, "{} {{", LoopText { of, number, depth: self.depth }.head())?;
        let inner = Block { ssa: body, of: Some(of), depth: self.depth + 1, loops: self.loops, note: &|_| None };
        fmt::Display::fmt(&inner, f)?;
        if !body.needs.is_empty() {
            self.line(f, 2)?;
            let needs: Vec<String> = body.needs.iter().map(u32::to_string).collect();
            writeln!(f, "all needs {}", needs.join(", "))?;
        }
        self.line(f, 1)?;
        writeln!(f, "}}")
    }
}

/// The text of a loop.
pub struct LoopText<'a> {
    /// The loop.
    pub of: &'a Loop,
    /// Its number among all loops.
    pub number: u32,
    /// The number of enclosing loops.
    pub depth: u32,
}

impl LoopText<'_> {
    /// `L0 = for j0 < m: loop j1 < n with n, k = n - j1 - 1`
    pub fn head(&self) -> String {
        let (of, body) = (self.of, &self.of.body);
        let mut text = format!("L{} = ", self.number);
        if !of.batch.is_empty() {
            let batch = of.batch.iter().enumerate().map(|(k, n)| format!("j{k} < {n}"));
            text += &format!("for {}: ", batch.collect::<Vec<_>>().join(", "));
        }
        if !of.pred.is_true() {
            text += &format!("[{}] * ", of.pred);
        }
        text += &format!("loop j{} ", of.batch.len());
        text += &match &of.trips {
            Trips::Count(n) => format!("< {n}"),
            Trips::While(k) => format!("while {}", name_of(body, *k, self.depth + 1)),
        };
        match &of.checkpoint {
            Some(Spacing::Every(k)) => text += &format!(" checkpoint {k}"),
            Some(Spacing::Root) => text += " checkpoint",
            None => {}
        }
        if !of.sizes.is_empty() {
            let sizes = body.sizes.iter().zip(&of.sizes).map(|(l, n)| {
                let (name, value) = (body.vars.name(*l), n.to_string());
                if value == name.as_str() { value } else { format!("{name} = {value}") }
            });
            text += &format!(" with {}", sizes.collect::<Vec<_>>().join(", "));
        }
        text
    }

    /// Prints an input of the body: `given X0[j0]`, `carried X1 then Y2`.
    pub fn argument(&self, k: u32) -> String {
        let body = &self.of.body;
        let (Some(arg), Some(input)) = (self.of.args.get(k as usize), body.inputs.get(k as usize)) else {
            return String::new();
        };
        let name = body.vars.name(input.local);
        let named = if name.is_empty() { String::new() } else { format!("{name} = ") };
        let of = Read { of: arg.access(), depth: self.depth };
        match arg {
            Arg::Given(_) => format!("given {named}{of}"),
            Arg::Carried { next, .. } => {
                let next = body.outputs.get(*next as usize).map(|o| statement(self.depth + 1, o.1));
                format!("carried {named}{of} then {}", next.unwrap_or_default())
            }
        }
    }

    /// Prints a part of the loop: `L0.last Y1`.
    pub fn part(&self, part: Part) -> String {
        let (body, number) = (&self.of.body, self.number);
        match part {
            Part::Last(k) => format!("L{number}.last {}", name_of(body, k, self.depth + 1)),
            Part::Every(k) => {
                let var = body.outputs.get(k as usize).map(|o| statement(self.depth + 1, o.1));
                format!("L{number}.every {}", var.unwrap_or_default())
            }
            Part::State(k) => format!("L{number}.state {}", name_of(body, k, self.depth + 1)),
            Part::Trips => format!("L{number}.trips"),
        }
    }
}

/// Returns the name of the statement of an input of a region.
fn name_of(body: &Ssa, k: u32, depth: u32) -> Name {
    body.input(k).map(|v| statement(depth, v)).unwrap_or_default()
}

/// An access, inside `depth` loops.
struct Read<'a> {
    of: &'a Access,
    depth: u32,
}

impl fmt::Display for Read<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", statement(self.depth, self.of.var))?;
        if self.of.at.is_empty() {
            return Ok(());
        }
        let at: Vec<String> = self.of.at.iter().map(ToString::to_string).collect();
        write!(f, "[{}]", at.join(", "))
    }
}

/// Returns the text of the right-hand side of a statement of this function, inside `depth` loops.
#[must_use]
pub fn rhs_text(ssa: &Ssa, rhs: &Rhs, of: Scalar, depth: u32) -> String {
    Shown { rhs, free: 0, of, ssa, depth }.to_string()
}

/// A right-hand side, in a statement with `free` indices.
struct Shown<'a> {
    rhs: &'a Rhs,
    free: usize,
    of: Scalar,
    ssa: &'a Ssa,
    depth: u32,
}

impl Shown<'_> {
    /// `i1 < n, i2 < m`
    fn bound(&self, dims: &[Poly]) -> String {
        let list = dims.iter().enumerate().map(|(k, n)| format!("{} < {n}", index(self.free + k, n).name));
        list.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bracket = |f: &mut fmt::Formatter<'_>, p: &Pred| {
            if p.is_true() { Ok(()) } else { write!(f, "[{p}] * ") }
        };
        let each = |f: &mut fmt::Formatter<'_>, batch: u32| {
            let own: Vec<String> = (0..batch).map(|k| format!("i{k}")).collect();
            if own.is_empty() { Ok(()) } else { write!(f, "for {}: ", own.join(", ")) }
        };
        let depth = self.depth;
        let read = |of: &Access| Read { of, depth }.to_string();
        let list = |items: &[Access]| items.iter().map(read).collect::<Vec<_>>();
        match self.rhs {
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
                    f.write_str(&read(&a.of))?;
                }
                Ok(())
            }
            Rhs::Contract { bound, pred, neg, factors } => {
                f.write_str(if *neg { "-" } else { "" })?;
                if !bound.is_empty() {
                    write!(f, "sum {}: ", self.bound(bound))?;
                }
                bracket(f, pred)?;
                write!(f, "{}", list(factors).join(" * "))
            }
            Rhs::Reduce(r) => {
                bracket(f, &r.pred)?;
                let bound = self.bound(&r.bound);
                let filter = filter(&r.terms, r.reducer, &r.place);
                let gap = if bound.is_empty() { "" } else { " " };
                write!(f, "{}{gap}{bound}{filter}: {}", r.reducer.word(), read(&r.of))
            }
            Rhs::Order(o) => {
                bracket(f, &o.pred)?;
                write!(f, "argsort {}: {}", index(self.free.saturating_sub(1), &Poly::default()).name, read(&o.of))
            }
            Rhs::Map { operation, pred, args } => {
                bracket(f, pred)?;
                write!(f, "{}({})", operation.name(), list(args).join(", "))
            }
            Rhs::Input(_) | Rhs::Loop(..) => Ok(()),
            Rhs::Update { base, batch, bound, pred, at, value, add } => {
                each(f, *batch)?;
                let at: Vec<String> = at.iter().map(ToString::to_string).collect();
                let put = if *add { "+=" } else { "=" };
                write!(f, "{} with [{}] {put} {}", read(base), at.join(", "), read(value))?;
                if !bound.is_empty() {
                    write!(f, " for {}", self.bound(bound))?;
                }
                if !pred.is_true() {
                    write!(f, " if {pred}")?;
                }
                Ok(())
            }
            Rhs::Call { callee, sizes, pred, args, batch, part } => {
                each(f, *batch)?;
                bracket(f, pred)?;
                let called = Called { callee, own: &self.ssa.callee.def.module, sizes };
                write!(f, "{called}({}).{part}", list(args).join(", "))
            }
        }
    }
}
