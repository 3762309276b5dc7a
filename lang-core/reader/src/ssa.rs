//! **Reader of Tensor SSA.** It parses all lines first, because checks are printed before the
//! statements that they read. Then it resolves the names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::FormSyntaxError;
use super::core::{HeadBindings, bind_head, operation_named};
use super::loops::{LoopResultTree, ResolvedLoop};
use super::name_scope::{NameMeaning, NameScope};
use super::parser::{FormParser, ParseResult};
use super::ssa_lines::{AccessTree, InputTree, RhsTree, SourceTree, SsaLines, StmtLine};
use super::tree::{FormTree, HeadTree};
use lang_base::{ModuleName, Name};
use lang_ir::argsort::Argsort;
use lang_ir::canonical::statement_prefix;
use lang_ir::core::{CheckFailure, CoreType, FunctionKey, ScalarOp, TypeLeaf, Vars};
use lang_ir::flat::{FunctionInput, InputSource};
use lang_ir::reduce::SsaReduction;
use lang_ir::ssa::{Addend, Rhs, RuntimeCheck, SsaFunction, Statement, StmtId, TensorAccess, statement_index};
use lang_ir::ssa_text::{default_input_path, output_paths};
use lang_sizes::predicate::{LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

pub(super) fn function(parser: &mut FormParser<'_>, module: &ModuleName) -> ParseResult<SsaFunction> {
    let head = parser.head("ssa")?;
    let mut lines = parser.block(0)?;
    parser.advance();
    lines.outputs.push(parser.output()?);
    while parser.eat(",") {
        lines.outputs.push(parser.output()?);
    }
    lines.needs = parser.needs()?;
    parser.expect_end()?;
    resolve_function(&head, &lines, module)
}

/// Returns the inputs in the order of their numbers.
fn ordered_inputs(lines: &SsaLines) -> ParseResult<Vec<(u32, &InputTree, &StmtLine)>> {
    let mut inputs: Vec<(u32, &InputTree, &StmtLine)> = Vec::new();
    for line in &lines.stmts {
        if let RhsTree::Input(input) = &line.rhs {
            let next = u32::try_from(inputs.len()).unwrap_or(u32::MAX);
            inputs.push((input.number.unwrap_or(next), input, line));
        }
    }
    inputs.sort_by_key(|i| i.0);
    match (0..).zip(&inputs).find(|(k, i)| i.0 != *k) {
        Some((k, (_, _, line))) => Err(FormSyntaxError::new(line.at, format!("expected input {k}"))),
        None => Ok(inputs),
    }
}

/// The rank and scalar type of a statement, `None` for a call or a loop, which has no elements.
pub(super) type StatementShape = Option<(usize, Option<Scalar>)>;

/// The state of a function or region under construction.
pub(super) struct SsaNameResolver {
    pub(super) scope: NameScope,
    pub(super) vars: Vars,
    /// The callee of the function.
    pub(super) callee: Arc<FunctionKey>,
    pub(super) shapes: Vec<StatementShape>,
    pub(super) inputs: Vec<FunctionInput>,
    params: Vec<(LocalId, CoreType)>,
    param_names: Vec<Name>,
    bounded: BTreeSet<LocalId>,
}

/// The resolved lines of a function or region.
pub(super) struct ResolvedBlock {
    pub(super) stmts: Vec<Statement>,
    pub(super) checks: Vec<RuntimeCheck>,
    pub(super) needs: Vec<u32>,
}

fn resolve_function(head: &HeadTree, lines: &SsaLines, module: &ModuleName) -> ParseResult<SsaFunction> {
    let mut terms = NameScope::new(module);
    let mut vars = Vars::default();
    let HeadBindings { sizes, params, bounded } = bind_head(head, &mut terms, &mut vars)?;
    let callee = Arc::new(terms.callee(&head.callee)?);
    // Statements read data through input statements, not through parameters.
    for (local, _) in &params {
        let name = vars.name(*local);
        let found = terms.resolve(&name, head.at)?;
        if matches!(found, NameMeaning::Data(_, ty) if ty != CoreType::Scalar(Scalar::I64)) {
            terms.unbind(&name);
            terms.bind(&name, NameMeaning::Data(*local, CoreType::unit()));
        }
    }
    let names = params.iter().map(|(l, _)| vars.name(*l)).collect();
    let mut build = SsaNameResolver {
        params,
        param_names: names,
        bounded,
        ..SsaNameResolver::new(terms, vars, &callee, &lines.stmts)
    };
    for (_, input, line) in ordered_inputs(lines)? {
        build.input(input, line)?;
    }
    for input in &mut build.inputs {
        input.leaf.dims = Vec::new();
    }
    let all = lines.stmts.len();
    let ResolvedBlock { stmts, checks, needs } = build.block(lines)?;
    build.expose_statements(all);
    build.scope.free = 0;
    let result = build.scope.ty(&head.result)?;
    let paths = output_paths(&result, !callee.derivatives.is_empty());
    let leaves = result.leaves();
    if leaves.len() != lines.outputs.len() {
        let at = lines.outputs.first().map_or(head.at, |o| o.at);
        return Err(FormSyntaxError::new(
            at,
            format!("found {} outputs, but the result has {} components", lines.outputs.len(), leaves.len()),
        ));
    }
    let mut outputs = Vec::new();
    for ((output, leaf), path) in lines.outputs.iter().zip(leaves).zip(paths) {
        let var = build.var(&output.var, output.at)?;
        if build.shape(var) != Some((leaf.dims.len(), leaf.scalar)) {
            return Err(FormSyntaxError::new(
                output.at,
                format!("`{}` does not have type `{}`", output.var, leaf.ty()),
            ));
        }
        outputs.push((TypeLeaf { path: output.path.clone().unwrap_or(path), ..leaf }, var));
    }
    let SsaNameResolver { vars, inputs, params, bounded, .. } = build;
    let opaque = head.opaque;
    Ok(SsaFunction {
        callee,
        vars,
        sizes,
        bounded,
        params,
        inputs,
        stmts,
        checks,
        needs,
        is_opaque: opaque,
        outputs,
        result,
    })
}

/// Returns the statement of this name among the first `count`, inside `depth` loops.
pub(super) fn statement_named(name: &Name, depth: u32, count: usize) -> Option<StmtId> {
    let number: u32 = name.strip_prefix(statement_prefix(depth).as_str())?.parse().ok()?;
    ((number as usize) < count).then_some(StmtId(number))
}

impl SsaNameResolver {
    pub(super) fn new(terms: NameScope, vars: Vars, callee: &Arc<FunctionKey>, lines: &[StmtLine]) -> Self {
        let shape = |s: &StmtLine| (!s.rhs.is_producer()).then_some((s.dims.len(), s.scalar));
        let shapes = lines.iter().map(shape).collect();
        let (inputs, params, names, bounded) = (Vec::new(), Vec::new(), Vec::new(), BTreeSet::new());
        Self { scope: terms, vars, callee: callee.clone(), shapes, inputs, params, param_names: names, bounded }
    }

    /// Resolves the lines. The inputs must already be known.
    pub(super) fn block(&mut self, lines: &SsaLines) -> ParseResult<ResolvedBlock> {
        self.expose_statements(lines.stmts.len());
        let mut checks = Vec::new();
        for line in &lines.checks {
            self.scope.free = line.dims.len();
            let dims = self.scope.polys(&line.dims)?;
            let guard = self.pred(line.guard.as_ref())?;
            let cond = self.scope.pred(&line.cond)?;
            let item = self.callee.def.clone();
            let what = CheckFailure { code: line.code, message: line.message.clone(), item, node: None };
            checks.push(RuntimeCheck { dims, guard, cond, failure: Arc::new(what) });
        }
        let needed = |needs: &[(u32, usize)]| {
            let known = |(c, at): &(u32, usize)| match (*c as usize) < lines.checks.len() {
                true => Ok(*c),
                false => Err(FormSyntaxError::new(*at, format!("unknown check {c}"))),
            };
            needs.iter().map(known).collect::<ParseResult<Vec<u32>>>()
        };
        let mut stmts = Vec::new();
        let mut next_input = 0;
        let mut loops: BTreeMap<StmtId, ResolvedLoop> = BTreeMap::new();
        for (k, line) in (0..).zip(&lines.stmts) {
            self.expose_statements(k as usize);
            self.scope.free = line.dims.len();
            let mut dims = self.scope.polys(&line.dims)?;
            let rhs = match &line.rhs {
                RhsTree::Input(_) | RhsTree::Arg(_) => {
                    let passed = matches!(line.rhs, RhsTree::Input(_)) == (self.scope.depth == 0);
                    let number = match &line.rhs {
                        RhsTree::Input(InputTree { number: Some(k), .. }) => *k,
                        _ => next_input,
                    };
                    let Some(input) = self.inputs.get_mut(number as usize).filter(|_| passed) else {
                        return Err(FormSyntaxError::new(
                            line.at,
                            "a function must use `input`, a loop `given` or `carried`",
                        ));
                    };
                    input.leaf.dims.clone_from(&dims);
                    next_input += 1;
                    Rhs::Input(number)
                }
                RhsTree::Loop(of) => {
                    let resolved = self.resolve_loop_line(of, &self.iteration_reads(StmtId(k), lines))?;
                    let ssa_loop = resolved.ssa_loop.clone();
                    dims.clone_from(&ssa_loop.batch);
                    loops.insert(StmtId(k), resolved);
                    Rhs::Loop(ssa_loop)
                }
                RhsTree::LoopResult(of, result) => {
                    let producer = self.earlier_statement(&of.name, of.at)?;
                    match loops.get(&producer) {
                        Some(known) => Rhs::LoopResult(producer, known.result(result, line)?),
                        None => return Err(FormSyntaxError::new(of.at, format!("`{}` is not a loop", of.name))),
                    }
                }
                RhsTree::CallResult(of, output) => {
                    let producer = self.earlier_statement(&of.name, of.at)?;
                    match lines.stmts.get(producer.0 as usize) {
                        Some(StmtLine { rhs: RhsTree::Call { .. }, dims: batch, .. }) => {
                            if dims.len() < batch.len() {
                                return Err(FormSyntaxError::new(
                                    line.at,
                                    "the result has fewer indices than the call",
                                ));
                            }
                            Rhs::CallResult(producer, *output)
                        }
                        _ => return Err(FormSyntaxError::new(of.at, format!("`{}` is not a call", of.name))),
                    }
                }
                other => self.rhs(other, line)?,
            };
            stmts.push(Statement {
                dims,
                scalar: line.scalar,
                rhs,
                needs: needed(&line.needs)?,
                name: line.name.clone(),
            });
        }
        self.expose_statements(lines.stmts.len());
        Ok(ResolvedBlock { stmts, checks, needs: needed(&lines.needs)? })
    }

    /// Returns the statements of a loop's body that the lines read in every iteration, with the
    /// offsets of these lines.
    fn iteration_reads<'l>(&self, of: StmtId, lines: &'l SsaLines) -> Vec<(&'l Name, usize)> {
        let read = |line: &'l StmtLine| match &line.rhs {
            RhsTree::LoopResult(producer, LoopResultTree::PerIteration(name)) => {
                let producer = statement_named(&producer.name, self.scope.depth, lines.stmts.len());
                (producer == Some(of)).then_some((name, line.at))
            }
            _ => None,
        };
        lines.stmts.iter().filter_map(read).collect()
    }

    /// Makes the first `count` statements visible to reads.
    fn expose_statements(&mut self, count: usize) {
        let known = self.scope.statements.len();
        self.scope.statements.truncate(count);
        for shape in self.shapes.iter().take(count).skip(known) {
            self.scope.statements.push(match shape {
                Some((rank, Some(s))) => CoreType::Scalar(*s).with_extents(vec![Poly::default(); *rank].into_iter()),
                Some((rank, None)) => CoreType::Rel(vec![Poly::default(); *rank].into()),
                None => CoreType::unit(),
            });
        }
    }

    /// Declares an input. Its extents follow with its statement.
    fn input(&mut self, input: &InputTree, line: &StmtLine) -> ParseResult<()> {
        let param = |name: &Name| match self.param_names.iter().position(|n| n == name) {
            Some(k) => Ok((k, InputSource::Param(u32::try_from(k).unwrap_or(u32::MAX)))),
            None => Err(FormSyntaxError::new(line.at, format!("unknown parameter `{name}`"))),
        };
        let (source, path) = match &input.source {
            None => (param(&input.name)?.1, Vec::new()),
            Some(SourceTree::Param(name, path)) => {
                let (k, source) = param(name)?;
                let mut ty = self.params.get(k).map(|p| p.1.clone());
                for part in path {
                    // Paths pass through arrays, because an array of tuples counts as a tuple of
                    // arrays here.
                    ty = match ty.as_ref().map(|t| t.split_array().1) {
                        Some(CoreType::Tuple(items, _)) => items.get(*part as usize).cloned(),
                        _ => None,
                    };
                }
                if ty.is_none() {
                    return Err(FormSyntaxError::new(line.at, format!("`{name}` has no such component")));
                }
                (source, path.clone())
            }
            Some(SourceTree::Tangent(k, place)) => self.derivative_input(InputSource::Tangent(*k), place.as_ref()),
            Some(SourceTree::Cotangent(k, place)) => self.derivative_input(InputSource::Cotangent(*k), place.as_ref()),
            Some(SourceTree::Global(global, path)) => (InputSource::Global(self.scope.global(global)), path.clone()),
        };
        let same = self.param_names.iter().position(|n| *n == input.name).and_then(|k| self.params.get(k));
        let local = match same {
            Some((local, _)) => *local,
            None => {
                if self.scope.is_bound(&input.name) {
                    return Err(FormSyntaxError::new(line.at, format!("duplicate name `{}`", input.name)));
                }
                let local = self.vars.fresh(input.name.clone());
                let found = NameMeaning::Index(Poly::atom(self.vars.atom(local)), local);
                let integer = line.dims.is_empty() && line.scalar == Some(Scalar::I64);
                let other = NameMeaning::Data(local, CoreType::unit());
                self.scope.bind(&input.name, if integer { found } else { other });
                local
            }
        };
        if input.bounded {
            self.bounded.insert(local);
        }
        self.inputs.push(FunctionInput {
            local,
            source,
            leaf: TypeLeaf { path, dims: Vec::new(), scalar: line.scalar },
        });
        Ok(())
    }

    fn derivative_input(&self, source: InputSource, place: Option<&Vec<u32>>) -> (InputSource, Vec<u32>) {
        let path = place.map_or_else(|| default_input_path(&source, &self.inputs).to_vec(), Clone::clone);
        (source, path)
    }

    /// Returns the earlier statement of this name, which may be a call or a loop.
    fn earlier_statement(&self, name: &Name, at: usize) -> ParseResult<StmtId> {
        match statement_named(name, self.scope.depth, self.scope.statements.len()) {
            Some(var) => Ok(var),
            None => Err(FormSyntaxError::new(at, format!("`{name}` is not an earlier statement"))),
        }
    }

    /// Returns the earlier statement of this name, which must have elements.
    pub(super) fn var(&self, name: &Name, at: usize) -> ParseResult<StmtId> {
        let var = self.earlier_statement(name, at)?;
        match self.shape(var) {
            Some(_) => Ok(var),
            None => Err(FormSyntaxError::new(at, format!("`{name}` is a call or a loop, which has no elements"))),
        }
    }

    /// Returns the rank and scalar type of a statement of the text.
    pub(super) fn shape(&self, var: StmtId) -> StatementShape {
        self.shapes.get(var.0 as usize).copied().flatten()
    }

    fn rank(&self, var: StmtId) -> usize {
        self.shape(var).map_or(0, |(rank, _)| rank)
    }

    fn scalar(&self, var: StmtId) -> Option<Scalar> {
        self.shape(var).and_then(|(_, scalar)| scalar)
    }

    pub(super) fn pred(&mut self, tree: Option<&FormTree>) -> ParseResult<Pred> {
        tree.map_or_else(|| Ok(Pred::truth()), |t| self.scope.pred(t))
    }

    /// Resolves an access. If `whole`, as for the operand of a scalar operation, it must have all
    /// indices.
    pub(super) fn access(&self, tree: &AccessTree, whole: bool) -> ParseResult<TensorAccess> {
        let var = self.var(&tree.name, tree.at)?;
        let rank = self.rank(var);
        let index_count = tree.indices.len();
        if index_count > rank || whole && index_count < rank {
            return Err(FormSyntaxError::new(
                tree.at,
                format!(
                    "`{}` has {}, found {index_count}",
                    tree.name,
                    lang_base::count_with_noun(rank, "index", "indices")
                ),
            ));
        }
        Ok(TensorAccess { var, at: self.scope.polys(&tree.indices)? })
    }

    fn accesses(&self, trees: &[AccessTree], whole: bool) -> ParseResult<Vec<TensorAccess>> {
        trees.iter().map(|t| self.access(t, whole)).collect()
    }

    fn rhs(&mut self, tree: &RhsTree, line: &StmtLine) -> ParseResult<Rhs> {
        let free = line.dims.len();
        Ok(match tree {
            RhsTree::Constant(_) if free > 0 => return Err(FormSyntaxError::new(line.at, "a constant has no indices")),
            RhsTree::Constant(c) => Rhs::Constant(*c),
            RhsTree::Input(_) | RhsTree::Arg(_) | RhsTree::Zero => Rhs::Zero,
            RhsTree::Loop(_) | RhsTree::LoopResult(..) | RhsTree::CallResult(..) => Rhs::Zero,
            RhsTree::Index(p) => Rhs::Index(self.scope.poly(p)?),
            RhsTree::Add(items) => {
                let mut terms = Vec::new();
                for item in items {
                    let pred = self.pred(item.pred.as_ref())?;
                    terms.push(Addend { neg: item.neg, pred, operand: self.access(&item.operand, true)? });
                }
                Rhs::Add(terms)
            }
            RhsTree::Contract { neg, bound, pred, factors } => {
                self.scope.free = free + bound.len();
                let bound = self.scope.polys(bound)?;
                let pred = self.pred(pred.as_ref())?;
                Rhs::Contract { bound, pred, neg: *neg, factors: self.accesses(factors, true)? }
            }
            RhsTree::Reduce { reducer, bound, pred, filter: terms, arg_value: place, operand: of } => {
                let pred = self.pred(pred.as_ref())?;
                self.scope.free = free + bound.len();
                let bound = self.scope.polys(bound)?;
                let terms = self.pred(terms.as_ref())?;
                let place = place.as_ref().map_or_else(|| Ok(Poly::default()), |p| self.scope.poly(p))?;
                Rhs::Reduce(SsaReduction {
                    reducer: *reducer,
                    bound,
                    pred,
                    filter: terms,
                    arg_value: place,
                    operand: self.access(of, true)?,
                })
            }
            RhsTree::Argsort { pred, index: name, keys: of } => {
                let pred = self.pred(pred.as_ref())?;
                let last = free.checked_sub(1).map(|k| statement_index(k, &Poly::default()));
                let last = last.filter(|i| i.name == *name && !pred.mentions(&i.atom()));
                if last.is_none() || line.scalar != Some(Scalar::I64) {
                    return Err(FormSyntaxError::new(
                        line.at,
                        "`argsort` must have type `i64` and sort along the last index",
                    ));
                }
                Rhs::Argsort(Argsort { pred, keys: self.access(of, true)? })
            }
            RhsTree::Map { name, pred, args } => {
                let pred = self.pred(pred.as_ref())?;
                let args = self.accesses(args, true)?;
                let operation = self.operation(name, &args, line.at)?;
                Rhs::Map { operation, pred, args }
            }
            RhsTree::Update { base, batch, bound, pred, at, value, accumulate: add } => {
                let base = self.access(base, false)?;
                let rank = self.rank(base.var);
                let below = free.checked_sub(*batch as usize);
                if below != Some(at.len()) || rank != base.at.len() + at.len() {
                    return Err(FormSyntaxError::new(
                        line.at,
                        format!(
                            "an update with {} does not match the rank",
                            lang_base::count_with_noun(at.len(), "index", "indices")
                        ),
                    ));
                }
                if [base.var, self.var(&value.name, value.at)?].iter().any(|v| self.scalar(*v) != line.scalar) {
                    return Err(FormSyntaxError::new(line.at, "the update has a different type"));
                }
                self.scope.free = free + bound.len();
                let bound = self.scope.polys(bound)?;
                let pred = self.pred(pred.as_ref())?;
                let (at, value) = (self.scope.polys(at)?, self.access(value, true)?);
                for k in *batch as usize..free {
                    let own = statement_index(k, &Poly::default()).atom();
                    if pred.mentions(&own) || at.iter().chain(&value.at).any(|p| p.mentions(&own)) {
                        return Err(FormSyntaxError::new(line.at, format!("an update must not use index `i{k}`")));
                    }
                }
                Rhs::Update { base, batch: *batch, bound, pred, at, value, accumulate: *add }
            }
            RhsTree::Call { callee, pred, args } => {
                let sizes = self.scope.polys(&callee.sizes)?;
                let pred = self.pred(pred.as_ref())?;
                let args = self.accesses(args, false)?;
                let callee = Arc::new(self.scope.callee(callee)?);
                Rhs::Call { callee, sizes, pred, args }
            }
        })
    }

    fn operation(&self, name: &str, args: &[TensorAccess], at: usize) -> ParseResult<ScalarOp> {
        let last = args.last().and_then(|a| self.scalar(a.var));
        let binary = BinOp::ALL.into_iter().find(|op| op.symbol() == name);
        let (operation, wanted) = match (name, binary) {
            ("^", _) if last == Some(Scalar::I64) => (Some(ScalarOp::PowInt), 2),
            ("^", _) => (Some(ScalarOp::Pow), 2),
            ("!", _) => (Some(ScalarOp::Not), 1),
            (_, Some(op)) => (Some(ScalarOp::Binary(op)), 2),
            _ => match operation_named(name) {
                Some(operation @ ScalarOp::Scalar(f)) => (Some(operation), f.arguments().len()),
                other => (other, 1),
            },
        };
        match operation {
            Some(operation) if args.len() == wanted => Ok(operation),
            Some(_) => Err(FormSyntaxError::new(
                at,
                format!(
                    "`{name}` takes {}, found {}",
                    lang_base::count_with_noun(wanted, "argument", "arguments"),
                    args.len()
                ),
            )),
            None => Err(FormSyntaxError::new(at, format!("unknown operation `{name}`"))),
        }
    }
}
