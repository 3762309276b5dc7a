//! **Tile functions**: transcendental functions of many elements at once.
//!
//! They are compiled for the processor's level: AVX-512, AVX2 with FMA, or portable.
//! [`crate::elementary`] contains the functions themselves. Results are within 2 ulp of the
//! interpreter's for all arguments (`tests/tiles.rs`). Elements of 32 bits are computed in 64 bits.
#![allow(unsafe_code, reason = "code hands over tiles by their addresses, and functions are compiled for features")]

use std::sync::OnceLock;

use lang_core::resolve::scalar_fn::ScalarFn;
use lang_core::runtime::scalar::f64s;

use crate::elementary::{
    FAST_ANGLE_BOUND, FAST_EXP_BOUND, cos, exp, expm1, fast_exp, fast_expm1, log, log1p, sigmoid, sin, softplus, tanh,
};

/// The number of elements of a tile.
pub(crate) const TILE: usize = 256;

/// The functions that have a tile form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TileFunction {
    /// `exp`
    Exp,
    /// `expm1`
    Expm1,
    /// `log`
    Log,
    /// `log1p`
    Log1p,
    /// `sin`
    Sin,
    /// `cos`
    Cos,
    /// `tanh`
    Tanh,
    /// `sigmoid`
    Sigmoid,
    /// `softplus`
    Softplus,
}

/// The element type of a tile.
pub trait TileElement: Copy {
    /// Converts to 64 bits.
    fn to_f64(self) -> f64;
    /// Rounds from 64 bits.
    fn from_f64(wide: f64) -> Self;
}

impl TileElement for f64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn from_f64(wide: f64) -> Self {
        wide
    }
}

impl TileElement for f32 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "it is rounded")]
    fn from_f64(wide: f64) -> Self {
        wide as f32
    }
}

/// The instruction set of a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessorLevel {
    /// The instructions that every processor has.
    Portable,
    /// 256-bit vectors with fused multiply-add.
    Avx2,
    /// 512-bit vectors.
    Avx512,
}

impl ProcessorLevel {
    /// Returns the best level of this processor.
    #[must_use]
    pub fn detect() -> Self {
        static HERE: OnceLock<ProcessorLevel> = OnceLock::new();
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

impl TileFunction {
    /// All tile functions, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Exp,
        Self::Expm1,
        Self::Log,
        Self::Log1p,
        Self::Sin,
        Self::Cos,
        Self::Tanh,
        Self::Sigmoid,
        Self::Softplus,
    ];

    /// Returns the tile function of a function of the language, if it has one.
    #[must_use]
    pub fn of(f: ScalarFn) -> Option<Self> {
        Self::ALL.into_iter().find(|tile| tile.scalar() == f)
    }

    /// Returns the function of the language.
    #[must_use]
    pub fn scalar(self) -> ScalarFn {
        match self {
            Self::Exp => ScalarFn::Exp,
            Self::Expm1 => ScalarFn::Expm1,
            Self::Log => ScalarFn::Log,
            Self::Log1p => ScalarFn::Log1p,
            Self::Sin => ScalarFn::Sin,
            Self::Cos => ScalarFn::Cos,
            Self::Tanh => ScalarFn::Tanh,
            Self::Sigmoid => ScalarFn::Sigmoid,
            Self::Softplus => ScalarFn::Softplus,
        }
    }

    /// Returns the number by which [`apply`] identifies it.
    pub(crate) fn number(self) -> usize {
        Self::ALL.iter().position(|tile| *tile == self).unwrap_or(Self::ALL.len())
    }

    /// Applies the function to the elements of `of` up to the shorter length. A level that this
    /// processor lacks is replaced by the portable one.
    pub fn apply<T: TileElement>(self, level: ProcessorLevel, to: &mut [T], of: &[T]) {
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the guard checks that the processor has the level.
            ProcessorLevel::Avx512 if ProcessorLevel::detect() == ProcessorLevel::Avx512 => unsafe {
                self.avx512(to, of)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above; a processor with AVX-512 has AVX2.
            ProcessorLevel::Avx2 if ProcessorLevel::detect() != ProcessorLevel::Portable => unsafe {
                self.avx2(to, of)
            },
            _ => self.each::<T, false>(to, of),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
    fn avx512<T: TileElement>(self, to: &mut [T], of: &[T]) {
        self.each::<T, true>(to, of);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn avx2<T: TileElement>(self, to: &mut [T], of: &[T]) {
        self.each::<T, true>(to, of);
    }

    /// Returns the interpreter's function of one element.
    fn interpreter_function(self) -> fn(f64) -> f64 {
        match f64s::function(self.scalar()) {
            Some(f64s::ScalarFunction::Unary(f)) => f,
            _ => |_| f64::NAN,
        }
    }

    /// Returns the bound of the absolute values with a shorter algorithm.
    fn fast_bound(self) -> f64 {
        match self {
            Self::Exp | Self::Expm1 | Self::Sigmoid | Self::Softplus => FAST_EXP_BOUND,
            Self::Sin | Self::Cos => FAST_ANGLE_BOUND,
            Self::Log | Self::Log1p | Self::Tanh => f64::INFINITY,
        }
    }

    #[inline(always)]
    fn each<T: TileElement, const FMA: bool>(self, to: &mut [T], of: &[T]) {
        let most = self.fast_bound();
        for (to, of) in to.chunks_mut(TILE).zip(of.chunks(TILE)) {
            // If one argument of a chunk exceeds the bound, the whole chunk uses the longer
            // algorithm, because this is rare.
            let ordinary = most.is_infinite() || of.iter().fold(true, |all, x| all & (x.to_f64().abs() <= most));
            match (self, ordinary) {
                (Self::Exp, true) => each(to, of, fast_exp::<FMA>),
                (Self::Exp, false) => each(to, of, exp::<FMA>),
                (Self::Expm1, true) => each(to, of, fast_expm1::<FMA>),
                (Self::Expm1, false) => each(to, of, expm1::<FMA>),
                (Self::Log, _) => each(to, of, log::<FMA>),
                (Self::Log1p, _) => each(to, of, log1p::<FMA>),
                (Self::Sin, true) => each(to, of, sin::<FMA>),
                (Self::Cos, true) => each(to, of, cos::<FMA>),
                (Self::Sin | Self::Cos, false) => each(to, of, self.interpreter_function()),
                (Self::Tanh, _) => each(to, of, tanh::<FMA>),
                (Self::Sigmoid, true) => each(to, of, |x| sigmoid(x, fast_exp::<FMA>)),
                (Self::Sigmoid, false) => each(to, of, |x| sigmoid(x, exp::<FMA>)),
                (Self::Softplus, true) => each(to, of, |x| softplus::<FMA>(x, fast_exp::<FMA>)),
                (Self::Softplus, false) => each(to, of, |x| softplus::<FMA>(x, exp::<FMA>)),
            }
        }
    }

    /// Applies the function to `count` elements. The two ranges may overlap.
    ///
    /// # Safety
    /// Both addresses must have `count` elements, at most a tile.
    unsafe fn apply_raw<T: TileElement>(self, to: *mut T, of: *const T, count: usize) {
        if of.wrapping_add(count) > to && to.wrapping_add(count).cast_const() > of {
            let mut own = [T::from_f64(0.0); TILE];
            let count = count.min(TILE);
            // SAFETY: by the contract above `of` has `count` elements, and `own` has room for them.
            unsafe { std::ptr::copy_nonoverlapping(of, own.as_mut_ptr(), count) };
            // SAFETY: by the contract above; the copy does not overlap `to`.
            return unsafe { self.apply_raw(to, own.as_ptr(), count) };
        }
        // SAFETY: by the contract above, and they do not overlap.
        let (to, of) = unsafe { (std::slice::from_raw_parts_mut(to, count), std::slice::from_raw_parts(of, count)) };
        self.apply(ProcessorLevel::detect(), to, of);
    }
}

#[inline(always)]
fn each<T: TileElement>(to: &mut [T], of: &[T], f: impl Fn(f64) -> f64) {
    to.iter_mut().zip(of).for_each(|(y, x)| *y = T::from_f64(f(x.to_f64())));
}

/// The entry for compiled code: applies the function with this number to `count` elements.
///
/// # Safety
/// Both addresses must have `count` elements, at most a tile.
pub(crate) unsafe extern "C" fn apply<T: TileElement>(to: *mut T, of: *const T, count: usize, number: usize) {
    if let Some(tile) = TileFunction::ALL.get(number) {
        // SAFETY: by the contract above.
        unsafe { tile.apply_raw(to, of, count) }
    }
}
