//! **Iverson brackets** in random products, on data with infinities, NaN and zeros. The test
//! compares the interpreter with machine code on random programs.
//!
//! A false bracket makes its whole product zero, for short arrays and long ones. A factor outside
//! the bracket is still evaluated, so both evaluators fail where it fails. Machine code may omit
//! that failure if the value is unused.

#![allow(clippy::panic, clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::collections::BTreeMap;

use iverson_tests::golden::Tolerances;
use iverson_tests::random::{Random, case_count, first_case, seed};
use iverson_tests::run::{CompiledEvaluation, numbers, value_of_main, value_of_main_compiled};
use lang_core::session::Session;

/// The number of programs, unless `IVERSON_COUNT` sets it.
const DEFAULT_PROGRAMS: u64 = 150;

/// The number of expression forms that must occur in them.
const FORMS: usize = 11;

/// Extents below and above 32, the number of elements from which machine code computes arrays.
const EXTENTS: &[usize] = &[3, 9, 31, 33, 40, 67];

/// Elements of arguments, all in bounds.
const READS: &[&str] = &["x[i]", "y[i]", "x[(i + 1) % n]", "y[k[i]]", "x[n - 1 - i]"];

/// Predicates of indices, of data, and of both.
const PREDICATES: &[&str] =
    &["i % 2 == 0", "i < 3", "k[i] < i", "y[i] < 0.5", "x[i] > 0", "i != 1", "k[i] == i || i > 4"];

/// The generator of random programs.
struct BracketGenerator {
    random: Random,
    /// The number of occurrences of each form.
    drawn: BTreeMap<&'static str, usize>,
}

impl BracketGenerator {
    /// Counts an occurrence of a form.
    fn note(&mut self, form: &'static str) {
        *self.drawn.entry(form).or_default() += 1;
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        self.random.pick_or(of, "0")
    }

    /// Draws a product. A bracket may precede each factor except a divisor.
    fn product(&mut self, depth: usize) -> String {
        let mut text = self.factor(depth, true);
        for _ in 0..1 + self.random.number_below(3) {
            if self.random.number_below(4) == 0 {
                self.note("quotient");
                text = format!("{text} / {}", self.factor(depth, false));
            } else {
                text = format!("{text} * {}", self.factor(depth, true));
            }
        }
        text
    }

    /// Draws a factor, with a bracket before it if `may_be_masked`. `depth` limits nested products.
    fn factor(&mut self, depth: usize, may_be_masked: bool) -> String {
        if may_be_masked && self.random.number_below(3) == 0 {
            self.note("bracket");
            return format!("[{}] * {}", self.pick(PREDICATES), self.factor(depth, false));
        }
        let Some(depth) = depth.checked_sub(1) else {
            if self.random.number_below(12) == 0 {
                self.note("read that may fail");
                return "y[k[i] + e]".to_owned();
            }
            self.note("read");
            return self.pick(READS).to_owned();
        };
        match self.random.number_below(9) {
            0 => {
                self.note("literal");
                self.pick(&["0.0", "2.0", "inf", "0.25"]).to_owned()
            }
            1 => {
                self.note("function");
                let name = self.pick(&["exp", "abs", "tanh", "sqrt"]);
                format!("{name}({})", self.product(depth))
            }
            2 => {
                self.note("negation");
                format!("(-({}))", self.product(depth))
            }
            3 => {
                self.note("sum of two");
                format!("({} + {})", self.product(depth), self.product(depth))
            }
            4 => {
                self.note("sum");
                let p = self.pick(&["y[j] < 0.5", "j % 2 == 0", "j < i"]);
                format!("(sum j < n: {} * [{p}] * x[j])", self.pick(READS))
            }
            5 => {
                self.note("if");
                format!("(if {} then {} else {})", self.pick(PREDICATES), self.product(depth), self.product(depth))
            }
            6 => {
                self.note("product in parentheses");
                format!("({})", self.product(depth))
            }
            _ => self.pick(READS).to_owned(),
        }
    }

    /// Draws a program whose `main` applies sums of products to data with special values.
    fn program(&mut self) -> String {
        let n = self.random.pick_or(EXTENTS, 40);
        let terms: Vec<String> = (0..1 + self.random.number_below(2)).map(|_| self.product(2)).collect();
        format!(
            "def f(x: [n]f64, y: [n]f64, k: [n]i64, e: i64) -> [n]f64 = for i: {}\n\
             def main() =\n\
             \x20 let x = for i < {n}: if i % 7 == 1 then inf else if i % 7 == 4 then nan else 0.5 * f64(i % 3)\n\
             \x20 let y = for i < {n}: if i % 5 == 3 then -inf else if i % 11 == 2 then nan else f64(i % 4) - 1.0\n\
             \x20 let k = for i < {n}: (i * 7 + 2) % {n}\n\
             \x20 in f(x, y, k, {})\n",
            terms.join(" + "),
            self.random.number_below(2)
        )
    }
}

#[test]
fn a_false_bracket_makes_its_product_zero_on_every_path() {
    let mut generator = BracketGenerator { random: Random::new(0), drawn: BTreeMap::new() };
    let tolerances = Tolerances::of("machine code").expect("they can be read");
    let allowed = tolerances.get("whole programs");
    let (mut native, mut zeros, mut nans, mut failed, mut omitted) = (0, 0, 0, 0, 0);
    let all = case_count(DEFAULT_PROGRAMS);
    for n in first_case()..first_case() + all {
        generator.random = Random::new(seed().wrapping_add(n.wrapping_mul(0x9E37)));
        let program = generator.program();
        let mut session = Session::new();
        session.set_text("drawn.iv", &program);
        let errors: Vec<String> =
            session.diagnostics("drawn.iv").iter().filter(|d| d.is_error()).map(|d| d.message.clone()).collect();
        assert!(errors.is_empty(), "program {n}: {errors:?}\n{program}");
        let evaluation = CompiledEvaluation::native();
        let wanted = value_of_main(&session, "drawn.iv");
        let found = value_of_main_compiled(&session, "drawn.iv", &evaluation);
        native += evaluation.tally.get().evaluated;
        let (wanted, found) = match (wanted, found) {
            (Ok(wanted), Ok(found)) => (numbers(&wanted), numbers(&found)),
            (Err(wanted), Err(found)) => {
                assert!(wanted.contains("E0500") && wanted == found, "program {n}: {wanted}, not {found}\n{program}");
                failed += 1;
                continue;
            }
            (Err(wanted), Ok(_)) if wanted.contains("E0500") => {
                omitted += 1;
                continue;
            }
            (wanted, found) => panic!("program {n}: {wanted:?}, not {found:?}\n{program}"),
        };
        assert_eq!(wanted.len(), found.len(), "program {n}\n{program}");
        for (k, (a, b)) in wanted.iter().zip(&found).enumerate() {
            let error = allowed.absolute + allowed.relative * a.abs().max(b.abs());
            assert!(
                (a - b).abs() <= error || a == b || a.is_nan() && b.is_nan(),
                "program {n}, element {k}: {a}, not {b}\n{program}"
            );
        }
        zeros += wanted.iter().filter(|x| **x == 0.0).count();
        nans += wanted.iter().filter(|x| x.is_nan()).count();
    }
    println!(
        "{all} programs, {native} parts by machine code, {zeros} zeros, {nans} NaN, {failed} failed, {omitted} only in the interpreter\n{:#?}",
        generator.drawn
    );
    // A run of few programs need not reach every form.
    if all >= DEFAULT_PROGRAMS {
        assert_eq!(generator.drawn.len(), FORMS, "a form was never drawn: {:?}", generator.drawn);
        assert!(native > 0 && zeros > 0 && nans > 0 && omitted * 4 < failed);
    }
}
