//! **Grouping of cases.** Entries are computed for each combination of constructors of the values
//! of sum types. Cases with equal entries are shown once, with all their combinations.

use std::collections::BTreeSet;

use super::NotShownReason;
use super::cases::MAX_BODIES;
use super::entries::{DerivativeEntry, Entries};

/// The entries of one case.
pub(super) struct CaseEntries {
    pub(super) entries: Entries,
    /// The constructors of the parameters that have several, as text: `s is Circle(r)`.
    pub(super) conditions: Vec<String>,
    /// The same texts without the names that the patterns bind.
    pub(super) unnamed_conditions: Vec<String>,
}

impl CaseEntries {
    /// Returns the entries, and the texts that bind names in them.
    fn equality_key(&self) -> (&[String], &[DerivativeEntry], Vec<&String>) {
        let binding = self.conditions.iter().zip(&self.unnamed_conditions).filter(|(words, ways)| words != ways);
        (&self.entries.lets, &self.entries.entries, binding.map(|(words, _)| words).collect())
    }

    fn binds_names(&self) -> bool {
        self.conditions != self.unnamed_conditions
    }
}

/// Returns whether too many distinct cases have entries, so that none is shown.
pub(super) fn has_too_many_cases(all: &[CaseEntries]) -> bool {
    groups_of_equal_cases(all).iter().filter(|group| group.iter().any(|of| !of.entries.entries.is_empty())).count()
        > MAX_BODIES
}

fn groups_of_equal_cases(all: &[CaseEntries]) -> Vec<Vec<&CaseEntries>> {
    let mut groups: Vec<Vec<&CaseEntries>> = Vec::new();
    for of in all {
        match groups
            .iter_mut()
            .find(|group| group.first().is_some_and(|first| first.equality_key() == of.equality_key()))
        {
            Some(group) => group.push(of),
            None => groups.push(vec![of]),
        }
    }
    groups
}

/// Groups the cases with equal entries. Cases whose entries are all zero are omitted.
pub(super) fn group_equal_cases(all: &[CaseEntries]) -> Result<Vec<Entries>, NotShownReason> {
    let mut groups = groups_of_equal_cases(all);
    if let [group] = groups.as_slice()
        && let Some(first) = group.first().filter(|of| !of.binds_names())
    {
        return Ok(vec![first.entries.clone()]);
    }
    let before = groups.len();
    groups.retain(|group| group.iter().any(|of| !of.entries.entries.is_empty()));
    if groups.len() > MAX_BODIES {
        return Err(NotShownReason::TooManyParts);
    }
    // The largest group of several cases is called `elsewhere`, if no group is omitted and its
    // entries use no name that a pattern binds.
    let size = |k: &usize| {
        groups.get(*k).filter(|group| group.first().is_some_and(|of| !of.binds_names())).map_or(0, Vec::len)
    };
    let most = (0..groups.len()).rev().max_by_key(size).filter(|k| groups.len() == before && size(k) > 1);
    let (mut grouped, mut rest) = (Vec::new(), None);
    for (k, group) in groups.iter().enumerate() {
        let Some(of) = group.first() else { continue };
        if Some(k) == most {
            rest = Some(Entries { case: Some("elsewhere".to_owned()), ..of.entries.clone() });
        } else {
            grouped
                .push(Entries { case: Some(format!("where {}", join_conditions(group, all))), ..of.entries.clone() });
        }
    }
    grouped.extend(rest);
    Ok(grouped)
}

/// The way of a parameter and its text; `None` if every way is possible.
type ConditionChoice<'o> = Option<(&'o String, &'o String)>;

/// Formats the ways of a group. A parameter for which every way occurs is omitted.
fn join_conditions(group: &[&CaseEntries], all: &[CaseEntries]) -> String {
    let mut rows: Vec<Vec<ConditionChoice<'_>>> =
        group.iter().map(|of| of.unnamed_conditions.iter().zip(&of.conditions).map(Some).collect()).collect();
    for k in 0..rows.first().map_or(0, Vec::len) {
        let every: BTreeSet<&String> = all.iter().filter_map(|of| of.unnamed_conditions.get(k)).collect();
        let others = |row: &[ConditionChoice<'_>]| {
            let ways = row.iter().enumerate().filter(|(j, _)| *j != k);
            ways.map(|(_, way)| way.map(|(way, _)| way.clone())).collect::<Vec<_>>()
        };
        let mut kept: Vec<Vec<ConditionChoice<'_>>> = Vec::new();
        for row in &rows {
            let same = rows.iter().filter(|other| others(other) == others(row));
            let ways = same.filter_map(|other| other.get(k).copied().flatten()).filter(|(way, words)| way == words);
            let some: BTreeSet<&String> = ways.map(|(way, _)| way).collect();
            let mut row = row.clone();
            if some == every {
                row.iter_mut().skip(k).take(1).for_each(|way| *way = None);
            }
            if !kept.contains(&row) {
                kept.push(row);
            }
        }
        rows = kept;
    }
    let row = |row: &Vec<ConditionChoice<'_>>| {
        row.iter().flatten().map(|(_, words)| words.as_str()).collect::<Vec<_>>().join(", ")
    };
    rows.iter().map(row).collect::<Vec<_>>().join(" or ")
}
