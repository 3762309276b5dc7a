//! **Derivatives of subexpressions.** The hover shows partial derivatives and cotangents of
//! expressions inside definitions. This test inserts them into the program as text and compares
//! their values with the interpreter's dual numbers.

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
use iverson_tests::hover_entries::{
    SHAPES, argument, by_part, guard_by_case, has_loop, is_name, join_cases, number, patterns, peeled, shape, size,
    size_of, split_indices,
};
use iverson_tests::run::{numbers, value_of_main};
use lang_core::base::Span;
use lang_core::predicate::{Atom, LocalId, Poly};
use lang_core::runtime::Value;
use lang_core::session::{ItemRef, Session};
use lang_core::source::{DerivativeEntry, Entries};
use lang_core::syntax::ast::{self, Item, Tree};
use lang_core::syntax::ops::BinOp;
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::{TypedBody, TypedExpr, TypedId, TypedIndexRange, TypedNode};
use lang_core::types::ty::{Scalar, Type};

/// The number of expressions for each definition.
const SOME: usize = 3;

/// Definitions whose expressions are all tested. Some elements of an array are read alone, and some
/// indices begin above 0.
const OWN: &str = include_str!("inside.iv");

/// The number of comparisons and of skipped cases.
#[derive(Default, Debug)]
struct SubexpressionCounts {
    partials: usize,
    cotangents: usize,
    /// Cotangents within iterations of loops.
    iterations: usize,
    /// Comparisons of components of tuples.
    components: usize,
    /// Skipped: the expression reads a variable of a `let`, a pattern or a loop, or a value of
    /// another type.
    others: usize,
    /// Skipped: the program with the derivative has an error, because the derivative mentions a
    /// name of another part of the program.
    refused: usize,
    /// The errors of these programs.
    errors: BTreeMap<String, usize>,
    /// Skipped: the program fails on the drawn values.
    failing: usize,
    /// Derivatives that are zero everywhere.
    zeros: usize,
    /// Partial derivatives by an argument of a constructor.
    of_shapes: usize,
    /// Derivatives that mention a value that a loop computes.
    of_loops: usize,
    /// Derivatives in several cases.
    in_cases: usize,
    /// Skipped: the range of an index is not a number here.
    unranged: usize,
}

impl SubexpressionCounts {
    fn compared(&self) -> usize {
        self.partials + self.cotangents + self.iterations
    }

    fn refuse(&mut self, why: &str) {
        self.refused += 1;
        *self.errors.entry(why.to_owned()).or_default() += 1;
    }
}

/// An expression inside a definition.
struct Subexpression<'s> {
    session: &'s Session,
    /// The session in which the extended programs are evaluated.
    scratch: &'s RefCell<Session>,
    item: &'s ItemRef,
    body: &'s TypedBody,
    node: TypedId,
    text: &'s str,
    /// The tested component, and the number of components, if the expression is a tuple of numbers.
    component: Option<(usize, usize)>,
    /// The number of the constructor for values of sum types.
    way: usize,
}

impl Subexpression<'_> {
    /// Returns an argument of that type as text, or `None` if the type is not an array, a number or
    /// a `Shape`.
    fn argument(&self, ty: &Type, name: &str) -> Option<String> {
        let way = if name == "t" { self.way / SHAPES.len() } else { self.way };
        let is_shape = |ty: &Type| ty.to_string() == "Shape";
        match ty {
            Type::Array(n, element) if is_shape(element) => {
                let all: Vec<String> = (0..size_of(n)?).map(|k| shape(way + k, None)).collect();
                Some(format!("[{}]", all.join(", ")))
            }
            _ if is_shape(ty) => Some(shape(way, None)),
            _ => argument(ty, name),
        }
    }

    /// Returns the variables that an expression reads, with their types: the definition's
    /// parameters, the loop's carry, and enclosing indices (flagged `true`). `None` if it reads
    /// another variable of the definition.
    fn variables(&self, node: TypedId, carried: &[u32]) -> Option<Vec<(String, Type, bool)>> {
        let locals = self.body.params.iter().map(|l| l.0).chain(carried.iter().copied());
        let mut found: Vec<(u32, bool)> = locals.map(|l| (l, false)).collect();
        let (mut read, mut bound, mut open) = (Vec::new(), Vec::new(), vec![node]);
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

    /// Returns the expression with `more` added to it, or to the tested component.
    fn added(&self, more: &str) -> String {
        let Some((k, of)) = self.component else { return format!("(({}) + {more})", self.text) };
        let own = |j: usize| format!("whole_.{j}{}", if j == k { format!(" + {more}") } else { String::new() });
        let all: Vec<String> = (0..of).map(own).collect();
        format!("(let whole_ = {} in ({}))", self.text, all.join(", "))
    }

    /// Returns `let`s of the definition's sizes, which the derivative may mention.
    fn sizes(&self) -> String {
        let names = self.body.sizes.iter().map(|l| &self.body.locals[l.0 as usize].name);
        names.map(|name| format!("  let {name} = {}\n", size(name))).collect()
    }

    /// Returns the extent of an index's range, or `None` if the range begins above 0 or is empty.
    fn range(&self, local: u32) -> Option<i64> {
        let of = |node: &TypedNode| {
            let (TypedExpr::Binder { vars, .. } | TypedExpr::Fold { vars, .. }) = &node.kind else { return None };
            let var = vars.iter().find(|v| v.local.0 == local)?;
            match &var.range {
                TypedIndexRange::Extent(n) => number(n),
                TypedIndexRange::Below(n) => match &self.body.nodes[*n].kind {
                    TypedExpr::Size(p) => number(p),
                    TypedExpr::Local(l) => Some(size(&self.body.locals[l.0 as usize].name)),
                    _ => Some(1),
                },
                TypedIndexRange::Range(..) => None,
            }
        };
        self.body.nodes.iter().find_map(|(_, node)| of(node)).filter(|n| *n > 0)
    }

    /// Evaluates `main` of the program with these definitions added.
    fn evaluated(&self, more: &str) -> Result<Value, String> {
        let mut session = self.scratch.borrow_mut();
        // Top-level values would take time, and `main` is replaced.
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

    /// Compares partial derivatives with the interpreter's. `None` if they are not compared.
    fn partials(&self, entries: &Entries, tally: &mut SubexpressionCounts) -> Option<()> {
        let Some(variables) = self.variables(self.node, &[]) else {
            tally.others += 1;
            return None;
        };
        let heads: Vec<String> = variables.iter().map(|(name, ty, _)| format!("{name}: {ty}")).collect();
        let names: Vec<&str> = variables.iter().map(|(name, ..)| name.as_str()).collect();
        let arguments: Option<Vec<String>> = variables
            .iter()
            .map(|(name, ty, index)| if *index { Some("1 - 1".to_owned()) } else { self.argument(ty, name) })
            .collect();
        let Some(arguments) = arguments else {
            tally.others += 1;
            return None;
        };
        let mut by: BTreeMap<&str, Vec<(Vec<&str>, &DerivativeEntry)>> = BTreeMap::new();
        for entry in entries.entries.iter().filter(|entry| !entry.variable.contains(" where ")) {
            let (name, at) = split_indices(&entry.variable)?;
            by.entry(name).or_default().push((at, entry));
        }
        for (name, ty, index) in &variables {
            let (dims, element) = peeled(ty)?;
            if *index || !matches!(element, Type::Scalar(Scalar::F64)) {
                continue;
            }
            let lets: String = entries.lets.iter().map(|l| format!("{l} ")).collect();
            let open = if lets.is_empty() { "" } else { "in " };
            let ranges: Vec<String> = dims.iter().enumerate().map(|(k, n)| format!("r{k} < {n}")).collect();
            let zero = if dims.is_empty() { "0.0".to_owned() } else { format!("(for {}: 0.0)", ranges.join(", ")) };
            let mut sum = vec![zero];
            for (at, entry) in by.get(name.as_str()).into_iter().flatten() {
                let mut heads = Vec::new();
                let mut conditions = Vec::new();
                for (k, (at, n)) in at.iter().zip(&dims).enumerate() {
                    let is_let = entries.lets.iter().any(|l| l.starts_with(&format!("let {at} = ")));
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
                self.component.map_or(self.text.to_owned(), |(k, _)| format!("({}).{k}", self.text)),
                sum.join(" + "),
            );
            match self.evaluated(&more) {
                Ok(both) => {
                    let both = numbers(&both);
                    let (wanted, found) = both.split_at(both.len() / 2);
                    let near = wanted.iter().zip(found).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs()));
                    let same = wanted.len() == found.len() && !wanted.is_empty();
                    assert!(same && near, "{wanted:?} {found:?}\n{more}");
                    tally.partials += 1;
                }
                Err(why) if why.starts_with("no program") => tally.refuse(&why),
                Err(_) => tally.failing += 1,
            }
        }
        Some(())
    }
}

impl Subexpression<'_> {
    /// Compares partial derivatives by the arguments of constructors.
    fn partials_of_shapes(&self, cases: &[&Entries], tally: &mut SubexpressionCounts) -> Option<()> {
        let variables = self.variables(self.node, &[]).filter(|all| all.iter().all(|(.., index)| !index))?;
        let heads: Vec<String> = variables.iter().map(|(name, ty, _)| format!("{name}: {ty}")).collect();
        let names: Vec<&str> = variables.iter().map(|(name, ..)| name.as_str()).collect();
        let arguments: Vec<String> =
            variables.iter().map(|(name, ty, _)| self.argument(ty, name)).collect::<Option<_>>()?;
        let way = |name: &str| if name == "t" { self.way / SHAPES.len() } else { self.way };
        let argument = |pattern: &str, of: &str| {
            let (_, args) = pattern.strip_suffix(')')?.split_once('(')?;
            args.split(", ").position(|arg| arg == of)
        };
        for entries in cases {
            let lets: String = entries.lets.iter().map(|l| format!("{l} ")).collect();
            let open = if lets.is_empty() { "" } else { "in " };
            for entry in &entries.entries {
                let value = format!("({lets}{open}{})", entry.value);
                // The parameter, its replaced value, the original argument, and the derivative at
                // it.
                let mut all: Vec<(String, String, &str, String)> = Vec::new();
                if let Some((of, place)) = entry.variable.split_once(" where ") {
                    let [(element, pattern)] = patterns(place).try_into().ok()?;
                    let (name, at) = split_indices(&element)?;
                    let (j, n) = (argument(&pattern, of)?, variables.iter().find(|(own, ..)| own == name)?);
                    let Type::Array(n, _) = &n.1 else { return None };
                    for k in 0..size_of(n)? {
                        let own = SHAPES[(way(name) + k) % SHAPES.len()];
                        if !pattern.starts_with(own.0) {
                            continue;
                        }
                        let put = |l: usize| shape(way(name) + l, (l == k).then_some((j, "v_")));
                        let array = (0..size_of(n)?).map(put).collect::<Vec<_>>().join(", ");
                        let derivative =
                            format!("(let {} = {k} in match {element} {{ {pattern}: {value}, _: 0.0 }})", at[0]);
                        all.push((name.to_owned(), format!("[{array}]"), own.1[j], derivative));
                    }
                } else if let Some(case) = entries.case.as_deref().filter(|case| !case.contains(" or ")) {
                    let all_patterns = patterns(case.strip_prefix("where ").unwrap_or_default());
                    let found =
                        all_patterns.iter().find_map(|(of, pattern)| Some((of, argument(pattern, &entry.variable)?)));
                    let holds =
                        |(of, pattern): &(String, String)| pattern.starts_with(SHAPES[way(of) % SHAPES.len()].0);
                    if let Some((of, j)) = found.filter(|_| all_patterns.iter().all(holds)) {
                        let first = SHAPES[way(of) % SHAPES.len()].1[j];
                        all.push((of.clone(), shape(way(of), Some((j, "v_"))), first, guard_by_case(case, &value)?));
                    }
                }
                for (param, put, first, value) in all {
                    let binds = names.iter().zip(&arguments).map(|(n, a)| format!("  let {n} = {a}\n"));
                    let binds: String = [self.sizes()].into_iter().chain(binds).collect();
                    let call: Vec<&str> = names.iter().map(|n| if *n == param { put.as_str() } else { n }).collect();
                    let more = format!(
                        "def hovered({}) = {}\ndef main() =\n{binds}  in (grad(\\v_: hovered({}))({first}), {value})\n",
                        heads.join(", "),
                        self.text,
                        call.join(", "),
                    );
                    let both = self.evaluated(&more).map(|v| numbers(&v));
                    let Ok([wanted, found]) = both.as_deref() else { panic!("{both:?}\n{more}") };
                    assert!((wanted - found).abs() <= 1e-9 * (1.0 + wanted.abs()), "{wanted} {found}\n{more}");
                    tally.partials += 1;
                    tally.of_shapes += 1;
                }
            }
        }
        Some(())
    }
}

impl Subexpression<'_> {
    /// Returns the range of an index of that name, for these values of the other indices.
    fn ends(&self, name: &str, others: &[(&str, i64)]) -> Option<(i64, i64)> {
        let value = |p: &Poly| {
            p.eval(&mut |a| match a {
                Atom::Local(_, name) => {
                    let other = others.iter().find(|(n, _)| **name == **n);
                    Some(other.map_or_else(|| size(name), |(_, k)| *k))
                }
                _ => None,
            })
        };
        let of = |node: &TypedNode| {
            let TypedExpr::Binder { vars, .. } = &node.kind else { return None };
            let around = node.span.start <= self.body.nodes[self.node].span.start
                && self.body.nodes[self.node].span.end <= node.span.end;
            let var = vars.iter().find(|v| around && self.body.locals[v.local.0 as usize].name == *name)?;
            let of = |n: TypedId| self.integer(n, &value);
            match &var.range {
                TypedIndexRange::Extent(n) => Some((0, value(n)?)),
                TypedIndexRange::Below(n) => Some((0, of(*n)?)),
                TypedIndexRange::Range(a, b, None) => Some((of(*a)?, of(*b)?)),
                TypedIndexRange::Range(..) => None,
            }
        };
        self.body.nodes.iter().filter_map(|(_, node)| of(node)).next_back()
    }

    /// Evaluates an integer expression.
    fn integer(&self, of: TypedId, value: &dyn Fn(&Poly) -> Option<i64>) -> Option<i64> {
        match &self.body.nodes[of].kind {
            TypedExpr::Int(k) => Some(*k),
            TypedExpr::Size(p) => value(p),
            TypedExpr::Local(l) => value(&Poly::atom(Atom::Local(*l, self.body.locals[l.0 as usize].name.clone()))),
            TypedExpr::Neg(a) => Some(-self.integer(*a, value)?),
            TypedExpr::Checked(_, a) | TypedExpr::Opened(_, a) => self.integer(*a, value),
            TypedExpr::Arith(op, a, b) => {
                let (a, b) = (self.integer(*a, value)?, self.integer(*b, value)?);
                match op {
                    BinOp::Add => Some(a + b),
                    BinOp::Sub => Some(a - b),
                    BinOp::Mul => Some(a * b),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns values of enclosing indices, outermost first: the first of each range, the second,
    /// and the last.
    fn values<'n>(&self, names: &[&'n str], others: &[(&'n str, i64)]) -> Option<Vec<Vec<(&'n str, i64)>>> {
        let mut all = vec![Vec::new()];
        for name in names {
            let mut next = Vec::new();
            for one in all {
                let known: Vec<(&str, i64)> = [others, one.as_slice()].concat();
                let (begin, end) = self.ends(name, &known)?;
                let mut some = vec![begin, begin + 1, end - 1];
                some.dedup();
                for k in some.into_iter().filter(|k| (begin..end).contains(k)) {
                    next.push([one.as_slice(), &[(*name, k)]].concat());
                }
            }
            all = next;
        }
        Some(all)
    }

    /// Compares a cotangent with the interpreter's derivative by an amount added to the expression.
    fn cotangent(&self, entries: &Entries, result: &Type, tree: &Tree, tally: &mut SubexpressionCounts) -> Option<()> {
        let Item::Def(def) = &tree.item else { return None };
        let of = tree.types[def.params.last()?.ty].span.end as usize;
        // Without entries the cotangent is zero, and so must be the sum over all evaluations.
        let at = match entries.entries.first() {
            Some(one) => split_indices(&one.variable)?.1,
            None => Vec::new(),
        };
        // The interpreter needs one direction for each element of the added amount.
        if at.len() > 2 {
            tally.others += 1;
            return None;
        }
        let mut value = entries.entries.iter().map(|t| t.value.as_str()).collect::<Vec<_>>().join(" + ");
        if value.is_empty() {
            "0.0".clone_into(&mut value);
        }
        let names: Vec<&str> = def.params.iter().map(|p| p.name.name.as_str()).collect();
        let binds = self.body.params.iter().map(|l| {
            let local = &self.body.locals[l.0 as usize];
            Some(format!("  let {} = {}\n", local.name, self.argument(&local.ty, &local.name)?))
        });
        let binds: String = binds.collect::<Option<_>>()?;
        let y_adj = ["y_adj", "out_adj", "result_adj", "y_adj_"]
            .into_iter()
            .find(|n| entries.lets.iter().chain([&value]).any(|text| text.contains(n)));
        let y_adj = y_adj.unwrap_or("y_adj");
        let (dims, element) = peeled(result)?;
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
        let extents: Vec<&str> = at.iter().map(|_| "12").collect();
        let extents = if at.is_empty() { String::new() } else { format!("[{}]", extents.join(", ")) };
        let read = if at.is_empty() { String::new() } else { format!("[{} + 4]", at.join(" + 4, ")) };
        let changed = format!(
            "{head}, delta_: {extents}f64{}{}{}",
            &tail[..open],
            self.added(&format!("delta_{read}")),
            &tail[close..]
        );
        let zeros: Vec<String> = at.iter().enumerate().map(|(k, _)| format!("z{k} < 12")).collect();
        let zeros = if at.is_empty() { "0.0".to_owned() } else { format!("for {}: 0.0", zeros.join(", ")) };
        let Some(all) = self.values(&at, &[]) else {
            tally.unranged += 1;
            return None;
        };
        for values in all {
            let lets: String = entries.lets.iter().map(|l| format!("{l} ")).collect();
            let binds = self.sizes() + &binds;
            let indices: String = values.iter().map(|(n, k)| format!("let {n} = {k} ")).collect();
            let let_prefix =
                if lets.is_empty() && indices.is_empty() { String::new() } else { format!("{indices}{lets}in ") };
            let own = self.own_lets(tree, tree.exprs[def.body].span);
            let more = format!(
                "{changed}\ndef main() =\n{binds}  let {y_adj} = {}\n  let change = grad(\\d_: let y = hovered({}, d_) in {total})({zeros})\n  in ({}change{read}, {own}{let_prefix}{value})\n",
                argument(result, "y_adj")?,
                names.join(", "),
                indices.clone() + if indices.is_empty() { "" } else { "in " },
            );
            match self.evaluated(&more).map(|v| numbers(&v)).as_deref() {
                // The function has no value at the drawn arguments.
                Ok([wanted, found]) if wanted.is_nan() && found.is_nan() => tally.failing += 1,
                Ok([wanted, found]) => {
                    assert!((wanted - found).abs() <= 1e-9 * (1.0 + wanted.abs()), "{wanted} {found}\n{more}");
                    tally.cotangents += 1;
                    tally.zeros += usize::from(entries.entries.is_empty());
                }
                Ok(other) => panic!("{other:?}"),
                Err(why) if why.starts_with("no program") => tally.refuse(why),
                Err(_) => tally.failing += 1,
            }
        }
        Some(())
    }

    /// Returns the innermost enclosing loop or function: the variables that it binds, and the body
    /// that it evaluates repeatedly.
    fn repeated_body(&self) -> Option<(Vec<u32>, TypedId)> {
        let place = self.body.nodes[self.node].span;
        let holds = |of: TypedId| {
            let span = self.body.nodes[of].span;
            span.start <= place.start && place.end <= span.end
        };
        let of = |node: &TypedNode| {
            let mut locals = Vec::new();
            let body = match &node.kind {
                TypedExpr::Fold { acc, body, .. } | TypedExpr::Loop { acc, body, .. } => {
                    acc.for_each_local(&mut |l| locals.push(l.0));
                    *body
                }
                TypedExpr::Lambda(lambda) => {
                    lambda.params.iter().for_each(|p| p.for_each_local(&mut |l| locals.push(l.0)));
                    lambda.body
                }
                _ => return None,
            };
            holds(body).then_some((locals, body))
        };
        let all = self.body.nodes.iter().filter_map(|(_, node)| of(node));
        all.min_by_key(|(_, body)| {
            let span = self.body.nodes[*body].span;
            span.end - span.start
        })
    }

    /// Compares the cotangent of an expression in an iteration with the interpreter's derivative by
    /// an amount added to it. The iteration becomes a function of the variables that it reads.
    fn cotangent_again(
        &self,
        entries: &Entries,
        (carried, repeated_body): (&[u32], TypedId),
        tree: &Tree,
        tally: &mut SubexpressionCounts,
    ) -> Option<()> {
        let at = split_indices(&entries.entries.first()?.variable)?.1;
        let value = entries.entries.iter().map(|t| t.value.as_str()).collect::<Vec<_>>().join(" + ");
        let Some(variables) = self.variables(repeated_body, carried).filter(|_| at.len() <= 2) else {
            tally.others += 1;
            return None;
        };
        let result = &self.body.nodes[repeated_body].ty;
        let (dims, element) = peeled(result)?;
        if *element != Type::F64 {
            tally.others += 1;
            return None;
        }
        let heads: Vec<String> = variables.iter().map(|(name, ty, _)| format!("{name}: {ty}")).collect();
        let names: Vec<&str> = variables.iter().map(|(name, ..)| name.as_str()).collect();
        let binds: Option<String> = variables
            .iter()
            .map(|(name, ty, index)| {
                let value = if *index { Some("1 - 1".to_owned()) } else { self.argument(ty, name) };
                Some(format!("  let {name} = {}\n", value?))
            })
            .collect();
        let binds = self.sizes() + &binds?;
        let out = entries.cotangent.as_ref().map_or("out_adj", |(name, _)| name.as_str());
        let ranges: Vec<String> = dims.iter().enumerate().map(|(k, n)| format!("s{k} < {n}")).collect();
        let places = (0..dims.len()).map(|k| format!("s{k}")).collect::<Vec<_>>().join(", ");
        let total = match dims.is_empty() {
            true => format!("{out} * y"),
            false => format!("sum {}: {out}[{places}] * y[{places}]", ranges.join(", ")),
        };
        let (whole, place) = (self.body.nodes[repeated_body].span, self.body.nodes[self.node].span);
        let extents = at.iter().map(|_| "12").collect::<Vec<_>>().join(", ");
        let extents = if at.is_empty() { String::new() } else { format!("[{extents}]") };
        let read = if at.is_empty() { String::new() } else { format!("[{} + 4]", at.join(" + 4, ")) };
        let text = |from: u32, to: u32| &self.item.text[from as usize..to as usize];
        let more = self.added(&format!("delta_{read}"));
        let changed = format!("{}{more}{}", text(whole.start, place.start), text(place.end, whole.end));
        let zeros: Vec<String> = at.iter().enumerate().map(|(k, _)| format!("z{k} < 12")).collect();
        let zeros = if at.is_empty() { "0.0".to_owned() } else { format!("for {}: 0.0", zeros.join(", ")) };
        let around = variables.iter().filter(|(.., index)| *index).map(|(name, ..)| (name.as_str(), 0));
        let around: Vec<(&str, i64)> = around.collect();
        let Some(all) = self.values(&at, &around) else {
            tally.unranged += 1;
            return None;
        };
        for values in all {
            let let_prefix: String = values.iter().map(|(n, k)| format!("let {n} = {k} ")).collect();
            let let_prefix = let_prefix + &entries.lets.iter().map(|l| format!("{l} ")).collect::<String>();
            let let_prefix = if let_prefix.is_empty() { let_prefix } else { format!("{let_prefix}in ") };
            let own = self.own_lets(tree, whole);
            let at: Vec<String> = values.iter().map(|(_, k)| (k + 4).to_string()).collect();
            let at = if at.is_empty() { String::new() } else { format!("[{}]", at.join(", ")) };
            let more = format!(
                "def hovered({}, delta_: {extents}f64) = {changed}\ndef main() =\n{binds}  let {out} = {}\n  let change = grad(\\d_: let y = hovered({}, d_) in {total})({zeros})\n  in (change{at}, {own}{let_prefix}{value})\n",
                heads.join(", "),
                argument(result, out)?,
                names.join(", "),
            );
            match self.evaluated(&more).map(|v| numbers(&v)).as_deref() {
                // The function has no value at the drawn arguments.
                Ok([wanted, found]) if wanted.is_nan() && found.is_nan() => tally.failing += 1,
                Ok([wanted, found]) => {
                    assert!((wanted - found).abs() <= 1e-9 * (1.0 + wanted.abs()), "{wanted} {found}\n{more}");
                    tally.iterations += 1;
                }
                Ok(other) => panic!("{other:?}"),
                Err(why) if why.starts_with("no program") => tally.refuse(why),
                Err(_) => tally.failing += 1,
            }
        }
        Some(())
    }

    /// Returns the `let`s at the beginning of an expression, which the cotangent may mention.
    fn own_lets(&self, tree: &Tree, span: Span) -> String {
        let binds = |span: Span| {
            let mut all = tree.exprs.iter().map(|(_, node)| node).filter(|node| node.span == span);
            all.find_map(
                |node| if let ast::Expr::Let(_, last) = &node.kind { Some(tree.exprs[*last].span) } else { None },
            )
        };
        let mut last = span;
        while let Some(next) = binds(last) {
            last = next;
        }
        let text = &self.item.text[span.start as usize..last.start as usize];
        let text: Vec<&str> = text.lines().map(|line| line.split("--").next().unwrap_or_default().trim()).collect();
        text.join(" ") + " "
    }
}

#[test]
fn derivatives_are_those_of_the_interpreter() {
    let programs = golden::programs().expect("the programs can be read");
    let mut session = golden::session(&programs);
    session.set_text("own.iv", OWN);
    let scratch = RefCell::new(golden::session(&programs));
    let mut tally = SubexpressionCounts::default();
    for module in programs.keys().map(|n| golden::module(n)).chain(["own.iv".into()]) {
        for item in session.items(&module).iter().filter(|i| i.kind == ItemKind::Def) {
            let (Some(checked), Some(parsed)) = (session.checked_item(item), session.tree(item)) else { continue };
            let Item::Def(_) = &parsed.tree.item else { continue };
            if session.signature(&item.global).is_none_or(|s| !s.type_params.is_empty()) {
                continue;
            }
            let is_last = |(node, of): &(TypedId, &TypedNode)| {
                let last = checked.body.nodes.iter().rfind(|(_, n)| n.span == of.span);
                last.is_some_and(|(id, _)| id == *node)
            };
            let operates = |(_, of): &(TypedId, &TypedNode)| {
                let is = matches!(
                    of.kind,
                    TypedExpr::Arith(..)
                        | TypedExpr::Scalar(..)
                        | TypedExpr::Binder { .. }
                        | TypedExpr::Pow(..)
                        | TypedExpr::Fold { .. }
                        | TypedExpr::Loop { .. }
                );
                of.ty == Type::F64 && is
            };
            let pairs = |(_, of): &(TypedId, &TypedNode)| matches!(&of.ty, Type::Tuple(items) if !items.is_empty() && items.iter().all(|ty| *ty == Type::F64));
            let all: Vec<(TypedId, &TypedNode)> = checked.body.nodes.iter().filter(operates).filter(is_last).collect();
            let tuples: Vec<(TypedId, &TypedNode)> = checked.body.nodes.iter().filter(pairs).filter(is_last).collect();
            let some = |of: Vec<(TypedId, &'_ TypedNode)>| {
                let step = if module == "own.iv" { 1 } else { of.len().div_ceil(SOME).max(1) };
                of.into_iter().step_by(step).map(|(node, of)| (node, of.span, of.ty.clone())).collect::<Vec<_>>()
            };
            for (node, span, ty) in some(all).into_iter().chain(some(tuples)) {
                let Some(text) = item.text.get(span.range()) else { continue };
                let components = if let Type::Tuple(items) = &ty { Some(items.len()) } else { None };
                // All pairs of constructors, if a parameter has a sum type.
                let is_made = |l: &LocalId| checked.body.locals[l.0 as usize].ty.to_string().contains("Shape");
                let ways = if checked.body.params.iter().any(is_made) { SHAPES.len().pow(2) } else { 1 };
                let (before, mut loops) = (tally.compared(), false);
                for way in 0..ways {
                    let inside = |part: &str| {
                        let k = part.strip_prefix('.').and_then(|k| k.parse().ok());
                        let component = components.and_then(|of| Some((k?, of)));
                        Subexpression {
                            session: &session,
                            scratch: &scratch,
                            item,
                            body: &checked.body,
                            node,
                            text,
                            component,
                            way,
                        }
                    };
                    for cases in by_part(&session.partials(&item.global, node)) {
                        let (entries, several) = join_cases(&cases);
                        loops |= has_loop(&entries);
                        let inside = inside(&entries.expression_part);
                        let _ = inside.partials(&entries, &mut tally);
                        let _ = inside.partials_of_shapes(&cases, &mut tally);
                        tally.in_cases += usize::from(several);
                    }
                    for cases in by_part(&session.cotangent(&item.global, node)) {
                        let (entries, several) = join_cases(&cases);
                        loops |= has_loop(&entries);
                        let inside = inside(&entries.expression_part);
                        let _ = match inside.repeated_body() {
                            Some((carried, repeated_body)) => {
                                inside.cotangent_again(&entries, (&carried, repeated_body), &parsed.tree, &mut tally)
                            }
                            None => inside.cotangent(&entries, &checked.result, &parsed.tree, &mut tally),
                        };
                        tally.in_cases += usize::from(several);
                    }
                }
                tally.of_loops += if loops { tally.compared() - before } else { 0 };
                tally.components += components.map_or(0, |_| tally.compared() - before);
            }
        }
    }
    println!("{tally:#?}");
    let enough = tally.of_shapes >= 30
        && tally.in_cases >= 100
        && tally.partials >= 500
        && tally.cotangents >= 1150
        && tally.iterations >= 200
        && tally.of_loops >= 250
        && tally.zeros > 0;
    assert!(enough && tally.components >= 20, "{tally:?}");
    // These cases are not compared. The counts may fall.
    assert!(tally.refused <= 116 && tally.failing <= 27 && tally.unranged <= 2 && tally.others <= 1384, "{tally:#?}");
}
