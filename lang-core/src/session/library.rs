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

/// The modules that hold what a user types at the prompt and after `iverson eval`. In them the modules of the library
/// are known by their names without an import.
pub const INTERACTIVE: [&str; 2] = ["<repl>", "<eval>"];

/// The names of the modules that can be imported.
pub(super) fn importable() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().map(|(name, _)| *name).filter(|name| *name != PRELUDE)
}

/// Every module and its text, that of the partial derivatives too, which is made from a table.
pub(super) fn modules() -> impl Iterator<Item = (&'static str, &'static str)> {
    LIBRARY.iter().copied().chain([(partials::MODULE, partials::TEXT.as_str())])
}
