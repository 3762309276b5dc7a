//! `iverson bench FILE DEF n=1000 m=16`: measures a definition and its gradient at these sizes, on
//! synthetic arguments.
//!
//! It reports the time to make the code and, over all runs but the first, the median and the
//! interquartile range. The ratio of the two medians is compared with the certificate of the
//! gradient's cost.

use std::path::Path;
use std::time::Duration;

use lang_core::base::GlobalName;
use lang_core::runtime::Value;
use lang_core::types::ty::Type;

use super::cost::{SizeSyntax, parse_sizes};
use super::run::unavailable_feature;
use super::{load_program, report_failure};
use crate::cli::CommonOptions;
use crate::engine::Engine;
use crate::engine::measure::type_at_sizes;
use crate::interrupt::ComputationGuard;
use crate::json;
use crate::out::{OutputWriter, Status, format_duration};
use crate::problem::Problem;

/// The arguments of the command.
pub(crate) struct BenchRequest<'a> {
    pub(crate) file: &'a Path,
    pub(crate) def: &'a str,
    /// The sizes, as in `n=1000`.
    pub(crate) sizes: &'a [String],
    /// The least total run time of each function, in seconds.
    pub(crate) seconds: f64,
}

/// The least number of measured runs.
const LEAST_RUNS: usize = 5;

pub(crate) fn run(request: &BenchRequest<'_>, common: &CommonOptions, out: OutputWriter) -> Status {
    if let Some(problem) = unavailable_feature(common) {
        out.report_failure(&[problem], &crate::source::Sources::default());
        return Status::Usage;
    }
    let mut engine = Engine::new(common, out);
    let module = match load_program(&mut engine, request.file, out) {
        Ok(module) => module,
        Err(status) => return status,
    };
    match measure_definition(&mut engine, &GlobalName::new(&module, request.def), request) {
        Ok(report) => {
            out.print(&if out.is_json() { report.json(request.def) } else { report.text(request.def) });
            Status::Success
        }
        Err(problems) => report_failure(&problems, &engine, out),
    }
}

/// The measured times of a definition.
struct BenchReport {
    sizes: Vec<(String, i64)>,
    value: RunTimes,
    /// The times of the gradient, or the reason why it has none.
    gradient: Result<RunTimes, String>,
    certified: Option<GradientCertificate>,
}

/// The certificate of the gradient.
struct GradientCertificate {
    /// The certificate in words.
    verdict: String,
    factor: Option<i128>,
}

/// A measured ratio of more than this many times the certified one contradicts the certificate.
const CONTRADICTION_FACTOR: f64 = 3.0;

/// The times of one function.
struct RunTimes {
    compile_time: Duration,
    /// The run times, in ascending order.
    runs: Vec<Duration>,
}

fn measure_definition(
    engine: &mut Engine,
    name: &GlobalName,
    request: &BenchRequest<'_>,
) -> Result<BenchReport, Vec<Problem>> {
    let signature = engine.signature(name).ok_or_else(|| vec![*engine.unknown_definition_error(name)])?;
    let sizes = parse_sizes(&signature, request.sizes, SizeSyntax::Positional)?;
    engine.compute_let(name)?;
    let (instance, arguments) = engine.synthetic_arguments(&signature, &sizes)?;
    let types: Vec<Type> = signature.params.iter().map(|(_, ty)| type_at_sizes(ty, &sizes)).collect();
    let gradient = engine.gradient_function(name, &types);
    let _computing = ComputationGuard::start();
    let mut timed = |of: Option<&Value>| -> Result<RunTimes, Vec<Problem>> {
        let (mut compile, mut all, mut runs) = (Duration::ZERO, Duration::ZERO, Vec::new());
        let mut first = true;
        engine.call_repeatedly(name, of, &instance, &arguments, &mut |took, making| {
            compile += making;
            // The first run is only a warm-up; its time to make code is counted.
            if !std::mem::replace(&mut first, false) {
                all += took;
                runs.push(took);
            }
            runs.len() < LEAST_RUNS || all.as_secs_f64() < request.seconds
        })?;
        runs.sort_unstable();
        Ok(RunTimes { compile_time: compile, runs })
    };
    let value = timed(None)?;
    let gradient = match gradient {
        Ok(function) => Ok(timed(Some(&function))?),
        Err(problems) => Err(problems.into_iter().next().map(|p| p.message).unwrap_or_default()),
    };
    let certified = engine.costs(name).ok();
    let certified =
        certified.and_then(|c| Some(GradientCertificate { verdict: c.certificate_text()?, factor: c.factor() }));
    let at = signature.sizes.iter().map(|s| s.name.to_string()).zip(sizes).collect();
    Ok(BenchReport { sizes: at, value, gradient, certified })
}

impl RunTimes {
    /// Returns a quantile of the run times, in hundredths.
    fn quantile(&self, hundredths: usize) -> Duration {
        let last = self.runs.len().saturating_sub(1);
        let at = last.saturating_mul(hundredths).checked_div(100).unwrap_or(0);
        self.runs.get(at).copied().unwrap_or_default()
    }

    fn table_row(&self, of: &str) -> [String; 5] {
        let half = format!(
            "{} to {}",
            format_duration(self.quantile(25).as_secs_f64()),
            format_duration(self.quantile(75).as_secs_f64())
        );
        let runs = self.runs.len().to_string();
        [
            of.to_owned(),
            format_duration(self.compile_time.as_secs_f64()),
            format_duration(self.quantile(50).as_secs_f64()),
            half,
            runs,
        ]
    }

    fn json(&self) -> String {
        let nanoseconds = |d: Duration| d.as_nanos().to_string();
        json::object([
            ("compileNanoseconds", nanoseconds(self.compile_time)),
            ("medianNanoseconds", nanoseconds(self.quantile(50))),
            ("lowerQuartileNanoseconds", nanoseconds(self.quantile(25))),
            ("upperQuartileNanoseconds", nanoseconds(self.quantile(75))),
            ("runs", self.runs.len().to_string()),
        ])
    }
}

impl BenchReport {
    /// Returns the ratio of the gradient's median to that of the value.
    fn ratio(&self) -> Option<f64> {
        let value = self.value.quantile(50).as_secs_f64();
        let gradient = self.gradient.as_ref().ok()?.quantile(50).as_secs_f64();
        (value > 0.0).then_some(gradient / value)
    }

    /// Whether the ratio contradicts the certificate. The factor is an upper bound, so a smaller
    /// ratio agrees with it.
    fn contradicts_certificate(&self) -> Option<bool> {
        let factor = self.certified.as_ref()?.factor?;
        let factor = u32::try_from(factor).map_or(f64::from(u32::MAX), f64::from);
        Some(self.ratio()? > CONTRADICTION_FACTOR * factor)
    }

    /// Describes the certificate, and whether the times contradict it.
    fn comparison(&self) -> String {
        let Some(certified) = self.certified.as_ref().filter(|_| self.ratio().is_some()) else { return String::new() };
        let mut text = format!("certificate: {}\n", certified.verdict);
        if self.contradicts_certificate() == Some(true) {
            text += "the measured ratio exceeds the certified one by a factor of more than 3: the certificate counts operations, but the gradient takes longer for each of them. `iverson show loops` shows which loops run as kernels; the others run step by step.\n";
        }
        text
    }

    fn text(&self, name: &str) -> String {
        let at: Vec<String> = self.sizes.iter().map(|(name, n)| format!("{name} = {n}")).collect();
        let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
        let mut rows = vec![["", "compile", "median", "interquartile range", "runs"].map(str::to_owned)];
        rows.push(self.value.table_row("value"));
        rows.extend(self.gradient.iter().map(|times| times.table_row("gradient")));
        let widths: Vec<usize> = (0..5)
            .map(|k| rows.iter().filter_map(|r| r.get(k)).map(|c| c.chars().count()).max().unwrap_or(0))
            .collect();
        let mut text = format!("{name}{at}\n\n");
        for row in &rows {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            text += cells.join("   ").trim_end();
            text.push('\n');
        }
        match (&self.gradient, self.ratio()) {
            (Ok(_), Some(ratio)) => {
                text += &format!("\nthe gradient takes {ratio:.1} times as long as the value\n");
                text += &self.comparison();
            }
            (Ok(_), None) => {}
            (Err(why), _) => text += &format!("\nthere is no gradient: {why}\n"),
        }
        text
    }

    fn json(&self, name: &str) -> String {
        let at = json::object(self.sizes.iter().map(|(name, n)| (name.as_str(), n.to_string())));
        let mut fields = vec![("def", json::string(name)), ("at", at), ("value", self.value.json())];
        fields.extend(self.gradient.iter().map(|times| ("gradient", times.json())));
        fields.extend(self.ratio().map(|ratio| ("ratio", format!("{ratio:.3}"))));
        if let Some(certified) = self.certified.as_ref().filter(|_| self.ratio().is_some()) {
            fields.push(("certificate", json::string(&certified.verdict)));
            fields.extend(certified.factor.map(|factor| ("certifiedFactor", factor.to_string())));
            fields.extend(self.contradicts_certificate().map(|yes| ("disagrees", yes.to_string())));
        }
        format!("{}\n", json::object(fields))
    }
}
