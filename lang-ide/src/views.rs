//! **Views.** Shows forms of a definition as documents beside the code: derivatives as source, the
//! compiler's forms, and costs. Each line is linked to the spans of the program that it comes from.
//! The server's `iverson/view` and `workspace/textDocumentContent` requests call it.

use std::collections::BTreeMap;

use lang_core::base::{GlobalName, Span};
use lang_core::ir::core::{ExprRef, NoCoreForm, NoCoreFormReason};
use lang_core::ir::origin::{OriginKind, StatementOrigin};
use lang_core::ir::ssa::{Rhs, SsaFunction, StmtId};
use lang_core::session::Session;
use lang_core::source::{self, DerivativeMode, DerivativeText};
use lang_core::syntax::ast::{Expr, Item, Pat};
use lang_core::syntax::parser::parse_item;

use crate::Location;
use crate::costs::{CostDisplay, costs};
use crate::links;
use crate::symbols::join_code_lines;

/// A form of a definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewStage {
    /// The adjoint, as Iverson.
    Adjoint,
    /// The forward derivative, as Iverson.
    Forward,
    /// Tensor SSA.
    Ssa,
    /// The core calculus.
    Core,
    /// The form with every `let` outermost.
    Lifted,
    /// The form without tuples.
    Pairs,
    /// The form with every `for` outermost.
    Pushed,
    /// The costs.
    Cost,
}

/// All stages, by the names that `iverson show` uses.
pub const STAGES: &[(&str, ViewStage)] = &[
    ("adjoint", ViewStage::Adjoint),
    ("forward", ViewStage::Forward),
    ("ssa", ViewStage::Ssa),
    ("core", ViewStage::Core),
    ("lifted", ViewStage::Lifted),
    ("pairs", ViewStage::Pairs),
    ("pushed", ViewStage::Pushed),
    ("cost", ViewStage::Cost),
];

/// A view of a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefinitionView {
    /// The text.
    pub text: String,
    /// Whether the text is an Iverson program.
    pub is_program: bool,
    /// The line at which the definition begins, after the definitions that it calls.
    pub definition_line: u32,
    /// A note about the view.
    pub note: Option<String>,
    /// The links: line numbers, from 0, with spans of the module.
    pub lines: Vec<(u32, Vec<Span>)>,
}

/// Returns a view of the definition of that name.
///
/// # Errors
/// The reason why there is none, as text for the user.
pub fn view(session: &Session, module: &str, def: &str, stage: ViewStage) -> Result<DefinitionView, String> {
    let name = GlobalName::new(module, def);
    let Some(callee) = source::callee_at_f64(session, &name) else {
        return Err(format!("cannot find definition `{def}` in this module"));
    };
    let stages = session.stages(&callee).map_err(|why| describe_missing_forms(session, &name, &why))?;
    let plain =
        |text: String| DefinitionView { text, is_program: false, definition_line: 0, note: None, lines: Vec::new() };
    Ok(match stage {
        ViewStage::Core | ViewStage::Lifted => {
            let form = if stage == ViewStage::Core { &stages.core } else { &stages.lifted };
            let mut view = plain(form.to_string());
            view.lines = links::core_links(session, &name, &view.text, &form.body);
            view
        }
        ViewStage::Pairs | ViewStage::Pushed => {
            let form = if stage == ViewStage::Pairs { &stages.flat } else { &stages.pushed };
            let mut view = plain(form.to_string());
            let bound: Vec<ExprRef> = form.bindings.iter().map(|(_, e)| e.clone()).collect();
            let outputs: Vec<ExprRef> = form.outputs.iter().map(|(_, e)| e.clone()).collect();
            view.lines = links::binding_links(session, &name, &view.text, &bound, &outputs);
            view
        }
        ViewStage::Ssa => {
            let mut view = plain(stages.ssa.to_string());
            view.lines = links::ssa_links(session, &name, &view.text, &|var| {
                stages.origins.origins_of(var).filter_map(text_span).collect()
            });
            view
        }
        ViewStage::Adjoint => derivative_view(session, &name, DerivativeMode::Adjoint)?,
        ViewStage::Forward => derivative_view(session, &name, DerivativeMode::Forward)?,
        ViewStage::Cost => cost_view(session, &name)?,
    })
}

/// Describes why a definition has no forms. For an error in the program, names the first one and
/// its line.
fn describe_missing_forms(session: &Session, def: &GlobalName, why: &NoCoreForm) -> String {
    let mistake = || {
        let item = session.item(&why.item).filter(|_| why.reason == NoCoreFormReason::Errors)?;
        let found = session.diagnostics(&item.module);
        let first = found.into_iter().find(|d| d.is_error() && item.span().contains_inclusive(d.span.start))?;
        let line = session.text(&item.module)?.get(..first.span.start as usize)?.matches('\n').count() + 1;
        let place = if item.module == def.module { String::new() } else { format!(" of {}", item.module) };
        Some(format!("error in line {line}{place}: {}", first.message))
    };
    let name = &def.name;
    mistake().unwrap_or_else(|| format!("`{name}` has no core form, because it contains {}", why.reason.phrase()))
}

fn text_span(origin: &StatementOrigin) -> Option<Span> {
    match origin.kind {
        OriginKind::SourceExpr(span) if span.start < span.end => Some(span),
        _ => None,
    }
}

fn derivative_view(session: &Session, def: &GlobalName, which: DerivativeMode) -> Result<DefinitionView, String> {
    let text = session.item(def).map(|item| item.text).unwrap_or_default();
    let shown = source::print_derivative(session, session, &session.view(), def, &text, which)
        .map_err(|why| describe_missing_forms(session, def, &why))?;
    match shown {
        DerivativeText::Source(printed) => {
            let text = printed.full_text();
            // The text begins with the definitions that it calls.
            let before = text.lines().count().saturating_sub(printed.text.lines().count());
            let lines = source_lines(session, def, which, &printed, before).unwrap_or_default();
            let begins = u32::try_from(before).unwrap_or(0);
            Ok(DefinitionView { text, is_program: true, definition_line: begins, note: None, lines })
        }
        DerivativeText::SsaOnly(ssa, why) => {
            let what = if which == DerivativeMode::Adjoint { "adjoint" } else { "forward" };
            let why = why.phrase();
            let note = format!("the {what} view shows Tensor SSA, because Iverson source does not support {why} yet");
            let text = ssa.to_string();
            let own = |var| {
                let all = session.source_spans(&ssa.callee, var).into_iter();
                all.filter(|(of, _)| of == def).map(|(_, span)| span).collect()
            };
            let lines = links::ssa_links(session, def, &text, &own);
            Ok(DefinitionView { text, is_program: false, definition_line: 0, note: Some(note), lines })
        }
        DerivativeText::NotReal => {
            Err(format!("`{}` has no derivative, because it has no real input or no real output", def.name))
        }
    }
}

/// Returns the links of a derivative that is printed as Iverson. A `let` or a result links to the
/// spans of all statements that were merged into it.
fn source_lines(
    session: &Session,
    def: &GlobalName,
    which: DerivativeMode,
    printed: &source::PrintedDerivative,
    before: usize,
) -> Option<Vec<(u32, Vec<Span>)>> {
    let start = session.item(def)?.start;
    let [forward, adjoint] = session.derivatives(&source::callee_at_f64(session, def)?)?;
    let derived = if which == DerivativeMode::Adjoint { adjoint } else { forward };
    let ssa = session.ssa(&derived)?;
    let mut lines: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
    for (part, vars) in statement_spans(printed)? {
        let all =
            merged_statements(&ssa, printed, &vars).into_iter().flat_map(|var| session.source_spans(&derived, var));
        let own: Vec<Span> = all.filter(|(of, _)| of == def).map(|(_, span)| span.shift(start)).collect();
        let line = |at: u32| printed.text.get(..at as usize).map(|text| before + text.matches('\n').count());
        for k in line(part.start)?..=line(part.end)? {
            lines.entry(u32::try_from(k).ok()?).or_default().extend(&own);
        }
    }
    for spans in lines.values_mut() {
        spans.sort_unstable_by_key(|span| (span.start, span.end));
        spans.dedup();
    }
    Some(lines.into_iter().filter(|(_, spans)| !spans.is_empty()).collect())
}

/// Returns the spans of a definition that correspond to statements: its `let`s, and each result if
/// the results are separable.
fn statement_spans(printed: &source::PrintedDerivative) -> Option<Vec<(Span, Vec<StmtId>)>> {
    let tree = parse_item(&printed.text).tree;
    let Item::Def(def) = &tree.item else { return None };
    let (mut all, mut last) = (Vec::new(), def.body);
    while let Expr::Let(binds, body) = &tree.exprs[last].kind {
        for bind in binds {
            let (mut names, mut open) = (Vec::new(), vec![bind.pat]);
            while let Some(pat) = open.pop() {
                match &tree.pats[pat].kind {
                    Pat::Name(name) => names.push(name.clone()),
                    Pat::Tuple(items) => open.extend(items),
                    _ => {}
                }
            }
            let vars = printed.lets.iter().filter(|(n, _)| names.contains(n)).map(|(_, v)| *v);
            all.push((tree.pats[bind.pat].span.to(tree.exprs[bind.value].span), vars.collect()));
        }
        last = *body;
    }
    match &tree.exprs[last].kind {
        Expr::Tuple(items) if items.len() == printed.results.len() => {
            all.extend(items.iter().zip(&printed.results).map(|(e, v)| (tree.exprs[*e].span, vec![*v])));
        }
        _ => all.push((tree.exprs[last].span, printed.results.clone())),
    }
    Some(all)
}

/// Returns the statements with their transitive operands, up to those that another `let` names.
fn merged_statements(ssa: &SsaFunction, printed: &source::PrintedDerivative, of: &[StmtId]) -> Vec<StmtId> {
    let mut open = of.to_vec();
    let mut found = Vec::new();
    while let Some(var) = open.pop() {
        let Some(stmt) = ssa.stmts.get(var.0 as usize).filter(|s| !matches!(s.rhs, Rhs::Input(_))) else { continue };
        if found.contains(&var) {
            continue;
        }
        found.push(var);
        stmt.rhs.for_each_operand(&mut |v| open.extend(Some(v).filter(|v| !printed.lets.iter().any(|(_, l)| l == v))));
    }
    found
}

/// The width of a column. A longer expression is cut; a longer formula exceeds the column.
const MAX_COLUMN_WIDTH: usize = 60;

fn cost_view(session: &Session, def: &GlobalName) -> Result<DefinitionView, String> {
    let costs = costs(session, def).ok_or_else(|| format!("`{}` has no cost formula", def.name))?;
    let mut text = format!("{}\n\n", def.name);
    let mut append_costs = |of: &str, figures: &Option<CostDisplay>| {
        let Some(figures) = figures else { return };
        let mut rows = vec![("work", figures.work.clone()), ("iterations", figures.iterations.clone())];
        rows.extend(figures.tests.clone().map(|tests| ("tests", tests)));
        rows.extend(figures.stored_bytes.clone().map(|kept| ("kept bytes", format!("≤ {kept}"))));
        for (k, (what, formula)) in rows.iter().enumerate() {
            text += &format!("{:<14} {what:<10}  {formula}\n", if k == 0 { of } else { "" });
        }
    };
    append_costs("primal", &costs.primal);
    append_costs("forward", &costs.forward);
    append_costs("adjoint", &costs.adjoint);
    append_costs("value, adjoint", &costs.adjoint_with_value);
    if let Some(certificate) = &costs.certificate {
        text += &format!("\n{}\n", certificate.line);
    }
    let mut lines = Vec::new();
    let at = u32::try_from(text.lines().count()).unwrap_or(0) + 2;
    let terms = work_by_location(session, def);
    if !terms.is_empty() {
        text += "\nwork by location\n";
    }
    let source = session.text(&def.module).unwrap_or_default();
    let wide = terms.iter().map(|(_, work)| work.chars().count()).filter(|n| *n <= MAX_COLUMN_WIDTH).max().unwrap_or(0);
    for (k, (place, work)) in (at..).zip(&terms) {
        let of = source.get(place.span.range()).map(join_code_lines).unwrap_or_default();
        let of = match of.char_indices().nth(MAX_COLUMN_WIDTH) {
            Some((end, _)) => format!("{}…", of.get(..end).unwrap_or_default()),
            None => of,
        };
        text += &format!("  {work:<wide$}  {of}\n");
        lines.push((k, vec![place.span]));
    }
    Ok(DefinitionView { text, is_program: false, definition_line: 0, note: None, lines })
}

/// Returns the work of a definition by location, in the order of the text.
fn work_by_location(session: &Session, def: &GlobalName) -> Vec<(Location, String)> {
    let Some(callee) = source::callee_at_f64(session, def) else { return Vec::new() };
    let Some(cost) = session.cost(&callee) else { return Vec::new() };
    let terms = session.terms(&callee).into_iter().filter(|t| !t.amount.work.pieces().is_empty());
    let placed = terms.filter_map(|t| {
        let (item, span) = t.location.filter(|(item, _)| item.module == def.module)?;
        let span = span.shift(session.item(&item)?.start);
        Some((Location { module: item.module, span }, crate::costs::format_formula(&t.amount.work, &cost)))
    });
    placed.collect()
}
