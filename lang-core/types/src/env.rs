//! **Environment.** The checker's interface to the types of other items.
//!
//! Passes depend on this trait alone. The `session` implements it and hides how it stores the
//! answers.

use std::sync::Arc;

use super::ty::{Signature, Type};
use super::type_info::TypeInfo;
use lang_base::GlobalName;
use lang_resolve::NameEnv;
use lang_resolve::builtin::Builtin;
use lang_sizes::predicate::Poly;

/// The types of other items.
pub trait TypeEnv: NameEnv {
    /// Returns the signature of a definition. `None` if it has errors, because they are reported
    /// there.
    fn signature(&self, def: &GlobalName) -> Option<Arc<Signature>>;
    /// Returns the signature of a builtin.
    fn builtin_signature(&self, builtin: Builtin) -> Option<Arc<Signature>>;
    /// Returns the type of a variable of a top-level `let`; `None` if it has errors.
    fn let_type(&self, name: &GlobalName) -> Option<Type>;
    /// Returns the value of a top-level `i64` if it is a constant or a polynomial in other
    /// top-level sizes.
    fn let_size_value(&self, name: &GlobalName) -> Option<Poly>;
    /// Returns the definition of a `type` item; `None` if it has errors.
    fn type_info(&self, name: &GlobalName) -> Option<Arc<TypeInfo>>;
}
