//! What is kept for the case that a session has to be ended in the middle of a computation that cannot be
//! stopped: the text of its definitions, which is written to a file then.

use std::path::PathBuf;
use std::sync::Mutex;

use crate::files;

static SOURCE: Mutex<String> = Mutex::new(String::new());

/// Keeps this text.
pub(crate) fn keep(text: String) {
    if let Ok(mut source) = SOURCE.lock() {
        *source = text;
    }
}

/// Writes what is kept, and tells where; `None` if there is nothing, or nowhere to write it.
pub(crate) fn write() -> Option<PathBuf> {
    let source = SOURCE.lock().ok()?.clone();
    if source.is_empty() {
        return None;
    }
    let path = files::own_folder()?.join(format!("rescued-{}.iv", std::process::id()));
    files::write(&path, source.as_bytes()).ok()?;
    Some(path)
}
