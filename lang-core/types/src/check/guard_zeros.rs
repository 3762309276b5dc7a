//! **Zeros of guarded values.** The operand of an Iverson bracket must have a zero. Its type may be
//! inferred after the bracket, so `finish` runs this check.

use super::super::ty::{Type, TypeClass};
use super::TypeChecker;
use lang_base::{Code, Diagnostic};

impl TypeChecker<'_> {
    /// Reports brackets around values whose types have no zero.
    pub(super) fn check_guard_zeros(&mut self) {
        for (body, span) in std::mem::take(&mut self.guarded_values) {
            let ty = self.metas.zonk(&self.nodes[body].ty);
            if let Some(t) = self.find_without_zero(&ty) {
                self.report(
                    Diagnostic::new(Code::E0208, span, format!("an Iverson bracket needs a zero, but `{t}` has none"))
                        .help("use `if p then … else …`"),
                );
            }
        }
    }

    /// Returns the part of a type that has no zero, if any.
    fn find_without_zero<'t>(&self, t: &'t Type) -> Option<&'t Type> {
        match t {
            Type::Scalar(_) | Type::Error | Type::Meta(_) => None,
            Type::Param(k, _) => self.classes.get(*k as usize).is_none_or(|c| *c == TypeClass::Any).then_some(t),
            Type::Array(_, elem) => self.find_without_zero(elem),
            Type::Tuple(items) => items.iter().find_map(|t| self.find_without_zero(t)),
            Type::Record(fields) => fields.iter().find_map(|(_, t)| self.find_without_zero(t)),
            Type::Str | Type::Fun(_) | Type::Rel(_) | Type::Data(..) => Some(t),
        }
    }
}
