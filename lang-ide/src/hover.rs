//! **Hover.** Describes the code at an offset. For an expression: its type, work, partial
//! derivatives and cotangent. For a definition: its signature, costs, certificate and adjoint. For
//! any other name: its kind. Nothing is evaluated; the data come from the session's queries.

use lang_core::base::{GlobalName, Span};
use lang_core::count::{DisplayNames, Formula};
use lang_core::predicate::LocalId;
use lang_core::resolve::{LocalKind, vocabulary};
use lang_core::session::{ItemRef, Session};
use lang_core::source::{DerivativeEntry, Entries, ResultOwner, mentioned_lets};
use lang_core::syntax::ast::{self, ExprId, Item, Pat, PatId, Tree};
use lang_core::syntax::ops::{BinOp, BinderKind};
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::{TypedBody, TypedExpr, TypedId, TypedIndexRange, TypedIndexVar, TypedNode};
use lang_core::types::ty::Type;

use crate::costs::{self, costs};
use crate::derivative_hover;
use crate::find;
use crate::hover_text::SHADOWED_SUFFIX;
pub use crate::hover_text::{Hover, HoverTable};
use crate::names::{NameRole, NameTarget, NameUse, name_at};
use crate::table::{as_formula, format_lets, truncate_cases, truncate_to_cell};
use crate::type_hover;
use crate::views::{self, ViewStage};

/// The maximal number of lines of an adjoint or of `let`s. A longer adjoint is cut, because its
/// view shows all of it. Longer `let`s are omitted.
const MAX_LINES: usize = 30;

/// The note for derivatives whose `let`s exceed that limit.
const TOO_LONG_NOTE: &str = "too long to show here; see the adjoint view";

/// The maximal length of an expression that is shown with its type, in characters.
const MAX_EXPRESSION_LENGTH: usize = 120;

/// The amount of work that a hover may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HoverDepth {
    /// Names, types and documentation only.
    Names,
    /// Names, types and documentation, with a note that costs and derivatives follow.
    Quick,
    /// Costs and derivatives too.
    Full,
}

/// Returns the hover of an offset.
#[must_use]
pub fn hover(session: &Session, module: &str, at: u32, depth: HoverDepth) -> Option<Hover> {
    let item = session.item_at(module, at)?;
    // A duplicate definition has neither costs nor derivatives, because its name refers to the
    // first one.
    let depth = if find::is_shadowed_duplicate(session, &item) { HoverDepth::Names } else { depth };
    let parsed = session.tree(&item)?;
    let mut span = None;
    let mut word = None;
    if let Some((_, found)) = name_at(session, module, at) {
        let hover_of_name = name_hover(session, &item, &found, depth);
        if let NameTarget::Field(..) = found.meaning {
            return field_hover(session, &item, &parsed.tree, &found, depth).or(hover_of_name);
        }
        let NameTarget::Word(_) = found.meaning else { return hover_of_name };
        // `sum` represents the sum that it begins, `exp` its call.
        let start = found.span.start.checked_sub(item.start)?;
        let begun = parsed.tree.exprs.iter().map(|(_, node)| node).filter(|n| n.span.start == start);
        let begun = begun.filter(|n| !matches!(n.kind, ast::Expr::Name(_)));
        match begun.min_by_key(|n| n.span.end - n.span.start) {
            Some(begun) => {
                span = Some(begun.span);
                let called = matches!(begun.kind, ast::Expr::Call(..));
                word = hover_of_name.map(|hover| Hover { docs: word_docs(&found.name, Some(called)), ..hover });
            }
            // `for` and `while` of a fold or loop are not expressions; they represent the loop.
            None => match enclosing_loop(&parsed.tree, start).filter(|_| matches!(&*found.name, "for" | "while")) {
                Some(of) => {
                    let first = item.text.get(of.range()).and_then(|text| text.split(char::is_whitespace).next());
                    span = Some(of);
                    word =
                        hover_of_name.map(|hover| Hover { docs: word_docs(first.unwrap_or_default(), None), ..hover });
                }
                None => return hover_of_name,
            },
        }
    }
    let span = match span {
        Some(span) => span,
        None => match type_hover::hover_between_names(session, &item, &parsed.tree, at, depth) {
            Some(hover) => return Some(hover),
            None => innermost_expression(&parsed.tree, at.checked_sub(item.start)?)?,
        },
    };
    let shown = expression_hover(session, &item, span, depth);
    match (shown, word) {
        (Some(mut shown), Some(word)) => {
            shown.docs = word.docs;
            Some(shown)
        }
        (shown, word) => shown.or(word),
    }
}

/// Returns the innermost loop around an offset.
fn enclosing_loop(tree: &Tree, at: u32) -> Option<Span> {
    let loops = tree.exprs.iter().map(|(_, node)| node);
    let loops = loops.filter(|n| matches!(n.kind, ast::Expr::Fold { .. } | ast::Expr::Loop { .. }));
    let around = loops.map(|n| n.span).filter(|s| s.start <= at && at < s.end);
    around.min_by_key(|s| s.end - s.start)
}

/// Returns the hover of a field. A field access shows the accessing expression, any other place the
/// field's type.
fn field_hover(session: &Session, item: &ItemRef, tree: &Tree, found: &NameUse, depth: HoverDepth) -> Option<Hover> {
    let here = |name: &ast::Ident| name.span.shift(item.start) == found.span;
    let taken = tree.exprs.iter().map(|(_, node)| node);
    let taken = taken.filter(|node| matches!(&node.kind, ast::Expr::Field(_, name) if here(name)));
    if let Some(node) = taken.min_by_key(|node| node.span.end - node.span.start) {
        return Some(Hover { kind_text: "field".to_owned(), ..expression_hover(session, item, node.span, depth)? });
    }
    let value = tree.exprs.iter().find_map(|(_, node)| match &node.kind {
        ast::Expr::Record(fields) => fields.iter().find(|(name, _)| here(name)).map(|(_, value)| *value),
        ast::Expr::With(_, updates) => {
            let written = |u: &&ast::WithUpdate| matches!(&u.target, ast::UpdateTarget::Field(name) if here(name));
            updates.iter().find(written).map(|u| u.value)
        }
        _ => None,
    });
    let declared = tree.types.iter().find_map(|(_, node)| match &node.kind {
        ast::TypeExpr::Record(fields) => fields.iter().find(|(name, _)| here(name)).map(|(_, ty)| *ty),
        _ => None,
    });
    let ty = match (value, declared) {
        (Some(value), _) => {
            let checked = session.checked_item(item)?;
            let node = node_at(item, &checked.body, tree.exprs[value].span)?;
            checked.body.nodes[node].ty.to_string()
        }
        (None, Some(ty)) => item.text.get(tree.types[ty].span.range())?.to_owned(),
        (None, None) => return None,
    };
    let code = format!("{} : {ty}", found.name);
    Some(Hover { span: found.span, code, kind_text: "field".to_owned(), ..Hover::default() })
}

/// Returns the value that a `let` binds to the name at this span.
fn bound_value(tree: &Tree, name: Span) -> Option<ExprId> {
    let mut open: Vec<(PatId, ExprId)> = Vec::new();
    for (_, node) in tree.exprs.iter() {
        if let ast::Expr::Let(all, _) = &node.kind {
            open.extend(all.iter().map(|bind| (bind.pat, bind.value)));
        }
    }
    while let Some((pat, value)) = open.pop() {
        match (&tree.pats[pat].kind, &tree.exprs[value].kind) {
            (Pat::Name(_), _) if tree.pats[pat].span == name => return Some(value),
            (Pat::Sized(_, of), _) => open.push((*of, value)),
            (Pat::Tuple(pats), ast::Expr::Tuple(values)) if pats.len() == values.len() => {
                open.extend(pats.iter().copied().zip(values.iter().copied()));
            }
            _ => {}
        }
    }
    None
}

/// Returns the documentation of a word. `called` selects the role of a word that is both a binder
/// and a function.
fn word_docs(word: &str, called: Option<bool>) -> String {
    let all = vocabulary::describe(word);
    let meant = all.iter().filter(|d| called.is_none_or(|called| called == (d.kind != "binder")));
    let docs: Vec<String> = meant
        .map(|d| match called {
            // The type above is that of the value here, so the signature is added.
            Some(true) => format!("`{}`\n\n{}", d.signature, d.description()),
            _ => d.description(),
        })
        .collect();
    docs.join("\n\n")
}

/// Returns the hover of the expression at this span of an item.
fn expression_hover(session: &Session, item: &ItemRef, span: Span, depth: HoverDepth) -> Option<Hover> {
    let checked = session.checked_item(item)?;
    let node = node_at(item, &checked.body, span)?;
    let text = item.text.get(span.range()).unwrap_or_default();
    let mut hover = Hover {
        span: span.shift(item.start),
        code: expression_with_type(text, &checked.body, node),
        ..Hover::default()
    };
    if depth == HoverDepth::Full {
        derivative_hover::add_operator_derivative(session, item, &checked.body, node, &mut hover);
    }
    add_costs_and_derivatives(session, item, &checked.body, node, depth, &mut hover);
    Some(hover)
}

/// Returns the innermost expression around an offset.
fn innermost_expression(tree: &Tree, at: u32) -> Option<Span> {
    let around = tree.exprs.iter().map(|(_, node)| node.span).filter(|s| s.start <= at && at < s.end);
    around.min_by_key(|s| s.end - s.start)
}

/// Returns the typed node of an expression. If several nodes have its span, this is the outermost.
/// For a top-level `let` the nodes that only tuple or read its bindings are skipped.
pub(crate) fn node_at(item: &ItemRef, body: &TypedBody, span: Span) -> Option<TypedId> {
    let root = body.root.filter(|root| item.kind == ItemKind::Let && body.nodes[*root].span == span);
    let bound = |id: TypedId| matches!(body.nodes[id].kind, TypedExpr::Local(_));
    let binds = |id: TypedId, node: &TypedNode| match &node.kind {
        TypedExpr::Tuple(items) => items.iter().all(|item| bound(*item)),
        _ => Some(id) == root || bound(id),
    };
    let all = body.nodes.iter().filter(|(_, node)| node.span == span);
    let mut own = all.filter(|(id, node)| root.is_none() || !binds(*id, node));
    own.next_back().map(|(id, _)| id)
}

/// Formats `e : T`; for a long expression only the type.
fn expression_with_type(text: &str, body: &TypedBody, node: TypedId) -> String {
    let ty = &body.nodes[node].ty;
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    if text.chars().count() > MAX_EXPRESSION_LENGTH { format!("… : {ty}") } else { format!("{text} : {ty}") }
}

/// Adds the cost of an expression and its derivatives.
fn add_costs_and_derivatives(
    session: &Session,
    item: &ItemRef,
    body: &TypedBody,
    node: TypedId,
    depth: HoverDepth,
    hover: &mut Hover,
) {
    let def = &item.global;
    if depth != HoverDepth::Full {
        hover.pending = depth == HoverDepth::Quick;
        return;
    }
    hover.rows.extend(work_rows(session, def, body, node));
    if session.signature(def).is_none() {
        // A top-level expression is evaluated once and has no variables to differentiate by.
        return;
    }
    for part in session.cotangent(def, node) {
        match part {
            Ok(Entries { lets, .. }) if exceeds_hover(&lets) => {
                hover.note_missing("cotangent is", Some(TOO_LONG_NOTE.to_owned()))
            }
            Ok(Entries { lets, entries: all, expression_part: part, case, cotangent, renamed_variables: hidden }) => {
                hover.note_shadowed(&hidden);
                if let Some((name, whose)) = cotangent {
                    hover.add_note(format!("`{name}` is the cotangent of {}", describe_result(&whose, def)));
                }
                let what = format!("{COTANGENT}{part}{}", case.map(|case| format!(" {case}")).unwrap_or_default());
                let mut rows: Vec<(String, String)> =
                    all.into_iter().map(|t| (what.clone(), truncate_to_cell(as_formula(&t.value)))).collect();
                if rows.is_empty() {
                    rows.push((what, "0".to_owned()));
                }
                hover.add_rows(rows, lets);
            }
            Err(why) => hover.note_missing("cotangent is", why.phrase()),
        }
    }
    for part in session.partials(def, node) {
        match part {
            // The derivative of an expression by itself.
            Ok(Entries { entries: all, expression_part: part, .. })
                if part.is_empty() && is_trivial_derivative(&all, &hover.code) => {}
            Ok(Entries { lets, .. }) if exceeds_hover(&lets) => {
                hover.note_missing("partial derivatives are", Some(TOO_LONG_NOTE.to_owned()));
            }
            Ok(Entries { lets, entries: all, expression_part: part, case, renamed_variables: hidden, .. }) => {
                hover.note_shadowed(&hidden);
                let part = if part.is_empty() { part } else { format!("·{part}") };
                let what = |of: &str| match &case {
                    // For an element of a sum type, the label already contains the constructor's
                    // condition.
                    Some(case) if of.contains(" where ") => {
                        format!("∂{part}/∂{of}, {}", case.strip_prefix("where ").unwrap_or(case))
                    }
                    Some(case) => format!("∂{part}/∂{of} {case}"),
                    None => format!("∂{part}/∂{of}"),
                };
                let rows = all.into_iter().map(|t| (what(&t.variable), truncate_to_cell(as_formula(&t.value))));
                hover.add_rows(rows.collect(), lets);
            }
            Err(why) => hover.note_missing("partial derivatives are", why.phrase()),
        }
    }
}

/// Returns whether the `let`s take more lines than a hover has room for.
pub(crate) fn exceeds_hover(lets: &[String]) -> bool {
    format_lets(lets).lines().count() > MAX_LINES
}

/// Describes the result that a cotangent belongs to.
pub(crate) fn describe_result(whose: &ResultOwner, def: &GlobalName) -> String {
    match whose {
        ResultOwner::Definition => format!("the result of `{}`", def.name),
        ResultOwner::Iteration(carried) => format!("`{carried}` after the iteration"),
        ResultOwner::YieldingIteration(carried) => {
            format!("the tuple of `{carried}` after the iteration and the yielded value")
        }
        ResultOwner::AnonymousFunction => "the result of the inner function".to_owned(),
    }
}

/// Returns the rows for the work of one evaluation, of all evaluations, and of the adjoint's share.
fn work_rows(session: &Session, def: &GlobalName, body: &TypedBody, node: TypedId) -> Vec<(String, String)> {
    let Some(cost) = session.subexpression_cost(def, node) else { return Vec::new() };
    let mut text = costs::format_formula(&cost.total.work, &cost);
    let row = |what: &str, of: Option<String>| of.map(|of| (what.to_owned(), truncate_cases(of)));
    let evaluations = session.evaluation_costs(def, node);
    if let Some(of) = evaluations.as_deref().filter(|of| of.is_repeated) {
        // The body of a function that is passed as a value is inlined in the whole, where its
        // statements have spans of their own.
        if let (Some(all), adjoint) = costs::repeated_work(of) {
            let own = row("work of its adjoint", adjoint);
            return row("work", Some(all)).into_iter().chain(own).collect();
        }
    }
    let span = body.nodes[node].span;
    let within = |at: &Span| span.start <= at.start && at.end <= span.end;
    let is_def = session.signature(def).is_some();
    let sum = enclosing_contraction(body, node);
    let mut product_is_shared = false;
    let (primal, adjoint) = match sum {
        // If a sum is a term of another sum, the outer one performs its additions.
        None if is_def && is_inner_sum(body, node) => {
            let all = evaluations.as_deref().and_then(costs::total_work);
            (all, costs::shares(session, def, &within).1)
        }
        Some(sum) => {
            let of = costs::product_work(session, def, node, sum, &within);
            product_is_shared = of.is_shared;
            (of.total_work, of.adjoint)
        }
        None if is_def => costs::shares(session, def, &within),
        None => (evaluations.as_deref().and_then(costs::total_work), None),
    };
    match primal {
        // The same formula, with its conditions.
        Some(all) if all.strip_prefix(&text).is_some_and(|rest| rest.is_empty() || rest.starts_with(" where")) => {
            text = all;
        }
        Some(all) => {
            let shared = match sum {
                Some(_) => product_is_shared,
                None if is_inner_sum(body, node) => false,
                None => evaluations.as_deref().is_some_and(|of| costs::is_shared(session, def, &within, of)),
            };
            text = format!("{text}, in all {all}{}", if shared { SHARED_WORK_NOTE } else { "" });
        }
        None => {}
    }
    row("work", Some(text)).into_iter().chain(row("work in the adjoint", adjoint)).collect()
}

/// The note for work that is less than the sum over all evaluations.
const SHARED_WORK_NOTE: &str = " (equal results are computed once)";

/// Returns whether the node is a sum that is itself the term of another sum.
fn is_inner_sum(body: &TypedBody, node: TypedId) -> bool {
    let is_sum = |kind: &TypedExpr| matches!(kind, TypedExpr::Binder { kind: BinderKind::Sum, .. });
    let terms = body.nodes.iter().filter_map(|(_, n)| match &n.kind {
        TypedExpr::Binder { kind: BinderKind::Sum, body, .. } => Some(*body),
        _ => None,
    });
    let inside = |mut term: TypedId| {
        while let TypedExpr::Guard(_, next) | TypedExpr::Neg(next) | TypedExpr::Checked(_, next) =
            &body.nodes[term].kind
        {
            term = *next;
        }
        term == node
    };
    is_sum(&body.nodes[node].kind) && terms.into_iter().any(inside)
}

/// Returns the span of the sum that contracts this node, if the node is a product: it multiplies
/// while it adds.
fn enclosing_contraction(body: &TypedBody, node: TypedId) -> Option<Span> {
    let is_product = |of: TypedId| matches!(body.nodes[of].kind, TypedExpr::Arith(BinOp::Mul, ..));
    let of = |mut inner: TypedId| {
        while let TypedExpr::Guard(_, next) | TypedExpr::Neg(next) | TypedExpr::Checked(_, next) =
            &body.nodes[inner].kind
        {
            inner = *next;
        }
        inner
    };
    let sum = body.nodes.iter().find(|(_, n)| match &n.kind {
        TypedExpr::Binder { kind: BinderKind::Sum, body, .. } => of(*body) == node,
        _ => false,
    });
    sum.filter(|_| is_product(node)).map(|(_, n)| n.span)
}

/// Returns whether the only derivative is 1, by the expression itself.
fn is_trivial_derivative(all: &[DerivativeEntry], code: &str) -> bool {
    let dense = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let text = code.rsplit_once(" : ").map_or(code, |(text, _)| text);
    matches!(all, [one] if matches!(one.value.as_str(), "1" | "1.0") && dense(&one.variable) == dense(text))
}

/// The label of the row with an expression's cotangent.
const COTANGENT: &str = "cotangent";

/// Returns the hover of a name.
fn name_hover(session: &Session, item: &ItemRef, found: &NameUse, depth: HoverDepth) -> Option<Hover> {
    let mut hover = Hover { span: found.span, ..Hover::default() };
    match &found.meaning {
        NameTarget::Local(of, local) => {
            let home = if *of == item.global { item.clone() } else { session.item(of)? };
            let checked = session.checked_item(&home)?;
            let body = &checked.body;
            let declared = body.locals.get(local.0 as usize)?;
            let range = index_range(body, &home, *local).map(|r| format!(", {r}")).unwrap_or_default();
            hover.code = format!("{} : {}", found.name, declared.ty);
            hover.kind_text = format!("{}{range}", describe_local_kind(found.kind));
            let span =
                Span::new(found.span.start.saturating_sub(item.start), found.span.end.saturating_sub(item.start));
            let real = |ty: &Type| !matches!(ty, Type::Scalar(s) if *s == lang_core::types::ty::Scalar::I64);
            let param = body.params.iter().position(|l| l == local).and_then(|k| u32::try_from(k).ok());
            // In the head, and where `wrt:` names it, a parameter shows the gradient by it.
            let is_whole = found.role == NameRole::Declaration || home.global != item.global;
            if let Some(param) = param.filter(|_| is_whole) {
                if depth == HoverDepth::Full {
                    derivative_hover::add_gradient(session, &home.global, param, &mut hover);
                }
                hover.pending = depth == HoverDepth::Quick && real(&declared.ty);
                return Some(hover);
            }
            match found.role {
                _ if home.global != item.global => {}
                // A declaration shows the value that it names, with the cotangent that this value
                // receives.
                NameRole::Declaration => {
                    let parsed = session.tree(item)?;
                    let value = bound_value(&parsed.tree, span).map(|value| parsed.tree.exprs[value].span);
                    if let Some(node) = value.and_then(|span| node_at(item, body, span)).filter(|_| real(&declared.ty))
                    {
                        add_costs_and_derivatives(session, item, body, node, depth, &mut hover);
                    }
                }
                _ => {
                    if let Some(node) = node_at(item, body, span).filter(|_| real(&declared.ty)) {
                        add_costs_and_derivatives(session, item, body, node, depth, &mut hover);
                        keep_cotangent_of_use(&mut hover, &found.name);
                    }
                }
            }
        }
        NameTarget::Value(name) => add_definition(session, name, found, depth, &mut hover)?,
        NameTarget::Type(name) => {
            let defined = session.type_item(name)?;
            hover.code = first_paragraph(&defined.text);
            hover.docs = session.tree(&defined).map(|p| p.tree.docs.clone()).unwrap_or_default();
        }
        NameTarget::Ctor(name, _) => {
            let defined = session.type_item(name)?;
            hover.code = first_paragraph(&defined.text);
            hover.kind_text = "constructor".to_owned();
        }
        NameTarget::TypeParam(..) => hover.kind_text = "type parameter".to_owned(),
        NameTarget::Field(..) => {
            hover.code = found.name.to_string();
            hover.kind_text = "field".to_owned();
        }
        NameTarget::Module(module) => {
            hover.code = format!("import {}", found.name);
            hover.kind_text = format!("the module {module}");
            hover.docs = session.text(module).map(|t| module_head(&t)).unwrap_or_default();
        }
        NameTarget::Word(_) => {
            let all = vocabulary::describe(&found.name);
            let Some(first) = all.first() else {
                let doc = type_hover::argument_docs(&found.name)?;
                return Some(Hover {
                    code: format!("{}:", found.name),
                    kind_text: "named argument".to_owned(),
                    docs: doc.to_owned(),
                    ..hover
                });
            };
            hover.code.clone_from(&first.signature);
            hover.kind_text = first.kind.to_owned();
            hover.docs = word_docs(&found.name, None);
            hover.rows = first.partials.iter().map(|(by, d)| (format!("∂/∂{by}"), (*d).to_owned())).collect();
        }
        NameTarget::Unknown => return None,
    }
    Some(hover)
}

/// Keeps only the cotangent of a variable's use. Other uses of the name receive other cotangents,
/// and the variable's cotangent is their sum.
fn keep_cotangent_of_use(hover: &mut Hover, name: &str) {
    let first = HoverTable { rows: std::mem::take(&mut hover.rows), lets: std::mem::take(&mut hover.lets) };
    for HoverTable { mut rows, lets } in [first].into_iter().chain(std::mem::take(&mut hover.further_tables)) {
        rows.retain(|(what, _)| what.starts_with(COTANGENT));
        let mut texts: Vec<String> = rows.iter().map(|(_, text)| text.clone()).collect();
        for (what, _) in &mut rows {
            let part = what.strip_prefix(COTANGENT).unwrap_or_default().to_owned();
            let at = part.find(" where ").or_else(|| part.find(" elsewhere")).unwrap_or(part.len());
            let (own, case) = part.split_at(at);
            *what = format!("{COTANGENT} of {name}{own} here{case}");
            // The label mentions names too, in the index of the element.
            texts.push(part);
        }
        let lets = mentioned_lets(&lets, texts.iter().map(String::as_str));
        hover.add_rows(rows, lets);
    }
    let texts = || hover.tables().flat_map(|(rows, lets)| rows.iter().map(|(_, text)| text).chain(lets));
    let hides = |note: &&String| match note.strip_suffix(SHADOWED_SUFFIX).and_then(|note| note.split('`').nth(1)) {
        Some(own) => texts().any(|text| text.contains(own)),
        None => note.contains(COTANGENT),
    };
    hover.notes = hover.notes.iter().filter(hides).cloned().collect();
}

fn describe_local_kind(kind: Option<LocalKind>) -> &'static str {
    match kind {
        Some(LocalKind::Param) => "parameter",
        Some(LocalKind::ImplicitSize | LocalKind::NamedExtent) => "size",
        Some(LocalKind::ResultSize) => "result size, known only at run time",
        Some(LocalKind::Index) => "index",
        Some(LocalKind::Carry) => "loop-carried variable",
        Some(LocalKind::Lambda | LocalKind::FunTypeParam) => "parameter of an inner function",
        Some(LocalKind::Pattern) => "pattern variable",
        Some(LocalKind::Let) | None => "bound by `let`",
    }
}

/// Formats the range of an index variable: `0 ≤ i < n`.
fn index_range(body: &TypedBody, home: &ItemRef, local: LocalId) -> Option<String> {
    let text = |node: TypedId| home.text.get(body.nodes[node].span.range()).unwrap_or("…");
    let of = |var: &TypedIndexVar| {
        let name = body.locals.get(var.local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
        match &var.range {
            TypedIndexRange::Extent(n) => {
                format!(
                    "0 ≤ {name} < {}",
                    Formula::from(n.clone()).math_text(&Default::default(), &DisplayNames::empty())
                )
            }
            TypedIndexRange::Below(n) => format!("0 ≤ {name} < {}", text(*n)),
            TypedIndexRange::Range(a, b, None) => format!("{} ≤ {name} < {}", text(*a), text(*b)),
            TypedIndexRange::Range(a, b, Some(by)) => format!("{} ≤ {name} < {} by {}", text(*a), text(*b), text(*by)),
        }
    };
    body.nodes.iter().find_map(|(_, node)| match &node.kind {
        TypedExpr::Binder { vars, .. } | TypedExpr::Fold { vars, .. } => vars.iter().find(|v| v.local == local).map(of),
        _ => None,
    })
}

/// Adds the contents for a definition or a top-level `let`.
fn add_definition(
    session: &Session,
    name: &GlobalName,
    found: &NameUse,
    depth: HoverDepth,
    hover: &mut Hover,
) -> Option<()> {
    let item = session.item(name)?;
    let parsed = session.tree(&item)?;
    hover.docs.clone_from(&parsed.tree.docs);
    let Item::Def(def) = &parsed.tree.item else {
        hover.code = session.let_type(name).map(|ty| format!("{} : {ty}", found.name)).unwrap_or_default();
        hover.kind_text = "let".to_owned();
        return Some(());
    };
    let (start, end) = (parsed.tree.span.start, parsed.tree.exprs[def.body].span.start);
    let head = item.text.get(start as usize..end as usize).unwrap_or_default();
    let head = head.trim_end().trim_end_matches('=');
    let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
    hover.code = head.replace("( ", "(").replace(" )", ")");
    if depth != HoverDepth::Full {
        hover.pending = depth == HoverDepth::Quick;
        return Some(());
    }
    let Some(costs) = costs(session, name) else { return Some(()) };
    let mut row =
        |what: &str, of: Option<String>| hover.rows.extend(of.map(|of| (what.to_owned(), truncate_cases(of))));
    row("work", costs.primal.map(|c| c.work));
    row("forward", costs.forward.map(|c| c.work));
    row("adjoint", costs.adjoint.map(|c| c.work));
    row("certificate", costs.certificate.map(|c| c.line));
    if let Ok(view) = views::view(session, &name.module, &name.name, ViewStage::Adjoint) {
        if !view.is_program {
            hover.notes.extend(view.note);
            return Some(());
        }
        // First the definition itself, then the definitions that it calls.
        let all: Vec<&str> = view.text.lines().collect();
        let (before, own) = all.split_at_checked(view.definition_line as usize).unwrap_or((&[], &all));
        let before = before.strip_suffix(&[""]).unwrap_or(before);
        let gap: &[&str] = if before.is_empty() { &[] } else { &[""] };
        let lines: Vec<&str> = own.iter().chain(gap).chain(before).copied().collect();
        hover.adjoint = lines.iter().take(MAX_LINES).copied().collect::<Vec<_>>().join("\n");
        if lines.len() > MAX_LINES {
            let more = lang_core::base::count_with_noun(lines.len() - MAX_LINES, "more line", "more lines");
            hover.adjoint += &format!("\n-- and {more}");
        }
    }
    Some(())
}

/// Returns the comment at the head of a module.
fn module_head(text: &str) -> String {
    let comment: Vec<&str> = text.lines().take_while(|line| line.starts_with("--")).collect();
    // A comment that begins with `--|` and is not followed by an empty line documents the first
    // definition.
    let ends = text.lines().nth(comment.len()).is_none_or(|line| line.trim().is_empty());
    if !ends && comment.iter().any(|line| line.starts_with("--|")) {
        return String::new();
    }
    let lines = comment.iter().map(|line| line.trim_start_matches(['-', '|']).trim());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the text up to the first empty line, without comments.
fn first_paragraph(text: &str) -> String {
    let lines = text.trim().lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.take_while(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}
