//! **Plots as text**: axes of line characters, curves of Braille dots, bars of eighth blocks.
//! Series differ in markers and dashes; colour is added if the terminal supports it.

use ratatui_core::style::Color;

use super::drawing_plan::{Chart, Curve, DrawingPlan, PlotBody, Series, SeriesShape};
use super::plot_axis::{Tick, Ticks};
use super::screen::{CellArea, CharacterRaster, ColorDepth, PlotScreen, text_columns};
use super::{text_tiles, thinning};

/// The markers of points, in the order of the series.
const MARKERS: [char; 6] = ['•', '×', '+', 'o', '◆', '#'];

/// The dash patterns of lines, in dots on and off, in the order of the series.
const DASHES: [&[usize]; 5] = [&[1], &[5, 3], &[1, 2], &[6, 2, 1, 3], &[10, 4]];

/// The fill characters of bars, in the order of the series.
const FILLS: [char; 4] = ['█', '▒', '░', '▓'];

/// Palette colours that are readable on dark and on light backgrounds.
const COLORS: [u8; 6] = [6, 3, 5, 2, 1, 4];

/// The most points drawn as markers in a plot of one series; more are drawn as dots.
const MOST_MARKS: usize = 150;

/// Draws a plot as lines of text.
pub(crate) fn draw_text_plot(plan: &DrawingPlan<'_>, screen: PlotScreen) -> String {
    if plan.body.is_empty() {
        return String::from("nothing to plot\n") + &notes_text(plan);
    }
    let text = match &plan.body {
        PlotBody::Chart(chart) => draw_chart(plan, chart, screen),
        PlotBody::Tiles(tiles) => text_tiles::draw_tiles(plan, tiles, screen),
    };
    text + &notes_text(plan)
}

fn notes_text(plan: &DrawingPlan<'_>) -> String {
    plan.notes.iter().map(|note| format!("note: {note}\n")).collect()
}

/// Returns the colour of a series.
fn series_color(nth: usize) -> Option<Color> {
    COLORS.get(nth % COLORS.len()).map(|n| Color::Indexed(*n))
}

fn draw_chart(plan: &DrawingPlan<'_>, chart: &Chart<'_>, screen: PlotScreen) -> String {
    let entries = legend_entries(&chart.series);
    let title = u16::from(!plan.title.is_empty());
    let below = 2 + u16::from(!plan.xlabel.is_empty());
    // The height of the plot depends on the lines of the legend, which do not depend on the plot.
    let lines = wrap_legend(&entries, screen.width.saturating_sub(10));
    let named = u16::from(!plan.ylabel.is_empty());
    let legend_lines = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(6);
    let above = title + named + legend_lines;
    let rows = screen.height.saturating_sub(above + below).max(4);
    let y_ticks = chart.y.ticks(usize::from(rows / 2).clamp(2, 8));
    let gutter = y_ticks.ticks.iter().map(|t| text_columns(&t.label)).max().unwrap_or(0).min(24) + 1;
    let width = screen.width.saturating_sub(gutter + 1).max(10);
    let x_ticks = chart.x.ticks(usize::from(width / 10).clamp(2, 10));

    let mut page = CharacterRaster::new(screen.width.max(gutter + 1 + width), above + rows + below, screen.depth);
    let area = CellArea { left: gutter + 1, top: above, width, height: rows };
    page.write_centered(area.left + width / 2, 0, &plan.title);
    if !plan.ylabel.is_empty() {
        page.write_text(0, title, &plan.ylabel, screen.width, None);
    }
    for (nth, line) in (0..legend_lines).zip(&lines) {
        let mut left = area.left;
        for (series, mark, label) in line {
            page.write_text(left, title + named + nth, mark, 8, series_color(*series));
            left = left.saturating_add(text_columns(mark) + 1);
            page.write_text(left, title + named + nth, label, screen.width.saturating_sub(left), None);
            left = left.saturating_add(text_columns(label) + 3);
        }
    }
    draw_axes(&mut page, area, &x_ticks, &y_ticks);
    if !plan.xlabel.is_empty() {
        page.write_centered(area.left + width / 2, above + rows + 2, &plan.xlabel);
    }
    draw_series(&mut page, area, chart);
    page.to_text()
}

/// Draws the axes with their ticks, left of the area and below it.
fn draw_axes(page: &mut CharacterRaster, area: CellArea, x: &Ticks, y: &Ticks) {
    let CellArea { left, top, width, height } = area;
    let (axis, floor) = (left - 1, top + height);
    for row in top..floor {
        page.set_char(axis, row, '│', None);
    }
    page.set_char(axis, floor, '└', None);
    for column in left..left + width {
        page.set_char(column, floor, '─', None);
    }
    for tick in &y.ticks {
        let row = top + cell_at(1.0 - tick.position, height, 4);
        page.set_char(axis, row, '┤', None);
        page.write_text(axis.saturating_sub(text_columns(&tick.label)), row, &tick.label, axis, None);
    }
    draw_horizontal_ticks(page, area, floor, &x.ticks, Some('┬'));
    // The offset of the labels is shown at the end of each axis.
    if let Some(offset) = &y.offset {
        page.write_text(left, top, &format!("+ {offset}"), width, None);
    }
    if let Some(offset) = &x.offset {
        let text = format!("+ {offset}");
        page.write_text((left + width).saturating_sub(text_columns(&text)), floor - 1, &text, width, None);
    }
}

/// Draws the ticks of a horizontal axis, and those labels that fit into the line below it.
pub(super) fn draw_horizontal_ticks(
    page: &mut CharacterRaster,
    area: CellArea,
    floor: u16,
    ticks: &[Tick],
    mark: Option<char>,
) {
    let mut free = 0;
    for tick in ticks {
        let column = area.left + cell_at(tick.position, area.width, 2);
        if let Some(mark) = mark {
            page.set_char(column, floor, mark, None);
        }
        let wide = text_columns(&tick.label);
        let start = column.saturating_sub(wide / 2).min(page.width().saturating_sub(wide));
        if start >= free {
            page.write_text(start, floor + 1, &tick.label, wide, None);
            free = start + wide + 2;
        }
    }
}

/// Returns the cell of a position from 0 to 1, among `count` cells of `parts` dots each.
pub(super) fn cell_at(at: f64, count: u16, parts: u16) -> u16 {
    dot_at(at, count, parts) / parts.max(1)
}

fn dot_at(at: f64, count: u16, parts: u16) -> u16 {
    let last = f64::from(count.saturating_mul(parts).saturating_sub(1));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped to a side of the page")]
    let dot = (at * last).round().clamp(0.0, last) as u16;
    dot
}

/// A legend entry: the number of the series, its sample, and its label.
type LegendEntry = (usize, String, String);

fn legend_entries(series: &[Series<'_>]) -> Vec<LegendEntry> {
    let entry = |(nth, s): (usize, &Series<'_>)| {
        let mark = match &s.shape {
            SeriesShape::Curve(curve) if curve.is_joined => dash_sample(nth),
            SeriesShape::Curve(_) => MARKERS.get(nth % MARKERS.len()).map(char::to_string).unwrap_or_default(),
            SeriesShape::Bars(_) => fill_character(nth).to_string().repeat(2),
        };
        (!s.label.is_empty()).then(|| (nth, mark, s.label.clone()))
    };
    series.iter().enumerate().filter_map(entry).collect()
}

/// Returns the sample of a dash pattern as text.
fn dash_sample(nth: usize) -> String {
    let pattern = DASHES.get(nth % DASHES.len()).copied().unwrap_or(&[1]);
    let on: Vec<bool> = (0..12).map(|at| thinning::is_dash_on(pattern, at)).collect();
    let (pairs, _) = on.as_chunks::<2>();
    let braille = |[left, right]: &[bool; 2]| match (left, right) {
        (true, true) => '⠤',
        (true, false) => '⠄',
        (false, true) => '⠠',
        (false, false) => ' ',
    };
    pairs.iter().map(braille).collect::<String>().trim_end().to_owned()
}

fn fill_character(nth: usize) -> char {
    FILLS.get(nth % FILLS.len()).copied().unwrap_or('█')
}

/// Wraps the legend into lines of at most `most` columns.
fn wrap_legend(entries: &[LegendEntry], most: u16) -> Vec<Vec<LegendEntry>> {
    let mut lines: Vec<Vec<LegendEntry>> = Vec::new();
    let mut used = 0u16;
    for entry in entries {
        let wide = text_columns(&entry.1).saturating_add(text_columns(&entry.2)).saturating_add(4);
        match lines.last_mut() {
            Some(line) if used.saturating_add(wide) <= most => line.push(entry.clone()),
            _ => {
                lines.push(vec![entry.clone()]);
                used = 0;
            }
        }
        used = used.saturating_add(wide);
    }
    lines
}

fn draw_series(page: &mut CharacterRaster, area: CellArea, chart: &Chart<'_>) {
    draw_bars(page, area, chart);
    let alone = chart.series.len() == 1;
    for (nth, s) in chart.series.iter().enumerate() {
        let SeriesShape::Curve(curve) = &s.shape else { continue };
        if curve.is_joined {
            let dash = DASHES.get(nth % DASHES.len()).copied().unwrap_or(&[1]);
            page.paint_dots(area, &|paint| draw_line(curve, chart, area, dash, paint), series_color(nth));
        } else if alone && curve.len() > MOST_MARKS {
            let dots = |paint: &mut dyn FnMut(usize, usize)| {
                for (x, y) in point_dots(curve, chart, area, (2, 4)) {
                    paint(usize::from(x), usize::from(y));
                }
            };
            page.paint_dots(area, &dots, series_color(nth));
        } else {
            let mark = MARKERS.get(nth % MARKERS.len()).copied().unwrap_or('•');
            for (x, y) in point_dots(curve, chart, area, (2, 4)) {
                page.set_char(area.left + x / 2, area.top + y / 4, mark, series_color(nth));
            }
        }
    }
}

/// Returns the points of a curve in dots; `parts` is the number of dots per cell, across and down.
fn point_dots<'a>(
    curve: &'a Curve<'_>,
    chart: &Chart<'_>,
    area: CellArea,
    parts: (u16, u16),
) -> impl Iterator<Item = (u16, u16)> + 'a {
    let points = curve.points(chart.x, chart.y).flatten();
    points.map(move |(x, y)| (dot_at(x, area.width, parts.0), dot_at(1.0 - y, area.height, parts.1)))
}

fn draw_line(
    curve: &Curve<'_>,
    chart: &Chart<'_>,
    area: CellArea,
    dash: &[usize],
    paint: &mut dyn FnMut(usize, usize),
) {
    let points = curve.points(chart.x, chart.y);
    let dots = points.map(|p| p.map(|(x, y)| (dot_at(x, area.width, 2), dot_at(1.0 - y, area.height, 4))));
    thinning::paint_line(dots, dash, paint);
}

/// Draws the columns of bars. If several series share a column, the shorter bar covers the longer
/// one.
fn draw_bars(page: &mut CharacterRaster, area: CellArea, chart: &Chart<'_>) {
    let foot = chart.base_line();
    let width = usize::from(area.width);
    let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); width];
    for (nth, s) in chart.series.iter().enumerate() {
        let SeriesShape::Bars(bars) = &s.shape else { continue };
        for (column, head) in thinning::bar_heads(bars, chart.x, chart.y, foot, width).into_iter().enumerate() {
            if let (Some(column), Some(head)) = (columns.get_mut(column), head) {
                column.push((nth, head));
            }
        }
    }
    for (column, mut heads) in (0..area.width).zip(columns) {
        heads.sort_by(|a, b| (b.1 - foot).abs().total_cmp(&(a.1 - foot).abs()));
        for (nth, head) in heads {
            draw_bar_column(page, area, area.left + column, (foot, head), nth);
        }
    }
}

/// Draws one column of a bar.
fn draw_bar_column(page: &mut CharacterRaster, area: CellArea, column: u16, (foot, head): (f64, f64), nth: usize) {
    /// Lower eighth blocks.
    const EIGHTHS: [char; 8] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇'];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies in the page")]
    let eighths = |at: f64| (at * f64::from(area.height) * 8.0).round().clamp(0.0, f64::from(area.height) * 8.0) as u16;
    let (low, high) = (eighths(foot.min(head)), eighths(foot.max(head)));
    let solid = fill_character(nth) == '█';
    for row in 0..area.height {
        let bottom = row * 8;
        let (from, to) = (low.clamp(bottom, bottom + 8) - bottom, high.clamp(bottom, bottom + 8) - bottom);
        let c = match (from, to) {
            (from, to) if to <= from => continue,
            (0, 8) => fill_character(nth),
            // The head of a bar above its foot.
            (0, to) if solid => EIGHTHS.get(usize::from(to)).copied().unwrap_or('█'),
            (0, to) if to >= 4 => fill_character(nth),
            (0, _) => continue,
            // For a bar below its foot, only a few upper partial blocks exist.
            (from, 8) if solid && from >= 6 => '▔',
            (from, 8) if solid && from >= 3 => '▀',
            (from, _) if from <= 4 => fill_character(nth),
            _ => continue,
        };
        page.set_char(column, area.top + area.height - 1 - row, c, series_color(nth));
    }
}

/// Returns whether the screen has colours.
pub(super) fn is_colored(screen: PlotScreen) -> bool {
    screen.depth != ColorDepth::None
}
