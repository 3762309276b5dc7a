//! **Types of generated programs**, and their text. The generator of well-typed programs
//! ([`super::draw`]) draws each expression for a wanted type. It has types of its own, with
//! substitution and unification, so that it does not rely on the checker under test.

use std::collections::HashMap;

use lang_core::predicate::{Atom, LocalId, Poly};

/// A type of a generated program. Sizes are polynomials over names.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum DrawnType {
    /// `f64`
    F64,
    /// `f32`
    F32,
    /// `i64`
    I64,
    /// `bool`
    Bool,
    /// `[n]T`
    Arr(Poly, Box<DrawnType>),
    /// `(T, U)`
    Tup(Vec<DrawnType>),
    /// `{a: T}`
    Rec(Vec<(&'static str, DrawnType)>),
    /// `(T) -> U`
    Fun(Vec<DrawnType>, Box<DrawnType>),
    /// `rel[n, m]`
    Rel(Vec<Poly>),
    /// A sum type of the program, by number, with its argument if it has a parameter.
    Data(usize, Option<Box<DrawnType>>),
    /// A type parameter.
    Param(&'static str, DrawnClass),
}

/// The constraint of a type parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DrawnClass {
    /// Any type.
    Any,
    /// A number.
    Num,
    /// A real number.
    Real,
}

/// A substitution for the sizes and type parameters of a definition at a call.
#[derive(Default)]
pub(super) struct Instance {
    /// The sizes, by name.
    pub(super) sizes: HashMap<String, Poly>,
    /// The types, by name.
    pub(super) types: HashMap<&'static str, DrawnType>,
}

/// Returns the size of that name.
#[must_use]
pub(super) fn named(name: &str) -> Poly {
    Poly::atom(Atom::Local(LocalId(0), name.into()))
}

/// Returns a constant size.
#[must_use]
pub(super) fn number(n: usize) -> Poly {
    Poly::constant(i128::try_from(n).unwrap_or(0))
}

/// Returns the name if the size is a single name.
#[must_use]
pub(super) fn lone(size: &Poly) -> Option<&str> {
    match size.as_atom() {
        Some(Atom::Local(_, name)) => Some(name),
        _ => None,
    }
}

/// Returns the value of a size if each name is 4, the maximum; at least 1. So it bounds sizes that
/// grow with their names.
#[must_use]
pub(super) fn bound(size: &Poly) -> u64 {
    size.eval(&mut |_| Some(4)).and_then(|n| u64::try_from(n).ok()).unwrap_or(0).max(1)
}

impl DrawnType {
    /// Returns the type `[n]T`.
    #[must_use]
    pub(super) fn arr(size: Poly, elem: Self) -> Self {
        Self::Arr(size, Box::new(elem))
    }

    /// Returns whether the type is a number.
    #[must_use]
    pub(super) fn is_num(&self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::I64 | Self::Param(_, DrawnClass::Num | DrawnClass::Real))
    }

    /// Returns whether the type is a real number.
    #[must_use]
    pub(super) fn is_real(&self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::Param(_, DrawnClass::Real))
    }

    /// Returns whether the type has a zero, so that an Iverson bracket may guard its values.
    #[must_use]
    pub(super) fn has_zero(&self) -> bool {
        match self {
            Self::F64 | Self::F32 | Self::I64 | Self::Bool => true,
            Self::Param(_, class) => *class != DrawnClass::Any,
            Self::Arr(_, t) => t.has_zero(),
            Self::Tup(ts) => ts.iter().all(Self::has_zero),
            Self::Rec(fs) => fs.iter().all(|f| f.1.has_zero()),
            Self::Fun(..) | Self::Rel(_) | Self::Data(..) => false,
        }
    }

    /// Returns whether `sum` can add values of the type.
    #[must_use]
    pub(super) fn has_sum(&self) -> bool {
        match self {
            Self::Arr(_, t) => t.has_sum(),
            Self::Tup(ts) => ts.iter().all(Self::has_sum),
            Self::Rec(fs) => fs.iter().all(|f| f.1.has_sum()),
            t => t.is_num(),
        }
    }

    /// Returns whether values of the type can be compared bit by bit.
    #[must_use]
    pub(super) fn is_plain(&self) -> bool {
        !self.any(&|t| matches!(t, Self::Fun(..)))
    }

    /// Returns whether the type mentions a type parameter.
    #[must_use]
    pub(super) fn has_param(&self) -> bool {
        self.any(&|t| matches!(t, Self::Param(..)))
    }

    /// Returns whether the type or a part of it satisfies `p`.
    pub(super) fn any(&self, p: &dyn Fn(&Self) -> bool) -> bool {
        p(self)
            || match self {
                Self::Arr(_, t) => t.any(p),
                Self::Tup(ts) => ts.iter().any(|t| t.any(p)),
                Self::Rec(fs) => fs.iter().any(|f| f.1.any(p)),
                Self::Fun(ts, r) => ts.iter().any(|t| t.any(p)) || r.any(p),
                Self::Data(_, Some(t)) => t.any(p),
                _ => false,
            }
    }

    /// Appends all sizes in the type.
    pub(super) fn sizes(&self, out: &mut Vec<Poly>) {
        match self {
            Self::Arr(n, t) => {
                out.push(n.clone());
                t.sizes(out);
            }
            Self::Tup(ts) => ts.iter().for_each(|t| t.sizes(out)),
            Self::Rec(fs) => fs.iter().for_each(|f| f.1.sizes(out)),
            Self::Fun(ts, r) => {
                ts.iter().for_each(|t| t.sizes(out));
                r.sizes(out);
            }
            Self::Rel(ns) => out.extend(ns.iter().cloned()),
            Self::Data(_, Some(t)) => t.sizes(out),
            _ => {}
        }
    }

    /// Returns whether the type mentions a size by name.
    #[must_use]
    pub(super) fn has_names(&self) -> bool {
        let mut sizes = Vec::new();
        self.sizes(&mut sizes);
        sizes.iter().any(|n| n.as_constant().is_none())
    }

    /// Returns the axes of an array type and its element type.
    #[must_use]
    pub(super) fn peel(&self) -> (Vec<&Poly>, &Self) {
        let mut axes = Vec::new();
        let mut t = self;
        while let Self::Arr(n, elem) = t {
            axes.push(n);
            t = elem;
        }
        (axes, t)
    }

    /// Returns the type under the substitution.
    #[must_use]
    pub(super) fn at(&self, inst: &Instance) -> Self {
        let all = |ts: &[Self]| ts.iter().map(|t| t.at(inst)).collect();
        match self {
            Self::Arr(n, t) => Self::arr(inst.size(n), t.at(inst)),
            Self::Tup(ts) => Self::Tup(all(ts)),
            Self::Rec(fs) => Self::Rec(fs.iter().map(|(n, t)| (*n, t.at(inst))).collect()),
            Self::Fun(ts, r) => Self::Fun(all(ts), Box::new(r.at(inst))),
            Self::Rel(ns) => Self::Rel(ns.iter().map(|n| inst.size(n)).collect()),
            Self::Data(k, t) => Self::Data(*k, t.as_ref().map(|t| Box::new(t.at(inst)))),
            Self::Param(name, _) => inst.types.get(name).cloned().unwrap_or_else(|| self.clone()),
            _ => self.clone(),
        }
    }

    /// Unifies this type with another and extends the substitution. `own` returns whether the
    /// substitution may bind a size name. Other sizes are not compared, because the caller compares
    /// the types under the substitution.
    pub(super) fn fits(&self, other: &Self, own: &dyn Fn(&str) -> bool, inst: &mut Instance) -> bool {
        let all = |a: &[Self], b: &[Self], inst: &mut Instance| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.fits(b, own, inst))
        };
        let size = |n: &Poly, m: &Poly, inst: &mut Instance| match lone(n).filter(|n| own(n)) {
            Some(name) => *inst.sizes.entry(name.to_owned()).or_insert_with(|| m.clone()) == *m,
            None => true,
        };
        match (self, other) {
            (Self::Param(name, class), t) => {
                let fine = match class {
                    DrawnClass::Any => !matches!(t, Self::Fun(..) | Self::Rel(_)),
                    DrawnClass::Num => t.is_num(),
                    DrawnClass::Real => t.is_real(),
                };
                fine && *inst.types.entry(name).or_insert_with(|| t.clone()) == *t
            }
            (Self::Arr(n, a), Self::Arr(m, b)) => size(n, m, inst) && a.fits(b, own, inst),
            (Self::Tup(a), Self::Tup(b)) => all(a, b, inst),
            (Self::Rec(a), Self::Rec(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && a.1.fits(&b.1, own, inst))
            }
            (Self::Fun(a, r), Self::Fun(b, s)) => all(a, b, inst) && r.fits(s, own, inst),
            (Self::Rel(a), Self::Rel(b)) => a.len() == b.len() && a.iter().zip(b).all(|(n, m)| size(n, m, inst)),
            (Self::Data(j, a), Self::Data(k, b)) => {
                j == k
                    && match (a, b) {
                        (Some(a), Some(b)) => a.fits(b, own, inst),
                        _ => true,
                    }
            }
            (a, b) => a == b,
        }
    }
}

impl Instance {
    /// Returns the size under the substitution.
    #[must_use]
    pub(super) fn size(&self, size: &Poly) -> Poly {
        size.substitute(&|atom| match atom {
            Atom::Local(_, name) => self.sizes.get(name.as_str()).cloned(),
            _ => None,
        })
    }
}

/// Prints the type as the language writes it.
impl std::fmt::Display for DrawnType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |f: &mut std::fmt::Formatter<'_>, ts: &[Self]| -> std::fmt::Result {
            for (k, t) in ts.iter().enumerate() {
                write!(f, "{}{t}", if k > 0 { ", " } else { "" })?;
            }
            Ok(())
        };
        let sizes = |ns: &[&Poly]| ns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::F64 => f.write_str("f64"),
            Self::F32 => f.write_str("f32"),
            Self::I64 => f.write_str("i64"),
            Self::Bool => f.write_str("bool"),
            Self::Arr(..) => {
                let (axes, elem) = self.peel();
                match elem {
                    Self::Fun(..) => write!(f, "[{}]({elem})", sizes(&axes)),
                    _ => write!(f, "[{}]{elem}", sizes(&axes)),
                }
            }
            Self::Tup(ts) => {
                f.write_str("(")?;
                list(f, ts)?;
                f.write_str(")")
            }
            Self::Rec(fs) => {
                f.write_str("{")?;
                for (k, (name, t)) in fs.iter().enumerate() {
                    write!(f, "{}{name}: {t}", if k > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
            Self::Fun(ts, r) => {
                f.write_str("(")?;
                list(f, ts)?;
                write!(f, ") -> {r}")
            }
            Self::Rel(ns) => write!(f, "rel[{}]", sizes(&ns.iter().collect::<Vec<_>>())),
            Self::Data(k, None) => write!(f, "T{k}"),
            Self::Data(k, Some(t)) => write!(f, "T{k}({t})"),
            Self::Param(name, _) => f.write_str(name),
        }
    }
}
