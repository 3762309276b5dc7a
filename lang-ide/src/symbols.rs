//! **Document and workspace symbols.** Returns the definitions of a module as a tree, and those of
//! all modules that match a query. The same matching ([`match_rank`]) ranks completion candidates.

use std::collections::HashMap;

use lang_core::base::{ModuleName, Name, Span};
use lang_core::resolve::partials;
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Item, Pat, PatId, Tree, TypeBody, TypeDef, TypeExpr};
use lang_core::syntax::split::ItemKind;

use crate::Location;

/// The kind of a symbol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SymbolKind {
    /// A definition.
    Function,
    /// A variable of a top-level `let`.
    Value,
    /// A `type`.
    Type,
    /// A constructor of a type.
    Constructor,
    /// A field of a record that a type names.
    Field,
    /// A derivative or adjoint rule.
    Rule,
    /// An import.
    Module,
}

/// A symbol of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleSymbol {
    /// The name.
    pub name: Name,
    /// The kind.
    pub kind: SymbolKind,
    /// The rest of the signature: parameters and result, or the type.
    pub detail: String,
    /// The whole item, including its documentation.
    pub span: Span,
    /// The span of the name, inside `span`.
    pub selection: Span,
    /// The constructors, fields or rules that belong to it.
    pub children: Vec<ModuleSymbol>,
}

/// Returns the symbols of a module in order. A rule is a child of its definition, regardless of its
/// position.
#[must_use]
pub fn document_symbols(session: &Session, module: &str) -> Vec<ModuleSymbol> {
    let mut symbols: Vec<ModuleSymbol> = Vec::new();
    let mut rules: Vec<(Name, ModuleSymbol)> = Vec::new();
    for item in session.items(module) {
        match item.kind {
            ItemKind::Derivative | ItemKind::Adjoint => {
                rules.extend(symbols_of_item(session, &item).into_iter().map(|symbol| (item.name.clone(), symbol)));
            }
            _ => symbols.extend(symbols_of_item(session, &item)),
        }
    }
    let mut loose = Vec::new();
    let mut by_name: HashMap<Name, usize> = HashMap::new();
    for (at, symbol) in symbols.iter().enumerate().filter(|(_, s)| s.kind == SymbolKind::Function) {
        // If two definitions have one name, the first one counts.
        by_name.entry(symbol.name.clone()).or_insert(at);
    }
    for (name, rule) in rules {
        match by_name.get(&name).and_then(|k| symbols.get_mut(*k)) {
            Some(definition) => definition.children.push(rule),
            None => loose.push(rule),
        }
    }
    symbols.extend(loose);
    symbols.sort_by_key(|s| s.span);
    symbols
}

/// Returns the symbols that an item defines.
fn symbols_of_item(session: &Session, item: &ItemRef) -> Vec<ModuleSymbol> {
    let Some(parsed) = session.tree(item) else { return Vec::new() };
    let tree = &parsed.tree;
    let all = item.span();
    let text = |span: Span| join_code_lines(item.text.get(span.range()).unwrap_or_default());
    let symbol = |name: &Name, kind, detail, selection: Span| ModuleSymbol {
        name: name.clone(),
        kind,
        detail,
        span: all,
        selection: selection.shift(item.start),
        children: Vec::new(),
    };
    let mut symbols = match &tree.item {
        Item::Def(def) => {
            let end = def.result.map(|t| tree.types[t].span.end);
            let end = end.or_else(|| def.params.last().map(|p| tree.types[p.ty].span.end.saturating_add(1)));
            let from = def.name.span.end;
            let detail = text(Span::new(from, end.unwrap_or(from).max(from)));
            // A comma or a space may precede the bracket that closes the parameters.
            let detail = match def.result.is_none() && !detail.ends_with(')') && !def.params.is_empty() {
                true => format!("{})", detail.trim_end_matches([',', ' ', '\n'])),
                false => detail,
            };
            vec![symbol(&def.name.name, SymbolKind::Function, detail, def.name.span)]
        }
        Item::DerivativeRule(rule) => {
            let all: Vec<&str> = rule.params.iter().map(|p| p.name.as_str()).collect();
            let deltas: Vec<&str> = rule.tangents.iter().map(|p| p.name.as_str()).collect();
            let word = if rule.is_adjoint { "adjoint" } else { "derivative" };
            let name = Name::from(format!("{word} {}", rule.name.name));
            let detail = format!("({}; {})", all.join(", "), deltas.join(", "));
            vec![symbol(&name, SymbolKind::Rule, detail, rule.name.span)]
        }
        Item::Type(def) => {
            let detail = match (def.params.first(), def.params.last()) {
                (Some(first), Some(last)) => format!("({})", text(first.span.to(last.span))),
                _ => String::new(),
            };
            let mut type_symbol = symbol(&def.name.name, SymbolKind::Type, detail, def.name.span);
            let single = session.resolved(item).is_some_and(|r| r.is_single_ctor);
            for_each_part(tree, def, single, &mut |name, kind, span, selection| {
                let detail = text(Span::new(selection.end.min(span.end), span.end));
                let detail = detail.trim_start_matches([':', ' ']).to_owned();
                let mut part = symbol(name, kind, detail, selection);
                part.span = span.shift(item.start);
                type_symbol.children.push(part);
            });
            vec![type_symbol]
        }
        Item::Import(import) => {
            let name = import.alias.as_ref().map_or(&item.name, |a| &a.name);
            let selection = import.alias.as_ref().unwrap_or(&import.path).span;
            let detail = if *name == import.path.name { String::new() } else { import.path.name.to_string() };
            vec![symbol(name, SymbolKind::Module, detail, selection)]
        }
        Item::Let(top) => {
            let detail = top.ty.map(|t| text(tree.types[t].span)).unwrap_or_default();
            let mut names = Vec::new();
            for_each_bound_name(tree, top.pat, &mut |name, span| names.push((name.clone(), span)));
            names.iter().map(|(name, span)| symbol(name, SymbolKind::Value, detail.clone(), *span)).collect()
        }
        Item::Do(_) | Item::Error => Vec::new(),
    };
    symbols.retain(|s| !s.name.is_empty());
    symbols
}

/// Reports the constructors or fields of a type: name, kind, span and the span of the name.
fn for_each_part(tree: &Tree, def: &TypeDef, single: bool, found: &mut dyn FnMut(&Name, SymbolKind, Span, Span)) {
    match &def.body {
        TypeBody::Sum(ctors) => {
            for ctor in ctors {
                let last = ctor.args.last().map(|t| tree.types[*t].span.end.saturating_add(1));
                let end = last.unwrap_or(ctor.name.span.end).min(tree.span.end);
                found(&ctor.name.name, SymbolKind::Constructor, Span::new(ctor.name.span.start, end), ctor.name.span);
            }
        }
        TypeBody::Single(body) => match &tree.types[*body].kind {
            TypeExpr::Name { name, .. } if single => {
                found(&name.name, SymbolKind::Constructor, tree.types[*body].span, name.span);
            }
            TypeExpr::Record(fields) => {
                for (name, ty) in fields {
                    found(&name.name, SymbolKind::Field, name.span.to(tree.types[*ty].span), name.span);
                }
            }
            _ => {}
        },
    }
}

/// Reports the names that a pattern binds.
fn for_each_bound_name(tree: &Tree, pat: PatId, found: &mut dyn FnMut(&Name, Span)) {
    let node = &tree.pats[pat];
    match &node.kind {
        Pat::Error | Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
        Pat::Name(name) => found(name, node.span),
        Pat::Ctor { args: items, .. } | Pat::Tuple(items) => {
            items.iter().for_each(|p| for_each_bound_name(tree, *p, found))
        }
        Pat::Record(fields) => {
            for (name, pat) in fields {
                match pat {
                    Some(pat) => for_each_bound_name(tree, *pat, found),
                    None => found(&name.name, name.span),
                }
            }
        }
        Pat::Sized(sizes, pat) => {
            sizes.iter().for_each(|s| found(&s.name, s.span));
            for_each_bound_name(tree, *pat, found);
        }
    }
}

/// Joins code into one line and drops its comments.
pub(crate) fn join_code_lines(code: &str) -> String {
    let lines = code.lines().map(|line| line.split_once("--").map_or(line, |(before, _)| before).trim());
    let joined = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    joined.replace("( ", "(").replace(" )", ")").replace(",)", ")").replace("[ ", "[").replace(" ]", "]")
}

/// A symbol of any module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkspaceSymbol {
    /// The name.
    pub name: Name,
    /// The kind.
    pub kind: SymbolKind,
    /// The location of the name.
    pub location: Location,
    /// The type whose constructor or field it is.
    pub container: Option<Name>,
}

/// The maximal number of symbols per query.
const MAX_SYMBOLS: usize = 256;

/// Returns the definitions of all modules whose names match the query, best first, at most
/// `MAX_SYMBOLS`. A name matches if it contains the letters of the query in order. Prefix matches
/// come first, then matches of word initials, then scattered matches. Among equal matches, the
/// user's modules precede the library, and shorter names precede longer ones.
#[must_use]
pub fn workspace_symbols(session: &Session, query: &str) -> Vec<WorkspaceSymbol> {
    let query = query.trim();
    // The part before the dot must match the module's name.
    let (of, query) = query.rsplit_once('.').map_or(("", query), |(of, name)| (of, name));
    let mut found: Vec<(u32, bool, usize, WorkspaceSymbol)> = Vec::new();
    for module in session.modules().into_iter().filter(|m| m != partials::MODULE) {
        if match_rank(&module, of).is_none() {
            continue;
        }
        let library = crate::find::is_library(&module);
        for item in session.items(&module) {
            // If the item's text does not contain the letters in order, none of its names does.
            if item.kind == ItemKind::Import || !has_letters(&item.text, query) {
                continue;
            }
            for symbol in symbols_of_item(session, &item) {
                add_if_matching(&mut found, &module, library, query, &symbol, None);
            }
        }
    }
    found.sort_by(|a, b| (a.0, a.1, a.2, &a.3.name, &a.3.location).cmp(&(b.0, b.1, b.2, &b.3.name, &b.3.location)));
    found.into_iter().map(|f| f.3).take(MAX_SYMBOLS).collect()
}

fn add_if_matching(
    found: &mut Vec<(u32, bool, usize, WorkspaceSymbol)>,
    module: &ModuleName,
    library: bool,
    query: &str,
    symbol: &ModuleSymbol,
    container: Option<&Name>,
) {
    if let Some(rank) = match_rank(&symbol.name, query) {
        let workspace_symbol = WorkspaceSymbol {
            name: symbol.name.clone(),
            kind: symbol.kind,
            location: Location { module: module.clone(), span: symbol.selection },
            container: container.cloned(),
        };
        found.push((rank, library, symbol.name.len(), workspace_symbol));
    }
    for part in &symbol.children {
        add_if_matching(found, module, library, query, part, Some(&symbol.name));
    }
}

fn has_letters(text: &str, query: &str) -> bool {
    match_rank(text, query).is_some()
}

/// The rank of a name that contains the letters of the query in scattered positions.
pub(crate) const SCATTERED_RANK: u32 = 4;

/// Returns how well a query matches a name, 0 best, or `None` if the name does not contain the
/// letters in order. A lower-case letter of the query matches both cases.
pub(crate) fn match_rank(name: &str, query: &str) -> Option<u32> {
    let same = |a: char, b: char| a == b || b.is_lowercase() && a.to_lowercase().eq(b.to_lowercase());
    let begins = |name: &str| {
        let mut letters = name.chars();
        query.chars().all(|q| letters.next().is_some_and(|c| same(c, q)))
    };
    if begins(name) {
        return Some(u32::from(name.chars().count() != query.chars().count()));
    }
    if name.match_indices('_').any(|(at, _)| name.get(at + 1..).is_some_and(begins)) {
        return Some(2);
    }
    let mut wanted = query.chars().peekable();
    // The initials of words, and any letters.
    let mut initials = query.chars().peekable();
    let mut before = '_';
    for c in name.chars() {
        if wanted.peek().is_some_and(|q| same(c, *q)) {
            wanted.next();
        }
        let begins_word = before == '_' || before.is_lowercase() && c.is_uppercase();
        if begins_word && initials.peek().is_some_and(|q| same(c, *q)) {
            initials.next();
        }
        before = c;
    }
    match (initials.peek(), wanted.peek()) {
        (None, _) => Some(3),
        (_, None) => Some(SCATTERED_RANK),
        _ => None,
    }
}
