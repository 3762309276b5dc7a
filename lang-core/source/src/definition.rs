//! **Printing a definition** from its lines: the signature, the checks, the `let`s and the results.
//! A line gets a `let` if it is read more than once, or if the program has a telling name for it.
//! The writer prepares the lines and calls this module.

use std::collections::HashSet;

use super::cases::ConstructorCase;
use super::constructor_patterns::LeafRole;
use super::derivative_signature::{DerivativeSignature, NamedValue, PrintRequest, is_sole_constructor_tag};
use super::expression_tree::SourceExpr;
use super::read_ssa::{IndexSubstitution, LineKind, ReadingScope, StatementLine};
use super::scatter::ScatterSum;
use super::writer::{BodyWriter, ReadSource, ValueLeaves};
use super::{NoTextReason, PrintedDerivative};
use lang_base::Name;
use lang_ir::core::{Constant, CoreType, DerivativeKind, ScalarOp};
use lang_ir::ssa::{RuntimeCheck, SsaFunction, StmtId, for_each_pred_read};
use lang_sizes::predicate::{Index, Pred};
use lang_syntax::ops::Scalar;

/// The `let`s of a body, and the value after them.
pub(super) struct PrintedBody {
    pub(super) lets: Vec<String>,
    /// The names that the `let`s bind, with their statements.
    pub(super) let_statements: Vec<(Name, StmtId)>,
    pub(super) value: String,
    /// The derivatives that it calls, which must be printed before it.
    pub(super) prerequisites: Vec<PrintedDerivative>,
}

fn tuple(items: Vec<String>) -> String {
    match <[String; 1]>::try_from(items) {
        Ok([one]) => one,
        Err(items) => format!("({})", items.join(", ")),
    }
}

impl BodyWriter<'_> {
    /// Prints the lines before the result. The case determines how the parameters are constructed.
    pub(super) fn print_lets(
        &mut self,
        head: &DerivativeSignature,
        ssa: &SsaFunction,
        live: &[StmtId],
        case: &ConstructorCase,
    ) -> Result<Vec<String>, NoTextReason> {
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            if let lang_ir::ssa::Rhs::Input(input) = &stmt.rhs {
                let (base, path) = match case.input_role(self.request, head, &ssa.inputs, *input as usize) {
                    Some(LeafRole::Part(base, path)) => (base, path),
                    Some(LeafRole::Tag(_) | LeafRole::OtherConstructor) => continue,
                    None => self.request.input_location(head, &ssa.inputs, *input as usize)?,
                };
                self.used_names.mark_used(&base.name);
                self.read_sources.insert(StmtId(k), ReadSource::Part(base, path));
            }
        }
        self.reserve_callee_names(live);
        let results: Vec<StmtId> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        Ok(self.print_block(None, &ssa.checks, live, &results))
    }

    /// Prints the lines of the loop `within`, or those outside all loops: the lines that checks
    /// read, then the checks, then the other lines.
    pub(super) fn print_block(
        &mut self,
        within: Option<u32>,
        checks: &[RuntimeCheck],
        live: &[StmtId],
        results: &[StmtId],
    ) -> Vec<String> {
        let own = |this: &Self, v: StmtId| this.lines.get(v.0 as usize).is_some_and(|l| l.enclosing_loop == within);
        let own: Vec<StmtId> = live.iter().copied().filter(|v| own(self, *v)).collect();
        let checked_lines = self.lines_read_by_checks(checks);
        let mut lets = Vec::new();
        for v in own.iter().filter(|v| checked_lines.contains(v)) {
            lets.extend(self.print_let(*v, live, results, true));
        }
        lets.extend(self.print_checks(checks, live));
        for v in &own {
            lets.extend(self.print_let(*v, live, results, checked_lines.contains(v)));
        }
        lets
    }

    /// Prints the body of one case.
    pub(super) fn print_body(
        &mut self,
        head: &DerivativeSignature,
        ssa: &SsaFunction,
        live: &[StmtId],
        case: &ConstructorCase,
    ) -> Result<PrintedBody, NoTextReason> {
        let mut lets = self.print_lets(head, ssa, live, case)?;
        let results: Vec<StmtId> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        let mut remaining_results = results.iter();
        let mut values = Vec::new();
        for (of, ty, _) in &head.results {
            let mut parts: ValueLeaves = Vec::new();
            for leaf in ty.leaves() {
                if is_sole_constructor_tag(ty, &leaf.path) {
                    let indices = leaf.dims.iter().map(|n| self.facts.fresh_index(n.clone())).collect();
                    parts.push((leaf.path, indices, SourceExpr::Constant(Constant::Int(0))));
                    continue;
                }
                let Some(v) = remaining_results.next() else { return Err(NoTextReason::InternalError) };
                parts.push((leaf.path, self.indices_of(*v), self.result_expression(*v)));
            }
            let name = of.and_then(|k| head.primal_parameters.get(k)).map(|p| p.value.name.clone()).unwrap_or_default();
            values.push(self.print_value(ty, &mut Vec::new(), &mut Vec::new(), &parts, &name, true));
        }
        let mut value = tuple(values);
        // A last `let` that only names the value is inlined into the result.
        if let Some(line) = lets.pop_if(|line| line.starts_with(&format!("let {value} = "))) {
            value = line.trim_start_matches(&format!("let {value} = ")).to_owned();
        }
        Ok(PrintedBody {
            lets,
            let_statements: std::mem::take(&mut self.printed_lets),
            value,
            prerequisites: self.prerequisites(),
        })
    }
}

/// Joins the signature and the body. The caller must fill in `results`.
pub(super) fn assemble_definition(
    request: &PrintRequest<'_>,
    head: &DerivativeSignature,
    body: &PrintedBody,
) -> PrintedDerivative {
    let params = head.primal_parameters.iter().chain(head.additional_parameters.iter().map(|b| &b.1));
    let params: Vec<(Name, String)> = params.map(|p| (p.value.name.clone(), p.type_text.clone())).collect();
    let written: Vec<String> = params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let result = tuple(head.results.iter().map(|r| r.2.clone()).collect());
    let name: Name = format!("{}{}", request.def.name, request.mode.suffix()).into();
    let mut text = format!("def {name}({}) -> {result} =\n", written.join(", "));
    for line in &body.lets {
        text += &format!("  {line}\n");
    }
    text += &format!("  {}{}\n", if body.lets.is_empty() { "" } else { "in " }, body.value);
    let varying =
        head.additional_parameters.iter().map(|b| b.0).chain(head.results.iter().map(|r| r.0)).flatten().collect();
    let (lets, results) = (body.let_statements.clone(), Vec::new());
    PrintedDerivative { name, params, varying, result, text, lets, results, prerequisites: body.prerequisites.clone() }
}

impl BodyWriter<'_> {
    /// Prints the checks as assertions. `scatter_add` checks its places itself, so those checks are
    /// omitted.
    fn print_checks(&mut self, checks: &[RuntimeCheck], live: &[StmtId]) -> Vec<String> {
        let lines = live.iter().filter_map(|v| self.lines.get(v.0 as usize));
        let found = lines.filter_map(|l| self.split_scatter_sums(&l.indices, l.element()?));
        let found: Vec<ScatterSum> = found.flat_map(|(_, found)| found).collect();
        let mut texts = Vec::new();
        for check in checks {
            let indices: Vec<Index> = check.dims.iter().map(|n| self.facts.fresh_index(n.clone())).collect();
            let place = IndexSubstitution {
                values: indices.iter().map(Index::value).collect(),
                scope: &ReadingScope::default(),
            };
            let (guard, cond) = (place.in_predicate(&check.guard), place.in_predicate(&check.cond));
            if self.is_checked_by_scatter(&cond, &guard, &found) {
                continue;
            }
            let what: String = check.failure.message.chars().filter(|c| !matches!(c, '"' | '\\')).collect();
            let cond = Pred::any_of([guard.negated(), cond]);
            if cond.is_true() {
                continue;
            }
            let (head, text) = if indices.is_empty() {
                (String::new(), self.print_predicate(&cond).0)
            } else {
                let (head, body) = self.print_binder("all", &indices, &mut |this| this.print_predicate(&cond).0);
                (format!("{head}: "), body)
            };
            // A check that holds trivially is omitted.
            if text == "true" {
                continue;
            }
            texts.push(format!("let _ = assert({head}{text}, \"{what}\")"));
        }
        texts
    }

    /// Returns the lines that the checks read, directly or through other lines.
    fn lines_read_by_checks(&self, checks: &[RuntimeCheck]) -> HashSet<StmtId> {
        let mut open = Vec::new();
        for check in checks {
            [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut |v| open.push(v)));
        }
        let mut found = HashSet::new();
        while let Some(v) = open.pop() {
            if !found.insert(v) {
                continue;
            }
            let Some(line) = self.lines.get(v.0 as usize) else { continue };
            line.for_each_use(&mut |v, _| open.push(v));
            line.for_each_loop_link(&mut |v| open.push(v));
        }
        found
    }

    /// Prints the `let` of a line that is read more than once or has a telling name.
    fn print_let(&mut self, v: StmtId, live: &[StmtId], results: &[StmtId], checked: bool) -> Vec<String> {
        let Some(line) = self.lines.get(v.0 as usize).cloned() else { return Vec::new() };
        if self.read_sources.contains_key(&v) {
            return Vec::new();
        }
        if let LineKind::Loop(of) = &line.kind {
            return self.print_loop_lets(of, live);
        }
        self.print_line_let(v, &line, live, results, checked).into_iter().collect()
    }

    fn print_line_let(
        &mut self,
        v: StmtId,
        line: &StatementLine,
        live: &[StmtId],
        results: &[StmtId],
        checked: bool,
    ) -> Option<String> {
        let (mut elements, mut index_reads) = (0_usize, 0_usize);
        for u in live {
            let Some(reader) = self.lines.get(u.0 as usize) else { continue };
            // A read in another loop counts twice, because the loop repeats it.
            let times = if reader.evaluating_loop(&self.facts) == line.enclosing_loop { 1 } else { 2 };
            reader.for_each_use(&mut |w, in_index| {
                elements += if w == v && !in_index { times } else { 0 };
                index_reads += if w == v && in_index { times } else { 0 };
            });
        }
        let result_uses = results.iter().filter(|r| **r == v).count();
        match &line.kind {
            LineKind::Input | LineKind::Loop(_) | LineKind::Carried(_) => None,
            LineKind::Element(e) => {
                if e.is_free() || elements + index_reads == 0 && result_uses <= 1 && !checked {
                    return None;
                }
                let own = line.name.clone().filter(|name| self.is_program_name(name));
                let own = match line.enclosing_loop {
                    Some(_) => own.map(|name| self.name_in_entries(&name)),
                    None => own.filter(|name| self.name_in_entries(name) == *name),
                };
                // A cheap line that is read once may be inlined into an index. Entries inline every
                // line that is read once.
                let once = own.is_none() && elements + index_reads + result_uses <= 1;
                if once && (self.reader.is_some() || index_reads == 1 && !checked && is_cheap(e)) {
                    return None;
                }
                let seen =
                    |name: &Name| self.reader.iter().flat_map(|r| &r.scope_variables).find(|seen| seen.name == *name);
                let seen = own.as_ref().filter(|_| line.enclosing_loop.is_none()).and_then(seen).map(|seen| seen.rank);
                let wanted = own.clone().unwrap_or_else(|| self.unambiguous_name(default_name(e)));
                if seen.is_some() && !self.printed_lets.iter().any(|(name, _)| *name == wanted) {
                    self.used_names.mark_unused(&wanted);
                }
                let name = self.used_names.fresh(&wanted);
                let text = self.print_array(&line.indices, e, &name, false);
                self.bind_let_name(v, &name, &line.indices, element_scalar(line));
                self.printed_lets.push((name.clone(), v));
                // The reader already knows the value by this name.
                let known = seen == Some(line.indices.len()) && own == Some(name.clone());
                (!known).then(|| format!("let {name} = {text}"))
            }
            LineKind::Call(call, _) => {
                let call = call.clone();
                self.print_call_let(v, &call, live)
            }
            LineKind::Order(of) => {
                let wanted =
                    line.name.clone().filter(|name| self.is_program_name(name)).unwrap_or_else(|| "order".into());
                let name = self.used_names.fresh(&wanted);
                let text = self.print_argsort(of);
                self.bind_let_name(v, &name, &line.indices, Scalar::I64);
                self.printed_lets.push((name.clone(), v));
                Some(format!("let {name} = {text}"))
            }
            LineKind::Update(of) => {
                let is_next = |u: &StmtId| matches!(self.lines.get(u.0 as usize).map(|l| &l.kind), Some(LineKind::Carried(c)) if c.next == v);
                if elements + index_reads == 0 && result_uses == 1 && live.iter().any(is_next) {
                    return None;
                }
                let wanted = line.name.clone().filter(|name| !is_wildcard_name(name)).unwrap_or_else(|| "t".into());
                let name = self.used_names.fresh(&wanted);
                let text = self.print_update(of);
                self.bind_let_name(v, &name, &line.indices, element_scalar(line));
                self.printed_lets.push((name.clone(), v));
                Some(format!("let {name} = {text}"))
            }
        }
    }

    /// Returns a name for an unnamed line. In entries it avoids the names of the program, because
    /// the reader would take it for that variable.
    fn unambiguous_name(&self, name: &'static str) -> Name {
        let all = [name, "t", "v"].into_iter().chain(["t1", "t2", "t3", "t4"]);
        let free = all.filter(|_| self.reader.is_some()).find(|name| !self.is_program_name(name));
        free.unwrap_or(name).into()
    }

    /// Returns whether it is a name of the program, or derives from one by a suffix for a
    /// derivative or a part.
    pub(super) fn is_program_name(&self, name: &str) -> bool {
        let stem = ["_adj", "_tan"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        let is = |program_name: &Name| {
            stem.strip_prefix(program_name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        !is_wildcard_name(name) && self.program_names.iter().any(is)
    }

    pub(super) fn bind_let_name(&mut self, v: StmtId, name: &Name, indices: &[Index], scalar: Scalar) {
        let ty = CoreType::Scalar(scalar).with_extents(indices.iter().map(|i| i.extent.clone()));
        self.read_sources.insert(v, ReadSource::Let(NamedValue { name: name.clone(), ty }, Vec::new()));
    }

    /// Prints one `let` for all results of a call.
    fn print_call_let(&mut self, v: StmtId, call: &super::read_ssa::LineCall, live: &[StmtId]) -> Option<String> {
        let (text, ty) = match self.print_call(call) {
            Ok(found) => found,
            Err(why) => {
                self.failure = Some(why);
                return None;
            }
        };
        let wanted = self.lines.get(v.0 as usize).and_then(|l| l.name.clone());
        let wanted = wanted.filter(|name| !is_wildcard_name(name)).unwrap_or_else(|| {
            let suffix = match call.callee.derivatives.last() {
                Some(DerivativeKind::Adjoint { .. }) => "cotangents",
                Some(DerivativeKind::Forward(_)) => "tangents",
                None => "value",
            };
            format!("{}_{suffix}", call.callee.def.name).into()
        });
        let name = self.used_names.fresh(&wanted);
        self.printed_lets.push((name.clone(), v));
        let own = call.batch.iter().map(|i| i.extent.clone());
        let base = NamedValue { name: name.clone(), ty: ty.with_extents(own) };
        for u in live {
            if let Some(StatementLine { kind: LineKind::Call(other, part), .. }) = self.lines.get(u.0 as usize)
                && other == call
            {
                match self.result_path(call, *part) {
                    Ok(path) => drop(self.read_sources.insert(*u, ReadSource::Let(base.clone(), path))),
                    Err(why) => self.failure = Some(why),
                }
            }
        }
        Some(format!("let {name} = {text}"))
    }

    /// Returns the expression for a line in the result: a read if the line has a name, else its
    /// element.
    pub(super) fn result_expression(&self, v: StmtId) -> SourceExpr {
        let own = self.indices_of(v);
        let read = || SourceExpr::Read(v, own.iter().map(Index::value).collect());
        if self.read_sources.contains_key(&v) {
            return read();
        }
        self.lines.get(v.0 as usize).and_then(StatementLine::element).cloned().unwrap_or_else(read)
    }

    pub(super) fn indices_of(&self, v: StmtId) -> Vec<Index> {
        self.lines.get(v.0 as usize).map(|l| l.indices.clone()).unwrap_or_default()
    }
}

/// Returns whether the name derives from the program's `_`.
fn is_wildcard_name(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

fn element_scalar(line: &StatementLine) -> Scalar {
    line.scalar.unwrap_or(Scalar::F64)
}

/// Returns whether it contains neither a loop nor a predicate.
fn is_cheap(e: &SourceExpr) -> bool {
    let mut cheap = true;
    e.visit(&mut |e| {
        cheap &= !matches!(
            e,
            SourceExpr::IndexedSum(..) | SourceExpr::Reduce(_) | SourceExpr::Guard(..) | SourceExpr::Choice(..)
        )
    });
    cheap
}

/// Returns a name for an unnamed line, by the kind of its expression.
fn default_name(e: &SourceExpr) -> &'static str {
    match e {
        SourceExpr::IndexedSum(..) => "s",
        SourceExpr::Reduce(r) if r.reducer.is_arg_reduction() => "k",
        SourceExpr::Guard(_, e) | SourceExpr::Choice(_, e, _) => default_name(e),
        SourceExpr::Apply(ScalarOp::Scalar(f), _) => match f.name() {
            "exp" => "e",
            "sqrt" => "root",
            "log" => "l",
            _ => "t",
        },
        SourceExpr::Product(p) if !p.divisors.is_empty() => "q",
        _ => "t",
    }
}
