//! Tests of line editing: blocks, history, paste, completion, and the end of a session. Each test
//! runs the REPL in a tmux terminal, sends keys and compares the screen. Without tmux the test is
//! skipped.

use crate::harness::Dir;
use crate::harness::screen::{Screen, is_tmux_installed};

const SIZE: (u16, u16) = (80, 24);

/// Waits for the text `awaited` and the next prompt, and compares the screen. Then clears it.
#[track_caller]
fn check(screen: &Screen, awaited: &str, expected: &str) {
    screen.wait_for_text(awaited);
    let shown = screen.wait_until("a prompt", |s| s.lines().last().is_some_and(|l| l.starts_with("iverson>")));
    assert_eq!(shown, expected.trim_end());
    screen.press_keys(&["C-c"]);
    screen.wait_for_text("iverson>");
    screen.press_keys(&["C-u"]);
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
    screen.type_text("def f(x: f64) ->");
    screen.press_keys(&["Enter"]);
    screen.type_text("f64 =");
    screen.press_keys(&["Enter"]);
    screen.type_text("x +");
    screen.press_keys(&["Enter"]);
    screen.type_text("2");
    screen.wait_for_text("     ..      2");
    screen.press_keys(&["Up", "Home", "Right", "Right", "DC"]);
    screen.type_text("y");
    screen.press_keys(&["BSpace"]);
    screen.type_text("x");
    screen.press_keys(&["Enter"]);
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
    screen.type_text("let a = 1 in");
    screen.press_keys(&["Enter"]);
    screen.type_text("let b = 2 in");
    screen.press_keys(&["Enter"]);
    screen.type_text("a + b");
    screen.press_keys(&["Enter"]);
    check(&screen, "i64 = 3", "iverson> let a = 1 in\n     ..    let b = 2 in\n     ..      a + b\ni64 = 3\niverson>");
    // Alt-Enter begins a new line in a complete input.
    screen.type_text("2");
    screen.press_keys(&["M-Enter"]);
    screen.type_text("* 3");
    screen.wait_for_text("..  * 3");
    screen.press_keys(&["Enter"]);
    check(&screen, "i64 = 6", "iverson> 2\n     ..  * 3\ni64 = 6\niverson>");
    // The left and right arrows step over margins.
    screen.type_text("(4");
    screen.press_keys(&["M-Enter", "Left"]);
    screen.type_text("5");
    screen.press_keys(&["Right"]);
    screen.type_text(")");
    screen.wait_for_text("iverson> (45\n     ..  )");
    screen.press_keys(&["Enter"]);
    check(&screen, "i64 = 45", "iverson> (45\n     ..  )\ni64 = 45\niverson>");
    // Backspace at a margin joins lines.
    screen.type_text("1 +");
    screen.press_keys(&["Enter", "BSpace", "BSpace", "BSpace"]);
    screen.type_text("1");
    screen.press_keys(&["M-Enter"]);
    screen.type_text("+ 1");
    screen.wait_for_text("..  + 1");
    screen.press_keys(&["Enter"]);
    check(&screen, "i64 = 3", "iverson> 1 +1\n     ..  + 1\ni64 = 3\niverson>");
    // A block is recalled as a whole, and the typed prefix remains the search term.
    screen.type_text("let a = 5;");
    screen.press_keys(&["Enter"]);
    screen.wait_for_prompt();
    screen.clear();
    screen.type_text("def");
    screen.press_keys(&["Up"]);
    screen.wait_for_text("..      2");
    screen.press_keys(&["C-c"]);
    screen.wait_for_text("iverson>");
    screen.clear();
    screen.type_text("1 ");
    screen.press_keys(&["Up"]);
    screen.wait_for_text("+ 1");
    screen.press_keys(&["Down", "Down"]);
    screen.wait_until("the typed prefix", |s| s.trim_end() == "iverson> 1");
    screen.press_keys(&["C-c"]);
    screen.clear();
    // Ctrl-R searches inside entries.
    screen.press_keys(&["C-r"]);
    screen.type_text("x +");
    screen.wait_for_text("..      2");
    screen.press_keys(&["C-g"]);
    screen.clear();
    // Ctrl-D ends the session only on an empty line.
    screen.type_text("f");
    screen.press_keys(&["C-a", "C-d"]);
    screen.wait_until("an empty line", |s| s == "iverson>");
    screen.press_keys(&["C-d"]);
    screen.wait_for_text("status 0\nicanon");
    // The next session has the block in its history.
    let next = Screen::new(&dir, "", SIZE);
    next.clear();
    next.type_text("def");
    next.press_keys(&["Up"]);
    next.wait_for_text("     ..      2");
    next.press_keys(&["Enter"]);
    next.wait_for_text("def f(x: f64) -> f64\niverson>");
}

#[test]
fn an_expensive_run_needs_confirmation() {
    if !is_tmux_installed("an_expensive_run_needs_confirmation") {
        return;
    }
    let dir = Dir::new(&[]);
    let screen = Screen::new(&dir, "", SIZE);
    screen.type_text(":set budget 1_000\r");
    screen.type_text("sum i < 100: f64(i)\r");
    screen.wait_for_text("f64 = 4950.0\niverson>");
    screen.clear();
    // An empty answer means no, and so does Ctrl-C; no definition is lost.
    for (answer, key) in [("n\r", ""), ("\r", ""), ("", "C-c")] {
        screen.type_text("let y = sum i < 10_000: f64(i)\r");
        screen.wait_for_text("this takes up to 30000 operations; run it? [y/N]");
        screen.type_text(answer);
        if !key.is_empty() {
            screen.press_keys(&[key]);
        }
        screen.wait_for_text("the run was not confirmed");
        screen.type_text("y\r");
        screen.wait_for_text("`y` is not defined");
        screen.clear();
    }
    screen.type_text("let y = sum i < 10_000: f64(i)\r");
    screen.wait_for_text("run it? [y/N]");
    screen.type_text("y\r");
    screen.wait_for_text("y: f64 = 49995000.0\niverson>");
    screen.clear();
    // Text that is no answer means no and becomes the next input, because it may be typed ahead.
    screen.type_text("sum i < 10_000: f64(i)\r");
    screen.wait_for_text("run it? [y/N]");
    screen.type_text("1 + 41\r");
    screen.wait_for_text("the run was not confirmed");
    screen.wait_for_text("iverson> 1 + 41");
    screen.type_text("\r");
    screen.wait_for_text("i64 = 42\niverson>");
    screen.clear();
    // A run that exceeds the memory limit fails before it begins, without a question.
    screen.type_text(":set memory 10\r");
    screen.type_text("for i < 100_000_000: f64(i)\r");
    screen.wait_for_text("[E0508] Error: this computation needs 763 MiB at once");
    screen.clear();
    screen.type_text("for i < 100_000_000_000: f64(i)\r");
    screen.wait_for_text("[E0508]");
    screen.clear();
    screen.type_text(":set budget off\r");
    screen.type_text("sum i < 10_000: f64(i)\r");
    screen.wait_for_text("f64 = 49995000.0\niverson>");
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
    screen.wait_for_text("i64 = 42");
    screen.press_keys(&["Enter"]);
    screen.wait_for_text("x: [2]i64 = [1, 2]\ni64 = 42\niverson>");
    screen.clear();
    // Without prompts, every line of a paste is input. Indented lines continue the previous input.
    screen.paste("def g(x: f64) -> f64 =\n  2 * x\ng(4.0)");
    screen.press_keys(&["Enter"]);
    screen.wait_for_text("def g(x: f64) -> f64\nf64 = 8.0\niverson>");
    screen.clear();
    // The session reads all lines that arrive during an evaluation.
    screen.type_text("1 + 1\r2 + 2\r3 + 3\r");
    screen.wait_for_text("i64 = 2");
    screen.wait_for_text("i64 = 4");
    screen.wait_for_text("i64 = 6\niverson>");
}

#[test]
fn tab_completes() {
    if !is_tmux_installed("tab_completes") {
        return;
    }
    let dir = Dir::new(&[("points.csv", b"1,2\n3,4\n")]);
    let screen = Screen::new(&dir, "--color never", SIZE);
    screen.clear();
    screen.type_text("let p = {left: 1.0, len: (2, 3)};");
    screen.press_keys(&["Enter"]);
    screen.wait_for_prompt();
    screen.clear();
    screen.type_text("p.l");
    screen.press_keys(&["Tab"]);
    screen.wait_for_text("left  len\niverson> p.le");
    screen.type_text("n.");
    screen.press_keys(&["Tab"]);
    screen.wait_for_text("0  1");
    screen.type_text("1");
    screen.press_keys(&["Enter"]);
    screen.wait_for_text("i64 = 3\niverson>");
    screen.clear();
    screen.type_text("let d: [?n, ?m]f64 = load(\"po");
    screen.press_keys(&["Tab"]);
    screen.wait_for_text("load(\"points.csv");
    screen.type_text("\")");
    screen.press_keys(&["Enter"]);
    screen.wait_for_text("[[1.0, 2.0],\n [3.0, 4.0]]\niverson>");
    screen.clear();
    screen.type_text(":set na");
    screen.press_keys(&["Tab"]);
    screen.type_text(" s");
    screen.press_keys(&["Tab"]);
    screen.wait_for_text("iverson> :set nan stop");
    screen.press_keys(&["Enter"]);
    screen.wait_for_prompt();
    screen.type_text(":set pr");
    screen.press_keys(&["Tab"]);
    screen.type_text(" n");
    screen.press_keys(&["Tab"]);
    screen.wait_for_text("iverson> :set progress never");
    screen.press_keys(&["Enter"]);
    screen.wait_for_prompt();
    screen.type_text("\\th");
    screen.press_keys(&["Tab"]);
    screen.type_text("\\_0");
    screen.press_keys(&["Tab"]);
    screen.wait_for_text("iverson> θ₀");
    screen.press_keys(&["C-c"]);
    screen.wait_for_prompt();
    screen.type_text("sqrt(-1.0)");
    screen.press_keys(&["Enter"]);
    screen.wait_for_text("[E0515] Error: this result is NaN");
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
    screen.press_keys(&["Enter"]);
    screen.wait_for_prompt();
    screen.clear();
    // The margin ends in a no-break space.
    let suggestion = "iverson> def s(x: f64) -> f64 =\n        \u{a0}  let y = x\n        \u{a0}  in y";
    screen.type_text("de");
    screen.wait_for_text(suggestion);
    screen.press_keys(&["Tab"]);
    screen.wait_until("the list", |s| s == format!("iverson> de\ndef    deriv\n{suggestion}"));
    screen.press_keys(&["C-u"]);
    screen.type_text("sqrt(l");
    screen.wait_for_text("sqrt(x: a)");
    screen.press_keys(&["Tab"]);
    let list = "len     lgamma  load    log1p\nlet     linalg  log     loop";
    let end = format!("iverson> sqrt(l\n{list}\niverson> sqrt(l\n        \u{a0}sqrt(x: a) -> a where a: real");
    screen.wait_until("the list at the end", |s| s.ends_with(&end));
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
        screen.press_keys(&["Enter"]);
        let name = line.split(' ').nth(1).unwrap();
        screen.wait_for_text(&format!("{name}: "));
        screen.wait_for_prompt();
        screen.clear();
    }
    drop(both);
    let next = Screen::new(&dir, "", SIZE);
    next.clear();
    for line in lines.iter().rev() {
        next.press_keys(&["Up"]);
        next.wait_for_text(&line.replace('\n', "\n     ..  "));
        // The arrow key first moves through the lines of a block.
        next.press_keys(&["Home", "C-a"]);
        if line.contains('\n') {
            next.press_keys(&["Up"]);
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
        screen.type_text("1 + ");
        screen.wait_for_text("iverson> 1 +");
        screen.signal(signal);
        let shown = screen.wait_for_text("status");
        let shown = if shown.ends_with("icanon") { shown } else { screen.wait_for_text("icanon") };
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
    screen.type_text(&text);
    screen.signal("CONT");
    let shown = screen.wait_for_text("1299");
    // No character is lost, and the prompt keeps its place.
    let line: String = shown.lines().map(|line| line.trim_start_matches("iverson> ")).collect::<Vec<_>>().join("");
    let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    assert_eq!(plain(&line), plain(&text));
    assert!(shown.starts_with("iverson> 1000 + 1001"), "{shown}");
    screen.press_keys(&["Enter"]);
    let sum = (1000..1300).sum::<i64>().to_string();
    screen.wait_for_text(&format!("i64 = {sum}"));
    let painted = screen.until_recorded(&output, &sum).matches("iverson>").count();
    // The first keys of a burst are painted one by one, and a busy machine may divide the burst.
    assert!((1..text.len() / 2).contains(&painted), "{painted} paints of {} keys", text.len());
}
