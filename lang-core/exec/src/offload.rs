//! **Offloading.** Runs derivatives, and expressions that may be long, in compiled form on behalf
//! of the interpreter.
//!
//! The interpreter calls [`Elsewhere::take`] with a derivative or an expression that it has
//! reached. This module turns it into a function of its sizes and data ([`lang_ir::applied`]),
//! lowers that once through the pipeline, and runs it in `exec`. A function serves all sizes and
//! data. The interpreter evaluates everything without such a form, and evaluates again everything
//! that fails, because it alone reports failures.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::given::{self, Read, Refused, Texts};
use crate::{KnownScalars, Machine, Programs, Stopped, Tensor, World, border};
use lang_base::GlobalName;
use lang_ir::applied::{Applied, Site, Text};
use lang_ir::core::{Callee, Leaf, Outside, Reason};
use lang_ir::flat::Source;
use lang_ir::ssa::Ssa;
use lang_middle::pipeline::Callees;
use lang_resolve::forms::Derivative;
use lang_runtime::memory::TooLarge;
use lang_runtime::{Around, Asked, Elsewhere, Taken, Value};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_types::tree::{Body, TId};
use lang_types::ty::Type;

/// The largest number of functions compiled in one run, because a program can create a new function
/// from each result of the last.
const MAX_FUNCTIONS: usize = 256;

/// A lookup of the values of top-level `let`s.
pub type Globals<'g> = &'g dyn Fn(&GlobalName) -> Option<Value>;

/// A callback that reports a construct left to the interpreter. The second argument is the
/// operator, if it is a derivative.
pub type Told<'g> = &'g dyn Fn(&Outside, Option<Derivative>);

/// Memoised facts about expressions of bodies.
type Cached<T> = RefCell<HashMap<(Text, TId), Arc<[T]>>>;

/// An evaluator of parts of one run, with its caches.
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

/// Counts of the requests by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Functions that were lowered.
    pub made: u64,
    /// Requests that were evaluated.
    pub taken: u64,
    /// Those of `taken` that called the cached code of a function of scalars.
    pub known: u64,
    /// Requests left to the interpreter because they have no compiled form.
    pub outside: u64,
    /// Requests left to the interpreter because they hold dual numbers.
    pub varying: u64,
    /// Requests left to the interpreter because a check failed or a `let` had no value.
    pub failed: u64,
    /// Requests left to the interpreter because an integer in an index, or the memory needed,
    /// exceeded its limit.
    pub beyond: u64,
    /// Requests that hit a defect of a pass or of the engine.
    pub broken: u64,
}

impl Tally {
    /// Returns the sums of the counts of two runs.
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
    /// Creates an evaluator for these definitions. No other evaluator may use `programs`. The
    /// evaluator reports every construct that it leaves to the interpreter to `outside`, each time,
    /// with the operator if it is a derivative.
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

    /// Returns the counts of all requests so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally.get()
    }

    /// Returns the time spent on lowering and code generation. It is zero if `programs` has no
    /// clock.
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

    /// Returns the function of an applied operator or expression, lowered at most once. Returns
    /// `None` if it has no form or the run has too many functions.
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
        // The next application of this operator to scalars can then call the code at once.
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

/// Returns the values of the sizes and integer parameters of a function.
fn locals(ssa: &Ssa, read: &Read) -> HashMap<LocalId, i64> {
    let sizes = ssa.sizes.iter().copied().zip(read.sizes.iter().copied());
    let integers = ssa.params.iter().zip(&read.data).filter_map(|((local, _), value)| Some((*local, value.as_i64()?)));
    sizes.chain(integers).collect()
}

/// Returns the type of the result in the program.
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
            // The interpreter evaluates it again and reports the place and the reason.
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

/// Returns a cache key for a body, which does not depend on the item.
fn text(body: &Arc<Body>) -> Text {
    Text { item: GlobalName::new("", ""), body: Arc::clone(body) }
}

impl Texts for Generated<'_> {
    fn free(&self, body: &Arc<Body>, of: TId) -> Arc<[LocalId]> {
        let mut known = self.free.borrow_mut();
        Arc::clone(known.entry((text(body), of)).or_insert_with(|| lang_types::free::free(body, of).into()))
    }

    fn mentioned(&self, body: &Arc<Body>, of: TId) -> Arc<[(GlobalName, Type)]> {
        let mut known = self.mentioned.borrow_mut();
        Arc::clone(known.entry((text(body), of)).or_insert_with(|| lang_types::free::mentioned(body, of).into()))
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
