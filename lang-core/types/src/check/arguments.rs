//! **Argument checking.** Unifies arguments with the parameters of a callee, and explains
//! mismatches of sizes.

use super::super::tree::{TypedExpr as Typed, TypedId};
use super::super::ty::{Signature, Type};
use super::super::unify::{Mismatch, SizeGoals, SizeOrigin, has_meta};
use super::TypeChecker;
use super::mismatch::size_mismatch;
use super::size_names::names_in_sizes;
use lang_base::{Code, Diagnostic, GlobalName, Span};
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ast::{Expr, ExprId};

/// An argument: an expression to infer, or an inferred node (the left operand of `|>`).
#[derive(Clone, Copy)]
pub(super) enum ArgSource {
    Expr(ExprId),
    Node(TypedId),
}

/// Returns the expected type of an argument, from the known values of the arguments checked before
/// it.
type ExpectedArgType<'f, 'a> = dyn FnMut(&mut TypeChecker<'a>, usize, &[Option<Poly>]) -> Type + 'f;

/// Receives the value of an argument on which sizes depend.
type ArgValueSink<'f, 'a> = dyn FnMut(&mut TypeChecker<'a>, usize, &Poly) + 'f;

impl<'a> TypeChecker<'a> {
    pub(super) fn infer_args(&mut self, args: &[ArgSource]) -> Vec<TypedId> {
        args.iter()
            .map(|a| match a {
                ArgSource::Expr(e) => self.infer(*e, None),
                ArgSource::Node(n) => *n,
            })
            .collect()
    }

    pub(super) fn arg_span(&self, a: ArgSource) -> Span {
        match a {
            ArgSource::Expr(e) => self.expr_span(e),
            ArgSource::Node(n) => self.node_span(n),
        }
    }

    /// Checks arguments against their expected types.
    ///
    /// An argument whose type depends on the values of others is checked after them. Lambdas come
    /// last, because the others then have determined all that they can. Size equations that stay
    /// open are checked at run time after the last argument.
    ///
    /// The signature, if the callee has one, shows whether mismatched arguments fit in each other's
    /// place. The callee's name, if it has one, serves to find another function that they fit.
    pub(super) fn check_arguments(
        &mut self,
        args: &[ArgSource],
        signature: Option<(&Signature, Option<&GlobalName>)>,
        what: &dyn Fn(usize) -> String,
        wanted: &mut ExpectedArgType<'_, 'a>,
        dependent: &dyn Fn(usize) -> bool,
        solved: &mut ArgValueSink<'_, 'a>,
    ) -> Vec<TypedId> {
        let is_lambda = |this: &Self, a: &ArgSource| match a {
            ArgSource::Expr(e) => matches!(this.tree.exprs[*e].kind, Expr::Lambda(..)),
            ArgSource::Node(_) => false,
        };
        let (late, mut early): (Vec<usize>, Vec<usize>) =
            (0..args.len()).partition(|k| args.get(*k).is_some_and(|a| is_lambda(self, a)));
        let mut nodes: Vec<Option<TypedId>> = vec![None; args.len()];
        let mut values: Vec<Option<Poly>> = vec![None; args.len()];
        // Sizes in the type of a function value's parameter may be the values of later parameters.
        early.sort_by_key(|k| wanted(self, *k, &values).free_arguments().iter().any(|(around, _)| *around == 0));
        let mut open: Vec<(usize, SizeGoals)> = Vec::new();
        let mut targets: Vec<(usize, Type)> = Vec::new();
        // A mismatch is reported after the later arguments have determined their sizes too.
        let mut unfit: Vec<(usize, TypedId, Mismatch)> = Vec::new();
        for k in early.into_iter().chain(late) {
            let Some(a) = args.get(k) else { continue };
            let target = wanted(self, k, &values);
            targets.push((k, target.clone()));
            let mut node = match a {
                ArgSource::Expr(e) => self.infer(*e, Some(&target)),
                ArgSource::Node(n) => *n,
            };
            let found = self.nodes[node].ty.clone();
            match self.unify(&found, &target) {
                Ok(goals) => open.push((k, goals)),
                Err(m) => {
                    unfit.push((k, node, m));
                    node = self.alloc(Typed::Error, target, self.node_span(node));
                }
            }
            if dependent(k) {
                node = self.bind_as_size(node);
                let value = self.poly(node).cloned();
                if let Some(p) = &value {
                    solved(self, k, p);
                }
                if let Some(v) = values.get_mut(k) {
                    *v = value;
                }
            }
            if let Some(slot) = nodes.get_mut(k) {
                *slot = Some(node);
            }
        }
        self.settle_deferred(false);
        let mut nodes: Vec<TypedId> = nodes.into_iter().flatten().collect();
        let mut original_nodes = nodes.clone();
        for (k, node, _) in &unfit {
            original_nodes.get_mut(*k).into_iter().for_each(|slot| *slot = *node);
        }
        let mut swapped = signature.filter(|_| !unfit.is_empty()).and_then(|(signature, _)| {
            let pair = self.find_swap(signature, &original_nodes)?;
            Some((pair, Self::swap_help(signature, pair)))
        });
        let pair = swapped.as_ref().map(|(pair, _)| *pair);
        let mut relative = match signature {
            Some((_, Some(callee))) if pair.is_none() && !unfit.is_empty() => {
                self.find_rank_variant(callee, &original_nodes)
            }
            _ => None,
        };
        for (k, node, m) in unfit {
            let Some((_, target)) = targets.iter().find(|t| t.0 == k) else { continue };
            let one_of_two = pair.is_some_and(|(i, j)| k == i || k == j);
            // If two arguments are swapped, only the first is reported.
            if one_of_two && swapped.is_none() {
                continue;
            }
            if let Some(mut d) = self.unfit_diagnostic(&m, node, target, &what(k)) {
                d = self.explain_size_mismatch(d, &m, k, &targets, args);
                if one_of_two && let Some((_, help)) = swapped.take() {
                    d = d.help(help);
                }
                if let Some(other) = relative.take() {
                    d = d.help(format!("`{other}` takes these arguments"));
                }
                self.report(d);
            }
        }
        // Retries the size equations that waited for others, until no further one is solved.
        loop {
            let before: usize = open.iter().map(|(_, goals)| goals.len()).sum();
            for (k, goals) in &mut open {
                let mut left = Vec::new();
                for (f, w) in std::mem::take(goals) {
                    let Err(m @ Mismatch::Size(..)) = self.metas.unify_size(&f, &w, &mut left) else { continue };
                    let at = nodes.get(*k).map_or_else(Span::default, |n| self.node_span(*n));
                    let d = Diagnostic::new(Code::E0300, at, format!("sizes differ for {}", what(*k)));
                    self.report(self.explain_size_mismatch(d, &m, *k, &targets, args));
                }
                *goals = left;
            }
            if open.iter().map(|(_, goals)| goals.len()).sum::<usize>() >= before {
                break;
            }
        }
        if let Some(last) = nodes.last_mut() {
            for (k, goals) in open {
                *last = self.wrap_in_goal_checks(*last, goals, &what(k), Code::E0300);
            }
        }
        nodes
    }

    /// Adds to a mismatch of sizes in argument `k` the signature's notation of the expected size,
    /// and the arguments that determined it.
    fn explain_size_mismatch(
        &self,
        mut d: Diagnostic,
        m: &Mismatch,
        k: usize,
        targets: &[(usize, Type)],
        args: &[ArgSource],
    ) -> Diagnostic {
        let Mismatch::Size(found, wanted) = m else { return d };
        d = d
            .label(format!("the size `{found}` does not match the expected `{wanted}`"))
            .fact(size_mismatch(found, wanted))
            .size_names(names_in_sizes([found, wanted]));
        let sizes = |t: &Type| {
            let mut sizes = Vec::new();
            t.visit(&mut |_| {}, &mut |p| sizes.push(p.clone()));
            sizes
        };
        let Some((_, target)) = targets.iter().find(|t| t.0 == k) else { return d };
        let Some(written) = sizes(target).into_iter().find(|p| has_meta(p) && self.metas.zonk_size(p) == *wanted)
        else {
            return d;
        };
        let name = |id: u32| match self.metas.size_origin(id).1 {
            SizeOrigin::Param(name, _) => Some(name),
            _ => None,
        };
        let mut unknowns = Vec::new();
        written.for_each_atom(&mut |a| {
            if let Atom::Meta(id) = a
                && !unknowns.contains(id)
            {
                unknowns.push(*id);
            }
        });
        // A metavariable without a name does not come from the signature.
        if unknowns.iter().any(|id| name(*id).is_none()) {
            return d;
        }
        let named = written.substitute(&|a| match a {
            Atom::Meta(id) => Some(Poly::atom(Atom::SizeParam(*id, name(*id)?))),
            _ => None,
        });
        // The caller may use the same name for another size.
        let mut own = Vec::new();
        [found, wanted].into_iter().for_each(|p| p.for_each_atom(&mut |a| own.push(Poly::atom(a.clone()).to_string())));
        let is_own = |id: &u32| {
            let size = self.metas.zonk_size(&Poly::atom(Atom::Meta(*id)));
            name(*id).is_some_and(|name| own.iter().any(|o| **o == *name) && size.to_string() != *name)
        };
        let clash = unknowns.iter().any(is_own);
        if named.to_string() != wanted.to_string() || clash {
            d = d.size_names(names_in_sizes([&named])).label(match clash {
                true => format!(
                    "the size `{found}` does not match the expected `{wanted}`, which the signature writes as `{named}`"
                ),
                false => format!("the size `{found}` does not match the expected `{named}` = `{wanted}`"),
            });
        }
        let of = if clash { " of the signature" } else { "" };
        for id in unknowns {
            let atom = Poly::atom(Atom::Meta(id));
            let size = self.metas.zonk_size(&atom);
            let tells = |alone: bool| {
                targets.iter().find(|(_, t)| {
                    sizes(t).iter().any(|p| if alone { *p == atom } else { p.mentions(&Atom::Meta(id)) })
                })
            };
            let source = tells(true).or_else(|| tells(false)).filter(|t| t.0 != k).and_then(|t| args.get(t.0));
            if let (Some(name), Some(source)) = (name(id), source)
                && !has_meta(&size)
            {
                d = d.related(self.arg_span(*source), format!("`{name}`{of} is `{size}` here"));
            }
        }
        d
    }
}
