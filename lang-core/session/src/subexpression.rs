//! **Expressions inside a definition.** Computes the cost of one evaluation, the partial
//! derivatives by the variables around, and the cotangent that the adjoint computes for the
//! expression. The editor's hovers show them.
//!
//! For cost and partial derivatives, the expression becomes a function of the definition's
//! parameters and of the variables around it. For partial derivatives the `let`s around become part
//! of it; for its cost their variables are parameters.
//!
//! For the cotangent, the definition gets one more parameter, an array over the indices around,
//! which is added to the expression. The parameter's cotangent at zero is that of the expression.
//! Inside a loop or an inner function, the loop's or function's body replaces the definition. The
//! cotangent is then a function of the cotangent of an iteration's or a call's result.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use salsa::Database;

use super::deferred_drop::DeferredDrop;
use super::enclosing::{
    EnclosingConstruct, EvaluationMultiplicity, enclosing_constructs, index_and_range_locals, index_bounds,
    let_variables_on_result_path, local_name, locals_in_polynomial, rename_shadowed_variables, variables_in_scope,
};
use super::middle_queries::MiddleQueries;
use super::overlay::OverlayProgram;
use super::real_parts::{
    RealPart, add_local, array_type, build_local_read, build_offset_element, build_sum_at_part, real_parts,
};
use super::scope::ValueBinding;
use super::view::ProgramView;
use super::{Session, cycles, global_name, queries};
use lang_base::{GlobalName, Name};
use lang_ir::core::FunctionKey;
use lang_ir::ssa::SsaFunction;
use lang_middle::cost::CostFormulas;
use lang_middle::norm::ElabQueries;
use lang_middle::pipeline::CalleeForms as _;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_source::{
    DerivativeEntry, Entries, ExpressionContext, NoTextReason, NotShownReason, ResultOwner, ScopeVariable,
    ShownDerivative, entries,
};
use lang_syntax::split::ItemKind;
use lang_types::env::TypeEnv as _;
use lang_types::tree::{TypedBody, TypedExpr, TypedId, TypedIndexRange, TypedIndexVar, TypedNode, TypedPattern};
use lang_types::ty::{Signature, Type};

/// The most real parts of a value; if it has more, none is shown.
const MAX_REAL_PARTS: usize = 6;

impl Session {
    /// Returns the cost of one evaluation of an expression inside a definition.
    #[must_use]
    pub fn subexpression_cost(&self, def: &GlobalName, node: TypedId) -> Option<Arc<CostFormulas>> {
        subexpression_cost(&self.db, self.subexpression_key(def, node)?).value()
    }

    /// Returns the partial derivatives of an expression inside a definition, for each real part of
    /// it. For an array they are those of an element.
    #[must_use]
    pub fn partials(&self, def: &GlobalName, node: TypedId) -> Vec<Result<Entries, NotShownReason>> {
        let Some(inner) = self.subexpression_key(def, node) else { return Vec::new() };
        entries_of_real_parts(&self.db, inner, &|part| partials(&self.db, part))
    }

    /// Returns the cotangent of each real part of an expression inside a definition. For an array
    /// it is that of an element.
    #[must_use]
    pub fn cotangent(&self, def: &GlobalName, node: TypedId) -> Vec<Result<Entries, NotShownReason>> {
        let Some(inner) = self.subexpression_key(def, node) else { return Vec::new() };
        entries_of_real_parts(&self.db, inner, &|part| cotangent(&self.db, part))
    }

    pub(super) fn subexpression_key(&self, def: &GlobalName, node: TypedId) -> Option<SubexpressionKey<'_>> {
        cycles::item_types_ready(&self.db, self.find_item(def)?);
        Some(SubexpressionKey::new(&self.db, def.clone(), node))
    }
}

/// An expression inside a definition as a key of queries.
#[salsa::interned(debug)]
pub(super) struct SubexpressionKey<'db> {
    /// The definition.
    #[returns(ref)]
    pub(super) def: GlobalName,
    /// The expression.
    #[returns(copy)]
    pub(super) node: TypedId,
}

/// A real part of such an expression as a key of queries.
#[salsa::interned(debug)]
pub(super) struct RealPartKey<'db> {
    /// The expression.
    #[returns(copy)]
    pub(super) inner: SubexpressionKey<'db>,
    /// The part.
    #[returns(ref)]
    pub(super) real_part: RealPart,
}

/// The entries of a real part, for each case that differs.
pub(super) type EntriesOfCases = Result<Vec<Entries>, NotShownReason>;

/// Collects the entries of all real parts.
fn entries_of_real_parts<'db>(
    db: &'db dyn Database,
    inner: SubexpressionKey<'db>,
    part_entries: &dyn Fn(RealPartKey<'db>) -> &'db EntriesOfCases,
) -> Vec<Result<Entries, NotShownReason>> {
    let node = inner.node(db);
    let body = MiddleQueries { db }.body(inner.def(db)).filter(|body| node.index() < body.nodes.len());
    let all = body.map(|body| real_parts(&body.nodes[node].ty)).unwrap_or_default();
    if all.len() > MAX_REAL_PARTS {
        return vec![Err(NotShownReason::TooManyParts)];
    }
    let leaf_entries = |leaf: RealPart| match part_entries(RealPartKey::new(db, inner, leaf)) {
        Ok(all) => all.iter().cloned().map(Ok).collect(),
        Err(why) => vec![Err(why.clone())],
    };
    all.into_iter().flat_map(leaf_entries).collect()
}

/// Returns the cost of one evaluation.
#[salsa::tracked]
pub(super) fn subexpression_cost<'db>(
    db: &'db dyn Database,
    of: SubexpressionKey<'db>,
) -> DeferredDrop<Option<Arc<CostFormulas>>> {
    let inside = SubexpressionFunction::from_expression(db, of.def(db), of.node(db), None);
    inside.and_then(|inside| Some(inside.cost()?.1)).into()
}

/// Returns the partial derivatives of a part.
#[salsa::tracked]
pub(super) fn partials<'db>(db: &'db dyn Database, part: RealPartKey<'db>) -> EntriesOfCases {
    let of = part.inner(db);
    let inside = SubexpressionFunction::from_expression(db, of.def(db), of.node(db), Some(part.real_part(db).clone()));
    inside.ok_or(NotShownReason::NotReal)?.entries(db, &ShownDerivative::Partials)
}

/// Returns the cotangent of a part.
#[salsa::tracked]
pub(super) fn cotangent<'db>(db: &'db dyn Database, part: RealPartKey<'db>) -> EntriesOfCases {
    let of = part.inner(db);
    let (inside, entry) = SubexpressionFunction::with_cotangent(db, of.def(db), of.node(db), part.real_part(db))?;
    inside.entries(db, &entry)
}

/// An expression as a function.
pub(super) struct SubexpressionFunction<'db> {
    pub(super) overlay: OverlayProgram<'db>,
    pub(super) callee: Arc<FunctionKey>,
    pub(super) body: Arc<TypedBody>,
    /// The indices of an element of the expression, then those around.
    pub(super) indices: Vec<TypedIndexVar>,
    /// The number of its evaluations.
    pub(super) multiplicity: EvaluationMultiplicity,
    /// The part whose derivative is computed.
    real_part: RealPart,
    /// The starts of the first indices, which are the indices of an entry of a cotangent; otherwise
    /// empty.
    entry_starts: Vec<Poly>,
    /// The variables in scope at the expression.
    scope_variables: Vec<ScopeVariable>,
    /// The new and the old names of the hidden variables.
    renamed_variables: Vec<(Name, Name)>,
}

/// Returns the body of a definition, or of a top-level `let` or `do`.
pub(super) fn evaluable_body(db: &dyn Database, def: &GlobalName) -> Option<Arc<TypedBody>> {
    let other = || {
        let view = ProgramView::new(db);
        let file = view.file(&def.module)?;
        let item = match view.value_item(def) {
            Some(ValueBinding::Let(item)) => item,
            Some(_) => return None,
            None => {
                let of_kind = |kind| file.items(db).iter().copied().filter(move |item| item.kind(db) == kind);
                match def.name.strip_prefix("do ").and_then(|nth| nth.parse::<usize>().ok()) {
                    Some(nth) => of_kind(ItemKind::Do).nth(nth.checked_sub(1)?)?,
                    None => of_kind(ItemKind::Let).find(|item| global_name(db, *item) == *def)?,
                }
            }
        };
        Some(Arc::clone(&queries::checked(db, item).as_ref()?.body))
    };
    MiddleQueries { db }.body(def).or_else(other)
}

/// Returns the signature of an item that is evaluated once.
fn nullary_signature(body: &TypedBody) -> Option<Arc<Signature>> {
    let result = body.nodes[body.root?].ty.clone();
    Some(Arc::new(Signature { type_params: Vec::new(), sizes: Vec::new(), params: Vec::new(), result }))
}

/// Returns the locals that an expression reads and does not bind, those in its types included.
pub(super) fn free_locals(body: &TypedBody, node: TypedId) -> HashSet<LocalId> {
    let (mut read, mut bound) = (HashSet::new(), HashSet::new());
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        let TypedNode { kind, ty, .. } = &body.nodes[node];
        let bind = &mut |l| bound.extend([l]);
        kind.for_each_local(&mut |l| read.extend([l]), bind);
        ty.visit(&mut |_| {}, &mut |p| read.extend(locals_in_polynomial(p)));
        kind.for_each_child(&body.nodes, &mut |child| open.push(child));
    }
    read.difference(&bound).copied().collect()
}

/// A function under construction from an expression.
pub(super) struct UnboundFunction {
    root: TypedId,
    /// The locals that it reads and that are not yet bound.
    unbound_locals: HashSet<LocalId>,
    params: Vec<LocalId>,
    /// The parameters that are indices.
    indices: Vec<TypedIndexVar>,
}

/// The `let`s around an expression that become part of the function. The variables of others become
/// parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EnclosingLets {
    All,
    /// The `let`s that bind functions.
    Functions,
    None,
}

impl UnboundFunction {
    /// Starts with an expression and its first parameters.
    pub(super) fn new(body: &TypedBody, root: TypedId, params: Vec<LocalId>) -> Self {
        Self { unbound_locals: free_locals(body, root), root, params, indices: Vec::new() }
    }

    /// Binds the locals that it reads from the constructs around. A `let` stays or becomes
    /// parameters; all else becomes parameters.
    pub(super) fn bind_enclosing(
        &mut self,
        body: &mut TypedBody,
        around: Vec<EnclosingConstruct>,
        lets: EnclosingLets,
    ) {
        let is_function = |body: &TypedBody, pat: &TypedPattern| {
            let mut found = false;
            pat.for_each_local(&mut |l| found |= body.locals.get(l.0 as usize).is_some_and(|l| l.ty.has_function()));
            found
        };
        for step in around.into_iter().rev() {
            match step {
                EnclosingConstruct::Let(binds) => {
                    let is_kept = |pat: &TypedPattern| match lets {
                        EnclosingLets::All => true,
                        EnclosingLets::Functions => is_function(body, pat),
                        EnclosingLets::None => false,
                    };
                    let (kept, removed_binds): (Vec<_>, Vec<_>) = binds.into_iter().partition(|(pat, _)| is_kept(pat));
                    self.prepend_lets(body, kept);
                    let mut bound = Vec::new();
                    removed_binds.iter().for_each(|(pat, _)| pat.for_each_local(&mut |l| bound.push(l)));
                    self.params.extend(bound.into_iter().filter(|l| self.unbound_locals.contains(l)));
                }
                EnclosingConstruct::Index(index) => {
                    if self.unbound_locals.contains(&index.local) {
                        self.params.push(index.local);
                        self.indices.push(index);
                    }
                }
                EnclosingConstruct::Variables(locals) => {
                    self.params.extend(locals.into_iter().filter(|l| self.unbound_locals.contains(l)))
                }
                EnclosingConstruct::Arm(pat, _) => {
                    pat.for_each_local(&mut |l| self.params.extend(self.unbound_locals.get(&l)))
                }
                EnclosingConstruct::CountedBody(_)
                | EnclosingConstruct::DynamicBody(_)
                | EnclosingConstruct::Condition => {}
            }
        }
        // Extents that `let`s determine become integer parameters.
        let is_known = |l: &LocalId| self.params.contains(l) || body.params.contains(l) || body.sizes.contains(l);
        let mut others: Vec<LocalId> = self.unbound_locals.iter().copied().filter(|l| !is_known(l)).collect();
        others.sort_unstable_by_key(|l| l.0);
        body.params.extend(std::mem::take(&mut self.params));
        body.params.extend(others);
        body.root = Some(self.root);
    }

    /// Prepends the `let`s whose variables it reads.
    fn prepend_lets(&mut self, body: &mut TypedBody, binds: Vec<(TypedPattern, TypedId)>) {
        let mut kept = Vec::new();
        for (pat, value) in binds.into_iter().rev() {
            let mut bound = Vec::new();
            pat.for_each_local(&mut |l| bound.push(l));
            if bound.iter().any(|l| self.unbound_locals.contains(l)) {
                self.unbound_locals.extend(free_locals(body, value));
                self.unbound_locals.retain(|l| !bound.contains(l));
                kept.push((pat, value));
            }
        }
        if !kept.is_empty() {
            kept.reverse();
            let TypedNode { ty, span, .. } = body.nodes[self.root].clone();
            self.root = body.nodes.alloc(TypedNode { kind: TypedExpr::Let(kept, self.root), ty, span });
        }
    }
}

/// Returns whether it calls a derivative.
pub(super) fn calls_derivatives(ssa: &SsaFunction) -> bool {
    let mut found = false;
    ssa.for_each_callee(&mut |callee| found |= !callee.derivatives.is_empty());
    found
}

/// Returns whether the polynomial is never negative, because none of these sizes is. An integer
/// parameter may have any sign.
fn is_nonnegative(p: &Poly, sizes: &[LocalId]) -> bool {
    let is_size = |a: &Atom| matches!(a, Atom::Local(l, _) if sizes.contains(l));
    p.terms().iter().all(|(m, c)| *c >= 0 && m.as_slice().iter().all(|(a, _)| is_size(a)))
}

/// Returns the greatest or the least value of a polynomial over the ranges of these indices. It
/// must be linear in them with constant coefficients; otherwise `None`.
fn extreme_over_ranges(p: &Poly, ranges: &[(Atom, Poly, Poly)], greatest: bool) -> Option<Poly> {
    let mut all = Poly::default();
    for (monomial, c) in p.terms() {
        let found = |a: &Atom| ranges.iter().find(|(index, ..)| index == a);
        let term = match monomial.as_slice() {
            [(a, 1)] if found(a).is_some() => {
                let (_, least, most) = found(a)?;
                if greatest == (*c > 0) { most } else { least }.mul(&Poly::constant(*c))
            }
            // `min` and `max` are increasing in both operands.
            [(a @ (Atom::Min(p, q) | Atom::Max(p, q)), 1)] => {
                let of = |p: &Poly| extreme_over_ranges(p, ranges, greatest == (*c > 0));
                let (p, q) = (of(p)?, of(q)?);
                if matches!(a, Atom::Min(..)) { p.minimum(&q) } else { p.maximum(&q) }.mul(&Poly::constant(*c))
            }
            atoms => {
                let mut mentions = false;
                let product = atoms.iter().fold(Poly::constant(*c), |product, (a, k)| {
                    mentions |= ranges.iter().any(|(index, ..)| Poly::atom(a.clone()).mentions(index));
                    product.mul(&Poly::atom(a.clone()).pow(*k))
                });
                (!mentions).then_some(product)?
            }
        };
        all = all.add(&term);
    }
    Some(all)
}

/// Combines these values into one.
fn tuple_of_values(body: &mut TypedBody, values: &[TypedId]) -> Option<TypedId> {
    let first = values.first().copied()?;
    if values.len() == 1 {
        return Some(first);
    }
    let ty = Type::Tuple(values.iter().map(|v| body.nodes[*v].ty.clone()).collect());
    let span = body.nodes[first].span;
    Some(body.nodes.alloc(TypedNode { kind: TypedExpr::Tuple(values.to_vec()), ty, span }))
}

impl<'db> SubexpressionFunction<'db> {
    fn new(
        db: &'db dyn Database,
        def: &GlobalName,
        body: TypedBody,
        indices: Vec<TypedIndexVar>,
        (leaf, begins): (RealPart, Vec<Poly>),
        (seen, hidden): (Vec<ScopeVariable>, Vec<(Name, Name)>),
    ) -> Option<Self> {
        let signature = ProgramView::new(db).signature(def).or_else(|| nullary_signature(&body))?;
        let body = Arc::new(body);
        // No item has this name.
        let name = GlobalName::new(&def.module, &format!("{} within", def.name));
        let callee = FunctionKey::new(name.clone(), vec![Type::F64; signature.type_params.len()]);
        let within = OverlayProgram::new(db, name, Arc::clone(&body), signature);
        let evaluated = EvaluationMultiplicity::default();
        Some(Self {
            overlay: within,
            callee: Arc::new(callee),
            body,
            indices,
            multiplicity: evaluated,
            real_part: leaf,
            entry_starts: begins,
            scope_variables: seen,
            renamed_variables: hidden,
        })
    }

    /// Makes a function of the expression. With `derived`, it is one real number of the expression,
    /// to be differentiated, and contains the `let`s around. Otherwise it is the whole expression,
    /// to be counted.
    pub(super) fn from_expression(
        db: &'db dyn Database,
        def: &GlobalName,
        node: TypedId,
        derived: Option<RealPart>,
    ) -> Option<Self> {
        let body = evaluable_body(db, def).filter(|body| node.index() < body.nodes.len())?;
        let mut body = (*body).clone();
        let around = enclosing_constructs(&body, node)?;
        let names = (variables_in_scope(&body, &around), rename_shadowed_variables(&mut body, &around));
        let evaluated = EvaluationMultiplicity::from_enclosing(&around);
        let mut own = Vec::new();
        let root = if let Some(leaf) = &derived {
            for extent in leaf.extents() {
                let free = |name: &&str| !body.locals.iter().any(|l| l.name == **name);
                let name = ["i", "j", "k", "l", "p", "q"].into_iter().find(free).unwrap_or("r");
                let local = add_local(&mut body, name, Type::I64, node)?;
                own.push(TypedIndexVar { local, range: TypedIndexRange::Extent(extent.clone()) });
            }
            leaf.build_read(&mut body.nodes, node, &own.iter().map(|v| v.local).collect::<Vec<_>>())
        } else {
            node
        };
        let mut open = UnboundFunction::new(&body, root, Vec::new());
        if derived.is_none() {
            // The number of its evaluations depends on all indices around.
            open.unbound_locals.extend(around.iter().flat_map(|step| index_and_range_locals(&body, step)));
        }
        open.params.extend(own.iter().map(|v| v.local));
        open.bind_enclosing(
            &mut body,
            around,
            if derived.is_some() { EnclosingLets::All } else { EnclosingLets::None },
        );
        let indices = own.into_iter().chain(open.indices).collect();
        Some(Self {
            multiplicity: evaluated,
            ..Self::new(db, def, body, indices, (derived.unwrap_or_default(), Vec::new()), names)?
        })
    }

    /// Makes a function with one more parameter, which is added to a part of the expression. The
    /// function is the definition, or the body of the innermost loop or function around. Also
    /// returns the entry to compute.
    fn with_cotangent(
        db: &'db dyn Database,
        def: &GlobalName,
        node: TypedId,
        leaf: &RealPart,
    ) -> Result<(Self, ShownDerivative), NotShownReason> {
        let exists = |body: &Arc<TypedBody>| node.index() < body.nodes.len();
        let body = MiddleQueries { db }.body(def).filter(exists).ok_or(NotShownReason::NotReal)?;
        let mut outer = enclosing_constructs(&body, node).ok_or(NotShownReason::NotReal)?;
        let mut body = (*body).clone();
        let mut names = (variables_in_scope(&body, &outer), rename_shadowed_variables(&mut body, &outer));
        let innermost_body = outer
            .iter()
            .rposition(|step| matches!(step, EnclosingConstruct::CountedBody(_) | EnclosingConstruct::DynamicBody(_)));
        let inner = outer.split_off(innermost_body.map_or(0, |k| k + 1));
        let mut indices: Vec<TypedIndexVar> = Vec::new();
        let (mut extents, mut begins): (Vec<Poly>, Vec<Poly>) = (Vec::new(), Vec::new());
        for step in inner {
            let EnclosingConstruct::Index(index) = step else { continue };
            let (begin, end) = index_bounds(&body, &index).ok_or(NoTextReason::Loop)?;
            let ranges: Vec<(Atom, Poly, Poly)> = indices
                .iter()
                .zip(begins.iter().zip(&extents))
                .map(|(i, (from, n))| {
                    let atom = Atom::Local(i.local, local_name(&body, i.local));
                    (atom, from.clone(), from.add(n).add_constant(-1))
                })
                .collect();
            // An index that may be negative counts from its least start; its range ends at its
            // greatest end.
            let least = extreme_over_ranges(&begin, &ranges, false).ok_or(NoTextReason::Loop)?;
            let begin = if is_nonnegative(&least, &body.sizes) { Poly::default() } else { least };
            let end = extreme_over_ranges(&end, &ranges, true).ok_or(NoTextReason::Loop)?;
            extents.push(end.sub(&begin));
            begins.push(begin);
            indices.push(index);
        }
        extents.extend(leaf.extents().cloned());
        let (mut root, mut whose) = (body.root.ok_or(NotShownReason::NotReal)?, ResultOwner::Definition);
        if let Some(EnclosingConstruct::CountedBody(of) | EnclosingConstruct::DynamicBody(of)) = outer.last() {
            whose = of.owner.clone();
            root = tuple_of_values(&mut body, &of.results).ok_or(NotShownReason::NotReal)?;
        }
        for later in let_variables_on_result_path(&body, root) {
            if !names.0.iter().any(|seen| seen.name == later.name) {
                names.0.push(later);
            }
        }
        let param = u32::try_from(body.params.len()).map_err(|_| NoTextReason::TooLarge)?;
        let TypedNode { kind, ty, span } = body.nodes[node].clone();
        let real = leaf.scalar_type(&ty).ok_or(NotShownReason::NotReal)?;
        let added_ty = array_type(extents, real);
        let local = add_local(&mut body, "_", added_ty.clone(), node).ok_or(NoTextReason::TooLarge)?;
        body.params.push(local);
        let value = body.nodes.alloc(TypedNode { kind, ty, span });
        let more = build_local_read(&mut body.nodes, local, added_ty, node);
        let at: Vec<(LocalId, Poly)> = indices.iter().map(|v| v.local).zip(begins.iter().cloned()).collect();
        let more = build_offset_element(&mut body.nodes, more, &at);
        let sum = build_sum_at_part(&mut body, &leaf.steps, value, more).ok_or(NoTextReason::TooLarge)?;
        body.nodes[node].kind = body.nodes[sum].kind.clone();
        let mut open = UnboundFunction::new(&body, root, Vec::new());
        open.bind_enclosing(&mut body, outer, EnclosingLets::All);
        indices.extend(open.indices);
        let inside = Self::new(db, def, body, indices, (leaf.clone(), begins), names).ok_or(NotShownReason::NotReal)?;
        Ok((inside, ShownDerivative::Cotangent { param, owner: whose }))
    }

    /// Makes a function of the value of a node, with these parameters and the locals that it reads.
    pub(super) fn from_value(
        db: &'db dyn Database,
        def: &GlobalName,
        mut body: TypedBody,
        (root, params): (TypedId, Vec<LocalId>),
        around: Vec<EnclosingConstruct>,
        lets: EnclosingLets,
    ) -> Option<Self> {
        // A reader of a value with all `let`s knows the variables around; otherwise only the
        // parameters.
        let seen = if lets == EnclosingLets::All { variables_in_scope(&body, &around) } else { Vec::new() };
        let names = (seen, rename_shadowed_variables(&mut body, &around));
        let mut open = UnboundFunction::new(&body, root, params);
        open.bind_enclosing(&mut body, around, lets);
        let indices = open.indices;
        Self::new(db, def, body, indices, (RealPart::default(), Vec::new()), names)
    }

    /// Returns the entries, after inlining the calls of derivatives where possible.
    pub(super) fn entries_with_inlining(&mut self, db: &'db dyn Database, entry: &ShownDerivative) -> EntriesOfCases {
        if self.overlay.ssa(&self.callee).is_some_and(|ssa| calls_derivatives(&ssa)) {
            self.overlay = self.overlay.with_inlining();
        }
        self.entries(db, entry)
    }

    fn entries(&self, db: &'db dyn Database, entry: &ShownDerivative) -> EntriesOfCases {
        let first = self.entry_starts.len();
        let known = |ssa: &SsaFunction, at: &[Poly]| self.index_facts(ssa, at.get(..first).unwrap_or_default());
        let begins =
            |ssa: &SsaFunction| self.entry_starts.iter().map(|p| self.to_ssa_polynomial(ssa, &[], p)).collect();
        let names: Vec<Name> = self.indices.iter().take(first).map(|i| local_name(&self.body, i.local)).collect();
        let around = ExpressionContext {
            scope_variables: self.scope_variables.clone(),
            indices: &names,
            index_starts: &begins,
            index_facts: &known,
        };
        let view = ProgramView::new(db);
        let mut cases = entries(&self.overlay, &self.overlay, &view, &self.callee, entry, around)?;
        for case_entries in &mut cases {
            let at: Vec<String> = match entry {
                ShownDerivative::Value(_) | ShownDerivative::Gradient { .. } => Vec::new(),
                ShownDerivative::Partials => {
                    let own = self.indices.iter().take(self.real_part.extents().count());
                    own.map(|i| local_name(&self.body, i.local).to_string()).collect()
                }
                // The indices around come first.
                ShownDerivative::Cotangent { .. } => {
                    let own = |derivative_entry: &DerivativeEntry| {
                        derivative_entry.indices.get(first..).map(<[String]>::to_vec)
                    };
                    case_entries.entries.first().and_then(own).unwrap_or_default()
                }
            };
            case_entries.expression_part = self.real_part.path_text(&at);
            case_entries.renamed_variables =
                self.renamed_variables.iter().filter(|(own, _)| case_entries.mentions_name(own)).cloned().collect();
        }
        Ok(cases)
    }

    /// Returns its Tensor SSA, and the cost for indices in their ranges.
    pub(super) fn cost(&self) -> Option<(Arc<SsaFunction>, Arc<CostFormulas>)> {
        let ssa = self.overlay.ssa(&self.callee)?;
        let cost = self.overlay.cost_where(&ssa, &self.index_facts(&ssa, &[]));
        Some((ssa, cost))
    }

    /// Returns the facts about the indices, which are parameters; `at` replaces the first ones.
    pub(super) fn index_facts(&self, ssa: &SsaFunction, at: &[Poly]) -> Vec<Pred> {
        let mut all = Vec::new();
        for i in &self.indices {
            let own =
                self.to_ssa_polynomial(ssa, at, &Poly::atom(Atom::Local(i.local, local_name(&self.body, i.local))));
            let (Some(own), Some((begin, end))) = (own, index_bounds(&self.body, i)) else { continue };
            all.extend(self.to_ssa_polynomial(ssa, at, &begin).map(|begin| Pred::at_most(&begin, &own)));
            all.extend(self.to_ssa_polynomial(ssa, at, &end).map(|end| Pred::less(&own, &end)));
        }
        all
    }

    /// Translates a polynomial over variables of the body to the variables of its Tensor SSA; `at`
    /// replaces the first indices. `None` if a variable has no counterpart.
    pub(super) fn to_ssa_polynomial(&self, ssa: &SsaFunction, at: &[Poly], p: &Poly) -> Option<Poly> {
        let index = |l: LocalId| self.indices.iter().position(|i| i.local == l);
        let value = |l: LocalId| -> Option<Poly> {
            if let Some(at) = index(l).filter(|k| *k < self.entry_starts.len()).and_then(|k| at.get(k)) {
                return Some(at.clone());
            }
            let size = self.body.sizes.iter().position(|s| *s == l).and_then(|k| ssa.sizes.get(k).copied());
            let param = || self.body.params.iter().position(|p| *p == l).and_then(|k| Some(ssa.params.get(k)?.0));
            Some(Poly::atom(ssa.vars.atom(size.or_else(param)?)))
        };
        let whole = Cell::new(true);
        let p = p.substitute(&|a| match a {
            Atom::Local(l, _) => {
                let known = value(*l);
                whole.set(whole.get() && known.is_some());
                known
            }
            _ => None,
        });
        whole.get().then_some(p)
    }
}
