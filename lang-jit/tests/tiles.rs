//! The functions of tiles against those of the interpreter, in every form that this processor can run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed expectation is a failed test")]

use lang_core::interp::scalar::f64s::{self, Function};
use lang_core::resolve::scalar_fn::ScalarFn;
use lang_jit::tiles::{Level, Tile};

/// How many numbers lie between two, which is 0 for two NaNs.
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

/// Arguments of all magnitudes and signs, those near the bounds of the functions, and what is no number.
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
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..200_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = state ^ (state >> 29);
        all.push(f64::from_bits(bits));
        // Of ordinary size.
        let unit = f64::from_bits((bits >> 12) | 0x3ff0_0000_0000_0000) - 1.5;
        all.extend([unit, unit * 40.0, unit * 1500.0, 1.0 + unit * 1e-3]);
    }
    all
}

fn reference(tile: Tile) -> fn(f64) -> f64 {
    let f = match tile {
        Tile::Exp => ScalarFn::Exp,
        Tile::Log => ScalarFn::Log,
        Tile::Sigmoid => ScalarFn::Sigmoid,
    };
    match f64s::function(f).unwrap() {
        Function::Unary(f) => f,
        Function::Binary(_) => panic!("of one argument"),
    }
}

#[test]
fn within_two_ulp_of_the_interpreter() {
    let of = arguments();
    let levels = [Level::Portable, Level::Avx2, Level::Avx512];
    for tile in Tile::ALL {
        let wanted: Vec<f64> = of.iter().map(|x| reference(tile)(*x)).collect();
        for level in levels {
            let mut found = vec![0.0; of.len()];
            tile.apply(level, &mut found, &of);
            let worst = (0..of.len()).max_by_key(|k| between(found[*k], wanted[*k])).unwrap();
            let ulp = between(found[worst], wanted[worst]);
            println!("{tile:?} {level:?}: {ulp} ulp at {:e}", of[worst]);
            assert!(ulp <= 2, "{tile:?} {level:?} of {:e} is {:e}, not {:e}", of[worst], found[worst], wanted[worst]);
        }
    }
}
