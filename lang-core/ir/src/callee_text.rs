//! **Printing of callees**: `conv`, `linalg.solve`, `f#0`, its rule `f#derivative 0`,
//! `conv_adj{0; 0, 1}`; with types and sizes `mean[f64; n]`.

use std::fmt;

use super::canonical::is_name;
use super::core::{DerivativeKind, FunctionKey};
use lang_base::GlobalName;
use lang_sizes::predicate::Poly;
use lang_types::ty::{GenericArg, Type};

/// The printed name of the module without a name.
pub const PRELUDE: &str = "prelude";

/// Prints the callee without its module and types.
impl fmt::Display for FunctionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_callee_name(f, self)
    }
}

fn write_callee_name(f: &mut fmt::Formatter<'_>, callee: &FunctionKey) -> fmt::Result {
    write_definition_name(f, &callee.def.name)?;
    callee.rules.iter().try_for_each(|rule| write!(f, "#{} {}", rule.kind.keyword(), rule.local))?;
    callee.local.iter().try_for_each(|k| write!(f, "#{k}"))?;
    callee.derivatives.iter().try_for_each(|d| match d {
        DerivativeKind::Forward(wrt) => write!(f, "_tan{{{}}}", join_numbers(wrt)),
        DerivativeKind::Adjoint { outputs: of, wrt } => {
            write!(f, "_adj{{{}; {}}}", join_numbers(of), join_numbers(wrt))
        }
    })
}

fn join_numbers(items: &[u32]) -> String {
    items.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Prints the name of a definition, in backquotes if it is not a single word.
fn write_definition_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let rule = name.strip_prefix("derivative ").or_else(|| name.strip_prefix("adjoint "));
    if is_name(rule.unwrap_or(name)) { f.write_str(name) } else { write!(f, "`{name}`") }
}

/// A top-level name as printed in a function of the module in the second field. It is qualified if
/// it belongs to another module.
pub(super) struct Qualified<'a>(pub(super) &'a GlobalName, pub(super) &'a str);

impl Qualified<'_> {
    fn write_module_prefix(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.module.as_str() {
            own if own == self.1 => Ok(()),
            "" => write!(f, "{PRELUDE}."),
            module if is_name(module) && module != PRELUDE => write!(f, "{module}."),
            module => write!(f, "{module:?}."),
        }
    }
}

impl fmt::Display for Qualified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_module_prefix(f)?;
        write_definition_name(f, &self.0.name)
    }
}

/// A callee with types and sizes, as printed in a function of the module `own`.
pub(super) struct QualifiedCallee<'a> {
    pub(super) callee: &'a FunctionKey,
    pub(super) current_module: &'a str,
    pub(super) sizes: &'a [Poly],
}

impl fmt::Display for QualifiedCallee<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Qualified(&self.callee.def, self.current_module).write_module_prefix(f)?;
        write_callee_name(f, self.callee)?;
        f.write_str("[")?;
        if !self.callee.types.is_empty() {
            let types: Vec<String> =
                self.callee.types.iter().map(|t| QualifiedType(t, self.current_module).to_string()).collect();
            write!(f, "{};{}", types.join(", "), if self.sizes.is_empty() { "" } else { " " })?;
        }
        let sizes: Vec<String> = self.sizes.iter().map(ToString::to_string).collect();
        write!(f, "{}]", sizes.join(", "))
    }
}

/// A type argument, as printed in a function of this module.
struct QualifiedType<'a>(&'a Type, &'a str);

impl fmt::Display for QualifiedType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(", ");
        let of = |t: &Type| QualifiedType(t, self.1).to_string();
        match self.0 {
            Type::Array(..) => {
                let (dims, element) = self.0.split_array();
                write!(f, "[{}]{}", list(&mut dims.iter().map(ToString::to_string)), of(element))
            }
            Type::Tuple(items) => {
                let comma = if items.len() == 1 { "," } else { "" };
                write!(f, "({}{comma})", list(&mut items.iter().map(of)))
            }
            Type::Record(fields) => {
                write!(f, "{{{}}}", list(&mut fields.iter().map(|(name, t)| format!("{name}: {}", of(t)))))
            }
            Type::Data(name, args) => {
                write!(f, "{}", Qualified(name, self.1))?;
                if args.is_empty() {
                    return Ok(());
                }
                let args = &mut args.iter().map(|a| match a {
                    GenericArg::Type(t) => of(t),
                    GenericArg::Size(p) => p.to_string(),
                });
                write!(f, "({})", list(args))
            }
            Type::Scalar(_)
            | Type::Str
            | Type::Fun(_)
            | Type::Rel(_)
            | Type::Param(..)
            | Type::Meta(_)
            | Type::Error => write!(f, "{}", self.0),
        }
    }
}
