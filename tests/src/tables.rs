//! The tables of the book that are made from the implementation's own. In a page, a table stands
//! between `<!-- table: NAME -->` and `<!-- end -->`.

use lang_core::resolve::builtin::Builtin;
use lang_core::resolve::forms::{Const, Derivative, Form};
use lang_core::resolve::scalar_fn::{Domain, ScalarFn};

/// The page with its tables as they should be, or what is wrong with the marks.
///
/// # Errors
/// On a table of an unknown name, or one without an end.
pub fn refresh(page: &str, prelude: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("<!-- table: ") {
        let (name, after) = after.split_once(" -->\n").ok_or("a mark without its end")?;
        let (_, after) = after.split_once("<!-- end -->").ok_or_else(|| format!("table `{name}` has no end"))?;
        let table = table(name, prelude).ok_or_else(|| format!("there is no table `{name}`"))?;
        out.push_str(&format!("{before}<!-- table: {name} -->\n{table}<!-- end -->"));
        rest = after;
    }
    Ok(out + rest)
}

fn table(name: &str, prelude: &str) -> Option<String> {
    let rows: Vec<String> = match name {
        "scalar functions" => ScalarFn::ALL
            .iter()
            .map(|f| {
                let domain = match f.domain() {
                    Domain::Real => "real",
                    Domain::Num => "num",
                    Domain::Int => "int",
                };
                let names: Vec<String> = f.arguments().iter().map(|x| format!("`{}`", x.name)).collect();
                let accuracy = f.accuracy().map(|a| format!("{}, {}", a.double, a.single)).unwrap_or_default();
                let partials: Vec<String> = f.arguments().iter().filter_map(|x| x.partial.map(code)).collect();
                let (names, partials) = (names.join(", "), partials.join("; "));
                format!("| `{}` | {names} | {domain} | {} | {accuracy} | {partials} |", f.name(), cell(f.doc()))
            })
            .collect(),
        "constants" => Const::ALL.iter().map(|c| row(c.name(), c.doc())).collect(),
        "forms" => Form::ALL.iter().map(|f| row(f.name(), f.doc())).collect(),
        "derivatives" => Derivative::ALL.iter().map(|d| row(d.name(), d.doc())).collect(),
        "builtins" => Builtin::ALL.iter().map(|b| row(b.signature().trim_start_matches("def "), b.doc())).collect(),
        "prelude" => definitions(prelude).iter().map(|(signature, doc)| row(signature, doc)).collect(),
        _ => return None,
    };
    let head = if name == "scalar functions" {
        "| name | arguments | on | | ulp | derivative by each argument |\n|---|---|---|---|---|---|\n"
    } else {
        "| name | |\n|---|---|\n"
    };
    Some(head.to_owned() + &rows.join("\n") + "\n")
}

fn row(name: &str, doc: &str) -> String {
    format!("| `{}` | {} |", name.replace('|', "\\|"), cell(doc))
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

fn cell(doc: &str) -> String {
    doc.replace('|', "\\|")
}

/// The signatures of a module's definitions, with their documentation.
fn definitions(module: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut doc: Vec<&str> = Vec::new();
    for line in module.lines() {
        if let Some(text) = line.strip_prefix("--|") {
            doc.push(text.trim());
        } else if let Some(item) = line.strip_prefix("def ") {
            let signature = item.split(" = ").next().unwrap_or(item).trim_end_matches(" =");
            found.push((signature.to_owned(), doc.join(" ")));
            doc.clear();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::refresh;

    #[test]
    fn tables_are_filled_in() {
        let page = "a\n<!-- table: prelude -->\nold\n<!-- end -->\nb\n";
        let prelude = "--| Twice\n--| as much.\ndef f(x: f64) -> f64 =\n  x\ndef g() -> i64 = 1\n";
        let expected = "a\n<!-- table: prelude -->\n| name | |\n|---|---|\n\
                        | `f(x: f64) -> f64` | Twice as much. |\n| `g() -> i64` |  |\n<!-- end -->\nb\n";
        assert_eq!(refresh(page, prelude).unwrap(), expected);
        assert_eq!(refresh(expected, prelude).unwrap(), expected);
        assert!(refresh("<!-- table: none -->\n<!-- end -->", "").is_err());
        assert!(refresh("<!-- table: forms -->\n", "").is_err());
    }
}
