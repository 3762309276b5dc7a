//! **Queries of one item.** Each query runs one pass over the results of earlier queries. If a
//! result equals the previous one, no dependent query runs.
//!
//! No query depends on itself: `cycles` finds the items that would, from resolved names alone, and
//! these have no signature or type. If it misses one, the query that meets itself returns the same
//! empty result.

use std::collections::BTreeMap;
use std::sync::Arc;

use salsa::{Database, Id};

use super::PRELUDE;
use super::cycles::{is_cyclic, item_dependencies, type_depends_on};
use super::db::ItemInput;
use super::passes;
use super::scope::{ctors, size_params};
use super::view::ProgramView;
use lang_base::{Code, Diagnostic, Fact, Fix, GlobalName, ModuleName, Name, Span};
use lang_resolve::builtin::Builtin;
use lang_resolve::{self, Res, Resolved, SignatureNames};
use lang_sizes::predicate::Poly;
use lang_syntax::ast;
use lang_syntax::lexer::COMMENT_HELP;
use lang_syntax::parser::ParsedItem;
use lang_syntax::split::ItemKind;
use lang_types::check::CheckedItem;
use lang_types::ty::{Signature, Type};
use lang_types::type_info::{ParamKind, TypeInfo};

/// A result, absent if errors prevent it, with its diagnostics.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct WithDiagnostics<T> {
    /// The result.
    pub(super) value: Option<Arc<T>>,
    /// The diagnostics.
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<T> WithDiagnostics<T> {
    /// Wraps the result of a pass. A result that is too large for later passes is dropped, with a
    /// diagnostic.
    fn from_pass(
        (value, mut diagnostics): (Option<T>, Vec<Diagnostic>),
        fits: fn(&T) -> bool,
        tree: &ast::Tree,
    ) -> Self {
        let value = value.filter(|value| {
            let fits = fits(value);
            if !fits {
                diagnostics.push(too_large_diagnostic(tree));
            }
            fits
        });
        Self { value: value.map(Arc::new), diagnostics }
    }

    fn empty() -> Self {
        Self { value: None, diagnostics: Vec::new() }
    }
}

/// Parses an item.
#[salsa::tracked]
pub(super) fn tree(db: &dyn Database, item: ItemInput) -> Arc<ParsedItem> {
    Arc::new(passes::parse(item.kind(db), item.text(db)))
}

/// Resolves the names in an item.
#[salsa::tracked]
pub(super) fn resolved(db: &dyn Database, item: ItemInput) -> Arc<Resolved> {
    Arc::new(lang_resolve::resolve(&tree(db, item).tree, module(db, item), &ProgramView::new(db)))
}

/// Returns the names that a definition's signature introduces, for its rules.
#[salsa::tracked]
pub(super) fn signature_names(db: &dyn Database, item: ItemInput) -> SignatureNames {
    SignatureNames::from_resolved(resolved(db, item))
}

fn module(db: &dyn Database, item: ItemInput) -> &ModuleName {
    item.file(db).module(db)
}

/// Returns the signature of a definition.
#[salsa::tracked(cycle_result = no_signature_on_cycle)]
pub(super) fn signature(db: &dyn Database, item: ItemInput) -> WithDiagnostics<Signature> {
    if item.kind(db) != ItemKind::Def {
        return WithDiagnostics::empty();
    }
    let ParsedItem { tree, diagnostics } = &**tree(db, item);
    if is_self_dependent(db, item) {
        return WithDiagnostics { value: None, diagnostics: vec![cycle_diagnostic(db, item, tree)] };
    }
    let mut found = passes::item_signature(tree, resolved(db, item), module(db, item), &ProgramView::new(db));
    // If parameters could not be parsed, the sizes that they determine are unknown.
    if !diagnostics.is_empty() {
        found.1.retain(|d| !matches!(d.code, Code::E0301 | Code::E0302));
    }
    // If a bracket before the body has no partner, the types may be other than meant.
    let head = match &tree.item {
        ast::Item::Def(def) => tree.exprs[def.body].span.start,
        _ => 0,
    };
    if diagnostics.iter().any(|d| may_regroup(d) && d.span.start < head) {
        found.0 = None;
    }
    WithDiagnostics::from_pass(found, Signature::is_within_limits, tree)
}

fn no_signature_on_cycle(_: &dyn Database, _: Id, _: ItemInput) -> WithDiagnostics<Signature> {
    WithDiagnostics::empty()
}

/// Returns whether an item's type depends on itself. Most types need no other, so this often avoids
/// a query.
fn is_self_dependent(db: &dyn Database, item: ItemInput) -> bool {
    !item_dependencies(db, item).type_dependencies.is_empty() && is_cyclic(db, item)
}

/// Returns the diagnostic for an item whose type depends on itself.
fn cycle_diagnostic(db: &dyn Database, item: ItemInput, tree: &ast::Tree) -> Diagnostic {
    match &tree.item {
        ast::Item::Def(def) if def.result.is_none() => {
            let message = format!("the result type of `{}` must be written", def.name.name);
            Diagnostic::new(Code::E0211, def.name.span, message)
                .label("calls itself, directly or through other definitions")
                .help("write the type between the parameters and `=`: `def f(x: f64) -> f64 = …`")
        }
        ast::Item::Def(def) => {
            let message = format!("the signature of `{}` depends on itself", def.name.name);
            Diagnostic::new(Code::E0211, def.name.span, message)
                .help("make the size a parameter, because its top-level `let` calls this definition")
        }
        ast::Item::Type(def) => {
            let message = format!("the definition of `{}` is circular", def.name.name);
            Diagnostic::new(Code::E0109, def.name.span, message).label("its right side depends on this name").help(
                "use constructors, because only a sum type can contain itself: `type List(a) = Nil | Cons(a, List(a))`",
            )
        }
        ast::Item::Let(top) => {
            let name = tree.pats[top.pat].span;
            let Some((used, through)) = find_self_use(db, item, tree) else {
                return Diagnostic::new(Code::E0211, name, "the type of this value depends on itself")
                    .label("its right side depends on this name");
            };
            let subject = item.text(db).get(name.range()).filter(|text| !text.contains('\n')).unwrap_or("it");
            let help = match &through {
                None => "give the new value another name, as in `let y = x + 1`; use `scan` or `fold` to accumulate",
                Some(_) => "break the cycle, because a value can use only values that do not depend on it",
            };
            let by = through.map(|name| format!(", through `{name}`")).unwrap_or_default();
            Diagnostic::new(Code::E0211, used, format!("`{subject}` uses itself{by}"))
                .label("this use depends on the value itself")
                .related(name, "bound here")
                .help(help)
        }
        ast::Item::Import(_) | ast::Item::Do(_) | ast::Item::DerivativeRule(_) | ast::Item::Error => {
            Diagnostic::new(Code::E0211, tree.span, "this item depends on itself")
        }
    }
}

/// Returns the span at which a `let` uses a name whose type needs its own. The name is included if
/// another item defines it.
fn find_self_use(db: &dyn Database, item: ItemInput, tree: &ast::Tree) -> Option<(Span, Option<Name>)> {
    let view = ProgramView::new(db);
    let names = &resolved(db, item).exprs;
    let mut uses: Vec<(Span, &GlobalName)> = names
        .iter()
        .filter_map(|(id, res)| match res {
            Res::Let(name) | Res::Def(name) => Some((tree.exprs[*id].span, name)),
            _ => None,
        })
        .collect();
    uses.sort_by_key(|(span, _)| span.start);
    let leads_back = |name: &GlobalName| view.targets(name).into_iter().any(|target| type_depends_on(db, target, item));
    let own = |name: &GlobalName| view.targets(name).into_iter().any(|target| target == item);
    let (span, name) = uses.iter().find(|(_, name)| own(name)).or_else(|| uses.iter().find(|(_, n)| leads_back(n)))?;
    Some((*span, (!own(name)).then(|| name.name.clone())))
}

fn too_large_diagnostic(tree: &ast::Tree) -> Diagnostic {
    Diagnostic::new(Code::E0006, ident_span(tree), "the type here is too large when fully expanded")
}

/// Returns the signatures of the builtins, by their position in [`Builtin::ALL`].
#[salsa::tracked]
pub(super) fn builtin_signatures(db: &dyn Database) -> Vec<Option<Arc<Signature>>> {
    let view = ProgramView::new(db);
    let prelude = ModuleName::new(PRELUDE);
    let read = |builtin: &Builtin| {
        let tree = passes::parse_signature(builtin.signature()).tree;
        let resolved = lang_resolve::resolve(&tree, &prelude, &view);
        passes::item_signature(&tree, &resolved, &prelude, &view).0.map(Arc::new)
    };
    Builtin::ALL.iter().map(read).collect()
}

/// The part of a type that other types see while they are defined.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TypeHead {
    /// Its parameters.
    pub(super) params: Vec<(Name, ParamKind)>,
    /// Whether it is a sum type, not an alias.
    pub(super) is_sum: bool,
}

/// Returns the head of a `type` item.
#[salsa::tracked]
pub(super) fn type_head(db: &dyn Database, item: ItemInput) -> TypeHead {
    let ast::Item::Type(def) = &tree(db, item).tree.item else {
        return TypeHead { params: Vec::new(), is_sum: false };
    };
    let sizes = size_params(db, item).iter().chain(std::iter::repeat(&false));
    let kind = |is_size: &bool| if *is_size { ParamKind::Size } else { ParamKind::Type };
    let params = def.params.iter().zip(sizes).map(|(p, is_size)| (p.name.clone(), kind(is_size))).collect();
    TypeHead { params, is_sum: !ctors(db, item).is_empty() }
}

/// Returns the definition of a `type` item.
#[salsa::tracked(cycle_result = no_type_on_cycle)]
pub(super) fn type_info(db: &dyn Database, item: ItemInput) -> WithDiagnostics<TypeInfo> {
    if item.kind(db) != ItemKind::Type {
        return WithDiagnostics::empty();
    }
    let tree = &tree(db, item).tree;
    if is_self_dependent(db, item) {
        return WithDiagnostics { value: None, diagnostics: vec![cycle_diagnostic(db, item, tree)] };
    }
    WithDiagnostics::from_pass(
        passes::lower_type_item(tree, resolved(db, item), &ProgramView::with_heads_only(db)),
        TypeInfo::is_within_limits,
        tree,
    )
}

fn no_type_on_cycle(_: &dyn Database, _: Id, _: ItemInput) -> WithDiagnostics<TypeInfo> {
    WithDiagnostics::empty()
}

/// The types of the variables of a `let` item.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct LetTypes {
    /// The types, by name.
    pub(super) types: BTreeMap<Name, Type>,
    /// The known values of sizes: constants, or polynomials of other top-level sizes.
    pub(super) sizes: BTreeMap<Name, Poly>,
    /// The diagnostics.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Returns the types of the variables of a `let` item.
#[salsa::tracked(cycle_result = no_let_types_on_cycle)]
pub(super) fn let_types(db: &dyn Database, item: ItemInput) -> LetTypes {
    if item.kind(db) != ItemKind::Let {
        return LetTypes::default();
    }
    let tree = &tree(db, item).tree;
    if is_self_dependent(db, item) {
        // A pattern with an error may bind other names than meant.
        let wrong = matches!(&tree.item, ast::Item::Let(bind) if {
            let pattern = tree.pats[bind.pat].span;
            resolved(db, item).diagnostics.iter().any(|d| d.is_error() && pattern.to(d.span) == pattern)
        });
        let diagnostics = if wrong { Vec::new() } else { vec![cycle_diagnostic(db, item, tree)] };
        return LetTypes { diagnostics, ..LetTypes::default() };
    }
    let checked = checked(db, item);
    let mut types = passes::let_types(checked.as_deref());
    let sizes = checked.iter().flat_map(|c| c.size_values.iter().cloned()).collect();
    let all = types.len();
    types.retain(|_, ty| ty.is_within_limits());
    let diagnostics = if types.len() < all { vec![too_large_diagnostic(tree)] } else { Vec::new() };
    LetTypes { types, sizes, diagnostics }
}

fn no_let_types_on_cycle(_: &dyn Database, _: Id, _: ItemInput) -> LetTypes {
    LetTypes::default()
}

/// Returns the typed body of an item; `None` for items without one.
#[salsa::tracked(cycle_result = no_body_on_cycle)]
pub(super) fn checked(db: &dyn Database, item: ItemInput) -> Option<Arc<CheckedItem>> {
    let tree = &tree(db, item).tree;
    passes::check(tree, resolved(db, item), module(db, item), &ProgramView::new(db)).map(Arc::new)
}

fn no_body_on_cycle(_: &dyn Database, _: Id, _: ItemInput) -> Option<Arc<CheckedItem>> {
    None
}

/// Returns whether the rest of an item may be grouped in another way than meant after this error.
/// Such errors are a bracket or quote without its partner, and a `let` without its `in`.
fn may_regroup(d: &Diagnostic) -> bool {
    matches!(d.code, Code::E0002 | Code::E0005 | Code::E0010)
}

/// Returns all diagnostics of one item, relative to its text.
pub(super) fn item_diagnostics(db: &dyn Database, item: ItemInput) -> Vec<Diagnostic> {
    let mut all = tree(db, item).diagnostics.clone();
    let lone: Vec<u32> = all.iter().filter(|d| d.code == Code::E0002).map(|d| d.span.start).collect();
    let regrouped = all.iter().any(may_regroup);
    // An unknown name in which an opening bracket is missing: `xi]`.
    let joined = |d: &Diagnostic| d.code == Code::E0100 && lone.contains(&d.span.end);
    // A size whose opening bracket is missing.
    let bare = |d: &Diagnostic| d.code == Code::E0108 && regrouped;
    let names = resolved(db, item).diagnostics.iter().filter(|d| !joined(d) && !bare(d));
    all.extend(names.map(|d| suggest_comment_fix(d.clone(), item.text(db))));
    if regrouped {
        return all;
    }
    match item.kind(db) {
        ItemKind::Def => all.extend(signature(db, item).diagnostics.iter().cloned()),
        ItemKind::Type => all.extend(type_info(db, item).diagnostics.iter().cloned()),
        ItemKind::Let => all.extend(let_types(db, item).diagnostics.iter().cloned()),
        ItemKind::Import | ItemKind::Do | ItemKind::Derivative | ItemKind::Adjoint | ItemKind::StrayText => {}
    }
    // A size of the result that no parameter determines is reported once.
    let lone: Vec<Name> = all
        .iter()
        .filter_map(|d| match (&d.fact, d.code) {
            (Some(Fact::UnsolvedSize(name)), Code::E0302) => Some(name.clone()),
            _ => None,
        })
        .collect();
    let follows = |d: &Diagnostic| match &d.fact {
        Some(Fact::IndexExtents { here, elsewhere, .. }) => lone.iter().any(|name| name == here || name == elsewhere),
        _ => false,
    };
    all.extend(checked(db, item).iter().flat_map(|c| c.diagnostics.iter().filter(|d| !follows(d)).cloned()));
    all
}

/// Adds a hint to an unknown name that may be the text of a comment in another language's style.
/// The line must begin with the comment mark, or end with the comment.
fn suggest_comment_fix(d: Diagnostic, text: &str) -> Diagnostic {
    if d.code != Code::E0100 {
        return d;
    }
    let line = text.get(..d.span.range().start).map_or("", |before| before.rsplit('\n').next().unwrap_or_default());
    let rest = text.get(d.span.range().end..).unwrap_or_default().lines().next().unwrap_or_default();
    let Some(mark) = ["//", "%"].into_iter().find(|mark| line.trim_end().ends_with(mark)) else { return d };
    let whole = line.trim() == mark;
    if !whole && (mark == "%" || d.help.is_some() || !rest.trim().is_empty()) {
        return d;
    }
    let at = |from_end: usize| d.span.start.saturating_sub(u32::try_from(from_end).unwrap_or(u32::MAX));
    let blank = line.len() - line.trim_end().len();
    let begin = Span::new(at(blank + mark.len()), at(blank));
    let help = if whole { COMMENT_HELP } else { "a comment begins with `--`; `//` divides integers" };
    d.help(help).fix(Fix::replace(begin, "--"))
}

/// Returns the span of an item's name, or of the whole item.
pub(super) fn name_span(db: &dyn Database, item: ItemInput) -> Span {
    ident_span(&tree(db, item).tree)
}

fn ident_span(tree: &ast::Tree) -> Span {
    match &tree.item {
        ast::Item::Def(def) => def.name.span,
        ast::Item::Type(def) => def.name.span,
        ast::Item::Import(import) => import.alias.as_ref().unwrap_or(&import.path).span,
        ast::Item::Let(item) => tree.pats[item.pat].span,
        ast::Item::DerivativeRule(rule) => rule.name.span,
        ast::Item::Do(_) | ast::Item::Error => tree.span,
    }
}
