//! **Loops and updates** in drawn programs. Draws `fold`, `scan` and `loop … while` over carries of
//! every kind, at most three deep. Ranges may depend on enclosing indices. Carried arrays are
//! updated at positions from indices and data. Bodies contain lambdas, derivatives and checks.

use super::programs::{ExprType, MiddleProgramGenerator};

/// The greatest depth of nested loops.
const DEEPEST: usize = 3;

/// A position of an update, and the condition under which it is in bounds.
struct UpdatePosition {
    at: String,
    inside: Option<String>,
}

impl MiddleProgramGenerator {
    /// Returns whether another loop may be drawn here.
    pub(super) fn may_repeat(&mut self, depth: usize, once_in: usize) -> bool {
        self.repeats && depth > 1 && self.left > 2 && self.loops < DEEPEST && self.random.once_in(once_in)
    }

    /// Draws an index variable of a loop with its range. The variable is in scope from here on.
    fn range(&mut self) -> String {
        let i = self.name("t");
        let all: Vec<(String, char)> = self.indices.iter().filter(|(_, e)| *e != 'c').cloned().collect();
        let around = self.random.pick(&all).cloned();
        let (range, extent) = match (self.random.number_below(9), around) {
            (0 | 1, Some((j, e))) => (format!("{i} < {j}"), e),
            (2, Some((j, e))) => (format!("{i} in {j}..{e}"), e),
            (3, Some((j, e))) => (format!("{i} in {j} + 1..{e}"), e),
            (4, Some((j, e))) => (format!("{i} < {j} + 1"), e),
            (5, _) => (format!("{i} in 0..n by 2"), 'n'),
            (6, _) => (format!("{i} < {}", self.random.number_below(4)), 'c'),
            (k, _) => {
                let e = if k % 2 == 0 { 'n' } else { 'm' };
                (format!("{i} < {e}"), e)
            }
        };
        self.indices.push((i, extent));
        range
    }

    /// Draws one range or two.
    fn ranges(&mut self) -> String {
        let one = self.range();
        if self.random.once_in(6) { format!("{one}, {}", self.range()) } else { one }
    }

    /// Draws the body of a loop or of a similar form.
    fn draw_body(&mut self, text: impl FnOnce(&mut Self) -> String) -> String {
        self.loops += 1;
        let outer = std::mem::replace(&mut self.inner, self.indices.len());
        let text = self.scoped(text);
        self.inner = outer;
        self.loops -= 1;
        text
    }

    /// Returns whether a slice that begins or ends at `at` would have a different extent for each
    /// index of a binder. Arrays must be rectangular, so such a slice is not drawn.
    fn is_ragged(&self, at: &str) -> bool {
        let mut binders = self.indices.iter().skip(self.inner).filter(|(i, _)| i.starts_with('i'));
        let data = at.contains('k') || self.ints.iter().any(|c| c == at);
        binders.any(|(i, _)| data || at.contains(i))
    }

    /// Draws the next value of a carried real. Often it is linear in the real, so that numbers stay
    /// short.
    fn step(&mut self, t: &str, d: usize) -> String {
        match self.random.number_below(7) {
            0 | 1 => format!("0.5 * {t} + {}", self.real(d)),
            2 => format!("{t} * {} + {}", self.leaf(), self.real(d)),
            3 => {
                let p = self.pred(d);
                format!("(if {p} then {} else {t})", self.real(d))
            }
            4 => {
                let p = self.pred(d);
                format!("[{p}] * {t} + {}", self.real(d))
            }
            _ => self.real(d),
        }
    }

    /// Draws the next value of a carried integer.
    fn count(&mut self, c: &str) -> String {
        let mut all = vec![format!("{c} + 1"), format!("({c} + 1) % 3"), format!("2 - {c}")];
        for (i, e) in &self.indices {
            all.push(format!("({c} + {i}) % 3"));
            if *e == 'm' {
                all.push(format!("k[{i}]"));
            }
        }
        self.random.pick(&all).cloned().unwrap_or_default()
    }

    /// Draws a real that a loop computes.
    pub(super) fn repeated(&mut self, depth: usize) -> String {
        let d = depth - 1;
        match self.random.number_below(16) {
            0..=2 => {
                let (t, init) = (self.name("v"), self.real(d.min(1)));
                self.draw_body(|g| {
                    let over = g.ranges();
                    g.reals.push(t.clone());
                    format!("(fold {t} = {init} for {over}: {})", g.step(&t, d))
                })
            }
            3 => self.with_output(d),
            4 => self.scan(d),
            5 => self.while_loop(d),
            6 | 7 => self.tuple_carry(d),
            8 => {
                let (w, init) = (self.name("v"), self.expr(ExprType::Record, 1));
                let body = self.record_carry(&w, d);
                let text = format!("({}fold {w} = {init} for {body})", kept(&body));
                if self.random.once_in(2) { format!("{text}.u") } else { self.total(&format!("{text}.v"), 'm') }
            }
            9..=11 => {
                let extent = self.random.pick_or(&['n', 'm'], 'n');
                let row = self.repeated_row(extent, depth);
                self.total(&row, extent)
            }
            12 => {
                let row = self.repeated_matrix(depth);
                let w = self.name("v");
                self.scoped(|g| {
                    let (i, j) = (g.name("i"), g.name("i"));
                    g.indices.extend([(i.clone(), 'n'), (j.clone(), 'm')]);
                    format!("(let {w} = {row} in sum {i} < n, {j} < m: {w}[{i}, {j}] * {})", g.leaf())
                })
            }
            13 => self.lambda(d),
            14 if self.operators => self.operator(d),
            14 if self.risky => {
                let (t, init) = (self.name("v"), self.real(0));
                self.draw_body(|g| {
                    let over = g.ranges();
                    g.reals.push(t.clone());
                    let p = g.pred(0);
                    format!("(fold {t} = {init} for {over}: let () = assert({p}, \"no\") in {})", g.step(&t, d))
                })
            }
            _ => {
                let ys = self.name("v");
                let extent = self.random.pick_or(&['n', 'm'], 'n');
                let text = self.draw_body(|g| {
                    let (u, i) = (g.name("v"), g.name("t"));
                    g.indices.push((i.clone(), extent));
                    format!("fold {u} = () for {i} < {extent}: {u} yield {}", g.real(d))
                });
                let total = self.total(&ys, extent);
                format!("(let (_, {ys}) = {text} in {total})")
            }
        }
    }

    /// Draws the sum of a row's elements with factors.
    fn total(&mut self, row: &str, extent: char) -> String {
        let w = self.name("v");
        self.over(extent, |g, i| format!("(let {w} = {row} in sum {i} < {extent}: {w}[{i}] * {})", g.leaf()))
    }

    /// Draws a `fold … yield`.
    fn with_output(&mut self, d: usize) -> String {
        let (t, ys, init) = (self.name("v"), self.name("v"), self.real(d.min(1)));
        let extent = self.random.pick_or(&['n', 'm'], 'n');
        let count = self.at(extent).filter(|_| self.random.once_in(2)).unwrap_or_else(|| extent.to_string());
        let text = self.draw_body(|g| {
            let i = g.name("t");
            g.indices.push((i.clone(), extent));
            g.reals.push(t.clone());
            format!("fold {t} = {init} for {i} < {count}: {} yield {}", g.step(&t, d), g.real(d))
        });
        self.over(extent, |g, j| {
            let kept = kept(&text);
            format!("(let ({t}, {ys}) = {kept}{text} in {t} + (sum {j} < {count}: {ys}[{j}] * {}))", g.leaf())
        })
    }

    /// Draws a sum over the states of a loop.
    fn scan(&mut self, d: usize) -> String {
        let (t, ys, init) = (self.name("v"), self.name("v"), self.real(d.min(1)));
        let extent = self.random.pick_or(&['n', 'm'], 'n');
        let count = self.at(extent).filter(|_| self.random.once_in(3)).unwrap_or_else(|| extent.to_string());
        let text = self.draw_body(|g| {
            let i = g.name("t");
            g.indices.push((i.clone(), extent));
            g.reals.push(t.clone());
            format!("scan {t} = {init} for {i} < {count}: {}", g.step(&t, d))
        });
        let text = format!("{}{text}", kept(&text));
        let (j, times) = (self.name("i"), self.leaf());
        match self.random.number_below(3) {
            0 => format!("(let {ys} = {text} in {ys}[{count}] * {times})"),
            1 => format!("(let {ys} = {text} in sum {j} < {count}: {ys}[{j} + 1] * {ys}[{count} - {j}])"),
            _ => format!("(let {ys} = {text} in sum {j} < {count} + 1: {ys}[{j}] * {times})"),
        }
    }

    /// Draws a `while` loop of at most three iterations.
    fn while_loop(&mut self, d: usize) -> String {
        let (t, c, init) = (self.name("v"), self.name("c"), self.real(d.min(1)));
        let most = self.random.number_below(4);
        // The number of states must not differ between indices.
        let scan = self.indices.is_empty() && self.random.once_in(2);
        let text = self.draw_body(|g| {
            g.reals.push(t.clone());
            g.ints.push(c.clone());
            let more = match g.random.number_below(4) {
                0 => format!(" && {t} < 1.5"),
                1 => format!(" && {}", g.pred(1)),
                _ => String::new(),
            };
            format!("({t}, {c}) = ({init}, 0) while {c} < {most}{more}: ({}, {c} + 1)", g.step(&t, d))
        });
        let j = self.name("i");
        if scan {
            let (ys, z) = (self.name("v"), self.name("z"));
            return format!("(let [{z}] {ys} = {}scan {text} in sum {j} < {z}: {ys}[{j}].0)", kept(&text));
        }
        format!("(let ({t}, {c}) = {}loop {text} in {t} * f64({c}))", kept(&text))
    }

    /// Draws a carry of reals with an integer or a truth value that selects the step.
    fn tuple_carry(&mut self, d: usize) -> String {
        let (t, u, c) = (self.name("v"), self.name("v"), self.name("c"));
        let (a, b) = (self.real(d.min(1)), self.real(0));
        let truth = self.random.once_in(3);
        let start = if truth { "true" } else { self.random.pick_or(&["0", "1"], "0") };
        let text = self.draw_body(|g| {
            let over = g.ranges();
            g.reals.extend([t.clone(), u.clone()]);
            if truth { &mut g.truths } else { &mut g.ints }.push(c.clone());
            let first = g.step(&t, d);
            let second = if g.random.once_in(3) { t.clone() } else { g.step(&u, d.min(1)) };
            let third = match truth {
                true if g.random.once_in(2) => format!("!{c}"),
                true => g.pred(1),
                false => g.count(&c),
            };
            format!("fold ({t}, {u}, {c}) = ({a}, {b}, {start}) for {over}: ({first}, {second}, {third})")
        });
        self.scoped(|g| {
            g.reals.extend([t.clone(), u.clone()]);
            if truth { &mut g.truths } else { &mut g.ints }.push(c.clone());
            format!("(let ({t}, {u}, {c}) = {}{text} in {t} + {u} * {})", kept(&text), g.real(d.min(2)))
        })
    }

    /// Draws the range and the body of a loop that carries `{u: f64, v: [m]f64}`.
    fn record_carry(&mut self, w: &str, d: usize) -> String {
        self.draw_body(|g| {
            let over = g.ranges();
            g.reals.push(format!("{w}.u"));
            g.rows.push((format!("{w}.v"), "", 'm'));
            let body = match g.random.number_below(3) {
                0 => format!("{w} with u = {}", g.step(&format!("{w}.u"), d)),
                1 => format!("{w} with u += {} with v = {}", g.real(d.min(1)), g.row('m', d)),
                _ => format!("{{u: {}, v: {}}}", g.step(&format!("{w}.u"), d), g.row('m', d)),
            };
            format!("{over}: {body}")
        })
    }

    /// Draws a loop that computes a tuple, a record or an array of tuples.
    pub(super) fn repeated_several(&mut self, ty: ExprType, depth: usize) -> String {
        let d = depth - 1;
        let (w, init) = (self.name("v"), self.expr(ty, d.min(1)));
        let body = match ty {
            ExprType::Record => self.record_carry(&w, d),
            ExprType::Pair => {
                let t = self.name("v");
                let body = self.draw_body(|g| {
                    let over = g.ranges();
                    g.reals.push(t.clone());
                    g.rows.push((w.clone(), "", 'n'));
                    let next = if g.random.once_in(2) { g.changed(&w, 'n', d) } else { g.row('n', d) };
                    format!("{over}: ({}, {next})", g.step(&t, d))
                });
                return format!("({}fold ({t}, {w}) = {init} for {body})", kept(&body));
            }
            _ => self.draw_body(|g| {
                let over = g.ranges();
                g.rows.extend([(w.clone(), ".0", 'n'), (w.clone(), ".1", 'n')]);
                if g.random.once_in(2) {
                    let place = g.draw_position('n');
                    let text = format!("{w} with [{}] = ({}, {})", place.at, g.real(d), g.real(d.min(1)));
                    return format!("{over}: {}", place.guard_update(text, &w));
                }
                let i = g.name("i");
                g.indices.push((i.clone(), 'n'));
                format!("{over}: for {i} < n: ({w}[{i}].1 + {}, {})", g.real(d), g.real(d.min(1)))
            }),
        };
        format!("({}fold {w} = {init} for {body})", kept(&body))
    }

    // ---- arrays ----

    /// Draws a position in an array of this extent.
    fn draw_position(&mut self, extent: char) -> UpdatePosition {
        let inside = |at: &str| Some(format!("0 <= {at} < {extent}"));
        let mut all: Vec<(String, Option<String>)> = Vec::new();
        for (i, e) in &self.indices {
            if *e == extent {
                all.extend([
                    (i.clone(), None),
                    (i.clone(), None),
                    (format!("{extent} - 1 - {i}"), None),
                    (format!("({i} + 1) % {extent}"), None),
                ]);
            }
            if *e == 'm' {
                let at = format!("k[{i}]");
                let guard = if self.risky { None } else { inside(&at) };
                all.extend([(at.clone(), guard.clone()), (at, guard)]);
            }
        }
        all.extend(self.ints.iter().map(|c| (c.clone(), inside(c))));
        if all.is_empty() {
            all.push(("0".to_owned(), Some(format!("0 < {extent}"))));
        }
        let (at, inside) = self.random.pick(&all).cloned().unwrap_or_default();
        UpdatePosition { at, inside }
    }

    /// Draws an update of a row: at one or two positions, or in a slice.
    fn changed(&mut self, w: &str, extent: char, d: usize) -> String {
        let place = self.draw_position(extent);
        let at = &place.at;
        let text = match self.random.number_below(9) {
            0..=2 => format!("{w} with [{at}] = {}", self.real(d)),
            3 | 4 => format!("{w} with [{at}] += {}", self.real(d)),
            5 => {
                let other = self.draw_position(extent);
                let text = format!("{w} with [{at}] = {w}[{}] with [{}] = {w}[{at}]", other.at, other.at);
                return place.guard_update(other.guard_update(text, w), w);
            }
            6 => format!("{w} with [{at}] = 0.5 * {w}[{at}] + {}", self.real(d)),
            7 if !self.is_ragged(at) => {
                let op = if self.random.once_in(2) { "=" } else { "+=" };
                // The assigned array has an extent, which must not depend on data.
                let data = at.contains("k[") || self.ints.contains(at);
                match self.random.number_below(if data { 2 } else { 4 }) {
                    0 => format!("{w} with [0..{at}] {op} {}", self.real(d.min(2))),
                    1 => format!("{w} with [{at}..{extent}] {op} {}", self.real(d.min(2))),
                    2 => {
                        let row = self.row(extent, d.min(1));
                        format!("{w} with [{at} + 1..{extent}] {op} ({row})[0..{extent} - 1 - ({at})]")
                    }
                    _ => format!("{w} with [{at}..{at} + 1] {op} [{}]", self.real(d.min(2))),
                }
            }
            _ => format!("{w} with [_] += {}", self.row(extent, d)),
        };
        let text = place.guard_update(text, w);
        if self.random.once_in(4) {
            let p = self.pred(1);
            return format!("(if {p} then {text} else {w})");
        }
        text
    }

    /// Draws a loop that computes a row, or an update.
    pub(super) fn repeated_row(&mut self, extent: char, depth: usize) -> String {
        let d = depth - 1;
        let (w, init) = (self.name("v"), self.row(extent, d.min(1)));
        match self.random.number_below(10) {
            0 => self.scoped(|g| {
                g.rows.push((w.clone(), "", extent));
                format!("(let {w} = {init} in {})", g.changed(&w, extent, d))
            }),
            1 | 2 => self.draw_body(|g| {
                let over = g.ranges();
                g.rows.push((w.clone(), "", extent));
                format!("(fold {w} = {init} for {over}: {})", g.row(extent, d))
            }),
            3 => self.draw_body(|g| {
                let (t, i, init) = (g.name("v"), g.name("t"), g.real(0));
                g.indices.push((i.clone(), extent));
                g.reals.push(t.clone());
                format!("(fold {t} = {init} for {i} < {extent}: {} yield {}).1", g.step(&t, d), g.real(d))
            }),
            4 => {
                let (t, ys, i, j) = (self.name("v"), self.name("v"), self.name("t"), self.name("i"));
                let init = self.real(0);
                let text = self.draw_body(|g| {
                    g.indices.push((i.clone(), extent));
                    g.reals.push(t.clone());
                    format!("scan {t} = {init} for {i} < {extent}: {}", g.step(&t, d))
                });
                format!("(let {ys} = {text} in for {j} < {extent}: {ys}[{j} + 1] - {ys}[{j}])")
            }
            // A nested loop that updates the same array.
            5 if self.loops + 1 < DEEPEST => self.draw_body(|g| {
                let over = g.range();
                g.rows.push((w.clone(), "", extent));
                let inner_array = g.name("v");
                let inner = g.draw_body(|g| {
                    let over = g.range();
                    g.rows.push((inner_array.clone(), "", extent));
                    format!("fold {inner_array} = {w} for {over}: {}", g.changed(&inner_array, extent, d))
                });
                format!("({}fold {w} = {init} for {over}: {inner})", kept(&inner))
            }),
            _ => self.draw_body(|g| {
                let over = g.ranges();
                g.rows.push((w.clone(), "", extent));
                format!("(fold {w} = {init} for {over}: {})", g.changed(&w, extent, d))
            }),
        }
    }

    /// Draws a loop that updates a matrix by row, by column or by element.
    pub(super) fn repeated_matrix(&mut self, depth: usize) -> String {
        let d = depth - 1;
        let (w, init) = (self.name("v"), self.matrix(d.min(1)));
        self.draw_body(|g| {
            let over = g.ranges();
            g.matrices.push(w.clone());
            let op = if g.random.once_in(2) { "=" } else { "+=" };
            let (i, j) = (g.draw_position('n'), g.draw_position('m'));
            let text = match g.random.number_below(7) {
                0 | 1 => i.guard_update(format!("{w} with [{}] {op} {}", i.at, g.row('m', d)), &w),
                2 => j.guard_update(format!("{w} with [_, {}] {op} {}", j.at, g.row('n', d)), &w),
                3 if !g.is_ragged(&j.at) => j.guard_update(format!("{w} with [_, {}..m] {op} {}", j.at, g.real(d)), &w),
                4 if !g.is_ragged(&j.at) => i.guard_update(
                    j.guard_update(format!("{w} with [{}, 0..{}] {op} {}", i.at, j.at, g.real(d)), &w),
                    &w,
                ),
                5 => {
                    i.guard_update(j.guard_update(format!("{w} with [{}, {}] {op} {}", i.at, j.at, g.real(d)), &w), &w)
                }
                _ => g.matrix(d),
            };
            format!("({}fold {w} = {init} for {over}: {text})", kept(&text))
        })
    }

    // ---- functions ----

    /// Draws a lambda that is called twice.
    fn lambda(&mut self, d: usize) -> String {
        let (h, z) = (self.name("h"), self.name("v"));
        let body = self.scoped(|g| {
            g.reals.push(z.clone());
            g.real(d)
        });
        format!("(let {h} = \\({z}: f64): {body} in {h}({}) - {h}({}))", self.leaf(), self.leaf())
    }

    /// Draws a derivative.
    fn operator(&mut self, d: usize) -> String {
        let z = self.name("v");
        let body = self.scoped(|g| {
            g.reals.extend([z.clone(), z.clone()]);
            g.real(d)
        });
        let (at, along) = (self.leaf(), self.leaf());
        match self.random.number_below(5) {
            0 => format!("jvp(\\({z}: f64): {body})({at}, {along})"),
            1 => format!("vjp(\\({z}: f64): {body})({at}, {along})"),
            2 => format!("(let {z} = {at} in deriv({body}, {z}))"),
            _ => format!("grad(\\({z}: f64): {body})({at})"),
        }
    }
}

impl UpdatePosition {
    /// Returns the update under the condition that the position is in bounds, else the old array.
    fn guard_update(&self, text: String, otherwise: &str) -> String {
        match &self.inside {
            Some(p) => format!("(if {p} then {text} else {otherwise})"),
            None => format!("({text})"),
        }
    }
}

/// Returns the checkpoint annotation of a loop with this text. It depends on the text alone, so
/// that the sequence of random numbers does not change.
fn kept(text: &str) -> &'static str {
    match text.len() % 12 {
        0 => "checkpoint: ",
        1 => "checkpoint 1: ",
        2 => "checkpoint 2: ",
        3 => "checkpoint 5: ",
        _ => "",
    }
}
