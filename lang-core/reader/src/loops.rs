//! **Loops of Tensor SSA** in the reader: parses their lines and resolves them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::FormSyntaxError;
use super::lexer::FormToken;
use super::name_scope::NameMeaning;
use super::parser::{FormParser, ParseResult};
use super::ssa::{ResolvedBlock, SsaNameResolver, StatementShape};
use super::ssa_lines::{AccessTree, RhsTree, SsaLines, StmtLine};
use super::tree::FormTree;
use lang_base::Name;
use lang_base::ensure_sufficient_stack;
use lang_ir::core::{CheckpointSpacing, CoreType, TypeLeaf, Vars};
use lang_ir::flat::{FunctionInput, InputSource};
use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{SsaFunction, StmtId, TensorAccess};
use lang_sizes::predicate::{LocalId, Poly};
use lang_syntax::ops::Scalar;

/// `for j0 < m: [p] * loop j1 < n with k = j1 { … }`
pub(super) struct LoopLine {
    batch: Vec<FormTree>,
    pred: Option<FormTree>,
    trip_count: TripCountTree,
    checkpoint: Option<Option<FormTree>>,
    sizes: Vec<SizeTree>,
    body: SsaLines,
}

enum TripCountTree {
    Fixed(FormTree),
    While(Name, usize),
}

struct SizeTree {
    name: Name,
    at: usize,
    value: Option<FormTree>,
}

/// `given k = X0`, `carried X1[j0] then Y3`
pub(super) struct ArgTree {
    pub(super) name: Option<Name>,
    access: AccessTree,
    next: Option<(Name, usize)>,
}

/// `last Y1`, `every Y2`, `state Y1`, `trips`
pub(super) enum LoopResultTree {
    Final(Name),
    PerIteration(Name),
    Checkpoint(Name),
    TripCount,
}

impl FormParser<'_> {
    /// Parses `for j0 < m:`, or nothing.
    pub(super) fn loop_batch(&mut self) -> ParseResult<Vec<FormTree>> {
        let (mut next, mut batch) = (0, Vec::new());
        if self.eat_word("for") {
            batch.push(self.index_bound('j', &mut next)?);
            while self.eat(",") {
                batch.push(self.index_bound('j', &mut next)?);
            }
            self.expect_symbol(":")?;
        }
        Ok(batch)
    }

    /// Whether the next tokens begin `loop j0`. Consumes nothing.
    pub(super) fn at_loop(&self) -> bool {
        self.at_word("loop") && matches!(self.peek(1), FormToken::Name(_))
    }

    /// Parses a loop with its body, after its batch and predicate. `depth` counts the enclosing
    /// loops, including this one.
    pub(super) fn loop_line(
        &mut self,
        batch: Vec<FormTree>,
        pred: Option<FormTree>,
        depth: u32,
    ) -> ParseResult<LoopLine> {
        self.expect_word("loop")?;
        self.expect_word(&format!("j{}", batch.len()))?;
        let trips = if self.eat_word("while") {
            let at = self.offset();
            TripCountTree::While(self.name("a statement")?, at)
        } else {
            self.expect_symbol("<")?;
            TripCountTree::Fixed(self.index()?)
        };
        let mut checkpoint = None;
        if self.eat_word("checkpoint") {
            let open = self.at_word("with") || *self.peek(0) == FormToken::Symbol("{");
            checkpoint = Some(if open { None } else { Some(self.index()?) });
        }
        let mut sizes = Vec::new();
        if self.eat_word("with") {
            loop {
                let at = self.offset();
                let name = self.name("a size")?;
                let value = if self.eat("=") { Some(self.index()?) } else { None };
                sizes.push(SizeTree { name, at, value });
                if !self.eat(",") {
                    break;
                }
            }
        }
        self.expect_symbol("{")?;
        let mut body = self.nested(|p| p.block(depth))?;
        if self.eat_word("all") {
            body.needs = self.needs()?;
            if body.needs.is_empty() {
                return self.expected("`needs`");
            }
        }
        self.expect_symbol("}")?;
        Ok(LoopLine { batch, pred, trip_count: trips, checkpoint, sizes, body })
    }

    /// Parses an input of a region.
    pub(super) fn loop_input(&mut self) -> ParseResult<RhsTree> {
        let carried = self.at_word("carried");
        self.advance();
        let mut name = None;
        if *self.peek(1) == FormToken::Symbol("=") {
            name = Some(self.name("an integer")?);
            self.advance();
        }
        let of = self.access()?;
        let mut next = None;
        if carried {
            self.expect_word("then")?;
            let at = self.offset();
            next = Some((self.name("a statement")?, at));
        }
        Ok(RhsTree::Arg(ArgTree { name, access: of, next }))
    }

    /// Parses `last Y1` after `X2.`.
    pub(super) fn loop_result(&mut self) -> ParseResult<LoopResultTree> {
        if self.eat_word("trips") {
            return Ok(LoopResultTree::TripCount);
        }
        let named = if self.eat_word("last") {
            LoopResultTree::Final
        } else if self.eat_word("every") {
            LoopResultTree::PerIteration
        } else if self.eat_word("state") {
            LoopResultTree::Checkpoint
        } else {
            return self.expected("`last`, `every`, `state`, `trips` or an output number");
        };
        Ok(named(self.name("a statement")?))
    }
}

/// A resolved loop, with the roles of the statements in its body.
pub(super) struct ResolvedLoop {
    pub(super) ssa_loop: Arc<SsaLoop>,
    inputs: BTreeMap<StmtId, u32>,
    outputs: Vec<StmtId>,
    shapes: Vec<StatementShape>,
    depth: u32,
}

impl ResolvedLoop {
    fn var(&self, name: &Name, at: usize) -> ParseResult<StmtId> {
        super::ssa::statement_named(name, self.depth, self.shapes.len())
            .ok_or_else(|| FormSyntaxError::new(at, format!("`{name}` is not a statement of this loop")))
    }

    /// Returns the result of the loop that a statement names.
    pub(super) fn result(&self, tree: &LoopResultTree, line: &StmtLine) -> ParseResult<LoopResult> {
        let wrong = |what: String| Err(FormSyntaxError::new(line.at, what));
        let batch = self.ssa_loop.batch.len();
        let shape = |v: StmtId| self.shapes.get(v.0 as usize).copied().flatten().unwrap_or_default();
        let (result, (rank, scalar)) = match tree {
            LoopResultTree::Final(name) => {
                let var = self.var(name, line.at)?;
                let input = self.inputs.get(&var).copied();
                match input.filter(|k| self.ssa_loop.carried_inputs().any(|(c, _)| c == *k)) {
                    Some(k) => (LoopResult::Final(k), shape(var)),
                    None => return wrong(format!("`{name}` is not carried")),
                }
            }
            LoopResultTree::PerIteration(name) => {
                let var = self.var(name, line.at)?;
                let (rank, scalar) = shape(var);
                match self.outputs.iter().position(|o| *o == var).and_then(|k| u32::try_from(k).ok()) {
                    Some(k) => (LoopResult::PerIteration(k), (rank + 1, scalar)),
                    None => return wrong(format!("`{name}` is not an output")),
                }
            }
            LoopResultTree::Checkpoint(name) => {
                let var = self.var(name, line.at)?;
                let input = self.inputs.get(&var).copied();
                let (rank, scalar) = shape(var);
                match input.filter(|k| self.ssa_loop.carried_inputs().any(|(c, _)| c == *k)) {
                    Some(k) if self.ssa_loop.checkpoint.is_some() => (LoopResult::Checkpoint(k), (rank + 1, scalar)),
                    Some(_) => return wrong("this loop has no checkpoints".to_owned()),
                    None => return wrong(format!("`{name}` is not carried")),
                }
            }
            LoopResultTree::TripCount => (LoopResult::TripCount, (0, Some(Scalar::I64))),
        };
        if (batch + rank, scalar) != (line.dims.len(), line.scalar) {
            return wrong(format!(
                "this result has {} and type `{}`",
                lang_base::count_with_noun(batch + rank, "index", "indices"),
                scalar_name(scalar)
            ));
        }
        Ok(result)
    }
}

impl SsaNameResolver {
    /// Resolves a loop. `every` are the statements of its body that are read in every iteration,
    /// with the offsets of these reads.
    pub(super) fn resolve_loop_line(&mut self, line: &LoopLine, every: &[(&Name, usize)]) -> ParseResult<ResolvedLoop> {
        self.scope.indices_of_loop = true;
        let read = ensure_sufficient_stack(|| self.resolve_loop_body(line, every));
        self.scope.indices_of_loop = false;
        read
    }

    fn resolve_loop_body(&mut self, line: &LoopLine, every: &[(&Name, usize)]) -> ParseResult<ResolvedLoop> {
        let body = &line.body;
        self.scope.free = line.batch.len();
        let batch = self.scope.polys(&line.batch)?;
        let pred = self.pred(line.pred.as_ref())?;
        let mut inner = Self::new(self.scope.for_region(), Vars::default(), &self.callee, &body.stmts);
        let mut trips = match &line.trip_count {
            TripCountTree::Fixed(n) => LoopTripCount::Fixed(self.scope.poly(n)?),
            TripCountTree::While(..) => LoopTripCount::While(0),
        };
        let checkpoint = match &line.checkpoint {
            Some(Some(k)) => Some(CheckpointSpacing::Fixed(self.scope.poly(k)?)),
            Some(None) => Some(CheckpointSpacing::SquareRoot),
            None => None,
        };
        let mut args = Vec::new();
        let mut inputs = BTreeMap::new();
        let mut sizes = Vec::new();
        let (mut own, mut carried) = (Vec::new(), Vec::new());
        for size in &line.sizes {
            self.scope.free = line.batch.len() + 1;
            sizes.push(match &size.value {
                Some(value) => self.scope.poly(value)?,
                None => {
                    self.scope.poly(&FormTree { node: super::tree::FormNode::Name(size.name.clone()), at: size.at })?
                }
            });
            own.push(inner.declare_integer(&size.name, size.at)?);
        }
        for (k, stmt) in (0..).zip(&body.stmts) {
            let RhsTree::Arg(arg) = &stmt.rhs else { continue };
            self.scope.free = line.batch.len() + usize::from(arg.next.is_none());
            let of = self.input_access(arg, stmt)?;
            let number = u32::try_from(args.len()).unwrap_or(u32::MAX);
            let local = match &arg.name {
                Some(_) if !stmt.dims.is_empty() || stmt.scalar != Some(Scalar::I64) => {
                    return Err(FormSyntaxError::new(stmt.at, "only an integer may have a name here"));
                }
                Some(name) => inner.declare_integer(name, stmt.at)?,
                None => inner.vars.fresh(""),
            };
            let leaf = TypeLeaf { path: Vec::new(), dims: Vec::new(), scalar: stmt.scalar };
            inner.inputs.push(FunctionInput { local, source: InputSource::Param(number), leaf });
            inputs.insert(StmtId(k), number);
            carried.extend(arg.next.as_ref().map(|next| (number, next)));
            args.push(LoopArg::Captured(of));
        }
        let ResolvedBlock { stmts, checks, needs } = inner.block(body)?;
        let shapes = inner.shapes.clone();
        // The outputs are the statements that are carried on and those that are read in every
        // iteration.
        let mut output_set = BTreeSet::new();
        let mut next = Vec::new();
        for (number, (name, at)) in carried {
            let (var, own) = (inner.var(name, *at)?, inputs.iter().find(|(_, k)| **k == number));
            if inner.shape(var) != own.and_then(|(v, _)| inner.shape(*v)) {
                return Err(FormSyntaxError::new(*at, format!("`{name}` does not have the type of the carried value")));
            }
            output_set.insert(var);
            next.push((number, var));
        }
        for (name, at) in every {
            output_set.insert(inner.var(name, *at)?);
        }
        let outputs: Vec<StmtId> = output_set.into_iter().collect();
        for (number, var) in next {
            let place = outputs.iter().position(|o| *o == var).and_then(|k| u32::try_from(k).ok());
            if let Some(arg) = args.get_mut(number as usize) {
                *arg = LoopArg::Carried { init: arg.access().clone(), next: place.unwrap_or(u32::MAX) };
            }
        }
        if let (TripCountTree::While(name, at), LoopTripCount::While(k)) = (&line.trip_count, &mut trips) {
            let var = inner.var(name, *at)?;
            let carried = inputs.get(&var).filter(|k| matches!(args.get(**k as usize), Some(LoopArg::Carried { .. })));
            match carried.filter(|_| inner.shape(var) == Some((0, Some(Scalar::Bool)))) {
                Some(number) => *k = *number,
                None => return Err(FormSyntaxError::new(*at, format!("`{name}` is not a carried truth value"))),
            }
        }
        let leaf = |v: &StmtId| {
            let stmt = stmts.get(v.0 as usize);
            let (dims, scalar) = stmt.map(|s| (s.dims.clone(), s.scalar)).unwrap_or_default();
            (TypeLeaf { path: Vec::new(), dims, scalar }, *v)
        };
        let region = SsaFunction {
            callee: self.callee.clone(),
            vars: inner.vars,
            sizes: own,
            bounded: BTreeSet::new(),
            params: Vec::new(),
            inputs: inner.inputs,
            outputs: outputs.iter().map(leaf).collect(),
            stmts,
            checks,
            needs,
            is_opaque: false,
            result: CoreType::unit(),
        };
        let depth = inner.scope.depth;
        let of = Arc::new(SsaLoop { batch, pred, trip_count: trips, checkpoint, sizes, args, body: Arc::new(region) });
        Ok(ResolvedLoop { ssa_loop: of, inputs, outputs, shapes, depth })
    }

    /// Resolves the access of an input, which must leave as many indices as the input has.
    fn input_access(&self, arg: &ArgTree, stmt: &StmtLine) -> ParseResult<TensorAccess> {
        let of = self.access(&arg.access, false)?;
        let (rank, scalar) = self.shape(of.var).unwrap_or_default();
        if rank != of.at.len() + stmt.dims.len() || scalar != stmt.scalar {
            let what = format!(
                "the operand has {} and type `{}`",
                lang_base::count_with_noun(rank - of.at.len(), "index", "indices"),
                scalar_name(scalar)
            );
            return Err(FormSyntaxError::new(stmt.at, what));
        }
        Ok(of)
    }

    /// Declares a size, or an integer that is used as one.
    fn declare_integer(&mut self, name: &Name, at: usize) -> ParseResult<LocalId> {
        if self.scope.is_bound(name) {
            return Err(FormSyntaxError::new(at, format!("duplicate name `{name}`")));
        }
        let local = self.vars.fresh(name.clone());
        self.scope.bind(name, NameMeaning::Index(Poly::atom(self.vars.atom(local)), local));
        Ok(local)
    }
}

fn scalar_name(scalar: Option<Scalar>) -> &'static str {
    scalar.map_or("rel", Scalar::name)
}
