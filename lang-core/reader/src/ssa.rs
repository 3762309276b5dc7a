//! **Reader of Tensor SSA.** It parses all lines first, because checks are printed before the
//! statements that they read. Then it resolves the names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Wrong;
use super::core::{Opened, open, operation};
use super::lines::{AccessTree, InputTree, Lines, RhsTree, SourceTree, StmtLine};
use super::loops::{Known, PartTree};
use super::parser::{Parser, Read};
use super::terms::{Found, Terms};
use super::tree::{HeadTree, Tree};
use lang_base::{ModuleName, Name};
use lang_ir::canonical::statements;
use lang_ir::core::{Callee, CoreType, Failing, Leaf, Operation, Vars};
use lang_ir::flat::{Input, Source};
use lang_ir::order::Order;
use lang_ir::reduce::Reduce;
use lang_ir::ssa::{Access, Addend, Check, Rhs, Ssa, Stmt, Var, index};
use lang_ir::ssa_text::{output_paths, seed_path};
use lang_sizes::predicate::{LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

pub(super) fn function(parser: &mut Parser<'_>, module: &ModuleName) -> Read<Ssa> {
    let head = parser.head("ssa")?;
    let mut lines = parser.block(0)?;
    parser.skip();
    lines.outputs.push(parser.output()?);
    while parser.takes(",") {
        lines.outputs.push(parser.output()?);
    }
    lines.needs = parser.needs()?;
    parser.end()?;
    build(&head, &lines, module)
}

/// Returns the inputs in the order of their numbers.
fn inputs(lines: &Lines) -> Read<Vec<(u32, &InputTree, &StmtLine)>> {
    let mut inputs: Vec<(u32, &InputTree, &StmtLine)> = Vec::new();
    for line in &lines.stmts {
        if let RhsTree::Input(input) = &line.rhs {
            let next = u32::try_from(inputs.len()).unwrap_or(u32::MAX);
            inputs.push((input.number.unwrap_or(next), input, line));
        }
    }
    inputs.sort_by_key(|i| i.0);
    match (0..).zip(&inputs).find(|(k, i)| i.0 != *k) {
        Some((k, (_, _, line))) => Err(Wrong::new(line.at, format!("this is no input {k}"))),
        None => Ok(inputs),
    }
}

/// The state of a function or region under construction.
pub(super) struct Build {
    pub(super) terms: Terms,
    pub(super) vars: Vars,
    /// The callee of the function.
    pub(super) callee: Arc<Callee>,
    /// The rank and scalar type of each statement of the text.
    pub(super) shapes: Vec<(usize, Option<Scalar>)>,
    pub(super) inputs: Vec<Input>,
    params: Vec<(LocalId, CoreType)>,
    names: Vec<Name>,
    bounded: BTreeSet<LocalId>,
}

/// The resolved lines of a function or region.
pub(super) struct Block {
    pub(super) stmts: Vec<Stmt>,
    pub(super) checks: Vec<Check>,
    pub(super) needs: Vec<u32>,
}

fn build(head: &HeadTree, lines: &Lines, module: &ModuleName) -> Read<Ssa> {
    let mut terms = Terms::new(module);
    let mut vars = Vars::default();
    let Opened { sizes, params, bounded } = open(head, &mut terms, &mut vars)?;
    let callee = Arc::new(terms.callee(&head.callee)?);
    // Statements read data through input statements, not through parameters.
    for (local, _) in &params {
        let name = vars.name(*local);
        let found = terms.find(&name, head.at)?;
        if matches!(found, Found::Data(_, ty) if ty != CoreType::Scalar(Scalar::I64)) {
            terms.leave(&name);
            terms.enter(&name, Found::Data(*local, CoreType::unit()));
        }
    }
    let names = params.iter().map(|(l, _)| vars.name(*l)).collect();
    let mut build = Build { params, names, bounded, ..Build::new(terms, vars, &callee, &lines.stmts) };
    for (_, input, line) in inputs(lines)? {
        build.input(input, line)?;
    }
    for input in &mut build.inputs {
        input.leaf.dims = Vec::new();
    }
    let all = lines.stmts.len();
    let Block { stmts, checks, needs } = build.block(lines)?;
    build.readable(all);
    build.terms.free = 0;
    let result = build.terms.ty(&head.result)?;
    let paths = output_paths(&result, !callee.derived.is_empty());
    let leaves = result.leaves();
    if leaves.len() != lines.outputs.len() {
        let at = lines.outputs.first().map_or(head.at, |o| o.at);
        return Err(Wrong::new(at, format!("{} parts; the result has {}", lines.outputs.len(), leaves.len())));
    }
    let mut outputs = Vec::new();
    for ((output, leaf), path) in lines.outputs.iter().zip(leaves).zip(paths) {
        let var = build.var(&output.var, output.at)?;
        if build.shapes.get(var.0 as usize) != Some(&(leaf.dims.len(), leaf.scalar)) {
            return Err(Wrong::new(output.at, format!("`{}` is no `{}`", output.var, leaf.ty())));
        }
        outputs.push((Leaf { path: output.path.clone().unwrap_or(path), ..leaf }, var));
    }
    let Build { vars, inputs, params, bounded, .. } = build;
    let opaque = head.opaque;
    Ok(Ssa { callee, vars, sizes, bounded, params, inputs, stmts, checks, needs, opaque, outputs, result })
}

/// Returns the statement of this name among the first `count`, inside `depth` loops.
pub(super) fn numbered(name: &Name, depth: u32, count: usize) -> Option<Var> {
    let number: u32 = name.strip_prefix(statements(depth).as_str())?.parse().ok()?;
    ((number as usize) < count).then_some(Var(number))
}

impl Build {
    pub(super) fn new(terms: Terms, vars: Vars, callee: &Arc<Callee>, lines: &[StmtLine]) -> Self {
        let shapes = lines.iter().map(|s| (s.dims.len(), s.scalar)).collect();
        let (inputs, params, names, bounded) = (Vec::new(), Vec::new(), Vec::new(), BTreeSet::new());
        Self { terms, vars, callee: callee.clone(), shapes, inputs, params, names, bounded }
    }

    /// Resolves the lines. The inputs must already be known.
    pub(super) fn block(&mut self, lines: &Lines) -> Read<Block> {
        self.readable(lines.stmts.len());
        let mut checks = Vec::new();
        for line in &lines.checks {
            self.terms.free = line.dims.len();
            let dims = self.terms.polys(&line.dims)?;
            let guard = self.pred(line.guard.as_ref())?;
            let cond = self.terms.pred(&line.cond)?;
            let item = self.callee.def.clone();
            let what = Failing { code: line.code, what: line.what.clone(), item, node: None };
            checks.push(Check { dims, guard, cond, what: Arc::new(what) });
        }
        let needed = |needs: &[(u32, usize)]| {
            let known = |(c, at): &(u32, usize)| match (*c as usize) < lines.checks.len() {
                true => Ok(*c),
                false => Err(Wrong::new(*at, format!("there is no check {c}"))),
            };
            needs.iter().map(known).collect::<Read<Vec<u32>>>()
        };
        let mut stmts = Vec::new();
        let mut next_input = 0;
        let mut loops: BTreeMap<u32, Known> = BTreeMap::new();
        for (k, line) in lines.stmts.iter().enumerate() {
            self.readable(k);
            self.terms.free = line.dims.len();
            let dims = self.terms.polys(&line.dims)?;
            let rhs = match &line.rhs {
                RhsTree::Input(_) | RhsTree::Arg(_) => {
                    let passed = matches!(line.rhs, RhsTree::Input(_)) == (self.terms.depth == 0);
                    let number = match &line.rhs {
                        RhsTree::Input(InputTree { number: Some(k), .. }) => *k,
                        _ => next_input,
                    };
                    let Some(input) = self.inputs.get_mut(number as usize).filter(|_| passed) else {
                        return Err(Wrong::new(
                            line.at,
                            "a function has an `input`, a loop what is `given` or `carried`",
                        ));
                    };
                    input.leaf.dims.clone_from(&dims);
                    next_input += 1;
                    Rhs::Input(number)
                }
                RhsTree::Part(number, part) => {
                    if !loops.contains_key(number) {
                        loops.insert(*number, self.loop_of(*number, lines, line.at)?);
                    }
                    match loops.get(number) {
                        Some(known) => known.part(part, line)?,
                        None => Rhs::Zero,
                    }
                }
                other => self.rhs(other, line)?,
            };
            stmts.push(Stmt { dims, scalar: line.scalar, rhs, needs: needed(&line.needs)?, name: line.name.clone() });
        }
        self.readable(lines.stmts.len());
        Ok(Block { stmts, checks, needs: needed(&lines.needs)? })
    }

    /// Resolves the loop of this number.
    fn loop_of(&mut self, number: u32, lines: &Lines, at: usize) -> Read<Known> {
        let Some((_, line)) = lines.loops.iter().find(|(k, _)| *k == number) else {
            return Err(Wrong::new(at, format!("there is no loop L{number} here")));
        };
        let part = |stmt: &StmtLine| match &stmt.rhs {
            RhsTree::Part(k, part) if *k == number => Some(part.clone()),
            _ => None,
        };
        let parts: Vec<PartTree> = lines.stmts.iter().filter_map(part).collect();
        self.looped(line, &parts)
    }

    /// Makes the first `count` statements visible to reads.
    fn readable(&mut self, count: usize) {
        let known = self.terms.statements.len();
        self.terms.statements.truncate(count);
        for (rank, scalar) in self.shapes.iter().take(count).skip(known) {
            let dims = vec![Poly::default(); *rank];
            self.terms.statements.push(match scalar {
                Some(s) => CoreType::Scalar(*s).array(dims.into_iter()),
                None => CoreType::Rel(dims.into()),
            });
        }
    }

    /// Declares an input. Its extents follow with its statement.
    fn input(&mut self, input: &InputTree, line: &StmtLine) -> Read<()> {
        let param = |name: &Name| match self.names.iter().position(|n| n == name) {
            Some(k) => Ok((k, Source::Param(u32::try_from(k).unwrap_or(u32::MAX)))),
            None => Err(Wrong::new(line.at, format!("`{name}` is no parameter"))),
        };
        let (source, path) = match &input.source {
            None => (param(&input.name)?.1, Vec::new()),
            Some(SourceTree::Param(name, path)) => {
                let (k, source) = param(name)?;
                let mut ty = self.params.get(k).map(|p| p.1.clone());
                for part in path {
                    // Paths pass through arrays, because an array of tuples counts as a tuple of
                    // arrays here.
                    ty = match ty.as_ref().map(|t| t.peel().1) {
                        Some(CoreType::Tuple(items, _)) => items.get(*part as usize).cloned(),
                        _ => None,
                    };
                }
                if ty.is_none() {
                    return Err(Wrong::new(line.at, format!("`{name}` has no such part")));
                }
                (source, path.clone())
            }
            Some(SourceTree::Tangent(k, place)) => self.seed(Source::Tangent(*k), place.as_ref()),
            Some(SourceTree::Cotangent(k, place)) => self.seed(Source::Cotangent(*k), place.as_ref()),
            Some(SourceTree::Global(global, path)) => (Source::Global(self.terms.global(global)), path.clone()),
        };
        let same = self.names.iter().position(|n| *n == input.name).and_then(|k| self.params.get(k));
        let local = match same {
            Some((local, _)) => *local,
            None => {
                if self.terms.knows(&input.name) {
                    return Err(Wrong::new(line.at, format!("`{}` is there twice", input.name)));
                }
                let local = self.vars.fresh(input.name.clone());
                let found = Found::Index(Poly::atom(self.vars.atom(local)), local);
                let integer = line.dims.is_empty() && line.scalar == Some(Scalar::I64);
                let other = Found::Data(local, CoreType::unit());
                self.terms.enter(&input.name, if integer { found } else { other });
                local
            }
        };
        if input.bounded {
            self.bounded.insert(local);
        }
        self.inputs.push(Input { local, source, leaf: Leaf { path, dims: Vec::new(), scalar: line.scalar } });
        Ok(())
    }

    fn seed(&self, source: Source, place: Option<&Vec<u32>>) -> (Source, Vec<u32>) {
        let path = place.map_or_else(|| seed_path(&source, &self.inputs).to_vec(), Clone::clone);
        (source, path)
    }

    pub(super) fn var(&self, name: &Name, at: usize) -> Read<Var> {
        match numbered(name, self.terms.depth, self.terms.statements.len()) {
            Some(var) => Ok(var),
            None => Err(Wrong::new(at, format!("`{name}` is no statement before this one"))),
        }
    }

    fn scalar(&self, var: Var) -> Option<Scalar> {
        self.shapes.get(var.0 as usize).and_then(|s| s.1)
    }

    pub(super) fn pred(&mut self, tree: Option<&Tree>) -> Read<Pred> {
        tree.map_or_else(|| Ok(Pred::truth()), |t| self.terms.pred(t))
    }

    /// Resolves an access. If `whole`, as for the operand of a scalar operation, it must have all
    /// indices.
    pub(super) fn access(&self, tree: &AccessTree, whole: bool) -> Read<Access> {
        let var = self.var(&tree.name, tree.at)?;
        let rank = self.shapes.get(var.0 as usize).map_or(0, |s| s.0);
        let given = tree.indices.len();
        if given > rank || whole && given < rank {
            return Err(Wrong::new(tree.at, format!("`{}` has {rank} indices, not {given}", tree.name)));
        }
        Ok(Access { var, at: self.terms.polys(&tree.indices)? })
    }

    fn accesses(&self, trees: &[AccessTree], whole: bool) -> Read<Vec<Access>> {
        trees.iter().map(|t| self.access(t, whole)).collect()
    }

    fn rhs(&mut self, tree: &RhsTree, line: &StmtLine) -> Read<Rhs> {
        let free = line.dims.len();
        Ok(match tree {
            RhsTree::Constant(_) if free > 0 => return Err(Wrong::new(line.at, "a constant has no indices")),
            RhsTree::Constant(c) => Rhs::Constant(*c),
            RhsTree::Input(_) | RhsTree::Arg(_) | RhsTree::Part(..) | RhsTree::Zero => Rhs::Zero,
            RhsTree::Index(p) => Rhs::Index(self.terms.poly(p)?),
            RhsTree::Add(items) => {
                let mut terms = Vec::new();
                for item in items {
                    let pred = self.pred(item.pred.as_ref())?;
                    terms.push(Addend { neg: item.neg, pred, of: self.access(&item.of, true)? });
                }
                Rhs::Add(terms)
            }
            RhsTree::Contract { neg, bound, pred, factors } => {
                self.terms.free = free + bound.len();
                let bound = self.terms.polys(bound)?;
                let pred = self.pred(pred.as_ref())?;
                Rhs::Contract { bound, pred, neg: *neg, factors: self.accesses(factors, true)? }
            }
            RhsTree::Reduce { reducer, bound, pred, terms, place, of } => {
                let pred = self.pred(pred.as_ref())?;
                self.terms.free = free + bound.len();
                let bound = self.terms.polys(bound)?;
                let terms = self.pred(terms.as_ref())?;
                let place = place.as_ref().map_or_else(|| Ok(Poly::default()), |p| self.terms.poly(p))?;
                Rhs::Reduce(Reduce { reducer: *reducer, bound, pred, terms, place, of: self.access(of, true)? })
            }
            RhsTree::Order { pred, index: name, of } => {
                let pred = self.pred(pred.as_ref())?;
                let last = free.checked_sub(1).map(|k| index(k, &Poly::default()));
                let last = last.filter(|i| i.name == *name && !pred.mentions(&i.atom()));
                if last.is_none() || line.scalar != Some(Scalar::I64) {
                    return Err(Wrong::new(line.at, "an order is of `i64`, along the last index"));
                }
                Rhs::Order(Order { pred, of: self.access(of, true)? })
            }
            RhsTree::Map { name, pred, args } => {
                let pred = self.pred(pred.as_ref())?;
                let args = self.accesses(args, true)?;
                let operation = self.operation(name, &args, line.at)?;
                Rhs::Map { operation, pred, args }
            }
            RhsTree::Update { base, batch, bound, pred, at, value, add } => {
                let base = self.access(base, false)?;
                let rank = self.shapes.get(base.var.0 as usize).map_or(0, |s| s.0);
                let below = free.checked_sub(*batch as usize);
                if below != Some(at.len()) || rank != base.at.len() + at.len() {
                    return Err(Wrong::new(line.at, format!("an update at {} indices", at.len())));
                }
                if [base.var, self.var(&value.name, value.at)?].iter().any(|v| self.scalar(*v) != line.scalar) {
                    return Err(Wrong::new(line.at, "an update by another type"));
                }
                self.terms.free = free + bound.len();
                let bound = self.terms.polys(bound)?;
                let pred = self.pred(pred.as_ref())?;
                let (at, value) = (self.terms.polys(at)?, self.access(value, true)?);
                for k in *batch as usize..free {
                    let own = index(k, &Poly::default()).atom();
                    if pred.mentions(&own) || at.iter().chain(&value.at).any(|p| p.mentions(&own)) {
                        return Err(Wrong::new(line.at, format!("`i{k}` is no index of the update")));
                    }
                }
                Rhs::Update { base, batch: *batch, bound, pred, at, value, add: *add }
            }
            RhsTree::Call { callee, batch, pred, args, part } => {
                if *batch as usize > free {
                    return Err(Wrong::new(line.at, "a call for more indices than there are"));
                }
                let sizes = self.terms.polys(&callee.sizes)?;
                let pred = self.pred(pred.as_ref())?;
                let args = self.accesses(args, false)?;
                let callee = Arc::new(self.terms.callee(callee)?);
                Rhs::Call { callee, sizes, pred, args, batch: *batch, part: *part }
            }
        })
    }

    fn operation(&self, name: &str, args: &[Access], at: usize) -> Read<Operation> {
        let last = args.last().and_then(|a| self.scalar(a.var));
        let binary = BinOp::ALL.into_iter().find(|op| op.symbol() == name);
        let (operation, wanted) = match (name, binary) {
            ("^", _) if last == Some(Scalar::I64) => (Some(Operation::PowInt), 2),
            ("^", _) => (Some(Operation::Pow), 2),
            ("!", _) => (Some(Operation::Not), 1),
            (_, Some(op)) => (Some(Operation::Binary(op)), 2),
            _ => match operation(name) {
                Some(operation @ Operation::Scalar(f)) => (Some(operation), f.arguments().len()),
                other => (other, 1),
            },
        };
        match operation {
            Some(operation) if args.len() == wanted => Ok(operation),
            Some(_) => Err(Wrong::new(at, format!("`{name}` takes {wanted}, not {}", args.len()))),
            None => Err(Wrong::new(at, format!("`{name}` is no operation"))),
        }
    }
}
