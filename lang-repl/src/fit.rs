//! Literals against the types of parameters: every part is checked, sizes are solved from the
//! shapes as a call in the language would, and what does not agree is named by its parameter and axis.

use std::collections::BTreeMap;

use lang_core::base::{Code, GlobalName, Name, Span};
use lang_core::predicate::{Atom, Poly};
use lang_core::types::info::{TypeInfo, TypeInfoBody};
use lang_core::types::ty::{Scalar, Signature, SizeSource, Type, TypeArg};

use crate::literal::{Kind, Literal, Read};
use crate::problem::Problem;
use crate::types::instantiate;

/// A value by its parts, of a type known beside it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Datum {
    Real(f64),
    Int(i64),
    Bool(bool),
    Array(Vec<Datum>),
    /// Also a record, in the order of its type.
    Tuple(Vec<Datum>),
    Ctor(u32, Vec<Datum>),
}

/// What fitted: the arguments, and the values of the signature's sizes.
#[derive(Debug)]
pub(crate) struct Fitted {
    pub(crate) arguments: Vec<Datum>,
    /// In the order of [`Signature::sizes`]; those of the result are 0.
    pub(crate) sizes: Vec<i64>,
}

/// What fitting asks of the program.
pub(crate) trait Types {
    /// What a type name stands for.
    fn info(&self, name: &GlobalName) -> Option<std::sync::Arc<TypeInfo>>;
    /// The value of an `i64` of the top level.
    fn global(&self, name: &GlobalName) -> Option<i64>;
}

/// One literal for each parameter of `signature`, in order.
pub(crate) fn fit(signature: &Signature, arguments: &[Read], types: &dyn Types) -> Result<Fitted, Vec<Problem>> {
    let mut data = Vec::new();
    let mut axes = Vec::new();
    let mut problems = Vec::new();
    let mut sizes: Vec<Option<i64>> = vec![None; signature.sizes.len()];
    for (position, ((name, ty), read)) in signature.params.iter().zip(arguments).enumerate() {
        let mut fitter = Fitter { read, types, axes: BTreeMap::new() };
        match fitter.value(&read.literal, ty, &Access::root(name)) {
            Ok(datum) => {
                if let Datum::Int(n) = datum {
                    let of_this = |s: &SizeSource| u32::try_from(position).is_ok_and(|p| *s == SizeSource::Param(p));
                    for (value, _) in sizes.iter_mut().zip(&signature.sizes).filter(|(_, s)| of_this(&s.source)) {
                        *value = Some(n);
                    }
                }
                data.push(datum);
            }
            Err(problem) => problems.push(*problem),
        }
        axes.extend(fitter.axes.into_values());
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    solve(signature, &axes, &mut sizes, types)?;
    for ((name, ty), read) in signature.params.iter().zip(arguments) {
        let mut negative = None;
        ty.visit(&mut |_| {}, &mut |p| {
            // An extent that no array shows, as those of the rows of `[]`.
            if let Some(n) = with_known(p, &sizes, types).as_constant().filter(|n| *n < 0) {
                negative = Some(format!("an extent of `{name}`, `{p}`, would be {n}, and no extent is negative"));
            }
        });
        if let Some(message) = negative {
            let span = if read.json { Span::default() } else { read.literal.span };
            return Err(vec![Problem::new(Code::E0600, message).at(read.source, span, "")]);
        }
    }
    Ok(Fitted { arguments: data, sizes: sizes.into_iter().map(|s| s.unwrap_or(0)).collect() })
}

/// An extent that was found where a type wants a size.
struct Axis {
    wanted: Poly,
    found: i64,
    /// `axis 0 of argument `x``
    what: String,
    source: crate::source::SourceId,
    span: Span,
}

/// Where in an argument a value is: as people read it, and as a position in the type, which all
/// elements of an array share.
#[derive(Clone)]
struct Access {
    text: String,
    path: Vec<u32>,
    /// Arrays entered since the last name.
    axis: u32,
    place: Vec<usize>,
}

impl Access {
    fn root(name: &Name) -> Self {
        Self { text: format!("`{name}`"), path: Vec::new(), axis: 0, place: Vec::new() }
    }

    fn part(&self, position: usize, text: &str) -> Self {
        let mut path = self.path.clone();
        path.push(u32::try_from(position).unwrap_or(u32::MAX));
        let own = format!("{}.{text}`", self.named().trim_end_matches('`'));
        Self { text: own, path, axis: 0, place: Vec::new() }
    }

    fn element(&self, index: usize) -> Self {
        let mut place = self.place.clone();
        place.push(index);
        let mut path = self.path.clone();
        path.push(0);
        Self { text: self.text.clone(), path, axis: self.axis + 1, place }
    }

    /// With the indices, if any: `` `x[2, 0]` ``.
    fn named(&self) -> String {
        if self.place.is_empty() {
            return self.text.clone();
        }
        let indices: Vec<String> = self.place.iter().map(usize::to_string).collect();
        format!("{}[{}]`", self.text.trim_end_matches('`'), indices.join(", "))
    }
}

struct Fitter<'a> {
    read: &'a Read,
    types: &'a dyn Types,
    axes: BTreeMap<Vec<u32>, Axis>,
}

type Fit<T> = Result<T, Box<Problem>>;

impl Fitter<'_> {
    fn error(&self, literal: &Literal, message: String, label: &str) -> Box<Problem> {
        let span = if self.read.json { Span::default() } else { literal.span };
        Box::new(Problem::new(Code::E0600, message).at(self.read.source, span, label))
    }

    fn mismatch(&self, literal: &Literal, ty: &Type, access: &Access) -> Box<Problem> {
        let message = format!("argument {} is {}, not of type `{ty}`", access.named(), literal.kind.noun());
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

    /// The depth of literals is bounded by their readers.
    fn value(&mut self, literal: &Literal, ty: &Type, access: &Access) -> Fit<Datum> {
        let json = self.read.json;
        match (ty, &literal.kind) {
            (Type::Scalar(Scalar::F64 | Scalar::F32), _) => match real(&literal.kind, json) {
                Some(x) => Ok(Datum::Real(x)),
                None => Err(self.mismatch(literal, ty, access)),
            },
            (Type::Scalar(Scalar::I64), Kind::Int(n)) => match i64::try_from(*n) {
                Ok(n) => Ok(Datum::Int(n)),
                Err(_) => {
                    let message = format!("argument {} is {n}, which no `i64` holds", access.named());
                    Err(self.error(literal, message, "too large"))
                }
            },
            (Type::Scalar(Scalar::Bool), Kind::Bool(b)) => Ok(Datum::Bool(*b)),
            (Type::Array(extent, element), Kind::List(items)) => {
                self.axis(literal, extent, items.len(), access)?;
                let parts = items.iter().enumerate();
                let parts = parts.map(|(i, item)| self.value(item, element, &access.element(i)));
                Ok(Datum::Array(parts.collect::<Fit<_>>()?))
            }
            (Type::Tuple(types), Kind::Tuple(items)) => self.tuple(literal, ty, types, items, access),
            (Type::Tuple(types), Kind::List(items)) if json => self.tuple(literal, ty, types, items, access),
            (Type::Record(fields), Kind::Record(items)) => self.record(literal, fields, items, access),
            (Type::Data(name, args), _) => self.data(literal, ty, name, args, access),
            (Type::Fun(_) | Type::Rel(_) | Type::Str | Type::Param(..) | Type::Meta(_) | Type::Error, _) => {
                let message =
                    format!("argument {} has the type `{}`, of which there are no literals", access.named(), ty);
                let problem = self.error(literal, message, "cannot be read");
                Err(Box::new(problem.help("call `main` in `iverson eval 'main(…)' -l FILE` instead")))
            }
            _ => Err(self.mismatch(literal, ty, access)),
        }
    }

    fn axis(&mut self, literal: &Literal, wanted: &Poly, found: usize, access: &Access) -> Fit<()> {
        let what = format!("axis {} of argument {}", access.axis, access.text);
        let found = i64::try_from(found).unwrap_or(i64::MAX);
        if let Some(before) = self.axes.get(&access.path) {
            if before.found == found {
                return Ok(());
            }
            let message =
                format!("argument {} is ragged: {what} has {} and {found} elements", access.text, before.found);
            return Err(self.error(literal, message, &format!("{found} here, {} before", before.found)));
        }
        let span = if self.read.json { Span::default() } else { literal.span };
        self.axes
            .insert(access.path.clone(), Axis { wanted: wanted.clone(), found, what, source: self.read.source, span });
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
            let message = format!("argument {} has no field `{name}`", access.named());
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
                let message = format!("argument {} needs the field `{name}` once", access.named());
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
            let problem = self.error(literal, message, &format!("in argument {}", access.named()));
            return Err(match crate::suggest::closest(ctor, ctors.iter().map(|c| c.name.as_str())) {
                Some(near) => Box::new(problem.help(format!("did you mean `{near}`?"))),
                None => problem,
            });
        };
        if found.args.len() != items.len() {
            let (wanted, given) = (found.args.len(), items.len());
            let message = format!("`{ctor}` takes {wanted} arguments, not {given}, in argument {}", access.named());
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

/// A literal of a type, to show how one is written; none where that takes the program's own words.
pub(crate) fn example(ty: &Type) -> Option<String> {
    Some(match ty {
        Type::Scalar(Scalar::F64 | Scalar::F32) => "1.5".to_owned(),
        Type::Scalar(Scalar::I64) => "3".to_owned(),
        Type::Scalar(Scalar::Bool) => "true".to_owned(),
        Type::Array(_, element) => {
            let element = example(element)?;
            format!("[{element}, {element}]")
        }
        Type::Tuple(types) => {
            let parts: Option<Vec<String>> = types.iter().map(example).collect();
            format!("({})", parts?.join(", "))
        }
        Type::Record(fields) => {
            let field = |(name, ty): &(Name, Type)| Some(format!("{name}: {}", example(ty)?));
            let parts: Option<Vec<String>> = fields.iter().map(field).collect();
            format!("{{{}}}", parts?.join(", "))
        }
        _ => return None,
    })
}

fn real(kind: &Kind, json: bool) -> Option<f64> {
    match kind {
        Kind::Real(x) => Some(*x),
        #[expect(
            clippy::cast_precision_loss,
            reason = "an integer that stands for a real is the nearest one, as in the language"
        )]
        Kind::Int(n) => Some(*n as f64),
        Kind::Text(text) if json => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// Finds every size from the axes where it stands alone with factor 1 or -1 once the others are
/// known; what is left over is checked.
fn solve(
    signature: &Signature,
    axes: &[Axis],
    sizes: &mut [Option<i64>],
    types: &dyn Types,
) -> Result<(), Vec<Problem>> {
    let mut open: Vec<&Axis> = axes.iter().collect();
    let mut from: Vec<Option<&Axis>> = vec![None; sizes.len()];
    loop {
        let before = open.len();
        let mut rest = Vec::new();
        for axis in open {
            let known = with_known(&axis.wanted, sizes, types);
            if known.as_constant().is_some() {
                check(axis, &known, signature, sizes, &from)?;
                continue;
            }
            let unknown = (0..sizes.len()).filter(|k| sizes.get(*k).is_some_and(Option::is_none)).find_map(|k| {
                let name = signature.sizes.get(k)?.name.clone();
                let (factor, rest) = known.linear_in(&Atom::Bound(u32::try_from(k).ok()?, name))?;
                let rest = rest.as_constant()?;
                (factor == 1 || factor == -1).then(|| (k, (i128::from(axis.found) - rest) * factor))
            });
            match unknown {
                Some((k, value)) => {
                    let value = i64::try_from(value).ok().filter(|v| *v >= 0);
                    let (Some(value), Some(slot), Some(from)) = (value, sizes.get_mut(k), from.get_mut(k)) else {
                        let name = signature.sizes.get(k).map(|s| s.name.as_str()).unwrap_or_default();
                        let message = format!(
                            "{} has {}, which would make the size `{name}` negative",
                            axis.what,
                            elements(axis.found)
                        );
                        return Err(vec![Problem::new(Code::E0600, message).at(axis.source, axis.span, "")]);
                    };
                    *slot = Some(value);
                    *from = Some(axis);
                }
                None => rest.push(axis),
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        if rest.len() == before {
            // What cannot be solved stands inside arrays without elements: any size will do.
            match sizes.iter_mut().find(|s| s.is_none()) {
                Some(unsolved) => *unsolved = Some(0),
                None => return Ok(()),
            }
        }
        open = rest;
    }
}

fn with_known(p: &Poly, sizes: &[Option<i64>], types: &dyn Types) -> Poly {
    p.substitute(&|atom| {
        let value = match atom {
            Atom::Bound(k, _) => usize::try_from(*k).ok().and_then(|k| *sizes.get(k)?),
            Atom::Global(name) => types.global(name),
            _ => None,
        };
        value.map(|n| Poly::constant(i128::from(n)))
    })
}

fn check(
    axis: &Axis,
    known: &Poly,
    signature: &Signature,
    sizes: &[Option<i64>],
    from: &[Option<&Axis>],
) -> Result<(), Vec<Problem>> {
    if known.as_constant() == Some(i128::from(axis.found)) {
        return Ok(());
    }
    let wanted = known.as_constant().unwrap_or_default();
    let message = format!("{} has {}, but {wanted} are wanted", axis.what, elements(axis.found));
    let mut problem = Problem::new(Code::E0600, message).at(axis.source, axis.span, elements(axis.found));
    let mut reasons = Vec::new();
    for (k, size) in signature.sizes.iter().enumerate() {
        let atom = Atom::Bound(u32::try_from(k).unwrap_or(u32::MAX), size.name.clone());
        let (true, Some(value)) = (axis.wanted.mentions(&atom), sizes.get(k).copied().flatten()) else { continue };
        reasons.push(match (size.source, from.get(k).copied().flatten()) {
            (_, Some(other)) => format!("`{}` is {value} by {}", size.name, other.what),
            _ => format!("`{}` is {value}", size.name),
        });
    }
    if !reasons.is_empty() {
        problem = problem.help(reasons.join(", "));
    }
    Err(vec![problem])
}

fn elements(n: i64) -> String {
    if n == 1 { "1 element".to_owned() } else { format!("{n} elements") }
}
