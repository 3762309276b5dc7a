//! Reading and writing of files. Text must be UTF-8, and all input has a bounded size. Writes are
//! atomic.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use lang_core::base::{Code, Span};
use lang_core::runtime::Refusal;
use lang_core::syntax::lexer::MAX_TEXT_BYTES;

use crate::data::{self, DataFormat};
use crate::interrupt;
use crate::out::Status;
use crate::problem::Problem;
use crate::source::Sources;

/// Returns the display name of a path; `-` is standard input.
pub(crate) fn display_path(path: &Path) -> String {
    if is_stdin(path) { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// Whether the path means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads the text of a file, or of standard input, of at most `MAX_TEXT` bytes.
pub(crate) fn read(path: &Path, sources: &mut Sources) -> Result<String, Box<Problem>> {
    let name = display_path(path);
    let bytes = read_bytes(path).map_err(|e| Box::new(read_problem(&name, &e)))?;
    if bytes.len() > MAX_TEXT_BYTES {
        let most = MAX_TEXT_BYTES >> 20;
        let message = format!("`{name}` is too large; a text file may have at most {most} MiB");
        return Err(Box::new(Problem::new(Code::E0008, message).with_file(name)));
    }
    if let Some(encoding) = wide_encoding(&bytes) {
        let problem = Problem::new(Code::E0007, format!("`{name}` is not UTF-8: it is {encoding}")).with_file(name);
        return Err(Box::new(problem.with_help("save the file as UTF-8")));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(e) => Err(Box::new(utf8_problem(&name, e.as_bytes(), e.utf8_error().valid_up_to(), sources))),
    }
}

/// Reads at most one byte more than `MAX_TEXT`, so that endless files end.
fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_TEXT_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    if is_stdin(path) {
        io::stdin().lock().take(most).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let path = path.to_owned();
    let read = move || -> io::Result<Vec<u8>> {
        open_file(&path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    run_interruptible(read).unwrap_or_else(|| Err(io::Error::other("interrupted")))
}

/// The interval between two checks for Ctrl-C during a blocking read.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs work that may block forever, such as reading a pipe without a writer, on a thread. Returns
/// `None` if Ctrl-C is pressed; the thread is then abandoned.
pub(crate) fn run_interruptible<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (give, take) = mpsc::channel();
    let run = move || {
        // The receiver may be gone.
        let _ = give.send(work());
    };
    std::thread::Builder::new().name("reading".to_owned()).spawn(run).ok()?;
    loop {
        match take.recv_timeout(POLL_INTERVAL) {
            Ok(done) => return Some(done),
            Err(mpsc::RecvTimeoutError::Timeout) if !interrupt::is_requested() => {}
            Err(_) => return None,
        }
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
}

/// Reads the bytes of a data file. A file that is not regular, and so may be endless, is limited to
/// `MAX_TEXT` bytes.
pub(crate) fn read_data(path: &Path, format: DataFormat) -> Result<Vec<u8>, Refusal> {
    read_with(path, format, |file, known| {
        let mut bytes = Vec::new();
        if let Some(known) = known {
            bytes.reserve_exact(usize::try_from(known).unwrap_or_default().saturating_add(1));
        }
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

/// Opens a data file and calls `read` with it and its number of bytes.
pub(crate) fn read_with<T>(
    path: &Path,
    format: DataFormat,
    read: impl FnOnce(&mut File, Option<u64>) -> io::Result<T>,
) -> Result<T, Refusal> {
    let name = display_path(path);
    let failed = |e: io::Error| Refusal {
        is_missing_file: e.kind() == io::ErrorKind::NotFound,
        ..Refusal::new(Code::E0602, format!("`{name}` cannot be read: {}", failure_reason(&e)))
    };
    let mut file = open_file(path).map_err(failed)?;
    let known = file.metadata().map_err(failed)?;
    let most = if known.is_file() { format.max_bytes() } else { format.max_bytes().min(MAX_TEXT_BYTES) };
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    let too_large = || Refusal::new(Code::E0602, format!("`{name}` is too large; the limit is {} MiB", most >> 20));
    if known.len() > limit {
        return Err(too_large());
    }
    if known.is_file() {
        return read(&mut file, Some(known.len())).map_err(failed);
    }
    // The content is stored up to its end or its limit, because formats seek in files.
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > most {
        return Err(too_large());
    }
    let mut kept = anonymous_file(&bytes).map_err(failed)?;
    read(&mut kept, u64::try_from(bytes.len()).ok()).map_err(failed)
}

/// Returns a file without a name that contains the bytes.
fn anonymous_file(bytes: &[u8]) -> io::Result<File> {
    use std::io::Seek as _;
    let path = std::env::temp_dir().join(format!("iverson-{}", std::process::id()));
    let (mut file, path) = create_temporary(&path)?;
    // Some systems refuse to remove an open file; there the name remains.
    let _ = fs::remove_file(path);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// Returns the encoding of a text that is not UTF-8, if its first bytes show one.
pub(crate) fn wide_encoding(bytes: &[u8]) -> Option<&'static str> {
    let starts = bytes.get(..64.min(bytes.len())).unwrap_or_default();
    let zeros = |from: usize| {
        let every_second = || starts.iter().skip(from).step_by(2);
        every_second().count() > 1 && every_second().all(|b| *b == 0)
    };
    match starts {
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => Some("UTF-32"),
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => Some("UTF-16"),
        _ if zeros(0) != zeros(1) => Some("UTF-16"),
        _ => None,
    }
}

/// Writes a data file atomically; Ctrl-C does not interrupt it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    write_with(path, |file| {
        file.is_interruptible = false;
        Ok(file.write_all(bytes)?)
    })
}

/// The reason why a file was not written.
pub(crate) enum WriteError {
    /// The format cannot represent the value.
    Unrepresentable(Refusal),
    Failed(io::Error),
}

impl From<io::Error> for WriteError {
    fn from(e: io::Error) -> Self {
        Self::Failed(e)
    }
}

/// A file whose writes fail after Ctrl-C if `is_interruptible` is true.
pub(crate) struct InterruptibleFile {
    file: File,
    is_interruptible: bool,
}

impl io::Write for InterruptibleFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_interruptible && interrupt::is_requested() {
            return Err(io::Error::other(WriteInterrupted));
        }
        // Parts are small, so that a single write is short.
        self.file.write(bytes.get(..bytes.len().min(1 << 20)).unwrap_or_default())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl io::Seek for InterruptibleFile {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// The error of a write that Ctrl-C stopped.
#[derive(Debug)]
struct WriteInterrupted;

impl std::fmt::Display for WriteInterrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for WriteInterrupted {}

/// Whether Ctrl-C caused the error.
pub(crate) fn is_interrupt(e: &io::Error) -> bool {
    e.get_ref().is_some_and(|inner| inner.is::<WriteInterrupted>())
}

/// Writes a data file with `write`. The write is atomic: on failure the old content remains.
pub(crate) fn write_with<T>(
    path: &Path,
    write: impl FnOnce(&mut InterruptibleFile) -> Result<T, WriteError>,
) -> Result<T, Refusal> {
    let written = match fs::metadata(path) {
        Ok(known) if known.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory).into()),
        Ok(known) if !known.is_file() => Err(io::Error::other("it is not a regular file").into()),
        Ok(_) => replace_existing(path, write),
        Err(e) if e.kind() == io::ErrorKind::NotFound => write_and_rename(path, write, None),
        Err(e) => Err(e.into()),
    };
    written.map_err(|why| match why {
        WriteError::Unrepresentable(refusal) => refusal,
        WriteError::Failed(e) if is_interrupt(&e) => data::interrupt_refusal(),
        WriteError::Failed(e) => {
            let why = match e.kind() {
                io::ErrorKind::NotFound => "no such directory".to_owned(),
                _ => failure_reason(&e),
            };
            Refusal::new(Code::E0605, format!("`{}` cannot be written: {why}", display_path(path)))
        }
    })
}

fn read_problem(name: &str, e: &io::Error) -> Problem {
    let why = failure_reason(e);
    let problem = Problem::new(Code::E0602, format!("`{name}` cannot be read: {why}")).with_file(name);
    match e.kind() {
        io::ErrorKind::NotFound => problem.with_help("paths are relative to the current directory"),
        _ => problem,
    }
}

/// Returns why a file operation failed, in the same words on every system.
pub(crate) fn failure_reason(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::StorageFull => "no space left on the device".to_owned(),
        _ => e.to_string(),
    }
}

/// Reports text that is not UTF-8. The report shows the lossy text, in which invalid bytes are
/// U+FFFD.
fn utf8_problem(name: &str, bytes: &[u8], at: usize, sources: &mut Sources) -> Problem {
    let byte = bytes.get(at).copied().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let source = sources.add(name, text.into_owned());
    // The text before the first invalid byte is unchanged, so the position is valid in the lossy
    // text too.
    let start = u32::try_from(at).unwrap_or(u32::MAX);
    Problem::new(Code::E0007, format!("`{name}` is not UTF-8: byte {at} is 0x{byte:02X}"))
        .with_place(source, Span::new(start, start.saturating_add(3)), "not UTF-8 from here")
        .with_help("save the file as UTF-8")
}

/// Replaces the content of a file atomically: writes the new content beside it and renames it. A
/// reader sees the old or the new content. Links are followed and permissions kept.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Box<Problem>> {
    let write = |file: &mut InterruptibleFile| {
        file.is_interruptible = false;
        Ok(file.write_all(text.as_bytes())?)
    };
    replace_existing(path, write).map_err(|why| {
        let name = display_path(path);
        let why = match why {
            WriteError::Unrepresentable(refusal) => refusal.message,
            WriteError::Failed(e) => failure_reason(&e),
        };
        Box::new(Problem::new(Code::E0602, format!("`{name}` cannot be written: {why}")).with_file(name))
    })
}

fn replace_existing<T>(
    path: &Path,
    write: impl FnOnce(&mut InterruptibleFile) -> Result<T, WriteError>,
) -> Result<T, WriteError> {
    let path = fs::canonicalize(path)?;
    let permissions = fs::metadata(&path)?.permissions();
    if permissions.readonly() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied).into());
    }
    write_and_rename(&path, write, Some(permissions))
}

fn write_and_rename<T>(
    path: &Path,
    write: impl FnOnce(&mut InterruptibleFile) -> Result<T, WriteError>,
    permissions: Option<fs::Permissions>,
) -> Result<T, WriteError> {
    let (file, temporary) = create_temporary(path)?;
    let mut file = InterruptibleFile { file, is_interruptible: true };
    let written = write(&mut file).and_then(|done| {
        let InterruptibleFile { file, is_interruptible: heeds } = file;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        // Syncing to disk can take long, and Ctrl-C must not wait for it.
        match heeds {
            true => {
                run_interruptible(move || file.sync_all()).unwrap_or_else(|| Err(io::Error::other(WriteInterrupted)))?
            }
            false => file.sync_all()?,
        }
        fs::rename(&temporary, path)?;
        Ok(done)
    });
    if written.is_err() {
        // The original error is the one to report; a leftover temporary file is the lesser evil.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Creates a file in the same directory, under a name that no other process uses.
fn create_temporary(path: &Path) -> io::Result<(File, PathBuf)> {
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

/// Returns the status of a command that could not read a file of its command line. A missing or
/// unreadable file is a usage error; wrong content is not.
pub(crate) fn read_failure_status(problem: &Problem) -> Status {
    if problem.code == Code::E0602 { Status::Usage } else { Status::Failed }
}

/// Returns the folder for persistent data of sessions, `$XDG_DATA_HOME/iverson`. Creates it with
/// access for the user only.
pub(crate) fn data_folder() -> Option<PathBuf> {
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
