//! **The interpreter state**, calls, and application of function values. The host creates an
//! [`Interp`] for one run and calls a definition, a function value, or the body of a top-level
//! item.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::build::{BuildError, Builder};
use super::progress::Works;
use super::regions::Regions;
use super::reverse::Reversal;
use super::rule::Rule;
use lang_base::{Code as ErrorCode, GlobalName, Name, Span};
use lang_runtime::array::Array;
use lang_runtime::code::{Code, Frame, Host, Program};
use lang_runtime::count::Counts;
use lang_runtime::failure::{At, Eval, Failure};
use lang_runtime::memory::{Limits, Memory};
use lang_runtime::offload::Elsewhere;
use lang_runtime::value::{Cell, Fun, Items, Record, RtInstance, Tag};
use lang_runtime::{RtType, Value};
use lang_types::info::TypeInfoBody;
use lang_types::tree::{Body, Callee, Expr, Instance, TId, call_parts};
use lang_types::ty::Type;

/// The state of one run of a program.
pub struct Interp<'a> {
    pub(super) program: &'a dyn Program,
    pub(super) host: &'a mut dyn Host,
    pub(super) memory: Memory,
    pub(super) counting: bool,
    /// Whether a false bracket made the factor that was evaluated last zero.
    pub(super) masked: bool,
    /// Whether to stop at the first NaN: see [`super::trap`].
    pub(super) trap: bool,
    pub(super) counts: Counts,
    limits: Limits,
    pub(super) interrupt: &'a AtomicBool,
    codes: HashMap<GlobalName, Arc<Code>>,
    tags: HashMap<GlobalName, Vec<Arc<Tag>>>,
    calls: usize,
    nesting: usize,
    /// The number of perturbations created so far.
    pub(super) perturbations: u64,
    /// The number of nested runs of functions on dual numbers.
    pub(super) deriving: usize,
    /// The number of nested repetitions. If it is positive, `dbg` prints nothing, because the first
    /// execution has printed the values.
    pub(super) quiet: usize,
    pub(super) rules: HashMap<GlobalName, Option<Rule>>,
    /// The reverse operators in progress, the innermost last.
    pub(super) reversals: Vec<Reversal>,
    /// The evaluator of compiled code that may take a part of the run, if any.
    pub(super) elsewhere: Option<&'a dyn Elsewhere>,
    pub(super) regions: Regions,
    /// The progress of the counted work.
    pub(super) works: Works<'a>,
}

impl<'a> Interp<'a> {
    /// Creates a run. It stops soon after `interrupt` is set.
    pub fn new(program: &'a dyn Program, host: &'a mut dyn Host, limits: Limits, interrupt: &'a AtomicBool) -> Self {
        Self {
            program,
            host,
            memory: Memory::new(limits),
            counting: false,
            masked: false,
            trap: false,
            counts: Counts::default(),
            limits,
            interrupt,
            codes: HashMap::new(),
            tags: HashMap::new(),
            calls: 0,
            nesting: 0,
            perturbations: 0,
            deriving: 0,
            quiet: 0,
            rules: HashMap::new(),
            reversals: Vec::new(),
            elsewhere: None,
            regions: Regions::default(),
            works: Works::default(),
        }
    }

    /// Starts counting operations, from zero.
    pub fn count(&mut self) {
        self.counting = true;
        self.counts = Counts::default();
    }

    /// Returns the counts since [`Interp::count`].
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the bytes that the values of this run hold now.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.memory.live()
    }

    /// Calls a definition.
    ///
    /// # Errors
    /// The failure of the call; E0512 if the definition has errors.
    pub fn call(&mut self, def: &GlobalName, instance: RtInstance, args: Vec<Value>) -> Result<Value, Box<Failure>> {
        let code = self.outside(def);
        self.call_def(code.at(Span::default()), def, instance, args)
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
        let code = self.outside(item);
        self.apply(code.at(Span::default()), function, args)
    }

    /// Evaluates the body of a top-level `do` or `let`. The returned frame holds the variables that
    /// the outermost `let`s of the body bind.
    ///
    /// # Errors
    /// The failure of the evaluation; E0512 if the body has errors.
    pub fn eval_body(&mut self, item: &GlobalName, body: &Arc<Body>) -> Result<(Value, Frame), Box<Failure>> {
        let code = Code::new(item, body.clone(), true);
        let at = code.at(Span::default());
        let mut frame = self.frame(at, code.body.locals.len(), Arc::default())?;
        let root = code.body.root.ok_or_else(|| has_errors(at, item))?;
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
        frame: &mut Frame,
        pat: &lang_types::tree::Pat,
        ty: &Type,
        value: Value,
    ) -> Result<(), Box<Failure>> {
        let code = self.outside(item);
        self.bind(code.at(Span::default()), frame, pat, value, Some(ty))
    }

    /// Returns an empty item, to which failures at the interface are attributed.
    fn outside(&self, item: &GlobalName) -> Arc<Code> {
        let body = Body {
            nodes: lang_base::Arena::default(),
            sizes: Vec::new(),
            params: Vec::new(),
            locals: Vec::new(),
            root: None,
        };
        Code::new(item, Arc::new(body), false)
    }

    /// Fails with E0507 if the host has interrupted the run.
    pub(super) fn poll(&self, at: At<'_>) -> Eval<()> {
        if self.interrupt.load(Ordering::Relaxed) { Err(at.fail(ErrorCode::E0507, "interrupted")) } else { Ok(()) }
    }

    pub(super) fn work(&mut self, n: usize) {
        if self.counting {
            self.counts.add_work(n);
        }
    }

    pub(super) fn test(&mut self) {
        if self.counting {
            self.counts.add_test();
        }
    }

    pub(super) fn iteration(&mut self, at: At<'_>) -> Eval<()> {
        if self.counting {
            self.counts.add_iteration();
        }
        self.poll(at)
    }

    pub(super) fn frame(&self, at: At<'_>, locals: usize, types: Arc<[RtType]>) -> Eval<Frame> {
        let bytes = size_of::<Frame>().saturating_add(locals.saturating_mul(size_of::<Option<Value>>()));
        let charge = self.memory.charge(bytes).map_err(|e| at.too_large(&e))?;
        Ok(Frame::new(locals, types, charge))
    }

    /// Wraps values and charges them to the run.
    pub(super) fn items(&self, at: At<'_>, values: Vec<Value>) -> Eval<Items> {
        let bytes = size_of::<Cell>().saturating_add(values.capacity().saturating_mul(size_of::<Value>()));
        let charge = self.memory.charge(bytes).map_err(|e| at.too_large(&e))?;
        Ok(Items::with_charge(values, charge))
    }

    pub(super) fn make_tuple(&self, at: At<'_>, values: Vec<Value>) -> Eval {
        Ok(Value::Tuple(Arc::new(self.items(at, values)?)))
    }

    pub(super) fn make_record(&self, at: At<'_>, names: Arc<[Name]>, values: Vec<Value>) -> Eval {
        Ok(Value::Record(Arc::new(Record { names, items: self.items(at, values)? })))
    }

    pub(super) fn make_data(&self, at: At<'_>, tag: Arc<Tag>, args: Vec<Value>) -> Eval {
        Ok(Value::Data(Arc::new(Cell { tag, items: self.items(at, args)? })))
    }

    pub(super) fn array(&self, at: At<'_>, array: Option<Array>) -> Eval {
        array.map(Value::Array).ok_or_else(|| at.internal("an array does not have the elements its shape says"))
    }

    pub(super) fn push(&self, at: At<'_>, builder: &mut Builder, value: Value) -> Eval<()> {
        let nth = builder.parts();
        builder.push(&self.memory, value).map_err(|e| match e {
            BuildError::TooLarge(e) => at.too_large(&e),
            BuildError::Ragged(found, first) => {
                at.fail(ErrorCode::E0501, format!("element {nth} has shape {found:?} where the first has {first:?}"))
            }
            BuildError::Mixed => at.internal("elements of different kinds"),
        })
    }

    /// Evaluates the type and size arguments of an instantiation in the frame of the caller.
    pub(super) fn instance(&self, at: At<'_>, f: &Frame, instance: &Instance) -> Eval<RtInstance> {
        let types = if instance.types.is_empty() {
            Arc::default()
        } else {
            instance.types.iter().map(|t| self.rt_type(at, f, t)).collect::<Eval<_>>()?
        };
        let sizes = instance.sizes.iter().map(|s| self.size(at, f, s)).collect::<Eval<_>>()?;
        Ok(RtInstance { types, sizes })
    }

    /// Evaluates a call: its parts in evaluation order, then the callee.
    #[inline(never)]
    pub(super) fn eval_call(&mut self, c: &Arc<Code>, f: &mut Frame, id: TId) -> Eval {
        let Expr::Call { callee, args } = &c.body.nodes[id].kind else {
            return Err(c.at(Span::default()).internal("not a call"));
        };
        let at = c.at(c.body.nodes[id].span);
        let mut function = None;
        let mut values = Vec::with_capacity(args.len());
        for (position, part) in call_parts(&c.body.nodes, callee, args) {
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
                let instance = self.instance(at, f, instance)?;
                self.call_def(at, name, instance, args)
            }
            Callee::Builtin(builtin, _) => self.call_builtin(at, *builtin, args),
            Callee::Ctor(ty, index) => {
                let tag = self.tag(at, ty, *index)?;
                self.make_data(at, tag, args)
            }
            Callee::Value(_) => self.apply(at, &function.unwrap_or_else(Value::unit), args),
        }
    }

    /// Returns a constructor as a value: the value itself if it takes no arguments, else a
    /// function.
    #[inline(never)]
    pub(super) fn ctor_value(&mut self, at: At<'_>, ty: &GlobalName, index: u32) -> Eval {
        let tag = self.tag(at, ty, index)?;
        if tag.arity == 0 { self.make_data(at, tag, Vec::new()) } else { Ok(Value::Fun(Arc::new(Fun::Ctor(tag)))) }
    }

    #[inline(never)]
    fn tag(&mut self, at: At<'_>, ty: &GlobalName, index: u32) -> Eval<Arc<Tag>> {
        if !self.tags.contains_key(ty) {
            let info = self.program.type_info(ty).ok_or_else(|| has_errors(at, ty))?;
            let TypeInfoBody::Sum(ctors) = &info.body else { return Err(at.internal("no sum type")) };
            let tag = |(i, c): (usize, &lang_types::info::CtorInfo)| {
                let index = u32::try_from(i).unwrap_or(u32::MAX);
                Arc::new(Tag { ty: ty.clone(), index, name: c.name.clone(), arity: c.args.len() })
            };
            self.tags.insert(ty.clone(), ctors.iter().enumerate().map(tag).collect());
        }
        let tag = self.tags.get(ty).and_then(|tags| tags.get(index as usize));
        tag.cloned().ok_or_else(|| at.internal("no such constructor"))
    }

    #[inline(never)]
    fn code(&mut self, at: At<'_>, name: &GlobalName) -> Eval<Arc<Code>> {
        match self.codes.entry(name.clone()) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(new) => {
                let body = self.program.body(name).ok_or_else(|| has_errors(at, name))?;
                Ok(new.insert(Code::new(name, body, false)).clone())
            }
        }
    }

    #[inline(never)]
    pub(super) fn call_def(&mut self, at: At<'_>, name: &GlobalName, instance: RtInstance, args: Vec<Value>) -> Eval {
        let code = self.code(at, name)?;
        let body = &code.body;
        let root = body.root.ok_or_else(|| has_errors(at, name))?;
        if body.params.len() != args.len() || body.sizes.len() != instance.sizes.len() {
            return Err(at.internal("a call does not have the arguments its callee takes"));
        }
        if !self.reversals.is_empty()
            && let Some(value) = self.at_cut(at, name, &instance, &args)?
        {
            return Ok(value);
        }
        if self.deriving > 0
            && let Some(rule) = self.applicable(&code, &instance, &args)
            && let Some(value) = self.by_rule(at, name, &instance, rule, &args)?
        {
            return Ok(value);
        }
        let mut frame = self.frame(at, body.locals.len(), instance.types)?;
        for (local, size) in body.sizes.iter().zip(instance.sizes) {
            frame.set(*local, Value::I64(size));
        }
        for (local, arg) in body.params.iter().zip(args) {
            frame.set(*local, arg);
        }
        if cfg!(debug_assertions) {
            self.check_params(at, &code, &frame)?;
        }
        self.inside(at, |this| match this.region(&code, &frame, root)? {
            Some(value) => Ok(value),
            None => this.eval(&code, &mut frame, root),
        })
    }

    /// Checks that array arguments have the shapes of their types, which the checker promises.
    /// Debug builds only.
    fn check_params(&self, at: At<'_>, code: &Code, frame: &Frame) -> Eval<()> {
        for param in &code.body.params {
            let (Some(local), Some(Value::Array(a))) = (code.body.locals.get(param.0 as usize), frame.get(*param))
            else {
                continue;
            };
            let dims = self.rt_type(at, frame, &local.ty)?.peel().0;
            if a.dims() != dims.as_slice() {
                let what = format!("`{}` of `{}` has shape {:?}, not {dims:?}", local.name, code.item, a.dims());
                return Err(at.internal(&what));
            }
        }
        Ok(())
    }

    /// Counts one more nested expression. Fails with E0506 beyond the limit.
    #[inline]
    pub(super) fn enter(&mut self, at: At<'_>) -> Eval<()> {
        if self.nesting >= self.limits.max_nesting {
            let message = format!("more than {} expressions inside one another", self.limits.max_nesting);
            return Err(at.fail(ErrorCode::E0506, message));
        }
        self.nesting += 1;
        Ok(())
    }

    #[inline]
    pub(super) fn leave(&mut self) {
        self.nesting -= 1;
    }

    /// Runs the body of a call that can be too deep, be interrupted, and appear in the trace.
    fn inside(&mut self, at: At<'_>, body: impl FnOnce(&mut Self) -> Eval) -> Eval {
        self.deeper(at, |this| {
            body(this).map_err(|mut failure| {
                failure.called_from(at);
                failure
            })
        })
    }

    /// Runs a body as one more nested call. Fails with E0506 beyond the limit.
    fn deeper(&mut self, at: At<'_>, body: impl FnOnce(&mut Self) -> Eval) -> Eval {
        self.poll(at)?;
        if self.calls >= self.limits.max_calls {
            let mut failure =
                at.fail(ErrorCode::E0506, format!("more than {} calls inside one another", self.limits.max_calls));
            failure.help = Some("write it as a `loop` or a `fold`, or make the recursion shallower".to_owned());
            return Err(failure);
        }
        self.calls += 1;
        let result = body(self);
        self.calls -= 1;
        result
    }

    /// Applies a function value.
    #[inline(never)]
    pub(super) fn apply(&mut self, at: At<'_>, function: &Value, args: Vec<Value>) -> Eval {
        let Value::Fun(function) = function else { return Err(at.internal("what is called is no function")) };
        match &**function {
            Fun::Def(name, instance) => self.call_def(at, name, instance.clone(), args),
            Fun::Builtin(builtin) => self.call_builtin(at, *builtin, args),
            Fun::Scalar(f) => self.scalar(at, *f, &args),
            Fun::Ctor(tag) => self.make_data(at, tag.clone(), args),
            Fun::Derived(derived) => self.deeper(at, |this| this.call_derived(at, derived, args)),
            Fun::Tangent(parts) => self.deeper(at, |this| this.call_tangent(at, parts.values(), args)),
            Fun::Lambda { code, node, captured, types } => {
                let node = &code.body.nodes[*node];
                let (Expr::Lambda(lambda), Type::Fun(ty)) = (&node.kind, &node.ty) else {
                    return Err(at.internal("what is called is no lambda"));
                };
                if lambda.params.len() != args.len() {
                    return Err(at.internal("a call does not have the arguments its lambda takes"));
                }
                let mut frame = self.frame(at, code.body.locals.len(), types.clone())?;
                for (local, value) in lambda.captures.iter().zip(captured.values()) {
                    frame.set(*local, value.clone());
                }
                for (i, (pat, arg)) in lambda.params.iter().zip(args).enumerate() {
                    self.bind(code.at(node.span), &mut frame, pat, arg, ty.params.get(i).map(|p| &p.1))?;
                }
                self.inside(at, |this| this.eval(code, &mut frame, lambda.body))
            }
        }
    }

    /// Builds a closure: a lambda with the values of its captures.
    #[inline(never)]
    pub(super) fn closure(&self, c: &Arc<Code>, f: &Frame, id: TId) -> Eval {
        let at = c.at(c.body.nodes[id].span);
        let Expr::Lambda(lambda) = &c.body.nodes[id].kind else { return Err(at.internal("no lambda")) };
        let value = |l| f.get(l).cloned().ok_or_else(|| at.internal("a captured local has no value"));
        let captured = lambda.captures.iter().map(|l| value(*l)).collect::<Eval<_>>()?;
        let captured = self.items(at, captured)?;
        Ok(Value::Fun(Arc::new(Fun::Lambda { code: c.clone(), node: id, captured, types: f.types.clone() })))
    }
}

/// Returns the failure for an item with errors, which the checker reports at that item.
#[cold]
fn has_errors(at: At<'_>, name: &GlobalName) -> Box<Failure> {
    at.fail(ErrorCode::E0512, format!("`{name}` has errors and cannot run"))
}
