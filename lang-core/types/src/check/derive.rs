//! **Types of the derivative operators**, after the table of the language reference. The tangent
//! and cotangent types of a type mirror its structure; those of `i64` and `bool` are `()` in place.

use std::sync::Arc;

use super::super::tree::{TypedExpr as Typed, TypedForm, TypedId};
use super::super::ty::{FunType, Scalar, Type, TypeClass};
use super::TypeChecker;
use lang_base::{Code, Diagnostic, Name, Span};
use lang_resolve::Res;
use lang_resolve::forms::DerivativeOp;
use lang_syntax::ast::{CallArg, Expr, Item, Pat};

/// Returns the tangent type of a type, which is also its cotangent type.
pub fn tangent_type(t: &Type) -> Type {
    match t {
        Type::Scalar(Scalar::F64 | Scalar::F32) | Type::Param(..) | Type::Meta(_) | Type::Error | Type::Data(..) => {
            t.clone()
        }
        Type::Scalar(_) | Type::Str | Type::Fun(_) | Type::Rel(_) => Type::unit(),
        Type::Array(n, e) => match tangent_type(e) {
            t if t == Type::unit() => t,
            t => Type::Array(n.clone(), Arc::new(t)),
        },
        Type::Tuple(items) => Type::Tuple(items.iter().map(tangent_type).collect()),
        Type::Record(fields) => Type::Record(fields.iter().map(|(n, t)| (n.clone(), tangent_type(t))).collect()),
    }
}

/// Returns the type of the blocks of a Jacobian, or `None` if the types have none. A block has the
/// axes of the output, then those of the input. The blocks are nested in the structure of the
/// output, then of the input.
pub(super) fn jacobian_type(output: &Type, input: &Type) -> Option<Type> {
    match (output, input) {
        (Type::Error, _) | (_, Type::Error) => Some(Type::Error),
        (Type::Tuple(items), _) => {
            Some(Type::Tuple(items.iter().map(|t| jacobian_type(t, input)).collect::<Option<_>>()?))
        }
        (Type::Record(fields), _) => Some(Type::Record(
            fields.iter().map(|(n, t)| Some((n.clone(), jacobian_type(t, input)?))).collect::<Option<_>>()?,
        )),
        (_, Type::Tuple(items)) => {
            Some(Type::Tuple(items.iter().map(|t| jacobian_type(output, t)).collect::<Option<_>>()?))
        }
        (_, Type::Record(fields)) => Some(Type::Record(
            fields.iter().map(|(n, t)| Some((n.clone(), jacobian_type(output, t)?))).collect::<Option<_>>()?,
        )),
        _ => {
            let ((rows, out), (columns, inp)) = (output.split_array(), input.split_array());
            // An unknown type is assumed to be real; [`TypeChecker::check_derivatives`] checks it
            // when it is known.
            let real =
                |t: &Type| matches!(t, Type::Scalar(Scalar::F64 | Scalar::F32) | Type::Param(..) | Type::Meta(_));
            let discrete = |t: &Type| matches!(t, Type::Scalar(Scalar::I64 | Scalar::Bool));
            if real(out) && real(inp) {
                Some(Type::array(rows.into_iter().chain(columns).cloned(), out.clone()))
            } else if (real(out) || discrete(out)) && (real(inp) || discrete(inp)) {
                Some(Type::unit())
            } else {
                None
            }
        }
    }
}

impl TypeChecker<'_> {
    /// Returns help for `grad(f, x)`: `wrt:` names the parameter to differentiate by, and the point
    /// follows in its own parentheses.
    fn misplaced_wrt_help(&self, d: DerivativeOp, plain: &[&CallArg], alone: bool) -> Option<String> {
        let [f, rest @ ..] = plain else { return None };
        let Expr::Name(function) = &self.tree.exprs[f.value].kind else { return None };
        let text = |arg: &&CallArg| match &self.tree.exprs[arg.value].kind {
            Expr::Name(name) => Some(name.to_string()),
            _ => None,
        };
        let names: Option<Vec<String>> = rest.iter().map(text).collect();
        let at_point = format!("`{}({function})(…)`", d.name());
        let params = match self.resolved.exprs.get(&f.value) {
            Some(Res::Def(def)) => self.env.signature(def).map(|s| s.params.clone()).unwrap_or_default(),
            _ => Vec::new(),
        };
        Some(match names.filter(|_| alone) {
            Some(names) if !names.is_empty() && names.iter().all(|n| params.iter().any(|(p, _)| p.as_str() == n)) => {
                let wrt = if names.len() == 1 { names.join("") } else { format!("({})", names.join(", ")) };
                format!(
                    "to differentiate with respect to `{}`, write `{}({function}, wrt: {wrt})`; the point follows in parentheses, {at_point}",
                    names.join("` and `"),
                    d.name()
                )
            }
            _ => format!(
                "the point follows in separate parentheses, {at_point}; `wrt:` names a parameter: `{}({function}, wrt: x)`",
                d.name()
            ),
        })
    }

    /// Infers `grad(f, wrt: x)`, a function. `hint` holds the types of the arguments that it is
    /// applied to.
    pub(super) fn infer_derivative(
        &mut self,
        d: DerivativeOp,
        args: &[CallArg],
        hint: Option<&[Type]>,
        span: Span,
    ) -> TypedId {
        let (named, plain): (Vec<&CallArg>, Vec<&CallArg>) = args.iter().partition(|a| a.name.is_some());
        let [f] = plain.as_slice() else {
            let message = match plain.len() {
                0 => format!("`{}` expects a function, found none", d.name()),
                many => format!("`{}` expects one function, found {many} arguments", d.name()),
            };
            let help = self.misplaced_wrt_help(d, &plain, named.is_empty());
            let help = help.unwrap_or_else(|| format!("its result is a function: `{}(f)(…)`; {}", d.name(), d.doc()));
            self.report(Diagnostic::new(Code::E0214, span, message).help(help));
            return self.error_node(span);
        };
        // A lambda's parameters take the types of the point of differentiation.
        let point = hint.map(|types| match (d, types.first()) {
            (
                DerivativeOp::Jvp | DerivativeOp::Jvp2 | DerivativeOp::Vjp | DerivativeOp::Vjp2 | DerivativeOp::Hvp,
                Some(t),
            ) => match (&self.tree.exprs[f.value].kind, self.metas.shallow_resolve(t)) {
                (Expr::Lambda(params, _), Type::Tuple(items)) if params.len() > 1 => items.to_vec(),
                (_, t) => vec![t],
            },
            _ => types.to_vec(),
        });
        let fun_hint = point.map(|types| {
            let result = self.metas.fresh_type(TypeClass::Any, span);
            let params = types.into_iter().map(|t| (None, t)).collect();
            Type::Fun(Arc::new(FunType { params, result }))
        });
        let node = self.infer(f.value, fun_hint.as_ref());
        self.settle_deferred(false);
        if let Type::Fun(fun) = self.node_type(node) {
            // An integer literal that decides the type of the result becomes real. A result that
            // certainly has another type is reported below.
            let _ = self.require_class(&fun.result, TypeClass::Real);
            self.require_real_parts(&fun.result);
            self.settle_deferred(false);
        }
        if let Type::Fun(fun) = self.node_type(node) {
            // The derivative depends on the type of the result, so literals take their defaults now
            // and cannot wait for a context.
            if matches!(d, DerivativeOp::Jacobian | DerivativeOp::Hessian) {
                self.metas.apply_defaults_in(&fun.result);
            } else {
                self.default_integers(&fun.result);
            }
        }
        let t = self.metas.zonk(&self.nodes[node].ty);
        let fun = match &t {
            Type::Fun(fun) => fun.clone(),
            Type::Error => return self.error_node(span),
            _ => {
                let at = self.node_span(node);
                let mut e = Diagnostic::new(
                    Code::E0214,
                    at,
                    format!("`{}` differentiates a function, but this has type `{t}`", d.name()),
                );
                e = e.help(format!(
                    "pass the function, then the point: `{}(f)(x)`; for an expression, write `deriv(e, x)`",
                    d.name()
                ));
                self.report(e);
                return self.error_node(span);
            }
        };
        let names = self.parameter_names(f, &fun);
        let Some(wrt) = self.wrt_positions(&named, &names, d) else { return self.error_node(span) };
        if let (
            Some(k),
            DerivativeOp::Jvp | DerivativeOp::Jvp2 | DerivativeOp::Vjp | DerivativeOp::Vjp2 | DerivativeOp::Hvp,
        ) = (dependent_parameter(&fun), d)
        {
            let at = self.node_span(node);
            let name = names.as_ref().and_then(|n| n.get(k)).map_or(String::new(), |n| format!(" `{n}`"));
            let message = format!("sizes depend on the argument{name}, but `{}` takes it inside a tuple", d.name());
            let help = "fix it in a lambda, and differentiate the lambda: `\\x: f(x, n)`";
            self.report(Diagnostic::new(Code::E0214, at, message).help(help));
            return self.error_node(span);
        }
        match derived_function_type(d, &fun, wrt.as_deref()) {
            Ok(t) => self.alloc(Typed::Form(TypedForm::Derive(d, wrt), vec![node]), Type::Fun(Arc::new(t)), span),
            Err(message) => {
                let at = self.node_span(node);
                let mut e = Diagnostic::new(Code::E0214, at, message);
                match fun.result.split_array().1 {
                    Type::Scalar(Scalar::I64 | Scalar::Bool) => {
                        e = e.help("return an `f64`, because only reals have derivatives");
                    }
                    _ if matches!(d, DerivativeOp::Grad | DerivativeOp::ValueAndGrad) => {
                        e = e.help("for several outputs, use `jacobian`, `vjp` or `jvp`");
                    }
                    _ => {}
                }
                self.report(e);
                self.error_node(span)
            }
        }
    }

    /// Solves the undecided integer literals of a type by `i64`.
    fn default_integers(&mut self, t: &Type) {
        match self.metas.shallow_resolve(t) {
            Type::Meta(id) if self.metas.defaults_to_integer(id) => {
                let _ = self.unify(&Type::Meta(id), &Type::I64);
            }
            Type::Array(_, e) => self.default_integers(&e),
            Type::Tuple(items) => items.iter().for_each(|t| self.default_integers(t)),
            Type::Record(fields) => fields.iter().for_each(|(_, t)| self.default_integers(t)),
            _ => {}
        }
    }

    /// Requires the undecided parts of a type to be real, except integer literals among them.
    fn require_real_parts(&mut self, t: &Type) {
        match self.metas.shallow_resolve(t) {
            Type::Meta(id) if self.metas.defaults_to_integer(id) => {}
            t @ Type::Meta(_) => drop(self.require_class(&t, TypeClass::Real)),
            Type::Array(_, e) => self.require_real_parts(&e),
            Type::Tuple(items) => items.iter().for_each(|t| self.require_real_parts(t)),
            Type::Record(fields) => fields.iter().for_each(|(_, t)| self.require_real_parts(t)),
            _ => {}
        }
    }

    /// Checks that the operand's and the variable's types were known at each derivative operator,
    /// because the types of tangents depend on them. The classes of type parameters must be known
    /// too.
    pub(super) fn check_derivatives(&mut self) {
        let mut wrong = Vec::new();
        for (_, node) in self.nodes.iter() {
            let (right, types) = match &node.kind {
                Typed::Form(TypedForm::Derive(d, wrt), args) => {
                    let Some(Type::Fun(fun)) = args.first().map(|f| &self.nodes[*f].ty) else { continue };
                    let types = fun.params.iter().map(|p| p.1.clone()).chain([fun.result.clone()]).collect();
                    (
                        derived_function_type(*d, fun, wrt.as_deref()).is_ok_and(|t| Type::Fun(Arc::new(t)) == node.ty),
                        types,
                    )
                }
                Typed::Form(TypedForm::Deriv(l), args) => {
                    let (Some(of), Some(by)) = (args.first(), self.locals.get(l.0 as usize)) else { continue };
                    let (of, by) = (self.nodes[*of].ty.clone(), self.metas.zonk(&by.ty));
                    (jacobian_type(&of, &by).is_some_and(|t| t == node.ty), vec![of, by])
                }
                _ => continue,
            };
            let types: Vec<Type> = types;
            if node.ty.has_error() || types.iter().any(Type::has_error) {
                continue;
            }
            if let Some(t) = types.iter().find_map(|t| self.find_without_tangent(t)) {
                let message = format!("values of type `{t}` need not be real, but only reals have derivatives");
                let help = format!("add the constraint `where {t}: real`");
                wrong.push(Diagnostic::new(Code::E0214, node.span, message).help(help));
            } else if !right {
                let message = "the types of the differentiated expression are not known here";
                let help = "write the types of the parameters: `\\(x: f64): …`";
                wrong.push(Diagnostic::new(Code::E0214, node.span, message).help(help));
            }
        }
        wrong.into_iter().for_each(|d| self.report(d));
    }

    /// Returns a type parameter in the type whose values need not have tangents. Arguments of sum
    /// types do not count.
    fn find_without_tangent<'t>(&self, t: &'t Type) -> Option<&'t Type> {
        match t {
            Type::Param(k, _) => (self.classes.get(*k as usize) != Some(&TypeClass::Real)).then_some(t),
            Type::Array(_, e) => self.find_without_tangent(e),
            Type::Tuple(items) => items.iter().find_map(|t| self.find_without_tangent(t)),
            Type::Record(fields) => fields.iter().find_map(|(_, t)| self.find_without_tangent(t)),
            _ => None,
        }
    }

    /// Returns the parameters' names, if the operand is a definition or a lambda.
    fn parameter_names(&self, f: &CallArg, fun: &FunType) -> Option<Vec<Name>> {
        match &self.tree.exprs[f.value].kind {
            Expr::Lambda(params, _) => Some(
                params
                    .iter()
                    .map(|p| match &self.tree.pats[p.pat].kind {
                        Pat::Name(n) => n.clone(),
                        _ => Name::default(),
                    })
                    .collect(),
            ),
            _ => match self.resolved.exprs.get(&f.value) {
                Some(Res::Def(_)) => Some(fun.params.iter().map(|(n, _)| n.clone().unwrap_or_default()).collect()),
                _ => None,
            },
        }
    }

    /// Returns the positions named by `wrt:`, or `Some(None)` without `wrt:`. The outer `None`
    /// means that an error was reported.
    fn wrt_positions(
        &mut self,
        named: &[&CallArg],
        names: &Option<Vec<Name>>,
        d: DerivativeOp,
    ) -> Option<Option<Vec<u32>>> {
        let mut positions = Vec::new();
        for a in named {
            let Some(label) = &a.name else { continue };
            if label.name != "wrt" {
                self.report(
                    Diagnostic::new(
                        Code::E0217,
                        label.span,
                        format!("`{}` has no argument `{}:`", d.name(), label.name),
                    )
                    .help("write `wrt: x` to differentiate with respect to the parameter `x`"),
                );
                return None;
            }
            let Some(names) = names else {
                self.report(
                    Diagnostic::new(
                        Code::E0214,
                        label.span,
                        "`wrt:` needs a definition or a lambda, because their parameters have names",
                    )
                    .help("wrap the function: `\\x, y: f(x, y)`"),
                );
                return None;
            };
            let items = match &self.tree.exprs[a.value].kind {
                Expr::Tuple(items) => items.clone(),
                Expr::Paren(e) => vec![*e],
                _ => vec![a.value],
            };
            if self.has_unparsed(&items) {
                return None;
            }
            for e in items {
                let at = self.expr_span(e);
                let wanted = match &self.tree.exprs[e].kind {
                    Expr::Name(n) => n.clone(),
                    _ => Name::default(),
                };
                match (0..).zip(names).find(|(_, n)| **n == wanted) {
                    Some((k, _)) if positions.contains(&k) => {
                        let message = format!("`{wanted}` occurs twice in `wrt:`");
                        self.report(Diagnostic::new(Code::E0214, at, message).help("name each parameter once"));
                        return None;
                    }
                    Some((k, _)) => positions.push(k),
                    None => {
                        let have: Vec<String> =
                            names.iter().filter(|n| !n.is_empty()).map(|n| format!("`{n}`")).collect();
                        let e = Diagnostic::new(Code::E0214, at, "`wrt:` must name a parameter of the function");
                        self.report(match have.as_slice() {
                            [] => e,
                            have => e.help(format!("the function takes {}", super::and_list(have))),
                        });
                        return None;
                    }
                }
            }
        }
        Some(if named.is_empty() { None } else { Some(positions) })
    }

    /// Returns the types of the parameters after `;` and of the result of a rule:
    /// `derivative f(x; dx)`, `adjoint f(x; dy)`.
    ///
    /// The tangent of a function `A -> B` is a function `A -> tangent of B`: its change at a fixed
    /// argument because of its captures. Its cotangent is a function from such a tangent to the
    /// resulting change of the result.
    pub(super) fn rule_types(&self, adjoint: bool, params: &[Type], result: &Type) -> (Vec<Type>, Type) {
        if adjoint {
            let cotangent = |t: &Type| {
                parameter_tangent(t, &|change| {
                    Type::Fun(Arc::new(FunType { params: vec![(None, change)], result: Type::F64 }))
                })
            };
            (vec![tangent_type(result)], tuple_unless_single(params.iter().map(cotangent).collect()))
        } else {
            (params.iter().map(|t| parameter_tangent(t, &|change| change)).collect(), tangent_type(result))
        }
    }

    /// Returns the rule, if the item is one.
    pub(super) fn rule_item(&self) -> Option<&lang_syntax::ast::RuleDef> {
        match &self.tree.item {
            Item::DerivativeRule(r) => Some(r),
            _ => None,
        }
    }
}

/// Returns the tangent type of a rule's parameter. For a function type, `function` builds it from
/// the type of the function's change at a fixed argument.
fn parameter_tangent(t: &Type, function: &dyn Fn(Type) -> Type) -> Type {
    match t {
        Type::Fun(f) => {
            function(Type::Fun(Arc::new(FunType { params: f.params.clone(), result: tangent_type(&f.result) })))
        }
        Type::Tuple(items) => Type::Tuple(items.iter().map(|t| parameter_tangent(t, function)).collect()),
        Type::Record(fields) => {
            Type::Record(fields.iter().map(|(n, t)| (n.clone(), parameter_tangent(t, function))).collect())
        }
        _ => tangent_type(t),
    }
}

/// Returns a single type as it is, several as a tuple.
fn tuple_unless_single(mut types: Vec<Type>) -> Type {
    if types.len() == 1 { types.remove(0) } else { Type::Tuple(types.into()) }
}

/// Returns a parameter on which sizes in the function's type depend, if the function has several
/// parameters.
fn dependent_parameter(f: &FunType) -> Option<usize> {
    let mut types = f.params.iter().map(|p| &p.1).chain([&f.result]).filter(|_| f.params.len() > 1);
    types.find_map(|t| t.free_arguments().into_iter().find(|a| a.0 == 0)).map(|a| a.1 as usize)
}

/// Returns the type of the derived function, or an error message.
fn derived_function_type(d: DerivativeOp, f: &FunType, wrt: Option<&[u32]>) -> Result<FunType, String> {
    let all: Vec<Type> = f.params.iter().map(|(_, t)| t.clone()).collect();
    let chosen: Vec<Type> = match wrt {
        Some(ks) => ks.iter().filter_map(|k| all.get(*k as usize).cloned()).collect(),
        None => all.clone(),
    };
    let scalar = || match &f.result {
        Type::Scalar(Scalar::F64 | Scalar::F32) | Type::Param(..) | Type::Meta(_) | Type::Error => Ok(()),
        t => Err(format!("`{}` needs a function with one real result, but this one returns `{t}`", d.name())),
    };
    let gradient = tuple_unless_single(chosen.iter().map(tangent_type).collect());
    let same = |result: Type| FunType { params: f.params.clone(), result };
    let two = |second: Type, result: Type| FunType {
        params: vec![(None, tuple_unless_single(all.clone())), (None, second)],
        result,
    };
    let both = |a: Type, b: Type| Type::Tuple([a, b].into_iter().collect());
    Ok(match d {
        DerivativeOp::Grad => {
            scalar()?;
            same(gradient)
        }
        DerivativeOp::ValueAndGrad => {
            scalar()?;
            same(both(f.result.clone(), gradient))
        }
        DerivativeOp::Jvp => two(gradient, tangent_type(&f.result)),
        DerivativeOp::Jvp2 => two(gradient, both(f.result.clone(), tangent_type(&f.result))),
        DerivativeOp::Vjp => two(tangent_type(&f.result), gradient),
        DerivativeOp::Vjp2 => two(tangent_type(&f.result), both(f.result.clone(), gradient)),
        DerivativeOp::Jacobian => {
            let input = tuple_unless_single(chosen);
            same(jacobian_type(&f.result, &input).ok_or_else(|| {
                format!("the Jacobian of a result of type `{}` does not consist of arrays of reals", f.result)
            })?)
        }
        DerivativeOp::Hessian => {
            scalar()?;
            let input = tuple_unless_single(chosen);
            let bad = || {
                format!("the Hessian with respect to an argument of type `{input}` does not consist of arrays of reals")
            };
            same(jacobian_type(&gradient, &input).ok_or_else(bad)?)
        }
        DerivativeOp::Hvp => {
            scalar()?;
            two(gradient.clone(), gradient)
        }
    })
}
