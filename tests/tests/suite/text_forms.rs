//! **Text of core and Tensor SSA.** Reads printed forms back: every definition in the library and
//! of the programs, with its callees and derivatives. The result prints as before, is the same
//! form, and has the same values. Its counts are the same too; a few in Tensor SSA are lower.
//! Damaged texts are read or rejected without a panic.

use std::collections::HashMap;
use std::sync::Arc;

use iverson_tests::middle::collected_forms::{core_calls, ssa_calls, with_all_forms};
use iverson_tests::middle::forms::{self, Form, SessionForms, SingleFormFunctions};
use iverson_tests::random::Random;
use lang_core::eval::eval_core::{CoreEvaluator, EvalError};
use lang_core::eval::eval_ssa::{IrTensor, SsaEvaluator};
use lang_core::ir::canonical;
use lang_core::ir::core::{CoreExpr, CoreFunction, CoreType, ExprKind, ExprRef, FunctionKey};
use lang_core::ir::ssa::SsaFunction;
use lang_core::ir::value::IrValue;
use lang_core::predicate::{Atom, LocalId, Poly};
use lang_core::runtime::OperationCounts;
use lang_core::syntax::ops::Scalar;
use lang_reader::{read_core, read_ssa};

const FUEL: u64 = 2_000_000;

/// Returns an expression's own kind and data, without its parts and without types that follow from
/// them.
fn head(e: &CoreExpr) -> String {
    let of = e.ty.scalar();
    match &e.kind {
        ExprKind::Add(items) => format!("add {} {of:?}", items.len()),
        ExprKind::Mul(..) => "mul".to_owned(),
        ExprKind::Neg(_) => "neg".to_owned(),
        ExprKind::Apply(f, _) => format!("{f:?} {of:?}"),
        ExprKind::Tuple(items) => format!("tuple {}", items.len()),
        ExprKind::Proj(_, k) => format!("component {k}"),
        ExprKind::Gen(i, _) => format!("for {i:?}"),
        ExprKind::Sum(i, _) => format!("sum {i:?}"),
        ExprKind::Argsort(i, _) => format!("argsort {i:?}"),
        ExprKind::Access(_, p) => format!("at {p:?} {of:?}"),
        ExprKind::Guard(p, _) => format!("guard {p:?}"),
        ExprKind::Let(bindings, _) => format!("let {:?}", bindings.iter().map(|b| b.0).collect::<Vec<_>>()),
        ExprKind::Call(callee, sizes, _) => format!("call {callee:?} {sizes:?} {:?}", e.ty),
        ExprKind::Check(p, what, _) => format!("check {p:?} {what:?}"),
        ExprKind::Reduce(r) => format!("{:?} {:?} {:?} {:?} {of:?}", r.reducer, r.indices, r.filter, r.arg_value),
        ExprKind::Loop(repeat, _) => format!("loop {repeat:?} {:?}", e.ty),
        ExprKind::Update(update, ..) => format!("update {update:?}"),
        other => format!("{other:?} {of:?}"),
    }
}

fn same(a: &ExprRef, b: &ExprRef) -> Result<(), String> {
    let (x, y) = (head(a), head(b));
    if x != y {
        return Err(format!("{x}\n  read as {y}"));
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    a.for_each_child(&mut |e| left.push(e.clone()));
    b.for_each_child(&mut |e| right.push(e.clone()));
    left.iter().zip(&right).try_for_each(|(a, b)| same(a, b))
}

fn core_reads_back(function: &CoreFunction) -> Result<CoreFunction, String> {
    let text = function.to_string();
    let read = read_core(&function.callee.def.module, &text).map_err(|e| format!("{e}\n{text}"))?;
    let reprinted = read.to_string();
    if reprinted != text {
        return Err(format!("printed otherwise:\n{text}{reprinted}"));
    }
    let (before, after) = (canonical::canonicalize_core(function), canonical::canonicalize_core(&read));
    let heads = |f: &canonical::CanonicalForm<CoreFunction>| {
        format!(
            "{:?} {:?} {:?} {:?} {:?}",
            f.form.callee, f.form.sizes, f.form.params, f.form.bounded_params, f.globals
        )
    };
    if heads(&before) != heads(&after) {
        return Err(format!("{}\n{}", heads(&before), heads(&after)));
    }
    same(&before.form.body, &after.form.body).map_err(|e| format!("{e}\n{text}"))?;
    Ok(read)
}

fn ssa_reads_back(ssa: &SsaFunction) -> Result<SsaFunction, String> {
    let text = ssa.to_string();
    let read = read_ssa(&ssa.callee.def.module, &text).map_err(|e| format!("{e}\n{text}"))?;
    let reprinted = read.to_string();
    if reprinted != text {
        return Err(format!("printed otherwise:\n{text}{reprinted}"));
    }
    // Only variables that a statement uses have names in the text.
    let without_vars =
        |s: &SsaFunction| SsaFunction { vars: lang_core::ir::Vars::default(), ..canonical::canonicalize_ssa(s).form };
    let (before, after) = (without_vars(ssa), without_vars(&read));
    if before == after {
        return Ok(read);
    }
    // The text of a NaN omits its bits.
    let (before, after) = (format!("{before:#?}"), format!("{after:#?}"));
    match before.lines().zip(after.lines()).find(|(a, b)| a != b) {
        Some((a, b)) => Err(format!("{a}\n  read as {b}\n{text}")),
        None => Ok(read),
    }
}

fn summed_up(wrong: &[String]) {
    let some: Vec<&str> = wrong.iter().take(6).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), some.join("\n\n"));
}

#[test]
fn forms_read_back() {
    with_all_forms(|forms, all| {
        let (mut wrong, mut compared, mut fewer, mut unread) = (Vec::new(), [0_u32; 2], 0, Vec::new());
        // The reader does not support the text of a call of a rule yet.
        let is_of_rules = |called: &[Arc<FunctionKey>]| called.iter().any(|callee| !callee.rules.is_empty());
        for (name, core) in &all.core {
            let mut called = Vec::new();
            core_calls(&core.body, &mut called);
            called.extend(core.local_functions.iter().map(|f| f.callee.clone()));
            if is_of_rules(&called) {
                continue;
            }
            match core_reads_back(core) {
                Ok(read) => {
                    let mut random = Random::new(5);
                    for _ in 0..3 {
                        let Some((sizes, args)) = arguments(&mut random, core) else { continue };
                        let before = core_values(forms, core, &sizes, &args);
                        let after = core_values(forms, &read, &sizes, &args);
                        compared[0] += u32::from(before.starts_with("Ok"));
                        if before != after {
                            wrong.push(format!("{name} at {sizes:?} {args:?}: {before}\n{after}"));
                        }
                    }
                }
                Err(difference) => wrong.push(format!("{name}: {difference}")),
            }
        }
        for (name, ssa) in &all.ssa {
            // A parameter's extents are elements of another parameter: in bodies of nested loops,
            // which need no text.
            let elements = |n: &Poly| {
                let mut found = false;
                n.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(_, _, at) if !at.is_empty()));
                found
            };
            if ssa.inputs.iter().flat_map(|i| &i.leaf.dims).any(elements) {
                unread.push(name.clone());
                continue;
            }
            let mut called = Vec::new();
            ssa_calls(ssa, &mut called);
            if is_of_rules(&called) {
                continue;
            }
            match ssa_reads_back(ssa) {
                Ok(read) => {
                    let mut random = Random::new(6);
                    for _ in 0..3 {
                        let Some((sizes, parts)) = parts(&mut random, ssa) else { continue };
                        let before = ssa_values(forms, ssa, &sizes, &parts);
                        let after = ssa_values(forms, &read, &sizes, &parts);
                        compared[1] += u32::from(before.0.starts_with("Ok"));
                        fewer += u32::from(before.1 != after.1);
                        let at_most = |a: OperationCounts, b: OperationCounts| {
                            a.work <= b.work && a.tests <= b.tests && a.iterations <= b.iterations
                        };
                        if before.0 != after.0 || !at_most(after.1, before.1) {
                            wrong.push(format!("{name} at {sizes:?} {parts:?}: {before:?}\n{after:?}\n{ssa}"));
                        }
                    }
                }
                Err(difference) => wrong.push(format!("{name}: {difference}")),
            }
        }
        let [core, ssa] = compared;
        println!("{} in core, {core} values; {} in Tensor SSA, {ssa} values", all.core.len(), all.ssa.len());
        println!("{fewer} values at fewer counts; {} not read", unread.len());
        // Two bodies of nested loops, and their derivatives.
        assert!(
            unread.iter().all(|name| name.contains("std/minimisers.iv::main")),
            "more that is not read: {unread:?}"
        );
        summed_up(&wrong);
        assert!(all.core.len() > 400 && all.ssa.len() > 800, "fewer forms than there were");
        assert!(core > 400 && ssa > 800, "fewer values than there were");
        // The text merges loops that differ only in their results.
        assert!(fewer < 20, "fewer counts than there were");
    });
}

// ---- values ----

/// Returns the outcome as text. A failure is compared by its check.
fn shown<T: std::fmt::Debug>(result: Result<T, EvalError>) -> String {
    match result {
        Ok(value) => format!("Ok({value:?})"),
        Err(EvalError::CheckFailed(what)) => format!("{} {}", what.code, what.message),
        Err(other) => format!("{other:?}"),
    }
}

fn core_values(forms: &SessionForms<'_>, core: &CoreFunction, sizes: &[i64], args: &[IrValue]) -> String {
    let all = SingleFormFunctions::new(forms, Form::Core);
    let mut evaluator = CoreEvaluator::new(&all, FUEL);
    let result = evaluator.call(core, sizes, args.to_vec());
    format!("{} {:?}", shown(result), evaluator.counts)
}

fn ssa_values(
    defs: &SessionForms<'_>,
    ssa: &SsaFunction,
    sizes: &[i64],
    parts: &[IrTensor],
) -> (String, OperationCounts) {
    let all = forms::EvaluatorFunctions(defs);
    let mut evaluator = SsaEvaluator::new(&all, FUEL);
    let result = evaluator.call(ssa, sizes, parts.to_vec());
    (shown(result), evaluator.counts)
}

fn extent(p: &Poly, known: &HashMap<LocalId, i64>) -> Option<usize> {
    let n = p.eval(&mut |a| if let Atom::Local(l, _) = a { known.get(l).copied() } else { None })?;
    usize::try_from(n).ok().filter(|n| *n < 200)
}

fn scalar(random: &mut Random, of: Scalar) -> IrValue {
    let small = i32::try_from(random.number_below(17)).unwrap_or(0) - 4;
    match of {
        Scalar::F64 => IrValue::F64(f64::from(small) / 4.0),
        #[expect(clippy::cast_possible_truncation, reason = "dyadic numbers are exact")]
        Scalar::F32 => IrValue::F32((f64::from(small) / 4.0) as f32),
        Scalar::I64 => IrValue::I64(i64::try_from(random.number_below(4)).unwrap_or(0)),
        Scalar::Bool => IrValue::Bool(random.number_below(2) == 0),
    }
}

fn rows(random: &mut Random, dims: &[usize]) -> Vec<Vec<i64>> {
    let count = if dims.contains(&0) { 0 } else { random.number_below(4) };
    let below = |random: &mut Random, n: usize| i64::try_from(random.number_below(n)).unwrap_or(0);
    let mut rows: Vec<Vec<i64>> = (0..count).map(|_| dims.iter().map(|n| below(random, *n)).collect()).collect();
    rows.sort();
    rows.dedup();
    rows
}

fn value(random: &mut Random, ty: &CoreType, known: &HashMap<LocalId, i64>) -> Option<IrValue> {
    Some(match ty {
        CoreType::Scalar(s) => scalar(random, *s),
        CoreType::Tuple(items, _) => {
            IrValue::Tuple(items.iter().map(|t| value(random, t, known)).collect::<Option<_>>()?)
        }
        CoreType::Tensor(n, t) => {
            IrValue::Array((0..extent(n, known)?).map(|_| value(random, t, known)).collect::<Option<_>>()?)
        }
        CoreType::Rel(dims) => {
            let dims = dims.iter().map(|n| extent(n, known)).collect::<Option<Vec<_>>>()?;
            IrValue::Rel(rows(random, &dims))
        }
    })
}

fn arguments(random: &mut Random, core: &CoreFunction) -> Option<(Vec<i64>, Vec<IrValue>)> {
    let mut known = HashMap::new();
    let small = |random: &mut Random| i64::try_from(random.number_below(4)).unwrap_or(0);
    let sizes: Vec<i64> = core.sizes.iter().map(|_| small(random)).collect();
    known.extend(core.sizes.iter().copied().zip(sizes.iter().copied()));
    for (local, ty) in &core.params {
        if *ty == CoreType::Scalar(Scalar::I64) {
            known.insert(*local, small(random));
        }
    }
    let args = core.params.iter().map(|(local, ty)| match known.get(local) {
        Some(i) => Some(IrValue::I64(*i)),
        None => value(random, ty, &known),
    });
    Some((sizes, args.collect::<Option<_>>()?))
}

fn parts(random: &mut Random, ssa: &SsaFunction) -> Option<(Vec<i64>, Vec<IrTensor>)> {
    let mut known = HashMap::new();
    let small = |random: &mut Random| i64::try_from(random.number_below(4)).unwrap_or(0);
    let sizes: Vec<i64> = ssa.sizes.iter().map(|_| small(random)).collect();
    known.extend(ssa.sizes.iter().copied().zip(sizes.iter().copied()));
    let passed = || ssa.inputs.iter().filter(|i| i.source.is_passed());
    for input in passed() {
        if input.leaf.dims.is_empty() && input.leaf.scalar == Some(Scalar::I64) {
            known.insert(input.local, small(random));
        }
    }
    let parts = passed().map(|input| {
        let dims = input.leaf.dims.iter().map(|n| extent(n, &known)).collect::<Option<Vec<_>>>()?;
        let items = match (input.leaf.scalar, known.get(&input.local)) {
            (_, Some(i)) => vec![IrValue::I64(*i)],
            (Some(of), None) => (0..dims.iter().product()).map(|_| scalar(random, of)).collect(),
            (None, None) => {
                let rows = rows(random, &dims).into_iter();
                rows.map(|row| IrValue::Tuple(row.into_iter().map(IrValue::I64).collect())).collect()
            }
        };
        Some(IrTensor { dims, items })
    });
    Some((sizes, parts.collect::<Option<_>>()?))
}

// ---- damaged texts ----

/// A damaged text is read or rejected.
#[test]
fn damaged_texts() {
    with_all_forms(|_, all| {
        let mut random = Random::new(17);
        let short = |text: &String| text.len() < 3000;
        let texts: Vec<String> = all.core.values().map(ToString::to_string).filter(short).collect();
        let ssa: Vec<String> = all.ssa.values().map(ToString::to_string).filter(short).collect();
        let pieces = [
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            ":",
            ";",
            "for i < n: ",
            "sum",
            "let k = ",
            " in ",
            "X1",
            "i0",
            "-",
            "* ",
            "^ ",
            "99999999999",
            "0.5f32",
            "needs 0",
            "_adj{0; 0}",
            "f[f64; n]",
            "check(",
            "\"",
            "`",
            "// 0",
            "any",
            " -- ",
            "'",
            "é",
            "~",
            "1e999",
            "min(",
            ": [n]f64",
        ];
        let (mut read, mut refused) = (0_u32, 0_u32);
        for round in 0..6000_usize {
            let of = if round % 2 == 0 { &texts } else { &ssa };
            let pick = |random: &mut Random, n: usize| random.number_below(n);
            let mut text: Vec<char> = of[pick(&mut random, of.len())].chars().collect();
            for _ in 0..=random.number_below(3) {
                let at = pick(&mut random, text.len().max(1));
                let end = (at + pick(&mut random, 12)).min(text.len());
                match random.number_below(4) {
                    0 => drop(text.drain(at..end)),
                    1 => drop(text.splice(at..at, pieces[pick(&mut random, pieces.len())].chars())),
                    2 => {
                        let copy: Vec<char> = text[at..end].to_vec();
                        let to = pick(&mut random, text.len() + 1);
                        text.splice(to..to, copy);
                    }
                    _ => drop(text.splice(at..end, pieces[pick(&mut random, pieces.len())].chars())),
                }
            }
            let text: String = text.into_iter().collect();
            // A text that is still a form prints as one that reads as itself.
            let reprinted = if round % 2 == 0 {
                read_core("t", &text).map(|f| (f.to_string(), read_core("t", &f.to_string()).map(|f| f.to_string())))
            } else {
                read_ssa("t", &text).map(|f| (f.to_string(), read_ssa("t", &f.to_string()).map(|f| f.to_string())))
            };
            match reprinted {
                Ok((first, second)) => {
                    read += 1;
                    assert_eq!(second.as_ref(), Ok(&first), "of\n{text}");
                }
                Err(_) => refused += 1,
            }
        }
        println!("{read} read, {refused} refused");
        assert!(read > 100 && refused > 1000);
    });
}

/// The reader limits the nesting depth and accepts long texts.
#[test]
fn enormous_texts() {
    for (open, close) in [("(", ")"), ("- ", ""), ("!", ""), ("for i < 2: ", ""), ("sqrt(", ")"), ("[x > 0] * (", ")")]
    {
        let text = format!("core f[](x: f64) -> f64 =\n  {}x{}\n", open.repeat(200_000), close.repeat(200_000));
        let error = read_core("t", &text).map(|_| ()).map_err(|e| e.message);
        assert_eq!(error, Err("the nesting is too deep".to_owned()), "{open}");
    }
    let sum = format!("core f[](x: f64) -> f64 =\n  {}\n", vec!["x"; 100_000].join(" + "));
    assert!(read_core("t", &sum).is_ok());
    let product = format!("core f[n](x: [n]f64) -> f64 =\n  x[{}]\n", vec!["(n + 1)"; 10_000].join(" * "));
    assert!(read_core("t", &product).is_ok());
    let chain = format!("core f[n](x: [n]f64) -> f64 =\n  x{}\n", "[0]".repeat(100_000));
    assert!(read_core("t", &chain).is_err());
    let sums = format!("core f[n](x: [n]f64) -> f64 =\n  [{}] * x[0]\n", vec!["0 < n"; 20_000].join(" || "));
    assert!(read_core("t", &sums).is_ok());
}
