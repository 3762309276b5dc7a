//! **Histograms**: bins of equal width, and the counts of numbers in them.

use lang_core::runtime::figure::PlotArray;

use super::drawing_plan::OmittedValues;
use super::plot_axis::{AxisRange, PlotAxis, TickStep};

/// The most bins of a histogram.
pub(super) const MAX_BINS: usize = 10_000;

/// The most bins if the program does not choose their number.
const MOST_CHOSEN: f64 = 60.0;

/// The most numbers of which quartiles are computed; they are evenly sampled.
const MAX_SAMPLE: usize = 1 << 20;

/// The average factor by which widths are rounded up to round numbers.
const ROUNDING: f64 = 1.4;

/// The largest range of integers that have one bin each.
const MAX_UNIT_BINS: f64 = 30.0;

/// A bar, in axis coordinates or in positions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bar {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) height: f64,
}

/// The edges of the bins.
pub(super) struct BinEdges {
    is_log: bool,
    low: f64,
    width: f64,
    count: usize,
}

impl BinEdges {
    /// Computes common bins for all numbers: `wanted` bins, or a suitable number of bins with round
    /// edges.
    pub(super) fn for_numbers(all: &[&PlotArray], log: bool, wanted: Option<usize>) -> Self {
        let mut range = AxisRange::EMPTY;
        let measured = || all.iter().flat_map(|n| n.iter()).filter_map(|x| PlotAxis::coordinate(log, x));
        measured().for_each(|x| range.include(x));
        let none = Self { is_log: log, low: 0.0, width: 1.0, count: 0 };
        if range.is_empty() {
            return none;
        }
        if let Some(count) = wanted {
            let AxisRange { low, high } = range.widen_if_narrow();
            let width = high / count as f64 - low / count as f64;
            return Self { is_log: log, low, width, count };
        }
        let whole = !log && all.iter().all(|n| n.is_integral());
        let AxisRange { low, high } = range;
        if whole && high - low <= MAX_UNIT_BINS {
            return Self { is_log: log, low: low - 0.5, width: 1.0, count: to_count(high - low + 1.0) };
        }
        if range.is_narrow() {
            let AxisRange { low, high } = range.widen_if_narrow();
            return Self { is_log: log, low, width: high / 5.0 - low / 5.0, count: 5 };
        }
        let step = TickStep::for_range(range, to_count(suitable_bin_count(all, log, range) * ROUNDING), whole);
        let size = step.size();
        let (first, last) = ((low / size).floor(), (high / size).ceil());
        let low = step.multiple(first);
        // The greatest number may be the upper edge of the last bin, which contains it.
        let count = to_count((last - first).max(1.0)).min(MAX_BINS);
        if low.is_finite() && size.is_finite() { Self { is_log: log, low, width: size, count } } else { none }
    }

    /// Counts the numbers in each bin. Only the last bin contains its upper edge.
    pub(super) fn histogram(&self, numbers: &PlotArray, left_out: &mut OmittedValues) -> Vec<Bar> {
        let mut counts = vec![0u64; self.count];
        for x in numbers.iter() {
            let Some(measured) = PlotAxis::coordinate(self.is_log, x) else {
                if x.is_finite() {
                    left_out.not_positive += 1;
                } else {
                    left_out.not_finite += 1;
                }
                continue;
            };
            let at = (measured / 2.0 - self.low / 2.0) / (self.width / 2.0);
            // The quotient is rounded, so the side of an edge is decided by comparing the numbers
            // themselves.
            let mut at = to_count(at);
            if at > 0 && measured < self.edge(at) {
                at -= 1;
            } else if measured >= self.edge(at + 1) {
                at += 1;
            }
            let last = self.count.saturating_sub(1);
            if let Some(count) = counts.get_mut(at.min(last)) {
                *count += 1;
                left_out.drawn += 1;
            }
        }
        let bar = |(k, n): (usize, &u64)| Bar { from: self.edge(k), to: self.edge(k + 1), height: *n as f64 };
        counts.iter().enumerate().map(bar).collect()
    }

    fn edge(&self, k: usize) -> f64 {
        self.low + self.width * k as f64
    }
}

/// Returns a suitable number of bins: by Sturges' rule, or by that of Freedman and Diaconis if it
/// is larger.
fn suitable_bin_count(all: &[&PlotArray], log: bool, range: AxisRange) -> f64 {
    let total: usize = all.iter().map(|n| n.len()).sum();
    let stride = total.div_ceil(MAX_SAMPLE).max(1);
    let numbers = all.iter().flat_map(|n| (0..n.len()).step_by(stride).map(|at| n.get(at)));
    let mut sample: Vec<f64> = numbers.filter_map(|x| PlotAxis::coordinate(log, x)).collect();
    sample.sort_unstable_by(f64::total_cmp);
    let quartile = |of: usize| sample.get(sample.len() * of / 4).copied().unwrap_or(range.low);
    let n = total.max(1) as f64;
    let sturges = n.log2().ceil() + 1.0;
    let width = 2.0 * (quartile(3) - quartile(1)) / n.cbrt();
    let freedman = if width > 0.0 && width.is_finite() { (range.high - range.low) / width } else { sturges };
    sturges.max(freedman).clamp(1.0, MOST_CHOSEN)
}

/// Converts a real to a count.
fn to_count(x: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped; NaN becomes 0")]
    let n = x.clamp(0.0, MAX_BINS as f64) as usize;
    n
}
