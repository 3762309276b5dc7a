//! **Hover, inlay hint, lens and code action requests.** Converts the results of `lang-ide`, and
//! substitutes last known values while new ones are computed.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lang_ide::actions::{ActionKind, actions, actions_without_derivatives, derivative_edits};
use lang_ide::hints::{HintKind, HintSelection, SourceHint, hints};
use lang_ide::hover::{Hover as Told, HoverDepth, hover as told_at};
use lang_ide::lenses::{Lens, PlacedLens, cost_title, lenses, lenses_at};
use lang_ide::views::{STAGES, ViewStage};
use lang_ide::{Code, Edit, GlobalName, ModuleName};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeLens, Command, Diagnostic, Hover,
    HoverContents, InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip, MarkupContent, MarkupKind,
    NumberOrString, Position, Range, TextDocumentPositionParams, TextEdit, Url, WorkspaceEdit,
};

use super::text_edits;
use crate::check::DiagnosticStore;
use crate::commands::{EVALUATE, RUN, SHOW_VIEW};
use crate::evaluate;
use crate::last_known::{LAST_KNOWN_MARK, ValueAge, has_values};
use crate::lines::clamp;
use crate::snapshot::{ModuleText, RequestContext, request_failed};
use crate::views;

/// Returns the hover of a position.
pub(crate) fn hover(
    context: &RequestContext<'_>,
    at: &TextDocumentPositionParams,
    depth: HoverDepth,
) -> Result<Option<Hover>> {
    let text = context.document(&at.text_document.uri)?;
    let Some(hover) = hover_with_last_known(context, &text.module, text.offset(at.position), depth) else {
        return Ok(None);
    };
    let contents = HoverContents::Markup(markup(context, &hover));
    Ok(Some(Hover { contents, range: Some(text.range(hover.span)) }))
}

/// Hovers that take longer are computed in advance.
const SLOW_HOVER: Duration = Duration::from_millis(50);
/// In a module with more definitions, only slow hovers are computed in advance.
const MANY_DEFINITIONS: usize = 300;

/// Returns the hover of an offset. If costs and derivatives are missing, the last known ones are
/// filled in.
fn hover_with_last_known(
    context: &RequestContext<'_>,
    module: &ModuleName,
    at: u32,
    depth: HoverDepth,
) -> Option<Told> {
    let quick = told_at(context.session, module, at, HoverDepth::Quick)?;
    let item = context.session.item_at(module, at).filter(|_| quick.pending);
    let Some(item) = item.map(|item| item.global) else { return Some(quick) };
    let filled = |age| lock_store(context).last_known.fill_in(&item, &quick, age);
    if lock_store(context).last_known.is_current(&item, context.edition, &quick) {
        return filled(ValueAge::Current).or(Some(quick));
    }
    if depth != HoverDepth::Full {
        return filled(ValueAge::Computing).or(Some(quick));
    }
    let hover = told_at(context.session, module, at, depth)?;
    if has_values(&hover) {
        lock_store(context).last_known.store(&item, context.edition, &hover);
        return Some(hover);
    }
    if context.has_errors() {
        return filled(ValueAge::Broken).or(Some(hover));
    }
    lock_store(context).last_known.remove(&item, &hover);
    Some(hover)
}

/// Computes hovers of a module's definitions in advance. These are the slow ones and, in a module
/// of at most `MANY` definitions, those that are not stored yet.
pub(crate) fn precompute_hovers(context: &RequestContext<'_>, module: &ModuleName) {
    let defs: Vec<_> = lenses(context.session, module).into_iter().filter(|lens| lens.lens == Lens::Cost).collect();
    let first = defs.len() <= MANY_DEFINITIONS;
    for PlacedLens { span, def, .. } in defs {
        let def = GlobalName { module: module.clone(), name: def };
        let Some(quick) = told_at(context.session, module, span.start, HoverDepth::Names) else { continue };
        let checker = lock_store(context);
        let unknown = || {
            checker.last_known.title(&def).is_some()
                && checker.last_known.fill_in(&def, &quick, ValueAge::Current).is_none()
        };
        let wanted = checker.last_known.is_slow(&def) || first && unknown();
        drop(checker);
        if wanted {
            let begun = Instant::now();
            let _ = hover_with_last_known(context, module, span.start, HoverDepth::Full);
            lock_store(context).last_known.set_slow(&def, begun.elapsed() >= SLOW_HOVER);
        }
    }
}

fn lock_store<'s>(context: &'s RequestContext<'_>) -> MutexGuard<'s, DiagnosticStore> {
    context.diagnostic_store.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Renders the hover in the format that the client supports.
fn markup(context: &RequestContext<'_>, hover: &Told) -> MarkupContent {
    match context.abilities.markdown {
        true => MarkupContent { kind: MarkupKind::Markdown, value: hover.markdown(context.abilities.tables) },
        false => MarkupContent { kind: MarkupKind::PlainText, value: hover.plain() },
    }
}

/// Returns the hints of a range. Costs are the stored ones; when new ones are computed, the client
/// is requested to refresh.
pub(crate) fn inlay_hints(context: &RequestContext<'_>, url: &Url, range: Range) -> Result<Option<Vec<InlayHint>>> {
    let text = context.document(url)?;
    let chosen = context.settings.hints;
    let wanted = HintSelection { extents: chosen.extents, sizes: chosen.sizes, types: chosen.types, cost: false };
    let span = text.span(range);
    let mut all = hints(context.session, &text.module, span, wanted);
    if chosen.cost {
        let checker = context.diagnostic_store.lock().unwrap_or_else(PoisonError::into_inner);
        let known = checker.cost_hints(context.session, &text.module, chosen.change);
        // A hint that differs from its plain form shows a changed cost.
        let plain = checker.cost_hints(context.session, &text.module, false);
        let shown = known.into_iter().zip(plain).filter(|(hint, plain)| chosen.every_cost || hint.text != plain.text);
        all.extend(shown.map(|(hint, _)| hint).filter(|hint| span.contains_inclusive(hint.offset)));
    }
    Ok(Some(all.into_iter().map(|hint| inlay_hint(&text, url, hint)).collect()))
}

fn inlay_hint(text: &ModuleText, url: &Url, hint: SourceHint) -> InlayHint {
    let position = text.position(hint.offset);
    let edit = TextEdit { range: Range { start: position, end: position }, new_text: hint.text.clone() };
    InlayHint {
        position,
        label: InlayHintLabel::String(hint.text),
        kind: matches!(hint.kind, HintKind::Type | HintKind::ArrayType).then_some(InlayHintKind::TYPE),
        text_edits: hint.is_insertable.then(|| vec![edit]),
        // Computed on `inlayHint/resolve`.
        tooltip: None,
        padding_left: (hint.kind == HintKind::Cost).then_some(true),
        padding_right: None,
        data: Some(json!({"uri": url, "at": hint.name_start})),
    }
}

/// Returns the document and the offset that a hint describes.
pub(crate) fn hint_target(data: Option<&Value>) -> Option<(Url, u32)> {
    let data = data?;
    let url = data.get("uri")?.as_str().and_then(|url| Url::parse(url).ok())?;
    Some((url, u32::try_from(data.get("at")?.as_u64()?).ok()?))
}

/// Adds the hover of the described name to a hint.
pub(crate) fn resolve_hint(context: &RequestContext<'_>, hint: InlayHint, url: &Url, at: u32) -> Result<InlayHint> {
    let text = context.document(url)?;
    let hover = told_at(context.session, &text.module, at, HoverDepth::Quick);
    Ok(InlayHint { tooltip: hover.map(|told| InlayHintTooltip::MarkupContent(markup(context, &told))), ..hint })
}

/// Returns the lenses of a document: of its definitions, and of its comments `-- >>> expr`. A cost
/// lens receives its title on `codeLens/resolve`.
pub(crate) fn code_lenses(context: &RequestContext<'_>, url: &Url) -> Result<Option<Vec<CodeLens>>> {
    if views::is_view(url) {
        return Ok(None);
    }
    let text = context.document(url)?;
    let chosen = context.settings.lenses;
    let found = lenses(context.session, &text.module).into_iter().filter(|at| match at.lens {
        Lens::Cost => chosen.cost,
        Lens::Run => chosen.run,
        Lens::View(_) => chosen.views,
    });
    let one = |at: PlacedLens| {
        let (def, range) = (at.def.as_str(), text.range(at.span));
        match at.lens {
            Lens::Cost => CodeLens { range, command: None, data: Some(json!({"uri": url, "def": def})) },
            Lens::Run => lens(range, "run", RUN, vec![json!(url), json!(def)]),
            Lens::View(stage) => lens(range, view_title(stage), SHOW_VIEW, vec![json!(url), json!(def), json!(stage)]),
        }
    };
    let comments =
        text.text.lines().enumerate().filter(|(_, line)| chosen.run && evaluate::evaluated_expression(line).is_some());
    let evaluates = comments.map(|(line, _)| {
        let at = Position { line: clamp(line), character: 0 };
        lens(Range { start: at, end: at }, "evaluate", EVALUATE, vec![json!(url), json!(line)])
    });
    Ok(Some(found.map(one).chain(evaluates).collect()))
}

/// Returns the title of a view's lens.
fn view_title(stage: &str) -> &str {
    if stage == "ssa" { "SSA" } else { stage }
}

fn lens(range: Range, title: &str, command: &str, arguments: Vec<Value>) -> CodeLens {
    let command = Command { title: title.to_owned(), command: command.to_owned(), arguments: Some(arguments) };
    CodeLens { range, command: Some(command), data: None }
}

/// Returns the document and the definition of a cost lens.
pub(crate) fn lens_target(data: Option<&Value>) -> Option<(Url, String)> {
    let data = data?;
    let url = data.get("uri")?.as_str().and_then(|url| Url::parse(url).ok())?;
    Some((url, data.get("def")?.as_str()?.to_owned()))
}

/// Computes and stores the title of a cost lens. If errors prevent it, returns the last known one.
pub(crate) fn cost_lens_title(
    context: &RequestContext<'_>,
    def: &GlobalName,
    broken: impl FnOnce() -> bool,
) -> Option<String> {
    let title = cost_title(context.session, &def.module, &def.name).filter(|title| !title.is_empty());
    let broken = title.is_none() && broken();
    let mut checker = lock_store(context);
    match &title {
        Some(title) => checker.last_known.store_title(def.clone(), title.clone()),
        None if broken => return checker.last_known.title(def).map(|title| format!("{title}{LAST_KNOWN_MARK}")),
        None => checker.last_known.remove_title(def),
    }
    title
}

/// Returns the cost lens of a definition. If `known` is set, the title is the last known one and
/// nothing is computed.
pub(crate) fn resolve_lens(
    context: &RequestContext<'_>,
    range: Range,
    url: &Url,
    def: &str,
    known: bool,
) -> Result<CodeLens> {
    let text = context.document(url)?;
    let name = GlobalName::new(&text.module, def);
    let said = match known {
        true => match lock_store(context).last_known.title(&name) {
            Some(title) => format!("{title}{LAST_KNOWN_MARK}"),
            None => "costs are being computed".to_owned(),
        },
        false => cost_lens_title(context, &name, || context.has_errors()).unwrap_or_else(|| "cost unknown".to_owned()),
    };
    Ok(lens(range, &said, SHOW_VIEW, vec![json!(url), json!(def), json!("cost")]))
}

/// Returns the code actions of a selection.
pub(crate) fn code_actions(
    context: &RequestContext<'_>,
    params: &CodeActionParams,
) -> Result<Option<Vec<CodeActionOrCommand>>> {
    let text = context.document(&params.text_document.uri)?;
    if !context.abilities.action_literals || views::is_view(&params.text_document.uri) {
        return Ok(None);
    }
    let only = params.context.only.as_deref();
    let is_requested = |kind: &CodeActionKind| {
        let within = |wanted: &CodeActionKind| kind.as_str().starts_with(wanted.as_str());
        only.is_none_or(|only| only.iter().any(within))
    };
    // A fix is attached to the diagnostics in the selection.
    let wrong = |at: Range| {
        let there = params.context.diagnostics.iter().filter(|d| d.range.start <= at.end && at.start <= d.range.end);
        Some(there.cloned().collect::<Vec<_>>()).filter(|all| !all.is_empty())
    };
    let mut all = Vec::new();
    if is_requested(&CodeActionKind::QUICKFIX) {
        all.extend(
            params
                .context
                .diagnostics
                .iter()
                .flat_map(|d| cost_warning_actions(context, &text, &params.text_document.uri, d)),
        );
    }
    let (module, selected) = (&text.module, text.span(params.range));
    let offered = match context.abilities.resolves_action_edits {
        true => actions_without_derivatives(context.session, module, selected),
        false => actions(context.session, module, selected),
    };
    for action in offered {
        let kind = match action.kind {
            ActionKind::Fix => CodeActionKind::QUICKFIX,
            ActionKind::Source => CodeActionKind::REFACTOR,
            ActionKind::Rewrite => CodeActionKind::REFACTOR_REWRITE,
            ActionKind::Extract => CodeActionKind::REFACTOR_EXTRACT,
        };
        let url = &params.text_document.uri;
        let name = |stage| STAGES.iter().find(|(_, known)| *known == stage).map(|(name, _)| *name);
        let data =
            action.deferred_derivative.map(|(def, stage)| json!({"uri": url, "def": &*def, "stage": name(stage)}));
        let edit = data.is_none().then(|| workspace_edit(&text, url, action.edits));
        if is_requested(&kind) {
            let diagnostics = if kind == CodeActionKind::QUICKFIX { wrong(params.range) } else { None };
            let is_preferred = action.preferred.then_some(true);
            let (title, kind) = (action.title, Some(kind));
            let action = CodeAction { title, kind, edit, diagnostics, is_preferred, data, ..CodeAction::default() };
            all.push(CodeActionOrCommand::CodeAction(action));
        }
    }
    // Our own extensions have commands for views.
    if !context.abilities.views && only.is_none() {
        all.extend(view_actions(context, &text, params));
    }
    Ok(Some(all))
}

/// Converts edits of one text.
fn workspace_edit(text: &ModuleText, url: &Url, edits: Vec<Edit>) -> WorkspaceEdit {
    let changes = HashMap::from([(url.clone(), text_edits(text, edits))]);
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}

/// Returns the document, definition and stage of the derivative that a code action inserts.
pub(crate) fn derivative_target(data: Option<&Value>) -> Option<(Url, String, ViewStage)> {
    let text = |name: &str| data?.get(name)?.as_str();
    let stage = text("stage")?;
    let (_, stage) = STAGES.iter().find(|(name, _)| *name == stage)?;
    Some((Url::parse(text("uri")?).ok()?, text("def")?.to_owned(), *stage))
}

/// Adds the edits to a code action.
pub(crate) fn resolve_action(
    context: &RequestContext<'_>,
    action: CodeAction,
    url: &Url,
    def: &str,
    stage: ViewStage,
) -> Result<CodeAction> {
    let text = context.document(url)?;
    let edits = derivative_edits(context.session, &text.module, def, stage).map_err(request_failed)?;
    Ok(CodeAction { edit: Some(workspace_edit(&text, url, edits)), ..action })
}

/// Returns the views of the definition whose name is selected, as actions.
fn view_actions(
    context: &RequestContext<'_>,
    text: &ModuleText,
    params: &CodeActionParams,
) -> Vec<CodeActionOrCommand> {
    let at = text.span(params.range);
    let found = lenses_at(context.session, &text.module, at.start).into_iter();
    let stages = found.filter_map(|lens| match lens.lens {
        Lens::View(stage) => Some((lens.def.to_string(), stage)),
        Lens::Cost => Some((lens.def.to_string(), "cost")),
        Lens::Run => None,
    });
    let one = |(def, stage): (String, &str)| {
        let what = match stage {
            "forward" => "the forward derivative",
            "ssa" => "the Tensor SSA",
            "cost" => "the costs",
            _ => "the adjoint",
        };
        let title = format!("Show {what} of `{def}`");
        let command = show_view(&title, &params.text_document.uri, &def, stage);
        CodeActionOrCommand::CodeAction(CodeAction { title, command: Some(command), ..CodeAction::default() })
    };
    stages.map(one).collect()
}

/// Returns the command that shows a view.
fn show_view(title: &str, url: &Url, def: &str, stage: &str) -> Command {
    let arguments = Some(vec![json!(url), json!(def), json!(stage)]);
    Command { title: title.to_owned(), command: SHOW_VIEW.to_owned(), arguments }
}

/// For the warning that an adjoint grows beyond every multiple of its function, returns the views
/// that explain it.
fn cost_warning_actions(
    context: &RequestContext<'_>,
    text: &ModuleText,
    url: &Url,
    wrong: &Diagnostic,
) -> Vec<CodeActionOrCommand> {
    if wrong.code != Some(NumberOrString::String(Code::W0700.name().to_owned())) {
        return Vec::new();
    }
    let Some(item) = context.session.item_at(&text.module, text.offset(wrong.range.start)) else { return Vec::new() };
    let show = |(what, stage): (&str, &str)| {
        let title = format!("Show {what} of `{}`", item.name);
        let command = Some(show_view(&title, url, &item.name, stage));
        let (kind, diagnostics) = (Some(CodeActionKind::QUICKFIX), Some(vec![wrong.clone()]));
        CodeActionOrCommand::CodeAction(CodeAction { title, kind, command, diagnostics, ..CodeAction::default() })
    };
    [("the adjoint", "adjoint"), ("the costs", "cost")].map(show).into()
}
