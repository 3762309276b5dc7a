//! **Pretty-printer** of values for people.
//!
//! A value that fits in a line takes one, except a matrix of several rows. Such a matrix has one
//! aligned row per line, and blocks of more axes are separated by an empty line. A tuple, record or
//! constructor that needs several lines begins each component on a new line. A chain of one
//! constructor (a list) is filled like a paragraph.
//!
//! The printer elides the middle of large arrays and the deep parts of trees. After [`MAX_BYTES`]
//! bytes it begins nothing new. The output is Iverson syntax: without elision, it reads back.

use super::super::array::Array;
use super::super::value::{DataCell, Value};
use super::grid::CellGrid;
use super::number::Digits;
use super::{ValueNotation, components, print_value, to_full_text, write_quoted};

/// The layout options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The number of significant digits of reals.
    pub digits: Digits,
    /// The line width in characters, used at possible breaks.
    pub width: usize,
    /// The number of elements beyond which the middle of an array is elided.
    pub threshold: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Self { digits: Digits::Usual, width: 80, threshold: 1000 }
    }
}

/// The minimal line width, because narrower lines have no room to indent.
const MIN_WIDTH: usize = 20;

/// The number of parts that are shown at each end of an elided axis.
const SHOWN_ENDS: usize = 3;

/// The threshold for arrays without elements, because empty rows carry little information.
const EMPTY_THRESHOLD: usize = 12;

/// The number of bytes after which nothing new is begun.
const MAX_BYTES: usize = 64 << 10;

/// The number of bytes after which nothing new is begun, even without elision.
const MAX_COMPLETE_BYTES: usize = 256 << 20;

/// The number of elements beyond which an array without elision is not aligned.
const MAX_ALIGNED: usize = 1 << 20;

/// The nesting depth beyond which a component that does not fit in a line is elided.
const MAX_DEPTH: usize = 8;

/// The length beyond which a chain of one constructor is elided.
const MAX_CHAIN: usize = 100;
/// The number of links shown of an elided chain.
const CHAIN_HEAD: usize = 20;

/// The length below which a chain is laid out as a tree instead of a list.
const MIN_CHAIN: usize = 4;

/// The label length beyond which a broken value moves to the line below its label.
const MAX_LABEL: usize = 16;

/// Returns whether the extents are those of a matrix of several rows, or of a block.
pub fn has_rows(dims: &[usize]) -> bool {
    let rows = dims.split_last().map_or(0, |(_, rows)| rows.iter().fold(1usize, |n, d| n.saturating_mul(*d)));
    rows > 1 && dims.last() != Some(&0)
}

impl Layout {
    /// Whether nothing is elided.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.digits == Digits::All
    }

    /// Prints a value.
    #[must_use]
    pub fn show(&self, value: &Value) -> String {
        let mut writer = LayoutWriter::new(self);
        writer.show(value);
        writer.out
    }

    /// Prints a value after its name and type: on the same line if it fits, else below.
    #[must_use]
    pub fn show_after(&self, head: &str, value: &Value) -> String {
        let mut writer = LayoutWriter::new(self);
        writer.write_text(head);
        writer.write_text(" ");
        match print_value(value, ValueNotation::Line(writer.layout), writer.room(0)) {
            Some(line) => writer.write_text(&line),
            None => {
                writer.break_line(0);
                writer.show(value);
            }
        }
        writer.out
    }

    /// Prints texts and values side by side, as `print` does. Texts have no quotes.
    #[must_use]
    pub fn message(&self, values: &[Value]) -> String {
        let mut writer = LayoutWriter::new(self);
        let mut block = false;
        for (i, value) in values.iter().enumerate() {
            if block {
                writer.break_line(0);
            } else if i > 0 {
                writer.write_text(" ");
            }
            if let Value::Str(text) = value {
                let last = text.rfind('\n').and_then(|at| text.get(at + 1..));
                writer.out.push_str(text);
                writer.column = last.map_or(writer.column + text.chars().count(), |last| last.chars().count());
                block = false;
                continue;
            }
            let before = writer.out.len();
            match print_value(value, ValueNotation::Line(writer.layout), writer.room(0)) {
                Some(line) => writer.write_text(&line),
                None => {
                    if writer.column > writer.layout.width / 3 {
                        writer.break_line(0);
                    }
                    writer.show(value);
                }
            }
            block = writer.out.get(before..).is_some_and(|shown| shown.contains('\n'));
        }
        writer.out
    }

    /// Returns the number of parts to show at each end of the axes, or `None` to show the whole
    /// array.
    pub fn shown_ends(&self, dims: &[usize]) -> Option<usize> {
        // Even without elements, an array has brackets.
        let product =
            |most: usize| dims.iter().take_while(|d| **d > 0).fold(1usize, |n, d| n.saturating_mul((*d).min(most)));
        let most = if dims.contains(&0) { self.threshold.min(EMPTY_THRESHOLD) } else { self.threshold };
        if self.is_complete() || product(usize::MAX) <= most {
            return None;
        }
        // With many axes fewer parts are shown, to bound the total.
        (1..=SHOWN_ENDS).rev().find(|ends| product(2 * ends + 1) <= self.threshold.max(100)).or(Some(1))
    }
}

/// A pending piece of output.
enum PrintTask {
    /// A value, followed by `tail` characters on its last line. If it must be broken, it may move
    /// below its label, which begins at column `home`.
    Value { value: Value, tail: usize, home: usize, depth: usize },
    /// The components of a value, one per line.
    Items(ComponentTask),
    /// One level of an array, one part per line.
    Axis(AxisTask),
    /// A number of closing parentheses.
    Close { count: usize, indent: usize },
}

struct ComponentTask {
    value: Value,
    next: usize,
    indent: usize,
    tail: usize,
    close: &'static str,
    depth: usize,
}

struct AxisTask {
    array: Array,
    axis: usize,
    start: usize,
    next: usize,
    ends: Option<usize>,
    indent: usize,
    depth: usize,
}

struct LayoutWriter {
    layout: Layout,
    out: String,
    column: usize,
    tasks: Vec<PrintTask>,
    /// The rows of the current array, if they are aligned.
    grid: Option<CellGrid>,
}

impl LayoutWriter {
    fn new(layout: &Layout) -> Self {
        let layout = Layout { width: layout.width.max(MIN_WIDTH), ..*layout };
        Self { layout, out: String::new(), column: 0, tasks: Vec::new(), grid: None }
    }

    fn write_text(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn write_spaces(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n(' ', count));
        self.column += count;
    }

    fn break_line(&mut self, indent: usize) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        self.column = 0;
        self.write_spaces(indent);
    }

    /// Returns the number of characters that fit in the line before a tail of this length.
    fn room(&self, tail: usize) -> usize {
        self.layout.width.saturating_sub(self.column + tail)
    }

    /// Returns the maximal indentation.
    fn max_indent(&self) -> usize {
        self.layout.width / 2
    }

    fn is_over_limit(&self) -> bool {
        self.out.len() > if self.layout.is_complete() { MAX_COMPLETE_BYTES } else { MAX_BYTES }
    }

    /// Prints a value at the current position.
    fn show(&mut self, value: &Value) {
        self.tasks.push(PrintTask::Value { value: value.clone(), tail: 0, home: self.column, depth: 0 });
        while let Some(task) = self.tasks.pop() {
            match task {
                PrintTask::Value { value, tail, home, depth } => self.write_value(&value, tail, home, depth),
                PrintTask::Items(items) => self.write_component(items),
                PrintTask::Axis(axis) => self.write_axis(axis),
                PrintTask::Close { count, indent } => {
                    for _ in 0..count {
                        if self.column >= self.layout.width {
                            self.break_line(indent);
                        }
                        self.write_text(")");
                    }
                }
            }
        }
    }

    fn write_value(&mut self, value: &Value, tail: usize, home: usize, depth: usize) {
        if self.is_over_limit() {
            return self.write_text("…");
        }
        let line = ValueNotation::Line(self.layout);
        if let Some(line) = print_value(value, line, self.room(tail)) {
            return self.write_text(&line);
        }
        let below = (home + 2).min(self.max_indent());
        if self.column > (home + MAX_LABEL).min(self.max_indent()) {
            self.break_line(below);
            if let Some(line) = print_value(value, line, self.room(tail)) {
                return self.write_text(&line);
            }
        }
        let (open, close) = match value {
            Value::Array(array) => return self.write_array(array, depth),
            Value::Str(text) => return self.write_string(text),
            Value::Rel(relation) => {
                self.write_text("relation(");
                let row = |row: &[i64]| row.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
                let grid = CellGrid::from_texts(
                    relation.len(),
                    &self.layout,
                    &mut relation.rows().map(|r| format!("[{}]", row(r))),
                );
                self.write_vector(&grid);
                self.write_text(&format!(", {})", row(relation.dims())));
                return;
            }
            Value::Tuple(_) => (String::from("("), ")"),
            Value::Record(_) => (String::from("{"), "}"),
            Value::Data(cell) if !cell.args().is_empty() => (format!("{}(", cell.tag().name), ")"),
            // The value has no break points.
            _ => return self.write_text(&print_value(value, line, usize::MAX).unwrap_or_default()),
        };
        if let Value::Data(cell) = value
            && self.write_chain(cell, depth)
        {
            return;
        }
        if depth >= MAX_DEPTH && !self.layout.is_complete() {
            return self.write_text("…");
        }
        self.write_text(&open);
        let indent = self.column.min(self.max_indent());
        self.tasks.push(PrintTask::Items(ComponentTask {
            value: value.clone(),
            next: 0,
            indent,
            tail,
            close,
            depth: depth + 1,
        }));
    }

    fn write_component(&mut self, items: ComponentTask) {
        let (values, names) = components(&items.value);
        let Some(value) = values.get(items.next).cloned() else { return self.write_text(items.close) };
        let last = items.next + 1 == values.len();
        if items.next > 0 {
            self.write_text(",");
            self.break_line(items.indent);
        }
        if self.is_over_limit() {
            self.write_text("…");
            return self.write_text(items.close);
        }
        if let Some(name) = names.and_then(|names| names.get(items.next)) {
            self.write_text(name);
            self.write_text(": ");
        }
        // At most eight closing brackets are reserved, because a longer run may start a line.
        let tail = if last { (items.tail + 1).min(8) } else { 1 };
        let (home, depth) = (items.indent, items.depth);
        self.tasks.push(PrintTask::Items(ComponentTask { next: items.next + 1, ..items }));
        self.tasks.push(PrintTask::Value { value, tail, home, depth });
    }

    /// Writes text in quotes, and elides the end of a very long one.
    fn write_string(&mut self, text: &str) {
        let most = if self.layout.is_complete() { usize::MAX } else { self.layout.threshold };
        let mut quoted = String::new();
        let cut = text.char_indices().nth(most).map(|(at, _)| at);
        write_quoted(text.get(..cut.unwrap_or(text.len())).unwrap_or(text), &mut quoted);
        self.write_text(&quoted);
        if cut.is_some() {
            self.write_text("…");
        }
    }

    /// Writes a chain: a constructor whose last argument has the same constructor, and so on, as in
    /// `Cons(1, Cons(2, …`. Returns false, without output, if the value is not a chain or another
    /// argument does not fit in a line.
    fn write_chain(&mut self, cell: &DataCell, depth: usize) -> bool {
        let whole = self.layout.is_complete();
        let most = if whole { usize::MAX } else { MAX_CHAIN };
        let mut links = vec![cell];
        let mut rest = cell.args().last();
        while let Some(Value::Data(next)) = rest
            && next.tag() == cell.tag()
            && links.len() <= most
        {
            links.push(next);
            rest = next.args().last();
        }
        let cut = links.len() > most;
        let (Some(rest), true) = (rest, links.len() >= MIN_CHAIN) else { return false };
        if cut {
            links.truncate(CHAIN_HEAD);
        }
        let (before, column) = (self.out.len(), self.column);
        let indent = (self.column + 2).min(self.max_indent());
        for link in &links {
            let Some(head) = self.format_link(link, indent) else {
                self.out.truncate(before);
                self.column = column;
                return false;
            };
            if self.column + head.chars().count() > self.layout.width && self.column > indent {
                self.break_line(indent);
            }
            self.write_text(&head);
            if self.is_over_limit() {
                self.write_text("…");
                return true;
            }
        }
        self.tasks.push(PrintTask::Close { count: links.len(), indent });
        if cut {
            self.write_text("…");
        } else {
            self.tasks.push(PrintTask::Value { value: rest.clone(), tail: 1, home: indent, depth: depth + 1 });
        }
        true
    }

    /// Returns a link of a chain without its last argument, if it fits in a line.
    fn format_link(&self, link: &DataCell, indent: usize) -> Option<String> {
        let (_, others) = link.args().split_last()?;
        let mut head = format!("{}(", link.tag().name);
        for other in others {
            let room = self.layout.width.checked_sub(indent + head.chars().count())?;
            head.push_str(&print_value(other, ValueNotation::Line(self.layout), room)?);
            head.push_str(", ");
        }
        Some(head)
    }

    fn write_array(&mut self, array: &Array, depth: usize) {
        let dims = array.dims();
        let ends = self.layout.shown_ends(dims);
        if ends.is_none() && array.count() > self.layout.threshold.max(MAX_ALIGNED) {
            let text = to_full_text(&Value::Array(array.clone()), MAX_COMPLETE_BYTES);
            return self.write_text(&text.unwrap_or_else(|| "[…]".to_owned()));
        }
        // The brackets of a row take about two characters per axis.
        let room = self.room(2 * dims.len());
        self.grid = CellGrid::from_array(array, ends, &self.layout, room);
        if let (Some(grid), [_]) = (&mut self.grid, dims) {
            let grid = std::mem::take(grid);
            self.grid = None;
            return self.write_vector(&grid);
        }
        if self.grid.is_none() && depth >= MAX_DEPTH && !self.layout.is_complete() {
            return self.write_text("[…]");
        }
        self.write_text("[");
        let indent = self.column;
        self.tasks.push(PrintTask::Axis(AxisTask {
            array: array.clone(),
            axis: 0,
            start: 0,
            next: 0,
            ends,
            indent,
            depth,
        }));
    }

    fn write_axis(&mut self, a: AxisTask) {
        let dims = a.array.dims();
        let n = dims.get(a.axis).copied().unwrap_or(0);
        let below = dims.get(a.axis + 1..).unwrap_or_default().to_vec();
        let mut next = a.next;
        if next >= n {
            self.write_text("]");
            if a.axis == 0 {
                self.grid = None;
            }
            return;
        }
        if next > 0 {
            self.separate_parts(below.len(), a.indent);
        }
        if self.is_over_limit() {
            return self.write_text("…]");
        }
        if let Some(ends) = a.ends
            && next == ends
            && n > 2 * ends + 1
        {
            self.write_text("…");
            self.separate_parts(below.len(), a.indent);
            next = n - ends;
        }
        let at = a.start + next * below.iter().product::<usize>();
        let (array, ends, depth) = (a.array.clone(), a.ends, a.depth);
        let home = a.indent;
        let axis = a.axis + 1;
        self.tasks.push(PrintTask::Axis(AxisTask { next: next + 1, ..a }));
        match below.len() {
            0 => {
                let value = array.element(at);
                self.tasks.extend(value.map(|value| PrintTask::Value { value, tail: 2, home, depth: depth + 1 }));
            }
            1 if self.grid.is_some() => self.write_row(),
            _ => {
                self.write_text("[");
                let indent = self.column;
                self.tasks.push(PrintTask::Axis(AxisTask { array, axis, start: at, next: 0, ends, indent, depth }));
            }
        }
    }

    /// Moves to the next part of an axis. Blocks are separated by an empty line.
    fn separate_parts(&mut self, axes: usize, indent: usize) {
        self.write_text(",");
        if axes > 1 {
            self.break_line(0);
        }
        self.break_line(indent);
    }

    /// Writes the next row of the matrix.
    fn write_row(&mut self) {
        let Some(mut grid) = self.grid.take() else { return };
        self.write_text("[");
        let (indent, mut pad) = (self.column, 0);
        let cells = grid.next_row();
        for (i, (cell, column)) in cells.iter().zip(grid.columns()).enumerate() {
            if i > 0 {
                self.write_text(",");
                // All rows of a matrix break at the same columns, because they are aligned.
                if self.column + pad + 1 + column.width() + 2 > self.layout.width {
                    self.break_line(indent);
                } else {
                    self.write_spaces(pad + 1);
                }
            }
            let before = column.indent(cell);
            self.write_spaces(before);
            self.write_text(&cell.text);
            pad = column.width().saturating_sub(before + cell.width());
        }
        if grid.is_lone_truth() && self.layout.is_complete() {
            self.write_text(",");
        }
        self.write_text("]");
        self.grid = Some(grid);
    }

    /// Writes a vector on several lines.
    fn write_vector(&mut self, grid: &CellGrid) {
        self.write_text("[");
        let (indent, mut pad) = (self.column, 0);
        let column = grid.common_column();
        // The elements are aligned in columns, as many per line as fit.
        let line = (self.room(1) + 1) / (column.width() + 2);
        for (i, cell) in grid.cells().iter().enumerate() {
            if i > 0 {
                self.write_text(",");
                if i % line.max(1) == 0 {
                    self.break_line(indent);
                } else {
                    self.write_spaces(pad + 1);
                }
            }
            let before = column.indent(cell);
            self.write_spaces(before);
            self.write_text(&cell.text);
            pad = column.width().saturating_sub(before + cell.width());
        }
        if grid.is_lone_truth() && self.layout.is_complete() {
            self.write_text(",");
        }
        self.write_text("]");
    }
}
