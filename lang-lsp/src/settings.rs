//! What the user may choose: the section `iverson` of the client's configuration. What is not there, or is no value of
//! its kind, is as it is by default; of the second the user is told.

use std::cell::RefCell;
use std::fmt::Display;

use serde_json::Value;

/// All settings.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Settings {
    /// Which inlay hints there are.
    pub(crate) hints: Hints,
    /// Which lenses there are.
    pub(crate) lenses: Lenses,
    /// Are adjoints warned of that grow beyond every multiple of their functions?
    pub(crate) grad_cost: bool,
    /// An evaluation may take so many seconds.
    pub(crate) seconds: u64,
    /// An evaluation may take so many MiB.
    pub(crate) memory: u64,
    /// What is said of values that are none of their kind.
    pub(crate) wrong: Vec<String>,
}

/// Inlay hints by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hints {
    pub(crate) extents: bool,
    pub(crate) sizes: bool,
    pub(crate) types: bool,
    /// Are costs shown, be it of all definitions or of those that changed?
    pub(crate) cost: bool,
    /// Of all definitions, or of those alone whose costs are others than when the file was saved?
    pub(crate) every_cost: bool,
    /// What the costs were before, where they changed.
    pub(crate) change: bool,
}

/// Lenses by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lenses {
    pub(crate) cost: bool,
    pub(crate) run: bool,
    pub(crate) views: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self::read(&Value::Null)
    }
}

impl Settings {
    /// Is anything shown for which costs are computed before it is asked for?
    pub(crate) fn wants_costs(&self) -> bool {
        self.grad_cost || self.hints.cost || self.lenses.cost
    }
}

impl Settings {
    /// The settings in a section, nested (`{"hints": {"cost": true}}`) or flat (`{"hints.cost": true}`).
    pub(crate) fn read(section: &Value) -> Self {
        // Some clients send the section's content, some the section.
        let section = section.get("iverson").unwrap_or(section);
        let find = |key: &str| {
            let nested = format!("/{}", key.replace('.', "/"));
            section.pointer(&nested).or_else(|| section.get(key))
        };
        let wrong = RefCell::new(Vec::new());
        let told = |key: &str, found: &Value, wanted: &str, otherwise: &dyn Display| {
            let said = format!("`iverson.{key}` is {found}, and {wanted} is wanted: it is taken as {otherwise}");
            wrong.borrow_mut().push(said);
        };
        let flag = |key: &str, otherwise: bool| {
            let Some(found) = find(key).filter(|v| !v.is_null()) else { return otherwise };
            found.as_bool().unwrap_or_else(|| {
                told(key, found, "true or false", &otherwise);
                otherwise
            })
        };
        let number = |key: &str, otherwise: u64, least: u64| {
            let Some(found) = find(key).filter(|v| !v.is_null()) else { return otherwise };
            let taken = found.as_u64().map_or(otherwise, |n| n.max(least));
            if found.as_u64() != Some(taken) {
                told(key, found, &format!("a whole number of at least {least}"), &taken);
            }
            taken
        };
        for key in ["hints", "lenses", "diagnostics", "evaluate"] {
            if let Some(found) = section.get(key).filter(|v| !v.is_object() && !v.is_null()) {
                wrong.borrow_mut().push(format!("`iverson.{key}` is {found}, and settings by their names are wanted"));
            }
        }
        // Lenses tell costs already.
        let (every_cost, change) = (flag("hints.cost", false), flag("hints.change", true));
        Self {
            hints: Hints {
                extents: flag("hints.extents", true),
                sizes: flag("hints.sizes", true),
                types: flag("hints.types", true),
                cost: every_cost || change,
                every_cost,
                change,
            },
            lenses: Lenses {
                cost: flag("lenses.cost", true),
                run: flag("lenses.run", true),
                views: flag("lenses.views", true),
            },
            grad_cost: flag("diagnostics.gradCost", true),
            seconds: number("evaluate.seconds", 10, 1),
            memory: number("evaluate.memory", 2048, 64),
            wrong: wrong.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sections() {
        let all = Settings::read(&Value::Null);
        assert!(all.hints.cost && !all.hints.every_cost && all.lenses.run && all.seconds == 10);
        let nested = Settings::read(&json!({"iverson": {"hints": {"cost": true}, "evaluate": {"seconds": 3}}}));
        assert!(nested.hints.every_cost && nested.hints.types && nested.seconds == 3);
        let none = Settings::read(&json!({"hints": {"change": false}}));
        assert!(!none.hints.cost && none.lenses.cost);
        let flat = Settings::read(&json!({"lenses.run": false, "evaluate.memory": "much", "hints": 7}));
        assert!(!flat.lenses.run && flat.memory == 2048 && flat.hints.sizes);
        assert!(all.wrong.is_empty() && nested.wrong.is_empty() && none.wrong.is_empty());
    }

    #[test]
    fn what_is_wrong_is_told() {
        let wrong = |value| Settings::read(&value).wrong.join("; ");
        assert_eq!(
            wrong(json!({"lenses": {"run": "no"}, "evaluate": {"seconds": 0, "memory": "much"}})),
            "`iverson.lenses.run` is \"no\", and true or false is wanted: it is taken as true; \
             `iverson.evaluate.seconds` is 0, and a whole number of at least 1 is wanted: it is taken as 1; \
             `iverson.evaluate.memory` is \"much\", and a whole number of at least 64 is wanted: it is taken as 2048"
        );
        assert_eq!(wrong(json!({"hints": 7})), "`iverson.hints` is 7, and settings by their names are wanted");
        assert_eq!(wrong(json!({"hints": null, "server": {"path": "iverson-lsp"}})), "");
    }
}
