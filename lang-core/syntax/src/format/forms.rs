//! **Layout of forms.** Prints the expressions that begin with a keyword and extend as far right as
//! possible: binders, lambdas, `let`, `if`, `match`, folds. Also subscripts and updates.

use super::expr::After;
use super::prec::Bind;
use super::printer::{Piece, Printer};
use crate::ast::{
    Arm, Expr, ExprId, IndexRange, IndexVar, LambdaParam, LetBind, PatId, Place, Subscript, TypeId, Update,
};
use crate::ops::BinderKind;
use crate::token::{Sym, Word};
use lang_base::Name;

impl<'a> Printer<'a> {
    pub(super) fn binder(
        &mut self,
        kind: BinderKind,
        vars: &'a [IndexVar],
        filter: Option<ExprId>,
        body: ExprId,
    ) -> Piece<'a> {
        let word = match Word::from_text(kind.word()) {
            Some(word) => self.word(word),
            None => self.name(&Name::new_static(kind.word())),
        };
        let vars = self.index_vars(vars);
        let mut head = vec![word, self.space(), vars];
        if let Some(filter) = filter {
            let line = self.line();
            let word = self.word(Word::If);
            let filter = self.operand(filter, Bind::Loose, false);
            let filter = self.hang(self.cat([line, word, self.space(), filter]));
            head.push(self.group(filter));
        }
        head.push(self.sym(Sym::Colon));
        let head = self.cat(head);
        let body = self.body(body, After::Colon);
        self.group(self.cat([head, body]))
    }

    pub(super) fn index_vars(&mut self, vars: &'a [IndexVar]) -> Piece<'a> {
        let Some((first, rest)) = vars.split_first() else { return self.nil() };
        let mut all = vec![self.index_var(first)];
        for var in rest {
            all.push(self.sym(Sym::Comma));
            let line = self.fill();
            let var = self.index_var(var);
            all.push(self.hang(self.cat([line, var])));
        }
        self.cat(all)
    }

    fn index_var(&mut self, var: &'a IndexVar) -> Piece<'a> {
        let name = self.variable(&var.name.name);
        match &var.range {
            IndexRange::Bare => name,
            IndexRange::Below(end) => {
                let less = self.sym(Sym::Lt);
                let end = self.operand(*end, Bind::Sum, false);
                self.cat([name, self.space(), less, self.space(), end])
            }
            IndexRange::Range { from, to, by } => {
                let word = self.word(Word::In);
                let range = self.range(*from, *to);
                let mut all = vec![name, self.space(), word, self.space(), range];
                if let Some(by) = by {
                    let word = self.word(Word::By);
                    let by = self.operand(*by, Bind::Sum, false);
                    all.extend([self.space(), word, self.space(), by]);
                }
                self.cat(all)
            }
        }
    }

    fn range(&mut self, from: ExprId, to: ExprId) -> Piece<'a> {
        let from = self.operand(from, Bind::Sum, false);
        let dots = self.sym(Sym::DotDot);
        let to = self.operand(to, Bind::Sum, false);
        self.cat([from, dots, to])
    }

    /// Prints a lambda. Adjacent typed parameters share their parentheses.
    pub(super) fn lambda(&mut self, params: &'a [LambdaParam], body: ExprId) -> Piece<'a> {
        let mut head = vec![self.sym(Sym::Backslash)];
        let mut typed = false;
        for (nth, param) in params.iter().enumerate() {
            if typed && param.ty.is_none() {
                head.push(self.sym_or_new(Sym::RParen));
            }
            if nth > 0 {
                head.push(self.sym(Sym::Comma));
                head.push(self.space());
            }
            if !typed && param.ty.is_some() {
                head.push(self.sym_or_new(Sym::LParen));
            }
            typed = param.ty.is_some();
            head.push(self.bound(param.pat, param.ty));
        }
        if typed {
            head.push(self.sym_or_new(Sym::RParen));
        }
        head.push(self.sym(Sym::Colon));
        let head = self.cat(head);
        let body = self.body(body, After::Colon);
        self.group(self.cat([head, body]))
    }

    /// `pattern` or `pattern: type`
    pub(super) fn bound(&mut self, pat: PatId, ty: Option<TypeId>) -> Piece<'a> {
        let pat = self.pat(pat);
        let Some(ty) = ty else { return pat };
        let colon = self.sym(Sym::Colon);
        let ty = self.ty(ty);
        self.cat([pat, colon, self.space(), ty])
    }

    /// Prints a `let` chain. A single binding may share its line with `in`, unless the source ends
    /// the line before it. Several bindings get one line each.
    pub(super) fn let_chain(&mut self, binds: &'a [LetBind], body: ExprId) -> Piece<'a> {
        let single = binds.len() == 1;
        let mut all = Vec::with_capacity(2 * binds.len() + 3);
        for (nth, bind) in binds.iter().enumerate() {
            if nth > 0 {
                all.push(self.newline());
            }
            let word = self.word(Word::Let);
            let bound = self.bound(bind.pat, bind.ty);
            let equals = self.sym(Sym::Assign);
            let value = self.body(bind.value, After::Equals);
            all.push(self.cat([word, self.space(), bound, self.space(), equals, value]));
        }
        all.push(if single && !self.line_ended() { self.line() } else { self.newline() });
        all.push(self.word(Word::In));
        all.push(self.body(body, After::Equals));
        self.group(self.cat(all))
    }

    pub(super) fn if_chain(&mut self, arms: &'a [(ExprId, ExprId)], otherwise: ExprId) -> Piece<'a> {
        let mut all = Vec::with_capacity(6 * arms.len() + 2);
        for (nth, (cond, value)) in arms.iter().enumerate() {
            if nth > 0 {
                all.push(self.line());
                all.push(self.word(Word::Else));
                all.push(self.space());
            }
            all.push(self.word(Word::If));
            all.push(self.space());
            all.push(self.operand(*cond, Bind::Loose, false));
            all.push(self.space());
            all.push(self.word(Word::Then));
            all.push(self.body(*value, After::Equals));
        }
        all.push(self.line());
        all.push(self.word(Word::Else));
        // Without its parentheses, an `if` here would become part of this chain.
        let nested = matches!(self.tree.exprs[otherwise].kind, Expr::If(..));
        if nested && self.is_bare() {
            let line = self.line();
            let value = self.parens(otherwise);
            let value = self.nest(self.cat([line, value]));
            all.push(self.group(value));
        } else {
            all.push(self.body(otherwise, After::Equals));
        }
        self.group(self.cat(all))
    }

    pub(super) fn match_arms(&mut self, value: ExprId, arms: &'a [Arm]) -> Piece<'a> {
        let word = self.word(Word::Match);
        let value = self.operand(value, Bind::Or, false);
        let open = self.sym(Sym::LBrace);
        let head = self.cat([word, self.space(), value, self.space(), open]);
        if arms.is_empty() {
            let close = self.sym(Sym::RBrace);
            return self.cat([head, close]);
        }
        let mut inside = Vec::with_capacity(4 * arms.len());
        for (nth, arm) in arms.iter().enumerate() {
            if nth > 0 {
                inside.push(self.sym(Sym::Comma));
            }
            inside.push(self.line());
            let pat = self.pat(arm.pat);
            let colon = self.sym(Sym::Colon);
            let body = self.body(arm.body, After::Equals);
            inside.push(self.cat([pat, colon, body]));
        }
        let inside = self.nest(self.cat(inside));
        let end = self.closing(" ");
        let close = self.sym(Sym::RBrace);
        self.group(self.cat([head, inside, end, close]))
    }

    /// `fold acc: T = init`
    pub(super) fn carry(&mut self, word: Word, acc: PatId, ty: Option<TypeId>, init: ExprId) -> Piece<'a> {
        let word = self.word(word);
        let acc = self.bound(acc, ty);
        let equals = self.sym(Sym::Assign);
        let line = self.line();
        let init = self.operand(init, Bind::Loose, false);
        let init = self.group(self.nest(self.cat([line, init])));
        self.cat([word, self.space(), acc, self.space(), equals, init])
    }

    pub(super) fn fold_body(&mut self, head: Piece<'a>, body: ExprId, yields: Option<ExprId>) -> Piece<'a> {
        let colon = self.sym(Sym::Colon);
        let mut all = vec![head, colon];
        match yields {
            None => all.push(self.body(body, After::Colon)),
            Some(yields) => {
                let line = self.line();
                let body = self.operand(body, Bind::Loose, false);
                all.push(self.nest(self.cat([line, body])));
                all.push(self.line());
                all.push(self.word(Word::Yield));
                all.push(self.body(yields, After::Equals));
            }
        }
        self.group(self.cat(all))
    }

    pub(super) fn subscripts(&mut self, places: &'a [Subscript]) -> Piece<'a> {
        self.block(Sym::LBracket, places.len(), Sym::RBracket, |p, at| {
            p.nth(places, at, |p, place| match place {
                Subscript::At(index) => p.expr(*index),
                Subscript::Range(from, to) => p.range(*from, *to),
                Subscript::Whole(_) => p.sym(Sym::Underscore),
            })
        })
    }

    pub(super) fn updates(&mut self, base: ExprId, updates: &'a [Update]) -> Piece<'a> {
        let mut all = vec![self.operand(base, Bind::Postfix, false)];
        let mut changes = Vec::with_capacity(2 * updates.len());
        for (nth, update) in updates.iter().enumerate() {
            changes.push(self.line());
            let word = self.word(Word::With);
            let place = match &update.place {
                Place::Index(places, _) => self.subscripts(places),
                Place::Field(field) => self.name(&field.name),
                Place::Proj(index, _) => self.int(u64::from(*index)),
            };
            let equals = self.sym(if update.add { Sym::PlusAssign } else { Sym::Assign });
            let value = self.operand(update.value, Bind::Sum, nth + 1 == updates.len());
            changes.push(self.cat([word, self.space(), place, self.space(), equals, self.space(), value]));
        }
        all.push(self.nest(self.cat(changes)));
        self.group(self.cat(all))
    }
}
