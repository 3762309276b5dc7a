//! **Special forms**: forms with typing rules of their own, such as `assert`, `print`, `load` and
//! `plot`. Effects go through the [`Host`](lang_runtime::Host).

use std::sync::Arc;

use super::Interp;
use lang_base::Code as ErrorCode;
use lang_base::count_with_noun;
use lang_resolve::forms::LoadOption;
use lang_runtime::Value;
use lang_runtime::code::{LocalFrame, Refusal, RunnableBody};
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::figure::Figure;
use lang_runtime::memory::MemoryCharge;
use lang_runtime::relation::Relation;
use lang_types::tree::{TypedForm, TypedId, TypedNode};

impl Interp<'_> {
    #[inline(never)]
    pub(super) fn eval_special(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        id: TypedId,
        special: &TypedForm,
        args: &[TypedId],
    ) -> InterpResult {
        let node = &c.body.nodes[id];
        let at = c.site(node.span);
        let lacks = || at.internal_error("a form lacks an argument");
        let first = args.first().copied();
        match special {
            TypedForm::Assert(text) => {
                if self.eval_condition(c, f, first.ok_or_else(lacks)?)? {
                    Ok(Value::unit())
                } else {
                    Err(at.fail(ErrorCode::E0502, format!("assertion failed: {text}")))
                }
            }
            TypedForm::Error(text) => Err(at.fail(ErrorCode::E0503, text.as_str())),
            TypedForm::Dbg => {
                let value = self.eval(c, f, first.ok_or_else(lacks)?)?;
                if self.dbg_suppressions == 0 {
                    let text = self.host.layout().show(&value);
                    self.host.debug(&c.item, node.span, &text);
                }
                Ok(value)
            }
            // Evaluates both, in order. Parallel evaluation is left to other backends.
            TypedForm::Par => {
                let values = self.eval_all(c, f, args)?;
                self.make_tuple(at, values)
            }
            TypedForm::Stop => {
                let value = self.eval(c, f, first.ok_or_else(lacks)?)?;
                if self.dual_run_depth > 0 { self.strip_perturbations(at, &value) } else { Ok(value) }
            }
            TypedForm::Reshape => {
                let values = self.eval_all(c, f, args)?;
                let Some(Value::Array(x)) = values.first() else { return Err(lacks()) };
                let dims = self.close_type(at, f, &node.ty)?.peel().0;
                let count = self.memory.element_count(dims.iter().copied()).map_err(|e| at.allocation_failure(&e))?;
                if dims.is_empty() || count != x.count() {
                    let message = format!(
                        "an array of {} does not fit the shape {dims:?}",
                        count_with_noun(x.count(), "element", "elements")
                    );
                    return Err(at.fail(ErrorCode::E0501, message));
                }
                Ok(Value::Array(x.view(0, &dims)))
            }
            TypedForm::Relation => self.eval_relation_form(c, f, node, args),
            TypedForm::Print => {
                let values = self.eval_all(c, f, args)?;
                let text = self.host.layout().message(&values);
                self.host.print(&text);
                Ok(Value::unit())
            }
            TypedForm::Time => {
                let before = self.host.seconds();
                let value = self.eval(c, f, first.ok_or_else(lacks)?)?;
                let seconds = self.host.seconds() - before;
                self.host.print(&format!("{seconds:.6} s"));
                Ok(value)
            }
            TypedForm::Load(options) => {
                let values = self.eval_all(c, f, args)?;
                let Some((Value::Str(file), values)) = values.split_first() else { return Err(lacks()) };
                let options: Vec<(LoadOption, Value)> = options.iter().copied().zip(values.iter().cloned()).collect();
                let ty = self.close_known_sizes(f, &node.ty);
                self.host.load(&c.item, node.span, file, &options, &ty).map_err(|why| refusal_failure(at, why))
            }
            TypedForm::Save => {
                let values = self.eval_all(c, f, args)?;
                let [value, Value::Str(file)] = values.as_slice() else { return Err(lacks()) };
                self.host.save(&c.item, node.span, value, file).map_err(|why| refusal_failure(at, why))?;
                Ok(Value::unit())
            }
            TypedForm::Plot(form) => {
                let values = self.eval_all(c, f, args)?;
                let figure = Figure::new(form, values)
                    .ok_or_else(|| at.internal_error("the data of a plot have the wrong type"))?;
                self.host.plot(&c.item, node.span, &figure).map_err(|why| refusal_failure(at, why))?;
                Ok(Value::unit())
            }
            TypedForm::Derive(operator, wrt) => {
                self.eval_derivative_operator(c, f, id, *operator, wrt.as_deref(), args)
            }
            TypedForm::Deriv(by) => self.eval_deriv(c, f, id, *by, args),
        }
    }

    /// Evaluates `relation(idx, n, m)`: checks the rows of `idx` against the extents.
    fn eval_relation_form(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        node: &TypedNode,
        args: &[TypedId],
    ) -> InterpResult {
        let at = c.site(node.span);
        let values = self.eval_all(c, f, args)?;
        let dims = self.eval_relation_extents(at, f, &node.ty)?;
        let Some(Value::Array(idx)) = values.first() else {
            return Err(at.internal_error("a relation has no index tuples"));
        };
        let flat = idx.i64s().ok_or_else(|| at.internal_error("the index tuples are not integers"))?;
        if idx.dims().get(1).is_some_and(|k| *k != dims.len()) {
            return Err(at.internal_error("the index tuples do not have the length of the relation"));
        }
        for (row, tuple) in flat.chunks_exact(dims.len().max(1)).enumerate() {
            self.poll_interrupt(at)?;
            for (axis, (i, n)) in tuple.iter().zip(&dims).enumerate() {
                if i < &0 || i >= n {
                    let message = format!("index {i} in row {row} is out of bounds for axis {axis} of extent {n}");
                    return Err(at.fail(ErrorCode::E0500, message));
                }
            }
        }
        let mut rows = Vec::new();
        let mut charge = MemoryCharge::default();
        self.memory.grow_vec(&mut rows, &mut charge, flat.len()).map_err(|e| at.allocation_failure(&e))?;
        rows.extend_from_slice(flat);
        Ok(Value::Rel(Arc::new(Relation::new(dims, rows, charge))))
    }
}

fn refusal_failure(at: FailureSite<'_>, why: Refusal) -> Box<lang_runtime::Failure> {
    let mut failure = at.fail(why.code, why.message);
    failure.help = why.help;
    failure
}
