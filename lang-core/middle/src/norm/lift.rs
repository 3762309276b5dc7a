//! **Let-lifting** (ATL Fig. 7): moves every `let` to the outermost level. It runs after
//! elaboration and before pair elimination. A binding inside a generation or a sum becomes an array
//! with an element for each index. A binding inside a bracket is computed where the bracket holds.
//! Calls, loops and updates are bound too, so that one with several results is evaluated once.
//!
//! Two rules are misprinted in the paper. In (5.7) a binding lifted out of a sum becomes a
//! generation. In (5.10) the inner binding comes first.

use super::hits::Hits;
use super::substitute;
use lang_base::guarded;
use lang_ir::core::{E, Expr, Function, Kind, Vars};
use lang_ir::reduce::Reduction;
use lang_sizes::predicate::{Index, LocalId, Poly};

/// The names under which rules are counted.
pub const RULES: &[&str] = &["5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "5.10", REDUCTION, ORDER];

/// The rule for a binding in a reduction other than a sum, which the paper lacks.
const REDUCTION: &str = "lifted out of a reduction";

/// The rule for a binding in an order.
const ORDER: &str = "lifted out of an order";

type Bindings = Vec<(LocalId, E)>;

/// Returns the function with all its `let`s in one list, before a body without any.
#[must_use]
pub fn lift(function: &Function, hits: &mut Hits) -> Function {
    let mut pass = Lift { vars: function.vars.clone(), hits };
    let (bindings, body) = pass.lift(&function.body);
    let body = Expr::lets(bindings, body);
    Function { body, vars: pass.vars, ..function.clone() }
}

/// Returns whether the expression has the form that [`lift`] produces:
/// `Le ::= e | let x = e in Le`. No other `let` may occur. A call may occur only as the value of a
/// binding, inside generations, brackets and checks.
#[must_use]
pub fn is_lifted(e: &E) -> bool {
    fn plain(e: &E) -> bool {
        let mut good = !matches!(e.kind, Kind::Let(..) | Kind::Call(..) | Kind::Loop(..) | Kind::Update(..));
        e.for_each_child(&mut |e| good = good && guarded(|| plain(e)));
        good
    }
    fn bound(e: &E) -> bool {
        match &e.kind {
            Kind::Gen(_, e) | Kind::Guard(_, e) | Kind::Check(_, _, e) => bound(e),
            Kind::Call(_, _, args) | Kind::Loop(_, args) => args.iter().all(plain),
            Kind::Update(_, base, value) => plain(base) && plain(value),
            _ => plain(e),
        }
    }
    match &e.kind {
        Kind::Let(bindings, body) => bindings.iter().all(|(_, e)| bound(e)) && plain(body),
        _ => plain(e),
    }
}

/// Whether the expression must be bound wherever it occurs.
fn is_called(e: &E) -> bool {
    matches!(e.kind, Kind::Call(..) | Kind::Loop(..) | Kind::Update(..))
}

struct Lift<'a> {
    vars: Vars,
    hits: &'a mut Hits,
}

impl Lift<'_> {
    fn lift(&mut self, e: &E) -> (Bindings, E) {
        guarded(|| self.lift_node(e))
    }

    fn lift_node(&mut self, e: &E) -> (Bindings, E) {
        match &e.kind {
            Kind::Let(bindings, body) => {
                let mut all = Bindings::new();
                for (x, value) in bindings {
                    let called = is_called(value);
                    let (inner, value) = self.lift(value);
                    self.count("5.10", &inner);
                    all.extend(inner);
                    match all.last_mut() {
                        // The result of a call keeps the name to which the program binds it.
                        Some((y, _)) if called && matches!(value.kind, Kind::Var(v) if v == *y) => *y = *x,
                        _ => all.push((*x, value)),
                    }
                }
                let (inner, body) = self.lift(body);
                all.extend(inner);
                (all, body)
            }
            Kind::Gen(index, body) | Kind::Sum(index, body) => {
                let generates = matches!(e.kind, Kind::Gen(..));
                let (inner, body) = self.lift(body);
                self.count(if generates { "5.6" } else { "5.7" }, &inner);
                let (all, body) = self.out_of(index, inner, &body);
                let kind = if generates { Kind::Gen(index.clone(), body) } else { Kind::Sum(index.clone(), body) };
                (all, e.with(kind, e.ty.clone()))
            }
            Kind::Order(index, body) => {
                let (inner, body) = self.lift(body);
                self.count(ORDER, &inner);
                let (all, body) = self.out_of(index, inner, &body);
                (all, e.with(Kind::Order(index.clone(), body), e.ty.clone()))
            }
            Kind::Reduce(r) => {
                let (inner, body) = self.lift(&r.body);
                self.count(REDUCTION, &inner);
                let all = inner.into_iter().map(|(x, value)| (x, Expr::guard(r.terms.clone(), value))).collect();
                let (all, body) = r.indices.iter().rev().fold((all, body), |(all, body), i| self.out_of(i, all, &body));
                (all, e.with(Kind::Reduce(Box::new(Reduction { body, ..(**r).clone() })), e.ty.clone()))
            }
            Kind::Guard(p, body) => {
                let (inner, body) = self.lift(body);
                self.count("5.9", &inner);
                let guarded = inner.into_iter().map(|(x, value)| (x, Expr::guard(p.clone(), value)));
                (guarded.collect(), Expr::guard(p.clone(), body))
            }
            Kind::Check(p, what, body) => {
                let (inner, body) = self.lift(body);
                self.count("5.9", &inner);
                let check = |e: E| e.with(Kind::Check(p.clone(), what.clone(), e.clone()), e.ty.clone());
                (inner.into_iter().map(|(x, value)| (x, check(value))).collect(), check(body))
            }
            _ => {
                let rule = match &e.kind {
                    Kind::Add(_) => "5.1",
                    Kind::Mul(..) => "5.2",
                    Kind::Tuple(_) => "5.4",
                    Kind::Proj(..) => "5.5",
                    Kind::Access(..) => "5.8",
                    _ => "5.3",
                };
                let mut all = Bindings::new();
                let lifted = e.map(
                    &mut |e| {
                        let (inner, e) = self.lift(e);
                        all.extend(inner);
                        e
                    },
                    &Poly::clone,
                    &lang_sizes::predicate::Pred::clone,
                );
                self.count(rule, &all);
                if is_called(e) {
                    let x = self.vars.made("y");
                    let var = lifted.with(Kind::Var(x), lifted.ty.clone());
                    all.push((x, lifted));
                    return (all, var);
                }
                (all, lifted)
            }
        }
    }

    /// Moves bindings out of the range of an index. Each becomes an array with an element for each
    /// index.
    fn out_of(&mut self, index: &Index, inner: Bindings, body: &E) -> (Bindings, E) {
        let mut lifted = Vec::new();
        let mut all = Bindings::new();
        for (x, value) in inner {
            // A binder is bound only once, so each copy has an index of its own.
            let own = self.vars.index(index.name.clone(), index.extent.clone());
            let value = substitute::read_at(&value, &lifted, &index.value());
            let put = |p: &Poly| p.substitute(&|a| (*a == index.atom()).then(|| own.value()));
            all.push((x, Expr::generate(own.clone(), substitute::expr(&value, &put))));
            lifted.push(x);
        }
        let body = substitute::read_at(body, &lifted, &index.value());
        (all, body)
    }

    fn count(&mut self, rule: &'static str, lifted: &Bindings) {
        if !lifted.is_empty() {
            self.hits.count(rule);
        }
    }
}
