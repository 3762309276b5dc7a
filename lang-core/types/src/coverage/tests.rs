//! Missing values and redundant arms as tables, and agreement with an exhaustive enumeration of
//! values.

use proptest::prelude::*;

use super::{CoverageReport, check_match, refutation_witness};
use crate::tree::TypedPattern;
use crate::ty::{GenericArg, Scalar, Type};
use lang_base::{GlobalName, Name};
use lang_sizes::predicate::LocalId;

/// The constructors of `Color = Red | Green | Blue`, `Opt(a) = None | Some(a)`,
/// `Tree = Leaf(i64) | Node(Tree, Tree)`, `Nest(a) = End | Deep(Nest((a, a)))`,
/// `Lone = Only(bool)`.
fn ctors(ty: &Type) -> Option<Vec<(Name, Vec<Type>)>> {
    let Type::Data(name, args) = ty else { return None };
    let arg = match args.first() {
        Some(GenericArg::Type(t)) => t.clone(),
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
    Type::Data(GlobalName::new("", name), args.into_iter().map(GenericArg::Type).collect())
}

/// A parser of types and patterns.
struct PatternReader<'a>(&'a str);

impl<'a> PatternReader<'a> {
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

    fn pat(&mut self, ty: &Type) -> TypedPattern {
        let part = |parts: &[Type], k: usize| parts.get(k).cloned().unwrap_or(Type::Error);
        if self.eat("(") {
            let parts = if let Type::Tuple(parts) = ty { parts.to_vec() } else { Vec::new() };
            return TypedPattern::Tuple(self.list(")", |t, k| t.pat(&part(&parts, k))));
        }
        if self.eat("{") {
            let Type::Record(fields) = ty else { panic!("record") };
            return TypedPattern::Record(self.list("}", |t, _| {
                let name = t.word();
                let at = fields.iter().position(|f| f.0 == name).expect("field");
                let pat = if t.eat(":") { t.pat(&fields[at].1) } else { TypedPattern::Bind(LocalId(0)) };
                (u32::try_from(at).expect("small"), pat)
            }));
        }
        if self.eat("[k]") {
            return TypedPattern::Sized(vec![LocalId(0)], Box::new(self.pat(ty)));
        }
        match self.word() {
            "_" => TypedPattern::Wild,
            "true" => TypedPattern::Bool(true),
            "false" => TypedPattern::Bool(false),
            word => {
                if let Ok(v) = word.parse() {
                    return TypedPattern::Int(v);
                }
                if word.starts_with(char::is_lowercase) {
                    return TypedPattern::Bind(LocalId(0));
                }
                let all = ctors(ty).unwrap_or_default();
                let at = all.iter().position(|c| c.0 == word).unwrap_or(99);
                let parts = all.get(at).map(|c| c.1.clone()).unwrap_or_default();
                let args = if self.eat("(") { self.list(")", |t, k| t.pat(&part(&parts, k))) } else { Vec::new() };
                TypedPattern::Ctor(u32::try_from(at).expect("small"), args)
            }
        }
    }
}

fn read_pat(text: &str, ty: &Type) -> TypedPattern {
    PatternReader(text).pat(ty)
}

fn coverage(ty: &Type, arms: &[TypedPattern]) -> CoverageReport {
    check_match(ty, &arms.iter().collect::<Vec<_>>(), &ctors)
}

/// Checks one table row. `|` separates the arms, and the missing values.
#[track_caller]
fn check_coverage(ty: &str, arms: &str, missing: &str, redundant: &[usize]) {
    let ty = PatternReader(ty).ty();
    let arms: Vec<_> = arms.split('|').filter(|a| !a.trim().is_empty()).map(|a| read_pat(a, &ty)).collect();
    let found = coverage(&ty, &arms);
    assert_eq!((found.missing.join(" | "), found.redundant), (missing.to_string(), redundant.to_vec()));
}

#[test]
fn simple_types() {
    check_coverage("bool", "true | false", "", &[]);
    check_coverage("bool", "true", "false", &[]);
    check_coverage("bool", "", "_", &[]);
    check_coverage("bool", "true | x | false", "", &[2]);
    check_coverage("i64", "0 | 1", "_", &[]);
    check_coverage("i64", "0 | 1 | 0 | n", "", &[2]);
    check_coverage("i64", "-1 | _ | 3", "", &[2]);
    check_coverage("f64", "x", "", &[]);
    check_coverage("f64", "x | _", "", &[1]);
    check_coverage("Color", "Red | Blue", "Green", &[]);
    check_coverage("Color", "Red", "Green | Blue", &[]);
    check_coverage("Color", "", "_", &[]);
    check_coverage("Color", "Red | Green | Blue | _", "", &[3]);
    check_coverage("()", "()", "", &[]);
}

#[test]
fn nested() {
    check_coverage("(bool, bool)", "(true, _) | (_, true)", "(false, false)", &[]);
    check_coverage("(bool, bool)", "(true, _) | (_, true) | (false, false)", "", &[]);
    check_coverage("(bool, bool)", "(true, x) | (x, false) | (true, true)", "(false, true)", &[2]);
    check_coverage("(i64, bool)", "(0, _) | (_, true)", "(_, false)", &[]);
    check_coverage("(i64, i64)", "(0, 0) | (1, _)", "(0, _) | _", &[]);
    check_coverage("{x: bool, y: Color}", "{x: true} | {y: Red} | {x, y: Green}", "{x: false, y: Blue}", &[]);
    check_coverage("{x: bool, y: Color}", "{y, x: true} | {x: false, y}", "", &[]);
    check_coverage("Opt(bool)", "None | Some(true)", "Some(false)", &[]);
    check_coverage("Opt(Opt(Color))", "None | Some(None)", "Some(Some(_))", &[]);
    check_coverage(
        "Opt(Opt(Color))",
        "None | Some(None) | Some(Some(Red))",
        "Some(Some(Green)) | Some(Some(Blue))",
        &[],
    );
    check_coverage("(Color, Color)", "(Red, _)", "(Green, _) | (Blue, _)", &[]);
    check_coverage("(Color, Color)", "(Red, Red) | (Green, Green)", "(Red, Green) | (Red, Blue) | (Green, Red)", &[]);
    check_coverage("Lone", "Only(true)", "Only(false)", &[]);
    check_coverage("(i64, bool)", "([k] x, true) | [k] y", "", &[]);
}

#[test]
fn recursive() {
    check_coverage("Tree", "Leaf(_) | Node(_, _)", "", &[]);
    check_coverage("Tree", "Leaf(_)", "Node(_, _)", &[]);
    check_coverage("Tree", "Leaf(_) | Node(_, Leaf(_))", "Node(_, Node(_, _))", &[]);
    check_coverage(
        "Tree",
        "Leaf(0) | Node(Leaf(_), _) | Node(_, Leaf(_))",
        "Leaf(_) | Node(Node(_, _), Node(_, _))",
        &[],
    );
    check_coverage("Tree", "Leaf(_) | Node(x, y) | Node(Leaf(_), _)", "", &[2]);
    check_coverage("Tree", "Node(Node(a, b), c) | Node(Leaf(_), c) | Leaf(_) | t", "", &[3]);
    // The type argument grows at every level.
    check_coverage("Nest(bool)", "End | Deep(End) | Deep(Deep(End))", "Deep(Deep(Deep(_)))", &[]);
}

#[test]
fn errors_are_silent() {
    check_coverage("error", "Red | 3", "", &[]);
    check_coverage("Unknown", "Red", "", &[]);
    check_coverage("bool", "3", "", &[]);
    check_coverage("(bool, bool)", "(true, true, true)", "", &[]);
    check_coverage("Opt(bool)", "Some | None", "", &[]);
    check_coverage("Color", "Some(true)", "", &[]);
    check_coverage("Color", "(Red, Red) | Red", "", &[]);
}

#[test]
fn irrefutable_patterns() {
    let witness = |ty: &str, pat: &str| {
        let ty = PatternReader(ty).ty();
        refutation_witness(&ty, &read_pat(pat, &ty), &ctors)
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
        let mut pats = vec![TypedPattern::Wild; n];
        pats[k] = TypedPattern::Bool(true);
        pats[(k * 7 + 11) % n] = TypedPattern::Bool(false);
        pats[(k * 13 + 5) % n] = TypedPattern::Bool(true);
        TypedPattern::Tuple(pats)
    };
    let mut arms: Vec<_> = (0..n).map(arm).collect();
    let hard = coverage(&ty, &arms);
    assert_eq!(hard, CoverageReport { too_large: true, ..CoverageReport::default() });
    arms.push(TypedPattern::Wild);
    assert_eq!(coverage(&ty, &arms), CoverageReport::default());
    // Width: places that no arm tests cost nothing, however many they are.
    let n = 20_000;
    let ty = Type::Tuple(vec![Type::BOOL; n].into());
    let mut last = vec![TypedPattern::Wild; n];
    last[n - 1] = TypedPattern::Bool(true);
    let found = coverage(&ty, &[TypedPattern::Tuple(last)]);
    assert!(found.missing.len() == 1 && found.missing[0].ends_with("_, false)"));
    assert!(coverage(&ty, &[TypedPattern::Tuple(vec![TypedPattern::Bool(true); n])]).too_large);
    // Many arms.
    let mut arms: Vec<_> = (0..400).map(TypedPattern::Int).collect();
    arms.push(TypedPattern::Wild);
    arms.push(TypedPattern::Int(7));
    assert_eq!(coverage(&Type::I64, &arms).redundant, [401]);
    // Deep nesting.
    let ty = PatternReader("Nest(bool)").ty();
    let deep = (0..250).fold("End".to_string(), |p, _| format!("Deep({p})"));
    assert_eq!(coverage(&ty, &[read_pat(&deep, &ty)]).missing.len(), 3);
}

/// A value; `Deep` represents parts deeper than patterns look.
#[derive(Clone, Debug)]
enum TestValue {
    Int(i64),
    Bool(bool),
    Parts(u32, Vec<TestValue>),
    Deep,
}

/// Enumerates the values of a type up to a depth. For integers, those that patterns use and one
/// more.
fn values(ty: &Type, depth: u32) -> Vec<TestValue> {
    let product = |k: u32, parts: &[Type]| {
        let all = parts.iter().fold(vec![Vec::new()], |all: Vec<Vec<TestValue>>, part| {
            let options = values(part, depth.saturating_sub(1));
            all.iter().flat_map(|v| options.iter().map(|o| v.iter().chain([o]).cloned().collect())).collect()
        });
        all.into_iter().map(move |parts| TestValue::Parts(k, parts)).collect::<Vec<_>>()
    };
    match ty {
        Type::Scalar(Scalar::Bool) => vec![TestValue::Bool(false), TestValue::Bool(true)],
        Type::Scalar(_) => (0..3).map(TestValue::Int).collect(),
        Type::Tuple(parts) => product(0, parts),
        Type::Record(fields) => product(0, &fields.iter().map(|f| f.1.clone()).collect::<Vec<_>>()),
        _ if depth == 0 => vec![TestValue::Deep],
        _ => (0..).zip(ctors(ty).expect("sum")).flat_map(|(k, (_, args))| product(k, &args)).collect(),
    }
}

fn matches(pat: &TypedPattern, value: &TestValue) -> bool {
    match (pat, value) {
        (TypedPattern::Wild | TypedPattern::Bind(_), _) => true,
        (TypedPattern::Sized(_, pat), _) => matches(pat, value),
        (TypedPattern::Int(a), TestValue::Int(b)) => a == b,
        (TypedPattern::Bool(a), TestValue::Bool(b)) => a == b,
        (TypedPattern::Ctor(k, pats), TestValue::Parts(v, parts)) => {
            k == v && pats.iter().zip(parts).all(|(p, v)| matches(p, v))
        }
        (TypedPattern::Tuple(pats), TestValue::Parts(_, parts)) => pats.iter().zip(parts).all(|(p, v)| matches(p, v)),
        (TypedPattern::Record(fields), TestValue::Parts(_, parts)) => {
            fields.iter().all(|(k, p)| matches(p, &parts[*k as usize]))
        }
        _ => panic!("{pat:?} on {value:?}"),
    }
}

/// Generates random patterns of a type, three levels deep.
fn pattern(ty: Type, depth: u32) -> BoxedStrategy<TypedPattern> {
    let wild = prop_oneof![Just(TypedPattern::Wild), Just(TypedPattern::Bind(LocalId(1)))].boxed();
    if depth == 0 {
        return wild;
    }
    let parts = |parts: Vec<Type>| parts.into_iter().map(|t| pattern(t, depth - 1)).collect::<Vec<_>>();
    let formed = match &ty {
        Type::Scalar(Scalar::Bool) => any::<bool>().prop_map(TypedPattern::Bool).boxed(),
        Type::Scalar(_) => (0..2_i64).prop_map(TypedPattern::Int).boxed(),
        Type::Tuple(types) => parts(types.to_vec()).prop_map(TypedPattern::Tuple).boxed(),
        Type::Record(fields) => parts(fields.iter().map(|f| f.1.clone()).collect())
            .prop_map(|pats| TypedPattern::Record((0..).zip(pats).filter(|f| f.1 != TypedPattern::Wild).collect()))
            .boxed(),
        _ => {
            let all = (0..).zip(ctors(&ty).expect("sum"));
            let each = all.map(|(k, (_, args))| parts(args).prop_map(move |pats| TypedPattern::Ctor(k, pats)).boxed());
            proptest::strategy::Union::new(each.collect::<Vec<_>>()).boxed()
        }
    };
    prop_oneof![2 => wild, 5 => formed].boxed()
}

fn match_problem() -> impl Strategy<Value = (Type, Vec<TypedPattern>)> {
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
        let ty = PatternReader(text).ty();
        (Just(ty.clone()), prop::collection::vec(pattern(ty, 3), 0..7))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn agrees_with_trying_all_values((ty, arms) in match_problem()) {
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
