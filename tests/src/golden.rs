//! **Golden values.** Loads the programs of `tests/programs` and the reference values of
//! `tests/golden`, and compares a computed value with its reference within a stated tolerance. The
//! Python scripts in `tests/golden` compute the references.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use lang_core::eval::eval_ssa::IrTensor;
use lang_core::ir::core::{CoreType, TupleLabels};
use lang_core::ir::value::IrValue as Plain;
use lang_core::runtime::Value as Computed;
use lang_core::runtime::json::to_json;
use lang_core::session::Session;
use serde_json::{Map, Value};

/// A limit on the text of a value, in bytes; no value reaches it.
const JSON_LIMIT: usize = 1 << 24;

fn here(path: &str) -> PathBuf {
    crate::literate::repository_root().join("tests").join(path)
}

/// Returns the text of every file of `tests/programs` by its name without extension. Modules
/// without a `main` are included.
///
/// # Errors
/// The error of the file system.
pub fn programs() -> std::io::Result<BTreeMap<String, String>> {
    let root = here("programs");
    let mut found = BTreeMap::new();
    let mut open = vec![root.clone()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "iv") {
                let name = path.with_extension("");
                let name = name.strip_prefix(&root).unwrap_or(&name);
                found.insert(name.to_string_lossy().replace('\\', "/"), fs::read_to_string(&path)?);
            }
        }
    }
    Ok(found)
}

/// Returns the module name of a program in a session.
#[must_use]
pub fn module(name: &str) -> String {
    format!("{name}.iv")
}

/// Returns a session with these programs as modules.
#[must_use]
pub fn session(programs: &BTreeMap<String, String>) -> Session {
    let mut session = Session::new();
    for (name, text) in programs {
        session.set_text(&module(name), text);
    }
    session
}

/// Returns the entries of a file of `tests/golden`.
///
/// # Errors
/// If the file cannot be read or is not an object.
pub fn file(name: &str) -> Result<Map<String, Value>, String> {
    let text = fs::read_to_string(here("golden").join(name)).map_err(|e| format!("{name}: {e}"))?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(entries)) => Ok(entries),
        other => Err(format!("{name} is not an object: {other:?}")),
    }
}

/// The name of the default tolerance of a part.
const ALL: &str = "*";

/// A part of `tests/golden/tolerances.json`, the one file of all tolerances. Each entry states its
/// reason.
#[derive(Debug)]
pub struct Tolerances {
    entries: BTreeMap<String, Tolerance>,
}

impl Tolerances {
    /// Reads the part of that name. An entry without an absolute tolerance takes that of the part's
    /// default entry.
    ///
    /// # Errors
    /// If the file cannot be read, or a tolerance has no number or no reason.
    pub fn of(part: &str) -> Result<Self, String> {
        let mut all = file("tolerances.json")?;
        let Some(Value::Object(entries)) = all.remove(part) else { return Err(format!("there is no part `{part}`")) };
        let beside = entries.get(ALL).and_then(|all| all.get("atol")).and_then(Value::as_f64).unwrap_or(0.0);
        let entry = |(name, entry): (String, Value)| {
            let number = |key| entry.get(key).and_then(Value::as_f64);
            let has_reason = entry.get("why").and_then(Value::as_str).is_some_and(|why| !why.is_empty());
            match number("rtol").filter(|_| has_reason) {
                Some(relative) => Ok((name, Tolerance { relative, absolute: number("atol").unwrap_or(beside) })),
                None => Err(format!("{part}: `{name}` needs `rtol` and a reason, `why`")),
            }
        };
        Ok(Self { entries: entries.into_iter().map(entry).collect::<Result<_, _>>()? })
    }

    /// Returns the tolerance of this name, else the default of the part, else zero.
    #[must_use]
    pub fn get(&self, name: &str) -> Tolerance {
        let found = self.entries.get(name).or_else(|| self.entries.get(ALL));
        found.copied().unwrap_or(Tolerance { relative: 0.0, absolute: 0.0 })
    }

    /// Returns whether this name has a tolerance of its own.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Returns the names that have a tolerance of their own.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str).filter(|name| *name != ALL)
    }
}

/// Returns a computed value as JSON.
///
/// # Errors
/// If the text of the value is too large.
pub fn json_of(value: &Computed) -> Result<Value, String> {
    let text = to_json(value, JSON_LIMIT).ok_or("a value too large to write")?;
    serde_json::from_str(&text).map_err(|e| format!("{e} in {text}"))
}

/// Returns the greatest magnitude in a value.
#[must_use]
pub fn magnitude(value: &Value) -> f64 {
    match value {
        Value::Number(x) => x.as_f64().unwrap_or_default().abs(),
        Value::Array(items) => items.iter().map(magnitude).fold(0.0, f64::max),
        Value::Object(items) => items.values().map(magnitude).fold(0.0, f64::max),
        _ => 0.0,
    }
}

/// The allowed distance between two reals.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// The factor of the reference's magnitude.
    pub relative: f64,
    /// The constant that is added to the relative part.
    pub absolute: f64,
}

impl Tolerance {
    /// Returns the tolerance with the absolute part scaled by the magnitude of `wanted`, if that
    /// exceeds 1.
    #[must_use]
    pub fn normwise(self, wanted: &Value) -> Self {
        Self { absolute: self.absolute * magnitude(wanted).max(1.0), ..self }
    }

    /// Returns a description of the first difference between two values, or `None` if they agree.
    #[must_use]
    pub fn difference(self, found: &Value, wanted: &Value, place: &str) -> Option<String> {
        let mismatch = || Some(format!("{place} is {found}, not {wanted}"));
        match (found, wanted) {
            (Value::Number(x), Value::Number(y)) if x.is_f64() && y.is_f64() => {
                let (x, y) = (x.as_f64()?, y.as_f64()?);
                let near = (x - y).abs() <= self.relative * y.abs() + self.absolute;
                if near { None } else { mismatch() }
            }
            (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
                let mut pairs = x.iter().zip(y).enumerate();
                pairs.find_map(|(k, (x, y))| self.difference(x, y, &format!("{place}[{k}]")))
            }
            (Value::Object(x), Value::Object(y)) if x.len() == y.len() => {
                y.iter().find_map(|(key, y)| match x.get(key) {
                    Some(x) => self.difference(x, y, &format!("{place}.{key}")),
                    None => mismatch(),
                })
            }
            _ if found == wanted => None,
            _ => mismatch(),
        }
    }
}

/// Returns the parts of a result as JSON, in the command line's form.
#[must_use]
pub fn json_of_parts(ty: &CoreType, parts: &[Arc<IrTensor>]) -> Value {
    fn scalar(value: &Plain) -> Value {
        let real = |x: f64| match x {
            x if x.is_nan() => "NaN".into(),
            x if x.is_infinite() => if x > 0.0 { "Infinity" } else { "-Infinity" }.into(),
            x => x.into(),
        };
        match value {
            Plain::F64(x) => real(*x),
            Plain::F32(x) => real(f64::from(*x)),
            Plain::I64(i) => (*i).into(),
            Plain::Bool(b) => (*b).into(),
            _ => Value::Null,
        }
    }
    fn nested_json(ty: &CoreType, parts: &[Arc<IrTensor>], at: &mut Vec<usize>) -> Value {
        match ty {
            CoreType::Tuple(types, labels) => {
                let mut first = 0;
                let mut items = Vec::new();
                for ty in types.iter() {
                    let count = ty.leaves().len();
                    items.push(nested_json(ty, parts.get(first..first + count).unwrap_or_default(), at));
                    first += count;
                }
                match labels {
                    TupleLabels::Fields(names) => names.iter().map(ToString::to_string).zip(items).collect(),
                    TupleLabels::Sum(sum) => {
                        let held = items.first().and_then(Value::as_u64).and_then(|k| usize::try_from(k).ok());
                        let held = held.and_then(|k| Some((sum.constructors.get(k)?, items.get(k + 1)?.clone())));
                        let args = |args: Value| if args.is_null() { Value::Array(Vec::new()) } else { args };
                        held.into_iter().map(|(name, items)| (name.to_string(), args(items))).collect()
                    }
                    TupleLabels::Positions if items.is_empty() => Value::Null,
                    TupleLabels::Positions => items.into(),
                }
            }
            CoreType::Tensor(_, inner) => {
                let count = parts.first().and_then(|t| t.dims.get(at.len())).copied().unwrap_or_default();
                let mut items = Vec::new();
                for i in 0..count {
                    at.push(i);
                    items.push(nested_json(inner, parts, at));
                    at.pop();
                }
                items.into()
            }
            CoreType::Scalar(_) | CoreType::Rel(_) => {
                let Some(part) = parts.first() else { return Value::Null };
                let offset = at.iter().zip(&part.dims).fold(0, |offset, (i, n)| offset * n + i);
                part.items.get(offset).map_or(Value::Null, scalar)
            }
        }
    }
    nested_json(ty, parts, &mut Vec::new())
}
