//! **The rule of prose**, as far as a program can check it. Sentences do not open with a banned
//! word and do not hide who acts, and comments are not too wide. Sentences of more than
//! [`MAX_SENTENCE`] words are counted.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use super::Paragraph;

/// A sentence of more words is counted as long.
pub(crate) const MAX_SENTENCE: usize = 25;

/// Words that no sentence begins with.
const OPENINGS: [&str; 4] = ["what", "whoever", "whatever", "of"];

/// Participles that hide the subject behind a form of "be".
const PARTICIPLES: [&str; 5] = ["told", "asked", "given", "made", "said"];

/// Participles that are counted wherever they are, because other uses are rare.
const ALWAYS_PASSIVE: [&str; 2] = ["told", "asked"];

const FORMS_OF_BE: [&str; 7] = ["is", "are", "was", "were", "be", "been", "being"];

/// A sentence or a line that breaks the rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProseFinding {
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// The counts of a text.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ProseCounts {
    pub(crate) words: usize,
    sentences: usize,
    what: usize,
    passive: usize,
    because: usize,
    must: usize,
    opens_with_what: usize,
    long: usize,
}

impl Add for ProseCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            words: self.words + other.words,
            sentences: self.sentences + other.sentences,
            what: self.what + other.what,
            passive: self.passive + other.passive,
            because: self.because + other.because,
            must: self.must + other.must,
            opens_with_what: self.opens_with_what + other.opens_with_what,
            long: self.long + other.long,
        }
    }
}

impl Sum for ProseCounts {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

/// Words; then per 10,000 words; then shares of the sentences.
impl fmt::Display for ProseCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.words)?;
        for count in [self.what, self.passive, self.because, self.must] {
            write!(f, " | {:.1}", 1e4 * ratio(count, self.words))?;
        }
        for count in [self.opens_with_what, self.long] {
            write!(f, " | {:.2} %", 100.0 * ratio(count, self.sentences))?;
        }
        Ok(())
    }
}

#[allow(clippy::cast_precision_loss, reason = "the repository has less than 2^52 words")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Counts the words and sentences of a paragraph.
pub(crate) fn count_paragraph(paragraph: &Paragraph) -> ProseCounts {
    let one = |sentence: &str| {
        let words = lower_case_words(sentence);
        let number = |word: &str| words.iter().filter(|w| *w == word).count();
        ProseCounts {
            words: words.len(),
            sentences: 1,
            what: number("what"),
            passive: hidden_subjects(&words).len(),
            because: number("because"),
            must: number("must"),
            opens_with_what: usize::from(words.first().is_some_and(|word| word == "what")),
            long: usize::from(words.len() > MAX_SENTENCE),
        }
    };
    sentences(&paragraph.text).map(one).sum()
}

/// The sentences and lines of a paragraph that break the rule.
pub(crate) fn findings_of(paragraph: &Paragraph) -> Vec<ProseFinding> {
    let mut findings = Vec::new();
    let line = paragraph.line;
    for sentence in sentences(&paragraph.text) {
        let words = lower_case_words(sentence);
        if let Some(first) = words.first().filter(|word| OPENINGS.contains(&word.as_str())) {
            findings.push(ProseFinding { line, message: format!("a sentence opens with \"{first}\": {sentence}") });
        }
        for word in hidden_subjects(&words) {
            findings.push(ProseFinding { line, message: format!("\"{word}\" hides the subject: {sentence}") });
        }
    }
    let wide = |line: &usize| ProseFinding { line: *line, message: "a comment is wider than 100 columns".into() };
    findings.extend(paragraph.wide_lines.iter().map(wide));
    findings
}

/// The participles without a subject.
fn hidden_subjects(words: &[String]) -> Vec<&str> {
    let hides = |k: usize, word: &str| {
        let be = |back: usize| {
            k.checked_sub(back).and_then(|k| words.get(k)).is_some_and(|w| FORMS_OF_BE.contains(&w.as_str()))
        };
        ALWAYS_PASSIVE.contains(&word) || (PARTICIPLES.contains(&word) && (be(1) || be(2)))
    };
    words.iter().enumerate().filter(|(k, word)| hides(*k, word)).map(|(_, word)| word.as_str()).collect()
}

/// The words of a sentence in lower case.
fn lower_case_words(sentence: &str) -> Vec<String> {
    let split = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-');
    split.filter(|word| word.chars().any(char::is_alphabetic)).map(str::to_lowercase).collect()
}

/// Splits a text into sentences, which end at a full stop, a question mark, an exclamation mark, a
/// colon or a semicolon before a space.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['.', '?', '!', ':', ';'])
        .scan(0, |at, part| {
            *at += part.len();
            Some((part, *at))
        })
        .fold((Vec::new(), 0), |(mut all, begin), (_, end)| {
            let rest = text.get(end..).unwrap_or_default();
            let ends = rest.is_empty() || rest.starts_with(' ');
            match (ends, text.get(begin..end)) {
                (true, Some(sentence)) => {
                    all.push(sentence.trim());
                    (all, end)
                }
                _ => (all, begin),
            }
        })
        .0
        .into_iter()
        .filter(|sentence| sentence.contains(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = findings_of(&Paragraph { line: 7, text: text.into(), wide_lines: Vec::new() });
        let found: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn openings_are_found() {
        check("What a pass reads. It reads what is there.", &["a sentence opens with \"what\": What a pass reads."]);
        check("Of two, the first.", &["a sentence opens with \"of\": Of two, the first."]);
    }

    #[test]
    fn hidden_subjects_are_found() {
        check("The name is not given.", &["\"given\" hides the subject: The name is not given."]);
        check("It was asked for.", &["\"asked\" hides the subject: It was asked for."]);
        check("A given size, made once. The loop makes it.", &[]);
    }

    #[test]
    fn sentences_end_where_a_space_follows() {
        let all: Vec<&str> = sentences("It is 1.5 times v0.2. Then: two; three? Four").collect();
        assert_eq!(all, ["It is 1.5 times v0.2.", "Then:", "two;", "three?", "Four"]);
    }
}
