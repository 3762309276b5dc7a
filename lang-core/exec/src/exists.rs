//! **Existentials.** Evaluation of `any j < m: i == k[j]` for one `i` after another would test
//! every pair. After as many tests as there are `i`, one pass over the bound variables marks the
//! `i` for which it holds in a table. Later evaluations read the table.

use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicBool, Ordering};

use super::number::{Missing, Num, Test};
use lang_runtime::Around;
use lang_runtime::memory::{Charge, Memory};

/// Of what is bound it is asked whether the run is to end once in so many steps.
const OFTEN: i64 = 1024;

/// An existential.
pub(super) struct Exists<'a> {
    /// The slots with their extents, outermost first.
    bound: Vec<(usize, Num)>,
    body: Test<'a>,
    told: Option<Told<'a>>,
    /// How often the body was asked.
    tests: Cell<usize>,
    /// Where it holds; none where that cannot be told in one pass.
    marks: OnceCell<Option<Marks>>,
    interrupt: &'a AtomicBool,
}

struct Marks {
    holds: Vec<bool>,
    /// A tuple reads outside: elsewhere it is not false.
    outside: bool,
}

/// Indices of the statement which equations of the body tell by what is bound alone.
struct Told<'a> {
    /// The indices, each with its extent and what it is.
    indices: Vec<(usize, usize, Num)>,
    /// What else is asked.
    rest: Vec<Test<'a>>,
    /// The size of the table, which is paid for.
    size: usize,
    _charge: Charge,
}

impl<'a> Exists<'a> {
    /// Creates an existential over a slot with this extent, for a statement whose indices have
    /// these extents.
    pub(super) fn new(slot: usize, extent: Num, body: Test<'a>, extents: &[i64], around: &'a Around<'a>) -> Self {
        let mut bound = vec![(slot, extent)];
        let body = match body {
            Test::Exists(inner, true) => {
                bound.extend(inner.bound.iter().cloned());
                inner.body.clone()
            }
            other => other,
        };
        let told = Told::new(&bound, &body, extents, around.memory);
        let interrupt = around.interrupt;
        Self { bound, body, told, tests: Cell::new(0), marks: OnceCell::new(), interrupt }
    }

    /// Marks the indices that it mentions.
    pub(super) fn mark(&self, found: &mut [bool]) {
        self.bound.iter().for_each(|(_, n)| n.mark(found));
        self.body.mark(found);
    }

    pub(super) fn holds(&self, at: &mut [i64]) -> Result<bool, Missing> {
        if let Some(told) = &self.told {
            if self.marks.get().is_none() && self.tests.get() >= told.size {
                let marks = match self.marks(told, at) {
                    Err(Missing::Interrupted) => return Err(Missing::Interrupted),
                    marks => marks.ok(),
                };
                let _ = self.marks.set(marks);
            }
            if let Some(Some(marks)) = self.marks.get() {
                let mut place = 0;
                for (k, extent, _) in &told.indices {
                    let i = at.get(*k).and_then(|i| usize::try_from(*i).ok()).ok_or(Missing::Broken("an index"))?;
                    place = place * extent + i;
                }
                return match marks.holds.get(place) {
                    Some(true) => Ok(true),
                    Some(false) if marks.outside => Err(Missing::Outside),
                    Some(false) => Ok(false),
                    None => Err(Missing::Broken("an index")),
                };
            }
        }
        let (mut found, mut outside) = (false, false);
        self.each(0, at, &mut |at| {
            self.tests.set(self.tests.get().saturating_add(1));
            match self.body.holds(at) {
                Err(Missing::Outside) => outside = true,
                other => found = other?,
            }
            Ok(found)
        })?;
        if outside && !found { Err(Missing::Outside) } else { Ok(found) }
    }

    /// Visits the tuples from a slot on until `f` says that it is enough.
    fn each(
        &self,
        depth: usize,
        at: &mut [i64],
        f: &mut dyn FnMut(&mut [i64]) -> Result<bool, Missing>,
    ) -> Result<bool, Missing> {
        let Some((slot, extent)) = self.bound.get(depth) else { return f(at) };
        for i in 0..extent.value(at)? {
            if i % OFTEN == 0 && self.interrupt.load(Ordering::Relaxed) {
                return Err(Missing::Interrupted);
            }
            *at.get_mut(*slot).ok_or(Missing::Broken("an index"))? = i;
            if self.each(depth + 1, at, f)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn marks(&self, told: &Told<'a>, at: &mut [i64]) -> Result<Marks, Missing> {
        let mut marks = Marks { holds: vec![false; told.size], outside: false };
        self.each(0, at, &mut |at| {
            match told.place(at) {
                Ok(place) => place.and_then(|k| marks.holds.get_mut(k)).into_iter().for_each(|slot| *slot = true),
                // Of several indices some may be told.
                Err(Missing::Outside) if told.indices.len() == 1 => marks.outside = true,
                Err(why) => return Err(why),
            }
            Ok(false)
        })?;
        Ok(marks)
    }
}

impl<'a> Told<'a> {
    fn new(bound: &[(usize, Num)], body: &Test<'a>, extents: &[i64], memory: &Memory) -> Option<Self> {
        // The slots before are indices, and what existentials around bind.
        let (first, _) = bound.first()?;
        let free = |mark: &dyn Fn(&mut [bool])| -> Vec<usize> {
            let mut found = vec![false; *first];
            mark(&mut found);
            (0..*first).filter(|k| found.get(*k) == Some(&true)).collect()
        };
        if bound.iter().any(|(_, n)| !free(&|found| n.mark(found)).is_empty()) {
            return None;
        }
        let mut rest: Vec<Test<'a>> = match body {
            Test::All(items) => items.to_vec(),
            other => vec![other.clone()],
        };
        let mut indices = Vec::new();
        for k in free(&|found| body.mark(found)) {
            let tells = |p: &Test<'a>| p.tells(k).filter(|n| free(&|found| n.mark(found)).is_empty());
            let (nth, value) = rest.iter().enumerate().find_map(|(nth, p)| Some((nth, tells(p)?)))?;
            rest.remove(nth);
            indices.push((k, usize::try_from(*extents.get(k)?).ok()?, value));
        }
        if indices.is_empty() || rest.iter().any(|p| !free(&|found| p.mark(found)).is_empty()) {
            return None;
        }
        let size = indices.iter().try_fold(1_usize, |size, (_, n, _)| size.checked_mul(*n))?;
        let _charge = memory.charge(size).ok()?;
        Some(Self { indices, rest, size, _charge })
    }

    /// The place in the table that a tuple tells.
    fn place(&self, at: &mut [i64]) -> Result<Option<usize>, Missing> {
        let mut outside = false;
        for test in &self.rest {
            match test.holds(at) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(Missing::Outside) => outside = true,
                Err(why) => return Err(why),
            }
        }
        let mut place = 0;
        for (_, extent, value) in &self.indices {
            let Some(i) = usize::try_from(value.exact(at)?).ok().filter(|i| i < extent) else { return Ok(None) };
            place = place * extent + i;
        }
        // One element of which it is not known would have a mark of its own.
        if outside { Err(Missing::Broken("a tuple outside")) } else { Ok(Some(place)) }
    }
}
