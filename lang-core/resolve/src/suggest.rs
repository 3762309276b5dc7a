//! **Suggestions** for unknown names: the closest existing name, or the notation here for a habit
//! from another language.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::LazyLock;

use super::builtin::Builtin;
use super::foreign_calls::{self, ForeignCall};
use super::forms::{Const, DerivativeOp, SpecialForm};
use super::scalar_fn::ScalarFn;
use lang_base::{Hint, Name, Suggestion};
use lang_syntax::ops::Scalar;

/// Returns the value names of the language itself.
pub(super) fn language_names() -> impl Iterator<Item = &'static str> {
    let conversions = [Scalar::F64, Scalar::F32, Scalar::I64];
    ScalarFn::ALL
        .iter()
        .map(|f| f.name())
        .chain(Builtin::ALL.iter().map(|b| b.name()))
        .chain(SpecialForm::ALL.iter().map(|f| f.name()))
        .chain(DerivativeOp::ALL.iter().map(|d| d.name()))
        .chain(Const::ALL.iter().map(|c| c.name()))
        .chain(conversions.into_iter().map(Scalar::name))
        .chain(["true", "false"])
}

/// Returns the closest name of the language itself.
pub(super) fn closest_language_name(name: &str) -> Option<String> {
    static ALL: LazyLock<Vec<NameCandidate>> = LazyLock::new(|| language_names().map(NameCandidate::new).collect());
    nearest_candidate(name, ALL.iter(), &|_| true)
}

/// Returns the candidate closest to `name`: fewest edits, then the longest common prefix, then the
/// first in alphabetical order. The limit is one edit for a short name, and one per three letters
/// of a long one. Two names of the same length, up to three letters, that differ in a single letter
/// count as distinct names.
pub fn nearest_name<S: AsRef<str>>(name: &str, candidates: impl IntoIterator<Item = S>) -> Option<String> {
    let mut search = NearestNameSearch::new(name);
    for candidate in candidates {
        let candidate = candidate.as_ref();
        search.consider(candidate, NameTraits::of(candidate), &|_| true);
    }
    search.into_best()
}

/// A candidate name with its precomputed traits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameCandidate {
    name: Name,
    traits: NameTraits,
}

impl NameCandidate {
    /// Creates a candidate from a name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), traits: NameTraits::of(name) }
    }
}

/// Returns the closest candidate like [`nearest_name`], from precomputed candidates; only those
/// that are `wanted` count.
pub fn nearest_candidate<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c NameCandidate>,
    wanted: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let mut search = NearestNameSearch::new(name);
    for NameCandidate { name, traits } in candidates {
        search.consider(name, *traits, wanted);
    }
    search.into_best()
}

/// The length and the letter set of a name, a cheap filter that excludes most candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NameTraits {
    length: usize,
    letters: u64,
}

impl NameTraits {
    fn of(name: &str) -> Self {
        Self { length: name.chars().count(), letters: letter_set(name) }
    }
}

/// The search for the candidate closest to a name.
struct NearestNameSearch<'n> {
    name: &'n str,
    name_traits: NameTraits,
    best: Option<(usize, Reverse<usize>, String)>,
}

impl<'n> NearestNameSearch<'n> {
    fn new(name: &'n str) -> Self {
        Self { name, name_traits: NameTraits::of(name), best: None }
    }

    fn consider(&mut self, candidate: &str, of: NameTraits, wanted: &dyn Fn(&str) -> bool) {
        let Self { name, name_traits: own, best } = self;
        let allowed = (own.length / 3).max(1);
        if of.length == 0 || of.length.abs_diff(own.length) > allowed || candidate == *name {
            return;
        }
        let same_but_case = of.letters == own.letters && lowercase_chars(candidate).eq(lowercase_chars(name));
        if !same_but_case {
            // A cheap lower bound: one edit removes a letter, adds one, or does both.
            let differ = (of.letters ^ own.letters).count_ones() as usize;
            // A single letter is one edit away from any other, so it yields no suggestion. A
            // doubled letter, however, is a typing error.
            let doubled = own.length.abs_diff(of.length) == 1 && differ == 0;
            let short = own.length.min(of.length) < 2 && !doubled;
            let other_letter = own.length == of.length && own.length <= 3 && differ_in_one_letter(name, candidate);
            if differ > 2 * allowed || short || other_letter {
                return;
            }
        }
        if !wanted(candidate) {
            return;
        }
        let edits = if same_but_case { 0 } else { strsim::damerau_levenshtein(name, candidate) };
        if edits > allowed {
            return;
        }
        let common = name.chars().zip(candidate.chars()).take_while(|(a, b)| a == b).count();
        let found = (edits, Reverse(common), candidate.to_owned());
        if best.as_ref().is_none_or(|best| found < *best) {
            *best = Some(found);
        }
    }

    fn into_best(self) -> Option<String> {
        self.best.map(|best| best.2)
    }
}

/// Returns whether two names of the same length differ in exactly one position.
fn differ_in_one_letter(a: &str, b: &str) -> bool {
    a.chars().zip(b.chars()).filter(|(a, b)| a != b).count() == 1
}

/// Returns the set of letters in a name, ignoring case. One edit changes at most two bits. ASCII
/// letters and digits have a bit each, so that few of many names pass the filter.
fn letter_set(name: &str) -> u64 {
    // One letter per character, because the lower case of `İ` has two.
    name.chars().filter_map(|c| c.to_lowercase().next()).fold(0, |set, c| {
        let bit = match c {
            'a'..='z' => u32::from(c) - u32::from('a'),
            '0'..='9' => 26 + u32::from(c) - u32::from('0'),
            _ => 36 + u32::from(c) % 28,
        };
        set | 1 << bit
    })
}

fn lowercase_chars(name: &str) -> impl Iterator<Item = char> {
    name.chars().flat_map(char::to_lowercase)
}

/// Returns `did you mean …?` for the closest candidate.
pub fn did_you_mean<S: AsRef<str>>(name: &str, candidates: impl IntoIterator<Item = S>) -> Option<Hint> {
    nearest_name(name, candidates).map(Hint::did_you_mean)
}

/// A constant hint that suggests a replacement of the foreign name.
macro_rules! replacement {
    ($code:literal, $text:literal) => {
        Hint::new($text, &[Suggestion::Replace(Cow::Borrowed($code))])
    };
}

/// Values by their foreign names.
const VALUE_HELPS: &[(&[&str], Hint)] = &[
    (&["True", "TRUE"], replacement!("true", "write `true`")),
    (&["False", "FALSE"], replacement!("false", "write `false`")),
    (
        &["None", "null", "nil", "undefined"],
        Hint::text("there is no null: use the empty tuple `()`, or a `type` with a constructor for absence"),
    ),
    (&["linspace"], Hint::text("write `for i < n: a + (b - a) * f64(i) / f64(n - 1)`")),
    (&["einsum", "tensordot"], Hint::text("write the indices out: `for i, j: sum k: a[i, k] * b[k, j]`")),
    (&["meshgrid", "ndgrid"], Hint::text("write the indices out: `for i, j: f(x[i], y[j])`")),
    (&["logspace", "geomspace"], Hint::text("write `for i < n: a * (b / a)^(f64(i) / f64(n - 1))`")),
    (&["matrix_power"], Hint::text("write `fold p = linalg.eye(n) for _ < k: linalg.matmul(p, a)`")),
    (
        &["matrix_rank"],
        Hint::text(
            "count the singular values that are not small: `let s = linalg.svdvals(a) in sum i: [s[i] > 1e-12 * s[0]] * 1`",
        ),
    ),
    (
        &["cond"],
        Hint::text(
            "write a choice as `if c then a else b`; the condition number of a matrix is `let s = linalg.svdvals(a) in s[0] / s[len(s) - 1]`",
        ),
    ),
    (&["switch"], Hint::text("write `match e { p: a, q: b }`")),
    (&["vander", "vandermonde"], Hint::text("write `for i, j < k: x[i]^j`")),
    (&["polyfit"], Hint::text("write `linalg.lstsq(for i, j < k: t[i]^j, y)`, whose result has the constant first")),
    (&["quad", "quadgk"], Hint::text("write `let h = (b - a) / f64(n) in h * (sum i < n: f(a + (f64(i) + 0.5) * h))`")),
    (
        &["brentq", "bisect", "root_scalar", "find_zero", "ridder", "toms748"],
        Hint::text("use Newton's method: `loop x = start while abs(f(x)) > 1e-12: x - f(x) / grad(f)(x)`"),
    ),
    (&["comb", "binom"], Hint::text("write `round(exp(stats.log_choose(n, k)))`")),
    (&["factorial"], Hint::text("write `prod i < n: i + 1`, or `exp(lgamma(x + 1))` for a real number")),
    (&["entr"], Hint::text("write `-stats.xlogy(p, p)`")),
    (&["gmean"], Hint::text("write `exp(stats.mean(log(x)))`")),
    (
        &["allclose", "isclose", "isapprox"],
        Hint::text("write `all i: abs(x[i] - y[i]) <= 1e-8 + 1e-5 * abs(y[i])`; for two numbers, omit the index"),
    ),
    (&["nonzero", "argwhere", "flatnonzero", "findall"], Hint::text(r"write `filter(\i: x[i] != 0, iota(len(x)))`")),
    (
        &["searchsorted", "searchsortedfirst", "digitize"],
        Hint::text("count the smaller elements: `sum i: [x[i] < v] * 1`"),
    ),
    (&["isin", "in1d"], Hint::text("write `any i: x[i] == v`, or `for j: any i: x[i] == v[j]` for every element")),
    (&["topk", "top_k"], Hint::text("write `let y = reverse(sort(x)) in y[0..k]`")),
    (&["squeeze", "dropdims"], Hint::text("remove an axis of one element with an index: `x[0]`, `x[_, 0]`")),
    (
        &["expand_dims", "unsqueeze", "newaxis"],
        Hint::text("add an axis of one element with `[x,]`, or `for i: [x[i],]`"),
    ),
    (&["broadcast_to", "expand"], Hint::text("write the indices out: `for i < n, j: x[j]`")),
    (&["pad"], Hint::text("write `for i < n: if a <= i < a + len(x) then x[i - a] else 0.0`")),
    (
        &["array_split", "hsplit", "vsplit", "chunk"],
        Hint::text("write `x[a..b]` for a slice, or `reshape(x, n, m)` for equal rows"),
    ),
    (
        &["apply_along_axis", "mapslices", "eachrow", "eachcol", "vectorize"],
        Hint::text("write `map(f, a)` to map over rows, or `map(f, transpose(a))` to map over columns"),
    ),
    (
        &["accumulate", "associative_scan", "cummax", "cummin"],
        Hint::text("write `scan acc = init for i < n: f(acc, x[i])`, which includes the start"),
    ),
    (&["extrema"], Hint::text("write `(min i: x[i], max i: x[i])`")),
    (&["copy", "deepcopy", "clone", "collect"], Hint::text("remove it, because values are immutable")),
    (&["block_until_ready", "device_put"], Hint::text("remove it, because values are always ready")),
    (
        &["custom_jvp", "custom_vjp", "custom_gradient", "rrule", "frule"],
        Hint::text("write a rule next to the definition: `derivative f(x; dx) = …` or `adjoint f(x; dy) = …`"),
    ),
    (&["linearize", "pushforward"], Hint::text("write `jvp(f)(x, dx)`")),
    (&["pullback"], Hint::text("write `vjp(f)(x, dy)`")),
    (&["remat"], Hint::text("write `checkpoint:` before the `fold` or the `loop`")),
    (
        &["std", "stddev", "stdev"],
        Hint::text("write `sqrt((sum i: (x[i] - m)^2) / f64(len(x)))`, where `m` is the mean"),
    ),
    (&["var", "variance"], Hint::text("write `(sum i: (x[i] - m)^2) / f64(len(x))`, where `m` is the mean")),
    (&["median"], Hint::text("write `let y = sort(x) in (y[(len(y) - 1) // 2] + y[len(y) // 2]) / 2.0`")),
    (
        &["select", "ifelse"],
        Hint::text("write `if c then a else b`, or `for i: if c[i] then a[i] else b[i]` for every element"),
    ),
    (&["reduce", "foldl", "foldr", "inject"], Hint::text("write `fold acc = init for i < n: f(acc, x[i])`")),
    (
        &["length", "size", "shape", "count"],
        Hint::text(
            "the extent of the first axis is `len(x)`; a size in a parameter's type, such as `n` in `x: [n]f64`, is also a value",
        ),
    ),
    (&["zip"], Hint::text("write `zip_with(f, x, y)`, or `for i: f(x[i], y[i])`")),
    (&["vmap", "pmap"], Hint::text("write `for i: f(x[i])`, or `map(f, x)`")),
    (&["jit"], Hint::new("remove `jit`, because Iverson compiles programs automatically", &[Suggestion::Remove])),
    (&["fori_loop"], Hint::text("write `fold x = init for i < n: f(i, x)`")),
    (&["while_loop"], Hint::text("write `loop x = init while p(x): f(x)`")),
    (&["where"], Hint::text("write `if c then a else b`, or `for i: if c[i] then a[i] else b[i]` for every element")),
    (&["flatten", "ravel", "vec"], Hint::text("write `reshape(a, n * m)`; `let [n, m] a = …` names the extents")),
    (
        &["unique"],
        Hint::text(
            "write `let y = sort(x)`, then `for i: y[k[i]]` with `let k = filter(\\i: i == 0 || y[i - 1] != y[i], iota(len(y)))`",
        ),
    ),
    (
        &["fillna", "nan_to_num"],
        Hint::text("write `for i: if x[i] == x[i] then x[i] else 0.0`, because NaN differs from itself"),
    ),
    (
        &["groupby", "group_by", "bincount", "segment_sum", "index_add"],
        Hint::text(
            "for group numbers `g[i] < k`, the sums are `scatter_add((for j < k: 0.0), g, x)` and the counts are `histogram(g, k)`",
        ),
    ),
    (
        &["DataFrame", "data_frame", "Series"],
        Hint::text("write a table as a record of columns, `{x: [1.0, 2.0], y: [3.0, 4.0]}`; a column is `t.x`"),
    ),
    (
        &["read_csv", "loadtxt", "genfromtxt", "read_json", "read_table", "imread"],
        Hint::text("write `let d = load(\"file.csv\")`; the report names a type that fits the file"),
    ),
    (
        &["to_csv", "savetxt", "to_json", "savez", "imsave", "write_csv"],
        Hint::text("write `save(x, \"file.csv\")`; the file may also end in .npy, .npz, .json or .png"),
    ),
    (&["imshow"], Hint::text("write `plot(a, \"heatmap\")`")),
    (
        &["show", "figure", "subplots"],
        Hint::text("`plot(x, y)` draws immediately; `plot(x, y, file: \"figure.svg\")` draws to a file"),
    ),
    (&["savefig"], Hint::text("write `plot(x, y, file: \"figure.svg\")`")),
    (&["scatter_plot", "scatterplot"], Hint::text("write `plot(x, y, \"points\")`")),
    (&["hist"], Hint::text("write `plot(x, \"histogram\")`")),
    (
        &["str", "repr", "to_string", "format"],
        Hint::text("values do not convert to text: `print(\"a\", x)` prints them directly"),
    ),
    (
        &["tensor", "array", "asarray", "ndarray", "DeviceArray"],
        Hint::text("write an array as `[1.0, 2.0]`, a matrix as `[[1.0, 2.0], [3.0, 4.0]]`"),
    ),
    (&["gamma"], Hint::text("write `exp(lgamma(x))`, for `x > 0`")),
    (
        &["transpose_", "permute", "swapaxes", "moveaxis", "rollaxis"],
        Hint::text("write the indices in the new order: `for j, i: a[i, j]`"),
    ),
    (&["rel"], Hint::text("write `rel i < n, j < m: p`")),
    (&["maximum"], Hint::text("write `max i: x[i]`, or `max(a, b)` for two values")),
    (&["minimum"], Hint::text("write `min i: x[i]`, or `min(a, b)` for two values")),
    (
        &["around", "rounded"],
        Hint::text("write `round(x)`, or `round_to(x, 2)` for two digits after the decimal point"),
    ),
    (&["and"], replacement!("&&", "write `&&`")),
    (&["or"], replacement!("||", "write `||`")),
    (&["not"], replacement!("!", "write `!`")),
    (&["xor"], Hint::text("write `a != b` for truth values, or `bit_xor(a, b)` for integers")),
    (
        &["float", "double", "Float64", "real", "float64"],
        replacement!("f64", "write `f64(x)` to convert to the default real type"),
    ),
    (&["float32", "Float32", "single"], replacement!("f32", "write `f32(x)` to convert")),
    (
        &["int", "integer", "int64", "Int", "Int64", "long"],
        replacement!("i64", "write `i64(x)` to convert to an integer"),
    ),
    (&["bool"], Hint::text("compare a number to get a truth value: `x != 0`")),
    (&["ln"], replacement!("log", "the natural logarithm is `log`")),
    (
        &["arcsin", "arccos", "arctan", "arctan2"],
        Hint::text("the inverse functions are `asin`, `acos`, `atan` and `atan2`"),
    ),
    (
        &["gradient", "backward", "autograd", "approx_fprime", "approx_derivative", "check_grad"],
        Hint::text("write `grad(f)(x)`"),
    ),
    (&["jacrev", "jacfwd"], Hint::text("write `jacobian(f)(x)`")),
    (&["stop_gradient", "detach"], replacement!("stop", "write `stop(e)`")),
    (&["lambda", "fn", "fun", "function"], Hint::text("write an anonymous function as `\\x: e`")),
    (&["return"], Hint::new("remove `return`, because the body is the value of a definition", &[Suggestion::Remove])),
    (&["elif", "elsif", "elseif"], replacement!("else if", "write `else if`")),
    (
        &["puts", "println", "printf", "echo", "display"],
        Hint::text("write `print(e)` at top level, or `dbg(e)` anywhere"),
    ),
    (&["raise", "throw", "panic", "fail"], replacement!("error", "write `error(\"text\")`")),
    (&["infinity", "Inf", "Infinity", "INFINITY"], replacement!("inf", "write `inf`")),
    (&["NaN", "NAN"], replacement!("nan", "write `nan`")),
    (
        &["isnan", "is_nan", "isNaN"],
        Hint::text("write `x != x`, also for a whole array, because only NaN differs from itself"),
    ),
    (
        &["isinf", "is_inf", "isInf", "is_infinite"],
        Hint::text("write `abs(x) == inf`, or `x == inf` for one sign only"),
    ),
    (&["isfinite", "is_finite", "isFinite"], Hint::text("write `abs(x) < inf`, which is false for NaN")),
    (&["PI", "Pi", "M_PI"], replacement!("pi", "write `pi`")),
    (
        &[
            "nanmean",
            "nansum",
            "nanvar",
            "nanstd",
            "nanmedian",
            "nanmax",
            "nanmin",
            "nanquantile",
            "nanpercentile",
            "dropna",
        ],
        Hint::text("write `filter(\\v: v == v, x)` to remove NaN, because only NaN differs from itself"),
    ),
];

/// Types by their foreign names.
const TYPE_HELPS: &[(&[&str], Hint)] = &[
    (
        &["float", "double", "Float", "Double", "Float64", "float64", "Real", "number", "Number", "f16", "half"],
        replacement!("f64", "the default real is `f64`"),
    ),
    (
        &["real"],
        Hint::text(
            "`real` is a type class: write `a` here and `where a: real` after the result; the default real is `f64`",
        ),
    ),
    (&["num"], Hint::text("`num` is a type class: write `a` here and `where a: num` after the result")),
    (&["Float32", "float32", "single"], replacement!("f32", "the smaller real is `f32`")),
    (
        &[
            "int", "integer", "Int", "Integer", "Int64", "int64", "int32", "Int32", "long", "i32", "i16", "i8", "u64",
            "u32", "u16", "u8", "usize", "isize", "size_t", "Nat", "nat",
        ],
        replacement!("i64", "integers are `i64`"),
    ),
    (&["Bool", "boolean", "Boolean"], replacement!("bool", "truth values are `bool`")),
    (&["Complex", "complex"], Hint::text("there are no complex numbers: use a pair `(f64, f64)`")),
    (
        &["str", "string", "String", "char", "text"],
        Hint::text("there is no type for text; strings exist only for effects and messages"),
    ),
    (
        &["Vec", "Vector", "vec", "vector", "List", "list", "Array", "array", "ndarray", "Tensor", "tensor"],
        Hint::text("write an array type as `[n]f64`, or `[n, m]f64` with two axes"),
    ),
    (&["Matrix", "matrix", "Mat"], Hint::text("write a matrix type as `[n, m]f64`")),
    (&["unit", "Unit", "void", "Void"], replacement!("()", "the unit type is `()`")),
];

/// Foreign modules whose functions need no prefix here.
const FOREIGN_MODULES: &[&str] = &[
    "np",
    "numpy",
    "math",
    "Math",
    "jnp",
    "jax",
    "torch",
    "tf",
    "scipy",
    "std",
    "sp",
    "tensorflow",
    "lax",
    "jsp",
    "pd",
    "pandas",
    "plt",
    "pyplot",
];

/// Returns a name without case and underscores.
pub fn spelling_key(name: &str) -> String {
    lowercase_chars(name).filter(|c| *c != '_').collect()
}

/// Returns whether the name is that of a foreign module.
pub(super) fn is_foreign_module(name: &str) -> bool {
    FOREIGN_MODULES.contains(&name) || library_counterpart(name).is_some()
}

/// Foreign modules, and their library counterparts.
const MODULE_COUNTERPARTS: &[(&[&str], &str)] = &[
    (&["random", "Random", "rng"], "rand"),
    (&["LinearAlgebra", "la", "splinalg"], "linalg"),
    (&["statistics", "Statistics", "StatsBase", "StatsFuns", "distributions", "Distributions", "special"], "stats"),
    (&["optimize", "Optim", "optax", "optimizers", "jaxopt", "NLsolve"], "optim"),
    (&["integrate", "odeint", "diffrax", "DifferentialEquations"], "ode"),
    (&["fft", "FFTW", "DSP"], "signal"),
    (&["functional", "F", "Flux"], "nn"),
];

/// Returns the library counterpart of a foreign module.
pub(super) fn library_counterpart(name: &str) -> Option<&'static str> {
    find_entry(MODULE_COUNTERPARTS, name).copied()
}

pub(super) fn find_entry<T>(table: &'static [(&[&str], T)], name: &str) -> Option<&'static T> {
    table.iter().find(|(names, _)| names.contains(&name)).map(|(_, entry)| entry)
}

/// Returns the hint for a foreign value name.
pub fn foreign_value_help(name: &str) -> Option<Hint> {
    let habit = || foreign_calls::find_foreign_call(foreign_calls::FOREIGN_FUNCTIONS, name).map(ForeignCall::help);
    find_entry(VALUE_HELPS, name).cloned().or_else(|| habit().map(Hint::from))
}

/// Returns the hint for a foreign type name.
pub(super) fn foreign_type_help(name: &str) -> Option<&'static Hint> {
    find_entry(TYPE_HELPS, name)
}

/// Returns the replacement for a foreign name if it is a single word or symbol: `log` for `ln`,
/// `f64` for `float`.
#[must_use]
pub fn one_word_replacement(name: &str, is_type: bool) -> Option<&'static str> {
    let habit = foreign_calls::find_foreign_call(foreign_calls::FOREIGN_FUNCTIONS, name).filter(|_| !is_type);
    let word = if let Some(habit) = habit {
        // A call with one argument reduces to the function. With more arguments the order may
        // differ, so such a call has no replacement.
        match habit.sole_replacement()?.split_once('(') {
            Some((word, rest)) if rest.find(')') == Some(rest.len() - 1) && !rest.contains(',') => word,
            Some(_) => return None,
            None => habit.sole_replacement()?,
        }
    } else {
        let hint = if is_type { foreign_type_help(name) } else { find_entry(VALUE_HELPS, name) }?;
        match hint.suggestions() {
            [Suggestion::Replace(Cow::Borrowed(word))] => word,
            _ => return None,
        }
    };
    let is_word = Scalar::ALL.iter().any(|s| s.name() == word) || language_names().any(|name| name == word);
    let is_sign = word.chars().all(|c| c.is_ascii_punctuation());
    (!word.is_empty() && (is_word || is_sign)).then_some(word)
}

/// Returns the help for `module.name` with a foreign `module`.
pub(super) fn foreign_module_help(module: &str, name: &str, exists: impl Fn(&str) -> bool) -> Option<Hint> {
    if !is_foreign_module(module) {
        return None;
    }
    Some(if exists(name) {
        format!("write `{name}` without a module").into()
    } else if let Some(help) = foreign_value_help(name) {
        // The module is marked, not the name.
        help.without_suggestions()
    } else {
        format!("module `{module}` does not exist; `iverson doc {name}` searches the language and the library").into()
    })
}

/// Returns the help for each foreign value name.
pub fn all_value_helps() -> impl Iterator<Item = (&'static str, Hint)> {
    let habits = foreign_calls::FOREIGN_FUNCTIONS.iter().map(|habit| (habit.names, Hint::from(habit.help())));
    let all = VALUE_HELPS.iter().map(|(names, help)| (*names, help.clone())).chain(habits);
    all.filter_map(|(names, help)| Some((*names.first()?, help)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_words() {
        let of = one_word_replacement;
        assert_eq!([of("ln", false), of("fabs", false), of("PI", false)], [Some("log"), Some("abs"), Some("pi")]);
        assert_eq!([of("and", false), of("not", false), of("float", true)], [Some("&&"), Some("!"), Some("f64")]);
        assert_eq!([of("int", true), of("float", false), of("NaN", false)], [Some("i64"), Some("f64"), Some("nan")]);
        // A replacement of more than one word yields no fix.
        assert_eq!([of("log10", false), of("cumsum", false), of("logistic", false)], [None, None, Some("sigmoid")]);
        assert_eq!([of("random", false), of("sum", false), of("append", false)], [None, None, None]);
    }

    #[test]
    fn hints_are_for_names_that_do_not_exist() {
        let habits = foreign_calls::FOREIGN_FUNCTIONS.iter().map(|habit| &habit.names);
        for names in VALUE_HELPS.iter().map(|(names, _)| names).chain(habits) {
            for name in *names {
                assert!(language_names().all(|n| n != *name), "`{name}` exists");
            }
        }
        for (names, _) in TYPE_HELPS {
            for name in *names {
                assert!(Scalar::ALL.iter().all(|s| s.name() != *name), "`{name}` exists");
            }
        }
    }

    #[test]
    fn an_edit_changes_two_bits_of_the_letters_at_most() {
        let alphabet = ['a', 'Z', '0', '9', '_', 'ß', 'İ', 'Ω', 'é', '\u{307}'];
        let name = "aZ0_ßİéΩ9";
        let differ = |other: &str| (letter_set(name) ^ letter_set(other)).count_ones();
        for at in 0..name.chars().count() {
            for letter in alphabet {
                let (before, rest): (Vec<_>, Vec<_>) = name.chars().enumerate().partition(|(k, _)| *k < at);
                let joined = |new: Option<char>, skip: usize| -> String {
                    let rest = rest.iter().skip(skip).map(|(_, c)| *c);
                    before.iter().map(|(_, c)| *c).chain(new).chain(rest).collect()
                };
                for other in [joined(Some(letter), 0), joined(Some(letter), 1), joined(None, 1)] {
                    assert!(differ(&other) <= 2, "{other}");
                }
            }
        }
    }

    #[test]
    fn the_nearest_name_wins() {
        let names = ["concat", "conv", "reverse", "x", "loss"];
        let check = |name: &str, expected: Option<&str>| assert_eq!(nearest_name(name, names).as_deref(), expected);
        check("concatt", Some("concat"));
        check("cnov", Some("conv"));
        check("Loss", Some("loss"));
        check("y", None);
        check("X", Some("x"));
        check("xx", Some("x"));
        check("entirely", None);
    }
}
