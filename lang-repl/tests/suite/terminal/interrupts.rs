//! Ctrl-C at random moments: during typing, computing and printing. The session must always
//! continue with all its definitions.

use std::time::Duration;

use crate::harness::Dir;
use crate::harness::screen::{Screen, is_tmux_installed};

/// Returns the number of interrupts; `IVERSON_COUNT` selects more, up to 1000, which take minutes.
fn count() -> u64 {
    let requested_count = std::env::var("IVERSON_COUNT").ok().and_then(|n| n.parse::<u64>().ok());
    requested_count.map_or(60, |n| n.clamp(1, 1000))
}

/// A small random number generator, reproducible for a seed.
struct KnuthRandom(u64);

impl KnuthRandom {
    fn number_below(&mut self, n: u64) -> u64 {
        // The constants are Knuth's.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// The inputs that are interrupted.
const WORK: &[&str] = &[
    // Typing without Enter.
    "let lost = 1 +",
    // Computing.
    "fold s = 0.0 for i < 1_000_000_000: s + sqrt(f64(i))\r",
    "let lost = fold s = 0.0 for i < 1_000_000_000: s + sqrt(f64(i))\r",
    "grad(\\(x: f64): fold s = x for i < 100_000_000: sin(s))(1.0)\r",
    // Redefining a value that others depend on; if it is interrupted, the old one must remain.
    "let first = (sum i < 300_000_000: 0 * i) + 1000\r",
    // Printing.
    "do print(for i < 100_000, j < 3: i)\r",
    "do (for i < 100_000: f64(i))\r",
    // Reading from a pipe without a writer.
    "let lost: [?n]f64 = load(\"pipe.npy\")\r",
    // Checking, computing and showing within moments.
    "def again(x: [n]f64) -> f64 = sum i: x[i]\r",
];

#[test]
fn an_interrupt_at_any_moment_loses_nothing() {
    if !is_tmux_installed("an_interrupt_at_any_moment_loses_nothing") {
        return;
    }
    let dir = Dir::new(&[]);
    let pipe = dir.path().join("pipe.npy");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let screen = Screen::new(&dir, "", (80, 24));
    let seed = std::env::var("IVERSON_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(7);
    let mut random = KnuthRandom(seed);
    screen.type_text("let first = 1000\r");
    screen.wait_for_text("first: i64 = 1000\niverson>");
    let count = count();
    for n in 0..count {
        screen.type_text(&format!("let d{n} = {n}\r"));
        screen.wait_for_text(&format!("d{n}: i64 = {n}\niverson>"));
        let before = screen.screen();
        let work = WORK[random.number_below(WORK.len() as u64) as usize];
        screen.type_text(work);
        std::thread::sleep(Duration::from_millis(random.number_below(60)));
        screen.press_keys(&["C-c"]);
        come_back(&screen, work, &before);
        let earlier = random.number_below(n + 1);
        screen.type_text(&format!("first + d{earlier}\r"));
        screen.wait_for_text(&format!("iverson> first + d{earlier}\ni64 = {}\niverson>", 1000 + earlier));
        screen.clear();
    }
    // All definitions exist.
    let all: Vec<String> = (0..count).map(|n| format!("d{n}")).collect();
    for some in all.chunks(8) {
        let sum: u64 = some.iter().map(|name| name[1..].parse::<u64>().unwrap()).sum();
        screen.type_text(&format!("{}\r", some.join(" + ")));
        screen.wait_for_text(&format!("{}\ni64 = {sum}\niverson>", some.join(" + ")));
        screen.clear();
    }
}

/// Waits for an empty prompt after the work. An interrupt that came before the computation began is
/// repeated, as a user would do.
#[track_caller]
fn come_back(screen: &Screen, work: &str, before: &str) {
    for _ in 0..60 {
        for _ in 0..100 {
            let shown = screen.screen();
            // The prompt from before the work is no sign: its keys were not read yet.
            if shown.lines().last() == Some("iverson>") && shown != before {
                // The text may be painted after the prompt.
                std::thread::sleep(Duration::from_millis(20));
                if screen.screen() == shown {
                    return;
                }
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        screen.press_keys(&["C-c"]);
    }
    panic!("`{work}` does not stop; there is\n{}", screen.screen());
}
