//! Tests of the meaning of names in each form of the language.

use expect_test::expect;

use super::{check_diagnostics, check_meanings, check_no_diagnostics};

#[test]
fn locals_then_items_then_prelude_then_language() {
    check_meanings(
        "def sin(x: f64) -> f64 = x\ndef f(len: f64) -> f64 = sin(len) + total([cos(pi)])",
        expect![[r#"
        len | declares Param len#0
        f64 | Scalar(F64)
        f64 | Scalar(F64)
        sin | Def(main.iv::sin)
        len | Param len#0
        total | Def(::total)
        cos | Scalar(Cos)
        pi | Const(Pi)
    "#]],
    );
    check_meanings(
        "def f(x: f64) -> f64 = f64(i64(x)) + grad(\\x: x)(x) + error(\"no\")",
        expect![[r#"
        x | declares Param x#0
        f64 | Scalar(F64)
        f64 | Scalar(F64)
        f64 | Convert(F64)
        i64 | Convert(I64)
        x | Param x#0
        grad | Derive(Grad)
        x | declares Lambda x#1
        x | Lambda x#1
        x | Param x#0
        error | Form(Error)
    "#]],
    );
    check_meanings(
        "def f(x: [n]f64) -> [n]i64 = argsort(x)",
        expect![[r#"
        x | declares Param x#0
        n | ImplicitSize n#1
        f64 | Scalar(F64)
        n | ImplicitSize n#1
        i64 | Scalar(I64)
        argsort | Builtin(Argsort)
        x | Param x#0
    "#]],
    );
}

#[test]
fn sizes_of_a_signature_are_declared_where_they_first_occur() {
    check_meanings(
        "def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: f64(m)",
        expect![[r#"
        x | declares Param x#0
        n | ImplicitSize n#2
        m | ImplicitSize m#3
        f64 | Scalar(F64)
        c | declares Param c#1
        m | ImplicitSize m#3
        f64 | Scalar(F64)
        n | ImplicitSize n#2
        f64 | Scalar(F64)
        i | declares Index i#4
        n | ImplicitSize n#2
        f64 | Convert(F64)
        m | ImplicitSize m#3
    "#]],
    );
    check_meanings(
        "def f(a: [k * k]f64, k: i64) -> [min(k, p)]f64 = a",
        expect![[r#"
        a | declares Param a#0
        k | Param k#1
        k | Param k#1
        f64 | Scalar(F64)
        k | declares Param k#1
        i64 | Scalar(I64)
        min | Scalar(Min)
        k | Param k#1
        p | ImplicitSize p#2
        f64 | Scalar(F64)
        a | Param a#0
    "#]],
    );
    check_meanings(
        "def f(x: [n]a, g: (a, k: i64) -> [k, n]b) -> [?p, p]b where a: num = g(x)",
        expect![[r#"
            x | declares Param x#0
            n | ImplicitSize n#2
            a | Param(0)
            g | declares Param g#1
            a | Param(0)
            k | declares FunTypeParam k#3
            i64 | Scalar(I64)
            k | FunTypeParam k#3
            n | ImplicitSize n#2
            b | Param(1)
            p | declares ResultSize p#4
            p | ResultSize p#4
            b | Param(1)
            g | Param g#1
            x | Param x#0
        "#]],
    );
    check_diagnostics(
        "def f(x: [k]f64) -> [?k]f64 = x",
        expect![[r#"
        E0012 `k` `k` is already a size of this signature
          at 10 declared here
          help: write `k` for the same size, or choose another name
    "#]],
    );
    check_diagnostics(
        "def f(x: [n]f64) -> [?k]f64 = for i < k: x[i]",
        expect![[r#"
            E0100 `k` `k` is not defined
        "#]],
    );
    check_meanings(
        "let n = 3\ndef f(x: [n]f64) -> [m.width]f64 = x",
        expect![[r#"
        x | declares Param x#0
        n | ImplicitSize n#1
        f64 | Scalar(F64)
        m.width | Let(m.iv::width)
        f64 | Scalar(F64)
        x | Param x#0
    "#]],
    );
}

#[test]
fn parameters_of_types() {
    check_meanings(
        "type Net(n, h, a) = {w: [h, n]a, b: [h]a}",
        expect![[r#"
        h | ImplicitSize h#1
        n | ImplicitSize n#0
        a | Param(2)
        h | ImplicitSize h#1
        a | Param(2)
    "#]],
    );
    check_meanings(
        "type Net(n, a) = {w: [n]a}\ntype Two(a, k) = Two(Net(k, a), Net(2, f64))",
        expect![[r#"
        Net(k, a) | Global(main.iv::Net)
        k | Size ImplicitSize k#0
        a | Param(0)
        Net(2, f64) | Global(main.iv::Net)
        f64 | Scalar(F64)
    "#]],
    );
    check_meanings(
        "type Net(n, a) = {w: [n]a}\ndef f(net: Net(k, b), x: [k]b) -> Net(k, f64) = net",
        expect![[r#"
        net | declares Param net#0
        Net(k, b) | Global(main.iv::Net)
        k | Size ImplicitSize k#2
        b | Param(0)
        x | declares Param x#1
        k | ImplicitSize k#2
        b | Param(0)
        Net(k, f64) | Global(main.iv::Net)
        k | Size ImplicitSize k#2
        f64 | Scalar(F64)
        net | Param net#0
    "#]],
    );
    check_meanings(
        "type Tree(a) = Leaf(a) | Node(Tree(a), Tree(a))",
        expect![[r#"
        a | Param(0)
        Tree(a) | Global(main.iv::Tree)
        a | Param(0)
        Tree(a) | Global(main.iv::Tree)
        a | Param(0)
    "#]],
    );
    check_meanings(
        "type A(n) = A(B(n)) | N\ntype B(n) = B(A(n)) | C([n]f64)",
        expect![[r#"
        A(n) | Global(main.iv::A)
        n | Size ImplicitSize n#0
        n | ImplicitSize n#0
        f64 | Scalar(F64)
    "#]],
    );
    check_diagnostics(
        "type Net(n) = {w: [n]f64}\ndef f(x: Net(f64)) -> f64 = 1.0",
        expect![[r#"
        E0108 `f64` `f64` is a type, but a size is expected here
    "#]],
    );
    check_diagnostics(
        "type T(n) = [n]n",
        expect![[r#"
        E0108 `n` `n` is a size, but a type is expected here
    "#]],
    );
}

#[test]
fn a_lone_name_is_an_alias_if_it_is_a_type() {
    check_meanings(
        "type Speed = f64",
        expect![[r#"
        f64 | Scalar(F64)
    "#]],
    );
    check_meanings(
        "type Point = Point(f64, f64)",
        expect![[r#"
        f64 | Scalar(F64)
        f64 | Scalar(F64)
    "#]],
    );
    check_meanings(
        "type Id(a) = a",
        expect![[r#"
        a | Param(0)
    "#]],
    );
    check_meanings(
        "type Lens = m.Camera",
        expect![[r#"
        m.Camera | Global(m.iv::Camera)
    "#]],
    );
    check_diagnostics(
        "type Speed = float",
        expect![[r#"
        E0101 `float` there is no type `float`
          help: the default real is `f64`
    "#]],
    );
}

#[test]
fn lets_bind_after_their_values() {
    check_meanings(
        "def f(x: f64) -> f64 = let x = x + 1.0 let y = x in x * y",
        expect![[r#"
        x | declares Param x#0
        f64 | Scalar(F64)
        f64 | Scalar(F64)
        x | declares Let x#1
        x | Param x#0
        y | declares Let y#2
        x | Let x#1
        x | Let x#1
        y | Let y#2
    "#]],
    );
    check_meanings(
        "def f(p: (f64, {u: f64, v: f64})) -> f64 = let (a, {u, v: w}) = p in a * u * w",
        expect![[r#"
        p | declares Param p#0
        f64 | Scalar(F64)
        f64 | Scalar(F64)
        f64 | Scalar(F64)
        f64 | Scalar(F64)
        a | declares Let a#1
        u | declares Let u#2
        w | declares Let w#3
        p | Param p#0
        a | Let a#1
        u | Let u#2
        w | Let w#3
    "#]],
    );
    check_meanings(
        "def f(x: [n]f64) -> f64 = let [k] y: [?j]f64 = filter(\\e: e > 0.0, x) in sum i < k: y[i]",
        expect![[r#"
            x | declares Param x#0
            n | ImplicitSize n#1
            f64 | Scalar(F64)
            f64 | Scalar(F64)
            k | declares NamedExtent k#4
            y | declares Let y#5
            j | declares ResultSize j#3
            f64 | Scalar(F64)
            filter | Builtin(Filter)
            e | declares Lambda e#2
            e | Lambda e#2
            x | Param x#0
            i | declares Index i#6
            k | NamedExtent k#4
            y | Let y#5
            i | Index i#6
        "#]],
    );
    check_meanings(
        "let (a, b) = (1, 2)",
        expect![[r#"
        a | declares Let a#0
        b | declares Let b#1
    "#]],
    );
}

#[test]
fn index_variables_are_seen_to_the_right() {
    check_meanings(
        "def f(n: i64) -> i64 = sum i < n, j in i..n by i if i < j: i * j",
        expect![[r#"
        n | declares Param n#0
        i64 | Scalar(I64)
        i64 | Scalar(I64)
        i | declares Index i#1
        n | Param n#0
        j | declares Index j#2
        i | Index i#1
        n | Param n#0
        i | Index i#1
        i | Index i#1
        j | Index j#2
        i | Index i#1
        j | Index j#2
    "#]],
    );
    check_diagnostics(
        "def f(n: i64) -> i64 = (sum i < j, j < n: i) + i",
        expect![[r#"
            E0100 `j` `j` is not defined
            E0100 `i` `i` is not defined
        "#]],
    );
}

#[test]
fn carries_are_seen_by_the_steps() {
    check_meanings(
        "def f(x: [n]f64) -> f64 = fold (a, b) = (0.0, 1.0) for i < n: (a + x[i], b) yield a",
        expect![[r#"
        x | declares Param x#0
        n | ImplicitSize n#1
        f64 | Scalar(F64)
        f64 | Scalar(F64)
        a | declares Carry a#3
        b | declares Carry b#4
        i | declares Index i#2
        n | ImplicitSize n#1
        a | Carry a#3
        x | Param x#0
        i | Index i#2
        b | Carry b#4
        a | Carry a#3
    "#]],
    );
    check_meanings(
        "def f(x: f64) -> f64 = loop x = x while x > 1.0: x / 2.0",
        expect![[r#"
        x | declares Param x#0
        f64 | Scalar(F64)
        f64 | Scalar(F64)
        x | declares Carry x#1
        x | Param x#0
        x | Carry x#1
        x | Carry x#1
    "#]],
    );
    check_diagnostics(
        "def f(n: i64) -> i64 = fold a = a for i < a: a",
        expect![[r#"
            E0100 `a` `a` is not defined
              at 42 here too
        "#]],
    );
}

#[test]
fn patterns() {
    let types = "type Tree = Leaf(f64) | Node(Tree, Tree) | Nil\n";
    check_meanings(
        &format!("{types}def f(t: Tree) -> f64 = match t {{ Leaf(x): x, Node(l, Nil): 0.0, other: f(other) }}"),
        expect![[r#"
        t | declares Param t#0
        Tree | Global(main.iv::Tree)
        f64 | Scalar(F64)
        t | Param t#0
        Leaf(x) | Ctor(main.iv::Tree, 0)
        x | declares Pattern x#1
        x | Pattern x#1
        Node(l, Nil) | Ctor(main.iv::Tree, 1)
        l | declares Pattern l#2
        Nil | Ctor(main.iv::Tree, 2)
        other | declares Pattern other#3
        f | Def(main.iv::f)
        other | Pattern other#3
    "#]],
    );
    check_meanings(
        "def f(c: m.Camera) -> f64 = match c { m.Camera(x, _): x }",
        expect![[r#"
        c | declares Param c#0
        m.Camera | Global(m.iv::Camera)
        f64 | Scalar(F64)
        c | Param c#0
        m.Camera(x, _) | Ctor(m.iv::Camera, 0)
        x | declares Pattern x#1
        x | Pattern x#1
    "#]],
    );
    check_diagnostics(
        &format!(
            "{types}def f(t: Tree) -> f64 = match t {{ Leef(x): x, Nill: 0.0, Any: 1.0, f(x): x, m.Camra(x): x }}"
        ),
        expect![[r#"
            E0105 `Leef` there is no constructor `Leef`
              help: did you mean `Leaf`?
            W0110 `Nill` there is no constructor `Nill`, so this pattern matches everything
              help: did you mean `Nil`?
            W0110 `Any` there is no constructor `Any`, so this pattern matches everything
              help: begin a variable in a `match` with a lower-case letter
            E0105 `f` there is no constructor `f`
              help: `f` is a value, not a constructor
            E0105 `Camra` there is no constructor `Camra` in module `m`
              help: did you mean `Camera`?
        "#]],
    );
    // Matrices may have capital letters as names.
    check_no_diagnostics("def f(A: [n, n]f64) -> f64 = let B = A in B[0, 0]");
}

#[test]
fn modules() {
    check_meanings(
        "def f(x: f64) -> m.Camera = m.Camera(m.double(x), f64(m.width))",
        expect![[r#"
        x | declares Param x#0
        f64 | Scalar(F64)
        m.Camera | Global(m.iv::Camera)
        m.Camera | Ctor(m.iv::Camera, 0)
        m.double | Def(m.iv::double)
        x | Param x#0
        f64 | Convert(F64)
        m.width | Let(m.iv::width)
    "#]],
    );
    check_meanings(
        "def f(m: {width: f64}) -> f64 = m.width",
        expect![[r#"
        m | declares Param m#0
        f64 | Scalar(F64)
        f64 | Scalar(F64)
        m | Param m#0
    "#]],
    );
    check_diagnostics(
        "def f(x: f64) -> m.Camra = m.duoble(m) + m.len(x)",
        expect![[r#"
            E0107 `Camra` module `m` has no type `Camra`
              help: did you mean `Camera`?
            E0107 `duoble` module `m` has no `duoble`
              help: did you mean `double`?
            E0100 `m` `m` is not defined
              help: `m` is a module; write `m.…` for its definitions
            E0107 `len` module `m` has no `len`
              help: write `len` without a module
        "#]],
    );
    check_diagnostics(
        "def f(x: q.T) -> f64 = q.x + q.y",
        expect![[r#"
            E0100 `q` no module is imported as `q`
              at 23 here too
              at 29 here too
              help: to import a file from this folder, write `import "./q.iv"`
        "#]],
    );
    // The failed import is reported already.
    check_no_diagnostics("def f(x: gone.T) -> f64 = match gone.x { gone.C(y): y }");
}

#[test]
fn rules() {
    check_meanings(
        "def f(x: f64) -> f64 = x\nderivative f(x; dx) = dx * x",
        expect![[r#"
        x | declares Param x#0
        dx | declares Param dx#1
        dx | Param dx#1
        x | Param x#0
    "#]],
    );
    check_diagnostics(
        "adjoint f(x; dy) = dy",
        expect![[r#"
        E0100 `f` there is no definition `f` in this module
          help: write a rule in the module of its definition
    "#]],
    );
    check_diagnostics(
        "adjoint len(x; dy) = dy",
        expect![[r#"
        E0100 `len` there is no definition `len` in this module
          help: write a rule in the module of its definition
    "#]],
    );
}

#[test]
fn parameters_named_by_wrt_are_no_variables() {
    check_meanings(
        "def g(a: f64, b: f64) -> f64 = a\ndef f(x: f64) -> f64 = grad(g, wrt: b)(x, x)",
        expect![[r#"
        x | declares Param x#0
        f64 | Scalar(F64)
        f64 | Scalar(F64)
        grad | Derive(Grad)
        g | Def(main.iv::g)
        x | Param x#0
        x | Param x#0
    "#]],
    );
    check_meanings(
        "def f(x: f64) -> f64 = deriv(x * x, x) + jvp(\\a, b: a, wrt: (a, b))(x, x)",
        expect![[r#"
        x | declares Param x#0
        f64 | Scalar(F64)
        f64 | Scalar(F64)
        deriv | Form(Deriv)
        x | Param x#0
        x | Param x#0
        x | Param x#0
        jvp | Derive(Jvp)
        a | declares Lambda a#1
        b | declares Lambda b#2
        a | Lambda a#1
        x | Param x#0
        x | Param x#0
    "#]],
    );
    check_diagnostics(
        "def f(x: f64) -> f64 = sin(x, wrt: b)",
        expect![[r#"
            E0100 `b` `b` is not defined
        "#]],
    );
}
