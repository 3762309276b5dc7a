//! What is evaluated elsewhere: derivatives, and expressions that are worth it. Whoever was named by
//! [`Interp::take_derivatives`] or [`Interp::take_regions`] is asked first; what they do not take is evaluated here, by its
//! definition. They never decide how a run fails: what fails there is run again here, and told as everything else is.
//!
//! A run that counts, or that stops where a NaN comes up, is evaluated here: both are about the operations of this
//! interpreter.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::code::{Code, Frame};
use super::derive::Derived;
use super::failure::{At, Eval};
use super::memory::Memory;
use super::progress::Work;
use super::{Interp, Value};
use crate::base::Code as ErrorCode;
use crate::predicate::LocalId;
use crate::resolve::forms::Derivative;
use crate::types::tree::{Body, Expr, TId};
use crate::types::ty::Type;

/// Whoever evaluates parts of a run.
pub trait Elsewhere {
    /// The value of what is asked for.
    fn take(&self, asked: &Asked<'_>, run: &Around<'_>) -> Taken;
}

/// The run that something is asked for in.
pub struct Around<'r> {
    /// Its memory.
    pub memory: &'r Memory,
    /// Is set when the run has to end.
    pub interrupt: &'r AtomicBool,
    /// Is told how many parts of the work are done, of how many.
    pub done: &'r dyn Fn(usize, usize),
}

/// What is asked for.
pub enum Asked<'v> {
    /// An operator that was applied to a function, at arguments.
    Operator(&'v Derived, &'v [Value]),
    /// `deriv(of, by)`
    Variable {
        /// Where it stands.
        code: &'v Arc<Code>,
        /// What is known there.
        frame: &'v Frame,
        /// The whole.
        node: TId,
        /// The variable.
        by: LocalId,
        /// What is differentiated.
        of: TId,
    },
    /// The value of an expression.
    Here {
        /// Where it stands.
        code: &'v Arc<Code>,
        /// What is known there.
        frame: &'v Frame,
        /// The expression.
        node: TId,
    },
}

impl Asked<'_> {
    /// The operator, if a derivative is asked for; `deriv` is a Jacobian.
    #[must_use]
    pub fn operator(&self) -> Option<Derivative> {
        match self {
            Self::Operator(derived, _) => Some(derived.operator()),
            Self::Variable { .. } => Some(Derivative::Jacobian),
            Self::Here { .. } => None,
        }
    }
}

/// What came of it.
pub enum Taken {
    /// The value.
    Value(Value),
    /// It is to be evaluated here.
    Not,
    /// So is whatever is like it: it has no other form.
    Never,
    /// Someone asked for the run to end.
    Interrupted,
}

/// What is known of expressions that may be evaluated elsewhere.
#[derive(Default)]
pub(super) struct Regions {
    /// Are expressions asked for?
    wanted: bool,
    known: HashMap<(usize, TId), Region>,
}

/// An expression that may be evaluated elsewhere.
struct Region {
    /// Keeps the body where it is, as the key says.
    _body: Arc<Body>,
    /// The text alone tells that it may be long.
    long: bool,
    /// It has no other form.
    refused: bool,
}

/// What has fewer elements and steps than these is evaluated here at once.
const FEW: usize = 32;

impl<'a> Interp<'a> {
    /// From here on, these are asked first for every derivative.
    pub fn take_derivatives(&mut self, elsewhere: &'a dyn Elsewhere) {
        self.elsewhere = Some(elsewhere);
    }

    /// From here on, these are asked first for every derivative, and for every loop and call that may be long.
    pub fn take_regions(&mut self, elsewhere: &'a dyn Elsewhere) {
        self.elsewhere = Some(elsewhere);
        self.regions.wanted = true;
    }

    /// The value of an expression, if it is evaluated elsewhere.
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
        let region = self.regions.known.entry(key).or_insert_with(|| {
            let body = Arc::clone(code.body());
            // A relation is a value of the interpreter's alone.
            let refused = matches!(body.nodes[node].ty, Type::Rel(_));
            Region { long: is_long(&body, node), _body: body, refused }
        });
        if region.refused || !region.long && !frame.slots.iter().flatten().any(is_many) {
            return Ok(None);
        }
        let at = code.at(code.body().nodes[node].span);
        let asked = Asked::Here { code, frame, node };
        match self.ask(at, &asked)? {
            Taken::Value(value) => return Ok(Some(value)),
            Taken::Never => self.regions.known.get_mut(&key).into_iter().for_each(|region| region.refused = true),
            Taken::Not | Taken::Interrupted => {}
        }
        Ok(None)
    }

    /// The derivative, if it is taken elsewhere.
    #[inline(never)]
    pub(super) fn taken(&mut self, at: At<'_>, asked: &Asked<'_>) -> Eval<Option<Value>> {
        Ok(match self.ask(at, asked)? {
            Taken::Value(value) => Some(value),
            Taken::Not | Taken::Never | Taken::Interrupted => None,
        })
    }

    fn ask(&mut self, at: At<'_>, asked: &Asked<'_>) -> Eval<Taken> {
        let Some(elsewhere) = self.elsewhere.filter(|_| !self.counting && !self.trap) else { return Ok(Taken::Not) };
        self.begin_work();
        let pace = self.follow(Work::Statements(asked.operator()), -1);
        let Self { works, host, memory, interrupt, .. } = self;
        let told = RefCell::new((works, host));
        let done = |done, total| {
            let (works, host) = &mut *told.borrow_mut();
            works.statements(&pace, &mut ***host, done, total);
        };
        let taken = elsewhere.take(asked, &Around { memory, interrupt, done: &done });
        self.end_work();
        match taken {
            Taken::Interrupted => Err(at.fail(ErrorCode::E0507, "interrupted")),
            taken => Ok(taken),
        }
    }
}

/// Has an expression an integer in its text that is no small one, or the value of a top-level `let`?
fn is_long(body: &Body, root: TId) -> bool {
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        let node = &body.nodes[id];
        match &node.kind {
            Expr::Global(_) => return true,
            Expr::Int(n) if usize::try_from(*n).is_ok_and(|n| n >= FEW) => return true,
            kind => kind.for_each_child(&body.nodes, &mut |child| open.push(child)),
        }
    }
    false
}

/// Is it an array of some elements, a number that may be one of steps, or a whole with such a part?
fn is_many(value: &Value) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::I64(n) if usize::try_from(*n).is_ok_and(|n| n >= FEW) => return true,
            Value::Array(array) if array.count() >= FEW => return true,
            Value::Tuple(items) => open.extend(items.values()),
            Value::Record(record) => open.extend(record.values()),
            Value::Data(cell) => open.extend(cell.args()),
            _ => {}
        }
    }
    false
}
