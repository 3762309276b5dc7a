//! **The table of passes** over Tensor SSA, in the order in which [`optimise`] applies them. A pass
//! knows no other pass. Each one may be switched off ([`PassSelection`]): the values stay the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::inline_batched_calls::InlineCallees;
use crate::rewriter::Rewritten;
use crate::{
    arg_reductions, count_existentials, factor_sums, forward_views, hoist_gathers, inline_batched_calls,
    invariant_axes, redundant_guards, scalarise_axes,
};
use lang_base::check_cancelled;
use lang_ir::ssa::{SsaFunction, StmtId};
use lang_ir::verify::{StatementOrder, debug_assert_valid};

/// A pass.
pub struct Pass {
    /// Its name, which is that of its file.
    pub name: &'static str,
    /// Its effect, in one line.
    pub summary: &'static str,
    /// Applies it; `None` if nothing changes.
    run: fn(&SsaFunction, InlineCallees<'_>) -> Option<Rewritten>,
}

const INVARIANT_AXES: Pass = Pass {
    name: "invariant_axes",
    summary: "removes axes along which all elements are equal",
    run: |ssa, _| invariant_axes::run(ssa),
};

/// The passes, in order. One of them occurs twice.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "redundant_guards",
        summary: "removes guards that an empty sum makes redundant",
        run: |ssa, _| redundant_guards::run(ssa),
    },
    INVARIANT_AXES,
    Pass {
        name: "count_existentials",
        summary: "computes existential predicates as counts, once for all readers",
        run: |ssa, _| count_existentials::run(ssa),
    },
    Pass {
        name: "arg_reductions",
        summary: "reads a maximum at the index that an argmax computes",
        run: |ssa, _| arg_reductions::run(ssa),
    },
    Pass {
        name: "factor_sums",
        summary: "moves factors that do not depend on an index out of its sum",
        run: |ssa, _| factor_sums::run(ssa),
    },
    Pass {
        name: "inline_batched_calls",
        summary: "inlines calls that happen once per element",
        run: inline_batched_calls::run,
    },
    // Computes once the values that all calls of a batch share.
    INVARIANT_AXES,
    Pass {
        name: "scalarise_axes",
        summary: "makes a statement of each element of a short axis",
        run: |ssa, _| scalarise_axes::run(ssa),
    },
    Pass {
        name: "hoist_gathers",
        summary: "gathers elements at data-dependent indices once",
        run: |ssa, _| hoist_gathers::run(ssa),
    },
    Pass {
        name: "forward_views",
        summary: "passes the sources of views to loops",
        run: |ssa, _| forward_views::run(ssa),
    },
];

/// The passes that [`optimise`] applies: all of them, except some.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct PassSelection {
    switched_off: BTreeSet<&'static str>,
}

impl PassSelection {
    /// Reads a list of names, separated by commas. `-name` switches a pass off, `name` selects only
    /// the passes that the list names, and `none` selects no pass.
    ///
    /// # Errors
    /// The first name that is no pass.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut selection = Self::default();
        let names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if names.iter().any(|name| !name.starts_with('-')) {
            selection.switched_off = PASSES.iter().map(|pass| pass.name).collect();
        }
        for name in names {
            let plain = name.strip_prefix('-').unwrap_or(name);
            match PASSES.iter().find(|pass| pass.name == plain) {
                Some(pass) if name.starts_with('-') => drop(selection.switched_off.insert(pass.name)),
                Some(pass) => drop(selection.switched_off.remove(pass.name)),
                None if name == "none" => {}
                None => return Err(plain.to_owned()),
            }
        }
        Ok(selection)
    }

    /// Returns the selection without this pass.
    #[must_use]
    pub fn without(mut self, pass: &Pass) -> Self {
        self.switched_off.insert(pass.name);
        self
    }

    /// Whether the pass is applied.
    #[must_use]
    pub fn contains(&self, pass: &Pass) -> bool {
        !self.switched_off.contains(pass.name)
    }
}

/// An optimised function.
#[derive(Clone, Debug)]
pub struct Optimised {
    /// The function.
    pub ssa: Arc<SsaFunction>,
    /// For each statement, the statement of the original function that it implements.
    pub origins: Vec<StmtId>,
    /// The statements that must be complete before the loops of their readers start.
    pub complete_first: BTreeSet<StmtId>,
}

impl Optimised {
    /// Returns a function to which no pass has been applied.
    #[must_use]
    pub fn unchanged(ssa: Arc<SsaFunction>) -> Self {
        let origins = (0..).map(StmtId).take(ssa.stmts.len()).collect();
        Self { ssa, origins, complete_first: BTreeSet::new() }
    }

    /// Applies a pass. Returns whether something changed. Debug builds verify the result.
    pub fn apply(&mut self, pass: &Pass, callees: InlineCallees<'_>) -> bool {
        check_cancelled();
        let Some(Rewritten { ssa, origins, complete_first }) = (pass.run)(&self.ssa, callees) else { return false };
        debug_assert_valid(pass.name, &ssa, StatementOrder::Dominance, callees);
        let before = |v: &StmtId| self.origins.get(v.0 as usize).copied().unwrap_or(*v);
        let kept = (0..).map(StmtId).zip(&origins).filter(|(_, v)| self.complete_first.contains(v)).map(|(new, _)| new);
        *self = Self {
            complete_first: kept.chain(complete_first).collect(),
            origins: origins.iter().map(before).collect(),
            ssa: Arc::new(ssa),
        };
        true
    }
}

/// Applies the selected passes to a function, in the order of the table.
#[must_use]
pub fn optimise(ssa: &Arc<SsaFunction>, selection: &PassSelection, callees: InlineCallees<'_>) -> Optimised {
    let mut optimised = Optimised::unchanged(Arc::clone(ssa));
    for pass in PASSES.iter().filter(|pass| selection.contains(pass)) {
        optimised.apply(pass, callees);
    }
    optimised
}
