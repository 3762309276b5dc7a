//! **Coverage of the typed tree.** Counts the typed nodes in the checked bodies of drawn programs,
//! and the traps in them. Every match is exhaustive: a new variant does not compile until it has a
//! name here, and the test fails until it is drawn.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};

use lang_core::types::tree::{
    Callee, TypedBody, TypedExpr, TypedForm, TypedIndexRange, TypedPattern, TypedSubscript, TypedUpdateTarget,
};

/// The nodes and traps that must occur. `Error` represents errors. Later passes create `Size`; the
/// checker represents a size that is used as a value as a local.
const ALL: &[&str] = &[
    "Real",
    "Int",
    "Bool",
    "Str",
    "Local",
    "Global",
    "DefValue",
    "BuiltinValue",
    "ScalarValue",
    "CtorValue",
    "Neg",
    "Not",
    "Arith",
    "Compare",
    "And",
    "Or",
    "Pow",
    "Scalar",
    "Convert",
    "Guard",
    "Array",
    "Tuple",
    "Record",
    "Proj",
    "Index",
    "Call Def",
    "Call Builtin",
    "Call Ctor",
    "Call Value",
    "Checked",
    "Opened",
    "Lambda",
    "Let",
    "If",
    "Match",
    "Fold",
    "Fold scan",
    "Fold yield",
    "Loop",
    "Loop scan",
    "Checkpoint",
    "With",
    "With +=",
    "Card",
    "Member",
    "Assert",
    "error",
    "Dbg",
    "Par",
    "Stop",
    "Reshape",
    "Relation",
    "Print",
    "Time",
    "Load",
    "Save",
    "Plot",
    "Derive",
    "Derive wrt",
    "Deriv",
    "Pat Wild",
    "Pat Bind",
    "Pat Ctor",
    "Pat Tuple",
    "Pat Record",
    "Pat Int",
    "Pat Bool",
    "Pat Sized",
    "Range Extent",
    "Range Below",
    "Range Range",
    "Range by",
    "At proved",
    "At checked",
    "Slice proved",
    "Slice checked",
    "Whole",
    "Place Index",
    "Place Proj",
    "Filter",
    "Binder for",
    "Binder sum",
    "Binder prod",
    "Binder max",
    "Binder min",
    "Binder argmax",
    "Binder argmin",
    "Binder any",
    "Binder all",
    "Binder rel",
    "Trap asked",
    "Trap wrapped",
    "Trap too short",
    "Trap told twice",
];

/// The number of occurrences of each.
#[derive(Clone, Default, Debug)]
pub struct NodeCoverage(BTreeMap<String, u64>);

impl NodeCoverage {
    /// Counts the nodes of a body.
    pub fn count(&mut self, body: &TypedBody) {
        for (_, node) in body.nodes.iter() {
            self.expr(&node.kind);
        }
    }

    /// Returns the names that never occurred.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        ALL.iter().copied().filter(|name| !self.0.contains_key(*name)).collect()
    }

    /// Counts one occurrence of a name.
    pub fn hit(&mut self, name: &str) {
        if let Some(n) = self.0.get_mut(name) {
            *n += 1;
        } else {
            self.0.insert(name.to_owned(), 1);
        }
    }

    fn expr(&mut self, e: &TypedExpr) {
        let name = match e {
            TypedExpr::Error => "Error",
            TypedExpr::Real(_) => "Real",
            TypedExpr::Int(_) => "Int",
            TypedExpr::Bool(_) => "Bool",
            TypedExpr::Str(_) => "Str",
            TypedExpr::Local(_) => "Local",
            TypedExpr::Global(_) => "Global",
            TypedExpr::Size(_) => "Size",
            TypedExpr::DefValue(..) => "DefValue",
            TypedExpr::BuiltinValue(..) => "BuiltinValue",
            TypedExpr::ScalarValue(_) => "ScalarValue",
            TypedExpr::CtorValue(..) => "CtorValue",
            TypedExpr::Neg(_) => "Neg",
            TypedExpr::Not(_) => "Not",
            TypedExpr::Arith(..) => "Arith",
            TypedExpr::Compare(..) => "Compare",
            TypedExpr::And(_) => "And",
            TypedExpr::Or(_) => "Or",
            TypedExpr::Pow(..) => "Pow",
            TypedExpr::Scalar(..) => "Scalar",
            TypedExpr::Convert(..) => "Convert",
            TypedExpr::Guard(..) => "Guard",
            TypedExpr::Array(_) => "Array",
            TypedExpr::Tuple(_) => "Tuple",
            TypedExpr::Record(_) => "Record",
            TypedExpr::Proj(..) => "Proj",
            TypedExpr::Index(_, subs) => {
                subs.iter().for_each(|s| self.subscript(s));
                "Index"
            }
            TypedExpr::Call { callee, .. } => match callee {
                Callee::Def(..) => "Call Def",
                Callee::Builtin(..) => "Call Builtin",
                Callee::Ctor(..) => "Call Ctor",
                Callee::Value(_) => "Call Value",
            },
            TypedExpr::Checked(checks, _) if checks.is_empty() => "Checked in vain",
            TypedExpr::Checked(..) => "Checked",
            TypedExpr::Opened(..) => "Opened",
            TypedExpr::Lambda(lambda) => {
                lambda.params.iter().for_each(|p| self.pat(p));
                "Lambda"
            }
            TypedExpr::Let(binds, _) => {
                binds.iter().for_each(|b| self.pat(&b.0));
                "Let"
            }
            TypedExpr::If(..) => "If",
            TypedExpr::Match(_, arms) => {
                arms.iter().for_each(|a| self.pat(&a.0));
                "Match"
            }
            TypedExpr::Binder { kind, vars, filter, .. } => {
                vars.iter().for_each(|v| self.range(&v.range));
                if filter.is_some() {
                    self.hit("Filter");
                }
                let name = format!("Binder {}", kind.keyword());
                self.hit(&name);
                return;
            }
            TypedExpr::Fold { is_scan: scan, acc, vars, yields, .. } => {
                self.pat(acc);
                vars.iter().for_each(|v| self.range(&v.range));
                match (scan, yields) {
                    (true, _) => "Fold scan",
                    (false, Some(_)) => "Fold yield",
                    (false, None) => "Fold",
                }
            }
            TypedExpr::Loop { is_scan: scan, acc, .. } => {
                self.pat(acc);
                if *scan { "Loop scan" } else { "Loop" }
            }
            TypedExpr::Checkpoint(..) => "Checkpoint",
            TypedExpr::With(_, updates) => {
                for u in updates {
                    match &u.target {
                        TypedUpdateTarget::Index(subs) => {
                            subs.iter().for_each(|s| self.subscript(s));
                            self.hit("Place Index");
                        }
                        TypedUpdateTarget::Proj(_) => self.hit("Place Proj"),
                    }
                    if u.is_add {
                        self.hit("With +=");
                    }
                }
                "With"
            }
            TypedExpr::Card(_) => "Card",
            TypedExpr::Member(..) => "Member",
            TypedExpr::Form(special, _) => match special {
                TypedForm::Assert(_) => "Assert",
                TypedForm::Error(_) => "error",
                TypedForm::Dbg => "Dbg",
                TypedForm::Par => "Par",
                TypedForm::Stop => "Stop",
                TypedForm::Reshape => "Reshape",
                TypedForm::Relation => "Relation",
                TypedForm::Print => "Print",
                TypedForm::Time => "Time",
                TypedForm::Load(_) => "Load",
                TypedForm::Save => "Save",
                TypedForm::Plot(_) => "Plot",
                TypedForm::Derive(_, None) => "Derive",
                TypedForm::Derive(_, Some(_)) => "Derive wrt",
                TypedForm::Deriv(_) => "Deriv",
            },
        };
        self.hit(name);
    }

    fn pat(&mut self, p: &TypedPattern) {
        let name = match p {
            TypedPattern::Wild => "Pat Wild",
            TypedPattern::Bind(_) => "Pat Bind",
            TypedPattern::Ctor(_, items) => {
                items.iter().for_each(|p| self.pat(p));
                "Pat Ctor"
            }
            TypedPattern::Tuple(items) => {
                items.iter().for_each(|p| self.pat(p));
                "Pat Tuple"
            }
            TypedPattern::Record(fields) => {
                fields.iter().for_each(|f| self.pat(&f.1));
                "Pat Record"
            }
            TypedPattern::Int(_) => "Pat Int",
            TypedPattern::Bool(_) => "Pat Bool",
            TypedPattern::Sized(_, inner) => {
                self.pat(inner);
                "Pat Sized"
            }
        };
        self.hit(name);
    }

    fn range(&mut self, r: &TypedIndexRange) {
        self.hit(match r {
            TypedIndexRange::Extent(_) => "Range Extent",
            TypedIndexRange::Below(_) => "Range Below",
            TypedIndexRange::Range(_, _, None) => "Range Range",
            TypedIndexRange::Range(_, _, Some(_)) => "Range by",
        });
    }

    fn subscript(&mut self, s: &TypedSubscript) {
        self.hit(match s {
            TypedSubscript::Index { is_proved: true, .. } => "At proved",
            TypedSubscript::Index { is_proved: false, .. } => "At checked",
            TypedSubscript::Range { is_proved: true, .. } => "Slice proved",
            TypedSubscript::Range { is_proved: false, .. } => "Slice checked",
            TypedSubscript::FullAxis => "Whole",
        });
    }
}

/// Prints one line for each name, the rare ones first.
impl Display for NodeCoverage {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(name, n)| (**n, (*name).clone()));
        all.into_iter().try_for_each(|(name, n)| writeln!(f, "{n:>8} {name}"))
    }
}
