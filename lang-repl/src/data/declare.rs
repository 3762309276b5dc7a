//! **Type inference for data files.** Proposes the type for the content of a file, as it is written
//! at a `let`. The help of a `load` without a type shows it (`engine/advice.rs`).

use super::csv::{First, Kind, Table};
use super::{Array, Data, Elements};
use crate::literal::{self, Literal};

/// The most columns or arrays in a proposed type; a type may leave the others out.
const MOST: usize = 12;

/// The names of extents, in order of use.
const SIZES: [&str; 8] = ["n", "m", "k", "l", "p", "q", "r", "s"];

/// A proposed type, and a remark about the parts that it leaves out.
pub(crate) struct Declared {
    pub(crate) ty: String,
    pub(crate) remark: Option<String>,
}

/// Returns the type for a file, if it has one.
pub(crate) fn declared(data: &Data) -> Option<Declared> {
    let whole = |ty: String| Declared { ty, remark: None };
    match data {
        Data::Array(array) => Sizes::default().array(array).map(whole),
        Data::Named(arrays) => {
            let given: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
            let mut sizes = Sizes::default();
            let (mut fields, mut left_out) = (Vec::new(), Vec::new());
            for (name, (_, array)) in super::names::of(&given, "arr").into_iter().zip(arrays) {
                match array.as_ref().ok().and_then(|array| sizes.array(array)) {
                    Some(ty) => fields.push((name, ty)),
                    None => left_out.push(name),
                }
            }
            record(fields, left_out, &[])
        }
        Data::Table(table) => self::table(table),
        Data::Image(image) if image.channels == 1 => Some(whole("[?h, ?w]f64".to_owned())),
        Data::Image(_) => Some(whole("[?h, ?w, 3]f64".to_owned())),
    }
}

/// The deepest JSON nesting for which a type is proposed.
const DEEPEST: usize = 8;

/// Returns the type for a JSON document, if it has one. Strings have no type.
pub(crate) fn declared_json(literal: &Literal) -> Option<Declared> {
    let mut sizes = Sizes::default();
    let (dims, element) = shape(&mut sizes, literal, DEEPEST)?;
    Some(Declared { ty: arrays(&mut sizes, &dims)? + &element, remark: None })
}

/// Returns the extents of a literal, and the type of its elements.
fn shape(sizes: &mut Sizes, literal: &Literal, deepest: usize) -> Option<(Vec<usize>, String)> {
    let deepest = deepest.checked_sub(1)?;
    let scalar = |name: &str| Some((Vec::new(), name.to_owned()));
    match &literal.kind {
        literal::Kind::Int(_) => scalar("i64"),
        literal::Kind::Real(_) => scalar("f64"),
        literal::Kind::Bool(_) => scalar("bool"),
        literal::Kind::List(items) => {
            let mut shapes =
                items.iter().map(|item| shape(sizes, item, deepest)).collect::<Option<Vec<_>>>()?.into_iter();
            let (mut dims, mut element) = shapes.next()?;
            for (other, kind) in shapes {
                let mixed = [&*element, &*kind].iter().all(|kind| matches!(*kind, "i64" | "f64"));
                if other != dims || kind != element && !mixed {
                    return None;
                }
                if kind == "f64" {
                    element = kind;
                }
            }
            dims.insert(0, items.len());
            Some((dims, element))
        }
        literal::Kind::Record(fields) if !fields.is_empty() => {
            let mut named = Vec::new();
            for (name, part) in fields {
                let (dims, element) = shape(sizes, part, deepest)?;
                named.push(format!("{name}: {}{element}", arrays(sizes, &dims)?));
            }
            super::names::all(fields.iter().map(|(name, _)| name))
                .then(|| (Vec::new(), format!("{{{}}}", named.join(", "))))
        }
        _ => None,
    }
}

/// Returns `[?n, ?m]`, or nothing for no extents.
fn arrays(sizes: &mut Sizes, dims: &[usize]) -> Option<String> {
    let names = dims.iter().map(|extent| sizes.named(*extent)).collect::<Option<Vec<String>>>()?;
    Some(if names.is_empty() { String::new() } else { format!("[{}]", names.join(", ")) })
}

/// Returns a record of the first fields. The remark lists the omitted parts: those that no type
/// holds, duplicate columns, and the rest.
fn record(fields: Vec<(String, String)>, mut left_out: Vec<String>, twice: &[String]) -> Option<Declared> {
    let no_numbers = left_out.len();
    left_out.extend(fields.iter().skip(MOST).map(|(name, _)| name.clone()));
    let fields: Vec<String> = fields.into_iter().take(MOST).map(|(name, ty)| format!("{name}: {ty}")).collect();
    if fields.is_empty() {
        return None;
    }
    let named = |names: &[String]| {
        let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
        let more = names.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        shown.join(", ") + &more
    };
    let (texts, rest) = left_out.split_at_checked(no_numbers)?;
    let mut remarks = Vec::new();
    if !texts.is_empty() {
        remarks.push(format!("{}, which no array of numbers holds", named(texts)));
    }
    if !twice.is_empty() {
        remarks.push(format!("{}, which several columns are called", named(twice)));
    }
    if !rest.is_empty() {
        remarks.push(named(rest));
    }
    let remark = (!remarks.is_empty()).then(|| format!("the type leaves out {}", remarks.join("; and ")));
    Some(Declared { ty: format!("{{{}}}", fields.join(", ")), remark })
}

fn table(table: &Table) -> Option<Declared> {
    let header = table.first != First::Data;
    let kinds = table.kinds(header);
    let scalar = |(kind, missing): &(Kind, bool)| match kind {
        // A missing value is a NaN, which only reals have.
        Kind::I64 if *missing => Some("f64"),
        Kind::I64 => Some("i64"),
        Kind::F64 => Some("f64"),
        Kind::Bool if !missing => Some("bool"),
        Kind::Bool | Kind::Nothing | Kind::Text => None,
    };
    if header {
        let (mut fields, mut left_out, mut twice) = (Vec::new(), Vec::new(), Vec::new());
        for (column, kind) in table.columns.iter().zip(&kinds) {
            // A field cannot mean one of several columns with its name.
            if table.columns.iter().filter(|other| other.name == column.name).nth(1).is_some() {
                if !twice.contains(&column.name) {
                    twice.push(column.name.clone());
                }
                continue;
            }
            match scalar(kind) {
                Some(scalar) => fields.push((column.name.clone(), format!("[?n]{scalar}"))),
                None => left_out.push(column.name.clone()),
            }
        }
        return record(fields, left_out, &twice);
    }
    let kinds = kinds.iter().map(scalar).collect::<Option<Vec<&str>>>()?;
    let first = kinds.first()?;
    let kind = match kinds.iter().all(|kind| kind == first) {
        true => first,
        false if kinds.contains(&"bool") => return None,
        false => "f64",
    };
    let ty = if kinds.len() == 1 { format!("[?n]{kind}") } else { format!("[?n, ?m]{kind}") };
    Some(Declared { ty, remark: None })
}

fn kind(elements: &Elements) -> &'static str {
    match elements {
        Elements::F64(_) | Elements::U64(_) => "f64",
        Elements::F32(_) => "f32",
        Elements::I64(_) => "i64",
        Elements::Bool(_) => "bool",
    }
}

/// The extents that have names; equal extents share a name.
#[derive(Default)]
struct Sizes(Vec<usize>);

impl Sizes {
    fn array(&mut self, array: &Array) -> Option<String> {
        Some(arrays(self, &array.dims)? + kind(&array.elements.borrow()))
    }

    /// Returns the name of an extent, or `None` if the names are used up.
    fn named(&mut self, extent: usize) -> Option<String> {
        let at = self.0.iter().position(|known| *known == extent).unwrap_or_else(|| {
            self.0.push(extent);
            self.0.len() - 1
        });
        Some(format!("?{}", SIZES.get(at)?))
    }
}
