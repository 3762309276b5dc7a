//! **Snapshots in a folder**: recorded outputs, one file for each module, so that a reviewer reads
//! the outputs beside the module they belong to. A file that no test writes any more is a failure.

#![allow(clippy::panic, reason = "a failed expectation is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use expect_test::expect_file;

use iverson_tests::literate::{files_with_extension, is_update_mode, repository_root};

/// Compares each part with the file of its name in `tests/golden/<folder>`. Names have `/` between
/// folders and an extension. With `UPDATE_EXPECT=1` the files are written, and files without a part
/// are removed.
///
/// # Panics
/// If a part differs from its file, or if a file has no part.
pub(crate) fn assert_folder(folder: &str, parts: &BTreeMap<String, String>) {
    let folder = repository_root().join("tests/golden").join(folder);
    let written: BTreeSet<PathBuf> = parts.keys().map(|name| folder.join(name)).collect();
    let extensions: BTreeSet<_> = written.iter().filter_map(|path| path.extension()?.to_str()).collect();
    let recorded = extensions.iter().flat_map(|extension| files_with_extension(&folder, extension));
    let stale: Vec<PathBuf> = recorded.filter(|path| !written.contains(path)).collect();
    if is_update_mode() {
        for path in written.iter().filter_map(|path| path.parent()) {
            std::fs::create_dir_all(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        for path in &stale {
            std::fs::remove_file(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    } else {
        assert!(stale.is_empty(), "no test writes these files any more: {stale:?}");
    }
    for (path, text) in written.iter().zip(parts.values()) {
        expect_file![path].assert_eq(text);
    }
}
