//! **Writer.** Holds the state of printing one body: its lines, their names, the indices in scope,
//! the known facts. `definition` is the driver: it splits the parameters into cases, merges the
//! lines of each case, and prints them.
//!
//! The printing itself is in impl blocks of other modules: [`super::definition`] prints bodies,
//! [`super::arrays`] arrays and index names, [`super::print_expressions`] expressions,
//! [`super::print_predicate`] predicates, [`super::call`] calls.

use std::collections::HashMap;
use std::sync::Arc;

use super::axis_names::AxisNames;
use super::cases::{ConstructorCase, MAX_BODIES, MAX_CASES, constructor_cases, match_over_cases};
use super::constructor_patterns::ArgumentNames;
use super::constructors::KnownConstructor;
use super::definition::{PrintedBody, assemble_definition};
use super::derivative_signature::{DerivativeSignature, NamedValue, PrintRequest};
use super::entries::EntryReader;
use super::expression_tree::SourceExpr;
use super::merge::LineMerger;
use super::names::{UsedNames, qualified_spelling};
use super::read_ssa::{StatementLine, read_lines};
use super::table::StatementFacts;
use super::{NoTextReason, PrintedDerivative};
use lang_base::{BackgroundDrop, Code, GlobalName, Name};
use lang_ir::core::{CheckFailure, FunctionKey};
use lang_ir::origin::DceOutcome;
use lang_ir::ssa::{FIRST_INDEX_LOCAL, Rhs, RuntimeCheck, SsaFunction, StmtId, for_each_pred_read};
use lang_middle::norm::{CONSTRUCTOR_MISMATCH, ElabQueries};
use lang_middle::pipeline::CalleeForms;
use lang_resolve::NameEnv;
use lang_sizes::predicate::{FactContext, Index, LocalId, Poly, Pred};

/// The binding strength of a text. A text needs parentheses where a higher level is required.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum BindingStrength {
    /// Extends as far to the right as it can.
    #[default]
    Greedy,
    Or,
    And,
    Not,
    Compare,
    Sum,
    Product,
    Sign,
    Power,
    Postfix,
}

/// The named value that a statement is read from.
#[derive(Clone, Debug)]
pub(super) enum ReadSource {
    /// A part of a parameter or of a top-level value.
    Part(NamedValue, Vec<u32>),
    /// A `let`, or a part of one that binds the result of a call. The type of its base has the
    /// batch axes of the call before its own.
    Let(NamedValue, Vec<u32>),
}

/// The state of printing one body.
pub(super) struct BodyWriter<'a> {
    pub(super) request: &'a PrintRequest<'a>,
    /// The names of the definition's own variables and indices.
    pub(super) program_names: Vec<Name>,
    pub(super) lines: BackgroundDrop<Vec<StatementLine>>,
    pub(super) read_sources: HashMap<StmtId, ReadSource>,
    pub(super) axis_names: AxisNames,
    pub(super) used_names: UsedNames,
    /// The indices in scope with their names, outermost first.
    pub(super) scope: Vec<(LocalId, Name)>,
    pub(super) context: FactContext,
    pub(super) facts: BackgroundDrop<StatementFacts>,
    /// If not empty, a whole array is printed in place of its element at these indices.
    pub(super) elementwise_indices: Vec<Index>,
    /// The printed derivatives of the callees.
    pub(super) callee_derivatives: Vec<(Arc<FunctionKey>, Arc<PrintedDerivative>)>,
    /// The values of sum types whose constructor is known in the current context.
    pub(super) known_constructors: Vec<KnownConstructor>,
    /// The names of tangents, with the values that they are tangents of.
    pub(super) tangents: Vec<(Name, NamedValue)>,
    /// The texts of parameters rebuilt from their parts, with the names of the parameters.
    pub(super) rebuilt_parameters: Vec<(String, Name)>,
    /// The program's names for the arguments of constructors.
    pub(super) argument_names: &'a ArgumentNames,
    /// The reader of the entries, if entries are printed. A line that is read once then needs no
    /// name.
    pub(super) reader: Option<EntryReader>,
    /// The lines of the result, and the lines that checks read.
    pub(super) roots: Vec<StmtId>,
    /// The printed `let`s, with their statements.
    pub(super) printed_lets: Vec<(Name, StmtId)>,
    /// The reason why something could not be printed.
    pub(super) failure: Option<NoTextReason>,
}

/// The leaves of a value: the path, the indices and the element of each.
pub(super) type ValueLeaves = Vec<(Vec<u32>, Vec<Index>, SourceExpr)>;

/// Prints the definition, without layout.
pub(super) fn print_definition(request: &PrintRequest<'_>) -> Result<PrintedDerivative, NoTextReason> {
    let head = request.signature()?;
    let ssa = request.derivative_ssa;
    // Keeps the results, and the statements that they need.
    let mut wanted = BackgroundDrop::new((**ssa).clone());
    wanted.outputs = request.result_leaves(&head)?;
    let parts = wanted.outputs.len();
    wanted.outputs.extend(request.result_tags(&head));
    let before = wanted.outputs.iter().take(parts).map(|(_, v)| *v).collect();
    let fates = lang_opt::dce::eliminate_dead_code(&mut wanted);
    let argument_names =
        request.bodies.body(request.def).map(|body| ArgumentNames::from_body(&body)).unwrap_or_default();
    let plain = BackgroundDrop::new(read_lines(&wanted, &mut StatementFacts::default())?);
    let mut all = constructor_cases(request, &head, &wanted, &plain, &argument_names, (&[], MAX_CASES));
    let possible = |case: &&ConstructorCase| {
        let (mut ssa, mut read) = (BackgroundDrop::new(wanted.clone()), BackgroundDrop::new(plain.clone()));
        case.substitute_case(request, &head, &mut ssa, &mut read);
        case.result_condition(&head, ssa.outputs.get(parts..).unwrap_or_default(), &read).is_some()
    };
    if all.len() > MAX_BODIES && all.iter().filter(possible).count() > MAX_BODIES {
        all = constructor_cases(request, &head, &wanted, &plain, &argument_names, (&[], MAX_BODIES));
    }
    let mut bodies = Vec::new();
    for case in &all {
        let body = match prepare_writer(request, &head, &wanted, parts, case, &argument_names, &[])? {
            Some((writer, ssa, live)) => Some(writer.print_finished_body(&head, &ssa, &live, case)?),
            None => None,
        };
        bodies.push(body);
    }
    let body = match_over_cases(request, &head, &all, &bodies).ok_or(NoTextReason::UnimportedName)?;
    let mut printed = assemble_definition(request, &head, &body);
    let kept =
        |now: StmtId| fates.iter().position(|fate| *fate == DceOutcome::Kept(now)).and_then(|k| u32::try_from(k).ok());
    printed.lets.retain_mut(|(_, v)| kept(*v).map(|k| *v = StmtId(k)).is_some());
    printed.results = before;
    Ok(printed)
}

/// The writer of a body, the Tensor SSA of the body, and its live statements.
pub(super) type PreparedBody<'a> = (BodyWriter<'a>, BackgroundDrop<SsaFunction>, Vec<StmtId>);

/// Prepares the writer of a body for one case under some facts. The first `parts` outputs of
/// `wanted` are the results; the others are constructor tags, which must fit the case. Returns
/// `None` if the case is impossible.
pub(super) fn prepare_writer<'a>(
    request: &'a PrintRequest<'a>,
    head: &DerivativeSignature,
    wanted: &SsaFunction,
    parts: usize,
    case: &ConstructorCase,
    sum_names: &'a ArgumentNames,
    facts: &[Pred],
) -> Result<Option<PreparedBody<'a>>, NoTextReason> {
    let mut wanted = BackgroundDrop::new(wanted.clone());
    let mut fresh: BackgroundDrop<StatementFacts> = BackgroundDrop::default();
    let mut read = BackgroundDrop::new(read_lines(&wanted, &mut fresh)?);
    case.substitute_case(request, head, &mut wanted, &mut read);
    let result_tags = wanted.outputs.split_off(parts);
    let Some(fits) = case.result_condition(head, &result_tags, &read) else { return Ok(None) };
    // The check fails for all data.
    let never = |c: &RuntimeCheck| c.cond.is_false() && c.guard.is_true() && c.dims.is_empty();
    if wanted.checks.iter().any(|c| never(c) && c.failure.message == CONSTRUCTOR_MISMATCH) {
        return Ok(None);
    }
    if !fits.is_true() {
        let what = CONSTRUCTOR_MISMATCH.into();
        let what = CheckFailure { code: Code::E0501, message: what, item: request.def.clone(), node: None };
        let (guard, cond) = (Pred::truth(), fits.clone());
        wanted.checks.push(RuntimeCheck { dims: Vec::new(), guard, cond, failure: Arc::new(what) });
    }
    let sizes: Vec<Poly> = wanted.sizes.iter().map(|l| Poly::atom(wanted.vars.atom(*l))).collect();
    let mut context = FactContext::new(&sizes);
    wanted.checks = super::redundant_checks::irredundant_checks(&wanted, &context);
    [&fits].into_iter().chain(facts).for_each(|p| context.assume(p));
    let mut roots: Vec<StmtId> = wanted.outputs.iter().map(|(_, v)| *v).collect();
    for check in &wanted.checks {
        for_each_pred_read(&check.guard, &mut |v| roots.push(v));
        for_each_pred_read(&check.cond, &mut |v| roots.push(v));
    }
    let program_names = program_names(request.bodies, request.def);
    let names = |name: &str| program_names.iter().any(|n| n == name);
    let total = |callee: &Arc<FunctionKey>| never_fails(request.module, callee);
    let mut merging =
        LineMerger { lines: read, context, facts: &mut fresh, roots, is_program_name: &names, never_fails: &total };
    if !merging.run() {
        return Err(NoTextReason::TooLarge);
    }
    let (live, lines, context, roots) = (merging.live_lines(), merging.lines, merging.context, merging.roots);
    let params = head
        .primal_parameters
        .iter()
        .chain(head.additional_parameters.iter().map(|b| &b.1))
        .map(|p| p.value.name.clone());
    let mut taken = UsedNames::new(params.chain(case.bound_names().cloned()));
    wanted.sizes.iter().for_each(|l| drop(taken.fresh(&wanted.vars.name(*l))));
    let beside = head
        .additional_parameters
        .iter()
        .filter_map(|b| Some((b.1.value.name.clone(), head.primal_parameters.get(b.0?)?.value.clone())));
    let tangents = case.tangent_names(head).into_iter().chain(beside).collect();
    let writer = BodyWriter {
        request,
        argument_names: sum_names,
        program_names,
        lines,
        read_sources: HashMap::new(),
        axis_names: AxisNames::from_function(&request.stages.core, request.module),
        used_names: taken,
        scope: Vec::new(),
        context,
        facts: fresh,
        elementwise_indices: Vec::new(),
        callee_derivatives: Vec::new(),
        known_constructors: Vec::new(),
        tangents,
        rebuilt_parameters: case.rebuilt_parameters(request, head),
        reader: None,
        roots,
        printed_lets: Vec::new(),
        failure: None,
    };
    Ok(Some((writer, wanted, live)))
}

/// Returns whether the callee never fails, for any arguments and sizes.
fn never_fails(module: &dyn CalleeForms, callee: &Arc<FunctionKey>) -> bool {
    lang_base::ensure_sufficient_stack(|| {
        let Some(ssa) = module.ssa(callee) else { return false };
        ssa.checks.is_empty()
            && ssa.stmts.iter().all(|s| match &s.rhs {
                Rhs::Call { callee, .. } => never_fails(module, callee),
                _ => true,
            })
    })
}

/// Returns the names of a definition's own variables and indices.
fn program_names(bodies: &dyn ElabQueries, def: &GlobalName) -> Vec<Name> {
    let Some(body) = bodies.body(def) else { return Vec::new() };
    body.locals.iter().map(|l| l.name.clone()).collect()
}

impl BodyWriter<'_> {
    fn print_finished_body(
        mut self,
        head: &DerivativeSignature,
        ssa: &SsaFunction,
        live: &[StmtId],
        case: &ConstructorCase,
    ) -> Result<PrintedBody, NoTextReason> {
        let body = self.print_body(head, ssa, live, case)?;
        self.failure.map_or(Ok(body), Err)
    }

    pub(super) fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        self.request.module.ssa(callee)
    }

    pub(super) fn name_environment(&self) -> &dyn NameEnv {
        self.request.names
    }

    pub(super) fn home_module(&self) -> &Name {
        &self.request.def.module
    }

    /// Prints `for i, j: …` around the text that `inside` prints.
    pub(super) fn print_batch(&mut self, own: &[Index], inside: &mut dyn FnMut(&mut Self) -> String) -> String {
        self.print_generation(own, &SourceExpr::real(0.0), "-", false, &Vec::new(), inside)
    }

    /// Prints a lambda over the arguments that vary.
    pub(super) fn print_partial_application(&mut self, name: &str, args: &[String], varying: &[usize]) -> String {
        let mut inner = Vec::new();
        let mut params: Vec<Name> = Vec::new();
        for (k, arg) in args.iter().enumerate() {
            if varying.contains(&k) {
                let param = self.used_names.fresh("v");
                inner.push(param.to_string());
                params.push(param);
            } else {
                inner.push(arg.clone());
            }
        }
        params.iter().for_each(|p| self.used_names.mark_unused(p));
        format!("\\{}: {name}({})", params.join(", "), inner.join(", "))
    }

    /// Prints a binder over whole ranges. Returns its head, and the text that `inside` prints in
    /// its scope.
    pub(super) fn print_binder(
        &mut self,
        word: &str,
        indices: &[Index],
        inside: &mut dyn FnMut(&mut Self) -> String,
    ) -> (String, String) {
        let depth = self.scope.len();
        let mut heads = Vec::new();
        for i in indices {
            let name = self.used_names.fresh_index(None);
            heads.push(format!("{name} < {}", self.print_polynomial(&i.extent).0));
            self.scope.push((i.local, name));
        }
        let text = inside(self);
        self.leave_scope(depth);
        (format!("{word} {}", heads.join(", ")), text)
    }

    pub(super) fn is_index(&self, local: LocalId) -> bool {
        local.0 >= FIRST_INDEX_LOCAL || self.scope.iter().any(|(l, _)| *l == local)
    }

    /// Returns the name of an index in scope.
    pub(super) fn index_name(&self, local: LocalId) -> Option<Name> {
        self.scope.iter().find(|(l, _)| *l == local).map(|(_, name)| name.clone())
    }

    pub(super) fn global_spelling(&mut self, name: &GlobalName) -> Option<String> {
        let text = qualified_spelling(self.request.names, &self.request.def.module, name);
        if text.is_none() {
            self.failure = Some(NoTextReason::UnimportedName);
        }
        text
    }
}
