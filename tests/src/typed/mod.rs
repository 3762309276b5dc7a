//! **Property tests of the checker.** Generates programs that are well typed by construction, and
//! the laws that they must obey.
//!
//! A program is drawn as text, directed by the wanted type of each expression. It contains
//! definitions over sizes, some polymorphic or recursive, sum types, and expressions of every kind
//! of the typed tree, which `hits` checks. A run-time failure (an index out of bounds, the maximum
//! of an empty array) is allowed unless the checker proved it impossible. A program that the
//! checker rejects shows a defect of the generator or of the checker.

mod checker_traps;
pub mod derivatives;
mod draw;
mod general;
pub mod hits;
pub mod laws;
mod own;
mod program;
mod run;
pub(crate) mod shrink;
mod types;

pub use program::program;

use crate::random::Random;
use hits::NodeCoverage;
use lang_core::session::Session;
use laws::{LawStatistics, MetamorphicViolation, check};

/// The result of a run.
#[derive(Debug, Default)]
pub struct TypedReport {
    /// The number of programs drawn.
    pub programs: u64,
    /// The typed nodes and the traps in them.
    pub hits: NodeCoverage,
    /// The counts of their results.
    pub did: LawStatistics,
    /// The number of programs that broke a law.
    pub broken: u64,
    /// The first programs that broke each law, shrunk.
    pub failures: Vec<String>,
}

/// Draws `count` programs from `seed`, beginning with number `first`, and checks the laws on each.
#[must_use]
pub fn soak(seed: u64, first: u64, count: u64) -> TypedReport {
    let mut report = TypedReport::default();
    let mut session = Session::new();
    let mut laws: Vec<String> = Vec::new();
    for nth in first..first.saturating_add(count) {
        let (text, traps) = program(number(seed, nth));
        traps.iter().for_each(|trap| report.hits.hit(trap));
        report.programs += 1;
        match check(&mut session, &text, &mut report.hits, run::PATIENCE) {
            Ok(did) => {
                report.did.values += did.values;
                report.did.failures += did.failures;
                report.did.annotated += did.annotated;
                report.did.inferred += did.inferred;
                report.did.derivatives.add(did.derivatives);
            }
            Err(broken) => {
                report.broken += 1;
                if !laws.contains(&broken.law) {
                    laws.push(broken.law.clone());
                    report.failures.push(tell(&mut session, seed, nth, &text, &broken));
                }
            }
        }
    }
    report
}

/// Returns the seed of a program. Runs with different seeds draw different programs.
fn number(seed: u64, nth: u64) -> u64 {
    Random::new(Random::new(seed).number().wrapping_add(nth)).number()
}

fn tell(session: &mut Session, seed: u64, nth: u64, text: &str, broken: &MetamorphicViolation) -> String {
    let mut unused = NodeCoverage::default();
    let small = shrink::shrink(text, &mut |candidate| {
        check(session, candidate, &mut unused, run::SHORT_PATIENCE).is_err_and(|b| b.law == broken.law)
    });
    let how = match check(session, &small, &mut unused, run::SHORT_PATIENCE) {
        Err(b) => b.how,
        Ok(_) => broken.how.clone(),
    };
    format!("program {nth} of seed {seed} breaks `{}`:\n{how}\nthe program\n{text}\nmade smaller\n{small}", broken.law)
}
