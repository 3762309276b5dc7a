//! **Folding ranges.** Folds items, their documentation, blocks of comments, runs of imports, and
//! multi-line expressions inside items. Reads only texts and syntax trees; nothing is resolved or
//! type-checked.

use std::collections::HashSet;

use lang_core::base::Span;
use lang_core::session::Session;
use lang_core::syntax::ast::Expr;
use lang_core::syntax::split::ItemKind;

/// The kind of a fold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FoldKind {
    /// Code.
    Code,
    /// Lines of comment or documentation.
    Comment,
    /// Imports.
    Imports,
}

/// A range of lines that can be folded. The first line stays visible.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FoldRange {
    /// The range from the first non-blank character of the first line to the end of the last line.
    pub span: Span,
    /// The kind of text.
    pub kind: FoldKind,
}

/// Returns the folds of a module in order, at most one for each first line.
#[must_use]
pub fn folds(session: &Session, module: &str) -> Vec<FoldRange> {
    let Some(text) = session.text(module) else { return Vec::new() };
    let mut found = comment_folds(&text);
    let several = |span: Span| text.get(span.range()).is_some_and(|t| t.trim_end().contains('\n'));
    let mut imports: Option<Span> = None;
    let mut count = 0;
    for item in session.items(module) {
        if item.kind == ItemKind::Import {
            imports = Some(imports.map_or(item.span(), |all| all.to(item.span())));
            count += 1;
            continue;
        }
        found.extend(imports.take().filter(|_| count > 1).map(|span| FoldRange { span, kind: FoldKind::Imports }));
        count = 0;
        if !several(item.span()) {
            continue;
        }
        let Some(parsed) = session.tree(&item) else { continue };
        let code = |span: Span| FoldRange { span: span.shift(item.start), kind: FoldKind::Code };
        let mut own = vec![code(parsed.tree.span)];
        for (_, node) in parsed.tree.exprs.iter() {
            let is_form = matches!(
                node.kind,
                Expr::Match(..)
                    | Expr::Array { .. }
                    | Expr::Tuple(_)
                    | Expr::Record(_)
                    | Expr::Paren(_)
                    | Expr::Let(..)
                    | Expr::Binder { .. }
                    | Expr::Fold { .. }
                    | Expr::Loop { .. }
                    | Expr::If(..)
                    | Expr::Lambda(..)
                    | Expr::Call(..)
            );
            if is_form {
                own.push(code(node.span));
            }
        }
        found.extend(own.into_iter().filter(|fold| several(fold.span)));
    }
    found.extend(imports.filter(|_| count > 1).map(|span| FoldRange { span, kind: FoldKind::Imports }));
    // If several folds begin on one line, the longest is kept.
    found.sort_by_key(|fold| (fold.span.start, u32::MAX - fold.span.end));
    let mut line = 0;
    let mut at = 0;
    let mut lines = HashSet::new();
    found.retain(|fold| {
        let start = fold.span.range().start;
        line += text.get(at..start).map_or(0, |t| t.matches('\n').count());
        at = start;
        lines.insert(line)
    });
    found
}

/// Returns the runs of two or more comment lines. A string cannot span lines, so each line that
/// begins with `--` is a comment.
fn comment_folds(text: &str) -> Vec<FoldRange> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut block: Option<(usize, usize, usize)> = None;
    let span = |from: usize, to: usize| {
        Span::new(u32::try_from(from).unwrap_or(u32::MAX), u32::try_from(to).unwrap_or(u32::MAX))
    };
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        if code.starts_with("--") {
            let from = at + line.len() - code.len();
            let to = at + line.trim_end().len();
            block = Some(block.map_or((from, to, 1), |(first, _, count)| (first, to, count + 1)));
        } else if let Some((from, to, count)) = block.take()
            && count > 1
        {
            found.push(FoldRange { span: span(from, to), kind: FoldKind::Comment });
        }
        at += line.len();
    }
    if let Some((from, to, count)) = block
        && count > 1
    {
        found.push(FoldRange { span: span(from, to), kind: FoldKind::Comment });
    }
    found
}
