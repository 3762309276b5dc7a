//! The typed surface: what the checker makes of an item, the interpreter evaluates and
//! elaboration will turn into core. Every name is resolved, every lift, conversion, check and
//! instantiation is explicit, every node has its type.

use std::sync::Arc;

use super::ty::{Scalar, Type};
use crate::base::{Arena, GlobalName, Idx, Name, Real, Span};
use crate::predicate::{LocalId, Poly};
use crate::resolve::builtin::Builtin;
use crate::resolve::forms::{Derivative, LoadOption, PlotKind, PlotOption};
use crate::resolve::scalar_fn::ScalarFn;
use crate::syntax::ops::{BinOp, BinderKind};

/// A node of a [`Body`].
pub type TId = Idx<Node>;

/// A typed expression at its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Expr,
    /// Its type; sizes in it are polynomials over locals and globals.
    pub ty: Type,
    /// Its place in the item.
    pub span: Span,
}

/// A checked item: one frame of locals and a tree over it. Lambdas are part of the tree and
/// share the numbering of locals.
#[derive(Clone, PartialEq, Debug)]
pub struct Body {
    /// All nodes.
    pub nodes: Arena<Node>,
    /// The local for each type-level size parameter of the signature that a caller passes
    /// (the implicit ones, in the signature's order).
    pub sizes: Vec<LocalId>,
    /// The local of each parameter, in order.
    pub params: Vec<LocalId>,
    /// All locals: parameters, let-bound, index and pattern variables, and extents that become
    /// known when the program runs.
    pub locals: Vec<Local>,
    /// The body. `None` if errors leave nothing to run.
    pub root: Option<TId>,
}

impl Body {
    /// Does it do something, beside or instead of having a value: print, save, plot, make sure?
    #[must_use]
    pub fn acts(&self) -> bool {
        let acts = |s: &Special| matches!(s, Special::Print | Special::Save | Special::Plot(_) | Special::Assert(_));
        self.nodes.iter().any(|(_, node)| matches!(&node.kind, Expr::Special(s, _) if acts(s)))
    }
}

/// A local of a [`Body`].
#[derive(Clone, PartialEq, Debug)]
pub struct Local {
    /// Its name; for an opened extent, a name made for messages.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// Where it is bound.
    pub span: Span,
}

/// What a call passes for the type-level parameters of its callee.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Instance {
    /// One per type parameter.
    pub types: Vec<Type>,
    /// One per implicit size.
    pub sizes: Vec<Poly>,
}

/// What a size must be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Demand {
    /// Equal to another.
    Equal(Poly),
    /// A size at all, neither negative nor too large: what is solved from `[n + 2]f64` need not be.
    Size,
}

/// A demand on a size that could be neither proved nor refuted.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeCheck {
    /// What is there.
    pub found: Poly,
    /// What is wanted of it.
    pub wanted: Demand,
    /// What the check is about, as a noun phrase ("axis 1 of argument `x`").
    pub what: String,
    /// Where it comes from.
    pub span: Span,
    /// Compared before the expression is evaluated, because the accesses in it rely on it.
    pub first: bool,
}

/// An extent that becomes known when a value does: axis `axis` (after `path` through tuples and
/// records, by position) of the value of this node is stored in `local`.
#[derive(Clone, PartialEq, Debug)]
pub struct Open {
    /// Positions through tuples and records.
    pub path: Vec<u32>,
    /// The axis of the array found there.
    pub axis: u32,
    /// Where the extent is stored.
    pub local: LocalId,
}

/// What is called.
#[derive(Clone, PartialEq, Debug)]
pub enum Callee {
    /// A definition.
    Def(GlobalName, Instance),
    /// A library function that is not written in Iverson.
    Builtin(Builtin, Instance),
    /// A constructor, by type and position.
    Ctor(GlobalName, u32),
    /// A function value.
    Value(TId),
}

/// Typed expressions. "Lifted" operations apply to every element where operands are arrays;
/// array operands have equal shapes, scalars stand for every element.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// Errors were reported here; evaluating it is a failure.
    Error,
    /// A real literal, of the node's scalar type.
    Real(Real),
    /// An integer literal; of type `i64`, or of a type parameter.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// Text.
    Str(Name),
    /// A local.
    Local(LocalId),
    /// A top-level `let`.
    Global(GlobalName),
    /// A size used as `i64`.
    Size(Poly),
    /// A definition as a value.
    DefValue(GlobalName, Instance),
    /// A builtin as a value.
    BuiltinValue(Builtin, Instance),
    /// A scalar function as a value.
    ScalarValue(ScalarFn),
    /// A constructor as a value; without arguments, the value itself.
    CtorValue(GlobalName, u32),
    /// `-x`, lifted.
    Neg(TId),
    /// `!p`, lifted.
    Not(TId),
    /// `+ - * / // %` on two operands, lifted. A long chain nests to the left without bound.
    Arith(BinOp, TId, TId),
    /// `a < b <= c`: every neighbouring pair; operands are evaluated once, left to right, and
    /// those after a false comparison not at all. With array operands there is one operator, lifted.
    Compare(TId, Vec<(BinOp, TId)>),
    /// `&&`, left to right, stops at the first false.
    And(Vec<TId>),
    /// `||`, left to right, stops at the first true.
    Or(Vec<TId>),
    /// `a ^ b`, lifted; the exponent is an integer or a real, scalar or of the same shape.
    Pow(TId, TId),
    /// A scalar function, lifted.
    Scalar(ScalarFn, Vec<TId>),
    /// `f64(e)`, `f32(e)`, `i64(e)` (truncates), lifted.
    Convert(Scalar, TId),
    /// `[p] * e`: the zero of the node's type where `p` is false.
    Guard(TId, TId),
    /// An array literal; elements of the node's element type.
    Array(Vec<TId>),
    /// A tuple.
    Tuple(Vec<TId>),
    /// A record, values in the order of the node's type, with the order of evaluation of the text.
    Record(Vec<(u32, TId)>),
    /// Position in a tuple, or of a field in a record's type.
    Proj(TId, u32),
    /// `x[i, a..b, _]`
    Index(TId, Vec<Subscript>),
    /// A call. Its parts are evaluated in the order of [`call_parts`].
    Call {
        /// What is called.
        callee: Callee,
        /// Its arguments.
        args: Vec<TId>,
    },
    /// Evaluates the expression, then verifies the sizes (before it those that come first); its value is that
    /// of the expression.
    Checked(Vec<SizeCheck>, TId),
    /// Evaluates the expression and stores extents of its value.
    Opened(Vec<Open>, TId),
    /// A lambda.
    Lambda(Arc<Lambda>),
    /// `let`s in order, then the body.
    Let(Vec<(Pat, TId)>, TId),
    /// Conditions in order, else the last.
    If(Vec<(TId, TId)>, TId),
    /// The first arm that matches; exhaustive.
    Match(TId, Vec<(Pat, TId)>),
    /// A binder other than `for` and `rel` reduces; `for` builds an array of the node's type.
    Binder {
        /// Which.
        kind: BinderKind,
        /// Index variables, outermost first.
        vars: Vec<IndexVar>,
        /// `if p`
        filter: Option<TId>,
        /// The body.
        body: TId,
    },
    /// `fold`, `scan`.
    Fold {
        /// Keep every state.
        scan: bool,
        /// Binds the carry.
        acc: Pat,
        /// The first carry.
        init: TId,
        /// Index variables, outermost first.
        vars: Vec<IndexVar>,
        /// The next carry.
        body: TId,
        /// One output a step; the value is then `(carry, outputs)`.
        yields: Option<TId>,
    },
    /// `loop`, `scan … while`.
    Loop {
        /// Keep every state.
        scan: bool,
        /// Binds the carry.
        acc: Pat,
        /// The first carry.
        init: TId,
        /// Goes on while true.
        cond: TId,
        /// The next carry.
        body: TId,
    },
    /// `checkpoint`: of how many states of a loop one is kept for derivatives, and the loop.
    Checkpoint(Option<TId>, TId),
    /// Updates, left to right.
    With(TId, Vec<Update>),
    /// `|R|`
    Card(TId),
    /// `R(i, j)`
    Member(TId, Vec<TId>),
    /// A form with typing of its own.
    Special(Special, Vec<TId>),
}

/// Forms with typing rules of their own, by their names in the language.
#[derive(Clone, PartialEq, Debug)]
pub enum Special {
    /// `assert(p, "text")`
    Assert(Name),
    /// `error("text")`
    Error(Name),
    /// `dbg(e)`
    Dbg,
    /// `par(a, b)`
    Par,
    /// `stop(e)`
    Stop,
    /// `reshape(x, n, m, …)`: the new extents are those of the node's type; the check that the
    /// counts agree is a [`Expr::Checked`] around it where it is not proved.
    Reshape,
    /// `relation(idx, n, m)`
    Relation,
    /// `print(e, …)`
    Print,
    /// `time(e)`
    Time,
    /// `load("file", option: e, …)`: the file, then the values of the options.
    Load(Arc<[LoadOption]>),
    /// `save(e, "file")`
    Save,
    /// `plot(e, …)`: the data of the groups in order, then the values of the options.
    Plot(Arc<Plot>),
    /// `grad(f)`, `jvp(f)`, …: the operator applied to a function; the node has a function type.
    /// `wrt` holds the positions of the differentiated parameters.
    Derive(Derivative, Option<Vec<u32>>),
    /// `deriv(e, x)` by a local.
    Deriv(LocalId),
}

/// What the arguments of a `plot` are.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// Never empty.
    pub groups: Vec<PlotGroup>,
    /// Each at most once.
    pub options: Vec<PlotOption>,
}

/// Data that is drawn in one way.
#[derive(Clone, PartialEq, Debug)]
pub struct PlotGroup {
    /// How.
    pub kind: PlotKind,
    /// What stands for it in the legend, where the program says so.
    pub label: Name,
    /// For each of the data what it is called in the program; empty if it is no name.
    pub data: Vec<Name>,
}

/// A lambda. Free locals are read from the frame it is made in.
#[derive(Clone, PartialEq, Debug)]
pub struct Lambda {
    /// Patterns of the parameters (irrefutable).
    pub params: Vec<Pat>,
    /// The body.
    pub body: TId,
    /// Locals of the enclosing frame that the body reads, sizes in types included.
    pub captures: Vec<LocalId>,
}

/// A pattern with what it binds.
#[derive(Clone, PartialEq, Debug)]
pub enum Pat {
    /// Matches all.
    Wild,
    /// Binds a local.
    Bind(LocalId),
    /// A constructor by position, with the patterns of its arguments.
    Ctor(u32, Vec<Pat>),
    /// Tuple.
    Tuple(Vec<Pat>),
    /// Fields by position in the record's type.
    Record(Vec<(u32, Pat)>),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// Stores the leading extents of the value in these locals, then matches.
    Sized(Vec<LocalId>, Box<Pat>),
}

/// An index variable.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexVar {
    /// Its local.
    pub local: LocalId,
    /// Its range.
    pub range: IndexRange,
}

/// Where an index variable ranges. Evaluated once on entry of the loop over it.
#[derive(Clone, PartialEq, Debug)]
pub enum IndexRange {
    /// `0..n`, a bare index: the extent was inferred.
    Extent(Poly),
    /// `i < e`
    Below(TId),
    /// `i in a..b by s`
    Range(TId, TId, Option<TId>),
}

/// One place between the brackets of an index.
#[derive(Clone, PartialEq, Debug)]
pub enum Subscript {
    /// `i`. `proved`: always in bounds.
    At {
        /// The index.
        index: TId,
        /// Always in bounds.
        proved: bool,
    },
    /// `a..b`. `proved`: always `0 <= a <= b <= extent`.
    Range {
        /// First.
        from: TId,
        /// One past the last.
        to: TId,
        /// Always in bounds.
        proved: bool,
    },
    /// `_`
    Whole,
}

/// An update.
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// Where.
    pub place: Place,
    /// `+=`
    pub add: bool,
    /// The new value or what is added; for an index place a scalar may fill a slice.
    pub value: TId,
    /// The place in the text.
    pub span: Span,
}

/// What an update changes.
#[derive(Clone, PartialEq, Debug)]
pub enum Place {
    /// Elements or slices.
    Index(Vec<Subscript>),
    /// A component of a tuple or record, by position.
    Proj(u32),
}

impl Pat {
    /// Every local it binds.
    pub fn for_each_local(&self, f: &mut dyn FnMut(LocalId)) {
        match self {
            Self::Wild | Self::Int(_) | Self::Bool(_) => {}
            Self::Bind(l) => f(*l),
            Self::Ctor(_, items) | Self::Tuple(items) => items.iter().for_each(|p| p.for_each_local(f)),
            Self::Record(fields) => fields.iter().for_each(|(_, p)| p.for_each_local(f)),
            Self::Sized(locals, inner) => {
                locals.iter().for_each(|l| f(*l));
                inner.for_each_local(f);
            }
        }
    }
}

impl Expr {
    /// Every node directly inside, in the order of evaluation. Where the base of an index or an update
    /// is a path, it comes last.
    pub fn for_each_child(&self, nodes: &Arena<Node>, f: &mut dyn FnMut(TId)) {
        match self {
            Self::Error
            | Self::Real(_)
            | Self::Int(_)
            | Self::Bool(_)
            | Self::Str(_)
            | Self::Local(_)
            | Self::Global(_)
            | Self::Size(_)
            | Self::DefValue(..)
            | Self::BuiltinValue(..)
            | Self::ScalarValue(_)
            | Self::CtorValue(..) => {}
            Self::Neg(a)
            | Self::Not(a)
            | Self::Convert(_, a)
            | Self::Proj(a, _)
            | Self::Card(a)
            | Self::Checked(_, a)
            | Self::Opened(_, a) => f(*a),
            Self::Arith(_, a, b) | Self::Pow(a, b) | Self::Guard(a, b) => [*a, *b].into_iter().for_each(f),
            Self::Compare(a, rest) => {
                f(*a);
                rest.iter().for_each(|(_, b)| f(*b));
            }
            Self::And(items)
            | Self::Or(items)
            | Self::Array(items)
            | Self::Tuple(items)
            | Self::Scalar(_, items)
            | Self::Special(_, items) => items.iter().for_each(|n| f(*n)),
            Self::Record(items) => items.iter().for_each(|(_, n)| f(*n)),
            Self::Index(a, subs) => {
                let path = is_path(nodes, *a);
                Some(*a).filter(|_| !path).into_iter().for_each(&mut *f);
                subscripts(subs, f);
                Some(*a).filter(|_| path).into_iter().for_each(f);
            }
            Self::Call { callee, args } => call_parts(nodes, callee, args).for_each(|(_, n)| f(n)),
            Self::Lambda(lambda) => f(lambda.body),
            Self::Let(binds, body) => {
                binds.iter().for_each(|(_, n)| f(*n));
                f(*body);
            }
            Self::If(arms, otherwise) => {
                arms.iter().for_each(|(c, t)| {
                    f(*c);
                    f(*t);
                });
                f(*otherwise);
            }
            Self::Match(a, arms) => {
                f(*a);
                arms.iter().for_each(|(_, n)| f(*n));
            }
            Self::Binder { vars, filter, body, .. } => {
                ranges(vars, f);
                filter.iter().for_each(|n| f(*n));
                f(*body);
            }
            Self::Fold { init, vars, body, yields, .. } => {
                f(*init);
                ranges(vars, f);
                f(*body);
                yields.iter().for_each(|n| f(*n));
            }
            Self::Loop { init, cond, body, .. } => [*init, *cond, *body].into_iter().for_each(f),
            Self::Checkpoint(every, of) => every.iter().chain([of]).for_each(|n| f(*n)),
            Self::With(a, updates) => {
                let path = is_path(nodes, *a);
                Some(*a).filter(|_| !path).into_iter().for_each(&mut *f);
                for u in updates {
                    if let Place::Index(subs) = &u.place {
                        subscripts(subs, f);
                    }
                    f(u.value);
                }
                Some(*a).filter(|_| path).into_iter().for_each(f);
            }
            Self::Member(a, items) => {
                f(*a);
                items.iter().for_each(|n| f(*n));
            }
        }
    }

    /// Every local that this node itself reads (in sizes too, but not in its type) and binds.
    pub fn for_each_local(&self, read: &mut dyn FnMut(LocalId), bind: &mut dyn FnMut(LocalId)) {
        let mut size = |p: &Poly| {
            p.for_each_atom(&mut |a| {
                if let crate::predicate::Atom::Local(l, _) = a {
                    read(*l);
                }
            });
        };
        match self {
            Self::Size(p) => size(p),
            Self::DefValue(_, i)
            | Self::BuiltinValue(_, i)
            | Self::Call { callee: Callee::Def(_, i) | Callee::Builtin(_, i), .. } => {
                i.types.iter().for_each(|t| t.visit(&mut |_| {}, &mut size));
                i.sizes.iter().for_each(size);
            }
            Self::Checked(checks, _) => checks.iter().for_each(|c| {
                size(&c.found);
                if let Demand::Equal(wanted) = &c.wanted {
                    size(wanted);
                }
            }),
            Self::Binder { vars, .. } | Self::Fold { vars, .. } => {
                for v in vars {
                    if let IndexRange::Extent(p) = &v.range {
                        size(p);
                    }
                }
            }
            _ => {}
        }
        match self {
            Self::Local(l) | Self::Special(Special::Deriv(l), _) => read(*l),
            Self::Opened(opens, _) => opens.iter().for_each(|o| bind(o.local)),
            Self::Lambda(lambda) => lambda.params.iter().for_each(|p| p.for_each_local(bind)),
            Self::Let(binds, _) => binds.iter().for_each(|(p, _)| p.for_each_local(bind)),
            Self::Match(_, arms) => arms.iter().for_each(|(p, _)| p.for_each_local(bind)),
            Self::Binder { vars, .. } => vars.iter().for_each(|v| bind(v.local)),
            Self::Fold { vars, acc, .. } => {
                vars.iter().for_each(|v| bind(v.local));
                acc.for_each_local(bind);
            }
            Self::Loop { acc, .. } => acc.for_each_local(bind),
            _ => {}
        }
    }
}

/// Is this node a local or a component of one, so that reading it can neither fail nor be seen?
pub fn is_path(nodes: &Arena<Node>, mut node: TId) -> bool {
    loop {
        match &nodes[node].kind {
            Expr::Local(_) => return true,
            Expr::Proj(inner, _) => node = *inner,
            _ => return false,
        }
    }
}

/// What a call evaluates, in the order of evaluation, each with its position among the arguments; the
/// function that is called has none. It comes first, then the arguments, left to right; but functions
/// that are made here come after all else, so that their types may have extents that an argument
/// tells. Making one has no effect, and fails for its sizes alone.
pub fn call_parts<'a>(
    nodes: &'a Arena<Node>,
    callee: &Callee,
    args: &'a [TId],
) -> impl Iterator<Item = (Option<usize>, TId)> + 'a {
    let called = match callee {
        Callee::Value(f) => Some((None, *f)),
        Callee::Def(..) | Callee::Builtin(..) | Callee::Ctor(..) => None,
    };
    let parts = move || called.into_iter().chain(args.iter().enumerate().map(|(k, a)| (Some(k), *a)));
    parts().filter(|p| !makes_function(nodes, p.1)).chain(parts().filter(|p| makes_function(nodes, p.1)))
}

/// Is a function made of what is known where the node stands?
fn makes_function(nodes: &Arena<Node>, mut node: TId) -> bool {
    loop {
        match &nodes[node].kind {
            Expr::Lambda(_) | Expr::DefValue(..) | Expr::BuiltinValue(..) => return true,
            Expr::Checked(_, inner) => node = *inner,
            Expr::Special(Special::Derive(..), of) => match of.first() {
                Some(of) => node = *of,
                None => return false,
            },
            _ => return false,
        }
    }
}

fn subscripts(subs: &[Subscript], f: &mut dyn FnMut(TId)) {
    for s in subs {
        match s {
            Subscript::At { index, .. } => f(*index),
            Subscript::Range { from, to, .. } => [*from, *to].into_iter().for_each(&mut *f),
            Subscript::Whole => {}
        }
    }
}

fn ranges(vars: &[IndexVar], f: &mut dyn FnMut(TId)) {
    for v in vars {
        match &v.range {
            IndexRange::Extent(_) => {}
            IndexRange::Below(n) => f(*n),
            IndexRange::Range(a, b, by) => {
                [*a, *b].into_iter().for_each(&mut *f);
                by.iter().for_each(|n| f(*n));
            }
        }
    }
}
