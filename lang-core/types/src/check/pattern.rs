//! **Patterns.** Checks patterns against the type of the matched value, and binds their variables.

use std::sync::Arc;

use super::super::info::TypeInfoBody;
use super::super::lower::apply;
use super::super::show::{arguments, stand_here};
use super::super::tree::Pat as Typed;
use super::super::ty::{Class, Type};
use super::{Checker, Coverage};
use lang_base::{Code, Diagnostic, GlobalName, Span};
use lang_resolve::PatRes;
use lang_sizes::predicate::Poly;
use lang_syntax::ast::{Pat, PatId};

impl Checker<'_> {
    /// Checks a pattern against the type of its value. `sym` is the value's polynomial, if known.
    /// If `must`, the pattern must be irrefutable.
    pub(super) fn pattern(&mut self, pat: PatId, ty: &Type, sym: Option<Poly>, must: bool) -> Typed {
        let typed = self.sub_pattern(pat, ty, sym);
        if must && !simple(&typed) {
            let span = self.tree.pats[pat].span;
            self.coverage.push(Coverage { ty: ty.clone(), pats: vec![typed.clone()], spans: Vec::new(), span });
        }
        typed
    }

    /// Returns whether the pattern contains a syntax error or an unknown constructor.
    pub(super) fn is_wrong(&self, pat: PatId) -> bool {
        match &self.tree.pats[pat].kind {
            Pat::Error => true,
            Pat::Wild | Pat::Int(_) | Pat::Bool(_) => false,
            Pat::Name(_) => matches!(self.resolved.pats.get(&pat), Some(PatRes::Error)),
            Pat::Ctor { args, .. } => {
                matches!(self.resolved.pats.get(&pat), Some(PatRes::Error) | None)
                    || args.iter().any(|p| self.is_wrong(*p))
            }
            Pat::Tuple(items) => items.iter().any(|p| self.is_wrong(*p)),
            Pat::Record(fields) => fields.iter().any(|(_, p)| p.is_some_and(|p| self.is_wrong(p))),
            Pat::Sized(_, inner) => self.is_wrong(*inner),
        }
    }

    fn sub_pattern(&mut self, pat: PatId, ty: &Type, sym: Option<Poly>) -> Typed {
        let tree = self.tree;
        let node = &tree.pats[pat];
        let span = node.span;
        let ty = if self.small_enough(ty, span) { self.metas.shallow(ty) } else { Type::Error };
        match &node.kind {
            Pat::Error | Pat::Wild => Typed::Wild,
            Pat::Name(_) => match self.resolved.pats.get(&pat).cloned() {
                Some(PatRes::Bind(l)) => {
                    self.bind(l, ty, sym);
                    Typed::Bind(l)
                }
                Some(PatRes::Ctor(data, k)) => self.ctor_pattern(&data, k, &[], &ty, span),
                Some(PatRes::Error) | None => Typed::Wild,
            },
            Pat::Ctor { args, .. } => match self.resolved.pats.get(&pat).cloned() {
                Some(PatRes::Ctor(data, k)) => self.ctor_pattern(&data, k, args, &ty, span),
                _ => {
                    args.iter().for_each(|a| {
                        self.sub_pattern(*a, &Type::Error, None);
                    });
                    Typed::Wild
                }
            },
            Pat::Tuple(items) => {
                let types = match &ty {
                    Type::Tuple(types) if types.len() == items.len() => types.clone(),
                    Type::Meta(_) => {
                        let types: Arc<[Type]> = items.iter().map(|_| self.metas.fresh(Class::Any, span)).collect();
                        let _ = self.unify(&ty, &Type::Tuple(types.clone()));
                        types
                    }
                    _ => {
                        self.pattern_mismatch(&format!("a tuple of {}", items.len()), &ty, span);
                        items.iter().map(|_| Type::Error).collect()
                    }
                };
                Typed::Tuple(items.iter().zip(types.iter()).map(|(p, t)| self.sub_pattern(*p, t, None)).collect())
            }
            Pat::Record(fields) => {
                let types = match &ty {
                    Type::Record(types) => Some(types.clone()),
                    Type::Error => None,
                    _ => {
                        self.pattern_mismatch("a record", &ty, span);
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
                                self.error(
                                    Code::E0106,
                                    name.span,
                                    format!("there is no field `{}` in `{t}`", name.name),
                                );
                            }
                            (0, Type::Error)
                        }
                    };
                    let p = match sub {
                        Some(p) => self.sub_pattern(*p, &t, None),
                        None => match self.declared(name.span) {
                            Some(l) => {
                                let t = self.metas.shallow(&t);
                                self.bind(l, t, None);
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
                    self.pattern_mismatch("an integer", &ty, span);
                }
                Typed::Int(*n)
            }
            Pat::Bool(b) => {
                if self.unify(&ty, &Type::BOOL).is_err() {
                    self.pattern_mismatch("a truth value", &ty, span);
                }
                Typed::Bool(*b)
            }
            Pat::Sized(names, inner) => {
                let dims: Vec<Poly> = ty.peel().0.into_iter().cloned().collect();
                if dims.len() < names.len() && ty != Type::Error {
                    let t = self.metas.zonk(&ty);
                    self.report(
                        Diagnostic::new(
                            Code::E0203,
                            span,
                            match names.len() {
                                1 => format!("this pattern names an extent, and `{t}` has none"),
                                many => format!("this pattern names {many} extents, and `{t}` has {}", dims.len()),
                            },
                        )
                        .help("`let [n, m] a = e` names the first extents of an array"),
                    );
                }
                let mut locals = Vec::new();
                for (k, name) in names.iter().enumerate() {
                    if let Some(l) = self.declared(name.span) {
                        self.bind(l, Type::I64, dims.get(k).cloned());
                        locals.push(l);
                    }
                }
                Typed::Sized(locals, Box::new(self.sub_pattern(*inner, &ty, None)))
            }
        }
    }

    fn ctor_pattern(&mut self, data: &GlobalName, k: u32, args: &[PatId], ty: &Type, span: Span) -> Typed {
        let info = self.env.type_info(data);
        let ctor = info.as_ref().and_then(|i| match &i.body {
            TypeInfoBody::Sum(ctors) => ctors.get(k as usize).cloned(),
            TypeInfoBody::Alias(_) => None,
        });
        let (Some(info), Some(ctor)) = (info, ctor) else {
            args.iter().for_each(|a| {
                self.sub_pattern(*a, &Type::Error, None);
            });
            return Typed::Wild;
        };
        let params = match ty {
            // The value has these sizes, even if they are not solved yet.
            Type::Data(found, args) if found == data => args.to_vec(),
            _ => {
                // An unknown type becomes this type; its sizes are fresh, so no size equation
                // arises.
                let params = self.fresh_params(&info, &ctor.name, span);
                if self.unify(ty, &Type::Data(data.clone(), params.clone().into())).is_err() {
                    self.pattern_mismatch(&format!("the constructor `{}` of `{data}`", ctor.name), ty, span);
                }
                params
            }
        };
        if args.len() != ctor.args.len() {
            let (wanted, there) = (arguments(ctor.args.len()), stand_here(args.len()));
            self.error(Code::E0403, span, format!("the constructor `{}` takes {wanted}, and {there}", ctor.name));
        }
        let types = ctor.args.iter().map(|t| apply(t, &params)).chain(std::iter::repeat(Type::Error));
        let mut typed: Vec<Typed> = args.iter().zip(types).map(|(p, t)| self.sub_pattern(*p, &t, None)).collect();
        typed.resize(ctor.args.len(), Typed::Wild);
        Typed::Ctor(k, typed)
    }

    fn pattern_mismatch(&mut self, pattern: &str, ty: &Type, span: Span) {
        let t = self.metas.zonk(ty);
        if !t.has_error() {
            self.error(Code::E0200, span, format!("this pattern is {pattern}, and the value has type `{t}`"));
        }
    }
}

/// Returns whether the pattern certainly matches every value of its type.
fn simple(p: &Typed) -> bool {
    match p {
        Typed::Wild | Typed::Bind(_) => true,
        Typed::Tuple(items) => items.iter().all(simple),
        Typed::Record(fields) => fields.iter().all(|f| simple(&f.1)),
        Typed::Sized(_, inner) => simple(inner),
        Typed::Ctor(..) | Typed::Int(_) | Typed::Bool(_) => false,
    }
}
