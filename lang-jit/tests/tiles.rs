//! Tests of the tile functions against the interpreter's, at every level that this processor has.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed expectation is a failed test")]

use lang_core::runtime::scalar::f64s;
use lang_jit::tiles::{ProcessorLevel, TileFunction};

/// Returns the distance in ulp between two numbers; 0 for two NaNs.
fn between(a: f64, b: f64) -> u64 {
    if a.is_nan() && b.is_nan() {
        return 0;
    }
    let place = |x: f64| {
        let bits = x.to_bits().cast_signed();
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    };
    place(a).abs_diff(place(b))
}

/// Returns arguments of all magnitudes and signs, those near the bounds of the functions, and NaN.
fn arguments() -> Vec<f64> {
    let mut all = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::from_bits(1),
        -f64::from_bits(1),
        f64::EPSILON,
        709.0,
        709.782_712_893_384,
        709.782_712_893_385,
        -708.3964185322641,
        -744.4400719213812,
        -745.1332191019411,
        -745.1332191019412,
        -746.0,
        1e300,
        -1e300,
        36.7,
        -36.7,
        37.5,
        std::f64::consts::SQRT_2,
        std::f64::consts::FRAC_1_SQRT_2,
        std::f64::consts::LN_2,
        1e6,
        -1e6,
        1_000_001.0,
    ];
    // Near multiples of π / 2, the reduction of an angle cancels most of its bits. The convergents
    // of π yield the closest multiples.
    for q in (0..2_000).chain([355, 710, 3_550, 52_174, 103_993, 312_689, 636_619]) {
        let near = f64::from(q) * std::f64::consts::FRAC_PI_2;
        all.extend([near, -near, near.next_up(), near.next_down()]);
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..200_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = state ^ (state >> 29);
        all.push(f64::from_bits(bits));
        // Arguments of ordinary magnitude.
        let unit = f64::from_bits((bits >> 12) | 0x3ff0_0000_0000_0000) - 1.5;
        all.extend([unit, unit * 40.0, unit * 1500.0, 1.0 + unit * 1e-3, unit * 1e-3, unit * 2e6]);
    }
    all
}

/// Returns the maximal distance to the interpreter's results, and its argument. The signs of zeros
/// count.
fn worst<T: Copy + Into<f64>>(of: &[T], found: &[T], wanted: &[T], between: impl Fn(T, T) -> u64) -> (u64, f64) {
    let mut worst = (0, f64::NAN);
    for ((x, found), wanted) in of.iter().zip(found).zip(wanted) {
        let (a, b): (f64, f64) = ((*found).into(), (*wanted).into());
        let signs = a == 0.0 && b == 0.0 && a.is_sign_negative() != b.is_sign_negative();
        let ulp = if signs { u64::MAX } else { between(*found, *wanted) };
        if ulp > worst.0 {
            worst = (ulp, (*x).into());
        }
    }
    worst
}

const LEVELS: [ProcessorLevel; 3] = [ProcessorLevel::Portable, ProcessorLevel::Avx2, ProcessorLevel::Avx512];

/// Returns the arguments in two orders. In the random order most tiles contain an argument that
/// sends the whole tile to the longer algorithm; sorted by magnitude, few do.
fn orders() -> [Vec<f64>; 2] {
    let mixed = arguments();
    let mut sorted = mixed.clone();
    sorted.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    [mixed, sorted]
}

#[test]
fn within_two_ulp_of_the_interpreter() {
    for of in orders() {
        for tile in TileFunction::ALL {
            let f64s::ScalarFunction::Unary(f) = f64s::function(tile.scalar()).unwrap() else {
                panic!("of one argument")
            };
            let wanted: Vec<f64> = of.iter().map(|x| f(*x)).collect();
            for level in LEVELS {
                let mut found = vec![0.0; of.len()];
                tile.apply(level, &mut found, &of);
                let (ulp, at) = worst(&of, &found, &wanted, between);
                println!("{tile:?} {level:?}: {ulp} ulp at {at:e}");
                assert!(ulp <= 2, "{tile:?} {level:?} is {ulp} ulp off at {at:e}");
            }
        }
    }
}

/// The results for `f32` are those for `f64`, rounded.
#[test]
#[expect(clippy::cast_possible_truncation, reason = "the nearest number of 32 bits is meant")]
fn short_ones_are_rounded_once() {
    for of in orders() {
        let of: Vec<f32> = of.iter().map(|x| *x as f32).collect();
        for tile in TileFunction::ALL {
            let f64s::ScalarFunction::Unary(f) = f64s::function(tile.scalar()).unwrap() else {
                panic!("of one argument")
            };
            let wanted: Vec<f32> = of.iter().map(|x| f((*x).into()) as f32).collect();
            let between = |a: f32, b: f32| {
                let place = |x: f32| {
                    let bits = x.to_bits().cast_signed();
                    if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits }
                };
                if a.is_nan() && b.is_nan() { 0 } else { place(a).abs_diff(place(b)).into() }
            };
            for level in LEVELS {
                let mut found = vec![0.0; of.len()];
                tile.apply(level, &mut found, &of);
                let (ulp, at) = worst(&of, &found, &wanted, between);
                println!("{tile:?} {level:?}, short: {ulp} ulp at {at:e}");
                assert!(ulp <= 1, "{tile:?} {level:?} of 32 bits is {ulp} ulp off at {at:e}");
            }
        }
    }
}
