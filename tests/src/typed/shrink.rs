//! **Shrinking.** Makes a program that breaks a law smaller: removes items, and replaces
//! expressions with subexpressions of the same type, as long as the same law breaks.

use std::time::{Duration, Instant};

use lang_core::session::Session;
use lang_core::syntax::split::split;
use lang_core::types::ty::{Scalar, Type};

use crate::run::MAIN;

/// The greatest number of candidates.
const TRIES: usize = 1_500;
/// The greatest duration, because a shrunk program may run for long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the smallest program found that breaks the same law.
pub(crate) fn shrink(text: &str, breaks: &mut dyn FnMut(&str) -> bool) -> String {
    let mut best = text.to_owned();
    let mut tries = 0;
    let begun = Instant::now();
    loop {
        let mut smaller = None;
        for candidate in candidates(&best) {
            tries += 1;
            if tries > TRIES || begun.elapsed() > PATIENCE {
                return best;
            }
            if candidate.len() < best.len() && breaks(&candidate) {
                smaller = Some(candidate);
                break;
            }
        }
        match smaller {
            Some(candidate) => best = candidate,
            None => return best,
        }
    }
}

/// Returns smaller programs, the smallest first.
fn candidates(text: &str) -> Vec<String> {
    let items = split(text);
    let mut all: Vec<String> = (0..items.len())
        .map(|gone| {
            let kept = items.iter().enumerate().filter(|(k, _)| *k != gone).map(|(_, i)| i.text.trim_end().to_owned());
            kept.collect::<Vec<_>>().join("\n") + "\n"
        })
        .collect();
    let mut session = Session::new();
    session.set_text(MAIN, text);
    for item in session.items(MAIN) {
        let Some(checked) = session.checked_item(&item) else { continue };
        let nodes: Vec<_> = checked.body.nodes.iter().map(|(_, n)| (n.span.shift(item.start).range(), &n.ty)).collect();
        for (outer, ty) in &nodes {
            let mut put = |new: &str| {
                if new.len() < outer.len() {
                    let (before, after) = (text.get(..outer.start), text.get(outer.end..));
                    all.push(format!("{}{new}{}", before.unwrap_or_default(), after.unwrap_or_default()));
                }
            };
            match ty {
                Type::Scalar(Scalar::F64) => put("1.0"),
                Type::Scalar(Scalar::F32) => put("f32(1.0)"),
                Type::Scalar(Scalar::I64) => put("0"),
                Type::Scalar(Scalar::Bool) => put("true"),
                _ => {}
            }
            for (inner, inner_ty) in &nodes {
                let inside = outer.start <= inner.start && inner.end <= outer.end && inner.len() < outer.len();
                if inside && inner_ty == ty {
                    put(&format!("({})", text.get(inner.clone()).unwrap_or_default()));
                }
            }
        }
    }
    all.sort_by_key(String::len);
    all.dedup();
    all
}
