//! **Prose statistics.** Counts the words and sentences of all comments and documentation that the
//! house rule is about. `cargo xtask prose` prints them per 10,000 words for each room of the
//! repository.
//!
//! `tidy` calls [`findings`] for the same rule, and compares the number of each file with its
//! budget.

mod extract;
mod rule;

use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(crate) use extract::{Paragraph, paragraphs, rust_tokens};
pub(crate) use rule::{ProseCounts, ProseFinding, count_paragraph, findings_of};

use crate::tidy::RepositoryFile;

/// The sentences and lines of a file that break the rule, in order.
pub(crate) fn findings(file: &RepositoryFile) -> Vec<ProseFinding> {
    paragraphs(file).iter().flat_map(findings_of).collect()
}

/// The table of all rooms, and the sum as its last row.
pub(crate) fn statistics_table(files: &[RepositoryFile]) -> String {
    let mut rooms: BTreeMap<&str, ProseCounts> = BTreeMap::new();
    let mut all = ProseCounts::default();
    for file in files {
        let counts: ProseCounts = paragraphs(file).iter().map(count_paragraph).sum();
        all = all + counts;
        let room = rooms.entry(room_of(&file.path)).or_default();
        *room = *room + counts;
    }
    let mut table = String::from("| room | words | what | passive | because | must | opens with What | long |\n");
    table.push_str("|---|---|---|---|---|---|---|---|\n");
    for (room, counts) in rooms.into_iter().chain([("all", all)]).filter(|(_, counts)| counts.words > 0) {
        let _ = writeln!(table, "| {room} | {counts} |");
    }
    table
}

/// The room of a file: its crate.
fn room_of(path: &str) -> &str {
    let in_core = path.strip_prefix("lang-core/").is_some_and(|rest| !rest.starts_with("src/"));
    let Some((at, _)) = path.match_indices('/').nth(usize::from(in_core)) else {
        return path.rsplit_once('/').map_or(path, |(folder, _)| folder);
    };
    path.get(..at).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_crates() {
        assert_eq!(room_of("lang-core/ir/src/ssa.rs"), "lang-core/ir");
        assert_eq!(room_of("lang-core/src/lib.rs"), "lang-core");
        assert_eq!(room_of("lang-lsp/src/features/tokens.rs"), "lang-lsp");
        assert_eq!(room_of("README.md"), "README.md");
    }

    #[test]
    fn the_table_has_a_row_for_each_room_and_the_sum() {
        let text = "//! What it does must be known.\n//! The pass runs, because it is asked.\n";
        let file = |path: &str| RepositoryFile { path: path.into(), text: text.into() };
        let rows: Vec<String> =
            statistics_table(&[file("a/x.rs"), file("b/y.rs")]).lines().skip(2).map(String::from).collect();
        let same = "| 13 | 769.2 | 769.2 | 769.2 | 769.2 | 50.00 % | 0.00 % |";
        let both = same.replace("13", "26");
        assert_eq!(rows, [format!("| a {same}"), format!("| b {same}"), format!("| all {both}")]);
    }
}
