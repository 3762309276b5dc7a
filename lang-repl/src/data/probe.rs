//! **Property check of the data formats**, for tests and fuzzing. Reading any file ends in data or
//! in a reason. A value that is fitted can be written, and reads back unchanged.

use std::path::Path;
use std::sync::Arc;

use lang_core::base::{GlobalName, Name};
use lang_core::predicate::{Atom, LocalId, Poly};
use lang_core::types::ty::{Scalar, Type};
use lang_core::types::type_info::TypeInfo;

use super::{DataFormat, FileContent, TableOptions, csv, csv::FirstRow};
use crate::fit::{self, TypeEnvironment};
use crate::literal::{ReadContent, UntypedContent};
use crate::types;

/// Reads a file of this name, and fits it to several types. Returns the number of types that fit,
/// or the reason why the file cannot be read.
///
/// # Panics
/// If a written value does not read back.
pub fn probe(name: &str, bytes: &[u8]) -> Result<usize, String> {
    let format = DataFormat::from_path(Path::new(name)).ok_or("no such format")?;
    let content = format.read(bytes.to_vec(), &TableOptions::default()).map_err(|why| why.message)?;
    if let UntypedContent::File(FileContent::Archive(arrays)) = &content
        && let Some(why) = arrays.iter().find_map(|(_, array)| array.as_ref().err())
    {
        return Err(why.clone());
    }
    let read = literal_value(format, content);
    let mut fitted = 0;
    for ty in candidate_types(&read.content) {
        let Ok((datum, ty, _)) = fit::fit_to_type(&ty, &read, &EmptyTypes) else { continue };
        fitted += 1;
        let value = types::value_of_datum(&datum, &ty, &|_| None, &|_| None);
        for format in
            [DataFormat::Npy, DataFormat::Npz, DataFormat::Csv, DataFormat::Json, DataFormat::Png, DataFormat::Txt]
        {
            let Ok((bytes, _)) = format.write(&value) else { continue };
            // PNG and text tables are inexact. Tables without rows or columns do not read back.
            let exact = match format {
                DataFormat::Png | DataFormat::Txt => continue,
                DataFormat::Csv => {
                    let (dims, element) = ty.split_array();
                    let names = match element {
                        Type::Record(fields) => fields.iter().all(|(name, _)| csv::is_header_name(name)),
                        _ => true,
                    };
                    !bytes.is_empty() && !bytes.starts_with(b"\n") && matches!(dims.len(), 1 | 2) && names
                }
                DataFormat::Npy | DataFormat::Npz | DataFormat::Json => true,
            };
            let reread_content =
                format.read(bytes.clone(), &TableOptions::default()).map(|content| literal_value(format, content));
            let reread_datum =
                reread_content.map(|read| fit::fit_to_type(&ty, &read, &EmptyTypes).map(|(datum, ..)| datum));
            let reread_value =
                reread_datum.map(|datum| datum.map(|d| types::value_of_datum(&d, &ty, &|_| None, &|_| None)));
            match reread_value {
                Ok(Ok(reread_value)) => {
                    assert!(reread_value == value, "{format:?} of a `{ty}` reads back as another value")
                }
                problem => assert!(!exact, "{format:?} of a `{ty}` does not read back: {problem:?}"),
            }
        }
    }
    Ok(fitted)
}

fn literal_value(format: DataFormat, content: UntypedContent) -> ReadContent {
    ReadContent {
        content,
        source: None,
        report_span: None,
        is_json: format == DataFormat::Json,
        file: None,
        is_used_once: false,
    }
}

/// Returns scalar arrays of up to three axes; for named parts also a record, and for a table an
/// array of records.
fn candidate_types(content: &UntypedContent) -> Vec<Type> {
    let size = |k: u32| Poly::atom(Atom::Local(LocalId(k), "n".into()));
    let mut types = Vec::new();
    for scalar in [Scalar::F64, Scalar::F32, Scalar::I64, Scalar::Bool] {
        for axes in 0..4 {
            types.push(Type::array((0..axes).map(size), Type::Scalar(scalar)));
        }
    }
    let column = || Type::array([size(0)].into_iter(), Type::F64);
    let record = |names: Vec<&str>, ty: &dyn Fn() -> Type| {
        Type::Record(names.into_iter().take(4).map(|name| (Name::from(name), ty())).collect())
    };
    match content {
        UntypedContent::File(FileContent::Table(table)) if table.first_row != FirstRow::Data => {
            let names = || table.columns.iter().map(|c| c.name.as_str()).collect();
            types.push(record(names(), &column));
            types.push(Type::array([size(0)].into_iter(), record(names(), &|| Type::F64)));
        }
        UntypedContent::File(FileContent::Archive(arrays)) => {
            types.push(record(arrays.iter().map(|(name, _)| name.as_str()).collect(), &column));
        }
        _ => {}
    }
    types
}

/// An environment without types and globals.
struct EmptyTypes;

impl TypeEnvironment for EmptyTypes {
    fn type_info(&self, _: &GlobalName) -> Option<Arc<TypeInfo>> {
        None
    }

    fn global_integer(&self, _: &GlobalName) -> Option<i64> {
        None
    }
}
