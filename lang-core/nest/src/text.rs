//! **Printing of schedules**:
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
//! The comment after a loop is the trip count of its body. A loop outside kernels is printed with
//! its steps, as in the text of Tensor SSA. Trip counts in its steps are per iteration:
//!
//! ```text
//! X1 = loop j0 < n with n {  -- n times
//!   Y0 = carried X0 then Y4
//!   kernel given Y0[n]; makes Y3[n]
//!     for i < n, in chunks:  -- n times
//! ```

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::driver::ScheduledCase;
use super::loop_nest::{
    Accumulation, Assignment, Kernel, KernelStorage, MatrixProduct, NestLoop, NestNode, StorageRole,
};
use super::parallelise::{self, PrivateCopy};
use super::trip_counts::NestScope;
use super::{Prepared, Step};
use lang_base::Name;
use lang_base::ensure_sufficient_stack;
use lang_ir::canonical::statement_name;
use lang_ir::core::Constant;
use lang_ir::reduce::Reducer;
use lang_ir::region as loops;
use lang_ir::ssa::{Rhs, SsaFunction, StmtId, TensorAccess, index_number, statement_index};
use lang_ir::ssa_text::{LoopText, rhs_text};
use lang_opt::kernel_statements::is_trivial;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_syntax::ops::Scalar;

/// A printable schedule of a function, case by case. Notes follow the lines of their statements.
pub struct ScheduleText<'a> {
    /// The cases.
    pub cases: &'a [ScheduledCase],
    /// Returns the note on a statement of a case, if any.
    pub note: &'a dyn Fn(&Prepared, StmtId) -> Option<String>,
}

impl fmt::Display for ScheduleText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, case) in self.cases.iter().enumerate() {
            if !case.size_condition.is_true() {
                writeln!(f, "{}where {}:\n", if k == 0 { "" } else { "\n" }, case.size_condition)?;
            }
            let note = |var| (self.note)(&case.prepared, var);
            StepsText { case, indent: 0, depth: 0, note: &note, last_noted_loop: Cell::default() }.fmt(f)?;
        }
        Ok(())
    }
}

/// The steps of a case, or of the body of a loop.
struct StepsText<'a> {
    case: &'a ScheduledCase,
    /// The level of indentation.
    indent: usize,
    /// The number of enclosing loops outside kernels.
    depth: u32,
    note: &'a dyn Fn(StmtId) -> Option<String>,
    /// The loop whose body has the last printed note.
    last_noted_loop: Cell<Option<StmtId>>,
}

impl fmt::Display for StepsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ssa = self.ssa();
        let mut read: HashSet<StmtId> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        let mut see = |rhs: &Rhs| rhs.for_each_operand(&mut |v| read.extend([v]));
        ssa.stmts.iter().for_each(|s| see(&s.rhs));
        for step in &self.case.schedule.steps {
            let Step::Kernel(kernel, _) = step else { continue };
            kernel.body.iter().for_each(|node| node.for_each_assignment(&mut |set| see(&set.rhs)));
        }
        for (var, stmt) in (0..).map(StmtId).zip(&ssa.stmts) {
            if is_trivial(&stmt.rhs) && read.contains(&var) {
                self.write_indent(f, 0)?;
                writeln!(f, "{} is {}", self.name(var), self.format_rhs(var, &stmt.rhs))?;
            }
        }
        for step in &self.case.schedule.steps {
            match step {
                Step::Statement(var) => self.write_stmt(f, *var)?,
                Step::Kernel(kernel, needs) => self.write_kernel(f, kernel, needs)?,
                Step::Checks(checks) => {
                    self.write_indent(f, 0)?;
                    writeln!(f, "checks {}", format_checks(checks))?;
                }
            }
        }
        Ok(())
    }
}

impl StepsText<'_> {
    fn ssa(&self) -> &SsaFunction {
        &self.case.prepared.ssa
    }

    fn write_indent(&self, f: &mut fmt::Formatter<'_>, more: usize) -> fmt::Result {
        write!(f, "{:1$}", "", 2 * (self.indent + more))
    }

    fn name(&self, var: StmtId) -> Name {
        statement_name(self.depth, var)
    }

    /// Ends the line of a statement with its note.
    fn write_note(&self, f: &mut fmt::Formatter<'_>, var: StmtId) -> fmt::Result {
        // The statements of a loop body share the note of the loop, which appears once.
        let body = self.case.prepared.loop_of_body_stmt(var);
        let is_said = body.is_some() && self.last_noted_loop.replace(body) == body;
        (self.note)(var).filter(|_| !is_said).map_or(Ok(()), |note| write!(f, "  -- {note}"))?;
        writeln!(f)
    }

    /// Prints a statement outside kernels.
    fn write_stmt(&self, f: &mut fmt::Formatter<'_>, var: StmtId) -> fmt::Result {
        let Some(stmt) = self.ssa().stmts.get(var.0 as usize) else { return Ok(()) };
        if let (Rhs::Loop(of), Some(bodies)) = (&stmt.rhs, self.case.loops.get(&var)) {
            let of = self.rename_loop(of, bodies.first());
            return ensure_sufficient_stack(|| self.write_loop(f, var, &of, bodies));
        }
        let text = match &stmt.rhs {
            Rhs::LoopResult(producer, result) => {
                let (Some(of), Some(bodies)) = (self.ssa().loop_at(*producer), self.case.loops.get(producer)) else {
                    return Ok(());
                };
                let of = self.rename_loop(of, bodies.first());
                LoopText { ssa_loop: &of, depth: self.depth }.result_text(*producer, *result)
            }
            rhs => self.format_rhs(var, rhs),
        };
        self.write_indent(f, 0)?;
        let all = stmt
            .dims
            .iter()
            .enumerate()
            .map(|(k, n)| format!("{} < {}", statement_index(k, n).name, self.rename_poly(n)));
        write!(f, "{} = {text}", self.format_element(var, &all.collect::<Vec<_>>()))?;
        self.write_note(f, var)
    }

    /// Returns a loop with names for this depth and its scheduled body.
    fn rename_loop(&self, of: &loops::SsaLoop, body: Option<&ScheduledCase>) -> loops::SsaLoop {
        // The head and the body of a loop use the same index names.
        let number = |a: &Atom| match a {
            Atom::Local(l, _) => Some(Poly::atom(Atom::Local(*l, format!("j{}", index_number(*l)?).into()))),
            _ => None,
        };
        let poly = |p: &Poly| self.rename_poly(p).substitute(&number);
        let access = &mut |a: &TensorAccess| TensorAccess { var: a.var, at: a.at.iter().map(poly).collect() };
        let mut of = of.map(access, &poly, &|p| self.rename_pred(p).map(&poly));
        if let Some(body) = body {
            of.body = Arc::clone(&body.prepared.ssa);
        }
        of
    }

    /// Prints a loop that runs step by step.
    fn write_loop(
        &self,
        f: &mut fmt::Formatter<'_>,
        var: StmtId,
        of: &loops::SsaLoop,
        bodies: &[ScheduledCase],
    ) -> fmt::Result {
        self.write_indent(f, 0)?;
        let header = LoopText { ssa_loop: of, depth: self.depth }.header();
        write!(f, "{} = {header} {{", self.name(var))?;
        let trips = of.fixed_trip_count().map(|n| of.batch.iter().fold(n.clone(), |all, n| all.mul(n)));
        let comment = [trips.map(|n| format!("{n} times")), (self.note)(var)];
        let comment: Vec<String> = comment.into_iter().flatten().collect();
        writeln!(f, "{}", if comment.is_empty() { String::new() } else { format!("  -- {}", comment.join("; ")) })?;
        for body in bodies {
            let of = self.rename_loop(of, Some(body));
            let is_all = body.size_condition.is_true();
            if !is_all {
                self.write_indent(f, 1)?;
                writeln!(f, "where {}:", body.size_condition)?;
            }
            let indent = self.indent + if is_all { 1 } else { 2 };
            let inner = StepsText {
                case: body,
                indent,
                depth: self.depth + 1,
                note: &|_| None,
                last_noted_loop: Cell::default(),
            };
            for (var, stmt) in (0..).map(StmtId).zip(&of.body.stmts) {
                if let Rhs::Input(k) = &stmt.rhs {
                    inner.write_indent(f, 0)?;
                    let input = LoopText { ssa_loop: &of, depth: self.depth }.input_text(*k);
                    writeln!(f, "{} = {input}", inner.name(var))?;
                }
            }
            fmt::Display::fmt(&inner, f)?;
        }
        self.write_indent(f, 0)?;
        writeln!(f, "}}")
    }

    fn format_rhs(&self, var: StmtId, rhs: &Rhs) -> String {
        let of = self.ssa().stmts.get(var.0 as usize).and_then(|s| s.scalar).unwrap_or(Scalar::F64);
        let rhs = rhs.map(&mut |a| self.rename_access(a), &|p| self.rename_poly(p), &|p| self.rename_pred(p));
        rhs_text(self.ssa(), &rhs, of, self.depth)
    }

    fn rename_access(&self, of: &TensorAccess) -> TensorAccess {
        TensorAccess { var: of.var, at: of.at.iter().map(|p| self.rename_poly(p)).collect() }
    }

    /// Renames the variables that the polynomial reads for this depth.
    fn rename_poly(&self, p: &Poly) -> Poly {
        if self.depth == 0 {
            return p.clone();
        }
        p.substitute(&|a| {
            let Atom::Read(x, _, at) = a else { return None };
            let at = at.iter().map(|p| self.rename_poly(p)).collect();
            Some(Poly::atom(Atom::Read(*x, self.name(StmtId::from_local(*x)?), at)))
        })
    }

    fn rename_pred(&self, p: &Pred) -> Pred {
        if self.depth == 0 {
            return p.clone();
        }
        p.map(&|p| self.rename_poly(p)).replace_opaque(&|x| {
            let name = self.name(StmtId::from_local(x.source)?);
            let (of, at) = (x.source, x.indices.into());
            Some(if x.is_array { Pred::Element(of, name, at, true) } else { Pred::Member(of, name, at, true) })
        })
    }

    fn format_polys(&self, all: &[Poly]) -> Vec<String> {
        all.iter().map(|p| self.rename_poly(p).to_string()).collect()
    }

    /// Prints a bound, as `max(…)` or `min(…)` if there are several.
    fn format_bound(&self, of: &[Poly], word: &str) -> String {
        match self.format_polys(of).as_slice() {
            [one] => one.clone(),
            all => format!("{word}({})", all.join(", ")),
        }
    }

    fn format_storage(&self, p: &KernelStorage) -> String {
        let axes: Vec<String> = p.axes.iter().flatten().map(|p| self.rename_poly(p).to_string()).collect();
        self.format_element(p.var, &axes)
    }

    fn format_element(&self, var: StmtId, at: &[String]) -> String {
        let name = self.name(var);
        if at.is_empty() { name.to_string() } else { format!("{name}[{}]", at.join(", ")) }
    }

    fn format_chunks(&self, own: &[(StmtId, PrivateCopy)]) -> String {
        let of = |which: fn(&PrivateCopy) -> bool, word: &str| {
            let own = own.iter().filter(|(_, own)| which(own));
            let vars: Vec<String> = own.map(|(v, _)| self.name(*v).to_string()).collect();
            if vars.is_empty() { String::new() } else { format!(", {} {word}", vars.join(" and ")) }
        };
        let joined = of(|own| matches!(own, PrivateCopy::PerChunk(_)), "reduced");
        let by_thread = of(|own| matches!(own, PrivateCopy::PerThread), "private to each thread");
        format!(", in chunks{joined}{by_thread}")
    }
}

impl StepsText<'_> {
    fn write_kernel(&self, f: &mut fmt::Formatter<'_>, kernel: &Kernel, needs: &[u32]) -> fmt::Result {
        let of = |role: StorageRole, word: &str| {
            let places = kernel.storage.iter().filter(|p| p.role == role && !p.is_register());
            let all: Vec<String> = places.map(|p| self.format_storage(p)).collect();
            if all.is_empty() { None } else { Some(format!("{word} {}", all.join(", "))) }
        };
        let heads = [
            of(StorageRole::Input, "reads"),
            of(StorageRole::Output, "writes"),
            of(StorageRole::Temporary, "temporaries"),
        ];
        self.write_indent(f, 0)?;
        writeln!(f, "kernel {}", heads.into_iter().flatten().collect::<Vec<_>>().join("; "))?;
        if !needs.is_empty() {
            self.write_indent(f, 1)?;
            writeln!(f, "after checks {}", format_checks(needs))?;
        }
        let around = NestScope::new(self.ssa());
        for node in &kernel.body {
            let own =
                if let NestNode::Loop(of) = node { parallelise::private_copies(self.ssa(), kernel, of) } else { None };
            self.write_node(f, node, &around, own.as_deref())?;
        }
        Ok(())
    }

    /// Prints a node. `own` contains the private copies of a loop that runs in chunks.
    fn write_node(
        &self,
        f: &mut fmt::Formatter<'_>,
        node: &NestNode,
        around: &NestScope,
        own: Option<&[(StmtId, PrivateCopy)]>,
    ) -> fmt::Result {
        let within = |f: &mut fmt::Formatter<'_>, body: &[NestNode], around: &NestScope| {
            body.iter().try_for_each(|node| self.write_node(f, node, around, None))
        };
        self.write_indent(f, around.depth())?;
        match node {
            NestNode::Loop(of @ NestLoop { index, while_condition: Some(goes_on), body, .. }) => {
                let condition = self.format_element(goes_on.var, &self.format_polys(&goes_on.at));
                writeln!(f, "for {} while {condition}:", index.name)?;
                within(f, body, &around.enter_loop(of))
            }
            NestNode::Loop(
                of @ NestLoop { index, lower_bounds: from, upper_bounds: to, is_sequential: in_order, body, .. },
            ) => {
                let inside = around.enter_loop(of);
                let (least, most) = (around.maximum_candidates(from), around.minimum_candidates(&index.extent, to));
                let (from, to) = (self.format_bound(&least, "max"), self.format_bound(&most, "min"));
                let range = if from == "0" { format!("< {to}") } else { format!("in {from}..{to}") };
                let order = if *in_order {
                    ", in order".to_owned()
                } else {
                    own.map(|own| self.format_chunks(own)).unwrap_or_default()
                };
                writeln!(
                    f,
                    "for {} {range}{order}:  -- {}",
                    index.name,
                    inside.trip_count_text(&|p| self.rename_poly(p))
                )?;
                within(f, body, &inside)
            }
            NestNode::Let { index, value, body } => {
                writeln!(
                    f,
                    "at {} = {} if < {}:",
                    index.name,
                    self.rename_poly(value),
                    self.rename_poly(&index.extent)
                )?;
                within(f, body, &around.enter_let(index, value))
            }
            NestNode::If(p, body) => {
                writeln!(f, "if {}:", self.rename_pred(p))?;
                within(f, body, &around.enter_guard(p))
            }
            NestNode::MatrixProduct(of) => {
                let MatrixProduct { var, at: own, neg, indices: [m, n, k], factors, fallback_loops: body, .. } = &**of;
                let [a, b] = factors.each_ref().map(|f| self.format_element(f.var, &self.format_polys(&f.at)));
                let sign = if *neg { "-" } else { "" };
                let range = |i: &Index| format!("{} < {}", i.name, self.rename_poly(&i.extent));
                let product = format!(
                    "{} = {sign}sum {}: {a} * {b}",
                    self.format_element(*var, &self.format_polys(own)),
                    range(k)
                );
                writeln!(f, "matrix product {product} for {}, {}; loops if small:", range(m), range(n))?;
                within(f, body, &around.one_level_deeper())
            }
            NestNode::Fill(var, at, with) => {
                let of_all = |p: &Option<Poly>| p.as_ref().map_or("_".to_owned(), |p| self.rename_poly(p).to_string());
                let at: Vec<String> = at.iter().map(of_all).collect();
                let with = match with {
                    Constant::Int(k) => k.to_string(),
                    Constant::Real(x) => format!("{x:?}"),
                    other => self.format_rhs(*var, &Rhs::Constant(*other)),
                };
                writeln!(f, "{} = {with}", self.format_element(*var, &at))
            }
            NestNode::Assign(set) => self.write_assignment(f, set),
        }
    }

    fn write_assignment(&self, f: &mut fmt::Formatter<'_>, set: &Assignment) -> fmt::Result {
        let sign = match set.accumulate {
            None => "=",
            Some(Accumulation::Sum) => "+=",
            Some(Accumulation::Reduce(Reducer::Prod)) => "*=",
            Some(Accumulation::Reduce(Reducer::Min)) => "min=",
            Some(Accumulation::Reduce(Reducer::Max)) => "max=",
            Some(Accumulation::Reduce(Reducer::Argmin)) => "argmin=",
            Some(Accumulation::Reduce(Reducer::Argmax)) => "argmax=",
        };
        let rhs = match &set.rhs {
            Rhs::Reduce(r) => {
                let of = self.format_element(r.operand.var, &self.format_polys(&r.operand.at));
                if r.reducer.is_arg_reduction() { format!("{of} at {}", self.rename_poly(&r.arg_value)) } else { of }
            }
            rhs => self.format_rhs(set.var, rhs),
        };
        write!(f, "{} {sign} {rhs}", self.format_element(set.var, &self.format_polys(&set.at)))?;
        self.write_note(f, set.var)
    }
}

fn format_checks(checks: &[u32]) -> String {
    checks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
