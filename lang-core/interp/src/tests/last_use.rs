//! **Randomised test** of the last-use analysis. Its plan takes values out of slots at their last
//! uses. No program must observe this, so random programs must have the same value with and without
//! the plan.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::fixture::*;
use crate::Interp;
use lang_base::Span;
use lang_runtime::code::RunnableBody;
use lang_runtime::last_use::LastUses;
use lang_runtime::{RunLimits, Value};
use lang_sizes::predicate::LocalId;
use lang_syntax::ops::{BinOp, BinderKind};
use lang_types::tree::{TypedExpr, TypedId, TypedPattern, TypedSubscript, TypedUpdateTarget, TypedWithUpdate};
use lang_types::ty::Type;

struct ProgramGenerator {
    b: BodyBuilder,
    state: u64,
    /// The locals in scope.
    scope: Vec<LocalId>,
}

fn array() -> Type {
    vec_of(3, Type::I64)
}

fn record() -> Type {
    record_of(&[("x", array()), ("y", array())])
}

impl ProgramGenerator {
    fn pick(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % n
    }

    fn local_of_type(&mut self, ty: &Type) -> Option<TypedId> {
        let fitting: Vec<_> =
            self.scope.iter().copied().filter(|l| self.b.body.locals[l.0 as usize].ty == *ty).collect();
        if fitting.is_empty() {
            return None;
        }
        let at = usize::try_from(self.pick(fitting.len() as u64)).unwrap();
        Some(self.b.get(fitting[at]))
    }

    fn in_scope(&mut self, locals: &[LocalId], f: impl FnOnce(&mut Self) -> TypedId) -> TypedId {
        let mark = self.scope.len();
        self.scope.extend(locals);
        let e = f(self);
        self.scope.truncate(mark);
        e
    }

    fn index(&mut self) -> TypedId {
        let i = self.pick(3).cast_signed();
        self.b.int(i)
    }

    fn condition(&mut self, depth: u32) -> TypedId {
        let (x, y) = (self.int(depth), self.int(depth));
        self.b.compare(BinOp::Lt, x, y)
    }

    fn int(&mut self, depth: u32) -> TypedId {
        if depth == 0 {
            return match self.local_of_type(&Type::I64) {
                Some(e) => e,
                None => self.index(),
            };
        }
        match self.pick(4) {
            0 => {
                let (x, y) = (self.int(depth - 1), self.int(depth - 1));
                self.b.add(x, y)
            }
            1 => {
                let i = self.b.below(2, "i");
                let e = self.in_scope(&[i.local], |g| g.int(depth - 1));
                self.b.binder(BinderKind::Sum, vec![i], e, Type::I64)
            }
            _ => {
                let (a, i) = (self.expr(depth - 1, &array()), self.index());
                self.b.at(a, &[i])
            }
        }
    }

    fn update(&mut self, depth: u32, ty: &Type) -> TypedId {
        let base = self.expr(depth, ty);
        let updates = (0..=self.pick(2)).map(|_| {
            let add = self.pick(3) == 0;
            let (place, value) = if *ty == array() {
                let place =
                    TypedUpdateTarget::Index(vec![TypedSubscript::Index { index: self.index(), is_proved: false }]);
                (place, self.int(depth))
            } else {
                (TypedUpdateTarget::Proj(u32::try_from(self.pick(2)).unwrap()), self.expr(depth, &array()))
            };
            TypedWithUpdate { target: place, is_add: add, value, span: Span::default() }
        });
        let updates = updates.collect();
        self.b.node(TypedExpr::With(base, updates), ty.clone())
    }

    fn expr(&mut self, depth: u32, ty: &Type) -> TypedId {
        if depth == 0 {
            if let Some(e) = self.local_of_type(ty) {
                return e;
            }
            let (x, y) = (self.b.ints(&[1, 2, 3]), self.b.ints(&[4, 5, 6]));
            return if *ty == array() { x } else { self.b.record(&[("x", x), ("y", y)]) };
        }
        let d = depth - 1;
        match self.pick(9) {
            0 | 1 => self.update(d, ty),
            2 => {
                if *ty == array() {
                    let r = self.expr(d, &record());
                    let k = u32::try_from(self.pick(2)).unwrap();
                    self.b.proj(r, k)
                } else {
                    let (x, y) = (self.expr(d, &array()), self.expr(d, &array()));
                    self.b.record(&[("x", x), ("y", y)])
                }
            }
            3 => {
                let (p, x, y) = (self.condition(d), self.expr(d, ty), self.expr(d, ty));
                self.b.node(TypedExpr::If(vec![(p, x)], y), ty.clone())
            }
            4 => {
                let bound = if self.pick(2) == 0 { array() } else { record() };
                let l = self.b.local("l", bound.clone());
                let value = self.expr(d, &bound);
                let e = self.in_scope(&[l], |g| g.expr(d, ty));
                self.b.bind(l, value, e)
            }
            5 => {
                let acc = self.b.local("acc", ty.clone());
                let (init, i) = (self.expr(d, ty), self.b.below(2, "i"));
                let body = self.in_scope(&[acc, i.local], |g| g.expr(d, ty));
                self.b.fold(TypedPattern::Bind(acc), init, vec![i], body)
            }
            6 => {
                let (l, n) = (self.b.local("l", ty.clone()), self.b.local("n", Type::I64));
                let (first, zero) = (self.expr(d, ty), self.b.int(0));
                let init = self.b.tuple(&[first, zero]);
                let (k, two) = (self.b.get(n), self.b.int(2));
                let more = self.b.compare(BinOp::Lt, k, two);
                let other = self.in_scope(&[l, n], |g| g.condition(d));
                let cond = self.b.node(TypedExpr::And(vec![more, other]), Type::BOOL);
                let next = self.in_scope(&[l, n], |g| g.expr(d, ty));
                let (k, one) = (self.b.get(n), self.b.int(1));
                let k = self.b.add(k, one);
                let body = self.b.tuple(&[next, k]);
                let pair = self.b.ty(body);
                let acc = TypedPattern::Tuple(vec![TypedPattern::Bind(l), TypedPattern::Bind(n)]);
                let e = self.b.node(TypedExpr::Loop { is_scan: false, acc, init, cond, body }, pair);
                self.b.proj(e, 0)
            }
            7 => {
                let (p, q) = (self.b.local("p", array()), self.b.local("q", record()));
                let (x, y) = (self.expr(d, &array()), self.expr(d, &record()));
                let t = self.b.tuple(&[x, y]);
                let e = self.in_scope(&[p, q], |g| g.expr(d, ty));
                let pat = TypedPattern::Tuple(vec![TypedPattern::Bind(p), TypedPattern::Bind(q)]);
                self.b.node(TypedExpr::Match(t, vec![(pat, e)]), ty.clone())
            }
            _ => {
                let param = self.b.local("param", array());
                let captures = self.scope.clone();
                let e = self.in_scope(&[param], |g| g.expr(d, ty));
                let f = self.b.lambda(vec![TypedPattern::Bind(param)], e, captures, fun(&[array()], ty.clone()));
                let x = self.expr(d, &array());
                self.b.apply(f, &[x], ty.clone())
            }
        }
    }
}

fn value(code: &Arc<RunnableBody>) -> Value {
    let (world, mut host, interrupt) = (TestProgram::default(), RecordingHost::default(), AtomicBool::new(false));
    let mut interp = Interp::new(&world, &mut host, RunLimits::default(), &interrupt);
    let mut frame = interp.new_frame(code.site(Span::default()), code.body.locals.len(), Arc::default()).unwrap();
    interp.eval(code, &mut frame, code.body.root.unwrap()).unwrap()
}

#[test]
fn plans_change_nothing() {
    let mut takes = 0;
    for seed in 0..3000 {
        let mut g = ProgramGenerator { b: BodyBuilder::new(), state: seed, scope: Vec::new() };
        let (x, r) = (g.b.local("x", array()), g.b.local("r", record()));
        let first = g.b.ints(&[7, 8, 9]);
        let second = g.expr(0, &record());
        let e = g.in_scope(&[x, r], |g| {
            let (p, q) = (g.expr(4, &record()), g.expr(4, &array()));
            g.b.tuple(&[p, q])
        });
        let e = g.b.bind(r, second, e);
        let e = g.b.bind(x, first, e);
        let body = g.b.root(e);
        let planned = RunnableBody::new(&name("main"), body, false);
        takes += (0..planned.body.nodes.len())
            .filter(|i| planned.last_uses.takes_operand(TypedId::from_raw(u32::try_from(*i).unwrap())))
            .count();
        let mut plain = RunnableBody::new(&name("main"), planned.body.clone(), false);
        Arc::get_mut(&mut plain).unwrap().last_uses = LastUses::default();
        assert_eq!(value(&planned), value(&plain), "seed {seed}");
    }
    assert!(takes > 3000);
}
