//! **Blocked row sums.** Nested loops that add compute several rows at once. Equal rows must have
//! bit-identical sums, at any position and for any number of rows. Thus the first of several
//! nearest rows is found.

#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iverson_tests::middle::engine_oracle::EngineDefinitions;
use iverson_tests::middle::forms::{FormProvider as _, SessionForms};
use iverson_tests::middle::synthetic_inputs::callee;
use iverson_tests::run::limits;
use lang_core::exec::{self, ExecutableCache, Tensor};
use lang_core::runtime::Value;
use lang_core::session::Session;
use lang_jit::Jit;

const PROGRAM: &str = "
def apart(x: [n, d]f64, c: [k, d]f64) -> [n, k]f64 = for i, j: sum l: (x[i, l] - c[j, l])^2
def along(x: [n, d]f64, c: [k, d]f64) -> [n, k]f64 = for i, j: sum l: x[i, l] * c[j, l]
def greatest(x: [n, d]f64, c: [k, d]f64) -> [n, k]f64 = for i, j: max l: x[i, l] - c[j, l]
def nearest(x: [n, d]f64, c: [k, d]f64) -> [n]i64 = for i: argmin j: sum l: (x[i, l] - c[j, l])^2
def short(x: [n, d]f32, c: [k, d]f32) -> [n, k]f32 = for i, j: sum l: (x[i, l] - c[j, l])^2
def short_nearest(x: [n, d]f32, c: [k, d]f32) -> [n]i64 = for i: argmin j: sum l: (x[i, l] - c[j, l])^2
";

/// Numbers of rows and their lengths, around the block size.
const ROWS: [usize; 9] = [1, 2, 3, 4, 5, 7, 8, 9, 21];
const LENGTHS: [usize; 10] = [1, 2, 3, 4, 5, 7, 8, 9, 17, 40];
const POINTS: usize = 3;

fn number(k: usize) -> f64 {
    (f64::from(u32::try_from(k).expect("a small number")) * 1.7 + 0.3).sin() * 1.3
}

#[test]
fn equal_rows_have_equal_sums() {
    let mut session = Session::new();
    session.set_text("rows.iv", PROGRAM);
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let programs = ExecutableCache::with_backend(Arc::new(Jit::new(1).expect("a processor")));
    let by_statements = ExecutableCache::default();
    let (mut wrong, mut others) = (Vec::new(), 0);
    for name in ["apart", "along", "greatest", "nearest", "short", "short_nearest"] {
        let ssa = defs.ssa(&callee("rows.iv", name)).expect("it is in core");
        for (k, d) in ROWS.iter().flat_map(|k| LENGTHS.map(|d| (*k, d))) {
            let points: Vec<f64> = (0..POINTS * d).map(number).collect();
            let rows: Vec<f64> = (0..k).flat_map(|_| (0..d).map(|l| number(l + 1000))).collect();
            let tensor = |rows: usize, items: &[f64]| {
                #[expect(clippy::cast_possible_truncation, reason = "any short real will do")]
                let short = || items.iter().map(|x| *x as f32).collect::<Vec<f32>>();
                let dims = vec![rows, d];
                if name.starts_with("short") { Tensor::new(dims, short()) } else { Tensor::new(dims, items.to_vec()) }
            };
            let tensors = [tensor(POINTS, &points), tensor(k, &rows)].map(|t| t.expect("a tensor"));
            let sizes: Vec<i64> = ssa
                .sizes
                .iter()
                .map(|l| match &*ssa.vars.name(*l) {
                    "n" => POINTS,
                    "k" => k,
                    _ => d,
                })
                .map(|n| i64::try_from(n).expect("a size"))
                .collect();
            let interrupt = AtomicBool::new(false);
            let run = |programs: &ExecutableCache| {
                let found = exec::run(
                    &EngineDefinitions(&defs),
                    programs,
                    &ssa,
                    &sizes,
                    tensors.to_vec(),
                    limits(),
                    &interrupt,
                )
                .expect("a value");
                let one = found.first().expect("a result");
                (0..one.count()).map(|at| one.element(at).expect("an element")).collect::<Vec<Value>>()
            };
            let (found, wanted) = (run(&programs), run(&by_statements));
            let equal = match name {
                "nearest" | "short_nearest" => found.iter().all(|at| matches!(at, Value::I64(0))),
                _ => found.chunks(k).all(|row| row.iter().all(|x| bits(x) == bits(&row[0]))),
            };
            assert!(!wanted.is_empty() && found.len() == wanted.len(), "{name} of {k} rows of {d}");
            let near = found.iter().zip(&wanted).all(|(found, wanted)| {
                let scale = if name.starts_with("short") { f64::from(f32::EPSILON) } else { f64::EPSILON };
                (real(found) - real(wanted)).abs() <= scale * 200.0
            });
            others += found.iter().zip(&wanted).filter(|(a, b)| bits(a) != bits(b)).count();
            if !equal || !near {
                wrong.push(format!("{name} of {k} rows of {d}: {found:?}, not {wanted:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The engine adds statement by statement in index order; vector code adds in another order.
    println!("{others} sums in another order");
    assert!(others > 200, "{others} are too few");
}

fn real(x: &Value) -> f64 {
    match x {
        Value::F64(x) => *x,
        Value::F32(x) => (*x).into(),
        Value::I64(0) => 0.0,
        _ => f64::NAN,
    }
}

fn bits(x: &Value) -> u64 {
    real(x).to_bits()
}
