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

use super::cost::{Written, sizes_of};
use super::run::not_available;
use super::{loaded, refused};
use crate::cli::Common;
use crate::engine::Engine;
use crate::engine::measure::at_sizes;
use crate::interrupt::Computing;
use crate::json;
use crate::out::{Out, Status, seconds};
use crate::problem::Problem;

/// The arguments of the command.
pub(crate) struct Asked<'a> {
    pub(crate) file: &'a Path,
    pub(crate) def: &'a str,
    /// The sizes, as in `n=1000`.
    pub(crate) sizes: &'a [String],
    /// The least total run time of each function, in seconds.
    pub(crate) seconds: f64,
}

/// The least number of measured runs.
const LEAST_RUNS: usize = 5;

pub(crate) fn run(asked: &Asked<'_>, common: &Common, out: Out) -> Status {
    if let Some(problem) = not_available(common) {
        out.fail(&[problem], &crate::source::Sources::default());
        return Status::Usage;
    }
    let mut engine = Engine::new(common, out);
    let module = match loaded(&mut engine, asked.file, out) {
        Ok(module) => module,
        Err(status) => return status,
    };
    match told(&mut engine, &GlobalName::new(&module, asked.def), asked) {
        Ok(told) => {
            out.print(&if out.is_json() { told.json(asked.def) } else { told.text(asked.def) });
            Status::Good
        }
        Err(problems) => refused(&problems, &engine, out),
    }
}

/// The measured times of a definition.
struct Told {
    at: Vec<(String, i64)>,
    value: Times,
    /// The times of the gradient, or the reason why it has none.
    gradient: Result<Times, String>,
    certified: Option<Certified>,
}

/// The certificate of the gradient.
struct Certified {
    /// The certificate in words.
    verdict: String,
    factor: Option<i128>,
}

/// A measured ratio of more than this many times the certified one contradicts the certificate.
const DISAGREE: f64 = 3.0;

/// The times of one function.
struct Times {
    compile: Duration,
    /// The run times, in ascending order.
    runs: Vec<Duration>,
}

fn told(engine: &mut Engine, name: &GlobalName, asked: &Asked<'_>) -> Result<Told, Vec<Problem>> {
    let signature = engine.signature(name).ok_or_else(|| vec![*engine.no_definition(name)])?;
    let sizes = sizes_of(&signature, asked.sizes, Written::Apart)?;
    engine.compute(name)?;
    let (instance, arguments) = engine.made_up(&signature, &sizes)?;
    let types: Vec<Type> = signature.params.iter().map(|(_, ty)| at_sizes(ty, &sizes)).collect();
    let gradient = engine.gradient(name, &types);
    let _computing = Computing::start();
    let mut timed = |of: Option<&Value>| -> Result<Times, Vec<Problem>> {
        let (mut compile, mut all, mut runs) = (Duration::ZERO, Duration::ZERO, Vec::new());
        let mut first = true;
        engine.timed(name, of, &instance, &arguments, &mut |took, making| {
            compile += making;
            // The first run is only a warm-up; its time to make code is counted.
            if !std::mem::replace(&mut first, false) {
                all += took;
                runs.push(took);
            }
            runs.len() < LEAST_RUNS || all.as_secs_f64() < asked.seconds
        })?;
        runs.sort_unstable();
        Ok(Times { compile, runs })
    };
    let value = timed(None)?;
    let gradient = match gradient {
        Ok(function) => Ok(timed(Some(&function))?),
        Err(problems) => Err(problems.into_iter().next().map(|p| p.message).unwrap_or_default()),
    };
    let certified = engine.costs(name).ok();
    let certified = certified.and_then(|c| Some(Certified { verdict: c.verdict()?, factor: c.factor() }));
    let at = signature.sizes.iter().map(|s| s.name.to_string()).zip(sizes).collect();
    Ok(Told { at, value, gradient, certified })
}

impl Times {
    /// Returns a quantile of the run times, in hundredths.
    fn quantile(&self, hundredths: usize) -> Duration {
        let last = self.runs.len().saturating_sub(1);
        let at = last.saturating_mul(hundredths).checked_div(100).unwrap_or(0);
        self.runs.get(at).copied().unwrap_or_default()
    }

    fn cells(&self, of: &str) -> [String; 5] {
        let half =
            format!("{} to {}", seconds(self.quantile(25).as_secs_f64()), seconds(self.quantile(75).as_secs_f64()));
        let runs = self.runs.len().to_string();
        [of.to_owned(), seconds(self.compile.as_secs_f64()), seconds(self.quantile(50).as_secs_f64()), half, runs]
    }

    fn json(&self) -> String {
        let nanoseconds = |d: Duration| d.as_nanos().to_string();
        json::object([
            ("compileNanoseconds", nanoseconds(self.compile)),
            ("medianNanoseconds", nanoseconds(self.quantile(50))),
            ("lowerQuartileNanoseconds", nanoseconds(self.quantile(25))),
            ("upperQuartileNanoseconds", nanoseconds(self.quantile(75))),
            ("runs", self.runs.len().to_string()),
        ])
    }
}

impl Told {
    /// Returns the ratio of the gradient's median to that of the value.
    fn ratio(&self) -> Option<f64> {
        let value = self.value.quantile(50).as_secs_f64();
        let gradient = self.gradient.as_ref().ok()?.quantile(50).as_secs_f64();
        (value > 0.0).then_some(gradient / value)
    }

    /// Whether the ratio contradicts the certificate. The factor is an upper bound, so a smaller
    /// ratio agrees with it.
    fn disagrees(&self) -> Option<bool> {
        let factor = self.certified.as_ref()?.factor?;
        let factor = u32::try_from(factor).map_or(f64::from(u32::MAX), f64::from);
        Some(self.ratio()? > DISAGREE * factor)
    }

    /// Describes the certificate, and whether the times contradict it.
    fn comparison(&self) -> String {
        let Some(certified) = self.certified.as_ref().filter(|_| self.ratio().is_some()) else { return String::new() };
        let mut text = format!("the certificate: {}\n", certified.verdict);
        if self.disagrees() == Some(true) {
            text += "the times disagree with the certificate by a factor of more than 3: it counts operations, and \
                     the gradient takes longer for each of them. `iverson show loops` shows which loops run as kernels; \
                     the others are run step by step.\n";
        }
        text
    }

    fn text(&self, name: &str) -> String {
        let at: Vec<String> = self.at.iter().map(|(name, n)| format!("{name} = {n}")).collect();
        let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
        let mut rows = vec![["", "compile", "median", "half of the runs", "runs"].map(str::to_owned)];
        rows.push(self.value.cells("value"));
        rows.extend(self.gradient.iter().map(|times| times.cells("gradient")));
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
        let at = json::object(self.at.iter().map(|(name, n)| (name.as_str(), n.to_string())));
        let mut fields = vec![("def", json::string(name)), ("at", at), ("value", self.value.json())];
        fields.extend(self.gradient.iter().map(|times| ("gradient", times.json())));
        fields.extend(self.ratio().map(|ratio| ("ratio", format!("{ratio:.3}"))));
        if let Some(certified) = self.certified.as_ref().filter(|_| self.ratio().is_some()) {
            fields.push(("certificate", json::string(&certified.verdict)));
            fields.extend(certified.factor.map(|factor| ("certifiedFactor", factor.to_string())));
            fields.extend(self.disagrees().map(|yes| ("disagrees", yes.to_string())));
        }
        format!("{}\n", json::object(fields))
    }
}
