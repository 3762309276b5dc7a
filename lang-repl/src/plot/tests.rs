//! Draws every kind of plot with odd data, on every kind of screen and in both file formats. Checks
//! that something is drawn, in the right size and well formed.

use std::io::Cursor;

use lang_core::resolve::forms::{PlotKind, PlotOption};
use lang_core::runtime::{Figure, Value};
use lang_core::types::tree::{PlotGroup, PlotSpec};

use super::screen::{ColorDepth, PlotScreen, text_columns};
use super::{PlotFormat, draw_file, draw_text, drawing_plan, plot_file};

fn vector(x: &[f64]) -> Value {
    Value::array(&[x.len()], x.to_vec()).unwrap()
}

fn figure(kinds: &[(PlotKind, usize)], options: &[(PlotOption, Value)], data: Vec<Value>) -> Figure {
    let group = |(kind, count): &(PlotKind, usize)| PlotGroup {
        kind: *kind,
        label: "a label & <more> \"text\" θ\u{1b}[31m".into(),
        data_names: vec!["x".into(); *count],
    };
    let form = PlotSpec {
        groups: kinds.iter().map(group).collect(),
        options: options.iter().map(|(option, _)| *option).collect(),
    };
    let values = data.into_iter().chain(options.iter().map(|(_, value)| value.clone()));
    Figure::new(&form, values.collect()).unwrap()
}

/// Draws a figure in all ways, and checks the results.
fn draw(figure: &Figure) {
    let mut small = false;
    for depth in [ColorDepth::None, ColorDepth::Indexed, ColorDepth::Full] {
        for (width, height) in [(80, 20), (30, 8), (120, 40)] {
            let text = draw_text(figure, PlotScreen { width, height, depth }).unwrap();
            assert!(!text.trim().is_empty());
            if depth == ColorDepth::None {
                let picture = text.lines().filter(|line| !line.starts_with("note: "));
                let widest = picture.clone().map(text_columns).max().unwrap();
                assert!(widest <= 80.max(width), "{widest} columns:\n{text}");
                assert!(!text.contains('\u{1b}'), "{text}");
                small |= widest == 0;
            }
        }
    }
    assert!(!small);
    let (svg, _) = draw_file(figure, PlotFormat::Svg).unwrap();
    assert_eq!(svg, draw_file(figure, PlotFormat::Svg).unwrap().0);
    well_formed(&String::from_utf8(svg).unwrap());
    let plan = drawing_plan::plan_figure(figure).unwrap();
    let bytes = plot_file::draw_plan(&plan, PlotFormat::Png, (Some(320), Some(200))).unwrap();
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    // An image may be entirely white.
    let image = figure.layers.iter().any(|layer| layer.kind == PlotKind::Image);
    assert!(image || pixels.iter().any(|p| *p != 255), "nothing is drawn");
}

/// Checks that all elements are closed, and that text contains no markup characters.
fn well_formed(svg: &str) {
    let mut open: Vec<String> = Vec::new();
    let mut rest = svg;
    while let Some((text, after)) = rest.split_once('<') {
        assert!(!text.contains('>') && !text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        let (tag, after) = after.split_once('>').unwrap();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap().to_owned();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = after;
    }
    assert_eq!((open.len(), rest.trim()), (0, ""));
    assert!(svg.starts_with("<svg width=") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

/// Returns numbers that are hard to draw.
fn odd() -> Vec<Vec<f64>> {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    vec![
        vec![],
        vec![1.0],
        vec![nan],
        vec![inf, -inf, nan],
        vec![0.0, -0.0, 0.0],
        vec![5.0; 4],
        vec![-7.25, 3.5, nan, 1.0],
        vec![f64::MAX, f64::MIN, 0.0],
        vec![f64::MAX; 3],
        vec![f64::MAX, f64::MAX / 2.0],
        vec![f64::MIN_POSITIVE, 5e-324, 0.0],
        vec![5e-324, 1e-323],
        vec![1.0, 1.0 + f64::EPSILON, 1.0 - f64::EPSILON],
        vec![1e15, 1e15 + 1.0, 1e15 + 3.0],
        vec![1e300, 1.0, -1e300],
        vec![1e-300, 1e300],
        vec![-1e-12, 2e-12, 5e-13],
        vec![1_700_000_000.0, 1_700_000_100.0, 1_700_000_050.0],
        vec![inf, 1.0, 2.0, -inf, 3.0],
        (0..300).map(|i| f64::from(i).sin() * 1e6).collect(),
        (0..40).map(|i| 10f64.powi(i - 20)).collect(),
        (0..500).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect(),
    ]
}

fn options() -> Vec<Vec<(PlotOption, Value)>> {
    let text = |s: &str| Value::Str(s.into());
    vec![
        vec![],
        vec![(PlotOption::Xscale, text("log")), (PlotOption::Yscale, text("log"))],
        vec![
            (PlotOption::Title, text(&"a long title ".repeat(40))),
            (PlotOption::Xlabel, text("\u{202e}漢字かな漢字\n\u{7}")),
            (PlotOption::Ylabel, text(&"y".repeat(300))),
            (PlotOption::Yscale, text("log")),
        ],
    ]
}

#[test]
fn odd_numbers_by_themselves() {
    for (k, y) in odd().iter().enumerate() {
        let options = options();
        let options = &options[k % options.len()];
        for kind in [PlotKind::Line, PlotKind::Points, PlotKind::Bars, PlotKind::Histogram] {
            draw(&figure(&[(kind, 1)], options, vec![vector(y)]));
        }
    }
}

#[test]
fn odd_numbers_together() {
    let odd = odd();
    for (k, x) in odd.iter().enumerate() {
        let y: Vec<f64> = odd[(k * 7 + 3) % odd.len()].iter().copied().cycle().take(x.len()).collect();
        let y = if y.len() == x.len() { y } else { vec![1.5; x.len()] };
        let options = options();
        let options = &options[(k + 1) % options.len()];
        let kinds = [(PlotKind::Points, 2), (PlotKind::Line, 3), (PlotKind::Bars, 2), (PlotKind::Histogram, 1)];
        let data = vec![x, &y, x, &y, x, x, &y, x];
        draw(&figure(&kinds, options, data.into_iter().map(|v| vector(v)).collect()));
    }
}

#[test]
fn bins_of_any_number() {
    for y in odd() {
        for n in [1, 7, 10_000] {
            draw(&figure(&[(PlotKind::Histogram, 1)], &[(PlotOption::Bins, Value::I64(n))], vec![vector(&y)]));
        }
    }
}

#[test]
fn odd_matrices() {
    for y in odd() {
        for (rows, columns) in [(1, y.len()), (y.len(), 1), (0, y.len()), (y.len(), 0), (3, y.len()), (y.len(), 50)] {
            let elements: Vec<f64> = y.iter().copied().cycle().take(rows * columns).collect();
            let Some(matrix) = Value::array(&[rows, columns], elements) else { continue };
            for kind in [PlotKind::Heatmap, PlotKind::Image, PlotKind::Spy] {
                draw(&figure(&[(kind, 1)], &options()[0], vec![matrix.clone()]));
            }
        }
        let colors: Vec<f64> = y.iter().flat_map(|x| [*x, 0.5, 1.0 - x]).collect();
        draw(&figure(&[(PlotKind::Image, 1)], &[], vec![Value::array(&[y.len(), 1, 3], colors).unwrap()]));
    }
}

#[test]
fn other_elements() {
    let whole = Value::array(&[4], vec![i64::MIN, i64::MAX, 0, 3]).unwrap();
    let truths = Value::array(&[3], vec![true, false, true]).unwrap();
    let short = Value::array(&[3], vec![1.5f32, f32::MAX, f32::NAN]).unwrap();
    for value in [whole, truths, short] {
        for kind in [PlotKind::Line, PlotKind::Points, PlotKind::Bars, PlotKind::Histogram] {
            draw(&figure(&[(kind, 1)], &[], vec![value.clone()]));
        }
    }
    let bytes = Value::array(&[2, 2], vec![-1i64, 0, 255, 300]).unwrap();
    draw(&figure(&[(PlotKind::Image, 1)], &[], vec![bytes]));
}

/// A large plot takes the time of reading its data, and its files have a bounded size.
#[test]
fn a_million_numbers() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(state >> 33).unwrap()) / f64::from(1u32 << 31)
    };
    let many: Vec<f64> = (0..1_000_000).map(|_| random()).collect();
    let others: Vec<f64> = (0..1_000_000).map(|_| random()).collect();
    let screen = PlotScreen { width: 80, height: 20, depth: ColorDepth::None };
    for kind in [PlotKind::Line, PlotKind::Points, PlotKind::Bars] {
        let figure = figure(&[(kind, 2)], &[], vec![vector(&many), vector(&others)]);
        draw_text(&figure, screen).unwrap();
        let size = draw_file(&figure, PlotFormat::Svg).unwrap().0.len();
        assert!(size < 4 << 20, "{kind:?} takes {size} bytes");
    }
    let matrix = Value::array(&[1000, 1000], many).unwrap();
    for kind in [PlotKind::Heatmap, PlotKind::Spy] {
        let figure = figure(&[(kind, 1)], &[], vec![matrix.clone()]);
        draw_text(&figure, screen).unwrap();
        let size = draw_file(&figure, PlotFormat::Svg).unwrap().0.len();
        assert!(size < 6 << 20, "{kind:?} takes {size} bytes");
    }
}

#[test]
fn options_out_of_range() {
    let check = |option, value: Value, expected: &str| {
        let figure = figure(&[(PlotKind::Histogram, 1)], &[(option, value)], vec![vector(&[1.0, 2.0])]);
        let screen = PlotScreen { width: 80, height: 20, depth: ColorDepth::None };
        for why in [draw_text(&figure, screen).unwrap_err(), draw_file(&figure, PlotFormat::Svg).unwrap_err()] {
            assert!(why.message.starts_with(expected), "{}", why.message);
        }
    };
    check(PlotOption::Bins, Value::I64(0), "a histogram cannot have 0 bins");
    check(PlotOption::Bins, Value::I64(i64::MIN), "a histogram cannot have -9223372036854775808 bins");
    check(PlotOption::Width, Value::I64(-1), "a plot cannot have a width of -1");
    check(PlotOption::Height, Value::I64(1 << 40), "a plot cannot have a height of 1099511627776");
    check(PlotOption::Xscale, Value::Str("lug".into()), "`lug` is not an axis scale");
}
