//! **Loops of Tensor SSA** in the reader: parses their lines and resolves them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Wrong;
use super::lexer::Token;
use super::lines::{AccessTree, Lines, RhsTree, StmtLine};
use super::parser::{Parser, Read};
use super::ssa::{Block, Build};
use super::terms::Found;
use super::tree::Tree;
use lang_base::Name;
use lang_base::guarded;
use lang_ir::core::{CoreType, Leaf, Spacing, Vars};
use lang_ir::flat::{Input, Source};
use lang_ir::region::{Arg, Loop, Part, Trips};
use lang_ir::ssa::{Access, Rhs, Ssa, Var};
use lang_sizes::predicate::{LocalId, Poly};
use lang_syntax::ops::Scalar;

/// `L0 = for j0 < m: [p] * loop j1 < n with k = j1 { … }`
pub(super) struct LoopLine {
    pub(super) at: usize,
    batch: Vec<Tree>,
    pred: Option<Tree>,
    trips: TripsTree,
    checkpoint: Option<Option<Tree>>,
    sizes: Vec<SizeTree>,
    body: Lines,
}

enum TripsTree {
    Count(Tree),
    While(Name, usize),
}

struct SizeTree {
    name: Name,
    at: usize,
    value: Option<Tree>,
}

/// `given k = X0`, `carried X1[j0] then Y3`
pub(super) struct ArgTree {
    pub(super) name: Option<Name>,
    of: AccessTree,
    next: Option<(Name, usize)>,
}

/// `last Y1`, `every Y2`, `trips`
#[derive(Clone)]
pub(super) enum PartTree {
    Last(Name),
    Every(Name),
    State(Name),
    Trips,
}

impl Parser<'_> {
    /// Returns the number of the loop, if the next tokens begin its line or a part of it.
    pub(super) fn loop_number(&self, sign: &str) -> Option<u32> {
        match (self.ahead(0), self.ahead(1)) {
            (Token::Name(word), Token::Sign(s)) if *s == sign => word.strip_prefix('L')?.parse().ok(),
            _ => None,
        }
    }

    /// Parses a loop with its body. `depth` counts the enclosing loops, including this one.
    pub(super) fn loop_line(&mut self, depth: u32) -> Read<LoopLine> {
        let at = self.at();
        if self.loop_number("=") != Some(self.loops) {
            return self.wanted(&format!("`L{}`", self.loops));
        }
        self.loops += 1;
        self.skip();
        self.sign("=")?;
        let mut next = 0;
        let mut batch = Vec::new();
        if self.takes_word("for") {
            batch.push(self.numbered('j', &mut next)?);
            while self.takes(",") {
                batch.push(self.numbered('j', &mut next)?);
            }
            self.sign(":")?;
        }
        let pred = self.bracket()?;
        self.word("loop")?;
        self.word(&format!("j{next}"))?;
        let trips = if self.takes_word("while") {
            let at = self.at();
            TripsTree::While(self.name("a statement")?, at)
        } else {
            self.sign("<")?;
            TripsTree::Count(self.index()?)
        };
        let mut checkpoint = None;
        if self.takes_word("checkpoint") {
            let open = self.sees_word("with") || *self.ahead(0) == Token::Sign("{");
            checkpoint = Some(if open { None } else { Some(self.index()?) });
        }
        let mut sizes = Vec::new();
        if self.takes_word("with") {
            loop {
                let at = self.at();
                let name = self.name("a size")?;
                let value = if self.takes("=") { Some(self.index()?) } else { None };
                sizes.push(SizeTree { name, at, value });
                if !self.takes(",") {
                    break;
                }
            }
        }
        self.sign("{")?;
        let mut body = self.deeper(|p| p.block(depth))?;
        if self.takes_word("all") {
            body.needs = self.needs()?;
            if body.needs.is_empty() {
                return self.wanted("`needs`");
            }
        }
        self.sign("}")?;
        Ok(LoopLine { at, batch, pred, trips, checkpoint, sizes, body })
    }

    /// Parses an input of a region.
    pub(super) fn argument(&mut self) -> Read<RhsTree> {
        let carried = self.sees_word("carried");
        self.skip();
        let mut name = None;
        if *self.ahead(1) == Token::Sign("=") {
            name = Some(self.name("an integer")?);
            self.skip();
        }
        let of = self.access()?;
        let mut next = None;
        if carried {
            self.word("then")?;
            let at = self.at();
            next = Some((self.name("a statement")?, at));
        }
        Ok(RhsTree::Arg(ArgTree { name, of, next }))
    }

    /// Parses `L0.last Y1`, if it comes next.
    pub(super) fn part(&mut self) -> Read<Option<RhsTree>> {
        let Some(number) = self.loop_number(".") else { return Ok(None) };
        let named = matches!(self.ahead(3), Token::Name(_));
        let part = match self.ahead(2) {
            Token::Name(word) if word == "last" && named => PartTree::Last,
            Token::Name(word) if word == "every" && named => PartTree::Every,
            Token::Name(word) if word == "state" && named => PartTree::State,
            Token::Name(word) if word == "trips" && *self.ahead(3) != Token::Sign("[") => {
                (0..3).for_each(|_| self.skip());
                return Ok(Some(RhsTree::Part(number, PartTree::Trips)));
            }
            _ => return Ok(None),
        };
        (0..3).for_each(|_| self.skip());
        Ok(Some(RhsTree::Part(number, part(self.name("a statement")?))))
    }
}

/// A resolved loop, with the roles of the statements in its body.
pub(super) struct Known {
    of: Arc<Loop>,
    inputs: BTreeMap<Var, u32>,
    outputs: Vec<Var>,
    /// The rank and scalar type of its statements.
    shapes: Vec<(usize, Option<Scalar>)>,
    depth: u32,
}

impl Known {
    fn var(&self, name: &Name, at: usize) -> Read<Var> {
        super::ssa::numbered(name, self.depth, self.shapes.len())
            .ok_or_else(|| Wrong::new(at, format!("`{name}` is no statement of this loop")))
    }

    /// Returns a part of the loop as the right-hand side of a statement.
    pub(super) fn part(&self, tree: &PartTree, line: &StmtLine) -> Read<Rhs> {
        let wrong = |what: String| Err(Wrong::new(line.at, what));
        let batch = self.of.batch.len();
        let shape = |v: Var| self.shapes.get(v.0 as usize).copied().unwrap_or_default();
        let (part, (rank, scalar)) = match tree {
            PartTree::Last(name) => {
                let var = self.var(name, line.at)?;
                let input = self.inputs.get(&var).copied();
                match input.filter(|k| self.of.carried().any(|(c, _)| c == *k)) {
                    Some(k) => (Part::Last(k), shape(var)),
                    None => return wrong(format!("`{name}` is not carried")),
                }
            }
            PartTree::Every(name) => {
                let var = self.var(name, line.at)?;
                let (rank, scalar) = shape(var);
                match self.outputs.iter().position(|o| *o == var).and_then(|k| u32::try_from(k).ok()) {
                    Some(k) => (Part::Every(k), (rank + 1, scalar)),
                    None => return wrong(format!("`{name}` is not given")),
                }
            }
            PartTree::State(name) => {
                let var = self.var(name, line.at)?;
                let input = self.inputs.get(&var).copied();
                let (rank, scalar) = shape(var);
                match input.filter(|k| self.of.carried().any(|(c, _)| c == *k)) {
                    Some(k) if self.of.checkpoint.is_some() => (Part::State(k), (rank + 1, scalar)),
                    Some(_) => return wrong("no states are kept of this loop".to_owned()),
                    None => return wrong(format!("`{name}` is not carried")),
                }
            }
            PartTree::Trips => (Part::Trips, (0, Some(Scalar::I64))),
        };
        if (batch + rank, scalar) != (line.dims.len(), line.scalar) {
            return wrong(format!("this part has {} indices and is `{}`", batch + rank, name_of(scalar)));
        }
        Ok(Rhs::Loop(self.of.clone(), part))
    }
}

impl Build {
    /// Resolves a loop whose parts `parts` are read.
    pub(super) fn looped(&mut self, line: &LoopLine, parts: &[PartTree]) -> Read<Known> {
        self.terms.of_loop = true;
        let read = guarded(|| self.loop_here(line, parts));
        self.terms.of_loop = false;
        read
    }

    fn loop_here(&mut self, line: &LoopLine, parts: &[PartTree]) -> Read<Known> {
        let body = &line.body;
        self.terms.free = line.batch.len();
        let batch = self.terms.polys(&line.batch)?;
        let pred = self.pred(line.pred.as_ref())?;
        let mut inner = Self::new(self.terms.inside(), Vars::default(), &self.callee, &body.stmts);
        let mut trips = match &line.trips {
            TripsTree::Count(n) => Trips::Count(self.terms.poly(n)?),
            TripsTree::While(..) => Trips::While(0),
        };
        let checkpoint = match &line.checkpoint {
            Some(Some(k)) => Some(Spacing::Every(self.terms.poly(k)?)),
            Some(None) => Some(Spacing::Root),
            None => None,
        };
        let mut args = Vec::new();
        let mut inputs = BTreeMap::new();
        let mut sizes = Vec::new();
        let (mut own, mut carried) = (Vec::new(), Vec::new());
        for size in &line.sizes {
            self.terms.free = line.batch.len() + 1;
            sizes.push(match &size.value {
                Some(value) => self.terms.poly(value)?,
                None => self.terms.poly(&Tree { node: super::tree::Node::Name(size.name.clone()), at: size.at })?,
            });
            own.push(inner.integer(&size.name, size.at)?);
        }
        for (k, stmt) in (0..).zip(&body.stmts) {
            let RhsTree::Arg(arg) = &stmt.rhs else { continue };
            self.terms.free = line.batch.len() + usize::from(arg.next.is_none());
            let of = self.passed(arg, stmt)?;
            let number = u32::try_from(args.len()).unwrap_or(u32::MAX);
            let local = match &arg.name {
                Some(_) if !stmt.dims.is_empty() || stmt.scalar != Some(Scalar::I64) => {
                    return Err(Wrong::new(stmt.at, "only an integer has a name here"));
                }
                Some(name) => inner.integer(name, stmt.at)?,
                None => inner.vars.fresh(""),
            };
            let leaf = Leaf { path: Vec::new(), dims: Vec::new(), scalar: stmt.scalar };
            inner.inputs.push(Input { local, source: Source::Param(number), leaf });
            inputs.insert(Var(k), number);
            carried.extend(arg.next.as_ref().map(|next| (number, next)));
            args.push(Arg::Given(of));
        }
        let Block { stmts, checks, needs } = inner.block(body)?;
        let shape = |v: Var| inner.shapes.get(v.0 as usize).copied();
        let shapes = inner.shapes.clone();
        // The outputs are the statements that are carried on and those that are read in every
        // iteration.
        let mut given = BTreeSet::new();
        let mut next = Vec::new();
        for (number, (name, at)) in carried {
            let (var, own) = (inner.var(name, *at)?, inputs.iter().find(|(_, k)| **k == number));
            if shape(var) != own.and_then(|(v, _)| shape(*v)) {
                return Err(Wrong::new(*at, format!("`{name}` is of another type than what is carried")));
            }
            given.insert(var);
            next.push((number, var));
        }
        for part in parts {
            if let PartTree::Every(name) = part {
                given.insert(inner.var(name, line.at)?);
            }
        }
        let outputs: Vec<Var> = given.into_iter().collect();
        for (number, var) in next {
            let place = outputs.iter().position(|o| *o == var).and_then(|k| u32::try_from(k).ok());
            if let Some(arg) = args.get_mut(number as usize) {
                *arg = Arg::Carried { init: arg.access().clone(), next: place.unwrap_or(u32::MAX) };
            }
        }
        if let (TripsTree::While(name, at), Trips::While(k)) = (&line.trips, &mut trips) {
            let var = inner.var(name, *at)?;
            let carried = inputs.get(&var).filter(|k| matches!(args.get(**k as usize), Some(Arg::Carried { .. })));
            match carried.filter(|_| shape(var) == Some((0, Some(Scalar::Bool)))) {
                Some(number) => *k = *number,
                None => return Err(Wrong::new(*at, format!("`{name}` is no truth value that is carried"))),
            }
        }
        let leaf = |v: &Var| {
            let stmt = stmts.get(v.0 as usize);
            let (dims, scalar) = stmt.map(|s| (s.dims.clone(), s.scalar)).unwrap_or_default();
            (Leaf { path: Vec::new(), dims, scalar }, *v)
        };
        let region = Ssa {
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
            opaque: false,
            result: CoreType::unit(),
        };
        let depth = inner.terms.depth;
        let of = Arc::new(Loop { batch, pred, trips, checkpoint, sizes, args, body: Arc::new(region) });
        Ok(Known { of, inputs, outputs, shapes, depth })
    }

    /// Resolves the access of an input, which must leave as many indices as the input has.
    fn passed(&self, arg: &ArgTree, stmt: &StmtLine) -> Read<Access> {
        let of = self.access(&arg.of, false)?;
        let (rank, scalar) = self.shapes.get(of.var.0 as usize).copied().unwrap_or_default();
        if rank != of.at.len() + stmt.dims.len() || scalar != stmt.scalar {
            let what = format!("what is read has {} indices and is `{}`", rank - of.at.len(), name_of(scalar));
            return Err(Wrong::new(stmt.at, what));
        }
        Ok(of)
    }

    /// Declares a size, or an integer that is used as one.
    fn integer(&mut self, name: &Name, at: usize) -> Read<LocalId> {
        if self.terms.knows(name) {
            return Err(Wrong::new(at, format!("`{name}` is there twice")));
        }
        let local = self.vars.fresh(name.clone());
        self.terms.enter(name, Found::Index(Poly::atom(self.vars.atom(local)), local));
        Ok(local)
    }
}

fn name_of(scalar: Option<Scalar>) -> &'static str {
    scalar.map_or("rel", Scalar::name)
}
