//! Programs that are well typed by construction, and the laws they must obey.
//!
//! A program is drawn as text, led by the type that is wanted at each place: definitions over
//! sizes, polymorphic and recursive ones among them, types of their own, and expressions of every
//! kind that the typed tree has, which a table of hits shows. What fails when it runs (an index out
//! of bounds, the greatest of nothing) is allowed where it was not proved impossible; whatever
//! the checker refuses is a defect of the drawing or of the checker.

pub mod derivatives;
mod draw;
mod general;
pub mod hits;
pub mod laws;
mod own;
mod program;
mod run;
pub(crate) mod shrink;
mod traps;
mod types;

pub use program::program;

use crate::random::Random;
use hits::Hits;
use lang_core::session::Session;
use laws::{Broken, Did, check};

/// What a run found.
#[derive(Debug, Default)]
pub struct Report {
    /// How many programs were drawn.
    pub programs: u64,
    /// Which typed nodes occurred in them, and which traps.
    pub hits: Hits,
    /// What they did.
    pub did: Did,
    /// How many broke a law.
    pub broken: u64,
    /// The first broken programs of each law, made smaller.
    pub failures: Vec<String>,
}

/// Draws `count` programs from `seed`, from this number on, and tries the laws on each.
#[must_use]
pub fn soak(seed: u64, first: u64, count: u64) -> Report {
    let mut report = Report::default();
    let mut session = Session::new();
    let mut laws: Vec<String> = Vec::new();
    for nth in first..first.saturating_add(count) {
        let (text, traps) = program(number(seed, nth));
        traps.iter().for_each(|trap| report.hits.hit(trap));
        report.programs += 1;
        match check(&mut session, &text, &mut report.hits) {
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

/// The seed of a program: runs with other seeds see other programs.
fn number(seed: u64, nth: u64) -> u64 {
    Random::new(Random::new(seed).number().wrapping_add(nth)).number()
}

fn tell(session: &mut Session, seed: u64, nth: u64, text: &str, broken: &Broken) -> String {
    let mut unused = Hits::default();
    let small = shrink::shrink(text, &mut |candidate| {
        check(session, candidate, &mut unused).is_err_and(|b| b.law == broken.law)
    });
    let how = match check(session, &small, &mut unused) {
        Err(b) => b.how,
        Ok(_) => broken.how.clone(),
    };
    format!("program {nth} of seed {seed} breaks `{}`:\n{how}\nthe program\n{text}\nmade smaller\n{small}", broken.law)
}
