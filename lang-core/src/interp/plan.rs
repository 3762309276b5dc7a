//! Where locals are read for the last time, found once for each body.
//!
//! An update is in place only if nobody else holds the array. The frame holds one reference
//! for as long as the slot is filled, so a read after which the local is never read again
//! *takes* the value out of the slot. A carry `acc` in `fold acc = x for i: acc with [i] = e`
//! is moved into its slot at every step and taken by the update: each step is O(1).
//!
//! The analysis is a walk against the order of evaluation with the set of locals that are
//! still to be read, and for tuples and records of their components: in
//! `{x: s.x with [i] = e, n: s.n + 1}` the first read of `s` takes only `x`, as `n` is still
//! needed, and in `s with x = (s.x with [i] = e)` it may take `x` because the outer update
//! replaces it. At the end of a loop's body everything is still to be read that its next step
//! reads and that is bound outside.
//!
//! The order of evaluation that this relies on is that of [`Expr::for_each_child`]: operands left
//! to right, and the base of an update after its subscripts and values where the base is a local
//! or a component of one (reading those cannot fail, so nobody can tell).
//!
//! To read too little is safe (an update copies); to take too early would be wrong. Locals of
//! scalar type are never taken: sizes in types may refer to them.

use std::collections::{BTreeSet, HashMap};

use super::guarded;
use crate::predicate::LocalId;
use crate::types::tree::{Body, Expr, IndexRange, Pat, Place, Special, TId};
use crate::types::ty::Type;

/// What to take where.
#[derive(Default)]
pub(super) struct Plan {
    /// For each node: does it take what it reads out of the frame? For a `Local` the whole
    /// value, for a `Proj` of a `Local` the component.
    takes: Vec<bool>,
    /// Locals that a branch does not read but another one does: dropped on entering it.
    dead: HashMap<TId, Vec<LocalId>>,
    /// Is this local never read? Then binding it would only keep its value shared.
    unread: Vec<bool>,
}

impl Plan {
    /// With `keep`, variables bound by the `let`s that the body begins with stay in the frame.
    pub(super) fn new(body: &Body, keep: bool) -> Self {
        let Some(root) = body.root else { return Self::default() };
        let unread = body.locals.iter().map(|l| !matches!(l.ty, Type::Scalar(_))).collect();
        let mut scopes = Scopes { body, bound: HashMap::new(), loops: HashMap::new(), within: Vec::new(), unread };
        scopes.expr(root);
        let mut walk = Walk {
            body,
            loops: scopes.loops,
            seen: vec![false; body.nodes.len()],
            plan: Self { takes: vec![false; body.nodes.len()], dead: HashMap::new(), unread: scopes.unread },
            live: HashMap::new(),
            journal: Vec::new(),
        };
        if keep {
            walk.keep(root);
        }
        walk.expr(root);
        walk.plan
    }

    /// Does this node take what it reads?
    pub(super) fn takes(&self, node: TId) -> bool {
        self.takes.get(node.index()).copied().unwrap_or(false)
    }

    /// Is this local never read?
    pub(super) fn unread(&self, local: LocalId) -> bool {
        self.unread.get(local.0 as usize).copied().unwrap_or(false)
    }

    /// What to drop on entering a branch.
    pub(super) fn dead(&self, branch: TId) -> &[LocalId] {
        self.dead.get(&branch).map_or(&[], Vec::as_slice)
    }
}

/// The parts of a node in the order of their evaluation, for nodes whose parts are evaluated
/// one after another at most once.
fn straight(body: &Body, node: TId) -> Vec<TId> {
    let mut parts = Vec::new();
    body.nodes[node].kind.for_each_child(&body.nodes, &mut |n| parts.push(n));
    parts
}

/// The parts of an index range.
fn range_parts(range: &IndexRange) -> Vec<TId> {
    match range {
        IndexRange::Extent(_) => Vec::new(),
        IndexRange::Below(e) => vec![*e],
        IndexRange::Range(a, b, by) => [*a, *b].into_iter().chain(*by).collect(),
    }
}

/// The first walk, in order: which loop each local is bound in, and for each loop what it reads
/// of what is bound outside it.
struct Scopes<'b> {
    body: &'b Body,
    /// How many loops were around the binding, within its lambda.
    bound: HashMap<LocalId, usize>,
    loops: HashMap<TId, BTreeSet<LocalId>>,
    /// The loops around this place, within its lambda.
    within: Vec<TId>,
    unread: Vec<bool>,
}

impl Scopes<'_> {
    fn used(&mut self, local: LocalId) {
        if !eligible(self.body, local) {
            return;
        }
        if let Some(unread) = self.unread.get_mut(local.0 as usize) {
            *unread = false;
        }
        let outside = self.bound.get(&local).copied().unwrap_or(0);
        for l in self.within.get(outside..).unwrap_or_default() {
            self.loops.entry(*l).or_default().insert(local);
        }
    }

    fn bind(&mut self, pat: &Pat) {
        let depth = self.within.len();
        each_binding(pat, &mut |l| {
            self.bound.insert(l, depth);
        });
    }

    fn in_loop(&mut self, node: TId, parts: impl FnOnce(&mut Self)) {
        self.within.push(node);
        parts(self);
        self.within.pop();
    }

    fn expr(&mut self, node: TId) {
        guarded(|| self.expr_inner(node));
    }

    fn expr_inner(&mut self, node: TId) {
        let body = self.body;
        match &body.nodes[node].kind {
            Expr::Local(l) => self.used(*l),
            Expr::Special(Special::Deriv(l), args) => {
                self.used(*l);
                args.iter().for_each(|e| self.expr(*e));
            }
            Expr::Lambda(lambda) => {
                for l in &lambda.captures {
                    self.used(*l);
                }
                let outer = std::mem::take(&mut self.within);
                let bound = std::mem::take(&mut self.bound);
                for p in &lambda.params {
                    self.bind(p);
                }
                self.expr(lambda.body);
                self.bound = bound;
                self.within = outer;
            }
            Expr::Let(binds, e) => {
                for (pat, value) in binds {
                    self.expr(*value);
                    self.bind(pat);
                }
                self.expr(*e);
            }
            Expr::If(arms, last) => {
                for (cond, e) in arms {
                    self.expr(*cond);
                    self.expr(*e);
                }
                self.expr(*last);
            }
            Expr::Match(e, arms) => {
                self.expr(*e);
                for (pat, e) in arms {
                    self.bind(pat);
                    self.expr(*e);
                }
            }
            Expr::Binder { vars, filter, body, .. } => self.in_loop(node, |s| {
                s.ranges(vars);
                filter.iter().for_each(|e| s.expr(*e));
                s.expr(*body);
            }),
            Expr::Fold { acc, init, vars, body, yields, .. } => {
                self.expr(*init);
                self.in_loop(node, |s| {
                    s.ranges(vars);
                    s.bind(acc);
                    s.expr(*body);
                    yields.iter().for_each(|e| s.expr(*e));
                });
            }
            Expr::Loop { acc, init, cond, body, .. } => {
                self.expr(*init);
                self.in_loop(node, |s| {
                    s.bind(acc);
                    s.expr(*cond);
                    s.expr(*body);
                });
            }
            _ => {
                for part in straight(body, node) {
                    self.expr(part);
                }
            }
        }
    }

    fn ranges(&mut self, vars: &[crate::types::tree::IndexVar]) {
        for v in vars {
            for part in range_parts(&v.range) {
                self.expr(part);
            }
        }
    }
}

/// Scalars are never taken.
fn eligible(body: &Body, local: LocalId) -> bool {
    body.locals.get(local.0 as usize).is_some_and(|l| !matches!(l.ty, Type::Scalar(_)))
}

fn each_binding(pat: &Pat, f: &mut impl FnMut(LocalId)) {
    let mut pending = vec![pat];
    while let Some(p) = pending.pop() {
        match p {
            Pat::Bind(l) => f(*l),
            Pat::Ctor(_, ps) | Pat::Tuple(ps) => pending.extend(ps),
            Pat::Record(ps) => pending.extend(ps.iter().map(|p| &p.1)),
            Pat::Sized(_, p) => pending.push(p),
            Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
        }
    }
}

/// Which components of a local are still to be read.
#[derive(Clone, PartialEq, Eq)]
enum Fields {
    Only(BTreeSet<u32>),
    Except(BTreeSet<u32>),
}

impl Fields {
    fn all() -> Self {
        Self::Except(BTreeSet::new())
    }

    fn has(&self, k: u32) -> bool {
        match self {
            Self::Only(s) => s.contains(&k),
            Self::Except(s) => !s.contains(&k),
        }
    }

    fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Only(a), Self::Only(b)) => Self::Only(a | b),
            (Self::Only(a), Self::Except(b)) | (Self::Except(b), Self::Only(a)) => Self::Except(b - a),
            (Self::Except(a), Self::Except(b)) => Self::Except(a & b),
        }
    }
}

/// The second walk, against the order of evaluation.
struct Walk<'b> {
    body: &'b Body,
    loops: HashMap<TId, BTreeSet<LocalId>>,
    /// Nodes walked before. A node that is part of two others takes nothing.
    seen: Vec<bool>,
    plan: Plan,
    /// What is still to be read after this place.
    live: HashMap<LocalId, Fields>,
    /// What `live` was before each change, so that a branch can be walked and undone.
    journal: Vec<(LocalId, Option<Fields>)>,
}

/// How `live` differs at the beginning of a branch from what it is after it: only by more.
type Changes = HashMap<LocalId, Fields>;

impl Walk<'_> {
    /// Variables of the `let`s at the top are read once more at the end.
    fn keep(&mut self, mut node: TId) {
        while let Expr::Let(binds, e) = &self.body.nodes[node].kind {
            for (pat, _) in binds {
                each_binding(pat, &mut |l| {
                    self.live.insert(l, Fields::all());
                    if let Some(unread) = self.plan.unread.get_mut(l.0 as usize) {
                        *unread = false;
                    }
                });
            }
            node = *e;
        }
    }

    fn read(&mut self, local: LocalId, fields: &Fields) {
        let before = self.live.get(&local);
        let after = before.map_or_else(|| fields.clone(), |b| b.join(fields));
        if before != Some(&after) {
            self.journal.push((local, before.cloned()));
            self.live.insert(local, after);
        }
    }

    fn take(&mut self, node: TId, takes: bool) {
        let seen = self.seen.get_mut(node.index()).map(|s| std::mem::replace(s, true));
        if let Some(slot) = self.plan.takes.get_mut(node.index()) {
            *slot = takes && seen == Some(false);
        }
    }

    /// Walks a branch, tells what it reads and forgets it.
    fn branch(&mut self, walk: impl FnOnce(&mut Self)) -> Changes {
        let mark = self.journal.len();
        walk(self);
        let mut changes = Changes::new();
        while self.journal.len() > mark {
            let Some((l, before)) = self.journal.pop() else { break };
            let now = match before {
                Some(b) => self.live.insert(l, b),
                None => self.live.remove(&l),
            };
            // The last value comes first, as the journal is read backwards.
            if let Some(now) = now {
                changes.entry(l).or_insert(now);
            }
        }
        changes
    }

    fn apply(&mut self, changes: &Changes) {
        for (l, fields) in changes {
            self.read(*l, fields);
        }
    }

    /// Of the branches of a choice, those that read a local no more let go of it first.
    fn dead(&mut self, branches: &[(TId, Changes)]) {
        let read: BTreeSet<LocalId> = branches.iter().flat_map(|(_, c)| c.keys().copied()).collect();
        let last: Vec<LocalId> = read.into_iter().filter(|l| !self.live.contains_key(l)).collect();
        for (node, own) in branches {
            let dead: Vec<LocalId> = last.iter().filter(|l| !own.contains_key(l)).copied().collect();
            if !dead.is_empty() {
                self.plan.dead.insert(*node, dead);
            }
        }
    }

    fn expr(&mut self, node: TId) {
        guarded(|| self.expr_inner(node));
    }

    fn expr_inner(&mut self, node: TId) {
        let body = self.body;
        match &body.nodes[node].kind {
            Expr::Local(l) if eligible(body, *l) => {
                self.take(node, !self.live.contains_key(l));
                self.read(*l, &Fields::all());
            }
            Expr::Proj(inner, k) => match &body.nodes[*inner].kind {
                Expr::Local(l) if eligible(body, *l) => {
                    let live = self.live.get(l);
                    let (whole, part) = (live.is_none(), live.is_some_and(|f| !f.has(*k)));
                    self.take(*inner, whole);
                    self.take(node, part);
                    self.read(*l, &Fields::Only(BTreeSet::from([*k])));
                }
                _ => self.expr(*inner),
            },
            // The variable is read before the expression, which it does not have to mention.
            Expr::Special(Special::Deriv(l), args) => {
                self.parts(args);
                if eligible(body, *l) {
                    self.read(*l, &Fields::all());
                }
            }
            Expr::With(base, updates) => {
                // Components that are replaced are not read by taking the base.
                if let Expr::Local(l) = &body.nodes[*base].kind
                    && eligible(body, *l)
                {
                    self.take(*base, !self.live.contains_key(l));
                    let replaced = updates.iter().filter_map(|u| match u.place {
                        Place::Proj(k) if !u.add => Some(k),
                        _ => None,
                    });
                    self.read(*l, &Fields::Except(replaced.collect()));
                    let parts = straight(body, node);
                    self.parts(parts.split_last().map_or(&[], |(_, rest)| rest));
                } else {
                    self.parts(&straight(body, node));
                }
            }
            Expr::Lambda(lambda) => {
                let live = std::mem::take(&mut self.live);
                let journal = std::mem::take(&mut self.journal);
                self.expr(lambda.body);
                self.live = live;
                self.journal = journal;
                for l in &lambda.captures {
                    if eligible(body, *l) {
                        self.read(*l, &Fields::all());
                    }
                }
            }
            Expr::Let(binds, e) => {
                self.expr(*e);
                for (_, value) in binds.iter().rev() {
                    self.expr(*value);
                }
            }
            Expr::If(arms, last) => {
                let mut branches = vec![(*last, self.branch(|w| w.expr(*last)))];
                let mut rest = branches.first().map(|b| b.1.clone()).unwrap_or_default();
                for (cond, e) in arms.iter().rev() {
                    let own = self.branch(|w| w.expr(*e));
                    rest = self.branch(|w| {
                        w.apply(&rest);
                        w.apply(&own);
                        w.expr(*cond);
                    });
                    branches.push((*e, own));
                }
                self.dead(&branches);
                self.apply(&rest);
            }
            Expr::Match(e, arms) => {
                let branches: Vec<_> = arms.iter().map(|(_, e)| (*e, self.branch(|w| w.expr(*e)))).collect();
                self.dead(&branches);
                for (_, changes) in &branches {
                    self.apply(changes);
                }
                self.expr(*e);
            }
            Expr::Binder { vars, filter, body, .. } => {
                self.next_step(node);
                self.expr(*body);
                filter.iter().for_each(|e| self.expr(*e));
                self.ranges(vars);
            }
            Expr::Fold { init, vars, body, yields, .. } => {
                self.next_step(node);
                yields.iter().for_each(|e| self.expr(*e));
                self.expr(*body);
                self.ranges(vars);
                self.expr(*init);
            }
            Expr::Loop { init, cond, body, .. } => {
                self.next_step(node);
                self.expr(*body);
                self.expr(*cond);
                self.expr(*init);
            }
            _ => self.parts(&straight(body, node)),
        }
    }

    /// At the end of a step everything is live that the loop reads of what is bound outside.
    fn next_step(&mut self, node: TId) {
        for l in self.loops.get(&node).cloned().unwrap_or_default() {
            self.read(l, &Fields::all());
        }
    }

    fn parts(&mut self, parts: &[TId]) {
        for part in parts.iter().rev() {
            self.expr(*part);
        }
    }

    fn ranges(&mut self, vars: &[crate::types::tree::IndexVar]) {
        for v in vars.iter().rev() {
            self.parts(&range_parts(&v.range));
        }
    }
}
