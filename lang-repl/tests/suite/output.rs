//! Tests of failing output: a full disk, a closed reader, a descriptor that is not open for
//! writing. A command must not report success if its output was lost.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Output, Stdio};

use crate::harness::{CONV, Dir};

/// Command lines and standard inputs that cover every way of writing.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["eval", "1+1"], ""),
    (&["eval", "1+1", "--format", "json"], ""),
    (&["eval", "1+", "--format", "json"], ""),
    (&["eval", "1+1", "--time", "--format", "json"], ""),
    (&["run", "prints.iv"], ""),
    (&["run", "conv.iv", "x=[1, 2, 3]", "c=[1, 2]"], ""),
    (&["run", "conv.iv", "x=[1, 2, 3]", "c=[1, 2]", "--format", "json"], ""),
    (&["run", "nowhere.iv", "--format", "json"], ""),
    (&[], "1 + 1\n"),
    (&[], "let a = 2\na\n"),
    (&[], ":help\n"),
    (&[], "let a = 2\n:env\n"),
    (&[], ":time 1 + 1\n"),
    (&[], "do print(1)\n"),
    (&[], "do plot([1.0, 2.0])\n"),
    (&["fmt", "-"], "let a=1\n"),
    (&["fmt", "-", "--format", "json"], "let a=1\n"),
    (&["fmt", "--check", "ugly.iv"], ""),
    (&["check", "conv.iv", "--format", "json"], ""),
    (&["cost", "conv.iv"], ""),
    (&["cost", "conv.iv", "conv", "--format", "json"], ""),
    (&["show", "ssa", "conv.iv", "conv"], ""),
    (&["show", "adjoint", "conv.iv", "conv", "--format", "json"], ""),
    (&["bench", "small.iv", "f", "--seconds", "0.01"], ""),
    (&["explain"], ""),
    (&["explain", "E0100"], ""),
    (&["explain", "E0100", "--format", "json"], ""),
    (&["doc"], ""),
    (&["doc", "grad"], ""),
    (&["doc", "grad", "--format", "json"], ""),
    (&["doctor"], ""),
    (&["doctor", "--format", "json"], ""),
    (&["completions", "bash"], ""),
    (&["gradbench"], "{\"id\": 0, \"kind\": \"start\"}\n"),
    (&["--help"], ""),
    (&["--version"], ""),
    (&["run", "--help"], ""),
    (&["wrong", "--format", "json"], ""),
];

fn files() -> Dir {
    Dir::new(&[
        ("conv.iv", CONV.as_bytes()),
        ("prints.iv", b"do print(1)\ndo save([1.0, 2.0], \"after.npy\")\n"),
        ("small.iv", b"def f(x: f64) -> f64 = x^2\n"),
        ("ugly.iv", b"let a=1\n"),
        ("large.iv", b"do for i < 300000: i * 1000003\n"),
    ])
}

fn output(dir: &Dir, args: &[&str], stdin: &str, stdout: Stdio, stderr: Stdio) -> Output {
    let mut command = dir.command(args);
    let mut child = command.stdout(stdout).stderr(stderr).spawn().unwrap();
    // A program that ends early does not read all of its input.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

#[test]
fn a_full_disk_is_an_error_of_every_command() {
    let dir = files();
    for (args, stdin) in COMMANDS {
        let output = output(&dir, args, stdin, full(), Stdio::piped());
        let stderr = String::from_utf8_lossy(&output.stderr);
        let message = "standard output cannot be written: no space left on the device";
        assert!(stderr.contains("E0602") && stderr.contains(message), "{args:?} {stdin}: {stderr}");
        assert_eq!(output.status.code(), Some(1), "{args:?} {stdin}");
    }
    // The program ends at the failing write.
    assert!(!dir.path().join("after.npy").exists());
}

#[test]
fn a_descriptor_that_is_not_for_writing_is_an_error() {
    let dir = files();
    let output = output(&dir, &["eval", "1+1"], "", File::open("/dev/null").unwrap().into(), Stdio::piped());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output cannot be written"));
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let dir = files();
    for (args, stdin) in COMMANDS {
        let (read, write) = std::io::pipe().unwrap();
        drop(read);
        let output = output(&dir, args, stdin, write.into(), Stdio::piped());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("standard output"), "{args:?} {stdin}: {stderr}");
        // SIGPIPE ends it, as it ends other programs.
        assert_eq!(output.status.signal(), Some(13), "{args:?} {stdin}: {stderr}");
    }
}

#[test]
fn lost_reports_are_no_success() {
    let dir = files();
    let status = |args: &[&str]| output(&dir, args, "", Stdio::null(), full()).status.code();
    assert_eq!(status(&["eval", "1+1", "--time"]), Some(1));
    assert_eq!(status(&["eval", "1+1"]), Some(0));
}

#[test]
fn an_output_that_does_not_block_loses_nothing() {
    let dir = files();
    let script = "import os, subprocess, sys, time\n\
        r, w = os.pipe()\n\
        os.set_blocking(w, False)\n\
        child = subprocess.Popen(sys.argv[1:], stdout=w)\n\
        os.close(w)\n\
        time.sleep(0.5)\n\
        read = b''\n\
        while part := os.read(r, 1 << 16): read += part\n\
        sys.stdout.buffer.write(read)\n\
        sys.exit(child.wait())\n";
    let binary = env!("CARGO_BIN_EXE_iverson");
    let expected = dir.run(&["eval", "for i < 300000: i * 1000003", "--digits", "all"], b"");
    let output = std::process::Command::new(std::env::var("IVERSON_PYTHON").unwrap_or_else(|_| "python3".to_owned()))
        .args(["-c", script, binary, "eval", "for i < 300000: i * 1000003", "--digits", "all"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}
