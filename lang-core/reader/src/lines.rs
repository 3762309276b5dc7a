//! **Parser for the lines** of Tensor SSA, to trees without name resolution.

use super::Wrong;
use super::lexer::Token;
use super::loops::{ArgTree, LoopLine, PartTree};
use super::parser::{Parser, Read};
use super::tree::{CalleeTree, GlobalTree, Tree};
use lang_base::{Code, Name};
use lang_ir::canonical::statements;
use lang_ir::core::Constant;
use lang_ir::reduce::Reducer;
use lang_syntax::ops::Scalar;

#[derive(Default)]
pub(super) struct Lines {
    pub(super) checks: Vec<CheckLine>,
    pub(super) stmts: Vec<StmtLine>,
    /// The loops, with their numbers.
    pub(super) loops: Vec<(u32, LoopLine)>,
    pub(super) outputs: Vec<OutputTree>,
    pub(super) needs: Vec<(u32, usize)>,
}

pub(super) struct CheckLine {
    pub(super) dims: Vec<Tree>,
    pub(super) guard: Option<Tree>,
    pub(super) cond: Tree,
    pub(super) code: Code,
    pub(super) what: Name,
}

pub(super) struct StmtLine {
    pub(super) at: usize,
    pub(super) dims: Vec<Tree>,
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
    pub(super) indices: Vec<Tree>,
}

pub(super) struct TermTree {
    pub(super) neg: bool,
    pub(super) pred: Option<Tree>,
    pub(super) of: AccessTree,
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
    Index(Tree),
    Add(Vec<TermTree>),
    Contract {
        neg: bool,
        bound: Vec<Tree>,
        pred: Option<Tree>,
        factors: Vec<AccessTree>,
    },
    Reduce {
        reducer: Reducer,
        bound: Vec<Tree>,
        pred: Option<Tree>,
        terms: Option<Tree>,
        place: Option<Tree>,
        of: AccessTree,
    },
    /// A sort along the index of this name.
    Order {
        pred: Option<Tree>,
        index: Name,
        of: AccessTree,
    },
    Map {
        name: String,
        pred: Option<Tree>,
        args: Vec<AccessTree>,
    },
    Call {
        callee: CalleeTree,
        batch: u32,
        pred: Option<Tree>,
        args: Vec<AccessTree>,
        part: u32,
    },
    Update {
        base: AccessTree,
        batch: u32,
        bound: Vec<Tree>,
        pred: Option<Tree>,
        at: Vec<Tree>,
        value: AccessTree,
        add: bool,
    },
    /// An input of a region.
    Arg(ArgTree),
    /// A part of the loop of this number.
    Part(u32, PartTree),
}

impl Parser<'_> {
    /// Parses the lines of a function, or of a region inside `depth` loops, up to its end.
    pub(super) fn block(&mut self, depth: u32) -> Read<Lines> {
        let mut lines = Lines::default();
        while self.sees_word("check") {
            let check = self.check_line(lines.checks.len())?;
            lines.checks.push(check);
        }
        while !self.ends(depth) {
            if self.loop_number("=").is_some() {
                let number = self.loops;
                lines.loops.push((number, self.loop_line(depth + 1)?));
                continue;
            }
            let stmt = self.stmt(lines.stmts.len(), depth)?;
            lines.stmts.push(stmt);
        }
        Ok(lines)
    }

    fn ends(&self, depth: u32) -> bool {
        if depth == 0 { self.sees_word("out") } else { self.sees("}") || self.sees_word("all") }
    }

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

    /// Parses `[i0 < n, i1 < m]`, or nothing.
    fn indices(&mut self, from: usize) -> Read<Vec<Tree>> {
        if !self.takes("[") {
            return Ok(Vec::new());
        }
        let mut next = from;
        self.list("]", |p| p.numbered('i', &mut next))
    }

    /// Parses `i0 < n`.
    pub(super) fn numbered(&mut self, letter: char, next: &mut usize) -> Read<Tree> {
        let own = format!("{letter}{next}");
        *next += 1;
        self.word(&own)?;
        self.sign("<")?;
        self.index()
    }

    fn stmt(&mut self, number: usize, depth: u32) -> Read<StmtLine> {
        let at = self.at();
        let own = format!("{}{number}", statements(depth));
        if !self.takes_word(&own) {
            let end = if depth == 0 { "out" } else { "}" };
            return self.wanted(&format!("`{own}` or `{end}`"));
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

    pub(super) fn needs(&mut self) -> Read<Vec<(u32, usize)>> {
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

    pub(super) fn output(&mut self) -> Read<OutputTree> {
        let at = self.at();
        let var = self.name("a statement")?;
        let path = self.place()?;
        Ok(OutputTree { at, var, path })
    }

    /// Parses `at 0.1`, `at ()`, or nothing.
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

    /// Parses `.0.1`.
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
            return Ok(InputTree { number: None, bounded, name, source: None });
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
        Ok(InputTree { number: None, bounded, name, source: Some(source) })
    }

    pub(super) fn bracket(&mut self) -> Read<Option<Tree>> {
        if !self.takes("[") {
            return Ok(None);
        }
        let pred = self.pred()?;
        self.sign("]")?;
        self.sign("*")?;
        Ok(Some(pred))
    }

    pub(super) fn access(&mut self) -> Read<AccessTree> {
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
        if (names || matches!(self.ahead(1), Token::Int(_))) && self.takes_word("input") {
            let mut number = None;
            if !names {
                number = Some(self.number("the number of an input")?);
                self.sign(":")?;
            }
            return Ok(RhsTree::Input(InputTree { number, ..self.input()? }));
        }
        if self.takes_word("index") {
            return Ok(RhsTree::Index(self.index()?));
        }
        if names && (self.sees_word("given") || self.sees_word("carried")) {
            return self.argument();
        }
        if let Some(part) = self.part()? {
            return Ok(part);
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
            if !self.sees("[") && !self.sees_call() {
                let base = self.access()?;
                self.word("with")?;
                return self.update(base, batch, free);
            }
            let pred = self.bracket()?;
            return self.call(batch, pred);
        }
        let neg = self.takes("-");
        if names && self.takes_word("sum") || neg && self.takes_word("sum") {
            let mut next = free;
            let mut bound = vec![self.numbered('i', &mut next)?];
            while self.takes(",") {
                bound.push(self.numbered('i', &mut next)?);
            }
            self.sign(":")?;
            let pred = self.bracket()?;
            let factors = self.factors()?;
            return Ok(RhsTree::Contract { neg, bound, pred, factors });
        }
        let pred = self.bracket()?;
        let bound = matches!(self.ahead(1), Token::Name(_) | Token::Sign(":"));
        if !neg
            && bound
            && let Some(reducer) = self.takes_reducer()
        {
            let (mut next, mut bound) = (free, Vec::new());
            while matches!(self.ahead(1), Token::Sign("<")) {
                bound.push(self.numbered('i', &mut next)?);
                if !self.takes(",") {
                    break;
                }
            }
            let (terms, place) = self.filter(reducer)?;
            self.sign(":")?;
            return Ok(RhsTree::Reduce { reducer, bound, pred, terms, place, of: self.access()? });
        }
        if !neg && matches!(self.ahead(1), Token::Name(_)) && self.takes_word("argsort") {
            let index = self.name("the last index")?;
            self.sign(":")?;
            return Ok(RhsTree::Order { pred, index, of: self.access()? });
        }
        if !neg {
            if let Some(name) = self.mapped() {
                let args = self.list(")", Self::access)?;
                return Ok(RhsTree::Map { name, pred, args });
            }
            if self.sees_call() {
                return self.call(0, pred);
            }
        }
        let mut factors = self.factors()?;
        if !neg && pred.is_none() && factors.len() == 1 && self.takes_word("with") {
            return self.update(factors.remove(0), 0, free);
        }
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

    /// Parses `[i1] += X1[i1] for i1 < n if p`, which follows the updated tensor.
    fn update(&mut self, base: AccessTree, batch: u32, free: usize) -> Read<RhsTree> {
        self.sign("[")?;
        let at = self.list("]", Self::index)?;
        let add = self.takes("+=");
        if !add {
            self.sign("=")?;
        }
        let value = self.access()?;
        let (mut next, mut bound) = (free, Vec::new());
        if self.takes_word("for") {
            bound.push(self.numbered('i', &mut next)?);
            while self.takes(",") {
                bound.push(self.numbered('i', &mut next)?);
            }
        }
        let pred = if self.takes_word("if") { Some(self.pred()?) } else { None };
        Ok(RhsTree::Update { base, batch, bound, pred, at, value, add })
    }

    fn factors(&mut self) -> Read<Vec<AccessTree>> {
        let mut factors = vec![self.access()?];
        while self.takes("*") {
            factors.push(self.access()?);
        }
        Ok(factors)
    }

    /// Parses the name of an operation and its opening parenthesis.
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

    /// Parses a constant of the scalar type, if one comes next.
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
