//! **Compiled derivatives** in programs. A program shows the same output with generated derivatives
//! and with the interpreter's. Each test also states how many derivatives are evaluated each way.

#![expect(clippy::expect_used, clippy::string_slice, reason = "what helpers of a test cannot read fails the test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use iverson_tests::literate::{self, BlockKind};
use iverson_tests::observed_kernels::KernelObserver;
use iverson_tests::run::{CompiledEvaluation, MAIN, limits, run, run_compiled};
use lang_core::exec::offload::OffloadCounts;
use lang_core::session::Session;

/// The number of digits that are compared, because the last ones depend on the order of additions.
const DIGITS: usize = 9;

/// Returns the text with its reals rounded.
fn rounded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        out.push_str(before);
        let inside = |(k, c): (usize, char)| {
            let sign = matches!(c, '-' | '+') && number[..k].ends_with('e');
            c.is_ascii_digit() || c == '.' || c == 'e' || c == '_' || sign
        };
        let end = number.char_indices().find(|c| !inside(*c)).map_or(number.len(), |(k, _)| k);
        let (digits, after) = number.split_at(end);
        match digits.parse::<f64>() {
            // The sign of a zero sum is not compared.
            Ok(x) if digits.contains(['.', 'e']) && x.abs() < 1e-13 => {
                out.truncate(out.trim_end_matches('-').len());
                out.push('0');
            }
            Ok(x) if digits.contains(['.', 'e']) => out.push_str(&format!("{x:.*e}", DIGITS)),
            _ => out.push_str(digits),
        }
        rest = after;
    }
    let out = out + rest;
    // The width of a column depends on its numbers.
    out.split_whitespace().collect::<Vec<_>>().join(" ").replace("[ ", "[")
}

/// Returns the output of a program by the interpreter alone and with generated derivatives.
fn both(session: &mut Session, text: &str) -> Result<(String, String, CompiledEvaluation), String> {
    session.set_text(MAIN, text);
    let diagnostics = session.diagnostics(MAIN);
    if diagnostics.iter().any(lang_core::base::Diagnostic::is_error) {
        return Err(iverson_tests::render::diagnostics(MAIN, text, &diagnostics));
    }
    let ways = CompiledEvaluation::default();
    let generated = run_compiled(session, &ways);
    Ok((run(session, limits(), &AtomicBool::new(false)), generated, ways))
}

/// Checks that both outputs agree and that the derivatives are evaluated as expected.
#[track_caller]
fn check(text: &str, expected: OffloadCounts) -> String {
    let (plain, generated, ways) = both(&mut Session::new(), text).expect("a program without errors");
    assert_eq!(rounded(&generated), rounded(&plain), "{text}");
    // A function is generated once for each place, for all data, so this count is not compared.
    let tally = OffloadCounts { lowered: expected.lowered, ..ways.tally.get() };
    assert_eq!(tally, expected, "{:?}\n{generated}", ways.outside);
    generated
}

fn taken(taken: u64) -> OffloadCounts {
    OffloadCounts { evaluated: taken, ..OffloadCounts::default() }
}

#[test]
fn definitions_and_lambdas() {
    check(
        "
def f(x: [n]f64, k: f64) -> f64 = sum i: k * x[i]^3
do grad(f)([1.0, 2.0], 3.0)
do grad(f, wrt: x)([1.0, 2.0], 3.0)
do value_and_grad(f, wrt: k)([1.0, 2.0], 3.0)
do grad(\\x: sin(x) * x)(0.5)
do jvp(f)(([1.0, 2.0], 3.0), ([1.0, 0.0], 0.5))
do vjp2(\\x, y: (x * y, x / y))((2.0, 3.0), (1.0, 0.5))
do jacobian(\\(x: [3]f64): for i < 2: x[i] * x[i + 1])([1.0, 2.0, 3.0])
do hessian(\\(x: [2]f64): x[0]^2 * x[1])([1.0, 2.0])
do hvp(\\(x: [2]f64): x[0]^2 * x[1])([1.0, 2.0], [0.5, 1.0])
",
        taken(9),
    );
}

#[test]
fn what_is_captured_is_data() {
    let shown = check(
        "
let scale = 3.0
let table = [1.0, 4.0, 9.0]
def train(x: [3]f64, steps: i64, rate: f64) -> f64 =
  let half = rate / 2
  let step = \\w: w - half * grad(\\v: sum i: (v * x[i] - table[i])^2)(w)
  in fold w = 0.1 for _ < steps: step(w)
do train([1.0, 2.0, 3.0], 7, 0.01)
def at(x: [n]f64, k: i64) -> f64 = grad(\\y: y[k]^2 * scale)(x)[k]
do for k < 3: at([1.0, 2.0, 3.0], k)
",
        taken(10),
    );
    assert!(shown.contains("[6.0, 12.0, 18.0]"), "{shown}");
}

#[test]
fn functions_among_what_is_captured() {
    check(
        "
def compose(f: (f64) -> f64, g: (f64) -> f64) -> (f64) -> f64 = \\x: f(g(x))
def twice(f: (f64) -> f64) -> (f64) -> f64 = compose(f, f)
do grad(twice(\\x: x * x + 1))(1.5)
do grad(grad(twice(sin)))(0.5)
do grad(compose(grad(exp), \\x: 2 * x))(0.25)
let model = {scale: 2.0, act: \\(x: f64): tanh(x)}
def run(m: {scale: f64, act: (f64) -> f64}, x: f64) -> f64 = grad(\\y: m.scale * m.act(y))(x)
do run(model, 0.5)
let pair = (\\(x: f64): x^2, 3.0)
do grad(\\x: x * 2.0)(pair.1)
let square = \\(x: f64): x * x
let fourth = \\(x: f64): square(square(x)) * pair.1
do grad(\\x: fourth(x) + square(x))(2.0)
do grad(fourth)(2.0)
",
        taken(7),
    );
}

#[test]
fn a_parameter_of_a_library_function() {
    check(
        "
import optim
let a = [[2.0, 0.5], [0.5, 1.0]]
let b = [1.0, -1.0]
let loss = \\(x: [2]f64): (sum i, j: x[i] * a[i, j] * x[j]) / 2 - sum i: b[i] * x[i]
def descend(f: ([n]f64) -> f64, x: [n]f64, steps: i64) -> [n]f64 =
  fold y = x for _ < steps: y - 0.2 * grad(f)(y)
do descend(loss, [0.0, 0.0], 20)
do optim.gradient_descent(loss, [0.0, 0.0], 1e-3, 100).x
",
        taken(28),
    );
}

#[test]
fn records_sums_and_integers() {
    let shown = check(
        "
type Shape = Circle(f64) | Box(f64, f64) | Point
type Layer(n) = {w: [n]f64, b: f64, k: i64}
def area(s: Shape) -> f64 = match s { Circle(r): pi * r^2, Box(a, b): a * b, Point: 0.0 }
do grad(area)(Box(2.0, 3.0))
do grad(area)(Point)
do value_and_grad(area)(Circle(2.0))
def out(l: Layer(n), x: [n]f64) -> f64 = f64(l.k) * (sum i: l.w[i] * x[i]) + l.b
do grad(out)({w: [1.0, 2.0], b: 0.5, k: 3}, [4.0, 5.0])
do jvp2(\\(l: Layer(2)): {z: out(l, [1.0, 2.0]), a: l.b})({w: [1.0, 2.0], b: 0.5, k: 3}, {w: [1.0, 0.0], b: 1.0, k: ()})
do grad(\\(xs: [2](f64, f64)): sum i: xs[i].0 * xs[i].1)([(1.0, 2.0), (3.0, 4.0)])
do grad(\\(ss: [3]Shape): sum i: area(ss[i]))([Circle(1.0), Point, Box(1.0, 2.0)])
def kept(xs: [n]f64, k: i64, on: bool) -> f64 = if on then xs[k]^2 else 0.0
do grad(kept)([1.0, 2.0], 1, true)
do grad(\\(x: f32): x * x)(f32(1.5))
do grad(\\(x: [0]f64): sum i: x[i])([])
",
        taken(10),
    );
    assert!(shown.contains("{w: [12.0, 15.0], b: 1.0, k: ()}"), "{shown}");
}

#[test]
fn a_variable_in_an_expression() {
    check(
        "
def slopes(x: [n]f64, y: f64) -> [n]f64 = for i: deriv(x[i] * y^2 + sin(y), y)
do slopes([1.0, 2.0, 3.0], 0.5)
def inner(x: [n]f64, k: i64) -> [n]f64 = let z = 2 * x in deriv(sum i: z[i]^2 * x[k], z)
do inner([1.0, 2.0, 3.0], 1)
do let w = 3.0 in deriv(1.0, w)
",
        taken(5),
    );
}

#[test]
fn generic_definitions() {
    check(
        "
def power(x: a, k: i64) -> a where a: real = x^k
def along(f: (a) -> a, x: a) -> a where a: real = grad(f)(x)
do along(\\x: power(x, 3), 2.0)
do along(\\x: power(x, 3), f32(2.0))
def pick(f: ([n]b) -> f64, x: [n]b) -> f64 where b: real = f(x)
do grad(\\(y: f64): pick(\\x: y * (sum i: f64(x[i])), [f32(1.0), f32(2.0)]))(1.0)
do grad(\\(y: f64): let g = \\(x: [3]f64): y * sum i: x[i]^2 in pick(g, [1.0, 2.0, 3.0]))(1.0)
",
        taken(4),
    );
}

#[test]
fn sizes_are_no_part_of_the_form() {
    let text = "
def f(x: [n]f64, a: [n, m]f64) -> f64 = sum j: (sum i: x[i] * a[i, j])^2
do sum n < 12: (sum i: grad(\\(x: [n]f64): f(x, for i < n, j < n + 1: f64(i + j)))(for i < n: f64(i))[i])
";
    let (plain, generated, ways) = both(&mut Session::new(), text).expect("a program without errors");
    assert_eq!(generated, plain);
    assert_eq!(ways.tally.get(), OffloadCounts { lowered: 1, ..taken(66) });
}

/// A rematerialised element is that of the position that reads it, even if one loop reads it at two
/// positions.
#[test]
fn elements_that_loops_read_at_several_places() {
    check(
        "
def f(x: [n]f64, a: [n, m]f64, s: f64) -> [n]f64 = for i: s * (sum j, k: (x[j] + a[i, k]) * s * tanh(x[j]))
let a = for i < 3, j < 2: f64(i + 2 * j)
do vjp(f)(([1.0, 0.5, 0.25], a, 1.5), [1.0, 2.0, 3.0])
",
        taken(1),
    );
}

/// A parameter's extent may be the value of a later one.
#[test]
fn sizes_that_are_parameters() {
    check(
        "
def before(n: i64, x: [n + m]f64, y: [m]f64) -> f64 = (sum i < n: x[i]^2) * (sum j: y[j])
def after(x: [n + m]f64, y: [m]f64, n: i64) -> f64 = (sum i < n: x[i]^2) * (sum j: y[j])
do grad(before, wrt: (x, y))(2, [1.0, 2.0, 3.0], [4.0])
do grad(after, wrt: (x, y))([1.0, 2.0, 3.0], [4.0], 2)
do grad(\\x: after(x, [4.0, 5.0], 1))([1.0, 2.0, 3.0])
do before(2, [1.0, 2.0, 3.0], [4.0]) - after([1.0, 2.0, 3.0], [4.0], 2)
",
        taken(3),
    );
}

#[test]
fn failures_are_told_as_ever() {
    let failed = OffloadCounts { failed: 1, ..OffloadCounts::default() };
    let shown = check("def f(x: [n]f64, k: i64) -> f64 = x[k]^2\ndo grad(f)([1.0, 2.0], 2)\n", failed);
    assert!(shown.contains("E0500") && shown.contains("called at"), "{shown}");
    check("def f(x: f64) -> f64 = let _ = assert(x > 2, \"x is large\") in x^2\ndo grad(f)(1.0)\n", failed);
}

#[test]
fn what_is_outside_is_the_interpreters() {
    let text = "
def f(x: f64, n: i64) -> f64 = if n <= 0 then x else x * f(x, n - 1)
do grad(f)(2.0, 3)
do grad(\\x: f(x, 2))(2.0)
";
    let (plain, generated, ways) = both(&mut Session::new(), text).expect("a program without errors");
    assert_eq!(generated, plain);
    assert_eq!(ways.tally.get(), OffloadCounts { unsupported: 2, ..OffloadCounts::default() });
    assert!(ways.outside.borrow().iter().all(|why| why.reason.phrase() == "recursion"), "{:?}", ways.outside);
}

#[test]
fn integers_that_are_not_understood() {
    let text = "
def f(x: f64, k: i64) -> f64 = x * f64(k + 1) * [k < 10] * 1.0 + x * f64(k)
do grad(f)(2.0, 9223372036854775807)
do grad(f)(2.0, 5)
";
    check(text, OffloadCounts { evaluated: 1, over_limit: 1, ..OffloadCounts::default() });
}

/// The number of functions generated from the results of other functions is limited.
#[test]
fn functions_of_functions() {
    let text = "
def nested(f: (f64) -> f64, n: i64) -> f64 = if n <= 0 then grad(f)(1.0) else nested(\\x: f(x) * 0.5 + x, n - 1)
do nested(\\x: x^2, 3)
do nested(\\x: x^2, 100)
";
    let (plain, generated, ways) = both(&mut Session::new(), text).expect("a program without errors");
    assert_eq!(rounded(&generated), rounded(&plain));
    assert_eq!(
        ways.tally.get(),
        OffloadCounts { lowered: 1, evaluated: 1, unsupported: 1, ..OffloadCounts::default() },
        "{:?}",
        ways.outside
    );
}

/// A function value of an earlier text keeps its meaning.
#[test]
fn edits() {
    let mut session = Session::new();
    let text = |power: u32| format!("def f(x: f64) -> f64 = x^{power}\ndo grad(f)(2.0)\ndo grad(\\x: 3 * f(x))(2.0)\n");
    for power in [2, 3, 2] {
        let (plain, generated, ways) = both(&mut session, &text(power)).expect("a program without errors");
        assert_eq!(generated, plain);
        assert_eq!(ways.tally.get(), OffloadCounts { lowered: 2, ..taken(2) });
    }
}

/// The analysis before a loop or a value is offloaded must not take exponential time in the nesting
/// depth.
#[test]
fn what_nests_deep() {
    let nested = (0..28).fold("x[0]".to_owned(), |inner, k| format!("(fold s{k} = 1.0 for i{k} < 1: s{k} + {inner})"));
    let loops = format!("def f(x: [n]f64) -> f64 = {nested}\ndo f(for i < 100: 1.0)\n");
    let trees = "
type Tree = Leaf | Node(Tree, Tree)
def leaves(t: Tree, x: [n]f64) -> f64 = match t { Leaf: sum i: x[i], Node(l, r): x[0] }
do leaves(fold t = Leaf for _ < 60: Node(t, t), for i < 100: 1.0)
";
    let lists = "
type List = Nil | Cons(f64, List)
def step(t: List, x: [n]f64) -> f64 = match t { Nil: sum i: x[i], Cons(y, r): y + x[0] }
do (fold (t, s) = (Nil, 0.0) for k < 3000: (Cons(s, t), step(t, for i < 40: 1.0))).1
";
    let pairs = "
type Pair(a) = P(a, a)
def one(x: f64) = P(x, x)
def both(p: a) -> Pair(a) = P(p, p)
def eight(p: a) = both(both(both(both(both(both(both(both(p))))))))
def first(p: a, x: [n]f64) -> f64 = sum i: x[i]
do first(eight(eight(eight(one(1.0)))), for i < 100: 1.0)
";
    for text in [&loops, trees, lists, pairs] {
        let mut session = Session::new();
        let (plain, generated, _) = both(&mut session, text).expect("a program without errors");
        let by_code = run_compiled(&session, &CompiledEvaluation::native());
        assert_eq!([&rounded(&generated), &rounded(&by_code)], [&rounded(&plain); 2], "{text}");
    }
}

/// An observer that sends a message when the engine calls the code of a kernel.
#[derive(Debug)]
struct StartSignal(Sender<()>);

impl KernelObserver for StartSignal {
    fn begin(&self) {
        // The receiver waits for the first kernel alone.
        let _ = self.0.send(());
    }
}

/// A limit on the wait for machine code, which guards against a hang: without machine code the
/// interpreter would run for hours.
const PATIENCE: Duration = Duration::from_secs(300);

/// Loops that would run for hours stop soon after an interrupt: vectorised, strip-mined, scalar,
/// and nested. The interrupt follows the start of the machine code.
#[test]
fn machine_code_can_be_interrupted() {
    for body in [
        "sum i < 1000000000000: f64(i)",
        "sum i < 1000000000000: exp(-f64(i))",
        "sum i < 1000000000000: [i % 7 == 3] * f64(i)",
        "sum i < 1000000, j < 1000000: f64(i * j % 11)",
    ] {
        let mut session = Session::new();
        session.set_text(MAIN, &format!("def f() = {body}\ndo f()\n"));
        let (sender, started) = mpsc::channel();
        let ways = CompiledEvaluation { observer: Some(Arc::new(StartSignal(sender))), ..CompiledEvaluation::native() };
        let interrupt = AtomicBool::new(false);
        let shown = std::thread::scope(|scope| {
            let interrupt = &interrupt;
            scope.spawn(move || {
                // If no kernel starts, the counts below differ.
                if started.recv_timeout(PATIENCE).is_ok() {
                    // The loop begins meanwhile. An earlier interrupt stops it as well.
                    std::thread::sleep(Duration::from_millis(10));
                }
                interrupt.store(true, Ordering::Relaxed);
            });
            iverson_tests::run::run_compiled_until(&session, &ways, interrupt)
        });
        assert!(shown.contains("E0507"), "{body}: {shown}");
        // The interpreter did not run the loop.
        let tally = OffloadCounts { lowered: 1, ..OffloadCounts::default() };
        assert!(ways.outside.borrow().is_empty() && ways.tally.get() == tally, "{body}: {ways:?}");
    }
}

/// Runs every program of the book, the README and the test pages: with derivatives by the engine,
/// and with all eligible parts by machine code.
#[test]
fn programs_show_the_same_both_ways() {
    let (mut all, mut native, mut wrong, mut programs) =
        (OffloadCounts::default(), OffloadCounts::default(), Vec::new(), 0);
    let mut left = std::collections::BTreeMap::<&str, usize>::new();
    let folders = ["docs/book/src", "tests/literate"].map(|folder| literate::repository_root().join(folder));
    for page in folders.iter().flat_map(|folder| literate::markdown_files(folder)) {
        let text = std::fs::read_to_string(&page).expect("the page can be read");
        let blocks = literate::blocks(&text).expect("a page of blocks");
        let mut session = Session::new();
        for block in &blocks {
            if let BlockKind::Module(name) = &block.kind {
                session.set_text(name, &block.text);
            }
        }
        for block in blocks.iter().filter(|b| b.kind == BlockKind::Program) {
            let Ok((plain, generated, ways)) = both(&mut session, &block.text) else { continue };
            programs += 1;
            all = all.plus(ways.tally.get());
            let ways = CompiledEvaluation::native();
            let by_code = run_compiled(&session, &ways);
            native = native.plus(ways.tally.get());
            if ways.tally.get().defects > 0 {
                wrong.push(format!("{}:\n{}\nbroke", page.display(), block.text));
            }
            for why in ways.outside.into_inner() {
                *left.entry(why.reason.phrase()).or_default() += 1;
            }
            for other in [generated, by_code] {
                if rounded(&plain) != rounded(&other) {
                    wrong.push(format!("{}:\n{}\n{other}\nnot\n{plain}", page.display(), block.text));
                }
            }
        }
    }
    println!("{programs} programs: {all:?}; by machine code {native:?}; the interpreter's: {left:?}");
    assert!(wrong.is_empty(), "{} of {programs}:\n{}", wrong.len(), wrong.join("\n\n"));
    assert_eq!(all.defects + native.defects, 0);
    assert!(all.evaluated > 30 && native.evaluated > 100, "{all:?} {native:?}");
}
