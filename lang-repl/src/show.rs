//! Values as people read them: type and shape first.

use lang_core::interp::print;

use crate::engine::Evaluated;

/// `[3]f64 = [1.0, 2.0, 3.0]`
pub(crate) fn with_type(evaluated: &Evaluated) -> String {
    format!("{} = {}", evaluated.ty, plain(evaluated))
}

/// `[1.0, 2.0, 3.0]`
pub(crate) fn plain(evaluated: &Evaluated) -> String {
    print::text(&evaluated.value)
}
