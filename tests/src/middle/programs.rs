//! **Random programs** of the fragment that the compiler's middle accepts, as text. The definitions
//! have two sizes, arrays of reals (single precision in some), records, integers and truth values.
//! Their shapes reach the rules of every pass and of both derivatives. Half of the programs contain
//! ring operations only, so that every value compares bit for bit.

use lang_core::resolve::scalar_fn::{ScalarDomain, ScalarFn};

use crate::random::Random;

/// The wanted type of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExprType {
    Real,
    Row,
    Column,
    Matrix,
    Pair,
    Pairs,
    Record,
}

/// The types of results, by frequency.
const RESULTS: [ExprType; 10] = [
    ExprType::Real,
    ExprType::Real,
    ExprType::Real,
    ExprType::Real,
    ExprType::Row,
    ExprType::Row,
    ExprType::Matrix,
    ExprType::Pair,
    ExprType::Pairs,
    ExprType::Record,
];

impl ExprType {
    fn text(self) -> &'static str {
        match self {
            Self::Real => "f64",
            Self::Row => "[n]f64",
            Self::Column => "[m]f64",
            Self::Matrix => "[n, m]f64",
            Self::Pair => "(f64, [n]f64)",
            Self::Pairs => "[n](f64, f64)",
            Self::Record => "{u: f64, v: [m]f64}",
        }
    }
}

/// The parameters of every definition.
const PARAMS: &str =
    "x: [n]f64, y: [m]f64, a: [n, m]f64, q: [n](f64, f64), r: {u: f64, v: [n]f64}, k: [m]i64, b: [n]bool, s: f64";
/// The parameters as arguments of a call.
const PASSED: &str = "x, y, a, q, r, k, b, s";

/// Draws definitions, each of which may call earlier ones.
#[must_use]
pub fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let smooth = random.number_below(2) == 0;
    let (risky, single, prods) = (random.once_in(6), random.once_in(8) && !smooth, random.once_in(5));
    let (repeats, operators) = (random.number_below(2) == 0, random.once_in(6));
    let mut draw = MiddleProgramGenerator {
        random,
        smooth,
        risky,
        prods,
        orders: Random::new(seed ^ 0x0de5).once_in(3),
        repeats,
        operators,
        known: Vec::new(),
        indices: Vec::new(),
        reals: Vec::new(),
        rows: Vec::new(),
        matrices: Vec::new(),
        ints: Vec::new(),
        truths: Vec::new(),
        loops: 0,
        inner: 0,
        fresh: 0,
        left: 0,
    };
    let count = 1 + draw.random.number_below(3);
    let mut text = String::new();
    if !single && draw.random.once_in(4) {
        text += "let g = (for i < 3: 0.5 * f64(i) - 0.25)\n";
        draw.known.push(("g".to_owned(), ExprType::Real));
    }
    for k in 0..count {
        let ty = draw.random.pick_or(&RESULTS, ExprType::Real);
        draw.left = 14 + draw.random.number_below(if k == 0 { 60 } else { 30 });
        draw.indices.clear();
        draw.reals.clear();
        let mut body = draw.expr(ty, 5);
        // A body that is too long to be inlined.
        if k == 0 && ty == ExprType::Real && draw.random.once_in(3) {
            for _ in 0..3 {
                draw.left = 30;
                body += &format!(" + {}", draw.expr(ty, 5));
            }
        }
        text += &format!("def f{k}({PARAMS}) -> {} =\n  {body}\n", ty.text());
        draw.known.push((format!("f{k}"), ty));
    }
    if single { text.replace("f64", "f32") } else { text }
}

pub(super) struct MiddleProgramGenerator {
    pub(super) random: Random,
    smooth: bool,
    /// Whether an index from data may be out of bounds, and an assertion may fail.
    pub(super) risky: bool,
    /// Whether loops and updates may be drawn.
    pub(super) repeats: bool,
    /// Whether derivatives may be drawn.
    pub(super) operators: bool,
    /// Whether sorting and filtering may be drawn.
    orders: bool,
    /// Whether products over ranges may be drawn.
    prods: bool,
    /// The definitions so far, and `g`.
    known: Vec<(String, ExprType)>,
    /// Index variables in scope, with the extent of each; the extent `c` is a number.
    pub(super) indices: Vec<(String, char)>,
    /// Reals in scope.
    pub(super) reals: Vec<String>,
    /// Arrays of reals in scope: the text before and after the index, and the extent.
    pub(super) rows: Vec<(String, &'static str, char)>,
    /// Matrices in scope.
    pub(super) matrices: Vec<String>,
    /// Integers in scope.
    pub(super) ints: Vec<String>,
    /// Truth values in scope.
    pub(super) truths: Vec<String>,
    /// The number of enclosing loops.
    pub(super) loops: usize,
    /// The number of indices outside the innermost loop.
    pub(super) inner: usize,
    fresh: u32,
    /// The number of nodes that may still be drawn.
    pub(super) left: usize,
}

impl MiddleProgramGenerator {
    pub(super) fn name(&mut self, prefix: &str) -> String {
        self.fresh += 1;
        format!("{prefix}{}", self.fresh)
    }

    /// Returns an index variable of this extent in scope.
    pub(super) fn at(&mut self, extent: char) -> Option<String> {
        let all: Vec<String> = self.indices.iter().filter(|(_, e)| *e == extent).map(|(i, _)| i.clone()).collect();
        self.random.pick(&all).cloned()
    }

    /// Draws in a scope of its own.
    pub(super) fn scoped(&mut self, inside: impl FnOnce(&mut Self) -> String) -> String {
        let [i, r, w, a, c, p] = [
            self.indices.len(),
            self.reals.len(),
            self.rows.len(),
            self.matrices.len(),
            self.ints.len(),
            self.truths.len(),
        ];
        let text = inside(self);
        self.indices.truncate(i);
        self.reals.truncate(r);
        self.rows.truncate(w);
        self.matrices.truncate(a);
        self.ints.truncate(c);
        self.truths.truncate(p);
        text
    }

    /// Draws under a new index variable.
    pub(super) fn over(&mut self, extent: char, inside: impl FnOnce(&mut Self, &str) -> String) -> String {
        self.scoped(|g| {
            let i = g.name("i");
            g.indices.push((i.clone(), extent));
            inside(g, &i)
        })
    }

    pub(super) fn expr(&mut self, ty: ExprType, depth: usize) -> String {
        self.left = self.left.saturating_sub(1);
        let depth = if self.left == 0 { 0 } else { depth };
        match ty {
            ExprType::Real => self.real(depth),
            ExprType::Row | ExprType::Column => self.row(if ty == ExprType::Row { 'n' } else { 'm' }, depth),
            ExprType::Matrix => self.matrix(depth),
            ExprType::Pair => self.either(ty, depth, |d| format!("({}, {})", d.real(depth - 1), d.row('n', depth - 1))),
            ExprType::Pairs => self.either(ty, depth, |d| {
                d.over('n', |d, i| format!("(for {i} < n: ({}, {}))", d.real(depth - 1), d.real(depth - 1)))
            }),
            ExprType::Record => {
                self.either(ty, depth, |d| format!("{{u: {}, v: {}}}", d.real(depth - 1), d.row('m', depth - 1)))
            }
        }
    }

    /// Draws a form that may return any compound type, or the value `itself`.
    fn either(&mut self, ty: ExprType, depth: usize, itself: impl FnOnce(&mut Self) -> String) -> String {
        let simple = match ty {
            ExprType::Pair => "(s, x)",
            ExprType::Pairs => "q",
            _ => "{u: s, v: y}",
        };
        if depth == 0 {
            return simple.to_owned();
        }
        if self.may_repeat(depth, 3) {
            return self.repeated_several(ty, depth);
        }
        match self.random.number_below(8) {
            0 => {
                let p = self.pred(depth - 1);
                format!("(if {p} then {} else {})", self.expr(ty, depth - 1), self.expr(ty, depth - 1))
            }
            1 => self.call(ty).unwrap_or_else(|| simple.to_owned()),
            2 => {
                let p = self.pred(depth - 1);
                format!("([{p}] * {})", self.expr(ty, depth - 1))
            }
            3 => self.bound(ty, depth),
            4 if self.indices.is_empty() && ty == ExprType::Pair => {
                self.over('m', |d, i| format!("(sum {i} < m: {})", d.expr(ty, depth - 1)))
            }
            _ => itself(self),
        }
    }

    fn call(&mut self, ty: ExprType) -> Option<String> {
        let all: Vec<String> =
            self.known.iter().filter(|(f, t)| *t == ty && f != "g").map(|(f, _)| f.clone()).collect();
        let f = self.random.pick(&all).cloned()?;
        // A call that depends on an index is evaluated for each.
        let s = if self.random.number_below(2) == 0 { self.real(0) } else { "s".to_owned() };
        Some(format!("{f}({}, {s})", PASSED.trim_end_matches(", s")))
    }

    /// Draws a `let` around an expression.
    fn bound(&mut self, ty: ExprType, depth: usize) -> String {
        self.scoped(|g| g.binding(ty, depth))
    }

    fn binding(&mut self, ty: ExprType, depth: usize) -> String {
        let v = self.name("v");
        match self.random.number_below(4) {
            0 => {
                let (w, pair) = (self.name("v"), self.expr(ExprType::Pair, depth - 1));
                self.reals.push(v.clone());
                let i = self.at('n');
                let body = self.expr(ty, depth - 1);
                match i {
                    Some(i) if ty == ExprType::Real => format!("(let ({v}, {w}) = {pair} in {body} + {w}[{i}])"),
                    _ => format!("(let ({v}, {w}) = {pair} in {body})"),
                }
            }
            1 => {
                let (record, body) = (self.expr(ExprType::Record, depth - 1), self.expr(ty, depth - 1));
                match ty {
                    ExprType::Real => format!("(let {v} = {record} in {v}.u * {body})"),
                    _ => format!("(let {v} = {record} in {body})"),
                }
            }
            _ => {
                let value = self.real(depth - 1);
                self.reals.push(v.clone());
                format!("(let {v} = {value} in {})", self.expr(ty, depth - 1))
            }
        }
    }

    pub(super) fn leaf(&mut self) -> String {
        let mut all = vec!["s".to_owned(), "r.u".to_owned(), "0.5".to_owned(), "2.0".to_owned(), "-1.25".to_owned()];
        all.extend(self.reals.iter().cloned());
        all.extend(self.reals.last().cloned());
        for (i, extent) in &self.indices {
            match extent {
                'n' => all.extend([
                    format!("x[{i}]"),
                    format!("r.v[{i}]"),
                    format!("q[{i}].0"),
                    format!("q[{i}].1"),
                    format!("x[{i}]"),
                ]),
                'm' => all.extend([
                    format!("y[{i}]"),
                    format!("y[{i}]"),
                    format!("[{i} + 1 < m] * y[{i} + 1]"),
                    format!("[0 <= k[{i}] < n] * x[k[{i}]]"),
                ]),
                _ => all.push(format!("0.25 * f64({i})")),
            }
            for (w, part, other) in &self.rows {
                if other == extent {
                    all.extend([format!("{w}[{i}]{part}"), format!("{w}[{extent} - 1 - {i}]{part}")]);
                } else if *extent == 'm' && *other == 'n' {
                    all.push(format!("[0 <= k[{i}] < n] * {w}[k[{i}]]{part}"));
                }
            }
            if self.risky && *extent == 'm' {
                all.push(format!("x[k[{i}]]"));
            }
            for (j, other) in &self.indices {
                match (extent, other) {
                    ('n', 'm') => {
                        all.extend([format!("a[{i}, {j}]"), format!("a[{i}, {j}]")]);
                        all.extend(self.matrices.iter().map(|w| format!("{w}[{i}, {j}]")));
                    }
                    ('n', 'n') if i != j => all.push(format!("[{i} == {j}] * x[{i}]")),
                    _ => {}
                }
            }
        }
        for c in &self.ints {
            all.extend([format!("0.5 * f64({c})"), format!("[0 <= {c} < n] * x[{c}]")]);
            all.extend(self.rows.iter().map(|(w, part, e)| format!("[0 <= {c} < {e}] * {w}[{c}]{part}")));
        }
        for (w, part, e) in &self.rows {
            all.push(format!("[0 < {e}] * {w}[0]{part}"));
        }
        if self.known.iter().any(|(f, _)| f == "g") {
            all.push("g[1]".to_owned());
        }
        let leaf = self.random.pick(&all).cloned().unwrap_or_default();
        if leaf.starts_with('[') || leaf.contains(" * ") { format!("({leaf})") } else { leaf }
    }

    pub(super) fn real(&mut self, depth: usize) -> String {
        self.left = self.left.saturating_sub(1);
        if depth == 0 || self.left == 0 {
            return self.leaf();
        }
        let d = depth - 1;
        if self.may_repeat(depth, 6) {
            return self.repeated(depth);
        }
        match self.random.number_below(28) {
            25..=27 => self.reduction(d),
            24 if self.orders && self.random.number_below(8) < 7 => self.ordered(d),
            24 => self.call(ExprType::Real).unwrap_or_else(|| self.leaf()),
            0 | 1 => format!("({} + {})", self.real(d), self.real(d)),
            2 => format!("({} - {})", self.real(d), self.real(d)),
            3 | 4 => format!("({} * {})", self.real(d), self.real(d)),
            5 => format!("(-({}))", self.real(d)),
            6 | 7 => {
                let p = self.pred(d);
                format!("([{p}] * {})", self.real(d))
            }
            8 | 9 => {
                let extent = self.random.pick_or(&['n', 'm'], 'n');
                self.over(extent, |g, i| format!("(sum {i} < {extent}: {})", g.real(d)))
            }
            10 => self
                .over('n', |g, i| g.over('m', |g, j| format!("(sum {i} < n, {j} < m: {} * {})", g.real(d), g.real(d)))),
            11 => self.over('n', |g, i| {
                let p = g.pred(d);
                format!("(sum {i} < n if {p}: {})", g.real(d))
            }),
            12 => {
                let p = self.pred(d);
                format!("(if {p} then {} else {})", self.real(d), self.real(d))
            }
            13 | 14 => self.bound(ExprType::Real, depth),
            15 => self.call(ExprType::Real).unwrap_or_else(|| self.leaf()),
            16 => match self.at('n') {
                Some(i) => format!("({})[{i}]", self.row('n', d)),
                None => self.leaf(),
            },
            17 => match self.at('m') {
                Some(i) => format!("({})[{i}]", self.row('m', d)),
                None => self.leaf(),
            },
            18 => format!("({}, {}).{}", self.real(d), self.real(d), self.random.number_below(2)),
            19 => format!("({})^2", self.real(d)),
            20 => format!("stop({})", self.real(d)),
            _ if self.smooth => {
                let e = self.real(d);
                match self.random.number_below(13) {
                    9..=12 => self.function(&e),
                    0 => format!("sin({e})"),
                    1 => format!("tanh({e})"),
                    2 => format!("exp(-abs({e}))"),
                    3 => format!("sqrt(1.0 + ({e})^2)"),
                    4 => format!("({e} / (1.5 + {}^2))", self.leaf()),
                    5 => format!("max({e}, {})", self.leaf()),
                    6 => format!("atan2({e}, 1.0 + {}^2)", self.leaf()),
                    7 => format!("hypot({e}, {})", self.leaf()),
                    _ => format!("log(1.0 + ({e})^2)"),
                }
            }
            _ => format!("({} * {})", self.leaf(), self.real(d)),
        }
    }

    /// Draws a product, a maximum, a minimum, or an expression that depends on the argument of one.
    fn reduction(&mut self, d: usize) -> String {
        let word = self.random.pick_or(&["max", "min", "max", "min", "prod"], "max");
        let word = if word == "prod" && !self.prods { "min" } else { word };
        let arg = self.random.pick_or(&["argmax", "argmin"], "argmax");
        let extent = self.random.pick_or(&['n', 'm'], 'n');
        match self.random.number_below(10) {
            0 | 1 => self.over(extent, |g, i| format!("({word} {i} < {extent}: {})", g.real(d))),
            2 => self.over(extent, |g, i| {
                let p = g.pred(d.min(1));
                format!("({word} {i} < {extent} if {p}: {})", g.real(d))
            }),
            3 => self.over('n', |g, i| g.over('m', |g, j| format!("({word} {i} < n, {j} < m: {})", g.real(d)))),
            4 => match self.at('n') {
                Some(first) => self.over('n', |g, i| format!("({word} {i} in {first}..n: {})", g.real(d))),
                None => self.over('n', |g, i| {
                    g.over('n', |g, j| format!("({word} {i} < n, {j} in 0..{i} + 1 if {i} != 1: {})", g.real(d)))
                }),
            },
            5 => {
                let i = self.over('n', |g, i| format!("{arg} {i} < n: {}", g.real(d)));
                if self.risky { format!("x[{i}]") } else { format!("([0 < n] * x[{i}])") }
            }
            6 => {
                let v = self.name("v");
                let k = self.over('m', |g, i| format!("{arg} {i} < m: {}", g.real(d)));
                format!("([0 < m] * (let {v} = {k} in y[{v}] * f64({v})))")
            }
            7 => {
                let (v, w) = (self.name("v"), self.name("v"));
                let place = self.over('n', |g, i| {
                    g.over('m', |g, j| {
                        let filter = if g.risky { format!(" if {}", g.pred(0)) } else { String::new() };
                        format!("{arg} {i} < n, {j} < m{filter}: {}", g.real(d))
                    })
                });
                format!("([0 < n && 0 < m] * (let ({v}, {w}) = {place} in a[{v}, {w}] + x[{v}]))")
            }
            8 => {
                let word = if word == "prod" { "max" } else { word };
                let i = self.over('m', |_, i| format!("{word} {i} < m: k[{i}] + {i}"));
                if self.risky { format!("f64({i})") } else { format!("([0 < m] * f64({i}))") }
            }
            _ => self.over(extent, |g, i| {
                let e = g.real(d);
                format!("({word} {i} < {extent} if {i} == 0: {e})")
            }),
        }
    }

    /// Draws a call of any scalar function, mostly inside its domain.
    fn function(&mut self, e: &str) -> String {
        let real: Vec<ScalarFn> = ScalarFn::ALL.iter().copied().filter(|f| f.domain() != ScalarDomain::Int).collect();
        let Some(f) = self.random.pick(&real).copied() else { return e.to_owned() };
        let mut args = Vec::new();
        for _ in f.arguments() {
            let of = if args.is_empty() { e.to_owned() } else { self.leaf() };
            args.push(match self.random.number_below(3) {
                0 => format!("tanh({of})"),
                1 => format!("(1.5 + tanh({of}))"),
                _ => of,
            });
        }
        format!("{}({})", f.name(), args.join(", "))
    }

    pub(super) fn row(&mut self, extent: char, depth: usize) -> String {
        let rows = self.rows.iter().filter(|(_, part, e)| part.is_empty() && *e == extent);
        let mut rows: Vec<String> = rows.map(|(w, ..)| w.clone()).collect();
        rows.push(if extent == 'n' { "x" } else { "y" }.to_owned());
        let simple = &*self.random.pick(&rows).cloned().unwrap_or_default();
        if self.may_repeat(depth, 4) {
            return self.repeated_row(extent, depth);
        }
        if depth == 0 || self.left == 0 {
            return simple.to_owned();
        }
        let d = depth - 1;
        let ty = if extent == 'n' { ExprType::Row } else { ExprType::Column };
        match self.random.number_below(14) {
            0 if self.orders => self.ordered_row(extent, d),
            0..=4 => self.over(extent, |g, i| format!("(for {i} < {extent}: {})", g.real(d))),
            5 => format!("({} + {})", self.row(extent, d), self.row(extent, d)),
            6 => format!("({} * {})", self.real(d), self.row(extent, d)),
            7 => {
                let p = self.pred(d);
                format!("([{p}] * {})", self.row(extent, d))
            }
            8 => {
                let p = self.pred(d);
                format!("(if {p} then {} else {})", self.row(extent, d), self.row(extent, d))
            }
            9 => self.bound(ty, depth),
            10 => self.call(ty).unwrap_or_else(|| simple.to_owned()),
            11 if extent == 'm' => match self.at('n') {
                Some(i) => format!("a[{i}]"),
                None => simple.to_owned(),
            },
            11 => match self.at('m') {
                Some(j) => format!("a[_, {j}]"),
                None => "r.v".to_owned(),
            },
            12 => self.over(if extent == 'n' { 'm' } else { 'n' }, |g, i| {
                let other = if extent == 'n' { 'm' } else { 'n' };
                format!("(sum {i} < {other}: {})", g.row(extent, d))
            }),
            _ if extent == 'n' => format!("{}.1", self.expr(ExprType::Pair, d)),
            _ => format!("{}.v", self.expr(ExprType::Record, d)),
        }
    }

    pub(super) fn matrix(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.matrices.last().cloned().unwrap_or_else(|| "a".to_owned());
        }
        let d = depth - 1;
        if self.may_repeat(depth, 3) {
            return self.repeated_matrix(depth);
        }
        match self.random.number_below(6) {
            0 | 1 => self.over('n', |g, i| g.over('m', |g, j| format!("(for {i} < n, {j} < m: {})", g.real(d)))),
            2 => self.over('n', |g, i| format!("(for {i} < n: {})", g.row('m', d))),
            3 => format!("({} - {})", self.matrix(d), self.matrix(d)),
            4 => self.call(ExprType::Matrix).unwrap_or_else(|| "a".to_owned()),
            _ => {
                let p = self.pred(d);
                format!("([{p}] * {})", self.matrix(d))
            }
        }
    }

    pub(super) fn pred(&mut self, depth: usize) -> String {
        let mut all: Vec<String> = vec!["s > 0.25".into(), "n == m".into(), "m < n + 1".into(), "r.u <= s".into()];
        for (i, extent) in &self.indices {
            all.extend([
                format!("{i} == 0"),
                format!("0 < {i}"),
                format!("{i} + 1 < {}", if *extent == 'c' { '3' } else { *extent }),
                format!("{i} % 2 == 0"),
            ]);
            match extent {
                'n' => all.extend([format!("b[{i}]"), format!("x[{i}] > 0.0"), format!("!b[{i}]")]),
                'm' => all.extend([format!("k[{i}] == 1"), format!("y[{i}] <= s")]),
                _ => {}
            }
            for (j, other) in &self.indices {
                if i == j {
                    continue;
                }
                all.extend([
                    format!("{i} == {j}"),
                    format!("{i} < {j}"),
                    format!("{i} + 1 == {j}"),
                    format!("{i} != {j}"),
                ]);
                if (*extent, *other) == ('m', 'n') {
                    all.extend([format!("k[{i}] == {j}"), format!("k[{i}] == {j}")]);
                }
            }
        }
        all.extend(self.ints.iter().flat_map(|c| [format!("{c} % 2 == 0"), format!("{c} < n")]));
        all.extend(self.truths.iter().flat_map(|p| [p.clone(), format!("!{p}")]));
        let simple = self.random.pick(&all).cloned().unwrap_or_default();
        match self.random.number_below(10) {
            0 if depth > 0 => format!("{simple} && {}", self.pred(0)),
            1 if depth > 0 => format!("({simple} || {})", self.pred(0)),
            2 if depth > 0 => self.over('m', |g, j| format!("(any {j} < m: {})", g.pred(0))),
            3 if depth > 0 => self.over('n', |g, j| format!("(all {j} < n: {})", g.pred(0))),
            _ => simple,
        }
    }
}
