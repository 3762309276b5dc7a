//! Values as text, type and shape first, and as JSON.

use lang_core::runtime::print::{Digits, Layout};
use lang_core::runtime::{Value, json as interp_json};
use lang_core::types::ty::Type;

use crate::{files, interrupt, out};

/// A value and its type, with the sizes of this run.
#[derive(Clone)]
pub(crate) struct Evaluated {
    pub(crate) value: Value,
    pub(crate) ty: Type,
    /// Whether the evaluation has effects. Then a result of `()` is not shown.
    pub(crate) acts: bool,
}

impl Evaluated {
    /// Whether it is an uninteresting `()`, such as the result of `print`.
    pub(crate) fn is_silent(&self) -> bool {
        self.acts && self.is_unit()
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
const MAX_TEXT: usize = 256 << 20;

/// The line width of program output if standard output is no terminal.
const PRINTED: usize = 1 << 20;

/// The settings for showing values. Without an explicit width, the terminal's is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// The number of significant digits of reals.
    pub(crate) digits: Digits,
    /// The number of characters in a line.
    pub(crate) width: Option<usize>,
    /// The number of elements above which the middle of an array is omitted.
    pub(crate) threshold: usize,
}

impl View {
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
    pub(crate) fn printed(self) -> Layout {
        let width = self.width.or_else(terminal_width).unwrap_or(PRINTED);
        Layout { width, ..self.layout() }
    }
}

/// Returns the width of the terminal on standard output, if it is one.
pub(crate) fn terminal_width() -> Option<usize> {
    width_if(out::on_terminal())
}

/// Returns the width of the terminal, if `terminal` is true.
pub(crate) fn width_if(terminal: bool) -> Option<usize> {
    let size = terminal.then(terminal_size::terminal_size).flatten();
    size.map(|(width, _)| usize::from(width.0))
}

/// Formats a value with its type, `[3]f64 = [1.0, 2.0, 3.0]`, after its name if it has one.
pub(crate) fn with_type(name: Option<&str>, evaluated: &Evaluated, view: View) -> String {
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    if let Value::Fun(_) = evaluated.value {
        // A function has no printable value, so only its type is shown.
        return format!("{name}{} = <function>", evaluated.ty);
    }
    let (head, layout) = (format!("{name}{} =", evaluated.ty), view.layout());
    text_of(&evaluated.value, layout.is_complete(), move |value| layout.show_after(&head, value))
}

/// Formats a value alone: `[1.0, 2.0, 3.0]`.
pub(crate) fn value(evaluated: &Evaluated, view: View) -> String {
    let layout = view.layout();
    text_of(&evaluated.value, layout.is_complete(), move |value| layout.show(value))
}

/// Formats a value as JSON; `None` if it exceeds `MAX_TEXT` bytes.
pub(crate) fn json(evaluated: &Evaluated) -> Option<String> {
    text_of(&evaluated.value, true, |value| interp_json::to_json(value, MAX_TEXT))
}

/// The number of elements above which an array that is shown in full is formatted on a separate
/// thread.
const LARGE: usize = 1 << 18;

/// Formats a value. A large one is formatted on a thread, so that Ctrl-C is answered meanwhile.
/// Outside a session, an interrupt ends the program; in a session, the result is empty.
fn text_of<T: Default + Send + 'static>(
    value: &Value,
    whole: bool,
    write: impl FnOnce(&Value) -> T + Send + 'static,
) -> T {
    if !whole || !is_large(value) {
        return write(value);
    }
    let value = value.clone();
    files::stoppable(move || write(&value)).unwrap_or_else(|| {
        interrupt::cuts_output();
        T::default()
    })
}

/// Whether the value is a large array, or a tuple or record with one as a direct component.
fn is_large(value: &Value) -> bool {
    match value {
        Value::Array(array) => array.count() > LARGE,
        Value::Tuple(tuple) => tuple.values().iter().any(is_large_array),
        Value::Record(record) => record.values().iter().any(is_large_array),
        _ => false,
    }
}

fn is_large_array(value: &Value) -> bool {
    matches!(value, Value::Array(array) if array.count() > LARGE)
}
