//! **Tests of the editor features** (`lang-ide`) in one binary, because each binary links the whole
//! language.

mod actions;
mod hints;
mod lenses_views_hovers;
mod navigation;
mod program;
