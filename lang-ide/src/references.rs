//! Every place of a name, over all modules.

use lang_core::session::Session;

use crate::Location;
use crate::find::{declarations, occurrences};
use crate::names::{What, name_at};

/// The places of the name at a place, by module and place; with the declaration among them if `declaration`. A field
/// is that of all records with the same fields; of a word of the language the places in this module are told.
#[must_use]
pub fn references(session: &Session, module: &str, at: u32, declaration: bool) -> Vec<Location> {
    let Some((item, found)) = name_at(session, module, at) else { return Vec::new() };
    let declared = match (&found.what, declaration) {
        // The import of a module is no declaration of it.
        (What::Module(_), _) | (_, true) => Vec::new(),
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
