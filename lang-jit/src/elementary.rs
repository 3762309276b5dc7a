//! **Elementary functions** of one argument: argument reduction followed by a polynomial. They have
//! no branches, so that the compiler vectorises loops over them. `FMA` is whether the processor has
//! a fused multiply-add. [`crate::tiles`] calls them.

/// `a * b + c`, rounded once if `FMA`.
#[inline(always)]
fn fused<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// The constant whose addition rounds a number to an integer, which is then in the low bits.
const ROUNDING_CONSTANT: f64 = 6_755_399_441_055_744.0;

/// The logarithm of 2, in two parts. The first has so few bits that its product with an exponent is
/// exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Returns 2 to the power of an integer to which [`ROUNDING_CONSTANT`] was added.
#[inline(always)]
fn power_of_two(rounded: f64) -> f64 {
    f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52)
}

/// The bound of arguments, of either sign, whose exponential is neither infinite, 0 nor subnormal.
pub(crate) const FAST_EXP_BOUND: f64 = 708.0;

/// Reduces x = k · log(2) + r with |r| at most half the logarithm of 2. Returns exp(r) - 1, and k
/// with [`ROUNDING_CONSTANT`] added. The polynomial has an error of 2^-55
/// (`tests/exp_coefficients.py`).
#[inline(always)]
fn reduced_exp<const FMA: bool>(x: f64) -> (f64, f64) {
    let rounded = fused::<FMA>(x, std::f64::consts::LOG2_E, ROUNDING_CONSTANT);
    let k = rounded - ROUNDING_CONSTANT;
    let r = fused::<FMA>(-k, LN2_HIGH, x);
    let r = fused::<FMA>(-k, LN2_LOW, r);
    // Estrin's scheme combines pairs of terms, then pairs of these. The processor has independent
    // work while a product is computed.
    let (r2, r4) = (r * r, (r * r) * (r * r));
    let pair = |high: f64, low: f64| fused::<FMA>(high, r, low);
    let four = |high: f64, low: f64| fused::<FMA>(high, r2, low);
    let low = four(
        pair(8.333_333_333_319_601e-3, 4.166_666_666_648_809e-2),
        pair(1.666_666_666_666_668e-1, 5.000_000_000_000_019e-1),
    );
    let middle = four(
        pair(2.755_724_091_828_004_7e-6, 2.480_148_548_193_976_3e-5),
        pair(1.984_126_989_004_739_2e-4, 1.388_888_895_231_513_7e-3),
    );
    let high = pair(2.511_003_771_657_357_8e-8, 2.763_263_978_288_121e-7);
    let p = fused::<FMA>(fused::<FMA>(high, r4, middle), r4, low);
    (fused::<FMA>(p, r2, r), rounded)
}

/// `exp(x)` for an ordinary result: adds k to the exponent.
#[inline(always)]
pub(crate) fn fast_exp<const FMA: bool>(x: f64) -> f64 {
    let (y, rounded) = reduced_exp::<FMA>(x);
    f64::from_bits((1.0 + y).to_bits().wrapping_add(rounded.to_bits() << 52))
}

/// `exp(x)` for any argument.
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: f64) -> f64 {
    // Beyond these bounds the result is 0 or infinite.
    let bounded = if x > 710.0 { 710.0 } else { x };
    let bounded = if bounded < -746.0 { -746.0 } else { bounded };
    let (y, rounded) = reduced_exp::<FMA>(bounded);
    // Two steps, because 2^k alone may overflow or underflow.
    let k = rounded - ROUNDING_CONSTANT;
    let half = k * 0.5 + ROUNDING_CONSTANT;
    let rest = (k - (half - ROUNDING_CONSTANT)) + ROUNDING_CONSTANT;
    let y = (1.0 + y) * power_of_two(half) * power_of_two(rest);
    if x.is_nan() { x } else { y }
}

/// `exp(x) - 1`, accurate near 0, if `exp(x)` is ordinary.
#[inline(always)]
pub(crate) fn fast_expm1<const FMA: bool>(x: f64) -> f64 {
    let (y, rounded) = reduced_exp::<FMA>(x);
    let power = power_of_two(rounded);
    fused::<FMA>(power, y, power - 1.0).copysign(x)
}

/// `exp(x) - 1` for any argument.
#[inline(always)]
pub(crate) fn expm1<const FMA: bool>(x: f64) -> f64 {
    let bounded = if x > FAST_EXP_BOUND { FAST_EXP_BOUND } else { x };
    let bounded = if bounded < -FAST_EXP_BOUND { -FAST_EXP_BOUND } else { bounded };
    let y = fast_expm1::<FMA>(bounded);
    if x > FAST_EXP_BOUND { exp::<FMA>(x) } else { y }
}

/// `tanh(x)`: near 0, x plus a rational function of x; elsewhere 1 - `2 / (exp(2 x) + 1)`. The
/// coefficients are those of Cephes' `tanh` (Moshier, 1995), with an error of 2^-57.
#[inline(always)]
pub(crate) fn tanh<const FMA: bool>(x: f64) -> f64 {
    let size = x.abs();
    // Beyond this bound the result is 1.
    let bounded = if size > 22.0 { 22.0 } else { size };
    let z = bounded * bounded;
    let p = fused::<FMA>(-9.643_991_794_250_523e-1, z, -9.928_772_310_019_185e1);
    let p = fused::<FMA>(p, z, -1.614_687_684_417_084_5e3);
    let q = fused::<FMA>(z + 1.128_116_784_916_329_3e2, z, 2.235_488_390_601_004_5e3);
    let q = fused::<FMA>(q, z, 4.844_063_053_251_255e3);
    let e = fast_exp::<FMA>(2.0 * bounded);
    let (first, above, below) = if size > 0.625 { (1.0, -2.0, e + 1.0) } else { (size, size * z * p, q) };
    (first + above / below).copysign(x)
}

/// Decomposes a number into 2^k · m with m between the roots of 1/2 and 2. Returns m and k.
#[inline(always)]
fn decompose(x: f64) -> (f64, f64) {
    const SCALE: f64 = 18_014_398_509_481_984.0;
    const ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    let small = x < f64::MIN_POSITIVE;
    let scaled = if small { x * SCALE } else { x };
    // The exponent that leaves the mantissa between the roots.
    let bits = scaled.to_bits();
    let over = bits.wrapping_sub(ROOT) & 0xfff0_0000_0000_0000;
    let m = f64::from_bits(bits.wrapping_sub(over));
    // Converts k to a real by its position in the bits of a large number; it is negative below 1.
    let biased = (over >> 52).wrapping_add(0x400) & 0xfff;
    let k = f64::from_bits(biased | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0 - 1024.0;
    (m, if small { k - 54.0 } else { k })
}

/// Returns the logarithm of 2^k · (1 + f) by s = f / (2 + f), and adds `more` before rounding. The
/// coefficients are those of fdlibm's `log` (Sun Microsystems, 1993).
#[inline(always)]
fn reduced_log<const FMA: bool>(f: f64, k: f64, more: Option<f64>) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let mut p = 1.479_819_860_511_658_6e-1;
    for c in [
        1.531_383_769_920_937_3e-1,
        1.818_357_216_161_805e-1,
        2.222_219_843_214_978_4e-1,
        2.857_142_874_366_239e-1,
        3.999_999_999_940_942e-1,
        6.666_666_666_666_735e-1,
    ] {
        p = fused::<FMA>(p, z, c);
    }
    let half = 0.5 * f * f;
    let low = fused::<FMA>(k, LN2_LOW, s * (half + p * z));
    let low = more.map_or(low, |more| low + more);
    fused::<FMA>(k, LN2_HIGH, f - (half - low))
}

/// `log(x)`
#[inline(always)]
pub(crate) fn log<const FMA: bool>(x: f64) -> f64 {
    let (m, k) = decompose(x);
    let y = reduced_log::<FMA>(m - 1.0, k, None);
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x < 0.0 || x.is_nan() { f64::NAN } else { y }
}

/// `log(1 + x)`, accurate near 0.
#[inline(always)]
pub(crate) fn log1p<const FMA: bool>(x: f64) -> f64 {
    let u = 1.0 + x;
    let (m, k) = decompose(u);
    // The rounding error of 1 + x, and its effect on the logarithm. If u is not scaled, x itself is
    // the reduced argument.
    let lost = if x > 1.0 { 1.0 - (u - x) } else { x - (u - 1.0) };
    let (f, lost) = if k == 0.0 { (x, 0.0) } else { (m - 1.0, lost / u) };
    let y = reduced_log::<FMA>(f, k, Some(lost));
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == -1.0 { f64::NEG_INFINITY } else { y };
    let y = if x < -1.0 || x.is_nan() { f64::NAN } else { y };
    y.copysign(x)
}

/// `1 / (1 + exp(-x))`, by the exponential of a non-positive number.
#[inline(always)]
pub(crate) fn sigmoid(x: f64, exp: impl Fn(f64) -> f64) -> f64 {
    let e = exp(-x.abs());
    let over = if x < 0.0 { e } else { 1.0 };
    over / (1.0 + e)
}

/// `log(1 + exp(x))`, by the exponential of a non-positive number.
#[inline(always)]
pub(crate) fn softplus<const FMA: bool>(x: f64, exp: impl Fn(f64) -> f64) -> f64 {
    let over = if x > 0.0 { x } else { 0.0 };
    over + log1p::<FMA>(exp(-x.abs()))
}

/// The bound of angles that are reduced here. The number of quarter turns has so few bits that its
/// products with the first parts of a quarter turn are exact.
pub(crate) const FAST_ANGLE_BOUND: f64 = 1e6;

/// π / 2 in four parts, all but the last of 33 bits (fdlibm's `rem_pio2`, Sun Microsystems, 1993).
const HALF_PI_PARTS: [f64; 4] =
    [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_711_166_5e-21, 8.478_427_660_368_9e-32];

/// Returns `a - b`, rounded, and the rounding error.
#[inline(always)]
fn exact_difference(a: f64, b: f64) -> (f64, f64) {
    let d = a - b;
    let taken = a - d;
    (d, (a - (d + taken)) + (taken - b))
}

/// Reduces x = q · π / 2 + r with |r| at most π / 4. Returns r, the rounding error of r, and q in
/// the low bits.
#[inline(always)]
fn reduce_angle<const FMA: bool>(x: f64) -> (f64, f64, u64) {
    let rounded = fused::<FMA>(x, std::f64::consts::FRAC_2_PI, ROUNDING_CONSTANT);
    let q = rounded - ROUNDING_CONSTANT;
    let [first, second, third, last] = HALF_PI_PARTS;
    let near = fused::<FMA>(-q, first, x);
    let (near, lost) = exact_difference(near, q * second);
    let (near, more) = exact_difference(near, q * third);
    let over = fused::<FMA>(q, last, -(lost + more));
    let r = near - over;
    (r, (near - r) - over, rounded.to_bits())
}

/// Returns the sine of q quarter turns plus r, with the rounding error of r. The coefficients are
/// those of fdlibm's `k_sin` and `k_cos`.
#[inline(always)]
fn sine_of_quarters<const FMA: bool>(r: f64, lacks: f64, q: u64) -> f64 {
    let z = r * r;
    let polynomial = |first: f64, others: &[f64]| others.iter().fold(first, |p, c| fused::<FMA>(p, z, *c));
    let p = polynomial(
        1.589_690_995_211_55e-10,
        &[-2.505_076_025_340_686_3e-8, 2.755_731_370_707_006_8e-6, -1.984_126_982_985_795e-4, 8.333_333_333_322_49e-3],
    );
    let cube = z * r;
    let sine = r - (fused::<FMA>(z, fused::<FMA>(-cube, p, 0.5 * lacks), -lacks) - cube * -1.666_666_666_666_663_2e-1);
    let p = polynomial(
        -1.135_964_755_778_819_5e-11,
        &[
            2.087_572_321_298_175e-9,
            -2.755_731_435_139_066_3e-7,
            2.480_158_728_947_673e-5,
            -1.388_888_888_887_411e-3,
            4.166_666_666_666_66e-2,
        ],
    );
    let half = 0.5 * z;
    let near = 1.0 - half;
    let cosine = near + (((1.0 - near) - half) + fused::<FMA>(z * z, p, -(r * lacks)));
    let y = if q & 1 == 0 { sine } else { cosine };
    f64::from_bits(y.to_bits() ^ ((q >> 1 & 1) << 63))
}

/// `sin(x)` for an ordinary angle.
#[inline(always)]
pub(crate) fn sin<const FMA: bool>(x: f64) -> f64 {
    let (r, lacks, q) = reduce_angle::<FMA>(x);
    sine_of_quarters::<FMA>(r, lacks, q)
}

/// `cos(x)` for an ordinary angle.
#[inline(always)]
pub(crate) fn cos<const FMA: bool>(x: f64) -> f64 {
    let (r, lacks, q) = reduce_angle::<FMA>(x);
    sine_of_quarters::<FMA>(r, lacks, q.wrapping_add(1))
}
