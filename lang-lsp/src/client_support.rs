//! **Client capabilities**, read once from `initialize`.

use serde_json::Value;

use crate::lines::Encoding;

/// The client's capabilities. They are read from the JSON message, because the protocol types in
/// use are older than some of these capabilities.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientSupport {
    /// The unit of a position's character.
    pub(crate) encoding: Encoding,
    /// Whether the client shows views through our own requests.
    pub(crate) views: bool,
    /// Whether the client shows documents whose text the server provides.
    pub(crate) content_documents: bool,
    /// Whether the client opens documents on request.
    pub(crate) show_document: bool,
    /// Whether diagnostics are only sent on request.
    pub(crate) pulls_diagnostics: bool,
    /// Whether diagnostics may have related locations.
    pub(crate) related_locations: bool,
    /// The kinds of data that the client requests again on a refresh request.
    pub(crate) refresh: RefreshSupport,
    /// Whether the client shows progress.
    pub(crate) progress: bool,
    /// Whether the client answers requests for its configuration.
    pub(crate) configuration: bool,
    /// The capabilities that can be registered dynamically.
    pub(crate) dynamic_registration: RegistrationSupport,
    /// Whether edits may contain document versions.
    pub(crate) document_changes: bool,
    /// Whether completion items may be snippets.
    pub(crate) snippets: bool,
    /// Whether hovers may contain Markdown.
    pub(crate) markdown: bool,
    /// Whether hovers may contain tables.
    pub(crate) tables: bool,
    /// Whether document symbols may be nested.
    pub(crate) nested_symbols: bool,
    /// Whether code actions may be more than commands.
    pub(crate) action_literals: bool,
    /// Whether the client requests the edits of a code action when the user chooses it.
    pub(crate) resolves_action_edits: bool,
    /// The client's process. The server ends with it.
    pub(crate) process_id: Option<u32>,
}

/// The supported refresh requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RefreshSupport {
    pub(crate) hints: bool,
    pub(crate) lenses: bool,
    pub(crate) tokens: bool,
    pub(crate) diagnostics: bool,
}

/// The supported dynamic registrations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RegistrationSupport {
    pub(crate) configuration: bool,
    pub(crate) watched_files: bool,
    pub(crate) content: bool,
}

impl ClientSupport {
    /// Reads the capabilities from the parameters of `initialize`.
    pub(crate) fn from_initialize(params: &Value) -> Self {
        let find = |path: &str| params.pointer(path);
        let has = |path: &str| find(path).is_some_and(|v| !v.is_null());
        let flag = |path: &str| find(path).and_then(Value::as_bool).unwrap_or(false);
        let refreshes = |what: &str| flag(&format!("/capabilities/workspace/{what}/refreshSupport"));
        let registers = |what: &str| flag(&format!("/capabilities/workspace/{what}/dynamicRegistration"));
        let offered = find("/capabilities/general/positionEncodings").cloned();
        let offered: Option<Vec<_>> = offered.and_then(|v| serde_json::from_value(v).ok());
        let formats = find("/capabilities/textDocument/hover/contentFormat").and_then(Value::as_array);
        Self {
            encoding: Encoding::negotiate(offered.as_deref()),
            views: flag("/initializationOptions/views"),
            content_documents: has("/capabilities/workspace/textDocumentContent"),
            show_document: flag("/capabilities/window/showDocument/support"),
            pulls_diagnostics: has("/capabilities/textDocument/diagnostic")
                && (!has("/capabilities/textDocument/publishDiagnostics")
                    || flag("/initializationOptions/pullDiagnostics")),
            related_locations: flag("/capabilities/textDocument/publishDiagnostics/relatedInformation")
                || flag("/capabilities/textDocument/diagnostic/relatedInformation"),
            refresh: RefreshSupport {
                hints: refreshes("inlayHint"),
                lenses: refreshes("codeLens"),
                tokens: refreshes("semanticTokens"),
                diagnostics: refreshes("diagnostics"),
            },
            progress: flag("/capabilities/window/workDoneProgress"),
            configuration: flag("/capabilities/workspace/configuration"),
            dynamic_registration: RegistrationSupport {
                configuration: registers("didChangeConfiguration"),
                watched_files: registers("didChangeWatchedFiles"),
                content: registers("textDocumentContent"),
            },
            document_changes: flag("/capabilities/workspace/workspaceEdit/documentChanges"),
            snippets: flag("/capabilities/textDocument/completion/completionItem/snippetSupport"),
            markdown: formats.is_some_and(|all| all.iter().any(|f| f == "markdown")),
            tables: flag("/initializationOptions/tables"),
            nested_symbols: flag("/capabilities/textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            action_literals: has("/capabilities/textDocument/codeAction/codeActionLiteralSupport"),
            resolves_action_edits: flag("/capabilities/textDocument/codeAction/dataSupport")
                && find("/capabilities/textDocument/codeAction/resolveSupport/properties")
                    .and_then(Value::as_array)
                    .is_some_and(|all| all.iter().any(|property| property == "edit")),
            process_id: find("/processId").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok()),
        }
    }
}
