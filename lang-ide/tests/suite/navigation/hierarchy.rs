//! Tests of the call hierarchy.

use std::fmt::Write;

use expect_test::{Expect, expect};
use lang_ide::calls::{incoming, outgoing, prepare_calls};

use crate::navigation::support::{MAIN, line_and_column, marked, session};

#[track_caller]
fn check(text: &str, expected: &Expect) {
    let (text, at) = marked(text);
    let session = session(&text);
    let mut out = String::new();
    match prepare_calls(&session, MAIN, at) {
        None => out.push_str("nothing\n"),
        Some(item) => {
            let _ = writeln!(out, "{} {:?}: {}", item.name, item.kind, item.detail);
            for (way, calls) in [("from", incoming(&session, &item)), ("to", outgoing(&session, &item))] {
                for call in calls {
                    let places: Vec<String> = call.spans.iter().map(|p| line_and_column(&text, p.start)).collect();
                    let work = call.work.map(|work| format!(": {work}")).unwrap_or_default();
                    let module = call.item.location.module.replace(MAIN, "");
                    let _ = writeln!(out, "{way} {module} {} at {}{work}", call.item.name, places.join(", "));
                }
            }
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn calls_of_definitions() {
    let text = "import linalg
def sq(x: [n]f64) -> f64 = linalg.dot(x, x)
def both(x: [n]f64) -> f64 = sq(x) + sq(2 * x)
derivative sq(x; dx) = both(x)
let y = both([1.0])
do grad(sq)([y])
";
    check(
        &text.replace("def sq", "def $0sq"),
        &expect![[r#"
            sq Def: def sq(x: [n]f64) -> f64 = linalg.dot(x, x)
            from  both at 3:30, 3:38: 4·n − 2
            from  do at 6:9: 0
            to linalg dot at 2:35: 2·n − 1
        "#]],
    );
    check(
        &text.replace("= both([", "= $0both(["),
        &expect![[r#"
            both Def: def both(x: [n]f64) -> f64 = sq(x) + sq(2 * x)
            from  derivative sq at 4:24: 5·n − 1
            from  y at 5:9: 3
            to  sq at 3:30, 3:38: 4·n − 2
        "#]],
    );
    check(
        &text.replace("do grad", "d$0o grad"),
        &expect![[r#"
            do Do: do grad(sq)([y])
            to  sq at 6:9: 0
            to  y at 6:14
        "#]],
    );
    check(
        &text.replace("import", "im$0port"),
        &expect![[r#"
        nothing
    "#]],
    );
}
