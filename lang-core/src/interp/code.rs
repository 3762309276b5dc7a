//! An item ready to run, and the frame of one run of it.

use std::collections::HashMap;
use std::sync::Arc;

use super::failure::At;
use super::figure::Figure;
use super::memory::Charge;
use super::plan::Plan;
use super::print::Layout;
use super::progress::Progress;
use super::rt_type::RtType;
use super::value::Value;
use crate::base::{Code as ErrorCode, GlobalName, Name, Span};
use crate::predicate::LocalId;
use crate::resolve::forms::LoadOption;
use crate::types::info::TypeInfo;
use crate::types::tree::{Body, Expr, TId};
use crate::types::ty::{Signature, Type};

/// A body, the item it belongs to, and where its locals are read for the last time.
pub struct Code {
    pub(super) item: GlobalName,
    pub(super) body: Arc<Body>,
    pub(super) plan: Plan,
    /// Field names of each record expression, shared by all records it makes.
    records: HashMap<TId, Arc<[Name]>>,
}

impl Code {
    /// The code of an item. With `keep`, the variables that a top-level item binds stay in its
    /// frame.
    pub(super) fn new(item: &GlobalName, body: Arc<Body>, keep: bool) -> Arc<Self> {
        let plan = Plan::new(&body, keep);
        let mut records = HashMap::new();
        for (id, node) in body.nodes.iter() {
            if let (Expr::Record(_), Type::Record(fields)) = (&node.kind, &node.ty) {
                records.insert(id, fields.iter().map(|f| f.0.clone()).collect());
            }
        }
        Arc::new(Self { item: item.clone(), body, plan, records })
    }

    /// The item.
    #[must_use]
    pub fn item(&self) -> &GlobalName {
        &self.item
    }

    /// Its body.
    #[must_use]
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    pub(super) fn field_names(&self, record: TId) -> Option<Arc<[Name]>> {
        self.records.get(&record).cloned()
    }

    pub(super) fn at(&self, span: Span) -> At<'_> {
        At { code: self, span }
    }
}

/// The environment σ of ATL's Figs. 4 and 5: the values of the locals of one run of a body.
pub struct Frame {
    pub(super) slots: Vec<Option<Value>>,
    pub(super) types: Arc<[RtType]>,
    #[expect(dead_code, reason = "held for its drop")]
    charge: Charge,
}

impl Frame {
    pub(super) fn new(locals: usize, types: Arc<[RtType]>, charge: Charge) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(locals, || None);
        Self { slots, types, charge }
    }

    /// The value of a local, if it has one.
    #[must_use]
    pub fn get(&self, local: LocalId) -> Option<&Value> {
        self.slots.get(local.0 as usize)?.as_ref()
    }

    /// Type arguments of the definition that runs.
    #[must_use]
    pub fn types(&self) -> &[RtType] {
        &self.types
    }

    pub(super) fn set(&mut self, local: LocalId, value: Value) {
        if let Some(slot) = self.slots.get_mut(local.0 as usize) {
            *slot = Some(value);
        }
    }

    pub(super) fn take(&mut self, local: LocalId) -> Option<Value> {
        self.slots.get_mut(local.0 as usize)?.take()
    }
}

/// What the interpreter knows of other items.
pub trait Program {
    /// The body of a definition; `None` where it has errors.
    fn body(&self, name: &GlobalName) -> Option<Arc<Body>>;
    /// What a type is.
    fn type_info(&self, ty: &GlobalName) -> Option<Arc<TypeInfo>>;
    /// The type of a definition.
    fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>>;
    /// The value of a variable of a top-level `let`, if it has been computed.
    fn global(&self, name: &GlobalName) -> Option<Value>;
}

/// What a program does to the world.
pub trait Host {
    /// Writes a line of output, given without its newline.
    fn print(&mut self, text: &str);
    /// Shows what `dbg` was applied to: where, and the text of the value.
    fn debug(&mut self, item: &GlobalName, span: Span, text: &str);
    /// How `print` and `dbg` lay values out.
    fn layout(&self) -> Layout {
        Layout::default()
    }
    /// How far the work under way is, outermost first, after the flag of [`Interp::watch`](super::Interp::watch)
    /// was set; nothing when work that was told of has ended.
    fn progress(&mut self, work: &[Progress]) {
        let _ = work;
    }
    /// Seconds since some moment.
    fn seconds(&mut self) -> f64;
    /// The value in a data file, for the `load` at this place. It must have this type: sizes there are
    /// numbers, and those that the file is to tell are locals. A host without files refuses.
    fn load(
        &mut self,
        item: &GlobalName,
        span: Span,
        file: &str,
        options: &[(LoadOption, Value)],
        ty: &Type,
    ) -> Result<Value, Refusal> {
        let _ = (item, span, file, options, ty);
        Err(Refusal::new(ErrorCode::E0510, "there are no files to load from here"))
    }
    /// Writes a value to a data file, for the `save` at this place.
    fn save(&mut self, item: &GlobalName, span: Span, value: &Value, file: &str) -> Result<(), Refusal> {
        let _ = (item, span, value, file);
        Err(Refusal::new(ErrorCode::E0510, "there are no files to save to here"))
    }
    /// Draws, for the `plot` at this place.
    fn plot(&mut self, item: &GlobalName, span: Span, figure: &Figure) -> Result<(), Refusal> {
        let _ = (item, span, figure);
        Err(Refusal::new(ErrorCode::E0510, "there is nothing to draw on here"))
    }
}

/// Why a host does not do what it is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Its stable code.
    pub code: ErrorCode,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl Refusal {
    /// Without help.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None }
    }
}
