//! Test helpers of this folder: parse polynomials and facts from text.

use super::{Atom, LocalId, Poly};

pub(crate) mod random;

/// Parses a polynomial such as `i * m + j // 2 - min(n, 3)`. A name is a local, the same at each
/// occurrence; `?1` is an unknown of the checker and `huge` an overflow.
pub(crate) fn poly(text: &str) -> Poly {
    let mut rest = PolyParser(text);
    let p = rest.sum();
    assert!(rest.0.trim().is_empty(), "trailing {:?} in {text:?}", rest.0);
    p
}

/// Parses facts such as `0 <= i < n, a == b`: each as a polynomial that is at least 0, or equals 0
/// (true).
pub(crate) fn facts(text: &str) -> Vec<(Poly, bool)> {
    let mut out = Vec::new();
    let mut rest = PolyParser(text);
    while !rest.0.trim().is_empty() {
        let mut left = rest.sum();
        while let Some(op) = ["==", "<=", ">=", "<", ">"].into_iter().find(|op| rest.eat(op)) {
            let right = rest.sum();
            out.push(match op {
                "==" => (right.sub(&left), true),
                "<=" => (right.sub(&left), false),
                ">=" => (left.sub(&right), false),
                "<" => (right.sub(&left).add_constant(-1), false),
                _ => (left.sub(&right).add_constant(-1), false),
            });
            left = right;
        }
        assert!(rest.eat(",") || rest.0.trim().is_empty(), "trailing {:?} in {text:?}", rest.0);
    }
    out
}

/// Returns the atom of a name.
pub(crate) fn atom(name: &str) -> Atom {
    let id = name.bytes().fold(0, |id: u32, b| id.wrapping_mul(131).wrapping_add(u32::from(b)));
    Atom::Local(LocalId(id), name.into())
}

struct PolyParser<'a>(&'a str);

impl<'a> PolyParser<'a> {
    fn eat(&mut self, token: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn take(&mut self, f: impl Fn(char) -> bool) -> &'a str {
        let text = self.0.trim_start();
        let (token, rest) = text.split_at(text.find(|c| !f(c)).unwrap_or(text.len()));
        self.0 = rest;
        token
    }

    fn sum(&mut self) -> Poly {
        let mut p = self.product();
        loop {
            if self.eat("+") {
                p = p.add(&self.product());
            } else if self.eat("-") {
                p = p.sub(&self.product());
            } else {
                return p;
            }
        }
    }

    fn product(&mut self) -> Poly {
        let mut p = self.operand();
        loop {
            if self.eat("*") {
                p = p.mul(&self.operand());
            } else if self.eat("//") {
                p = p.div(&self.operand()).expect("divisor");
            } else if self.eat("%") {
                p = p.rem(&self.operand()).expect("divisor");
            } else {
                return p;
            }
        }
    }

    fn operand(&mut self) -> Poly {
        if self.eat("-") {
            return self.operand().neg();
        }
        let p = if self.eat("(") {
            let p = self.sum();
            assert!(self.eat(")"));
            p
        } else if self.eat("?") {
            Poly::atom(Atom::Meta(self.take(|c| c.is_ascii_digit()).parse().expect("number")))
        } else {
            match self.take(|c| c.is_alphanumeric() || c == '\'') {
                "huge" => Poly::atom(Atom::Overflow),
                f @ ("min" | "max") => {
                    assert!(self.eat("("));
                    let a = self.sum();
                    assert!(self.eat(","));
                    let b = self.sum();
                    assert!(self.eat(")"));
                    if f == "min" { a.minimum(&b) } else { a.maximum(&b) }
                }
                t if t.starts_with(|c: char| c.is_ascii_digit()) => Poly::constant(t.parse().expect("number")),
                t => {
                    assert!(!t.is_empty(), "operand expected at {:?}", self.0);
                    Poly::atom(atom(t))
                }
            }
        };
        if self.eat("^") { p.pow(self.take(|c| c.is_ascii_digit()).parse().expect("number")) } else { p }
    }
}
