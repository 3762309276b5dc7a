//! **Line wrapping** between words, at the width of a terminal; a terminal itself would break
//! words. Problem reports and help wrap sentences; `iverson doc` and `iverson explain` wrap pages.

/// The least space for text beside its indentation. In a narrower terminal, lines are wider than
/// the terminal.
const MIN_WIDTH: usize = 10;

/// Wraps a text at `width`; `None`: returns it unchanged. `before` characters precede its first
/// line, and continuation lines are indented by `hang` blanks. A word longer than a line is not
/// broken.
pub(crate) fn wrap_text(text: &str, width: Option<usize>, before: usize, hang: usize) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut out = String::new();
    for (n, line) in text.split('\n').enumerate() {
        let mut column = if n == 0 { before } else { 0 };
        let room = width.max(MIN_WIDTH + if n == 0 { before.max(hang) } else { hang });
        if n > 0 {
            out.push('\n');
        }
        // Leading blanks are part of the first word.
        let lead = line.len() - line.trim_start().len();
        let (blanks, words) = line.split_at_checked(lead).unwrap_or_default();
        for (k, word) in split_words(words).enumerate() {
            let long = word.chars().count();
            if k == 0 {
                out.push_str(blanks);
                column += blanks.chars().count();
            } else if column + 1 + long > room && !word.is_empty() {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', hang));
                column = hang;
            } else {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += long;
        }
    }
    out
}

/// Returns the words of a line. A `let` in backticks is one word, because users copy it.
fn split_words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let code = text.strip_prefix("`let ").and_then(|code| code.find('`')).map_or(0, |end| "`let ".len() + end);
        let (code, after) = text.split_at_checked(code)?;
        let end = after.find(' ').map_or(text.len(), |at| code.len() + at);
        rest = text.get(end + 1..);
        text.get(..end)
    })
}

/// Wraps a page of documentation at `width`; `None`: returns it unchanged. Paragraphs are filled,
/// list entries continue below their text. Indented code, headings and table rows stay unchanged.
pub(crate) fn wrap_page(text: &str, width: Option<usize>) -> String {
    if width.is_none() {
        return text.to_owned();
    }
    let mut out = String::new();
    // The current paragraph, and the indentation of its continuation lines.
    let mut open: Option<(String, usize)> = None;
    let end = |open: &mut Option<(String, usize)>, out: &mut String| {
        if let Some((paragraph, hang)) = open.take() {
            out.push_str(&wrap_text(&paragraph, width, 0, hang));
            out.push('\n');
        }
    };
    for line in text.lines() {
        let blanks = line.len() - line.trim_start().len();
        let entry = line.trim_start().split_once("  ").map(|(name, rest)| (name, rest.trim_start()));
        let verbatim = line.is_empty() || blanks >= 4 || line.starts_with(['|', '#']);
        let list = line.starts_with("- ") || blanks > 0 || entry.is_some();
        match (&mut open, entry) {
            (Some((paragraph, _)), _) if !verbatim && !list => {
                paragraph.push(' ');
                paragraph.push_str(line);
            }
            _ if verbatim => {
                end(&mut open, &mut out);
                out.push_str(line);
                out.push('\n');
            }
            (_, Some((_, rest))) => {
                end(&mut open, &mut out);
                let hang = line.chars().count() - rest.chars().count();
                out.push_str(&(wrap_text(line, width, 0, hang) + "\n"));
            }
            _ => {
                end(&mut open, &mut out);
                open = Some((line.to_owned(), if list { blanks.max(2) } else { 0 }));
            }
        }
    }
    end(&mut open, &mut out);
    if !text.ends_with('\n') {
        out.truncate(out.trim_end_matches('\n').len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, (width, before, hang): (usize, usize, usize), expected: &str) {
        assert_eq!(wrap_text(text, Some(width), before, hang), expected);
    }

    #[test]
    fn lines_end_between_words() {
        check("one two three four five", (24, 0, 0), "one two three four five");
        check("one two three four five", (20, 0, 0), "one two three four\nfive");
        check("one two three four five", (30, 10, 4), "one two three four\n    five");
        check("  name   what it is and does", (22, 0, 9), "  name   what it is\n         and does");
        check("a-word-that-is-longer-than-a-line and", (20, 0, 0), "a-word-that-is-longer-than-a-line\nand");
        check("by this: `let x: [n]f64 = f(y)` and more", (20, 0, 2), "by this:\n  `let x: [n]f64 = f(y)`\n  and more");
        check("one  two ", (20, 0, 0), "one  two ");
        check("one\n\ntwo two two two two two two", (20, 0, 0), "one\n\ntwo two two two two\ntwo two");
        assert_eq!(wrap_text("one two three four five", None, 0, 0), "one two three four five");
    }

    #[test]
    fn pages_are_filled() {
        let text = "A title\n\nA paragraph that\nhas two lines of text.\n\n    code stays as it is, even if long\n\n  name    what it is, in a line\n- an item that is longer than a line\n- one";
        let expected = "A title\n\nA paragraph that has two\nlines of text.\n\n    code stays as it is, even if long\n\n  name    what it is, in\n          a line\n- an item that is longer\n  than a line\n- one";
        assert_eq!(wrap_page(text, Some(24)), expected);
        assert_eq!(wrap_page(text, None), text);
        assert_eq!(wrap_page(&wrap_page(text, Some(24)), Some(24)), expected);
    }
}
