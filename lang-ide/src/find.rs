//! **Declarations and occurrences** of names. Shared by go-to-definition, references, highlights,
//! rename and the call hierarchy; reads the uses that [`crate::names`] collects for each item.

use lang_core::base::{GlobalName, Name, Span};
use lang_core::resolve::{LocalKind, partials};
use lang_core::session::{ItemRef, LIBRARY, Session};
use lang_core::syntax::ast::{Item, TypeBody, TypeExpr};
use lang_core::syntax::lexer::is_name_continue;
use lang_core::syntax::split::ItemKind;

use crate::Location;
use crate::names::{NameRole, NameTarget, NameUse, uses};
use crate::reach::reachable_modules;

/// Whether the module is part of the library.
pub(crate) fn is_library(module: &str) -> bool {
    module == partials::MODULE || LIBRARY.iter().any(|(name, _)| *name == module)
}

/// Returns the alternative spellings that the lexer accepts for a name.
fn alternative_spellings(name: &str) -> &'static [&'static str] {
    match name {
        "pi" => &["π"],
        "sum" => &["∑"],
        "prod" => &["∏"],
        "any" => &["∃"],
        "all" => &["∀"],
        "grad" => &["∇"],
        "inf" => &["∞"],
        _ => &[],
    }
}

/// Returns whether the text may contain the name, without lexing it. `false` is certain; `true` may
/// be a false positive.
pub(crate) fn may_mention(text: &str, name: &str) -> bool {
    let continues = |c: Option<char>| c.is_some_and(is_name_continue);
    let stands = |at: usize| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at.saturating_add(name.len())..).and_then(|t| t.chars().next());
        // A number may touch the name that follows it.
        !continues(before.filter(|c| !c.is_ascii_digit())) && !continues(after)
    };
    !name.is_empty() && text.match_indices(name).any(|(at, _)| stands(at))
        || alternative_spellings(name).iter().any(|s| text.contains(s))
}

/// Returns whether an earlier item has the same name. The session's queries by name then answer for
/// the earlier item.
pub(crate) fn is_shadowed_duplicate(session: &Session, item: &ItemRef) -> bool {
    session.item(&item.global).is_some_and(|known| known.start != item.start)
}

/// Returns the first item of a module.
pub(crate) fn first_item(session: &Session, module: &str) -> Option<ItemRef> {
    session.items_in(module, Span::new(0, u32::MAX)).next()
}

/// Returns the item that a name belongs to; `here` is the item that contains the name.
pub(crate) fn owner_item(session: &Session, here: &ItemRef, what: &NameTarget) -> Option<ItemRef> {
    match what {
        NameTarget::Local(owner, _) | NameTarget::TypeParam(owner, _) if *owner == here.global => Some(here.clone()),
        NameTarget::Local(owner, _) | NameTarget::TypeParam(owner, _) | NameTarget::Value(owner) => session.item(owner),
        NameTarget::Type(ty) | NameTarget::Ctor(ty, _) => session.type_item(ty),
        NameTarget::Field(..) | NameTarget::Module(_) | NameTarget::Word(_) | NameTarget::Unknown => None,
    }
}

/// Returns the spans that declare the name, the most relevant first.
pub(crate) fn declarations(session: &Session, here: &ItemRef, what: &NameTarget) -> Vec<Location> {
    let at = |item: &ItemRef, span: Span| Location { module: item.module.clone(), span: span.shift(item.start) };
    match what {
        NameTarget::Module(module) => {
            let text = session.text(module);
            text.map(|_| Location { module: module.clone(), span: Span::new(0, 0) }).into_iter().collect()
        }
        NameTarget::Field(names, _) => field_declarations(session, here, names, what),
        NameTarget::Word(_) | NameTarget::Unknown => Vec::new(),
        _ => {
            let Some(item) = owner_item(session, here, what) else { return Vec::new() };
            let spans = declaration_span(session, &item, what);
            spans.into_iter().map(|span| at(&item, span)).collect()
        }
    }
}

/// Returns the span of the declaration, relative to the item.
fn declaration_span(session: &Session, item: &ItemRef, what: &NameTarget) -> Option<Span> {
    let (parsed, resolved) = (session.tree(item)?, session.resolved(item)?);
    let tree = &parsed.tree;
    match (what, &tree.item) {
        (NameTarget::Local(_, id), _) => resolved.locals.get(id.0 as usize).map(|d| d.span),
        (NameTarget::TypeParam(_, k), _) => resolved.type_params.get(*k as usize).map(|p| p.1),
        (NameTarget::Value(_), Item::Def(def)) => Some(def.name.span),
        (NameTarget::Value(name), Item::Let(_)) => {
            let decl = crate::names::untyped_uses(session, item).into_iter().find(|u| {
                u.role == NameRole::Declaration && matches!(&u.meaning, NameTarget::Value(found) if found == name)
            })?;
            Some(Span::new(decl.span.start.saturating_sub(item.start), decl.span.end.saturating_sub(item.start)))
        }
        (NameTarget::Type(_), Item::Type(def)) => Some(def.name.span),
        (NameTarget::Ctor(_, k), Item::Type(def)) => match &def.body {
            TypeBody::Sum(ctors) => ctors.get(*k as usize).map(|c| c.name.span),
            TypeBody::Single(id) => match &tree.types[*id].kind {
                TypeExpr::Name { name, .. } => Some(name.span),
                _ => None,
            },
        },
        _ => None,
    }
}

/// Returns the declarations of a record's fields. These are the `type` items of this module, or
/// failing that of another one. If no `type` item declares the record, they are the places that
/// write its type, and otherwise the places that construct such a record.
fn field_declarations(session: &Session, here: &ItemRef, names: &[Name], what: &NameTarget) -> Vec<Location> {
    let Some(first) = names.first() else { return Vec::new() };
    let mut by_rank: [Vec<Location>; 3] = Default::default();
    let reached = reachable_modules(session, &here.module, names);
    let mut modules = session.modules();
    modules.retain(|module| reached.contains(module));
    modules.sort_by_key(|m| (*m != here.module, is_library(m)));
    for module in modules {
        if !session.text(&module).is_some_and(|text| may_mention(&text, first)) {
            continue;
        }
        for item in session.items(&module).iter().filter(|i| names.iter().all(|n| may_mention(&i.text, n))) {
            let rank = |u: &NameUse| match u.role {
                NameRole::Declaration if item.kind == ItemKind::Type => 0,
                NameRole::Declaration => 1,
                _ => 2,
            };
            for found in uses(session, item) {
                if found.meaning == *what
                    && let Some(list) = by_rank.get_mut(rank(&found))
                {
                    list.push(Location { module: module.clone(), span: found.span });
                }
            }
        }
        if by_rank.first().is_some_and(|types| !types.is_empty()) {
            break;
        }
    }
    by_rank.into_iter().find(|list| !list.is_empty()).unwrap_or_default()
}

/// Returns every occurrence of a name, by module. If `only` is set, the search stays in that
/// module.
pub(crate) fn occurrences(
    session: &Session,
    here: &ItemRef,
    found: &NameUse,
    only: Option<&str>,
) -> Vec<(ItemRef, NameUse)> {
    let what = &found.meaning;
    let name = &found.name;
    let all_of = |item: &ItemRef| -> Vec<(ItemRef, NameUse)> {
        let same = |u: &NameUse| u.meaning == *what && (!matches!(what, NameTarget::Word(_)) || u.name == *name);
        uses(session, item).into_iter().filter(same).map(|u| (item.clone(), u)).collect()
    };
    let within = |modules: Vec<lang_core::base::ModuleName>, wanted: &dyn Fn(&ItemRef) -> bool| {
        let mut all = Vec::new();
        for module in modules.iter().filter(|m| only.is_none_or(|only| only == m.as_str())) {
            if session.text(module).is_some_and(|text| may_mention(&text, name)) {
                let items = session.items(module);
                all.extend(items.iter().filter(|i| may_mention(&i.text, name) && wanted(i)).flat_map(all_of));
            }
        }
        all
    };
    let uses_of = |item: &ItemRef, global: &GlobalName| {
        item.global == *global
            || item.module == global.module && item.kind == ItemKind::Let
            || session.resolved(item).is_some_and(|r| r.referenced_items.contains(global))
    };
    match what {
        NameTarget::Local(..) | NameTarget::TypeParam(..) => {
            let Some(item) = owner_item(session, here, what) else { return Vec::new() };
            let is_param = found.kind == Some(LocalKind::Param) && item.kind == ItemKind::Def;
            if is_param {
                // `wrt:` names the parameter in other items too.
                let wanted = |i: &ItemRef| *i == item || may_mention(&i.text, "wrt") && uses_of(i, &item.global);
                return within(session.modules(), &wanted);
            }
            let in_rules = item.kind == ItemKind::Def
                && (matches!(what, NameTarget::TypeParam(..)) || found.kind == Some(LocalKind::ImplicitSize));
            if !in_rules {
                return if only.is_none_or(|m| m == item.module) { all_of(&item) } else { Vec::new() };
            }
            let is_rule =
                |i: &ItemRef| matches!(i.kind, ItemKind::Derivative | ItemKind::Adjoint) && i.name == item.global.name;
            within(vec![item.module.clone()], &|i| *i == item || is_rule(i))
        }
        NameTarget::Value(global) | NameTarget::Type(global) | NameTarget::Ctor(global, _) => {
            within(session.modules(), &|i| uses_of(i, global))
        }
        NameTarget::Field(names, _) if names.is_empty() => Vec::new(),
        NameTarget::Field(fields, _) => {
            let reached = reachable_modules(session, &here.module, fields);
            within(session.modules().into_iter().filter(|module| reached.contains(module)).collect(), &|_| true)
        }
        NameTarget::Module(_) => {
            let module = here.module.as_str();
            let aliases = session.items(module);
            let wanted = |i: &&ItemRef| i.kind == ItemKind::Import || may_mention(&i.text, name);
            aliases.iter().filter(wanted).flat_map(all_of).collect()
        }
        NameTarget::Word(_) => within(vec![here.module.clone()], &|_| true),
        NameTarget::Unknown => Vec::new(),
    }
}
