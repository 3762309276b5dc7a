//! **Thinning of lines and bars on a raster.** Of the consecutive points in one column, only the
//! first, the last and the extremes matter. So a million points take the time of a few thousand
//! strokes.

use super::drawing_plan::Bars;
use super::plot_axis::PlotAxis;

/// A raster point; the origin is the upper left corner.
pub(super) type RasterPoint = (u16, u16);

/// The most dots that are painted for one line. By then every dot of a terminal has been painted
/// many times.
const MOST_DOTS: usize = 20_000_000;

/// Consecutive points in one column.
#[derive(Clone, Copy)]
struct ColumnRun {
    first: RasterPoint,
    last: RasterPoint,
    top: u16,
    bottom: u16,
}

impl ColumnRun {
    fn new(dot: RasterPoint) -> Self {
        Self { first: dot, last: dot, top: dot.1, bottom: dot.1 }
    }

    /// Adds a point if it is in this column; returns whether it is.
    fn try_extend(&mut self, dot: RasterPoint) -> bool {
        if dot.0 != self.first.0 {
            return false;
        }
        self.last = dot;
        self.top = self.top.min(dot.1);
        self.bottom = self.bottom.max(dot.1);
        true
    }

    /// Returns the points that represent the run: a line through them covers the same dots as one
    /// through all.
    fn corners(self) -> [RasterPoint; 4] {
        let x = self.first.0;
        [self.first, (x, self.top), (x, self.bottom), self.last]
    }
}

/// Calls `corner` with the visible points of a line, and with `None` at each gap.
pub(super) fn visible_corners(
    dots: impl Iterator<Item = Option<RasterPoint>>,
    corner: &mut dyn FnMut(Option<RasterPoint>),
) {
    let mut run: Option<ColumnRun> = None;
    for dot in dots {
        match dot {
            Some(dot) if run.as_mut().is_some_and(|run| run.try_extend(dot)) => {}
            dot => {
                emit_run(run, corner);
                run = dot.map(ColumnRun::new);
                if dot.is_none() {
                    corner(None);
                }
            }
        }
    }
    emit_run(run, corner);
}

fn emit_run(run: Option<ColumnRun>, corner: &mut dyn FnMut(Option<RasterPoint>)) {
    let mut last = None;
    for dot in run.into_iter().flat_map(ColumnRun::corners) {
        if last != Some(dot) {
            corner(Some(dot));
        }
        last = Some(dot);
    }
}

/// Paints a line through dots, with a dash pattern of alternating lengths.
pub(super) fn paint_line(
    dots: impl Iterator<Item = Option<RasterPoint>>,
    pattern: &[usize],
    paint: &mut dyn FnMut(usize, usize),
) {
    let mut from: Option<RasterPoint> = None;
    let mut length = 0usize;
    visible_corners(dots, &mut |to| {
        let Some(to) = to else {
            from = None;
            return;
        };
        if length < MOST_DOTS {
            segment_dots(from.unwrap_or(to), to, &mut |x, y| {
                // An isolated point is always visible.
                if from.is_none() || is_dash_on(pattern, length) {
                    paint(x, y);
                }
                length += 1;
            });
        }
        from = Some(to);
    });
}

/// Whether a dash pattern is on at this distance.
pub(super) fn is_dash_on(pattern: &[usize], at: usize) -> bool {
    if pattern.len() < 2 {
        return true;
    }
    let mut at = at % pattern.iter().sum::<usize>().max(1);
    for (nth, length) in pattern.iter().enumerate() {
        if at < *length {
            return nth % 2 == 0;
        }
        at -= length;
    }
    false
}

/// Calls `dot` for every dot of a segment. The first one is omitted, unless it is also the last.
fn segment_dots(from: RasterPoint, to: RasterPoint, dot: &mut dyn FnMut(usize, usize)) {
    let (dx, dy) = (i64::from(to.0) - i64::from(from.0), i64::from(to.1) - i64::from(from.1));
    let steps = dx.abs().max(dy.abs());
    let at = |start: u16, way: i64, k: i64| {
        // Rounds to the nearest dot, halves away from the start.
        let moved = (2 * way * k + way.signum() * steps) / (2 * steps.max(1));
        usize::try_from(i64::from(start) + moved).unwrap_or(0)
    };
    for k in i64::from(steps > 0)..=steps {
        dot(at(from.0, dx, k), at(from.1, dy, k));
    }
}

/// Returns the head of the bar in each column; if several bars share a column, the one farthest
/// from the foot.
pub(super) fn bar_heads(bars: &Bars<'_>, x: PlotAxis, y: PlotAxis, foot: f64, width: usize) -> Vec<Option<f64>> {
    let mut heads: Vec<Option<f64>> = vec![None; width];
    let column = |at: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped to the width")]
        let column = (at * width as f64).round().clamp(0.0, width as f64) as usize;
        column
    };
    for bar in bars.visible_bars(x, y) {
        let from = column(bar.from).min(width.saturating_sub(1));
        let to = column(bar.to).max(from + 1);
        let height = bar.height.clamp(0.0, 1.0);
        for head in heads.get_mut(from..to.min(width)).unwrap_or_default() {
            if head.is_none_or(|h| (h - foot).abs() < (height - foot).abs()) {
                *head = Some(height);
            }
        }
    }
    heads
}
