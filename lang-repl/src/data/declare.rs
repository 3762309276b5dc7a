//! The type that suits what a file holds, as it is written at a `let`.

use super::csv::{Cells, Table};
use super::{Array, Data, Elements};

/// Of more columns or arrays the first are named: a type may leave others out.
const MOST: usize = 12;

/// Names of extents, in the order in which they are taken.
const SIZES: [&str; 8] = ["n", "m", "k", "l", "p", "q", "r", "s"];

/// The type of what is held, if there is one for it.
pub(crate) fn declared(data: &Data) -> Option<String> {
    match data {
        Data::Array(array) => Sizes::default().array(array),
        Data::Named(arrays) => {
            let given: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
            let mut sizes = Sizes::default();
            let fields = super::names::of(&given, "arr").into_iter().zip(arrays);
            let fields = fields.filter_map(|(name, (_, array))| Some((name, sizes.array(array.as_ref().ok()?)?)));
            record(fields.take(MOST).collect())
        }
        Data::Table(table) => self::table(table),
        Data::Image(image) if image.channels == 1 => Some("[?h, ?w]f64".to_owned()),
        Data::Image(_) => Some("[?h, ?w, 3]f64".to_owned()),
    }
}

fn record(fields: Vec<(String, String)>) -> Option<String> {
    let fields: Vec<String> = fields.into_iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    (!fields.is_empty()).then(|| format!("{{{}}}", fields.join(", ")))
}

fn table(table: &Table) -> Option<String> {
    let kinds = table.columns.iter().map(|column| match &column.cells {
        // What is missing is a NaN, which no other kind has.
        Cells::Typed(Elements::I64(_)) if !column.missing.is_empty() => Some("f64"),
        Cells::Typed(elements) => Some(kind(elements)),
        Cells::Nothing(_) | Cells::Mixed(..) => None,
    });
    if table.header {
        let names = table.columns.iter().map(|column| column.name.clone());
        let fields = names.zip(kinds).filter_map(|(name, kind)| Some((name, format!("[?n]{}", kind?))));
        return record(fields.take(MOST).collect());
    }
    let kinds = kinds.collect::<Option<Vec<&str>>>()?;
    let first = kinds.first()?;
    let kind = match kinds.iter().all(|kind| kind == first) {
        true => first,
        false if kinds.contains(&"bool") => return None,
        false => "f64",
    };
    Some(if kinds.len() == 1 { format!("[?n]{kind}") } else { format!("[?n, ?m]{kind}") })
}

fn kind(elements: &Elements) -> &'static str {
    match elements {
        Elements::F64(_) | Elements::U64(_) => "f64",
        Elements::F32(_) => "f32",
        Elements::I64(_) => "i64",
        Elements::Bool(_) => "bool",
    }
}

/// Extents that have been given names: equal ones have one.
#[derive(Default)]
struct Sizes(Vec<usize>);

impl Sizes {
    fn array(&mut self, array: &Array) -> Option<String> {
        let mut names = Vec::new();
        for extent in &array.dims {
            let at = self.0.iter().position(|known| known == extent).unwrap_or_else(|| {
                self.0.push(*extent);
                self.0.len() - 1
            });
            names.push(format!("?{}", SIZES.get(at)?));
        }
        let axes = if names.is_empty() { String::new() } else { format!("[{}]", names.join(", ")) };
        Some(axes + kind(&array.elements))
    }
}
