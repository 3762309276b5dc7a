//! **Derivatives entry by entry**, for a reader who looks at one expression: `w[j]` for `x[i]`. If
//! equations determine the indices of an array, the entry is the element that they select; all
//! others are zero. The session calls `entries` for hovers on expressions and derivative operators.

use std::collections::HashSet;
use std::sync::Arc;

use super::cases::{self, ConstructorCase, MAX_CASES, constructor_cases, refutable_parameters};
use super::constructor_patterns::{self, ArgumentNames, contains_sum_type};
use super::constructors::{PartLocation, names_in_text};
use super::derivative_signature::{
    DerivativeSignature, NamedValue, PrintRequest, SignatureParameter, has_real, is_sole_constructor_tag, print_part,
    tangent_core_type,
};
use super::expression_tree::SourceExpr;
use super::group_cases::{self, group_equal_cases, has_too_many_cases};
use super::merge::{simplify_to_fixpoint, substitute_lines};
use super::prune_lets::{mentioned_lets, merge_equal_lets};
use super::read_ssa::read_lines;
use super::table::StatementFacts;
use super::writer::{BodyWriter, prepare_writer};
use super::{DerivativeMode, NoTextReason, PrintedDerivativeCache, derivative_ssa};
use lang_base::{Name, Span};
use lang_ir::core::{Constant, CoreType, DerivativeKind, FunctionKey, NoCoreForm as NoCore, NoCoreFormReason};
use lang_ir::flat::{FunctionInput, InputSource};
use lang_ir::ssa::{Rhs, SsaFunction, Statement, StmtId, TensorAccess, statement_index};
use lang_middle::ad::{is_real, real_outputs};
use lang_middle::norm::ElabQueries;
use lang_middle::pipeline::CalleeForms;
use lang_resolve::NameEnv;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};

/// The derivative whose entries are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShownDerivative {
    /// The partial derivatives of the result, a real number, by all real inputs.
    Partials,
    /// The cotangent of a parameter, at the point where the parameter is zero.
    Cotangent {
        /// The number of the parameter.
        param: u32,
        /// The role of the function in the program.
        owner: ResultOwner,
    },
    /// The gradient of a function with one real result by a parameter. For other results, the
    /// cotangent of the parameter.
    Gradient {
        /// The number of the parameter.
        param: u32,
    },
    /// The real parts of the function's value, in order.
    Value(Vec<ValuePart>),
}

/// A real part of a value, with its label.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ValuePart {
    /// The components of tuples and the fields of records on the way to it.
    pub path: Vec<(u32, Option<Name>)>,
    /// For each axis a variable of the program with the same axis, whose index names are used.
    pub axes: Vec<Option<(Name, usize)>>,
    /// The texts before, between and after the indices, one more than axes.
    pub label: Vec<String>,
}

impl ValuePart {
    /// Returns whether it is the part of a value of this type at these positions. Fields are
    /// compared by name, because records have another order there.
    fn matches_path(&self, ty: &CoreType, path: &[u32]) -> bool {
        let mut ty = ty;
        let all = self.path.iter().zip(path).all(|((k, name), at)| {
            let CoreType::Tuple(items, labels) = ty.split_array().1 else { return false };
            ty = items.get(*at as usize).unwrap_or(ty);
            match name {
                Some(name) => labels.field(*at).is_some_and(|field| *field == **name),
                None => k == at,
            }
        });
        all && self.path.len() == path.len()
    }
}

/// The owner of the result whose cotangent occurs in the entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResultOwner {
    /// A definition.
    Definition,
    /// An iteration of a loop that carries this name or pattern.
    Iteration(String),
    /// Such an iteration that also yields a value.
    YieldingIteration(String),
    /// A function without a name.
    AnonymousFunction,
}

/// One entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DerivativeEntry {
    /// The variable by which it is the derivative: `x[i]`.
    pub variable: String,
    /// The indices of that variable.
    pub indices: Vec<String>,
    /// The derivative.
    pub value: String,
}

/// The entries of one case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entries {
    /// The `let`s of shared values that the program does not name.
    pub lets: Vec<String>,
    /// The entries that are not zero everywhere.
    pub entries: Vec<DerivativeEntry>,
    /// The part of the expression that they belong to: `[i].mean`; empty for a number.
    pub expression_part: String,
    /// The case, if constructors of sum types decide: `where s is Circle(r)`, `elsewhere`.
    pub case: Option<String>,
    /// The name of the cotangent that occurs in them, and its owner.
    pub cotangent: Option<(Name, ResultOwner)>,
    /// The variables whose names are hidden at the expression: their names in the entries, and in
    /// the program.
    pub renamed_variables: Vec<(Name, Name)>,
}

impl Entries {
    /// Returns whether a text of the entries contains the name.
    #[must_use]
    pub fn mentions_name(&self, name: &str) -> bool {
        let texts = self.lets.iter().chain(self.entries.iter().flat_map(|entry| [&entry.variable, &entry.value]));
        texts.flat_map(|text| names_in_text(text)).any(|word| word == name)
    }
}

/// The reason why no entries are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotShownReason {
    /// The function has no core form.
    NoCoreForm(Box<NoCore>),
    /// The entries have no text.
    NoText(NoTextReason),
    /// The value has many parts.
    TooManyParts,
    /// No input or no result is real.
    NotReal,
}

impl NotShownReason {
    /// Returns the reason as text; `None` for a constant, which needs no explanation.
    #[must_use]
    pub fn phrase(&self) -> Option<String> {
        Some(match self {
            Self::NoCoreForm(why) => why.reason.phrase().to_owned(),
            Self::NoText(why) => why.phrase().to_owned(),
            Self::TooManyParts => "too many parts".to_owned(),
            Self::NotReal => return None,
        })
    }
}

impl From<NoTextReason> for NotShownReason {
    fn from(why: NoTextReason) -> Self {
        Self::NoText(why)
    }
}

/// A variable in scope at the expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScopeVariable {
    /// Its name.
    pub name: Name,
    /// Its rank.
    pub rank: usize,
    /// The variable whose constructor pattern binds it, if one does.
    pub matched_variable: Option<Name>,
}

/// The reader of entries.
#[derive(Clone, Debug)]
pub(super) struct EntryReader {
    /// The variables in scope.
    pub(super) scope_variables: Vec<ScopeVariable>,
    /// Whether the seed is 1. Then no cotangent of the program occurs.
    pub(super) has_unit_seed: bool,
}

/// The context of an expression whose entries are shown. Its functions use the variables of an
/// `SsaFunction` in polynomials.
pub struct ExpressionContext<'k> {
    /// The variables in scope.
    pub scope_variables: Vec<ScopeVariable>,
    /// The names of the indices around, which are the first indices of a cotangent's parameter.
    pub indices: &'k [Name],
    /// Returns the values at which these indices start; the parameter counts from there. `None` if
    /// one has no form.
    pub index_starts: &'k dyn Fn(&SsaFunction) -> Option<Vec<Poly>>,
    /// Returns the facts that hold if the indices of an entry have these values.
    pub index_facts: &'k dyn Fn(&SsaFunction, &[Poly]) -> Vec<Pred>,
}

impl ExpressionContext<'_> {
    /// Returns the context of a whole definition.
    #[must_use]
    pub fn of_definition() -> Self {
        Self {
            scope_variables: Vec::new(),
            indices: &[],
            index_starts: &|_| Some(Vec::new()),
            index_facts: &|_, _| Vec::new(),
        }
    }
}

/// Returns the entries of a function, for a reader who sees these variables. If they depend on the
/// constructors of sum types, the result has one element for each distinct case that is not zero.
///
/// # Errors
/// The reason why no entries are shown.
pub fn entries(
    module: &dyn CalleeForms,
    bodies: &dyn ElabQueries,
    names: &dyn NameEnv,
    callee: &Arc<FunctionKey>,
    entry: &ShownDerivative,
    around: ExpressionContext<'_>,
) -> Result<Vec<Entries>, NotShownReason> {
    let ssa = ssa_at_point(module, callee, entry)?.ok_or(NotShownReason::NotReal)?;
    if let ShownDerivative::Value(_) = entry
        && contains_sum_type(&ssa.result)
    {
        return Err(NoTextReason::UnknownConstructor.into());
    }
    let stages = module.stages(callee).map_err(NotShownReason::NoCoreForm)?;
    let ssa = Arc::new(ssa);
    let (def, which, shelf) = (&callee.def, DerivativeMode::Adjoint, &PrintedDerivativeCache::default());
    let request = PrintRequest {
        module,
        bodies,
        names,
        cache: shelf,
        def,
        text: "",
        mode: which,
        stages: &stages,
        derivative_ssa: &ssa,
    };
    lang_base::ensure_sufficient_stack(|| entries_of_cases(&request, entry, around))
}

/// Returns the form whose outputs are the entries, without checks: the primal for a value, else the
/// adjoint. Its seed is 1 if `has_unit_seed` holds; the parameter of a cotangent is 0. `None` if
/// nothing is real.
fn ssa_at_point(
    module: &dyn CalleeForms,
    callee: &Arc<FunctionKey>,
    entry: &ShownDerivative,
) -> Result<Option<SsaFunction>, NotShownReason> {
    let adjoint = match entry {
        ShownDerivative::Partials => {
            derivative_ssa(module, callee, DerivativeMode::Adjoint).map_err(NotShownReason::NoCoreForm)?
        }
        ShownDerivative::Value(_) => Some(Arc::clone(&module.stages(callee).map_err(NotShownReason::NoCoreForm)?.ssa)),
        ShownDerivative::Cotangent { param, .. } | ShownDerivative::Gradient { param } => {
            let stages = module.stages(callee).map_err(NotShownReason::NoCoreForm)?;
            let inputs = (0..).zip(&stages.ssa.inputs);
            let wrt: Vec<u32> =
                inputs.filter(|(_, i)| i.source == InputSource::Param(*param)).map(|(k, _)| k).collect();
            let of = real_outputs(&stages.ssa);
            if of.is_empty() || wrt.is_empty() {
                return Ok(None);
            }
            let adjoint = callee.derivative(DerivativeKind::Adjoint { outputs: of.into(), wrt: wrt.into() });
            let none =
                || NoCore { reason: NoCoreFormReason::Derivative, item: callee.def.clone(), span: Span::default() };
            Some(module.ssa(&Arc::new(adjoint)).ok_or_else(|| NotShownReason::NoCoreForm(Box::new(none())))?)
        }
    };
    let Some(adjoint) = adjoint else { return Ok(None) };
    let mut ssa = (*adjoint).clone();
    let of_one = has_unit_seed(module, callee, entry)?;
    for stmt in &mut ssa.stmts {
        let Rhs::Input(k) = &stmt.rhs else { continue };
        match (entry, ssa.inputs.get(*k as usize).map(|i| &i.source)) {
            (_, Some(InputSource::Cotangent(_))) if of_one => stmt.rhs = Rhs::Constant(Constant::Real(1.0)),
            (ShownDerivative::Cotangent { param, .. }, Some(InputSource::Param(p))) if p == param => {
                stmt.rhs = Rhs::Zero
            }
            _ => {}
        }
    }
    ssa.checks.clear();
    ssa.stmts.iter_mut().for_each(|s| s.needs.clear());
    ssa.needs.clear();
    move_sum_names(&mut ssa);
    Ok(Some(ssa))
}

/// Returns whether the seed is 1. If the result is not a single real number, the seed is a
/// parameter.
fn has_unit_seed(
    module: &dyn CalleeForms,
    callee: &Arc<FunctionKey>,
    entry: &ShownDerivative,
) -> Result<bool, NotShownReason> {
    Ok(match entry {
        ShownDerivative::Partials => true,
        ShownDerivative::Cotangent { .. } | ShownDerivative::Value(_) => false,
        ShownDerivative::Gradient { .. } => {
            is_real_scalar(&module.stages(callee).map_err(NotShownReason::NoCoreForm)?.ssa.result)
        }
    })
}

/// Returns whether it is the type of a real number.
fn is_real_scalar(ty: &CoreType) -> bool {
    matches!(ty, CoreType::Scalar(s) if is_real(Some(*s)))
}

/// Returns `x_adj[i]` for `x[i]`.
fn adjoint_label(part: &str) -> String {
    let end = part.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(part.len());
    let (name, rest) = part.split_at(end);
    format!("{name}_adj{rest}")
}

/// Moves the name of a sum to its only term that is not zero.
fn move_sum_names(ssa: &mut SsaFunction) {
    for k in 0..ssa.stmts.len() {
        let Some(Statement { name: Some(name), rhs: Rhs::Add(terms), dims, .. }) = ssa.stmts.get(k) else { continue };
        let is_zero = |of: &TensorAccess| ssa.stmts.get(of.var.0 as usize).is_some_and(|s| s.rhs == Rhs::Zero);
        let mut others = terms.iter().filter(|t| !is_zero(&t.operand));
        let own: Vec<Poly> = (0..).zip(dims).map(|(k, n)| statement_index(k, n).value()).collect();
        let (Some(one), None) =
            (others.next().filter(|t| t.pred.is_true() && !t.neg && t.operand.at == own), others.next())
        else {
            continue;
        };
        let (of, name) = (one.operand.var.0 as usize, name.clone());
        if ssa.stmts.get(of).is_some_and(|of| of.name.is_none() && of.dims == *dims) {
            ssa.stmts.iter_mut().skip(of).take(1).for_each(|of| of.name = Some(name.clone()));
            ssa.stmts.iter_mut().skip(k).take(1).for_each(|sum| sum.name = None);
        }
    }
}

fn entries_of_cases(
    request: &PrintRequest<'_>,
    entry: &ShownDerivative,
    around: ExpressionContext<'_>,
) -> Result<Vec<Entries>, NotShownReason> {
    let mut head = entry_signature(request, entry);
    let mut wanted = (**request.derivative_ssa).clone();
    match entry {
        ShownDerivative::Value(parts) => {
            let is_told = |path: &[u32]| parts.iter().any(|part| part.matches_path(&request.stages.ssa.result, path));
            wanted.outputs.retain(|(leaf, _)| is_told(&leaf.path));
        }
        _ => wanted.outputs = request.result_leaves(&head)?,
    }
    let parts = wanted.outputs.len();
    let _ = lang_opt::dce::eliminate_dead_code(&mut wanted);
    named_results_to_inputs(&mut wanted, &mut head, &around.scope_variables);
    let argument_names =
        request.bodies.body(request.def).map(|body| ArgumentNames::from_body(&body)).unwrap_or_default();
    let plain = read_lines(&wanted, &mut StatementFacts::default())?;
    let cases =
        constructor_cases(request, &head, &wanted, &plain, &argument_names, (&around.scope_variables, MAX_CASES));
    let refutable = refutable_parameters(&head, &cases);
    let of = EntryRequest {
        request,
        entry,
        head: &head,
        wanted: &wanted,
        parts,
        argument_names: &argument_names,
        refutable: &refutable,
    };
    let mut case_entries = Vec::new();
    for case in &cases {
        case_entries.extend(of.entries_of_case(case, &around)?);
        if has_too_many_cases(&case_entries) {
            return Err(NotShownReason::TooManyParts);
        }
    }
    group_equal_cases(&case_entries)
}

/// The request, which is answered case by case.
struct EntryRequest<'a> {
    request: &'a PrintRequest<'a>,
    entry: &'a ShownDerivative,
    head: &'a DerivativeSignature,
    wanted: &'a SsaFunction,
    parts: usize,
    argument_names: &'a ArgumentNames,
    /// The parameters with several ways.
    refutable: &'a [cases::ParameterRef],
}

impl EntryRequest<'_> {
    /// Returns the entries of a case, or `None` if the case is impossible.
    fn entries_of_case(
        &self,
        case: &ConstructorCase,
        around: &ExpressionContext<'_>,
    ) -> Result<Option<group_cases::CaseEntries>, NotShownReason> {
        let Self { request, entry, head, wanted, argument_names, .. } = *self;
        let facts = match entry {
            ShownDerivative::Partials | ShownDerivative::Value(_) => (around.index_facts)(wanted, &[]),
            ShownDerivative::Cotangent { .. } | ShownDerivative::Gradient { .. } => Vec::new(),
        };
        let Some((mut writer, ssa, live)) =
            prepare_writer(request, head, wanted, self.parts, case, argument_names, &facts)?
        else {
            return Ok(None);
        };
        around.scope_variables.iter().for_each(|seen| writer.used_names.mark_used(&seen.name));
        around.indices.iter().for_each(|name| writer.used_names.mark_used(name));
        writer.reader = Some(EntryReader {
            scope_variables: around.scope_variables.clone(),
            has_unit_seed: head.additional_parameters.is_empty(),
        });
        let mut lets = writer.print_lets(head, &ssa, &live, case)?;
        let mut all = match entry {
            ShownDerivative::Value(parts) => writer.value_entries(head, &ssa, parts, around)?,
            ShownDerivative::Gradient { .. } if head.additional_parameters.is_empty() => {
                writer.parameter_entries(head, &ssa, case, around, &|of| format!("∇{of}"))?
            }
            ShownDerivative::Gradient { .. } => writer.parameter_entries(head, &ssa, case, around, &adjoint_label)?,
            ShownDerivative::Partials | ShownDerivative::Cotangent { .. } => {
                writer.parameter_entries(head, &ssa, case, around, &str::to_owned)?
            }
        };
        lets = merge_equal_lets(lets, &mut all);
        lets = mentioned_lets(
            &lets,
            all.iter().flat_map(|derivative_entry| [derivative_entry.variable.as_str(), &derivative_entry.value]),
        );
        if let Some(why) = writer.failure {
            return Err(why.into());
        }
        let texts = lets
            .iter()
            .chain(all.iter().flat_map(|derivative_entry| [&derivative_entry.variable, &derivative_entry.value]));
        let mut used: HashSet<String> = texts.flat_map(|text| names_in_text(text)).collect();
        let words = |used: &HashSet<String>| {
            case.constructor_conditions(request, head, used, self.refutable).ok_or(NoTextReason::UnimportedName)
        };
        let (words, ways) = (words(&used)?, words(&HashSet::new())?);
        used.retain(|name| !around.scope_variables.iter().any(|seen| seen.name == **name));
        let (_, first) =
            case.destructure_parameters(request, head, &used, self.refutable).ok_or(NoTextReason::UnimportedName)?;
        lets.splice(0..0, first);
        let has = |name: &Name| {
            let texts = lets.iter().chain(all.iter().map(|derivative_entry| &derivative_entry.value));
            texts.flat_map(|text| names_in_text(text)).any(|word| word == name.as_str())
        };
        let cotangent =
            head.additional_parameters.iter().find(|(of, _)| of.is_none()).map(|(_, p)| p.value.name.clone());
        let whose = match entry {
            ShownDerivative::Cotangent { owner: whose, .. } => whose.clone(),
            ShownDerivative::Partials | ShownDerivative::Gradient { .. } | ShownDerivative::Value(_) => {
                ResultOwner::Definition
            }
        };
        let cotangent = cotangent.filter(has).map(|name| (name, whose));
        let entries = Entries {
            lets,
            entries: all,
            expression_part: String::new(),
            case: None,
            cotangent,
            renamed_variables: Vec::new(),
        };
        Ok(Some(group_cases::CaseEntries { entries, conditions: words, unnamed_conditions: ways }))
    }
}

/// Turns results of loops, updates and sorts into parameters if the reader sees them by name.
fn named_results_to_inputs(ssa: &mut SsaFunction, head: &mut DerivativeSignature, seen: &[ScopeVariable]) {
    let is_seen =
        |s: &Statement| seen.iter().any(|seen| Some(&seen.name) == s.name.as_ref() && seen.rank == s.dims.len());
    let once = |s: &Statement| ssa.stmts.iter().filter(|other| other.name == s.name && is_seen(other)).count() == 1;
    let is_made = |s: &Statement| matches!(s.rhs, Rhs::LoopResult(..) | Rhs::Update { .. } | Rhs::Argsort(_));
    let found = (0..ssa.stmts.len()).filter(|k| ssa.stmts.get(*k).is_some_and(|s| is_made(s) && is_seen(s) && once(s)));
    for k in found.collect::<Vec<_>>() {
        let Some(Statement { name: Some(name), scalar: Some(scalar), dims, .. }) = ssa.stmts.get(k).cloned() else {
            continue;
        };
        let (Ok(param), Ok(input)) = (u32::try_from(head.primal_parameters.len()), u32::try_from(ssa.inputs.len()))
        else {
            continue;
        };
        let ty = CoreType::Scalar(scalar).with_extents(dims.iter().cloned());
        let Some(leaf) = ty.leaves().into_iter().next() else { continue };
        let local = StmtId(u32::try_from(k).unwrap_or(u32::MAX)).local();
        ssa.inputs.push(FunctionInput { local, source: InputSource::Param(param), leaf });
        head.primal_parameters.push(SignatureParameter { value: NamedValue { name, ty }, type_text: String::new() });
        ssa.stmts.iter_mut().skip(k).take(1).for_each(|s| s.rhs = Rhs::Input(input));
    }
    let _ = lang_opt::dce::eliminate_dead_code(ssa);
}

/// Returns the parameters, and the results whose entries are shown.
fn entry_signature(request: &PrintRequest<'_>, entry: &ShownDerivative) -> DerivativeSignature {
    let ssa = &request.stages.ssa;
    let param = |(local, ty): &(_, _)| SignatureParameter {
        value: NamedValue { name: ssa.vars.name(*local), ty: Clone::clone(ty) },
        type_text: String::new(),
    };
    let own: Vec<SignatureParameter> = ssa.params.iter().map(param).collect();
    let result = |(k, p): (usize, &SignatureParameter)| (Some(k), tangent_core_type(&p.value.ty), String::new());
    let all = own.iter().enumerate();
    match entry {
        ShownDerivative::Partials => {
            let results = all.filter(|(_, p)| has_real(&p.value.ty)).map(result).collect();
            DerivativeSignature { primal_parameters: own, additional_parameters: Vec::new(), results }
        }
        ShownDerivative::Value(_) => DerivativeSignature {
            primal_parameters: own,
            additional_parameters: Vec::new(),
            results: vec![(None, ssa.result.clone(), String::new())],
        },
        ShownDerivative::Gradient { param } => {
            let results = all.filter(|(k, _)| *k == *param as usize).map(result).collect();
            let mut beside = Vec::new();
            if !is_real_scalar(&ssa.result) {
                let name = request.result_cotangent_name(None, &|name| own.iter().any(|p| p.value.name == name));
                let base = NamedValue { name, ty: tangent_core_type(&ssa.result) };
                beside.push((None, SignatureParameter { value: base, type_text: String::new() }));
            }
            DerivativeSignature { primal_parameters: own, additional_parameters: beside, results }
        }
        ShownDerivative::Cotangent { param, owner: whose } => {
            let results = all.filter(|(k, _)| *k == *param as usize).map(result).collect();
            let carried = match whose {
                ResultOwner::Iteration(carried) if is_name(carried) => Some(carried.as_str()),
                _ => None,
            };
            let name = request.result_cotangent_name(carried, &|name| own.iter().any(|p| p.value.name == name));
            let base = NamedValue { name, ty: tangent_core_type(&ssa.result) };
            let beside = vec![(None, SignatureParameter { value: base, type_text: String::new() })];
            DerivativeSignature { primal_parameters: own, additional_parameters: beside, results }
        }
    }
}

/// A printer of an entry's label and value at its indices.
type PrintEntryFn<'w, 'a> = dyn Fn(&mut BodyWriter<'w>, &[Poly], &SourceExpr) -> (String, String) + 'a;

impl<'w> BodyWriter<'w> {
    fn parameter_entries(
        &mut self,
        head: &DerivativeSignature,
        ssa: &SsaFunction,
        case: &ConstructorCase,
        around: &ExpressionContext<'_>,
        called: &dyn Fn(&str) -> String,
    ) -> Result<Vec<DerivativeEntry>, NoTextReason> {
        let begins = (around.index_starts)(ssa).ok_or(NoTextReason::Loop)?;
        let known: &dyn Fn(&[Poly]) -> Vec<Pred> = &|at| (around.index_facts)(ssa, at);
        let mut output_vars = ssa.outputs.iter().map(|(_, v)| *v);
        let mut all = Vec::new();
        for (of, ty, _) in &head.results {
            let (param, base) =
                of.and_then(|k| Some((k, &head.primal_parameters.get(k)?.value))).ok_or(NoTextReason::InternalError)?;
            for leaf in ty.leaves() {
                if is_sole_constructor_tag(ty, &leaf.path) {
                    continue;
                }
                let v = output_vars.next().ok_or(NoTextReason::InternalError)?;
                if !is_real(leaf.scalar) {
                    continue;
                }
                let (base, path) = match case.leaf_role(param, &leaf.path) {
                    Some(constructor_patterns::LeafRole::Part(base, path)) => (base, path),
                    Some(constructor_patterns::LeafRole::Tag(_) | constructor_patterns::LeafRole::OtherConstructor) => {
                        continue;
                    }
                    None => (base.clone(), leaf.path),
                };
                let around = (around.indices, begins.as_slice());
                let hints = |this: &Self, k: usize| this.axis_name_hint(&base.name, k);
                let print_entry = |this: &mut Self, at: &[Poly], e: &SourceExpr| {
                    let (of, value) = this.print_entry(&base, &path, at, e);
                    (called(&of), value)
                };
                all.extend(self.leaf_entries(v, around, known, &hints, &print_entry));
            }
        }
        Ok(all)
    }

    /// Returns the entries of the real parts of the value.
    fn value_entries(
        &mut self,
        head: &DerivativeSignature,
        ssa: &SsaFunction,
        parts: &[ValuePart],
        around: &ExpressionContext<'_>,
    ) -> Result<Vec<DerivativeEntry>, NoTextReason> {
        let known: &dyn Fn(&[Poly]) -> Vec<Pred> = &|at| (around.index_facts)(ssa, at);
        let mut all = Vec::new();
        for (leaf, v) in &ssa.outputs {
            let part = parts
                .iter()
                .find(|part| part.matches_path(&self.request.stages.ssa.result, &leaf.path))
                .ok_or(NoTextReason::InternalError)?;
            let is_own = |name: &Name| head.primal_parameters.iter().any(|p| p.value.name == *name);
            let hints = |this: &Self, k: usize| {
                let (name, axis) = part.axes.get(k)?.as_ref().filter(|(name, _)| is_own(name))?;
                this.axis_name_hint(name, *axis)
            };
            let print_entry = |this: &mut Self, at: &[Poly], e: &SourceExpr| {
                let mut label = part.label.iter();
                let mut of = label.next().cloned().unwrap_or_default();
                for (p, text) in at.iter().zip(label) {
                    of += &strip_outer_parentheses(this.print_polynomial(p).0);
                    of += text;
                }
                (of, this.print_with_matches(e))
            };
            all.extend(self.leaf_entries(*v, (&[], &[]), known, &hints, &print_entry));
        }
        Ok(all)
    }

    /// Prints an entry's label and value. A leaf inside an element of a sum type has a label with
    /// the constructor: `r where s[i] is Circle(r)`.
    fn print_entry(&mut self, base: &NamedValue, path: &[u32], at: &[Poly], e: &SourceExpr) -> (String, String) {
        let (site, rest) = match self.locate_part(base, path, at) {
            PartLocation::InsideSumType(site, rest, _) => (site, rest),
            PartLocation::Part(base, path, at) => {
                let at: Vec<String> = at.iter().map(|p| strip_outer_parentheses(self.print_polynomial(p).0)).collect();
                return (print_part(&base, &path, &at), self.print_with_matches(e));
            }
            PartLocation::KnownTag(_) | PartLocation::OtherConstructor => {
                self.failure = Some(NoTextReason::InternalError);
                return (String::new(), String::new());
            }
        };
        let constructor = rest.first().and_then(|k| usize::try_from(*k).ok()?.checked_sub(1));
        let whole = self.site_text(&site);
        let printed = constructor.and_then(|k| {
            self.print_under_constructor(&site, k, &mut |this| {
                let e = this.propagate_known_constructors(e);
                let (of, value) = this.print_entry(base, path, at, &e);
                // One text, because the pattern must bind the names of both.
                Some(format!("{of}\n{value}"))
            })
        });
        let Some((pattern, (of, value))) =
            printed.as_ref().and_then(|(pattern, both)| Some((pattern, both.split_once('\n')?)))
        else {
            self.failure = Some(NoTextReason::UnimportedName);
            return (String::new(), String::new());
        };
        let join = if of.contains(LABEL_SEPARATOR) { ", " } else { LABEL_SEPARATOR };
        (format!("{of}{join}{whole} is {pattern}"), value.to_owned())
    }

    /// Returns the entries of one leaf of a parameter, which the statement `v` holds. The first
    /// indices are those around the expression, each with its start. Equations for them stay,
    /// because the entry is shown at their current values.
    fn leaf_entries(
        &mut self,
        v: StmtId,
        (names, begins): (&[Name], &[Poly]),
        known: &dyn Fn(&[Poly]) -> Vec<Pred>,
        hints: &dyn Fn(&Self, usize) -> Option<Name>,
        print_entry: &PrintEntryFn<'w, '_>,
    ) -> Vec<DerivativeEntry> {
        let (own, e) = (self.indices_of(v), self.result_expression(v));
        // Unnamed lines are inlined, so that the facts at this place simplify them.
        let unnamed = |v: StmtId| self.lines.get(v.0 as usize).filter(|_| !self.read_sources.contains_key(&v)).cloned();
        let e = substitute_lines(&e, &unnamed, &mut self.facts);
        let mut all = Vec::new();
        let from_begin = |a: &Atom| {
            let k = own.iter().position(|i| i.atom() == *a)?;
            let begin = begins.get(k).filter(|begin| **begin != Poly::default())?;
            Some(Poly::atom(a.clone()).sub(begin))
        };
        let e = e.map_polys(&|p| p.substitute(&from_begin));
        let mut found = group_terms_by_location(&own, names.len(), e.clone());
        // If an array has entries at several places, one entry covers them all, and its terms state
        // their places.
        if found.len() > 1 {
            found = vec![(own.iter().map(Index::value).collect(), vec![(false, Pred::truth(), e)])];
        }
        for (at, terms) in found {
            let (mark, depth) = (self.context.mark(), self.scope.len());
            for (k, i) in own.iter().enumerate() {
                if let Some(name) = names.get(k) {
                    self.scope.push((i.local, name.clone()));
                } else if at.get(k) == Some(&i.value()) {
                    let hint = hints(self, k);
                    let name = self.used_names.fresh_index(hint.as_ref());
                    self.scope.push((i.local, name));
                }
                if begins.get(k).is_none_or(|begin| *begin == Poly::default()) {
                    self.context.assume_in_range(i);
                }
            }
            known(&at).iter().for_each(|p| self.context.assume(p));
            let terms = terms.into_iter().map(|(neg, p, e)| (neg, SourceExpr::guard(p, e)));
            let e = simplify_to_fixpoint(SourceExpr::sum(terms.collect()), &mut self.context, &mut self.facts);
            if e.as_real() != Some(0.0) {
                let (of, value) = print_entry(self, &at, &e);
                let at = at.iter().map(|p| strip_outer_parentheses(self.print_polynomial(p).0)).collect();
                all.push(DerivativeEntry { variable: of, indices: at, value });
            }
            self.context.release(mark);
            self.leave_scope(depth);
            names.iter().for_each(|name| self.used_names.mark_used(name));
        }
        all
    }
}

/// The text between a label and its constructor.
const LABEL_SEPARATOR: &str = " where ";

/// Returns whether the text is one name, not a pattern.
fn is_name(text: &str) -> bool {
    text != "_" && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Removes parentheses around the whole text.
fn strip_outer_parentheses(text: String) -> String {
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let mut depth = 0_i32;
    let closed = |inner: &str| {
        inner.chars().all(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth >= 0
        })
    };
    match inner.map(closed) {
        Some(true) => inner.unwrap_or_default().to_owned(),
        _ => text,
    }
}

/// A term: whether it is subtracted, its predicate, its value.
type GuardedEntry = (bool, Pred, SourceExpr);

/// Groups the terms of an element by the places that equations determine, for all indices but the
/// first ones.
fn group_terms_by_location(own: &[Index], first: usize, e: SourceExpr) -> Vec<(Vec<Poly>, Vec<GuardedEntry>)> {
    let terms = if let SourceExpr::Sum(terms) = e { terms } else { vec![(false, e)] };
    let mut all: Vec<(Vec<Poly>, Vec<GuardedEntry>)> = Vec::new();
    for (neg, e) in terms {
        let (mut pred, mut e) = if let SourceExpr::Guard(p, e) = e { (p, *e) } else { (Pred::truth(), e) };
        let mut at: Vec<Poly> = own.iter().map(Index::value).collect();
        for i in own.iter().skip(first) {
            let atom = i.atom();
            let Some(is) = pred.solve_for(&atom) else { continue };
            if own.iter().any(|j| is.mentions(&j.atom())) {
                continue;
            }
            let put = |p: &Poly| p.substitute(&|a| (*a == atom).then(|| is.clone()));
            pred = pred.map(&put);
            e = e.map_polys(&put);
            at.iter_mut().for_each(|p| *p = put(p));
        }
        match all.iter_mut().find(|(known, _)| *known == at) {
            Some((_, terms)) => terms.push((neg, pred, e)),
            None => all.push((at, vec![(neg, pred, e)])),
        }
    }
    all
}
