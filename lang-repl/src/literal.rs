//! Untyped literals of the command line and of data files: Iverson literals, read by the language's
//! own parser, and JSON. `fit` checks them against a type.

use lang_core::base::{Code, Name, Span};
use lang_core::syntax::ast::{Expr, ExprId, Item, Tree};
use lang_core::syntax::ops::UnOp;
use lang_core::syntax::parser;

use crate::data::FileContent;
use crate::problem::Problem;
use crate::source::SourceId;

/// A literal with its place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Literal {
    pub(crate) kind: LiteralKind,
    /// The span; empty for JSON, whose places are not recorded.
    pub(crate) span: Span,
}

/// The kind of a literal, with its contents.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum LiteralKind {
    /// An integer; it fits a real type too.
    Int(i128),
    Real(f64),
    Bool(bool),
    /// A string. It fits no type, except for JSON's `"NaN"` and infinities.
    Text(String),
    /// `[…]`; in JSON also a tuple.
    List(Vec<Literal>),
    /// `(…)` or `()`; JSON's `null`.
    Tuple(Vec<Literal>),
    /// `{…}`; in JSON also a constructor.
    Record(Vec<(Name, Literal)>),
    /// `Leaf(1)` or `m.Leaf(1)`.
    Ctor(Name, Vec<Literal>),
}

/// The content that was read for a value, with its origin.
pub(crate) struct ReadContent {
    pub(crate) content: UntypedContent,
    /// The text that reports point into.
    pub(crate) source: Option<SourceId>,
    /// The place of all reports; `None` if literals know their own places.
    pub(crate) report_span: Option<Span>,
    /// Whether it is JSON, in which tuples are arrays and constructors are objects.
    pub(crate) is_json: bool,
    /// The data file, if the source does not name it.
    pub(crate) file: Option<String>,
    /// Whether the content is used once, so that its arrays can be moved into the value.
    pub(crate) is_used_once: bool,
}

/// A value before its type is known.
pub(crate) enum UntypedContent {
    Literal(Literal),
    File(FileContent),
}

impl ReadContent {
    /// Returns the span of reports about the whole content.
    pub(crate) fn span(&self) -> Span {
        match &self.content {
            UntypedContent::Literal(literal) => self.span_of(literal.span),
            UntypedContent::File(_) => self.report_span.unwrap_or_default(),
        }
    }

    /// Returns the span of reports about a part.
    pub(crate) fn span_of(&self, span: Span) -> Span {
        self.report_span.unwrap_or(span)
    }

    /// Adds a place to a problem, if the source is known.
    pub(crate) fn with_place(&self, problem: Problem, span: Span, label: impl Into<String>) -> Problem {
        match self.source {
            Some(source) => problem.with_place(source, self.span_of(span), label),
            None => problem,
        }
    }
}

/// Reads an Iverson literal.
pub(crate) fn read_literal(text: &str, source: SourceId) -> Result<ReadContent, Vec<Problem>> {
    let parsed = parser::parse_expr(text);
    let errors: Vec<Problem> = parsed
        .diagnostics
        .iter()
        .filter(|d| d.is_error())
        .map(|d| crate::problem::from_diagnostic(d, source))
        .collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let Item::Do(root) = parsed.tree.item else {
        return Err(vec![not_literal(source, parsed.tree.span)]);
    };
    let literal = from_tree(&parsed.tree, root).map_err(|span| vec![not_literal(source, span)])?;
    Ok(ReadContent {
        content: UntypedContent::Literal(literal),
        source: Some(source),
        report_span: None,
        is_json: false,
        file: None,
        is_used_once: true,
    })
}

fn not_literal(source: SourceId, span: Span) -> Problem {
    Problem::new(Code::E0600, "an argument must be a literal")
        .with_place(source, span, "not a literal")
        .with_help("to pass expressions, use `iverson eval 'main(…)' -l FILE`")
}

/// Converts a syntax node to a literal. The error is the span of the first node that is no literal.
/// The recursion is bounded, because the parser bounds the depth of trees.
fn from_tree(tree: &Tree, id: ExprId) -> Result<Literal, Span> {
    let node = &tree.exprs[id];
    let all = |ids: &[ExprId]| ids.iter().map(|id| from_tree(tree, *id)).collect::<Result<Vec<_>, _>>();
    let kind = match &node.kind {
        Expr::Int(n) => LiteralKind::Int(i128::from(*n)),
        Expr::Float(x) => LiteralKind::Real(*x),
        Expr::Bool(b) => LiteralKind::Bool(*b),
        Expr::Str(text) => LiteralKind::Text(text.to_string()),
        Expr::Name(name) => match name.as_str() {
            "pi" => LiteralKind::Real(std::f64::consts::PI),
            "inf" => LiteralKind::Real(f64::INFINITY),
            "nan" => LiteralKind::Real(f64::NAN),
            _ => LiteralKind::Ctor(name.clone(), Vec::new()),
        },
        Expr::Unary(UnOp::Neg, inner) => match from_tree(tree, *inner)?.kind {
            LiteralKind::Int(n) => LiteralKind::Int(-n),
            LiteralKind::Real(x) => LiteralKind::Real(-x),
            _ => return Err(node.span),
        },
        Expr::Paren(inner) => from_tree(tree, *inner)?.kind,
        Expr::Array { items, .. } => LiteralKind::List(all(items)?),
        Expr::Tuple(items) => LiteralKind::Tuple(all(items)?),
        Expr::Record(fields) => {
            let field = |(name, value): &(lang_core::syntax::ast::Ident, ExprId)| {
                Ok((name.name.clone(), from_tree(tree, *value)?))
            };
            LiteralKind::Record(fields.iter().map(field).collect::<Result<_, Span>>()?)
        }
        Expr::Call(callee, args) if args.iter().all(|a| a.name.is_none()) => {
            let name = match &tree.exprs[*callee].kind {
                Expr::Name(name) => name,
                Expr::Field(_, field) => &field.name,
                _ => return Err(node.span),
            };
            let args = args.iter().map(|a| from_tree(tree, a.value)).collect::<Result<Vec<_>, _>>()?;
            LiteralKind::Ctor(name.clone(), args)
        }
        Expr::Field(_, field) => LiteralKind::Ctor(field.name.clone(), Vec::new()),
        _ => return Err(node.span),
    };
    Ok(Literal { kind, span: node.span })
}

/// Drops its parts iteratively, because recursion would overflow the stack at deep values.
impl Drop for LiteralKind {
    fn drop(&mut self) {
        let mut left = Vec::new();
        self.take_parts(&mut left);
        while let Some(mut part) = left.pop() {
            part.kind.take_parts(&mut left);
        }
    }
}

impl LiteralKind {
    /// Moves the parts out of the literal.
    fn take_parts(&mut self, to: &mut Vec<Literal>) {
        match self {
            Self::List(parts) | Self::Tuple(parts) | Self::Ctor(_, parts) => to.append(parts),
            Self::Record(fields) => to.extend(std::mem::take(fields).into_iter().map(|(_, part)| part)),
            Self::Int(_) | Self::Real(_) | Self::Bool(_) | Self::Text(_) => {}
        }
    }

    /// Describes the literal as a noun phrase.
    pub(crate) fn noun(&self) -> String {
        match self {
            Self::Int(n) => format!("the integer {n}"),
            Self::Real(x) => format!("the real number {x:?}"),
            Self::Bool(b) => format!("`{b}`"),
            Self::Text(text) => format!("the string {text:?}"),
            Self::List(items) => format!("an array of length {}", items.len()),
            Self::Tuple(items) if items.is_empty() => "()".to_owned(),
            Self::Tuple(items) => format!("a tuple of length {}", items.len()),
            Self::Record(_) => "a record".to_owned(),
            Self::Ctor(name, _) => format!("`{name}`"),
        }
    }
}
