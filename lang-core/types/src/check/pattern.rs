//! **Patterns.** Checks patterns against the type of the matched value, and binds their variables.

use std::sync::Arc;

use super::super::lower::instantiate_type_body;
use super::super::show::{argument_count, found_count};
use super::super::tree::TypedPattern as Typed;
use super::super::ty::{Type, TypeClass};
use super::super::type_info::TypeInfoBody;
use super::{CoverageObligation, TypeChecker};
use lang_base::{Code, Diagnostic, GlobalName, Span};
use lang_resolve::PatRes;
use lang_sizes::predicate::Poly;
use lang_syntax::ast::{Pat, PatId};

impl TypeChecker<'_> {
    /// Checks a pattern against the type of its value. `sym` is the value's polynomial, if known.
    /// If `must`, the pattern must be irrefutable.
    pub(super) fn check_pattern(&mut self, pat: PatId, ty: &Type, sym: Option<Poly>, must: bool) -> Typed {
        let typed = self.check_sub_pattern(pat, ty, sym);
        if must && !is_irrefutable(&typed) {
            let span = self.tree.pats[pat].span;
            self.coverage_obligations.push(CoverageObligation {
                ty: ty.clone(),
                pats: vec![typed.clone()],
                spans: Vec::new(),
                span,
            });
        }
        typed
    }

    /// Returns whether the pattern contains a syntax error or an unknown constructor.
    pub(super) fn is_invalid_pattern(&self, pat: PatId) -> bool {
        match &self.tree.pats[pat].kind {
            Pat::Error => true,
            Pat::Wild | Pat::Int(_) | Pat::Bool(_) => false,
            Pat::Name(_) => matches!(self.resolved.pats.get(&pat), Some(PatRes::Error)),
            Pat::Ctor { args, .. } => {
                matches!(self.resolved.pats.get(&pat), Some(PatRes::Error) | None)
                    || args.iter().any(|p| self.is_invalid_pattern(*p))
            }
            Pat::Tuple(items) => items.iter().any(|p| self.is_invalid_pattern(*p)),
            Pat::Record(fields) => fields.iter().any(|(_, p)| p.is_some_and(|p| self.is_invalid_pattern(p))),
            Pat::Sized(_, inner) => self.is_invalid_pattern(*inner),
        }
    }

    fn check_sub_pattern(&mut self, pat: PatId, ty: &Type, sym: Option<Poly>) -> Typed {
        let tree = self.tree;
        let node = &tree.pats[pat];
        let span = node.span;
        let ty = if self.check_type_limits(ty, span) { self.metas.shallow_resolve(ty) } else { Type::Error };
        match &node.kind {
            Pat::Error | Pat::Wild => Typed::Wild,
            Pat::Name(_) => match self.resolved.pats.get(&pat).cloned() {
                Some(PatRes::Bind(l)) => {
                    self.bind_local(l, ty, sym);
                    Typed::Bind(l)
                }
                Some(PatRes::Ctor(data, k)) => self.check_ctor_pattern(&data, k, &[], &ty, span),
                Some(PatRes::Error) | None => Typed::Wild,
            },
            Pat::Ctor { args, .. } => match self.resolved.pats.get(&pat).cloned() {
                Some(PatRes::Ctor(data, k)) => self.check_ctor_pattern(&data, k, args, &ty, span),
                _ => {
                    args.iter().for_each(|a| {
                        self.check_sub_pattern(*a, &Type::Error, None);
                    });
                    Typed::Wild
                }
            },
            Pat::Tuple(items) => {
                let types = match &ty {
                    Type::Tuple(types) if types.len() == items.len() => types.clone(),
                    Type::Meta(_) => {
                        let types: Arc<[Type]> =
                            items.iter().map(|_| self.metas.fresh_type(TypeClass::Any, span)).collect();
                        let _ = self.unify(&ty, &Type::Tuple(types.clone()));
                        types
                    }
                    _ => {
                        self.report_pattern_mismatch(&format!("a tuple of {}", items.len()), &ty, span);
                        items.iter().map(|_| Type::Error).collect()
                    }
                };
                Typed::Tuple(items.iter().zip(types.iter()).map(|(p, t)| self.check_sub_pattern(*p, t, None)).collect())
            }
            Pat::Record(fields) => {
                let types = match &ty {
                    Type::Record(types) => Some(types.clone()),
                    Type::Error => None,
                    _ => {
                        self.report_pattern_mismatch("a record", &ty, span);
                        None
                    }
                };
                let mut typed = Vec::new();
                for (name, sub) in fields {
                    let found = types.as_ref().and_then(|ts| (0..).zip(ts.iter()).find(|(_, f)| f.0 == name.name));
                    let (k, t) = match found {
                        Some((k, f)) => (k, f.1.clone()),
                        None => {
                            if types.is_some() {
                                let t = self.metas.zonk(&ty);
                                self.report_error(
                                    Code::E0106,
                                    name.span,
                                    format!("there is no field `{}` in `{t}`", name.name),
                                );
                            }
                            (0, Type::Error)
                        }
                    };
                    let p = match sub {
                        Some(p) => self.check_sub_pattern(*p, &t, None),
                        None => match self.declared_local(name.span) {
                            Some(l) => {
                                let t = self.metas.shallow_resolve(&t);
                                self.bind_local(l, t, None);
                                Typed::Bind(l)
                            }
                            None => Typed::Wild,
                        },
                    };
                    typed.push((k, p));
                }
                Typed::Record(typed)
            }
            Pat::Int(n) => {
                if self.unify(&ty, &Type::I64).is_err() {
                    self.report_pattern_mismatch("an integer", &ty, span);
                }
                Typed::Int(*n)
            }
            Pat::Bool(b) => {
                if self.unify(&ty, &Type::BOOL).is_err() {
                    self.report_pattern_mismatch("a truth value", &ty, span);
                }
                Typed::Bool(*b)
            }
            Pat::Sized(names, inner) => {
                let dims: Vec<Poly> = ty.split_array().0.into_iter().cloned().collect();
                if dims.len() < names.len() && ty != Type::Error {
                    let t = self.metas.zonk(&ty);
                    self.report(
                        Diagnostic::new(
                            Code::E0203,
                            span,
                            match names.len() {
                                1 => format!("this pattern names an extent, but `{t}` has none"),
                                many => format!("this pattern names {many} extents, but `{t}` has {}", dims.len()),
                            },
                        )
                        .help("`let [n, m] a = e` names the first extents of an array"),
                    );
                }
                let mut locals = Vec::new();
                for (k, name) in names.iter().enumerate() {
                    if let Some(l) = self.declared_local(name.span) {
                        self.bind_local(l, Type::I64, dims.get(k).cloned());
                        locals.push(l);
                    }
                }
                Typed::Sized(locals, Box::new(self.check_sub_pattern(*inner, &ty, None)))
            }
        }
    }

    fn check_ctor_pattern(&mut self, data: &GlobalName, k: u32, args: &[PatId], ty: &Type, span: Span) -> Typed {
        let info = self.env.type_info(data);
        let ctor = info.as_ref().and_then(|i| match &i.body {
            TypeInfoBody::Sum(ctors) => ctors.get(k as usize).cloned(),
            TypeInfoBody::Alias(_) => None,
        });
        let (Some(info), Some(ctor)) = (info, ctor) else {
            args.iter().for_each(|a| {
                self.check_sub_pattern(*a, &Type::Error, None);
            });
            return Typed::Wild;
        };
        let params = match ty {
            // The value has these sizes, even if they are not solved yet.
            Type::Data(found, args) if found == data => args.to_vec(),
            _ => {
                // An unknown type becomes this type; its sizes are fresh, so no size equation
                // arises.
                let params = self.fresh_type_args(&info, &ctor.name, span);
                if self.unify(ty, &Type::Data(data.clone(), params.clone().into())).is_err() {
                    self.report_pattern_mismatch(&format!("the constructor `{}` of `{data}`", ctor.name), ty, span);
                }
                params
            }
        };
        if args.len() != ctor.args.len() {
            let (wanted, there) = (argument_count(ctor.args.len()), found_count(args.len()));
            self.report_error(Code::E0403, span, format!("the constructor `{}` expects {wanted}, {there}", ctor.name));
        }
        let types = ctor.args.iter().map(|t| instantiate_type_body(t, &params)).chain(std::iter::repeat(Type::Error));
        let mut typed: Vec<Typed> = args.iter().zip(types).map(|(p, t)| self.check_sub_pattern(*p, &t, None)).collect();
        typed.resize(ctor.args.len(), Typed::Wild);
        Typed::Ctor(k, typed)
    }

    fn report_pattern_mismatch(&mut self, pattern: &str, ty: &Type, span: Span) {
        let t = self.metas.with_defaults(ty);
        if !t.has_error() {
            self.report_error(Code::E0200, span, format!("this pattern is {pattern}, but the value has type `{t}`"));
        }
    }
}

/// Returns whether the pattern certainly matches every value of its type.
fn is_irrefutable(p: &Typed) -> bool {
    match p {
        Typed::Wild | Typed::Bind(_) => true,
        Typed::Tuple(items) => items.iter().all(is_irrefutable),
        Typed::Record(fields) => fields.iter().all(|f| is_irrefutable(&f.1)),
        Typed::Sized(_, inner) => is_irrefutable(inner),
        Typed::Ctor(..) | Typed::Int(_) | Typed::Bool(_) => false,
    }
}
