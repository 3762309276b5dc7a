//! **Scalar functions.** The single table of names, domains, arguments, partial derivatives and
//! accuracies; all other code reads it. The implementations are in `lang_runtime::scalar`. Every
//! match on [`ScalarFn`] is exhaustive, so the compiler lists the places that a new function needs;
//! `docs/add-an-op.md` is the checklist.
//!
//! A row is `Variant "name" Domain(f64 ulp, f32 ulp) [argument: "partial", ...] "doc"`. A partial
//! derivative is an Iverson expression over the arguments, the derivative of the function by that
//! argument; see [`super::partials`].
//!
//! The accuracies bound the distance from the correctly rounded value, in units in the last place
//! (ulp); `tests/tests/suite/scalar.rs` checks them. For negative arguments, those of `digamma` and
//! `polygamma` are relative to the largest term. Functions of integers alone have neither partial
//! derivatives nor accuracies.

/// The domain of a scalar function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScalarDomain {
    /// `f64` and `f32`.
    Real,
    /// Reals and `i64`.
    Num,
    /// `i64` only.
    Int,
}

/// An argument of a scalar function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScalarArgument {
    /// Its name in the documentation and in partial derivatives.
    pub name: &'static str,
    /// The partial derivative by it, an expression over all arguments; `None` for integers.
    pub partial: Option<&'static str>,
}

/// The maximum distance of values from the correctly rounded ones, in ulp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UlpAccuracy {
    /// For `f64`.
    pub double: u32,
    /// For `f32`.
    pub single: u32,
}

/// The arguments of a row. A row of a function on reals compiles only with a partial derivative by
/// each argument.
macro_rules! arguments {
    ($variant:ident Int [$($name:ident),*]) => {
        &[$(ScalarArgument { name: stringify!($name), partial: None }),*]
    };
    ($variant:ident $real:ident [$($name:ident : $partial:literal),* $(,)?]) => {
        &[$(ScalarArgument { name: stringify!($name), partial: Some($partial) }),*]
    };
    ($variant:ident $($other:tt)*) => {
        compile_error!(concat!(stringify!($variant), " needs the derivative by each argument, [x: \"...\"]"))
    };
}

macro_rules! accuracy {
    ($variant:ident Int) => {
        None
    };
    ($variant:ident $real:ident $double:literal $single:literal) => {
        Some(UlpAccuracy { double: $double, single: $single })
    };
    ($variant:ident $($other:tt)*) => {
        compile_error!(concat!(stringify!($variant), " needs its accuracy in ulp, of f64 and of f32: Real(1, 1)"))
    };
}

macro_rules! scalar_fns {
    ($(
        $variant:ident $name:literal $domain:ident $(($double:literal, $single:literal))?
        [$($arguments:tt)*] $doc:literal
    ),* $(,)?) => {
        /// A scalar function. It lifts over arrays; its arguments and result have one type.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum ScalarFn { $(#[doc = $doc] $variant),* }

        impl ScalarFn {
            /// All scalar functions.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns its name in the language.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Returns its domain.
            #[must_use]
            pub fn domain(self) -> ScalarDomain {
                match self { $(Self::$variant => ScalarDomain::$domain),* }
            }

            /// Returns its arguments, with the partial derivative by each.
            #[must_use]
            pub fn arguments(self) -> &'static [ScalarArgument] {
                match self { $(Self::$variant => arguments!($variant $domain [$($arguments)*])),* }
            }

            /// Returns the accuracy of its values; `None` if they are integers.
            #[must_use]
            pub fn accuracy(self) -> Option<UlpAccuracy> {
                match self { $(Self::$variant => accuracy!($variant $domain $($double $single)?)),* }
            }

            /// Returns its one-line documentation.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc),* }
            }
        }
    };
}

scalar_fns! {
    Exp "exp" Real(1, 1) [x: "exp(x)"]
        "e to the x.",
    Log "log" Real(1, 1) [x: "1 / x"]
        "Natural logarithm.",
    Log1p "log1p" Real(1, 1) [x: "1 / (1 + x)"]
        "log(1 + x), exact near 0.",
    Expm1 "expm1" Real(1, 1) [x: "exp(x)"]
        "exp(x) - 1, exact near 0.",
    Sqrt "sqrt" Real(0, 0) [x: "1 / (2 * sqrt(x))"]
        "Square root.",
    Cbrt "cbrt" Real(0, 0) [x: "1 / (3 * cbrt(x)^2)"]
        "Cube root.",
    Sin "sin" Real(1, 1) [x: "cos(x)"]
        "Sine.",
    Cos "cos" Real(1, 1) [x: "-sin(x)"]
        "Cosine.",
    Tan "tan" Real(1, 1) [x: "1 / cos(x)^2"]
        "Tangent.",
    Asin "asin" Real(1, 1) [x: "1 / sqrt((1 - x) * (1 + x))"]
        "Inverse sine.",
    Acos "acos" Real(1, 1) [x: "-1 / sqrt((1 - x) * (1 + x))"]
        "Inverse cosine.",
    Atan "atan" Real(1, 1) [x: "1 / (1 + x^2)"]
        "Inverse tangent.",
    Atan2 "atan2" Real(1, 1) [y: "(x / hypot(x, y)) / hypot(x, y)", x: "-(y / hypot(x, y)) / hypot(x, y)"]
        "Angle of the point (x, y); the argument order is atan2(y, x).",
    Sinh "sinh" Real(2, 2) [x: "cosh(x)"]
        "Hyperbolic sine.",
    Cosh "cosh" Real(1, 1) [x: "sinh(x)"]
        "Hyperbolic cosine.",
    Tanh "tanh" Real(2, 2) [x: "4 * sigmoid(2 * x) * sigmoid(-2 * x)"]
        "Hyperbolic tangent.",
    Asinh "asinh" Real(2, 2) [x: "1 / hypot(x, 1)"]
        "Inverse hyperbolic sine.",
    Acosh "acosh" Real(2, 2) [x: "1 / (sqrt(x - 1) * sqrt(x + 1))"]
        "Inverse hyperbolic cosine.",
    Atanh "atanh" Real(2, 2) [x: "1 / ((1 - x) * (1 + x))"]
        "Inverse hyperbolic tangent.",
    Sigmoid "sigmoid" Real(2, 2) [x: "sigmoid(x) * sigmoid(-x)"]
        "1 / (1 + exp(-x)).",
    Softplus "softplus" Real(1, 2) [x: "sigmoid(x)"]
        "log(1 + exp(x)).",
    Relu "relu" Real(0, 0) [x: "if x <= 0 then 0 else if x > 0 then 1 else nan"]
        "x if positive, else 0.",
    Hypot "hypot" Real(1, 1) [
        x: "if x == 0 && y == 0 then 0 else x / hypot(x, y)",
        y: "if x == 0 && y == 0 then 0 else y / hypot(x, y)",
    ]
        "sqrt(x^2 + y^2) without intermediate overflow.",
    Erf "erf" Real(1, 1) [x: "2 / sqrt(pi) * exp(-x^2)"]
        "Error function.",
    Erfc "erfc" Real(3, 3) [x: "-2 / sqrt(pi) * exp(-x^2)"]
        "1 - erf(x), exact for large x.",
    Lgamma "lgamma" Real(4, 1) [x: "digamma(x)"]
        "Logarithm of the absolute value of the gamma function.",
    Digamma "digamma" Real(4, 1) [x: "polygamma(1, x)"]
        "Derivative of lgamma.",
    Polygamma "polygamma" Real(1, 1) [n: "nan", x: "polygamma(n + 1, x)"]
        "Derivative of digamma of order n, an integer from 0 to 170 stored as a real.",
    Floor "floor" Real(0, 0) [x: "0"]
        "Greatest integer not above x, as a real.",
    Ceil "ceil" Real(0, 0) [x: "0"]
        "Least integer not below x, as a real.",
    Round "round" Real(0, 0) [x: "0"]
        "Nearest integer, halves to even, as a real.",
    RoundTo "round_to" Real(0, 0) [x: "0", digits: "0"]
        "Nearest number with `digits` decimal digits, where `digits` is a whole number; halves to even.",
    Trunc "trunc" Real(0, 0) [x: "0"]
        "x rounded towards zero, as a real.",
    Abs "abs" Num(0, 0) [x: "sign(x)"]
        "Absolute value.",
    Sign "sign" Num(0, 0) [x: "0"]
        "-1, 0 or 1.",
    Min "min" Num(0, 0) [x: "if x <= y || x != x then 1 else 0", y: "if x <= y || x != x then 0 else 1"]
        "The lesser; NaN if either argument is NaN.",
    Max "max" Num(0, 0) [x: "if x >= y || x != x then 1 else 0", y: "if x >= y || x != x then 0 else 1"]
        "The greater; NaN if either argument is NaN.",
    BitAnd "bit_and" Int [x, y] "Bitwise and.",
    BitOr "bit_or" Int [x, y] "Bitwise or.",
    BitXor "bit_xor" Int [x, y] "Bitwise exclusive or.",
    BitNot "bit_not" Int [x] "Bitwise complement.",
    Shl "shl" Int [x, y] "Shift left; the count is taken modulo 64.",
    Shr "shr" Int [x, y] "Arithmetic shift right; the count is taken modulo 64.",
    Ushr "ushr" Int [x, y] "Logical shift right; the count is taken modulo 64.",
}

impl ScalarFn {
    /// Returns the function with this name, if one exists.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|f| f.name() == name)
    }

    /// Returns the number of its arguments.
    #[must_use]
    pub fn arity(self) -> usize {
        self.arguments().len()
    }

    /// Returns whether finite arguments always yield a finite value, overflow excepted. Then zero
    /// times the value is zero.
    #[must_use]
    pub fn is_total(self) -> bool {
        let edges = matches!(self, Self::Sqrt | Self::Asin | Self::Acos | Self::Acosh | Self::RoundTo);
        let poles =
            matches!(self, Self::Log | Self::Log1p | Self::Atanh | Self::Lgamma | Self::Digamma | Self::Polygamma);
        !edges && !poles
    }

    /// Returns whether the value is one of the arguments or a constant. The partial derivatives are
    /// then 0 or 1. An argument that is not selected has no tangent, because 0 times an infinite
    /// tangent would be NaN.
    #[must_use]
    pub fn is_selection(self) -> bool {
        matches!(self, Self::Relu | Self::Max | Self::Min)
    }
}
