//! **Printing of Tensor SSA**: one line for each statement, with its indices on the left and the
//! checks that it needs. `lang_reader` reads the text again.
//!
//! A call or a loop has results, which later statements name:
//!
//! ```text
//! X2 = for j0 < m: loop j1 < n with n, k = n - j1 - 1 {
//!   Y0[i0 < n]: f64 = given X0[j0, k]
//!   Y1: f64 = carried X1 then Y2
//!   Y2: f64 = sum i0 < k: Y1 * Y0[i0]
//! }
//! X3[i0 < m]: f64 = X2.last Y1
//! X4[i0 < m, i1 < n]: f64 = X2.every Y2
//! X5[i0 < m] = f[n](X3[i0])
//! X6[i0 < m]: f64 = X5.0
//! ```
//!
//! A call happens for every tuple of its indices, and `X5.0` is the first part of its result. The
//! indices of a loop are `j0`, `j1`, …; the last is the iteration number. `with` lists the sizes
//! that occur in the body; `n` has the same value as outside. The statements of the body are `Y0`,
//! `Y1`, …, those of a nested loop `Z0`, `Z1`, …, then `XX0`.
//!
//! The first statements read the enclosing function: anew in every iteration, or once before the
//! first. After that, a carried statement is the value that the named statement had in the previous
//! iteration. `last` is the final value of a carried statement, `every` a statement in all
//! iterations, and `trips` the trip count. With `while Y0` instead of `< n`, the loop runs while
//! the carried statement `Y0` is true.

use std::collections::BTreeSet;
use std::fmt;

use super::callee_text::{Qualified, QualifiedCallee};
use super::canonical::{self, statement_name};
use super::core::CheckpointSpacing;
use super::core::CoreType;
use super::core_text::{QualifiedCoreType, constant_text, filter_text, global_declaration};
use super::flat::{FunctionInput, InputSource};
use super::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use super::ssa::{Rhs, SsaFunction, Statement, StmtId, TensorAccess, statement_index};
use lang_base::Name;
use lang_base::ensure_sufficient_stack;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

impl fmt::Display for SsaFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        AnnotatedSsa { ssa: self, note: &|_| None }.fmt(f)
    }
}

/// The text of a function with notes on its statements, in comments at the ends of their lines.
pub struct AnnotatedSsa<'a> {
    /// The function.
    pub ssa: &'a SsaFunction,
    /// Returns the note on a statement, if it has one.
    pub note: &'a dyn Fn(StmtId) -> Option<String>,
}

impl fmt::Display for AnnotatedSsa<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let canonical = canonical::canonicalize_ssa(self.ssa);
        let ssa = &canonical.form;
        let own = ssa.callee.def.module.as_str();
        let data = data_extent_params(ssa);
        let marked = |x: &LocalId| match bounded_prefix(ssa, *x) {
            "" if data.contains(x) => "data ",
            mark => mark,
        };
        let params = ssa
            .params
            .iter()
            .map(|(x, ty)| format!("{}{}: {}", marked(x), ssa.vars.name(*x), QualifiedCoreType(ty, own)));
        let params: Vec<String> = params.chain(canonical.globals.iter().map(|g| global_declaration(g, own))).collect();
        let sizes: Vec<Poly> = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
        let called = QualifiedCallee { callee: &ssa.callee, current_module: own, sizes: &sizes };
        let opaque = if ssa.is_opaque { "opaque " } else { "" };
        writeln!(f, "{opaque}ssa {called}({}) -> {} =", params.join(", "), QualifiedCoreType(&ssa.result, own))?;
        SsaBlock { ssa, enclosing_loop: None, depth: 0, note: self.note }.fmt(f)?;
        let expected = output_paths(&ssa.result, !ssa.callee.derivatives.is_empty());
        let outputs = ssa.outputs.iter().enumerate().map(|(k, (leaf, v))| {
            let path: Vec<String> = leaf.path.iter().map(u32::to_string).collect();
            match expected.get(k) {
                Some(expected) if *expected == leaf.path => v.name().to_string(),
                _ => format!("{} at {}", v.name(), if path.is_empty() { "()".to_owned() } else { path.join(".") }),
            }
        });
        write!(f, "  out {}", outputs.collect::<Vec<_>>().join(", "))?;
        write_needs(f, &ssa.needs)?;
        writeln!(f)
    }
}

/// Returns the paths of the parts in the result. A derivative has no such structure, so its paths
/// are empty.
pub fn output_paths(result: &CoreType, derived: bool) -> Vec<Vec<u32>> {
    result.leaves().into_iter().map(|leaf| if derived { Vec::new() } else { leaf.path }).collect()
}

/// Returns the integer parameters that extents read as data.
fn data_extent_params(ssa: &SsaFunction) -> BTreeSet<LocalId> {
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

fn bounded_prefix(ssa: &SsaFunction, x: LocalId) -> &'static str {
    if ssa.bounded.contains(&x) { "bounded " } else { "" }
}

fn write_needs(f: &mut fmt::Formatter<'_>, needs: &[u32]) -> fmt::Result {
    if needs.is_empty() {
        return Ok(());
    }
    let needs: Vec<String> = needs.iter().map(u32::to_string).collect();
    write!(f, "  needs {}", needs.join(", "))
}

/// Prints an input: `x`, a whole parameter; `p_x = p.0`; `x_tan = tan 0`; `y_adj = adj 0`;
/// `eps = let linalg.eps`
fn input_text(ssa: &SsaFunction, input: &FunctionInput) -> String {
    let name = ssa.vars.name(input.local);
    let dotted = |path: &[u32]| path.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
    let after = |path: &[u32]| if path.is_empty() { String::new() } else { format!(".{}", dotted(path)) };
    let path = input.leaf.path.as_slice();
    let source = match &input.source {
        InputSource::Param(k) => {
            let param = ssa.params.get(*k as usize).map(|p| p.0);
            if param == Some(input.local) && path.is_empty() {
                return name.to_string();
            }
            format!("{}{}", param.map(|l| ssa.vars.name(l)).unwrap_or_default(), after(path))
        }
        InputSource::Global(global) => format!("let {}{}", Qualified(global, &ssa.callee.def.module), after(path)),
        InputSource::Tangent(k) | InputSource::Cotangent(k) => {
            let word = if matches!(input.source, InputSource::Tangent(_)) { "tan" } else { "adj" };
            let place = if path == default_input_path(&input.source, &ssa.inputs) {
                String::new()
            } else {
                format!(" at {}", if path.is_empty() { "()".to_owned() } else { dotted(path) })
            };
            format!("{word} {k}{place}")
        }
    };
    let param = ssa.params.iter().any(|p| p.0 == input.local);
    let mark = if param { "" } else { bounded_prefix(ssa, input.local) };
    format!("{mark}{name} = {source}")
}

/// Returns the default path of an input. A tangent has the path of its primal input; a cotangent
/// has none.
pub fn default_input_path<'i>(source: &InputSource, inputs: &'i [FunctionInput]) -> &'i [u32] {
    match source {
        InputSource::Tangent(k) => inputs.get(*k as usize).map_or(&[], |i| i.leaf.path.as_slice()),
        InputSource::Param(_) | InputSource::Cotangent(_) | InputSource::Global(_) => &[],
    }
}

/// `[i0 < n, i1 < m]`
fn indices_text(dims: &[Poly], from: usize) -> String {
    if dims.is_empty() {
        return String::new();
    }
    let list = dims.iter().enumerate().map(|(k, n)| format!("{} < {n}", statement_index(from + k, n).name));
    format!("[{}]", list.collect::<Vec<_>>().join(", "))
}

/// The checks and statements of a function, or of a region.
struct SsaBlock<'a> {
    ssa: &'a SsaFunction,
    /// The loop to which the region belongs.
    enclosing_loop: Option<&'a SsaLoop>,
    /// The number of enclosing loops.
    depth: u32,
    note: &'a dyn Fn(StmtId) -> Option<String>,
}

impl fmt::Display for SsaBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ssa = self.ssa;
        for (k, check) in ssa.checks.iter().enumerate() {
            self.write_indent(f, 1)?;
            write!(f, "check {k}{}: ", indices_text(&check.dims, 0))?;
            if !check.guard.is_true() {
                write!(f, "{} => ", check.guard)?;
            }
            writeln!(f, "{}, {} {:?}", check.cond, check.failure.code, check.failure.message.as_str())?;
        }
        let mut inputs = 0;
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            if let Rhs::Loop(of) = &stmt.rhs {
                ensure_sufficient_stack(|| self.write_loop(f, StmtId(k), stmt, of))?;
                continue;
            }
            let scalar = stmt.scalar.map_or("rel", |s| s.name());
            self.write_indent(f, 1)?;
            write!(f, "{}{}", statement_name(self.depth, StmtId(k)), indices_text(&stmt.dims, 0))?;
            if !stmt.rhs.is_producer() {
                write!(f, ": {scalar}")?;
            }
            f.write_str(" = ")?;
            match (&stmt.rhs, self.enclosing_loop) {
                (Rhs::Input(k), Some(of)) => {
                    f.write_str(&LoopText { ssa_loop: of, depth: self.depth.saturating_sub(1) }.input_text(*k))?;
                }
                (Rhs::Input(k), None) => {
                    let number = if *k == inputs { String::new() } else { format!("{k}: ") };
                    let text = ssa.inputs.get(*k as usize).map(|of| input_text(ssa, of)).unwrap_or_default();
                    write!(f, "input {number}{text}")?;
                    inputs += 1;
                }
                _ => {
                    let of = stmt.scalar.unwrap_or(Scalar::F64);
                    RhsText { rhs: &stmt.rhs, free: stmt.dims.len(), scalar: of, ssa, depth: self.depth }.fmt(f)?;
                }
            }
            write_needs(f, &stmt.needs)?;
            self.write_comment(f, StmtId(k), stmt)?;
            writeln!(f)?;
        }
        Ok(())
    }
}

impl SsaBlock<'_> {
    fn write_indent(&self, f: &mut fmt::Formatter<'_>, more: usize) -> fmt::Result {
        write!(f, "{:1$}", "", 2 * (self.depth as usize + more))
    }

    /// Prints the program's name for a statement and the note on it.
    fn write_comment(&self, f: &mut fmt::Formatter<'_>, var: StmtId, stmt: &Statement) -> fmt::Result {
        let comment = [stmt.name.as_ref().map(ToString::to_string), (self.note)(var)];
        let comment: Vec<String> = comment.into_iter().flatten().collect();
        if comment.is_empty() { Ok(()) } else { write!(f, "  -- {}", comment.join("; ")) }
    }

    /// Prints a loop with its body.
    fn write_loop(&self, f: &mut fmt::Formatter<'_>, var: StmtId, stmt: &Statement, of: &SsaLoop) -> fmt::Result {
        let body = &of.body;
        self.write_indent(f, 1)?;
        let header = LoopText { ssa_loop: of, depth: self.depth }.header();
        writeln!(f, "{} = {header} {{", statement_name(self.depth, var))?;
        let inner = SsaBlock { ssa: body, enclosing_loop: Some(of), depth: self.depth + 1, note: &|_| None };
        fmt::Display::fmt(&inner, f)?;
        if !body.needs.is_empty() {
            self.write_indent(f, 2)?;
            let needs: Vec<String> = body.needs.iter().map(u32::to_string).collect();
            writeln!(f, "all needs {}", needs.join(", "))?;
        }
        self.write_indent(f, 1)?;
        f.write_str("}")?;
        write_needs(f, &stmt.needs)?;
        self.write_comment(f, var, stmt)?;
        writeln!(f)
    }
}

/// The text of a loop.
pub struct LoopText<'a> {
    /// The loop.
    pub ssa_loop: &'a SsaLoop,
    /// The number of enclosing loops.
    pub depth: u32,
}

impl LoopText<'_> {
    /// `for j0 < m: loop j1 < n with n, k = n - j1 - 1`
    pub fn header(&self) -> String {
        let (of, body) = (self.ssa_loop, &self.ssa_loop.body);
        let mut text = String::new();
        if !of.batch.is_empty() {
            let batch = of.batch.iter().enumerate().map(|(k, n)| format!("j{k} < {n}"));
            text += &format!("for {}: ", batch.collect::<Vec<_>>().join(", "));
        }
        if !of.pred.is_true() {
            text += &format!("[{}] * ", of.pred);
        }
        text += &format!("loop j{} ", of.batch.len());
        text += &match &of.trip_count {
            LoopTripCount::Fixed(n) => format!("< {n}"),
            LoopTripCount::While(k) => format!("while {}", input_statement_name(body, *k, self.depth + 1)),
        };
        match &of.checkpoint {
            Some(CheckpointSpacing::Fixed(k)) => text += &format!(" checkpoint {k}"),
            Some(CheckpointSpacing::SquareRoot) => text += " checkpoint",
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
    pub fn input_text(&self, k: u32) -> String {
        let body = &self.ssa_loop.body;
        let (Some(arg), Some(input)) = (self.ssa_loop.args.get(k as usize), body.inputs.get(k as usize)) else {
            return String::new();
        };
        let name = body.vars.name(input.local);
        let named = if name.is_empty() { String::new() } else { format!("{name} = ") };
        let of = QualifiedAccess { access: arg.access(), depth: self.depth };
        match arg {
            LoopArg::Captured(_) => format!("given {named}{of}"),
            LoopArg::Carried { next, .. } => {
                let next = body.outputs.get(*next as usize).map(|o| statement_name(self.depth + 1, o.1));
                format!("carried {named}{of} then {}", next.unwrap_or_default())
            }
        }
    }

    /// Prints a result of the loop: `X0.last Y1`.
    pub fn result_text(&self, producer: StmtId, result: LoopResult) -> String {
        let (body, producer) = (&self.ssa_loop.body, statement_name(self.depth, producer));
        match result {
            LoopResult::Final(k) => format!("{producer}.last {}", input_statement_name(body, k, self.depth + 1)),
            LoopResult::PerIteration(k) => {
                let var = body.outputs.get(k as usize).map(|o| statement_name(self.depth + 1, o.1));
                format!("{producer}.every {}", var.unwrap_or_default())
            }
            LoopResult::Checkpoint(k) => format!("{producer}.state {}", input_statement_name(body, k, self.depth + 1)),
            LoopResult::TripCount => format!("{producer}.trips"),
        }
    }
}

/// Returns the name of the statement of an input of a region.
fn input_statement_name(body: &SsaFunction, k: u32, depth: u32) -> Name {
    body.input_statement(k).map(|v| statement_name(depth, v)).unwrap_or_default()
}

/// An access, inside `depth` loops.
struct QualifiedAccess<'a> {
    access: &'a TensorAccess,
    depth: u32,
}

impl fmt::Display for QualifiedAccess<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", statement_name(self.depth, self.access.var))?;
        if self.access.at.is_empty() {
            return Ok(());
        }
        let at: Vec<String> = self.access.at.iter().map(ToString::to_string).collect();
        write!(f, "[{}]", at.join(", "))
    }
}

/// Returns the text of the right-hand side of a statement of this function, inside `depth` loops.
#[must_use]
pub fn rhs_text(ssa: &SsaFunction, rhs: &Rhs, of: Scalar, depth: u32) -> String {
    RhsText { rhs, free: 0, scalar: of, ssa, depth }.to_string()
}

/// A right-hand side, in a statement with `free` indices.
struct RhsText<'a> {
    rhs: &'a Rhs,
    free: usize,
    scalar: Scalar,
    ssa: &'a SsaFunction,
    depth: u32,
}

impl RhsText<'_> {
    /// `i1 < n, i2 < m`
    fn bound_indices(&self, dims: &[Poly]) -> String {
        let list = dims.iter().enumerate().map(|(k, n)| format!("{} < {n}", statement_index(self.free + k, n).name));
        list.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for RhsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bracket = |f: &mut fmt::Formatter<'_>, p: &Pred| {
            if p.is_true() { Ok(()) } else { write!(f, "[{p}] * ") }
        };
        let each = |f: &mut fmt::Formatter<'_>, batch: u32| {
            let own: Vec<String> = (0..batch).map(|k| format!("i{k}")).collect();
            if own.is_empty() { Ok(()) } else { write!(f, "for {}: ", own.join(", ")) }
        };
        let depth = self.depth;
        let read = |of: &TensorAccess| QualifiedAccess { access: of, depth }.to_string();
        let list = |items: &[TensorAccess]| items.iter().map(read).collect::<Vec<_>>();
        match self.rhs {
            Rhs::Constant(c) => f.write_str(&constant_text(*c, self.scalar)),
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
                    f.write_str(&read(&a.operand))?;
                }
                Ok(())
            }
            Rhs::Contract { bound, pred, neg, factors } => {
                f.write_str(if *neg { "-" } else { "" })?;
                if !bound.is_empty() {
                    write!(f, "sum {}: ", self.bound_indices(bound))?;
                }
                bracket(f, pred)?;
                write!(f, "{}", list(factors).join(" * "))
            }
            Rhs::Reduce(r) => {
                bracket(f, &r.pred)?;
                let bound = self.bound_indices(&r.bound);
                let filter = filter_text(&r.filter, r.reducer, &r.arg_value);
                let gap = if bound.is_empty() { "" } else { " " };
                write!(f, "{}{gap}{bound}{filter}: {}", r.reducer.keyword(), read(&r.operand))
            }
            Rhs::Argsort(o) => {
                bracket(f, &o.pred)?;
                write!(
                    f,
                    "argsort {}: {}",
                    statement_index(self.free.saturating_sub(1), &Poly::default()).name,
                    read(&o.keys)
                )
            }
            Rhs::Map { operation, pred, args } => {
                bracket(f, pred)?;
                write!(f, "{}({})", operation.name(), list(args).join(", "))
            }
            Rhs::Input(_) | Rhs::Loop(_) => Ok(()),
            Rhs::LoopResult(producer, result) => match self.ssa.loop_at(*producer) {
                Some(of) => f.write_str(&LoopText { ssa_loop: of, depth }.result_text(*producer, *result)),
                None => write!(f, "{}.{result:?}", statement_name(depth, *producer)),
            },
            Rhs::CallResult(producer, k) => write!(f, "{}.{k}", statement_name(depth, *producer)),
            Rhs::Update { base, batch, bound, pred, at, value, accumulate: add } => {
                each(f, *batch)?;
                let at: Vec<String> = at.iter().map(ToString::to_string).collect();
                let put = if *add { "+=" } else { "=" };
                write!(f, "{} with [{}] {put} {}", read(base), at.join(", "), read(value))?;
                if !bound.is_empty() {
                    write!(f, " for {}", self.bound_indices(bound))?;
                }
                if !pred.is_true() {
                    write!(f, " if {pred}")?;
                }
                Ok(())
            }
            Rhs::Call { callee, sizes, pred, args } => {
                bracket(f, pred)?;
                let called = QualifiedCallee { callee, current_module: &self.ssa.callee.def.module, sizes };
                write!(f, "{called}({})", list(args).join(", "))
            }
        }
    }
}
