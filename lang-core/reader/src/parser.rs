//! **Recursive-descent parser** from tokens to trees. Nesting is limited to [`MAX_DEPTH`].

use super::FormSyntaxError;
use super::lexer::{FormToken, FormTokens};
use super::tree::{BinderWord, FormNode, FormTree, LetTree, LoopTree, ReduceTree, UpdateTree};
use lang_base::ensure_sufficient_stack;
use lang_base::{Code, Name};
use lang_ir::reduce::Reducer;
use lang_syntax::ops::BinOp;

/// The maximal depth of nesting.
pub(super) const MAX_DEPTH: usize = 400;

pub(super) type ParseResult<T> = Result<T, FormSyntaxError>;

pub(super) struct FormParser<'t> {
    pub(super) tokens: &'t FormTokens,
    pub(super) next: usize,
    depth: usize,
}

impl<'t> FormParser<'t> {
    pub(super) fn new(tokens: &'t FormTokens) -> Self {
        Self { tokens, next: 0, depth: 0 }
    }

    // ---- tokens ----

    pub(super) fn peek(&self, k: usize) -> &'t FormToken {
        self.tokens.tokens.get(self.next + k).map_or(&FormToken::End, |t| &t.0)
    }

    /// Returns the offset of the next token.
    pub(super) fn offset(&self) -> usize {
        self.tokens.tokens.get(self.next).or(self.tokens.tokens.last()).map_or(0, |t| t.1)
    }

    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    pub(super) fn at_symbol(&self, sign: &str) -> bool {
        matches!(self.peek(0), FormToken::Symbol(s) if *s == sign)
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        matches!(self.peek(0), FormToken::Name(w) if w == word)
    }

    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let sees = self.at_symbol(sign);
        self.next += usize::from(sees);
        sees
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let sees = self.at_word(word);
        self.next += usize::from(sees);
        sees
    }

    pub(super) fn expected<T>(&self, what: &str) -> ParseResult<T> {
        Err(FormSyntaxError::new(self.offset(), format!("expected {what}, found {}", self.peek(0).display())))
    }

    pub(super) fn expect_symbol(&mut self, sign: &str) -> ParseResult<()> {
        if self.eat(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    pub(super) fn expect_word(&mut self, word: &str) -> ParseResult<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    pub(super) fn name(&mut self, what: &str) -> ParseResult<Name> {
        let FormToken::Name(name) = self.peek(0) else { return self.expected(what) };
        self.advance();
        Ok(name.into())
    }

    pub(super) fn number(&mut self, what: &str) -> ParseResult<u32> {
        let FormToken::Int(i) = self.peek(0) else { return self.expected(what) };
        let Ok(i) = u32::try_from(*i) else { return self.expected(what) };
        self.advance();
        Ok(i)
    }

    pub(super) fn numbers(&mut self, what: &str) -> ParseResult<Vec<u32>> {
        let mut numbers = Vec::new();
        if matches!(self.peek(0), FormToken::Int(_)) {
            numbers.push(self.number(what)?);
            while self.eat(",") {
                numbers.push(self.number(what)?);
            }
        }
        Ok(numbers)
    }

    /// Parses items up to a closing bracket, separated by commas.
    pub(super) fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() {
                if !self.eat(",") {
                    return self.expected(&format!("`,` or `{close}`"));
                }
                // A tuple of one item: `(x,)`.
                if items.len() == 1 && close == ")" && self.eat(close) {
                    return Ok(items);
                }
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(super) fn expect_end(&self) -> ParseResult<()> {
        if *self.peek(0) == FormToken::End { Ok(()) } else { self.expected("the end of the text") }
    }

    pub(super) fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        if self.depth >= MAX_DEPTH {
            return Err(FormSyntaxError::new(self.offset(), "the nesting is too deep"));
        }
        self.depth += 1;
        let read = ensure_sufficient_stack(|| step(self));
        self.depth -= 1;
        read
    }

    // ---- expressions ----

    /// Parses an index expression.
    pub(super) fn index(&mut self) -> ParseResult<FormTree> {
        self.nested(Self::sum)
    }

    /// Parses a predicate.
    pub(super) fn pred(&mut self) -> ParseResult<FormTree> {
        self.nested(Self::or)
    }

    /// Parses a whole expression, with its type if one follows.
    pub(super) fn typed_expr(&mut self) -> ParseResult<FormTree> {
        self.nested(|p| {
            let at = p.offset();
            let tree = p.or()?;
            if !p.eat(":") {
                return Ok(tree);
            }
            let ty = p.ty()?;
            Ok(FormTree { node: FormNode::Typed(Box::new(tree), ty), at })
        })
    }

    fn or(&mut self) -> ParseResult<FormTree> {
        self.logic("||", BinOp::Or, |p| p.logic("&&", BinOp::And, Self::compare))
    }

    fn logic(
        &mut self,
        sign: &str,
        op: BinOp,
        mut item: impl FnMut(&mut Self) -> ParseResult<FormTree>,
    ) -> ParseResult<FormTree> {
        let at = self.offset();
        let first = item(self)?;
        if !self.at_symbol(sign) {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.eat(sign) {
            items.push(item(self)?);
        }
        Ok(FormTree { node: FormNode::Logic(op, items), at })
    }

    fn compare(&mut self) -> ParseResult<FormTree> {
        let at = self.offset();
        let left = self.sum()?;
        let op = match self.peek(0) {
            FormToken::Symbol("==") => BinOp::Eq,
            FormToken::Symbol("!=") => BinOp::Ne,
            FormToken::Symbol("<") => BinOp::Lt,
            FormToken::Symbol("<=") => BinOp::Le,
            FormToken::Symbol(">") => BinOp::Gt,
            FormToken::Symbol(">=") => BinOp::Ge,
            _ => return Ok(left),
        };
        self.advance();
        let right = self.sum()?;
        Ok(FormTree { node: FormNode::Compare(op, Box::new(left), Box::new(right)), at })
    }

    fn sum(&mut self) -> ParseResult<FormTree> {
        let at = self.offset();
        let first = self.product()?;
        if !self.at_symbol("+") && !self.at_symbol("-") {
            return Ok(first);
        }
        let mut items = vec![(false, first)];
        loop {
            let neg = self.at_symbol("-");
            if !neg && !self.at_symbol("+") {
                return Ok(FormTree { node: FormNode::Sum(items), at });
            }
            self.advance();
            items.push((neg, self.product()?));
        }
    }

    fn product(&mut self) -> ParseResult<FormTree> {
        let at = self.offset();
        let first = self.unary()?;
        let mut rest = Vec::new();
        loop {
            let op = match self.peek(0) {
                FormToken::Symbol("*") => BinOp::Mul,
                FormToken::Symbol("/") => BinOp::Div,
                FormToken::Symbol("//") => BinOp::FloorDiv,
                FormToken::Symbol("%") => BinOp::Mod,
                _ if rest.is_empty() => return Ok(first),
                _ => return Ok(FormTree { node: FormNode::Product(Box::new(first), rest), at }),
            };
            self.advance();
            rest.push((op, self.unary()?));
        }
    }

    fn unary(&mut self) -> ParseResult<FormTree> {
        let at = self.offset();
        if self.eat("-") {
            let inner = self.nested(Self::unary)?;
            return Ok(FormTree { node: FormNode::Neg(Box::new(inner)), at });
        }
        if self.eat("!") {
            let inner = self.nested(Self::unary)?;
            return Ok(FormTree { node: FormNode::Not(Box::new(inner)), at });
        }
        let base = self.postfix()?;
        if !self.eat("^") {
            return Ok(base);
        }
        let exponent = self.nested(|p| if p.at_symbol("-") { p.unary() } else { p.postfix() })?;
        Ok(FormTree { node: FormNode::Pow(Box::new(base), Box::new(exponent)), at })
    }

    fn postfix(&mut self) -> ParseResult<FormTree> {
        let at = self.offset();
        let mut tree = self.primary()?;
        let mut links = 0;
        loop {
            let node = if self.eat("[") {
                FormNode::At(Box::new(tree), self.list("]", Self::index)?)
            } else if self.eat(".") {
                if let FormToken::Name(name) = self.peek(0) {
                    self.advance();
                    FormNode::Field(Box::new(tree), name.into())
                } else {
                    FormNode::Component(Box::new(tree), self.number("a component")?)
                }
            } else {
                return Ok(tree);
            };
            tree = FormTree { node, at };
            links += 1;
            if self.depth + links > MAX_DEPTH {
                return Err(FormSyntaxError::new(at, "the nesting is too deep"));
            }
        }
    }

    fn primary(&mut self) -> ParseResult<FormTree> {
        let at = self.offset();
        let node = match self.peek(0) {
            FormToken::Int(i) => {
                self.advance();
                FormNode::Int(*i)
            }
            FormToken::Real(x, single) => {
                self.advance();
                FormNode::Real(*x, *single)
            }
            FormToken::Symbol("(") => self.parenthesised()?,
            FormToken::Symbol("[") => {
                self.advance();
                let pred = self.pred()?;
                self.expect_symbol("]")?;
                if !self.at_symbol("*") {
                    return self.expected("`*` after a bracket");
                }
                FormNode::Bracket(Box::new(pred))
            }
            FormToken::Symbol("{") => {
                self.advance();
                FormNode::Record(self.list("}", |p| {
                    let name = p.name("a field")?;
                    p.expect_symbol(":")?;
                    Ok((name, p.typed_expr()?))
                })?)
            }
            FormToken::Name(_) | FormToken::Text(_) | FormToken::Quoted(_) if self.at_call() => {
                let callee = self.nested(Self::callee)?;
                self.expect_symbol("(")?;
                FormNode::Call(Box::new(callee), self.list(")", Self::typed_expr)?)
            }
            FormToken::Name(word) => self.keyword_expr(word)?,
            _ => return self.expected("an expression"),
        };
        Ok(FormTree { node, at })
    }

    fn parenthesised(&mut self) -> ParseResult<FormNode> {
        self.advance();
        if self.eat(")") {
            return Ok(FormNode::Tuple(Vec::new()));
        }
        let first = self.typed_expr()?;
        if self.eat(")") {
            return Ok(FormNode::Group(Box::new(first)));
        }
        let mut items = vec![first];
        while self.eat(",") {
            if items.len() == 1 && self.at_symbol(")") {
                break;
            }
            items.push(self.typed_expr()?);
        }
        if !self.eat(")") {
            return self.expected("`,` or `)`");
        }
        Ok(FormNode::Tuple(items))
    }

    fn keyword_expr(&mut self, word: &str) -> ParseResult<FormNode> {
        let binds = matches!(self.peek(1), FormToken::Name(_));
        match word {
            "for" => self.binder(BinderWord::For),
            "sum" if binds => self.binder(BinderWord::Sum),
            "any" if binds => self.binder(BinderWord::Any),
            "argsort" if binds => self.binder(BinderWord::Argsort),
            _ if binds && reducer(word).is_some() => self.reduction(),
            "loop" if binds => self.loop_expr(),
            "update" if *self.peek(1) == FormToken::Symbol("(") => self.update_expr(),
            "let" => self.lets(),
            "check" => self.check(),
            "in" => self.expected("an expression"),
            "true" | "false" => {
                self.advance();
                Ok(FormNode::Bool(word == "true"))
            }
            "nan" | "inf" => {
                self.advance();
                Ok(FormNode::Real(if word == "nan" { f64::NAN } else { f64::INFINITY }, false))
            }
            _ => {
                self.advance();
                if self.eat("(") {
                    return Ok(FormNode::Apply(word.into(), self.list(")", Self::typed_expr)?));
                }
                Ok(FormNode::Name(word.into()))
            }
        }
    }

    fn binder(&mut self, word: BinderWord) -> ParseResult<FormNode> {
        self.advance();
        let name = self.name("an index variable")?;
        self.expect_symbol("<")?;
        let extent = self.index()?;
        self.expect_symbol(":")?;
        let body = if word == BinderWord::Any { self.pred()? } else { self.typed_expr()? };
        Ok(FormNode::Binder(word, name, Box::new(extent), Box::new(body)))
    }

    fn reduction(&mut self) -> ParseResult<FormNode> {
        let Some(reducer) = self.eat_reducer() else { return self.expected("a reduction") };
        let indices = self.extents()?;
        let (terms, place) = self.filter(reducer)?;
        self.expect_symbol(":")?;
        Ok(FormNode::Reduce(Box::new(ReduceTree {
            reducer,
            indices,
            filter: terms,
            arg_value: place,
            body: self.typed_expr()?,
        })))
    }

    /// Parses `i < n, j < m`.
    fn extents(&mut self) -> ParseResult<Vec<(Name, FormTree)>> {
        let mut indices = Vec::new();
        loop {
            let name = self.name("an index variable")?;
            self.expect_symbol("<")?;
            indices.push((name, self.index()?));
            if !self.eat(",") {
                return Ok(indices);
            }
        }
    }

    fn loop_expr(&mut self) -> ParseResult<FormNode> {
        self.advance();
        let counter = self.name("an iteration variable")?;
        let count = if self.eat("<") { Some(self.index()?) } else { None };
        let checkpoint = self.spacing("from")?;
        let init = self.nested(Self::or)?;
        if count.is_none() {
            self.expect_word("while")?;
            self.expect_symbol(".")?;
            if self.number("component 0")? != 0 {
                return self.expected("component 0");
            }
        }
        self.expect_symbol(":")?;
        let body = self.nested(Self::callee)?;
        self.expect_symbol("(")?;
        let args = self.list(")", Self::typed_expr)?;
        Ok(FormNode::Loop(Box::new(LoopTree { counter, count, checkpoint, init, body, args })))
    }

    /// Parses `checkpoint 8`, `checkpoint` or nothing, and then the word `end`.
    pub(super) fn spacing(&mut self, end: &str) -> ParseResult<Option<Option<FormTree>>> {
        if !self.eat_word("checkpoint") {
            self.expect_word(end)?;
            return Ok(None);
        }
        if self.eat_word(end) {
            return Ok(Some(None));
        }
        let k = self.index()?;
        self.expect_word(end)?;
        Ok(Some(Some(k)))
    }

    fn update_expr(&mut self) -> ParseResult<FormNode> {
        self.advance();
        self.expect_symbol("(")?;
        let base = self.typed_expr()?;
        self.expect_symbol(",")?;
        self.expect_symbol("[")?;
        let at = self.list("]", Self::index)?;
        let add = self.eat("+=");
        if !add {
            self.expect_symbol("=")?;
        }
        let value = self.typed_expr()?;
        let over = if self.eat_word("for") { self.extents()? } else { Vec::new() };
        let pred = if self.eat_word("if") { Some(self.pred()?) } else { None };
        self.expect_symbol(")")?;
        Ok(FormNode::Update(Box::new(UpdateTree { base, at, accumulate: add, value, indices: over, pred })))
    }

    pub(super) fn eat_reducer(&mut self) -> Option<Reducer> {
        let FormToken::Name(word) = self.peek(0) else { return None };
        let found = reducer(word);
        if found.is_some() {
            self.advance();
        }
        found
    }

    /// Parses `if p at i`: the filter of the terms, and the place of the chosen term.
    pub(super) fn filter(&mut self, reducer: Reducer) -> ParseResult<(Option<FormTree>, Option<FormTree>)> {
        let terms = if self.eat_word("if") { Some(self.pred()?) } else { None };
        let place = if reducer.is_arg_reduction() {
            self.expect_word("at")?;
            Some(self.index()?)
        } else {
            None
        };
        Ok((terms, place))
    }

    fn lets(&mut self) -> ParseResult<FormNode> {
        let mut bindings = Vec::new();
        while self.eat_word("let") {
            let index = matches!(self.peek(1), FormToken::Name(_)) && self.eat_word("index");
            let name = self.name("a variable")?;
            let ty = if self.eat(":") { Some(self.ty()?) } else { None };
            self.expect_symbol("=")?;
            bindings.push(LetTree { is_index: index, name, ty, value: self.typed_expr()? });
        }
        self.expect_word("in")?;
        Ok(FormNode::Let(bindings, Box::new(self.typed_expr()?)))
    }

    fn check(&mut self) -> ParseResult<FormNode> {
        self.advance();
        self.expect_symbol("(")?;
        let pred = self.pred()?;
        self.expect_symbol(",")?;
        let (code, what) = self.failure()?;
        self.expect_symbol(")")?;
        let body = self.nested(Self::postfix)?;
        Ok(FormNode::Check(Box::new(pred), code, what, Box::new(body)))
    }

    /// Parses `E0500 "index out of bounds"`.
    pub(super) fn failure(&mut self) -> ParseResult<(Code, Name)> {
        let code = match self.peek(0) {
            FormToken::Name(word) => Code::ALL.iter().copied().find(|c| c.name() == word),
            _ => None,
        };
        let Some(code) = code else { return self.expected("an error code") };
        self.advance();
        let FormToken::Text(what) = self.peek(0) else { return self.expected("a message in double quotes") };
        self.advance();
        Ok((code, what.into()))
    }
}

/// Returns the reducer with this keyword.
pub(super) fn reducer(word: &str) -> Option<Reducer> {
    Reducer::ALL.into_iter().find(|r| r.keyword() == word)
}
