//! Values as people read them, type and shape first, and as JSON.

use lang_core::interp::{Value, json as interp_json, print};
use lang_core::types::ty::Type;

/// A value and its type, sizes as they are in this run.
#[derive(Clone)]
pub(crate) struct Evaluated {
    pub(crate) value: Value,
    pub(crate) ty: Type,
}

impl Evaluated {
    /// Is it made of `()` alone, as what `print` gives is? Then there is nothing to show.
    pub(crate) fn is_unit(&self) -> bool {
        is_unit(&self.ty)
    }
}

fn is_unit(ty: &Type) -> bool {
    match ty {
        Type::Tuple(parts) => parts.iter().all(is_unit),
        Type::Array(_, element) => is_unit(element),
        _ => false,
    }
}

/// Text of more bytes than this is not made of a value.
const MAX_TEXT: usize = 256 << 20;

/// `[3]f64 = [1.0, 2.0, 3.0]`, elided too.
pub(crate) fn with_type(evaluated: &Evaluated) -> String {
    format!("{} = {}", evaluated.ty, short(evaluated))
}

/// `[1.0, 2.0, 3.0]`, long arrays with their middle left out.
pub(crate) fn short(evaluated: &Evaluated) -> String {
    print::short(&evaluated.value)
}

/// `[1.0, 2.0, 3.0]`, all of it unless it is too large for a text.
pub(crate) fn full(evaluated: &Evaluated) -> String {
    print::full(&evaluated.value, MAX_TEXT).unwrap_or_else(|| print::short(&evaluated.value))
}

/// The value as JSON, unless it is too large for a text.
pub(crate) fn json(evaluated: &Evaluated) -> Option<String> {
    interp_json::to_json(&evaluated.value, MAX_TEXT)
}
