//! **Property test of the compiler's middle.** Drawn programs must obey the laws and reach every
//! rule. `IVERSON_SEED` and `IVERSON_COUNT` select other runs, and `IVERSON_FIRST` with a count of
//! 1 runs one program alone.

use iverson_tests::middle::soak::{MiddleReport, judge_text, soak};
use iverson_tests::random;
use lang_core::session::Session;

/// A number for slow machines; the soak test draws more.
const PROGRAMS: u64 = 1500;

#[test]
fn laws_of_the_middle_hold() {
    let report = soak(random::seed(), random::first_case(), random::case_count(PROGRAMS)).expect("no share panics");
    println!("{} programs, {} definitions\n{}{:#?}", report.programs, report.definitions, report.table(), report.tally);
    assert!(report.broken == 0, "{} broke a law:\n{}", report.broken, report.failures.join("\n\n"));
    // These outcomes must be rare, because they check little.
    let (tally, many) = (report.tally, report.tally.tangents / 50);
    assert!(tally.masked <= many && tally.undecided <= many && tally.unfinished <= many, "{tally:?}");
    assert!(
        tally.skipped <= many && report.oracle.too_large <= many,
        "{tally:?}, {} runs with large indices",
        report.oracle.too_large
    );
    let compared = tally.exact + tally.near;
    assert!(tally.loose <= compared / 50 && tally.unbounded <= compared / 20, "{tally:?}");
    // Most failures are the same in the interpreter and in every form.
    assert!(tally.other_failures + tally.omitted <= (tally.failures + tally.form_failures) / 2, "{tally:?}");
    println!("{} elements of machine code are not finite in another way than the evaluator's", report.oracle.endless);
    assert!(
        report.oracle.endless <= report.programs / 100,
        "{} elements are not finite in another way",
        report.oracle.endless
    );
    if random::case_count(PROGRAMS) >= PROGRAMS {
        assert_eq!(report.missing(), Vec::<&str>::new(), "rules that nothing reached");
        assert_eq!(report.missing_functions(), Vec::<&str>::new(), "functions that did not occur");
    }
}

/// Programs that broke a law in the past; see `tests/golden/middle.iv`.
#[test]
fn once_broken() {
    let all = include_str!("../../golden/middle.iv");
    let mut session = Session::new();
    let (mut report, mut count) = (MiddleReport::default(), 0);
    for program in all.split("-- law: ").skip(1) {
        count += 1;
        let (why, text) = program.split_once('\n').expect("a line of its own");
        if let Err(broken) = judge_text(&mut session, text, &mut report) {
            panic!("{why} {}: {}", broken.law, broken.how);
        }
    }
    assert!(count >= 10 && report.tally.values > 60, "{count} programs: {:?}", report.tally);
}
