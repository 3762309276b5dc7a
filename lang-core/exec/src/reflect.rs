//! **Reflection of function values.** Splits function values of a run into static knowledge
//! ([`lang_ir::runtime_request`]) and the sizes and data that they hold. The interpreter uses it to
//! compile the application of an operator or an expression.

use std::sync::Arc;

use lang_base::GlobalName;
use lang_ir::core::{FunctionKey, NoCoreFormReason};
use lang_ir::runtime_request::{
    CaptureScope, DerivativeOperator, FunctionShape, ItemBody, RequestSite, RuntimeRequest, StaticShape, TypeArgs,
};
use lang_runtime::{
    DerivedFunction, FunctionValue, NestingTooDeep, OffloadRequest, RunnableBody, RuntimeInstance, RuntimeType, Value,
    find_in_value,
};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_types::tree::{TypedBody, TypedExpr, TypedId};
use lang_types::ty::Type;

/// The maximum number of functions in the values of one request. The interpreter evaluates a
/// request with more, because a program can build a new function from each result of the last.
const MAX_FUNCTIONS: usize = 64;

/// An application or expression, split into static knowledge, sizes and data.
pub struct ReflectedRequest {
    /// The static part, independent of the data.
    pub applied: RuntimeRequest,
    /// The sizes, in the order of [`lang_ir::runtime_request`].
    pub sizes: Vec<i64>,
    /// The integers and other data, in the same order.
    pub data: Vec<Value>,
}

impl ReflectedRequest {
    /// Returns whether the data are exactly these arguments, and nothing else was read.
    pub(crate) fn has_only(&self, arguments: &[Value]) -> bool {
        self.sizes.is_empty() && self.applied.globals.is_empty() && self.data.len() == arguments.len()
    }
}

/// The reason why the interpreter must evaluate a request.
#[derive(Clone, Debug)]
pub enum ReflectError {
    /// It contains dual numbers of a derivative in progress.
    HoldsDual,
    /// It has no compiled form.
    Unsupported(NoCoreFormReason),
}

type ReflectResult<T> = Result<T, ReflectError>;

/// The reader's queries about bodies and the run.
pub trait BodyQueries {
    /// Returns the locals that an expression reads and does not bind.
    fn free_locals(&self, body: &Arc<TypedBody>, of: TypedId) -> Arc<[LocalId]>;
    /// Returns the top-level `let`s with functions that an expression mentions, with their types.
    fn mentioned_globals(&self, body: &Arc<TypedBody>, of: TypedId) -> Arc<[(GlobalName, Type)]>;
    /// Returns the value of a top-level `let`.
    fn global_value(&self, name: &GlobalName) -> Option<Value>;
}

/// Reads the operands of an operator, or the variables of an expression.
///
/// # Errors
/// The reason why the interpreter must evaluate it.
pub fn reflect(request: &OffloadRequest<'_>, texts: &dyn BodyQueries) -> ReflectResult<ReflectedRequest> {
    let mut reader = RequestReader::new(texts);
    let site = match request {
        OffloadRequest::Operator(derived, args) => {
            let operator = reader.operator(derived)?;
            let args = args.iter().map(|arg| reader.reflect_value(arg)).collect::<ReflectResult<_>>()?;
            RequestSite::Operator(operator, args)
        }
        OffloadRequest::Deriv { code, frame, node, variable: by, expression: of } => {
            let locals = texts.free_locals(code.body(), *of);
            reader.record_mentioned(code.body(), *of);
            let read = locals.iter().copied().filter(|l| l != by).chain([*by]);
            let locals = read.filter_map(|l| Some((l, frame.get(l)?)));
            let scope = reader.scope(code, frame.types(), locals)?;
            RequestSite::Variable { scope, node: *node, variable: *by, expression: *of }
        }
        OffloadRequest::Expression { code, frame, node, .. } => {
            let locals = texts.free_locals(code.body(), *node);
            reader.record_mentioned(code.body(), *node);
            let read = locals.iter().filter_map(|l| Some((*l, frame.get(*l)?)));
            RequestSite::Expression { scope: reader.scope(code, frame.types(), read)?, node: *node }
        }
    };
    // Functions in top-level `let`s may mention further `let`s.
    let mut outer = RequestReader { globals: std::mem::take(&mut reader.globals), ..RequestReader::new(texts) };
    let (mut globals, mut next) = (Vec::new(), 0);
    while let Some((name, ty)) = outer.globals.get(next).cloned() {
        next += 1;
        // A `let` without a value fails at its use.
        if let Some(value) = texts.global_value(&name) {
            globals.push((name, ty, outer.reflect_value(&value)?));
        }
    }
    let RequestReader { mut sizes, mut data, .. } = outer;
    sizes.extend(reader.sizes);
    data.extend(reader.data);
    Ok(ReflectedRequest { applied: RuntimeRequest { site, globals }, sizes, data })
}

/// The reader of one request, with the sizes and data that it has collected.
struct RequestReader<'t> {
    texts: &'t dyn BodyQueries,
    sizes: Vec<i64>,
    data: Vec<Value>,
    /// The top-level `let`s with functions that the request mentions.
    globals: Vec<(GlobalName, Type)>,
    /// The number of functions so far.
    functions: usize,
}

impl<'t> RequestReader<'t> {
    fn new(texts: &'t dyn BodyQueries) -> Self {
        Self { texts, sizes: Vec::new(), data: Vec::new(), globals: Vec::new(), functions: 0 }
    }

    /// Records the top-level `let`s that an expression mentions.
    fn record_mentioned(&mut self, body: &Arc<TypedBody>, of: TypedId) {
        for mentioned in &*self.texts.mentioned_globals(body, of) {
            if !self.globals.iter().any(|(name, _)| *name == mentioned.0) {
                self.globals.push(mentioned.clone());
            }
        }
    }

    /// Reads the operator of a derivative, and the function that it applies to.
    fn operator(&mut self, derived: &DerivedFunction) -> ReflectResult<DerivativeOperator> {
        let place = derived.site();
        let known: Vec<(LocalId, Value)> = place.sizes().iter().map(|(l, n)| (*l, Value::I64(*n))).collect();
        let scope = self.scope(place.code(), place.types(), known.iter().map(|(l, v)| (*l, v)))?;
        let of = match derived.function() {
            Some(Value::Fun(function)) => Arc::new(self.function(function)?),
            _ => return Err(ReflectError::Unsupported(NoCoreFormReason::FunctionValue)),
        };
        Ok(DerivativeOperator {
            scope,
            node: place.node(),
            operator: derived.operator(),
            wrt: derived.wrt().clone(),
            function: of,
        })
    }

    /// Reads the locals of a scope, in the order sizes, integers, other data, functions.
    fn scope<'v>(
        &mut self,
        code: &RunnableBody,
        types: &[RuntimeType],
        locals: impl Iterator<Item = (LocalId, &'v Value)>,
    ) -> ReflectResult<CaptureScope> {
        let types = self.types(types)?;
        let (mut sizes, mut integers, mut data, mut functions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (local, value) in locals {
            match value {
                Value::I64(n) if code.body().sizes.contains(&local) => sizes.push((local, *n)),
                Value::I64(_) => integers.push((local, value)),
                _ if holds_function(value)? => functions.push((local, value)),
                _ => data.push((local, value)),
            }
        }
        let mut known = Vec::new();
        for (local, n) in sizes {
            self.sizes.push(n);
            known.push((local, StaticShape::Size));
        }
        for (local, value) in integers.into_iter().chain(data).chain(functions) {
            known.push((local, self.reflect_value(value)?));
        }
        let text = ItemBody { item: code.item().clone(), body: Arc::clone(code.body()) };
        Ok(CaptureScope { item_body: text, types, locals: known })
    }

    /// Reads a value of a local, an argument or a top-level `let`.
    fn reflect_value(&mut self, value: &Value) -> ReflectResult<StaticShape> {
        Ok(match value {
            Value::I64(_) => {
                self.data.push(value.clone());
                StaticShape::Integer
            }
            _ if !holds_function(value)? => {
                self.data.push(value.clone());
                StaticShape::Data
            }
            Value::Fun(function) => StaticShape::Function(Arc::new(self.function(function)?)),
            Value::Tuple(items) => {
                let items = items.values().iter();
                StaticShape::Tuple(
                    items
                        .map(|v| lang_base::ensure_sufficient_stack(|| self.reflect_value(v)))
                        .collect::<ReflectResult<_>>()?,
                )
            }
            Value::Record(record) => {
                let mut fields: Vec<_> = record.names().iter().zip(record.values()).collect();
                fields.sort_by_key(|(name, _)| *name);
                let fields = fields.into_iter().map(|(name, v)| {
                    let shape = lang_base::ensure_sufficient_stack(|| self.reflect_value(v))?;
                    Ok((name.clone(), shape))
                });
                StaticShape::Record(fields.collect::<ReflectResult<_>>()?)
            }
            _ => return Err(ReflectError::Unsupported(NoCoreFormReason::FunctionValue)),
        })
    }

    /// Reads a function value.
    fn function(&mut self, function: &FunctionValue) -> ReflectResult<FunctionShape> {
        self.functions += 1;
        if self.functions > MAX_FUNCTIONS {
            return Err(ReflectError::Unsupported(NoCoreFormReason::FunctionValue));
        }
        lang_base::ensure_sufficient_stack(|| {
            Ok(match function {
                FunctionValue::Lambda { code, node, captured, types } => {
                    let TypedExpr::Lambda(lambda) = &code.body().nodes[*node].kind else {
                        return Err(ReflectError::Unsupported(NoCoreFormReason::Errors));
                    };
                    self.record_mentioned(code.body(), lambda.body);
                    let locals = lambda.captures.iter().copied().zip(captured.values());
                    FunctionShape::Lambda { scope: self.scope(code, types, locals)?, node: *node }
                }
                FunctionValue::Def(name, RuntimeInstance { types, sizes }) => {
                    let types = self.types(types)?;
                    self.sizes.extend(sizes);
                    let sizes = u32::try_from(sizes.len()).unwrap_or(u32::MAX);
                    FunctionShape::Definition { name: name.clone(), types, sizes }
                }
                FunctionValue::Builtin(builtin) => FunctionShape::Builtin(*builtin),
                FunctionValue::Scalar(function) => FunctionShape::Scalar(*function),
                FunctionValue::Ctor(tag) => FunctionShape::Constructor(tag.index),
                FunctionValue::Derived(derived) => FunctionShape::Operator(self.operator(derived)?),
                // A tangent belongs to a rule, which the interpreter evaluates.
                FunctionValue::Tangent(_) => return Err(ReflectError::HoldsDual),
            })
        })
    }

    /// Reads type arguments. Each extent in them becomes a size of its own.
    fn types(&mut self, types: &[RuntimeType]) -> ReflectResult<TypeArgs> {
        let mut extents = 0;
        let types = types.iter().map(|t| self.type_argument(t, &mut extents)).collect::<ReflectResult<_>>()?;
        Ok(TypeArgs { args: types, extent_count: extents })
    }

    /// Reads a type argument, and counts its extents.
    fn type_argument(&mut self, ty: &RuntimeType, extents: &mut u32) -> ReflectResult<Type> {
        lang_base::ensure_sufficient_stack(|| {
            Ok(match ty {
                RuntimeType::Scalar(s) => Type::Scalar(*s),
                RuntimeType::Array(n, of) => {
                    let k = *extents;
                    *extents = extents.saturating_add(1);
                    self.sizes.push(i64::try_from(*n).unwrap_or(i64::MAX));
                    let extent = Atom::SizeParam(FunctionKey::FIRST_TYPE_EXTENT + k, format!("s{k}").into());
                    Type::Array(Poly::atom(extent), Arc::new(self.type_argument(of, extents)?))
                }
                RuntimeType::Tuple(items) => {
                    Type::Tuple(items.iter().map(|t| self.type_argument(t, extents)).collect::<ReflectResult<_>>()?)
                }
                RuntimeType::Record(fields) => {
                    let field =
                        |(name, t): &(_, RuntimeType)| Ok((Clone::clone(name), self.type_argument(t, extents)?));
                    Type::Record(fields.iter().map(field).collect::<ReflectResult<_>>()?)
                }
                RuntimeType::Other => return Err(ReflectError::Unsupported(NoCoreFormReason::FunctionValue)),
            })
        })
    }
}

/// Returns whether the value contains a function. Refuses dual numbers.
fn holds_function(value: &Value) -> ReflectResult<bool> {
    let found = find_in_value(value, |part| match part {
        Value::Fun(_) => Some(Ok(true)),
        Value::Dual(_) => Some(Err(ReflectError::HoldsDual)),
        _ => None,
    });
    match found {
        Ok(found) => found.unwrap_or(Ok(false)),
        Err(NestingTooDeep) => Err(ReflectError::Unsupported(NoCoreFormReason::RecursiveType)),
    }
}
