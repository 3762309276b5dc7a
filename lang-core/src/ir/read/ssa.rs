//! Tensor SSA from its text: its lines first, since checks stand before the statements that they read, then
//! what the names in them stand for.

use std::sync::Arc;

use super::Wrong;
use super::core::{Opened, open, operation};
use super::lexer::Token;
use super::parser::{Parser, Read};
use super::terms::{Found, Terms};
use super::tree::{CalleeTree, GlobalTree, HeadTree, Tree};
use crate::base::{Code, ModuleName, Name, Span};
use crate::ir::core::{Constant, CoreType, Failing, Leaf, Operation, Vars};
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

#[derive(Default)]
struct Lines {
    checks: Vec<CheckLine>,
    stmts: Vec<StmtLine>,
    outputs: Vec<OutputTree>,
    needs: Vec<(u32, usize)>,
}

struct CheckLine {
    dims: Vec<Tree>,
    guard: Option<Tree>,
    cond: Tree,
    code: Code,
    what: Name,
}

struct StmtLine {
    at: usize,
    dims: Vec<Tree>,
    scalar: Option<Scalar>,
    rhs: RhsTree,
    needs: Vec<(u32, usize)>,
    name: Option<Name>,
}

struct OutputTree {
    at: usize,
    var: Name,
    path: Option<Vec<u32>>,
}

struct AccessTree {
    name: Name,
    at: usize,
    indices: Vec<Tree>,
}

struct TermTree {
    neg: bool,
    pred: Option<Tree>,
    of: AccessTree,
}

struct InputTree {
    bounded: bool,
    name: Name,
    source: Option<SourceTree>,
}

enum SourceTree {
    Param(Name, Vec<u32>),
    Tangent(u32, Option<Vec<u32>>),
    Cotangent(u32, Option<Vec<u32>>),
    Global(GlobalTree, Vec<u32>),
}

enum RhsTree {
    Input(InputTree),
    Constant(Constant),
    Zero,
    Index(Tree),
    Add(Vec<TermTree>),
    Contract { neg: bool, bound: Vec<Tree>, pred: Option<Tree>, factors: Vec<AccessTree> },
    Map { name: String, pred: Option<Tree>, args: Vec<AccessTree> },
    Call { callee: CalleeTree, batch: u32, pred: Option<Tree>, args: Vec<AccessTree>, part: u32 },
}

impl Parser<'_> {
    fn check_line(&mut self, number: usize) -> Read<CheckLine> {
        self.skip();
        let at = self.at();
        if usize::try_from(self.number("the number of a check")?) != Ok(number) {
            return Err(Wrong::new(at, format!("the next check is {number}")));
        }
        let dims = self.indices(0)?;
        self.sign(":")?;
        let first = self.pred()?;
        let (guard, cond) = if self.takes("=>") { (Some(first), self.pred()?) } else { (None, first) };
        self.sign(",")?;
        let (code, what) = self.failure()?;
        Ok(CheckLine { dims, guard, cond, code, what })
    }

    /// `[i0 < n, i1 < m]`, or nothing.
    fn indices(&mut self, from: usize) -> Read<Vec<Tree>> {
        if !self.takes("[") {
            return Ok(Vec::new());
        }
        let mut next = from;
        self.list("]", |p| p.numbered(&mut next))
    }

    /// `i0 < n`
    fn numbered(&mut self, next: &mut usize) -> Read<Tree> {
        let own = format!("i{next}");
        *next += 1;
        self.word(&own)?;
        self.sign("<")?;
        self.index()
    }

    fn stmt(&mut self, number: usize) -> Read<StmtLine> {
        let at = self.at();
        let own = format!("X{number}");
        if !self.takes_word(&own) {
            return self.wanted(&format!("`{own}` or `out`"));
        }
        let dims = self.indices(0)?;
        self.sign(":")?;
        let scalar = match self.ahead(0) {
            Token::Name(word) if word == "rel" => None,
            Token::Name(word) => match Scalar::ALL.into_iter().find(|s| s.name() == word) {
                None => return self.wanted("a scalar type or `rel`"),
                scalar => scalar,
            },
            _ => return self.wanted("a scalar type or `rel`"),
        };
        self.skip();
        self.sign("=")?;
        let rhs = self.rhs(dims.len(), scalar)?;
        let needs = self.needs()?;
        let name = if let Token::Remark(name) = self.ahead(0) { Some(Name::from(name)) } else { None };
        if name.is_some() {
            self.skip();
        }
        Ok(StmtLine { at, dims, scalar, rhs, needs, name })
    }

    fn needs(&mut self) -> Read<Vec<(u32, usize)>> {
        let mut needs = Vec::new();
        if self.takes_word("needs") {
            loop {
                let at = self.at();
                needs.push((self.number("the number of a check")?, at));
                if !self.takes(",") {
                    break;
                }
            }
        }
        Ok(needs)
    }

    fn output(&mut self) -> Read<OutputTree> {
        let at = self.at();
        let var = self.name("a statement")?;
        let path = self.place()?;
        Ok(OutputTree { at, var, path })
    }

    /// `at 0.1`, `at ()`, or nothing.
    fn place(&mut self) -> Read<Option<Vec<u32>>> {
        if !self.takes_word("at") {
            return Ok(None);
        }
        if self.takes("(") {
            self.sign(")")?;
            return Ok(Some(Vec::new()));
        }
        let mut path = vec![self.number("a component")?];
        path.extend(self.path()?);
        Ok(Some(path))
    }

    /// `.0.1`
    fn path(&mut self) -> Read<Vec<u32>> {
        let mut path = Vec::new();
        while self.takes(".") {
            path.push(self.number("a component")?);
        }
        Ok(path)
    }

    fn input(&mut self) -> Read<InputTree> {
        let bounded = matches!(self.ahead(1), Token::Name(_)) && self.takes_word("bounded");
        let name = self.name("an input")?;
        if !self.takes("=") {
            return Ok(InputTree { bounded, name, source: None });
        }
        let numbered = matches!(self.ahead(1), Token::Int(_));
        let source = if numbered && self.takes_word("tan") {
            SourceTree::Tangent(self.number("the number of an input")?, self.place()?)
        } else if numbered && self.takes_word("adj") {
            SourceTree::Cotangent(self.number("the number of a part")?, self.place()?)
        } else if self.takes_word("let") {
            let global = self.global()?;
            SourceTree::Global(global, self.path()?)
        } else {
            let param = self.name("a parameter")?;
            SourceTree::Param(param, self.path()?)
        };
        Ok(InputTree { bounded, name, source: Some(source) })
    }

    fn bracket(&mut self) -> Read<Option<Tree>> {
        if !self.takes("[") {
            return Ok(None);
        }
        let pred = self.pred()?;
        self.sign("]")?;
        self.sign("*")?;
        Ok(Some(pred))
    }

    fn access(&mut self) -> Read<AccessTree> {
        let at = self.at();
        let name = self.name("a statement")?;
        let indices = if self.takes("[") { self.list("]", Self::index)? } else { Vec::new() };
        Ok(AccessTree { name, at, indices })
    }

    fn rhs(&mut self, free: usize, scalar: Option<Scalar>) -> Read<RhsTree> {
        if let Some(constant) = self.constant(scalar)? {
            return Ok(RhsTree::Constant(constant));
        }
        let names = matches!(self.ahead(1), Token::Name(_));
        if names && self.takes_word("input") {
            return Ok(RhsTree::Input(self.input()?));
        }
        if self.takes_word("index") {
            return Ok(RhsTree::Index(self.index()?));
        }
        if self.takes_word("zero") {
            return Ok(RhsTree::Zero);
        }
        if self.takes_word("for") {
            let mut batch = 0;
            loop {
                self.word(&format!("i{batch}"))?;
                batch += 1;
                if !self.takes(",") {
                    break;
                }
            }
            self.sign(":")?;
            let pred = self.bracket()?;
            return self.call(batch, pred);
        }
        let neg = self.takes("-");
        if names && self.takes_word("sum") || neg && self.takes_word("sum") {
            let mut next = free;
            let mut bound = vec![self.numbered(&mut next)?];
            while self.takes(",") {
                bound.push(self.numbered(&mut next)?);
            }
            self.sign(":")?;
            let pred = self.bracket()?;
            let factors = self.factors()?;
            return Ok(RhsTree::Contract { neg, bound, pred, factors });
        }
        let pred = self.bracket()?;
        if !neg {
            if let Some(name) = self.mapped() {
                let args = self.list(")", Self::access)?;
                return Ok(RhsTree::Map { name, pred, args });
            }
            if self.sees_call() {
                return self.call(0, pred);
            }
        }
        let factors = self.factors()?;
        if !self.sees("+") && !self.sees("-") {
            return Ok(RhsTree::Contract { neg, bound: Vec::new(), pred, factors });
        }
        let mut items = Vec::new();
        let mut first = factors.into_iter();
        match (first.next(), first.next()) {
            (Some(of), None) => items.push(TermTree { neg, pred, of }),
            _ => return self.wanted("the end of a product"),
        }
        loop {
            let neg = self.sees("-");
            if !neg && !self.sees("+") {
                return Ok(RhsTree::Add(items));
            }
            self.skip();
            items.push(TermTree { neg, pred: self.bracket()?, of: self.access()? });
        }
    }

    fn factors(&mut self) -> Read<Vec<AccessTree>> {
        let mut factors = vec![self.access()?];
        while self.takes("*") {
            factors.push(self.access()?);
        }
        Ok(factors)
    }

    /// The name of an operation and its opening parenthesis.
    fn mapped(&mut self) -> Option<String> {
        if *self.ahead(1) != Token::Sign("(") {
            return None;
        }
        let name = match self.ahead(0) {
            Token::Name(name) => name.clone(),
            Token::Sign(sign) => (*sign).to_owned(),
            _ => return None,
        };
        self.skip();
        self.skip();
        Some(name)
    }

    fn call(&mut self, batch: u32, pred: Option<Tree>) -> Read<RhsTree> {
        let callee = self.callee()?;
        self.sign("(")?;
        let args = self.list(")", Self::access)?;
        self.sign(".")?;
        Ok(RhsTree::Call { callee, batch, pred, args, part: self.number("the number of a part")? })
    }

    /// A constant of the scalar type, if there is one.
    fn constant(&mut self, scalar: Option<Scalar>) -> Read<Option<Constant>> {
        let neg = self.sees("-");
        let constant = match self.ahead(usize::from(neg)) {
            Token::Int(i) => {
                let signed = if neg { -i } else { *i };
                let Ok(i) = i64::try_from(signed) else { return self.wanted("an `i64`") };
                Constant::Int(i)
            }
            Token::Real(x, _) => Constant::Real(if neg { -x } else { *x }),
            Token::Name(word) => match word.as_str() {
                "nan" => Constant::Real(f64::NAN),
                "inf" => Constant::Real(if neg { f64::NEG_INFINITY } else { f64::INFINITY }),
                "true" | "false" if !neg => Constant::Bool(word == "true"),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let fits = match constant {
            Constant::Real(_) => matches!(scalar, Some(Scalar::F64 | Scalar::F32)),
            Constant::Int(_) => scalar == Some(Scalar::I64),
            Constant::Bool(_) => scalar == Some(Scalar::Bool),
        };
        if !fits {
            return self.wanted(&format!("a constant of type `{}`", scalar.map_or("rel", Scalar::name)));
        }
        self.next_after(usize::from(neg) + 1);
        #[expect(clippy::cast_possible_truncation, reason = "the nearest `f32`, held exactly")]
        let constant = match constant {
            Constant::Real(x) if scalar == Some(Scalar::F32) => Constant::Real(f64::from(x as f32)),
            other => other,
        };
        Ok(Some(constant))
    }

    fn next_after(&mut self, count: usize) {
        (0..count).for_each(|_| self.skip());
    }
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
            terms.enter(&name, Found::Data(*local, CoreType::Tuple(Arc::from([]), None)));
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
        let what =
            Failing { code: line.code, what: line.what.clone(), item: callee.def.clone(), span: Span::default() };
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
                let other = Found::Data(local, CoreType::Tuple(Arc::from([]), None));
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
