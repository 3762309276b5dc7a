//! **The host of the interpreter.** Implements the effects of programs: print, read the clock, load
//! and save data files, plot.

use std::path::PathBuf;
use std::time::Instant;

use lang_core::base::{Code, GlobalName, Span};
use lang_core::resolve::forms::{LoadOption, PlotOption};
use lang_core::runtime::print::Layout;
use lang_core::runtime::{Figure, Host, Refusal, Value, WorkProgress};
use lang_core::types::ty::Type;

use crate::data::{self, Format, Unreadable};
use crate::engine::Engine;
use crate::literal::Read;
use crate::out::Out;
use crate::problem::Problem;
use crate::source::SourceId;
use crate::{files, fit, interrupt, plot, progress};

/// The item that is evaluated, or an expression outside every module.
pub(crate) struct Here {
    pub(crate) item: GlobalName,
    /// Its name in a trace.
    pub(crate) name: &'static str,
    /// The text of an expression, and its offset there.
    pub(crate) source: Option<(SourceId, u32)>,
}

/// The host, as the interpreter sees it.
pub(crate) struct Console<'a> {
    pub(crate) out: Out,
    pub(crate) start: Instant,
    pub(crate) engine: &'a Engine,
    pub(crate) here: &'a Here,
}

impl Host for Console<'_> {
    fn print(&mut self, text: &str) {
        if !self.engine.silent {
            self.out.program(&format!("{text}\n"));
        }
    }

    fn debug(&mut self, item: &GlobalName, span: Span, text: &str) {
        if self.engine.silent {
            return;
        }
        let place = self.engine.place_in(item, span, self.here);
        self.out.note(&crate::report::remark(place.as_ref(), text, &self.engine.sources));
    }

    fn progress(&mut self, work: &[WorkProgress]) {
        progress::tell(work);
    }

    fn layout(&self) -> Layout {
        self.out.view.printed()
    }

    fn seconds(&mut self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn load(
        &mut self,
        item: &GlobalName,
        span: Span,
        file: &str,
        options: &[(LoadOption, Value)],
        ty: &Type,
    ) -> Result<Value, Refusal> {
        let path = self.path(item, span, file);
        let format = Format::of(&path).ok_or_else(|| no_format(file))?;
        let shown = files::shown(&path);
        let options = table_options(options)?;
        // Only the arrays that the type names are read.
        let wanted: Option<Vec<String>> = match ty {
            Type::Record(fields) => Some(fields.iter().map(|(name, _)| name.to_string()).collect()),
            _ => None,
        };
        // Reading runs on a thread, so that Ctrl-C need not wait for a large or endless file.
        let read = move || format.load(&path, &options, wanted.as_deref());
        let read = files::stoppable(read).ok_or_else(data::interrupted)?;
        let unread = |why: Unreadable| match interrupt::requested() {
            true => data::interrupted(),
            false => Refusal::new(Code::E0603, format!("`{shown}`: {}", why.message)),
        };
        let content = read?.map_err(unread)?;
        let read = Read { content, source: None, at: None, json: format == Format::Json, file: None, once: true };
        let (datum, ty, warnings) = fit::fit_to(ty, &read, self.engine).map_err(|problems| {
            let first = problems.into_iter().next();
            if first.as_ref().is_some_and(|p| p.code == Code::E0507) {
                return data::interrupted();
            }
            let message = first.as_ref().map(|p| p.message.as_str()).unwrap_or_default();
            let mut refusal = Refusal::new(Code::E0604, format!("`{shown}`: {message}"));
            refusal.help = first.and_then(|p| p.help);
            refusal
        })?;
        // One place has one report, so all warnings share it.
        let mut warnings = warnings.into_iter().map(|warning| warning.message);
        if let Some(first) = warnings.next() {
            let more: Vec<String> = warnings.map(|message| format!("also {message}")).collect();
            self.warn_with(item, span, format!("`{shown}`: {first}"), (!more.is_empty()).then(|| more.join("\n")));
        }
        Ok(self.engine.value(&datum, &ty))
    }

    fn save(&mut self, item: &GlobalName, span: Span, value: &Value, file: &str) -> Result<(), Refusal> {
        let path = self.path(item, span, file);
        let format = Format::of(&path).ok_or_else(|| no_format(file))?;
        let shown = files::shown(&path);
        let named = |mut refusal: Refusal| {
            if refusal.code == Code::E0605 {
                refusal.message = format!("`{shown}`: {}", refusal.message);
            }
            files::Unwritten::Refused(refusal)
        };
        let warnings = files::write_by(&path, |file| format.write_to(value, file).map_err(named))?;
        for warning in warnings {
            self.warn(item, span, format!("`{shown}`: {warning}"));
        }
        Ok(())
    }

    fn plot(&mut self, item: &GlobalName, span: Span, figure: &Figure) -> Result<(), Refusal> {
        let Some(file) = figure.text_option(PlotOption::File) else {
            let shown = plot::shown(figure, self.out.screen())?;
            if !self.engine.silent {
                self.out.program(&shown);
            }
            return Ok(());
        };
        let path = self.path(item, span, file);
        let (bytes, notes) = plot::file(figure, plot::format(&path, file)?)?;
        files::write(&path, &bytes)?;
        let shown = files::shown(&path);
        for note in notes {
            self.warn(item, span, format!("`{shown}`: {note}"));
        }
        Ok(())
    }
}

impl Console<'_> {
    /// Resolves the name of a data file, relative to the folder of the file that mentions it, or
    /// else to the current directory.
    fn path(&self, item: &GlobalName, span: Span, file: &str) -> PathBuf {
        let place = self.engine.place_in(item, span, self.here);
        let folder = place.and_then(|place| self.engine.folder(place.source));
        folder.map_or_else(|| PathBuf::from(file), |folder| folder.join(file))
    }

    fn warn(&self, item: &GlobalName, span: Span, message: String) {
        self.warn_with(item, span, message, None);
    }

    fn warn_with(&self, item: &GlobalName, span: Span, message: String, help: Option<String>) {
        let mut problem = Problem::new(Code::W0606, message);
        problem.help = help;
        problem.places.extend(self.engine.place_in(item, span, self.here));
        self.out.warn(&[problem], &self.engine.sources);
    }
}

/// Converts the options of a `load`.
pub(crate) fn table_options(given: &[(LoadOption, Value)]) -> Result<data::Options, Refusal> {
    let mut options = data::Options::default();
    for (option, value) in given {
        let words: Vec<String> = match value {
            Value::Str(text) => vec![text.to_string()],
            Value::Array(texts) => {
                let text = |value: &Value| if let Value::Str(text) = value { Some(text.to_string()) } else { None };
                texts.elements().unwrap_or_default().iter().filter_map(text).collect()
            }
            _ => Vec::new(),
        };
        for word in &words {
            option.check(word).map_err(|message| {
                let mut refusal = Refusal::new(Code::E0604, message);
                refusal.help = Some(option.doc().to_owned());
                refusal
            })?;
        }
        match option {
            LoadOption::Separator => options.separator = words.first().and_then(|word| word.chars().next()),
            LoadOption::Decimal => options.decimal_comma = words.first().is_some_and(|word| word == ","),
            LoadOption::Comment => options.comment = words.into_iter().next(),
            LoadOption::Missing => options.missing = words,
            LoadOption::Header => options.header = if let Value::Bool(header) = value { Some(*header) } else { None },
        }
    }
    Ok(options)
}

fn no_format(file: &str) -> Refusal {
    let mut refusal = Refusal::new(Code::E0603, format!("`{file}` is no data file"));
    refusal.help =
        Some("data files end in .npy, .npz, .csv, .json or .png; text tables, .txt, are only written".to_owned());
    refusal
}
