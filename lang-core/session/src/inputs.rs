//! **Inputs.** Keeps the texts of modules as salsa inputs, which the queries read.
//! [`super::Session`] calls it to set, edit and remove modules.
//!
//! An edit sets the texts of the items that it changes. It sets the list of a file's items only if
//! the kinds or names of items change. So the queries of all other items keep their results.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use salsa::{Database, Durability, Setter};

use super::db::{Db, ItemInput, SourceFile, Workspace};
use super::text::{FileText, ItemPiece};
use lang_base::{ModuleName, Name};
use lang_syntax::split::ItemKind;

/// The identity of an item in its file: its kind, its name, and its number among the items of the
/// same kind and name.
pub(super) type ItemKey = (ItemKind, Name, u32);

/// A module as the caller of the session set it.
#[derive(Clone)]
pub(super) struct ModuleInput {
    /// The salsa input of its file.
    pub(super) file: SourceFile,
    /// Its text; the items of the input are its pieces, in the same order.
    pub(super) text: FileText,
    /// The position of each item among the items of the file.
    pub(super) positions: Arc<HashMap<ItemKey, usize>>,
}

/// All modules. Removed modules stay, because a module of the same name uses their inputs again.
#[derive(Clone, Default)]
pub(super) struct Inputs {
    modules: HashMap<ModuleName, Arc<ModuleInput>>,
    /// The number of edits that may have changed the meaning of a name in an item whose text
    /// stayed: see [`Inputs::naming_revision()`].
    naming_revision: u64,
    /// Items that belong to no file. New items use them again, because salsa deletes no inputs.
    unused_items: Vec<ItemInput>,
}

impl Inputs {
    /// Creates the modules of the library. Their durability is high, because they hardly ever
    /// change.
    pub(super) fn with_library(db: &mut Db, modules: impl Iterator<Item = (&'static str, &'static str)>) -> Self {
        let mut inputs = Self::default();
        for (name, text) in modules {
            let name = ModuleName::new(name);
            let file = SourceFile::builder(name.clone(), Vec::new()).durability(Durability::HIGH).new(db);
            let mut module = ModuleInput { file, text: FileText::new(text), positions: Arc::default() };
            module.assign_items(db, &mut inputs.unused_items, Durability::HIGH);
            inputs.modules.insert(name, Arc::new(module));
        }
        let files: BTreeMap<_, _> = inputs.modules.iter().map(|(name, module)| (name.clone(), module.file)).collect();
        let _ = Workspace::builder(files).durability(Durability::HIGH).new(db);
        inputs
    }

    /// Returns a number that changes whenever names in other items may change their meaning. That
    /// happens if items or modules come or go, or if the text of an item changes that introduces
    /// names.
    pub(super) fn naming_revision(&self) -> u64 {
        self.naming_revision
    }

    /// Returns the module of a name, or `None` if it does not exist or is removed.
    pub(super) fn module(&self, db: &Db, name: &str) -> Option<&ModuleInput> {
        Workspace::get(db).files(db).get(name)?;
        self.modules.get(name).map(|module| &**module)
    }

    /// Changes the text of a module, and creates the module if it does not exist. Queries on other
    /// threads are cancelled, even if the texts of all items stay the same.
    pub(super) fn set(&mut self, db: &mut Db, name: &ModuleName, change: impl FnOnce(&mut FileText) -> ReplacedPieces) {
        db.trigger_cancellation();
        let module = self.modules.entry(name.clone()).or_insert_with(|| {
            let file = SourceFile::builder(name.clone(), Vec::new()).durability(Durability::MEDIUM).new(db);
            Arc::new(ModuleInput { file, text: FileText::default(), positions: Arc::default() })
        });
        let module = Arc::make_mut(module);
        let file = module.file;
        let (replaced, old) = change(&mut module.text);
        let pieces = module.text.pieces();
        let new = pieces.get(replaced.start..).unwrap_or_default();
        let same_items = pieces.len() == module.positions.len()
            && old.iter().zip(new).all(|(old, new)| (old.kind, &old.name) == (new.kind, &new.name));
        if same_items {
            for (at, (_, new)) in
                (replaced.start..).zip(old.iter().zip(new)).filter(|(_, (old, new))| old.text != new.text)
            {
                if module.introduces_names(new) {
                    self.naming_revision += 1;
                }
                if let Some(item) = file.items(db).get(at).copied() {
                    item.set_text(db).to(Arc::clone(&new.text));
                }
            }
        } else {
            self.naming_revision += 1;
            module.assign_items(db, &mut self.unused_items, Durability::MEDIUM);
        }
        let workspace = Workspace::get(db);
        if workspace.files(db).get(name) != Some(&file) {
            let mut files = workspace.files(db).clone();
            files.insert(name.clone(), file);
            self.naming_revision += 1;
            workspace.set_files(db).with_durability(Durability::HIGH).to(files);
        }
    }

    /// Removes a module.
    pub(super) fn remove(&mut self, db: &mut Db, name: &ModuleName) {
        if self.module(db, name).is_none() {
            return;
        }
        self.set(db, name, |text| text.set(""));
        let workspace = Workspace::get(db);
        let mut files = workspace.files(db).clone();
        files.remove(name);
        self.naming_revision += 1;
        workspace.set_files(db).with_durability(Durability::HIGH).to(files);
    }
}

/// The range of the replaced pieces of a text, and the pieces before the replacement.
pub(super) type ReplacedPieces = (std::ops::Range<usize>, Vec<ItemPiece>);

impl ModuleInput {
    /// Returns its items and the positions of their texts, in order.
    pub(super) fn items_with_starts<'m>(
        &'m self,
        db: &'m dyn Database,
    ) -> impl Iterator<Item = (ItemInput, u32)> + use<'m> {
        self.items_with_starts_from(db, 0)
    }

    /// As [`Self::items_with_starts`], but from the item at position `first` on.
    pub(super) fn items_with_starts_from<'m>(
        &'m self,
        db: &'m dyn Database,
        first: usize,
    ) -> impl Iterator<Item = (ItemInput, u32)> + use<'m> {
        let items = self.file.items(db).iter().copied().skip(first);
        items.zip(self.text.pieces().iter().skip(first).map(|piece| piece.start))
    }

    /// Returns whether an edit of this item may change the meaning of names in others. An edit of a
    /// definition may do so if it has derivative rules, because they use its sizes as names.
    fn introduces_names(&self, piece: &ItemPiece) -> bool {
        let has_rule = |kind| self.positions.contains_key(&(kind, piece.name.clone(), 0));
        match piece.kind {
            ItemKind::Type | ItemKind::Let | ItemKind::Import => true,
            ItemKind::Def => has_rule(ItemKind::Derivative) || has_rule(ItemKind::Adjoint),
            ItemKind::Do | ItemKind::Derivative | ItemKind::Adjoint | ItemKind::StrayText => false,
        }
    }

    /// Assigns an item to each piece: the item with the same key if one exists, else an unused or
    /// new one. `durability` is that of new items.
    fn assign_items(&mut self, db: &mut Db, unused_items: &mut Vec<ItemInput>, durability: Durability) {
        let old = self.file.items(db).clone();
        let mut used = vec![false; old.len()];
        let keys = item_keys(self.text.pieces());
        let mut items: Vec<Option<ItemInput>> = Vec::with_capacity(keys.len());
        for (key, piece) in keys.iter().zip(self.text.pieces()) {
            let position = self.positions.get(key).copied();
            let item = position.and_then(|position| old.get(position)).copied();
            if let Some(used) = position.and_then(|position| used.get_mut(position)) {
                *used = true;
            }
            if let Some(item) = item.filter(|item| *item.text(db) != piece.text) {
                item.set_text(db).to(Arc::clone(&piece.text));
            }
            items.push(item);
        }
        unused_items.extend(old.iter().zip(used).filter(|(_, used)| !used).map(|(item, _)| *item));
        let all = items.into_iter().zip(&keys).zip(self.text.pieces());
        let all = all.map(|((item, key), piece)| {
            item.unwrap_or_else(|| {
                self.reuse_or_create_item(db, unused_items, key.clone(), Arc::clone(&piece.text), durability)
            })
        });
        let all = all.collect();
        self.file.set_items(db).to(all);
        self.positions = Arc::new(keys.into_iter().zip(0..).collect());
    }

    /// Returns an unused item, or a new one, as the item of this key.
    fn reuse_or_create_item(
        &self,
        db: &mut Db,
        unused_items: &mut Vec<ItemInput>,
        key: ItemKey,
        text: Arc<str>,
        durability: Durability,
    ) -> ItemInput {
        let (kind, name, ordinal) = key;
        let Some(item) = unused_items.pop() else {
            // Texts change more often than the identities of their items.
            let text_durability = if durability == Durability::HIGH { durability } else { Durability::LOW };
            let item = ItemInput::builder(self.file, kind, name, ordinal, text);
            return item.durability(durability).text_durability(text_durability).new(db);
        };
        item.set_file(db).to(self.file);
        item.set_kind(db).to(kind);
        item.set_name(db).to(name);
        item.set_ordinal(db).to(ordinal);
        item.set_text(db).to(text);
        item
    }
}

/// Returns the key of each piece, in order.
fn item_keys(pieces: &[ItemPiece]) -> Vec<ItemKey> {
    let mut seen: HashMap<(ItemKind, &Name), u32> = HashMap::new();
    let mut keys = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let count = seen.entry((piece.kind, &piece.name)).or_default();
        keys.push((piece.kind, piece.name.clone(), *count));
        *count = count.saturating_add(1);
    }
    keys
}
