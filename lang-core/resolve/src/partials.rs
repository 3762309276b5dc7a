//! **Partial derivatives** of scalar operations, as a library module `partials`. It is generated
//! from the table of scalar functions, with one definition per argument. The definitions are
//! Iverson, so higher derivatives differentiate the same expressions. `lang_middle::ad` and the
//! dual numbers of the interpreter call them by [`partial_name`].

use std::sync::LazyLock;

use super::scalar_fn::ScalarFn;
use lang_base::GlobalName;
use lang_syntax::format::WIDTH;

/// The name of the module. It is internal: programs should not import it, and help does not mention
/// it.
pub const MODULE: &str = "partials";

/// The source text of the module.
pub static SOURCE: LazyLock<String> = LazyLock::new(|| {
    let definitions: Vec<String> = DifferentiableOp::all().flat_map(DifferentiableOp::definitions).collect();
    definitions.join("\n")
});

/// An operation with tabulated partial derivatives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DifferentiableOp {
    /// A scalar function.
    Scalar(ScalarFn),
    /// `x ^ y`
    Pow,
    /// `x ^ k`. Its partial derivative also takes the exponent as a real `n`, because no conversion
    /// to a type parameter exists.
    PowInt,
}

/// The derivative of `x ^ y` by `x`. `x ^ 0` is constant, also at 0 and at NaN. Elsewhere the
/// expression keeps its dependence on `y`, for its own derivative by `y`.
const POW_X: &str = "if y == 0 && (x == 0 || x != x) then 0 else y * x^(y - 1)";

/// The derivative of `x ^ y` by `y`. By convention, `0 ^ y` is constant for `y >= 0`, and `inf ^ y`
/// for `y < 0`.
const POW_Y: &str = "if x == 0 && y >= 0 || x == inf && y < 0 then 0 else x^y * log(x)";

/// The derivative of `x ^ k` by `x`. A negative exponent divides by `x`, because `k - 1` would wrap
/// at the minimum `i64`.
const POW_INT_X: &str = "if k == 0 then 0 else if k < 0 then n * (x^k / x) else n * x^(k - 1)";

impl DifferentiableOp {
    /// Returns every operation of the table. Functions of integers have no partial derivatives.
    pub fn all() -> impl Iterator<Item = Self> {
        ScalarFn::ALL.iter().map(|f| Self::Scalar(*f)).chain([Self::Pow, Self::PowInt])
    }

    fn name_prefix(self) -> &'static str {
        match self {
            Self::Scalar(f) => f.name(),
            Self::Pow => "pow",
            Self::PowInt => "powi",
        }
    }

    /// Returns the operation in source notation, the parameters of its partial derivatives, and
    /// those derivatives in order of the arguments.
    fn partials_table(self) -> (String, String, Vec<(&'static str, &'static str)>) {
        match self {
            Self::Scalar(f) => {
                let names: Vec<&str> = f.arguments().iter().map(|x| x.name).collect();
                let parameters: Vec<String> = names.iter().map(|name| format!("{name}: a")).collect();
                let partials = f.arguments().iter().filter_map(|x| x.partial.map(|partial| (x.name, partial)));
                (format!("{}({})", f.name(), names.join(", ")), parameters.join(", "), partials.collect())
            }
            Self::Pow => ("x^y".to_owned(), "x: a, y: a".to_owned(), vec![("x", POW_X), ("y", POW_Y)]),
            Self::PowInt => ("x^k".to_owned(), "x: a, k: i64, n: a".to_owned(), vec![("x", POW_INT_X)]),
        }
    }

    /// Returns the definitions of its partial derivatives.
    fn definitions(self) -> Vec<String> {
        let (written, parameters, partials) = self.partials_table();
        let definition = |(k, (name, partial)): (usize, &(&str, &str))| {
            let head = format!("def {}_{}({parameters}) -> a where a: real =", self.name_prefix(), k + 1);
            let gap = if head.len() + 1 + partial.len() > WIDTH { "\n  " } else { " " };
            format!("--| The derivative of `{written}` with respect to `{name}`.\n{head}{gap}{partial}\n")
        };
        partials.iter().enumerate().map(definition).collect()
    }
}

/// Returns the name of the definition of the partial derivative by argument `k`, counted from 0.
#[must_use]
pub fn partial_name(operation: DifferentiableOp, k: usize) -> GlobalName {
    GlobalName::new(MODULE, &format!("{}_{}", operation.name_prefix(), k + 1))
}
