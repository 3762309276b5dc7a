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

use super::super::tree::{Callee, Expr as Typed, IndexRange, IndexVar, Special, Subscript, TId};
use super::super::ty::Type;
use super::Checker;
use lang_base::{Code, Diagnostic, Name, Span};
use lang_sizes::predicate::LocalId;
use lang_syntax::ast::Item;

/// The maximal number of elements that may be recomputed without a warning, as in the product of a
/// 3×3 matrix and a vector.
const FEW: i128 = 16;

/// A step of the walk. The stack holds the next step last.
enum Step {
    Visit(TId),
    Enter(Frame),
    Leave,
}

/// An enclosing construct of a node.
enum Frame {
    /// A binder or a `fold` over these indices, and whether it has a warning.
    Run { word: &'static str, indices: Vec<LocalId>, told: bool },
    /// A condition, with the number of enclosing binders up to the innermost one that it depends
    /// on.
    Condition(usize),
}

/// The path to a node.
#[derive(Default)]
struct Around {
    frames: Vec<Frame>,
    /// The number of binders on the path.
    runs: usize,
    /// The number of binders at the binding of each local, its own included.
    levels: HashMap<LocalId, usize>,
}

impl Checker<'_> {
    /// Warns of invariant work that is recomputed for every index. The body must have no errors.
    pub(super) fn check_repeated(&mut self, root: TId) {
        let mut around = Around::default();
        let mut steps = vec![Step::Visit(root)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Visit(node) => {
                    self.note_bound(node, &mut around);
                    let found = self.repeated(node, &mut around);
                    found.into_iter().for_each(|d| self.report(d));
                    let mut next = self.parts(node, &around);
                    next.reverse();
                    steps.append(&mut next);
                }
                Step::Enter(frame) => {
                    around.runs += usize::from(matches!(frame, Frame::Run { .. }));
                    around.frames.push(frame);
                }
                Step::Leave => {
                    if let Some(Frame::Run { .. }) = around.frames.pop() {
                        around.runs -= 1;
                    }
                }
            }
        }
    }

    /// Records the binding depth of the locals that a node binds.
    fn note_bound(&self, node: TId, around: &mut Around) {
        let kind = &self.nodes[node].kind;
        let level = around.runs + usize::from(matches!(kind, Typed::Binder { .. } | Typed::Fold { .. }));
        let levels = &mut around.levels;
        kind.for_each_local(&mut |_| {}, &mut |l| {
            levels.insert(l, level);
        });
    }

    /// Returns the steps of a node's children in evaluation order, each with its enclosing
    /// constructs.
    fn parts(&self, node: TId, around: &Around) -> Vec<Step> {
        let mut steps = Vec::new();
        let under = |condition: usize, n: TId| [Step::Enter(Frame::Condition(condition)), Step::Visit(n), Step::Leave];
        match &self.nodes[node].kind {
            Typed::Binder { kind, vars, filter, body } => {
                self.ranges(vars, &mut steps);
                steps.push(Step::Enter(run(kind.keyword(), vars)));
                steps.extend(filter.iter().map(|p| Step::Visit(*p)));
                steps.push(Step::Visit(*body));
                steps.push(Step::Leave);
            }
            Typed::Fold { scan, init, vars, body, yields, .. } => {
                steps.push(Step::Visit(*init));
                self.ranges(vars, &mut steps);
                steps.push(Step::Enter(run(if *scan { "scan" } else { "fold" }, vars)));
                steps.extend([*body].into_iter().chain(*yields).map(Step::Visit));
                steps.push(Step::Leave);
            }
            Typed::Guard(p, e) => {
                steps.push(Step::Visit(*p));
                steps.extend(under(self.level(*p, around), *e));
            }
            Typed::And(items) | Typed::Or(items) => {
                let mut condition = None;
                for n in items {
                    match condition {
                        None => steps.push(Step::Visit(*n)),
                        Some(level) => steps.extend(under(level, *n)),
                    }
                    condition = condition.max(Some(self.level(*n, around)));
                }
            }
            Typed::If(arms, last) => {
                let mut condition = None;
                for (p, e) in arms {
                    match condition {
                        None => steps.push(Step::Visit(*p)),
                        Some(level) => steps.extend(under(level, *p)),
                    }
                    let level = condition.unwrap_or(0).max(self.level(*p, around));
                    condition = Some(level);
                    steps.extend(under(level, *e));
                }
                steps.extend(under(condition.unwrap_or(0), *last));
            }
            Typed::Match(e, arms) => {
                steps.push(Step::Visit(*e));
                let level = self.level(*e, around);
                arms.iter().for_each(|(_, n)| steps.extend(under(level, *n)));
            }
            kind => kind.for_each_child(&self.nodes, &mut |n| steps.push(Step::Visit(n))),
        }
        steps
    }

    /// Adds the bounds of index ranges. All count as outside the binder, because the later ones
    /// seldom contain a call.
    fn ranges(&self, vars: &[IndexVar], steps: &mut Vec<Step>) {
        for v in vars {
            match &v.range {
                IndexRange::Extent(_) => {}
                IndexRange::Below(n) => steps.push(Step::Visit(*n)),
                IndexRange::Range(a, b, by) => steps.extend([*a, *b].into_iter().chain(*by).map(Step::Visit)),
            }
        }
    }

    /// Returns the number of the innermost enclosing binder, counted from outside, that binds a
    /// local in the expression; 0 if none does.
    fn level(&self, node: TId, around: &Around) -> usize {
        let mut level = 0;
        self.for_each_read(node, &mut |l| level = level.max(around.levels.get(&l).copied().unwrap_or(0)));
        level
    }

    fn for_each_read(&self, node: TId, f: &mut dyn FnMut(LocalId)) {
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            let kind = &self.nodes[node].kind;
            kind.for_each_local(f, &mut |_| {});
            kind.for_each_child(&self.nodes, &mut |n| pending.push(n));
        }
    }

    /// Returns the warning if this node subscripts invariant work.
    fn repeated(&self, node: TId, around: &mut Around) -> Option<Diagnostic> {
        let Typed::Index(base, subscripts) = &self.nodes[node].kind else { return None };
        if around.runs == 0 {
            return None;
        }
        let work = self.work(*base)?;
        let mut used = Vec::new();
        for s in subscripts {
            match s {
                Subscript::At { index, .. } => self.for_each_read(*index, &mut |l| used.push(l)),
                Subscript::Range { from, to, .. } => {
                    [*from, *to].into_iter().for_each(|e| self.for_each_read(e, &mut |l| used.push(l)));
                }
                Subscript::Whole => {}
            }
        }
        let own = |f: &Frame| matches!(f, Frame::Run { indices, .. } if indices.iter().any(|i| used.contains(i)));
        let place = around.frames.iter().rposition(own)?;
        let number = around.frames.iter().take(place + 1).filter(|f| matches!(f, Frame::Run { .. })).count();
        let unchanged = |f: &Frame| matches!(f, Frame::Condition(level) if *level < number);
        if around.frames.iter().skip(place).any(unchanged) || self.level(work, around) >= number {
            return None;
        }
        let Some(Frame::Run { word, indices, told }) = around.frames.get_mut(place) else { return None };
        // Each binder has at most one warning.
        if std::mem::replace(told, true) {
            return None;
        }
        let names: Vec<Name> = indices.iter().map(|i| self.name_of(*i)).collect();
        let names = names.join(", ");
        let places = indices.iter().filter_map(|i| self.local(*i)).map(|i| i.span);
        let bound = places.reduce(Span::to).unwrap_or_default();
        let phrase = self.phrase(work);
        let message = format!("this is computed again for every `{names}`");
        let d = Diagnostic::new(Code::W0314, self.span(work), message)
            .related(bound, format!("nothing in it depends on what this `{word}` binds"));
        let binder = match *word {
            "fold" | "scan" => format!("{word} … for {names}"),
            _ => format!("{word} {names}"),
        };
        Some(d.help(format!("name it before: `let y = {phrase} in {binder}: …`, and index `y`")))
    }

    /// Returns the call that computes an indexed value, if its cost is not trivial.
    fn work(&self, mut node: TId) -> Option<TId> {
        loop {
            match &self.nodes[node].kind {
                Typed::Proj(inner, _) | Typed::Checked(_, inner) | Typed::Opened(_, inner) => node = *inner,
                Typed::Special(Special::Deriv(_), _) => return Some(node),
                Typed::Call { callee, args } => {
                    let costs = match callee {
                        Callee::Ctor(..) => false,
                        Callee::Def(name, _) if self.is_own(&name.module, &name.name) => false,
                        Callee::Value(f) if matches!(self.nodes[*f].kind, Typed::Special(Special::Derive(..), _)) => {
                            true
                        }
                        Callee::Def(..) | Callee::Builtin(..) | Callee::Value(_) => {
                            args.iter().chain([&node]).any(|n| !few(&self.metas.zonk(&self.nodes[*n].ty)))
                        }
                    };
                    return costs.then_some(node);
                }
                _ => return None,
            }
        }
    }

    /// Returns whether the name is that of the definition being checked.
    fn is_own(&self, module: &str, name: &str) -> bool {
        matches!(&self.tree.item, Item::Def(def) if *self.module == *module && def.name.name == *name)
    }
}

fn run(word: &'static str, vars: &[IndexVar]) -> Frame {
    Frame::Run { word, indices: vars.iter().map(|v| v.local).collect(), told: false }
}

/// Returns whether every value of the type has at most [`FEW`] elements per array.
fn few(t: &Type) -> bool {
    match t {
        Type::Array(..) => {
            let (dims, element) = t.peel();
            let known = dims.iter().map(|n| n.as_constant());
            let count = known.reduce(|a, b| a?.checked_mul(b?)).flatten();
            count.is_some_and(|count| count <= FEW) && few(element)
        }
        Type::Tuple(items) => items.iter().all(few),
        Type::Record(fields) => fields.iter().all(|(_, t)| few(t)),
        Type::Rel(_) | Type::Data(..) => false,
        Type::Scalar(_) | Type::Str | Type::Param(..) | Type::Meta(_) | Type::Fun(_) | Type::Error => true,
    }
}
