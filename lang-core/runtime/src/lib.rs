//! **Values of a run**: arrays and their memory, scalar functions, printing, failures, and the
//! interfaces of a run to the host and to compiled code. The interpreter and the machine share
//! them.

#![forbid(unsafe_code)]

pub mod array;
pub mod code;
pub mod columns;
pub mod count;
mod decimal;
pub mod derived;
pub mod dual;
pub mod failure;
pub mod figure;
mod gamma;
pub mod json;
pub mod memory;
pub mod offload;
pub mod plan;
pub mod pool;
pub mod print;
pub mod progress;
pub mod relation;
pub mod rt_type;
pub mod scalar;
pub mod value;
pub mod within;

pub use array::{Array, Store};
pub use code::{Code, Frame, Host, Program, Refusal};
pub use count::Counts;
pub use derived::{Derived, Place};
pub use dual::{Dual, Perturbation};
pub use failure::Failure;
pub use figure::Figure;
pub use memory::Limits;
pub use offload::{Around, Asked, Done, Elsewhere, Taken};
pub use progress::{Progress, Work};
pub use relation::Relation;
pub use rt_type::RtType;
pub use value::{Cell, Fun, Items, Record, RtInstance, Tag, Value};
pub use within::{Deep, within};
