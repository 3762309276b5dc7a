//! **Loop-invariant work under an index**: `sum i: f(x)[i]` computes all of `f(x)` for every `i`.
//!
//! The warning covers a call or a derivative whose value is subscripted by the index of an
//! enclosing binder. It must mention nothing that the binder binds, so that a `let` before the
//! binder can hold it.
//!
//! Some cases are excluded:
//!
//! - The call is under a condition that is invariant in the binder, because the condition may
//!   prevent its evaluation.
//! - The definition calls itself.
//! - All arguments and results are small for every run.

use std::collections::HashMap;

use super::super::tree::{
    Callee, TypedExpr as Typed, TypedForm, TypedId, TypedIndexRange, TypedIndexVar, TypedSubscript,
};
use super::super::ty::Type;
use super::TypeChecker;
use lang_base::{Code, Diagnostic, Name, Span};
use lang_sizes::predicate::LocalId;
use lang_syntax::ast::Item;

/// The maximal number of elements that may be recomputed without a warning, as in the product of a
/// 3×3 matrix and a vector.
const MAX_CHEAP_ELEMENTS: i128 = 16;

/// A step of the walk. The stack holds the next step last.
enum InvariantStep {
    Visit(TypedId),
    Enter(EnclosingFrame),
    Leave,
}

/// An enclosing construct of a node.
enum EnclosingFrame {
    /// A binder or a `fold` over these indices, and whether it has a warning.
    Binder { word: &'static str, indices: Vec<LocalId>, has_warning: bool },
    /// A condition, with the number of enclosing binders up to the innermost one that it depends
    /// on.
    Condition(usize),
}

/// The path to a node.
#[derive(Default)]
struct EnclosingPath {
    frames: Vec<EnclosingFrame>,
    /// The number of binders on the path.
    binder_count: usize,
    /// The number of binders at the binding of each local, its own included.
    binding_levels: HashMap<LocalId, usize>,
}

impl TypeChecker<'_> {
    /// Warns of invariant work that is recomputed for every index. The body must have no errors.
    pub(super) fn check_loop_invariants(&mut self, root: TypedId) {
        let mut around = EnclosingPath::default();
        let mut steps = vec![InvariantStep::Visit(root)];
        while let Some(step) = steps.pop() {
            match step {
                InvariantStep::Visit(node) => {
                    self.record_binding_levels(node, &mut around);
                    let found = self.invariant_work_warning(node, &mut around);
                    found.into_iter().for_each(|d| self.report(d));
                    let mut next = self.child_steps(node, &around);
                    next.reverse();
                    steps.append(&mut next);
                }
                InvariantStep::Enter(frame) => {
                    around.binder_count += usize::from(matches!(frame, EnclosingFrame::Binder { .. }));
                    around.frames.push(frame);
                }
                InvariantStep::Leave => {
                    if let Some(EnclosingFrame::Binder { .. }) = around.frames.pop() {
                        around.binder_count -= 1;
                    }
                }
            }
        }
    }

    /// Records the binding depth of the locals that a node binds.
    fn record_binding_levels(&self, node: TypedId, around: &mut EnclosingPath) {
        let kind = &self.nodes[node].kind;
        let level = around.binder_count + usize::from(matches!(kind, Typed::Binder { .. } | Typed::Fold { .. }));
        let levels = &mut around.binding_levels;
        kind.for_each_local(&mut |_| {}, &mut |l| {
            levels.insert(l, level);
        });
    }

    /// Returns the steps of a node's children in evaluation order, each with its enclosing
    /// constructs.
    fn child_steps(&self, node: TypedId, around: &EnclosingPath) -> Vec<InvariantStep> {
        let mut steps = Vec::new();
        let under = |condition: usize, n: TypedId| {
            [InvariantStep::Enter(EnclosingFrame::Condition(condition)), InvariantStep::Visit(n), InvariantStep::Leave]
        };
        match &self.nodes[node].kind {
            Typed::Binder { kind, vars, filter, body } => {
                self.range_steps(vars, &mut steps);
                steps.push(InvariantStep::Enter(binder_frame(kind.keyword(), vars)));
                steps.extend(filter.iter().map(|p| InvariantStep::Visit(*p)));
                steps.push(InvariantStep::Visit(*body));
                steps.push(InvariantStep::Leave);
            }
            Typed::Fold { is_scan: scan, init, vars, body, yields, .. } => {
                steps.push(InvariantStep::Visit(*init));
                self.range_steps(vars, &mut steps);
                steps.push(InvariantStep::Enter(binder_frame(if *scan { "scan" } else { "fold" }, vars)));
                steps.extend([*body].into_iter().chain(*yields).map(InvariantStep::Visit));
                steps.push(InvariantStep::Leave);
            }
            Typed::Guard(p, e) => {
                steps.push(InvariantStep::Visit(*p));
                steps.extend(under(self.dependence_level(*p, around), *e));
            }
            Typed::And(items) | Typed::Or(items) => {
                let mut condition = None;
                for n in items {
                    match condition {
                        None => steps.push(InvariantStep::Visit(*n)),
                        Some(level) => steps.extend(under(level, *n)),
                    }
                    condition = condition.max(Some(self.dependence_level(*n, around)));
                }
            }
            Typed::If(arms, last) => {
                let mut condition = None;
                for (p, e) in arms {
                    match condition {
                        None => steps.push(InvariantStep::Visit(*p)),
                        Some(level) => steps.extend(under(level, *p)),
                    }
                    let level = condition.unwrap_or(0).max(self.dependence_level(*p, around));
                    condition = Some(level);
                    steps.extend(under(level, *e));
                }
                steps.extend(under(condition.unwrap_or(0), *last));
            }
            Typed::Match(e, arms) => {
                steps.push(InvariantStep::Visit(*e));
                let level = self.dependence_level(*e, around);
                arms.iter().for_each(|(_, n)| steps.extend(under(level, *n)));
            }
            kind => kind.for_each_child(&self.nodes, &mut |n| steps.push(InvariantStep::Visit(n))),
        }
        steps
    }

    /// Adds the bounds of index ranges. All count as outside the binder, because the later ones
    /// seldom contain a call.
    fn range_steps(&self, vars: &[TypedIndexVar], steps: &mut Vec<InvariantStep>) {
        for v in vars {
            match &v.range {
                TypedIndexRange::Extent(_) => {}
                TypedIndexRange::Below(n) => steps.push(InvariantStep::Visit(*n)),
                TypedIndexRange::Range(a, b, by) => {
                    steps.extend([*a, *b].into_iter().chain(*by).map(InvariantStep::Visit))
                }
            }
        }
    }

    /// Returns the number of the innermost enclosing binder, counted from outside, that binds a
    /// local in the expression; 0 if none does.
    fn dependence_level(&self, node: TypedId, around: &EnclosingPath) -> usize {
        let mut level = 0;
        self.for_each_read(node, &mut |l| level = level.max(around.binding_levels.get(&l).copied().unwrap_or(0)));
        level
    }

    fn for_each_read(&self, node: TypedId, f: &mut dyn FnMut(LocalId)) {
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            let kind = &self.nodes[node].kind;
            kind.for_each_local(f, &mut |_| {});
            kind.for_each_child(&self.nodes, &mut |n| pending.push(n));
        }
    }

    /// Returns the warning if this node subscripts invariant work.
    fn invariant_work_warning(&self, node: TypedId, around: &mut EnclosingPath) -> Option<Diagnostic> {
        let Typed::Index(base, subscripts) = &self.nodes[node].kind else { return None };
        if around.binder_count == 0 {
            return None;
        }
        let work = self.costly_call(*base)?;
        let mut used = Vec::new();
        for s in subscripts {
            match s {
                TypedSubscript::Index { index, .. } => self.for_each_read(*index, &mut |l| used.push(l)),
                TypedSubscript::Range { from, to, .. } => {
                    [*from, *to].into_iter().for_each(|e| self.for_each_read(e, &mut |l| used.push(l)));
                }
                TypedSubscript::FullAxis => {}
            }
        }
        let own = |f: &EnclosingFrame| matches!(f, EnclosingFrame::Binder { indices, .. } if indices.iter().any(|i| used.contains(i)));
        let place = around.frames.iter().rposition(own)?;
        let number =
            around.frames.iter().take(place + 1).filter(|f| matches!(f, EnclosingFrame::Binder { .. })).count();
        let unchanged = |f: &EnclosingFrame| matches!(f, EnclosingFrame::Condition(level) if *level < number);
        if around.frames.iter().skip(place).any(unchanged) || self.dependence_level(work, around) >= number {
            return None;
        }
        let Some(EnclosingFrame::Binder { word, indices, has_warning }) = around.frames.get_mut(place) else {
            return None;
        };
        // Each binder has at most one warning.
        if std::mem::replace(has_warning, true) {
            return None;
        }
        let names: Vec<Name> = indices.iter().map(|i| self.local_name(*i)).collect();
        let names = names.join(", ");
        let places = indices.iter().filter_map(|i| self.local_info(*i)).map(|i| i.span);
        let bound = places.reduce(Span::to).unwrap_or_default();
        let phrase = self.operand_phrase(work);
        let message = format!("this is recomputed for every `{names}`");
        let d = Diagnostic::new(Code::W0314, self.node_span(work), message)
            .related(bound, format!("it depends on no index of this `{word}`"));
        let binder = match *word {
            "fold" | "scan" => format!("{word} … for {names}"),
            _ => format!("{word} {names}"),
        };
        Some(d.help(format!("hoist it: `let y = {phrase} in {binder}: …`, and index `y`")))
    }

    /// Returns the call that computes an indexed value, if its cost is not trivial.
    fn costly_call(&self, mut node: TypedId) -> Option<TypedId> {
        loop {
            match &self.nodes[node].kind {
                Typed::Proj(inner, _) | Typed::Checked(_, inner) | Typed::Opened(_, inner) => node = *inner,
                Typed::Form(TypedForm::Deriv(_), _) => return Some(node),
                Typed::Call { callee, args } => {
                    let costs = match callee {
                        Callee::Ctor(..) => false,
                        Callee::Def(name, _) if self.is_own_definition(&name.module, &name.name) => false,
                        Callee::Value(f) if matches!(self.nodes[*f].kind, Typed::Form(TypedForm::Derive(..), _)) => {
                            true
                        }
                        Callee::Def(..) | Callee::Builtin(..) | Callee::Value(_) => {
                            args.iter().chain([&node]).any(|n| !is_small_type(&self.metas.zonk(&self.nodes[*n].ty)))
                        }
                    };
                    return costs.then_some(node);
                }
                _ => return None,
            }
        }
    }

    /// Returns whether the name is that of the definition being checked.
    fn is_own_definition(&self, module: &str, name: &str) -> bool {
        matches!(&self.tree.item, Item::Def(def) if *self.module == *module && def.name.name == *name)
    }
}

fn binder_frame(word: &'static str, vars: &[TypedIndexVar]) -> EnclosingFrame {
    EnclosingFrame::Binder { word, indices: vars.iter().map(|v| v.local).collect(), has_warning: false }
}

/// Returns whether every value of the type has at most [`MAX_CHEAP_ELEMENTS`] elements per array.
fn is_small_type(t: &Type) -> bool {
    match t {
        Type::Array(..) => {
            let (dims, element) = t.split_array();
            let known = dims.iter().map(|n| n.as_constant());
            let count = known.reduce(|a, b| a?.checked_mul(b?)).flatten();
            count.is_some_and(|count| count <= MAX_CHEAP_ELEMENTS) && is_small_type(element)
        }
        Type::Tuple(items) => items.iter().all(is_small_type),
        Type::Record(fields) => fields.iter().all(|(_, t)| is_small_type(t)),
        Type::Rel(_) | Type::Data(..) => false,
        Type::Scalar(_) | Type::Str | Type::Param(..) | Type::Meta(_) | Type::Fun(_) | Type::Error => true,
    }
}
