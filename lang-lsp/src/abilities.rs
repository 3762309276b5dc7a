//! What the client can do, read once from `initialize`.

use serde_json::Value;

use crate::lines::Encoding;

/// What the client can do. Read from the message itself: the types of the protocol that we have are older than some of
/// what is asked here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Abilities {
    /// What characters count.
    pub(crate) encoding: Encoding,
    /// Shows views by requests of our own.
    pub(crate) views: bool,
    /// Shows documents whose text the server gives.
    pub(crate) content: bool,
    /// Opens documents when asked.
    pub(crate) show_document: bool,
    /// Is told diagnostics only when it asks.
    pub(crate) pulls: bool,
    /// Takes related places with diagnostics.
    pub(crate) related: bool,
    /// Asks again for these when told to.
    pub(crate) refresh: Refresh,
    /// Shows progress.
    pub(crate) progress: bool,
    /// Is asked for settings.
    pub(crate) configuration: bool,
    /// Registers this when asked.
    pub(crate) registers: Registers,
    /// Takes changes of documents with their versions.
    pub(crate) document_changes: bool,
    /// Takes completion items with places to fill in.
    pub(crate) snippets: bool,
    /// Shows Markdown in hovers.
    pub(crate) markdown: bool,
    /// Shows tables in them.
    pub(crate) tables: bool,
    /// Shows symbols within symbols.
    pub(crate) nested_symbols: bool,
    /// Takes code actions that are more than commands.
    pub(crate) action_literals: bool,
    /// Asks for the edits of a code action when it is chosen.
    pub(crate) action_edits_later: bool,
    /// Its process, whose end is ours.
    pub(crate) process: Option<u32>,
}

/// Requests to ask again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refresh {
    pub(crate) hints: bool,
    pub(crate) lenses: bool,
    pub(crate) tokens: bool,
    pub(crate) diagnostics: bool,
}

/// What may be registered after the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Registers {
    pub(crate) configuration: bool,
    pub(crate) watched_files: bool,
    pub(crate) content: bool,
}

impl Abilities {
    /// What the parameters of `initialize` say.
    pub(crate) fn read(params: &Value) -> Self {
        let find = |path: &str| params.pointer(path);
        let has = |path: &str| find(path).is_some_and(|v| !v.is_null());
        let flag = |path: &str| find(path).and_then(Value::as_bool).unwrap_or(false);
        let refreshes = |what: &str| flag(&format!("/capabilities/workspace/{what}/refreshSupport"));
        let registers = |what: &str| flag(&format!("/capabilities/workspace/{what}/dynamicRegistration"));
        let offered = find("/capabilities/general/positionEncodings").cloned();
        let offered: Option<Vec<_>> = offered.and_then(|v| serde_json::from_value(v).ok());
        let formats = find("/capabilities/textDocument/hover/contentFormat").and_then(Value::as_array);
        Self {
            encoding: Encoding::agreed(offered.as_deref()),
            views: flag("/initializationOptions/views"),
            content: has("/capabilities/workspace/textDocumentContent"),
            show_document: flag("/capabilities/window/showDocument/support"),
            pulls: has("/capabilities/textDocument/diagnostic")
                && (!has("/capabilities/textDocument/publishDiagnostics")
                    || flag("/initializationOptions/pullDiagnostics")),
            related: flag("/capabilities/textDocument/publishDiagnostics/relatedInformation")
                || flag("/capabilities/textDocument/diagnostic/relatedInformation"),
            refresh: Refresh {
                hints: refreshes("inlayHint"),
                lenses: refreshes("codeLens"),
                tokens: refreshes("semanticTokens"),
                diagnostics: refreshes("diagnostics"),
            },
            progress: flag("/capabilities/window/workDoneProgress"),
            configuration: flag("/capabilities/workspace/configuration"),
            registers: Registers {
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
            action_edits_later: flag("/capabilities/textDocument/codeAction/dataSupport")
                && find("/capabilities/textDocument/codeAction/resolveSupport/properties")
                    .and_then(Value::as_array)
                    .is_some_and(|all| all.iter().any(|property| property == "edit")),
            process: find("/processId").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok()),
        }
    }
}
