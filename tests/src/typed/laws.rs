//! **Metamorphic laws** of a program that is well typed by construction:
//!
//! - the program checks, and no access that was proved in bounds fails;
//! - printing and formatting change neither its trees nor its results and costs;
//! - nor do renaming its variables, reordering its definitions, or writing the inferred types at
//!   its `let`s;
//! - if the body alone determines a result type, removing that type keeps the signature. Names of
//!   unknown extents, the order of record fields and names in function types may change.
//!
//! A body may need its declared type, as for a bare `for i:` or an `f32` literal. Removing that
//! type may change or break the body, so the last law skips such definitions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use lang_core::base::{Diagnostic, GlobalName, Span};
use lang_core::predicate::{Atom, Poly};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Expr, Item, Pat};
use lang_core::syntax::format::{format, print_tree, same_meaning};
use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::parser::parse_item;
use lang_core::syntax::split::{ItemKind, split};
use lang_core::types::tree::{TypedBody, TypedExpr as Typed, TypedPattern as TypedPat};
use lang_core::types::ty::{FunType, GenericArg, Signature, SizeSource, Type};

use super::derivatives::{self, DerivativeCounts};
use super::hits::NodeCoverage;
use super::run::{ItemResult, run};
use crate::render;
use crate::run::MAIN;

/// A law that a program broke.
#[derive(Debug)]
pub struct MetamorphicViolation {
    /// The name of the law.
    pub law: String,
    /// The details.
    pub how: String,
}

fn broken<T>(law: impl Into<String>, how: impl Into<String>) -> Result<T, MetamorphicViolation> {
    Err(MetamorphicViolation { law: law.into(), how: how.into() })
}

/// The counts of a program's results.
#[derive(Clone, Copy, Default, Debug)]
pub struct LawStatistics {
    /// Items with a value.
    pub values: u64,
    /// Items that failed.
    pub failures: u64,
    /// `let`s that received a type.
    pub annotated: u64,
    /// Definitions whose result type was removed.
    pub inferred: u64,
    /// The derivatives that could be checked.
    pub derivatives: DerivativeCounts,
}

/// Checks all laws on a program, whose runs may take as long as `patience`.
///
/// # Errors
/// The first law that does not hold.
pub fn check(
    session: &mut Session,
    text: &str,
    hits: &mut NodeCoverage,
    patience: Duration,
) -> Result<LawStatistics, MetamorphicViolation> {
    let original = outcome(session, text, "it checks", patience)?;
    let items = session.items(MAIN);
    let bodies: Vec<(ItemRef, Arc<TypedBody>)> =
        items.iter().filter_map(|item| Some((item.clone(), session.checked_item(item)?.body.clone()))).collect();
    bodies.iter().for_each(|(_, body)| hits.count(body));
    let failures = original.iter().filter(|r| r.result.is_err()).count();
    let mut did = LawStatistics {
        values: u64::try_from(original.len() - failures).unwrap_or(0),
        failures: u64::try_from(failures).unwrap_or(0),
        ..LawStatistics::default()
    };
    let signatures: Vec<(GlobalName, Option<Signature>)> = items
        .iter()
        .filter(|i| i.kind == ItemKind::Def)
        .map(|i| (i.global.clone(), session.signature(&i.global).map(|s| (*s).clone())))
        .collect();
    match derivatives::check(session, text) {
        Ok(seen) => did.derivatives = seen,
        Err((law, how)) => return broken(law, how),
    }
    let (annotated, count) = annotate(text, &bodies);
    did.annotated = count;
    printing(text)?;
    let formatted = match format(text) {
        Ok(formatted) => formatted,
        Err(errors) => return broken("formatting", format!("{errors:?}")),
    };
    match format(&formatted) {
        Ok(twice) if twice == formatted => {}
        Ok(twice) => return broken("formatting is idempotent", format!("{formatted}---\n{twice}")),
        Err(errors) => return broken("formatting", format!("{errors:?}\n{formatted}")),
    }
    for (text, law) in [
        (formatted, "formatting keeps what it does"),
        (rename(text), "names of variables do not matter"),
        (reorder(text), "the order of definitions does not matter"),
        (annotated, "inferred types may be written"),
    ] {
        same(&original, outcome(session, &text, law, patience)?, &text, law)?;
    }
    did.inferred = removal(session, text, &signatures)?;
    Ok(did)
}

fn outcome(
    session: &mut Session,
    text: &str,
    law: &str,
    patience: Duration,
) -> Result<Vec<ItemResult>, MetamorphicViolation> {
    session.set_text(MAIN, text);
    let errors: Vec<Diagnostic> = session.diagnostics(MAIN).into_iter().filter(Diagnostic::is_error).collect();
    refused(text, &errors, law)?;
    match run(session, patience) {
        Ok(ran) => Ok(ran),
        Err(f) => broken(format!("{}, {law}", f.law), f.how),
    }
}

/// Fails if errors exist. The name of the law contains their codes, so that a shrunk program fails
/// for the same reason.
fn refused(text: &str, errors: &[Diagnostic], law: &str) -> Result<(), MetamorphicViolation> {
    if errors.is_empty() {
        return Ok(());
    }
    let codes: BTreeSet<&str> = errors.iter().map(|d| d.code.name()).collect();
    let codes: Vec<&str> = codes.into_iter().collect();
    broken(format!("{law} ({})", codes.join(", ")), render::diagnostics(MAIN, text, errors))
}

/// Checks that a text has the results of the original program, and no others.
fn same(original: &[ItemResult], mut ran: Vec<ItemResult>, text: &str, law: &str) -> Result<(), MetamorphicViolation> {
    for was in original {
        match ran.iter().position(|r| r.item == was.item).map(|at| ran.swap_remove(at)) {
            Some(is) if is == *was => {}
            is => return broken(law, format!("{was:?}\n{is:?}\nin\n{text}")),
        }
    }
    if ran.is_empty() { Ok(()) } else { broken(law, format!("{ran:?}\nbesides\n{original:?}\nin\n{text}")) }
}

/// Checks that printing a tree and parsing the text returns the same tree, which prints the same.
fn printing(text: &str) -> Result<(), MetamorphicViolation> {
    for item in split(text) {
        let tree = parse_item(&item.text).tree;
        let printed = print_tree(&tree);
        let reparsed = parse_item(&printed);
        if reparsed.diagnostics.iter().any(Diagnostic::is_error)
            || !same_meaning(&tree, &reparsed.tree)
            || print_tree(&reparsed.tree) != printed
        {
            return broken("printing", format!("{}\n{printed}", item.text));
        }
    }
    Ok(())
}

/// Renames all variables.
fn rename(text: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    for token in lex(text).tokens {
        let Token::Name(name) = &token.token else { continue };
        if is_variable(name) {
            let range = token.span.range();
            out.push_str(text.get(at..range.start).unwrap_or_default());
            out.push_str(&format!("{name}'"));
            at = range.end;
        }
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Returns whether the generator uses the name for variables.
fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    name != "i64"
        && chars.next().is_some_and(|c| "vink".contains(c))
        && name.len() > 1
        && chars.all(|c| c.is_ascii_digit())
}

/// Reverses the order of definitions and types. Values and effects keep their order.
fn reorder(text: &str) -> String {
    let items = split(text);
    let free = |kind: ItemKind| matches!(kind, ItemKind::Def | ItemKind::Type);
    let mut freed = items.iter().filter(|i| free(i.kind)).rev();
    let mut out = String::new();
    for item in &items {
        let put = if free(item.kind) { freed.next().unwrap_or(item) } else { item };
        out.push_str(put.text.trim_end());
        out.push('\n');
    }
    out
}

/// Applies edits (start, end, new text) to a text. The edits may be in any order.
fn edited(text: &str, mut edits: Vec<(usize, usize, String)>) -> String {
    edits.sort();
    let mut out = String::new();
    let mut at = 0;
    for (from, to, new) in edits {
        out.push_str(text.get(at..from).unwrap_or_default());
        out.push_str(&new);
        at = to;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Writes the inferred type at every `let` of one name, if the type can be written.
fn annotate(text: &str, bodies: &[(ItemRef, Arc<TypedBody>)]) -> (String, u64) {
    let mut edits = Vec::new();
    for (item, body) in bodies {
        let tree = parse_item(&item.text).tree;
        let types: Vec<(Span, &Type)> = body
            .nodes
            .iter()
            .filter_map(|(_, node)| match &node.kind {
                Typed::Let(binds, _) => Some(binds),
                _ => None,
            })
            .flatten()
            .filter_map(|(pat, _)| match pat {
                TypedPat::Bind(l) => body.locals.get(usize::try_from(l.0).ok()?).map(|l| (l.span, &l.ty)),
                _ => None,
            })
            .collect();
        for (_, node) in tree.exprs.iter() {
            let Expr::Let(binds, _) = &node.kind else { continue };
            for bind in binds {
                let pat = &tree.pats[bind.pat];
                if bind.ty.is_some() || !matches!(pat.kind, Pat::Name(_)) {
                    continue;
                }
                let Some((_, ty)) = types.iter().find(|t| t.0 == pat.span) else { continue };
                if writable(ty) {
                    let at = pat.span.shift(item.start).range().end;
                    edits.push((at, at, format!(": {ty}")));
                }
            }
        }
    }
    let count = u64::try_from(edits.len()).unwrap_or(0);
    (edited(text, edits), count)
}

/// Returns whether all sizes of the type consist of names that are never shadowed.
fn writable(ty: &Type) -> bool {
    let mut fine = !ty.has_error();
    ty.visit(&mut |_| {}, &mut |p| {
        p.for_each_atom(&mut |a| {
            fine &= matches!(a, Atom::Local(_, name) if is_variable(name) && !name.starts_with('v'));
        });
    });
    fine
}

/// Removes the result types of the definitions whose bodies do not need them, and compares the
/// signatures.
fn removal(
    session: &mut Session,
    text: &str,
    signatures: &[(GlobalName, Option<Signature>)],
) -> Result<u64, MetamorphicViolation> {
    let law = "result types are inferred";
    let mut edits = Vec::new();
    for item in split(text) {
        let tree = parse_item(&item.text).tree;
        let Item::Def(def) = &tree.item else { continue };
        if let Some(result) = def.result
            && def.name.name.starts_with('s')
        {
            let span = tree.types[result].span.shift(item.start).range();
            let Some(arrow) = text.get(..span.start).and_then(|before| before.rfind("->")) else { continue };
            edits.push((arrow, span.end, String::new()));
        }
    }
    let count = u64::try_from(edits.len()).unwrap_or(0);
    let without = edited(text, edits);
    session.set_text(MAIN, &without);
    let errors: Vec<Diagnostic> = session.diagnostics(MAIN).into_iter().filter(Diagnostic::is_error).collect();
    refused(&without, &errors, law)?;
    for (name, was) in signatures {
        let is = session.signature(name);
        let (was, is) = (was.as_ref().map(plain), is.as_deref().map(plain));
        if was != is {
            let tell = |s: &Option<Signature>| s.as_ref().map_or_else(String::new, ToString::to_string);
            return broken(law, format!("{name}{}\n{name}{}", tell(&was), tell(&is)));
        }
    }
    Ok(count)
}

/// Returns a signature without the details in which two spellings of it may differ.
fn plain(s: &Signature) -> Signature {
    let mut s = s.clone();
    let unknown: Vec<bool> = s.sizes.iter().map(|size| size.source == SizeSource::Result).collect();
    for size in &mut s.sizes {
        if size.source == SizeSource::Result {
            size.name = "_".into();
        }
    }
    let named = |p: &Poly, _: u32| {
        p.substitute(&|a| match a {
            Atom::SizeParam(k, _) if unknown.get(usize::try_from(*k).unwrap_or(0)) == Some(&true) => {
                Some(Poly::atom(Atom::SizeParam(*k, "_".into())))
            }
            _ => None,
        })
    };
    s.result = unordered(&s.result.map_sizes(&named));
    s.params = s.params.iter().map(|(n, t)| (n.clone(), unordered(t))).collect();
    s
}

/// Sorts record fields and drops the names in function types.
fn unordered(t: &Type) -> Type {
    match t {
        Type::Array(n, t) => Type::Array(n.clone(), unordered(t).into()),
        Type::Tuple(ts) => Type::Tuple(ts.iter().map(unordered).collect()),
        Type::Record(fields) => {
            let mut fields: Vec<_> = fields.iter().map(|(n, t)| (n.clone(), unordered(t))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Type::Record(fields.into())
        }
        Type::Data(name, args) => {
            let args = args.iter().map(|a| match a {
                GenericArg::Type(t) => GenericArg::Type(unordered(t)),
                GenericArg::Size(p) => GenericArg::Size(p.clone()),
            });
            Type::Data(name.clone(), args.collect())
        }
        Type::Fun(fun) => {
            let params = fun.params.iter().map(|(_, t)| (None, unordered(t))).collect();
            Type::Fun(FunType { params, result: unordered(&fun.result) }.into())
        }
        t => t.clone(),
    }
}
