//! **Signature help.** Returns the signature of the function whose arguments are being written, and
//! the active parameter. Works on the tokens before the cursor, so the call may be incomplete.
//! Completion uses the expected type of an argument to rank locals.

use lang_core::base::{GlobalName, ModuleName, Name, Span};
use lang_core::resolve::forms::DerivativeOp;
use lang_core::resolve::{NameEnv, Res, ValueRef, vocabulary};
use lang_core::session::Session;
use lang_core::syntax::ast::Expr;
use lang_core::syntax::lexer::Token;
use lang_core::syntax::token::{Sym, Word};
use lang_core::types::ty::Type;
use lang_core::types::type_info::TypeInfoBody;

use crate::completion::{CompletionContext, completion_context};
use crate::name_docs::DocumentedName;

/// A signature of the called function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureHelp {
    /// Code: `conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`.
    pub label: String,
    /// The spans of the parameters in the label, in bytes.
    pub parameters: Vec<Span>,
    /// The index of the active parameter; `None` if the call has more arguments than parameters.
    pub active: Option<usize>,
    /// Markdown; empty if there is no documentation.
    pub docs: String,
}

/// The callee of a call.
enum CalledFunction {
    /// A definition.
    Def(GlobalName),
    /// A constructor.
    Ctor(GlobalName, Name),
    /// A word of the language.
    Word(Name),
    /// A value of a function type, by its name.
    Value(Name, Type),
    /// A derivative, with its definition if that is known.
    Derivative(DerivativeOp, Name, Option<GlobalName>),
}

/// Returns the signatures of the innermost call around an offset. A word of the language may have
/// several.
#[must_use]
pub fn signature_help(session: &Session, module: &str, at: u32) -> Vec<SignatureHelp> {
    let Some(place) = completion_context(session, module, at) else { return Vec::new() };
    // A word that touches the cursor counts as part of the argument.
    let Some((called, nth)) = enclosing_call(session, &module.into(), &place) else { return Vec::new() };
    let help = |label: String, docs: String| {
        let parameters = parameter_spans(&label);
        let active = Some(nth).filter(|nth| *nth < parameters.len());
        SignatureHelp { label, parameters, active, docs }
    };
    let said = |subject: DocumentedName| subject.docs(session).unwrap_or_default();
    match called {
        CalledFunction::Def(def) => {
            let said = said(DocumentedName::Value(def.clone()));
            let label = match session.signature(&def) {
                Some(signature) => format!("{}{signature}", def.name),
                None => said.signature.trim_start_matches("def ").to_owned(),
            };
            vec![help(label, said.docs)]
        }
        CalledFunction::Ctor(ty, name) => {
            let Some(info) = session.type_info(&ty) else { return Vec::new() };
            let TypeInfoBody::Sum(ctors) = &info.body else { return Vec::new() };
            let Some(ctor) = ctors.iter().find(|c| c.name == name) else { return Vec::new() };
            let args: Vec<String> = ctor.args.iter().map(Type::to_string).collect();
            let params: Vec<&str> = info.params.iter().map(|p| p.0.as_str()).collect();
            let of = if params.is_empty() { String::new() } else { format!("({})", params.join(", ")) };
            let label = format!("{name}({}) -> {}{of}", args.join(", "), ty.name);
            vec![help(label, said(DocumentedName::Type(ty)).docs)]
        }
        CalledFunction::Word(word) => {
            // Only signatures with brackets; those of binders have none.
            let described = vocabulary::describe(&word).into_iter().filter(|d| d.signature.contains('('));
            let plain = described.filter(|d| !matches!(d.kind, "keyword" | "binder"));
            plain.map(|d| help(d.signature.trim_start_matches("def ").to_owned(), d.description())).collect()
        }
        CalledFunction::Value(name, ty) => vec![help(format!("{name}{ty}"), String::new())],
        CalledFunction::Derivative(derivative, of, def) => {
            let params = def.as_ref().and_then(|def| session.signature(def));
            let same = matches!(
                derivative,
                DerivativeOp::Grad | DerivativeOp::ValueAndGrad | DerivativeOp::Jacobian | DerivativeOp::Hessian
            );
            let label = match (params, same) {
                (Some(signature), true) => {
                    let params: Vec<String> = signature.params.iter().map(|(n, t)| format!("{n}: {t}")).collect();
                    format!("{}({of})({})", derivative.name(), params.join(", "))
                }
                _ => {
                    let used = derivative.doc().split("):").next().unwrap_or_default();
                    format!("{used})")
                }
            };
            let from = label.find(")(").map_or(0, |at| at + 1);
            let parameters = parameter_spans_from(&label, from);
            let active = Some(nth).filter(|nth| *nth < parameters.len());
            vec![SignatureHelp { label, parameters, active, docs: derivative.doc().to_owned() }]
        }
    }
}

/// Returns the expected type of an argument at this place, if the callee's signature is known.
pub(crate) fn expected_argument_type(
    session: &Session,
    module: &ModuleName,
    place: &CompletionContext,
) -> Option<Type> {
    // Only a whole argument has the type, so a bracket or a comma must precede it.
    if !matches!(place.token_before(0), Some(Token::Sym(Sym::LParen | Sym::Comma))) {
        return None;
    }
    match enclosing_call(session, module, place)? {
        (CalledFunction::Def(def), nth) => session.signature(&def)?.params.get(nth).map(|p| p.1.clone()),
        (CalledFunction::Value(_, Type::Fun(fun)), nth) => fun.params.get(nth).map(|p| p.1.clone()),
        _ => None,
    }
}

/// Returns the innermost call around the place, and the index of its active argument.
fn enclosing_call(
    session: &Session,
    module: &ModuleName,
    place: &CompletionContext,
) -> Option<(CalledFunction, usize)> {
    for (at, sym, commas) in place.open_brackets() {
        if sym != Sym::LParen {
            continue;
        }
        if let Some(called) = at.checked_sub(1).and_then(|before| callee_ending_at(session, module, place, before)) {
            let nth = argument_position(session, place, at).unwrap_or(commas);
            return Some((called, nth));
        }
    }
    None
}

/// Returns the index of the argument according to the tree, because a comma between the indices of
/// a sum does not separate arguments.
fn argument_position(session: &Session, place: &CompletionContext, bracket: usize) -> Option<usize> {
    let item = place.item.as_ref()?;
    let parsed = session.tree(item)?;
    let bracket = place.preceding_tokens.get(bracket)?.span;
    let at = place.prefix.start.checked_sub(item.start)?;
    let args = parsed.tree.exprs.iter().find_map(|(_, node)| match &node.kind {
        Expr::Call(callee, args) => {
            let callee = parsed.tree.exprs[*callee].span;
            (callee.end <= bracket.start
                && bracket.start <= callee.end.saturating_add(1)
                && node.span.end > bracket.start)
                .then_some(args)
        }
        _ => None,
    })?;
    let ends: Vec<u32> = args.iter().map(|a| parsed.tree.exprs[a.value].span.end).collect();
    let before = ends.iter().filter(|end| **end < at).count();
    match (ends.get(before), place.token_before(0)) {
        // The argument at the cursor, or a new one after a comma.
        (Some(_), _) | (None, Some(Token::Sym(Sym::Comma))) => Some(before),
        (None, _) if ends.is_empty() => None,
        (None, _) => Some(before.saturating_sub(1)),
    }
}

/// Returns the callee that ends at the token `end`.
fn callee_ending_at(
    session: &Session,
    module: &ModuleName,
    place: &CompletionContext,
    end: usize,
) -> Option<CalledFunction> {
    let token = |at: usize| place.preceding_tokens.get(at).map(|t| &t.token);
    let before = |by: usize| end.checked_sub(by).and_then(token);
    let view = session.view();
    let value = |module: &ModuleName, name: &Name| match view.top_level_value(module, name)? {
        ValueRef::Def(def) => Some(CalledFunction::Def(def)),
        ValueRef::Let(global) => match session.let_type(&global)? {
            ty @ Type::Fun(_) => Some(CalledFunction::Value(name.clone(), ty)),
            _ => None,
        },
        ValueRef::Ctor(ty, _) => Some(CalledFunction::Ctor(ty, name.clone())),
    };
    match token(end)? {
        Token::Name(name) => {
            if let (Some(Token::Sym(Sym::Dot)), Some(Token::Name(alias))) = (before(1), before(2)) {
                return value(&view.imported_module(module, alias)?, name);
            }
            // The head of an item declares a name and calls nothing.
            if matches!(before(1), Some(Token::Keyword(Word::Def | Word::Type))) {
                return None;
            }
            if let Some(ty) = local_type(session, place, end, name) {
                return matches!(ty, Type::Fun(_)).then(|| CalledFunction::Value(name.clone(), ty));
            }
            value(module, name)
                .or_else(|| (!vocabulary::describe(name).is_empty()).then(|| CalledFunction::Word(name.clone())))
        }
        Token::Sym(Sym::RParen) => {
            // For `grad(f)(`: search back for the bracket that this one closes.
            let mut depth = 0usize;
            let open = (0..=end).rev().find(|at| {
                match token(*at) {
                    Some(Token::Sym(sym)) if sym.is_closer() => depth += 1,
                    Some(Token::Sym(sym)) if sym.closer().is_some() => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0
            })?;
            let Some(Token::Name(word)) = open.checked_sub(1).and_then(token) else { return None };
            let derivative = DerivativeOp::by_name(word)?;
            let (def, of) = match (token(open + 1), token(open + 2), token(open + 3)) {
                (Some(Token::Name(alias)), Some(Token::Sym(Sym::Dot)), Some(Token::Name(name))) => (
                    view.imported_module(module, alias).and_then(|m| value(&m, name)),
                    Name::from(format!("{alias}.{name}")),
                ),
                (Some(Token::Name(name)), ..) => (value(module, name), name.clone()),
                _ => (None, "f".into()),
            };
            let def = match def {
                Some(CalledFunction::Def(def)) => Some(def),
                _ => None,
            };
            Some(CalledFunction::Derivative(derivative, of, def))
        }
        _ => None,
    }
}

/// Returns the type of the local that is named by the token.
fn local_type(session: &Session, place: &CompletionContext, at: usize, name: &Name) -> Option<Type> {
    let item = place.item.as_ref()?;
    let (parsed, resolved) = (session.tree(item)?, session.resolved(item)?);
    let span = place.preceding_tokens.get(at)?.span;
    let named = parsed.tree.exprs.iter().find(|(_, node)| node.span == span && node.kind == Expr::Name(name.clone()));
    let Some(Res::Local(id)) = named.and_then(|(id, _)| resolved.exprs.get(&id)) else { return None };
    let declared = resolved.locals.get(id.0 as usize)?.span;
    let checked = session.checked_item(item)?;
    checked.body.locals.iter().find(|l| l.span == declared && l.name == *name).map(|l| l.ty.clone())
}

/// Returns the spans of the comma-separated parts between the first brackets of a label.
fn parameter_spans(label: &str) -> Vec<Span> {
    parameter_spans_from(label, 0)
}

fn parameter_spans_from(label: &str, from: usize) -> Vec<Span> {
    let mut found = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    let mut add = |from: usize, to: usize| {
        let text = label.get(from..to).unwrap_or_default();
        let from = from + text.len() - text.trim_start().len();
        if !text.trim().is_empty() {
            let at = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            found.push(Span::new(at(from), at(from + text.trim().len())));
        }
    };
    for (at, c) in label.char_indices().filter(|(at, _)| *at >= from) {
        match c {
            '(' | '[' | '{' => {
                depth += 1;
                if depth == 1 {
                    start = at + 1;
                }
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    add(start, at);
                    break;
                }
            }
            ',' if depth == 1 => {
                add(start, at);
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}
