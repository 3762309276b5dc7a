//! **Printing of core**, close to Iverson. `for` and `sum` have one index each, brackets contain
//! their predicates, and `let`s are printed line by line. `max i < n, j < m if p: e` and the other
//! reductions have all indices at once; `argmax i < n if p at i: e` also has the place that it
//! returns. `check(p, E0500 "…") e` fails if `p` is false. [`lang_reader`] reads the text again. A
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

use super::callee_text::{Called, Qualified};
use super::canonical;
use super::core::{
    Constant, CoreType, E, Expr, Function, Kind, Labels, Operation, Repeat, Spacing, Trips, Update, Vars,
};
use super::flat::{Flat, Source};
use super::reduce::Reducer;
use lang_base::guarded;
use lang_base::{GlobalName, Name};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// Operator precedence, which determines parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    /// A whole expression.
    Open,
    /// A term of a sum.
    Term,
    /// A factor.
    Factor,
    /// An indexed or projected expression.
    Base,
}

/// The number of characters after which a line is broken.
const WIDTH: usize = 96;

struct Writer<'f> {
    vars: &'f Vars,
    /// The module of the function.
    own: &'f str,
    /// Integer variables that print as plain index expressions.
    indices: &'f BTreeSet<LocalId>,
    out: String,
    indent: usize,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let canonical = canonical::core(self);
        let form = &canonical.form;
        let own = self.callee.def.module.as_str();
        let data = |l: &LocalId, ty: &CoreType| is_i64(ty) && !canonical.indices.contains(l);
        let params = form.params.iter().map(|(x, ty)| {
            let mark = if form.bounded.contains(x) {
                "bounded "
            } else if data(x, ty) {
                "data "
            } else {
                ""
            };
            format!("{mark}{}: {}", form.vars.name(*x), Typed(ty, own))
        });
        let params: Vec<String> = params.chain(canonical.globals.iter().map(|g| declared(g, own))).collect();
        let sizes: Vec<Poly> = form.sizes.iter().map(|l| Poly::atom(form.vars.atom(*l))).collect();
        let called = Called { callee: &self.callee, own, sizes: &sizes };
        write!(f, "core {called}({}) -> {} =", params.join(", "), Typed(&form.body.ty, own))?;
        let mut w = Writer { vars: &form.vars, own, indices: &canonical.indices, out: String::new(), indent: 1 };
        w.block(&form.body);
        writeln!(f, "{}", w.out)
    }
}

/// `let eps: f64`, `let eps = linalg.eps: f64`
pub(super) fn declared((alias, name, ty): &(Name, GlobalName, CoreType), own: &str) -> String {
    let qualified = Qualified(name, own).to_string();
    let ty = Typed(ty, own);
    if qualified == alias.as_str() { format!("let {alias}: {ty}") } else { format!("let {alias} = {qualified}: {ty}") }
}

/// Prints each binding on a line, then each part of the result.
impl fmt::Display for Flat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs = self.inputs.iter().map(|input| {
            let global = if matches!(input.source, Source::Global(_)) { "let " } else { "" };
            format!("{global}{}: {}", self.vars.name(input.local), input.leaf.ty())
        });
        let inputs: Vec<String> = inputs.collect();
        let own = self.callee.def.module.as_str();
        let sizes: Vec<Poly> = self.sizes.iter().map(|l| Poly::atom(self.vars.atom(*l))).collect();
        let called = Called { callee: &self.callee, own, sizes: &sizes };
        writeln!(f, "flat {called}({}) -> {} =", inputs.join(", "), Typed(&self.result, own))?;
        let indices = BTreeSet::new();
        let mut w = Writer { vars: &self.vars, own, indices: &indices, out: String::new(), indent: 1 };
        for (x, e) in &self.bindings {
            w.out.push_str("  let ");
            w.out.push_str(&self.vars.name(*x));
            w.bound(e);
            w.out.push('\n');
        }
        for (_, e) in &self.outputs {
            w.out.push_str("  out");
            w.value(e);
            w.out.push('\n');
        }
        f.write_str(&w.out)
    }
}

impl fmt::Display for CoreType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Typed(self, "").fmt(f)
    }
}

/// A type, in a function of this module.
pub(super) struct Typed<'a>(pub(super) &'a CoreType, pub(super) &'a str);

impl fmt::Display for Typed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |items: &[CoreType]| -> String {
            items.iter().map(|t| Typed(t, self.1).to_string()).collect::<Vec<_>>().join(", ")
        };
        match self.0 {
            CoreType::Scalar(s) => f.write_str(s.name()),
            CoreType::Tensor(..) => {
                let (dims, t) = self.0.peel();
                let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
                write!(f, "[{}]{}", dims.join(", "), Typed(t, self.1))
            }
            CoreType::Tuple(items, Labels::Places) => {
                write!(f, "({}{})", list(items), if items.len() == 1 { "," } else { "" })
            }
            CoreType::Tuple(items, Labels::Fields(names)) => {
                let fields = names.iter().zip(items.iter()).map(|(name, t)| format!("{name}: {}", Typed(t, self.1)));
                write!(f, "{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
            CoreType::Tuple(items, Labels::Sum(sum)) => {
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
pub(super) fn digits(c: Constant, of: Scalar) -> String {
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
fn is_index(e: &Expr) -> bool {
    match &e.kind {
        Kind::Index(_) => true,
        Kind::Var(_) | Kind::Global(_) => is_i64(&e.ty),
        Kind::Access(inner, _) => {
            let mut base = inner;
            while let Kind::Access(inner, _) = &base.kind {
                base = inner;
            }
            is_i64(&e.ty) && matches!(base.kind, Kind::Var(_))
        }
        _ => false,
    }
}

/// Whether the text of an operation on integers would read back as an index expression.
fn is_misread(e: &Expr) -> bool {
    let arithmetic = matches!(
        &e.kind,
        Kind::Add(_)
            | Kind::Mul(..)
            | Kind::Neg(_)
            | Kind::Apply(
                Operation::PowInt
                    | Operation::Binary(BinOp::FloorDiv | BinOp::Mod)
                    | Operation::Scalar(ScalarFn::Min | ScalarFn::Max),
                _
            )
    );
    let mut all = arithmetic && is_i64(&e.ty);
    e.for_each_child(&mut |e| all = all && is_index(e));
    all
}

impl Operation {
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
fn ascribed(e: &Expr) -> Option<&CoreType> {
    let told = match &e.kind {
        Kind::Call(..) | Kind::Loop(..) => e.ty != CoreType::Scalar(Scalar::F64),
        Kind::Tuple(_) => matches!(e.ty, CoreType::Tuple(_, Labels::Sum(_))),
        Kind::Constant(Constant::Int(_)) => true,
        Kind::Constant(Constant::Real(x)) => !x.is_finite() && e.ty == CoreType::Scalar(Scalar::F32),
        _ => is_misread(e),
    };
    told.then_some(&e.ty)
}

fn binds(e: &Expr) -> Level {
    match &e.kind {
        Kind::Add(items) if items.len() > 1 => Level::Open,
        Kind::Gen(..) | Kind::Sum(..) | Kind::Order(..) | Kind::Reduce(..) | Kind::Let(..) | Kind::Check(..) => {
            Level::Open
        }
        Kind::Apply(Operation::Binary(_) | Operation::Pow | Operation::PowInt | Operation::Not, _) => Level::Open,
        Kind::Index(p) => match (p.terms(), p.as_atom()) {
            (_, Some(Atom::Div(..) | Atom::Mod(..))) => Level::Open,
            (_, Some(_)) => Level::Base,
            ([] | [_], None) if p.as_constant().is_some_and(|c| c >= 0) => Level::Base,
            ([_], None) => Level::Term,
            _ => Level::Open,
        },
        Kind::Mul(..) | Kind::Guard(..) | Kind::Neg(_) => Level::Term,
        Kind::Constant(Constant::Real(x)) if x.is_sign_negative() && !x.is_nan() => Level::Term,
        _ => Level::Base,
    }
}

/// Whether the expression is a number, which would absorb a sign before it.
fn is_number(e: &Expr) -> bool {
    match &e.kind {
        Kind::Constant(Constant::Real(_)) => true,
        Kind::Index(p) => p.as_constant().is_some(),
        _ => false,
    }
}

/// Prints ` if p at i * m + j`: the filter of the terms, and the place that the reduction returns.
pub(super) fn filter(terms: &Pred, reducer: Reducer, place: &Poly) -> String {
    let terms = if terms.is_true() { String::new() } else { format!(" if {terms}") };
    if reducer.gives_place() { format!("{terms} at {place}") } else { terms }
}

/// Returns the number of operands of a loop of this type that are its carry: one, or the number of
/// its parts in forms without tuples.
fn carried(args: &[E], ty: &CoreType) -> usize {
    let whole = matches!(args.last().map(|e| &e.ty), Some(CoreType::Tuple(..)));
    let parts = |ty: &CoreType| ty.leaves().iter().filter(|leaf| leaf.path.first() == Some(&0)).count();
    if whole { 1 } else { parts(ty) }
}

impl Writer<'_> {
    fn line(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    /// Prints an expression on lines of its own.
    fn block(&mut self, e: &E) {
        if let Kind::Let(bindings, body) = &e.kind {
            for (x, value) in bindings {
                self.line();
                self.binding(*x, value);
            }
            self.line();
            self.out.push_str("in");
            self.value(body);
            return;
        }
        self.line();
        self.expr(e, Level::Open);
    }

    fn binding(&mut self, x: LocalId, value: &E) {
        let mark = if is_i64(&value.ty) && self.indices.contains(&x) { "index " } else { "" };
        let _ = write!(self.out, "let {mark}{}", self.vars.name(x));
        self.bound(value);
    }

    /// Prints the value of a variable. The type of a call is printed with the variable.
    fn bound(&mut self, value: &E) {
        let told = ascribed(value);
        if let (Kind::Call(..) | Kind::Loop(..), Some(ty)) = (&value.kind, told) {
            let _ = write!(self.out, ": {ty} =");
            let mut w = Writer { out: String::new(), ..*self };
            w.bare(value);
            let short = w.out.chars().count() <= WIDTH && !w.out.contains('\n');
            if short {
                self.out.push(' ');
            } else {
                self.indent += 1;
                self.line();
                self.indent -= 1;
            }
            self.out.push_str(&w.out);
            return;
        }
        self.out.push_str(" =");
        self.value(value);
    }

    /// Prints an expression after `=` or `in`, on the same line if it is short.
    fn value(&mut self, e: &E) {
        let mut w = Writer { out: String::new(), indent: self.indent + 1, ..*self };
        w.expr(e, Level::Open);
        if !w.out.contains('\n') && w.out.chars().count() <= WIDTH && !matches!(e.kind, Kind::Let(..)) {
            self.out.push(' ');
            self.out.push_str(&w.out);
        } else {
            self.indent += 1;
            self.block(e);
            self.indent -= 1;
        }
    }

    fn expr(&mut self, e: &E, level: Level) {
        let told = ascribed(e);
        let own = if told.is_some() { Level::Open } else { binds(e) };
        let parens = own < level;
        if parens {
            self.out.push('(');
        }
        guarded(|| self.bare(e));
        if let Some(ty) = told {
            let _ = write!(self.out, ": {ty}");
        }
        if parens {
            self.out.push(')');
        }
    }

    fn list(&mut self, items: &[E]) {
        for (k, e) in items.iter().enumerate() {
            self.out.push_str(if k > 0 { ", " } else { "" });
            self.expr(e, Level::Open);
        }
    }

    fn bare(&mut self, e: &Expr) {
        match &e.kind {
            Kind::Var(x) => {
                self.out.push_str(&self.vars.name(*x));
                if is_i64(&e.ty) && self.indices.contains(x) {
                    self.out.push_str("[]");
                }
            }
            Kind::Global(name) => drop(write!(self.out, "{name}")),
            Kind::Constant(c) => {
                let of = e.ty.scalar().unwrap_or(Scalar::F64);
                self.out.push_str(&digits(*c, of));
                if of == Scalar::F32 && matches!(c, Constant::Real(x) if x.is_finite()) {
                    self.out.push_str("f32");
                }
            }
            Kind::Index(p) => drop(write!(self.out, "{p}")),
            Kind::Add(items) if items.len() < 2 => {
                self.out.push_str("sum(");
                self.list(items);
                self.out.push(')');
            }
            Kind::Add(items) => {
                for (k, item) in items.iter().enumerate() {
                    match &item.kind {
                        Kind::Neg(inner) if k > 0 => {
                            self.out.push_str(" - ");
                            self.expr(inner, Level::Factor);
                        }
                        _ => {
                            self.out.push_str(if k > 0 { " + " } else { "" });
                            self.expr(item, Level::Term);
                        }
                    }
                }
            }
            Kind::Mul(a, b) => {
                self.expr(a, Level::Factor);
                self.out.push_str(" * ");
                self.expr(b, Level::Factor);
            }
            Kind::Neg(a) => {
                self.out.push('-');
                if is_number(a) {
                    self.out.push('(');
                    self.expr(a, Level::Open);
                    self.out.push(')');
                } else {
                    self.expr(a, Level::Factor);
                }
            }
            Kind::Apply(f @ (Operation::Binary(_) | Operation::Pow | Operation::PowInt), args) => {
                for (k, e) in args.iter().enumerate() {
                    if k > 0 {
                        let _ = write!(self.out, " {} ", f.name());
                    }
                    self.expr(e, Level::Factor);
                }
            }
            Kind::Apply(Operation::Not, args) => {
                self.out.push('!');
                args.iter().for_each(|e| self.expr(e, Level::Base));
            }
            Kind::Apply(f, args) => {
                let _ = write!(self.out, "{}(", f.name());
                self.list(args);
                self.out.push(')');
            }
            Kind::Tuple(items) => match &e.ty {
                CoreType::Tuple(_, Labels::Fields(names)) => {
                    self.out.push('{');
                    for (k, (item, name)) in items.iter().zip(names.iter()).enumerate() {
                        let _ = write!(self.out, "{}{name}: ", if k > 0 { ", " } else { "" });
                        self.expr(item, Level::Open);
                    }
                    self.out.push('}');
                }
                _ => {
                    self.out.push('(');
                    self.list(items);
                    self.out.push_str(if items.len() == 1 { ",)" } else { ")" });
                }
            },
            Kind::Proj(a, k) => {
                self.expr(a, Level::Base);
                match &a.ty {
                    CoreType::Tuple(_, Labels::Fields(names)) => {
                        let _ = write!(self.out, ".{}", names.get(*k as usize).map_or("", |n| n.as_str()));
                    }
                    _ => drop(write!(self.out, ".{k}")),
                }
            }
            Kind::Gen(i, body) | Kind::Sum(i, body) | Kind::Order(i, body) => {
                let word = match e.kind {
                    Kind::Gen(..) => "for",
                    Kind::Sum(..) => "sum",
                    _ => "argsort",
                };
                let _ = write!(self.out, "{word} {} < {}: ", i.name, i.extent);
                // The body of a binder extends as far as possible.
                self.expr(body, Level::Open);
            }
            Kind::Reduce(r) => {
                let over: Vec<String> = r.indices.iter().map(|i| format!("{} < {}", i.name, i.extent)).collect();
                let _ = write!(self.out, "{} {}", r.reducer.word(), over.join(", "));
                self.out.push_str(&filter(&r.terms, r.reducer, &r.place));
                self.out.push_str(": ");
                self.expr(&r.body, Level::Open);
            }
            Kind::Access(..) => self.access(e),
            Kind::Guard(p, body) => {
                let _ = write!(self.out, "[{p}] * ");
                self.expr(body, Level::Factor);
            }
            Kind::Let(bindings, body) => {
                self.indent += 1;
                for (x, value) in bindings {
                    self.line();
                    self.binding(*x, value);
                }
                self.line();
                self.out.push_str("in");
                self.value(body);
                self.indent -= 1;
            }
            Kind::Call(callee, sizes, args) => {
                let _ = write!(self.out, "{}(", Called { callee, own: self.own, sizes });
                self.list(args);
                self.out.push(')');
            }
            Kind::Loop(repeat, args) => self.repeat(repeat, args, &e.ty),
            Kind::Update(update, base, value) => self.update(update, base, value),
            Kind::Check(p, what, body) => {
                let _ = write!(self.out, "check({p}, {} {:?}) ", what.code, what.what.as_str());
                self.expr(body, Level::Factor);
            }
        }
    }

    fn repeat(&mut self, repeat: &Repeat, args: &[E], ty: &CoreType) {
        let Repeat { body, sizes, counter, trips, checkpoint } = repeat;
        let (given, carry) = args.split_at(args.len().saturating_sub(carried(args, ty)));
        let _ = match trips {
            Trips::Count(n) => write!(self.out, "loop {} < {n} ", counter.name),
            Trips::While => write!(self.out, "loop {} ", counter.name),
        };
        match checkpoint {
            Some(Spacing::Every(k)) => drop(write!(self.out, "checkpoint {k} ")),
            Some(Spacing::Root) => self.out.push_str("checkpoint "),
            None => {}
        }
        self.out.push_str("from ");
        if let [carry] = carry {
            self.expr(carry, Level::Term);
        } else {
            self.out.push('(');
            self.list(carry);
            self.out.push(')');
        }
        self.out.push_str(if trips.count().is_some() { ": " } else { " while .0: " });
        let _ = write!(self.out, "{}(", Called { callee: body, own: self.own, sizes });
        self.list(given);
        self.out.push(')');
    }

    fn update(&mut self, update: &Update, base: &E, value: &E) {
        let Update { over, at, pred, add } = update;
        self.out.push_str("update(");
        self.expr(base, Level::Open);
        let _ = write!(self.out, ", [{}]", at.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
        self.out.push_str(if *add { " += " } else { " = " });
        if over.is_empty() {
            self.expr(value, Level::Open);
        } else {
            self.expr(value, Level::Base);
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
    fn access(&mut self, e: &Expr) {
        let mut at = Vec::new();
        let mut base = e;
        while let Kind::Access(inner, p) = &base.kind {
            at.push(p.to_string());
            base = inner;
        }
        at.reverse();
        let shared = std::sync::Arc::new(base.clone());
        self.expr(&shared, Level::Base);
        let _ = write!(self.out, "[{}]", at.join(", "));
    }
}
