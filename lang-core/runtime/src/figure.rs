//! **Plot data.** The layers and options of a `plot`, built from values.
//! `lang_interp::special_forms` builds a figure and hands it to the host, which decides how it
//! looks.

use std::sync::Arc;

use super::array::Array;
use super::relation::Relation;
use super::value::Value;
use lang_base::Name;
use lang_resolve::forms::{PlotKind, PlotOption};
use lang_types::tree;

/// A plot.
pub struct Figure {
    /// The layers, the bottom one first. Never empty.
    pub layers: Vec<PlotLayer>,
    /// The options that are present, each at most once. Values are texts, and `i64`s for `bins`,
    /// `width` and `height`.
    options: Vec<(PlotOption, Value)>,
}

/// A layer: data with one way to draw them.
pub struct PlotLayer {
    /// The kind of mark.
    pub kind: PlotKind,
    /// The label in the legend, if the program contains one; else empty.
    pub label: Name,
    /// The data: one value, or the horizontal coordinates and then one or more arrays of vertical
    /// coordinates.
    pub data: Vec<PlottedValue>,
}

/// A value to draw.
pub struct PlottedValue {
    /// The name or the field (`r.x`) that is the value in the program; empty for other expressions.
    pub name: Name,
    /// The value.
    pub content: PlotContent,
}

/// The content of a drawn value.
#[derive(Clone)]
pub enum PlotContent {
    /// Numbers along one to three axes.
    Numbers(PlotArray),
    /// A relation of two axes.
    Relation(Arc<Relation>),
}

/// An array of numbers or truth values, read as reals. It shares the memory of the array.
#[derive(Clone)]
pub struct PlotArray(Array);

impl PlotArray {
    /// Returns the extents.
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        self.0.dims()
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.count()
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the elements are integers or truth values.
    #[must_use]
    pub fn is_integral(&self) -> bool {
        self.0.i64s().is_some() || self.is_boolean()
    }

    /// Whether the elements are truth values.
    #[must_use]
    pub fn is_boolean(&self) -> bool {
        self.0.bools().is_some()
    }

    /// Returns the element at a position in row-major order, or NaN beyond the end.
    #[must_use]
    pub fn get(&self, at: usize) -> f64 {
        if let Some(v) = self.0.f64s() {
            return v.get(at).copied().unwrap_or(f64::NAN);
        }
        match self.0.element(at).filter(|_| at < self.len()) {
            Some(Value::F64(x)) => x,
            Some(Value::F32(x)) => f64::from(x),
            Some(Value::I64(n)) => n as f64,
            Some(Value::Bool(p)) => f64::from(u8::from(p)),
            _ => f64::NAN,
        }
    }

    /// Iterates over all elements in row-major order.
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.len()).map(|at| self.get(at))
    }
}

impl From<Array> for PlotArray {
    fn from(array: Array) -> Self {
        Self(array)
    }
}

impl Figure {
    /// Builds a figure from the values of a `plot` form, or returns `None` if their types are not
    /// those that the checker promised.
    #[must_use]
    pub fn new(form: &tree::PlotSpec, values: Vec<Value>) -> Option<Self> {
        let mut values = values.into_iter();
        let mut layers = Vec::new();
        for group in &form.groups {
            let mut data = Vec::new();
            for name in &group.data_names {
                let content = match values.next()? {
                    Value::Array(array) => PlotContent::Numbers(PlotArray(array)),
                    Value::Rel(relation) if relation.dims().len() == 2 => PlotContent::Relation(relation),
                    _ => return None,
                };
                data.push(PlottedValue { name: name.clone(), content });
            }
            layers.push(PlotLayer { kind: group.kind, label: group.label.clone(), data });
        }
        let options = form.options.iter().copied().zip(values).collect();
        Some(Self { layers, options })
    }

    /// Returns the text of an option, if it is present.
    #[must_use]
    pub fn text_option(&self, option: PlotOption) -> Option<&str> {
        self.options.iter().find(|(o, _)| *o == option).and_then(|(_, value)| match value {
            Value::Str(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns the integer of an option, if it is present.
    #[must_use]
    pub fn integer_option(&self, option: PlotOption) -> Option<i64> {
        self.options.iter().find(|(o, _)| *o == option).and_then(|(_, value)| value.as_i64())
    }
}
