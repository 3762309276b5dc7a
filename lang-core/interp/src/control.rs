//! **Control flow** beyond the paper: choices, folds and loops.
//!
//! In a fold's body and in its `yield`, the carry's pattern names the state before the step. The
//! carry is moved into its pattern, so a body that updates it works in place. A `scan` and a
//! `yield` copy arrays of scalars into the result, so the carry stays unshared.

use std::sync::Arc;

use super::Interp;
use super::array_builder::ArrayBuilder;
use super::binders::{IterationControl, ObservedExtents};
use lang_base::Code as ErrorCode;
use lang_runtime::code::{LocalFrame, RunnableBody};
use lang_runtime::failure::InterpResult;
use lang_runtime::last_use::LastUses;
use lang_runtime::progress::WorkKind;
use lang_types::tree::{TypedExpr, TypedId, TypedPattern};
use lang_types::ty::Type;

impl Interp<'_> {
    /// Evaluates `if`: conditions in order, then one branch.
    #[inline(never)]
    pub(super) fn eval_if(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        arms: &[(TypedId, TypedId)],
        last: TypedId,
    ) -> InterpResult {
        for (condition, e) in arms {
            if self.eval_condition(c, f, *condition)? {
                return self.eval_branch(c, f, *e);
            }
        }
        self.eval_branch(c, f, last)
    }

    /// Evaluates one of several branches. First drops the locals whose last use is in another
    /// branch.
    fn eval_branch(&mut self, c: &Arc<RunnableBody>, f: &mut LocalFrame, e: TypedId) -> InterpResult {
        let plan: &LastUses = &c.last_uses;
        for l in plan.dead_on_entry(e) {
            f.take(*l);
        }
        self.eval_tail(c, f, e)
    }

    /// Evaluates `match`: the first arm whose pattern matches.
    #[inline(never)]
    pub(super) fn eval_match(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        id: TypedId,
        e: TypedId,
        arms: &[(TypedPattern, TypedId)],
    ) -> InterpResult {
        let at = c.site(c.body.nodes[id].span);
        let value = self.eval(c, f, e)?;
        let ty = Some(&c.body.nodes[e].ty);
        for (pat, e) in arms {
            if self.matches(pat, &value, ty) {
                self.bind(at, f, pat, value, ty)?;
                return self.eval_branch(c, f, *e);
            }
        }
        Err(at.internal_error("no arm of a `match` matches"))
    }

    /// Evaluates `fold`, and `scan` over indices.
    #[inline(never)]
    pub(super) fn eval_fold(&mut self, c: &Arc<RunnableBody>, f: &mut LocalFrame, id: TypedId) -> InterpResult {
        let node = &c.body.nodes[id];
        let at = c.site(node.span);
        let TypedExpr::Fold { is_scan: scan, acc, init, vars, body, yields } = &node.kind else {
            return Err(at.internal_error("the expression is not a fold"));
        };
        let carry_type = Some(&c.body.nodes[*init].ty);
        let mut carry = Some(self.eval(c, f, *init)?);
        let mut states = ArrayBuilder::new(0);
        let mut outputs = ArrayBuilder::new(0);
        if *scan && let Some(state) = &carry {
            self.push_part(at, &mut states, state.clone())?;
        }
        // A loop nest that builds an array observes its extents, as `for` does.
        let mut extents =
            if *scan || yields.is_some() { ObservedExtents::for_array() } else { ObservedExtents::default() };
        self.visit_tuples(c, f, at, vars, &mut extents, &mut |this, f, _| {
            let before = carry.take().ok_or_else(|| at.internal_error("a fold has no carry"))?;
            this.bind(at, f, acc, before, carry_type)?;
            let after = this.eval(c, f, *body)?;
            if let Some(output) = yields {
                let output = this.eval(c, f, *output)?;
                this.push_part(at, &mut outputs, output)?;
            }
            if *scan {
                this.push_part(at, &mut states, after.clone())?;
            }
            carry = Some(after);
            Ok(IterationControl::Continue)
        })?;
        let mut result = carry.ok_or_else(|| at.internal_error("a fold has no carry"))?;
        let (state_type, output_type) = match (&node.ty, yields) {
            (Type::Tuple(parts), Some(_)) => (parts.first(), parts.get(1)),
            (ty, _) => (Some(ty), None),
        };
        if *scan {
            let n = states.part_count();
            result = self.finish_array(at, f, states, &[n], state_type.unwrap_or(&Type::Error))?;
        }
        match (yields, output_type) {
            (None, _) => Ok(result),
            (Some(_), Some(ty)) => {
                let outputs = self.finish_array(at, f, outputs, extents.observed(), ty)?;
                self.make_tuple(at, vec![result, outputs])
            }
            (Some(_), None) => Err(at.internal_error("the type of a fold with outputs is not a pair")),
        }
    }

    /// Evaluates `checkpoint k: …`: checks the spacing, then evaluates the loop.
    pub(super) fn eval_checkpoint(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        every: Option<TypedId>,
        of: TypedId,
    ) -> InterpResult {
        if let Some(every) = every {
            let at = c.site(c.body.nodes[every].span);
            let k = self.eval_i64(c, f, every)?;
            if k < 1 {
                let what = format!("the checkpoint spacing is {k}; it must be at least 1");
                let mut failure = at.fail(ErrorCode::E0511, what);
                failure.help = Some(
                    "`checkpoint 1:` keeps every state; `checkpoint:` chooses the spacing automatically".to_owned(),
                );
                return Err(failure);
            }
        }
        self.eval(c, f, of)
    }

    /// Evaluates `loop`, and `scan … while`. The condition reads the carry, which is the result if
    /// the condition is false. So the carry is bound twice: shared for the condition, then moved
    /// for the body.
    #[inline(never)]
    pub(super) fn eval_loop(&mut self, c: &Arc<RunnableBody>, f: &mut LocalFrame, id: TypedId) -> InterpResult {
        self.begin_work();
        let end = self.run_loop(c, f, id);
        self.end_work();
        end
    }

    fn run_loop(&mut self, c: &Arc<RunnableBody>, f: &mut LocalFrame, id: TypedId) -> InterpResult {
        let node = &c.body.nodes[id];
        let at = c.site(node.span);
        let TypedExpr::Loop { is_scan: scan, acc, init, cond, body } = &node.kind else {
            return Err(at.internal_error("the expression is not a loop"));
        };
        let carry_type = Some(&c.body.nodes[*init].ty);
        let mut carry = self.eval(c, f, *init)?;
        let mut states = ArrayBuilder::new(0);
        let mut pace = self.track_work(WorkKind::Loop, -1);
        let (mut done, mut due) = (0, pace.steps);
        loop {
            if done == due {
                self.record_progress(&mut pace, done);
                due = done.saturating_add(pace.steps);
            }
            done += 1;
            if *scan {
                self.push_part(at, &mut states, carry.clone())?;
            }
            self.bind(at, f, acc, carry.clone(), carry_type)?;
            if !self.eval_condition(c, f, *cond)? {
                break;
            }
            self.begin_iteration(at)?;
            self.bind(at, f, acc, carry, carry_type)?;
            carry = self.eval(c, f, *body)?;
        }
        if *scan {
            let n = states.part_count();
            return self.finish_array(at, f, states, &[n], &node.ty);
        }
        Ok(carry)
    }
}
