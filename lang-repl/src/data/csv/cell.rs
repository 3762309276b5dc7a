//! **Cells as numbers.** Integers are parsed exactly, in any notation.

use super::{CellKind, TableOptions};

/// The reason why a cell is no number of the wanted type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CellRejection {
    Missing,
    /// The cell has a value of another kind.
    Boolean,
    Number,
    Text,
    /// The cell has a number that is no integer.
    NotInteger,
    /// The number is too large for the type.
    TooLarge,
}

/// A scalar type as which cells are parsed.
pub(crate) trait ParseCell: Sized {
    /// Parses a trimmed cell, or returns the reason why it cannot.
    fn parse(cell: &str, options: &TableOptions) -> Result<Self, CellRejection>;
}

/// Returns the kind of a cell's value.
pub(super) fn cell_kind(cell: &str, options: &TableOptions) -> CellKind {
    let cell = cell.trim();
    if options.is_missing(cell) {
        return CellKind::Missing;
    }
    if parse_bool(cell).is_some() {
        return CellKind::Bool;
    }
    match parse_integer(cell, options) {
        Ok(_) if is_plain_integer(cell) => CellKind::I64,
        Err(CellRejection::Text) => CellKind::Text,
        _ => CellKind::F64,
    }
}

fn parse_bool(cell: &str) -> Option<bool> {
    match cell {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn is_plain_integer(cell: &str) -> bool {
    let digits = cell.strip_prefix(['-', '+']).unwrap_or(cell);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Replaces a decimal comma by a point. `None` if the cell has a point.
fn with_decimal_point<'c>(cell: &'c str, options: &TableOptions, buffer: &'c mut String) -> Option<&'c str> {
    if !options.decimal_comma {
        return Some(cell);
    }
    if cell.contains('.') {
        return None;
    }
    *buffer = cell.replacen(',', ".", 1);
    Some(buffer)
}

/// Returns the reason why a cell is no number.
fn rejection(cell: &str, options: &TableOptions) -> CellRejection {
    match cell {
        _ if options.is_missing(cell) => CellRejection::Missing,
        _ if parse_bool(cell).is_some() => CellRejection::Boolean,
        _ => CellRejection::Text,
    }
}

/// Whether an infinite result comes from a numeral with digits, which is too large.
fn is_overflow(cell: &str, infinite: bool) -> bool {
    infinite && cell.contains(|c: char| c.is_ascii_digit())
}

/// Parses a real of either precision. `is_infinite` is the method of the type.
fn parse_real<T: std::str::FromStr>(
    cell: &str,
    options: &TableOptions,
    is_infinite: fn(&T) -> bool,
) -> Result<T, CellRejection> {
    if !options.missing.is_empty() && options.is_missing(cell) {
        return Err(CellRejection::Missing);
    }
    let mut buffer = String::new();
    let number = with_decimal_point(cell, options, &mut buffer).and_then(|text| text.parse::<T>().ok());
    match number.ok_or_else(|| rejection(cell, options))? {
        x if is_overflow(cell, is_infinite(&x)) => Err(CellRejection::TooLarge),
        x => Ok(x),
    }
}

impl ParseCell for f64 {
    fn parse(cell: &str, options: &TableOptions) -> Result<Self, CellRejection> {
        parse_real(cell, options, |x: &Self| x.is_infinite())
    }
}

impl ParseCell for f32 {
    fn parse(cell: &str, options: &TableOptions) -> Result<Self, CellRejection> {
        parse_real(cell, options, |x: &Self| x.is_infinite())
    }
}

impl ParseCell for i64 {
    fn parse(cell: &str, options: &TableOptions) -> Result<Self, CellRejection> {
        parse_integer(cell, options)
    }
}

impl ParseCell for bool {
    fn parse(cell: &str, options: &TableOptions) -> Result<Self, CellRejection> {
        if options.is_missing(cell) {
            return Err(CellRejection::Missing);
        }
        parse_bool(cell).ok_or_else(|| match parse_integer(cell, options) {
            Err(CellRejection::Text) => CellRejection::Text,
            _ => CellRejection::Number,
        })
    }
}

fn parse_integer(cell: &str, options: &TableOptions) -> Result<i64, CellRejection> {
    if !options.missing.is_empty() && options.is_missing(cell) {
        return Err(CellRejection::Missing);
    }
    if let Ok(n) = cell.parse() {
        return Ok(n);
    }
    let mut buffer = String::new();
    let text = with_decimal_point(cell, options, &mut buffer).ok_or(CellRejection::Text)?;
    if text.parse::<f64>().is_err() {
        return Err(rejection(cell, options));
    }
    parse_exact_integer(text)
}

/// Returns the exact integer of a decimal numeral.
fn parse_exact_integer(text: &str) -> Result<i64, CellRejection> {
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, text.get(1..).unwrap_or_default()),
        [b'+', ..] => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_numeral = mantissa.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if !is_numeral {
        // The text is `inf` or `nan`.
        return Err(CellRejection::NotInteger);
    }
    // The exponent is saturated; no cell has enough digits to distinguish it from a larger one.
    let exponent = exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') { -(1 << 40) } else { 1 << 40 });
    let scale = exponent.saturating_sub(i64::try_from(fraction.len()).unwrap_or(i64::MAX));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Ok(0);
    }
    let digits = match usize::try_from(scale) {
        Ok(zeros) if zeros + digits.len() > 19 => return Err(CellRejection::TooLarge),
        Ok(zeros) => format!("{digits}{}", "0".repeat(zeros)),
        Err(_) => {
            let cut = usize::try_from(scale.unsigned_abs()).unwrap_or(usize::MAX);
            let kept = digits.len().checked_sub(cut).ok_or(CellRejection::NotInteger)?;
            let (kept, rest) = digits.split_at_checked(kept).ok_or(CellRejection::NotInteger)?;
            if rest.bytes().any(|b| b != b'0') {
                return Err(CellRejection::NotInteger);
            }
            kept.to_owned()
        }
    };
    let sign = if negative { "-" } else { "" };
    format!("{sign}{digits}").parse().map_err(|_| CellRejection::TooLarge)
}

/// Whether a cell is an integer that differs from its parsed real. `shown` returns the real with
/// all digits and no fraction.
pub(crate) fn integer_is_rounded(cell: &str, shown: impl FnOnce() -> String) -> bool {
    let digits = cell.strip_prefix(['-', '+']).unwrap_or(cell);
    // An integer with fewer digits is exact in both real types.
    if digits.len() < 8 || !is_plain_integer(cell) {
        return false;
    }
    shown().trim_start_matches('-') != digits.trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact() {
        let of = |cell: &str| i64::parse(cell, &TableOptions::default());
        for (cell, n) in [
            ("9007199254740993.0", 9_007_199_254_740_993),
            ("9007199254740993", 9_007_199_254_740_993),
            ("900719925474099.3e1", 9_007_199_254_740_993),
            ("90071992547409930e-1", 9_007_199_254_740_993),
            ("-9223372036854775808.000", i64::MIN),
            ("9.223372036854775807e18", i64::MAX),
            ("1e3", 1000),
            ("+5", 5),
            ("0e999999999999999999999", 0),
            ("0.000", 0),
            ("10.", 10),
            ("-0", 0),
        ] {
            assert_eq!(of(cell), Ok(n), "{cell}");
        }
        for (cell, why) in [
            ("9223372036854775808.0", CellRejection::TooLarge),
            ("1e19", CellRejection::TooLarge),
            ("1e400", CellRejection::TooLarge),
            ("1e999999999999999999999", CellRejection::TooLarge),
            ("0.5", CellRejection::NotInteger),
            ("1e-1", CellRejection::NotInteger),
            ("1e-999999999999999999999", CellRejection::NotInteger),
            ("inf", CellRejection::NotInteger),
            ("nan", CellRejection::NotInteger),
            ("0x10", CellRejection::Text),
            ("1_000", CellRejection::Text),
            ("1,000", CellRejection::Text),
            ("", CellRejection::Missing),
            ("true", CellRejection::Boolean),
        ] {
            assert_eq!(of(cell), Err(why), "{cell}");
        }
    }

    #[test]
    fn reals_tell_what_they_lose() {
        let rounded = |cell: &str| {
            let x = f64::parse(cell, &TableOptions::default()).unwrap();
            integer_is_rounded(cell, || format!("{x:.0}"))
        };
        for cell in ["9007199254740993", "-9007199254740993", "18446744073709551615", "123456789012345678901234"] {
            assert!(rounded(cell), "{cell}");
        }
        for cell in ["9007199254740992", "-009007199254740992", "18446744073709551616", "9007199254740993.0", "1"] {
            assert!(!rounded(cell), "{cell}");
        }
        let short = f32::parse("16777217", &TableOptions::default()).unwrap();
        assert!(integer_is_rounded("16777217", || format!("{short:.0}")));
    }

    #[test]
    fn decimal_commas() {
        let options = TableOptions { decimal_comma: true, ..TableOptions::default() };
        assert_eq!(f64::parse("1,5", &options), Ok(1.5));
        assert_eq!(f64::parse("-1,5e3", &options), Ok(-1500.0));
        assert_eq!(f64::parse("1.5", &options), Err(CellRejection::Text));
        assert_eq!(f64::parse("1,5,0", &options), Err(CellRejection::Text));
        assert_eq!(i64::parse("2,0", &options), Ok(2));
    }
}
