//! **Parser for the lines** of Tensor SSA, to trees without name resolution.

use super::FormSyntaxError;
use super::lexer::FormToken;
use super::loops::{ArgTree, LoopLine, LoopResultTree};
use super::parser::{FormParser, ParseResult};
use super::tree::{CalleeTree, FormTree, GlobalTree};
use lang_base::{Code, Name};
use lang_ir::canonical::statement_prefix;
use lang_ir::core::Constant;
use lang_ir::reduce::Reducer;
use lang_syntax::ops::Scalar;

#[derive(Default)]
pub(super) struct SsaLines {
    pub(super) checks: Vec<CheckLine>,
    pub(super) stmts: Vec<StmtLine>,
    pub(super) outputs: Vec<OutputTree>,
    pub(super) needs: Vec<(u32, usize)>,
}

pub(super) struct CheckLine {
    pub(super) dims: Vec<FormTree>,
    pub(super) guard: Option<FormTree>,
    pub(super) cond: FormTree,
    pub(super) code: Code,
    pub(super) message: Name,
}

pub(super) struct StmtLine {
    pub(super) at: usize,
    pub(super) dims: Vec<FormTree>,
    pub(super) scalar: Option<Scalar>,
    pub(super) rhs: RhsTree,
    pub(super) needs: Vec<(u32, usize)>,
    pub(super) name: Option<Name>,
}

pub(super) struct OutputTree {
    pub(super) at: usize,
    pub(super) var: Name,
    pub(super) path: Option<Vec<u32>>,
}

pub(super) struct AccessTree {
    pub(super) name: Name,
    pub(super) at: usize,
    pub(super) indices: Vec<FormTree>,
}

pub(super) struct TermTree {
    pub(super) neg: bool,
    pub(super) pred: Option<FormTree>,
    pub(super) operand: AccessTree,
}

pub(super) struct InputTree {
    /// The number among the inputs, if it is not the next one.
    pub(super) number: Option<u32>,
    pub(super) bounded: bool,
    pub(super) name: Name,
    pub(super) source: Option<SourceTree>,
}

pub(super) enum SourceTree {
    Param(Name, Vec<u32>),
    Tangent(u32, Option<Vec<u32>>),
    Cotangent(u32, Option<Vec<u32>>),
    Global(GlobalTree, Vec<u32>),
}

pub(super) enum RhsTree {
    Input(InputTree),
    Constant(Constant),
    Zero,
    Index(FormTree),
    Add(Vec<TermTree>),
    Contract {
        neg: bool,
        bound: Vec<FormTree>,
        pred: Option<FormTree>,
        factors: Vec<AccessTree>,
    },
    Reduce {
        reducer: Reducer,
        bound: Vec<FormTree>,
        pred: Option<FormTree>,
        filter: Option<FormTree>,
        arg_value: Option<FormTree>,
        operand: AccessTree,
    },
    /// A sort along the index of this name.
    Argsort {
        pred: Option<FormTree>,
        index: Name,
        keys: AccessTree,
    },
    Map {
        name: String,
        pred: Option<FormTree>,
        args: Vec<AccessTree>,
    },
    Call {
        callee: CalleeTree,
        pred: Option<FormTree>,
        args: Vec<AccessTree>,
    },
    Loop(Box<LoopLine>),
    Update {
        base: AccessTree,
        batch: u32,
        bound: Vec<FormTree>,
        pred: Option<FormTree>,
        at: Vec<FormTree>,
        value: AccessTree,
        accumulate: bool,
    },
    /// An input of a region.
    Arg(ArgTree),
    /// An output of a call.
    CallResult(ProducerTree, u32),
    LoopResult(ProducerTree, LoopResultTree),
}

impl RhsTree {
    /// Whether it has results instead of elements: a call or a loop.
    pub(super) fn is_producer(&self) -> bool {
        matches!(self, Self::Call { .. } | Self::Loop(_))
    }
}

/// The call or the loop that a result names.
pub(super) struct ProducerTree {
    pub(super) name: Name,
    pub(super) at: usize,
}

impl FormParser<'_> {
    /// Parses the lines of a function, or of a region inside `depth` loops, up to its end.
    pub(super) fn block(&mut self, depth: u32) -> ParseResult<SsaLines> {
        let mut lines = SsaLines::default();
        while self.at_word("check") {
            let check = self.check_line(lines.checks.len())?;
            lines.checks.push(check);
        }
        while !self.at_block_end(depth) {
            let stmt = self.stmt(lines.stmts.len(), depth)?;
            lines.stmts.push(stmt);
        }
        Ok(lines)
    }

    fn at_block_end(&self, depth: u32) -> bool {
        if depth == 0 { self.at_word("out") } else { self.at_symbol("}") || self.at_word("all") }
    }

    fn check_line(&mut self, number: usize) -> ParseResult<CheckLine> {
        self.advance();
        let at = self.offset();
        if usize::try_from(self.number("a check number")?) != Ok(number) {
            return Err(FormSyntaxError::new(at, format!("expected check {number}")));
        }
        let dims = self.indices(0)?;
        self.expect_symbol(":")?;
        let first = self.pred()?;
        let (guard, cond) = if self.eat("=>") { (Some(first), self.pred()?) } else { (None, first) };
        self.expect_symbol(",")?;
        let (code, what) = self.failure()?;
        Ok(CheckLine { dims, guard, cond, code, message: what })
    }

    /// Parses `[i0 < n, i1 < m]`, or nothing.
    fn indices(&mut self, from: usize) -> ParseResult<Vec<FormTree>> {
        if !self.eat("[") {
            return Ok(Vec::new());
        }
        let mut next = from;
        self.list("]", |p| p.index_bound('i', &mut next))
    }

    /// Parses `i0 < n`.
    pub(super) fn index_bound(&mut self, letter: char, next: &mut usize) -> ParseResult<FormTree> {
        let own = format!("{letter}{next}");
        *next += 1;
        self.expect_word(&own)?;
        self.expect_symbol("<")?;
        self.index()
    }

    fn stmt(&mut self, number: usize, depth: u32) -> ParseResult<StmtLine> {
        let at = self.offset();
        let own = format!("{}{number}", statement_prefix(depth));
        if !self.eat_word(&own) {
            let end = if depth == 0 { "out" } else { "}" };
            return self.expected(&format!("`{own}` or `{end}`"));
        }
        let dims = self.indices(0)?;
        let (scalar, rhs) = if self.eat("=") {
            (None, self.producer(!dims.is_empty(), depth)?)
        } else if self.eat(":") {
            let scalar = self.scalar()?;
            self.expect_symbol("=")?;
            (scalar, self.rhs(dims.len(), scalar)?)
        } else {
            return self.expected("`:` or `=`");
        };
        let needs = self.needs()?;
        let name = if let FormToken::Comment(name) = self.peek(0) { Some(Name::from(name)) } else { None };
        if name.is_some() {
            self.advance();
        }
        Ok(StmtLine { at, dims, scalar, rhs, needs, name })
    }

    /// Parses a scalar type, or `rel`.
    fn scalar(&mut self) -> ParseResult<Option<Scalar>> {
        let scalar = match self.peek(0) {
            FormToken::Name(word) if word == "rel" => None,
            FormToken::Name(word) => match Scalar::ALL.into_iter().find(|s| s.name() == word) {
                None => return self.expected("a scalar type or `rel`"),
                scalar => scalar,
            },
            _ => return self.expected("a scalar type or `rel`"),
        };
        self.advance();
        Ok(scalar)
    }

    pub(super) fn needs(&mut self) -> ParseResult<Vec<(u32, usize)>> {
        let mut needs = Vec::new();
        if self.eat_word("needs") {
            loop {
                let at = self.offset();
                needs.push((self.number("a check number")?, at));
                if !self.eat(",") {
                    break;
                }
            }
        }
        Ok(needs)
    }

    pub(super) fn output(&mut self) -> ParseResult<OutputTree> {
        let at = self.offset();
        let var = self.name("a statement")?;
        let path = self.output_path()?;
        Ok(OutputTree { at, var, path })
    }

    /// Parses `at 0.1`, `at ()`, or nothing.
    fn output_path(&mut self) -> ParseResult<Option<Vec<u32>>> {
        if !self.eat_word("at") {
            return Ok(None);
        }
        if self.eat("(") {
            self.expect_symbol(")")?;
            return Ok(Some(Vec::new()));
        }
        let mut path = vec![self.number("a component")?];
        path.extend(self.path()?);
        Ok(Some(path))
    }

    /// Parses `.0.1`.
    fn path(&mut self) -> ParseResult<Vec<u32>> {
        let mut path = Vec::new();
        while self.eat(".") {
            path.push(self.number("a component")?);
        }
        Ok(path)
    }

    fn input(&mut self) -> ParseResult<InputTree> {
        let bounded = matches!(self.peek(1), FormToken::Name(_)) && self.eat_word("bounded");
        let name = self.name("an input")?;
        if !self.eat("=") {
            return Ok(InputTree { number: None, bounded, name, source: None });
        }
        let numbered = matches!(self.peek(1), FormToken::Int(_));
        let source = if numbered && self.eat_word("tan") {
            SourceTree::Tangent(self.number("an input number")?, self.output_path()?)
        } else if numbered && self.eat_word("adj") {
            SourceTree::Cotangent(self.number("a component number")?, self.output_path()?)
        } else if self.eat_word("let") {
            let global = self.global()?;
            SourceTree::Global(global, self.path()?)
        } else {
            let param = self.name("a parameter")?;
            SourceTree::Param(param, self.path()?)
        };
        Ok(InputTree { number: None, bounded, name, source: Some(source) })
    }

    pub(super) fn bracket(&mut self) -> ParseResult<Option<FormTree>> {
        if !self.eat("[") {
            return Ok(None);
        }
        let pred = self.pred()?;
        self.expect_symbol("]")?;
        self.expect_symbol("*")?;
        Ok(Some(pred))
    }

    pub(super) fn access(&mut self) -> ParseResult<AccessTree> {
        let at = self.offset();
        let name = self.name("a statement")?;
        let indices = if self.eat("[") { self.list("]", Self::index)? } else { Vec::new() };
        Ok(AccessTree { name, at, indices })
    }

    fn rhs(&mut self, free: usize, scalar: Option<Scalar>) -> ParseResult<RhsTree> {
        if let Some(constant) = self.constant(scalar)? {
            return Ok(RhsTree::Constant(constant));
        }
        let names = matches!(self.peek(1), FormToken::Name(_));
        if (names || matches!(self.peek(1), FormToken::Int(_))) && self.eat_word("input") {
            let mut number = None;
            if !names {
                number = Some(self.number("an input number")?);
                self.expect_symbol(":")?;
            }
            return Ok(RhsTree::Input(InputTree { number, ..self.input()? }));
        }
        if self.eat_word("index") {
            return Ok(RhsTree::Index(self.index()?));
        }
        if names && (self.at_word("given") || self.at_word("carried")) {
            return self.loop_input();
        }
        if *self.peek(1) == FormToken::Symbol(".") {
            return self.result();
        }
        if self.eat_word("zero") {
            return Ok(RhsTree::Zero);
        }
        if self.eat_word("for") {
            let mut batch = 0;
            loop {
                self.expect_word(&format!("i{batch}"))?;
                batch += 1;
                if !self.eat(",") {
                    break;
                }
            }
            self.expect_symbol(":")?;
            let base = self.access()?;
            self.expect_word("with")?;
            return self.update(base, batch, free);
        }
        let neg = self.eat("-");
        if names && self.eat_word("sum") || neg && self.eat_word("sum") {
            let mut next = free;
            let mut bound = vec![self.index_bound('i', &mut next)?];
            while self.eat(",") {
                bound.push(self.index_bound('i', &mut next)?);
            }
            self.expect_symbol(":")?;
            let pred = self.bracket()?;
            let factors = self.factors()?;
            return Ok(RhsTree::Contract { neg, bound, pred, factors });
        }
        let pred = self.bracket()?;
        if self.at_loop() || self.at_call() {
            return Err(FormSyntaxError::new(self.offset(), "a call or a loop has no type"));
        }
        let bound = matches!(self.peek(1), FormToken::Name(_) | FormToken::Symbol(":"));
        if !neg
            && bound
            && let Some(reducer) = self.eat_reducer()
        {
            let (mut next, mut bound) = (free, Vec::new());
            while matches!(self.peek(1), FormToken::Symbol("<")) {
                bound.push(self.index_bound('i', &mut next)?);
                if !self.eat(",") {
                    break;
                }
            }
            let (terms, place) = self.filter(reducer)?;
            self.expect_symbol(":")?;
            return Ok(RhsTree::Reduce {
                reducer,
                bound,
                pred,
                filter: terms,
                arg_value: place,
                operand: self.access()?,
            });
        }
        if !neg && matches!(self.peek(1), FormToken::Name(_)) && self.eat_word("argsort") {
            let index = self.name("the last index")?;
            self.expect_symbol(":")?;
            return Ok(RhsTree::Argsort { pred, index, keys: self.access()? });
        }
        if !neg && let Some(name) = self.operation_call() {
            let args = self.list(")", Self::access)?;
            return Ok(RhsTree::Map { name, pred, args });
        }
        let mut factors = self.factors()?;
        if !neg && pred.is_none() && factors.len() == 1 && self.eat_word("with") {
            return self.update(factors.remove(0), 0, free);
        }
        if !self.at_symbol("+") && !self.at_symbol("-") {
            return Ok(RhsTree::Contract { neg, bound: Vec::new(), pred, factors });
        }
        let mut items = Vec::new();
        let mut first = factors.into_iter();
        match (first.next(), first.next()) {
            (Some(of), None) => items.push(TermTree { neg, pred, operand: of }),
            _ => return self.expected("the end of the product"),
        }
        loop {
            let neg = self.at_symbol("-");
            if !neg && !self.at_symbol("+") {
                return Ok(RhsTree::Add(items));
            }
            self.advance();
            items.push(TermTree { neg, pred: self.bracket()?, operand: self.access()? });
        }
    }

    /// Parses `[i1] += X1[i1] for i1 < n if p`, which follows the updated tensor.
    fn update(&mut self, base: AccessTree, batch: u32, free: usize) -> ParseResult<RhsTree> {
        self.expect_symbol("[")?;
        let at = self.list("]", Self::index)?;
        let add = self.eat("+=");
        if !add {
            self.expect_symbol("=")?;
        }
        let value = self.access()?;
        let (mut next, mut bound) = (free, Vec::new());
        if self.eat_word("for") {
            bound.push(self.index_bound('i', &mut next)?);
            while self.eat(",") {
                bound.push(self.index_bound('i', &mut next)?);
            }
        }
        let pred = if self.eat_word("if") { Some(self.pred()?) } else { None };
        Ok(RhsTree::Update { base, batch, bound, pred, at, value, accumulate: add })
    }

    fn factors(&mut self) -> ParseResult<Vec<AccessTree>> {
        let mut factors = vec![self.access()?];
        while self.eat("*") {
            factors.push(self.access()?);
        }
        Ok(factors)
    }

    /// Parses the name of an operation and its opening parenthesis.
    fn operation_call(&mut self) -> Option<String> {
        if *self.peek(1) != FormToken::Symbol("(") {
            return None;
        }
        let name = match self.peek(0) {
            FormToken::Name(name) => name.clone(),
            FormToken::Symbol(sign) => (*sign).to_owned(),
            _ => return None,
        };
        self.advance();
        self.advance();
        Some(name)
    }

    /// Parses a call, or a loop with its body. The indices of a loop follow its `for`.
    fn producer(&mut self, has_indices: bool, depth: u32) -> ParseResult<RhsTree> {
        let batch = if has_indices { Vec::new() } else { self.loop_batch()? };
        let pred = self.bracket()?;
        if !batch.is_empty() || !has_indices && self.at_loop() {
            return Ok(RhsTree::Loop(Box::new(self.loop_line(batch, pred, depth + 1)?)));
        }
        if !self.at_call() {
            return self.expected(if has_indices { "a call" } else { "a call or a loop" });
        }
        let callee = self.callee()?;
        self.expect_symbol("(")?;
        Ok(RhsTree::Call { callee, pred, args: self.list(")", Self::access)? })
    }

    /// Parses `X2.last Y1`, `X2.trips` or `X5.0`.
    fn result(&mut self) -> ParseResult<RhsTree> {
        let at = self.offset();
        let producer = ProducerTree { name: self.name("a statement")?, at };
        self.expect_symbol(".")?;
        if matches!(self.peek(0), FormToken::Int(_)) {
            return Ok(RhsTree::CallResult(producer, self.number("an output number")?));
        }
        Ok(RhsTree::LoopResult(producer, self.loop_result()?))
    }

    /// Parses a constant of the scalar type, if one comes next.
    fn constant(&mut self, scalar: Option<Scalar>) -> ParseResult<Option<Constant>> {
        let neg = self.at_symbol("-");
        let constant = match self.peek(usize::from(neg)) {
            FormToken::Int(i) => {
                let signed = if neg { -i } else { *i };
                let Ok(i) = i64::try_from(signed) else { return self.expected("an `i64`") };
                Constant::Int(i)
            }
            FormToken::Real(x, _) => Constant::Real(if neg { -x } else { *x }),
            FormToken::Name(word) => match word.as_str() {
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
            return self.expected(&format!("a constant of type `{}`", scalar.map_or("rel", Scalar::name)));
        }
        self.skip_tokens(usize::from(neg) + 1);
        #[expect(clippy::cast_possible_truncation, reason = "the nearest `f32`, held exactly")]
        let constant = match constant {
            Constant::Real(x) if scalar == Some(Scalar::F32) => Constant::Real(f64::from(x as f32)),
            other => other,
        };
        Ok(Some(constant))
    }

    fn skip_tokens(&mut self, count: usize) {
        (0..count).for_each(|_| self.advance());
    }
}
