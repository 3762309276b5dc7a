//! The settings of `:set`, for the rest of a session: a table with names, values and help.
//! `session` applies them to the engine and the output.

use lang_core::runtime::RunLimits;
use lang_core::runtime::print::{Digits, Layout};

use crate::cli::{self, BackendChoice, ColorMode, CommonOptions, NanPolicy, ProgressMode};
use crate::engine::budget;
use crate::{machine, suggest};

/// The values of all settings.
#[derive(Clone, Debug)]
pub(crate) struct SessionSettings {
    pub(crate) common: CommonOptions,
    pub(crate) limits: RunLimits,
    /// The number of operations above which a run needs a confirmation; `None`: no limit.
    pub(crate) budget: Option<u64>,
    /// The output width in characters; `None`: that of the terminal.
    pub(crate) width: Option<usize>,
    /// The size above which the middle of an array is omitted.
    pub(crate) threshold: usize,
}

impl SessionSettings {
    /// Returns the settings at the beginning of a session.
    pub(crate) fn new(common: &CommonOptions) -> Self {
        let threshold = Layout::default().threshold;
        Self {
            common: common.clone(),
            limits: machine::machine_limits(),
            budget: Some(budget::DEFAULT_STEPS),
            width: None,
            threshold,
        }
    }
}

/// A setting.
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    /// The accepted values, for help and completion. Alternatives are separated by bars.
    pub(crate) values: &'static str,
    /// The one-line summary.
    summary: &'static str,
    get: fn(&SessionSettings) -> String,
    /// Sets the value; returns `None` if it is invalid.
    set: fn(&mut SessionSettings, &str) -> Option<()>,
}

/// All settings, in the order of `:set`.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "backend",
        values: "cpu|interp",
        summary: "the backend: machine code for the CPU, or the interpreter only",
        get: |o| if o.common.backend == BackendChoice::Interp { "interp".to_owned() } else { "cpu".to_owned() },
        set: |o, value| {
            o.common.backend = match value {
                "cpu" => BackendChoice::Cpu,
                "interp" => BackendChoice::Interp,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "budget",
        values: "N|off",
        summary: "number of operations above which a run needs confirmation",
        get: |o| o.budget.map_or_else(|| "off".to_owned(), |n| n.to_string()),
        set: |o, value| {
            o.budget = match value {
                "off" => None,
                value => Some(value.replace('_', "").parse().ok()?),
            };
            Some(())
        },
    },
    Setting {
        name: "color",
        values: "auto|always|never",
        summary: "coloured output",
        get: |o| match o.common.color {
            ColorMode::Auto => "auto".to_owned(),
            ColorMode::Always => "always".to_owned(),
            ColorMode::Never => "never".to_owned(),
        },
        set: |o, value| {
            o.common.color = match value {
                "auto" => ColorMode::Auto,
                "always" => ColorMode::Always,
                "never" => ColorMode::Never,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "count",
        values: "on|off",
        summary: "print the work, tests and iterations of every evaluation",
        get: |o| on_off_text(o.common.count),
        set: |o, value| parse_on_off(value).map(|on| o.common.count = on),
    },
    Setting {
        name: "digits",
        values: "1 to 17|usual|all",
        summary: "significant digits of reals; all also prints arrays in full",
        get: |o| match o.common.digits.unwrap_or_default() {
            Digits::All => "all".to_owned(),
            Digits::AtMost(n) => n.to_string(),
            Digits::Usual => "usual".to_owned(),
        },
        set: |o, value| {
            o.common.digits = match value {
                "usual" => None,
                value => Some(cli::parse_digits(value).ok()?),
            };
            Some(())
        },
    },
    Setting {
        name: "memory",
        values: "MIB|auto",
        summary: "memory limit for the values of an evaluation, in MiB; auto is most of the machine's memory",
        get: |o| match o.limits.max_bytes {
            bytes if bytes == machine::machine_limits().max_bytes => "auto".to_owned(),
            bytes => (bytes >> 20).to_string(),
        },
        set: |o, value| {
            o.limits.max_bytes = match value {
                "auto" => machine::machine_limits().max_bytes,
                value => value.parse::<usize>().ok().filter(|n| *n > 0)?.checked_mul(1 << 20)?,
            };
            Some(())
        },
    },
    Setting {
        name: "nan",
        values: "stop|ignore",
        summary: "stop an evaluation that produces NaN, or ignore it",
        get: |o| if o.common.nan == NanPolicy::Stop { "stop".to_owned() } else { "ignore".to_owned() },
        set: |o, value| {
            o.common.nan = match value {
                "stop" => NanPolicy::Stop,
                "ignore" => NanPolicy::Ignore,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "progress",
        values: "auto|never",
        summary: "progress bar for long computations",
        get: |o| if o.common.progress == ProgressMode::Auto { "auto".to_owned() } else { "never".to_owned() },
        set: |o, value| {
            o.common.progress = match value {
                "auto" => ProgressMode::Auto,
                "never" => ProgressMode::Never,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "threads",
        values: "1 to 4096|auto",
        summary: "number of threads; auto is one per core",
        get: |o| o.common.threads.map_or_else(|| "auto".to_owned(), |n| n.to_string()),
        set: |o, value| {
            o.common.threads = match value {
                "auto" => None,
                value => Some(value.parse().ok().filter(|n| (1..=4096).contains(n))?),
            };
            Some(())
        },
    },
    Setting {
        name: "threshold",
        values: "N",
        summary: "number of elements above which the middle of an array is omitted",
        get: |o| o.threshold.to_string(),
        set: |o, value| value.parse().ok().map(|n| o.threshold = n),
    },
    Setting {
        name: "time",
        values: "on|off",
        summary: "print the times of checking and running",
        get: |o| on_off_text(o.common.time),
        set: |o, value| parse_on_off(value).map(|on| o.common.time = on),
    },
    Setting {
        name: "width",
        values: "20 to 1000|auto",
        summary: "line width in characters; auto is the width of the terminal",
        get: |o| o.width.map_or_else(|| "auto".to_owned(), |n| n.to_string()),
        set: |o, value| {
            o.width = match value {
                "auto" => None,
                value => Some(value.parse().ok().filter(|n| (20..=1000).contains(n))?),
            };
            Some(())
        },
    },
];

/// Names of settings in other programs, and their names here.
const FOREIGN_NAMES: &[(&str, &str)] =
    &[("precision", "digits"), ("linewidth", "width"), ("columns", "width"), ("bar", "progress"), ("colour", "color")];

/// Joins the accepted values of a setting: `on or off`, `auto, always or never`.
fn values_text(values: &str) -> String {
    let all = values.replace('|', ", ");
    match all.rsplit_once(", ") {
        Some((first, last)) => format!("{first} or {last}"),
        None => all,
    }
}

fn on_off_text(on: bool) -> String {
    if on { "on".to_owned() } else { "off".to_owned() }
}

fn parse_on_off(value: &str) -> Option<bool> {
    match value {
        "on" | "true" | "yes" => Some(true),
        "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Returns the values of a setting that can be listed.
pub(crate) fn listed_values(name: &str) -> impl Iterator<Item = &'static str> {
    let setting = SETTINGS.iter().find(|s| s.name == name && s.values.contains('|'));
    // Ranges and capitalised words are placeholders for numbers.
    let spelled = |value: &&str| value.starts_with(char::is_lowercase);
    setting.into_iter().flat_map(|s| s.values.split('|')).filter(spelled)
}

/// Executes `:set` with this argument. Returns the text to show, or an error message.
pub(crate) fn set_command(options: &mut SessionSettings, argument: &str) -> Result<String, String> {
    let mut words = argument.split_whitespace();
    let (name, value) = (words.next(), words.next());
    if words.next().is_some() {
        return Err(":set takes a name and a value".to_owned());
    }
    let Some(name) = name else { return Ok(SETTINGS.iter().map(|s| setting_line(s, options)).collect()) };
    // `:set digits=5` is accepted too.
    let (name, value) = match name.split_once('=') {
        Some((name, own)) if value.is_none() => (name, Some(own)),
        _ => (name, value),
    };
    let Some(setting) = SETTINGS.iter().find(|s| s.name == name) else {
        let elsewhere = FOREIGN_NAMES.iter().find(|(other, _)| *other == name).map(|(_, own)| *own);
        return Err(match elsewhere.or_else(|| suggest::closest(name, SETTINGS.iter().map(|s| s.name))) {
            Some(near) => format!("unknown setting `{name}`; did you mean `{near}`?"),
            None => format!("unknown setting `{name}`; :set lists all settings"),
        });
    };
    match value {
        None => Ok(format!("{}  values: {}\n", setting_line(setting, options), values_text(setting.values))),
        Some(value) => match (setting.set)(options, value) {
            Some(()) => Ok(String::new()),
            None => Err(format!("`{value}` is not a value of `{name}`; use {}", values_text(setting.values))),
        },
    }
}

fn setting_line(setting: &Setting, options: &SessionSettings) -> String {
    format!("  {:<9} {:<8} {}\n", setting.name, (setting.get)(options), setting.summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed_and_numbers_are_not() {
        assert_eq!(listed_values("digits").collect::<Vec<_>>(), ["usual", "all"]);
        assert_eq!(listed_values("width").collect::<Vec<_>>(), ["auto"]);
        assert_eq!(listed_values("memory").collect::<Vec<_>>(), ["auto"]);
        assert_eq!(listed_values("threshold").count(), 0);
    }
}
