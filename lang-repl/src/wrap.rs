//! Sentences in lines of a terminal's width, broken between words: a terminal breaks inside them.

/// No text is broken into narrower lines.
const NARROWEST: usize = 10;

/// The text in lines of so many characters, where a width is told: before its first line stand so many
/// characters, and every line that is begun anew has so many blanks. Longer words stay whole.
pub(crate) fn wrapped(text: &str, width: Option<usize>, before: usize, hang: usize) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut out = String::new();
    for (n, line) in text.split('\n').enumerate() {
        let mut column = if n == 0 { before } else { 0 };
        let room = width.max(NARROWEST + if n == 0 { before.max(hang) } else { hang });
        if n > 0 {
            out.push('\n');
        }
        // Blanks at the beginning are part of the first word.
        let lead = line.len() - line.trim_start().len();
        let (blanks, words) = line.split_at_checked(lead).unwrap_or_default();
        for (k, word) in words.split(' ').enumerate() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, (width, before, hang): (usize, usize, usize), expected: &str) {
        assert_eq!(wrapped(text, Some(width), before, hang), expected);
    }

    #[test]
    fn lines_end_between_words() {
        check("one two three four five", (24, 0, 0), "one two three four five");
        check("one two three four five", (20, 0, 0), "one two three four\nfive");
        check("one two three four five", (30, 10, 4), "one two three four\n    five");
        check("  name   what it is and does", (22, 0, 9), "  name   what it is\n         and does");
        check("a-word-that-is-longer-than-a-line and", (20, 0, 0), "a-word-that-is-longer-than-a-line\nand");
        check("one\n\ntwo two two two two two two", (20, 0, 0), "one\n\ntwo two two two two\ntwo two");
        assert_eq!(wrapped("one two three four five", None, 0, 0), "one two three four five");
    }
}
