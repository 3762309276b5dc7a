//! **Enclosing constructs** of an expression inside a definition: `let`s, indices, loops, functions
//! and conditions. [`super::subexpression`] builds a function from the expression and these.

use lang_base::Name;
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_source::{ResultOwner, ScopeVariable};
use lang_syntax::ops::BinOp;
use lang_types::tree::{BodyLocal, TypedBody, TypedExpr, TypedId, TypedIndexRange, TypedIndexVar, TypedPattern};
use lang_types::ty::Type;

/// The number of evaluations of an expression: one for each tuple of the indices around, with these
/// exceptions.
#[derive(Clone, Copy, Default)]
pub(super) struct EvaluationMultiplicity {
    /// Whether it is in the body of a loop or of a function.
    pub(super) is_repeated: bool,
    /// Whether only a run determines the number.
    pub(super) is_count_dynamic: bool,
    /// Whether it is evaluated only where a condition holds.
    pub(super) is_conditional: bool,
}

impl EvaluationMultiplicity {
    pub(super) fn from_enclosing(around: &[EnclosingConstruct]) -> Self {
        Self {
            is_repeated: around
                .iter()
                .any(|step| matches!(step, EnclosingConstruct::CountedBody(_) | EnclosingConstruct::DynamicBody(_))),
            is_count_dynamic: around.iter().any(|step| matches!(step, EnclosingConstruct::DynamicBody(_))),
            is_conditional: around.iter().any(|step| matches!(step, EnclosingConstruct::Condition)),
        }
    }
}

/// A construct around an expression. Lists begin with the outermost.
#[derive(Clone)]
pub(super) enum EnclosingConstruct {
    /// The `let`s before it.
    Let(Vec<(TypedPattern, TypedId)>),
    /// An index.
    Index(TypedIndexVar),
    /// Other variables.
    Variables(Vec<LocalId>),
    /// The pattern of the arm, and the matched value.
    Arm(TypedPattern, TypedId),
    /// A loop that evaluates it anew in each iteration; the indices before this determine how
    /// often.
    CountedBody(RepeatedBody),
    /// The same for a `while` loop, or for the body of a function.
    DynamicBody(RepeatedBody),
    /// A condition under which it is evaluated.
    Condition,
}

/// A body that is evaluated repeatedly.
#[derive(Clone)]
pub(super) struct RepeatedBody {
    /// The values that one evaluation computes.
    pub(super) results: Vec<TypedId>,
    /// The owner of these values.
    pub(super) owner: ResultOwner,
}

/// Returns the constructs around a node, outermost first. `None` if the body does not contain it.
pub(super) fn enclosing_constructs(body: &TypedBody, node: TypedId) -> Option<Vec<EnclosingConstruct>> {
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
        all.extend(constructs_around_child(body, parent, child).into_iter().rev());
        child = parent;
    }
    all.reverse();
    Some(all)
}

/// Returns the variables in scope that are not indices. An inner variable hides an outer one with
/// its name.
pub(super) fn variables_in_scope(body: &TypedBody, around: &[EnclosingConstruct]) -> Vec<ScopeVariable> {
    let mut all: Vec<ScopeVariable> = Vec::new();
    let mut bound = |local: LocalId, is_index: bool, inside: Option<Name>| {
        let Some(seen) = scope_variable(body, local, inside) else { return };
        all.retain(|known| known.name != seen.name);
        all.extend(Some(seen).filter(|_| !is_index));
    };
    for step in around {
        match step {
            EnclosingConstruct::Let(binds) => {
                binds
                    .iter()
                    .for_each(|(pat, of)| for_each_pattern_variable(body, pat, *of, &mut |l, of| bound(l, false, of)));
            }
            EnclosingConstruct::Index(index) => bound(index.local, true, None),
            EnclosingConstruct::Variables(locals) => locals.iter().for_each(|l| bound(*l, false, None)),
            EnclosingConstruct::Arm(pat, of) => {
                for_each_pattern_variable(body, pat, *of, &mut |l, of| bound(l, false, of))
            }
            EnclosingConstruct::CountedBody(_) | EnclosingConstruct::DynamicBody(_) | EnclosingConstruct::Condition => {
            }
        }
    }
    all
}

fn scope_variable(body: &TypedBody, local: LocalId, inside: Option<Name>) -> Option<ScopeVariable> {
    let BodyLocal { name, ty, .. } = body.locals.get(local.0 as usize)?;
    let (mut rank, mut ty) = (0, ty);
    while let Type::Array(_, element) = ty {
        (rank, ty) = (rank + 1, element);
    }
    Some(ScopeVariable { name: name.clone(), rank, matched_variable: inside })
}

/// Returns the variables that `let`s bind on the way to a result, even after the expression. A
/// reader of the whole computation knows such a variable by its name, if the name is unique.
pub(super) fn let_variables_on_result_path(body: &TypedBody, mut result: TypedId) -> Vec<ScopeVariable> {
    let mut all = Vec::new();
    while let TypedExpr::Let(binds, last) = &body.nodes[result].kind {
        for (pat, of) in binds {
            for_each_pattern_variable(body, pat, *of, &mut |local, inside| {
                all.extend(scope_variable(body, local, inside))
            });
        }
        result = *last;
    }
    all.retain(|seen| body.locals.iter().filter(|local| local.name == seen.name).count() == 1);
    all
}

/// Calls `f` with each variable that a pattern binds, and the variable whose constructor pattern
/// binds it.
fn for_each_pattern_variable(
    body: &TypedBody,
    pat: &TypedPattern,
    of: TypedId,
    f: &mut dyn FnMut(LocalId, Option<Name>),
) {
    match (pat, &body.nodes[of].kind) {
        (TypedPattern::Tuple(items), TypedExpr::Tuple(of)) if items.len() == of.len() => {
            items.iter().zip(of).for_each(|(pat, of)| for_each_pattern_variable(body, pat, *of, f));
        }
        (TypedPattern::Sized(locals, inner), _) => {
            locals.iter().for_each(|l| f(*l, None));
            for_each_pattern_variable(body, inner, of, f);
        }
        (TypedPattern::Ctor(..), TypedExpr::Local(whole)) => {
            pat.for_each_local(&mut |l| f(l, Some(local_name(body, *whole))))
        }
        _ => pat.for_each_local(&mut |l| f(l, None)),
    }
}

/// Renames the variables around whose names are hidden at the expression. Returns the new and the
/// old names.
pub(super) fn rename_shadowed_variables(body: &mut TypedBody, around: &[EnclosingConstruct]) -> Vec<(Name, Name)> {
    let mut bound: Vec<LocalId> = body.sizes.iter().chain(&body.params).copied().collect();
    for step in around {
        match step {
            EnclosingConstruct::Let(binds) => {
                binds.iter().for_each(|(pat, _)| pat.for_each_local(&mut |l| bound.push(l)))
            }
            EnclosingConstruct::Index(index) => bound.push(index.local),
            EnclosingConstruct::Variables(locals) => bound.extend(locals),
            EnclosingConstruct::Arm(pat, _) => pat.for_each_local(&mut |l| bound.push(l)),
            EnclosingConstruct::CountedBody(_) | EnclosingConstruct::DynamicBody(_) | EnclosingConstruct::Condition => {
            }
        }
    }
    let mut hidden = Vec::new();
    for (k, local) in bound.iter().enumerate() {
        let name = local_name(body, *local);
        let later = bound.get(k + 1..).unwrap_or_default();
        if !later.iter().any(|l| l != local && local_name(body, *l) == name) {
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

/// Returns the constructs that a node puts around one of its children.
fn constructs_around_child(body: &TypedBody, parent: TypedId, child: TypedId) -> Vec<EnclosingConstruct> {
    let bound = |pats: &[&TypedPattern]| {
        let mut locals = Vec::new();
        pats.iter().for_each(|p| p.for_each_local(&mut |l| locals.push(l)));
        EnclosingConstruct::Variables(locals)
    };
    let before = |vars: &[TypedIndexVar]| {
        let inside = |v: &&TypedIndexVar| match &v.range {
            TypedIndexRange::Extent(_) => false,
            TypedIndexRange::Below(n) => *n == child,
            TypedIndexRange::Range(a, b, by) => [Some(*a), Some(*b), *by].contains(&Some(child)),
        };
        let until = vars.iter().position(|v| inside(&v)).unwrap_or(vars.len());
        vars.iter().take(until).cloned().map(EnclosingConstruct::Index).collect::<Vec<_>>()
    };
    match &body.nodes[parent].kind {
        TypedExpr::Let(binds, _) => {
            let until = binds.iter().position(|(_, value)| *value == child).unwrap_or(binds.len());
            vec![EnclosingConstruct::Let(binds.iter().take(until).cloned().collect())]
        }
        TypedExpr::Binder { vars, filter, body: of, .. } => {
            let condition = filter.filter(|_| *of == child).map(|_| EnclosingConstruct::Condition);
            before(vars).into_iter().chain(condition).collect()
        }
        TypedExpr::Fold { acc, init, vars, body: of, yields, .. } => {
            if *init == child {
                return Vec::new();
            }
            let mut all = before(vars);
            if *of == child || *yields == Some(child) {
                let carried = print_pattern(body, acc);
                let whose = if yields.is_some() {
                    ResultOwner::YieldingIteration(carried)
                } else {
                    ResultOwner::Iteration(carried)
                };
                let results = [*of].into_iter().chain(*yields).collect();
                all.extend([bound(&[acc]), EnclosingConstruct::CountedBody(RepeatedBody { results, owner: whose })]);
            }
            all
        }
        TypedExpr::Loop { acc, init, .. } if *init != child => {
            let whose = ResultOwner::Iteration(print_pattern(body, acc));
            vec![bound(&[acc]), EnclosingConstruct::DynamicBody(RepeatedBody { results: vec![child], owner: whose })]
        }
        TypedExpr::Match(of, arms) if *of != child => {
            let arm = arms.iter().find(|(_, value)| *value == child);
            arm.map(|(pat, _)| EnclosingConstruct::Arm(pat.clone(), *of))
                .into_iter()
                .chain([EnclosingConstruct::Condition])
                .collect()
        }
        TypedExpr::If(arms, _) if arms.first().is_none_or(|(cond, _)| *cond != child) => {
            vec![EnclosingConstruct::Condition]
        }
        TypedExpr::Guard(cond, _) if *cond != child => vec![EnclosingConstruct::Condition],
        TypedExpr::And(items) | TypedExpr::Or(items) if items.first() != Some(&child) => {
            vec![EnclosingConstruct::Condition]
        }
        TypedExpr::Lambda(lambda) => {
            let repeated_body = RepeatedBody { results: vec![child], owner: ResultOwner::AnonymousFunction };
            vec![bound(&lambda.params.iter().collect::<Vec<_>>()), EnclosingConstruct::DynamicBody(repeated_body)]
        }
        _ => Vec::new(),
    }
}

pub(super) fn local_name(body: &TypedBody, local: LocalId) -> Name {
    body.locals.get(local.0 as usize).map(|l| l.name.clone()).unwrap_or_default()
}

/// Returns an integer expression as a polynomial.
fn as_polynomial(body: &TypedBody, node: TypedId) -> Option<Poly> {
    let of = &body.nodes[node];
    match &of.kind {
        TypedExpr::Int(k) => Some(Poly::constant((*k).into())),
        TypedExpr::Size(p) => Some(p.clone()),
        TypedExpr::Local(l) if of.ty == Type::I64 => Some(Poly::atom(Atom::Local(*l, local_name(body, *l)))),
        TypedExpr::Checked(_, of) | TypedExpr::Opened(_, of) => as_polynomial(body, *of),
        TypedExpr::Arith(op, a, b) => {
            let (a, b) = (as_polynomial(body, *a)?, as_polynomial(body, *b)?);
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

/// Prints a pattern as the program has it: `acc`, `(a, b)`.
fn print_pattern(body: &TypedBody, pat: &TypedPattern) -> String {
    match pat {
        TypedPattern::Bind(local) => local_name(body, *local).to_string(),
        TypedPattern::Tuple(items) => {
            let items: Vec<String> = items.iter().map(|p| print_pattern(body, p)).collect();
            format!("({})", items.join(", "))
        }
        TypedPattern::Sized(_, inner) => print_pattern(body, inner),
        _ => "_".to_owned(),
    }
}

/// Returns the locals that a polynomial mentions.
pub(super) fn locals_in_polynomial(p: &Poly) -> Vec<LocalId> {
    let mut all = Vec::new();
    p.for_each_atom(&mut |a| {
        if let Atom::Local(l, _) = a {
            all.push(*l);
        }
    });
    all
}

/// Returns an index around, and the locals that its range mentions.
pub(super) fn index_and_range_locals(body: &TypedBody, step: &EnclosingConstruct) -> Vec<LocalId> {
    let EnclosingConstruct::Index(index) = step else { return Vec::new() };
    let ends = index_bounds(body, index)
        .map(|(begin, end)| [locals_in_polynomial(&begin), locals_in_polynomial(&end)].concat());
    [index.local].into_iter().chain(ends.unwrap_or_default()).collect()
}

/// Returns the start and the end (exclusive) of an index.
pub(super) fn index_bounds(body: &TypedBody, index: &TypedIndexVar) -> Option<(Poly, Poly)> {
    match &index.range {
        TypedIndexRange::Extent(n) => Some((Poly::default(), n.clone())),
        TypedIndexRange::Below(n) => Some((Poly::default(), as_polynomial(body, *n)?)),
        TypedIndexRange::Range(a, b, _) => Some((as_polynomial(body, *a)?, as_polynomial(body, *b)?)),
    }
}
