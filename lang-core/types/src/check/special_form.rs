//! **Built-in forms**: `assert`, `par`, `reshape`, `relation`, `deriv` and others that have their
//! own typing rules. `plot`, `load` and `save` are in modules of their own.

use super::super::show::{argument_count, found_count};
use super::super::tree::{TypedExpr as Typed, TypedForm, TypedId, TypedPattern as TypedPat};
use super::super::ty::{Scalar, Type, TypeClass};
use super::super::unify::SizeOrigin;
use super::TypeChecker;
use super::derive::jacobian_type;
use super::size_names::names_in_sizes;
use lang_base::{Code, Diagnostic, Name, Span};
use lang_resolve::Res;
use lang_resolve::forms::SpecialForm;
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ast::{CallArg, Expr};

impl TypeChecker<'_> {
    pub(super) fn infer_form(
        &mut self,
        form: SpecialForm,
        args: &[CallArg],
        hint: Option<&Type>,
        span: Span,
    ) -> TypedId {
        let count = match form {
            SpecialForm::Error | SpecialForm::Dbg | SpecialForm::Stop | SpecialForm::Time | SpecialForm::Load => 1..=1,
            SpecialForm::Assert | SpecialForm::Par | SpecialForm::Save | SpecialForm::Deriv => 2..=2,
            SpecialForm::Reshape | SpecialForm::Relation => 2..=usize::MAX,
            SpecialForm::Print | SpecialForm::Plot => 1..=usize::MAX,
        };
        let named = if form == SpecialForm::Load { args.iter().filter(|a| a.name.is_some()).count() } else { 0 };
        if !count.contains(&(args.len() - named)) {
            let least = argument_count(*count.start());
            let wanted = if count.start() == count.end() { least } else { format!("at least {least}") };
            let there = found_count(args.len() - named);
            let message = format!("`{}` expects {wanted}, {there}", form.name());
            self.report(Diagnostic::new(Code::E0201, span, message).help(form.doc()));
            args.iter().for_each(|a| {
                self.infer(a.value, None);
            });
            return self.error_node(span);
        }
        if matches!(
            form,
            SpecialForm::Print | SpecialForm::Time | SpecialForm::Load | SpecialForm::Save | SpecialForm::Plot
        ) && !self.allows_effects
        {
            self.report(
                Diagnostic::new(
                    Code::E0215,
                    span,
                    format!("`{}` has an effect, but functions must be pure", form.name()),
                )
                .help("use effects in `do` or in a top-level `let`; `dbg(e)` prints a value anywhere"),
            );
        }
        match form {
            SpecialForm::Assert => {
                let p = self.check_nth_arg(args, 0, &Type::BOOL, "the asserted condition");
                let text = self.text_literal(args, 1);
                self.alloc(Typed::Form(TypedForm::Assert(text), vec![p]), Type::unit(), span)
            }
            SpecialForm::Error => {
                let text = self.text_literal(args, 0);
                let ty = hint.cloned().unwrap_or_else(|| self.metas.fresh_type(TypeClass::Any, span));
                self.error_call_types.push(ty.clone());
                self.alloc(Typed::Form(TypedForm::Error(text), Vec::new()), ty, span)
            }
            SpecialForm::Dbg | SpecialForm::Stop | SpecialForm::Time => {
                let special = match form {
                    SpecialForm::Dbg => TypedForm::Dbg,
                    SpecialForm::Stop => TypedForm::Stop,
                    _ => TypedForm::Time,
                };
                let Some(a) = args.first() else { return self.error_node(span) };
                let e = self.infer(a.value, hint);
                let ty = self.nodes[e].ty.clone();
                let sym = self.poly(e).cloned();
                self.alloc_with_poly(Typed::Form(special, vec![e]), ty, span, sym)
            }
            SpecialForm::Par => {
                let nodes: Vec<TypedId> = args.iter().map(|a| self.infer(a.value, None)).collect();
                let ty = Type::Tuple(nodes.iter().map(|n| self.nodes[*n].ty.clone()).collect());
                self.alloc(Typed::Form(TypedForm::Par, nodes), ty, span)
            }
            SpecialForm::Reshape => self.infer_reshape(args, span),
            SpecialForm::Relation => self.infer_relation(args, span),
            SpecialForm::Print => {
                let nodes = args.iter().map(|a| self.infer(a.value, None)).collect();
                self.alloc(Typed::Form(TypedForm::Print, nodes), Type::unit(), span)
            }
            SpecialForm::Plot => self.infer_plot(args, span),
            SpecialForm::Load => self.infer_load(args, hint, span),
            SpecialForm::Save => self.infer_save(args, span),
            SpecialForm::Deriv => self.infer_deriv(args, span),
        }
    }

    fn check_nth_arg(&mut self, args: &[CallArg], k: usize, ty: &Type, what: &str) -> TypedId {
        match args.get(k) {
            Some(a) => self.check_expr(a.value, ty, what),
            None => self.error_node(Span::default()),
        }
    }

    /// Returns a text literal; reports any other expression.
    fn text_literal(&mut self, args: &[CallArg], k: usize) -> Name {
        let Some(a) = args.get(k) else { return Name::default() };
        match &self.tree.exprs[a.value].kind {
            Expr::Str(s) => s.clone(),
            _ => {
                let span = self.expr_span(a.value);
                self.infer(a.value, Some(&Type::Str));
                self.report(
                    Diagnostic::new(Code::E0200, span, "a string in quotes is expected here")
                        .help("write a string literal, as in `assert(n > 0, \"n is positive\")`"),
                );
                Name::default()
            }
        }
    }

    /// Checks extents that are arguments. Returns their nodes and polynomials.
    fn check_extents(&mut self, args: &[CallArg]) -> (Vec<TypedId>, Vec<Poly>) {
        let mut nodes = Vec::new();
        let mut sizes = Vec::new();
        for a in args {
            let n = self.check_expr(a.value, &Type::I64, "an extent");
            let n = self.bind_as_size(n);
            sizes.push(self.poly(n).cloned().unwrap_or_else(|| Poly::atom(Atom::Overflow)));
            nodes.push(n);
        }
        (nodes, sizes)
    }

    fn infer_reshape(&mut self, args: &[CallArg], span: Span) -> TypedId {
        let Some((first, rest)) = args.split_first() else { return self.error_node(span) };
        let x = self.infer(first.value, None);
        if let [only] = rest
            && let Expr::Array { items, .. } | Expr::Tuple(items) = &self.tree.exprs[only.value].kind
        {
            let extents = items.iter().map(|e| match &self.tree.exprs[*e].kind {
                Expr::Int(n) => n.to_string(),
                Expr::Name(n) => n.to_string(),
                _ => "…".to_owned(),
            });
            let help = format!("write `reshape(x, {})`", extents.collect::<Vec<_>>().join(", "));
            let at = self.expr_span(only.value);
            self.report(
                Diagnostic::new(Code::E0200, at, "`reshape` takes its extents as separate arguments").help(help),
            );
            return self.error_node(span);
        }
        let (mut nodes, sizes) = self.check_extents(rest);
        let t = self.metas.zonk(&self.nodes[x].ty);
        let (dims, elem) = t.split_array();
        if dims.is_empty() && !t.has_error() {
            let at = self.node_span(x);
            self.report_error(Code::E0203, at, format!("`reshape` needs an array, but this has type `{t}`"));
            return self.error_node(span);
        }
        if let Some(k) = sizes.iter().position(|n| n.as_constant().is_some_and(|n| n < 0)) {
            let at = rest.get(k).map_or(span, |a| self.expr_span(a.value));
            let d = Diagnostic::new(Code::E0307, at, "an extent must not be negative, and `reshape` infers no extent");
            self.report(d.help("write the extent: `let [n, m] y = x in reshape(y, n * m)` merges two axes into one"));
            return self.error_node(span);
        }
        let unknown = t.has_error() || self.has_tainting_error() && sizes.iter().any(Poly::has_overflowed);
        let old = dims.iter().fold(Poly::constant(1), |p, n| p.mul(n));
        let new = sizes.iter().fold(Poly::constant(1), |p, n| p.mul(n));
        let ty = Type::array(sizes.into_iter(), elem.clone());
        let mut goals = Vec::new();
        if !unknown
            && let Err(super::super::unify::Mismatch::Size(a, b)) = self.metas.unify_size(&old, &new, &mut goals)
        {
            self.report(
                Diagnostic::new(Code::E0300, span, "`reshape` must keep the number of elements")
                    .label(format!("the number of elements is `{a}` in the array, but `{b}` in the new shape"))
                    .size_names(names_in_sizes([&a, &b])),
            );
        }
        if let Some(last) = nodes.last_mut() {
            *last = self.wrap_in_goal_checks(*last, goals, "the number of elements of `reshape`", Code::E0300);
        }
        nodes.insert(0, x);
        self.alloc(Typed::Form(TypedForm::Reshape, nodes), ty, span)
    }

    fn infer_relation(&mut self, args: &[CallArg], span: Span) -> TypedId {
        let Some((first, rest)) = args.split_first() else { return self.error_node(span) };
        let arity = i128::try_from(rest.len()).unwrap_or(i128::MAX);
        let rows = self.metas.fresh_size(SizeOrigin::Other, span);
        let wanted = Type::array([rows, Poly::constant(arity)].into_iter(), Type::Scalar(Scalar::I64));
        let idx = self.check_expr(first.value, &wanted, "the index tuples of `relation`, one per row");
        let (mut nodes, sizes) = self.check_extents(rest);
        nodes.insert(0, idx);
        self.alloc(Typed::Form(TypedForm::Relation, nodes), Type::Rel(sizes.into()), span)
    }

    /// Checks `deriv(e, x)`. The result has the axes of `e`, then those of `x`.
    fn infer_deriv(&mut self, args: &[CallArg], span: Span) -> TypedId {
        let [e, x] = args else { return self.error_node(span) };
        let at = self.expr_span(x.value);
        let (l, e, top) = match self.resolved.exprs.get(&x.value).cloned() {
            Some(Res::Local(l)) => (l, self.infer(e.value, None), None),
            Some(Res::Let(global)) => {
                // For a top-level value, only its uses within `e` itself vary.
                let value = self.infer(x.value, None);
                let l = self.fresh_local(&global.name, self.nodes[value].ty.clone(), at);
                let before = self.deriv_global.replace((global, l));
                let e = self.infer(e.value, None);
                self.deriv_global = before;
                (l, e, Some(value))
            }
            Some(Res::Error) => {
                self.infer(e.value, None);
                return self.error_node(span);
            }
            _ => {
                self.infer(e.value, None);
                self.infer(x.value, None);
                self.report(
                    Diagnostic::new(
                        Code::E0214,
                        at,
                        "the second argument of `deriv(e, x)` must be a variable in scope",
                    )
                    .help("bind it first, `let x = …`, or use `jacobian` on a function"),
                );
                return self.error_node(span);
            }
        };
        let by = self.local_info(l).map_or(Type::Error, |i| i.ty.clone());
        // The blocks of the result depend on the types, so literals take their defaults now and
        // cannot wait for a context.
        self.settle_deferred(false);
        self.metas.apply_defaults_in(&self.nodes[e].ty);
        self.metas.apply_defaults_in(&by);
        self.settle_deferred(false);
        let (of, by) = (self.metas.zonk(&self.nodes[e].ty), self.metas.zonk(&by));
        let ty = match jacobian_type(&of, &by) {
            Some(t) => t,
            None => {
                if !of.has_error() && !by.has_error() {
                    self.report_error(
                        Code::E0214,
                        span,
                        format!("a value of type `{of}` has no derivative with respect to one of type `{by}`"),
                    );
                }
                Type::Error
            }
        };
        let node = self.alloc(Typed::Form(TypedForm::Deriv(l), vec![e]), ty.clone(), span);
        match top {
            Some(value) => self.alloc(Typed::Let(vec![(TypedPat::Bind(l), value)], node), ty, span),
            None => node,
        }
    }
}
