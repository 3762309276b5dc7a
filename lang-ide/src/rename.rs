//! **Rename** across all modules, without changing the meaning of any name.
//!
//! The result is verified, not argued. The renamed texts are resolved in a second session. Every
//! name of every item that mentions the old or the new name must then mean the same as before.
//!
//! A field is renamed in all records that can be the same. A parameter, a definition or a type is
//! also renamed in documentation, if the name is in backticks. A definition or a type is renamed in
//! the code of comments too: examples and `-- >>> expr`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lang_core::base::{Code, Diagnostic, GlobalName, ModuleName, Name, Span};
use lang_core::resolve::{LocalKind, NameEnv, ValueRef};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::split::ItemKind;

use crate::find::{declarations, is_library, may_mention, occurrences};
use crate::lenses::EVALUATE_PREFIX;
use crate::names::{LanguageWord, NameRole, NameTarget, NameUse, name_at, uses};
use crate::reach::reachable_modules;
use crate::speculative::run_speculatively;
use crate::{Edit, Location};

/// Returns the span and the current name of the symbol to be renamed at an offset.
///
/// # Errors
/// The reason why the name cannot be renamed.
pub fn prepare_rename(session: &Session, module: &str, at: u32) -> Result<(Span, Name), String> {
    let (_, found) = check_renamable(session, module, at)?;
    Ok((found.span, found.name))
}

/// Returns the edits that rename the symbol at an offset, ordered by module and position.
///
/// # Errors
/// The reason why the new name is rejected, as a sentence.
pub fn rename(session: &Session, module: &str, at: u32, new: &str) -> Result<Vec<Edit>, String> {
    let (item, found) = check_renamable(session, module, at)?;
    let new = parse_new_name(new, &found.meaning)?;
    if new == found.name {
        return Ok(Vec::new());
    }
    if is_name_taken(session, &item, &found, &new) {
        return Err(format!("`{new}` already exists"));
    }
    let edits = rename_edits(session, &item, &found, &new);
    if let Some(edit) = edits.iter().find(|e| is_library(&e.at.module)) {
        return Err(format!("the library uses `{}`, in module `{}`", found.name, edit.at.module));
    }
    verify(session, &item, &found, &new, &edits)?;
    Ok(edits)
}

fn check_renamable(session: &Session, module: &str, at: u32) -> Result<(ItemRef, NameUse), String> {
    let (item, found) = name_at(session, module, at).ok_or("no name at the cursor")?;
    let name = &found.name;
    match &found.meaning {
        NameTarget::Word(_) => return Err(format!("`{name}` is a word of the language")),
        NameTarget::Unknown => return Err(format!("`{name}` is not defined")),
        NameTarget::Field(all, _) if all.is_empty() => {
            return Err(format!("the record of `{name}` is unknown; fix the errors first"));
        }
        NameTarget::Module(_) if found.role == NameRole::Import => {
            return Err("rename the file to rename the module; add `as` to change its name here".to_owned());
        }
        NameTarget::Module(_) => {}
        NameTarget::Value(global) | NameTarget::Type(global) | NameTarget::Ctor(global, _)
            if is_library(&global.module) =>
        {
            return Err(format!("`{name}` belongs to the library"));
        }
        what => {
            if let Some(place) = declarations(session, &item, what).iter().find(|d| is_library(&d.module)) {
                let of = if place.module.is_empty() { "the prelude" } else { place.module.as_str() };
                return Err(format!("`{name}` belongs to the library, in {of}"));
            }
        }
    }
    if is_library(&item.module) {
        return Err("this text is part of the library".to_owned());
    }
    Ok((item, found))
}

/// Lexes the new name and returns its canonical spelling.
fn parse_new_name(new: &str, what: &NameTarget) -> Result<Name, String> {
    let lexed = lex(new);
    match lexed.tokens.as_slice() {
        [token] if token.span.range() == (0..new.len()) && lexed.diagnostics.is_empty() => match &token.token {
            Token::Name(name) if name == new => Ok(name.clone()),
            Token::Name(name) => Err(format!("`{new}` is another spelling of `{name}`")),
            Token::Keyword(word) if matches!(what, NameTarget::Field(..)) => Ok(word.text().into()),
            Token::Keyword(_) => Err(format!("`{new}` is a reserved word")),
            _ => Err(format!("`{new}` is not a name")),
        },
        _ => Err(format!(
            "`{new}` is not a name: a name consists of letters, digits, `_` and `'`, and must not begin with a digit"
        )),
    }
}

fn rename_edits(session: &Session, item: &ItemRef, found: &NameUse, new: &Name) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    // Aliases are local to a module, so only uses of this alias are renamed.
    let is_module = matches!(found.meaning, NameTarget::Module(_));
    let all = occurrences(session, item, found, None);
    let aliased = all.iter().any(|(_, u)| u.role == NameRole::Declaration);
    for (item, place) in &all {
        let span = place.span;
        let text = match place.role {
            NameRole::Import if aliased => continue,
            // `import linalg` uses the module's own name until it has an alias.
            NameRole::Import => {
                let end = Span::new(span.end, span.end);
                edits.push(Edit { at: location(&item.module, end), text: format!(" as {new}") });
                continue;
            }
            _ if is_module && place.name != found.name => continue,
            NameRole::Shorthand => format!("{new}: {}", place.name),
            _ if is_shorthand(session, item, place) => format!("{}: {new}", place.name),
            _ => new.to_string(),
        };
        edits.push(Edit { at: location(&item.module, span), text });
    }
    edits.extend(documentation_mentions(session, item, found).into_iter().map(|at| Edit { at, text: new.to_string() }));
    edits.sort_by(|a, b| a.at.cmp(&b.at));
    edits.dedup();
    edits
}

/// Returns the places in documentation that name the symbol in backticks. A parameter or size is
/// searched in the documentation of its definition. A definition or type is searched in all items
/// in which the name refers to it.
fn documentation_mentions(session: &Session, item: &ItemRef, found: &NameUse) -> Vec<Location> {
    let name = &found.name;
    let view = session.view();
    let items: Vec<ItemRef> = match &found.meaning {
        NameTarget::Local(owner, _) => {
            let home = if *owner == item.global { Some(item.clone()) } else { session.item(owner) };
            let signature = matches!(found.kind, Some(LocalKind::Param | LocalKind::ImplicitSize));
            home.filter(|_| signature).into_iter().collect()
        }
        NameTarget::Value(global) | NameTarget::Type(global) => {
            let means = |module: &ModuleName| match &found.meaning {
                NameTarget::Type(_) => view.top_level_type(module, name).as_ref() == Some(global),
                _ => {
                    matches!(view.top_level_value(module, name), Some(ValueRef::Def(g) | ValueRef::Let(g)) if g == *global)
                }
            };
            let concerned = |m: &ModuleName| session.text(m).is_some_and(|text| may_mention(&text, name)) && means(m);
            let modules = session.modules().into_iter().filter(|m| !is_library(m) && concerned(m));
            let local = |i: &ItemRef| {
                let all = crate::names::untyped_uses(session, i);
                all.iter().any(|u| u.name == *name && matches!(u.meaning, NameTarget::Local(..)))
            };
            modules.flat_map(|m| session.items(&m)).filter(|i| may_mention(&i.text, name) && !local(i)).collect()
        }
        _ => Vec::new(),
    };
    let quoted = format!("`{name}`");
    let mut all = Vec::new();
    for item in &items {
        let mut start = 0;
        for line in item.text.split_inclusive('\n') {
            if line.trim_start().starts_with("--|") {
                let places = line.match_indices(&quoted).filter_map(|(k, _)| u32::try_from(start + k + 1).ok());
                let end = |from: u32| from.saturating_add(u32::try_from(name.len()).unwrap_or(u32::MAX));
                all.extend(places.map(|from| location(&item.module, Span::new(from, end(from)).shift(item.start))));
            }
            start += line.len();
        }
    }
    if matches!(found.meaning, NameTarget::Value(_) | NameTarget::Type(_)) {
        let modules: BTreeSet<&ModuleName> = items.iter().map(|item| &item.module).chain([&item.module]).collect();
        for module in modules {
            let text = session.text(module).unwrap_or_default();
            all.extend(comment_mentions(&text, name).into_iter().map(|span| location(module, span)));
        }
    }
    all
}

/// Returns the occurrences of a name in the code of comments, except as a field, an argument label
/// or a locally bound variable.
fn comment_mentions(text: &str, name: &Name) -> Vec<Span> {
    const BINDS: [&str; 14] =
        ["for", "sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "let", "fold", "scan", "loop", "\\"];
    let mut all = Vec::new();
    // Each block is a run of consecutive code lines, with the offset of each line.
    let mut blocks: Vec<Vec<(usize, &str)>> = Vec::new();
    let (mut start, mut in_example) = (0, false);
    for line in text.split_inclusive('\n') {
        let comment = line.trim_start();
        let place = start + (line.len() - comment.len());
        start += line.len();
        if let Some(code) = comment.strip_prefix(EVALUATE_PREFIX) {
            blocks.push(vec![(place + EVALUATE_PREFIX.len(), code)]);
        } else if let Some(code) = comment.strip_prefix("--|") {
            match (code.trim(), in_example) {
                ("```iverson", false) => {
                    in_example = true;
                    blocks.push(Vec::new());
                }
                ("```", _) => in_example = false,
                (_, true) => blocks.last_mut().into_iter().for_each(|block| block.push((place + 3, code))),
                _ => {}
            }
        } else {
            in_example = false;
        }
    }
    for block in blocks {
        let (mut found, mut is_bound) = (Vec::new(), false);
        for (start, code) in block {
            let tokens = lex(code).tokens;
            let word = |k: Option<usize>| k.and_then(|k| code.get(tokens.get(k)?.span.range())).unwrap_or_default();
            let own = tokens.iter().enumerate().filter(|(_, t)| matches!(&t.token, Token::Name(own) if own == name));
            for (k, token) in own {
                let (before, after) = (word(k.checked_sub(1)), word(Some(k + 1)));
                is_bound |= BINDS.contains(&before);
                if before != "." && after != ":" {
                    found.extend(u32::try_from(start).map(|start| token.span.shift(start)));
                }
            }
        }
        all.extend(found.into_iter().filter(|_| !is_bound));
    }
    all
}

fn location(module: &ModuleName, span: Span) -> Location {
    Location { module: module.clone(), span }
}

/// Returns whether `{x}` in a pattern declares the variable, so that the field has the same name.
fn is_shorthand(session: &Session, item: &ItemRef, place: &NameUse) -> bool {
    place.role == NameRole::Declaration
        && !matches!(place.meaning, NameTarget::Field(..))
        && item.text.contains('{')
        && crate::names::untyped_uses(session, item)
            .iter()
            .any(|u| u.span == place.span && u.role == NameRole::Shorthand)
}

/// Returns the edited texts.
fn apply_edits(session: &Session, edits: &[Edit]) -> BTreeMap<ModuleName, String> {
    let mut texts: BTreeMap<ModuleName, (String, usize)> = BTreeMap::new();
    for edit in edits {
        let Some(text) = session.text(&edit.at.module) else { continue };
        let (out, from) = texts.entry(edit.at.module.clone()).or_default();
        let span = edit.at.span.range();
        out.push_str(text.get(*from..span.start).unwrap_or_default());
        out.push_str(&edit.text);
        *from = span.end;
    }
    let rest = |(module, (mut out, from)): (ModuleName, (String, usize))| {
        let text = session.text(&module)?;
        out.push_str(text.get(from..).unwrap_or_default());
        Some((module, out))
    };
    texts.into_iter().filter_map(rest).collect()
}

/// Verifies the edits: resolves the changed texts on another thread and compares the meanings of
/// names.
fn verify(session: &Session, item: &ItemRef, found: &NameUse, new: &Name, edits: &[Edit]) -> Result<(), String> {
    let before = MeaningsBefore::collect(session, item, found, new, edits);
    let verified = run_speculatively(session, move |stop| before.verify(stop));
    verified.unwrap_or_else(|| Err("cannot resolve the renamed text".to_owned()))
}

/// The meanings of names before the rename.
#[derive(Clone)]
struct MeaningsBefore {
    /// The module in which the rename was requested.
    home: ModuleName,
    /// All modules of the user with their texts after the edits.
    texts: Arc<[(ModuleName, Arc<str>)]>,
    /// The modules that mention the old or the new name, with their old texts and items.
    modules: Arc<[ModuleMeanings]>,
    renaming: MeaningMap,
}

/// A module, its text and its items.
type ModuleMeanings = (ModuleName, Arc<str>, Vec<ItemMeanings>);

/// An item. If it mentions the old or the new name, also the meanings of its names and the codes of
/// its errors.
struct ItemMeanings {
    item: ItemRef,
    names: Option<(Vec<NameUse>, Vec<Code>)>,
}

impl MeaningsBefore {
    fn collect(session: &Session, item: &ItemRef, found: &NameUse, new: &Name, edits: &[Edit]) -> Self {
        let changed = apply_edits(session, edits);
        let concerned = |text: &str| may_mention(text, &found.name) || may_mention(text, new);
        let own = session.modules().into_iter().filter(|m| !is_library(m));
        let all: Vec<(ModuleName, Arc<str>)> = own.filter_map(|m| session.text(&m).map(|text| (m, text))).collect();
        let meant = |item: ItemRef| {
            let names = concerned(&item.text).then(|| (meanings(session, &item), error_codes(session, &item)));
            ItemMeanings { item, names }
        };
        let modules = all.iter().filter(|(_, text)| concerned(text));
        let modules = modules.map(|(module, text)| {
            (module.clone(), Arc::clone(text), session.items(module).into_iter().map(meant).collect())
        });
        let reached = match &found.meaning {
            NameTarget::Field(fields, _) => reachable_modules(session, &item.module, fields),
            _ => HashSet::new(),
        };
        let renaming = MeaningMap { found: found.clone(), new: new.clone(), reachable_modules: reached };
        Self {
            home: item.module.clone(),
            modules: modules.collect(),
            texts: all
                .iter()
                .map(|(m, text)| (m.clone(), changed.get(m).map_or(Arc::clone(text), |t| Arc::from(t.as_str()))))
                .collect(),
            renaming,
        }
    }

    /// Resolves the changed texts and compares the meanings, until `stop` is set.
    fn verify(&self, stop: &AtomicBool) -> Result<(), String> {
        let MeaningMap { found, new, .. } = &self.renaming;
        let stopped = || if stop.load(Ordering::Relaxed) { Err("stopped".to_owned()) } else { Ok(()) };
        let mut after = Session::new();
        for (module, text) in &*self.texts {
            stopped()?;
            after.set_text(module, text);
        }
        for (module, text, old_items) in &*self.modules {
            let new_items = after.items(module);
            if old_items.len() != new_items.len() {
                return Err(format!("the text would parse differently with `{new}`"));
            }
            let line = |at: u32| describe_line(text, (*module != self.home).then_some(module), at);
            for (ItemMeanings { item: old_item, names }, new_item) in old_items.iter().zip(&new_items) {
                let Some((was, had)) = names else { continue };
                stopped()?;
                let is = meanings(&after, new_item);
                if was.len() != is.len() || *had != error_codes(&after, new_item) {
                    return Err(match was.iter().find(|u| u.name == *new) {
                        Some(u) => format!("`{new}` has another meaning in {}", line(u.span.start)),
                        None => format!("`{new}` already has another meaning where `{}` is used", found.name),
                    });
                }
                for (a, b) in was.iter().zip(&is) {
                    if self.renaming.expected_meaning(&a.meaning, old_item, new_item) != b.meaning {
                        return Err(format!("`{}` in {} would change its meaning", a.name, line(a.span.start)));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns whether the new name is already defined in the same module, or already used for an
/// import.
fn is_name_taken(session: &Session, item: &ItemRef, found: &NameUse, new: &Name) -> bool {
    let view = session.view();
    let own = |module: &ModuleName| match view.top_level_value(module, new) {
        Some(ValueRef::Def(name) | ValueRef::Let(name) | ValueRef::Ctor(name, _)) => name.module == *module,
        None => false,
    };
    match &found.meaning {
        NameTarget::Value(name) | NameTarget::Ctor(name, _) => own(&name.module),
        NameTarget::Type(name) => view.top_level_type(&name.module, new).is_some_and(|ty| ty.module == name.module),
        NameTarget::Module(_) => view.imported_module(&item.module, new).is_some(),
        _ => false,
    }
}

/// Formats a line number, with its module if that is passed.
fn describe_line(text: &str, module: Option<&ModuleName>, at: u32) -> String {
    let line = text.get(..at as usize).map_or(0, |t| t.matches('\n').count()) + 1;
    let own = module.map(|module| format!(" of `{module}`")).unwrap_or_default();
    format!("line {line}{own}")
}

/// Returns the uses of an item except keywords, in an order that does not change if `{x}` is
/// expanded to `{x: y}`.
fn meanings(session: &Session, item: &ItemRef) -> Vec<NameUse> {
    let mut all = uses(session, item);
    all.retain(|u| u.meaning != NameTarget::Word(LanguageWord::Keyword));
    // An import may gain an `as`, which adds no meaning beyond its path.
    let import = item.kind == ItemKind::Import;
    all.retain(|u| !(import && u.role == NameRole::Declaration));
    // In `{x}` the field and the variable share a span; in `{x: y}` they have two. The field comes
    // first in both cases.
    all.sort_by_key(|u| (u.span.start, u.role != NameRole::Shorthand));
    all
}

/// Returns the sorted codes of an item's syntax and name errors, without duplicates.
fn error_codes(session: &Session, item: &ItemRef) -> Vec<Code> {
    let syntax = session.tree(item).map(|p| p.diagnostics.clone()).unwrap_or_default();
    let names = session.resolved(item).map(|r| r.diagnostics.clone()).unwrap_or_default();
    let all: HashSet<_> = syntax.iter().chain(&names).filter(|d: &&Diagnostic| d.is_error()).map(|d| d.code).collect();
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_unstable();
    all
}

/// The mapping from old meanings to new ones.
#[derive(Clone)]
struct MeaningMap {
    found: NameUse,
    new: Name,
    /// The modules whose records a renamed field can belong to.
    reachable_modules: HashSet<ModuleName>,
}

impl MeaningMap {
    fn renamed_global(&self, name: &GlobalName) -> GlobalName {
        GlobalName { module: name.module.clone(), name: self.new.clone() }
    }

    /// Returns the expected meaning after the rename, for an item that was `old` and is now `new`.
    fn expected_meaning(&self, what: &NameTarget, old: &ItemRef, new: &ItemRef) -> NameTarget {
        let owner = |name: &GlobalName| {
            if *name == old.global {
                return new.global.clone();
            }
            match &self.found.meaning {
                NameTarget::Value(renamed) if renamed == name => self.renamed_global(name),
                _ => name.clone(),
            }
        };
        match (what, &self.found.meaning) {
            (NameTarget::Value(name), NameTarget::Value(renamed)) if name == renamed => {
                NameTarget::Value(self.renamed_global(name))
            }
            (NameTarget::Type(name), NameTarget::Type(renamed)) if name == renamed => {
                NameTarget::Type(self.renamed_global(name))
            }
            (NameTarget::Ctor(ty, k), NameTarget::Type(renamed)) if ty == renamed => {
                NameTarget::Ctor(self.renamed_global(ty), *k)
            }
            (NameTarget::Local(name, id), _) => NameTarget::Local(owner(name), *id),
            (NameTarget::TypeParam(name, k), _) => NameTarget::TypeParam(owner(name), *k),
            (NameTarget::Field(all, name), NameTarget::Field(renamed, field))
                if all == renamed && self.reachable_modules.contains(&old.module) =>
            {
                let change = |n: &Name| if n == field { self.new.clone() } else { n.clone() };
                let mut all: Vec<Name> = all.iter().map(change).collect();
                all.sort_unstable();
                NameTarget::Field(all, change(name))
            }
            _ => what.clone(),
        }
    }
}
