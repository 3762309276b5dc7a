//! **Elaboration**: from the typed tree to core, the calculus of the paper. It is the first pass of
//! normalisation. Functions that take functions are inlined at their calls, types are those of the
//! instance, and sizes stay symbolic. Lifted operations and slices become generations, `if` becomes
//! a sum of brackets, and an unproved index gets a check.
//!
//! Elaboration is symbolic evaluation: [`SymbolicValue`] is the symbolic value of an expression.
//! Integers are polynomials and truth values are predicates, as far as they are understood. An
//! integer or truth value that only the run knows gets a variable, which polynomials and predicates
//! then read.
//!
//! A binding goes into the innermost open scope ([`Elaborator::in_scope`]): a function, the body of
//! a binder, or the operand of a bracket. So core evaluates only expressions that the program
//! evaluates, and computes each once.

mod access;
mod bind;
mod call;
mod closure_conversion;
mod constructor_agreement;
mod control;
mod derive;
mod expr;
mod guarded_terms;
mod higher_order_rules;
mod jacobian;
mod loops;
mod ops;
mod range;
mod reduce;
mod relation;
mod runtime_request;
mod sorting;
mod update;

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use derive::DerivativeOperand;
use lang_base::ensure_sufficient_stack;
use lang_base::{Code, GlobalName, Name, Span};
use lang_ir::core::{
    CheckFailure, CoreExpr, CoreFunction, CoreType, ExprKind, ExprRef, FunctionKey, NoCoreForm, NoCoreFormReason,
    RuleKind, TupleLabels, Vars,
};
use lang_resolve::builtin::Builtin;
use lang_resolve::forms::DerivativeOp;
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, FactContext, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::{TypedBody, TypedId, TypedLambda};
use lang_types::ty::{Signature, SizeSource, Type};
use lang_types::type_info::TypeInfo;

/// The largest number of nodes elaborated for one function. The limit exists because inlining can
/// multiply nodes.
const MAX_NODES: usize = 100_000;

/// The deepest nesting of inlined functions. Beyond it a recursion is assumed.
const MAX_INLINE_DEPTH: usize = 64;

/// The bound on the absolute value of integers in understood arithmetic
/// ([`CoreFunction::bounded_params`]).
const INTEGER_BOUND: i128 = 1 << 47;

/// Queries of elaboration about other items.
pub trait ElabQueries {
    /// Returns the body of a definition; `None` if it has errors.
    fn body(&self, name: &GlobalName) -> Option<Arc<TypedBody>>;
    /// Returns the type of a definition.
    fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>>;
    /// Returns the declaration of a type.
    fn type_info(&self, name: &GlobalName) -> Option<Arc<TypeInfo>>;

    /// Returns the name of the derivative rule of this kind beside a definition, if it exists.
    fn rule(&self, name: &GlobalName, kind: RuleKind) -> Option<GlobalName> {
        let rule = GlobalName::new(&name.module, &format!("{} {}", kind.keyword(), name.name));
        self.body(&rule).map(|_| rule)
    }

    /// Returns whether the definition has a derivative rule.
    fn has_rule(&self, name: &GlobalName) -> bool {
        [RuleKind::Derivative, RuleKind::Adjoint].into_iter().any(|kind| self.rule(name, kind).is_some())
    }
}

/// Returns the core form of a definition at types.
///
/// # Errors
/// The first expression in it that has no core form.
pub fn elaborate(bodies: &dyn ElabQueries, callee: &Arc<FunctionKey>) -> Result<CoreFunction, Box<NoCoreForm>> {
    let mut elaborator = Elaborator::new(bodies, callee);
    let function = match &callee.runtime_request {
        Some(applied) => elaborator.elaborate_request(callee, applied),
        None => elaborator.elaborate_function(callee),
    };
    if callee.rules.is_empty() {
        return function;
    }
    // Elaboration of the definition has reached the rule, if it exists.
    elaborator
        .requested_rule
        .take()
        .unwrap_or_else(|| Err(elaborator.no_core_form(NoCoreFormReason::Derivative, Span::default())))
}

type ElabResult<T> = Result<T, Box<NoCoreForm>>;

/// The symbolic value of an expression.
#[derive(Clone)]
enum SymbolicValue {
    /// An `i64`. `exact`: no operation on the way can have wrapped, so the polynomial may be used
    /// in comparisons.
    Int { poly: Poly, exact: bool },
    /// A `bool`.
    Bool(Pred),
    /// Any other data.
    Data(ExprRef),
    /// A tuple, a record or a value of a sum type, by components in the order of
    /// [`CoreType::Tuple`].
    Tuple(Vec<SymbolicValue>, TupleLabels),
    /// A function.
    Fun(Rc<Closure>),
}

/// A function value known at elaboration.
enum Closure {
    /// A lambda with its captures.
    Lambda { scope: Rc<ElabBody>, env: ElabEnv, lambda: Arc<TypedLambda> },
    /// Any other function, by the expression that names it and its environment.
    Reference { scope: Rc<ElabBody>, env: ElabEnv, node: TypedId },
    /// A definition at types and sizes, with the type of its result.
    Definition { name: GlobalName, types: Vec<Type>, sizes: Vec<Poly>, result: Type },
    /// A library function that is not written in Iverson.
    Builtin(Builtin),
    /// A scalar function.
    Scalar(ScalarFn),
    /// A constructor of a type.
    Constructor(Type, u32),
    /// The tangent of a function along the tangents of its captures.
    Tangent { function: Rc<Closure>, along: Rc<higher_order_rules::CaptureTangents> },
    /// A derivative operator applied to a function.
    Operator { operator: DerivativeOp, wrt: Arc<[usize]>, of: Box<DerivativeOperand> },
}

/// The values of locals.
type ElabEnv = HashMap<LocalId, SymbolicValue>;

/// A body under elaboration.
struct ElabBody {
    item: GlobalName,
    body: Arc<TypedBody>,
    /// The arguments for its type parameters. Extents in them are over the variables of the
    /// function.
    types: Vec<Type>,
    /// The span of the call, if the body is inlined: everything in it is located there.
    inlined: Option<Span>,
}

/// A body with the values of its locals.
struct ElabFrame {
    code: Rc<ElabBody>,
    env: ElabEnv,
}

/// A scope: bindings at one depth.
#[derive(Default)]
struct BindingScope {
    /// The number of index variables in scope.
    depth: usize,
    bindings: Vec<(LocalId, ExprRef)>,
}

struct Elaborator<'a> {
    bodies: &'a dyn ElabQueries,
    /// The item that the function belongs to.
    item: GlobalName,
    vars: Vars,
    /// The open scopes, outermost first.
    scopes: Vec<BindingScope>,
    context: FactContext,
    /// Index variables with their extents, by which sums over them are bounded; sizes have none.
    indices: HashMap<LocalId, Option<Poly>>,
    params: BTreeSet<LocalId>,
    bounded_params: BTreeSet<LocalId>,
    /// The number of index variables in scope within the function or loop body.
    depth: usize,
    /// The depth at which a variable is bound. If it is above 0, the variable has a value for each
    /// value of the index variables.
    depths: HashMap<LocalId, usize>,
    /// Whether this is the body of a loop, in which updates are in place.
    in_loop_body: bool,
    /// Arrays of positions, with the extent of the axis that they index.
    sorted_positions: HashMap<LocalId, Poly>,
    /// The checkpoint settings of the next loop.
    pending_checkpoint: Option<loops::CheckpointSettings>,
    /// The types of parameters and bound variables.
    types: HashMap<LocalId, CoreType>,
    /// Local functions: closures, loop bodies and functions to differentiate.
    local_functions: Vec<Arc<CoreFunction>>,
    /// Top-level `let`s that hold known functions.
    globals: HashMap<GlobalName, SymbolicValue>,
    callee: Arc<FunctionKey>,
    fuel: usize,
    inline_stack: Vec<GlobalName>,
    /// The number of rules entered on the path to the requested rule
    /// ([`lang_ir::core::LocalFunctionRule`]).
    rules_entered: usize,
    /// The rule at the end of that path.
    requested_rule: Option<ElabResult<CoreFunction>>,
}

impl<'a> Elaborator<'a> {
    fn new(bodies: &'a dyn ElabQueries, callee: &Arc<FunctionKey>) -> Self {
        Self {
            bodies,
            item: callee.def.clone(),
            vars: Vars::default(),
            scopes: vec![BindingScope::default()],
            context: FactContext::default(),
            indices: HashMap::new(),
            params: BTreeSet::new(),
            bounded_params: BTreeSet::new(),
            depth: 0,
            depths: HashMap::new(),
            in_loop_body: false,
            sorted_positions: HashMap::new(),
            pending_checkpoint: None,
            types: HashMap::new(),
            local_functions: Vec::new(),
            globals: HashMap::new(),
            callee: Arc::clone(callee),
            fuel: MAX_NODES,
            inline_stack: vec![callee.def.clone()],
            rules_entered: 0,
            requested_rule: None,
        }
    }

    fn elaborate_function(&mut self, callee: &Arc<FunctionKey>) -> ElabResult<CoreFunction> {
        let nowhere = |what| Box::new(NoCoreForm { reason: what, item: callee.def.clone(), span: Span::default() });
        let body = self.bodies.body(&callee.def).ok_or_else(|| nowhere(NoCoreFormReason::Errors))?;
        // A rule has no signature of its own.
        let signature = self.bodies.signature(&callee.def);
        let is_size = |name: &Name| {
            let sizes = signature.iter().flat_map(|s| &s.sizes);
            sizes.into_iter().any(|s| s.name == *name && matches!(s.source, SizeSource::Param(_)))
        };
        let mut env = ElabEnv::new();
        let mut sizes = Vec::new();
        for local in &body.sizes {
            let name = body.locals.get(local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
            let size = self.add_size(name);
            env.insert(*local, SymbolicValue::Int { poly: Poly::atom(self.vars.atom(size)), exact: true });
            sizes.push(size);
        }
        let types = self.instance_types(callee, &mut sizes);
        let code = Rc::new(ElabBody { item: callee.def.clone(), body: body.clone(), types, inlined: None });
        let mut frame = ElabFrame { code, env };
        let mut declared = Vec::new();
        for local in &body.params {
            let decl = body.locals.get(local.0 as usize).ok_or_else(|| nowhere(NoCoreFormReason::Errors))?;
            let param = self.vars.fresh(decl.name.clone());
            self.params.insert(param);
            // An integer may be an extent of any other parameter, including one before it. So
            // integers are declared first.
            if decl.ty == Type::I64 {
                let poly = Poly::atom(self.vars.atom(param));
                frame.env.insert(*local, SymbolicValue::Int { poly, exact: true });
                if is_size(&decl.name) {
                    self.bounded_params.insert(param);
                }
            }
            declared.push((*local, param, decl));
        }
        let mut params = Vec::new();
        for (local, param, decl) in declared {
            let ty = self.core_type(&frame, &decl.ty, Span::default())?;
            if decl.ty != Type::I64 {
                let sym = self.variable(param, &ty, decl.span);
                frame.env.insert(local, sym);
            }
            self.types.insert(param, ty.clone());
            params.push((param, ty));
        }
        let root = body.root.ok_or_else(|| nowhere(NoCoreFormReason::Errors))?;
        let (span, ty) = (body.nodes[root].span, body.nodes[root].ty.clone());
        let body = self.in_closed_scope(span, |this| {
            let result = this.expr(&mut frame, root)?;
            let e = this.data_value(&result, span)?;
            // A caller knows the extents by the declared type.
            Ok(match this.core_type(&frame, &ty, span) {
                Ok(declared) => SymbolicValue::Data(this.with_extents(e, &declared)),
                Err(_) => SymbolicValue::Data(e),
            })
        })?;
        let (vars, bounded) = (std::mem::take(&mut self.vars), std::mem::take(&mut self.bounded_params));
        let locals = std::mem::take(&mut self.local_functions);
        Ok(CoreFunction {
            callee: callee.clone(),
            vars,
            sizes,
            params,
            bounded_params: bounded,
            body,
            local_functions: locals,
            rule_of: None,
        })
    }

    /// Returns the value with the declared extents, if its own extents read data. The two are
    /// equal, but the caller knows only the declared ones.
    fn with_extents(&mut self, e: ExprRef, ty: &CoreType) -> ExprRef {
        let mut read = false;
        for leaf in e.ty.leaves() {
            leaf.dims.iter().for_each(|n| n.for_each_atom(&mut |a| read |= matches!(a, Atom::Read(..))));
        }
        if !read || e.ty == *ty {
            return e;
        }
        match (e.ty.clone(), ty) {
            (CoreType::Tensor(..), CoreType::Tensor(..)) if e.ty.split_array().0.len() == ty.split_array().0.len() => {
                let e = self.bind("r", e);
                let dims: Vec<Poly> = ty.split_array().0.into_iter().cloned().collect();
                let indices: Vec<Index> = dims.into_iter().map(|n| self.vars.fresh_index("i", n)).collect();
                let element = indices.iter().fold(e, |e, i| CoreExpr::access(&e, i.value()));
                indices.into_iter().rev().fold(element, |e, i| CoreExpr::generate(i, e))
            }
            (CoreType::Tuple(parts, labels), CoreType::Tuple(types, _)) if parts.len() == types.len() => {
                let items: Vec<ExprRef> = match &e.kind {
                    ExprKind::Tuple(items) => items.clone(),
                    _ => {
                        let e = self.bind("r", e.clone());
                        (0..).take(types.len()).map(|k| CoreExpr::proj(&e, k)).collect()
                    }
                };
                let items: Vec<ExprRef> =
                    items.into_iter().zip(types.iter()).map(|(e, ty)| self.with_extents(e, ty)).collect();
                let ty = CoreType::Tuple(items.iter().map(|e| e.ty.clone()).collect(), labels);
                CoreExpr::new(ExprKind::Tuple(items), ty, Span::default())
            }
            _ => e,
        }
    }

    /// Adds a size of the function.
    fn add_size(&mut self, name: Name) -> LocalId {
        let size = self.vars.fresh(name);
        self.indices.insert(size, None);
        let poly = Poly::atom(self.vars.atom(size));
        self.context.assume(&Pred::nonneg(&poly));
        size
    }

    /// Returns the type arguments, and adds a size of the function for each extent in them.
    fn instance_types(&mut self, callee: &FunctionKey, sizes: &mut Vec<LocalId>) -> Vec<Type> {
        let mut extra = HashMap::new();
        for ty in &*callee.types {
            ty.visit(&mut |_| {}, &mut |p| {
                p.for_each_atom(&mut |a| {
                    if let Atom::SizeParam(k, name) = a {
                        extra.entry(*k).or_insert_with(|| name.clone());
                    }
                });
            });
        }
        let mut extra: Vec<_> = extra.into_iter().collect();
        extra.sort();
        let size_values: HashMap<u32, Poly> = extra
            .into_iter()
            .map(|(k, name)| {
                let size = self.add_size(name);
                sizes.push(size);
                (k, Poly::atom(self.vars.atom(size)))
            })
            .collect();
        let put = |p: &Poly, _: u32| {
            p.substitute(&|a| if let Atom::SizeParam(k, _) = a { size_values.get(k).cloned() } else { None })
        };
        callee.types.iter().map(|t| t.map_sizes(&put)).collect()
    }

    // ---- scopes ----

    /// Elaborates in a scope of its own, and returns the scope's bindings with the value.
    fn in_scope<T>(&mut self, f: impl FnOnce(&mut Self) -> ElabResult<T>) -> ElabResult<(Vec<(LocalId, ExprRef)>, T)> {
        self.scopes.push(BindingScope { depth: self.depth, bindings: Vec::new() });
        let value = ensure_sufficient_stack(|| f(self));
        let scope = self.scopes.pop().unwrap_or_default();
        Ok((scope.bindings, value?))
    }

    /// Elaborates data in a scope of its own, and wraps them in the scope's bindings.
    fn in_closed_scope(
        &mut self,
        span: Span,
        f: impl FnOnce(&mut Self) -> ElabResult<SymbolicValue>,
    ) -> ElabResult<ExprRef> {
        let (bindings, e) = self.in_scope(|this| {
            let sym = f(this)?;
            this.data_value(&sym, span)
        })?;
        Ok(CoreExpr::lets(bindings, e))
    }

    /// Elaborates under the assumption of a predicate.
    fn assuming<T>(&mut self, p: &Pred, f: impl FnOnce(&mut Self) -> ElabResult<T>) -> ElabResult<T> {
        let mark = self.context.mark();
        self.context.assume(p);
        let value = f(self);
        self.context.release(mark);
        value
    }

    /// Elaborates inside the range of an index.
    fn in_index_range<T>(&mut self, index: &Index, f: impl FnOnce(&mut Self) -> ElabResult<T>) -> ElabResult<T> {
        let mark = self.context.mark();
        self.context.assume_in_range(index);
        self.indices.insert(index.local, Some(index.extent.clone()));
        self.depth += 1;
        let value = f(self);
        self.depth -= 1;
        self.context.release(mark);
        value
    }

    /// Returns the symbolic value of a variable.
    fn variable(&self, local: LocalId, ty: &CoreType, span: Span) -> SymbolicValue {
        let name = self.vars.name(local);
        match ty {
            CoreType::Scalar(Scalar::I64) => {
                SymbolicValue::Int { poly: Poly::atom(Atom::Read(local, name, Arc::from([]))), exact: true }
            }
            CoreType::Scalar(Scalar::Bool) => SymbolicValue::Bool(Pred::Element(local, name, Arc::from([]), true)),
            _ => SymbolicValue::Data(CoreExpr::new(ExprKind::Var(local), ty.clone(), span)),
        }
    }

    /// Returns the symbolic value of data. An integer or truth value that is not an element of a
    /// variable is bound to one.
    fn symbolic_value(&mut self, e: ExprRef) -> SymbolicValue {
        let scalar = match e.ty {
            CoreType::Scalar(s @ (Scalar::I64 | Scalar::Bool)) => s,
            _ => return SymbolicValue::Data(e),
        };
        if let ExprKind::Index(poly) = &e.kind {
            return SymbolicValue::Int { poly: poly.clone(), exact: false };
        }
        let e = if as_variable_element(&e).is_some() { e } else { self.bind_always(&e) };
        match (as_variable_element(&e), scalar) {
            (Some((x, at)), Scalar::I64) => {
                SymbolicValue::Int { poly: Poly::atom(Atom::Read(x, self.vars.name(x), at.into())), exact: true }
            }
            (Some((x, at)), _) => SymbolicValue::Bool(Pred::Element(x, self.vars.name(x), at.into(), true)),
            (None, _) => SymbolicValue::Data(e),
        }
    }

    /// Returns a symbolic value as data.
    fn data_value(&mut self, sym: &SymbolicValue, span: Span) -> ElabResult<ExprRef> {
        Ok(match sym {
            SymbolicValue::Data(e) => e.clone(),
            SymbolicValue::Int { poly, .. } => match poly.as_atom() {
                Some(Atom::Read(x, _, at)) => self.element_of(*x, at, Scalar::I64, span),
                _ => CoreExpr::new(ExprKind::Index(poly.clone()), CoreType::Scalar(Scalar::I64), span),
            },
            SymbolicValue::Bool(p) => self.bool_data(p, span),
            SymbolicValue::Tuple(items, names) => {
                let items = items.iter().map(|s| self.data_value(s, span)).collect::<ElabResult<Vec<ExprRef>>>()?;
                let ty = CoreType::Tuple(items.iter().map(|e| e.ty.clone()).collect(), names.clone());
                CoreExpr::new(ExprKind::Tuple(items), ty, span)
            }
            SymbolicValue::Fun(_) => return Err(self.no_core_form(NoCoreFormReason::FunctionValue, span)),
        })
    }

    /// Returns a truth value as data: the constant `true` in a bracket.
    fn bool_data(&mut self, p: &Pred, span: Span) -> ExprRef {
        let ty = CoreType::Scalar(Scalar::Bool);
        if let Pred::Element(x, _, at, true) = p {
            return self.element_of(*x, at, Scalar::Bool, span);
        }
        let constant = |b| CoreExpr::new(ExprKind::Constant(lang_ir::core::Constant::Bool(b)), ty.clone(), span);
        if p.is_false() { constant(false) } else { CoreExpr::guard(p.clone(), constant(true)) }
    }

    /// Returns an element of a variable.
    fn element_of(&self, x: LocalId, at: &[Poly], scalar: Scalar, span: Span) -> ExprRef {
        let array = CoreType::Scalar(scalar).with_extents(at.iter().map(|_| Poly::default()));
        // The extents of the variable do not matter for one element.
        at.iter().fold(CoreExpr::new(ExprKind::Var(x), array, span), |e, at| CoreExpr::access(&e, at.clone()))
    }

    // ---- places, limits ----

    fn span(&self, f: &ElabFrame, node: TypedId) -> Span {
        f.code.inlined.unwrap_or_else(|| f.code.body.nodes[node].span)
    }

    fn no_core_form(&self, what: NoCoreFormReason, span: Span) -> Box<NoCoreForm> {
        Box::new(NoCoreForm { reason: what, item: self.item.clone(), span })
    }

    fn check_failure(&self, f: &ElabFrame, node: TypedId, code: Code, what: impl Into<Name>) -> Arc<CheckFailure> {
        Arc::new(CheckFailure { code, message: what.into(), item: f.code.item.clone(), node: Some(node) })
    }

    fn spend_fuel(&mut self, span: Span) -> ElabResult<()> {
        self.fuel = self.fuel.checked_sub(1).ok_or_else(|| self.no_core_form(NoCoreFormReason::TooLarge, span))?;
        Ok(())
    }

    // ---- types and sizes ----

    /// Returns a size over the variables of the function.
    fn elaborate_size(&mut self, f: &ElabFrame, p: &Poly, span: Span) -> ElabResult<Poly> {
        let mut unknown = false;
        p.for_each_atom(&mut |a| {
            unknown |= match a {
                Atom::Local(l, _) => !matches!(f.env.get(l), Some(SymbolicValue::Int { .. })),
                Atom::SizeParam(..) | Atom::Arg(..) | Atom::Meta(_) | Atom::Overflow => true,
                _ => false,
            };
        });
        if unknown {
            return Err(self.no_core_form(NoCoreFormReason::DataRange, span));
        }
        let put = p.substitute(&|a| match a {
            Atom::Local(l, _) => match f.env.get(l) {
                Some(SymbolicValue::Int { poly, .. }) => Some(poly.clone()),
                _ => None,
            },
            _ => None,
        });
        self.mark_bounded(&put);
        Ok(put)
    }

    /// Returns a size over the variables of the function, in which unknown atoms stay.
    fn partial_size(&mut self, f: &ElabFrame, p: &Poly) -> Poly {
        let put = p.substitute(&|a| match a {
            Atom::Local(l, _) => match f.env.get(l) {
                Some(SymbolicValue::Int { poly, .. }) => Some(poly.clone()),
                _ => None,
            },
            _ => None,
        });
        self.mark_bounded(&put);
        put
    }

    /// Bounds the integer parameters in a polynomial, because it is used as an index or size.
    fn mark_bounded(&mut self, p: &Poly) {
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) = a
                && self.params.contains(l)
            {
                self.bounded_params.insert(*l);
            }
        });
    }

    /// Substitutes type parameters and sizes in a type.
    fn concrete(&mut self, f: &ElabFrame, ty: &Type, span: Span) -> ElabResult<Type> {
        self.substitute_type(f, ty, false, span)
    }

    /// Does the same, but sizes that depend on arguments of enclosing function types stay open.
    fn open_type(&mut self, f: &ElabFrame, ty: &Type, span: Span) -> ElabResult<Type> {
        self.substitute_type(f, ty, true, span)
    }

    fn substitute_type(&mut self, f: &ElabFrame, ty: &Type, open: bool, span: Span) -> ElabResult<Type> {
        let mut sizes = HashMap::new();
        let mut found = Vec::new();
        ty.visit(&mut |_| {}, &mut |p| found.push(p.clone()));
        for p in found {
            let mut has_argument = false;
            p.for_each_atom(&mut |a| has_argument |= matches!(a, Atom::Arg(..)));
            let q = if open && has_argument { self.partial_size(f, &p) } else { self.elaborate_size(f, &p, span)? };
            sizes.insert(p, q);
        }
        let param = |t: &Type, _: u32| match t {
            Type::Param(k, _) => f.code.types.get(*k as usize).cloned(),
            _ => None,
        };
        Ok(ty.map(&param, &|p, _| sizes.get(p).cloned().unwrap_or_default()))
    }

    /// Returns the core type of a type. A function type has none.
    fn core_type(&mut self, f: &ElabFrame, ty: &Type, span: Span) -> ElabResult<CoreType> {
        let ty = self.concrete(f, ty, span)?;
        self.to_core_type(&ty, &mut Vec::new(), span)
    }

    /// Does the same for a type without parameters. `inside` lists the enclosing sum types.
    fn to_core_type(&self, ty: &Type, inside: &mut Vec<GlobalName>, span: Span) -> ElabResult<CoreType> {
        Ok(match ty {
            Type::Scalar(s) => CoreType::Scalar(*s),
            Type::Array(n, t) => CoreType::Tensor(n.clone(), Arc::new(self.to_core_type(t, inside, span)?)),
            Type::Tuple(items) => CoreType::tuple(
                items.iter().map(|t| self.to_core_type(t, inside, span)).collect::<ElabResult<Vec<_>>>()?,
            ),
            Type::Record(fields) => {
                let order = field_order(fields);
                let parts = order.iter().filter_map(|k| fields.get(*k));
                let names = parts.clone().map(|(n, _)| n.clone()).collect();
                let types = parts.map(|(_, t)| self.to_core_type(t, inside, span)).collect::<ElabResult<_>>()?;
                CoreType::Tuple(types, TupleLabels::Fields(names))
            }
            Type::Rel(dims) => CoreType::Rel(dims.clone()),
            Type::Data(..) => self.sum_type(ty, inside, span)?,
            Type::Fun(_) => return Err(self.no_core_form(NoCoreFormReason::FunctionValue, span)),
            Type::Str => return Err(self.no_core_form(NoCoreFormReason::Effect, span)),
            Type::Param(..) | Type::Meta(_) | Type::Error => {
                return Err(self.no_core_form(NoCoreFormReason::Errors, span));
            }
        })
    }

    /// Returns whether the polynomial equals the `i64` value, because no operation can wrap. If so,
    /// bounds the parameters that this depends on.
    fn fits_i64(&mut self, p: &Poly) -> bool {
        if p.as_atom().is_some() || p.as_constant().is_some() {
            return true;
        }
        let Some(size) = self.magnitude(p) else { return false };
        let fits = size <= i128::from(i64::MAX);
        if fits {
            self.mark_bounded(p);
        }
        fits
    }

    /// Returns a bound on the absolute value, if one is known.
    fn magnitude(&self, p: &Poly) -> Option<i128> {
        p.terms().iter().try_fold(0_i128, |sum, (m, c)| {
            let product = m.iter().try_fold(c.checked_abs()?, |product, (a, power)| {
                let of = match a {
                    Atom::Local(..) => INTEGER_BOUND,
                    Atom::Div(p, q) => q.as_constant().and_then(|_| self.magnitude(p))?,
                    Atom::Mod(_, q) => self.magnitude(q)?,
                    Atom::Min(p, q) | Atom::Max(p, q) => self.magnitude(p)?.max(self.magnitude(q)?),
                    _ => return None,
                };
                (0..*power).try_fold(product, |product, _| product.checked_mul(of))
            })?;
            sum.checked_add(product)
        })
    }
}

fn contains_function(value: &SymbolicValue) -> bool {
    match value {
        SymbolicValue::Fun(_) => true,
        SymbolicValue::Tuple(items, _) => items.iter().any(contains_function),
        SymbolicValue::Int { .. } | SymbolicValue::Bool(_) | SymbolicValue::Data(_) => false,
    }
}

/// Returns the positions of a record's fields, sorted by name.
fn field_order(fields: &[(Name, Type)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by(|a, b| fields.get(*a).map(|f| &f.0).cmp(&fields.get(*b).map(|f| &f.0)));
    order
}

/// Returns the variable and the indices, if the expression is a variable or an element of one.
fn as_variable_element(e: &ExprRef) -> Option<(LocalId, Vec<Poly>)> {
    let mut at = Vec::new();
    let mut e = e;
    loop {
        match &e.kind {
            ExprKind::Var(x) => {
                at.reverse();
                return Some((*x, at));
            }
            ExprKind::Access(inner, p) => {
                at.push(p.clone());
                e = inner;
            }
            _ => return None,
        }
    }
}
