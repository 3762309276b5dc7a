//! Reading and writing files. What is read is UTF-8 text, or data, of bounded size; what is written
//! replaces a file at once or not at all.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use lang_core::base::{Code, Span};
use lang_core::interp::Refusal;
use lang_core::syntax::lexer::MAX_TEXT;

use crate::data::Format;
use crate::interrupt;
use crate::out::Status;
use crate::problem::Problem;
use crate::source::Sources;

/// How a path is shown: `-` is standard input.
pub(crate) fn shown(path: &Path) -> String {
    if is_stdin(path) { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// Does the path stand for standard input?
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The text of a file, or of standard input, of at most as many bytes as a program may have.
pub(crate) fn read(path: &Path, sources: &mut Sources) -> Result<String, Box<Problem>> {
    let name = shown(path);
    let bytes = bytes(path).map_err(|e| Box::new(unreadable(&name, &e)))?;
    if bytes.len() > MAX_TEXT {
        let most = MAX_TEXT >> 20;
        let message = format!("`{name}` is too large; a text has at most {most} MiB");
        return Err(Box::new(Problem::new(Code::E0008, message).file(name)));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(e) => Err(Box::new(not_utf8(&name, e.as_bytes(), e.utf8_error().valid_up_to(), sources))),
    }
}

/// At most one byte more than a text may have, so that endless files end.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_TEXT).unwrap_or(u64::MAX).saturating_add(1);
    if is_stdin(path) {
        io::stdin().lock().take(most).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let path = path.to_owned();
    let read = move || -> io::Result<Vec<u8>> {
        open(&path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    stoppable(read).unwrap_or_else(|| Err(io::Error::other("interrupted")))
}

/// How long Ctrl-C may go unnoticed while something is read.
const WATCH: Duration = Duration::from_millis(20);

/// What some work gives that may take for ever, as reading a pipe nobody writes to. It is done on a thread,
/// which is left alone with it when Ctrl-C asks to stop; then there is nothing.
pub(crate) fn stoppable<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (give, take) = mpsc::channel();
    let run = move || {
        // Nobody may be waiting any more.
        let _ = give.send(work());
    };
    std::thread::Builder::new().name("reading".to_owned()).spawn(run).ok()?;
    loop {
        match take.recv_timeout(WATCH) {
            Ok(done) => return Some(done),
            Err(mpsc::RecvTimeoutError::Timeout) if !interrupt::requested() => {}
            Err(_) => return None,
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
}

/// What stands in a data file. One that is no ordinary file, and so may never end, has at most as many
/// bytes as a text.
pub(crate) fn data(path: &Path, format: Format) -> Result<Vec<u8>, Refusal> {
    let read = || -> io::Result<Result<Vec<u8>, usize>> {
        let file = open(path)?;
        let known = file.metadata()?;
        let most = if known.is_file() { format.limit() } else { format.limit().min(MAX_TEXT) };
        let limit = u64::try_from(most).unwrap_or(u64::MAX);
        if known.len() > limit {
            return Ok(Err(most));
        }
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(if bytes.len() > most { Err(most) } else { Ok(bytes) })
    };
    let name = shown(path);
    match read() {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(most)) => {
            let message = format!("`{name}` is too large; it may have {} MiB", most >> 20);
            Err(Refusal::new(Code::E0602, message))
        }
        Err(e) => Err(Refusal::new(Code::E0602, format!("`{name}` cannot be read: {}", reason(&e)))),
    }
}

/// Writes a data file: all of it, or what was there stays.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let written = match fs::metadata(path) {
        Ok(known) if known.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(known) if !known.is_file() => Err(io::Error::other("it is no ordinary file")),
        Ok(_) => replace_inner(path, bytes),
        Err(e) if e.kind() == io::ErrorKind::NotFound => replace_at(path, bytes, None),
        Err(e) => Err(e),
    };
    written.map_err(|e| {
        let why = match e.kind() {
            io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            _ => reason(&e),
        };
        Refusal::new(Code::E0605, format!("`{}` cannot be written: {why}", shown(path)))
    })
}

fn unreadable(name: &str, e: &io::Error) -> Problem {
    let why = reason(e);
    let problem = Problem::new(Code::E0602, format!("`{name}` cannot be read: {why}")).file(name);
    match e.kind() {
        io::ErrorKind::NotFound => problem.help("the name is taken relative to the current directory"),
        _ => problem,
    }
}

/// Why an operation on a file failed, in the same words on every system.
pub(crate) fn reason(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::StorageFull => "no space is left on the device".to_owned(),
        _ => e.to_string(),
    }
}

/// The report points at the byte in the text as it can be shown: what is no text becomes U+FFFD.
fn not_utf8(name: &str, bytes: &[u8], at: usize, sources: &mut Sources) -> Problem {
    let byte = bytes.get(at).copied().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let source = sources.add(name, text.into_owned());
    // The text before the first bad byte is unchanged, so the position holds in the shown text too.
    let start = u32::try_from(at).unwrap_or(u32::MAX);
    Problem::new(Code::E0007, format!("`{name}` is not UTF-8: byte {at} is 0x{byte:02X}"))
        .at(source, Span::new(start, start.saturating_add(3)), "not UTF-8 from here")
        .help("save the file as UTF-8")
}

/// Replaces the content of a file. The new content is written beside it and moved into place, so
/// that whoever reads sees the old or the new; links are followed and permissions kept.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Box<Problem>> {
    replace_inner(path, text.as_bytes()).map_err(|e| {
        let name = shown(path);
        Box::new(Problem::new(Code::E0602, format!("`{name}` cannot be written: {}", reason(&e))).file(name))
    })
}

fn replace_inner(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let permissions = fs::metadata(&path)?.permissions();
    if permissions.readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    replace_at(&path, bytes, Some(permissions))
}

fn replace_at(path: &Path, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let (file, temporary) = create_beside(path)?;
    let written = write_through(file, bytes, permissions).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The error at hand is the one to tell; a temporary file left over is the lesser evil.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_through(mut file: File, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

/// A new file in the same directory, whose name no other process takes.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for n in 0..100 {
        let candidate = path.with_file_name(format!(".{name}.{}-{n}.tmp", std::process::id()));
        match File::options().write(true).create_new(true).open(&candidate) {
            Ok(file) => return Ok((file, candidate)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// How a command ends that could not read a file named on its command line: that a file is not
/// there or no file is a mistake there, what stands in it is not.
pub(crate) fn status(problem: &Problem) -> Status {
    if problem.code == Code::E0602 { Status::Usage } else { Status::Failed }
}

/// Where sessions keep what outlives them: `$XDG_DATA_HOME/iverson`, made for the user alone.
pub(crate) fn own_folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let data = absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .or_else(|| absolute("APPDATA"))?;
    let directory = data.join("iverson");
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&directory).ok()?;
    Some(directory)
}
