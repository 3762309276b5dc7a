//! A name to another, in all modules at once, where every name goes on to mean what it means.
//!
//! That is not argued but tried: the renamed texts are resolved, and every name of every item that mentions the old
//! or the new name has to mean the same as before. A field is renamed in all records that can be the same; a parameter,
//! a definition and a type in documentation too, where backticks stand around the name; a definition and a type also in
//! the code of comments, examples and `-- >>> expr`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lang_core::base::{Code, Diagnostic, GlobalName, ModuleName, Name, Span};
use lang_core::resolve::{LocalKind, Names, ValueRef};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::split::ItemKind;

use crate::apart::apart;
use crate::find::{declarations, is_library, mentions, occurrences};
use crate::lenses::ASKED;
use crate::names::{Role, Use, What, Word, name_at, uses};
use crate::reach::reached;
use crate::{Edit, Location};

/// What may be renamed at a place: where it stands and what it is called.
///
/// # Errors
/// Why it may not.
pub fn prepare_rename(session: &Session, module: &str, at: u32) -> Result<(Span, Name), String> {
    let (_, found) = renamable(session, module, at)?;
    Ok((found.span, found.name))
}

/// The edits that give the name at a place another, in the order of modules and places.
///
/// # Errors
/// Why it may not have that name, as a sentence.
pub fn rename(session: &Session, module: &str, at: u32, new: &str) -> Result<Vec<Edit>, String> {
    let (item, found) = renamable(session, module, at)?;
    let new = read(new, &found.what)?;
    if new == found.name {
        return Ok(Vec::new());
    }
    if taken(session, &item, &found, &new) {
        return Err(format!("there is a `{new}` already"));
    }
    let edits = edits(session, &item, &found, &new);
    if let Some(edit) = edits.iter().find(|e| is_library(&e.at.module)) {
        return Err(format!("`{}` is used in the library, in module `{}`", found.name, edit.at.module));
    }
    verify(session, &item, &found, &new, &edits)?;
    Ok(edits)
}

fn renamable(session: &Session, module: &str, at: u32) -> Result<(ItemRef, Use), String> {
    let (item, found) = name_at(session, module, at).ok_or("there is no name here")?;
    let name = &found.name;
    match &found.what {
        What::Word(_) => return Err(format!("`{name}` is a word of the language")),
        What::Unknown => return Err(format!("`{name}` is not defined")),
        What::Field(all, _) if all.is_empty() => {
            return Err(format!("the record that `{name}` belongs to is not known; mend the errors first"));
        }
        What::Module(_) if found.role == Role::Import => {
            return Err("a module is renamed with its file; its name here is given by `as`".to_owned());
        }
        What::Module(_) => {}
        What::Value(global) | What::Type(global) | What::Ctor(global, _) if is_library(&global.module) => {
            return Err(format!("`{name}` belongs to the library"));
        }
        what => {
            if let Some(place) = declarations(session, &item, what).iter().find(|d| is_library(&d.module)) {
                let of = if place.module.is_empty() { "the prelude" } else { place.module.as_str() };
                return Err(format!("`{name}` belongs to the library, to {of}"));
            }
        }
    }
    if is_library(&item.module) {
        return Err("this text is part of the library".to_owned());
    }
    Ok((item, found))
}

/// The new name as the language reads it.
fn read(new: &str, what: &What) -> Result<Name, String> {
    let lexed = lex(new);
    match lexed.tokens.as_slice() {
        [token] if token.span.range() == (0..new.len()) && lexed.diagnostics.is_empty() => match &token.token {
            Token::Name(name) if name == new => Ok(name.clone()),
            Token::Name(name) => Err(format!("`{new}` is another spelling of `{name}`")),
            Token::Word(word) if matches!(what, What::Field(..)) => Ok(word.text().into()),
            Token::Word(_) => Err(format!("`{new}` is a reserved word")),
            _ => Err(format!("`{new}` is no name")),
        },
        _ => Err(format!("`{new}` is no name: a name has letters, digits, `_` and `'`, and no digit first")),
    }
}

fn edits(session: &Session, item: &ItemRef, found: &Use, new: &Name) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    // Modules are told apart by the names they have here.
    let is_module = matches!(found.what, What::Module(_));
    let all = occurrences(session, item, found, None);
    let aliased = all.iter().any(|(_, u)| u.role == Role::Declaration);
    for (item, place) in &all {
        let span = place.span;
        let text = match place.role {
            Role::Import if aliased => continue,
            // `import linalg` goes by the name of its module until it is given another.
            Role::Import => {
                let end = Span::new(span.end, span.end);
                edits.push(Edit { at: at(&item.module, end), text: format!(" as {new}") });
                continue;
            }
            _ if is_module && place.name != found.name => continue,
            Role::Shorthand => format!("{new}: {}", place.name),
            _ if is_shorthand(session, item, place) => format!("{}: {new}", place.name),
            _ => new.to_string(),
        };
        edits.push(Edit { at: at(&item.module, span), text });
    }
    edits.extend(documented(session, item, found).into_iter().map(|at| Edit { at, text: new.to_string() }));
    edits.sort_by(|a, b| a.at.cmp(&b.at));
    edits.dedup();
    edits
}

/// Where documentation names it in backticks: a parameter or a size in that of its definition, a definition or a type in
/// that of all items for which the name means it.
fn documented(session: &Session, item: &ItemRef, found: &Use) -> Vec<Location> {
    let name = &found.name;
    let view = session.view();
    let items: Vec<ItemRef> = match &found.what {
        What::Local(owner, _) => {
            let home = if *owner == item.global { Some(item.clone()) } else { session.item(owner) };
            let signature = matches!(found.kind, Some(LocalKind::Param | LocalKind::ImplicitSize));
            home.filter(|_| signature).into_iter().collect()
        }
        What::Value(global) | What::Type(global) => {
            let means = |module: &ModuleName| match &found.what {
                What::Type(_) => view.type_name(module, name).as_ref() == Some(global),
                _ => {
                    matches!(view.value(module, name), Some(ValueRef::Def(g) | ValueRef::Let(g)) if g == *global)
                }
            };
            let concerned = |m: &ModuleName| session.text(m).is_some_and(|text| mentions(&text, name)) && means(m);
            let modules = session.modules().into_iter().filter(|m| !is_library(m) && concerned(m));
            let local = |i: &ItemRef| {
                let all = crate::names::untyped_uses(session, i);
                all.iter().any(|u| u.name == *name && matches!(u.what, What::Local(..)))
            };
            modules.flat_map(|m| session.items(&m)).filter(|i| mentions(&i.text, name) && !local(i)).collect()
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
                all.extend(places.map(|from| at(&item.module, Span::new(from, end(from)).shift(item.start))));
            }
            start += line.len();
        }
    }
    if matches!(found.what, What::Value(_) | What::Type(_)) {
        let modules: BTreeSet<&ModuleName> = items.iter().map(|item| &item.module).chain([&item.module]).collect();
        for module in modules {
            let text = session.text(module).unwrap_or_default();
            all.extend(in_comments(&text, name).into_iter().map(|span| at(module, span)));
        }
    }
    all
}

/// Where the code of comments has a name that is none of a field, an argument or a variable of its own.
fn in_comments(text: &str, name: &Name) -> Vec<Span> {
    const BINDS: [&str; 14] =
        ["for", "sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "let", "fold", "scan", "loop", "\\"];
    let mut all = Vec::new();
    // Lines of code that belong together, each with where it begins.
    let mut blocks: Vec<Vec<(usize, &str)>> = Vec::new();
    let (mut start, mut in_example) = (0, false);
    for line in text.split_inclusive('\n') {
        let comment = line.trim_start();
        let place = start + (line.len() - comment.len());
        start += line.len();
        if let Some(code) = comment.strip_prefix(ASKED) {
            blocks.push(vec![(place + ASKED.len(), code)]);
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

fn at(module: &ModuleName, span: Span) -> Location {
    Location { module: module.clone(), span }
}

/// Is the variable declared by `{x}` in a pattern, whose field is called so too?
fn is_shorthand(session: &Session, item: &ItemRef, place: &Use) -> bool {
    place.role == Role::Declaration
        && !matches!(place.what, What::Field(..))
        && item.text.contains('{')
        && crate::names::untyped_uses(session, item).iter().any(|u| u.span == place.span && u.role == Role::Shorthand)
}

/// The texts after the edits.
fn changed(session: &Session, edits: &[Edit]) -> BTreeMap<ModuleName, String> {
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

/// Has the changed texts resolved.
fn verify(session: &Session, item: &ItemRef, found: &Use, new: &Name, edits: &[Edit]) -> Result<(), String> {
    let before = Before::of(session, item, found, new, edits);
    let verified = apart(session, move |stop| before.verify(stop));
    verified.unwrap_or_else(|| Err("the renamed text cannot be resolved".to_owned()))
}

/// What names mean before they are renamed.
#[derive(Clone)]
struct Before {
    /// The module in which was asked.
    home: ModuleName,
    /// All modules with their texts, as they will be.
    texts: Arc<[(ModuleName, Arc<str>)]>,
    /// Of the modules with the old or the new name their texts and items.
    modules: Arc<[Module]>,
    renaming: Renaming,
}

/// A module, its text and its items.
type Module = (ModuleName, Arc<str>, Vec<Meant>);

/// An item, with what its names mean and its errors if it has the old or the new name.
struct Meant {
    item: ItemRef,
    names: Option<(Vec<Use>, Vec<Code>)>,
}

impl Before {
    fn of(session: &Session, item: &ItemRef, found: &Use, new: &Name, edits: &[Edit]) -> Self {
        let changed = changed(session, edits);
        let concerned = |text: &str| mentions(text, &found.name) || mentions(text, new);
        let own = session.modules().into_iter().filter(|m| !is_library(m));
        let all: Vec<(ModuleName, Arc<str>)> = own.filter_map(|m| session.text(&m).map(|text| (m, text))).collect();
        let meant = |item: ItemRef| {
            let names = concerned(&item.text).then(|| (meanings(session, &item), errors(session, &item)));
            Meant { item, names }
        };
        let modules = all.iter().filter(|(_, text)| concerned(text));
        let modules = modules.map(|(module, text)| {
            (module.clone(), Arc::clone(text), session.items(module).into_iter().map(meant).collect())
        });
        let reached = match &found.what {
            What::Field(fields, _) => reached(session, &item.module, fields),
            _ => HashSet::new(),
        };
        let renaming = Renaming { found: found.clone(), new: new.clone(), reached };
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

    /// Resolves the changed texts and compares, until it is told to stop.
    fn verify(&self, stop: &AtomicBool) -> Result<(), String> {
        let Renaming { found, new, .. } = &self.renaming;
        let stopped = || if stop.load(Ordering::Relaxed) { Err("stopped".to_owned()) } else { Ok(()) };
        let mut after = Session::new();
        for (module, text) in &*self.texts {
            stopped()?;
            after.set_text(module, text);
        }
        for (module, text, old_items) in &*self.modules {
            let new_items = after.items(module);
            if old_items.len() != new_items.len() {
                return Err(format!("with `{new}` the text would be read otherwise"));
            }
            let line = |at: u32| line(text, (*module != self.home).then_some(module), at);
            for (Meant { item: old_item, names }, new_item) in old_items.iter().zip(&new_items) {
                let Some((was, had)) = names else { continue };
                stopped()?;
                let is = meanings(&after, new_item);
                if was.len() != is.len() || *had != errors(&after, new_item) {
                    return Err(match was.iter().find(|u| u.name == *new) {
                        Some(u) => format!("`{new}` means something else in {}", line(u.span.start)),
                        None => format!("`{new}` already means something else where `{}` is used", found.name),
                    });
                }
                for (a, b) in was.iter().zip(&is) {
                    if self.renaming.after(&a.what, old_item, new_item) != b.what {
                        return Err(format!("`{}` in {} would mean something else", a.name, line(a.span.start)));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Is there something of the new name in the same module, or has the import such a name?
fn taken(session: &Session, item: &ItemRef, found: &Use, new: &Name) -> bool {
    let view = session.view();
    let own = |module: &ModuleName| match view.value(module, new) {
        Some(ValueRef::Def(name) | ValueRef::Let(name) | ValueRef::Ctor(name, _)) => name.module == *module,
        None => false,
    };
    match &found.what {
        What::Value(name) | What::Ctor(name, _) => own(&name.module),
        What::Type(name) => view.type_name(&name.module, new).is_some_and(|ty| ty.module == name.module),
        What::Module(_) => view.import(&item.module, new).is_some(),
        _ => false,
    }
}

/// A line in words, with its module if that is told.
fn line(text: &str, module: Option<&ModuleName>, at: u32) -> String {
    let line = text.get(..at as usize).map_or(0, |t| t.matches('\n').count()) + 1;
    let own = module.map(|module| format!(" of `{module}`")).unwrap_or_default();
    format!("line {line}{own}")
}

/// The names of an item but for words; a shorthand that became a pair is one place less or more.
fn meanings(session: &Session, item: &ItemRef) -> Vec<Use> {
    let mut all = uses(session, item);
    all.retain(|u| u.what != What::Word(Word::Keyword));
    // An import may get its `as`, which says no more than its path.
    let import = item.kind == ItemKind::Import;
    all.retain(|u| !(import && u.role == Role::Declaration));
    // In `{x}` the field and the variable stand at one place, in `{x: y}` at two: by what they mean they are the same.
    all.sort_by_key(|u| (u.span.start, u.role != Role::Shorthand));
    all
}

/// The codes of the errors of syntax and names.
fn errors(session: &Session, item: &ItemRef) -> Vec<Code> {
    let syntax = session.tree(item).map(|p| p.diagnostics.clone()).unwrap_or_default();
    let names = session.resolved(item).map(|r| r.diagnostics.clone()).unwrap_or_default();
    let all: HashSet<_> = syntax.iter().chain(&names).filter(|d: &&Diagnostic| d.is_error()).map(|d| d.code).collect();
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_unstable();
    all
}

/// What becomes of meanings.
#[derive(Clone)]
struct Renaming {
    found: Use,
    new: Name,
    /// The modules with the records of which a field is renamed.
    reached: HashSet<ModuleName>,
}

impl Renaming {
    fn global(&self, name: &GlobalName) -> GlobalName {
        GlobalName { module: name.module.clone(), name: self.new.clone() }
    }

    /// What something means then, in an item that was `old` and is `new`.
    fn after(&self, what: &What, old: &ItemRef, new: &ItemRef) -> What {
        let owner = |name: &GlobalName| {
            if *name == old.global {
                return new.global.clone();
            }
            match &self.found.what {
                What::Value(renamed) if renamed == name => self.global(name),
                _ => name.clone(),
            }
        };
        match (what, &self.found.what) {
            (What::Value(name), What::Value(renamed)) if name == renamed => What::Value(self.global(name)),
            (What::Type(name), What::Type(renamed)) if name == renamed => What::Type(self.global(name)),
            (What::Ctor(ty, k), What::Type(renamed)) if ty == renamed => What::Ctor(self.global(ty), *k),
            (What::Local(name, id), _) => What::Local(owner(name), *id),
            (What::TypeParam(name, k), _) => What::TypeParam(owner(name), *k),
            (What::Field(all, name), What::Field(renamed, field))
                if all == renamed && self.reached.contains(&old.module) =>
            {
                let change = |n: &Name| if n == field { self.new.clone() } else { n.clone() };
                let mut all: Vec<Name> = all.iter().map(change).collect();
                all.sort_unstable();
                What::Field(all, change(name))
            }
            _ => what.clone(),
        }
    }
}
