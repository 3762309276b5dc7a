//! The core calculus, ATL's Fig. 3: scalars, pairs (here tuples), generation, summation, access, the Iverson
//! bracket and `let`, over symbolic sizes. Beyond the paper: `i64`, `bool` and `f32` scalars, checks, which fail
//! where the program does, and calls of definitions.
//!
//! - `+`, `*` and functions are of scalars. A sum has any number of terms, added left to right; a term that is a
//!   bracket which does not hold is no term (4.24). Of `bool` the sum is "or".
//! - Generation and summation run from 0. An extent below 0 is as good as 0.
//! - Indices are polynomials over index variables, sizes, integers, and elements of integer arrays that only
//!   the run knows ([`Atom::Read`](crate::predicate::Atom::Read)), whose arrays are variables.
//! - No variable is bound twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use super::callee::{Callee, Derivation, LocalRule, Rule};
pub use super::core_type::{CoreType, Labels, Leaf, SumType};
use super::reduce::Reduction;
use crate::base::{Code, GlobalName, Name, Span};
use crate::interp::guarded;
use crate::predicate::{Atom, Index, LocalId, Poly, Pred};
use crate::resolve::scalar_fn::ScalarFn;
use crate::syntax::ops::{BinOp, Scalar};
use crate::types::tree::TId;

/// A constant.
#[derive(Clone, Copy, Debug)]
pub enum Constant {
    /// `f64`, or `f32` held exactly.
    Real(f64),
    /// `i64`
    Int(i64),
    /// `bool`
    Bool(bool),
}

impl Constant {
    fn key(self) -> (u8, u64) {
        match self {
            Self::Real(x) => (0, x.to_bits()),
            Self::Int(i) => (1, i.cast_unsigned()),
            Self::Bool(b) => (2, u64::from(b)),
        }
    }
}

impl PartialEq for Constant {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Constant {}
impl std::hash::Hash for Constant {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// A scalar function as the calculus sees it: a black box (4.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Operation {
    /// A function of the table.
    Scalar(ScalarFn),
    /// `/ // %` and comparisons, which give `bool`.
    Binary(BinOp),
    /// `x ^ y`
    Pow,
    /// `x ^ k` of an integer `k`.
    PowInt,
    /// `!p`
    Not,
    /// `f64(e)`, `f32(e)`, `i64(e)`
    Convert(Scalar),
    /// `stop(e)`: the same, with no derivative.
    Stop,
}

impl Operation {
    /// Work of one evaluation on reals (DESIGN 3).
    #[must_use]
    pub fn work(self, of: Scalar) -> u64 {
        let real = matches!(of, Scalar::F64 | Scalar::F32);
        let costs = match self {
            Self::Scalar(_) | Self::Pow | Self::PowInt => true,
            Self::Binary(op) => matches!(op, BinOp::Div | BinOp::FloorDiv | BinOp::Mod),
            Self::Not | Self::Convert(_) | Self::Stop => false,
        };
        u64::from(real && costs)
    }
}

/// What fails where its predicate does not hold.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Failing {
    /// The code of the failure.
    pub code: Code,
    /// What is wrong, for a reader: an access, two sizes, an assertion.
    pub what: Name,
    /// Where, in which item.
    pub item: GlobalName,
    /// The place in the item: a node of its typed tree, which an edit that only moves text leaves what it is. What is
    /// read back from a text has none.
    pub node: Option<TId>,
}

/// An expression with its type and where it comes from.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: Kind,
    /// Its type.
    pub ty: CoreType,
    /// The place in the item of the function it belongs to.
    pub span: Span,
}

/// A shared expression.
pub type E = Arc<Expr>;

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        let same = || (self.span, &self.ty, &self.kind) == (other.span, &other.ty, &other.kind);
        std::ptr::eq(self, other) || guarded(same)
    }
}

/// Expressions.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// A parameter or `let` variable (4.1).
    Var(LocalId),
    /// A top-level `let`.
    Global(GlobalName),
    /// A constant (4.2).
    Constant(Constant),
    /// The value of an index expression (4.13-4.17), as `i64`.
    Index(Poly),
    /// `e₀ + e₁ + …` (4.3)
    Add(Vec<E>),
    /// `e₀ · e₁` (4.4)
    Mul(E, E),
    /// `-e`
    Neg(E),
    /// `f(e₀, …)` (4.5)
    Apply(Operation, Vec<E>),
    /// `(e₀, …)` (4.6)
    Tuple(Vec<E>),
    /// `πₖ e` (4.10)
    Proj(E, u32),
    /// `⊞ i < n: e` (4.7)
    Gen(Index, E),
    /// `Σ i < n: e` (4.8)
    Sum(Index, E),
    /// `max i < n if p: e` and its kin.
    Reduce(Box<Reduction>),
    /// `argsort i < n: e`, of scalars: the values of the index in ascending order of the expression ([`super::order`]).
    Order(Index, E),
    /// `e[a]` (4.11); the index is in bounds wherever this is evaluated.
    Access(E, Poly),
    /// `[p] · e` (4.12)
    Guard(Pred, E),
    /// `let x = e₀ in e₁` (4.9), for several, in order.
    Let(Vec<(LocalId, E)>, E),
    /// A call: sizes, then arguments.
    Call(Arc<Callee>, Vec<Poly>, Vec<E>),
    /// A loop, with what its body captures and then the first carry.
    Loop(Arc<Repeat>, Vec<E>),
    /// The array with some of its elements replaced or added to.
    Update(Arc<Update>, E, E),
    /// The value of the expression where the predicate holds, else a failure.
    Check(Pred, Arc<Failing>, E),
}

/// A loop. Its value is a tuple: the last carry, what every iteration gives beside the next one as an array with an
/// element for each, and how many there were.
#[derive(Clone, PartialEq, Debug)]
pub struct Repeat {
    /// The body: a function made in this one ([`Function::locals`]) of what it captures and the carry, which gives the
    /// next carry and one thing more.
    pub body: Arc<Callee>,
    /// Sizes of the body, over the number of the iteration too.
    pub sizes: Vec<Poly>,
    /// The number of the iteration, from 0. Its extent is that of the arrays.
    pub counter: Index,
    /// How often.
    pub trips: Trips,
    /// Of how many states a derivative in reverse keeps one, if not what it needs of each.
    pub checkpoint: Option<Spacing>,
}

/// How far apart the states are that are kept of a loop.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Spacing {
    /// So far; below 1 is as good as 1.
    Every(Poly),
    /// The square root of how often the loop runs, rounded up; 32 if that is not told before.
    Root,
}

impl Spacing {
    /// With its polynomial replaced.
    #[must_use]
    pub fn map(&self, poly: impl FnOnce(&Poly) -> Poly) -> Self {
        match self {
            Self::Every(k) => Self::Every(poly(k)),
            Self::Root => Self::Root,
        }
    }

    /// How far, if that is told.
    #[must_use]
    pub fn told(&self) -> Option<&Poly> {
        if let Self::Every(k) = self { Some(k) } else { None }
    }

    /// How far in a run: of the value that is told, or of how often the loop runs if that is told before.
    #[must_use]
    pub fn value(told: Option<i64>, trips: Option<i64>) -> i64 {
        let far = match (told, trips) {
            (Some(k), _) => k,
            (None, Some(trips)) => root(trips),
            (None, None) => OPEN_SPACING,
        };
        far.max(1)
    }
}

/// How far apart states are kept of a loop of which is not told before how often it runs.
pub const OPEN_SPACING: i64 = 32;

/// The square root, rounded up.
fn root(n: i64) -> i64 {
    let n = n.max(0).unsigned_abs();
    let floor = n.isqrt();
    i64::try_from(floor + u64::from(floor * floor < n)).unwrap_or(i64::MAX)
}

/// How often a loop runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Trips {
    /// So often; below 0 is as good as 0.
    Count(Poly),
    /// While the first part of the carry, a truth value, holds.
    While,
}

impl Trips {
    /// How often, if that is told before.
    #[must_use]
    pub fn count(&self) -> Option<&Poly> {
        if let Self::Count(n) = self { Some(n) } else { None }
    }
}

/// Which elements of an array are replaced. No element is twice.
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// The indices of what is put there.
    pub over: Vec<Index>,
    /// Where: the first indices of the array, over these. Below them all is replaced.
    pub at: Vec<Poly>,
    /// Are any?
    pub pred: Pred,
    /// Is it added?
    pub add: bool,
}

/// The variables of a function: their names, by number, and which of these the program does not have.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Vars {
    names: Vec<Name>,
    made: BTreeSet<LocalId>,
    /// What patterns of the program call parts of variables.
    parts: BTreeMap<(LocalId, Vec<u32>), Name>,
}

impl Vars {
    /// A new variable.
    pub fn fresh(&mut self, name: impl Into<Name>) -> LocalId {
        let id = LocalId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(name.into());
        id
    }

    /// A new variable for what has no name in the program.
    pub fn made(&mut self, name: &str) -> LocalId {
        let id = self.fresh(name);
        self.made.insert(id);
        id
    }

    /// The name that the program has for a variable.
    #[must_use]
    pub fn given(&self, local: LocalId) -> Option<Name> {
        if self.made.contains(&local) { None } else { self.names.get(local.0 as usize).cloned() }
    }

    /// The program has this name for a variable that had none.
    pub fn give(&mut self, local: LocalId, name: &str) {
        if self.made.remove(&local)
            && let Some(slot) = self.names.get_mut(local.0 as usize)
        {
            *slot = name.into();
        }
    }

    /// The program has this name for a part of a variable; the first one stays.
    pub fn give_part(&mut self, local: LocalId, path: Vec<u32>, name: &str) {
        self.parts.entry((local, path)).or_insert_with(|| name.into());
    }

    /// The name that the program has for a part of a variable.
    #[must_use]
    pub fn part(&self, local: LocalId, path: &[u32]) -> Option<Name> {
        self.parts.get(&(local, path.to_vec())).cloned()
    }

    /// A new index variable.
    pub fn index(&mut self, name: impl Into<Name>, extent: Poly) -> Index {
        let name = name.into();
        Index { local: self.fresh(name.clone()), name, extent }
    }

    /// The name of a variable.
    #[must_use]
    pub fn name(&self, local: LocalId) -> Name {
        self.names.get(local.0 as usize).cloned().unwrap_or_default()
    }

    /// The variable in a polynomial.
    #[must_use]
    pub fn atom(&self, local: LocalId) -> Atom {
        Atom::Local(local, self.name(local))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Are there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// A function in core.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// The definition, and at which types.
    pub callee: Arc<Callee>,
    /// All variables.
    pub vars: Vars,
    /// The sizes that a call passes.
    pub sizes: Vec<LocalId>,
    /// The parameters.
    pub params: Vec<(LocalId, CoreType)>,
    /// Integer parameters that indices are made of: what is understood of these holds for values below
    /// 2^47, and so a run with others is not this function's.
    pub bounded: BTreeSet<LocalId>,
    /// Its body.
    pub body: E,
    /// Functions that are made in it to be differentiated, each after those that it calls: lambdas and what
    /// is inlined, with what they capture as their first parameters.
    pub locals: Vec<Arc<Self>>,
    /// The definition with a rule that this is, if it takes functions: they are in place in this local function.
    pub rule_of: Option<GlobalName>,
}

/// Why a program has no core form, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside {
    /// What is there: a noun phrase.
    pub what: Reason,
    /// The item.
    pub item: GlobalName,
    /// The place in it.
    pub span: Span,
}

/// What has no core form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// It has errors.
    Errors,
    /// A definition that calls itself, directly or not.
    Recursion,
    /// A recursive type.
    RecursiveType,
    /// A function that the run chooses, or that a data structure holds.
    FunctionValue,
    /// A range, or a shape, that data tell.
    DataRange,
    /// `rel`, `relation`, `|R|`
    Relation,
    /// An update of an array at a place that data tell.
    Update,
    /// `dbg`, or what acts on the world.
    Effect,
    /// A derivative of what has no generated one.
    Derivative,
    /// More parts than are taken in.
    TooLarge,
    /// An index or a quotient of an integer that may leave 64 bits while what it is made of is small.
    Wraps,
    /// More to be kept for the derivative than the limit of memory allows.
    Memory,
}

impl Reason {
    /// As a noun phrase.
    #[must_use]
    pub fn phrase(&self) -> &'static str {
        match self {
            Self::Errors => "an error",
            Self::Recursion => "recursion",
            Self::RecursiveType => "a recursive type",
            Self::FunctionValue => "a function that only the run knows",
            Self::DataRange => "an extent that only the run knows",
            Self::Relation => "a relation made by the program",
            Self::Update => "an update",
            Self::Effect => "an effect",
            Self::Derivative => "a derivative that has no generated form",
            Self::TooLarge => "too much for one form",
            Self::Wraps => "an index or a quotient with so large a factor that it may leave 64 bits",
            Self::Memory => "more to be kept than the limit of memory allows",
        }
    }
}

impl Expr {
    /// A shared expression.
    #[must_use]
    pub fn new(kind: Kind, ty: CoreType, span: Span) -> E {
        Arc::new(Self { kind, ty, span })
    }

    /// The same at the same place with another form and type.
    #[must_use]
    pub fn with(&self, kind: Kind, ty: CoreType) -> E {
        Self::new(kind, ty, self.span)
    }

    /// The same at another place.
    #[must_use]
    pub fn at(e: &E, span: Span) -> E {
        if e.span == span { Arc::clone(e) } else { Self::new(e.kind.clone(), e.ty.clone(), span) }
    }

    /// A component.
    #[must_use]
    pub fn proj(e: &E, k: u32) -> E {
        let ty = match &e.ty {
            CoreType::Tuple(items, _) => items.get(k as usize).cloned(),
            CoreType::Scalar(_) | CoreType::Tensor(..) | CoreType::Rel(_) => None,
        };
        e.with(Kind::Proj(e.clone(), k), ty.unwrap_or(CoreType::Scalar(Scalar::Bool)))
    }

    /// `argsort i < n: e`
    #[must_use]
    pub fn order(index: Index, e: E) -> E {
        let ty = CoreType::Tensor(index.extent.clone(), Arc::new(CoreType::Scalar(Scalar::I64)));
        let span = e.span;
        Self::new(Kind::Order(index, e), ty, span)
    }

    /// An element.
    #[must_use]
    pub fn access(e: &E, at: Poly) -> E {
        let ty = match &e.ty {
            CoreType::Tensor(_, inner) => (**inner).clone(),
            other => other.clone(),
        };
        e.with(Kind::Access(e.clone(), at), ty)
    }

    /// `⊞ i < n: e`
    #[must_use]
    pub fn generate(index: Index, e: E) -> E {
        let ty = CoreType::Tensor(index.extent.clone(), Arc::new(e.ty.clone()));
        let span = e.span;
        Self::new(Kind::Gen(index, e), ty, span)
    }

    /// `[p] · e`; without the bracket where it always holds.
    #[must_use]
    pub fn guard(p: Pred, e: E) -> E {
        if p.is_true() {
            return e;
        }
        let (ty, span) = (e.ty.clone(), e.span);
        Self::new(Kind::Guard(p, e), ty, span)
    }

    /// `let x = e₀ in e₁` for several, in order; without bindings the body.
    #[must_use]
    pub fn lets(bindings: Vec<(LocalId, E)>, body: E) -> E {
        if bindings.is_empty() {
            return body;
        }
        let (ty, span) = (body.ty.clone(), body.span);
        Self::new(Kind::Let(bindings, body), ty, span)
    }

    /// Is it a variable, a component or element of one, or a constant? Reading it twice costs nothing.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let mut e = self;
        loop {
            match &e.kind {
                Kind::Var(_) | Kind::Global(_) | Kind::Constant(_) | Kind::Index(_) => return true,
                Kind::Proj(inner, _) | Kind::Access(inner, _) => e = inner,
                _ => return false,
            }
        }
    }

    /// The expressions directly inside.
    pub fn for_each_child(&self, f: &mut dyn FnMut(&E)) {
        match &self.kind {
            Kind::Var(_) | Kind::Global(_) | Kind::Constant(_) | Kind::Index(_) => {}
            Kind::Add(items) | Kind::Apply(_, items) | Kind::Tuple(items) | Kind::Call(_, _, items) => {
                items.iter().for_each(f);
            }
            Kind::Mul(a, b) => [a, b].into_iter().for_each(f),
            Kind::Let(bindings, body) => bindings.iter().map(|b| &b.1).chain([body]).for_each(f),
            Kind::Neg(e)
            | Kind::Proj(e, _)
            | Kind::Gen(_, e)
            | Kind::Order(_, e)
            | Kind::Sum(_, e)
            | Kind::Access(e, _)
            | Kind::Guard(_, e)
            | Kind::Check(_, _, e) => f(e),
            Kind::Loop(_, items) => items.iter().for_each(f),
            Kind::Update(_, base, value) => [base, value].into_iter().for_each(f),
            Kind::Reduce(r) => f(&r.body),
        }
    }

    /// The expression with those directly inside, the polynomials and the predicates replaced.
    #[must_use]
    pub fn map(&self, e: &mut dyn FnMut(&E) -> E, poly: &dyn Fn(&Poly) -> Poly, pred: &dyn Fn(&Pred) -> Pred) -> E {
        let index = |i: &Index| Index { extent: poly(&i.extent), ..i.clone() };
        let kind = match &self.kind {
            Kind::Var(x) => Kind::Var(*x),
            Kind::Global(x) => Kind::Global(x.clone()),
            Kind::Constant(c) => Kind::Constant(*c),
            Kind::Index(p) => Kind::Index(poly(p)),
            Kind::Add(items) => Kind::Add(items.iter().map(e).collect()),
            Kind::Mul(a, b) => Kind::Mul(e(a), e(b)),
            Kind::Neg(a) => Kind::Neg(e(a)),
            Kind::Apply(f, items) => Kind::Apply(*f, items.iter().map(e).collect()),
            Kind::Tuple(items) => Kind::Tuple(items.iter().map(e).collect()),
            Kind::Proj(a, k) => Kind::Proj(e(a), *k),
            Kind::Gen(i, a) => Kind::Gen(index(i), e(a)),
            Kind::Sum(i, a) => Kind::Sum(index(i), e(a)),
            Kind::Order(i, a) => Kind::Order(index(i), e(a)),
            Kind::Reduce(r) => Kind::Reduce(r.map(e, poly, pred)),
            Kind::Access(a, at) => Kind::Access(e(a), poly(at)),
            Kind::Guard(p, a) => Kind::Guard(pred(p), e(a)),
            Kind::Let(bindings, body) => {
                let bindings = bindings.iter().map(|(x, a)| (*x, e(a))).collect();
                Kind::Let(bindings, e(body))
            }
            Kind::Call(f, sizes, args) => {
                Kind::Call(f.clone(), sizes.iter().map(poly).collect(), args.iter().map(e).collect())
            }
            Kind::Check(p, what, a) => Kind::Check(pred(p), what.clone(), e(a)),
            Kind::Loop(repeat, args) => {
                let repeat = Repeat {
                    body: repeat.body.clone(),
                    sizes: repeat.sizes.iter().map(poly).collect(),
                    counter: index(&repeat.counter),
                    trips: match &repeat.trips {
                        Trips::Count(n) => Trips::Count(poly(n)),
                        Trips::While => Trips::While,
                    },
                    checkpoint: repeat.checkpoint.as_ref().map(|s| s.map(poly)),
                };
                Kind::Loop(Arc::new(repeat), args.iter().map(e).collect())
            }
            Kind::Update(update, base, value) => {
                let update = Update {
                    over: update.over.iter().map(index).collect(),
                    at: update.at.iter().map(poly).collect(),
                    pred: pred(&update.pred),
                    add: update.add,
                };
                Kind::Update(Arc::new(update), e(base), e(value))
            }
        };
        Self::new(kind, self.ty.map_sizes(poly), self.span)
    }
}
