//! **Startup and reconfiguration.** Declares the server's capabilities, registers for
//! notifications, and keeps track of the client's folders and settings.

use std::path::PathBuf;

use serde_json::{Value, json};
use tower_lsp::lsp_types::request::WorkspaceConfiguration;
use tower_lsp::lsp_types::*;

use crate::client_support::ClientSupport;
use crate::commands;
use crate::features::tokens;
use crate::files::{self, LIBRARY_SCHEME};
use crate::server;
use crate::settings::Settings;
use crate::state::ServerState;
use crate::views::VIEW_SCHEME;

/// Returns the server's capabilities for this client.
pub(crate) fn capabilities(abilities: &ClientSupport) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(TextDocumentSyncSaveOptions::Supported(true)),
        ..TextDocumentSyncOptions::default()
    };
    let diagnostics = DiagnosticOptions {
        identifier: Some("iverson".to_owned()),
        inter_file_dependencies: true,
        workspace_diagnostics: false,
        ..DiagnosticOptions::default()
    };
    let tokens = SemanticTokensOptions {
        legend: tokens::legend(),
        range: Some(true),
        full: Some(SemanticTokensFullOptions::Delta { delta: Some(true) }),
        ..SemanticTokensOptions::default()
    };
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        diagnostic_provider: abilities.pulls_diagnostics.then_some(DiagnosticServerCapabilities::Options(diagnostics)),
        completion_provider: Some(CompletionOptions {
            resolve_provider: Some(true),
            trigger_characters: Some([".", "\\", "("].map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(vec!["(".to_owned(), ",".to_owned()]),
            ..SignatureHelpOptions::default()
        }),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        call_hierarchy_provider: Some(CallHierarchyServerCapability::Simple(true)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        inlay_hint_provider: Some(OneOf::Right(InlayHintServerCapabilities::Options(InlayHintOptions {
            resolve_provider: Some(true),
            ..InlayHintOptions::default()
        }))),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(true) }),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::REFACTOR]),
            resolve_provider: Some(true),
            ..CodeActionOptions::default()
        })),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_range_formatting_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        selection_range_provider: Some(SelectionRangeProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        declaration_provider: Some(DeclarationCapability::Simple(true)),
        implementation_provider: Some(ImplementationProviderCapability::Simple(true)),
        type_definition_provider: Some(TypeDefinitionProviderCapability::Simple(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        semantic_tokens_provider: Some(SemanticTokensServerCapabilities::SemanticTokensOptions(tokens)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::command_names(abilities.views),
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}

/// Handles `initialize`: stores the client's capabilities, folders and options.
pub(crate) fn handle_initialize(state: &mut ServerState, abilities: ClientSupport, params: &InitializeParams) {
    if let Some(process) = abilities.process_id {
        crate::exit_with_client(process, state.queue.clone());
    }
    state.abilities = abilities.into();
    let folders = params.workspace_folders.iter().flatten().map(|folder| folder.uri.clone());
    let folders: Vec<Url> = folders.collect();
    #[allow(deprecated, reason = "clients before folders have a root")]
    let root = params.root_uri.clone().filter(|_| folders.is_empty());
    state.folders = folders.iter().chain(&root).filter_map(files::path_of).collect();
    if let Some(options) = &params.initialization_options {
        state.settings = Settings::from_section(options).into();
    }
}

/// Handles `initialized`: registers for notifications and reads the folders.
pub(crate) fn handle_initialized(state: &mut ServerState) {
    let registers = state.abilities.dynamic_registration;
    let watchers = json!({"watchers": [{"globPattern": "**/*.iv"}]});
    // A client with support for views provides that scheme itself.
    let schemes = if state.abilities.views { vec![LIBRARY_SCHEME] } else { vec![LIBRARY_SCHEME, VIEW_SCHEME] };
    let all = [
        (registers.watched_files, "workspace/didChangeWatchedFiles", watchers),
        (registers.configuration, "workspace/didChangeConfiguration", json!({"section": "iverson"})),
        (registers.content, "workspace/textDocumentContent", json!({"schemes": schemes})),
    ];
    let wanted = all.into_iter().filter(|(wanted, ..)| *wanted);
    let registrations: Vec<Value> = wanted
        .map(|(_, method, options)| json!({"id": method, "method": method, "registerOptions": options}))
        .collect();
    if !registrations.is_empty() {
        let params = json!({"registrations": registrations});
        state.client.request_by_name("client/registerCapability", params, |_| {});
    }
    state.show_setting_warnings();
    pull_configuration(state);
    for folder in state.folders.clone() {
        state.load_folder(folder);
    }
}

/// Requests the settings, if the client supports that.
fn pull_configuration(state: &ServerState) {
    if !state.abilities.configuration {
        return;
    }
    let item = ConfigurationItem { scope_uri: None, section: Some("iverson".to_owned()) };
    let queue = state.queue.clone();
    let params = ConfigurationParams { items: vec![item] };
    state.client.request::<WorkspaceConfiguration>(params, move |answer| {
        queue.send(move |state| state.apply_settings(server::settings(answer)));
    });
}

/// Handles changed settings, which are in the notification or must be requested.
pub(crate) fn configuration_changed(state: &mut ServerState, settings: &Value) {
    if state.abilities.configuration {
        pull_configuration(state);
    } else if !settings.is_null() {
        state.apply_settings(Settings::from_section(settings));
    }
}

/// Handles opened and closed folders. The modules of a closed folder stay, because they may be
/// imported.
pub(crate) fn folders_changed(state: &mut ServerState, event: &WorkspaceFoldersChangeEvent) {
    let removed: Vec<PathBuf> = event.removed.iter().filter_map(|f| files::path_of(&f.uri)).collect();
    state.folders.retain(|folder| !removed.contains(folder));
    for folder in event.added.iter().filter_map(|f| files::path_of(&f.uri)) {
        state.folders.push(folder.clone());
        state.load_folder(folder);
    }
}
