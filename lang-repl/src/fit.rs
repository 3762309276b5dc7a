//! **Fitting data to types.** Checks literals and data files against a type, part by part. Solves
//! the sizes from their shapes, as a call in the language does. A mismatch is reported with its
//! parameter or file, and its axis.
//!
//! `run` fits the arguments of `main`, and `load` fits files. Contents of data files are converted
//! in [`crate::data::fit_file`].

mod solve_sizes;

use std::collections::HashMap;

use lang_core::base::{Code, GlobalName, Name, Span, count_with_noun};
use lang_core::predicate::{Atom, Poly};
use lang_core::runtime::Value;
use lang_core::types::ty::{GenericArg, Scalar, Signature, SizeSource, Type};
use lang_core::types::type_info::{TypeInfo, TypeInfoBody};

use self::solve_sizes::{FoundAxis, UnknownSize, negative_extent, solve, substitute_known};
use crate::data;
use crate::literal::{Literal, LiteralKind, ReadContent, UntypedContent};
use crate::problem::Problem;
use crate::types::{example_literal, instantiate};

/// The most warnings about one file.
const MAX_WARNINGS: usize = 8;

/// The stack grows if less than this is left.
pub(crate) const STACK_RED_ZONE: usize = 256 << 10;

/// The number of bytes by which the stack grows.
pub(crate) const STACK_GROWTH: usize = 8 << 20;

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
    Converted(Value),
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
pub(crate) struct FittedArguments {
    pub(crate) arguments: Vec<Datum>,
    /// In the order of [`Signature::sizes`]; sizes that only the result mentions are 0.
    pub(crate) sizes: Vec<i64>,
    pub(crate) warnings: Vec<Problem>,
}

/// The facts about the program that fitting needs.
pub(crate) trait TypeEnvironment {
    /// Returns the definition of a type name.
    fn type_info(&self, name: &GlobalName) -> Option<std::sync::Arc<TypeInfo>>;
    /// Returns the value of a top-level `i64`.
    fn global_integer(&self, name: &GlobalName) -> Option<i64>;
}

/// Fits the arguments to the parameters of `signature`, in order.
pub(crate) fn fit_arguments(
    signature: &Signature,
    arguments: &[ReadContent],
    types: &dyn TypeEnvironment,
) -> Result<FittedArguments, Vec<Problem>> {
    let mut fitted = FittedArguments::default();
    let mut axes = Vec::new();
    let mut problems = Vec::new();
    let atoms = (0..).zip(&signature.sizes);
    let mut sizes: Vec<UnknownSize> =
        atoms.map(|(k, s)| UnknownSize::new(Atom::SizeParam(k, s.name.clone()), &s.name)).collect();
    for (position, ((name, ty), read)) in signature.params.iter().zip(arguments).enumerate() {
        let root = ValueRoot::Argument { name: name.clone(), file: read.file.clone() };
        let mut fitter = Fitter::new(Code::E0600, read, types);
        match fitter.fit_content(ty, &AccessPath::root(root)) {
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
            let message = format!("the extent `{p}` of `{name}` would be {n}, but an extent must not be negative");
            return Err(vec![read.with_place(Problem::new(Code::E0600, message), read.span(), "")]);
        }
    }
    fitted.sizes = sizes.into_iter().map(|s| s.value.unwrap_or(0)).collect();
    Ok(fitted)
}

/// Fits a value to one type. Local names in the type are sizes that the value determines. Returns
/// the value, the type with these sizes, and warnings.
pub(crate) fn fit_to_type(
    ty: &Type,
    read: &ReadContent,
    types: &dyn TypeEnvironment,
) -> Result<(Datum, Type, Vec<Problem>), Vec<Problem>> {
    const CODE: Code = Code::E0604;
    let mut fitter = Fitter::new(CODE, read, types);
    let datum = fitter.fit_content(ty, &AccessPath::root(ValueRoot::File)).map_err(|p| vec![*p])?;
    let mut sizes: Vec<UnknownSize> = Vec::new();
    ty.visit(&mut |_| {}, &mut |p| {
        p.for_each_atom(&mut |atom| {
            if let Atom::Local(_, name) = atom
                && sizes.iter().all(|s| s.atom != *atom)
            {
                sizes.push(UnknownSize::new(atom.clone(), name));
            }
        });
    });
    solve(CODE, &fitter.axes, &mut sizes, types)?;
    if let Some((p, n)) = negative_extent(ty, &sizes, types) {
        let message = format!("the extent `{p}` would be {n}, but an extent must not be negative");
        return Err(vec![Problem::new(CODE, message)]);
    }
    Ok((datum, ty.map_sizes(&|p, _| substitute_known(p, &sizes, types)), fitter.warnings))
}

/// The root of a value.
#[derive(Clone)]
pub(crate) enum ValueRoot {
    /// A parameter of `main`, and the file that its argument names.
    Argument { name: Name, file: Option<String> },
    /// A file that the report names beside the message.
    File,
}

/// A path to a part of a value. It has a text for people, and a position in the type, which all
/// elements of an array share.
#[derive(Clone)]
pub(crate) struct AccessPath {
    root: ValueRoot,
    /// The entered fields: `.w.0`.
    field_path: String,
    /// A hash of the positions, because lists of them would be long for deep values.
    position_hash: u64,
    /// The number of arrays entered since the last name.
    axis_depth: u32,
    element_indices: Vec<usize>,
}

impl AccessPath {
    fn root(root: ValueRoot) -> Self {
        Self { root, field_path: String::new(), position_hash: 0, axis_depth: 0, element_indices: Vec::new() }
    }

    pub(crate) fn enter_part(&self, position: usize, text: &str) -> Self {
        let path = extend_hash(self.position_hash, position + 1);
        let mut fields = format!("{}{}.{text}", self.field_path, self.indices_text());
        // For a deep value, only the inner names are shown.
        if fields.len() > MAX_FIELD_PATH {
            let cut = (0..=fields.len() - MAX_FIELD_PATH / 2).rev().find(|at| fields.is_char_boundary(*at));
            fields = format!("…{}", fields.get(cut.unwrap_or_default()..).unwrap_or_default());
        }
        Self {
            root: self.root.clone(),
            field_path: fields,
            position_hash: path,
            axis_depth: 0,
            element_indices: Vec::new(),
        }
    }

    pub(crate) fn enter_element(&self, index: usize) -> Self {
        let mut place = self.element_indices.clone();
        place.push(index);
        Self { element_indices: place, ..self.enter_axis() }
    }

    /// Returns the path one axis further in.
    pub(crate) fn enter_axis(&self) -> Self {
        let path = extend_hash(self.position_hash, 0);
        let (root, fields) = (self.root.clone(), self.field_path.clone());
        Self {
            root,
            field_path: fields,
            position_hash: path,
            axis_depth: self.axis_depth + 1,
            element_indices: self.element_indices.clone(),
        }
    }

    fn indices_text(&self) -> String {
        if self.element_indices.is_empty() {
            return String::new();
        }
        let indices: Vec<String> = self.element_indices.iter().map(usize::to_string).collect();
        format!("[{}]", indices.join(", "))
    }

    /// Returns the path with indices, if any: ``argument `x[2, 0]` ``, `the value`, `` `.w[2]` ``.
    pub(crate) fn value_phrase(&self) -> String {
        self.subject_phrase(&self.indices_text(), "the value")
    }

    /// Returns the name of the whole argument or file.
    pub(crate) fn file_phrase(&self) -> String {
        match &self.root {
            ValueRoot::Argument { name, file: Some(file) } => format!("argument `{name}` from `{file}`"),
            ValueRoot::Argument { name, file: None } => format!("argument `{name}`"),
            ValueRoot::File => "the file".to_owned(),
        }
    }

    /// Describes a part of an array: ``element [2] of argument `x` ``, `element [2]`.
    pub(crate) fn array_part_phrase(&self, part: &str) -> String {
        match self.subject_phrase(&self.indices_text(), "") {
            whole if whole.is_empty() => part.to_owned(),
            whole => format!("{part} of {whole}"),
        }
    }

    /// Describes a part of a table: ``line 3, column `age` ``. A line and a column identify the
    /// part completely.
    pub(crate) fn table_part_phrase(&self, part: &str) -> String {
        match &self.root {
            ValueRoot::Argument { file: Some(file), .. } => format!("`{file}`, {part},"),
            _ => part.to_owned(),
        }
    }

    /// Returns the array that the axes belong to.
    fn array_phrase(&self) -> String {
        self.subject_phrase("", "the value")
    }

    fn subject_phrase(&self, indices: &str, nothing: &str) -> String {
        let fields = &self.field_path;
        match &self.root {
            ValueRoot::Argument { name, file: None } => format!("argument `{name}{fields}{indices}`"),
            ValueRoot::Argument { name, file: Some(file) } => {
                format!("argument `{name}{fields}{indices}` from `{file}`")
            }
            ValueRoot::File if fields.is_empty() && indices.is_empty() => nothing.to_owned(),
            ValueRoot::File => format!("`{fields}{indices}`"),
        }
    }

    /// Returns ``axis 0 of argument `x` ``, or `axis 0`.
    fn axis_name(&self) -> String {
        match self.subject_phrase("", "") {
            whole if whole.is_empty() => format!("axis {}", self.axis_depth),
            whole => format!("axis {} of {whole}", self.axis_depth),
        }
    }
}

/// The most bytes of field names in a path.
const MAX_FIELD_PATH: usize = 400;

/// Returns the path hash one step further in.
fn extend_hash(path: u64, position: usize) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    (path, position).hash(&mut hasher);
    hasher.finish()
}

pub(crate) struct Fitter<'a> {
    code: Code,
    read: &'a ReadContent,
    types: &'a dyn TypeEnvironment,
    /// The axes, in the order in which they were found.
    axes: Vec<FoundAxis>,
    /// The index in `axes` for a path.
    axis_by_path: HashMap<u64, usize>,
    /// The first missing number of a literal, and the number of further ones.
    missing: Option<(String, usize)>,
    /// The first integer that no real of the type equals, and the number of further ones.
    rounded: Option<(String, usize)>,
    warnings: Vec<Problem>,
}

pub(crate) type FitResult<T> = Result<T, Box<Problem>>;

impl<'a> Fitter<'a> {
    fn new(code: Code, read: &'a ReadContent, types: &'a dyn TypeEnvironment) -> Self {
        Self {
            code,
            read,
            types,
            axes: Vec::new(),
            axis_by_path: HashMap::new(),
            missing: None,
            rounded: None,
            warnings: Vec::new(),
        }
    }

    fn literal_error(&self, literal: &Literal, message: String, label: &str) -> Box<Problem> {
        Box::new(self.read.with_place(Problem::new(self.code, message), literal.span, label))
    }

    /// Whether the value comes from `load` rather than from an argument of `main`.
    pub(crate) fn is_load(&self) -> bool {
        self.code == Code::E0604
    }

    /// Returns an error about the content of a data file.
    pub(crate) fn content_error(&self, message: String) -> Box<Problem> {
        Box::new(self.read.with_place(Problem::new(self.code, message), self.read.span(), ""))
    }

    /// Adds a warning about the content of a data file.
    pub(crate) fn warn(&mut self, message: String) {
        let message = match self.warnings.len() {
            0..MAX_WARNINGS => message,
            MAX_WARNINGS => "further warnings are omitted".to_owned(),
            _ => return,
        };
        self.warnings.push(self.read.with_place(Problem::new(Code::W0606, message), self.read.span(), ""));
    }

    /// Returns the error of an interrupted fit.
    pub(crate) fn interrupted_problem(&self) -> Box<Problem> {
        Box::new(Problem::new(Code::E0507, "interrupted"))
    }

    /// Whether the content is used for a single value.
    pub(crate) fn reads_once(&self) -> bool {
        self.read.is_used_once
    }

    fn fit_content(&mut self, ty: &Type, access: &AccessPath) -> FitResult<Datum> {
        match &self.read.content {
            UntypedContent::Literal(literal) => {
                let datum = self.fit_literal(literal, ty, access)?;
                self.warn_lost();
                Ok(datum)
            }
            UntypedContent::File(data) => data::fit_file::fit_value(self, data, ty, access),
        }
    }

    /// Warns about missing numbers and rounded integers.
    fn warn_lost(&mut self) {
        if let Some((first, more)) = self.missing.take() {
            self.warn(match more {
                0 => format!("{first} has no value; it is read as NaN"),
                n => format!("{first} and {n} more have no value; they are read as NaN"),
            });
        }
        if let Some((first, more)) = self.rounded.take() {
            self.warn(match more {
                0 => format!("{first}; the nearest value is used"),
                n => format!("{first}, and {n} more likewise; the nearest values are used"),
            });
        }
    }

    /// Returns the real number of a literal. Records missing and rounded ones.
    fn fit_real(&mut self, literal: &Literal, scalar: Scalar, access: &AccessPath) -> Option<f64> {
        fn count_occurrence(slot: &mut Option<(String, usize)>, first: impl FnOnce() -> String) {
            match slot {
                Some((_, more)) => *more += 1,
                None => *slot = Some((first(), 0)),
            }
        }
        match &literal.kind {
            // Python writes missing reals as `null`.
            LiteralKind::Tuple(parts) if self.read.is_json && parts.is_empty() => {
                count_occurrence(&mut self.missing, || access.value_phrase());
                Some(f64::NAN)
            }
            LiteralKind::Int(n) => {
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
                    count_occurrence(&mut self.rounded, || {
                        format!("{} is {n}, which has no exact `{}`", access.value_phrase(), Type::Scalar(scalar))
                    });
                }
                Some(x)
            }
            kind => literal_real(kind, self.read.is_json),
        }
    }

    fn mismatch_error(&self, literal: &Literal, ty: &Type, access: &AccessPath) -> Box<Problem> {
        let message = match &literal.kind {
            LiteralKind::Tuple(items) if items.is_empty() && self.read.is_json => {
                format!("{} is null, not of type `{ty}`", access.value_phrase())
            }
            kind => format!("{} is {}, not of type `{ty}`", access.value_phrase(), kind.noun()),
        };
        let problem = self.literal_error(literal, message, &format!("expected `{ty}`"));
        match (&literal.kind, ty) {
            (LiteralKind::Real(_), Type::Scalar(Scalar::I64)) => {
                Box::new(problem.with_help("write an integer without a point or an exponent"))
            }
            (LiteralKind::Tuple(_), Type::Array(..)) => Box::new(problem.with_help("write an array as `[…]`")),
            (LiteralKind::List(_), Type::Tuple(_)) => Box::new(problem.with_help("write a tuple as `(…)`")),
            _ if self.read.is_json => problem,
            _ => match example_literal(ty) {
                Some(example) => Box::new(problem.with_help(format!("write a value of type `{ty}` as in `{example}`"))),
                None => problem,
            },
        }
    }

    /// Fits a literal. Literals can be deep, so the stack grows.
    fn fit_literal(&mut self, literal: &Literal, ty: &Type, access: &AccessPath) -> FitResult<Datum> {
        match (&literal.kind, ty) {
            (LiteralKind::List(_) | LiteralKind::Tuple(_) | LiteralKind::Record(_) | LiteralKind::Ctor(..), _) => {
                stacker::maybe_grow(STACK_RED_ZONE, STACK_GROWTH, || self.fit_literal_shallow(literal, ty, access))
            }
            _ => self.fit_literal_shallow(literal, ty, access),
        }
    }

    fn fit_literal_shallow(&mut self, literal: &Literal, ty: &Type, access: &AccessPath) -> FitResult<Datum> {
        let json = self.read.is_json;
        match (ty, &literal.kind) {
            (Type::Scalar(scalar @ (Scalar::F64 | Scalar::F32)), _) => match self.fit_real(literal, *scalar, access) {
                Some(x) => Ok(Datum::Real(x)),
                None => Err(self.mismatch_error(literal, ty, access)),
            },
            (Type::Scalar(Scalar::I64), LiteralKind::Int(n)) => match i64::try_from(*n) {
                Ok(n) => Ok(Datum::Int(n)),
                Err(_) => {
                    let message = format!("{} is {n}, which does not fit in `i64`", access.value_phrase());
                    Err(self.literal_error(literal, message, "too large"))
                }
            },
            (Type::Scalar(Scalar::Bool), LiteralKind::Bool(b)) => Ok(Datum::Bool(*b)),
            (Type::Array(extent, element), LiteralKind::List(items)) => {
                self.record_axis(literal.span, extent, items.len(), access)?;
                let parts = items.iter().enumerate();
                let parts = parts.map(|(i, item)| self.fit_literal(item, element, &access.enter_element(i)));
                Ok(Datum::Array(parts.collect::<FitResult<_>>()?))
            }
            (Type::Tuple(types), LiteralKind::Tuple(items)) => self.fit_tuple(literal, ty, types, items, access),
            (Type::Tuple(types), LiteralKind::List(items)) if json => self.fit_tuple(literal, ty, types, items, access),
            (Type::Record(fields), LiteralKind::Record(items)) => self.fit_record(literal, fields, items, access),
            (Type::Data(name, args), _) => self.fit_constructor(literal, ty, name, args, access),
            (Type::Fun(_) | Type::Rel(_) | Type::Str | Type::Param(..) | Type::Meta(_) | Type::Error, _) => {
                let message = format!("{} has type `{ty}`, which has no literals", access.value_phrase());
                let problem = self.literal_error(literal, message, "cannot be read");
                Err(match self.code {
                    Code::E0600 => Box::new(problem.with_help("use `iverson eval 'main(…)' -l FILE` instead")),
                    _ => problem,
                })
            }
            _ => Err(self.mismatch_error(literal, ty, access)),
        }
    }

    /// Records the extent of an axis; reports ragged arrays.
    pub(crate) fn record_axis(
        &mut self,
        span: Span,
        wanted: &Poly,
        found: usize,
        access: &AccessPath,
    ) -> FitResult<()> {
        let what = access.axis_name();
        let found = i64::try_from(found).unwrap_or(i64::MAX);
        if let Some(before) = self.axis_by_path.get(&access.position_hash).and_then(|at| self.axes.get(*at)) {
            if before.found_extent == found {
                return Ok(());
            }
            let message = format!(
                "{} is ragged: {what} has {} and {}",
                access.array_phrase(),
                before.found_extent,
                solve_sizes::elements_phrase(found)
            );
            let label = format!("{found} here, {} before", before.found_extent);
            return Err(Box::new(self.read.with_place(Problem::new(self.code, message), span, label)));
        }
        let source = self.read.source;
        let span = self.read.span_of(span);
        self.axis_by_path.insert(access.position_hash, self.axes.len());
        self.axes.push(FoundAxis {
            expected_extent: wanted.clone(),
            found_extent: found,
            description: what,
            source,
            span,
        });
        Ok(())
    }

    fn fit_tuple(
        &mut self,
        literal: &Literal,
        ty: &Type,
        types: &[Type],
        items: &[Literal],
        access: &AccessPath,
    ) -> FitResult<Datum> {
        if types.len() != items.len() {
            return Err(self.mismatch_error(literal, ty, access));
        }
        let parts = types.iter().zip(items).enumerate();
        let parts = parts.map(|(i, (ty, item))| self.fit_literal(item, ty, &access.enter_part(i, &i.to_string())));
        Ok(Datum::Tuple(parts.collect::<FitResult<_>>()?))
    }

    fn fit_record(
        &mut self,
        literal: &Literal,
        fields: &[(Name, Type)],
        items: &[(Name, Literal)],
        access: &AccessPath,
    ) -> FitResult<Datum> {
        let unknown = items.iter().find(|(name, _)| !fields.iter().any(|(known, _)| known == name));
        if let Some((name, item)) = unknown {
            let message = format!("{} has a field `{name}` that its type does not have", access.value_phrase());
            let problem = self.literal_error(item, message, "unknown field");
            let known = fields.iter().map(|(known, _)| known.as_str());
            return Err(match crate::suggest::closest(name, known) {
                Some(near) => Box::new(problem.with_help(format!("did you mean `{near}`?"))),
                None => problem,
            });
        }
        let mut parts = Vec::new();
        for (position, (name, ty)) in fields.iter().enumerate() {
            let mut matching_items = items.iter().filter(|(n, _)| n == name);
            let (Some((_, item)), None) = (matching_items.next(), matching_items.next()) else {
                let message = format!("{} must have the field `{name}` exactly once", access.value_phrase());
                return Err(self.literal_error(literal, message, "in this record"));
            };
            parts.push(self.fit_literal(item, ty, &access.enter_part(position, name))?);
        }
        Ok(Datum::Tuple(parts))
    }

    fn fit_constructor(
        &mut self,
        literal: &Literal,
        ty: &Type,
        name: &GlobalName,
        args: &[GenericArg],
        access: &AccessPath,
    ) -> FitResult<Datum> {
        let info = self.types.type_info(name);
        let Some(TypeInfoBody::Sum(ctors)) = info.as_ref().map(|i| &i.body) else {
            return Err(self.mismatch_error(literal, ty, access));
        };
        let (ctor, items): (&Name, &[Literal]) = match &literal.kind {
            LiteralKind::Ctor(ctor, items) => (ctor, items),
            // JSON writes `Leaf(1)` as `{"Leaf": [1]}`.
            LiteralKind::Record(fields) if self.read.is_json => match fields.as_slice() {
                [(ctor, Literal { kind: LiteralKind::List(items), .. })] => (ctor, items),
                _ => return Err(self.mismatch_error(literal, ty, access)),
            },
            _ => return Err(self.mismatch_error(literal, ty, access)),
        };
        let Some((tag, found)) = ctors.iter().enumerate().find(|(_, c)| c.name == *ctor) else {
            let message = format!("`{}` has no constructor `{ctor}`", ty);
            let problem = self.literal_error(literal, message, &format!("in {}", access.value_phrase()));
            return Err(match crate::suggest::closest(ctor, ctors.iter().map(|c| c.name.as_str())) {
                Some(near) => Box::new(problem.with_help(format!("did you mean `{near}`?"))),
                None => problem,
            });
        };
        if found.args.len() != items.len() {
            let (wanted, item_count) = (found.args.len(), items.len());
            let message = format!(
                "`{ctor}` takes {}, not {item_count}, in {}",
                count_with_noun(wanted, "argument", "arguments"),
                access.value_phrase()
            );
            return Err(self.literal_error(literal, message, "wrong number of arguments"));
        }
        let mut parts = Vec::new();
        for (position, (ty, item)) in found.args.iter().zip(items).enumerate() {
            let ty = instantiate(ty, args);
            let text = format!("{ctor}.{position}");
            parts.push(self.fit_literal(item, &ty, &access.enter_part(tag * 64 + position, &text))?);
        }
        Ok(Datum::Ctor(u32::try_from(tag).unwrap_or(u32::MAX), parts))
    }
}

fn literal_real(kind: &LiteralKind, json: bool) -> Option<f64> {
    match kind {
        LiteralKind::Real(x) => Some(*x),
        LiteralKind::Text(text) if json => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}
