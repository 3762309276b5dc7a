//! **Dual numbers** as values: a real with its derivative in one direction, of one
//! [`Perturbation`].

use super::Value;
use super::memory::MemoryCharge;

/// The identity of a derivative in progress; a later one is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Perturbation(pub u64);

/// A real with its derivative in one direction. Both parts are reals, possibly with earlier
/// perturbations.
pub struct Dual {
    /// The perturbation ε of the tangent.
    pub perturbation: Perturbation,
    /// The value without ε.
    pub primal: Value,
    /// The coefficient of ε.
    pub tangent: Value,
    #[expect(dead_code, reason = "held for its drop")]
    charge: MemoryCharge,
}

/// The parts nest as deep as derivatives do; see [`super::value::Components`].
impl Drop for Dual {
    fn drop(&mut self) {
        if self.primal.needs_iterative_drop() || self.tangent.needs_iterative_drop() {
            Value::drop_iteratively(self.take_parts().into());
        }
    }
}

impl Dual {
    /// Builds `primal + tangent·ε`. `charge` pays for the memory.
    #[must_use]
    pub fn new(perturbation: Perturbation, primal: Value, tangent: Value, charge: MemoryCharge) -> Self {
        Self { perturbation, primal, tangent, charge }
    }

    /// Moves both parts out of a dual number that is about to be dropped.
    pub fn take_parts(&mut self) -> [Value; 2] {
        [&mut self.primal, &mut self.tangent].map(|part| std::mem::replace(part, Value::Bool(false)))
    }
}

/// Returns the latest perturbation of a real.
pub fn perturbation_of(x: &Value) -> Option<Perturbation> {
    if let Value::Dual(d) = x { Some(d.perturbation) } else { None }
}

/// Returns the primal and tangent of a real with respect to a perturbation. A constant has no
/// tangent.
pub fn primal_and_tangent(x: &Value, e: Perturbation) -> (&Value, Option<&Value>) {
    match x {
        Value::Dual(d) if d.perturbation == e => (&d.primal, Some(&d.tangent)),
        _ => (x, None),
    }
}

/// Returns the real without any perturbation.
pub fn primal(mut x: &Value) -> &Value {
    while let Value::Dual(d) = x {
        x = &d.primal;
    }
    x
}

/// Whether the value is a dual number, or an array that may hold some.
pub fn may_hold_dual(x: &Value) -> bool {
    match x {
        Value::Dual(_) => true,
        Value::Array(a) => a.is_boxed(),
        _ => false,
    }
}
