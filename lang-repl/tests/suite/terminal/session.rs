//! A newcomer's session with mistakes, step by step. It produces the book's page about it:
//! `UPDATE_EXPECT=1` writes the page, so that the page shows exactly the user's screen.

use std::path::PathBuf;

use crate::harness::Dir;
use crate::harness::screen::{Screen, is_tmux_installed};

/// A step: its description, the keys, and the expected text on the screen.
struct SessionStep {
    title: &'static str,
    said: &'static str,
    /// Text, with the names of keys between `<` and `>`.
    keys: &'static str,
    /// The text that shows that the step is done.
    shows: &'static str,
    /// Whether the prompt comes back at the end.
    prompts: bool,
}

const fn step(title: &'static str, said: &'static str, keys: &'static str, shows: &'static str) -> SessionStep {
    SessionStep { title, said, keys, shows, prompts: true }
}

/// Creates a step that ends in the middle of a line.
const fn typing(title: &'static str, said: &'static str, keys: &'static str, shows: &'static str) -> SessionStep {
    SessionStep { title, said, keys, shows, prompts: false }
}

const STEPS: &[SessionStep] = &[
    step("A first value", "The answer to an expression is its type and its value.", "1 + 2<Enter>", "i64 = 3"),
    step(
        "A name",
        "`let` keeps a value. An integer literal becomes a real if the context needs one; `3` alone is an integer.",
        "let x = [3.0, 4.0]<Enter>",
        "x: [2]f64",
    ),
    step(
        "A slip",
        "The error for a misspelt name suggests the closest known name. The session is unchanged.",
        "sqrrt(x[0])<Enter>",
        "did you mean",
    ),
    step(
        "A definition on several lines",
        "An input that ends in `=` is incomplete, so Enter begins a new, indented line. All lines are one input: the \
         arrows move in it, and Enter anywhere in it submits it once it is complete.",
        "def norm(v: [n]f64) -> f64 =<Enter>sqrt(sum i: v[i]^2)<Enter>",
        "def norm(v: [n]f64) -> f64\n",
    ),
    typing(
        "What a function takes",
        "Inside the parentheses of a call, the signature appears below the line with the current parameter \
         highlighted.",
        "norm(",
        "norm(v: [n]f64) -> f64",
    ),
    step("The call", "", "x)<Enter>", "f64 = 5.0"),
    step(
        "A function of two arrays",
        "Both arrays have the size `n`, so their sizes must agree.",
        "def dist(a: [n]f64, b: [n]f64) -> f64 = norm(a - b)<Enter>",
        "def dist",
    ),
    step(
        "Sizes that do not agree",
        "The sizes are compared before anything is computed.",
        "dist(x, [1.0, 2.0, 3.0])<Enter>",
        "Error",
    ),
    step("`ans` is the last value", "", "dist(x, [0.0, 0.0]) + ans<Enter>", "f64 = 10.0"),
    step(
        "A gradient",
        "`grad` yields the gradients by all arguments; `wrt` selects one.",
        "grad(dist)(x, [0.0, 0.0])<Enter>",
        "= (",
    ),
    step(
        "The same with names",
        "`:grad` also prints the value, and names the argument of each gradient.",
        ":grad dist(x, [0.0, 0.0])<Enter>",
        "wrt b:",
    ),
    step(
        "Another definition of the same name",
        "Its users follow: `dist` now uses the new norm.",
        "def norm(v: [n]f64) -> f64 = sum i: abs(v[i])<Enter>dist(x, [0.0, 0.0])<Enter>",
        "f64 = 7.0",
    ),
    step("What is it?", "`?` prints the documentation of a name, also in the library.", "?linalg.trace<Enter>", "5.0"),
    typing(
        "Completion",
        "Tab completes names, fields, commands and files. If there are several candidates, it lists them.",
        "let p = {size: 2.0, side: (1, 2)};<Enter>p.si<Tab>",
        "side  size",
    ),
    step("", "", "de.1<Enter>", "i64 = 2"),
    step(
        "Greek",
        "`\\\\alpha` and Tab insert α; likewise `\\\\le` inserts ≤, `\\\\sum` ∑ and `\\\\_0` a subscript.",
        "let \\alpha<Tab>\\_0<Tab> = 0.1<Enter>",
        "α₀: f64 = 0.1",
    ),
    typing(
        "What was typed before",
        "The up arrow recalls earlier inputs that begin with the typed text, including whole blocks.",
        "def d<Up>",
        "norm(a - b)",
    ),
    typing(
        "Anywhere in what was typed",
        "Ctrl-R searches the text of earlier inputs. Ctrl-C discards the line.",
        "<C-c><C-r>sqrt(s",
        "sum i: v[i]^2",
    ),
    step(
        "Too long",
        "Ctrl-C interrupts a computation and leaves the session unchanged.",
        "<C-c>let slow = fold s = 0.0 for i < 1_000_000_000: s + sin(s + f64(i))<Enter><stop>",
        "interrupted",
    ),
    step("", "", "x<Enter>", "[3.0, 4.0]"),
    step(
        "A plot",
        "A string after the data selects the kind of the plot. `:plot` needs no parentheses.",
        "let t = for i < 60: f64(i) / 10;<Enter>:plot t, sin(t), \"line: sine\", t, exp(-t), \"line: decay\", height: 12<Enter>",
        "decay",
    ),
    step(
        "Fewer digits",
        "Elements of arrays have at most six digits, unless you set another number.",
        "t[3..9] / 7<Enter>:set digits 3<Enter>t[3..9] / 7<Enter>",
        "[0.0429, 0.0571",
    ),
    step(
        "What it costs",
        "Work counts the operations on reals, tests the evaluated conditions, iterations the visited index tuples.",
        ":cost dist(x, [0.0, 0.0])<Enter>",
        "work",
    ),
    step("How long it takes", "", ":time dist(x, [0.0, 0.0])<Enter>", "f64 = 7.0"),
    step(
        "Where a NaN comes from",
        "With this setting, an evaluation stops at the first operation that produces NaN from other numbers.",
        ":set nan stop<Enter>sum i: log(x[i] - 3.5)<Enter>",
        "log(-0.5)",
    ),
    step("What there is", "", ":env<Enter>", "let ans"),
    step(
        "For another day",
        "The file contains the definitions in dependency order. `:load` restores them, and `iverson run` runs the \
         file.",
        ":save today.iv<Enter>:reset<Enter>:load today.iv<Enter>dist(x, [0.0, 0.0])<Enter>",
        "f64 = 7.0",
    ),
];

#[test]
fn a_newcomers_session() {
    if !is_tmux_installed("a_newcomers_session") {
        return;
    }
    let dir = Dir::new(&[]);
    let screen = Screen::new(&dir, "", (84, 30));
    let mut page = String::from(
        "# A session\n\nThis is a session on a terminal, step by step, with typical mistakes. Each box shows the screen after the step, \
         without\ncolours. [The REPL](repl.md) describes the rest.\n",
    );
    for step in STEPS {
        // An abandoned line does not belong to the next step.
        let keys = step.keys.strip_prefix("<C-c>").unwrap_or(step.keys);
        if keys.len() < step.keys.len() {
            screen.press_keys(&["C-c"]);
            screen.wait_for_prompt();
        }
        if screen.screen().lines().last() == Some("iverson>") {
            screen.clear();
        }
        press(&screen, keys);
        let shown = screen.wait_until(step.shows, |s| {
            s.contains(step.shows.trim_end()) && (!step.prompts || s.lines().last() == Some("iverson>"))
        });
        if !step.title.is_empty() {
            page += &format!("\n## {}\n", step.title);
        }
        if !step.said.is_empty() {
            page += &format!("\n{}\n", folded(&step.said.replace("\\\\", "\\")));
        }
        page += &format!("\n```text\n{}\n```\n", steady(&shown));
    }
    screen.press_keys(&["C-d"]);
    screen.wait_for_text("status 0");
    // The saved file runs on its own, without an error.
    let run = dir.run(&["run", "today.iv"], b"");
    assert_eq!(run, "");
    let file = root().join("docs/book/src/tools/session.md");
    if std::env::var("UPDATE_EXPECT").is_ok_and(|value| value == "1") {
        std::fs::write(&file, page).unwrap();
    } else {
        let recorded = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(page == recorded, "{} shows something else now:\n{page}", file.display());
    }
}

fn root() -> PathBuf {
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().unwrap().to_path_buf()
}

fn press(screen: &Screen, keys: &str) {
    const NAMES: &[&str] = &["Enter", "Tab", "Up", "C-c", "C-r", "stop"];
    let mut rest = keys;
    while !rest.is_empty() {
        let key = NAMES.iter().find(|name| rest.strip_prefix('<').is_some_and(|r| r.starts_with(&format!("{name}>"))));
        if let Some(key) = key {
            match *key {
                // Ctrl-C is repeated, because it may arrive before the computation begins.
                "stop" => {
                    for _ in 0..20 {
                        screen.press_keys(&["C-c"]);
                        let stopped = || screen.screen().contains("interrupted");
                        if (0..20).any(|_| {
                            std::thread::sleep(std::time::Duration::from_millis(100));
                            stopped()
                        }) {
                            break;
                        }
                    }
                }
                // The pause lets the terminal show the complete line and its result.
                "Enter" => {
                    screen.press_keys(&["Enter"]);
                    std::thread::sleep(std::time::Duration::from_millis(400));
                }
                key => {
                    screen.press_keys(&[key]);
                    std::thread::sleep(std::time::Duration::from_millis(150));
                }
            }
            rest = &rest[key.len() + 2..];
            continue;
        }
        let starts = |at: &usize| NAMES.iter().any(|name| rest[*at..].starts_with(&format!("<{name}>")));
        let end = rest.char_indices().map(|(at, _)| at).find(|at| *at > 0 && starts(at)).unwrap_or(rest.len());
        screen.type_text(&rest[..end]);
        rest = &rest[end..];
    }
}

/// Replaces times, which vary between runs, by fixed ones. Omits empty lines at the top, because
/// their number depends on when the keys arrive after the screen is cleared.
fn steady(shown: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("checked in") { "checked in 210 µs, ran in 34 µs".to_owned() } else { line.to_owned() }
    };
    shown.trim_start_matches('\n').lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Wraps text at the line width of the book.
fn folded(text: &str) -> String {
    let mut out = String::new();
    let mut width = 0;
    for word in text.split_whitespace() {
        let long = word.chars().count();
        if width > 0 && width + 1 + long > 118 {
            out.push('\n');
            width = 0;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += long;
    }
    out
}
