//! What the checker sees of the world beyond the item in hand. Passes know this trait; only
//! `session` knows how the answers are kept.

use std::sync::Arc;

use super::info::TypeInfo;
use super::ty::{Signature, Type};
use crate::base::GlobalName;
use crate::predicate::Poly;
use crate::resolve::Names;
use crate::resolve::builtin::Builtin;

/// The types of other items.
pub trait Env: Names {
    /// The signature of a definition. `None` where it has errors, which are reported there.
    fn signature(&self, def: &GlobalName) -> Option<Arc<Signature>>;
    /// The signature of a builtin.
    fn builtin(&self, builtin: Builtin) -> Option<Arc<Signature>>;
    /// The type of a variable of a top-level `let`; `None` where it has errors.
    fn let_type(&self, name: &GlobalName) -> Option<Type>;
    /// The value of a top-level `i64`, if it is a constant or a polynomial of other top-level sizes.
    fn let_size(&self, name: &GlobalName) -> Option<Poly>;
    /// What a `type` item defines; `None` where it has errors.
    fn type_info(&self, name: &GlobalName) -> Option<Arc<TypeInfo>>;
}
