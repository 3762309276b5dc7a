//! **Program generation.** Draws a whole program: types, top-level values, definitions, calls of
//! each definition, and items that are checked but not run.

use super::checker_traps;
use super::draw::{DrawnSumType, GeneratedDef, ParameterRole, TypedGenerator, VariableKind};
use super::types::{DrawnClass, DrawnType, bound, named, number};
use crate::random::Random;

/// Returns prelude functions that drawn programs call, with type parameters, sizes, parameters and
/// result.
fn library() -> Vec<GeneratedDef> {
    let a = |class| DrawnType::Param("a", class);
    let (n, m, k) = (named("n"), named("m"), named("k"));
    let any = || a(DrawnClass::Any);
    let num = || a(DrawnClass::Num);
    let def = |name: &str, class: DrawnClass, sizes: &[&str], params: Vec<DrawnType>, result: DrawnType| GeneratedDef {
        name: name.to_owned(),
        types: vec![("a", class)],
        sizes: sizes.iter().map(ToString::to_string).collect(),
        params: params.into_iter().map(|t| (String::new(), t, ParameterRole::Plain)).collect(),
        result,
        cost: 8,
    };
    let arr = |n: &lang_core::predicate::Poly, t: DrawnType| DrawnType::arr(n.clone(), t);
    let mut all = vec![
        def("len", DrawnClass::Any, &["n"], vec![arr(&n, any())], DrawnType::I64),
        def("reverse", DrawnClass::Any, &["n"], vec![arr(&n, any())], arr(&n, any())),
        def("transpose", DrawnClass::Any, &["n", "m"], vec![arr(&n, arr(&m, any()))], arr(&m, arr(&n, any()))),
        def(
            "scatter",
            DrawnClass::Any,
            &["n", "k"],
            vec![arr(&n, any()), arr(&k, DrawnType::I64), arr(&k, any())],
            arr(&n, any()),
        ),
        def(
            "scatter_add",
            DrawnClass::Num,
            &["n", "k"],
            vec![arr(&n, num()), arr(&k, DrawnType::I64), arr(&k, num())],
            arr(&n, num()),
        ),
        def("total", DrawnClass::Num, &["n"], vec![arr(&n, num())], num()),
        def("sort", DrawnClass::Num, &["n"], vec![arr(&n, num())], arr(&n, num())),
        def("argsort", DrawnClass::Num, &["n"], vec![arr(&n, num())], arr(&n, DrawnType::I64)),
    ];
    let b = || DrawnType::Param("b", DrawnClass::Any);
    let mut map = def(
        "map",
        DrawnClass::Any,
        &["n"],
        vec![DrawnType::Fun(vec![any()], Box::new(b())), arr(&n, any())],
        arr(&n, b()),
    );
    map.types.push(("b", DrawnClass::Any));
    all.push(map);
    let mut replicate = def("replicate", DrawnClass::Any, &["n"], vec![DrawnType::I64, any()], arr(&n, any()));
    if let Some(p) = replicate.params.first_mut() {
        *p = ("n".to_owned(), DrawnType::I64, ParameterRole::Size);
    }
    all.push(replicate);
    all
}

/// Draws a program from a seed. Returns its text and the traps in it.
#[must_use]
pub fn program(seed: u64) -> (String, Vec<&'static str>) {
    let mut random = Random::new(seed);
    let mut draw = TypedGenerator::new(&mut random);
    let text = draw.program();
    (text, draw.traps)
}

impl TypedGenerator<'_> {
    fn program(&mut self) -> String {
        let mut items = self.types();
        items.extend(checker_traps::definitions());
        self.defs = library();
        for k in 0..self.number_below(3) {
            items.push(self.global(k));
        }
        let own = self.defs.len();
        for k in 0..2 + self.number_below(4) {
            let item = self.def(k);
            items.push(item);
        }
        let defs: Vec<GeneratedDef> = self.defs.iter().skip(own).cloned().collect();
        let mut calls = Vec::new();
        for (k, def) in defs.iter().enumerate() {
            if let Some(item) = self.root_call(def, k) {
                items.push(item);
                calls.push(format!("m{k}()"));
            }
        }
        let body = match calls.as_slice() {
            [] => "()".to_owned(),
            [one] => one.clone(),
            _ => format!("({})", calls.join(", ")),
        };
        items.push(format!("def main() = {body}"));
        if self.one_in(3) {
            items.extend(self.derivatives());
        }
        if self.one_in(4) {
            items.push(format!("do print({}, \"text\")", self.closed(&DrawnType::F64)));
            items.push(format!("do time({})", self.closed(&DrawnType::F64)));
            items.push("let h1: [?k]f64 = load(\"x.npy\")".to_owned());
            items.push("do save(h1, \"y.npy\")".to_owned());
            items.push("do plot(h1, \"points: p\", h1, h1, \"line\", title: \"t\", width: 3)".to_owned());
        }
        items.join("\n") + "\n"
    }

    /// Draws the types of the program: a recursive one with a type parameter, and a plain one.
    fn types(&mut self) -> Vec<String> {
        let a = DrawnType::Param("a", DrawnClass::Any);
        let tree = DrawnType::Data(0, Some(Box::new(a.clone())));
        let mut tree_ctors = vec![("Leaf".to_owned(), vec![a.clone()])];
        if self.one_in(2) {
            tree_ctors.push(("Node".to_owned(), vec![tree.clone(), tree]));
        } else {
            tree_ctors.push(("Node".to_owned(), vec![DrawnType::I64, tree, a]));
        }
        if self.one_in(2) {
            tree_ctors.push(("Nil".to_owned(), Vec::new()));
        }
        let mut plain = vec![("A".to_owned(), Vec::new())];
        for name in ["B", "C"].iter().take(1 + self.number_below(2)) {
            let args = (0..=self.number_below(2)).map(|_| self.element(1)).collect();
            plain.push(((*name).to_owned(), args));
        }
        self.datas = vec![DrawnSumType { ctors: tree_ctors, takes: true }, DrawnSumType { ctors: plain, takes: false }];
        let mut items = Vec::new();
        for (k, data) in self.datas.iter().enumerate() {
            let ctors: Vec<String> = data
                .ctors
                .iter()
                .map(|(name, args)| {
                    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
                    if args.is_empty() { name.clone() } else { format!("{name}({})", args.join(", ")) }
                })
                .collect();
            let head = if data.takes { format!("T{k}(a)") } else { format!("T{k}") };
            items.push(format!("type {head} = {}", ctors.join(" | ")));
        }
        items
    }

    fn global(&mut self, k: usize) -> String {
        let t = self.element(2);
        let written = self.one_in(2);
        self.cost = 0;
        let value = self.expr(&t, written, 2);
        let name = format!("g{k}");
        self.globals.push((name.clone(), t.clone()));
        let colon = if written { format!(": {t}") } else { String::new() };
        format!("let {name}{colon} = {value}")
    }

    /// Draws a closed expression.
    fn closed(&mut self, t: &DrawnType) -> String {
        self.scope.clear();
        self.cost = 0;
        self.expr(t, false, 2)
    }

    /// Draws a definition that later items may call. Its name begins with `s` if the body alone
    /// determines its result type.
    fn def(&mut self, number_of: usize) -> String {
        self.scope.clear();
        self.cost = 0;
        self.mult = 1;
        let kind = self.number_below(10);
        let alone = kind != 0 && kind != 1 && self.one_in(2);
        let name = format!("{}{number_of}", if alone { "s" } else { "f" });
        let mut def = GeneratedDef {
            name: name.clone(),
            types: Vec::new(),
            sizes: Vec::new(),
            params: Vec::new(),
            result: DrawnType::F64,
            cost: 0,
        };
        let mut params: Vec<(String, DrawnType, ParameterRole)> = Vec::new();
        if number_of == 0 {
            // A function that others can pass as an argument.
            def.result = self.scalar();
            let t = self.scalar();
            params.push((self.fresh("v"), t, ParameterRole::Plain));
        } else {
            for _ in 0..self.number_below(3) {
                let n = self.fresh("n");
                let size = self.size_var(&n);
                if self.one_in(5) {
                    params.push((n.clone(), DrawnType::I64, ParameterRole::Size));
                }
                // An array of that extent implies that the size is not negative. Without it, the
                // checker rightly rejects an extent `n` under the condition `n == -1`.
                let elem = self.element(1);
                params.push((self.fresh("v"), DrawnType::arr(size, elem), ParameterRole::Plain));
                def.sizes.push(n);
            }
            if self.one_in(5) {
                let class = match self.number_below(3) {
                    0 => DrawnClass::Any,
                    1 => DrawnClass::Num,
                    _ => DrawnClass::Real,
                };
                def.types.push(("a", class));
                let t = DrawnType::Param("a", class);
                let v = self.fresh("v");
                self.push(&v, t.clone(), VariableKind::Value);
                params.push((v, t, ParameterRole::Plain));
            }
            for _ in 0..self.number_below(3) {
                let t = match (self.var(|v| matches!(v.kind, VariableKind::Size)), self.number_below(6)) {
                    (Some(n), 0) => DrawnType::arr(named(&n.name).add_constant(1), self.scalar()),
                    (Some(n), 1) => {
                        let m = self.size();
                        DrawnType::arr(named(&n.name).add(&m), self.scalar())
                    }
                    _ => self.ty(2),
                };
                params.push((self.fresh("v"), t, ParameterRole::Plain));
            }
            def.result = if !def.types.is_empty() && self.one_in(2) {
                def.types.first().map_or(DrawnType::F64, |(n, c)| DrawnType::Param(n, *c))
            } else {
                self.ty(2)
            };
        }
        for (v, t, role) in &params {
            if *role == ParameterRole::Plain {
                self.push(v, t.clone(), VariableKind::Value);
            }
        }
        let result = def.result.clone();
        let body = match kind {
            0 => self.counted(&name, &mut params, &result),
            1 => self.over_tree(&name, &mut params, &result),
            2 => self.filtered(&mut def),
            _ => self.expr(&result, !alone, 4),
        };
        def.params.clone_from(&params);
        def.cost = match kind {
            0 => self.cost.saturating_mul(3),
            1 => self.cost.saturating_mul(16),
            _ => self.cost,
        }
        .max(1);
        let list: Vec<String> = params.iter().map(|(v, t, _)| format!("{v}: {t}")).collect();
        let classes: Vec<String> = def
            .types
            .iter()
            .filter_map(|(n, c)| match c {
                DrawnClass::Any => None,
                DrawnClass::Num => Some(format!("{n}: num")),
                DrawnClass::Real => Some(format!("{n}: real")),
            })
            .collect();
        let classes = if classes.is_empty() { String::new() } else { format!(" where {}", classes.join(", ")) };
        let result = match kind {
            2 => match &def.result {
                DrawnType::Arr(_, elem) => format!(" -> [?k]{elem}"),
                _ => String::new(),
            },
            // A result type that the body determines may be omitted.
            _ if alone && classes.is_empty() && self.one_in(4) => String::new(),
            _ => format!(" -> {}", def.result),
        };
        if kind != 2 {
            self.defs.push(def);
        }
        format!("def {name}({}){result}{classes} =\n  {body}", list.join(", "))
    }

    /// Draws a body that calls itself with a decreasing counter.
    fn counted(
        &mut self,
        name: &str,
        params: &mut Vec<(String, DrawnType, ParameterRole)>,
        result: &DrawnType,
    ) -> String {
        let count = self.fresh("v");
        params.insert(0, (count.clone(), DrawnType::I64, ParameterRole::Small));
        let base = self.expr(result, true, 2);
        let args: Vec<String> =
            params.iter().map(|(v, ..)| if *v == count { format!("{v} - 1") } else { v.clone() }).collect();
        let rest = self.fresh("v");
        self.push(&rest, result.clone(), VariableKind::Value);
        let step = self.under(|d| d.expr(result, true, 3));
        format!("if {count} <= 0 then {base} else (let {rest} = {name}({}) in {step})", args.join(", "))
    }

    /// Draws a body that calls itself on the subtrees of a tree.
    fn over_tree(
        &mut self,
        name: &str,
        params: &mut Vec<(String, DrawnType, ParameterRole)>,
        result: &DrawnType,
    ) -> String {
        let tree = DrawnType::Data(0, Some(Box::new(self.scalar())));
        let v = self.fresh("v");
        params.insert(0, (v.clone(), tree.clone(), ParameterRole::Plain));
        let DrawnType::Data(k, arg) = &tree else { return String::new() };
        let others: Vec<String> = params.iter().skip(1).map(|p| p.0.clone()).collect();
        let arms = self.arms(*k, arg.as_deref(), &mut |d, names| {
            let mut text = String::from("(");
            for (part, t) in names {
                if *t == tree {
                    let below = d.fresh("v");
                    let args: Vec<String> = std::iter::once(part.clone()).chain(others.iter().cloned()).collect();
                    text.push_str(&format!("let {below} = {name}({}) ", args.join(", ")));
                    d.push(&below, result.clone(), VariableKind::Value);
                }
            }
            if text.len() > 1 {
                text.push_str("in ");
            }
            let body = d.under(|d| d.expr(result, true, 2));
            format!("{text}{body})")
        });
        format!("match {v} {{ {arms} }}")
    }

    /// Draws a body whose result has an extent known only at run time.
    fn filtered(&mut self, def: &mut GeneratedDef) -> String {
        let elem = self.element(1);
        let n = self.size();
        def.result = DrawnType::arr(n.clone(), elem.clone());
        let x = self.expr(&def.result.clone(), false, 2);
        let p = self.scoped(|d| {
            let param = d.lambda_params(std::slice::from_ref(&elem));
            let p = d.times(bound(&n), |d| d.expr(&DrawnType::Bool, true, 2)).unwrap_or_else(|| "true".to_owned());
            format!("\\{param}: {p}")
        });
        format!("filter({p}, {x})")
    }

    /// Draws a call of a definition with closed arguments.
    fn root_call(&mut self, def: &GeneratedDef, k: usize) -> Option<String> {
        self.scope.clear();
        self.cost = 0;
        self.mult = 1;
        let mut inst = super::types::Instance::default();
        for (name, class) in &def.types {
            let t = match class {
                DrawnClass::Any => self.element(1),
                DrawnClass::Num => DrawnType::I64,
                DrawnClass::Real => DrawnType::F32,
            };
            inst.types.insert(name, t);
        }
        for name in &def.sizes {
            inst.sizes.insert(name.clone(), number(self.number_below(4)));
        }
        let result = def.result.at(&inst);
        if !result.is_plain() {
            return None;
        }
        let call = self.call_of(def, &result, 2)?;
        Some(format!("def m{k}() -> {result} = {call}"))
    }

    /// Draws a function and its derivatives; see [`super::derivatives`].
    fn derivatives(&mut self) -> Vec<String> {
        self.scope.clear();
        self.cost = 0;
        let n = self.size_var("n0");
        let y = DrawnType::arr(n, DrawnType::F64);
        self.push("x", DrawnType::F64, VariableKind::Value);
        self.push("y", y.clone(), VariableKind::Value);
        let params = "x: f64, y: [n0]f64";
        let of = self.expr(&DrawnType::F64, true, 3);
        let e = self.expr(&DrawnType::F64, true, 2);
        let operator = self.pick(&[
            "grad(q0)(x, y)",
            "grad(q0, wrt: y)(x, y)",
            "value_and_grad(q0)(x, y)",
            "jvp(q0)((x, y), (x, y))",
            "jvp2(q0)((x, y), (x, y))",
            "vjp(q0)((x, y), 1.0)",
            "vjp2(q0)((x, y), x)",
            "jacobian(q0)(x, y)",
            "hessian(q0)(x, y)",
            "hvp(q0)((x, y), (x, y))",
            "grad(\\z: z * x)(x)",
            "grad(sin)(x)",
            "grad(\\z: z * z)(1.5)",
            "hessian(\\z: z * z)(2.0)",
        ]);
        vec![
            format!("def q0({params}) -> f64 = {of}"),
            format!("def q1({params}) = {operator}"),
            format!("def q2({params}) -> [n0]f64 = deriv({e}, y)"),
            format!("def q3({params}, dx: f64, dy: [n0]f64) -> (f64, f64) = jvp2(q0)((x, y), (dx, dy))"),
            format!("def q4({params}) -> (f64, (f64, [n0]f64)) = value_and_grad(q0)(x, y)"),
            format!("def q5({params}, w: f64) -> (f64, (f64, [n0]f64)) = vjp2(q0)((x, y), w)"),
            format!("def q6({params}, dx: f64, dy: [n0]f64) -> (f64, [n0]f64) = hvp(q0)((x, y), (dx, dy))"),
        ]
    }
}
