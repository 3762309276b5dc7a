//! The partial derivatives of scalar operations: a library module, `partials`, made from the table
//! of scalar functions, with one definition for each argument. They are Iverson, so derivatives of
//! derivatives come from the same expressions.

use std::sync::LazyLock;

use super::scalar_fn::ScalarFn;
use crate::base::GlobalName;
use crate::syntax::format::WIDTH;

/// The module. It is not meant to be imported, and help does not name it.
pub const MODULE: &str = "partials";

/// The text of the module.
pub static TEXT: LazyLock<String> = LazyLock::new(|| {
    let definitions: Vec<String> = Operation::all().flat_map(Operation::definitions).collect();
    definitions.join("\n")
});

/// An operation whose derivative a table gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A scalar function.
    Scalar(ScalarFn),
    /// `x ^ y`
    Pow,
    /// `x ^ k`, which also has the exponent as a real, `n`: no conversion leads to a type
    /// parameter.
    PowInt,
}

/// `x ^ y` by `x`. `x ^ 0` is constant, also at 0 and at NaN; elsewhere the expression is kept for
/// its own derivative by `y`.
const POW_X: &str = "if y == 0 && (x == 0 || x != x) then 0 else y * x^(y - 1)";

/// `x ^ y` by `y`. `0 ^ y` is taken as constant from 0 on, and `inf ^ y` below 0.
const POW_Y: &str = "if x == 0 && y >= 0 || x == inf && y < 0 then 0 else x^y * log(x)";

/// `x ^ k` by `x`. The least exponent has none below it.
const POW_INT_X: &str = "if k == 0 then 0 else if k < 0 then n * (x^k / x) else n * x^(k - 1)";

impl Operation {
    /// Every operation whose derivative a table gives.
    pub fn all() -> impl Iterator<Item = Self> {
        ScalarFn::ALL.iter().map(|f| Self::Scalar(*f)).chain([Self::Pow, Self::PowInt])
    }

    fn word(self) -> &'static str {
        match self {
            Self::Scalar(f) => f.name(),
            Self::Pow => "pow",
            Self::PowInt => "powi",
        }
    }

    /// The operation as it is written, the parameters of its partial derivatives, and those
    /// derivatives, in order of the arguments.
    fn table(self) -> (String, String, Vec<(&'static str, &'static str)>) {
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

    /// The definitions of its partial derivatives.
    fn definitions(self) -> Vec<String> {
        let (written, parameters, partials) = self.table();
        let definition = |(k, (name, partial)): (usize, &(&str, &str))| {
            let head = format!("def {}_{}({parameters}) -> a where a: real =", self.word(), k + 1);
            let gap = if head.len() + 1 + partial.len() > WIDTH { "\n  " } else { " " };
            format!("--| The derivative of `{written}` by `{name}`.\n{head}{gap}{partial}\n")
        };
        partials.iter().enumerate().map(definition).collect()
    }
}

/// The definition of the k-th partial derivative.
#[must_use]
pub fn name(operation: Operation, k: usize) -> GlobalName {
    GlobalName::new(MODULE, &format!("{}_{}", operation.word(), k + 1))
}
