//! **Existentials.** Evaluation of `any j < m: i == k[j]` for one `i` after another would test
//! every pair. After as many tests as there are `i`, one pass over the bound variables marks the
//! `i` for which it holds in a table. Later evaluations read the table.

use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicBool, Ordering};

use super::affine::{IndexError, IndexExpr, Test};
use lang_runtime::RunContext;
use lang_runtime::memory::{MemoryAccount, MemoryCharge};

/// Of what is bound it is asked whether the run is to end once in so many steps.
const POLL_INTERVAL: i64 = 1024;

/// An existential.
pub(super) struct Existential<'a> {
    /// The slots with their extents, outermost first.
    bound: Vec<(usize, IndexExpr)>,
    body: Test<'a>,
    table_form: Option<TableForm<'a>>,
    /// How often the body was asked.
    test_count: Cell<usize>,
    /// Where it holds; none where that cannot be told in one pass.
    table: OnceCell<Option<TruthTable>>,
    interrupt: &'a AtomicBool,
}

struct TruthTable {
    holds: Vec<bool>,
    /// A tuple reads outside: elsewhere it is not false.
    has_undefined: bool,
}

/// Indices of the statement which equations of the body tell by what is bound alone.
struct TableForm<'a> {
    /// The indices, each with its extent and what it is.
    indices: Vec<(usize, usize, IndexExpr)>,
    /// What else is asked.
    other_conjuncts: Vec<Test<'a>>,
    /// The size of the table, which is paid for.
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
        let told = TableForm::new(&bound, &body, extents, around.memory);
        let interrupt = around.interrupt;
        Self { bound, body, table_form: told, test_count: Cell::new(0), table: OnceCell::new(), interrupt }
    }

    /// Marks the indices that it mentions.
    pub(super) fn mark(&self, found: &mut [bool]) {
        self.bound.iter().for_each(|(_, n)| n.mark(found));
        self.body.mark(found);
    }

    pub(super) fn holds(&self, at: &mut [i64]) -> Result<bool, IndexError> {
        if let Some(told) = &self.table_form {
            if self.table.get().is_none() && self.test_count.get() >= told.entries {
                let marks = match self.build_table(told, at) {
                    Err(IndexError::Interrupted) => return Err(IndexError::Interrupted),
                    marks => marks.ok(),
                };
                let _ = self.table.set(marks);
            }
            if let Some(Some(marks)) = self.table.get() {
                let mut place = 0;
                for (k, extent, _) in &told.indices {
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

    /// Visits the tuples from a slot on until `f` says that it is enough.
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

    fn build_table(&self, told: &TableForm<'a>, at: &mut [i64]) -> Result<TruthTable, IndexError> {
        let mut marks = TruthTable { holds: vec![false; told.entries], has_undefined: false };
        self.for_each_tuple(0, at, &mut |at| {
            match told.entry_of(at) {
                Ok(place) => place.and_then(|k| marks.holds.get_mut(k)).into_iter().for_each(|slot| *slot = true),
                // Of several indices some may be told.
                Err(IndexError::OutOfBounds) if told.indices.len() == 1 => marks.has_undefined = true,
                Err(why) => return Err(why),
            }
            Ok(false)
        })?;
        Ok(marks)
    }
}

impl<'a> TableForm<'a> {
    fn new(bound: &[(usize, IndexExpr)], body: &Test<'a>, extents: &[i64], memory: &MemoryAccount) -> Option<Self> {
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

    /// The place in the table that a tuple tells.
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
        // One element of which it is not known would have a mark of its own.
        if outside { Err(IndexError::Internal("a tuple out of bounds")) } else { Ok(Some(place)) }
    }
}
