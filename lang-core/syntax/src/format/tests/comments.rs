//! Tests of comments in every position.

use expect_test::expect;

use super::{check, check_body};

#[test]
fn comments_around_items() {
    check(
        "-- header\n\n\n--| Docs.\n--| More.\ndef f() = 1 -- trailing\n-- after, same block\n\n-- before g\ndef g() =\n 2\n    -- about its end\n\n-- far\n",
        expect![[r#"
            -- header

            --| Docs.
            --| More.
            def f() = 1 -- trailing
            -- after, same block

            -- before g
            def g() = 2
              -- about its end

            -- far
        "#]],
    );
}

#[test]
fn comments_inside() {
    check(
        "def f( -- params\n  x: f64, -- the x\n  -- before y\n  y: f64 -- the y\n  -- at the end\n) -> f64 = x",
        expect![[r#"
            def f( -- params
              x: f64, -- the x
              -- before y
              y: f64 -- the y
              -- at the end
            ) -> f64 =
              x
        "#]],
    );
    check(
        "def f(x: f64) -> f64 = -- why\n x + 1",
        expect![[r#"
        def f(x: f64) -> f64 = -- why
          x + 1
    "#]],
    );
    check(
        "def f(x: f64) =\n  -- why\n x + 1 -- end",
        expect![[r#"
        def f(x: f64) =
          -- why
          x + 1 -- end
    "#]],
    );
    check_body(
        "a -- one\n + b -- two\n -- three\n + c",
        expect![[r#"
        def f(x: f64) =
          a -- one
            + b -- two
            -- three
            + c
    "#]],
    );
    check_body(
        "a + -- after the operator\n b * c",
        expect![[r#"
        def f(x: f64) = a + b * c -- after the operator
    "#]],
    );
    check_body(
        "[1, -- one\n 2, 3,\n -- four\n 4]",
        expect![[r#"
        def f(x: f64) =
          [
            1, -- one
            2, 3,
            -- four
            4
          ]
    "#]],
    );
    check_body(
        "g(a, -- first\n b)",
        expect![[r#"
        def f(x: f64) =
          g(
            a, -- first
            b
          )
    "#]],
    );
    check_body(
        "g(a, b -- last\n )",
        expect![[r#"
        def f(x: f64) =
          g(
            a,
            b -- last
          )
    "#]],
    );
    check_body(
        "let y = 1 -- first\n -- second\n let z = 2\n\n -- third\n\n -- fourth\n in -- fifth\n y",
        expect![[r#"
        def f(x: f64) =
          let y = 1 -- first
          -- second
          let z = 2

          -- third

          -- fourth
          in -- fifth
            y
    "#]],
    );
    check_body(
        "if a -- cond\n then b -- yes\n else c -- no",
        expect![[r#"
        def f(x: f64) =
          -- cond
          if a then b -- yes
          else c -- no
    "#]],
    );
    check_body(
        "match t { -- arms\n Leaf(a): a, -- leaf\n -- node\n Node(l, r): -- body\n l\n -- end\n }",
        expect![[r#"
        def f(x: f64) =
          match t { -- arms
            Leaf(a): a, -- leaf
            -- node
            Node(l, r): -- body
              l
            -- end
          }
    "#]],
    );
    check_body(
        "for i < n: -- body\n x[i]",
        expect![[r#"
        def f(x: f64) =
          for i < n: -- body
            x[i]
    "#]],
    );
    check_body(
        "for -- one\n i < -- two\n n: x",
        expect![[r#"
        -- one
        -- two
        def f(x: f64) = for i < n: x
    "#]],
    );
    check_body(
        "x -- one\n . -- two\n name",
        expect![[r#"
        -- one
        -- two
        def f(x: f64) = x.name
    "#]],
    );
    check_body(
        "(-- open\n a -- close\n )",
        expect![[r#"
        def f(x: f64) =
          ( -- open
            a -- close
          )
    "#]],
    );
    check_body(
        "((-- open\n a) -- between\n ) -- end",
        expect![[r#"
        -- open
        def f(x: f64) = (a) -- between
          -- end
    "#]],
    );
    check_body(
        "fold acc = -- init\n 0 -- for\n for i < n: -- body\n acc -- yield\n yield -- value\n acc",
        expect![[r#"
        def f(x: f64) =
          fold acc = -- init
            0 -- for
          for i < n: -- body
            acc -- yield
          yield -- value
            acc
    "#]],
    );
    check(
        "type T = -- type\n -- a\n | A -- first\n | -- second\n B",
        expect![[r#"
        type T = -- type
          -- a
          | A -- first
          | B -- second
    "#]],
    );
    check(
        "import -- one\n linalg -- two",
        expect![[r#"
        -- one
        import linalg -- two
    "#]],
    );
    check(
        "do -- one\n print(x) -- two",
        expect![[r#"
            -- one
            do print(x) -- two
        "#]],
    );
    check(
        "--| Docs.\ndef -- one\n -- two\n f() = 1",
        expect![[r#"
        -- one
        -- two
        --| Docs.
        def f() = 1
    "#]],
    );
    check(
        "import\n--| no documentation\n linalg",
        expect![[r#"
        --| no documentation

        import linalg
    "#]],
    );
}
