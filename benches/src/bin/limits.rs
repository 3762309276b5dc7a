//! **Reference times** for the kernels of `benches/kernels`, on one thread: plain loops compiled by
//! rustc into preallocated memory, and matrix products by `gemm`. `limits ROW SIZE…` prints the
//! median of its runs in nanoseconds.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is what it is for")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The same allocator as Iverson's.
#[global_allocator]
static GLOBAL_ALLOCATOR: lang_jit::LargePages = lang_jit::LargePages;

fn median_nanoseconds<T>(mut f: impl FnMut() -> T) -> u128 {
    black_box(f());
    let begun = Instant::now();
    let mut all = Vec::new();
    while all.len() < 7 || begun.elapsed() < Duration::from_millis(400) {
        let start = Instant::now();
        black_box(f());
        all.push(start.elapsed().as_nanos());
    }
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

fn sample_values(count: usize) -> Vec<f64> {
    (0..count).map(|k| f64::from(u32::try_from(k % 997).unwrap_or(0)) / 997.0 - 0.5).collect()
}

fn time_vector_kernel(row: &str, n: usize) -> Option<u128> {
    let (x, y) = (sample_values(n + 2), sample_values(n));
    let mut out = vec![0.0_f64; n];
    Some(match row {
        "scaled" => median_nanoseconds(|| {
            out.iter_mut().zip(&x).for_each(|(o, a)| *o = 2.5 * a);
            black_box(&mut out);
        }),
        "combined" => median_nanoseconds(|| {
            out.iter_mut().zip(&x).zip(&y).for_each(|((o, a), b)| *o = 1.5 * a + b);
            black_box(&mut out);
        }),
        "dot" => median_nanoseconds(|| eight_lane_sum(&x, &y, |sum, a, b| sum + a * b)),
        "total" => median_nanoseconds(|| eight_lane_sum(&y, &y, |sum, a, _| sum + a)),
        "greatest" => median_nanoseconds(|| eight_lane_sum(&y, &y, |sum: f64, a, _| sum.max(a))),
        "stencil" => median_nanoseconds(|| {
            let behind = x.iter().zip(x.iter().skip(1)).zip(x.iter().skip(2));
            out.iter_mut().zip(behind).for_each(|(o, ((a, b), c))| *o = 0.25 * a + 0.5 * b + 0.25 * c);
            black_box(&mut out);
        }),
        "exponentials" => median_nanoseconds(|| {
            out.iter_mut().zip(&x).for_each(|(o, a)| *o = a.exp());
            black_box(&mut out);
        }),
        "gaussians" => median_nanoseconds(|| {
            out.iter_mut().zip(&x).zip(&y).for_each(|((o, a), b)| *o = (-a * a).exp() * b);
            black_box(&mut out);
        }),
        "sigmoids" => median_nanoseconds(|| {
            out.iter_mut().zip(&x).for_each(|(o, a)| *o = 1.0 / (1.0 + (-a).exp()));
            black_box(&mut out);
        }),
        "sines" => median_nanoseconds(|| {
            out.iter_mut().zip(&x).for_each(|(o, a)| *o = (8.0 * a).sin());
            black_box(&mut out);
        }),
        "tanhs" => median_nanoseconds(|| {
            out.iter_mut().zip(&x).for_each(|(o, a)| *o = (4.0 * a).tanh());
            black_box(&mut out);
        }),
        "log_sum_exp" => median_nanoseconds(|| {
            let top = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            top + y.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
        }),
        _ => return None,
    })
}

/// Accumulates eight independent sums, so that no addition waits for the previous one.
fn eight_lane_sum(x: &[f64], y: &[f64], f: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    for (a, b) in x.chunks_exact(8).zip(y.chunks_exact(8)) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum = f(*sum, *a, *b));
    }
    sums.iter().sum()
}

fn time_matrix_kernel(row: &str, n: usize, m: usize) -> Option<u128> {
    let (a, x, y) = (sample_values(n * m), sample_values(m), sample_values(n));
    let mut out = vec![0.0_f64; n.max(m)];
    Some(match row {
        "rows" => median_nanoseconds(|| {
            out.iter_mut()
                .zip(a.chunks_exact(m))
                .for_each(|(o, row)| *o = eight_lane_sum(row, row, |sum, a, _| sum + a));
            black_box(&mut out);
        }),
        "columns" => median_nanoseconds(|| {
            out.fill(0.0);
            a.chunks_exact(m).for_each(|row| out.iter_mut().zip(row).for_each(|(o, a)| *o += a));
            black_box(&mut out);
        }),
        "matrix_vector" => median_nanoseconds(|| {
            let dot = |row| eight_lane_sum(row, &x, |sum, a, b| sum + a * b);
            out.iter_mut().zip(a.chunks_exact(m)).for_each(|(o, row)| *o = dot(row));
            black_box(&mut out);
        }),
        "outer" => {
            let mut out = a;
            median_nanoseconds(|| {
                let rows = out.chunks_exact_mut(m).zip(&y);
                rows.for_each(|(row, a)| row.iter_mut().zip(&x).for_each(|(o, b)| *o = a * b));
                black_box(&mut out);
            })
        }
        "softmax" => {
            let mut out = a.clone();
            median_nanoseconds(|| {
                for (to, row) in out.chunks_exact_mut(m).zip(a.chunks_exact(m)) {
                    let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    to.iter_mut().zip(row).for_each(|(e, a)| *e = (a - top).exp());
                    let all: f64 = to.iter().sum();
                    to.iter_mut().for_each(|e| *e /= all);
                }
                black_box(&mut out);
            })
        }
        _ => return None,
    })
}

/// Multiplies `count` pairs of matrices with `gemm`. For `product_transposed` both operands are
/// transposed.
fn time_matrix_products(row: &str, count: usize, [n, m, k]: [usize; 3]) -> Option<u128> {
    let (a, b, mut out) = (sample_values(count * n * k), sample_values(count * k * m), vec![0.0_f64; count * n * m]);
    let step = |n: usize| isize::try_from(n).unwrap_or(0);
    let (lhs, rhs) = match row {
        "product" | "batched" => ((1, step(k)), (1, step(m))),
        "product_transposed" => ((step(n), 1), (step(k), 1)),
        _ => return None,
    };
    Some(median_nanoseconds(|| {
        let all = out.chunks_exact_mut(n * m).zip(a.chunks_exact(n * k)).zip(b.chunks_exact(k * m));
        for ((out, a), b) in all {
            #[allow(unsafe_code, reason = "it is given by addresses")]
            // SAFETY: the buffers have as many elements as the extents and strides reach.
            unsafe {
                let none = gemm_common::Parallelism::None;
                let (to, of, by) = (out.as_mut_ptr(), a.as_ptr(), b.as_ptr());
                // The kernel's result is column-major, so it computes the transposed product.
                gemm_f64::gemm::f64::get_gemm_fn()(
                    m,
                    n,
                    k,
                    to,
                    step(m),
                    1,
                    false,
                    by,
                    rhs.1,
                    rhs.0,
                    of,
                    lhs.1,
                    lhs.0,
                    0.0,
                    1.0,
                    false,
                    false,
                    false,
                    none,
                );
            }
        }
        black_box(&mut out);
    }))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes: Option<Vec<usize>> = arguments.iter().skip(1).map(|n| n.parse().ok()).collect();
    let found = match (arguments.first().map(String::as_str), sizes.as_deref()) {
        (Some(row), Some([n])) => time_vector_kernel(row, *n),
        (Some(row), Some([n, m])) => time_matrix_kernel(row, *n, *m),
        (Some(row), Some([n, m, k])) => time_matrix_products(row, 1, [*n, *m, *k]),
        (Some(row), Some([count, n, m, k])) => time_matrix_products(row, *count, [*n, *m, *k]),
        _ => None,
    };
    let Some(nanoseconds) = found else {
        eprintln!("usage: limits ROW SIZE...");
        return ExitCode::FAILURE;
    };
    println!("{nanoseconds}");
    ExitCode::SUCCESS
}
