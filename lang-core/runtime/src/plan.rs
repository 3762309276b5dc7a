//! **Last-use analysis** of locals, computed once for each body. The interpreter moves a value out
//! of its slot at its last use, so that updates happen in place.
//!
//! An update is in place only if the array has no other owner. The frame holds one reference while
//! the slot is filled. So the last read of a local *takes* the value out of its slot. A carry `acc`
//! in `fold acc = x for i: acc with [i] = e` is moved into its slot at every step, and the update
//! takes it: each step is O(1).
//!
//! The analysis walks against the evaluation order with the set of live locals, and of live
//! components of tuples and records. In `{x: s.x with [i] = e, n: s.n + 1}` the first read of `s`
//! takes only `x`, because `n` is still live. In `s with x = (s.x with [i] = e)` it may take `x`,
//! because the outer update replaces it. At the end of a loop body, every outer local that the next
//! step reads is live.
//!
//! The evaluation order is that of [`Expr::for_each_child`]. Operands come left to right; functions
//! that a call creates come after its other parts. The base of an update comes after its subscripts
//! and values if it is a local or a component of one. Reading such a base cannot fail, so the
//! difference is not observable.
//!
//! Taking too rarely is safe, because an update then copies. Taking too early would be wrong.
//! Locals of scalar type are never taken, because sizes in types may refer to them.

use std::collections::{BTreeSet, HashMap};

use lang_base::guarded;
use lang_sizes::predicate::LocalId;
use lang_types::tree::{Body, Expr, IndexRange, Pat, Place, Special, TId};
use lang_types::ty::Type;

/// The result of the analysis.
#[derive(Default)]
pub struct Plan {
    /// For each node, whether it takes its operand out of the frame: the whole value for a `Local`,
    /// the component for a `Proj` of a `Local`.
    takes: Vec<bool>,
    /// For each branch, the locals to drop on entry: their last use is in another branch.
    dead: HashMap<TId, Vec<LocalId>>,
    /// For each local, whether it is never read. Binding such a local would only keep its value
    /// shared.
    unread: Vec<bool>,
}

impl Plan {
    /// Analyses a body. With `keep`, variables of the `let`s that the body begins with stay in the
    /// frame.
    pub fn new(body: &Body, keep: bool) -> Self {
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

    /// Returns whether this node takes its operand.
    pub fn takes(&self, node: TId) -> bool {
        self.takes.get(node.index()).copied().unwrap_or(false)
    }

    /// Returns whether this local is never read.
    pub fn unread(&self, local: LocalId) -> bool {
        self.unread.get(local.0 as usize).copied().unwrap_or(false)
    }

    /// Returns the locals to drop on entering a branch.
    pub fn dead(&self, branch: TId) -> &[LocalId] {
        self.dead.get(&branch).map_or(&[], Vec::as_slice)
    }
}

/// Returns the parts of a node in evaluation order, for a node that evaluates each part at most
/// once, in sequence.
fn straight(body: &Body, node: TId) -> Vec<TId> {
    let mut parts = Vec::new();
    body.nodes[node].kind.for_each_child(&body.nodes, &mut |n| parts.push(n));
    parts
}

/// Returns the parts of an index range.
fn range_parts(range: &IndexRange) -> Vec<TId> {
    match range {
        IndexRange::Extent(_) => Vec::new(),
        IndexRange::Below(e) => vec![*e],
        IndexRange::Range(a, b, by) => [*a, *b].into_iter().chain(*by).collect(),
    }
}

/// The first walk, in evaluation order. Finds the loop that binds each local, and for each loop the
/// outer locals that it reads.
struct Scopes<'b> {
    body: &'b Body,
    /// The number of loops around the binding, within its lambda.
    bound: HashMap<LocalId, usize>,
    loops: HashMap<TId, BTreeSet<LocalId>>,
    /// The loops around the current node, within its lambda.
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

    fn ranges(&mut self, vars: &[lang_types::tree::IndexVar]) {
        for v in vars {
            for part in range_parts(&v.range) {
                self.expr(part);
            }
        }
    }
}

/// Returns whether a local may be taken. Scalars never are.
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

/// The live components of a local.
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

/// The second walk, against the evaluation order.
struct Walk<'b> {
    body: &'b Body,
    loops: HashMap<TId, BTreeSet<LocalId>>,
    /// The nodes walked before. A node with two parents takes nothing.
    seen: Vec<bool>,
    plan: Plan,
    /// The locals that are live after the current node.
    live: HashMap<LocalId, Fields>,
    /// The earlier entries of `live`, so that the walk of a branch can be undone.
    journal: Vec<(LocalId, Option<Fields>)>,
}

/// The difference of `live` between the beginning and the end of a branch. It only grows.
type Changes = HashMap<LocalId, Fields>;

impl Walk<'_> {
    /// Marks the variables of the outermost `let`s as live at the end.
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

    /// Walks a branch, returns its reads, and restores `live`.
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
            // The journal is read backwards, so the last value comes first.
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

    /// Records the locals that each branch of a choice must drop on entry: another branch reads
    /// them last.
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
            // The variable is read before the expression, which need not mention it.
            Expr::Special(Special::Deriv(l), args) => {
                self.parts(args);
                if eligible(body, *l) {
                    self.read(*l, &Fields::all());
                }
            }
            Expr::With(base, updates) => {
                // Taking the base does not read the components that are replaced.
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

    /// Marks as live the outer locals that the loop reads, at the end of a step.
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

    fn ranges(&mut self, vars: &[lang_types::tree::IndexVar]) {
        for v in vars.iter().rev() {
            self.parts(&range_parts(&v.range));
        }
    }
}
