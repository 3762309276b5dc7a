//! Tests of splitting files into items.

use expect_test::{Expect, expect};

use crate::split::split;

#[track_caller]
fn check(text: &str, expected: Expect) {
    let mut out = String::new();
    for item in split(text) {
        let end = item.start as usize + item.text.len();
        assert_eq!(Some(&*item.text), text.get(item.start as usize..end));
        out.push_str(&format!("{:?} {:?} {}: {:?}\n", item.kind, item.name, item.start, item.text));
    }
    expected.assert_eq(&out);
}

#[test]
fn kinds_and_names() {
    check(
        "import linalg\nimport \"./dir/mine.iv\"\nimport \"x.iv\" as m\ntype Tree(a) = Leaf(a)\nlet x = 1\n\
         let (a, {b, c: d}) = e\nlet [k] xs: [k]f64 = e\ndef f() = 1\n  derivative f(x; dx) = 2\nadjoint f(x; dy) = 3\ndo f()\n",
        expect![[r#"
            Import "linalg" 0: "import linalg"
            Import "mine" 14: "import \"./dir/mine.iv\""
            Import "m" 37: "import \"x.iv\" as m"
            Type "Tree" 56: "type Tree(a) = Leaf(a)"
            Let "x" 79: "let x = 1"
            Let "a,b,d" 89: "let (a, {b, c: d}) = e"
            Let "k,xs" 112: "let [k] xs: [k]f64 = e"
            Def "f" 135: "def f() = 1"
            Derivative "f" 149: "derivative f(x; dx) = 2"
            Adjoint "f" 173: "adjoint f(x; dy) = 3"
            Do "" 194: "do f()"
        "#]],
    );
}

#[test]
fn where_items_start() {
    // A `let` in column 0 begins an item, an indented one does not; neither do field names.
    check(
        "def f() =\n  let x = 1\n  in r.\n  do\nlet y = {\n  type: 1,\n  def: 2}\n",
        expect![[r#"
            Def "f" 0: "def f() =\n  let x = 1\n  in r.\n  do"
            Let "y" 35: "let y = {\n  type: 1,\n  def: 2}"
        "#]],
    );
    // An open bracket ends with its item.
    check(
        "def f() = (1 +\n  [2\ndef g() = 3",
        expect![[r#"
        Def "f" 0: "def f() = (1 +\n  [2"
        Def "g" 20: "def g() = 3"
    "#]],
    );
    // `derivative` is otherwise an ordinary name.
    check(
        "def f() = a +\n  derivative + derivative(x)\n",
        expect![[r#"
        Def "f" 0: "def f() = a +\n  derivative + derivative(x)"
    "#]],
    );
    // A missing field name does not absorb the next item.
    check(
        "do x.\ndef f() = 1\ntype = A\n",
        expect![[r#"
        Do "" 0: "do x."
        Def "f" 6: "def f() = 1"
        Type "" 18: "type = A"
    "#]],
    );
    check(
        "def",
        expect![[r#"
        Def "" 0: "def"
    "#]],
    );
}

#[test]
fn comments() {
    check(
        "-- licence\n\n--| of f\n-- more\ndef f() = 1 -- one\n-- belongs to f\n\n--| of g\ndef g() = 2\n\n-- last\n",
        expect![[r#"
            Def "f" 0: "-- licence\n\n--| of f\n-- more\ndef f() = 1 -- one\n-- belongs to f"
            Def "g" 65: "--| of g\ndef g() = 2\n\n-- last"
        "#]],
    );
    check(
        "def f() = 1\n--| of g\n\n\ndef g() = 2",
        expect![[r#"
        Def "f" 0: "def f() = 1\n--| of g"
        Def "g" 23: "def g() = 2"
    "#]],
    );
    check("-- nothing else\n", expect![""]);
}

#[test]
fn junk() {
    check(
        "x + 1\ndef f() = 1\n",
        expect![[r#"
            StrayText "" 0: "x + 1"
            Def "f" 6: "def f() = 1"
        "#]],
    );
    check(
        "\n\n  1 2 3\n",
        expect![[r#"
            StrayText "" 4: "1 2 3"
        "#]],
    );
}
