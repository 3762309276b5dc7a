//! **Vector drawing of a plot** with a drawing library, for raster and vector backends alike.
//! Lengths are in parts of a pixel; a pixel has `parts` of them.

use plotters::backend::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontTransform, IntoFont as _, RGBColor, ShapeStyle, TextStyle};

use super::drawing_plan::{Chart, Curve, DrawingPlan, PlotBody, Series, SeriesShape};
use super::plot_axis::{PlotAxis, Tick, Ticks};
use super::thinning::{self, RasterPoint};
use super::tile_grid::{self, TileContent, TileGrid};

/// Colours that can be distinguished with any colour vision, and in print.
const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
const INK: RGBColor = RGBColor(51, 51, 51);
const GRID: RGBColor = RGBColor(229, 229, 229);
const PAPER: RGBColor = RGBColor(255, 255, 255);

/// Sizes of text and margins, in pixels.
const TITLE_SIZE: i32 = 21;
const TEXT_SIZE: i32 = 16;
const SMALL_TEXT_SIZE: i32 = 14;
const MARGIN: i32 = 12;

/// The width in pixels below which tiles are thin.
const THIN_TILE_WIDTH: i32 = 12;

/// The most corners of a line in a file, and the most separate points of a scatter plot.
const MOST_CORNERS: usize = 30_000;
const MOST_POINTS: usize = 20_000;

/// The most tiles drawn as rectangles; more become an embedded image. Then the most dots along a
/// side; more are merged.
const MOST_TILES: u64 = 4096;
const MOST_DOTS: u64 = 250;

/// An image to be placed on the sheet.
pub(super) struct EmbeddedImage {
    /// The position, in parts of pixels.
    pub(super) position: (u32, u32),
    pub(super) size: (u32, u32),
    pub(super) columns: u32,
    pub(super) rows: u32,
    /// The pixels, three bytes each.
    pub(super) pixels: Vec<u8>,
}

/// A rectangle of the sheet, in parts of pixels.
#[derive(Clone, Copy)]
struct DrawingArea {
    left: i32,
    top: i32,
    width: i32,
    height: i32,
}

/// The drawing surface.
pub(super) struct VectorDrawing<'b, B: DrawingBackend> {
    backend: &'b mut B,
    units_per_pixel: u16,
    width: i32,
    height: i32,
    /// Whether the backend produces vectors instead of pixels.
    is_vector: bool,
    images: Vec<EmbeddedImage>,
}

type DrawResult = Result<(), String>;

impl<'b, B: DrawingBackend> VectorDrawing<'b, B> {
    pub(super) fn new(backend: &'b mut B, parts: u16, (width, height): (u16, u16), vectors: bool) -> Self {
        let side = |n: u16| i32::from(n) * i32::from(parts);
        Self {
            backend,
            units_per_pixel: parts,
            width: side(width),
            height: side(height),
            is_vector: vectors,
            images: Vec::new(),
        }
    }

    /// Returns the images to be placed on the drawing.
    pub(super) fn into_images(self) -> Vec<EmbeddedImage> {
        self.images
    }

    pub(super) fn draw_plan(&mut self, plan: &DrawingPlan<'_>) -> DrawResult {
        self.draw_rect(0, 0, self.width, self.height, &PAPER.filled())?;
        match &plan.body {
            PlotBody::Chart(chart) => self.draw_chart(plan, chart),
            PlotBody::Tiles(tiles) => self.draw_tiles(plan, tiles),
        }
    }

    // ---- parts of plots ----

    fn pixels(&self, pixels: i32) -> i32 {
        pixels * i32::from(self.units_per_pixel)
    }

    /// Draws the title and the legend; returns the vertical position below them.
    fn draw_head(&mut self, plan: &DrawingPlan<'_>, series: &[Series<'_>], left: i32) -> Result<i32, String> {
        let mut top = self.pixels(MARGIN);
        if !plan.title.is_empty() {
            let title = self.truncate_text(&plan.title, TITLE_SIZE, self.width - self.pixels(2 * MARGIN));
            self.draw_text(&title, TITLE_SIZE, (self.width / 2, top), (HPos::Center, VPos::Top), false)?;
            top += self.pixels(TITLE_SIZE + 10);
        }
        let mut at = left;
        let named: Vec<(usize, &Series<'_>)> = series.iter().enumerate().filter(|(_, s)| !s.label.is_empty()).collect();
        for (nth, s) in &named {
            let room = self.width - self.pixels(MARGIN);
            let label = self.truncate_text(&s.label, SMALL_TEXT_SIZE, room - left - self.pixels(30));
            let wide = self.pixels(26) + self.text_width(&label, SMALL_TEXT_SIZE);
            if at > left && at + wide > room {
                (at, top) = (left, top + self.pixels(SMALL_TEXT_SIZE + 8));
            }
            self.draw_legend_sample(*nth, &s.shape, at, top + self.pixels(SMALL_TEXT_SIZE / 2))?;
            self.draw_text(
                &label,
                SMALL_TEXT_SIZE,
                (at + self.pixels(26), top + self.pixels(SMALL_TEXT_SIZE / 2)),
                (HPos::Left, VPos::Center),
                false,
            )?;
            at += wide + self.pixels(18);
        }
        if !named.is_empty() {
            top += self.pixels(SMALL_TEXT_SIZE + 10);
        }
        Ok(top)
    }

    /// Draws the sample of a series in the legend.
    fn draw_legend_sample(&mut self, nth: usize, shape: &SeriesShape<'_>, x: i32, y: i32) -> DrawResult {
        let color = series_color(nth);
        match shape {
            SeriesShape::Curve(curve) if curve.is_joined => self.draw_path(&[(x, y), (x + self.pixels(20), y)], color),
            SeriesShape::Curve(_) => self.draw_marker(nth, x + self.pixels(10), y, 1.0),
            SeriesShape::Bars(_) => self.draw_rect(
                x + self.pixels(4),
                y - self.pixels(6),
                self.pixels(14),
                self.pixels(12),
                &color.filled(),
            ),
        }
    }

    fn draw_chart(&mut self, plan: &DrawingPlan<'_>, chart: &Chart<'_>) -> DrawResult {
        let y = chart.y.ticks(usize::try_from(self.height / self.pixels(60)).unwrap_or(2).clamp(2, 12));
        let widest = y.ticks.iter().map(|t| self.text_width(&t.label, SMALL_TEXT_SIZE)).max().unwrap_or(0);
        let named = if plan.ylabel.is_empty() { 0 } else { self.pixels(TEXT_SIZE + 8) };
        let left = (self.pixels(MARGIN + 6) + named + widest).min(self.width / 2);
        let mut top = self.draw_head(plan, &chart.series, left)?;
        if y.offset.is_some() {
            top += self.pixels(SMALL_TEXT_SIZE + 6);
        }
        let under = self.pixels(SMALL_TEXT_SIZE + 10 + MARGIN)
            + if plan.xlabel.is_empty() { 0 } else { self.pixels(TEXT_SIZE + 8) };
        let width = (self.width - left - self.pixels(MARGIN + 10)).max(self.pixels(10));
        let height = (self.height - top - under).max(self.pixels(10));
        let area = DrawingArea { left, top, width, height };
        let x = chart.x.ticks(usize::try_from(width / self.pixels(80)).unwrap_or(2).clamp(2, 14));
        self.draw_axes(plan, area, (&x, &y))?;
        if chart.is_empty {
            let middle = (left + width / 2, top + height / 2);
            return self.draw_text("nothing to draw", TEXT_SIZE, middle, (HPos::Center, VPos::Center), false);
        }
        for (nth, s) in chart.series.iter().enumerate() {
            match &s.shape {
                SeriesShape::Bars(_) => self.draw_bars(area, chart, nth, &s.shape)?,
                SeriesShape::Curve(curve) if curve.is_joined => self.draw_line(area, chart, nth, curve)?,
                SeriesShape::Curve(curve) => self.draw_points(area, chart, nth, curve)?,
            }
        }
        Ok(())
    }

    fn draw_axes(&mut self, plan: &DrawingPlan<'_>, area: DrawingArea, (x, y): (&Ticks, &Ticks)) -> DrawResult {
        let DrawingArea { left, top, width, height } = area;
        let (right, floor, thin) = (left + width, top + height, self.pixels(1).max(1));
        for tick in &y.ticks {
            let at = floor - fraction_of(tick.position, height);
            self.draw_rect(left, at, width, thin, &GRID.filled())?;
            self.draw_rect(left - self.pixels(4), at, self.pixels(4), thin, &INK.filled())?;
            self.draw_text(
                &tick.label,
                SMALL_TEXT_SIZE,
                (left - self.pixels(7), at),
                (HPos::Right, VPos::Center),
                false,
            )?;
        }
        let mut free = 0;
        for tick in &x.ticks {
            let at = left + fraction_of(tick.position, width);
            self.draw_rect(at, top, thin, height, &GRID.filled())?;
            self.draw_rect(at, floor, thin, self.pixels(4), &INK.filled())?;
            let half = self.text_width(&tick.label, SMALL_TEXT_SIZE) / 2;
            if at - half >= free {
                self.draw_text(
                    &tick.label,
                    SMALL_TEXT_SIZE,
                    (at, floor + self.pixels(7)),
                    (HPos::Center, VPos::Top),
                    false,
                )?;
                free = at + half + self.pixels(6);
            }
        }
        self.draw_rect(left, floor, width, thin, &INK.filled())?;
        self.draw_rect(left, top, thin, height, &INK.filled())?;
        if let Some(offset) = &y.offset {
            let at = (left, top - self.pixels(4));
            self.draw_text(&format!("+ {offset}"), SMALL_TEXT_SIZE, at, (HPos::Left, VPos::Bottom), false)?;
        }
        if let Some(offset) = &x.offset {
            let at = (right, floor - self.pixels(4));
            self.draw_text(&format!("+ {offset}"), SMALL_TEXT_SIZE, at, (HPos::Right, VPos::Bottom), false)?;
        }
        self.draw_axis_labels(plan, area, floor + self.pixels(SMALL_TEXT_SIZE + 14))
    }

    /// Draws the names of the axes.
    fn draw_axis_labels(&mut self, plan: &DrawingPlan<'_>, area: DrawingArea, below: i32) -> DrawResult {
        let middle = (area.left + area.width / 2, area.top + area.height / 2);
        if !plan.xlabel.is_empty() {
            let label = self.truncate_text(&plan.xlabel, TEXT_SIZE, self.width - self.pixels(2 * MARGIN));
            self.draw_text(&label, TEXT_SIZE, (middle.0, below), (HPos::Center, VPos::Top), false)?;
        }
        if !plan.ylabel.is_empty() {
            let label = self.truncate_text(&plan.ylabel, TEXT_SIZE, self.height - self.pixels(2 * MARGIN));
            self.draw_text(&label, TEXT_SIZE, (self.pixels(MARGIN), middle.1), (HPos::Center, VPos::Top), true)?;
        }
        Ok(())
    }

    fn draw_bars(&mut self, area: DrawingArea, chart: &Chart<'_>, nth: usize, shape: &SeriesShape<'_>) -> DrawResult {
        let SeriesShape::Bars(bars) = shape else { return Ok(()) };
        let several = chart.series.len() > 1;
        let style = series_color(nth).mix(if several { 0.65 } else { 0.9 }).filled();
        let foot = fraction_of(chart.base_line(), area.height);
        let columns = usize::try_from(area.width / self.pixels(1)).unwrap_or(1).max(1);
        let heads: Vec<(i32, i32, i32)> = if bars.visible_bars(chart.x, chart.y).nth(columns).is_some() {
            // More bars than pixels: one bar per pixel is drawn.
            let heads = thinning::bar_heads(bars, chart.x, chart.y, chart.base_line(), columns);
            let pixels = (0i32..).zip(heads).filter_map(|(k, head)| Some((k, head?)));
            pixels.map(|(k, head)| (self.pixels(k), self.pixels(k + 1), fraction_of(head, area.height))).collect()
        } else {
            let place = |at: f64| fraction_of(at.clamp(0.0, 1.0), area.width);
            let whole =
                |b: super::bins::Bar| (place(b.from), place(b.to), fraction_of(b.height.clamp(0.0, 1.0), area.height));
            let gap = self.pixels(1) / 2;
            let gapped = |(from, to, head): (i32, i32, i32)| {
                if to - from > 4 * gap { (from + gap, to - gap, head) } else { (from, to, head) }
            };
            bars.visible_bars(chart.x, chart.y).map(whole).map(gapped).collect()
        };
        let floor = area.top + area.height;
        for (from, to, head) in heads {
            let (low, high) = (foot.min(head), foot.max(head));
            if high > low {
                self.draw_rect(area.left + from, floor - high, (to - from).max(1), high - low, &style)?;
            }
        }
        Ok(())
    }

    fn draw_line(&mut self, area: DrawingArea, chart: &Chart<'_>, nth: usize, curve: &Curve<'_>) -> DrawResult {
        let dots = || curve.points(chart.x, chart.y).map(|p| p.map(|p| to_drawing(area, p)));
        let mut count = 0usize;
        thinning::visible_corners(dots(), &mut |_| count += 1);
        let stride = count.div_ceil(MOST_CORNERS).max(1);
        let mut strokes: Vec<Vec<(i32, i32)>> = vec![Vec::new()];
        let mut at = 0usize;
        thinning::visible_corners(dots(), &mut |corner| {
            match (corner, strokes.last_mut()) {
                (Some((x, y)), Some(stroke)) if at.is_multiple_of(stride) => stroke.push((i32::from(x), i32::from(y))),
                (None, Some(stroke)) if !stroke.is_empty() => strokes.push(Vec::new()),
                _ => {}
            }
            at += 1;
        });
        for stroke in strokes {
            match stroke.as_slice() {
                [] => {}
                [(x, y)] => self.draw_marker(nth, *x, *y, 0.6)?,
                corners => self.draw_path(corners, series_color(nth))?,
            }
        }
        Ok(())
    }

    fn draw_points(&mut self, area: DrawingArea, chart: &Chart<'_>, nth: usize, curve: &Curve<'_>) -> DrawResult {
        let places = curve.points(chart.x, chart.y).flatten().map(|p| to_drawing(area, p));
        if curve.len() <= MOST_POINTS {
            let places: Vec<RasterPoint> = places.collect();
            for (x, y) in places {
                self.draw_marker(nth, i32::from(x), i32::from(y), 1.0)?;
            }
            return Ok(());
        }
        // At most one point is drawn per cell of a grid.
        let side = (f64::from(area.width) * f64::from(area.height) / MOST_POINTS as f64).sqrt().max(1.0);
        let square = |(x, y): RasterPoint| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "places of a sheet are small")]
            let of = |z: u16| (f64::from(z) / side) as usize;
            (of(x), of(y))
        };
        let mut seen = std::collections::HashSet::new();
        let places: Vec<RasterPoint> = places.filter(|dot| seen.insert(square(*dot))).collect();
        for (x, y) in places {
            self.draw_marker(nth, i32::from(x), i32::from(y), 0.7)?;
        }
        Ok(())
    }

    fn draw_tiles(&mut self, plan: &DrawingPlan<'_>, tiles: &TileGrid<'_>) -> DrawResult {
        let image = matches!(tiles.content, TileContent::Image(..));
        let heat = match &tiles.content {
            TileContent::Heat(_, range) if range.low <= range.high => Some(*range),
            _ => None,
        };
        let side = heat.map(|range| PlotAxis::new(range, false).ticks(5));
        let bar = side.as_ref().map_or(0, |ticks| {
            let labels = ticks.ticks.iter().map(|t| self.text_width(&t.label, SMALL_TEXT_SIZE)).max().unwrap_or(0);
            labels + self.pixels(44)
        });
        let last = tiles.rows.saturating_sub(1).to_string();
        let rows = if image { 0 } else { self.text_width(&last, SMALL_TEXT_SIZE) + self.pixels(8) };
        let left = self.pixels(MARGIN) + rows + if plan.ylabel.is_empty() { 0 } else { self.pixels(TEXT_SIZE + 8) };
        let top = self.draw_head(plan, &[], left)? + self.pixels(4);
        let caption = tiles.caption();
        let under = [!image, !plan.xlabel.is_empty(), caption.is_some()].iter().filter(|p| **p).count();
        let under = self.pixels(MARGIN) + self.pixels(TEXT_SIZE + 8) * i32::try_from(under).unwrap_or(3);
        let room = (
            (self.width - left - self.pixels(MARGIN) - bar).max(self.pixels(10)),
            (self.height - top - under).max(self.pixels(10)),
        );
        let (width, height) = tile_extent(tiles, room, self.units_per_pixel);
        let area = DrawingArea { left: left + (room.0 - width) / 2, top: top + (room.1 - height) / 2, width, height };
        let floor = area.top + height;
        match &tiles.content {
            _ if tiles.is_empty() => {
                let middle = (area.left + width / 2, area.top + height / 2);
                self.draw_text("nothing to draw", TEXT_SIZE, middle, (HPos::Center, VPos::Center), false)?;
            }
            TileContent::Dots(..) => self.draw_dots(area, tiles)?,
            _ => self.draw_tile_colors(area, tiles)?,
        }
        if !image {
            self.draw_border(area)?;
            for tick in
                tile_grid::tile_ticks(tiles.rows, usize::try_from(height / self.pixels(24)).unwrap_or(1).clamp(1, 14))
            {
                let at = (area.left - self.pixels(6), area.top + fraction_of(tick.position, height));
                self.draw_text(&tick.label, SMALL_TEXT_SIZE, at, (HPos::Right, VPos::Center), false)?;
            }
            for tick in
                tile_grid::tile_ticks(tiles.columns, usize::try_from(width / self.pixels(48)).unwrap_or(1).clamp(1, 16))
            {
                let at = (area.left + fraction_of(tick.position, width), floor + self.pixels(6));
                self.draw_text(&tick.label, SMALL_TEXT_SIZE, at, (HPos::Center, VPos::Top), false)?;
            }
        }
        let mut line = floor + if image { self.pixels(6) } else { self.pixels(TEXT_SIZE + 10) };
        self.draw_axis_labels(plan, area, line)?;
        if !plan.xlabel.is_empty() {
            line += self.pixels(TEXT_SIZE + 6);
        }
        if let Some(caption) = caption {
            self.draw_text(&caption, SMALL_TEXT_SIZE, (area.left + width / 2, line), (HPos::Center, VPos::Top), false)?;
        }
        if let (Some(range), Some(ticks)) = (heat, side) {
            let at = DrawingArea { left: area.left + width + self.pixels(16), width: self.pixels(14), ..area };
            let constant = if range.is_narrow() { Some(0.5) } else { None };
            self.draw_color_bar(at, &ticks.ticks, constant)?;
            if let Some(offset) = ticks.offset {
                let below = (at.left, floor + self.pixels(6));
                self.draw_text(&format!("+ {offset}"), SMALL_TEXT_SIZE, below, (HPos::Left, VPos::Top), false)?;
            }
        }
        Ok(())
    }

    fn draw_color_bar(&mut self, area: DrawingArea, ticks: &[Tick], constant: Option<f64>) -> DrawResult {
        const STEPS: i32 = 64;
        for k in 0..STEPS {
            let (from, to) = (area.height * k / STEPS, area.height * (k + 1) / STEPS);
            let [r, g, b] = tile_grid::heat_color(constant.unwrap_or(f64::from(k) / f64::from(STEPS - 1)));
            let top = area.top + area.height - to;
            self.draw_rect(area.left, top, area.width, to - from, &RGBColor(r, g, b).filled())?;
        }
        self.draw_border(area)?;
        for tick in ticks {
            let at = (
                area.left + area.width + self.pixels(6),
                area.top + area.height - fraction_of(tick.position, area.height),
            );
            self.draw_text(&tick.label, SMALL_TEXT_SIZE, at, (HPos::Left, VPos::Center), false)?;
        }
        Ok(())
    }

    fn draw_tile_colors(&mut self, area: DrawingArea, tiles: &TileGrid<'_>) -> DrawResult {
        let side = |n: i32| usize::try_from(n).unwrap_or(1).max(1);
        if tiles.rows.saturating_mul(tiles.columns) <= MOST_TILES {
            let count = |n: u64| usize::try_from(n).unwrap_or(1);
            let (rows, columns) = (count(tiles.rows), count(tiles.columns));
            let colors = tiles.sample_colors(rows, columns);
            let part = |k: usize, of: usize, all: i32| i32::try_from(k * side(all) / of.max(1)).unwrap_or(0);
            for (at, color) in colors.iter().enumerate() {
                let Some([r, g, b]) = color else { continue };
                let (i, j) = (at / columns, at % columns);
                let (left, right) = (part(j, columns, area.width), part(j + 1, columns, area.width));
                let (top, bottom) = (part(i, rows, area.height), part(i + 1, rows, area.height));
                let style = RGBColor(*r, *g, *b).filled();
                self.draw_rect(area.left + left, area.top + top, right - left, bottom - top, &style)?;
            }
            return Ok(());
        }
        // Two samples per pixel suit screens of twice the resolution.
        let among = |all: i32, of: u64| {
            side(all * 2 / i32::from(self.units_per_pixel)).min(usize::try_from(of).unwrap_or(usize::MAX))
        };
        let (rows, columns) = (among(area.height, tiles.rows), among(area.width, tiles.columns));
        let paper = [PAPER.0, PAPER.1, PAPER.2];
        let pixels = tiles.sample_colors(rows, columns).into_iter().flat_map(|c| c.unwrap_or(paper)).collect();
        let place = |n: i32| u32::try_from(n).unwrap_or(0);
        let count = |n: usize| u32::try_from(n).unwrap_or(1);
        self.images.push(EmbeddedImage {
            position: (place(area.left), place(area.top)),
            size: (place(area.width), place(area.height)),
            columns: count(columns),
            rows: count(rows),
            pixels,
        });
        Ok(())
    }

    fn draw_dots(&mut self, area: DrawingArea, tiles: &TileGrid<'_>) -> DrawResult {
        let count = |n: u64| usize::try_from(n.clamp(1, MOST_DOTS)).unwrap_or(1);
        let (rows, columns) = (count(tiles.rows), count(tiles.columns));
        let mut there = vec![false; rows * columns];
        tiles.for_each_dot(rows, columns, &mut |i, j| {
            if let Some(dot) = there.get_mut(i * columns + j) {
                *dot = true;
            }
        });
        let place = |k: usize, of: usize, all: i32| {
            i32::try_from(i64::from(all) * i64::try_from(k).unwrap_or(0) / i64::try_from(of).unwrap_or(1)).unwrap_or(0)
        };
        for at in there.iter().enumerate().filter(|(_, dot)| **dot).map(|(at, _)| at) {
            let (i, j) = (at / columns, at % columns);
            let (left, right) = (place(j, columns, area.width), place(j + 1, columns, area.width));
            let (top, bottom) = (place(i, rows, area.height), place(i + 1, rows, area.height));
            let gap = if right - left > self.pixels(4) { self.pixels(1) } else { 0 };
            let style = series_color(0).filled();
            self.draw_rect(
                area.left + left,
                area.top + top,
                (right - left - gap).max(1),
                (bottom - top - gap).max(1),
                &style,
            )?;
        }
        Ok(())
    }

    // ---- shapes ----

    fn draw_rect(&mut self, left: i32, top: i32, width: i32, height: i32, style: &ShapeStyle) -> DrawResult {
        let (right, bottom) = (left + width.max(1), top + height.max(1));
        self.backend.draw_rect((left, top), (right, bottom), style, true).map_err(|e| e.to_string())
    }

    fn draw_border(&mut self, area: DrawingArea) -> DrawResult {
        let DrawingArea { left, top, width, height } = area;
        let thin = self.pixels(1).max(1);
        let style = INK.filled();
        self.draw_rect(left - thin, top - thin, width + 2 * thin, thin, &style)?;
        self.draw_rect(left - thin, top + height, width + 2 * thin, thin, &style)?;
        self.draw_rect(left - thin, top, thin, height, &style)?;
        self.draw_rect(left + width, top, thin, height, &style)
    }

    fn draw_path(&mut self, corners: &[(i32, i32)], color: RGBColor) -> DrawResult {
        let width = u32::from(self.units_per_pixel) * 3 / 2 + u32::from(self.units_per_pixel == 1);
        let style = color.stroke_width(width);
        if self.is_vector {
            return self.backend.draw_path(corners.iter().copied(), &style).map_err(|e| e.to_string());
        }
        // A self-intersecting line, filled as a polygon, has holes. So each segment is drawn
        // separately, with round ends.
        for pair in corners.windows(2) {
            self.backend.draw_path(pair.iter().copied(), &style).map_err(|e| e.to_string())?;
        }
        for corner in corners {
            self.backend.draw_circle(*corner, width / 2, &color.filled(), true).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Draws the marker of a point of a series.
    fn draw_marker(&mut self, nth: usize, x: i32, y: i32, size: f64) -> DrawResult {
        #[expect(clippy::cast_possible_truncation, reason = "a mark is small")]
        let radius = ((f64::from(self.pixels(3)) * size).round() as i32).max(1);
        let style = series_color(nth).mix(0.75).filled();
        let drawn = match nth % 4 {
            0 => self.backend.draw_circle((x, y), radius.unsigned_abs(), &style, true),
            1 => self.backend.draw_rect((x - radius, y - radius), (x + radius, y + radius), &style, true),
            2 => {
                let corners = [(x, y - radius - radius / 3), (x + radius, y + radius), (x - radius, y + radius)];
                self.backend.fill_polygon(corners, &style)
            }
            _ => {
                let far = radius + radius / 3;
                self.backend.fill_polygon([(x, y - far), (x + far, y), (x, y + far), (x - far, y)], &style)
            }
        };
        drawn.map_err(|e| e.to_string())
    }

    // ---- text ----

    fn text_style(&self, size: i32) -> TextStyle<'static> {
        let font = ("sans-serif", self.pixels(size)).into_font();
        TextStyle::from(font).color(&INK)
    }

    fn draw_text(
        &mut self,
        text: &str,
        size: i32,
        at: (i32, i32),
        (across, down): (HPos, VPos),
        upwards: bool,
    ) -> DrawResult {
        let mut style = self.text_style(size).pos(Pos::new(across, down));
        // The raster backend draws letters above the requested position, by a fraction of their
        // size.
        let lower = if self.is_vector { 0 } else { self.pixels(size) / 5 };
        let at = if upwards { (at.0 + lower, at.1) } else { (at.0, at.1 + lower) };
        if upwards {
            style = style.transform(FontTransform::Rotate270);
        }
        self.backend.draw_text(text, &style, at).map_err(|e| e.to_string())
    }

    fn text_width(&self, text: &str, size: i32) -> i32 {
        let size = self.backend.estimate_text_size(text, &self.text_style(size));
        size.map_or(0, |(width, _)| i32::try_from(width).unwrap_or(i32::MAX))
    }

    /// Cuts a text to the available width, with an ellipsis.
    fn truncate_text(&self, text: &str, size: i32, room: i32) -> String {
        let mut short = text.to_owned();
        while self.text_width(&short, size) > room && short.pop().is_some() {
            if short.pop().is_some() {
                short.push('…');
            }
        }
        short
    }
}

fn series_color(nth: usize) -> RGBColor {
    COLORS.get(nth % COLORS.len()).copied().unwrap_or(INK)
}

/// Returns a fraction of a length.
fn fraction_of(at: f64, length: i32) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a length of a sheet")]
    let along = (at.clamp(-1.0, 2.0) * f64::from(length)).round() as i32;
    along
}

fn to_drawing(area: DrawingArea, (x, y): (f64, f64)) -> RasterPoint {
    let place = |n: i32| u16::try_from(n.max(0)).unwrap_or(u16::MAX);
    (place(area.left + fraction_of(x, area.width)), place(area.top + area.height - fraction_of(y, area.height)))
}

/// Returns the width and height of tiles in the available space: nearly square for a heat map,
/// exactly square for images and dots.
fn tile_extent(tiles: &TileGrid<'_>, (width, height): (i32, i32), parts: u16) -> (i32, i32) {
    if tiles.is_empty() {
        return (width, height);
    }
    let (rows, columns) = (tiles.rows as f64, tiles.columns as f64);
    let (down, across) = (f64::from(height) / rows, f64::from(width) / columns);
    // Thin tiles of a heat map are widened.
    let thin = down.min(across) < f64::from(THIN_TILE_WIDTH * i32::from(parts));
    let most = if thin && matches!(tiles.content, TileContent::Heat(..)) { 3.0 } else { 1.0 };
    let (down, across) = (down.min(across * most), across.min(down * most));
    #[expect(clippy::cast_possible_truncation, reason = "no more than the room")]
    let size = |each: f64, count: f64| (each * count).round().max(1.0) as i32;
    (size(across, columns).min(width), size(down, rows).min(height))
}
