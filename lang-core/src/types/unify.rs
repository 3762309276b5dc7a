//! Unknowns of the checker and their solution. Types unify structurally; sizes by normal form:
//! the difference of two sizes is 0 (equal), a constant other than 0 (different), linear in its one
//! unknown, or in one that stands by itself, with coefficient ±1 (solved), or left for later, as a goal.

use std::cell::Cell;

use super::limits::{MAX_NESTING, MAX_PARTS};
use super::ty::{Class, Scalar, Type, TypeArg};
use crate::base::{Name, Span};
use crate::predicate::{Atom, Poly};

/// An unknown type.
#[derive(Clone)]
struct TypeMeta {
    class: Class,
    /// What it becomes if nothing else is known: set for number literals.
    default: Option<Scalar>,
    solution: Option<Type>,
    /// Who wants to know more of it.
    waiting: Vec<u32>,
    /// The longest way of unknowns that ends here is not longer: it is logarithmic in their number.
    rank: u8,
    span: Span,
}

/// An unknown size.
#[derive(Clone)]
struct SizeMeta {
    solution: Option<Poly>,
    span: Span,
    why: SizeWhy,
}

/// What an unknown size is the size of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SizeWhy {
    /// The extent of a bare index variable.
    Index(Name),
    /// A size parameter of what is called: its name, and the callee's.
    Param(Name, Name),
    /// The extent of an array whose type is not known yet.
    Other,
}

/// All unknowns of one item.
#[derive(Clone, Default)]
pub struct Metas {
    types: Vec<TypeMeta>,
    sizes: Vec<SizeMeta>,
    /// Those that waited for what is known by now.
    woken: Vec<u32>,
    /// Was a type met that is too large, and left aside?
    large: Cell<bool>,
    /// Was it told that a type is too large?
    pub(super) told_large: bool,
}

/// Why two types are not one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// They are built differently.
    Shape,
    /// Two scalar types.
    Scalars(Type, Type),
    /// Two sizes that differ: found, wanted.
    Size(Poly, Poly),
    /// A type is not of the class that is needed.
    Class(Type, Class),
    /// A type would hold itself.
    Infinite,
    /// A type would depend on the argument of a function, outside that function's type.
    Dependent,
}

/// Sizes that must be equal and are not yet known to be: found, wanted.
pub type Goals = Vec<(Poly, Poly)>;

/// The state of one unification.
struct Unifying<'a> {
    /// The classes of type parameters.
    params: &'a dyn Fn(u32) -> Class,
    goals: &'a mut Goals,
    /// How many pairs of parts were met, and how deep this one is.
    parts: usize,
    depth: usize,
}

impl Metas {
    /// A new unknown type.
    pub fn fresh(&mut self, class: Class, span: Span) -> Type {
        self.literal(class, None, span)
    }

    /// A new unknown type of a literal.
    pub fn literal(&mut self, class: Class, default: Option<Scalar>, span: Span) -> Type {
        let id = u32::try_from(self.types.len()).unwrap_or(u32::MAX);
        self.types.push(TypeMeta { class, default, solution: None, waiting: Vec::new(), rank: 0, span });
        Type::Meta(id)
    }

    /// A new unknown size.
    pub fn fresh_size(&mut self, why: SizeWhy, span: Span) -> Poly {
        let id = u32::try_from(self.sizes.len()).unwrap_or(u32::MAX);
        self.sizes.push(SizeMeta { solution: None, span, why });
        Poly::atom(Atom::Meta(id))
    }

    /// The type with its outermost constructor known as far as it is.
    pub fn shallow(&self, t: &Type) -> Type {
        let mut t = t;
        while let Type::Meta(id) = t {
            match self.types.get(*id as usize).and_then(|m| m.solution.as_ref()) {
                Some(s) => t = s,
                None => break,
            }
        }
        t.clone()
    }

    /// What solves an unknown.
    pub(super) fn solution(&self, id: u32) -> Option<&Type> {
        self.types.get(id as usize)?.solution.as_ref()
    }

    /// The type with all that is solved put in; an error in its place if that is too large, which
    /// [`Self::take_large`] tells.
    pub fn zonk(&self, t: &Type) -> Type {
        if !self.fits(t) {
            self.large.set(true);
            return Type::Error;
        }
        let (mut unknown, mut open) = (false, false);
        t.visit(&mut |t| unknown |= matches!(t, Type::Meta(_)), &mut |p| open |= has_meta(p));
        // Where there is nothing to put in, parts stay shared.
        if unknown || open { self.put_in(t) } else { t.clone() }
    }

    fn put_in(&self, t: &Type) -> Type {
        t.map(
            &|t, _| match t {
                Type::Meta(id) => Some(self.put_in(self.solution(*id)?)),
                _ => None,
            },
            &|p, _| self.zonk_size(p),
        )
    }

    /// Was a type left aside since the last time because it is too large? Whoever asks tells of it.
    pub fn take_large(&self) -> bool {
        self.large.take()
    }

    /// How many parts a type may have. Where one was too large little is known, and what follows
    /// is not worth the time.
    pub(super) fn most_parts(&self) -> usize {
        if self.told_large { MAX_PARTS / 100 } else { MAX_PARTS }
    }

    /// The type as a message shows it: literals that nothing decided yet have their defaults.
    pub fn shown(&self, t: &Type) -> Type {
        self.zonk(t).map(
            &|t, _| match t {
                Type::Meta(id) => self.default_of(*id).map(Type::Scalar),
                _ => None,
            },
            &|p, _| p.clone(),
        )
    }

    /// What an unsolved literal becomes if nothing else is known: one that was divided, a real.
    fn default_of(&self, id: u32) -> Option<Scalar> {
        let m = self.types.get(id as usize)?;
        Some(if m.class == Class::Real && m.default? == Scalar::I64 { Scalar::F64 } else { m.default? })
    }

    /// Is nothing known of this type, not even that it is a number?
    pub fn is_unknown(&self, t: &Type) -> bool {
        matches!(t, Type::Meta(id) if self.class(*id) == Class::Any)
    }

    /// The size with all that is solved put in.
    pub fn zonk_size(&self, p: &Poly) -> Poly {
        if !has_meta(p) {
            return p.clone();
        }
        p.substitute(&|a| match a {
            Atom::Meta(id) => self.sizes.get(*id as usize).and_then(|m| m.solution.as_ref()).map(|s| self.zonk_size(s)),
            _ => None,
        })
    }

    /// The class of an unknown.
    pub fn class(&self, id: u32) -> Class {
        self.types.get(id as usize).map_or(Class::Any, |m| m.class)
    }

    /// Is this unknown an integer if nothing says otherwise?
    pub fn integer_by_default(&self, id: u32) -> bool {
        self.types.get(id as usize).is_some_and(|m| m.default == Some(Scalar::I64) && m.class != Class::Real)
    }

    /// Is it the unknown type of a literal with a point?
    pub fn is_real_literal(&self, t: &Type) -> bool {
        matches!(t, Type::Meta(id) if self.types.get(*id as usize).is_some_and(|m| m.default == Some(Scalar::F64)))
    }

    /// Where an unknown type comes from.
    pub fn type_span(&self, id: u32) -> Span {
        self.types.get(id as usize).map_or_else(Span::default, |m| m.span)
    }

    /// Where an unknown size comes from, and what it is the size of.
    pub fn size_origin(&self, id: u32) -> (Span, SizeWhy) {
        self.sizes.get(id as usize).map_or((Span::default(), SizeWhy::Other), |m| (m.span, m.why.clone()))
    }

    /// `who` is woken when more is known of an unknown.
    pub fn wait(&mut self, id: u32, who: u32) {
        if let Some(m) = self.types.get_mut(id as usize) {
            m.waiting.push(who);
        }
    }

    /// Those that waited for what became known since the last time, in order.
    pub fn woken(&mut self) -> Vec<u32> {
        let mut woken = std::mem::take(&mut self.woken);
        woken.sort_unstable();
        woken.dedup();
        woken
    }

    /// Gives unsolved literals their default.
    pub fn apply_defaults(&mut self) {
        self.default_where(&|_| true);
    }

    /// Gives the literals whose types stand in this type their defaults.
    pub fn default_in(&mut self, t: &Type) {
        let mut there = Vec::new();
        self.zonk(t).visit(
            &mut |t| {
                if let Type::Meta(id) = t {
                    there.push(*id);
                }
            },
            &mut |_| {},
        );
        self.default_where(&|id| there.contains(&id));
    }

    fn default_where(&mut self, wanted: &dyn Fn(u32) -> bool) {
        for id in (0..).take(self.types.len()) {
            let default = self.default_of(id);
            if let Some(m) = self.types.get_mut(id as usize)
                && m.solution.is_none()
                && wanted(id)
                && let Some(s) = default
            {
                m.solution = Some(Type::Scalar(s));
                self.woken.append(&mut m.waiting);
            }
        }
    }

    /// Gives every unsolved unknown of a numeric class `f64`.
    pub fn default_reals(&mut self) {
        for m in &mut self.types {
            if m.solution.is_none() && m.class != Class::Any {
                m.solution = Some(Type::F64);
                self.woken.append(&mut m.waiting);
            }
        }
    }

    /// Demands that a type is of a class. `params` gives the classes of type parameters.
    pub fn demand(&mut self, t: &Type, class: Class, params: &dyn Fn(u32) -> Class) -> Result<(), Mismatch> {
        let t = self.shallow(t);
        let fits = match &t {
            Type::Error => true,
            Type::Meta(id) => {
                if let Some(m) = self.types.get_mut(*id as usize)
                    && class > m.class
                {
                    m.class = class;
                    self.woken.append(&mut m.waiting);
                }
                true
            }
            Type::Scalar(Scalar::F64 | Scalar::F32) => true,
            Type::Scalar(Scalar::I64) => class != Class::Real,
            Type::Param(k, _) => params(*k) >= class,
            _ => class == Class::Any,
        };
        if fits || class == Class::Any { Ok(()) } else { Err(Mismatch::Class(t, class)) }
    }

    /// Makes two types one. Types that are too large to walk are left as they are; see
    /// [`Self::take_large`].
    pub fn unify(
        &mut self,
        found: &Type,
        wanted: &Type,
        params: &dyn Fn(u32) -> Class,
        goals: &mut Goals,
    ) -> Result<(), Mismatch> {
        if !(self.fits(found) && self.fits(wanted)) {
            self.large.set(true);
            return Ok(());
        }
        self.unify_parts(found, wanted, &mut Unifying { params, goals, parts: 0, depth: 0 })
    }

    fn unify_parts(&mut self, found: &Type, wanted: &Type, u: &mut Unifying<'_>) -> Result<(), Mismatch> {
        // What is solved on the way may make large what was small.
        u.parts += 1;
        if u.parts > MAX_PARTS || u.depth > MAX_NESTING {
            self.large.set(true);
            return Ok(());
        }
        u.depth += 1;
        let outcome = self.unify_kinds(found, wanted, u);
        u.depth -= 1;
        outcome
    }

    fn unify_kinds(&mut self, found: &Type, wanted: &Type, u: &mut Unifying<'_>) -> Result<(), Mismatch> {
        let (f, w) = (self.shallow(found), self.shallow(wanted));
        match (&f, &w) {
            (Type::Error, _) | (_, Type::Error) => Ok(()),
            (Type::Meta(a), Type::Meta(b)) if a == b => Ok(()),
            (Type::Meta(a), Type::Meta(b)) => {
                let (from, to) = self.join(*a, *b);
                self.demand(&Type::Meta(to), self.class(from), u.params)?;
                self.solve(from, Type::Meta(to));
                Ok(())
            }
            (Type::Meta(_), t) | (t, Type::Meta(_)) if !self.fits(t) => {
                self.large.set(true);
                Ok(())
            }
            (Type::Meta(id), t) | (t, Type::Meta(id)) => {
                if self.occurs(*id, t) {
                    return Err(Mismatch::Infinite);
                }
                if !self.zonk(t).arguments().is_empty() {
                    return Err(Mismatch::Dependent);
                }
                self.demand(t, self.class(*id), u.params)?;
                self.solve(*id, t.clone());
                Ok(())
            }
            (Type::Scalar(a), Type::Scalar(b)) if a != b => Err(Mismatch::Scalars(f.clone(), w.clone())),
            (Type::Array(n, a), Type::Array(m, b)) => {
                // Sizes say little where ranks or elements differ.
                let outer = self.unify_size(n, m, u.goals);
                match self.unify_parts(a, b, u) {
                    Ok(()) | Err(Mismatch::Size(..)) if outer.is_err() => outer,
                    inner => inner,
                }
            }
            (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
                a.iter().zip(b.iter()).try_for_each(|(a, b)| self.unify_parts(a, b, u))
            }
            (Type::Record(a), Type::Record(b)) if a.len() == b.len() => a.iter().try_for_each(|(name, t)| {
                let (_, other) = b.iter().find(|field| field.0 == *name).ok_or(Mismatch::Shape)?;
                self.unify_parts(t, other, u)
            }),
            (Type::Fun(a), Type::Fun(b)) if a.params.len() == b.params.len() => {
                for ((_, t), (_, other)) in a.params.iter().zip(&b.params) {
                    self.unify_parts(t, other, u)?;
                }
                self.unify_parts(&a.result, &b.result, u)
            }
            (Type::Rel(a), Type::Rel(b)) if a.len() == b.len() => {
                a.iter().zip(b.iter()).try_for_each(|(n, m)| self.unify_size(n, m, u.goals))
            }
            (Type::Data(a, xs), Type::Data(b, ys)) if a == b && xs.len() == ys.len() => {
                xs.iter().zip(ys.iter()).try_for_each(|(x, y)| match (x, y) {
                    (TypeArg::Type(x), TypeArg::Type(y)) => self.unify_parts(x, y, u),
                    (TypeArg::Size(x), TypeArg::Size(y)) => self.unify_size(x, y, u.goals),
                    _ => Err(Mismatch::Shape),
                })
            }
            (Type::Param(a, _), Type::Param(b, _)) if a == b => Ok(()),
            _ if f == w => Ok(()),
            _ => Err(Mismatch::Shape),
        }
    }

    /// Which of two unknowns is solved, and what by: the other, which has the default of both.
    fn join(&mut self, a: u32, b: u32) -> (u32, u32) {
        let get =
            |id: u32| self.types.get(id as usize).map_or((0, None, Span::default()), |m| (m.rank, m.default, m.span));
        let ((rank_a, default_a, span_a), (rank_b, default_b, span_b)) = (get(a), get(b));
        let (from, to) = if rank_a <= rank_b { (a, b) } else { (b, a) };
        if let Some(m) = self.types.get_mut(to as usize) {
            m.rank = rank_a.max(rank_b) + u8::from(rank_a == rank_b);
            m.default = match (default_a, default_b) {
                (Some(Scalar::F64), _) | (_, Some(Scalar::F64)) => Some(Scalar::F64),
                (a, b) => a.or(b),
            };
            // Where a literal stands says more than where it is used.
            m.span = if default_a.is_none() { span_b } else { span_a };
        }
        (from, to)
    }

    fn solve(&mut self, id: u32, t: Type) {
        if let Some(m) = self.types.get_mut(id as usize) {
            m.solution = Some(t);
            self.woken.append(&mut m.waiting);
        }
    }

    fn occurs(&self, id: u32, t: &Type) -> bool {
        let mut found = false;
        self.zonk(t).visit(&mut |t| found |= *t == Type::Meta(id), &mut |_| {});
        found
    }

    /// Makes two sizes one, or leaves a goal.
    pub fn unify_size(&mut self, found: &Poly, wanted: &Poly, goals: &mut Goals) -> Result<(), Mismatch> {
        let (f, w) = (self.zonk_size(found), self.zonk_size(wanted));
        let difference = f.sub(&w);
        if let Some(c) = difference.as_constant() {
            return if c == 0 { Ok(()) } else { Err(Mismatch::Size(f, w)) };
        }
        let mut metas = Vec::new();
        difference.for_each_atom(&mut |a| {
            if let Atom::Meta(id) = a
                && !metas.contains(id)
            {
                metas.push(*id);
            }
        });
        // What an unknown by itself equals may hold others.
        let alone = |p: &Poly| match p.as_atom() {
            Some(Atom::Meta(id)) => Some(*id),
            _ => None,
        };
        let which = match (metas.as_slice(), alone(&f), alone(&w)) {
            ([one], ..) => Some(*one),
            (_, Some(a), Some(b)) => Some(a.min(b)),
            (_, a, b) => a.or(b),
        };
        if let Some(id) = &which {
            let solution = match difference.linear_in(&Atom::Meta(*id)) {
                Some((1, rest)) => Some(rest.neg()),
                Some((-1, rest)) => Some(rest),
                _ => None,
            };
            // What stands under a function type's own parameters has no meaning outside it.
            let local = solution.filter(|s| {
                let mut closed = true;
                s.for_each_atom(&mut |a| closed &= !matches!(a, Atom::Arg(..)));
                closed
            });
            if let (Some(s), Some(m)) = (local, self.sizes.get_mut(*id as usize)) {
                m.solution = Some(s);
                return Ok(());
            }
        }
        goals.push((f, w));
        Ok(())
    }
}

/// Is there an unknown in it?
pub fn has_meta(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Meta(_)));
    found
}
