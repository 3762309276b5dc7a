//! **Offload policy.** Chooses the calls and loops to offload to compiled code
//! ([`super::generated`]): those that may be long.
//!
//! The interpreter evaluates a short expression itself. It also evaluates a `loop` with short
//! steps, unless machine code runs the whole loop. Otherwise each step costs as much in the engine
//! as about a hundred operations on scalars.

use std::collections::HashMap;
use std::sync::Arc;

use super::Interp;
use lang_base::GlobalName;
use lang_base::guarded;
use lang_runtime::code::{Code, Frame, Program};
use lang_runtime::failure::Eval;
use lang_runtime::{Asked, Taken, Value, within};
use lang_sizes::predicate::Poly;
use lang_types::tree::{Body, Callee, Expr, IndexRange, TId};
use lang_types::ty::Type;

/// Memoised facts about expressions that may be offloaded.
#[derive(Default)]
pub(super) struct Regions {
    /// Whether the interpreter offloads expressions at all.
    pub(super) wanted: bool,
    known: HashMap<(usize, TId), Region>,
    /// The contents of definitions. A definition under analysis has the default entry, which ends
    /// recursion.
    definitions: HashMap<GlobalName, Inside>,
}

/// The facts about one expression that may be offloaded.
struct Region {
    /// The body, which must stay alive because its address is part of the key.
    _body: Arc<Body>,
    /// Whether its text alone shows that it may be long.
    long: bool,
    /// The extents, if the work is proportional to the number of elements.
    flat: Option<Vec<Poly>>,
    /// Whether to evaluate it here always, because it has no compiled form.
    refused: bool,
    /// Whether it contains a `loop` with short steps.
    short_steps: bool,
}

/// The kinds of work in an expression and in all that it calls.
#[derive(Clone, Copy, Default)]
struct Inside {
    /// Whether it works on whole arrays.
    arrays: bool,
    /// Whether it contains a `loop` whose steps do not work on whole arrays.
    short_steps: bool,
}

/// The number of elements or steps below which the interpreter evaluates an expression itself.
const FEW: usize = 32;

impl Interp<'_> {
    /// Offloads an expression. Returns its value, or `None` if the interpreter must evaluate it.
    #[inline]
    pub(super) fn region(&mut self, code: &Arc<Code>, frame: &Frame, node: TId) -> Eval<Option<Value>> {
        if !self.regions.wanted || self.deriving > 0 || self.counting || self.trap {
            return Ok(None);
        }
        self.long_region(code, frame, node)
    }

    #[inline(never)]
    fn long_region(&mut self, code: &Arc<Code>, frame: &Frame, node: TId) -> Eval<Option<Value>> {
        let key = (Arc::as_ptr(code.body()).addr(), node);
        let Regions { known, definitions, .. } = &mut self.regions;
        let region = known.entry(key).or_insert_with(|| {
            let body = Arc::clone(code.body());
            let mut look = Look { program: self.program, known: definitions };
            // No other evaluator represents relations.
            let refused = matches!(body.nodes[node].ty, Type::Rel(_));
            let short_steps = look.inside(&body, node).short_steps;
            let flat = look.flat(&body, node);
            Region { long: is_long(&body, node), _body: body, flat, refused, short_steps }
        });
        if region.refused || !region.long && !frame.slots.iter().flatten().any(is_many) {
            return Ok(None);
        }
        let short_steps = region.short_steps;
        let at = code.at(code.body().nodes[node].span);
        if let Some(extents) = region.flat.clone() {
            let mut elements = 1_usize;
            for extent in &extents {
                // Evaluation reports the failure.
                let Ok(extent) = self.size(at, frame, extent) else { return Ok(None) };
                elements = elements.saturating_mul(usize::try_from(extent).unwrap_or(0));
            }
            if elements < FEW {
                return Ok(None);
            }
        }
        let asked = Asked::Here { code, frame, node, short_steps };
        match self.ask(at, &asked)? {
            Taken::Value(value) => return Ok(Some(value)),
            Taken::Never => self.regions.known.get_mut(&key).into_iter().for_each(|region| region.refused = true),
            _ => {}
        }
        Ok(None)
    }
}

/// An analysis of the work in expressions, memoised for definitions.
struct Look<'l> {
    program: &'l dyn Program,
    known: &'l mut HashMap<GlobalName, Inside>,
}

impl Look<'_> {
    fn definition(&mut self, name: &GlobalName) -> Inside {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        self.known.insert(name.clone(), Inside::default());
        let body = self.program.body(name);
        let inside = body.and_then(|body| body.root.map(|root| guarded(|| self.inside(&body, root))));
        let inside = inside.unwrap_or_default();
        self.known.insert(name.clone(), inside);
        inside
    }

    /// Returns the extents of a binder whose filter and body do no work on whole arrays.
    fn flat(&mut self, body: &Body, node: TId) -> Option<Vec<Poly>> {
        let Expr::Binder { vars, filter, body: inner, .. } = &body.nodes[node].kind else { return None };
        let arrays = filter.iter().chain([inner]).any(|part| self.inside(body, *part).arrays);
        let extents = vars.iter().map(|v| if let IndexRange::Extent(n) = &v.range { Some(n.clone()) } else { None });
        extents.collect::<Option<_>>().filter(|_| !arrays)
    }

    fn inside(&mut self, body: &Body, root: TId) -> Inside {
        let mut all = Inside::default();
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            let node = &body.nodes[id];
            match &node.kind {
                // Derivatives are offloaded in any case.
                Expr::Binder { .. } | Expr::Special(..) => all.arrays = true,
                Expr::Call { callee: Callee::Def(name, _), .. } => {
                    let called = self.definition(name);
                    all.arrays |= called.arrays;
                    all.short_steps |= called.short_steps;
                }
                Expr::Fold { .. } | Expr::Loop { .. } => {
                    let steps = step_parts(&node.kind);
                    let inside = self.steps(body, &steps);
                    all.arrays |= inside.arrays;
                    let short = !inside.arrays && matches!(node.kind, Expr::Loop { .. });
                    all.short_steps |= inside.short_steps || short;
                    node.kind.for_each_child(&body.nodes, &mut |child| {
                        if !steps.contains(&Some(child)) {
                            open.push(child);
                        }
                    });
                }
                Expr::Arith(..) | Expr::Scalar(..) | Expr::With(..) => all.arrays |= matches!(node.ty, Type::Array(..)),
                _ => {}
            }
            if !matches!(node.kind, Expr::Special(..) | Expr::Fold { .. } | Expr::Loop { .. }) {
                node.kind.for_each_child(&body.nodes, &mut |child| open.push(child));
            }
        }
        all
    }

    /// Returns the work in one step of a loop, which evaluates these parts.
    fn steps(&mut self, body: &Body, parts: &[Option<TId>]) -> Inside {
        let parts = parts.iter().flatten().map(|part| guarded(|| self.inside(body, *part)));
        parts.fold(Inside::default(), |all, part| Inside {
            arrays: all.arrays || part.arrays,
            short_steps: all.short_steps || part.short_steps,
        })
    }
}

/// Returns the parts of a loop that each step evaluates.
fn step_parts(of: &Expr) -> [Option<TId>; 2] {
    match of {
        Expr::Fold { body, yields, .. } => [Some(*body), *yields],
        Expr::Loop { cond, body, .. } => [Some(*cond), Some(*body)],
        _ => [None, None],
    }
}

/// Returns whether an expression contains an integer literal of at least [`FEW`], or the value of a
/// top-level `let`.
fn is_long(body: &Body, root: TId) -> bool {
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        match &body.nodes[id].kind {
            Expr::Global(_) => return true,
            Expr::Int(n) if usize::try_from(*n).is_ok_and(|n| n >= FEW) => return true,
            kind => kind.for_each_child(&body.nodes, &mut |child| open.push(child)),
        }
    }
    false
}

/// Returns whether a value is, or contains, an array of at least [`FEW`] elements or an integer of
/// at least [`FEW`], which may be a trip count.
fn is_many(value: &Value) -> bool {
    let many = |part: &Value| match part {
        Value::I64(n) => usize::try_from(*n).is_ok_and(|n| n >= FEW),
        Value::Array(array) => array.count() >= FEW,
        _ => false,
    };
    // The compiled evaluator cannot use a value of a recursive type.
    within(value, |part| many(part).then_some(())).is_ok_and(|found| found.is_some())
}
