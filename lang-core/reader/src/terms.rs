//! **Name resolution** for the texts of forms: names, index expressions, predicates, types and
//! callees.

use std::collections::HashMap;
use std::sync::Arc;

use super::parser::Read;
use super::tree::{CalleeTree, GlobalTree, Node, Tree, TypeNode, TypeTree, Word};
use super::{Wrong, module_of};
use lang_base::guarded;
use lang_base::{GlobalName, ModuleName, Name};
use lang_ir::canonical::statements;
use lang_ir::core::{Callee, CoreType, Labels, SumType};
use lang_ir::ssa::{Var, index};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};
use lang_types::ty::{Type, TypeArg};

/// The local of the outermost existential under construction. Nested ones count down from it.
const OPEN: u32 = (1 << 23) - 1;

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// A plain index expression: an index variable, a size or an integer parameter. The variable
    /// names it when it is read as data.
    Index(Poly, LocalId),
    /// A variable with its type.
    Data(LocalId, CoreType),
    /// A top-level `let`.
    Global(GlobalName, CoreType),
}

/// The scopes of a text.
pub(super) struct Terms {
    pub(super) module: ModuleName,
    names: HashMap<Name, Vec<Found>>,
    /// In Tensor SSA: the types of the statements that may be read.
    pub(super) statements: Vec<CoreType>,
    /// In Tensor SSA: the number of indices in scope.
    pub(super) free: usize,
    /// In Tensor SSA: whether indices belong to a loop, not to a statement.
    pub(super) of_loop: bool,
    /// In Tensor SSA: the number of enclosing loops.
    pub(super) depth: u32,
    existentials: u32,
}

impl Terms {
    pub(super) fn new(module: &ModuleName) -> Self {
        Self {
            module: module.clone(),
            names: HashMap::new(),
            statements: Vec::new(),
            free: 0,
            of_loop: false,
            depth: 0,
            existentials: 0,
        }
    }

    /// Returns the scope of a loop body, which sees only top-level `let`s.
    pub(super) fn inside(&self) -> Self {
        let global = |found: &&Vec<Found>| matches!(found.last(), Some(Found::Global(..)));
        let names = self.names.iter().filter(|(_, found)| global(found)).map(|(n, f)| (n.clone(), f.clone())).collect();
        Self { names, depth: self.depth + 1, ..Self::new(&self.module) }
    }

    pub(super) fn enter(&mut self, name: &Name, found: Found) {
        self.names.entry(name.clone()).or_default().push(found);
    }

    pub(super) fn leave(&mut self, name: &Name) {
        if let Some(found) = self.names.get_mut(name) {
            found.pop();
        }
    }

    pub(super) fn knows(&self, name: &Name) -> bool {
        self.names.get(name).is_some_and(|found| !found.is_empty())
    }

    pub(super) fn find(&self, name: &Name, at: usize) -> Read<Found> {
        if let Some(found) = self.names.get(name).and_then(|found| found.last()) {
            return Ok(found.clone());
        }
        let numbered = |first: &str| name.strip_prefix(first).and_then(|k| k.parse::<u32>().ok());
        if let Some(k) = numbered(&statements(self.depth))
            && let Some(ty) = self.statements.get(k as usize)
        {
            return Ok(Found::Data(Var(k).local(), ty.clone()));
        }
        let index_letter = if self.of_loop { "j" } else { "i" };
        if let Some(k) = numbered(index_letter).and_then(|k| usize::try_from(k).ok()).filter(|k| *k < self.free) {
            let own = index(k, &Poly::default());
            return Ok(Found::Index(own.value(), own.local));
        }
        Err(Wrong::new(at, format!("`{name}` is not known here")))
    }

    // ---- index expressions ----

    pub(super) fn polys(&self, trees: &[Tree]) -> Read<Vec<Poly>> {
        trees.iter().map(|t| self.poly(t)).collect()
    }

    pub(super) fn poly(&self, tree: &Tree) -> Read<Poly> {
        guarded(|| self.poly_here(tree))
    }

    fn poly_here(&self, tree: &Tree) -> Read<Poly> {
        let two = |a: &Tree, b: &Tree| Ok((self.poly(a)?, self.poly(b)?));
        Ok(match &tree.node {
            Node::Name(name) if name == "_" => Poly::atom(Atom::Overflow),
            Node::Name(name) => match self.find(name, tree.at)? {
                Found::Index(p, _) => p,
                Found::Data(x, CoreType::Scalar(Scalar::I64)) => Poly::atom(Atom::Read(x, own(x, name), Arc::from([]))),
                Found::Global(global, CoreType::Scalar(Scalar::I64)) => Poly::atom(Atom::Global(global)),
                Found::Data(_, ty) | Found::Global(_, ty) => {
                    return Err(Wrong::new(tree.at, format!("`{name}` is `{ty}`, not an integer")));
                }
            },
            Node::At(of, at) => {
                let (x, name) = self.element(of, at.len(), Scalar::I64)?;
                Poly::atom(Atom::Read(x, name, self.polys(at)?.into()))
            }
            Node::Int(i) => Poly::constant(*i),
            Node::Group(inner) => self.poly(inner)?,
            Node::Neg(inner) => self.poly(inner)?.neg(),
            Node::Sum(items) => {
                let mut sum = Poly::default();
                for (neg, item) in items {
                    let item = self.poly(item)?;
                    sum = if *neg { sum.sub(&item) } else { sum.add(&item) };
                }
                sum
            }
            Node::Product(first, rest) => {
                let mut product = self.poly(first)?;
                for (op, by) in rest {
                    let divisor = self.poly(by)?;
                    product = match op {
                        BinOp::Mul => Some(product.mul(&divisor)),
                        BinOp::FloorDiv => product.div(&divisor),
                        BinOp::Mod => product.rem(&divisor),
                        _ => return Err(Wrong::new(by.at, "`/` is of reals; integers have `//`")),
                    }
                    .ok_or_else(|| Wrong::new(by.at, "a division by 0"))?;
                }
                product
            }
            Node::Pow(base, exponent) => {
                let power = match &exponent.node {
                    Node::Int(k) => u32::try_from(*k).ok(),
                    _ => None,
                };
                let power = power.ok_or_else(|| Wrong::new(exponent.at, "a power of an index is a number"))?;
                self.poly(base)?.pow(power)
            }
            Node::Apply(f, args) => match (f.as_str(), args.as_slice()) {
                ("min", [a, b]) => two(a, b).map(|(a, b)| a.least(&b))?,
                ("max", [a, b]) => two(a, b).map(|(a, b)| a.greatest(&b))?,
                _ => return Err(Wrong::new(tree.at, format!("`{f}` is no index expression"))),
            },
            _ => return Err(Wrong::new(tree.at, "an index expression is wanted here")),
        })
    }

    /// Resolves an array that is read at `count` indices and must hold this scalar.
    fn element(&self, of: &Tree, count: usize, scalar: Scalar) -> Read<(LocalId, Name)> {
        let Node::Name(name) = &of.node else {
            return Err(Wrong::new(of.at, "only a variable is read here"));
        };
        match self.find(name, of.at)? {
            Found::Index(_, x) if count == 0 && scalar == Scalar::I64 => Ok((x, format!("{name}").into())),
            Found::Data(x, ty) if ty.peel().0.len() == count && ty.peel().1.scalar() == Some(scalar) => {
                Ok((x, own(x, name)))
            }
            _ => {
                let what = format!("`{name}` has no `{}` at {count} indices", scalar.name());
                Err(Wrong::new(of.at, what))
            }
        }
    }

    /// Whether the tree reads as an index expression.
    pub(super) fn is_index(&self, tree: &Tree) -> bool {
        guarded(|| match &tree.node {
            Node::Name(name) => match self.find(name, tree.at) {
                Ok(Found::Index(..)) => true,
                Ok(Found::Data(_, ty) | Found::Global(_, ty)) => ty == CoreType::Scalar(Scalar::I64),
                Err(_) => false,
            },
            Node::At(of, at) => self.element(of, at.len(), Scalar::I64).is_ok(),
            Node::Int(_) => true,
            Node::Group(inner) | Node::Neg(inner) => self.is_index(inner),
            Node::Sum(items) => items.iter().all(|(_, t)| self.is_index(t)),
            Node::Product(first, rest) => {
                self.is_index(first) && rest.iter().all(|(op, t)| *op != BinOp::Div && self.is_index(t))
            }
            Node::Pow(base, exponent) => matches!(exponent.node, Node::Int(_)) && self.is_index(base),
            Node::Apply(f, args) => {
                matches!(f.as_str(), "min" | "max") && args.len() == 2 && args.iter().all(|t| self.is_index(t))
            }
            _ => false,
        })
    }

    // ---- predicates ----

    pub(super) fn pred(&mut self, tree: &Tree) -> Read<Pred> {
        guarded(|| self.pred_here(tree))
    }

    fn pred_here(&mut self, tree: &Tree) -> Read<Pred> {
        Ok(match &tree.node {
            Node::Bool(true) => Pred::truth(),
            Node::Bool(false) => Pred::falsity(),
            Node::Logic(op, items) => {
                let items = items.iter().map(|t| self.pred(t)).collect::<Read<Vec<_>>>()?;
                if *op == BinOp::And { Pred::all(items) } else { Pred::any_of(items) }
            }
            Node::Compare(op, a, b) => {
                let (a, b) = (self.poly(a)?, self.poly(b)?);
                match op {
                    BinOp::Eq => Pred::equal(&a, &b),
                    BinOp::Ne => Pred::nonzero(&a.sub(&b)),
                    BinOp::Lt => Pred::less(&a, &b),
                    BinOp::Le => Pred::at_most(&a, &b),
                    BinOp::Gt => Pred::less(&b, &a),
                    _ => Pred::at_most(&b, &a),
                }
            }
            Node::Not(inner) => self.pred(inner)?.negated(),
            Node::Group(inner) => self.pred(inner)?,
            Node::Name(_) => {
                let (x, name) = self.element(tree, 0, Scalar::Bool)?;
                Pred::Is(x, name, Arc::from([]), true)
            }
            Node::At(of, at) => {
                let (x, name) = self.element(of, at.len(), Scalar::Bool)?;
                Pred::Is(x, name, self.polys(at)?.into(), true)
            }
            Node::Apply(name, at) => match self.find(name, tree.at)? {
                Found::Data(x, CoreType::Rel(dims)) if dims.len() == at.len() => {
                    Pred::Member(x, own(x, name), self.polys(at)?.into(), true)
                }
                _ => return Err(Wrong::new(tree.at, format!("`{name}` is no relation of {} indices", at.len()))),
            },
            Node::Binder(Word::Any, name, extent, body) => {
                let extent = self.poly(extent)?;
                let local = LocalId(OPEN - self.existentials);
                let own = Index { local, name: name.clone(), extent };
                self.existentials += 1;
                self.enter(name, Found::Index(own.value(), local));
                let body = self.pred(body);
                self.leave(name);
                self.existentials -= 1;
                Pred::some(&own, &body?)
            }
            _ => return Err(Wrong::new(tree.at, "a predicate is wanted here")),
        })
    }

    // ---- types, callees ----

    pub(super) fn ty(&self, tree: &TypeTree) -> Read<CoreType> {
        guarded(|| {
            Ok(match &tree.node {
                TypeNode::Scalar(s) => CoreType::Scalar(*s),
                TypeNode::Array(dims, inner) => self.ty(inner)?.array(self.polys(dims)?.into_iter()),
                TypeNode::Tuple(items) => CoreType::tuple(items.iter().map(|t| self.ty(t)).collect::<Read<Vec<_>>>()?),
                TypeNode::Record(fields) => {
                    let types = fields.iter().map(|(_, t)| self.ty(t)).collect::<Read<Vec<_>>>()?;
                    let names = fields.iter().map(|(name, _)| name.clone()).collect();
                    CoreType::Tuple(types.into(), Labels::Fields(names))
                }
                TypeNode::Rel(dims) => CoreType::Rel(self.polys(dims)?.into()),
                TypeNode::Sum(name, constructors) => {
                    let mut parts = vec![CoreType::Scalar(Scalar::I64)];
                    for (_, args) in constructors {
                        parts.push(CoreType::tuple(args.iter().map(|t| self.ty(t)).collect::<Read<Vec<_>>>()?));
                    }
                    let constructors = constructors.iter().map(|(name, _)| name.clone()).collect();
                    CoreType::Tuple(
                        parts.into(),
                        Labels::Sum(Arc::new(SumType { name: self.global(name), constructors })),
                    )
                }
                TypeNode::Data(name, _) => {
                    return Err(Wrong::new(tree.at, format!("`{}` is no type of this form", name.name)));
                }
            })
        })
    }

    /// Resolves a type argument. Its extents are `s0`, `s1`, …
    fn argument(&self, tree: &TypeTree) -> Read<Type> {
        let extents = |dims: &[Tree]| dims.iter().map(extent).collect::<Read<Vec<Poly>>>();
        guarded(|| {
            Ok(match &tree.node {
                TypeNode::Scalar(s) => Type::Scalar(*s),
                TypeNode::Array(dims, inner) => Type::array(extents(dims)?.into_iter(), self.argument(inner)?),
                TypeNode::Tuple(items) => {
                    Type::Tuple(items.iter().map(|t| self.argument(t)).collect::<Read<Vec<_>>>()?.into())
                }
                TypeNode::Record(fields) => {
                    let fields = fields.iter().map(|(name, t)| Ok((name.clone(), self.argument(t)?)));
                    Type::Record(fields.collect::<Read<Vec<_>>>()?.into())
                }
                TypeNode::Rel(dims) => Type::Rel(extents(dims)?.into()),
                TypeNode::Data(name, args) => {
                    let args = args.iter().map(|t| match &t.node {
                        TypeNode::Data(GlobalTree { module: None, name }, args) if args.is_empty() => {
                            Ok(size(name)
                                .map_or_else(|| self.argument(t).map(TypeArg::Type), |p| Ok(TypeArg::Size(p)))?)
                        }
                        _ => self.argument(t).map(TypeArg::Type),
                    });
                    Type::Data(self.global(name), args.collect::<Read<Vec<_>>>()?.into())
                }
                TypeNode::Sum(name, _) => {
                    return Err(Wrong::new(tree.at, format!("`{}` stands without its constructors here", name.name)));
                }
            })
        })
    }

    pub(super) fn global(&self, tree: &GlobalTree) -> GlobalName {
        GlobalName { module: module_of(tree.module.as_ref(), &self.module), name: tree.name.clone() }
    }

    /// Resolves a callee without its sizes, because these are declarations in a head.
    pub(super) fn callee(&self, tree: &CalleeTree) -> Read<Callee> {
        Ok(Callee {
            def: self.global(&tree.def),
            types: tree.types.iter().map(|t| self.argument(t)).collect::<Read<Vec<_>>>()?.into(),
            rules: tree.rules.as_slice().into(),
            local: tree.local,
            derived: tree.derived.as_slice().into(),
            applied: None,
        })
    }

    /// Returns the names of the sizes in a head.
    pub(super) fn sizes(tree: &CalleeTree) -> Read<Vec<(Name, usize)>> {
        let name = |t: &Tree| match &t.node {
            Node::Name(name) => Ok((name.clone(), t.at)),
            _ => Err(Wrong::new(t.at, "the name of a size is wanted here")),
        };
        tree.sizes.iter().map(name).collect()
    }
}

/// Returns the name of a variable in the form. The name of a statement there does not depend on its
/// loop depth.
fn own(x: LocalId, name: &Name) -> Name {
    Var::of_local(x).map_or_else(|| name.clone(), Var::name)
}

/// Resolves an extent `s0` in a type argument.
fn extent(tree: &Tree) -> Read<Poly> {
    let found = if let Node::Name(name) = &tree.node { size(name) } else { None };
    found.ok_or_else(|| Wrong::new(tree.at, "an extent in a type argument is `s0`, `s1`, …"))
}

fn size(name: &Name) -> Option<Poly> {
    let k: u32 = name.strip_prefix('s')?.parse().ok()?;
    Some(Poly::atom(Atom::Bound(Callee::FIRST_EXTRA.checked_add(k)?, name.clone())))
}
