//! **Documents without files**: the library, and the book's pages on diagnostic codes.

use std::path::Path;

use lang_ide::{Code, LIBRARY};
use tower_lsp::lsp_types::Url;

use crate::files::{self, LIBRARY_SCHEME};

macro_rules! pages {
    ($($code:ident)*) => {
        /// Returns the page of a code. A code without a page does not compile.
        fn page(code: Code) -> &'static str {
            match code {
                $(Code::$code => include_str!(concat!("../../docs/book/src/errors/", stringify!($code), ".md"))),*
            }
        }
    };
}

pages! {
    E0001 E0002 E0003 E0004 E0005 E0006 E0007 E0008 E0009 E0010 E0011 E0012
    E0100 E0101 E0102 E0103 E0104 E0105 E0106 E0107 E0108 E0109 W0110 E0200
    E0201 E0202 E0203 E0204 E0205 E0206 E0207 E0208 E0209 E0210 E0211 E0212
    E0213 E0214 E0215 E0216 E0217 E0218 E0219 W0220 E0300 E0301 E0302 E0303 E0304 E0305 E0306
    E0307 E0308 E0309 E0310 E0311 W0312 W0313 W0314 E0400 W0401 E0402 E0403 E0404 E0500 E0501 E0502
    E0503 E0504 E0505 E0506 E0507 E0508 E0509 E0510 E0511 E0512 E0513 E0514 E0515 E0516 E0517 E0600
    E0601 E0602 E0603 E0604 E0605 W0606 W0700
}

/// Returns the URI of the page of a code.
pub(crate) fn page_url(code: Code, with_views: bool) -> Option<Url> {
    let name = format!("{code}.md");
    match with_views {
        true => Url::parse(&format!("{LIBRARY_SCHEME}:/errors/{name}")).ok(),
        false => Url::from_file_path(files::write_copy(Path::new(&name), page(code)).ok()?).ok(),
    }
}

/// Returns the text of a document of the library's scheme.
pub(crate) fn page_text(url: &Url) -> Option<&'static str> {
    if url.scheme() != LIBRARY_SCHEME {
        return None;
    }
    if let Some(name) = url.path().strip_prefix("/errors/") {
        let code = Code::ALL.iter().find(|code| name.strip_suffix(".md") == Some(code.name()))?;
        return Some(page(*code));
    }
    let module = files::module_of(url);
    LIBRARY.iter().find(|(name, _)| *name == module).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_without_files() {
        let of = |url: &str| page_text(&Url::parse(url).unwrap());
        assert!(of("iverson-library:/linalg.iv").is_some_and(|t| t.contains("def solve")));
        assert!(of(page_url(Code::E0300, true).unwrap().as_str()).is_some_and(|t| t.contains("E0300")));
        assert_eq!((of("iverson-library:/nothing.iv"), of("file:///linalg.iv")), (None, None));
    }
}
