//! **Grouping of cases.** Entries are computed for each combination of constructors of the values
//! of sum types. Cases with equal entries are shown once, with all their combinations.

use std::collections::BTreeSet;

use super::Unshown;
use super::cases::MOST;
use super::entries::{Entries, Told};

/// The entries of one case.
pub(super) struct Of {
    pub(super) entries: Entries,
    /// The constructors of the parameters that have several, as text: `s is Circle(r)`.
    pub(super) words: Vec<String>,
    /// The same texts without the names that the patterns bind.
    pub(super) ways: Vec<String>,
}

impl Of {
    /// Returns the entries, and the texts that bind names in them.
    fn content(&self) -> (&[String], &[Told], Vec<&String>) {
        let binding = self.words.iter().zip(&self.ways).filter(|(words, ways)| words != ways);
        (&self.entries.lets, &self.entries.all, binding.map(|(words, _)| words).collect())
    }

    fn binds(&self) -> bool {
        self.words != self.ways
    }
}

/// Returns whether too many distinct cases have entries, so that none is shown.
pub(super) fn too_many(all: &[Of]) -> bool {
    groups(all).iter().filter(|group| group.iter().any(|of| !of.entries.all.is_empty())).count() > MOST
}

fn groups(all: &[Of]) -> Vec<Vec<&Of>> {
    let mut groups: Vec<Vec<&Of>> = Vec::new();
    for of in all {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| first.content() == of.content())) {
            Some(group) => group.push(of),
            None => groups.push(vec![of]),
        }
    }
    groups
}

/// Groups the cases with equal entries. Cases whose entries are all zero are omitted.
pub(super) fn grouped(all: &[Of]) -> Result<Vec<Entries>, Unshown> {
    let mut groups = groups(all);
    if let [group] = groups.as_slice()
        && let Some(first) = group.first().filter(|of| !of.binds())
    {
        return Ok(vec![first.entries.clone()]);
    }
    let before = groups.len();
    groups.retain(|group| group.iter().any(|of| !of.entries.all.is_empty()));
    if groups.len() > MOST {
        return Err(Unshown::Several);
    }
    // The largest group of several cases is called `elsewhere`, if no group is omitted and its
    // entries use no name that a pattern binds.
    let size =
        |k: &usize| groups.get(*k).filter(|group| group.first().is_some_and(|of| !of.binds())).map_or(0, Vec::len);
    let most = (0..groups.len()).rev().max_by_key(size).filter(|k| groups.len() == before && size(k) > 1);
    let (mut told, mut rest) = (Vec::new(), None);
    for (k, group) in groups.iter().enumerate() {
        let Some(of) = group.first() else { continue };
        if Some(k) == most {
            rest = Some(Entries { case: Some("elsewhere".to_owned()), ..of.entries.clone() });
        } else {
            told.push(Entries { case: Some(format!("where {}", joined(group, all))), ..of.entries.clone() });
        }
    }
    told.extend(rest);
    Ok(told)
}

/// The way of a parameter and its text; `None` if every way is possible.
type Choice<'o> = Option<(&'o String, &'o String)>;

/// Formats the ways of a group. A parameter for which every way occurs is omitted.
fn joined(group: &[&Of], all: &[Of]) -> String {
    let mut rows: Vec<Vec<Choice<'_>>> =
        group.iter().map(|of| of.ways.iter().zip(&of.words).map(Some).collect()).collect();
    for k in 0..rows.first().map_or(0, Vec::len) {
        let every: BTreeSet<&String> = all.iter().filter_map(|of| of.ways.get(k)).collect();
        let others = |row: &[Choice<'_>]| {
            let ways = row.iter().enumerate().filter(|(j, _)| *j != k);
            ways.map(|(_, way)| way.map(|(way, _)| way.clone())).collect::<Vec<_>>()
        };
        let mut kept: Vec<Vec<Choice<'_>>> = Vec::new();
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
    let row =
        |row: &Vec<Choice<'_>>| row.iter().flatten().map(|(_, words)| words.as_str()).collect::<Vec<_>>().join(", ");
    rows.iter().map(row).collect::<Vec<_>>().join(" or ")
}
