//! Derivatives of a run by their generated forms, and its longer expressions: what the interpreter reaches becomes a
//! function ([`crate::ir::applied`]), made once for all data and sizes, and the engine runs it. What has no such form,
//! and what fails, is the interpreter's.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::base::GlobalName;
use crate::exec::given::{self, Read, Refused, Texts};
use crate::exec::{KnownScalars, Machine, Programs, Stopped, Tensor, World, border};
use crate::interp::memory::TooLarge;
use crate::interp::{Around, Asked, Elsewhere, Taken, Value};
use crate::ir::applied::{Applied, Site, Text};
use crate::ir::core::{Callee, Leaf, Outside, Reason};
use crate::ir::flat::Source;
use crate::ir::ssa::Ssa;
use crate::pipeline::Callees;
use crate::predicate::{Atom, LocalId, Poly};
use crate::resolve::forms::Derivative;
use crate::types::tree::{Body, TId};
use crate::types::ty::Type;

/// More functions than this are not made in one run: a program can make a function of each result of the last.
const MAX_FUNCTIONS: usize = 256;

/// The values of top-level `let`s.
pub type Globals<'g> = &'g dyn Fn(&GlobalName) -> Option<Value>;

/// Is told what is left to the interpreter, and of a derivative its operator.
pub type Told<'g> = &'g dyn Fn(&Outside, Option<Derivative>);

/// What is known of expressions of bodies.
type Cached<T> = RefCell<HashMap<(Text, TId), Arc<[T]>>>;

/// Evaluates parts of a run.
pub struct Generated<'g> {
    callees: &'g dyn Callees,
    globals: Globals<'g>,
    outside: Told<'g>,
    made: RefCell<HashMap<Applied, Option<Arc<Ssa>>>>,
    programs: Programs,
    scalars: KnownScalars,
    free: Cached<LocalId>,
    mentioned: Cached<(GlobalName, Type)>,
    tally: Cell<Tally>,
}

/// What came of what was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Functions that were made.
    pub made: u64,
    /// Taken.
    pub taken: u64,
    /// Those of them that were functions of numbers known from the last time.
    pub known: u64,
    /// Left to the interpreter, as there is no form.
    pub outside: u64,
    /// Left to it, as dual numbers run already.
    pub varying: u64,
    /// Left to it, as something fails.
    pub failed: u64,
    /// Left to it, as an integer is too large to be understood, or the tensors are.
    pub beyond: u64,
    /// A defect of a pass or of the engine.
    pub broken: u64,
}

impl Tally {
    /// Of two runs.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            made: self.made.saturating_add(other.made),
            taken: self.taken.saturating_add(other.taken),
            known: self.known.saturating_add(other.known),
            outside: self.outside.saturating_add(other.outside),
            varying: self.varying.saturating_add(other.varying),
            failed: self.failed.saturating_add(other.failed),
            beyond: self.beyond.saturating_add(other.beyond),
            broken: self.broken.saturating_add(other.broken),
        }
    }
}

impl<'g> Generated<'g> {
    /// What is among these definitions, by these programs, which none but this fills. `outside` is told what is left to
    /// the interpreter, each time that it is found out, and whether a derivative is or an expression.
    #[must_use]
    pub fn new(callees: &'g dyn Callees, globals: Globals<'g>, programs: Programs, outside: Told<'g>) -> Self {
        Self {
            callees,
            globals,
            outside,
            made: RefCell::default(),
            programs,
            scalars: KnownScalars::default(),
            free: RefCell::default(),
            mentioned: RefCell::default(),
            tally: Cell::default(),
        }
    }

    /// What came of all that was asked for.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally.get()
    }

    /// How long it took to make functions and their code, if there is a clock.
    #[must_use]
    pub fn making(&self) -> Duration {
        self.programs.making()
    }

    fn count(&self, one: impl FnOnce(&mut Tally)) {
        let mut tally = self.tally.get();
        one(&mut tally);
        self.tally.set(tally);
    }

    fn left(&self, asked: &Asked<'_>, what: Reason) {
        let (code, node) = match asked {
            Asked::Operator(derived, _) => (derived.place().code(), derived.place().node()),
            Asked::Variable { code, node, .. } | Asked::Here { code, node, .. } => (&***code, *node),
        };
        let span = code.body().nodes[node].span;
        (self.outside)(&Outside { what, item: code.item().clone(), span }, asked.operator());
    }

    /// The function of what was applied, if it has one.
    fn function(&self, applied: &Applied, operator: Option<Derivative>) -> Option<Arc<Ssa>> {
        if let Some(known) = self.made.borrow().get(applied) {
            return known.clone();
        }
        if self.made.borrow().len() >= MAX_FUNCTIONS {
            return None;
        }
        let callee = Arc::new(Callee::applied(applied.clone()));
        let made = match self.programs.timed(|| self.callees.stages(&callee)) {
            Ok(stages) => {
                self.count(|t| t.made += 1);
                Some(Arc::clone(&stages.ssa))
            }
            Err(why) => {
                (self.outside)(&why, operator);
                None
            }
        };
        self.made.borrow_mut().insert(applied.clone(), made.clone());
        made
    }

    fn run(&self, read: &Read, asked: &Asked<'_>, around: &Around<'_>) -> Result<Option<Value>, Stopped> {
        let Some(ssa) = self.function(&read.applied, asked.operator()) else {
            self.count(|t| t.outside += 1);
            return Ok(None);
        };
        let locals = locals(&ssa, read);
        let extent = |p: &Poly| self.extent(&locals, p);
        let mut parts = Vec::new();
        for input in ssa.inputs.iter().filter(|i| i.source.is_passed()) {
            let Source::Param(k) = &input.source else { return Err(Stopped::Broken("an input")) };
            let value = read.data.get(*k as usize).ok_or(Stopped::Broken("an input"))?;
            let dims = input.leaf.dims.iter().map(&extent).collect::<Option<Vec<usize>>>();
            let part = dims.and_then(|dims| border::part(value, &input.leaf, &dims));
            parts.push(part.ok_or(Stopped::Broken("a part of an argument"))?);
        }
        let machine = Machine::new(self, &self.programs, around);
        if matches!(asked, Asked::Here { short_steps: true, .. }) && machine.has_steps(&ssa, &locals)? {
            return Ok(None);
        }
        let parts = machine.call(&ssa, &read.sizes, parts)?;
        // With the same function, and other numbers, the next one is a call of its code.
        if let Asked::Operator(derived, arguments) = asked
            && read.is_of(arguments)
            && let Some(made) = self.programs.scalars(&ssa.callee, arguments.len())
        {
            self.scalars.set(derived, made);
        }
        border::value(&ssa.result, written(&read.applied), &parts, &extent, around).map(Some)
    }

    fn extent(&self, locals: &HashMap<LocalId, i64>, p: &Poly) -> Option<usize> {
        let value = p.eval(&mut |a| match a {
            Atom::Local(l, _) => locals.get(l).copied(),
            Atom::Global(name) => self.integer(name),
            _ => None,
        });
        usize::try_from(value?.max(0)).ok()
    }
}

/// The sizes and integers that a function is passed.
fn locals(ssa: &Ssa, read: &Read) -> HashMap<LocalId, i64> {
    let sizes = ssa.sizes.iter().copied().zip(read.sizes.iter().copied());
    let integers = ssa.params.iter().zip(&read.data).filter_map(|((local, _), value)| Some((*local, value.as_i64()?)));
    sizes.chain(integers).collect()
}

/// The type of the result as the program has it.
fn written(applied: &Applied) -> Option<&Type> {
    match &applied.site {
        Site::Operator(operator, _) => match &operator.scope.text.body.nodes[operator.node].ty {
            Type::Fun(ty) => Some(&ty.result),
            _ => None,
        },
        Site::Variable { scope, node, .. } | Site::Here { scope, node } => Some(&scope.text.body.nodes[*node].ty),
    }
}

impl Elsewhere for Generated<'_> {
    fn take(&self, asked: &Asked<'_>, around: &Around<'_>) -> Taken {
        if let Asked::Operator(derived, arguments) = asked
            && let Some(known) = self.scalars.get(derived)
            && let Some(value) = known.call(arguments, around.interrupt)
        {
            self.count(|t| {
                t.taken += 1;
                t.known += 1;
            });
            return value.map_or(Taken::Interrupted, Taken::Value);
        }
        let read = match given::read(asked, self) {
            Ok(read) => read,
            Err(Refused::Varies) => {
                self.count(|t| t.varying += 1);
                return Taken::Not;
            }
            Err(Refused::Outside(what)) => {
                self.count(|t| t.outside += 1);
                self.left(asked, what);
                return Taken::Never;
            }
        };
        match self.run(&read, asked, around) {
            Ok(Some(value)) => {
                self.count(|t| t.taken += 1);
                return Taken::Value(value);
            }
            Ok(None) => return Taken::Never,
            Err(Stopped::Interrupted) => return Taken::Interrupted,
            // It fails again in the interpreter, which tells where and why.
            Err(Stopped::Failed(_) | Stopped::Unset) => self.count(|t| t.failed += 1),
            Err(Stopped::TooLarge(why @ (TooLarge::Planned(..) | TooLarge::Elements(_)))) => {
                return Taken::TooLarge(why);
            }
            Err(Stopped::TooLarge(_)) => {
                self.count(|t| t.beyond += 1);
                self.left(asked, Reason::Memory);
            }
            Err(Stopped::Beyond) => self.count(|t| t.beyond += 1),
            Err(Stopped::Broken(_)) => self.count(|t| t.broken += 1),
        }
        Taken::Not
    }
}

/// A body, whichever item it is of.
fn text(body: &Arc<Body>) -> Text {
    Text { item: GlobalName::new("", ""), body: Arc::clone(body) }
}

impl Texts for Generated<'_> {
    fn free(&self, body: &Arc<Body>, of: TId) -> Arc<[LocalId]> {
        let mut known = self.free.borrow_mut();
        Arc::clone(known.entry((text(body), of)).or_insert_with(|| given::free(body, of).into()))
    }

    fn mentioned(&self, body: &Arc<Body>, of: TId) -> Arc<[(GlobalName, Type)]> {
        let mut known = self.mentioned.borrow_mut();
        Arc::clone(known.entry((text(body), of)).or_insert_with(|| given::mentioned(body, of).into()))
    }

    fn global(&self, name: &GlobalName) -> Option<Value> {
        (self.globals)(name)
    }
}

impl World for Generated<'_> {
    fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        self.callees.ssa(callee)
    }

    fn integer(&self, name: &GlobalName) -> Option<i64> {
        (self.globals)(name)?.as_i64()
    }

    fn part(&self, name: &GlobalName, leaf: &Leaf, dims: &[usize]) -> Option<Tensor> {
        border::part(&(self.globals)(name)?, leaf, dims)
    }
}
