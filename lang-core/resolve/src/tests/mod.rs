//! Tests of name resolution on small items. A test resolves the last item of a text; the items
//! before it are the rest of its module, which imports a module `m`.

mod meanings;
mod reports;

use std::collections::BTreeMap;

use expect_test::{Expect, expect};

use super::type_items::{constructors, param_uses, size_params};
use super::unnamed_extents::unnamed_extents;
use super::{LocalDecl, LocalKind, NameEnv, PatRes, Res, Resolved, SignatureNames, TypeRes, ValueRef, resolve};
use lang_base::{GlobalName, ModuleName, Name, Span};
use lang_sizes::predicate::LocalId;
use lang_syntax::ast::{Item, Pat, Tree};
use lang_syntax::parser::parse_item;
use lang_syntax::split::split;

const PRELUDE: &str = "def len(x: [n]a) -> i64 = n\ndef total(x: [n]f64) -> f64 = sum i: x[i]";
const MODULE_M: &str = "type Camera = Camera(f64, f64)\nlet width = 3\ndef double(x: f64) -> f64 = 2 * x";

/// Modules as texts. It answers by direct search the questions that `session` answers with queries.
struct ModuleTexts(BTreeMap<ModuleName, Vec<Tree>>);

impl ModuleTexts {
    fn new(main: &str) -> Self {
        let texts = [("", PRELUDE), ("m.iv", MODULE_M), ("main.iv", main)];
        let trees = |text| split(text).iter().map(|i| parse_item(&i.text).tree).collect();
        Self(texts.into_iter().map(|(name, text)| (name.into(), trees(text))).collect())
    }

    fn items(&self, module: &str) -> impl Iterator<Item = &Tree> {
        self.0.get(module).into_iter().flatten()
    }

    fn own_type(&self, module: &str, wanted: &str) -> Option<&Tree> {
        self.items(module).find(|t| matches!(&t.item, Item::Type(def) if def.name.name == wanted))
    }

    fn own_value(&self, module: &ModuleName, wanted: &str) -> Option<ValueRef> {
        let global = GlobalName::new(module, wanted);
        self.items(module).find_map(|tree| match &tree.item {
            Item::Def(def) if def.name.name == wanted => Some(ValueRef::Def(global.clone())),
            Item::Let(item) => match &tree.pats[item.pat].kind {
                Pat::Name(name) if name == wanted => Some(ValueRef::Let(global.clone())),
                _ => None,
            },
            Item::Type(def) => {
                let at = constructors(tree, module, self).iter().position(|c| c.name == wanted)?;
                Some(ValueRef::Ctor(GlobalName::new(module, &def.name.name), u32::try_from(at).unwrap()))
            }
            _ => None,
        })
    }
}

impl NameEnv for ModuleTexts {
    fn top_level_value(&self, module: &ModuleName, name: &str) -> Option<ValueRef> {
        self.own_value(module, name).or_else(|| self.own_value(&"".into(), name))
    }
    fn top_level_type(&self, module: &ModuleName, name: &str) -> Option<GlobalName> {
        [module.as_str(), ""].iter().find(|m| self.own_type(m, name).is_some()).map(|m| GlobalName::new(m, name))
    }
    fn imported_module(&self, _: &ModuleName, alias: &str) -> Option<ModuleName> {
        match alias {
            "m" => Some("m.iv".into()),
            "gone" => Some("gone.iv".into()),
            _ => None,
        }
    }
    fn imports(&self, _: &ModuleName) -> Vec<(Name, ModuleName)> {
        vec![("m".into(), "m.iv".into()), ("gone".into(), "gone.iv".into())]
    }
    fn library_modules(&self) -> Vec<ModuleName> {
        self.0.keys().filter(|m| !m.is_empty() && !m.contains('.')).cloned().collect()
    }
    fn has_module(&self, module: &ModuleName) -> bool {
        self.0.contains_key(module)
    }
    fn size_params(&self, ty: &GlobalName) -> Vec<bool> {
        size_params(ty, |t| Some(param_uses(self.own_type(&t.module, &t.name)?, &t.module, self)))
    }
    fn signature_names(&self, def: &GlobalName) -> SignatureNames {
        let named = |t: &&Tree| matches!(&t.item, Item::Def(d) if d.name.name == def.name);
        let tree = self.items(&def.module).find(named);
        tree.map_or_else(SignatureNames::default, |t| SignatureNames::from_resolved(&resolve(t, &def.module, self)))
    }
    fn unnamed_extent_help(&self, module: &ModuleName, name: &str) -> Option<String> {
        let all = self.items(module).flat_map(unnamed_extents);
        all.into_iter().find(|(n, _)| n == name).map(|(_, help)| help)
    }
    fn is_in_skipped_text(&self, module: &ModuleName, name: &str) -> bool {
        self.items(module).any(|tree| tree.skipped_names.iter().any(|n| n == name))
    }
    fn value_names(&self, module: &ModuleName) -> Vec<Name> {
        let mut names = Vec::new();
        for module in [module, &ModuleName::default()] {
            for tree in self.items(module) {
                match &tree.item {
                    Item::Def(def) => names.push(def.name.name.clone()),
                    Item::Type(_) => names.extend(constructors(tree, module, self).into_iter().map(|c| c.name)),
                    _ => {}
                }
            }
        }
        names
    }
    fn type_names(&self, module: &ModuleName) -> Vec<Name> {
        let names = self.items(module).filter_map(|t| match &t.item {
            Item::Type(def) => Some(def.name.name.clone()),
            _ => None,
        });
        names.collect()
    }
}

struct ResolvedCase {
    text: String,
    tree: Tree,
    resolved: Resolved,
}

fn resolve_case(text: &str) -> ResolvedCase {
    let items = split(text);
    let last = items.last().expect("an item");
    let parsed = parse_item(&last.text);
    assert_eq!(parsed.diagnostics, [], "the text has no syntax errors");
    let resolved = resolve(&parsed.tree, &"main.iv".into(), &ModuleTexts::new(text));
    ResolvedCase { text: last.text.to_string(), tree: parsed.tree, resolved }
}

impl ResolvedCase {
    fn text_at(&self, span: Span) -> &str {
        self.text.get(span.range()).expect("a span of the text")
    }

    fn local(&self, id: LocalId) -> String {
        let LocalDecl { name, kind, .. } = &self.resolved.locals[id.0 as usize];
        format!("{kind:?} {name}#{}", id.0)
    }

    fn value(&self, res: &Res) -> String {
        match res {
            Res::Local(id) => self.local(*id),
            other => format!("{other:?}"),
        }
    }

    /// Returns every name of the text in order, with its meaning.
    fn meanings(&self) -> Vec<(Span, String)> {
        let mut out = Vec::new();
        for (id, res) in &self.resolved.exprs {
            out.push((self.tree.exprs[*id].span, self.value(res)));
        }
        for (id, res) in &self.resolved.types {
            let meaning = match res {
                TypeRes::Size(res) => format!("Size {}", self.value(res)),
                other => format!("{other:?}"),
            };
            out.push((self.tree.types[*id].span, meaning));
        }
        for (id, res) in &self.resolved.pats {
            match res {
                PatRes::Bind(_) => {}
                other => out.push((self.tree.pats[*id].span, format!("{other:?}"))),
            }
        }
        for (span, id) in &self.resolved.decls {
            // The first mention of an implicit size is also its declaration.
            if self.resolved.locals[id.0 as usize].kind != LocalKind::ImplicitSize {
                out.push((*span, format!("declares {}", self.local(*id))));
            }
        }
        out.sort();
        out
    }
}

/// Compares the meaning of every name.
#[track_caller]
fn check_meanings(text: &str, expected: Expect) {
    let case = resolve_case(text);
    let mut out = String::new();
    for (span, meaning) in case.meanings() {
        out += &format!("{} | {meaning}\n", case.text_at(span));
    }
    for d in &case.resolved.diagnostics {
        out += &format!("{} {}\n", d.code, d.message);
    }
    expected.assert_eq(&out);
}

/// Compares the diagnostics.
#[track_caller]
fn check_diagnostics(text: &str, expected: Expect) {
    let case = resolve_case(text);
    let mut out = String::new();
    for d in &case.resolved.diagnostics {
        out += &format!("{} `{}` {}\n", d.code, case.text_at(d.span), d.message);
        for label in &d.related {
            out += &format!("  at {} {}\n", label.span.start, label.message);
        }
        if let Some(help) = &d.help {
            out += &format!("  help: {help}\n");
        }
    }
    expected.assert_eq(&out);
}

/// Compares the help for the one unknown name of an expression.
#[track_caller]
fn check_help(expr: &str, expected: &str) {
    let case = resolve_case(&format!("def f(x: [n]f64, y: [n]f64) -> f64 = {expr}"));
    let [diagnostic] = case.resolved.diagnostics.as_slice() else {
        panic!("one diagnostic is expected: {:?}", case.resolved.diagnostics)
    };
    assert_eq!(diagnostic.help.as_deref().unwrap_or_default(), expected);
}

/// Checks that every name of the item is known.
#[track_caller]
fn check_no_diagnostics(text: &str) {
    check_diagnostics(text, expect![[""]]);
}
