//! An edited text has the same items as the same text split at once.

use proptest::prelude::*;

use crate::text::FileText;

/// Texts at the boundaries of items, whole and in parts.
const PARTS: &[&str] = &[
    "def f(x: f64) -> f64 = x\n",
    "def",
    "type T = f64\n",
    "import linalg\n",
    "import",
    "do f(1.0)\n",
    "let a = 1.0\n",
    "let a =\nlet b = 1.0\nin a\n",
    "let (a, b) =",
    "in a\n",
    "derivative f(x: f64)(v: f64) -> f64 = v\n",
    "adjoint f(",
    "-- Comment.\n",
    "--| Documentation.\n",
    "  -- Indented.\n",
    "--",
    "x.",
    "type: f64",
    "=",
    "\"",
    "é",
    "∑",
    "\u{feff}",
    "\r",
    " ",
    "  ",
    "\n",
    "\n\n",
    "a",
];

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PARTS), 0..12).prop_map(|parts| parts.concat())
}

fn edits() -> impl Strategy<Value = Vec<(f64, f64, String)>> {
    let part = proptest::collection::vec(proptest::sample::select(PARTS), 0..3).prop_map(|parts| parts.concat());
    // Short ranges more often than long ones.
    proptest::collection::vec((0.0..1.0, (0.0..1.0f64).prop_map(|part| part.powi(8)), part), 1..12)
}

/// Returns the position at the fraction `part` of a length.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "small and positive"
)]
fn share(part: f64, of: usize) -> usize {
    (part * (of + 1) as f64) as usize
}

proptest! {
    #[test]
    fn an_edited_text_has_the_items_of_a_new_one(text in text(), edits in edits()) {
        let (mut edited, mut set) = (FileText::new(&text), FileText::new(&text));
        for (start, length, part) in edits {
            let before = edited.text().clone();
            let start = share(start, before.len());
            let end = start + share(length, before.len() - start.min(before.len()));
            let (replaced, was) = edited.edit(start..end, &part);
            prop_assert_eq!(replaced.len(), was.len());
            prop_assert_eq!(&edited, &FileText::new(edited.text()), "{:?} of {:?} becomes {:?}", start..end, before, part);
            let text = edited.text().clone();
            set.set(&text);
            prop_assert_eq!(&set, &edited);
        }
    }
}
