//! **Calls.** Instantiates the callee's signature, checks the arguments, and opens the extents that
//! only the result determines.

use std::sync::Arc;

use super::super::lower::instantiate_type_body;
use super::super::show::{argument_count, found_count};
use super::super::tree::{Callee, Instantiation, OpenedExtent, SizeConstraint, TypedExpr as Typed, TypedForm, TypedId};
use super::super::ty::{FunType, GenericArg, Scalar, Signature, SizeParam, SizeSource, Type, TypeClass};
use super::super::type_info::{ParamKind, TypeInfo, TypeInfoBody};
use super::super::unify::SizeOrigin;
use super::TypeChecker;
use super::arguments::ArgSource;
use super::extents::{find_axis, has_extent, hidden_extent_reason};
use super::size_names::names_in_sizes;
use lang_base::{Code, Diagnostic, Fix, GlobalName, Name, Span};
use lang_resolve::Res;
use lang_resolve::builtin::Builtin;
use lang_resolve::foreign_calls::{self, SourceArgument};
use lang_resolve::forms::{DerivativeOp, SpecialForm};
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ast::{CallArg, Expr, ExprId};

/// An instantiated signature: the type for each type parameter, and the size for each size
/// parameter.
pub(super) struct SignatureInstance {
    pub(super) types: Vec<Type>,
    pub(super) sizes: Vec<Poly>,
}

impl SignatureInstance {
    pub(super) fn apply_to(&self, t: &Type) -> Type {
        t.substitute(&|k| self.types.get(k as usize).cloned(), &|k| self.sizes.get(k as usize).cloned())
    }

    /// Like [`Self::apply_to`], but the values of `i64` parameters become parameters of a function
    /// type.
    pub(super) fn apply_in_function(&self, signature: &Signature, t: &Type) -> Type {
        let t = t.map_sizes(&|p, depth| {
            p.substitute(&|a| match a {
                Atom::SizeParam(k, _) => match signature.sizes.get(*k as usize)?.source {
                    SizeSource::Param(position) => Some(Poly::atom(Atom::Arg(depth, position))),
                    _ => None,
                },
                _ => None,
            })
        });
        self.apply_to(&t)
    }

    /// Returns the constraint that each implicit size is a valid extent, unless some argument has
    /// it as an extent.
    pub(super) fn extent_constraints(&self, signature: &Signature, name: &str) -> Vec<(Poly, SizeConstraint, String)> {
        let solved = |k: u32, size: &SizeParam| {
            let atom = Poly::atom(Atom::SizeParam(k, size.name.clone()));
            size.source == SizeSource::Implicit && !signature.params.iter().any(|(_, t)| has_extent(t, &atom))
        };
        let sizes = (0..).zip(&signature.sizes).zip(&self.sizes).filter(|((k, size), _)| solved(*k, size));
        let what = |size: &SizeParam| format!("the size `{}` of `{name}`", size.name);
        sizes.map(|((_, size), p)| (p.clone(), SizeConstraint::ValidExtent, what(size))).collect()
    }

    /// Returns the type and size arguments that the call passes.
    pub(super) fn instantiation(&self, signature: &Signature) -> Instantiation {
        let implicit = signature.sizes.iter().zip(&self.sizes).filter(|(s, _)| s.source == SizeSource::Implicit);
        Instantiation { types: self.types.clone(), sizes: implicit.map(|(_, p)| p.clone()).collect() }
    }
}

/// Returns the arguments as expressions still to be inferred.
fn arg_sources(args: &[CallArg]) -> Vec<ArgSource> {
    args.iter().map(|a| ArgSource::Expr(a.value)).collect()
}

/// Returns whether the result type contains type parameters or sizes that the arguments determine.
fn depends_on_arguments(result: &Type) -> bool {
    let (mut on_type, mut on_size) = (false, false);
    result.visit(&mut |t| on_type |= matches!(t, Type::Param(..)), &mut |p| on_size |= p.as_constant().is_none());
    on_type || on_size
}

impl<'a> TypeChecker<'a> {
    /// Instantiates a signature with fresh metavariables.
    pub(super) fn instantiate(&mut self, signature: &Signature, name: &str, span: Span) -> SignatureInstance {
        let types = signature.type_params.iter().map(|(_, class)| self.metas.fresh_type(*class, span)).collect();
        let sizes = signature
            .sizes
            .iter()
            .map(|s| self.metas.fresh_size(SizeOrigin::Param(s.name.clone(), name.into()), span))
            .collect();
        SignatureInstance { types, sizes }
    }

    /// Checks a call expression.
    pub(super) fn infer_call(&mut self, callee: ExprId, args: &[CallArg], hint: Option<&Type>, span: Span) -> TypedId {
        let res = self.resolved.exprs.get(&callee).cloned();
        // If the parser could not read an argument, the number of arguments is unknown.
        if self.has_unparsed(args.iter().map(|a| &a.value)) {
            if res.is_none() {
                self.infer(callee, None);
            }
            return self.infer_invalid_call(&arg_sources(args), span);
        }
        if let Some(Res::Derive(d)) = res {
            return self.infer_derivative(d, args, None, span);
        }
        if let Some((named, value)) = args.iter().find_map(|a| Some((a.name.as_ref()?, a.value)))
            && !matches!(res, Some(Res::Form(SpecialForm::Plot | SpecialForm::Load)))
        {
            if res != Some(Res::Error) {
                let name = &named.name;
                let help = match self.is_unknown_in(name, value) {
                    true => format!("write an index after a binder such as `for` or `sum`: `sum {name}: e`"),
                    false => {
                        "arguments are positional; only derivative operators (`wrt:`), `plot` and `load` take named arguments"
                            .to_owned()
                    }
                };
                let message = format!("`{name}:` does not name an argument here");
                self.report(Diagnostic::new(Code::E0217, named.span, message).help(help));
            }
            return self.infer_invalid_call(&arg_sources(args), span);
        }
        if let Some(Res::Form(form)) = res {
            return self.infer_form(form, args, hint, span);
        }
        let sources = arg_sources(args);
        // For a derivative that is applied at once, the arguments determine the types of a lambda's
        // parameters.
        if let Expr::Call(inner, inner_args) = &self.tree.exprs[callee].kind
            && let Some(Res::Derive(d)) = self.resolved.exprs.get(inner)
        {
            return self.infer_applied_derivative(*d, inner_args, self.expr_span(callee), &sources, span);
        }
        self.infer_application(callee, &sources, span)
    }

    /// Returns whether an unresolved name occurs in the expression.
    fn is_unknown_in(&self, name: &Name, e: ExprId) -> bool {
        let around = self.tree.exprs[e].span;
        self.resolved.exprs.iter().filter(|(_, res)| **res == Res::Error).any(|(unknown, _)| {
            let node = &self.tree.exprs[*unknown];
            node.kind == Expr::Name(name.clone()) && around.start <= node.span.start && node.span.end <= around.end
        })
    }

    /// Checks `x |> f`.
    pub(super) fn infer_pipe(&mut self, x: TypedId, f: ExprId, span: Span) -> TypedId {
        match self.resolved.exprs.get(&f) {
            Some(Res::Form(SpecialForm::Dbg)) => {
                let ty = self.nodes[x].ty.clone();
                self.alloc(Typed::Form(TypedForm::Dbg, vec![x]), ty, span)
            }
            Some(Res::Form(form)) => {
                let name = form.name();
                self.report(
                    Diagnostic::new(Code::E0202, self.expr_span(f), format!("`{name}` is not allowed after `|>`"))
                        .help(format!("write `{name}(…)`")),
                );
                self.error_node(span)
            }
            _ => self.infer_application(f, &[ArgSource::Node(x)], span),
        }
    }

    fn infer_application(&mut self, callee: ExprId, args: &[ArgSource], span: Span) -> TypedId {
        match self.resolved.exprs.get(&callee).cloned() {
            Some(Res::Def(global)) => match self.env.signature(&global) {
                Some(signature) => {
                    let callee = |instance| Callee::Def(global.clone(), instance);
                    self.infer_signature_call(&signature, (&global.name, Some(&global)), callee, args, span)
                }
                None => self.infer_invalid_call(args, span),
            },
            Some(Res::Builtin(builtin)) => match self.env.builtin_signature(builtin) {
                Some(signature) => {
                    let callee = |instance| Callee::Builtin(builtin, instance);
                    let call = self.infer_signature_call(&signature, (builtin.name(), None), callee, args, span);
                    // The value of `len(x)` is an extent of the type of `x`.
                    if let (Builtin::Len, Typed::Call { callee: Callee::Builtin(_, instance), .. }) =
                        (builtin, &self.nodes[call].kind)
                        && let Some(n) = instance.sizes.first().map(|n| self.metas.zonk_size(n))
                    {
                        self.set_poly(call, n);
                    }
                    call
                }
                None => self.infer_invalid_call(args, span),
            },
            Some(Res::Scalar(f)) => {
                let nodes = self.infer_args(args);
                if nodes.len() != f.arity() {
                    let (wanted, there) = (argument_count(f.arity()), found_count(nodes.len()));
                    let mut d = Diagnostic::new(Code::E0201, span, format!("`{}` expects {wanted}, {there}", f.name()));
                    if matches!(f.name(), "max" | "min") && nodes.len() == 1 {
                        d = d.help(format!("for the {0} of an array, write `{0} i: x[i]`", f.name()));
                        if let (Some(habit), [ArgSource::Expr(arg)]) =
                            (foreign_calls::find_foreign_call(foreign_calls::FOREIGN_METHODS, f.name()), args)
                        {
                            let argument = SourceArgument {
                                span: self.expr_span(*arg),
                                is_plain: foreign_calls::is_plain(self.tree, *arg),
                            };
                            d.fixes = habit.fixes(span, &[argument]);
                        }
                    }
                    if let Some(help) = arity_help(f.name(), nodes.len()) {
                        d = d.help(help);
                    }
                    self.report(d);
                    return self.error_node(span);
                }
                self.infer_scalar_call(f, nodes, span)
            }
            Some(Res::Convert(to)) => {
                let nodes = self.infer_args(args);
                match nodes.as_slice() {
                    [one] => self.infer_conversion(to, *one, span),
                    _ => {
                        self.report_error(
                            Code::E0201,
                            span,
                            format!("`{}` expects 1 argument, {}", to.name(), found_count(nodes.len())),
                        );
                        self.error_node(span)
                    }
                }
            }
            Some(Res::Ctor(ty, k)) => self.infer_ctor_call(&ty, k, args, span),
            Some(Res::Const(c)) => {
                self.infer_args(args);
                self.report(
                    Diagnostic::new(
                        Code::E0202,
                        self.expr_span(callee),
                        format!("`{}` is a number, not a function", c.name()),
                    )
                    .help("write a product with `*`"),
                );
                self.error_node(span)
            }
            Some(Res::Error) => self.infer_invalid_call(args, span),
            _ => {
                let mut inner = callee;
                while let Expr::Paren(e) = self.tree.exprs[inner].kind {
                    inner = e;
                }
                if let Expr::Lambda(..) = self.tree.exprs[inner].kind {
                    // The lambda's parameters take the types of the arguments.
                    let nodes = self.infer_args(args);
                    let result = self.metas.fresh_type(TypeClass::Any, span);
                    let params = nodes.iter().map(|n| (None, self.nodes[*n].ty.clone())).collect();
                    let hint = Type::Fun(Arc::new(FunType { params, result }));
                    let f = self.infer(inner, Some(&hint));
                    let args: Vec<ArgSource> = nodes.into_iter().map(ArgSource::Node).collect();
                    return self.infer_value_call(f, &args, span);
                }
                let f = self.infer(callee, None);
                self.infer_value_call(f, args, span)
            }
        }
    }

    /// Checks the arguments of a callee that has errors of its own.
    fn infer_invalid_call(&mut self, args: &[ArgSource], span: Span) -> TypedId {
        self.infer_args(args);
        self.error_node(span)
    }

    fn infer_signature_call(
        &mut self,
        signature: &Signature,
        (name, global): (&str, Option<&GlobalName>),
        callee: impl FnOnce(Instantiation) -> Callee,
        args: &[ArgSource],
        span: Span,
    ) -> TypedId {
        if args.len() != signature.params.len() {
            let (wanted, there) = (argument_count(signature.params.len()), found_count(args.len()));
            self.report(
                Diagnostic::new(Code::E0201, span, format!("`{name}` expects {wanted}, {there}"))
                    .help(format!("its signature is `{name}{signature}`")),
            );
            return self.infer_invalid_call(args, span);
        }
        let inst = self.instantiate(signature, name, span);
        let what =
            |k: usize| signature.params.get(k).map(|(n, _)| format!("argument `{n}` of `{name}`")).unwrap_or_default();
        let size_of =
            |k: usize| signature.sizes.iter().position(|s| matches!(s.source, SizeSource::Param(p) if p as usize == k));
        // Checks that a size passed by value equals the size that the other arguments determine.
        let mut size_constraints = Vec::new();
        let mut nodes = self.check_arguments(
            args,
            Some((signature, global)),
            &what,
            &mut |_, k, _| signature.params.get(k).map_or(Type::Error, |(_, t)| inst.apply_to(t)),
            &|k| size_of(k).is_some(),
            &mut |this, k, value| {
                if let Some(meta) = size_of(k).and_then(|s| inst.sizes.get(s)) {
                    let mut goals = Vec::new();
                    let at = args.get(k).map_or(span, |a| this.arg_span(*a));
                    match this.metas.unify_size(meta, value, &mut goals) {
                        Ok(()) => {}
                        Err(super::super::unify::Mismatch::Size(solved, passed_size)) => this.report(
                            Diagnostic::new(
                                Code::E0300,
                                at,
                                format!(
                                    "the argument is `{}`, but the other arguments require `{}`",
                                    passed_size, solved
                                ),
                            )
                            .label(format!("for {}", what(k)))
                            .size_names(names_in_sizes([&passed_size, &solved])),
                        ),
                        Err(_) => {}
                    }
                    for (found, wanted) in goals {
                        // The solved size and the passed value must agree at run time.
                        size_constraints.push((wanted, SizeConstraint::Equal(found), what(k)));
                    }
                }
            },
        );
        if let Some(last) = nodes.last_mut() {
            size_constraints.extend(inst.extent_constraints(signature, name));
            *last = self.wrap_in_size_checks(*last, size_constraints, Code::E0300);
        }
        // Opens the extents that only the result determines.
        let mut opens = Vec::new();
        let shape = inst.apply_to(&signature.result);
        for (s, meta) in signature.sizes.iter().zip(&inst.sizes) {
            if s.source == SizeSource::Result {
                let l = self.fresh_extent(&s.name, span);
                let atom = self.local_size(l);
                self.scopes.assume_nonneg(atom.clone());
                let _ = self.metas.unify_size(meta, &atom, &mut Vec::new());
                match find_axis(&shape, meta) {
                    Some((path, axis)) => opens.push(OpenedExtent { path, axis, local: l }),
                    None => self.report_error(
                        Code::E0310,
                        span,
                        format!(
                            "the extent `{}` of the result of `{name}` {}",
                            s.name,
                            hidden_extent_reason(&shape, meta)
                        ),
                    ),
                }
            }
        }
        // An argument that does not fit may have determined any part of the result type.
        let unfit = nodes.iter().any(|n| self.nodes[*n].kind == Typed::Error);
        let ty = if unfit && depends_on_arguments(&signature.result) { Type::Error } else { self.metas.zonk(&shape) };
        let call =
            self.alloc(Typed::Call { callee: callee(inst.instantiation(signature)), args: nodes }, ty.clone(), span);
        if opens.is_empty() { call } else { self.alloc(Typed::Opened(opens, call), ty, span) }
    }

    fn infer_ctor_call(&mut self, ty: &GlobalName, k: u32, args: &[ArgSource], span: Span) -> TypedId {
        let Some(info) = self.env.type_info(ty) else { return self.infer_invalid_call(args, span) };
        let TypeInfoBody::Sum(ctors) = &info.body else { return self.infer_invalid_call(args, span) };
        let Some(ctor) = ctors.get(k as usize) else { return self.infer_invalid_call(args, span) };
        if args.len() != ctor.args.len() {
            let (wanted, there) = (argument_count(ctor.args.len()), found_count(args.len()));
            self.report_error(Code::E0201, span, format!("the constructor `{}` expects {wanted}, {there}", ctor.name));
            return self.infer_invalid_call(args, span);
        }
        let params = self.fresh_type_args(&info, &ctor.name, span);
        let what = |k: usize| format!("argument {} of `{}`", k + 1, ctor.name);
        let nodes = self.check_arguments(
            args,
            None,
            &what,
            &mut |_, k, _| ctor.args.get(k).map_or(Type::Error, |t| instantiate_type_body(t, &params)),
            &|_| false,
            &mut |_, _, _| {},
        );
        let result = Type::Data(ty.clone(), params.into());
        self.alloc(Typed::Call { callee: Callee::Ctor(ty.clone(), k), args: nodes }, result, span)
    }

    /// Creates metavariables for the parameters of a type definition.
    pub(super) fn fresh_type_args(&mut self, info: &TypeInfo, of: &str, span: Span) -> Vec<GenericArg> {
        info.params
            .iter()
            .map(|(name, kind)| match kind {
                ParamKind::Type => GenericArg::Type(self.metas.fresh_type(TypeClass::Any, span)),
                ParamKind::Size => {
                    GenericArg::Size(self.metas.fresh_size(SizeOrigin::Param(name.clone(), of.into()), span))
                }
            })
            .collect()
    }

    /// Infers a constructor used as a value: data if it takes no arguments, else a function.
    pub(super) fn infer_ctor_value(&mut self, ty: &GlobalName, k: u32, span: Span) -> TypedId {
        let Some(info) = self.env.type_info(ty) else { return self.error_node(span) };
        let TypeInfoBody::Sum(ctors) = &info.body else { return self.error_node(span) };
        let Some(ctor) = ctors.get(k as usize) else { return self.error_node(span) };
        let params = self.fresh_type_args(&info, &ctor.name, span);
        let data = Type::Data(ty.clone(), params.clone().into());
        let t = if ctor.args.is_empty() {
            data
        } else {
            let args = ctor.args.iter().map(|t| (None, instantiate_type_body(t, &params))).collect();
            Type::Fun(Arc::new(FunType { params: args, result: data }))
        };
        self.alloc(Typed::CtorValue(ty.clone(), k), t, span)
    }

    /// Returns the short notation of a function value: a definition, or a derivative of one.
    fn function_name(&self, f: TypedId) -> Option<String> {
        match &self.nodes[f].kind {
            Typed::DefValue(global, _) => Some(global.name.to_string()),
            Typed::Form(TypedForm::Derive(operator, _), of) => {
                Some(format!("{}({})", operator.name(), self.function_name(*of.first()?)?))
            }
            _ => None,
        }
    }

    /// Checks a call of a function value, or a membership test of a relation.
    pub(super) fn infer_value_call(&mut self, f: TypedId, args: &[ArgSource], span: Span) -> TypedId {
        match self.node_type(f) {
            Type::Fun(fun) => {
                if fun.params.len() != args.len() {
                    let shown = self.metas.zonk(&Type::Fun(fun.clone()));
                    self.report_error(
                        Code::E0201,
                        span,
                        format!(
                            "a function of type `{shown}` expects {}, {}",
                            argument_count(fun.params.len()),
                            found_count(args.len())
                        ),
                    );
                    return self.infer_invalid_call(args, span);
                }
                let used = size_arguments(&fun);
                let called = self.function_name(f).map_or("this function".to_owned(), |name| format!("`{name}`"));
                let what = |k: usize| match fun.params.get(k) {
                    Some((Some(name), _)) => format!("argument `{name}` of {called}"),
                    _ => format!("argument {} of {called}", k + 1),
                };
                let mut known = Vec::new();
                let nodes = self.check_arguments(
                    args,
                    None,
                    &what,
                    &mut |_, k, values| fun.params.get(k).map_or(Type::Error, |(_, t)| t.substitute_arguments(values)),
                    &|k| used.contains(&k),
                    &mut |_, k, p| known.push((k, p.clone())),
                );
                let mut values = vec![None; args.len()];
                for (k, p) in known {
                    if let Some(v) = values.get_mut(k) {
                        *v = Some(p);
                    }
                }
                let ty = fun.result.substitute_arguments(&values);
                self.alloc(Typed::Call { callee: Callee::Value(f), args: nodes }, ty, span)
            }
            Type::Rel(dims) => {
                let mut nodes = Vec::new();
                for (k, a) in args.iter().enumerate() {
                    nodes.push(match a {
                        ArgSource::Expr(e) => {
                            let n = self.check_expr(*e, &Type::I64, "an index of a relation");
                            if let (Some(p), Some(extent)) = (self.poly(n).cloned(), dims.get(k)) {
                                self.record_bare_subscript(*e, &p, extent, self.expr_span(*e));
                            }
                            n
                        }
                        ArgSource::Node(n) => self.require_type(*n, &Type::I64, "an index of a relation"),
                    });
                }
                if dims.len() != args.len() {
                    self.report_error(
                        Code::E0201,
                        span,
                        format!(
                            "this relation expects {}, {}",
                            lang_base::count_with_noun(dims.len(), "index", "indices"),
                            found_count(args.len())
                        ),
                    );
                    return self.error_node(span);
                }
                self.alloc(Typed::Member(f, nodes), Type::BOOL, span)
            }
            t if self.metas.is_unknown(&t) => {
                let nodes = self.infer_args(args);
                let params = nodes.iter().map(|n| (None, self.nodes[*n].ty.clone())).collect();
                let result = self.metas.fresh_type(TypeClass::Any, span);
                let wanted = Type::Fun(Arc::new(FunType { params, result: result.clone() }));
                let f = self.require_type(f, &wanted, "the callee");
                self.alloc(Typed::Call { callee: Callee::Value(f), args: nodes }, result, span)
            }
            Type::Error => self.infer_invalid_call(args, span),
            t => {
                let t = self.metas.with_defaults(&t);
                let at = self.node_span(f);
                let mut d = Diagnostic::new(Code::E0202, at, format!("this has type `{t}` and is not a function"));
                d = match t {
                    Type::Array(..) => {
                        let all: Vec<Span> = args
                            .iter()
                            .map(|arg| match arg {
                                ArgSource::Expr(e) => self.expr_span(*e),
                                ArgSource::Node(node) => self.node_span(*node),
                            })
                            .collect();
                        let d = d.help("write an element of an array with brackets, `x[i]`");
                        match (all.first(), all.last()) {
                            (Some(first), Some(last)) if first.start >= at.end => {
                                let behind = Span::new(at.end, span.end);
                                d.fix(Fix { span: behind, ..Fix::wrap(first.to(*last), "[", "]") })
                            }
                            _ => d,
                        }
                    }
                    Type::Scalar(_) => d.help("write a product with `*`"),
                    _ => d,
                };
                self.report(d);
                self.infer_invalid_call(args, span)
            }
        }
    }

    fn infer_applied_derivative(
        &mut self,
        d: DerivativeOp,
        of: &[CallArg],
        at: Span,
        args: &[ArgSource],
        span: Span,
    ) -> TypedId {
        let is_lambda = of.first().is_some_and(|a| matches!(self.tree.exprs[a.value].kind, Expr::Lambda(..)));
        if !is_lambda {
            let f = self.infer_derivative(d, of, None, at);
            return self.infer_value_call(f, args, span);
        }
        let nodes = self.infer_args(args);
        let sources: Vec<ArgSource> = nodes.iter().map(|n| ArgSource::Node(*n)).collect();
        let types: Vec<Type> = nodes.iter().map(|n| self.nodes[*n].ty.clone()).collect();
        let f = self.infer_derivative(d, of, Some(&types), at);
        self.infer_value_call(f, &sources, span)
    }
}

/// Returns help for a scalar function that is applied to this number of arguments.
fn arity_help(name: &str, arg_count: usize) -> Option<String> {
    match (name, arg_count) {
        ("round" | "floor" | "ceil" | "trunc", 2) => {
            Some("to round to decimal digits, write `round_to(x, 2)`".to_owned())
        }
        ("max" | "min", 3..) => {
            Some(format!("for several numbers, write `{name}(a, {name}(b, c))`; for an array, write `{name} i: x[i]`"))
        }
        ("log", 2) => Some("the logarithm of `x` to the base `b` is `log(x) / log(b)`".to_owned()),
        _ => None,
    }
}

/// Returns the `i64` parameters of a function type that its sizes mention.
fn size_arguments(fun: &FunType) -> Vec<usize> {
    let mut used = Vec::new();
    let whole = Type::Fun(Arc::new(fun.clone()));
    // The depth is ignored, because an extra parameter only receives an unneeded name.
    whole.visit(&mut |_| {}, &mut |p| {
        p.for_each_atom(&mut |a| {
            if let Atom::Arg(_, k) = a {
                used.push(*k as usize);
            }
        });
    });
    used.retain(|k| fun.params.get(*k).is_some_and(|(_, t)| *t == Type::Scalar(Scalar::I64)));
    used
}
