//! How a table is written, as far as a program says so.

/// Words that stand for a missing value, unless a program says others. They are those of pandas, without
/// the spellings of NaN, which is a number here.
const MISSING: [&str; 13] =
    ["", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "null", "NULL", "None", "-1.#IND", "1.#QNAN"];

/// Options of `load` for tables.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Options {
    /// The separator of cells; unknown, it is found from the first line. A blank stands for any
    /// number of blanks and tabs.
    pub(crate) separator: Option<char>,
    /// Is the decimal point a comma?
    pub(crate) decimal_comma: bool,
    /// The rest of a line from this text on is no data.
    pub(crate) comment: Option<String>,
    /// More words that stand for a missing value.
    pub(crate) missing: Vec<String>,
    /// Is the first row a header?
    pub(crate) header: Option<bool>,
}

impl Options {
    /// Does a cell, without blanks around it, stand for a missing value?
    pub(super) fn is_missing(&self, cell: &str) -> bool {
        MISSING.contains(&cell) || self.missing.iter().any(|word| word == cell)
    }

    /// The separator of a table that begins with this line: a tab or a semicolon if the line has no comma
    /// outside quotes.
    pub(super) fn separator_of(&self, line: &str) -> char {
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
        let of = |line: &str| Options::default().separator_of(line);
        assert_eq!(
            [of("a,b"), of("a;b"), of("a\tb"), of("a"), of("\"a,b\";c"), of("a;b,c"), of("\"a;b\",c")],
            [',', ';', '\t', ',', ';', ',', ',']
        );
        let of = |line: &str| Options { decimal_comma: true, ..Options::default() }.separator_of(line);
        assert_eq!([of("1,5;2"), of("1,5\t2"), of("1,5")], [';', '\t', ';']);
    }
}
