//! **Printing of core**, close to Iverson. `for` and `sum` have one index each, brackets contain
//! their predicates, and `let`s are printed line by line. `max i < n, j < m if p: e` and the other
//! reductions have all indices at once; `argmax i < n if p at i: e` also has the place that it
//! returns. `check(p, E0500 "…") e` fails if `p` is false. `lang_reader` reads the text again. A
//! type that does not follow from the parts of an expression is printed after it,
//! `f[n](x): [n]f64`; a call that returns `f64` omits it.
//!
//! `loop k < n from s: f#0[n, k](a)` makes `n` calls of `f#0` with `a` and the carry, which starts
//! as `s`. Its three components are the final carry, the array of the other results of all calls,
//! and the number of calls. `loop k from s while .0: …` runs while the first component of the carry
//! is true. `update(x, [i + 1] = v[i] for i < n if p)` is `x` with those elements replaced if `p`
//! holds; `+=` adds instead.
//!
//! Arithmetic on indices alone is an index expression. The same arithmetic as separate operations
//! on data is printed with its type, `(i + j: i64)`.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use super::callee_text::{Qualified, QualifiedCallee};
use super::canonical;
use super::core::{
    CheckpointSpacing, Constant, CoreExpr, CoreFunction, CoreLoop, CoreTripCount, CoreType, CoreUpdate, ExprKind,
    ExprRef, ScalarOp, TupleLabels, Vars,
};
use super::flat::{FlatFunction, InputSource};
use super::reduce::Reducer;
use lang_base::ensure_sufficient_stack;
use lang_base::{GlobalName, Name};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// Operator precedence, which determines parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum CorePrecedence {
    /// A whole expression.
    Lowest,
    /// A term of a sum.
    Term,
    /// A factor.
    Factor,
    /// An indexed or projected expression.
    Postfix,
}

/// The number of characters after which a line is broken.
const WIDTH: usize = 96;

struct CoreWriter<'f> {
    vars: &'f Vars,
    /// The module of the function.
    current_module: &'f str,
    /// Integer variables that print as plain index expressions.
    indices: &'f BTreeSet<LocalId>,
    out: String,
    indent: usize,
}

impl fmt::Display for CoreFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let canonical = canonical::canonicalize_core(self);
        let form = &canonical.form;
        let own = self.callee.def.module.as_str();
        let data = |l: &LocalId, ty: &CoreType| is_i64(ty) && !canonical.indices.contains(l);
        let params = form.params.iter().map(|(x, ty)| {
            let mark = if form.bounded_params.contains(x) {
                "bounded "
            } else if data(x, ty) {
                "data "
            } else {
                ""
            };
            format!("{mark}{}: {}", form.vars.name(*x), QualifiedCoreType(ty, own))
        });
        let params: Vec<String> = params.chain(canonical.globals.iter().map(|g| global_declaration(g, own))).collect();
        let sizes: Vec<Poly> = form.sizes.iter().map(|l| Poly::atom(form.vars.atom(*l))).collect();
        let called = QualifiedCallee { callee: &self.callee, current_module: own, sizes: &sizes };
        write!(f, "core {called}({}) -> {} =", params.join(", "), QualifiedCoreType(&form.body.ty, own))?;
        let mut w = CoreWriter {
            vars: &form.vars,
            current_module: own,
            indices: &canonical.indices,
            out: String::new(),
            indent: 1,
        };
        w.block(&form.body);
        writeln!(f, "{}", w.out)
    }
}

/// `let eps: f64`, `let eps = linalg.eps: f64`
pub(super) fn global_declaration((alias, name, ty): &(Name, GlobalName, CoreType), own: &str) -> String {
    let qualified = Qualified(name, own).to_string();
    let ty = QualifiedCoreType(ty, own);
    if qualified == alias.as_str() { format!("let {alias}: {ty}") } else { format!("let {alias} = {qualified}: {ty}") }
}

/// Prints each binding on a line, then each part of the result.
impl fmt::Display for FlatFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs = self.inputs.iter().map(|input| {
            let global = if matches!(input.source, InputSource::Global(_)) { "let " } else { "" };
            format!("{global}{}: {}", self.vars.name(input.local), input.leaf.ty())
        });
        let inputs: Vec<String> = inputs.collect();
        let own = self.callee.def.module.as_str();
        let sizes: Vec<Poly> = self.sizes.iter().map(|l| Poly::atom(self.vars.atom(*l))).collect();
        let called = QualifiedCallee { callee: &self.callee, current_module: own, sizes: &sizes };
        writeln!(f, "flat {called}({}) -> {} =", inputs.join(", "), QualifiedCoreType(&self.result, own))?;
        let indices = BTreeSet::new();
        let mut w =
            CoreWriter { vars: &self.vars, current_module: own, indices: &indices, out: String::new(), indent: 1 };
        for (x, e) in &self.bindings {
            w.out.push_str("  let ");
            w.out.push_str(&self.vars.name(*x));
            w.bound_value(e);
            w.out.push('\n');
        }
        for (_, e) in &self.outputs {
            w.out.push_str("  out");
            w.inline_or_block(e);
            w.out.push('\n');
        }
        f.write_str(&w.out)
    }
}

impl fmt::Display for CoreType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        QualifiedCoreType(self, "").fmt(f)
    }
}

/// A type, in a function of this module.
pub(super) struct QualifiedCoreType<'a>(pub(super) &'a CoreType, pub(super) &'a str);

impl fmt::Display for QualifiedCoreType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |items: &[CoreType]| -> String {
            items.iter().map(|t| QualifiedCoreType(t, self.1).to_string()).collect::<Vec<_>>().join(", ")
        };
        match self.0 {
            CoreType::Scalar(s) => f.write_str(s.name()),
            CoreType::Tensor(..) => {
                let (dims, t) = self.0.split_array();
                let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
                write!(f, "[{}]{}", dims.join(", "), QualifiedCoreType(t, self.1))
            }
            CoreType::Tuple(items, TupleLabels::Positions) => {
                write!(f, "({}{})", list(items), if items.len() == 1 { "," } else { "" })
            }
            CoreType::Tuple(items, TupleLabels::Fields(names)) => {
                let fields =
                    names.iter().zip(items.iter()).map(|(name, t)| format!("{name}: {}", QualifiedCoreType(t, self.1)));
                write!(f, "{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
            CoreType::Tuple(items, TupleLabels::Sum(sum)) => {
                let args = |t: &CoreType| match t {
                    CoreType::Tuple(args, _) if !args.is_empty() => format!("({})", list(args)),
                    _ => String::new(),
                };
                let of = sum.constructors.iter().zip(items.iter().skip(1));
                let of: Vec<String> = of.map(|(name, t)| format!("{name}{}", args(t))).collect();
                write!(f, "{}{{{}}}", Qualified(&sum.name, self.1), of.join(", "))
            }
            CoreType::Rel(dims) => {
                let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
                write!(f, "rel[{}]", dims.join(", "))
            }
        }
    }
}

/// Returns the shortest digits that parse as the same number of this scalar type.
pub(super) fn constant_text(c: Constant, of: Scalar) -> String {
    match c {
        Constant::Real(x) if x.is_nan() => "nan".to_owned(),
        Constant::Real(x) if x.is_infinite() => if x > 0.0 { "inf" } else { "-inf" }.to_owned(),
        #[expect(clippy::cast_possible_truncation, reason = "a constant of `f32` is held exactly")]
        Constant::Real(x) if of == Scalar::F32 => format!("{:?}", x as f32),
        Constant::Real(x) => format!("{x:?}"),
        Constant::Int(i) => i.to_string(),
        Constant::Bool(b) => b.to_string(),
    }
}

fn is_i64(ty: &CoreType) -> bool {
    *ty == CoreType::Scalar(Scalar::I64)
}

/// Whether the expression reads back as an index expression, or as part of one.
fn is_index(e: &CoreExpr) -> bool {
    match &e.kind {
        ExprKind::Index(_) => true,
        ExprKind::Var(_) | ExprKind::Global(_) => is_i64(&e.ty),
        ExprKind::Access(inner, _) => {
            let mut base = inner;
            while let ExprKind::Access(inner, _) = &base.kind {
                base = inner;
            }
            is_i64(&e.ty) && matches!(base.kind, ExprKind::Var(_))
        }
        _ => false,
    }
}

/// Whether the text of an operation on integers would read back as an index expression.
fn reads_back_as_index(e: &CoreExpr) -> bool {
    let arithmetic = matches!(
        &e.kind,
        ExprKind::Add(_)
            | ExprKind::Mul(..)
            | ExprKind::Neg(_)
            | ExprKind::Apply(
                ScalarOp::PowInt
                    | ScalarOp::Binary(BinOp::FloorDiv | BinOp::Mod)
                    | ScalarOp::Scalar(ScalarFn::Min | ScalarFn::Max),
                _
            )
    );
    let mut all = arithmetic && is_i64(&e.ty);
    e.for_each_child(&mut |e| all = all && is_index(e));
    all
}

impl ScalarOp {
    /// Returns the printed name of the operation.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar(f) => f.name(),
            Self::Binary(op) => op.symbol(),
            Self::Pow | Self::PowInt => "^",
            Self::Not => "!",
            Self::Convert(to) => to.name(),
            Self::Stop => "stop",
        }
    }
}

/// Returns the type to print with an expression, if it does not follow from the parts.
fn required_ascription(e: &CoreExpr) -> Option<&CoreType> {
    let is_required = match &e.kind {
        ExprKind::Call(..) | ExprKind::Loop(..) => e.ty != CoreType::Scalar(Scalar::F64),
        ExprKind::Tuple(_) => matches!(e.ty, CoreType::Tuple(_, TupleLabels::Sum(_))),
        ExprKind::Constant(Constant::Int(_)) => true,
        ExprKind::Constant(Constant::Real(x)) => !x.is_finite() && e.ty == CoreType::Scalar(Scalar::F32),
        _ => reads_back_as_index(e),
    };
    is_required.then_some(&e.ty)
}

fn precedence_of(e: &CoreExpr) -> CorePrecedence {
    match &e.kind {
        ExprKind::Add(items) if items.len() > 1 => CorePrecedence::Lowest,
        ExprKind::Gen(..)
        | ExprKind::Sum(..)
        | ExprKind::Argsort(..)
        | ExprKind::Reduce(..)
        | ExprKind::Let(..)
        | ExprKind::Check(..) => CorePrecedence::Lowest,
        ExprKind::Apply(ScalarOp::Binary(_) | ScalarOp::Pow | ScalarOp::PowInt | ScalarOp::Not, _) => {
            CorePrecedence::Lowest
        }
        ExprKind::Index(p) => match (p.terms(), p.as_atom()) {
            (_, Some(Atom::Div(..) | Atom::Mod(..))) => CorePrecedence::Lowest,
            (_, Some(_)) => CorePrecedence::Postfix,
            ([] | [_], None) if p.as_constant().is_some_and(|c| c >= 0) => CorePrecedence::Postfix,
            ([_], None) => CorePrecedence::Term,
            _ => CorePrecedence::Lowest,
        },
        ExprKind::Mul(..) | ExprKind::Guard(..) | ExprKind::Neg(_) => CorePrecedence::Term,
        ExprKind::Constant(Constant::Real(x)) if x.is_sign_negative() && !x.is_nan() => CorePrecedence::Term,
        _ => CorePrecedence::Postfix,
    }
}

/// Whether the expression is a number, which would absorb a sign before it.
fn is_numeric_literal(e: &CoreExpr) -> bool {
    match &e.kind {
        ExprKind::Constant(Constant::Real(_)) => true,
        ExprKind::Index(p) => p.as_constant().is_some(),
        _ => false,
    }
}

/// Prints ` if p at i * m + j`: the filter of the terms, and the place that the reduction returns.
pub(super) fn filter_text(terms: &Pred, reducer: Reducer, place: &Poly) -> String {
    let terms = if terms.is_true() { String::new() } else { format!(" if {terms}") };
    if reducer.is_arg_reduction() { format!("{terms} at {place}") } else { terms }
}

/// Returns the number of operands of a loop of this type that are its carry: one, or the number of
/// its parts in forms without tuples.
fn carry_operand_count(args: &[ExprRef], ty: &CoreType) -> usize {
    let whole = matches!(args.last().map(|e| &e.ty), Some(CoreType::Tuple(..)));
    let parts = |ty: &CoreType| ty.leaves().iter().filter(|leaf| leaf.path.first() == Some(&0)).count();
    if whole { 1 } else { parts(ty) }
}

impl CoreWriter<'_> {
    fn new_line(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    /// Prints an expression on lines of its own.
    fn block(&mut self, e: &ExprRef) {
        if let ExprKind::Let(bindings, body) = &e.kind {
            for (x, value) in bindings {
                self.new_line();
                self.binding(*x, value);
            }
            self.new_line();
            self.out.push_str("in");
            self.inline_or_block(body);
            return;
        }
        self.new_line();
        self.expr(e, CorePrecedence::Lowest);
    }

    fn binding(&mut self, x: LocalId, value: &ExprRef) {
        let mark = if is_i64(&value.ty) && self.indices.contains(&x) { "index " } else { "" };
        let _ = write!(self.out, "let {mark}{}", self.vars.name(x));
        self.bound_value(value);
    }

    /// Prints the value of a variable. The type of a call is printed with the variable.
    fn bound_value(&mut self, value: &ExprRef) {
        let ascription = required_ascription(value);
        if let (ExprKind::Call(..) | ExprKind::Loop(..), Some(ty)) = (&value.kind, ascription) {
            let _ = write!(self.out, ": {ty} =");
            let mut w = CoreWriter { out: String::new(), ..*self };
            w.unparenthesized(value);
            let short = w.out.chars().count() <= WIDTH && !w.out.contains('\n');
            if short {
                self.out.push(' ');
            } else {
                self.indent += 1;
                self.new_line();
                self.indent -= 1;
            }
            self.out.push_str(&w.out);
            return;
        }
        self.out.push_str(" =");
        self.inline_or_block(value);
    }

    /// Prints an expression after `=` or `in`, on the same line if it is short.
    fn inline_or_block(&mut self, e: &ExprRef) {
        let mut w = CoreWriter { out: String::new(), indent: self.indent + 1, ..*self };
        w.expr(e, CorePrecedence::Lowest);
        if !w.out.contains('\n') && w.out.chars().count() <= WIDTH && !matches!(e.kind, ExprKind::Let(..)) {
            self.out.push(' ');
            self.out.push_str(&w.out);
        } else {
            self.indent += 1;
            self.block(e);
            self.indent -= 1;
        }
    }

    fn expr(&mut self, e: &ExprRef, level: CorePrecedence) {
        let ascription = required_ascription(e);
        let own = if ascription.is_some() { CorePrecedence::Lowest } else { precedence_of(e) };
        let parens = own < level;
        if parens {
            self.out.push('(');
        }
        ensure_sufficient_stack(|| self.unparenthesized(e));
        if let Some(ty) = ascription {
            let _ = write!(self.out, ": {ty}");
        }
        if parens {
            self.out.push(')');
        }
    }

    fn list(&mut self, items: &[ExprRef]) {
        for (k, e) in items.iter().enumerate() {
            self.out.push_str(if k > 0 { ", " } else { "" });
            self.expr(e, CorePrecedence::Lowest);
        }
    }

    fn unparenthesized(&mut self, e: &CoreExpr) {
        match &e.kind {
            ExprKind::Var(x) => {
                self.out.push_str(&self.vars.name(*x));
                if is_i64(&e.ty) && self.indices.contains(x) {
                    self.out.push_str("[]");
                }
            }
            ExprKind::Global(name) => drop(write!(self.out, "{name}")),
            ExprKind::Constant(c) => {
                let of = e.ty.scalar().unwrap_or(Scalar::F64);
                self.out.push_str(&constant_text(*c, of));
                if of == Scalar::F32 && matches!(c, Constant::Real(x) if x.is_finite()) {
                    self.out.push_str("f32");
                }
            }
            ExprKind::Index(p) => drop(write!(self.out, "{p}")),
            ExprKind::Add(items) if items.len() < 2 => {
                self.out.push_str("sum(");
                self.list(items);
                self.out.push(')');
            }
            ExprKind::Add(items) => {
                for (k, item) in items.iter().enumerate() {
                    match &item.kind {
                        ExprKind::Neg(inner) if k > 0 => {
                            self.out.push_str(" - ");
                            self.expr(inner, CorePrecedence::Factor);
                        }
                        _ => {
                            self.out.push_str(if k > 0 { " + " } else { "" });
                            self.expr(item, CorePrecedence::Term);
                        }
                    }
                }
            }
            ExprKind::Mul(a, b) => {
                self.expr(a, CorePrecedence::Factor);
                self.out.push_str(" * ");
                self.expr(b, CorePrecedence::Factor);
            }
            ExprKind::Neg(a) => {
                self.out.push('-');
                if is_numeric_literal(a) {
                    self.out.push('(');
                    self.expr(a, CorePrecedence::Lowest);
                    self.out.push(')');
                } else {
                    self.expr(a, CorePrecedence::Factor);
                }
            }
            ExprKind::Apply(f @ (ScalarOp::Binary(_) | ScalarOp::Pow | ScalarOp::PowInt), args) => {
                for (k, e) in args.iter().enumerate() {
                    if k > 0 {
                        let _ = write!(self.out, " {} ", f.name());
                    }
                    self.expr(e, CorePrecedence::Factor);
                }
            }
            ExprKind::Apply(ScalarOp::Not, args) => {
                self.out.push('!');
                args.iter().for_each(|e| self.expr(e, CorePrecedence::Postfix));
            }
            ExprKind::Apply(f, args) => {
                let _ = write!(self.out, "{}(", f.name());
                self.list(args);
                self.out.push(')');
            }
            ExprKind::Tuple(items) => match &e.ty {
                CoreType::Tuple(_, TupleLabels::Fields(names)) => {
                    self.out.push('{');
                    for (k, (item, name)) in items.iter().zip(names.iter()).enumerate() {
                        let _ = write!(self.out, "{}{name}: ", if k > 0 { ", " } else { "" });
                        self.expr(item, CorePrecedence::Lowest);
                    }
                    self.out.push('}');
                }
                _ => {
                    self.out.push('(');
                    self.list(items);
                    self.out.push_str(if items.len() == 1 { ",)" } else { ")" });
                }
            },
            ExprKind::Proj(a, k) => {
                self.expr(a, CorePrecedence::Postfix);
                match &a.ty {
                    CoreType::Tuple(_, TupleLabels::Fields(names)) => {
                        let _ = write!(self.out, ".{}", names.get(*k as usize).map_or("", |n| n.as_str()));
                    }
                    _ => drop(write!(self.out, ".{k}")),
                }
            }
            ExprKind::Gen(i, body) | ExprKind::Sum(i, body) | ExprKind::Argsort(i, body) => {
                let word = match e.kind {
                    ExprKind::Gen(..) => "for",
                    ExprKind::Sum(..) => "sum",
                    _ => "argsort",
                };
                let _ = write!(self.out, "{word} {} < {}: ", i.name, i.extent);
                // The body of a binder extends as far as possible.
                self.expr(body, CorePrecedence::Lowest);
            }
            ExprKind::Reduce(r) => {
                let over: Vec<String> = r.indices.iter().map(|i| format!("{} < {}", i.name, i.extent)).collect();
                let _ = write!(self.out, "{} {}", r.reducer.keyword(), over.join(", "));
                self.out.push_str(&filter_text(&r.filter, r.reducer, &r.arg_value));
                self.out.push_str(": ");
                self.expr(&r.body, CorePrecedence::Lowest);
            }
            ExprKind::Access(..) => self.access(e),
            ExprKind::Guard(p, body) => {
                let _ = write!(self.out, "[{p}] * ");
                self.expr(body, CorePrecedence::Factor);
            }
            ExprKind::Let(bindings, body) => {
                self.indent += 1;
                for (x, value) in bindings {
                    self.new_line();
                    self.binding(*x, value);
                }
                self.new_line();
                self.out.push_str("in");
                self.inline_or_block(body);
                self.indent -= 1;
            }
            ExprKind::Call(callee, sizes, args) => {
                let _ = write!(self.out, "{}(", QualifiedCallee { callee, current_module: self.current_module, sizes });
                self.list(args);
                self.out.push(')');
            }
            ExprKind::Loop(repeat, args) => self.loop_expr(repeat, args, &e.ty),
            ExprKind::Update(update, base, value) => self.update(update, base, value),
            ExprKind::Check(p, what, body) => {
                let _ = write!(self.out, "check({p}, {} {:?}) ", what.code, what.message.as_str());
                self.expr(body, CorePrecedence::Factor);
            }
        }
    }

    fn loop_expr(&mut self, repeat: &CoreLoop, args: &[ExprRef], ty: &CoreType) {
        let CoreLoop { body, sizes, counter, trip_count: trips, checkpoint } = repeat;
        let (captured, carry) = args.split_at(args.len().saturating_sub(carry_operand_count(args, ty)));
        let _ = match trips {
            CoreTripCount::Fixed(n) => write!(self.out, "loop {} < {n} ", counter.name),
            CoreTripCount::While => write!(self.out, "loop {} ", counter.name),
        };
        match checkpoint {
            Some(CheckpointSpacing::Fixed(k)) => drop(write!(self.out, "checkpoint {k} ")),
            Some(CheckpointSpacing::SquareRoot) => self.out.push_str("checkpoint "),
            None => {}
        }
        self.out.push_str("from ");
        if let [carry] = carry {
            self.expr(carry, CorePrecedence::Term);
        } else {
            self.out.push('(');
            self.list(carry);
            self.out.push(')');
        }
        self.out.push_str(if trips.fixed().is_some() { ": " } else { " while .0: " });
        let _ = write!(self.out, "{}(", QualifiedCallee { callee: body, current_module: self.current_module, sizes });
        self.list(captured);
        self.out.push(')');
    }

    fn update(&mut self, update: &CoreUpdate, base: &ExprRef, value: &ExprRef) {
        let CoreUpdate { indices: over, at, pred, accumulate: add } = update;
        self.out.push_str("update(");
        self.expr(base, CorePrecedence::Lowest);
        let _ = write!(self.out, ", [{}]", at.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
        self.out.push_str(if *add { " += " } else { " = " });
        if over.is_empty() {
            self.expr(value, CorePrecedence::Lowest);
        } else {
            self.expr(value, CorePrecedence::Postfix);
            let own: Vec<&str> = over.iter().map(|i| i.name.as_str()).collect();
            let over: Vec<String> = over.iter().map(|i| format!("{} < {}", i.name, i.extent)).collect();
            let _ = write!(self.out, "[{}] for {}", own.join(", "), over.join(", "));
        }
        if !pred.is_true() {
            let _ = write!(self.out, " if {pred}");
        }
        self.out.push(')');
    }

    /// `x[i, j]`
    fn access(&mut self, e: &CoreExpr) {
        let mut at = Vec::new();
        let mut base = e;
        while let ExprKind::Access(inner, p) = &base.kind {
            at.push(p.to_string());
            base = inner;
        }
        at.reverse();
        let shared = std::sync::Arc::new(base.clone());
        self.expr(&shared, CorePrecedence::Postfix);
        let _ = write!(self.out, "[{}]", at.join(", "));
    }
}
