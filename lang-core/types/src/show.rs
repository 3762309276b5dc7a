//! **Printing of types** in the notation of the language, for messages, hovers and `show`.

use std::fmt::{Display, Formatter, Result};

use super::ty::{FunType, GenericArg, Signature, SizeSource, Type, TypeClass};
use lang_sizes::predicate::{Atom, Poly};

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Scalar(s) => f.write_str(s.name()),
            Self::Str => f.write_str("string"),
            Self::Array(..) => {
                let (dims, elem) = self.split_array();
                write!(f, "[")?;
                write_list(f, dims.iter())?;
                // Without parentheses a reader would attach the axes to the first parameter.
                match elem {
                    Self::Fun(_) => write!(f, "]({elem})"),
                    _ => write!(f, "]{elem}"),
                }
            }
            Self::Tuple(items) => {
                write!(f, "(")?;
                write_list(f, items.iter())?;
                write!(f, ")")
            }
            Self::Record(fields) => {
                write!(f, "{{")?;
                for (i, (name, t)) in fields.iter().enumerate() {
                    write!(f, "{}{name}: {t}", if i > 0 { ", " } else { "" })?;
                }
                write!(f, "}}")
            }
            Self::Fun(fun) => fun.fmt(f),
            Self::Rel(dims) => {
                write!(f, "rel[")?;
                write_list(f, dims.iter())?;
                write!(f, "]")
            }
            Self::Data(name, args) if args.is_empty() => write!(f, "{name}"),
            Self::Data(name, args) => {
                write!(f, "{name}(")?;
                write_list(f, args.iter())?;
                write!(f, ")")
            }
            Self::Param(_, name) => write!(f, "{name}"),
            Self::Meta(_) | Self::Error => write!(f, "_"),
        }
    }
}

impl Display for GenericArg {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Type(t) => t.fmt(f),
            Self::Size(p) => p.fmt(f),
        }
    }
}

/// A parameter without a name that the result mentions is printed by its position.
impl Display for FunType {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "(")?;
        for (i, (name, t)) in self.params.iter().enumerate() {
            let sep = if i > 0 { ", " } else { "" };
            match name {
                Some(name) => write!(f, "{sep}{name}: {}", self.with_param_names(t))?,
                None => write!(f, "{sep}{}", self.with_param_names(t))?,
            }
        }
        write!(f, ") -> {}", self.with_param_names(&self.result))
    }
}

impl FunType {
    /// Returns `t`, a type within this function type, with the names of parameters in place of
    /// `Atom::Arg(0, k)`.
    fn with_param_names(&self, t: &Type) -> Type {
        t.map_sizes(&|p, depth| {
            p.substitute(&|a| match a {
                Atom::Arg(d, k) if *d == depth => {
                    let name = self.params.get(*k as usize)?.0.clone()?;
                    Some(Poly::atom(Atom::SizeParam(*k, name)))
                }
                _ => None,
            })
        })
    }
}

/// Prints the notation of the text: `(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`.
impl Display for Signature {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "(")?;
        for (i, (name, t)) in self.params.iter().enumerate() {
            write!(f, "{}{name}: {t}", if i > 0 { ", " } else { "" })?;
        }
        let result = self.result.map_sizes(&|p, _| {
            p.substitute(&|a| match a {
                Atom::SizeParam(k, name)
                    if self.sizes.get(*k as usize).is_some_and(|s| s.source == SizeSource::Result) =>
                {
                    Some(Poly::atom(Atom::SizeParam(*k, format!("?{name}").into())))
                }
                _ => None,
            })
        });
        write!(f, ") -> {result}")?;
        let classes = self.type_params.iter().filter(|p| p.1 != TypeClass::Any);
        for (i, (name, class)) in classes.enumerate() {
            let word = if *class == TypeClass::Real { "real" } else { "num" };
            write!(f, "{}{name}: {word}", if i == 0 { " where " } else { ", " })?;
        }
        Ok(())
    }
}

fn write_list<T: Display>(f: &mut Formatter<'_>, items: impl Iterator<Item = T>) -> Result {
    for (i, item) in items.enumerate() {
        write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
    }
    Ok(())
}

/// Returns the expected number of arguments in words.
pub(super) fn argument_count(n: usize) -> String {
    match n {
        0 => "no arguments".to_owned(),
        n => lang_base::count_with_noun(n, "argument", "arguments"),
    }
}

/// Returns the actual number of arguments in words.
pub(super) fn found_count(n: usize) -> String {
    match n {
        0 => "found none".to_owned(),
        1 => "found 1".to_owned(),
        n => format!("found {n}"),
    }
}
