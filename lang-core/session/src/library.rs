//! **Standard library.** Embeds its modules in the binary. A module is imported by its name,
//! `import linalg`; the prelude is in scope everywhere.

use lang_resolve::partials;

/// The name of the prelude's module.
pub const PRELUDE: &str = "";

/// The modules that are files, with their texts; the prelude is the first. A `const` would embed
/// the texts at each use.
pub static LIBRARY: &[(&str, &str)] = &[
    (PRELUDE, include_str!("../../../std/prelude.iv")),
    ("linalg", include_str!("../../../std/linalg.iv")),
    ("nn", include_str!("../../../std/nn.iv")),
    ("ode", include_str!("../../../std/ode.iv")),
    ("optim", include_str!("../../../std/optim.iv")),
    ("rand", include_str!("../../../std/rand.iv")),
    ("signal", include_str!("../../../std/signal.iv")),
    ("stats", include_str!("../../../std/stats.iv")),
];

/// The modules that hold the input at the prompt and after `iverson eval`. They know the modules of
/// the library by name without an import.
pub const INTERACTIVE: [&str; 2] = ["<repl>", "<eval>"];

/// Returns the names of the modules that can be imported.
pub(super) fn importable() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().map(|(name, _)| *name).filter(|name| *name != PRELUDE)
}

/// Returns every module and its text. The module of partial derivatives is generated from a table.
pub(super) fn modules() -> impl Iterator<Item = (&'static str, &'static str)> {
    LIBRARY.iter().copied().chain([(partials::MODULE, partials::SOURCE.as_str())])
}
