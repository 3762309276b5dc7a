//! **Offload policy.** Chooses the calls and loops to offload to compiled code
//! ([`super::offload`]): those that may be long.
//!
//! The interpreter evaluates a short expression itself. It also evaluates a `loop` with short
//! steps, unless machine code runs the whole loop. Otherwise each step costs as much in the engine
//! as about a hundred operations on scalars.

use std::collections::HashMap;
use std::sync::Arc;

use super::Interp;
use lang_base::GlobalName;
use lang_base::ensure_sufficient_stack;
use lang_runtime::code::{LocalFrame, Program, RunnableBody};
use lang_runtime::failure::InterpResult;
use lang_runtime::{OffloadOutcome, OffloadRequest, Value, find_in_value};
use lang_sizes::predicate::Poly;
use lang_types::tree::{Callee, TypedBody, TypedExpr, TypedId, TypedIndexRange};
use lang_types::ty::Type;

/// Memoised facts about expressions that may be offloaded.
#[derive(Default)]
pub(super) struct OffloadPolicy {
    /// Whether the interpreter offloads expressions at all.
    pub(super) is_enabled: bool,
    candidates: HashMap<(usize, TypedId), OffloadCandidate>,
    /// The contents of definitions. A definition under analysis has the default entry, which ends
    /// recursion.
    definition_work: HashMap<GlobalName, ContainedWork>,
}

/// The facts about one expression that may be offloaded.
struct OffloadCandidate {
    /// The body, which must stay alive because its address is part of the key.
    _body: Arc<TypedBody>,
    /// Whether its text alone shows that it may be long.
    may_be_long: bool,
    /// The extents, if the work is proportional to the number of elements.
    flat_extents: Option<Vec<Poly>>,
    /// Whether to evaluate it here always, because it has no compiled form.
    is_declined: bool,
    /// Whether it contains a `loop` with short steps.
    has_short_steps: bool,
}

/// The kinds of work in an expression and in all that it calls.
#[derive(Clone, Copy, Default)]
struct ContainedWork {
    /// Whether it works on whole arrays.
    has_array_work: bool,
    /// Whether it contains a `loop` whose steps do not work on whole arrays.
    has_short_steps: bool,
}

/// The number of elements or steps below which the interpreter evaluates an expression itself.
const MIN_OFFLOAD_SIZE: usize = 32;

impl Interp<'_> {
    /// Offloads an expression. Returns its value, or `None` if the interpreter must evaluate it.
    #[inline]
    pub(super) fn try_offload_expression(
        &mut self,
        code: &Arc<RunnableBody>,
        frame: &LocalFrame,
        node: TypedId,
    ) -> InterpResult<Option<Value>> {
        if !self.offload_policy.is_enabled || self.dual_run_depth > 0 || self.is_counting || self.traps_nan {
            return Ok(None);
        }
        self.try_offload_candidate(code, frame, node)
    }

    #[inline(never)]
    fn try_offload_candidate(
        &mut self,
        code: &Arc<RunnableBody>,
        frame: &LocalFrame,
        node: TypedId,
    ) -> InterpResult<Option<Value>> {
        let key = (Arc::as_ptr(code.body()).addr(), node);
        let OffloadPolicy { candidates: known, definition_work: definitions, .. } = &mut self.offload_policy;
        let region = known.entry(key).or_insert_with(|| {
            let body = Arc::clone(code.body());
            let mut look = WorkAnalysis { program: self.program, definition_work: definitions };
            // No other evaluator represents relations.
            let refused = matches!(body.nodes[node].ty, Type::Rel(_));
            let short_steps = look.work_in_expression(&body, node).has_short_steps;
            let flat = look.flat_extents(&body, node);
            OffloadCandidate {
                may_be_long: may_be_long(&body, node),
                _body: body,
                flat_extents: flat,
                is_declined: refused,
                has_short_steps: short_steps,
            }
        });
        if region.is_declined || !region.may_be_long && !frame.slots.iter().flatten().any(is_large_value) {
            return Ok(None);
        }
        let short_steps = region.has_short_steps;
        let at = code.site(code.body().nodes[node].span);
        if let Some(extents) = region.flat_extents.clone() {
            let mut elements = 1_usize;
            for extent in &extents {
                // Evaluation reports the failure.
                let Ok(extent) = self.eval_size(at, frame, extent) else { return Ok(None) };
                elements = elements.saturating_mul(usize::try_from(extent).unwrap_or(0));
            }
            if elements < MIN_OFFLOAD_SIZE {
                return Ok(None);
            }
        }
        let request = OffloadRequest::Expression { code, frame, node, has_short_steps: short_steps };
        match self.request_offload(at, &request)? {
            OffloadOutcome::Value(value) => return Ok(Some(value)),
            OffloadOutcome::Unsupported => {
                self.offload_policy.candidates.get_mut(&key).into_iter().for_each(|region| region.is_declined = true)
            }
            _ => {}
        }
        Ok(None)
    }
}

/// An analysis of the work in expressions, memoised for definitions.
struct WorkAnalysis<'l> {
    program: &'l dyn Program,
    definition_work: &'l mut HashMap<GlobalName, ContainedWork>,
}

impl WorkAnalysis<'_> {
    fn work_in_definition(&mut self, name: &GlobalName) -> ContainedWork {
        if let Some(known) = self.definition_work.get(name) {
            return *known;
        }
        self.definition_work.insert(name.clone(), ContainedWork::default());
        let body = self.program.body(name);
        let inside = body
            .and_then(|body| body.root.map(|root| ensure_sufficient_stack(|| self.work_in_expression(&body, root))));
        let inside = inside.unwrap_or_default();
        self.definition_work.insert(name.clone(), inside);
        inside
    }

    /// Returns the extents of a binder whose filter and body do no work on whole arrays.
    fn flat_extents(&mut self, body: &TypedBody, node: TypedId) -> Option<Vec<Poly>> {
        let TypedExpr::Binder { vars, filter, body: inner, .. } = &body.nodes[node].kind else { return None };
        let arrays = filter.iter().chain([inner]).any(|part| self.work_in_expression(body, *part).has_array_work);
        let extents =
            vars.iter().map(|v| if let TypedIndexRange::Extent(n) = &v.range { Some(n.clone()) } else { None });
        extents.collect::<Option<_>>().filter(|_| !arrays)
    }

    fn work_in_expression(&mut self, body: &TypedBody, root: TypedId) -> ContainedWork {
        let mut all = ContainedWork::default();
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            let node = &body.nodes[id];
            match &node.kind {
                // Derivatives are offloaded in any case.
                TypedExpr::Binder { .. } | TypedExpr::Form(..) => all.has_array_work = true,
                TypedExpr::Call { callee: Callee::Def(name, _), .. } => {
                    let called = self.work_in_definition(name);
                    all.has_array_work |= called.has_array_work;
                    all.has_short_steps |= called.has_short_steps;
                }
                TypedExpr::Fold { .. } | TypedExpr::Loop { .. } => {
                    let steps = step_parts(&node.kind);
                    let inside = self.work_in_steps(body, &steps);
                    all.has_array_work |= inside.has_array_work;
                    let short = !inside.has_array_work && matches!(node.kind, TypedExpr::Loop { .. });
                    all.has_short_steps |= inside.has_short_steps || short;
                    node.kind.for_each_child(&body.nodes, &mut |child| {
                        if !steps.contains(&Some(child)) {
                            open.push(child);
                        }
                    });
                }
                TypedExpr::Arith(..) | TypedExpr::Scalar(..) | TypedExpr::With(..) => {
                    all.has_array_work |= matches!(node.ty, Type::Array(..))
                }
                _ => {}
            }
            if !matches!(node.kind, TypedExpr::Form(..) | TypedExpr::Fold { .. } | TypedExpr::Loop { .. }) {
                node.kind.for_each_child(&body.nodes, &mut |child| open.push(child));
            }
        }
        all
    }

    /// Returns the work in one step of a loop, which evaluates these parts.
    fn work_in_steps(&mut self, body: &TypedBody, parts: &[Option<TypedId>]) -> ContainedWork {
        let parts = parts.iter().flatten().map(|part| ensure_sufficient_stack(|| self.work_in_expression(body, *part)));
        parts.fold(ContainedWork::default(), |all, part| ContainedWork {
            has_array_work: all.has_array_work || part.has_array_work,
            has_short_steps: all.has_short_steps || part.has_short_steps,
        })
    }
}

/// Returns the parts of a loop that each step evaluates.
fn step_parts(of: &TypedExpr) -> [Option<TypedId>; 2] {
    match of {
        TypedExpr::Fold { body, yields, .. } => [Some(*body), *yields],
        TypedExpr::Loop { cond, body, .. } => [Some(*cond), Some(*body)],
        _ => [None, None],
    }
}

/// Returns whether an expression contains an integer literal of at least [`MIN_OFFLOAD_SIZE`], or
/// the value of a top-level `let`.
fn may_be_long(body: &TypedBody, root: TypedId) -> bool {
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        match &body.nodes[id].kind {
            TypedExpr::Global(_) => return true,
            TypedExpr::Int(n) if usize::try_from(*n).is_ok_and(|n| n >= MIN_OFFLOAD_SIZE) => return true,
            kind => kind.for_each_child(&body.nodes, &mut |child| open.push(child)),
        }
    }
    false
}

/// Returns whether a value is, or contains, an array of at least [`MIN_OFFLOAD_SIZE`] elements or
/// an integer of at least [`MIN_OFFLOAD_SIZE`], which may be a trip count.
fn is_large_value(value: &Value) -> bool {
    let many = |part: &Value| match part {
        Value::I64(n) => usize::try_from(*n).is_ok_and(|n| n >= MIN_OFFLOAD_SIZE),
        Value::Array(array) => array.count() >= MIN_OFFLOAD_SIZE,
        _ => false,
    };
    // The compiled evaluator cannot use a value of a recursive type.
    find_in_value(value, |part| many(part).then_some(())).is_ok_and(|found| found.is_some())
}
