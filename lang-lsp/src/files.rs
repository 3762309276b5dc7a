//! **Files, modules and URIs.** The module of a file is named by its normalised path. A document
//! that was never saved is named by its URI. The library's modules have no files; they have URIs of
//! their own, or a read-only copy.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::SystemTime;

use lang_ide::{LIBRARY, MAX_TEXT_BYTES, ModuleName, module_name};
use tower_lsp::lsp_types::Url;

/// The scheme of the library's documents.
pub(crate) const LIBRARY_SCHEME: &str = "iverson-library";
/// The file name of the prelude, whose module name is empty.
const PRELUDE: &str = "prelude";
/// The maximal number of modules that are read from a workspace. Further modules are read when they
/// are imported.
const MAX_FILES: usize = 20_000;
/// The maximal depth of folders that are searched.
const MAX_DEPTH: usize = 32;

/// Returns the module of a document.
pub(crate) fn module_of(url: &Url) -> ModuleName {
    if url.scheme() == LIBRARY_SCHEME {
        let path = url.path().trim_start_matches('/');
        return library_module(Path::new(path)).unwrap_or_else(|| url.as_str().into());
    }
    let Some(path) = path_of(url) else { return module_name(url.as_str()) };
    path_among_copies(&path).and_then(library_module).unwrap_or_else(|| module_of_path(&path))
}

/// Returns the module of a file of the library's copy: `linalg.iv`.
fn library_module(file: &Path) -> Option<ModuleName> {
    let name = file.to_str()?.strip_suffix(".iv")?;
    let name = if name == PRELUDE { "" } else { name };
    is_library(name).then(|| name.into())
}

/// Returns whether the module is part of the library.
pub(crate) fn is_library(module: &str) -> bool {
    LIBRARY.iter().any(|(name, _)| *name == module)
}

/// Returns the module of a file.
pub(crate) fn module_of_path(path: &Path) -> ModuleName {
    module_name(&path.to_string_lossy())
}

/// Returns the file of a document, if it has one.
pub(crate) fn path_of(url: &Url) -> Option<PathBuf> {
    (url.scheme() == "file").then(|| url.to_file_path().ok()).flatten()
}

/// Returns the file of a module, if its name is an absolute path.
pub(crate) fn path_of_module(module: &str) -> Option<PathBuf> {
    Some(PathBuf::from(module)).filter(|path| path.is_absolute())
}

/// Returns the URI of a module that no client has open. The library has its own scheme for clients
/// with views, and a read-only copy for others.
pub(crate) fn url_of(module: &str, with_views: bool) -> Option<Url> {
    if let Some((name, text)) = LIBRARY.iter().find(|(name, _)| *name == module) {
        let name = if name.is_empty() { PRELUDE } else { name };
        return match with_views {
            true => Url::parse(&format!("{LIBRARY_SCHEME}:/{name}.iv")).ok(),
            false => Url::from_file_path(write_copy(Path::new(&format!("{name}.iv")), text).ok()?).ok(),
        };
    }
    match path_of_module(module) {
        Some(path) => Url::from_file_path(path).ok(),
        None => Url::parse(module).ok(),
    }
}

/// The prefix of the folder of copies; the process id follows.
const COPIES_PREFIX: &str = "iverson-lsp-";

/// Returns the folder for copies of documents without files.
pub(crate) fn copies_folder() -> PathBuf {
    std::env::temp_dir().join(format!("{COPIES_PREFIX}{}", std::process::id()))
}

/// Returns the relative path of a file among the copies of a server, this one or another.
pub(crate) fn path_among_copies(path: &Path) -> Option<&Path> {
    let mut parts = path.strip_prefix(std::env::temp_dir()).ok()?.components();
    let folder = parts.next()?.as_os_str().to_str()?;
    folder.strip_prefix(COPIES_PREFIX)?.parse::<u32>().ok().map(|_| parts.as_path())
}

/// Writes a read-only file with this text, for clients that only show files.
pub(crate) fn write_copy(name: &Path, text: &str) -> io::Result<PathBuf> {
    let path = copies_folder().join(name);
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    if fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(path);
    }
    // A reader sees either the old or the new text.
    let part = path.with_extension("part");
    fs::write(&part, text)?;
    let mut permissions = fs::metadata(&part)?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&part, permissions)?;
    // Some systems do not replace a read-only file.
    fs::rename(&part, &path).or_else(|_| fs::remove_file(&path).and_then(|()| fs::rename(&part, &path)))?;
    Ok(path)
}

/// Removes the copies.
pub(crate) fn remove_copies() {
    let _ = fs::remove_dir_all(copies_folder());
}

/// Reads the text of a file, or returns the reason why it cannot be read.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let fail = |e: io::Error| e.to_string();
    let file = fs::File::open(path).map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_TEXT_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() > MAX_TEXT_BYTES {
        return Err(format!("larger than {} MiB", MAX_TEXT_BYTES >> 20));
    }
    String::from_utf8(bytes).map_err(|e| format!("invalid UTF-8 at byte {}", e.utf8_error().valid_up_to()))
}

/// Returns the module files in a folder, except in hidden folders and build folders of other
/// tools.
pub(crate) fn modules_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, deep)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            let name = name.to_string_lossy();
            if kind.is_dir() && deep < MAX_DEPTH && !name.starts_with('.') && name != "node_modules" && name != "target"
            {
                folders.push((entry.path(), deep.saturating_add(1)));
            } else if kind.is_file() && name.ends_with(".iv") {
                found.push(entry.path());
                if found.len() >= MAX_FILES {
                    return found;
                }
            }
        }
    }
    found
}

/// The modification time and length of a file; `None` if there is no file.
type FileStamp = Option<(SystemTime, u64)>;

/// The stamps of the files that were read.
#[derive(Default)]
pub(crate) struct FileStamps(HashMap<PathBuf, FileStamp>);

impl FileStamps {
    /// Reads a file. The stamp is taken first, so that a change during the read is noticed later.
    pub(crate) fn read(&mut self, path: &Path) -> Result<String, String> {
        self.0.insert(path.to_owned(), file_stamp(path));
        read(path)
    }

    /// Returns whether the file changed since it was read. `false` for a file that was never read.
    pub(crate) fn has_changed(&self, path: &Path) -> bool {
        self.0.get(path).is_some_and(|then| *then != file_stamp(path))
    }
}

fn file_stamp(path: &Path) -> FileStamp {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// A task of the reader thread.
type ReaderTask = Box<dyn FnOnce(&mut FileStamps) + Send>;

/// A thread that reads files, one task after another.
pub(crate) struct FileReader(Sender<ReaderTask>);

impl FileReader {
    /// Starts the thread.
    pub(crate) fn start() -> Self {
        let (sender, tasks) = channel::<ReaderTask>();
        let work = move || {
            let mut stamps = FileStamps::default();
            tasks.into_iter().for_each(|task| task(&mut stamps));
        };
        std::thread::spawn(work);
        Self(sender)
    }

    /// Queues a task.
    pub(crate) fn run(&self, task: impl FnOnce(&mut FileStamps) + Send + 'static) {
        let _ = self.0.send(Box::new(task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: &str) {
        assert_eq!(module_of(&Url::parse(url).unwrap()), expected);
    }

    #[test]
    #[cfg(unix)]
    fn modules_of_documents() {
        check("file:///a/b%20c/%CE%BC.iv", "/a/b c/μ.iv");
        check("file:///a/./b/../c.iv", "/a/c.iv");
        check("untitled:Untitled-1", "untitled:Untitled-1");
        check("iverson-library:/linalg.iv", "linalg");
        check("iverson-library:/prelude.iv", "");
        let copy = url_of("linalg", false).unwrap();
        assert_eq!(module_of(&copy), "linalg");
        assert_eq!(url_of("/a/b c.iv", true).unwrap().as_str(), "file:///a/b%20c.iv");
    }
}
