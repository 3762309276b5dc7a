//! **Automatic differentiation** on Tensor SSA: the forward derivative (ATL Fig. 13), and the
//! adjoint by transposition (ATL Figs. 14-16).
//!
//! Both passes map a function in Tensor SSA to another one, which contains nothing special. So a
//! derivative can be differentiated again.
//!
//! `pipeline` runs the passes on the result of normalisation (`norm`). For the derivative of a
//! callee the passes query a resolver (`Functions`), so that each definition is derived once.

pub mod adjoint;
pub mod forward;
mod loops;
mod partial;
mod reduce;
pub mod rule;
mod update;

use std::collections::HashSet;
use std::sync::Arc;

use self::partial::Inside;
use crate::norm::hits::Hits;
use lang_base::{Large, Name};
use lang_ir::core::{Callee, Constant, CoreType, Derivation, Leaf, Operation};
use lang_ir::flat::{Input, Source};
use lang_ir::origin::{Ancestor, Origins};
use lang_ir::ssa::{Access, Builder, Rhs, Ssa, Var};
use lang_sizes::predicate::{LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// A resolver from a callee, derived or not, to its function in Tensor SSA. It returns `None` if
/// the callee has none.
pub type Functions<'a> = &'a dyn Fn(&Arc<Callee>) -> Option<Arc<Ssa>>;

/// Derives a function. Returns the derivative and the origins of its statements, or `None` if a
/// statement or a callee has no derivative.
#[must_use]
pub fn derive(ssa: &Ssa, derivation: &Derivation, functions: Functions<'_>, hits: &mut Hits) -> Option<(Ssa, Origins)> {
    let (pass, outputs) = match derivation {
        Derivation::Forward(wrt) => forward::forward(ssa, wrt, &[], functions, hits)?,
        Derivation::Adjoint { of, wrt } => {
            let of: Vec<(u32, Presence)> = of.iter().map(|k| (*k, Presence::everywhere())).collect();
            adjoint::adjoint(ssa, &of, wrt, None, functions, hits)?
        }
    };
    Some(pass.finish(derivation, ssa.needs.clone(), outputs))
}

/// Returns the numbers of the real parameters, which have derivatives.
#[must_use]
pub fn real_inputs(ssa: &Ssa) -> Vec<u32> {
    let real = (0..).zip(&ssa.inputs).filter(|(_, i)| is_real(i.leaf.scalar) && matches!(i.source, Source::Param(_)));
    real.map(|(k, _)| k).collect()
}

/// Returns the numbers of the real parts of the result, which may have cotangents.
#[must_use]
pub fn real_outputs(ssa: &Ssa) -> Vec<u32> {
    (0..).zip(&ssa.outputs).filter(|(_, (leaf, _))| is_real(leaf.scalar)).map(|(k, _)| k).collect()
}

/// Whether the element type is real.
#[must_use]
pub fn is_real(scalar: Option<Scalar>) -> bool {
    matches!(scalar, Some(Scalar::F64 | Scalar::F32))
}

/// The tangent or cotangent of a statement.
#[derive(Clone)]
struct Tangent {
    var: Var,
    /// The predicate under which it has a term. Elsewhere it is a structural zero.
    present: Pred,
}

/// A prediction of the support of an output's cotangent, before the cotangent is computed.
#[derive(Clone)]
struct Presence {
    /// The predicate outside which the cotangent is a structural zero.
    inside: Pred,
    /// Whether the cotangent has a term inside only where its value is not zero.
    nonzero: bool,
}

impl Presence {
    fn everywhere() -> Self {
        Self { inside: Pred::truth(), nonzero: false }
    }
}

/// The longest predicate, in parts, that a tangent carries along.
const LONG: usize = 24;

/// The state of a pass that differentiates one function.
struct Deriving<'a> {
    ssa: &'a Ssa,
    builder: Large<Builder>,
    inputs: Vec<Input>,
    vars: lang_ir::core::Vars,
    functions: Functions<'a>,
    hits: &'a mut Hits,
    /// Whether each statement may be infinite or NaN, memoised up to the last statement queried
    /// (`partial`).
    singular: Vec<bool>,
    /// Whether the pass has met a factor that may be infinite or NaN.
    asks: bool,
    /// The statements that compare a tangent or cotangent with zero.
    nonzero: HashSet<LocalId>,
    /// The supports of the results: of the cotangents in an adjoint, or of the tangents of the real
    /// outputs.
    present: Vec<Pred>,
    /// The loops of tangents that the pass has built.
    loops: Vec<loops::ForwardLoop>,
    /// The loops that restore arrays.
    back: Vec<loops::PutBack>,
}

impl<'a> Deriving<'a> {
    fn new(ssa: &'a Ssa, functions: Functions<'a>, hits: &'a mut Hits) -> Self {
        let (builder, inputs, vars) = (Large::new(Builder::of(ssa)), ssa.inputs.clone(), ssa.vars.clone());
        Self {
            ssa,
            builder,
            inputs,
            vars,
            functions,
            hits,
            singular: Vec::new(),
            asks: false,
            nonzero: HashSet::new(),
            present: Vec::new(),
            loops: Vec::new(),
            back: Vec::new(),
        }
    }

    /// Adds an input, and the statement that reads it.
    fn input(&mut self, name: Name, source: Source, leaf: Leaf) -> Var {
        let k = u32::try_from(self.inputs.len()).unwrap_or(u32::MAX);
        let (dims, scalar) = (leaf.dims.clone(), leaf.scalar);
        self.inputs.push(Input { local: self.vars.fresh(name.clone()), source, leaf });
        let var = self.builder.push(dims, scalar, Rhs::Input(k), Vec::new());
        if let Some(stmt) = self.builder.stmts.get_mut(var.0 as usize) {
            stmt.name = Some(name);
        }
        var
    }

    /// Returns the name of a statement, or `otherwise` if it has none.
    fn name(&self, var: Var, otherwise: &str) -> Name {
        let name = self.ssa.stmts.get(var.0 as usize).and_then(|s| s.name.clone());
        name.unwrap_or_else(|| otherwise.into())
    }

    /// Attributes the following statements to a rule for statement `of`, and counts the rule.
    fn rule(&mut self, of: Var, rule: &'static str) {
        self.hits.count(rule);
        self.made_for(of, rule);
    }

    /// Attributes the following statements to statement `of`, without counting a rule.
    fn made_for(&mut self, of: Var, why: &'static str) {
        self.builder.trace.enter(Ancestor::Statement(of, why));
    }

    /// Returns the derived function, without dead statements, and the origins of its statements.
    fn finish(self, derivation: &Derivation, needs: Vec<u32>, outputs: Vec<(Leaf, Var)>) -> (Ssa, Origins) {
        let Builder { stmts, checks, trace, .. } = self.builder.take();
        let mut derived = Ssa {
            callee: Arc::new(self.ssa.callee.derive(derivation.clone())),
            vars: self.vars,
            sizes: self.ssa.sizes.clone(),
            bounded: self.ssa.bounded.clone(),
            params: self.ssa.params.clone(),
            inputs: self.inputs,
            stmts,
            checks,
            needs,
            opaque: false,
            result: CoreType::tuple(outputs.iter().map(|(leaf, _)| leaf.ty()).collect::<Vec<_>>()),
            outputs,
        };
        let fates = crate::norm::dead::remove(&mut derived);
        (derived, trace.finish(&fates))
    }

    /// Returns the union of the terms' predicates over indices of these ranges. If it is too long,
    /// only its part over indices and sizes remains.
    fn present(&self, dims: &[Poly], terms: Vec<Pred>) -> Pred {
        let some = self.builder.simplify(dims, &Pred::any_of(terms));
        if some.size() > LONG { self.builder.simplify(dims, &some.known()) } else { some }
    }

    /// Returns the predicate "the element is not zero", the support of a tangent or cotangent if
    /// nothing better is known.
    ///
    /// Before a factor that may be infinite, the pass tests "not zero, or the factor is finite"
    /// instead (`partial`). This is because a zero times a finite factor is zero, but its
    /// derivative is not.
    fn nonzero(&mut self, var: Var) -> Pred {
        let everywhere = Inside { dims: self.builder.dims(var), pred: Pred::truth(), needs: &[] };
        let differs = self.compared(BinOp::Ne, &everywhere, &self.whole(var), 0.0);
        if let Pred::Is(local, ..) = &differs {
            self.nonzero.insert(*local);
        }
        differs
    }

    /// Returns the predicate that an element compares with a constant by `op`.
    fn compared(&mut self, op: BinOp, inside: &Inside<'_>, of: &Access, with: f64) -> Pred {
        let scalar = self.builder.scalar(of.var);
        let constant = self.builder.constant(Constant::Real(with), scalar);
        let args = [of.clone(), Access { var: constant, at: Vec::new() }];
        let (operation, needs) = (Operation::Binary(op), inside.needs.to_vec());
        let var = self.builder.map(&inside.dims, Scalar::Bool, operation, &inside.pred, &args, needs);
        Pred::Is(var.local(), var.name(), own(&inside.dims).into(), true)
    }

    /// Returns an access to a tensor at its own indices.
    fn whole(&self, var: Var) -> Access {
        let dims = self.builder.dims(var);
        Access { var, at: own(&dims) }
    }
}

/// Returns the canonical indices of these extents.
fn own(dims: &[Poly]) -> Vec<Poly> {
    dims.iter().enumerate().map(|(k, n)| lang_ir::ssa::index(k, n).value()).collect()
}
