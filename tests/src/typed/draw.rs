//! **Typed generation.** Holds the generator's state (names in scope, definitions, cost) and draws
//! types, sizes and an expression of a wanted type.
//!
//! `hint` states whether the context determines the type for the checker. Without it, the text
//! alone must determine the type, so no drawn text depends on its context. Work is bounded: each
//! loop multiplies the cost of its body, and an expression that costs too much is not drawn.

use super::types::{DrawnClass, DrawnType, Instance, bound, lone, named, number};
use crate::random::Random;
use lang_core::predicate::Poly;

/// The kind of a name in scope.
#[derive(Clone, Debug)]
pub(super) enum VariableKind {
    /// A value.
    Value,
    /// An `i64` that is a size in other types.
    Size,
    /// An index variable: its extent, if known, and whether it is bare (its range is not written).
    Index(Option<Poly>, bool),
}

/// A name in scope.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub(super) name: String,
    pub(super) ty: DrawnType,
    pub(super) kind: VariableKind,
}

/// The purpose of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ParameterRole {
    Plain,
    /// A size.
    Size,
    /// The counter of a recursion.
    Small,
}

/// A definition that may be called.
#[derive(Clone, Debug)]
pub(super) struct GeneratedDef {
    pub(super) name: String,
    pub(super) types: Vec<(&'static str, DrawnClass)>,
    pub(super) sizes: Vec<String>,
    pub(super) params: Vec<(String, DrawnType, ParameterRole)>,
    pub(super) result: DrawnType,
    pub(super) cost: u64,
}

/// A sum type: its constructors with their arguments, and whether it has a type parameter.
#[derive(Clone, Debug)]
pub(super) struct DrawnSumType {
    pub(super) ctors: Vec<(String, Vec<DrawnType>)>,
    pub(super) takes: bool,
}

/// The state of the generator.
pub(super) struct TypedGenerator<'r> {
    pub(super) random: &'r mut Random,
    pub(super) datas: Vec<DrawnSumType>,
    pub(super) defs: Vec<GeneratedDef>,
    pub(super) globals: Vec<(String, DrawnType)>,
    pub(super) scope: Vec<Var>,
    pub(super) next: u32,
    /// An upper bound on the number of times that the current expression runs.
    pub(super) mult: u64,
    /// The cost of the definition so far.
    pub(super) cost: u64,
    /// The number of conditions in force here. An access that could always fail is not drawn under
    /// a condition.
    pub(super) facts: u32,
    /// The traps in the program.
    pub(super) traps: Vec<&'static str>,
}

/// The greatest number of runs of the innermost body of nested loops.
const MAX_RUNS: u64 = 150;
/// The approximate greatest cost of a definition.
const MAX_COST: u64 = 2_500;

impl TypedGenerator<'_> {
    pub(super) fn new(random: &mut Random) -> TypedGenerator<'_> {
        TypedGenerator {
            random,
            datas: Vec::new(),
            defs: Vec::new(),
            globals: Vec::new(),
            scope: Vec::new(),
            next: 0,
            mult: 1,
            cost: 0,
            facts: 0,
            traps: Vec::new(),
        }
    }

    pub(super) fn number_below(&mut self, n: usize) -> usize {
        self.random.number_below(n)
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.random.number_below(n) == 0
    }

    pub(super) fn pick(&mut self, of: &[&'static str]) -> &'static str {
        self.random.pick(of).copied().unwrap_or_default()
    }

    pub(super) fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        // `i64` is a type's name.
        self.next += u32::from(self.next == 64);
        format!("{prefix}{}", self.next)
    }

    pub(super) fn push(&mut self, name: &str, ty: DrawnType, kind: VariableKind) {
        self.scope.push(Var { name: name.to_owned(), ty, kind });
    }

    /// Draws in a scope of its own.
    pub(super) fn scoped<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> T {
        let (mark, facts) = (self.scope.len(), self.facts);
        let drawn = draw(self);
        self.scope.truncate(mark);
        self.facts = facts;
        drawn
    }

    /// Draws code that runs only under a condition.
    pub(super) fn under<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> T {
        self.facts += 1;
        let drawn = draw(self);
        self.facts -= 1;
        drawn
    }

    /// Draws code that runs `n` times, or returns `None` if that costs too much.
    pub(super) fn times<T>(&mut self, n: u64, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.mult.saturating_mul(n) > MAX_RUNS || self.dear() {
            return None;
        }
        let before = self.mult;
        self.mult *= n.max(1);
        let drawn = draw(self);
        self.mult = before;
        Some(drawn)
    }

    fn dear(&self) -> bool {
        self.cost > MAX_COST
    }

    /// Returns the names in scope that are not shadowed.
    pub(super) fn visible(&self) -> Vec<&Var> {
        let mut seen: Vec<&Var> = Vec::new();
        for v in self.scope.iter().rev() {
            if !seen.iter().any(|s| s.name == v.name) {
                seen.push(v);
            }
        }
        seen
    }

    /// Returns a variable in scope that satisfies `p`.
    pub(super) fn var(&mut self, p: impl Fn(&Var) -> bool) -> Option<Var> {
        let found: Vec<Var> = self.visible().into_iter().filter(|v| p(v)).cloned().collect();
        self.random.pick(&found).cloned()
    }

    // ---- types and sizes ----

    /// Draws a size of at most 4, if its names denote at most 4.
    pub(super) fn size(&mut self) -> Poly {
        if !self.one_in(3)
            && let Some(v) = self.var(|v| matches!(v.kind, VariableKind::Size))
        {
            return named(&v.name);
        }
        let n = self.random.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4]).copied().unwrap_or(2);
        number(n)
    }

    pub(super) fn scalar(&mut self) -> DrawnType {
        match self.number_below(8) {
            0..4 => DrawnType::F64,
            4 => DrawnType::F32,
            5 | 6 => DrawnType::I64,
            _ => DrawnType::Bool,
        }
    }

    fn number_ty(&mut self) -> DrawnType {
        match self.number_below(5) {
            0..3 => DrawnType::F64,
            3 => DrawnType::F32,
            _ => DrawnType::I64,
        }
    }

    /// Draws a type that arrays may contain.
    pub(super) fn element(&mut self, depth: u32) -> DrawnType {
        if depth == 0 {
            return self.scalar();
        }
        match self.number_below(12) {
            0..7 => self.scalar(),
            7 => DrawnType::Tup(vec![self.scalar(), self.scalar()]),
            8 => DrawnType::Rec(vec![("fa", self.scalar()), ("fb", self.scalar())]),
            9 => self.data(depth - 1),
            _ => self.array(depth - 1),
        }
    }

    fn array(&mut self, depth: u32) -> DrawnType {
        let elem = self.element(depth);
        let n = self.size();
        let rank = elem.peel().0.len();
        if rank > 2 || (rank == 2 && bound(&n) > 3) { elem } else { DrawnType::arr(n, elem) }
    }

    pub(super) fn data(&mut self, depth: u32) -> DrawnType {
        if self.datas.is_empty() {
            return DrawnType::F64;
        }
        let k = self.random.number_below(self.datas.len());
        let takes = self.datas.get(k).is_some_and(|d| d.takes);
        DrawnType::Data(k, if takes { Some(Box::new(self.element(depth.min(1)))) } else { None })
    }

    /// Draws a type of functions of scalars.
    pub(super) fn function(&mut self) -> DrawnType {
        let params = (0..=self.number_below(5) / 3).map(|_| self.scalar()).collect();
        let result = if self.one_in(4) { self.element(1) } else { self.scalar() };
        DrawnType::Fun(params, Box::new(result))
    }

    /// Draws any type.
    pub(super) fn ty(&mut self, depth: u32) -> DrawnType {
        match self.number_below(14) {
            0..3 => self.scalar(),
            3..8 => self.array(depth),
            8 => DrawnType::Tup((0..2 + self.number_below(2)).map(|_| self.element(depth.saturating_sub(1))).collect()),
            9 => {
                let mut fields = vec![("fa", self.element(1)), ("fb", self.element(0))];
                if self.one_in(2) {
                    fields.push(("fc", self.element(1)));
                }
                DrawnType::Rec(fields)
            }
            10 => self.data(depth),
            11 => {
                let dims = (0..=self.number_below(2)).map(|_| self.size()).collect();
                DrawnType::Rel(dims)
            }
            12 => self.function(),
            _ => match self.var(|v| !matches!(v.ty, DrawnType::Fun(..))) {
                Some(v) => v.ty,
                None => self.scalar(),
            },
        }
    }

    // ---- expressions ----

    /// Draws an expression of this type.
    pub(super) fn expr(&mut self, t: &DrawnType, hint: bool, depth: u32) -> String {
        self.cost += self.mult;
        if depth == 0 || self.dear() {
            return self.leaf(t, hint);
        }
        for _ in 0..8 {
            let drawn =
                if self.number_below(5) < 2 { self.general(t, hint, depth - 1) } else { self.own(t, hint, depth - 1) };
            if let Some(text) = drawn {
                return text;
            }
        }
        self.leaf(t, hint)
    }

    /// Draws the smallest expression of its type: a variable or a literal.
    pub(super) fn leaf(&mut self, t: &DrawnType, hint: bool) -> String {
        let wanted = matches!(t, DrawnType::Param(..)) || !self.one_in(3);
        if wanted && let Some(v) = self.var(|v| v.ty == *t) {
            return v.name;
        }
        let globals: Vec<String> = self.globals.iter().filter(|g| g.1 == *t).map(|g| g.0.clone()).collect();
        if self.one_in(3)
            && let Some(g) = self.random.pick(&globals)
        {
            return g.clone();
        }
        match t {
            DrawnType::F64 => {
                self.pick(&["0.0", "1.0", "1.5", "2.0", "0.25", "3.0", "(-0.5)", "(-2.0)", "1e-3"]).to_owned()
            }
            DrawnType::F32 => {
                let n = self.pick(&["0.0", "1.0", "1.5", "2.0", "0.25", "(-3.5)"]);
                if hint { n.to_owned() } else { format!("f32({n})") }
            }
            DrawnType::I64 => self.pick(&["0", "1", "2", "3", "4", "(-1)", "(-2)", "5"]).to_owned(),
            DrawnType::Bool => self.pick(&["true", "false"]).to_owned(),
            DrawnType::Arr(n, elem) => {
                let count = n.as_constant().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0 && *n <= 4);
                match count {
                    Some(count) if !self.one_in(4) => {
                        let items: Vec<String> = (0..count).map(|_| self.leaf(elem, hint)).collect();
                        format!("[{}{}]", items.join(", "), if count == 1 { "," } else { "" })
                    }
                    _ => {
                        let i = self.fresh("i");
                        let body = self.leaf(elem, hint);
                        format!("(for {i} < {n}: {body})")
                    }
                }
            }
            DrawnType::Tup(ts) => {
                let items: Vec<String> = ts.iter().map(|t| self.leaf(t, hint)).collect();
                format!("({})", items.join(", "))
            }
            DrawnType::Rec(fs) => {
                let mut items: Vec<String> = fs.iter().map(|(n, t)| format!("{n}: {}", self.leaf(t, hint))).collect();
                if hint && self.one_in(2) {
                    items.reverse();
                }
                format!("{{{}}}", items.join(", "))
            }
            DrawnType::Fun(ts, r) => self.scoped(|d| {
                let params = d.lambda_params(ts);
                format!("(\\{params}: {})", d.leaf(r, hint))
            }),
            DrawnType::Rel(dims) => {
                let vars: Vec<String> = dims.iter().map(|n| format!("{} < {n}", self.fresh("i"))).collect();
                format!("(rel {}: {})", vars.join(", "), self.pick(&["true", "true", "false"]))
            }
            DrawnType::Data(k, arg) => self.ctor(*k, arg.as_deref(), 0, hint, 0),
            DrawnType::Param(..) => "error(\"no value\")".to_owned(),
        }
    }

    /// Binds the parameters of a lambda, with their types.
    pub(super) fn lambda_params(&mut self, ts: &[DrawnType]) -> String {
        let params: Vec<String> = ts
            .iter()
            .map(|t| {
                let pat = match t {
                    DrawnType::Tup(_) | DrawnType::Rec(_) if self.one_in(2) => self.pattern(t, 1),
                    _ => self.bind_new(t),
                };
                format!("({pat}: {t})")
            })
            .collect();
        params.join(", ")
    }

    /// Draws constructor `c` of a sum type with its arguments.
    pub(super) fn ctor(&mut self, k: usize, arg: Option<&DrawnType>, c: usize, hint: bool, depth: u32) -> String {
        let Some((name, args)) = self.datas.get(k).and_then(|d| d.ctors.get(c)).cloned() else {
            return String::new();
        };
        if args.is_empty() {
            return name;
        }
        let inst = Instance { types: arg.iter().map(|t| ("a", (*t).clone())).collect(), ..Instance::default() };
        let args: Vec<String> = args
            .iter()
            .map(|t| {
                let hint = !t.has_param() && (hint || !t.has_names());
                self.expr(&t.at(&inst), hint, depth)
            })
            .collect();
        format!("{name}({})", args.join(", "))
    }

    // ---- binding ----

    /// Binds a new name, or rarely one that is in scope and thus shadows it.
    pub(super) fn bind(&mut self, t: &DrawnType) -> String {
        let taken = if self.one_in(16) {
            // A name of a type parameter's type is not shadowed, because no other value of that
            // type can be drawn.
            let free = |v: &Var| matches!(v.kind, VariableKind::Value) && v.name.starts_with('v') && !v.ty.has_param();
            self.var(free).map(|v| v.name)
        } else {
            None
        };
        let name = taken.unwrap_or_else(|| self.fresh("v"));
        self.push(&name, t.clone(), VariableKind::Value);
        name
    }

    /// Binds a new name.
    pub(super) fn bind_new(&mut self, t: &DrawnType) -> String {
        let name = self.fresh("v");
        self.push(&name, t.clone(), VariableKind::Value);
        name
    }

    /// Draws a pattern that matches every value of the type.
    pub(super) fn pattern(&mut self, t: &DrawnType, depth: u32) -> String {
        if self.one_in(12) {
            return "_".to_owned();
        }
        match t {
            DrawnType::Tup(ts) if depth > 0 && !ts.is_empty() && !self.one_in(4) => {
                let items: Vec<String> = ts.iter().map(|t| self.sub_pattern(t, depth - 1)).collect();
                format!("({})", items.join(", "))
            }
            DrawnType::Rec(fs) if depth > 0 && !self.one_in(4) => {
                if self.one_in(3) && fs.iter().all(|f| !self.scope.iter().any(|v| v.name == f.0)) {
                    for (name, t) in fs {
                        self.push(name, t.clone(), VariableKind::Value);
                    }
                    let names: Vec<&str> = fs.iter().map(|f| f.0).collect();
                    return format!("{{{}}}", names.join(", "));
                }
                let items: Vec<String> =
                    fs.iter().map(|(n, t)| format!("{n}: {}", self.sub_pattern(t, depth - 1))).collect();
                format!("{{{}}}", items.join(", "))
            }
            _ => self.bind_new(t),
        }
    }

    /// Draws a component of a pattern. All names in one pattern differ.
    fn sub_pattern(&mut self, t: &DrawnType, depth: u32) -> String {
        match t {
            DrawnType::Tup(_) | DrawnType::Rec(_) if depth > 0 => self.pattern(t, depth),
            _ if self.one_in(10) => "_".to_owned(),
            _ => self.bind_new(t),
        }
    }

    /// Draws index variables of a loop and pushes them. Returns their text and the number of steps.
    pub(super) fn index_vars(&mut self, count: usize) -> (String, u64) {
        let mut texts = Vec::new();
        let mut steps = 1_u64;
        for _ in 0..count {
            let i = self.fresh("i");
            match self.number_below(8) {
                0..5 => {
                    let n = self.size();
                    texts.push(format!("{i} < {n}"));
                    steps = steps.saturating_mul(bound(&n));
                    self.push(&i, DrawnType::I64, VariableKind::Index(Some(n), false));
                }
                5 => {
                    let (a, b) = (self.number_below(2), 1 + self.number_below(3));
                    texts.push(format!("{i} in {a}..{b}"));
                    steps = steps.saturating_mul(3);
                    self.push(&i, DrawnType::I64, VariableKind::Index(None, false));
                }
                6 => {
                    let n = self.size();
                    let from =
                        self.var(|v| matches!(v.kind, VariableKind::Index(..))).map_or("0".to_owned(), |v| v.name);
                    texts.push(format!("{i} in {from}..{n}"));
                    steps = steps.saturating_mul(bound(&n));
                    // The body runs only if `from < n`, which is a condition.
                    self.facts += 1;
                    self.push(&i, DrawnType::I64, VariableKind::Index(None, false));
                }
                _ => {
                    let n = self.size();
                    texts.push(format!("{i} in 0..{n} by {}", 1 + self.number_below(3)));
                    steps = steps.saturating_mul(bound(&n));
                    self.push(&i, DrawnType::I64, VariableKind::Index(None, false));
                }
            }
        }
        (texts.join(", "), steps)
    }

    // ---- calls ----

    /// Draws a call of a definition whose result has this type.
    pub(super) fn call(&mut self, t: &DrawnType, depth: u32) -> Option<String> {
        let def = self.random.pick(&self.defs).cloned()?;
        self.call_of(&def, t, depth)
    }

    pub(super) fn call_of(&mut self, def: &GeneratedDef, t: &DrawnType, depth: u32) -> Option<String> {
        if self.mult.saturating_mul(def.cost) > MAX_COST {
            return None;
        }
        let mut inst = Instance::default();
        let own = |name: &str| def.sizes.iter().any(|s| s == name);
        if !def.result.fits(t, &own, &mut inst) {
            return None;
        }
        for (name, class) in &def.types {
            if !inst.types.contains_key(name) {
                let t = match class {
                    DrawnClass::Any => self.element(1),
                    DrawnClass::Num => self.number_ty(),
                    DrawnClass::Real => DrawnType::F64,
                };
                inst.types.insert(name, t);
            }
        }
        for name in &def.sizes {
            if !inst.sizes.contains_key(name) {
                let n = self.size();
                inst.sizes.insert(name.clone(), n);
            }
        }
        let small = |n: &Poly| bound(n) <= 4 && n.as_constant().is_none_or(|c| c >= 0);
        if def.result.at(&inst) != *t || !inst.sizes.values().all(small) {
            return None;
        }
        let types: Vec<DrawnType> = def.params.iter().map(|(_, t, _)| t.at(&inst)).collect();
        let mut sizes = Vec::new();
        types.iter().for_each(|t| t.sizes(&mut sizes));
        if !sizes.iter().all(|n| n.as_constant().is_none_or(|c| c >= 0)) {
            return None;
        }
        self.cost += self.mult * def.cost;
        let args: Vec<String> = def
            .params
            .iter()
            .zip(&types)
            .map(|((name, written, role), t)| match role {
                ParameterRole::Size => inst.sizes.get(name).map(ToString::to_string).unwrap_or_default(),
                ParameterRole::Small => self.number_below(3).to_string(),
                // An integer under a bracket, else 0. If it counts or is compared, the bracket has
                // a visible effect.
                ParameterRole::Plain if *t == DrawnType::I64 && self.one_in(4) => {
                    let b = self.expr(&DrawnType::Bool, false, depth.min(1));
                    format!("([{b}] * {})", self.leaf(t, false))
                }
                ParameterRole::Plain => {
                    let hint = !written.has_param() && !written.has_names();
                    self.expr(t, hint, depth)
                }
            })
            .collect();
        Some(format!("{}({})", def.name, args.join(", ")))
    }

    /// Returns a size variable that may differ from others at run time.
    pub(super) fn loose_size(&mut self) -> Option<Poly> {
        let v = self.var(|v| matches!(v.kind, VariableKind::Size))?;
        Some(named(&v.name)).filter(|n| lone(n).is_some())
    }
}
