//! Missing values and redundant arms as tables, and agreement with an exhaustive enumeration of
//! values.

use proptest::prelude::*;

use super::{Coverage, check, irrefutable};
use crate::tree::Pat;
use crate::ty::{Scalar, Type, TypeArg};
use lang_base::{GlobalName, Name};
use lang_sizes::predicate::LocalId;

/// The constructors of `Color = Red | Green | Blue`, `Opt(a) = None | Some(a)`,
/// `Tree = Leaf(i64) | Node(Tree, Tree)`, `Nest(a) = End | Deep(Nest((a, a)))`,
/// `Lone = Only(bool)`.
fn ctors(ty: &Type) -> Option<Vec<(Name, Vec<Type>)>> {
    let Type::Data(name, args) = ty else { return None };
    let arg = match args.first() {
        Some(TypeArg::Type(t)) => t.clone(),
        _ => Type::unit(),
    };
    let all = match name.name.as_str() {
        "Color" => vec![("Red", vec![]), ("Green", vec![]), ("Blue", vec![])],
        "Opt" => vec![("None", vec![]), ("Some", vec![arg])],
        "Tree" => vec![("Leaf", vec![Type::I64]), ("Node", vec![ty.clone(), ty.clone()])],
        "Nest" => vec![("End", vec![]), ("Deep", vec![data("Nest", vec![Type::Tuple([arg.clone(), arg].into())])])],
        "Lone" => vec![("Only", vec![Type::BOOL])],
        _ => return None,
    };
    Some(all.into_iter().map(|(name, args)| (Name::from(name), args)).collect())
}

fn data(name: &str, args: Vec<Type>) -> Type {
    Type::Data(GlobalName::new("", name), args.into_iter().map(TypeArg::Type).collect())
}

/// A parser of types and patterns.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn eat(&mut self, token: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn word(&mut self) -> &'a str {
        let text = self.0.trim_start();
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.0 = rest;
        word
    }

    /// Reads `item, item` up to the closing bracket.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self, usize) -> T) -> Vec<T> {
        let mut out = Vec::new();
        while !self.eat(close) {
            assert!(out.is_empty() || self.eat(","), "{:?}", self.0);
            out.push(item(self, out.len()));
        }
        out
    }

    fn ty(&mut self) -> Type {
        if self.eat("(") {
            return Type::Tuple(self.list(")", |t, _| t.ty()).into());
        }
        if self.eat("{") {
            let field = |t: &mut Self, _| (Name::from(t.word()), (t.eat(":"), t.ty()).1);
            return Type::Record(self.list("}", field).into());
        }
        match self.word() {
            "bool" => Type::BOOL,
            "i64" => Type::I64,
            "f64" => Type::F64,
            "error" => Type::Error,
            name => {
                let args = if self.eat("(") { self.list(")", |t, _| t.ty()) } else { Vec::new() };
                data(name, args)
            }
        }
    }

    fn pat(&mut self, ty: &Type) -> Pat {
        let part = |parts: &[Type], k: usize| parts.get(k).cloned().unwrap_or(Type::Error);
        if self.eat("(") {
            let parts = if let Type::Tuple(parts) = ty { parts.to_vec() } else { Vec::new() };
            return Pat::Tuple(self.list(")", |t, k| t.pat(&part(&parts, k))));
        }
        if self.eat("{") {
            let Type::Record(fields) = ty else { panic!("record") };
            return Pat::Record(self.list("}", |t, _| {
                let name = t.word();
                let at = fields.iter().position(|f| f.0 == name).expect("field");
                let pat = if t.eat(":") { t.pat(&fields[at].1) } else { Pat::Bind(LocalId(0)) };
                (u32::try_from(at).expect("small"), pat)
            }));
        }
        if self.eat("[k]") {
            return Pat::Sized(vec![LocalId(0)], Box::new(self.pat(ty)));
        }
        match self.word() {
            "_" => Pat::Wild,
            "true" => Pat::Bool(true),
            "false" => Pat::Bool(false),
            word => {
                if let Ok(v) = word.parse() {
                    return Pat::Int(v);
                }
                if word.starts_with(char::is_lowercase) {
                    return Pat::Bind(LocalId(0));
                }
                let all = ctors(ty).unwrap_or_default();
                let at = all.iter().position(|c| c.0 == word).unwrap_or(99);
                let parts = all.get(at).map(|c| c.1.clone()).unwrap_or_default();
                let args = if self.eat("(") { self.list(")", |t, k| t.pat(&part(&parts, k))) } else { Vec::new() };
                Pat::Ctor(u32::try_from(at).expect("small"), args)
            }
        }
    }
}

fn read_pat(text: &str, ty: &Type) -> Pat {
    Text(text).pat(ty)
}

fn coverage(ty: &Type, arms: &[Pat]) -> Coverage {
    check(ty, &arms.iter().collect::<Vec<_>>(), &ctors)
}

/// Checks one table row. `|` separates the arms, and the missing values.
#[track_caller]
fn case(ty: &str, arms: &str, missing: &str, redundant: &[usize]) {
    let ty = Text(ty).ty();
    let arms: Vec<_> = arms.split('|').filter(|a| !a.trim().is_empty()).map(|a| read_pat(a, &ty)).collect();
    let found = coverage(&ty, &arms);
    assert_eq!((found.missing.join(" | "), found.redundant), (missing.to_string(), redundant.to_vec()));
}

#[test]
fn simple_types() {
    case("bool", "true | false", "", &[]);
    case("bool", "true", "false", &[]);
    case("bool", "", "_", &[]);
    case("bool", "true | x | false", "", &[2]);
    case("i64", "0 | 1", "_", &[]);
    case("i64", "0 | 1 | 0 | n", "", &[2]);
    case("i64", "-1 | _ | 3", "", &[2]);
    case("f64", "x", "", &[]);
    case("f64", "x | _", "", &[1]);
    case("Color", "Red | Blue", "Green", &[]);
    case("Color", "Red", "Green | Blue", &[]);
    case("Color", "", "_", &[]);
    case("Color", "Red | Green | Blue | _", "", &[3]);
    case("()", "()", "", &[]);
}

#[test]
fn nested() {
    case("(bool, bool)", "(true, _) | (_, true)", "(false, false)", &[]);
    case("(bool, bool)", "(true, _) | (_, true) | (false, false)", "", &[]);
    case("(bool, bool)", "(true, x) | (x, false) | (true, true)", "(false, true)", &[2]);
    case("(i64, bool)", "(0, _) | (_, true)", "(_, false)", &[]);
    case("(i64, i64)", "(0, 0) | (1, _)", "(0, _) | _", &[]);
    case("{x: bool, y: Color}", "{x: true} | {y: Red} | {x, y: Green}", "{x: false, y: Blue}", &[]);
    case("{x: bool, y: Color}", "{y, x: true} | {x: false, y}", "", &[]);
    case("Opt(bool)", "None | Some(true)", "Some(false)", &[]);
    case("Opt(Opt(Color))", "None | Some(None)", "Some(Some(_))", &[]);
    case("Opt(Opt(Color))", "None | Some(None) | Some(Some(Red))", "Some(Some(Green)) | Some(Some(Blue))", &[]);
    case("(Color, Color)", "(Red, _)", "(Green, _) | (Blue, _)", &[]);
    case("(Color, Color)", "(Red, Red) | (Green, Green)", "(Red, Green) | (Red, Blue) | (Green, Red)", &[]);
    case("Lone", "Only(true)", "Only(false)", &[]);
    case("(i64, bool)", "([k] x, true) | [k] y", "", &[]);
}

#[test]
fn recursive() {
    case("Tree", "Leaf(_) | Node(_, _)", "", &[]);
    case("Tree", "Leaf(_)", "Node(_, _)", &[]);
    case("Tree", "Leaf(_) | Node(_, Leaf(_))", "Node(_, Node(_, _))", &[]);
    case("Tree", "Leaf(0) | Node(Leaf(_), _) | Node(_, Leaf(_))", "Leaf(_) | Node(Node(_, _), Node(_, _))", &[]);
    case("Tree", "Leaf(_) | Node(x, y) | Node(Leaf(_), _)", "", &[2]);
    case("Tree", "Node(Node(a, b), c) | Node(Leaf(_), c) | Leaf(_) | t", "", &[3]);
    // The type argument grows at every level.
    case("Nest(bool)", "End | Deep(End) | Deep(Deep(End))", "Deep(Deep(Deep(_)))", &[]);
}

#[test]
fn errors_are_silent() {
    case("error", "Red | 3", "", &[]);
    case("Unknown", "Red", "", &[]);
    case("bool", "3", "", &[]);
    case("(bool, bool)", "(true, true, true)", "", &[]);
    case("Opt(bool)", "Some | None", "", &[]);
    case("Color", "Some(true)", "", &[]);
    case("Color", "(Red, Red) | Red", "", &[]);
}

#[test]
fn irrefutable_patterns() {
    let witness = |ty: &str, pat: &str| {
        let ty = Text(ty).ty();
        irrefutable(&ty, &read_pat(pat, &ty), &ctors)
    };
    assert_eq!(witness("(bool, (i64, f64))", "(a, (b, _))"), None);
    assert_eq!(witness("{x: i64, y: i64}", "{x}"), None);
    assert_eq!(witness("Lone", "Only(x)"), None);
    assert_eq!(witness("Opt(i64)", "Some(x)").as_deref(), Some("None"));
    assert_eq!(witness("(i64, bool)", "(_, true)").as_deref(), Some("(_, false)"));
}

#[test]
fn work_is_bounded() {
    // Each arm tests for `true` at two places and for `false` at another, of many. The number of
    // ways to miss them all is exponential.
    let n = 60;
    let ty = Type::Tuple(vec![Type::BOOL; n].into());
    let arm = |k: usize| {
        let mut pats = vec![Pat::Wild; n];
        pats[k] = Pat::Bool(true);
        pats[(k * 7 + 11) % n] = Pat::Bool(false);
        pats[(k * 13 + 5) % n] = Pat::Bool(true);
        Pat::Tuple(pats)
    };
    let mut arms: Vec<_> = (0..n).map(arm).collect();
    let hard = coverage(&ty, &arms);
    assert_eq!(hard, Coverage { too_large: true, ..Coverage::default() });
    arms.push(Pat::Wild);
    assert_eq!(coverage(&ty, &arms), Coverage::default());
    // Width: places that no arm tests cost nothing, however many they are.
    let n = 20_000;
    let ty = Type::Tuple(vec![Type::BOOL; n].into());
    let mut last = vec![Pat::Wild; n];
    last[n - 1] = Pat::Bool(true);
    let found = coverage(&ty, &[Pat::Tuple(last)]);
    assert!(found.missing.len() == 1 && found.missing[0].ends_with("_, false)"));
    assert!(coverage(&ty, &[Pat::Tuple(vec![Pat::Bool(true); n])]).too_large);
    // Many arms.
    let mut arms: Vec<_> = (0..400).map(Pat::Int).collect();
    arms.push(Pat::Wild);
    arms.push(Pat::Int(7));
    assert_eq!(coverage(&Type::I64, &arms).redundant, [401]);
    // Deep nesting.
    let ty = Text("Nest(bool)").ty();
    let deep = (0..250).fold("End".to_string(), |p, _| format!("Deep({p})"));
    assert_eq!(coverage(&ty, &[read_pat(&deep, &ty)]).missing.len(), 3);
}

/// A value; `Deep` represents parts deeper than patterns look.
#[derive(Clone, Debug)]
enum Value {
    Int(i64),
    Bool(bool),
    Parts(u32, Vec<Value>),
    Deep,
}

/// Enumerates the values of a type up to a depth. For integers, those that patterns use and one
/// more.
fn values(ty: &Type, depth: u32) -> Vec<Value> {
    let product = |k: u32, parts: &[Type]| {
        let all = parts.iter().fold(vec![Vec::new()], |all: Vec<Vec<Value>>, part| {
            let options = values(part, depth.saturating_sub(1));
            all.iter().flat_map(|v| options.iter().map(|o| v.iter().chain([o]).cloned().collect())).collect()
        });
        all.into_iter().map(move |parts| Value::Parts(k, parts)).collect::<Vec<_>>()
    };
    match ty {
        Type::Scalar(Scalar::Bool) => vec![Value::Bool(false), Value::Bool(true)],
        Type::Scalar(_) => (0..3).map(Value::Int).collect(),
        Type::Tuple(parts) => product(0, parts),
        Type::Record(fields) => product(0, &fields.iter().map(|f| f.1.clone()).collect::<Vec<_>>()),
        _ if depth == 0 => vec![Value::Deep],
        _ => (0..).zip(ctors(ty).expect("sum")).flat_map(|(k, (_, args))| product(k, &args)).collect(),
    }
}

fn matches(pat: &Pat, value: &Value) -> bool {
    match (pat, value) {
        (Pat::Wild | Pat::Bind(_), _) => true,
        (Pat::Sized(_, pat), _) => matches(pat, value),
        (Pat::Int(a), Value::Int(b)) => a == b,
        (Pat::Bool(a), Value::Bool(b)) => a == b,
        (Pat::Ctor(k, pats), Value::Parts(v, parts)) => k == v && pats.iter().zip(parts).all(|(p, v)| matches(p, v)),
        (Pat::Tuple(pats), Value::Parts(_, parts)) => pats.iter().zip(parts).all(|(p, v)| matches(p, v)),
        (Pat::Record(fields), Value::Parts(_, parts)) => fields.iter().all(|(k, p)| matches(p, &parts[*k as usize])),
        _ => panic!("{pat:?} on {value:?}"),
    }
}

/// Generates random patterns of a type, three levels deep.
fn pattern(ty: Type, depth: u32) -> BoxedStrategy<Pat> {
    let wild = prop_oneof![Just(Pat::Wild), Just(Pat::Bind(LocalId(1)))].boxed();
    if depth == 0 {
        return wild;
    }
    let parts = |parts: Vec<Type>| parts.into_iter().map(|t| pattern(t, depth - 1)).collect::<Vec<_>>();
    let formed = match &ty {
        Type::Scalar(Scalar::Bool) => any::<bool>().prop_map(Pat::Bool).boxed(),
        Type::Scalar(_) => (0..2_i64).prop_map(Pat::Int).boxed(),
        Type::Tuple(types) => parts(types.to_vec()).prop_map(Pat::Tuple).boxed(),
        Type::Record(fields) => parts(fields.iter().map(|f| f.1.clone()).collect())
            .prop_map(|pats| Pat::Record((0..).zip(pats).filter(|f| f.1 != Pat::Wild).collect()))
            .boxed(),
        _ => {
            let all = (0..).zip(ctors(&ty).expect("sum"));
            let each = all.map(|(k, (_, args))| parts(args).prop_map(move |pats| Pat::Ctor(k, pats)).boxed());
            proptest::strategy::Union::new(each.collect::<Vec<_>>()).boxed()
        }
    };
    prop_oneof![2 => wild, 5 => formed].boxed()
}

fn problem() -> impl Strategy<Value = (Type, Vec<Pat>)> {
    let types = [
        "bool",
        "i64",
        "Color",
        "(bool, Color)",
        "(i64, Opt(bool))",
        "{x: Opt(bool), y: bool}",
        "Opt(Opt(bool))",
        "Opt((bool, bool))",
        "Tree",
        "(Color, Color)",
        "Nest(bool)",
        "Lone",
    ];
    prop::sample::select(types.to_vec()).prop_flat_map(|text| {
        let ty = Text(text).ty();
        (Just(ty.clone()), prop::collection::vec(pattern(ty, 3), 0..7))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn agrees_with_trying_all_values((ty, arms) in problem()) {
        let found = coverage(&ty, &arms);
        let all = values(&ty, 3);
        let mut reached = vec![false; arms.len()];
        let mut missed = Vec::new();
        for value in &all {
            match arms.iter().position(|arm| matches(arm, value)) {
                Some(arm) => reached[arm] = true,
                None => missed.push(value),
            }
        }
        let redundant: Vec<_> = (0..arms.len()).filter(|arm| !reached[*arm]).collect();
        prop_assert_eq!(&found.redundant, &redundant);
        prop_assert_eq!(found.missing.is_empty(), missed.is_empty());
        // A value reported as missing matches no arm, as far as it is specified.
        for text in &found.missing {
            let pat = read_pat(text, &ty);
            prop_assert!(missed.iter().any(|v| matches(&pat, v)), "{text}");
        }
    }
}
