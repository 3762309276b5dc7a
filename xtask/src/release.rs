//! **Release.** Builds the programs and packs them into `dist/`: an archive of both programs with
//! the documents that a user needs, and the extension of VS Code as a `.vsix` if npm is installed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The programs of a release.
const PROGRAMS: [&str; 2] = ["iverson", "iverson-lsp"];
/// The files beside the programs in the archive.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Packs a release. A program that cannot be started is an error, except npm.
pub(crate) fn run(root: &Path) -> ExitCode {
    match pack(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn pack(root: &Path) -> Result<(), String> {
    if !crate::cargo(root, &["build", "--release", "--locked", "-p", "lang-repl", "-p", "lang-lsp"], &[]) {
        return Err("the programs do not build".into());
    }
    let dist = root.join("dist");
    let name = format!("iverson-{}-{}-{}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let staging = dist.join(&name);
    // An interrupted run may have left a part of an archive.
    let _ = std::fs::remove_dir_all(&staging);
    let failed = |error: std::io::Error| format!("{}: {error}", staging.display());
    std::fs::create_dir_all(&staging).map_err(failed)?;
    let built = target_folder(root).join("release");
    for program in PROGRAMS {
        let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
        std::fs::copy(built.join(&file), staging.join(&file)).map_err(failed)?;
    }
    for document in DOCUMENTS {
        std::fs::copy(root.join(document), staging.join(document)).map_err(failed)?;
    }
    let archive = format!("{name}.tar.gz");
    run_program("tar", ["-czf", &archive, &name], &dist)?;
    std::fs::remove_dir_all(&staging).map_err(failed)?;
    println!("{}", dist.join(archive).display());
    pack_extension(root, &dist)
}

/// Packs the extension of VS Code.
fn pack_extension(root: &Path, dist: &Path) -> Result<(), String> {
    let folder = root.join("editors/vscode");
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    if Command::new(npm).arg("--version").output().is_err() {
        println!("npm is not installed, so the VS Code extension is not packed");
        return Ok(());
    }
    run_program(npm, ["ci", "--no-audit", "--no-fund"], &folder)?;
    run_program(npm, ["run", "package"], &folder)?;
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries.flatten().filter(|entry| entry.path().extension() == Some(OsStr::new("vsix"))) {
        let packed = dist.join(entry.file_name());
        std::fs::rename(entry.path(), &packed).map_err(|error| format!("{}: {error}", packed.display()))?;
        println!("{}", packed.display());
    }
    Ok(())
}

/// Returns the folder of cargo's builds.
fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}

fn run_program<'a>(program: &str, arguments: impl IntoIterator<Item = &'a str>, folder: &Path) -> Result<(), String> {
    let status = Command::new(program).args(arguments).current_dir(folder).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} failed: {status}")),
        Err(error) => Err(format!("{program} cannot be started: {error}")),
    }
}
