//! **Test support.** The code that the tests of the language share: literate pages, generators of
//! random programs, oracles, golden values and plain reports. A library holds it, because several
//! test files call it. The tests themselves are in `tests/tests/`, the pages in `docs/` and
//! `tests/literate/`.

pub mod editors;
pub mod fuzz;
pub mod generate;
pub mod golden;
pub mod hover_entries;
pub mod library;
pub mod literate;
pub mod middle;
pub mod mutate;
pub mod observed_kernels;
pub mod random;
pub mod reference_coverage;
pub mod render;
pub mod run;
pub mod source;
pub mod tables;
pub mod typed;
