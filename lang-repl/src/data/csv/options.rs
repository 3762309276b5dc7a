//! The options of `load` that describe the notation of a table.

/// The default words for a missing value, from the list of pandas. They omit `nan` and `NaN`,
/// because NaN is a value of `f64`.
const MISSING_WORDS: [&str; 13] =
    ["", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "null", "NULL", "None", "-1.#IND", "1.#QNAN"];

/// The options of `load` for tables.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct TableOptions {
    /// The separator of cells; `None`: inferred from the first line. A blank means any number of
    /// blanks and tabs.
    pub(crate) separator: Option<char>,
    /// Whether the decimal point is a comma.
    pub(crate) decimal_comma: bool,
    /// The text that begins a comment, which extends to the end of its line.
    pub(crate) comment: Option<String>,
    /// Additional words for a missing value.
    pub(crate) missing: Vec<String>,
    /// Whether the first row is a header; `None`: inferred.
    pub(crate) header: Option<bool>,
}

impl TableOptions {
    /// Returns whether a trimmed cell means a missing value.
    pub(super) fn is_missing(&self, cell: &str) -> bool {
        MISSING_WORDS.contains(&cell) || self.missing.iter().any(|word| word == cell)
    }

    /// Returns the separator of a table with this first line. Outside quotes, commas take
    /// precedence, then semicolons, then tabs; without any, the separator is a comma. With decimal
    /// commas, an inferred separator is never a comma but by default a semicolon.
    pub(super) fn separator_for(&self, line: &str) -> char {
        if let Some(separator) = self.separator {
            return separator;
        }
        let mut quoted = false;
        let (mut commas, mut tabs, mut semicolons) = (0, 0, 0);
        for byte in line.bytes() {
            match byte {
                b'"' => quoted = !quoted,
                b',' if !quoted => commas += 1,
                b'\t' if !quoted => tabs += 1,
                b';' if !quoted => semicolons += 1,
                _ => {}
            }
        }
        match (commas, semicolons, tabs) {
            (1.., _, _) if !self.decimal_comma => ',',
            (_, 1.., _) => ';',
            (_, 0, 1..) => '\t',
            _ if self.decimal_comma => ';',
            _ => ',',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators() {
        let of = |line: &str| TableOptions::default().separator_for(line);
        assert_eq!(
            [of("a,b"), of("a;b"), of("a\tb"), of("a"), of("\"a,b\";c"), of("a;b,c"), of("\"a;b\",c")],
            [',', ';', '\t', ',', ';', ',', ',']
        );
        let of = |line: &str| TableOptions { decimal_comma: true, ..TableOptions::default() }.separator_for(line);
        assert_eq!([of("1,5;2"), of("1,5\t2"), of("1,5")], [';', '\t', ';']);
    }
}
