//! **Provenance of Tensor SSA.** Prints the origin of a statement beside it. The origin is the
//! place and text of an expression, or the derivative rule and the statement of the primal that it
//! was applied to.
//!
//! It serves `iverson show --origins`, the loop nests and the cost tables.

use std::fmt;
use std::sync::Arc;

use lang_core::base::{Code, GlobalName, Span};
use lang_core::ir::core::{DerivativeKind, FunctionKey};
use lang_core::ir::origin::{OriginKind, StatementOrigin, VALUE};
use lang_core::ir::ssa::{Rhs, StmtId};
use lang_core::ir::ssa_text::AnnotatedSsa;
use lang_core::pipeline::SsaWithOrigins;
use lang_core::source::{self, DerivativeMode};

use super::Engine;
use super::forms::RenderedForm;
use crate::cli::CompilerForm;
use crate::problem::Problem;

/// The most origins shown for one statement.
const MAX_ORIGINS: usize = 3;

/// The most characters shown of a text.
const MAX_EXCERPT: usize = 48;

/// A place in a text.
pub(crate) struct LocatedText {
    /// Line and column; `None` for the library, which is in no file.
    pub(crate) position: Option<(usize, usize)>,
    /// The text at the place, shortened to one line.
    pub(crate) text: String,
}

impl fmt::Display for LocatedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some((line, column)) => write!(f, "{line}:{column} {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl Engine {
    /// Returns a definition, or a derivative of it, in Tensor SSA with the origin of each line.
    pub(crate) fn form_with_origins(
        &self,
        stage: CompilerForm,
        name: &GlobalName,
    ) -> Result<RenderedForm, Box<Problem>> {
        let (def, mut derivatives) = self.split_derivative_suffixes(stage, name);
        match stage {
            CompilerForm::Ssa => {}
            CompilerForm::Forward => derivatives.push(DerivativeMode::Forward),
            CompilerForm::Adjoint => derivatives.push(DerivativeMode::Adjoint),
            CompilerForm::Core
            | CompilerForm::Lifted
            | CompilerForm::Flat
            | CompilerForm::Pushed
            | CompilerForm::Opt
            | CompilerForm::Loops
            | CompilerForm::Clif => {
                let message = "this form has no origins".to_owned();
                let mut problem = Problem::new(Code::E0600, message);
                problem.help = Some("use `--origins` with `ssa`, `forward` or `adjoint`".to_owned());
                return Err(Box::new(problem));
            }
        }
        let callee = source::callee_at_f64(&self.session, &def).ok_or_else(|| self.unknown_definition_error(name))?;
        if let Err(why) = self.session.stages(&callee) {
            return Err(self.no_core_form_error(&def, &why));
        }
        let callee = self.derivative_callee(&def, callee, &derivatives)?;
        let traced = self.session.traced(&callee).ok_or_else(|| Self::no_derivative_error(&def))?;
        let note = |var| self.origins_line(&callee, &traced, var);
        Ok(RenderedForm::without_note(AnnotatedSsa { ssa: &traced.ssa, note: &note }.to_string()))
    }

    /// Returns the origins of a statement of `callee` on one line.
    pub(super) fn origins_of_statement(&self, callee: &Arc<FunctionKey>, var: StmtId) -> Option<String> {
        self.origins_line(callee, &self.session.traced(callee)?, var)
    }

    /// Returns the text that a statement is computed for. For a statement of a derivative, that is
    /// the text of the primal's statement.
    pub(super) fn source_text(&self, callee: &Arc<FunctionKey>, var: StmtId) -> Option<String> {
        let traced = self.session.traced(callee)?;
        let of = traced.origins.origins_of(var).find_map(|origin| match origin.kind {
            OriginKind::PrimalStatement(of, _) if traced.origins.inlined(origin).is_none() => Some(of),
            _ => None,
        });
        match of {
            Some(of) => {
                let function = primal_callee(callee);
                let text = || Some(self.statement_text(&function, of)).filter(|text| !text.is_empty());
                self.source_text(&function, of).or_else(text)
            }
            None => self.origins_of_statement(callee, var),
        }
    }

    /// Returns the place of a span in an item, with its text on one line.
    pub(super) fn located_text(&self, item: &GlobalName, span: Span) -> LocatedText {
        let place = self.place_of(item, span);
        let at = place.and_then(|p| Some(self.sources.get(p.source)?.position(p.span.range().start)));
        LocatedText { position: at.map(|at| (at.line, at.column)), text: self.excerpt(item, span) }
    }

    /// Formats up to `MAX_ORIGINS` origins of a statement on one line.
    fn origins_line(&self, callee: &Arc<FunctionKey>, traced: &SsaWithOrigins, var: StmtId) -> Option<String> {
        let mut all = traced.origins.origins_of(var).filter_map(|origin| {
            let own = self.origin_text(callee, origin)?;
            Some(match traced.origins.inlined(origin) {
                Some((inlined, of)) => {
                    format!("{own}, in {}: {}", callee_name(inlined), self.statement_text(inlined, of))
                }
                None => own,
            })
        });
        let mut origin_texts: Vec<String> = all.by_ref().take(MAX_ORIGINS).collect();
        origin_texts.extend(all.next().map(|_| "…".to_owned()));
        (!origin_texts.is_empty()).then(|| origin_texts.join("; "))
    }

    /// Formats one origin with its place; `None` for an input.
    fn origin_text(&self, callee: &Arc<FunctionKey>, origin: &StatementOrigin) -> Option<String> {
        match origin.kind {
            OriginKind::Input => None,
            OriginKind::SourceExpr(span) => Some(self.located_text(&callee.def, span).to_string()),
            OriginKind::PrimalStatement(of, rule) => {
                let text = self.statement_text(&primal_callee(callee), of);
                Some(format!("{rule} of {}: {text}", of.name()))
            }
        }
    }

    /// Returns the text of the expression that a statement computes, or the name of an input.
    fn statement_text(&self, callee: &Arc<FunctionKey>, var: StmtId) -> String {
        let Some(traced) = self.session.traced(callee) else { return String::new() };
        if let Some(Rhs::Input(k)) = traced.ssa.stmts.get(var.0 as usize).map(|s| &s.rhs) {
            let input = traced.ssa.inputs.get(*k as usize);
            return input.map(|i| traced.ssa.vars.name(i.local).to_string()).unwrap_or_default();
        }
        let Some(origin) = traced.origins.origins_of(var).next() else { return String::new() };
        if let Some((inlined, of)) = traced.origins.inlined(origin) {
            return self.statement_text(inlined, of);
        }
        match origin.kind {
            OriginKind::SourceExpr(span) => self.excerpt(&callee.def, span),
            OriginKind::PrimalStatement(of, VALUE) => self.statement_text(&primal_callee(callee), of),
            OriginKind::Input | OriginKind::PrimalStatement(..) => self.origin_text(callee, origin).unwrap_or_default(),
        }
    }

    /// Returns a part of an item's text on one line, cut to `MAX_EXCERPT` characters.
    fn excerpt(&self, item: &GlobalName, span: Span) -> String {
        let item = self.session.item(item);
        let text = item.as_ref().and_then(|i| i.text.get(span.range())).unwrap_or_default();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = line.chars().take(MAX_EXCERPT).collect();
        if short.len() < line.len() { format!("{} …", short.trim_end()) } else { short }
    }
}

/// Returns the primal of a derivative, or the function itself if it is none.
fn primal_callee(callee: &FunctionKey) -> Arc<FunctionKey> {
    Arc::new(callee.primal().unwrap_or_else(|| callee.clone()))
}

/// Returns the name of a definition; a derivative has the suffixes that users write: `f_adj`.
fn callee_name(callee: &FunctionKey) -> String {
    let mut name = callee.def.name.to_string();
    for derivation in &*callee.derivatives {
        name += match derivation {
            DerivativeKind::Forward(_) => DerivativeMode::Forward.suffix(),
            DerivativeKind::Adjoint { .. } => DerivativeMode::Adjoint.suffix(),
        };
    }
    name
}
