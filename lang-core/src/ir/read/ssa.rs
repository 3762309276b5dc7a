//! Tensor SSA from its text: its lines first, since checks stand before the statements that they read, then
//! what the names in them stand for.

use std::sync::Arc;

use super::Wrong;
use super::core::{Opened, open, operation};
use super::lines::{AccessTree, InputTree, Lines, RhsTree, SourceTree, StmtLine};
use super::parser::{Parser, Read};
use super::terms::{Found, Terms};
use super::tree::{HeadTree, Tree};
use crate::base::{ModuleName, Name};
use crate::ir::core::{CoreType, Failing, Leaf, Operation, Vars};
use crate::ir::flat::{Input, Source};
use crate::ir::ssa::{Access, Addend, Check, Rhs, Ssa, Stmt, Var};
use crate::ir::ssa_text::{output_paths, seed_path};
use crate::predicate::{LocalId, Poly, Pred};
use crate::syntax::ops::{BinOp, Scalar};

pub(super) fn function(parser: &mut Parser<'_>, module: &ModuleName) -> Read<Ssa> {
    let head = parser.head("ssa")?;
    let mut lines = Lines::default();
    while parser.sees_word("check") {
        let check = parser.check_line(lines.checks.len())?;
        lines.checks.push(check);
    }
    while !parser.sees_word("out") {
        let stmt = parser.stmt(lines.stmts.len())?;
        lines.stmts.push(stmt);
    }
    parser.skip();
    lines.outputs.push(parser.output()?);
    while parser.takes(",") {
        lines.outputs.push(parser.output()?);
    }
    lines.needs = parser.needs()?;
    parser.end()?;
    build(&head, &lines, module)
}

/// What is known of the statements so far.
struct Build {
    terms: Terms,
    vars: Vars,
    /// The extents and scalar of each statement of the text.
    shapes: Vec<(usize, Option<Scalar>)>,
    inputs: Vec<Input>,
    params: Vec<(LocalId, CoreType)>,
    names: Vec<Name>,
    bounded: std::collections::BTreeSet<LocalId>,
}

fn build(head: &HeadTree, lines: &Lines, module: &ModuleName) -> Read<Ssa> {
    let mut terms = Terms::new(module);
    let mut vars = Vars::default();
    let Opened { sizes, params, bounded } = open(head, &mut terms, &mut vars)?;
    let callee = Arc::new(terms.callee(&head.callee)?);
    // Data are read through the statements that they are inputs of.
    for (local, _) in &params {
        let name = vars.name(*local);
        if let Found::Data(..) = terms.find(&name, head.at)? {
            terms.leave(&name);
            terms.enter(&name, Found::Data(*local, CoreType::unit()));
        }
    }
    let shapes = lines.stmts.iter().map(|s| (s.dims.len(), s.scalar)).collect();
    let names = params.iter().map(|(l, _)| vars.name(*l)).collect();
    let mut build = Build { terms, vars, shapes, inputs: Vec::new(), params, names, bounded };
    for line in &lines.stmts {
        if let RhsTree::Input(input) = &line.rhs {
            build.input(input, line)?;
        }
    }
    for input in &mut build.inputs {
        input.leaf.dims = Vec::new();
    }
    let all = lines.stmts.len();
    build.readable(all);
    let mut checks = Vec::new();
    for line in &lines.checks {
        build.terms.free = line.dims.len();
        let dims = build.terms.polys(&line.dims)?;
        let guard = build.pred(line.guard.as_ref())?;
        let cond = build.terms.pred(&line.cond)?;
        let what = Failing { code: line.code, what: line.what.clone(), item: callee.def.clone(), node: None };
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
    for (k, line) in lines.stmts.iter().enumerate() {
        build.readable(k);
        build.terms.free = line.dims.len();
        let dims = build.terms.polys(&line.dims)?;
        let rhs = match &line.rhs {
            RhsTree::Input(_) => {
                if let Some(input) = build.inputs.get_mut(next_input as usize) {
                    input.leaf.dims.clone_from(&dims);
                }
                next_input += 1;
                Rhs::Input(next_input - 1)
            }
            other => build.rhs(other, line)?,
        };
        stmts.push(Stmt { dims, scalar: line.scalar, rhs, needs: needed(&line.needs)?, name: line.name.clone() });
    }
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
    let needs = needed(&lines.needs)?;
    let Build { vars, inputs, params, bounded, .. } = build;
    let opaque = head.opaque;
    Ok(Ssa { callee, vars, sizes, bounded, params, inputs, stmts, checks, needs, opaque, outputs, result })
}

impl Build {
    /// The first statements, which may be read.
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

    /// Only names matter here; extents come with the statement.
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
                    // Through arrays: one of tuples is a tuple of arrays here.
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

    fn var(&self, name: &Name, at: usize) -> Read<Var> {
        let number = name.strip_prefix('X').and_then(|k| k.parse::<u32>().ok());
        match number.filter(|k| (*k as usize) < self.terms.statements.len()) {
            Some(k) => Ok(Var(k)),
            None => Err(Wrong::new(at, format!("`{name}` is no statement before this one"))),
        }
    }

    fn scalar(&self, var: Var) -> Option<Scalar> {
        self.shapes.get(var.0 as usize).and_then(|s| s.1)
    }

    fn pred(&mut self, tree: Option<&Tree>) -> Read<Pred> {
        tree.map_or_else(|| Ok(Pred::truth()), |t| self.terms.pred(t))
    }

    /// What is read; of a scalar operation's operand all indices are there.
    fn access(&self, tree: &AccessTree, whole: bool) -> Read<Access> {
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
            RhsTree::Input(_) | RhsTree::Zero => Rhs::Zero,
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
            RhsTree::Map { name, pred, args } => {
                let pred = self.pred(pred.as_ref())?;
                let args = self.accesses(args, true)?;
                let operation = self.operation(name, &args, line.at)?;
                Rhs::Map { operation, pred, args }
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
