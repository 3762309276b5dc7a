//! **Property check of the data formats**, for tests and fuzzing. Reading any file ends in data or
//! in a reason. A value that is fitted can be written, and reads back unchanged.

use std::path::Path;
use std::sync::Arc;

use lang_core::base::{GlobalName, Name};
use lang_core::predicate::{Atom, LocalId, Poly};
use lang_core::types::info::TypeInfo;
use lang_core::types::ty::{Scalar, Type};

use super::{Data, Format, Options, csv, csv::First};
use crate::fit::{self, Types};
use crate::literal::{Content, Read};
use crate::types;

/// Reads a file of this name, and fits it to several types. Returns the number of types that fit,
/// or the reason why the file cannot be read.
///
/// # Panics
/// If a written value does not read back.
pub fn probe(name: &str, bytes: &[u8]) -> Result<usize, String> {
    let format = Format::of(Path::new(name)).ok_or("no such format")?;
    let content = format.read(bytes.to_vec(), &Options::default()).map_err(|why| why.message)?;
    if let Content::Data(Data::Named(arrays)) = &content
        && let Some(why) = arrays.iter().find_map(|(_, array)| array.as_ref().err())
    {
        return Err(why.clone());
    }
    let read = read(format, content);
    let mut fitted = 0;
    for ty in some_types(&read.content) {
        let Ok((datum, ty, _)) = fit::fit_to(&ty, &read, &Nothing) else { continue };
        fitted += 1;
        let value = types::value(&datum, &ty, &|_| None, &|_| None);
        for format in [Format::Npy, Format::Npz, Format::Csv, Format::Json, Format::Png, Format::Txt] {
            let Ok((bytes, _)) = format.write(&value) else { continue };
            // PNG and text tables are inexact. Tables without rows or columns do not read back.
            let exact = match format {
                Format::Png | Format::Txt => continue,
                Format::Csv => {
                    let (dims, element) = ty.peel();
                    let names = match element {
                        Type::Record(fields) => fields.iter().all(|(name, _)| csv::is_name(name)),
                        _ => true,
                    };
                    !bytes.is_empty() && !bytes.starts_with(b"\n") && matches!(dims.len(), 1 | 2) && names
                }
                Format::Npy | Format::Npz | Format::Json => true,
            };
            let again = format.read(bytes.clone(), &Options::default()).map(|content| self::read(format, content));
            let again = again.map(|read| fit::fit_to(&ty, &read, &Nothing).map(|(datum, ..)| datum));
            let again = again.map(|datum| datum.map(|d| types::value(&d, &ty, &|_| None, &|_| None)));
            match again {
                Ok(Ok(again)) => assert!(again == value, "{format:?} of a `{ty}` reads back as another value"),
                problem => assert!(!exact, "{format:?} of a `{ty}` does not read back: {problem:?}"),
            }
        }
    }
    Ok(fitted)
}

fn read(format: Format, content: Content) -> Read {
    Read { content, source: None, at: None, json: format == Format::Json, file: None, once: false }
}

/// Returns scalar arrays of up to three axes; for named parts also a record, and for a table an
/// array of records.
fn some_types(content: &Content) -> Vec<Type> {
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
        Content::Data(Data::Table(table)) if table.first != First::Data => {
            let names = || table.columns.iter().map(|c| c.name.as_str()).collect();
            types.push(record(names(), &column));
            types.push(Type::array([size(0)].into_iter(), record(names(), &|| Type::F64)));
        }
        Content::Data(Data::Named(arrays)) => {
            types.push(record(arrays.iter().map(|(name, _)| name.as_str()).collect(), &column));
        }
        _ => {}
    }
    types
}

/// An environment without types and globals.
struct Nothing;

impl Types for Nothing {
    fn info(&self, _: &GlobalName) -> Option<Arc<TypeInfo>> {
        None
    }

    fn global(&self, _: &GlobalName) -> Option<i64> {
        None
    }
}
