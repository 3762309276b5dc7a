//! **Expressions to text.** Parenthesises by binding strength; the formatter does the layout. A
//! name that shadows a word of the language makes the printing fail.

use super::Outside;
use super::constructors::Found;
use super::predicate::{closed, join, range};
use super::read::zero;
use super::shape::{Asked, part};
use super::tree::{Compares, Ex, Product, Reduced};
use super::writer::{Level, Named, Writer};
use lang_ir::core::{Constant, Operation};
use lang_ir::ssa::Var;
use lang_resolve::ValueRef;
use lang_runtime::scalar::convert;
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

impl Writer<'_> {
    /// Prints an element of a statement.
    pub(super) fn element(&mut self, v: Var, at: &[Poly]) -> (String, Level) {
        let Some(named) = self.named.get(&v).cloned() else {
            let line = self.lines.get(v.0 as usize).cloned();
            return match line.and_then(|l| l.at(at, &mut self.table)) {
                Some(e) => self.ex(&e),
                None => {
                    self.wrong.get_or_insert(Outside::Unreadable);
                    ("_".to_owned(), Level::Post)
                }
            };
        };
        let (Named::Part(base, path) | Named::Let(base, path)) = named;
        match self.find(&base, &path, at) {
            Found::Part(base, path, at) => {
                let at: Vec<String> = at.iter().map(|p| self.poly(p).0).collect();
                (part(&base, &path, &at), Level::Post)
            }
            Found::Inside(site, rest, at) => self.read_inside(&site, &rest, &at),
            Found::Constructor(k) => (k.to_string(), Level::Post),
            Found::Other => {
                let scalar = self.lines.get(v.0 as usize).and_then(|l| l.scalar).unwrap_or(Scalar::F64);
                self.ex(&zero(scalar))
            }
        }
    }

    /// Returns the expression for an element, if its statement has no name.
    pub(super) fn written_out(&mut self, v: Var, at: &[Poly]) -> Option<Ex> {
        if self.named.contains_key(&v) {
            return None;
        }
        self.lines.get(v.0 as usize).cloned()?.at(at, &mut self.table)
    }

    /// Prints an expression.
    pub(super) fn ex(&mut self, e: &Ex) -> (String, Level) {
        lang_base::guarded(|| self.ex_node(e))
    }

    fn ex_node(&mut self, e: &Ex) -> (String, Level) {
        match e {
            Ex::Constant(Constant::Int(i)) => (i.to_string(), if *i < 0 { Level::Sign } else { Level::Post }),
            Ex::Constant(Constant::Bool(b)) => (b.to_string(), Level::Post),
            Ex::Constant(Constant::Real(x)) => self.number(*x, false),
            Ex::Index(p) => self.poly(p),
            Ex::Read(v, at) => {
                if !self.lifted.is_empty()
                    && let Some(before) = self.whole(e, &self.lifted.clone())
                {
                    return self.element(*v, &before);
                }
                self.element(*v, at)
            }
            Ex::Sum(terms) => {
                let mut text = String::new();
                let others = terms.iter().any(|(_, e)| e.as_real().is_none());
                for (k, (neg, e)) in terms.iter().enumerate() {
                    text += match (k, *neg) {
                        (0, true) => "-",
                        (0, false) => "",
                        (_, true) => " - ",
                        (_, false) => " + ",
                    };
                    let term = match e.as_real() {
                        Some(x) => self.number(x, others),
                        None => self.ex(e),
                    };
                    text += &closed(term, if *neg && k == 0 { Level::Sign } else { Level::Product });
                }
                (text, Level::Sum)
            }
            Ex::Product(p) => self.product(p),
            Ex::Power(e, k) => {
                let base = self.ex(e);
                (format!("{}^{k}", closed(base, Level::Post)), Level::Power)
            }
            // The bracket holds in this context.
            Ex::Guard(p, inner) if self.context.implies(p) => self.ex(inner),
            Ex::Guard(p, inner) => {
                let (text, _) = self.pred(p);
                match &**inner {
                    Ex::Constant(Constant::Bool(true)) => (text, Level::Or),
                    inner => {
                        let inner = self.where_true(p, inner);
                        (format!("[{text}] * {}", closed(inner, Level::Product)), Level::Product)
                    }
                }
            }
            Ex::Total(indices, p, body) => self.total(indices, p, body),
            Ex::Reduce(r) => self.reduction(r),
            Ex::Choice(p, a, b) => {
                let text = self.pred(p).0;
                let (a, b) = (self.where_true(p, a).0, self.where_true(&p.negated(), b).0);
                (format!("if {text} then {a} else {b}"), Level::Open)
            }
            Ex::Apply(operation, args) => self.apply(*operation, args),
        }
    }

    /// Prints an expression where `p` holds.
    fn where_true(&mut self, p: &Pred, e: &Ex) -> (String, Level) {
        let mark = self.context.mark();
        self.context.assume(p);
        let text = self.ex(e);
        self.context.release(mark);
        text
    }

    fn apply(&mut self, operation: Operation, args: &[Ex]) -> (String, Level) {
        let others = args.iter().any(|e| e.as_real().is_none());
        let mut texts = Vec::new();
        for e in args {
            texts.push(match e.as_real() {
                Some(x) => self.number(x, others && args.len() > 1),
                None => self.ex(e),
            });
        }
        let call = |name: &str, texts: Vec<(String, Level)>| {
            let texts: Vec<String> = texts.into_iter().map(|t| t.0).collect();
            (format!("{name}({})", texts.join(", ")), Level::Post)
        };
        match operation {
            Operation::Scalar(f) => {
                self.word(f.name());
                call(f.name(), texts)
            }
            Operation::Binary(op) if op.compares() => {
                (join(texts, &format!(" {} ", op.symbol()), Level::Sum), Level::Compare)
            }
            Operation::Binary(op) => {
                let level = match op {
                    BinOp::Or => Level::Or,
                    BinOp::And => Level::And,
                    _ => Level::Product,
                };
                let inner = if level == Level::Product { Level::Power } else { Level::Compare };
                (join(texts, &format!(" {} ", op.symbol()), inner), level)
            }
            Operation::Pow | Operation::PowInt => (join(texts, "^", Level::Post), Level::Power),
            Operation::Not => (format!("!{}", join(texts, "", Level::Post)), Level::Not),
            Operation::Convert(to) => call(to.name(), texts),
            Operation::Stop => {
                self.word("stop");
                call("stop", texts)
            }
        }
    }

    /// Prints a product: constants first, then factors without an index, then by the depth of the
    /// innermost index.
    fn product(&mut self, p: &Product) -> (String, Level) {
        let around: Vec<LocalId> =
            self.scope.iter().map(|(l, _)| *l).chain(self.lifted.iter().map(|i| i.local)).collect();
        let depth = |e: &Ex| {
            let mut at: Vec<usize> = Vec::new();
            e.for_each_poly(&mut |p| {
                p.for_each_atom(&mut |a| {
                    if let Atom::Local(l, _) = a {
                        at.extend(around.iter().position(|own| own == l).map(|k| k + 1));
                    }
                });
            });
            let total = matches!(e, Ex::Total(..));
            (at.iter().max().copied().unwrap_or(0), total, at.iter().min().copied().unwrap_or(0))
        };
        let mut over: Vec<&Ex> = p.over.iter().collect();
        over.sort_by_key(|e| depth(e));
        let mut parts: Vec<(String, Level)> = Vec::new();
        let negative = p.by == -1.0 && !over.is_empty();
        let plain = p.by == 1.0 && !over.is_empty();
        if !negative && !plain {
            let beside = !over.is_empty() || !p.under.is_empty();
            parts.push(self.number(p.by, beside));
        }
        for e in over {
            parts.push(self.ex(e));
        }
        // The first factor may have a sign without parentheses.
        let mut text = match parts.first_mut() {
            Some(first) if first.1 == Level::Sign => {
                first.1 = Level::Power;
                join(parts, " * ", Level::Power)
            }
            _ => join(parts, " * ", Level::Power),
        };
        if negative {
            text = format!("-{text}");
        }
        let mut divisors: Vec<(String, Level)> = Vec::new();
        if p.per != 1.0 {
            divisors.push(self.number(p.per, true));
        }
        for e in &p.under {
            divisors.push(self.ex(e));
        }
        let alone = divisors.len() == 1;
        let divisor = join(divisors, " * ", Level::Power);
        match (divisor.is_empty(), alone) {
            (true, _) => {}
            (false, true) => text += &format!(" / {divisor}"),
            (false, false) => text += &format!(" / ({divisor})"),
        }
        let single = p.under.is_empty() && p.per == 1.0 && p.over.is_empty();
        (text, if single && p.by >= 0.0 { Level::Post } else { Level::Product })
    }

    /// Returns whether a name in this module or scope shadows a word of the language.
    fn hides(&self, word: &str) -> bool {
        let own = self.names().value(self.home(), word).is_some_and(|found| match found {
            ValueRef::Def(name) | ValueRef::Let(name) | ValueRef::Ctor(name, _) => !name.module.is_empty(),
        });
        own || self.taken.has(word)
    }

    /// Notes the use of a word of the language. Printing fails if a name shadows it.
    pub(super) fn word(&mut self, word: &str) {
        if self.hides(word) {
            self.wrong = Some(Outside::Unreadable);
        }
    }

    /// Prints a number. Beside another real operand, an integer needs no decimal point.
    fn number(&mut self, x: f64, beside: bool) -> (String, Level) {
        let text = if x.is_nan() {
            self.word("nan");
            "nan".to_owned()
        } else if x.is_infinite() {
            self.word("inf");
            "inf".to_owned()
        } else if x.abs().to_bits() == std::f64::consts::PI.to_bits() && !self.hides("pi") {
            "pi".to_owned()
        } else if beside && x.fract() == 0.0 && x.abs() < 1e15 {
            convert::f64_to_i64(x.abs()).to_string()
        } else {
            format!("{:?}", x.abs())
        };
        let single = self.asked.single() && !(beside && x.fract() == 0.0);
        let text = if single { format!("f32({text})") } else { text };
        if x < 0.0 { (format!("-{text}"), Level::Sign) } else { (text, Level::Post) }
    }

    fn total(&mut self, indices: &[Index], p: &Pred, body: &Ex) -> (String, Level) {
        let depth = self.scope.len();
        let mark = self.context.mark();
        let (mut p, mut body) = (p.clone(), body.clone());
        let heads = self.heads(indices, &mut p, &mut body, true);
        let inner = Ex::guard(p, body);
        let text = match inner.as_real() {
            Some(x) => self.number(x, false).0,
            None => self.whole_text(&inner),
        };
        self.context.release(mark);
        self.leave(depth);
        (format!("sum {heads}: {text}"), Level::Open)
    }

    /// Prints `max i, j < m if p: e`. If the place of an `argmax` is not its index itself, a `let`
    /// computes the place from the chosen indices.
    fn reduction(&mut self, r: &Reduced) -> (String, Level) {
        let depth = self.scope.len();
        let mark = self.context.mark();
        let (mut p, mut body) = (r.terms.clone(), r.body.clone());
        let word = r.reducer.word();
        self.word(word);
        let heads = self.heads(&r.indices, &mut p, &mut body, !r.reducer.gives_place());
        let filter = if p.is_true() { String::new() } else { format!(" if {}", self.pred(&p).0) };
        let text = match body.as_real() {
            Some(x) => self.number(x, false).0,
            None => self.whole_text(&body),
        };
        self.context.release(mark);
        let names: Vec<String> = self.scope.iter().skip(depth).map(|(_, name)| name.to_string()).collect();
        let own = matches!(r.indices.as_slice(), [i] if r.place == i.value());
        let place = if r.reducer.gives_place() && !own { Some(self.poly(&r.place).0) } else { None };
        self.leave(depth);
        let text = format!("{word} {heads}{filter}: {text}");
        let chosen = if names.len() == 1 { names.join("") } else { format!("({})", names.join(", ")) };
        (place.map_or_else(|| text.clone(), |place| format!("let {chosen} = {text} in {place}")), Level::Open)
    }

    /// Prints the ranges of a binder. Bounds in `p` that form the range of an index move from `p`
    /// into the head. If `moves` holds and all reads have one constant offset from the index, the
    /// range starts at that offset.
    fn heads(&mut self, indices: &[Index], p: &mut Pred, body: &mut Ex, moves: bool) -> String {
        let mut heads = Vec::new();
        for (k, i) in indices.iter().enumerate() {
            let later = indices.get(k + 1..).unwrap_or_default();
            let found = range(i, p, later, &self.context);
            let shift = if moves && found.is_none() { shift(i, body) } else { None };
            let whole = Ex::guard(p.clone(), body.clone());
            let alone = self.alone(&whole, i);
            let hint = alone.iter().find_map(|(n, axis, _)| self.hint(n, *axis));
            let name = self.taken.index(hint.as_ref());
            heads.push(match (&found, shift) {
                (Some((from, to, rest)), _) => {
                    *p = rest.clone();
                    let to = self.poly(to).0;
                    match from.as_constant() {
                        Some(0) => format!("{name} < {to}"),
                        _ => format!("{name} in {}..{to}", self.poly(from).0),
                    }
                }
                (None, Some(c)) => {
                    let moved = i.value().plus(-c);
                    let atom = i.atom();
                    let put = |p: &Poly| p.substitute(&|a| (*a == atom).then(|| moved.clone()));
                    *p = p.map(&put);
                    *body = body.map_polys(&put);
                    let to = self.poly(&i.extent.plus(c)).0;
                    format!("{name} in {c}..{to}")
                }
                (None, None) => {
                    let agree = !alone.is_empty() && alone.iter().all(|(.., n)| *n == i.extent);
                    if agree { name.to_string() } else { format!("{name} < {}", self.poly(&i.extent).0) }
                }
            });
            self.scope.push((i.local, name));
            self.context.enter(i);
        }
        heads.join(", ")
    }
}

/// Returns the constant offset from the index in all reads that depend on it, if it is one and not
/// zero: 1 if every read is `x[i + 1]`.
fn shift(i: &Index, body: &Ex) -> Option<i128> {
    let mut at = Vec::new();
    body.visit(&mut |e| {
        if let Ex::Read(_, polys) = e {
            at.extend(polys.iter().filter(|p| p.mentions(&i.atom())).cloned());
        }
    });
    let constants: Vec<i128> = at.iter().map(Poly::constant_part).collect();
    let first = constants.first().copied()?;
    let alike =
        constants.iter().all(|c| *c == first) && at.iter().all(|p| p.linear_in(&i.atom()).is_some_and(|l| l.0 == 1));
    (alike && first != 0).then_some(first)
}

impl Asked<'_> {
    /// Returns whether all real computation is in single precision.
    fn single(&self) -> bool {
        let scalars = self.derived.stmts.iter().filter_map(|s| s.scalar);
        let mut reals = scalars.filter(|s| matches!(s, Scalar::F32 | Scalar::F64)).peekable();
        reals.peek().is_some() && reals.all(|s| s == Scalar::F32)
    }
}
