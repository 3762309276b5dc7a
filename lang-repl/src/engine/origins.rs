//! Where each line of Tensor SSA comes from, told beside it: the place and text of an expression, or the rule by which
//! it was made and for which statement of the function that was differentiated.

use std::fmt;
use std::sync::Arc;

use lang_core::base::{Code, GlobalName, Span};
use lang_core::ir::core::{Callee, Derivation};
use lang_core::ir::origin::{Ancestor, Origin, VALUE};
use lang_core::ir::ssa::{Rhs, Var};
use lang_core::ir::ssa_text::Noted;
use lang_core::pipeline::Traced;
use lang_core::source::{self, Which};

use super::Engine;
use super::forms::Form;
use crate::cli::Stage;
use crate::problem::Problem;

/// More origins of a line are not told.
const MOST: usize = 3;

/// Longer texts are cut.
const LONGEST: usize = 48;

/// A place in a text.
pub(crate) struct TextAt {
    /// Line and column; the library is in no file.
    pub(crate) at: Option<(usize, usize)>,
    /// What stands there, on one line and not long.
    pub(crate) text: String,
}

impl fmt::Display for TextAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, "{line}:{column} {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl Engine {
    /// A definition, or a derivative of it, in Tensor SSA, with where each line comes from.
    pub(crate) fn form_with_origins(&self, stage: Stage, name: &GlobalName) -> Result<Form, Box<Problem>> {
        let (def, mut derivatives) = self.derived_from(stage, name);
        match stage {
            Stage::Ssa => {}
            Stage::Forward => derivatives.push(Which::Forward),
            Stage::Adjoint => derivatives.push(Which::Adjoint),
            Stage::Core | Stage::Lifted | Stage::Pairs | Stage::Pushed | Stage::Loops | Stage::Clif => {
                let message = "this form does not tell where its lines come from".to_owned();
                let mut problem = Problem::new(Code::E0600, message);
                problem.help = Some("`ssa`, `forward` and `adjoint` take `--origins`".to_owned());
                return Err(Box::new(problem));
            }
        }
        let callee = source::shown_callee(&self.session, &def).ok_or_else(|| self.no_definition(name))?;
        if let Err(why) = self.session.stages(&callee) {
            return Err(self.no_core(&def, &why));
        }
        let callee = self.derivative_of(&def, callee, &derivatives)?;
        let traced = self.session.traced(&callee).ok_or_else(|| Self::constant(&def))?;
        let note = |var| self.origins(&callee, &traced, var);
        Ok(Form::of(Noted { ssa: &traced.ssa, note: &note }.to_string()))
    }

    /// Where a statement of a function stands in the text, in a line.
    pub(super) fn stands_at(&self, callee: &Arc<Callee>, var: Var) -> Option<String> {
        self.origins(callee, &self.session.traced(callee)?, var)
    }

    /// Where what a statement is computed for stands in the text: of a derivative in that of the function.
    pub(super) fn made_for(&self, callee: &Arc<Callee>, var: Var) -> Option<String> {
        let traced = self.session.traced(callee)?;
        let of = traced.origins.of(var).find_map(|origin| match origin.ancestor {
            Ancestor::Statement(of, _) if traced.origins.inlined(origin).is_none() => Some(of),
            _ => None,
        });
        match of {
            Some(of) => {
                let function = primal(callee);
                let text = || Some(self.stands_for(&function, of)).filter(|text| !text.is_empty());
                self.made_for(&function, of).or_else(text)
            }
            None => self.stands_at(callee, var),
        }
    }

    /// A place of an item, and its text in a line.
    pub(super) fn text_at(&self, item: &GlobalName, span: Span) -> TextAt {
        let place = self.place_of(item, span);
        let at = place.and_then(|p| Some(self.sources.get(p.source)?.position(p.span.range().start)));
        TextAt { at: at.map(|at| (at.line, at.column)), text: self.piece(item, span) }
    }

    /// Where a statement comes from, in a line.
    fn origins(&self, callee: &Arc<Callee>, traced: &Traced, var: Var) -> Option<String> {
        let mut all = traced.origins.of(var).filter_map(|origin| {
            let own = self.told(callee, origin)?;
            Some(match traced.origins.inlined(origin) {
                Some((inlined, of)) => format!("{own}, in {}: {}", called(inlined), self.stands_for(inlined, of)),
                None => own,
            })
        });
        let mut told: Vec<String> = all.by_ref().take(MOST).collect();
        told.extend(all.next().map(|_| "…".to_owned()));
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// One origin of a statement, with its place.
    fn told(&self, callee: &Arc<Callee>, origin: &Origin) -> Option<String> {
        match origin.ancestor {
            Ancestor::Input => None,
            Ancestor::Text(span) => Some(self.text_at(&callee.def, span).to_string()),
            Ancestor::Statement(of, rule) => {
                let text = self.stands_for(&primal(callee), of);
                Some(format!("{rule} of {}: {text}", of.name()))
            }
        }
    }

    /// The text that a statement of a definition stands for, or its name.
    fn stands_for(&self, callee: &Arc<Callee>, var: Var) -> String {
        let Some(traced) = self.session.traced(callee) else { return String::new() };
        if let Some(Rhs::Input(k)) = traced.ssa.stmts.get(var.0 as usize).map(|s| &s.rhs) {
            let input = traced.ssa.inputs.get(*k as usize);
            return input.map(|i| traced.ssa.vars.name(i.local).to_string()).unwrap_or_default();
        }
        let Some(origin) = traced.origins.of(var).next() else { return String::new() };
        if let Some((inlined, of)) = traced.origins.inlined(origin) {
            return self.stands_for(inlined, of);
        }
        match origin.ancestor {
            Ancestor::Text(span) => self.piece(&callee.def, span),
            Ancestor::Statement(of, VALUE) => self.stands_for(&primal(callee), of),
            Ancestor::Input | Ancestor::Statement(..) => self.told(callee, origin).unwrap_or_default(),
        }
    }

    /// A part of an item's text, on one line and not long.
    fn piece(&self, item: &GlobalName, span: Span) -> String {
        let item = self.session.item(item);
        let text = item.as_ref().and_then(|i| i.text.get(span.range())).unwrap_or_default();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = line.chars().take(LONGEST).collect();
        if short.len() < line.len() { format!("{} …", short.trim_end()) } else { short }
    }
}

/// What it is the derivative of.
fn primal(callee: &Callee) -> Arc<Callee> {
    Arc::new(callee.primal().unwrap_or_else(|| callee.clone()))
}

/// A definition by its name, or a derivative by those that readers know: `f_adj`.
fn called(callee: &Callee) -> String {
    let mut name = callee.def.name.to_string();
    for derivation in &*callee.derived {
        name += match derivation {
            Derivation::Forward(_) => Which::Forward.suffix(),
            Derivation::Adjoint { .. } => Which::Adjoint.suffix(),
        };
    }
    name
}
