//! **Fitting data to types.** Checks literals and data files against a type, part by part. Solves
//! the sizes from their shapes, as a call in the language does. A mismatch is reported with its
//! parameter or file, and its axis.
//!
//! `run` fits the arguments of `main`, and `load` fits files. Contents of data files are converted
//! in `data/fit.rs`.

mod extents;

use std::collections::HashMap;

use lang_core::base::{Code, GlobalName, Name, Span};
use lang_core::predicate::{Atom, Poly};
use lang_core::runtime::Value;
use lang_core::types::info::{TypeInfo, TypeInfoBody};
use lang_core::types::ty::{Scalar, Signature, SizeSource, Type, TypeArg};

use self::extents::{Axis, Size, negative_extent, solve, with_known};
use crate::data;
use crate::literal::{Content, Kind, Literal, Read};
use crate::problem::Problem;
use crate::types::{example, instantiate};

/// The most warnings about one file.
const MAX_WARNINGS: usize = 8;

/// The stack grows if less than this is left.
pub(crate) const STACK_LEFT: usize = 256 << 10;

/// The number of bytes by which the stack grows.
pub(crate) const STACK_MORE: usize = 8 << 20;

/// A value by its parts, of a type that is known separately.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Datum {
    Real(f64),
    Int(i64),
    Bool(bool),
    Array(Vec<Datum>),
    /// A tuple or a record, in the order of its type.
    Tuple(Vec<Datum>),
    Ctor(u32, Vec<Datum>),
    /// The converted content of a data file.
    Ready(Value),
}

/// Drops its parts iteratively, so that deep values do not overflow the stack.
impl Drop for Datum {
    fn drop(&mut self) {
        let mut left = Vec::new();
        self.take_parts(&mut left);
        while let Some(mut part) = left.pop() {
            part.take_parts(&mut left);
        }
    }
}

impl Datum {
    fn take_parts(&mut self, to: &mut Vec<Self>) {
        if let Self::Array(parts) | Self::Tuple(parts) | Self::Ctor(_, parts) = self {
            to.append(parts);
        }
    }
}

/// The fitted arguments, and the values of the signature's sizes.
#[derive(Default, Debug)]
pub(crate) struct Fitted {
    pub(crate) arguments: Vec<Datum>,
    /// In the order of [`Signature::sizes`]; sizes that only the result mentions are 0.
    pub(crate) sizes: Vec<i64>,
    pub(crate) warnings: Vec<Problem>,
}

/// The facts about the program that fitting needs.
pub(crate) trait Types {
    /// Returns the definition of a type name.
    fn info(&self, name: &GlobalName) -> Option<std::sync::Arc<TypeInfo>>;
    /// Returns the value of a top-level `i64`.
    fn global(&self, name: &GlobalName) -> Option<i64>;
}

/// Fits the arguments to the parameters of `signature`, in order.
pub(crate) fn fit(signature: &Signature, arguments: &[Read], types: &dyn Types) -> Result<Fitted, Vec<Problem>> {
    let mut fitted = Fitted::default();
    let mut axes = Vec::new();
    let mut problems = Vec::new();
    let atoms = (0..).zip(&signature.sizes);
    let mut sizes: Vec<Size> = atoms.map(|(k, s)| Size::new(Atom::SizeParam(k, s.name.clone()), &s.name)).collect();
    for (position, ((name, ty), read)) in signature.params.iter().zip(arguments).enumerate() {
        let root = Root::Argument { name: name.clone(), file: read.file.clone() };
        let mut fitter = Fitter::new(Code::E0600, read, types);
        match fitter.content(ty, &Access::root(root)) {
            Ok(datum) => {
                if let Datum::Int(n) = datum {
                    let of_this = |s: &SizeSource| u32::try_from(position).is_ok_and(|p| *s == SizeSource::Param(p));
                    for (size, _) in sizes.iter_mut().zip(&signature.sizes).filter(|(_, s)| of_this(&s.source)) {
                        size.value = Some(n);
                    }
                }
                fitted.arguments.push(datum);
            }
            Err(problem) => problems.push(*problem),
        }
        fitted.warnings.append(&mut fitter.warnings);
        axes.append(&mut fitter.axes);
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    solve(Code::E0600, &axes, &mut sizes, types)?;
    for ((name, ty), read) in signature.params.iter().zip(arguments) {
        if let Some((p, n)) = negative_extent(ty, &sizes, types) {
            let message = format!("an extent of `{name}`, `{p}`, would be {n}, and no extent is negative");
            return Err(vec![read.place(Problem::new(Code::E0600, message), read.span(), "")]);
        }
    }
    fitted.sizes = sizes.into_iter().map(|s| s.value.unwrap_or(0)).collect();
    Ok(fitted)
}

/// Fits a value to one type. Local names in the type are sizes that the value determines. Returns
/// the value, the type with these sizes, and warnings.
pub(crate) fn fit_to(ty: &Type, read: &Read, types: &dyn Types) -> Result<(Datum, Type, Vec<Problem>), Vec<Problem>> {
    const CODE: Code = Code::E0604;
    let mut fitter = Fitter::new(CODE, read, types);
    let datum = fitter.content(ty, &Access::root(Root::Value)).map_err(|p| vec![*p])?;
    let mut sizes: Vec<Size> = Vec::new();
    ty.visit(&mut |_| {}, &mut |p| {
        p.for_each_atom(&mut |atom| {
            if let Atom::Local(_, name) = atom
                && sizes.iter().all(|s| s.atom != *atom)
            {
                sizes.push(Size::new(atom.clone(), name));
            }
        });
    });
    solve(CODE, &fitter.axes, &mut sizes, types)?;
    if let Some((p, n)) = negative_extent(ty, &sizes, types) {
        let message = format!("an extent, `{p}`, would be {n}, and no extent is negative");
        return Err(vec![Problem::new(CODE, message)]);
    }
    Ok((datum, ty.map_sizes(&|p, _| with_known(p, &sizes, types)), fitter.warnings))
}

/// The root of a value.
#[derive(Clone)]
pub(crate) enum Root {
    /// A parameter of `main`, and the file that its argument names.
    Argument { name: Name, file: Option<String> },
    /// A file that the report names beside the message.
    Value,
}

/// A path to a part of a value. It has a text for people, and a position in the type, which all
/// elements of an array share.
#[derive(Clone)]
pub(crate) struct Access {
    root: Root,
    /// The entered fields: `.w.0`.
    fields: String,
    /// A hash of the positions, because lists of them would be long for deep values.
    path: u64,
    /// The number of arrays entered since the last name.
    axis: u32,
    place: Vec<usize>,
}

impl Access {
    fn root(root: Root) -> Self {
        Self { root, fields: String::new(), path: 0, axis: 0, place: Vec::new() }
    }

    pub(crate) fn part(&self, position: usize, text: &str) -> Self {
        let path = within(self.path, position + 1);
        let mut fields = format!("{}{}.{text}", self.fields, self.indices());
        // For a deep value, only the inner names are shown.
        if fields.len() > MAX_FIELDS {
            let cut = (0..=fields.len() - MAX_FIELDS / 2).rev().find(|at| fields.is_char_boundary(*at));
            fields = format!("…{}", fields.get(cut.unwrap_or_default()..).unwrap_or_default());
        }
        Self { root: self.root.clone(), fields, path, axis: 0, place: Vec::new() }
    }

    pub(crate) fn element(&self, index: usize) -> Self {
        let mut place = self.place.clone();
        place.push(index);
        Self { place, ..self.axis() }
    }

    /// Returns the path one axis further in.
    pub(crate) fn axis(&self) -> Self {
        let path = within(self.path, 0);
        let (root, fields) = (self.root.clone(), self.fields.clone());
        Self { root, fields, path, axis: self.axis + 1, place: self.place.clone() }
    }

    fn indices(&self) -> String {
        if self.place.is_empty() {
            return String::new();
        }
        let indices: Vec<String> = self.place.iter().map(usize::to_string).collect();
        format!("[{}]", indices.join(", "))
    }

    /// Returns the path with indices, if any: ``argument `x[2, 0]` ``, `the value`, `` `.w[2]` ``.
    pub(crate) fn named(&self) -> String {
        self.subject(&self.indices(), "the value")
    }

    /// Returns the name of the whole argument or file.
    pub(crate) fn file(&self) -> String {
        match &self.root {
            Root::Argument { name, file: Some(file) } => format!("argument `{name}`, of `{file}`,"),
            Root::Argument { name, file: None } => format!("argument `{name}`"),
            Root::Value => "the file".to_owned(),
        }
    }

    /// Describes a part: ``element [2] of argument `x` ``, `element [2]`, ``line 3, column `age`
    /// ``.
    pub(crate) fn inside(&self, what: &str) -> String {
        match (&self.root, self.subject(&self.indices(), "")) {
            // A line and a column identify the part completely.
            (Root::Argument { file: Some(file), .. }, _) if what.starts_with(['l', 'c']) => {
                format!("`{file}`, {what},")
            }
            (_, whole) if whole.is_empty() || what.starts_with(['l', 'c']) => what.to_owned(),
            (_, whole) => format!("{what} of {whole}"),
        }
    }

    /// Returns the array that the axes belong to.
    fn whole(&self) -> String {
        self.subject("", "the value")
    }

    fn subject(&self, indices: &str, nothing: &str) -> String {
        let fields = &self.fields;
        match &self.root {
            Root::Argument { name, file: None } => format!("argument `{name}{fields}{indices}`"),
            Root::Argument { name, file: Some(file) } => format!("argument `{name}{fields}{indices}`, of `{file}`,"),
            Root::Value if fields.is_empty() && indices.is_empty() => nothing.to_owned(),
            Root::Value => format!("`{fields}{indices}`"),
        }
    }

    /// Returns ``axis 0 of argument `x` ``, or `axis 0`.
    fn axis_name(&self) -> String {
        match self.subject("", "") {
            whole if whole.is_empty() => format!("axis {}", self.axis),
            whole => format!("axis {} of {whole}", self.axis),
        }
    }
}

/// The most bytes of field names in a path.
const MAX_FIELDS: usize = 400;

/// Returns the path hash one step further in.
fn within(path: u64, position: usize) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    (path, position).hash(&mut hasher);
    hasher.finish()
}

pub(crate) struct Fitter<'a> {
    code: Code,
    read: &'a Read,
    types: &'a dyn Types,
    /// The axes, in the order in which they were found.
    axes: Vec<Axis>,
    /// The index in `axes` for a path.
    at: HashMap<u64, usize>,
    /// The first missing number of a literal, and the number of further ones.
    missing: Option<(String, usize)>,
    /// The first integer that no real of the type equals, and the number of further ones.
    rounded: Option<(String, usize)>,
    warnings: Vec<Problem>,
}

pub(crate) type Fit<T> = Result<T, Box<Problem>>;

impl<'a> Fitter<'a> {
    fn new(code: Code, read: &'a Read, types: &'a dyn Types) -> Self {
        Self {
            code,
            read,
            types,
            axes: Vec::new(),
            at: HashMap::new(),
            missing: None,
            rounded: None,
            warnings: Vec::new(),
        }
    }

    fn error(&self, literal: &Literal, message: String, label: &str) -> Box<Problem> {
        Box::new(self.read.place(Problem::new(self.code, message), literal.span, label))
    }

    /// Whether the value comes from `load` rather than from an argument of `main`.
    pub(crate) fn is_load(&self) -> bool {
        self.code == Code::E0604
    }

    /// Returns an error about the content of a data file.
    pub(crate) fn wrong(&self, message: String) -> Box<Problem> {
        Box::new(self.read.place(Problem::new(self.code, message), self.read.span(), ""))
    }

    /// Adds a warning about the content of a data file.
    pub(crate) fn warn(&mut self, message: String) {
        let message = match self.warnings.len() {
            0..MAX_WARNINGS => message,
            MAX_WARNINGS => "there are more warnings like these".to_owned(),
            _ => return,
        };
        self.warnings.push(self.read.place(Problem::new(Code::W0606, message), self.read.span(), ""));
    }

    /// Returns the error of an interrupted fit.
    pub(crate) fn interrupted(&self) -> Box<Problem> {
        Box::new(Problem::new(Code::E0507, "interrupted"))
    }

    /// Whether the content is used for a single value.
    pub(crate) fn reads_once(&self) -> bool {
        self.read.once
    }

    fn content(&mut self, ty: &Type, access: &Access) -> Fit<Datum> {
        match &self.read.content {
            Content::Literal(literal) => {
                let datum = self.value(literal, ty, access)?;
                self.tell_lost();
                Ok(datum)
            }
            Content::Data(data) => data::fit::value(self, data, ty, access),
        }
    }

    /// Warns about missing numbers and rounded integers.
    fn tell_lost(&mut self) {
        if let Some((first, more)) = self.missing.take() {
            self.warn(match more {
                0 => format!("{first} has no value, which makes a NaN"),
                n => format!("{first}, and {n} more, have no value, which makes NaNs"),
            });
        }
        if let Some((first, more)) = self.rounded.take() {
            self.warn(match more {
                0 => format!("{first}; the nearest one is taken"),
                n => format!("{first}, and {n} more likewise; the nearest ones are taken"),
            });
        }
    }

    /// Returns the real number of a literal. Records missing and rounded ones.
    fn real(&mut self, literal: &Literal, scalar: Scalar, access: &Access) -> Option<f64> {
        fn seen(slot: &mut Option<(String, usize)>, first: impl FnOnce() -> String) {
            match slot {
                Some((_, more)) => *more += 1,
                None => *slot = Some((first(), 0)),
            }
        }
        match &literal.kind {
            // Python writes missing reals as `null`.
            Kind::Tuple(parts) if self.read.json && parts.is_empty() => {
                seen(&mut self.missing, || access.named());
                Some(f64::NAN)
            }
            Kind::Int(n) => {
                #[expect(
                    clippy::cast_precision_loss,
                    clippy::cast_possible_truncation,
                    reason = "the nearest real is compared with the integer"
                )]
                let (x, nearest) = match scalar {
                    Scalar::F32 => (f64::from(*n as f32), *n as f32 as i128),
                    _ => (*n as f64, *n as f64 as i128),
                };
                if nearest != *n {
                    seen(&mut self.rounded, || {
                        format!("{} is {n}, no exact `{}`", access.named(), Type::Scalar(scalar))
                    });
                }
                Some(x)
            }
            kind => real(kind, self.read.json),
        }
    }

    fn mismatch(&self, literal: &Literal, ty: &Type, access: &Access) -> Box<Problem> {
        let message = match &literal.kind {
            Kind::Tuple(items) if items.is_empty() && self.read.json => {
                format!("{} is null, which is no `{ty}`", access.named())
            }
            kind => format!("{} is {}, not of type `{ty}`", access.named(), kind.noun()),
        };
        let problem = self.error(literal, message, &format!("`{ty}` is wanted"));
        match (&literal.kind, ty) {
            (Kind::Real(_), Type::Scalar(Scalar::I64)) => {
                Box::new(problem.help("an integer has no point and no exponent"))
            }
            (Kind::Tuple(_), Type::Array(..)) => Box::new(problem.help("an array is written `[…]`")),
            (Kind::List(_), Type::Tuple(_)) => Box::new(problem.help("a tuple is written `(…)`")),
            _ if self.read.json => problem,
            _ => match example(ty) {
                Some(example) => Box::new(problem.help(format!("a value of type `{ty}` is written as in `{example}`"))),
                None => problem,
            },
        }
    }

    /// Fits a literal. Literals can be deep, so the stack grows.
    fn value(&mut self, literal: &Literal, ty: &Type, access: &Access) -> Fit<Datum> {
        match (&literal.kind, ty) {
            (Kind::List(_) | Kind::Tuple(_) | Kind::Record(_) | Kind::Ctor(..), _) => {
                stacker::maybe_grow(STACK_LEFT, STACK_MORE, || self.literal(literal, ty, access))
            }
            _ => self.literal(literal, ty, access),
        }
    }

    fn literal(&mut self, literal: &Literal, ty: &Type, access: &Access) -> Fit<Datum> {
        let json = self.read.json;
        match (ty, &literal.kind) {
            (Type::Scalar(scalar @ (Scalar::F64 | Scalar::F32)), _) => match self.real(literal, *scalar, access) {
                Some(x) => Ok(Datum::Real(x)),
                None => Err(self.mismatch(literal, ty, access)),
            },
            (Type::Scalar(Scalar::I64), Kind::Int(n)) => match i64::try_from(*n) {
                Ok(n) => Ok(Datum::Int(n)),
                Err(_) => {
                    let message = format!("{} is {n}, which no `i64` holds", access.named());
                    Err(self.error(literal, message, "too large"))
                }
            },
            (Type::Scalar(Scalar::Bool), Kind::Bool(b)) => Ok(Datum::Bool(*b)),
            (Type::Array(extent, element), Kind::List(items)) => {
                self.axis(literal.span, extent, items.len(), access)?;
                let parts = items.iter().enumerate();
                let parts = parts.map(|(i, item)| self.value(item, element, &access.element(i)));
                Ok(Datum::Array(parts.collect::<Fit<_>>()?))
            }
            (Type::Tuple(types), Kind::Tuple(items)) => self.tuple(literal, ty, types, items, access),
            (Type::Tuple(types), Kind::List(items)) if json => self.tuple(literal, ty, types, items, access),
            (Type::Record(fields), Kind::Record(items)) => self.record(literal, fields, items, access),
            (Type::Data(name, args), _) => self.data(literal, ty, name, args, access),
            (Type::Fun(_) | Type::Rel(_) | Type::Str | Type::Param(..) | Type::Meta(_) | Type::Error, _) => {
                let message = format!("{} has the type `{ty}`, of which there are no literals", access.named());
                let problem = self.error(literal, message, "cannot be read");
                Err(match self.code {
                    Code::E0600 => Box::new(problem.help("call `main` in `iverson eval 'main(…)' -l FILE` instead")),
                    _ => problem,
                })
            }
            _ => Err(self.mismatch(literal, ty, access)),
        }
    }

    /// Records the extent of an axis; reports ragged arrays.
    pub(crate) fn axis(&mut self, span: Span, wanted: &Poly, found: usize, access: &Access) -> Fit<()> {
        let what = access.axis_name();
        let found = i64::try_from(found).unwrap_or(i64::MAX);
        if let Some(before) = self.at.get(&access.path).and_then(|at| self.axes.get(*at)) {
            if before.found == found {
                return Ok(());
            }
            let message = format!("{} is ragged: {what} has {} and {found} elements", access.whole(), before.found);
            let label = format!("{found} here, {} before", before.found);
            return Err(Box::new(self.read.place(Problem::new(self.code, message), span, label)));
        }
        let source = self.read.source;
        let span = self.read.span_of(span);
        self.at.insert(access.path, self.axes.len());
        self.axes.push(Axis { wanted: wanted.clone(), found, what, source, span });
        Ok(())
    }

    fn tuple(
        &mut self,
        literal: &Literal,
        ty: &Type,
        types: &[Type],
        items: &[Literal],
        access: &Access,
    ) -> Fit<Datum> {
        if types.len() != items.len() {
            return Err(self.mismatch(literal, ty, access));
        }
        let parts = types.iter().zip(items).enumerate();
        let parts = parts.map(|(i, (ty, item))| self.value(item, ty, &access.part(i, &i.to_string())));
        Ok(Datum::Tuple(parts.collect::<Fit<_>>()?))
    }

    fn record(
        &mut self,
        literal: &Literal,
        fields: &[(Name, Type)],
        items: &[(Name, Literal)],
        access: &Access,
    ) -> Fit<Datum> {
        let unknown = items.iter().find(|(name, _)| !fields.iter().any(|(known, _)| known == name));
        if let Some((name, item)) = unknown {
            let message = format!("{} has a field `{name}`, which its type has not", access.named());
            let problem = self.error(item, message, "of this field");
            let known = fields.iter().map(|(known, _)| known.as_str());
            return Err(match crate::suggest::closest(name, known) {
                Some(near) => Box::new(problem.help(format!("did you mean `{near}`?"))),
                None => problem,
            });
        }
        let mut parts = Vec::new();
        for (position, (name, ty)) in fields.iter().enumerate() {
            let mut given = items.iter().filter(|(n, _)| n == name);
            let (Some((_, item)), None) = (given.next(), given.next()) else {
                let message = format!("{} needs the field `{name}` once", access.named());
                return Err(self.error(literal, message, "in this record"));
            };
            parts.push(self.value(item, ty, &access.part(position, name))?);
        }
        Ok(Datum::Tuple(parts))
    }

    fn data(
        &mut self,
        literal: &Literal,
        ty: &Type,
        name: &GlobalName,
        args: &[TypeArg],
        access: &Access,
    ) -> Fit<Datum> {
        let info = self.types.info(name);
        let Some(TypeInfoBody::Sum(ctors)) = info.as_ref().map(|i| &i.body) else {
            return Err(self.mismatch(literal, ty, access));
        };
        let (ctor, items): (&Name, &[Literal]) = match &literal.kind {
            Kind::Ctor(ctor, items) => (ctor, items),
            // JSON writes `Leaf(1)` as `{"Leaf": [1]}`.
            Kind::Record(fields) if self.read.json => match fields.as_slice() {
                [(ctor, Literal { kind: Kind::List(items), .. })] => (ctor, items),
                _ => return Err(self.mismatch(literal, ty, access)),
            },
            _ => return Err(self.mismatch(literal, ty, access)),
        };
        let Some((tag, found)) = ctors.iter().enumerate().find(|(_, c)| c.name == *ctor) else {
            let message = format!("`{}` has no constructor `{ctor}`", ty);
            let problem = self.error(literal, message, &format!("in {}", access.named()));
            return Err(match crate::suggest::closest(ctor, ctors.iter().map(|c| c.name.as_str())) {
                Some(near) => Box::new(problem.help(format!("did you mean `{near}`?"))),
                None => problem,
            });
        };
        if found.args.len() != items.len() {
            let (wanted, given) = (found.args.len(), items.len());
            let message = format!("`{ctor}` takes {wanted} arguments, not {given}, in {}", access.named());
            return Err(self.error(literal, message, "this one"));
        }
        let mut parts = Vec::new();
        for (position, (ty, item)) in found.args.iter().zip(items).enumerate() {
            let ty = instantiate(ty, args);
            let text = format!("{ctor}.{position}");
            parts.push(self.value(item, &ty, &access.part(tag * 64 + position, &text))?);
        }
        Ok(Datum::Ctor(u32::try_from(tag).unwrap_or(u32::MAX), parts))
    }
}

fn real(kind: &Kind, json: bool) -> Option<f64> {
    match kind {
        Kind::Real(x) => Some(*x),
        Kind::Text(text) if json => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}
