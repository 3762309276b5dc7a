//! How much dearer a derivative is than its function: the certificate of ATL Theorem 6.35's inequality for two costs,
//! `$[derived] + io <= c · ($[primal] + io)`, and where that is not found with what loops carry added on the right.

use super::{Cost, Symbol, atom, number};
use crate::certify::{Certificate, Question, Verdict, Why, certify};
use crate::count::{Formula, Names};
use crate::predicate::{Atom, Poly};

/// A certificate and what it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// What was found out.
    pub certificate: Certificate,
    /// What stands beside the work and the inputs and outputs of the function; 0 if that was not needed.
    pub extra: Formula,
    /// The symbols of the formulas: those of the function, then those of the derivative.
    pub symbols: Vec<Symbol>,
    /// So many of them are of the function.
    pub primal: usize,
    /// Is it for sizes of at least 1 alone, as there is no factor for all?
    pub positive: bool,
    /// What people call the integers of its formulas.
    pub names: Names,
    known: Vec<Poly>,
    bounds: Vec<Formula>,
    formulas: [Formula; 3],
}

/// Compares the work of a derivative with that of the function. What grows with a symbol alone is not refuted: the function
/// may have the same number under another name.
#[must_use]
pub fn bound(primal: &Cost, derived: &Cost) -> Bound {
    let first = primal.symbols.len();
    // The symbols of the derivative come after those of the function, but for those that are the same.
    let same = |k: usize| {
        let name = derived.symbols.get(k)?.content?.name();
        primal.symbols.iter().position(|s| s.content.is_some_and(|c| c.name() == name))
    };
    let by = |a: &Atom| number(a).map(|k| Poly::atom(atom(same(k).unwrap_or(first + k))));
    let put = |f: &Formula| f.substitute(&by);
    let mut known = primal.known.clone();
    known.extend(derived.known.iter().filter(|p| !primal.known.contains(p)).cloned());
    let bounds = primal.bounds.iter().cloned().chain(derived.bounds.iter().map(put)).collect();
    let mut made = Bound {
        certificate: Certificate { verdict: Verdict::Unknown(Why::NoValue) },
        extra: Formula::default(),
        symbols: primal.symbols.iter().chain(&derived.symbols).cloned().collect(),
        primal: first,
        positive: false,
        names: primal.names.clone(),
        known,
        bounds,
        formulas: [primal.total.work.clone(), put(&derived.total.work), primal.io.clone()],
    };
    made.certificate = made.certified();
    let proved = matches!(made.certificate.verdict, Verdict::Proved { .. });
    if !proved && !primal.total.carried.pieces().is_empty() {
        let without = made.clone();
        made.extra.clone_from(&primal.total.carried);
        made.certificate = made.certified();
        if !matches!(made.certificate.verdict, Verdict::Proved { .. }) {
            made = without;
        }
    }
    if matches!(made.certificate.verdict, Verdict::Refuted { .. }) { made.without_empty() } else { made }
}

impl Bound {
    /// What was asked.
    #[must_use]
    pub fn question(&self) -> Question<'_> {
        let [primal, derived, io] = &self.formulas;
        Question { known: &self.known, bounds: &self.bounds, primal, derived, io, extra: &self.extra }
    }

    /// The same for sizes of at least 1, if a factor is enough for those.
    fn without_empty(self) -> Self {
        let mut made = self.clone();
        made.positive = true;
        let sizes: Vec<Poly> = super::sizes(&self.known, &self.names).cloned().collect();
        for size in made.known.iter_mut().filter(|p| sizes.contains(p)) {
            *size = size.plus(-1);
        }
        made.certificate = made.certified();
        if matches!(made.certificate.verdict, Verdict::Refuted { .. }) { self } else { made }
    }

    fn certified(&self) -> Certificate {
        let made = certify(&self.question());
        let Verdict::Refuted { witness, .. } = &made.verdict else { return made };
        let by_data = witness.iter().flat_map(|w| &w.sizes).any(|(a, _)| number(a).is_some());
        if by_data { Certificate { verdict: Verdict::Unknown(Why::Data) } } else { made }
    }

    /// Does the certificate follow, checked anew?
    #[must_use]
    pub fn check(&self) -> bool {
        self.certificate.check(&self.question())
    }
}
