//! **Axes**: their ranges, the mapping of numbers to positions, and their ticks.

/// The most ticks of one axis.
const MOST_TICKS: usize = 40;

/// The least relative width of a range; a narrower one is shown as a single number. Neighbouring
/// reals are about 2e-16 apart, and tick labels must differ.
const MIN_RELATIVE_WIDTH: f64 = 1e-12;

/// The least absolute width of a range.
const MIN_WIDTH: f64 = 1e-300;

/// The minimum and maximum of some numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct AxisRange {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl AxisRange {
    /// The range of no numbers.
    pub(super) const EMPTY: Self = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };

    /// Extends the range to a number.
    pub(super) fn include(&mut self, x: f64) {
        self.low = self.low.min(x);
        self.high = self.high.max(x);
    }

    pub(super) fn is_empty(self) -> bool {
        self.low > self.high
    }

    /// Whether the range is too narrow to be drawn as more than one number.
    pub(super) fn is_narrow(self) -> bool {
        let width = self.high / 2.0 - self.low / 2.0;
        width <= self.low.abs().max(self.high.abs()) * MIN_RELATIVE_WIDTH || width < MIN_WIDTH
    }

    /// Returns a range that can be drawn, also if this one is empty or narrow.
    pub(super) fn widen_if_narrow(self) -> Self {
        if self.is_empty() {
            return Self { low: 0.0, high: 1.0 };
        }
        if !self.is_narrow() {
            return self;
        }
        let middle = self.low / 2.0 + self.high / 2.0;
        let half = if middle.abs() < MIN_WIDTH { 1.0 } else { middle.abs() / 10.0 };
        Self { low: clamp_finite(middle - half), high: clamp_finite(middle + half) }
    }

    /// Extends the range by fractions of its width at both ends.
    pub(super) fn pad(self, below: f64, above: f64) -> Self {
        let part = |of: f64| self.high * of - self.low * of;
        Self { low: clamp_finite(self.low - part(below)), high: clamp_finite(self.high + part(above)) }
    }
}

fn clamp_finite(x: f64) -> f64 {
    x.clamp(f64::MIN, f64::MAX)
}

/// An axis of a plot.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlotAxis {
    /// The shown range; of logarithms to base ten if `log`.
    visible_range: AxisRange,
    pub(super) is_log: bool,
    /// Whether ticks are only at integers.
    integer_ticks: bool,
}

/// A tick: a position with a label.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tick {
    /// The position, from 0 at the start of the axis to 1.
    pub(super) position: f64,
    pub(super) label: String,
}

/// The ticks of an axis.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Ticks {
    pub(super) ticks: Vec<Tick>,
    /// A number to add to every label, if full labels would be too long.
    pub(super) offset: Option<String>,
}

impl PlotAxis {
    /// Creates an axis for a range, which is of logarithms if `log`.
    pub(super) fn new(range: AxisRange, log: bool) -> Self {
        Self { visible_range: range.widen_if_narrow(), is_log: log, integer_ticks: false }
    }

    /// Sets whether ticks are only at integers.
    pub(super) fn with_integer_ticks(self, whole: bool) -> Self {
        Self { integer_ticks: whole, ..self }
    }

    /// Returns the coordinate of a number: its logarithm on a logarithmic axis. `None` if it cannot
    /// be shown.
    pub(super) fn coordinate(log: bool, x: f64) -> Option<f64> {
        if !x.is_finite() || (log && x <= 0.0) {
            return None;
        }
        Some(if log { x.log10() } else { x })
    }

    /// Returns the position of a coordinate: 0 at the start of the axis, 1 at its end.
    pub(super) fn position_of_coordinate(&self, measured: f64) -> f64 {
        let AxisRange { low, high } = self.visible_range;
        let at = (measured / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        if at.is_nan() { 0.0 } else { at.clamp(-1.0, 2.0) }
    }

    /// Returns the position of a number, if it can be shown.
    pub(super) fn position_of(&self, x: f64) -> Option<f64> {
        Self::coordinate(self.is_log, x).map(|m| self.position_of_coordinate(m))
    }

    /// Returns at most about `most` ticks.
    pub(super) fn ticks(&self, most: usize) -> Ticks {
        let most = most.clamp(2, MOST_TICKS);
        if self.is_log { self.log_ticks(most) } else { self.linear_ticks(most) }
    }

    fn linear_ticks(&self, most: usize) -> Ticks {
        // A scale needs at least two ticks, if two exist.
        let steps =
            (most..=2 * MOST_TICKS).map(|most| TickStep::for_range(self.visible_range, most, self.integer_ticks));
        let ticked = steps.map(|step| (step, step.multiples(self.visible_range)));
        let two =
            |(step, values): &(TickStep, Vec<f64>)| values.len() > 1 || (self.integer_ticks && step.size() <= 1.0);
        let (step, values) =
            ticked.clone().find(two).or_else(|| ticked.clone().next()).unwrap_or((TickStep::ONE, Vec::new()));
        let greatest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let digits = step.digit_count(greatest);
        // Labels with more digits are shown relative to an offset.
        let (values, offset) = match values.first().copied() {
            Some(first) if digits > 6 && first != 0.0 => {
                let base = if first.abs() < 1e15 { format!("{first}") } else { format!("{first:e}") };
                (values.iter().map(|v| (*v, v - first)).collect::<Vec<_>>(), Some(base))
            }
            _ => (values.iter().map(|v| (*v, *v)).collect(), None),
        };
        let greatest = values.iter().fold(0.0f64, |m, v| m.max(v.1.abs()));
        let label = |v: f64| step.label(v, greatest);
        let ticks = values
            .iter()
            .map(|(v, shown)| Tick { position: self.position_of_coordinate(*v), label: label(*shown) })
            .collect();
        Ticks { ticks, offset }
    }

    fn log_ticks(&self, most: usize) -> Ticks {
        let AxisRange { low, high } = self.visible_range;
        let (first, last) = (low.ceil(), high.floor());
        let decades = last - first + 1.0;
        let inside = |m: f64| m >= low && m <= high;
        let mut ticks = Vec::new();
        if decades >= 2.0 {
            let stride = (decades / most as f64).ceil().max(1.0);
            let plain = first >= -4.0 && last <= 5.0;
            let mut at = (first / stride).ceil() * stride;
            while at <= last && ticks.len() < MOST_TICKS {
                ticks.push(Tick { position: self.position_of_coordinate(at), label: power_label(at, plain) });
                at += stride;
            }
        } else {
            for decade in [first - 1.0, first, first + 1.0] {
                for mantissa in [1.0f64, 2.0, 5.0] {
                    let at = decade + mantissa.log10();
                    if inside(at) {
                        ticks.push(Tick {
                            position: self.position_of_coordinate(at),
                            label: scaled_label(mantissa, decade),
                        });
                    }
                }
            }
        }
        if ticks.len() >= 2 {
            return Ticks { ticks, offset: None };
        }
        // In a narrow part of a decade, the ticks are evenly spaced in the numbers themselves.
        let numbers = AxisRange { low: clamp_finite(10f64.powf(low)), high: clamp_finite(10f64.powf(high)) };
        let linear = Self { visible_range: numbers, is_log: false, integer_ticks: self.integer_ticks };
        let mut ticks = linear.linear_ticks(most);
        for tick in &mut ticks.ticks {
            let number = numbers.low + tick.position * (numbers.high - numbers.low);
            tick.position = self.position_of_coordinate(number.max(f64::MIN_POSITIVE).log10());
        }
        ticks
    }
}

/// Formats `10^k`: plain if all labels are, or if it is 1, 10 or 100.
fn power_label(k: f64, plain: bool) -> String {
    if plain || (0.0..=2.0).contains(&k) { scaled_label(1.0, k) } else { format!("1e{k:.0}") }
}

/// Formats `m * 10^k`, for an `m` of one digit.
fn scaled_label(m: f64, k: f64) -> String {
    if (-4.0..=5.0).contains(&k) {
        let decimals = if k < 0.0 { to_count(-k) } else { 0 };
        return format!("{:.decimals$}", m * 10f64.powf(k));
    }
    format!("{m:.0}e{k:.0}")
}

/// Converts a small integral real to a count.
fn to_count(x: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
    let n = x.clamp(0.0, 400.0) as usize;
    n
}

/// A step of 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug)]
pub(super) struct TickStep {
    mantissa: f64,
    exponent: i32,
}

impl TickStep {
    const ONE: Self = Self { mantissa: 1.0, exponent: 0 };

    /// Returns the least step that divides a range into at most about `most` parts. If `whole` is
    /// true, it is at least 1.
    pub(super) fn for_range(range: AxisRange, most: usize, whole: bool) -> Self {
        let parts = most.max(1) as f64;
        let rough = (range.high / parts - range.low / parts).max(f64::MIN_POSITIVE);
        #[expect(clippy::cast_possible_truncation, reason = "between -308 and 308")]
        let exponent = rough.log10().floor() as i32;
        let over = |m: f64| Self { mantissa: m, exponent }.size() >= rough * (1.0 - 1e-9);
        let step = match [1.0, 2.0, 5.0].into_iter().find(|m| over(*m)) {
            Some(mantissa) => Self { mantissa, exponent },
            None => Self { mantissa: 1.0, exponent: exponent + 1 },
        };
        if whole && step.exponent < 0 { Self::ONE } else { step }
    }

    pub(super) fn size(self) -> f64 {
        self.multiple(1.0)
    }

    /// Returns `k` steps, rounded to the real nearest to the decimal number.
    pub(super) fn multiple(self, k: f64) -> f64 {
        match self.exponent {
            e if e < -300 => k * self.mantissa * 10f64.powi(e),
            e if e < 0 => k * self.mantissa / 10f64.powi(-e),
            e => k * self.mantissa * 10f64.powi(e),
        }
    }

    /// Returns the multiples of the step in a range, at most `MOST_TICKS`.
    fn multiples(self, range: AxisRange) -> Vec<f64> {
        let size = self.size();
        // The tolerance includes a multiple at the very end, despite rounding of the quotient.
        let (first, last) = ((range.low / size - 1e-9).ceil(), (range.high / size + 1e-9).floor());
        let mut multiples = Vec::new();
        let mut k = first;
        while k <= last && multiples.len() < MOST_TICKS {
            let v = self.multiple(k);
            // Zero is shown without a sign.
            multiples.push(if v == 0.0 { 0.0 } else { v });
            k += 1.0;
        }
        multiples
    }

    /// Returns the number of digits after the first that a multiple of this size needs.
    fn digit_count(self, greatest: f64) -> i32 {
        #[expect(clippy::cast_possible_truncation, reason = "between -324 and 308")]
        let first = if greatest > 0.0 { greatest.log10().floor() as i32 } else { self.exponent };
        first - self.exponent
    }

    /// Formats a multiple with the digits of the step, in a notation that suits multiples up to
    /// `greatest`.
    fn label(self, v: f64, greatest: f64) -> String {
        if greatest >= 1e6 || (self.exponent < -5 && greatest < 1e-3) || self.exponent < -7 {
            if v == 0.0 {
                return "0".to_owned();
            }
            let digits = usize::try_from(self.digit_count(greatest)).unwrap_or(0).min(16);
            let text = format!("{v:.digits$e}");
            // Trailing zeros carry no information.
            return match text.split_once('e') {
                Some((m, e)) if m.contains('.') => {
                    format!("{}e{e}", m.trim_end_matches('0').trim_end_matches('.'))
                }
                _ => text,
            };
        }
        let decimals = usize::try_from(-self.exponent).unwrap_or(0);
        format!("{v:.decimals$}")
    }
}
