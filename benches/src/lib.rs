//! Programs to measure with. Numbers and the commands that gave them are in `benches/README.md`.

/// A module of about `lines` lines of ordinary definitions: convolution, Cholesky, softmax, sum
/// types with `match`, records, loops, calls between them. All of it checks without errors.
#[must_use]
pub fn module(lines: usize) -> String {
    let block = include_str!("block.iv");
    let count = lines.div_ceil(block.lines().count() + 1);
    (0..count).map(|k| block.replace("_K", &format!("_{k}")) + "\n").collect()
}
