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

use super::around::{Around, Evaluated, apart, around, locals, name_of, on_the_way, range, ranged, seen};
use super::forms::Forms;
use super::kept::Kept;
use super::leaves::{Leaf, added, array, element_from, fresh, leaves, read};
use super::scope::Value;
use super::view::View;
use super::within::Within;
use super::{Session, cycles, global_name, queries};
use lang_base::{GlobalName, Name};
use lang_ir::core::Callee;
use lang_ir::ssa::Ssa;
use lang_middle::cost::Cost;
use lang_middle::norm::Bodies;
use lang_middle::pipeline::Callees as _;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_source::{Entries, Entry, Outside, Seen, Surroundings, Told, Unshown, Whose, entries};
use lang_syntax::split::ItemKind;
use lang_types::env::Env as _;
use lang_types::tree::{Body, Expr, IndexRange, IndexVar, Node, Pat, TId};
use lang_types::ty::{Signature, Type};

/// The most real parts of a value; if it has more, none is shown.
const MOST_PARTS: usize = 6;

impl Session {
    /// Returns the cost of one evaluation of an expression inside a definition.
    #[must_use]
    pub fn cost_inside(&self, def: &GlobalName, node: TId) -> Option<Arc<Cost>> {
        cost_inside(&self.db, self.place_inside(def, node)?).value()
    }

    /// Returns the partial derivatives of an expression inside a definition, for each real part of
    /// it. For an array they are those of an element.
    #[must_use]
    pub fn partials(&self, def: &GlobalName, node: TId) -> Vec<Result<Entries, Unshown>> {
        let Some(inner) = self.place_inside(def, node) else { return Vec::new() };
        real_parts(&self.db, inner, &|part| partials(&self.db, part))
    }

    /// Returns the cotangent of each real part of an expression inside a definition. For an array
    /// it is that of an element.
    #[must_use]
    pub fn cotangent(&self, def: &GlobalName, node: TId) -> Vec<Result<Entries, Unshown>> {
        let Some(inner) = self.place_inside(def, node) else { return Vec::new() };
        real_parts(&self.db, inner, &|part| cotangent(&self.db, part))
    }

    pub(super) fn place_inside(&self, def: &GlobalName, node: TId) -> Option<Inner<'_>> {
        cycles::ready(&self.db, self.find(def)?);
        Some(Inner::new(&self.db, def.clone(), node))
    }
}

/// An expression inside a definition as a key of queries.
#[salsa::interned(debug)]
pub(super) struct Inner<'db> {
    /// The definition.
    #[returns(ref)]
    pub(super) def: GlobalName,
    /// The expression.
    #[returns(copy)]
    pub(super) node: TId,
}

/// A real part of such an expression as a key of queries.
#[salsa::interned(debug)]
pub(super) struct PartOf<'db> {
    /// The expression.
    #[returns(copy)]
    pub(super) inner: Inner<'db>,
    /// The part.
    #[returns(ref)]
    pub(super) leaf: Leaf,
}

/// The entries of a real part, for each case that differs.
pub(super) type InCases = Result<Vec<Entries>, Unshown>;

/// Collects the entries of all real parts.
fn real_parts<'db>(
    db: &'db dyn Database,
    inner: Inner<'db>,
    told: &dyn Fn(PartOf<'db>) -> &'db InCases,
) -> Vec<Result<Entries, Unshown>> {
    let node = inner.node(db);
    let body = Forms { db }.body(inner.def(db)).filter(|body| node.index() < body.nodes.len());
    let all = body.map(|body| leaves(&body.nodes[node].ty)).unwrap_or_default();
    if all.len() > MOST_PARTS {
        return vec![Err(Unshown::Several)];
    }
    let told = |leaf: Leaf| match told(PartOf::new(db, inner, leaf)) {
        Ok(all) => all.iter().cloned().map(Ok).collect(),
        Err(why) => vec![Err(why.clone())],
    };
    all.into_iter().flat_map(told).collect()
}

/// Returns the cost of one evaluation.
#[salsa::tracked]
pub(super) fn cost_inside<'db>(db: &'db dyn Database, of: Inner<'db>) -> Kept<Option<Arc<Cost>>> {
    let inside = Inside::of(db, of.def(db), of.node(db), None);
    inside.and_then(|inside| Some(inside.cost()?.1)).into()
}

/// Returns the partial derivatives of a part.
#[salsa::tracked]
pub(super) fn partials<'db>(db: &'db dyn Database, part: PartOf<'db>) -> InCases {
    let of = part.inner(db);
    let inside = Inside::of(db, of.def(db), of.node(db), Some(part.leaf(db).clone()));
    inside.ok_or(Unshown::Constant)?.entries(db, &Entry::Partials)
}

/// Returns the cotangent of a part.
#[salsa::tracked]
pub(super) fn cotangent<'db>(db: &'db dyn Database, part: PartOf<'db>) -> InCases {
    let of = part.inner(db);
    let (inside, entry) = Inside::with_cotangent(db, of.def(db), of.node(db), part.leaf(db))?;
    inside.entries(db, &entry)
}

/// An expression as a function.
pub(super) struct Inside<'db> {
    pub(super) within: Within<'db>,
    pub(super) callee: Arc<Callee>,
    pub(super) body: Arc<Body>,
    /// The indices of an element of the expression, then those around.
    pub(super) indices: Vec<IndexVar>,
    /// The number of its evaluations.
    pub(super) evaluated: Evaluated,
    /// The part whose derivative is computed.
    leaf: Leaf,
    /// The starts of the first indices, which are the indices of an entry of a cotangent; otherwise
    /// empty.
    begins: Vec<Poly>,
    /// The variables in scope at the expression.
    seen: Vec<Seen>,
    /// The new and the old names of the hidden variables.
    hidden: Vec<(Name, Name)>,
}

/// Returns the body of a definition, or of a top-level `let` or `do`.
pub(super) fn body_of(db: &dyn Database, def: &GlobalName) -> Option<Arc<Body>> {
    let other = || {
        let view = View::new(db);
        let file = view.file(&def.module)?;
        let item = match view.value_item(def) {
            Some(Value::Let(item)) => item,
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
    Forms { db }.body(def).or_else(other)
}

/// Returns the signature of an item that is evaluated once.
fn of_no_parameters(body: &Body) -> Option<Arc<Signature>> {
    let result = body.nodes[body.root?].ty.clone();
    Some(Arc::new(Signature { type_params: Vec::new(), sizes: Vec::new(), params: Vec::new(), result }))
}

/// Returns the locals that an expression reads and does not bind, those in its types included.
pub(super) fn free(body: &Body, node: TId) -> HashSet<LocalId> {
    let (mut read, mut bound) = (HashSet::new(), HashSet::new());
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        let Node { kind, ty, .. } = &body.nodes[node];
        let bind = &mut |l| bound.extend([l]);
        kind.for_each_local(&mut |l| read.extend([l]), bind);
        ty.visit(&mut |_| {}, &mut |p| read.extend(locals(p)));
        kind.for_each_child(&body.nodes, &mut |child| open.push(child));
    }
    read.difference(&bound).copied().collect()
}

/// A function under construction from an expression.
pub(super) struct Open {
    root: TId,
    /// The locals that it reads and that are not yet bound.
    needed: HashSet<LocalId>,
    params: Vec<LocalId>,
    /// The parameters that are indices.
    indices: Vec<IndexVar>,
}

/// The `let`s around an expression that become part of the function. The variables of others become
/// parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lets {
    All,
    /// The `let`s that bind functions.
    OfFunctions,
    None,
}

impl Open {
    /// Starts with an expression and its first parameters.
    pub(super) fn new(body: &Body, root: TId, params: Vec<LocalId>) -> Self {
        Self { needed: free(body, root), root, params, indices: Vec::new() }
    }

    /// Binds the locals that it reads from the constructs around. A `let` stays or becomes
    /// parameters; all else becomes parameters.
    pub(super) fn close(&mut self, body: &mut Body, around: Vec<Around>, lets: Lets) {
        let is_function = |body: &Body, pat: &Pat| {
            let mut found = false;
            pat.for_each_local(&mut |l| found |= body.locals.get(l.0 as usize).is_some_and(|l| l.ty.has_function()));
            found
        };
        for step in around.into_iter().rev() {
            match step {
                Around::Let(binds) => {
                    let is_kept = |pat: &Pat| match lets {
                        Lets::All => true,
                        Lets::OfFunctions => is_function(body, pat),
                        Lets::None => false,
                    };
                    let (kept, given): (Vec<_>, Vec<_>) = binds.into_iter().partition(|(pat, _)| is_kept(pat));
                    self.wrap(body, kept);
                    let mut bound = Vec::new();
                    given.iter().for_each(|(pat, _)| pat.for_each_local(&mut |l| bound.push(l)));
                    self.params.extend(bound.into_iter().filter(|l| self.needed.contains(l)));
                }
                Around::Index(index) => {
                    if self.needed.contains(&index.local) {
                        self.params.push(index.local);
                        self.indices.push(index);
                    }
                }
                Around::Bound(locals) => self.params.extend(locals.into_iter().filter(|l| self.needed.contains(l))),
                Around::Arm(pat, _) => pat.for_each_local(&mut |l| self.params.extend(self.needed.get(&l))),
                Around::Repeated(_) | Around::Called(_) | Around::Condition => {}
            }
        }
        // Extents that `let`s determine become integer parameters.
        let is_known = |l: &LocalId| self.params.contains(l) || body.params.contains(l) || body.sizes.contains(l);
        let mut others: Vec<LocalId> = self.needed.iter().copied().filter(|l| !is_known(l)).collect();
        others.sort_unstable_by_key(|l| l.0);
        body.params.extend(std::mem::take(&mut self.params));
        body.params.extend(others);
        body.root = Some(self.root);
    }

    /// Prepends the `let`s whose variables it reads.
    fn wrap(&mut self, body: &mut Body, binds: Vec<(Pat, TId)>) {
        let mut kept = Vec::new();
        for (pat, value) in binds.into_iter().rev() {
            let mut bound = Vec::new();
            pat.for_each_local(&mut |l| bound.push(l));
            if bound.iter().any(|l| self.needed.contains(l)) {
                self.needed.extend(free(body, value));
                self.needed.retain(|l| !bound.contains(l));
                kept.push((pat, value));
            }
        }
        if !kept.is_empty() {
            kept.reverse();
            let Node { ty, span, .. } = body.nodes[self.root].clone();
            self.root = body.nodes.alloc(Node { kind: Expr::Let(kept, self.root), ty, span });
        }
    }
}

/// Returns whether it calls a derivative.
pub(super) fn calls_derivatives(ssa: &Ssa) -> bool {
    let mut found = false;
    ssa.for_each_callee(&mut |callee| found |= !callee.derived.is_empty());
    found
}

/// Returns whether the polynomial is never negative, because none of these sizes is. An integer
/// parameter may have any sign.
fn is_never_negative(p: &Poly, sizes: &[LocalId]) -> bool {
    let is_size = |a: &Atom| matches!(a, Atom::Local(l, _) if sizes.contains(l));
    p.terms().iter().all(|(m, c)| *c >= 0 && m.as_slice().iter().all(|(a, _)| is_size(a)))
}

/// Returns the greatest or the least value of a polynomial over the ranges of these indices. It
/// must be linear in them with constant coefficients; otherwise `None`.
fn extreme(p: &Poly, ranges: &[(Atom, Poly, Poly)], greatest: bool) -> Option<Poly> {
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
                let of = |p: &Poly| extreme(p, ranges, greatest == (*c > 0));
                let (p, q) = (of(p)?, of(q)?);
                if matches!(a, Atom::Min(..)) { p.least(&q) } else { p.greatest(&q) }.mul(&Poly::constant(*c))
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
fn all_of(body: &mut Body, values: &[TId]) -> Option<TId> {
    let first = values.first().copied()?;
    if values.len() == 1 {
        return Some(first);
    }
    let ty = Type::Tuple(values.iter().map(|v| body.nodes[*v].ty.clone()).collect());
    let span = body.nodes[first].span;
    Some(body.nodes.alloc(Node { kind: Expr::Tuple(values.to_vec()), ty, span }))
}

impl<'db> Inside<'db> {
    fn new(
        db: &'db dyn Database,
        def: &GlobalName,
        body: Body,
        indices: Vec<IndexVar>,
        (leaf, begins): (Leaf, Vec<Poly>),
        (seen, hidden): (Vec<Seen>, Vec<(Name, Name)>),
    ) -> Option<Self> {
        let signature = View::new(db).signature(def).or_else(|| of_no_parameters(&body))?;
        let body = Arc::new(body);
        // No item has this name.
        let name = GlobalName::new(&def.module, &format!("{} within", def.name));
        let callee = Callee::new(name.clone(), vec![Type::F64; signature.type_params.len()]);
        let within = Within::new(db, name, Arc::clone(&body), signature);
        let evaluated = Evaluated::default();
        Some(Self { within, callee: Arc::new(callee), body, indices, evaluated, leaf, begins, seen, hidden })
    }

    /// Makes a function of the expression. With `derived`, it is one real number of the expression,
    /// to be differentiated, and contains the `let`s around. Otherwise it is the whole expression,
    /// to be counted.
    pub(super) fn of(db: &'db dyn Database, def: &GlobalName, node: TId, derived: Option<Leaf>) -> Option<Self> {
        let body = body_of(db, def).filter(|body| node.index() < body.nodes.len())?;
        let mut body = (*body).clone();
        let around = around(&body, node)?;
        let names = (seen(&body, &around), apart(&mut body, &around));
        let evaluated = Evaluated::of(&around);
        let mut own = Vec::new();
        let root = if let Some(leaf) = &derived {
            for extent in leaf.extents() {
                let free = |name: &&str| !body.locals.iter().any(|l| l.name == **name);
                let name = ["i", "j", "k", "l", "p", "q"].into_iter().find(free).unwrap_or("r");
                let local = fresh(&mut body, name, Type::I64, node)?;
                own.push(IndexVar { local, range: IndexRange::Extent(extent.clone()) });
            }
            leaf.read(&mut body.nodes, node, &own.iter().map(|v| v.local).collect::<Vec<_>>())
        } else {
            node
        };
        let mut open = Open::new(&body, root, Vec::new());
        if derived.is_none() {
            // The number of its evaluations depends on all indices around.
            open.needed.extend(around.iter().flat_map(|step| ranged(&body, step)));
        }
        open.params.extend(own.iter().map(|v| v.local));
        open.close(&mut body, around, if derived.is_some() { Lets::All } else { Lets::None });
        let indices = own.into_iter().chain(open.indices).collect();
        Some(Self { evaluated, ..Self::new(db, def, body, indices, (derived.unwrap_or_default(), Vec::new()), names)? })
    }

    /// Makes a function with one more parameter, which is added to a part of the expression. The
    /// function is the definition, or the body of the innermost loop or function around. Also
    /// returns the entry to compute.
    fn with_cotangent(
        db: &'db dyn Database,
        def: &GlobalName,
        node: TId,
        leaf: &Leaf,
    ) -> Result<(Self, Entry), Unshown> {
        let exists = |body: &Arc<Body>| node.index() < body.nodes.len();
        let body = Forms { db }.body(def).filter(exists).ok_or(Unshown::Constant)?;
        let mut outer = around(&body, node).ok_or(Unshown::Constant)?;
        let mut body = (*body).clone();
        let mut names = (seen(&body, &outer), apart(&mut body, &outer));
        let again = outer.iter().rposition(|step| matches!(step, Around::Repeated(_) | Around::Called(_)));
        let inner = outer.split_off(again.map_or(0, |k| k + 1));
        let mut indices: Vec<IndexVar> = Vec::new();
        let (mut extents, mut begins): (Vec<Poly>, Vec<Poly>) = (Vec::new(), Vec::new());
        for step in inner {
            let Around::Index(index) = step else { continue };
            let (begin, end) = range(&body, &index).ok_or(Outside::Loop)?;
            let ranges: Vec<(Atom, Poly, Poly)> = indices
                .iter()
                .zip(begins.iter().zip(&extents))
                .map(|(i, (from, n))| {
                    let atom = Atom::Local(i.local, name_of(&body, i.local));
                    (atom, from.clone(), from.add(n).plus(-1))
                })
                .collect();
            // An index that may be negative counts from its least start; its range ends at its
            // greatest end.
            let least = extreme(&begin, &ranges, false).ok_or(Outside::Loop)?;
            let begin = if is_never_negative(&least, &body.sizes) { Poly::default() } else { least };
            let end = extreme(&end, &ranges, true).ok_or(Outside::Loop)?;
            extents.push(end.sub(&begin));
            begins.push(begin);
            indices.push(index);
        }
        extents.extend(leaf.extents().cloned());
        let (mut root, mut whose) = (body.root.ok_or(Unshown::Constant)?, Whose::Definition);
        if let Some(Around::Repeated(of) | Around::Called(of)) = outer.last() {
            whose = of.whose.clone();
            root = all_of(&mut body, &of.results).ok_or(Unshown::Constant)?;
        }
        for later in on_the_way(&body, root) {
            if !names.0.iter().any(|seen| seen.name == later.name) {
                names.0.push(later);
            }
        }
        let param = u32::try_from(body.params.len()).map_err(|_| Outside::TooLarge)?;
        let Node { kind, ty, span } = body.nodes[node].clone();
        let real = leaf.real(&ty).ok_or(Unshown::Constant)?;
        let added_ty = array(extents, real);
        let local = fresh(&mut body, "_", added_ty.clone(), node).ok_or(Outside::TooLarge)?;
        body.params.push(local);
        let value = body.nodes.alloc(Node { kind, ty, span });
        let more = read(&mut body.nodes, local, added_ty, node);
        let at: Vec<(LocalId, Poly)> = indices.iter().map(|v| v.local).zip(begins.iter().cloned()).collect();
        let more = element_from(&mut body.nodes, more, &at);
        let sum = added(&mut body, &leaf.steps, value, more).ok_or(Outside::TooLarge)?;
        body.nodes[node].kind = body.nodes[sum].kind.clone();
        let mut open = Open::new(&body, root, Vec::new());
        open.close(&mut body, outer, Lets::All);
        indices.extend(open.indices);
        let inside = Self::new(db, def, body, indices, (leaf.clone(), begins), names).ok_or(Unshown::Constant)?;
        Ok((inside, Entry::Cotangent { param, whose }))
    }

    /// Makes a function of the value of a node, with these parameters and the locals that it reads.
    pub(super) fn of_value(
        db: &'db dyn Database,
        def: &GlobalName,
        mut body: Body,
        (root, params): (TId, Vec<LocalId>),
        around: Vec<Around>,
        lets: Lets,
    ) -> Option<Self> {
        // A reader of a value with all `let`s knows the variables around; otherwise only the
        // parameters.
        let seen = if lets == Lets::All { seen(&body, &around) } else { Vec::new() };
        let names = (seen, apart(&mut body, &around));
        let mut open = Open::new(&body, root, params);
        open.close(&mut body, around, lets);
        let indices = open.indices;
        Self::new(db, def, body, indices, (Leaf::default(), Vec::new()), names)
    }

    /// Returns the entries, after inlining the calls of derivatives where possible.
    pub(super) fn entries_in_place(&mut self, db: &'db dyn Database, entry: &Entry) -> InCases {
        if self.within.ssa(&self.callee).is_some_and(|ssa| calls_derivatives(&ssa)) {
            self.within = self.within.in_place();
        }
        self.entries(db, entry)
    }

    fn entries(&self, db: &'db dyn Database, entry: &Entry) -> InCases {
        let first = self.begins.len();
        let known = |ssa: &Ssa, at: &[Poly]| self.known(ssa, at.get(..first).unwrap_or_default());
        let begins = |ssa: &Ssa| self.begins.iter().map(|p| self.translated(ssa, &[], p)).collect();
        let names: Vec<Name> = self.indices.iter().take(first).map(|i| name_of(&self.body, i.local)).collect();
        let around = Surroundings { seen: self.seen.clone(), indices: &names, begins: &begins, known: &known };
        let view = View::new(db);
        let mut cases = entries(&self.within, &self.within, &view, &self.callee, entry, around)?;
        for told in &mut cases {
            let at: Vec<String> = match entry {
                Entry::Value(_) | Entry::Gradient { .. } => Vec::new(),
                Entry::Partials => {
                    let own = self.indices.iter().take(self.leaf.extents().count());
                    own.map(|i| name_of(&self.body, i.local).to_string()).collect()
                }
                // The indices around come first.
                Entry::Cotangent { .. } => {
                    let own = |told: &Told| told.at.get(first..).map(<[String]>::to_vec);
                    told.all.first().and_then(own).unwrap_or_default()
                }
            };
            told.part = self.leaf.text(&at);
            told.hidden = self.hidden.iter().filter(|(own, _)| told.mention(own)).cloned().collect();
        }
        Ok(cases)
    }

    /// Returns its Tensor SSA, and the cost for indices in their ranges.
    pub(super) fn cost(&self) -> Option<(Arc<Ssa>, Arc<Cost>)> {
        let ssa = self.within.ssa(&self.callee)?;
        let cost = self.within.cost_where(&ssa, &self.known(&ssa, &[]));
        Some((ssa, cost))
    }

    /// Returns the facts about the indices, which are parameters; `at` replaces the first ones.
    pub(super) fn known(&self, ssa: &Ssa, at: &[Poly]) -> Vec<Pred> {
        let mut all = Vec::new();
        for i in &self.indices {
            let own = self.translated(ssa, at, &Poly::atom(Atom::Local(i.local, name_of(&self.body, i.local))));
            let (Some(own), Some((begin, end))) = (own, range(&self.body, i)) else { continue };
            all.extend(self.translated(ssa, at, &begin).map(|begin| Pred::at_most(&begin, &own)));
            all.extend(self.translated(ssa, at, &end).map(|end| Pred::less(&own, &end)));
        }
        all
    }

    /// Translates a polynomial over variables of the body to the variables of its Tensor SSA; `at`
    /// replaces the first indices. `None` if a variable has no counterpart.
    pub(super) fn translated(&self, ssa: &Ssa, at: &[Poly], p: &Poly) -> Option<Poly> {
        let index = |l: LocalId| self.indices.iter().position(|i| i.local == l);
        let value = |l: LocalId| -> Option<Poly> {
            if let Some(at) = index(l).filter(|k| *k < self.begins.len()).and_then(|k| at.get(k)) {
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
