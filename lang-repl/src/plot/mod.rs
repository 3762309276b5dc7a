//! **Plots.** `drawing_plan` turns a figure into a drawing plan with axes (`plot_axis`) and
//! histogram bins (`bins`). `text_plot` and `text_tiles` draw the plan as text on a `screen`;
//! `vector_drawing` and `plot_file` draw it to a file.
//!
//! Any data yields a plot: values that cannot be drawn are left out and reported. The work depends
//! on the amount of data, not on its values.

mod bins;
mod drawing_plan;
mod plot_axis;
mod plot_file;
mod screen;
mod text_plot;
mod text_tiles;
mod thinning;
mod tile_grid;
mod vector_drawing;

#[cfg(test)]
mod tests;

use std::path::Path;

use lang_core::base::Code;
use lang_core::resolve::forms::PlotOption;
use lang_core::runtime::{Figure, Refusal};

pub(crate) use plot_file::PlotFormat;
pub(crate) use screen::{ColorDepth, PlotScreen};

/// The default number of lines of a plot in a terminal.
pub(crate) const DEFAULT_LINES: u16 = 20;

/// The number of columns of a plot if the terminal's width is unknown.
pub(crate) const DEFAULT_COLUMNS: u16 = 80;

/// The valid widths and heights of a plot on a screen.
const SCREEN_RANGES: (std::ops::RangeInclusive<i64>, std::ops::RangeInclusive<i64>) = (30..=400, 8..=200);

/// Clamps a width to the valid range of a screen.
pub(crate) fn clamp_columns(wanted: usize) -> u16 {
    let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
    u16::try_from(wanted.clamp(*SCREEN_RANGES.0.start(), *SCREEN_RANGES.0.end())).unwrap_or(DEFAULT_COLUMNS)
}

/// Draws a figure as lines of text.
pub(crate) fn draw_text(figure: &Figure, mut screen: PlotScreen) -> Result<String, Refusal> {
    let plan = drawing_plan::plan_figure(figure).map_err(plot_refusal)?;
    if let Some(width) = side_option(figure, PlotOption::Width, &SCREEN_RANGES.0, "columns")? {
        screen.width = width;
    }
    if let Some(height) = side_option(figure, PlotOption::Height, &SCREEN_RANGES.1, "lines")? {
        screen.height = height;
    }
    Ok(text_plot::draw_text_plot(&plan, screen))
}

/// Draws a figure as the bytes of a file. Also returns remarks about the omitted parts.
pub(crate) fn draw_file(figure: &Figure, format: PlotFormat) -> Result<(Vec<u8>, Vec<String>), Refusal> {
    let plan = drawing_plan::plan_figure(figure).map_err(plot_refusal)?;
    let width = side_option(figure, PlotOption::Width, &plot_file::SIDE_RANGE, "pixels")?;
    let height = side_option(figure, PlotOption::Height, &plot_file::SIDE_RANGE, "pixels")?;
    let bytes = plot_file::draw_plan(&plan, format, (width, height)).map_err(|why| Refusal::new(Code::E0514, why))?;
    let without = (format == PlotFormat::Png).then(|| plot_file::missing_glyphs(&plan)).flatten();
    let mut notes = plan.notes;
    notes.extend(without);
    Ok((bytes, notes))
}

/// Returns the format for the extension of a file name.
pub(crate) fn file_format(path: &Path, file: &str) -> Result<PlotFormat, Refusal> {
    PlotFormat::from_path(path).ok_or_else(|| {
        let message = format!("`{}` is not a plot file", drawing_plan::sanitise(file));
        plot_refusal((message, "save a plot as .svg or .png"))
    })
}

fn side_option(
    figure: &Figure,
    option: PlotOption,
    range: &std::ops::RangeInclusive<i64>,
    unit: &str,
) -> Result<Option<u16>, Refusal> {
    let Some(n) = figure.integer_option(option) else { return Ok(None) };
    match u16::try_from(n).ok().filter(|_| range.contains(&n)) {
        Some(n) => Ok(Some(n)),
        None => {
            let mut why = Refusal::new(Code::E0514, format!("a plot cannot have a {} of {n} {unit}", option.name()));
            why.help = Some(format!("`{}:` must be a number from {} to {}", option.name(), range.start(), range.end()));
            Err(why)
        }
    }
}

fn plot_refusal((message, help): (String, &'static str)) -> Refusal {
    let mut refusal = Refusal::new(Code::E0514, message);
    refusal.help = Some(help.to_owned());
    refusal
}
