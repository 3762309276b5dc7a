//! **Run-time specialisation.** Elaborates a derivative operator that the run has applied, or an
//! expression that it has reached ([`Applied`]), to a function. Its parameters are the data that
//! the function values have captured, and the arguments, in the order in which they are read off
//! the values. Captured functions are known here as in an elaborated text, so that they are inlined
//! or called.
//!
//! Sizes have different names at the definition of a function and at the operator. Sizes that the
//! types equate become one size: the parameter types of a function are the types of the arguments
//! it receives.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::derive::Operand;
use super::{Closure, Elaborator, Env, Frame, Item, Out, Sym};
use lang_base::{Code, GlobalName, Name, Span};
use lang_ir::applied::{Applied, Given, Known, Operator, Scope, Site, Text, Types};
use lang_ir::core::{Callee, CoreType, Expr, Failing, Function, Labels, Reason};
use lang_resolve::forms::Derivative;
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ops::Scalar;
use lang_types::tree::{self, Body};
use lang_types::ty::{FunType, SizeSource, Type};

/// The sizes and parameters of the function.
#[derive(Default)]
struct Passed {
    sizes: Vec<LocalId>,
    params: Vec<(LocalId, CoreType)>,
}

/// The sizes of one scope as polynomials over those of another, solved from types.
type Solved = HashMap<LocalId, Poly>;

impl Elaborator<'_> {
    pub(super) fn applied(&mut self, callee: &Arc<Callee>, applied: &Applied) -> Out<Function> {
        let mut passed = Passed::default();
        let span = Span::default();
        for (name, ty, given) in &applied.globals {
            let sym = self.given(&mut passed, given, ty, &name.name)?;
            self.globals.insert(name.clone(), sym);
        }
        let (bindings, result) = self.scope(|this| match &applied.site {
            Site::Operator(operator, given) => this.operator(&mut passed, operator, given),
            Site::Variable { scope, by, of, .. } => {
                let mut frame = this.frame_of(&mut passed, scope, &Solved::new())?;
                let span = this.span(&frame, *of);
                this.deriv(&mut frame, *by, *of, span)
            }
            Site::Here { scope, node } => {
                let mut frame = this.frame_of(&mut passed, scope, &Solved::new())?;
                this.expr(&mut frame, *node)
            }
        })?;
        let body = Expr::lets(bindings, self.data(&result, span)?);
        let Passed { sizes, params } = passed;
        let (vars, bounded) = (std::mem::take(&mut self.vars), std::mem::take(&mut self.bounded));
        let locals = std::mem::take(&mut self.locals);
        Ok(Function { callee: callee.clone(), vars, sizes, params, bounded, body, locals, rule_of: None })
    }

    /// Elaborates an operator at arguments.
    fn operator(&mut self, passed: &mut Passed, operator: &Operator, given: &[Given]) -> Out<Sym> {
        let span = Span::default();
        let frame = self.frame_of(passed, &operator.scope, &Solved::new())?;
        let ty = self.type_at(&frame, operator)?;
        let wanted = self.point(&ty, operator.operator, Self::arity(&frame.code.body, operator));
        let of = self.known_function(passed, &operator.of, Some(&wanted))?;
        let given = given.iter().zip(&ty.params).map(|(given, (name, ty))| (given, name.as_deref().unwrap_or("x"), ty));
        // Integer arguments may be sizes, also in the types of arguments after them.
        let mut integer = |given: &Given, name| matches!(given, Given::Integer).then(|| self.vars.fresh(name));
        let integers: Vec<Option<LocalId>> = given.clone().map(|(given, name, _)| integer(given, name)).collect();
        let values: Vec<Option<Poly>> =
            integers.iter().map(|local| local.map(|local| Poly::atom(self.vars.atom(local)))).collect();
        let mut args: Vec<Sym> = Vec::new();
        for ((given, name, ty), local) in given.zip(integers) {
            args.push(match local {
                Some(local) => self.integer(passed, local),
                None => self.given(passed, given, &ty.with_arguments(&values), name)?,
            });
        }
        let wrt = operator.wrt.to_vec();
        self.derivative_of(&of, operator.operator, wrt, args, span)
    }

    /// Returns the type of the operator together with its function.
    fn type_at(&mut self, frame: &Frame, operator: &Operator) -> Out<FunType> {
        let body = Arc::clone(&frame.code.body);
        match &body.nodes[operator.node].ty {
            Type::Fun(ty) => self.function_type(frame, ty),
            _ => Err(self.outside(Reason::Errors, Span::default())),
        }
    }

    /// Returns the number of arguments that the operator's function takes.
    fn arity(body: &Body, operator: &Operator) -> usize {
        let inner = match &body.nodes[operator.node].kind {
            tree::Expr::Special(_, items) => items.first(),
            _ => None,
        };
        match inner.map(|inner| &body.nodes[*inner].ty) {
            Some(Type::Fun(ty)) => ty.params.len(),
            _ => 0,
        }
    }

    /// Returns a function type over the variables of the function. Sizes that depend on arguments
    /// stay open.
    fn function_type(&mut self, frame: &Frame, ty: &FunType) -> Out<FunType> {
        let span = Span::default();
        let params = ty.params.iter().map(|(name, t)| Ok((name.clone(), self.open_type(frame, t, span)?)));
        Ok(FunType { params: params.collect::<Out<_>>()?, result: self.open_type(frame, &ty.result, span)? })
    }

    /// Returns the parameter types of an operator's function, from the type of the operator.
    fn point(&self, ty: &FunType, operator: Derivative, arity: usize) -> FunType {
        use Derivative::{Hvp, Jvp, Jvp2, Vjp, Vjp2};
        let pair = matches!(operator, Jvp | Jvp2 | Vjp | Vjp2 | Hvp);
        let params = match ty.params.first() {
            Some((_, Type::Tuple(items))) if pair && arity != 1 => items.iter().map(|t| (None, t.clone())).collect(),
            Some(first) if pair => vec![first.clone()],
            _ => ty.params.clone(),
        };
        FunType { params, result: Type::Error }
    }

    // ---- function values ----

    /// Returns a function value with its parameter types, which match those of `wanted`.
    fn known_function(&mut self, passed: &mut Passed, known: &Known, wanted: Option<&FunType>) -> Out<Operand> {
        match known {
            Known::Lambda { scope, node } => self.known_lambda(passed, scope, *node, wanted),
            Known::Definition { name, types, sizes } => self.known_definition(passed, name, types, *sizes, wanted),
            Known::Operator(operator) => self.known_operator(passed, operator, wanted),
            Known::Builtin(b) => self.known_by_name(Closure::Builtin(*b), wanted),
            Known::Scalar(f) => self.known_by_name(Closure::Scalar(*f), wanted),
            Known::Constructor(k) => {
                let of = wanted.map(|w| w.result.clone()).unwrap_or(Type::Error);
                self.known_by_name(Closure::Constructor(of, *k), wanted)
            }
        }
    }

    fn known_by_name(&mut self, closure: Closure, wanted: Option<&FunType>) -> Out<Operand> {
        let ty = wanted.cloned().ok_or_else(|| self.outside(Reason::FunctionValue, Span::default()))?;
        Ok(self.operand(closure, ty))
    }

    fn operand(&self, closure: Closure, ty: FunType) -> Operand {
        let disagreeing = Failing {
            code: Code::E0501,
            what: crate::norm::OTHER_CONSTRUCTOR.into(),
            item: self.item.clone(),
            node: None,
        };
        Operand { closure: Rc::new(closure), ty, disagreeing: Arc::new(disagreeing) }
    }

    fn known_lambda(
        &mut self,
        passed: &mut Passed,
        scope: &Scope,
        node: tree::TId,
        wanted: Option<&FunType>,
    ) -> Out<Operand> {
        let body = Arc::clone(&scope.text.body);
        let (tree::Expr::Lambda(lambda), Type::Fun(ty)) = (&body.nodes[node].kind, &body.nodes[node].ty) else {
            return Err(self.outside(Reason::Errors, Span::default()));
        };
        let solved = wanted.map(|wanted| solved(wanted, ty)).unwrap_or_default();
        let frame = self.frame_of(passed, scope, &solved)?;
        let ty = self.function_type(&frame, ty)?;
        let closure = Closure::Lambda { scope: frame.code, env: frame.env, lambda: Arc::clone(lambda) };
        Ok(self.operand(closure, ty))
    }

    fn known_definition(
        &mut self,
        passed: &mut Passed,
        name: &GlobalName,
        types: &Types,
        sizes: u32,
        wanted: Option<&FunType>,
    ) -> Out<Operand> {
        let signature = self.bodies.signature(name);
        let signature = signature.ok_or_else(|| self.outside(Reason::Errors, Span::default()))?;
        let types = self.type_arguments(passed, types);
        // Size number `k` of a signature is represented by local number `k`.
        let as_local = |k: u32| Some(Poly::atom(Atom::Local(LocalId(k), Name::default())));
        let own = |k: u32| types.get(k as usize).cloned();
        let params = signature.params.iter().map(|(n, t)| (Some(n.clone()), t.substitute(&own, &as_local)));
        let open = FunType { params: params.collect(), result: Type::Error };
        let solved = wanted.map(|wanted| solved(wanted, &open)).unwrap_or_default();
        let mut given = Vec::new();
        for k in 0..sizes {
            let size_name = signature.sizes.get(k as usize).map(|s| s.name.clone()).unwrap_or_default();
            let size = self.size(size_name);
            passed.sizes.push(size);
            given.push(solved.get(&LocalId(k)).cloned().unwrap_or_else(|| Poly::atom(self.vars.atom(size))));
        }
        // Sizes that an integer argument determines stay open.
        let bound = |k: u32| match signature.sizes.get(k as usize)?.source {
            SizeSource::Param(p) => Some(Poly::atom(Atom::Arg(0, p))),
            _ => given.get(k as usize).cloned(),
        };
        let params = signature.params.iter().map(|(n, t)| (Some(n.clone()), t.substitute(&own, &bound)));
        let ty = FunType { params: params.collect(), result: signature.result.substitute(&own, &bound) };
        let result = ty.result.clone();
        let closure = Closure::Definition { name: name.clone(), types: types.clone(), sizes: given, result };
        Ok(self.operand(closure, ty))
    }

    fn known_operator(&mut self, passed: &mut Passed, operator: &Operator, wanted: Option<&FunType>) -> Out<Operand> {
        let body = Arc::clone(&operator.scope.text.body);
        let Type::Fun(declared) = &body.nodes[operator.node].ty else {
            return Err(self.outside(Reason::Errors, Span::default()));
        };
        let solved = wanted.map(|wanted| solved(wanted, declared)).unwrap_or_default();
        let frame = self.frame_of(passed, &operator.scope, &solved)?;
        let ty = self.type_at(&frame, operator)?;
        let point = self.point(&ty, operator.operator, Self::arity(&body, operator));
        let of = self.known_function(passed, &operator.of, Some(&point))?;
        let closure = Closure::Operator { operator: operator.operator, wrt: operator.wrt.clone(), of: Box::new(of) };
        Ok(self.operand(closure, ty))
    }

    // ---- frames ----

    /// Returns the frame in which a function value was created, as far as it is known.
    fn frame_of(&mut self, passed: &mut Passed, scope: &Scope, solved: &Solved) -> Out<Frame> {
        let Text { item, body } = &scope.text;
        let types = self.type_arguments(passed, &scope.types);
        // Spans of another item have no meaning in diagnostics of this one.
        let inlined = (*item != self.item).then(Span::default);
        let code = Rc::new(Item { item: item.clone(), body: Arc::clone(body), types, inlined });
        let mut frame = Frame { code, env: Env::new() };
        for (local, given) in &scope.locals {
            let declared = body.locals.get(local.0 as usize);
            let (name, ty) = declared.map(|l| (l.name.clone(), l.ty.clone())).unwrap_or((Name::default(), Type::I64));
            let sym = match given {
                Given::Size => {
                    let size = self.size(name);
                    passed.sizes.push(size);
                    Sym::Int { poly: Poly::atom(self.vars.atom(size)), exact: true }
                }
                Given::Integer => self.given(passed, given, &Type::I64, &name)?,
                _ => {
                    let ty = self.open_type(&frame, &ty, Span::default())?;
                    self.given(passed, given, &ty, &name)?
                }
            };
            let sym = match (given, solved.get(local)) {
                (Given::Size | Given::Integer, Some(poly)) => Sym::Int { poly: poly.clone(), exact: true },
                _ => sym,
            };
            frame.env.insert(*local, sym);
        }
        Ok(frame)
    }

    /// Returns the type arguments, with a size of the function for each extent in them.
    fn type_arguments(&mut self, passed: &mut Passed, types: &Types) -> Vec<Type> {
        let mut extents = Vec::new();
        for k in 0..types.extents {
            let size = self.size(format!("s{k}").into());
            passed.sizes.push(size);
            extents.push(Poly::atom(self.vars.atom(size)));
        }
        let bound = |k: u32| extents.get(k.checked_sub(Callee::FIRST_EXTRA)? as usize).cloned();
        types.types.iter().map(|t| t.substitute(&|_| None, &bound)).collect()
    }

    /// Adds an integer parameter.
    fn integer(&mut self, passed: &mut Passed, param: LocalId) -> Sym {
        let scalar = CoreType::Scalar(Scalar::I64);
        self.params.insert(param);
        self.types.insert(param, scalar.clone());
        passed.params.push((param, scalar));
        Sym::Int { poly: Poly::atom(self.vars.atom(param)), exact: true }
    }

    /// Adds parameters for a value of this type, over the variables of the function.
    fn given(&mut self, passed: &mut Passed, given: &Given, ty: &Type, name: &str) -> Out<Sym> {
        let span = Span::default();
        match (given, ty) {
            (Given::Integer | Given::Size, _) => {
                let param = self.vars.fresh(name);
                Ok(self.integer(passed, param))
            }
            (Given::Data, _) => {
                let ty = self.core_of(ty, &mut Vec::new(), span)?;
                let param = self.vars.fresh(name);
                self.params.insert(param);
                self.types.insert(param, ty.clone());
                passed.params.push((param, ty.clone()));
                Ok(self.variable(param, &ty, span))
            }
            (Given::Function(known), ty) => {
                let wanted = if let Type::Fun(ty) = ty { Some(&**ty) } else { None };
                let operand = self.known_function(passed, known, wanted)?;
                Ok(Sym::Fun(operand.closure))
            }
            (Given::Tuple(items), Type::Tuple(types)) => {
                let parts = items.iter().zip(types.iter()).map(|(given, ty)| self.given(passed, given, ty, name));
                Ok(Sym::Tuple(parts.collect::<Out<_>>()?, Labels::Places))
            }
            (Given::Record(fields), Type::Record(types)) => {
                let mut parts = Vec::new();
                for (field, given) in fields {
                    let ty = types.iter().find(|(n, _)| n == field).map_or(&Type::Error, |(_, t)| t);
                    parts.push(self.given(passed, given, ty, field)?);
                }
                let names = fields.iter().map(|(n, _)| n.clone()).collect();
                Ok(Sym::Tuple(parts, Labels::Fields(names)))
            }
            _ => Err(self.outside(Reason::FunctionValue, span)),
        }
    }
}

/// Solves the sizes in `declared`, which are locals, by matching its parameter types with those of
/// `wanted`.
fn solved(wanted: &FunType, declared: &FunType) -> Solved {
    let mut solved = Solved::new();
    let mut open: Vec<(&Type, &Type)> =
        wanted.params.iter().zip(&declared.params).map(|((_, wanted), (_, declared))| (wanted, declared)).collect();
    open.reverse();
    while let Some((wanted, declared)) = open.pop() {
        match (wanted, declared) {
            (Type::Array(n, wanted), Type::Array(m, declared)) => {
                if let Some(Atom::Local(l, _)) = m.as_atom()
                    && !has_argument(n)
                {
                    solved.entry(*l).or_insert_with(|| n.clone());
                }
                open.push((wanted, declared));
            }
            (Type::Tuple(wanted), Type::Tuple(declared)) => open.extend(wanted.iter().zip(declared.iter()).rev()),
            (Type::Record(wanted), Type::Record(declared)) => {
                let of = |name: &Name| wanted.iter().find(|(n, _)| n == name).map(|(_, t)| t);
                open.extend(declared.iter().rev().filter_map(|(name, t)| Some((of(name)?, t))));
            }
            _ => {}
        }
    }
    solved
}

fn has_argument(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Arg(..)));
    found
}

/// Returns the values of integer arguments, which may determine sizes.
pub(super) fn integers(args: &[Sym]) -> Vec<Option<Poly>> {
    let integer = |sym: &Sym| if let Sym::Int { poly, .. } = sym { Some(poly.clone()) } else { None };
    args.iter().map(integer).collect()
}
