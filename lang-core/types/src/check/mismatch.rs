//! **Diagnostics for type mismatches**, in terms of the user's program.

use super::super::tree::{TypedExpr as Typed, TypedId};
use super::super::ty::{Scalar, Type, TypeClass};
use super::super::unify::{MetaTable, Mismatch};
use super::TypeChecker;
use super::size_names::{names_in_sizes, names_in_types};
use lang_base::{Code, Diagnostic, Fact, Fix, Name, Span};
use lang_sizes::predicate::Poly;
use lang_syntax::ops::BinderKind;

/// The part of a value that has the wrong type.
pub(super) struct MismatchedPart {
    /// Its node.
    pub(super) node: TypedId,
    /// The expected type of this part.
    pub(super) expected: Type,
    /// The path to the part, as in "`a` of component 1"; empty for the whole.
    pub(super) path: String,
}

impl TypeChecker<'_> {
    /// Reports that a node does not have the expected type.
    pub(super) fn report_unfit(&mut self, m: &Mismatch, node: TypedId, wanted: &Type, what: &str) {
        if let Some(d) = self.unfit_diagnostic(m, node, wanted, what) {
            self.report(d);
        }
    }

    /// Builds the diagnostic for a node without the expected type; `None` if an earlier error
    /// explains it.
    pub(super) fn unfit_diagnostic(
        &self,
        m: &Mismatch,
        node: TypedId,
        wanted: &Type,
        what: &str,
    ) -> Option<Diagnostic> {
        let MismatchedPart { node, expected: wanted, path: part } = self.find_mismatched_part(node, wanted);
        let found = self.nodes[node].ty.clone();
        let of = if what.is_empty() || part.is_empty() { String::new() } else { " of ".to_owned() };
        let what = format!("{part}{of}{what}");
        let mut d = self.mismatch_diagnostic(m, &found, &wanted, self.node_span(node), &what)?;
        if matches!(d.code, Code::E0200 | Code::E0300)
            && let Some(help) = self.mismatch_help(node, &found, &wanted)
        {
            d.help = Some(help.into());
        }
        let too_many = self.metas.zonk(&found).split_array().0.len() > self.metas.zonk(&wanted).split_array().0.len();
        Some(match self.find_unindexed_array(node).filter(|_| too_many) {
            Some((at, says)) => d.related(at, says),
            None => d,
        })
    }

    /// Finds the part of a value that causes the mismatch.
    pub(super) fn find_mismatched_part(&self, mut node: TypedId, wanted: &Type) -> MismatchedPart {
        let mut wanted = self.metas.zonk(wanted);
        let mut parts: Vec<String> = Vec::new();
        loop {
            let (part, component, name) = match (&self.nodes[node].kind, &wanted) {
                (Typed::Let(_, e) | Typed::Checked(_, e) | Typed::Opened(_, e), _) => {
                    node = *e;
                    continue;
                }
                (Typed::Tuple(items), Type::Tuple(types)) if items.len() == types.len() => {
                    let mut pairs = items.iter().zip(types.iter()).enumerate();
                    let Some((k, (e, t))) = pairs.find(|(_, (e, t))| self.differs_from(**e, t)) else { break };
                    (*e, t.clone(), format!("component {k}"))
                }
                (Typed::Record(fields), Type::Record(types)) if fields.len() == types.len() => {
                    let Type::Record(own) = &self.nodes[node].ty else { break };
                    let named = fields.iter().filter_map(|(k, e)| {
                        let name = &own.get(*k as usize)?.0;
                        Some((*e, types.iter().find(|t| t.0 == *name)?))
                    });
                    let mut named = named.filter(|(e, (_, t))| self.differs_from(*e, t));
                    let Some((e, (name, t))) = named.next() else { break };
                    (e, t.clone(), format!("`{name}`"))
                }
                _ => break,
            };
            node = part;
            wanted = component;
            parts.push(name);
        }
        parts.reverse();
        MismatchedPart { node, expected: wanted, path: parts.join(" of ") }
    }

    /// Returns whether the node certainly has a type other than this one.
    fn differs_from(&self, node: TypedId, wanted: &Type) -> bool {
        types_differ(&self.metas, &self.metas.zonk(&self.nodes[node].ty), wanted)
    }

    /// Returns the array that turns a reduction's body into an array: its span, and a suggestion.
    fn find_unindexed_array(&self, node: TypedId) -> Option<(Span, String)> {
        let mut index: Option<Name> = None;
        let mut open = vec![node];
        while let Some(n) = open.pop() {
            match &self.nodes[n].kind {
                Typed::Binder { kind, vars, body, .. } if !matches!(kind, BinderKind::For | BinderKind::Rel) => {
                    index = vars.last().and_then(|v| self.local_info(v.local)).map(|l| l.name.clone());
                    open.push(*body);
                }
                Typed::Arith(_, a, b) | Typed::Pow(a, b) => open.extend([*b, *a]),
                Typed::Scalar(_, args) => open.extend(args.iter().rev()),
                Typed::Neg(e) | Typed::Guard(_, e) | Typed::Checked(_, e) | Typed::Let(_, e) => open.push(*e),
                kind @ (Typed::Local(_) | Typed::Global(_)) => {
                    let ty = self.metas.with_defaults(&self.nodes[n].ty);
                    let Some(index) = index.as_ref().filter(|_| matches!(ty, Type::Array(..))) else { continue };
                    let name = match kind {
                        Typed::Local(l) => self.local_info(*l).map(|i| i.name.clone())?,
                        Typed::Global(global) => global.name.clone(),
                        _ => return None,
                    };
                    return Some((
                        self.node_span(n),
                        format!("`{name}` has type `{ty}`; did you mean `{name}[{index}]`?"),
                    ));
                }
                _ => {}
            }
        }
        None
    }

    /// Reports that two types do not unify.
    pub(super) fn report_mismatch(&mut self, m: &Mismatch, found: &Type, wanted: &Type, span: Span, what: &str) {
        if let Some(d) = self.mismatch_diagnostic(m, found, wanted, span, what) {
            self.report(d);
        }
    }

    /// Builds the diagnostic for two types that do not unify; `None` if an earlier error explains
    /// it.
    fn mismatch_diagnostic(
        &self,
        m: &Mismatch,
        found: &Type,
        wanted: &Type,
        span: Span,
        what: &str,
    ) -> Option<Diagnostic> {
        let (found, wanted) = (self.metas.zonk(found), self.metas.zonk(wanted));
        if found.has_error() || wanted.has_error() {
            return None;
        }
        let subject = if what.is_empty() { String::new() } else { format!(" for {what}") };
        let types = format!(
            "this has type `{}`, but `{}` is expected{subject}",
            self.metas.with_defaults(&found),
            self.metas.with_defaults(&wanted)
        );
        let other_rank = found.split_array().0.len() != wanted.split_array().0.len();
        Some(match m {
            Mismatch::Size(f, w) => Diagnostic::new(Code::E0300, span, types)
                .label(format!("the size `{f}` does not match the expected `{w}`"))
                .fact(size_mismatch(f, w))
                .size_names(names_in_types([&found, &wanted])),
            // A number literal is in a position that expects no number.
            Mismatch::Class(t, class)
                if matches!(found, Type::Meta(_))
                    || matches!((found.split_array().1, wanted.split_array().1), (Type::Meta(_), w) if *w == *t) =>
            {
                self.literal_mismatch(t, *class, span, &subject)
            }
            Mismatch::Class(Type::Array(..), _) if other_rank => shape_diagnostic(&found, &wanted, span, types),
            Mismatch::Class(t, class) => return self.class_diagnostic(t, *class, span),
            Mismatch::Dependent => {
                let message = format!(
                    "the type `{found}` depends on an argument, but one type for all arguments is expected{subject}"
                );
                Diagnostic::new(Code::E0310, span, message)
                    .help("apply the function where its argument is known")
                    .size_names(names_in_types([&found]))
            }
            Mismatch::Infinite => {
                Diagnostic::new(Code::E0216, span, format!("a value of type `{found}` would contain itself"))
            }
            Mismatch::Scalars(f, w) if !other_rank && *f != Type::BOOL && *w != Type::BOOL => {
                let d = Diagnostic::new(Code::E0206, span, types);
                match (f, w) {
                    (Type::Scalar(Scalar::I64), w) => d
                        .help(format!("convert with `{w}(…)`, because integers do not convert to reals implicitly"))
                        .fix(conversion_fix(w, span)),
                    (_, w @ Type::Scalar(Scalar::I64)) => {
                        d.help("`i64(…)` converts to an integer, rounding towards zero").fix(conversion_fix(w, span))
                    }
                    (_, w) => d.help(format!("convert with `{w}(…)`")).fix(conversion_fix(w, span)),
                }
            }
            _ => shape_diagnostic(&found, &wanted, span, types),
        })
    }

    /// Builds the diagnostic for a literal in a position that expects type `t`, which is not of its
    /// class.
    fn literal_mismatch(&self, t: &Type, class: TypeClass, span: Span, subject: &str) -> Diagnostic {
        let word = if class == TypeClass::Real { "a real number" } else { "a number" };
        let integer = *t == Type::I64;
        let code = if integer { Code::E0206 } else { Code::E0200 };
        let wanted = self.metas.with_defaults(t);
        let d = Diagnostic::new(code, span, format!("this is {word}, but `{wanted}` is expected{subject}"));
        match t {
            _ if integer => {
                let help =
                    "an integer literal has no decimal point; `i64(…)` converts to an integer, rounding towards zero";
                d.help(help).fix(conversion_fix(t, span))
            }
            Type::Array(..) => d.help(repeated_value_help(wanted.split_array().0.len())),
            _ if *t == Type::BOOL => d.help("write a comparison, such as `x != 0`, or `true` or `false`"),
            _ => d,
        }
    }

    pub(super) fn report_class_error(&mut self, t: &Type, class: TypeClass, span: Span) {
        if let Some(d) = self.class_diagnostic(t, class, span) {
            self.report(d);
        }
    }

    fn class_diagnostic(&self, t: &Type, class: TypeClass, span: Span) -> Option<Diagnostic> {
        let t = self.metas.zonk(t);
        if t.has_error() {
            return None;
        }
        Some(match (&t, class) {
            (Type::Scalar(Scalar::I64), TypeClass::Real) => {
                Diagnostic::new(Code::E0206, span, "this is an integer, but a real number is expected")
                    .help("convert with `f64(…)`, because integers do not convert to reals implicitly")
            }
            (Type::Param(_, name), _) => {
                let word = if class == TypeClass::Real { "real" } else { "num" };
                Diagnostic::new(
                    Code::E0209,
                    span,
                    format!("the type `{name}` may be any type, but a number is expected"),
                )
                .help(format!("add the constraint `where {name}: {word}` to the signature"))
            }
            (Type::Scalar(Scalar::Bool), _) => {
                Diagnostic::new(Code::E0209, span, "this is a truth value, but a number is expected")
                    .help("`[p] * 1` is 1 where `p` is true and 0 elsewhere")
            }
            _ => {
                let word = if class == TypeClass::Real { "a real number" } else { "a number" };
                let shown = self.metas.with_defaults(&t);
                Diagnostic::new(Code::E0209, span, format!("this has type `{shown}`, but {word} is expected"))
            }
        })
    }
}

/// Returns whether two types are certainly different.
pub(super) fn types_differ(metas: &MetaTable, a: &Type, b: &Type) -> bool {
    match (a, b) {
        // A number literal in a position that expects no number.
        (Type::Meta(id), Type::Scalar(Scalar::Bool) | Type::Array(..) | Type::Tuple(_) | Type::Record(_)) => {
            metas.class(*id) != TypeClass::Any
        }
        (Type::Meta(_) | Type::Error, _) | (_, Type::Meta(_) | Type::Error) => false,
        (Type::Array(n, e), Type::Array(m, f)) => {
            matches!((n.as_constant(), m.as_constant()), (Some(n), Some(m)) if n != m) || types_differ(metas, e, f)
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() != b.len() || a.iter().zip(b.iter()).any(|(a, b)| types_differ(metas, a, b))
        }
        (Type::Record(a), Type::Record(b)) => {
            a.len() != b.len()
                || a.iter()
                    .any(|(name, t)| b.iter().find(|f| f.0 == *name).is_none_or(|f| types_differ(metas, t, &f.1)))
        }
        (Type::Data(a, _), Type::Data(b, _)) => a != b,
        (Type::Fun(a), Type::Fun(b)) => a.params.len() != b.params.len(),
        (Type::Rel(a), Type::Rel(b)) => a.len() != b.len(),
        _ => a != b,
    }
}

fn axis_count(n: usize) -> String {
    lang_base::count_with_noun(n, "axis", "axes")
}

/// Returns help for building an array of this rank from one value.
fn repeated_value_help(axes: usize) -> String {
    match axes {
        1 => "write `[x,]` for an array of one element, or `for i < n: x` for `n` equal elements".to_owned(),
        _ => "write `for i < n, j < m: x` to repeat one value for every index".to_owned(),
    }
}

/// Builds the diagnostic for two types with different constructors or ranks; `types` is the
/// sentence that names them.
fn shape_diagnostic(found: &Type, wanted: &Type, span: Span, types: String) -> Diagnostic {
    let d = Diagnostic::new(Code::E0200, span, types);
    if let (Type::Data(f, _), Type::Data(w, _)) = (found.split_array().1, wanted.split_array().1)
        && f.name == w.name
        && f.module != w.module
    {
        return d
            .label(format!("this is `{}` of `{}`, not that of `{}`", f.name, f.module, w.module))
            .help("two files declare a type of this name, or one file is imported by two paths");
    }
    match (found.split_array().0.len(), wanted.split_array().0.len()) {
        (_, 0) if *wanted == Type::BOOL && *found.split_array().1 == Type::BOOL => {
            d.help("reduce it with `all i: p[i]` or `any i: p[i]`, as in `all i: x[i] == y[i]`")
        }
        (f, w) if f > w && !matches!(wanted, Type::Fun(_) | Type::Meta(_)) => d.help(format!(
            "add an index: `x[i]` is an element, `sum i: x[i]` is the sum; this has {} too many",
            axis_count(f - w)
        )),
        (0, w) if w > 0 && matches!(found, Type::Scalar(_) | Type::Meta(_) | Type::Param(..)) => {
            d.help(repeated_value_help(w))
        }
        (f, w) if 0 < f && f < w => {
            let wants = if w == 2 { "a matrix has 2".to_owned() } else { format!("{w} are expected") };
            d.label(format!("this has {}, but {wants}", axis_count(f)))
                .help("write `for i: …` for one row per index, or `[x,]` for an array of one row")
        }
        _ if matches!(found, Type::Fun(_)) => d.help("this is a function: apply it to its arguments, `f(x)`"),
        _ => d,
    }
}

/// Builds the diagnostic for an index that subscripts two axes of different extents; `n` is the
/// extent of the first.
pub(super) fn two_extents_diagnostic(name: &Name, span: Span, n: &Poly, m: &Poly) -> Diagnostic {
    if n.to_string() == m.to_string() {
        let message = format!("the index `{name}` runs over two axes, whose extents `{m}` may differ");
        return Diagnostic::new(Code::E0304, span, message)
            .help("every evaluation opens a new extent `?k`: bind the value once, `let x = … in …`, and index `x`")
            .size_names(names_in_sizes([m]));
    }
    let message = format!("the index `{name}` runs over an axis of extent `{m}` here, and of extent `{n}` elsewhere");
    Diagnostic::new(Code::E0304, span, message)
        .help(format!(
            "check the order of the indices; a range, `{name} < {n}`, leaves the other access to a run-time check"
        ))
        .fact(Fact::IndexExtents { index: name.clone(), here: m.to_string(), elsewhere: n.to_string() })
        .size_names(names_in_sizes([m, n]))
}

/// Returns the fact that a size differs from the expected one.
pub(super) fn size_mismatch(found: &Poly, expected: &Poly) -> Fact {
    Fact::SizeMismatch { found: found.to_string(), expected: expected.to_string() }
}

/// Returns the fix that wraps an expression in a conversion such as `f64(…)`.
fn conversion_fix(to: &Type, span: Span) -> Fix {
    Fix::wrap(span, format!("{to}("), ")")
}
