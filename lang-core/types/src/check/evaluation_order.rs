//! **Use of extents before their definition.** A later part of an expression may determine the
//! extent of an earlier one, although the earlier one is evaluated first.
//!
//! The pass walks the body in evaluation order. At each size that the interpreter reads, every
//! local must have a value. Such sizes are ranges, the instance of a call, checks, the captures of
//! a function, and the type of an array that may be empty.

use super::super::tree::{TypedExpr as Typed, TypedForm, TypedId, TypedIndexRange, TypedPattern};
use super::TypeChecker;
use lang_base::{Code, Diagnostic, Span};
use lang_sizes::predicate::{Atom, LocalId, Poly};

/// A step of the walk. The stack holds the next step last.
enum OrderStep {
    Visit(TypedId),
    /// Reads the sizes of the node.
    ReadSizes(TypedId),
    /// Reads the extent of a bare index.
    ReadExtent(Poly, Span),
    Bind(Vec<LocalId>),
    /// Opens a scope; the matching `Leave` removes its bindings.
    Enter,
    Leave,
}

/// The locals that have a value at a point of the walk.
struct KnownLocals {
    locals: Vec<bool>,
    bound: Vec<LocalId>,
    /// The number of bound locals at the entry of each scope.
    scopes: Vec<usize>,
}

impl KnownLocals {
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

    fn is_known(&self, l: LocalId) -> bool {
        self.locals.get(l.0 as usize).copied().unwrap_or(true)
    }
}

impl TypeChecker<'_> {
    /// Reports each use of an extent before its definition. The body must have no other errors.
    pub(super) fn check_extent_order(&mut self, root: TypedId, from: &[LocalId]) {
        let mut known = KnownLocals { locals: vec![false; self.locals.len()], bound: Vec::new(), scopes: Vec::new() };
        from.iter().for_each(|l| known.bind(*l));
        let mut steps = vec![OrderStep::Visit(root)];
        let mut early: Vec<(LocalId, Span, &str)> = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                OrderStep::Visit(node) => {
                    let mut next = self.order_steps(node);
                    next.reverse();
                    steps.append(&mut next);
                }
                OrderStep::ReadSizes(node) => {
                    let found = self.size_locals_read(node).into_iter().find(|l| !known.is_known(*l));
                    let lambda = matches!(self.nodes[node].kind, Typed::Lambda(_));
                    let what = if lambda { "this function is created" } else { "this is evaluated" };
                    early.extend(found.map(|l| (l, self.node_span(node), what)));
                }
                OrderStep::ReadExtent(p, span) => {
                    let mut locals = Vec::new();
                    collect_locals(&p, &mut locals);
                    early.extend(
                        locals.into_iter().find(|l| !known.is_known(*l)).map(|l| (l, span, "this index starts")),
                    );
                }
                OrderStep::Bind(locals) => locals.into_iter().for_each(|l| known.bind(l)),
                OrderStep::Enter => known.scopes.push(known.bound.len()),
                OrderStep::Leave => known.leave(),
            }
        }
        // Each extent is reported once.
        let mut reported = Vec::new();
        for (l, span, what) in early {
            if reported.contains(&l) {
                continue;
            }
            reported.push(l);
            let (name, place) = self.local_info(l).map(|i| (i.name.clone(), i.span)).unwrap_or_default();
            let message = format!("the extent `{name}` is not known yet where {what}");
            let d = Diagnostic::new(Code::E0310, span, message).related(place, "it becomes known here");
            self.report(d.help("bind the value with this extent in an earlier `let`, or write another extent here"));
        }
    }

    /// Returns the steps of a node in evaluation order: its children, the sizes it reads and the
    /// locals it binds.
    fn order_steps(&self, node: TypedId) -> Vec<OrderStep> {
        let kind = &self.nodes[node].kind;
        let bound = |p: &TypedPattern| {
            let mut locals = Vec::new();
            p.for_each_local(&mut |l| locals.push(l));
            OrderStep::Bind(locals)
        };
        let mut steps = Vec::new();
        match kind {
            Typed::Let(binds, body) => {
                for (pat, value) in binds {
                    steps.extend([OrderStep::Visit(*value), bound(pat)]);
                }
                steps.push(OrderStep::Visit(*body));
            }
            Typed::If(arms, last) => {
                for (cond, e) in arms {
                    steps.extend([
                        OrderStep::Visit(*cond),
                        OrderStep::Enter,
                        OrderStep::Visit(*e),
                        OrderStep::Leave,
                        OrderStep::Enter,
                    ]);
                }
                steps.push(OrderStep::Visit(*last));
                steps.extend(arms.iter().map(|_| OrderStep::Leave));
            }
            Typed::Match(e, arms) => {
                steps.push(OrderStep::Visit(*e));
                for (pat, e) in arms {
                    steps.extend([OrderStep::Enter, bound(pat), OrderStep::Visit(*e), OrderStep::Leave]);
                }
            }
            Typed::And(items) | Typed::Or(items) => {
                steps.push(OrderStep::Enter);
                steps.extend(items.iter().map(|n| OrderStep::Visit(*n)));
                steps.push(OrderStep::Leave);
            }
            Typed::Guard(p, e) => {
                steps.extend([
                    OrderStep::Visit(*p),
                    OrderStep::ReadSizes(node),
                    OrderStep::Enter,
                    OrderStep::Visit(*e),
                    OrderStep::Leave,
                ]);
            }
            Typed::Binder { vars, filter, body, .. } => {
                self.loop_steps(vars, &mut steps);
                steps.extend(filter.iter().map(|n| OrderStep::Visit(*n)));
                steps.extend([OrderStep::Visit(*body), OrderStep::Leave, OrderStep::ReadSizes(node)]);
            }
            Typed::Fold { acc, init, vars, body, yields, .. } => {
                steps.push(OrderStep::Visit(*init));
                self.loop_steps(vars, &mut steps);
                steps.extend([bound(acc), OrderStep::Visit(*body)]);
                steps.extend(yields.iter().map(|n| OrderStep::Visit(*n)));
                steps.extend([OrderStep::Leave, OrderStep::ReadSizes(node)]);
            }
            Typed::Loop { acc, init, cond, body, .. } => {
                steps.extend([OrderStep::Visit(*init), OrderStep::Enter, bound(acc)]);
                steps.extend([OrderStep::Visit(*cond), OrderStep::Visit(*body), OrderStep::Leave]);
            }
            Typed::Lambda(lambda) => {
                steps.extend([OrderStep::ReadSizes(node), OrderStep::Enter]);
                steps.extend(lambda.params.iter().map(bound));
                steps.extend([OrderStep::Visit(lambda.body), OrderStep::Leave]);
            }
            Typed::Opened(opens, e) => {
                steps.extend([OrderStep::Visit(*e), OrderStep::Bind(opens.iter().map(|o| o.local).collect())]);
            }
            kind => {
                kind.for_each_child(&self.nodes, &mut |n| steps.push(OrderStep::Visit(n)));
                steps.push(OrderStep::ReadSizes(node));
            }
        }
        steps
    }

    /// Adds the steps of index ranges. The first range is evaluated outside the loop, each other
    /// one inside those before it.
    fn loop_steps(&self, vars: &[super::super::tree::TypedIndexVar], steps: &mut Vec<OrderStep>) {
        for (k, v) in vars.iter().enumerate() {
            match &v.range {
                TypedIndexRange::Extent(p) => {
                    let span = self.local_info(v.local).map_or_else(Span::default, |i| i.span);
                    steps.push(OrderStep::ReadExtent(p.clone(), span));
                }
                TypedIndexRange::Below(n) => steps.push(OrderStep::Visit(*n)),
                TypedIndexRange::Range(a, b, by) => steps.extend([*a, *b].into_iter().chain(*by).map(OrderStep::Visit)),
            }
            if k == 0 {
                steps.push(OrderStep::Enter);
            }
            steps.push(OrderStep::Bind(vec![v.local]));
        }
        if vars.is_empty() {
            steps.push(OrderStep::Enter);
        }
    }

    /// Returns the locals in the sizes that the interpreter reads at this node itself.
    fn size_locals_read(&self, node: TypedId) -> Vec<LocalId> {
        let n = &self.nodes[node];
        let mut locals = Vec::new();
        // The value needs the extents of its type for its zero, or for its shape if it has no
        // elements.
        let shaped = match &n.kind {
            Typed::Array(items) => items.is_empty(),
            Typed::Guard(..) | Typed::Binder { .. } | Typed::Form(TypedForm::Reshape | TypedForm::Relation, _) => true,
            Typed::Fold { is_scan: scan, yields, .. } => *scan || yields.is_some(),
            _ => false,
        };
        if shaped {
            n.ty.visit(&mut |_| {}, &mut |p| collect_locals(p, &mut locals));
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

fn collect_locals(p: &Poly, out: &mut Vec<LocalId>) {
    p.for_each_atom(&mut |a| {
        if let Atom::Local(l, _) = a {
            out.push(*l);
        }
    });
}
