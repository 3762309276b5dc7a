//! **Solving of sizes.** Solves the sizes of a signature from the extents of the arguments, as a
//! call in the language does. Reports extents that do not agree.

use lang_core::base::{Code, Name, Span, count_with_noun};
use lang_core::predicate::{Atom, Poly};
use lang_core::types::ty::Type;

use super::TypeEnvironment;
use crate::problem::Problem;

/// Returns an extent of the type that is negative at the solved sizes. It can occur where no array
/// shows the extent, as for the rows of `[]`.
pub(super) fn negative_extent(ty: &Type, sizes: &[UnknownSize], types: &dyn TypeEnvironment) -> Option<(Poly, i128)> {
    let mut negative = None;
    ty.visit(&mut |_| {}, &mut |p| {
        if let Some(n) = substitute_known(p, sizes, types).as_constant().filter(|n| *n < 0) {
            negative = Some((p.clone(), n));
        }
    });
    negative
}

/// An unknown size.
pub(super) struct UnknownSize {
    pub(super) atom: Atom,
    pub(super) name: Name,
    pub(super) value: Option<i64>,
}

impl UnknownSize {
    pub(super) fn new(atom: Atom, name: &Name) -> Self {
        Self { atom, name: name.clone(), value: None }
    }
}

/// The extent found at an axis, and the size expression that the type requires there.
pub(super) struct FoundAxis {
    pub(super) expected_extent: Poly,
    pub(super) found_extent: i64,
    /// The description of the axis: ``axis 0 of argument `x` ``.
    pub(super) description: String,
    pub(super) source: Option<crate::source::SourceId>,
    pub(super) span: Span,
}

/// Solves each size from an axis in which it is the only unknown, with coefficient 1 or -1. Checks
/// the remaining axes.
pub(super) fn solve(
    code: Code,
    axes: &[FoundAxis],
    sizes: &mut [UnknownSize],
    types: &dyn TypeEnvironment,
) -> Result<(), Vec<Problem>> {
    let mut open: Vec<&FoundAxis> = axes.iter().collect();
    let mut from: Vec<Option<&FoundAxis>> = vec![None; sizes.len()];
    loop {
        let before = open.len();
        let mut rest = Vec::new();
        for axis in open {
            let known = substitute_known(&axis.expected_extent, sizes, types);
            if known.as_constant().is_some() {
                check_axis(code, axis, &known, sizes, &from)?;
                continue;
            }
            let unknown = sizes.iter().enumerate().filter(|(_, s)| s.value.is_none()).find_map(|(k, size)| {
                let (factor, rest) = known.linear_in(&size.atom)?;
                let rest = rest.as_constant()?;
                (factor == 1 || factor == -1).then(|| (k, (i128::from(axis.found_extent) - rest) * factor))
            });
            match unknown {
                Some((k, value)) => {
                    let value = i64::try_from(value).ok().filter(|v| *v >= 0);
                    let (Some(value), Some(size), Some(from)) = (value, sizes.get_mut(k), from.get_mut(k)) else {
                        let name = sizes.get(k).map(|s| s.name.as_str()).unwrap_or_default();
                        let found = elements_phrase(axis.found_extent);
                        let message =
                            format!("{} has {found}, which would make the size `{name}` negative", axis.description);
                        return Err(vec![axis.locate(Problem::new(code, message), "")]);
                    };
                    size.value = Some(value);
                    *from = Some(axis);
                }
                None => rest.push(axis),
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        if rest.len() == before {
            // An unsolvable size occurs only inside arrays without elements, so any value is valid.
            match sizes.iter_mut().find(|s| s.value.is_none()) {
                Some(unsolved) => unsolved.value = Some(0),
                None => return Ok(()),
            }
        }
        open = rest;
    }
}

pub(super) fn substitute_known(p: &Poly, sizes: &[UnknownSize], types: &dyn TypeEnvironment) -> Poly {
    p.substitute(&|atom| {
        let value = match atom {
            Atom::Global(name) => types.global_integer(name),
            _ => sizes.iter().find(|s| s.atom == *atom).and_then(|s| s.value),
        };
        value.map(|n| Poly::constant(i128::from(n)))
    })
}

fn check_axis(
    code: Code,
    axis: &FoundAxis,
    known: &Poly,
    sizes: &[UnknownSize],
    from: &[Option<&FoundAxis>],
) -> Result<(), Vec<Problem>> {
    if known.as_constant() == Some(i128::from(axis.found_extent)) {
        return Ok(());
    }
    let wanted = known.as_constant().unwrap_or_default();
    let message = format!("{} has {}, but must have {wanted}", axis.description, elements_phrase(axis.found_extent));
    let mut problem = axis.locate(Problem::new(code, message), elements_phrase(axis.found_extent));
    let mut reasons = Vec::new();
    for (size, from) in sizes.iter().zip(from) {
        let (true, Some(value)) = (axis.expected_extent.mentions(&size.atom), size.value) else { continue };
        reasons.push(match from {
            Some(other) => format!("`{}` is {value} because of {}", size.name, other.description.trim_end_matches(',')),
            None => format!("`{}` is {value}", size.name),
        });
    }
    if !reasons.is_empty() {
        problem = problem.with_help(reasons.join(", "));
    }
    Err(vec![problem])
}

impl FoundAxis {
    pub(super) fn locate(&self, problem: Problem, label: impl Into<String>) -> Problem {
        match self.source {
            Some(source) => problem.with_place(source, self.span, label),
            None => problem,
        }
    }
}

pub(super) fn elements_phrase(n: i64) -> String {
    usize::try_from(n).map_or_else(|_| format!("{n} elements"), |n| count_with_noun(n, "element", "elements"))
}
