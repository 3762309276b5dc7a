//! An expression inside a definition: what it costs to evaluate it once, its partial derivatives by what the definition is
//! given, and the cotangent that the adjoint computes for it.
//!
//! For the first two it becomes a function of its own, of the parameters of the definition and of what binders around it
//! bind. For its derivatives `let`s around it stay; what it costs begins where they are known. For the cotangent the
//! definition gets one more parameter, an array over the binders around that is added to the expression: its
//! cotangent, where it is zero, is that of the expression.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use salsa::Database;

use super::forms::Forms;
use super::view::View;
use super::within::Within;
use super::{Session, cycles, global_name, queries};
use crate::base::{Arena, GlobalName, Name};
use crate::cost::Cost;
use crate::ir::core::Callee;
use crate::ir::ssa::Ssa;
use crate::norm::Bodies;
use crate::predicate::{Atom, LocalId, Poly, Pred};
use crate::source::{Entries, Entry, Outside, Seen, Told, Unshown, entries};
use crate::syntax::ops::{BinOp, Scalar};
use crate::syntax::split::ItemKind;
use crate::types::env::Env as _;
use crate::types::tree::{Body, Expr, IndexRange, IndexVar, Local, Node, Pat, Subscript, TId};
use crate::types::ty::{Signature, Type};

impl Session {
    /// What one evaluation of an expression inside a definition costs.
    #[must_use]
    pub fn cost_inside(&self, def: &GlobalName, node: TId) -> Option<Arc<Cost>> {
        cost_inside(&self.db, self.place_inside(def, node)?).clone()
    }

    /// The partial derivatives of an expression inside a definition by what varies around it; of an array, those of an
    /// element.
    ///
    /// # Errors
    /// Why there are none.
    pub fn partials(&self, def: &GlobalName, node: TId) -> Result<Entries, Unshown> {
        partials(&self.db, self.place_inside(def, node).ok_or(Unshown::Constant)?).clone()
    }

    /// The cotangent of an expression inside a definition; of an array, that of an element.
    ///
    /// # Errors
    /// Why there is none.
    pub fn cotangent(&self, def: &GlobalName, node: TId) -> Result<Entries, Unshown> {
        cotangent(&self.db, self.place_inside(def, node).ok_or(Unshown::Constant)?).clone()
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

/// What one evaluation costs.
#[salsa::tracked]
pub(super) fn cost_inside<'db>(db: &'db dyn Database, of: Inner<'db>) -> Option<Arc<Cost>> {
    let inside = Inside::of(db, of.def(db), of.node(db), false)?;
    Some(inside.within.cost(&inside.callee)?.1)
}

/// Its partial derivatives.
#[salsa::tracked]
pub(super) fn partials<'db>(db: &'db dyn Database, of: Inner<'db>) -> Result<Entries, Unshown> {
    let (def, node) = (of.def(db), of.node(db));
    let body = Forms { db }.body(def).filter(|body| node.index() < body.nodes.len());
    let ty = body.map(|body| body.nodes[node].ty.clone());
    let none = ty.as_ref().map_or(Unshown::Constant, unshown);
    Inside::of(db, def, node, true).ok_or(none)?.entries(db, Entry::Partials)
}

/// Its cotangent.
#[salsa::tracked]
pub(super) fn cotangent<'db>(db: &'db dyn Database, of: Inner<'db>) -> Result<Entries, Unshown> {
    let (inside, param) = Inside::with_cotangent(db, of.def(db), of.node(db))?;
    inside.entries(db, Entry::Cotangent(param))
}

/// An expression as a function.
pub(super) struct Inside<'db> {
    pub(super) within: Within<'db>,
    pub(super) callee: Arc<Callee>,
    pub(super) body: Arc<Body>,
    /// The indices around, the first of which an entry has where it is one of a cotangent.
    pub(super) indices: Vec<IndexVar>,
    /// How its evaluations are told.
    pub(super) evaluated: Evaluated,
    /// How many of these are those of an element of the expression.
    own: usize,
    /// The variables that a reader of the expression sees.
    seen: Vec<Seen>,
    /// What the others are called, and were.
    hidden: Vec<(Name, Name)>,
}

/// How often an expression is evaluated: once for each tuple of the indices around, but for this.
#[derive(Clone, Copy, Default)]
pub(super) struct Evaluated {
    /// In the body of a loop?
    pub(super) again: bool,
    /// As often as only a run tells?
    pub(super) called: bool,
    /// Where a condition holds?
    pub(super) condition: bool,
}

impl Evaluated {
    fn of(around: &[Around]) -> Self {
        Self {
            again: around.iter().any(|step| matches!(step, Around::Repeated | Around::Called)),
            called: around.iter().any(|step| matches!(step, Around::Called)),
            condition: around.iter().any(|step| matches!(step, Around::Condition)),
        }
    }
}

/// What stands around an expression, outermost first.
enum Around {
    /// `let`s before it.
    Let(Vec<(Pat, TId)>),
    /// An index.
    Index(IndexVar),
    /// Another variable.
    Bound(Vec<LocalId>),
    /// Its value is another one in each iteration of a loop; indices before this tell how often.
    Repeated,
    /// The same of what is evaluated while a condition holds, or when a function is called.
    Called,
    /// It is evaluated where a condition holds.
    Condition,
}

/// What stands around a node.
fn around(body: &Body, node: TId) -> Option<Vec<Around>> {
    let mut parents = vec![None; body.nodes.len()];
    let mut open = vec![body.root?];
    while let Some(parent) = open.pop() {
        body.nodes[parent].kind.for_each_child(&body.nodes, &mut |child| {
            if let Some(slot) = parents.get_mut(child.index()) {
                *slot = Some(parent);
            }
            open.push(child);
        });
    }
    let (mut child, mut all) = (node, Vec::new());
    while child != body.root? {
        let parent = (*parents.get(child.index())?)?;
        all.extend(steps(body, parent, child).into_iter().rev());
        child = parent;
    }
    all.reverse();
    Some(all)
}

/// The variables but indices that are bound by what stands around, the innermost of a name alone.
fn seen(body: &Body, around: &[Around]) -> Vec<Seen> {
    let mut all: Vec<Seen> = Vec::new();
    let mut bound = |local: LocalId, is_index: bool| {
        let Some(Local { name, ty, .. }) = body.locals.get(local.0 as usize) else { return };
        all.retain(|seen| seen.name != *name);
        if is_index {
            return;
        }
        let (mut rank, mut ty) = (0, ty);
        while let Type::Array(_, element) = ty {
            (rank, ty) = (rank + 1, element);
        }
        all.push(Seen { name: name.clone(), rank });
    };
    for step in around {
        match step {
            Around::Let(binds) => binds.iter().for_each(|(pat, _)| pat.for_each_local(&mut |l| bound(l, false))),
            Around::Index(index) => bound(index.local, true),
            Around::Bound(locals) => locals.iter().for_each(|l| bound(*l, false)),
            Around::Repeated | Around::Called | Around::Condition => {}
        }
    }
    all
}

/// Gives the variables around whose names stand for others in the expression names of their own: these, and what they
/// were called.
fn apart(body: &mut Body, around: &[Around]) -> Vec<(Name, Name)> {
    let mut bound: Vec<LocalId> = body.sizes.iter().chain(&body.params).copied().collect();
    for step in around {
        match step {
            Around::Let(binds) => binds.iter().for_each(|(pat, _)| pat.for_each_local(&mut |l| bound.push(l))),
            Around::Index(index) => bound.push(index.local),
            Around::Bound(locals) => bound.extend(locals),
            Around::Repeated | Around::Called | Around::Condition => {}
        }
    }
    let mut hidden = Vec::new();
    for (k, local) in bound.iter().enumerate() {
        let name = name_of(body, *local);
        let later = bound.get(k + 1..).unwrap_or_default();
        if !later.iter().any(|l| l != local && name_of(body, *l) == name) {
            continue;
        }
        let taken = |own: &str| body.locals.iter().any(|l| l.name == *own);
        let Some(own) = (1..).map(|k| format!("{name}{k}")).find(|own| !taken(own)) else { continue };
        if let Some(declared) = body.locals.get_mut(local.0 as usize) {
            declared.name = own.as_str().into();
        }
        hidden.push((own.into(), name));
    }
    hidden
}

/// What a node has around one of its children.
fn steps(body: &Body, parent: TId, child: TId) -> Vec<Around> {
    let bound = |pats: &[&Pat]| {
        let mut locals = Vec::new();
        pats.iter().for_each(|p| p.for_each_local(&mut |l| locals.push(l)));
        Around::Bound(locals)
    };
    let before = |vars: &[IndexVar]| {
        let inside = |v: &&IndexVar| match &v.range {
            IndexRange::Extent(_) => false,
            IndexRange::Below(n) => *n == child,
            IndexRange::Range(a, b, by) => [Some(*a), Some(*b), *by].contains(&Some(child)),
        };
        let until = vars.iter().position(|v| inside(&v)).unwrap_or(vars.len());
        vars.iter().take(until).cloned().map(Around::Index).collect::<Vec<_>>()
    };
    match &body.nodes[parent].kind {
        Expr::Let(binds, _) => {
            let until = binds.iter().position(|(_, value)| *value == child).unwrap_or(binds.len());
            vec![Around::Let(binds.iter().take(until).cloned().collect())]
        }
        Expr::Binder { vars, filter, body: of, .. } => {
            let condition = filter.filter(|_| *of == child).map(|_| Around::Condition);
            before(vars).into_iter().chain(condition).collect()
        }
        Expr::Fold { acc, init, vars, body, yields, .. } => {
            if *init == child {
                return Vec::new();
            }
            let mut all = before(vars);
            if *body == child || *yields == Some(child) {
                all.extend([bound(&[acc]), Around::Repeated]);
            }
            all
        }
        Expr::Loop { acc, init, .. } if *init != child => vec![bound(&[acc]), Around::Called],
        Expr::Match(of, arms) if *of != child => {
            let arm = arms.iter().find(|(_, value)| *value == child);
            arm.map(|(pat, _)| bound(&[pat])).into_iter().chain([Around::Condition]).collect()
        }
        Expr::If(arms, _) if arms.first().is_none_or(|(cond, _)| *cond != child) => vec![Around::Condition],
        Expr::Guard(cond, _) if *cond != child => vec![Around::Condition],
        Expr::And(items) | Expr::Or(items) if items.first() != Some(&child) => vec![Around::Condition],
        Expr::Lambda(lambda) => vec![bound(&lambda.params.iter().collect::<Vec<_>>()), Around::Called],
        _ => Vec::new(),
    }
}

/// The body of a definition, or of a `let` or `do` of the top level.
fn body_of(db: &dyn Database, def: &GlobalName) -> Option<Arc<Body>> {
    let other = || {
        let file = View::new(db).file(&def.module)?;
        let mut items = file.items(db).iter().copied().filter(|i| matches!(i.kind(db), ItemKind::Let | ItemKind::Do));
        let item = items.find(|item| global_name(db, *item) == *def)?;
        Some(Arc::clone(&queries::checked(db, item).as_ref()?.body))
    };
    Forms { db }.body(def).or_else(other)
}

/// The signature of what is evaluated once.
fn of_no_parameters(body: &Body) -> Option<Arc<Signature>> {
    let result = body.nodes[body.root?].ty.clone();
    Some(Arc::new(Signature { type_params: Vec::new(), sizes: Vec::new(), params: Vec::new(), result }))
}

/// The locals that an expression reads and does not bind, in its types too.
fn free(body: &Body, node: TId) -> HashSet<LocalId> {
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

fn locals(p: &Poly) -> Vec<LocalId> {
    let mut all = Vec::new();
    p.for_each_atom(&mut |a| {
        if let Atom::Local(l, _) = a {
            all.push(*l);
        }
    });
    all
}

/// The extents of an array of reals, and that it is one; of a number, none.
fn real_array(ty: &Type) -> Option<Vec<Poly>> {
    match ty {
        Type::Scalar(Scalar::F64 | Scalar::F32) | Type::Param(..) => Some(Vec::new()),
        Type::Array(n, element) => Some([n.clone()].into_iter().chain(real_array(element)?).collect()),
        _ => None,
    }
}

/// Why a value of a type has no derivatives of its own.
fn unshown(ty: &Type) -> Unshown {
    fn has_parts(ty: &Type) -> bool {
        match ty {
            Type::Tuple(items) => items.iter().any(|ty| real_array(ty).is_some() || has_parts(ty)),
            Type::Record(fields) => fields.iter().any(|(_, ty)| real_array(ty).is_some() || has_parts(ty)),
            Type::Array(_, element) => has_parts(element),
            _ => false,
        }
    }
    if has_parts(ty) { Unshown::Several } else { Unshown::Constant }
}

fn name_of(body: &Body, local: LocalId) -> Name {
    body.locals.get(local.0 as usize).map(|l| l.name.clone()).unwrap_or_default()
}

/// An integer expression as a polynomial.
fn poly(body: &Body, node: TId) -> Option<Poly> {
    let of = &body.nodes[node];
    match &of.kind {
        Expr::Int(k) => Some(Poly::constant((*k).into())),
        Expr::Size(p) => Some(p.clone()),
        Expr::Local(l) if of.ty == Type::I64 => Some(Poly::atom(Atom::Local(*l, name_of(body, *l)))),
        Expr::Checked(_, of) | Expr::Opened(_, of) => poly(body, *of),
        Expr::Arith(op, a, b) => {
            let (a, b) = (poly(body, *a)?, poly(body, *b)?);
            match op {
                BinOp::Add => Some(a.add(&b)),
                BinOp::Sub => Some(a.sub(&b)),
                BinOp::Mul => Some(a.mul(&b)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// An index that stands around, and what its range mentions.
fn ranged(body: &Body, step: &Around) -> Vec<LocalId> {
    let Around::Index(index) = step else { return Vec::new() };
    let ends = range(body, index).map(|(begin, end)| [locals(&begin), locals(&end)].concat());
    [index.local].into_iter().chain(ends.unwrap_or_default()).collect()
}

/// Where an index begins and ends.
pub(super) fn range(body: &Body, index: &IndexVar) -> Option<(Poly, Poly)> {
    match &index.range {
        IndexRange::Extent(n) => Some((Poly::default(), n.clone())),
        IndexRange::Below(n) => Some((Poly::default(), poly(body, *n)?)),
        IndexRange::Range(a, b, _) => Some((poly(body, *a)?, poly(body, *b)?)),
    }
}

/// A node that reads a local.
fn read(nodes: &mut Arena<Node>, local: LocalId, ty: Type, at: TId) -> TId {
    let span = nodes[at].span;
    nodes.alloc(Node { kind: Expr::Local(local), ty, span })
}

/// The element of an array at these integers.
fn element(nodes: &mut Arena<Node>, array: TId, at: &[LocalId]) -> TId {
    if at.is_empty() {
        return array;
    }
    let (mut ty, span) = (nodes[array].ty.clone(), nodes[array].span);
    let mut subscripts = Vec::new();
    for local in at {
        let index = read(nodes, *local, Type::I64, array);
        subscripts.push(Subscript::At { index, proved: true });
        if let Type::Array(_, element) = ty {
            ty = (*element).clone();
        }
    }
    nodes.alloc(Node { kind: Expr::Index(array, subscripts), ty, span })
}

impl<'db> Inside<'db> {
    fn new(
        db: &'db dyn Database,
        def: &GlobalName,
        body: Body,
        indices: Vec<IndexVar>,
        (seen, hidden): (Vec<Seen>, Vec<(Name, Name)>),
    ) -> Option<Self> {
        let signature = View::new(db).signature(def).or_else(|| of_no_parameters(&body))?;
        let body = Arc::new(body);
        // No item has this name.
        let name = GlobalName::new(&def.module, &format!("{} within", def.name));
        let callee = Callee::new(name.clone(), vec![Type::F64; signature.type_params.len()]);
        let within = Within::new(db, name, Arc::clone(&body), signature);
        let evaluated = Evaluated::default();
        Some(Self { within, callee: Arc::new(callee), body, indices, evaluated, own: 0, seen, hidden })
    }

    /// The expression as a function, to be differentiated: an element of an array, with the `let`s around. Or to be counted:
    /// all of it, where these are known.
    pub(super) fn of(db: &'db dyn Database, def: &GlobalName, node: TId, derived: bool) -> Option<Self> {
        let body = body_of(db, def).filter(|body| node.index() < body.nodes.len())?;
        let mut body = (*body).clone();
        let around = around(&body, node)?;
        let names = (seen(&body, &around), apart(&mut body, &around));
        let evaluated = Evaluated::of(&around);
        let mut root = node;
        let mut own = Vec::new();
        if derived {
            for extent in real_array(&body.nodes[node].ty)? {
                let free = |name: &&str| !body.locals.iter().any(|l| l.name == **name);
                let name = ["i", "j", "k", "l", "p", "q"].into_iter().find(free).unwrap_or("r").into();
                let local = LocalId(u32::try_from(body.locals.len()).ok()?);
                let span = body.nodes[node].span;
                body.locals.push(Local { name, ty: Type::I64, span });
                own.push(IndexVar { local, range: IndexRange::Extent(extent) });
            }
            root = element(&mut body.nodes, node, &own.iter().map(|v| v.local).collect::<Vec<_>>());
        }
        let elements = own.len();
        let mut needed = free(&body, root);
        if !derived {
            // How often it is evaluated depends on all indices around.
            needed.extend(around.iter().flat_map(|step| ranged(&body, step)));
        }
        let mut params: Vec<LocalId> = Vec::new();
        let mut indices = own;
        params.extend(indices.iter().map(|v| v.local));
        for step in around.into_iter().rev() {
            match step {
                Around::Let(binds) if !derived => {
                    let mut bound = Vec::new();
                    binds.iter().for_each(|(pat, _)| pat.for_each_local(&mut |l| bound.push(l)));
                    params.extend(bound.into_iter().filter(|l| needed.contains(l)));
                }
                Around::Let(binds) => {
                    let mut kept = Vec::new();
                    for (pat, value) in binds.into_iter().rev() {
                        let mut bound = Vec::new();
                        pat.for_each_local(&mut |l| bound.push(l));
                        if bound.iter().any(|l| needed.contains(l)) {
                            needed.extend(free(&body, value));
                            needed.retain(|l| !bound.contains(l));
                            kept.push((pat, value));
                        }
                    }
                    if !kept.is_empty() {
                        kept.reverse();
                        let Node { ty, span, .. } = body.nodes[root].clone();
                        root = body.nodes.alloc(Node { kind: Expr::Let(kept, root), ty, span });
                    }
                }
                Around::Index(index) => {
                    if needed.contains(&index.local) {
                        params.push(index.local);
                        indices.push(index);
                    }
                }
                Around::Bound(locals) => params.extend(locals.into_iter().filter(|l| needed.contains(l))),
                Around::Repeated | Around::Called | Around::Condition => {}
            }
        }
        // Extents that become known on the way are integers that it is given.
        let is_known = |l: &LocalId| params.contains(l) || body.params.contains(l) || body.sizes.contains(l);
        let mut others: Vec<LocalId> = needed.into_iter().filter(|l| !is_known(l)).collect();
        others.sort_unstable_by_key(|l| l.0);
        params.extend(others);
        body.params.extend(params);
        body.root = Some(root);
        Some(Self { own: elements, evaluated, ..Self::new(db, def, body, indices, names)? })
    }

    /// The definition with one more parameter, whose number this is, that is added to the expression.
    fn with_cotangent(db: &'db dyn Database, def: &GlobalName, node: TId) -> Result<(Self, u32), Unshown> {
        let exists = |body: &Arc<Body>| node.index() < body.nodes.len();
        let body = Forms { db }.body(def).filter(exists).ok_or(Unshown::Constant)?;
        let around = around(&body, node).ok_or(Unshown::Constant)?;
        let mut body = (*body).clone();
        let names = (seen(&body, &around), apart(&mut body, &around));
        let ty = &body.nodes[node].ty;
        real_array(ty).ok_or_else(|| unshown(ty))?;
        let mut indices: Vec<IndexVar> = Vec::new();
        let mut extents: Vec<Poly> = Vec::new();
        for step in around {
            match step {
                Around::Index(index) => {
                    // An index below another is below what that is below.
                    let (_, end) = range(&body, &index).ok_or(Outside::Loop)?;
                    let end = end.substitute(&|a| {
                        let k = indices.iter().position(|i| matches!(a, Atom::Local(l, _) if *l == i.local))?;
                        extents.get(k).map(|n| n.plus(-1))
                    });
                    extents.push(end);
                    indices.push(index);
                }
                Around::Repeated | Around::Called => return Err(Unshown::Repeated),
                Around::Let(_) | Around::Bound(_) | Around::Condition => {}
            }
        }
        let Node { kind, ty, span } = body.nodes[node].clone();
        let array = extents.into_iter().rev().fold(ty.clone(), |ty, n| Type::Array(n, Arc::new(ty)));
        let local = LocalId(u32::try_from(body.locals.len()).map_err(|_| Outside::TooLarge)?);
        let param = u32::try_from(body.params.len()).map_err(|_| Outside::TooLarge)?;
        body.locals.push(Local { name: "_".into(), ty: array.clone(), span });
        body.params.push(local);
        let value = body.nodes.alloc(Node { kind, ty: ty.clone(), span });
        let added = read(&mut body.nodes, local, array, node);
        let added = element(&mut body.nodes, added, &indices.iter().map(|v| v.local).collect::<Vec<_>>());
        body.nodes[node].kind = Expr::Arith(BinOp::Add, value, added);
        let inside = Self::new(db, def, body, indices, names).ok_or(Unshown::Constant)?;
        Ok((inside, param))
    }

    fn entries(&self, db: &'db dyn Database, entry: Entry) -> Result<Entries, Unshown> {
        let known = |ssa: &Ssa, at: &[Poly]| self.known(ssa, if entry == Entry::Partials { &[] } else { at });
        let view = View::new(db);
        let mut told = entries(&self.within, &self.within, &view, &self.callee, entry, self.seen.clone(), &known)?;
        match entry {
            Entry::Partials => {
                let own = self.indices.iter().take(self.own);
                told.element = own.map(|i| name_of(&self.body, i.local).to_string()).collect();
            }
            // The indices around come first.
            Entry::Cotangent(_) => {
                let element = |told: &Told| told.at.get(self.indices.len()..).map(<[String]>::to_vec);
                told.element = told.all.first().and_then(element).unwrap_or_default();
            }
        }
        told.hidden = self.hidden.iter().filter(|(own, _)| told.mention(own)).cloned().collect();
        Ok(told)
    }

    /// What holds of the indices around, which are parameters, or the first of these.
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

    /// A polynomial over variables of the body as one over those of its Tensor SSA, where the first indices around are
    /// these.
    pub(super) fn translated(&self, ssa: &Ssa, at: &[Poly], p: &Poly) -> Option<Poly> {
        let index = |l: LocalId| self.indices.iter().position(|i| i.local == l);
        let value = |l: LocalId| -> Option<Poly> {
            if let Some(at) = index(l).and_then(|k| at.get(k)) {
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
