//! **Cost ratio** of a derivative to its function. Certifies the inequality of ATL Theorem 6.35 for
//! two costs, `$[derived] + io <= c · ($[primal] + io)`. If that fails, the reals that loops carry
//! are added on the right.

use super::{Cost, Symbol, atom, number};
use lang_sizes::certify::{Certificate, Question, Verdict, Why, certify};
use lang_sizes::count::{Formula, Names};
use lang_sizes::predicate::{Atom, Poly};

/// A certificate and its question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The certificate.
    pub certificate: Certificate,
    /// The allowance beside the work, inputs and outputs of the function; 0 if it was not
    /// necessary.
    pub extra: Formula,
    /// The symbols in the formulas: those of the function, then those of the derivative.
    pub symbols: Vec<Symbol>,
    /// The number of symbols of the function.
    pub primal: usize,
    /// Whether it holds only for sizes of at least 1, because no factor holds for all sizes.
    pub positive: bool,
    /// Display names of the integers in its formulas.
    pub names: Names,
    known: Vec<Poly>,
    bounds: Vec<Formula>,
    formulas: [Formula; 3],
}

/// Compares the work of a derivative with that of the function. A ratio that grows only with a
/// symbol is not refuted, because the function may have the same number under another name.
#[must_use]
pub fn bound(primal: &Cost, derived: &Cost) -> Bound {
    let first = primal.symbols.len();
    // The symbols of the derivative follow those of the function, except those with equal content,
    // which are shared.
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
    /// Returns the question of the certificate.
    #[must_use]
    pub fn question(&self) -> Question<'_> {
        let [primal, derived, io] = &self.formulas;
        Question { known: &self.known, bounds: &self.bounds, primal, derived, io, extra: &self.extra }
    }

    /// Restricts the sizes to at least 1, if a factor suffices for those.
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

    /// Verifies the certificate again.
    #[must_use]
    pub fn check(&self) -> bool {
        self.certificate.check(&self.question())
    }
}
