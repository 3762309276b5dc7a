//! **Test fixture.** A small builder of typed bodies, and a program and host to run them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::Interp;
use lang_base::{GlobalName, Name, RealConst, Span};
use lang_runtime::{Failure, Host, OperationCounts, Program, RunLimits, RuntimeInstance, Value};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ops::{BinOp, BinderKind};
use lang_types::info::{CtorInfo, ParamKind, TypeInfo, TypeInfoBody};
use lang_types::tree::{
    Body, Callee, Expr, IndexRange, IndexVar, Instance, Lambda, Local, Node, Pat, Place, Special, Subscript, TId,
    Update,
};
use lang_types::ty::{FunType, Signature, Type};

/// A body under construction. The span of a node is its number, so that failures identify the node.
pub(super) struct BodyBuilder {
    pub(super) body: Body,
}

pub(super) fn vec_of(n: i128, t: Type) -> Type {
    Type::Array(Poly::constant(n), Arc::new(t))
}

pub(super) fn tuple_of(parts: &[Type]) -> Type {
    Type::Tuple(parts.to_vec().into())
}

pub(super) fn record_of(fields: &[(&str, Type)]) -> Type {
    Type::Record(fields.iter().map(|(n, t)| (Name::from(*n), t.clone())).collect())
}

pub(super) fn fun(params: &[Type], result: Type) -> Type {
    Type::Fun(Arc::new(FunType { params: params.iter().map(|t| (None, t.clone())).collect(), result }))
}

pub(super) fn name(s: &str) -> GlobalName {
    GlobalName::new("m", s)
}

pub(super) fn list_type() -> Type {
    Type::Data(name("List"), Arc::from([]))
}

pub(super) fn size_of_local(l: LocalId) -> Poly {
    Poly::atom(Atom::Local(l, format!("l{}", l.0).into()))
}

impl BodyBuilder {
    pub(super) fn new() -> Self {
        let body = Body {
            nodes: lang_base::Arena::default(),
            sizes: Vec::new(),
            params: Vec::new(),
            locals: Vec::new(),
            root: None,
        };
        Self { body }
    }

    pub(super) fn node(&mut self, kind: Expr, ty: Type) -> TId {
        let at = u32::try_from(self.body.nodes.len()).unwrap();
        self.body.nodes.alloc(Node { kind, ty, span: Span::new(at, at + 1) })
    }

    pub(super) fn local(&mut self, name: &str, ty: Type) -> LocalId {
        self.body.locals.push(Local { name: name.into(), ty, span: Span::default() });
        LocalId(u32::try_from(self.body.locals.len() - 1).unwrap())
    }

    pub(super) fn param(&mut self, name: &str, ty: Type) -> LocalId {
        let l = self.local(name, ty);
        self.body.params.push(l);
        l
    }

    pub(super) fn get(&mut self, l: LocalId) -> TId {
        let ty = self.body.locals[l.0 as usize].ty.clone();
        self.node(Expr::Local(l), ty)
    }

    pub(super) fn real(&mut self, x: f64) -> TId {
        self.node(Expr::Real(RealConst(x)), Type::F64)
    }

    pub(super) fn int(&mut self, i: i64) -> TId {
        self.node(Expr::Int(i), Type::I64)
    }

    pub(super) fn bool(&mut self, b: bool) -> TId {
        self.node(Expr::Bool(b), Type::BOOL)
    }

    pub(super) fn text(&mut self, s: &str) -> TId {
        self.node(Expr::Str(s.into()), Type::Str)
    }

    pub(super) fn ty(&self, e: TId) -> Type {
        self.body.nodes[e].ty.clone()
    }

    pub(super) fn arith(&mut self, op: BinOp, a: TId, b: TId) -> TId {
        let (s, t) = (self.ty(a), self.ty(b));
        let ty = if matches!(s, Type::Array(..)) { s } else { t };
        self.node(Expr::Arith(op, a, b), ty)
    }

    pub(super) fn add(&mut self, a: TId, b: TId) -> TId {
        self.arith(BinOp::Add, a, b)
    }

    pub(super) fn mul(&mut self, a: TId, b: TId) -> TId {
        self.arith(BinOp::Mul, a, b)
    }

    pub(super) fn compare(&mut self, op: BinOp, a: TId, b: TId) -> TId {
        self.node(Expr::Compare(a, vec![(op, b)]), Type::BOOL)
    }

    pub(super) fn guard(&mut self, p: TId, e: TId) -> TId {
        let ty = self.ty(e);
        self.node(Expr::Guard(p, e), ty)
    }

    pub(super) fn reals(&mut self, xs: &[f64]) -> TId {
        let parts = xs.iter().map(|x| self.real(*x)).collect();
        self.node(Expr::Array(parts), vec_of(xs.len() as i128, Type::F64))
    }

    pub(super) fn ints(&mut self, xs: &[i64]) -> TId {
        let parts = xs.iter().map(|x| self.int(*x)).collect();
        self.node(Expr::Array(parts), vec_of(xs.len() as i128, Type::I64))
    }

    pub(super) fn tuple(&mut self, parts: &[TId]) -> TId {
        let ty = tuple_of(&parts.iter().map(|p| self.ty(*p)).collect::<Vec<_>>());
        self.node(Expr::Tuple(parts.to_vec()), ty)
    }

    pub(super) fn record(&mut self, fields: &[(&str, TId)]) -> TId {
        let ty = record_of(&fields.iter().map(|(n, e)| (*n, self.ty(*e))).collect::<Vec<_>>());
        self.node(Expr::Record((0..).zip(fields.iter().map(|f| f.1)).collect()), ty)
    }

    pub(super) fn proj(&mut self, e: TId, k: u32) -> TId {
        let ty = match self.ty(e) {
            Type::Tuple(parts) => parts[k as usize].clone(),
            Type::Record(fields) => fields[k as usize].1.clone(),
            other => panic!("{other:?}"),
        };
        self.node(Expr::Proj(e, k), ty)
    }

    pub(super) fn at(&mut self, base: TId, indices: &[TId]) -> TId {
        let mut ty = self.ty(base);
        for _ in indices {
            let Type::Array(_, e) = ty else { panic!("not an array") };
            ty = (*e).clone();
        }
        let subs = indices.iter().map(|i| Subscript::At { index: *i, proved: false }).collect();
        self.node(Expr::Index(base, subs), ty)
    }

    pub(super) fn below(&mut self, n: i64, name: &str) -> IndexVar {
        let n = self.int(n);
        IndexVar { local: self.local(name, Type::I64), range: IndexRange::Below(n) }
    }

    pub(super) fn binder(&mut self, kind: BinderKind, vars: Vec<IndexVar>, body: TId, ty: Type) -> TId {
        self.node(Expr::Binder { kind, vars, filter: None, body }, ty)
    }

    pub(super) fn filtered(&mut self, kind: BinderKind, vars: Vec<IndexVar>, p: TId, body: TId, ty: Type) -> TId {
        self.node(Expr::Binder { kind, vars, filter: Some(p), body }, ty)
    }

    pub(super) fn sum(&mut self, vars: Vec<IndexVar>, body: TId) -> TId {
        let ty = self.ty(body);
        self.binder(BinderKind::Sum, vars, body, ty)
    }

    pub(super) fn fold(&mut self, acc: Pat, init: TId, vars: Vec<IndexVar>, body: TId) -> TId {
        let ty = self.ty(init);
        self.node(Expr::Fold { scan: false, acc, init, vars, body, yields: None }, ty)
    }

    pub(super) fn set(&mut self, base: TId, index: TId, value: TId) -> TId {
        self.update(base, Place::Index(vec![Subscript::At { index, proved: false }]), false, value)
    }

    pub(super) fn update(&mut self, base: TId, place: Place, add: bool, value: TId) -> TId {
        let ty = self.ty(base);
        self.node(Expr::With(base, vec![Update { place, add, value, span: Span::new(900, 901) }]), ty)
    }

    pub(super) fn bind(&mut self, l: LocalId, value: TId, body: TId) -> TId {
        let ty = self.ty(body);
        self.node(Expr::Let(vec![(Pat::Bind(l), value)], body), ty)
    }

    pub(super) fn call(&mut self, def: &str, args: &[TId], ty: Type) -> TId {
        self.node(Expr::Call { callee: Callee::Def(name(def), Instance::default()), args: args.to_vec() }, ty)
    }

    pub(super) fn apply(&mut self, f: TId, args: &[TId], ty: Type) -> TId {
        self.node(Expr::Call { callee: Callee::Value(f), args: args.to_vec() }, ty)
    }

    pub(super) fn ctor(&mut self, index: u32, args: &[TId]) -> TId {
        self.node(Expr::Call { callee: Callee::Ctor(name("List"), index), args: args.to_vec() }, list_type())
    }

    pub(super) fn nil(&mut self) -> TId {
        self.node(Expr::CtorValue(name("List"), 0), list_type())
    }

    pub(super) fn lambda(&mut self, params: Vec<Pat>, body: TId, captures: Vec<LocalId>, ty: Type) -> TId {
        self.node(Expr::Lambda(Arc::new(Lambda { params, body, captures })), ty)
    }

    pub(super) fn special(&mut self, special: Special, args: &[TId], ty: Type) -> TId {
        self.node(Expr::Special(special, args.to_vec()), ty)
    }

    pub(super) fn root(mut self, root: TId) -> Arc<Body> {
        self.body.root = Some(root);
        Arc::new(self.body)
    }
}

/// A program of definitions, global values, and `type List = Nil | Cons(f64, List)`.
#[derive(Default)]
pub(super) struct TestProgram {
    pub(super) defs: HashMap<GlobalName, Arc<Body>>,
    pub(super) globals: HashMap<GlobalName, Value>,
}

impl Program for TestProgram {
    fn body(&self, name: &GlobalName) -> Option<Arc<Body>> {
        self.defs.get(name).cloned()
    }
    fn type_info(&self, ty: &GlobalName) -> Option<Arc<TypeInfo>> {
        let ctor = |name: &str, args: &[Type]| CtorInfo { name: name.into(), args: args.to_vec() };
        match ty.name.as_str() {
            "List" => Some(Arc::new(TypeInfo {
                params: Vec::new(),
                body: TypeInfoBody::Sum(vec![ctor("Nil", &[]), ctor("Cons", &[Type::F64, list_type()])]),
            })),
            "Box" => Some(Arc::new(TypeInfo {
                params: vec![("a".into(), ParamKind::Type)],
                body: TypeInfoBody::Sum(vec![ctor("Box", &[Type::Param(0, "a".into())])]),
            })),
            _ => None,
        }
    }
    fn signature(&self, _: &GlobalName) -> Option<Arc<Signature>> {
        None
    }
    fn global(&self, name: &GlobalName) -> Option<Value> {
        self.globals.get(name).cloned()
    }
}

#[derive(Default)]
pub(super) struct RecordingHost {
    pub(super) lines: Vec<String>,
    clock: f64,
}

impl Host for RecordingHost {
    fn print(&mut self, text: &str) {
        self.lines.push(text.to_owned());
    }
    fn debug(&mut self, item: &GlobalName, span: Span, text: &str) {
        self.lines.push(format!("dbg {item} {span:?} {text}"));
    }
    fn seconds(&mut self) -> f64 {
        self.clock += 0.5;
        self.clock
    }
}

pub(super) struct RunOutcome {
    pub(super) result: Result<Value, Box<Failure>>,
    pub(super) counts: OperationCounts,
    pub(super) lines: Vec<String>,
}

impl TestProgram {
    pub(super) fn def(mut self, def: &str, body: Arc<Body>) -> Self {
        self.defs.insert(name(def), body);
        self
    }

    pub(super) fn run_with(&self, body: &Arc<Body>, limits: RunLimits, interrupt: &AtomicBool) -> RunOutcome {
        let mut host = RecordingHost::default();
        let mut interp = Interp::new(self, &mut host, limits, interrupt);
        interp.start_counting();
        let result = interp.eval_body(&name("main"), body).map(|r| r.0);
        let counts = interp.counts();
        RunOutcome { result, counts, lines: host.lines }
    }

    pub(super) fn run(&self, body: &Arc<Body>) -> RunOutcome {
        self.run_with(body, RunLimits::default(), &AtomicBool::new(false))
    }

    pub(super) fn call(&self, def: &str, instance: RuntimeInstance, args: Vec<Value>) -> Result<Value, Box<Failure>> {
        let (mut host, interrupt) = (RecordingHost::default(), AtomicBool::new(false));
        Interp::new(self, &mut host, RunLimits::default(), &interrupt).call(&name(def), instance, args)
    }
}

/// Runs one expression.
pub(super) fn run(build: impl FnOnce(&mut BodyBuilder) -> TId) -> RunOutcome {
    let mut b = BodyBuilder::new();
    let root = build(&mut b);
    TestProgram::default().run(&b.root(root))
}

/// Checks the value of an expression as text, or its failure.
#[track_caller]
pub(super) fn check(expected: &str, build: impl FnOnce(&mut BodyBuilder) -> TId) {
    assert_eq!(result_text(run(build).result), expected);
}

pub(super) fn result_text(result: Result<Value, Box<Failure>>) -> String {
    match result {
        Ok(v) => lang_runtime::print::to_short_text(&v),
        Err(e) => format!("{} {}", e.code, e.message),
    }
}

/// Checks the work, tests and iterations of an expression.
#[track_caller]
pub(super) fn counts(expected: (u64, u64, u64), build: impl FnOnce(&mut BodyBuilder) -> TId) {
    let ran = run(build);
    ran.result.unwrap();
    assert_eq!((ran.counts.work, ran.counts.tests, ran.counts.iterations), expected);
}
