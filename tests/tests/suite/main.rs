//! **The tests across crates** in one binary, because each binary links the whole language.
//! `memory.rs` is a binary of its own, because it measures the allocator of its process.

mod asymptotics;
mod blocked_rows;
mod brackets;
mod checker;
mod checkpoint;
mod compiled_derivatives;
mod cost_formulas;
mod costs;
mod derivatives;
mod derived_function_cache;
mod editors;
mod engine;
mod fixes;
mod fuzz;
mod growth;
mod hover;
mod hover_operators;
mod hover_subexpressions;
mod library;
mod literate;
mod machine_code;
mod middle;
mod origins;
mod printing;
mod programs;
mod rules;
mod scalar;
mod schedules;
mod snapshot;
mod source;
mod stages;
mod text_forms;
mod threads;
mod typed;
