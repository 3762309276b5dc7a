//! **Features** of shared dependencies, named once, in the manifest of this crate. Each crate of
//! the language depends on it through `lang-base`. So cargo compiles a dependency with the same
//! features for one program and for the whole workspace. `cargo xtask tidy` checks that.
