//! **Cost report.** Prints the costs of a definition and its derivatives as formulas in its sizes,
//! with the certificate that bounds the adjoint. `iverson cost` and `:cost` show it, as text or
//! JSON.

use std::sync::Arc;

use lang_core::base::{Code, GlobalName, Name};
use lang_core::certify::{CertificateVerdict, SizeAssignment};
use lang_core::cost::{self, Amount, CostFormulas, CostRatio, CostSymbol, CostSymbolKind, symbol_number};
use lang_core::count::Formula;
use lang_core::ir::core::FunctionKey;
use lang_core::ir::ssa::StmtId;
use lang_core::opt::{multiversion, optimise};
use lang_core::predicate::{Atom, FactContext, LocalId, Poly, Pred};
use lang_core::types::ty::{Signature, Type};

use super::Engine;
use super::origins::LocatedText;
use crate::interrupt;
use crate::json;
use crate::problem::Problem;

/// The widest cell that sets the width of its column; a wider one sticks out.
pub(crate) const MAX_COLUMN_WIDTH: usize = 100;

/// The most symbols that are listed per function; further ones are only counted.
const MAX_LISTED_SYMBOLS: usize = 12;

/// The costs of a definition and of its derivatives.
pub(crate) struct CostFormulaReport {
    name: Name,
    sizes: Vec<Name>,
    /// The primal, its forward derivative and its adjoint.
    functions: Vec<FunctionFormulas>,
    /// The costs after the passes of the optimiser, where they differ.
    optimised: Vec<OptimisedFormulas>,
    bound: Option<Arc<CostRatio>>,
}

/// The cost of one function.
struct FunctionFormulas {
    role: &'static str,
    cost: Arc<CostFormulas>,
    /// The description of each symbol in the cost.
    symbol_descriptions: Vec<String>,
    /// The printed names of the symbols.
    symbol_names: Vec<Poly>,
    /// The summands of the cost, each with the place that it comes from.
    terms: Vec<(Option<LocatedText>, Amount)>,
}

/// The cost of one function after the passes of the optimiser.
struct OptimisedFormulas {
    /// The condition on sizes under which this form runs.
    condition: Pred,
    formulas: FunctionFormulas,
}

/// Returns the functions of a report: the definition, and its derivatives with respect to all real
/// arguments.
pub(crate) fn with_derivatives(engine: &Engine, callee: &Arc<FunctionKey>) -> Vec<(&'static str, Arc<FunctionKey>)> {
    let derived = engine.session().derivatives(callee).into_iter().flatten();
    [("primal", Arc::clone(callee))].into_iter().chain(["forward", "adjoint"].into_iter().zip(derived)).collect()
}

/// Returns the callee of a definition with `f64` for each type parameter, as in most calls.
pub(crate) fn f64_callee(name: &GlobalName, signature: &Signature) -> Arc<FunctionKey> {
    Arc::new(FunctionKey::new(name.clone(), vec![Type::F64; signature.type_params.len()]))
}

impl Engine {
    /// Returns the costs of a definition. Ctrl-C interrupts the computation.
    pub(crate) fn costs(&self, name: &GlobalName) -> Result<CostFormulaReport, Box<Problem>> {
        let interrupted = || Err(Box::new(Problem::new(Code::E0507, "interrupted")));
        interrupt::run_query(&self.session, |_| self.compute_costs(name)).unwrap_or_else(interrupted)
    }

    fn compute_costs(&self, name: &GlobalName) -> Result<CostFormulaReport, Box<Problem>> {
        let signature = self.signature(name).ok_or_else(|| self.unknown_definition_error(name))?;
        let callee = f64_callee(name, &signature);
        self.session().stages(&callee).map_err(|why| self.no_core_form_error(name, &why))?;
        let mut all: Vec<FunctionFormulas> = Vec::new();
        let mut optimised = Vec::new();
        let mut bound = None;
        for (of, callee) in with_derivatives(self, &callee) {
            let Some(cost) = self.session().cost(&callee) else { continue };
            if of == "adjoint" {
                bound = self.session().bound(&callee);
            }
            let symbols = cost.symbols.iter().map(|s| self.describe_symbol(&callee, s, &cost)).collect();
            let terms = self.session().terms(&callee).into_iter();
            let terms = terms.map(|t| (t.location.map(|(item, at)| self.located_text(&item, at)), t.amount));
            let letter = match of {
                "primal" => 'p',
                "forward" => 't',
                _ => 'a',
            };
            let primal: Vec<(&CostSymbol, &Poly)> =
                all.first().map(|one| one.cost.symbols.iter().zip(&one.symbol_names).collect()).unwrap_or_default();
            let names = name_symbols(letter, &cost.symbols, &primal);
            let formulas = FunctionFormulas {
                role: of,
                symbol_descriptions: symbols,
                symbol_names: names,
                terms: terms.collect(),
                cost,
            };
            optimised.extend(self.optimised_costs(&callee, &formulas));
            all.push(formulas);
        }
        let sizes = signature.sizes.iter().map(|s| s.name.clone()).collect();
        Ok(CostFormulaReport { name: name.name.clone(), sizes, functions: all, optimised, bound })
    }

    /// Returns the costs of a function after the passes, for each condition on sizes under which
    /// they differ from those of its Tensor SSA.
    fn optimised_costs(&self, callee: &Arc<FunctionKey>, of: &FunctionFormulas) -> Vec<OptimisedFormulas> {
        let session = self.session();
        let Some(ssa) = session.ssa(callee) else { return Vec::new() };
        let callees = |callee: &Arc<FunctionKey>| Some((session.ssa(callee)?, session.cost(callee)?));
        let mut all = Vec::new();
        for (condition, case) in multiversion::conditional_cases(&ssa) {
            let optimised = optimise(&case, &self.passes, &|callee| session.ssa(callee));
            let cost = Arc::new(cost::cost_assuming(&optimised.ssa, std::slice::from_ref(&condition), &callees));
            let describe = |symbol: &CostSymbol| {
                // A place is that of the original statement.
                let origin = |k: &u32| optimised.origins.get(*k as usize).map_or(*k, |v| v.0);
                let path = symbol.path.iter().take(1).map(origin).chain(symbol.path.iter().skip(1).copied());
                let symbol = CostSymbol { path: path.collect(), ..symbol.clone() };
                self.describe_symbol(callee, &symbol, &cost)
            };
            let earlier: Vec<(&CostSymbol, &Poly)> = of.cost.symbols.iter().zip(&of.symbol_names).collect();
            let formulas = FunctionFormulas {
                role: of.role,
                symbol_descriptions: cost.symbols.iter().map(describe).collect(),
                symbol_names: name_symbols('o', &cost.symbols, &earlier),
                terms: Vec::new(),
                cost: Arc::clone(&cost),
            };
            let shown =
                |one: &FunctionFormulas| [&one.cost.total.work, &one.cost.total.iterations].map(|f| one.render(f));
            if shown(&formulas) != shown(of) {
                all.push(OptimisedFormulas { condition, formulas });
            }
        }
        all
    }

    /// Describes a symbol of a cost, with its place and its upper bound.
    fn describe_symbol(&self, callee: &Arc<FunctionKey>, s: &CostSymbol, cost: &CostFormulas) -> String {
        let what = match s.kind {
            CostSymbolKind::Terms(_) => "number of terms",
            CostSymbolKind::NonemptyElements => "number of elements with a term",
            CostSymbolKind::Trips => "trip count",
            CostSymbolKind::Value => "value",
            CostSymbolKind::Work => "work",
            CostSymbolKind::Tests => "tests",
            CostSymbolKind::Iterations => "iterations",
            CostSymbolKind::StoredBytes => "kept bytes",
        };
        let place = s.path.first().and_then(|k| self.source_text(callee, StmtId(*k)));
        let most = s
            .upper_bound
            .as_ref()
            .map(|most| format!(", at most {}", most.math_text(&cost.positive_context(), &cost.names)));
        format!("{what}{}{}", place.map(|p| format!(": {p}")).unwrap_or_default(), most.unwrap_or_default())
    }
}

/// Names the symbols of a cost. Symbols with the same content share one name: the name in the
/// primal if it has the content, or else that of the first symbol. `earlier` holds the primal's
/// symbols with their names.
fn name_symbols(letter: char, own: &[CostSymbol], earlier: &[(&CostSymbol, &Poly)]) -> Vec<Poly> {
    let mut all: Vec<Poly> = Vec::new();
    for (k, symbol) in own.iter().enumerate() {
        let known = earlier.iter().copied().chain(own.iter().zip(&all));
        let content = |s: &CostSymbol| s.content.map(|c| c.hash_value());
        let wanted = content(symbol);
        let same = known.filter(|(s, _)| wanted.is_some() && content(s) == wanted).map(|(_, name)| name).next();
        let same = same.cloned();
        all.push(same.unwrap_or_else(|| {
            // Each needs an id of its own, because a name alone does not distinguish atoms.
            let id = u32::try_from(earlier.len() + k).unwrap_or(0);
            Poly::atom(Atom::Local(LocalId(u32::MAX - id), format!("{letter}{k}").into()))
        }));
    }
    all
}

/// Returns the sorted numbers of the symbols that formulas mention.
fn mentioned_symbols<'f>(of: impl IntoIterator<Item = &'f Formula>) -> Vec<usize> {
    let mut found = Vec::new();
    for piece in of.into_iter().flat_map(Formula::pieces) {
        let mut note = |a: &Atom| found.extend(symbol_number(a));
        piece.value.as_fraction().0.for_each_atom(&mut note);
        piece.pred.visit(&mut |p| p.for_each_atom(&mut note), &mut |_| {});
    }
    found.sort_unstable();
    found.dedup();
    found
}

impl FunctionFormulas {
    /// Replaces the symbols of a formula by their printed names.
    fn with_symbol_names(&self, of: &Formula) -> Formula {
        of.substitute(&|a| self.symbol_names.get(symbol_number(a)?).cloned())
    }

    /// Yields the symbols that this function's formulas mention, with their descriptions. Leaves
    /// out symbols that the primal's legend has already explained.
    fn legend<'c>(&'c self, all: &'c [Self]) -> impl Iterator<Item = (String, &'c str)> {
        let before = all.first().filter(|one| one.role != self.role).into_iter();
        let before = before
            .flat_map(|one| mentioned_symbols(one.formulas()).into_iter().filter_map(|k| one.symbol_names.get(k)));
        let mut explained_symbols: Vec<&Poly> = before.collect();
        let used = mentioned_symbols(self.formulas()).into_iter();
        used.filter_map(move |k| {
            let name = self.symbol_names.get(k)?;
            if explained_symbols.contains(&name) {
                return None;
            }
            explained_symbols.push(name);
            Some((name.to_string(), self.symbol_descriptions.get(k)?.as_str()))
        })
    }

    fn render(&self, of: &Formula) -> String {
        self.with_symbol_names(of).math_text(&self.cost.positive_context(), &self.cost.names)
    }

    fn render_max(&self, of: &[Formula]) -> String {
        match of {
            [] => "0".to_owned(),
            [one] => self.render(one),
            all => format!("max({})", all.iter().map(|f| self.render(f)).collect::<Vec<_>>().join(", ")),
        }
    }

    fn formulas(&self) -> impl Iterator<Item = &Formula> {
        let total = &self.cost.total;
        [&total.work, &total.tests, &total.iterations].into_iter()
    }
}

impl CostFormulaReport {
    /// Renders the costs for people.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}", self.name);
        let known: Vec<String> =
            self.functions.iter().flat_map(|one| one.cost.sizes()).map(ToString::to_string).collect();
        let sizes: Vec<&str> = self.sizes.iter().map(Name::as_str).filter(|n| known.iter().any(|k| k == n)).collect();
        if !sizes.is_empty() {
            text += &format!(", for {} of at least 1", sizes.join(", "));
        }
        text += "\n\n";
        for one in &self.functions {
            let total = &one.cost.total;
            let mut rows = vec![("work", one.render(&total.work)), ("iterations", one.render(&total.iterations))];
            if !total.tests.pieces().is_empty() {
                rows.push(("tests", one.render(&total.tests)));
            }
            rows.push(("span", format!("≤ {}", one.render_max(one.cost.span.formulas()))));
            if !one.cost.stored_bytes.formulas().is_empty() {
                rows.push(("kept", format!("≤ {} bytes", one.render_max(one.cost.stored_bytes.formulas()))));
            }
            if one.role == "primal" {
                rows.push(("io", one.render(&one.cost.io_elements)));
            }
            for (k, (what, formula)) in rows.iter().enumerate() {
                text += &format!("{:<8} {what:<10}  {formula}\n", if k == 0 { one.role } else { "" });
            }
        }
        if let Some(verdict) = self.certificate_text() {
            text += &format!("\n{verdict}\n");
        }
        text += &self.optimised_text();
        text += &self.work_by_origin();
        let mut where_told = String::new();
        for one in self.functions.iter().chain(self.optimised.iter().map(|one| &one.formulas)) {
            let legend: Vec<_> = one.legend(&self.functions).collect();
            let legend: Vec<_> =
                legend.into_iter().filter(|(name, _)| !where_told.contains(&format!("  {name}  "))).collect();
            for (name, what) in legend.iter().take(MAX_LISTED_SYMBOLS) {
                where_told += &format!("  {name}  {what}\n");
            }
            if legend.len() > MAX_LISTED_SYMBOLS {
                where_told += &format!("  … and {} more of the {}\n", legend.len() - MAX_LISTED_SYMBOLS, one.role);
            }
        }
        if !where_told.is_empty() {
            text += &format!("\nsymbols that depend on data\n{where_told}");
        }
        text
    }

    /// Renders the costs after the passes of the optimiser.
    fn optimised_text(&self) -> String {
        let mut text = String::new();
        for OptimisedFormulas { condition, formulas } in &self.optimised {
            let total = &formulas.cost.total;
            let condition = if condition.is_true() { String::new() } else { format!("  where {condition}") };
            text += &format!("  {:<8} work        {}{condition}\n", formulas.role, formulas.render(&total.work));
            text += &format!("  {:<8} iterations  {}\n", "", formulas.render(&total.iterations));
        }
        if text.is_empty() { text } else { format!("\nafter the passes of the optimiser\n{text}") }
    }

    /// Renders the table of the places that the work of the primal and of the adjoint comes from.
    fn work_by_origin(&self) -> String {
        let mut rows = Vec::new();
        for one in self.functions.iter().filter(|one| one.role != "forward") {
            let work_terms = one.terms.iter().filter(|(_, amount)| !amount.work.pieces().is_empty());
            for (k, (at, amount)) in work_terms.enumerate() {
                rows.push([
                    if k == 0 { one.role } else { "" }.to_owned(),
                    one.render(&amount.work),
                    at.as_ref().map(ToString::to_string).unwrap_or_default(),
                ]);
            }
        }
        let wide = |k: usize| rows.iter().filter_map(|r| r.get(k)).map(|c| c.chars().count()).max().unwrap_or(0);
        let (of, work) = (wide(0), wide(1).min(MAX_COLUMN_WIDTH));
        let line = |[a, b, c]: &[String; 3]| format!("  {}\n", format!("{a:<of$}  {b:<work$}  {c}").trim_end());
        if rows.is_empty() {
            String::new()
        } else {
            format!("\nwork by source expression\n{}", rows.iter().map(line).collect::<String>())
        }
    }

    /// Returns the factor k of the certificate: `adjoint + io ≤ k · (primal + io + extra)`. `None`
    /// if the bound is refuted or unknown.
    pub(crate) fn factor(&self) -> Option<i128> {
        match &self.bound.as_ref()?.certificate.verdict {
            CertificateVerdict::Proved { factor, .. } | CertificateVerdict::Checked { factor, .. } => Some(*factor),
            CertificateVerdict::Refuted { .. } | CertificateVerdict::Unknown(_) => None,
        }
    }

    /// Describes the certificate in words.
    pub(crate) fn certificate_text(&self) -> Option<String> {
        let bound = self.bound.as_ref()?;
        let right = if bound.allowance.pieces().is_empty() {
            "(primal + io)".to_owned()
        } else {
            let primal = self.functions.first()?;
            format!("(primal + io + {})", primal.render(&bound.allowance))
        };
        let all = if bound.requires_positive_sizes { "all sizes of at least 1" } else { "all sizes" };
        Some(match &bound.certificate.verdict {
            CertificateVerdict::Proved { factor, tight_sizes: tight, .. } => {
                let is_informative = |at: &&SizeAssignment| {
                    *factor > 1 && !at.is_empty() && at.iter().all(|(a, _)| symbol_number(a).is_none())
                };
                let least = tight.as_ref().filter(is_informative);
                let least = least
                    .map(|at| format!("; {factor} is the least factor, at {}", render_sizes(at, bound)))
                    .unwrap_or_default();
                format!("adjoint + io ≤ {factor} · {right}, proved for {all}{least}")
            }
            CertificateVerdict::Checked { factor, grid, .. } => format!(
                "adjoint + io ≤ {factor} · {right}, checked at {} sizes from 0 to {}{}; not proved",
                grid.points,
                grid.max_size,
                if grid.is_sampled { ", chosen at random" } else { "" }
            ),
            CertificateVerdict::Refuted { witness, term } => {
                let shown = |term: &Poly| {
                    Formula::from(term.clone()).math_text(&FactContext::new(bound.question().assumptions), &bound.names)
                };
                let at: Vec<String> = witness
                    .iter()
                    .map(|w| format!("  {} against {} at {}", w.derived, w.primal, render_sizes(&w.sizes, bound)))
                    .collect();
                format!("adjoint + io exceeds every multiple of {right}, because of {}\n{}", shown(term), at.join("\n"))
            }
            CertificateVerdict::Unknown(why) => {
                format!("the cost ratio of the adjoint is unknown: {}", unknown_reason(*why))
            }
        })
    }

    /// Renders the costs as the JSON of `iverson cost --format json`.
    pub(crate) fn json(&self) -> String {
        let formula = |one: &FunctionFormulas, f: &Formula| {
            json::object([("formula", json::string(&one.with_symbol_names(f).to_string()))])
        };
        let column =
            |f: &dyn Fn(&FunctionFormulas) -> String| json::object(self.functions.iter().map(|one| (one.role, f(one))));
        let greatest = |one: &FunctionFormulas, all: &[Formula]| {
            let all: Vec<String> = all.iter().map(|f| one.with_symbol_names(f).to_string()).collect();
            let text = match all.split_first() {
                None => "0".to_owned(),
                Some((first, rest)) => rest.iter().fold(first.clone(), |most, f| format!("max({most}, {f})")),
            };
            json::object([("formula", json::string(&text))])
        };
        let symbols = self.functions.iter().flat_map(|one| {
            let legend = one.legend(&self.functions);
            legend.map(|(name, what)| json::object([("name", json::string(&name)), ("is", json::string(what))]))
        });
        let mut fields = vec![
            ("def", json::string(&self.name)),
            ("sizes", json::array(self.sizes.iter().map(|n| json::string(n)))),
            ("work", column(&|one| formula(one, &one.cost.total.work))),
            ("tests", column(&|one| formula(one, &one.cost.total.tests))),
            ("iterations", column(&|one| formula(one, &one.cost.total.iterations))),
            ("span", column(&|one| greatest(one, one.cost.span.formulas()))),
            ("kept", column(&|one| greatest(one, one.cost.stored_bytes.formulas()))),
        ];
        if let Some(primal) = self.functions.first() {
            fields.push(("io", formula(primal, &primal.cost.io_elements)));
        }
        let terms = self.functions.iter().flat_map(|one| {
            one.terms.iter().map(|(at, amount)| {
                let Amount { work, tests, iterations, .. } = amount;
                let mut fields = vec![("of", json::string(one.role))];
                if let Some((line, column)) = at.as_ref().and_then(|at| at.position) {
                    fields.extend([("line", line.to_string()), ("column", column.to_string())]);
                }
                fields.extend(at.as_ref().map(|at| ("text", json::string(&at.text))));
                let formulas = [("work", work), ("tests", tests), ("iterations", iterations)];
                json::object(fields.into_iter().chain(formulas.map(|(name, f)| (name, formula(one, f)))))
            })
        });
        let optimised = self.optimised.iter().map(|OptimisedFormulas { condition, formulas: one }| {
            json::object([
                ("of", json::string(one.role)),
                ("where", json::string(&condition.to_string())),
                ("work", formula(one, &one.cost.total.work)),
                ("iterations", formula(one, &one.cost.total.iterations)),
            ])
        });
        fields.push(("optimised", json::array(optimised)));
        fields.push(("terms", json::array(terms)));
        fields.push(("symbols", json::array(symbols)));
        if let Some(bound) = &self.bound {
            fields.push(("bound", self.bound_json(bound)));
        }
        format!("{}\n", json::object(fields))
    }

    fn bound_json(&self, bound: &CostRatio) -> String {
        let at = |of: &SizeAssignment| {
            let each = of.iter().map(|(a, n)| (atom_name(a, bound), n.to_string())).collect::<Vec<_>>();
            json::object(each.iter().map(|(name, n)| (name.as_str(), n.clone())))
        };
        let mut fields = Vec::new();
        let mut verdict = |word: &str| fields.push(("verdict", json::string(word)));
        match &bound.certificate.verdict {
            CertificateVerdict::Proved { factor, tight_sizes: tight, .. } => {
                verdict("proved");
                fields.push(("factor", factor.to_string()));
                fields.extend(tight.as_ref().map(|sizes| ("tight", at(sizes))));
            }
            CertificateVerdict::Checked { factor, grid, .. } => {
                verdict("checked");
                fields.push(("factor", factor.to_string()));
                fields.push(("points", grid.points.to_string()));
            }
            CertificateVerdict::Refuted { witness, term } => {
                verdict("refuted");
                fields.push(("term", json::string(&term.to_string())));
                fields.push(("witness", json::array(witness.iter().map(|w| at(&w.sizes)))));
            }
            CertificateVerdict::Unknown(why) => {
                verdict("unknown");
                fields.push(("why", json::string(unknown_reason(*why))));
            }
        }
        fields.push(("sizes", json::string(if bound.requires_positive_sizes { "positive" } else { "all" })));
        if let (false, Some(primal)) = (bound.allowance.pieces().is_empty(), self.functions.first()) {
            fields.push(("extra", json::string(&primal.with_symbol_names(&bound.allowance).to_string())));
        }
        json::object(fields)
    }
}

fn unknown_reason(why: lang_core::certify::IncomparableReason) -> &'static str {
    use lang_core::certify::IncomparableReason;
    match why {
        IncomparableReason::Data => "both costs depend on data",
        IncomparableReason::NoValue => "the formula has no value at the sampled sizes",
        IncomparableReason::Negative => "the known facts about the data allow a negative cost",
        IncomparableReason::TooLarge => "the formula is too large",
    }
}

/// Returns the name of an atom of a certificate. Symbols of the adjoint are numbered after those of
/// the primal.
fn atom_name(a: &Atom, bound: &CostRatio) -> String {
    match symbol_number(a) {
        Some(k) if k < bound.primal_symbols => format!("p{k}"),
        Some(k) => format!("a{}", k - bound.primal_symbols),
        None => Poly::atom(a.clone()).to_string(),
    }
}

fn render_sizes(of: &SizeAssignment, bound: &CostRatio) -> String {
    of.iter()
        .map(|(a, n)| {
            if symbol_number(a).is_some() {
                format!("{} = {n}", atom_name(a, bound))
            } else {
                bound.names.assignment_text(a, *n)
            }
        })
        .collect::<Vec<_>>()
        .join(", ")
}
