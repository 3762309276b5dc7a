//! What a `plot` draws, as plain data: layers and options, made from values. How it looks is the
//! business of the host.

use std::sync::Arc;

use super::array::Array;
use super::relation::Relation;
use super::value::Value;
use crate::base::Name;
use crate::resolve::forms::{PlotKind, PlotOption};
use crate::types::tree;

/// A plot.
pub struct Figure {
    /// What is drawn, the first below. Never empty.
    pub layers: Vec<Layer>,
    /// Given options, each at most once: texts, and `i64`s for `bins`, `width` and `height`.
    options: Vec<(PlotOption, Value)>,
}

/// Data drawn in one way.
pub struct Layer {
    /// How.
    pub kind: PlotKind,
    /// What it is called in the legend, where the program says so.
    pub label: Name,
    /// The data: one value, or the places and then one or more rows of heights.
    pub data: Vec<Data>,
}

/// A value that is drawn.
pub struct Data {
    /// What it is called in the program; empty if it is no name.
    pub name: Name,
    /// The value.
    pub content: Content,
}

/// What is drawn.
#[derive(Clone)]
pub enum Content {
    /// Numbers in one to three axes.
    Numbers(Numbers),
    /// A relation of two axes.
    Relation(Arc<Relation>),
}

/// An array of numbers or truth values, read as reals. Shares the array's memory.
#[derive(Clone)]
pub struct Numbers(Array);

impl Numbers {
    /// Its extents.
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        self.0.dims()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.count()
    }

    /// Is there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Are they integers or truth values?
    #[must_use]
    pub fn are_whole(&self) -> bool {
        self.0.i64s().is_some() || self.are_truths()
    }

    /// Are they truth values?
    #[must_use]
    pub fn are_truths(&self) -> bool {
        self.0.bools().is_some()
    }

    /// The one at a position in row-major order; what is not there is no number.
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

    /// All of them in row-major order.
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.len()).map(|at| self.get(at))
    }
}

impl From<Array> for Numbers {
    fn from(array: Array) -> Self {
        Self(array)
    }
}

impl Figure {
    /// A figure; `None` where the values are not those that were promised.
    #[must_use]
    pub fn new(form: &tree::Plot, values: Vec<Value>) -> Option<Self> {
        let mut values = values.into_iter();
        let mut layers = Vec::new();
        for group in &form.groups {
            let mut data = Vec::new();
            for name in &group.data {
                let content = match values.next()? {
                    Value::Array(array) => Content::Numbers(Numbers(array)),
                    Value::Rel(relation) if relation.dims().len() == 2 => Content::Relation(relation),
                    _ => return None,
                };
                data.push(Data { name: name.clone(), content });
            }
            layers.push(Layer { kind: group.kind, label: group.label.clone(), data });
        }
        let options = form.options.iter().copied().zip(values).collect();
        Some(Self { layers, options })
    }

    /// A text among the options.
    #[must_use]
    pub fn text(&self, option: PlotOption) -> Option<&str> {
        self.options.iter().find(|(o, _)| *o == option).and_then(|(_, value)| match value {
            Value::Str(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// An integer among the options.
    #[must_use]
    pub fn number(&self, option: PlotOption) -> Option<i64> {
        self.options.iter().find(|(o, _)| *o == option).and_then(|(_, value)| value.as_i64())
    }
}
