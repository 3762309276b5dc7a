//! Tests of the lexer.

use expect_test::{Expect, expect};

use super::render_diagnostics;
use crate::lexer::{MAX_DIAGNOSTICS, MAX_TEXT_BYTES, Token, lex};
use crate::token::{Sym, Word};
use lang_base::Code;

/// Compares the tokens and diagnostics of each line.
#[track_caller]
fn check(lines: &[&str], expected: Expect) {
    let mut out = String::new();
    for line in lines {
        let lexed = lex(line);
        let tokens: Vec<String> = lexed.tokens.iter().map(|t| token_text(&t.token)).collect();
        let tokens = if tokens.is_empty() { "(none)".to_owned() } else { tokens.join("  ") };
        out.push_str(&format!("{line}\n    {tokens}\n{}", render_diagnostics(line, &lexed.diagnostics)));
    }
    expected.assert_eq(&out);
}

/// Returns the text of a token. A `!` follows a keyword.
fn token_text(token: &Token) -> String {
    match token {
        Token::Int(value) => value.to_string(),
        Token::Float(value) => format!("{value:?}"),
        Token::Str(text) => format!("{text:?}"),
        Token::Name(name) => name.to_string(),
        Token::Keyword(word) => format!("{word}!"),
        Token::Sym(sym) => sym.to_string(),
        Token::Error => "ERROR".to_owned(),
    }
}

#[test]
fn tokens() {
    check(
        &[
            "def f(x': [n]f64) -> f64 = x'[0]",
            "0..n 1.5 1_000 1e-14 2e3 x.0.1 x.0.1e2 1..2",
            "a+=b a->b a|>b a||b a|b a&&b !a != = == < <= > >= / // % ^ \\ ? ; _ _a",
            "μ θ₀ Σ x̂ 变量 x_1",
            "\"a\\n\\t\\\"\\\\é\"",
            "a -- comment = 1",
        ],
        expect![[r#"
            def f(x': [n]f64) -> f64 = x'[0]
                def!  f  (  x'  :  [  n  ]  f64  )  ->  f64  =  x'  [  0  ]
            0..n 1.5 1_000 1e-14 2e3 x.0.1 x.0.1e2 1..2
                0  ..  n  1.5  1000  1e-14  2000.0  x  .  0  .  1  x  .  0  .  1  1  ..  2
              E0004 «1e2»: a letter must not directly follow a number
                  help: write a product with `*`, as in `2 * x`
            a+=b a->b a|>b a||b a|b a&&b !a != = == < <= > >= / // % ^ \ ? ; _ _a
                a  +=  b  a  ->  b  a  |>  b  a  ||  b  a  |  b  a  &&  b  !  a  !=  =  ==  <  <=  >  >=  /  //  %  ^  \  ?  ;  _  _a
            μ θ₀ Σ x̂ 变量 x_1
                μ  θ₀  Σ  x̂  变量  x_1
            "a\n\t\"\\é"
                "a\n\t\"\\é"
            a -- comment = 1
                a
        "#]],
    );
}

#[test]
fn unicode_spellings() {
    let pairs = [
        ("⊞ i: x[i]", "for i: x[i]"),
        ("∑ i: ∏ j: x", "sum i: prod j: x"),
        ("∃ i: ∀ j: p", "any i: all j: p"),
        ("∇(f)(π)", "grad(f)(pi)"),
        ("a ≤ b ≥ c ≠ d", "a <= b >= c != d"),
        ("a ∧ b ∨ ¬c", "a && b || !c"),
        ("a·b × c ⋅ d − ∞", "a*b * c * d - inf"),
        ("(A) → B", "(A) -> B"),
    ];
    let tokens = |text: &str| lex(text).tokens.into_iter().map(|t| t.token).collect::<Vec<_>>();
    for (unicode, ascii) in pairs {
        assert_eq!(tokens(unicode), tokens(ascii), "{unicode}");
        assert_eq!(lex(unicode).diagnostics, []);
    }
}

#[test]
fn numbers_gone_wrong() {
    check(
        &[
            "2. + 1",
            "f(2.)",
            ".5",
            "1_",
            "1e+",
            "1e",
            "12abc",
            "0x1F",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "99999999999999999999999",
            "1e999",
        ],
        expect![[r#"
            2. + 1
                2.0  +  1
              E0004 «2.»: a number must not end with a decimal point
                  help: write a `0` after the point, as in `2.0`
            f(2.)
                f  (  2.0  )
              E0004 «2.»: a number must not end with a decimal point
                  help: write a `0` after the point, as in `2.0`
            .5
                0.5
              E0004 «.5»: a number must not begin with a decimal point
                  help: write a `0` before the point
            1_
                1
              E0004 «1_»: a number must not end with `_`
                  help: use `_` only between digits, as in `1_000`
            1e+
                0
              E0004 «1e+»: the exponent has no digits
                  help: write the exponent as in `1e-14`
            1e
                1
              E0004 «1e»: a letter must not directly follow a number
                  help: write a product with `*`, as in `2 * x`
            12abc
                12
              E0004 «12abc»: a letter must not directly follow a number
                  help: write a product with `*`, as in `2 * x`
            0x1F
                0
              E0004 «0x1F»: a number must be decimal
                  help: write the decimal value
            9223372036854775807
                9223372036854775807
            9223372036854775808
                0
              E0004 «9223372036854775808»: the number is too large for `i64`
                  help: the maximum is 9223372036854775807; write a real number with a decimal point or an exponent
            -9223372036854775808
                -  9223372036854775808
            99999999999999999999999
                0
              E0004 «99999999999999999999999»: the number is too large for `i64`
                  help: the maximum is 9223372036854775807; write a real number with a decimal point or an exponent
            1e999
                inf
              E0004 «1e999»: the number is too large for `f64`
                  help: write infinity as `inf`
        "#]],
    );
}

#[test]
fn characters_gone_wrong() {
    check(
        &[
            "x @@$ y @",
            "@@&",
            "é\u{300} ☃☃",
            "a & b",
            "~a",
            "# a comment",
            "x²",
            "\"no end",
            "\"a\\qb\"",
            "“curly”",
            "'single' + 'open",
            "a\u{7}b",
        ],
        expect![[r#"
            x @@$ y @
                x  ERROR  y  ERROR
              E0003 «@@$»: invalid characters
              E0003 «@»: invalid character `@`
                  help: write a matrix product as `for i, j: (sum k: a[i, k] * b[k, j])`, a matrix-vector product as `for i: (sum j: a[i, j] * x[j])`
            @@&
                ERROR  &&
              E0003 «@@»: invalid characters
              E0003 «&»: invalid character `&`
                  help: write `&&` for logical and, `bit_and` for bitwise and
            é̀ ☃☃
                é̀  ERROR
              E0003 «☃☃»: invalid characters
            a & b
                a  &&  b
              E0003 «&»: invalid character `&`
                  help: write `&&` for logical and, `bit_and` for bitwise and
            ~a
                !  a
              E0003 «~»: invalid character `~`
                  help: write `!` for logical not, `bit_not` for bitwise not
            # a comment
                (none)
              E0003 «# a comment»: invalid character `#`
                  help: a comment begins with `--`
            x²
                x  ERROR
              E0003 «²»: invalid character `²`
                  help: write a power with `^`, as in `x^2`
            "no end
                ERROR
              E0005 «"no end»: the string has no closing `"`
                  help: a string must end on the line where it begins
            "a\qb"
                "aqb"
              E0003 «\q»: unknown escape `\q`
                  help: the escapes are `\n`, `\t`, `\"` and `\\`
            “curly”
                ""
              E0003 «“curly”»: invalid character `“`
                  help: enclose a string in double quotes: `"text"`
            'single' + 'open
                ""  +  ERROR  open
              E0003 «'single'»: invalid character `'`
                  help: enclose a string in double quotes: `"text"`
              E0003 «'»: invalid character `'`
                  help: enclose a string in double quotes: `"text"`
            ab
                a  ERROR  b
              E0003 «»: invalid character
        "#]],
    );
}

#[test]
fn lines_and_comments() {
    let lexed = lex("\u{feff}--| doc\r\ndef f() = -- why\n  1\n-- end");
    let starts: Vec<(bool, bool)> = lexed.tokens.iter().map(|t| (t.is_line_start, t.is_in_column0)).collect();
    assert_eq!(starts[0], (true, true));
    assert_eq!(starts[1], (false, false));
    assert_eq!(starts.last(), Some(&(true, false)));
    let comments: Vec<(bool, bool)> = lexed.comments.iter().map(|c| (c.is_doc, c.is_own_line)).collect();
    assert_eq!(comments, [(true, true), (false, false), (false, true)]);
    assert_eq!(lexed.comments[0].span.end - lexed.comments[0].span.start, 7);
}

#[test]
fn words_and_symbols_read_back() {
    for word in Word::ALL {
        assert_eq!(Word::from_text(word.text()), Some(*word));
        assert_eq!(lex(word.text()).tokens[0].token, Token::Keyword(*word));
    }
    for sym in Sym::ALL {
        assert_eq!(Sym::from_text(sym.text()), Some(*sym));
        assert_eq!(lex(sym.text()).tokens[0].token, Token::Sym(*sym));
    }
}

/// The fix of a `#` comment belongs to its own diagnostic, which is dropped beyond the limit.
#[test]
fn diagnostics_beyond_the_limit_leave_the_last_one_alone() {
    let lexed = lex(&format!("{}# one\n# two\n", "$ ".repeat(MAX_DIAGNOSTICS)));
    assert_eq!(lexed.diagnostics.len(), MAX_DIAGNOSTICS);
    assert!(lexed.diagnostics.iter().all(|d| d.fixes.is_empty()));
    assert_eq!(lex("# one").diagnostics[0].fixes.len(), 1);
}

#[test]
fn too_large() {
    let lexed = lex(&" ".repeat(MAX_TEXT_BYTES + 1));
    assert_eq!(lexed.diagnostics[0].code, Code::E0008);
    assert_eq!(lexed.tokens, []);
}
