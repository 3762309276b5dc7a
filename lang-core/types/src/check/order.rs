//! **Use of extents before their definition.** A later part of an expression may determine the
//! extent of an earlier one, although the earlier one is evaluated first.
//!
//! The pass walks the body in evaluation order. At each size that the interpreter reads, every
//! local must have a value. Such sizes are ranges, the instance of a call, checks, the captures of
//! a function, and the type of an array that may be empty.

use super::super::tree::{Expr as Typed, IndexRange, Pat, Special, TId};
use super::Checker;
use lang_base::{Code, Diagnostic, Span};
use lang_sizes::predicate::{Atom, LocalId, Poly};

/// A step of the walk. The stack holds the next step last.
enum Step {
    Visit(TId),
    /// Reads the sizes of the node.
    Ask(TId),
    /// Reads the extent of a bare index.
    Extent(Poly, Span),
    Bind(Vec<LocalId>),
    /// Opens a scope; the matching `Leave` removes its bindings.
    Enter,
    Leave,
}

/// The locals that have a value at a point of the walk.
struct Known {
    locals: Vec<bool>,
    bound: Vec<LocalId>,
    /// The number of bound locals at the entry of each scope.
    scopes: Vec<usize>,
}

impl Known {
    fn bind(&mut self, l: LocalId) {
        if let Some(known) = self.locals.get_mut(l.0 as usize)
            && !std::mem::replace(known, true)
        {
            self.bound.push(l);
        }
    }

    fn leave(&mut self) {
        let mark = self.scopes.pop().unwrap_or(0);
        for l in self.bound.drain(mark.min(self.bound.len())..) {
            if let Some(known) = self.locals.get_mut(l.0 as usize) {
                *known = false;
            }
        }
    }

    fn has(&self, l: LocalId) -> bool {
        self.locals.get(l.0 as usize).copied().unwrap_or(true)
    }
}

impl Checker<'_> {
    /// Reports each use of an extent before its definition. The body must have no other errors.
    pub(super) fn check_order(&mut self, root: TId, from: &[LocalId]) {
        let mut known = Known { locals: vec![false; self.locals.len()], bound: Vec::new(), scopes: Vec::new() };
        from.iter().for_each(|l| known.bind(*l));
        let mut steps = vec![Step::Visit(root)];
        let mut early: Vec<(LocalId, Span, &str)> = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                Step::Visit(node) => {
                    let mut next = self.steps(node);
                    next.reverse();
                    steps.append(&mut next);
                }
                Step::Ask(node) => {
                    let found = self.asked(node).into_iter().find(|l| !known.has(*l));
                    let lambda = matches!(self.nodes[node].kind, Typed::Lambda(_));
                    let what = if lambda { "this function is made" } else { "this is evaluated" };
                    early.extend(found.map(|l| (l, self.span(node), what)));
                }
                Step::Extent(p, span) => {
                    let mut locals = Vec::new();
                    locals_of(&p, &mut locals);
                    early.extend(
                        locals.into_iter().find(|l| !known.has(*l)).map(|l| (l, span, "this index begins to run")),
                    );
                }
                Step::Bind(locals) => locals.into_iter().for_each(|l| known.bind(l)),
                Step::Enter => known.scopes.push(known.bound.len()),
                Step::Leave => known.leave(),
            }
        }
        // Each extent is reported once.
        let mut told = Vec::new();
        for (l, span, what) in early {
            if told.contains(&l) {
                continue;
            }
            told.push(l);
            let (name, place) = self.local(l).map(|i| (i.name.clone(), i.span)).unwrap_or_default();
            let message = format!("the extent `{name}` is not known yet where {what}");
            let d = Diagnostic::new(Code::E0310, span, message).related(place, "becomes known here");
            self.report(d.help("bind what has this extent by a `let` before, or write another extent here"));
        }
    }

    /// Returns the steps of a node in evaluation order: its children, the sizes it reads and the
    /// locals it binds.
    fn steps(&self, node: TId) -> Vec<Step> {
        let kind = &self.nodes[node].kind;
        let bound = |p: &Pat| {
            let mut locals = Vec::new();
            p.for_each_local(&mut |l| locals.push(l));
            Step::Bind(locals)
        };
        let mut steps = Vec::new();
        match kind {
            Typed::Let(binds, body) => {
                for (pat, value) in binds {
                    steps.extend([Step::Visit(*value), bound(pat)]);
                }
                steps.push(Step::Visit(*body));
            }
            Typed::If(arms, last) => {
                for (cond, e) in arms {
                    steps.extend([Step::Visit(*cond), Step::Enter, Step::Visit(*e), Step::Leave, Step::Enter]);
                }
                steps.push(Step::Visit(*last));
                steps.extend(arms.iter().map(|_| Step::Leave));
            }
            Typed::Match(e, arms) => {
                steps.push(Step::Visit(*e));
                for (pat, e) in arms {
                    steps.extend([Step::Enter, bound(pat), Step::Visit(*e), Step::Leave]);
                }
            }
            Typed::And(items) | Typed::Or(items) => {
                steps.push(Step::Enter);
                steps.extend(items.iter().map(|n| Step::Visit(*n)));
                steps.push(Step::Leave);
            }
            Typed::Guard(p, e) => {
                steps.extend([Step::Visit(*p), Step::Ask(node), Step::Enter, Step::Visit(*e), Step::Leave]);
            }
            Typed::Binder { vars, filter, body, .. } => {
                self.loop_steps(vars, &mut steps);
                steps.extend(filter.iter().map(|n| Step::Visit(*n)));
                steps.extend([Step::Visit(*body), Step::Leave, Step::Ask(node)]);
            }
            Typed::Fold { acc, init, vars, body, yields, .. } => {
                steps.push(Step::Visit(*init));
                self.loop_steps(vars, &mut steps);
                steps.extend([bound(acc), Step::Visit(*body)]);
                steps.extend(yields.iter().map(|n| Step::Visit(*n)));
                steps.extend([Step::Leave, Step::Ask(node)]);
            }
            Typed::Loop { acc, init, cond, body, .. } => {
                steps.extend([Step::Visit(*init), Step::Enter, bound(acc)]);
                steps.extend([Step::Visit(*cond), Step::Visit(*body), Step::Leave]);
            }
            Typed::Lambda(lambda) => {
                steps.extend([Step::Ask(node), Step::Enter]);
                steps.extend(lambda.params.iter().map(bound));
                steps.extend([Step::Visit(lambda.body), Step::Leave]);
            }
            Typed::Opened(opens, e) => {
                steps.extend([Step::Visit(*e), Step::Bind(opens.iter().map(|o| o.local).collect())]);
            }
            kind => {
                kind.for_each_child(&self.nodes, &mut |n| steps.push(Step::Visit(n)));
                steps.push(Step::Ask(node));
            }
        }
        steps
    }

    /// Adds the steps of index ranges. The first range is evaluated outside the loop, each other
    /// one inside those before it.
    fn loop_steps(&self, vars: &[super::super::tree::IndexVar], steps: &mut Vec<Step>) {
        for (k, v) in vars.iter().enumerate() {
            match &v.range {
                IndexRange::Extent(p) => {
                    let span = self.local(v.local).map_or_else(Span::default, |i| i.span);
                    steps.push(Step::Extent(p.clone(), span));
                }
                IndexRange::Below(n) => steps.push(Step::Visit(*n)),
                IndexRange::Range(a, b, by) => steps.extend([*a, *b].into_iter().chain(*by).map(Step::Visit)),
            }
            if k == 0 {
                steps.push(Step::Enter);
            }
            steps.push(Step::Bind(vec![v.local]));
        }
        if vars.is_empty() {
            steps.push(Step::Enter);
        }
    }

    /// Returns the locals in the sizes that the interpreter reads at this node itself.
    fn asked(&self, node: TId) -> Vec<LocalId> {
        let n = &self.nodes[node];
        let mut locals = Vec::new();
        // The value needs the extents of its type for its zero, or for its shape if it has no
        // elements.
        let shaped = match &n.kind {
            Typed::Array(items) => items.is_empty(),
            Typed::Guard(..) | Typed::Binder { .. } | Typed::Special(Special::Reshape | Special::Relation, _) => true,
            Typed::Fold { scan, yields, .. } => *scan || yields.is_some(),
            _ => false,
        };
        if shaped {
            n.ty.visit(&mut |_| {}, &mut |p| locals_of(p, &mut locals));
        }
        match &n.kind {
            Typed::Lambda(lambda) => locals.extend(&lambda.captures),
            // Each range has a step of its own.
            Typed::Binder { .. } | Typed::Fold { .. } => {}
            kind => kind.for_each_local(&mut |l| locals.push(l), &mut |_| {}),
        }
        locals
    }
}

fn locals_of(p: &Poly, out: &mut Vec<LocalId>) {
    p.for_each_atom(&mut |a| {
        if let Atom::Local(l, _) = a {
            out.push(*l);
        }
    });
}
