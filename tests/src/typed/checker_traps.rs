//! **Traps.** Draws programs that tempt the checker to prove too much. They contain facts from a
//! condition that is not evaluated yet, and integers that wrap. They also contain sizes that would
//! be negative, and extents that two arrays must share.

use super::draw::{TypedGenerator, VariableKind};
use super::types::{DrawnType, lone, named, number};

impl TypedGenerator<'_> {
    pub(super) fn trap(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        // Facts of the context may refute the drawn text.
        if self.facts > 0 || self.scope.iter().any(|v| matches!(v.kind, VariableKind::Index(None, _))) {
            return None;
        }
        let (name, drawn) = match self.number_below(5) {
            0 | 1 => ("Trap asked", self.draw_guarded_access(t, hint, depth)),
            2 => ("Trap wrapped", Some(self.wrapped(t, hint, depth))),
            3 => ("Trap too short", self.too_short(t, hint, depth)),
            _ => ("Trap told twice", self.told_twice(t, hint, depth)),
        };
        if drawn.is_some() {
            self.traps.push(name);
        }
        drawn
    }

    /// Draws an integer about which the checker knows nothing: a small one, or one whose multiples
    /// wrap.
    fn anything(&mut self) -> String {
        let e = self.expr(&DrawnType::F64, true, 1);
        let all = "0, 1, 2, 3, (-1), 4611686018427387904, 4611686018427387905, 9223372036854775807";
        format!("([{all}])[i64({e}) % 8]")
    }

    /// Draws a condition that bounds an access, and an access before or after it. They occur in a
    /// chain, a filter, a loop, under a bracket or in a branch.
    fn draw_guarded_access(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let x = self.var(|v| matches!(&v.ty, DrawnType::Arr(n, elem) if elem.is_num() && lone(n).is_some()))?;
        let DrawnType::Arr(n, _) = &x.ty else { return None };
        let (v, i) = (self.fresh("v"), self.fresh("i"));
        let value = self.anything();
        let inside = match self.number_below(4) {
            0 => format!("0 <= {v} < {n}"),
            1 => format!("{v} >= 0 && {v} < {n}"),
            2 => format!("!({v} < 0 || {v} >= {n})"),
            _ => format!("{v} <= {n} - 1 && 0 <= {v}"),
        };
        let access = format!("{}[{v}] > 0", x.name);
        let other = self.expr(&DrawnType::Bool, true, depth.min(1));
        let mut parts = vec![inside.clone(), access.clone()];
        if self.one_in(2) {
            parts.insert(self.random.number_below(3), other);
        }
        if self.one_in(2) {
            parts.reverse();
        }
        let all = match self.number_below(4) {
            // `a || b` evaluates `b` if `a` is false.
            0 => format!("(!({inside}) || {access})"),
            1 => format!("({access} || !({inside}))"),
            _ => format!("({})", parts.join(" && ")),
        };
        let (a, b) = self.under(|d| (d.expr(t, hint, depth), d.leaf(t, hint)));
        let use_of = match self.number_below(5) {
            0 if t.has_sum() => format!("(sum {i} < 2 if {all}: {a})"),
            1 => format!("(fold {i} = 0 for _ < [{all}] * 2: {i} + 1) |> (\\(_: i64): {a})"),
            2 => {
                format!("(loop ({i}, _) = (0, {v}) while {i} < 2 && {all}: ({i} + 1, {v})) |> (\\(_: (i64, i64)): {a})")
            }
            3 if t.has_zero() => format!("[{all}] * {a}"),
            _ => format!("if {all} then {a} else {b}"),
        };
        Some(format!("(let {v} = {value} in {use_of})"))
    }

    /// Draws an extent whose arithmetic may wrap, in one of many forms, and an access that would be
    /// in bounds without wrapping.
    fn wrapped(&mut self, t: &DrawnType, hint: bool, depth: u32) -> String {
        let (v, w, k, i) = (self.fresh("v"), self.fresh("v"), self.fresh("k"), self.fresh("i"));
        let value = self.anything();
        let extent = match self.number_below(4) {
            0 => format!("4 * {v}"),
            1 => format!("4 * {v} + 1"),
            2 => format!("{v} + {v}"),
            _ => format!("{v} * {v}"),
        };
        let declarations = match self.number_below(7) {
            0 => format!("let {w} = for {i} < {extent}: 1.5"),
            1 => format!("let {k} = {extent} let {w} = for {i} < {k}: 1.5"),
            2 => format!("let {w} = replicate({extent}, 1.5)"),
            3 => format!("let ({k}, _) = ({extent}, 0) let {w} = replicate({k}, 1.5)"),
            4 => format!("let {w}: [{extent}]f64 = for {i} < 4: 1.5"),
            5 => format!("let {w} = (for {i} < 5: 1.5)[0..{extent}]"),
            _ => format!(
                "let {k} = match {v} {{ 0: {extent}, _: {extent} }} let {w}: [{k}]f64 = for {i} < {extent}: 1.5"
            ),
        };
        let at = match self.number_below(4) {
            0 => "0".to_owned(),
            1 => v.clone(),
            2 => format!("{extent} - 1"),
            _ => "1".to_owned(),
        };
        let rest = self.expr(t, hint, depth);
        let access = match self.number_below(3) {
            0 => format!("[{v} >= 2] * {w}[{at}]"),
            1 => format!("[{v} >= 1 && {at} < {extent}] * {w}[{at}]"),
            _ => format!("[len({w}) >= 1] * {w}[0]"),
        };
        format!("(let {v} = {value} {declarations} let {i}: f64 = {access} in {rest})")
    }

    /// Draws a call whose size would be negative if the argument is too short.
    fn too_short(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let x = self.var(|v| matches!(&v.ty, DrawnType::Arr(n, _) if lone(n).is_some()))?;
        let DrawnType::Arr(n, elem) = &x.ty else { return None };
        let v = self.fresh("v");
        Some(if self.one_in(2) {
            format!("(let {v} = short({}) let _ = (for i < {v}: 1.5) in {})", x.name, self.expr(t, hint, depth))
        } else {
            let of = DrawnType::arr(n.add_constant(-2), (**elem).clone());
            self.scoped(|d| {
                d.push(&v, of, VariableKind::Value);
                format!("(let {v} = drop2({}) in {})", x.name, d.expr(t, hint, depth))
            })
        })
    }

    /// Draws two arrays whose types share one unknown extent.
    fn told_twice(&mut self, t: &DrawnType, hint: bool, depth: u32) -> Option<String> {
        let (n, m) = (self.loose_size()?, self.loose_size()?);
        let (a, b, k) = (self.fresh("v"), self.fresh("v"), self.fresh("k"));
        let x = self.expr(&DrawnType::arr(n, DrawnType::F64), false, depth.min(1));
        let y = self.expr(&DrawnType::arr(m, DrawnType::I64), false, depth.min(1));
        let head = match self.number_below(3) {
            0 => format!("let ({a}, {b}): ([?{k}]f64, [?{k}]i64) = ({x}, {y})"),
            1 => format!("let [{k}] {a} = {x} let {b}: [{k}]i64 = {y}"),
            _ => format!("let {a}: [?{k}]f64 = filter(\\(_: f64): true, {x}) let {b}: [{k}]i64 = {y}"),
        };
        Some(self.scoped(|d| {
            d.push(&k, DrawnType::I64, VariableKind::Size);
            d.push(&a, DrawnType::arr(named(&k), DrawnType::F64), VariableKind::Value);
            d.push(&b, DrawnType::arr(named(&k), DrawnType::I64), VariableKind::Value);
            let same = format!("(sum i: {a}[i] * f64({b}[i]))");
            let v = d.fresh("v");
            d.push(&v, DrawnType::F64, VariableKind::Value);
            format!("({head} let {v} = {same} in {})", d.expr(t, hint, depth))
        }))
    }
}

/// Returns the definitions that `too_short` calls.
pub(super) fn definitions() -> Vec<String> {
    let n = named("n");
    let longer = DrawnType::arr(n.add(&number(2)), DrawnType::Param("a", super::types::DrawnClass::Any));
    vec![format!("def short(x: {longer}) -> i64 = n"), format!("def drop2(x: {longer}) -> [n]a = for i < n: x[i + 2]")]
}
