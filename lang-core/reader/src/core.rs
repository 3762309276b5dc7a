//! **Reader of core**: resolves the names in its tree and infers the type of each expression from
//! its parts.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Wrong;
use super::parser::{Parser, Read};
use super::terms::{Found, Terms};
use super::tree::{HeadTree, LetTree, LoopTree, Mark, Node, ReduceTree, Tree, TypeTree, UpdateTree, Word};
use lang_base::guarded;
use lang_base::{GlobalName, ModuleName, Name, Span};
use lang_ir::core::{
    Constant, CoreType, E, Expr, Failing, Function, Kind, Labels, Operation, Repeat, Spacing, Trips, Update, Vars,
};
use lang_ir::reduce::Reduction;
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

const I64: CoreType = CoreType::Scalar(Scalar::I64);
const F64: CoreType = CoreType::Scalar(Scalar::F64);
const BOOL: CoreType = CoreType::Scalar(Scalar::Bool);

pub(super) fn function(parser: &mut Parser<'_>, module: &ModuleName) -> Read<Function> {
    let head = parser.head("core")?;
    let body = parser.open()?;
    parser.end()?;
    let mut terms = Terms::new(module);
    let mut vars = Vars::default();
    let opened = open(&head, &mut terms, &mut vars)?;
    let callee = Arc::new(terms.callee(&head.callee)?);
    let result = terms.ty(&head.result)?;
    let mut core = Core { terms, vars, item: callee.def.clone() };
    let found = core.expr(&body)?;
    if !alike(&found.ty, &result) {
        return Err(Wrong::new(body.at, format!("this is `{}`, not `{result}`", found.ty)));
    }
    let body = found.with(found.kind.clone(), told(&result, &found.ty));
    let Opened { sizes, params, bounded, .. } = opened;
    Ok(Function { callee, vars: core.vars, sizes, params, bounded, body, locals: Vec::new(), rule_of: None })
}

/// The variables that a head binds.
pub(super) struct Opened {
    pub(super) sizes: Vec<LocalId>,
    pub(super) params: Vec<(LocalId, CoreType)>,
    pub(super) bounded: BTreeSet<LocalId>,
}

/// Binds the sizes and parameters of a head.
pub(super) fn open(head: &HeadTree, terms: &mut Terms, vars: &mut Vars) -> Read<Opened> {
    let mut opened = Opened { sizes: Vec::new(), params: Vec::new(), bounded: BTreeSet::new() };
    let index = |vars: &Vars, local| Found::Index(Poly::atom(vars.atom(local)), local);
    for (name, at) in Terms::sizes(&head.callee)? {
        once(terms, &name, at)?;
        let local = vars.fresh(name.clone());
        terms.enter(&name, index(vars, local));
        opened.sizes.push(local);
    }
    // Extents may mention later parameters and top-level `let`s.
    let scalar = |ty: &TypeTree| matches!(ty.node, super::tree::TypeNode::Scalar(Scalar::I64));
    let mut locals = Vec::new();
    for param in &head.params {
        once(terms, &param.name, param.at)?;
        if let Mark::Global(global) = &param.mark {
            let global = match global {
                Some(global) => terms.global(global),
                None => GlobalName { module: terms.module.clone(), name: param.name.clone() },
            };
            terms.enter(&param.name, Found::Global(global, I64));
            locals.push(None);
            continue;
        }
        let local = vars.fresh(param.name.clone());
        let found = match param.mark {
            Mark::Data => Found::Data(local, I64),
            _ if scalar(&param.ty) => index(vars, local),
            _ => Found::Data(local, CoreType::unit()),
        };
        if matches!(param.mark, Mark::Data | Mark::Bounded) && !scalar(&param.ty) {
            return Err(Wrong::new(param.ty.at, "only an `i64` has this mark"));
        }
        if matches!(param.mark, Mark::Bounded) {
            opened.bounded.insert(local);
        }
        terms.enter(&param.name, found);
        locals.push(Some(local));
    }
    for (param, local) in head.params.iter().zip(locals) {
        let ty = terms.ty(&param.ty)?;
        let found = match (local, terms.find(&param.name, param.at)?) {
            (None, Found::Global(global, _)) => Found::Global(global, ty.clone()),
            (_, Found::Data(local, _)) => Found::Data(local, ty.clone()),
            (_, found) => found,
        };
        terms.leave(&param.name);
        terms.enter(&param.name, found);
        opened.params.extend(local.map(|l| (l, ty)));
    }
    Ok(opened)
}

fn once(terms: &Terms, name: &Name, at: usize) -> Read<()> {
    if terms.knows(name) { Err(Wrong::new(at, format!("`{name}` is there twice"))) } else { Ok(()) }
}

/// Whether the types are equal except for extents.
fn alike(a: &CoreType, b: &CoreType) -> bool {
    guarded(|| match (a, b) {
        (CoreType::Scalar(a), CoreType::Scalar(b)) => a == b,
        (CoreType::Tensor(_, a), CoreType::Tensor(_, b)) => alike(a, b),
        (CoreType::Rel(a), CoreType::Rel(b)) => a.len() == b.len(),
        (CoreType::Tuple(a, m), CoreType::Tuple(b, n)) => {
            m == n && a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| alike(a, b))
        }
        _ => false,
    })
}

/// Replaces the extents `_` of a type by those of the other type.
fn told(ty: &CoreType, other: &CoreType) -> CoreType {
    guarded(|| match (ty, other) {
        (CoreType::Tensor(n, a), CoreType::Tensor(m, b)) => {
            let n = if n.overflowed() { m } else { n };
            CoreType::Tensor(n.clone(), Arc::new(told(a, b)))
        }
        (CoreType::Tuple(a, names), CoreType::Tuple(b, _)) => {
            CoreType::Tuple(a.iter().zip(b.iter()).map(|(a, b)| told(a, b)).collect(), names.clone())
        }
        _ => ty.clone(),
    })
}

/// Returns the scalar function, conversion or `stop` of this name.
pub(super) fn operation(name: &str) -> Option<Operation> {
    if let Some(f) = ScalarFn::ALL.iter().find(|f| f.name() == name) {
        return Some(Operation::Scalar(*f));
    }
    if let Some(s) = Scalar::ALL.into_iter().find(|s| s.name() == name) {
        return Some(Operation::Convert(s));
    }
    (name == "stop").then_some(Operation::Stop)
}

struct Core {
    terms: Terms,
    vars: Vars,
    item: GlobalName,
}

/// Returns the names among the indices, `None` for other expressions.
fn names(at: &[Tree]) -> impl Iterator<Item = Option<&Name>> {
    at.iter().map(|t| if let Node::Name(name) = &t.node { Some(name) } else { None })
}

fn new(kind: Kind, ty: CoreType) -> E {
    Expr::new(kind, ty, Span::default())
}

impl Core {
    fn expr(&mut self, tree: &Tree) -> Read<E> {
        guarded(|| {
            let atom = matches!(tree.node, Node::Name(_) | Node::At(..) | Node::Group(_));
            if !atom && self.terms.is_index(tree) {
                return Ok(new(Kind::Index(self.terms.poly(tree)?), I64));
            }
            self.plain(tree)
        })
    }

    fn list(&mut self, trees: &[Tree]) -> Read<Vec<E>> {
        trees.iter().map(|t| self.expr(t)).collect()
    }

    /// Resolves an expression that must be a scalar.
    fn scalar(&mut self, tree: &Tree) -> Read<E> {
        let e = self.expr(tree)?;
        match e.ty.scalar() {
            Some(_) => Ok(e),
            None => Err(Wrong::new(tree.at, format!("a scalar is wanted here, not `{}`", e.ty))),
        }
    }

    /// Resolves an expression as an operation on data, not as an index expression.
    fn plain(&mut self, tree: &Tree) -> Read<E> {
        let wrong = |message: String| Err(Wrong::new(tree.at, message));
        Ok(match &tree.node {
            Node::Name(name) => match self.terms.find(name, tree.at)? {
                Found::Index(p, _) => new(Kind::Index(p), I64),
                Found::Data(x, ty) => new(Kind::Var(x), ty),
                Found::Global(global, ty) if ty == I64 => new(Kind::Index(Poly::atom(Atom::Global(global))), ty),
                Found::Global(global, ty) => new(Kind::Global(global), ty),
            },
            Node::Int(i) => match i64::try_from(*i) {
                Ok(i) => new(Kind::Constant(Constant::Int(i)), I64),
                Err(_) => return wrong(format!("{i} is no `i64`")),
            },
            Node::Real(x, single) => {
                let of = if *single { Scalar::F32 } else { Scalar::F64 };
                new(Kind::Constant(Constant::Real(*x)), CoreType::Scalar(of))
            }
            Node::Bool(b) => new(Kind::Constant(Constant::Bool(*b)), BOOL),
            Node::Group(inner) => self.expr(inner)?,
            Node::Typed(inner, ty) => self.typed(inner, ty)?,
            Node::Sum(items) => {
                let mut terms = Vec::new();
                for (neg, item) in items {
                    let e = self.scalar(item)?;
                    let ty = e.ty.clone();
                    terms.push(if *neg { new(Kind::Neg(e), ty) } else { e });
                }
                self.sum(terms, tree.at)?
            }
            Node::Product(first, rest) => self.product(first, rest)?,
            Node::Neg(inner) => match &inner.node {
                Node::Real(x, single) => self.plain(&Tree { node: Node::Real(-x, *single), at: inner.at })?,
                Node::Int(i) => self.plain(&Tree { node: Node::Int(-i), at: inner.at })?,
                _ => {
                    let e = self.scalar(inner)?;
                    let ty = e.ty.clone();
                    new(Kind::Neg(e), ty)
                }
            },
            Node::Not(inner) => {
                let e = self.scalar(inner)?;
                new(Kind::Apply(Operation::Not, vec![e]), BOOL)
            }
            Node::Pow(base, exponent) => {
                let (x, y) = (self.scalar(base)?, self.scalar(exponent)?);
                let ty = x.ty.clone();
                let operation = if y.ty == I64 { Operation::PowInt } else { Operation::Pow };
                new(Kind::Apply(operation, vec![x, y]), ty)
            }
            Node::Compare(op, a, b) => {
                let args = self.pair(a, b)?;
                new(Kind::Apply(Operation::Binary(*op), args), BOOL)
            }
            Node::Logic(..) => return wrong("`&&` and `||` stand in brackets".to_owned()),
            Node::Tuple(items) => {
                let items = self.list(items)?;
                let ty = CoreType::tuple(items.iter().map(|e| e.ty.clone()).collect::<Vec<_>>());
                new(Kind::Tuple(items), ty)
            }
            Node::Record(fields) => {
                let mut items = Vec::new();
                for (_, field) in fields {
                    items.push(self.expr(field)?);
                }
                let names = fields.iter().map(|(name, _)| name.clone()).collect();
                let ty = CoreType::Tuple(items.iter().map(|e| e.ty.clone()).collect(), Labels::Fields(names));
                new(Kind::Tuple(items), ty)
            }
            Node::At(of, at) => self.access(of, at)?,
            Node::Component(of, k) => {
                let e = self.expr(of)?;
                match &e.ty {
                    CoreType::Tuple(items, _) if (*k as usize) < items.len() => Expr::proj(&e, *k),
                    ty => return wrong(format!("`{ty}` has no component {k}")),
                }
            }
            Node::Field(of, field) => {
                let e = self.expr(of)?;
                let place = match &e.ty {
                    CoreType::Tuple(_, Labels::Fields(names)) => names.iter().position(|n| n == field),
                    _ => None,
                };
                match place.and_then(|k| u32::try_from(k).ok()) {
                    Some(k) => Expr::proj(&e, k),
                    None => return wrong(format!("`{}` has no field `{field}`", e.ty)),
                }
            }
            Node::Apply(name, args) => self.apply(name, args, tree.at)?,
            Node::Call(..) => self.call(tree, F64)?,
            Node::Binder(Word::Any, ..) => return wrong("`any` stands in brackets".to_owned()),
            Node::Binder(word, name, extent, body) => {
                let extent = self.terms.poly(extent)?;
                let index = self.vars.index(name.clone(), extent);
                self.terms.enter(name, Found::Index(index.value(), index.local));
                let body = if *word == Word::Argsort { self.scalar(body) } else { self.expr(body) };
                self.terms.leave(name);
                self.bound(*word, index, body?)
            }
            Node::Reduce(reduce) => self.reduction(reduce)?,
            Node::Loop(_) => return wrong("the type of a loop stands after it".to_owned()),
            Node::Update(update) => self.update(update)?,
            Node::Bracket(_) => return wrong("a bracket is the first factor of a product".to_owned()),
            Node::Check(pred, code, what, body) => {
                let pred = self.terms.pred(pred)?;
                let body = self.expr(body)?;
                let ty = body.ty.clone();
                let item = self.item.clone();
                let failing = Failing { code: *code, what: what.clone(), item, node: None };
                new(Kind::Check(pred, Arc::new(failing), body), ty)
            }
            Node::Let(bindings, body) => self.lets(bindings, body)?,
        })
    }

    fn bound(&self, word: Word, index: Index, body: E) -> E {
        if word == Word::For {
            return Expr::generate(index, body);
        }
        if word == Word::Argsort {
            return Expr::order(index, body);
        }
        let ty = body.ty.clone();
        new(Kind::Sum(index, body), ty)
    }

    fn reduction(&mut self, tree: &ReduceTree) -> Read<E> {
        let mut indices = Vec::new();
        for (name, extent) in &tree.indices {
            let extent = self.terms.poly(extent)?;
            indices.push(self.vars.index(name.clone(), extent));
        }
        for index in &indices {
            self.terms.enter(&index.name, Found::Index(index.value(), index.local));
        }
        let inside = (|| {
            let terms = tree.terms.as_ref().map_or_else(|| Ok(Pred::truth()), |p| self.terms.pred(p))?;
            let place = tree.place.as_ref().map_or_else(|| Ok(Poly::default()), |p| self.terms.poly(p))?;
            Ok((terms, place, self.scalar(&tree.body)?))
        })();
        indices.iter().for_each(|index| self.terms.leave(&index.name));
        let (terms, place, body) = inside?;
        let ty = if tree.reducer.gives_place() { I64 } else { body.ty.clone() };
        Ok(new(Kind::Reduce(Box::new(Reduction { reducer: tree.reducer, indices, terms, place, body })), ty))
    }

    /// Resolves a loop of this type.
    fn repeat(&mut self, tree: &LoopTree, ty: CoreType, at: usize) -> Read<E> {
        let extent = match &ty {
            CoreType::Tuple(parts, Labels::Places) => match &**parts {
                [_, CoreType::Tensor(n, _), last] if *last == I64 => Some(n.clone()),
                _ => None,
            },
            _ => None,
        };
        let Some(extent) = extent else { return Err(Wrong::new(at, format!("`{ty}` is no type of a loop"))) };
        let mut args = self.list(&tree.args)?;
        let init = self.expr(&tree.init)?;
        let carried = if let CoreType::Tuple(parts, _) = &ty { parts.first() } else { None };
        if !carried.is_some_and(|c| alike(c, &init.ty)) {
            return Err(Wrong::new(tree.init.at, format!("`{}` is not what is carried", init.ty)));
        }
        args.push(init);
        let trips = match &tree.count {
            Some(n) => Trips::Count(self.terms.poly(n)?),
            None => Trips::While,
        };
        let checkpoint = match &tree.checkpoint {
            Some(Some(k)) => Some(Spacing::Every(self.terms.poly(k)?)),
            Some(None) => Some(Spacing::Root),
            None => None,
        };
        let counter = self.vars.index(tree.counter.clone(), extent);
        self.terms.enter(&counter.name, Found::Index(counter.value(), counter.local));
        let sizes = self.terms.polys(&tree.body.sizes);
        self.terms.leave(&counter.name);
        let body = Arc::new(self.terms.callee(&tree.body)?);
        Ok(new(Kind::Loop(Arc::new(Repeat { body, sizes: sizes?, counter, trips, checkpoint }), args), ty))
    }

    fn update(&mut self, tree: &UpdateTree) -> Read<E> {
        let base = self.expr(&tree.base)?;
        let value = match &tree.value.node {
            _ if tree.over.is_empty() => self.expr(&tree.value)?,
            Node::At(of, at) if names(at).eq(tree.over.iter().map(|(name, _)| Some(name))) => self.expr(of)?,
            _ => return Err(Wrong::new(tree.value.at, "an element at the indices of the update is wanted here")),
        };
        let mut of = [&base.ty, &value.ty];
        for (ty, count) in of.iter_mut().zip([tree.at.len(), tree.over.len()]) {
            for _ in 0..count {
                let CoreType::Tensor(_, inner) = *ty else {
                    return Err(Wrong::new(tree.value.at, format!("an index of `{ty}`")));
                };
                *ty = &**inner;
            }
        }
        let [old, put] = of;
        if !alike(old, put) {
            return Err(Wrong::new(tree.value.at, format!("`{put}` in place of `{old}`")));
        }
        let pred = tree.pred.as_ref().map_or_else(|| Ok(Pred::truth()), |p| self.terms.pred(p))?;
        let mut over = Vec::new();
        for (name, extent) in &tree.over {
            let extent = self.terms.poly(extent)?;
            over.push(self.vars.index(name.clone(), extent));
        }
        over.iter().for_each(|i| self.terms.enter(&i.name, Found::Index(i.value(), i.local)));
        let at = self.terms.polys(&tree.at);
        over.iter().for_each(|i| self.terms.leave(&i.name));
        let update = Update { over, at: at?, pred, add: tree.add };
        let ty = base.ty.clone();
        Ok(new(Kind::Update(Arc::new(update), base, value), ty))
    }

    fn sum(&self, terms: Vec<E>, at: usize) -> Read<E> {
        let ty = terms.first().map_or(F64, |e| e.ty.clone());
        match terms.iter().find(|e| e.ty != ty) {
            Some(other) => Err(Wrong::new(at, format!("a sum of `{ty}` and `{}`", other.ty))),
            None => Ok(new(Kind::Add(terms), ty)),
        }
    }

    /// Resolves two scalars of the same type.
    fn pair(&mut self, a: &Tree, b: &Tree) -> Read<Vec<E>> {
        let (x, y) = (self.scalar(a)?, self.scalar(b)?);
        if x.ty == y.ty {
            return Ok(vec![x, y]);
        }
        Err(Wrong::new(b.at, format!("`{}` and `{}` do not go together", x.ty, y.ty)))
    }

    fn product(&mut self, first: &Tree, rest: &[(BinOp, Tree)]) -> Read<E> {
        let [(op, second)] = rest else {
            return Err(Wrong::new(first.at, "a product of more than two factors, which needs parentheses"));
        };
        if let (Node::Bracket(pred), BinOp::Mul) = (&first.node, op) {
            let pred = self.terms.pred(pred)?;
            let body = self.expr(second)?;
            let ty = body.ty.clone();
            return Ok(new(Kind::Guard(pred, body), ty));
        }
        let args = self.pair(first, second)?;
        let ty = args.first().map_or(F64, |e| e.ty.clone());
        let kind = match (op, <[E; 2]>::try_from(args)) {
            (BinOp::Mul, Ok([a, b])) => Kind::Mul(a, b),
            (op, Ok(args)) => Kind::Apply(Operation::Binary(*op), args.into()),
            (op, Err(args)) => Kind::Apply(Operation::Binary(*op), args),
        };
        Ok(new(kind, ty))
    }

    fn access(&mut self, of: &Tree, at: &[Tree]) -> Read<E> {
        if let (Node::Name(name), []) = (&of.node, at) {
            // An integer parameter, read as data.
            return match self.terms.find(name, of.at)? {
                Found::Index(_, x) => Ok(new(Kind::Var(x), I64)),
                _ => Err(Wrong::new(of.at, format!("`{name}` needs no brackets"))),
            };
        }
        let mut e = self.expr(of)?;
        for index in at {
            if !matches!(e.ty, CoreType::Tensor(..)) {
                return Err(Wrong::new(index.at, format!("an index of `{}`", e.ty)));
            }
            e = Expr::access(&e, self.terms.poly(index)?);
        }
        Ok(e)
    }

    fn apply(&mut self, name: &Name, args: &[Tree], at: usize) -> Read<E> {
        if name == "sum" {
            let terms = args.iter().map(|t| self.scalar(t)).collect::<Read<Vec<E>>>()?;
            return self.sum(terms, at);
        }
        let Some(operation) = operation(name) else {
            return Err(Wrong::new(at, format!("`{name}` is no operation; a definition is called as `{name}[…](…)`")));
        };
        let wanted = if let Operation::Scalar(f) = operation { f.arguments().len() } else { 1 };
        if args.len() != wanted {
            return Err(Wrong::new(at, format!("`{name}` takes {wanted}, not {}", args.len())));
        }
        let args = match args {
            [a, b] => self.pair(a, b)?,
            _ => args.iter().map(|t| self.expr(t)).collect::<Read<Vec<E>>>()?,
        };
        let first = args.first().map_or(F64, |e| e.ty.clone());
        let ty = if let Operation::Convert(to) = operation { CoreType::Scalar(to) } else { first };
        Ok(new(Kind::Apply(operation, args), ty))
    }

    fn call(&mut self, tree: &Tree, ty: CoreType) -> Read<E> {
        let Node::Call(callee, args) = &tree.node else { return self.expr(tree) };
        let sizes = self.terms.polys(&callee.sizes)?;
        let callee = Arc::new(self.terms.callee(callee)?);
        let args = self.list(args)?;
        Ok(new(Kind::Call(callee, sizes, args), ty))
    }

    /// Resolves `e: T`.
    fn typed(&mut self, inner: &Tree, ty: &TypeTree) -> Read<E> {
        let told = self.terms.ty(ty)?;
        let sign = matches!(&inner.node, Node::Neg(of) if matches!(of.node, Node::Real(..)));
        match &inner.node {
            Node::Call(..) => self.call(inner, told),
            Node::Loop(tree) => self.repeat(tree, told, inner.at),
            Node::Real(..) | Node::Neg(_) if sign || matches!(inner.node, Node::Real(..)) => {
                let e = self.plain(inner)?;
                match told.scalar() {
                    Some(Scalar::F64 | Scalar::F32) => Ok(e.with(e.kind.clone(), told)),
                    _ => Err(Wrong::new(ty.at, "a real is `f64` or `f32`")),
                }
            }
            // An operation on data that would otherwise read as an index expression, or a value of
            // a sum type.
            _ => {
                let e = self.plain(inner)?;
                if let (CoreType::Tuple(items, Labels::Places), CoreType::Tuple(wanted, Labels::Sum(_))) =
                    (&e.ty, &told)
                    && matches!(e.kind, Kind::Tuple(_))
                    && items.len() == wanted.len()
                    && items.iter().zip(wanted.iter()).all(|(a, b)| alike(a, b))
                {
                    return Ok(e.with(e.kind.clone(), told));
                }
                if e.ty == told {
                    return Ok(e);
                }
                Err(Wrong::new(ty.at, format!("this is `{}`, not `{told}`", e.ty)))
            }
        }
    }

    fn lets(&mut self, bindings: &[LetTree], body: &Tree) -> Read<E> {
        let mut named = Vec::new();
        for binding in bindings {
            let value = match &binding.ty {
                Some(ty) => self.typed(&binding.value, ty),
                None => self.expr(&binding.value),
            };
            let value = match value {
                Ok(value) if !binding.index || value.ty == I64 => value,
                Ok(_) => return Err(Wrong::new(binding.value.at, "only an `i64` is an index")),
                Err(wrong) => return Err(wrong),
            };
            let local = self.vars.fresh(binding.name.clone());
            let found = if binding.index {
                Found::Index(Poly::atom(self.vars.atom(local)), local)
            } else {
                Found::Data(local, value.ty.clone())
            };
            self.terms.enter(&binding.name, found);
            named.push((local, value));
        }
        let body = self.expr(body)?;
        bindings.iter().for_each(|b| self.terms.leave(&b.name));
        let ty = body.ty.clone();
        Ok(new(Kind::Let(named, body), ty))
    }
}
