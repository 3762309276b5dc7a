//! **Results of loops.** Prints the `let`s that bind the results of a loop, by a pattern or by
//! paths into one name. [`super::print_loops`] prints the loop itself.

use super::NoTextReason;
use super::derivative_signature::NamedValue;
use super::expression_tree::SourceExpr;
use super::print_loops::{CarriedContent, LoopBindings, tuple};
use super::read_loops::{LoopResultKind, LoopResultLine};
use super::read_ssa::LineKind;
use super::writer::{BodyWriter, ReadSource};
use lang_base::Name;
use lang_ir::core::CoreType;
use lang_ir::ssa::StmtId;
use lang_sizes::predicate::Poly;
use lang_syntax::ops::Scalar;

/// The component of the loop's value that holds a result.
enum LoopComponent {
    /// The final value of a carried variable.
    Carried(usize),
    /// A yielded value.
    Yielded(usize),
}

fn tuple_type(items: Vec<CoreType>) -> CoreType {
    match <[CoreType; 1]>::try_from(items) {
        Ok([one]) => one,
        Err(items) => CoreType::tuple(items),
    }
}

impl BodyWriter<'_> {
    /// Returns the preferred name of a loop result.
    fn preferred_result_name(&self, v: StmtId, piece: LoopResultKind) -> Name {
        let own = self.lines.get(v.0 as usize).and_then(|l| l.name.clone()).filter(|n| self.is_program_name(n));
        let own = own.map(|name| self.name_in_entries(&name));
        let (LoopResultKind::Last(w) | LoopResultKind::AllIterations(w)) = piece else {
            return own.unwrap_or_else(|| "k".into());
        };
        let inner = self.lines.get(w.0 as usize).and_then(|l| l.name.clone());
        match piece {
            LoopResultKind::AllIterations(_) => {
                let name = inner.or(own).map_or_else(|| "t".into(), |name| self.carried_variable_name(Some(&name)));
                format!("{name}_at").into()
            }
            _ => own.unwrap_or_else(|| self.carried_variable_name(inner.as_ref())),
        }
    }

    /// Binds the results by a pattern.
    pub(super) fn bind_results_by_pattern(
        &mut self,
        parts: &[(StmtId, LoopResultKind)],
        (slots, yields): &LoopBindings,
        text: &str,
    ) -> Result<Vec<String>, NoTextReason> {
        let mut slot_names = vec!["_".to_owned(); slots.len()];
        let mut yield_name = "_".to_owned();
        let places = components_of_results(parts, slots, yields)?;
        for ((v, piece), of) in parts.iter().zip(places) {
            let line = self.lines.get(v.0 as usize).cloned().ok_or(NoTextReason::InternalError)?;
            let scalar = line.scalar.unwrap_or(Scalar::F64);
            let (slot, wanted) = match of {
                // Several yielded results form one array of tuples.
                LoopComponent::Yielded(_) if yields.len() > 1 => continue,
                LoopComponent::Yielded(_) => (Some(&mut yield_name), self.preferred_result_name(*v, *piece)),
                LoopComponent::Carried(k) => {
                    let wanted = match slots.get(k) {
                        Some((CarriedContent::AllIterations(_), name)) => name.clone(),
                        _ => self.preferred_result_name(*v, *piece),
                    };
                    (slot_names.get_mut(k), wanted)
                }
            };
            let Some(slot) = slot else { continue };
            let known = (*slot != "_").then(|| Name::from(slot.as_str()));
            let name = known.unwrap_or_else(|| self.used_names.fresh(&wanted));
            *slot = name.to_string();
            self.bind_let_name(*v, &name, &line.indices, scalar);
            self.printed_lets.push((name, *v));
        }
        if yields.len() > 1 {
            let name = self.used_names.fresh("states");
            yield_name = name.to_string();
            let mut types = Vec::new();
            let mut trips = Poly::default();
            for v in yields {
                let line = self.lines.get(v.0 as usize).cloned().ok_or(NoTextReason::InternalError)?;
                trips = line.indices.first().map(|i| i.extent.clone()).unwrap_or_default();
                let own = line.extents().into_iter().skip(1);
                types.push(
                    CoreType::Scalar(line.scalar.unwrap_or(Scalar::F64))
                        .with_extents(own.collect::<Vec<_>>().into_iter()),
                );
            }
            let base =
                NamedValue { name: name.clone(), ty: CoreType::tuple(types).with_extents(std::iter::once(trips)) };
            for (k, v) in (0..).zip(yields) {
                self.read_sources.insert(*v, ReadSource::Let(base.clone(), vec![k]));
                self.printed_lets.push((name.clone(), *v));
            }
        }
        let pattern = match (slots.is_empty(), yields.is_empty()) {
            (false, true) => tuple(&slot_names),
            (true, _) => yield_name,
            _ => format!("({}, {yield_name})", tuple(&slot_names)),
        };
        Ok(vec![format!("let {pattern} = {text}")])
    }

    /// Binds the results by paths into one name, for a loop with batch indices or a predicate.
    pub(super) fn bind_results_by_paths(
        &mut self,
        of: &LoopResultLine,
        parts: &[(StmtId, LoopResultKind)],
        (slots, yields): &LoopBindings,
        text: &str,
    ) -> Result<Vec<String>, NoTextReason> {
        let name = self.used_names.fresh("each");
        let places = components_of_results(parts, slots, yields)?;
        // The types of results that are not read do not matter.
        let mut slot_types = vec![CoreType::Scalar(Scalar::F64); slots.len()];
        let mut yield_types = vec![CoreType::Scalar(Scalar::F64); yields.len()];
        let batch = of.batch.len();
        for ((v, _), at) in parts.iter().zip(&places) {
            let line = self.lines.get(v.0 as usize).cloned().ok_or(NoTextReason::InternalError)?;
            let own = line.indices.iter().skip(batch).map(|i| i.extent.clone());
            let ty = CoreType::Scalar(line.scalar.unwrap_or(Scalar::F64));
            match at {
                LoopComponent::Carried(k) => {
                    slot_types.get_mut(*k).into_iter().for_each(|t| *t = ty.clone().with_extents(own.clone()))
                }
                // The axis of the iterations is outside the tuple.
                LoopComponent::Yielded(k) => {
                    yield_types.get_mut(*k).into_iter().for_each(|t| *t = ty.clone().with_extents(own.clone().skip(1)));
                }
            }
        }
        let extents: Vec<Poly> = parts
            .first()
            .and_then(|(v, _)| self.lines.get(v.0 as usize))
            .map(|l| l.extents().into_iter().take(batch).collect())
            .unwrap_or_default();
        let trips = of.trips.clone().unwrap_or_default();
        let (several, many) = (slots.len() > 1, yields.len() > 1);
        let carry = tuple_type(slot_types);
        let yield_type = tuple_type(yield_types).with_extents(std::iter::once(trips));
        let both = !slots.is_empty() && !yields.is_empty();
        let ty = match (slots.is_empty(), yields.is_empty()) {
            (_, true) => carry,
            (true, _) => yield_type,
            _ => CoreType::tuple(vec![carry, yield_type]),
        };
        let base = NamedValue { name: name.clone(), ty: ty.with_extents(extents.into_iter()) };
        for ((v, _), at) in parts.iter().zip(&places) {
            let number = |k: &usize| u32::try_from(*k).unwrap_or(u32::MAX);
            let path: Vec<u32> = match at {
                LoopComponent::Carried(k) => both.then_some(0).into_iter().chain(several.then(|| number(k))).collect(),
                LoopComponent::Yielded(k) => both.then_some(1).into_iter().chain(many.then(|| number(k))).collect(),
            };
            self.read_sources.insert(*v, ReadSource::Let(base.clone(), path));
            self.printed_lets.push((name.clone(), *v));
        }
        Ok(vec![format!("let {name} = {text}")])
    }

    /// Binds the results of a `while` loop, whose trip count only the run determines.
    pub(super) fn bind_while_results(
        &mut self,
        parts: &[(StmtId, LoopResultKind)],
        slots: &[(CarriedContent, Name)],
        text: &str,
    ) -> Result<Vec<String>, NoTextReason> {
        let count = self.used_names.fresh_index(Some(&"k".into()));
        let states = self.used_names.fresh("states");
        let index = self.facts.fresh_index(Poly::default());
        self.scope.push((index.local, count.clone()));
        let mut lets = vec![format!("let [{count}] {states} = {text}")];
        for (v, piece) in parts.iter().filter(|(_, piece)| *piece == LoopResultKind::TripCount) {
            let _ = piece;
            if let Some(line) = self.lines.get_mut(v.0 as usize) {
                line.kind = LineKind::Element(SourceExpr::Index(index.value().add_constant(-1)));
            }
        }
        for (v, piece) in parts {
            // The next value of a carried line is in the following state.
            let after = |w: StmtId| {
                slots
                    .iter()
                    .position(|(s, _)| matches!(s, CarriedContent::Line(c) if self.next_value_line(*c) == Some(w)))
            };
            let own = |w: StmtId| {
                slots.iter().position(|(s, _)| *s == CarriedContent::Line(w) || *s == CarriedContent::AllIterations(*v))
            };
            let at = match piece {
                LoopResultKind::Last(w) => own(*w).map(|k| (k, false)),
                LoopResultKind::AllIterations(w) => match own(*w) {
                    Some(k) => Some((k, matches!(slots.get(k), Some((CarriedContent::AllIterations(_), _))))),
                    None => after(*w).map(|k| (k, true)),
                },
                LoopResultKind::TripCount => continue,
            };
            let (k, later) = at.ok_or(NoTextReason::InternalError)?;
            let path = if slots.len() > 1 { format!(".{k}") } else { String::new() };
            let line = self.lines.get(v.0 as usize).cloned().ok_or(NoTextReason::InternalError)?;
            let wanted = self.preferred_result_name(*v, *piece);
            let name = self.used_names.fresh(&wanted);
            let i = self.used_names.fresh_index(None);
            lets.push(match piece {
                LoopResultKind::Last(_) => format!("let {name} = {states}[{count} - 1]{path}"),
                LoopResultKind::AllIterations(_) => {
                    let later = if later { " + 1" } else { "" };
                    format!("let {name} = for {i} < {count} - 1: {states}[{i}{later}]{path}")
                }
                LoopResultKind::TripCount => continue,
            });
            self.used_names.mark_unused(&i);
            self.bind_let_name(*v, &name, &line.indices, line.scalar.unwrap_or(Scalar::F64));
            self.printed_lets.push((name, *v));
        }
        Ok(lets)
    }
}

/// Returns the component that holds each result.
fn components_of_results(
    parts: &[(StmtId, LoopResultKind)],
    slots: &[(CarriedContent, Name)],
    yields: &[StmtId],
) -> Result<Vec<LoopComponent>, NoTextReason> {
    let slot = |of: CarriedContent| slots.iter().position(|s| s.0 == of);
    let place = |(v, piece): &(StmtId, LoopResultKind)| match piece {
        LoopResultKind::Last(w) => slot(CarriedContent::Line(*w)).map(LoopComponent::Carried),
        LoopResultKind::AllIterations(w) => {
            let yielded = yields.iter().position(|y| y == v).map(LoopComponent::Yielded);
            yielded.or_else(|| {
                slot(CarriedContent::AllIterations(*v))
                    .or_else(|| slot(CarriedContent::Line(*w)))
                    .map(LoopComponent::Carried)
            })
        }
        LoopResultKind::TripCount => Some(LoopComponent::Yielded(usize::MAX)),
    };
    parts.iter().map(|part| place(part).ok_or(NoTextReason::InternalError)).collect()
}
