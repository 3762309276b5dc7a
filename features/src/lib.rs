//! **Features** of shared dependencies, named once. Each crate of the workspace depends on this one
//! through `lang-base`, so that cargo compiles a dependency with one set of features for every
//! choice of packages. `cargo xtask tidy` compares the choices.
