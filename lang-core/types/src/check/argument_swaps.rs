//! **Suggestions for swapped arguments and misspelt sizes.** They become the help of an error about
//! types or sizes that do not fit.
//!
//! The search covers two arguments that fit in each other's place, and sizes whose names resemble
//! another's.

use super::super::lower::misspelt_sizes;
use super::super::tree::{Callee, TypedExpr as Typed, TypedId};
use super::super::ty::{Signature, SizeSource};
use super::super::unify::has_meta;
use super::TypeChecker;
use lang_base::{Code, Diagnostic, GlobalName, Span};
use lang_resolve::foreign_names;
use lang_sizes::predicate::Poly;

/// The maximal number of arguments of a call for which swaps are tried.
const MAX_SWAP_ARGUMENTS: usize = 12;

/// The codes of errors about sizes.
const SIZE_CODES: [Code; 5] = [Code::E0204, Code::E0300, Code::E0304, Code::E0306, Code::E0307];

impl TypeChecker<'_> {
    /// Returns two arguments that fit in each other's place, for a call whose arguments do not fit.
    pub(super) fn find_swap(&mut self, signature: &Signature, args: &[TypedId]) -> Option<(usize, usize)> {
        if args.len() != signature.params.len() || args.len() > MAX_SWAP_ARGUMENTS {
            return None;
        }
        let known = |arg: &TypedId| !self.metas.zonk(&self.nodes[*arg].ty).has_error();
        if !args.iter().all(known) {
            return None;
        }
        let mut pairs = (0..args.len()).flat_map(|i| (i + 1..args.len()).map(move |j| (i, j)));
        pairs.find(|(i, j)| {
            let mut order = args.to_vec();
            order.swap(*i, *j);
            self.arguments_fit(signature, &order)
        })
    }

    /// Returns the library function that takes these arguments, if they do not fit a related one
    /// that other languages do not distinguish from it.
    pub(super) fn find_rank_variant(&mut self, callee: &GlobalName, args: &[TypedId]) -> Option<String> {
        let (module, name) = foreign_names::rank_variants(&format!("{}.{}", callee.module, callee.name))
            .iter()
            .filter_map(|known| known.split_once('.'))
            .find(|(module, name)| {
                let other = self.env.signature(&GlobalName::new(module, name));
                other.is_some_and(|other| other.params.len() == args.len() && self.arguments_fit(&other, args))
            })?;
        let imports = self.env.imports(self.module);
        let alias = imports.iter().find(|(_, known)| *known == module).map_or(module, |(alias, _)| alias.as_str());
        Some(format!("{alias}.{name}"))
    }

    /// Returns whether the arguments certainly fit a signature, with valid sizes. Leaves the
    /// metavariables unchanged.
    fn arguments_fit(&mut self, signature: &Signature, args: &[TypedId]) -> bool {
        let before = self.metas.clone();
        let inst = self.instantiate(signature, "", Span::default());
        let mut goals = Vec::new();
        let mut fits = args.iter().zip(&signature.params).all(|(arg, (_, wanted))| {
            let found = self.nodes[*arg].ty.clone();
            self.unify(&found, &inst.apply_to(wanted)).is_ok_and(|open| {
                goals.extend(open);
                true
            })
        });
        for (size, p) in signature.sizes.iter().zip(&inst.sizes) {
            let SizeSource::Param(k) = size.source else { continue };
            let value = args.get(k as usize).and_then(|arg| self.poly(*arg)).cloned();
            fits &= value.is_none_or(|value| self.metas.unify_size(p, &value, &mut goals).is_ok());
        }
        // Retries the size equations that waited for others.
        loop {
            let open = goals.len();
            for (found, wanted) in std::mem::take(&mut goals) {
                fits &= self.metas.unify_size(&found, &wanted, &mut goals).is_ok();
            }
            if !fits || goals.is_empty() || goals.len() >= open {
                break;
            }
        }
        let sizes: Vec<Poly> = inst.sizes.iter().map(|p| self.metas.zonk_size(p)).collect();
        self.metas = before;
        fits && goals.is_empty() && !sizes.iter().any(|p| has_meta(p) || is_decreasing(p))
    }

    /// Returns the help text for two arguments that fit in each other's place.
    pub(super) fn swap_help(signature: &Signature, (i, j): (usize, usize)) -> String {
        let name = |k: usize| signature.params.get(k).map(|(name, _)| name.clone()).unwrap_or_default();
        format!("swap the arguments for `{}` and `{}`", name(i), name(j))
    }

    /// Adds suggestions to the errors about sizes.
    pub(super) fn add_size_hints(&mut self) {
        if !self.diagnostics.iter().any(|d| SIZE_CODES.contains(&d.code)) {
            return;
        }
        let calls: Vec<TypedId> =
            self.nodes.iter().filter(|(_, n)| matches!(n.kind, Typed::Call { .. })).map(|n| n.0).collect();
        for call in calls {
            let Some(help) = self.backwards_size_help(call) else { continue };
            let start = self.node_span(call).start;
            // The consequences of the call are within it or after it.
            let follows = |d: &&mut Diagnostic| SIZE_CODES.contains(&d.code) && d.span.end >= start;
            if let Some(d) = self.diagnostics.iter_mut().filter(follows).min_by_key(|d| d.span.start) {
                d.help = Some(help.into());
            }
        }
        let misspelt = misspelt_sizes(self.tree, self.resolved);
        for d in self.diagnostics.iter_mut().filter(|d| SIZE_CODES.contains(&d.code)) {
            if let Some(size) = misspelt.iter().find(|size| d.size_names.contains(&size.name)) {
                d.help = Some(size.help().into());
            }
        }
    }

    /// Returns help for a call with a size that decreases as others grow, if swapping two arguments
    /// avoids that.
    fn backwards_size_help(&mut self, call: TypedId) -> Option<String> {
        let Typed::Call { callee, args } = &self.nodes[call].kind else { return None };
        let (signature, instance) = match callee {
            Callee::Def(global, instance) => (self.env.signature(global)?, instance),
            Callee::Builtin(builtin, instance) => (self.env.builtin_signature(*builtin)?, instance),
            Callee::Ctor(..) | Callee::Value(_) => return None,
        };
        let has_error_arg = args.iter().any(|arg| self.nodes[*arg].kind == Typed::Error);
        if has_error_arg || !instance.sizes.iter().any(is_decreasing) {
            return None;
        }
        let args = args.clone();
        self.find_swap(&signature, &args).map(|pair| Self::swap_help(&signature, pair))
    }
}

/// Returns whether a size is negative or decreases as another grows.
fn is_decreasing(p: &Poly) -> bool {
    p.as_constant().is_some_and(|c| c < 0) || p.terms().iter().any(|(m, c)| !m.is_empty() && *c < 0)
}
