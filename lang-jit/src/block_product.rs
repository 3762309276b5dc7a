//! **MatrixBlock products.** Multiplies strided blocks by the kernels of `gemm-f32` and `gemm-f64`,
//! for [`super::matrix_product`]. Both crates are named instead of `gemm`, because `gemm` also
//! compiles kernels for complex numbers, which Iverson does not have.
#![allow(unsafe_code, reason = "the kernels take addresses of matrices")]

use gemm_common::Parallelism;

/// A kernel: `result := alpha * result + beta * first * second`. Its result must be column-major,
/// and its strides must not be negative. It does not read the result if its flag is not set.
type Kernel<T> = unsafe fn(
    usize,
    usize,
    usize,
    *mut T,
    isize,
    isize,
    bool,
    *const T,
    isize,
    isize,
    *const T,
    isize,
    isize,
    T,
    T,
    bool,
    bool,
    bool,
    Parallelism,
);

/// A scalar type with a kernel.
pub(crate) trait Element: Copy {
    /// One.
    const ONE: Self;
    /// Returns the kernel for the vectors of this processor.
    fn kernel() -> Kernel<Self>;
}

impl Element for f64 {
    const ONE: Self = 1.0;
    fn kernel() -> Kernel<Self> {
        gemm_f64::gemm::f64::get_gemm_fn()
    }
}

impl Element for f32 {
    const ONE: Self = 1.0;
    fn kernel() -> Kernel<Self> {
        gemm_f32::gemm::f32::get_gemm_fn()
    }
}

/// A block of a matrix: the address of its first element, and its strides in elements.
#[derive(Clone, Copy)]
pub(crate) struct MatrixBlock<T> {
    /// The address of the element at row 0 and column 0.
    pub first: *mut T,
    /// The distance between rows.
    pub row_stride: isize,
    /// The distance between columns.
    pub column_stride: isize,
}

impl<T> MatrixBlock<T> {
    fn transposed(self) -> Self {
        Self { row_stride: self.column_stride, column_stride: self.row_stride, ..self }
    }

    /// Reverses the order of `count` rows.
    fn with_reversed_rows(self, count: usize) -> Self {
        let last = count.saturating_sub(1).cast_signed() * self.row_stride;
        Self { first: self.first.wrapping_offset(last), row_stride: -self.row_stride, ..self }
    }

    /// Reverses the order of `count` columns.
    fn with_reversed_columns(self, count: usize) -> Self {
        self.transposed().with_reversed_rows(count).transposed()
    }
}

/// Computes `result := scale * left * right`, plus the old result if `accumulate`. The extents are
/// the numbers of rows, of columns and of terms.
///
/// # Safety
/// The blocks must have all elements within the extents, and the result must not overlap the
/// factors.
pub(crate) unsafe fn multiply_blocks<T: Element>(
    [mut rows, mut columns, terms]: [usize; 3],
    mut result: MatrixBlock<T>,
    mut left: MatrixBlock<T>,
    mut right: MatrixBlock<T>,
    scale: T,
    accumulate: bool,
) {
    if result.column_stride.abs() < result.row_stride.abs() {
        // A row-major product is the transposed product of the transposed factors.
        std::mem::swap(&mut rows, &mut columns);
        (result, left, right) = (result.transposed(), right.transposed(), left.transposed());
    }
    // Reversing an axis of the result, or the terms, reverses it in the factors too.
    if result.row_stride < 0 {
        (result, left) = (result.with_reversed_rows(rows), left.with_reversed_rows(rows));
    }
    if result.column_stride < 0 {
        (result, right) = (result.with_reversed_columns(columns), right.with_reversed_columns(columns));
    }
    if left.column_stride < 0 {
        (left, right) = (left.with_reversed_columns(terms), right.with_reversed_rows(terms));
    }
    // SAFETY: reversing and transposing blocks keeps their elements.
    unsafe {
        T::kernel()(
            rows,
            columns,
            terms,
            result.first,
            result.column_stride,
            result.row_stride,
            accumulate,
            left.first,
            left.column_stride,
            left.row_stride,
            right.first,
            right.column_stride,
            right.row_stride,
            T::ONE,
            scale,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplies 3×4 by 4×2 with every sign and order of strides. Compares with the definition.
    #[test]
    fn strides_of_either_sign_and_order() {
        let (rows, columns, terms) = (3_usize, 2_usize, 4_usize);
        let data: Vec<f64> = (0..24_u8).map(f64::from).collect();
        let layouts = |m: usize, n: usize| {
            let (m, n) = (m.cast_signed(), n.cast_signed());
            [(n, 1), (1, m), (-n, 1), (n, -1), (-n, -1), (1, -m), (-1, -m), (-1, m)]
        };
        let start = |(r, c): (isize, isize), m: usize, n: usize| {
            let back = |stride: isize, count: usize| (-stride).max(0) * (count.cast_signed() - 1);
            back(r, m) + back(c, n)
        };
        let at = |base: isize, (r, c): (isize, isize), i: usize, j: usize| {
            (base + r * i.cast_signed() + c * j.cast_signed()).cast_unsigned()
        };
        for to in layouts(rows, columns) {
            for a in layouts(rows, terms) {
                for b in layouts(terms, columns) {
                    let (mut left, mut right, mut out) = (data.clone(), data.clone(), vec![1.0; 6]);
                    let (base_to, base_a, base_b) =
                        (start(to, rows, columns), start(a, rows, terms), start(b, terms, columns));
                    let block = |all: &mut Vec<f64>, base: isize, (row_stride, column_stride)| MatrixBlock {
                        first: all.as_mut_ptr().wrapping_offset(base),
                        row_stride,
                        column_stride,
                    };
                    let blocks =
                        (block(&mut out, base_to, to), block(&mut left, base_a, a), block(&mut right, base_b, b));
                    // SAFETY: the buffers have all elements within the extents.
                    unsafe { multiply_blocks([rows, columns, terms], blocks.0, blocks.1, blocks.2, -1.0, true) };
                    for i in 0..rows {
                        for j in 0..columns {
                            let product = |k| {
                                data.get(at(base_a, a, i, k)).zip(data.get(at(base_b, b, k, j))).map(|(x, y)| x * y)
                            };
                            let sum: Option<f64> = (0..terms).map(product).sum();
                            assert_eq!(out.get(at(base_to, to, i, j)).copied(), sum.map(|sum| 1.0 - sum));
                        }
                    }
                }
            }
        }
    }
}
