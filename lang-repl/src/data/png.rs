//! **PNG images.** A grey image is `[h, w]` and a colour image `[h, w, 3]`: reals from 0 to 1, or
//! integers from 0 to 255. Written images have 8 bits per channel.

use std::io::Cursor;

use lang_core::runtime::{Array, Refusal, Value};
use png::{BitDepth, ColorType, Decoder, Encoder, Limits, Transformations};

use super::{MAX_BYTES, save_refusal, value_noun};

/// The most bytes that deflate produces from one byte.
const MAX_INFLATION: usize = 1040;

/// A decoded image without its transparency.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// The number of channels: 1 or 3.
    pub(crate) channels: usize,
    pub(crate) samples: Samples,
    /// Whether a pixel was not opaque.
    pub(crate) has_transparency: bool,
}

/// The samples, row by row from the top, with the channels of a pixel together.
#[derive(Debug)]
pub(crate) enum Samples {
    Bits8(Vec<u8>),
    Bits16(Vec<u16>),
}

/// Reads a PNG of any colour type.
pub(super) fn read(bytes: &[u8]) -> Result<Image, String> {
    let bad = |e: png::DecodingError| {
        let why = e.to_string();
        // The rest of the message is about the decoder.
        let why = why.split_once(" while decoding").map_or(why.as_str(), |(why, _)| why);
        format!("it is not a PNG image: {why}")
    };
    let bound = bytes.len().saturating_mul(MAX_INFLATION).min(MAX_BYTES);
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: bound });
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(bad)?;
    let (width, height) = reader.info().size();
    // Expansion turns one palette bit into at most 32 bits, and one grey bit into 8. A sample
    // becomes a number of eight bytes.
    let most = bound.saturating_mul(32).min(MAX_BYTES / 8);
    let size = reader.output_buffer_size().filter(|n| *n <= most);
    let size = size.ok_or_else(|| format!("{width} by {height} pixels cannot fit in {} bytes", bytes.len()))?;
    let mut pixels = vec![0; size];
    let info = reader.next_frame(&mut pixels).map_err(bad)?;
    pixels.truncate(info.buffer_size());
    let (channels, alpha) = match info.color_type {
        ColorType::Grayscale => (1, false),
        ColorType::GrayscaleAlpha => (1, true),
        ColorType::Rgb => (3, false),
        ColorType::Rgba => (3, true),
        ColorType::Indexed => return Err("unsupported palette".to_owned()),
    };
    let (samples, transparent) = match info.bit_depth {
        BitDepth::Eight => {
            let (samples, transparent) = drop_alpha(pixels, channels, alpha, u8::MAX);
            (Samples::Bits8(samples), transparent)
        }
        BitDepth::Sixteen => {
            let (pairs, _) = pixels.as_chunks::<2>();
            let wide = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
            let (samples, transparent) = drop_alpha(wide, channels, alpha, u16::MAX);
            (Samples::Bits16(samples), transparent)
        }
        _ => return Err("unsupported bit depth".to_owned()),
    };
    let side = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    Ok(Image { height: side(info.height), width: side(info.width), channels, samples, has_transparency: transparent })
}

/// Removes the alpha sample of each pixel, if `alpha` is true. Also returns whether a pixel was not
/// opaque.
fn drop_alpha<T: Copy + PartialEq>(samples: Vec<T>, channels: usize, alpha: bool, full: T) -> (Vec<T>, bool) {
    if !alpha {
        return (samples, false);
    }
    let pixels = || samples.chunks_exact(channels + 1).filter_map(<[T]>::split_last);
    let transparent = pixels().any(|(alpha, _)| *alpha != full);
    (pixels().flat_map(|(_, colours)| colours).copied().collect(), transparent)
}

/// Writes a matrix as a grey image, or an array `[h, w, 3]` as a colour image. Also returns
/// warnings about clamped numbers.
pub(super) fn write(value: &Value) -> Result<(Vec<u8>, Vec<String>), Refusal> {
    const HELP: &str =
        "a grey image is `[h, w]`, a colour image `[h, w, 3]`, of reals from 0 to 1 or integers from 0 to 255";
    let Value::Array(array) = value else {
        return Err(save_refusal(format!("the value is {}, not an image", value_noun(value)), HELP));
    };
    let (color, height, width) = match array.dims() {
        [h, w] => (ColorType::Grayscale, *h, *w),
        [h, w, 3] => (ColorType::Rgb, *h, *w),
        dims => {
            let message = format!("the shape {} is not that of an image", super::npy::shape_text(dims));
            return Err(save_refusal(message, HELP));
        }
    };
    let side = |n: usize| u32::try_from(n).ok().filter(|n| (1..=i32::MAX.unsigned_abs()).contains(n));
    let (Some(h), Some(w)) = (side(height), side(width)) else {
        return Err(save_refusal(format!("an image cannot have {height} by {width} pixels"), HELP));
    };
    let Some((pixels, outside)) = to_pixels(array) else {
        return Err(save_refusal(format!("the value is {}, not an image", value_noun(value)), HELP));
    };
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, w, h);
    encoder.set_color(color);
    encoder.set_depth(BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&pixels)?;
        writer.finish()
    });
    written.map_err(|e| save_refusal(format!("cannot write the image: {e}"), HELP))?;
    let message = match outside {
        0 => return Ok((out, Vec::new())),
        1 => "a number is outside the range of an image and was clamped".to_owned(),
        n => format!("{n} numbers are outside the range of an image and were clamped"),
    };
    Ok((out, vec![message]))
}

/// Converts the elements to bytes, and counts those outside the range. `None` if they are no
/// numbers.
fn to_pixels(array: &Array) -> Option<(Vec<u8>, usize)> {
    let mut outside = 0;
    let mut real = |x: f64| {
        outside += usize::from(!(0.0..=1.0).contains(&x));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it lies between 0 and 255; what is not a number becomes 0"
        )]
        let byte = (x.clamp(0.0, 1.0) * 255.0).round() as u8;
        byte
    };
    if let Some(v) = array.f64s() {
        let bytes = v.iter().map(|x| real(*x)).collect();
        return Some((bytes, outside));
    }
    if let Some(v) = array.f32s() {
        let bytes = v.iter().map(|x| real(f64::from(*x))).collect();
        return Some((bytes, outside));
    }
    let integer = |n: &i64| {
        outside += usize::from(!(0..=255).contains(n));
        u8::try_from((*n).clamp(0, 255)).unwrap_or(u8::MAX)
    };
    let bytes = array.i64s()?.iter().map(integer).collect();
    Some((bytes, outside))
}
