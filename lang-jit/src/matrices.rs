//! **Matrix multiplication.** Compiled code calls [`multiply`], which calls the `gemm` crate: it
//! accepts any row and column strides, packs blocks, and uses the processor's widest vectors.
#![allow(unsafe_code, reason = "the code gives addresses of matrices")]

use std::sync::atomic::{AtomicBool, Ordering};

use gemm::Parallelism;

use crate::pool::Pool;

/// The number of words that [`multiply`] reads.
pub(crate) const WORDS: u32 = 15;

/// Flag: the elements are `f32`.
pub(crate) const SHORT: i64 = 1;
/// Flag: the product is negated.
pub(crate) const NEGATED: i64 = 2;
/// Flag: a result that is not finite may be wrong, and the loops must compute it.
pub(crate) const MASKED: i64 = 4;

/// The positions of the words. An operand has three: its address, and the distances in bytes
/// between rows and between columns.
#[derive(Clone, Copy)]
pub(crate) enum Argument {
    M = 0,
    N = 1,
    K = 2,
    Result = 3,
    First = 6,
    Second = 9,
    Flag = 12,
    Kind = 13,
    Pool = 14,
}

impl Argument {
    /// Returns the offset of the word in bytes.
    pub(crate) fn offset(self) -> i32 {
        8 * self as i32
    }
}

/// Products with fewer multiplications run as loops.
const FEW: i64 = 4096;
/// So do products with fewer rows, columns or terms.
const THIN: i64 = 4;
/// The maximal number of multiplications between two polls of the interrupt flag, of columns of a
/// tile, and of terms of a block.
const BLOCK: i64 = 1 << 28;
const MOST_COLUMNS: i64 = 512;
const MOST_TERMS: i64 = 16384;
/// The least number of multiplications and of rows of a tile, which one thread computes. Each tile
/// packs all of the other factor, so it must not be small.
const TILE: i64 = 1 << 22;
const LEAST_ROWS: i64 = 512;

/// Multiplies matrices. Returns 1 if that is done, 0 if the loops must do it, -1 if an interrupt
/// was requested.
///
/// # Safety
/// The words must be those of [`Argument`], with addresses of matrices that have all elements
/// within the three extents. The result must not overlap the factors.
pub(crate) unsafe extern "C" fn multiply(words: *const i64) -> i64 {
    // SAFETY: the caller passes [`WORDS`] words.
    let words = unsafe { std::slice::from_raw_parts(words, WORDS as usize) };
    let word = |at: Argument, nth: usize| words.get(at as usize + nth).copied().unwrap_or(0);
    let [m, n, k] = [Argument::M, Argument::N, Argument::K].map(|at| word(at, 0));
    let all = m.checked_mul(n).and_then(|p| p.checked_mul(k));
    if m.min(n).min(k) < THIN || all.is_some_and(|all| all < FEW) {
        return 0;
    }
    let operand = |at: Argument| Matrix { at: word(at, 0), rows: word(at, 1), columns: word(at, 2) };
    let of = Product {
        extents: [m, n, k],
        result: operand(Argument::Result),
        first: operand(Argument::First),
        second: operand(Argument::Second),
        kind: word(Argument::Kind, 0),
    };
    let flag: *const AtomicBool =
        std::ptr::with_exposed_provenance(usize::try_from(word(Argument::Flag, 0)).unwrap_or(0));
    let pool: *const Pool = std::ptr::with_exposed_provenance(usize::try_from(word(Argument::Pool, 0)).unwrap_or(0));
    // SAFETY: the flag and the pool live as long as the run.
    let (flag, pool) = unsafe { (&*flag, pool.as_ref()) };
    // SAFETY: by the contract above.
    unsafe { if of.kind & SHORT == 0 { of.run::<f64>(flag, pool) } else { of.run::<f32>(flag, pool) } }
}

/// A matrix: its address, and the distances in bytes between rows and between columns.
#[derive(Clone, Copy)]
struct Matrix {
    at: i64,
    rows: i64,
    columns: i64,
}

impl Matrix {
    /// Returns the submatrix from this row and column on.
    fn from(self, row: i64, column: i64) -> Self {
        Self { at: self.at + row * self.rows + column * self.columns, ..self }
    }

    fn pointer<T>(self) -> *mut T {
        std::ptr::with_exposed_provenance_mut(usize::try_from(self.at).unwrap_or(0))
    }

    /// Returns the row and column strides in elements.
    fn steps<T>(self) -> (isize, isize) {
        let step = |bytes: i64| isize::try_from(bytes).unwrap_or(0) / size_of::<T>().cast_signed();
        (step(self.rows), step(self.columns))
    }
}

struct Product {
    /// The numbers of rows, columns and terms.
    extents: [i64; 3],
    result: Matrix,
    first: Matrix,
    second: Matrix,
    kind: i64,
}

impl Product {
    /// Multiplies tile by tile. The tiling depends on the extents alone, and so not on the number
    /// of threads.
    ///
    /// # Safety
    /// As [`multiply`], with elements of type `T`.
    unsafe fn run<T: Real>(&self, flag: &AtomicBool, pool: Option<&Pool>) -> i64 {
        let [m, n, k] = self.extents;
        let mut tiles = Vec::new();
        for column in blocks(n, MOST_COLUMNS) {
            let terms = k.min(MOST_TERMS);
            let most = (BLOCK / (column.count * terms)).min((TILE / (column.count * k)).max(LEAST_ROWS)).max(16);
            tiles.extend(blocks(m, most).map(|row| (row, column)));
        }
        let tile = |nth: usize| {
            let Some((row, column)) = tiles.get(nth) else { return };
            for term in blocks(k, MOST_TERMS) {
                if flag.load(Ordering::Relaxed) {
                    return;
                }
                let (result, first, second) = (
                    self.result.from(row.from, column.from),
                    self.first.from(row.from, term.from),
                    self.second.from(term.from, column.from),
                );
                // SAFETY: the blocks are parts of the matrices, and no other tile contains elements
                // of this block of the result.
                unsafe { self.block::<T>([row.count, column.count, term.count], result, first, second, term.from > 0) };
            }
        };
        match pool {
            Some(pool) => pool.run(tiles.len(), &|nth, _| tile(nth), &|_| ()),
            None => (0..tiles.len()).for_each(tile),
        }
        if flag.load(Ordering::Relaxed) {
            return -1;
        }
        // SAFETY: all of the result was written.
        i64::from(self.kind & MASKED == 0 || unsafe { self.is_finite::<T>() })
    }

    unsafe fn block<T: Real>(&self, extents: [i64; 3], result: Matrix, first: Matrix, second: Matrix, more: bool) {
        let [m, n, k] = extents.map(|n| usize::try_from(n).unwrap_or(0));
        let sign = if self.kind & NEGATED == 0 { T::ONE } else { T::MINUS };
        let ((rows, columns), (rows_a, columns_a), (rows_b, columns_b)) =
            (result.steps::<T>(), first.steps::<T>(), second.steps::<T>());
        let (to, a, b) = (result.pointer::<T>(), first.pointer::<T>(), second.pointer::<T>());
        // SAFETY: by the contract of `run`.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                to,
                columns,
                rows,
                more,
                a,
                columns_a,
                rows_a,
                b,
                columns_b,
                rows_b,
                T::ONE,
                sign,
                false,
                false,
                false,
                Parallelism::None,
            );
        }
    }

    /// Returns whether every element of the result is finite.
    unsafe fn is_finite<T: Real>(&self) -> bool {
        let [m, n, _] = self.extents;
        let Matrix { at, rows, columns } = self.result;
        // The inner loop follows the axis with the smaller stride.
        let of = if columns <= rows { self.result } else { Matrix { at, rows: columns, columns: rows } };
        let (lines, count) = if columns <= rows { (m, n) } else { (n, m) };
        let (_, step) = of.steps::<T>();
        let count = usize::try_from(count).unwrap_or(0);
        (0..lines).all(|line| {
            let first = of.from(line, 0).pointer::<T>();
            if step == 1 {
                // SAFETY: by the contract of `run`.
                let all = unsafe { std::slice::from_raw_parts(first, count) };
                return all.iter().fold(true, |finite, x| finite & x.is_finite());
            }
            // SAFETY: by the contract of `run`.
            (0..count.cast_signed()).all(|k| unsafe { *first.offset(k * step) }.is_finite())
        })
    }
}

/// The element type of matrices.
trait Real: Copy + 'static {
    const ONE: Self;
    const MINUS: Self;
    fn is_finite(self) -> bool;
}

impl Real for f64 {
    const ONE: Self = 1.0;
    const MINUS: Self = -1.0;
    fn is_finite(self) -> bool {
        Self::is_finite(self)
    }
}

impl Real for f32 {
    const ONE: Self = 1.0;
    const MINUS: Self = -1.0;
    fn is_finite(self) -> bool {
        Self::is_finite(self)
    }
}

/// A part of an extent.
#[derive(Clone, Copy)]
struct Part {
    from: i64,
    count: i64,
}

fn blocks(all: i64, most: i64) -> impl Iterator<Item = Part> {
    let starts = std::iter::successors(Some(0), move |from| Some(from + most)).take_while(move |from| *from < all);
    starts.map(move |from| Part { from, count: most.min(all - from) })
}
