//! Repeated, timed calls of definitions and of their gradients, for `bench` and `gradbench`.

use std::time::{Duration, Instant};

use lang_core::base::GlobalName;
use lang_core::runtime::{RuntimeInstance, Value};
use lang_core::types::ty::{Signature, Type};

use super::{Engine, EvaluatedValue, RunLocation};
use crate::fit::FittedArguments;
use crate::problem::Problem;
use crate::types;

impl Engine {
    /// Calls a definition repeatedly with fitted arguments. After each call, `after_call` receives
    /// the run time and the time to make code in that call. The loop ends if `after_call` returns
    /// false.
    pub(crate) fn call_fitted_repeatedly(
        &mut self,
        def: &GlobalName,
        signature: &Signature,
        fitted: &FittedArguments,
        after_call: &mut dyn FnMut(Duration, Duration) -> bool,
    ) -> Result<EvaluatedValue, Vec<Problem>> {
        let (instance, arguments) = self.call_arguments(signature, fitted);
        let value = self.call_repeatedly(def, None, &instance, &arguments, after_call)?;
        let ty = types::with_sizes(&signature.result, &fitted.sizes);
        Ok(self.evaluated_value(value, &ty, true))
    }

    /// Calls a definition, or `function` derived from it, repeatedly. After each call, `after_call`
    /// receives the run time and the time to make code in that call. The loop ends if `after_call`
    /// returns false.
    pub(crate) fn call_repeatedly(
        &mut self,
        def: &GlobalName,
        function: Option<&Value>,
        instance: &RuntimeInstance,
        arguments: &[Value],
        after_call: &mut dyn FnMut(Duration, Duration) -> bool,
    ) -> Result<Value, Vec<Problem>> {
        let here = RunLocation { item: def.clone(), name: "the function", source: None };
        self.interpret(&here, |interp, generated| {
            loop {
                let (begun, preparation_before) = (Instant::now(), generated.preparation_time());
                let value = match function {
                    Some(function) => interp.apply_value(def, function, arguments.to_vec())?,
                    None => interp.call(def, instance.clone(), arguments.to_vec())?,
                };
                let (took, making) = (begun.elapsed(), generated.preparation_time().saturating_sub(preparation_before));
                if !after_call(took.saturating_sub(making), making) {
                    return Ok(value);
                }
            }
        })
    }

    /// Returns the gradient of a definition with respect to its arguments, as a function with
    /// parameters of `types`.
    pub(crate) fn gradient_function(&mut self, def: &GlobalName, types: &[Type]) -> Result<Value, Vec<Problem>> {
        let is_plain = self.signature(def).is_some_and(|s| s.sizes.is_empty() && s.type_params.is_empty());
        // The parameter names must not shadow the definition.
        let letter = if def.name.starts_with('a') { 'b' } else { 'a' };
        let names: Vec<String> = (0..types.len()).map(|k| format!("{letter}{k}")).collect();
        let params: Vec<String> = names.iter().zip(types).map(|(name, ty)| format!("{name}: {ty}")).collect();
        // A definition with size or type parameters is wrapped in a lambda, because the types of
        // the parameters determine the sizes.
        let text = match is_plain {
            true => format!("grad({})", def.name),
            false => format!("\\({}): grad({})({})", params.join(", "), def.name, names.join(", ")),
        };
        let source = self.sources.add("<bench>".to_owned(), text.clone());
        Ok(self.evaluate(&def.module, &text, source, 0, &mut || ())?.value)
    }
}
