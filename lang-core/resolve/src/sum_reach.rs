//! **Sum-reach warning** (W0313). The body of a `sum` extends as far right as possible, so
//! `sum k: x[k] + b` adds `b` once for every `k`.
//!
//! The pass checks a body that is a chain. It warns about the first added or subtracted term after
//! the first that is a name or an element and mentions no index of its sum. It warns only if the
//! first term mentions an index. A bare name as the first term, as in `i + k`, does not count,
//! because that is index arithmetic. Numbers and calls do not count either, because they often
//! belong to every term, as in a log density. Parentheses around the body suppress the warning.

use std::collections::HashMap;

use super::pass::Resolver;
use lang_base::{Code, Diagnostic};
use lang_sizes::predicate::LocalId;
use lang_syntax::ast::{Expr, ExprId, IndexVar, Tree};
use lang_syntax::ops::BinOp;

/// The time of the last mention of each local.
#[derive(Default)]
pub(super) struct MentionClock {
    last_mention: HashMap<LocalId, u64>,
    now: u64,
}

impl MentionClock {
    pub(super) fn record_mention(&mut self, local: LocalId) {
        self.now += 1;
        self.last_mention.insert(local, self.now);
    }

    fn is_mentioned_since(&self, local: LocalId, time: u64) -> bool {
        self.last_mention.get(&local).is_some_and(|last| *last > time)
    }
}

impl<'a> Resolver<'a> {
    /// Resolves the body of a `sum` over these indices.
    pub(super) fn resolve_sum_body(&mut self, vars: &[IndexVar], body: ExprId) {
        let tree: &'a Tree = self.tree;
        let Expr::Chain { first, rest } = &tree.exprs[body].kind else { return self.resolve_expr(body) };
        let own: Vec<LocalId> = vars.iter().filter_map(|v| self.out.decls.get(&v.name.span).copied()).collect();
        let start = self.mention_clock.now;
        self.resolve_expr(*first);
        let index_alone = matches!(tree.exprs[*first].kind, Expr::Name(_));
        let mut follows = !index_alone && own.iter().any(|v| self.mention_clock.is_mentioned_since(*v, start));
        for (op, _, term) in rest {
            let before = self.mention_clock.now;
            self.resolve_expr(*term);
            let element = matches!(tree.exprs[*term].kind, Expr::Name(_) | Expr::Index(..));
            if follows && element && !own.iter().any(|v| self.mention_clock.is_mentioned_since(*v, before)) {
                self.warn_sum_reach(vars, *op, *term);
                follows = false;
            }
        }
    }

    fn warn_sum_reach(&mut self, vars: &[IndexVar], op: BinOp, term: ExprId) {
        let (done, sign) = match op {
            BinOp::Add => ("added", "+"),
            BinOp::Sub => ("subtracted", "-"),
            _ => return,
        };
        let (Some(first), Some(last)) = (vars.first(), vars.last()) else { return };
        let names: Vec<&str> = vars.iter().map(|v| v.name.name.as_str()).collect();
        let names = names.join(", ");
        let message = format!("this is {done} once for every `{names}`");
        let help = format!(
            "to do it once, close the sum before it: `(sum {names}: …) {sign} …`; to keep it in every term, put the body in parentheses"
        );
        let d = Diagnostic::new(Code::W0313, self.tree.exprs[term].span, message)
            .related(first.name.span.to(last.name.span), "the body of this sum extends as far right as possible")
            .help(help);
        self.out.diagnostics.push(d);
    }
}
