//! The standard library: its modules and their texts, part of the binary. Each is imported by its
//! name, `import linalg`; the prelude is in scope everywhere.

/// The name of the prelude's module.
pub const PRELUDE: &str = "";

/// Every module and its text, the prelude first.
pub const LIBRARY: &[(&str, &str)] = &[
    (PRELUDE, include_str!("../../../std/prelude.iv")),
    ("linalg", include_str!("../../../std/linalg.iv")),
    ("nn", include_str!("../../../std/nn.iv")),
    ("ode", include_str!("../../../std/ode.iv")),
    ("optim", include_str!("../../../std/optim.iv")),
    ("partials", include_str!("../../../std/partials.iv")),
    ("rand", include_str!("../../../std/rand.iv")),
    ("signal", include_str!("../../../std/signal.iv")),
    ("stats", include_str!("../../../std/stats.iv")),
];
