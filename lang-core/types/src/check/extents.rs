//! **Extents as values.** Turns `i64` expressions into sizes, and opens the existential extents
//! `?k` of a value.

use super::super::lower::unknown_extent_error;
use super::super::tree::{OpenedExtent, SizeConstraint, TypedExpr as Typed, TypedId, TypedPattern as TypedPat};
use super::super::ty::{GenericArg, Type};
use super::super::unify::SizeOrigin;
use super::TypeChecker;
use lang_base::{Code, Diagnostic, Name, Span};
use lang_resolve::LocalKind;
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ast::{ExprId, TypeId};

impl TypeChecker<'_> {
    /// Returns a node whose value is exactly a polynomial, so that it may be a size.
    ///
    /// An expression without a polynomial is bound to a new local. An expression that may wrap is
    /// compared with its polynomial at run time, so that extents are exactly those of the types.
    pub(super) fn bind_as_size(&mut self, node: TypedId) -> TypedId {
        if self.node_type(node) == Type::Error || self.nodes[node].kind == Typed::Error {
            return node;
        }
        let polynomial = self.poly(node).cloned();
        if self.faithful_poly(node).is_some_and(|p| self.is_exact(p)) {
            return node;
        }
        let span = self.node_span(node);
        let l = self.fresh_local(&self.operand_phrase(node), Type::I64, span);
        let value = self.local_size(l);
        let local = self.alloc_with_poly(Typed::Local(l), Type::I64, span, Some(value.clone()));
        let named = self.alloc_with_poly(
            Typed::Let(vec![(TypedPat::Bind(l), node)], local),
            Type::I64,
            span,
            Some(value.clone()),
        );
        let Some(p) = polynomial else { return named };
        // The arithmetic may wrap: the run ends unless the value equals its polynomial.
        let demand = (value, SizeConstraint::Equal(p.clone()), "this size, because its arithmetic wraps".to_owned());
        let checked = self.wrap_in_size_checks(named, vec![demand], Code::E0300);
        self.set_poly(checked, p);
        checked
    }

    /// Checks a value against a written type and opens the extents `?k` in it. The branches of the
    /// value may have different extents.
    pub(super) fn check_with_opened_extents(
        &mut self,
        value: ExprId,
        wanted: &Type,
        written: Span,
        what: &str,
    ) -> TypedId {
        let unknown = self.opened_sizes(wanted, written);
        if unknown.is_empty() {
            return self.check_expr(value, wanted, what);
        }
        let span = self.expr_span(value);
        let mut opens = Vec::new();
        for l in &unknown {
            match find_axis(wanted, &self.local_size(*l)) {
                Some((path, axis)) => opens.push(OpenedExtent { path, axis, local: *l }),
                None => {
                    let message = format!(
                        "the extent `?{}` {}",
                        self.local_name(*l),
                        hidden_extent_reason(wanted, &self.local_size(*l))
                    );
                    let d = Diagnostic::new(Code::E0310, written, message);
                    self.report(d.help("open only an extent of the whole value or of one of its components"));
                }
            }
        }
        if self.is_branching(value) {
            let node = self.check_tail_value(value, wanted, &unknown, what);
            return self.alloc(Typed::Opened(opens, node), wanted.clone(), span);
        }
        // The value may have any extents in these positions, and the type of the node has the
        // value's.
        let fresh: Vec<(LocalId, Poly)> =
            unknown.iter().map(|l| (*l, self.metas.fresh_size(SizeOrigin::Other, span))).collect();
        let open = wanted.map_sizes(&|p, _| {
            p.substitute(&|a| match a {
                Atom::Local(l, _) => fresh.iter().find(|f| f.0 == *l).map(|f| f.1.clone()),
                _ => None,
            })
        });
        let node = self.check_expr(value, &open, what);
        for (l, meta) in &fresh {
            let atom = self.local_size(*l);
            // An extent that nothing else determines is the new local itself.
            let mut known = Vec::new();
            let _ = self.metas.unify_size(meta, &atom, &mut known);
            // An extent that the value determines has two names, so their equality becomes a fact.
            for (p, q) in known {
                self.scopes.assume_zero(p.sub(&q));
            }
        }
        let ty = self.metas.zonk(&open);
        self.alloc(Typed::Opened(opens, node), ty, span)
    }

    /// Lowers the written type of a lambda's parameter. Reports an extent `?k`, because no value
    /// determines it before the function is created.
    pub(super) fn lower_lambda_param(&mut self, written: TypeId) -> Type {
        let t = self.lower_annotation(written);
        let unknown = self.opened_sizes(&t, self.tree.types[written].span);
        let Some(place) = unknown.first().and_then(|l| self.local_info(*l)) else { return t };
        let d = unknown_extent_error(&place.name, place.span);
        self.report(d.help("omit the type, because the use of the function determines it"));
        Type::Error
    }

    /// Returns the locals of the `?k` written in this type. Those of earlier types are known sizes.
    fn opened_sizes(&self, t: &Type, written: Span) -> Vec<LocalId> {
        let mut found = Vec::new();
        t.visit(&mut |_| {}, &mut |p| {
            p.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a
                    && self
                        .resolved
                        .locals
                        .get(l.0 as usize)
                        .is_some_and(|d| d.kind == LocalKind::ResultSize && written.to(d.span) == written)
                    && !found.contains(l)
                {
                    found.push(*l);
                }
            });
        });
        found
    }
}

/// Returns whether every value of the type contains an array or a relation with exactly this size
/// as an extent. An array of tuples may be empty, so its tuples do not count.
pub(super) fn has_extent(t: &Type, size: &Poly) -> bool {
    match t {
        Type::Array(..) => t.split_array().0.contains(&size),
        Type::Rel(dims) => dims.contains(size),
        Type::Tuple(ts) => ts.iter().any(|t| has_extent(t, size)),
        Type::Record(fields) => fields.iter().any(|(_, t)| has_extent(t, size)),
        _ => false,
    }
}

/// Returns the reason why no reachable axis has exactly this size, as the end of a message.
pub(super) fn hidden_extent_reason(t: &Type, size: &Poly) -> &'static str {
    fn of_sum(t: &Type, size: &Poly) -> bool {
        match t {
            Type::Data(_, args) => args.iter().any(|a| matches!(a, GenericArg::Size(p) if p == size)),
            Type::Array(_, t) => of_sum(t, size),
            Type::Tuple(items) => items.iter().any(|t| of_sum(t, size)),
            Type::Record(fields) => fields.iter().any(|(_, t)| of_sum(t, size)),
            _ => false,
        }
    }
    match of_sum(t, size) {
        true => "cannot be determined, because it belongs to a sum type, whose values need not contain an array",
        false => "cannot be determined, because it belongs to arrays inside another array, which may be empty",
    }
}

/// Returns the path through tuples and records to an array or a relation with exactly this extent,
/// and the axis.
pub(super) fn find_axis(t: &Type, size: &Poly) -> Option<(Vec<u32>, u32)> {
    match t {
        Type::Array(..) => {
            let (dims, _) = t.split_array();
            let axis = dims.iter().position(|d| *d == size)?;
            Some((Vec::new(), u32::try_from(axis).ok()?))
        }
        Type::Rel(dims) => {
            let axis = dims.iter().position(|d| d == size)?;
            Some((Vec::new(), u32::try_from(axis).ok()?))
        }
        Type::Tuple(items) => (0..).zip(items.iter()).find_map(|(k, t)| {
            let (mut path, axis) = find_axis(t, size)?;
            path.insert(0, k);
            Some((path, axis))
        }),
        Type::Record(fields) => (0..).zip(fields.iter()).find_map(|(k, (_, t))| {
            let (mut path, axis) = find_axis(t, size)?;
            path.insert(0, k);
            Some((path, axis))
        }),
        _ => None,
    }
}

/// Returns an expression such as `len(t.age)` for an extent of a value, if a reachable axis of an
/// array has it.
pub(super) fn length_expr(name: &Name, t: &Type, size: &Poly) -> Option<String> {
    let (path, axis) = find_axis(t, size)?;
    let mut part = name.to_string();
    let mut t = t;
    for k in path {
        let k = usize::try_from(k).ok()?;
        match t {
            Type::Tuple(items) => {
                part.push_str(&format!(".{k}"));
                t = items.get(k)?;
            }
            Type::Record(fields) => {
                let (field, inner) = fields.get(k)?;
                part.push_str(&format!(".{field}"));
                t = inner;
            }
            _ => return None,
        }
    }
    let zeros = vec!["0"; usize::try_from(axis).ok()?].join(", ");
    let row = if zeros.is_empty() { String::new() } else { format!("[{zeros}]") };
    matches!(t, Type::Array(..)).then(|| format!("len({part}{row})"))
}
