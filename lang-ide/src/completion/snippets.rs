//! **Snippets** for the forms of the language. `${1:…}` is a placeholder, and `$0` is the final
//! position of the cursor.

/// A form: its word, the description beside it, and its snippet.
pub(crate) struct FormSnippet {
    pub(crate) word: &'static str,
    pub(crate) description: &'static str,
    pub(crate) snippet: &'static str,
}

const fn form_snippet(word: &'static str, shown: &'static str, text: &'static str) -> FormSnippet {
    FormSnippet { word, description: shown, snippet: text }
}

/// The forms that begin an item.
pub(crate) const ITEM_FORMS: &[FormSnippet] = &[
    form_snippet("def", "def f(x: T) -> U = …", "def ${1:f}(${2:x}: ${3:[n]f64}) -> ${4:f64} =\n  $0"),
    form_snippet("let", "let x = …", "let ${1:x} = $0"),
    form_snippet("type", "type T = A(…) | B", "type ${1:T} = ${2:A}(${3:f64}) | ${4:B}$0"),
    form_snippet("import", "import module", "import $0"),
    form_snippet("do", "do …", "do $0"),
    form_snippet("derivative", "derivative f(x; dx) = …", "derivative ${1:f}(${2:x}; ${3:dx}) = $0"),
    form_snippet("adjoint", "adjoint f(x; dy) = …", "adjoint ${1:f}(${2:x}; ${3:dy}) = $0"),
];

/// The forms that are expressions.
pub(crate) const EXPRESSION_FORMS: &[FormSnippet] = &[
    form_snippet("let", "let x = … in …", "let ${1:x} = ${2:e}\nin $0"),
    form_snippet("if", "if … then … else …", "if ${1:c} then ${2:a} else $0"),
    form_snippet("match", "match … { p: … }", "match ${1:e} {\n  ${2:p}: $0,\n}"),
    form_snippet("for", "for i < n: …", "for ${1:i} < ${2:n}: $0"),
    form_snippet("sum", "sum i < n: …", "sum ${1:i} < ${2:n}: $0"),
    form_snippet("prod", "prod i < n: …", "prod ${1:i} < ${2:n}: $0"),
    form_snippet("max", "max i < n: …", "max ${1:i} < ${2:n}: $0"),
    form_snippet("min", "min i < n: …", "min ${1:i} < ${2:n}: $0"),
    form_snippet("argmax", "argmax i < n: …", "argmax ${1:i} < ${2:n}: $0"),
    form_snippet("argmin", "argmin i < n: …", "argmin ${1:i} < ${2:n}: $0"),
    form_snippet("any", "any i < n: …", "any ${1:i} < ${2:n}: $0"),
    form_snippet("all", "all i < n: …", "all ${1:i} < ${2:n}: $0"),
    form_snippet("rel", "rel i < n, j < m: …", "rel ${1:i} < ${2:n}, ${3:j} < ${4:m}: $0"),
    form_snippet("fold", "fold acc = … for i < n: …", "fold ${1:acc} = ${2:init} for ${3:i} < ${4:n}: $0"),
    form_snippet("scan", "scan acc = … for i < n: …", "scan ${1:acc} = ${2:init} for ${3:i} < ${4:n}: $0"),
    form_snippet("loop", "loop acc = … while …: …", "loop ${1:acc} = ${2:init} while ${3:c}: $0"),
    form_snippet("checkpoint", "checkpoint: fold …", "checkpoint: $0"),
    form_snippet("grad", "grad(f)(x)", "grad(${1:f})($0)"),
    form_snippet("value_and_grad", "value_and_grad(f)(x)", "value_and_grad(${1:f})($0)"),
    form_snippet("jvp", "jvp(f)(x, dx)", "jvp(${1:f})(${2:x}, $0)"),
    form_snippet("vjp", "vjp(f)(x, dy)", "vjp(${1:f})(${2:x}, $0)"),
    form_snippet("jacobian", "jacobian(f)(x)", "jacobian(${1:f})($0)"),
    form_snippet("hessian", "hessian(f)(x)", "hessian(${1:f})($0)"),
];
