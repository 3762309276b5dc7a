//! **Provenance** of Tensor SSA statements, in all definitions in the library and of the test
//! programs. A definition's statement must have a span in the text. A derivative's statement must
//! have an existing primal statement and an existing rule.

use std::collections::BTreeSet;
use std::sync::Arc;

use iverson_tests::golden;
use lang_core::ad;
use lang_core::base::{GlobalName, Span};
use lang_core::ir::core::{DerivativeKind, FunctionKey};
use lang_core::ir::origin::{NON_RULE_NAMES, OriginKind, VALUE};
use lang_core::ir::ssa::{Rhs, StmtId};
use lang_core::norm::ElabQueries;
use lang_core::pipeline::{MemoisedForms, SsaWithOrigins};
use lang_core::session::{LIBRARY, Session};
use lang_core::source::callee_at_f64;
use lang_core::syntax::split::ItemKind;

/// A check of a function's statements, with the faults of their origins.
struct OriginChecker<'a> {
    session: &'a Session,
    module: &'a MemoisedForms<'a>,
    wrong: Vec<String>,
    /// The number of statements, and the rules that produced them.
    statements: usize,
    rules: BTreeSet<&'static str>,
}

impl OriginChecker<'_> {
    fn check(&mut self, callee: &Arc<FunctionKey>) {
        let Some(SsaWithOrigins { ssa, origins }) = self.module.ssa_with_origins(callee) else { return };
        // The number of statements in the differentiated function; `None` for a definition itself.
        let primal = callee.derivatives.split_last().map(|(_, before)| {
            let of = FunctionKey { derivatives: before.into(), ..(**callee).clone() };
            self.module.ssa(&Arc::new(of)).map_or(0, |ssa| ssa.stmts.len())
        });
        let text = self.session.item(&callee.def).map(|item| item.text).unwrap_or_default();
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            let var = StmtId(k);
            self.statements += 1;
            let mut none = true;
            for origin in origins.origins_of(var) {
                none = false;
                let good = match (origin.kind, primal) {
                    (OriginKind::Input, None) => matches!(stmt.rhs, Rhs::Input(_)),
                    (OriginKind::SourceExpr(place), None) => {
                        let inside = text.get(place.range()).is_some_and(|t| !t.trim().is_empty());
                        inside && origins.statements_at(place).any(|v| v == var)
                    }
                    (OriginKind::PrimalStatement(of, rule), Some(primal)) => {
                        let all = [ad::forward::RULES, ad::adjoint::RULES, NON_RULE_NAMES];
                        self.rules.insert(rule);
                        let found = rule == VALUE || origins.derived_from(of).any(|v| v == var);
                        found && all.iter().any(|rules| rules.contains(&rule)) && (of.0 as usize) < primal
                    }
                    _ => false,
                };
                let inlined = origins.inlined(origin);
                let known = inlined
                    .is_none_or(|(of, v)| self.module.ssa(of).is_some_and(|ssa| (v.0 as usize) < ssa.stmts.len()));
                if !good || !known {
                    self.wrong.push(format!("{callee} X{k}: {origin:?}"));
                }
            }
            if none {
                self.wrong.push(format!("{callee} X{k} comes from nowhere"));
            }
        }
        // A check must have a position too.
        for check in &ssa.checks {
            let body = self.session.body(&check.failure.item);
            let nodes = body.map_or(0, |body| body.nodes.len());
            if check.failure.node.is_none_or(|node| node.index() >= nodes) {
                self.wrong.push(format!("{callee} {:?}", check.failure));
            }
        }
    }
}

#[test]
fn every_statement_comes_from_somewhere() {
    let programs = golden::programs().expect("the programs can be read");
    let session = golden::session(&programs);
    let module = MemoisedForms::new(&session);
    let names = LIBRARY.iter().map(|(name, _)| (*name).to_owned()).chain(programs.keys().map(|n| golden::module(n)));
    let (wrong, rules) = (Vec::new(), BTreeSet::new());
    let mut checked = OriginChecker { session: &session, module: &module, wrong, statements: 0, rules };
    for name in names {
        for item in session.items(&name).into_iter().filter(|i| i.kind == ItemKind::Def) {
            let def = GlobalName::new(&name, &item.name);
            let Some(callee) = callee_at_f64(&session, &def) else { continue };
            let Ok(stages) = module.stages(&callee) else { continue };
            checked.check(&callee);
            let (of, wrt) = (ad::real_outputs(&stages.ssa), ad::real_inputs(&stages.ssa));
            if of.is_empty() || wrt.is_empty() {
                continue;
            }
            let forward = DerivativeKind::Forward(wrt.clone().into());
            let adjoint = DerivativeKind::Adjoint { outputs: of.into(), wrt: wrt.into() };
            checked.check(&Arc::new(callee.derivative(forward.clone())));
            let adjoint = Arc::new(callee.derivative(adjoint));
            checked.check(&adjoint);
            checked.check(&Arc::new(adjoint.derivative(forward)));
        }
    }
    assert!(checked.wrong.is_empty(), "{} wrong:\n{}", checked.wrong.len(), checked.wrong.join("\n"));
    assert!(checked.statements > 10_000, "{} statements", checked.statements);
    for rule in ["6.1", "6.4", "6.5", "6.6", "6.10", "6.13", "6.16", "6.19", "6.25", "6.26", "6.27", "6.28", "6.29"] {
        assert!(checked.rules.contains(rule), "nothing was made by {rule}: {:?}", checked.rules);
    }
    for name in NON_RULE_NAMES {
        assert!(checked.rules.contains(name), "nothing is {name}: {:?}", checked.rules);
    }
}

const SMALL: &str = "\
def square(x: f64) -> f64 = x * x

def loss(x: [n]f64, w: f64) -> f64 =
  let r = for i: square(x[i]) - w
  in (sum i: w * r[i]) + square(w)
";

/// Follows an expression of the text to the statements of the adjoint that derive from it.
#[test]
fn from_the_text_to_the_adjoint() {
    let mut session = Session::new();
    session.set_text("a.iv", SMALL);
    let def = GlobalName::new("a.iv", "loss");
    let text = session.item(&def).expect("it is there").text;
    let callee = callee_at_f64(&session, &def).expect("it is there");
    let traced = session.traced(&callee).expect("it has forms");
    let adjoint = DerivativeKind::Adjoint { outputs: Arc::from([0]), wrt: Arc::from([0, 1]) };
    let derived = session.traced(&Arc::new(callee.derivative(adjoint))).expect("it has an adjoint");
    let mut shown = String::new();
    for part in ["square(x[i])", "square(x[i]) - w", "sum i: w * r[i]", "square(w)", "r[i]", "x[i]"] {
        let start = u32::try_from(text.rfind(part).expect("it is there")).expect("it is short");
        let place = Span::new(start, start + u32::try_from(part.len()).expect("it is short"));
        for var in traced.origins.statements_at(place) {
            let by = derived.origins.derived_from(var).map(|v| v.name().to_string()).collect::<Vec<_>>().join(" ");
            shown += &format!("{part}: {}, derivative {by}\n", var.name());
        }
    }
    expect_test::expect![[r#"
        square(x[i]): X2, derivative X9 X12
        square(x[i]) - w: X3, derivative X9 X11
        sum i: w * r[i]: X5, derivative X7 X8 X9
        square(w): X4, derivative X7 X10
        r[i]: X3, derivative X9 X11
        x[i]: X0, derivative X14
        ssa loss[n](x: [n]f64, w: f64) -> f64 =
          X0[i0 < n]: f64 = input x  -- x
          X1: f64 = input w  -- w
          X2[i0 < n]: f64 = X0[i0] * X0[i0]
          X3[i0 < n]: f64 = X2[i0] - X1  -- r
          X4: f64 = X1 * X1
          X5: f64 = sum i0 < n: X1 * X3[i0]
          X6: f64 = X5 + X4
          out X6
        ssa loss_adj{0; 0, 1}[n](x: [n]f64, w: f64) -> (f64, [n]f64, f64) =
          X0[i0 < n]: f64 = input x  -- x
          X1: f64 = input w  -- w
          X2[i0 < n]: f64 = X0[i0] * X0[i0]
          X3[i0 < n]: f64 = X2[i0] - X1  -- r
          X4: f64 = X1 * X1
          X5: f64 = sum i0 < n: X1 * X3[i0]
          X6: f64 = X5 + X4
          X7: f64 = input y_adj = adj 0  -- y_adj
          X8: f64 = sum i0 < n: X3[i0] * X7
          X9: f64 = [0 < n] * X1 * X7
          X10: f64 = X1 * X7
          X11: f64 = -sum i0 < n: X9
          X12[i0 < n]: f64 = X0[i0] * X9
          X13: f64 = [0 < n] * X8 + X10 + X10 + [0 < n] * X11  -- w_adj
          X14[i0 < n]: f64 = X12[i0] + X12[i0]  -- x_adj
          out X6, X14, X13
    "#]]
    .assert_eq(&format!("{shown}{}{}", traced.ssa, derived.ssa));
}
