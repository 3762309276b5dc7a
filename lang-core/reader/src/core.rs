//! **Reader of core**: resolves the names in its tree and infers the type of each expression from
//! its parts.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::FormSyntaxError;
use super::name_scope::{NameMeaning, NameScope};
use super::parser::{FormParser, ParseResult};
use super::tree::{
    BinderWord, FormNode, FormTree, HeadTree, LetTree, LoopTree, ParamMark, ReduceTree, TypeTree, UpdateTree,
};
use lang_base::ensure_sufficient_stack;
use lang_base::{GlobalName, ModuleName, Name, Span};
use lang_ir::core::{
    CheckFailure, CheckpointSpacing, Constant, CoreExpr, CoreFunction, CoreLoop, CoreTripCount, CoreType, CoreUpdate,
    ExprKind, ExprRef, ScalarOp, TupleLabels, Vars,
};
use lang_ir::reduce::CoreReduction;
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

const I64: CoreType = CoreType::Scalar(Scalar::I64);
const F64: CoreType = CoreType::Scalar(Scalar::F64);
const BOOL: CoreType = CoreType::Scalar(Scalar::Bool);

pub(super) fn function(parser: &mut FormParser<'_>, module: &ModuleName) -> ParseResult<CoreFunction> {
    let head = parser.head("core")?;
    let body = parser.typed_expr()?;
    parser.expect_end()?;
    let mut terms = NameScope::new(module);
    let mut vars = Vars::default();
    let opened = bind_head(&head, &mut terms, &mut vars)?;
    let callee = Arc::new(terms.callee(&head.callee)?);
    let result = terms.ty(&head.result)?;
    let mut core = CoreResolver { scope: terms, vars, item: callee.def.clone() };
    let found = core.expr(&body)?;
    if !equal_up_to_extents(&found.ty, &result) {
        return Err(FormSyntaxError::new(body.at, format!("found type `{}`, expected `{result}`", found.ty)));
    }
    let body = found.with_kind(found.kind.clone(), fill_extents(&result, &found.ty));
    let HeadBindings { sizes, params, bounded, .. } = opened;
    Ok(CoreFunction {
        callee,
        vars: core.vars,
        sizes,
        params,
        bounded_params: bounded,
        body,
        local_functions: Vec::new(),
        rule_of: None,
    })
}

/// The variables that a head binds.
pub(super) struct HeadBindings {
    pub(super) sizes: Vec<LocalId>,
    pub(super) params: Vec<(LocalId, CoreType)>,
    pub(super) bounded: BTreeSet<LocalId>,
}

/// Binds the sizes and parameters of a head.
pub(super) fn bind_head(head: &HeadTree, terms: &mut NameScope, vars: &mut Vars) -> ParseResult<HeadBindings> {
    let mut opened = HeadBindings { sizes: Vec::new(), params: Vec::new(), bounded: BTreeSet::new() };
    let index = |vars: &Vars, local| NameMeaning::Index(Poly::atom(vars.atom(local)), local);
    for (name, at) in NameScope::sizes(&head.callee)? {
        check_unbound(terms, &name, at)?;
        let local = vars.fresh(name.clone());
        terms.bind(&name, index(vars, local));
        opened.sizes.push(local);
    }
    // Extents may mention later parameters and top-level `let`s.
    let scalar = |ty: &TypeTree| matches!(ty.node, super::tree::TypeNode::Scalar(Scalar::I64));
    let mut locals = Vec::new();
    for param in &head.params {
        check_unbound(terms, &param.name, param.at)?;
        if let ParamMark::Global(global) = &param.mark {
            let global = match global {
                Some(global) => terms.global(global),
                None => GlobalName { module: terms.module.clone(), name: param.name.clone() },
            };
            terms.bind(&param.name, NameMeaning::Global(global, I64));
            locals.push(None);
            continue;
        }
        let local = vars.fresh(param.name.clone());
        let found = match param.mark {
            ParamMark::Data => NameMeaning::Data(local, I64),
            _ if scalar(&param.ty) => index(vars, local),
            _ => NameMeaning::Data(local, CoreType::unit()),
        };
        if matches!(param.mark, ParamMark::Data | ParamMark::Bounded) && !scalar(&param.ty) {
            return Err(FormSyntaxError::new(param.ty.at, "only an `i64` parameter may be `bounded` or `data`"));
        }
        if matches!(param.mark, ParamMark::Bounded) {
            opened.bounded.insert(local);
        }
        terms.bind(&param.name, found);
        locals.push(Some(local));
    }
    for (param, local) in head.params.iter().zip(locals) {
        let ty = terms.ty(&param.ty)?;
        let found = match (local, terms.resolve(&param.name, param.at)?) {
            (None, NameMeaning::Global(global, _)) => NameMeaning::Global(global, ty.clone()),
            (_, NameMeaning::Data(local, _)) => NameMeaning::Data(local, ty.clone()),
            (_, found) => found,
        };
        terms.unbind(&param.name);
        terms.bind(&param.name, found);
        opened.params.extend(local.map(|l| (l, ty)));
    }
    Ok(opened)
}

fn check_unbound(terms: &NameScope, name: &Name, at: usize) -> ParseResult<()> {
    if terms.is_bound(name) { Err(FormSyntaxError::new(at, format!("duplicate name `{name}`"))) } else { Ok(()) }
}

/// Whether the types are equal except for extents.
fn equal_up_to_extents(a: &CoreType, b: &CoreType) -> bool {
    ensure_sufficient_stack(|| match (a, b) {
        (CoreType::Scalar(a), CoreType::Scalar(b)) => a == b,
        (CoreType::Tensor(_, a), CoreType::Tensor(_, b)) => equal_up_to_extents(a, b),
        (CoreType::Rel(a), CoreType::Rel(b)) => a.len() == b.len(),
        (CoreType::Tuple(a, m), CoreType::Tuple(b, n)) => {
            m == n && a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal_up_to_extents(a, b))
        }
        _ => false,
    })
}

/// Replaces the extents `_` of a type by those of the other type.
fn fill_extents(ty: &CoreType, other: &CoreType) -> CoreType {
    ensure_sufficient_stack(|| match (ty, other) {
        (CoreType::Tensor(n, a), CoreType::Tensor(m, b)) => {
            let n = if n.has_overflowed() { m } else { n };
            CoreType::Tensor(n.clone(), Arc::new(fill_extents(a, b)))
        }
        (CoreType::Tuple(a, names), CoreType::Tuple(b, _)) => {
            CoreType::Tuple(a.iter().zip(b.iter()).map(|(a, b)| fill_extents(a, b)).collect(), names.clone())
        }
        _ => ty.clone(),
    })
}

/// Returns the scalar function, conversion or `stop` of this name.
pub(super) fn operation_named(name: &str) -> Option<ScalarOp> {
    if let Some(f) = ScalarFn::ALL.iter().find(|f| f.name() == name) {
        return Some(ScalarOp::Scalar(*f));
    }
    if let Some(s) = Scalar::ALL.into_iter().find(|s| s.name() == name) {
        return Some(ScalarOp::Convert(s));
    }
    (name == "stop").then_some(ScalarOp::Stop)
}

struct CoreResolver {
    scope: NameScope,
    vars: Vars,
    item: GlobalName,
}

/// Returns the names among the indices, `None` for other expressions.
fn index_names(at: &[FormTree]) -> impl Iterator<Item = Option<&Name>> {
    at.iter().map(|t| if let FormNode::Name(name) = &t.node { Some(name) } else { None })
}

fn new_expr(kind: ExprKind, ty: CoreType) -> ExprRef {
    CoreExpr::new(kind, ty, Span::default())
}

impl CoreResolver {
    fn expr(&mut self, tree: &FormTree) -> ParseResult<ExprRef> {
        ensure_sufficient_stack(|| {
            let atom = matches!(tree.node, FormNode::Name(_) | FormNode::At(..) | FormNode::Group(_));
            if !atom && self.scope.is_index(tree) {
                return Ok(new_expr(ExprKind::Index(self.scope.poly(tree)?), I64));
            }
            self.data_expr(tree)
        })
    }

    fn list(&mut self, trees: &[FormTree]) -> ParseResult<Vec<ExprRef>> {
        trees.iter().map(|t| self.expr(t)).collect()
    }

    /// Resolves an expression that must be a scalar.
    fn scalar(&mut self, tree: &FormTree) -> ParseResult<ExprRef> {
        let e = self.expr(tree)?;
        match e.ty.scalar() {
            Some(_) => Ok(e),
            None => Err(FormSyntaxError::new(tree.at, format!("expected a scalar, found `{}`", e.ty))),
        }
    }

    /// Resolves an expression as an operation on data, not as an index expression.
    fn data_expr(&mut self, tree: &FormTree) -> ParseResult<ExprRef> {
        let wrong = |message: String| Err(FormSyntaxError::new(tree.at, message));
        Ok(match &tree.node {
            FormNode::Name(name) => match self.scope.resolve(name, tree.at)? {
                NameMeaning::Index(p, _) => new_expr(ExprKind::Index(p), I64),
                NameMeaning::Data(x, ty) => new_expr(ExprKind::Var(x), ty),
                NameMeaning::Global(global, ty) if ty == I64 => {
                    new_expr(ExprKind::Index(Poly::atom(Atom::Global(global))), ty)
                }
                NameMeaning::Global(global, ty) => new_expr(ExprKind::Global(global), ty),
            },
            FormNode::Int(i) => match i64::try_from(*i) {
                Ok(i) => new_expr(ExprKind::Constant(Constant::Int(i)), I64),
                Err(_) => return wrong(format!("{i} does not fit in `i64`")),
            },
            FormNode::Real(x, single) => {
                let of = if *single { Scalar::F32 } else { Scalar::F64 };
                new_expr(ExprKind::Constant(Constant::Real(*x)), CoreType::Scalar(of))
            }
            FormNode::Bool(b) => new_expr(ExprKind::Constant(Constant::Bool(*b)), BOOL),
            FormNode::Group(inner) => self.expr(inner)?,
            FormNode::Typed(inner, ty) => self.ascribed_expr(inner, ty)?,
            FormNode::Sum(items) => {
                let mut terms = Vec::new();
                for (neg, item) in items {
                    let e = self.scalar(item)?;
                    let ty = e.ty.clone();
                    terms.push(if *neg { new_expr(ExprKind::Neg(e), ty) } else { e });
                }
                self.sum(terms, tree.at)?
            }
            FormNode::Product(first, rest) => self.product(first, rest)?,
            FormNode::Neg(inner) => match &inner.node {
                FormNode::Real(x, single) => {
                    self.data_expr(&FormTree { node: FormNode::Real(-x, *single), at: inner.at })?
                }
                FormNode::Int(i) => self.data_expr(&FormTree { node: FormNode::Int(-i), at: inner.at })?,
                _ => {
                    let e = self.scalar(inner)?;
                    let ty = e.ty.clone();
                    new_expr(ExprKind::Neg(e), ty)
                }
            },
            FormNode::Not(inner) => {
                let e = self.scalar(inner)?;
                new_expr(ExprKind::Apply(ScalarOp::Not, vec![e]), BOOL)
            }
            FormNode::Pow(base, exponent) => {
                let (x, y) = (self.scalar(base)?, self.scalar(exponent)?);
                let ty = x.ty.clone();
                let operation = if y.ty == I64 { ScalarOp::PowInt } else { ScalarOp::Pow };
                new_expr(ExprKind::Apply(operation, vec![x, y]), ty)
            }
            FormNode::Compare(op, a, b) => {
                let args = self.same_typed_pair(a, b)?;
                new_expr(ExprKind::Apply(ScalarOp::Binary(*op), args), BOOL)
            }
            FormNode::Logic(..) => return wrong("`&&` and `||` must be in brackets".to_owned()),
            FormNode::Tuple(items) => {
                let items = self.list(items)?;
                let ty = CoreType::tuple(items.iter().map(|e| e.ty.clone()).collect::<Vec<_>>());
                new_expr(ExprKind::Tuple(items), ty)
            }
            FormNode::Record(fields) => {
                let mut items = Vec::new();
                for (_, field) in fields {
                    items.push(self.expr(field)?);
                }
                let names = fields.iter().map(|(name, _)| name.clone()).collect();
                let ty = CoreType::Tuple(items.iter().map(|e| e.ty.clone()).collect(), TupleLabels::Fields(names));
                new_expr(ExprKind::Tuple(items), ty)
            }
            FormNode::At(of, at) => self.access(of, at)?,
            FormNode::Component(of, k) => {
                let e = self.expr(of)?;
                match &e.ty {
                    CoreType::Tuple(items, _) if (*k as usize) < items.len() => CoreExpr::proj(&e, *k),
                    ty => return wrong(format!("`{ty}` has no component {k}")),
                }
            }
            FormNode::Field(of, field) => {
                let e = self.expr(of)?;
                let place = match &e.ty {
                    CoreType::Tuple(_, TupleLabels::Fields(names)) => names.iter().position(|n| n == field),
                    _ => None,
                };
                match place.and_then(|k| u32::try_from(k).ok()) {
                    Some(k) => CoreExpr::proj(&e, k),
                    None => return wrong(format!("`{}` has no field `{field}`", e.ty)),
                }
            }
            FormNode::Apply(name, args) => self.apply(name, args, tree.at)?,
            FormNode::Call(..) => self.call(tree, F64)?,
            FormNode::Binder(BinderWord::Any, ..) => return wrong("`any` must be in brackets".to_owned()),
            FormNode::Binder(word, name, extent, body) => {
                let extent = self.scope.poly(extent)?;
                let index = self.vars.fresh_index(name.clone(), extent);
                self.scope.bind(name, NameMeaning::Index(index.value(), index.local));
                let body = if *word == BinderWord::Argsort { self.scalar(body) } else { self.expr(body) };
                self.scope.unbind(name);
                self.binder_expr(*word, index, body?)
            }
            FormNode::Reduce(reduce) => self.reduction(reduce)?,
            FormNode::Loop(_) => return wrong("a loop must be followed by its type".to_owned()),
            FormNode::Update(update) => self.update(update)?,
            FormNode::Bracket(_) => return wrong("a bracket must be the first factor of a product".to_owned()),
            FormNode::Check(pred, code, what, body) => {
                let pred = self.scope.pred(pred)?;
                let body = self.expr(body)?;
                let ty = body.ty.clone();
                let item = self.item.clone();
                let failing = CheckFailure { code: *code, message: what.clone(), item, node: None };
                new_expr(ExprKind::Check(pred, Arc::new(failing), body), ty)
            }
            FormNode::Let(bindings, body) => self.lets(bindings, body)?,
        })
    }

    fn binder_expr(&self, word: BinderWord, index: Index, body: ExprRef) -> ExprRef {
        if word == BinderWord::For {
            return CoreExpr::generate(index, body);
        }
        if word == BinderWord::Argsort {
            return CoreExpr::argsort(index, body);
        }
        let ty = body.ty.clone();
        new_expr(ExprKind::Sum(index, body), ty)
    }

    fn reduction(&mut self, tree: &ReduceTree) -> ParseResult<ExprRef> {
        let mut indices = Vec::new();
        for (name, extent) in &tree.indices {
            let extent = self.scope.poly(extent)?;
            indices.push(self.vars.fresh_index(name.clone(), extent));
        }
        for index in &indices {
            self.scope.bind(&index.name, NameMeaning::Index(index.value(), index.local));
        }
        let inside = (|| {
            let terms = tree.filter.as_ref().map_or_else(|| Ok(Pred::truth()), |p| self.scope.pred(p))?;
            let place = tree.arg_value.as_ref().map_or_else(|| Ok(Poly::default()), |p| self.scope.poly(p))?;
            Ok((terms, place, self.scalar(&tree.body)?))
        })();
        indices.iter().for_each(|index| self.scope.unbind(&index.name));
        let (terms, place, body) = inside?;
        let ty = if tree.reducer.is_arg_reduction() { I64 } else { body.ty.clone() };
        Ok(new_expr(
            ExprKind::Reduce(Box::new(CoreReduction {
                reducer: tree.reducer,
                indices,
                filter: terms,
                arg_value: place,
                body,
            })),
            ty,
        ))
    }

    /// Resolves a loop of this type.
    fn loop_expr(&mut self, tree: &LoopTree, ty: CoreType, at: usize) -> ParseResult<ExprRef> {
        let extent = match &ty {
            CoreType::Tuple(parts, TupleLabels::Positions) => match &**parts {
                [_, CoreType::Tensor(n, _), last] if *last == I64 => Some(n.clone()),
                _ => None,
            },
            _ => None,
        };
        let Some(extent) = extent else { return Err(FormSyntaxError::new(at, format!("`{ty}` is not a loop type"))) };
        let mut args = self.list(&tree.args)?;
        let init = self.expr(&tree.init)?;
        let carried = if let CoreType::Tuple(parts, _) = &ty { parts.first() } else { None };
        if !carried.is_some_and(|c| equal_up_to_extents(c, &init.ty)) {
            return Err(FormSyntaxError::new(
                tree.init.at,
                format!("the initial value has type `{}`, which is not the carry type", init.ty),
            ));
        }
        args.push(init);
        let trips = match &tree.count {
            Some(n) => CoreTripCount::Fixed(self.scope.poly(n)?),
            None => CoreTripCount::While,
        };
        let checkpoint = match &tree.checkpoint {
            Some(Some(k)) => Some(CheckpointSpacing::Fixed(self.scope.poly(k)?)),
            Some(None) => Some(CheckpointSpacing::SquareRoot),
            None => None,
        };
        let counter = self.vars.fresh_index(tree.counter.clone(), extent);
        self.scope.bind(&counter.name, NameMeaning::Index(counter.value(), counter.local));
        let sizes = self.scope.polys(&tree.body.sizes);
        self.scope.unbind(&counter.name);
        let body = Arc::new(self.scope.callee(&tree.body)?);
        Ok(new_expr(
            ExprKind::Loop(Arc::new(CoreLoop { body, sizes: sizes?, counter, trip_count: trips, checkpoint }), args),
            ty,
        ))
    }

    fn update(&mut self, tree: &UpdateTree) -> ParseResult<ExprRef> {
        let base = self.expr(&tree.base)?;
        let value = match &tree.value.node {
            _ if tree.indices.is_empty() => self.expr(&tree.value)?,
            FormNode::At(of, at) if index_names(at).eq(tree.indices.iter().map(|(name, _)| Some(name))) => {
                self.expr(of)?
            }
            _ => {
                return Err(FormSyntaxError::new(tree.value.at, "expected an element at the indices of the update"));
            }
        };
        let mut of = [&base.ty, &value.ty];
        for (ty, count) in of.iter_mut().zip([tree.at.len(), tree.indices.len()]) {
            for _ in 0..count {
                let CoreType::Tensor(_, inner) = *ty else {
                    return Err(FormSyntaxError::new(tree.value.at, format!("`{ty}` cannot be indexed")));
                };
                *ty = &**inner;
            }
        }
        let [old, put] = of;
        if !equal_up_to_extents(old, put) {
            return Err(FormSyntaxError::new(tree.value.at, format!("found type `{put}`, expected `{old}`")));
        }
        let pred = tree.pred.as_ref().map_or_else(|| Ok(Pred::truth()), |p| self.scope.pred(p))?;
        let mut over = Vec::new();
        for (name, extent) in &tree.indices {
            let extent = self.scope.poly(extent)?;
            over.push(self.vars.fresh_index(name.clone(), extent));
        }
        over.iter().for_each(|i| self.scope.bind(&i.name, NameMeaning::Index(i.value(), i.local)));
        let at = self.scope.polys(&tree.at);
        over.iter().for_each(|i| self.scope.unbind(&i.name));
        let update = CoreUpdate { indices: over, at: at?, pred, accumulate: tree.accumulate };
        let ty = base.ty.clone();
        Ok(new_expr(ExprKind::Update(Arc::new(update), base, value), ty))
    }

    fn sum(&self, terms: Vec<ExprRef>, at: usize) -> ParseResult<ExprRef> {
        let ty = terms.first().map_or(F64, |e| e.ty.clone());
        match terms.iter().find(|e| e.ty != ty) {
            Some(other) => Err(FormSyntaxError::new(at, format!("cannot add `{ty}` and `{}`", other.ty))),
            None => Ok(new_expr(ExprKind::Add(terms), ty)),
        }
    }

    /// Resolves two scalars of the same type.
    fn same_typed_pair(&mut self, a: &FormTree, b: &FormTree) -> ParseResult<Vec<ExprRef>> {
        let (x, y) = (self.scalar(a)?, self.scalar(b)?);
        if x.ty == y.ty {
            return Ok(vec![x, y]);
        }
        Err(FormSyntaxError::new(b.at, format!("type mismatch: `{}` and `{}`", x.ty, y.ty)))
    }

    fn product(&mut self, first: &FormTree, rest: &[(BinOp, FormTree)]) -> ParseResult<ExprRef> {
        let [(op, second)] = rest else {
            return Err(FormSyntaxError::new(first.at, "a product of more than two factors needs parentheses"));
        };
        if let (FormNode::Bracket(pred), BinOp::Mul) = (&first.node, op) {
            let pred = self.scope.pred(pred)?;
            let body = self.expr(second)?;
            let ty = body.ty.clone();
            return Ok(new_expr(ExprKind::Guard(pred, body), ty));
        }
        let args = self.same_typed_pair(first, second)?;
        let ty = args.first().map_or(F64, |e| e.ty.clone());
        let kind = match (op, <[ExprRef; 2]>::try_from(args)) {
            (BinOp::Mul, Ok([a, b])) => ExprKind::Mul(a, b),
            (op, Ok(args)) => ExprKind::Apply(ScalarOp::Binary(*op), args.into()),
            (op, Err(args)) => ExprKind::Apply(ScalarOp::Binary(*op), args),
        };
        Ok(new_expr(kind, ty))
    }

    fn access(&mut self, of: &FormTree, at: &[FormTree]) -> ParseResult<ExprRef> {
        if let (FormNode::Name(name), []) = (&of.node, at) {
            // An integer parameter, read as data.
            return match self.scope.resolve(name, of.at)? {
                NameMeaning::Index(_, x) => Ok(new_expr(ExprKind::Var(x), I64)),
                _ => Err(FormSyntaxError::new(of.at, format!("unexpected brackets after `{name}`"))),
            };
        }
        let mut e = self.expr(of)?;
        for index in at {
            if !matches!(e.ty, CoreType::Tensor(..)) {
                return Err(FormSyntaxError::new(index.at, format!("`{}` cannot be indexed", e.ty)));
            }
            e = CoreExpr::access(&e, self.scope.poly(index)?);
        }
        Ok(e)
    }

    fn apply(&mut self, name: &Name, args: &[FormTree], at: usize) -> ParseResult<ExprRef> {
        if name == "sum" {
            let terms = args.iter().map(|t| self.scalar(t)).collect::<ParseResult<Vec<ExprRef>>>()?;
            return self.sum(terms, at);
        }
        let Some(operation) = operation_named(name) else {
            return Err(FormSyntaxError::new(
                at,
                format!("unknown operation `{name}`; call a definition as `{name}[…](…)`"),
            ));
        };
        let wanted = if let ScalarOp::Scalar(f) = operation { f.arguments().len() } else { 1 };
        if args.len() != wanted {
            return Err(FormSyntaxError::new(
                at,
                format!(
                    "`{name}` takes {}, found {}",
                    lang_base::count_with_noun(wanted, "argument", "arguments"),
                    args.len()
                ),
            ));
        }
        let args = match args {
            [a, b] => self.same_typed_pair(a, b)?,
            _ => args.iter().map(|t| self.expr(t)).collect::<ParseResult<Vec<ExprRef>>>()?,
        };
        let first = args.first().map_or(F64, |e| e.ty.clone());
        let ty = if let ScalarOp::Convert(to) = operation { CoreType::Scalar(to) } else { first };
        Ok(new_expr(ExprKind::Apply(operation, args), ty))
    }

    fn call(&mut self, tree: &FormTree, ty: CoreType) -> ParseResult<ExprRef> {
        let FormNode::Call(callee, args) = &tree.node else { return self.expr(tree) };
        let sizes = self.scope.polys(&callee.sizes)?;
        let callee = Arc::new(self.scope.callee(callee)?);
        let args = self.list(args)?;
        Ok(new_expr(ExprKind::Call(callee, sizes, args), ty))
    }

    /// Resolves `e: T`.
    fn ascribed_expr(&mut self, inner: &FormTree, ty: &TypeTree) -> ParseResult<ExprRef> {
        let ascribed_type = self.scope.ty(ty)?;
        let sign = matches!(&inner.node, FormNode::Neg(of) if matches!(of.node, FormNode::Real(..)));
        match &inner.node {
            FormNode::Call(..) => self.call(inner, ascribed_type),
            FormNode::Loop(tree) => self.loop_expr(tree, ascribed_type, inner.at),
            FormNode::Real(..) | FormNode::Neg(_) if sign || matches!(inner.node, FormNode::Real(..)) => {
                let e = self.data_expr(inner)?;
                match ascribed_type.scalar() {
                    Some(Scalar::F64 | Scalar::F32) => Ok(e.with_kind(e.kind.clone(), ascribed_type)),
                    _ => Err(FormSyntaxError::new(ty.at, "a real must have type `f64` or `f32`")),
                }
            }
            // An operation on data that would otherwise read as an index expression, or a value of
            // a sum type.
            _ => {
                let e = self.data_expr(inner)?;
                if let (CoreType::Tuple(items, TupleLabels::Positions), CoreType::Tuple(wanted, TupleLabels::Sum(_))) =
                    (&e.ty, &ascribed_type)
                    && matches!(e.kind, ExprKind::Tuple(_))
                    && items.len() == wanted.len()
                    && items.iter().zip(wanted.iter()).all(|(a, b)| equal_up_to_extents(a, b))
                {
                    return Ok(e.with_kind(e.kind.clone(), ascribed_type));
                }
                if e.ty == ascribed_type {
                    return Ok(e);
                }
                Err(FormSyntaxError::new(ty.at, format!("found type `{}`, expected `{ascribed_type}`", e.ty)))
            }
        }
    }

    fn lets(&mut self, bindings: &[LetTree], body: &FormTree) -> ParseResult<ExprRef> {
        let mut named = Vec::new();
        for binding in bindings {
            let value = match &binding.ty {
                Some(ty) => self.ascribed_expr(&binding.value, ty),
                None => self.expr(&binding.value),
            };
            let value = match value {
                Ok(value) if !binding.is_index || value.ty == I64 => value,
                Ok(_) => return Err(FormSyntaxError::new(binding.value.at, "an index must have type `i64`")),
                Err(wrong) => return Err(wrong),
            };
            let local = self.vars.fresh(binding.name.clone());
            let found = if binding.is_index {
                NameMeaning::Index(Poly::atom(self.vars.atom(local)), local)
            } else {
                NameMeaning::Data(local, value.ty.clone())
            };
            self.scope.bind(&binding.name, found);
            named.push((local, value));
        }
        let body = self.expr(body)?;
        bindings.iter().for_each(|b| self.scope.unbind(&b.name));
        let ty = body.ty.clone();
        Ok(new_expr(ExprKind::Let(named, body), ty))
    }
}
