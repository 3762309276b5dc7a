//! **Character raster** with colours, and its conversion to text with escape sequences.

use std::fmt::Write as _;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Style};
use ratatui_core::text::Span;
use ratatui_core::widgets::Widget as _;
use ratatui_widgets::canvas::{Canvas, Painter, Shape};

use super::tile_grid;

/// The colours that a terminal supports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColorDepth {
    None,
    /// The 256 colours of most terminals.
    Indexed,
    /// 24-bit colours.
    Full,
}

/// The size and colours of the screen for a plot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlotScreen {
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) depth: ColorDepth,
}

/// A rectangle of a page: column and line of its upper left corner, columns, lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellArea {
    pub(super) left: u16,
    pub(super) top: u16,
    pub(super) width: u16,
    pub(super) height: u16,
}

/// A raster of characters.
pub(super) struct CharacterRaster {
    buffer: Buffer,
    depth: ColorDepth,
}

impl CharacterRaster {
    pub(super) fn new(width: u16, height: u16, depth: ColorDepth) -> Self {
        Self { buffer: Buffer::empty(Rect::new(0, 0, width, height)), depth }
    }

    pub(super) fn width(&self) -> u16 {
        self.buffer.area.width
    }

    /// Sets a character.
    pub(super) fn set_char(&mut self, x: u16, y: u16, c: char, color: Option<Color>) {
        if let Some(cell) = self.buffer.cell_mut((x, y)) {
            cell.set_char(c).set_fg(color.unwrap_or(Color::Reset)).set_bg(Color::Reset);
        }
    }

    /// Shows two colours in one cell, one above the other.
    pub(super) fn set_half_blocks(
        &mut self,
        x: u16,
        y: u16,
        above: Option<tile_grid::Rgb>,
        below: Option<tile_grid::Rgb>,
    ) {
        let color = |[r, g, b]: tile_grid::Rgb| Color::Rgb(r, g, b);
        let Some(cell) = self.buffer.cell_mut((x, y)) else { return };
        match (above, below) {
            (None, None) => {}
            (Some(a), None) => drop(cell.set_char('▀').set_fg(color(a))),
            (None, Some(b)) => drop(cell.set_char('▄').set_fg(color(b))),
            (Some(a), Some(b)) => drop(cell.set_char('▀').set_fg(color(a)).set_bg(color(b))),
        }
    }

    /// Writes text from a column on, in at most `most` columns.
    pub(super) fn write_text(&mut self, x: u16, y: u16, text: &str, most: u16, color: Option<Color>) {
        if y < self.buffer.area.height && x < self.buffer.area.width {
            let style = color.map_or_else(Style::default, |c| Style::default().fg(c));
            self.buffer.set_stringn(x, y, truncate_text(text, most), usize::from(most), style);
        }
    }

    /// Writes text centred at a column, inside the page.
    pub(super) fn write_centered(&mut self, middle: u16, y: u16, text: &str) {
        let text = truncate_text(text, self.width());
        let width = text_columns(&text);
        let left = middle.saturating_sub(width / 2).min(self.width().saturating_sub(width));
        self.write_text(left, y, &text, width, None);
    }

    /// Paints Braille dots, two by four per character.
    pub(super) fn paint_dots(&mut self, area: CellArea, shape: &DotPainter<'_>, color: Option<Color>) {
        let shape = DotShape { shape, color: color.unwrap_or(Color::Reset) };
        let rect = Rect::new(area.left, area.top, area.width, area.height);
        Canvas::default().paint(|context| context.draw(&shape)).render(rect, &mut self.buffer);
    }

    /// Returns the lines without trailing blanks.
    pub(super) fn to_text(&self) -> String {
        let mut out = String::new();
        for y in 0..self.buffer.area.height {
            let cells: Vec<_> = (0..self.buffer.area.width).filter_map(|x| self.buffer.cell((x, y))).collect();
            let blank = |c: &&ratatui_core::buffer::Cell| c.symbol() == " " && c.bg == Color::Reset;
            let end = cells.iter().rposition(|c| !blank(c)).map_or(0, |at| at + 1);
            let mut now = (Color::Reset, Color::Reset);
            let mut skip = 0;
            for cell in cells.iter().take(end) {
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                let wanted = if cell.symbol() == " " { (now.0, cell.bg) } else { (cell.fg, cell.bg) };
                self.change_colors(&mut out, &mut now, wanted);
                out.push_str(cell.symbol());
                // A wide character takes the cells after it.
                skip = text_columns(cell.symbol()).saturating_sub(1);
            }
            self.change_colors(&mut out, &mut now, (Color::Reset, Color::Reset));
            out.push('\n');
        }
        out
    }

    /// Writes the escape sequences that change to the wanted colours.
    fn change_colors(&self, out: &mut String, now: &mut (Color, Color), wanted: (Color, Color)) {
        if self.depth == ColorDepth::None || *now == wanted {
            return;
        }
        if wanted == (Color::Reset, Color::Reset) {
            out.push_str("\x1b[0m");
        } else {
            for (color, was, kind) in [(wanted.0, now.0, 38), (wanted.1, now.1, 48)] {
                if color == was {
                    continue;
                }
                let _ = match (color, self.depth) {
                    (Color::Indexed(n), _) => write!(out, "\x1b[{kind};5;{n}m"),
                    (Color::Rgb(r, g, b), ColorDepth::Full) => write!(out, "\x1b[{kind};2;{r};{g};{b}m"),
                    (Color::Rgb(r, g, b), _) => write!(out, "\x1b[{kind};5;{}m", nearest_indexed_color(r, g, b)),
                    _ => write!(out, "\x1b[{}m", kind + 1),
                };
            }
        }
        *now = wanted;
    }
}

/// Returns the nearest of the 256 colours: a cube of six levels, and greys.
fn nearest_indexed_color(r: u8, g: u8, b: u8) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let level = |x: u8| {
        let far = |n: &u8| LEVELS.get(usize::from(*n)).map_or(u8::MAX, |level| level.abs_diff(x));
        (0..6u8).min_by_key(far).unwrap_or(0)
    };
    let distance = |[x, y, z]: [u8; 3]| {
        [r.abs_diff(x), g.abs_diff(y), b.abs_diff(z)].iter().map(|d| u32::from(*d) * u32::from(*d)).sum::<u32>()
    };
    let [i, j, k] = [level(r), level(g), level(b)];
    let cube = [i, j, k].map(|n| LEVELS.get(usize::from(n)).copied().unwrap_or(0));
    let mean = (u32::from(r) + u32::from(g) + u32::from(b)) / 3;
    let step = u8::try_from(mean.saturating_sub(3) / 10).unwrap_or(0).min(23);
    let grey = [8 + 10 * step; 3];
    if distance(grey) < distance(cube) { 232 + step } else { 16 + 36 * i + 6 * j + k }
}

/// Returns the number of columns of a text.
pub(super) fn text_columns(text: &str) -> u16 {
    u16::try_from(Span::raw(text).width()).unwrap_or(u16::MAX)
}

/// Cuts a text to `most` columns, with an ellipsis.
fn truncate_text(text: &str, most: u16) -> String {
    if text_columns(text) <= most {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if text_columns(&short) + 1 > most {
            short.pop();
            break;
        }
    }
    short.push('…');
    short
}

/// A function that calls its argument with each dot to paint.
type DotPainter<'a> = dyn Fn(&mut dyn FnMut(usize, usize)) + 'a;

struct DotShape<'a> {
    shape: &'a DotPainter<'a>,
    color: Color,
}

impl Shape for DotShape<'_> {
    fn draw(&self, painter: &mut Painter<'_, '_>) {
        (self.shape)(&mut |x, y| painter.paint(x, y, self.color));
    }
}
