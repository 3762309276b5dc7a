//! Signals that end the process during line editing. Before it ends, the terminal's original mode
//! is restored.

/// Starts a thread that restores the terminal if SIGTERM, SIGHUP or SIGQUIT ends the process.
#[cfg(unix)]
pub(crate) fn keep_terminal_sane() {
    use std::io::Write as _;

    use nix::sys::termios::{SetArg, tcgetattr, tcsetattr};
    use signal_hook::consts::{SIGHUP, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;

    let Ok(found) = tcgetattr(std::io::stdin()) else { return };
    let Ok(mut signals) = Signals::new([SIGTERM, SIGHUP, SIGQUIT]) else { return };
    let watch = move || {
        if let Some(signal) = signals.forever().next() {
            let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, &found);
            // Disables bracketed paste, shows the cursor, and begins a new line for the next
            // prompt.
            #[expect(clippy::disallowed_methods, reason = "the process ends, whether or not the terminal is there")]
            let mut out = std::io::stdout();
            let _ = out.write_all(b"\x1b[?2004l\x1b[?25h\r\n").and_then(|()| out.flush());
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(watch);
}

/// Other systems close the terminal with the process.
#[cfg(not(unix))]
pub(crate) fn keep_terminal_sane() {}
