//! **Tests of the editor features** in one binary.

mod actions;
mod hints;
mod lenses_views_hovers;
mod navigation;
mod program;
