//! Where the partial derivatives of scalar operations are found: in the library module `partials`,
//! one definition for each argument, so that they are Iverson and can be differentiated again.

use crate::base::GlobalName;
use super::scalar_fn::ScalarFn;
/// The module.
pub const MODULE: &str = "partials";
/// An operation whose derivative a table gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A scalar function.
    Scalar(ScalarFn),
    /// `x ^ y`
    Pow,
    /// `x ^ k`
    PowInt,
}
/// The definition of the k-th partial derivative.
#[must_use]
pub fn name(operation: Operation, k: usize) -> GlobalName {
    let word = match operation {
        Operation::Scalar(f) => f.name(),
        Operation::Pow => "pow",
        Operation::PowInt => "powi",
    };
    GlobalName::new(MODULE, &format!("{word}_{}", k + 1))
}
