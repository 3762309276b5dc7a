//! **Plots.** `plan` turns a figure into a drawing plan with axes (`scale`) and histogram bins
//! (`bins`). `terminal` and `mosaic` draw the plan as text on a `screen`; `sheet` and `picture`
//! draw it to a file.
//!
//! Any data yields a plot: values that cannot be drawn are left out and reported. The work depends
//! on the amount of data, not on its values.

mod bins;
mod mosaic;
mod picture;
mod plan;
mod scale;
mod screen;
mod sheet;
mod terminal;
mod thin;
mod tiles;

#[cfg(test)]
mod tests;

use std::path::Path;

use lang_core::base::Code;
use lang_core::resolve::forms::PlotOption;
use lang_core::runtime::{Figure, Refusal};

pub(crate) use picture::Format;
pub(crate) use screen::{Depth, Screen};

/// The lines of a plot in a terminal.
pub(crate) const LINES: u16 = 20;

/// The columns of a plot if the terminal's width is unknown.
pub(crate) const COLUMNS: u16 = 80;

/// The valid widths and heights of a plot on a screen.
const SCREEN: (std::ops::RangeInclusive<i64>, std::ops::RangeInclusive<i64>) = (30..=400, 8..=200);

/// Clamps a width to the valid range of a screen.
pub(crate) fn columns(wanted: usize) -> u16 {
    let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
    u16::try_from(wanted.clamp(*SCREEN.0.start(), *SCREEN.0.end())).unwrap_or(COLUMNS)
}

/// Draws a figure as lines of text.
pub(crate) fn shown(figure: &Figure, mut screen: Screen) -> Result<String, Refusal> {
    let plan = plan::plan(figure).map_err(refused)?;
    if let Some(width) = side(figure, PlotOption::Width, &SCREEN.0, "columns")? {
        screen.width = width;
    }
    if let Some(height) = side(figure, PlotOption::Height, &SCREEN.1, "lines")? {
        screen.height = height;
    }
    Ok(terminal::draw(&plan, screen))
}

/// Draws a figure as the bytes of a file. Also returns remarks about the omitted parts.
pub(crate) fn file(figure: &Figure, format: Format) -> Result<(Vec<u8>, Vec<String>), Refusal> {
    let plan = plan::plan(figure).map_err(refused)?;
    let width = side(figure, PlotOption::Width, &picture::SIDES, "pixels")?;
    let height = side(figure, PlotOption::Height, &picture::SIDES, "pixels")?;
    let bytes = picture::draw(&plan, format, (width, height)).map_err(|why| Refusal::new(Code::E0514, why))?;
    let without = (format == Format::Png).then(|| picture::without_letters(&plan)).flatten();
    let mut notes = plan.notes;
    notes.extend(without);
    Ok((bytes, notes))
}

/// Returns the format for the extension of a file name.
pub(crate) fn format(path: &Path, file: &str) -> Result<Format, Refusal> {
    Format::of(path).ok_or_else(|| {
        let message = format!("`{}` is no file for a plot", plan::clean(file));
        refused((message, "a plot is written as .svg or .png"))
    })
}

fn side(
    figure: &Figure,
    option: PlotOption,
    range: &std::ops::RangeInclusive<i64>,
    unit: &str,
) -> Result<Option<u16>, Refusal> {
    let Some(n) = figure.integer_option(option) else { return Ok(None) };
    match u16::try_from(n).ok().filter(|_| range.contains(&n)) {
        Some(n) => Ok(Some(n)),
        None => {
            let mut why = Refusal::new(Code::E0514, format!("a plot has no {} of {n} {unit}", option.name()));
            why.help = Some(format!("`{}:` is a number from {} to {}", option.name(), range.start(), range.end()));
            Err(why)
        }
    }
}

fn refused((message, help): (String, &'static str)) -> Refusal {
    let mut refusal = Refusal::new(Code::E0514, message);
    refusal.help = Some(help.to_owned());
    refusal
}
