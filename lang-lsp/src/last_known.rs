//! **Last known values** of hovers and lenses. They are shown, with a mark, while new ones are
//! computed and while an error in the text prevents new ones. This module only stores values.

use std::collections::{HashMap, HashSet};

use lang_ide::hover::Hover;
use lang_ide::{GlobalName, ModuleName};

/// The maximal number of stored hovers. When it is exceeded, all are dropped.
const MAX_HOVERS: usize = 4096;
/// The mark of a lens or hint whose value may have changed.
pub(crate) const LAST_KNOWN_MARK: &str = " (last known)";
/// The note on a hover whose costs and derivatives may have changed.
const COMPUTING_NOTE: &str = "last known costs and derivatives; new ones are being computed";
/// The note on a hover of a program with errors.
const ERROR_NOTE: &str = "last known costs and derivatives, from before the errors";

/// The key of a hover: its item and its first line. The first line is a signature up to the
/// parameters, or an expression with its type.
type HoverKey = (GlobalName, String);

/// The age of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueAge {
    /// Computed for the current texts.
    Current,
    /// A new one is being computed.
    Computing,
    /// No new value exists, because the texts have errors.
    Broken,
}

/// The last hovers and titles of lenses.
#[derive(Default)]
pub(crate) struct LastKnown {
    hovers: HashMap<HoverKey, (u64, Hover)>,
    titles: HashMap<GlobalName, String>,
    /// The definitions whose hovers are slow.
    slow: HashSet<GlobalName>,
}

fn hover_key(item: &GlobalName, hover: &Hover) -> HoverKey {
    let code = match hover.code.starts_with("def ") {
        // The parameters and the result may be edited.
        true => hover.code.split('(').next().unwrap_or_default(),
        false => &hover.code,
    };
    (item.clone(), code.to_owned())
}

/// Returns whether the hover contains costs or derivatives.
pub(crate) fn has_values(hover: &Hover) -> bool {
    !(hover.rows.is_empty() && hover.further_tables.is_empty() && hover.adjoint.is_empty() && hover.notes.is_empty())
}

impl LastKnown {
    /// Stores a hover with costs and derivatives that was computed for this edition of the texts.
    pub(crate) fn store(&mut self, item: &GlobalName, edition: u64, hover: &Hover) {
        if self.hovers.len() >= MAX_HOVERS {
            self.hovers.clear();
        }
        self.hovers.insert(hover_key(item, hover), (edition, hover.clone()));
    }

    /// Drops the values of a hover that no longer has any.
    pub(crate) fn remove(&mut self, item: &GlobalName, hover: &Hover) {
        self.hovers.remove(&hover_key(item, hover));
    }

    /// Returns the hover with the stored costs and derivatives, or `None` if none are stored.
    pub(crate) fn fill_in(&self, item: &GlobalName, hover: &Hover, age: ValueAge) -> Option<Hover> {
        let (_, last) = self.hovers.get(&hover_key(item, hover))?;
        let mut filled = Hover { span: hover.span, code: hover.code.clone(), docs: hover.docs.clone(), ..last.clone() };
        filled.pending = false;
        match age {
            ValueAge::Current => {}
            ValueAge::Computing => filled.notes.insert(0, COMPUTING_NOTE.to_owned()),
            ValueAge::Broken => filled.notes.insert(0, ERROR_NOTE.to_owned()),
        }
        Some(filled)
    }

    /// Returns whether a hover of this edition is stored for this span.
    pub(crate) fn is_current(&self, item: &GlobalName, edition: u64, hover: &Hover) -> bool {
        self.hovers.get(&hover_key(item, hover)).is_some_and(|(of, last)| *of == edition && last.span == hover.span)
    }

    /// Stores the title of a cost lens.
    pub(crate) fn store_title(&mut self, def: GlobalName, title: String) {
        self.titles.insert(def, title);
    }

    /// Drops the title of a lens whose costs are unknown.
    pub(crate) fn remove_title(&mut self, def: &GlobalName) {
        self.titles.remove(def);
    }

    /// Returns the last known title of a lens.
    pub(crate) fn title(&self, def: &GlobalName) -> Option<&str> {
        self.titles.get(def).map(String::as_str)
    }

    /// Records whether the hover of a definition is slow.
    pub(crate) fn set_slow(&mut self, def: &GlobalName, slow: bool) {
        if slow {
            self.slow.insert(def.clone());
        } else {
            self.slow.remove(def);
        }
    }

    /// Returns whether the hover of a definition is slow.
    pub(crate) fn is_slow(&self, def: &GlobalName) -> bool {
        self.slow.contains(def)
    }

    /// Drops the values of all modules that are not open.
    pub(crate) fn retain(&mut self, is_open: impl Fn(&ModuleName) -> bool) {
        self.hovers.retain(|(item, _), _| is_open(&item.module));
        self.titles.retain(|def, _| is_open(&def.module));
        self.slow.retain(|def| is_open(&def.module));
    }
}
