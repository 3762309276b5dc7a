//! The scalar functions: one table of names, arities and domains. Values are in
//! `interp::scalar`; derivatives will stand beside this table. Every match on [`ScalarFn`] is
//! exhaustive, so adding one is led by the compiler.

/// What a scalar function works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// `f64` and `f32`.
    Real,
    /// Reals and `i64`.
    Num,
    /// `i64` only.
    Int,
}

macro_rules! scalar_fns {
    ($($variant:ident $name:literal $arity:literal $domain:ident $doc:literal),* $(,)?) => {
        /// A scalar function. All lift over arrays; arguments and result have one type.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum ScalarFn { $(#[doc = $doc] $variant),* }

        impl ScalarFn {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name in the language.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// How many arguments it takes.
            #[must_use]
            pub fn arity(self) -> usize {
                match self { $(Self::$variant => $arity),* }
            }

            /// What it works on.
            #[must_use]
            pub fn domain(self) -> Domain {
                match self { $(Self::$variant => Domain::$domain),* }
            }

            /// What it is, in a line.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc),* }
            }
        }
    };
}

scalar_fns! {
    Exp "exp" 1 Real "e to the x.",
    Log "log" 1 Real "Natural logarithm.",
    Log1p "log1p" 1 Real "log(1 + x), exact near 0.",
    Expm1 "expm1" 1 Real "exp(x) - 1, exact near 0.",
    Sqrt "sqrt" 1 Real "Square root.",
    Cbrt "cbrt" 1 Real "Cube root.",
    Sin "sin" 1 Real "Sine.",
    Cos "cos" 1 Real "Cosine.",
    Tan "tan" 1 Real "Tangent.",
    Asin "asin" 1 Real "Inverse sine.",
    Acos "acos" 1 Real "Inverse cosine.",
    Atan "atan" 1 Real "Inverse tangent.",
    Atan2 "atan2" 2 Real "Angle of the point (x, y), given as atan2(y, x).",
    Sinh "sinh" 1 Real "Hyperbolic sine.",
    Cosh "cosh" 1 Real "Hyperbolic cosine.",
    Tanh "tanh" 1 Real "Hyperbolic tangent.",
    Asinh "asinh" 1 Real "Inverse hyperbolic sine.",
    Acosh "acosh" 1 Real "Inverse hyperbolic cosine.",
    Atanh "atanh" 1 Real "Inverse hyperbolic tangent.",
    Sigmoid "sigmoid" 1 Real "1 / (1 + exp(-x)).",
    Softplus "softplus" 1 Real "log(1 + exp(x)).",
    Relu "relu" 1 Real "x where positive, else 0.",
    Hypot "hypot" 2 Real "sqrt(x^2 + y^2) without overflow on the way.",
    Erf "erf" 1 Real "Error function.",
    Erfc "erfc" 1 Real "1 - erf(x), exact for large x.",
    Lgamma "lgamma" 1 Real "Logarithm of the absolute value of the gamma function.",
    Floor "floor" 1 Real "Greatest integer not above x, as a real.",
    Ceil "ceil" 1 Real "Least integer not below x, as a real.",
    Round "round" 1 Real "Nearest integer, halves to even, as a real.",
    Trunc "trunc" 1 Real "Towards zero, as a real.",
    Abs "abs" 1 Num "Absolute value.",
    Sign "sign" 1 Num "-1, 0 or 1.",
    Min "min" 2 Num "The lesser; NaN if either is.",
    Max "max" 2 Num "The greater; NaN if either is.",
    BitAnd "bit_and" 2 Int "Bitwise and.",
    BitOr "bit_or" 2 Int "Bitwise or.",
    BitXor "bit_xor" 2 Int "Bitwise exclusive or.",
    BitNot "bit_not" 1 Int "Bitwise complement.",
    Shl "shl" 2 Int "Shift left; the count is taken modulo 64.",
    Shr "shr" 2 Int "Arithmetic shift right; the count is taken modulo 64.",
    Ushr "ushr" 2 Int "Logical shift right; the count is taken modulo 64.",
}

impl ScalarFn {
    /// The function of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|f| f.name() == name)
    }
}
