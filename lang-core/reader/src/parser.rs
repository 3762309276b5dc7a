//! **Recursive-descent parser** from tokens to trees. Nesting is limited to [`DEPTH`].

use super::Wrong;
use super::lexer::{Token, Tokens};
use super::tree::{LetTree, LoopTree, Node, ReduceTree, Tree, UpdateTree, Word};
use lang_base::guarded;
use lang_base::{Code, Name};
use lang_ir::reduce::Reducer;
use lang_syntax::ops::BinOp;

/// The maximal depth of nesting.
pub(super) const DEPTH: usize = 400;

pub(super) type Read<T> = Result<T, Wrong>;

pub(super) struct Parser<'t> {
    pub(super) tokens: &'t Tokens,
    pub(super) next: usize,
    /// The number of loops of Tensor SSA that have begun.
    pub(super) loops: u32,
    depth: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(tokens: &'t Tokens) -> Self {
        Self { tokens, next: 0, loops: 0, depth: 0 }
    }

    // ---- tokens ----

    pub(super) fn ahead(&self, k: usize) -> &'t Token {
        self.tokens.tokens.get(self.next + k).map_or(&Token::End, |t| &t.0)
    }

    /// Returns the offset of the next token.
    pub(super) fn at(&self) -> usize {
        self.tokens.tokens.get(self.next).or(self.tokens.tokens.last()).map_or(0, |t| t.1)
    }

    pub(super) fn skip(&mut self) {
        self.next += 1;
    }

    pub(super) fn sees(&self, sign: &str) -> bool {
        matches!(self.ahead(0), Token::Sign(s) if *s == sign)
    }

    pub(super) fn sees_word(&self, word: &str) -> bool {
        matches!(self.ahead(0), Token::Name(w) if w == word)
    }

    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let sees = self.sees(sign);
        self.next += usize::from(sees);
        sees
    }

    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let sees = self.sees_word(word);
        self.next += usize::from(sees);
        sees
    }

    pub(super) fn wanted<T>(&self, what: &str) -> Read<T> {
        Err(Wrong::new(self.at(), format!("{what} is wanted, not {}", self.ahead(0).shown())))
    }

    pub(super) fn sign(&mut self, sign: &str) -> Read<()> {
        if self.takes(sign) { Ok(()) } else { self.wanted(&format!("`{sign}`")) }
    }

    pub(super) fn word(&mut self, word: &str) -> Read<()> {
        if self.takes_word(word) { Ok(()) } else { self.wanted(&format!("`{word}`")) }
    }

    pub(super) fn name(&mut self, what: &str) -> Read<Name> {
        let Token::Name(name) = self.ahead(0) else { return self.wanted(what) };
        self.skip();
        Ok(name.into())
    }

    pub(super) fn number(&mut self, what: &str) -> Read<u32> {
        let Token::Int(i) = self.ahead(0) else { return self.wanted(what) };
        let Ok(i) = u32::try_from(*i) else { return self.wanted(what) };
        self.skip();
        Ok(i)
    }

    pub(super) fn numbers(&mut self, what: &str) -> Read<Vec<u32>> {
        let mut numbers = Vec::new();
        if matches!(self.ahead(0), Token::Int(_)) {
            numbers.push(self.number(what)?);
            while self.takes(",") {
                numbers.push(self.number(what)?);
            }
        }
        Ok(numbers)
    }

    /// Parses items up to a closing bracket, separated by commas.
    pub(super) fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut items = Vec::new();
        while !self.takes(close) {
            if !items.is_empty() {
                if !self.takes(",") {
                    return self.wanted(&format!("`,` or `{close}`"));
                }
                // A tuple of one item: `(x,)`.
                if items.len() == 1 && close == ")" && self.takes(close) {
                    return Ok(items);
                }
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(super) fn end(&self) -> Read<()> {
        if *self.ahead(0) == Token::End { Ok(()) } else { self.wanted("the end of the text") }
    }

    pub(super) fn deeper<T>(&mut self, step: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= DEPTH {
            return Err(Wrong::new(self.at(), "nested too deeply"));
        }
        self.depth += 1;
        let read = guarded(|| step(self));
        self.depth -= 1;
        read
    }

    // ---- expressions ----

    /// Parses an index expression.
    pub(super) fn index(&mut self) -> Read<Tree> {
        self.deeper(Self::sum)
    }

    /// Parses a predicate.
    pub(super) fn pred(&mut self) -> Read<Tree> {
        self.deeper(Self::or)
    }

    /// Parses a whole expression, with its type if one follows.
    pub(super) fn open(&mut self) -> Read<Tree> {
        self.deeper(|p| {
            let at = p.at();
            let tree = p.or()?;
            if !p.takes(":") {
                return Ok(tree);
            }
            let ty = p.ty()?;
            Ok(Tree { node: Node::Typed(Box::new(tree), ty), at })
        })
    }

    fn or(&mut self) -> Read<Tree> {
        self.logic("||", BinOp::Or, |p| p.logic("&&", BinOp::And, Self::compare))
    }

    fn logic(&mut self, sign: &str, op: BinOp, mut item: impl FnMut(&mut Self) -> Read<Tree>) -> Read<Tree> {
        let at = self.at();
        let first = item(self)?;
        if !self.sees(sign) {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.takes(sign) {
            items.push(item(self)?);
        }
        Ok(Tree { node: Node::Logic(op, items), at })
    }

    fn compare(&mut self) -> Read<Tree> {
        let at = self.at();
        let left = self.sum()?;
        let op = match self.ahead(0) {
            Token::Sign("==") => BinOp::Eq,
            Token::Sign("!=") => BinOp::Ne,
            Token::Sign("<") => BinOp::Lt,
            Token::Sign("<=") => BinOp::Le,
            Token::Sign(">") => BinOp::Gt,
            Token::Sign(">=") => BinOp::Ge,
            _ => return Ok(left),
        };
        self.skip();
        let right = self.sum()?;
        Ok(Tree { node: Node::Compare(op, Box::new(left), Box::new(right)), at })
    }

    fn sum(&mut self) -> Read<Tree> {
        let at = self.at();
        let first = self.product()?;
        if !self.sees("+") && !self.sees("-") {
            return Ok(first);
        }
        let mut items = vec![(false, first)];
        loop {
            let neg = self.sees("-");
            if !neg && !self.sees("+") {
                return Ok(Tree { node: Node::Sum(items), at });
            }
            self.skip();
            items.push((neg, self.product()?));
        }
    }

    fn product(&mut self) -> Read<Tree> {
        let at = self.at();
        let first = self.unary()?;
        let mut rest = Vec::new();
        loop {
            let op = match self.ahead(0) {
                Token::Sign("*") => BinOp::Mul,
                Token::Sign("/") => BinOp::Div,
                Token::Sign("//") => BinOp::FloorDiv,
                Token::Sign("%") => BinOp::Mod,
                _ if rest.is_empty() => return Ok(first),
                _ => return Ok(Tree { node: Node::Product(Box::new(first), rest), at }),
            };
            self.skip();
            rest.push((op, self.unary()?));
        }
    }

    fn unary(&mut self) -> Read<Tree> {
        let at = self.at();
        if self.takes("-") {
            let inner = self.deeper(Self::unary)?;
            return Ok(Tree { node: Node::Neg(Box::new(inner)), at });
        }
        if self.takes("!") {
            let inner = self.deeper(Self::unary)?;
            return Ok(Tree { node: Node::Not(Box::new(inner)), at });
        }
        let base = self.postfix()?;
        if !self.takes("^") {
            return Ok(base);
        }
        let exponent = self.deeper(|p| if p.sees("-") { p.unary() } else { p.postfix() })?;
        Ok(Tree { node: Node::Pow(Box::new(base), Box::new(exponent)), at })
    }

    fn postfix(&mut self) -> Read<Tree> {
        let at = self.at();
        let mut tree = self.primary()?;
        let mut links = 0;
        loop {
            let node = if self.takes("[") {
                Node::At(Box::new(tree), self.list("]", Self::index)?)
            } else if self.takes(".") {
                if let Token::Name(name) = self.ahead(0) {
                    self.skip();
                    Node::Field(Box::new(tree), name.into())
                } else {
                    Node::Component(Box::new(tree), self.number("a component")?)
                }
            } else {
                return Ok(tree);
            };
            tree = Tree { node, at };
            links += 1;
            if self.depth + links > DEPTH {
                return Err(Wrong::new(at, "nested too deeply"));
            }
        }
    }

    fn primary(&mut self) -> Read<Tree> {
        let at = self.at();
        let node = match self.ahead(0) {
            Token::Int(i) => {
                self.skip();
                Node::Int(*i)
            }
            Token::Real(x, single) => {
                self.skip();
                Node::Real(*x, *single)
            }
            Token::Sign("(") => self.parenthesised()?,
            Token::Sign("[") => {
                self.skip();
                let pred = self.pred()?;
                self.sign("]")?;
                if !self.sees("*") {
                    return self.wanted("`*` after a bracket");
                }
                Node::Bracket(Box::new(pred))
            }
            Token::Sign("{") => {
                self.skip();
                Node::Record(self.list("}", |p| {
                    let name = p.name("a field")?;
                    p.sign(":")?;
                    Ok((name, p.open()?))
                })?)
            }
            Token::Name(_) | Token::Text(_) | Token::Quoted(_) if self.sees_call() => {
                let callee = self.deeper(Self::callee)?;
                self.sign("(")?;
                Node::Call(Box::new(callee), self.list(")", Self::open)?)
            }
            Token::Name(word) => self.worded(word)?,
            _ => return self.wanted("an expression"),
        };
        Ok(Tree { node, at })
    }

    fn parenthesised(&mut self) -> Read<Node> {
        self.skip();
        if self.takes(")") {
            return Ok(Node::Tuple(Vec::new()));
        }
        let first = self.open()?;
        if self.takes(")") {
            return Ok(Node::Group(Box::new(first)));
        }
        let mut items = vec![first];
        while self.takes(",") {
            if items.len() == 1 && self.sees(")") {
                break;
            }
            items.push(self.open()?);
        }
        if !self.takes(")") {
            return self.wanted("`,` or `)`");
        }
        Ok(Node::Tuple(items))
    }

    fn worded(&mut self, word: &str) -> Read<Node> {
        let binds = matches!(self.ahead(1), Token::Name(_));
        match word {
            "for" => self.binder(Word::For),
            "sum" if binds => self.binder(Word::Sum),
            "any" if binds => self.binder(Word::Any),
            "argsort" if binds => self.binder(Word::Argsort),
            _ if binds && reducer(word).is_some() => self.reduction(),
            "loop" if binds => self.repeat(),
            "update" if *self.ahead(1) == Token::Sign("(") => self.update_of(),
            "let" => self.lets(),
            "check" => self.check(),
            "in" => self.wanted("an expression"),
            "true" | "false" => {
                self.skip();
                Ok(Node::Bool(word == "true"))
            }
            "nan" | "inf" => {
                self.skip();
                Ok(Node::Real(if word == "nan" { f64::NAN } else { f64::INFINITY }, false))
            }
            _ => {
                self.skip();
                if self.takes("(") {
                    return Ok(Node::Apply(word.into(), self.list(")", Self::open)?));
                }
                Ok(Node::Name(word.into()))
            }
        }
    }

    fn binder(&mut self, word: Word) -> Read<Node> {
        self.skip();
        let name = self.name("an index variable")?;
        self.sign("<")?;
        let extent = self.index()?;
        self.sign(":")?;
        let body = if word == Word::Any { self.pred()? } else { self.open()? };
        Ok(Node::Binder(word, name, Box::new(extent), Box::new(body)))
    }

    fn reduction(&mut self) -> Read<Node> {
        let Some(reducer) = self.takes_reducer() else { return self.wanted("a reduction") };
        let indices = self.extents()?;
        let (terms, place) = self.filter(reducer)?;
        self.sign(":")?;
        Ok(Node::Reduce(Box::new(ReduceTree { reducer, indices, terms, place, body: self.open()? })))
    }

    /// Parses `i < n, j < m`.
    fn extents(&mut self) -> Read<Vec<(Name, Tree)>> {
        let mut indices = Vec::new();
        loop {
            let name = self.name("an index variable")?;
            self.sign("<")?;
            indices.push((name, self.index()?));
            if !self.takes(",") {
                return Ok(indices);
            }
        }
    }

    fn repeat(&mut self) -> Read<Node> {
        self.skip();
        let counter = self.name("the number of an iteration")?;
        let count = if self.takes("<") { Some(self.index()?) } else { None };
        let checkpoint = self.spacing("from")?;
        let init = self.deeper(Self::or)?;
        if count.is_none() {
            self.word("while")?;
            self.sign(".")?;
            if self.number("the first part")? != 0 {
                return self.wanted("the first part");
            }
        }
        self.sign(":")?;
        let body = self.deeper(Self::callee)?;
        self.sign("(")?;
        let args = self.list(")", Self::open)?;
        Ok(Node::Loop(Box::new(LoopTree { counter, count, checkpoint, init, body, args })))
    }

    /// Parses `checkpoint 8`, `checkpoint` or nothing, and then the word `end`.
    pub(super) fn spacing(&mut self, end: &str) -> Read<Option<Option<Tree>>> {
        if !self.takes_word("checkpoint") {
            self.word(end)?;
            return Ok(None);
        }
        if self.takes_word(end) {
            return Ok(Some(None));
        }
        let k = self.index()?;
        self.word(end)?;
        Ok(Some(Some(k)))
    }

    fn update_of(&mut self) -> Read<Node> {
        self.skip();
        self.sign("(")?;
        let base = self.open()?;
        self.sign(",")?;
        self.sign("[")?;
        let at = self.list("]", Self::index)?;
        let add = self.takes("+=");
        if !add {
            self.sign("=")?;
        }
        let value = self.open()?;
        let over = if self.takes_word("for") { self.extents()? } else { Vec::new() };
        let pred = if self.takes_word("if") { Some(self.pred()?) } else { None };
        self.sign(")")?;
        Ok(Node::Update(Box::new(UpdateTree { base, at, add, value, over, pred })))
    }

    pub(super) fn takes_reducer(&mut self) -> Option<Reducer> {
        let Token::Name(word) = self.ahead(0) else { return None };
        let found = reducer(word);
        if found.is_some() {
            self.skip();
        }
        found
    }

    /// Parses `if p at i`: the filter of the terms, and the place of the chosen term.
    pub(super) fn filter(&mut self, reducer: Reducer) -> Read<(Option<Tree>, Option<Tree>)> {
        let terms = if self.takes_word("if") { Some(self.pred()?) } else { None };
        let place = if reducer.gives_place() {
            self.word("at")?;
            Some(self.index()?)
        } else {
            None
        };
        Ok((terms, place))
    }

    fn lets(&mut self) -> Read<Node> {
        let mut bindings = Vec::new();
        while self.takes_word("let") {
            let index = matches!(self.ahead(1), Token::Name(_)) && self.takes_word("index");
            let name = self.name("a variable")?;
            let ty = if self.takes(":") { Some(self.ty()?) } else { None };
            self.sign("=")?;
            bindings.push(LetTree { index, name, ty, value: self.open()? });
        }
        self.word("in")?;
        Ok(Node::Let(bindings, Box::new(self.open()?)))
    }

    fn check(&mut self) -> Read<Node> {
        self.skip();
        self.sign("(")?;
        let pred = self.pred()?;
        self.sign(",")?;
        let (code, what) = self.failure()?;
        self.sign(")")?;
        let body = self.deeper(Self::postfix)?;
        Ok(Node::Check(Box::new(pred), code, what, Box::new(body)))
    }

    /// Parses `E0500 "index out of bounds"`.
    pub(super) fn failure(&mut self) -> Read<(Code, Name)> {
        let code = match self.ahead(0) {
            Token::Name(word) => Code::ALL.iter().copied().find(|c| c.name() == word),
            _ => None,
        };
        let Some(code) = code else { return self.wanted("the code of a failure") };
        self.skip();
        let Token::Text(what) = self.ahead(0) else { return self.wanted("what fails, in double quotes") };
        self.skip();
        Ok((code, what.into()))
    }
}

/// Returns the reducer with this keyword.
pub(super) fn reducer(word: &str) -> Option<Reducer> {
    Reducer::ALL.into_iter().find(|r| r.word() == word)
}
