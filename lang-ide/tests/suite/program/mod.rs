//! **Test fixture.** The program of the tests of lenses, hints and views, and the constructor of
//! sessions without errors.

use lang_ide::Session;

pub(crate) const PROGRAM: &str = "\
def conv(x: [n]f64, w: [m]f64) -> [n - m + 1]f64 =
  for i: sum j: x[i + j] * w[j]

def spread(x: [n]f64) -> f64 =
  let mean = total(x) / f64(n)
  let off = x - mean
  in sum i: off[i]^2

def main() = spread([1.0, 2.0])
";

#[track_caller]
pub(crate) fn session(text: &str) -> Session {
    let mut session = Session::new();
    session.set_text("a.iv", text);
    let problems = session.diagnostics("a.iv");
    assert!(problems.is_empty(), "{problems:?}");
    session
}
