//! `iverson cost FILE DEF`: prints the cost of a definition and its derivatives, as formulas.
//!
//! With `--at n=64,m=8`, prints the cost of Tensor SSA at these sizes: by the formulas or, where
//! they depend on data, by counting. With `--measure`, also prints the counts of actual runs.

use std::collections::HashMap;
use std::num::IntErrorKind;
use std::path::Path;

use lang_core::base::{Code, GlobalName};
use lang_core::cost::CostFormulas as Formulas;
use lang_core::count::Formula;
use lang_core::exec::MemoryPlan;
use lang_core::ir::counted_cost::{CountedCost, UnknownCost, count_cost, eval_extents};
use lang_core::ir::flat::InputSource;
use lang_core::predicate::{Atom, LocalId};
use lang_core::runtime::OperationCounts;
use lang_core::syntax::split::ItemKind;
use lang_core::types::ty::{Signature, SizeSource};

use super::{load_program, report_failure};
use crate::cli::CommonOptions;
use crate::engine::Engine;
use crate::engine::costs::{MAX_COLUMN_WIDTH, f64_callee, with_derivatives};
use crate::engine::measure::{MeasuredCounts, local_sizes};
use crate::files;
use crate::json;
use crate::out::{OutputWriter, Status};
use crate::problem::Problem;

/// The most index tuples that are counted; more would take seconds.
const MAX_COUNTED_TUPLES: u64 = 50_000_000;

pub(crate) fn run(
    file: &Path,
    def: Option<&str>,
    at: &[String],
    measure: bool,
    common: &CommonOptions,
    out: OutputWriter,
) -> Status {
    let mut engine = Engine::new(common, out);
    let module = match load_program(&mut engine, file, out) {
        Ok(module) => module,
        Err(status) => return status,
    };
    // A name contains no equals sign, so this argument is a size and the definition is missing.
    let (def, is_all) = (def.filter(|def| !def.contains('=')), def.is_none());
    let result = match def {
        Some(def) if at.is_empty() && !measure => render_formulas(&engine, &GlobalName::new(&module, def), out),
        Some(def) => report_costs(&mut engine, &GlobalName::new(&module, def), at, measure, out),
        None if at.is_empty() && !measure && is_all => Ok(render_all_formulas(&engine, &module, out)),
        None => Err(vec![missing_definition(&engine, file, &module)]),
    };
    match result {
        Ok(text) => {
            out.print(&text);
            Status::Success
        }
        Err(problems) => report_failure(&problems, &engine, out),
    }
}

/// Renders the formulas of a definition.
fn render_formulas(engine: &Engine, name: &GlobalName, out: OutputWriter) -> Result<String, Vec<Problem>> {
    let costs = engine.costs(name).map_err(|problem| vec![*problem])?;
    Ok(if out.is_json() { costs.json() } else { costs.text() })
}

/// Renders the formulas of all definitions in a file that have a cost.
fn render_all_formulas(engine: &Engine, module: &str, out: OutputWriter) -> String {
    let items = engine.session().items(module);
    let defs = items.iter().filter(|i| i.kind == ItemKind::Def).map(|i| GlobalName::new(module, &i.name));
    let all = defs.filter_map(|def| engine.costs(&def).ok());
    if out.is_json() {
        let each = all.map(|costs| costs.json().trim_end().to_owned());
        return format!("{}\n", json::array(each));
    }
    all.map(|costs| costs.text()).collect::<Vec<_>>().join("\n")
}

/// Reports sizes without a definition.
fn missing_definition(engine: &Engine, file: &Path, module: &str) -> Problem {
    let items = engine.session().items(module);
    let first = items.iter().find(|i| i.kind == ItemKind::Def).map_or("DEF", |i| i.name.as_str());
    let help = format!("name the definition, as in `iverson cost {} {first} --at …`", files::display_path(file));
    Problem::new(Code::E0600, "sizes require the name of a definition").with_help(help)
}

/// The cost of a definition at some sizes.
struct CostReport {
    /// The sizes with their values.
    sizes: Vec<(String, i64)>,
    /// The costs in Tensor SSA of the primal and its derivatives.
    costs: Vec<(&'static str, CountedCost)>,
    /// The memory plan of each, with its peak.
    plans: Vec<Option<MemoryPlan>>,
    measured: Vec<MeasuredCounts>,
}

fn report_costs(
    engine: &mut Engine,
    name: &GlobalName,
    at: &[String],
    measure: bool,
    out: OutputWriter,
) -> Result<String, Vec<Problem>> {
    let problem = |code: Code, message: String| vec![Problem::new(code, message)];
    let signature = engine.signature(name).ok_or_else(|| vec![*engine.unknown_definition_error(name)])?;
    let sizes = parse_sizes(&signature, at, SizeSyntax::AtOption)?;
    let callee = f64_callee(name, &signature);
    let (mut costs, mut plans) = (Vec::new(), Vec::new());
    let derived = {
        let module = engine.session();
        module.stages(&callee).map_err(|why| {
            let mut p = Problem::new(Code::E0510, format!("`{}` has no core form: {}", name.name, why.reason.phrase()));
            p.help = Some("`:cost` in the REPL counts a run of any program".to_owned());
            p.places.extend(engine.place_of(&why.item, why.span));
            vec![p]
        })?;
        let all = with_derivatives(engine, &callee);
        for (of, callee) in &all {
            let Some(ssa) = module.ssa(callee) else { continue };
            let at = local_sizes(&ssa, &signature, &sizes);
            for input in &ssa.inputs {
                let dims = eval_extents(&input.leaf.dims, &at).unwrap_or_default();
                if let Some((extent, n)) = input.leaf.dims.iter().zip(dims).find(|(_, n)| *n < 0) {
                    let name = match input.source {
                        InputSource::Cotangent(_) => "result".to_owned(),
                        _ => format!("`{}`", ssa.vars.name(input.local)),
                    };
                    let message = format!("no {name} can have these sizes, because its extent {extent} is {n}");
                    return Err(problem(Code::E0600, message));
                }
            }
            let formulas = module.cost(callee);
            let by_formulas = formulas.as_ref().and_then(|formulas| evaluate_formulas(formulas, &at));
            let counted = || count_cost(&ssa, &at, &|c| module.ssa(c), MAX_COUNTED_TUPLES);
            let bounded = |why| formulas.as_ref().and_then(|formulas| evaluate_upper_bounds(formulas, &at)).ok_or(why);
            let cost = by_formulas.map_or_else(counted, Ok).or_else(bounded).map_err(|why| {
                problem(Code::E0510, format!("the cost of `{}` is unknown: {}", name.name, describe_unknown(why)))
            })?;
            costs.push((*of, cost));
            plans.push(engine.memory_plan(&ssa, &at));
        }
        all.into_iter()
            .skip(1)
            .filter_map(|(of, callee)| Some((of, callee.derivatives.last()?.clone())))
            .collect::<Vec<_>>()
    };
    let measured = if measure { engine.measure_counts(&callee, &signature, &sizes, &derived)? } else { Vec::new() };
    let at = signature.sizes.iter().map(|s| s.name.to_string()).zip(sizes).collect();
    let report = CostReport { sizes: at, costs, plans, measured };
    Ok(if out.is_json() { report.json(name) } else { report.text(name) })
}

/// Evaluates the formulas at sizes. Returns `None` if one depends on data; the caller then counts,
/// as if every condition held.
fn evaluate_formulas(of: &Formulas, sizes: &HashMap<LocalId, i64>) -> Option<CountedCost> {
    let mut size = |a: &Atom| if let Atom::Local(l, _) = a { sizes.get(l).copied() } else { None };
    let number = |n: Option<i128>| u64::try_from(n?).ok();
    Some(CountedCost {
        work: number(of.total.work.eval(&mut size))?,
        iterations: number(of.total.iterations.eval(&mut size))?,
        io: number(of.io_elements.eval(&mut size))?,
        stored_bytes: number(of.stored_bytes.eval(&mut size))?,
        is_upper_bound: false,
    })
}

/// Evaluates upper bounds of the formulas at sizes, for any data. `None` if a formula has no bound.
fn evaluate_upper_bounds(of: &Formulas, sizes: &HashMap<LocalId, i64>) -> Option<CountedCost> {
    let mut size = |a: &Atom| if let Atom::Local(l, _) = a { sizes.get(l).copied() } else { None };
    let mut most = |f: &Formula| of.upper_bound(f, &of.context())?.eval(&mut size).and_then(|n| u64::try_from(n).ok());
    Some(CountedCost {
        work: most(&of.total.work)?,
        iterations: most(&of.total.iterations)?,
        io: most(&of.io_elements)?,
        stored_bytes: of
            .stored_bytes
            .formulas()
            .iter()
            .map(&mut most)
            .try_fold(0, |greatest: u64, n| Some(greatest.max(n?)))?,
        is_upper_bound: true,
    })
}

fn describe_unknown(why: UnknownCost) -> &'static str {
    match why {
        UnknownCost::Extent => "an extent is known only at run time",
        UnknownCost::TooMany => "there are too many index tuples to count; try smaller sizes",
        UnknownCost::Callee => "a definition that it calls has no Tensor SSA form",
    }
}

/// The syntax of sizes in the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SizeSyntax {
    /// `--at n=64,m=8`
    AtOption,
    /// `n=64 m=8`
    Positional,
}

/// Parses the sizes of a signature; every size must occur.
pub(crate) fn parse_sizes(signature: &Signature, at: &[String], written: SizeSyntax) -> Result<Vec<i64>, Vec<Problem>> {
    let problem = |message: String, help: String| {
        let mut p = Problem::new(Code::E0600, message);
        p.help = Some(help);
        vec![p]
    };
    let names: Vec<&str> = signature.sizes.iter().map(|s| s.name.as_str()).collect();
    let each: Vec<String> = names.iter().map(|n| format!("{n}=8")).collect();
    let example = match written {
        SizeSyntax::AtOption => format!("--at {}", each.join(",")),
        SizeSyntax::Positional => each.join(" "),
    };
    let mut sizes: Vec<Option<i64>> = vec![None; names.len()];
    for item in at.iter().flat_map(|a| a.split(',')).map(str::trim).filter(|a| !a.is_empty()) {
        let parts = item.split_once('=').map(|(name, n)| (name.trim(), n.trim().replace('_', "")));
        let n = parts.as_ref().map(|(_, n)| n.parse::<i64>());
        if let Some(Err(why)) = &n
            && matches!(why.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow)
        {
            let most = format!("integers range from {} to {}", i64::MIN, i64::MAX);
            return Err(problem(format!("`{item}` is not a 64-bit integer"), most));
        }
        let (Some((name, _)), Some(Ok(n))) = (parts, n) else {
            return Err(problem(format!("`{item}` is not a size"), format!("write sizes as {example}")));
        };
        let place = names.iter().position(|have| *have == name);
        let Some(slot) = place.and_then(|k| sizes.get_mut(k)) else {
            let have = if names.is_empty() {
                "the definition has no sizes".to_owned()
            } else {
                format!("its sizes: {}", names.join(", "))
            };
            return Err(problem(format!("the definition has no size `{name}`"), have));
        };
        let is_extent = signature.sizes.iter().any(|s| s.name == name && s.source == SizeSource::Implicit);
        if n < 0 && is_extent {
            let help = "it is the number of elements along an axis, which is 0 or more".to_owned();
            return Err(problem(format!("the size `{name}` cannot be {n}"), help));
        }
        *slot = Some(n);
    }
    let missing: Vec<&str> = names.iter().zip(&sizes).filter(|(_, n)| n.is_none()).map(|(name, _)| *name).collect();
    if !missing.is_empty() {
        let list = missing.join(", ");
        let what = if written == SizeSyntax::AtOption { "cost" } else { "time" };
        let noun = if missing.len() == 1 { "size" } else { "sizes" };
        let help = format!("the {what} depends on every size; write sizes as {example}");
        return Err(problem(format!("missing {noun}: {list}"), help));
    }
    Ok(sizes.into_iter().flatten().collect())
}

impl CostReport {
    fn text(&self, name: &GlobalName) -> String {
        let at: Vec<String> = self.sizes.iter().map(|(name, n)| format!("{name} = {n}")).collect();
        let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
        let mut text = format!("{}{at}\n\n", name.name);
        let mut rows = vec![["", "work", "iterations", "io", "bytes"].map(str::to_owned)];
        for ((of, cost), plan) in self.costs.iter().zip(&self.plans) {
            let most = |n: u64| if cost.is_upper_bound { format!("<= {n}") } else { n.to_string() };
            let bytes = match plan {
                Some(MemoryPlan { peak, is_complete: true, .. }) => peak.to_string(),
                Some(MemoryPlan { peak, is_complete: false, .. }) => format!(">= {peak}"),
                None => "?".to_owned(),
            };
            rows.push([(*of).to_owned(), most(cost.work), most(cost.iterations), cost.io.to_string(), bytes]);
        }
        text += &align_columns(&rows);
        if let [(_, primal), .., (_, adjoint)] = self.costs.as_slice()
            && primal.work + primal.io > 0
        {
            let ratio = cost_ratio(adjoint, primal);
            text += &format!("\nadjoint + io is {ratio:.2} times primal + io\n");
        }
        if let [.., (_, adjoint)] = self.costs.as_slice()
            && adjoint.stored_bytes > 0
        {
            text += &format!("\nthe adjoint keeps at most {} bytes for its reverse pass\n", adjoint.stored_bytes);
        }
        if !self.measured.is_empty() {
            let mut rows = vec![["measured", "in", "work", "tests", "iterations"].map(str::to_owned)];
            for MeasuredCounts { role: of, form, counts } in &self.measured {
                let OperationCounts { work, tests, iterations } = counts;
                let numbers = [work, tests, iterations].map(u64::to_string);
                let [work, tests, iterations] = numbers;
                rows.push([(*of).to_owned(), (*form).to_owned(), work, tests, iterations]);
            }
            text += &format!("\n{}", align_columns(&rows));
        }
        text
    }

    fn json(&self, name: &GlobalName) -> String {
        let at = self.sizes.iter().map(|(name, n)| (name.as_str(), n.to_string()));
        let column = |f: &dyn Fn(&CountedCost) -> u64| {
            json::object(self.costs.iter().map(|(of, cost)| (*of, json::object([("value", f(cost).to_string())]))))
        };
        let bytes = self.costs.iter().zip(&self.plans).filter_map(|((of, _), plan)| {
            let MemoryPlan { peak, is_complete: is_whole, .. } = (*plan)?;
            Some((*of, json::object([("value", peak.to_string()), ("exact", is_whole.to_string())])))
        });
        let measured = self.measured.iter().map(|MeasuredCounts { role: of, form, counts }| {
            let OperationCounts { work, tests, iterations } = counts;
            let numbers = [("work", work), ("tests", tests), ("iterations", iterations)];
            let texts = [("of", json::string(of)), ("form", json::string(form))];
            json::object(texts.into_iter().chain(numbers.map(|(name, n)| (name, n.to_string()))))
        });
        let mut fields = vec![
            ("def", json::string(&name.name)),
            ("at", json::object(at)),
            ("work", column(&|c| c.work)),
            ("iterations", column(&|c| c.iterations)),
            ("io", column(&|c| c.io)),
            ("kept", column(&|c| c.stored_bytes)),
            ("bytes", json::object(bytes)),
            ("exact", self.costs.iter().all(|(_, c)| !c.is_upper_bound).to_string()),
        ];
        if !self.measured.is_empty() {
            fields.push(("measured", json::array(measured)));
        }
        format!("{}\n", json::object(fields))
    }
}

/// Returns the quotient of Theorem 6.35, with the inputs and outputs of the function on both sides.
#[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
fn cost_ratio(adjoint: &CountedCost, primal: &CountedCost) -> f64 {
    (adjoint.work + primal.io) as f64 / (primal.work + primal.io) as f64
}

/// Lays out rows in columns; numeric columns are aligned to the right.
fn align_columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |k: usize| {
        let widths = rows.iter().filter_map(|r| r.get(k)).map(|c| c.chars().count());
        widths.max().unwrap_or(0).min(MAX_COLUMN_WIDTH)
    };
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (k, cell) in row.iter().enumerate() {
            let number =
                rows.iter().skip(1).filter_map(|r| r.get(k)).all(|c| c.ends_with(|x: char| x.is_ascii_digit()));
            let width = width(k);
            line += &if number { format!("{cell:>width$}") } else { format!("{cell:<width$}") };
            line += "   ";
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}
