//! Values as text, type and shape first, and as JSON.

use lang_core::runtime::print::{Digits, Layout};
use lang_core::runtime::{Value, json as interp_json};
use lang_core::types::ty::Type;

use crate::{files, interrupt, out};

/// A value and its type, with the sizes of this run.
#[derive(Clone)]
pub(crate) struct EvaluatedValue {
    pub(crate) value: Value,
    pub(crate) ty: Type,
    /// Whether the evaluation has effects. Then a result of `()` is not shown.
    pub(crate) has_effects: bool,
}

impl EvaluatedValue {
    /// Whether it is an uninteresting `()`, such as the result of `print`.
    pub(crate) fn is_silent(&self) -> bool {
        self.has_effects && self.is_unit()
    }

    /// Whether the type has the single value `()`, or consists of such types.
    pub(crate) fn is_unit(&self) -> bool {
        is_unit(&self.ty)
    }
}

fn is_unit(ty: &Type) -> bool {
    match ty {
        Type::Tuple(parts) => parts.iter().all(is_unit),
        Type::Array(_, element) => is_unit(element),
        _ => false,
    }
}

/// The most bytes of a value's JSON.
const MAX_JSON_TEXT: usize = 256 << 20;

/// The line width of program output if standard output is no terminal.
const MAX_LINE: usize = 1 << 20;

/// The settings for showing values. Without an explicit width, the terminal's is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisplaySettings {
    /// The number of significant digits of reals.
    pub(crate) digits: Digits,
    /// The number of characters in a line.
    pub(crate) width: Option<usize>,
    /// The number of elements above which the middle of an array is omitted.
    pub(crate) threshold: usize,
}

impl DisplaySettings {
    pub(crate) fn new(digits: Digits) -> Self {
        Self { digits, width: None, threshold: Layout::default().threshold }
    }

    /// Returns the current layout. It is computed each time, because terminals change their width.
    pub(crate) fn layout(self) -> Layout {
        let usual = Layout::default();
        let width = self.width.or_else(terminal_width).unwrap_or(usual.width);
        Layout { digits: self.digits, width, threshold: self.threshold }
    }

    /// Returns the layout of program output. On a pipe or in a file, a line must stay one line.
    pub(crate) fn program_layout(self) -> Layout {
        let width = self.width.or_else(terminal_width).unwrap_or(MAX_LINE);
        Layout { width, ..self.layout() }
    }
}

/// Returns the width of the terminal on standard output, if it is one.
pub(crate) fn terminal_width() -> Option<usize> {
    terminal_width_if(out::is_stdout_terminal())
}

/// Returns the width of the terminal, if `terminal` is true.
pub(crate) fn terminal_width_if(terminal: bool) -> Option<usize> {
    let size = terminal.then(terminal_size::terminal_size).flatten();
    size.map(|(width, _)| usize::from(width.0))
}

/// Formats a value with its type, `[3]f64 = [1.0, 2.0, 3.0]`, after its name if it has one.
pub(crate) fn format_with_type(name: Option<&str>, evaluated: &EvaluatedValue, view: DisplaySettings) -> String {
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    if let Value::Fun(_) = evaluated.value {
        // A function has no printable value, so only its type is shown.
        return format!("{name}{} = <function>", evaluated.ty);
    }
    let (head, layout) = (format!("{name}{} =", evaluated.ty), view.layout());
    format_interruptible(&evaluated.value, layout.is_complete(), move |value| layout.show_after(&head, value))
}

/// Formats a value alone: `[1.0, 2.0, 3.0]`.
pub(crate) fn format_value(evaluated: &EvaluatedValue, view: DisplaySettings) -> String {
    let layout = view.layout();
    format_interruptible(&evaluated.value, layout.is_complete(), move |value| layout.show(value))
}

/// Formats a value as JSON; `None` if it exceeds `MAX_TEXT` bytes.
pub(crate) fn value_json(evaluated: &EvaluatedValue) -> Option<String> {
    format_interruptible(&evaluated.value, true, |value| interp_json::to_json(value, MAX_JSON_TEXT))
}

/// The number of elements above which an array that is shown in full is formatted on a separate
/// thread.
const LARGE_ARRAY: usize = 1 << 18;

/// Formats a value. A large one is formatted on a thread, so that Ctrl-C is answered meanwhile.
/// Outside a session, an interrupt ends the program; in a session, the result is empty.
fn format_interruptible<T: Default + Send + 'static>(
    value: &Value,
    whole: bool,
    write: impl FnOnce(&Value) -> T + Send + 'static,
) -> T {
    if !whole || !is_large(value) {
        return write(value);
    }
    let value = value.clone();
    files::run_interruptible(move || write(&value)).unwrap_or_else(|| {
        interrupt::should_drop_output();
        T::default()
    })
}

/// Whether the value is a large array, or a tuple or record with one as a direct component.
fn is_large(value: &Value) -> bool {
    match value {
        Value::Array(array) => array.count() > LARGE_ARRAY,
        Value::Tuple(tuple) => tuple.values().iter().any(is_large_array),
        Value::Record(record) => record.values().iter().any(is_large_array),
        _ => false,
    }
}

fn is_large_array(value: &Value) -> bool {
    matches!(value, Value::Array(array) if array.count() > LARGE_ARRAY)
}
