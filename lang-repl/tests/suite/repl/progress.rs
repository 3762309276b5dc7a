//! Tests of the progress bar, in a terminal simulated by `tmux`.

use std::process::Command;
use std::time::{Duration, Instant};

use expect_test::expect;

use crate::harness::Dir;

/// A terminal of 80 columns with a shell.
struct ShellScreen {
    name: String,
}

impl ShellScreen {
    fn new(dir: &Dir, name: &str) -> Option<Self> {
        let screen = Self { name: format!("iverson-{}-{name}", std::process::id()) };
        let shell = "env -u ENV PS1='> ' TERM=screen sh";
        let folder = dir.path().display().to_string();
        let started =
            screen.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", &folder, shell]);
        if started.is_none() {
            assert!(std::env::var_os("IVERSON_REQUIRE_ALL").is_none(), "there is no `tmux`");
            eprintln!("skipped: there is no `tmux`");
            return None;
        }
        Some(screen)
    }

    fn tmux(&self, args: &[&str]) -> Option<String> {
        let output = Command::new("tmux").args(["-L", &self.name]).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat()).unwrap();
    }

    fn line(&self, text: &str) {
        self.keys(&["-l", text]);
        self.keys(&["Enter"]);
    }

    /// Returns the text on the screen.
    fn text(&self) -> String {
        let text = self.tmux(&["capture-pane", "-p"]).unwrap();
        text.trim_end().lines().flat_map(|line| [line, "\n"]).collect()
    }

    /// Waits until the screen satisfies `wanted`, and returns its text.
    #[track_caller]
    fn until(&self, wanted: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let text = self.text();
            if wanted(&text) {
                return text;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for ShellScreen {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

/// Computations of hours, which the tests interrupt.
const LONG: &str = "def slow(n: i64) -> f64 = fold s = 0.0 for i < n: s + (sum j < 1000: f64(j) / f64(i + 1))\n\
    def f(x: [n]f64) -> f64 = sum i: x[i] * (sum j < 20000: f64(j))\n\
    def g(x: [n]f64) -> f64 = let y = if dbg(x[0]) > 0.0 then 1.0 else 2.0 in y * f(x)\n\
    def noted(n: i64) -> f64 = slow(dbg(n))\n";

/// The output of `noted` before its loop, which is not in the typed command.
const NOTE: &str = "long.iv:4:";

fn is_bar(line: &str) -> bool {
    line.starts_with('[') && line.contains("] step ") && line.contains(" of ") && line.contains(" left")
}

fn has_bar(text: &str) -> bool {
    text.lines().any(is_bar)
}

#[test]
fn a_bar_comes_and_goes() {
    let dir = Dir::new(&[("long.iv", LONG.as_bytes())]);
    let Some(screen) = ShellScreen::new(&dir, "bar") else { return };
    let iverson = env!("CARGO_BIN_EXE_iverson");
    screen.line(&format!("alias iverson={iverson}; clear"));
    screen.until(|text| text == "> \n" || text == ">\n");
    screen.line("iverson eval 'slow(100000000)' -l long.iv --color never");
    screen.until(has_bar);
    screen.keys(&["C-c"]);
    // After the interrupt the bar is gone, and the report is in its place.
    let text = screen.until(|text| text.contains("E0507") && text.ends_with("> \n") || text.ends_with(">\n"));
    assert!(!has_bar(&text) && !text.contains(" left"), "{text}");
    // In a session, program output appears above the bar.
    screen.line("clear; iverson --color never");
    screen.until(|text| text.contains("Ctrl-D quits"));
    screen.line(":load long.iv");
    screen.until(|text| text.contains("loaded"));
    screen.line("grad(g)(for i < 3000: 1.0)");
    let text = screen.until(|text| text.lines().any(|line| line.contains("grad: pass ")));
    let at = |what: &str| text.lines().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{text}"));
    assert!(at("long.iv:3:") < at("grad: pass"), "{text}");
    screen.keys(&["C-c"]);
    let text = screen.until(|text| text.contains("E0507"));
    assert!(!text.contains("grad: pass"), "{text}");
    screen.line("1 + 1");
    screen.until(|text| text.contains("i64 = 2"));
    // An endless loop shows steps and a rate.
    screen.line("loop i = 0 while i >= 0: i + 1");
    let text = screen.until(|text| text.contains(" steps, "));
    assert!(text.lines().any(|line| line.contains(" steps, ") && line.ends_with("/s")), "{text}");
    screen.keys(&["C-c"]);
    screen.until(|text| !text.contains(" steps, "));
    // A machine-code loop in chunks, in any order, shows a bar too.
    screen.line("clear");
    screen.line(":reset");
    screen.line(":set budget off");
    screen.line("sum i < 30000000000: sqrt(f64(i))");
    screen.until(has_bar);
    screen.keys(&["C-c"]);
    screen.until(|text| text.contains("E0507") && !has_bar(text));
}

/// Runs the same computation with a bar in another terminal, after the one without a bar has begun.
/// When the bar appears there, it would have appeared here too.
#[test]
fn no_bar_where_it_is_not_wanted() {
    let dir = Dir::new(&[("long.iv", LONG.as_bytes())]);
    let Some(screen) = ShellScreen::new(&dir, "none") else { return };
    let Some(other) = ShellScreen::new(&dir, "other") else { return };
    let iverson = env!("CARGO_BIN_EXE_iverson");
    let file = dir.path().join("told");
    let wanted = [("", "--progress never"), ("TERM=dumb", ""), ("", "--format json"), ("", "2>told")];
    for (round, (before, after)) in wanted.into_iter().enumerate() {
        // Text typed before the shell has cleared the screen would be erased. The shell computes
        // the sum, so the result differs from the typed text. It changes in each round, because the
        // previous round stays on the screen until it is cleared.
        let cleared = |screen: &ShellScreen| {
            screen.line(&format!("clear; echo cleared-$((10 + {round}))"));
            screen.until(|text| text.starts_with(&format!("cleared-{}\n", 10 + round)));
        };
        // Standard error is on the screen or in the file.
        let shown = |text: &str| text.to_owned() + &std::fs::read_to_string(&file).unwrap_or_default();
        cleared(&screen);
        screen.line(&format!("{before} {iverson} eval 'noted(100000000)' -l long.iv --color never {after}"));
        screen.until(|text| shown(text).contains(NOTE));
        cleared(&other);
        other.line(&format!("{iverson} eval 'noted(100000000)' -l long.iv --color never"));
        other.until(has_bar);
        let text = shown(&screen.text());
        assert!(text.contains(NOTE) && !has_bar(&text) && !text.contains(" left"), "{before} {after}\n{text}");
        for screen in [&screen, &other] {
            screen.keys(&["C-c"]);
        }
        // The computation was running until now.
        screen.until(|text| shown(text).contains("E0507"));
        other.until(|text| text.contains("E0507"));
        assert!(!shown(&screen.text()).contains(" left"), "{before} {after}");
    }
}

#[test]
fn the_option_is_told() {
    let dir = Dir::new(&[]);
    dir.check_all(
        &[&["eval", "1", "--progress", "never"], &["eval", "1", "--progress", "always"]],
        expect![[r#"
        $ iverson eval 1 --progress never
        1
        $ iverson eval 1 --progress always
        --- stderr
        error: invalid value 'always' for '--progress <WHEN>'
          [possible values: auto, never]

        For more information, try '--help'.
        --- status 2
    "#]],
    );
}
