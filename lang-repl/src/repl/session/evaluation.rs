//! Evaluation of expressions: the value is shown and stored as `ans`.

use std::collections::BTreeSet;

use lang_core::base::{Code, Diagnostic, Name};
use lang_core::runtime::OperationCounts;
use lang_core::syntax::ast::{Expr, Item};
use lang_core::syntax::lexer::{LexedText, Token, lex};
use lang_core::syntax::parser;
use lang_core::syntax::split::ItemKind;
use lang_core::syntax::token::Sym;

use super::super::session_document::SessionEntry;
use super::{ANS, INPUT_NAME, ReplSession};
use crate::clock::Clock;
use crate::problem::Problem;
use crate::show::{self, EvaluatedValue};
use crate::source::SourceId;

impl ReplSession {
    /// Evaluates the expression of a `do` item.
    pub(super) fn run_do_item(&mut self, item: &str, source: SourceId, offset: u32) -> bool {
        let word = lex(item).tokens.first().map_or(0, |t| t.span.end);
        let text = item.get(word as usize..).unwrap_or_default();
        self.evaluate_expression(text, source, offset + word)
    }

    pub(super) fn evaluate_expression(&mut self, text: &str, source: SourceId, offset: u32) -> bool {
        let LexedText { tokens, diagnostics, .. } = lex(text);
        let Some(last) = tokens.last() else {
            // The text has no tokens, for example a comment in the syntax of another language.
            let told = |d: Diagnostic| crate::problem::from_diagnostic(&d.shift(offset), source);
            let problems: Vec<Problem> = diagnostics.into_iter().map(told).collect();
            let good = problems.is_empty();
            if !good {
                self.report_failure(problems);
            }
            return good;
        };
        let quiet = last.token == Token::Sym(Sym::Semi);
        let text = if quiet { text.get(..last.span.start as usize).unwrap_or(text) } else { text };
        let mut clock = Clock::start();
        self.engine.counts = OperationCounts::default();
        let result = self.engine.evaluate(&self.module_name(), text, source, offset, &mut || clock.finish_check());
        clock.finish_run();
        self.out.print_measurements(&self.options.common, &clock, self.engine.counts);
        match result {
            Ok(evaluated) if evaluated.is_silent() => true,
            Ok(evaluated) => {
                if !quiet {
                    self.out.print(&format!("{}\n", show::format_with_type(None, &evaluated, self.out.view)));
                }
                self.store_as_ans(&evaluated);
                true
            }
            Err(problems) => {
                // A function whose sizes only a call settles has no value to show, so its signature
                // is shown.
                if let ([token], true) = (&*tokens, problems.iter().any(|p| p.code == Code::E0301))
                    && let Token::Name(name) = &token.token
                    && let Ok(signature) = self.engine.type_of_expression(&self.module_name(), name, source)
                {
                    self.out.print(&format!("{name}{signature}\n"));
                    return true;
                }
                self.report_failure(problems);
                false
            }
        }
    }

    /// Plots the arguments of `:plot`, with or without parentheses.
    pub(super) fn run_plot(&mut self, argument: &str) {
        let argument = argument.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        let enclosed = format!("plot{argument}");
        let text = if is_single_call(&enclosed) { enclosed } else { format!("plot({argument})") };
        let source = self.engine.sources.add(INPUT_NAME, text.as_str());
        self.evaluate_expression(&text, source, 0);
    }

    fn store_as_ans(&mut self, evaluated: &EvaluatedValue) {
        let name = Name::from(ANS);
        if self.document.entries.iter().any(|e| e.kind == ItemKind::Def && e.defines(ANS)) {
            return;
        }
        let source = self.engine.sources.add(INPUT_NAME, ANS);
        let before = self.document.clone();
        let Some(ty) = self.engine.writable_type(&self.module_name(), &evaluated.ty) else {
            self.drop_stale(&BTreeSet::from([self.global_name(ANS)]));
            return;
        };
        let entry = SessionEntry::stored(&name, &ty, source);
        if !before.entries.contains(&entry) {
            let (document, _) = before.with_entries(vec![entry]);
            self.set_document(document);
            // The type cannot be written in this module, so the value cannot be stored.
            if self.engine.problems_of_segment(&self.module_name(), source, 0).iter().any(Problem::is_error) {
                self.drop_stale(&BTreeSet::from([self.global_name(ANS)]));
                return;
            }
        }
        self.engine.store_value(&self.global_name(ANS), evaluated.value.clone());
    }
}

/// Whether the whole text is one call of a single name.
fn is_single_call(text: &str) -> bool {
    let parsed = parser::parse_expr(text);
    let Item::Do(root) = parsed.tree.item else { return false };
    let good = !parsed.diagnostics.iter().any(Diagnostic::is_error);
    match &parsed.tree.exprs[root].kind {
        Expr::Call(callee, _) => good && matches!(parsed.tree.exprs[*callee].kind, Expr::Name(_)),
        _ => false,
    }
}
