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

/// Returns the span and the current name of the symbol to be renamed at an offset.
///
/// # Errors
/// The reason why the name cannot be renamed.
pub fn prepare_rename(session: &Session, module: &str, at: u32) -> Result<(Span, Name), String> {
    let (_, found) = renamable(session, module, at)?;
    Ok((found.span, found.name))
}

/// Returns the edits that rename the symbol at an offset, ordered by module and position.
///
/// # Errors
/// The reason why the new name is rejected, as a sentence.
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

/// Lexes the new name and returns its canonical spelling.
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
    // Aliases are local to a module, so only uses of this alias are renamed.
    let is_module = matches!(found.what, What::Module(_));
    let all = occurrences(session, item, found, None);
    let aliased = all.iter().any(|(_, u)| u.role == Role::Declaration);
    for (item, place) in &all {
        let span = place.span;
        let text = match place.role {
            Role::Import if aliased => continue,
            // `import linalg` uses the module's own name until it has an alias.
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

/// Returns the places in documentation that name the symbol in backticks. A parameter or size is
/// searched in the documentation of its definition. A definition or type is searched in all items
/// in which the name refers to it.
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

/// Returns the occurrences of a name in the code of comments, except as a field, an argument label
/// or a locally bound variable.
fn in_comments(text: &str, name: &Name) -> Vec<Span> {
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

/// Returns whether `{x}` in a pattern declares the variable, so that the field has the same name.
fn is_shorthand(session: &Session, item: &ItemRef, place: &Use) -> bool {
    place.role == Role::Declaration
        && !matches!(place.what, What::Field(..))
        && item.text.contains('{')
        && crate::names::untyped_uses(session, item).iter().any(|u| u.span == place.span && u.role == Role::Shorthand)
}

/// Returns the edited texts.
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

/// Verifies the edits: resolves the changed texts on another thread and compares the meanings of
/// names.
fn verify(session: &Session, item: &ItemRef, found: &Use, new: &Name, edits: &[Edit]) -> Result<(), String> {
    let before = Before::of(session, item, found, new, edits);
    let verified = apart(session, move |stop| before.verify(stop));
    verified.unwrap_or_else(|| Err("the renamed text cannot be resolved".to_owned()))
}

/// The meanings of names before the rename.
#[derive(Clone)]
struct Before {
    /// The module in which the rename was requested.
    home: ModuleName,
    /// All modules of the user with their texts after the edits.
    texts: Arc<[(ModuleName, Arc<str>)]>,
    /// The modules that mention the old or the new name, with their old texts and items.
    modules: Arc<[Module]>,
    renaming: Renaming,
}

/// A module, its text and its items.
type Module = (ModuleName, Arc<str>, Vec<Meant>);

/// An item. If it mentions the old or the new name, also the meanings of its names and the codes of
/// its errors.
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

    /// Resolves the changed texts and compares the meanings, until `stop` is set.
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

/// Returns whether the new name is already defined in the same module, or already used for an
/// import.
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

/// Formats a line number, with its module if that is passed.
fn line(text: &str, module: Option<&ModuleName>, at: u32) -> String {
    let line = text.get(..at as usize).map_or(0, |t| t.matches('\n').count()) + 1;
    let own = module.map(|module| format!(" of `{module}`")).unwrap_or_default();
    format!("line {line}{own}")
}

/// Returns the uses of an item except keywords, in an order that does not change if `{x}` is
/// expanded to `{x: y}`.
fn meanings(session: &Session, item: &ItemRef) -> Vec<Use> {
    let mut all = uses(session, item);
    all.retain(|u| u.what != What::Word(Word::Keyword));
    // An import may gain an `as`, which adds no meaning beyond its path.
    let import = item.kind == ItemKind::Import;
    all.retain(|u| !(import && u.role == Role::Declaration));
    // In `{x}` the field and the variable share a span; in `{x: y}` they have two. The field comes
    // first in both cases.
    all.sort_by_key(|u| (u.span.start, u.role != Role::Shorthand));
    all
}

/// Returns the sorted codes of an item's syntax and name errors, without duplicates.
fn errors(session: &Session, item: &ItemRef) -> Vec<Code> {
    let syntax = session.tree(item).map(|p| p.diagnostics.clone()).unwrap_or_default();
    let names = session.resolved(item).map(|r| r.diagnostics.clone()).unwrap_or_default();
    let all: HashSet<_> = syntax.iter().chain(&names).filter(|d: &&Diagnostic| d.is_error()).map(|d| d.code).collect();
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_unstable();
    all
}

/// The mapping from old meanings to new ones.
#[derive(Clone)]
struct Renaming {
    found: Use,
    new: Name,
    /// The modules whose records a renamed field can belong to.
    reached: HashSet<ModuleName>,
}

impl Renaming {
    fn global(&self, name: &GlobalName) -> GlobalName {
        GlobalName { module: name.module.clone(), name: self.new.clone() }
    }

    /// Returns the expected meaning after the rename, for an item that was `old` and is now `new`.
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
