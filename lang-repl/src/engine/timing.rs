//! Calls of definitions and of their gradients, again and again, with how long each takes.

use std::time::{Duration, Instant};

use lang_core::base::GlobalName;
use lang_core::interp::{RtInstance, Value};
use lang_core::types::ty::{Signature, Type};

use super::{Engine, Evaluated, Here};
use crate::fit::Fitted;
use crate::problem::Problem;
use crate::types;

impl Engine {
    /// Calls a definition with arguments that fit it, again and again. After each call `again` is told how long it took,
    /// and how long it took before that to make code.
    pub(crate) fn call_timed(
        &mut self,
        def: &GlobalName,
        signature: &Signature,
        fitted: &Fitted,
        again: &mut dyn FnMut(Duration, Duration) -> bool,
    ) -> Result<Evaluated, Vec<Problem>> {
        let (instance, arguments) = self.given(signature, fitted);
        let value = self.timed(def, None, &instance, &arguments, again)?;
        let ty = types::with_sizes(&signature.result, &fitted.sizes);
        Ok(self.evaluated(value, &ty, true))
    }

    /// Calls a definition, or a function made of it, again and again. After each call `again` is told how long it took, and
    /// how long it took before that to make code.
    pub(crate) fn timed(
        &mut self,
        def: &GlobalName,
        function: Option<&Value>,
        instance: &RtInstance,
        arguments: &[Value],
        again: &mut dyn FnMut(Duration, Duration) -> bool,
    ) -> Result<Value, Vec<Problem>> {
        let here = Here { item: def.clone(), name: "the function", source: None };
        self.interpret(&here, |interp, generated| {
            loop {
                let (begun, made) = (Instant::now(), generated.making());
                let value = match function {
                    Some(function) => interp.apply_value(def, function, arguments.to_vec())?,
                    None => interp.call(def, instance.clone(), arguments.to_vec())?,
                };
                let (took, making) = (begun.elapsed(), generated.making().saturating_sub(made));
                if !again(took.saturating_sub(making), making) {
                    return Ok(value);
                }
            }
        })
    }

    /// The gradient of a definition by its arguments, as a function of these types.
    pub(crate) fn gradient(&mut self, def: &GlobalName, types: &[Type]) -> Result<Value, Vec<Problem>> {
        let is_plain = self.signature(def).is_some_and(|s| s.sizes.is_empty() && s.type_params.is_empty());
        // The definition stays in scope beside its arguments.
        let letter = if def.name.starts_with('a') { 'b' } else { 'a' };
        let names: Vec<String> = (0..types.len()).map(|k| format!("{letter}{k}")).collect();
        let params: Vec<String> = names.iter().zip(types).map(|(name, ty)| format!("{name}: {ty}")).collect();
        // Arguments tell sizes, where there are any.
        let text = match is_plain {
            true => format!("grad({})", def.name),
            false => format!("\\({}): grad({})({})", params.join(", "), def.name, names.join(", ")),
        };
        let source = self.sources.add("<bench>".to_owned(), text.clone());
        Ok(self.evaluate(&def.module, &text, source, 0, &mut || ())?.value)
    }
}
