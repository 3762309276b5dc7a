//! Tests of plots in colour, beside JSON and in files, and of invalid options.

use expect_test::{Expect, expect};

use crate::harness::Dir;
use crate::plots::check;

#[test]
fn colours() {
    let dir = Dir::new(&[]);
    let program =
        "do plot([1, 2], [1, 2], \"line: a\", [2, 1], \"points\", height: 8)\ndo plot([[1.0, 2.0]], height: 8)\n";
    let mut all = String::new();
    for depth in ["", "truecolor"] {
        let mut command = dir.command(&["run", "-", "--color", "always"]);
        command.env("COLORTERM", depth);
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), program.as_bytes()).unwrap();
        all += &String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    }
    // Colours change at the same places for any number of colours.
    expect![[r#"
           ^[38;5;6m⠤⠤⠤⠤⠤⠤ ^[0ma   ^[38;5;3m× ^[0m2
         2┤  ^[38;5;3m×                                                                  ^[38;5;6m⢀⣀⡠⠤⠔⠒^[0m
          │                                                             ^[38;5;6m⣀⣀⠤⠤⠒⠒⠊⠉⠁^[0m
          │                                                    ^[38;5;6m⢀⣀⡠⠤⠔⠒⠒⠉⠉^[0m
          │                                            ^[38;5;6m⣀⣀⠤⠤⠔⠒⠊⠉⠁^[0m
         1┤                                      ^[38;5;3m×^[38;5;6m⠤⠒⠒⠉⠉^[0m
          └──┬───────────────────────────────────┬───────────────────────────────────┬──
             0                                   1                                   2
          ^[38;5;53m^[48;5;53m▀▀▀▀▀▀▀▀▀▀▀▀^[38;5;220m^[48;5;220m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
          ^[38;5;53m^[48;5;53m▀▀▀▀▀▀▀▀▀▀▀▀^[38;5;220m^[48;5;220m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
          ^[38;5;53m^[48;5;53m▀▀▀▀▀▀▀▀▀▀▀▀^[38;5;220m^[48;5;220m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
        0 ^[38;5;53m^[48;5;53m▀▀▀▀▀▀▀▀▀▀▀▀^[38;5;220m^[48;5;220m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
          ^[38;5;53m^[48;5;53m▀▀▀▀▀▀▀▀▀▀▀▀^[38;5;220m^[48;5;220m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
          ^[38;5;53m^[48;5;53m▀▀▀▀▀▀▀▀▀▀▀▀^[38;5;220m^[48;5;220m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
                0           1
          1 ^[38;5;53m^[48;5;53m▀^[38;5;53m^[48;5;53m▀^[38;5;53m^[48;5;53m▀^[38;5;54m^[48;5;54m▀^[38;5;60m^[48;5;60m▀^[38;5;60m^[48;5;60m▀^[38;5;60m^[48;5;60m▀^[38;5;60m^[48;5;60m▀^[38;5;60m^[48;5;60m▀^[38;5;60m^[48;5;60m▀^[38;5;30m^[48;5;30m▀^[38;5;30m^[48;5;30m▀^[38;5;30m^[48;5;30m▀^[38;5;30m^[48;5;30m▀^[38;5;30m^[48;5;30m▀^[38;5;36m^[48;5;36m▀^[38;5;36m^[48;5;36m▀^[38;5;72m^[48;5;72m▀^[38;5;71m^[48;5;71m▀^[38;5;77m^[48;5;77m▀^[38;5;77m^[48;5;77m▀^[38;5;113m^[48;5;113m▀^[38;5;113m^[48;5;113m▀^[38;5;149m^[48;5;149m▀^[38;5;185m^[48;5;185m▀^[38;5;184m^[48;5;184m▀^[38;5;220m^[48;5;220m▀^[49m ^[0m2
           ^[38;5;6m⠤⠤⠤⠤⠤⠤ ^[0ma   ^[38;5;3m× ^[0m2
         2┤  ^[38;5;3m×                                                                  ^[38;5;6m⢀⣀⡠⠤⠔⠒^[0m
          │                                                             ^[38;5;6m⣀⣀⠤⠤⠒⠒⠊⠉⠁^[0m
          │                                                    ^[38;5;6m⢀⣀⡠⠤⠔⠒⠒⠉⠉^[0m
          │                                            ^[38;5;6m⣀⣀⠤⠤⠔⠒⠊⠉⠁^[0m
         1┤                                      ^[38;5;3m×^[38;5;6m⠤⠒⠒⠉⠉^[0m
          └──┬───────────────────────────────────┬───────────────────────────────────┬──
             0                                   1                                   2
          ^[38;2;68;1;84m^[48;2;68;1;84m▀▀▀▀▀▀▀▀▀▀▀▀^[38;2;254;232;37m^[48;2;254;232;37m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
          ^[38;2;68;1;84m^[48;2;68;1;84m▀▀▀▀▀▀▀▀▀▀▀▀^[38;2;254;232;37m^[48;2;254;232;37m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
          ^[38;2;68;1;84m^[48;2;68;1;84m▀▀▀▀▀▀▀▀▀▀▀▀^[38;2;254;232;37m^[48;2;254;232;37m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
        0 ^[38;2;68;1;84m^[48;2;68;1;84m▀▀▀▀▀▀▀▀▀▀▀▀^[38;2;254;232;37m^[48;2;254;232;37m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
          ^[38;2;68;1;84m^[48;2;68;1;84m▀▀▀▀▀▀▀▀▀▀▀▀^[38;2;254;232;37m^[48;2;254;232;37m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
          ^[38;2;68;1;84m^[48;2;68;1;84m▀▀▀▀▀▀▀▀▀▀▀▀^[38;2;254;232;37m^[48;2;254;232;37m▀▀▀▀▀▀▀▀▀▀▀▀^[0m
                0           1
          1 ^[38;2;68;1;84m^[48;2;68;1;84m▀^[38;2;69;14;96m^[48;2;69;14;96m▀^[38;2;69;27;107m^[48;2;69;27;107m▀^[38;2;70;41;119m^[48;2;70;41;119m▀^[38;2;69;53;128m^[48;2;69;53;128m▀^[38;2;64;65;132m^[48;2;64;65;132m▀^[38;2;60;76;136m^[48;2;60;76;136m▀^[38;2;56;87;139m^[48;2;56;87;139m▀^[38;2;52;97;141m^[48;2;52;97;141m▀^[38;2;48;107;142m^[48;2;48;107;142m▀^[38;2;44;116;142m^[48;2;44;116;142m▀^[38;2;40;126;143m^[48;2;40;126;143m▀^[38;2;37;135;141m^[48;2;37;135;141m▀^[38;2;35;145;140m^[48;2;35;145;140m▀^[38;2;33;154;138m^[48;2;33;154;138m▀^[38;2;33;163;135m^[48;2;33;163;135m▀^[38;2;44;172;128m^[48;2;44;172;128m▀^[38;2;56;180;121m^[48;2;56;180;121m▀^[38;2;67;189;114m^[48;2;67;189;114m▀^[38;2;84;197;104m^[48;2;84;197;104m▀^[38;2;107;204;90m^[48;2;107;204;90m▀^[38;2;130;210;75m^[48;2;130;210;75m▀^[38;2;153;217;61m^[48;2;153;217;61m▀^[38;2;178;222;53m^[48;2;178;222;53m▀^[38;2;203;225;48m^[48;2;203;225;48m▀^[38;2;229;229;42m^[48;2;229;229;42m▀^[38;2;254;232;37m^[48;2;254;232;37m▀^[49m ^[0m2
    "#]].assert_eq(&all.replace('\u{1b}', "^"));
}

/// Standard output has one JSON document and nothing else.
#[test]
fn beside_json() {
    check_json(
        "do plot([1, 3, 2], height: 8)\ndef main() -> i64 = 7\n",
        expect![[r#"
        7
        --- stderr
         3┤                                  ⢀⣀⠤⠤⠒⠒⠢⠤⠤⢄⣀⣀⣀
          │                           ⢀⣀⠤⠤⠒⠊⠉⠁            ⠉⠉⠉⠒⠒⠒⠢⠤⠤⢄⣀⣀⣀
          │                    ⢀⣀⠤⠤⠒⠊⠉⠁                                ⠉⠉⠉⠑⠒⠒⠢⠤⠤⠤⣀⣀⣀
         2┤             ⢀⣀⡠⠤⠒⠒⠉⠁                                                    ⠉⠉
          │      ⢀⣀⡠⠤⠒⠒⠉⠁
         1┤  ⠤⠒⠒⠉⠁
          └──┬───────────────────────────────────┬───────────────────────────────────┬──
             0                                   1                                   2
    "#]],
    );
}

#[track_caller]
fn check_json(program: &str, expected: Expect) {
    expected.assert_eq(&Dir::new(&[]).run(&["run", "-", "--format", "json"], program.as_bytes()));
}

#[test]
fn files() {
    let program = "\
let x = [1.0, 2.0, 4.0]
do plot(x, for i: x[i]^2, \"line: squares\", x, x, \"points\", title: \"Powers & <roots>\", file: \"out.svg\", width: 300, height: 200)
do plot(x, for i: x[i]^2, file: \"out.png\", width: 120, height: 100)
do plot([nan, 1.0], \"bars\", file: \"notes.svg\")
do print(\"done\")
";
    let dir = Dir::new(&[("lib/p.iv", program.as_bytes())]);
    expect![[r#"
        done
        --- stderr
        [W0606] Warning: `lib/notes.svg`: 1 of 2 values is NaN or infinite and not drawn
           ╭─[ lib/p.iv:4:4 ]
           │
         4 │ do plot([nan, 1.0], "bars", file: "notes.svg")
           │    ─────────────────────┬─────────────────────
           │                         ╰─────────────────────── here
        ───╯
    "#]]
    .assert_eq(&dir.run(&["run", "lib/p.iv"], b""));
    // File names are relative to the file that mentions them, and an existing file is replaced.
    let svg = std::fs::read_to_string(dir.path().join("lib/out.svg")).unwrap();
    expect![[r##"
        <svg width="300" height="200" viewBox="0 0 1200 800" xmlns="http://www.w3.org/2000/svg">
        <rect x="0" y="0" width="1200" height="800" opacity="1" fill="#FFFFFF" stroke="none"/>
        <text x="600" y="48" dy="0.76em" text-anchor="middle" font-family="sans-serif" font-size="67.74193548387098" opacity="1" fill="#333333">
        Powers &amp; &lt;roots&gt;
        </text>
        <polyline fill="none" opacity="1" stroke="#0072B2" stroke-width="6" points="133,200 213,200 "/>
        <text x="237" y="200" dy="0.5ex" text-anchor="start" font-family="sans-serif" font-size="45.16129032258065" opacity="1" fill="#333333">
        squares
        </text>
        <rect x="525" y="188" width="24" height="24" opacity="0.75" fill="#D55E00" stroke="none"/>
        <text x="601" y="200" dy="0.5ex" text-anchor="start" font-family="sans-serif" font-size="45.16129032258065" opacity="1" fill="#333333">
        x
        </text>
        <rect x="133" y="547" width="979" height="4" opacity="1" fill="#E5E5E5" stroke="none"/>
        <rect x="117" y="547" width="16" height="4" opacity="1" fill="#333333" stroke="none"/>
        <text x="105" y="547" dy="0.5ex" text-anchor="end" font-family="sans-serif" font-size="45.16129032258065" opacity="1" fill="#333333">
        5
        </text>
        <rect x="133" y="425" width="979" height="4" opacity="1" fill="#E5E5E5" stroke="none"/>
        <rect x="117" y="425" width="16" height="4" opacity="1" fill="#333333" stroke="none"/>
        <text x="105" y="425" dy="0.5ex" text-anchor="end" font-family="sans-serif" font-size="45.16129032258065" opacity="1" fill="#333333">
        10
        </text>
        <rect x="133" y="303" width="979" height="4" opacity="1" fill="#E5E5E5" stroke="none"/>
        <rect x="117" y="303" width="16" height="4" opacity="1" fill="#333333" stroke="none"/>
        <text x="105" y="303" dy="0.5ex" text-anchor="end" font-family="sans-serif" font-size="45.16129032258065" opacity="1" fill="#333333">
        15
        </text>
        <rect x="469" y="268" width="4" height="388" opacity="1" fill="#E5E5E5" stroke="none"/>
        <rect x="469" y="656" width="4" height="16" opacity="1" fill="#333333" stroke="none"/>
        <text x="469" y="684" dy="0.76em" text-anchor="middle" font-family="sans-serif" font-size="45.16129032258065" opacity="1" fill="#333333">
        2
        </text>
        <rect x="1084" y="268" width="4" height="388" opacity="1" fill="#E5E5E5" stroke="none"/>
        <rect x="1084" y="656" width="4" height="16" opacity="1" fill="#333333" stroke="none"/>
        <text x="1084" y="684" dy="0.76em" text-anchor="middle" font-family="sans-serif" font-size="45.16129032258065" opacity="1" fill="#333333">
        4
        </text>
        <rect x="133" y="656" width="979" height="4" opacity="1" fill="#333333" stroke="none"/>
        <rect x="133" y="268" width="4" height="388" opacity="1" fill="#333333" stroke="none"/>
        <polyline fill="none" opacity="1" stroke="#0072B2" stroke-width="6" points="161,645 469,572 1084,279 "/>
        <rect x="149" y="633" width="24" height="24" opacity="0.75" fill="#D55E00" stroke="none"/>
        <rect x="457" y="609" width="24" height="24" opacity="0.75" fill="#D55E00" stroke="none"/>
        <rect x="1072" y="560" width="24" height="24" opacity="0.75" fill="#D55E00" stroke="none"/>
        </svg>
    "##]].assert_eq(&svg);
    dir.run(&["run", "lib/p.iv"], b"");
    assert_eq!(svg, std::fs::read_to_string(dir.path().join("lib/out.svg")).unwrap());
    let back = "let p: [?h, ?w, 3]f64 = load(\"out.png\")\ndo print(len(p), len(p[0]), p[0, 0, 0])\n";
    std::fs::write(dir.path().join("lib/back.iv"), back).unwrap();
    expect![[r#"
        100 120 1.0
    "#]]
    .assert_eq(&dir.run(&["run", "lib/back.iv"], b""));
}

/// The picture in the book is the output of its program.
#[test]
fn the_picture_of_the_book() {
    let dir = Dir::new(&[("fit.iv", include_bytes!("../../../../docs/book/src/tools/fit.iv"))]);
    expect![""].assert_eq(&dir.run(&["run", "fit.iv"], b""));
    let svg = std::fs::read_to_string(dir.path().join("fit.svg")).unwrap();
    expect_test::expect_file!["../../../../docs/book/src/tools/fit.svg"].assert_eq(&svg);
}

#[test]
fn mistakes_in_a_run() {
    check(
        "let n = 0\ndo plot([1.0], \"histogram\", bins: n)",
        expect![[r#"
            $ iverson run -
            --- stderr
            [E0514] Error: a histogram cannot have 0 bins
               ╭─[ <stdin>:2:4 ]
               │
             2 │ do plot([1.0], "histogram", bins: n)
               │    ────────────────┬────────────────
               │                    ╰────────────────── here
               │
               │ Help: `bins:` must be a number from 1 to 10000
            ───╯
            --- status 1
        "#]],
    );
    check(
        "do plot([1.0], width: 5)",
        expect![[r#"
            $ iverson run -
            --- stderr
            [E0514] Error: a plot cannot have a width of 5 columns
               ╭─[ <stdin>:1:4 ]
               │
             1 │ do plot([1.0], width: 5)
               │    ──────────┬──────────
               │              ╰──────────── here
               │
               │ Help: `width:` must be a number from 30 to 400
            ───╯
            --- status 1
        "#]],
    );
    check(
        "do plot([1.0], file: \"x.pdf\")",
        expect![[r#"
            $ iverson run -
            --- stderr
            [E0514] Error: `x.pdf` is not a plot file
               ╭─[ <stdin>:1:22 ]
               │
             1 │ do plot([1.0], file: "x.pdf")
               │                      ───┬───
               │                         ╰───── here
               │
               │ Help: use the extension .svg or .png
            ───╯
            --- status 1
        "#]],
    );
    check(
        "do plot([1.0], file: \"no/such/folder.svg\")",
        expect![[r#"
            $ iverson run -
            --- stderr
            [E0605] Error: `no/such/folder.svg` cannot be written: no such directory
               ╭─[ <stdin>:1:4 ]
               │
             1 │ do plot([1.0], file: "no/such/folder.svg")
               │    ───────────────────┬───────────────────
               │                       ╰───────────────────── here
            ───╯
            --- status 1
        "#]],
    );
    check(
        "let s = \"cubic\"\ndo plot([1.0], yscale: s)",
        expect![[r#"
            $ iverson run -
            --- stderr
            [E0514] Error: `cubic` is not an axis scale
               ╭─[ <stdin>:2:4 ]
               │
             2 │ do plot([1.0], yscale: s)
               │    ───────────┬──────────
               │               ╰──────────── here
               │
               │ Help: use "linear" or "log"
            ───╯
            --- status 1
        "#]],
    );
    check(
        "let x: [?n]f64 = filter(\\t: t > 0, [1.0, -1.0])\ndo plot(x, [1.0, 2.0])",
        expect![[r#"
            $ iverson run -
            --- stderr
            [E0501] Error: sizes differ for the length of the plot data: found 2, expected len(x) = 1
               ╭─[ <stdin>:2:12 ]
               │
             2 │ do plot(x, [1.0, 2.0])
               │            ─────┬────
               │                 ╰────── here
            ───╯
            --- status 1
        "#]],
    );
}
