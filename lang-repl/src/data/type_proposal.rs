//! **Type inference for data files.** Proposes the type for the content of a file, as it is written
//! at a `let`. The help of a `load` without a type shows it (`engine::advice`).

use super::csv::{CellKind, DataTable, FirstRow};
use super::{FileArray, FileContent, FileElements};
use crate::literal::{self, Literal};

/// The most columns or arrays in a proposed type; a type may leave the others out.
const MAX_FIELDS: usize = 12;

/// The names of extents, in order of use.
const EXTENT_NAMES: [&str; 8] = ["n", "m", "k", "l", "p", "q", "r", "s"];

/// A proposed type, and a remark about the parts that it leaves out.
pub(crate) struct ProposedType {
    pub(crate) ty: String,
    pub(crate) remark: Option<String>,
}

/// Returns the type for a file, if it has one.
pub(crate) fn propose_type(data: &FileContent) -> Option<ProposedType> {
    let whole = |ty: String| ProposedType { ty, remark: None };
    match data {
        FileContent::Array(array) => NamedExtents::default().array_type(array).map(whole),
        FileContent::Archive(arrays) => {
            let array_names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
            let mut sizes = NamedExtents::default();
            let (mut fields, mut left_out) = (Vec::new(), Vec::new());
            for (name, (_, array)) in
                super::field_names::unique_field_names(&array_names, "arr").into_iter().zip(arrays)
            {
                match array.as_ref().ok().and_then(|array| sizes.array_type(array)) {
                    Some(ty) => fields.push((name, ty)),
                    None => left_out.push(name),
                }
            }
            record_type(fields, left_out, &[])
        }
        FileContent::Table(table) => table_type(table),
        FileContent::Image(image) if image.channels == 1 => Some(whole("[?h, ?w]f64".to_owned())),
        FileContent::Image(_) => Some(whole("[?h, ?w, 3]f64".to_owned())),
    }
}

/// The deepest JSON nesting for which a type is proposed.
const MAX_DEPTH: usize = 8;

/// Returns the type for a JSON document, if it has one. Strings have no type.
pub(crate) fn propose_json_type(literal: &Literal) -> Option<ProposedType> {
    let mut sizes = NamedExtents::default();
    let (dims, element) = json_shape(&mut sizes, literal, MAX_DEPTH)?;
    Some(ProposedType { ty: array_prefix(&mut sizes, &dims)? + &element, remark: None })
}

/// Returns the extents of a literal, and the type of its elements.
fn json_shape(sizes: &mut NamedExtents, literal: &Literal, deepest: usize) -> Option<(Vec<usize>, String)> {
    let deepest = deepest.checked_sub(1)?;
    let scalar = |name: &str| Some((Vec::new(), name.to_owned()));
    match &literal.kind {
        literal::LiteralKind::Int(_) => scalar("i64"),
        literal::LiteralKind::Real(_) => scalar("f64"),
        literal::LiteralKind::Bool(_) => scalar("bool"),
        literal::LiteralKind::List(items) => {
            let mut shapes =
                items.iter().map(|item| json_shape(sizes, item, deepest)).collect::<Option<Vec<_>>>()?.into_iter();
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
        literal::LiteralKind::Record(fields) if !fields.is_empty() => {
            let mut named = Vec::new();
            for (name, part) in fields {
                let (dims, element) = json_shape(sizes, part, deepest)?;
                named.push(format!("{name}: {}{element}", array_prefix(sizes, &dims)?));
            }
            super::field_names::are_field_names(fields.iter().map(|(name, _)| name))
                .then(|| (Vec::new(), format!("{{{}}}", named.join(", "))))
        }
        _ => None,
    }
}

/// Returns `[?n, ?m]`, or nothing for no extents.
fn array_prefix(sizes: &mut NamedExtents, dims: &[usize]) -> Option<String> {
    let names = dims.iter().map(|extent| sizes.extent_name(*extent)).collect::<Option<Vec<String>>>()?;
    Some(if names.is_empty() { String::new() } else { format!("[{}]", names.join(", ")) })
}

/// Returns a record of the first fields. The remark lists the omitted parts: those that no type
/// holds, duplicate columns, and the rest.
fn record_type(fields: Vec<(String, String)>, mut left_out: Vec<String>, twice: &[String]) -> Option<ProposedType> {
    let no_numbers = left_out.len();
    left_out.extend(fields.iter().skip(MAX_FIELDS).map(|(name, _)| name.clone()));
    let fields: Vec<String> = fields.into_iter().take(MAX_FIELDS).map(|(name, ty)| format!("{name}: {ty}")).collect();
    if fields.is_empty() {
        return None;
    }
    let named = |names: &[String]| {
        let shown: Vec<String> = names.iter().take(MAX_FIELDS).map(|name| format!("`{name}`")).collect();
        let more = names.len().saturating_sub(MAX_FIELDS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        shown.join(", ") + &more
    };
    let (texts, rest) = left_out.split_at_checked(no_numbers)?;
    let mut remarks = Vec::new();
    if !texts.is_empty() {
        remarks.push(format!("{} (not numeric)", named(texts)));
    }
    if !twice.is_empty() {
        remarks.push(format!("{} (a name of several columns)", named(twice)));
    }
    if !rest.is_empty() {
        remarks.push(named(rest));
    }
    let remark = (!remarks.is_empty()).then(|| format!("the type omits {}", remarks.join("; and ")));
    Some(ProposedType { ty: format!("{{{}}}", fields.join(", ")), remark })
}

fn table_type(table: &DataTable) -> Option<ProposedType> {
    let header = table.first_row != FirstRow::Data;
    let kinds = table.column_kinds(header);
    let scalar = |(kind, missing): &(CellKind, bool)| match kind {
        // A missing value is a NaN, which only reals have.
        CellKind::I64 if *missing => Some("f64"),
        CellKind::I64 => Some("i64"),
        CellKind::F64 => Some("f64"),
        CellKind::Bool if !missing => Some("bool"),
        CellKind::Bool | CellKind::Missing | CellKind::Text => None,
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
        return record_type(fields, left_out, &twice);
    }
    let kinds = kinds.iter().map(scalar).collect::<Option<Vec<&str>>>()?;
    let first = kinds.first()?;
    let kind = match kinds.iter().all(|kind| kind == first) {
        true => first,
        false if kinds.contains(&"bool") => return None,
        false => "f64",
    };
    let ty = if kinds.len() == 1 { format!("[?n]{kind}") } else { format!("[?n, ?m]{kind}") };
    Some(ProposedType { ty, remark: None })
}

fn element_type_name(elements: &FileElements) -> &'static str {
    match elements {
        FileElements::F64(_) | FileElements::U64(_) => "f64",
        FileElements::F32(_) => "f32",
        FileElements::I64(_) => "i64",
        FileElements::Bool(_) => "bool",
    }
}

/// The extents that have names; equal extents share a name.
#[derive(Default)]
struct NamedExtents(Vec<usize>);

impl NamedExtents {
    fn array_type(&mut self, array: &FileArray) -> Option<String> {
        Some(array_prefix(self, &array.dims)? + element_type_name(&array.elements.borrow()))
    }

    /// Returns the name of an extent, or `None` if the names are used up.
    fn extent_name(&mut self, extent: usize) -> Option<String> {
        let at = self.0.iter().position(|known| *known == extent).unwrap_or_else(|| {
            self.0.push(extent);
            self.0.len() - 1
        });
        Some(format!("?{}", EXTENT_NAMES.get(at)?))
    }
}
