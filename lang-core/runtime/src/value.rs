//! **Run-time values.** Everything on the heap is reference-counted and immutable while it is
//! shared. A clone costs one reference count, and an update of an unshared value happens in place.
//!
//! Programs determine how deep values of recursive types are, so no function here recurses over
//! them. All nesting except that of dual numbers goes through [`Components`]; the drop of both uses
//! a worklist. Comparison and printing use worklists of their own.

use std::sync::Arc;

use super::array::{Array, Buffer, Store};
use super::code::RunnableBody;
use super::derived::DerivedFunction;
use super::dual::Dual;
use super::memory::{AllocationError, MemoryAccount, MemoryCharge};
use super::relation::Relation;
use super::rt_type::RuntimeType;
use lang_base::{GlobalName, Name};
use lang_resolve::builtin::Builtin;
use lang_resolve::scalar_fn::ScalarFn;
use lang_types::tree::TypedId;

/// The value of an expression (the values `v` of ATL's Fig. 4, and more).
#[derive(Clone)]
pub enum Value {
    /// A double-precision real.
    F64(f64),
    /// A single-precision real.
    F32(f32),
    /// An integer.
    I64(i64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Str(Name),
    /// An array of one or more axes.
    Array(Array),
    /// A tuple; the empty one is `()`.
    Tuple(Arc<Components>),
    /// A record.
    Record(Arc<Record>),
    /// A constructor applied to its arguments.
    Data(Arc<DataCell>),
    /// A function.
    Fun(Arc<FunctionValue>),
    /// A relation.
    Rel(Arc<Relation>),
    /// A dual number. It exists only while a derivative is computed.
    Dual(Arc<Dual>),
}

/// The component values of a compound value.
#[derive(Default)]
pub struct Components {
    /// The component values.
    pub values: Vec<Value>,
    #[expect(dead_code, reason = "held for its drop")]
    charge: MemoryCharge,
}

/// A record: its field names in the order of construction, and their values.
pub struct Record {
    /// The field names, in the order of construction.
    pub names: Arc<[Name]>,
    /// The values of the fields, in the same order.
    pub components: Components,
}

/// A constructor applied to its arguments.
pub struct DataCell {
    /// The identity of the constructor.
    pub tag: Arc<ConstructorTag>,
    /// The arguments.
    pub items: Components,
}

/// The identity of a constructor.
#[derive(PartialEq, Eq, Debug)]
pub struct ConstructorTag {
    /// The type that it belongs to.
    pub ty: GlobalName,
    /// Its position in that type.
    pub index: u32,
    /// Its name.
    pub name: Name,
    /// The number of its arguments.
    pub arity: usize,
}

/// The type-level arguments of a call.
#[derive(Clone, Default)]
pub struct RuntimeInstance {
    /// The type arguments, one per type parameter.
    pub types: Arc<[RuntimeType]>,
    /// The size arguments, one per implicit size.
    pub sizes: Vec<i64>,
}

/// A function value.
pub enum FunctionValue {
    /// A closure: a lambda with the values of the locals that it captures.
    Lambda {
        /// The code that contains it.
        code: Arc<RunnableBody>,
        /// The node of the lambda in that code.
        node: TypedId,
        /// The values of its captures, in order.
        captured: Components,
        /// The type arguments of the definition that contains it.
        types: Arc<[RuntimeType]>,
    },
    /// A definition.
    Def(GlobalName, RuntimeInstance),
    /// A builtin.
    Builtin(Builtin),
    /// A scalar function.
    Scalar(ScalarFn),
    /// A constructor.
    Ctor(Arc<ConstructorTag>),
    /// A derivative operator applied to a function.
    Derived(Box<DerivedFunction>),
    /// The tangent of a function: the change of its result at a fixed argument as its captures
    /// change.
    Tangent(Components),
}

impl Value {
    /// Returns `()`.
    #[must_use]
    pub fn unit() -> Self {
        Self::Tuple(Arc::default())
    }

    /// Builds a tuple.
    #[must_use]
    pub fn tuple(values: Vec<Self>) -> Self {
        Self::Tuple(Arc::new(Components::new(values)))
    }

    /// Builds a record with its fields in this order.
    #[must_use]
    pub fn record(fields: Vec<(Name, Self)>) -> Self {
        let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
        Self::Record(Arc::new(Record { names: names.into(), components: Components::new(values) }))
    }

    /// Builds a constructor applied to arguments.
    #[must_use]
    pub fn data(tag: Arc<ConstructorTag>, args: Vec<Self>) -> Self {
        Self::Data(Arc::new(DataCell { tag, items: Components::new(args) }))
    }

    /// Builds an array of these extents with these elements in row-major order. Returns `None` if
    /// the counts disagree.
    #[must_use]
    pub fn array(dims: &[usize], elements: impl Into<Store>) -> Option<Self> {
        Array::new(dims, elements.into(), MemoryCharge::default()).map(Self::Array)
    }

    /// Returns the integer, or `None` for another kind of value.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        if let Self::I64(i) = self { Some(*i) } else { None }
    }

    /// Returns the truth value, or `None` for another kind of value.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(b) = self { Some(*b) } else { None }
    }

    /// Returns the array, or `None` for another kind of value.
    #[must_use]
    pub fn as_array(&self) -> Option<&Array> {
        if let Self::Array(a) = self { Some(a) } else { None }
    }

    /// Whether dropping the value does more than decrement a count or free a buffer of scalars.
    pub fn needs_iterative_drop(&self) -> bool {
        match self {
            Self::Tuple(_) | Self::Record(_) | Self::Data(_) | Self::Fun(_) | Self::Dual(_) => true,
            Self::Array(a) => a.is_boxed(),
            _ => false,
        }
    }

    /// Drops values without recursion. A worklist takes apart every value that has no other owner,
    /// so a list of a million cells needs no deeper stack than a list of two.
    pub fn drop_iteratively(mut pending: Vec<Self>) {
        while let Some(value) = pending.pop() {
            value.unlink(&mut pending);
        }
    }

    /// Moves the components that only this value owns into `pending`.
    fn unlink(self, pending: &mut Vec<Self>) {
        match self {
            Self::Tuple(t) => {
                if let Some(mut t) = Arc::into_inner(t) {
                    pending.append(&mut t.values);
                }
            }
            Self::Record(r) => {
                if let Some(mut r) = Arc::into_inner(r) {
                    pending.append(&mut r.components.values);
                }
            }
            Self::Data(c) => {
                if let Some(mut c) = Arc::into_inner(c) {
                    pending.append(&mut c.items.values);
                }
            }
            Self::Fun(f) => match Arc::into_inner(f) {
                Some(FunctionValue::Lambda { mut captured, .. }) => pending.append(&mut captured.values),
                Some(FunctionValue::Derived(mut d)) => pending.append(&mut d.function.values),
                Some(FunctionValue::Tangent(mut parts)) => pending.append(&mut parts.values),
                _ => {}
            },
            Self::Dual(d) => {
                if let Some(mut d) = Arc::into_inner(d) {
                    pending.extend(d.take_parts());
                }
            }
            Self::Array(a) => {
                if let Some((Store::Boxed(mut items), _)) = a.into_buffer().map(Buffer::into_parts) {
                    pending.append(&mut items.values);
                }
            }
            _ => {}
        }
    }
}

impl Components {
    /// Wraps values without charging a memory.
    #[must_use]
    pub fn new(values: Vec<Value>) -> Self {
        Self { values, charge: MemoryCharge::default() }
    }

    /// Wraps values. `charge` pays for their memory.
    #[must_use]
    pub fn with_charge(values: Vec<Value>, charge: MemoryCharge) -> Self {
        Self { values, charge }
    }

    /// Wraps values and charges their bytes to a memory.
    pub fn new_charged(values: Vec<Value>, memory: &MemoryAccount) -> Result<Self, AllocationError> {
        let bytes = values.capacity().saturating_mul(size_of::<Value>()).saturating_add(size_of::<Self>());
        Ok(Self { values, charge: memory.charge(bytes)? })
    }

    /// Returns the values.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Moves the values out.
    #[must_use]
    pub fn into_values(mut self) -> Vec<Value> {
        std::mem::take(&mut self.values)
    }
}

impl Drop for Components {
    fn drop(&mut self) {
        if self.values.iter().any(Value::needs_iterative_drop) {
            Value::drop_iteratively(std::mem::take(&mut self.values));
        }
    }
}

impl Record {
    /// Returns the field names, in the order of the values.
    #[must_use]
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// Returns the values.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        self.components.values()
    }

    /// Returns the position of a field. `hint` is its position if the record was constructed in the
    /// order of its type.
    #[must_use]
    pub fn position(&self, name: &str, hint: usize) -> Option<usize> {
        if self.names.get(hint).is_some_and(|n| n == name) {
            return Some(hint);
        }
        self.names.iter().position(|n| n == name)
    }
}

impl DataCell {
    /// Returns the constructor.
    #[must_use]
    pub fn tag(&self) -> &ConstructorTag {
        &self.tag
    }

    /// Returns the arguments.
    #[must_use]
    pub fn args(&self) -> &[Value] {
        self.items.values()
    }
}

/// Compares bit for bit: `-0.0` differs from `0.0`, and every NaN equals every NaN. Functions are
/// equal only if they are one object. Does not recurse.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        let mut pending = vec![(self.clone(), other.clone())];
        while let Some((a, b)) = pending.pop() {
            let pairs: Option<(&[Self], &[Self])> = match (&a, &b) {
                (Self::F64(x), Self::F64(y)) if is_identical_f64(*x, *y) => None,
                (Self::F32(x), Self::F32(y)) if is_identical_f32(*x, *y) => None,
                (Self::I64(x), Self::I64(y)) if x == y => None,
                (Self::Bool(x), Self::Bool(y)) if x == y => None,
                (Self::Str(x), Self::Str(y)) if x == y => None,
                (Self::Rel(x), Self::Rel(y)) if x == y => None,
                (Self::Fun(x), Self::Fun(y)) if Arc::ptr_eq(x, y) => None,
                (Self::Dual(x), Self::Dual(y)) if x.perturbation == y.perturbation => {
                    pending.push((x.primal.clone(), y.primal.clone()));
                    pending.push((x.tangent.clone(), y.tangent.clone()));
                    None
                }
                (Self::Tuple(x), Self::Tuple(y)) if Arc::ptr_eq(x, y) => None,
                (Self::Record(x), Self::Record(y)) if Arc::ptr_eq(x, y) => None,
                (Self::Data(x), Self::Data(y)) if Arc::ptr_eq(x, y) => None,
                (Self::Tuple(x), Self::Tuple(y)) => Some((x.values(), y.values())),
                (Self::Data(x), Self::Data(y)) if x.tag == y.tag => Some((x.args(), y.args())),
                (Self::Array(x), Self::Array(y)) if x.dims() == y.dims() => {
                    if x.form().is_some() && x.form() == y.form() {
                        let parts = x.all_columns().into_iter().zip(y.all_columns());
                        pending.extend(parts.map(|(x, y)| (Self::Array(x), Self::Array(y))));
                    } else if !x.is_of_scalars() && !y.is_of_scalars() {
                        for i in 0..x.count() {
                            pending.extend(x.element(i).zip(y.element(i)));
                        }
                    } else if !x.has_same_scalars(y) {
                        return false;
                    }
                    None
                }
                (Self::Record(x), Self::Record(y)) if x.names.len() == y.names.len() => {
                    for (i, (name, v)) in x.names.iter().zip(x.values()).enumerate() {
                        let Some(w) = y.position(name, i).and_then(|at| y.values().get(at)) else {
                            return false;
                        };
                        pending.push((v.clone(), w.clone()));
                    }
                    None
                }
                _ => return false,
            };
            if let Some((x, y)) = pairs {
                if x.len() != y.len() {
                    return false;
                }
                pending.extend(x.iter().cloned().zip(y.iter().cloned()));
            }
        }
        true
    }
}

/// Whether two reals have equal bits or are both NaN.
pub fn is_identical_f64(x: f64, y: f64) -> bool {
    x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())
}

/// Whether two reals have equal bits or are both NaN.
pub fn is_identical_f32(x: f32, y: f32) -> bool {
    x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())
}

/// Prints the value in the surface syntax.
impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&super::print::to_short_text(self))
    }
}

/// Returns the components of a tuple, moved out if it has no other owner.
pub fn take_components(tuple: Arc<Components>) -> Vec<Value> {
    match Arc::try_unwrap(tuple) {
        Ok(items) => items.into_values(),
        Err(shared) => shared.values().to_vec(),
    }
}

/// Returns the values of a record, moved out if it has no other owner.
pub fn take_fields(record: Arc<Record>) -> Vec<Value> {
    match Arc::try_unwrap(record) {
        Ok(record) => record.components.into_values(),
        Err(shared) => shared.values().to_vec(),
    }
}

/// Returns the arguments of a constructor, moved out if it has no other owner.
pub fn take_args(cell: Arc<DataCell>) -> Vec<Value> {
    match Arc::try_unwrap(cell) {
        Ok(cell) => cell.items.into_values(),
        Err(shared) => shared.args().to_vec(),
    }
}
