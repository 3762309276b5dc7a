//! **Parser state.** The builder that the grammar carries along: the tokens, the nodes allocated so
//! far and the current nesting depth.
//!
//! Nodes are allocated children first, and backtracking removes the nodes of the abandoned
//! alternative. The builder computes the depth of each node on allocation. The first node beyond
//! [`MAX_DEPTH`] ends the parse, as does a nesting of rules beyond it. No recursion over tokens or
//! trees therefore exceeds that depth.

use chumsky::input::{Checkpoint, Cursor};
use chumsky::inspector::Inspector;

use super::brackets::{BalancedTokens, TokenClass, token_classes};
use super::{MAX_DEPTH, TokenStream};
use crate::ast::{
    Expr, ExprId, Ident, IndexRange, IndexVar, Pat, PatId, SizeExpr, Subscript, SyntaxNode, Tree, TypeArg, TypeExpr,
    TypeId, UpdateTarget,
};
use crate::lexer::{SpannedToken, Token};
use crate::ops::Scalar;
use crate::token::Sym;
use lang_base::{Arena, Name, Span};

/// The fuel for error recovery: entries into recursive rules per token, and the allowance of any
/// text besides. Without fuel the parser no longer recovers from errors. Programs, and programs
/// damaged at random, need less than three entries per token.
const FUEL_PER_TOKEN: usize = 16;
const BASE_FUEL: usize = 1000;

/// Nodes of one sort, with the depth of each.
struct Nodes<T> {
    nodes: Vec<SyntaxNode<T>>,
    depths: Vec<u32>,
}

impl<T> Nodes<T> {
    fn new() -> Self {
        Self { nodes: Vec::new(), depths: Vec::new() }
    }

    fn truncate(&mut self, len: usize) {
        self.nodes.truncate(len);
        self.depths.truncate(len);
    }

    fn push(&mut self, kind: T, span: Span, depth: u32) -> usize {
        self.nodes.push(SyntaxNode { kind, span });
        self.depths.push(depth);
        self.nodes.len() - 1
    }

    fn depth(&self, at: usize) -> u32 {
        self.depths.get(at).copied().unwrap_or(0)
    }

    fn into_arena(self) -> Arena<SyntaxNode<T>> {
        let mut arena = Arena::default();
        for node in self.nodes {
            arena.alloc(node);
        }
        arena
    }
}

/// The state of the parser.
pub(super) struct TreeBuilder {
    tokens: Vec<SpannedToken>,
    kinds: Vec<TokenClass>,
    closers: Vec<u32>,
    exprs: Nodes<Expr>,
    pats: Nodes<Pat>,
    types: Nodes<TypeExpr>,
    /// The number of recursive rules now open.
    open_rules: u32,
    too_deep: Option<Span>,
    /// The number of entries into recursive rules, including those undone by backtracking.
    rule_entries: usize,
    /// The ranges of skipped tokens.
    skipped_ranges: Vec<(usize, usize)>,
}

/// A checkpoint for backtracking.
#[derive(Clone, Copy)]
pub(super) struct BuilderCheckpoint {
    exprs: usize,
    pats: usize,
    types: usize,
    level: u32,
    skipped: usize,
}

impl Inspector<'static, TokenStream> for TreeBuilder {
    type Checkpoint = BuilderCheckpoint;

    fn on_token(&mut self, _: &TokenClass) {}

    fn on_save<'parse>(&self, _: &Cursor<'static, 'parse, TokenStream>) -> BuilderCheckpoint {
        BuilderCheckpoint {
            exprs: self.exprs.nodes.len(),
            pats: self.pats.nodes.len(),
            types: self.types.nodes.len(),
            level: self.open_rules,
            skipped: self.skipped_ranges.len(),
        }
    }

    fn on_rewind<'parse>(&mut self, to: &Checkpoint<'static, 'parse, TokenStream, BuilderCheckpoint>) {
        let mark = to.inspector();
        self.exprs.truncate(mark.exprs);
        self.pats.truncate(mark.pats);
        self.types.truncate(mark.types);
        self.open_rules = mark.level;
        self.skipped_ranges.truncate(mark.skipped);
    }
}

impl TreeBuilder {
    pub(super) fn new(balanced: BalancedTokens) -> Self {
        Self {
            kinds: token_classes(&balanced.tokens),
            tokens: balanced.tokens,
            closers: balanced.closers,
            exprs: Nodes::new(),
            pats: Nodes::new(),
            types: Nodes::new(),
            open_rules: 0,
            too_deep: balanced.too_deep,
            rule_entries: 0,
            skipped_ranges: Vec::new(),
        }
    }

    // Tokens.

    pub(super) fn tokens(&self) -> &[SpannedToken] {
        &self.tokens
    }

    pub(super) fn kinds(&self) -> &[TokenClass] {
        &self.kinds
    }

    pub(super) fn kind(&self, at: usize) -> Option<TokenClass> {
        self.kinds.get(at).copied()
    }

    pub(super) fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at).map(|t| &t.token)
    }

    pub(super) fn is_line_start(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|t| t.is_line_start)
    }

    /// Returns the closer of the bracket that opens at `at`, or 0 for any other token.
    pub(super) fn matching_closer(&self, at: usize) -> usize {
        self.closers.get(at).map_or(0, |p| *p as usize)
    }

    /// Returns whether a comma precedes the closer that ends at `end`.
    pub(super) fn has_trailing_comma(&self, end: usize) -> bool {
        end.checked_sub(2).and_then(|at| self.kind(at)) == Some(TokenClass::Sym(Sym::Comma))
    }

    /// Returns whether bracket repair inserted the closer that ends at `end`. The contents of such
    /// a bracket are a guess, so its node is an error.
    pub(super) fn is_inserted_closer(&self, end: usize) -> bool {
        let closer = end.checked_sub(1).and_then(|at| self.tokens.get(at));
        closer.is_some_and(|t| t.span.start == t.span.end)
    }

    /// Returns the byte range of a token; at the end, the empty range after the last token.
    pub(super) fn span_at(&self, at: usize) -> Span {
        match self.tokens.get(at) {
            Some(token) => token.span,
            None => self.tokens.last().map_or(Span::default(), |t| t.span.end_point()),
        }
    }

    /// Returns the byte range of the tokens `start..end`; for an empty range, the empty range at
    /// the start of `start`.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        let first = self.span_at(start);
        if start >= end {
            return Span::new(first.start, first.start);
        }
        first.to(self.span_at(end - 1))
    }

    /// Returns the name at a token. A reserved word counts as a name, because the grammar allows it
    /// as a field name.
    pub(super) fn ident(&self, at: usize) -> Ident {
        let name = match self.token(at) {
            Some(Token::Name(name) | Token::Str(name)) => name.clone(),
            Some(Token::Keyword(word)) => Name::new_static(word.text()),
            Some(Token::Sym(sym)) => Name::new_static(sym.text()),
            _ => Name::default(),
        };
        Ident { name, span: self.span_at(at) }
    }

    /// Returns the name at the start of skipped text, or an empty name. The name stays declared, so
    /// that one mistake is not reported again at each use.
    pub(super) fn leading_name(&self, skipped: Span) -> Ident {
        let at = self.tokens.partition_point(|t| t.span.start < skipped.start);
        match self.kind(at) {
            Some(TokenClass::Name | TokenClass::Binder(_)) if self.span_at(at).end <= skipped.end => self.ident(at),
            _ => Ident { name: Name::default(), span: skipped },
        }
    }

    /// Returns the field that skipped text declares, or an empty name. A field name precedes a
    /// value, a `:` or an `=`.
    pub(super) fn leading_field(&self, skipped: Span) -> Ident {
        let at = self.tokens.partition_point(|t| t.span.start < skipped.start);
        let value = |kind: TokenClass| matches!(kind, TokenClass::Sym(Sym::Colon | Sym::Assign)) || kind.is_leaf();
        match (self.kind(at), self.kind(at + 1)) {
            (Some(TokenClass::Name | TokenClass::Binder(_)), Some(next)) if value(next) => self.ident(at),
            _ => Ident { name: Name::default(), span: skipped },
        }
    }

    /// Returns the parameter that skipped text declares: `x` for `x f64` and for `f64 x`.
    pub(super) fn leading_param(&self, skipped: Span) -> Ident {
        let first = self.leading_name(skipped);
        let at = self.tokens.partition_point(|t| t.span.start < skipped.start);
        let is_type = Scalar::ALL.iter().any(|scalar| scalar.name() == first.name);
        match self.kind(at + 1) {
            Some(TokenClass::Name) if is_type => self.ident(at + 1),
            _ => first,
        }
    }

    /// Returns a pattern for skipped text: the name at its start, or an error.
    pub(super) fn leading_pattern(&mut self, skipped: Span) -> PatId {
        let ident = self.leading_name(skipped);
        let kind = if ident.name.is_empty() { Pat::Error } else { Pat::Name(ident.name) };
        self.pat(kind, ident.span)
    }

    /// Records that the parser skipped the tokens `start..end`.
    pub(super) fn record_skipped(&mut self, start: usize, end: usize) {
        if start < end {
            self.skipped_ranges.push((start, end));
        }
    }

    /// Returns the skipped tokens.
    pub(super) fn skipped_tokens(&self) -> Vec<SpannedToken> {
        let tokens = |(start, end): &(usize, usize)| self.tokens.get(*start..*end).unwrap_or_default();
        self.skipped_ranges.iter().flat_map(tokens).cloned().collect()
    }

    // Depth.

    /// Enters a recursive rule. Returns whether the parse may continue, which is false if the
    /// nesting is too deep.
    pub(super) fn enter(&mut self, at: usize) -> bool {
        self.open_rules += 1;
        self.rule_entries += 1;
        if self.open_rules > MAX_DEPTH {
            self.stop_at_depth(self.span_at(at));
        }
        self.too_deep.is_none()
    }

    pub(super) fn leave(&mut self) {
        self.open_rules = self.open_rules.saturating_sub(1);
    }

    /// Returns whether the parser may still recover from an error. It may not after the depth
    /// limit, nor after more backtracking than any realistic text needs. Without this limit an
    /// error searched twice at each level would take exponential time.
    pub(super) fn can_recover(&self) -> bool {
        self.too_deep.is_none() && self.rule_entries <= FUEL_PER_TOKEN * self.tokens.len() + BASE_FUEL
    }

    /// Returns the position at which nesting exceeded the limit, which ends the parse.
    pub(super) fn too_deep(&self) -> Option<Span> {
        self.too_deep
    }

    fn stop_at_depth(&mut self, span: Span) {
        self.too_deep.get_or_insert(span);
    }

    fn check_depth(&mut self, below: u32, span: Span) -> u32 {
        let depth = below + 1;
        if depth > MAX_DEPTH {
            self.stop_at_depth(Span::new(span.start, span.start));
        }
        depth
    }

    // Nodes.

    pub(super) fn expr(&mut self, kind: Expr, span: Span) -> ExprId {
        let below = self.expr_child_depth(&kind);
        let depth = self.check_depth(below, span);
        node_id(self.exprs.push(kind, span, depth))
    }

    pub(super) fn pat(&mut self, kind: Pat, span: Span) -> PatId {
        let below = self.pat_child_depth(&kind);
        let depth = self.check_depth(below, span);
        node_id(self.pats.push(kind, span, depth))
    }

    pub(super) fn ty(&mut self, kind: TypeExpr, span: Span) -> TypeId {
        let below = self.type_child_depth(&kind);
        let depth = self.check_depth(below, span);
        node_id(self.types.push(kind, span, depth))
    }

    pub(super) fn expr_span(&self, id: ExprId) -> Span {
        self.exprs.nodes.get(id.index()).map_or(Span::default(), |n| n.span)
    }

    /// Returns whether a pattern contains a [`Pat::Sized`].
    pub(super) fn names_extents(&self, root: PatId) -> bool {
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            match self.pats.nodes.get(id.index()).map(|n| &n.kind) {
                Some(Pat::Sized(..)) => return true,
                Some(Pat::Ctor { args, .. } | Pat::Tuple(args)) => open.extend(args),
                Some(Pat::Record(fields)) => open.extend(fields.iter().filter_map(|(_, p)| *p)),
                _ => {}
            }
        }
        false
    }

    /// Moves the nodes into a tree.
    pub(super) fn finish(self, tree: &mut Tree) {
        tree.exprs = self.exprs.into_arena();
        tree.pats = self.pats.into_arena();
        tree.types = self.types.into_arena();
    }

    // The depth of the deepest child.

    fn expr_depth(&self, id: ExprId) -> u32 {
        self.exprs.depth(id.index())
    }

    fn pat_depth(&self, id: PatId) -> u32 {
        self.pats.depth(id.index())
    }

    fn type_depth(&self, id: TypeId) -> u32 {
        self.types.depth(id.index())
    }

    fn expr_child_depth(&self, kind: &Expr) -> u32 {
        let e = |id: &ExprId| self.expr_depth(*id);
        let opt = |ty: &Option<TypeId>| ty.map_or(0, |t| self.type_depth(t));
        match kind {
            Expr::Error | Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Str(_) | Expr::Name(_) => 0,
            Expr::Unary(_, a) | Expr::Paren(a) | Expr::Field(a, _) | Expr::Proj(a, ..) | Expr::Card(a) => e(a),
            Expr::Chain { first, rest } => max_depth_of(rest, |(_, _, a)| e(a)).max(e(first)),
            Expr::Power(a, b) | Expr::Guard { cond: a, body: b } => e(a).max(e(b)),
            Expr::Array { items, .. } | Expr::Tuple(items) => max_depth_of(items, e),
            Expr::Record(fields) => max_depth_of(fields, |(_, a)| e(a)),
            Expr::Index(a, subscripts) => self.subscripts_depth(subscripts).max(e(a)),
            Expr::Call(f, args) => max_depth_of(args, |arg| e(&arg.value)).max(e(f)),
            Expr::Lambda(params, body) => max_depth_of(params, |p| self.pat_depth(p.pat).max(opt(&p.ty))).max(e(body)),
            Expr::Let(binds, body) => {
                max_depth_of(binds, |b| self.pat_depth(b.pat).max(opt(&b.ty)).max(e(&b.value))).max(e(body))
            }
            Expr::If(branches, other) => max_depth_of(branches, |(c, a)| e(c).max(e(a))).max(e(other)),
            Expr::Match(a, arms) => max_depth_of(arms, |arm| self.pat_depth(arm.pat).max(e(&arm.body))).max(e(a)),
            Expr::Binder { vars, filter, body, .. } => {
                self.vars_depth(vars).max(filter.as_ref().map_or(0, e)).max(e(body))
            }
            Expr::Fold { acc, ty, init, vars, body, yields, .. } => self
                .vars_depth(vars)
                .max(self.pat_depth(*acc))
                .max(opt(ty))
                .max(e(init))
                .max(e(body))
                .max(yields.as_ref().map_or(0, e)),
            Expr::Checkpoint { spacing: every, body: of } => every.as_ref().map_or(0, e).max(e(of)),
            Expr::Loop { acc, ty, init, cond, body, .. } => {
                self.pat_depth(*acc).max(opt(ty)).max(e(init)).max(e(cond)).max(e(body))
            }
            Expr::With(a, updates) => max_depth_of(updates, |update| {
                let place = match &update.target {
                    UpdateTarget::Index(subscripts, _) => self.subscripts_depth(subscripts),
                    UpdateTarget::Field(_) | UpdateTarget::Proj(..) => 0,
                };
                place.max(e(&update.value))
            })
            .max(e(a)),
        }
    }

    fn subscripts_depth(&self, subscripts: &[Subscript]) -> u32 {
        max_depth_of(subscripts, |s| match s {
            Subscript::Index(a) => self.expr_depth(*a),
            Subscript::Range(a, b) => self.expr_depth(*a).max(self.expr_depth(*b)),
            Subscript::FullAxis(_) => 0,
        })
    }

    fn vars_depth(&self, vars: &[IndexVar]) -> u32 {
        max_depth_of(vars, |v| match &v.range {
            IndexRange::Bare => 0,
            IndexRange::Below(a) => self.expr_depth(*a),
            IndexRange::Range { from, to, by } => {
                self.expr_depth(*from).max(self.expr_depth(*to)).max(by.map_or(0, |s| self.expr_depth(s)))
            }
        })
    }

    fn pat_child_depth(&self, kind: &Pat) -> u32 {
        match kind {
            Pat::Error | Pat::Wild | Pat::Name(_) | Pat::Int(_) | Pat::Bool(_) => 0,
            Pat::Ctor { args, .. } | Pat::Tuple(args) => max_depth_of(args, |p| self.pat_depth(*p)),
            Pat::Record(fields) => max_depth_of(fields, |(_, p)| p.map_or(0, |p| self.pat_depth(p))),
            Pat::Sized(_, p) => self.pat_depth(*p),
        }
    }

    fn type_child_depth(&self, kind: &TypeExpr) -> u32 {
        let size = |size: &SizeExpr| match size {
            SizeExpr::Expr(e) => self.expr_depth(*e),
            SizeExpr::Unknown(_) => 0,
        };
        match kind {
            TypeExpr::Error => 0,
            TypeExpr::Name { args, .. } => max_depth_of(args, |arg| match arg {
                TypeArg::Type(t) => self.type_depth(*t),
                TypeArg::Size(s) => size(s),
            }),
            TypeExpr::Array(sizes, t) => max_depth_of(sizes, size).max(self.type_depth(*t)),
            TypeExpr::Tuple(items) => max_depth_of(items, |t| self.type_depth(*t)),
            TypeExpr::Record(fields) => max_depth_of(fields, |(_, t)| self.type_depth(*t)),
            TypeExpr::Fun(params, result) => {
                max_depth_of(params, |(_, t)| self.type_depth(*t)).max(self.type_depth(*result))
            }
            TypeExpr::Rel(sizes) => max_depth_of(sizes, size),
        }
    }
}

fn max_depth_of<T>(items: &[T], depth: impl Fn(&T) -> u32) -> u32 {
    items.iter().map(depth).max().unwrap_or(0)
}

fn node_id<T>(at: usize) -> lang_base::Idx<T> {
    lang_base::Idx::from_raw(u32::try_from(at).unwrap_or(u32::MAX))
}
