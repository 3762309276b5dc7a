//! **Mutation** of programs. Produces damaged texts: typing mistakes, and worse. Most mutations
//! move whole tokens, because most byte noise stops in the lexer; some move characters.

use lang_core::syntax::lexer::lex;

use crate::random::Random;

/// The length at which a text is cut, so that repetitions do not accumulate.
const LONGEST: usize = 16 << 10;

/// Words, operators and numbers that programs of the corpus may lack.
const DICTIONARY: &[&str] = &[
    "def",
    "type",
    "import",
    "let",
    "do",
    "in",
    "for",
    "if",
    "then",
    "else",
    "match",
    "fold",
    "scan",
    "loop",
    "while",
    "with",
    "yield",
    "checkpoint",
    "by",
    "true",
    "false",
    "where",
    "as",
    "sum",
    "prod",
    "max",
    "min",
    "argmax",
    "argmin",
    "any",
    "all",
    "rel",
    "derivative",
    "adjoint",
    "grad",
    "jvp",
    "vjp2",
    "jacobian",
    "hessian",
    "hvp",
    "deriv",
    "wrt:",
    "f64",
    "f32",
    "i64",
    "bool",
    "assert",
    "error",
    "dbg",
    "par",
    "stop",
    "reshape",
    "relation",
    "filter",
    "sort",
    "print",
    "time",
    "len",
    "n",
    "x",
    "_",
    "?k",
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "9223372036854775808",
    "1e308",
    "0.5",
    "1_000_000_000",
    "140737488355328",
    "()",
    "[p] *",
    "[true] *",
    "i < n:",
    "[i, j]",
    "a..b",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "|",
    "|>",
    "||",
    "&&",
    "!",
    "==",
    "<=",
    "<",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "^",
    "=",
    "+=",
    "->",
    ":",
    ",",
    ";",
    ".",
    "..",
    "?",
    "\\",
    "\"",
    "\"text\"",
    "--",
    "--|",
    "\n",
    "\ndef f(x: f64) -> f64 = ",
    "\nlet y = ",
    "\ndo ",
    "\n  let z = 1\n  in ",
    "∑",
    "π",
    "≤",
    "∇",
    "é",
    "\u{feff}",
    "\u{0}",
    "\t",
    "\r\n",
    "𝒳",
];

/// Applies a few random mutations to one or two texts of the corpus, and returns the result.
pub fn mutant(random: &mut Random, corpus: &[String]) -> String {
    let mut text = random.pick(corpus).cloned().unwrap_or_default();
    for _ in 0..=random.number_below(4) {
        let other = random.pick(corpus).map(String::as_str).unwrap_or_default();
        text = mutate(random, &text, other);
        let mut end = text.len().min(LONGEST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}

fn mutate(random: &mut Random, text: &str, other: &str) -> String {
    match random.number_below(10) {
        0 => replace(text, tokens(random, text, 4), ""),
        1 => {
            let (start, end) = tokens(random, text, 8);
            let piece = text.get(start..end).unwrap_or_default();
            replace(text, (end, end), &format!(" {piece}"))
        }
        2 => {
            let (from, to) = tokens(random, other, 12);
            let place = tokens(random, text, 3);
            replace(text, place, other.get(from..to).unwrap_or_default())
        }
        3 => {
            let place = tokens(random, text, 1);
            replace(text, place, word(random))
        }
        4 => {
            let (start, _) = tokens(random, text, 1);
            replace(text, (start, start), &format!("{} ", word(random)))
        }
        5 => {
            // The head of one text and the tail of another.
            let (head, _) = tokens(random, text, 1);
            let (tail, _) = tokens(random, other, 1);
            format!("{} {}", text.get(..head).unwrap_or_default(), other.get(tail..).unwrap_or_default())
        }
        6 => {
            let (start, end) = tokens(random, text, 3);
            let piece = text.get(start..end).unwrap_or_default().to_owned();
            replace(text, (start, end), &format!("{piece} ").repeat(1 + random.number_below(400)))
        }
        7 => {
            let at = boundary(random, text);
            replace(text, (at, at), word(random))
        }
        8 => {
            let (at, to) = (boundary(random, text), boundary(random, text));
            replace(text, (at.min(to), at.max(to).min(at.min(to) + 12)), "")
        }
        _ => {
            // Swap two pieces.
            let (a, b) = tokens(random, text, 2);
            let (c, d) = tokens(random, text, 2);
            if b <= c {
                let pieces = [text.get(..a), text.get(c..d), text.get(b..c), text.get(a..b), text.get(d..)];
                pieces.map(Option::unwrap_or_default).concat()
            } else {
                replace(text, (a, b), text.get(c..d).unwrap_or_default())
            }
        }
    }
}

/// Returns the byte range of one to `most` neighbouring tokens.
fn tokens(random: &mut Random, text: &str, most: usize) -> (usize, usize) {
    let all = lex(text).tokens;
    let first = random.number_below(all.len());
    let last = (first + random.number_below(most)).min(all.len().saturating_sub(1));
    match (all.get(first), all.get(last)) {
        (Some(a), Some(b)) => (a.span.range().start, b.span.range().end),
        _ => (0, 0),
    }
}

fn word(random: &mut Random) -> &'static str {
    random.pick(DICTIONARY).copied().unwrap_or_default()
}

fn boundary(random: &mut Random, text: &str) -> usize {
    let mut at = random.number_below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn replace(text: &str, (start, end): (usize, usize), with: &str) -> String {
    let (before, after) = (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    [before, with, after].concat()
}

#[cfg(test)]
mod tests {
    use super::mutant;
    use crate::random::Random;

    #[test]
    fn a_seed_gives_the_same_mutants() {
        let corpus = ["def f(x: f64) -> f64 = x + 1".to_owned(), "do 1 -- é".to_owned()];
        let texts = |seed| {
            let mut random = Random::new(seed);
            (0..200).map(|_| mutant(&mut random, &corpus)).collect::<Vec<_>>()
        };
        assert_eq!(texts(1), texts(1));
        assert_ne!(texts(1), texts(2));
    }

    #[test]
    fn nothing_to_start_from_is_no_fault() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            mutant(&mut random, &[]);
            mutant(&mut random, &[String::new()]);
        }
    }
}
