//! **Name resolution** for the texts of forms: names, index expressions, predicates, types and
//! callees.

use std::collections::HashMap;
use std::sync::Arc;

use super::parser::ParseResult;
use super::tree::{BinderWord, CalleeTree, FormNode, FormTree, GlobalTree, TypeNode, TypeTree};
use super::{FormSyntaxError, module_or_own};
use lang_base::ensure_sufficient_stack;
use lang_base::{GlobalName, ModuleName, Name};
use lang_ir::canonical::statement_prefix;
use lang_ir::core::{CoreType, FunctionKey, SumType, TupleLabels};
use lang_ir::ssa::{StmtId, statement_index};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};
use lang_types::ty::{GenericArg, Type};

/// The local of the outermost existential under construction. Nested ones count down from it.
const FIRST_EXISTENTIAL: u32 = (1 << 23) - 1;

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(super) enum NameMeaning {
    /// A plain index expression: an index variable, a size or an integer parameter. The variable
    /// names it when it is read as data.
    Index(Poly, LocalId),
    /// A variable with its type.
    Data(LocalId, CoreType),
    /// A top-level `let`.
    Global(GlobalName, CoreType),
}

/// The scopes of a text.
pub(super) struct NameScope {
    pub(super) module: ModuleName,
    names: HashMap<Name, Vec<NameMeaning>>,
    /// In Tensor SSA: the types of the statements that may be read.
    pub(super) statements: Vec<CoreType>,
    /// In Tensor SSA: the number of indices in scope.
    pub(super) free: usize,
    /// In Tensor SSA: whether indices belong to a loop, not to a statement.
    pub(super) indices_of_loop: bool,
    /// In Tensor SSA: the number of enclosing loops.
    pub(super) depth: u32,
    existentials: u32,
}

impl NameScope {
    pub(super) fn new(module: &ModuleName) -> Self {
        Self {
            module: module.clone(),
            names: HashMap::new(),
            statements: Vec::new(),
            free: 0,
            indices_of_loop: false,
            depth: 0,
            existentials: 0,
        }
    }

    /// Returns the scope of a loop body, which sees only top-level `let`s.
    pub(super) fn for_region(&self) -> Self {
        let global = |found: &&Vec<NameMeaning>| matches!(found.last(), Some(NameMeaning::Global(..)));
        let names = self.names.iter().filter(|(_, found)| global(found)).map(|(n, f)| (n.clone(), f.clone())).collect();
        Self { names, depth: self.depth + 1, ..Self::new(&self.module) }
    }

    pub(super) fn bind(&mut self, name: &Name, found: NameMeaning) {
        self.names.entry(name.clone()).or_default().push(found);
    }

    pub(super) fn unbind(&mut self, name: &Name) {
        if let Some(found) = self.names.get_mut(name) {
            found.pop();
        }
    }

    pub(super) fn is_bound(&self, name: &Name) -> bool {
        self.names.get(name).is_some_and(|found| !found.is_empty())
    }

    pub(super) fn resolve(&self, name: &Name, at: usize) -> ParseResult<NameMeaning> {
        if let Some(found) = self.names.get(name).and_then(|found| found.last()) {
            return Ok(found.clone());
        }
        let numbered = |first: &str| name.strip_prefix(first).and_then(|k| k.parse::<u32>().ok());
        if let Some(k) = numbered(&statement_prefix(self.depth))
            && let Some(ty) = self.statements.get(k as usize)
        {
            return Ok(NameMeaning::Data(StmtId(k).local(), ty.clone()));
        }
        let index_letter = if self.indices_of_loop { "j" } else { "i" };
        if let Some(k) = numbered(index_letter).and_then(|k| usize::try_from(k).ok()).filter(|k| *k < self.free) {
            let own = statement_index(k, &Poly::default());
            return Ok(NameMeaning::Index(own.value(), own.local));
        }
        Err(FormSyntaxError::new(at, format!("unknown name `{name}`")))
    }

    // ---- index expressions ----

    pub(super) fn polys(&self, trees: &[FormTree]) -> ParseResult<Vec<Poly>> {
        trees.iter().map(|t| self.poly(t)).collect()
    }

    pub(super) fn poly(&self, tree: &FormTree) -> ParseResult<Poly> {
        ensure_sufficient_stack(|| self.resolve_poly(tree))
    }

    fn resolve_poly(&self, tree: &FormTree) -> ParseResult<Poly> {
        let two = |a: &FormTree, b: &FormTree| Ok((self.poly(a)?, self.poly(b)?));
        Ok(match &tree.node {
            FormNode::Name(name) if name == "_" => Poly::atom(Atom::Overflow),
            FormNode::Name(name) => match self.resolve(name, tree.at)? {
                NameMeaning::Index(p, _) => p,
                NameMeaning::Data(x, CoreType::Scalar(Scalar::I64)) => {
                    Poly::atom(Atom::Read(x, form_name(x, name), Arc::from([])))
                }
                NameMeaning::Global(global, CoreType::Scalar(Scalar::I64)) => Poly::atom(Atom::Global(global)),
                NameMeaning::Data(_, ty) | NameMeaning::Global(_, ty) => {
                    return Err(FormSyntaxError::new(
                        tree.at,
                        format!("`{name}` has type `{ty}`, expected an integer"),
                    ));
                }
            },
            FormNode::At(of, at) => {
                let (x, name) = self.resolve_element(of, at.len(), Scalar::I64)?;
                Poly::atom(Atom::Read(x, name, self.polys(at)?.into()))
            }
            FormNode::Int(i) => Poly::constant(*i),
            FormNode::Group(inner) => self.poly(inner)?,
            FormNode::Neg(inner) => self.poly(inner)?.neg(),
            FormNode::Sum(items) => {
                let mut sum = Poly::default();
                for (neg, item) in items {
                    let item = self.poly(item)?;
                    sum = if *neg { sum.sub(&item) } else { sum.add(&item) };
                }
                sum
            }
            FormNode::Product(first, rest) => {
                let mut product = self.poly(first)?;
                for (op, by) in rest {
                    let divisor = self.poly(by)?;
                    product = match op {
                        BinOp::Mul => Some(product.mul(&divisor)),
                        BinOp::FloorDiv => product.div(&divisor),
                        BinOp::Mod => product.rem(&divisor),
                        _ => return Err(FormSyntaxError::new(by.at, "`/` requires reals; use `//` for integers")),
                    }
                    .ok_or_else(|| FormSyntaxError::new(by.at, "division by zero"))?;
                }
                product
            }
            FormNode::Pow(base, exponent) => {
                let power = match &exponent.node {
                    FormNode::Int(k) => u32::try_from(*k).ok(),
                    _ => None,
                };
                let power = power
                    .ok_or_else(|| FormSyntaxError::new(exponent.at, "the exponent of an index must be a number"))?;
                self.poly(base)?.pow(power)
            }
            FormNode::Apply(f, args) => match (f.as_str(), args.as_slice()) {
                ("min", [a, b]) => two(a, b).map(|(a, b)| a.minimum(&b))?,
                ("max", [a, b]) => two(a, b).map(|(a, b)| a.maximum(&b))?,
                _ => return Err(FormSyntaxError::new(tree.at, format!("`{f}` is not an index expression"))),
            },
            _ => return Err(FormSyntaxError::new(tree.at, "expected an index expression")),
        })
    }

    /// Resolves an array that is read at `count` indices and must hold this scalar.
    fn resolve_element(&self, of: &FormTree, count: usize, scalar: Scalar) -> ParseResult<(LocalId, Name)> {
        let FormNode::Name(name) = &of.node else {
            return Err(FormSyntaxError::new(of.at, "expected a variable"));
        };
        match self.resolve(name, of.at)? {
            NameMeaning::Index(_, x) if count == 0 && scalar == Scalar::I64 => Ok((x, format!("{name}").into())),
            NameMeaning::Data(x, ty)
                if ty.split_array().0.len() == count && ty.split_array().1.scalar() == Some(scalar) =>
            {
                Ok((x, form_name(x, name)))
            }
            _ => {
                let what = format!(
                    "`{name}` has no element of type `{}` with {}",
                    scalar.name(),
                    lang_base::count_with_noun(count, "index", "indices")
                );
                Err(FormSyntaxError::new(of.at, what))
            }
        }
    }

    /// Whether the tree reads as an index expression.
    pub(super) fn is_index(&self, tree: &FormTree) -> bool {
        ensure_sufficient_stack(|| match &tree.node {
            FormNode::Name(name) => match self.resolve(name, tree.at) {
                Ok(NameMeaning::Index(..)) => true,
                Ok(NameMeaning::Data(_, ty) | NameMeaning::Global(_, ty)) => ty == CoreType::Scalar(Scalar::I64),
                Err(_) => false,
            },
            FormNode::At(of, at) => self.resolve_element(of, at.len(), Scalar::I64).is_ok(),
            FormNode::Int(_) => true,
            FormNode::Group(inner) | FormNode::Neg(inner) => self.is_index(inner),
            FormNode::Sum(items) => items.iter().all(|(_, t)| self.is_index(t)),
            FormNode::Product(first, rest) => {
                self.is_index(first) && rest.iter().all(|(op, t)| *op != BinOp::Div && self.is_index(t))
            }
            FormNode::Pow(base, exponent) => matches!(exponent.node, FormNode::Int(_)) && self.is_index(base),
            FormNode::Apply(f, args) => {
                matches!(f.as_str(), "min" | "max") && args.len() == 2 && args.iter().all(|t| self.is_index(t))
            }
            _ => false,
        })
    }

    // ---- predicates ----

    pub(super) fn pred(&mut self, tree: &FormTree) -> ParseResult<Pred> {
        ensure_sufficient_stack(|| self.resolve_pred(tree))
    }

    fn resolve_pred(&mut self, tree: &FormTree) -> ParseResult<Pred> {
        Ok(match &tree.node {
            FormNode::Bool(true) => Pred::truth(),
            FormNode::Bool(false) => Pred::falsity(),
            FormNode::Logic(op, items) => {
                let items = items.iter().map(|t| self.pred(t)).collect::<ParseResult<Vec<_>>>()?;
                if *op == BinOp::And { Pred::all(items) } else { Pred::any_of(items) }
            }
            FormNode::Compare(op, a, b) => {
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
            FormNode::Not(inner) => self.pred(inner)?.negated(),
            FormNode::Group(inner) => self.pred(inner)?,
            FormNode::Name(_) => {
                let (x, name) = self.resolve_element(tree, 0, Scalar::Bool)?;
                Pred::Element(x, name, Arc::from([]), true)
            }
            FormNode::At(of, at) => {
                let (x, name) = self.resolve_element(of, at.len(), Scalar::Bool)?;
                Pred::Element(x, name, self.polys(at)?.into(), true)
            }
            FormNode::Apply(name, at) => match self.resolve(name, tree.at)? {
                NameMeaning::Data(x, CoreType::Rel(dims)) if dims.len() == at.len() => {
                    Pred::Member(x, form_name(x, name), self.polys(at)?.into(), true)
                }
                _ => {
                    return Err(FormSyntaxError::new(
                        tree.at,
                        format!(
                            "`{name}` is not a relation with {}",
                            lang_base::count_with_noun(at.len(), "index", "indices")
                        ),
                    ));
                }
            },
            FormNode::Binder(BinderWord::Any, name, extent, body) => {
                let extent = self.poly(extent)?;
                let local = LocalId(FIRST_EXISTENTIAL - self.existentials);
                let own = Index { local, name: name.clone(), extent };
                self.existentials += 1;
                self.bind(name, NameMeaning::Index(own.value(), local));
                let body = self.pred(body);
                self.unbind(name);
                self.existentials -= 1;
                Pred::raw_exists(&own, &body?)
            }
            _ => return Err(FormSyntaxError::new(tree.at, "expected a predicate")),
        })
    }

    // ---- types, callees ----

    pub(super) fn ty(&self, tree: &TypeTree) -> ParseResult<CoreType> {
        ensure_sufficient_stack(|| {
            Ok(match &tree.node {
                TypeNode::Scalar(s) => CoreType::Scalar(*s),
                TypeNode::Array(dims, inner) => self.ty(inner)?.with_extents(self.polys(dims)?.into_iter()),
                TypeNode::Tuple(items) => {
                    CoreType::tuple(items.iter().map(|t| self.ty(t)).collect::<ParseResult<Vec<_>>>()?)
                }
                TypeNode::Record(fields) => {
                    let types = fields.iter().map(|(_, t)| self.ty(t)).collect::<ParseResult<Vec<_>>>()?;
                    let names = fields.iter().map(|(name, _)| name.clone()).collect();
                    CoreType::Tuple(types.into(), TupleLabels::Fields(names))
                }
                TypeNode::Rel(dims) => CoreType::Rel(self.polys(dims)?.into()),
                TypeNode::Sum(name, constructors) => {
                    let mut parts = vec![CoreType::Scalar(Scalar::I64)];
                    for (_, args) in constructors {
                        parts.push(CoreType::tuple(args.iter().map(|t| self.ty(t)).collect::<ParseResult<Vec<_>>>()?));
                    }
                    let constructors = constructors.iter().map(|(name, _)| name.clone()).collect();
                    CoreType::Tuple(
                        parts.into(),
                        TupleLabels::Sum(Arc::new(SumType { name: self.global(name), constructors })),
                    )
                }
                TypeNode::Data(name, _) => {
                    return Err(FormSyntaxError::new(tree.at, format!("`{}` is not a core type", name.name)));
                }
            })
        })
    }

    /// Resolves a type argument. Its extents are `s0`, `s1`, …
    fn type_argument(&self, tree: &TypeTree) -> ParseResult<Type> {
        let extents = |dims: &[FormTree]| dims.iter().map(type_argument_extent).collect::<ParseResult<Vec<Poly>>>();
        ensure_sufficient_stack(|| {
            Ok(match &tree.node {
                TypeNode::Scalar(s) => Type::Scalar(*s),
                TypeNode::Array(dims, inner) => Type::array(extents(dims)?.into_iter(), self.type_argument(inner)?),
                TypeNode::Tuple(items) => {
                    Type::Tuple(items.iter().map(|t| self.type_argument(t)).collect::<ParseResult<Vec<_>>>()?.into())
                }
                TypeNode::Record(fields) => {
                    let fields = fields.iter().map(|(name, t)| Ok((name.clone(), self.type_argument(t)?)));
                    Type::Record(fields.collect::<ParseResult<Vec<_>>>()?.into())
                }
                TypeNode::Rel(dims) => Type::Rel(extents(dims)?.into()),
                TypeNode::Data(name, args) => {
                    let args = args.iter().map(|t| match &t.node {
                        TypeNode::Data(GlobalTree { module: None, name }, args) if args.is_empty() => Ok(type_extent(
                            name,
                        )
                        .map_or_else(|| self.type_argument(t).map(GenericArg::Type), |p| Ok(GenericArg::Size(p)))?),
                        _ => self.type_argument(t).map(GenericArg::Type),
                    });
                    Type::Data(self.global(name), args.collect::<ParseResult<Vec<_>>>()?.into())
                }
                TypeNode::Sum(name, _) => {
                    return Err(FormSyntaxError::new(
                        tree.at,
                        format!("write `{}` without its constructors", name.name),
                    ));
                }
            })
        })
    }

    pub(super) fn global(&self, tree: &GlobalTree) -> GlobalName {
        GlobalName { module: module_or_own(tree.module.as_ref(), &self.module), name: tree.name.clone() }
    }

    /// Resolves a callee without its sizes, because these are declarations in a head.
    pub(super) fn callee(&self, tree: &CalleeTree) -> ParseResult<FunctionKey> {
        Ok(FunctionKey {
            def: self.global(&tree.def),
            types: tree.types.iter().map(|t| self.type_argument(t)).collect::<ParseResult<Vec<_>>>()?.into(),
            rules: tree.rules.as_slice().into(),
            local: tree.local,
            derivatives: tree.derived.as_slice().into(),
            runtime_request: None,
        })
    }

    /// Returns the names of the sizes in a head.
    pub(super) fn sizes(tree: &CalleeTree) -> ParseResult<Vec<(Name, usize)>> {
        let name = |t: &FormTree| match &t.node {
            FormNode::Name(name) => Ok((name.clone(), t.at)),
            _ => Err(FormSyntaxError::new(t.at, "expected the name of a size")),
        };
        tree.sizes.iter().map(name).collect()
    }
}

/// Returns the name of a variable in the form. The name of a statement there does not depend on its
/// loop depth.
fn form_name(x: LocalId, name: &Name) -> Name {
    StmtId::from_local(x).map_or_else(|| name.clone(), StmtId::name)
}

/// Resolves an extent `s0` in a type argument.
fn type_argument_extent(tree: &FormTree) -> ParseResult<Poly> {
    let found = if let FormNode::Name(name) = &tree.node { type_extent(name) } else { None };
    found.ok_or_else(|| FormSyntaxError::new(tree.at, "an extent in a type argument must be `s0`, `s1`, …"))
}

fn type_extent(name: &Name) -> Option<Poly> {
    let k: u32 = name.strip_prefix('s')?.parse().ok()?;
    Some(Poly::atom(Atom::SizeParam(FunctionKey::FIRST_TYPE_EXTENT.checked_add(k)?, name.clone())))
}
