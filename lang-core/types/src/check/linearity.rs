//! **Linearity of derivative rules.** The tangent of the result must be linear in the tangents of
//! the parameters. A rule that omits its tangent, or has a term without one, is an error, because
//! both modes of differentiation rely on linearity.
//!
//! The check refutes linearity and does not prove it: calls, loops and selections by tangents are
//! left undecided.

use std::collections::HashMap;

use super::super::tree::{TypedExpr, TypedId, TypedPattern};
use super::super::ty::Type;
use super::TypeChecker;
use lang_base::{Code, Diagnostic, Name};
use lang_sizes::predicate::LocalId;
use lang_syntax::ops::{BinOp, BinderKind};

/// The dependence of an expression on the tangents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TangentDegree {
    /// The expression is 0.
    Zero,
    /// The expression contains no tangent.
    Constant,
    Linear,
    /// The expression contains tangents and is not linear in them.
    Nonlinear,
    /// Undecided: any of the others is possible.
    Unknown,
}

use TangentDegree::{Constant, Linear, Nonlinear, Unknown, Zero};

impl TangentDegree {
    /// Returns the degree of a sum, or of the parts of a value together.
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Unknown, _) | (_, Unknown) => Unknown,
            (Zero, x) | (x, Zero) => x,
            (a, b) if a == b => a,
            _ => Nonlinear,
        }
    }

    fn times(self, other: Self) -> Self {
        match (self, other) {
            (Zero, _) | (_, Zero) => Zero,
            (Unknown, _) | (_, Unknown) => Unknown,
            (Constant, x) | (x, Constant) => x,
            (Linear, Linear) => Nonlinear,
            _ => Unknown,
        }
    }
}

/// The degrees of the locals of a rule.
struct DegreeAnalysis<'c, 'a> {
    checker: &'c TypeChecker<'a>,
    locals: HashMap<LocalId, TangentDegree>,
}

impl TypeChecker<'_> {
    /// Reports the first part of a rule that is not linear in its tangents. An adjoint rule may
    /// clip or scale its cotangent, so only a part without any cotangent is reported.
    pub(super) fn check_linearity(
        &mut self,
        root: TypedId,
        adjoint: bool,
        name: &Name,
        params: &[LocalId],
        tangents: &[(LocalId, Name)],
    ) {
        if tangents.is_empty() {
            return;
        }
        let locals = params.iter().map(|l| (*l, Constant)).chain(tangents.iter().map(|(l, _)| (*l, Linear)));
        let mut degrees = DegreeAnalysis { checker: self, locals: locals.collect() };
        let Some((at, degree)) = degrees.find_nonlinear(root, adjoint) else { return };
        let span = self.node_span(at);
        let (one, several) = if adjoint { ("cotangent", "cotangents") } else { ("tangent", "tangents") };
        let (noun, are) = if tangents.len() == 1 { (one, "is") } else { (several, "are") };
        let names: Vec<String> = tangents.iter().map(|(_, name)| format!("`{name}`")).collect();
        let names = super::and_list(&names);
        let first = tangents.first().map_or("dx", |(_, name)| name.as_str());
        let d = if degree == Constant {
            let message =
                format!("this part of the rule of `{name}` contains no {one}, so it is not 0 where {names} {are} 0");
            Diagnostic::new(Code::E0219, span, message).label(format!("no {one} here"))
        } else {
            let message = format!("the rule of `{name}` is not linear in the {noun} {names}");
            Diagnostic::new(Code::E0219, span, message).label("this is not a multiple of a tangent")
        };
        self.report(
            d.help(format!("every term must have one {one} as a factor, like `2 * x * {first}` in the rule of `x^2`")),
        );
    }
}

impl DegreeAnalysis<'_, '_> {
    /// Returns a part of the result that is not linear, and its degree.
    fn find_nonlinear(&mut self, id: TypedId, adjoint: bool) -> Option<(TypedId, TangentDegree)> {
        let node = &self.checker.nodes[id];
        if !self.is_real(&node.ty) {
            return None;
        }
        match &node.kind {
            TypedExpr::Tuple(items) | TypedExpr::Array(items) => {
                items.iter().find_map(|e| self.find_nonlinear(*e, adjoint))
            }
            TypedExpr::Record(fields) => fields.iter().find_map(|(_, e)| self.find_nonlinear(*e, adjoint)),
            TypedExpr::Checked(_, e) | TypedExpr::Opened(_, e) | TypedExpr::Neg(e) | TypedExpr::Guard(_, e) => {
                self.find_nonlinear(*e, adjoint)
            }
            TypedExpr::Arith(BinOp::Add | BinOp::Sub, a, b) if !adjoint => {
                self.find_nonlinear(*a, adjoint).or_else(|| self.find_nonlinear(*b, adjoint))
            }
            TypedExpr::If(cases, last) => {
                let cases = cases.iter().map(|(_, e)| *e).chain([*last]);
                cases.collect::<Vec<_>>().into_iter().find_map(|e| self.find_nonlinear(e, adjoint))
            }
            TypedExpr::Let(binds, body) => {
                self.bind_degrees(binds);
                self.find_nonlinear(*body, adjoint)
            }
            TypedExpr::Binder { kind: BinderKind::For | BinderKind::Sum, vars, body, .. } => {
                self.locals.extend(vars.iter().map(|v| (v.local, Constant)));
                self.find_nonlinear(*body, adjoint)
            }
            _ => {
                let degree = self.expr_degree(id);
                (degree == Constant || degree == Nonlinear && !adjoint).then_some((id, degree))
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

    fn bind_degrees(&mut self, binds: &[(TypedPattern, TypedId)]) {
        for (pat, value) in binds {
            let degree = self.expr_degree(*value);
            let whole = matches!(pat, TypedPattern::Bind(_));
            let part = if whole || degree == Constant { degree } else { Unknown };
            pat.for_each_local(&mut |l| self.locals.extend([(l, part)]));
        }
    }

    fn combined_degree(&mut self, items: &[TypedId]) -> TangentDegree {
        items.iter().fold(Zero, |all, e| all.plus(self.expr_degree(*e)))
    }

    fn expr_degree(&mut self, id: TypedId) -> TangentDegree {
        let checker = self.checker;
        match &checker.nodes[id].kind {
            TypedExpr::Real(x) if x.0 == 0.0 => Zero,
            // NaN marks a derivative that does not exist.
            TypedExpr::Real(x) if !x.0.is_finite() => Unknown,
            TypedExpr::Int(0) => Zero,
            TypedExpr::Real(_) | TypedExpr::Int(_) | TypedExpr::Bool(_) | TypedExpr::Size(_) => Constant,
            TypedExpr::Local(l) => self.locals.get(l).copied().unwrap_or(Unknown),
            TypedExpr::Neg(e) | TypedExpr::Convert(_, e) | TypedExpr::Checked(_, e) | TypedExpr::Opened(_, e) => {
                self.expr_degree(*e)
            }
            TypedExpr::Proj(e, _) | TypedExpr::Index(e, _) => match self.expr_degree(*e) {
                Nonlinear => Unknown,
                degree => degree,
            },
            TypedExpr::Arith(BinOp::Add | BinOp::Sub, a, b) => self.expr_degree(*a).plus(self.expr_degree(*b)),
            TypedExpr::Arith(BinOp::Mul, a, b) => self.expr_degree(*a).times(self.expr_degree(*b)),
            TypedExpr::Arith(BinOp::Div, a, b) => match (self.expr_degree(*a), self.expr_degree(*b)) {
                (a, Constant) => a,
                _ => Unknown,
            },
            TypedExpr::Pow(a, b) => match (self.expr_degree(*a), self.expr_degree(*b)) {
                (Constant, Constant | Zero) => Constant,
                (Linear, Constant) if matches!(checker.nodes[*b].kind, TypedExpr::Int(2..)) => Nonlinear,
                _ => Unknown,
            },
            TypedExpr::Scalar(_, args) => match self.combined_degree(args) {
                Constant => Constant,
                Linear => Nonlinear,
                _ => Unknown,
            },
            TypedExpr::Guard(p, e) => match self.expr_degree(*p) {
                Constant => self.expr_degree(*e),
                _ => Unknown,
            },
            TypedExpr::Compare(a, rest) => {
                let items: Vec<TypedId> = [*a].into_iter().chain(rest.iter().map(|(_, e)| *e)).collect();
                self.condition_degree(&items)
            }
            TypedExpr::And(items) | TypedExpr::Or(items) => self.condition_degree(items),
            TypedExpr::Not(e) => self.condition_degree(&[*e]),
            TypedExpr::Tuple(items) | TypedExpr::Array(items) => self.combined_degree(items),
            TypedExpr::Record(fields) => {
                let items: Vec<TypedId> = fields.iter().map(|(_, e)| *e).collect();
                self.combined_degree(&items)
            }
            TypedExpr::Let(binds, body) => {
                self.bind_degrees(binds);
                self.expr_degree(*body)
            }
            TypedExpr::If(cases, last) => {
                let conditions: Vec<TypedId> = cases.iter().map(|(p, _)| *p).collect();
                if self.condition_degree(&conditions) != Constant {
                    return Unknown;
                }
                let values = cases.iter().map(|(_, e)| *e).chain([*last]);
                // The value may be any of these.
                let degrees: Vec<TangentDegree> = values.map(|e| self.expr_degree(e)).collect();
                let first = degrees.first().copied().unwrap_or(Unknown);
                if degrees.iter().all(|d| *d == first) { first } else { Unknown }
            }
            TypedExpr::Binder { kind: BinderKind::For | BinderKind::Sum, vars, filter: None, body } => {
                self.locals.extend(vars.iter().map(|v| (v.local, Constant)));
                self.expr_degree(*body)
            }
            _ => Unknown,
        }
    }

    /// Returns the degree of a truth value: constant if no tangent decides it, else undecided.
    fn condition_degree(&mut self, items: &[TypedId]) -> TangentDegree {
        let constant = items.iter().all(|e| matches!(self.expr_degree(*e), Constant | Zero));
        if constant { Constant } else { Unknown }
    }
}
