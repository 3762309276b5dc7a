//! What the body of a `sum` takes in by reaching as far right as it can: `sum k: x[k] + b` adds `b`
//! once for every `k`.
//!
//! It is told of the first outermost term, after the one that the body begins with, that is a name
//! or an element and mentions no index of its sum, where the body begins with something that does
//! (an index alone, as in `i + k`, is arithmetic of indices). Numbers and calls, as in the logarithm
//! of a density, belong to every term often. Parentheses around the body say that it is meant.

use std::collections::HashMap;

use super::pass::Resolver;
use crate::base::{Code, Diagnostic};
use crate::predicate::LocalId;
use crate::syntax::ast::{Expr, ExprId, IndexVar, Tree};
use crate::syntax::ops::BinOp;

/// When each local was last mentioned.
#[derive(Default)]
pub(super) struct Mentions {
    last: HashMap<LocalId, u64>,
    now: u64,
}

impl Mentions {
    pub(super) fn note(&mut self, local: LocalId) {
        self.now += 1;
        self.last.insert(local, self.now);
    }

    fn since(&self, local: LocalId, time: u64) -> bool {
        self.last.get(&local).is_some_and(|last| *last > time)
    }
}

impl<'a> Resolver<'a> {
    /// Resolves the body of a `sum` over these indices.
    pub(super) fn sum_body(&mut self, vars: &[IndexVar], body: ExprId) {
        let tree: &'a Tree = self.tree;
        let Expr::Chain { first, rest } = &tree.exprs[body].kind else { return self.expr(body) };
        let own: Vec<LocalId> = vars.iter().filter_map(|v| self.out.decls.get(&v.name.span).copied()).collect();
        let start = self.mentions.now;
        self.expr(*first);
        let index_alone = matches!(tree.exprs[*first].kind, Expr::Name(_));
        let mut follows = !index_alone && own.iter().any(|v| self.mentions.since(*v, start));
        for (op, _, term) in rest {
            let before = self.mentions.now;
            self.expr(*term);
            let element = matches!(tree.exprs[*term].kind, Expr::Name(_) | Expr::Index(..));
            if follows && element && !own.iter().any(|v| self.mentions.since(*v, before)) {
                self.warn_reach(vars, *op, *term);
                follows = false;
            }
        }
    }

    fn warn_reach(&mut self, vars: &[IndexVar], op: BinOp, term: ExprId) {
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
            "to do it once close the sum before it, `(sum {names}: …) {sign} …`; if every term is meant to have it put the body in parentheses"
        );
        let d = Diagnostic::new(Code::W0313, self.tree.exprs[term].span, message)
            .related(first.name.span.to(last.name.span), "the body of this sum reaches as far right as it can")
            .help(help);
        self.out.diagnostics.push(d);
    }
}
