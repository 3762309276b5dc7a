//! **Rescue of definitions.** Stores the source text of a session after every input. If a
//! computation ignores an interrupt, `interrupt` writes the text to a file, because the next one
//! ends the session.

use std::path::PathBuf;
use std::sync::Mutex;

use crate::files;

static RESCUED_SOURCE: Mutex<String> = Mutex::new(String::new());

/// Replaces the stored text.
pub(crate) fn store_source(text: String) {
    if let Ok(mut source) = RESCUED_SOURCE.lock() {
        *source = text;
    }
}

/// Writes the stored text to a file and returns its path. `None` if nothing is stored or the file
/// cannot be written.
pub(crate) fn write_rescue_file() -> Option<PathBuf> {
    let source = RESCUED_SOURCE.lock().ok()?.clone();
    if source.is_empty() {
        return None;
    }
    let path = files::data_folder()?.join(format!("rescued-{}.iv", std::process::id()));
    files::write(&path, source.as_bytes()).ok()?;
    Some(path)
}
