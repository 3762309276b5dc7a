//! **Rows of cells.** Splits the text of a table into rows and cells for [`super::read`], which
//! first counts them and later parses the cells. A cell with separators, quotes or line ends must
//! be quoted. Lines end in LF, CRLF or CR. Empty lines and comment lines contain no row.

use std::borrow::Cow;

/// A reader at a position of a text.
#[derive(Clone)]
pub(super) struct RowReader<'a> {
    pub(super) text: &'a str,
    /// The byte at which the unread rest begins.
    pub(super) offset: usize,
    /// The line of that byte, from 1.
    pub(super) line: u32,
    /// The separator of cells. A blank means any number of blanks and tabs.
    pub(super) separator: char,
    /// The text that begins a comment.
    pub(super) comment: Option<&'a str>,
}

/// The end of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CellEnd {
    /// A separator, so the row has another cell.
    Cell,
    /// The end of the row.
    Row,
}

impl<'a> RowReader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    /// Returns the separator, unless blanks separate the cells.
    fn separator_char(&self) -> Option<char> {
        Some(self.separator).filter(|c| *c != ' ')
    }

    /// Advances to the next line with a row. Returns false at the end of the text.
    pub(super) fn next_row(&mut self) -> bool {
        loop {
            let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
            let rest = self.text.get(self.offset + blanks..).unwrap_or_default();
            let empty = rest.is_empty() || rest.starts_with(['\n', '\r']);
            if self.comment.is_some_and(|c| rest.starts_with(c)) || self.separator == ' ' && empty && blanks > 0 {
                self.offset += rest.find(['\n', '\r']).unwrap_or(rest.len()) + blanks;
            }
            if self.rest().is_empty() {
                return false;
            }
            if !self.skip_line_end() {
                return true;
            }
        }
    }

    /// Skips a line end; returns whether it found one.
    fn skip_line_end(&mut self) -> bool {
        let width = match self.rest().as_bytes() {
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => return false,
        };
        self.offset += width;
        self.line = self.line.saturating_add(1);
        true
    }

    /// Reads a cell, and skips the separator or line end after it.
    pub(super) fn read_cell(&mut self) -> Result<(Cow<'a, str>, CellEnd), String> {
        if self.separator == ' ' {
            self.skip_blanks();
        }
        let cell = match self.rest().as_bytes().first() {
            Some(b'"') => self.read_quoted()?,
            _ => Cow::Borrowed(self.read_plain()?),
        };
        if self.separator == ' ' && self.skip_blanks() && !self.is_at_row_end() {
            return Ok((cell, CellEnd::Cell));
        }
        let next = self.rest().chars().next();
        if let Some(separator) = self.separator_char()
            && next == Some(separator)
        {
            self.offset += separator.len_utf8();
            return Ok((cell, CellEnd::Cell));
        }
        if self.is_at_comment() {
            self.offset += self.rest().find(['\n', '\r']).unwrap_or(self.rest().len());
        }
        if !self.skip_line_end() && !self.rest().is_empty() {
            return Err(format!("line {} has text after a closing quote", self.line));
        }
        Ok((cell, CellEnd::Row))
    }

    /// Skips blanks and tabs; returns whether it found any.
    fn skip_blanks(&mut self) -> bool {
        let rest = self.rest();
        let width = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        self.offset += width;
        width > 0
    }

    /// Returns whether the row ends here.
    fn is_at_row_end(&self) -> bool {
        let rest = self.rest();
        rest.is_empty() || rest.starts_with(['\n', '\r']) || self.is_at_comment()
    }

    /// Returns whether a comment begins here.
    fn is_at_comment(&self) -> bool {
        self.comment.is_some_and(|comment| self.rest().starts_with(comment))
    }

    /// Reads a cell without quotes.
    fn read_plain(&mut self) -> Result<&'a str, String> {
        let rest = self.rest();
        let comment = self.comment.and_then(|c| c.bytes().next());
        let mut encoded = [0; 4];
        let separator = self.separator.encode_utf8(&mut encoded).bytes().next().unwrap_or_default();
        let blanks_separate = self.separator == ' ';
        let mut end = rest.len();
        for (at, byte) in rest.bytes().enumerate() {
            let ends = match byte {
                b'\n' | b'\r' => true,
                b'"' | 0 => {
                    let what = if byte == 0 { "a control character" } else { "a quote" };
                    return Err(format!("line {} has {what} in a cell that is not quoted", self.line));
                }
                b'\t' if blanks_separate => true,
                byte if byte == separator => {
                    byte.is_ascii() || rest.get(at..).is_some_and(|r| r.starts_with(self.separator))
                }
                byte if Some(byte) == comment => {
                    rest.get(at..).is_some_and(|r| self.comment.is_some_and(|c| r.starts_with(c)))
                }
                _ => false,
            };
            if ends {
                end = at;
                break;
            }
        }
        self.offset += end;
        Ok(rest.get(..end).unwrap_or_default())
    }

    /// Reads a cell in quotes. A doubled quote is a quote of the cell.
    fn read_quoted(&mut self) -> Result<Cow<'a, str>, String> {
        let opened = self.line;
        let mut rest = self.rest().get(1..).unwrap_or_default();
        let mut cell = Cow::Borrowed("");
        loop {
            let Some((before, after)) = rest.split_once('"') else {
                return Err(format!("the quote in line {opened} is not closed"));
            };
            // A CR before LF does not count, because CRLF is one line end.
            let is_end = |at: usize, byte: u8| {
                byte == b'\n' || byte == b'\r' && before.as_bytes().get(at + 1).is_none_or(|next| *next != b'\n')
            };
            let lines = before.bytes().enumerate().filter(|(at, byte)| is_end(*at, *byte)).count();
            self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
            if cell.is_empty() {
                cell = Cow::Borrowed(before)
            } else {
                cell.to_mut().push_str(before)
            }
            let Some(after) = after.strip_prefix('"') else {
                self.offset = self.text.len() - after.len();
                return Ok(cell);
            };
            cell.to_mut().push('"');
            rest = after;
        }
    }
}
