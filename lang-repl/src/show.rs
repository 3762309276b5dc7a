//! Values as people read them, type and shape first, and as JSON.

use lang_core::interp::print::{Digits, Layout};
use lang_core::interp::{Value, json as interp_json};
use lang_core::types::ty::Type;

use crate::{files, interrupt, out};

/// A value and its type, sizes as they are in this run.
#[derive(Clone)]
pub(crate) struct Evaluated {
    pub(crate) value: Value,
    pub(crate) ty: Type,
    /// What was evaluated does something: then there is no `()` to show.
    pub(crate) acts: bool,
}

impl Evaluated {
    /// Is it `()` that nobody asked for, as what `print` gives is?
    pub(crate) fn is_silent(&self) -> bool {
        self.acts && self.is_unit()
    }

    /// Does it consist of nothing?
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

/// JSON of more bytes than this is not made of a value.
const MAX_TEXT: usize = 256 << 20;

/// How wide a printed line may be where there is no terminal.
const PRINTED: usize = 1 << 20;

/// How values are shown. Where no width is set it is that of the terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// How many significant digits reals have.
    pub(crate) digits: Digits,
    /// So many characters a line has.
    pub(crate) width: Option<usize>,
    /// Of an array of more elements the middle is left out.
    pub(crate) threshold: usize,
}

impl View {
    pub(crate) fn new(digits: Digits) -> Self {
        Self { digits, width: None, threshold: Layout::default().threshold }
    }

    /// The layout of what is shown now. Terminals change their width.
    pub(crate) fn layout(self) -> Layout {
        let usual = Layout::default();
        let width = self.width.or_else(terminal_width).unwrap_or(usual.width);
        Layout { digits: self.digits, width, threshold: self.threshold }
    }

    /// The layout of what programs print. Who reads a pipe or a file wants a line to stay one line.
    pub(crate) fn printed(self) -> Layout {
        let width = self.width.or_else(terminal_width).unwrap_or(PRINTED);
        Layout { width, ..self.layout() }
    }
}

/// How wide the terminal is that values and plots are shown on, if it is one.
pub(crate) fn terminal_width() -> Option<usize> {
    width_if(out::on_terminal())
}

/// How wide the terminal is, if the stream in question is one.
pub(crate) fn width_if(terminal: bool) -> Option<usize> {
    let size = terminal.then(terminal_size::terminal_size).flatten();
    size.map(|(width, _)| usize::from(width.0))
}

/// `[3]f64 = [1.0, 2.0, 3.0]`, after a name if it has one.
pub(crate) fn with_type(name: Option<&str>, evaluated: &Evaluated, view: View) -> String {
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    if let Value::Fun(_) = evaluated.value {
        // Its type is told.
        return format!("{name}{} = <function>", evaluated.ty);
    }
    let (head, layout) = (format!("{name}{} =", evaluated.ty), view.layout());
    text_of(&evaluated.value, layout.is_whole(), move |value| layout.show_after(&head, value))
}

/// `[1.0, 2.0, 3.0]`
pub(crate) fn value(evaluated: &Evaluated, view: View) -> String {
    let layout = view.layout();
    text_of(&evaluated.value, layout.is_whole(), move |value| layout.show(value))
}

/// The value as JSON, unless it is too large for a text.
pub(crate) fn json(evaluated: &Evaluated) -> Option<String> {
    text_of(&evaluated.value, true, |value| interp_json::to_json(value, MAX_TEXT))
}

/// Arrays of more elements take long to write in full.
const LARGE: usize = 1 << 18;

/// The text of a value. That of a large one is made on a thread, so that Ctrl-C is answered meanwhile: outside
/// sessions that ends the program, and in them there is no text.
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

/// Is there a large array in it, not inside others?
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
