//! The closest match for an unknown name ("did you mean …?").

/// Returns the candidate closest to `wrong`, or `None` if none is similar enough.
pub(crate) fn closest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |c: &&str| {
        strsim::jaro_winkler(wrong, c) > 0.8 || strsim::damerau_levenshtein(wrong, c) <= c.len().max(wrong.len()) / 3
    };
    let candidates = candidates.into_iter().filter(near);
    candidates.max_by(|a, b| strsim::jaro_winkler(wrong, a).total_cmp(&strsim::jaro_winkler(wrong, b)))
}
