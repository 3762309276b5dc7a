//! **Coverage of the reference.** Names every syntactic form of the language, so that tests can
//! check that the book shows each. The matches are exhaustive: a new variant of the tree does not
//! compile until it has a name here. A name without an example in the reference fails the
//! `literate` test.

use std::collections::BTreeSet;

use lang_core::resolve::builtin::Builtin;
use lang_core::resolve::forms::{Const, DerivativeOp, SpecialForm};
use lang_core::resolve::scalar_fn::ScalarFn;
use lang_core::syntax::ast::{
    Expr, IndexRange, IndexVar, Item, Pat, SizeExpr, Subscript, TypeArg, TypeBody, TypeExpr, UpdateTarget, WithUpdate,
};
use lang_core::syntax::ops::{BinOp, BinderKind, Scalar, UnOp};
use lang_core::syntax::parser::parse_item;

/// The names of all forms.
pub const ALL: &[&str] = &[
    "item: def",
    "item: def without result type",
    "item: def with constraints",
    "item: sum type",
    "item: type of one right side",
    "item: import",
    "item: import of a file",
    "item: import with as",
    "item: let",
    "item: let with type",
    "item: quiet let",
    "item: do",
    "item: derivative",
    "item: adjoint",
    "expr: integer",
    "expr: real",
    "expr: truth value",
    "expr: string",
    "expr: name",
    "expr: minus",
    "expr: not",
    "expr: |>",
    "expr: ||",
    "expr: &&",
    "expr: ==",
    "expr: !=",
    "expr: <",
    "expr: <=",
    "expr: >",
    "expr: >=",
    "expr: +",
    "expr: -",
    "expr: *",
    "expr: /",
    "expr: //",
    "expr: %",
    "expr: power",
    "expr: bracket",
    "expr: array",
    "expr: array with a last comma",
    "expr: group",
    "expr: tuple",
    "expr: unit",
    "expr: record",
    "expr: field",
    "expr: component",
    "expr: index",
    "expr: call",
    "expr: named argument",
    "expr: lambda",
    "expr: lambda with types",
    "expr: let",
    "expr: let with type",
    "expr: if",
    "expr: match",
    "expr: for",
    "expr: sum",
    "expr: prod",
    "expr: max",
    "expr: min",
    "expr: argmax",
    "expr: argmin",
    "expr: any",
    "expr: all",
    "expr: rel",
    "expr: filter of a binder",
    "expr: fold",
    "expr: fold with type",
    "expr: scan",
    "expr: yield",
    "expr: loop",
    "expr: scan while",
    "expr: checkpoint",
    "expr: checkpoint with a spacing",
    "expr: update",
    "expr: += update",
    "expr: members of a relation",
    "subscript: element",
    "subscript: range",
    "subscript: whole axis",
    "range: none",
    "range: below",
    "range: in",
    "range: by",
    "place: index",
    "place: field",
    "place: component",
    "pattern: _",
    "pattern: name",
    "pattern: constructor",
    "pattern: constructor of a module",
    "pattern: tuple",
    "pattern: record",
    "pattern: field alone",
    "pattern: integer",
    "pattern: truth value",
    "pattern: extents",
    "type: name",
    "type: name of a module",
    "type: applied to a type",
    "type: applied to a size",
    "type: array",
    "type: array of unknown extent",
    "type: tuple",
    "type: record",
    "type: function",
    "type: dependent function",
    "type: relation",
];

/// Adds the forms that occur in an item to `seen`.
pub fn of_item(text: &str, seen: &mut BTreeSet<&'static str>) {
    let parsed = parse_item(text);
    let tree = &parsed.tree;
    item(&tree.item, seen);
    for (_, node) in tree.exprs.iter() {
        expr(&node.kind, seen);
    }
    for (_, node) in tree.pats.iter() {
        pattern(&node.kind, seen);
    }
    for (_, node) in tree.types.iter() {
        written_type(&node.kind, seen);
    }
}

fn add(seen: &mut BTreeSet<&'static str>, form: &'static str) {
    seen.insert(form);
}

fn item(item: &Item, seen: &mut BTreeSet<&'static str>) {
    match item {
        Item::Def(def) => {
            seen.insert("item: def");
            if def.result.is_none() {
                seen.insert("item: def without result type");
            }
            if !def.constraints.is_empty() {
                seen.insert("item: def with constraints");
            }
        }
        Item::Type(ty) => {
            seen.insert(match ty.body {
                TypeBody::Sum(_) => "item: sum type",
                TypeBody::Single(_) => "item: type of one right side",
            });
        }
        Item::Import(import) => {
            seen.insert(if import.is_file { "item: import of a file" } else { "item: import" });
            if import.alias.is_some() {
                seen.insert("item: import with as");
            }
        }
        Item::Let(bind) => {
            seen.insert("item: let");
            if bind.ty.is_some() {
                seen.insert("item: let with type");
            }
            if bind.is_quiet {
                seen.insert("item: quiet let");
            }
        }
        Item::Do(_) => {
            seen.insert("item: do");
        }
        Item::DerivativeRule(rule) => {
            seen.insert(if rule.is_adjoint { "item: adjoint" } else { "item: derivative" });
        }
        Item::Error => {}
    }
}

fn expr(expr: &Expr, seen: &mut BTreeSet<&'static str>) {
    match expr {
        Expr::Error => {}
        Expr::Int(_) => add(seen, "expr: integer"),
        Expr::Float(_) => add(seen, "expr: real"),
        Expr::Bool(_) => add(seen, "expr: truth value"),
        Expr::Str(_) => add(seen, "expr: string"),
        Expr::Name(_) => add(seen, "expr: name"),
        Expr::Unary(UnOp::Neg, _) => add(seen, "expr: minus"),
        Expr::Unary(UnOp::Not, _) => add(seen, "expr: not"),
        Expr::Chain { rest, .. } => seen.extend(rest.iter().map(|(op, _, _)| operator(*op))),
        Expr::Power(..) => add(seen, "expr: power"),
        Expr::Guard { .. } => add(seen, "expr: bracket"),
        Expr::Array { has_trailing_comma: comma, .. } => {
            add(seen, if *comma { "expr: array with a last comma" } else { "expr: array" })
        }
        Expr::Paren(_) => add(seen, "expr: group"),
        Expr::Tuple(items) => add(seen, if items.is_empty() { "expr: unit" } else { "expr: tuple" }),
        Expr::Record(_) => add(seen, "expr: record"),
        Expr::Field(..) => add(seen, "expr: field"),
        Expr::Proj(..) => add(seen, "expr: component"),
        Expr::Index(_, subscripts) => {
            seen.insert("expr: index");
            seen.extend(subscripts.iter().map(subscript));
        }
        Expr::Call(_, args) => {
            seen.insert("expr: call");
            if args.iter().any(|arg| arg.name.is_some()) {
                seen.insert("expr: named argument");
            }
        }
        Expr::Lambda(params, _) => {
            seen.insert("expr: lambda");
            if params.iter().any(|param| param.ty.is_some()) {
                seen.insert("expr: lambda with types");
            }
        }
        Expr::Let(binds, _) => {
            seen.insert("expr: let");
            if binds.iter().any(|bind| bind.ty.is_some()) {
                seen.insert("expr: let with type");
            }
        }
        Expr::If(..) => add(seen, "expr: if"),
        Expr::Match(..) => add(seen, "expr: match"),
        Expr::Binder { kind, vars, filter, .. } => {
            seen.insert(binder(*kind));
            if filter.is_some() {
                seen.insert("expr: filter of a binder");
            }
            ranges(vars, seen);
        }
        Expr::Fold { is_scan: scan, ty, vars, yields, .. } => {
            seen.insert(if *scan { "expr: scan" } else { "expr: fold" });
            if ty.is_some() {
                seen.insert("expr: fold with type");
            }
            if yields.is_some() {
                seen.insert("expr: yield");
            }
            ranges(vars, seen);
        }
        Expr::Loop { is_scan: scan, .. } => add(seen, if *scan { "expr: scan while" } else { "expr: loop" }),
        Expr::Checkpoint { spacing: None, .. } => add(seen, "expr: checkpoint"),
        Expr::Checkpoint { spacing: Some(_), .. } => add(seen, "expr: checkpoint with a spacing"),
        Expr::With(_, updates) => updates.iter().for_each(|u| update(u, seen)),
        Expr::Card(_) => add(seen, "expr: members of a relation"),
    }
}

fn update(update: &WithUpdate, seen: &mut BTreeSet<&'static str>) {
    seen.insert(if update.is_add { "expr: += update" } else { "expr: update" });
    match &update.target {
        UpdateTarget::Index(subscripts, _) => {
            seen.insert("place: index");
            seen.extend(subscripts.iter().map(subscript));
        }
        UpdateTarget::Field(_) => add(seen, "place: field"),
        UpdateTarget::Proj(..) => add(seen, "place: component"),
    }
}

fn subscript(subscript: &Subscript) -> &'static str {
    match subscript {
        Subscript::Index(_) => "subscript: element",
        Subscript::Range(..) => "subscript: range",
        Subscript::FullAxis(_) => "subscript: whole axis",
    }
}

fn ranges(vars: &[IndexVar], seen: &mut BTreeSet<&'static str>) {
    for var in vars {
        seen.insert(match &var.range {
            IndexRange::Bare => "range: none",
            IndexRange::Below(_) => "range: below",
            IndexRange::Range { by: None, .. } => "range: in",
            IndexRange::Range { by: Some(_), .. } => "range: by",
        });
    }
}

fn operator(op: BinOp) -> &'static str {
    match op {
        BinOp::Pipe => "expr: |>",
        BinOp::Or => "expr: ||",
        BinOp::And => "expr: &&",
        BinOp::Eq => "expr: ==",
        BinOp::Ne => "expr: !=",
        BinOp::Lt => "expr: <",
        BinOp::Le => "expr: <=",
        BinOp::Gt => "expr: >",
        BinOp::Ge => "expr: >=",
        BinOp::Add => "expr: +",
        BinOp::Sub => "expr: -",
        BinOp::Mul => "expr: *",
        BinOp::Div => "expr: /",
        BinOp::FloorDiv => "expr: //",
        BinOp::Mod => "expr: %",
    }
}

fn binder(kind: BinderKind) -> &'static str {
    match kind {
        BinderKind::For => "expr: for",
        BinderKind::Sum => "expr: sum",
        BinderKind::Prod => "expr: prod",
        BinderKind::Max => "expr: max",
        BinderKind::Min => "expr: min",
        BinderKind::Argmax => "expr: argmax",
        BinderKind::Argmin => "expr: argmin",
        BinderKind::Any => "expr: any",
        BinderKind::All => "expr: all",
        BinderKind::Rel => "expr: rel",
    }
}

fn pattern(pattern: &Pat, seen: &mut BTreeSet<&'static str>) {
    match pattern {
        Pat::Error => {}
        Pat::Wild => add(seen, "pattern: _"),
        Pat::Name(_) => add(seen, "pattern: name"),
        Pat::Ctor { module: None, .. } => add(seen, "pattern: constructor"),
        Pat::Ctor { module: Some(_), .. } => add(seen, "pattern: constructor of a module"),
        Pat::Tuple(_) => add(seen, "pattern: tuple"),
        Pat::Record(fields) => {
            seen.insert("pattern: record");
            if fields.iter().any(|(_, inner)| inner.is_none()) {
                seen.insert("pattern: field alone");
            }
        }
        Pat::Int(_) => add(seen, "pattern: integer"),
        Pat::Bool(_) => add(seen, "pattern: truth value"),
        Pat::Sized(..) => add(seen, "pattern: extents"),
    }
}

fn written_type(ty: &TypeExpr, seen: &mut BTreeSet<&'static str>) {
    match ty {
        TypeExpr::Error => {}
        TypeExpr::Name { module, args, .. } => {
            seen.insert(if module.is_some() { "type: name of a module" } else { "type: name" });
            seen.extend(args.iter().map(|arg| match arg {
                TypeArg::Type(_) => "type: applied to a type",
                TypeArg::Size(_) => "type: applied to a size",
            }));
        }
        TypeExpr::Array(sizes, _) => {
            seen.insert("type: array");
            if sizes.iter().any(|size| matches!(size, SizeExpr::Unknown(_))) {
                seen.insert("type: array of unknown extent");
            }
        }
        TypeExpr::Tuple(_) => add(seen, "type: tuple"),
        TypeExpr::Record(_) => add(seen, "type: record"),
        TypeExpr::Fun(params, _) => {
            let dependent = params.iter().any(|(name, _)| name.is_some());
            seen.insert(if dependent { "type: dependent function" } else { "type: function" });
        }
        TypeExpr::Rel(_) => add(seen, "type: relation"),
    }
}

/// Returns every word and operator that has a meaning of its own.
#[must_use]
pub fn words() -> Vec<String> {
    let mut words: Vec<&str> = Vec::new();
    words.extend(BinderKind::ALL.iter().map(|b| b.keyword()));
    words.extend(BinOp::ALL.iter().map(|op| op.symbol()).filter(|symbol| !symbol.contains('|')));
    words.extend(Scalar::ALL.iter().map(|s| s.name()));
    words.extend(SpecialForm::ALL.iter().map(|f| f.name()));
    words.extend(DerivativeOp::ALL.iter().map(|d| d.name()));
    words.extend(Const::ALL.iter().map(|c| c.name()));
    words.extend(ScalarFn::ALL.iter().map(|f| f.name()));
    words.extend(Builtin::ALL.iter().map(|b| b.name()));
    words.extend(
        "def type import let do in for if then else match fold scan loop while with yield checkpoint by true false where as \
         derivative adjoint wrt"
            .split(' '),
    );
    words.into_iter().map(String::from).collect()
}
