//! The **core calculus**, ATL's Fig. 3: scalars, pairs (here tuples), generation, summation,
//! access, the Iverson bracket and `let`, over symbolic sizes. Beyond the paper it has `i64`,
//! `bool` and `f32` scalars, checks (which fail where the program fails) and calls of definitions.
//!
//! `norm::elaborate` produces core from the typed tree; the later passes of `norm` normalise it and
//! lower it to Tensor SSA.
//!
//! - `+`, `*` and functions take scalars. A sum has any number of terms, added left to right; a
//!   bracket whose predicate is false contributes no term (4.24). On `bool`, the sum is "or".
//! - Generation and summation start at 0. An extent below 0 counts as 0.
//! - Indices are polynomials over index variables, sizes, integers, and elements of integer arrays
//!   that are known only at run time ([`Atom::Read`]). Those arrays are variables.
//! - No variable is bound twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use super::callee::{DerivativeKind, FunctionKey, LocalFunctionRule, RuleKind};
pub use super::core_type::{CoreType, SumType, TupleLabels, TypeLeaf};
use super::reduce::CoreReduction;
use lang_base::ensure_sufficient_stack;
use lang_base::{Code, GlobalName, Name, Span};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};
use lang_types::tree::TypedId;

/// A constant.
#[derive(Clone, Copy, Debug)]
pub enum Constant {
    /// An `f64`, or an `f32` held exactly.
    Real(f64),
    /// An `i64`.
    Int(i64),
    /// A `bool`.
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

/// A scalar function. The calculus treats it as a black box (4.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ScalarOp {
    /// A function of the scalar table.
    Scalar(ScalarFn),
    /// `/ // %`, and comparisons, which return `bool`.
    Binary(BinOp),
    /// `x ^ y`
    Pow,
    /// `x ^ k` with an integer `k`.
    PowInt,
    /// `!p`
    Not,
    /// `f64(e)`, `f32(e)`, `i64(e)`
    Convert(Scalar),
    /// `stop(e)`: the identity, with derivative zero.
    Stop,
}

impl ScalarOp {
    /// Returns the work of one evaluation at this scalar type (DESIGN 3). Only operations on reals
    /// cost anything.
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

/// The failure of a check: reported if the predicate of the check is false.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CheckFailure {
    /// The diagnostic code.
    pub code: Code,
    /// The reason in words: an access, two sizes, an assertion.
    pub message: Name,
    /// The item whose source contains the check.
    pub item: GlobalName,
    /// The node of the item's typed tree. Its id does not change under an edit that only moves
    /// text. A form read back from text has `None`.
    pub node: Option<TypedId>,
}

/// An expression with its type and source location.
#[derive(Clone, Debug)]
pub struct CoreExpr {
    /// The expression.
    pub kind: ExprKind,
    /// Its type.
    pub ty: CoreType,
    /// The location in the item of the enclosing function.
    pub span: Span,
}

/// A shared expression.
pub type ExprRef = Arc<CoreExpr>;

impl PartialEq for CoreExpr {
    fn eq(&self, other: &Self) -> bool {
        let same = || (self.span, &self.ty, &self.kind) == (other.span, &other.ty, &other.kind);
        std::ptr::eq(self, other) || ensure_sufficient_stack(same)
    }
}

/// The kinds of expressions.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A parameter or `let` variable (4.1).
    Var(LocalId),
    /// A reference to a top-level `let`.
    Global(GlobalName),
    /// A constant (4.2).
    Constant(Constant),
    /// The value of an index expression (4.13-4.17), as `i64`.
    Index(Poly),
    /// `e₀ + e₁ + …` (4.3)
    Add(Vec<ExprRef>),
    /// `e₀ · e₁` (4.4)
    Mul(ExprRef, ExprRef),
    /// `-e`
    Neg(ExprRef),
    /// `f(e₀, …)` (4.5)
    Apply(ScalarOp, Vec<ExprRef>),
    /// `(e₀, …)` (4.6)
    Tuple(Vec<ExprRef>),
    /// `πₖ e` (4.10)
    Proj(ExprRef, u32),
    /// `⊞ i < n: e` (4.7)
    Gen(Index, ExprRef),
    /// `Σ i < n: e` (4.8)
    Sum(Index, ExprRef),
    /// `max i < n if p: e` and the other reductions.
    Reduce(Box<CoreReduction>),
    /// `argsort i < n: e` over scalars: the values of the index, sorted so that the expression
    /// ascends ([`super::argsort`]).
    Argsort(Index, ExprRef),
    /// `e[a]` (4.11). The index must be in bounds wherever this is evaluated.
    Access(ExprRef, Poly),
    /// `[p] · e` (4.12)
    Guard(Pred, ExprRef),
    /// `let x = e₀ in e₁` (4.9), for several bindings in order.
    Let(Vec<(LocalId, ExprRef)>, ExprRef),
    /// A call: sizes, then arguments.
    Call(Arc<FunctionKey>, Vec<Poly>, Vec<ExprRef>),
    /// A loop. The operands are the captured values of the body, then the initial carry.
    Loop(Arc<CoreLoop>, Vec<ExprRef>),
    /// An array with some of its elements replaced or added to: the array, then the new values.
    Update(Arc<CoreUpdate>, ExprRef, ExprRef),
    /// The value of the expression if the predicate holds, else a failure.
    Check(Pred, Arc<CheckFailure>, ExprRef),
}

/// A loop. Its value is a tuple of three: the final carry, an array with the output of each
/// iteration, and the trip count.
#[derive(Clone, PartialEq, Debug)]
pub struct CoreLoop {
    /// The body: a local function ([`CoreFunction::local_functions`]) of the captured values and
    /// the carry. It returns the next carry and the output of the iteration.
    pub body: Arc<FunctionKey>,
    /// The sizes of the body. They may mention the iteration number.
    pub sizes: Vec<Poly>,
    /// The iteration number, from 0. Its extent is the extent of the output arrays.
    pub counter: Index,
    /// The trip count or the loop condition.
    pub trip_count: CoreTripCount,
    /// The spacing of checkpoints: a reverse derivative keeps one state per this many iterations.
    /// If `None`, it keeps the data that it needs from each iteration.
    pub checkpoint: Option<CheckpointSpacing>,
}

/// The distance, in iterations, between the kept states of a loop.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CheckpointSpacing {
    /// A fixed distance. Values below 1 count as 1.
    Fixed(Poly),
    /// The square root of the trip count, rounded up; 32 if the trip count is unknown before the
    /// loop starts.
    SquareRoot,
}

impl CheckpointSpacing {
    /// Applies `poly` to the polynomial, if the spacing has one.
    #[must_use]
    pub fn map(&self, poly: impl FnOnce(&Poly) -> Poly) -> Self {
        match self {
            Self::Fixed(k) => Self::Fixed(poly(k)),
            Self::SquareRoot => Self::SquareRoot,
        }
    }

    /// Returns the distance that the program wrote, or `None` for
    /// [`CheckpointSpacing::SquareRoot`].
    #[must_use]
    pub fn fixed_distance(&self) -> Option<&Poly> {
        if let Self::Fixed(k) = self { Some(k) } else { None }
    }

    /// Returns the spacing of one run, at least 1. `distance` is the value of the written distance;
    /// `trips` is the trip count, if it is known before the loop starts.
    #[must_use]
    pub fn resolve(distance: Option<i64>, trips: Option<i64>) -> i64 {
        let far = match (distance, trips) {
            (Some(k), _) => k,
            (None, Some(trips)) => ceil_sqrt(trips),
            (None, None) => UNKNOWN_COUNT_SPACING,
        };
        far.max(1)
    }
}

/// The spacing of checkpoints in a loop whose trip count is unknown before it starts.
pub const UNKNOWN_COUNT_SPACING: i64 = 32;

/// Returns the square root, rounded up.
fn ceil_sqrt(n: i64) -> i64 {
    let n = n.max(0).unsigned_abs();
    let floor = n.isqrt();
    i64::try_from(floor + u64::from(floor * floor < n)).unwrap_or(i64::MAX)
}

/// The trip count of a loop, or its condition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CoreTripCount {
    /// A fixed count. Values below 0 count as 0.
    Fixed(Poly),
    /// Runs while the first component of the carry, a `bool`, is true.
    While,
}

impl CoreTripCount {
    /// Returns the trip count, or `None` for a `while` loop.
    #[must_use]
    pub fn fixed(&self) -> Option<&Poly> {
        if let Self::Fixed(n) = self { Some(n) } else { None }
    }
}

/// The elements that an update of an array replaces. No element may be written twice.
#[derive(Clone, PartialEq, Debug)]
pub struct CoreUpdate {
    /// The index variables of the new values.
    pub indices: Vec<Index>,
    /// The first indices of the array, as polynomials over the index variables. The update replaces
    /// the whole subarray at these indices.
    pub at: Vec<Poly>,
    /// Whether the update happens at all.
    pub pred: Pred,
    /// Whether the new values are added to the old ones.
    pub accumulate: bool,
}

/// The variables of a function: their names, by id, and which of the variables the compiler
/// introduced.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Vars {
    names: Vec<Name>,
    synthetic: BTreeSet<LocalId>,
    /// Names that patterns of the program bind to components of variables.
    component_names: BTreeMap<(LocalId, Vec<u32>), Name>,
}

impl Vars {
    /// Allocates a variable.
    pub fn fresh(&mut self, name: impl Into<Name>) -> LocalId {
        let id = LocalId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(name.into());
        id
    }

    /// Allocates a variable that has no name in the program.
    pub fn fresh_synthetic(&mut self, name: &str) -> LocalId {
        let id = self.fresh(name);
        self.synthetic.insert(id);
        id
    }

    /// Returns the program's name for a variable, or `None` if the compiler introduced the
    /// variable.
    #[must_use]
    pub fn source_name(&self, local: LocalId) -> Option<Name> {
        if self.synthetic.contains(&local) { None } else { self.names.get(local.0 as usize).cloned() }
    }

    /// Assigns a name from the program to a variable that the compiler introduced. Does nothing for
    /// other variables.
    pub fn set_source_name(&mut self, local: LocalId, name: &str) {
        if self.synthetic.remove(&local)
            && let Some(slot) = self.names.get_mut(local.0 as usize)
        {
            *slot = name.into();
        }
    }

    /// Assigns a name from the program to a component of a variable. The first assignment wins.
    pub fn set_component_name(&mut self, local: LocalId, path: Vec<u32>, name: &str) {
        self.component_names.entry((local, path)).or_insert_with(|| name.into());
    }

    /// Returns the program's name for a component of a variable.
    #[must_use]
    pub fn component_name(&self, local: LocalId, path: &[u32]) -> Option<Name> {
        self.component_names.get(&(local, path.to_vec())).cloned()
    }

    /// Allocates an index variable.
    pub fn fresh_index(&mut self, name: impl Into<Name>, extent: Poly) -> Index {
        let name = name.into();
        Index { local: self.fresh(name.clone()), name, extent }
    }

    /// Returns the name of a variable, empty for an unknown id.
    #[must_use]
    pub fn name(&self, local: LocalId) -> Name {
        self.names.get(local.0 as usize).cloned().unwrap_or_default()
    }

    /// Returns the variable as an atom of a polynomial.
    #[must_use]
    pub fn atom(&self, local: LocalId) -> Atom {
        Atom::Local(local, self.name(local))
    }

    /// Returns the number of variables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether there are no variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// A function in core.
#[derive(Clone, PartialEq, Debug)]
pub struct CoreFunction {
    /// The definition and its type arguments.
    pub callee: Arc<FunctionKey>,
    /// All variables.
    pub vars: Vars,
    /// The sizes that a call passes.
    pub sizes: Vec<LocalId>,
    /// The parameters.
    pub params: Vec<(LocalId, CoreType)>,
    /// Integer parameters that occur in index expressions. Proofs about them hold only for values
    /// below 2^47, so a run with a larger value must not use this function.
    pub bounded_params: BTreeSet<LocalId>,
    /// The body.
    pub body: ExprRef,
    /// Functions made inside this one so that they can be differentiated: lambdas and inlined
    /// definitions. Each follows those that it calls. Captured values are their first parameters.
    pub local_functions: Vec<Arc<Self>>,
    /// For a local function: the definition with a derivative rule whose body it holds, if that
    /// definition takes functions. They are substituted in this body.
    pub rule_of: Option<GlobalName>,
}

/// The reason and the location why a program has no core form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoCoreForm {
    /// The construct without a core form.
    pub reason: NoCoreFormReason,
    /// The item.
    pub item: GlobalName,
    /// The location in the item.
    pub span: Span,
}

/// The constructs without a core form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoCoreFormReason {
    /// An error in the program.
    Errors,
    /// A definition that calls itself, directly or indirectly.
    Recursion,
    /// A recursive type.
    RecursiveType,
    /// A function chosen at run time, or held by a data structure.
    FunctionValue,
    /// A range or shape that depends on data.
    DataRange,
    /// `rel`, `relation`, `|R|`
    Relation,
    /// An update of an array at a position that depends on data.
    Update,
    /// `dbg`, or an effect.
    Effect,
    /// A derivative of something that has no generated derivative.
    Derivative,
    /// A form, or a polynomial in it, that exceeds the limits on size.
    TooLarge,
    /// An index or integer quotient that may leave 64 bits although its operands are small.
    IndexOverflow,
    /// A derivative that would keep more than the memory limit allows.
    Memory,
}

impl NoCoreFormReason {
    /// Returns the reason as a noun phrase.
    #[must_use]
    pub fn phrase(&self) -> &'static str {
        match self {
            Self::Errors => "an error",
            Self::Recursion => "recursion",
            Self::RecursiveType => "a recursive type",
            Self::FunctionValue => "a function that is known only at run time",
            Self::DataRange => "an extent that is known only at run time",
            Self::Relation => "a relation that the program computes",
            Self::Update => "an update",
            Self::Effect => "an effect",
            Self::Derivative => "a derivative without a generated form",
            Self::TooLarge => "a form that exceeds the size limit",
            Self::IndexOverflow => "an index or a quotient that may overflow 64 bits because of a large factor",
            Self::Memory => "a derivative whose stored states exceed the memory limit",
        }
    }
}

impl CoreExpr {
    /// Allocates a shared expression.
    #[must_use]
    pub fn new(kind: ExprKind, ty: CoreType, span: Span) -> ExprRef {
        Arc::new(Self { kind, ty, span })
    }

    /// Returns an expression of another kind and type at the same location.
    #[must_use]
    pub fn with_kind(&self, kind: ExprKind, ty: CoreType) -> ExprRef {
        Self::new(kind, ty, self.span)
    }

    /// Returns the expression at another location.
    #[must_use]
    pub fn at_span(e: &ExprRef, span: Span) -> ExprRef {
        if e.span == span { Arc::clone(e) } else { Self::new(e.kind.clone(), e.ty.clone(), span) }
    }

    /// Returns component `k` of a tuple.
    #[must_use]
    pub fn proj(e: &ExprRef, k: u32) -> ExprRef {
        let ty = match &e.ty {
            CoreType::Tuple(items, _) => items.get(k as usize).cloned(),
            CoreType::Scalar(_) | CoreType::Tensor(..) | CoreType::Rel(_) => None,
        };
        e.with_kind(ExprKind::Proj(e.clone(), k), ty.unwrap_or(CoreType::Scalar(Scalar::Bool)))
    }

    /// `argsort i < n: e`
    #[must_use]
    pub fn argsort(index: Index, e: ExprRef) -> ExprRef {
        let ty = CoreType::Tensor(index.extent.clone(), Arc::new(CoreType::Scalar(Scalar::I64)));
        let span = e.span;
        Self::new(ExprKind::Argsort(index, e), ty, span)
    }

    /// Returns an element of an array.
    #[must_use]
    pub fn access(e: &ExprRef, at: Poly) -> ExprRef {
        let ty = match &e.ty {
            CoreType::Tensor(_, inner) => (**inner).clone(),
            other => other.clone(),
        };
        e.with_kind(ExprKind::Access(e.clone(), at), ty)
    }

    /// `⊞ i < n: e`
    #[must_use]
    pub fn generate(index: Index, e: ExprRef) -> ExprRef {
        let ty = CoreType::Tensor(index.extent.clone(), Arc::new(e.ty.clone()));
        let span = e.span;
        Self::new(ExprKind::Gen(index, e), ty, span)
    }

    /// `[p] · e`, or `e` itself if `p` is trivially true.
    #[must_use]
    pub fn guard(p: Pred, e: ExprRef) -> ExprRef {
        if p.is_true() {
            return e;
        }
        let (ty, span) = (e.ty.clone(), e.span);
        Self::new(ExprKind::Guard(p, e), ty, span)
    }

    /// `let x = e₀ in e₁` for several bindings in order. Returns the body if there are no bindings.
    #[must_use]
    pub fn lets(bindings: Vec<(LocalId, ExprRef)>, body: ExprRef) -> ExprRef {
        if bindings.is_empty() {
            return body;
        }
        let (ty, span) = (body.ty.clone(), body.span);
        Self::new(ExprKind::Let(bindings, body), ty, span)
    }

    /// Whether evaluating the expression twice costs nothing: it is a variable, a constant, an
    /// index expression, or a component or element of one.
    #[must_use]
    pub fn is_duplicable(&self) -> bool {
        let mut e = self;
        loop {
            match &e.kind {
                ExprKind::Var(_) | ExprKind::Global(_) | ExprKind::Constant(_) | ExprKind::Index(_) => return true,
                ExprKind::Proj(inner, _) | ExprKind::Access(inner, _) => e = inner,
                _ => return false,
            }
        }
    }

    /// Visits the direct subexpressions.
    pub fn for_each_child(&self, f: &mut dyn FnMut(&ExprRef)) {
        match &self.kind {
            ExprKind::Var(_) | ExprKind::Global(_) | ExprKind::Constant(_) | ExprKind::Index(_) => {}
            ExprKind::Add(items) | ExprKind::Apply(_, items) | ExprKind::Tuple(items) | ExprKind::Call(_, _, items) => {
                items.iter().for_each(f);
            }
            ExprKind::Mul(a, b) => [a, b].into_iter().for_each(f),
            ExprKind::Let(bindings, body) => bindings.iter().map(|b| &b.1).chain([body]).for_each(f),
            ExprKind::Neg(e)
            | ExprKind::Proj(e, _)
            | ExprKind::Gen(_, e)
            | ExprKind::Argsort(_, e)
            | ExprKind::Sum(_, e)
            | ExprKind::Access(e, _)
            | ExprKind::Guard(_, e)
            | ExprKind::Check(_, _, e) => f(e),
            ExprKind::Loop(_, items) => items.iter().for_each(f),
            ExprKind::Update(_, base, value) => [base, value].into_iter().for_each(f),
            ExprKind::Reduce(r) => f(&r.body),
        }
    }

    /// Rebuilds the expression with its direct subexpressions, polynomials and predicates mapped.
    #[must_use]
    pub fn map(
        &self,
        e: &mut dyn FnMut(&ExprRef) -> ExprRef,
        poly: &dyn Fn(&Poly) -> Poly,
        pred: &dyn Fn(&Pred) -> Pred,
    ) -> ExprRef {
        let index = |i: &Index| Index { extent: poly(&i.extent), ..i.clone() };
        let kind = match &self.kind {
            ExprKind::Var(x) => ExprKind::Var(*x),
            ExprKind::Global(x) => ExprKind::Global(x.clone()),
            ExprKind::Constant(c) => ExprKind::Constant(*c),
            ExprKind::Index(p) => ExprKind::Index(poly(p)),
            ExprKind::Add(items) => ExprKind::Add(items.iter().map(e).collect()),
            ExprKind::Mul(a, b) => ExprKind::Mul(e(a), e(b)),
            ExprKind::Neg(a) => ExprKind::Neg(e(a)),
            ExprKind::Apply(f, items) => ExprKind::Apply(*f, items.iter().map(e).collect()),
            ExprKind::Tuple(items) => ExprKind::Tuple(items.iter().map(e).collect()),
            ExprKind::Proj(a, k) => ExprKind::Proj(e(a), *k),
            ExprKind::Gen(i, a) => ExprKind::Gen(index(i), e(a)),
            ExprKind::Sum(i, a) => ExprKind::Sum(index(i), e(a)),
            ExprKind::Argsort(i, a) => ExprKind::Argsort(index(i), e(a)),
            ExprKind::Reduce(r) => ExprKind::Reduce(r.map(e, poly, pred)),
            ExprKind::Access(a, at) => ExprKind::Access(e(a), poly(at)),
            ExprKind::Guard(p, a) => ExprKind::Guard(pred(p), e(a)),
            ExprKind::Let(bindings, body) => {
                let bindings = bindings.iter().map(|(x, a)| (*x, e(a))).collect();
                ExprKind::Let(bindings, e(body))
            }
            ExprKind::Call(f, sizes, args) => {
                ExprKind::Call(f.clone(), sizes.iter().map(poly).collect(), args.iter().map(e).collect())
            }
            ExprKind::Check(p, what, a) => ExprKind::Check(pred(p), what.clone(), e(a)),
            ExprKind::Loop(repeat, args) => {
                let repeat = CoreLoop {
                    body: repeat.body.clone(),
                    sizes: repeat.sizes.iter().map(poly).collect(),
                    counter: index(&repeat.counter),
                    trip_count: match &repeat.trip_count {
                        CoreTripCount::Fixed(n) => CoreTripCount::Fixed(poly(n)),
                        CoreTripCount::While => CoreTripCount::While,
                    },
                    checkpoint: repeat.checkpoint.as_ref().map(|s| s.map(poly)),
                };
                ExprKind::Loop(Arc::new(repeat), args.iter().map(e).collect())
            }
            ExprKind::Update(update, base, value) => {
                let update = CoreUpdate {
                    indices: update.indices.iter().map(index).collect(),
                    at: update.at.iter().map(poly).collect(),
                    pred: pred(&update.pred),
                    accumulate: update.accumulate,
                };
                ExprKind::Update(Arc::new(update), e(base), e(value))
            }
        };
        Self::new(kind, self.ty.map_sizes(poly), self.span)
    }
}
