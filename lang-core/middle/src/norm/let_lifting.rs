//! **Let-lifting** (ATL Fig. 7): moves every `let` to the outermost level. It runs after
//! elaboration and before pair elimination. A binding inside a generation or a sum becomes an array
//! with an element for each index. A binding inside a bracket is computed where the bracket holds.
//! Calls, loops and updates are bound too, so that one with several results is evaluated once.
//!
//! Two rules are misprinted in the paper. In (5.7) a binding lifted out of a sum becomes a
//! generation. In (5.10) the inner binding comes first.

use super::rule_coverage::RuleCoverage;
use super::substitute;
use lang_base::{check_cancelled, ensure_sufficient_stack};
use lang_ir::core::{CoreExpr, CoreFunction, ExprKind, ExprRef, Vars};
use lang_ir::reduce::CoreReduction;
use lang_sizes::predicate::{Index, LocalId, Poly};

/// The names under which rules are counted.
pub const RULES: &[&str] = &["5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "5.10", REDUCTION, ORDER];

/// The rule for a binding in a reduction other than a sum, which the paper lacks.
const REDUCTION: &str = "lifted out of a reduction";

/// The rule for a binding in an order.
const ORDER: &str = "lifted out of a sort";

type LetBindings = Vec<(LocalId, ExprRef)>;

/// Returns the function with all its `let`s in one list, before a body without any.
#[must_use]
pub fn lift_lets(function: &CoreFunction, hits: &mut RuleCoverage) -> CoreFunction {
    let mut pass = LetLifter { vars: function.vars.clone(), hits };
    let (bindings, body) = pass.lift_expr(&function.body);
    let body = CoreExpr::lets(bindings, body);
    CoreFunction { body, vars: pass.vars, ..function.clone() }
}

/// Returns whether the expression has the form that [`lift_lets`] produces:
/// `Le ::= e | let x = e in Le`. No other `let` may occur. A call may occur only as the value of a
/// binding, inside generations, brackets and checks.
#[must_use]
pub fn is_lifted(e: &ExprRef) -> bool {
    fn plain(e: &ExprRef) -> bool {
        let mut good =
            !matches!(e.kind, ExprKind::Let(..) | ExprKind::Call(..) | ExprKind::Loop(..) | ExprKind::Update(..));
        e.for_each_child(&mut |e| good = good && ensure_sufficient_stack(|| plain(e)));
        good
    }
    fn bound(e: &ExprRef) -> bool {
        match &e.kind {
            ExprKind::Gen(_, e) | ExprKind::Guard(_, e) | ExprKind::Check(_, _, e) => bound(e),
            ExprKind::Call(_, _, args) | ExprKind::Loop(_, args) => args.iter().all(plain),
            ExprKind::Update(_, base, value) => plain(base) && plain(value),
            _ => plain(e),
        }
    }
    match &e.kind {
        ExprKind::Let(bindings, body) => bindings.iter().all(|(_, e)| bound(e)) && plain(body),
        _ => plain(e),
    }
}

/// Whether the expression must be bound wherever it occurs.
fn needs_binding(e: &ExprRef) -> bool {
    matches!(e.kind, ExprKind::Call(..) | ExprKind::Loop(..) | ExprKind::Update(..))
}

struct LetLifter<'a> {
    vars: Vars,
    hits: &'a mut RuleCoverage,
}

impl LetLifter<'_> {
    fn lift_expr(&mut self, e: &ExprRef) -> (LetBindings, ExprRef) {
        check_cancelled();
        ensure_sufficient_stack(|| self.lift_node(e))
    }

    fn lift_node(&mut self, e: &ExprRef) -> (LetBindings, ExprRef) {
        match &e.kind {
            ExprKind::Let(bindings, body) => {
                let mut all = LetBindings::new();
                for (x, value) in bindings {
                    let called = needs_binding(value);
                    let (inner, value) = self.lift_expr(value);
                    self.count_rule("5.10", &inner);
                    all.extend(inner);
                    match all.last_mut() {
                        // The result of a call keeps the name to which the program binds it.
                        Some((y, _)) if called && matches!(value.kind, ExprKind::Var(v) if v == *y) => *y = *x,
                        _ => all.push((*x, value)),
                    }
                }
                let (inner, body) = self.lift_expr(body);
                all.extend(inner);
                (all, body)
            }
            ExprKind::Gen(index, body) | ExprKind::Sum(index, body) => {
                let generates = matches!(e.kind, ExprKind::Gen(..));
                let (inner, body) = self.lift_expr(body);
                self.count_rule(if generates { "5.6" } else { "5.7" }, &inner);
                let (all, body) = self.lift_out_of_index(index, inner, &body);
                let kind =
                    if generates { ExprKind::Gen(index.clone(), body) } else { ExprKind::Sum(index.clone(), body) };
                (all, e.with_kind(kind, e.ty.clone()))
            }
            ExprKind::Argsort(index, body) => {
                let (inner, body) = self.lift_expr(body);
                self.count_rule(ORDER, &inner);
                let (all, body) = self.lift_out_of_index(index, inner, &body);
                (all, e.with_kind(ExprKind::Argsort(index.clone(), body), e.ty.clone()))
            }
            ExprKind::Reduce(r) => {
                let (inner, body) = self.lift_expr(&r.body);
                self.count_rule(REDUCTION, &inner);
                let all = inner.into_iter().map(|(x, value)| (x, CoreExpr::guard(r.filter.clone(), value))).collect();
                let (all, body) =
                    r.indices.iter().rev().fold((all, body), |(all, body), i| self.lift_out_of_index(i, all, &body));
                (all, e.with_kind(ExprKind::Reduce(Box::new(CoreReduction { body, ..(**r).clone() })), e.ty.clone()))
            }
            ExprKind::Guard(p, body) => {
                let (inner, body) = self.lift_expr(body);
                self.count_rule("5.9", &inner);
                let guarded = inner.into_iter().map(|(x, value)| (x, CoreExpr::guard(p.clone(), value)));
                (guarded.collect(), CoreExpr::guard(p.clone(), body))
            }
            ExprKind::Check(p, what, body) => {
                let (inner, body) = self.lift_expr(body);
                self.count_rule("5.9", &inner);
                let check = |e: ExprRef| e.with_kind(ExprKind::Check(p.clone(), what.clone(), e.clone()), e.ty.clone());
                (inner.into_iter().map(|(x, value)| (x, check(value))).collect(), check(body))
            }
            _ => {
                let rule = match &e.kind {
                    ExprKind::Add(_) => "5.1",
                    ExprKind::Mul(..) => "5.2",
                    ExprKind::Tuple(_) => "5.4",
                    ExprKind::Proj(..) => "5.5",
                    ExprKind::Access(..) => "5.8",
                    _ => "5.3",
                };
                let mut all = LetBindings::new();
                let lifted = e.map(
                    &mut |e| {
                        let (inner, e) = self.lift_expr(e);
                        all.extend(inner);
                        e
                    },
                    &Poly::clone,
                    &lang_sizes::predicate::Pred::clone,
                );
                self.count_rule(rule, &all);
                if needs_binding(e) {
                    let x = self.vars.fresh_synthetic("y");
                    let var = lifted.with_kind(ExprKind::Var(x), lifted.ty.clone());
                    all.push((x, lifted));
                    return (all, var);
                }
                (all, lifted)
            }
        }
    }

    /// Moves bindings out of the range of an index. Each becomes an array with an element for each
    /// index.
    fn lift_out_of_index(&mut self, index: &Index, inner: LetBindings, body: &ExprRef) -> (LetBindings, ExprRef) {
        let mut lifted = Vec::new();
        let mut all = LetBindings::new();
        for (x, value) in inner {
            // A binder is bound only once, so each copy has an index of its own.
            let own = self.vars.fresh_index(index.name.clone(), index.extent.clone());
            let value = substitute::index_variables(&value, &lifted, &index.value());
            let put = |p: &Poly| p.substitute(&|a| (*a == index.atom()).then(|| own.value()));
            all.push((x, CoreExpr::generate(own.clone(), substitute::substitute_expr(&value, &put))));
            lifted.push(x);
        }
        let body = substitute::index_variables(body, &lifted, &index.value());
        (all, body)
    }

    fn count_rule(&mut self, rule: &'static str, lifted: &LetBindings) {
        if !lifted.is_empty() {
            self.hits.count(rule);
        }
    }
}
