//! **Views for the client.** Our own clients receive a view as the answer to a request. Others
//! receive a document whose text the server provides,
//! `iverson-view:/<def>.<stage>.iv?<the source's URI>`, or a file that it writes. All views follow
//! the edits.

use std::collections::VecDeque;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lang_ide::views::{STAGES, view as view_of};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Range, Url};

use crate::files;
use crate::snapshot::{RequestContext, request_failed};

/// The scheme of views as documents.
pub(crate) const VIEW_SCHEME: &str = "iverson-view";
/// The folder of view files, among the server's copies.
const FOLDER: &str = "views";
/// The maximal number of views that follow the edits; the oldest are dropped.
const MAX_VIEWS: usize = 32;
/// The prefix of the first line of a view file while the current program has no such view.
const OUTDATED_PREFIX: &str = "-- outdated: ";

/// The subject of a view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ViewTarget {
    /// The document that contains the definition.
    pub(crate) source: Url,
    pub(crate) def: String,
    pub(crate) stage: String,
}

impl ViewTarget {
    /// Parses the URI of a view document.
    pub(crate) fn from_url(url: &Url) -> Option<Self> {
        if url.scheme() != VIEW_SCHEME {
            return None;
        }
        let path = percent_decoded(url.path());
        let (def, stage) = path.trim_start_matches('/').strip_suffix(".iv")?.rsplit_once('.')?;
        let source = Url::parse(&percent_decoded(url.query()?)).ok()?;
        Some(Self { source, def: def.to_owned(), stage: stage.to_owned() })
    }

    /// Returns the URI of its document.
    pub(crate) fn url(&self) -> Option<Url> {
        let mut url = Url::from_str(&format!("{VIEW_SCHEME}:/")).ok()?;
        url.set_path(&format!("/{}.{}.iv", self.def, self.stage));
        url.set_query(Some(&percent_encoded(self.source.as_str())));
        Some(url)
    }

    /// Returns the path of its file among the server's copies. The folder depends on the source,
    /// because definitions of different programs may have the same name.
    fn file_path(&self) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        self.source.as_str().hash(&mut hasher);
        let folder = format!("{:08x}", hasher.finish() & 0xffff_ffff);
        Path::new(FOLDER).join(folder).join(format!("{}.{}.iv", self.def, self.stage))
    }

    /// Writes its file with this text.
    pub(crate) fn write(&self, text: &str) -> io::Result<PathBuf> {
        files::write_copy(&self.file_path(), text)
    }

    /// Updates its file. If the view fails, the old text stays, below the reason.
    pub(crate) fn update_file(&self, context: &RequestContext<'_>) {
        // If writing fails, the old file stays until the next edit.
        let _ = match self.answer(context) {
            Ok(answer) => self.write(answer.get("text").and_then(Value::as_str).unwrap_or_default()),
            Err(why) => {
                let old = fs::read_to_string(files::copies_folder().join(self.file_path())).unwrap_or_default();
                let old = match old.strip_prefix(OUTDATED_PREFIX) {
                    Some(outdated_text) => outdated_text.split_once('\n').map_or("", |(_, rest)| rest),
                    None => &old,
                };
                self.write(&format!("{OUTDATED_PREFIX}{}\n{old}", why.message.lines().next().unwrap_or_default()))
            }
        };
    }

    /// Returns its text, the language of the text, the origins of its lines and a note.
    pub(crate) fn answer(&self, context: &RequestContext<'_>) -> Result<Value> {
        let text = context.document(&self.source)?;
        let Some((_, stage)) = STAGES.iter().find(|(name, _)| *name == self.stage) else {
            return Err(request_failed(format!("unknown view `{}`", self.stage)));
        };
        let view = view_of(context.session, &text.module, &self.def, *stage).map_err(request_failed)?;
        let lines = view.lines.iter().map(|(line, spans)| {
            let origins: Vec<Range> = spans.iter().map(|span| text.range(*span)).collect();
            json!({"line": line, "origins": origins})
        });
        let lines: Vec<Value> = lines.collect();
        let language = if view.is_program { "iverson" } else { "iverson-form" };
        let mut answer = json!({"text": view.text, "language": language, "lines": lines});
        if let (Some(note), Some(answer)) = (view.note, answer.as_object_mut()) {
            answer.insert("note".to_owned(), Value::String(note));
        }
        Ok(answer)
    }
}

/// Returns whether the document is a view, whose text is the server's and no program of the user.
pub(crate) fn is_view(url: &Url) -> bool {
    url.scheme() == VIEW_SCHEME
        || files::path_of(url)
            .is_some_and(|path| files::path_among_copies(&path).is_some_and(|file| file.starts_with(FOLDER)))
}

/// A view of a client that does not support our own requests.
struct ClientView {
    document: Url,
    view: ViewTarget,
    /// Whether it follows the edits, because its document is open.
    is_live: bool,
}

/// The views of a client that does not support our own requests.
#[derive(Default)]
pub(crate) struct ClientViews(VecDeque<ClientView>);

impl ClientViews {
    /// Records that a document shows a view.
    pub(crate) fn record_shown(&mut self, document: Url, view: ViewTarget) {
        self.0.retain(|shown| shown.document != document);
        self.0.push_back(ClientView { document, view, is_live: true });
        if self.0.len() > MAX_VIEWS {
            self.0.pop_front();
        }
    }

    /// Records that the document of a view was closed.
    pub(crate) fn closed(&mut self, document: &Url) {
        self.set_live(document, false);
    }

    /// Records that a document was opened, because some editors close and reopen a file to reload
    /// it. Returns whether it is a view.
    pub(crate) fn opened(&mut self, document: &Url) -> bool {
        self.set_live(document, true)
    }

    fn set_live(&mut self, document: &Url, follows: bool) -> bool {
        let shown = self.0.iter_mut().find(|shown| shown.document == *document);
        shown.map(|shown| shown.is_live = follows).is_some()
    }

    /// Returns the views that are files.
    pub(crate) fn files(&self) -> Vec<ViewTarget> {
        self.live_with_scheme("file").map(|shown| shown.view.clone()).collect()
    }

    /// Returns the documents whose text the client requests from the server.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &Url> {
        self.live_with_scheme(VIEW_SCHEME).map(|shown| &shown.document)
    }

    /// Returns the views that follow the edits and whose documents have this scheme.
    fn live_with_scheme(&self, scheme: &'static str) -> impl Iterator<Item = &ClientView> {
        self.0.iter().filter(move |shown| shown.is_live && shown.document.scheme() == scheme)
    }
}

fn percent_encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let code = more.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = more.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_views() {
        let source = Url::parse("file:///a/b%20c.iv").unwrap();
        let view = ViewTarget { source, def: "μ_1".to_owned(), stage: "adjoint".to_owned() };
        let url = view.url().unwrap();
        assert!(url.as_str().ends_with(".adjoint.iv?file%3A%2F%2F%2Fa%2Fb%2520c.iv"), "{url}");
        assert!(is_view(&url));
        assert_eq!(ViewTarget::from_url(&url), Some(view.clone()));
        let file = Url::from_file_path(files::copies_folder().join(view.file_path())).unwrap();
        assert!(is_view(&file), "{file}");
        let program = Url::parse("file:///a.adjoint.iv?x").unwrap();
        assert!(ViewTarget::from_url(&program).is_none() && !is_view(&program));
        assert!(!is_view(&Url::from_file_path(files::copies_folder().join("linalg.iv")).unwrap()));
    }

    #[test]
    fn the_last_views_are_kept() {
        let mut views = ClientViews::default();
        let url = |n: usize| Url::parse(&format!("{VIEW_SCHEME}:/f{n}.ssa.iv?file%3A%2F%2F%2Fa.iv")).unwrap();
        for n in (0..=MAX_VIEWS).chain([MAX_VIEWS]) {
            views.record_shown(url(n), ViewTarget::from_url(&url(n)).unwrap());
        }
        views.closed(&url(7));
        assert_eq!(views.documents().count(), MAX_VIEWS - 1);
        assert!(views.documents().all(|shown| *shown != url(0) && *shown != url(7)));
    }
}
