//! The settings of `:set`, for the rest of a session: a table with names, values and help.
//! `session` applies them to the engine and the output.

use lang_core::runtime::RunLimits;
use lang_core::runtime::print::{Digits, Layout};

use crate::cli::{self, Backend, Common, Nan, Shown, When};
use crate::engine::budget;
use crate::{machine, suggest};

/// The values of all settings.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) common: Common,
    pub(crate) limits: RunLimits,
    /// The number of operations above which a run needs a confirmation; `None`: no limit.
    pub(crate) budget: Option<u64>,
    /// The output width in characters; `None`: that of the terminal.
    pub(crate) width: Option<usize>,
    /// The size above which the middle of an array is omitted.
    pub(crate) threshold: usize,
}

impl Options {
    /// Returns the settings at the beginning of a session.
    pub(crate) fn new(common: &Common) -> Self {
        let threshold = Layout::default().threshold;
        Self { common: common.clone(), limits: machine::limits(), budget: Some(budget::USUAL), width: None, threshold }
    }
}

/// A setting.
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    /// The accepted values, for help and completion. Alternatives are separated by bars.
    pub(crate) values: &'static str,
    /// The one-line summary.
    summary: &'static str,
    get: fn(&Options) -> String,
    /// Sets the value; returns `None` if it is invalid.
    set: fn(&mut Options, &str) -> Option<()>,
}

/// All settings, in the order of `:set`.
pub(crate) const ALL: &[Setting] = &[
    Setting {
        name: "backend",
        values: "cpu|interp",
        summary: "what computes: machine code for the processor, or the interpreter alone",
        get: |o| if o.common.backend == Backend::Interp { "interp".to_owned() } else { "cpu".to_owned() },
        set: |o, value| {
            o.common.backend = match value {
                "cpu" => Backend::Cpu,
                "interp" => Backend::Interp,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "budget",
        values: "N|off",
        summary: "before a run of more operations there is a question",
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
        summary: "colours",
        get: |o| match o.common.color {
            When::Auto => "auto".to_owned(),
            When::Always => "always".to_owned(),
            When::Never => "never".to_owned(),
        },
        set: |o, value| {
            o.common.color = match value {
                "auto" => When::Auto,
                "always" => When::Always,
                "never" => When::Never,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "count",
        values: "on|off",
        summary: "tell the work, tests and iterations of every evaluation",
        get: |o| switch(o.common.count),
        set: |o, value| on_or_off(value).map(|on| o.common.count = on),
    },
    Setting {
        name: "digits",
        values: "1 to 17|usual|all",
        summary: "significant digits of reals; all shows whole arrays too",
        get: |o| match o.common.digits.unwrap_or_default() {
            Digits::All => "all".to_owned(),
            Digits::AtMost(n) => n.to_string(),
            Digits::Usual => "usual".to_owned(),
        },
        set: |o, value| {
            o.common.digits = match value {
                "usual" => None,
                value => Some(cli::digits(value).ok()?),
            };
            Some(())
        },
    },
    Setting {
        name: "memory",
        values: "MIB|auto",
        summary: "how much the values of an evaluation may need, in MiB; auto is most of what the machine has",
        get: |o| match o.limits.max_bytes {
            bytes if bytes == machine::limits().max_bytes => "auto".to_owned(),
            bytes => (bytes >> 20).to_string(),
        },
        set: |o, value| {
            o.limits.max_bytes = match value {
                "auto" => machine::limits().max_bytes,
                value => value.parse::<usize>().ok().filter(|n| *n > 0)?.checked_mul(1 << 20)?,
            };
            Some(())
        },
    },
    Setting {
        name: "nan",
        values: "stop|ignore",
        summary: "whether an evaluation stops where a NaN comes up",
        get: |o| if o.common.nan == Nan::Stop { "stop".to_owned() } else { "ignore".to_owned() },
        set: |o, value| {
            o.common.nan = match value {
                "stop" => Nan::Stop,
                "ignore" => Nan::Ignore,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "progress",
        values: "auto|never",
        summary: "a bar for work that takes long",
        get: |o| if o.common.progress == Shown::Auto { "auto".to_owned() } else { "never".to_owned() },
        set: |o, value| {
            o.common.progress = match value {
                "auto" => Shown::Auto,
                "never" => Shown::Never,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "threads",
        values: "1 to 4096|auto",
        summary: "how many threads compute; auto is one for each processor",
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
        summary: "of arrays of more elements the middle is left out",
        get: |o| o.threshold.to_string(),
        set: |o, value| value.parse().ok().map(|n| o.threshold = n),
    },
    Setting {
        name: "time",
        values: "on|off",
        summary: "tell how long checking and running took",
        get: |o| switch(o.common.time),
        set: |o, value| on_or_off(value).map(|on| o.common.time = on),
    },
    Setting {
        name: "width",
        values: "20 to 1000|auto",
        summary: "characters in a line; auto is as many as the terminal",
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
const ELSEWHERE: &[(&str, &str)] =
    &[("precision", "digits"), ("linewidth", "width"), ("columns", "width"), ("bar", "progress"), ("colour", "color")];

fn switch(on: bool) -> String {
    if on { "on".to_owned() } else { "off".to_owned() }
}

fn on_or_off(value: &str) -> Option<bool> {
    match value {
        "on" | "true" | "yes" => Some(true),
        "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Returns the values of a setting that can be listed.
pub(crate) fn values_of(name: &str) -> impl Iterator<Item = &'static str> {
    let setting = ALL.iter().find(|s| s.name == name && s.values.contains('|'));
    // Ranges and capitalised words are placeholders for numbers.
    let spelled = |value: &&str| value.starts_with(char::is_lowercase);
    setting.into_iter().flat_map(|s| s.values.split('|')).filter(spelled)
}

/// Executes `:set` with this argument. Returns the text to show, or an error message.
pub(crate) fn set(options: &mut Options, argument: &str) -> Result<String, String> {
    let mut words = argument.split_whitespace();
    let (name, value) = (words.next(), words.next());
    if words.next().is_some() {
        return Err(":set takes a name and a value".to_owned());
    }
    let Some(name) = name else { return Ok(ALL.iter().map(|s| line(s, options)).collect()) };
    // `:set digits=5` is accepted too.
    let (name, value) = match name.split_once('=') {
        Some((name, own)) if value.is_none() => (name, Some(own)),
        _ => (name, value),
    };
    let Some(setting) = ALL.iter().find(|s| s.name == name) else {
        let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == name).map(|(_, own)| *own);
        return Err(match elsewhere.or_else(|| suggest::closest(name, ALL.iter().map(|s| s.name))) {
            Some(near) => format!("there is no setting `{name}`; did you mean `{near}`?"),
            None => format!("there is no setting `{name}`; :set lists all"),
        });
    };
    match value {
        None => Ok(format!("{}  it is {}\n", line(setting, options), setting.values.replace('|', " or "))),
        Some(value) => match (setting.set)(options, value) {
            Some(()) => Ok(String::new()),
            None => Err(format!("`{value}` is no value of `{name}`, which is {}", setting.values.replace('|', " or "))),
        },
    }
}

fn line(setting: &Setting, options: &Options) -> String {
    format!("  {:<9} {:<8} {}\n", setting.name, (setting.get)(options), setting.summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed_and_numbers_are_not() {
        assert_eq!(values_of("digits").collect::<Vec<_>>(), ["usual", "all"]);
        assert_eq!(values_of("width").collect::<Vec<_>>(), ["auto"]);
        assert_eq!(values_of("memory").collect::<Vec<_>>(), ["auto"]);
        assert_eq!(values_of("threshold").count(), 0);
    }
}
