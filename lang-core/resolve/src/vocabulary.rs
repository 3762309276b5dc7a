//! **Vocabulary.** Documentation of every word of the language by name: keywords, binders, forms,
//! functions, types. Hover, completion and the checker's advice query it. The tables themselves are
//! in the modules of the passes that read them.

use super::builtin::Builtin;
use super::forms::{Const, DerivativeOp, SpecialForm};
use super::scalar_fn::{ScalarDomain, ScalarFn};
use lang_syntax::ops::{BinderKind, Scalar};
use lang_syntax::token::Word;

/// The description of a word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WordDoc {
    /// Its kind, such as `keyword` or `scalar function`.
    pub kind: &'static str,
    /// Its usage.
    pub signature: String,
    /// Its meaning, in a line or two.
    pub doc: String,
    /// For a scalar function, its partial derivatives: the argument and an expression.
    pub partials: Vec<(&'static str, &'static str)>,
}

impl WordDoc {
    /// Returns the meaning for display below the usage, without the usage at its start.
    #[must_use]
    pub fn description(&self) -> String {
        let Some(rest) = self.doc.strip_prefix(&self.signature) else { return self.doc.clone() };
        match rest.strip_prefix(": ") {
            Some(rest) => {
                let mut letters = rest.chars();
                letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
            }
            None => format!("It{rest}"),
        }
    }
}

/// Returns every word of the language once. No other name has an entry in the tables.
pub fn all_words() -> impl Iterator<Item = &'static str> {
    let once = Word::ALL.iter().map(|w| w.text()).chain(non_keyword_names());
    once.chain(BinderKind::ALL.into_iter().filter(|b| is_only_binder(*b)).map(BinderKind::keyword))
}

/// Returns the names that are neither keywords nor binders.
fn non_keyword_names() -> impl Iterator<Item = &'static str> {
    let functions = ScalarFn::ALL.iter().map(|f| f.name()).chain(Builtin::ALL.iter().map(|b| b.name()));
    let forms = SpecialForm::ALL.iter().map(|f| f.name()).chain(DerivativeOp::ALL.iter().map(|d| d.name()));
    functions.chain(forms).chain(Const::ALL.iter().map(|c| c.name())).chain(Scalar::ALL.iter().map(|s| s.name()))
}

fn is_only_binder(binder: BinderKind) -> bool {
    Word::from_text(binder.keyword()).is_none() && non_keyword_names().all(|name| name != binder.keyword())
}

/// Returns the descriptions of a word: several for a binder that is also a function, none for a
/// name that is not a word.
#[must_use]
pub fn describe(word: &str) -> Vec<WordDoc> {
    let mut found: Vec<WordDoc> = BinderKind::ALL
        .into_iter()
        .filter(|b| b.keyword() == word)
        .map(|b| word_doc("binder", binder_doc(b)))
        .collect();
    if let Some(keyword) = Word::from_text(word)
        && found.is_empty()
    {
        found.push(word_doc("keyword", keyword_doc(keyword)));
    }
    let scalar = ScalarFn::by_name(word);
    found.extend(scalar.map(|f| WordDoc {
        kind: "scalar function",
        signature: scalar_signature(f),
        doc: f.doc().to_owned(),
        partials: f.arguments().iter().filter_map(|x| Some((x.name, x.partial?))).collect(),
    }));
    found.extend(Builtin::by_name(word).map(|b| word_doc("builtin function", (b.signature(), b.doc()))));
    found.extend(SpecialForm::by_name(word).map(|f| word_doc("form", (usage_prefix(f.doc(), ")"), f.doc()))));
    found.extend(
        DerivativeOp::by_name(word).map(|d| word_doc("derivative operator", (usage_prefix(d.doc(), "):"), d.doc()))),
    );
    found.extend(Const::by_name(word).map(|c| word_doc("constant", (c.name(), c.doc()))));
    let scalar = Scalar::ALL.into_iter().find(|s| s.name() == word);
    found.extend(scalar.map(|s| word_doc("type", (s.name(), scalar_type_doc(s)))));
    found
}

fn word_doc(kind: &'static str, (signature, doc): (&'static str, &'static str)) -> WordDoc {
    WordDoc { kind, signature: signature.to_owned(), doc: doc.to_owned(), partials: Vec::new() }
}

/// Returns the usage of a form: the start of its documentation, up to and including the bracket
/// with which `end` begins.
fn usage_prefix(doc: &'static str, end: &str) -> &'static str {
    doc.find(end).and_then(|at| doc.get(..=at)).unwrap_or(doc)
}

/// Returns the signature of a scalar function, in the notation of a definition.
fn scalar_signature(f: ScalarFn) -> String {
    let (ty, class) = match f.domain() {
        ScalarDomain::Real => ("a", " where a: real"),
        ScalarDomain::Num => ("a", " where a: num"),
        ScalarDomain::Int => ("i64", ""),
    };
    let params: Vec<String> = f.arguments().iter().map(|x| format!("{}: {ty}", x.name)).collect();
    format!("def {}({}) -> {ty}{class}", f.name(), params.join(", "))
}

fn scalar_type_doc(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::F64 => "Real numbers of 64 bits, the type of a literal such as 1.5.",
        Scalar::F32 => "Real numbers of 32 bits. f32(x) converts.",
        Scalar::I64 => "Integers of 64 bits, whose arithmetic wraps. i64(x) rounds a real towards zero.",
        Scalar::Bool => "true or false.",
    }
}

/// Returns the usage and meaning of a binder.
fn binder_doc(binder: BinderKind) -> (&'static str, &'static str) {
    macro_rules! reduction {
        ($word:literal, $meaning:literal) => {
            (
                concat!($word, " i < n: e, ", $word, " i < n if p: e"),
                concat!(
                    $meaning,
                    " The range is i < n, i in a..b, or i alone if it indexes an array in e.\n",
                    "The body e extends as far right as possible; enclose it in ( … ) to end it."
                ),
            )
        };
    }
    match binder {
        BinderKind::For => ("for i < n: e", "The array of the values of e; for i < n, j < m: e has two axes."),
        BinderKind::Sum => reduction!("sum", "The sum of the values of e; 0 over an empty range."),
        BinderKind::Prod => reduction!("prod", "The product of the values of e; 1 over an empty range."),
        BinderKind::Max => reduction!("max", "The greatest value of e. With commas, max(a, b) is the greater of two."),
        BinderKind::Min => reduction!("min", "The least value of e. With commas, min(a, b) is the lesser of two."),
        BinderKind::Argmax => reduction!("argmax", "The first index where e is greatest."),
        BinderKind::Argmin => reduction!("argmin", "The first index where e is least."),
        BinderKind::Any => reduction!("any", "Whether e holds for some index."),
        BinderKind::All => reduction!("all", "Whether e holds for every index."),
        BinderKind::Rel => ("rel i < n, j < m: p", "The relation of the indices for which p holds."),
    }
}

/// Returns the usage and meaning of a keyword.
fn keyword_doc(word: Word) -> (&'static str, &'static str) {
    match word {
        Word::Def => ("def f(x: [n]f64) -> f64 = e", "Defines a function."),
        Word::Let | Word::In => ("let x = e in e2", "Names a value; let x = e at the top level has no in."),
        Word::If | Word::Then | Word::Else => {
            ("if c then a else b", "A conditional; it needs both branches, with the same type.")
        }
        Word::Match => ("match e { p: a, q: b }", "A choice by pattern matching."),
        Word::Fold => ("fold acc = init for i < n: e", "The last value of acc, which is e after each i."),
        Word::Yield => (
            "fold acc = init for i < n: e yield e2",
            "The last value of acc, and the array of the values of e2, which sees acc before the step.",
        ),
        Word::Scan => ("scan acc = init for i < n: e", "All values of acc, including the first."),
        Word::Loop | Word::While => ("loop acc = init while c: e", "The first value of acc for which c is false."),
        Word::Checkpoint => (
            "checkpoint k: fold acc = init for i < n: e",
            "The same fold, scan or loop; its gradient keeps only every k-th state, or every √n-th without k.",
        ),
        Word::With => {
            ("x with [i] = e", "The array x with one element replaced; r with a = e replaces a field of the record r.")
        }
        Word::Do => ("do e", "Evaluates e when the file runs, and prints its value."),
        Word::Import | Word::As => {
            ("import linalg, import \"./file.iv\" as m", "Imports a module, whose names are written linalg.f.")
        }
        Word::Type => ("type T = A(f64) | B", "Defines a type."),
        Word::For => binder_doc(BinderKind::For),
        Word::By => ("for i in a..b by s: e", "The indices a, a + s, a + 2 * s and so on, below b."),
        Word::Where => {
            ("def f(x: a) -> a where a: num", "Constrains a type parameter: num for numbers, real for f64 and f32.")
        }
        Word::True | Word::False => ("true, false", "The two values of bool."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_described() {
        let mut words: Vec<&str> = all_words().collect();
        for word in &words {
            let found = describe(word);
            assert!(!found.is_empty(), "{word}");
            for described in found {
                assert!(described.signature.contains(word), "{word}: {described:?}");
            }
        }
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
        assert!(BinderKind::ALL.iter().all(|b| words.contains(&b.keyword())));
        assert_eq!(describe("solve"), []);
    }

    #[test]
    fn signatures_are_read_off() {
        let signatures = |word: &str| describe(word).into_iter().map(|d| d.signature).collect::<Vec<_>>();
        assert_eq!(signatures("assert"), ["assert(p, \"text\")"]);
        assert_eq!(signatures("jvp"), ["jvp(f)((a, b), (da, db))"]);
        assert_eq!(signatures("max"), ["max i < n: e, max i < n if p: e", "def max(x: a, y: a) -> a where a: num"]);
        assert_eq!(signatures("for"), ["for i < n: e"]);
    }

    #[test]
    fn meanings_do_not_say_again_how_a_word_is_used() {
        let meanings = |word: &str| describe(word).iter().map(WordDoc::description).collect::<Vec<_>>();
        assert_eq!(meanings("vjp"), ["The cotangents of the arguments."]);
        assert_eq!(meanings("stop"), ["It is e, a constant to every derivative."]);
        assert_eq!(meanings("any"), [describe("any")[0].doc.as_str()]);
        for described in all_words().flat_map(describe) {
            assert!(!described.description().starts_with(&described.signature), "{described:?}");
        }
    }
}
