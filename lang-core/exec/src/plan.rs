//! **Memory plan.** Computes from sizes alone how many bytes the tensors of a run occupy at each
//! step. The results, temporaries and private copies of a kernel exist while it runs, and a tensor
//! is freed after its last use. So the peak is known before the run begins, except for arrays with
//! data-dependent extents.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use super::chunks::at_once;
use super::native::Ready;
use super::number::Names;
use super::order::beside;
use super::program::{Program, Step};
use super::reduce::Found;
use super::{Machine, Run, Stopped};
use lang_base::guarded;
use lang_ir::core::{Callee, Constant};
use lang_ir::region::{Arg, Loop, Part};
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, index};
use lang_nest::chunks::Own;
use lang_nest::{Place, Role};
use lang_sizes::predicate::{LocalId, Poly};
use lang_syntax::ops::Scalar;

/// The memory of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Plan {
    /// The peak number of bytes of all tensors, inputs included.
    pub peak: u64,
    /// The number of elements of the largest array.
    pub largest: u64,
    /// Whether the plan is complete. Arrays with data-dependent extents are not counted.
    pub is_whole: bool,
}

/// Plans of functions within: by the function's place, its sizes, and what its inputs hold and are.
type Known = RefCell<HashMap<(usize, Vec<i64>, Vec<Input>), Plan>>;

/// What is known of an input.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Input {
    /// The bytes that go with it when nothing reads it any more.
    bytes: Option<u64>,
    /// The integer that it is.
    integer: Option<i64>,
}

impl Input {
    const VIEW: Self = Self { bytes: Some(0), integer: None };
}

/// A run that computes nothing.
struct Dry<'a> {
    run: Run<'a>,
    known: &'a Known,
    /// The bytes of each statement that is alive.
    held: Vec<u64>,
    live: u64,
    plan: Plan,
}

impl Machine<'_> {
    /// Plans a call of a function for known sizes and integers, if the caller keeps the arguments.
    ///
    /// # Errors
    /// The function cannot be prepared.
    pub fn plan(&self, ssa: &Arc<Ssa>, known: &HashMap<LocalId, i64>) -> Result<Plan, Stopped> {
        let function = self.programs.get(&ssa.callee, || Some(Arc::clone(ssa)))?;
        let program = self.programs.at(&function, self.world, &|l| known.get(&l).copied());
        let mut run = self.start(&program, &[]);
        run.locals.clone_from(known);
        let mut given = 0_u64;
        let inputs = program.ssa.inputs.iter().map(|input| {
            let count = run.dims(&input.leaf.dims).map(|dims| elements(&dims)).ok();
            given = given.saturating_add(count.unwrap_or_default().saturating_mul(bytes_of(input.leaf.scalar)));
            Input { bytes: count.map(|_| 0), integer: None }
        });
        let inputs: Vec<Input> = inputs.collect();
        let plan = Dry::new(run, &Known::default()).planned(&inputs);
        Ok(Plan { peak: plan.peak.saturating_add(given), ..plan })
    }
}

impl Run<'_> {
    /// Returns an error if the memory limit is too low for this run, beside its inputs.
    pub(super) fn fits(&self) -> Result<(), Stopped> {
        let mut key: Vec<(LocalId, i64)> = self.locals.iter().map(|(l, n)| (*l, *n)).collect();
        key.sort_unstable();
        let mut known = self.program.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = match &*known {
            Some((of, plan)) if *of == key => *plan,
            _ => {
                let mut run = self.machine.start(self.program, &[]);
                run.locals.clone_from(&self.locals);
                let inputs = vec![Input::VIEW; self.program.ssa.inputs.len()];
                let plan = Dry::new(run, &Known::default()).planned(&inputs);
                *known = Some((key, plan));
                plan
            }
        };
        // An array that no run may have is told of as that.
        let largest = usize::try_from(plan.largest).unwrap_or(usize::MAX);
        self.memory.count([largest]).map_err(Stopped::TooLarge)?;
        self.memory.fits(plan.peak).map_err(Stopped::TooLarge)
    }
}

/// The bytes of an element; of a relation's none are counted.
fn bytes_of(scalar: Option<Scalar>) -> u64 {
    scalar.map_or(0, |scalar| scalar.bytes().into())
}

fn elements(dims: &[usize]) -> u64 {
    dims.iter().fold(1, |all, n| all.saturating_mul(u64::try_from(*n).unwrap_or(u64::MAX)))
}

impl<'a> Dry<'a> {
    fn new(run: Run<'a>, known: &'a Known) -> Self {
        let held = vec![0; run.program.ssa.stmts.len()];
        Self { run, known, held, live: 0, plan: Plan { peak: 0, largest: 0, is_whole: true } }
    }

    /// With these inputs.
    fn planned(mut self, inputs: &[Input]) -> Plan {
        let program = self.run.program;
        for (input, given) in program.ssa.inputs.iter().zip(inputs) {
            if let Some(i) = given.integer {
                self.run.locals.insert(input.local, i);
            }
        }
        let mut known = HashSet::new();
        for step in &program.steps {
            let dead = match step {
                Step::Statement(var) => {
                    if let Some(stmt) = program.ssa.stmts.get(var.0 as usize) {
                        self.statement(*var, stmt, inputs, &mut known);
                    }
                    program.dead.get(var.0 as usize)
                }
                Step::Kernel(ready) => {
                    self.kernel(ready);
                    Some(&ready.dead)
                }
                Step::Checks(_, dead) => Some(dead),
            };
            dead.into_iter().flatten().for_each(|v| self.drop(*v));
        }
        self.plan
    }

    fn drop(&mut self, var: Var) {
        let bytes = self.held.get_mut(var.0 as usize).map(std::mem::take).unwrap_or_default();
        self.live = self.live.saturating_sub(bytes);
    }

    /// It has this beside what is alive, for a while.
    fn needs(&mut self, bytes: u64) {
        self.plan.peak = self.plan.peak.max(self.live.saturating_add(bytes));
    }

    fn hold(&mut self, var: Var, bytes: u64) {
        self.needs(bytes);
        self.live = self.live.saturating_add(bytes);
        self.held.get_mut(var.0 as usize).into_iter().for_each(|slot| *slot = bytes);
    }

    /// What is told, or that it is not.
    fn known<T: Default>(&mut self, found: Result<T, Stopped>) -> T {
        found.unwrap_or_else(|_| {
            self.plan.is_whole = false;
            T::default()
        })
    }

    fn bytes(&mut self, dims: &[Poly], scalar: Option<Scalar>) -> u64 {
        let count = self.run.dims(dims).map(|dims| elements(&dims));
        let count = self.known(count);
        self.plan.largest = self.plan.largest.max(count);
        count.saturating_mul(bytes_of(scalar))
    }

    fn statement(&mut self, var: Var, stmt: &Stmt, inputs: &[Input], known: &mut HashSet<u32>) {
        let program = self.run.program;
        let dead = program.dead.get(var.0 as usize).map(Vec::as_slice).unwrap_or_default();
        match &stmt.rhs {
            Rhs::Input(k) => {
                let bytes = inputs.get(*k as usize).and_then(|input| input.bytes);
                self.plan.is_whole &= bytes.is_some();
                return self.hold(var, bytes.unwrap_or_default());
            }
            Rhs::Call { callee, sizes, args, batch, .. } => {
                let group = program.group.get(&var.0).copied().unwrap_or(var.0);
                if known.insert(group) {
                    let same = |k: &u32| program.group.get(k).copied().unwrap_or(*k) == group;
                    let parts = self.parts(&same);
                    let inner = self.call(callee, sizes, args, stmt, *batch as usize);
                    self.needs(if *batch == 0 { parts.max(inner) } else { parts.saturating_add(inner) });
                }
            }
            Rhs::Loop(of, _) => {
                let first = program.ssa.stmts.iter().position(|s| matches!(&s.rhs, Rhs::Loop(other, _) if other == of));
                let first = first.and_then(|k| u32::try_from(k).ok()).unwrap_or(var.0);
                if known.insert(first) {
                    let stmts = &program.ssa.stmts;
                    // What is carried is where an iteration has it.
                    let same = |k: &u32| {
                        let stmt = stmts.get(*k as usize);
                        let kept = |part: &Part| matches!(part, Part::Every(_) | Part::State(_));
                        stmt.is_some_and(|s| matches!(&s.rhs, Rhs::Loop(other, part) if other == of && kept(part)))
                    };
                    let parts = self.parts(&same);
                    let inner = self.repeat(of, dead);
                    self.needs(parts.saturating_add(inner));
                }
            }
            Rhs::Update { base, batch: 0, .. } if base.at.is_empty() && dead.contains(&base.var) => self.drop(base.var),
            Rhs::Contract { bound, pred, neg: false, factors } if bound.is_empty() && pred.is_true() => {
                if let [of] = factors.as_slice()
                    && self.is_view(stmt, of)
                {
                    // It holds what it is a view of, if that goes.
                    let bytes = self.held.get(of.var.0 as usize).copied().unwrap_or_default();
                    let own = if dead.contains(&of.var) { bytes } else { 0 };
                    self.live = self.live.saturating_sub(own);
                    self.held.get_mut(of.var.0 as usize).into_iter().for_each(|slot| *slot -= own);
                    return self.hold(var, own);
                }
            }
            Rhs::Order(of) => {
                let made = self.bytes(&stmt.dims, stmt.scalar);
                let scalar = program.ssa.stmts.get(of.of.var.0 as usize).and_then(|keys| keys.scalar);
                let is_there = of.pred.is_true() && self.is_view(stmt, &of.of);
                let keys = if is_there { 0 } else { self.bytes(&stmt.dims, scalar) };
                let row = stmt.dims.last().map_or(1, |n| self.bytes(std::slice::from_ref(n), Some(Scalar::Bool)));
                self.needs(made.saturating_add(keys).saturating_add(beside(row)));
            }
            Rhs::Reduce(_) => {
                let made = self.bytes(&stmt.dims, stmt.scalar);
                let count = self.bytes(&stmt.dims, Some(Scalar::Bool));
                let found = count.saturating_mul(u64::try_from(size_of::<Found>()).unwrap_or(u64::MAX));
                self.needs(made.saturating_add(found));
            }
            _ => {}
        }
        let bytes = self.bytes(&stmt.dims, stmt.scalar);
        self.hold(var, bytes);
    }

    /// All of what is read, in its order?
    fn is_view(&self, stmt: &Stmt, of: &Access) -> bool {
        let base = self.run.program.ssa.stmts.get(of.var.0 as usize);
        let places = (0..).zip(&of.at).all(|(k, p)| *p == index(k, &Poly::default()).value());
        places && base.is_some_and(|base| base.dims == stmt.dims)
    }

    /// The bytes of all parts of a call or a loop.
    fn parts(&mut self, same: &dyn Fn(&u32) -> bool) -> u64 {
        let program = self.run.program;
        let mut all = 0_u64;
        for (k, stmt) in (0..).zip(&program.ssa.stmts) {
            if matches!(stmt.rhs, Rhs::Call { .. } | Rhs::Loop(..)) && same(&k) {
                all = all.saturating_add(self.bytes(&stmt.dims, stmt.scalar));
            }
        }
        all
    }

    fn call(&mut self, callee: &Arc<Callee>, sizes: &[Poly], args: &[Access], stmt: &Stmt, batch: usize) -> u64 {
        let Ok(function) = self.run.machine.function(callee) else { return self.known(Err(Stopped::Unset)) };
        let extents = self.run.extents(stmt.dims.get(..batch).unwrap_or_default());
        let extents = self.known(extents);
        let sizes = self.sizes(sizes, &extents);
        let program = self.run.machine.at(&function, &sizes);
        // Arguments are views.
        let mut inputs = vec![Input::VIEW; program.ssa.inputs.len()];
        let passed = program.ssa.inputs.iter().zip(&mut inputs).filter(|(input, _)| input.source.is_passed());
        passed.zip(args).for_each(|((_, given), arg)| given.integer = self.integer(arg));
        self.inner(&program, &sizes, &inputs)
    }

    /// The integer that is passed, if sizes and integers that are known tell it.
    fn integer(&self, arg: &Access) -> Option<i64> {
        let ssa = &self.run.program.ssa;
        let stmt = ssa.stmts.get(arg.var.0 as usize)?;
        match &stmt.rhs {
            _ if stmt.scalar != Some(Scalar::I64) || !stmt.dims.is_empty() || !arg.at.is_empty() => None,
            Rhs::Input(k) => self.run.local(ssa.inputs.get(*k as usize)?.local),
            Rhs::Constant(Constant::Int(i)) => Some(*i),
            Rhs::Index(p) => Names::new(&self.run, &[]).num(p).ok()?.value(&[]).ok(),
            _ => None,
        }
    }

    fn sizes(&mut self, sizes: &[Poly], extents: &[i64]) -> Vec<i64> {
        let first = vec![0; extents.len()];
        let value = |p: &Poly| Names::new(&self.run, extents).num(p)?.value(&first).map_err(Stopped::from);
        let found = sizes.iter().map(value).collect::<Result<Vec<i64>, _>>();
        self.known(found)
    }

    /// What a function within holds.
    fn inner(&mut self, program: &Arc<Program>, sizes: &[i64], inputs: &[Input]) -> u64 {
        let deep = self.run.machine.depth.get();
        if sizes.len() != program.ssa.sizes.len() || deep > super::DEEPEST {
            self.plan.is_whole = false;
            return 0;
        }
        let key = (Arc::as_ptr(program).addr(), sizes.to_vec(), inputs.to_vec());
        let known = self.known.borrow().get(&key).copied();
        let plan = known.unwrap_or_else(|| {
            self.run.machine.depth.set(deep + 1);
            let run = self.run.machine.start(program, sizes);
            let plan = guarded(|| Dry::new(run, self.known).planned(inputs));
            self.run.machine.depth.set(deep);
            self.known.borrow_mut().insert(key, plan);
            plan
        });
        self.plan.is_whole &= plan.is_whole;
        self.plan.largest = self.plan.largest.max(plan.largest);
        plan.peak
    }

    /// What an iteration of a loop holds beside what it leaves.
    fn repeat(&mut self, of: &Loop, dead: &[Var]) -> u64 {
        let program = self.run.machine.programs.region(&of.body, self.run.machine.world);
        let mut extents = self.run.extents(&of.batch).unwrap_or_default();
        extents.push(i64::MAX);
        let sizes = self.sizes(&of.sizes, &extents);
        let run = self.run.machine.start(&program, &sizes);
        let mut inputs = Vec::new();
        for (arg, input) in of.args.iter().zip(&program.ssa.inputs) {
            let is_carried = matches!(arg, Arg::Carried { .. });
            // What nothing reads after the loop it takes.
            if is_carried && of.batch.is_empty() && dead.contains(&arg.access().var) {
                self.drop(arg.access().var);
            }
            let count = run.dims(&input.leaf.dims).ok().map(|dims| elements(&dims));
            let bytes = count.map(|n| n.saturating_mul(bytes_of(input.leaf.scalar)));
            inputs.push(if is_carried { Input { bytes, ..Input::VIEW } } else { Input::VIEW });
        }
        self.inner(&program, &sizes, &inputs)
    }

    fn kernel(&mut self, ready: &Ready) {
        let (program, kernel) = (self.run.program, &ready.kernel);
        let integers = kernel.integers.iter().map(|a| self.run.integer(a)).collect::<Result<Vec<i64>, Stopped>>();
        let integers = self.known(integers);
        let is_made = |var: Var| kernel.places.iter().any(|p| p.var == var && p.role == Role::Made);
        let mut rooms: Vec<(Var, u64)> = Vec::new();
        if ready.code.is_some() {
            for (place, extents) in ready.rooms() {
                let dims = extents.iter().map(|n| self.run.extent(n, &integers)).collect::<Result<Vec<usize>, _>>();
                let count = self.known(dims.map(|dims| elements(&dims)));
                self.plan.largest = self.plan.largest.max(count);
                rooms.push((place.var, count.saturating_mul(bytes_of(Some(place.scalar)))));
            }
        } else {
            for var in &kernel.sets {
                let Some(stmt) = program.ssa.stmts.get(var.0 as usize) else { continue };
                rooms.push((*var, self.bytes(&stmt.dims, stmt.scalar)));
            }
        }
        let copies = self.copies(ready, &integers, &mut rooms);
        let all = rooms.iter().fold(copies, |all, (_, bytes)| all.saturating_add(*bytes));
        self.needs(all);
        for (var, bytes) in rooms {
            if is_made(var) {
                self.hold(var, bytes);
            }
        }
    }

    /// What chunks of a kernel have for themselves, and the rooms that are between its parts.
    fn copies(&mut self, ready: &Ready, integers: &[i64], rooms: &mut Vec<(Var, u64)>) -> u64 {
        let Ok(Some(parts)) = self.run.chunks_of(ready, integers) else { return 0 };
        let threads = ready.code.as_ref().map_or(1, |code| code.threads());
        let mut most = 0;
        for (part, chunks) in parts {
            for place in part.kernel.places.iter().filter(|p| p.role == Role::Made) {
                if rooms.iter().all(|(var, _)| *var != place.var) {
                    rooms.push((place.var, self.place(place).1));
                }
            }
            let own = part.chunked.iter().flat_map(|c| &c.own).filter(|_| chunks > 1);
            let own = own.filter_map(|(var, how)| Some((part.kernel.places.iter().find(|p| p.var == *var)?, *how)));
            let own: Vec<(Own, (u64, u64))> = own.map(|(place, how)| (how, self.place(place))).collect();
            let copied = own.iter().filter(|(how, _)| *how != Own::Thread).map(|(_, (count, _))| *count);
            let copied = usize::try_from(copied.fold(0_u64, u64::saturating_add)).unwrap_or(usize::MAX);
            let at_once = at_once(copied, chunks, threads);
            let own = own.iter().fold(0_u64, |all, (how, (_, bytes))| {
                let count = if *how == Own::Thread { threads } else { at_once };
                all.saturating_add(bytes.saturating_mul(u64::try_from(count).unwrap_or(u64::MAX)))
            });
            most = most.max(own);
        }
        most
    }

    /// How many elements a place has, and bytes.
    fn place(&mut self, place: &Place) -> (u64, u64) {
        let dims: Vec<Poly> = place.axes.iter().flatten().cloned().collect();
        let bytes = self.bytes(&dims, Some(place.scalar));
        (bytes / bytes_of(Some(place.scalar)), bytes)
    }
}
