//! What the tests of the language share: literate pages, plain reports, the fuzzer. The tests
//! themselves stand in `tests/tests/`, the pages in `docs/` and `tests/literate/`.

pub mod editors;
pub mod forms;
pub mod fuzz;
pub mod generate;
pub mod golden;
pub mod library;
pub mod literate;
pub mod middle;
pub mod mutate;
pub mod random;
pub mod render;
pub mod run;
pub mod source;
pub mod tables;
pub mod told;
pub mod typed;
