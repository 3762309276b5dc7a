//! Operators, binders and built-in scalar types: their spelling and precedence, one table
//! that the lexer, parser, formatter, checker and interpreter read.

/// The scalar types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Scalar {
    /// IEEE binary64, the default real.
    F64,
    /// IEEE binary32.
    F32,
    /// Two's complement, wrapping.
    I64,
    /// True or false.
    Bool,
}

impl Scalar {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::F64, Self::F32, Self::I64, Self::Bool];

    /// How many bytes an element of an array has.
    #[must_use]
    pub fn bytes(self) -> u8 {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 => 4,
            Self::Bool => 1,
        }
    }

    /// Its spelling.
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

/// Binary operators that stand in flat chains, in groups of one precedence.
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
    /// `/`, of reals
    Div,
    /// `//`, floors
    FloorDiv,
    /// `%`, with the sign of the divisor
    Mod,
}

/// How tightly a group of operators binds, loosest first. `^` binds tighter than prefix
/// minus, which binds tighter than `Product`; `!` binds tighter than `And`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Level {
    /// `x |> f`
    Pipe,
    /// `||`
    Or,
    /// `&&`
    And,
    /// `== != < <= > >=`, which chain
    Compare,
    /// `+ -`
    Sum,
    /// `* / // %`
    Product,
}

impl BinOp {
    /// All of them.
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

    /// Its ASCII spelling.
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

    /// The group it stands in.
    #[must_use]
    pub fn level(self) -> Level {
        match self {
            Self::Pipe => Level::Pipe,
            Self::Or => Level::Or,
            Self::And => Level::And,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => Level::Compare,
            Self::Add | Self::Sub => Level::Sum,
            Self::Mul | Self::Div | Self::FloorDiv | Self::Mod => Level::Product,
        }
    }
}

/// Prefix operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum UnOp {
    /// `-x`
    Neg,
    /// `!p`
    Not,
}

/// The binders: `for i < n: e`, `sum i: e`, …
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum BinderKind {
    /// Generation: an array (ATL's big box plus).
    For,
    /// Sum; 0 (or false) over nothing.
    Sum,
    /// Product; 1 over nothing.
    Prod,
    /// Greatest; −∞ over nothing for reals, an error for `i64`.
    Max,
    /// Least; +∞ over nothing for reals, an error for `i64`.
    Min,
    /// First index (a tuple for several) of the greatest; an error over nothing.
    Argmax,
    /// First index (a tuple for several) of the least; an error over nothing.
    Argmin,
    /// Is there one? (ATL's ∃)
    Any,
    /// Does it hold for all?
    All,
    /// A relation: the set of index tuples where the body holds.
    Rel,
}

impl BinderKind {
    /// All of them.
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

    /// The word that starts it. Only `for` is reserved; the others are names wherever no
    /// index variable follows (`max(a, b)`).
    #[must_use]
    pub fn word(self) -> &'static str {
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
