//! **Expressions to text.** Parenthesises by binding strength; the formatter does the layout. A
//! name that shadows a word of the language makes the printing fail.

use super::NoTextReason;
use super::constructors::PartLocation;
use super::derivative_signature::{PrintRequest, print_part};
use super::expression_tree::{ComparisonOperator, ProductExpr, ReductionExpr, SourceExpr};
use super::print_predicate::{join, parenthesise_below, recognise_range};
use super::read_ssa::zero_of;
use super::writer::{BindingStrength, BodyWriter, ReadSource};
use lang_ir::core::{Constant, ScalarOp};
use lang_ir::ssa::StmtId;
use lang_resolve::ValueRef;
use lang_runtime::scalar::convert;
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

impl BodyWriter<'_> {
    /// Prints an element of a statement.
    pub(super) fn print_element(&mut self, v: StmtId, at: &[Poly]) -> (String, BindingStrength) {
        let Some(named) = self.read_sources.get(&v).cloned() else {
            let line = self.lines.get(v.0 as usize).cloned();
            return match line.and_then(|l| l.element_at(at, &mut self.facts)) {
                Some(e) => self.print_expression(&e),
                None => {
                    self.failure.get_or_insert(NoTextReason::InternalError);
                    ("_".to_owned(), BindingStrength::Postfix)
                }
            };
        };
        let (ReadSource::Part(base, path) | ReadSource::Let(base, path)) = named;
        match self.locate_part(&base, &path, at) {
            PartLocation::Part(base, path, at) => {
                let at: Vec<String> = at.iter().map(|p| self.print_polynomial(p).0).collect();
                (print_part(&base, &path, &at), BindingStrength::Postfix)
            }
            PartLocation::InsideSumType(site, rest, at) => self.print_match_read(&site, &rest, &at),
            PartLocation::KnownTag(k) => (k.to_string(), BindingStrength::Postfix),
            PartLocation::OtherConstructor => {
                let scalar = self.lines.get(v.0 as usize).and_then(|l| l.scalar).unwrap_or(Scalar::F64);
                self.print_expression(&zero_of(scalar))
            }
        }
    }

    /// Returns the expression for an element, if its statement has no name.
    pub(super) fn inlined_element(&mut self, v: StmtId, at: &[Poly]) -> Option<SourceExpr> {
        if self.read_sources.contains_key(&v) {
            return None;
        }
        self.lines.get(v.0 as usize).cloned()?.element_at(at, &mut self.facts)
    }

    /// Prints an expression.
    pub(super) fn print_expression(&mut self, e: &SourceExpr) -> (String, BindingStrength) {
        lang_base::ensure_sufficient_stack(|| self.print_node(e))
    }

    fn print_node(&mut self, e: &SourceExpr) -> (String, BindingStrength) {
        match e {
            SourceExpr::Constant(Constant::Int(i)) => {
                (i.to_string(), if *i < 0 { BindingStrength::Sign } else { BindingStrength::Postfix })
            }
            SourceExpr::Constant(Constant::Bool(b)) => (b.to_string(), BindingStrength::Postfix),
            SourceExpr::Constant(Constant::Real(x)) => self.print_number(*x, false),
            SourceExpr::Index(p) => self.print_polynomial(p),
            SourceExpr::Read(v, at) => {
                if !self.elementwise_indices.is_empty()
                    && let Some(before) = self.whole_array_indices(e, &self.elementwise_indices.clone())
                {
                    return self.print_element(*v, &before);
                }
                self.print_element(*v, at)
            }
            SourceExpr::Sum(terms) => {
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
                        Some(x) => self.print_number(x, others),
                        None => self.print_expression(e),
                    };
                    text += &parenthesise_below(
                        term,
                        if *neg && k == 0 { BindingStrength::Sign } else { BindingStrength::Product },
                    );
                }
                (text, BindingStrength::Sum)
            }
            SourceExpr::Product(p) => self.print_product(p),
            SourceExpr::Power(e, k) => {
                let base = self.print_expression(e);
                (format!("{}^{k}", parenthesise_below(base, BindingStrength::Postfix)), BindingStrength::Power)
            }
            // The bracket holds in this context.
            SourceExpr::Guard(p, inner) if self.context.implies(p) => self.print_expression(inner),
            SourceExpr::Guard(p, inner) => {
                let (text, _) = self.print_predicate(p);
                match &**inner {
                    SourceExpr::Constant(Constant::Bool(true)) => (text, BindingStrength::Or),
                    inner => {
                        let inner = self.print_expression_under(p, inner);
                        (
                            format!("[{text}] * {}", parenthesise_below(inner, BindingStrength::Product)),
                            BindingStrength::Product,
                        )
                    }
                }
            }
            SourceExpr::IndexedSum(indices, p, body) => self.print_indexed_sum(indices, p, body),
            SourceExpr::Reduce(r) => self.print_reduction(r),
            SourceExpr::Choice(p, a, b) => {
                let text = self.print_predicate(p).0;
                let (a, b) = (self.print_expression_under(p, a).0, self.print_expression_under(&p.negated(), b).0);
                (format!("if {text} then {a} else {b}"), BindingStrength::Greedy)
            }
            SourceExpr::Apply(operation, args) => self.print_operation(*operation, args),
        }
    }

    /// Prints an expression where `p` holds.
    fn print_expression_under(&mut self, p: &Pred, e: &SourceExpr) -> (String, BindingStrength) {
        let mark = self.context.mark();
        self.context.assume(p);
        let text = self.print_expression(e);
        self.context.release(mark);
        text
    }

    fn print_operation(&mut self, operation: ScalarOp, args: &[SourceExpr]) -> (String, BindingStrength) {
        let others = args.iter().any(|e| e.as_real().is_none());
        let mut texts = Vec::new();
        for e in args {
            texts.push(match e.as_real() {
                Some(x) => self.print_number(x, others && args.len() > 1),
                None => self.print_expression(e),
            });
        }
        let call = |name: &str, texts: Vec<(String, BindingStrength)>| {
            let texts: Vec<String> = texts.into_iter().map(|t| t.0).collect();
            (format!("{name}({})", texts.join(", ")), BindingStrength::Postfix)
        };
        match operation {
            ScalarOp::Scalar(f) => {
                self.use_word(f.name());
                call(f.name(), texts)
            }
            ScalarOp::Binary(op) if op.is_comparison() => {
                (join(texts, &format!(" {} ", op.symbol()), BindingStrength::Sum), BindingStrength::Compare)
            }
            ScalarOp::Binary(op) => {
                let level = match op {
                    BinOp::Or => BindingStrength::Or,
                    BinOp::And => BindingStrength::And,
                    _ => BindingStrength::Product,
                };
                let inner =
                    if level == BindingStrength::Product { BindingStrength::Power } else { BindingStrength::Compare };
                (join(texts, &format!(" {} ", op.symbol()), inner), level)
            }
            ScalarOp::Pow | ScalarOp::PowInt => (join(texts, "^", BindingStrength::Postfix), BindingStrength::Power),
            ScalarOp::Not => (format!("!{}", join(texts, "", BindingStrength::Postfix)), BindingStrength::Not),
            ScalarOp::Convert(to) => call(to.name(), texts),
            ScalarOp::Stop => {
                self.use_word("stop");
                call("stop", texts)
            }
        }
    }

    /// Prints a product: constants first, then factors without an index, then by the depth of the
    /// innermost index.
    fn print_product(&mut self, p: &ProductExpr) -> (String, BindingStrength) {
        let around: Vec<LocalId> =
            self.scope.iter().map(|(l, _)| *l).chain(self.elementwise_indices.iter().map(|i| i.local)).collect();
        let depth = |e: &SourceExpr| {
            let mut at: Vec<usize> = Vec::new();
            e.for_each_poly(&mut |p| {
                p.for_each_atom(&mut |a| {
                    if let Atom::Local(l, _) = a {
                        at.extend(around.iter().position(|own| own == l).map(|k| k + 1));
                    }
                });
            });
            let total = matches!(e, SourceExpr::IndexedSum(..));
            (at.iter().max().copied().unwrap_or(0), total, at.iter().min().copied().unwrap_or(0))
        };
        let mut over: Vec<&SourceExpr> = p.factors.iter().collect();
        over.sort_by_key(|e| depth(e));
        let mut parts: Vec<(String, BindingStrength)> = Vec::new();
        let negative = p.numerator == -1.0 && !over.is_empty();
        let plain = p.numerator == 1.0 && !over.is_empty();
        if !negative && !plain {
            let beside = !over.is_empty() || !p.divisors.is_empty();
            parts.push(self.print_number(p.numerator, beside));
        }
        for e in over {
            parts.push(self.print_expression(e));
        }
        // The first factor may have a sign without parentheses.
        let mut text = match parts.first_mut() {
            Some(first) if first.1 == BindingStrength::Sign => {
                first.1 = BindingStrength::Power;
                join(parts, " * ", BindingStrength::Power)
            }
            _ => join(parts, " * ", BindingStrength::Power),
        };
        if negative {
            text = format!("-{text}");
        }
        let mut divisors: Vec<(String, BindingStrength)> = Vec::new();
        if p.denominator != 1.0 {
            divisors.push(self.print_number(p.denominator, true));
        }
        for e in &p.divisors {
            divisors.push(self.print_expression(e));
        }
        let alone = divisors.len() == 1;
        let divisor = join(divisors, " * ", BindingStrength::Power);
        match (divisor.is_empty(), alone) {
            (true, _) => {}
            (false, true) => text += &format!(" / {divisor}"),
            (false, false) => text += &format!(" / ({divisor})"),
        }
        let single = p.divisors.is_empty() && p.denominator == 1.0 && p.factors.is_empty();
        (text, if single && p.numerator >= 0.0 { BindingStrength::Postfix } else { BindingStrength::Product })
    }

    /// Returns whether a name in this module or scope shadows a word of the language.
    fn is_shadowed(&self, word: &str) -> bool {
        let own = self.name_environment().top_level_value(self.home_module(), word).is_some_and(|found| match found {
            ValueRef::Def(name) | ValueRef::Let(name) | ValueRef::Ctor(name, _) => !name.module.is_empty(),
        });
        own || self.used_names.contains(word)
    }

    /// Notes the use of a word of the language. Printing fails if a name shadows it.
    pub(super) fn use_word(&mut self, word: &str) {
        if self.is_shadowed(word) {
            self.failure = Some(NoTextReason::InternalError);
        }
    }

    /// Prints a number. Beside another real operand, an integer needs no decimal point.
    fn print_number(&mut self, x: f64, beside: bool) -> (String, BindingStrength) {
        let text = if x.is_nan() {
            self.use_word("nan");
            "nan".to_owned()
        } else if x.is_infinite() {
            self.use_word("inf");
            "inf".to_owned()
        } else if x.abs().to_bits() == std::f64::consts::PI.to_bits() && !self.is_shadowed("pi") {
            "pi".to_owned()
        } else if beside && x.fract() == 0.0 && x.abs() < 1e15 {
            convert::f64_to_i64(x.abs()).to_string()
        } else {
            format!("{:?}", x.abs())
        };
        let single = self.request.is_single_precision() && !(beside && x.fract() == 0.0);
        let text = if single { format!("f32({text})") } else { text };
        if x < 0.0 { (format!("-{text}"), BindingStrength::Sign) } else { (text, BindingStrength::Postfix) }
    }

    fn print_indexed_sum(&mut self, indices: &[Index], p: &Pred, body: &SourceExpr) -> (String, BindingStrength) {
        let depth = self.scope.len();
        let mark = self.context.mark();
        let (mut p, mut body) = (p.clone(), body.clone());
        let heads = self.print_binder_ranges(indices, &mut p, &mut body, true);
        let inner = SourceExpr::guard(p, body);
        let text = match inner.as_real() {
            Some(x) => self.print_number(x, false).0,
            None => self.print_with_matches(&inner),
        };
        self.context.release(mark);
        self.leave_scope(depth);
        (format!("sum {heads}: {text}"), BindingStrength::Greedy)
    }

    /// Prints `max i, j < m if p: e`. If the place of an `argmax` is not its index itself, a `let`
    /// computes the place from the chosen indices.
    fn print_reduction(&mut self, r: &ReductionExpr) -> (String, BindingStrength) {
        let depth = self.scope.len();
        let mark = self.context.mark();
        let (mut p, mut body) = (r.filter.clone(), r.body.clone());
        let word = r.reducer.keyword();
        self.use_word(word);
        let heads = self.print_binder_ranges(&r.indices, &mut p, &mut body, !r.reducer.is_arg_reduction());
        let filter = if p.is_true() { String::new() } else { format!(" if {}", self.print_predicate(&p).0) };
        let text = match body.as_real() {
            Some(x) => self.print_number(x, false).0,
            None => self.print_with_matches(&body),
        };
        self.context.release(mark);
        let names: Vec<String> = self.scope.iter().skip(depth).map(|(_, name)| name.to_string()).collect();
        let own = matches!(r.indices.as_slice(), [i] if r.location == i.value());
        let place =
            if r.reducer.is_arg_reduction() && !own { Some(self.print_polynomial(&r.location).0) } else { None };
        self.leave_scope(depth);
        let text = format!("{word} {heads}{filter}: {text}");
        let chosen = if names.len() == 1 { names.join("") } else { format!("({})", names.join(", ")) };
        (
            place.map_or_else(|| text.clone(), |place| format!("let {chosen} = {text} in {place}")),
            BindingStrength::Greedy,
        )
    }

    /// Prints the ranges of a binder. Bounds in `p` that form the range of an index move from `p`
    /// into the head. If `moves` holds and all reads have one constant offset from the index, the
    /// range starts at that offset.
    fn print_binder_ranges(&mut self, indices: &[Index], p: &mut Pred, body: &mut SourceExpr, moves: bool) -> String {
        let mut heads = Vec::new();
        for (k, i) in indices.iter().enumerate() {
            let later = indices.get(k + 1..).unwrap_or_default();
            let found = recognise_range(i, p, later, &self.context);
            let shift = if moves && found.is_none() { common_read_offset(i, body) } else { None };
            let whole = SourceExpr::guard(p.clone(), body.clone());
            let alone = self.sole_subscript_axes(&whole, i);
            let hint = alone.iter().find_map(|(n, axis, _)| self.axis_name_hint(n, *axis));
            let name = self.used_names.fresh_index(hint.as_ref());
            heads.push(match (&found, shift) {
                (Some((from, to, rest)), _) => {
                    *p = rest.clone();
                    let to = self.print_polynomial(to).0;
                    match from.as_constant() {
                        Some(0) => format!("{name} < {to}"),
                        _ => format!("{name} in {}..{to}", self.print_polynomial(from).0),
                    }
                }
                (None, Some(c)) => {
                    let moved = i.value().add_constant(-c);
                    let atom = i.atom();
                    let put = |p: &Poly| p.substitute(&|a| (*a == atom).then(|| moved.clone()));
                    *p = p.map(&put);
                    *body = body.map_polys(&put);
                    let to = self.print_polynomial(&i.extent.add_constant(c)).0;
                    format!("{name} in {c}..{to}")
                }
                (None, None) => {
                    let agree = !alone.is_empty() && alone.iter().all(|(.., n)| *n == i.extent);
                    if agree { name.to_string() } else { format!("{name} < {}", self.print_polynomial(&i.extent).0) }
                }
            });
            self.scope.push((i.local, name));
            self.context.assume_in_range(i);
        }
        heads.join(", ")
    }
}

/// Returns the constant offset from the index in all reads that depend on it, if it is one and not
/// zero: 1 if every read is `x[i + 1]`.
fn common_read_offset(i: &Index, body: &SourceExpr) -> Option<i128> {
    let mut at = Vec::new();
    body.visit(&mut |e| {
        if let SourceExpr::Read(_, polys) = e {
            at.extend(polys.iter().filter(|p| p.mentions(&i.atom())).cloned());
        }
    });
    let constants: Vec<i128> = at.iter().map(Poly::constant_part).collect();
    let first = constants.first().copied()?;
    let alike =
        constants.iter().all(|c| *c == first) && at.iter().all(|p| p.linear_in(&i.atom()).is_some_and(|l| l.0 == 1));
    (alike && first != 0).then_some(first)
}

impl PrintRequest<'_> {
    /// Returns whether all real computation is in single precision.
    fn is_single_precision(&self) -> bool {
        let scalars = self.derivative_ssa.stmts.iter().filter_map(|s| s.scalar);
        let mut reals = scalars.filter(|s| matches!(s, Scalar::F32 | Scalar::F64)).peekable();
        reals.peek().is_some() && reals.all(|s| s == Scalar::F32)
    }
}
