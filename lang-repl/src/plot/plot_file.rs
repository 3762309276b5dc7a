//! **Plots as files.** Converts the drawing of `vector_drawing` to SVG, or to pixels and PNG. Equal
//! plots have identical bytes, because the only font is compiled into the program.

use std::path::Path;
use std::sync::OnceLock;

use ab_glyph::{Font as _, FontRef};
use plotters::backend::{BitMapBackend, DrawingBackend as _, SVGBackend};
use plotters::style::{FontStyle, register_font};

use super::drawing_plan::DrawingPlan;
use super::vector_drawing::{EmbeddedImage, VectorDrawing};

/// The valid sides of a picture, in pixels.
pub(super) const SIDE_RANGE: std::ops::RangeInclusive<i64> = 100..=4000;

/// The default sides.
const DEFAULT_WIDTH: u16 = 800;
const DEFAULT_HEIGHT: u16 = 500;

/// The number of units per pixel in SVG, whose lengths are integers.
const UNITS_PER_PIXEL: u16 = 4;

/// Supersampling: a pixel is the mean of up to this many samples across and down. The total number
/// of samples is limited.
const MAX_SUPERSAMPLING: u16 = 4;
const MOST_SAMPLES: usize = 24_000_000;

/// The formats, by file extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PlotFormat {
    Svg,
    Png,
}

impl PlotFormat {
    /// Returns the format for the extension of a file name.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            _ => None,
        }
    }
}

/// Returns the font. It is not inlined, because each copy of the function may embed the font again.
#[inline(never)]
fn font() -> &'static [u8] {
    dejavu::sans::regular()
}

/// Draws a plan as the bytes of a file.
pub(super) fn draw_plan(
    plan: &DrawingPlan<'_>,
    format: PlotFormat,
    sides: (Option<u16>, Option<u16>),
) -> Result<Vec<u8>, String> {
    static FONT: OnceLock<bool> = OnceLock::new();
    let known = FONT.get_or_init(|| register_font("sans-serif", FontStyle::Normal, font()).is_ok());
    if !known {
        return Err("cannot read the plot font".to_owned());
    }
    let (width, height) = (sides.0.unwrap_or(DEFAULT_WIDTH), sides.1.unwrap_or(DEFAULT_HEIGHT));
    match format {
        PlotFormat::Svg => draw_svg(plan, width, height),
        PlotFormat::Png => draw_png(plan, width, height),
    }
}

/// Returns a remark if the font lacks letters of the plan's texts. Only raster pictures depend on
/// it, because SVG names its font.
pub(super) fn missing_glyphs(plan: &DrawingPlan<'_>) -> Option<String> {
    let font = FontRef::try_from_slice(font()).ok()?;
    let mut lacking: Vec<char> = plan.texts().flat_map(str::chars).filter(|c| font.glyph_id(*c).0 == 0).collect();
    lacking.sort_unstable();
    lacking.dedup();
    let shown: String = lacking.iter().take(10).collect();
    let more = if lacking.len() > 10 { "…" } else { "" };
    (!lacking.is_empty()).then(|| {
        format!("the font has no glyphs for `{shown}{more}`, which are drawn as boxes; an .svg plot keeps its text")
    })
}

fn draw_svg(plan: &DrawingPlan<'_>, width: u16, height: u16) -> Result<Vec<u8>, String> {
    let mut text = String::new();
    let (wide, high) = (u32::from(width) * u32::from(UNITS_PER_PIXEL), u32::from(height) * u32::from(UNITS_PER_PIXEL));
    let pictures = {
        let mut backend = SVGBackend::with_string(&mut text, (wide, high));
        let mut sheet = VectorDrawing::new(&mut backend, UNITS_PER_PIXEL, (width, height), true);
        sheet.draw_plan(plan)?;
        let pictures = sheet.into_images();
        backend.present().map_err(|e| e.to_string())?;
        pictures
    };
    // The drawing is in parts of pixels, the picture in pixels.
    let head = format!("<svg width=\"{wide}\" height=\"{high}\"");
    let rest = text.strip_prefix(&head).unwrap_or(&text);
    let body = rest.trim_end().strip_suffix("</svg>").unwrap_or(rest);
    let mut out = format!("<svg width=\"{width}\" height=\"{height}\"{body}");
    for picture in pictures {
        let bytes = encode_png(&picture.pixels, picture.columns, picture.rows)?;
        let ((x, y), (w, h)) = (picture.position, picture.size);
        let data = encode_base64(&bytes);
        out.push_str(&format!(
            "<image x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" preserveAspectRatio=\"none\" \
             href=\"data:image/png;base64,{data}\"/>\n"
        ));
    }
    out.push_str("</svg>\n");
    Ok(out.into_bytes())
}

fn draw_png(plan: &DrawingPlan<'_>, width: u16, height: u16) -> Result<Vec<u8>, String> {
    let pixels = usize::from(width) * usize::from(height);
    let fits = |n: &u16| pixels * usize::from(*n) * usize::from(*n) <= MOST_SAMPLES;
    let samples = (1..=MAX_SUPERSAMPLING).rev().find(fits).unwrap_or(1);
    let (wide, high) = (usize::from(width) * usize::from(samples), usize::from(height) * usize::from(samples));
    let mut buffer = vec![u8::MAX; wide * high * 3];
    let pictures = {
        let size = (u32::from(width) * u32::from(samples), u32::from(height) * u32::from(samples));
        let mut backend = BitMapBackend::with_buffer(&mut buffer, size);
        let mut sheet = VectorDrawing::new(&mut backend, samples, (width, height), false);
        sheet.draw_plan(plan)?;
        let pictures = sheet.into_images();
        backend.present().map_err(|e| e.to_string())?;
        pictures
    };
    for picture in pictures {
        copy_image(&picture, &mut buffer, wide);
    }
    let means = downsample(&buffer, wide, usize::from(samples));
    encode_png(&means, u32::from(width), u32::from(height))
}

/// Returns the means of squares of `each` by `each` samples; a row has `wide` samples.
fn downsample(buffer: &[u8], wide: usize, each: usize) -> Vec<u8> {
    let mut means = Vec::with_capacity(buffer.len() / (each * each));
    let all = u32::try_from(each * each).unwrap_or(u32::MAX);
    for rows in buffer.chunks_exact(wide * each * 3) {
        let mut sums = vec![0u32; wide / each * 3];
        for row in rows.chunks_exact(wide * 3) {
            for (sums, samples) in sums.chunks_exact_mut(3).zip(row.chunks_exact(3 * each)) {
                for sample in samples.chunks_exact(3) {
                    sums.iter_mut().zip(sample).for_each(|(sum, x)| *sum += u32::from(*x));
                }
            }
        }
        means.extend(sums.iter().map(|sum| u8::try_from((sum + all / 2) / all).unwrap_or(u8::MAX)));
    }
    means
}

/// Copies an image onto the samples, scaled to its size there.
fn copy_image(picture: &EmbeddedImage, buffer: &mut [u8], wide: usize) {
    let side = |n: u32| usize::try_from(n).unwrap_or(0);
    let (columns, rows) = (side(picture.columns), side(picture.rows));
    let ((left, top), (width, height)) = (picture.position, picture.size);
    for y in 0..side(height) {
        for x in 0..side(width) {
            let from = (y * rows / side(height).max(1) * columns + x * columns / side(width).max(1)) * 3;
            let to = ((side(top) + y) * wide + side(left) + x) * 3;
            if let (Some(from), Some(to)) = (picture.pixels.get(from..from + 3), buffer.get_mut(to..to + 3)) {
                to.copy_from_slice(from);
            }
        }
    }
}

/// Encodes pixels of three bytes as PNG.
fn encode_png(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(pixels)?;
        writer.finish()
    });
    written.map_err(|e| format!("cannot encode the plot as an image: {e}"))?;
    Ok(out)
}

/// Encodes bytes in base 64.
fn encode_base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |k: usize| u32::from(three.get(k).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for k in 0..4 {
            let letter = usize::try_from(bits >> (18 - 6 * k) & 63).ok().and_then(|at| LETTERS.get(at));
            out.push(if k <= three.len() { letter.map_or('=', |l| char::from(*l)) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::encode_base64;

    #[test]
    fn letters() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(encode_base64(bytes), expected);
        check(b"", "");
        check(b"f", "Zg==");
        check(b"fo", "Zm8=");
        check(b"foo", "Zm9v");
        check(b"foobar", "Zm9vYmFy");
        check(&[0xff, 0xfe, 0xfd], "//79");
    }
}
