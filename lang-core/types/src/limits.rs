//! **Limits on the size of types**, so that every walk over a type is cheap.
//!
//! The text of one item bounds the types that are written in it. Aliases and inferred results of
//! other items multiply: thirty lines of `type A = (B, B)` would build a type of a billion parts.

use super::ty::{GenericArg, Signature, Type};
use super::type_info::{TypeInfo, TypeInfoBody};
use super::unify::MetaTable;
use lang_base::{Code, Diagnostic, Span};

/// The maximal number of parts of a type. Types that people write have tens.
pub(super) const MAX_TYPE_PARTS: usize = 10_000;

/// The maximal nesting depth of a type; that of a syntax tree is the same.
pub(super) const MAX_TYPE_NESTING: usize = 256;

/// Builds the diagnostic for a type that exceeds a limit.
pub(super) fn too_large_error(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0006, span, "the type here is too large when fully expanded")
}

impl Type {
    /// Returns whether the type is within the limits. Shared parts count at each occurrence,
    /// because every walk visits them each time.
    #[must_use]
    pub fn is_within_limits(&self) -> bool {
        are_within_limits([self])
    }
}

impl MetaTable {
    /// Returns whether the type, with all solutions substituted, is within the limits.
    #[must_use]
    pub fn is_within_limits(&self, t: &Type) -> bool {
        are_solved_within_limits([t], &|id| self.solution(id), self.part_limit())
    }
}

impl Signature {
    /// Returns whether the types of the parameters and the result are together within the limits.
    #[must_use]
    pub fn is_within_limits(&self) -> bool {
        are_within_limits(self.params.iter().map(|p| &p.1).chain([&self.result]))
    }
}

impl TypeInfo {
    /// Returns whether the types in its body are within the limits.
    #[must_use]
    pub fn is_within_limits(&self) -> bool {
        match &self.body {
            TypeInfoBody::Sum(ctors) => are_within_limits(ctors.iter().flat_map(|c| &c.args)),
            TypeInfoBody::Alias(ty) => ty.is_within_limits(),
        }
    }
}

fn are_within_limits<'t>(types: impl IntoIterator<Item = &'t Type>) -> bool {
    are_solved_within_limits(types, &|_| None, MAX_TYPE_PARTS)
}

fn are_solved_within_limits<'t>(
    types: impl IntoIterator<Item = &'t Type>,
    solution: &dyn Fn(u32) -> Option<&'t Type>,
    most: usize,
) -> bool {
    let mut todo: Vec<(&Type, usize)> = types.into_iter().map(|t| (t, 0)).collect();
    let mut parts = 0;
    while let Some((ty, depth)) = todo.pop() {
        parts += 1;
        if parts > most || depth > MAX_TYPE_NESTING {
            return false;
        }
        let mut inner = |t: &'t Type| todo.push((t, depth + 1));
        match ty {
            Type::Scalar(_) | Type::Str | Type::Rel(_) | Type::Param(..) | Type::Error => {}
            // The solution counts in place of the metavariable; chains of metavariables are short.
            Type::Meta(id) => {
                if let Some(t) = solution(*id) {
                    parts -= 1;
                    todo.push((t, depth));
                }
            }
            Type::Array(_, elem) => inner(elem),
            Type::Tuple(items) => items.iter().for_each(inner),
            Type::Record(fields) => fields.iter().for_each(|(_, t)| inner(t)),
            Type::Fun(fun) => {
                fun.params.iter().for_each(|(_, t)| inner(t));
                inner(&fun.result);
            }
            Type::Data(_, args) => {
                for arg in args.iter() {
                    if let GenericArg::Type(t) = arg {
                        inner(t);
                    }
                }
            }
        }
    }
    true
}
