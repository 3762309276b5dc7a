//! **Find references**, over all modules. The server's `textDocument/references` calls it.

use lang_core::session::Session;

use crate::Location;
use crate::find::{declarations, occurrences};
use crate::names::{NameTarget, name_at};

/// Returns the occurrences of the name at an offset, by module and position. The declarations are
/// included if `declaration` is true. A field counts as the same in all records with the same field
/// names that can reach each other. For a word of the language only the places in this module are
/// returned.
#[must_use]
pub fn references(session: &Session, module: &str, at: u32, declaration: bool) -> Vec<Location> {
    let Some((item, found)) = name_at(session, module, at) else { return Vec::new() };
    let declared = match (&found.meaning, declaration) {
        // The import of a module is not its declaration.
        (NameTarget::Module(_), _) | (_, true) => Vec::new(),
        (what, false) => declarations(session, &item, what),
    };
    let places = occurrences(session, &item, &found, None).into_iter();
    let mut places: Vec<Location> =
        places.map(|(item, found)| Location { module: item.module, span: found.span }).collect();
    places.retain(|place| !declared.contains(place));
    places.sort();
    places.dedup();
    places
}
