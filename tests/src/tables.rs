//! **Generated tables** of the book. Fills tables from the implementation's own lists, so that the
//! book cannot disagree with it. In a page, a table lies between `<!-- table: NAME -->` and
//! `<!-- end -->`.

use lang_core::resolve::builtin::Builtin;
use lang_core::resolve::forms::{Const, DerivativeOp, LoadOption, PlotKind, PlotOption, SpecialForm};
use lang_core::resolve::scalar_fn::{ScalarDomain, ScalarFn};
use lang_core::session::PRELUDE;
use lang_core::syntax::docs::{self, DefinitionDocs, ModuleDocs};

use crate::library;

/// Returns the page with its tables regenerated.
///
/// # Errors
/// If a table has an unknown name or no end mark.
pub fn refresh(page: &str, modules: &[(&str, String)]) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("<!-- table: ") {
        let (name, after) = after.split_once(" -->\n").ok_or("a mark without its end")?;
        let (_, after) = after.split_once("<!-- end -->").ok_or_else(|| format!("table `{name}` has no end"))?;
        let table = table(name, modules).ok_or_else(|| format!("there is no table `{name}`"))?;
        out.push_str(&format!("{before}<!-- table: {name} -->\n{table}<!-- end -->"));
        rest = after;
    }
    Ok(out + rest)
}

fn table(name: &str, modules: &[(&str, String)]) -> Option<String> {
    let rows: Vec<String> = match name {
        "scalar functions" => ScalarFn::ALL
            .iter()
            .map(|f| {
                let domain = match f.domain() {
                    ScalarDomain::Real => "real",
                    ScalarDomain::Num => "num",
                    ScalarDomain::Int => "int",
                };
                let names: Vec<String> = f.arguments().iter().map(|x| format!("`{}`", x.name)).collect();
                let accuracy = f.accuracy().map(|a| format!("{}, {}", a.double, a.single)).unwrap_or_default();
                let partials: Vec<String> = f.arguments().iter().filter_map(|x| x.partial.map(code)).collect();
                let (names, partials) = (names.join(", "), partials.join("; "));
                format!("| `{}` | {names} | {domain} | {} | {accuracy} | {partials} |", f.name(), cell(f.doc()))
            })
            .collect(),
        "constants" => Const::ALL.iter().map(|c| row(c.name(), c.doc())).collect(),
        "forms" => SpecialForm::ALL.iter().map(|f| row(f.name(), f.doc())).collect(),
        "plot kinds" => PlotKind::ALL.iter().map(|k| row(k.name(), k.doc())).collect(),
        "plot options" => PlotOption::ALL.iter().map(|o| row(o.name(), o.doc())).collect(),
        "load options" => LoadOption::ALL.iter().map(|o| row(o.name(), o.doc())).collect(),
        "derivatives" => DerivativeOp::ALL.iter().map(|d| row(d.name(), d.doc())).collect(),
        "builtins" => Builtin::ALL.iter().map(|b| row(b.signature().trim_start_matches("def "), b.doc())).collect(),
        "prelude" => {
            let (_, text) = modules.iter().find(|(module, _)| *module == PRELUDE)?;
            let definition = |d: &DefinitionDocs| row(d.signature.trim_start_matches("def "), &docs::summary(&d.docs));
            ModuleDocs::from_text(text).definitions().map(definition).collect()
        }
        "modules" => modules
            .iter()
            .map(|(module, text)| {
                let title = library::title(module);
                format!("| [`{title}`]({title}.md) | {} |", cell(&docs::summary(&ModuleDocs::from_text(text).head)))
            })
            .collect(),
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

/// Returns the summary of the book with the pages of these modules listed below the library's page.
#[must_use]
pub fn summary(summary: &str, modules: &[&str]) -> String {
    let mut out = String::new();
    // Only the page of a module has its title as its file name.
    let of_module = |line: &str| {
        let entry = line.strip_prefix("  - [").and_then(|entry| entry.strip_suffix(".md)"));
        entry.and_then(|entry| entry.split_once("](library/")).is_some_and(|(title, file)| title == file)
    };
    for line in summary.lines().filter(|line| !of_module(line)) {
        out.push_str(&format!("{line}\n"));
        if line.contains("](library/index.md)") {
            let titles = modules.iter().map(|module| library::title(module));
            out.extend(titles.map(|title| format!("  - [{title}](library/{title}.md)\n")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{refresh, summary};

    #[test]
    fn tables_are_filled_in() {
        let page = "a\n<!-- table: prelude -->\nold\n<!-- end -->\nb\n";
        let prelude = "--| Twice\n--| as much.\n--|\n--| More.\ndef f(x: f64) -> f64 =\n  x\ndef g() -> i64 = 1\n";
        let modules = [("", prelude.to_owned()), ("sums", "-- Sums\n-- of all.\n\n-- More\n".to_owned())];
        let expected = "a\n<!-- table: prelude -->\n| name | |\n|---|---|\n\
                        | `f(x: f64) -> f64` | Twice as much. |\n| `g() -> i64` |  |\n<!-- end -->\nb\n";
        assert_eq!(refresh(page, &modules).unwrap(), expected);
        assert_eq!(refresh(expected, &modules).unwrap(), expected);
        assert!(
            refresh("<!-- table: modules -->\n<!-- end -->", &modules)
                .unwrap()
                .contains("(sums.md) | Sums of all. |\n")
        );
        assert!(refresh("<!-- table: none -->\n<!-- end -->", &[]).is_err());
        assert!(refresh("<!-- table: forms -->\n", &[]).is_err());
    }

    #[test]
    fn modules_are_listed_in_the_summary() {
        let old = "- [L](library/index.md)\n  - [old](library/old.md)\n  - [N](library/n.md)\n- [x](x.md)\n";
        let new = "- [L](library/index.md)\n  - [prelude](library/prelude.md)\n  - [a](library/a.md)\n  - [N](library/n.md)\n- [x](x.md)\n";
        assert_eq!(summary(old, &["", "a"]), new);
        assert_eq!(summary(new, &["", "a"]), new);
    }
}
