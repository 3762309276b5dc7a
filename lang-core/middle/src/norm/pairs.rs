//! **Pair elimination** (ATL Fig. 8): turns arrays of tuples into tuples of arrays, and each
//! binding of a tuple into one binding for each part. It runs after let-lifting and before
//! gen-pushout. Tuples remain only in the types of the parameters and the result, which are
//! flattened, and as the results of calls, which are read part by part.
//!
//! (5.12) is misprinted in the paper: `πₖ (⊞ i: e) = ⊞ i: πₖ e`, of the same `e`.

use std::collections::HashMap;

use super::hits::Hits;
use super::substitute;
use lang_base::guarded;
use lang_base::{GlobalName, Name};
use lang_ir::core::{CoreType, E, Expr, Function, Kind, Leaf, Vars};
use lang_ir::flat::{Flat, Input, Source};
use lang_sizes::predicate::{LocalId, Poly};

/// The names under which rules are counted. (5.18) covers the three lines of one rule. (5.13),
/// (5.15) and (5.17) are covered by (5.12), (5.14) and (5.16): the pass takes a part of a tuple
/// before it indexes, so it never indexes a tuple of arrays.
pub const RULES: &[&str] = &["5.11", "5.12", "5.14", "5.16", "5.18"];

/// Returns the function without tuples. The function must be lifted.
#[must_use]
pub fn eliminate(function: &Function, hits: &mut Hits) -> Flat {
    let mut pass = Pairs { vars: function.vars.clone(), parts: HashMap::new(), inputs: Vec::new(), hits };
    for (k, (local, ty)) in (0..).zip(&function.params) {
        let leaves = pass.split(*local, ty);
        for (leaf, local) in leaves {
            pass.inputs.push(Input { local, source: Source::Param(k), leaf });
        }
    }
    let (bindings, body) = match &function.body.kind {
        Kind::Let(bindings, body) => (bindings.as_slice(), body),
        _ => (&[][..], &function.body),
    };
    let mut flat = Vec::new();
    for (x, e) in bindings {
        let leaves = e.ty.leaves();
        if leaves.is_empty() {
            let e = pass.part(e, &[]);
            flat.push((*x, e));
            continue;
        }
        if leaves.len() > 1 {
            pass.hits.count("5.18");
        }
        for (leaf, local) in pass.split(*x, &e.ty) {
            let part = pass.part(e, &leaf.path);
            flat.push((local, part));
        }
    }
    let outputs = body.ty.leaves().into_iter().map(|leaf| {
        let e = pass.part(body, &leaf.path);
        (leaf, e)
    });
    let outputs = outputs.collect();
    Flat {
        callee: function.callee.clone(),
        sizes: function.sizes.clone(),
        bounded: function.bounded.clone(),
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
pub fn is_flat(flat: &Flat) -> bool {
    fn plain(e: &E) -> bool {
        let mut good = match &e.kind {
            Kind::Tuple(items) => items.is_empty(),
            Kind::Proj(call, _) => matches!(call.kind, Kind::Call(..) | Kind::Loop(..)),
            Kind::Let(..) => false,
            _ => true,
        };
        e.for_each_child(&mut |e| good = good && guarded(|| plain(e)));
        good
    }
    flat.bindings.iter().all(|(_, e)| plain(e)) && flat.outputs.iter().all(|(_, e)| plain(e))
}

struct Pairs<'a> {
    vars: Vars,
    /// The variable for each part of a variable.
    parts: HashMap<(LocalId, Vec<u32>), (LocalId, CoreType)>,
    inputs: Vec<Input>,
    hits: &'a mut Hits,
}

impl Pairs<'_> {
    /// Returns the parts of a variable, each with a variable. A variable that is not a tuple keeps
    /// its own.
    fn split(&mut self, x: LocalId, ty: &CoreType) -> Vec<(Leaf, LocalId)> {
        let mut split = Vec::new();
        for leaf in ty.leaves() {
            let local = match leaf.path.as_slice() {
                [] => x,
                path => {
                    let (name, given) = self.called(x, ty, path);
                    if given { self.vars.fresh(name) } else { self.vars.made(&name) }
                }
            };
            let ty = leaf.ty();
            self.parts.insert((x, leaf.path.clone()), (local, ty));
            split.push((leaf, local));
        }
        split
    }

    /// Returns the name of a part of a variable, and whether the program chose it, in a pattern or
    /// as the name of an enclosing value.
    fn called(&self, x: LocalId, ty: &CoreType, path: &[u32]) -> (Name, bool) {
        let mut of = ty;
        for (k, place) in path.iter().enumerate() {
            let CoreType::Tuple(items, _) = of else { break };
            let Some(item) = items.get(*place as usize) else { break };
            of = item;
            let (own, rest) = path.split_at(k + 1);
            if let Some(name) = self.vars.part(x, own) {
                return (part_name(&name, of, rest), true);
            }
        }
        (part_name(&self.vars.name(x), ty, path), self.vars.given(x).is_some())
    }

    /// Returns a part of an expression, itself without tuples.
    fn part(&mut self, e: &E, path: &[u32]) -> E {
        guarded(|| self.part_of(e, path))
    }

    fn part_of(&mut self, e: &E, path: &[u32]) -> E {
        match &e.kind {
            Kind::Var(x) => match self.parts.get(&(*x, path.to_vec())) {
                Some((local, ty)) => e.with(Kind::Var(*local), ty.clone()),
                None => e.clone(),
            },
            Kind::Global(name) => self.global(e, name, path),
            Kind::Proj(inner, k) => {
                let whole: Vec<u32> = std::iter::once(*k).chain(path.iter().copied()).collect();
                self.part(inner, &whole)
            }
            Kind::Tuple(items) => match path.split_first() {
                Some((k, rest)) => {
                    self.hits.count("5.11");
                    items.get(*k as usize).map_or_else(|| e.clone(), |item| self.part(item, rest))
                }
                None => e.clone(),
            },
            Kind::Gen(index, body) => {
                if !path.is_empty() {
                    self.hits.count("5.12");
                }
                let own = self.vars.index(index.name.clone(), index.extent.clone());
                let put = |p: &Poly| p.substitute(&|a| (*a == index.atom()).then(|| own.value()));
                let body = self.part(&substitute::expr(body, &put), path);
                Expr::at(&Expr::generate(own, body), e.span)
            }
            Kind::Access(inner, at) => {
                if !path.is_empty() {
                    self.hits.count("5.14");
                }
                let inner = self.part(inner, path);
                Expr::at(&Expr::access(&inner, at.clone()), e.span)
            }
            Kind::Guard(p, body) => {
                if !path.is_empty() {
                    self.hits.count("5.16");
                }
                let body = self.part(body, path);
                Expr::guard(p.clone(), body)
            }
            Kind::Check(p, what, body) => {
                let body = self.part(body, path);
                body.with(Kind::Check(p.clone(), what.clone(), body.clone()), body.ty.clone())
            }
            Kind::Call(callee, sizes, args) => {
                let parts = self.flat(args);
                result_part(&e.with(Kind::Call(callee.clone(), sizes.clone(), parts), e.ty.clone()), path)
            }
            Kind::Loop(repeat, args) => {
                let parts = self.flat(args);
                result_part(&e.with(Kind::Loop(repeat.clone(), parts), e.ty.clone()), path)
            }
            Kind::Update(update, base, value) => {
                let (base, value) = (self.part(base, path), self.part(value, path));
                base.with(Kind::Update(update.clone(), base.clone(), value), base.ty.clone())
            }
            _ => e.map(&mut |e| self.part(e, &[]), &Poly::clone, &lang_sizes::predicate::Pred::clone),
        }
    }

    /// Returns all parts of the arguments.
    fn flat(&mut self, args: &[E]) -> Vec<E> {
        let mut parts = Vec::new();
        for arg in args {
            for leaf in arg.ty.leaves() {
                parts.push(self.part(arg, &leaf.path));
            }
        }
        parts
    }

    /// Returns a part of a top-level `let`, which is an input.
    fn global(&mut self, e: &E, name: &GlobalName, path: &[u32]) -> E {
        let source = Source::Global(name.clone());
        let known = self.inputs.iter().find(|i| i.source == source && i.leaf.path == path);
        if let Some(input) = known {
            return e.with(Kind::Var(input.local), input.leaf.ty());
        }
        let Some(leaf) = e.ty.leaves().into_iter().find(|leaf| leaf.path == path) else { return e.clone() };
        let local = self.vars.fresh(part_name(&name.name, &e.ty, path));
        let var = e.with(Kind::Var(local), leaf.ty());
        self.inputs.push(Input { local, source, leaf });
        var
    }
}

/// Returns a part of the result of a call or loop.
fn result_part(call: &E, path: &[u32]) -> E {
    let leaves = call.ty.leaves();
    let k = leaves.iter().position(|leaf| leaf.path == path);
    let k = k.and_then(|k| u32::try_from(k).ok()).unwrap_or_default();
    let ty = leaves.get(k as usize).map_or_else(|| call.ty.clone(), Leaf::ty);
    call.with(Kind::Proj(call.clone(), k), ty)
}

/// Returns the name of a part, such as `p_x` or `p_0`.
fn part_name(name: &Name, ty: &CoreType, path: &[u32]) -> Name {
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
