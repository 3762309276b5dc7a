//! **Cost ratio** of a derivative to its function. Certifies the inequality of ATL Theorem 6.35 for
//! two costs, `$[derived] + io <= c · ($[primal] + io)`. If that fails, the reals that loops carry
//! are added on the right.

use super::{CostFormulas, CostSymbol, symbol_atom, symbol_number};
use lang_sizes::certify::{CertificateVerdict, CostCertificate, CostQuestion, IncomparableReason, certify};
use lang_sizes::count::{DisplayNames, Formula};
use lang_sizes::predicate::{Atom, Poly};

/// A certificate and its question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CostRatio {
    /// The certificate.
    pub certificate: CostCertificate,
    /// The allowance beside the work, inputs and outputs of the function; 0 if it was not
    /// necessary.
    pub allowance: Formula,
    /// The symbols in the formulas: those of the function, then those of the derivative.
    pub symbols: Vec<CostSymbol>,
    /// The number of symbols of the function.
    pub primal_symbols: usize,
    /// Whether it holds only for sizes of at least 1, because no factor holds for all sizes.
    pub requires_positive_sizes: bool,
    /// Display names of the integers in its formulas.
    pub names: DisplayNames,
    size_facts: Vec<Poly>,
    symbol_facts: Vec<Formula>,
    formulas: [Formula; 3],
}

/// Compares the work of a derivative with that of the function. A ratio that grows only with a
/// symbol is not refuted, because the function may have the same number under another name.
#[must_use]
pub fn certify_ratio(primal: &CostFormulas, derived: &CostFormulas) -> CostRatio {
    let first = primal.symbols.len();
    // The symbols of the derivative follow those of the function, except those with equal content,
    // which are shared.
    let same = |k: usize| {
        let name = derived.symbols.get(k)?.content?.hash_value();
        primal.symbols.iter().position(|s| s.content.is_some_and(|c| c.hash_value() == name))
    };
    let by = |a: &Atom| symbol_number(a).map(|k| Poly::atom(symbol_atom(same(k).unwrap_or(first + k))));
    let put = |f: &Formula| f.substitute(&by);
    let mut known = primal.size_facts.clone();
    known.extend(derived.size_facts.iter().filter(|p| !primal.size_facts.contains(p)).cloned());
    let bounds = primal.symbol_facts.iter().cloned().chain(derived.symbol_facts.iter().map(put)).collect();
    let mut ratio = CostRatio {
        certificate: CostCertificate { verdict: CertificateVerdict::Unknown(IncomparableReason::NoValue) },
        allowance: Formula::default(),
        symbols: primal.symbols.iter().chain(&derived.symbols).cloned().collect(),
        primal_symbols: first,
        requires_positive_sizes: false,
        names: primal.names.clone(),
        size_facts: known,
        symbol_facts: bounds,
        formulas: [primal.total.work.clone(), put(&derived.total.work), primal.io_elements.clone()],
    };
    ratio.certificate = ratio.run_certifier();
    let proved = matches!(ratio.certificate.verdict, CertificateVerdict::Proved { .. });
    if !proved && !primal.total.carried.pieces().is_empty() {
        let without = ratio.clone();
        ratio.allowance.clone_from(&primal.total.carried);
        ratio.certificate = ratio.run_certifier();
        if !matches!(ratio.certificate.verdict, CertificateVerdict::Proved { .. }) {
            ratio = without;
        }
    }
    if matches!(ratio.certificate.verdict, CertificateVerdict::Refuted { .. }) {
        ratio.for_positive_sizes()
    } else {
        ratio
    }
}

impl CostRatio {
    /// Returns the question of the certificate.
    #[must_use]
    pub fn question(&self) -> CostQuestion<'_> {
        let [primal, derived, io] = &self.formulas;
        CostQuestion {
            assumptions: &self.size_facts,
            bounds: &self.symbol_facts,
            primal,
            derived,
            io,
            extra: &self.allowance,
        }
    }

    /// Restricts the sizes to at least 1, if a factor suffices for those.
    fn for_positive_sizes(self) -> Self {
        let mut restricted = self.clone();
        restricted.requires_positive_sizes = true;
        let sizes: Vec<Poly> = super::sizes(&self.size_facts, &self.names).cloned().collect();
        for size in restricted.size_facts.iter_mut().filter(|p| sizes.contains(p)) {
            *size = size.add_constant(-1);
        }
        restricted.certificate = restricted.run_certifier();
        if matches!(restricted.certificate.verdict, CertificateVerdict::Refuted { .. }) { self } else { restricted }
    }

    fn run_certifier(&self) -> CostCertificate {
        let certificate = certify(&self.question());
        let CertificateVerdict::Refuted { witness, .. } = &certificate.verdict else { return certificate };
        let by_data = witness.iter().flat_map(|w| &w.sizes).any(|(a, _)| symbol_number(a).is_some());
        if by_data {
            CostCertificate { verdict: CertificateVerdict::Unknown(IncomparableReason::Data) }
        } else {
            certificate
        }
    }

    /// Verifies the certificate again.
    #[must_use]
    pub fn verify(&self) -> bool {
        self.certificate.check(&self.question())
    }
}
