//! **Plots as text**: axes of line characters, curves of Braille dots, bars of eighth blocks.
//! Series differ in markers and dashes; colour is added if the terminal supports it.

use ratatui_core::style::Color;

use super::plan::{Body, Chart, Curve, Plan, Series, Shape};
use super::scale::{Tick, Ticks};
use super::screen::{Area, Depth, Page, Screen, columns};
use super::{mosaic, thin};

/// The markers of points, in the order of the series.
const MARKS: [char; 6] = ['•', '×', '+', 'o', '◆', '#'];

/// The dash patterns of lines, in dots on and off, in the order of the series.
const DASHES: [&[usize]; 5] = [&[1], &[5, 3], &[1, 2], &[6, 2, 1, 3], &[10, 4]];

/// The fill characters of bars, in the order of the series.
const FILLS: [char; 4] = ['█', '▒', '░', '▓'];

/// Palette colours that are readable on dark and on light backgrounds.
const COLORS: [u8; 6] = [6, 3, 5, 2, 1, 4];

/// The most points drawn as markers in a plot of one series; more are drawn as dots.
const MOST_MARKS: usize = 150;

/// Draws a plot as lines of text.
pub(crate) fn draw(plan: &Plan<'_>, screen: Screen) -> String {
    if plan.body.is_empty() {
        return String::from("nothing to plot\n") + &notes(plan);
    }
    let text = match &plan.body {
        Body::Chart(chart) => self::chart(plan, chart, screen),
        Body::Tiles(tiles) => mosaic::draw(plan, tiles, screen),
    };
    text + &notes(plan)
}

fn notes(plan: &Plan<'_>) -> String {
    plan.notes.iter().map(|note| format!("note: {note}\n")).collect()
}

/// Returns the colour of a series.
fn color(nth: usize) -> Option<Color> {
    COLORS.get(nth % COLORS.len()).map(|n| Color::Indexed(*n))
}

fn chart(plan: &Plan<'_>, chart: &Chart<'_>, screen: Screen) -> String {
    let entries = legend(&chart.series);
    let title = u16::from(!plan.title.is_empty());
    let below = 2 + u16::from(!plan.xlabel.is_empty());
    // The height of the plot depends on the lines of the legend, which do not depend on the plot.
    let lines = wrapped(&entries, screen.width.saturating_sub(10));
    let named = u16::from(!plan.ylabel.is_empty());
    let legend_lines = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(6);
    let above = title + named + legend_lines;
    let rows = screen.height.saturating_sub(above + below).max(4);
    let y_ticks = chart.y.ticks(usize::from(rows / 2).clamp(2, 8));
    let gutter = y_ticks.ticks.iter().map(|t| columns(&t.label)).max().unwrap_or(0).min(24) + 1;
    let width = screen.width.saturating_sub(gutter + 1).max(10);
    let x_ticks = chart.x.ticks(usize::from(width / 10).clamp(2, 10));

    let mut page = Page::new(screen.width.max(gutter + 1 + width), above + rows + below, screen.depth);
    let area = Area { left: gutter + 1, top: above, width, height: rows };
    page.center(area.left + width / 2, 0, &plan.title);
    if !plan.ylabel.is_empty() {
        page.write(0, title, &plan.ylabel, screen.width, None);
    }
    for (nth, line) in (0..legend_lines).zip(&lines) {
        let mut left = area.left;
        for (series, mark, label) in line {
            page.write(left, title + named + nth, mark, 8, color(*series));
            left = left.saturating_add(columns(mark) + 1);
            page.write(left, title + named + nth, label, screen.width.saturating_sub(left), None);
            left = left.saturating_add(columns(label) + 3);
        }
    }
    frame(&mut page, area, &x_ticks, &y_ticks);
    if !plan.xlabel.is_empty() {
        page.center(area.left + width / 2, above + rows + 2, &plan.xlabel);
    }
    series(&mut page, area, chart);
    page.text()
}

/// Draws the axes with their ticks, left of the area and below it.
fn frame(page: &mut Page, area: Area, x: &Ticks, y: &Ticks) {
    let Area { left, top, width, height } = area;
    let (axis, floor) = (left - 1, top + height);
    for row in top..floor {
        page.put(axis, row, '│', None);
    }
    page.put(axis, floor, '└', None);
    for column in left..left + width {
        page.put(column, floor, '─', None);
    }
    for tick in &y.ticks {
        let row = top + cell(1.0 - tick.at, height, 4);
        page.put(axis, row, '┤', None);
        page.write(axis.saturating_sub(columns(&tick.label)), row, &tick.label, axis, None);
    }
    below(page, area, floor, &x.ticks, Some('┬'));
    // The offset of the labels is shown at the end of each axis.
    if let Some(offset) = &y.offset {
        page.write(left, top, &format!("+ {offset}"), width, None);
    }
    if let Some(offset) = &x.offset {
        let text = format!("+ {offset}");
        page.write((left + width).saturating_sub(columns(&text)), floor - 1, &text, width, None);
    }
}

/// Draws the ticks of a horizontal axis, and those labels that fit into the line below it.
pub(super) fn below(page: &mut Page, area: Area, floor: u16, ticks: &[Tick], mark: Option<char>) {
    let mut free = 0;
    for tick in ticks {
        let column = area.left + cell(tick.at, area.width, 2);
        if let Some(mark) = mark {
            page.put(column, floor, mark, None);
        }
        let wide = columns(&tick.label);
        let start = column.saturating_sub(wide / 2).min(page.width().saturating_sub(wide));
        if start >= free {
            page.write(start, floor + 1, &tick.label, wide, None);
            free = start + wide + 2;
        }
    }
}

/// Returns the cell of a position from 0 to 1, among `count` cells of `parts` dots each.
pub(super) fn cell(at: f64, count: u16, parts: u16) -> u16 {
    dot(at, count, parts) / parts.max(1)
}

fn dot(at: f64, count: u16, parts: u16) -> u16 {
    let last = f64::from(count.saturating_mul(parts).saturating_sub(1));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped to a side of the page")]
    let dot = (at * last).round().clamp(0.0, last) as u16;
    dot
}

/// A legend entry: the number of the series, its sample, and its label.
type Entry = (usize, String, String);

fn legend(series: &[Series<'_>]) -> Vec<Entry> {
    let entry = |(nth, s): (usize, &Series<'_>)| {
        let mark = match &s.shape {
            Shape::Curve(curve) if curve.joined => dashes(nth),
            Shape::Curve(_) => MARKS.get(nth % MARKS.len()).map(char::to_string).unwrap_or_default(),
            Shape::Bars(_) => fill(nth).to_string().repeat(2),
        };
        (!s.label.is_empty()).then(|| (nth, mark, s.label.clone()))
    };
    series.iter().enumerate().filter_map(entry).collect()
}

/// Returns the sample of a dash pattern as text.
fn dashes(nth: usize) -> String {
    let pattern = DASHES.get(nth % DASHES.len()).copied().unwrap_or(&[1]);
    let on: Vec<bool> = (0..12).map(|at| thin::is_on(pattern, at)).collect();
    let (pairs, _) = on.as_chunks::<2>();
    let braille = |[left, right]: &[bool; 2]| match (left, right) {
        (true, true) => '⠤',
        (true, false) => '⠄',
        (false, true) => '⠠',
        (false, false) => ' ',
    };
    pairs.iter().map(braille).collect::<String>().trim_end().to_owned()
}

fn fill(nth: usize) -> char {
    FILLS.get(nth % FILLS.len()).copied().unwrap_or('█')
}

/// Wraps the legend into lines of at most `most` columns.
fn wrapped(entries: &[Entry], most: u16) -> Vec<Vec<Entry>> {
    let mut lines: Vec<Vec<Entry>> = Vec::new();
    let mut used = 0u16;
    for entry in entries {
        let wide = columns(&entry.1).saturating_add(columns(&entry.2)).saturating_add(4);
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

fn series(page: &mut Page, area: Area, chart: &Chart<'_>) {
    bars(page, area, chart);
    let alone = chart.series.len() == 1;
    for (nth, s) in chart.series.iter().enumerate() {
        let Shape::Curve(curve) = &s.shape else { continue };
        if curve.joined {
            let dash = DASHES.get(nth % DASHES.len()).copied().unwrap_or(&[1]);
            page.paint(area, &|paint| line(curve, chart, area, dash, paint), color(nth));
        } else if alone && curve.len() > MOST_MARKS {
            let dots = |paint: &mut dyn FnMut(usize, usize)| {
                for (x, y) in places(curve, chart, area, (2, 4)) {
                    paint(usize::from(x), usize::from(y));
                }
            };
            page.paint(area, &dots, color(nth));
        } else {
            let mark = MARKS.get(nth % MARKS.len()).copied().unwrap_or('•');
            for (x, y) in places(curve, chart, area, (2, 4)) {
                page.put(area.left + x / 2, area.top + y / 4, mark, color(nth));
            }
        }
    }
}

/// Returns the points of a curve in dots; `parts` is the number of dots per cell, across and down.
fn places<'a>(
    curve: &'a Curve<'_>,
    chart: &Chart<'_>,
    area: Area,
    parts: (u16, u16),
) -> impl Iterator<Item = (u16, u16)> + 'a {
    let points = curve.points(chart.x, chart.y).flatten();
    points.map(move |(x, y)| (dot(x, area.width, parts.0), dot(1.0 - y, area.height, parts.1)))
}

fn line(curve: &Curve<'_>, chart: &Chart<'_>, area: Area, dash: &[usize], paint: &mut dyn FnMut(usize, usize)) {
    let points = curve.points(chart.x, chart.y);
    let dots = points.map(|p| p.map(|(x, y)| (dot(x, area.width, 2), dot(1.0 - y, area.height, 4))));
    thin::strokes(dots, dash, paint);
}

/// Draws the columns of bars. If several series share a column, the shorter bar covers the longer
/// one.
fn bars(page: &mut Page, area: Area, chart: &Chart<'_>) {
    let foot = chart.foot();
    let width = usize::from(area.width);
    let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); width];
    for (nth, s) in chart.series.iter().enumerate() {
        let Shape::Bars(bars) = &s.shape else { continue };
        for (column, head) in thin::heads(bars, chart.x, chart.y, foot, width).into_iter().enumerate() {
            if let (Some(column), Some(head)) = (columns.get_mut(column), head) {
                column.push((nth, head));
            }
        }
    }
    for (column, mut heads) in (0..area.width).zip(columns) {
        heads.sort_by(|a, b| (b.1 - foot).abs().total_cmp(&(a.1 - foot).abs()));
        for (nth, head) in heads {
            bar(page, area, area.left + column, (foot, head), nth);
        }
    }
}

/// Draws one column of a bar.
fn bar(page: &mut Page, area: Area, column: u16, (foot, head): (f64, f64), nth: usize) {
    /// Lower eighth blocks.
    const EIGHTHS: [char; 8] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇'];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies in the page")]
    let eighths = |at: f64| (at * f64::from(area.height) * 8.0).round().clamp(0.0, f64::from(area.height) * 8.0) as u16;
    let (low, high) = (eighths(foot.min(head)), eighths(foot.max(head)));
    let solid = fill(nth) == '█';
    for row in 0..area.height {
        let bottom = row * 8;
        let (from, to) = (low.clamp(bottom, bottom + 8) - bottom, high.clamp(bottom, bottom + 8) - bottom);
        let c = match (from, to) {
            (from, to) if to <= from => continue,
            (0, 8) => fill(nth),
            // The head of a bar above its foot.
            (0, to) if solid => EIGHTHS.get(usize::from(to)).copied().unwrap_or('█'),
            (0, to) if to >= 4 => fill(nth),
            (0, _) => continue,
            // For a bar below its foot, only a few upper partial blocks exist.
            (from, 8) if solid && from >= 6 => '▔',
            (from, 8) if solid && from >= 3 => '▀',
            (from, _) if from <= 4 => fill(nth),
            _ => continue,
        };
        page.put(column, area.top + area.height - 1 - row, c, color(nth));
    }
}

/// Returns whether the screen has colours.
pub(super) fn is_colored(screen: Screen) -> bool {
    screen.depth != Depth::None
}
