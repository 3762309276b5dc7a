//! **Executable items** and their frames, and the interfaces to the rest of the program
//! ([`Program`]) and to the outside ([`Host`]).

use std::collections::HashMap;
use std::sync::Arc;

use super::failure::FailureSite;
use super::figure::Figure;
use super::last_use::LastUses;
use super::memory::MemoryCharge;
use super::print::Layout;
use super::progress::WorkProgress;
use super::rt_type::RuntimeType;
use super::value::Value;
use lang_base::{Code as ErrorCode, GlobalName, Name, Span};
use lang_resolve::forms::LoadOption;
use lang_sizes::predicate::LocalId;
use lang_types::tree::{TypedBody, TypedExpr, TypedId};
use lang_types::ty::{Signature, Type};
use lang_types::type_info::TypeInfo;

/// A body with its item and the last uses of its locals.
pub struct RunnableBody {
    /// The item that contains the body.
    pub item: GlobalName,
    /// The checked body.
    pub body: Arc<TypedBody>,
    /// The last uses of the locals.
    pub last_uses: LastUses,
    /// The field names of each record expression, shared by all records that it builds.
    record_fields: HashMap<TypedId, Arc<[Name]>>,
}

impl RunnableBody {
    /// Prepares the code of an item. With `keep`, the variables that a top-level item binds stay in
    /// its frame.
    pub fn new(item: &GlobalName, body: Arc<TypedBody>, keep: bool) -> Arc<Self> {
        let plan = LastUses::new(&body, keep);
        let mut records = HashMap::new();
        for (id, node) in body.nodes.iter() {
            if let (TypedExpr::Record(_), Type::Record(fields)) = (&node.kind, &node.ty) {
                records.insert(id, fields.iter().map(|f| f.0.clone()).collect());
            }
        }
        Arc::new(Self { item: item.clone(), body, last_uses: plan, record_fields: records })
    }

    /// Returns the item.
    #[must_use]
    pub fn item(&self) -> &GlobalName {
        &self.item
    }

    /// Returns the body.
    #[must_use]
    pub fn body(&self) -> &Arc<TypedBody> {
        &self.body
    }

    /// Returns the field names of a record expression.
    pub fn field_names(&self, record: TypedId) -> Option<Arc<[Name]>> {
        self.record_fields.get(&record).cloned()
    }

    /// Returns a place in the item.
    pub fn site(&self, span: Span) -> FailureSite<'_> {
        FailureSite { code: self, span }
    }
}

/// The environment σ of ATL's Figs. 4 and 5: the values of the locals in one run of a body.
pub struct LocalFrame {
    /// The value of each local, if it has one.
    pub slots: Vec<Option<Value>>,
    /// The type arguments of the run.
    pub types: Arc<[RuntimeType]>,
    #[expect(dead_code, reason = "held for its drop")]
    charge: MemoryCharge,
}

impl LocalFrame {
    /// Creates a frame in which no local has a value. `charge` pays for its memory.
    pub fn new(locals: usize, types: Arc<[RuntimeType]>, charge: MemoryCharge) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(locals, || None);
        Self { slots, types, charge }
    }

    /// Returns the value of a local, if it has one.
    #[must_use]
    pub fn get(&self, local: LocalId) -> Option<&Value> {
        self.slots.get(local.0 as usize)?.as_ref()
    }

    /// Returns the type arguments of the definition.
    #[must_use]
    pub fn types(&self) -> &[RuntimeType] {
        &self.types
    }

    /// Sets the value of a local. Ignores a local that the frame does not contain.
    pub fn set(&mut self, local: LocalId, value: Value) {
        if let Some(slot) = self.slots.get_mut(local.0 as usize) {
            *slot = Some(value);
        }
    }

    /// Moves the value of a local out, if it has one.
    pub fn take(&mut self, local: LocalId) -> Option<Value> {
        self.slots.get_mut(local.0 as usize)?.take()
    }
}

/// The other items of the program, as the interpreter sees them.
pub trait Program {
    /// Returns the body of a definition, or `None` if it has errors.
    fn body(&self, name: &GlobalName) -> Option<Arc<TypedBody>>;
    /// Returns the declaration of a type.
    fn type_info(&self, ty: &GlobalName) -> Option<Arc<TypeInfo>>;
    /// Returns the type of a definition.
    fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>>;
    /// Returns the value of a variable of a top-level `let`, if it has been computed.
    fn global(&self, name: &GlobalName) -> Option<Value>;
}

/// The effects of a program on the outside.
pub trait Host {
    /// Writes a line of output. `text` has no final newline.
    fn print(&mut self, text: &str);
    /// Shows an operand of `dbg`: its place, and its value as text.
    fn debug(&mut self, item: &GlobalName, span: Span, text: &str);
    /// Returns the layout of values in `print` and `dbg`.
    fn layout(&self) -> Layout {
        Layout::default()
    }
    /// Reports the progress of the current work, outermost first, after the flag of
    /// `lang_interp::Interp::set_report_flag` was set. The list is empty when reported work has
    /// ended.
    fn progress(&mut self, work: &[WorkProgress]) {
        let _ = work;
    }
    /// Returns the seconds since an arbitrary fixed moment.
    fn seconds(&mut self) -> f64;
    /// Reads the value in a data file, for the `load` at this place. The value must have this type.
    /// Known sizes in it are constants, and sizes that the file determines are locals. A host
    /// without files refuses.
    fn load(
        &mut self,
        item: &GlobalName,
        span: Span,
        file: &str,
        options: &[(LoadOption, Value)],
        ty: &Type,
    ) -> Result<Value, Refusal> {
        let _ = (item, span, file, options, ty);
        Err(Refusal::new(ErrorCode::E0510, "this environment cannot load files"))
    }
    /// Writes a value to a data file, for the `save` at this place.
    fn save(&mut self, item: &GlobalName, span: Span, value: &Value, file: &str) -> Result<(), Refusal> {
        let _ = (item, span, value, file);
        Err(Refusal::new(ErrorCode::E0510, "this environment cannot save files"))
    }
    /// Draws a figure, for the `plot` at this place.
    fn plot(&mut self, item: &GlobalName, span: Span, figure: &Figure) -> Result<(), Refusal> {
        let _ = (item, span, figure);
        Err(Refusal::new(ErrorCode::E0510, "this environment cannot draw plots"))
    }
}

/// The reason why a host refuses a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Its stable code.
    pub code: ErrorCode,
    /// The problem, one sentence without a full stop.
    pub message: String,
    /// The advice, if any.
    pub help: Option<String>,
    /// Whether the reason is that a file does not exist.
    pub is_missing_file: bool,
}

impl Refusal {
    /// Creates a refusal without advice.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None, is_missing_file: false }
    }
}
