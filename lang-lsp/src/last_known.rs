//! **Last known values** of hovers and of lenses. They are shown, and marked, while new ones are computed and while a
//! mistake in the text leaves none. Here no value is computed.

use std::collections::{HashMap, HashSet};

use lang_ide::hover::Hover;
use lang_ide::{GlobalName, ModuleName};

/// At most so many hovers are kept. When there are more, all are forgotten.
const MOST: usize = 4096;
/// Marks a lens or a hint whose value may have changed.
pub(crate) const MARK: &str = " (last known)";
/// Marks a hover whose costs and derivatives may have changed.
const NOTE: &str = "costs and derivatives as last known; they are being computed";
/// Marks a hover of a program with mistakes.
const BROKEN: &str = "costs and derivatives as last known, before the mistakes";

/// A hover by the item in which its place is, and by its first line: a signature up to the parameters, or an expression
/// with its type.
type Key = (GlobalName, String);

/// How new a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Age {
    /// It was computed for the texts as they are.
    Current,
    /// A new one is being computed.
    Computing,
    /// There is no new one, because the texts have mistakes.
    Broken,
}

/// The last hovers and titles of lenses that were shown.
#[derive(Default)]
pub(crate) struct LastKnown {
    hovers: HashMap<Key, (u64, Hover)>,
    titles: HashMap<GlobalName, String>,
    /// Definitions whose hovers take long.
    slow: HashSet<GlobalName>,
}

fn key(item: &GlobalName, told: &Hover) -> Key {
    let code = match told.code.starts_with("def ") {
        // Parameters and result may be edited.
        true => told.code.split('(').next().unwrap_or_default(),
        false => &told.code,
    };
    (item.clone(), code.to_owned())
}

/// Does it tell costs or derivatives?
pub(crate) fn has_values(told: &Hover) -> bool {
    !(told.rows.is_empty() && told.after.is_empty() && told.adjoint.is_empty() && told.notes.is_empty())
}

impl LastKnown {
    /// Keeps a hover with costs and derivatives, computed for this edition of the texts.
    pub(crate) fn keep(&mut self, item: &GlobalName, edition: u64, told: &Hover) {
        if self.hovers.len() >= MOST {
            self.hovers.clear();
        }
        self.hovers.insert(key(item, told), (edition, told.clone()));
    }

    /// Forgets the values of a hover: there are none any more.
    pub(crate) fn forget(&mut self, item: &GlobalName, told: &Hover) {
        self.hovers.remove(&key(item, told));
    }

    /// Puts the costs and derivatives that are known into a hover without any, if they are known.
    pub(crate) fn fill(&self, item: &GlobalName, told: &Hover, age: Age) -> Option<Hover> {
        let (_, last) = self.hovers.get(&key(item, told))?;
        let mut filled = Hover { span: told.span, code: told.code.clone(), docs: told.docs.clone(), ..last.clone() };
        filled.pending = false;
        match age {
            Age::Current => {}
            Age::Computing => filled.notes.insert(0, NOTE.to_owned()),
            Age::Broken => filled.notes.insert(0, BROKEN.to_owned()),
        }
        Some(filled)
    }

    /// Is a hover known for this place of this edition?
    pub(crate) fn is_current(&self, item: &GlobalName, edition: u64, told: &Hover) -> bool {
        self.hovers.get(&key(item, told)).is_some_and(|(of, last)| *of == edition && last.span == told.span)
    }

    /// Keeps the title of a lens of costs.
    pub(crate) fn keep_title(&mut self, def: GlobalName, title: String) {
        self.titles.insert(def, title);
    }

    /// Forgets the title of a lens: the costs are not known.
    pub(crate) fn forget_title(&mut self, def: &GlobalName) {
        self.titles.remove(def);
    }

    /// The title of a lens as last known.
    pub(crate) fn title(&self, def: &GlobalName) -> Option<&str> {
        self.titles.get(def).map(String::as_str)
    }

    /// The hover of a definition takes long, or does not.
    pub(crate) fn set_slow(&mut self, def: &GlobalName, slow: bool) {
        if slow {
            self.slow.insert(def.clone());
        } else {
            self.slow.remove(def);
        }
    }

    /// Does the hover of a definition take long?
    pub(crate) fn is_slow(&self, def: &GlobalName) -> bool {
        self.slow.contains(def)
    }

    /// Keeps what is of these modules.
    pub(crate) fn retain(&mut self, is_open: impl Fn(&ModuleName) -> bool) {
        self.hovers.retain(|(item, _), _| is_open(&item.module));
        self.titles.retain(|def, _| is_open(&def.module));
        self.slow.retain(|def| is_open(&def.module));
    }
}
