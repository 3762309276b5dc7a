//! **Handlers** of the protocol's requests and notifications. Each handler queues one step for the
//! main loop before its first await, so steps take effect in the order of arrival. A request then
//! awaits its answer. If the client cancels it, its future is dropped, which cancels the
//! computation.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use lang_ide::hover::HoverDepth;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tower_lsp::LanguageServer;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::request::{
    GotoDeclarationParams, GotoDeclarationResponse, GotoImplementationParams, GotoImplementationResponse,
    GotoTypeDefinitionParams, GotoTypeDefinitionResponse,
};
use tower_lsp::lsp_types::*;

use crate::check;
use crate::client_support::ClientSupport;
use crate::commands;
use crate::features::navigate::NavigationTarget;
use crate::features::{calls, complete, insight, layout, navigate, rename, symbols, tokens};
use crate::files;
use crate::last_hover::LastHover;
use crate::pages;
use crate::settings::Settings;
use crate::snapshot::{
    CancelOnDrop, QuestionSubject, RequestCancellation, RequestContext, RequestQuestion, request_failed,
};
use crate::startup;
use crate::state::{ServerState, StepQueue};
use crate::views::ViewTarget;
use crate::workers::PoolKind;

/// The time that a hover or a lens waits for its full answer. After that it returns the known
/// values and notes that more follow.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(250);

/// The handler object that the service calls.
pub(crate) struct Server {
    pub(crate) queue: StepQueue,
    /// The client's capabilities, set by `initialize`.
    pub(crate) abilities: Arc<OnceLock<ClientSupport>>,
    /// The semantic tokens that the client has.
    pub(crate) sent_tokens: Arc<Mutex<tokens::SentTokens>>,
    /// The last hover.
    pub(crate) last_hover: Mutex<Option<LastHover>>,
}

/// Parameters with the URI of a document.
#[derive(Deserialize)]
pub(crate) struct UrlParams {
    uri: Url,
}

/// Parameters with the token of a progress indicator.
#[derive(Deserialize)]
pub(crate) struct TokenParams {
    token: Value,
}

/// Parameters of a view of a definition.
#[derive(Deserialize)]
pub(crate) struct ViewParams {
    uri: Url,
    def: String,
    stage: String,
}

impl Server {
    fn queue_step(&self, step: impl FnOnce(&mut ServerState) + Send + 'static) {
        self.queue.send(step);
    }

    /// Queues a step that changes an input, and drops the last hover, because its answer may have
    /// changed.
    fn queue_change(&self, step: impl FnOnce(&mut ServerState) + Send + 'static) {
        *self.last_hover() = None;
        self.queue_step(step);
    }

    /// Asks a question about a document, or about all documents if `url` is `None`.
    async fn ask<T: Send + 'static>(
        &self,
        url: Option<&Url>,
        question: impl FnMut(&RequestContext<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, _cancelled) = self.queue_question(PoolKind::FastRequests, url, None, question);
        answer.await.unwrap_or_else(|_| Err(Error::internal_error()))
    }

    /// Asks a slow question on a lane of its own, so that other requests do not wait for it.
    async fn ask_slow<T: Send + 'static>(
        &self,
        url: &Url,
        question: impl FnMut(&RequestContext<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, _cancelled) = self.queue_question(PoolKind::SlowRequests, Some(url), None, question);
        answer.await.unwrap_or_else(|_| Err(Error::internal_error()))
    }

    /// Asks a question about a position in a word that the user may still extend.
    async fn ask_at_word<T: Send + 'static>(
        &self,
        at: &TextDocumentPositionParams,
        question: impl FnMut(&RequestContext<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let url = &at.text_document.uri;
        let (answer, _cancelled) = self.queue_question(PoolKind::FastRequests, Some(url), Some(at.position), question);
        answer.await.unwrap_or_else(|_| Err(Error::internal_error()))
    }

    /// Queues a question. Returns the receiver of its answer and a guard that cancels it when
    /// dropped.
    fn queue_question<T: Send + 'static>(
        &self,
        lane: PoolKind,
        url: Option<&Url>,
        word_at: Option<Position>,
        question: impl FnMut(&RequestContext<'_>) -> Result<T> + Send + 'static,
    ) -> (oneshot::Receiver<Result<T>>, CancelOnDrop) {
        let (reply, answer) = oneshot::channel();
        let cord = RequestCancellation::default();
        let cancelled = CancelOnDrop::new(cord.clone());
        let url = url.cloned();
        self.queue_step(move |state| {
            state.flush();
            let about = url.and_then(|url| state.document(&url)).map(|document| QuestionSubject { document, word_at });
            state.ask(Box::new(RequestQuestion {
                pool_kind: lane,
                subject: about,
                question,
                reply: Some(reply),
                cancellation: cord,
            }));
        });
        (answer, cancelled)
    }

    fn last_hover(&self) -> std::sync::MutexGuard<'_, Option<LastHover>> {
        self.last_hover.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn go_to(
        &self,
        at: TextDocumentPositionParams,
        target: NavigationTarget,
    ) -> Result<Option<GotoDefinitionResponse>> {
        self.ask(Some(&at.text_document.uri.clone()), move |context| navigate::go_to(context, &at, target)).await
    }

    /// Returns the text of a document without a file.
    pub(crate) async fn content(&self, params: UrlParams) -> Result<Value> {
        if let Some(text) = pages::page_text(&params.uri) {
            return Ok(json!({"text": text}));
        }
        let Some(view) = ViewTarget::from_url(&params.uri) else {
            return Err(request_failed(format!("unknown document {}", params.uri)));
        };
        let shown = view.clone();
        self.queue_step(move |state| state.views.record_shown(params.uri, shown));
        let answer = self.ask_slow(&view.source.clone(), move |context| view.answer(context)).await?;
        Ok(json!({"text": answer.get("text")}))
    }

    /// Returns a view of a definition.
    pub(crate) async fn view(&self, params: ViewParams) -> Result<Value> {
        let view = ViewTarget { source: params.uri, def: params.def, stage: params.stage };
        self.ask_slow(&view.source.clone(), move |context| view.answer(context)).await
    }

    /// Shows a view to a client without support for views: as a document whose text the server
    /// provides, or else as a file.
    async fn show_view(&self, arguments: Vec<Value>) -> Result<Option<Value>> {
        // A client that shows the document itself passes `false` as a fourth argument.
        let (what, more) = arguments.split_at(arguments.len().min(3));
        let asks = more.first().and_then(Value::as_bool) != Some(false);
        let parsed: std::result::Result<(Url, String, String), _> = serde_json::from_value(json!(what));
        let (source, def, stage) =
            parsed.map_err(|_| Error::invalid_params("a view requires a URI, a name and a stage"))?;
        let view = ViewTarget { source, def, stage };
        let target = view.clone();
        let answer = self.ask_slow(&view.source, move |context| target.answer(context)).await?;
        let text = answer.get("text").and_then(Value::as_str).unwrap_or_default();
        let abilities = self.abilities.get().cloned().unwrap_or_default();
        let document = match abilities.content_documents {
            true => view.url(),
            false => Url::from_file_path(view.write(text).map_err(|e| request_failed(e.to_string()))?).ok(),
        };
        let Some(document) = document else { return Err(request_failed("cannot show the view")) };
        let shown = document.clone();
        self.queue_step(move |state| {
            state.views.record_shown(shown.clone(), view);
            if !asks {
                return;
            }
            if abilities.show_document {
                let params = json!({"uri": shown, "takeFocus": false});
                state.client.request_by_name("window/showDocument", params, |_| {});
            } else {
                state.client.show_message(MessageType::INFO, format!("the view is in {shown}"));
            }
        });
        Ok(Some(json!({"uri": document})))
    }

    /// Handles the cancellation of a progress indicator.
    pub(crate) async fn progress_cancelled(&self, params: TokenParams) {
        self.queue_step(move |state| state.evaluator.stop_if_token(&params.token));
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let abilities = self.abilities.get().cloned().unwrap_or_default();
        let encoding = abilities.encoding;
        let capabilities = startup::capabilities(&abilities);
        self.queue_step(move |state| startup::handle_initialize(state, abilities, &params));
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        let server_info = Some(ServerInfo { name: "iverson-lsp".to_owned(), version });
        let capabilities = ServerCapabilities { position_encoding: Some(encoding.kind()), ..capabilities };
        Ok(InitializeResult { capabilities, server_info })
    }

    async fn initialized(&self, _: InitializedParams) {
        self.queue_step(startup::handle_initialized);
    }

    async fn shutdown(&self) -> Result<()> {
        self.queue_step(|state| state.evaluator.stop());
        Ok(())
    }

    // ---- documents ----

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        self.queue_change(move |state| state.opened(document.uri, document.version, document.text));
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let document = params.text_document;
        self.queue_change(move |state| state.changed(&document.uri, document.version, params.content_changes));
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.queue_step(move |state| state.saved(&params.text_document.uri));
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.sent_tokens.lock().unwrap_or_else(PoisonError::into_inner).forget(&params.text_document.uri);
        self.queue_change(move |state| state.closed(&params.text_document.uri));
    }

    // ---- the workspace ----

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        self.queue_change(move |state| startup::configuration_changed(state, &params.settings));
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.queue_change(move |state| startup::folders_changed(state, &params.event));
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.queue_change(move |state| {
            state.retry_missing_files();
            state.read(params.changes.iter().map(|change| files::module_of(&change.uri)).collect());
        });
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        if params.command == commands::SHOW_VIEW {
            return self.show_view(params.arguments).await;
        }
        let (reply, answer) = oneshot::channel();
        self.queue_step(move |state| commands::execute(state, &params, reply));
        answer.await.unwrap_or_else(|_| Err(Error::internal_error()))
    }

    // ---- requests about a document ----

    async fn diagnostic(&self, params: DocumentDiagnosticParams) -> Result<DocumentDiagnosticReportResult> {
        let url = params.text_document.uri;
        let items = move |context: &RequestContext<'_>| {
            let document = context.documents.get(&url).ok_or_else(|| request_failed(format!("{url} is not open")))?;
            Ok(check::document_diagnostics(context, document).unwrap_or_default())
        };
        let items = self.ask(None, items).await?;
        let full = FullDocumentDiagnosticReport { result_id: None, items };
        let report =
            RelatedFullDocumentDiagnosticReport { related_documents: None, full_document_diagnostic_report: full };
        Ok(DocumentDiagnosticReportResult::Report(DocumentDiagnosticReport::Full(report)))
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        let at = params.text_document_position_params;
        let url = at.text_document.uri.clone();
        let known = self.last_hover().as_ref().and_then(|left| left.receiver_for(&at));
        let mut cancelled = None;
        let mut answer = known.unwrap_or_else(|| {
            let place = at.clone();
            let full = move |context: &RequestContext<'_>| insight::hover(context, &place, HoverDepth::Full);
            let (reply, pull) = self.queue_question(PoolKind::DeadlineRequests, Some(&url), None, full);
            let hovering = LastHover::new(at.clone(), pull.cancellation(), reply);
            let answer = hovering.receiver();
            *self.last_hover() = Some(hovering);
            cancelled = Some(pull);
            answer
        });
        let found = tokio::time::timeout(ANSWER_TIMEOUT, answer.wait_for(Option::is_some)).await;
        let found = found.map(|found| found.ok().and_then(|found| found.clone()));
        // The computation continues, so that the answer is ready when the client requests it again.
        cancelled.into_iter().for_each(CancelOnDrop::disarm);
        match found {
            Ok(Some(found)) => found,
            // It takes longer, or another hover cancelled it.
            _ => self.ask(Some(&url), move |context| insight::hover(context, &at, HoverDepth::Quick)).await,
        }
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        let at = params.text_document_position;
        let bracket = params.context.is_some_and(|c| c.trigger_character.as_deref() == Some("("));
        self.ask_at_word(&at.clone(), move |context| complete::completion(context, &at, bracket)).await
    }

    async fn completion_resolve(&self, item: CompletionItem) -> Result<CompletionItem> {
        self.ask(None, move |context| complete::resolve(context, item.clone())).await
    }

    async fn signature_help(&self, params: SignatureHelpParams) -> Result<Option<SignatureHelp>> {
        let at = params.text_document_position_params;
        self.ask_at_word(&at.clone(), move |context| complete::signatures(context, &at)).await
    }

    async fn prepare_rename(&self, at: TextDocumentPositionParams) -> Result<Option<PrepareRenameResponse>> {
        self.ask(Some(&at.text_document.uri.clone()), move |context| rename::prepare(context, &at)).await
    }

    async fn rename(&self, params: RenameParams) -> Result<Option<WorkspaceEdit>> {
        let (at, new) = (params.text_document_position, params.new_name);
        self.ask_slow(&at.text_document.uri.clone(), move |context| rename::rename(context, &at, &new)).await
    }

    async fn prepare_call_hierarchy(
        &self,
        params: CallHierarchyPrepareParams,
    ) -> Result<Option<Vec<CallHierarchyItem>>> {
        let at = params.text_document_position_params;
        self.ask(Some(&at.text_document.uri.clone()), move |context| calls::prepare(context, &at)).await
    }

    async fn incoming_calls(
        &self,
        params: CallHierarchyIncomingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyIncomingCall>>> {
        let of = params.item;
        self.ask_slow(&of.uri.clone(), move |context| calls::incoming(context, &of)).await
    }

    async fn outgoing_calls(
        &self,
        params: CallHierarchyOutgoingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyOutgoingCall>>> {
        let of = params.item;
        self.ask_slow(&of.uri.clone(), move |context| calls::outgoing(context, &of)).await
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        let (url, range) = (params.text_document.uri, params.range);
        self.ask(Some(&url.clone()), move |context| insight::inlay_hints(context, &url, range)).await
    }

    async fn inlay_hint_resolve(&self, hint: InlayHint) -> Result<InlayHint> {
        let Some((url, at)) = insight::hint_target(hint.data.as_ref()) else { return Ok(hint) };
        self.ask(Some(&url.clone()), move |context| insight::resolve_hint(context, hint.clone(), &url, at)).await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        let url = params.text_document.uri;
        self.ask(Some(&url.clone()), move |context| insight::code_lenses(context, &url)).await
    }

    async fn code_lens_resolve(&self, lens: CodeLens) -> Result<CodeLens> {
        let Some((url, def)) = insight::lens_target(lens.data.as_ref()) else { return Ok(lens) };
        let (of, name, range) = (url.clone(), def.clone(), lens.range);
        let costs = move |context: &RequestContext<'_>| insight::resolve_lens(context, range, &of, &name, false);
        let (answer, cancelled) = self.queue_question(PoolKind::SlowRequests, Some(&url), None, costs);
        if let Ok(answer) = tokio::time::timeout(ANSWER_TIMEOUT, answer).await {
            return answer.unwrap_or_else(|_| Err(Error::internal_error()));
        }
        // The client requests the lens again when the costs are known.
        drop(cancelled);
        self.ask(Some(&url.clone()), move |context| insight::resolve_lens(context, range, &url, &def, true)).await
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        self.ask_slow(&params.text_document.uri.clone(), move |context| insight::code_actions(context, &params)).await
    }

    async fn code_action_resolve(&self, action: CodeAction) -> Result<CodeAction> {
        let Some((url, def, stage)) = insight::derivative_target(action.data.as_ref()) else { return Ok(action) };
        self.ask_slow(&url.clone(), move |context| insight::resolve_action(context, action.clone(), &url, &def, stage))
            .await
    }

    async fn formatting(&self, params: DocumentFormattingParams) -> Result<Option<Vec<TextEdit>>> {
        let url = params.text_document.uri;
        self.ask(Some(&url.clone()), move |context| layout::formatting(context, &url)).await
    }

    async fn range_formatting(&self, params: DocumentRangeFormattingParams) -> Result<Option<Vec<TextEdit>>> {
        let url = params.text_document.uri;
        self.ask(Some(&url.clone()), move |context| layout::range_formatting(context, &url, params.range)).await
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
        let url = params.text_document.uri;
        self.ask(Some(&url.clone()), move |context| layout::folding(context, &url)).await
    }

    async fn selection_range(&self, params: SelectionRangeParams) -> Result<Option<Vec<SelectionRange>>> {
        let url = params.text_document.uri;
        self.ask(Some(&url.clone()), move |context| layout::selections(context, &url, &params.positions)).await
    }

    async fn goto_definition(&self, params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>> {
        self.go_to(params.text_document_position_params, NavigationTarget::Definition).await
    }

    async fn goto_declaration(&self, params: GotoDeclarationParams) -> Result<Option<GotoDeclarationResponse>> {
        self.go_to(params.text_document_position_params, NavigationTarget::Declaration).await
    }

    async fn goto_implementation(
        &self,
        params: GotoImplementationParams,
    ) -> Result<Option<GotoImplementationResponse>> {
        self.go_to(params.text_document_position_params, NavigationTarget::Implementation).await
    }

    async fn goto_type_definition(
        &self,
        params: GotoTypeDefinitionParams,
    ) -> Result<Option<GotoTypeDefinitionResponse>> {
        self.go_to(params.text_document_position_params, NavigationTarget::Type).await
    }

    async fn references(&self, params: ReferenceParams) -> Result<Option<Vec<Location>>> {
        let (at, declaration) = (params.text_document_position, params.context.include_declaration);
        self.ask(Some(&at.text_document.uri.clone()), move |context| {
            navigate::find_references(context, &at, declaration)
        })
        .await
    }

    async fn document_highlight(&self, params: DocumentHighlightParams) -> Result<Option<Vec<DocumentHighlight>>> {
        let at = params.text_document_position_params;
        self.ask(Some(&at.text_document.uri.clone()), move |context| navigate::highlight(context, &at)).await
    }

    async fn document_symbol(&self, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
        let url = params.text_document.uri;
        self.ask(Some(&url.clone()), move |context| symbols::symbols_of_document(context, &url)).await
    }

    async fn symbol(&self, params: WorkspaceSymbolParams) -> Result<Option<Vec<SymbolInformation>>> {
        self.ask(None, move |context| symbols::symbols_of_workspace(context, &params.query)).await
    }

    async fn semantic_tokens_full(&self, params: SemanticTokensParams) -> Result<Option<SemanticTokensResult>> {
        let (url, sent) = (params.text_document.uri, Arc::clone(&self.sent_tokens));
        let all = self.ask(Some(&url.clone()), move |context| tokens::full(context, &url, &sent)).await?;
        Ok(Some(SemanticTokensResult::Tokens(all)))
    }

    async fn semantic_tokens_full_delta(
        &self,
        params: SemanticTokensDeltaParams,
    ) -> Result<Option<SemanticTokensFullDeltaResult>> {
        let (url, before, sent) = (params.text_document.uri, params.previous_result_id, Arc::clone(&self.sent_tokens));
        self.ask(Some(&url.clone()), move |context| tokens::delta(context, &url, &before, &sent).map(Some)).await
    }

    async fn semantic_tokens_range(
        &self,
        params: SemanticTokensRangeParams,
    ) -> Result<Option<SemanticTokensRangeResult>> {
        let url = params.text_document.uri;
        let all =
            self.ask(Some(&url.clone()), move |context| tokens::tokens_of_range(context, &url, params.range)).await?;
        Ok(Some(SemanticTokensRangeResult::Tokens(all)))
    }
}

/// Reads the settings from a response to `workspace/configuration`.
pub(crate) fn settings(answer: Vec<Value>) -> Settings {
    Settings::from_section(&answer.into_iter().next().unwrap_or_default())
}
