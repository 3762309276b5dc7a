//! **Snippets** for the forms of the language. `${1:…}` is a placeholder, and `$0` is the final
//! position of the cursor.

/// A form: its word, the description beside it, and its snippet.
pub(crate) struct Form {
    pub(crate) word: &'static str,
    pub(crate) shown: &'static str,
    pub(crate) text: &'static str,
}

const fn form(word: &'static str, shown: &'static str, text: &'static str) -> Form {
    Form { word, shown, text }
}

/// The forms that begin an item.
pub(crate) const ITEMS: &[Form] = &[
    form("def", "def f(x: T) -> U = …", "def ${1:f}(${2:x}: ${3:[n]f64}) -> ${4:f64} =\n  $0"),
    form("let", "let x = …", "let ${1:x} = $0"),
    form("type", "type T = A(…) | B", "type ${1:T} = ${2:A}(${3:f64}) | ${4:B}$0"),
    form("import", "import module", "import $0"),
    form("do", "do …", "do $0"),
    form("derivative", "derivative f(x; dx) = …", "derivative ${1:f}(${2:x}; ${3:dx}) = $0"),
    form("adjoint", "adjoint f(x; dy) = …", "adjoint ${1:f}(${2:x}; ${3:dy}) = $0"),
];

/// The forms that are expressions.
pub(crate) const EXPRESSIONS: &[Form] = &[
    form("let", "let x = … in …", "let ${1:x} = ${2:e}\nin $0"),
    form("if", "if … then … else …", "if ${1:c} then ${2:a} else $0"),
    form("match", "match … { p: … }", "match ${1:e} {\n  ${2:p}: $0,\n}"),
    form("for", "for i < n: …", "for ${1:i} < ${2:n}: $0"),
    form("sum", "sum i < n: …", "sum ${1:i} < ${2:n}: $0"),
    form("prod", "prod i < n: …", "prod ${1:i} < ${2:n}: $0"),
    form("max", "max i < n: …", "max ${1:i} < ${2:n}: $0"),
    form("min", "min i < n: …", "min ${1:i} < ${2:n}: $0"),
    form("argmax", "argmax i < n: …", "argmax ${1:i} < ${2:n}: $0"),
    form("argmin", "argmin i < n: …", "argmin ${1:i} < ${2:n}: $0"),
    form("any", "any i < n: …", "any ${1:i} < ${2:n}: $0"),
    form("all", "all i < n: …", "all ${1:i} < ${2:n}: $0"),
    form("rel", "rel i < n, j < m: …", "rel ${1:i} < ${2:n}, ${3:j} < ${4:m}: $0"),
    form("fold", "fold acc = … for i < n: …", "fold ${1:acc} = ${2:init} for ${3:i} < ${4:n}: $0"),
    form("scan", "scan acc = … for i < n: …", "scan ${1:acc} = ${2:init} for ${3:i} < ${4:n}: $0"),
    form("loop", "loop acc = … while …: …", "loop ${1:acc} = ${2:init} while ${3:c}: $0"),
    form("checkpoint", "checkpoint: fold …", "checkpoint: $0"),
    form("grad", "grad(f)(x)", "grad(${1:f})($0)"),
    form("value_and_grad", "value_and_grad(f)(x)", "value_and_grad(${1:f})($0)"),
    form("jvp", "jvp(f)(x, dx)", "jvp(${1:f})(${2:x}, $0)"),
    form("vjp", "vjp(f)(x, dy)", "vjp(${1:f})(${2:x}, $0)"),
    form("jacobian", "jacobian(f)(x)", "jacobian(${1:f})($0)"),
    form("hessian", "hessian(f)(x)", "hessian(${1:f})($0)"),
];
