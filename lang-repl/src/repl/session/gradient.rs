//! `:grad`: prints the value of an expression and its gradient, under the names of the variables.

use lang_core::base::Name;
use lang_core::runtime::Value;
use lang_core::syntax::ast::{Expr, Item};
use lang_core::syntax::parser;
use lang_core::types::ty::Type;

use super::{INPUT_NAME, ReplSession, SESSION_MODULE};
use crate::engine::Engine;
use crate::show::{self, EvaluatedValue};

impl ReplSession {
    pub(super) fn print_gradient(&mut self, text: &str) {
        let text = text.trim_end().trim_end_matches(';').trim_end();
        let Some((gradient_call, names)) = self.gradient_of_call(text).or_else(|| self.gradient_of_variables(text))
        else {
            return self.reject_input(format!(
                "`{text}` has no gradient: it is neither a function call nor an expression with real session variables"
            ));
        };
        let source = self.engine.sources.add(INPUT_NAME, gradient_call.as_str());
        let evaluated = match self.engine.evaluate(&self.module_name(), &gradient_call, source, 0, &mut || ()) {
            Ok(evaluated) => evaluated,
            Err(problems) => return self.report_failure(problems),
        };
        let parts = tuple_components(&evaluated);
        let [value, gradient] = parts.as_slice() else { return };
        self.out.print(&format!("{}\n", show::format_with_type(None, value, self.out.view)));
        let gradients = if names.len() == 1 { vec![gradient.clone()] } else { tuple_components(gradient) };
        for (name, gradient) in names.iter().zip(&gradients).filter(|(_, g)| !g.is_unit()) {
            self.out
                .print(&format!("{}\n", show::format_with_type(Some(&format!("wrt {name}")), gradient, self.out.view)));
        }
    }

    /// Rewrites a call to `value_and_grad(f)(…)` with the same arguments. Returns it with the names
    /// of the parameters.
    fn gradient_of_call(&self, text: &str) -> Option<(String, Vec<Name>)> {
        let tree = parser::parse_expr(text).tree;
        let Item::Do(root) = tree.item else { return None };
        let Expr::Call(callee, arguments) = &tree.exprs[root].kind else { return None };
        let piece = |span: lang_core::base::Span| text.get(span.range());
        let function = piece(tree.exprs[*callee].span)?;
        let parameters = self.engine.parameters_of(&self.module_name(), function)?;
        if parameters.len() != arguments.len() || !parameters.iter().any(|(_, ty)| may_be_real(ty)) {
            return None;
        }
        // Named arguments are moved to their positions.
        let mut ordered_arguments: Vec<Option<&str>> = vec![None; parameters.len()];
        for (at, argument) in arguments.iter().enumerate() {
            let at = match &argument.name {
                Some(name) => parameters.iter().position(|(own, _)| *own == name.name)?,
                None => at,
            };
            *ordered_arguments.get_mut(at)? = piece(tree.exprs[argument.value].span);
        }
        let ordered_arguments: Vec<&str> = ordered_arguments.into_iter().collect::<Option<_>>()?;
        let names = parameters.into_iter().map(|(name, _)| name).collect();
        Some((format!("value_and_grad({function})({})", ordered_arguments.join(", ")), names))
    }

    /// Rewrites any other expression to a lambda over its real variables, called with their values.
    /// Returns it with the names of the variables.
    fn gradient_of_variables(&self, text: &str) -> Option<(String, Vec<Name>)> {
        let mut names = Vec::new();
        let mut parameters = Vec::new();
        for used in self.engine.names_used_in(&self.module_name(), text) {
            if used.module != *SESSION_MODULE {
                continue;
            }
            let Some(ty) = self.engine.type_of_let(&used).filter(Engine::has_reals) else { continue };
            parameters.push(format!("{}: {}", used.name, self.engine.writable_type(&self.module_name(), &ty)?));
            names.push(used.name);
        }
        if names.is_empty() {
            return None;
        }
        let values = names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
        Some((format!("value_and_grad(\\({}): {text})({values})", parameters.join(", ")), names))
    }
}

/// Whether an argument of that type can have a gradient. A type parameter may be real.
fn may_be_real(ty: &Type) -> bool {
    Engine::has_reals(ty) || matches!(ty.split_array().1, Type::Param(..) | Type::Data(..))
}

/// Returns the components of a tuple.
fn tuple_components(of: &EvaluatedValue) -> Vec<EvaluatedValue> {
    let (Value::Tuple(items), Type::Tuple(types)) = (&of.value, &of.ty) else { return Vec::new() };
    let parts = items.values().iter().zip(types.iter());
    parts.map(|(value, ty)| EvaluatedValue { value: value.clone(), ty: ty.clone(), has_effects: false }).collect()
}
