//! Derivatives on Tensor SSA: forward (ATL Fig. 13) and adjoint by transposition (Figs. 14-16). Both take a
//! function to a function, which can be differentiated again: nothing in them is special.
//!
//! What a definition that is called has for a derivative is asked of whoever runs the passes, so that each is
//! derived once.

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
use crate::base::{Large, Name};
use crate::ir::core::{Callee, Constant, CoreType, Derivation, Leaf, Operation};
use crate::ir::flat::{Input, Source};
use crate::ir::origin::{Ancestor, Origins};
use crate::ir::ssa::{Access, Builder, Rhs, Ssa, Var};
use crate::norm::hits::Hits;
use crate::predicate::{LocalId, Poly, Pred};
use crate::syntax::ops::{BinOp, Scalar};

/// A function in Tensor SSA, derived or not; `None` where there is none.
pub type Functions<'a> = &'a dyn Fn(&Arc<Callee>) -> Option<Arc<Ssa>>;

/// A derivative, and where its statements come from.
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

/// The inputs that are real, and so have derivatives.
#[must_use]
pub fn real_inputs(ssa: &Ssa) -> Vec<u32> {
    let real = (0..).zip(&ssa.inputs).filter(|(_, i)| is_real(i.leaf.scalar) && matches!(i.source, Source::Param(_)));
    real.map(|(k, _)| k).collect()
}

/// The parts of the result that are real, and so may have cotangents.
#[must_use]
pub fn real_outputs(ssa: &Ssa) -> Vec<u32> {
    (0..).zip(&ssa.outputs).filter(|(_, (leaf, _))| is_real(leaf.scalar)).map(|(k, _)| k).collect()
}

/// Does it hold reals?
#[must_use]
pub fn is_real(scalar: Option<Scalar>) -> bool {
    matches!(scalar, Some(Scalar::F64 | Scalar::F32))
}

/// The tangent or cotangent of a statement.
#[derive(Clone)]
struct Tangent {
    var: Var,
    /// Where it has a term; elsewhere it is zero for want of one.
    present: Pred,
}

/// Where the cotangent of an output has a term, before there is one.
#[derive(Clone)]
struct Presence {
    /// Nowhere else.
    inside: Pred,
    /// Not everywhere there, but where it is not zero.
    nonzero: bool,
}

impl Presence {
    fn everywhere() -> Self {
        Self { inside: Pred::truth(), nonzero: false }
    }
}

/// A predicate of more parts is too long to be carried along.
const LONG: usize = 24;

/// A function whose derivative is being taken.
struct Deriving<'a> {
    ssa: &'a Ssa,
    builder: Large<Builder>,
    inputs: Vec<Input>,
    vars: crate::ir::core::Vars,
    functions: Functions<'a>,
    hits: &'a mut Hits,
    /// Which statements may be infinite or no number, as far as this was asked (`partial`).
    singular: Vec<bool>,
    /// Is there a factor that may be infinite or no number?
    asks: bool,
    /// The statements that say where something is not zero.
    nonzero: HashSet<LocalId>,
    /// Where the cotangents that an adjoint gives have terms, or the tangents of the real results.
    present: Vec<Pred>,
    /// The loops of tangents that were made.
    loops: Vec<loops::ForwardLoop>,
    /// The loops that put arrays back.
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

    /// A new input.
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

    /// The name of a statement, or of what it is.
    fn name(&self, var: Var, otherwise: &str) -> Name {
        let name = self.ssa.stmts.get(var.0 as usize).and_then(|s| s.name.clone());
        name.unwrap_or_else(|| otherwise.into())
    }

    /// Statements from here on are made by a rule for a statement of the function.
    fn rule(&mut self, of: Var, rule: &'static str) {
        self.hits.count(rule);
        self.made_for(of, rule);
    }

    /// The same where no rule is counted.
    fn made_for(&mut self, of: Var, why: &'static str) {
        self.builder.trace.enter(Ancestor::Statement(of, why));
    }

    /// The derived function.
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

    /// Where there is one of these terms, over indices of these ranges. Where that is long what only the run knows
    /// is left out.
    fn present(&self, dims: &[Poly], terms: Vec<Pred>) -> Pred {
        let some = self.builder.simplify(dims, &Pred::any_of(terms));
        if some.size() > LONG { self.builder.simplify(dims, &some.known()) } else { some }
    }

    /// Where a tangent or cotangent has a term, if nothing else tells: where it is not zero. Before a factor that may be
    /// infinite this is asked as "is it not zero, or is the factor finite" (`partial`): where it is zero and the factor
    /// is finite, the product is zero too, and its derivative is not.
    fn nonzero(&mut self, var: Var) -> Pred {
        let everywhere = Inside { dims: self.builder.dims(var), pred: Pred::truth(), needs: &[] };
        let differs = self.compared(BinOp::Ne, &everywhere, &self.whole(var), 0.0);
        if let Pred::Is(local, ..) = &differs {
            self.nonzero.insert(*local);
        }
        differs
    }

    /// Where an element compares so with a constant.
    fn compared(&mut self, op: BinOp, inside: &Inside<'_>, of: &Access, with: f64) -> Pred {
        let scalar = self.builder.scalar(of.var);
        let constant = self.builder.constant(Constant::Real(with), scalar);
        let args = [of.clone(), Access { var: constant, at: Vec::new() }];
        let (operation, needs) = (Operation::Binary(op), inside.needs.to_vec());
        let var = self.builder.map(&inside.dims, Scalar::Bool, operation, &inside.pred, &args, needs);
        Pred::Is(var.local(), var.name(), own(&inside.dims).into(), true)
    }

    /// A tensor at its own indices.
    fn whole(&self, var: Var) -> Access {
        let dims = self.builder.dims(var);
        Access { var, at: own(&dims) }
    }
}

/// The canonical indices.
fn own(dims: &[Poly]) -> Vec<Poly> {
    dims.iter().enumerate().map(|(k, n)| crate::ir::ssa::index(k, n).value()).collect()
}
