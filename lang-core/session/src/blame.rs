//! **Blame.** Chooses the place to which a run's failure points. Users can mend their arguments but
//! not the library. So a failure inside the library points at the call first and names the place
//! inside beside it.

use super::library::{LIBRARY, PRELUDE};
use lang_base::{GlobalName, Span};
use lang_runtime::Failure;

/// The places of a failure.
#[derive(Clone, Debug)]
pub struct Blame<'f> {
    /// The item to look at first.
    pub item: &'f GlobalName,
    /// The place in it.
    pub span: Span,
    /// The remark at that place; may be empty.
    pub label: String,
    /// The outermost library function around the failure, as users write it. `None` if the failure
    /// is not in the library.
    pub library_function: Option<String>,
    /// The place of the failure in the library, and the remark there.
    pub library_site: Option<(&'f GlobalName, Span, String)>,
    /// The callers, innermost first.
    pub callers: &'f [(GlobalName, Span)],
}

impl<'f> Blame<'f> {
    /// Computes the places of a failure; `shown` returns whether the place of a call can be shown.
    pub fn new(failure: &'f Failure, shown: impl Fn(&GlobalName, Span) -> bool) -> Self {
        let (item, span) = (&failure.item, failure.span);
        let own = Self {
            item,
            span,
            label: failure.label.clone(),
            library_function: None,
            library_site: None,
            callers: &failure.trace,
        };
        if !is_library_item(item) {
            return own;
        }
        let called = failure.trace.iter().map(|(item, _)| item).take_while(|item| is_library_item(item)).last();
        let called = user_spelling(called.unwrap_or(item));
        let call = failure.trace.iter().position(|(item, _)| !is_library_item(item));
        let Some((at, (caller, place))) = call.and_then(|at| Some((at, failure.trace.get(at)?))) else {
            return Self { library_function: Some(called), ..own };
        };
        if !shown(caller, *place) {
            return Self { library_function: Some(called), ..own };
        }
        let inner = match failure.label.as_str() {
            "" => "fails here, in the library".to_owned(),
            label => format!("in the library: {label}"),
        };
        Self {
            item: caller,
            span: *place,
            label: format!("in this call of `{called}`"),
            library_function: Some(called),
            library_site: Some((item, span, inner)),
            callers: failure.trace.get(at + 1..).unwrap_or_default(),
        }
    }
}

fn is_library_item(item: &GlobalName) -> bool {
    LIBRARY.iter().any(|(module, _)| item.module == *module)
}

/// Returns the name of a library definition as users write it. A rule has the name of its
/// definition.
fn user_spelling(item: &GlobalName) -> String {
    let name = item.name.rsplit(' ').next().unwrap_or_default();
    match item.module.as_str() {
        PRELUDE => name.to_owned(),
        module => format!("{module}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lang_base::Code;

    fn failure(item: (&str, &str), trace: &[(&str, &str)]) -> Failure {
        let name = |(module, name): (&str, &str)| GlobalName::new(module, name);
        let places = (1..).map(|at| Span::new(at, at + 1));
        Failure {
            code: Code::E0502,
            message: "no".to_owned(),
            span: Span::new(0, 1),
            item: name(item),
            label: String::new(),
            help: None,
            trace: trace.iter().map(|t| name(*t)).zip(places).collect(),
            omitted_callers: 0,
        }
    }

    #[test]
    fn calls_of_the_library_come_first() {
        let trace = [("linalg", "adjoint lstsq"), ("a.iv", "f"), ("stats", "mean"), ("a.iv", "do 1")];
        let failure = failure(("linalg", "qr"), &trace);
        let blame = Blame::new(&failure, |_, _| true);
        assert_eq!((blame.item.name.as_str(), blame.span), ("f", Span::new(2, 3)));
        assert_eq!(blame.library_function.as_deref(), Some("linalg.lstsq"));
        assert_eq!(blame.library_site.map(|(item, span, _)| (item.name.as_str(), span)), Some(("qr", Span::new(0, 1))));
        assert_eq!(blame.callers.len(), 2);
    }

    #[test]
    fn failures_of_users_stay_where_they_are() {
        let own = failure(("a.iv", "f"), &[("", "map"), ("a.iv", "do 1")]);
        let blame = Blame::new(&own, |_, _| true);
        assert_eq!((blame.item.name.as_str(), blame.callers.len(), blame.library_function), ("f", 2, None));
        // If no call can be shown, only the place inside remains.
        let inside = failure(("linalg", "qr"), &[("<eval>", "it")]);
        let blame = Blame::new(&inside, |_, _| false);
        assert_eq!((blame.item.name.as_str(), blame.library_site.is_none()), ("qr", true));
        assert_eq!(blame.library_function.as_deref(), Some("linalg.qr"));
    }
}
