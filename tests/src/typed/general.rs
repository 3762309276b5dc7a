//! **Generic expressions.** Draws forms that may have any type: conditionals, bindings, calls,
//! components, folds, updates.

use super::draw::{TypedGenerator, VariableKind};
use super::types::{DrawnType, bound, lone, named, number};
use lang_core::predicate::Poly;

impl TypedGenerator<'_> {
    pub(super) fn general(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        match self.number_below(27) {
            0 => self.var(|v| v.ty == *t).map(|v| v.name),
            1 | 2 => Some(self.conditional(t, hint, depth)),
            3 => self.matching(t, hint, depth),
            4 | 5 => Some(self.binding(t, hint, depth)),
            6..9 => self.call(t, depth),
            9 => Some(self.component(t, depth)),
            10..13 => self.element_of(t, depth),
            13 => self.folding(t, hint, depth),
            14 => self.looping(t, hint, depth),
            15 => Some(match self.number_below(4) {
                0 => format!("dbg({})", self.expr(t, hint, depth)),
                1 => format!("stop({})", self.expr(t, hint, depth)),
                _ => {
                    let other = self.scalar();
                    let (a, b) = (self.expr(t, false, depth), self.expr(&other, false, depth));
                    if self.one_in(2) { format!("par({a}, {b}).0") } else { format!("par({b}, {a}).1") }
                }
            }),
            16 => {
                let p = self.expr(&DrawnType::Bool, true, depth.min(1));
                let name = self.pick(&["_", "()"]);
                // `()` would be a pattern of no components, so `_` replaces it.
                let name = if name == "()" { "_" } else { name };
                Some(format!("(let {name} = assert({p} || true, \"holds\") in {})", self.expr(t, hint, depth)))
            }
            17 => self.applied(t, depth),
            18 => self.piped(t, depth),
            19 | 20 => self.updated(t, hint, depth),
            21 => self.opened(t, hint, depth),
            22 => self.size_checked(t, hint, depth),
            23 => {
                let p = self.expr(&DrawnType::Bool, true, depth.min(1));
                let value = self.under(|d| d.expr(t, hint, depth));
                Some(format!("(if {p} || true then {value} else error(\"not here\"))"))
            }
            24 => self.local_slice(t, hint, depth),
            _ => self.trap(t, hint, depth),
        }
    }

    fn conditional(&mut self, t: &DrawnType, hint: bool, depth: u32) -> String {
        let mut text = String::from("(");
        for _ in 0..=self.number_below(5) / 4 {
            let p = self.expr(&DrawnType::Bool, true, depth.min(2));
            let a = self.under(|d| d.expr(t, hint, depth));
            text.push_str(&format!("if {p} then {a} else "));
        }
        let b = self.under(|d| d.expr(t, hint, depth));
        format!("{text}{b})")
    }

    fn matching(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let arm = |d: &mut Self| d.under(|d| d.expr(t, hint, depth));
        Some(match self.number_below(6) {
            0 => {
                let p = self.expr(&DrawnType::Bool, false, depth.min(2));
                format!("match {p} {{ true: {}, false: {} }}", arm(self), arm(self))
            }
            1 => {
                let n = self.expr(&DrawnType::I64, false, depth.min(2));
                let (a, b) = (arm(self), arm(self));
                let rest = self.scoped(|d| {
                    let name = d.bind(&DrawnType::I64);
                    format!("{name}: {}", arm(d))
                });
                let rest = if self.one_in(2) { format!("_: {}", arm(self)) } else { rest };
                format!("match {n} {{ 0: {a}, -1: {b}, {rest} }}")
            }
            2 => {
                let both = DrawnType::Tup(vec![DrawnType::Bool, DrawnType::I64]);
                let n = self.expr(&both, false, depth.min(2));
                let a = arm(self);
                let rest = self.scoped(|d| {
                    let name = d.bind(&DrawnType::I64);
                    format!("(_, {name}): {}", arm(d))
                });
                format!("match {n} {{ (true, 1): {a}, {rest} }}")
            }
            3 => {
                let both = DrawnType::Rec(vec![("fa", DrawnType::Bool), ("fb", DrawnType::F64)]);
                let n = self.expr(&both, false, depth.min(2));
                let a = self.scoped(|d| {
                    let name = d.bind(&DrawnType::F64);
                    format!("{{fa: true, fb: {name}}}: {}", arm(d))
                });
                format!("match {n} {{ {a}, {{fa: false, fb: _}}: {} }}", arm(self))
            }
            _ => {
                let data = match self.var(|v| matches!(v.ty, DrawnType::Data(..))) {
                    Some(v) => v.ty,
                    None => self.data(1),
                };
                let DrawnType::Data(k, arg) = &data else { return None };
                let scrutinee = self.expr(&data, false, depth.min(2));
                let arms = self.arms(*k, arg.as_deref(), &mut |d, _| d.under(|d| d.expr(t, hint, depth)));
                format!("match {scrutinee} {{ {arms} }}")
            }
        })
    }

    /// Draws an arm for each constructor. The body may use the names that its pattern binds.
    pub(super) fn arms(&mut self, k: usize, arg: Option<&DrawnType>, body: &mut ArmBody<'_, Self>) -> String {
        let ctors = self.datas.get(k).map(|d| d.ctors.clone()).unwrap_or_default();
        let inst =
            super::types::Instance { types: arg.iter().map(|t| ("a", (*t).clone())).collect(), ..Default::default() };
        let mut arms = Vec::new();
        for (name, args) in ctors {
            let arm = self.scoped(|d| {
                let names: Vec<(String, DrawnType)> = args
                    .iter()
                    .map(|t| {
                        let t = t.at(&inst);
                        let name = d.fresh("v");
                        d.push(&name, t.clone(), VariableKind::Value);
                        (name, t)
                    })
                    .collect();
                let list: Vec<&str> = names.iter().map(|n| n.0.as_str()).collect();
                let pattern = if list.is_empty() { name } else { format!("{name}({})", list.join(", ")) };
                format!("{pattern}: {}", body(d, &names))
            });
            arms.push(arm);
        }
        arms.join(", ")
    }

    fn binding(&mut self, t: &DrawnType, hint: bool, depth: u32) -> String {
        self.scoped(|d| {
            let mut text = String::from("(");
            for _ in 0..=d.number_below(2) {
                let of = d.ty(2);
                let written = d.one_in(3);
                let value = d.expr(&of, written, depth);
                let pattern = match &of {
                    DrawnType::Arr(..) if d.one_in(5) => {
                        let k = d.fresh("v");
                        d.push(&k, DrawnType::I64, VariableKind::Value);
                        format!("[{k}] {}", d.bind_new(&of))
                    }
                    DrawnType::Tup(_) | DrawnType::Rec(_) => d.pattern(&of, 2),
                    _ if d.one_in(12) => "_".to_owned(),
                    _ => d.bind(&of),
                };
                let colon = if written { format!(": {of}") } else { String::new() };
                text.push_str(&format!("let {pattern}{colon} = {value} "));
            }
            format!("{text}in {})", d.expr(t, hint, depth))
        })
    }

    fn component(&mut self, t: &DrawnType, depth: u32) -> String {
        let other = self.scalar();
        let pair = self.one_in(2);
        let of = match (pair, self.one_in(2)) {
            (true, true) => DrawnType::Tup(vec![t.clone(), other]),
            (true, false) => DrawnType::Tup(vec![other, t.clone()]),
            (false, true) => DrawnType::Rec(vec![("fa", t.clone()), ("fb", other)]),
            (false, false) => DrawnType::Rec(vec![("fc", other), ("fa", t.clone())]),
        };
        let at = match &of {
            DrawnType::Tup(ts) if ts.first() == Some(t) => "0",
            DrawnType::Tup(_) => "1",
            _ => "fa",
        };
        format!("({}).{at}", self.expr(&of, false, depth))
    }

    fn applied(&mut self, t: &DrawnType, depth: u32) -> Option<String> {
        if let Some(v) = self.var(|v| matches!(&v.ty, DrawnType::Fun(_, r) if **r == *t))
            && let DrawnType::Fun(ts, _) = &v.ty
        {
            let args: Vec<String> = ts.iter().map(|t| self.expr(t, true, depth)).collect();
            return Some(format!("{}({})", v.name, args.join(", ")));
        }
        let of = self.element(1);
        let fun = DrawnType::Fun(vec![of.clone()], Box::new(t.clone()));
        let f = self.expr(&fun, false, depth);
        Some(format!("({f})({})", self.expr(&of, false, depth)))
    }

    fn piped(&mut self, t: &DrawnType, depth: u32) -> Option<String> {
        let of = self.element(0);
        let fun = DrawnType::Fun(vec![of.clone()], Box::new(t.clone()));
        let x = self.expr(&of, false, depth);
        let f = match self.var(|v| v.ty == fun) {
            Some(v) => v.name,
            None => self.expr(&fun, false, depth),
        };
        Some(format!("({x} |> {f})"))
    }

    fn folding(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let written = !hint || self.one_in(2);
        let init = self.expr(t, true, depth);
        self.scoped(|d| {
            let count = 1 + d.number_below(4) / 3;
            let (vars, steps) = d.index_vars(count);
            let pattern = d.pattern(t, 2);
            let body = d.times(steps, |d| d.expr(t, true, depth))?;
            let colon = if written { format!(": {t}") } else { String::new() };
            // Chosen from the text alone, so that the sequence of random numbers does not change.
            let kept = match body.len() % 6 {
                0 => "checkpoint: ",
                1 => "checkpoint 3: ",
                _ => "",
            };
            Some(format!("({kept}fold {pattern}{colon} = {init} for {vars}: {body})"))
        })
    }

    fn looping(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let written = !hint || self.one_in(2);
        let init = self.expr(t, written, depth);
        let steps = 1 + self.random.number_below(3);
        self.scoped(|d| {
            let count = d.fresh("v");
            d.push(&count, DrawnType::I64, VariableKind::Value);
            let acc = d.fresh("v");
            d.push(&acc, t.clone(), VariableKind::Value);
            let (also, body) = d.times(3, |d| {
                let also = d.expr(&DrawnType::Bool, true, 1);
                (also, d.under(|d| d.expr(t, written, depth)))
            })?;
            let colon = if written { format!(": (i64, {t})") } else { String::new() };
            Some(format!(
                "(loop ({count}, {acc}){colon} = (0, {init}) while {count} < {steps} && {also}: ({count} + 1, {body})).1"
            ))
        })
    }

    // ---- indexing ----

    /// Draws a subscript of an axis of this extent. It is in bounds by its text, or is checked at
    /// run time.
    pub(super) fn subscript(&mut self, n: &Poly) -> Option<String> {
        let count = n.as_constant();
        let exact = self.var(|v| matches!(&v.kind, VariableKind::Index(Some(m), _) if m == n)).map(|v| v.name);
        match self.number_below(8) {
            0..3 => {
                if let Some(i) = exact {
                    return Some(i);
                }
            }
            3 => {
                if let Some(i) = exact {
                    return Some(format!("{n} - 1 - {i}"));
                }
            }
            4 if self.facts == 0 && count.is_none() => {
                if let Some(i) = exact {
                    return Some(format!("{i} {} 1", self.pick(&["+", "-"])));
                }
            }
            _ => {}
        }
        match count {
            Some(c) if c > 0 => {
                let c = usize::try_from(c).ok()?;
                Some(match self.number_below(4) {
                    0 | 1 => self.number_below(c).to_string(),
                    2 => format!("({}) % {c}", self.opaque()),
                    _ => format!("max(min({}, {}), 0)", self.opaque(), c - 1),
                })
            }
            Some(_) => None,
            None if self.facts == 0 => Some(match self.number_below(3) {
                0 => format!("({}) % ({n})", self.opaque()),
                1 => format!("max(min({}, {n} - 1), 0)", self.opaque()),
                _ => format!("bit_and({}, 1)", self.opaque()),
            }),
            None => Some(format!("bit_and({}, 1)", self.opaque())),
        }
    }

    /// Draws a small integer expression about which the checker knows nothing.
    fn opaque(&mut self) -> String {
        match self.var(|v| v.ty == DrawnType::I64) {
            Some(v) if !self.one_in(3) => format!("{} + {}", v.name, self.number_below(3)),
            _ => format!("i64({})", self.expr(&DrawnType::F64, true, 1)),
        }
    }

    /// Draws an element or a subarray of an array.
    fn element_of(&mut self, t: &DrawnType, depth: u32) -> Option<String> {
        let known = self.var(|v| matches!(&v.ty, DrawnType::Arr(..)) && part(&v.ty, t).is_some());
        let (x, axes) = match known {
            Some(v) => (v.name, part(&v.ty, t)?),
            None => {
                let axes: Vec<Poly> = (0..=self.number_below(3) / 2).map(|_| self.size()).collect();
                if axes.len() + t.peel().0.len() > 3 {
                    return None;
                }
                let of = axes.iter().rev().fold(t.clone(), |t, n| DrawnType::arr(n.clone(), t));
                // The generator counts a condition, because the access may come to lie under one.
                let x = self.under(|d| d.expr(&of, false, depth.min(2)));
                (format!("({x})"), axes)
            }
        };
        if t.has_zero() && axes.len() == 1 && self.one_in(3) {
            let n = axes.first()?;
            return Some(self.guarded_access(&x, n, t, depth));
        }
        let subs: Option<Vec<String>> = axes.iter().map(|n| self.subscript(n)).collect();
        Some(format!("{x}[{}]", subs?.join(", ")))
    }

    /// Draws an access under the condition that it is in bounds. The checker should prove that
    /// access, and must not prove more.
    fn guarded_access(&mut self, x: &str, n: &Poly, t: &DrawnType, depth: u32) -> String {
        let v = self.fresh("v");
        // The same condition in different forms. `v + 1` may wrap, and the last form proves
        // nothing.
        let weak = self.facts == 0 && n.as_constant() != Some(0);
        let words = self.number_below(if weak { 6 } else { 4 });
        let e = match self.var(|v| v.ty == DrawnType::I64) {
            // The checker must not know an index to be out of bounds unless the condition excludes
            // it.
            _ if words == 5 => format!("i64({})", self.expr(&DrawnType::F64, true, depth.min(1))),
            Some(i) => match self.number_below(5) {
                0 => format!("{} + 1", i.name),
                1 => format!("{} - 1", i.name),
                2 => format!("2 * {} - {}", i.name, self.number_below(3)),
                3 => format!("({} + {}) // 2", i.name, self.number_below(3)),
                _ => format!("{} - {}", self.number_below(4), i.name),
            },
            None => self.expr(&DrawnType::I64, false, depth.min(1)),
        };
        let p = match words {
            0 | 1 => format!("0 <= {v} < {n}"),
            2 => format!("{v} >= 0 && {v} < {n}"),
            3 => format!("!({v} < 0 || {v} >= {n})"),
            4 => format!("0 <= {v} && {v} + 1 <= {n}"),
            _ => format!("0 <= {v} <= {n} && {v} != {n}"),
        };
        if self.one_in(2) {
            format!("(let {v} = {e} in [{p}] * {x}[{v}])")
        } else {
            let other = self.under(|d| d.leaf(t, false));
            format!("(let {v} = {e} in if {p} then {x}[{v}] else {other})")
        }
    }

    /// Draws a slice of an array up to an index variable; the slice's extent is a size only there.
    fn local_slice(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let i = self.var(|v| matches!(&v.kind, VariableKind::Index(Some(_), false)))?;
        let VariableKind::Index(Some(n), _) = &i.kind else { return None };
        let x = self.var(|v| matches!(&v.ty, DrawnType::Arr(m, _) if m == n))?;
        let DrawnType::Arr(_, elem) = &x.ty else { return None };
        let (range, size) = match self.number_below(3) {
            0 => (format!("0..{}", i.name), named(&i.name)),
            1 => (format!("{}..{n}", i.name), n.sub(&named(&i.name))),
            _ => (format!("0..{} + 1", i.name), named(&i.name).add_constant(1)),
        };
        let of = DrawnType::arr(size, (**elem).clone());
        Some(self.scoped(|d| {
            let name = d.fresh("v");
            d.push(&name, of, VariableKind::Value);
            format!("(let {name} = {}[{range}] in {})", x.name, d.expr(t, hint, depth))
        }))
    }

    fn updated(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let base = self.expr(t, hint, depth);
        let mut text = format!("(({base})");
        for _ in 0..=self.number_below(3) / 2 {
            match t {
                DrawnType::Arr(n, elem) => {
                    let add = elem.peel().1.is_num() && self.one_in(2);
                    let (place, part) = match (self.number_below(6), &**elem) {
                        (0, _) => (format!("0..{n}"), t.clone()),
                        (1, _) => ("_".to_owned(), t.clone()),
                        (2 | 3, DrawnType::Arr(m, inner)) => {
                            let (i, j) = (self.subscript(n)?, self.subscript(m)?);
                            (format!("{i}, {j}"), (**inner).clone())
                        }
                        (4, DrawnType::Arr(m, inner)) => {
                            let j = self.subscript(m)?;
                            (format!("_, {j}"), DrawnType::arr(n.clone(), (**inner).clone()))
                        }
                        _ => (self.subscript(n)?, (**elem).clone()),
                    };
                    let (axes, inner) = part.peel();
                    let fill = !axes.is_empty()
                        && self.one_in(3)
                        && matches!(inner, DrawnType::F64 | DrawnType::F32 | DrawnType::I64 | DrawnType::Bool);
                    let value = if fill {
                        let inner = inner.clone();
                        self.expr(&inner, false, depth.min(2))
                    } else {
                        self.expr(&part, hint, depth.min(2))
                    };
                    text.push_str(&format!(" with [{place}] {} {value}", if add { "+=" } else { "=" }));
                }
                DrawnType::Tup(ts) => {
                    let k = self.random.number_below(ts.len());
                    let part = ts.get(k)?;
                    text.push_str(&format!(" with {k} = {}", self.expr(part, hint, depth)));
                }
                DrawnType::Rec(fs) => {
                    let (name, part) = self.random.pick(fs).cloned()?;
                    text.push_str(&format!(" with {name} = {}", self.expr(&part, hint, depth)));
                }
                _ => return None,
            }
        }
        text.push(')');
        Some(text)
    }

    // ---- extents known only when the program runs ----

    fn opened(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let elem = self.element(1);
        let k = self.fresh("k");
        let v = self.fresh("v");
        let (value, of) = if self.one_in(2) {
            let n = self.size();
            let x = self.expr(&DrawnType::arr(n.clone(), elem.clone()), false, depth);
            let p = self.scoped(|d| {
                let param = d.lambda_params(std::slice::from_ref(&elem));
                d.times(bound(&n), |d| format!("\\{param}: {}", d.expr(&DrawnType::Bool, true, depth.min(2))))
            })?;
            (format!("filter({p}, {x})"), elem)
        } else {
            let steps = 1 + self.number_below(3);
            let (c, a) = (self.fresh("v"), self.fresh("v"));
            let init = self.expr(&elem, true, depth.min(1));
            let body = self.scoped(|d| {
                d.push(&c, DrawnType::I64, VariableKind::Value);
                d.push(&a, elem.clone(), VariableKind::Value);
                d.times(3, |d| d.under(|d| d.expr(&elem, true, depth)))
            })?;
            let state = DrawnType::Tup(vec![DrawnType::I64, elem]);
            (format!("(scan ({c}, {a}): {state} = (0, {init}) while {c} < {steps}: ({c} + 1, {body}))"), state)
        };
        let of = DrawnType::arr(named(&k), of);
        let head = match self.number_below(3) {
            0 => format!(
                "{v}: [?{k}]{}",
                match &of {
                    DrawnType::Arr(_, elem) => elem.to_string(),
                    _ => String::new(),
                }
            ),
            _ => format!("[{k}] {v}"),
        };
        Some(self.scoped(|d| {
            d.push(&k, DrawnType::I64, VariableKind::Size);
            d.push(&v, of, VariableKind::Value);
            format!("(let {head} = {value} in {})", d.expr(t, hint, depth))
        }))
    }

    /// Draws an array where another extent is wanted; the extent is verified at run time.
    fn size_checked(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        // Known facts about a size may refute the drawn type, for example in a loop up to it from
        // another index.
        if self.facts > 0 || self.scope.iter().any(|v| matches!(v.kind, VariableKind::Index(None, _))) {
            return None;
        }
        let x = self.var(|v| matches!(&v.ty, DrawnType::Arr(n, _) if lone(n).is_some()))?;
        let DrawnType::Arr(n, elem) = &x.ty else { return None };
        let is_size = self.var(|v| matches!(v.kind, VariableKind::Size) && lone(n) == Some(v.name.as_str()));
        is_size?;
        let m = if self.one_in(2) { self.loose_size()? } else { number(1 + self.number_below(3)) };
        if m == *n {
            return None;
        }
        let of = DrawnType::arr(m, (**elem).clone());
        Some(self.scoped(|d| {
            let v = d.fresh("v");
            d.push(&v, of.clone(), VariableKind::Value);
            format!("(let {v}: {of} = {} in {})", x.name, d.expr(t, hint, depth))
        }))
    }
}

/// A function that draws the body of an arm from the names that its pattern binds.
pub(super) type ArmBody<'a, D> = dyn FnMut(&mut D, &[(String, DrawnType)]) -> String + 'a;

/// Returns the axes to index to get from an array to a part of it, or `None` if no part has the
/// type `t`.
fn part(of: &DrawnType, t: &DrawnType) -> Option<Vec<Poly>> {
    let mut axes = Vec::new();
    let mut rest = of;
    while rest != t {
        let DrawnType::Arr(n, elem) = rest else { return None };
        axes.push(n.clone());
        rest = elem;
    }
    (!axes.is_empty()).then_some(axes)
}
