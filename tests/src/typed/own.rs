//! **Type-specific expressions.** Draws forms that construct their type: arithmetic, conditions,
//! arrays, data, functions.

use super::draw::{TypedGenerator, VariableKind};
use super::types::{DrawnType, bound, named, number};
use lang_core::predicate::Poly;

const REAL_1: &[&str] = &[
    "exp", "log", "log1p", "expm1", "sqrt", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "sigmoid", "softplus", "relu", "erf", "erfc", "lgamma", "floor", "ceil",
    "round", "trunc", "abs", "sign",
];
const INT_2: &[&str] = &["min", "max", "bit_and", "bit_or", "bit_xor", "shl", "shr", "ushr"];
const COMPARE: &[&str] = &["==", "!=", "<", "<=", ">", ">="];

impl TypedGenerator<'_> {
    pub(super) fn own(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        if t.has_zero() && self.one_in(9) {
            return Some(self.bracket(t, hint, depth));
        }
        if t.has_sum() && self.one_in(9) {
            return self.reduction("sum", t, hint, depth);
        }
        match t {
            DrawnType::F64 | DrawnType::F32 | DrawnType::I64 => self.numeric(t, hint, depth),
            DrawnType::Param(..) if t.is_num() => Some(self.arithmetic(t, hint, depth)),
            DrawnType::Param(..) => None,
            DrawnType::Bool => self.condition(depth),
            DrawnType::Arr(n, elem) => self.array_of(n, elem, hint, depth),
            DrawnType::Tup(ts) => self.tuple(ts, hint, depth),
            DrawnType::Rec(fs) => {
                let mut items: Vec<String> =
                    fs.iter().map(|(n, t)| format!("{n}: {}", self.expr(t, hint, depth))).collect();
                if hint && self.one_in(2) {
                    items.reverse();
                }
                Some(format!("{{{}}}", items.join(", ")))
            }
            DrawnType::Fun(ts, r) => self.function_of(t, ts, r, hint, depth),
            DrawnType::Rel(dims) => self.relation(dims, depth),
            DrawnType::Data(k, arg) => {
                let ctors = self.datas.get(*k).map(|d| d.ctors.clone()).unwrap_or_default();
                let c = self.random.number_below(ctors.len());
                let bare = ctors.get(c).is_some_and(|c| c.1.is_empty());
                // Without a hint, nothing determines the type argument of a constructor without
                // arguments.
                let c = if bare && arg.is_some() && !hint { 0 } else { c };
                Some(self.ctor(*k, arg.as_deref(), c, hint, depth.min(2)))
            }
        }
    }

    fn bracket(&mut self, t: &DrawnType, hint: bool, depth: u32) -> String {
        let p = self.expr(&DrawnType::Bool, true, depth.min(2));
        let e = self.under(|d| d.expr(t, hint, depth));
        if matches!(t, DrawnType::F64 | DrawnType::F32 | DrawnType::I64) && self.one_in(2) {
            return format!("({} * [{p}] * {e})", self.expr(t, hint, depth));
        }
        format!("([{p}] * {e})")
    }

    fn arithmetic(&mut self, t: &DrawnType, hint: bool, depth: u32) -> String {
        let mut text = format!("({}", self.expr(t, hint, depth));
        let ops: &[&str] = if t.is_real() { &["+", "-", "*", "/"] } else { &["+", "-", "*"] };
        for _ in 0..=self.number_below(3) / 2 {
            let op = self.pick_of(ops);
            text.push_str(&format!(" {op} {}", self.expr(t, hint, depth)));
        }
        text.push(')');
        text
    }

    fn pick_of(&mut self, of: &[&'static str]) -> &'static str {
        self.random.pick(of).copied().unwrap_or("+")
    }

    fn numeric(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let real = *t != DrawnType::I64;
        Some(match self.number_below(12) {
            0..3 => self.arithmetic(t, hint, depth),
            3 => format!("(-{})", self.expr(t, hint, depth)),
            4 => {
                let k = self.pick(&["2", "3", "0", "1"]);
                match (real, self.number_below(3)) {
                    (true, 0) => format!("({} ^ -{k})", self.expr(t, hint, depth)),
                    (true, 1) => format!("({} ^ {})", self.expr(t, false, depth), self.expr(t, false, depth)),
                    _ => format!("({} ^ {k})", self.expr(t, hint, depth)),
                }
            }
            5 if real => match self.number_below(4) {
                0 => {
                    let f = self.pick(&["atan2", "hypot", "min", "max"]);
                    format!("{f}({}, {})", self.expr(t, false, depth), self.expr(t, false, depth))
                }
                _ => format!("{}({})", self.pick(REAL_1), self.expr(t, false, depth)),
            },
            5 => match self.number_below(4) {
                0 => format!("{}({})", self.pick(&["abs", "sign", "bit_not"]), self.expr(t, false, depth)),
                1 => {
                    let (a, b) = (self.expr(t, false, depth), self.expr(t, false, depth));
                    format!("({a} {} (1 + bit_and({b}, 3)))", self.pick(&["//", "%"]))
                }
                2 => {
                    let (a, b) = (self.expr(t, false, depth), self.expr(t, false, depth));
                    format!("({a} {} {b})", self.pick(&["//", "%"]))
                }
                _ => format!("{}({}, {})", self.pick(INT_2), self.expr(t, false, depth), self.expr(t, false, depth)),
            },
            6 => {
                let from = match self.number_below(3) {
                    0 => DrawnType::F64,
                    1 => DrawnType::F32,
                    _ => DrawnType::I64,
                };
                format!("{t}({})", self.expr(&from, false, depth))
            }
            7 if self.one_in(3) => {
                let x = self
                    .var(|v| matches!(&v.ty, DrawnType::Arr(n, elem) if **elem == *t && n.as_constant() != Some(0)))?;
                let DrawnType::Arr(n, _) = &x.ty else { return None };
                let from = self.expr(&DrawnType::I64, true, depth.min(1));
                format!("total({}[bit_and({from}, 1)..{n}])", x.name)
            }
            7 | 8 => {
                let kind = self.pick(&["sum", "prod", "max", "min"]);
                return self.reduction(kind, t, hint, depth);
            }
            9 if real => {
                let c = self.pick(&["pi", "inf", "nan", "pi"]);
                if hint || *t == DrawnType::F64 { c.to_owned() } else { format!("f32({c})") }
            }
            9 => {
                let of = self.number_element();
                self.scoped(|d| {
                    let (vars, steps) = d.index_vars(1);
                    let kind = d.pick(&["argmax", "argmin"]);
                    d.times(steps, |d| d.expr(&of, false, depth)).map(|e| format!("({kind} {vars}: {e})"))
                })?
            }
            10 if !real => {
                let of = match self.var(|v| matches!(v.ty, DrawnType::Rel(_))) {
                    Some(v) => v.ty,
                    None => DrawnType::Rel(vec![self.size(), self.size()]),
                };
                format!("|{}|", parens(&self.expr(&of, false, depth)))
            }
            11 if !real => {
                let v = self.var(|v| !matches!(v.kind, VariableKind::Value))?;
                v.name
            }
            _ => return None,
        })
    }

    fn number_element(&mut self) -> DrawnType {
        match self.number_below(3) {
            0 => DrawnType::I64,
            1 => DrawnType::F32,
            _ => DrawnType::F64,
        }
    }

    /// Draws a reduction, as `sum i < n if p: e`, sometimes with bare indices.
    fn reduction(&mut self, kind: &str, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        if self.one_in(4) {
            let x = self.var(|v| matches!(&v.ty, DrawnType::Arr(..)))?;
            let DrawnType::Arr(n, elem) = &x.ty else { return None };
            return self.scoped(|d| {
                let (i, v) = (d.fresh("i"), d.fresh("v"));
                d.push(&i, DrawnType::I64, VariableKind::Index(Some(n.clone()), true));
                d.push(&v, (**elem).clone(), VariableKind::Value);
                let body = d.times(bound(n), |d| d.expr(t, hint, depth))?;
                Some(format!("({kind} {i}: (let {v} = {}[{i}] in {body}))", x.name))
            });
        }
        let count = 1 + self.number_below(4) / 3;
        self.scoped(|d| {
            let (vars, steps) = d.index_vars(count);
            let filtered = d.one_in(4);
            let (filter, body) = d.times(steps, |d| {
                if filtered {
                    let p = d.expr(&DrawnType::Bool, true, depth.min(2));
                    (format!(" if {p}"), d.under(|d| d.expr(t, hint, depth)))
                } else {
                    (String::new(), d.expr(t, hint, depth))
                }
            })?;
            Some(format!("({kind} {vars}{filter}: {body})"))
        })
    }

    fn condition(&mut self, depth: u32) -> Option<String> {
        Some(match self.number_below(9) {
            0..3 => {
                let t = if self.one_in(3) { DrawnType::I64 } else { self.number_element() };
                let mut text = format!("({}", self.expr(&t, false, depth));
                for _ in 0..=self.number_below(4) / 3 {
                    let e = self.expr(&t, false, depth);
                    text.push_str(&format!(" {} {e}", self.pick(COMPARE)));
                }
                format!("{text})")
            }
            3 => format!("!{}", parens(&self.expr(&DrawnType::Bool, true, depth))),
            4 | 5 => {
                let op = self.pick(&["&&", "||"]);
                let mut text = format!("({}", self.expr(&DrawnType::Bool, true, depth));
                for _ in 0..=self.number_below(3) / 2 {
                    let e = self.under(|d| d.expr(&DrawnType::Bool, true, depth));
                    text.push_str(&format!(" {op} {e}"));
                }
                format!("{text})")
            }
            6 => {
                let kind = self.pick(&["any", "all"]);
                return self.reduction(kind, &DrawnType::Bool, true, depth);
            }
            7 => {
                let of = match self.var(|v| matches!(v.ty, DrawnType::Rel(_))) {
                    Some(v) => v.ty,
                    None => DrawnType::Rel(vec![self.size()]),
                };
                let DrawnType::Rel(dims) = &of else { return None };
                let r = parens(&self.expr(&of, false, depth));
                let args: Vec<String> = dims
                    .iter()
                    .map(|_| match self.expr(&DrawnType::I64, true, depth.min(1)) {
                        // A bare index alone would take the extent of the axis.
                        e if e.starts_with('i') => format!("{e} + 0"),
                        e => e,
                    })
                    .collect();
                format!("{r}({})", args.join(", "))
            }
            _ => {
                let (a, b) = (self.expr(&DrawnType::Bool, false, depth), self.expr(&DrawnType::Bool, false, depth));
                format!("({a} {} {b})", self.pick(&["==", "!="]))
            }
        })
    }

    fn array_of(&mut self, n: &Poly, elem: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let whole = DrawnType::arr(n.clone(), elem.clone());
        let scalar = whole.peel().1.clone();
        let count = n.as_constant().and_then(|c| usize::try_from(c).ok());
        match self.number_below(16) {
            0..4 => self.generate(n, elem, hint, depth),
            4 => match count {
                Some(c) if c > 0 && c <= 4 => {
                    let items: Vec<String> = (0..c).map(|_| self.expr(elem, hint, depth.min(2))).collect();
                    Some(format!("[{}{}]", items.join(", "), if c == 1 { "," } else { "" }))
                }
                _ => None,
            },
            5 | 6 if scalar.is_num() => self.lifted(&whole, &scalar, depth),
            5 | 6 if scalar == DrawnType::Bool => {
                let of = self.number_element();
                let axes: Vec<Poly> = whole.peel().0.into_iter().cloned().collect();
                let arr = axes.iter().rev().fold(of.clone(), |t, n| DrawnType::arr(n.clone(), t));
                let (a, b) = (self.expr(&arr, false, depth), self.expr(&of, false, depth.min(1)));
                Some(format!("({a} {} {b})", self.pick(COMPARE)))
            }
            7 => {
                let more = self.number_below(3);
                let x =
                    self.expr(&DrawnType::arr(n.add_constant(i128::try_from(more).ok()?), elem.clone()), false, depth);
                let from = self.random.number_below(more + 1);
                let to = n.add_constant(i128::try_from(from).ok()?);
                Some(format!("{}[{from}..{to}]", parens(&x)))
            }
            8 => {
                let m = self.size();
                if whole.peel().0.len() > 2 {
                    return None;
                }
                let j = self.subscript(&m)?;
                let x = self.expr(&DrawnType::arr(n.clone(), DrawnType::arr(m, elem.clone())), false, depth.min(2));
                Some(format!("{}[_, {j}]", parens(&x)))
            }
            9 => {
                let steps = n.add_constant(-1);
                if count.is_some_and(|c| c == 0) || (count.is_none() && n.constant_part() < 1) {
                    return None;
                }
                let i = self.fresh("i");
                let init = self.expr(elem, true, depth);
                self.scoped(|d| {
                    d.push(&i, DrawnType::I64, VariableKind::Index(Some(steps.clone()), false));
                    let pattern = d.pattern(elem, 1);
                    let body = d.times(bound(&steps), |d| d.expr(elem, true, depth))?;
                    Some(format!("(scan {pattern}: {elem} = {init} for {i} < {steps}: {body})"))
                })
            }
            10 => {
                let carry = self.scalar();
                let i = self.fresh("i");
                let init = self.expr(&carry, true, depth.min(2));
                self.scoped(|d| {
                    d.push(&i, DrawnType::I64, VariableKind::Index(Some(n.clone()), false));
                    let acc = d.bind(&carry);
                    let (body, out) =
                        d.times(bound(n), |d| (d.expr(&carry, true, depth.min(2)), d.expr(elem, false, depth)))?;
                    Some(format!("(fold {acc}: {carry} = {init} for {i} < {n}: {body} yield {out}).1"))
                })
            }
            11 => self.reshaped(n, elem, depth),
            12 => match count {
                Some(c) => {
                    let a = self.random.number_below(c + 1);
                    let x = self.expr(&DrawnType::arr(number(a), elem.clone()), false, depth);
                    let y = self.expr(&DrawnType::arr(number(c - a), elem.clone()), false, depth);
                    Some(format!("concat({x}, {y})"))
                }
                None => None,
            },
            13 => match elem {
                DrawnType::Arr(_, inner) if inner.is_num() => {
                    let x = self.expr(&whole, false, depth);
                    Some(format!(
                        "map({}, {x})",
                        if **inner == DrawnType::I64 && self.one_in(2) { "argsort" } else { "sort" }
                    ))
                }
                _ => None,
            },
            _ => self.call(&whole, depth),
        }
    }

    fn generate(&mut self, n: &Poly, elem: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let (i, j) = (self.fresh("i"), self.fresh("i"));
        let bare = hint && self.one_in(2);
        let var = |i: &str, n: &Poly| if bare { i.to_owned() } else { format!("{i} < {n}") };
        // Other ranges of the same extent. Their variable is not an index of the axis.
        let shifted = match self.number_below(6) {
            0 if !bare => Some(format!("{i} in 1..{}", n.add_constant(1))),
            1 if !bare => Some(format!("{i} in 0..{} by 2", n.scale(2))),
            _ => None,
        };
        let known = if shifted.is_some() { None } else { Some(n.clone()) };
        let range = shifted.unwrap_or_else(|| var(&i, n));
        self.scoped(|d| {
            d.push(&i, DrawnType::I64, VariableKind::Index(known, bare));
            match elem {
                DrawnType::Arr(m, inner) if d.one_in(2) => {
                    d.push(&j, DrawnType::I64, VariableKind::Index(Some(m.clone()), bare));
                    let body = d.times(bound(n).saturating_mul(bound(m)), |d| d.expr(inner, hint, depth))?;
                    Some(format!("(for {range}, {}: {body})", var(&j, m)))
                }
                _ => d.times(bound(n), |d| d.expr(elem, hint, depth)).map(|body| format!("(for {range}: {body})")),
            }
        })
    }

    fn lifted(&mut self, whole: &DrawnType, scalar: &DrawnType, depth: u32) -> Option<String> {
        let x = self.expr(whole, false, depth);
        let real = scalar.is_real();
        let op = if real { self.pick(&["+", "-", "*", "/"]) } else { self.pick(&["+", "-", "*"]) };
        Some(match self.number_below(6) {
            0 => format!("({x} {op} {})", self.expr(whole, false, depth)),
            1 => format!("({x} {op} {})", self.expr(scalar, false, depth.min(2))),
            2 => format!("({} {op} {x})", self.expr(scalar, false, depth.min(2))),
            3 => format!("(-{x})"),
            4 if real => format!("{}({x})", self.pick(REAL_1)),
            4 => format!("abs({x})"),
            _ => format!("({x} ^ {})", self.pick(&["2", "3"])),
        })
    }

    fn reshaped(&mut self, n: &Poly, elem: &DrawnType, depth: u32) -> Option<String> {
        match elem {
            DrawnType::Arr(m, inner) if !matches!(**inner, DrawnType::Arr(..)) => {
                let flat = DrawnType::arr(n.mul(m), (**inner).clone());
                if bound(&n.mul(m)) > 16 {
                    return None;
                }
                Some(format!("reshape({}, {n}, {m})", self.expr(&flat, false, depth)))
            }
            DrawnType::Arr(..) => None,
            _ => {
                let rows = DrawnType::arr(number(1), DrawnType::arr(n.clone(), elem.clone()));
                Some(format!("reshape({}, {n})", self.expr(&rows, false, depth)))
            }
        }
    }

    fn tuple(&mut self, ts: &[DrawnType], hint: bool, depth: u32) -> Option<String> {
        if let [a, DrawnType::Arr(n, out)] = ts
            && self.one_in(2)
        {
            let i = self.fresh("i");
            let init = self.expr(a, true, depth.min(2));
            return self.scoped(|d| {
                d.push(&i, DrawnType::I64, VariableKind::Index(Some(n.clone()), false));
                let acc = d.bind(a);
                let (body, y) = d.times(bound(n), |d| (d.expr(a, true, depth), d.expr(out, false, depth)))?;
                Some(format!("(fold {acc}: {a} = {init} for {i} < {n}: {body} yield {y})"))
            });
        }
        if let [DrawnType::I64, DrawnType::I64] = ts
            && self.one_in(2)
        {
            return self.scoped(|d| {
                let (vars, steps) = d.index_vars(2);
                let body = d.times(steps, |d| d.expr(&DrawnType::F64, false, depth))?;
                Some(format!("({} {vars}: {body})", d.pick(&["argmax", "argmin"])))
            });
        }
        let items: Vec<String> = ts.iter().map(|t| self.expr(t, hint, depth)).collect();
        Some(format!("({})", items.join(", ")))
    }

    fn function_of(
        &mut self,
        t: &DrawnType,
        ts: &[DrawnType],
        r: &DrawnType,
        hint: bool,
        depth: u32,
    ) -> Option<String> {
        match self.number_below(6) {
            0 | 1 => {
                let found: Vec<String> = self
                    .defs
                    .iter()
                    .filter(|d| {
                        d.types.is_empty()
                            && d.sizes.is_empty()
                            && d.cost < 200
                            && d.result == *r
                            && d.params.len() == ts.len()
                            && d.params
                                .iter()
                                .zip(ts)
                                .all(|(p, t)| p.1 == *t && p.2 == super::draw::ParameterRole::Plain)
                    })
                    .map(|d| d.name.clone())
                    .collect();
                self.random.pick(&found).cloned()
            }
            2 if hint || *r == DrawnType::F64 => match ts {
                [a] if a == r && r.is_real() => Some(self.pick(REAL_1).to_owned()),
                [a, b] if a == r && b == r && r.is_real() => Some(self.pick(&["atan2", "hypot", "max"]).to_owned()),
                _ => None,
            },
            3 => {
                let DrawnType::Data(k, None) = r else { return None };
                self.datas.get(*k)?.ctors.iter().find(|c| c.1 == ts).map(|c| c.0.clone())
            }
            4 => {
                let p = self.expr(&DrawnType::Bool, true, depth.min(1));
                let (a, b) = self.under(|d| (d.leaf(t, hint), d.expr(t, hint, depth)));
                Some(format!("(if {p} then {a} else {b})"))
            }
            // A function may be called anywhere, so its body counts as eight runs.
            _ => self.scoped(|d| {
                let params = d.lambda_params(ts);
                d.times(8, |d| d.under(|d| d.expr(r, hint, depth))).map(|body| format!("(\\{params}: {body})"))
            }),
        }
    }

    fn relation(&mut self, dims: &[Poly], depth: u32) -> Option<String> {
        if self.one_in(2) {
            let (rows, arity) = (self.number_below(3), dims.len());
            let idx = DrawnType::arr(number(rows), DrawnType::arr(number(arity), DrawnType::I64));
            let idx = if rows == 0 || self.one_in(3) {
                self.expr(&idx, false, depth.min(2))
            } else {
                let rows: Vec<String> = (0..rows)
                    .map(|_| {
                        let row: Vec<String> = (0..arity).map(|_| self.number_below(2).to_string()).collect();
                        format!("[{}{}]", row.join(", "), if arity == 1 { "," } else { "" })
                    })
                    .collect();
                format!("[{}{}]", rows.join(", "), if rows.len() == 1 { "," } else { "" })
            };
            let sizes: Vec<String> = dims.iter().map(ToString::to_string).collect();
            return Some(format!("relation({idx}, {})", sizes.join(", ")));
        }
        self.scoped(|d| {
            let mut vars = Vec::new();
            let mut steps = 1;
            for n in dims {
                let i = d.fresh("i");
                vars.push(format!("{i} < {n}"));
                steps *= bound(n);
                d.push(&i, DrawnType::I64, VariableKind::Index(Some(n.clone()), false));
            }
            let body = d.times(steps, |d| d.expr(&DrawnType::Bool, true, depth))?;
            Some(format!("(rel {}: {body})", vars.join(", ")))
        })
    }

    /// Pushes a size's name and returns the size.
    pub(super) fn size_var(&mut self, name: &str) -> Poly {
        self.push(name, DrawnType::I64, VariableKind::Size);
        named(name)
    }
}

/// Adds parentheses unless the expression is a name.
fn parens(e: &str) -> String {
    if e.chars().all(char::is_alphanumeric) { e.to_owned() } else { format!("({e})") }
}
