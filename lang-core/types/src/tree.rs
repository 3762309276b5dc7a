//! **Typed tree.** The checker's output for one item.
//!
//! The checker writes it, the interpreter evaluates it, and elaboration translates it to core.
//! Every name is resolved. Every lift, conversion, check and instantiation is explicit. Every node
//! has a type.

use std::sync::Arc;

use super::ty::{Scalar, Type};
use lang_base::{Arena, GlobalName, Idx, Name, RealConst, Span};
use lang_resolve::builtin::Builtin;
use lang_resolve::forms::{Derivative, LoadOption, PlotKind, PlotOption};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{LocalId, Poly};
use lang_syntax::ops::{BinOp, BinderKind};

/// A node of a [`Body`].
pub type TId = Idx<Node>;

/// A typed expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The expression.
    pub kind: Expr,
    /// Its type; sizes in it are polynomials over locals and globals.
    pub ty: Type,
    /// Its span in the item.
    pub span: Span,
}

/// The body of a checked item: a tree over one frame of locals. Lambdas are part of the tree and
/// share the numbering of locals.
#[derive(Clone, PartialEq, Debug)]
pub struct Body {
    /// All nodes.
    pub nodes: Arena<Node>,
    /// The local of each implicit size parameter, in the signature's order. The caller passes their
    /// values.
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
    /// Returns whether the body contains an effect: `print`, `save`, `plot` or `assert`.
    #[must_use]
    pub fn acts(&self) -> bool {
        let acts = |s: &Special| matches!(s, Special::Print | Special::Save | Special::Plot(_) | Special::Assert(_));
        self.nodes.iter().any(|(_, node)| matches!(&node.kind, Expr::Special(s, _) if acts(s)))
    }
}

/// A local of a [`Body`].
#[derive(Clone, PartialEq, Debug)]
pub struct Local {
    /// Its name; for an opened extent, a generated name for messages.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// The span of its binding.
    pub span: Span,
}

/// The instantiation of a callee's type and size parameters.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Instance {
    /// One per type parameter.
    pub types: Vec<Type>,
    /// One per implicit size.
    pub sizes: Vec<Poly>,
}

/// A constraint on a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Demand {
    /// Equality with another size.
    Equal(Poly),
    /// Being a valid extent, neither negative nor too large. A size that is solved from
    /// `[n + 2]f64` may violate this.
    Size,
}

/// A runtime check of a size constraint that the checker could neither prove nor refute.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeCheck {
    /// The size found.
    pub found: Poly,
    /// The constraint on it.
    pub wanted: Demand,
    /// The subject of the check, as a noun phrase ("axis 1 of argument `x`").
    pub what: String,
    /// The source of the constraint.
    pub span: Span,
    /// Whether the check precedes the evaluation of the expression, because accesses in it rely on
    /// it.
    pub first: bool,
}

/// An existential extent that the evaluation of a node reveals. It is axis `axis` of the component
/// at `path` in the node's value, and it is stored in `local`.
#[derive(Clone, PartialEq, Debug)]
pub struct Open {
    /// Positions through tuples and records.
    pub path: Vec<u32>,
    /// The axis of the array at that path.
    pub axis: u32,
    /// The local that stores the extent.
    pub local: LocalId,
}

/// The callee of a call.
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

/// A typed expression.
///
/// A lifted operation applies to every element of its array operands. Array operands have equal
/// shapes, and scalars are broadcast.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// An expression with a reported error; evaluating it fails.
    Error,
    /// A real literal, of the node's scalar type.
    Real(RealConst),
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
    /// A constructor as a value. A constructor without arguments is the value itself.
    CtorValue(GlobalName, u32),
    /// `-x`, lifted.
    Neg(TId),
    /// `!p`, lifted.
    Not(TId),
    /// `+ - * / // %` on two operands, lifted. A long chain nests to the left without bound.
    Arith(BinOp, TId, TId),
    /// `a < b <= c`: the conjunction of the comparisons of neighbouring operands. Operands are
    /// evaluated once, left to right; evaluation stops after the first false comparison. With array
    /// operands there is one operator, and it is lifted.
    Compare(TId, Vec<(BinOp, TId)>),
    /// `&&`: evaluated left to right, up to the first false operand.
    And(Vec<TId>),
    /// `||`: evaluated left to right, up to the first true operand.
    Or(Vec<TId>),
    /// `a ^ b`, lifted. The exponent is an integer or a real, either scalar or of the shape of `a`.
    Pow(TId, TId),
    /// A scalar function, lifted.
    Scalar(ScalarFn, Vec<TId>),
    /// `f64(e)`, `f32(e)`, `i64(e)` (truncates), lifted.
    Convert(Scalar, TId),
    /// `[p] * e`: the zero of the node's type if `p` is false.
    Guard(TId, TId),
    /// An array literal; its items have the node's element type.
    Array(Vec<TId>),
    /// A tuple.
    Tuple(Vec<TId>),
    /// A record: the evaluation order of the text, each value with its position in the node's type.
    Record(Vec<(u32, TId)>),
    /// A projection: the component of a tuple by position, or of a record by the field's position
    /// in its type.
    Proj(TId, u32),
    /// `x[i, a..b, _]`
    Index(TId, Vec<Subscript>),
    /// A call. [`call_parts`] defines the evaluation order.
    Call {
        /// The callee.
        callee: Callee,
        /// Its arguments.
        args: Vec<TId>,
    },
    /// Evaluates the expression and checks the sizes; its value is that of the expression. Checks
    /// marked `first` precede the evaluation, the others follow it.
    Checked(Vec<SizeCheck>, TId),
    /// Evaluates the expression and stores extents of its value.
    Opened(Vec<Open>, TId),
    /// A lambda.
    Lambda(Arc<Lambda>),
    /// Bindings in order, then the body.
    Let(Vec<(Pat, TId)>, TId),
    /// Pairs of a condition and a branch in order, then the `else` branch.
    If(Vec<(TId, TId)>, TId),
    /// The arms in order; the first that matches is evaluated. The arms are exhaustive.
    Match(TId, Vec<(Pat, TId)>),
    /// A binder: `for` builds an array of the node's type, `rel` a relation, and all others reduce.
    Binder {
        /// The kind of binder.
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
        /// Whether every state is kept.
        scan: bool,
        /// Binds the carry.
        acc: Pat,
        /// The initial carry.
        init: TId,
        /// Index variables, outermost first.
        vars: Vec<IndexVar>,
        /// The next carry.
        body: TId,
        /// The output of one step, if any; the value is then `(carry, outputs)`.
        yields: Option<TId>,
    },
    /// `loop`, `scan … while`.
    Loop {
        /// Whether every state is kept.
        scan: bool,
        /// Binds the carry.
        acc: Pat,
        /// The initial carry.
        init: TId,
        /// The condition under which the loop continues.
        cond: TId,
        /// The next carry.
        body: TId,
    },
    /// `checkpoint`: the interval between the states of a loop that are kept for derivatives, if it
    /// is written, and the loop.
    Checkpoint(Option<TId>, TId),
    /// Updates, left to right.
    With(TId, Vec<Update>),
    /// `|R|`
    Card(TId),
    /// `R(i, j)`
    Member(TId, Vec<TId>),
    /// A form with its own typing rule, and its operands.
    Special(Special, Vec<TId>),
}

/// Forms with their own typing rules, by their names in the language.
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
    /// `reshape(x, n, m, …)`: the node's type holds the new extents. If equality of the element
    /// counts is not proved, an [`Expr::Checked`] around the node checks it.
    Reshape,
    /// `relation(idx, n, m)`
    Relation,
    /// `print(e, …)`
    Print,
    /// `time(e)`
    Time,
    /// `load("file", option: e, …)`: the operands are the file and then the values of the options.
    Load(Arc<[LoadOption]>),
    /// `save(e, "file")`
    Save,
    /// `plot(e, …)`: the operands are the data of the groups in order, and then the values of the
    /// options.
    Plot(Arc<Plot>),
    /// `grad(f)`, `jvp(f)`, …: the operator applied to a function. The node has a function type.
    /// The list holds the positions of the parameters after `wrt`, if it is written.
    Derive(Derivative, Option<Vec<u32>>),
    /// `deriv(e, x)` with respect to a local.
    Deriv(LocalId),
}

/// The roles of the arguments of a `plot`.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// The groups; never empty.
    pub groups: Vec<PlotGroup>,
    /// The options, each at most once.
    pub options: Vec<PlotOption>,
}

/// Data that one kind of mark draws.
#[derive(Clone, PartialEq, Debug)]
pub struct PlotGroup {
    /// The kind of mark.
    pub kind: PlotKind,
    /// The label in the legend, if the program contains one; else empty.
    pub label: Name,
    /// The name of each operand in the program; empty if the operand is not a name.
    pub data: Vec<Name>,
}

/// A lambda. Its free locals are read from the enclosing frame when the closure is created.
#[derive(Clone, PartialEq, Debug)]
pub struct Lambda {
    /// Patterns of the parameters (irrefutable).
    pub params: Vec<Pat>,
    /// The body.
    pub body: TId,
    /// The locals of the enclosing frame that the body reads, including those in the sizes of
    /// types.
    pub captures: Vec<LocalId>,
}

/// A pattern and the locals that it binds.
#[derive(Clone, PartialEq, Debug)]
pub enum Pat {
    /// Matches every value.
    Wild,
    /// Binds a local.
    Bind(LocalId),
    /// A constructor by position, and the patterns of its arguments.
    Ctor(u32, Vec<Pat>),
    /// Tuple.
    Tuple(Vec<Pat>),
    /// Fields by position in the record's type.
    Record(Vec<(u32, Pat)>),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// Stores the leading extents of the value in these locals, then matches the inner pattern.
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

/// The range of an index variable. It is evaluated once, on entry of its loop.
#[derive(Clone, PartialEq, Debug)]
pub enum IndexRange {
    /// `0..n` for a bare index, whose extent was inferred.
    Extent(Poly),
    /// `i < e`
    Below(TId),
    /// `i in a..b by s`
    Range(TId, TId, Option<TId>),
}

/// One position between the brackets of an indexing expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Subscript {
    /// `i`
    At {
        /// The index.
        index: TId,
        /// Whether the index is proved to be in bounds.
        proved: bool,
    },
    /// `a..b`
    Range {
        /// The first index.
        from: TId,
        /// One past the last.
        to: TId,
        /// Whether `0 <= a <= b <= extent` is proved.
        proved: bool,
    },
    /// `_`
    Whole,
}

/// One update of a `with`.
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// The part that it changes.
    pub place: Place,
    /// Whether the operator is `+=`.
    pub add: bool,
    /// The new value or the addend. For an index place, a scalar may fill a slice.
    pub value: TId,
    /// Its span in the item.
    pub span: Span,
}

/// The part of a value that an update changes.
#[derive(Clone, PartialEq, Debug)]
pub enum Place {
    /// Elements or slices.
    Index(Vec<Subscript>),
    /// A component of a tuple or record, by position.
    Proj(u32),
}

impl Pat {
    /// Calls `f` on every local that the pattern binds.
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
    /// Calls `f` on every direct child, in evaluation order. If the base of an index or an update
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

    /// Calls `read` on every local that this node itself reads, sizes included but its type
    /// excluded. Calls `bind` on every local that it binds.
    pub fn for_each_local(&self, read: &mut dyn FnMut(LocalId), bind: &mut dyn FnMut(LocalId)) {
        let mut size = |p: &Poly| {
            p.for_each_atom(&mut |a| {
                if let lang_sizes::predicate::Atom::Local(l, _) = a {
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

/// Returns whether the node is a local or a component of one. Reading such a path cannot fail and
/// has no observable effect.
pub fn is_path(nodes: &Arena<Node>, mut node: TId) -> bool {
    loop {
        match &nodes[node].kind {
            Expr::Local(_) => return true,
            Expr::Proj(inner, _) => node = *inner,
            _ => return false,
        }
    }
}

/// Returns the children of a call in evaluation order, each with its position among the arguments;
/// a callee that is a function value has no position.
///
/// A function value in callee position comes first, then the arguments from left to right.
/// Functions that are created here come after all other children, because their types may contain
/// extents that an argument determines. Creating a function has no effect and fails only because of
/// its sizes.
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

/// Returns whether the node creates a function: a lambda, a definition or builtin as a value, or a
/// derivative of one.
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
