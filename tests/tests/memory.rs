//! What a run holds at once is what its plan says, measured by the allocator; and what runs again asks the system for
//! nothing. Sizes are such that arrays take megabytes.

#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iverson_tests::middle::filled::{callee, given, with_derivatives};
use iverson_tests::middle::forms::Forms;
use iverson_tests::middle::large::{RUNS, session};
use iverson_tests::middle::machine::{World, flat};
use lang_core::exec::{self, Machine, Programs, Stopped, Tensor};
use lang_core::interp::Limits;
use lang_core::interp::memory::{Memory, TooLarge};
use lang_core::interp::{Around, pool};
use lang_core::ir::ssa::Ssa;
use lang_jit::Jit;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// One test at a time has the allocator.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Plans of fewer bytes are not compared: what else a run allocates would be a part of it.
const LEAST: u64 = 1 << 22;

/// What else is allocated: parts of matrices that are laid out anew, stacks of threads, code.
const OTHER: u64 = 1 << 20;

/// Arguments of a function, as they are passed.
fn passed(ssa: &Ssa, sizes: &[i64]) -> Vec<Tensor> {
    let inputs = ssa.inputs.iter().filter(|i| i.source.is_passed());
    let given = given(ssa, sizes);
    inputs.zip(&given).map(|(i, t)| flat(t, i.leaf.scalar).expect("a tensor of numbers")).collect()
}

#[test]
fn what_is_held_is_what_was_planned() {
    let _alone = alone();
    let session = session();
    let globals = HashMap::new();
    let defs = Forms::new(&session, &globals);
    let interrupt = AtomicBool::new(false);
    let mut compared = 0;
    let mut wrong = Vec::new();
    for threads in [1, 2] {
        let programs = Programs::with(Arc::new(Jit::new(threads).expect("a processor")));
        for (name, all_sizes) in RUNS {
            for ssa in with_derivatives(&defs, &callee("threads.iv", name)) {
                for sizes in *all_sizes {
                    let sizes: Vec<i64> = sizes.iter().map(|n| if *n > 2000 { n * 16 } else { *n }).collect();
                    let memory = Memory::new(Limits::default());
                    let around = Around { memory: &memory, interrupt: &interrupt, done: &|_| {} };
                    let world = World(&defs);
                    let known = ssa.sizes.iter().copied().zip(sizes.iter().copied()).collect();
                    let plan = Machine::new(&world, &programs, &around).plan(&ssa, &known).expect("a plan");
                    // Code is made, and what threads have of their own.
                    let run = |given: Vec<Tensor>| {
                        exec::run(&world, &programs, &ssa, &sizes, given, Limits::default(), &interrupt)
                    };
                    drop(run(passed(&ssa, &sizes)).expect("a value"));
                    pool::empty();
                    let before = ALLOCATOR.current_usage();
                    let given = passed(&ssa, &sizes);
                    let _kept = given.clone();
                    ALLOCATOR.reset_peak_usage();
                    let found = run(given).expect("a value");
                    let held = u64::try_from(ALLOCATOR.peak_usage().saturating_sub(before)).expect("bytes");
                    drop(found);
                    assert!(plan.is_whole, "{name} at {sizes:?}: {plan:?}");
                    if plan.peak < LEAST {
                        continue;
                    }
                    compared += 1;
                    if held.abs_diff(plan.peak).saturating_sub(OTHER) * 5 > plan.peak {
                        wrong.push(format!("{name} at {sizes:?} by {threads}: {held} of {}\n{ssa}", plan.peak));
                    }
                }
            }
        }
    }
    println!("{compared} plans compared");
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n"));
    assert!(compared >= 100, "{compared} are too few");
}

#[test]
fn what_needs_too_much_does_not_begin() {
    let _alone = alone();
    let session = session();
    let globals = HashMap::new();
    let defs = Forms::new(&session, &globals);
    let programs = Programs::with(Arc::new(Jit::new(1).expect("a processor")));
    let interrupt = AtomicBool::new(false);
    let world = World(&defs);
    for ssa in with_derivatives(&defs, &callee("threads.iv", "elements")) {
        let sizes = [1_000_000];
        let run = |given: Vec<Tensor>, max_bytes: usize| {
            let limits = Limits { max_bytes, ..Limits::default() };
            exec::run(&world, &programs, &ssa, &sizes, given, limits, &interrupt)
        };
        let given = passed(&ssa, &sizes);
        drop(run(given.clone(), 1 << 30).expect("a value"));
        pool::empty();
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let found = run(given, 7_999_999);
        let held = ALLOCATOR.peak_usage().saturating_sub(before);
        assert!(matches!(found, Err(Stopped::TooLarge(TooLarge::Planned(8_000_000.., 7_999_999)))), "{ssa}");
        assert!(held < 1 << 16, "{held} bytes of a run that did not begin");
    }
}

/// Pages that the process was given by the system and had not before.
fn faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("the system tells it");
    let behind = stat.rsplit_once(')').expect("a name").1;
    behind.split_whitespace().nth(7).and_then(|n| n.parse().ok()).expect("a number")
}

#[test]
#[cfg(target_os = "linux")]
fn what_runs_again_asks_the_system_for_nothing() {
    let _alone = alone();
    let session = session();
    let globals = HashMap::new();
    let defs = Forms::new(&session, &globals);
    let programs = Programs::with(Arc::new(Jit::new(2).expect("a processor")));
    let interrupt = AtomicBool::new(false);
    let mut wrong = Vec::new();
    for (name, all_sizes) in RUNS {
        for ssa in with_derivatives(&defs, &callee("threads.iv", name)) {
            for sizes in *all_sizes {
                let given = passed(&ssa, sizes);
                let run = || {
                    let world = World(&defs);
                    let given = given.clone();
                    drop(
                        exec::run(&world, &programs, &ssa, sizes, given, Limits::default(), &interrupt)
                            .expect("a value"),
                    );
                };
                (0..5).for_each(|_| run());
                let before = faults();
                (0..10).for_each(|_| run());
                let more = faults() - before;
                // What a thread touches of its stack for the first time.
                if more > 10 {
                    wrong.push(format!("{name} at {sizes:?}: {more} pages in ten runs"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
