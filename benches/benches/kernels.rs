//! Kernels as machine code beside the engine and beside plain loops of rustc, in one run on one thread: the ratio to each.
//! `cargo bench -p iverson-benches --bench kernels`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that cannot run fails")]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lang_core::base::GlobalName;
use lang_core::exec::{self, Programs, Tensor, World};
use lang_core::interp::Limits;
use lang_core::ir::core::{Callee, Derivation, Leaf};
use lang_core::ir::ssa::Ssa;
use lang_core::session::Session;

const PROGRAM: &str = "
def dot(x: [n]f64, y: [n]f64) -> f64 = sum i: x[i] * y[i]
def combined(x: [n]f64, y: [n]f64) -> [n]f64 = for i: 1.5 * x[i] + y[i]
def exps(x: [n]f64, y: [n]f64) -> [n]f64 = for i: exp(x[i]) * y[i]
def rows(a: [n, m]f64, x: [m]f64) -> [n]f64 = for i: sum j: a[i, j] * x[j]
def lse(x: [n]f64) -> f64 = let m = max i: x[i] in m + log(sum i: exp(x[i] - m))
";

struct Defs(Session);

impl World for Defs {
    fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        self.0.ssa(callee)
    }
    fn integer(&self, _: &GlobalName) -> Option<i64> {
        None
    }
    fn part(&self, _: &GlobalName, _: &Leaf, _: &[usize]) -> Option<Tensor> {
        None
    }
}

/// The fastest of some runs.
fn fastest(mut f: impl FnMut()) -> Duration {
    f();
    let begun = Instant::now();
    let mut best = Duration::MAX;
    let mut runs = 0;
    while runs < 5 || begun.elapsed() < Duration::from_millis(300) {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed());
        runs += 1;
    }
    best
}

fn numbers(count: usize, of: u32) -> Vec<f64> {
    (0..count).map(|k| f64::from(u32::try_from(k % 997).unwrap() * of % 991) / 991.0 - 0.5).collect()
}

/// A function by the engine and as machine code.
fn runs(defs: &Defs, callee: &Arc<Callee>, sizes: &[i64], given: &[Tensor]) -> (Duration, Duration) {
    let ssa = defs.ssa(callee).unwrap();
    let stop = AtomicBool::new(false);
    let run = |programs: &Programs| {
        let once = || exec::run(defs, programs, &ssa, sizes, given.to_vec(), Limits::default(), &stop).unwrap();
        fastest(|| drop(black_box(once())))
    };
    let jit: Arc<dyn exec::native::Backend> = Arc::new(lang_jit::Jit::new(1).unwrap());
    (run(&Programs::default()), run(&Programs::with(jit)))
}

fn main() {
    let mut session = Session::new();
    session.set_text("kernels.iv", PROGRAM);
    assert!(session.diagnostics("kernels.iv").is_empty());
    let defs = Defs(session);
    let callee = |name: &str| Arc::new(Callee::new(GlobalName::new("kernels.iv", name), Vec::new()));
    let adjoint = |name: &str| {
        let ssa = defs.ssa(&callee(name)).unwrap();
        let (of, wrt) = (lang_core::ad::real_outputs(&ssa).into(), lang_core::ad::real_inputs(&ssa).into());
        Arc::new(callee(name).derive(Derivation::Adjoint { of, wrt }))
    };
    println!("{:<28}{:>12}{:>12}{:>12}", "", "code, µs", "engine/code", "code/rustc");
    let line = |what: &str, (engine, code): (Duration, Duration), plain: Option<Duration>| {
        let of = |d: Duration| d.as_secs_f64() * 1e6;
        let peer = plain.map_or("-".to_owned(), |p| format!("{:.2}", of(code) / of(p)));
        println!("{what:<28}{:>12.1}{:>12.2}{peer:>12}", of(code), of(engine) / of(code));
    };
    for n in [1_000_usize, 100_000, 5_000_000] {
        let (x, y) = (numbers(n, 7), numbers(n, 13));
        let sizes = [i64::try_from(n).unwrap()];
        let tensor = |v: &[f64]| Tensor::new(vec![v.len()], v.to_vec()).unwrap();
        let both = [tensor(&x), tensor(&y)];
        let mut out = vec![0.0; n];
        let plain = fastest(|| {
            black_box(x.iter().zip(&y).map(|(a, b)| a * b).sum::<f64>());
        });
        line(&format!("dot {n}"), runs(&defs, &callee("dot"), &sizes, &both), Some(plain));
        let plain = fastest(|| {
            out.iter_mut().zip(&x).zip(&y).for_each(|((o, a), b)| *o = 1.5 * a + b);
            black_box(&out);
        });
        line(&format!("1.5 * x + y {n}"), runs(&defs, &callee("combined"), &sizes, &both), Some(plain));
        let plain = fastest(|| {
            out.iter_mut().zip(&x).zip(&y).for_each(|((o, a), b)| *o = a.exp() * b);
            black_box(&out);
        });
        line(&format!("exp(x) * y {n}"), runs(&defs, &callee("exps"), &sizes, &both), Some(plain));
        line(&format!("log-sum-exp {n}"), runs(&defs, &callee("lse"), &sizes, &both[..1]), None);
        let one = [both[0].clone(), Tensor::new(Vec::new(), vec![1.0]).unwrap()];
        line(&format!("its gradient {n}"), runs(&defs, &adjoint("lse"), &sizes, &one), None);
    }
    for n in [100_usize, 1000] {
        let (a, x) = (numbers(n * n, 7), numbers(n, 13));
        let sizes = [i64::try_from(n).unwrap(); 2];
        let given = [Tensor::new(vec![n, n], a.clone()).unwrap(), Tensor::new(vec![n], x.clone()).unwrap()];
        let mut out = vec![0.0; n];
        let plain = fastest(|| {
            out.iter_mut().zip(a.chunks(n)).for_each(|(o, row)| *o = row.iter().zip(&x).map(|(a, b)| a * b).sum());
            black_box(&out);
        });
        line(&format!("matrix and vector {n}"), runs(&defs, &callee("rows"), &sizes, &given), Some(plain));
    }
}
