//! **Inlining of batched calls**, such as a Jacobian for each element of an array. The callee's
//! statements replace the call, so that they share loops and their elements need no memory.
//! [`inline`](super::inline) also limits the length of inlined functions when it builds their form;
//! its limit concerns the size of the text.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::invariant_axes::{remove_invariant_axes, remove_resultless_producers};
use super::kernel_statements::has_reads;
use super::redundant_guards::remove_redundant_guards;
use super::rewriter::Rewritten;
use super::splice::Splicer;
use lang_base::ensure_sufficient_stack;
use lang_ir::core::FunctionKey;
use lang_ir::ssa::{Rhs, SsaFunction, StmtId, TensorAccess, statement_index, union_of_checks};
use lang_sizes::predicate::Poly;

/// Returns the form of a callee.
pub type InlineCallees<'c> = &'c dyn Fn(&Arc<FunctionKey>) -> Option<Arc<SsaFunction>>;

/// The maximum length of the result, because the time of loop fusion grows faster than the number
/// of statements.
const MAX_INLINED_STMTS: usize = 600;

/// The maximum nesting depth of calls.
const MAX_CALL_DEPTH: usize = 16;

/// Inlines the batched calls of a function. An inlined statement implements its call.
pub(crate) fn run(ssa: &SsaFunction, callees: InlineCallees<'_>) -> Option<Rewritten> {
    let mut pass = CallInlining { callees, call_free_forms: HashMap::new() };
    let mut inlined: Option<SsaFunction> = None;
    let mut made_of: Vec<StmtId> = (0..).map(StmtId).take(ssa.stmts.len()).collect();
    for k in (0..).take(ssa.stmts.len()) {
        let now = inlined.as_ref().unwrap_or(ssa);
        if let Some(stmt) = now.stmts.get(k as usize)
            && matches!(stmt.rhs, Rhs::Call { .. })
            && !stmt.dims.is_empty()
        {
            inlined = pass.inline_call(now, StmtId(k), MAX_CALL_DEPTH).or(inlined);
            made_of.resize(inlined.as_ref().map_or(made_of.len(), |function| function.stmts.len()), StmtId(k));
        }
    }
    Some(Rewritten::finish(inlined?, &made_of, &BTreeSet::new()))
}

struct CallInlining<'c> {
    callees: InlineCallees<'c>,
    /// The call-free forms of callees; `None` if some call cannot be inlined.
    call_free_forms: HashMap<Arc<FunctionKey>, Option<Arc<SsaFunction>>>,
}

impl CallInlining<'_> {
    /// Returns the call-free form of a callee. Results are cached, because the call graph may have
    /// more paths than functions.
    fn call_free_form(&mut self, callee: &Arc<FunctionKey>, deepest: usize) -> Option<Arc<SsaFunction>> {
        if let Some(known) = self.call_free_forms.get(callee) {
            return known.clone();
        }
        let form = ensure_sufficient_stack(|| self.inline_nested_calls(callee, deepest));
        self.call_free_forms.insert(Arc::clone(callee), form.clone());
        form
    }

    fn inline_nested_calls(&mut self, callee: &Arc<FunctionKey>, deepest: usize) -> Option<Arc<SsaFunction>> {
        let body = (self.callees)(callee).filter(|body| !body.is_opaque)?;
        let mut inlined: Option<SsaFunction> = None;
        for k in (0..).take(body.stmts.len()) {
            let now = inlined.as_ref().unwrap_or(&body);
            if matches!(now.stmts.get(k as usize)?.rhs, Rhs::Call { .. }) {
                inlined = Some(self.inline_call(now, StmtId(k), deepest)?);
            }
        }
        let body = match inlined {
            Some(function) => Arc::new(Rewritten::of(function).ssa),
            None => body,
        };
        let body = remove_redundant_guards(&body).map_or(body, Arc::new);
        Some(remove_invariant_axes(&body).map_or(body, Arc::new))
    }

    /// Inlines the callee of this call.
    fn inline_call(&mut self, ssa: &SsaFunction, producer: StmtId, deepest: usize) -> Option<SsaFunction> {
        let call = ssa.stmts.get(producer.0 as usize)?;
        let Rhs::Call { callee, sizes, .. } = &call.rhs else { return None };
        if call.dims.iter().chain(sizes).any(has_reads) {
            return None;
        }
        let body = self.call_free_form(callee, deepest.checked_sub(1)?)?;
        splice_callee(ssa, producer, &body)
    }
}

/// Replaces the results of a call by the statements of a body.
fn splice_callee(ssa: &SsaFunction, producer: StmtId, body: &SsaFunction) -> Option<SsaFunction> {
    let call = ssa.stmts.get(producer.0 as usize)?;
    let around = call.dims.as_slice();
    let Rhs::Call { sizes, pred, args, .. } = &call.rhs else { return None };
    if ssa.stmts.len() + body.stmts.len() > MAX_INLINED_STMTS {
        return None;
    }
    let mut inside = Splicer::new(ssa, body, sizes, around.to_vec());
    inside.enclosing_guard = pred.clone();
    // Arguments match the inputs in order, except inputs that are visible everywhere.
    let mut passed = args.iter();
    let mut inputs: Vec<Option<&TensorAccess>> = Vec::new();
    for input in &body.inputs {
        let arg = if input.source.is_passed() { Some(passed.next()?) } else { None };
        if let Some(arg) = arg {
            inside.bind_integer(input, arg)?;
        }
        inputs.push(arg);
    }
    for stmt in &body.stmts {
        let there = match &stmt.rhs {
            Rhs::Input(k) => (*inputs.get(*k as usize)?)?.clone(),
            _ => inside.splice_stmt(body, stmt)?.0,
        };
        inside.substitution.vars.push(there);
    }
    let mut whole = call.needs.clone();
    for check in &body.needs {
        whole.push(inside.splice_check(body, *check)?);
    }
    for k in 0..inside.first_new_stmt {
        let stmt = inside.ssa.stmts.get(k)?;
        let Rhs::CallResult(of, output) = stmt.rhs else { continue };
        if of != producer {
            continue;
        }
        let (_, output) = body.outputs.get(output as usize)?;
        let own = (around.len()..stmt.dims.len()).map(|k| statement_index(k, &Poly::default()).value()).collect();
        let of = inside.substitution.map_access_at(*output, own);
        let needs = union_of_checks(&stmt.needs, &whole);
        let rhs = Rhs::Contract { bound: Vec::new(), pred: pred.clone(), neg: false, factors: vec![of] };
        let slot = inside.ssa.stmts.get_mut(k)?;
        slot.rhs = rhs;
        slot.needs = needs;
    }
    remove_resultless_producers(&mut inside.ssa);
    Some(inside.ssa)
}
