//! **Tiled plots**: heat maps, images, and the members of a relation. Large ones are downsampled to
//! the available resolution.

use std::sync::Arc;

use lang_core::resolve::forms::PlotKind;
use lang_core::runtime::Relation;
use lang_core::runtime::figure::{PlotArray, PlotContent, PlotLayer};
use plotters::style::colors::colormaps::ViridisRGB;

use super::drawing_plan::values_are_phrase;
use super::plot_axis::{AxisRange, PlotAxis, Tick, TickStep};

/// Red, green, blue.
pub(super) type Rgb = [u8; 3];

/// A grid of tiles; row 0 is at the top.
pub(super) struct TileGrid<'f> {
    pub(super) rows: u64,
    pub(super) columns: u64,
    pub(super) content: TileContent<'f>,
}

/// The content of the tiles.
pub(super) enum TileContent<'f> {
    /// Numbers shown by colour, and their range.
    Heat(&'f PlotArray, AxisRange),
    /// An image, and its number of channels, 1 or 3.
    Image(&'f PlotArray, usize),
    /// Dots, and their number.
    Dots(DotSet<'f>, u64),
}

/// The source of the dots.
pub(super) enum DotSet<'f> {
    Members(&'f Arc<Relation>),
    /// The nonzero elements of a matrix.
    Nonzeros(&'f PlotArray),
}

impl<'f> TileGrid<'f> {
    /// Returns the tiles of a layer, or `None` if its kind is not tiled.
    pub(super) fn from_layer(layer: &'f PlotLayer, notes: &mut Vec<String>) -> Option<Self> {
        let data = layer.data.first()?;
        let (numbers, rows, columns) = match &data.content {
            PlotContent::Relation(relation) => {
                let [rows, columns] = relation.dims() else { return None };
                let side = |n: i64| u64::try_from(n).unwrap_or(0);
                let count = u64::try_from(relation.len()).unwrap_or(u64::MAX);
                let content = TileContent::Dots(DotSet::Members(relation), count);
                return Some(Self { rows: side(*rows), columns: side(*columns), content });
            }
            PlotContent::Numbers(numbers) => {
                let [rows, columns, ..] = numbers.dims() else { return None };
                (numbers, *rows, *columns)
            }
        };
        if numbers.is_empty() {
            notes.push("the plot has no values".to_owned());
        }
        let content = match layer.kind {
            PlotKind::Heatmap => {
                let mut range = AxisRange::EMPTY;
                let finite = numbers.iter().filter(|x| x.is_finite()).inspect(|x| range.include(*x)).count();
                if finite < numbers.len() {
                    let lost = values_are_phrase(numbers.len() - finite, numbers.len());
                    notes.push(format!("{lost} NaN or infinite and not drawn"));
                }
                TileContent::Heat(numbers, range)
            }
            PlotKind::Image => {
                let outside = numbers.iter().filter(|x| !(0.0..=1.0).contains(&(x / white_level(numbers)))).count();
                if outside > 0 {
                    let which = if numbers.is_integral() { "integers from 0 to 255" } else { "reals from 0 to 1" };
                    let lost = values_are_phrase(outside, numbers.len());
                    notes.push(format!("{lost} outside the range of {which} and clamped"));
                }
                TileContent::Image(numbers, numbers.dims().get(2).copied().unwrap_or(1))
            }
            PlotKind::Spy => {
                let count = numbers.iter().filter(|x| *x != 0.0).count();
                TileContent::Dots(DotSet::Nonzeros(numbers), u64::try_from(count).unwrap_or(u64::MAX))
            }
            PlotKind::Line | PlotKind::Points | PlotKind::Histogram | PlotKind::Bars => return None,
        };
        let side = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        Some(Self { rows: side(rows), columns: side(columns), content })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0 || self.columns == 0
    }

    /// Returns the caption below dots.
    pub(super) fn caption(&self) -> Option<String> {
        let TileContent::Dots(dots, count) = &self.content else { return None };
        let (rows, columns) = (self.rows, self.columns);
        Some(match (dots, count) {
            (DotSet::Members(_), 1) => format!("1 member of {rows} × {columns}"),
            (DotSet::Members(_), n) => format!("{n} members of {rows} × {columns}"),
            (DotSet::Nonzeros(_), 1) => format!("1 nonzero element of {rows} × {columns}"),
            (DotSet::Nonzeros(_), n) => format!("{n} nonzero elements of {rows} × {columns}"),
        })
    }

    /// Returns the colours of `height` by `width` samples, in rows. `None` marks a sample without
    /// numbers.
    pub(super) fn sample_colors(&self, height: usize, width: usize) -> Vec<Option<Rgb>> {
        let shades = self.sample_channels(height, width);
        let byte = |x: f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies between 0 and 255")]
            let byte = (x.clamp(0.0, 1.0) * 255.0).round() as u8;
            byte
        };
        let color = |shade: &Option<[f64; 3]>| {
            let [r, g, b] = (*shade)?;
            Some(if matches!(self.content, TileContent::Heat(..)) {
                heat_color(r)
            } else {
                [byte(r), byte(g), byte(b)]
            })
        };
        shades.iter().map(color).collect()
    }

    /// Returns the brightness of `height` by `width` samples, from 0 to 1, in rows.
    pub(super) fn sample_brightness(&self, height: usize, width: usize) -> Vec<Option<f64>> {
        let luma = |[r, g, b]: [f64; 3]| 0.299 * r + 0.587 * g + 0.114 * b;
        self.sample_channels(height, width).into_iter().map(|shade| shade.map(luma)).collect()
    }

    /// Returns the mean of the tiles in each sample, with channels from 0 to 1.
    fn sample_channels(&self, height: usize, width: usize) -> Vec<Option<[f64; 3]>> {
        let mut out = Vec::with_capacity(height.saturating_mul(width));
        let (numbers, channels) = match &self.content {
            TileContent::Heat(numbers, _) => (*numbers, 1),
            TileContent::Image(numbers, channels) => (*numbers, *channels),
            TileContent::Dots(..) => return out,
        };
        let side = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let (rows, columns) = (side(self.rows), side(self.columns));
        for i in 0..height {
            for j in 0..width {
                let (across, down) = (sample_range(j, width, columns), sample_range(i, height, rows));
                let mut sums = [0.0; 3];
                let mut count = 0usize;
                for at in down.flat_map(|row| across.clone().map(move |column| row * columns + column)) {
                    let mut sample = [0.0; 3];
                    let mut here = true;
                    for (channel, sample) in sample.iter_mut().enumerate() {
                        let x = numbers.get(at * channels + channel.min(channels - 1));
                        *sample = self.normalise(x, numbers);
                        here &= sample.is_finite();
                    }
                    if here {
                        count += 1;
                        sums.iter_mut().zip(sample).for_each(|(sum, x)| *sum += x);
                    }
                }
                out.push((count > 0).then(|| sums.map(|sum| sum / count as f64)));
            }
        }
        out
    }

    /// Maps a number to 0 to 1; NaN if it is not drawn.
    fn normalise(&self, x: f64, numbers: &PlotArray) -> f64 {
        match &self.content {
            TileContent::Heat(_, range) if x.is_finite() => match range.is_narrow() {
                true => 0.5,
                false => PlotAxis::new(*range, false).position_of_coordinate(x),
            },
            TileContent::Heat(..) => f64::NAN,
            // NaN is black, as in a file.
            _ if x.is_nan() => 0.0,
            _ => (x / white_level(numbers)).clamp(0.0, 1.0),
        }
    }

    /// Calls `dot` with the row and column of every dot, scaled to `height` and `width`.
    pub(super) fn for_each_dot(&self, height: usize, width: usize, dot: &mut dyn FnMut(usize, usize)) {
        let TileContent::Dots(dots, _) = &self.content else { return };
        let place = |at: u64, of: u64, among: usize| {
            let at = u128::from(at) * (among as u128) / u128::from(of.max(1));
            usize::try_from(at).unwrap_or(usize::MAX).min(among.saturating_sub(1))
        };
        match dots {
            DotSet::Members(relation) => {
                for row in relation.rows() {
                    if let [i, j] = row {
                        let (i, j) = (u64::try_from(*i).unwrap_or(0), u64::try_from(*j).unwrap_or(0));
                        dot(place(i, self.rows, height), place(j, self.columns, width));
                    }
                }
            }
            DotSet::Nonzeros(numbers) => {
                let columns = usize::try_from(self.columns).unwrap_or(usize::MAX).max(1);
                for (at, _) in numbers.iter().enumerate().filter(|(_, x)| *x != 0.0) {
                    let cast = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
                    let (i, j) = (cast(at / columns), cast(at % columns));
                    dot(place(i, self.rows, height), place(j, self.columns, width));
                }
            }
        }
    }
}

/// Returns the tiles in sample `at` of `among` equal samples; at least one.
fn sample_range(at: usize, among: usize, all: usize) -> std::ops::Range<usize> {
    let end = |k: usize| {
        let end = (k as u128) * (all as u128) / (among.max(1) as u128);
        usize::try_from(end).unwrap_or(usize::MAX)
    };
    let from = end(at).min(all);
    from..end(at + 1).max(from + 1).min(all)
}

/// Returns the number that is white in an image of these numbers.
fn white_level(numbers: &PlotArray) -> f64 {
    if numbers.is_integral() && !numbers.is_boolean() { 255.0 } else { 1.0 }
}

/// Returns the heat map's colour of a number from 0 to 1.
pub(super) fn heat_color(x: f64) -> Rgb {
    let color = ViridisRGB::get_color(x.clamp(0.0, 1.0));
    [color.0, color.1, color.2]
}

/// Returns ticks for some of `count` tiles: the position of the middle of a tile, from 0 to 1, and
/// its index.
pub(super) fn tile_ticks(count: u64, most: usize) -> Vec<Tick> {
    if count == 0 {
        return Vec::new();
    }
    let range = AxisRange { low: 0.0, high: count.saturating_sub(1) as f64 };
    if count == 1 {
        return vec![Tick { position: 0.5, label: "0".to_owned() }];
    }
    let step = TickStep::for_range(range, most.max(1), true);
    let mut ticks = Vec::new();
    let mut k = 0.0;
    while step.multiple(k) <= range.high && ticks.len() <= most {
        let number = step.multiple(k);
        ticks.push(Tick { position: (number + 0.5) / count as f64, label: format!("{number}") });
        k += 1.0;
    }
    ticks
}

/// Formats a number in a few digits.
pub(super) fn short_number(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e6).contains(&x.abs()) {
        let text = format!("{x:.3e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.'));
    }
    #[expect(clippy::cast_possible_truncation, reason = "between -4 and 5")]
    let first = x.abs().log10().floor() as i32;
    let decimals = usize::try_from(3 - first).unwrap_or(0);
    let text = format!("{x:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
