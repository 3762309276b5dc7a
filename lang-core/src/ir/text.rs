//! Core as text, near to Iverson: `for` and `sum` with one index each, brackets with their predicates, `let`s
//! line by line. `check(p, "…") e` fails where `p` does not hold.

use std::fmt::{self, Write as _};

use super::core::{Constant, CoreType, E, Expr, Function, Kind, Operation, Vars};
use super::flat::{Flat, Source};
use crate::interp::guarded;

/// How tightly an expression binds, for parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    /// As a whole.
    Open,
    /// A term of a sum.
    Term,
    /// A factor.
    Factor,
    /// What is indexed or projected.
    Base,
}

/// A line is broken after about so many characters.
const WIDTH: usize = 96;

struct Writer<'f> {
    vars: &'f Vars,
    out: String,
    indent: usize,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |l: &crate::predicate::LocalId| self.vars.name(*l).to_string();
        let sizes = self.sizes.iter().map(name).collect::<Vec<_>>().join(", ");
        let params = self.params.iter().map(|(x, ty)| format!("{}: {ty}", name(x))).collect::<Vec<_>>().join(", ");
        write!(f, "core {}[{sizes}]({params}) -> {} =", self.callee, self.body.ty)?;
        let mut w = Writer { vars: &self.vars, out: String::new(), indent: 1 };
        w.block(&self.body);
        writeln!(f, "{}", w.out)
    }
}

/// Each binding on a line, then each part of the result.
impl fmt::Display for Flat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(|l| self.vars.name(*l).to_string()).collect();
        let inputs = self.inputs.iter().map(|input| {
            let dims: Vec<String> = input.leaf.dims.iter().map(ToString::to_string).collect();
            let dims = if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(", ")) };
            let global = if matches!(input.source, Source::Global(_)) { "let " } else { "" };
            format!("{global}{}: {dims}{}", self.vars.name(input.local), input.leaf.scalar.map_or("rel", |s| s.name()))
        });
        let inputs: Vec<String> = inputs.collect();
        writeln!(f, "flat {}[{}]({}) -> {} =", self.callee, sizes.join(", "), inputs.join(", "), self.result)?;
        let mut w = Writer { vars: &self.vars, out: String::new(), indent: 1 };
        for (x, e) in &self.bindings {
            w.out.push_str("  let ");
            w.out.push_str(&self.vars.name(*x));
            w.out.push_str(" =");
            w.value(e);
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
        match self {
            Self::Scalar(s) => f.write_str(s.name()),
            Self::Tensor(n, t) => {
                write!(f, "[{n}")?;
                let mut t = t;
                while let Self::Tensor(n, inner) = &**t {
                    write!(f, ", {n}")?;
                    t = inner;
                }
                write!(f, "]{t}")
            }
            Self::Tuple(items, names) => {
                f.write_str(if names.is_some() { "{" } else { "(" })?;
                for (k, t) in items.iter().enumerate() {
                    f.write_str(if k > 0 { ", " } else { "" })?;
                    if let Some(name) = names.as_ref().and_then(|n| n.get(k)) {
                        write!(f, "{name}: ")?;
                    }
                    write!(f, "{t}")?;
                }
                f.write_str(if names.is_some() { "}" } else { ")" })
            }
            Self::Rel(dims) => {
                let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
                write!(f, "rel[{}]", dims.join(", "))
            }
        }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real(x) if x.is_nan() => f.write_str("nan"),
            Self::Real(x) if x.is_infinite() => f.write_str(if *x > 0.0 { "inf" } else { "-inf" }),
            Self::Real(x) => write!(f, "{x:?}"),
            Self::Int(i) => write!(f, "{i}"),
            Self::Bool(b) => write!(f, "{b}"),
        }
    }
}

impl Operation {
    /// What it is called.
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

impl Writer<'_> {
    fn line(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    /// On lines of its own.
    fn block(&mut self, e: &E) {
        if let Kind::Let(bindings, body) = &e.kind {
            for (x, value) in bindings {
                self.line();
                let _ = write!(self.out, "let {} =", self.vars.name(*x));
                self.value(value);
            }
            self.line();
            self.out.push_str("in");
            self.value(body);
            return;
        }
        self.line();
        self.expr(e, Level::Open);
    }

    /// After `=` or `in`: in the line if it is short.
    fn value(&mut self, e: &E) {
        let mut w = Writer { vars: self.vars, out: String::new(), indent: self.indent + 1 };
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
        let own = match &e.kind {
            Kind::Add(_) | Kind::Gen(..) | Kind::Sum(..) | Kind::Let(..) | Kind::Check(..) => Level::Open,
            Kind::Neg(_) => Level::Term,
            Kind::Apply(Operation::Binary(_) | Operation::Pow | Operation::PowInt | Operation::Not, _) => Level::Open,
            Kind::Index(p) if p.terms().len() > 1 => Level::Open,
            Kind::Mul(..) | Kind::Guard(..) => Level::Term,
            _ => Level::Base,
        };
        let parens = own < level;
        if parens {
            self.out.push('(');
        }
        guarded(|| self.bare(e));
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
            Kind::Var(x) => self.out.push_str(&self.vars.name(*x)),
            Kind::Global(name) => drop(write!(self.out, "{name}")),
            Kind::Constant(c) => drop(write!(self.out, "{c}")),
            Kind::Index(p) => drop(write!(self.out, "{p}")),
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
                self.expr(a, Level::Factor);
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
            Kind::Tuple(items) => {
                self.out.push('(');
                self.list(items);
                self.out.push(')');
            }
            Kind::Proj(a, k) => {
                self.expr(a, Level::Base);
                match &a.ty {
                    CoreType::Tuple(_, Some(names)) => {
                        let _ = write!(self.out, ".{}", names.get(*k as usize).map_or("", |n| n.as_str()));
                    }
                    _ => drop(write!(self.out, ".{k}")),
                }
            }
            Kind::Gen(i, body) | Kind::Sum(i, body) => {
                let word = if matches!(e.kind, Kind::Gen(..)) { "for" } else { "sum" };
                let _ = write!(self.out, "{word} {} < {}: ", i.name, i.extent);
                // It reaches to the end.
                self.expr(body, Level::Open);
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
                    let _ = write!(self.out, "let {} =", self.vars.name(*x));
                    self.value(value);
                }
                self.line();
                self.out.push_str("in");
                self.value(body);
                self.indent -= 1;
            }
            Kind::Call(callee, sizes, args) => {
                let _ = write!(self.out, "{}", callee);
                let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
                if !sizes.is_empty() {
                    let _ = write!(self.out, "[{}]", sizes.join(", "));
                }
                self.out.push('(');
                self.list(args);
                self.out.push(')');
            }
            Kind::Check(p, what, body) => {
                let _ = write!(self.out, "check({p}, \"{}\") ", what.what);
                self.expr(body, Level::Factor);
            }
        }
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
