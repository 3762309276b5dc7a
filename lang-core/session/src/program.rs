//! **The session as a program.** Implements the interpreter's view of a program, and the
//! environment of the compiler's middle, by the queries of a session.

use std::collections::HashMap;
use std::sync::Arc;

use super::Session;
use lang_base::GlobalName;
use lang_ir::core::{Callee, Outside};
use lang_ir::ssa::Ssa;
use lang_middle::norm::Bodies;
use lang_middle::pipeline::{Callees, InCore, InStages};
use lang_runtime::{Program, Value};
use lang_types::info::TypeInfo;
use lang_types::tree::Body;
use lang_types::ty::Signature;

/// All items, with the values of the top-level `let`s that the host has computed so far.
pub struct Running<'s> {
    session: &'s Session,
    values: &'s HashMap<GlobalName, Value>,
}

impl<'s> Running<'s> {
    /// Combines the items of `session` with these values.
    #[must_use]
    pub fn new(session: &'s Session, values: &'s HashMap<GlobalName, Value>) -> Self {
        Self { session, values }
    }
}

impl Program for Running<'_> {
    fn body(&self, name: &GlobalName) -> Option<Arc<Body>> {
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

impl Bodies for Session {
    fn body(&self, name: &GlobalName) -> Option<Arc<Body>> {
        Some(Arc::clone(&self.checked(name)?.body))
    }

    fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>> {
        Self::signature(self, name)
    }

    fn type_info(&self, ty: &GlobalName) -> Option<Arc<TypeInfo>> {
        Self::type_info(self, ty)
    }
}

impl Callees for Session {
    fn core(&self, callee: &Arc<Callee>) -> InCore {
        Self::core(self, callee)
    }

    fn stages(&self, callee: &Arc<Callee>) -> InStages {
        Self::stages(self, callee)
    }

    fn has_stages(&self, callee: &Arc<Callee>) -> Result<(), Box<Outside>> {
        Self::stages(self, callee).map(|_| ())
    }

    fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        Self::ssa(self, callee)
    }
}
