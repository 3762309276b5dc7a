//! **Runs of drawn programs.** Computes the top-level values, then calls each definition without
//! parameters by itself, so that one failure does not hide the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use lang_core::base::{Code, GlobalName, Span};
use lang_core::interp::Interp;
use lang_core::runtime::{Failure, Host, OperationCounts, RunLimits, RuntimeInstance, Value};
use lang_core::session::{Session, SessionProgram};
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::{TypedBody, TypedExpr, TypedSubscript, TypedUpdateTarget};

use crate::run::{MAIN, limits};

/// The result of one item.
#[derive(PartialEq, Debug)]
pub(super) struct ItemResult {
    pub(super) item: String,
    /// The value, or the code of the failure.
    pub(super) result: Result<Value, Code>,
    pub(super) work: u64,
    pub(super) tests: u64,
    pub(super) iterations: u64,
}

/// A limit on the time of a drawn program, which guards against a hang: each one terminates soon.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// A limit on the time of a shrunk program, which may not terminate. A program that exceeds it on a
/// busy machine is not the shrunk one; no law depends on it.
pub(super) const SHORT_PATIENCE: Duration = Duration::from_secs(5);

/// A failure that is not allowed.
pub(super) struct ForbiddenFailure {
    /// The law that it breaks.
    pub(super) law: &'static str,
    pub(super) how: String,
}

/// Runs the main module of a session within a limit of time.
///
/// # Errors
/// A failure that is not allowed.
pub(super) fn run(session: &Session, patience: Duration) -> Result<Vec<ItemResult>, ForbiddenFailure> {
    let stop = Arc::new(AtomicBool::new(false));
    let (done, waits) = mpsc::channel::<()>();
    let late = Arc::clone(&stop);
    let watch = std::thread::spawn(move || {
        if waits.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            late.store(true, Ordering::Relaxed);
        }
    });
    let ran = run_until(session, &stop);
    drop(done);
    let _ = watch.join();
    ran
}

fn run_until(session: &Session, stop: &AtomicBool) -> Result<Vec<ItemResult>, ForbiddenFailure> {
    let mut known = ItemRunner::new(session, stop);
    let items = session.items(MAIN);
    let mut all = Vec::new();
    let (values, defs): (Vec<_>, Vec<_>) = items.iter().partition(|item| item.kind == ItemKind::Let);
    for item in values.into_iter().chain(defs) {
        match item.kind {
            ItemKind::Let if item.name.starts_with('g') => {
                let Some(checked) = session.checked_item(item) else { continue };
                let body = checked.body.clone();
                let (result, counts) = known.interpret(|interp| Ok(interp.eval_body(&item.global, &body)?.0));
                if let Ok(Value::Tuple(values)) = &result {
                    for ((name, _), value) in checked.exports.iter().zip(values.values()) {
                        known.values.insert(GlobalName::new(&item.module, name), value.clone());
                    }
                }
                all.push(known.ran(&item.name, result, counts)?);
            }
            ItemKind::Def if item.name.starts_with('m') => {
                let entry = GlobalName::new(MAIN, &item.name);
                let (result, counts) =
                    known.interpret(|interp| interp.call(&entry, RuntimeInstance::default(), Vec::new()));
                all.push(known.ran(&item.name, result, counts)?);
            }
            _ => {}
        }
    }
    Ok(all)
}

pub(super) struct ItemRunner<'a> {
    session: &'a Session,
    values: HashMap<GlobalName, Value>,
    stop: &'a AtomicBool,
}

impl<'a> ItemRunner<'a> {
    /// Returns a run in which no top-level value has been computed.
    pub(super) fn new(session: &'a Session, stop: &'a AtomicBool) -> Self {
        Self { session, values: HashMap::new(), stop }
    }

    pub(super) fn interpret(
        &self,
        task: impl FnOnce(&mut Interp<'_>) -> Result<Value, Box<Failure>>,
    ) -> (Result<Value, Box<Failure>>, OperationCounts) {
        let limits = RunLimits { max_calls: 1_000, max_elements: 1 << 16, ..limits() };
        let mut host = SilentRunHost;
        let program = SessionProgram::new(self.session, &self.values);
        let mut interp = Interp::new(&program, &mut host, limits, self.stop);
        interp.start_counting();
        let result = task(&mut interp);
        let counts = interp.counts();
        (result, counts)
    }

    fn ran(
        &self,
        item: &str,
        result: Result<Value, Box<Failure>>,
        counts: OperationCounts,
    ) -> Result<ItemResult, ForbiddenFailure> {
        let result = match result {
            Ok(value) => Ok(value),
            Err(failure) => {
                self.allowed(&failure)?;
                Err(failure.code)
            }
        };
        let OperationCounts { work, tests, iterations } = counts;
        Ok(ItemResult { item: item.to_owned(), result, work, tests, iterations })
    }

    /// Checks that the failure is one that data may cause. An access that was proved in bounds must
    /// never fail.
    fn allowed(&self, failure: &Failure) -> Result<(), ForbiddenFailure> {
        let forbid = |law, how| Err(ForbiddenFailure { law, how });
        match failure.code {
            Code::E0500 => {
                let mentions_proof = failure.help.as_ref().is_some_and(|h| h.contains("proved"));
                let checked = self.session.checked(&failure.item);
                if mentions_proof || checked.is_some_and(|c| proved_at(&c.body, failure.span)) {
                    return forbid("what is proved holds", format!("a proved access fails: {failure}"));
                }
                Ok(())
            }
            Code::E0501
            | Code::E0503
            | Code::E0504
            | Code::E0505
            | Code::E0508
            | Code::E0509
            | Code::E0512
            | Code::E0513 => Ok(()),
            Code::E0507 => forbid("it ends", "it runs on and on".to_owned()),
            _ => forbid("failures are of known kinds", format!("fails as it may not: {failure}")),
        }
    }
}

/// Returns whether the span has an access and every access with that span was proved.
fn proved_at(body: &TypedBody, span: Span) -> bool {
    let mut found = Vec::new();
    let mut look = |subs: &[TypedSubscript]| {
        for s in subs {
            match s {
                TypedSubscript::Index { index, is_proved: proved } if body.nodes[*index].span == span => {
                    found.push(*proved)
                }
                TypedSubscript::Range { from, to, is_proved: proved }
                    if body.nodes[*from].span.to(body.nodes[*to].span) == span =>
                {
                    found.push(*proved);
                }
                _ => {}
            }
        }
    };
    for (_, node) in body.nodes.iter() {
        match &node.kind {
            TypedExpr::Index(_, subs) => look(subs),
            TypedExpr::With(_, updates) => {
                for u in updates {
                    if let TypedUpdateTarget::Index(subs) = &u.target {
                        look(subs);
                    }
                }
            }
            _ => {}
        }
    }
    !found.is_empty() && found.iter().all(|p| *p)
}

struct SilentRunHost;

impl Host for SilentRunHost {
    fn print(&mut self, _: &str) {}

    fn debug(&mut self, _: &GlobalName, _: Span, _: &str) {}

    fn seconds(&mut self) -> f64 {
        0.0
    }
}
