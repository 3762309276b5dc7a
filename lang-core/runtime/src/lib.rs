//! **Values of a run**: arrays and their memory, scalar functions, printing, failures, and the
//! interfaces of a run to the host and to compiled code. The interpreter and the machine share
//! them.

#![forbid(unsafe_code)]

pub mod array;
pub mod buffer_pool;
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
pub mod last_use;
pub mod memory;
pub mod offload;
pub mod print;
pub mod progress;
pub mod relation;
pub mod rt_type;
pub mod scalar;
pub mod value;
pub mod walk_value;

pub use array::{Array, Store};
pub use code::{Host, LocalFrame, Program, Refusal, RunnableBody};
pub use count::OperationCounts;
pub use derived::{DerivedFunction, OperatorSite};
pub use dual::{Dual, Perturbation};
pub use failure::Failure;
pub use figure::Figure;
pub use memory::RunLimits;
pub use offload::{OffloadEvaluator, OffloadOutcome, OffloadProgress, OffloadRequest, RunContext};
pub use progress::{WorkKind, WorkProgress};
pub use relation::Relation;
pub use rt_type::RuntimeType;
pub use value::{Components, ConstructorTag, DataCell, FunctionValue, Record, RuntimeInstance, Value};
pub use walk_value::{NestingTooDeep, find_in_value};
