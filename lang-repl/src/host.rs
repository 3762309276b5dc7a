//! **The host of the interpreter.** Implements the effects of programs: print, read the clock, load
//! and save data files, plot.

use std::path::PathBuf;
use std::time::Instant;

use lang_core::base::{Code, GlobalName, Span};
use lang_core::resolve::forms::{LoadOption, PlotOption};
use lang_core::runtime::print::Layout;
use lang_core::runtime::{Figure, Host, Refusal, Value, WorkProgress};
use lang_core::types::ty::Type;

use crate::data::{self, DataFormat, UnreadableFile};
use crate::engine::Engine;
use crate::literal::ReadContent;
use crate::out::OutputWriter;
use crate::problem::Problem;
use crate::source::SourceId;
use crate::{files, fit, interrupt, plot, progress};

/// The item that is evaluated, or an expression outside every module.
pub(crate) struct RunLocation {
    pub(crate) item: GlobalName,
    /// Its name in a trace.
    pub(crate) name: &'static str,
    /// The text of an expression, and its offset there.
    pub(crate) source: Option<(SourceId, u32)>,
}

/// The host, as the interpreter sees it.
pub(crate) struct EngineHost<'a> {
    pub(crate) out: OutputWriter,
    pub(crate) start_time: Instant,
    pub(crate) engine: &'a Engine,
    pub(crate) location: &'a RunLocation,
}

impl Host for EngineHost<'_> {
    fn print(&mut self, text: &str) {
        if !self.engine.suppress_output {
            self.out.print_program_output(&format!("{text}\n"));
        }
    }

    fn debug(&mut self, item: &GlobalName, span: Span, text: &str) {
        if self.engine.suppress_output {
            return;
        }
        let place = self.engine.place_in_item(item, span, self.location);
        self.out.note(&crate::report::render_debug(place.as_ref(), text, &self.engine.sources));
    }

    fn progress(&mut self, work: &[WorkProgress]) {
        progress::report_position(work);
    }

    fn layout(&self) -> Layout {
        self.out.view.program_layout()
    }

    fn seconds(&mut self) -> f64 {
        self.start_time.elapsed().as_secs_f64()
    }

    fn load(
        &mut self,
        item: &GlobalName,
        span: Span,
        file: &str,
        options: &[(LoadOption, Value)],
        ty: &Type,
    ) -> Result<Value, Refusal> {
        let path = self.resolve_path(item, span, file);
        let format = DataFormat::from_path(&path).ok_or_else(|| unknown_format(file))?;
        let shown = files::display_path(&path);
        let options = table_options(options)?;
        // Only the arrays that the type names are read.
        let wanted: Option<Vec<String>> = match ty {
            Type::Record(fields) => Some(fields.iter().map(|(name, _)| name.to_string()).collect()),
            _ => None,
        };
        // Reading runs on a thread, so that Ctrl-C need not wait for a large or endless file.
        let read = move || format.load(&path, &options, wanted.as_deref());
        let read = files::run_interruptible(read).ok_or_else(data::interrupt_refusal)?;
        let unread = |why: UnreadableFile| match interrupt::is_requested() {
            true => data::interrupt_refusal(),
            false => Refusal::new(Code::E0603, format!("`{shown}`: {}", why.message)),
        };
        let content = read?.map_err(unread)?;
        let read = ReadContent {
            content,
            source: None,
            report_span: None,
            is_json: format == DataFormat::Json,
            file: None,
            is_used_once: true,
        };
        let (datum, ty, warnings) = fit::fit_to_type(ty, &read, self.engine).map_err(|problems| {
            let first = problems.into_iter().next();
            if first.as_ref().is_some_and(|p| p.code == Code::E0507) {
                return data::interrupt_refusal();
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
        Ok(self.engine.datum_value(&datum, &ty))
    }

    fn save(&mut self, item: &GlobalName, span: Span, value: &Value, file: &str) -> Result<(), Refusal> {
        let path = self.resolve_path(item, span, file);
        let format = DataFormat::from_path(&path).ok_or_else(|| unknown_format(file))?;
        let shown = files::display_path(&path);
        let named = |mut refusal: Refusal| {
            if refusal.code == Code::E0605 {
                refusal.message = format!("`{shown}`: {}", refusal.message);
            }
            files::WriteError::Unrepresentable(refusal)
        };
        let warnings = files::write_with(&path, |file| format.write_to(value, file).map_err(named))?;
        for warning in warnings {
            self.warn(item, span, format!("`{shown}`: {warning}"));
        }
        Ok(())
    }

    fn plot(&mut self, item: &GlobalName, span: Span, figure: &Figure) -> Result<(), Refusal> {
        let Some(file) = figure.text_option(PlotOption::File) else {
            let shown = plot::draw_text(figure, self.out.plot_screen())?;
            if !self.engine.suppress_output {
                self.out.print_program_output(&shown);
            }
            return Ok(());
        };
        let path = self.resolve_path(item, span, file);
        let (bytes, notes) = plot::draw_file(figure, plot::file_format(&path, file)?)?;
        files::write(&path, &bytes)?;
        let shown = files::display_path(&path);
        for note in notes {
            self.warn(item, span, format!("`{shown}`: {note}"));
        }
        Ok(())
    }
}

impl EngineHost<'_> {
    /// Resolves the name of a data file, relative to the folder of the file that mentions it, or
    /// else to the current directory.
    fn resolve_path(&self, item: &GlobalName, span: Span, file: &str) -> PathBuf {
        let place = self.engine.place_in_item(item, span, self.location);
        let folder = place.and_then(|place| self.engine.folder_of(place.source));
        folder.map_or_else(|| PathBuf::from(file), |folder| folder.join(file))
    }

    fn warn(&self, item: &GlobalName, span: Span, message: String) {
        self.warn_with(item, span, message, None);
    }

    fn warn_with(&self, item: &GlobalName, span: Span, message: String, help: Option<String>) {
        let mut problem = Problem::new(Code::W0606, message);
        problem.help = help;
        problem.places.extend(self.engine.place_in_item(item, span, self.location));
        self.out.report_warnings(&[problem], &self.engine.sources);
    }
}

/// Converts the options of a `load`.
pub(crate) fn table_options(load_options: &[(LoadOption, Value)]) -> Result<data::TableOptions, Refusal> {
    let mut options = data::TableOptions::default();
    for (option, value) in load_options {
        let words: Vec<String> = match value {
            Value::Str(text) => vec![text.to_string()],
            Value::Array(texts) => {
                let text = |value: &Value| if let Value::Str(text) = value { Some(text.to_string()) } else { None };
                texts.elements().unwrap_or_default().iter().filter_map(text).collect()
            }
            _ => Vec::new(),
        };
        for word in &words {
            option.validate(word).map_err(|message| {
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

fn unknown_format(file: &str) -> Refusal {
    let mut refusal = Refusal::new(Code::E0603, format!("`{file}` is not a data file"));
    refusal.help =
        Some("data files end in .npy, .npz, .csv, .json or .png; text tables (.txt) can only be written".to_owned());
    refusal
}
