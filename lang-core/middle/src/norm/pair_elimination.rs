//! **Pair elimination** (ATL Fig. 8): turns arrays of tuples into tuples of arrays, and each
//! binding of a tuple into one binding for each part. It runs after let-lifting and before
//! gen-pushout. Tuples remain only in the types of the parameters and the result, which are
//! flattened, and as the results of calls, which are read part by part.
//!
//! (5.12) is misprinted in the paper: `πₖ (⊞ i: e) = ⊞ i: πₖ e`, of the same `e`.

use std::collections::HashMap;
use std::sync::Arc;

use super::rule_coverage::RuleCoverage;
use super::substitute;
use lang_base::{GlobalName, Name};
use lang_base::{check_cancelled, ensure_sufficient_stack};
use lang_ir::core::{CoreExpr, CoreFunction, CoreType, ExprKind, ExprRef, TypeLeaf, Vars};
use lang_ir::flat::{FlatFunction, FunctionInput, InputSource};
use lang_sizes::predicate::{LocalId, Poly};

/// The names under which rules are counted. (5.18) covers the three lines of one rule. (5.13),
/// (5.15) and (5.17) are covered by (5.12), (5.14) and (5.16): the pass takes a part of a tuple
/// before it indexes, so it never indexes a tuple of arrays.
pub const RULES: &[&str] = &["5.11", "5.12", "5.14", "5.16", "5.18"];

/// Returns the function without tuples. The function must be lifted.
#[must_use]
pub fn eliminate_pairs(function: &CoreFunction, hits: &mut RuleCoverage) -> FlatFunction {
    let mut pass = PairEliminator {
        vars: function.vars.clone(),
        component_vars: HashMap::new(),
        inputs: Vec::new(),
        flat_calls: HashMap::new(),
        hits,
    };
    for (k, (local, ty)) in (0..).zip(&function.params) {
        let leaves = pass.component_variables(*local, ty);
        for (leaf, local) in leaves {
            pass.inputs.push(FunctionInput { local, source: InputSource::Param(k), leaf });
        }
    }
    let (bindings, body) = match &function.body.kind {
        ExprKind::Let(bindings, body) => (bindings.as_slice(), body),
        _ => (&[][..], &function.body),
    };
    let mut flat = Vec::new();
    for (x, e) in bindings {
        let leaves = e.ty.leaves();
        if leaves.is_empty() {
            let e = pass.component(e, &[]);
            flat.push((*x, e));
            continue;
        }
        if leaves.len() > 1 {
            pass.hits.count("5.18");
        }
        for (leaf, local) in pass.component_variables(*x, &e.ty) {
            let part = pass.component(e, &leaf.path);
            flat.push((local, part));
        }
    }
    let outputs = body.ty.leaves().into_iter().map(|leaf| {
        let e = pass.component(body, &leaf.path);
        (leaf, e)
    });
    let outputs = outputs.collect();
    FlatFunction {
        callee: function.callee.clone(),
        sizes: function.sizes.clone(),
        bounded: function.bounded_params.clone(),
        params: function.params.clone(),
        inputs: pass.inputs,
        bindings: flat,
        outputs,
        result: function.body.ty.clone(),
        vars: pass.vars,
    }
}

/// Returns whether every expression is free of tuples, except checks without a value and the
/// results of calls.
#[must_use]
pub fn is_flat(flat: &FlatFunction) -> bool {
    fn plain(e: &ExprRef) -> bool {
        let mut good = match &e.kind {
            ExprKind::Tuple(items) => items.is_empty(),
            ExprKind::Proj(call, _) => matches!(call.kind, ExprKind::Call(..) | ExprKind::Loop(..)),
            ExprKind::Let(..) => false,
            _ => true,
        };
        e.for_each_child(&mut |e| good = good && ensure_sufficient_stack(|| plain(e)));
        good
    }
    flat.bindings.iter().all(|(_, e)| plain(e)) && flat.outputs.iter().all(|(_, e)| plain(e))
}

struct PairEliminator<'a> {
    vars: Vars,
    /// The variable for each part of a variable.
    component_vars: HashMap<(LocalId, Vec<u32>), (LocalId, CoreType)>,
    inputs: Vec<FunctionInput>,
    /// The calls and loops with flat arguments, by the address of the original, which the entry
    /// keeps alive. The parts of a result share one call.
    flat_calls: HashMap<usize, (ExprRef, ExprRef)>,
    hits: &'a mut RuleCoverage,
}

impl PairEliminator<'_> {
    /// Returns the parts of a variable, each with a variable. A variable that is not a tuple keeps
    /// its own.
    fn component_variables(&mut self, x: LocalId, ty: &CoreType) -> Vec<(TypeLeaf, LocalId)> {
        let mut split = Vec::new();
        for leaf in ty.leaves() {
            let local = match leaf.path.as_slice() {
                [] => x,
                path => {
                    let (name, is_from_source) = self.component_name(x, ty, path);
                    if is_from_source { self.vars.fresh(name) } else { self.vars.fresh_synthetic(&name) }
                }
            };
            let ty = leaf.ty();
            self.component_vars.insert((x, leaf.path.clone()), (local, ty));
            split.push((leaf, local));
        }
        split
    }

    /// Returns the name of a part of a variable, and whether the program chose it, in a pattern or
    /// as the name of an enclosing value.
    fn component_name(&self, x: LocalId, ty: &CoreType, path: &[u32]) -> (Name, bool) {
        let mut of = ty;
        for (k, place) in path.iter().enumerate() {
            let CoreType::Tuple(items, _) = of else { break };
            let Some(item) = items.get(*place as usize) else { break };
            of = item;
            let (own, rest) = path.split_at(k + 1);
            if let Some(name) = self.vars.component_name(x, own) {
                return (join_component_name(&name, of, rest), true);
            }
        }
        (join_component_name(&self.vars.name(x), ty, path), self.vars.source_name(x).is_some())
    }

    /// Returns a part of an expression, itself without tuples.
    fn component(&mut self, e: &ExprRef, path: &[u32]) -> ExprRef {
        check_cancelled();
        ensure_sufficient_stack(|| self.component_of_node(e, path))
    }

    fn component_of_node(&mut self, e: &ExprRef, path: &[u32]) -> ExprRef {
        match &e.kind {
            ExprKind::Var(x) => match self.component_vars.get(&(*x, path.to_vec())) {
                Some((local, ty)) => e.with_kind(ExprKind::Var(*local), ty.clone()),
                None => e.clone(),
            },
            ExprKind::Global(name) => self.global_component(e, name, path),
            ExprKind::Proj(inner, k) => {
                let whole: Vec<u32> = std::iter::once(*k).chain(path.iter().copied()).collect();
                self.component(inner, &whole)
            }
            ExprKind::Tuple(items) => match path.split_first() {
                Some((k, rest)) => {
                    self.hits.count("5.11");
                    items.get(*k as usize).map_or_else(|| e.clone(), |item| self.component(item, rest))
                }
                None => e.clone(),
            },
            ExprKind::Gen(index, body) => {
                if !path.is_empty() {
                    self.hits.count("5.12");
                }
                let own = self.vars.fresh_index(index.name.clone(), index.extent.clone());
                let put = |p: &Poly| p.substitute(&|a| (*a == index.atom()).then(|| own.value()));
                let body = self.component(&substitute::substitute_expr(body, &put), path);
                CoreExpr::at_span(&CoreExpr::generate(own, body), e.span)
            }
            ExprKind::Access(inner, at) => {
                if !path.is_empty() {
                    self.hits.count("5.14");
                }
                let inner = self.component(inner, path);
                CoreExpr::at_span(&CoreExpr::access(&inner, at.clone()), e.span)
            }
            ExprKind::Guard(p, body) => {
                if !path.is_empty() {
                    self.hits.count("5.16");
                }
                let body = self.component(body, path);
                CoreExpr::guard(p.clone(), body)
            }
            ExprKind::Check(p, what, body) => {
                let body = self.component(body, path);
                body.with_kind(ExprKind::Check(p.clone(), what.clone(), body.clone()), body.ty.clone())
            }
            ExprKind::Call(..) | ExprKind::Loop(..) => call_result(&self.flat_call(e), path),
            ExprKind::Update(update, base, value) => {
                let (base, value) = (self.component(base, path), self.component(value, path));
                base.with_kind(ExprKind::Update(update.clone(), base.clone(), value), base.ty.clone())
            }
            _ => e.map(&mut |e| self.component(e, &[]), &Poly::clone, &lang_sizes::predicate::Pred::clone),
        }
    }

    /// Returns a call or a loop with flat arguments.
    fn flat_call(&mut self, e: &ExprRef) -> ExprRef {
        let address = Arc::as_ptr(e).addr();
        if let Some((_, flat)) = self.flat_calls.get(&address) {
            return flat.clone();
        }
        let kind = match &e.kind {
            ExprKind::Call(callee, sizes, args) => {
                ExprKind::Call(callee.clone(), sizes.clone(), self.flatten_args(args))
            }
            ExprKind::Loop(repeat, args) => ExprKind::Loop(repeat.clone(), self.flatten_args(args)),
            kind => kind.clone(),
        };
        let flat = e.with_kind(kind, e.ty.clone());
        self.flat_calls.insert(address, (e.clone(), flat.clone()));
        flat
    }

    /// Returns all parts of the arguments.
    fn flatten_args(&mut self, args: &[ExprRef]) -> Vec<ExprRef> {
        let mut parts = Vec::new();
        for arg in args {
            for leaf in arg.ty.leaves() {
                parts.push(self.component(arg, &leaf.path));
            }
        }
        parts
    }

    /// Returns a part of a top-level `let`, which is an input.
    fn global_component(&mut self, e: &ExprRef, name: &GlobalName, path: &[u32]) -> ExprRef {
        let source = InputSource::Global(name.clone());
        let known = self.inputs.iter().find(|i| i.source == source && i.leaf.path == path);
        if let Some(input) = known {
            return e.with_kind(ExprKind::Var(input.local), input.leaf.ty());
        }
        let Some(leaf) = e.ty.leaves().into_iter().find(|leaf| leaf.path == path) else { return e.clone() };
        let local = self.vars.fresh(join_component_name(&name.name, &e.ty, path));
        let var = e.with_kind(ExprKind::Var(local), leaf.ty());
        self.inputs.push(FunctionInput { local, source, leaf });
        var
    }
}

/// Returns a part of the result of a call or loop.
fn call_result(call: &ExprRef, path: &[u32]) -> ExprRef {
    let leaves = call.ty.leaves();
    let k = leaves.iter().position(|leaf| leaf.path == path);
    let k = k.and_then(|k| u32::try_from(k).ok()).unwrap_or_default();
    let ty = leaves.get(k as usize).map_or_else(|| call.ty.clone(), TypeLeaf::ty);
    call.with_kind(ExprKind::Proj(call.clone(), k), ty)
}

/// Returns the name of a part, such as `p_x` or `p_0`.
fn join_component_name(name: &Name, ty: &CoreType, path: &[u32]) -> Name {
    let mut text = name.to_string();
    let mut ty = ty;
    for k in path {
        while let CoreType::Tensor(_, inner) = ty {
            ty = inner;
        }
        let CoreType::Tuple(items, names) = ty else { break };
        match names.field(*k) {
            Some(field) => text += &format!("_{field}"),
            None => text += &format!("_{k}"),
        }
        match items.get(*k as usize) {
            Some(inner) => ty = inner,
            None => break,
        }
    }
    text.into()
}
