//! Test harness for terminals: runs a session of the binary in tmux, sends keys to it, and reads
//! the screen.

#![allow(dead_code, reason = "no test uses all of it")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::harness::Dir;

/// Whether tmux is installed. If `IVERSON_REQUIRE_ALL` is set, its absence is a failure.
pub(crate) fn is_tmux_installed(test: &str) -> bool {
    let version = Command::new("tmux").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let there = version.is_ok_and(|status| status.success());
    if !there {
        assert!(std::env::var_os("IVERSON_REQUIRE_ALL").is_none(), "there is no tmux, which {test} needs");
        eprintln!("{test} is skipped: there is no tmux");
    }
    there
}

/// The time limit for expected output; test machines are slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with a program in it, which is closed on drop.
pub(crate) struct Screen {
    server: String,
    /// The id of the process in the terminal.
    process: String,
}

impl Screen {
    /// Runs the binary with these arguments in a terminal of this size.
    pub(crate) fn new(dir: &Dir, args: &str, (columns, rows): (u16, u16)) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let server = format!("iverson-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut screen = Self { server, process: String::new() };
        let data = dir.path().join("data");
        let program = format!(
            "sh -c 'echo process $$; exec env -u NO_COLOR TERM=screen XDG_DATA_HOME={} {} {args}'; echo \"status $?\"; stty -a | grep -o -- '-\\?icanon'; sleep 100",
            data.display(),
            env!("CARGO_BIN_EXE_iverson")
        );
        let size = [columns.to_string(), rows.to_string()];
        let folder = dir.path().to_str().unwrap();
        let output = screen.tmux(&["new-session", "-d", "-x", &size[0], "-y", &size[1], "-c", folder, &program]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let shown = screen.wait_for_text("iverson> ");
        let process = shown.lines().find_map(|line| line.strip_prefix("process "));
        process.unwrap_or_default().clone_into(&mut screen.process);
        screen
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.args(["-u", "-L", &self.server, "-f", "/dev/null"]).args(args);
        // A surrounding tmux must not affect this one.
        command.env_remove("TMUX").env("LC_ALL", "C.UTF-8").stdin(Stdio::null()).output().unwrap()
    }

    /// Types text.
    pub(crate) fn type_text(&self, text: &str) {
        // A semicolon at the end would end the tmux command.
        let text = text.strip_suffix(';').map_or_else(|| text.to_owned(), |text| format!("{text}\\;"));
        self.tmux(&["send-keys", "-l", "--", &text]);
    }

    /// Presses keys, by their names in tmux.
    pub(crate) fn press_keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Pastes text, as a bracketed paste if the program supports it.
    pub(crate) fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", "--", text]);
        self.tmux(&["paste-buffer", "-p", "-r"]);
    }

    /// Returns the text on the screen, without trailing blanks and trailing empty lines.
    pub(crate) fn screen(&self) -> String {
        let shown = self.tmux(&["capture-pane", "-p"]).stdout;
        let shown = String::from_utf8_lossy(&shown).into_owned();
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Sends a signal to the process in the terminal.
    #[track_caller]
    pub(crate) fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args([&format!("-{signal}"), &self.process]).status();
        assert!(kill.unwrap().success(), "no process {}", self.process);
    }

    /// Appends the raw output of the program to a file from now on.
    pub(crate) fn record(&self, file: &Path) {
        let output = self.tmux(&["pipe-pane", &format!("cat >> {}", file.display())]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Waits until the recorded output contains this text, and returns all of it.
    #[track_caller]
    pub(crate) fn until_recorded(&self, file: &Path, wanted: &str) -> String {
        let start = Instant::now();
        loop {
            let output = String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned();
            if output.contains(wanted) {
                return output;
            }
            assert!(start.elapsed() < PATIENCE, "waited for {wanted} in {output:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the screen satisfies `good`, and returns its text.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, good: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if good(&screen) {
                return screen;
            }
            assert!(start.elapsed() < PATIENCE, "waited for {what}; there is\n{screen}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until this text is on the screen.
    #[track_caller]
    pub(crate) fn wait_for_text(&self, wanted: &str) -> String {
        let wanted = wanted.trim_end();
        self.wait_until(wanted, |screen| screen.contains(wanted))
    }

    /// Waits until the last line is an empty prompt.
    #[track_caller]
    pub(crate) fn wait_for_prompt(&self) -> String {
        self.wait_until("a prompt", |screen| screen.lines().last() == Some("iverson>"))
    }

    /// Clears the screen, so that it shows only later output. A key just after Ctrl-C is discarded
    /// with the line, so the key is repeated until the screen is clear.
    #[track_caller]
    pub(crate) fn clear(&self) {
        for _ in 0..100 {
            self.press_keys(&["C-l"]);
            for _ in 0..10 {
                if self.screen() == "iverson>" {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        panic!("the screen is not cleared; there is\n{}", self.screen());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let socket = self.tmux(&["display-message", "-p", "#{socket_path}"]).stdout;
        self.tmux(&["kill-server"]);
        // The server does not remove its socket.
        let _ = std::fs::remove_file(String::from_utf8_lossy(&socket).trim());
    }
}
