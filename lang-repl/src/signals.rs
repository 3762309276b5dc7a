//! Signals that end the process while a line is edited: the terminal is given back as it was found.

/// Watches over the terminal until the process ends.
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
            // Pasted text is no longer bracketed, the cursor is seen, the next prompt has a line of its own.
            #[expect(clippy::disallowed_methods, reason = "the process ends, whether or not the terminal is there")]
            let mut out = std::io::stdout();
            let _ = out.write_all(b"\x1b[?2004l\x1b[?25h\r\n").and_then(|()| out.flush());
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(watch);
}

/// Other systems end their terminals with their processes.
#[cfg(not(unix))]
pub(crate) fn keep_terminal_sane() {}
