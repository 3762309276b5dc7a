//! **The session as a program.** Implements the interpreter's view of a program, and the
//! environment of the compiler's middle, by the queries of a session.

use std::collections::HashMap;
use std::sync::Arc;

use super::Session;
use lang_base::GlobalName;
use lang_ir::core::{FunctionKey, NoCoreForm};
use lang_ir::ssa::SsaFunction;
use lang_middle::norm::ElabQueries;
use lang_middle::pipeline::{CalleeForms, CoreResult, StagesResult};
use lang_runtime::{Program, Value};
use lang_types::tree::TypedBody;
use lang_types::ty::Signature;
use lang_types::type_info::TypeInfo;

/// All items, with the values of the top-level `let`s that the host has computed so far.
pub struct SessionProgram<'s> {
    session: &'s Session,
    values: &'s HashMap<GlobalName, Value>,
}

impl<'s> SessionProgram<'s> {
    /// Combines the items of `session` with these values.
    #[must_use]
    pub fn new(session: &'s Session, values: &'s HashMap<GlobalName, Value>) -> Self {
        Self { session, values }
    }
}

impl Program for SessionProgram<'_> {
    fn body(&self, name: &GlobalName) -> Option<Arc<TypedBody>> {
        Some(Arc::clone(&self.session.checked(name)?.body))
    }

    fn type_info(&self, ty: &GlobalName) -> Option<Arc<TypeInfo>> {
        self.session.type_info(ty)
    }

    fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>> {
        self.session.signature(name)
    }

    fn global(&self, name: &GlobalName) -> Option<Value> {
        self.values.get(name).cloned()
    }
}

impl ElabQueries for Session {
    fn body(&self, name: &GlobalName) -> Option<Arc<TypedBody>> {
        Some(Arc::clone(&self.checked(name)?.body))
    }

    fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>> {
        Self::signature(self, name)
    }

    fn type_info(&self, ty: &GlobalName) -> Option<Arc<TypeInfo>> {
        Self::type_info(self, ty)
    }
}

impl CalleeForms for Session {
    fn core(&self, callee: &Arc<FunctionKey>) -> CoreResult {
        Self::core(self, callee)
    }

    fn stages(&self, callee: &Arc<FunctionKey>) -> StagesResult {
        Self::stages(self, callee)
    }

    fn has_stages(&self, callee: &Arc<FunctionKey>) -> Result<(), Box<NoCoreForm>> {
        Self::stages(self, callee).map(|_| ())
    }

    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        Self::ssa(self, callee)
    }
}
