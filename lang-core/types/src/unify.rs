//! **Unification.** The checker's metavariables and their solutions.
//!
//! Types unify structurally; sizes unify by normal form. The difference of two sizes decides the
//! outcome:
//!
//! - It is 0: the sizes are equal.
//! - It is another constant: they differ.
//! - It is linear with coefficient ±1 in its only metavariable, or in one that is a whole side of
//!   the equation: that metavariable is solved.
//! - Otherwise the pair becomes a goal, which the checker proves later.

use std::cell::Cell;

use super::limits::{MAX_TYPE_NESTING, MAX_TYPE_PARTS};
use super::ty::{GenericArg, Scalar, Type, TypeClass};
use lang_base::{Name, Span};
use lang_sizes::predicate::{Atom, Poly};

/// A type metavariable.
#[derive(Clone)]
struct TypeMeta {
    class: TypeClass,
    /// The type that an unsolved metavariable defaults to; set for number literals.
    default: Option<Scalar>,
    solution: Option<Type>,
    /// The constraints that wait for more information about it.
    waiting: Vec<u32>,
    /// The rank of union by rank: a bound on the longest chain of metavariables that ends here,
    /// logarithmic in their number.
    rank: u8,
    span: Span,
}

/// A size metavariable.
#[derive(Clone)]
struct SizeMeta {
    solution: Option<Poly>,
    span: Span,
    origin: SizeOrigin,
}

/// The origin of a size metavariable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SizeOrigin {
    /// The extent of a bare index variable.
    Index(Name),
    /// A size parameter of a callee: its name, and the callee's.
    Param(Name, Name),
    /// The extent of an array whose type is still unknown.
    Other,
}

/// All metavariables of one item.
#[derive(Clone, Default)]
pub struct MetaTable {
    types: Vec<TypeMeta>,
    sizes: Vec<SizeMeta>,
    /// The constraints whose metavariables have changed since the last call of
    /// [`Self::take_woken`].
    woken_constraints: Vec<u32>,
    /// Whether a type was too large and therefore skipped.
    has_skipped_large: Cell<bool>,
    /// Whether the item already has a diagnostic about a type that is too large.
    pub(super) has_reported_large: bool,
}

/// The reason why two types do not unify.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// Different type constructors.
    Shape,
    /// Two different scalar types.
    Scalars(Type, Type),
    /// Two different sizes: found, wanted.
    Size(Poly, Poly),
    /// A type outside the required class.
    Class(Type, TypeClass),
    /// A type that would contain itself (the occurs check failed).
    Infinite,
    /// A type that would depend on a function's argument outside that function's type.
    Dependent,
}

/// Pairs of sizes that must be equal but are not yet proved so: found, wanted.
pub type SizeGoals = Vec<(Poly, Poly)>;

/// The state of one unification.
struct UnifyState<'a> {
    /// Returns the class of a type parameter.
    param_classes: &'a dyn Fn(u32) -> TypeClass,
    goals: &'a mut SizeGoals,
    /// The number of pairs of parts visited so far. The next field is the current depth.
    parts: usize,
    depth: usize,
}

impl MetaTable {
    /// Creates a type metavariable.
    pub fn fresh_type(&mut self, class: TypeClass, span: Span) -> Type {
        self.fresh_literal(class, None, span)
    }

    /// Creates the type metavariable of a literal.
    pub fn fresh_literal(&mut self, class: TypeClass, default: Option<Scalar>, span: Span) -> Type {
        let id = u32::try_from(self.types.len()).unwrap_or(u32::MAX);
        self.types.push(TypeMeta { class, default, solution: None, waiting: Vec::new(), rank: 0, span });
        Type::Meta(id)
    }

    /// Creates a size metavariable.
    pub fn fresh_size(&mut self, why: SizeOrigin, span: Span) -> Poly {
        let id = u32::try_from(self.sizes.len()).unwrap_or(u32::MAX);
        self.sizes.push(SizeMeta { solution: None, span, origin: why });
        Poly::atom(Atom::Meta(id))
    }

    /// Resolves the outermost constructor of the type, as far as it is known.
    pub fn shallow_resolve(&self, t: &Type) -> Type {
        let mut t = t;
        while let Type::Meta(id) = t {
            match self.types.get(*id as usize).and_then(|m| m.solution.as_ref()) {
                Some(s) => t = s,
                None => break,
            }
        }
        t.clone()
    }

    /// Returns the solution of a type metavariable.
    pub(super) fn solution(&self, id: u32) -> Option<&Type> {
        self.types.get(id as usize)?.solution.as_ref()
    }

    /// Substitutes all solutions in the type. If the result is too large, returns [`Type::Error`],
    /// and [`Self::take_skipped_large`] reports it.
    pub fn zonk(&self, t: &Type) -> Type {
        if !self.is_within_limits(t) {
            self.has_skipped_large.set(true);
            return Type::Error;
        }
        let (mut unknown, mut open) = (false, false);
        t.visit(&mut |t| unknown |= matches!(t, Type::Meta(_)), &mut |p| open |= has_meta(p));
        // A type without metavariables is returned as it is, so that its parts stay shared.
        if unknown || open { self.substitute_solutions(t) } else { t.clone() }
    }

    fn substitute_solutions(&self, t: &Type) -> Type {
        t.map(
            &|t, _| match t {
                Type::Meta(id) => Some(self.substitute_solutions(self.solution(*id)?)),
                _ => None,
            },
            &|p, _| self.zonk_size(p),
        )
    }

    /// Returns whether a type was skipped as too large since the last call. The caller must report
    /// it.
    pub fn take_skipped_large(&self) -> bool {
        self.has_skipped_large.take()
    }

    /// The maximal number of parts of a type. It drops once a type was too large, because then
    /// little is known and further work is not worth its time.
    pub(super) fn part_limit(&self) -> usize {
        if self.has_reported_large { MAX_TYPE_PARTS / 100 } else { MAX_TYPE_PARTS }
    }

    /// Returns the type as messages print it: undecided literals have their defaults.
    pub fn with_defaults(&self, t: &Type) -> Type {
        self.zonk(t).map(
            &|t, _| match t {
                Type::Meta(id) => self.default_scalar(*id).map(Type::Scalar),
                _ => None,
            },
            &|p, _| p.clone(),
        )
    }

    /// Returns the default of an unsolved literal. An integer literal that must be real, for
    /// example because it is divided, defaults to `f64`.
    fn default_scalar(&self, id: u32) -> Option<Scalar> {
        let m = self.types.get(id as usize)?;
        Some(if m.class == TypeClass::Real && m.default? == Scalar::I64 { Scalar::F64 } else { m.default? })
    }

    /// Returns whether nothing is known of the type, not even that it is numeric.
    pub fn is_unknown(&self, t: &Type) -> bool {
        matches!(t, Type::Meta(id) if self.class(*id) == TypeClass::Any)
    }

    /// Substitutes all solutions in the size.
    pub fn zonk_size(&self, p: &Poly) -> Poly {
        if !has_meta(p) {
            return p.clone();
        }
        p.substitute(&|a| match a {
            Atom::Meta(id) => self.sizes.get(*id as usize).and_then(|m| m.solution.as_ref()).map(|s| self.zonk_size(s)),
            _ => None,
        })
    }

    /// Returns the class of a type metavariable.
    pub fn class(&self, id: u32) -> TypeClass {
        self.types.get(id as usize).map_or(TypeClass::Any, |m| m.class)
    }

    /// Returns whether the metavariable defaults to an integer.
    pub fn defaults_to_integer(&self, id: u32) -> bool {
        self.types.get(id as usize).is_some_and(|m| m.default == Some(Scalar::I64) && m.class != TypeClass::Real)
    }

    /// Returns whether the type is the metavariable of a literal with a decimal point.
    pub fn is_real_literal(&self, t: &Type) -> bool {
        matches!(t, Type::Meta(id) if self.types.get(*id as usize).is_some_and(|m| m.default == Some(Scalar::F64)))
    }

    /// Returns the span from which a type metavariable originates.
    pub fn type_span(&self, id: u32) -> Span {
        self.types.get(id as usize).map_or_else(Span::default, |m| m.span)
    }

    /// Returns the span and the origin of a size metavariable.
    pub fn size_origin(&self, id: u32) -> (Span, SizeOrigin) {
        self.sizes.get(id as usize).map_or((Span::default(), SizeOrigin::Other), |m| (m.span, m.origin.clone()))
    }

    /// Registers the constraint `who` to be woken when the metavariable changes.
    pub fn register_waiting(&mut self, id: u32, who: u32) {
        if let Some(m) = self.types.get_mut(id as usize) {
            m.waiting.push(who);
        }
    }

    /// Returns, sorted, the constraints whose metavariables have changed since the last call.
    pub fn take_woken(&mut self) -> Vec<u32> {
        let mut woken = std::mem::take(&mut self.woken_constraints);
        woken.sort_unstable();
        woken.dedup();
        woken
    }

    /// Solves every unsolved literal by its default.
    pub fn apply_defaults(&mut self) {
        self.apply_defaults_where(&|_| true);
    }

    /// Solves the literals that occur in this type by their defaults.
    pub fn apply_defaults_in(&mut self, t: &Type) {
        let mut there = Vec::new();
        self.zonk(t).visit(
            &mut |t| {
                if let Type::Meta(id) = t {
                    there.push(*id);
                }
            },
            &mut |_| {},
        );
        self.apply_defaults_where(&|id| there.contains(&id));
    }

    fn apply_defaults_where(&mut self, wanted: &dyn Fn(u32) -> bool) {
        for id in (0..).take(self.types.len()) {
            let default = self.default_scalar(id);
            if let Some(m) = self.types.get_mut(id as usize)
                && m.solution.is_none()
                && wanted(id)
                && let Some(s) = default
            {
                m.solution = Some(Type::Scalar(s));
                self.woken_constraints.append(&mut m.waiting);
            }
        }
    }

    /// Solves every unsolved metavariable of a numeric class by `f64`.
    pub fn apply_real_defaults(&mut self) {
        for m in &mut self.types {
            if m.solution.is_none() && m.class != TypeClass::Any {
                m.solution = Some(Type::F64);
                self.woken_constraints.append(&mut m.waiting);
            }
        }
    }

    /// Requires that a type belongs to a class. `params` returns the classes of type parameters.
    pub fn require_class(
        &mut self,
        t: &Type,
        class: TypeClass,
        params: &dyn Fn(u32) -> TypeClass,
    ) -> Result<(), Mismatch> {
        let t = self.shallow_resolve(t);
        let fits = match &t {
            Type::Error => true,
            Type::Meta(id) => {
                if let Some(m) = self.types.get_mut(*id as usize)
                    && class > m.class
                {
                    m.class = class;
                    self.woken_constraints.append(&mut m.waiting);
                }
                true
            }
            Type::Scalar(Scalar::F64 | Scalar::F32) => true,
            Type::Scalar(Scalar::I64) => class != TypeClass::Real,
            Type::Param(k, _) => params(*k) >= class,
            _ => class == TypeClass::Any,
        };
        if fits || class == TypeClass::Any { Ok(()) } else { Err(Mismatch::Class(t, class)) }
    }

    /// Unifies two types. Types that exceed the limits are skipped; see
    /// [`Self::take_skipped_large`].
    pub fn unify(
        &mut self,
        found: &Type,
        wanted: &Type,
        params: &dyn Fn(u32) -> TypeClass,
        goals: &mut SizeGoals,
    ) -> Result<(), Mismatch> {
        if !(self.is_within_limits(found) && self.is_within_limits(wanted)) {
            self.has_skipped_large.set(true);
            return Ok(());
        }
        self.unify_parts(found, wanted, &mut UnifyState { param_classes: params, goals, parts: 0, depth: 0 })
    }

    fn unify_parts(&mut self, found: &Type, wanted: &Type, u: &mut UnifyState<'_>) -> Result<(), Mismatch> {
        // Solutions that unification finds on the way may enlarge a type.
        u.parts += 1;
        if u.parts > MAX_TYPE_PARTS || u.depth > MAX_TYPE_NESTING {
            self.has_skipped_large.set(true);
            return Ok(());
        }
        u.depth += 1;
        let outcome = self.unify_kinds(found, wanted, u);
        u.depth -= 1;
        outcome
    }

    fn unify_kinds(&mut self, found: &Type, wanted: &Type, u: &mut UnifyState<'_>) -> Result<(), Mismatch> {
        let (f, w) = (self.shallow_resolve(found), self.shallow_resolve(wanted));
        match (&f, &w) {
            (Type::Error, _) | (_, Type::Error) => Ok(()),
            (Type::Meta(a), Type::Meta(b)) if a == b => Ok(()),
            (Type::Meta(a), Type::Meta(b)) => {
                let (from, to) = self.union_by_rank(*a, *b);
                self.require_class(&Type::Meta(to), self.class(from), u.param_classes)?;
                self.solve(from, Type::Meta(to));
                Ok(())
            }
            (Type::Meta(_), t) | (t, Type::Meta(_)) if !self.is_within_limits(t) => {
                self.has_skipped_large.set(true);
                Ok(())
            }
            (Type::Meta(id), t) | (t, Type::Meta(id)) => {
                if self.occurs(*id, t) {
                    return Err(Mismatch::Infinite);
                }
                if !self.zonk(t).free_arguments().is_empty() {
                    return Err(Mismatch::Dependent);
                }
                self.require_class(t, self.class(*id), u.param_classes)?;
                self.solve(*id, t.clone());
                Ok(())
            }
            (Type::Scalar(a), Type::Scalar(b)) if a != b => Err(Mismatch::Scalars(f.clone(), w.clone())),
            (Type::Array(n, a), Type::Array(m, b)) => {
                // A mismatch of ranks or elements is more informative than one of sizes.
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
                    (GenericArg::Type(x), GenericArg::Type(y)) => self.unify_parts(x, y, u),
                    (GenericArg::Size(x), GenericArg::Size(y)) => self.unify_size(x, y, u.goals),
                    _ => Err(Mismatch::Shape),
                })
            }
            (Type::Param(a, _), Type::Param(b, _)) if a == b => Ok(()),
            _ if f == w => Ok(()),
            _ => Err(Mismatch::Shape),
        }
    }

    /// Chooses, by rank, which of two metavariables is solved by the other. The other receives the
    /// default of both.
    fn union_by_rank(&mut self, a: u32, b: u32) -> (u32, u32) {
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
            // The span of a literal is more informative than that of its use.
            m.span = if default_a.is_none() { span_b } else { span_a };
        }
        (from, to)
    }

    fn solve(&mut self, id: u32, t: Type) {
        if let Some(m) = self.types.get_mut(id as usize) {
            m.solution = Some(t);
            self.woken_constraints.append(&mut m.waiting);
        }
    }

    fn occurs(&self, id: u32, t: &Type) -> bool {
        let mut found = false;
        self.zonk(t).visit(&mut |t| found |= *t == Type::Meta(id), &mut |_| {});
        found
    }

    /// Unifies two sizes, or adds a goal.
    pub fn unify_size(&mut self, found: &Poly, wanted: &Poly, goals: &mut SizeGoals) -> Result<(), Mismatch> {
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
        // A metavariable that is a whole side may be solved by an expression with other
        // metavariables.
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
            // A function type's own parameters are out of scope outside it.
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

/// Returns whether the size contains a metavariable.
pub fn has_meta(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Meta(_)));
    found
}
