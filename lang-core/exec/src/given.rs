//! **Reflection of function values.** Reads function values of a run as static knowledge
//! ([`lang_ir::applied`]) and the sizes and data that they hold. The interpreter uses it to
//! compile the application of an operator or an expression.

use std::sync::Arc;

use lang_base::GlobalName;
use lang_ir::applied::{Applied, Given, Known, Operator, Scope, Site, Text, Types};
use lang_ir::core::{Callee, Reason};
use lang_runtime::{Asked, Code, Deep, Derived, Fun, RtInstance, RtType, Value, within};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_types::tree::{Body, Expr, TId};
use lang_types::ty::Type;

/// Functions that hold more functions than this, one in another, are left to the interpreter: a program can make one
/// of each result of the last.
const MAX_FUNCTIONS: usize = 64;

/// The result of reading.
pub struct Read {
    /// The static part, independent of the data.
    pub applied: Applied,
    /// The sizes, in the order of [`lang_ir::applied`].
    pub sizes: Vec<i64>,
    /// The integers and other data, in the same order.
    pub data: Vec<Value>,
}

impl Read {
    /// Returns whether these arguments are all that was read.
    pub(crate) fn is_of(&self, arguments: &[Value]) -> bool {
        self.sizes.is_empty() && self.applied.globals.is_empty() && self.data.len() == arguments.len()
    }
}

/// The reason why the interpreter must evaluate a value.
#[derive(Clone, Debug)]
pub enum Refused {
    /// A derivative is in progress around it, by dual numbers.
    Varies,
    /// It has no compiled form.
    Outside(Reason),
}

type Result<T> = std::result::Result<T, Refused>;

/// The queries of the reader about bodies and the run.
pub trait Texts {
    /// Returns the locals that an expression reads and does not bind ([`free`]).
    fn free(&self, body: &Arc<Body>, of: TId) -> Arc<[LocalId]>;
    /// Returns the top-level `let`s with functions that an expression mentions, with their types
    /// ([`mentioned`]).
    fn mentioned(&self, body: &Arc<Body>, of: TId) -> Arc<[(GlobalName, Type)]>;
    /// Returns the value of a top-level `let`.
    fn global(&self, name: &GlobalName) -> Option<Value>;
}

/// Reads the operands of an operator, or the variables of an expression.
///
/// # Errors
/// The reason why the interpreter must evaluate it.
pub fn read(asked: &Asked<'_>, texts: &dyn Texts) -> Result<Read> {
    let mut reader = Reader::new(texts);
    let site = match asked {
        Asked::Operator(derived, args) => {
            let operator = reader.operator(derived)?;
            let args = args.iter().map(|arg| reader.given(arg)).collect::<Result<_>>()?;
            Site::Operator(operator, args)
        }
        Asked::Variable { code, frame, node, by, of } => {
            let locals = texts.free(code.body(), *of);
            reader.mention(code.body(), *of);
            let read = locals.iter().copied().filter(|l| l != by).chain([*by]);
            let locals = read.filter_map(|l| Some((l, frame.get(l)?)));
            let scope = reader.scope(code, frame.types(), locals)?;
            Site::Variable { scope, node: *node, by: *by, of: *of }
        }
        Asked::Here { code, frame, node, .. } => {
            let locals = texts.free(code.body(), *node);
            reader.mention(code.body(), *node);
            let read = locals.iter().filter_map(|l| Some((*l, frame.get(*l)?)));
            Site::Here { scope: reader.scope(code, frame.types(), read)?, node: *node }
        }
    };
    // The functions of top-level `let`s mention others.
    let mut outer = Reader { globals: std::mem::take(&mut reader.globals), ..Reader::new(texts) };
    let (mut globals, mut next) = (Vec::new(), 0);
    while let Some((name, ty)) = outer.globals.get(next).cloned() {
        next += 1;
        // One that has no value fails where it is used.
        if let Some(value) = texts.global(&name) {
            globals.push((name, ty, outer.given(&value)?));
        }
    }
    let Reader { mut sizes, mut data, .. } = outer;
    sizes.extend(reader.sizes);
    data.extend(reader.data);
    Ok(Read { applied: Applied { site, globals }, sizes, data })
}

struct Reader<'t> {
    texts: &'t dyn Texts,
    sizes: Vec<i64>,
    data: Vec<Value>,
    /// The top-level `let`s that are mentioned.
    globals: Vec<(GlobalName, Type)>,
    functions: usize,
}

impl<'t> Reader<'t> {
    fn new(texts: &'t dyn Texts) -> Self {
        Self { texts, sizes: Vec::new(), data: Vec::new(), globals: Vec::new(), functions: 0 }
    }

    /// Notes what an expression mentions.
    fn mention(&mut self, body: &Arc<Body>, of: TId) {
        for mentioned in &*self.texts.mentioned(body, of) {
            if !self.globals.iter().any(|(name, _)| *name == mentioned.0) {
                self.globals.push(mentioned.clone());
            }
        }
    }

    fn operator(&mut self, derived: &Derived) -> Result<Operator> {
        let place = derived.place();
        let known: Vec<(LocalId, Value)> = place.sizes().iter().map(|(l, n)| (*l, Value::I64(*n))).collect();
        let scope = self.scope(place.code(), place.types(), known.iter().map(|(l, v)| (*l, v)))?;
        let of = match derived.function() {
            Some(Value::Fun(function)) => Arc::new(self.function(function)?),
            _ => return Err(Refused::Outside(Reason::FunctionValue)),
        };
        Ok(Operator { scope, node: place.node(), operator: derived.operator(), wrt: derived.wrt().clone(), of })
    }

    fn scope<'v>(
        &mut self,
        code: &Code,
        types: &[RtType],
        locals: impl Iterator<Item = (LocalId, &'v Value)>,
    ) -> Result<Scope> {
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
            known.push((local, Given::Size));
        }
        for (local, value) in integers.into_iter().chain(data).chain(functions) {
            known.push((local, self.given(value)?));
        }
        let text = Text { item: code.item().clone(), body: Arc::clone(code.body()) };
        Ok(Scope { text, types, locals: known })
    }

    fn given(&mut self, value: &Value) -> Result<Given> {
        Ok(match value {
            Value::I64(_) => {
                self.data.push(value.clone());
                Given::Integer
            }
            _ if !holds_function(value)? => {
                self.data.push(value.clone());
                Given::Data
            }
            Value::Fun(function) => Given::Function(Arc::new(self.function(function)?)),
            Value::Tuple(items) => {
                let items = items.values().iter();
                Given::Tuple(items.map(|v| lang_base::guarded(|| self.given(v))).collect::<Result<_>>()?)
            }
            Value::Record(record) => {
                let mut fields: Vec<_> = record.names().iter().zip(record.values()).collect();
                fields.sort_by_key(|(name, _)| *name);
                let fields = fields.into_iter().map(|(name, v)| {
                    let given = lang_base::guarded(|| self.given(v))?;
                    Ok((name.clone(), given))
                });
                Given::Record(fields.collect::<Result<_>>()?)
            }
            _ => return Err(Refused::Outside(Reason::FunctionValue)),
        })
    }

    fn function(&mut self, function: &Fun) -> Result<Known> {
        self.functions += 1;
        if self.functions > MAX_FUNCTIONS {
            return Err(Refused::Outside(Reason::FunctionValue));
        }
        lang_base::guarded(|| {
            Ok(match function {
                Fun::Lambda { code, node, captured, types } => {
                    let Expr::Lambda(lambda) = &code.body().nodes[*node].kind else {
                        return Err(Refused::Outside(Reason::Errors));
                    };
                    self.mention(code.body(), lambda.body);
                    let locals = lambda.captures.iter().copied().zip(captured.values());
                    Known::Lambda { scope: self.scope(code, types, locals)?, node: *node }
                }
                Fun::Def(name, RtInstance { types, sizes }) => {
                    let types = self.types(types)?;
                    self.sizes.extend(sizes);
                    let sizes = u32::try_from(sizes.len()).unwrap_or(u32::MAX);
                    Known::Definition { name: name.clone(), types, sizes }
                }
                Fun::Builtin(builtin) => Known::Builtin(*builtin),
                Fun::Scalar(function) => Known::Scalar(*function),
                Fun::Ctor(tag) => Known::Constructor(tag.index),
                Fun::Derived(derived) => Known::Operator(self.operator(derived)?),
                // It belongs to a rule that the interpreter evaluates.
                Fun::Tangent(_) => return Err(Refused::Varies),
            })
        })
    }

    /// Type arguments, each extent in them a size of its own.
    fn types(&mut self, types: &[RtType]) -> Result<Types> {
        let mut extents = 0;
        let types = types.iter().map(|t| self.type_argument(t, &mut extents)).collect::<Result<_>>()?;
        Ok(Types { types, extents })
    }

    fn type_argument(&mut self, ty: &RtType, extents: &mut u32) -> Result<Type> {
        lang_base::guarded(|| {
            Ok(match ty {
                RtType::Scalar(s) => Type::Scalar(*s),
                RtType::Array(n, of) => {
                    let k = *extents;
                    *extents = extents.saturating_add(1);
                    self.sizes.push(i64::try_from(*n).unwrap_or(i64::MAX));
                    let extent = Atom::Bound(Callee::FIRST_EXTRA + k, format!("s{k}").into());
                    Type::Array(Poly::atom(extent), Arc::new(self.type_argument(of, extents)?))
                }
                RtType::Tuple(items) => {
                    Type::Tuple(items.iter().map(|t| self.type_argument(t, extents)).collect::<Result<_>>()?)
                }
                RtType::Record(fields) => {
                    let field = |(name, t): &(_, RtType)| Ok((Clone::clone(name), self.type_argument(t, extents)?));
                    Type::Record(fields.iter().map(field).collect::<Result<_>>()?)
                }
                RtType::Other => return Err(Refused::Outside(Reason::FunctionValue)),
            })
        })
    }
}

/// Is there a function in the value? What varies is refused.
fn holds_function(value: &Value) -> Result<bool> {
    let found = within(value, |part| match part {
        Value::Fun(_) => Some(Ok(true)),
        Value::Dual(_) => Some(Err(Refused::Varies)),
        _ => None,
    });
    match found {
        Ok(found) => found.unwrap_or(Ok(false)),
        Err(Deep) => Err(Refused::Outside(Reason::RecursiveType)),
    }
}
