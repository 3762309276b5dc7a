//! **The interpreter state**, calls, and application of function values. The host creates an
//! [`Interp`] for one run and calls a definition, a function value, or the body of a top-level
//! item.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::array_builder::{ArrayBuilder, BuildError};
use super::derivative_rule::DerivativeRule;
use super::offload_policy::OffloadPolicy;
use super::progress::ProgressTracker;
use super::reverse::ReverseRun;
use lang_base::{Code as ErrorCode, GlobalName, Name, Span};
use lang_runtime::array::Array;
use lang_runtime::code::{Host, LocalFrame, Program, RunnableBody};
use lang_runtime::count::OperationCounts;
use lang_runtime::failure::{Failure, FailureSite, InterpResult};
use lang_runtime::memory::{MemoryAccount, RunLimits};
use lang_runtime::offload::OffloadEvaluator;
use lang_runtime::value::{Components, ConstructorTag, DataCell, FunctionValue, Record, RuntimeInstance};
use lang_runtime::{RuntimeType, Value};
use lang_types::tree::{Callee, Instantiation, TypedBody, TypedExpr, TypedId, call_children};
use lang_types::ty::Type;
use lang_types::type_info::TypeInfoBody;

/// The state of one run of a program.
pub struct Interp<'a> {
    pub(super) program: &'a dyn Program,
    pub(super) host: &'a mut dyn Host,
    pub(super) memory: MemoryAccount,
    pub(super) is_counting: bool,
    /// Whether a false bracket made the factor that was evaluated last zero.
    pub(super) masked: bool,
    /// Whether to stop at the first NaN: see [`Interp::trap_nan`].
    pub(super) traps_nan: bool,
    pub(super) counts: OperationCounts,
    limits: RunLimits,
    pub(super) interrupt: &'a AtomicBool,
    codes: HashMap<GlobalName, Arc<RunnableBody>>,
    tags: HashMap<GlobalName, Vec<Arc<ConstructorTag>>>,
    call_depth: usize,
    expression_depth: usize,
    /// The number of perturbations created so far.
    pub(super) perturbations: u64,
    /// The number of nested runs of functions on dual numbers.
    pub(super) dual_run_depth: usize,
    /// The number of nested repetitions. If it is positive, `dbg` prints nothing, because the first
    /// execution has printed the values.
    pub(super) dbg_suppressions: usize,
    pub(super) rules: HashMap<GlobalName, Option<DerivativeRule>>,
    /// The reverse operators in progress, the innermost last.
    pub(super) reverse_runs: Vec<ReverseRun>,
    /// The evaluator of compiled code that may take a part of the run, if any.
    pub(super) offload_evaluator: Option<&'a dyn OffloadEvaluator>,
    pub(super) offload_policy: OffloadPolicy,
    /// The progress of the counted work.
    pub(super) progress_tracker: ProgressTracker<'a>,
}

impl<'a> Interp<'a> {
    /// Creates a run. It stops soon after `interrupt` is set.
    pub fn new(program: &'a dyn Program, host: &'a mut dyn Host, limits: RunLimits, interrupt: &'a AtomicBool) -> Self {
        Self {
            program,
            host,
            memory: MemoryAccount::new(limits),
            is_counting: false,
            masked: false,
            traps_nan: false,
            counts: OperationCounts::default(),
            limits,
            interrupt,
            codes: HashMap::new(),
            tags: HashMap::new(),
            call_depth: 0,
            expression_depth: 0,
            perturbations: 0,
            dual_run_depth: 0,
            dbg_suppressions: 0,
            rules: HashMap::new(),
            reverse_runs: Vec::new(),
            offload_evaluator: None,
            offload_policy: OffloadPolicy::default(),
            progress_tracker: ProgressTracker::default(),
        }
    }

    /// Starts counting operations, from zero.
    pub fn start_counting(&mut self) {
        self.is_counting = true;
        self.counts = OperationCounts::default();
    }

    /// Returns the counts since [`Interp::start_counting`].
    #[must_use]
    pub fn counts(&self) -> OperationCounts {
        self.counts
    }

    /// Returns the bytes that the values of this run hold now.
    #[must_use]
    pub fn live_bytes(&self) -> usize {
        self.memory.live_bytes()
    }

    /// Calls a definition.
    ///
    /// # Errors
    /// The failure of the call; E0512 if the definition has errors.
    pub fn call(
        &mut self,
        def: &GlobalName,
        instance: RuntimeInstance,
        args: Vec<Value>,
    ) -> Result<Value, Box<Failure>> {
        let code = self.interface_body(def);
        self.call_def(code.site(Span::default()), def, instance, args)
    }

    /// Applies a function value.
    ///
    /// # Errors
    /// The failure of the call.
    pub fn apply_value(
        &mut self,
        item: &GlobalName,
        function: &Value,
        args: Vec<Value>,
    ) -> Result<Value, Box<Failure>> {
        let code = self.interface_body(item);
        self.apply(code.site(Span::default()), function, args)
    }

    /// Evaluates the body of a top-level `do` or `let`. The returned frame holds the variables that
    /// the outermost `let`s of the body bind.
    ///
    /// # Errors
    /// The failure of the evaluation; E0512 if the body has errors.
    pub fn eval_body(&mut self, item: &GlobalName, body: &Arc<TypedBody>) -> Result<(Value, LocalFrame), Box<Failure>> {
        let code = RunnableBody::new(item, body.clone(), true);
        let at = code.site(Span::default());
        let mut frame = self.new_frame(at, code.body.locals.len(), Arc::default())?;
        let root = code.body.root.ok_or_else(|| erroneous_item_failure(at, item))?;
        let value = self.eval(&code, &mut frame, root)?;
        Ok((value, frame))
    }

    /// Matches a value against the pattern of a top-level `let` and stores the variables in the
    /// frame.
    ///
    /// # Errors
    /// An internal error if the value does not have the pattern's shape.
    pub fn bind_top(
        &mut self,
        item: &GlobalName,
        frame: &mut LocalFrame,
        pat: &lang_types::tree::TypedPattern,
        ty: &Type,
        value: Value,
    ) -> Result<(), Box<Failure>> {
        let code = self.interface_body(item);
        self.bind(code.site(Span::default()), frame, pat, value, Some(ty))
    }

    /// Returns an empty item, to which failures at the interface are attributed.
    fn interface_body(&self, item: &GlobalName) -> Arc<RunnableBody> {
        let body = TypedBody {
            nodes: lang_base::Arena::default(),
            sizes: Vec::new(),
            params: Vec::new(),
            locals: Vec::new(),
            root: None,
        };
        RunnableBody::new(item, Arc::new(body), false)
    }

    /// Fails with E0507 if the host has interrupted the run.
    pub(super) fn poll_interrupt(&self, at: FailureSite<'_>) -> InterpResult<()> {
        if self.interrupt.load(Ordering::Relaxed) { Err(at.fail(ErrorCode::E0507, "interrupted")) } else { Ok(()) }
    }

    pub(super) fn count_work(&mut self, n: usize) {
        if self.is_counting {
            self.counts.add_work(n);
        }
    }

    pub(super) fn count_test(&mut self) {
        if self.is_counting {
            self.counts.add_test();
        }
    }

    pub(super) fn begin_iteration(&mut self, at: FailureSite<'_>) -> InterpResult<()> {
        if self.is_counting {
            self.counts.add_iteration();
        }
        self.poll_interrupt(at)
    }

    pub(super) fn new_frame(
        &self,
        at: FailureSite<'_>,
        locals: usize,
        types: Arc<[RuntimeType]>,
    ) -> InterpResult<LocalFrame> {
        let bytes = size_of::<LocalFrame>().saturating_add(locals.saturating_mul(size_of::<Option<Value>>()));
        let charge = self.memory.charge(bytes).map_err(|e| at.allocation_failure(&e))?;
        Ok(LocalFrame::new(locals, types, charge))
    }

    /// Wraps values and charges them to the run.
    pub(super) fn make_components(&self, at: FailureSite<'_>, values: Vec<Value>) -> InterpResult<Components> {
        let bytes = size_of::<DataCell>().saturating_add(values.capacity().saturating_mul(size_of::<Value>()));
        let charge = self.memory.charge(bytes).map_err(|e| at.allocation_failure(&e))?;
        Ok(Components::with_charge(values, charge))
    }

    pub(super) fn make_tuple(&self, at: FailureSite<'_>, values: Vec<Value>) -> InterpResult {
        Ok(Value::Tuple(Arc::new(self.make_components(at, values)?)))
    }

    pub(super) fn make_record(&self, at: FailureSite<'_>, names: Arc<[Name]>, values: Vec<Value>) -> InterpResult {
        Ok(Value::Record(Arc::new(Record { names, components: self.make_components(at, values)? })))
    }

    pub(super) fn make_data(&self, at: FailureSite<'_>, tag: Arc<ConstructorTag>, args: Vec<Value>) -> InterpResult {
        Ok(Value::Data(Arc::new(DataCell { tag, items: self.make_components(at, args)? })))
    }

    pub(super) fn make_array(&self, at: FailureSite<'_>, array: Option<Array>) -> InterpResult {
        array
            .map(Value::Array)
            .ok_or_else(|| at.internal_error("the number of elements does not match the shape of an array"))
    }

    pub(super) fn push_part(&self, at: FailureSite<'_>, builder: &mut ArrayBuilder, value: Value) -> InterpResult<()> {
        let nth = builder.part_count();
        builder.push(&self.memory, value).map_err(|e| match e {
            BuildError::TooLarge(e) => at.allocation_failure(&e),
            BuildError::Ragged(found, first) => at.fail(
                ErrorCode::E0501,
                format!("element {nth} has shape {found:?}, but the first element has shape {first:?}"),
            ),
            BuildError::Mixed => at.internal_error("the elements of an array have different kinds"),
        })
    }

    /// Evaluates the type and size arguments of an instantiation in the frame of the caller.
    pub(super) fn eval_instance(
        &self,
        at: FailureSite<'_>,
        f: &LocalFrame,
        instance: &Instantiation,
    ) -> InterpResult<RuntimeInstance> {
        let types = if instance.types.is_empty() {
            Arc::default()
        } else {
            instance.types.iter().map(|t| self.close_type(at, f, t)).collect::<InterpResult<_>>()?
        };
        let sizes = instance.sizes.iter().map(|s| self.eval_size(at, f, s)).collect::<InterpResult<_>>()?;
        Ok(RuntimeInstance { types, sizes })
    }

    /// Evaluates a call: its parts in evaluation order, then the callee.
    #[inline(never)]
    pub(super) fn eval_call(&mut self, c: &Arc<RunnableBody>, f: &mut LocalFrame, id: TypedId) -> InterpResult {
        let TypedExpr::Call { callee, args } = &c.body.nodes[id].kind else {
            return Err(c.site(Span::default()).internal_error("the expression is not a call"));
        };
        let at = c.site(c.body.nodes[id].span);
        let mut function = None;
        let mut values = Vec::with_capacity(args.len());
        for (position, part) in call_children(&c.body.nodes, callee, args) {
            let value = self.eval(c, f, part)?;
            match position {
                // A function argument is evaluated late, when all arguments before it are in place.
                Some(k) => values.insert(k.min(values.len()), value),
                None => function = Some(value),
            }
        }
        let args = values;
        match callee {
            Callee::Def(name, instance) => {
                let instance = self.eval_instance(at, f, instance)?;
                self.call_def(at, name, instance, args)
            }
            Callee::Builtin(builtin, _) => self.call_builtin(at, *builtin, args),
            Callee::Ctor(ty, index) => {
                let tag = self.constructor_tag(at, ty, *index)?;
                self.make_data(at, tag, args)
            }
            Callee::Value(_) => self.apply(at, &function.unwrap_or_else(Value::unit), args),
        }
    }

    /// Returns a constructor as a value: the value itself if it takes no arguments, else a
    /// function.
    #[inline(never)]
    pub(super) fn ctor_value(&mut self, at: FailureSite<'_>, ty: &GlobalName, index: u32) -> InterpResult {
        let tag = self.constructor_tag(at, ty, index)?;
        if tag.arity == 0 {
            self.make_data(at, tag, Vec::new())
        } else {
            Ok(Value::Fun(Arc::new(FunctionValue::Ctor(tag))))
        }
    }

    #[inline(never)]
    fn constructor_tag(
        &mut self,
        at: FailureSite<'_>,
        ty: &GlobalName,
        index: u32,
    ) -> InterpResult<Arc<ConstructorTag>> {
        if !self.tags.contains_key(ty) {
            let info = self.program.type_info(ty).ok_or_else(|| erroneous_item_failure(at, ty))?;
            let TypeInfoBody::Sum(ctors) = &info.body else {
                return Err(at.internal_error("the type is not a sum type"));
            };
            let tag = |(i, c): (usize, &lang_types::type_info::CtorInfo)| {
                let index = u32::try_from(i).unwrap_or(u32::MAX);
                Arc::new(ConstructorTag { ty: ty.clone(), index, name: c.name.clone(), arity: c.args.len() })
            };
            self.tags.insert(ty.clone(), ctors.iter().enumerate().map(tag).collect());
        }
        let tag = self.tags.get(ty).and_then(|tags| tags.get(index as usize));
        tag.cloned().ok_or_else(|| at.internal_error("the type has no such constructor"))
    }

    #[inline(never)]
    fn runnable_body(&mut self, at: FailureSite<'_>, name: &GlobalName) -> InterpResult<Arc<RunnableBody>> {
        match self.codes.entry(name.clone()) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(new) => {
                let body = self.program.body(name).ok_or_else(|| erroneous_item_failure(at, name))?;
                Ok(new.insert(RunnableBody::new(name, body, false)).clone())
            }
        }
    }

    #[inline(never)]
    pub(super) fn call_def(
        &mut self,
        at: FailureSite<'_>,
        name: &GlobalName,
        instance: RuntimeInstance,
        args: Vec<Value>,
    ) -> InterpResult {
        let code = self.runnable_body(at, name)?;
        let body = &code.body;
        let root = body.root.ok_or_else(|| erroneous_item_failure(at, name))?;
        if body.params.len() != args.len() || body.sizes.len() != instance.sizes.len() {
            return Err(at.internal_error("a call has the wrong number of arguments"));
        }
        if !self.reverse_runs.is_empty()
            && let Some(value) = self.call_in_reverse_run(at, name, &instance, &args)?
        {
            return Ok(value);
        }
        if self.dual_run_depth > 0
            && let Some(rule) = self.applicable_rule(&code, &instance, &args)
            && let Some(value) = self.call_by_rule(at, name, &instance, rule, &args)?
        {
            return Ok(value);
        }
        let mut frame = self.new_frame(at, body.locals.len(), instance.types)?;
        for (local, size) in body.sizes.iter().zip(instance.sizes) {
            frame.set(*local, Value::I64(size));
        }
        for (local, arg) in body.params.iter().zip(args) {
            frame.set(*local, arg);
        }
        if cfg!(debug_assertions) {
            self.check_params(at, &code, &frame)?;
        }
        self.run_call(at, |this| match this.try_offload_expression(&code, &frame, root)? {
            Some(value) => Ok(value),
            None => this.eval(&code, &mut frame, root),
        })
    }

    /// Checks that array arguments have the shapes of their types, which the checker promises.
    /// Debug builds only.
    fn check_params(&self, at: FailureSite<'_>, code: &RunnableBody, frame: &LocalFrame) -> InterpResult<()> {
        for param in &code.body.params {
            let (Some(local), Some(Value::Array(a))) = (code.body.locals.get(param.0 as usize), frame.get(*param))
            else {
                continue;
            };
            let dims = self.close_type(at, frame, &local.ty)?.peel().0;
            if a.dims() != dims.as_slice() {
                let what = format!("`{}` of `{}` has shape {:?}, not {dims:?}", local.name, code.item, a.dims());
                return Err(at.internal_error(&what));
            }
        }
        Ok(())
    }

    /// Counts one more nested expression. Fails with E0506 beyond the limit.
    #[inline]
    pub(super) fn enter_expression(&mut self, at: FailureSite<'_>) -> InterpResult<()> {
        if self.expression_depth >= self.limits.max_nesting {
            let message = format!("more than {} nested expressions", self.limits.max_nesting);
            return Err(at.fail(ErrorCode::E0506, message));
        }
        self.expression_depth += 1;
        Ok(())
    }

    #[inline]
    pub(super) fn leave_expression(&mut self) {
        self.expression_depth -= 1;
    }

    /// Runs the body of a call that can be too deep, be interrupted, and appear in the trace.
    fn run_call(&mut self, at: FailureSite<'_>, body: impl FnOnce(&mut Self) -> InterpResult) -> InterpResult {
        self.with_call_depth(at, |this| {
            body(this).map_err(|mut failure| {
                failure.push_caller(at);
                failure
            })
        })
    }

    /// Runs a body as one more nested call. Fails with E0506 beyond the limit.
    fn with_call_depth(&mut self, at: FailureSite<'_>, body: impl FnOnce(&mut Self) -> InterpResult) -> InterpResult {
        self.poll_interrupt(at)?;
        if self.call_depth >= self.limits.max_calls {
            let mut failure = at.fail(ErrorCode::E0506, format!("more than {} nested calls", self.limits.max_calls));
            failure.help = Some("write the recursion as a `loop` or a `fold`, or make it shallower".to_owned());
            return Err(failure);
        }
        self.call_depth += 1;
        let result = body(self);
        self.call_depth -= 1;
        result
    }

    /// Applies a function value.
    #[inline(never)]
    pub(super) fn apply(&mut self, at: FailureSite<'_>, function: &Value, args: Vec<Value>) -> InterpResult {
        let Value::Fun(function) = function else {
            return Err(at.internal_error("the called value is not a function"));
        };
        match &**function {
            FunctionValue::Def(name, instance) => self.call_def(at, name, instance.clone(), args),
            FunctionValue::Builtin(builtin) => self.call_builtin(at, *builtin, args),
            FunctionValue::Scalar(f) => self.scalar(at, *f, &args),
            FunctionValue::Ctor(tag) => self.make_data(at, tag.clone(), args),
            FunctionValue::Derived(derived) => self.with_call_depth(at, |this| this.call_derived(at, derived, args)),
            FunctionValue::Tangent(parts) => {
                self.with_call_depth(at, |this| this.call_function_tangent(at, parts.values(), args))
            }
            FunctionValue::Lambda { code, node, captured, types } => {
                let node = &code.body.nodes[*node];
                let (TypedExpr::Lambda(lambda), Type::Fun(ty)) = (&node.kind, &node.ty) else {
                    return Err(at.internal_error("the called expression is not a lambda"));
                };
                if lambda.params.len() != args.len() {
                    return Err(at.internal_error("a call of a lambda has the wrong number of arguments"));
                }
                let mut frame = self.new_frame(at, code.body.locals.len(), types.clone())?;
                for (local, value) in lambda.captures.iter().zip(captured.values()) {
                    frame.set(*local, value.clone());
                }
                for (i, (pat, arg)) in lambda.params.iter().zip(args).enumerate() {
                    self.bind(code.site(node.span), &mut frame, pat, arg, ty.params.get(i).map(|p| &p.1))?;
                }
                self.run_call(at, |this| this.eval(code, &mut frame, lambda.body))
            }
        }
    }

    /// Builds a closure: a lambda with the values of its captures.
    #[inline(never)]
    pub(super) fn make_closure(&self, c: &Arc<RunnableBody>, f: &LocalFrame, id: TypedId) -> InterpResult {
        let at = c.site(c.body.nodes[id].span);
        let TypedExpr::Lambda(lambda) = &c.body.nodes[id].kind else {
            return Err(at.internal_error("the expression is not a lambda"));
        };
        let value = |l| f.get(l).cloned().ok_or_else(|| at.internal_error("a captured local has no value"));
        let captured = lambda.captures.iter().map(|l| value(*l)).collect::<InterpResult<_>>()?;
        let captured = self.make_components(at, captured)?;
        Ok(Value::Fun(Arc::new(FunctionValue::Lambda { code: c.clone(), node: id, captured, types: f.types.clone() })))
    }
}

/// Returns the failure for an item with errors, which the checker reports at that item.
#[cold]
fn erroneous_item_failure(at: FailureSite<'_>, name: &GlobalName) -> Box<Failure> {
    at.fail(ErrorCode::E0512, format!("`{name}` has errors and cannot run"))
}
