//! **Operator table.** The operators, binders and built-in scalar types, with their spelling and
//! precedence. The lexer, parser, formatter, checker and interpreter read this one table.

/// A scalar type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Scalar {
    /// IEEE binary64, the default real.
    F64,
    /// IEEE binary32.
    F32,
    /// Two's complement 64-bit integer; arithmetic wraps.
    I64,
    /// Boolean.
    Bool,
}

impl Scalar {
    /// All scalar types.
    pub const ALL: [Self; 4] = [Self::F64, Self::F32, Self::I64, Self::Bool];

    /// Returns the size of an array element in bytes.
    #[must_use]
    pub fn bytes(self) -> u8 {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 => 4,
            Self::Bool => 1,
        }
    }

    /// Returns its spelling.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::I64 => "i64",
            Self::Bool => "bool",
        }
    }
}

/// A binary operator of a flat chain; each chain has one precedence level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum BinOp {
    /// `|>`
    Pipe,
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, for reals.
    Div,
    /// `//`, which floors.
    FloorDiv,
    /// `%`, with the sign of the divisor
    Mod,
}

/// The precedence level of an operator chain, loosest first. `^` binds tighter than prefix minus,
/// which binds tighter than `Product`; `!` binds tighter than `And`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Precedence {
    /// `x |> f`
    Pipe,
    /// `||`
    Or,
    /// `&&`
    And,
    /// `== != < <= > >=`, which chain.
    Compare,
    /// `+ -`
    Sum,
    /// `* / // %`
    Product,
}

impl BinOp {
    /// All binary operators.
    pub const ALL: [Self; 15] = [
        Self::Pipe,
        Self::Or,
        Self::And,
        Self::Eq,
        Self::Ne,
        Self::Lt,
        Self::Le,
        Self::Gt,
        Self::Ge,
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Div,
        Self::FloorDiv,
        Self::Mod,
    ];

    /// Returns its ASCII spelling.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Pipe => "|>",
            Self::Or => "||",
            Self::And => "&&",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::FloorDiv => "//",
            Self::Mod => "%",
        }
    }

    /// Returns its precedence level.
    #[must_use]
    pub fn precedence(self) -> Precedence {
        match self {
            Self::Pipe => Precedence::Pipe,
            Self::Or => Precedence::Or,
            Self::And => Precedence::And,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => Precedence::Compare,
            Self::Add | Self::Sub => Precedence::Sum,
            Self::Mul | Self::Div | Self::FloorDiv | Self::Mod => Precedence::Product,
        }
    }
}

/// A prefix operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum UnOp {
    /// `-x`
    Neg,
    /// `!p`
    Not,
}

/// The kind of a binder: `for i < n: e`, `sum i: e`, …
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum BinderKind {
    /// Generation: an array (ATL's big box plus).
    For,
    /// Sum; 0 (or false) over an empty range.
    Sum,
    /// Product; 1 over an empty range.
    Prod,
    /// Maximum; −∞ over an empty range for reals, an error for `i64`.
    Max,
    /// Minimum; +∞ over an empty range for reals, an error for `i64`.
    Min,
    /// First index (a tuple for several variables) of the maximum; an error over an empty range.
    Argmax,
    /// First index (a tuple for several variables) of the minimum; an error over an empty range.
    Argmin,
    /// Existential quantification (ATL's ∃).
    Any,
    /// Universal quantification.
    All,
    /// A relation: the set of index tuples where the body holds.
    Rel,
}

impl BinderKind {
    /// All binders.
    pub const ALL: [Self; 10] = [
        Self::For,
        Self::Sum,
        Self::Prod,
        Self::Max,
        Self::Min,
        Self::Argmax,
        Self::Argmin,
        Self::Any,
        Self::All,
        Self::Rel,
    ];

    /// Returns the word that starts the binder. Only `for` is reserved. The other words are
    /// ordinary names unless an index variable follows (`max(a, b)`).
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::For => "for",
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Max => "max",
            Self::Min => "min",
            Self::Argmax => "argmax",
            Self::Argmin => "argmin",
            Self::Any => "any",
            Self::All => "all",
            Self::Rel => "rel",
        }
    }
}
