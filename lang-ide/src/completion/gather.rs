//! **Completion candidates**, gathered category by category for the context that `context`
//! determines. The candidates are unordered here; the caller sorts and truncates them.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use lang_core::base::{GlobalName, ModuleName, Name, Span};
use lang_core::resolve::builtin::Builtin;
use lang_core::resolve::forms::{AXIS_SCALES, Const, DerivativeOp, LoadOption, PlotKind, PlotOption, SpecialForm};
use lang_core::resolve::scalar_fn::ScalarFn;
use lang_core::resolve::{LocalKind, NameEnv, ValueRef};
use lang_core::session::{LIBRARY, PRELUDE, Session};
use lang_core::syntax::ast::{Expr, Item, Tree};
use lang_core::syntax::lexer::Token;
use lang_core::syntax::ops::{BinderKind, Scalar};
use lang_core::syntax::tex::TEX_NAMES;
use lang_core::syntax::token::{Sym, Word};
use lang_core::types::env::TypeEnv;
use lang_core::types::ty::Type;
use lang_core::types::type_info::TypeInfoBody;

use super::completed_item::{CompletedItem, PLACEHOLDER};
use super::context::{CandidateCategory, CompletionContext};
use super::snippets::{self, EXPRESSION_FORMS, ITEM_FORMS};
use super::{Completion, CompletionKind, MAX_FROM_MODULE, import_edit, locals};
use crate::name_docs::DocumentedName;
use crate::signature;
use crate::symbols::{SCATTERED_RANK, match_rank};

/// Returns the names of the language's functions and constants, with their kinds.
fn language_functions() -> impl Iterator<Item = (&'static str, CompletionKind)> {
    let function = |name| (name, CompletionKind::Function);
    let functions = ScalarFn::ALL.iter().map(|f| f.name()).chain(Builtin::ALL.iter().map(|b| b.name()));
    let forms = SpecialForm::ALL.iter().map(|f| f.name()).chain(DerivativeOp::ALL.iter().map(|d| d.name()));
    let conversions = [Scalar::F64, Scalar::F32, Scalar::I64].map(Scalar::name);
    let constants = Const::ALL.iter().map(|c| (c.name(), CompletionKind::Value));
    functions.chain(forms).chain(conversions).map(function).chain(constants)
}

/// The penalty that ranks a scattered match after all other candidates.
const SCATTERED_PENALTY: u32 = 1000;

/// The candidates that were gathered for a place.
pub(super) struct CandidateCollector<'a> {
    /// Whether candidates were left out because of a limit.
    pub(super) incomplete: bool,
    completed_item: OnceCell<Option<CompletedItem>>,
    session: &'a Session,
    module: ModuleName,
    prefix: &'a str,
    context: &'a CompletionContext,
    /// The candidates, unordered.
    pub(super) items: Vec<Completion>,
}

impl<'a> CandidateCollector<'a> {
    /// Creates an empty collection for a place and the prefix before the cursor.
    pub(super) fn new(session: &'a Session, module: &str, prefix: &'a str, place: &'a CompletionContext) -> Self {
        let (module, items) = (module.into(), Vec::new());
        Self { incomplete: false, completed_item: OnceCell::new(), session, module, prefix, context: place, items }
    }

    /// Adds all candidates of the place's category.
    pub(super) fn gather(&mut self) {
        match self.context.category {
            CandidateCategory::NoCandidates => {}
            CandidateCategory::Value => self.add_values(),
            CandidateCategory::Type => self.add_types(),
            CandidateCategory::Size => self.add_sizes(),
            CandidateCategory::Member(dot) => self.add_members(dot),
            CandidateCategory::Import => self.add_imports(),
            CandidateCategory::Item => self.add_forms(ITEM_FORMS, 0),
            CandidateCategory::PlotText => {
                let texts =
                    PlotKind::ALL.iter().map(|k| (k.name(), k.doc())).chain(AXIS_SCALES.map(|s| (s, "a scale")));
                texts.for_each(|(text, doc)| self.add(CompletionKind::Text, text, 0, doc));
            }
            CandidateCategory::Symbol => self.add_symbols(),
            CandidateCategory::Class => {
                ["num", "real"].iter().for_each(|class| self.add(CompletionKind::Keyword, class, 0, ""))
            }
        }
    }

    /// Adds a candidate if it matches the prefix. Better matches come first among candidates of the
    /// same rank. A candidate that contains the letters only at scattered positions comes after all
    /// others.
    fn push_if_matching(&mut self, completion: Completion) {
        if let Some(fits) = match_rank(&completion.label, self.prefix) {
            let penalty = if fits == SCATTERED_RANK { SCATTERED_PENALTY } else { 0 };
            let rank = completion.rank.saturating_mul(8).saturating_add(fits + penalty);
            self.items.push(Completion { rank, ..completion });
        }
    }

    fn add(&mut self, kind: CompletionKind, name: &str, rank: u32, detail: &str) {
        self.add_with_subject(kind, name, rank, detail, None);
    }

    fn add_with_subject(
        &mut self,
        kind: CompletionKind,
        name: &str,
        rank: u32,
        detail: &str,
        subject: Option<DocumentedName>,
    ) {
        self.push_if_matching(Completion {
            label: name.to_owned(),
            kind,
            detail: detail.to_owned(),
            insert: name.to_owned(),
            is_snippet: false,
            rank,
            edits: Vec::new(),
            subject,
        });
    }

    fn matches_prefix(&self, name: &str) -> bool {
        match_rank(name, self.prefix).is_some()
    }

    fn add_forms(&mut self, forms: &[snippets::FormSnippet], rank: u32) {
        for form in forms {
            self.push_if_matching(Completion {
                label: form.word.to_owned(),
                kind: CompletionKind::Form,
                detail: form.description.to_owned(),
                insert: form.snippet.to_owned(),
                is_snippet: true,
                rank,
                edits: Vec::new(),
                subject: Some(DocumentedName::Word(form.word.into())),
            });
        }
    }

    fn add_values(&mut self) {
        if self.add_arguments() {
            return;
        }
        self.add_locals(false);
        self.add_record_fields();
        let own = self.module.clone();
        self.add_module_values(&own, "", 10);
        self.add_module_names(12);
        if *own != *PRELUDE {
            self.add_module_values(&PRELUDE.into(), "", 13);
        }
        for (name, kind) in language_functions() {
            self.add_with_subject(kind, name, 14, "", Some(DocumentedName::Word(name.into())));
        }
        self.add_forms(EXPRESSION_FORMS, 15);
        let binders = BinderKind::ALL.into_iter().map(BinderKind::keyword);
        let known: HashSet<&str> = EXPRESSION_FORMS.iter().map(|f| f.word).collect();
        let keywords = Word::ALL.iter().map(|w| w.text());
        for word in keywords.chain(binders).filter(|w| !known.contains(w)) {
            if !matches!(word, "def" | "type" | "import" | "where" | "as") {
                self.add_with_subject(CompletionKind::Keyword, word, 16, "", Some(DocumentedName::Word(word.into())));
            }
        }
        self.add_library_modules();
    }

    fn add_types(&mut self) {
        if let Some(resolved) = self.completed_item().map(|read| Arc::clone(&read.resolved)) {
            for (name, _) in resolved.type_params.iter().filter(|p| p.0 != PLACEHOLDER) {
                self.add(CompletionKind::TypeParameter, name, 0, "");
            }
        }
        for ty in Scalar::ALL {
            self.add_with_subject(CompletionKind::Type, ty.name(), 2, "", Some(DocumentedName::Word(ty.name().into())));
        }
        let own = self.module.clone();
        self.add_module_types(&own, 1);
        if *own != *PRELUDE {
            self.add_module_types(&PRELUDE.into(), 3);
        }
        self.add_module_names(4);
        self.add(CompletionKind::Keyword, "rel", 5, "rel[n, m]");
        // An argument of a type application may be a size, and so may an expression in brackets.
        let applied = |at: usize| {
            at > 2 && matches!(self.context.preceding_tokens.get(at - 1).map(|t| &t.token), Some(Token::Name(_)))
        };
        if self.context.open_brackets().first().is_some_and(|(at, sym, _)| *sym == Sym::LParen && applied(*at)) {
            self.add_locals(true);
        }
    }

    fn add_sizes(&mut self) {
        self.add_locals(true);
        for word in ["min", "max"] {
            self.add_with_subject(CompletionKind::Function, word, 9, "", Some(DocumentedName::Word(word.into())));
        }
        let own = self.module.clone();
        if !matches!(self.context.preceding_tokens.first().map(|t| &t.token), Some(Token::Keyword(_)) if self.is_in_signature())
        {
            self.add_module_values(&own, "", 10);
        }
    }

    /// Returns whether the cursor is in the signature of a definition, where a size is never a
    /// value of the module.
    fn is_in_signature(&self) -> bool {
        !self.context.preceding_tokens.iter().any(|t| t.token == Token::Sym(Sym::Assign))
    }

    fn completed_item(&self) -> Option<&CompletedItem> {
        self.completed_item.get_or_init(|| CompletedItem::at_cursor(self.session, &self.module, self.context)).as_ref()
    }

    fn add_locals(&mut self, sizes: bool) {
        let (Some(read), Some(item)) = (self.completed_item(), &self.context.item) else { return };
        let (parsed, resolved, checked) = (Arc::clone(&read.parsed), Arc::clone(&read.resolved), read.checked.clone());
        let at = self.context.prefix.start.saturating_sub(item.start);
        let read = self.context.preceding_tokens.last().map_or(0, |t| t.span.end);
        let wanted = signature::expected_argument_type(self.session, &self.module, self.context);
        for (near, local) in (0..).zip(locals::locals_in_scope(&parsed.tree, &resolved, at, read)) {
            let declared = resolved.locals.get(local.id.0 as usize).map(|d| d.span);
            let ty = checked.as_ref().and_then(|c| {
                c.body.locals.iter().find(|l| Some(l.span) == declared && l.name == local.name).map(|l| l.ty.clone())
            });
            let size = matches!(
                local.kind,
                LocalKind::ImplicitSize | LocalKind::ResultSize | LocalKind::NamedExtent | LocalKind::FunTypeParam
            );
            let is_size = size || ty == Some(Type::I64);
            if sizes && !is_size || local.name == PLACEHOLDER {
                continue;
            }
            let fits = match (&wanted, &ty) {
                (Some(wanted), Some(ty)) => !have_same_shape(wanted, ty),
                _ => false,
            };
            let detail = ty.filter(|ty| *ty != Type::Error).map_or_else(String::new, |ty| ty.to_string());
            // Nearest first; locals of another type after those that fit.
            let rank = u32::min(near, 4) + if fits { 5 } else { 0 };
            self.add(CompletionKind::Local(local.kind), &local.name, rank, &detail);
        }
    }

    fn add_module_values(&mut self, module: &ModuleName, prefix: &str, rank: u32) {
        let view = self.session.view();
        let names = view.value_names(module).into_iter();
        let mut fitting: Vec<(u32, Name)> = names.filter_map(|n| Some((match_rank(&n, self.prefix)?, n))).collect();
        if fitting.len() > MAX_FROM_MODULE {
            self.incomplete = true;
            fitting.sort();
            fitting.truncate(MAX_FROM_MODULE);
        }
        for (_, name) in fitting {
            let (kind, subject, of) = match view.top_level_value(module, &name) {
                Some(ValueRef::Def(global)) => {
                    (CompletionKind::Function, DocumentedName::Value(global.clone()), global.module)
                }
                Some(ValueRef::Let(global)) => {
                    (CompletionKind::Value, DocumentedName::Value(global.clone()), global.module)
                }
                Some(ValueRef::Ctor(ty, _)) => {
                    (CompletionKind::Constructor, DocumentedName::Ctor(ty.clone(), name.clone()), ty.module)
                }
                None => continue,
            };
            // The names of the prelude are added with its own module.
            if of == *module {
                self.add_with_subject(kind, &format!("{prefix}{name}"), rank, "", Some(subject));
            }
        }
    }

    fn add_module_types(&mut self, module: &ModuleName, rank: u32) {
        let view = self.session.view();
        for name in view.type_names(module) {
            if let Some(global) = view.top_level_type(module, &name).filter(|g| g.module == *module) {
                self.add_with_subject(CompletionKind::Type, &name, rank, "", Some(DocumentedName::Type(global)));
            }
        }
    }

    /// Adds the aliases of the imported modules.
    fn add_module_names(&mut self, rank: u32) {
        for (alias, module) in self.session.view().imports(&self.module) {
            let detail = if *alias == *module { String::new() } else { module.to_string() };
            self.add_with_subject(CompletionKind::Module, &alias, rank, &detail, Some(DocumentedName::Module(module)));
        }
    }

    /// Adds the modules that can be imported by name.
    fn add_imports(&mut self) {
        for (name, _) in LIBRARY.iter().filter(|(name, _)| *name != PRELUDE) {
            self.add_with_subject(CompletionKind::Module, name, 0, "", Some(DocumentedName::Module((*name).into())));
        }
    }

    /// Adds the library modules that are not imported and, from two letters on, the matching
    /// definitions of all library modules.
    fn add_library_modules(&mut self) {
        let view = self.session.view();
        let imported = view.imports(&self.module);
        let known = |module: &str| imported.iter().find(|(_, m)| *m == module).map(|(alias, _)| alias.clone());
        let own = self.module.clone();
        for (module, _) in LIBRARY.iter().filter(|(name, _)| *name != PRELUDE && *name != own.as_str()) {
            let alias = known(module);
            let name = Name::from(*module);
            // A name with another meaning here cannot name the module.
            if alias.is_none()
                && (imported.iter().any(|(a, _)| *a == name) || view.top_level_value(&self.module, module).is_some())
            {
                continue;
            }
            let edits = match alias {
                Some(_) => Vec::new(),
                None => import_edit(self.session, &self.module, module).into_iter().collect(),
            };
            if alias.is_none() && self.matches_prefix(module) {
                self.push_if_matching(Completion {
                    label: (*module).to_owned(),
                    kind: CompletionKind::Module,
                    detail: format!("import {module}"),
                    insert: (*module).to_owned(),
                    is_snippet: false,
                    rank: 17,
                    edits: edits.clone(),
                    subject: Some(DocumentedName::Module(name.clone())),
                });
            }
            if self.prefix.chars().count() < 2 {
                continue;
            }
            let qualifier = alias.clone().unwrap_or(name.clone());
            for value in view.value_names(&name) {
                let Some(ValueRef::Def(global)) =
                    view.top_level_value(&name, &value).filter(|_| self.matches_prefix(&value))
                else {
                    continue;
                };
                if global.module != name {
                    continue;
                }
                self.push_if_matching(Completion {
                    label: value.to_string(),
                    kind: CompletionKind::Function,
                    detail: if alias.is_some() { qualifier.to_string() } else { format!("import {module}") },
                    insert: format!("{qualifier}.{value}"),
                    is_snippet: false,
                    rank: if alias.is_some() { 18 } else { 19 },
                    edits: edits.clone(),
                    subject: Some(DocumentedName::Value(global)),
                });
            }
        }
    }

    /// Adds the labels of named arguments, and the parameters after `wrt:`. Returns whether no
    /// other candidates are valid.
    fn add_arguments(&mut self) -> bool {
        let open = self.context.open_brackets();
        let tokens = &self.context.preceding_tokens;
        let token = |at: usize| tokens.get(at).map(|t| &t.token);
        let call = open.iter().find(|(_, sym, _)| *sym == Sym::LParen);
        let callee = |at: usize| match at.checked_sub(1).and_then(token) {
            Some(Token::Name(name)) => Some(name.clone()),
            _ => None,
        };
        // `wrt: x` and `wrt: (x, y)`
        let after_wrt = |colon: Option<usize>| {
            let colon = colon?;
            let is = token(colon) == Some(&Token::Sym(Sym::Colon))
                && matches!(token(colon.checked_sub(1)?), Some(Token::Name(name)) if name == "wrt");
            is.then_some(colon)
        };
        let last = tokens.len().checked_sub(1);
        let inner = open.first().and_then(|(at, _, _)| at.checked_sub(1));
        if let Some(colon) = after_wrt(last).or_else(|| after_wrt(inner)) {
            let bracket = open.iter().map(|(at, ..)| *at).find(|at| *at < colon);
            let Some(names) = bracket.and_then(|at| self.parameters_of_operand(at)) else { return false };
            names.iter().for_each(|name| self.add(CompletionKind::Local(LocalKind::Param), name, 0, "parameter"));
            return !names.is_empty();
        }
        let Some((at, _, commas)) = call else { return false };
        match callee(*at) {
            Some(name) if DerivativeOp::by_name(&name).is_some() && *commas > 0 => {
                self.push_if_matching(argument_completion("wrt", "the parameters to differentiate with respect to"));
            }
            Some(name) if name == "plot" && *commas > 0 => {
                PlotOption::ALL.iter().for_each(|o| self.push_if_matching(argument_completion(o.name(), o.doc())));
            }
            Some(name) if name == "load" && *commas > 0 => {
                LoadOption::ALL.iter().for_each(|o| self.push_if_matching(argument_completion(o.name(), o.doc())));
            }
            _ => {}
        }
        false
    }

    /// Returns the parameters of the function that follows this bracket of a derivative operator.
    fn parameters_of_operand(&self, bracket: usize) -> Option<Vec<Name>> {
        let tokens = &self.context.preceding_tokens;
        let token = |at: usize| tokens.get(at).map(|t| &t.token);
        let view = self.session.view();
        let of_def = |module: &ModuleName, name: &str| match view.top_level_value(module, name) {
            Some(ValueRef::Def(def)) => parameter_names(self.session, &def),
            _ => None,
        };
        match (token(bracket + 1)?, token(bracket + 2)?, token(bracket + 3)) {
            (Token::Name(module), Token::Sym(Sym::Dot), Some(Token::Name(name))) => {
                of_def(&view.imported_module(&self.module, module)?, name)
            }
            (Token::Name(name), ..) => of_def(&self.module, name),
            (Token::Sym(Sym::Backslash), ..) => {
                let names = tokens.iter().skip(bracket + 2).take_while(|t| t.token != Token::Sym(Sym::Colon));
                Some(names.filter_map(|t| if let Token::Name(n) = &t.token { Some(n.clone()) } else { None }).collect())
            }
            _ => None,
        }
    }

    /// Adds the fields of the types in scope, if the braces of a record, a record pattern or an
    /// update have just been opened.
    fn add_record_fields(&mut self) {
        let in_braces = self.context.open_brackets().first().is_some_and(|(_, sym, _)| *sym == Sym::LBrace);
        let begins = matches!(self.context.token_before(0), Some(Token::Sym(Sym::LBrace | Sym::Comma)));
        let updates = matches!(self.context.token_before(0), Some(Token::Keyword(Word::With)));
        if !(in_braces && begins || updates) {
            return;
        }
        let view = self.session.view();
        for name in view.type_names(&self.module) {
            let Some(global) = view.top_level_type(&self.module, &name) else { continue };
            let Some(info) = view.type_info(&global) else { continue };
            if let TypeInfoBody::Alias(Type::Record(fields)) = &info.body {
                for (field, ty) in fields.iter() {
                    self.add(CompletionKind::Field, field, 5, &format!("{ty} of {name}"));
                }
            }
        }
    }

    fn add_members(&mut self, dot: u32) {
        let view = self.session.view();
        if let Some(Token::Name(name)) = self.context.token_before(1)
            && !matches!(self.context.token_before(2), Some(Token::Sym(Sym::Dot)))
            && let Some(module) = view.imported_module(&self.module, name)
        {
            self.add_module_values(&module, "", 0);
            self.add_module_types(&module, 1);
            return;
        }
        match self.type_before(dot) {
            Some(Type::Record(fields)) => {
                for (name, ty) in fields.iter() {
                    self.add(CompletionKind::Field, name, 0, &ty.to_string());
                }
            }
            Some(Type::Tuple(items)) => {
                for (k, ty) in items.iter().enumerate() {
                    self.add(CompletionKind::Field, &k.to_string(), 0, &ty.to_string());
                }
            }
            _ => self.add_members_to_import(),
        }
    }

    /// Adds the members of the library module whose name precedes the dot, with the import that
    /// each needs.
    fn add_members_to_import(&mut self) {
        let Some(Token::Name(name)) = self.context.token_before(1) else { return };
        let module: ModuleName = name.clone();
        let is_library = LIBRARY.iter().any(|(known, _)| *known != PRELUDE && *known == module.as_str());
        let means_something = self.session.view().top_level_value(&self.module, &module).is_some();
        if !is_library || means_something || module == self.module {
            return;
        }
        let before = self.items.len();
        self.add_module_values(&module, "", 0);
        self.add_module_types(&module, 1);
        let edits: Vec<_> = import_edit(self.session, &self.module, &module).into_iter().collect();
        self.items.iter_mut().skip(before).for_each(|item| item.edits.clone_from(&edits));
    }

    /// Returns the type of the expression before the dot.
    fn type_before(&self, dot: u32) -> Option<Type> {
        let read = self.completed_item()?;
        let base = field_base_span(&read.parsed.tree, dot)?;
        let checked = read.checked.as_ref()?;
        let mut nodes = checked.body.nodes.iter().filter(|(_, node)| node.span == base && node.ty != Type::Error);
        nodes.next_back().map(|(_, node)| node.ty.clone())
    }

    fn add_symbols(&mut self) {
        for (name, symbol) in TEX_NAMES {
            if name.starts_with(self.prefix) {
                self.items.push(Completion {
                    label: format!("\\{name}"),
                    kind: CompletionKind::Symbol,
                    detail: (*symbol).to_owned(),
                    insert: (*symbol).to_owned(),
                    is_snippet: false,
                    rank: u32::from(*name != self.prefix),
                    edits: Vec::new(),
                    subject: None,
                });
            }
        }
    }
}

fn argument_completion(name: &str, detail: &str) -> Completion {
    Completion {
        label: name.to_owned(),
        kind: CompletionKind::Argument,
        detail: detail.to_owned(),
        insert: format!("{name}: "),
        is_snippet: false,
        rank: 0,
        edits: Vec::new(),
        subject: None,
    }
}

/// Returns the span of the expression whose field the dot accesses.
fn field_base_span(tree: &Tree, dot: u32) -> Option<Span> {
    let bases = tree.exprs.iter().filter_map(|(_, node)| match &node.kind {
        Expr::Field(base, name) if tree.exprs[*base].span.end <= dot && dot < name.span.end.max(dot + 1) => {
            Some(tree.exprs[*base].span)
        }
        Expr::Proj(base, ..) => Some(tree.exprs[*base].span),
        _ => None,
    });
    // The expression ends at the dot; white space may separate them.
    let ends = bases.filter(|s| s.end <= dot).max_by_key(|s| (s.end, s.start));
    ends.filter(|s| s.end <= dot)
}

/// Returns the names of a definition's parameters.
fn parameter_names(session: &Session, def: &GlobalName) -> Option<Vec<Name>> {
    let parsed = session.tree(&session.item(def)?)?;
    match &parsed.tree.item {
        Item::Def(def) => Some(def.params.iter().map(|p| p.name.name.clone()).collect()),
        _ => None,
    }
}

/// Returns whether two types have the same shape: arrays of alike elements, or the same data type.
/// A type parameter or an unknown type is alike to any other.
fn have_same_shape(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Param(..) | Type::Meta(_) | Type::Error, _) | (_, Type::Meta(_) | Type::Error) => true,
        (Type::Array(_, a), Type::Array(_, b)) => have_same_shape(a, b),
        (Type::Data(a, _), Type::Data(b, _)) => a == b,
        (Type::Scalar(a), Type::Scalar(b)) => a == b,
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len(),
        (Type::Record(a), Type::Record(b)) => {
            crate::fields::sorted_field_names(a) == crate::fields::sorted_field_names(b)
        }
        (Type::Fun(a), Type::Fun(b)) => a.params.len() == b.params.len(),
        (Type::Rel(a), Type::Rel(b)) => a.len() == b.len(),
        _ => a == b,
    }
}
