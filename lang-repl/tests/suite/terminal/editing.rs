//! Tests of line editing: blocks, history, paste, completion, and the end of a session. Each test
//! runs the REPL in a tmux terminal, sends keys and compares the screen. Without tmux the test is
//! skipped.

use crate::harness::Dir;
use crate::harness::screen::{Screen, is_tmux_installed};

const SIZE: (u16, u16) = (80, 24);

/// Waits for the text `awaited` and the next prompt, and compares the screen. Then clears it.
#[track_caller]
fn check(screen: &Screen, awaited: &str, expected: &str) {
    screen.shows(awaited);
    let shown = screen.until("a prompt", |s| s.lines().last().is_some_and(|l| l.starts_with("iverson>")));
    assert_eq!(shown, expected.trim_end());
    screen.keys(&["C-c"]);
    screen.shows("iverson>");
    screen.keys(&["C-u"]);
    screen.clear();
}

#[test]
fn blocks_are_edited_as_one() {
    if !is_tmux_installed("blocks_are_edited_as_one") {
        return;
    }
    let dir = Dir::new(&[]);
    let screen = Screen::new(&dir, "", SIZE);
    screen.clear();
    // A continuation line is indented. The up arrow moves inside the block. Enter submits the block
    // from any of its lines.
    screen.text("def f(x: f64) ->");
    screen.keys(&["Enter"]);
    screen.text("f64 =");
    screen.keys(&["Enter"]);
    screen.text("x +");
    screen.keys(&["Enter"]);
    screen.text("2");
    screen.shows("     ..      2");
    screen.keys(&["Up", "Home", "Right", "Right", "DC"]);
    screen.text("y");
    screen.keys(&["BSpace"]);
    screen.text("x");
    screen.keys(&["Enter"]);
    check(
        &screen,
        "def f(x: f64) -> f64\n",
        "\
iverson> def f(x: f64) ->
     ..  f64 =
     ..    x +
     ..      2
def f(x: f64) -> f64
iverson>",
    );
    // The text after `in` belongs to the expression, so it is indented.
    screen.text("let a = 1 in");
    screen.keys(&["Enter"]);
    screen.text("let b = 2 in");
    screen.keys(&["Enter"]);
    screen.text("a + b");
    screen.keys(&["Enter"]);
    check(&screen, "i64 = 3", "iverson> let a = 1 in\n     ..    let b = 2 in\n     ..      a + b\ni64 = 3\niverson>");
    // Alt-Enter begins a new line in a complete input.
    screen.text("2");
    screen.keys(&["M-Enter"]);
    screen.text("* 3");
    screen.shows("..  * 3");
    screen.keys(&["Enter"]);
    check(&screen, "i64 = 6", "iverson> 2\n     ..  * 3\ni64 = 6\niverson>");
    // The left and right arrows step over margins.
    screen.text("(4");
    screen.keys(&["M-Enter", "Left"]);
    screen.text("5");
    screen.keys(&["Right"]);
    screen.text(")");
    screen.shows("iverson> (45\n     ..  )");
    screen.keys(&["Enter"]);
    check(&screen, "i64 = 45", "iverson> (45\n     ..  )\ni64 = 45\niverson>");
    // Backspace at a margin joins lines.
    screen.text("1 +");
    screen.keys(&["Enter", "BSpace", "BSpace", "BSpace"]);
    screen.text("1");
    screen.keys(&["M-Enter"]);
    screen.text("+ 1");
    screen.shows("..  + 1");
    screen.keys(&["Enter"]);
    check(&screen, "i64 = 3", "iverson> 1 +1\n     ..  + 1\ni64 = 3\niverson>");
    // A block is recalled as a whole, and the typed prefix remains the search term.
    screen.text("let a = 5;");
    screen.keys(&["Enter"]);
    screen.prompts();
    screen.clear();
    screen.text("def");
    screen.keys(&["Up"]);
    screen.shows("..      2");
    screen.keys(&["C-c"]);
    screen.shows("iverson>");
    screen.clear();
    screen.text("1 ");
    screen.keys(&["Up"]);
    screen.shows("+ 1");
    screen.keys(&["Down", "Down"]);
    screen.until("the typed prefix", |s| s.trim_end() == "iverson> 1");
    screen.keys(&["C-c"]);
    screen.clear();
    // Ctrl-R searches inside entries.
    screen.keys(&["C-r"]);
    screen.text("x +");
    screen.shows("..      2");
    screen.keys(&["C-g"]);
    screen.clear();
    // Ctrl-D ends the session only on an empty line.
    screen.text("f");
    screen.keys(&["C-a", "C-d"]);
    screen.until("an empty line", |s| s == "iverson>");
    screen.keys(&["C-d"]);
    screen.shows("status 0\nicanon");
    // The next session has the block in its history.
    let next = Screen::new(&dir, "", SIZE);
    next.clear();
    next.text("def");
    next.keys(&["Up"]);
    next.shows("     ..      2");
    next.keys(&["Enter"]);
    next.shows("def f(x: f64) -> f64\niverson>");
}

#[test]
fn an_expensive_run_needs_confirmation() {
    if !is_tmux_installed("an_expensive_run_needs_confirmation") {
        return;
    }
    let dir = Dir::new(&[]);
    let screen = Screen::new(&dir, "", SIZE);
    screen.text(":set budget 1_000\r");
    screen.text("sum i < 100: f64(i)\r");
    screen.shows("f64 = 4950.0\niverson>");
    screen.clear();
    // An empty answer means no, and so does Ctrl-C; no definition is lost.
    for (answer, key) in [("n\r", ""), ("\r", ""), ("", "C-c")] {
        screen.text("let y = sum i < 10_000: f64(i)\r");
        screen.shows("this takes up to 30000 operations; run it? [y/N]");
        screen.text(answer);
        if !key.is_empty() {
            screen.keys(&[key]);
        }
        screen.shows("the run was not confirmed");
        screen.text("y\r");
        screen.shows("`y` is not defined");
        screen.clear();
    }
    screen.text("let y = sum i < 10_000: f64(i)\r");
    screen.shows("run it? [y/N]");
    screen.text("y\r");
    screen.shows("y: f64 = 49995000.0\niverson>");
    screen.clear();
    // Text that is no answer means no and becomes the next input, because it may be typed ahead.
    screen.text("sum i < 10_000: f64(i)\r");
    screen.shows("run it? [y/N]");
    screen.text("1 + 41\r");
    screen.shows("the run was not confirmed");
    screen.shows("iverson> 1 + 41");
    screen.text("\r");
    screen.shows("i64 = 42\niverson>");
    screen.clear();
    // A run that exceeds the memory limit fails before it begins, without a question.
    screen.text(":set memory 10\r");
    screen.text("for i < 100_000_000: f64(i)\r");
    screen.shows("[E0508] Error: this computation needs 763 MiB at once");
    screen.clear();
    screen.text("for i < 100_000_000_000: f64(i)\r");
    screen.shows("[E0508]");
    screen.clear();
    screen.text(":set budget off\r");
    screen.text("sum i < 10_000: f64(i)\r");
    screen.shows("f64 = 49995000.0\niverson>");
}

#[test]
fn pasted_text_may_contain_prompts() {
    if !is_tmux_installed("pasted_text_may_contain_prompts") {
        return;
    }
    let dir = Dir::new(&[]);
    let screen = Screen::new(&dir, "", SIZE);
    screen.clear();
    screen.paste("iverson> let x = [1,\n     ..  2]\nx: [2]i64 = [1, 2]\niverson> x[1] +\n     ..  40\ni64 = 42");
    screen.shows("i64 = 42");
    screen.keys(&["Enter"]);
    screen.shows("x: [2]i64 = [1, 2]\ni64 = 42\niverson>");
    screen.clear();
    // Without prompts, every line of a paste is input. Indented lines continue the previous input.
    screen.paste("def g(x: f64) -> f64 =\n  2 * x\ng(4.0)");
    screen.keys(&["Enter"]);
    screen.shows("def g(x: f64) -> f64\nf64 = 8.0\niverson>");
    screen.clear();
    // The session reads all lines that arrive during an evaluation.
    screen.text("1 + 1\r2 + 2\r3 + 3\r");
    screen.shows("i64 = 2");
    screen.shows("i64 = 4");
    screen.shows("i64 = 6\niverson>");
}

#[test]
fn tab_completes() {
    if !is_tmux_installed("tab_completes") {
        return;
    }
    let dir = Dir::new(&[("points.csv", b"1,2\n3,4\n")]);
    let screen = Screen::new(&dir, "--color never", SIZE);
    screen.clear();
    screen.text("let p = {left: 1.0, len: (2, 3)};");
    screen.keys(&["Enter"]);
    screen.prompts();
    screen.clear();
    screen.text("p.l");
    screen.keys(&["Tab"]);
    screen.shows("left  len\niverson> p.le");
    screen.text("n.");
    screen.keys(&["Tab"]);
    screen.shows("0  1");
    screen.text("1");
    screen.keys(&["Enter"]);
    screen.shows("i64 = 3\niverson>");
    screen.clear();
    screen.text("let d: [?n, ?m]f64 = load(\"po");
    screen.keys(&["Tab"]);
    screen.shows("load(\"points.csv");
    screen.text("\")");
    screen.keys(&["Enter"]);
    screen.shows("[[1.0, 2.0],\n [3.0, 4.0]]\niverson>");
    screen.clear();
    screen.text(":set na");
    screen.keys(&["Tab"]);
    screen.text(" s");
    screen.keys(&["Tab"]);
    screen.shows("iverson> :set nan stop");
    screen.keys(&["Enter"]);
    screen.prompts();
    screen.text(":set pr");
    screen.keys(&["Tab"]);
    screen.text(" n");
    screen.keys(&["Tab"]);
    screen.shows("iverson> :set progress never");
    screen.keys(&["Enter"]);
    screen.prompts();
    screen.text("\\th");
    screen.keys(&["Tab"]);
    screen.text("\\_0");
    screen.keys(&["Tab"]);
    screen.shows("iverson> θ₀");
    screen.keys(&["C-c"]);
    screen.prompts();
    screen.text("sqrt(-1.0)");
    screen.keys(&["Enter"]);
    screen.shows("[E0515] Error: this result is NaN");
}

/// A list of candidates replaces the hint without extra or missing lines, also at the bottom of the
/// screen.
#[test]
fn candidate_lists_replace_hints() {
    if !is_tmux_installed("candidate_lists_replace_hints") {
        return;
    }
    let dir = Dir::new(&[]);
    let screen = Screen::new(&dir, "", (60, 8));
    screen.clear();
    screen.paste("def s(x: f64) -> f64 =\n  let y = x\n  in y");
    screen.keys(&["Enter"]);
    screen.prompts();
    screen.clear();
    // The margin ends in a no-break space.
    let suggestion = "iverson> def s(x: f64) -> f64 =\n        \u{a0}  let y = x\n        \u{a0}  in y";
    screen.text("de");
    screen.shows(suggestion);
    screen.keys(&["Tab"]);
    screen.until("the list", |s| s == format!("iverson> de\ndef    deriv\n{suggestion}"));
    screen.keys(&["C-u"]);
    screen.text("sqrt(l");
    screen.shows("sqrt(x: a)");
    screen.keys(&["Tab"]);
    let list = "len     lgamma  load    log1p\nlet     linalg  log     loop";
    let end = format!("iverson> sqrt(l\n{list}\niverson> sqrt(l\n        \u{a0}sqrt(x: a) -> a where a: real");
    screen.until("the list at the end", |s| s.ends_with(&end));
}

/// Concurrent sessions append to one history file, each input immediately.
#[test]
fn sessions_share_the_history() {
    if !is_tmux_installed("sessions_share_the_history") {
        return;
    }
    let dir = Dir::new(&[]);
    let both = [Screen::new(&dir, "", SIZE), Screen::new(&dir, "", SIZE)];
    let lines = ["let a = 1", "let b =\n  2", "let c = \"3\\n\"", "let d = 4"];
    for (n, line) in lines.iter().enumerate() {
        let screen = &both[n % 2];
        screen.paste(line);
        screen.keys(&["Enter"]);
        let name = line.split(' ').nth(1).unwrap();
        screen.shows(&format!("{name}: "));
        screen.prompts();
        screen.clear();
    }
    drop(both);
    let next = Screen::new(&dir, "", SIZE);
    next.clear();
    for line in lines.iter().rev() {
        next.keys(&["Up"]);
        next.shows(&line.replace('\n', "\n     ..  "));
        // The arrow key first moves through the lines of a block.
        next.keys(&["Home", "C-a"]);
        if line.contains('\n') {
            next.keys(&["Up"]);
        }
    }
}

/// A signal that ends the process restores the original mode of the terminal.
#[test]
fn signals_restore_the_terminal_mode() {
    if !is_tmux_installed("signals_restore_the_terminal_mode") {
        return;
    }
    for signal in ["TERM", "QUIT"] {
        let dir = Dir::new(&[]);
        let screen = Screen::new(&dir, "", SIZE);
        screen.text("1 + ");
        screen.shows("iverson> 1 +");
        screen.signal(signal);
        let shown = screen.shows("status");
        let shown = if shown.ends_with("icanon") { shown } else { screen.shows("icanon") };
        assert!(shown.ends_with("\nicanon"), "{shown}");
    }
}

#[test]
fn a_burst_of_keys_is_painted_together() {
    if !is_tmux_installed("a_burst_of_keys_is_painted_together") {
        return;
    }
    let dir = Dir::new(&[]);
    let screen = Screen::new(&dir, "", (80, 40));
    screen.clear();
    let output = dir.path().join("output");
    screen.record(&output);
    // The text has about 2000 characters and arrives without bracketed paste, while the session is
    // stopped. So all of it waits when the session continues.
    let terms: Vec<String> = (0..300).map(|k| format!("{}", 1000 + k)).collect();
    let text = terms.join(" + ");
    screen.signal("STOP");
    screen.text(&text);
    screen.signal("CONT");
    let shown = screen.shows("1299");
    // No character is lost, and the prompt keeps its place.
    let line: String = shown.lines().map(|line| line.trim_start_matches("iverson> ")).collect::<Vec<_>>().join("");
    let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    assert_eq!(plain(&line), plain(&text));
    assert!(shown.starts_with("iverson> 1000 + 1001"), "{shown}");
    screen.keys(&["Enter"]);
    let sum = (1000..1300).sum::<i64>().to_string();
    screen.shows(&format!("i64 = {sum}"));
    let painted = screen.until_recorded(&output, &sum).matches("iverson>").count();
    // The first keys of a burst are painted one by one, and a busy machine may divide the burst.
    assert!((1..text.len() / 2).contains(&painted), "{painted} paints of {} keys", text.len());
}
