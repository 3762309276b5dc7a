//! **Drawing plan.** Turns a figure into series with their shapes, common axes, and remarks about
//! omitted values. The plan is independent of the output medium.

use lang_core::resolve::forms::{AXIS_SCALES, PlotKind, PlotOption};
use lang_core::runtime::Figure;
use lang_core::runtime::figure::{PlotArray, PlotContent, PlotLayer};

use super::bins::{self, Bar};
use super::plot_axis::{AxisRange, PlotAxis};
use super::tile_grid::{TileContent, TileGrid};

/// The most characters of a text in a plot.
const MAX_TEXT_LENGTH: usize = 400;

/// The most series that the legend names.
const MOST_NAMES: usize = 12;

/// The fraction of an axis that stays empty on each side of the data.
const MARGIN: f64 = 0.03;

/// The plan of a plot.
pub(super) struct DrawingPlan<'f> {
    pub(super) title: String,
    pub(super) xlabel: String,
    pub(super) ylabel: String,
    pub(super) body: PlotBody<'f>,
    /// Remarks about omitted parts, as sentences without full stops.
    pub(super) notes: Vec<String>,
}

/// The content of the frame.
pub(super) enum PlotBody<'f> {
    Chart(Chart<'f>),
    Tiles(TileGrid<'f>),
}

impl PlotBody<'_> {
    /// Returns whether nothing would be visible.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Chart(chart) => chart.is_empty,
            Self::Tiles(tiles) => {
                tiles.is_empty() || matches!(tiles.content, TileContent::Heat(_, range) if range.is_empty())
            }
        }
    }
}

impl DrawingPlan<'_> {
    /// Returns all texts that come from the program.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let labels = match &self.body {
            PlotBody::Chart(chart) => chart.series.as_slice(),
            PlotBody::Tiles(_) => &[],
        };
        let labels = labels.iter().map(|s| s.label.as_str());
        [self.title.as_str(), self.xlabel.as_str(), self.ylabel.as_str()].into_iter().chain(labels)
    }
}

/// Series on two axes.
pub(super) struct Chart<'f> {
    pub(super) x: PlotAxis,
    pub(super) y: PlotAxis,
    pub(super) series: Vec<Series<'f>>,
    /// Whether nothing would be visible.
    pub(super) is_empty: bool,
}

impl Chart<'_> {
    /// Returns the base line of bars, from 0 to 1.
    pub(super) fn base_line(&self) -> f64 {
        if self.y.is_log { 0.0 } else { self.y.position_of(0.0).unwrap_or(0.0).clamp(0.0, 1.0) }
    }
}

/// A series: data in one colour.
pub(super) struct Series<'f> {
    /// The name in the legend; empty if none is needed.
    pub(super) label: String,
    pub(super) shape: SeriesShape<'f>,
}

/// The shape of a series.
pub(super) enum SeriesShape<'f> {
    Curve(Curve<'f>),
    Bars(Bars<'f>),
}

/// Points, joined or not.
pub(super) struct Curve<'f> {
    pub(super) is_joined: bool,
    x: HorizontalCoordinates<'f>,
    y: &'f PlotArray,
}

/// The horizontal coordinates of points.
#[derive(Clone, Copy)]
enum HorizontalCoordinates<'f> {
    /// The indices 0, 1, 2, ….
    Indices,
    Explicit(&'f PlotArray),
}

impl HorizontalCoordinates<'_> {
    fn get(self, at: usize) -> f64 {
        match self {
            Self::Indices => at as f64,
            Self::Explicit(x) => x.get(at),
        }
    }
}

impl Curve<'_> {
    pub(super) fn len(&self) -> usize {
        self.y.len()
    }

    /// Returns the points in order, from 0 to 1 along both axes. `None` marks a point that cannot
    /// be drawn.
    pub(super) fn points(&self, x: PlotAxis, y: PlotAxis) -> impl Iterator<Item = Option<(f64, f64)>> + '_ {
        (0..self.len()).map(move |at| Some((x.position_of(self.x.get(at))?, y.position_of(self.y.get(at))?)))
    }
}

/// The bars of a series.
pub(super) enum Bars<'f> {
    /// The bars of a histogram.
    Bins(Vec<Bar>),
    /// A bar at each coordinate, with this width and horizontal shift.
    Placed { x: Option<&'f PlotArray>, y: &'f PlotArray, width: f64, shift: f64 },
}

impl Bars<'_> {
    /// Returns the bars in axis coordinates, logarithmic or not; an error marks a bar that cannot
    /// be drawn.
    fn measured_bars(&self, (xlog, ylog): (bool, bool)) -> Box<dyn Iterator<Item = Result<Bar, OmissionReason>> + '_> {
        match self {
            Self::Bins(bars) => {
                let height = move |h: f64| PlotAxis::coordinate(ylog, h).unwrap_or(f64::NEG_INFINITY);
                Box::new(bars.iter().map(move |bar| Ok(Bar { height: height(bar.height), ..*bar })))
            }
            Self::Placed { x, y, width, shift } => Box::new((0..y.len()).map(move |at| {
                let middle = x.map_or(at as f64, |x| x.get(at)) + shift;
                let height = y.get(at);
                let (from, to) = (
                    PlotAxis::coordinate(xlog, middle - width / 2.0),
                    PlotAxis::coordinate(xlog, middle + width / 2.0),
                );
                match (from.or(to), to, PlotAxis::coordinate(ylog, height)) {
                    (Some(from), Some(to), Some(height)) => Ok(Bar { from, to, height }),
                    _ if middle.is_finite() && height.is_finite() => Err(OmissionReason::NotPositive),
                    _ => Err(OmissionReason::NotFinite),
                }
            })),
        }
    }

    /// Returns the bars that can be drawn, in fractions of the axes.
    pub(super) fn visible_bars(&self, x: PlotAxis, y: PlotAxis) -> impl Iterator<Item = Bar> + '_ {
        let bars = self.measured_bars((x.is_log, y.is_log)).flatten();
        bars.map(move |bar| Bar {
            from: x.position_of_coordinate(bar.from),
            to: x.position_of_coordinate(bar.to),
            height: y.position_of_coordinate(bar.height),
        })
    }
}

/// The reason why a value cannot be drawn.
#[derive(Clone, Copy)]
enum OmissionReason {
    /// It is NaN or infinite.
    NotFinite,
    /// It is not positive, on a logarithmic axis.
    NotPositive,
}

/// Plans a figure. The error is a message about its options, with advice.
pub(super) fn plan_figure(figure: &Figure) -> Result<DrawingPlan<'_>, (String, &'static str)> {
    let text = |option| sanitise(figure.text_option(option).unwrap_or_default());
    let mut notes = Vec::new();
    let log = |option: PlotOption| match figure.text_option(option) {
        None => Ok(false),
        Some(text) if AXIS_SCALES.contains(&text) => Ok(text == "log"),
        Some(text) => Err((format!("`{}` is not an axis scale", sanitise(text)), "use \"linear\" or \"log\"")),
    };
    let logs = (log(PlotOption::Xscale)?, log(PlotOption::Yscale)?);
    let bins = match figure.integer_option(PlotOption::Bins) {
        None => None,
        Some(n) => Some(usize::try_from(n).ok().filter(|n| (1..=bins::MAX_BINS).contains(n)).ok_or_else(|| {
            (format!("a histogram cannot have {n} bins"), "`bins:` must be a number from 1 to 10000")
        })?),
    };
    let alone = figure.layers.first().and_then(|layer| TileGrid::from_layer(layer, &mut notes));
    let (body, names) = match alone {
        Some(tiles) => (PlotBody::Tiles(tiles), Default::default()),
        None => {
            let chart = plan_chart(figure, logs, bins, &mut notes);
            (PlotBody::Chart(chart), default_axis_labels(figure))
        }
    };
    let or = |option, name: String| figure.text_option(option).map_or(name, sanitise);
    let (xlabel, ylabel) = (or(PlotOption::Xlabel, names.0), or(PlotOption::Ylabel, names.1));
    Ok(DrawingPlan { title: text(PlotOption::Title), xlabel, ylabel, body, notes })
}

/// Removes characters that would move a cursor or end a document.
pub(super) fn sanitise(text: &str) -> String {
    let mut clean: String = text.chars().take(MAX_TEXT_LENGTH).map(|c| if c.is_control() { ' ' } else { c }).collect();
    // Bidirectional marks would affect the rest of the line. The last two are no XML characters.
    clean.retain(|c| !matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FFFE}' | '\u{FFFF}'));
    clean.trim().to_owned()
}

/// Returns the default names of the axes: the names of the data, if there is a single layer.
fn default_axis_labels(figure: &Figure) -> (String, String) {
    let [layer] = figure.layers.as_slice() else { return Default::default() };
    let name = |at: usize| layer.data.get(at).map(|d| sanitise(&d.name)).unwrap_or_default();
    match (layer.kind, layer.data.len()) {
        (PlotKind::Histogram, _) => (name(0), "count".to_owned()),
        (_, 1) => (String::new(), name(0)),
        (_, 2) => (name(0), name(1)),
        _ => (name(0), String::new()),
    }
}

/// Returns the numeric data of a layer.
fn layer_numbers(layer: &PlotLayer) -> Vec<&PlotArray> {
    let all = layer.data.iter().filter_map(|data| match &data.content {
        PlotContent::Numbers(numbers) => Some(numbers),
        PlotContent::Relation(_) => None,
    });
    all.collect()
}

fn plan_chart<'f>(
    figure: &'f Figure,
    (xlog, ylog): (bool, bool),
    bins: Option<usize>,
    notes: &mut Vec<String>,
) -> Chart<'f> {
    let mut series = Vec::new();
    let histograms: Vec<&PlotArray> =
        figure.layers.iter().filter(|l| l.kind == PlotKind::Histogram).flat_map(layer_numbers).collect();
    let edges = bins::BinEdges::for_numbers(&histograms, xlog, bins);
    let groups = figure.layers.iter().filter(|l| l.kind == PlotKind::Bars).count();
    let spacing = if groups == 0 { 1.0 } else { bar_spacing(figure) };
    let (mut group, mut left_out) = (0, OmittedValues::default());
    let mut ranges = (AxisRange::EMPTY, AxisRange::EMPTY);
    // Whether bars start at 0, and whether all vertical coordinates are integers.
    let (mut standing, mut whole) = (false, true);
    for layer in &figure.layers {
        let data = layer_numbers(layer);
        match (layer.kind, data.as_slice()) {
            (PlotKind::Histogram, [values]) => {
                let bars = edges.histogram(values, &mut left_out);
                for bar in &bars {
                    ranges.0.include(bar.from);
                    ranges.0.include(bar.to);
                    ranges.1.include(if ylog { bar.height.max(1.0).log10() } else { bar.height });
                }
                standing = true;
                series.push(Series { label: series_label(layer, 0), shape: SeriesShape::Bars(Bars::Bins(bars)) });
            }
            (PlotKind::Bars, [rest @ .., heights]) => {
                let width = 0.8 * spacing / groups.max(1) as f64;
                let shift = (group as f64 - (groups as f64 - 1.0) / 2.0) * width;
                group += 1;
                let bars = Bars::Placed { x: rest.first().copied(), y: heights, width, shift };
                for bar in bars.measured_bars((xlog, ylog)) {
                    match bar {
                        Ok(bar) => {
                            ranges.0.include(bar.from);
                            ranges.0.include(bar.to);
                            ranges.1.include(bar.height);
                            left_out.drawn += 1;
                        }
                        Err(OmissionReason::NotPositive) => left_out.not_positive += 1,
                        Err(OmissionReason::NotFinite) => left_out.not_finite += 1,
                    }
                }
                (standing, whole) = (true, whole && heights.is_integral());
                series.push(Series { label: series_label(layer, 0), shape: SeriesShape::Bars(bars) });
            }
            (_, [only]) => {
                whole &= only.is_integral();
                series.push(plan_curve(
                    layer,
                    0,
                    HorizontalCoordinates::Indices,
                    only,
                    (xlog, ylog),
                    &mut ranges,
                    &mut left_out,
                ));
            }
            (_, [x, rest @ ..]) => {
                for (nth, y) in rest.iter().enumerate() {
                    whole &= y.is_integral();
                    let places = HorizontalCoordinates::Explicit(x);
                    series.push(plan_curve(layer, nth + 1, places, y, (xlog, ylog), &mut ranges, &mut left_out));
                }
            }
            (_, []) => {}
        }
    }
    left_out.add_notes(notes);
    let empty = ranges.0.is_empty() || ranges.1.is_empty();
    let bare = |range: AxisRange| range.widen_if_narrow().pad(MARGIN, MARGIN);
    let x = PlotAxis::new(bare(ranges.0), xlog).with_integer_ticks(has_integer_abscissas(figure));
    let upright = if standing && !ylog {
        if !ranges.1.is_empty() {
            ranges.1.include(0.0);
        }
        let below = if ranges.1.low < 0.0 { MARGIN } else { 0.0 };
        let above = if ranges.1.high > 0.0 || ranges.1.is_narrow() { 2.0 * MARGIN } else { 0.0 };
        let room = if ranges.1.is_narrow() { AxisRange { low: 0.0, high: 1.0 } } else { ranges.1 };
        room.pad(below, above)
    } else if standing && !ranges.1.is_empty() {
        // On a logarithmic axis, bars start below the smallest of them.
        AxisRange { low: ranges.1.low - 0.3, high: ranges.1.high }.pad(0.0, MARGIN)
    } else {
        bare(ranges.1)
    };
    let y = PlotAxis::new(upright, ylog).with_integer_ticks(whole);
    if series.len() < 2 && figure.layers.iter().all(|l| l.label.is_empty()) {
        series.iter_mut().for_each(|s| s.label.clear());
    } else {
        for (nth, s) in series.iter_mut().enumerate().filter(|(_, s)| s.label.is_empty()) {
            s.label = format!("{}", nth + 1);
        }
    }
    if series.len() > MOST_NAMES {
        notes.push(format!("the legend names the first {MOST_NAMES} of {} series", series.len()));
        series.iter_mut().skip(MOST_NAMES).for_each(|s| s.label.clear());
    }
    Chart { x, y, series, is_empty: empty }
}

/// Whether all horizontal coordinates are integers.
fn has_integer_abscissas(figure: &Figure) -> bool {
    figure.layers.iter().all(|layer| match (layer.kind, layer_numbers(layer).as_slice()) {
        (PlotKind::Histogram, [x]) | (_, [x, _, ..]) => x.is_integral(),
        _ => true,
    })
}

/// Returns the legend name of a series: the label in the program, or the name of the data.
fn series_label(layer: &PlotLayer, nth: usize) -> String {
    let name = layer.data.get(nth).map(|d| d.name.as_str()).unwrap_or_default();
    let several = layer.data.len() > 2;
    match (layer.label.as_str(), several) {
        ("", _) => sanitise(name),
        (label, false) => sanitise(label),
        (label, true) if name.is_empty() => sanitise(&format!("{label} {nth}")),
        (label, true) => sanitise(&format!("{label} {name}")),
    }
}

fn plan_curve<'f>(
    layer: &'f PlotLayer,
    nth: usize,
    x: HorizontalCoordinates<'f>,
    y: &'f PlotArray,
    (xlog, ylog): (bool, bool),
    ranges: &mut (AxisRange, AxisRange),
    left_out: &mut OmittedValues,
) -> Series<'f> {
    for at in 0..y.len() {
        let (a, b) = (x.get(at), y.get(at));
        match (PlotAxis::coordinate(xlog, a), PlotAxis::coordinate(ylog, b)) {
            (Some(a), Some(b)) => {
                ranges.0.include(a);
                ranges.1.include(b);
                left_out.drawn += 1;
            }
            _ if a.is_finite() && b.is_finite() => left_out.not_positive += 1,
            _ => left_out.not_finite += 1,
        }
    }
    let curve = Curve { is_joined: layer.kind == PlotKind::Line, x, y };
    Series { label: series_label(layer, nth), shape: SeriesShape::Curve(curve) }
}

/// Returns the least distance between neighbouring bars.
fn bar_spacing(figure: &Figure) -> f64 {
    /// The most coordinates that are sorted; for more, the bars are assumed to be evenly spaced.
    const MOST_SORTED: usize = 1 << 20;
    let mut least = f64::INFINITY;
    for layer in figure.layers.iter().filter(|l| l.kind == PlotKind::Bars) {
        let data = layer_numbers(layer);
        let [x, _] = data.as_slice() else {
            least = least.min(1.0);
            continue;
        };
        if x.len() > MOST_SORTED {
            let mut range = AxisRange::EMPTY;
            x.iter().filter(|x| x.is_finite()).for_each(|x| range.include(x));
            least = least.min((range.high - range.low) / x.len() as f64);
            continue;
        }
        let mut places: Vec<f64> = x.iter().filter(|x| x.is_finite()).collect();
        places.sort_unstable_by(f64::total_cmp);
        let gaps = places.windows(2).filter_map(|w| Some(w.last()? - w.first()?));
        least = gaps.filter(|gap| *gap > 0.0).fold(least, f64::min);
    }
    if least.is_finite() { least } else { 1.0 }
}

/// The numbers of drawn and omitted values.
#[derive(Default)]
pub(super) struct OmittedValues {
    pub(super) drawn: usize,
    pub(super) not_finite: usize,
    pub(super) not_positive: usize,
}

impl OmittedValues {
    fn total(&self) -> usize {
        self.drawn + self.not_positive + self.not_finite
    }

    fn add_notes(&self, notes: &mut Vec<String>) {
        let all = self.total();
        if all == 0 {
            notes.push("the plot has no values".to_owned());
        }
        if self.not_finite > 0 {
            notes.push(format!("{} NaN or infinite and not drawn", values_are_phrase(self.not_finite, all)));
        }
        if self.not_positive > 0 {
            notes.push(format!(
                "{} not positive and not drawn on a logarithmic axis",
                values_are_phrase(self.not_positive, all)
            ));
        }
    }
}

/// Returns a phrase such as `3 of 10 values are`.
pub(super) fn values_are_phrase(n: usize, all: usize) -> String {
    match (n, all) {
        (1, 1) => "the only value is".to_owned(),
        (1, _) => format!("1 of {all} values is"),
        _ if n == all => format!("all {n} values are"),
        _ => format!("{n} of {all} values are"),
    }
}
