//! **Hovers of derivative operators** such as `grad(f)`, and of parameters. This test inserts the
//! shown derivatives into the program as text and compares their values with those of the operator
//! itself.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a failed expectation is a failed test"
)]

use std::cell::RefCell;

use iverson_tests::golden;
use iverson_tests::hover_entries::{argument, is_name, number, size};
use iverson_tests::run::{numbers, value_of_main};
use lang_core::predicate::LocalId;
use lang_core::resolve::forms::DerivativeOp as Operator;
use lang_core::session::{ItemRef, Session};
use lang_core::source::Entries;
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::{Callee, TypedBody, TypedExpr, TypedForm, TypedId};
use lang_core::types::ty::Type;

/// Operators of each kind, on all kinds of functions.
const OWN: &str = include_str!("operators.iv");

/// Counts of compared and skipped derivatives.
#[derive(Default, Debug)]
struct OperatorCounts {
    /// Parts of derivatives of operators.
    operators: usize,
    /// Parts of gradients by parameters.
    parameters: usize,
    /// Skipped: reads a variable that has no value here, or has cases.
    others: usize,
    /// Skipped: the program fails on the drawn values.
    failing: usize,
    /// Derivatives that the hover does not show.
    unshown: usize,
}

/// Returns a value of a type as text.
fn value(ty: &Type, name: &str) -> Option<String> {
    match ty {
        Type::Tuple(items) => {
            let items: Option<Vec<String>> =
                items.iter().enumerate().map(|(k, ty)| value(ty, &format!("{name}{k}"))).collect();
            Some(format!("({})", items?.join(", ")))
        }
        Type::Record(fields) => {
            let fields: Option<Vec<String>> =
                fields.iter().map(|(field, ty)| Some(format!("{field}: ({})", value(ty, field)?))).collect();
            Some(format!("{{{}}}", fields?.join(", ")))
        }
        Type::Array(n, element) if matches!(**element, Type::Tuple(_) | Type::Record(_)) => {
            let elements: Option<Vec<String>> =
                (0..number(n)?).map(|k| value(element, &format!("{name}{k}"))).collect();
            Some(format!("[{},]", elements?.join(", ")))
        }
        _ => argument(ty, name),
    }
}

/// Fields, followed by indices.
type Selection = (String, Vec<String>);

/// Parses the fields and indices after a variable: `.weights`, `[i, j]`.
fn selection(text: &str) -> Option<Selection> {
    let (mut fields, mut at, mut rest) = (String::new(), Vec::new(), text);
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (indices, behind) = inner.split_once(']')?;
            at.extend(indices.split(", ").map(str::to_owned));
            rest = behind;
        } else {
            let end = rest[1..].find(['[', '.']).map_or(rest.len(), |k| k + 1);
            fields += &rest[..end];
            rest = &rest[end..];
        }
    }
    Some((fields, at))
}

/// Splits a text into a variable and its selection.
fn variable(text: &str) -> (&str, &str) {
    let end = text.find(['[', '.']).unwrap_or(text.len());
    text.split_at(end)
}

/// The differentiated parameters: `wrt` and names.
struct DifferentiatedParams<'a> {
    wrt: &'a [usize],
    names: &'a [String],
}

impl DifferentiatedParams<'_> {
    /// Returns the part of a gradient that `x[i]` or `w.bias` denotes: fields, indices.
    fn part(&self, text: &str) -> Option<(String, Vec<String>)> {
        let (name, rest) = variable(text);
        let k = self.wrt.iter().position(|k| self.names.get(*k).is_some_and(|n| n == name))?;
        let (fields, at) = selection(rest)?;
        Some((if self.wrt.len() == 1 { fields } else { format!(".{k}{fields}") }, at))
    }
}

/// Returns the part of the operator's value that a label denotes: fields, then indices.
fn part_of(
    operator: Option<Operator>,
    label: &str,
    varies: &DifferentiatedParams<'_>,
) -> Option<(String, Vec<String>)> {
    let valued = matches!(operator, Some(Operator::ValueAndGrad | Operator::Jvp2 | Operator::Vjp2));
    let second = |(fields, at): (String, Vec<String>)| (if valued { format!(".1{fields}") } else { fields }, at);
    if let Some(rest) = label.strip_prefix("value") {
        let (fields, at) = selection(rest)?;
        return Some((format!(".0{fields}"), at));
    }
    if let Some(rest) = label.strip_prefix('∇') {
        return varies.part(rest).map(second);
    }
    if let Some(rest) = label.strip_prefix("tangent") {
        return selection(rest).map(second);
    }
    if let Some(rest) = label.strip_prefix("hvp") {
        return match rest.strip_prefix('.').filter(|_| varies.wrt.len() > 1) {
            Some(rest) => varies.part(rest),
            None => selection(rest),
        };
    }
    if let Some(rest) = label.strip_prefix("∂²") {
        let (_, by) = rest.split_once("/∂")?;
        let (first, then) = by.split_once('∂')?;
        let ((a, mut at), (b, more)) = (varies.part(first)?, varies.part(then)?);
        at.extend(more);
        return Some((a + &b, at));
    }
    if let Some(rest) = label.strip_prefix('∂') {
        let (of, by) = rest.split_once("/∂")?;
        let ((a, mut at), (b, more)) = (selection(variable(of).1)?, varies.part(by)?);
        at.extend(more);
        return Some((a + &b, at));
    }
    let (name, rest) = variable(label);
    varies.part(&format!("{}{rest}", name.strip_suffix("_adj")?)).map(second)
}

struct OperatorProgram<'s> {
    session: &'s Session,
    scratch: &'s RefCell<Session>,
    item: &'s ItemRef,
    body: &'s TypedBody,
}

impl OperatorProgram<'_> {
    /// Evaluates the program with this `main`.
    fn evaluated(&self, main: &str) -> Result<Vec<f64>, String> {
        let mut session = self.scratch.borrow_mut();
        let kept = |i: &ItemRef| !matches!(i.kind, ItemKind::Let | ItemKind::Do) && i.name != "main";
        let items = self.session.items(&self.item.module).into_iter().filter(kept);
        let text: String = items.map(|i| i.text.to_string() + "\n").collect();
        let (folder, _) = self.item.module.rsplit_once('/').unwrap_or_default();
        let module = &format!("{folder}/hovered.iv");
        session.set_text(module, &format!("{text}\n{main}"));
        if let Some(first) = session.diagnostics(module).iter().find(|d| d.is_error()) {
            return Err(format!("no program: {}", first.message));
        }
        value_of_main(&session, module).map(|v| numbers(&v))
    }

    /// Returns `let`s of the definition's sizes and parameters, of the other variables that the
    /// expression reads, and of `more`. `None` if one of them cannot be drawn.
    fn binds(&self, node: Option<TypedId>, more: &[(String, Type)]) -> Option<String> {
        let mut read: Vec<LocalId> = Vec::new();
        let mut bound: Vec<LocalId> = Vec::new();
        let mut open: Vec<TypedId> = node.into_iter().collect();
        while let Some(node) = open.pop() {
            let kind = &self.body.nodes[node].kind;
            kind.for_each_local(&mut |l| read.push(l), &mut |l| bound.push(l));
            kind.for_each_child(&self.body.nodes, &mut |n| open.push(n));
        }
        let own = |l: &LocalId| !bound.contains(l) && !self.body.sizes.contains(l) && !self.body.params.contains(l);
        let mut all = String::new();
        for l in &self.body.sizes {
            let name = &self.body.locals[l.0 as usize].name;
            all += &format!("  let {name} = {}\n", size(name));
        }
        let read = read.iter().filter(|l| own(l));
        for l in self.body.params.iter().chain(read) {
            let local = &self.body.locals[l.0 as usize];
            all += &format!("  let {} = {}\n", local.name, value(&local.ty, &local.name)?);
        }
        for (name, ty) in more {
            all += &format!("  let {name} = {}\n", value(ty, name)?);
        }
        Some(all)
    }

    /// Checks that the entries equal their parts of the value, and that the rest of the value is
    /// zero. Returns the number of compared entries.
    fn compare(
        &self,
        (binds, actual): (&str, &str),
        entries: &Entries,
        part: &dyn Fn(&str) -> Option<Selection>,
        tally: &mut OperatorCounts,
    ) -> usize {
        let (mut count, mut squares) = (0, 0.0);
        for entry in &entries.entries {
            let (fields, at) = part(&entry.variable).unwrap_or_else(|| panic!("{} of {actual}", entry.variable));
            let lets: String = entries.lets.iter().map(|l| format!("{} ", l.replace('\n', "\n    "))).collect();
            let open = if lets.is_empty() { "" } else { "in " };
            let mut element = "a_".to_owned();
            let mut heads = Vec::new();
            let mut length = "a_".to_owned();
            for at in &at {
                if is_name(at) && !binds.contains(&format!("let {at} =")) {
                    heads.push(format!("{at} < len({length})"));
                }
                element = format!("{element}[{at}]");
                length += "[0]";
            }
            let all =
                |of: &str| if heads.is_empty() { of.to_owned() } else { format!("for {}: {of}", heads.join(", ")) };
            // Fields of array elements follow the index.
            let (fields, behind) = match at.is_empty() || !entry.variable.contains("].") {
                true => (fields, String::new()),
                false => (String::new(), fields),
            };
            let main = format!(
                "def main() =\n{binds}  let a_ = ({actual}){fields}\n  in (({}), ({lets}{open}{}))\n",
                all(&format!("{element}{behind}")),
                all(&entry.value)
            );
            match self.evaluated(&main) {
                Ok(both) => {
                    let (wanted, found) = both.split_at(both.len() / 2);
                    let near = wanted.iter().zip(found).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs()));
                    assert!(wanted.len() == found.len() && !wanted.is_empty() && near, "{wanted:?} {found:?}\n{main}");
                    squares += wanted.iter().map(|a| a * a).sum::<f64>();
                    count += 1;
                }
                Err(why) if why.starts_with("no program") => panic!("{why}\n{main}"),
                Err(_) => {
                    tally.failing += 1;
                    return count;
                }
            }
        }
        // The value of a record is not a list of numbers, so only its entries are compared.
        let whole = self.evaluated(&format!("def main() =\n{binds}  in {actual}\n"));
        if let Some(all) = whole.ok().filter(|all| all.iter().all(|a| a.is_finite())) {
            let all = all.iter().map(|a| a * a).sum::<f64>();
            assert!(
                (all - squares).abs() <= 1e-8 * (1.0 + all),
                "{all} {squares}: {actual} has other parts\n{entries:#?}"
            );
        }
        count
    }
}

/// Returns the operator of a node, the parameters by which it differentiates, and whether it is
/// applied there.
fn operator(body: &TypedBody, node: TypedId) -> Option<(Operator, Option<Vec<u32>>)> {
    match &body.nodes[node].kind {
        TypedExpr::Form(TypedForm::Derive(operator, wrt), _) => Some((*operator, wrt.clone())),
        TypedExpr::Call { callee: Callee::Value(f), .. } => operator(body, *f),
        _ => None,
    }
}

/// Returns the names of the parameters of the operator's function, as the labels use them.
fn names(session: &Session, body: &TypedBody, node: TypedId) -> Vec<String> {
    let bound = |l: LocalId| {
        body.nodes.iter().find_map(|(_, n)| {
            let TypedExpr::Let(binds, _) = &n.kind else { return None };
            binds.iter().find(|(pat, _)| *pat == lang_core::types::tree::TypedPattern::Bind(l)).map(|(_, value)| *value)
        })
    };
    match &body.nodes[node].kind {
        TypedExpr::Form(TypedForm::Derive(..), of) => names(session, body, of[0]),
        TypedExpr::Call { callee: Callee::Value(f), .. } => names(session, body, *f),
        TypedExpr::DefValue(name, _) => {
            session.signature(name).map_or_else(Vec::new, |s| s.params.iter().map(|p| p.0.to_string()).collect())
        }
        TypedExpr::Lambda(lambda) => {
            let name = |pat: &lang_core::types::tree::TypedPattern| match pat {
                lang_core::types::tree::TypedPattern::Bind(l) => body.locals[l.0 as usize].name.to_string(),
                _ => "_".to_owned(),
            };
            lambda.params.iter().map(name).collect()
        }
        TypedExpr::Local(l) => bound(*l).map_or_else(Vec::new, |value| names(session, body, value)),
        _ => vec!["x".to_owned()],
    }
}

fn of_operators(program: &OperatorProgram<'_>, tally: &mut OperatorCounts) {
    let (session, item, body) = (program.session, program.item, program.body);
    for (node, of) in body.nodes.iter() {
        let Some((operator, wrt)) = operator(body, node) else { continue };
        let Some(derivative) = session.derivative(&item.global, node) else { continue };
        let (Ok(all), Some(text)) = (&derivative.entries, item.text.get(of.span.range())) else {
            tally.unshown += 1;
            continue;
        };
        let [entries] = all.as_slice() else {
            tally.others += 1;
            continue;
        };
        let fun = match &of.ty {
            Type::Fun(fun) if !derivative.parameters.is_empty() => Some(fun),
            Type::Fun(_) => continue,
            _ if !derivative.parameters.is_empty() => {
                // At a point that is not a list of names the hover shows the function, as for the
                // operator alone.
                continue;
            }
            _ => None,
        };
        let names = if derivative.parameters.is_empty() {
            names(session, body, node)
        } else {
            derivative.parameters.iter().map(ToString::to_string).collect()
        };
        let wrt: Vec<usize> = match wrt {
            Some(wrt) => wrt.iter().map(|k| *k as usize).collect(),
            None => (0..names.len()).collect(),
        };
        let mut more: Vec<(String, Type)> = Vec::new();
        let mut args = Vec::new();
        if let Some(fun) = fun {
            let pair =
                matches!(operator, Operator::Jvp | Operator::Jvp2 | Operator::Vjp | Operator::Vjp2 | Operator::Hvp);
            let mut bundle = |ty: &Type, names: &[String]| match (ty, names) {
                (ty, [one]) => {
                    more.push((one.clone(), ty.clone()));
                    one.clone()
                }
                (Type::Tuple(items), names) => {
                    more.extend(names.iter().cloned().zip(items.iter().cloned()));
                    format!("({})", names.join(", "))
                }
                _ => panic!("{ty}"),
            };
            if pair {
                args.push(bundle(&fun.params[0].1, &names));
                let second = match operator {
                    Operator::Vjp | Operator::Vjp2 if names.iter().any(|n| n == "y") => vec!["y_adj".to_owned()],
                    Operator::Vjp | Operator::Vjp2 => vec!["y_adj".to_owned()],
                    _ => wrt.iter().map(|k| format!("{}_tan", names[*k])).collect(),
                };
                args.push(bundle(&fun.params[1].1, &second));
            } else {
                args.extend(
                    fun.params.iter().zip(&names).map(|((_, ty), name)| bundle(ty, std::slice::from_ref(name))),
                );
            }
        }
        // Variables that a lambda or a loop binds have no value here.
        let Some(binds) = program.binds(Some(node), &more) else {
            tally.others += 1;
            continue;
        };
        let actual = if fun.is_some() { format!("({text})({})", args.join(", ")) } else { text.to_owned() };
        let varies = DifferentiatedParams { wrt: &wrt, names: &names };
        let part = |label: &str| part_of(Some(operator), label, &varies);
        tally.operators += program.compare((&binds, &actual), entries, &part, tally);
    }
    for (node, of) in body.nodes.iter() {
        let TypedExpr::Form(TypedForm::Deriv(by), inner) = &of.kind else { continue };
        let Some(derivative) = session.derivative(&item.global, node) else { continue };
        let by = &body.locals[by.0 as usize].name;
        let (Ok([entries]), Some(text)) = (derivative.entries.as_deref(), item.text.get(of.span.range())) else {
            continue;
        };
        let Some(binds) = program.binds(Some(inner[0]), &[]) else { continue };
        let names = [by.to_string()];
        let varies = DifferentiatedParams { wrt: &[0], names: &names };
        let part = |label: &str| part_of(None, label, &varies);
        tally.operators += program.compare((&binds, text), entries, &part, tally);
    }
}

fn of_parameters(program: &OperatorProgram<'_>, tally: &mut OperatorCounts) {
    let (session, item, body) = (program.session, program.item, program.body);
    let Some(signature) = session.signature(&item.global) else { return };
    for (k, (name, ty)) in signature.params.iter().enumerate() {
        if ty.has_function() {
            continue;
        }
        let Some(gradient) = session.gradient(&item.global, u32::try_from(k).expect("few")) else { continue };
        let Ok([entries]) = gradient.entries.as_deref() else {
            tally.unshown += 1;
            continue;
        };
        let call = |put: &str| {
            let own = signature.params.iter().enumerate().map(|(j, (n, _))| if j == k { put } else { n.as_str() });
            format!("{}({})", item.name, own.collect::<Vec<_>>().join(", "))
        };
        // The type of the result, over the locals of the body.
        let Some(result) = body.root.map(|root| body.nodes[root].ty.clone()) else { continue };
        let is_number = result == Type::F64;
        let cotangent = entries.cotangent.as_ref().map_or_else(|| "y_adj".to_owned(), |(name, _)| name.to_string());
        let more = if is_number { Vec::new() } else { vec![(cotangent.clone(), result)] };
        let Some(binds) = program.binds(None, &more) else {
            tally.others += 1;
            continue;
        };
        let actual = match is_number {
            true => format!("grad(\\v_: {})({name})", call("v_")),
            false => format!("vjp(\\v_: {})({name}, {cotangent})", call("v_")),
        };
        let names = [name.to_string()];
        let varies = DifferentiatedParams { wrt: &[0], names: &names };
        let part = |label: &str| part_of(None, label, &varies);
        tally.parameters += program.compare((&binds, &actual), entries, &part, tally);
    }
}

#[test]
fn as_the_interpreter_has_them() {
    let programs = std::collections::BTreeMap::from([("own.iv".to_owned(), OWN.to_owned())]);
    let mut session = golden::session(&programs);
    session.set_text("own.iv", OWN);
    let scratch = RefCell::new(golden::session(&programs));
    let wrong: Vec<String> =
        session.diagnostics("own.iv").iter().filter(|d| d.is_error()).map(|d| d.message.clone()).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let mut tally = OperatorCounts::default();
    for item in session.items("own.iv").iter().filter(|i| i.kind == ItemKind::Def) {
        let Some(checked) = session.checked_item(item) else { continue };
        let program = OperatorProgram { session: &session, scratch: &scratch, item, body: &checked.body };
        of_operators(&program, &mut tally);
        of_parameters(&program, &mut tally);
    }
    println!("{tally:#?}");
    assert!(tally.operators >= 55 && tally.parameters >= 90, "{tally:?}");
    assert!(tally.failing == 0 && tally.unshown <= 2, "{tally:?}");
}
