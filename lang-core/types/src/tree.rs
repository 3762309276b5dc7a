//! **Typed tree.** The checker's output for one item.
//!
//! The checker writes it, the interpreter evaluates it, and elaboration translates it to core.
//! Every name is resolved. Every lift, conversion, check and instantiation is explicit. Every node
//! has a type.

use std::sync::Arc;

use super::ty::{Scalar, Type};
use lang_base::{Arena, GlobalName, Idx, Name, RealConst, Span};
use lang_resolve::builtin::Builtin;
use lang_resolve::forms::{DerivativeOp, LoadOption, PlotKind, PlotOption};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{LocalId, Poly};
use lang_syntax::ops::{BinOp, BinderKind};

/// A node of a [`TypedBody`].
pub type TypedId = Idx<TypedNode>;

/// A typed expression.
#[derive(Clone, PartialEq, Debug)]
pub struct TypedNode {
    /// The expression.
    pub kind: TypedExpr,
    /// Its type; sizes in it are polynomials over locals and globals.
    pub ty: Type,
    /// Its span in the item.
    pub span: Span,
}

/// The body of a checked item: a tree over one frame of locals. Lambdas are part of the tree and
/// share the numbering of locals.
#[derive(Clone, PartialEq, Debug)]
pub struct TypedBody {
    /// All nodes.
    pub nodes: Arena<TypedNode>,
    /// The local of each implicit size parameter, in the signature's order. The caller passes their
    /// values.
    pub sizes: Vec<LocalId>,
    /// The local of each parameter, in order.
    pub params: Vec<LocalId>,
    /// All locals: parameters, let-bound, index and pattern variables, and extents that become
    /// known when the program runs.
    pub locals: Vec<BodyLocal>,
    /// The body. `None` if errors leave nothing to run.
    pub root: Option<TypedId>,
}

impl TypedBody {
    /// Returns whether the body contains an effect: `print`, `save`, `plot` or `assert`.
    #[must_use]
    pub fn has_effects(&self) -> bool {
        let acts =
            |s: &TypedForm| matches!(s, TypedForm::Print | TypedForm::Save | TypedForm::Plot(_) | TypedForm::Assert(_));
        self.nodes.iter().any(|(_, node)| matches!(&node.kind, TypedExpr::Form(s, _) if acts(s)))
    }
}

/// A local of a [`TypedBody`].
#[derive(Clone, PartialEq, Debug)]
pub struct BodyLocal {
    /// Its name; for an opened extent, a generated name for messages.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// The span of its binding.
    pub span: Span,
}

/// The instantiation of a callee's type and size parameters.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Instantiation {
    /// One per type parameter.
    pub types: Vec<Type>,
    /// One per implicit size.
    pub sizes: Vec<Poly>,
}

/// A constraint on a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SizeConstraint {
    /// Equality with another size.
    Equal(Poly),
    /// Being a valid extent, neither negative nor too large. A size that is solved from
    /// `[n + 2]f64` may violate this.
    ValidExtent,
}

/// A runtime check of a size constraint that the checker could neither prove nor refute.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeCheck {
    /// The size found.
    pub found: Poly,
    /// The constraint on it.
    pub constraint: SizeConstraint,
    /// The subject of the check, as a noun phrase ("axis 1 of argument `x`").
    pub subject: String,
    /// The source of the constraint.
    pub span: Span,
    /// Whether the check precedes the evaluation of the expression, because accesses in it rely on
    /// it.
    pub is_precondition: bool,
}

/// An existential extent that the evaluation of a node reveals. It is axis `axis` of the component
/// at `path` in the node's value, and it is stored in `local`.
#[derive(Clone, PartialEq, Debug)]
pub struct OpenedExtent {
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
    Def(GlobalName, Instantiation),
    /// A library function that is not written in Iverson.
    Builtin(Builtin, Instantiation),
    /// A constructor, by type and position.
    Ctor(GlobalName, u32),
    /// A function value.
    Value(TypedId),
}

/// A typed expression.
///
/// A lifted operation applies to every element of its array operands. Array operands have equal
/// shapes, and scalars are broadcast.
#[derive(Clone, PartialEq, Debug)]
pub enum TypedExpr {
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
    DefValue(GlobalName, Instantiation),
    /// A builtin as a value.
    BuiltinValue(Builtin, Instantiation),
    /// A scalar function as a value.
    ScalarValue(ScalarFn),
    /// A constructor as a value. A constructor without arguments is the value itself.
    CtorValue(GlobalName, u32),
    /// `-x`, lifted.
    Neg(TypedId),
    /// `!p`, lifted.
    Not(TypedId),
    /// `+ - * / // %` on two operands, lifted. A long chain nests to the left without bound.
    Arith(BinOp, TypedId, TypedId),
    /// `a < b <= c`: the conjunction of the comparisons of neighbouring operands. Operands are
    /// evaluated once, left to right; evaluation stops after the first false comparison. With array
    /// operands there is one operator, and it is lifted.
    Compare(TypedId, Vec<(BinOp, TypedId)>),
    /// `&&`: evaluated left to right, up to the first false operand.
    And(Vec<TypedId>),
    /// `||`: evaluated left to right, up to the first true operand.
    Or(Vec<TypedId>),
    /// `a ^ b`, lifted. The exponent is an integer or a real, either scalar or of the shape of `a`.
    Pow(TypedId, TypedId),
    /// A scalar function, lifted.
    Scalar(ScalarFn, Vec<TypedId>),
    /// `f64(e)`, `f32(e)`, `i64(e)` (truncates), lifted.
    Convert(Scalar, TypedId),
    /// `[p] * e`: the zero of the node's type if `p` is false.
    Guard(TypedId, TypedId),
    /// An array literal; its items have the node's element type.
    Array(Vec<TypedId>),
    /// A tuple.
    Tuple(Vec<TypedId>),
    /// A record: the evaluation order of the text, each value with its position in the node's type.
    Record(Vec<(u32, TypedId)>),
    /// A projection: the component of a tuple by position, or of a record by the field's position
    /// in its type.
    Proj(TypedId, u32),
    /// `x[i, a..b, _]`
    Index(TypedId, Vec<TypedSubscript>),
    /// A call. [`call_children`] defines the evaluation order.
    Call {
        /// The callee.
        callee: Callee,
        /// Its arguments.
        args: Vec<TypedId>,
    },
    /// Evaluates the expression and checks the sizes; its value is that of the expression. Checks
    /// marked `is_precondition` precede the evaluation, the others follow it.
    Checked(Vec<SizeCheck>, TypedId),
    /// Evaluates the expression and stores extents of its value.
    Opened(Vec<OpenedExtent>, TypedId),
    /// A lambda.
    Lambda(Arc<TypedLambda>),
    /// Bindings in order, then the body.
    Let(Vec<(TypedPattern, TypedId)>, TypedId),
    /// Pairs of a condition and a branch in order, then the `else` branch.
    If(Vec<(TypedId, TypedId)>, TypedId),
    /// The arms in order; the first that matches is evaluated. The arms are exhaustive.
    Match(TypedId, Vec<(TypedPattern, TypedId)>),
    /// A binder: `for` builds an array of the node's type, `rel` a relation, and all others reduce.
    Binder {
        /// The kind of binder.
        kind: BinderKind,
        /// Index variables, outermost first.
        vars: Vec<TypedIndexVar>,
        /// `if p`
        filter: Option<TypedId>,
        /// The body.
        body: TypedId,
    },
    /// `fold`, `scan`.
    Fold {
        /// Whether every state is kept.
        is_scan: bool,
        /// Binds the carry.
        acc: TypedPattern,
        /// The initial carry.
        init: TypedId,
        /// Index variables, outermost first.
        vars: Vec<TypedIndexVar>,
        /// The next carry.
        body: TypedId,
        /// The output of one step, if any; the value is then `(carry, outputs)`.
        yields: Option<TypedId>,
    },
    /// `loop`, `scan … while`.
    Loop {
        /// Whether every state is kept.
        is_scan: bool,
        /// Binds the carry.
        acc: TypedPattern,
        /// The initial carry.
        init: TypedId,
        /// The condition under which the loop continues.
        cond: TypedId,
        /// The next carry.
        body: TypedId,
    },
    /// `checkpoint`: the interval between the states of a loop that are kept for derivatives, if it
    /// is written, and the loop.
    Checkpoint(Option<TypedId>, TypedId),
    /// Updates, left to right.
    With(TypedId, Vec<TypedWithUpdate>),
    /// `|R|`
    Card(TypedId),
    /// `R(i, j)`
    Member(TypedId, Vec<TypedId>),
    /// A form with its own typing rule, and its operands.
    Form(TypedForm, Vec<TypedId>),
}

/// Forms with their own typing rules, by their names in the language.
#[derive(Clone, PartialEq, Debug)]
pub enum TypedForm {
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
    /// counts is not proved, a [`TypedExpr::Checked`] around the node checks it.
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
    Plot(Arc<PlotSpec>),
    /// `grad(f)`, `jvp(f)`, …: the operator applied to a function. The node has a function type.
    /// The list holds the positions of the parameters after `wrt`, if it is written.
    Derive(DerivativeOp, Option<Vec<u32>>),
    /// `deriv(e, x)` with respect to a local.
    Deriv(LocalId),
}

/// The roles of the arguments of a `plot`.
#[derive(Clone, PartialEq, Debug)]
pub struct PlotSpec {
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
    pub data_names: Vec<Name>,
}

/// A lambda. Its free locals are read from the enclosing frame when the closure is created.
#[derive(Clone, PartialEq, Debug)]
pub struct TypedLambda {
    /// Patterns of the parameters (irrefutable).
    pub params: Vec<TypedPattern>,
    /// The body.
    pub body: TypedId,
    /// The locals of the enclosing frame that the body reads, including those in the sizes of
    /// types.
    pub captures: Vec<LocalId>,
}

/// A pattern and the locals that it binds.
#[derive(Clone, PartialEq, Debug)]
pub enum TypedPattern {
    /// Matches every value.
    Wild,
    /// Binds a local.
    Bind(LocalId),
    /// A constructor by position, and the patterns of its arguments.
    Ctor(u32, Vec<TypedPattern>),
    /// Tuple.
    Tuple(Vec<TypedPattern>),
    /// Fields by position in the record's type.
    Record(Vec<(u32, TypedPattern)>),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// Stores the leading extents of the value in these locals, then matches the inner pattern.
    Sized(Vec<LocalId>, Box<TypedPattern>),
}

/// An index variable.
#[derive(Clone, PartialEq, Debug)]
pub struct TypedIndexVar {
    /// Its local.
    pub local: LocalId,
    /// Its range.
    pub range: TypedIndexRange,
}

/// The range of an index variable. It is evaluated once, on entry of its loop.
#[derive(Clone, PartialEq, Debug)]
pub enum TypedIndexRange {
    /// `0..n` for a bare index, whose extent was inferred.
    Extent(Poly),
    /// `i < e`
    Below(TypedId),
    /// `i in a..b by s`
    Range(TypedId, TypedId, Option<TypedId>),
}

/// One position between the brackets of an indexing expression.
#[derive(Clone, PartialEq, Debug)]
pub enum TypedSubscript {
    /// `i`
    Index {
        /// The index.
        index: TypedId,
        /// Whether the index is proved to be in bounds.
        is_proved: bool,
    },
    /// `a..b`
    Range {
        /// The first index.
        from: TypedId,
        /// One past the last.
        to: TypedId,
        /// Whether `0 <= a <= b <= extent` is proved.
        is_proved: bool,
    },
    /// `_`
    FullAxis,
}

/// One update of a `with`.
#[derive(Clone, PartialEq, Debug)]
pub struct TypedWithUpdate {
    /// The part that it changes.
    pub target: TypedUpdateTarget,
    /// Whether the operator is `+=`.
    pub is_add: bool,
    /// The new value or the addend. For an index place, a scalar may fill a slice.
    pub value: TypedId,
    /// Its span in the item.
    pub span: Span,
}

/// The part of a value that an update changes.
#[derive(Clone, PartialEq, Debug)]
pub enum TypedUpdateTarget {
    /// Elements or slices.
    Index(Vec<TypedSubscript>),
    /// A component of a tuple or record, by position.
    Proj(u32),
}

impl TypedPattern {
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

impl TypedExpr {
    /// Calls `f` on every direct child, in evaluation order. If the base of an index or an update
    /// is a path, it comes last.
    pub fn for_each_child(&self, nodes: &Arena<TypedNode>, f: &mut dyn FnMut(TypedId)) {
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
            | Self::Form(_, items) => items.iter().for_each(|n| f(*n)),
            Self::Record(items) => items.iter().for_each(|(_, n)| f(*n)),
            Self::Index(a, subs) => {
                let path = is_local_path(nodes, *a);
                Some(*a).filter(|_| !path).into_iter().for_each(&mut *f);
                for_each_subscript_child(subs, f);
                Some(*a).filter(|_| path).into_iter().for_each(f);
            }
            Self::Call { callee, args } => call_children(nodes, callee, args).for_each(|(_, n)| f(n)),
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
                for_each_range_child(vars, f);
                filter.iter().for_each(|n| f(*n));
                f(*body);
            }
            Self::Fold { init, vars, body, yields, .. } => {
                f(*init);
                for_each_range_child(vars, f);
                f(*body);
                yields.iter().for_each(|n| f(*n));
            }
            Self::Loop { init, cond, body, .. } => [*init, *cond, *body].into_iter().for_each(f),
            Self::Checkpoint(every, of) => every.iter().chain([of]).for_each(|n| f(*n)),
            Self::With(a, updates) => {
                let path = is_local_path(nodes, *a);
                Some(*a).filter(|_| !path).into_iter().for_each(&mut *f);
                for u in updates {
                    if let TypedUpdateTarget::Index(subs) = &u.target {
                        for_each_subscript_child(subs, f);
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
                if let SizeConstraint::Equal(wanted) = &c.constraint {
                    size(wanted);
                }
            }),
            Self::Binder { vars, .. } | Self::Fold { vars, .. } => {
                for v in vars {
                    if let TypedIndexRange::Extent(p) = &v.range {
                        size(p);
                    }
                }
            }
            _ => {}
        }
        match self {
            Self::Local(l) | Self::Form(TypedForm::Deriv(l), _) => read(*l),
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
pub fn is_local_path(nodes: &Arena<TypedNode>, mut node: TypedId) -> bool {
    loop {
        match &nodes[node].kind {
            TypedExpr::Local(_) => return true,
            TypedExpr::Proj(inner, _) => node = *inner,
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
pub fn call_children<'a>(
    nodes: &'a Arena<TypedNode>,
    callee: &Callee,
    args: &'a [TypedId],
) -> impl Iterator<Item = (Option<usize>, TypedId)> + 'a {
    let called = match callee {
        Callee::Value(f) => Some((None, *f)),
        Callee::Def(..) | Callee::Builtin(..) | Callee::Ctor(..) => None,
    };
    let parts = move || called.into_iter().chain(args.iter().enumerate().map(|(k, a)| (Some(k), *a)));
    parts().filter(|p| !creates_function(nodes, p.1)).chain(parts().filter(|p| creates_function(nodes, p.1)))
}

/// Returns whether the node creates a function: a lambda, a definition or builtin as a value, or a
/// derivative of one.
fn creates_function(nodes: &Arena<TypedNode>, mut node: TypedId) -> bool {
    loop {
        match &nodes[node].kind {
            TypedExpr::Lambda(_) | TypedExpr::DefValue(..) | TypedExpr::BuiltinValue(..) => return true,
            TypedExpr::Checked(_, inner) => node = *inner,
            TypedExpr::Form(TypedForm::Derive(..), of) => match of.first() {
                Some(of) => node = *of,
                None => return false,
            },
            _ => return false,
        }
    }
}

fn for_each_subscript_child(subs: &[TypedSubscript], f: &mut dyn FnMut(TypedId)) {
    for s in subs {
        match s {
            TypedSubscript::Index { index, .. } => f(*index),
            TypedSubscript::Range { from, to, .. } => [*from, *to].into_iter().for_each(&mut *f),
            TypedSubscript::FullAxis => {}
        }
    }
}

fn for_each_range_child(vars: &[TypedIndexVar], f: &mut dyn FnMut(TypedId)) {
    for v in vars {
        match &v.range {
            TypedIndexRange::Extent(_) => {}
            TypedIndexRange::Below(n) => f(*n),
            TypedIndexRange::Range(a, b, by) => {
                [*a, *b].into_iter().for_each(&mut *f);
                by.iter().for_each(|n| f(*n));
            }
        }
    }
}
