//! **Test fixture.** A small builder of typed bodies, and a program and host to run them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::Interp;
use lang_base::{GlobalName, Name, RealConst, Span};
use lang_runtime::{Failure, Host, OperationCounts, Program, RunLimits, RuntimeInstance, Value};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ops::{BinOp, BinderKind};
use lang_types::tree::{
    BodyLocal, Callee, Instantiation, TypedBody, TypedExpr, TypedForm, TypedId, TypedIndexRange, TypedIndexVar,
    TypedLambda, TypedNode, TypedPattern, TypedSubscript, TypedUpdateTarget, TypedWithUpdate,
};
use lang_types::ty::{FunType, Signature, Type};
use lang_types::type_info::{CtorInfo, ParamKind, TypeInfo, TypeInfoBody};

/// A body under construction. The span of a node is its number, so that failures identify the node.
pub(super) struct BodyBuilder {
    pub(super) body: TypedBody,
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
        let body = TypedBody {
            nodes: lang_base::Arena::default(),
            sizes: Vec::new(),
            params: Vec::new(),
            locals: Vec::new(),
            root: None,
        };
        Self { body }
    }

    pub(super) fn node(&mut self, kind: TypedExpr, ty: Type) -> TypedId {
        let at = u32::try_from(self.body.nodes.len()).unwrap();
        self.body.nodes.alloc(TypedNode { kind, ty, span: Span::new(at, at + 1) })
    }

    pub(super) fn local(&mut self, name: &str, ty: Type) -> LocalId {
        self.body.locals.push(BodyLocal { name: name.into(), ty, span: Span::default() });
        LocalId(u32::try_from(self.body.locals.len() - 1).unwrap())
    }

    pub(super) fn param(&mut self, name: &str, ty: Type) -> LocalId {
        let l = self.local(name, ty);
        self.body.params.push(l);
        l
    }

    pub(super) fn get(&mut self, l: LocalId) -> TypedId {
        let ty = self.body.locals[l.0 as usize].ty.clone();
        self.node(TypedExpr::Local(l), ty)
    }

    pub(super) fn real(&mut self, x: f64) -> TypedId {
        self.node(TypedExpr::Real(RealConst(x)), Type::F64)
    }

    pub(super) fn int(&mut self, i: i64) -> TypedId {
        self.node(TypedExpr::Int(i), Type::I64)
    }

    pub(super) fn bool(&mut self, b: bool) -> TypedId {
        self.node(TypedExpr::Bool(b), Type::BOOL)
    }

    pub(super) fn text(&mut self, s: &str) -> TypedId {
        self.node(TypedExpr::Str(s.into()), Type::Str)
    }

    pub(super) fn ty(&self, e: TypedId) -> Type {
        self.body.nodes[e].ty.clone()
    }

    pub(super) fn arith(&mut self, op: BinOp, a: TypedId, b: TypedId) -> TypedId {
        let (s, t) = (self.ty(a), self.ty(b));
        let ty = if matches!(s, Type::Array(..)) { s } else { t };
        self.node(TypedExpr::Arith(op, a, b), ty)
    }

    pub(super) fn add(&mut self, a: TypedId, b: TypedId) -> TypedId {
        self.arith(BinOp::Add, a, b)
    }

    pub(super) fn mul(&mut self, a: TypedId, b: TypedId) -> TypedId {
        self.arith(BinOp::Mul, a, b)
    }

    pub(super) fn compare(&mut self, op: BinOp, a: TypedId, b: TypedId) -> TypedId {
        self.node(TypedExpr::Compare(a, vec![(op, b)]), Type::BOOL)
    }

    pub(super) fn guard(&mut self, p: TypedId, e: TypedId) -> TypedId {
        let ty = self.ty(e);
        self.node(TypedExpr::Guard(p, e), ty)
    }

    pub(super) fn reals(&mut self, xs: &[f64]) -> TypedId {
        let parts = xs.iter().map(|x| self.real(*x)).collect();
        self.node(TypedExpr::Array(parts), vec_of(xs.len() as i128, Type::F64))
    }

    pub(super) fn ints(&mut self, xs: &[i64]) -> TypedId {
        let parts = xs.iter().map(|x| self.int(*x)).collect();
        self.node(TypedExpr::Array(parts), vec_of(xs.len() as i128, Type::I64))
    }

    pub(super) fn tuple(&mut self, parts: &[TypedId]) -> TypedId {
        let ty = tuple_of(&parts.iter().map(|p| self.ty(*p)).collect::<Vec<_>>());
        self.node(TypedExpr::Tuple(parts.to_vec()), ty)
    }

    pub(super) fn record(&mut self, fields: &[(&str, TypedId)]) -> TypedId {
        let ty = record_of(&fields.iter().map(|(n, e)| (*n, self.ty(*e))).collect::<Vec<_>>());
        self.node(TypedExpr::Record((0..).zip(fields.iter().map(|f| f.1)).collect()), ty)
    }

    pub(super) fn proj(&mut self, e: TypedId, k: u32) -> TypedId {
        let ty = match self.ty(e) {
            Type::Tuple(parts) => parts[k as usize].clone(),
            Type::Record(fields) => fields[k as usize].1.clone(),
            other => panic!("{other:?}"),
        };
        self.node(TypedExpr::Proj(e, k), ty)
    }

    pub(super) fn at(&mut self, base: TypedId, indices: &[TypedId]) -> TypedId {
        let mut ty = self.ty(base);
        for _ in indices {
            let Type::Array(_, e) = ty else { panic!("not an array") };
            ty = (*e).clone();
        }
        let subs = indices.iter().map(|i| TypedSubscript::Index { index: *i, is_proved: false }).collect();
        self.node(TypedExpr::Index(base, subs), ty)
    }

    pub(super) fn below(&mut self, n: i64, name: &str) -> TypedIndexVar {
        let n = self.int(n);
        TypedIndexVar { local: self.local(name, Type::I64), range: TypedIndexRange::Below(n) }
    }

    pub(super) fn binder(&mut self, kind: BinderKind, vars: Vec<TypedIndexVar>, body: TypedId, ty: Type) -> TypedId {
        self.node(TypedExpr::Binder { kind, vars, filter: None, body }, ty)
    }

    pub(super) fn filtered(
        &mut self,
        kind: BinderKind,
        vars: Vec<TypedIndexVar>,
        p: TypedId,
        body: TypedId,
        ty: Type,
    ) -> TypedId {
        self.node(TypedExpr::Binder { kind, vars, filter: Some(p), body }, ty)
    }

    pub(super) fn sum(&mut self, vars: Vec<TypedIndexVar>, body: TypedId) -> TypedId {
        let ty = self.ty(body);
        self.binder(BinderKind::Sum, vars, body, ty)
    }

    pub(super) fn fold(
        &mut self,
        acc: TypedPattern,
        init: TypedId,
        vars: Vec<TypedIndexVar>,
        body: TypedId,
    ) -> TypedId {
        let ty = self.ty(init);
        self.node(TypedExpr::Fold { is_scan: false, acc, init, vars, body, yields: None }, ty)
    }

    pub(super) fn set(&mut self, base: TypedId, index: TypedId, value: TypedId) -> TypedId {
        self.update(
            base,
            TypedUpdateTarget::Index(vec![TypedSubscript::Index { index, is_proved: false }]),
            false,
            value,
        )
    }

    pub(super) fn update(&mut self, base: TypedId, place: TypedUpdateTarget, add: bool, value: TypedId) -> TypedId {
        let ty = self.ty(base);
        self.node(
            TypedExpr::With(
                base,
                vec![TypedWithUpdate { target: place, is_add: add, value, span: Span::new(900, 901) }],
            ),
            ty,
        )
    }

    pub(super) fn bind(&mut self, l: LocalId, value: TypedId, body: TypedId) -> TypedId {
        let ty = self.ty(body);
        self.node(TypedExpr::Let(vec![(TypedPattern::Bind(l), value)], body), ty)
    }

    pub(super) fn call(&mut self, def: &str, args: &[TypedId], ty: Type) -> TypedId {
        self.node(TypedExpr::Call { callee: Callee::Def(name(def), Instantiation::default()), args: args.to_vec() }, ty)
    }

    pub(super) fn apply(&mut self, f: TypedId, args: &[TypedId], ty: Type) -> TypedId {
        self.node(TypedExpr::Call { callee: Callee::Value(f), args: args.to_vec() }, ty)
    }

    pub(super) fn ctor(&mut self, index: u32, args: &[TypedId]) -> TypedId {
        self.node(TypedExpr::Call { callee: Callee::Ctor(name("List"), index), args: args.to_vec() }, list_type())
    }

    pub(super) fn nil(&mut self) -> TypedId {
        self.node(TypedExpr::CtorValue(name("List"), 0), list_type())
    }

    pub(super) fn lambda(
        &mut self,
        params: Vec<TypedPattern>,
        body: TypedId,
        captures: Vec<LocalId>,
        ty: Type,
    ) -> TypedId {
        self.node(TypedExpr::Lambda(Arc::new(TypedLambda { params, body, captures })), ty)
    }

    pub(super) fn special(&mut self, special: TypedForm, args: &[TypedId], ty: Type) -> TypedId {
        self.node(TypedExpr::Form(special, args.to_vec()), ty)
    }

    pub(super) fn root(mut self, root: TypedId) -> Arc<TypedBody> {
        self.body.root = Some(root);
        Arc::new(self.body)
    }
}

/// A program of definitions, global values, and `type List = Nil | Cons(f64, List)`.
#[derive(Default)]
pub(super) struct TestProgram {
    pub(super) defs: HashMap<GlobalName, Arc<TypedBody>>,
    pub(super) globals: HashMap<GlobalName, Value>,
}

impl Program for TestProgram {
    fn body(&self, name: &GlobalName) -> Option<Arc<TypedBody>> {
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
    pub(super) fn def(mut self, def: &str, body: Arc<TypedBody>) -> Self {
        self.defs.insert(name(def), body);
        self
    }

    pub(super) fn run_with(&self, body: &Arc<TypedBody>, limits: RunLimits, interrupt: &AtomicBool) -> RunOutcome {
        let mut host = RecordingHost::default();
        let mut interp = Interp::new(self, &mut host, limits, interrupt);
        interp.start_counting();
        let result = interp.eval_body(&name("main"), body).map(|r| r.0);
        let counts = interp.counts();
        RunOutcome { result, counts, lines: host.lines }
    }

    pub(super) fn run(&self, body: &Arc<TypedBody>) -> RunOutcome {
        self.run_with(body, RunLimits::default(), &AtomicBool::new(false))
    }

    pub(super) fn call(&self, def: &str, instance: RuntimeInstance, args: Vec<Value>) -> Result<Value, Box<Failure>> {
        let (mut host, interrupt) = (RecordingHost::default(), AtomicBool::new(false));
        Interp::new(self, &mut host, RunLimits::default(), &interrupt).call(&name(def), instance, args)
    }
}

/// Runs one expression.
pub(super) fn run(build: impl FnOnce(&mut BodyBuilder) -> TypedId) -> RunOutcome {
    let mut b = BodyBuilder::new();
    let root = build(&mut b);
    TestProgram::default().run(&b.root(root))
}

/// Checks the value of an expression as text, or its failure.
#[track_caller]
pub(super) fn check(expected: &str, build: impl FnOnce(&mut BodyBuilder) -> TypedId) {
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
pub(super) fn counts(expected: (u64, u64, u64), build: impl FnOnce(&mut BodyBuilder) -> TypedId) {
    let ran = run(build);
    ran.result.unwrap();
    assert_eq!((ran.counts.work, ran.counts.tests, ran.counts.iterations), expected);
}
