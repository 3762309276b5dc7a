//! **Automatic differentiation** on Tensor SSA: the forward derivative (ATL Fig. 13), and the
//! adjoint by transposition (ATL Figs. 15 and 16).
//!
//! Both passes map a function in Tensor SSA to another one, without special statements for
//! derivatives. So a derivative can be differentiated again.
//!
//! `pipeline` runs the passes on the result of normalisation (`norm`). For the derivative of a
//! callee the passes query a resolver (`FunctionLookup`), so that each definition is derived once.

pub mod adjoint;
pub mod forward;
mod loops;
mod partial;
mod reduce;
pub mod rule;
mod update;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use self::partial::ReadDomain;
use crate::norm::rule_coverage::RuleCoverage;
use lang_base::{BackgroundDrop, Name};
use lang_ir::core::{Constant, CoreType, DerivativeKind, FunctionKey, ScalarOp, TypeLeaf};
use lang_ir::flat::{FunctionInput, InputSource};
use lang_ir::origin::{OriginKind, OriginTable};
use lang_ir::ssa::{Rhs, SsaBuilder, SsaFunction, StmtId, TensorAccess};
use lang_sizes::predicate::{LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// A resolver from a callee, derived or not, to its function in Tensor SSA. It returns `None` if
/// the callee has none.
pub type FunctionLookup<'a> = &'a dyn Fn(&Arc<FunctionKey>) -> Option<Arc<SsaFunction>>;

/// Derives a function. Returns the derivative and the origins of its statements, or `None` if a
/// statement or a callee has no derivative.
#[must_use]
pub fn derive(
    ssa: &SsaFunction,
    derivation: &DerivativeKind,
    functions: FunctionLookup<'_>,
    hits: &mut RuleCoverage,
) -> Option<(SsaFunction, OriginTable)> {
    let (pass, outputs) = match derivation {
        DerivativeKind::Forward(wrt) => forward::forward(ssa, wrt, &[], functions, hits)?,
        DerivativeKind::Adjoint { outputs: of, wrt } => {
            let of: Vec<(u32, PredictedSupport)> = of.iter().map(|k| (*k, PredictedSupport::everywhere())).collect();
            adjoint::adjoint(ssa, &of, wrt, None, functions, hits)?
        }
    };
    Some(pass.finish(derivation, ssa.needs.clone(), outputs))
}

/// Returns the numbers of the real parameters, which have derivatives.
#[must_use]
pub fn real_inputs(ssa: &SsaFunction) -> Vec<u32> {
    let real =
        (0..).zip(&ssa.inputs).filter(|(_, i)| is_real(i.leaf.scalar) && matches!(i.source, InputSource::Param(_)));
    real.map(|(k, _)| k).collect()
}

/// Returns the numbers of the real parts of the result, which may have cotangents.
#[must_use]
pub fn real_outputs(ssa: &SsaFunction) -> Vec<u32> {
    (0..).zip(&ssa.outputs).filter(|(_, (leaf, _))| is_real(leaf.scalar)).map(|(k, _)| k).collect()
}

/// Whether the element type is real.
#[must_use]
pub fn is_real(scalar: Option<Scalar>) -> bool {
    matches!(scalar, Some(Scalar::F64 | Scalar::F32))
}

/// The tangent or cotangent of a statement.
#[derive(Clone)]
struct DerivativeValue {
    var: StmtId,
    /// The predicate under which it has a term. Elsewhere it is a structural zero.
    support: Pred,
}

/// A prediction of the support of an output's cotangent, before the cotangent is computed.
#[derive(Clone)]
struct PredictedSupport {
    /// The predicate outside which the cotangent is a structural zero.
    domain: Pred,
    /// Whether the cotangent has a term inside only where its value is not zero.
    only_where_nonzero: bool,
}

impl PredictedSupport {
    fn everywhere() -> Self {
        Self { domain: Pred::truth(), only_where_nonzero: false }
    }
}

/// The longest predicate, in parts, that a tangent carries along.
const MAX_SUPPORT_SIZE: usize = 24;

/// The state of a pass that differentiates one function.
struct Differentiator<'a> {
    ssa: &'a SsaFunction,
    builder: BackgroundDrop<SsaBuilder>,
    inputs: Vec<FunctionInput>,
    vars: lang_ir::core::Vars,
    functions: FunctionLookup<'a>,
    hits: &'a mut RuleCoverage,
    /// Whether each statement may be infinite or NaN, memoised up to the last statement queried
    /// (`partial`).
    may_be_singular: Vec<bool>,
    /// Whether the pass has met a factor that may be infinite or NaN.
    met_singular_factor: bool,
    /// The statements that compare a tangent or cotangent with zero.
    nonzero_tests: HashSet<LocalId>,
    /// The supports of the results: of the cotangents in an adjoint, or of the tangents of the real
    /// outputs.
    result_supports: Vec<Pred>,
    /// The derived calls, by the statement of the primal call.
    forward_calls: BTreeMap<StmtId, forward::ForwardCall>,
    /// The loops of tangents that the pass has built.
    forward_loops: Vec<loops::ForwardLoop>,
    /// The loops that restore arrays.
    restoring_loops: Vec<loops::RestoringLoop>,
}

impl<'a> Differentiator<'a> {
    fn new(ssa: &'a SsaFunction, functions: FunctionLookup<'a>, hits: &'a mut RuleCoverage) -> Self {
        let (builder, inputs, vars) =
            (BackgroundDrop::new(SsaBuilder::continuing(ssa)), ssa.inputs.clone(), ssa.vars.clone());
        Self {
            ssa,
            builder,
            inputs,
            vars,
            functions,
            hits,
            may_be_singular: Vec::new(),
            met_singular_factor: false,
            nonzero_tests: HashSet::new(),
            result_supports: Vec::new(),
            forward_calls: BTreeMap::new(),
            forward_loops: Vec::new(),
            restoring_loops: Vec::new(),
        }
    }

    /// Adds an input, and the statement that reads it.
    fn add_input(&mut self, name: Name, source: InputSource, leaf: TypeLeaf) -> StmtId {
        let k = u32::try_from(self.inputs.len()).unwrap_or(u32::MAX);
        let (dims, scalar) = (leaf.dims.clone(), leaf.scalar);
        self.inputs.push(FunctionInput { local: self.vars.fresh(name.clone()), source, leaf });
        let var = self.builder.push(dims, scalar, Rhs::Input(k), Vec::new());
        if let Some(stmt) = self.builder.stmts.get_mut(var.0 as usize) {
            stmt.name = Some(name);
        }
        var
    }

    /// Returns the name of a statement, or `otherwise` if it has none.
    fn name(&self, var: StmtId, otherwise: &str) -> Name {
        let name = self.ssa.stmts.get(var.0 as usize).and_then(|s| s.name.clone());
        name.unwrap_or_else(|| otherwise.into())
    }

    /// Attributes the following statements to a rule for statement `of`, and counts the rule.
    fn begin_rule(&mut self, of: StmtId, rule: &'static str) {
        self.hits.count(rule);
        self.attribute_to(of, rule);
    }

    /// Attributes the following statements to statement `of`, without counting a rule.
    fn attribute_to(&mut self, of: StmtId, why: &'static str) {
        self.builder.trace.enter(OriginKind::PrimalStatement(of, why));
    }

    /// Returns the derived function, without dead statements, and the origins of its statements.
    fn finish(
        self,
        derivation: &DerivativeKind,
        needs: Vec<u32>,
        outputs: Vec<(TypeLeaf, StmtId)>,
    ) -> (SsaFunction, OriginTable) {
        let SsaBuilder { stmts, checks, trace, .. } = self.builder.take();
        let mut derived = SsaFunction {
            callee: Arc::new(self.ssa.callee.derivative(derivation.clone())),
            vars: self.vars,
            sizes: self.ssa.sizes.clone(),
            bounded: self.ssa.bounded.clone(),
            params: self.ssa.params.clone(),
            inputs: self.inputs,
            stmts,
            checks,
            needs,
            is_opaque: false,
            result: CoreType::tuple(outputs.iter().map(|(leaf, _)| leaf.ty()).collect::<Vec<_>>()),
            outputs,
        };
        let fates = lang_opt::dce::eliminate_dead_code(&mut derived);
        (derived, trace.finish(&fates))
    }

    /// Returns the union of the terms' predicates over indices of these ranges. If it is too long,
    /// only its part over indices and sizes remains.
    fn join_supports(&self, dims: &[Poly], terms: Vec<Pred>) -> Pred {
        let some = self.builder.simplify(dims, &Pred::any_of(terms));
        if some.size() > MAX_SUPPORT_SIZE { self.builder.simplify(dims, &some.data_independent_part()) } else { some }
    }

    /// Returns the predicate "the element is not zero", the support of a tangent or cotangent if
    /// nothing better is known.
    ///
    /// For a product with a factor that may be infinite, the pass tests "not zero, or the factor is
    /// finite" instead (`partial`). This is because a zero product with a finite factor may have a
    /// derivative that is not zero.
    fn nonzero_pred(&mut self, var: StmtId) -> Pred {
        let everywhere = ReadDomain { dims: self.builder.dims(var), pred: Pred::truth(), needs: &[] };
        let differs = self.compare_with_constant(BinOp::Ne, &everywhere, &self.at_own_indices(var), 0.0);
        if let Pred::Element(local, ..) = &differs {
            self.nonzero_tests.insert(*local);
        }
        differs
    }

    /// Returns the predicate that an element compares with a constant by `op`.
    fn compare_with_constant(&mut self, op: BinOp, inside: &ReadDomain<'_>, of: &TensorAccess, with: f64) -> Pred {
        let scalar = self.builder.scalar(of.var);
        let constant = self.builder.constant(Constant::Real(with), scalar);
        let args = [of.clone(), TensorAccess { var: constant, at: Vec::new() }];
        let (operation, needs) = (ScalarOp::Binary(op), inside.needs.to_vec());
        let var = self.builder.map(&inside.dims, Scalar::Bool, operation, &inside.pred, &args, needs);
        Pred::Element(var.local(), var.name(), canonical_indices(&inside.dims).into(), true)
    }

    /// Returns an access to a tensor at its own indices.
    fn at_own_indices(&self, var: StmtId) -> TensorAccess {
        let dims = self.builder.dims(var);
        TensorAccess { var, at: canonical_indices(&dims) }
    }
}

/// Returns the canonical indices of these extents.
fn canonical_indices(dims: &[Poly]) -> Vec<Poly> {
    dims.iter().enumerate().map(|(k, n)| lang_ir::ssa::statement_index(k, n).value()).collect()
}
