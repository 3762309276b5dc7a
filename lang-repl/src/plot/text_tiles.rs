//! **Tiles as text**: half blocks in colour, characters from light to dark without colours, and
//! Braille dots for relations.

use ratatui_core::style::Color;

use super::drawing_plan::DrawingPlan;
use super::screen::{CellArea, CharacterRaster, PlotScreen, text_columns};
use super::text_plot::{cell_at, draw_horizontal_ticks, is_colored};
use super::tile_grid::{self, TileContent, TileGrid};

/// The characters from dark to bright. A sample without numbers is blank.
const RAMP: [char; 9] = ['.', ':', '-', '=', '+', '*', '#', '%', '@'];

/// The columns of a heat map's colour scale.
const SCALE_COLUMNS: u16 = 27;

pub(super) fn draw_tiles(plan: &DrawingPlan<'_>, tiles: &TileGrid<'_>, screen: PlotScreen) -> String {
    let caption = tiles.caption();
    let title = u16::from(!plan.title.is_empty());
    let named = u16::from(!plan.ylabel.is_empty());
    let image = matches!(tiles.content, TileContent::Image(..));
    let scale = matches!(tiles.content, TileContent::Heat(..)) && !tiles.is_empty();
    let framed = u16::from(matches!(tiles.content, TileContent::Dots(..)));
    let ticks = u16::from(!image);
    let after = ticks + u16::from(!plan.xlabel.is_empty()) + u16::from(caption.is_some()) + u16::from(scale);
    let above = title + named;
    let height = screen.height.saturating_sub(above + after + 2 * framed).max(4);
    let last = tiles.rows.saturating_sub(1).to_string();
    let gutter = if image { 0 } else { text_columns(&last) + 1 };
    let width = screen.width.saturating_sub(gutter + 2 * framed).max(8);
    let (rows, cols) = tile_extent(tiles, height, width, is_colored(screen));
    let mut page = CharacterRaster::new(
        screen.width.max(gutter + 2 * framed + width),
        above + rows + 2 * framed + after,
        screen.depth,
    );
    let area = CellArea { left: gutter + framed, top: above + framed, width: cols, height: rows };
    let middle = area.left + cols / 2;
    page.write_centered(middle, 0, &plan.title);
    page.write_text(0, title, &plan.ylabel, screen.width, None);
    if framed > 0 {
        draw_frame(&mut page, area);
    }
    match &tiles.content {
        _ if tiles.is_empty() => page.write_centered(middle, area.top + rows / 2, "nothing to draw"),
        TileContent::Dots(..) => draw_dots(&mut page, area, tiles),
        _ if is_colored(screen) => draw_colors(&mut page, area, tiles),
        _ => draw_shades(&mut page, area, tiles),
    }
    let floor = area.top + rows + framed;
    if !image {
        for tick in tile_grid::tile_ticks(tiles.rows, usize::from(rows.div_ceil(2)).clamp(1, 10)) {
            let row = area.top + cell_at(dot_axis_position(tick.position, rows, 4), rows, 4);
            page.write_text(gutter.saturating_sub(1 + text_columns(&tick.label)), row, &tick.label, gutter, None);
        }
        let mut ticks = tile_grid::tile_ticks(tiles.columns, usize::from(cols / 6).clamp(1, 12));
        ticks.iter_mut().for_each(|tick| tick.position = dot_axis_position(tick.position, cols, 2));
        draw_horizontal_ticks(&mut page, area, floor - 1, &ticks, (framed > 0).then_some('┬'));
    }
    let mut line = floor + ticks;
    if !plan.xlabel.is_empty() {
        page.write_centered(middle, line, &plan.xlabel);
        line += 1;
    }
    if let Some(caption) = caption {
        page.write_text(area.left, line, &caption, screen.width.saturating_sub(area.left), None);
    }
    if let (TileContent::Heat(_, range), true) = (&tiles.content, scale) {
        draw_color_scale(&mut page, line, area.left, (range.low, range.high), is_colored(screen));
    }
    page.to_text()
}

/// Converts a position on tiles to one on an axis of dots. Tiles fill the axis from edge to edge;
/// the axis of dots ends in the middle of its first and last dots.
fn dot_axis_position(at: f64, cells: u16, parts: u16) -> f64 {
    let dots = f64::from(cells) * f64::from(parts);
    (at * dots).floor() / (dots - 1.0).max(1.0)
}

/// Returns the lines and columns of the tiles: a whole number per tile, nearly square, or all
/// available ones.
fn tile_extent(tiles: &TileGrid<'_>, height: u16, width: u16, colored: bool) -> (u16, u16) {
    if tiles.is_empty() {
        return (height.min(5), width.min(30));
    }
    // The samples per character, down and across, and the number across that makes a square.
    let (down, across, square) = match tiles.content {
        TileContent::Dots(..) => (4, 2, 1),
        _ if colored => (2, 1, 1),
        _ => (1, 1, 2),
    };
    let (high, wide) = (u64::from(height) * down, u64::from(width) * across);
    let (rows, columns) = (tiles.rows, tiles.columns);
    let (each_row, each_column) = (high / rows, wide / columns);
    let (used_high, used_wide) = if matches!(tiles.content, TileContent::Heat(..)) {
        // Thin tiles are widened, up to three times.
        let side = each_row.min(each_column / square).max(1);
        let size = |each: u64, count: u64, most: u64, room: u64| match each {
            0 => room,
            each => each.min(most) * count,
        };
        (size(each_row, rows, side.max(3), high), size(each_column, columns, (side * square).max(3), wide))
    } else {
        let side = each_row.min(each_column / square);
        match side {
            // The tiles exceed the space: they are scaled to it, with the aspect ratio kept.
            0 => {
                let wanted = u128::from(columns) * u128::from(high) * u128::from(square) / u128::from(rows);
                let wide_used = u64::try_from(wanted).unwrap_or(wide).min(wide);
                let wanted = u128::from(rows) * u128::from(wide_used) / (u128::from(columns) * u128::from(square));
                (u64::try_from(wanted).unwrap_or(high).min(high), wide_used)
            }
            side => (side * rows, side * square * columns),
        }
    };
    let cells = |dots: u64, each: u64, most: u16| u16::try_from(dots.div_ceil(each)).unwrap_or(most).clamp(1, most);
    (cells(used_high, down, height), cells(used_wide, across, width))
}

fn draw_frame(page: &mut CharacterRaster, area: CellArea) {
    let CellArea { left, top, width, height } = area;
    for x in left..left + width {
        page.set_char(x, top - 1, '─', None);
        page.set_char(x, top + height, '─', None);
    }
    for y in top..top + height {
        page.set_char(left - 1, y, '│', None);
        page.set_char(left + width, y, '│', None);
    }
    page.set_char(left - 1, top - 1, '┌', None);
    page.set_char(left + width, top - 1, '┐', None);
    page.set_char(left - 1, top + height, '└', None);
    page.set_char(left + width, top + height, '┘', None);
}

/// Paints a dot for every member. If tiles are larger than a dot, it fills its tile except for a
/// gap.
fn draw_dots(page: &mut CharacterRaster, area: CellArea, tiles: &TileGrid<'_>) {
    let (high, wide) = (usize::from(area.height) * 4, usize::from(area.width) * 2);
    let among = |dots: usize, of: u64| usize::try_from(of).map_or(dots, |of| of.min(dots)).max(1);
    let (rows, cols) = (among(high, tiles.rows), among(wide, tiles.columns));
    let size = (high / rows).min(wide / cols).max(1);
    let mark = if size > 2 { size - 1 } else { size };
    let shape = |paint: &mut dyn FnMut(usize, usize)| {
        tiles.for_each_dot(rows, cols, &mut |i, j| {
            for (y, x) in (0..mark).flat_map(|y| (0..mark).map(move |x| (y, x))) {
                paint(j * wide / cols + x, i * high / rows + y);
            }
        });
    };
    page.paint_dots(area, &shape, Some(Color::Indexed(6)));
}

fn draw_colors(page: &mut CharacterRaster, area: CellArea, tiles: &TileGrid<'_>) {
    let width = usize::from(area.width);
    let colors = tiles.sample_colors(usize::from(area.height) * 2, width);
    let at = |x: u16, y: u16| colors.get(usize::from(y) * width + usize::from(x)).copied().flatten();
    for (x, y) in (0..area.width).flat_map(|x| (0..area.height).map(move |y| (x, y))) {
        page.set_half_blocks(area.left + x, area.top + y, at(x, 2 * y), at(x, 2 * y + 1));
    }
}

fn draw_shades(page: &mut CharacterRaster, area: CellArea, tiles: &TileGrid<'_>) {
    let width = usize::from(area.width);
    let shades = tiles.sample_brightness(usize::from(area.height), width);
    for (x, y) in (0..area.width).flat_map(|x| (0..area.height).map(move |y| (x, y))) {
        if let Some(shade) = shades.get(usize::from(y) * width + usize::from(x)).copied().flatten() {
            page.set_char(area.left + x, area.top + y, shade_character(shade), None);
        }
    }
}

/// Returns the character for a brightness from 0 to 1.
fn shade_character(shade: f64) -> char {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies between 0 and 9")]
    let at = (shade.clamp(0.0, 1.0) * RAMP.len() as f64) as usize;
    RAMP.get(at.min(RAMP.len() - 1)).copied().unwrap_or('@')
}

/// Draws the colour scale of a heat map.
fn draw_color_scale(page: &mut CharacterRaster, line: u16, left: u16, (low, high): (f64, f64), colored: bool) {
    if low > high {
        return;
    }
    let from = tile_grid::short_number(low);
    page.write_text(left, line, &from, 20, None);
    let start = left + text_columns(&from) + 1;
    for k in 0..SCALE_COLUMNS {
        let shade = if low < high { f64::from(k) / f64::from(SCALE_COLUMNS - 1) } else { 0.5 };
        match colored {
            true => page.set_half_blocks(
                start + k,
                line,
                Some(tile_grid::heat_color(shade)),
                Some(tile_grid::heat_color(shade)),
            ),
            false => page.set_char(start + k, line, shade_character(shade), None),
        }
    }
    page.write_text(start + SCALE_COLUMNS + 1, line, &tile_grid::short_number(high), 20, None);
}
