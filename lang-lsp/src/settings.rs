//! **Settings**: the section `iverson` of the client's configuration. A missing value, or one of
//! the wrong type, has its default. The user sees a warning for the latter.

use std::cell::RefCell;
use std::fmt::Display;

use serde_json::Value;

/// All settings.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Settings {
    /// The inlay hints to show.
    pub(crate) hints: HintSettings,
    /// The lenses to show.
    pub(crate) lenses: LensSettings,
    /// Whether to warn about adjoints that grow beyond every multiple of their functions.
    pub(crate) grad_cost: bool,
    /// The time limit of an evaluation, in seconds.
    pub(crate) time_limit_seconds: u64,
    /// The memory limit of an evaluation, in MiB.
    pub(crate) memory_limit_mib: u64,
    /// Warnings about values of the wrong type.
    pub(crate) type_warnings: Vec<String>,
}

/// Inlay hints by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HintSettings {
    pub(crate) extents: bool,
    pub(crate) sizes: bool,
    pub(crate) types: bool,
    /// Whether to show costs, of all definitions or of changed ones.
    pub(crate) cost: bool,
    /// Whether to show the costs of all definitions. Otherwise only those that changed since the
    /// file was saved are shown.
    pub(crate) every_cost: bool,
    /// Whether to show the previous costs of a changed definition.
    pub(crate) change: bool,
}

/// Lenses by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LensSettings {
    pub(crate) cost: bool,
    pub(crate) run: bool,
    pub(crate) views: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self::from_section(&Value::Null)
    }
}

impl Settings {
    /// Returns whether a setting needs costs to be computed in advance.
    pub(crate) fn wants_costs(&self) -> bool {
        self.grad_cost || self.hints.cost || self.lenses.cost
    }
}

impl Settings {
    /// Reads the settings of a section, nested (`{"hints": {"cost": true}}`) or flat
    /// (`{"hints.cost": true}`).
    pub(crate) fn from_section(section: &Value) -> Self {
        // Some clients send the contents of the section, others the section itself.
        let section = section.get("iverson").unwrap_or(section);
        let find = |key: &str| {
            let nested = format!("/{}", key.replace('.', "/"));
            section.pointer(&nested).or_else(|| section.get(key))
        };
        let wrong = RefCell::new(Vec::new());
        let report_invalid = |key: &str, found: &Value, wanted: &str, otherwise: &dyn Display| {
            let said = format!("`iverson.{key}` must be {wanted}, but is {found}; using {otherwise}");
            wrong.borrow_mut().push(said);
        };
        let flag = |key: &str, otherwise: bool| {
            let Some(found) = find(key).filter(|v| !v.is_null()) else { return otherwise };
            found.as_bool().unwrap_or_else(|| {
                report_invalid(key, found, "true or false", &otherwise);
                otherwise
            })
        };
        let number = |key: &str, otherwise: u64, least: u64| {
            let Some(found) = find(key).filter(|v| !v.is_null()) else { return otherwise };
            let taken = found.as_u64().map_or(otherwise, |n| n.max(least));
            if found.as_u64() != Some(taken) {
                report_invalid(key, found, &format!("an integer of at least {least}"), &taken);
            }
            taken
        };
        for key in ["hints", "lenses", "diagnostics", "evaluate"] {
            if let Some(found) = section.get(key).filter(|v| !v.is_object() && !v.is_null()) {
                wrong.borrow_mut().push(format!("`iverson.{key}` must be an object of settings, but is {found}"));
            }
        }
        // By default lenses show the costs already, so hints show only changes.
        let (every_cost, change) = (flag("hints.cost", false), flag("hints.change", true));
        Self {
            hints: HintSettings {
                extents: flag("hints.extents", true),
                sizes: flag("hints.sizes", true),
                types: flag("hints.types", true),
                cost: every_cost || change,
                every_cost,
                change,
            },
            lenses: LensSettings {
                cost: flag("lenses.cost", true),
                run: flag("lenses.run", true),
                views: flag("lenses.views", true),
            },
            grad_cost: flag("diagnostics.gradCost", true),
            time_limit_seconds: number("evaluate.seconds", 10, 1),
            memory_limit_mib: number("evaluate.memory", 2048, 64),
            type_warnings: wrong.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sections() {
        let all = Settings::from_section(&Value::Null);
        assert!(all.hints.cost && !all.hints.every_cost && all.lenses.run && all.time_limit_seconds == 10);
        let nested = Settings::from_section(&json!({"iverson": {"hints": {"cost": true}, "evaluate": {"seconds": 3}}}));
        assert!(nested.hints.every_cost && nested.hints.types && nested.time_limit_seconds == 3);
        let none = Settings::from_section(&json!({"hints": {"change": false}}));
        assert!(!none.hints.cost && none.lenses.cost);
        let flat = Settings::from_section(&json!({"lenses.run": false, "evaluate.memory": "much", "hints": 7}));
        assert!(!flat.lenses.run && flat.memory_limit_mib == 2048 && flat.hints.sizes);
        assert!(all.type_warnings.is_empty() && nested.type_warnings.is_empty() && none.type_warnings.is_empty());
    }

    #[test]
    fn what_is_wrong_is_told() {
        let wrong = |value| Settings::from_section(&value).type_warnings.join("; ");
        assert_eq!(
            wrong(json!({"lenses": {"run": "no"}, "evaluate": {"seconds": 0, "memory": "much"}})),
            "`iverson.lenses.run` must be true or false, but is \"no\"; using true; \
             `iverson.evaluate.seconds` must be an integer of at least 1, but is 0; using 1; \
             `iverson.evaluate.memory` must be an integer of at least 64, but is \"much\"; using 2048"
        );
        assert_eq!(wrong(json!({"hints": 7})), "`iverson.hints` must be an object of settings, but is 7");
        assert_eq!(wrong(json!({"hints": null, "server": {"path": "iverson-lsp"}})), "");
    }
}
