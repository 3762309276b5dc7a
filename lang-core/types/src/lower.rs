//! **Type lowering.** Translates written types to [`Type`]: resolves names, expands aliases and
//! normalises sizes.
//!
//! The checker calls it for annotations and signatures, and the session for `type` items. A type
//! with an error in it lowers to [`Type::Error`]. The error is in the diagnostics, here or in those
//! of an earlier stage.

use std::sync::Arc;

use super::env::TypeEnv;
use super::limits::too_large_error;
use super::show::{argument_count, found_count};
use super::ty::{FunType, GenericArg, Scalar, Signature, SizeParam, SizeSource, Type, TypeClass};
use super::type_info::{CtorInfo, ParamKind, TypeInfo, TypeInfoBody};
use lang_base::{Code, Diagnostic, Fact, GlobalName, Hint, Name, RelatedLabel, Span};
use lang_resolve::scalar_fn::ScalarFn;
use lang_resolve::suggest::nearest_name;
use lang_resolve::{LocalKind, Res, Resolved, TypeRes};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ast::{self, Expr, ExprId, Item, SizeExpr, Tree, TypeBody, TypeExpr, TypeId};
use lang_syntax::ops::{BinOp, UnOp};

/// Lowers the written types of one item.
pub struct TypeLowering<'a> {
    /// The item.
    pub tree: &'a Tree,
    /// Its resolved names.
    pub resolved: &'a Resolved,
    /// The types of other items.
    pub env: &'a dyn TypeEnv,
    /// Returns a local as a size; `None` if it is not an `i64`.
    pub local_size: &'a dyn Fn(LocalId) -> Option<Poly>,
    /// The errors found.
    pub diagnostics: Vec<Diagnostic>,
    /// The parameters of the enclosing function types, innermost last.
    enclosing_functions: Vec<Vec<Option<LocalId>>>,
    /// Whether a size is unknown because of an error.
    has_unknown_size: bool,
}

impl<'a> TypeLowering<'a> {
    /// Creates a lowering without diagnostics.
    pub fn new(
        tree: &'a Tree,
        resolved: &'a Resolved,
        env: &'a dyn TypeEnv,
        local: &'a dyn Fn(LocalId) -> Option<Poly>,
    ) -> Self {
        Self {
            tree,
            resolved,
            env,
            local_size: local,
            diagnostics: Vec::new(),
            enclosing_functions: Vec::new(),
            has_unknown_size: false,
        }
    }

    /// Lowers a written type.
    pub fn lower_type(&mut self, id: TypeId) -> Type {
        let tree = self.tree;
        let node = &tree.types[id];
        match &node.kind {
            TypeExpr::Error => Type::Error,
            TypeExpr::Name { name, args, .. } => self.lower_named_type(id, name, args, node.span),
            TypeExpr::Array(sizes, elem) => {
                let sizes = self.lower_sizes(sizes);
                let elem = self.lower_type(*elem);
                sizes.map_or(Type::Error, |sizes| Type::array(sizes.into_iter(), elem))
            }
            TypeExpr::Tuple(items) => {
                let types = items.iter().map(|t| self.lower_type(*t)).collect();
                if self.are_all_parsed(items) { Type::Tuple(types) } else { Type::Error }
            }
            TypeExpr::Record(fields) => {
                let types = fields.iter().map(|(name, t)| (name.name.clone(), self.lower_type(*t))).collect();
                if self.are_all_parsed(fields.iter().map(|(_, t)| t)) { Type::Record(types) } else { Type::Error }
            }
            TypeExpr::Fun(params, result) => {
                let locals =
                    params.iter().map(|(n, _)| n.as_ref().and_then(|n| self.resolved.decls.get(&n.span)).copied());
                self.enclosing_functions.push(locals.collect());
                let read = self.are_all_parsed(params.iter().map(|(_, t)| t));
                let params =
                    params.iter().map(|(n, t)| (n.as_ref().map(|n| n.name.clone()), self.lower_type(*t))).collect();
                let result = self.lower_type(*result);
                self.enclosing_functions.pop();
                if read { Type::Fun(Arc::new(FunType { params, result })) } else { Type::Error }
            }
            TypeExpr::Rel(sizes) => self.lower_sizes(sizes).map_or(Type::Error, |sizes| Type::Rel(sizes.into())),
        }
    }

    /// Returns whether the parser read every type of a list. If it did not, the length of the list
    /// is unknown.
    fn are_all_parsed<'t>(&self, types: impl IntoIterator<Item = &'t TypeId>) -> bool {
        types.into_iter().all(|t| self.tree.types[*t].kind != TypeExpr::Error)
    }

    /// Lowers the sizes of an array or a relation; `None` if one of them has an error.
    fn lower_sizes(&mut self, sizes: &[SizeExpr]) -> Option<Vec<Poly>> {
        let around = std::mem::take(&mut self.has_unknown_size);
        let found = sizes.iter().map(|s| self.lower_size_expr(s)).collect();
        let unknown = std::mem::replace(&mut self.has_unknown_size, around);
        (!unknown).then_some(found)
    }

    /// Marks an error in a size, and returns a placeholder.
    fn mark_unknown_size(&mut self) -> Poly {
        self.has_unknown_size = true;
        Poly::atom(Atom::Overflow)
    }

    fn lower_named_type(&mut self, id: TypeId, name: &ast::Ident, args: &[ast::TypeArg], span: Span) -> Type {
        let applied = |this: &mut Self, what: &str| {
            if !args.is_empty() {
                this.diagnostics.push(Diagnostic::new(
                    Code::E0201,
                    span,
                    format!("{what} `{}` takes no arguments", name.name),
                ));
            }
        };
        match self.resolved.types.get(&id) {
            Some(TypeRes::Scalar(s)) => {
                applied(self, "the type");
                Type::Scalar(*s)
            }
            Some(TypeRes::Param(k)) => {
                applied(self, "the type parameter");
                Type::Param(*k, name.name.clone())
            }
            Some(TypeRes::Global(global)) => self.lower_applied_type(&global.clone(), args, span),
            Some(TypeRes::Size(_)) => {
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::E0108,
                        span,
                        format!("`{}` is a size, but a type is expected here", name.name),
                    )
                    .help("write sizes in brackets: `[n]f64`"),
                );
                Type::Error
            }
            Some(TypeRes::Error) | None => Type::Error,
        }
    }

    fn lower_applied_type(&mut self, global: &GlobalName, args: &[ast::TypeArg], span: Span) -> Type {
        let Some(info) = self.env.type_info(global) else { return Type::Error };
        if !self.are_all_parsed(args.iter().filter_map(|a| match a {
            ast::TypeArg::Type(t) => Some(t),
            ast::TypeArg::Size(_) => None,
        })) {
            return Type::Error;
        }
        if info.params.len() != args.len() {
            let (wanted, there) = (argument_count(info.params.len()), found_count(args.len()));
            let names: Vec<&str> = info.params.iter().map(|p| p.0.as_str()).collect();
            let mut d = Diagnostic::new(Code::E0201, span, format!("the type `{global}` expects {wanted}, {there}"));
            if !names.is_empty() {
                d = d.help(Hint::write(format!("{global}({})", names.join(", "))));
            }
            self.diagnostics.push(d);
            return Type::Error;
        }
        let around = std::mem::take(&mut self.has_unknown_size);
        let args: Vec<GenericArg> = args
            .iter()
            .zip(&info.params)
            .map(|(a, (name, kind))| self.lower_type_arg(a, name, *kind, global))
            .collect();
        if std::mem::replace(&mut self.has_unknown_size, around) {
            return Type::Error;
        }
        match &info.body {
            TypeInfoBody::Sum(_) => Type::Data(global.clone(), args.into()),
            TypeInfoBody::Alias(_) if args.iter().any(|a| matches!(a, GenericArg::Type(Type::Error))) => Type::Error,
            TypeInfoBody::Alias(t) => {
                // Aliases of aliases may double at each step, although each step shares the part
                // that it repeats.
                let t = instantiate_type_body(t, &args);
                if t.is_within_limits() {
                    return t;
                }
                self.diagnostics.push(too_large_error(span));
                Type::Error
            }
        }
    }

    fn lower_type_arg(&mut self, arg: &ast::TypeArg, param: &Name, kind: ParamKind, of: &GlobalName) -> GenericArg {
        match (arg, kind) {
            (ast::TypeArg::Type(t), ParamKind::Size) => match self.resolved.types.get(t) {
                Some(TypeRes::Size(res)) => {
                    GenericArg::Size(self.lower_name_as_size(&res.clone(), self.tree.types[*t].span))
                }
                Some(TypeRes::Error) | None => GenericArg::Size(self.mark_unknown_size()),
                _ => {
                    self.diagnostics.push(Diagnostic::new(
                        Code::E0108,
                        self.tree.types[*t].span,
                        format!("this is a type, but `{of}` expects the size `{param}`"),
                    ));
                    GenericArg::Size(self.mark_unknown_size())
                }
            },
            (ast::TypeArg::Size(size), ParamKind::Size) => GenericArg::Size(self.lower_size_expr(size)),
            (ast::TypeArg::Type(t), ParamKind::Type) => GenericArg::Type(self.lower_type(*t)),
            (ast::TypeArg::Size(size), ParamKind::Type) => {
                self.diagnostics.push(Diagnostic::new(
                    Code::E0108,
                    self.tree.size_span(size),
                    format!("this is a size, but `{of}` expects the type `{param}`"),
                ));
                GenericArg::Type(Type::Error)
            }
        }
    }

    fn lower_size_expr(&mut self, size: &SizeExpr) -> Poly {
        match size {
            SizeExpr::Expr(e) => self.lower_size(*e),
            SizeExpr::Unknown(name) => match self.resolved.decls.get(&name.span).and_then(|l| (self.local_size)(*l)) {
                Some(p) => p,
                None => {
                    self.diagnostics.push(unknown_extent_error(&name.name, name.span));
                    self.mark_unknown_size()
                }
            },
        }
    }

    fn lower_name_as_size(&mut self, res: &Res, span: Span) -> Poly {
        match res {
            Res::Local(l) => {
                for (depth, params) in self.enclosing_functions.iter().rev().enumerate() {
                    if let Some(k) = params.iter().position(|p| *p == Some(*l)) {
                        return Poly::atom(Atom::Arg(
                            u32::try_from(depth).unwrap_or(u32::MAX),
                            u32::try_from(k).unwrap_or(u32::MAX),
                        ));
                    }
                }
                if let Some(p) = (self.local_size)(*l) {
                    return p;
                }
            }
            Res::Let(global) => match self.env.let_type(global) {
                Some(Type::Scalar(Scalar::I64)) => return Poly::atom(Atom::Global(global.clone())),
                Some(_) => {}
                None => return self.mark_unknown_size(),
            },
            Res::Error => return self.mark_unknown_size(),
            _ => {}
        }
        let d = Diagnostic::new(Code::E0309, span, "only an `i64` can be a size");
        let of_sizes = "write a number, an `i64`, a size parameter, or `+ - * // %` of these";
        let Some((param, ty)) = self.def_param(res) else {
            self.diagnostics.push(d.help(of_sizes));
            return self.mark_unknown_size();
        };
        // A parameter of unknown type has a diagnostic already; a parameter that is not a size has
        // one diagnostic only.
        let unread =
            self.tree.types[ty].kind == TypeExpr::Error || self.resolved.types.get(&ty) == Some(&TypeRes::Error);
        let is_reported =
            self.diagnostics.iter().any(|d| d.code == Code::E0309 && d.related.iter().any(|l| l.span == param.span));
        if !unread && !is_reported {
            let label = format!("to use it as a size, write `{}: i64`", param.name);
            self.diagnostics.push(d.related(param.span, label).help(of_sizes));
        }
        self.mark_unknown_size()
    }

    /// Returns the parameter of the definition that a local is, and its written type.
    fn def_param(&self, res: &Res) -> Option<(ast::Ident, TypeId)> {
        let (Res::Local(l), Item::Def(def)) = (res, &self.tree.item) else { return None };
        let param = def.params.iter().find(|p| self.resolved.decls.get(&p.name.span) == Some(l))?;
        Some((param.name.clone(), param.ty))
    }

    /// Lowers a written size.
    pub fn lower_size(&mut self, e: ExprId) -> Poly {
        let tree = self.tree;
        let node = &tree.exprs[e];
        let p = match &node.kind {
            Expr::Error => return self.mark_unknown_size(),
            Expr::Int(n) => Poly::constant(i128::from(*n)),
            Expr::Paren(e) => self.lower_size(*e),
            Expr::Unary(UnOp::Neg, e) => self.lower_size(*e).neg(),
            Expr::Name(_) | Expr::Field(..) if self.resolved.exprs.contains_key(&e) => {
                let res = self.resolved.exprs.get(&e).cloned().unwrap_or(Res::Error);
                self.lower_name_as_size(&res, node.span)
            }
            Expr::Power(base, k) => match self.lower_size(*k).as_constant().and_then(|k| u32::try_from(k).ok()) {
                Some(k) => self.lower_size(*base).pow(k),
                None => return self.report_not_a_size(node.span),
            },
            Expr::Chain { first, rest } => {
                let mut p = self.lower_size(*first);
                for (op, _, e) in rest {
                    let q = self.lower_size(*e);
                    p = match op {
                        BinOp::Add => p.add(&q),
                        BinOp::Sub => p.sub(&q),
                        BinOp::Mul => p.mul(&q),
                        BinOp::FloorDiv | BinOp::Mod => {
                            let r = if *op == BinOp::Mod { p.rem(&q) } else { p.div(&q) };
                            match r {
                                Some(r) => r,
                                None => {
                                    self.diagnostics.push(Diagnostic::new(
                                        Code::E0309,
                                        node.span,
                                        "a size cannot be divided by 0",
                                    ));
                                    return self.mark_unknown_size();
                                }
                            }
                        }
                        BinOp::Div => {
                            self.diagnostics.push(
                                Diagnostic::new(Code::E0205, node.span, "`/` divides reals, but a size is an integer")
                                    .help("`//` divides integers and rounds down"),
                            );
                            return self.mark_unknown_size();
                        }
                        _ => return self.report_not_a_size(node.span),
                    };
                }
                p
            }
            Expr::Call(f, args) => match (self.resolved.exprs.get(f), args.as_slice()) {
                (Some(Res::Scalar(which @ (ScalarFn::Min | ScalarFn::Max))), [a, b]) => {
                    let (a, b) = (self.lower_size(a.value), self.lower_size(b.value));
                    if *which == ScalarFn::Min { a.minimum(&b) } else { a.maximum(&b) }
                }
                _ => return self.report_not_a_size(node.span),
            },
            _ => return self.report_not_a_size(node.span),
        };
        if p.has_overflowed() {
            return p;
        }
        if let Some(c) = p.as_constant()
            && c >= 1 << 47
        {
            self.diagnostics.push(
                Diagnostic::new(Code::E0308, node.span, "this size is too large").help("extents must be below 2^47"),
            );
            return self.mark_unknown_size();
        }
        p
    }

    fn report_not_a_size(&mut self, span: Span) -> Poly {
        self.diagnostics.push(Diagnostic::new(Code::E0309, span, "this cannot be a size").help(
            "write a number, an `i64`, a size parameter, or `+ - * // %` of these; bind other values with `let` first",
        ));
        self.mark_unknown_size()
    }
}

/// Builds the diagnostic for an extent `?k` in a position where no value determines it.
pub(super) fn unknown_extent_error(name: &Name, span: Span) -> Diagnostic {
    let message = format!("an extent `?{name}` is allowed only in a result or in the type of a `let`");
    Diagnostic::new(Code::E0309, span, message)
        .help("in a parameter, write the size as a name, because the argument determines it")
}

/// Instantiates the body of a type definition: `args[k]` replaces `Type::Param(k)` and
/// `Atom::SizeParam(k)`.
pub fn instantiate_type_body(t: &Type, args: &[GenericArg]) -> Type {
    t.substitute(
        &|k| match args.get(k as usize) {
            Some(GenericArg::Type(t)) => Some(t.clone()),
            _ => None,
        },
        &|k| match args.get(k as usize) {
            Some(GenericArg::Size(p)) => Some(p.clone()),
            _ => None,
        },
    )
}

/// Returns the type parameters with the classes that `where` requires.
pub fn type_param_classes(tree: &Tree, resolved: &Resolved) -> (Vec<(Name, TypeClass)>, Vec<Diagnostic>) {
    let mut params: Vec<_> = resolved.type_params.iter().map(|(n, _)| (n.clone(), TypeClass::Any)).collect();
    let mut diagnostics = Vec::new();
    if let Item::Def(def) = &tree.item {
        for c in &def.constraints {
            let class = match c.class.name.as_str() {
                "real" => TypeClass::Real,
                "num" => TypeClass::Num,
                _ => {
                    diagnostics.push(
                        Diagnostic::new(
                            Code::E0101,
                            c.class.span,
                            format!("there is no type class `{}`", c.class.name),
                        )
                        .help("the type classes are `num` (f64, f32, i64) and `real` (f64, f32)"),
                    );
                    continue;
                }
            };
            if let Some(p) = params.iter_mut().find(|p| p.0 == c.var.name) {
                p.1 = p.1.max(class);
            }
        }
    }
    (params, diagnostics)
}

/// Returns the sizes of a definition's signature with their locals, in the order of
/// `Signature::sizes`.
pub fn signature_sizes(tree: &Tree, resolved: &Resolved) -> Vec<(LocalId, SizeParam)> {
    let Item::Def(def) = &tree.item else { return Vec::new() };
    let locals = || (0..).map(LocalId).zip(&resolved.locals);
    let of = |kind, source| {
        locals().filter(move |(_, d)| d.kind == kind).map(move |(l, d)| (l, SizeParam { name: d.name.clone(), source }))
    };
    let mut sizes: Vec<_> = of(LocalKind::ImplicitSize, SizeSource::Implicit).collect();
    for (k, p) in (0..).zip(&def.params) {
        let is_i64 = resolved.types.get(&p.ty) == Some(&TypeRes::Scalar(Scalar::I64));
        if let (true, Some(l)) = (is_i64, resolved.decls.get(&p.name.span)) {
            sizes.push((*l, SizeParam { name: p.name.name.clone(), source: SizeSource::Param(k) }));
        }
    }
    if let Some(result) = def.result {
        let span = tree.types[result].span;
        let inside = |l: &LocalId| {
            resolved.locals.get(l.0 as usize).is_some_and(|d| span.start <= d.span.start && d.span.end <= span.end)
        };
        sizes.extend(of(LocalKind::ResultSize, SizeSource::Result).filter(|(l, _)| inside(l)));
    }
    sizes
}

/// The written signature of a definition, in terms of `Atom::SizeParam`.
pub struct LoweredSignature {
    /// The signature. Its result is [`Type::Error`] if none is written.
    pub signature: Signature,
    /// Whether the result is written.
    pub has_result: bool,
    /// The errors in it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Lowers the signature of a definition and checks that its sizes can be solved. `None` if the item
/// is not a definition.
pub fn lower_signature(tree: &Tree, resolved: &Resolved, env: &dyn TypeEnv) -> Option<LoweredSignature> {
    let Item::Def(def) = &tree.item else { return None };
    let (type_params, mut diagnostics) = type_param_classes(tree, resolved);
    let sizes = signature_sizes(tree, resolved);
    let bound = |l: LocalId| {
        let k = sizes.iter().position(|s| s.0 == l)?;
        Some(Poly::atom(Atom::SizeParam(u32::try_from(k).ok()?, sizes.get(k)?.1.name.clone())))
    };
    let mut lower = TypeLowering::new(tree, resolved, env, &bound);
    let params: Vec<_> = def.params.iter().map(|p| (p.name.name.clone(), lower.lower_type(p.ty))).collect();
    let result = def.result.map(|t| lower.lower_type(t));
    diagnostics.append(&mut lower.diagnostics);
    let signature = Signature {
        type_params,
        sizes: sizes.iter().map(|s| s.1.clone()).collect(),
        params,
        result: result.clone().unwrap_or(Type::Error),
    };
    // A parameter of unknown type may determine any of the sizes.
    if !signature.params.iter().any(|(_, t)| t.has_error()) {
        diagnostics.extend(unsolvable_sizes(&signature, &sizes, tree, resolved));
    }
    Some(LoweredSignature { signature, has_result: result.is_some(), diagnostics })
}

/// Reports the implicit sizes that no order of solving determines ("Types and sizes").
fn unsolvable_sizes(
    signature: &Signature,
    sizes: &[(LocalId, SizeParam)],
    tree: &Tree,
    resolved: &Resolved,
) -> Vec<Diagnostic> {
    let mut extents = Vec::new();
    for (_, t) in &signature.params {
        t.visit(&mut |_| {}, &mut |p| extents.push(p.clone()));
    }
    let mut solved: Vec<bool> = signature.sizes.iter().map(|s| s.source != SizeSource::Implicit).collect();
    let is_solved = |solved: &[bool], k: u32| solved.get(k as usize).copied().unwrap_or(true);
    loop {
        let mut progress = false;
        for p in &extents {
            let mut open: Vec<Atom> = Vec::new();
            p.for_each_atom(&mut |a| {
                if let Atom::SizeParam(k, _) = a
                    && !is_solved(&solved, *k)
                    && !open.contains(a)
                {
                    open.push(a.clone());
                }
            });
            if let [a @ Atom::SizeParam(k, _)] = open.as_slice()
                && p.linear_in(a).is_some_and(|(c, _)| c.abs() == 1)
                && let Some(s) = solved.get_mut(*k as usize)
            {
                *s = true;
                progress = true;
            }
        }
        if !progress {
            break;
        }
    }
    let misspelt = misspelt_sizes(tree, resolved);
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for ((l, size), _) in sizes.iter().zip(&solved).filter(|(_, solved)| !**solved) {
        let span = resolved.locals.get(l.0 as usize).map_or_else(Span::default, |d| d.span);
        let name = &size.name;
        let in_params = extents.iter().any(|p| {
            let mut found = false;
            p.for_each_atom(&mut |a| found |= matches!(a, Atom::SizeParam(_, n) if n == name));
            found
        });
        // Sizes that depend on each other are one mistake.
        if in_params && let Some(first) = diagnostics.iter_mut().find(|d| d.code == Code::E0301) {
            first.related.push(RelatedLabel {
                span,
                message: format!("`{name}` cannot be inferred either"),
                module: None,
            });
            continue;
        }
        diagnostics.push(if in_params {
            Diagnostic::new(Code::E0301, span, format!("the size `{name}` cannot be inferred from the arguments"))
                .label("it occurs only in products, in quotients, or with other uninferred sizes")
                .help(format!("add the parameter `{name}: i64`"))
                .fact(Fact::UnsolvedSize(name.clone()))
        } else {
            Diagnostic::new(Code::E0302, span, format!("the size `{name}` occurs only in the result"))
                .help(format!(
                    "add the parameter `{name}: i64`, or write `?{name}` if the size is known only at run time"
                ))
                .fact(Fact::UnsolvedSize(name.clone()))
        });
    }
    // If one name is misspelt, its size determines nothing of the size that is meant, or nothing
    // determines it.
    for d in &mut diagnostics {
        let about = |size: &&MisspeltSize| match d.code {
            Code::E0302 => size.span == d.span,
            _ => true,
        };
        if let Some(size) = misspelt.iter().find(about) {
            d.help = Some(size.help().into());
            // The misspelt name is the place to edit.
            if size.span != d.span {
                let span = std::mem::replace(&mut d.span, size.span);
                d.label = format!("this is not the size `{}`", size.intended_name);
                d.related.push(RelatedLabel { span, message: "the size occurs here".to_owned(), module: None });
            }
        }
    }
    diagnostics
}

/// A size that occurs only once in a signature and whose name resembles another's.
pub(super) struct MisspeltSize {
    /// Its name.
    pub(super) name: Name,
    /// The span of its occurrence.
    pub(super) span: Span,
    /// The name of the other size.
    intended_name: Name,
}

impl MisspeltSize {
    /// Returns the help text for a mismatch of sizes that it may explain.
    pub(super) fn help(&self) -> String {
        format!("`{}` is a separate size here; did you mean `{}`?", self.name, self.intended_name)
    }
}

/// Returns the sizes of a definition that may be misspellings of others. A new name in a signature
/// is a new size, so a misspelling is not an error by itself.
pub(super) fn misspelt_sizes(tree: &Tree, resolved: &Resolved) -> Vec<MisspeltSize> {
    let sizes = signature_sizes(tree, resolved);
    let uses = |l: LocalId, counts: &dyn Fn(Span) -> bool| {
        let as_value = resolved.exprs.iter().filter(|(e, res)| **res == Res::Local(l) && counts(tree.exprs[**e].span));
        let as_argument = resolved
            .types
            .iter()
            .filter(|(t, res)| **res == TypeRes::Size(Res::Local(l)) && counts(tree.types[**t].span));
        as_value.count() + as_argument.count()
    };
    let lone = sizes
        .iter()
        .filter(|(l, size)| size.source == SizeSource::Implicit && uses(*l, &|span| is_in_signature(tree, span)) == 1);
    // If two names resemble each other, the one with more occurrences is meant, or else the first.
    let everywhere = |l: LocalId| (uses(l, &|_| true), std::cmp::Reverse(l));
    let found = lone.filter_map(|(l, size)| {
        let others = sizes.iter().filter(|(other, _)| everywhere(*other) > everywhere(*l));
        let meant = nearest_name(&size.name, others.map(|(_, other)| other.name.as_str()))?.into();
        let span = resolved.locals.get(l.0 as usize)?.span;
        Some(MisspeltSize { name: size.name.clone(), span, intended_name: meant })
    });
    found.collect()
}

/// Returns whether the span precedes the body of a definition.
fn is_in_signature(tree: &Tree, span: Span) -> bool {
    matches!(&tree.item, Item::Def(def) if span.end <= tree.exprs[def.body].span.start)
}

/// Lowers a `type` item. `None` if it is another item, or an alias with an error.
pub fn lower_type_item(tree: &Tree, resolved: &Resolved, env: &dyn TypeEnv) -> (Option<TypeInfo>, Vec<Diagnostic>) {
    let Item::Type(def) = &tree.item else { return (None, Vec::new()) };
    let size_local = |l: LocalId| {
        let d = resolved.locals.get(l.0 as usize)?;
        let k = def.params.iter().position(|p| p.span == d.span)?;
        Some(Poly::atom(Atom::SizeParam(u32::try_from(k).ok()?, d.name.clone())))
    };
    let params = def.params.iter().map(|p| {
        let is_size = resolved.locals.iter().any(|d| d.kind == LocalKind::ImplicitSize && d.span == p.span);
        (p.name.clone(), if is_size { ParamKind::Size } else { ParamKind::Type })
    });
    let params: Vec<_> = params.collect();
    let mut lower = TypeLowering::new(tree, resolved, env, &size_local);
    let body = match &def.body {
        TypeBody::Sum(ctors) => TypeInfoBody::Sum(
            ctors
                .iter()
                .map(|c| CtorInfo {
                    name: c.name.name.clone(),
                    args: c.args.iter().map(|t| lower.lower_type(*t)).collect(),
                })
                .collect(),
        ),
        TypeBody::Single(t) if resolved.is_single_ctor => match &tree.types[*t].kind {
            TypeExpr::Name { name, args, .. } => TypeInfoBody::Sum(vec![CtorInfo {
                name: name.name.clone(),
                args: args
                    .iter()
                    .map(|a| match a {
                        ast::TypeArg::Type(t) => lower.lower_type(*t),
                        ast::TypeArg::Size(size) => {
                            lower.diagnostics.push(Diagnostic::new(
                                Code::E0108,
                                tree.size_span(size),
                                "this is a size, but the argument of a constructor must be a type",
                            ));
                            Type::Error
                        }
                    })
                    .collect(),
            }]),
            _ => TypeInfoBody::Alias(Type::Error),
        },
        TypeBody::Single(t) => TypeInfoBody::Alias(lower.lower_type(*t)),
    };
    // An alias with an error is reported here, and not again at its uses.
    let known = !matches!(&body, TypeInfoBody::Alias(t) if t.has_error());
    (known.then_some(TypeInfo { params, body }), lower.diagnostics)
}
