//! **Linearity of derivative rules.** The tangent of the result must be linear in the tangents of
//! the parameters. A rule that omits its tangent, or has a term without one, is an error, because
//! both modes of differentiation rely on linearity.
//!
//! The check refutes linearity and does not prove it: calls, loops and selections by tangents are
//! left undecided.

use std::collections::HashMap;

use super::super::tree::{Expr, Pat, TId};
use super::super::ty::Type;
use super::Checker;
use lang_base::{Code, Diagnostic, Name};
use lang_sizes::predicate::LocalId;
use lang_syntax::ops::{BinOp, BinderKind};

/// The dependence of an expression on the tangents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Degree {
    /// The expression is 0.
    Zero,
    /// The expression contains no tangent.
    Constant,
    Linear,
    /// The expression contains tangents and is not linear in them.
    Other,
    /// Undecided: any of the others is possible.
    Unknown,
}

use Degree::{Constant, Linear, Other, Unknown, Zero};

impl Degree {
    /// Returns the degree of a sum, or of the parts of a value together.
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Unknown, _) | (_, Unknown) => Unknown,
            (Zero, x) | (x, Zero) => x,
            (a, b) if a == b => a,
            _ => Other,
        }
    }

    fn times(self, other: Self) -> Self {
        match (self, other) {
            (Zero, _) | (_, Zero) => Zero,
            (Unknown, _) | (_, Unknown) => Unknown,
            (Constant, x) | (x, Constant) => x,
            (Linear, Linear) => Other,
            _ => Unknown,
        }
    }
}

/// The degrees of the locals of a rule.
struct Degrees<'c, 'a> {
    checker: &'c Checker<'a>,
    locals: HashMap<LocalId, Degree>,
}

impl Checker<'_> {
    /// Reports the first part of a rule that is not linear in its tangents. An adjoint rule may
    /// clip or scale its cotangent, so only a part without any cotangent is reported.
    pub(super) fn check_linear(
        &mut self,
        root: TId,
        adjoint: bool,
        name: &Name,
        params: &[LocalId],
        tangents: &[(LocalId, Name)],
    ) {
        if tangents.is_empty() {
            return;
        }
        let locals = params.iter().map(|l| (*l, Constant)).chain(tangents.iter().map(|(l, _)| (*l, Linear)));
        let mut degrees = Degrees { checker: self, locals: locals.collect() };
        let Some((at, degree)) = degrees.offence(root, adjoint) else { return };
        let span = self.span(at);
        let (one, of) = if adjoint { ("cotangent", "cotangents") } else { ("tangent", "tangents") };
        let names: Vec<String> = tangents.iter().map(|(_, name)| format!("`{name}`")).collect();
        let names = super::and_list(&names);
        let first = tangents.first().map_or("dx", |(_, name)| name.as_str());
        let d = if degree == Constant {
            let message =
                format!("this part of the rule of `{name}` has no {one} in it, and is not 0 where {names} is 0");
            Diagnostic::new(
                Code::E0219,
                span,
                if tangents.len() == 1 { message } else { message.replace(" is 0", " are 0") },
            )
            .label(format!("no {one} here"))
        } else {
            let message = format!("the rule of `{name}` is not linear in the {of} {names}");
            Diagnostic::new(Code::E0219, span, if tangents.len() == 1 { message.replace(of, one) } else { message })
                .label("this is no multiple of a tangent")
        };
        self.report(d.help(format!("every term has one {one} as a factor, as `2 * x * {first}` in the rule of `x^2`")));
    }
}

impl Degrees<'_, '_> {
    /// Returns a part of the result that is not linear, and its degree.
    fn offence(&mut self, id: TId, adjoint: bool) -> Option<(TId, Degree)> {
        let node = &self.checker.nodes[id];
        if !self.is_real(&node.ty) {
            return None;
        }
        match &node.kind {
            Expr::Tuple(items) | Expr::Array(items) => items.iter().find_map(|e| self.offence(*e, adjoint)),
            Expr::Record(fields) => fields.iter().find_map(|(_, e)| self.offence(*e, adjoint)),
            Expr::Checked(_, e) | Expr::Opened(_, e) | Expr::Neg(e) | Expr::Guard(_, e) => self.offence(*e, adjoint),
            Expr::Arith(BinOp::Add | BinOp::Sub, a, b) if !adjoint => {
                self.offence(*a, adjoint).or_else(|| self.offence(*b, adjoint))
            }
            Expr::If(cases, last) => {
                let cases = cases.iter().map(|(_, e)| *e).chain([*last]);
                cases.collect::<Vec<_>>().into_iter().find_map(|e| self.offence(e, adjoint))
            }
            Expr::Let(binds, body) => {
                self.bind(binds);
                self.offence(*body, adjoint)
            }
            Expr::Binder { kind: BinderKind::For | BinderKind::Sum, vars, body, .. } => {
                self.locals.extend(vars.iter().map(|v| (v.local, Constant)));
                self.offence(*body, adjoint)
            }
            _ => {
                let degree = self.degree(id);
                (degree == Constant || degree == Other && !adjoint).then_some((id, degree))
            }
        }
    }

    /// Returns whether the type contains real numbers.
    fn is_real(&self, ty: &Type) -> bool {
        match self.checker.metas.zonk(ty) {
            Type::Scalar(scalar) => Type::Scalar(scalar) == Type::F64 || Type::Scalar(scalar) == Type::F32,
            Type::Array(_, element) => self.is_real(&element),
            Type::Tuple(items) => items.iter().any(|ty| self.is_real(ty)),
            Type::Record(fields) => fields.iter().any(|(_, ty)| self.is_real(ty)),
            // A type parameter is a real number wherever the derivative is taken.
            Type::Param(..) => true,
            _ => false,
        }
    }

    fn bind(&mut self, binds: &[(Pat, TId)]) {
        for (pat, value) in binds {
            let degree = self.degree(*value);
            let whole = matches!(pat, Pat::Bind(_));
            let part = if whole || degree == Constant { degree } else { Unknown };
            pat.for_each_local(&mut |l| self.locals.extend([(l, part)]));
        }
    }

    fn all(&mut self, items: &[TId]) -> Degree {
        items.iter().fold(Zero, |all, e| all.plus(self.degree(*e)))
    }

    fn degree(&mut self, id: TId) -> Degree {
        let checker = self.checker;
        match &checker.nodes[id].kind {
            Expr::Real(x) if x.0 == 0.0 => Zero,
            // NaN marks a derivative that does not exist.
            Expr::Real(x) if !x.0.is_finite() => Unknown,
            Expr::Int(0) => Zero,
            Expr::Real(_) | Expr::Int(_) | Expr::Bool(_) | Expr::Size(_) => Constant,
            Expr::Local(l) => self.locals.get(l).copied().unwrap_or(Unknown),
            Expr::Neg(e) | Expr::Convert(_, e) | Expr::Checked(_, e) | Expr::Opened(_, e) => self.degree(*e),
            Expr::Proj(e, _) | Expr::Index(e, _) => match self.degree(*e) {
                Other => Unknown,
                degree => degree,
            },
            Expr::Arith(BinOp::Add | BinOp::Sub, a, b) => self.degree(*a).plus(self.degree(*b)),
            Expr::Arith(BinOp::Mul, a, b) => self.degree(*a).times(self.degree(*b)),
            Expr::Arith(BinOp::Div, a, b) => match (self.degree(*a), self.degree(*b)) {
                (a, Constant) => a,
                _ => Unknown,
            },
            Expr::Pow(a, b) => match (self.degree(*a), self.degree(*b)) {
                (Constant, Constant | Zero) => Constant,
                (Linear, Constant) if matches!(checker.nodes[*b].kind, Expr::Int(2..)) => Other,
                _ => Unknown,
            },
            Expr::Scalar(_, args) => match self.all(args) {
                Constant => Constant,
                Linear => Other,
                _ => Unknown,
            },
            Expr::Guard(p, e) => match self.degree(*p) {
                Constant => self.degree(*e),
                _ => Unknown,
            },
            Expr::Compare(a, rest) => {
                let items: Vec<TId> = [*a].into_iter().chain(rest.iter().map(|(_, e)| *e)).collect();
                self.decided(&items)
            }
            Expr::And(items) | Expr::Or(items) => self.decided(items),
            Expr::Not(e) => self.decided(&[*e]),
            Expr::Tuple(items) | Expr::Array(items) => self.all(items),
            Expr::Record(fields) => {
                let items: Vec<TId> = fields.iter().map(|(_, e)| *e).collect();
                self.all(&items)
            }
            Expr::Let(binds, body) => {
                self.bind(binds);
                self.degree(*body)
            }
            Expr::If(cases, last) => {
                let conditions: Vec<TId> = cases.iter().map(|(p, _)| *p).collect();
                if self.decided(&conditions) != Constant {
                    return Unknown;
                }
                let values = cases.iter().map(|(_, e)| *e).chain([*last]);
                // The value may be any of these.
                let degrees: Vec<Degree> = values.map(|e| self.degree(e)).collect();
                let first = degrees.first().copied().unwrap_or(Unknown);
                if degrees.iter().all(|d| *d == first) { first } else { Unknown }
            }
            Expr::Binder { kind: BinderKind::For | BinderKind::Sum, vars, filter: None, body } => {
                self.locals.extend(vars.iter().map(|v| (v.local, Constant)));
                self.degree(*body)
            }
            _ => Unknown,
        }
    }

    /// Returns the degree of a truth value: constant if no tangent decides it, else undecided.
    fn decided(&mut self, items: &[TId]) -> Degree {
        let constant = items.iter().all(|e| matches!(self.degree(*e), Constant | Zero));
        if constant { Constant } else { Unknown }
    }
}
