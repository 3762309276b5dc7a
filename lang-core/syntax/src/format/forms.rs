//! **Layout of forms.** Prints the expressions that begin with a keyword and extend as far right as
//! possible: binders, lambdas, `let`, `if`, `match`, folds. Also subscripts and updates.

use super::expr::BodyContext;
use super::prec::OperandStrength;
use super::printer::{LayoutDoc, Printer};
use crate::ast::{
    Arm, Expr, ExprId, IndexRange, IndexVar, LambdaParam, LetBind, PatId, Subscript, TypeId, UpdateTarget, WithUpdate,
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
    ) -> LayoutDoc<'a> {
        let word = match Word::from_text(kind.keyword()) {
            Some(word) => self.word(word),
            None => self.name(&Name::new_static(kind.keyword())),
        };
        let vars = self.index_vars(vars);
        let mut head = vec![word, self.space(), vars];
        if let Some(filter) = filter {
            let line = self.line();
            let word = self.word(Word::If);
            let filter = self.operand(filter, OperandStrength::Loose, false);
            let filter = self.double_nest(self.concat([line, word, self.space(), filter]));
            head.push(self.group(filter));
        }
        head.push(self.sym(Sym::Colon));
        let head = self.concat(head);
        let body = self.body(body, BodyContext::Colon);
        self.group(self.concat([head, body]))
    }

    pub(super) fn index_vars(&mut self, vars: &'a [IndexVar]) -> LayoutDoc<'a> {
        let Some((first, rest)) = vars.split_first() else { return self.nil() };
        let mut all = vec![self.index_var(first)];
        for var in rest {
            all.push(self.sym(Sym::Comma));
            let line = self.soft_line();
            let var = self.index_var(var);
            all.push(self.double_nest(self.concat([line, var])));
        }
        self.concat(all)
    }

    fn index_var(&mut self, var: &'a IndexVar) -> LayoutDoc<'a> {
        let name = self.variable(&var.name.name);
        match &var.range {
            IndexRange::Bare => name,
            IndexRange::Below(end) => {
                let less = self.sym(Sym::Lt);
                let end = self.operand(*end, OperandStrength::Sum, false);
                self.concat([name, self.space(), less, self.space(), end])
            }
            IndexRange::Range { from, to, by } => {
                let word = self.word(Word::In);
                let range = self.range(*from, *to);
                let mut all = vec![name, self.space(), word, self.space(), range];
                if let Some(by) = by {
                    let word = self.word(Word::By);
                    let by = self.operand(*by, OperandStrength::Sum, false);
                    all.extend([self.space(), word, self.space(), by]);
                }
                self.concat(all)
            }
        }
    }

    fn range(&mut self, from: ExprId, to: ExprId) -> LayoutDoc<'a> {
        let from = self.operand(from, OperandStrength::Sum, false);
        let dots = self.sym(Sym::DotDot);
        let to = self.operand(to, OperandStrength::Sum, false);
        self.concat([from, dots, to])
    }

    /// Prints a lambda. Adjacent typed parameters share their parentheses.
    pub(super) fn lambda(&mut self, params: &'a [LambdaParam], body: ExprId) -> LayoutDoc<'a> {
        let mut head = vec![self.sym(Sym::Backslash)];
        let mut typed = false;
        for (nth, param) in params.iter().enumerate() {
            if typed && param.ty.is_none() {
                head.push(self.sym_or_inserted(Sym::RParen));
            }
            if nth > 0 {
                head.push(self.sym(Sym::Comma));
                head.push(self.space());
            }
            if !typed && param.ty.is_some() {
                head.push(self.sym_or_inserted(Sym::LParen));
            }
            typed = param.ty.is_some();
            head.push(self.typed_pat(param.pat, param.ty));
        }
        if typed {
            head.push(self.sym_or_inserted(Sym::RParen));
        }
        head.push(self.sym(Sym::Colon));
        let head = self.concat(head);
        let body = self.body(body, BodyContext::Colon);
        self.group(self.concat([head, body]))
    }

    /// `pattern` or `pattern: type`
    pub(super) fn typed_pat(&mut self, pat: PatId, ty: Option<TypeId>) -> LayoutDoc<'a> {
        let pat = self.pat(pat);
        let Some(ty) = ty else { return pat };
        let colon = self.sym(Sym::Colon);
        let ty = self.ty(ty);
        self.concat([pat, colon, self.space(), ty])
    }

    /// Prints a `let` chain. A single binding may share its line with `in`, unless the source ends
    /// the line before it. Several bindings get one line each.
    pub(super) fn let_chain(&mut self, binds: &'a [LetBind], body: ExprId) -> LayoutDoc<'a> {
        let single = binds.len() == 1;
        let mut all = Vec::with_capacity(2 * binds.len() + 3);
        for (nth, bind) in binds.iter().enumerate() {
            if nth > 0 {
                all.push(self.newline());
            }
            let word = self.word(Word::Let);
            let bound = self.typed_pat(bind.pat, bind.ty);
            let equals = self.sym(Sym::Assign);
            let value = self.body(bind.value, BodyContext::Equals);
            all.push(self.concat([word, self.space(), bound, self.space(), equals, value]));
        }
        all.push(if single && !self.source_breaks_line() { self.line() } else { self.newline() });
        all.push(self.word(Word::In));
        all.push(self.body(body, BodyContext::Equals));
        self.group(self.concat(all))
    }

    pub(super) fn if_chain(&mut self, arms: &'a [(ExprId, ExprId)], otherwise: ExprId) -> LayoutDoc<'a> {
        let mut all = Vec::with_capacity(6 * arms.len() + 2);
        for (nth, (cond, value)) in arms.iter().enumerate() {
            if nth > 0 {
                all.push(self.line());
                all.push(self.word(Word::Else));
                all.push(self.space());
            }
            all.push(self.word(Word::If));
            all.push(self.space());
            all.push(self.operand(*cond, OperandStrength::Loose, false));
            all.push(self.space());
            all.push(self.word(Word::Then));
            all.push(self.body(*value, BodyContext::Equals));
        }
        all.push(self.line());
        all.push(self.word(Word::Else));
        // Without its parentheses, an `if` here would become part of this chain.
        let nested = matches!(self.tree.exprs[otherwise].kind, Expr::If(..));
        if nested && self.is_bare() {
            let line = self.line();
            let value = self.parenthesised(otherwise);
            let value = self.nest(self.concat([line, value]));
            all.push(self.group(value));
        } else {
            all.push(self.body(otherwise, BodyContext::Equals));
        }
        self.group(self.concat(all))
    }

    pub(super) fn match_arms(&mut self, value: ExprId, arms: &'a [Arm]) -> LayoutDoc<'a> {
        let word = self.word(Word::Match);
        let value = self.operand(value, OperandStrength::Or, false);
        let open = self.sym(Sym::LBrace);
        let head = self.concat([word, self.space(), value, self.space(), open]);
        if arms.is_empty() {
            let close = self.sym(Sym::RBrace);
            return self.concat([head, close]);
        }
        let mut inside = Vec::with_capacity(4 * arms.len());
        for (nth, arm) in arms.iter().enumerate() {
            if nth > 0 {
                inside.push(self.sym(Sym::Comma));
            }
            inside.push(self.line());
            let pat = self.pat(arm.pat);
            let colon = self.sym(Sym::Colon);
            let body = self.body(arm.body, BodyContext::Equals);
            inside.push(self.concat([pat, colon, body]));
        }
        let inside = self.nest(self.concat(inside));
        let end = self.closing_break(" ");
        let close = self.sym(Sym::RBrace);
        self.group(self.concat([head, inside, end, close]))
    }

    /// `fold acc: T = init`
    pub(super) fn carry(&mut self, word: Word, acc: PatId, ty: Option<TypeId>, init: ExprId) -> LayoutDoc<'a> {
        let word = self.word(word);
        let acc = self.typed_pat(acc, ty);
        let equals = self.sym(Sym::Assign);
        let line = self.line();
        let init = self.operand(init, OperandStrength::Loose, false);
        let init = self.group(self.nest(self.concat([line, init])));
        self.concat([word, self.space(), acc, self.space(), equals, init])
    }

    pub(super) fn fold_body(&mut self, head: LayoutDoc<'a>, body: ExprId, yields: Option<ExprId>) -> LayoutDoc<'a> {
        let colon = self.sym(Sym::Colon);
        let mut all = vec![head, colon];
        match yields {
            None => all.push(self.body(body, BodyContext::Colon)),
            Some(yields) => {
                let line = self.line();
                let body = self.operand(body, OperandStrength::Loose, false);
                all.push(self.nest(self.concat([line, body])));
                all.push(self.line());
                all.push(self.word(Word::Yield));
                all.push(self.body(yields, BodyContext::Equals));
            }
        }
        self.group(self.concat(all))
    }

    pub(super) fn subscripts(&mut self, places: &'a [Subscript]) -> LayoutDoc<'a> {
        self.bracketed_block(Sym::LBracket, places.len(), Sym::RBracket, |p, at| {
            p.print_nth(places, at, |p, place| match place {
                Subscript::Index(index) => p.expr(*index),
                Subscript::Range(from, to) => p.range(*from, *to),
                Subscript::FullAxis(_) => p.sym(Sym::Underscore),
            })
        })
    }

    pub(super) fn updates(&mut self, base: ExprId, updates: &'a [WithUpdate]) -> LayoutDoc<'a> {
        let mut all = vec![self.operand(base, OperandStrength::Postfix, false)];
        let mut changes = Vec::with_capacity(2 * updates.len());
        for (nth, update) in updates.iter().enumerate() {
            changes.push(self.line());
            let word = self.word(Word::With);
            let place = match &update.target {
                UpdateTarget::Index(places, _) => self.subscripts(places),
                UpdateTarget::Field(field) => self.name(&field.name),
                UpdateTarget::Proj(index, _) => self.int(u64::from(*index)),
            };
            let equals = self.sym(if update.is_add { Sym::PlusAssign } else { Sym::Assign });
            let value = self.operand(update.value, OperandStrength::Sum, nth + 1 == updates.len());
            changes.push(self.concat([word, self.space(), place, self.space(), equals, self.space(), value]));
        }
        all.push(self.nest(self.concat(changes)));
        self.group(self.concat(all))
    }
}
