//! Names of small items and what they mean. The last item of a text is resolved; those before it
//! are the rest of its module, which imports a module `m`.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};

use super::type_items::{constructors, param_uses, size_params};
use super::{Decl, LocalKind, Names, PatRes, Res, Resolved, TypeRes, ValueRef, resolve};
use crate::base::{GlobalName, ModuleName, Name, Span};
use crate::predicate::LocalId;
use crate::syntax::ast::{Expr, Item, Pat, Tree};
use crate::syntax::parser::parse_item;
use crate::syntax::split::split;

const PRELUDE: &str = "def len(x: [n]a) -> i64 = n\ndef total(x: [n]f64) -> f64 = sum i: x[i]";
const M: &str = "type Camera = Camera(f64, f64)\nlet width = 3\ndef double(x: f64) -> f64 = 2 * x";

/// Modules as texts: what `session` answers by queries, answered by looking.
struct World(BTreeMap<ModuleName, Vec<Tree>>);

impl World {
    fn new(main: &str) -> Self {
        let texts = [("", PRELUDE), ("m.iv", M), ("main.iv", main)];
        let trees = |text| split(text).iter().map(|i| parse_item(&i.text).tree).collect();
        Self(texts.into_iter().map(|(name, text)| (name.into(), trees(text))).collect())
    }

    fn items(&self, module: &str) -> impl Iterator<Item = &Tree> {
        self.0.get(module).into_iter().flatten()
    }

    fn own_type(&self, module: &str, wanted: &str) -> Option<&Tree> {
        self.items(module).find(|t| matches!(&t.item, Item::Type(def) if def.name.name == wanted))
    }

    fn own_value(&self, module: &ModuleName, wanted: &str) -> Option<ValueRef> {
        let global = GlobalName::new(module, wanted);
        self.items(module).find_map(|tree| match &tree.item {
            Item::Def(def) if def.name.name == wanted => Some(ValueRef::Def(global.clone())),
            Item::Let(item) => match &tree.pats[item.pat].kind {
                Pat::Name(name) if name == wanted => Some(ValueRef::Let(global.clone())),
                _ => None,
            },
            Item::Type(def) => {
                let at = constructors(tree, module, self).iter().position(|c| c.name == wanted)?;
                Some(ValueRef::Ctor(GlobalName::new(module, &def.name.name), at as u32))
            }
            _ => None,
        })
    }
}

impl Names for World {
    fn value(&self, module: &ModuleName, name: &str) -> Option<ValueRef> {
        self.own_value(module, name).or_else(|| self.own_value(&"".into(), name))
    }
    fn type_name(&self, module: &ModuleName, name: &str) -> Option<GlobalName> {
        [module.as_str(), ""].iter().find(|m| self.own_type(m, name).is_some()).map(|m| GlobalName::new(m, name))
    }
    fn import(&self, _: &ModuleName, alias: &str) -> Option<ModuleName> {
        match alias {
            "m" => Some("m.iv".into()),
            "gone" => Some("gone.iv".into()),
            _ => None,
        }
    }
    fn has_module(&self, module: &ModuleName) -> bool {
        self.0.contains_key(module)
    }
    fn size_params(&self, ty: &GlobalName) -> Vec<bool> {
        size_params(ty, |t| Some(param_uses(self.own_type(&t.module, &t.name)?, &t.module, self)))
    }
    fn value_names(&self, module: &ModuleName) -> Vec<Name> {
        let mut names = Vec::new();
        for module in [module, &ModuleName::default()] {
            for tree in self.items(module) {
                match &tree.item {
                    Item::Def(def) => names.push(def.name.name.clone()),
                    Item::Type(_) => names.extend(constructors(tree, module, self).into_iter().map(|c| c.name)),
                    _ => {}
                }
            }
        }
        names
    }
    fn type_names(&self, module: &ModuleName) -> Vec<Name> {
        let names = self.items(module).filter_map(|t| match &t.item {
            Item::Type(def) => Some(def.name.name.clone()),
            _ => None,
        });
        names.collect()
    }
}

struct Case {
    text: String,
    tree: Tree,
    resolved: Resolved,
}

fn case(text: &str) -> Case {
    let items = split(text);
    let last = items.last().expect("an item");
    let parsed = parse_item(&last.text);
    assert_eq!(parsed.diagnostics, [], "the text has no syntax errors");
    let resolved = resolve(&parsed.tree, &"main.iv".into(), &World::new(text));
    Case { text: last.text.to_string(), tree: parsed.tree, resolved }
}

impl Case {
    fn at(&self, span: Span) -> &str {
        self.text.get(span.range()).expect("a span of the text")
    }

    fn local(&self, id: LocalId) -> String {
        let Decl { name, kind, .. } = &self.resolved.locals[id.0 as usize];
        format!("{kind:?} {name}#{}", id.0)
    }

    fn value(&self, res: &Res) -> String {
        match res {
            Res::Local(id) => self.local(*id),
            other => format!("{other:?}"),
        }
    }

    /// Every name of the text in order, and what it means.
    fn meanings(&self) -> Vec<(Span, String)> {
        let mut out = Vec::new();
        for (id, res) in &self.resolved.exprs {
            out.push((self.tree.exprs[*id].span, self.value(res)));
        }
        for (id, res) in &self.resolved.types {
            let meaning = match res {
                TypeRes::Size(res) => format!("Size {}", self.value(res)),
                other => format!("{other:?}"),
            };
            out.push((self.tree.types[*id].span, meaning));
        }
        for (id, res) in &self.resolved.pats {
            match res {
                PatRes::Bind(_) => {}
                other => out.push((self.tree.pats[*id].span, format!("{other:?}"))),
            }
        }
        for (span, id) in &self.resolved.decls {
            // An implicit size is mentioned where it is declared.
            if self.resolved.locals[id.0 as usize].kind != LocalKind::ImplicitSize {
                out.push((*span, format!("declares {}", self.local(*id))));
            }
        }
        out.sort();
        out
    }
}

/// What every name means.
#[track_caller]
fn check(text: &str, expected: Expect) {
    let case = case(text);
    let mut out = String::new();
    for (span, meaning) in case.meanings() {
        out += &format!("{} | {meaning}\n", case.at(span));
    }
    for d in &case.resolved.diagnostics {
        out += &format!("{} {}\n", d.code, d.message);
    }
    expected.assert_eq(&out);
}

/// What is wrong.
#[track_caller]
fn errors(text: &str, expected: Expect) {
    let case = case(text);
    let mut out = String::new();
    for d in &case.resolved.diagnostics {
        out += &format!("{} `{}` {}\n", d.code, case.at(d.span), d.message);
        for label in &d.related {
            out += &format!("  at {} {}\n", label.span.start, label.message);
        }
        if let Some(help) = &d.help {
            out += &format!("  help: {help}\n");
        }
    }
    expected.assert_eq(&out);
}

/// The hint for the one unknown name of an expression.
#[track_caller]
fn hint(expr: &str, expected: &str) {
    let case = case(&format!("def f(x: [n]f64, y: [n]f64) -> f64 = {expr}"));
    let [diagnostic] = case.resolved.diagnostics.as_slice() else {
        panic!("one diagnostic is expected: {:?}", case.resolved.diagnostics)
    };
    assert_eq!(diagnostic.help.as_deref().unwrap_or_default(), expected);
}

/// All names of the item are known.
#[track_caller]
fn clean(text: &str) {
    errors(text, expect![""]);
}

#[test]
fn locals_then_items_then_prelude_then_language() {
    check("def sin(x: f64) -> f64 = x\ndef f(len: f64) -> f64 = sin(len) + total([cos(pi)])", expect![[""]]);
    check("def f(x: f64) -> f64 = f64(i64(x)) + grad(\\x: x)(x) + error(\"no\")", expect![[""]]);
    check("def f(x: [n]f64) -> [n]i64 = argsort(x)", expect![[""]]);
}

#[test]
fn sizes_of_a_signature_are_declared_where_they_first_occur() {
    check("def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: f64(m)", expect![[""]]);
    check("def f(a: [k * k]f64, k: i64) -> [min(k, p)]f64 = a", expect![[""]]);
    check("def f(x: [n]a, g: (a, k: i64) -> [k, n]b) -> [?p, p]b where a: num = g(x)", expect![[""]]);
    errors("def f(x: [k]f64) -> [?k]f64 = x", expect![[""]]);
    errors("def f(x: [n]f64) -> [?k]f64 = for i < k: x[i]", expect![[""]]);
    check("let n = 3\ndef f(x: [n]f64) -> [m.width]f64 = x", expect![[""]]);
}

#[test]
fn parameters_of_types() {
    check("type Net(n, h, a) = {w: [h, n]a, b: [h]a}", expect![[""]]);
    check("type Net(n, a) = {w: [n]a}\ntype Two(a, k) = Two(Net(k, a), Net(2, f64))", expect![[""]]);
    check("type Net(n, a) = {w: [n]a}\ndef f(net: Net(k, b), x: [k]b) -> Net(k, f64) = net", expect![[""]]);
    check("type Tree(a) = Leaf(a) | Node(Tree(a), Tree(a))", expect![[""]]);
    check("type A(n) = A(B(n)) | N\ntype B(n) = B(A(n)) | C([n]f64)", expect![[""]]);
    errors("type Net(n) = {w: [n]f64}\ndef f(x: Net(f64)) -> f64 = 1.0", expect![[""]]);
    errors("type T(n) = [n]n", expect![[""]]);
}

#[test]
fn a_lone_name_is_an_alias_if_it_is_a_type() {
    check("type Speed = f64", expect![[""]]);
    check("type Point = Point(f64, f64)", expect![[""]]);
    check("type Id(a) = a", expect![[""]]);
    check("type Lens = m.Camera", expect![[""]]);
    errors("type Speed = float", expect![[""]]);
}

#[test]
fn lets_bind_after_their_values() {
    check("def f(x: f64) -> f64 = let x = x + 1.0 let y = x in x * y", expect![[""]]);
    check("def f(p: (f64, {u: f64, v: f64})) -> f64 = let (a, {u, v: w}) = p in a * u * w", expect![[""]]);
    check("def f(x: [n]f64) -> f64 = let [k] y: [?j]f64 = filter(\\e: e > 0.0, x) in sum i < k: y[i]", expect![[""]]);
    check("let (a, b) = (1, 2)", expect![[""]]);
}

#[test]
fn index_variables_are_seen_to_the_right() {
    check("def f(n: i64) -> i64 = sum i < n, j in i..n by i if i < j: i * j", expect![[""]]);
    errors("def f(n: i64) -> i64 = (sum i < j, j < n: i) + i", expect![[""]]);
}

#[test]
fn carries_are_seen_by_the_steps() {
    check("def f(x: [n]f64) -> f64 = fold (a, b) = (0.0, 1.0) for i < n: (a + x[i], b) yield a", expect![[""]]);
    check("def f(x: f64) -> f64 = loop x = x while x > 1.0: x / 2.0", expect![[""]]);
    errors("def f(n: i64) -> i64 = fold a = a for i < a: a", expect![[""]]);
}

#[test]
fn patterns() {
    let types = "type Tree = Leaf(f64) | Node(Tree, Tree) | Nil\n";
    check(&format!("{types}def f(t: Tree) -> f64 = match t {{ Leaf(x): x, Node(l, Nil): 0.0, other: f(other) }}"), expect![[""]]);
    check("def f(c: m.Camera) -> f64 = match c { m.Camera(x, _): x }", expect![[""]]);
    errors(
        &format!("{types}def f(t: Tree) -> f64 = match t {{ Leef(x): x, Nill: 0.0, Any: 1.0, f(x): x, m.Camra(x): x }}"),
        expect![[""]],
    );
    // Matrices go by capital letters.
    clean("def f(A: [n, n]f64) -> f64 = let B = A in B[0, 0]");
}

#[test]
fn modules() {
    check("def f(x: f64) -> m.Camera = m.Camera(m.double(x), f64(m.width))", expect![[""]]);
    check("def f(m: {width: f64}) -> f64 = m.width", expect![[""]]);
    errors("def f(x: f64) -> m.Camra = m.duoble(m) + m.len(x)", expect![[""]]);
    errors("def f(x: q.T) -> f64 = q.x + q.y", expect![[""]]);
    // Its import has been told of already.
    clean("def f(x: gone.T) -> f64 = match gone.x { gone.C(y): y }");
}

#[test]
fn rules() {
    check("def f(x: f64) -> f64 = x\nderivative f(x; dx) = dx * x", expect![[""]]);
    errors("adjoint f(x; dy) = dy", expect![[""]]);
    errors("adjoint len(x; dy) = dy", expect![[""]]);
}

#[test]
fn parameters_named_by_wrt_are_no_variables() {
    check("def g(a: f64, b: f64) -> f64 = a\ndef f(x: f64) -> f64 = grad(g, wrt: b)(x, x)", expect![[""]]);
    check("def f(x: f64) -> f64 = deriv(x * x, x) + jvp(\\a, b: a, wrt: (a, b))(x, x)", expect![[""]]);
    errors("def f(x: f64) -> f64 = sin(x, wrt: b)", expect![[""]]);
}

#[test]
fn one_diagnostic_for_one_unknown_name() {
    errors("def f(lenght: i64) -> i64 = lengt + lengt + q", expect![[""]]);
    errors("def f(x: f64) -> f64 where b: real = let y: b = x in y", expect![[""]]);
    errors("def f(x: Tre) -> [n]Flot = x", expect![[""]]);
    errors("let x: a = m", expect![[""]]);
    errors("type T = T(f64)\ndo T2(1.0) + t + T", expect![[""]]);
}

#[test]
fn habits_of_other_languages() {
    hint("dot(x, y)", "write `sum i: x[i] * y[i]`");
    hint("np.dot(x, y)", "write `sum i: x[i] * y[i]`");
    hint("np.exp(x[0])", "no module is needed: write `exp`");
    hint("range(n)[0]", "write `for i < n: i`, or `iota(n)`");
    hint("zeros(n)[0]", "write `for i < n: 0.0`, or `replicate(n, 0.0)`");
    hint("if True then 1.0 else 0.0", "truth is written `true`");
    hint("sum(x)", "write `sum i: x[i]`");
    hint("float(n)", "conversion to the default real is written `f64(x)`");
    hint("exp2(x[0])", "write `2.0 ^ x`");
    hint("totl(x)", "did you mean `total`?");
    hint("sqr(x[0])", "did you mean `sqrt`?");
    errors("def f(x: float, y: [n]double, z: real) -> Vec = x", expect![[""]]);
}
