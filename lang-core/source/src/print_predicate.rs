//! **Predicates to text.** Prints two bounds of one expression as a chain, `0 <= i - j < m`. Bounds
//! of a sum's index become its range if they lie in it.

use super::expression_tree::SourceExpr;
use super::rules::has_witness;
use super::writer::{BindingStrength, BodyWriter};
use lang_ir::core::{Constant, ScalarOp};
use lang_ir::ssa::StmtId;
use lang_sizes::predicate::{Atom, FactContext, Index, LocalId, Poly, Pred};
use lang_syntax::ops::BinOp;

/// Conjuncts or disjuncts, each with its binding strength.
type PredicateParts = Vec<(String, BindingStrength)>;

/// The first number of a pseudo-variable whose name is a printed text.
const FIRST_TEXT_LOCAL: u32 = 1 << 30;

/// Simplifies `p && q || p && !q` to `p`. Returns the disjunction with the first such pair merged,
/// or `None` if it has no such pair.
fn merge_complements(items: &[Pred]) -> Option<Pred> {
    let conjuncts = |p: &Pred| if let Pred::And(all) = p { all.to_vec() } else { vec![p.clone()] };
    for (k, a) in items.iter().enumerate() {
        for (j, b) in items.iter().enumerate().skip(k + 1) {
            let (a, b) = (conjuncts(a), conjuncts(b));
            let (common, own): (Vec<Pred>, Vec<Pred>) = a.iter().cloned().partition(|p| b.contains(p));
            let other: Vec<&Pred> = b.iter().filter(|p| !a.contains(p)).collect();
            if let ([p], [q]) = (own.as_slice(), other.as_slice())
                && p.negated() == **q
            {
                let rest = items.iter().enumerate().filter(|(l, _)| *l != k && *l != j).map(|(_, p)| p.clone());
                return Some(Pred::any_of(rest.chain([Pred::all(common)])));
            }
        }
    }
    None
}

impl BodyWriter<'_> {
    /// Prints a predicate, with its binding strength.
    pub(super) fn print_predicate(&mut self, p: &Pred) -> (String, BindingStrength) {
        match p {
            Pred::And(items) if items.is_empty() => ("true".to_owned(), BindingStrength::Postfix),
            Pred::Or(items) if items.is_empty() => ("false".to_owned(), BindingStrength::Postfix),
            Pred::And(items) => join_conjuncts(self.print_conjuncts(items)),
            Pred::Or(items) if let Some(merged) = merge_complements(items) => self.print_predicate(&merged),
            Pred::Or(items) => {
                if let [a, b] = &**items
                    && let Some((_, text)) = self.nan_aware_negation(a, b)
                {
                    return (text, BindingStrength::Not);
                }
                let known: Vec<Pred> = items.iter().map(Pred::negated).collect();
                let mut parts: Vec<PredicateParts> = Vec::new();
                for p in items.iter() {
                    let part = if let Pred::And(all) = p {
                        self.print_conjuncts(all)
                    } else {
                        vec![self.print_predicate_under(p, &known)]
                    };
                    // `a || a && b` is `a`.
                    let says =
                        |more: &PredicateParts, less: &PredicateParts| less.iter().all(|part| more.contains(part));
                    if !parts.iter().any(|other| says(&part, other)) {
                        parts.retain(|other| !says(other, &part));
                        parts.push(part);
                    }
                }
                let mut parts: PredicateParts = parts.into_iter().map(join_conjuncts).collect();
                match parts.len() {
                    1 => parts.pop().unwrap_or_default(),
                    _ => (join(parts, " || ", BindingStrength::And), BindingStrength::Or),
                }
            }
            Pred::Ge(q) | Pred::Eq(q) | Pred::Ne(q) => {
                let q = self.with_printed_names(q);
                let text = match p {
                    Pred::Ge(_) => print_bound(&q),
                    Pred::Eq(_) => Pred::zero(&q).to_string(),
                    _ => Pred::nonzero(&q).to_string(),
                };
                (text, BindingStrength::Compare)
            }
            Pred::Element(of, _, at, holds) => {
                if !holds
                    && let Some(e) = StmtId::from_local(*of).and_then(|v| self.inlined_element(v, at))
                    && let Some(opposite) = opposite_equality(&e)
                {
                    return self.print_expression(&opposite);
                }
                let (text, level) = match StmtId::from_local(*of) {
                    Some(v) => self.print_element(v, at),
                    None => ("false".to_owned(), BindingStrength::Postfix),
                };
                if *holds {
                    (text, level)
                } else {
                    (format!("!{}", parenthesise_below((text, level), BindingStrength::Postfix)), BindingStrength::Not)
                }
            }
            Pred::Member(of, _, at, holds) => {
                let name = match StmtId::from_local(*of) {
                    Some(v) => self.print_element(v, &[]).0,
                    None => "_".to_owned(),
                };
                let at: Vec<String> = at.iter().map(|p| self.print_polynomial(p).0).collect();
                let text = format!("{name}({})", at.join(", "));
                if *holds { (text, BindingStrength::Postfix) } else { (format!("!{text}"), BindingStrength::Not) }
            }
            Pred::Exists(index, body, holds) => {
                let (head, body) = self.print_binder("any", std::slice::from_ref(index), &mut |this| {
                    let (text, _) = this.print_predicate(body);
                    text
                });
                let text = format!("({head}: {body})");
                if *holds { (text, BindingStrength::Postfix) } else { (format!("!{text}"), BindingStrength::Not) }
            }
        }
    }

    /// Prints the conjuncts in order, without duplicates.
    fn print_conjuncts(&mut self, items: &[Pred]) -> PredicateParts {
        let mut parts = Vec::new();
        // Bounds come before the conjuncts that may be evaluated only where they hold.
        let mut rest: Vec<&Pred> = items.iter().filter(|p| !self.is_redundant_conjunct(p, items)).collect();
        rest.sort_by_key(|p| if has_nested_reads(p) { 2 } else { u8::from(p.depends_on_data()) });
        while !rest.is_empty() {
            let first = rest.remove(0);
            let numbers = |this: &mut Self, q: &Pred| this.nan_aware_negation(&first.negated(), &q.negated());
            if let Some(k) = (0..rest.len()).find(|k| rest.get(*k).is_some_and(|q| numbers(self, q).is_some()))
                && let Some((compared, _)) = numbers(self, rest.remove(k))
            {
                parts.push((compared, BindingStrength::Compare));
                continue;
            }
            let other = rest.iter().position(|q| recognise_chain(first, q, &|p| self.has_index(p)).is_some());
            let part = match other.map(|k| rest.remove(k)) {
                Some(second) => self.print_chain(first, second),
                None => self.print_predicate_under(first, items),
            };
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    }

    /// Returns whether the predicates `known` make it redundant: it is a constant, or it is an
    /// existential with a witness in them.
    fn is_redundant_conjunct(&mut self, p: &Pred, known: &[Pred]) -> bool {
        if let Pred::Exists(index, body, true) = p {
            return has_witness(index, body, known, &|p| self.context.implies(p));
        }
        let Pred::Element(of, _, at, holds) = p else { return false };
        let constant = |e: &SourceExpr| matches!(e, SourceExpr::Constant(Constant::Bool(b)) if b == holds);
        match StmtId::from_local(*of).and_then(|v| self.inlined_element(v, at)) {
            Some(SourceExpr::Guard(q, e)) => constant(&e) && q.conjuncts().iter().all(|q| known.contains(q)),
            said => said.is_some_and(|e| constant(&e)),
        }
    }

    /// Prints a predicate where `known` holds, without the guards that `known` contains.
    fn print_predicate_under(&mut self, p: &Pred, known: &[Pred]) -> (String, BindingStrength) {
        if let Pred::Element(of, _, at, holds) = p
            && let Some(v) = StmtId::from_local(*of)
            && let Some(SourceExpr::Guard(q, e)) = self.inlined_element(v, at)
            && q.conjuncts().iter().all(|q| known.contains(q))
        {
            if let Some(opposite) = opposite_equality(&e).filter(|_| !holds) {
                return self.print_expression(&opposite);
            }
            let text = self.print_expression(&e);
            return if *holds {
                text
            } else {
                (format!("!{}", parenthesise_below(text, BindingStrength::Postfix)), BindingStrength::Not)
            };
        }
        self.print_predicate(p)
    }

    /// Prints `x >= 0 || x != x`, which holds for NaN too, as `!(x < 0)`. Returns the comparison
    /// and its negation.
    fn nan_aware_negation(&mut self, a: &Pred, b: &Pred) -> Option<(String, String)> {
        let (one, other) = (self.comparison_of_element(a, b)?, self.comparison_of_element(b, a)?);
        let is_nan = |e: &SourceExpr| match e {
            SourceExpr::Apply(ScalarOp::Binary(BinOp::Ne), args) => match args.as_slice() {
                [x, y] if x == y => Some(x.clone()),
                _ => None,
            },
            _ => None,
        };
        let (compared, x) = match (is_nan(&one), is_nan(&other)) {
            (None, Some(x)) => (one, x),
            (Some(x), None) => (other, x),
            _ => return None,
        };
        let SourceExpr::Apply(ScalarOp::Binary(op), args) = compared else { return None };
        let [left, right] = args.as_slice() else { return None };
        let opposite = match op {
            BinOp::Ge => BinOp::Lt,
            BinOp::Gt => BinOp::Le,
            BinOp::Le => BinOp::Gt,
            BinOp::Lt => BinOp::Ge,
            _ => return None,
        };
        let number = right.as_real().is_some_and(|c| !c.is_nan());
        if *left != x || !number {
            return None;
        }
        let (text, _) = self.print_expression(&SourceExpr::Apply(ScalarOp::Binary(opposite), args.clone()));
        Some((text.clone(), format!("!({text})")))
    }

    /// Returns the comparison that an element of a boolean array holds. A guard is dropped if it is
    /// the negation of `unless`.
    fn comparison_of_element(&mut self, p: &Pred, unless: &Pred) -> Option<SourceExpr> {
        let Pred::Element(of, _, at, true) = p else { return None };
        match self.inlined_element(StmtId::from_local(*of)?, at)? {
            SourceExpr::Guard(q, e) if *unless == q.negated() => Some(*e),
            e @ SourceExpr::Apply(..) => Some(e),
            _ => None,
        }
    }

    fn has_index(&self, p: &Poly) -> bool {
        let mut found = false;
        p.for_each_atom(&mut |a| found |= matches!(a, Atom::Local(l, _) if self.is_index(*l)));
        found
    }

    /// Prints the chain `low <= e < high`.
    fn print_chain(&mut self, first: &Pred, second: &Pred) -> (String, BindingStrength) {
        let found = recognise_chain(first, second, &|p| self.has_index(p));
        let Some((from, e, to)) = found else {
            let parts = vec![self.print_predicate(first), self.print_predicate(second)];
            return (join(parts, " && ", BindingStrength::Compare), BindingStrength::And);
        };
        if from == to {
            return self.print_predicate(&Pred::equal(&e, &from));
        }
        let from = self.print_polynomial(&from).0;
        let e = self.print_polynomial(&e).0;
        // A strict upper bound avoids a negative constant.
        let text = match to.constant_part() {
            c if c == -1 || to.as_constant().is_none() && c < 0 => {
                format!("{from} <= {e} < {}", self.print_polynomial(&to.add_constant(1)).0)
            }
            _ if from == "0" => format!("{from} <= {e} < {}", self.print_polynomial(&to.add_constant(1)).0),
            _ => format!("{from} <= {e} <= {}", self.print_polynomial(&to).0),
        };
        (text, BindingStrength::Compare)
    }

    /// Replaces the atoms of a polynomial by variables with printed names, such that indices sort
    /// first.
    pub(super) fn with_printed_names(&mut self, p: &Poly) -> Poly {
        let mut put: Vec<(Atom, Poly)> = Vec::new();
        let mut atoms: Vec<Atom> = Vec::new();
        p.for_each_atom(&mut |a| {
            if !atoms.contains(a) {
                atoms.push(a.clone());
            }
        });
        for (k, a) in (0..).zip(atoms) {
            let named = match &a {
                Atom::Local(l, name) => match self.index_name(*l) {
                    // Indices sort alphabetically.
                    Some(name) => Atom::Local(LocalId(alphabetical_key(&name)), name),
                    // Sizes sort after indices.
                    None => Atom::Local(LocalId((1 << 20) + l.0.min(1 << 20)), name.clone()),
                },
                Atom::Read(x, _, at) => {
                    let Some(v) = StmtId::from_local(*x) else { continue };
                    if let Some(SourceExpr::Index(p)) = self.inlined_element(v, at) {
                        put.push((a, self.with_printed_names(&p)));
                        continue;
                    }
                    let text = self.print_element(v, at);
                    Atom::Local(
                        LocalId(FIRST_TEXT_LOCAL + k),
                        parenthesise_below(text, BindingStrength::Postfix).into(),
                    )
                }
                Atom::Global(name) => match self.global_spelling(name) {
                    Some(text) => Atom::Local(LocalId(FIRST_TEXT_LOCAL + k), text.into()),
                    None => continue,
                },
                _ => continue,
            };
            put.push((a, Poly::atom(named)));
        }
        p.substitute(&|a| put.iter().find(|(b, _)| b == a).map(|(_, p)| p.clone()))
    }

    /// Prints a polynomial.
    pub(super) fn print_polynomial(&mut self, p: &Poly) -> (String, BindingStrength) {
        let p = self.with_printed_names(p);
        let level = match p.terms() {
            [] => BindingStrength::Postfix,
            [(m, c)] if m.is_empty() => {
                if *c < 0 {
                    BindingStrength::Sign
                } else {
                    BindingStrength::Postfix
                }
            }
            [(m, 1)] => match m.as_slice() {
                [(Atom::Div(..) | Atom::Mod(..), 1)] => BindingStrength::Product,
                [(_, 1)] => BindingStrength::Postfix,
                [_] => BindingStrength::Power,
                _ => BindingStrength::Product,
            },
            [(_, c)] if *c > 0 => BindingStrength::Product,
            _ => BindingStrength::Sum,
        };
        (p.to_string(), level)
    }
}

/// Returns `x != y` for `x == y`, and the reverse. `x != x` tests for NaN and has no such opposite.
fn opposite_equality(e: &SourceExpr) -> Option<SourceExpr> {
    let SourceExpr::Apply(ScalarOp::Binary(op), args) = e else { return None };
    let opposite = match (op, args.as_slice()) {
        (BinOp::Eq, _) => BinOp::Ne,
        (BinOp::Ne, [x, y]) if x != y => BinOp::Eq,
        _ => return None,
    };
    Some(SourceExpr::Apply(ScalarOp::Binary(opposite), args.clone()))
}

/// Returns whether it reads an element at a data-dependent place. Such a read may be valid only
/// where the other conjuncts hold.
fn has_nested_reads(p: &Pred) -> bool {
    let mut found = false;
    p.visit(
        &mut |p| {
            p.for_each_atom(&mut |a| {
                if let Atom::Read(_, _, at) = a {
                    at.iter().for_each(|p| p.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(..))));
                }
            });
        },
        &mut |_| {},
    );
    found
}

/// Returns a number that orders names alphabetically by their first two bytes.
fn alphabetical_key(name: &str) -> u32 {
    let letters = name.bytes().chain([0, 0]).take(2).map(u32::from);
    letters.fold(0, |sum, b| sum * 256 + b)
}

/// Prints `p >= 0` with its subtracted terms on the other side; the side with fewer terms is the
/// right one.
fn print_bound(p: &Poly) -> String {
    Pred::nonneg(p).to_string()
}

/// Recognises two bounds of one expression. Returns the lower bound, the expression, and the upper
/// bound (inclusive); neither bound depends on an index.
fn recognise_chain(a: &Pred, b: &Pred, has_index: &dyn Fn(&Poly) -> bool) -> Option<(Poly, Poly, Poly)> {
    let (Pred::Ge(p), Pred::Ge(q)) = (a, b) else { return None };
    let width = p.add(q);
    if !has_index(p) && !has_index(q) {
        // Without indices: one variable with a constant lower bound.
        let alone = |low: &Poly, high: &Poly| {
            let from = low.constant_part().checked_neg()?;
            let e = low.add_constant(from);
            let (by, to) = high.linear_in(e.as_atom()?)?;
            (by == -1 && !to.mentions(e.as_atom()?)).then(|| (Poly::constant(from), e.clone(), to))
        };
        return alone(p, q).or_else(|| alone(q, p));
    }
    if has_index(&width) || !has_index(p) {
        return None;
    }
    let fixed = |p: &Poly| {
        let terms = p.terms().iter().filter(|(m, c)| !has_index(&Poly::term(m.clone(), *c)));
        terms.fold(Poly::default(), |sum, (m, c)| sum.add(&Poly::term(m.clone(), *c)))
    };
    // The lower bound is the one with only a constant beside its indices, else the shorter one,
    // else the one whose leading index is added.
    let plain = |p: &Poly| fixed(p).as_constant().is_some();
    let first = match (plain(p), plain(q)) {
        (true, false) => true,
        (false, true) => false,
        _ if p.terms().len() != q.terms().len() => p.terms().len() < q.terms().len(),
        _ => has_positive_leading_index(p, has_index),
    };
    let (low, high) = if first { (p, q) } else { (q, p) };
    let (below, above) = (fixed(low), fixed(high));
    let e = low.sub(&below);
    let (from, to) = (below.neg(), above);
    // If the range would begin with a size, the sizes stay with the expression and the range begins
    // at 0.
    if from.as_constant().is_none() {
        return Some((Poly::default(), low.clone(), width));
    }
    Some((from, e, to))
}

/// Returns whether its first term with an index is added.
fn has_positive_leading_index(p: &Poly, has_index: &dyn Fn(&Poly) -> bool) -> bool {
    let first = p.terms().iter().find(|(m, c)| has_index(&Poly::term(m.clone(), *c)));
    first.is_none_or(|t| t.1 > 0)
}

/// Joins conjuncts with `&&`.
fn join_conjuncts(mut parts: PredicateParts) -> (String, BindingStrength) {
    match parts.len() {
        0 => ("true".to_owned(), BindingStrength::Postfix),
        1 => parts.pop().unwrap_or_default(),
        _ => (join(parts, " && ", BindingStrength::Not), BindingStrength::And),
    }
}

/// Joins the parts with a separator. A part that binds more loosely than `least` gets parentheses.
pub(super) fn join(parts: Vec<(String, BindingStrength)>, between: &str, least: BindingStrength) -> String {
    parts.into_iter().map(|p| parenthesise_below(p, least)).collect::<Vec<String>>().join(between)
}

/// Parenthesises the text if it binds more loosely than `least`.
pub(super) fn parenthesise_below((text, level): (String, BindingStrength), least: BindingStrength) -> String {
    if level < least { format!("({text})") } else { text }
}

/// Recognises bounds of a sum's index that form its range. Returns the start, the end (exclusive),
/// and the predicate without these bounds. `None` if the bounds leave the index's own range or
/// mention a later index.
pub(super) fn recognise_range(
    index: &Index,
    p: &Pred,
    later: &[Index],
    context: &FactContext,
) -> Option<(Poly, Poly, Pred)> {
    let (mut low, mut high) = (None, None);
    let mut rest = Vec::new();
    for q in p.conjuncts() {
        if !q.mentions(&index.atom()) {
            rest.push(q.clone());
            continue;
        }
        let bound = if let Pred::Ge(q) = q { q.linear_in(&index.atom()) } else { None };
        match bound {
            Some((1, e)) if low.is_none() => low = Some(e.neg()),
            Some((-1, e)) if high.is_none() => high = Some(e.add_constant(1)),
            Some((1 | -1, _)) => return None,
            _ => rest.push(q.clone()),
        }
    }
    if low.is_none() && high.is_none() {
        return None;
    }
    let (low, high) = (low.unwrap_or_default(), high.unwrap_or_else(|| index.extent.clone()));
    let fits = context.implies(&Pred::nonneg(&low)) && context.implies(&Pred::at_most(&high, &index.extent));
    let early = !later.iter().any(|i| low.mentions(&i.atom()) || high.mentions(&i.atom()));
    (fits && early).then(|| (low, high, Pred::all(rest)))
}
