//! Partial derivatives and cotangents of expressions inside definitions, as they are told: put into the program again as text
//! and evaluated beside what the interpreter differentiates by dual numbers.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    reason = "a failed expectation is a failed test"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;

use iverson_tests::golden;
use iverson_tests::run::value_of_main;
use lang_core::interp::Value;
use lang_core::predicate::{Atom, Poly};
use lang_core::session::{ItemRef, Session};
use lang_core::source::{Entries, Told};
use lang_core::syntax::ast::{self, Item, Tree};
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::{Body, Expr, IndexRange, Node, TId};
use lang_core::types::ty::{Scalar, Type};

/// So many expressions of a definition are looked at.
const SOME: usize = 3;

/// What is compared, and what is not.
#[derive(Default, Debug)]
struct Tally {
    partials: usize,
    cotangents: usize,
    /// Expressions that read what a `let`, a pattern or a loop binds, or values of other types.
    others: usize,
    /// Where the program fails with the values that it is given.
    failing: usize,
}

/// What every size is, by its name.
fn size(name: &str) -> i64 {
    2 + i64::from(name.bytes().map(u32::from).sum::<u32>() % 3)
}

fn number(p: &Poly) -> Option<i64> {
    p.eval(&mut |a| match a {
        Atom::Local(_, name) => Some(size(name)),
        _ => None,
    })
}

/// An argument of that type, as text; `None` for others than arrays and numbers.
fn argument(ty: &Type, name: &str) -> Option<String> {
    let (mut ty, mut dims) = (ty, Vec::new());
    while let Type::Array(n, element) = ty {
        dims.push(number(n).filter(|n| *n >= 0)?);
        ty = element;
    }
    let shift: u32 = name.bytes().map(u32::from).sum();
    let index = |k: usize| format!("f64(q{k} * {})", 2 * k + 3);
    let at: Vec<String> = (0..dims.len()).map(index).chain([format!("{}.0", shift % 11)]).collect();
    let element = match ty {
        Type::Scalar(Scalar::F64) | Type::Param(..) => format!("0.7 + 0.5 * sin({})", at.join(" + ")),
        Type::Scalar(Scalar::I64) if dims.is_empty() => size(name).to_string(),
        _ => return None,
    };
    let ranges: Vec<String> = dims.iter().enumerate().map(|(k, n)| format!("q{k} < {n}")).collect();
    Some(if ranges.is_empty() { element } else { format!("for {}: {element}", ranges.join(", ")) })
}

/// `x[i + j]` as the name and the indices.
fn parts(of: &str) -> Option<(&str, Vec<&str>)> {
    let Some((name, at)) = of.split_once('[') else { return Some((of, Vec::new())) };
    Some((name, at.strip_suffix(']')?.split(", ").collect()))
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_') && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// An expression inside a definition.
struct Inside<'s> {
    session: &'s Session,
    /// In which programs with more in them are evaluated.
    scratch: &'s RefCell<Session>,
    item: &'s ItemRef,
    body: &'s Body,
    node: TId,
    text: &'s str,
}

impl Inside<'_> {
    /// The parameters of the definition and the indices around that the expression reads, with their types; `None` if it
    /// reads anything else that is bound in the definition.
    fn variables(&self) -> Option<Vec<(String, Type, bool)>> {
        let mut found: Vec<(u32, bool)> = self.body.params.iter().map(|l| (l.0, false)).collect();
        let (mut read, mut bound, mut open) = (Vec::new(), Vec::new(), vec![self.node]);
        while let Some(node) = open.pop() {
            let kind = &self.body.nodes[node].kind;
            kind.for_each_local(&mut |l| read.push(l.0), &mut |l| bound.push(l.0));
            kind.for_each_child(&self.body.nodes, &mut |n| open.push(n));
        }
        for l in read {
            let size = self.body.sizes.iter().any(|s| s.0 == l);
            if size || bound.contains(&l) || found.iter().any(|(known, _)| *known == l) {
                continue;
            }
            self.range(l)?;
            found.push((l, true));
        }
        let local = |(l, index): (u32, bool)| {
            let local = &self.body.locals[l as usize];
            (local.name.to_string(), local.ty.clone(), index)
        };
        Some(found.into_iter().map(local).collect())
    }

    /// The sizes of the definition, which what is told may mention.
    fn sizes(&self) -> String {
        let names = self.body.sizes.iter().map(|l| &self.body.locals[l.0 as usize].name);
        names.map(|name| format!("  let {name} = {}\n", size(name))).collect()
    }

    /// Where an index ranges.
    fn range(&self, local: u32) -> Option<i64> {
        let of = |node: &Node| {
            let (Expr::Binder { vars, .. } | Expr::Fold { vars, .. }) = &node.kind else { return None };
            let var = vars.iter().find(|v| v.local.0 == local)?;
            match &var.range {
                IndexRange::Extent(n) => number(n),
                IndexRange::Below(n) => match &self.body.nodes[*n].kind {
                    Expr::Size(p) => number(p),
                    Expr::Local(l) => Some(size(&self.body.locals[l.0 as usize].name)),
                    _ => Some(1),
                },
                IndexRange::Range(..) => None,
            }
        };
        self.body.nodes.iter().find_map(|(_, node)| of(node)).filter(|n| *n > 0)
    }

    /// The program with these definitions in it, and the value of `main`.
    fn evaluated(&self, more: &str) -> Result<Value, String> {
        let mut session = self.scratch.borrow_mut();
        // What is computed at the top level takes its time, and `main` is another.
        let kept = |i: &ItemRef| !matches!(i.kind, ItemKind::Let | ItemKind::Do) && i.name != "main";
        let items = self.session.items(&self.item.module).into_iter().filter(kept);
        let text: String = items.map(|i| i.text.to_string() + "\n").collect();
        let (folder, _) = self.item.module.rsplit_once('/').unwrap_or_default();
        let module = &format!("{folder}/inside.iv");
        session.set_text(module, &format!("{text}\n{more}"));
        let wrong: Vec<String> =
            session.diagnostics(module).iter().filter(|d| d.is_error()).map(|d| d.message.clone()).collect();
        if let [first, ..] = wrong.as_slice() {
            return Err(format!("no program: {first}"));
        }
        value_of_main(&session, module)
    }

    /// Whether what is told of partial derivatives is what the interpreter has; `None` where it is not compared.
    fn partials(&self, told: &Entries, tally: &mut Tally) -> Option<()> {
        let Some(variables) = self.variables() else {
            tally.others += 1;
            return None;
        };
        let heads: Vec<String> = variables.iter().map(|(name, ty, _)| format!("{name}: {ty}")).collect();
        let names: Vec<&str> = variables.iter().map(|(name, ..)| name.as_str()).collect();
        let arguments: Option<Vec<String>> = variables
            .iter()
            .map(|(name, ty, index)| if *index { Some("1 - 1".to_owned()) } else { argument(ty, name) })
            .collect();
        let Some(arguments) = arguments else {
            tally.others += 1;
            return None;
        };
        let mut by: BTreeMap<&str, Vec<(Vec<&str>, &Told)>> = BTreeMap::new();
        for entry in &told.all {
            let (name, at) = parts(&entry.of)?;
            by.entry(name).or_default().push((at, entry));
        }
        for (name, ty, index) in &variables {
            let mut dims = Vec::new();
            let mut element = ty;
            while let Type::Array(n, inner) = element {
                dims.push(number(n)?);
                element = inner;
            }
            if *index || !matches!(element, Type::Scalar(Scalar::F64)) {
                continue;
            }
            let lets: String = told.lets.iter().map(|l| format!("{l} ")).collect();
            let open = if lets.is_empty() { "" } else { "in " };
            let ranges: Vec<String> = dims.iter().enumerate().map(|(k, n)| format!("r{k} < {n}")).collect();
            let zero = if dims.is_empty() { "0.0".to_owned() } else { format!("(for {}: 0.0)", ranges.join(", ")) };
            let mut sum = vec![zero];
            for (at, entry) in by.get(name.as_str()).into_iter().flatten() {
                let mut heads = Vec::new();
                let mut conditions = Vec::new();
                for (k, (at, n)) in at.iter().zip(&dims).enumerate() {
                    let is_let = told.lets.iter().any(|l| l.starts_with(&format!("let {at} = ")));
                    if is_name(at) && !names.contains(at) && !is_let {
                        heads.push(format!("{at} < {n}"));
                    } else {
                        heads.push(format!("r{k} < {n}"));
                        conditions.push(format!("[r{k} == {at}] * "));
                    }
                }
                let value = format!("{}({})", conditions.concat(), entry.value);
                sum.push(if heads.is_empty() { value } else { format!("(for {}: {value})", heads.join(", ")) });
            }
            let call = names.iter().map(|n| if n == name { "v_" } else { n }).collect::<Vec<_>>().join(", ");
            let binds = names.iter().zip(&arguments).map(|(n, a)| format!("  let {n} = {a}\n"));
            let binds: String = [self.sizes()].into_iter().chain(binds).collect();
            let more = format!(
                "def hovered({}) = {}\ndef main() =\n{binds}  in (grad(\\v_: hovered({call}))({name}), {lets}{open}{})\n",
                heads.join(", "),
                self.text,
                sum.join(" + "),
            );
            match self.evaluated(&more) {
                Ok(both) => {
                    let both = numbers(&both);
                    let (wanted, found) = both.split_at(both.len() / 2);
                    let near = wanted.iter().zip(found).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs()));
                    assert!(wanted.len() == found.len() && near, "{wanted:?} {found:?}\n{more}");
                    tally.partials += 1;
                }
                Err(why) if why.starts_with("no program") => {
                    // A name of another place of the program may be in it.
                    tally.others += 1;
                }
                Err(_) => tally.failing += 1,
            }
        }
        Some(())
    }
}

impl Inside<'_> {
    /// The end of the range of an index of that name, where the others have these values.
    fn end(&self, name: &str, others: &[(&str, i64)]) -> Option<i64> {
        let value = |p: &Poly| {
            p.eval(&mut |a| match a {
                Atom::Local(_, name) => {
                    let other = others.iter().find(|(n, _)| **name == **n);
                    Some(other.map_or_else(|| size(name), |(_, k)| *k))
                }
                _ => None,
            })
        };
        let of = |node: &Node| {
            let Expr::Binder { vars, .. } = &node.kind else { return None };
            let around = node.span.start <= self.body.nodes[self.node].span.start
                && self.body.nodes[self.node].span.end <= node.span.end;
            let var = vars.iter().find(|v| around && self.body.locals[v.local.0 as usize].name == *name)?;
            match &var.range {
                IndexRange::Extent(n) => value(n),
                IndexRange::Below(n) => match &self.body.nodes[*n].kind {
                    Expr::Size(p) => value(p),
                    Expr::Local(l) => value(&Poly::atom(Atom::Local(*l, self.body.locals[l.0 as usize].name.clone()))),
                    _ => None,
                },
                IndexRange::Range(..) => None,
            }
        };
        self.body.nodes.iter().filter_map(|(_, node)| of(node)).next_back()
    }

    /// Whether the cotangent that is told is what the interpreter has for what is added to the expression.
    fn cotangent(&self, told: &Entries, result: &Type, tree: &Tree, tally: &mut Tally) -> Option<()> {
        let Item::Def(def) = &tree.item else { return None };
        let of = tree.types[def.params.last()?.ty].span.end as usize;
        let at = match told.all.first() {
            Some(one) => parts(&one.of)?.1,
            None => return None,
        };
        // The interpreter takes a direction for each element of what is added.
        if at.len() > 2 {
            tally.others += 1;
            return None;
        }
        let value = told.all.iter().map(|t| t.value.as_str()).collect::<Vec<_>>().join(" + ");
        let names: Vec<&str> = def.params.iter().map(|p| p.name.name.as_str()).collect();
        let binds = self.body.params.iter().map(|l| {
            let local = &self.body.locals[l.0 as usize];
            Some(format!("  let {} = {}\n", local.name, argument(&local.ty, &local.name)?))
        });
        let binds: String = binds.collect::<Option<_>>()?;
        let y_adj = ["y_adj", "out_adj", "result_adj", "y_adj_"]
            .into_iter()
            .find(|n| told.lets.iter().chain([&value]).any(|text| text.contains(n)));
        let y_adj = y_adj.unwrap_or("y_adj");
        let (mut element, mut dims) = (result, Vec::new());
        while let Type::Array(n, inner) = element {
            dims.push(number(n)?);
            element = inner;
        }
        (*element == Type::F64).then_some(())?;
        let ranges: Vec<String> = dims.iter().enumerate().map(|(k, n)| format!("s{k} < {n}")).collect();
        let places: Vec<String> = (0..dims.len()).map(|k| format!("s{k}")).collect();
        let places = places.join(", ");
        let total = match dims.is_empty() {
            true => format!("{y_adj} * y"),
            false => format!("sum {}: {y_adj}[{places}] * y[{places}]", ranges.join(", ")),
        };
        let (head, tail) = (&self.item.text[..of], &self.item.text[of..]);
        let name = def.name.span.range();
        let head = format!("{}hovered{}", &head[..name.start], &head[name.end..]);
        let place = self.body.nodes[self.node].span;
        let (open, close) = (place.start as usize - of, place.end as usize - of);
        let extents: Vec<&str> = at.iter().map(|_| "8").collect();
        let extents = if at.is_empty() { String::new() } else { format!("[{}]", extents.join(", ")) };
        let read = if at.is_empty() { String::new() } else { format!("[{} + 0]", at.join(" + 0, ")) };
        let changed = format!(
            "{head}, delta_: {extents}f64{}(({}) + delta_{read}){}",
            &tail[..open],
            &tail[open..close],
            &tail[close..]
        );
        let zeros: Vec<String> = at.iter().enumerate().map(|(k, _)| format!("z{k} < 8")).collect();
        let zeros = if at.is_empty() { "0.0".to_owned() } else { format!("for {}: 0.0", zeros.join(", ")) };
        for bits in 0..1_i64 << at.len().min(3) {
            let values: Vec<(&str, i64)> = at.iter().enumerate().map(|(k, n)| (*n, bits >> k & 1)).collect();
            let admissible = values.iter().all(|(n, k)| self.end(n, &values).is_some_and(|end| *k < end));
            if !admissible {
                continue;
            }
            let lets: String = told.lets.iter().map(|l| format!("{l} ")).collect();
            let binds = self.sizes() + &binds;
            let indices: String = values.iter().map(|(n, k)| format!("let {n} = {k} ")).collect();
            let given =
                if lets.is_empty() && indices.is_empty() { String::new() } else { format!("{indices}{lets}in ") };
            let own: String = self.own_lets(tree);
            let more = format!(
                "{changed}\ndef main() =\n{binds}  let {y_adj} = {}\n  let change = grad(\\d_: let y = hovered({}, d_) in {total})({zeros})\n  in ({}change{read}, {own}{given}{value})\n",
                argument(result, "y_adj")?,
                names.join(", "),
                indices.clone() + if indices.is_empty() { "" } else { "in " },
            );
            match self.evaluated(&more).map(|v| numbers(&v)).as_deref() {
                Ok([wanted, found]) => {
                    assert!((wanted - found).abs() <= 1e-9 * (1.0 + wanted.abs()), "{wanted} {found}\n{more}");
                    tally.cotangents += 1;
                }
                Ok(other) => panic!("{other:?}"),
                Err(why) if why.starts_with("no program") => {
                    tally.others += 1;
                }
                Err(_) => tally.failing += 1,
            }
        }
        Some(())
    }

    /// The `let`s that the body of the definition begins with, which the cotangent may mention.
    fn own_lets(&self, tree: &Tree) -> String {
        let Item::Def(def) = &tree.item else { return String::new() };
        let body = &tree.exprs[def.body];
        let ast::Expr::Let(_, last) = &body.kind else { return String::new() };
        let text = &self.item.text[body.span.start as usize..tree.exprs[*last].span.start as usize];
        let text: Vec<&str> = text.lines().map(|line| line.split("--").next().unwrap_or_default().trim()).collect();
        text.join(" ") + " "
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    let json = lang_core::interp::json::to_json(value, 1 << 20).expect("it is small");
    let mut all = Vec::new();
    let mut open = vec![serde_json::from_str::<serde_json::Value>(&json).expect("it is JSON")];
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::Array(items) => open.extend(items.into_iter().rev()),
            serde_json::Value::Number(n) => all.extend(n.as_f64()),
            serde_json::Value::String(_) => all.push(f64::NAN),
            other => panic!("{other}"),
        }
    }
    all
}

#[test]
fn derivatives_are_those_of_the_interpreter() {
    let programs = golden::programs().expect("the programs can be read");
    let session = golden::session(&programs);
    let scratch = RefCell::new(golden::session(&programs));
    let mut tally = Tally::default();
    for module in programs.keys().map(|n| golden::module(n)) {
        for item in session.items(&module).iter().filter(|i| i.kind == ItemKind::Def) {
            let (Some(checked), Some(parsed)) = (session.checked_item(item), session.tree(item)) else { continue };
            let Item::Def(_) = &parsed.tree.item else { continue };
            if session.signature(&item.global).is_none_or(|s| !s.type_params.is_empty()) {
                continue;
            }
            let operates = |(node, of): &(TId, &Node)| {
                let last = checked.body.nodes.iter().rfind(|(_, n)| n.span == of.span);
                let is = matches!(of.kind, Expr::Arith(..) | Expr::Scalar(..) | Expr::Binder { .. } | Expr::Pow(..));
                of.ty == Type::F64 && is && last.is_some_and(|(id, _)| id == *node)
            };
            let all: Vec<(TId, &Node)> = checked.body.nodes.iter().filter(operates).collect();
            for (node, of) in all.iter().copied().step_by(all.len().div_ceil(SOME).max(1)) {
                let Some(text) = item.text.get(of.span.range()) else { continue };
                let inside = Inside { session: &session, scratch: &scratch, item, body: &checked.body, node, text };
                if let Ok(told) = session.partials(&item.global, node) {
                    let _ = inside.partials(&told, &mut tally);
                }
                if let Ok(told) = session.cotangent(&item.global, node) {
                    let _ = inside.cotangent(&told, &checked.result, &parsed.tree, &mut tally);
                }
            }
        }
    }
    println!("{tally:#?}");
    assert!(tally.partials >= 500 && tally.cotangents >= 550, "{tally:?}");
}
