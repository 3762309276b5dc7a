//! **Collected forms** of all definitions in the library and of the programs, with their
//! derivatives and callees, for tests that judge every form.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use lang_core::ad::{real_inputs, real_outputs};
use lang_core::base::GlobalName;
use lang_core::ir::core::{CoreFunction, DerivativeKind, ExprKind, ExprRef, FunctionKey};
use lang_core::ir::ssa::{Rhs, SsaFunction};
use lang_core::session::{LIBRARY, Session};
use lang_core::syntax::split::ItemKind;
use lang_core::types::ty::Type;

use super::forms::SessionForms;
use crate::golden;

/// All forms of a session's definitions.
#[derive(Default)]
pub struct CollectedForms {
    /// The core forms, by the debug text of the callee.
    pub core: BTreeMap<String, Arc<CoreFunction>>,
    /// Tensor SSA, by the same text: definitions, their forward derivatives and adjoints, and
    /// callees.
    pub ssa: BTreeMap<String, Arc<SsaFunction>>,
    seen: HashSet<FunctionKey>,
}

impl CollectedForms {
    fn add(&mut self, forms: &SessionForms<'_>, callee: &Arc<FunctionKey>) {
        // The rule of a definition that takes functions calls it again with their tangents, so its
        // forms would not end.
        if !callee.rules.is_empty() || !self.seen.insert((**callee).clone()) {
            return;
        }
        let name = format!("{callee:?}");
        if callee.derivatives.is_empty() {
            let Ok(stages) = forms.module.stages(callee) else { return };
            self.core.insert(name.clone(), stages.core.clone());
            let mut called = Vec::new();
            core_calls(&stages.core.body, &mut called);
            called.extend(stages.core.local_functions.iter().map(|f| f.callee.clone()));
            called.iter().for_each(|callee| self.add(forms, callee));
            let (wrt, of) = (real_inputs(&stages.ssa), real_outputs(&stages.ssa));
            if !wrt.is_empty() && !of.is_empty() {
                self.add(forms, &Arc::new(callee.derivative(DerivativeKind::Forward(wrt.clone().into()))));
                self.add(
                    forms,
                    &Arc::new(callee.derivative(DerivativeKind::Adjoint { outputs: of.into(), wrt: wrt.into() })),
                );
            }
        }
        let Some(ssa) = forms.module.ssa(callee) else { return };
        let mut called = Vec::new();
        ssa_calls(&ssa, &mut called);
        called.iter().for_each(|callee| self.add(forms, callee));
        self.ssa.insert(name, ssa);
    }
}

/// Collects the calls of an expression.
pub fn core_calls(e: &ExprRef, found: &mut Vec<Arc<FunctionKey>>) {
    if let ExprKind::Call(callee, ..) = &e.kind {
        found.push(callee.clone());
    }
    e.for_each_child(&mut |e| core_calls(e, found));
}

/// Collects the calls, including those in regions.
pub fn ssa_calls(ssa: &SsaFunction, found: &mut Vec<Arc<FunctionKey>>) {
    for stmt in &ssa.stmts {
        match &stmt.rhs {
            Rhs::Call { callee, .. } => found.push(callee.clone()),
            Rhs::Loop(of) => ssa_calls(&of.body, found),
            _ => {}
        }
    }
}

/// Passes the forms of all definitions in the library and of the programs to `check`.
pub fn with_all_forms(check: impl FnOnce(&SessionForms<'_>, &CollectedForms)) {
    let programs = golden::programs().unwrap_or_default();
    let session: Session = golden::session(&programs);
    let modules: Vec<String> =
        LIBRARY.iter().map(|(name, _)| (*name).to_owned()).chain(programs.keys().map(|n| golden::module(n))).collect();
    let globals = crate::run::globals(&session, modules.iter().map(String::as_str));
    let forms = SessionForms::new(&session, &globals);
    let mut all = CollectedForms::default();
    for module in &modules {
        for item in session.items(module).into_iter().filter(|i| i.kind == ItemKind::Def) {
            let def = GlobalName::new(module, &item.name);
            let Some(signature) = session.signature(&def) else { continue };
            all.add(&forms, &Arc::new(FunctionKey::new(def, vec![Type::F64; signature.type_params.len()])));
        }
    }
    check(&forms, &all);
}
