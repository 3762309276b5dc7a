//! **Forms of definitions.** Supplies the evaluators of `lang-core` with the forms of definitions
//! (core to Tensor SSA), and the reference with core.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use lang_core::base::{GlobalName, Span};
use lang_core::eval::eval_core;
use lang_core::eval::eval_ssa::{self, IrTensor, SsaEvaluator};
use lang_core::ir::core::{CoreExpr, CoreFunction, CoreType, ExprKind, FunctionKey, ScalarOp};
use lang_core::ir::flat::{FlatFunction, InputSource};
use lang_core::ir::ssa::SsaFunction;
use lang_core::ir::value::IrValue;
use lang_core::pipeline::{MemoisedForms, Stages};
use lang_core::resolve::partials;
use lang_core::runtime::Value as Computed;
use lang_core::session::Session;
use lang_core::syntax::ops::Scalar;
use lang_core::types::ty::Type;

use super::reference::{self, DualValue, of_value, real};
use super::values::{part_as_is, plain};

/// A provider of definitions in all forms.
pub trait FormProvider {
    /// Returns a definition in its forms.
    fn stages(&self, callee: &Arc<FunctionKey>) -> Option<Arc<Stages>>;
    /// Returns a definition or a derivative in Tensor SSA.
    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>>;
    /// Returns the value of a top-level `let`.
    fn global(&self, name: &GlobalName) -> Option<IrValue>;
}

/// The forms of a session's definitions.
pub struct SessionForms<'a> {
    /// The definitions.
    pub module: MemoisedForms<'a>,
    /// The values of top-level `let`s.
    pub globals: &'a HashMap<GlobalName, Computed>,
}

impl<'a> SessionForms<'a> {
    /// Returns the forms of a session whose top-level `let`s have these values.
    #[must_use]
    pub fn new(session: &'a Session, globals: &'a HashMap<GlobalName, Computed>) -> Self {
        Self { module: MemoisedForms::new(session), globals }
    }
}

impl FormProvider for SessionForms<'_> {
    fn stages(&self, callee: &Arc<FunctionKey>) -> Option<Arc<Stages>> {
        self.module.stages(callee).ok()
    }

    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        self.module.ssa(callee)
    }

    fn global(&self, name: &GlobalName) -> Option<IrValue> {
        plain(self.globals.get(name)?)
    }
}

/// The forms that the evaluator of core accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Core.
    Core,
    /// `let`s lifted to the outside.
    Lifted,
    /// Without tuples.
    Pairs,
    /// Generations pushed to the outside.
    Pushed,
}

impl Form {
    /// All forms, in the order of the passes.
    pub const ALL: [Self; 4] = [Self::Core, Self::Lifted, Self::Pairs, Self::Pushed];

    /// Returns whether the form takes and returns the parts of values, without tuples.
    #[must_use]
    pub fn is_flat(self) -> bool {
        matches!(self, Self::Pairs | Self::Pushed)
    }

    /// Returns the form of a definition, as a function of core.
    #[must_use]
    pub fn of(self, stages: &Stages) -> Arc<CoreFunction> {
        match self {
            Self::Core => stages.core.clone(),
            Self::Lifted => stages.lifted.clone(),
            Self::Pairs => Arc::new(as_function(&stages.flat)),
            Self::Pushed => Arc::new(as_function(&stages.pushed)),
        }
    }
}

/// The separator between the name of a top-level `let` and the path to a part of it.
const PART: char = '#';

/// Converts a form without tuples to a function from the parts of its arguments to a tuple of
/// parts.
fn as_function(flat: &FlatFunction) -> CoreFunction {
    let mut bindings = Vec::new();
    let mut params = Vec::new();
    for input in &flat.inputs {
        match &input.source {
            InputSource::Global(name) => {
                let path: String = input.leaf.path.iter().map(|k| format!("{PART}{k}")).collect();
                let name = GlobalName::new(&name.module, &format!("{}{path}", name.name));
                bindings.push((input.local, CoreExpr::new(ExprKind::Global(name), input.leaf.ty(), Span::default())));
            }
            _ => params.push((input.local, input.leaf.ty())),
        }
    }
    bindings.extend(flat.bindings.iter().cloned());
    let outputs: Vec<_> = flat.outputs.iter().map(|(_, e)| e.clone()).collect();
    let ty = CoreType::tuple(outputs.iter().map(|e| e.ty.clone()).collect::<Vec<_>>());
    let body = CoreExpr::lets(bindings, CoreExpr::new(ExprKind::Tuple(outputs), ty, Span::default()));
    CoreFunction {
        callee: flat.callee.clone(),
        vars: flat.vars.clone(),
        sizes: flat.sizes.clone(),
        params,
        bounded_params: flat.bounded.clone(),
        body,
        local_functions: Vec::new(),
        rule_of: None,
    }
}

/// Definitions in one form, for the evaluator of core.
pub struct SingleFormFunctions<'m> {
    middle: &'m dyn FormProvider,
    all: EvaluatorFunctions<'m>,
    form: Form,
    known: RefCell<HashMap<FunctionKey, Arc<CoreFunction>>>,
}

impl<'m> SingleFormFunctions<'m> {
    /// Returns the definitions in this form.
    #[must_use]
    pub fn new(middle: &'m dyn FormProvider, form: Form) -> Self {
        Self { middle, all: EvaluatorFunctions(middle), form, known: RefCell::default() }
    }
}

impl eval_core::CoreEnv for SingleFormFunctions<'_> {
    fn function(&self, callee: &FunctionKey) -> Option<Arc<CoreFunction>> {
        if let Some(known) = self.known.borrow().get(callee) {
            return Some(known.clone());
        }
        let core_function = self.form.of(&*self.middle.stages(&Arc::new(callee.clone()))?);
        self.known.borrow_mut().insert(callee.clone(), core_function.clone());
        Some(core_function)
    }

    fn global(&self, name: &GlobalName) -> Option<IrValue> {
        let Some((whole, path)) = name.name.split_once(PART) else { return self.middle.global(name) };
        let path: Vec<u32> = path.split(PART).map(|k| k.parse().ok()).collect::<Option<_>>()?;
        let value = self.middle.global(&GlobalName::new(&name.module, whole))?;
        let mut tensor = part_as_is(&value, &path);
        let dims = std::mem::take(&mut tensor.dims);
        Some(super::values::nested(&mut tensor.items.into_iter(), &dims))
    }

    fn ssa_env(&self) -> Option<&dyn eval_ssa::SsaEnv> {
        Some(&self.all)
    }
}

/// Definitions in Tensor SSA for its evaluator, and in core for the reference.
#[derive(Clone, Copy)]
pub struct EvaluatorFunctions<'m>(pub &'m dyn FormProvider);

impl eval_ssa::SsaEnv for EvaluatorFunctions<'_> {
    fn ssa(&self, callee: &FunctionKey) -> Option<Arc<SsaFunction>> {
        self.0.ssa(&Arc::new(callee.clone()))
    }

    fn global(&self, name: &GlobalName, path: &[u32]) -> Option<IrTensor> {
        Some(part_as_is(&self.0.global(name)?, path))
    }
}

/// The fuel for a partial derivative of a scalar operation.
const PARTIAL: u64 = 10_000;

impl reference::ReferenceDefinitions for EvaluatorFunctions<'_> {
    fn core(&self, callee: &FunctionKey) -> Option<Arc<CoreFunction>> {
        Some(self.0.stages(&Arc::new(callee.clone()))?.core.clone())
    }

    fn global(&self, name: &GlobalName) -> Option<DualValue> {
        Some(of_value(&self.0.global(name)?, None))
    }

    fn partial(&self, operation: ScalarOp, k: usize, args: &[IrValue]) -> Option<f64> {
        let of = args.first()?.scalar()?;
        let ssa = self.0.ssa(&partial_of(operation, k, of)?)?;
        let mut inputs: Vec<IrValue> = args.to_vec();
        if operation == ScalarOp::PowInt {
            #[expect(clippy::cast_precision_loss, reason = "as the language converts")]
            inputs.push(match (args.get(1)?.int()?, of) {
                (i, Scalar::F32) => IrValue::F32(i as f32),
                (i, _) => IrValue::F64(i as f64),
            });
        }
        let tensors = inputs.into_iter().map(|v| IrTensor { dims: Vec::new(), items: vec![v] });
        let results = SsaEvaluator::new(self, PARTIAL).call(&ssa, &[], tensors.collect()).ok()?;
        real(results.first()?.items.first()?)
    }
}

/// Returns the definition in the derivative tables for an operation by its argument `k`.
#[must_use]
pub fn partial_of(operation: ScalarOp, k: usize, at: Scalar) -> Option<Arc<FunctionKey>> {
    let table = match operation {
        ScalarOp::Scalar(f) => partials::DifferentiableOp::Scalar(f),
        ScalarOp::Pow => partials::DifferentiableOp::Pow,
        ScalarOp::PowInt => partials::DifferentiableOp::PowInt,
        _ => return None,
    };
    Some(Arc::new(FunctionKey::new(partials::partial_name(table, k), vec![Type::Scalar(at)])))
}
