//! Values as people write them on the command line or in data files: Iverson literals, read by the
//! language's own parser, and JSON. What type they are meant to have, `fit` decides.

use lang_core::base::{Code, Name, Span};
use lang_core::syntax::ast::{Expr, ExprId, Item, Tree};
use lang_core::syntax::ops::UnOp;
use lang_core::syntax::parser;

use crate::data::Data;
use crate::problem::Problem;
use crate::source::SourceId;

/// A literal at its place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Literal {
    pub(crate) kind: Kind,
    /// Empty in JSON, whose places are not known.
    pub(crate) span: Span,
}

/// What it is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Kind {
    /// An integer; it may stand for a real.
    Int(i128),
    Real(f64),
    Bool(bool),
    /// Of no type but, in JSON, `"NaN"` and the infinities.
    Text(String),
    /// `[…]`; in JSON tuples too.
    List(Vec<Literal>),
    /// `(…)`, `()`; JSON's `null`.
    Tuple(Vec<Literal>),
    /// `{…}`; in JSON constructors too.
    Record(Vec<(Name, Literal)>),
    /// `Leaf(1)`, `m.Leaf(1)`
    Ctor(Name, Vec<Literal>),
}

/// What was read for a value, and from where.
pub(crate) struct Read {
    pub(crate) content: Content,
    /// What reports point at.
    pub(crate) source: Option<SourceId>,
    /// Where all reports point; none where literals know their places.
    pub(crate) at: Option<Span>,
    /// Is it JSON, in which tuples are arrays and constructors objects?
    pub(crate) json: bool,
    /// The data file, where the source does not name it.
    pub(crate) file: Option<String>,
    /// Is it read once, so that its arrays become those of the value?
    pub(crate) once: bool,
}

/// A value before its type is known.
pub(crate) enum Content {
    Literal(Literal),
    Data(Data),
}

impl Read {
    /// Where reports about all of it point.
    pub(crate) fn span(&self) -> Span {
        match &self.content {
            Content::Literal(literal) => self.span_of(literal.span),
            Content::Data(_) => self.at.unwrap_or_default(),
        }
    }

    /// Where reports about a part of it point.
    pub(crate) fn span_of(&self, span: Span) -> Span {
        self.at.unwrap_or(span)
    }

    /// The problem with its place, where there is one.
    pub(crate) fn place(&self, problem: Problem, span: Span, label: impl Into<String>) -> Problem {
        match self.source {
            Some(source) => problem.at(source, self.span_of(span), label),
            None => problem,
        }
    }
}

/// Reads an Iverson literal.
pub(crate) fn iverson(text: &str, source: SourceId) -> Result<Read, Vec<Problem>> {
    let parsed = parser::parse_expr(text);
    let errors: Vec<Problem> =
        parsed.diagnostics.iter().filter(|d| d.is_error()).map(|d| crate::problem::of_diagnostic(d, source)).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let Item::Do(root) = parsed.tree.item else {
        return Err(vec![not_literal(source, parsed.tree.span)]);
    };
    let literal = from_tree(&parsed.tree, root).map_err(|span| vec![not_literal(source, span)])?;
    Ok(Read { content: Content::Literal(literal), source: Some(source), at: None, json: false, file: None, once: true })
}

fn not_literal(source: SourceId, span: Span) -> Problem {
    Problem::new(Code::E0600, "an argument is a literal")
        .at(source, span, "this is to be computed")
        .help("call `main` in `iverson eval 'main(…)' -l FILE` where arguments are expressions")
}

/// The literal at a node, or the place of what is none. The depth of trees is bounded.
fn from_tree(tree: &Tree, id: ExprId) -> Result<Literal, Span> {
    let node = &tree.exprs[id];
    let all = |ids: &[ExprId]| ids.iter().map(|id| from_tree(tree, *id)).collect::<Result<Vec<_>, _>>();
    let kind = match &node.kind {
        Expr::Int(n) => Kind::Int(i128::from(*n)),
        Expr::Float(x) => Kind::Real(*x),
        Expr::Bool(b) => Kind::Bool(*b),
        Expr::Str(text) => Kind::Text(text.to_string()),
        Expr::Name(name) => match name.as_str() {
            "pi" => Kind::Real(std::f64::consts::PI),
            "inf" => Kind::Real(f64::INFINITY),
            "nan" => Kind::Real(f64::NAN),
            _ => Kind::Ctor(name.clone(), Vec::new()),
        },
        Expr::Unary(UnOp::Neg, inner) => match from_tree(tree, *inner)?.kind {
            Kind::Int(n) => Kind::Int(-n),
            Kind::Real(x) => Kind::Real(-x),
            _ => return Err(node.span),
        },
        Expr::Paren(inner) => from_tree(tree, *inner)?.kind,
        Expr::Array { items, .. } => Kind::List(all(items)?),
        Expr::Tuple(items) => Kind::Tuple(all(items)?),
        Expr::Record(fields) => {
            let field = |(name, value): &(lang_core::syntax::ast::Ident, ExprId)| {
                Ok((name.name.clone(), from_tree(tree, *value)?))
            };
            Kind::Record(fields.iter().map(field).collect::<Result<_, Span>>()?)
        }
        Expr::Call(callee, args) if args.iter().all(|a| a.name.is_none()) => {
            let name = match &tree.exprs[*callee].kind {
                Expr::Name(name) => name,
                Expr::Field(_, field) => &field.name,
                _ => return Err(node.span),
            };
            let args = args.iter().map(|a| from_tree(tree, a.value)).collect::<Result<Vec<_>, _>>()?;
            Kind::Ctor(name.clone(), args)
        }
        Expr::Field(_, field) => Kind::Ctor(field.name.clone(), Vec::new()),
        _ => return Err(node.span),
    };
    Ok(Literal { kind, span: node.span })
}

/// Drops its parts iteratively, because recursion would overflow the stack at deep values.
impl Drop for Kind {
    fn drop(&mut self) {
        let mut left = Vec::new();
        self.take_parts(&mut left);
        while let Some(mut part) = left.pop() {
            part.kind.take_parts(&mut left);
        }
    }
}

impl Kind {
    /// Moves its parts out.
    fn take_parts(&mut self, to: &mut Vec<Literal>) {
        match self {
            Self::List(parts) | Self::Tuple(parts) | Self::Ctor(_, parts) => to.append(parts),
            Self::Record(fields) => to.extend(std::mem::take(fields).into_iter().map(|(_, part)| part)),
            Self::Int(_) | Self::Real(_) | Self::Bool(_) | Self::Text(_) => {}
        }
    }

    /// What it is, as a noun phrase.
    pub(crate) fn noun(&self) -> String {
        match self {
            Self::Int(n) => format!("the integer {n}"),
            Self::Real(x) => format!("the real number {x:?}"),
            Self::Bool(b) => format!("`{b}`"),
            Self::Text(text) => format!("the text {text:?}"),
            Self::List(items) => format!("an array of {}", items.len()),
            Self::Tuple(items) if items.is_empty() => "()".to_owned(),
            Self::Tuple(items) => format!("a tuple of {}", items.len()),
            Self::Record(_) => "a record".to_owned(),
            Self::Ctor(name, _) => format!("`{name}`"),
        }
    }
}
