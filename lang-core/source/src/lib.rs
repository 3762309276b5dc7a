//! **Derivatives as source.** Prints the adjoint or the tangent of a definition, a function in
//! Tensor SSA, as an Iverson definition. The text type-checks and evaluates to the same value
//! (DESIGN 2.3: every form prints as readable text). `print_derivative` and [`entries()`] are the
//! entry points; the editor's views, hovers and the REPL call them.
//!
//! [`entries()`] prints the derivative of one expression inside a definition, entry by entry, by
//! the same means.
//!
//! The way of a derivative from Tensor SSA to text:
//!
//! - [`read_ssa`] turns each statement into a line: an expression ([`expression_tree`]) over
//!   indices of its own. [`read_loops`] reads loops; [`print_loops`] and [`print_loop_results`]
//!   print them.
//! - [`rules`] and [`sums`] simplify an expression in its context; [`table`] holds the facts about
//!   statements that they need.
//! - [`merge`] and [`cross_line_rules`] combine lines. [`redundant_checks`] keeps the checks that
//!   do not follow from known facts.
//! - [`derivative_signature`] computes parameters and results. [`constructor_patterns`],
//!   [`constant_propagation`], [`cases`] and [`constructors`] take values of sum types apart by
//!   constructor.
//! - [`print_updates`] prints array updates and `argsort`; [`scatter`] prints sums over
//!   data-dependent places.
//! - [`axis_names`] and [`names`] choose names. [`writer`] holds the state of printing;
//!   [`definition`], [`arrays`], [`print_expressions`], [`print_predicate`] and [`call`] print.
//!
//! The formatter lays the text out; if it rejects the text, the derivative is shown as Tensor SSA.

#![forbid(unsafe_code)]

mod arrays;
mod axis_names;
mod call;
mod cases;
mod constant_propagation;
mod constructor_patterns;
mod constructors;
mod cross_line_rules;
mod definition;
mod derivative_signature;
mod entries;
mod expression_tree;
mod group_cases;
mod merge;
mod names;
mod print_expressions;
mod print_loop_results;
mod print_loops;
mod print_predicate;
mod print_updates;
mod prune_lets;
mod read_loops;
mod read_ssa;
mod redundant_checks;
mod rules;
mod scatter;
mod sums;
mod table;
mod writer;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

pub use entries::{
    DerivativeEntry, Entries, ExpressionContext, NotShownReason, ResultOwner, ScopeVariable, ShownDerivative,
    ValuePart, entries,
};
use lang_base::{GlobalName, Name, Span};
use lang_ir::core::{DerivativeKind, FunctionKey, NoCoreForm as NoCore, NoCoreFormReason};
use lang_ir::ssa::{SsaFunction, StmtId};
use lang_middle::ad::{real_inputs, real_outputs};
use lang_middle::norm::ElabQueries;
use lang_middle::pipeline::CalleeForms;
use lang_resolve::NameEnv;
use lang_types::ty::Type;
pub use prune_lets::mentioned_lets;

/// The kind of a derivative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DerivativeMode {
    /// `f_tan`: the tangent of the result.
    Forward,
    /// `f_adj`: the cotangents of the parameters.
    Adjoint,
}

impl DerivativeMode {
    /// Returns the suffix of the derivative's name.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Forward => "_tan",
            Self::Adjoint => "_adj",
        }
    }
}

/// The reason why a derivative has no text in the language, though it has a form in Tensor SSA.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoTextReason {
    /// A value of a sum type whose constructor only a call computes.
    UnknownConstructor,
    /// A sum of truth values.
    BooleanSum,
    /// A loop or an array update without a textual form.
    Loop,
    /// A sorting permutation without a textual form.
    SortingPermutation,
    /// A name of another module that this module does not import.
    UnimportedName,
    /// A component of a record or tuple that a top-level `let` binds.
    TopLevelComponent,
    /// A call of a derivative of a derivative.
    HigherDerivative,
    /// Too many nodes or lines to be readable.
    TooLarge,
    /// An internal error: the printed text is not valid Iverson, or the forms disagree.
    InternalError,
}

impl NoTextReason {
    /// Returns the reason as a noun phrase.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::UnknownConstructor => "a constructor that only a call determines",
            Self::BooleanSum => "a sum of truth values",
            Self::Loop => "a loop or an array update",
            Self::SortingPermutation => "a sorting permutation",
            Self::UnimportedName => "a name that this module does not import",
            Self::TopLevelComponent => "a component of a top-level record",
            Self::HigherDerivative => "a call of a second derivative",
            Self::TooLarge => "a text that is too long",
            Self::InternalError => "an expression without a text form",
        }
    }
}

/// A derivative, printed as a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrintedDerivative {
    /// Its name.
    pub name: Name,
    /// Its parameters with the texts of their types: first the parameters of the primal definition.
    pub params: Vec<(Name, String)>,
    /// The numbers of the primal's parameters that vary.
    pub varying: Vec<usize>,
    /// The text of its result type.
    pub result: String,
    /// Its text, laid out by the formatter.
    pub text: String,
    /// Its `let`s, each with the statement of the derivative's Tensor SSA that it binds.
    pub lets: Vec<(Name, StmtId)>,
    /// The statements of its results.
    pub results: Vec<StmtId>,
    /// The derivatives that it calls, each after those that it calls itself.
    pub prerequisites: Vec<PrintedDerivative>,
}

impl PrintedDerivative {
    /// Returns its text, preceded by the texts of the derivatives that it calls.
    #[must_use]
    pub fn full_text(&self) -> String {
        let texts = self.prerequisites.iter().chain([self]).map(|derivative| derivative.text.as_str());
        texts.collect::<Vec<&str>>().join("\n")
    }
}

/// The printed derivative of a callee; `None` if it has no text.
type PrintedCallee = Option<Arc<PrintedDerivative>>;

/// Printed derivatives of callees, memoised during one request.
#[derive(Default)]
struct PrintedDerivativeCache(RefCell<HashMap<(GlobalName, DerivativeMode), PrintedCallee>>);

/// A derivative in the form that a reader gets.
#[derive(Debug)]
pub enum DerivativeText {
    /// A definition.
    Source(PrintedDerivative),
    /// It has no text, for this reason; its Tensor SSA is shown instead.
    SsaOnly(Arc<SsaFunction>, NoTextReason),
    /// No input or no output is real, so the derivative does not exist.
    NotReal,
}

/// Returns a definition at the types at which it is shown: `f64` for each type parameter, as in
/// most calls. `None` if the definition has no signature.
#[must_use]
pub fn callee_at_f64(bodies: &dyn ElabQueries, def: &GlobalName) -> Option<Arc<FunctionKey>> {
    let signature = bodies.signature(def)?;
    Some(Arc::new(FunctionKey::new(def.clone(), vec![Type::F64; signature.type_params.len()])))
}

/// Returns a derivative of a definition in Tensor SSA, by all its real inputs. `Ok(None)` if no
/// input or no output is real.
///
/// # Errors
/// The part of the definition that has no core form, or no derivative.
pub fn derivative_ssa(
    module: &dyn CalleeForms,
    callee: &Arc<FunctionKey>,
    which: DerivativeMode,
) -> Result<Option<Arc<SsaFunction>>, Box<NoCore>> {
    let stages = module.stages(callee)?;
    let wrt = real_inputs(&stages.ssa);
    let of = real_outputs(&stages.ssa);
    if wrt.is_empty() || of.is_empty() {
        return Ok(None);
    }
    let derivation = match which {
        DerivativeMode::Forward => DerivativeKind::Forward(wrt.into()),
        DerivativeMode::Adjoint => DerivativeKind::Adjoint { outputs: of.into(), wrt: wrt.into() },
    };
    match module.ssa(&Arc::new(callee.derivative(derivation))) {
        Some(ssa) => Ok(Some(ssa)),
        None => Err(Box::new(NoCore {
            reason: NoCoreFormReason::Derivative,
            item: callee.def.clone(),
            span: Span::default(),
        })),
    }
}

/// Prints a derivative of the definition `def`, whose source text is `text`, as a reader of its
/// module sees it.
///
/// # Errors
/// The part of the definition that has no core form.
pub fn print_derivative(
    module: &dyn CalleeForms,
    bodies: &dyn ElabQueries,
    names: &dyn NameEnv,
    def: &GlobalName,
    text: &str,
    which: DerivativeMode,
) -> Result<DerivativeText, Box<NoCore>> {
    print_with_cache(module, bodies, names, &PrintedDerivativeCache::default(), def, text, which)
}

fn print_with_cache(
    module: &dyn CalleeForms,
    bodies: &dyn ElabQueries,
    names: &dyn NameEnv,
    shelf: &PrintedDerivativeCache,
    def: &GlobalName,
    text: &str,
    which: DerivativeMode,
) -> Result<DerivativeText, Box<NoCore>> {
    let Some(callee) = callee_at_f64(bodies, def) else { return Ok(DerivativeText::NotReal) };
    let Some(ssa) = derivative_ssa(module, &callee, which)? else { return Ok(DerivativeText::NotReal) };
    let stages = module.stages(&callee)?;
    let request = derivative_signature::PrintRequest {
        module,
        bodies,
        names,
        cache: shelf,
        def,
        text,
        mode: which,
        stages: &stages,
        derivative_ssa: &ssa,
    };
    Ok(match lang_base::ensure_sufficient_stack(|| writer::print_definition(&request)) {
        Ok(mut printed) => match lang_syntax::format::format(&printed.text) {
            Ok(text) => {
                printed.text = text;
                DerivativeText::Source(printed)
            }
            Err(_) => DerivativeText::SsaOnly(ssa, NoTextReason::InternalError),
        },
        Err(why) => DerivativeText::SsaOnly(ssa, why),
    })
}

/// Returns the printed derivative of a callee of the derivative that is being printed, if it has a
/// text.
fn printed_callee(
    request: &derivative_signature::PrintRequest<'_>,
    def: &GlobalName,
    which: DerivativeMode,
) -> PrintedCallee {
    let key = (def.clone(), which);
    if let Some(known) = request.cache.0.borrow().get(&key) {
        return known.clone();
    }
    let printed = match print_with_cache(request.module, request.bodies, request.names, request.cache, def, "", which) {
        Ok(DerivativeText::Source(derivative)) => Some(Arc::new(derivative)),
        _ => None,
    };
    request.cache.0.borrow_mut().insert(key, printed.clone());
    printed
}
