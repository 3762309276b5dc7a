//! **Coverage of the typed tree.** Counts the typed nodes in the checked bodies of drawn programs,
//! and the traps in them. Every match is exhaustive: a new variant does not compile until it has a
//! name here, and the test fails until it is drawn.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};

use lang_core::types::tree::{Body, Callee, Expr, IndexRange, Pat, Place, Special, Subscript};

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
pub struct Hits(BTreeMap<String, u64>);

impl Hits {
    /// Counts the nodes of a body.
    pub fn count(&mut self, body: &Body) {
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

    fn expr(&mut self, e: &Expr) {
        let name = match e {
            Expr::Error => "Error",
            Expr::Real(_) => "Real",
            Expr::Int(_) => "Int",
            Expr::Bool(_) => "Bool",
            Expr::Str(_) => "Str",
            Expr::Local(_) => "Local",
            Expr::Global(_) => "Global",
            Expr::Size(_) => "Size",
            Expr::DefValue(..) => "DefValue",
            Expr::BuiltinValue(..) => "BuiltinValue",
            Expr::ScalarValue(_) => "ScalarValue",
            Expr::CtorValue(..) => "CtorValue",
            Expr::Neg(_) => "Neg",
            Expr::Not(_) => "Not",
            Expr::Arith(..) => "Arith",
            Expr::Compare(..) => "Compare",
            Expr::And(_) => "And",
            Expr::Or(_) => "Or",
            Expr::Pow(..) => "Pow",
            Expr::Scalar(..) => "Scalar",
            Expr::Convert(..) => "Convert",
            Expr::Guard(..) => "Guard",
            Expr::Array(_) => "Array",
            Expr::Tuple(_) => "Tuple",
            Expr::Record(_) => "Record",
            Expr::Proj(..) => "Proj",
            Expr::Index(_, subs) => {
                subs.iter().for_each(|s| self.subscript(s));
                "Index"
            }
            Expr::Call { callee, .. } => match callee {
                Callee::Def(..) => "Call Def",
                Callee::Builtin(..) => "Call Builtin",
                Callee::Ctor(..) => "Call Ctor",
                Callee::Value(_) => "Call Value",
            },
            Expr::Checked(checks, _) if checks.is_empty() => "Checked in vain",
            Expr::Checked(..) => "Checked",
            Expr::Opened(..) => "Opened",
            Expr::Lambda(lambda) => {
                lambda.params.iter().for_each(|p| self.pat(p));
                "Lambda"
            }
            Expr::Let(binds, _) => {
                binds.iter().for_each(|b| self.pat(&b.0));
                "Let"
            }
            Expr::If(..) => "If",
            Expr::Match(_, arms) => {
                arms.iter().for_each(|a| self.pat(&a.0));
                "Match"
            }
            Expr::Binder { kind, vars, filter, .. } => {
                vars.iter().for_each(|v| self.range(&v.range));
                if filter.is_some() {
                    self.hit("Filter");
                }
                let name = format!("Binder {}", kind.keyword());
                self.hit(&name);
                return;
            }
            Expr::Fold { scan, acc, vars, yields, .. } => {
                self.pat(acc);
                vars.iter().for_each(|v| self.range(&v.range));
                match (scan, yields) {
                    (true, _) => "Fold scan",
                    (false, Some(_)) => "Fold yield",
                    (false, None) => "Fold",
                }
            }
            Expr::Loop { scan, acc, .. } => {
                self.pat(acc);
                if *scan { "Loop scan" } else { "Loop" }
            }
            Expr::Checkpoint(..) => "Checkpoint",
            Expr::With(_, updates) => {
                for u in updates {
                    match &u.place {
                        Place::Index(subs) => {
                            subs.iter().for_each(|s| self.subscript(s));
                            self.hit("Place Index");
                        }
                        Place::Proj(_) => self.hit("Place Proj"),
                    }
                    if u.add {
                        self.hit("With +=");
                    }
                }
                "With"
            }
            Expr::Card(_) => "Card",
            Expr::Member(..) => "Member",
            Expr::Special(special, _) => match special {
                Special::Assert(_) => "Assert",
                Special::Error(_) => "error",
                Special::Dbg => "Dbg",
                Special::Par => "Par",
                Special::Stop => "Stop",
                Special::Reshape => "Reshape",
                Special::Relation => "Relation",
                Special::Print => "Print",
                Special::Time => "Time",
                Special::Load(_) => "Load",
                Special::Save => "Save",
                Special::Plot(_) => "Plot",
                Special::Derive(_, None) => "Derive",
                Special::Derive(_, Some(_)) => "Derive wrt",
                Special::Deriv(_) => "Deriv",
            },
        };
        self.hit(name);
    }

    fn pat(&mut self, p: &Pat) {
        let name = match p {
            Pat::Wild => "Pat Wild",
            Pat::Bind(_) => "Pat Bind",
            Pat::Ctor(_, items) => {
                items.iter().for_each(|p| self.pat(p));
                "Pat Ctor"
            }
            Pat::Tuple(items) => {
                items.iter().for_each(|p| self.pat(p));
                "Pat Tuple"
            }
            Pat::Record(fields) => {
                fields.iter().for_each(|f| self.pat(&f.1));
                "Pat Record"
            }
            Pat::Int(_) => "Pat Int",
            Pat::Bool(_) => "Pat Bool",
            Pat::Sized(_, inner) => {
                self.pat(inner);
                "Pat Sized"
            }
        };
        self.hit(name);
    }

    fn range(&mut self, r: &IndexRange) {
        self.hit(match r {
            IndexRange::Extent(_) => "Range Extent",
            IndexRange::Below(_) => "Range Below",
            IndexRange::Range(_, _, None) => "Range Range",
            IndexRange::Range(_, _, Some(_)) => "Range by",
        });
    }

    fn subscript(&mut self, s: &Subscript) {
        self.hit(match s {
            Subscript::At { proved: true, .. } => "At proved",
            Subscript::At { proved: false, .. } => "At checked",
            Subscript::Range { proved: true, .. } => "Slice proved",
            Subscript::Range { proved: false, .. } => "Slice checked",
            Subscript::Whole => "Whole",
        });
    }
}

/// Prints one line for each name, the rare ones first.
impl Display for Hits {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(name, n)| (**n, (*name).clone()));
        all.into_iter().try_for_each(|(name, n)| writeln!(f, "{n:>8} {name}"))
    }
}
