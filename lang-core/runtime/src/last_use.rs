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
//! The evaluation order is that of
//! [`TypedExpr::for_each_child`](lang_types::tree::TypedExpr::for_each_child). Operands come left
//! to right; functions that a call creates come after its other parts. The base of an update comes
//! after its subscripts and values if it is a local or a component of one. Reading such a base
//! cannot fail, so the difference is not observable.
//!
//! Taking too rarely is safe, because an update then copies. Taking too early would be wrong.
//! Locals of scalar type are never taken, because sizes in types may refer to them.

use std::collections::{BTreeSet, HashMap};

use lang_base::ensure_sufficient_stack;
use lang_sizes::predicate::LocalId;
use lang_types::tree::{TypedBody, TypedExpr, TypedForm, TypedId, TypedIndexRange, TypedPattern, TypedUpdateTarget};
use lang_types::ty::Type;

/// The result of the analysis.
#[derive(Default)]
pub struct LastUses {
    /// For each node, whether it takes its operand out of the frame: the whole value for a `Local`,
    /// the component for a `Proj` of a `Local`.
    takes: Vec<bool>,
    /// For each branch, the locals to drop on entry: their last use is in another branch.
    dead_on_entry: HashMap<TypedId, Vec<LocalId>>,
    /// For each local, whether it is never read. Binding such a local would only keep its value
    /// shared.
    unread: Vec<bool>,
}

impl LastUses {
    /// Analyses a body. With `keep`, variables of the `let`s that the body begins with stay in the
    /// frame.
    pub fn new(body: &TypedBody, keep: bool) -> Self {
        let Some(root) = body.root else { return Self::default() };
        let unread = body.locals.iter().map(|l| !matches!(l.ty, Type::Scalar(_))).collect();
        let mut scopes = LoopScopes {
            body,
            binding_depths: HashMap::new(),
            loop_reads: HashMap::new(),
            enclosing_loops: Vec::new(),
            unread,
        };
        scopes.visit_expr(root);
        let mut walk = LivenessWalk {
            body,
            loop_reads: scopes.loop_reads,
            visited: vec![false; body.nodes.len()],
            last_uses: Self {
                takes: vec![false; body.nodes.len()],
                dead_on_entry: HashMap::new(),
                unread: scopes.unread,
            },
            live: HashMap::new(),
            journal: Vec::new(),
        };
        if keep {
            walk.keep_outer_lets(root);
        }
        walk.visit_expr(root);
        walk.last_uses
    }

    /// Returns whether this node takes its operand.
    pub fn takes_operand(&self, node: TypedId) -> bool {
        self.takes.get(node.index()).copied().unwrap_or(false)
    }

    /// Returns whether this local is never read.
    pub fn is_unread(&self, local: LocalId) -> bool {
        self.unread.get(local.0 as usize).copied().unwrap_or(false)
    }

    /// Returns the locals to drop on entering a branch.
    pub fn dead_on_entry(&self, branch: TypedId) -> &[LocalId] {
        self.dead_on_entry.get(&branch).map_or(&[], Vec::as_slice)
    }
}

/// Returns the parts of a node in evaluation order, for a node that evaluates each part at most
/// once, in sequence.
fn children_in_order(body: &TypedBody, node: TypedId) -> Vec<TypedId> {
    let mut parts = Vec::new();
    body.nodes[node].kind.for_each_child(&body.nodes, &mut |n| parts.push(n));
    parts
}

/// Returns the parts of an index range.
fn range_parts(range: &TypedIndexRange) -> Vec<TypedId> {
    match range {
        TypedIndexRange::Extent(_) => Vec::new(),
        TypedIndexRange::Below(e) => vec![*e],
        TypedIndexRange::Range(a, b, by) => [*a, *b].into_iter().chain(*by).collect(),
    }
}

/// The first walk, in evaluation order. Finds the loop that binds each local, and for each loop the
/// outer locals that it reads.
struct LoopScopes<'b> {
    body: &'b TypedBody,
    /// The number of loops around the binding, within its lambda.
    binding_depths: HashMap<LocalId, usize>,
    loop_reads: HashMap<TypedId, BTreeSet<LocalId>>,
    /// The loops around the current node, within its lambda.
    enclosing_loops: Vec<TypedId>,
    unread: Vec<bool>,
}

impl LoopScopes<'_> {
    fn record_use(&mut self, local: LocalId) {
        if !is_takable(self.body, local) {
            return;
        }
        if let Some(unread) = self.unread.get_mut(local.0 as usize) {
            *unread = false;
        }
        let outside = self.binding_depths.get(&local).copied().unwrap_or(0);
        for l in self.enclosing_loops.get(outside..).unwrap_or_default() {
            self.loop_reads.entry(*l).or_default().insert(local);
        }
    }

    fn bind(&mut self, pat: &TypedPattern) {
        let depth = self.enclosing_loops.len();
        for_each_binding(pat, &mut |l| {
            self.binding_depths.insert(l, depth);
        });
    }

    fn visit_loop(&mut self, node: TypedId, parts: impl FnOnce(&mut Self)) {
        self.enclosing_loops.push(node);
        parts(self);
        self.enclosing_loops.pop();
    }

    fn visit_expr(&mut self, node: TypedId) {
        ensure_sufficient_stack(|| self.visit_expr_inner(node));
    }

    fn visit_expr_inner(&mut self, node: TypedId) {
        let body = self.body;
        match &body.nodes[node].kind {
            TypedExpr::Local(l) => self.record_use(*l),
            TypedExpr::Form(TypedForm::Deriv(l), args) => {
                self.record_use(*l);
                args.iter().for_each(|e| self.visit_expr(*e));
            }
            TypedExpr::Lambda(lambda) => {
                for l in &lambda.captures {
                    self.record_use(*l);
                }
                let outer = std::mem::take(&mut self.enclosing_loops);
                let bound = std::mem::take(&mut self.binding_depths);
                for p in &lambda.params {
                    self.bind(p);
                }
                self.visit_expr(lambda.body);
                self.binding_depths = bound;
                self.enclosing_loops = outer;
            }
            TypedExpr::Let(binds, e) => {
                for (pat, value) in binds {
                    self.visit_expr(*value);
                    self.bind(pat);
                }
                self.visit_expr(*e);
            }
            TypedExpr::If(arms, last) => {
                for (cond, e) in arms {
                    self.visit_expr(*cond);
                    self.visit_expr(*e);
                }
                self.visit_expr(*last);
            }
            TypedExpr::Match(e, arms) => {
                self.visit_expr(*e);
                for (pat, e) in arms {
                    self.bind(pat);
                    self.visit_expr(*e);
                }
            }
            TypedExpr::Binder { vars, filter, body, .. } => self.visit_loop(node, |s| {
                s.visit_ranges(vars);
                filter.iter().for_each(|e| s.visit_expr(*e));
                s.visit_expr(*body);
            }),
            TypedExpr::Fold { acc, init, vars, body, yields, .. } => {
                self.visit_expr(*init);
                self.visit_loop(node, |s| {
                    s.visit_ranges(vars);
                    s.bind(acc);
                    s.visit_expr(*body);
                    yields.iter().for_each(|e| s.visit_expr(*e));
                });
            }
            TypedExpr::Loop { acc, init, cond, body, .. } => {
                self.visit_expr(*init);
                self.visit_loop(node, |s| {
                    s.bind(acc);
                    s.visit_expr(*cond);
                    s.visit_expr(*body);
                });
            }
            _ => {
                for part in children_in_order(body, node) {
                    self.visit_expr(part);
                }
            }
        }
    }

    fn visit_ranges(&mut self, vars: &[lang_types::tree::TypedIndexVar]) {
        for v in vars {
            for part in range_parts(&v.range) {
                self.visit_expr(part);
            }
        }
    }
}

/// Returns whether a local may be taken. Scalars never are.
fn is_takable(body: &TypedBody, local: LocalId) -> bool {
    body.locals.get(local.0 as usize).is_some_and(|l| !matches!(l.ty, Type::Scalar(_)))
}

fn for_each_binding(pat: &TypedPattern, f: &mut impl FnMut(LocalId)) {
    let mut pending = vec![pat];
    while let Some(p) = pending.pop() {
        match p {
            TypedPattern::Bind(l) => f(*l),
            TypedPattern::Ctor(_, ps) | TypedPattern::Tuple(ps) => pending.extend(ps),
            TypedPattern::Record(ps) => pending.extend(ps.iter().map(|p| &p.1)),
            TypedPattern::Sized(_, p) => pending.push(p),
            TypedPattern::Wild | TypedPattern::Int(_) | TypedPattern::Bool(_) => {}
        }
    }
}

/// The live components of a local.
#[derive(Clone, PartialEq, Eq)]
enum LiveComponents {
    Only(BTreeSet<u32>),
    Except(BTreeSet<u32>),
}

impl LiveComponents {
    fn all() -> Self {
        Self::Except(BTreeSet::new())
    }

    fn contains(&self, k: u32) -> bool {
        match self {
            Self::Only(s) => s.contains(&k),
            Self::Except(s) => !s.contains(&k),
        }
    }

    fn union(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Only(a), Self::Only(b)) => Self::Only(a | b),
            (Self::Only(a), Self::Except(b)) | (Self::Except(b), Self::Only(a)) => Self::Except(b - a),
            (Self::Except(a), Self::Except(b)) => Self::Except(a & b),
        }
    }
}

/// The second walk, against the evaluation order.
struct LivenessWalk<'b> {
    body: &'b TypedBody,
    loop_reads: HashMap<TypedId, BTreeSet<LocalId>>,
    /// The nodes walked before. A node with two parents takes nothing.
    visited: Vec<bool>,
    last_uses: LastUses,
    /// The locals that are live after the current node.
    live: HashMap<LocalId, LiveComponents>,
    /// The earlier entries of `live`, so that the walk of a branch can be undone.
    journal: Vec<(LocalId, Option<LiveComponents>)>,
}

/// The difference of `live` between the beginning and the end of a branch. It only grows.
type LivenessChanges = HashMap<LocalId, LiveComponents>;

impl LivenessWalk<'_> {
    /// Marks the variables of the outermost `let`s as live at the end.
    fn keep_outer_lets(&mut self, mut node: TypedId) {
        while let TypedExpr::Let(binds, e) = &self.body.nodes[node].kind {
            for (pat, _) in binds {
                for_each_binding(pat, &mut |l| {
                    self.live.insert(l, LiveComponents::all());
                    if let Some(unread) = self.last_uses.unread.get_mut(l.0 as usize) {
                        *unread = false;
                    }
                });
            }
            node = *e;
        }
    }

    fn mark_live(&mut self, local: LocalId, fields: &LiveComponents) {
        let before = self.live.get(&local);
        let after = before.map_or_else(|| fields.clone(), |b| b.union(fields));
        if before != Some(&after) {
            self.journal.push((local, before.cloned()));
            self.live.insert(local, after);
        }
    }

    fn mark_take(&mut self, node: TypedId, takes: bool) {
        let seen = self.visited.get_mut(node.index()).map(|s| std::mem::replace(s, true));
        if let Some(slot) = self.last_uses.takes.get_mut(node.index()) {
            *slot = takes && seen == Some(false);
        }
    }

    /// Walks a branch, returns its reads, and restores `live`.
    fn walk_branch(&mut self, walk: impl FnOnce(&mut Self)) -> LivenessChanges {
        let mark = self.journal.len();
        walk(self);
        let mut changes = LivenessChanges::new();
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

    fn apply_changes(&mut self, changes: &LivenessChanges) {
        for (l, fields) in changes {
            self.mark_live(*l, fields);
        }
    }

    /// Records the locals that each branch of a choice must drop on entry: another branch reads
    /// them last.
    fn record_dead(&mut self, branches: &[(TypedId, LivenessChanges)]) {
        let read: BTreeSet<LocalId> = branches.iter().flat_map(|(_, c)| c.keys().copied()).collect();
        let last: Vec<LocalId> = read.into_iter().filter(|l| !self.live.contains_key(l)).collect();
        for (node, own) in branches {
            let dead: Vec<LocalId> = last.iter().filter(|l| !own.contains_key(l)).copied().collect();
            if !dead.is_empty() {
                self.last_uses.dead_on_entry.insert(*node, dead);
            }
        }
    }

    fn visit_expr(&mut self, node: TypedId) {
        ensure_sufficient_stack(|| self.visit_expr_inner(node));
    }

    fn visit_expr_inner(&mut self, node: TypedId) {
        let body = self.body;
        match &body.nodes[node].kind {
            TypedExpr::Local(l) if is_takable(body, *l) => {
                self.mark_take(node, !self.live.contains_key(l));
                self.mark_live(*l, &LiveComponents::all());
            }
            TypedExpr::Proj(inner, k) => match &body.nodes[*inner].kind {
                TypedExpr::Local(l) if is_takable(body, *l) => {
                    let live = self.live.get(l);
                    let (whole, part) = (live.is_none(), live.is_some_and(|f| !f.contains(*k)));
                    self.mark_take(*inner, whole);
                    self.mark_take(node, part);
                    self.mark_live(*l, &LiveComponents::Only(BTreeSet::from([*k])));
                }
                _ => self.visit_expr(*inner),
            },
            // The variable is read before the expression, which need not mention it.
            TypedExpr::Form(TypedForm::Deriv(l), args) => {
                self.visit_parts(args);
                if is_takable(body, *l) {
                    self.mark_live(*l, &LiveComponents::all());
                }
            }
            TypedExpr::With(base, updates) => {
                // Taking the base does not read the components that are replaced.
                if let TypedExpr::Local(l) = &body.nodes[*base].kind
                    && is_takable(body, *l)
                {
                    self.mark_take(*base, !self.live.contains_key(l));
                    let replaced = updates.iter().filter_map(|u| match u.target {
                        TypedUpdateTarget::Proj(k) if !u.is_add => Some(k),
                        _ => None,
                    });
                    self.mark_live(*l, &LiveComponents::Except(replaced.collect()));
                    let parts = children_in_order(body, node);
                    self.visit_parts(parts.split_last().map_or(&[], |(_, rest)| rest));
                } else {
                    self.visit_parts(&children_in_order(body, node));
                }
            }
            TypedExpr::Lambda(lambda) => {
                let live = std::mem::take(&mut self.live);
                let journal = std::mem::take(&mut self.journal);
                self.visit_expr(lambda.body);
                self.live = live;
                self.journal = journal;
                for l in &lambda.captures {
                    if is_takable(body, *l) {
                        self.mark_live(*l, &LiveComponents::all());
                    }
                }
            }
            TypedExpr::Let(binds, e) => {
                self.visit_expr(*e);
                for (_, value) in binds.iter().rev() {
                    self.visit_expr(*value);
                }
            }
            TypedExpr::If(arms, last) => {
                let mut branches = vec![(*last, self.walk_branch(|w| w.visit_expr(*last)))];
                let mut rest = branches.first().map(|b| b.1.clone()).unwrap_or_default();
                for (cond, e) in arms.iter().rev() {
                    let own = self.walk_branch(|w| w.visit_expr(*e));
                    rest = self.walk_branch(|w| {
                        w.apply_changes(&rest);
                        w.apply_changes(&own);
                        w.visit_expr(*cond);
                    });
                    branches.push((*e, own));
                }
                self.record_dead(&branches);
                self.apply_changes(&rest);
            }
            TypedExpr::Match(e, arms) => {
                let branches: Vec<_> = arms.iter().map(|(_, e)| (*e, self.walk_branch(|w| w.visit_expr(*e)))).collect();
                self.record_dead(&branches);
                for (_, changes) in &branches {
                    self.apply_changes(changes);
                }
                self.visit_expr(*e);
            }
            TypedExpr::Binder { vars, filter, body, .. } => {
                self.mark_loop_reads(node);
                self.visit_expr(*body);
                filter.iter().for_each(|e| self.visit_expr(*e));
                self.visit_ranges(vars);
            }
            TypedExpr::Fold { init, vars, body, yields, .. } => {
                self.mark_loop_reads(node);
                yields.iter().for_each(|e| self.visit_expr(*e));
                self.visit_expr(*body);
                self.visit_ranges(vars);
                self.visit_expr(*init);
            }
            TypedExpr::Loop { init, cond, body, .. } => {
                self.mark_loop_reads(node);
                self.visit_expr(*body);
                self.visit_expr(*cond);
                self.visit_expr(*init);
            }
            _ => self.visit_parts(&children_in_order(body, node)),
        }
    }

    /// Marks as live the outer locals that the loop reads, at the end of a step.
    fn mark_loop_reads(&mut self, node: TypedId) {
        for l in self.loop_reads.get(&node).cloned().unwrap_or_default() {
            self.mark_live(l, &LiveComponents::all());
        }
    }

    fn visit_parts(&mut self, parts: &[TypedId]) {
        for part in parts.iter().rev() {
            self.visit_expr(*part);
        }
    }

    fn visit_ranges(&mut self, vars: &[lang_types::tree::TypedIndexVar]) {
        for v in vars.iter().rev() {
            self.visit_parts(&range_parts(&v.range));
        }
    }
}
