//! **JSON** as in RFC 8259, parsed to literals. The bare words `NaN`, `Infinity` and `-Infinity`
//! are also accepted, because Python writes them. Integers are exact, and duplicate keys are
//! rejected. The parser has an explicit stack, so it accepts values of any depth.

use std::collections::HashSet;

use lang_core::base::{Name, Span};

use super::UnreadableFile;
use super::field_names::to_nfc;
use crate::literal::{Literal, LiteralKind};

/// Parses a JSON document.
pub(crate) fn read(text: &str) -> Result<Literal, UnreadableFile> {
    let mut reader = JsonReader { text, offset: 0 };
    reader.read_document().map_err(|message| {
        let before = text.get(..reader.offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        UnreadableFile {
            message: format!("this is not JSON: {message} at line {line} column {column}"),
            position: Some((line, column)),
        }
    })
}

/// An open container.
enum OpenContainer {
    List(Vec<Literal>),
    Record { fields: Vec<(Name, Literal)>, keys: HashSet<Name>, key: Name },
}

struct JsonReader<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> JsonReader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    /// Returns the byte at this distance.
    fn byte(&self, distance: usize) -> Option<u8> {
        self.text.as_bytes().get(self.offset + distance).copied()
    }

    /// Skips blanks, and returns the next character.
    fn peek_char(&mut self) -> Option<char> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte(0) {
            self.offset += 1;
        }
        match self.byte(0) {
            Some(byte) if byte.is_ascii() => Some(char::from(byte)),
            _ => self.rest().chars().next(),
        }
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek_char() == Some(wanted);
        if found {
            self.offset += wanted.len_utf8();
        }
        found
    }

    fn read_document(&mut self) -> Result<Literal, String> {
        let mut open: Vec<OpenContainer> = Vec::new();
        loop {
            // A value begins here.
            let mut kind = match self.peek_char() {
                None => return Err("expected a value but found the end".to_owned()),
                Some('[') => {
                    self.offset += 1;
                    if !self.eat(']') {
                        open.push(OpenContainer::List(Vec::new()));
                        continue;
                    }
                    LiteralKind::List(Vec::new())
                }
                Some('{') => {
                    self.offset += 1;
                    if !self.eat('}') {
                        let mut keys = HashSet::new();
                        let key = self.read_key(&mut keys)?;
                        open.push(OpenContainer::Record { fields: Vec::new(), keys, key });
                        continue;
                    }
                    LiteralKind::Record(Vec::new())
                }
                Some('"') => LiteralKind::Text(self.read_string()?),
                Some(c) => self.read_scalar(c)?,
            };
            // The value may end the containers around it.
            loop {
                let literal = Literal { kind, span: Span::default() };
                let Some(container) = open.last_mut() else {
                    return match self.peek_char() {
                        None => Ok(literal),
                        Some(_) => Err("unexpected text after the value".to_owned()),
                    };
                };
                match container {
                    OpenContainer::List(items) => {
                        items.push(literal);
                        if self.eat(',') {
                            break;
                        }
                        if !self.eat(']') {
                            return Err(self.expected_error("`,` or `]`"));
                        }
                    }
                    OpenContainer::Record { fields, keys, key } => {
                        fields.push((std::mem::take(key), literal));
                        if self.eat(',') {
                            *key = self.read_key(keys)?;
                            break;
                        }
                        if !self.eat('}') {
                            return Err(self.expected_error("`,` or `}`"));
                        }
                    }
                }
                kind = match open.pop() {
                    Some(OpenContainer::List(items)) => LiteralKind::List(items),
                    Some(OpenContainer::Record { fields, .. }) => LiteralKind::Record(fields),
                    None => return Err("unmatched bracket".to_owned()),
                };
            }
        }
    }

    fn expected_error(&mut self, what: &str) -> String {
        match self.peek_char() {
            None => format!("expected {what} but found the end"),
            Some(c) => format!("expected {what} but found {c:?}"),
        }
    }

    /// Reads a new key and the colon; rejects a duplicate.
    fn read_key(&mut self, keys: &mut HashSet<Name>) -> Result<Name, String> {
        if self.peek_char() != Some('"') {
            return Err(self.expected_error("a key in quotes"));
        }
        let begin = self.offset;
        let key = Name::from(to_nfc(&self.read_string()?).as_ref());
        if !keys.insert(key.clone()) {
            self.offset = begin;
            return Err(format!("duplicate key `{key}` in an object"));
        }
        if !self.eat(':') {
            return Err(self.expected_error("`:`"));
        }
        Ok(key)
    }

    fn read_scalar(&mut self, first: char) -> Result<LiteralKind, String> {
        if first.is_ascii_digit() || first == '-' && self.byte(1) != Some(b'I') {
            return self.read_number();
        }
        let words = [
            ("true", LiteralKind::Bool(true)),
            ("false", LiteralKind::Bool(false)),
            ("null", LiteralKind::Tuple(Vec::new())),
            ("NaN", LiteralKind::Real(f64::NAN)),
            ("Infinity", LiteralKind::Real(f64::INFINITY)),
            ("-Infinity", LiteralKind::Real(f64::NEG_INFINITY)),
        ];
        for (word, kind) in words {
            if let Some(rest) = self.rest().strip_prefix(word)
                && !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            {
                self.offset += word.len();
                return Ok(kind);
            }
        }
        if first == '-' {
            return self.read_number();
        }
        let word: String = self.rest().chars().take_while(|c| c.is_alphanumeric()).take(20).collect();
        Err(if word.is_empty() { self.expected_error("a value") } else { format!("`{word}` is not a value") })
    }

    fn read_digits(&mut self) -> Result<(), String> {
        let mut digits = 0;
        while self.byte(0).is_some_and(|c| c.is_ascii_digit()) {
            self.offset += 1;
            digits += 1;
        }
        if digits > 0 { Ok(()) } else { Err("expected a digit".to_owned()) }
    }

    fn read_number(&mut self) -> Result<LiteralKind, String> {
        let begin = self.offset;
        self.offset += usize::from(self.byte(0) == Some(b'-'));
        if self.byte(0) == Some(b'0') && self.byte(1).is_some_and(|c| c.is_ascii_digit()) {
            return Err("a number must not begin with 0".to_owned());
        }
        self.read_digits()?;
        let mut whole = true;
        if self.byte(0) == Some(b'.') {
            self.offset += 1;
            self.read_digits()?;
            whole = false;
        }
        if let Some(b'e' | b'E') = self.byte(0) {
            self.offset += 1;
            self.offset += usize::from(matches!(self.byte(0), Some(b'+' | b'-')));
            self.read_digits()?;
            whole = false;
        }
        let text = self.text.get(begin..self.offset).unwrap_or_default();
        // `-0` is a real, because no integer has its sign.
        if let (true, Ok(n)) = (whole && text != "-0", text.parse()) {
            return Ok(LiteralKind::Int(n));
        }
        match text.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(LiteralKind::Real(x)),
            _ => {
                self.offset = begin;
                Err(format!("the number {} is too large", text.chars().take(40).collect::<String>()))
            }
        }
    }

    fn read_string(&mut self) -> Result<String, String> {
        let begin = self.offset;
        self.offset += 1;
        let mut out = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.find(|c: char| matches!(c, '"' | '\\') || c < ' ').unwrap_or(rest.len());
            out.push_str(rest.get(..plain).unwrap_or_default());
            self.offset += plain;
            match self.rest().chars().next() {
                Some('"') => {
                    self.offset += 1;
                    return Ok(out);
                }
                Some('\\') => out.push(self.read_escape()?),
                Some(_) => return Err("unescaped control character in a string".to_owned()),
                None => {
                    self.offset = begin;
                    return Err("unclosed string".to_owned());
                }
            }
        }
    }

    fn read_escape(&mut self) -> Result<char, String> {
        self.offset += 1;
        let code = self.rest().chars().next().unwrap_or_default();
        self.offset += code.len_utf8().min(self.rest().len());
        Ok(match code {
            '"' | '\\' | '/' => code,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = self.read_code_unit()?;
                if let Some(c) = char::from_u32(unit) {
                    return Ok(c);
                }
                // A character beyond the first 65,536 is a surrogate pair.
                let low = match self.rest().strip_prefix("\\u") {
                    Some(_) if unit < 0xDC00 => {
                        self.offset += 2;
                        self.read_code_unit()?
                    }
                    _ => 0,
                };
                let pair = (0xDC00..0xE000).contains(&low).then(|| 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
                pair.and_then(char::from_u32).ok_or("unpaired surrogate")?
            }
            _ => return Err("unknown escape".to_owned()),
        })
    }

    fn read_code_unit(&mut self) -> Result<u32, String> {
        let digits = self.rest().get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit =
            digits.and_then(|d| u32::from_str_radix(d, 16).ok()).ok_or("`\\u` must have four hexadecimal digits")?;
        self.offset += 4;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match read(text) {
            Ok(literal) => format!("{:?}", literal.kind),
            Err(why) => why.message,
        }
    }

    #[test]
    fn values() {
        assert_eq!(
            read("[1, -2.5e-3, true, null, \"a\\u00e9\\ud83d\\ude00\\n\"]").unwrap().kind,
            LiteralKind::List(
                [
                    LiteralKind::Int(1),
                    LiteralKind::Real(-0.0025),
                    LiteralKind::Bool(true),
                    LiteralKind::Tuple(vec![]),
                    LiteralKind::Text("aé😀\n".into())
                ]
                .into_iter()
                .map(|kind| Literal { kind, span: Span::default() })
                .collect()
            )
        );
        assert_eq!(shown("9007199254740993"), "Int(9007199254740993)");
        assert_eq!(shown("18446744073709551617"), "Int(18446744073709551617)");
        assert_eq!(shown("-0"), "Real(-0.0)");
        assert_eq!(shown(" {} "), "Record([])");
        assert_eq!(shown("-Infinity"), "Real(-inf)");
        assert_eq!(shown("NaN"), "Real(NaN)");
    }

    #[test]
    fn depth_has_no_limit() {
        let deep = "[".repeat(300_000) + &"]".repeat(300_000);
        assert!(read(&deep).is_ok());
        assert!(read(&"[".repeat(300_000)).is_err());
    }

    #[test]
    fn errors() {
        let at = |place: &str, message: &str| format!("this is not JSON: {message} at {place}");
        for (text, place, message) in [
            ("", "line 1 column 1", "expected a value but found the end"),
            ("[1,\n 2", "line 2 column 3", "expected `,` or `]` but found the end"),
            ("{\"a\": 1, \"a\": 2}", "line 1 column 10", "duplicate key `a` in an object"),
            ("{\"a\" 1}", "line 1 column 6", "expected `:` but found '1'"),
            ("{a: 1}", "line 1 column 2", "expected a key in quotes but found 'a'"),
            ("[1,]", "line 1 column 4", "expected a value but found ']'"),
            ("nil", "line 1 column 1", "`nil` is not a value"),
            ("01", "line 1 column 1", "a number must not begin with 0"),
            ("1.", "line 1 column 3", "expected a digit"),
            ("1e400", "line 1 column 1", "the number 1e400 is too large"),
            ("\"a", "line 1 column 1", "unclosed string"),
            ("\"\\ud800\"", "line 1 column 8", "unpaired surrogate"),
            ("\"\\x\"", "line 1 column 4", "unknown escape"),
            ("\"\\u00g0\"", "line 1 column 4", "`\\u` must have four hexadecimal digits"),
            ("1 2", "line 1 column 3", "unexpected text after the value"),
        ] {
            assert_eq!(shown(text), at(place, message), "{text}");
        }
    }
}
