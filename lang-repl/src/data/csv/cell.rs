//! **Cells as numbers.** Integers are parsed exactly, in any notation.

use super::{Kind, Options};

/// The reason why a cell is no number of the wanted type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    Missing,
    /// The cell has a value of another kind.
    Truth,
    Number,
    Text,
    /// The cell has a number that is no integer.
    Fraction,
    /// The number is too large for the type.
    Large,
}

/// A scalar type as which cells are parsed.
pub(crate) trait Number: Sized {
    /// Parses a trimmed cell, or returns the reason why it cannot.
    fn parse(cell: &str, options: &Options) -> Result<Self, Refused>;
}

/// Returns the kind of a cell's value.
pub(super) fn kind(cell: &str, options: &Options) -> Kind {
    let cell = cell.trim();
    if options.is_missing(cell) {
        return Kind::Nothing;
    }
    if truth(cell).is_some() {
        return Kind::Bool;
    }
    match integer(cell, options) {
        Ok(_) if is_plain_integer(cell) => Kind::I64,
        Err(Refused::Text) => Kind::Text,
        _ => Kind::F64,
    }
}

fn truth(cell: &str) -> Option<bool> {
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
fn pointed<'c>(cell: &'c str, options: &Options, buffer: &'c mut String) -> Option<&'c str> {
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
fn other(cell: &str, options: &Options) -> Refused {
    match cell {
        _ if options.is_missing(cell) => Refused::Missing,
        _ if truth(cell).is_some() => Refused::Truth,
        _ => Refused::Text,
    }
}

/// Whether an infinite result comes from a numeral with digits, which is too large.
fn overflows(cell: &str, infinite: bool) -> bool {
    infinite && cell.contains(|c: char| c.is_ascii_digit())
}

/// Parses a real of either precision. `is_infinite` is the method of the type.
fn real<T: std::str::FromStr>(cell: &str, options: &Options, is_infinite: fn(&T) -> bool) -> Result<T, Refused> {
    if !options.missing.is_empty() && options.is_missing(cell) {
        return Err(Refused::Missing);
    }
    let mut buffer = String::new();
    let number = pointed(cell, options, &mut buffer).and_then(|text| text.parse::<T>().ok());
    match number.ok_or_else(|| other(cell, options))? {
        x if overflows(cell, is_infinite(&x)) => Err(Refused::Large),
        x => Ok(x),
    }
}

impl Number for f64 {
    fn parse(cell: &str, options: &Options) -> Result<Self, Refused> {
        real(cell, options, |x: &Self| x.is_infinite())
    }
}

impl Number for f32 {
    fn parse(cell: &str, options: &Options) -> Result<Self, Refused> {
        real(cell, options, |x: &Self| x.is_infinite())
    }
}

impl Number for i64 {
    fn parse(cell: &str, options: &Options) -> Result<Self, Refused> {
        integer(cell, options)
    }
}

impl Number for bool {
    fn parse(cell: &str, options: &Options) -> Result<Self, Refused> {
        if options.is_missing(cell) {
            return Err(Refused::Missing);
        }
        truth(cell).ok_or_else(|| match integer(cell, options) {
            Err(Refused::Text) => Refused::Text,
            _ => Refused::Number,
        })
    }
}

fn integer(cell: &str, options: &Options) -> Result<i64, Refused> {
    if !options.missing.is_empty() && options.is_missing(cell) {
        return Err(Refused::Missing);
    }
    if let Ok(n) = cell.parse() {
        return Ok(n);
    }
    let mut buffer = String::new();
    let text = pointed(cell, options, &mut buffer).ok_or(Refused::Text)?;
    if text.parse::<f64>().is_err() {
        return Err(other(cell, options));
    }
    exact(text)
}

/// Returns the exact integer of a decimal numeral.
fn exact(text: &str) -> Result<i64, Refused> {
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
        return Err(Refused::Fraction);
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
        Ok(zeros) if zeros + digits.len() > 19 => return Err(Refused::Large),
        Ok(zeros) => format!("{digits}{}", "0".repeat(zeros)),
        Err(_) => {
            let cut = usize::try_from(scale.unsigned_abs()).unwrap_or(usize::MAX);
            let kept = digits.len().checked_sub(cut).ok_or(Refused::Fraction)?;
            let (kept, rest) = digits.split_at_checked(kept).ok_or(Refused::Fraction)?;
            if rest.bytes().any(|b| b != b'0') {
                return Err(Refused::Fraction);
            }
            kept.to_owned()
        }
    };
    let sign = if negative { "-" } else { "" };
    format!("{sign}{digits}").parse().map_err(|_| Refused::Large)
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
        let of = |cell: &str| i64::parse(cell, &Options::default());
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
            ("9223372036854775808.0", Refused::Large),
            ("1e19", Refused::Large),
            ("1e400", Refused::Large),
            ("1e999999999999999999999", Refused::Large),
            ("0.5", Refused::Fraction),
            ("1e-1", Refused::Fraction),
            ("1e-999999999999999999999", Refused::Fraction),
            ("inf", Refused::Fraction),
            ("nan", Refused::Fraction),
            ("0x10", Refused::Text),
            ("1_000", Refused::Text),
            ("1,000", Refused::Text),
            ("", Refused::Missing),
            ("true", Refused::Truth),
        ] {
            assert_eq!(of(cell), Err(why), "{cell}");
        }
    }

    #[test]
    fn reals_tell_what_they_lose() {
        let rounded = |cell: &str| {
            let x = f64::parse(cell, &Options::default()).unwrap();
            integer_is_rounded(cell, || format!("{x:.0}"))
        };
        for cell in ["9007199254740993", "-9007199254740993", "18446744073709551615", "123456789012345678901234"] {
            assert!(rounded(cell), "{cell}");
        }
        for cell in ["9007199254740992", "-009007199254740992", "18446744073709551616", "9007199254740993.0", "1"] {
            assert!(!rounded(cell), "{cell}");
        }
        let short = f32::parse("16777217", &Options::default()).unwrap();
        assert!(integer_is_rounded("16777217", || format!("{short:.0}")));
    }

    #[test]
    fn decimal_commas() {
        let options = Options { decimal_comma: true, ..Options::default() };
        assert_eq!(f64::parse("1,5", &options), Ok(1.5));
        assert_eq!(f64::parse("-1,5e3", &options), Ok(-1500.0));
        assert_eq!(f64::parse("1.5", &options), Err(Refused::Text));
        assert_eq!(f64::parse("1,5,0", &options), Err(Refused::Text));
        assert_eq!(i64::parse("2,0", &options), Ok(2));
    }
}
