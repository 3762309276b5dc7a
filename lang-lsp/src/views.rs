//! Views of definitions for the client: for ours as answers to their requests; for others as documents whose text the
//! server gives, `iverson-view:/<def>.<stage>.iv?<the source's URI>`, or as files that it writes. All follow the edits.

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
use crate::world::{Seen, failed};

/// The scheme of views as documents.
pub(crate) const VIEW_SCHEME: &str = "iverson-view";
/// Where files of views are, among the server's copies.
const FOLDER: &str = "views";
/// So many views of a client follow the edits, those that were opened last.
const MOST_VIEWS: usize = 32;
/// What begins the first line of a file of a view while there is none of the program as it is.
const BEFORE: &str = "-- as it was before an edit: ";

/// What a view is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct View {
    /// The document that has the definition.
    pub(crate) source: Url,
    pub(crate) def: String,
    pub(crate) stage: String,
}

impl View {
    /// What a document of a view is a view of.
    pub(crate) fn of(url: &Url) -> Option<Self> {
        if url.scheme() != VIEW_SCHEME {
            return None;
        }
        let path = percent_decoded(url.path());
        let (def, stage) = path.trim_start_matches('/').strip_suffix(".iv")?.rsplit_once('.')?;
        let source = Url::parse(&percent_decoded(url.query()?)).ok()?;
        Some(Self { source, def: def.to_owned(), stage: stage.to_owned() })
    }

    /// Its document.
    pub(crate) fn url(&self) -> Option<Url> {
        let mut url = Url::from_str(&format!("{VIEW_SCHEME}:/")).ok()?;
        url.set_path(&format!("/{}.{}.iv", self.def, self.stage));
        url.set_query(Some(&percent_encoded(self.source.as_str())));
        Some(url)
    }

    /// Its file, among the server's copies: definitions of different programs may have the same name.
    fn file(&self) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        self.source.as_str().hash(&mut hasher);
        let folder = format!("{:08x}", hasher.finish() & 0xffff_ffff);
        Path::new(FOLDER).join(folder).join(format!("{}.{}.iv", self.def, self.stage))
    }

    /// Writes its file, with this text.
    pub(crate) fn write(&self, text: &str) -> io::Result<PathBuf> {
        files::copy(&self.file(), text)
    }

    /// Writes its file again: as the view is now, or as it was with the reason why there is none.
    pub(crate) fn follow(&self, seen: &Seen<'_>) {
        // What cannot be written stays as it is; it is written again after the next edit.
        let _ = match self.answer(seen) {
            Ok(answer) => self.write(answer.get("text").and_then(Value::as_str).unwrap_or_default()),
            Err(why) => {
                let old = fs::read_to_string(files::copies().join(self.file())).unwrap_or_default();
                let old = match old.strip_prefix(BEFORE) {
                    Some(told) => told.split_once('\n').map_or("", |(_, rest)| rest),
                    None => &old,
                };
                self.write(&format!("{BEFORE}{}\n{old}", why.message.lines().next().unwrap_or_default()))
            }
        };
    }

    /// Its text, the language of that, where its lines come from, and what is to be said of it.
    pub(crate) fn answer(&self, seen: &Seen<'_>) -> Result<Value> {
        let text = seen.document(&self.source)?;
        let Some((_, stage)) = STAGES.iter().find(|(name, _)| *name == self.stage) else {
            return Err(failed(format!("there is no view `{}`", self.stage)));
        };
        let view = view_of(seen.session, &text.module, &self.def, *stage).map_err(failed)?;
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

/// Is the document a view? What stands in it was made by the server: it is no program of the user's.
pub(crate) fn is_view(url: &Url) -> bool {
    url.scheme() == VIEW_SCHEME
        || files::path_of(url)
            .is_some_and(|path| files::among_copies(&path).is_some_and(|file| file.starts_with(FOLDER)))
}

/// A view that a client shows without our requests.
struct Shown {
    document: Url,
    view: View,
    /// It follows the edits: its document was not closed.
    follows: bool,
}

/// The views that are kept for a client that has none of our requests.
#[derive(Default)]
pub(crate) struct Views(VecDeque<Shown>);

impl Views {
    /// A view is shown in a document.
    pub(crate) fn shown(&mut self, document: Url, view: View) {
        self.0.retain(|shown| shown.document != document);
        self.0.push_back(Shown { document, view, follows: true });
        if self.0.len() > MOST_VIEWS {
            self.0.pop_front();
        }
    }

    /// The document of a view was closed.
    pub(crate) fn closed(&mut self, document: &Url) {
        self.follow(document, false);
    }

    /// It was opened, perhaps again: editors that read a file anew close it for that. Is it such a document?
    pub(crate) fn opened(&mut self, document: &Url) -> bool {
        self.follow(document, true)
    }

    fn follow(&mut self, document: &Url, follows: bool) -> bool {
        let shown = self.0.iter_mut().find(|shown| shown.document == *document);
        shown.map(|shown| shown.follows = follows).is_some()
    }

    /// Those that are files.
    pub(crate) fn files(&self) -> Vec<View> {
        self.with("file").map(|shown| shown.view.clone()).collect()
    }

    /// The documents whose text the server gives, and the client asks for.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &Url> {
        self.with(VIEW_SCHEME).map(|shown| &shown.document)
    }

    /// Those that follow the edits and whose documents have this scheme.
    fn with(&self, scheme: &'static str) -> impl Iterator<Item = &Shown> {
        self.0.iter().filter(move |shown| shown.follows && shown.document.scheme() == scheme)
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
        let view = View { source, def: "μ_1".to_owned(), stage: "adjoint".to_owned() };
        let url = view.url().unwrap();
        assert!(url.as_str().ends_with(".adjoint.iv?file%3A%2F%2F%2Fa%2Fb%2520c.iv"), "{url}");
        assert!(is_view(&url));
        assert_eq!(View::of(&url), Some(view.clone()));
        let file = Url::from_file_path(files::copies().join(view.file())).unwrap();
        assert!(is_view(&file), "{file}");
        let program = Url::parse("file:///a.adjoint.iv?x").unwrap();
        assert!(View::of(&program).is_none() && !is_view(&program));
        assert!(!is_view(&Url::from_file_path(files::copies().join("linalg.iv")).unwrap()));
    }

    #[test]
    fn the_last_views_are_kept() {
        let mut views = Views::default();
        let url = |n: usize| Url::parse(&format!("{VIEW_SCHEME}:/f{n}.ssa.iv?file%3A%2F%2F%2Fa.iv")).unwrap();
        for n in (0..=MOST_VIEWS).chain([MOST_VIEWS]) {
            views.shown(url(n), View::of(&url(n)).unwrap());
        }
        views.closed(&url(7));
        assert_eq!(views.documents().count(), MOST_VIEWS - 1);
        assert!(views.documents().all(|shown| *shown != url(0) && *shown != url(7)));
    }
}
