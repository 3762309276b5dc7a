//! **Matrix multiplication.** Compiled code calls [`multiply`], which calls
//! [`super::block_product`]: it accepts any row and column strides, packs blocks, and uses the
//! processor's widest vectors.
#![allow(unsafe_code, reason = "the code gives addresses of matrices")]

use std::sync::atomic::{AtomicBool, Ordering};

use crate::block_product::{Element, MatrixBlock, multiply_blocks};
use crate::thread_pool::ThreadPool;

/// The number of words that [`multiply`] reads.
pub(crate) const PRODUCT_WORDS: u32 = 15;

/// Flag: the elements are `f32`.
pub(crate) const IS_F32: i64 = 1;
/// Flag: the product is negated.
pub(crate) const IS_NEGATED: i64 = 2;
/// Flag: a result that is not finite may be wrong, and the loops must compute it.
pub(crate) const IS_MASKED: i64 = 4;

/// The positions of the words. An operand has three: its address, and the distances in bytes
/// between rows and between columns.
#[derive(Clone, Copy)]
pub(crate) enum ProductArgument {
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

impl ProductArgument {
    /// Returns the offset of the word in bytes.
    pub(crate) fn offset(self) -> i32 {
        8 * self as i32
    }
}

/// Products with fewer multiplications run as loops.
const MIN_MULTIPLICATIONS: i64 = 4096;
/// So do products with fewer rows, columns or terms.
const MIN_EXTENT: i64 = 4;
/// The maximal number of multiplications between two polls of the interrupt flag, of columns of a
/// tile, and of terms of a block.
const POLL_MULTIPLICATIONS: i64 = 1 << 28;
const MAX_COLUMNS: i64 = 512;
const MAX_TERMS: i64 = 16384;
/// The least number of multiplications and of rows of a tile, which one thread computes. Each tile
/// packs all of the other factor, so it must not be small.
const MIN_TILE_WORK: i64 = 1 << 22;
const MIN_ROWS: i64 = 512;

/// Multiplies matrices. Returns 1 if that is done, 0 if the loops must do it, -1 if an interrupt
/// was requested.
///
/// # Safety
/// The words must be those of [`ProductArgument`], with addresses of matrices that have all
/// elements within the three extents. The result must not overlap the factors.
pub(crate) unsafe extern "C" fn multiply(words: *const i64) -> i64 {
    // SAFETY: the caller passes [`PRODUCT_WORDS`] words.
    let words = unsafe { std::slice::from_raw_parts(words, PRODUCT_WORDS as usize) };
    let word = |at: ProductArgument, nth: usize| words.get(at as usize + nth).copied().unwrap_or(0);
    let [m, n, k] = [ProductArgument::M, ProductArgument::N, ProductArgument::K].map(|at| word(at, 0));
    let all = m.checked_mul(n).and_then(|p| p.checked_mul(k));
    if m.min(n).min(k) < MIN_EXTENT || all.is_some_and(|all| all < MIN_MULTIPLICATIONS) {
        return 0;
    }
    let operand = |at: ProductArgument| StridedMatrix {
        address: word(at, 0),
        row_stride: word(at, 1),
        column_stride: word(at, 2),
    };
    let of = ProductCall {
        extents: [m, n, k],
        result: operand(ProductArgument::Result),
        first: operand(ProductArgument::First),
        second: operand(ProductArgument::Second),
        kind: word(ProductArgument::Kind, 0),
    };
    let flag: *const AtomicBool =
        std::ptr::with_exposed_provenance(usize::try_from(word(ProductArgument::Flag, 0)).unwrap_or(0));
    let pool: *const ThreadPool =
        std::ptr::with_exposed_provenance(usize::try_from(word(ProductArgument::Pool, 0)).unwrap_or(0));
    // SAFETY: the flag and the pool live as long as the run.
    let (flag, pool) = unsafe { (&*flag, pool.as_ref()) };
    // SAFETY: by the contract above.
    unsafe { if of.kind & IS_F32 == 0 { of.run::<f64>(flag, pool) } else { of.run::<f32>(flag, pool) } }
}

/// A matrix: its address, and the distances in bytes between rows and between columns.
#[derive(Clone, Copy)]
struct StridedMatrix {
    address: i64,
    row_stride: i64,
    column_stride: i64,
}

impl StridedMatrix {
    /// Returns the submatrix from this row and column on.
    fn submatrix(self, row: i64, column: i64) -> Self {
        Self { address: self.address + row * self.row_stride + column * self.column_stride, ..self }
    }

    fn pointer<T>(self) -> *mut T {
        std::ptr::with_exposed_provenance_mut(usize::try_from(self.address).unwrap_or(0))
    }

    fn block<T>(self) -> MatrixBlock<T> {
        let (row_stride, column_stride) = self.strides::<T>();
        MatrixBlock { first: self.pointer(), row_stride, column_stride }
    }

    /// Returns the row and column strides in elements.
    fn strides<T>(self) -> (isize, isize) {
        let step = |bytes: i64| isize::try_from(bytes).unwrap_or(0) / size_of::<T>().cast_signed();
        (step(self.row_stride), step(self.column_stride))
    }
}

struct ProductCall {
    /// The numbers of rows, columns and terms.
    extents: [i64; 3],
    result: StridedMatrix,
    first: StridedMatrix,
    second: StridedMatrix,
    kind: i64,
}

impl ProductCall {
    /// Multiplies tile by tile. The tiling depends on the extents alone, and so not on the number
    /// of threads.
    ///
    /// # Safety
    /// As [`multiply`], with elements of type `T`.
    unsafe fn run<T: MatrixElement>(&self, flag: &AtomicBool, pool: Option<&ThreadPool>) -> i64 {
        let [m, n, k] = self.extents;
        let mut tiles = Vec::new();
        for column in blocks(n, MAX_COLUMNS) {
            let terms = k.min(MAX_TERMS);
            let most = (POLL_MULTIPLICATIONS / (column.count * terms))
                .min((MIN_TILE_WORK / (column.count * k)).max(MIN_ROWS))
                .max(16);
            tiles.extend(blocks(m, most).map(|row| (row, column)));
        }
        let tile = |nth: usize| {
            let Some((row, column)) = tiles.get(nth) else { return };
            for term in blocks(k, MAX_TERMS) {
                if flag.load(Ordering::Relaxed) {
                    return;
                }
                let (result, first, second) = (
                    self.result.submatrix(row.from, column.from),
                    self.first.submatrix(row.from, term.from),
                    self.second.submatrix(term.from, column.from),
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
        i64::from(self.kind & IS_MASKED == 0 || unsafe { self.is_finite::<T>() })
    }

    unsafe fn block<T: MatrixElement>(
        &self,
        extents: [i64; 3],
        result: StridedMatrix,
        first: StridedMatrix,
        second: StridedMatrix,
        more: bool,
    ) {
        let extents = extents.map(|n| usize::try_from(n).unwrap_or(0));
        let sign = if self.kind & IS_NEGATED == 0 { T::ONE } else { T::MINUS_ONE };
        // SAFETY: by the contract of `run`.
        unsafe { multiply_blocks(extents, result.block(), first.block(), second.block(), sign, more) };
    }

    /// Returns whether every element of the result is finite.
    unsafe fn is_finite<T: MatrixElement>(&self) -> bool {
        let [m, n, _] = self.extents;
        let StridedMatrix { address: at, row_stride: rows, column_stride: columns } = self.result;
        // The inner loop follows the axis with the smaller stride.
        let of = if columns <= rows {
            self.result
        } else {
            StridedMatrix { address: at, row_stride: columns, column_stride: rows }
        };
        let (lines, count) = if columns <= rows { (m, n) } else { (n, m) };
        let (_, step) = of.strides::<T>();
        let count = usize::try_from(count).unwrap_or(0);
        (0..lines).all(|line| {
            let first = of.submatrix(line, 0).pointer::<T>();
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
trait MatrixElement: Element {
    const MINUS_ONE: Self;
    fn is_finite(self) -> bool;
}

impl MatrixElement for f64 {
    const MINUS_ONE: Self = -1.0;
    fn is_finite(self) -> bool {
        Self::is_finite(self)
    }
}

impl MatrixElement for f32 {
    const MINUS_ONE: Self = -1.0;
    fn is_finite(self) -> bool {
        Self::is_finite(self)
    }
}

/// A part of an extent.
#[derive(Clone, Copy)]
struct ExtentBlock {
    from: i64,
    count: i64,
}

fn blocks(all: i64, most: i64) -> impl Iterator<Item = ExtentBlock> {
    let starts = std::iter::successors(Some(0), move |from| Some(from + most)).take_while(move |from| *from < all);
    starts.map(move |from| ExtentBlock { from, count: most.min(all - from) })
}
