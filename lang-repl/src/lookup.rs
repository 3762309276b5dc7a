//! **Name lookup for documentation.** Finds the entities that a user's name denotes, and builds
//! their [`DocEntry`]s. The order is: the current module, modules, words of the language and the
//! prelude, the library.
//!
//! The first match wins, but a word and a prelude definition of one name are both returned. Library
//! definitions are searched without imports. Beside a word or a prelude definition, only their
//! names are mentioned. The command `doc` and the REPL (`?`, `:cost`, the form commands,
//! completion) call this module.

use std::path::Path;

use lang_core::base::{GlobalName, ModuleName, Name};
use lang_core::resolve::vocabulary::{self, WordDoc};
use lang_core::session::{LIBRARY, PRELUDE};
use lang_core::syntax::docs::{self, DefinitionDocs};
use lang_core::syntax::split::ItemKind;

use crate::doc_entry::{DocEntry, first_sentence};
use crate::engine::Engine;
use crate::pages;
use crate::suggest;

/// Returns all documented entities of a name, as visible in module `here` if that is `Some`.
pub(crate) fn find_documentation(engine: &Engine, here: Option<&ModuleName>, name: &str) -> Vec<DocEntry> {
    let name = name.trim();
    if let Some((prefix, inner)) = name.split_once('.') {
        let found =
            resolve_module(engine, here, prefix).and_then(|module| definition_entry(engine, &module, prefix, inner));
        return found.into_iter().collect();
    }
    if let Some(own) = here.and_then(|module| definition_entry(engine, module, "", name)) {
        return vec![own];
    }
    if let Some(module) = resolve_module(engine, here, name) {
        return vec![module_entry(engine, &module, name)];
    }
    let library = library_entries(engine, name);
    let mut found: Vec<DocEntry> = vocabulary::describe(name).into_iter().map(|what| word_entry(name, what)).collect();
    if let Some(last) = found.last_mut() {
        last.docs += &format!("\n\n{}", pages::word_section(name).unwrap_or_default());
    }
    found.extend(definition_entry(engine, &PRELUDE.into(), "", name));
    if let Some(last) = found.last_mut() {
        last.same_name_definitions = library.into_iter().map(|entry| format!("`{}`", entry.name)).collect();
        return found;
    }
    library
}

/// Returns the definition that a name denotes. The name may also be that of a derivative, such as
/// `f_adj`; then `f` must exist.
pub(crate) fn resolve_definition(engine: &Engine, here: Option<&ModuleName>, name: &str) -> Option<GlobalName> {
    let name = name.trim();
    let definition_in = |module: &str, name: &str| {
        let suffixes = ["_adj", "_tan"];
        let mut base = name;
        loop {
            if engine.signature(&GlobalName::new(module, base)).is_some() {
                return Some(GlobalName::new(module, name));
            }
            base = suffixes.iter().find_map(|suffix| base.strip_suffix(suffix))?;
        }
    };
    if let Some((prefix, inner)) = name.split_once('.') {
        return definition_in(&resolve_module(engine, here, prefix)?, inner);
    }
    let own = here.and_then(|module| definition_in(module, name)).or_else(|| definition_in(PRELUDE, name));
    own.or_else(|| public_modules().find_map(|module| definition_in(module, name)))
}

/// Returns the known name closest to an unknown one.
pub(crate) fn nearest_name(engine: &Engine, here: Option<&ModuleName>, wrong: &str) -> Option<String> {
    let names = |module: &str| -> Vec<Name> {
        let module = module_docs(engine, &module.into());
        module.definitions().flat_map(|d| d.names.clone()).collect()
    };
    let mut known: Vec<String> = public_modules().map(str::to_owned).collect();
    if let Some((prefix, inner)) = wrong.split_once('.') {
        if let Some(module) = resolve_module(engine, here, prefix) {
            let names = names(&module);
            return suggest::closest(inner, names.iter().map(Name::as_str)).map(|near| format!("{prefix}.{near}"));
        }
        let near = suggest::closest(prefix, known.iter().map(String::as_str))?;
        let whole = format!("{near}.{inner}");
        return if find_documentation(engine, here, &whole).is_empty() { Some(near.to_owned()) } else { Some(whole) };
    }
    known.extend(vocabulary::all_words().map(str::to_owned));
    known.extend(here.into_iter().flat_map(|module| names(module)).chain(names(PRELUDE)).map(|n| n.to_string()));
    // Definitions of the library are compared without their prefix.
    let library: Vec<(Name, &str)> =
        public_modules().flat_map(|module| names(module).into_iter().map(move |name| (name, module))).collect();
    let all = known.iter().map(String::as_str).chain(library.iter().map(|(name, _)| name.as_str()));
    let near = suggest::closest(wrong, all)?;
    let module = library.iter().find(|(name, _)| name == near).map(|(_, module)| *module);
    Some(match module {
        Some(module) if !known.iter().any(|name| name == near) => format!("{module}.{near}"),
        _ => near.to_owned(),
    })
}

/// Returns the modules of the library, the prelude first.
pub(crate) fn library_modules(engine: &Engine) -> Vec<DocEntry> {
    let prelude = std::iter::once(module_entry(engine, &PRELUDE.into(), PRELUDE_NAME));
    prelude.chain(public_modules().map(|name| module_entry(engine, &name.into(), name))).collect()
}

/// Returns the names of the library's modules and, with prefixes, of their definitions.
pub(crate) fn library_names() -> Vec<String> {
    let texts = LIBRARY.iter().filter(|(module, _)| public_modules().any(|name| name == *module));
    let names = texts.flat_map(|(module, text)| {
        let docs = docs::ModuleDocs::from_text(text);
        let all = docs.definitions().flat_map(listed_names).map(|name| format!("{module}.{name}"));
        all.collect::<Vec<_>>()
    });
    names.chain(public_modules().map(str::to_owned)).collect()
}

/// Returns the definitions of a module.
pub(crate) fn definition_entries(engine: &Engine, module: &ModuleName) -> Vec<DocEntry> {
    let docs = module_docs(engine, module);
    let entries = |d| listed_names(d).iter().map(move |name| build_entry(engine, module, "", d, name));
    docs.definitions().flat_map(entries).collect()
}

/// Returns the names under which a definition is listed: all names of a `let`, and only the name
/// itself of a type, without its constructors.
fn listed_names(definition: &DefinitionDocs) -> &[Name] {
    let all = definition.names.as_slice();
    match definition.kind {
        ItemKind::Let => all,
        _ => all.split_at_checked(1).map_or(all, |(first, _)| first),
    }
}

/// The name of the prelude where a module name is needed.
const PRELUDE_NAME: &str = "prelude";

/// Returns the modules of the library except the prelude.
fn public_modules() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().map(|(name, _)| *name).filter(|name| *name != PRELUDE)
}

/// Resolves a prefix to an import of the current module, or to a library module.
fn resolve_module(engine: &Engine, here: Option<&ModuleName>, prefix: &str) -> Option<ModuleName> {
    if let Some(imported) = here.and_then(|module| engine.imported_module(module, prefix)) {
        return Some(imported);
    }
    if prefix == PRELUDE_NAME {
        return Some(PRELUDE.into());
    }
    LIBRARY.iter().find(|(name, _)| *name == prefix && *name != PRELUDE).map(|(name, _)| (*name).into())
}

/// Parses the documentation of a module.
fn module_docs(engine: &Engine, module: &ModuleName) -> docs::ModuleDocs {
    docs::ModuleDocs::from_text(&engine.module_text(module))
}

/// Returns the library's definitions of that name.
fn library_entries(engine: &Engine, name: &str) -> Vec<DocEntry> {
    public_modules().filter_map(|module| definition_entry(engine, &module.into(), module, name)).collect()
}

/// Returns the definition of a name in a module; `prefix` qualifies it.
fn definition_entry(engine: &Engine, module: &ModuleName, prefix: &str, name: &str) -> Option<DocEntry> {
    let docs = module_docs(engine, module);
    let found = docs.definition(name)?;
    Some(build_entry(engine, module, prefix, found, &name.into()))
}

/// Returns the name with its prefix, unless that is empty or the prelude.
fn qualified_name(prefix: &str, name: &str) -> String {
    if prefix.is_empty() || prefix == PRELUDE_NAME { name.to_owned() } else { format!("{prefix}.{name}") }
}

/// Builds the entry for one of the names of a definition.
fn build_entry(engine: &Engine, module: &ModuleName, prefix: &str, found: &DefinitionDocs, name: &Name) -> DocEntry {
    let constructor = found.kind == ItemKind::Type && found.names.first() != Some(name);
    // The source of a `let` may define several names, so the engine computes the signature.
    let source_shows_type = found.has_type && found.kind != ItemKind::Let;
    let signature = if source_shows_type { None } else { engine.describe(module, found.kind, name) };
    DocEntry {
        name: qualified_name(prefix, name),
        module: Some(json_module_name(module)),
        kind: match found.kind {
            ItemKind::Type if constructor => "constructor",
            ItemKind::Type => "type",
            ItemKind::Let => "let",
            _ => "def",
        },
        origin: origin_phrase(module),
        signature: signature.unwrap_or_else(|| found.signature.clone()),
        docs: found.docs.clone(),
        rules: found.rules.iter().map(|r| r.source.clone()).collect(),
        source: Some(found.source.clone()),
        ..DocEntry::default()
    }
}

/// Returns the module's name for JSON.
fn json_module_name(module: &ModuleName) -> String {
    if *module == PRELUDE { PRELUDE_NAME.to_owned() } else { module.to_string() }
}

/// Describes the origin of a definition. The name of a module without a file begins with `<`.
fn origin_phrase(module: &ModuleName) -> String {
    match LIBRARY.iter().any(|(name, _)| *module == *name) {
        true if *module == PRELUDE => "in the prelude".to_owned(),
        true => "in the library".to_owned(),
        false if module.starts_with('<') => "defined here".to_owned(),
        false => format!("in {}", Path::new(module.as_str()).display()),
    }
}

/// Builds the entry of a module, under the name by which it was looked up.
fn module_entry(engine: &Engine, module: &ModuleName, name: &str) -> DocEntry {
    let docs = module_docs(engine, module);
    let is_library = LIBRARY.iter().any(|(name, _)| *module == *name);
    let members = |d| listed_names(d).iter().map(|name| (name.to_string(), first_sentence(&d.docs)));
    DocEntry {
        name: name.to_owned(),
        module: Some(json_module_name(module)),
        kind: "module",
        origin: if is_library { "a library module".to_owned() } else { format!("the module {module}") },
        signature: if is_library && *module != PRELUDE { format!("import {name}") } else { String::new() },
        docs: docs.head.clone(),
        members: docs.definitions().flat_map(members).collect(),
        ..DocEntry::default()
    }
}

/// Builds the entry of a word of the language.
fn word_entry(name: &str, what: WordDoc) -> DocEntry {
    let article = if what.kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    DocEntry {
        name: name.to_owned(),
        kind: what.kind,
        origin: format!("{article} {}", what.kind),
        signature: what.signature,
        docs: what.doc,
        rules: what.partials.iter().map(|(by, partial)| format!("with respect to {by}: {partial}")).collect(),
        ..DocEntry::default()
    }
}
