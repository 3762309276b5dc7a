//! Evaluation of expressions in a session: prints the value and stores it as `ans`. Input lines,
//! `:load`, `:time` and `:plot` use it.

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
    /// Evaluates the expression of a `do` item, and returns whether that succeeds.
    pub(super) fn run_do_item(&mut self, item: &str, source: SourceId, offset: u32) -> bool {
        let keyword_end = lex(item).tokens.first().map_or(0, |t| t.span.end);
        let text = item.get(keyword_end as usize..).unwrap_or_default();
        self.evaluate_expression(text, source, offset + keyword_end)
    }

    /// Evaluates an expression at an offset of a source, and returns whether that succeeds. Prints
    /// the value, unless the text ends in a semicolon.
    pub(super) fn evaluate_expression(&mut self, text: &str, source: SourceId, offset: u32) -> bool {
        let LexedText { tokens, diagnostics, .. } = lex(text);
        let Some(last) = tokens.last() else {
            // The text has only comments, or invalid characters such as `#`.
            let to_problem = |d: Diagnostic| crate::problem::from_diagnostic(&d.shift(offset), source);
            let problems: Vec<Problem> = diagnostics.into_iter().map(to_problem).collect();
            let is_empty = problems.is_empty();
            if !is_empty {
                self.report_failure(problems);
            }
            return is_empty;
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
                // The name of a function has no value if only a call determines the sizes (E0301).
                // Its signature is printed instead.
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

    /// Evaluates a call of `plot` with the arguments of `:plot`, which may be in parentheses.
    pub(super) fn run_plot(&mut self, argument: &str) {
        let argument = argument.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        let enclosed = format!("plot{argument}");
        let text = if is_single_call(&enclosed) { enclosed } else { format!("plot({argument})") };
        let source = self.engine.sources.add(INPUT_NAME, text.as_str());
        self.evaluate_expression(&text, source, 0);
    }

    /// Stores a value as `ans`, unless the session defines a function of this name. If the module
    /// cannot express the type, drops the previous `ans` instead.
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
            // The written type is an error in this module, so the value cannot be stored.
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
    let is_valid = !parsed.diagnostics.iter().any(Diagnostic::is_error);
    match &parsed.tree.exprs[root].kind {
        Expr::Call(callee, _) => is_valid && matches!(parsed.tree.exprs[*callee].kind, Expr::Name(_)),
        _ => false,
    }
}
