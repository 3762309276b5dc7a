//! **Results of loops.** Prints the `let`s that bind the results of a loop, by a pattern or by
//! paths into one name. [`super::repeat`] prints the loop itself.

use super::Outside;
use super::read::Is;
use super::regions::{Looped, Piece};
use super::repeat::{Made, Slotted, tuple};
use super::shape::Base;
use super::tree::Ex;
use super::writer::{Named, Writer};
use lang_base::Name;
use lang_ir::core::CoreType;
use lang_ir::ssa::Var;
use lang_sizes::predicate::Poly;
use lang_syntax::ops::Scalar;

/// The component of the loop's value that holds a result.
enum Of {
    /// The final value of a carried variable.
    Slot(usize),
    /// A yielded value.
    Yield(usize),
}

fn tuple_type(items: Vec<CoreType>) -> CoreType {
    match <[CoreType; 1]>::try_from(items) {
        Ok([one]) => one,
        Err(items) => CoreType::tuple(items),
    }
}

impl Writer<'_> {
    /// Returns the preferred name of a loop result.
    fn wanted(&self, v: Var, piece: Piece) -> Name {
        let own = self.lines.get(v.0 as usize).and_then(|l| l.name.clone()).filter(|n| self.is_given(n));
        let own = own.map(|name| self.for_reader(&name));
        let (Piece::Last(w) | Piece::Every(w)) = piece else { return own.unwrap_or_else(|| "k".into()) };
        let inner = self.lines.get(w.0 as usize).and_then(|l| l.name.clone());
        match piece {
            Piece::Every(_) => {
                let name = inner.or(own).map_or_else(|| "t".into(), |name| self.called(Some(&name)));
                format!("{name}_at").into()
            }
            _ => own.unwrap_or_else(|| self.called(inner.as_ref())),
        }
    }

    /// Binds the results by a pattern.
    pub(super) fn patterns(
        &mut self,
        parts: &[(Var, Piece)],
        (slots, yields): &Made,
        text: &str,
    ) -> Result<Vec<String>, Outside> {
        let mut slot_names = vec!["_".to_owned(); slots.len()];
        let mut given = "_".to_owned();
        let places = places(parts, slots, yields)?;
        for ((v, piece), of) in parts.iter().zip(places) {
            let line = self.lines.get(v.0 as usize).cloned().ok_or(Outside::Unreadable)?;
            let scalar = line.scalar.unwrap_or(Scalar::F64);
            let (slot, wanted) = match of {
                // Several yielded results form one array of tuples.
                Of::Yield(_) if yields.len() > 1 => continue,
                Of::Yield(_) => (Some(&mut given), self.wanted(*v, *piece)),
                Of::Slot(k) => {
                    let wanted = match slots.get(k) {
                        Some((Slotted::Every(_), name)) => name.clone(),
                        _ => self.wanted(*v, *piece),
                    };
                    (slot_names.get_mut(k), wanted)
                }
            };
            let Some(slot) = slot else { continue };
            let known = (*slot != "_").then(|| Name::from(slot.as_str()));
            let name = known.unwrap_or_else(|| self.taken.fresh(&wanted));
            *slot = name.to_string();
            self.name_let(*v, &name, &line.indices, scalar);
            self.written.push((name, *v));
        }
        if yields.len() > 1 {
            let name = self.taken.fresh("states");
            given = name.to_string();
            let mut types = Vec::new();
            let mut trips = Poly::default();
            for v in yields {
                let line = self.lines.get(v.0 as usize).cloned().ok_or(Outside::Unreadable)?;
                trips = line.indices.first().map(|i| i.extent.clone()).unwrap_or_default();
                let own = line.extents().into_iter().skip(1);
                types.push(
                    CoreType::Scalar(line.scalar.unwrap_or(Scalar::F64)).array(own.collect::<Vec<_>>().into_iter()),
                );
            }
            let base = Base { name: name.clone(), ty: CoreType::tuple(types).array(std::iter::once(trips)) };
            for (k, v) in (0..).zip(yields) {
                self.named.insert(*v, Named::Let(base.clone(), vec![k]));
                self.written.push((name.clone(), *v));
            }
        }
        let pattern = match (slots.is_empty(), yields.is_empty()) {
            (false, true) => tuple(&slot_names),
            (true, _) => given,
            _ => format!("({}, {given})", tuple(&slot_names)),
        };
        Ok(vec![format!("let {pattern} = {text}")])
    }

    /// Binds the results by paths into one name, for a loop with batch indices or a predicate.
    pub(super) fn paths(
        &mut self,
        of: &Looped,
        parts: &[(Var, Piece)],
        (slots, yields): &Made,
        text: &str,
    ) -> Result<Vec<String>, Outside> {
        let name = self.taken.fresh("each");
        let places = places(parts, slots, yields)?;
        // The types of results that are not read do not matter.
        let mut slot_types = vec![CoreType::Scalar(Scalar::F64); slots.len()];
        let mut yield_types = vec![CoreType::Scalar(Scalar::F64); yields.len()];
        let batch = of.batch.len();
        for ((v, _), at) in parts.iter().zip(&places) {
            let line = self.lines.get(v.0 as usize).cloned().ok_or(Outside::Unreadable)?;
            let own = line.indices.iter().skip(batch).map(|i| i.extent.clone());
            let ty = CoreType::Scalar(line.scalar.unwrap_or(Scalar::F64));
            match at {
                Of::Slot(k) => slot_types.get_mut(*k).into_iter().for_each(|t| *t = ty.clone().array(own.clone())),
                // The axis of the iterations is outside the tuple.
                Of::Yield(k) => {
                    yield_types.get_mut(*k).into_iter().for_each(|t| *t = ty.clone().array(own.clone().skip(1)));
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
        let given = tuple_type(yield_types).array(std::iter::once(trips));
        let both = !slots.is_empty() && !yields.is_empty();
        let ty = match (slots.is_empty(), yields.is_empty()) {
            (_, true) => carry,
            (true, _) => given,
            _ => CoreType::tuple(vec![carry, given]),
        };
        let base = Base { name: name.clone(), ty: ty.array(extents.into_iter()) };
        for ((v, _), at) in parts.iter().zip(&places) {
            let number = |k: &usize| u32::try_from(*k).unwrap_or(u32::MAX);
            let path: Vec<u32> = match at {
                Of::Slot(k) => both.then_some(0).into_iter().chain(several.then(|| number(k))).collect(),
                Of::Yield(k) => both.then_some(1).into_iter().chain(many.then(|| number(k))).collect(),
            };
            self.named.insert(*v, Named::Let(base.clone(), path));
            self.written.push((name.clone(), *v));
        }
        Ok(vec![format!("let {name} = {text}")])
    }

    /// Binds the results of a `while` loop, whose trip count only the run determines.
    pub(super) fn open_parts(
        &mut self,
        parts: &[(Var, Piece)],
        slots: &[(Slotted, Name)],
        text: &str,
    ) -> Result<Vec<String>, Outside> {
        let count = self.taken.index(Some(&"k".into()));
        let states = self.taken.fresh("states");
        let index = self.table.index(Poly::default());
        self.scope.push((index.local, count.clone()));
        let mut lets = vec![format!("let [{count}] {states} = {text}")];
        for (v, piece) in parts.iter().filter(|(_, piece)| *piece == Piece::Trips) {
            let _ = piece;
            if let Some(line) = self.lines.get_mut(v.0 as usize) {
                line.is = Is::Element(Ex::Index(index.value().plus(-1)));
            }
        }
        for (v, piece) in parts {
            // The next value of a carried line is in the following state.
            let after =
                |w: Var| slots.iter().position(|(s, _)| matches!(s, Slotted::Line(c) if self.next_of(*c) == Some(w)));
            let own = |w: Var| slots.iter().position(|(s, _)| *s == Slotted::Line(w) || *s == Slotted::Every(*v));
            let at = match piece {
                Piece::Last(w) => own(*w).map(|k| (k, false)),
                Piece::Every(w) => match own(*w) {
                    Some(k) => Some((k, matches!(slots.get(k), Some((Slotted::Every(_), _))))),
                    None => after(*w).map(|k| (k, true)),
                },
                Piece::Trips => continue,
            };
            let (k, later) = at.ok_or(Outside::Unreadable)?;
            let path = if slots.len() > 1 { format!(".{k}") } else { String::new() };
            let line = self.lines.get(v.0 as usize).cloned().ok_or(Outside::Unreadable)?;
            let wanted = self.wanted(*v, *piece);
            let name = self.taken.fresh(&wanted);
            let i = self.taken.index(None);
            lets.push(match piece {
                Piece::Last(_) => format!("let {name} = {states}[{count} - 1]{path}"),
                Piece::Every(_) => {
                    let later = if later { " + 1" } else { "" };
                    format!("let {name} = for {i} < {count} - 1: {states}[{i}{later}]{path}")
                }
                Piece::Trips => continue,
            });
            self.taken.release(&i);
            self.name_let(*v, &name, &line.indices, line.scalar.unwrap_or(Scalar::F64));
            self.written.push((name, *v));
        }
        Ok(lets)
    }
}

/// Returns the component that holds each result.
fn places(parts: &[(Var, Piece)], slots: &[(Slotted, Name)], yields: &[Var]) -> Result<Vec<Of>, Outside> {
    let slot = |of: Slotted| slots.iter().position(|s| s.0 == of);
    let place = |(v, piece): &(Var, Piece)| match piece {
        Piece::Last(w) => slot(Slotted::Line(*w)).map(Of::Slot),
        Piece::Every(w) => {
            let yielded = yields.iter().position(|y| y == v).map(Of::Yield);
            yielded.or_else(|| slot(Slotted::Every(*v)).or_else(|| slot(Slotted::Line(*w))).map(Of::Slot))
        }
        Piece::Trips => Some(Of::Yield(usize::MAX)),
    };
    parts.iter().map(|part| place(part).ok_or(Outside::Unreadable)).collect()
}
