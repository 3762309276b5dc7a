//! scratch
use iverson_tests::{literate, render};
use lang_core::syntax::{split::split, parser::parse_item};
fn main() {
    for path in literate::pages(&literate::root().join("docs/book/src")).into_iter().chain(literate::pages(&literate::root().join("tests/literate"))) {
        let page = std::fs::read_to_string(&path).unwrap();
        for b in literate::blocks(&page).unwrap() {
            for item in split(&b.text) {
                for d in parse_item(&item.text).diagnostics {
                    println!("{}:{}\n{}", path.display(), b.line, render::diagnostic(&b.text, &d.shift(item.start)));
                }
            }
        }
    }
}
