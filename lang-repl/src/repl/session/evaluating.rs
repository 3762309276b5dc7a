//! Evaluation of expressions: the value is shown and stored as `ans`.

use std::collections::BTreeSet;

use lang_core::base::{Code, Diagnostic, Name};
use lang_core::runtime::OperationCounts;
use lang_core::syntax::ast::{Expr, Item};
use lang_core::syntax::lexer::{LexedText, Token, lex};
use lang_core::syntax::parser;
use lang_core::syntax::split::ItemKind;
use lang_core::syntax::token::Sym;

use super::super::document::Entry;
use super::{ANS, INPUT, Session};
use crate::clock::Clock;
use crate::problem::Problem;
use crate::show::{self, Evaluated};
use crate::source::SourceId;

impl Session {
    /// Evaluates the expression of a `do` item.
    pub(super) fn do_item(&mut self, item: &str, source: SourceId, offset: u32) -> bool {
        let word = lex(item).tokens.first().map_or(0, |t| t.span.end);
        let text = item.get(word as usize..).unwrap_or_default();
        self.expression(text, source, offset + word)
    }

    pub(super) fn expression(&mut self, text: &str, source: SourceId, offset: u32) -> bool {
        let LexedText { tokens, diagnostics, .. } = lex(text);
        let Some(last) = tokens.last() else {
            // The text has no tokens, for example a comment in the syntax of another language.
            let told = |d: Diagnostic| crate::problem::of_diagnostic(&d.shift(offset), source);
            let problems: Vec<Problem> = diagnostics.into_iter().map(told).collect();
            let good = problems.is_empty();
            if !good {
                self.fail(problems);
            }
            return good;
        };
        let quiet = last.token == Token::Sym(Sym::Semi);
        let text = if quiet { text.get(..last.span.start as usize).unwrap_or(text) } else { text };
        let mut clock = Clock::start();
        self.engine.counts = OperationCounts::default();
        let result = self.engine.evaluate(&self.module(), text, source, offset, &mut || clock.checked());
        clock.ran();
        self.out.measured(&self.options.common, &clock, self.engine.counts);
        match result {
            Ok(evaluated) if evaluated.is_silent() => true,
            Ok(evaluated) => {
                if !quiet {
                    self.out.print(&format!("{}\n", show::with_type(None, &evaluated, self.out.view)));
                }
                self.keep_as_ans(&evaluated);
                true
            }
            Err(problems) => {
                // A function whose sizes only a call settles has no value to show, so its signature
                // is shown.
                if let ([token], true) = (&*tokens, problems.iter().any(|p| p.code == Code::E0301))
                    && let Token::Name(name) = &token.token
                    && let Ok(signature) = self.engine.type_of(&self.module(), name, source)
                {
                    self.out.print(&format!("{name}{signature}\n"));
                    return true;
                }
                self.fail(problems);
                false
            }
        }
    }

    /// Plots the arguments of `:plot`, with or without parentheses.
    pub(super) fn plot(&mut self, argument: &str) {
        let argument = argument.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        let enclosed = format!("plot{argument}");
        let text = if is_one_call(&enclosed) { enclosed } else { format!("plot({argument})") };
        let source = self.engine.sources.add(INPUT, text.as_str());
        self.expression(&text, source, 0);
    }

    fn keep_as_ans(&mut self, evaluated: &Evaluated) {
        let name = Name::from(ANS);
        if self.document.entries.iter().any(|e| e.kind == ItemKind::Def && e.defines(ANS)) {
            return;
        }
        let source = self.engine.sources.add(INPUT, ANS);
        let before = self.document.clone();
        let Some(ty) = self.engine.spelled(&self.module(), &evaluated.ty) else {
            self.forget(&BTreeSet::from([self.global(ANS)]));
            return;
        };
        let entry = Entry::frozen(&name, &ty, source);
        if !before.entries.contains(&entry) {
            let (document, _) = before.with(vec![entry]);
            self.install(document);
            // The type cannot be written in this module, so the value cannot be stored.
            if self.engine.problems_of_segment(&self.module(), source, 0).iter().any(Problem::is_error) {
                self.forget(&BTreeSet::from([self.global(ANS)]));
                return;
            }
        }
        self.engine.keep(&self.global(ANS), evaluated.value.clone());
    }
}

/// Whether the whole text is one call of a single name.
fn is_one_call(text: &str) -> bool {
    let parsed = parser::parse_expr(text);
    let Item::Do(root) = parsed.tree.item else { return false };
    let good = !parsed.diagnostics.iter().any(Diagnostic::is_error);
    match &parsed.tree.exprs[root].kind {
        Expr::Call(callee, _) => good && matches!(parsed.tree.exprs[*callee].kind, Expr::Name(_)),
        _ => false,
    }
}
