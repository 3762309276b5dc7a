//! **Foreign calls.** Functions of other languages, and the expressions that replace them here. One
//! row produces both the help and the fix of an error, so that they agree.

use std::ops::Range;

use lang_base::{Fix, FixPiece, Span};
use lang_syntax::ast::{Expr, ExprId, Tree};
use lang_syntax::lexer::{Token, lex};

/// The foreign names of a function, and its replacement.
#[derive(Debug)]
pub struct ForeignCall {
    /// The foreign names.
    pub(super) names: &'static [&'static str],
    /// The parameters, as the code names them.
    params: &'static [&'static str],
    /// The replacement code, with alternatives.
    replacements: &'static [&'static str],
    /// The operands of each alternative, if they differ.
    operand_kinds: &'static [&'static str],
}

macro_rules! foreign_calls {
    ($($names:expr, ($($param:literal),*) => $codes:expr $(, of [$($of:literal),*])?;)*) => {
        &[$(ForeignCall { names: &$names, params: &[$($param),*], replacements: &$codes, operand_kinds: &[$($($of),*)?] }),*]
    };
}

/// The foreign functions.
pub(super) const FOREIGN_FUNCTIONS: &[ForeignCall] = foreign_calls! {
    ["range", "arange"], ("n") => ["for i < n: i", "iota(n)"];
    ["zeros", "zeros_like"], ("n") => ["for i < n: 0.0", "replicate(n, 0.0)"];
    ["ones", "ones_like"], ("n") => ["for i < n: 1.0", "replicate(n, 1.0)"];
    ["full", "fill"], ("n", "x") => ["for i < n: x", "replicate(n, x)"];
    ["eye", "identity"], ("n") => ["for i < n, j < n: [i == j] * 1.0"];
    ["dot", "inner", "vdot", "vecdot"], ("x", "y") => ["sum i: x[i] * y[i]"];
    ["matmul", "mm", "gemm"], ("a", "b") => ["for i, j: sum k: a[i, k] * b[k, j]"];
    ["matvec", "mv", "gemv"], ("a", "x") => ["for i: sum j: a[i, j] * x[j]"];
    ["outer"], ("x", "y") => ["for i, j: x[i] * y[j]"];
    ["trace", "tr"], ("a") => ["sum i: a[i, i]"];
    ["norm"], ("x") => ["sqrt(sum i: x[i]^2)"];
    ["mean", "average"], ("x") => ["(sum i: x[i]) / f64(len(x))"];
    ["cumsum"], ("x") => ["(scan acc = 0.0 for i < len(x): acc + x[i])[1..len(x) + 1]"];
    ["append", "push", "cat", "concatenate", "extend"], ("x", "y") => ["concat(x, y)"];
    ["stack", "vstack", "vcat"], ("x", "y") => ["[x, y]", "concat(x, y)"], of ["vectors", "matrices"];
    ["hstack", "hcat"], ("x", "y") => ["concat(x, y)", "for i: concat(x[i], y[i])"], of ["vectors", "matrices"];
    ["clip", "clamp"], ("x", "a", "b") => ["min(max(x, a), b)"];
    ["flip", "rev"], ("x") => ["reverse(x)"];
    ["diff"], ("x") => ["for i < len(x) - 1: x[i + 1] - x[i]"];
    ["repeat"], ("x", "n") => ["for i < len(x) * n: x[i // n]"];
    ["tile"], ("x", "n") => ["for i < n * len(x): x[i % len(x)]"];
    ["sum"], ("x") => ["sum i: x[i]"];
    ["prod", "product"], ("x") => ["prod i: x[i]"];
    ["any"], ("p") => ["any i: p[i]"];
    ["all"], ("p") => ["all i: p[i]"];
    ["argmax"], ("x") => ["argmax i: x[i]"];
    ["argmin"], ("x") => ["argmin i: x[i]"];
    ["pow", "power"], ("x", "k") => ["x ^ k"];
    ["square", "sq", "sqr"], ("x") => ["x^2"];
    ["div", "quot", "floor_divide"], ("a", "b") => ["a // b"];
    ["divide", "true_divide"], ("a", "b") => ["a / b"];
    ["add"], ("a", "b") => ["a + b"];
    ["subtract"], ("a", "b") => ["a - b"];
    ["multiply"], ("a", "b") => ["a * b"];
    ["negative"], ("x") => ["-x"];
    ["reciprocal"], ("x") => ["1.0 / x"];
    ["rsqrt"], ("x") => ["1.0 / sqrt(x)"];
    ["logical_and"], ("a", "b") => ["a && b"];
    ["logical_or"], ("a", "b") => ["a || b"];
    ["logical_not"], ("a") => ["!a"];
    ["bitwise_and"], ("a", "b") => ["bit_and(a, b)"];
    ["bitwise_or"], ("a", "b") => ["bit_or(a, b)"];
    ["bitwise_xor"], ("a", "b") => ["bit_xor(a, b)"];
    ["bitwise_not"], ("a") => ["bit_not(a)"];
    ["left_shift"], ("a", "k") => ["shl(a, k)"];
    ["right_shift"], ("a", "k") => ["shr(a, k)"];
    ["mod", "rem", "fmod"], ("a", "b") => ["a % b"];
    ["log2"], ("x") => ["log(x) / log(2.0)"];
    ["log10"], ("x") => ["log(x) / log(10.0)"];
    ["exp2"], ("x") => ["2.0 ^ x"];
    ["fabs", "absolute"], ("x") => ["abs(x)"];
    ["fix"], ("x") => ["trunc(x)"];
    ["ceiling"], ("x") => ["ceil(x)"];
    ["gammaln", "loggamma"], ("x") => ["lgamma(x)"];
    ["psi"], ("x") => ["digamma(x)"];
    ["logit"], ("p") => ["log(p) - log1p(-p)"];
    ["logsigmoid", "log_sigmoid", "log_expit"], ("x") => ["-softplus(-x)"];
    ["logaddexp"], ("x", "y") => ["x + softplus(y - x)"];
    ["deg2rad", "radians"], ("x") => ["x * pi / 180.0"];
    ["rad2deg", "degrees"], ("x") => ["x * 180.0 / pi"];
    ["lerp"], ("a", "b", "t") => ["a + t * (b - a)"];
    ["ptp"], ("x") => ["(max i: x[i]) - (min i: x[i])"];
    ["count_nonzero"], ("x") => ["sum i: [x[i] != 0] * 1"];
    ["trapz", "trapezoid"], ("y", "x") => ["sum i < len(x) - 1: (x[i + 1] - x[i]) * (y[i] + y[i + 1]) / 2.0"];
    ["roll", "circshift"], ("x", "n") => ["for i < len(x): x[(i - n) % len(x)]"];
    ["take", "gather"], ("x", "at") => ["for i: x[at[i]]"];
    ["polyval"], ("p", "x") => ["fold acc = 0.0 for i < len(p): acc * x + p[i]"];
    ["sortperm"], ("x") => ["argsort(x)"];
    ["permutedims"], ("a") => ["transpose(a)"];
    ["logistic", "expit"], ("x") => ["sigmoid(x)"];
};

/// Foreign methods and fields of arrays; the parameter is the array.
pub const FOREIGN_METHODS: &[ForeignCall] = foreign_calls! {
    ["sum"], ("x") => ["sum i: x[i]"];
    ["max"], ("x") => ["max i: x[i]"];
    ["min"], ("x") => ["min i: x[i]"];
    ["T"], ("a") => ["transpose(a)"];
    ["shape", "size", "length", "len"], ("x") => ["len(x)"];
};

/// Returns the row for a name.
pub fn find_foreign_call<'h>(table: &'h [ForeignCall], name: &str) -> Option<&'h ForeignCall> {
    table.iter().find(|habit| habit.names.contains(&name))
}

/// An argument in the source text.
#[derive(Clone, Copy, Debug)]
pub struct SourceArgument {
    /// Its byte range.
    pub span: Span,
    /// Whether it is a variable, or a field of one, without the name of an index variable; see
    /// [`is_plain`].
    pub is_plain: bool,
}

impl ForeignCall {
    /// Returns the help: `` write `sum i: x[i]` ``.
    pub(super) fn help(&self) -> String {
        if self.operand_kinds.len() == self.replacements.len() {
            let ways = self.replacements.iter().zip(self.operand_kinds).map(|(code, of)| format!("`{code}` for {of}"));
            return format!("write {}", ways.collect::<Vec<_>>().join(", "));
        }
        let codes: Vec<String> = self.replacements.iter().map(|code| format!("`{code}`")).collect();
        format!("write {}", codes.join(", or "))
    }

    /// Returns the code if there is only one alternative.
    pub(super) fn sole_replacement(&self) -> Option<&'static str> {
        if let [one] = self.replacements { Some(one) } else { None }
    }

    /// Returns one fix per alternative, which replaces a call at `span` by the code with these
    /// arguments. An alternative with a binder applies only to plain arguments, because its index
    /// variable could capture a variable of another argument.
    pub fn fixes(&self, span: Span, args: &[SourceArgument]) -> Vec<Fix> {
        let binds = |code: &str| code.contains(": ");
        let all = self.replacements.iter().filter(|code| args.iter().all(|arg| arg.is_plain || !binds(code)));
        all.filter_map(|code| self.replacement_fix(code, span, args)).collect()
    }

    fn replacement_fix(&self, code: &str, span: Span, args: &[SourceArgument]) -> Option<Fix> {
        if args.len() != self.params.len() {
            return None;
        }
        let (mut pieces, mut from) = (vec![FixPiece::Text(String::new())], 0);
        let text = |pieces: &mut Vec<FixPiece>, range: Range<usize>| {
            pieces.push(FixPiece::Text(code.get(range).unwrap_or_default().to_owned()));
        };
        for token in lex(code).tokens {
            let Token::Name(name) = &token.token else { continue };
            let Some(k) = self.params.iter().position(|param| *name == **param) else { continue };
            let arg = args.get(k)?;
            text(&mut pieces, from..token.span.range().start);
            if arg.is_plain {
                pieces.push(FixPiece::Source(arg.span));
            } else {
                pieces.extend([
                    FixPiece::Text("(".to_owned()),
                    FixPiece::Source(arg.span),
                    FixPiece::Text(")".to_owned()),
                ]);
            }
            from = token.span.range().end;
        }
        text(&mut pieces, from..code.len());
        // A call needs no parentheses; any other replacement does.
        let is_call = code.ends_with(')')
            && code.split_once('(').is_some_and(|(name, rest)| {
                !name.is_empty()
                    && name.chars().all(|c| c.is_alphanumeric() || c == '_')
                    && rest.find(')') == Some(rest.len() - 1)
            });
        if !is_call {
            pieces.insert(0, FixPiece::Text("(".to_owned()));
            pieces.push(FixPiece::Text(")".to_owned()));
        }
        Some(Fix { span, pieces })
    }
}

/// The bound variables of the replacement code, which would capture an argument of the same name.
const BOUND_NAMES: [&str; 4] = ["i", "j", "k", "acc"];

/// Returns whether the expression is a variable, or a field of one, that replacement code cannot
/// capture.
pub fn is_plain(tree: &Tree, id: ExprId) -> bool {
    match &tree.exprs[id].kind {
        Expr::Name(name) => !BOUND_NAMES.contains(&name.as_str()),
        Expr::Field(base, _) => is_plain(tree, *base),
        Expr::Paren(inner) => is_plain(tree, *inner),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Binders that the replacement code uses.
    const BINDERS: [&str; 11] = ["for", "sum", "prod", "any", "all", "max", "min", "argmax", "argmin", "fold", "scan"];

    #[test]
    fn bound_variables_of_replacements_are_listed() {
        for code in FOREIGN_FUNCTIONS.iter().chain(FOREIGN_METHODS).flat_map(|habit| habit.replacements) {
            let words: Vec<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            for (binder, name) in words.iter().zip(words.iter().skip(1)) {
                let binds = BINDERS.contains(binder) && code.contains(&format!("{binder} {name}"));
                assert!(!binds || BOUND_NAMES.contains(name), "`{name}` is not in the list of bound variables: {code}");
            }
        }
    }
}
