//! **Existentials.** Evaluating `any j < m: i == k[j]` for each `i` separately tests every pair.
//! After as many tests as there are `i`, one pass over the bound variables marks in a table every
//! `i` for which it holds. Later evaluations read the table.

use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicBool, Ordering};

use super::affine::{IndexError, IndexExpr, Test};
use lang_runtime::RunContext;
use lang_runtime::memory::{MemoryAccount, MemoryCharge};

/// The number of values of a bound variable between two polls of the interrupt flag.
const POLL_INTERVAL: i64 = 1024;

/// An existential over one or several variables.
pub(super) struct Existential<'a> {
    /// The slots with their extents, outermost first.
    bound: Vec<(usize, IndexExpr)>,
    body: Test<'a>,
    /// The form that a table requires, if the body has it.
    table_form: Option<TableForm<'a>>,
    /// The number of evaluations of the body so far.
    test_count: Cell<usize>,
    /// The table, once a pass has run; the inner `None` if the pass could not determine it.
    table: OnceCell<Option<TruthTable>>,
    interrupt: &'a AtomicBool,
}

/// A table of the truth of an existential.
struct TruthTable {
    holds: Vec<bool>,
    /// Whether a tuple reads out of bounds. An entry without a mark is then undefined, not false.
    has_undefined: bool,
}

/// A body whose equations determine indices of the statement from the bound variables alone.
struct TableForm<'a> {
    /// The determined indices, each with its extent and its value.
    indices: Vec<(usize, usize, IndexExpr)>,
    /// The other conjuncts of the body.
    other_conjuncts: Vec<Test<'a>>,
    /// The number of entries of the table, which the run is charged for.
    entries: usize,
    _charge: MemoryCharge,
}

impl<'a> Existential<'a> {
    /// Creates an existential over a slot with this extent, for a statement whose indices have
    /// these extents.
    pub(super) fn new(
        slot: usize,
        extent: IndexExpr,
        body: Test<'a>,
        extents: &[i64],
        around: &'a RunContext<'a>,
    ) -> Self {
        let mut bound = vec![(slot, extent)];
        let body = match body {
            Test::Exists(inner, true) => {
                bound.extend(inner.bound.iter().cloned());
                inner.body.clone()
            }
            other => other,
        };
        let table_form = TableForm::new(&bound, &body, extents, around.memory);
        let interrupt = around.interrupt;
        Self { bound, body, table_form, test_count: Cell::new(0), table: OnceCell::new(), interrupt }
    }

    /// Marks the indices that it mentions.
    pub(super) fn mark(&self, found: &mut [bool]) {
        self.bound.iter().for_each(|(_, n)| n.mark(found));
        self.body.mark(found);
    }

    /// Evaluates the existential, by the table if it exists or is due.
    pub(super) fn holds(&self, at: &mut [i64]) -> Result<bool, IndexError> {
        if let Some(form) = &self.table_form {
            if self.table.get().is_none() && self.test_count.get() >= form.entries {
                let marks = match self.build_table(form, at) {
                    Err(IndexError::Interrupted) => return Err(IndexError::Interrupted),
                    marks => marks.ok(),
                };
                let _ = self.table.set(marks);
            }
            if let Some(Some(marks)) = self.table.get() {
                let mut place = 0;
                for (k, extent, _) in &form.indices {
                    let i =
                        at.get(*k).and_then(|i| usize::try_from(*i).ok()).ok_or(IndexError::Internal("an index"))?;
                    place = place * extent + i;
                }
                return match marks.holds.get(place) {
                    Some(true) => Ok(true),
                    Some(false) if marks.has_undefined => Err(IndexError::OutOfBounds),
                    Some(false) => Ok(false),
                    None => Err(IndexError::Internal("an index")),
                };
            }
        }
        let (mut found, mut outside) = (false, false);
        self.for_each_tuple(0, at, &mut |at| {
            self.test_count.set(self.test_count.get().saturating_add(1));
            match self.body.holds(at) {
                Err(IndexError::OutOfBounds) => outside = true,
                other => found = other?,
            }
            Ok(found)
        })?;
        if outside && !found { Err(IndexError::OutOfBounds) } else { Ok(found) }
    }

    /// Visits the tuples from a slot on, until `f` returns true.
    fn for_each_tuple(
        &self,
        depth: usize,
        at: &mut [i64],
        f: &mut dyn FnMut(&mut [i64]) -> Result<bool, IndexError>,
    ) -> Result<bool, IndexError> {
        let Some((slot, extent)) = self.bound.get(depth) else { return f(at) };
        for i in 0..extent.value(at)? {
            if i % POLL_INTERVAL == 0 && self.interrupt.load(Ordering::Relaxed) {
                return Err(IndexError::Interrupted);
            }
            *at.get_mut(*slot).ok_or(IndexError::Internal("an index"))? = i;
            if self.for_each_tuple(depth + 1, at, f)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Builds the table.
    fn build_table(&self, form: &TableForm<'a>, at: &mut [i64]) -> Result<TruthTable, IndexError> {
        let mut marks = TruthTable { holds: vec![false; form.entries], has_undefined: false };
        self.for_each_tuple(0, at, &mut |at| {
            match form.entry_of(at) {
                Ok(place) => place.and_then(|k| marks.holds.get_mut(k)).into_iter().for_each(|slot| *slot = true),
                // With several indices, another equation may still refute the tuple, so the pass
                // fails.
                Err(IndexError::OutOfBounds) if form.indices.len() == 1 => marks.has_undefined = true,
                Err(why) => return Err(why),
            }
            Ok(false)
        })?;
        Ok(marks)
    }
}

impl<'a> TableForm<'a> {
    fn new(bound: &[(usize, IndexExpr)], body: &Test<'a>, extents: &[i64], memory: &MemoryAccount) -> Option<Self> {
        // The earlier slots belong to the statement's indices and to enclosing existentials.
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
            Test::And(items) => items.to_vec(),
            other => vec![other.clone()],
        };
        let mut indices = Vec::new();
        for k in free(&|found| body.mark(found)) {
            let tells = |p: &Test<'a>| p.solve_for(k).filter(|n| free(&|found| n.mark(found)).is_empty());
            let (nth, value) = rest.iter().enumerate().find_map(|(nth, p)| Some((nth, tells(p)?)))?;
            rest.remove(nth);
            indices.push((k, usize::try_from(*extents.get(k)?).ok()?, value));
        }
        if indices.is_empty() || rest.iter().any(|p| !free(&|found| p.mark(found)).is_empty()) {
            return None;
        }
        let size = indices.iter().try_fold(1_usize, |size, (_, n, _)| size.checked_mul(*n))?;
        let _charge = memory.charge(size).ok()?;
        Some(Self { indices, other_conjuncts: rest, entries: size, _charge })
    }

    /// Returns the entry of the table that a tuple of bound variables marks, if any.
    fn entry_of(&self, at: &mut [i64]) -> Result<Option<usize>, IndexError> {
        let mut outside = false;
        for test in &self.other_conjuncts {
            match test.holds(at) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(IndexError::OutOfBounds) => outside = true,
                Err(why) => return Err(why),
            }
        }
        let mut place = 0;
        for (_, extent, value) in &self.indices {
            let Some(i) = usize::try_from(value.exact_value(at)?).ok().filter(|i| i < extent) else { return Ok(None) };
            place = place * extent + i;
        }
        // The table has no mark for a single undefined entry.
        if outside { Err(IndexError::Internal("a tuple out of bounds")) } else { Ok(Some(place)) }
    }
}
