//! Derivatives as Iverson: the adjoint or tangent of a definition, which is in Tensor SSA, as the text of a
//! definition that checks and evaluates to the same value ("Everything prints as source", DESIGN 2.3).
//!
//! Of one expression inside a definition `entries` tells derivatives entry by entry, in the same way.
//!
//! `read` makes of each statement an expression (`tree`), `regions` and `repeat` have loops, `rules` and `sums` simplify
//! expressions where they stand, `merge` and `shorten` put statements together, `checks` keeps the checks that say
//! something, `shape` says what parameters and results look like, `ways`, `known`, `cases` and `constructors` take those of
//! sum types apart, `update` has arrays of which elements are replaced and orders, `hints` and `names` call things, `writer`
//! and what follows write it down. The formatter has the last word.

mod arrays;
mod call;
mod cases;
mod checks;
mod constructors;
mod definition;
mod entries;
mod grouped;
mod hints;
mod known;
mod mentioned;
mod merge;
mod names;
mod parts;
mod predicate;
mod read;
mod regions;
mod repeat;
mod rules;
mod scatter;
mod shape;
mod shorten;
mod sums;
mod table;
mod text;
mod tree;
mod update;
mod ways;
mod writer;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::ad::{real_inputs, real_outputs};
use crate::base::{GlobalName, Name, Span};
use crate::ir::core::{Callee, Derivation, Outside as NoCore, Reason};
use crate::ir::ssa::{Ssa, Var};
use crate::norm::Bodies;
use crate::pipeline::Callees;
use crate::resolve::Names;
use crate::types::ty::Type;
pub use entries::{Entries, Entry, Seen, Surroundings, Told, Unshown, ValuePart, Whose, entries};
pub use mentioned::mentioned;

/// Which derivative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Which {
    /// `f_tan`: the tangent of the result.
    Forward,
    /// `f_adj`: the cotangents of the parameters.
    Adjoint,
}

impl Which {
    /// What its name ends with.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Forward => "_tan",
            Self::Adjoint => "_adj",
        }
    }
}

/// Why a derivative has no text in the language, though it has one in Tensor SSA.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outside {
    /// The constructor of a value of a sum type that only a call would tell.
    SumType,
    /// A sum of truth values.
    Truth,
    /// A loop, or an array that is updated.
    Loop,
    /// Positions in an order.
    Order,
    /// Something of another module that this one does not import.
    Foreign,
    /// A part of a record or tuple that is a top-level `let`.
    Parts,
    /// A call of a derivative of a derivative.
    Nested,
    /// Too much to be read.
    TooLarge,
    /// A fault: what was written is no text of the language.
    Unreadable,
}

impl Outside {
    /// As a noun phrase.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::SumType => "a constructor that only a call tells",
            Self::Truth => "a sum of truth values",
            Self::Loop => "a loop or an update",
            Self::Order => "positions in an order",
            Self::Foreign => "a name that this module does not have",
            Self::Parts => "a part of a record at the top level",
            Self::Nested => "a call of a second derivative",
            Self::TooLarge => "too much for a page",
            Self::Unreadable => "something that has no text",
        }
    }
}

/// A derivative as a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// Its name.
    pub name: Name,
    /// Its parameters with their types as they are written: first those of the definition that it is the
    /// derivative of.
    pub params: Vec<(Name, String)>,
    /// Which of these vary.
    pub varying: Vec<usize>,
    /// The type of its result as it is written.
    pub result: String,
    /// Its text in the one layout.
    pub text: String,
    /// Its `let`s, and which statements of the derivative in Tensor SSA they stand for.
    pub lets: Vec<(Name, Var)>,
    /// The statements that it gives.
    pub results: Vec<Var>,
    /// The derivatives that it calls, and those that they call before them.
    pub before: Vec<Definition>,
}

impl Definition {
    /// Its text after those of the derivatives that it calls.
    #[must_use]
    pub fn whole(&self) -> String {
        let texts = self.before.iter().chain([self]).map(|made| made.text.as_str());
        texts.collect::<Vec<&str>>().join("\n")
    }
}

/// A derivative that has a text.
type Called = Option<Arc<Definition>>;

/// Derivatives that were asked for while one is printed.
#[derive(Default)]
struct Shelf(RefCell<HashMap<(GlobalName, Which), Called>>);

/// A derivative for a reader.
#[derive(Debug)]
pub enum Shown {
    /// A definition.
    Source(Definition),
    /// It has none, for this reason; in Tensor SSA it is this.
    Form(Arc<Ssa>, Outside),
    /// There is none: nothing real goes in, or none comes out.
    Constant,
}

/// A definition at the types that are shown: type parameters stand for reals, as in most calls.
#[must_use]
pub fn shown_callee(bodies: &dyn Bodies, def: &GlobalName) -> Option<Arc<Callee>> {
    let signature = bodies.signature(def)?;
    Some(Arc::new(Callee::new(def.clone(), vec![Type::F64; signature.type_params.len()])))
}

/// A derivative of a definition in Tensor SSA, by all that is real in its parameters; none where there is nothing
/// to derive.
///
/// # Errors
/// What in the definition has no core form, or no derivative.
pub fn derived(module: &dyn Callees, callee: &Arc<Callee>, which: Which) -> Result<Option<Arc<Ssa>>, Box<NoCore>> {
    let stages = module.stages(callee)?;
    let wrt = real_inputs(&stages.ssa);
    let of = real_outputs(&stages.ssa);
    if wrt.is_empty() || of.is_empty() {
        return Ok(None);
    }
    let derivation = match which {
        Which::Forward => Derivation::Forward(wrt.into()),
        Which::Adjoint => Derivation::Adjoint { of: of.into(), wrt: wrt.into() },
    };
    match module.ssa(&Arc::new(callee.derive(derivation))) {
        Some(ssa) => Ok(Some(ssa)),
        None => Err(Box::new(NoCore { what: Reason::Derivative, item: callee.def.clone(), span: Span::default() })),
    }
}

/// A derivative of a definition, which has this text, as a reader of its module sees it.
///
/// # Errors
/// What in the definition has no core form.
pub fn show(
    module: &dyn Callees,
    bodies: &dyn Bodies,
    names: &dyn Names,
    def: &GlobalName,
    text: &str,
    which: Which,
) -> Result<Shown, Box<NoCore>> {
    shown(module, bodies, names, &Shelf::default(), def, text, which)
}

fn shown(
    module: &dyn Callees,
    bodies: &dyn Bodies,
    names: &dyn Names,
    shelf: &Shelf,
    def: &GlobalName,
    text: &str,
    which: Which,
) -> Result<Shown, Box<NoCore>> {
    let Some(callee) = shown_callee(bodies, def) else { return Ok(Shown::Constant) };
    let Some(ssa) = derived(module, &callee, which)? else { return Ok(Shown::Constant) };
    let stages = module.stages(&callee)?;
    let asked = shape::Asked { module, bodies, names, shelf, def, text, which, stages: &stages, derived: &ssa };
    Ok(match crate::interp::guarded(|| writer::definition(&asked)) {
        Ok(mut made) => match crate::syntax::format::format(&made.text) {
            Ok(text) => {
                made.text = text;
                Shown::Source(made)
            }
            Err(_) => Shown::Form(ssa, Outside::Unreadable),
        },
        Err(why) => Shown::Form(ssa, why),
    })
}

/// The derivative of a definition that the one which is printed calls, if it has a text.
fn called(asked: &shape::Asked<'_>, def: &GlobalName, which: Which) -> Called {
    let key = (def.clone(), which);
    if let Some(known) = asked.shelf.0.borrow().get(&key) {
        return known.clone();
    }
    let made = match shown(asked.module, asked.bodies, asked.names, asked.shelf, def, "", which) {
        Ok(Shown::Source(made)) => Some(Arc::new(made)),
        _ => None,
    };
    asked.shelf.0.borrow_mut().insert(key, made.clone());
    made
}
