//! **Log-gamma and polygamma functions**, computed in `f64`.
//!
//! - `lgamma` is libm's, except near its zeros below -2, where libm loses all digits. There the
//!   reflection formula is evaluated relative to the zero, which is stored as an unevaluated sum of
//!   two doubles.
//! - `digamma`: in [1, 2] a polynomial times the distance from the only positive zero, which is
//!   stored as a sum of two doubles. The recurrence extends it up to 10, and down to 0. Beyond 10
//!   the asymptotic series is used, and below 0 the reflection formula.
//! - `polygamma(n, x)` is `(-1)^(n+1) n! ζ(n+1, x)`. The Hurwitz zeta function is the sum of its
//!   first terms, up to `x + k >= n + 20`, and an Euler-Maclaurin remainder. Below 0 the sum over
//!   all integers is split in two. All of it is in double-double arithmetic, because a relative
//!   error of `x + k` is amplified `n + 1` times, and terms cancel below 0. So its values are exact
//!   to 0.6 units in the last place.
//! - Poles, as in SciPy: `digamma` is `-inf` at `0.0`, `inf` at `-0.0` and NaN at negative
//!   integers. For odd orders, `polygamma` is `inf` at all of them. For even orders it has the
//!   values of `digamma`. SciPy has `-inf` at all of these, but such poles have a different sign on
//!   each side. At `-inf` all functions are NaN. An order that is not an integer from 0 to 170 also
//!   gives NaN; 170 is the greatest with a finite factorial.

use super::scalar::convert;

/// The positive zero of `digamma`, and its rounding error in `f64`.
const DIGAMMA_ZERO: (f64, f64) = (1.461_632_144_968_362_3, 9.549_995_429_965_697e-17);

/// The coefficients of `digamma(1.5 + t) / (1.5 + t - DIGAMMA_ZERO)` in powers of t, for |t| <=
/// 1/2, interpolated at Chebyshev points.
const DIGAMMA_QUOTIENT: [f64; 22] = [
    0.951_055_876_031_833,
    -0.423_627_421_281_460_5,
    0.240_542_484_240_774_2,
    -0.148_404_923_053_908_84,
    0.094_988_724_454_941_22,
    -0.061_922_133_273_064_534,
    0.040_760_833_812_420_74,
    -0.026_975_796_756_138_25,
    0.017_907_252_439_451_2,
    -0.011_908_218_001_568_644,
    0.007_926_944_646_403_797,
    -0.005_279_964_873_257_405,
    0.003_519_006_401_502_276,
    -0.002_345_267_632_540_769,
    0.001_556_631_747_448_683_8,
    -0.001_037_637_409_841_860_4,
    0.000_723_326_627_928_755_4,
    -0.000_482_199_053_056_678_9,
    0.000_227_233_166_098_737_6,
    -0.000_151_485_868_367_733_65,
    0.000_259_684_821_264_307_47,
    -0.000_173_122_618_027_273_94,
];

/// The greatest order whose factorial is finite.
const MAX_ORDER: f64 = 170.0;

/// The Bernoulli numbers `BodyBuilder(2j)`, from j = 1 on.
const BERNOULLI: [f64; 10] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174_611.0 / 330.0,
];

/// The zeros of `lgamma` other than 1 and 2: the zero, its rounding error in `f64`, and
/// `cot(π zero)`. Further zeros lie closer to the integers below -17, and no `f64` is near them.
const NEGATIVE_ZEROS: [(f64, f64, f64); 31] = [
    (-2.457_024_738_220_800_6, -3.707_561_081_551_326_6e-17, -0.135_837_113_482_652_84),
    (-2.747_682_646_727_412_7, 9.055_340_329_338_315e-17, 0.985_544_622_333_597_3),
    (-3.143_580_888_349_98, -2.181_817_985_233_171_4e-16, -2.064_500_300_101_351),
    (-3.955_294_284_858_598, -1.999_428_391_746_348e-17, 7.073_238_795_225_894),
    (-4.039_361_839_740_537, 2.114_399_550_398_060_2e-16, -8.045_501_726_649_938),
    (-4.991_544_640_560_048, 1.517_441_176_057_172_2e-16, 37.637_077_112_937_53),
    (-5.008_218_168_322_593_5, -4.392_635_349_101_581_5e-17, -38.723_854_831_888_616),
    (-5.998_607_480_080_875, -3.311_862_478_893_795e-16, 228.584_059_141_002_94),
    (-6.001_385_294_453_155, 6.415_847_287_933_042e-17, -229.776_330_830_995_42),
    (-6.999_801_507_890_638, 1.055_013_003_740_002_3e-17, 1_603.639_791_766_876_7),
    (-7.000_198_333_407_325, 2.504_354_173_632_409e-16, -1_604.922_989_448_158_4),
    (-7.999_975_197_095_821, -5.261_737_128_572_354e-17, 12_833.573_166_998_984),
    (-8.000_024_800_270_682, -4.354_586_297_860_107e-16, -12_834.935_941_697_377),
    (-8.999_997_244_250_977, -2.218_562_050_972_713_2e-16, 115_507.574_736_757_19),
    (-9.000_002_755_714_823, -9.491_348_611_623_208e-17, -115_509.008_246_977_97),
    (-9.999_999_724_426_63, 4.883_037_618_642_443e-16, 1_155_082.166_396_969_5),
    (-10.000_000_275_573_013, -3.490_970_833_264_205_7e-16, -1_155_083.663_569_167_3),
    (-10.999_999_974_947_89, 1.984_399_830_698_540_7e-16, 12_705_911.287_297_71),
    (-11.000_000_025_052_106, -6.850_849_812_286_175e-16, -12_705_912.842_344_435),
    (-11.999_999_997_912_324, -1.002_069_392_010_303_6e-16, 152_470_943.973_804_44),
    (-12.000_000_002_087_676, 1.222_254_811_204_818_5e-16, -152_470_945.581_902_8),
    (-12.999_999_999_839_41, 6.747_262_033_096_337e-16, 1_982_122_281.283_562_7),
    (-13.000_000_000_160_59, -6.745_919_484_964_342e-16, -1_982_122_282.940_631_6),
    (-13.999_999_999_988_53, 8.094_860_741_926_607e-16, 27_749_711_948.718_09),
    (-14.000_000_000_011_47, -8.094_853_704_222_662e-16, -27_749_711_950.420_63),
    (-14.999_999_999_999_236, 8.829_322_414_768_68e-16, 416_245_679_242.667_9),
    (-15.000_000_000_000_764, -8.829_322_382_710_274e-16, -416_245_679_244.412_9),
    (-15.999_999_999_999_952, -1.668_613_399_265_054e-16, 6_659_930_867_895.754),
    (-16.000_000_000_000_046, -1.609_495_499_460_936_7e-15, -6_659_930_867_897.539),
    (-16.999_999_999_999_996, -7.412_564_244_549_576e-16, 113_218_824_754_242.08),
    (-17.000_000_000_000_004, 7.412_564_244_550_028e-16, -113_218_824_754_243.9),
];

/// Returns the logarithm of the absolute value of the gamma function.
pub(crate) fn lgamma(x: f64) -> f64 {
    let beside = |zero: &&(f64, f64, f64)| libm::floor(zero.0) == libm::floor(x) && (x - zero.0).abs() < 0.2;
    let nearer = |a: &&(f64, f64, f64), b: &&(f64, f64, f64)| (x - a.0).abs().total_cmp(&(x - b.0).abs());
    match NEGATIVE_ZEROS.iter().filter(beside).min_by(nearer) {
        Some(zero) => lgamma_near_zero(x, *zero),
        None => libm::lgamma(x),
    }
}

/// Evaluates `lgamma` near one of its zeros.
fn lgamma_near_zero(x: f64, (zero, rest, cotangent): (f64, f64, f64)) -> f64 {
    use std::f64::consts::PI;
    let d = (x - zero) - rest;
    let half = libm::sin(PI * d / 2.0);
    // sin(πx) / sin(π zero) - 1.
    let more = cotangent * libm::sin(PI * d) - 2.0 * half * half;
    let sines = match more.abs() < 0.5 {
        true => libm::log1p(more),
        false => libm::log(libm::sin(PI * (x - libm::rint(x))).abs() * libm::hypot(1.0, cotangent)),
    };
    // lgamma(1 - zero) - lgamma(1 - x), in odd powers of half the distance.
    let h = d / 2.0;
    let mut power = 2.0 * h;
    let mut difference = 0.0;
    for j in [0.0, 2.0, 4.0, 6.0, 8.0] {
        difference += power * polygamma(j, 1.0 - x + h);
        power *= h * h / ((j + 2.0) * (j + 3.0));
    }
    difference - sines
}

/// Returns the derivative of `lgamma`.
pub(crate) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return -1.0 / x;
    }
    if x.is_nan() || x == f64::NEG_INFINITY || (x < 0.0 && libm::rint(x) == x) {
        return f64::NAN;
    }
    match x {
        ..-0.25 => digamma_from_one(1.0 - x) - pi_cot_pi(x),
        ..0.0 => digamma_from_one(2.0 + x) - 1.0 / (1.0 + x) - 1.0 / x,
        ..1.0 => digamma_from_one(1.0 + x) - 1.0 / x,
        _ => digamma_from_one(x),
    }
}

/// Evaluates `digamma` for x >= 1.
fn digamma_from_one(mut x: f64) -> f64 {
    if x >= 10.0 {
        let mut power = 1.0;
        let mut series = 0.0;
        for (j, b) in (1_u8..).zip(BERNOULLI) {
            power /= x * x;
            series += b / f64::from(2 * j) * power;
        }
        return libm::log(x) - (0.5 / x + series);
    }
    let mut steps = 0.0;
    while x > 2.0 {
        x -= 1.0;
        steps += 1.0 / x;
    }
    let t = x - 1.5;
    let quotient = DIGAMMA_QUOTIENT.iter().rev().fold(0.0, |sum, c| sum * t + c);
    ((x - DIGAMMA_ZERO.0) - DIGAMMA_ZERO.1) * quotient + steps
}

/// Returns `π cot(πx)`.
fn pi_cot_pi(x: f64) -> f64 {
    use std::f64::consts::PI;
    let r = x - libm::rint(x);
    if r.abs() <= 0.25 { PI / libm::tan(PI * r) } else { libm::copysign(PI, r) * libm::tan(PI * (0.5 - r.abs())) }
}

/// Returns the derivative of `digamma` of this order.
pub(crate) fn polygamma(order: f64, x: f64) -> f64 {
    if order == 0.0 {
        return digamma(x);
    }
    if libm::rint(order) != order || !(0.0..=MAX_ORDER).contains(&order) || x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    let odd = libm::fmod(order, 2.0) != 0.0;
    let sign = if odd { 1.0 } else { -1.0 };
    if x > 0.0 {
        return sign * scaled_hurwitz_zeta(order, x.into()).high;
    }
    // This subtraction is exact.
    let r = x - libm::rint(x);
    if r == 0.0 {
        return if odd { f64::INFINITY } else { digamma(x) };
    }
    // The terms of all integers, minus those before x.
    let [below, above, before] = [-r, r, -x].map(|t| scaled_hurwitz_zeta(order, DoubleDouble::exact_sum(1.0, t)));
    let below = if odd { below.minus(before) } else { before.minus(below) };
    sign * zeta_term(order, r.into()).plus(above).plus(below).high
}

/// Returns `n! ζ(n + 1, x)` for positive x.
fn scaled_hurwitz_zeta(n: f64, x: DoubleDouble) -> DoubleDouble {
    let mut sum = DoubleDouble::from(0.0);
    if x.high == f64::INFINITY {
        return sum;
    }
    let mut w = x;
    while w.high < n + 20.0 {
        let next = zeta_term(n, w);
        sum = sum.plus(next);
        // The remainder is less than `1 + w / n` times the last term.
        if n >= 20.0 && next.high <= sum.high * 1e-22 {
            return sum;
        }
        w = w.plus(1.0.into());
    }
    let mut series = 0.5;
    let mut factor = (n + 1.0) / w.high / 2.0;
    for (j, b) in (1_u8..).zip(BERNOULLI) {
        series += b * factor;
        let m = f64::from(2 * j);
        factor *= (n + m) / w.high * ((n + m + 1.0) / w.high) / ((m + 1.0) * (m + 2.0));
    }
    // The integral of the terms from w on, `(n - 1)! / w^n`, and its correction.
    let correction = DoubleDouble::from(series).times(n.into()).over(w);
    sum.plus(zeta_term(n - 1.0, w).times(correction.plus(1.0.into())))
}

/// Returns `n! / w^(n + 1)`. No intermediate product overflows unless the result or `n!` does.
fn zeta_term(n: f64, w: DoubleDouble) -> DoubleDouble {
    let inverse = DoubleDouble::from(1.0).over(w);
    let (mut product, mut i) = (inverse, 1.0);
    while i <= n {
        product = product.times(inverse.times(i.into()));
        i += 1.0;
    }
    product
}

/// Returns `lgamma`, rounded to `f32`.
pub(crate) fn lgamma_single(x: f32) -> f32 {
    convert::f64_to_f32(lgamma(f64::from(x)))
}

/// Returns `digamma`, rounded to `f32`.
pub(crate) fn digamma_single(x: f32) -> f32 {
    convert::f64_to_f32(digamma(f64::from(x)))
}

/// Returns `polygamma`, rounded to `f32`.
pub(crate) fn polygamma_single(order: f32, x: f32) -> f32 {
    convert::f64_to_f32(polygamma(f64::from(order), f64::from(x)))
}

/// A double-double: the unevaluated sum of two doubles that do not overlap, with about 32 digits.
/// An infinite one has no second part.
#[derive(Clone, Copy)]
struct DoubleDouble {
    high: f64,
    low: f64,
}

impl From<f64> for DoubleDouble {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl DoubleDouble {
    /// Returns the exact sum of two doubles.
    fn exact_sum(a: f64, b: f64) -> Self {
        let high = a + b;
        if !high.is_finite() {
            return high.into();
        }
        let part = high - a;
        Self { high, low: (a - (high - part)) + (b - part) }
    }

    fn plus(self, other: Self) -> Self {
        let Self { high, low } = Self::exact_sum(self.high, other.high);
        Self::exact_sum(high, low + (self.low + other.low))
    }

    fn minus(self, other: Self) -> Self {
        self.plus(Self { high: -other.high, low: -other.low })
    }

    fn times(self, other: Self) -> Self {
        let high = self.high * other.high;
        if !high.is_finite() {
            return high.into();
        }
        let low = libm::fma(self.high, other.high, -high);
        Self::exact_sum(high, low + (self.high * other.low + self.low * other.high))
    }

    fn over(self, other: Self) -> Self {
        let high = self.high / other.high;
        if !high.is_finite() {
            return high.into();
        }
        let rest = libm::fma(-high, other.high, self.high) + (self.low - high * other.low);
        Self::exact_sum(high, rest / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::polygamma;

    /// Compares with values of mpmath 1.4.1 at 700 digits, rounded. The points are those at which
    /// terms cancel, or an error in the argument is amplified most.
    #[test]
    fn high_orders_keep_their_digits() {
        // Far out, single terms underflow, but their sum need not.
        assert_eq!(polygamma(1.0, 1e300), 1e-300);
        for (n, x, expected) in VALUES {
            let found = polygamma(n, x);
            let ulp = (expected.abs().next_up() - expected.abs()).max(f64::MIN_POSITIVE);
            assert!((found - expected).abs() <= ulp, "polygamma({n}, {x}) is {found}, not {expected}");
        }
        for (n, x) in [(171.0, 3.0), (1.5, 1.0), (-1.0, 1.0), (f64::INFINITY, 1.0), (f64::NAN, 1.0)] {
            assert!(polygamma(n, x).is_nan(), "polygamma({n}, {x})");
        }
        for n in [1.0, 2.0, 170.0] {
            assert_eq!(polygamma(n, f64::INFINITY), 0.0, "{n}");
        }
    }

    const VALUES: [(f64, f64, f64); 12] = [
        (2.0, -2.5, -0.108_204_051_641_727_4),
        (2.0, -0.499, -0.635_386_728_453_277_6),
        (3.0, -29.75, 1_558.545_384_330_817_8),
        (8.0, -12.501, -743_245.406_316_654_4),
        (15.0, 1e4, 8.724_369_235_405_735e-50),
        (20.0, 0.25, -1.070_001_618_891_921e31),
        (20.0, 840.5, -3.976_473_832_374_176_4e-42),
        (50.0, 656.25, -8.852_839_745_923_435e-79),
        (100.0, -7.375, 9.836_613_653_589_348e200),
        (100.0, 805.5, -2.455_464_303_431_114_4e-135),
        (170.0, 18.5, -1.494_410_567_247_474_8e90),
        (170.0, 737.25, -1.530_875_426_841_520_2e-183),
    ];
}
