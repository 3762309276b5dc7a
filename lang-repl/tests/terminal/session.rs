//! A newcomer's session, mistakes included, step by step. The page of the book that shows it is made here:
//! `UPDATE_EXPECT=1` writes it, and what it shows is what a user sees.

use std::path::PathBuf;

use crate::harness::Dir;
use crate::screen::{Screen, there};

/// A step: what is said of it, what is pressed, and what is on the screen then.
struct Step {
    title: &'static str,
    said: &'static str,
    /// Texts and, between `<` and `>`, keys.
    keys: &'static str,
    /// It is done when this is on the screen,
    shows: &'static str,
    /// and the prompt has come back, or not.
    prompts: bool,
}

const fn step(title: &'static str, said: &'static str, keys: &'static str, shows: &'static str) -> Step {
    Step { title, said, keys, shows, prompts: true }
}

/// A step that ends in the middle of a line.
const fn typing(title: &'static str, said: &'static str, keys: &'static str, shows: &'static str) -> Step {
    Step { title, said, keys, shows, prompts: false }
}

const STEPS: &[Step] = &[
    step("A first value", "An expression is answered with its type and its value.", "1 + 2<Enter>", "i64 = 3"),
    step(
        "A name",
        "`let` keeps a value. Integers among reals are read as reals where one is asked for; `3` alone is an integer.",
        "let x = [3.0, 4.0]<Enter>",
        "x: [2]f64",
    ),
    step(
        "A slip",
        "A misspelt name is told with the one that was probably meant. Nothing has changed.",
        "sqrrt(x[0])<Enter>",
        "did you mean",
    ),
    step(
        "A definition on several lines",
        "After `=` there has to be more, so Enter begins a new line, indented. All of it is one input: the arrows move in \
         it, and Enter anywhere in it ends it once it is complete.",
        "def norm(v: [n]f64) -> f64 =<Enter>sqrt(sum i: v[i]^2)<Enter>",
        "def norm(v: [n]f64) -> f64\n",
    ),
    typing(
        "What a function takes",
        "Inside the parentheses of a call its signature stands below the line; the parameter in hand is bright.",
        "norm(",
        "norm(v: [n]f64) -> f64",
    ),
    step("The call", "", "x)<Enter>", "f64 = 5.0"),
    step(
        "A function of two arrays",
        "The sizes of both are `n`, so they have to agree.",
        "def dist(a: [n]f64, b: [n]f64) -> f64 = norm(a - b)<Enter>",
        "def dist",
    ),
    step(
        "Sizes that do not agree",
        "They are compared before anything is computed.",
        "dist(x, [1.0, 2.0, 3.0])<Enter>",
        "Error",
    ),
    step("`ans` is the last value", "", "dist(x, [0.0, 0.0]) + ans<Enter>", "f64 = 10.0"),
    step(
        "A gradient",
        "`grad` gives the gradients by all arguments; `wrt` chooses one.",
        "grad(dist)(x, [0.0, 0.0])<Enter>",
        "= (",
    ),
    step(
        "The same with names",
        "`:grad` shows the value too, and which gradient is whose.",
        ":grad dist(x, [0.0, 0.0])<Enter>",
        "by b:",
    ),
    step(
        "Another definition of the same name",
        "What uses it follows: the distance is that of the new norm.",
        "def norm(v: [n]f64) -> f64 = sum i: abs(v[i])<Enter>dist(x, [0.0, 0.0])<Enter>",
        "f64 = 7.0",
    ),
    step("What is it?", "`?` asks, also for what the library has.", "?linalg.trace<Enter>", "5.0"),
    typing(
        "Completion",
        "Tab completes names, fields, commands and files, and shows what there is if that is not clear.",
        "let p = {size: 2.0, side: (1, 2)};<Enter>p.si<Tab>",
        "side  size",
    ),
    step("", "", "de.1<Enter>", "i64 = 2"),
    step(
        "Greek",
        "`\\\\alpha` and Tab make α; so do `\\\\le` ≤, `\\\\sum` ∑ and `\\\\_0` a subscript.",
        "let \\alpha<Tab>\\_0<Tab> = 0.1<Enter>",
        "α₀: f64 = 0.1",
    ),
    typing(
        "What was typed before",
        "The arrow up brings back what begins as what is typed, whole blocks too.",
        "def d<Up>",
        "norm(a - b)",
    ),
    typing(
        "Anywhere in what was typed",
        "Ctrl-R looks for what stands anywhere in it. Ctrl-C gives up the line.",
        "<C-c><C-r>sqrt(s",
        "sum i: v[i]^2",
    ),
    step(
        "Too long",
        "Ctrl-C stops a computation, and the session is as before.",
        "<C-c>let slow = fold s = 0.0 for i < 1_000_000_000: s + sin(s + f64(i))<Enter><stop>",
        "interrupted",
    ),
    step("", "", "x<Enter>", "[3.0, 4.0]"),
    step(
        "A plot",
        "Data, and in quotes how it is drawn. `:plot` saves the parentheses.",
        "let t = for i < 60: f64(i) / 10;<Enter>:plot t, sin(t), \"line: sine\", t, exp(-t), \"line: decay\", height: 12<Enter>",
        "decay",
    ),
    step(
        "Fewer digits",
        "Elements of arrays have six digits at the most, unless another number is set.",
        "t[3..9] / 7<Enter>:set digits 3<Enter>t[3..9] / 7<Enter>",
        "[0.0429, 0.0571",
    ),
    step(
        "What it costs",
        "The operations on reals, the conditions evaluated, the index tuples visited.",
        ":cost dist(x, [0.0, 0.0])<Enter>",
        "work",
    ),
    step("How long it takes", "", ":time dist(x, [0.0, 0.0])<Enter>", "f64 = 7.0"),
    step(
        "Where a NaN comes from",
        "With this setting an evaluation stops at the first operation that gives NaN.",
        ":set nan stop<Enter>sum i: log(x[i] - 3.5)<Enter>",
        "log(-0.5)",
    ),
    step("What there is", "", ":env<Enter>", "let ans"),
    step(
        "For another day",
        "The file has the definitions in the order in which they need each other. `:load` brings them back, and `iverson \
         run` takes it too.",
        ":save today.iv<Enter>:reset<Enter>:load today.iv<Enter>dist(x, [0.0, 0.0])<Enter>",
        "f64 = 7.0",
    ),
];

#[test]
fn a_newcomers_session() {
    if !there("a_newcomers_session") {
        return;
    }
    let dir = Dir::new(&[]);
    let screen = Screen::new(&dir, "", (84, 30));
    let mut page = String::from(
        "# A session\n\nA session on a terminal, step by step, with the mistakes that anyone makes. What stands in the boxes is what \
         is on\nthe screen then; colours are left out. [The REPL](repl.md) tells the rest.\n",
    );
    for step in STEPS {
        // A line that is given up is no part of what comes next.
        let keys = step.keys.strip_prefix("<C-c>").unwrap_or(step.keys);
        if keys.len() < step.keys.len() {
            screen.keys(&["C-c"]);
            screen.prompts();
        }
        if screen.screen().lines().last() == Some("iverson>") {
            screen.clear();
        }
        press(&screen, keys);
        let shown = screen.until(step.shows, |s| {
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
    screen.keys(&["C-d"]);
    screen.shows("status 0");
    // What was saved runs by itself, and gives the same.
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
                // Pressed again should it have come before there was anything to stop.
                "stop" => {
                    for _ in 0..20 {
                        screen.keys(&["C-c"]);
                        let stopped = || screen.screen().contains("interrupted");
                        if (0..20).any(|_| {
                            std::thread::sleep(std::time::Duration::from_millis(100));
                            stopped()
                        }) {
                            break;
                        }
                    }
                }
                // A line is ended when all of it is there, and the next begins when its answer is.
                "Enter" => {
                    screen.keys(&["Enter"]);
                    std::thread::sleep(std::time::Duration::from_millis(400));
                }
                key => {
                    screen.keys(&[key]);
                    std::thread::sleep(std::time::Duration::from_millis(150));
                }
            }
            rest = &rest[key.len() + 2..];
            continue;
        }
        let starts = |at: &usize| NAMES.iter().any(|name| rest[*at..].starts_with(&format!("<{name}>")));
        let end = rest.char_indices().map(|(at, _)| at).find(|at| *at > 0 && starts(at)).unwrap_or(rest.len());
        screen.text(&rest[..end]);
        rest = &rest[end..];
    }
}

/// What varies from run to run is what it may be.
fn steady(shown: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("checked in") { "checked in 210 µs, ran in 34 µs".to_owned() } else { line.to_owned() }
    };
    shown.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Text in lines of the width of the book's.
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
