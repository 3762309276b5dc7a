//! **Machine code** against the interpreter on drawn programs that are large enough to be compiled.
//! Compares values, tangents, cotangents and second derivatives. The programs contain nested loops
//! (also data-terminated ones), gathers at computed positions, short sums and products, and
//! existentials. They also contain sum types, calls with integers and truth values, and scatters.
//! Extents lie around those at which vectors and chunks begin.
//!
//! Programs that are compared statement by statement are small (`typed.rs`, `engine.rs`). This test
//! compares whole programs, from their text on.

#![allow(clippy::panic, clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::collections::BTreeMap;

use iverson_tests::golden::Tolerances;
use iverson_tests::random::{Random, case_count, first_case, seed};
use iverson_tests::run::{CompiledEvaluation, numbers, value_of_main, value_of_main_compiled};
use lang_core::runtime::Value;
use lang_core::session::Session;

/// The definitions at the start of every program.
const HEAD: &str = "\
type Kind = Number(f64) | Pair(f64, i64) | Neither
def aux(a: f64, t: i64, p: bool) -> f64 = if p then a * f64(t % 5) * 0.2 else [t % 3 != 1] * cos(a)
def after(t: i64, x: [n]f64) -> f64 = sum i < 7: [i >= t] * x[i % n]
def kind(t: i64, v: f64) -> Kind = if t % 3 == 0 then Number(v) else if t % 3 == 1 then Pair(v * 0.5, t) else Neither
";

/// Extents of arrays: none, those at which loops begin to be compiled, and those around vector
/// widths.
const EXTENTS: &[usize] = &[0, 1, 2, 3, 5, 8, 9, 12, 13, 33, 40, 67];

/// The number of programs, and the number of forms that must occur in them.
const USUAL: u64 = 300;
const FORMS: usize = 32;

/// Indices in scope, innermost last.
const INDICES: &[&str] = &["i", "j", "k1", "l", "m"];

struct MachineProgramGenerator {
    random: Random,
    /// The number of occurrences of each form.
    drawn: BTreeMap<&'static str, usize>,
}

impl MachineProgramGenerator {
    fn note(&mut self, form: &'static str) {
        *self.drawn.entry(form).or_default() += 1;
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        self.random.pick_or(of, "0")
    }

    /// Draws a real number.
    fn real(&mut self, depth: usize, indices: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else {
            return match self.random.number_below(6) {
                0 => format!("x[{} % n]", self.integer(1, indices)),
                1 => format!("y[{} % n]", self.integer(1, indices)),
                2 => format!("(f64({}) * 0.1)", self.integer(0, indices)),
                3 => format!("x[{} % n]", self.index(indices)),
                4 => "s".to_owned(),
                _ => self.one(&["0.5", "1.0", "(-0.25)"]).to_owned(),
            };
        };
        let e = |d: &mut Self| d.real(depth, indices);
        match self.random.number_below(26) {
            0..3 => {
                self.note("arithmetic");
                let op = self.one(&["+", "-", "*"]);
                format!("({} {op} {})", e(self), e(self))
            }
            3 => {
                self.note("if");
                format!("(if {} then {} else {})", self.truth(depth, indices), e(self), e(self))
            }
            4 => {
                self.note("bracket");
                format!("([{}] * {})", self.truth(depth, indices), e(self))
            }
            5 => {
                self.note("function");
                format!("{}(sin({}))", self.one(&["sin", "cos", "abs", "exp"]), e(self))
            }
            6 => {
                self.note("greater");
                let of = self.one(&["max", "min"]);
                format!("{of}({}, {})", e(self), e(self))
            }
            7 => {
                self.note("quotient");
                format!("({} / (1.5 + abs({})))", e(self), e(self))
            }
            8..11 => self.reduced(depth, indices),
            11 => {
                self.note("call");
                format!("aux({}, {}, {})", e(self), self.integer(depth, indices), self.truth(depth, indices))
            }
            12 => {
                self.note("fold");
                let (start, last) = (e(self), self.index(indices));
                let by = self.one(&["a", "1.0", "s"]);
                format!("(fold a = {start} for t < 3: a * 0.5 + x[({last} + t) % n] * {by})")
            }
            13 => {
                self.note("match");
                let (at, of) = (self.integer(depth, indices), e(self));
                format!(
                    "(match kind({at}, {of}) {{ Number(u): u * {}, Pair(u, w): u + f64(w % 3), Neither: s }})",
                    e(self)
                )
            }
            14 => {
                self.note("argmax");
                format!(
                    "(let p = argmax z in 0..5: x[(z * 3 + {}) % n] in x[p % n] * {})",
                    self.integer(depth, indices),
                    e(self)
                )
            }
            15 => {
                self.note("loop");
                format!("(loop (a, w) = ({}, 0) while w < 4 && abs(a) < 2.0: (a * 1.3 + 0.1, w + 1)).0", e(self))
            }
            16 => {
                self.note("elements written down");
                let at = self.integer(depth, indices);
                format!("(let r = [{}, {}, {}] in r[{at} % 3] * r[1])", e(self), e(self), e(self))
            }
            17 => {
                self.note("rows written down");
                let at = self.index(indices);
                format!("(let r = [[{}, s], [0.5, {}]] in sum q < 2: r[q, {at} % 2] * r[1, q])", e(self), e(self))
            }
            18 => {
                self.note("slice");
                let (at, by) = (self.integer(depth, indices), e(self));
                format!("(let v = x[n // 3..n] in v[{at} % (n - n // 3)] * {by})")
            }
            19 => {
                self.note("transposed");
                let (at, row) = (self.index(indices), self.integer(depth, indices));
                let sum = self.one(&["(sum h: w[h, AT % n] * v[h])", "w[ROW % 2, AT % n] + v[1]"]);
                let sum = sum.replace("AT", at).replace("ROW", &row);
                format!(
                    "(let w = transpose(for g < n, h < 2: y[g] * f64(h + 1) + s) let v = [0.5, {}] in {sum})",
                    e(self)
                )
            }
            20 => {
                self.note("Jacobian");
                format!(
                    "(let q = jacobian(\\(v: [2]f64): [v[0] * v[1], sin(v[0]) * {}])([{}, 0.3]) in q[0, 1] + q[1, 0] * q[0, 0])",
                    e(self),
                    e(self)
                )
            }
            21 => {
                self.note("loop by data");
                let by = format!("abs(x[{} % n])", self.index(indices));
                format!("(loop a = 0.1 + abs({}) while a < 50.0: a * 2.0 + {by})", e(self))
            }
            22 => {
                self.note("loop with a row");
                let (one, two, at) = (e(self), e(self), self.index(indices));
                let next = format!("[r[0] * 1.5 + 0.3, r[1] * 0.5 + sin(r[0]) * x[{at} % n]]");
                format!("(let r = loop r = [abs({one}), {two}] while (sum q < 2: abs(r[q])) < 4.0: {next} in r[1])")
            }
            23 => {
                self.note("places carried");
                let (start, at) = (e(self), self.index(indices));
                format!(
                    "(fold (a, p) = ({start}, 0) for t < 5: (a * 0.5 + x[p] * s, max(0, min(n - 1, k[p] + {at})))).0"
                )
            }
            24 => {
                self.note("places until data end them");
                let (start, at) = (e(self), self.index(indices));
                let next = format!("(a * 1.5 + x[p] + 0.1, max(p + 1, min(n - 1, k[p] + {at})))");
                format!("(loop (a, p) = ({start}, 0) while p < n - 1 && abs(a) < 3.0: {next}).0")
            }
            _ => {
                self.note("integer under a bracket");
                format!("after([{}] * {}, x)", self.truth(depth, indices), self.index(indices))
            }
        }
    }

    /// Draws a reduction with few terms.
    fn reduced(&mut self, depth: usize, indices: usize) -> String {
        let Some(own) = INDICES.get(indices) else { return self.real(depth, indices) };
        let (last, outer) = (self.index(indices), self.index(1));
        let ranges = [
            ("short range", format!("{own} < 4")),
            ("steps", format!("{own} in 1..5 by 2")),
            ("range by an index", format!("{own} in ({last} % 3)..7")),
            ("filter", format!("{own} < 3 if ({own} + {last}) % 2 == 0")),
            ("range below 0", format!("{own} in -2..3 if 0 <= {outer} + {own} < n")),
            ("end by an index", format!("{own} < {outer} % 6")),
            ("long range", format!("{own} < n")),
        ];
        let (form, range) = ranges.get(self.random.number_below(ranges.len())).cloned().unwrap_or_default();
        self.note(form);
        let of = self.one(&["sum", "sum", "max", "min", "prod"]);
        let body = self.real(depth, indices + 1);
        format!("(let q = ({of} {range}: {body}) in if abs(q) < 100.0 then q else 0.25)")
    }

    fn index(&mut self, indices: usize) -> &'static str {
        INDICES.get(self.random.number_below(indices)).copied().unwrap_or("0")
    }

    /// Draws an integer.
    fn integer(&mut self, depth: usize, indices: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else {
            let last = self.index(indices);
            return match self.random.number_below(5) {
                0 | 1 => last.to_owned(),
                2 => format!("k[{last} % n]"),
                _ => self.one(&["3", "n", "2", "(-7)"]).to_owned(),
            };
        };
        let e = |d: &mut Self| d.integer(depth, indices);
        match self.random.number_below(7) {
            0 => format!("({} + {})", e(self), e(self)),
            1 => format!("({} - {})", e(self), e(self)),
            2 => format!("({} * {})", e(self), self.one(&["2", "(-3)", "5"])),
            3 => format!("({} // {})", e(self), self.one(&["3", "(-2)", "4"])),
            4 => format!("({} % {})", e(self), self.one(&["3", "(-4)", "5"])),
            5 => format!("(if {} then {} else {})", self.truth(depth, indices), e(self), e(self)),
            _ => format!("max({}, {})", e(self), e(self)),
        }
    }

    /// Draws a truth value.
    fn truth(&mut self, depth: usize, indices: usize) -> String {
        match self.random.number_below(7) {
            0 => format!("{} % 3 == {}", self.integer(depth, indices), self.random.number_below(3)),
            1 => format!("{} < {}", self.integer(depth, indices), self.integer(depth, indices)),
            2 => format!("x[{} % n] > {}", self.index(indices), self.one(&["0.3", "y[0]", "(-0.2)"])),
            3 if depth > 0 => format!("({} && {})", self.truth(depth - 1, indices), self.truth(depth - 1, indices)),
            4 if depth > 0 => format!("({} || !({}))", self.truth(depth - 1, indices), self.truth(depth - 1, indices)),
            5 if depth > 0 => {
                self.note("existential");
                let (of, range) = (self.one(&["any", "all"]), self.one(&["n", "4"]));
                let (at, least) = (self.integer(depth - 1, indices), self.real(depth - 1, indices));
                // The offset avoids ties, which rounding would break either way.
                format!("({of} z < {range}: x[(z + {at}) % n] > 0.0123 + {least})")
            }
            _ => format!("{} % 2 == 0", self.index(indices)),
        }
    }

    /// Draws a program.
    fn program(&mut self) -> String {
        let extent = EXTENTS.get(self.random.number_below(EXTENTS.len())).copied().unwrap_or(1);
        let depth = 2 + self.random.number_below(3);
        let body = self.real(depth, 1);
        let head = "def f(x: [n]f64, y: [n]f64, k: [n]i64, s: f64) -> [n]f64 =";
        let def = match self.random.number_below(4) {
            0 => format!("{head} for i: {body}"),
            1 => {
                self.note("update");
                format!("{head} fold x = x for i < n: x with [(i * 3 + k[i]) % n] = {body}")
            }
            2 => {
                self.note("sort");
                // The added term avoids ties, which rounding would sort either way.
                format!("{head} let z = for i: {body} + sqrt(f64(i) + 2.0) * 0.001 in sort(z)")
            }
            _ => {
                self.note("scatter");
                format!("{head} scatter_add(y, for i: (k[i] + i // 2) % n, for i: {body})")
            }
        };
        let at = format!("(x: [{extent}]f64), (y: [{extent}]f64), (s: f64)");
        format!(
            "{HEAD}{def}
def main() =
  let x = for i < {extent}: sin(f64(i * 37 % 101)) + 0.01 * f64(i % 7)
  let y = for i < {extent}: cos(f64(i * 13 % 29)) * 0.8
  let k = for i < {extent}: (i * 7919 + 13) % 11 - 5
  in (
    f(x, y, k, 0.7),
    jvp(\\{at}: f(x, y, k, s))((x, y, 0.7), (y, x, 0.3)),
    vjp(\\{at}: f(x, y, k, s))((x, y, 0.7), y),
    hvp(\\(s: f64): let z = f(x, y, k, s) in sum i: z[i]^2)(0.7, 1.0)
  )
"
        )
    }
}

/// Returns whether two lists have the same length and close numbers.
fn are_near(wanted: &[f64], found: &[f64], relative: f64, absolute: f64) -> bool {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= absolute + relative * a.abs();
    !wanted.is_empty() && wanted.len() == found.len() && wanted.iter().zip(found).all(near)
}

/// Returns the numbers of the parts of two values. Each part is the result of one computation.
fn parts(wanted: &Value, found: &Value) -> Vec<(usize, Vec<f64>, Vec<f64>)> {
    match (wanted, found) {
        (Value::Tuple(wanted), Value::Tuple(found)) if wanted.values().len() == found.values().len() => {
            let both = wanted.values().iter().zip(found.values()).enumerate();
            both.map(|(k, (wanted, found))| (k, numbers(wanted), numbers(found))).collect()
        }
        _ => vec![(0, numbers(wanted), numbers(found))],
    }
}

#[test]
fn machine_code_gives_what_the_interpreter_does() {
    let mut draw = MachineProgramGenerator { random: Random::new(0), drawn: BTreeMap::new() };
    let tolerances = Tolerances::of("machine code").expect("they can be read");
    let (allowed, cancelled) = (tolerances.get("whole programs"), tolerances.get("whole programs/cancelled"));
    let (mut values, mut failures, mut large, mut native, mut compared) = (0, 0, 0, 0_u64, 0);
    let all = case_count(USUAL);
    for n in first_case()..first_case() + all {
        draw.random = Random::new(seed().wrapping_add(n.wrapping_mul(0x9E37)));
        let program = draw.program();
        if all == 1 {
            println!("{program}");
        }
        let mut session = Session::new();
        session.set_text("drawn.iv", &program);
        let wrong: Vec<String> =
            session.diagnostics("drawn.iv").iter().filter(|d| d.is_error()).map(|d| d.message.clone()).collect();
        assert!(wrong.is_empty(), "program {n}: {wrong:?}\n{program}");
        let ways = CompiledEvaluation::native();
        let wanted = value_of_main(&session, "drawn.iv");
        let found = value_of_main_compiled(&session, "drawn.iv", &ways);
        native += ways.tally.get().evaluated;
        assert_eq!(ways.tally.get().defects, 0, "program {n} has parts that only the interpreter can run\n{program}");
        match (wanted, found) {
            (Ok(wanted), Ok(found)) => {
                for (part, wanted, found) in parts(&wanted, &found) {
                    compared += wanted.len();
                    assert_eq!(wanted.len(), found.len(), "program {n}, part {part}\n{program}");
                    let greatest =
                        wanted.iter().copied().filter(|x| x.is_finite()).fold(0.0, |a, b| f64::max(a, b.abs()));
                    for (k, (a, b)) in wanted.iter().zip(&found).enumerate() {
                        let error =
                            allowed.absolute + allowed.relative * a.abs().max(b.abs()) + cancelled.relative * greatest;
                        // The error of an infinity would be infinite.
                        let near = a.is_finite() && b.is_finite() && (a - b).abs() <= error;
                        assert!(
                            near || a == b || a.is_nan() && b.is_nan(),
                            "program {n}, part {part}, number {k}: {a}, not {b}\n{program}"
                        );
                    }
                }
                values += 1;
            }
            // The values that a derivative keeps for nested loops may exceed the test's limit.
            (Ok(_), Err(found)) if found.contains("E0508") => large += 1,
            (Err(wanted), Err(found)) => {
                assert_eq!(wanted, found, "program {n}\n{program}");
                failures += 1;
            }
            (wanted, found) => panic!("program {n}: {wanted:?}, not {found:?}\n{program}"),
        }
    }
    println!(
        "{values} programs with values, {failures} that fail, {large} too large, {native} parts by machine code\n{:#?}",
        draw.drawn
    );
    assert!(large <= 1 + all / 1000, "{large} programs of {all} are too large");
    // A run of few programs need not reach every form.
    if all >= USUAL {
        assert_eq!(draw.drawn.len(), FORMS, "a form was never drawn: {:?}", draw.drawn);
        assert!(native > values, "{native} parts by machine code of {values} programs");
        // The second derivative is one number, the other parts are arrays of about a dozen.
        assert!(
            values > all / 2 && compared / 10 > usize::try_from(all).unwrap_or(0),
            "{compared} numbers of {values} programs"
        );
    }
}

/// A conditional selects its operand unchanged, even a signed zero; the reciprocals reveal the
/// sign.
const SIGNED: &str = "
def two(x: [n]f64) -> [n]f64 = for i: 1.0 / (if x[i] < 0.5 then -0.0 else 0.0)
def three(x: [n]f64) -> [n]f64 = for i: 1.0 / (if x[i] < 0.1 then 0.0 else if x[i] < 0.6 then -(x[i] * 0.0) else 1.0)
def by_index(x: [n]f64) -> [n]f64 = for i: 1.0 / (if i % 2 == 0 then x[i] * -0.0 else 0.0 * x[i])
def by_match(x: [n]f64) -> [n]f64 = for i: 1.0 / (match i % 5 { 0: x[i] * -0.0, 1: 1.0, _: 2.0 })
def by_ranges(x: [n]f64) -> [n]f64 = for i: 1.0 / (if i < 3 then x[i] * -0.0 else if i < 9 then 1.0 + x[i] else 2.0 + x[i])
def of_all(x: [n]f64) -> f64 = 1.0 / (if (sum i: x[i]) > 0.2 then -0.0 else 0.0)
def main() = for n in 1..3: let x = for i < 20 * n + 1: f64(i % 3) / 2.0 in (two(x)[0..21], three(x)[0..21], by_index(x)[0..21], by_match(x)[0..21], by_ranges(x)[0..21], of_all(x))
";

/// Returns the numbers of `main` by the interpreter, those by generated derivatives and machine
/// code, and the number of parts that machine code evaluated.
fn by_both(program: &str) -> (Vec<f64>, Vec<f64>, u64) {
    let mut session = Session::new();
    session.set_text("both.iv", program);
    let ways = CompiledEvaluation::native();
    let wanted = value_of_main(&session, "both.iv").expect("the interpreter has a value");
    let found = value_of_main_compiled(&session, "both.iv", &ways).expect("machine code has one");
    assert_eq!(ways.tally.get().defects, 0, "parts that only the interpreter can run");
    assert!(ways.tally.get().evaluated > 0, "no part by machine code");
    (numbers(&wanted), numbers(&found), ways.tally.get().evaluated)
}

#[test]
fn a_choice_keeps_the_sign_of_a_zero() {
    let (wanted, found, native) = by_both(SIGNED);
    assert!(native > 0 && wanted.contains(&f64::NEG_INFINITY) && wanted.contains(&f64::INFINITY));
    assert_eq!(wanted, found);
}

/// The only varying value is one element of an array that is passed whole, at many points.
const PASSED: &str = r"
def f(x: [n]f64, s: f64) -> [n]f64 =
  for i:
    let of = \(v: [2]f64):
      let most = max j < 3: 0.3 * f64(j + i)
      in [v[0] * v[1], sin(v[0]) * ((if abs(most) < 1.0 then most else 0.25) * max(-0.7, x[i]))]
    in jacobian(of)([cos(s), 0.3])[1, 0]
def main() = let x = for i < 5: sin(f64(i)) in jvp(\(s: f64): f(x, s))(0.7, 1.0)
";

#[test]
fn a_tangent_of_one_element_reaches_all_calls() {
    let (wanted, found, _) = by_both(PASSED);
    assert!(wanted.iter().skip(1).all(|x| x.abs() > 1e-3), "{wanted:?}");
    assert!(are_near(&wanted, &found, 0.0, 1e-12), "{wanted:?}, not {found:?}");
}

/// A bracket that is always false, before a Jacobian whose values a loop reads.
const NEVER: &str = r"
def f(x: [n]f64, k: [n]i64) -> [n]f64 =
  scatter_add(x, k, for i: ([i < i] * jacobian(\(v: [2]f64): [v[0] * v[1], sin(v[0])])([x[i], 0.3])[0, 1]) * x[i])
def main() = let x = for i < 50: sin(f64(i)) in f(x, for i < 50: i)
";

#[test]
fn what_is_never_computed_has_its_type() {
    let (wanted, found, _) = by_both(NEVER);
    assert_eq!(found, wanted);
}

/// A loop with a function builds the elements of one array one by one, and reads it at computed
/// positions. Only some of the elements come from the function's result.
const PIECES: &str = r"
def f(y: [n]f64) -> f64 = fold s = 0.0 for i < n: s + (prod j < i: (let r = [2.0, exp(y[j]), 3.0] in r[(j + 1) % 3] * r[1]))
def main() = for n in 1..12: let y = for i < 12: cos(f64(i * 13 % 29)) * 0.8 in grad(f)(y[0..n])[0]
";

#[test]
fn parts_of_an_array_are_there_before_they_are_read() {
    let (wanted, found, native) = by_both(PIECES);
    assert!(native > 0, "{native} parts by machine code");
    assert!(are_near(&wanted, &found, 1e-12, 0.0), "{wanted:?}, not {found:?}");
}

/// The test whether a sum has a term must consider all terms, not the unrolled values of a short
/// axis.
const ANY: &str = r"
def aux(a: f64, t: i64, p: bool) -> f64 = if p then a * f64(t % 5) * 0.2 else [t % 3 != 1] * cos(a)
def h(k: [n]i64, s: f64) -> [n]f64 =
  for i:
    let q = sum j in -2..3 if 0 <= i + j < n: (let q = s in if abs(q) < 100.0 then q else 0.25)
    let of = \(v: [2]f64): [v[0] * v[1], sin(v[0]) * (aux(s, k[i % n], i % 2 == 0) - 2)]
    let r = [[q, s], [0.5, jacobian(of)([aux(s, i, i % 2 == 0), 0.3])[0, 1]]]
    in sum p < 2: r[p, i % 2] * r[1, p]
def main() = let k = for i < 5: (i * 7919 + 13) % 11 - 5 in jvp(\(s): h(k, s))(0.7, 0.3)
";

#[test]
fn a_term_of_a_sum_is_looked_for_among_all() {
    let (wanted, found, _) = by_both(ANY);
    assert!(are_near(&wanted, &found, 0.0, 1e-12), "{wanted:?}, not {found:?}");
}

/// At each point, a range in the differentiated function has a length that depends on the point.
/// The longest range in a product is the same for all factors.
const LENGTHS: &str = r"
def f(x: [n]f64) -> [n]f64 =
  for i: jacobian(\(v: [2]f64): [v[0] * v[1], sin(v[0]) * (sum j < i % 6: x[j % n] + v[1])])([x[i], 0.3])[1, 0]
def g(y: [n]f64) -> f64 = prod j < 3: (sum k < n: (sum l < k % 3: y[l % n])) + 1.5
def h(y: [n]f64) -> f64 = if (any j < 2: (sum k < n: (sum l < k % 3: y[l % n])) > f64(j)) then 1.0 else 2.0
def main() = for n in 1..12: let x = for i < n: cos(f64(i * 13 % 29)) let y = f(x) in y[n - 1] + g(x) + h(x)
";

#[test]
fn a_range_is_as_long_as_each_point_says() {
    let (wanted, found, _) = by_both(LENGTHS);
    assert!(are_near(&wanted, &found, 0.0, 1e-12), "{wanted:?}, not {found:?}");
}
