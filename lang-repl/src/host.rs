//! What programs do to the world: they print, tell the time, load and save data files, and draw.

use std::path::PathBuf;
use std::time::Instant;

use lang_core::base::{Code, GlobalName, Span};
use lang_core::interp::print::Layout;
use lang_core::interp::{Figure, Host, Progress, Refusal, Value};
use lang_core::resolve::forms::PlotOption;
use lang_core::types::ty::Type;

use crate::data::{Format, Unreadable};
use crate::engine::Engine;
use crate::literal::Read;
use crate::out::Out;
use crate::problem::Problem;
use crate::source::SourceId;
use crate::{files, fit, plot, progress};

/// What is being evaluated: an item, or an expression in no module.
pub(crate) struct Here {
    pub(crate) item: GlobalName,
    /// What it is called in a trace.
    pub(crate) name: &'static str,
    /// The text of an expression, and where it begins there.
    pub(crate) source: Option<(SourceId, u32)>,
}

/// The world as programs see it.
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

    fn progress(&mut self, work: &[Progress]) {
        progress::tell(work);
    }

    fn layout(&self) -> Layout {
        self.out.view.layout()
    }

    fn seconds(&mut self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn load(&mut self, item: &GlobalName, span: Span, file: &str, ty: &Type) -> Result<Value, Refusal> {
        let path = self.path(item, span, file);
        let format = Format::of(&path).ok_or_else(|| no_format(file))?;
        let shown = files::shown(&path);
        // Neither a large file nor one that never ends keeps Ctrl-C waiting.
        let read = move || files::data(&path, format).map(|bytes| format.read(&bytes));
        let read = files::stoppable(read).ok_or_else(|| Refusal::new(Code::E0507, "interrupted"))?;
        let unread = |why: Unreadable| Refusal::new(Code::E0603, format!("`{shown}`: {}", why.message));
        let read =
            Read { content: read?.map_err(unread)?, source: None, at: None, json: format == Format::Json, file: None };
        let (datum, ty, warnings) = fit::fit_to(ty, &read, self.engine).map_err(|problems| {
            let first = problems.into_iter().next();
            let message = first.as_ref().map(|p| p.message.as_str()).unwrap_or_default();
            let mut refusal = Refusal::new(Code::E0604, format!("`{shown}`: {message}"));
            refusal.help = first.and_then(|p| p.help);
            refusal
        })?;
        for warning in warnings {
            self.warn(item, span, format!("`{shown}`: {}", warning.message));
        }
        Ok(self.engine.value(&datum, &ty))
    }

    fn save(&mut self, item: &GlobalName, span: Span, value: &Value, file: &str) -> Result<(), Refusal> {
        let path = self.path(item, span, file);
        let format = Format::of(&path).ok_or_else(|| no_format(file))?;
        let shown = files::shown(&path);
        let (bytes, warnings) = format.write(value).map_err(|mut refusal| {
            refusal.message = format!("`{shown}`: {}", refusal.message);
            refusal
        })?;
        files::write(&path, &bytes)?;
        for warning in warnings {
            self.warn(item, span, format!("`{shown}`: {warning}"));
        }
        Ok(())
    }

    fn plot(&mut self, item: &GlobalName, span: Span, figure: &Figure) -> Result<(), Refusal> {
        let Some(file) = figure.text(PlotOption::File) else {
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
    /// A data file is named relative to the file that names it, else to the current directory.
    fn path(&self, item: &GlobalName, span: Span, file: &str) -> PathBuf {
        let place = self.engine.place_in(item, span, self.here);
        let folder = place.and_then(|place| self.engine.folder(place.source));
        folder.map_or_else(|| PathBuf::from(file), |folder| folder.join(file))
    }

    fn warn(&self, item: &GlobalName, span: Span, message: String) {
        let mut problem = Problem::new(Code::W0606, message);
        problem.places.extend(self.engine.place_in(item, span, self.here));
        self.out.warn(&[problem], &self.engine.sources);
    }
}

fn no_format(file: &str) -> Refusal {
    let mut refusal = Refusal::new(Code::E0603, format!("`{file}` is no data file"));
    refusal.help =
        Some("data files end in .npy, .npz, .csv, .json or .png; text tables, .txt, are only written".to_owned());
    refusal
}
