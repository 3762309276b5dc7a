//! **Round trip of printed values.** A value that is printed with all digits reads back as the same
//! value, at any width. `IVERSON_SEED` and `IVERSON_COUNT` select other runs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use iverson_tests::random::{self, Random};
use iverson_tests::run;
use lang_core::runtime::Value;
use lang_core::runtime::print::{Digits, Layout};
use lang_core::session::Session;

const SUM: &str = "type Tree = Leaf | Node(Tree, f64, Tree) | More([2, 2]f64, Tree) | Both({x: i64, y: Tree})\n";

/// Draws a type and a value of it as text, without the printer under test.
fn drawn(r: &mut Random, depth: usize) -> (String, String) {
    match r.number_below(if depth == 0 { 5 } else { 9 }) {
        0 => ("f64".into(), f64(r)),
        1 => ("f32".into(), f32(r)),
        2 => ("i64".into(), i64(r)),
        3 => ("bool".into(), bool(r)),
        4 => array(r),
        5 => {
            let (types, values): (Vec<_>, Vec<_>) = (0..2 + r.number_below(4)).map(|_| drawn(r, depth - 1)).unzip();
            (format!("({})", types.join(", ")), format!("({})", values.join(", ")))
        }
        6 => {
            let of = |(i, (t, v)): (usize, (String, String))| {
                let name = ["a", "weights", "a_name_of_some_length"][i % 3];
                (format!("{name}{i}: {t}"), format!("{name}{i}: {v}"))
            };
            let fields = (0..1 + r.number_below(4)).map(|_| drawn(r, depth - 1)).collect::<Vec<_>>();
            let (types, values): (Vec<_>, Vec<_>) = fields.into_iter().enumerate().map(of).unzip();
            (format!("{{{}}}", types.join(", ")), format!("{{{}}}", values.join(", ")))
        }
        7 => {
            // An array whose elements are all the same.
            let (ty, value) = drawn(r, depth - 1);
            let n = 1 + r.number_below(9);
            let values = vec![value; n];
            let comma = if n == 1 { "," } else { "" };
            // The extents of nested arrays come first.
            let ty = ty.strip_prefix('[').map_or_else(|| format!("[{n}]{ty}"), |rest| format!("[{n}, {rest}"));
            (ty, format!("[{}{comma}]", values.join(", ")))
        }
        _ => {
            let many = 1 + r.number_below(40);
            ("Tree".into(), (0..many).fold("Leaf".into(), |t, _| tree(r, &t)))
        }
    }
}

fn tree(r: &mut Random, t: &str) -> String {
    match r.number_below(6) {
        0 => format!("Node({t}, {}, Leaf)", f64(r)),
        1 => format!("More([[{}, {}], [{}, {}]], {t})", f64(r), f64(r), f64(r), f64(r)),
        2 => format!("Both({{x: {}, y: {t}}})", i64(r)),
        _ => format!("Node(Leaf, {}, {t})", f64(r)),
    }
}

fn array(r: &mut Random) -> (String, String) {
    let dims: Vec<usize> =
        (0..1 + r.number_below(3)).map(|_| [r.number_below(5), r.number_below(40)][r.number_below(2)]).collect();
    let kind = r.number_below(4);
    let mut element = |r: &mut Random| match kind {
        0 => f64(r),
        1 => f32(r),
        2 => i64(r),
        _ => bool(r),
    };
    fn nested(r: &mut Random, dims: &[usize], element: &mut dyn FnMut(&mut Random) -> String) -> String {
        let Some((n, inner)) = dims.split_first() else { return element(r) };
        let parts: Vec<String> = (0..*n).map(|_| nested(r, inner, element)).collect();
        format!("[{}{}]", parts.join(", "), if *n == 1 { "," } else { "" })
    }
    let text = nested(r, &dims, &mut element);
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    let name = ["f64", "f32", "i64", "bool"][kind];
    (format!("[{}]{name}", dims.join(", ")), text)
}

fn f64(r: &mut Random) -> String {
    let x = match r.number_below(5) {
        0 => f64::from_bits(r.number()),
        1 => [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, f64::MAX, 1e15, 1e16, 1e-4, 1e-5]
            [r.number_below(11)],
        2 => r.number_below(2_000_000) as f64 / 1000.0 - 1000.0,
        3 => r.number_below(100) as f64,
        _ => (r.number_below(1 << 52) as f64) * 10f64.powi(r.number_below(40) as i32 - 30),
    };
    named(x, format!("{x:?}"))
}

fn f32(r: &mut Random) -> String {
    let x = if r.once_in(2) { f32::from_bits(r.number() as u32) } else { r.number_below(1000) as f32 / 7.0 };
    named(f64::from(x), format!("{x:?}"))
}

fn named(x: f64, digits: String) -> String {
    if x.is_nan() { "nan".into() } else { digits }
}

fn i64(r: &mut Random) -> String {
    if r.once_in(4) { (r.number() as i64).to_string() } else { (r.number_below(2000) as i64 - 1000).to_string() }
}

fn bool(r: &mut Random) -> String {
    r.once_in(2).to_string()
}

fn value(ty: &str, text: &str) -> Value {
    let program = format!("{SUM}def main() -> {ty} =\n  {}\n", text.replace('\n', "\n  "));
    let mut session = Session::new();
    session.set_text(run::MAIN, &program);
    let wrong = session.diagnostics(run::MAIN);
    assert!(wrong.iter().all(|d| !d.is_error()), "{program}\n{wrong:?}");
    run::value_of_main(&session, run::MAIN).unwrap_or_else(|failed| panic!("{program}\n{failed}"))
}

#[test]
fn what_is_shown_reads_back() {
    for i in 0..random::case_count(300) {
        let mut r = Random::new(random::seed().wrapping_add(i));
        let (ty, text) = drawn(&mut r, 3);
        let first = value(&ty, &text);
        let width = 20 + r.number_below(100);
        let shown = Layout { digits: Digits::All, width, ..Layout::default() }.show(&first);
        assert!(value(&ty, &shown) == first, "program {i}: {ty}\n{text}\n{shown}");
    }
}
