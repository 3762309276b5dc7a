//! Transcendental functions of many elements at once, compiled for what the processor has: AVX-512, AVX2 with FMA, or what
//! every processor has. The functions are polynomials behind a reduction of their argument, without branches, so that the
//! compiler makes vectors of them. They are within 2 ulp of the interpreter's, for all arguments (`tests/tiles.rs`).
#![allow(unsafe_code, reason = "code hands over tiles by their addresses, and functions are compiled for features")]

use std::sync::OnceLock;

use lang_core::resolve::scalar_fn::ScalarFn;

/// How many elements a tile has.
pub(crate) const TILE: usize = 256;

/// A function of a tile: what it gives, its argument, how many elements.
pub(crate) type Function = unsafe extern "C" fn(*mut f64, *const f64, usize);

/// The functions that tiles have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tile {
    /// `exp`
    Exp,
    /// `log`
    Log,
    /// `sigmoid`
    Sigmoid,
}

/// What the processor has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// What every processor has.
    Portable,
    /// Vectors of 256 bits, and multiplication with addition.
    Avx2,
    /// Vectors of 512 bits.
    Avx512,
}

impl Level {
    /// The best that this processor has.
    #[must_use]
    pub fn here() -> Self {
        static HERE: OnceLock<Level> = OnceLock::new();
        *HERE.get_or_init(|| {
            #[cfg(target_arch = "x86_64")]
            {
                let fma = is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx2");
                if fma && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                    return Self::Avx512;
                }
                if fma {
                    return Self::Avx2;
                }
            }
            Self::Portable
        })
    }
}

impl Tile {
    /// The functions that tiles have.
    pub const ALL: [Self; 3] = [Self::Exp, Self::Log, Self::Sigmoid];

    /// The tile function of a function of the language.
    #[must_use]
    pub fn of(f: ScalarFn) -> Option<Self> {
        Some(match f {
            ScalarFn::Exp => Self::Exp,
            ScalarFn::Log => Self::Log,
            ScalarFn::Sigmoid => Self::Sigmoid,
            _ => return None,
        })
    }

    /// What code calls.
    pub(crate) fn function(self) -> Function {
        match self {
            Self::Exp => exp,
            Self::Log => log,
            Self::Sigmoid => sigmoid,
        }
    }

    /// The function of as many elements as there are in both, compiled for a level that this processor has.
    pub fn apply(self, level: Level, to: &mut [f64], of: &[f64]) {
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is one that the processor has: `Level::here` is asked.
            Level::Avx512 if Level::here() == Level::Avx512 => unsafe { self.avx512(to, of) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the same; one with AVX-512 has AVX2.
            Level::Avx2 if Level::here() != Level::Portable => unsafe { self.avx2(to, of) },
            _ => self.each::<false>(to, of),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
    fn avx512(self, to: &mut [f64], of: &[f64]) {
        self.each::<true>(to, of);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn avx2(self, to: &mut [f64], of: &[f64]) {
        self.each::<true>(to, of);
    }

    #[inline(always)]
    fn each<const FMA: bool>(self, to: &mut [f64], of: &[f64]) {
        for (to, of) in to.chunks_mut(TILE).zip(of.chunks(TILE)) {
            // What is hardly ever asked for takes as long as the rest.
            let ordinary = self == Self::Log || of.iter().fold(true, |all, x| all & (x.abs() <= ORDINARY));
            let each = to.iter_mut().zip(of);
            match (self, ordinary) {
                (Self::Exp, true) => each.for_each(|(y, x)| *y = ordinary_exp::<FMA>(*x)),
                (Self::Exp, false) => each.for_each(|(y, x)| *y = exp_of::<FMA>(*x)),
                (Self::Log, _) => each.for_each(|(y, x)| *y = log_of::<FMA>(*x)),
                (Self::Sigmoid, true) => each.for_each(|(y, x)| *y = sigmoid_of(*x, ordinary_exp::<FMA>)),
                (Self::Sigmoid, false) => each.for_each(|(y, x)| *y = sigmoid_of(*x, exp_of::<FMA>)),
            }
        }
    }

    /// # Safety
    /// There are so many elements at both addresses, at most a tile.
    unsafe fn at(self, to: *mut f64, of: *const f64, count: usize) {
        if of.wrapping_add(count) > to && to.wrapping_add(count).cast_const() > of {
            let mut own = [0.0; TILE];
            let count = count.min(TILE);
            // SAFETY: by the contract above there are as many, and here is room for them.
            unsafe { std::ptr::copy_nonoverlapping(of, own.as_mut_ptr(), count) };
            // SAFETY: by the contract above; they are elsewhere now.
            return unsafe { self.at(to, own.as_ptr(), count) };
        }
        // SAFETY: by the contract above, and they do not overlap.
        let (to, of) = unsafe { (std::slice::from_raw_parts_mut(to, count), std::slice::from_raw_parts(of, count)) };
        self.apply(Level::here(), to, of);
    }
}

unsafe extern "C" fn exp(to: *mut f64, of: *const f64, count: usize) {
    // SAFETY: the code has room for a tile at both.
    unsafe { Tile::Exp.at(to, of, count) }
}

unsafe extern "C" fn log(to: *mut f64, of: *const f64, count: usize) {
    // SAFETY: the same.
    unsafe { Tile::Log.at(to, of, count) }
}

unsafe extern "C" fn sigmoid(to: *mut f64, of: *const f64, count: usize) {
    // SAFETY: the same.
    unsafe { Tile::Sigmoid.at(to, of, count) }
}

/// `a * b + c`, rounded once where the processor can.
#[inline(always)]
fn fused<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// A number is rounded to a whole one by adding this, whose low bits then are that.
const ROUNDS: f64 = 6_755_399_441_055_744.0;

/// The logarithm of 2, in two parts: the first has so few bits that its product with an exponent is exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// 2 to a power that [`ROUNDS`] was added to.
#[inline(always)]
fn power_of_two(rounded: f64) -> f64 {
    f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52)
}

/// The exponential of no argument up to this, or down to its negative, is infinite, 0 or subnormal.
const ORDINARY: f64 = 708.0;

/// x = k · log(2) + r with |r| at most half the logarithm of 2: gives exp(r) and k, to which [`ROUNDS`] is added. The
/// polynomial has an error of 2^-55 (`tests/exp_coefficients.py`).
#[inline(always)]
fn reduced_exp<const FMA: bool>(x: f64) -> (f64, f64) {
    let rounded = fused::<FMA>(x, std::f64::consts::LOG2_E, ROUNDS);
    let k = rounded - ROUNDS;
    let r = fused::<FMA>(-k, LN2_HIGH, x);
    let r = fused::<FMA>(-k, LN2_LOW, r);
    // By pairs of terms, pairs of these, and so on: the processor has something to do while a product is on its way.
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
    (1.0 + fused::<FMA>(p, r2, r), rounded)
}

/// `exp(x)` where that is an ordinary number: k is added to the exponent.
#[inline(always)]
fn ordinary_exp<const FMA: bool>(x: f64) -> f64 {
    let (y, rounded) = reduced_exp::<FMA>(x);
    f64::from_bits(y.to_bits().wrapping_add(rounded.to_bits() << 52))
}

/// `exp(x)` of any argument.
#[inline(always)]
fn exp_of<const FMA: bool>(x: f64) -> f64 {
    // Beyond these it is 0 or infinite.
    let bounded = if x > 710.0 { 710.0 } else { x };
    let bounded = if bounded < -746.0 { -746.0 } else { bounded };
    let (y, rounded) = reduced_exp::<FMA>(bounded);
    // In two steps, as 2^k alone may be too large or too small.
    let k = rounded - ROUNDS;
    let half = k * 0.5 + ROUNDS;
    let rest = (k - (half - ROUNDS)) + ROUNDS;
    let y = y * power_of_two(half) * power_of_two(rest);
    if x.is_nan() { x } else { y }
}

/// `log(x)`: that of x = 2^k · m with m between the roots of 1/2 and 2, by s = (m − 1) / (m + 1). The coefficients are those
/// of fdlibm's `log` (Sun Microsystems, 1993).
#[inline(always)]
fn log_of<const FMA: bool>(x: f64) -> f64 {
    const SCALE: f64 = 18_014_398_509_481_984.0;
    const ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    let small = x < f64::MIN_POSITIVE;
    let scaled = if small { x * SCALE } else { x };
    // The exponent that leaves the rest between the roots.
    let bits = scaled.to_bits();
    let over = bits.wrapping_sub(ROOT) & 0xfff0_0000_0000_0000;
    let m = f64::from_bits(bits.wrapping_sub(over));
    // As a real, by its place in the bits of a large number; it is negative below 1.
    let biased = (over >> 52).wrapping_add(0x400) & 0xfff;
    let k = f64::from_bits(biased | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0 - 1024.0;
    let k = if small { k - 54.0 } else { k };
    let f = m - 1.0;
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
    let y = fused::<FMA>(k, LN2_HIGH, f - (half - low));
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x < 0.0 || x.is_nan() { f64::NAN } else { y }
}

/// `1 / (1 + exp(-x))`, by the exponential of what is negative.
#[inline(always)]
fn sigmoid_of(x: f64, exp: impl Fn(f64) -> f64) -> f64 {
    let e = exp(-x.abs());
    let over = if x < 0.0 { e } else { 1.0 };
    over / (1.0 + e)
}
