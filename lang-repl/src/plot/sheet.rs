//! **Vector drawing of a plot** with a drawing library, for raster and vector backends alike.
//! Lengths are in parts of a pixel; a pixel has `parts` of them.

use plotters::backend::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontTransform, IntoFont as _, RGBColor, ShapeStyle, TextStyle};

use super::plan::{Body, Chart, Curve, Plan, Series, Shape};
use super::scale::{Axis, Tick, Ticks};
use super::thin::{self, Dot};
use super::tiles::{self, Tiled, Tiles};

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
const TITLE: i32 = 21;
const TEXT: i32 = 16;
const SMALL: i32 = 14;
const MARGIN: i32 = 12;

/// The width in pixels below which tiles are thin.
const THIN: i32 = 12;

/// The most corners of a line in a file, and the most separate points of a scatter plot.
const MOST_CORNERS: usize = 30_000;
const MOST_POINTS: usize = 20_000;

/// The most tiles drawn as rectangles; more become an embedded image. Then the most dots along a
/// side; more are merged.
const MOST_TILES: u64 = 4096;
const MOST_DOTS: u64 = 250;

/// An image to be placed on the sheet.
pub(super) struct Picture {
    /// The position, in parts of pixels.
    pub(super) at: (u32, u32),
    pub(super) size: (u32, u32),
    pub(super) columns: u32,
    pub(super) rows: u32,
    /// The pixels, three bytes each.
    pub(super) pixels: Vec<u8>,
}

/// A rectangle of the sheet, in parts of pixels.
#[derive(Clone, Copy)]
struct Area {
    left: i32,
    top: i32,
    width: i32,
    height: i32,
}

/// The drawing surface.
pub(super) struct Sheet<'b, B: DrawingBackend> {
    backend: &'b mut B,
    parts: u16,
    width: i32,
    height: i32,
    /// Whether the backend produces vectors instead of pixels.
    vectors: bool,
    pictures: Vec<Picture>,
}

type Drawn = Result<(), String>;

impl<'b, B: DrawingBackend> Sheet<'b, B> {
    pub(super) fn new(backend: &'b mut B, parts: u16, (width, height): (u16, u16), vectors: bool) -> Self {
        let side = |n: u16| i32::from(n) * i32::from(parts);
        Self { backend, parts, width: side(width), height: side(height), vectors, pictures: Vec::new() }
    }

    /// Returns the images to be placed on the drawing.
    pub(super) fn pictures(self) -> Vec<Picture> {
        self.pictures
    }

    pub(super) fn plan(&mut self, plan: &Plan<'_>) -> Drawn {
        self.rect(0, 0, self.width, self.height, &PAPER.filled())?;
        match &plan.body {
            Body::Chart(chart) => self.chart(plan, chart),
            Body::Tiles(tiles) => self.tiles(plan, tiles),
        }
    }

    // ---- parts of plots ----

    fn px(&self, pixels: i32) -> i32 {
        pixels * i32::from(self.parts)
    }

    /// Draws the title and the legend; returns the vertical position below them.
    fn head(&mut self, plan: &Plan<'_>, series: &[Series<'_>], left: i32) -> Result<i32, String> {
        let mut top = self.px(MARGIN);
        if !plan.title.is_empty() {
            let title = self.fitting(&plan.title, TITLE, self.width - self.px(2 * MARGIN));
            self.text(&title, TITLE, (self.width / 2, top), (HPos::Center, VPos::Top), false)?;
            top += self.px(TITLE + 10);
        }
        let mut at = left;
        let named: Vec<(usize, &Series<'_>)> = series.iter().enumerate().filter(|(_, s)| !s.label.is_empty()).collect();
        for (nth, s) in &named {
            let room = self.width - self.px(MARGIN);
            let label = self.fitting(&s.label, SMALL, room - left - self.px(30));
            let wide = self.px(26) + self.wide(&label, SMALL);
            if at > left && at + wide > room {
                (at, top) = (left, top + self.px(SMALL + 8));
            }
            self.sample(*nth, &s.shape, at, top + self.px(SMALL / 2))?;
            self.text(&label, SMALL, (at + self.px(26), top + self.px(SMALL / 2)), (HPos::Left, VPos::Center), false)?;
            at += wide + self.px(18);
        }
        if !named.is_empty() {
            top += self.px(SMALL + 10);
        }
        Ok(top)
    }

    /// Draws the sample of a series in the legend.
    fn sample(&mut self, nth: usize, shape: &Shape<'_>, x: i32, y: i32) -> Drawn {
        let color = color(nth);
        match shape {
            Shape::Curve(curve) if curve.joined => self.path(&[(x, y), (x + self.px(20), y)], color),
            Shape::Curve(_) => self.mark(nth, x + self.px(10), y, 1.0),
            Shape::Bars(_) => self.rect(x + self.px(4), y - self.px(6), self.px(14), self.px(12), &color.filled()),
        }
    }

    fn chart(&mut self, plan: &Plan<'_>, chart: &Chart<'_>) -> Drawn {
        let y = chart.y.ticks(usize::try_from(self.height / self.px(60)).unwrap_or(2).clamp(2, 12));
        let widest = y.ticks.iter().map(|t| self.wide(&t.label, SMALL)).max().unwrap_or(0);
        let named = if plan.ylabel.is_empty() { 0 } else { self.px(TEXT + 8) };
        let left = (self.px(MARGIN + 6) + named + widest).min(self.width / 2);
        let mut top = self.head(plan, &chart.series, left)?;
        if y.offset.is_some() {
            top += self.px(SMALL + 6);
        }
        let under = self.px(SMALL + 10 + MARGIN) + if plan.xlabel.is_empty() { 0 } else { self.px(TEXT + 8) };
        let width = (self.width - left - self.px(MARGIN + 10)).max(self.px(10));
        let height = (self.height - top - under).max(self.px(10));
        let area = Area { left, top, width, height };
        let x = chart.x.ticks(usize::try_from(width / self.px(80)).unwrap_or(2).clamp(2, 14));
        self.axes(plan, area, (&x, &y))?;
        if chart.empty {
            let middle = (left + width / 2, top + height / 2);
            return self.text("nothing to draw", TEXT, middle, (HPos::Center, VPos::Center), false);
        }
        for (nth, s) in chart.series.iter().enumerate() {
            match &s.shape {
                Shape::Bars(_) => self.bars(area, chart, nth, &s.shape)?,
                Shape::Curve(curve) if curve.joined => self.line(area, chart, nth, curve)?,
                Shape::Curve(curve) => self.points(area, chart, nth, curve)?,
            }
        }
        Ok(())
    }

    fn axes(&mut self, plan: &Plan<'_>, area: Area, (x, y): (&Ticks, &Ticks)) -> Drawn {
        let Area { left, top, width, height } = area;
        let (right, floor, thin) = (left + width, top + height, self.px(1).max(1));
        for tick in &y.ticks {
            let at = floor - along(tick.at, height);
            self.rect(left, at, width, thin, &GRID.filled())?;
            self.rect(left - self.px(4), at, self.px(4), thin, &INK.filled())?;
            self.text(&tick.label, SMALL, (left - self.px(7), at), (HPos::Right, VPos::Center), false)?;
        }
        let mut free = 0;
        for tick in &x.ticks {
            let at = left + along(tick.at, width);
            self.rect(at, top, thin, height, &GRID.filled())?;
            self.rect(at, floor, thin, self.px(4), &INK.filled())?;
            let half = self.wide(&tick.label, SMALL) / 2;
            if at - half >= free {
                self.text(&tick.label, SMALL, (at, floor + self.px(7)), (HPos::Center, VPos::Top), false)?;
                free = at + half + self.px(6);
            }
        }
        self.rect(left, floor, width, thin, &INK.filled())?;
        self.rect(left, top, thin, height, &INK.filled())?;
        if let Some(offset) = &y.offset {
            let at = (left, top - self.px(4));
            self.text(&format!("+ {offset}"), SMALL, at, (HPos::Left, VPos::Bottom), false)?;
        }
        if let Some(offset) = &x.offset {
            let at = (right, floor - self.px(4));
            self.text(&format!("+ {offset}"), SMALL, at, (HPos::Right, VPos::Bottom), false)?;
        }
        self.names(plan, area, floor + self.px(SMALL + 14))
    }

    /// Draws the names of the axes.
    fn names(&mut self, plan: &Plan<'_>, area: Area, below: i32) -> Drawn {
        let middle = (area.left + area.width / 2, area.top + area.height / 2);
        if !plan.xlabel.is_empty() {
            let label = self.fitting(&plan.xlabel, TEXT, self.width - self.px(2 * MARGIN));
            self.text(&label, TEXT, (middle.0, below), (HPos::Center, VPos::Top), false)?;
        }
        if !plan.ylabel.is_empty() {
            let label = self.fitting(&plan.ylabel, TEXT, self.height - self.px(2 * MARGIN));
            self.text(&label, TEXT, (self.px(MARGIN), middle.1), (HPos::Center, VPos::Top), true)?;
        }
        Ok(())
    }

    fn bars(&mut self, area: Area, chart: &Chart<'_>, nth: usize, shape: &Shape<'_>) -> Drawn {
        let Shape::Bars(bars) = shape else { return Ok(()) };
        let several = chart.series.len() > 1;
        let style = color(nth).mix(if several { 0.65 } else { 0.9 }).filled();
        let foot = along(chart.foot(), area.height);
        let columns = usize::try_from(area.width / self.px(1)).unwrap_or(1).max(1);
        let heads: Vec<(i32, i32, i32)> = if bars.on(chart.x, chart.y).nth(columns).is_some() {
            // More bars than pixels: one bar per pixel is drawn.
            let heads = thin::heads(bars, chart.x, chart.y, chart.foot(), columns);
            let pixels = (0i32..).zip(heads).filter_map(|(k, head)| Some((k, head?)));
            pixels.map(|(k, head)| (self.px(k), self.px(k + 1), along(head, area.height))).collect()
        } else {
            let place = |at: f64| along(at.clamp(0.0, 1.0), area.width);
            let whole =
                |b: super::bins::Bar| (place(b.from), place(b.to), along(b.height.clamp(0.0, 1.0), area.height));
            let gap = self.px(1) / 2;
            let gapped = |(from, to, head): (i32, i32, i32)| {
                if to - from > 4 * gap { (from + gap, to - gap, head) } else { (from, to, head) }
            };
            bars.on(chart.x, chart.y).map(whole).map(gapped).collect()
        };
        let floor = area.top + area.height;
        for (from, to, head) in heads {
            let (low, high) = (foot.min(head), foot.max(head));
            if high > low {
                self.rect(area.left + from, floor - high, (to - from).max(1), high - low, &style)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, area: Area, chart: &Chart<'_>, nth: usize, curve: &Curve<'_>) -> Drawn {
        let dots = || curve.points(chart.x, chart.y).map(|p| p.map(|p| on_sheet(area, p)));
        let mut count = 0usize;
        thin::corners(dots(), &mut |_| count += 1);
        let stride = count.div_ceil(MOST_CORNERS).max(1);
        let mut strokes: Vec<Vec<(i32, i32)>> = vec![Vec::new()];
        let mut at = 0usize;
        thin::corners(dots(), &mut |corner| {
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
                [(x, y)] => self.mark(nth, *x, *y, 0.6)?,
                corners => self.path(corners, color(nth))?,
            }
        }
        Ok(())
    }

    fn points(&mut self, area: Area, chart: &Chart<'_>, nth: usize, curve: &Curve<'_>) -> Drawn {
        let places = curve.points(chart.x, chart.y).flatten().map(|p| on_sheet(area, p));
        if curve.len() <= MOST_POINTS {
            let places: Vec<Dot> = places.collect();
            for (x, y) in places {
                self.mark(nth, i32::from(x), i32::from(y), 1.0)?;
            }
            return Ok(());
        }
        // At most one point is drawn per cell of a grid.
        let side = (f64::from(area.width) * f64::from(area.height) / MOST_POINTS as f64).sqrt().max(1.0);
        let square = |(x, y): Dot| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "places of a sheet are small")]
            let of = |z: u16| (f64::from(z) / side) as usize;
            (of(x), of(y))
        };
        let mut seen = std::collections::HashSet::new();
        let places: Vec<Dot> = places.filter(|dot| seen.insert(square(*dot))).collect();
        for (x, y) in places {
            self.mark(nth, i32::from(x), i32::from(y), 0.7)?;
        }
        Ok(())
    }

    fn tiles(&mut self, plan: &Plan<'_>, tiles: &Tiles<'_>) -> Drawn {
        let image = matches!(tiles.content, Tiled::Image(..));
        let heat = match &tiles.content {
            Tiled::Heat(_, range) if range.low <= range.high => Some(*range),
            _ => None,
        };
        let side = heat.map(|range| Axis::new(range, false).ticks(5));
        let bar = side.as_ref().map_or(0, |ticks| {
            let labels = ticks.ticks.iter().map(|t| self.wide(&t.label, SMALL)).max().unwrap_or(0);
            labels + self.px(44)
        });
        let last = tiles.rows.saturating_sub(1).to_string();
        let rows = if image { 0 } else { self.wide(&last, SMALL) + self.px(8) };
        let left = self.px(MARGIN) + rows + if plan.ylabel.is_empty() { 0 } else { self.px(TEXT + 8) };
        let top = self.head(plan, &[], left)? + self.px(4);
        let caption = tiles.caption();
        let under = [!image, !plan.xlabel.is_empty(), caption.is_some()].iter().filter(|p| **p).count();
        let under = self.px(MARGIN) + self.px(TEXT + 8) * i32::try_from(under).unwrap_or(3);
        let room = (
            (self.width - left - self.px(MARGIN) - bar).max(self.px(10)),
            (self.height - top - under).max(self.px(10)),
        );
        let (width, height) = shape(tiles, room, self.parts);
        let area = Area { left: left + (room.0 - width) / 2, top: top + (room.1 - height) / 2, width, height };
        let floor = area.top + height;
        match &tiles.content {
            _ if tiles.is_empty() => {
                let middle = (area.left + width / 2, area.top + height / 2);
                self.text("nothing to draw", TEXT, middle, (HPos::Center, VPos::Center), false)?;
            }
            Tiled::Dots(..) => self.dots(area, tiles)?,
            _ => self.colors(area, tiles)?,
        }
        if !image {
            self.border(area)?;
            for tick in tiles::ticks(tiles.rows, usize::try_from(height / self.px(24)).unwrap_or(1).clamp(1, 14)) {
                let at = (area.left - self.px(6), area.top + along(tick.at, height));
                self.text(&tick.label, SMALL, at, (HPos::Right, VPos::Center), false)?;
            }
            for tick in tiles::ticks(tiles.columns, usize::try_from(width / self.px(48)).unwrap_or(1).clamp(1, 16)) {
                let at = (area.left + along(tick.at, width), floor + self.px(6));
                self.text(&tick.label, SMALL, at, (HPos::Center, VPos::Top), false)?;
            }
        }
        let mut line = floor + if image { self.px(6) } else { self.px(TEXT + 10) };
        self.names(plan, area, line)?;
        if !plan.xlabel.is_empty() {
            line += self.px(TEXT + 6);
        }
        if let Some(caption) = caption {
            self.text(&caption, SMALL, (area.left + width / 2, line), (HPos::Center, VPos::Top), false)?;
        }
        if let (Some(range), Some(ticks)) = (heat, side) {
            let at = Area { left: area.left + width + self.px(16), width: self.px(14), ..area };
            let constant = if range.is_narrow() { Some(0.5) } else { None };
            self.color_bar(at, &ticks.ticks, constant)?;
            if let Some(offset) = ticks.offset {
                let below = (at.left, floor + self.px(6));
                self.text(&format!("+ {offset}"), SMALL, below, (HPos::Left, VPos::Top), false)?;
            }
        }
        Ok(())
    }

    fn color_bar(&mut self, area: Area, ticks: &[Tick], constant: Option<f64>) -> Drawn {
        const STEPS: i32 = 64;
        for k in 0..STEPS {
            let (from, to) = (area.height * k / STEPS, area.height * (k + 1) / STEPS);
            let [r, g, b] = tiles::heat(constant.unwrap_or(f64::from(k) / f64::from(STEPS - 1)));
            let top = area.top + area.height - to;
            self.rect(area.left, top, area.width, to - from, &RGBColor(r, g, b).filled())?;
        }
        self.border(area)?;
        for tick in ticks {
            let at = (area.left + area.width + self.px(6), area.top + area.height - along(tick.at, area.height));
            self.text(&tick.label, SMALL, at, (HPos::Left, VPos::Center), false)?;
        }
        Ok(())
    }

    fn colors(&mut self, area: Area, tiles: &Tiles<'_>) -> Drawn {
        let side = |n: i32| usize::try_from(n).unwrap_or(1).max(1);
        if tiles.rows.saturating_mul(tiles.columns) <= MOST_TILES {
            let count = |n: u64| usize::try_from(n).unwrap_or(1);
            let (rows, columns) = (count(tiles.rows), count(tiles.columns));
            let colors = tiles.sampled(rows, columns);
            let part = |k: usize, of: usize, all: i32| i32::try_from(k * side(all) / of.max(1)).unwrap_or(0);
            for (at, color) in colors.iter().enumerate() {
                let Some([r, g, b]) = color else { continue };
                let (i, j) = (at / columns, at % columns);
                let (left, right) = (part(j, columns, area.width), part(j + 1, columns, area.width));
                let (top, bottom) = (part(i, rows, area.height), part(i + 1, rows, area.height));
                let style = RGBColor(*r, *g, *b).filled();
                self.rect(area.left + left, area.top + top, right - left, bottom - top, &style)?;
            }
            return Ok(());
        }
        // Two samples per pixel suit screens of twice the resolution.
        let among =
            |all: i32, of: u64| side(all * 2 / i32::from(self.parts)).min(usize::try_from(of).unwrap_or(usize::MAX));
        let (rows, columns) = (among(area.height, tiles.rows), among(area.width, tiles.columns));
        let paper = [PAPER.0, PAPER.1, PAPER.2];
        let pixels = tiles.sampled(rows, columns).into_iter().flat_map(|c| c.unwrap_or(paper)).collect();
        let place = |n: i32| u32::try_from(n).unwrap_or(0);
        let count = |n: usize| u32::try_from(n).unwrap_or(1);
        self.pictures.push(Picture {
            at: (place(area.left), place(area.top)),
            size: (place(area.width), place(area.height)),
            columns: count(columns),
            rows: count(rows),
            pixels,
        });
        Ok(())
    }

    fn dots(&mut self, area: Area, tiles: &Tiles<'_>) -> Drawn {
        let count = |n: u64| usize::try_from(n.clamp(1, MOST_DOTS)).unwrap_or(1);
        let (rows, columns) = (count(tiles.rows), count(tiles.columns));
        let mut there = vec![false; rows * columns];
        tiles.dots(rows, columns, &mut |i, j| {
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
            let gap = if right - left > self.px(4) { self.px(1) } else { 0 };
            let style = color(0).filled();
            self.rect(
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

    fn rect(&mut self, left: i32, top: i32, width: i32, height: i32, style: &ShapeStyle) -> Drawn {
        let (right, bottom) = (left + width.max(1), top + height.max(1));
        self.backend.draw_rect((left, top), (right, bottom), style, true).map_err(|e| e.to_string())
    }

    fn border(&mut self, area: Area) -> Drawn {
        let Area { left, top, width, height } = area;
        let thin = self.px(1).max(1);
        let style = INK.filled();
        self.rect(left - thin, top - thin, width + 2 * thin, thin, &style)?;
        self.rect(left - thin, top + height, width + 2 * thin, thin, &style)?;
        self.rect(left - thin, top, thin, height, &style)?;
        self.rect(left + width, top, thin, height, &style)
    }

    fn path(&mut self, corners: &[(i32, i32)], color: RGBColor) -> Drawn {
        let width = u32::from(self.parts) * 3 / 2 + u32::from(self.parts == 1);
        let style = color.stroke_width(width);
        if self.vectors {
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
    fn mark(&mut self, nth: usize, x: i32, y: i32, size: f64) -> Drawn {
        #[expect(clippy::cast_possible_truncation, reason = "a mark is small")]
        let radius = ((f64::from(self.px(3)) * size).round() as i32).max(1);
        let style = color(nth).mix(0.75).filled();
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

    fn style(&self, size: i32) -> TextStyle<'static> {
        let font = ("sans-serif", self.px(size)).into_font();
        TextStyle::from(font).color(&INK)
    }

    fn text(&mut self, text: &str, size: i32, at: (i32, i32), (across, down): (HPos, VPos), upwards: bool) -> Drawn {
        let mut style = self.style(size).pos(Pos::new(across, down));
        // The raster backend draws letters above the requested position, by a fraction of their
        // size.
        let lower = if self.vectors { 0 } else { self.px(size) / 5 };
        let at = if upwards { (at.0 + lower, at.1) } else { (at.0, at.1 + lower) };
        if upwards {
            style = style.transform(FontTransform::Rotate270);
        }
        self.backend.draw_text(text, &style, at).map_err(|e| e.to_string())
    }

    fn wide(&self, text: &str, size: i32) -> i32 {
        let size = self.backend.estimate_text_size(text, &self.style(size));
        size.map_or(0, |(width, _)| i32::try_from(width).unwrap_or(i32::MAX))
    }

    /// Cuts a text to the available width, with an ellipsis.
    fn fitting(&self, text: &str, size: i32, room: i32) -> String {
        let mut short = text.to_owned();
        while self.wide(&short, size) > room && short.pop().is_some() {
            if short.pop().is_some() {
                short.push('…');
            }
        }
        short
    }
}

fn color(nth: usize) -> RGBColor {
    COLORS.get(nth % COLORS.len()).copied().unwrap_or(INK)
}

/// Returns a fraction of a length.
fn along(at: f64, length: i32) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a length of a sheet")]
    let along = (at.clamp(-1.0, 2.0) * f64::from(length)).round() as i32;
    along
}

fn on_sheet(area: Area, (x, y): (f64, f64)) -> Dot {
    let place = |n: i32| u16::try_from(n.max(0)).unwrap_or(u16::MAX);
    (place(area.left + along(x, area.width)), place(area.top + area.height - along(y, area.height)))
}

/// Returns the width and height of tiles in the available space: nearly square for a heat map,
/// exactly square for images and dots.
fn shape(tiles: &Tiles<'_>, (width, height): (i32, i32), parts: u16) -> (i32, i32) {
    if tiles.is_empty() {
        return (width, height);
    }
    let (rows, columns) = (tiles.rows as f64, tiles.columns as f64);
    let (down, across) = (f64::from(height) / rows, f64::from(width) / columns);
    // Thin tiles of a heat map are widened.
    let thin = down.min(across) < f64::from(THIN * i32::from(parts));
    let most = if thin && matches!(tiles.content, Tiled::Heat(..)) { 3.0 } else { 1.0 };
    let (down, across) = (down.min(across * most), across.min(down * most));
    #[expect(clippy::cast_possible_truncation, reason = "no more than the room")]
    let size = |each: f64, count: f64| (each * count).round().max(1.0) as i32;
    (size(across, columns).min(width), size(down, rows).min(height))
}
