//! The standard library: its modules and their texts, part of the binary. Each is imported by its
//! name, `import linalg`; the prelude is in scope everywhere.

use crate::resolve::partials;

/// The name of the prelude's module.
pub const PRELUDE: &str = "";

/// Every module that is a file and its text, the prelude first.
pub const LIBRARY: &[(&str, &str)] = &[
    (PRELUDE, include_str!("../../../std/prelude.iv")),
    ("linalg", include_str!("../../../std/linalg.iv")),
    ("nn", include_str!("../../../std/nn.iv")),
    ("ode", include_str!("../../../std/ode.iv")),
    ("optim", include_str!("../../../std/optim.iv")),
    ("rand", include_str!("../../../std/rand.iv")),
    ("signal", include_str!("../../../std/signal.iv")),
    ("stats", include_str!("../../../std/stats.iv")),
];

/// Every module and its text, that of the partial derivatives too, which is made from a table.
pub(super) fn modules() -> impl Iterator<Item = (&'static str, &'static str)> {
    LIBRARY.iter().copied().chain([(partials::MODULE, partials::TEXT.as_str())])
}
