//! **Counts with their nouns** in messages.

/// Returns a count with its noun in the right number: `1 axis`, `3 axes`.
#[must_use]
pub fn count_with_noun(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
