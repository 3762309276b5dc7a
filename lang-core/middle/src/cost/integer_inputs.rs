//! **Integer inputs** inside records and sum types, as formulas mention them: their display names,
//! and facts about them.

use lang_base::Name;
use lang_ir::core::{CoreType, TupleLabels};
use lang_ir::flat::{FunctionInput, InputSource};
use lang_ir::ssa::SsaFunction;
use lang_sizes::count::{DisplayName, DisplayNames};
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ops::Scalar;

/// Returns the names of the integers inside parameters, such as `p.steps`, or `s.Ball.0` for an
/// argument of a constructor.
pub(super) fn integer_names(ssa: &SsaFunction) -> DisplayNames {
    let integer = |i: &&FunctionInput| i.leaf.dims.is_empty() && i.leaf.scalar == Some(Scalar::I64);
    ssa.inputs.iter().filter(integer).filter_map(|i| integer_name(ssa, i)).collect()
}

fn integer_name(ssa: &SsaFunction, input: &FunctionInput) -> Option<DisplayName> {
    let InputSource::Param(k) = input.source else { return None };
    let (param, whole) = ssa.params.get(k as usize)?;
    let mut ty = whole;
    let mut text = ssa.vars.name(*param).to_string();
    let mut constructors = Vec::new();
    for k in &input.leaf.path {
        let CoreType::Tuple(parts, labels) = ty else { return None };
        match labels {
            TupleLabels::Sum(of) if *k == 0 => constructors.clone_from(&of.constructors),
            TupleLabels::Sum(of) => {
                let constructor = (*k as usize).checked_sub(1).and_then(|k| of.constructors.get(k))?;
                text += &format!(".{constructor}");
            }
            _ => text += &labels.field(*k).map_or_else(|| format!(".{k}"), |field| format!(".{field}")),
        }
        ty = parts.get(*k as usize)?;
    }
    (!input.leaf.path.is_empty()).then(|| DisplayName { local: input.local, text: Name::from(text), constructors })
}

/// Returns facts about constructor numbers: non-negative polynomials.
pub(super) fn constructor_facts(ssa: &SsaFunction, names: &DisplayNames) -> Vec<Poly> {
    let each = names.iter().filter(|n| !n.constructors.is_empty());
    each.flat_map(|n| {
        let it = Poly::atom(Atom::Local(n.local, ssa.vars.name(n.local)));
        let last = i128::try_from(n.constructors.len()).unwrap_or(i128::MAX) - 1;
        [it.clone(), Poly::constant(last).sub(&it)]
    })
    .collect()
}
