//! **Expression layout.** Prints operators, literals and bracketed forms as documents. Module
//! `forms` prints the forms that begin with a keyword.

use super::prec::{OperandStrength, begins_with_bar, needs_parens};
use super::printer::{LayoutDoc, Printer};
use crate::ast::{CallArg, Expr, ExprId};
use crate::ops::{BinOp, Precedence, UnOp};
use crate::token::{Sym, Word};
use lang_base::Span;

/// The construct whose body an expression is; it determines the break before the body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyContext {
    /// `=`, `in`, `then`, `else`, an arm's `:`. A binder or lambda begins on the same line.
    Equals,
    /// The `:` of a binder, lambda or fold. The body begins on this line as a whole, or on the
    /// next.
    Colon,
    /// The `=` of a definition; all bodies have the same layout.
    Head,
}

impl<'a> Printer<'a> {
    /// Prints an expression in a position that accepts any.
    pub(super) fn expr(&mut self, at: ExprId) -> LayoutDoc<'a> {
        self.with_stack(|p| p.expr_node(at))
    }

    /// Prints an operand. A tree without source text gets parentheses as needed.
    pub(super) fn operand(&mut self, at: ExprId, min: OperandStrength, last: bool) -> LayoutDoc<'a> {
        if self.is_bare() && needs_parens(self.tree, at, min, last) { self.parenthesised(at) } else { self.expr(at) }
    }

    pub(super) fn parenthesised(&mut self, at: ExprId) -> LayoutDoc<'a> {
        if self.is_bracketed(at) {
            let open = self.sym(Sym::LParen);
            let inner = self.expr(at);
            let close = self.sym(Sym::RParen);
            return self.concat([open, inner, close]);
        }
        self.bracketed_block(Sym::LParen, 1, Sym::RParen, |p, _| p.expr(at))
    }

    /// Returns whether the expression begins with an opening bracket or a short head, and ends with
    /// the closing bracket, which may have its own line. Such an expression need not begin on a
    /// line of its own.
    fn is_bracketed(&self, at: ExprId) -> bool {
        match &self.tree.exprs[at].kind {
            Expr::Array { items, .. } | Expr::Tuple(items) => !items.is_empty(),
            Expr::Record(_) | Expr::Match(..) => true,
            _ => false,
        }
    }

    fn expr_node(&mut self, at: ExprId) -> LayoutDoc<'a> {
        let tree = self.tree;
        match &tree.exprs[at].kind {
            Expr::Error => self.static_text("?"),
            Expr::Int(value) => self.int(*value),
            Expr::Float(value) if self.is_bare() && value.is_sign_negative() => {
                let minus = self.sym(Sym::Minus);
                let value = self.float(-value);
                self.concat([minus, value])
            }
            Expr::Float(value) => self.float(*value),
            Expr::Bool(true) => self.word(Word::True),
            Expr::Bool(false) => self.word(Word::False),
            Expr::Str(value) => self.string(value),
            Expr::Name(name) => self.name(name),
            Expr::Unary(op, inner) => self.unary(*op, *inner),
            Expr::Chain { first, rest } => self.chain(*first, rest),
            Expr::Power(base, exponent) => {
                let base = self.operand(*base, OperandStrength::Postfix, false);
                let caret = self.sym(Sym::Caret);
                let exponent = self.operand(*exponent, OperandStrength::Negate, true);
                self.concat([base, caret, exponent])
            }
            Expr::Guard { cond, body } => {
                let mut terms = Vec::new();
                self.guard(*cond, *body, &mut terms);
                let terms = self.nest(self.concat(terms));
                self.group(terms)
            }
            Expr::Array { items, has_trailing_comma: comma } => self.array(items, *comma),
            Expr::Paren(inner) => {
                let mut inner = *inner;
                while let Expr::Paren(deeper) = &tree.exprs[inner].kind {
                    inner = *deeper;
                }
                self.parenthesised(inner)
            }
            Expr::Tuple(items) => self.bracketed_block(Sym::LParen, items.len(), Sym::RParen, |p, at| {
                p.print_nth(items, at, |p, e| p.expr(*e))
            }),
            Expr::Record(fields) => self.bracketed_block(Sym::LBrace, fields.len(), Sym::RBrace, |p, at| {
                p.print_nth(fields, at, |p, (name, value)| {
                    let name = p.name(&name.name);
                    let colon = p.sym(Sym::Colon);
                    let value = p.body(*value, BodyContext::Equals);
                    p.concat([name, colon, value])
                })
            }),
            Expr::Field(base, field) => {
                let base = self.operand(*base, OperandStrength::Postfix, false);
                let dot = self.sym(Sym::Dot);
                let field = self.name(&field.name);
                self.concat([base, dot, field])
            }
            Expr::Proj(base, index, _) => {
                // `1.0` would read as a number, and so would the end of `|R|.0`.
                let needs_space = matches!(tree.exprs[*base].kind, Expr::Int(_) | Expr::Card(_));
                let gap = if needs_space { self.space() } else { self.nil() };
                let base = self.operand(*base, OperandStrength::Postfix, false);
                let dot = self.sym(Sym::Dot);
                let index = self.int(u64::from(*index));
                self.concat([base, gap, dot, gap, index])
            }
            Expr::Index(base, places) => {
                let base = self.operand(*base, OperandStrength::Postfix, false);
                let places = self.subscripts(places);
                self.concat([base, places])
            }
            Expr::Call(callee, args) => {
                let callee = self.operand(*callee, OperandStrength::Postfix, false);
                let args = match args.as_slice() {
                    [CallArg { name: None, value }] => self.parenthesised(*value),
                    _ => self.bracketed_block(Sym::LParen, args.len(), Sym::RParen, |p, at| {
                        p.print_nth(args, at, Self::argument)
                    }),
                };
                self.concat([callee, args])
            }
            Expr::Lambda(params, body) => self.lambda(params, *body),
            Expr::Let(binds, body) => self.let_chain(binds, *body),
            Expr::If(arms, otherwise) => self.if_chain(arms, *otherwise),
            Expr::Match(value, arms) => self.match_arms(*value, arms),
            Expr::Binder { kind, vars, filter, body } => self.binder(*kind, vars, *filter, *body),
            Expr::Fold { is_scan: scan, acc, ty, init, vars, body, yields } => {
                let word = if *scan { Word::Scan } else { Word::Fold };
                let carry = self.carry(word, *acc, *ty, *init);
                let line = self.line();
                let ranges = self.word(Word::For);
                let vars = self.index_vars(vars);
                let head = self.group(self.concat([carry, line, ranges, self.space(), vars]));
                self.fold_body(head, *body, *yields)
            }
            Expr::Loop { is_scan: scan, acc, ty, init, cond, body } => {
                let word = if *scan { Word::Scan } else { Word::Loop };
                let carry = self.carry(word, *acc, *ty, *init);
                let line = self.line();
                let ends = self.word(Word::While);
                let cond = self.operand(*cond, OperandStrength::Loose, false);
                let head = self.group(self.concat([carry, line, ends, self.space(), cond]));
                self.fold_body(head, *body, None)
            }
            Expr::Checkpoint { spacing: every, body: of } => {
                let word = self.word(Word::Checkpoint);
                let head = match every {
                    Some(every) => {
                        let every = self.operand(*every, OperandStrength::Loose, false);
                        self.concat([word, self.space(), every])
                    }
                    None => word,
                };
                self.fold_body(head, *of, None)
            }
            Expr::With(base, updates) => self.updates(*base, updates),
            Expr::Card(inner) => {
                let open = self.sym(Sym::Bar);
                let inner = if self.is_bare() && begins_with_bar(tree, *inner) {
                    self.parenthesised(*inner)
                } else {
                    self.operand(*inner, OperandStrength::Postfix, false)
                };
                let close = self.sym(Sym::Bar);
                self.concat([open, inner, close])
            }
        }
    }

    /// Prints the `at`-th of `items`, for [`Self::bracketed_block`].
    pub(super) fn print_nth<T>(
        &mut self,
        items: &'a [T],
        at: usize,
        print: impl FnOnce(&mut Self, &'a T) -> LayoutDoc<'a>,
    ) -> LayoutDoc<'a> {
        match items.get(at) {
            Some(item) => print(self, item),
            None => self.nil(),
        }
    }

    /// Prints a body and the break before it. The body begins on the same line if it fits,
    /// otherwise on the next. A bracketed body always begins on the same line, because it may break
    /// inside.
    pub(super) fn body(&mut self, at: ExprId, after: BodyContext) -> LayoutDoc<'a> {
        let hangs = match &self.tree.exprs[at].kind {
            Expr::Binder { .. } | Expr::Lambda(..) => after == BodyContext::Equals,
            _ => after != BodyContext::Head && self.is_bracketed(at),
        };
        if hangs {
            let body = self.expr(at);
            return self.concat([self.space(), body]);
        }
        let line = self.line();
        let body = self.expr(at);
        let body = self.nest(self.concat([line, body]));
        if after == BodyContext::Equals { self.group(body) } else { body }
    }

    fn unary(&mut self, op: UnOp, inner: ExprId) -> LayoutDoc<'a> {
        let (sym, min) = match op {
            UnOp::Neg => (Sym::Minus, OperandStrength::Negate),
            UnOp::Not => (Sym::Bang, OperandStrength::Not),
        };
        let sym = self.sym(sym);
        let negative = match &self.tree.exprs[inner].kind {
            Expr::Unary(UnOp::Neg, _) => true,
            Expr::Float(value) => value.is_sign_negative(),
            _ => false,
        };
        // Two minus signs would begin a comment.
        let gap = if op == UnOp::Neg && negative { self.space() } else { self.nil() };
        let inner = self.operand(inner, min, true);
        self.concat([sym, gap, inner])
    }

    fn op(&mut self, op: BinOp) -> LayoutDoc<'a> {
        match Sym::from_text(op.symbol()) {
            Some(sym) => self.sym(sym),
            None => self.nil(),
        }
    }

    fn chain(&mut self, first: ExprId, rest: &'a [(BinOp, Span, ExprId)]) -> LayoutDoc<'a> {
        let level = rest.first().map_or(Precedence::Pipe, |(op, ..)| op.precedence());
        let min = OperandStrength::for_operand_of(level);
        if let [(op, _, last)] = rest
            && self.keeps_last_on_line(first, *last)
        {
            let first = self.operand(first, min, false);
            let op = self.op(*op);
            let last = self.operand(*last, min, true);
            return self.concat([first, self.space(), op, self.space(), last]);
        }
        let first = self.operand(first, min, false);
        let mut terms = Vec::with_capacity(rest.len());
        self.terms(level, rest, &mut terms);
        let rest = self.nest(self.concat(terms));
        self.group(self.concat([first, rest]))
    }

    /// Prints the operators and operands after the first of a chain, each with the break before it.
    /// The product of a guard continues the same chain.
    fn terms(&mut self, level: Precedence, rest: &'a [(BinOp, Span, ExprId)], terms: &mut Vec<LayoutDoc<'a>>) {
        let min = OperandStrength::for_operand_of(level);
        for (nth, (op, _, operand)) in rest.iter().enumerate() {
            let last = nth + 1 == rest.len();
            terms.push(self.line());
            terms.push(self.op(*op));
            terms.push(self.space());
            match &self.tree.exprs[*operand].kind {
                Expr::Guard { cond, body } if last && level == Precedence::Product => self.guard(*cond, *body, terms),
                _ => terms.push(self.operand(*operand, min, last)),
            }
        }
    }

    /// Prints `[p] * a / b`, with breaks as in a product.
    fn guard(&mut self, cond: ExprId, body: ExprId, terms: &mut Vec<LayoutDoc<'a>>) {
        terms.push(self.bracketed_block(Sym::LBracket, 1, Sym::RBracket, |p, _| p.expr(cond)));
        terms.push(self.line());
        terms.push(self.sym(Sym::Star));
        terms.push(self.space());
        self.with_stack(|p| match &p.tree.exprs[body].kind {
            Expr::Guard { cond, body } => p.guard(*cond, *body, terms),
            Expr::Chain { first, rest }
                if rest.first().is_some_and(|(op, ..)| op.precedence() == Precedence::Product) =>
            {
                terms.push(p.operand(*first, OperandStrength::Negate, false));
                p.terms(Precedence::Product, rest, terms);
            }
            _ => terms.push(p.operand(body, OperandStrength::Negate, true)),
        });
    }

    /// Returns whether the last operand may begin on the line of the first, regardless of its
    /// length. An example is `2 * sum i:` with the body on the next line.
    fn keeps_last_on_line(&self, first: ExprId, last: ExprId) -> bool {
        let kind = |at: ExprId| &self.tree.exprs[at].kind;
        let atom = |at| matches!(kind(at), Expr::Name(_) | Expr::Int(_) | Expr::Float(_));
        let short = match kind(first) {
            Expr::Unary(UnOp::Neg, inner) | Expr::Field(inner, _) => atom(*inner),
            _ => atom(first),
        };
        short && matches!(kind(last), Expr::Binder { .. } | Expr::Lambda(..))
    }

    fn array(&mut self, items: &'a [ExprId], comma: bool) -> LayoutDoc<'a> {
        let open = self.sym(Sym::LBracket);
        if items.is_empty() {
            let close = self.sym(Sym::RBracket);
            return self.concat([open, close]);
        }
        // Short elements fill lines; longer ones get one line each.
        let short = items.iter().all(|at| self.is_short(*at));
        let mut inside = vec![self.line_or_nothing()];
        for (nth, item) in items.iter().enumerate() {
            if nth > 0 {
                inside.push(self.sym(Sym::Comma));
                inside.push(if short { self.soft_line() } else { self.line() });
            }
            inside.push(self.expr(*item));
        }
        if comma {
            inside.push(self.sym(Sym::Comma));
        }
        let inside = self.nest(self.concat(inside));
        let end = self.closing_break("");
        let close = self.sym(Sym::RBracket);
        self.group(self.concat([open, inside, end, close]))
    }

    fn is_short(&self, at: ExprId) -> bool {
        match &self.tree.exprs[at].kind {
            Expr::Unary(_, inner) => matches!(self.tree.exprs[*inner].kind, Expr::Int(_) | Expr::Float(_)),
            other => matches!(other, Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Name(_)),
        }
    }

    fn argument(&mut self, arg: &'a CallArg) -> LayoutDoc<'a> {
        match &arg.name {
            None => self.expr(arg.value),
            Some(name) => {
                let name = self.name(&name.name);
                let colon = self.sym(Sym::Colon);
                let value = self.expr(arg.value);
                self.concat([name, colon, self.space(), value])
            }
        }
    }
}
