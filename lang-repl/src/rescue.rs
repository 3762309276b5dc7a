//! Rescue of a session's definitions. If a computation cannot be stopped and the user ends the
//! session, `interrupt` writes the last text stored here to a file.

use std::path::PathBuf;
use std::sync::Mutex;

use crate::files;

static RESCUED_SOURCE: Mutex<String> = Mutex::new(String::new());

/// Stores the text.
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
