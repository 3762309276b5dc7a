//! **Printing of schedules**:
//!
//! ```text
//! kernel X4, X5
//!   given X0[n], X1[m]; makes X5[n]
//!   for i < n, in chunks:  -- n times
//!     X4 = 0
//!     for j in max(0, i - n + 1)..min(m, i + 1):  -- at most n*m times
//!       X4 += X0[i - j] * X1[j]
//!     X5[i] = exp(X4)
//! ```
//!
//! The comment after a loop is the trip count of its body. A loop outside kernels is printed with
//! its steps before the first read of its results, as in the text of Tensor SSA. Trip counts in its
//! steps are per iteration:
//!
//! ```text
//! L0 = loop j0 < n with n {  -- n times
//!   Y0 = carried X0 then Y4
//!   kernel given Y0[n]; makes Y3[n]
//!     for i < n, in chunks:  -- n times
//! ```

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::chunks::{self, Own};
use super::kernel::{Join, Kernel, Loop, Node, Place, Product, Role, Set};
use super::times::Around;
use super::whole::Scheduled;
use super::{Prepared, Step, is_trivial};
use lang_base::Name;
use lang_base::guarded;
use lang_ir::canonical::statement;
use lang_ir::core::Constant;
use lang_ir::reduce::Reducer;
use lang_ir::region as loops;
use lang_ir::ssa::{Access, Rhs, Ssa, Var, index, index_number};
use lang_ir::ssa_text::{LoopText, rhs_text};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_syntax::ops::Scalar;

/// A printable schedule of a function, case by case. Notes follow the lines of their statements.
pub struct Shown<'a> {
    /// The cases.
    pub cases: &'a [Scheduled],
    /// Returns the note on a statement of a case, if any.
    pub note: &'a dyn Fn(&Prepared, Var) -> Option<String>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, case) in self.cases.iter().enumerate() {
            if !case.told.is_true() {
                writeln!(f, "{}where {}:\n", if k == 0 { "" } else { "\n" }, case.told)?;
            }
            let note = |var| (self.note)(&case.prepared, var);
            Block { of: case, indent: 0, depth: 0, loops: &Cell::new(0), note: &note, said: Cell::default() }.fmt(f)?;
        }
        Ok(())
    }
}

/// The steps of a case, or of the body of a loop.
struct Block<'a> {
    of: &'a Scheduled,
    /// How far in its lines stand.
    indent: usize,
    /// How many loops that are no loops of kernels are around.
    depth: u32,
    /// How many of these have been printed.
    loops: &'a Cell<u32>,
    note: &'a dyn Fn(Var) -> Option<String>,
    /// Of which loop's body a note was printed last.
    said: Cell<Option<Var>>,
}

impl fmt::Display for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ssa = self.ssa();
        let mut read: HashSet<Var> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        let mut see = |rhs: &Rhs| rhs.for_each_operand(&mut |v| read.extend([v]));
        ssa.stmts.iter().for_each(|s| see(&s.rhs));
        for step in &self.of.schedule.steps {
            let Step::Kernel(kernel, _) = step else { continue };
            kernel.body.iter().for_each(|node| node.for_each_set(&mut |set| see(&set.rhs)));
        }
        let mut numbers: HashMap<usize, u32> = HashMap::new();
        for (var, stmt) in (0..).map(Var).zip(&ssa.stmts) {
            if is_trivial(&stmt.rhs) && read.contains(&var) {
                self.line(f, 0)?;
                writeln!(f, "{} is {}", self.name(var), self.rhs(var, &stmt.rhs))?;
            }
        }
        for step in &self.of.schedule.steps {
            match step {
                Step::Statement(var) => self.statement(f, *var, &mut numbers)?,
                Step::Kernel(kernel, needs) => self.kernel(f, kernel, needs)?,
                Step::Checks(checks) => {
                    self.line(f, 0)?;
                    writeln!(f, "checks {}", listed(checks))?;
                }
            }
        }
        Ok(())
    }
}

impl Block<'_> {
    fn ssa(&self) -> &Ssa {
        &self.of.prepared.ssa
    }

    fn line(&self, f: &mut fmt::Formatter<'_>, more: usize) -> fmt::Result {
        write!(f, "{:1$}", "", 2 * (self.indent + more))
    }

    fn name(&self, var: Var) -> Name {
        statement(self.depth, var)
    }

    /// What is said of a statement, behind its line.
    fn noted(&self, f: &mut fmt::Formatter<'_>, var: Var) -> fmt::Result {
        // In the body of a loop that of the loop is said once.
        let body = self.of.prepared.body_of(var);
        let is_said = body.is_some() && self.said.replace(body) == body;
        (self.note)(var).filter(|_| !is_said).map_or(Ok(()), |note| write!(f, "  -- {note}"))?;
        writeln!(f)
    }

    /// A statement that no kernel has. A loop stands before its first part.
    fn statement(&self, f: &mut fmt::Formatter<'_>, var: Var, numbers: &mut HashMap<usize, u32>) -> fmt::Result {
        let Some(stmt) = self.ssa().stmts.get(var.0 as usize) else { return Ok(()) };
        let text = match &stmt.rhs {
            Rhs::Loop(of, part) => {
                let Some(at) = self.of.number_of(of) else { return Ok(()) };
                let Some((_, bodies)) = self.of.loops.get(at) else { return Ok(()) };
                let of = self.of_body(of, bodies.first());
                let number = match numbers.get(&at) {
                    Some(number) => *number,
                    None => {
                        let number = self.loops.replace(self.loops.get() + 1);
                        numbers.insert(at, number);
                        guarded(|| self.looped(f, &of, number, bodies))?;
                        number
                    }
                };
                LoopText { of: &of, number, depth: self.depth }.part(*part)
            }
            rhs => self.rhs(var, rhs),
        };
        self.line(f, 0)?;
        let all = stmt.dims.iter().enumerate().map(|(k, n)| format!("{} < {}", index(k, n).name, self.poly(n)));
        write!(f, "{} = {text}", self.element(var, &all.collect::<Vec<_>>()))?;
        self.noted(f, var)
    }

    /// A loop as this function says it, with its body as it is scheduled.
    fn of_body(&self, of: &loops::Loop, body: Option<&Scheduled>) -> loops::Loop {
        // Its indices are called so in its line and in its body.
        let number = |a: &Atom| match a {
            Atom::Local(l, _) => Some(Poly::atom(Atom::Local(*l, format!("j{}", index_number(*l)?).into()))),
            _ => None,
        };
        let poly = |p: &Poly| self.poly(p).substitute(&number);
        let access = &mut |a: &Access| Access { var: a.var, at: a.at.iter().map(poly).collect() };
        let mut of = of.map(access, &poly, &|p| self.pred(p).map(&poly));
        if let Some(body) = body {
            of.body = Arc::clone(&body.prepared.ssa);
        }
        of
    }

    /// A loop that runs step by step.
    fn looped(&self, f: &mut fmt::Formatter<'_>, of: &loops::Loop, number: u32, bodies: &[Scheduled]) -> fmt::Result {
        self.line(f, 0)?;
        write!(f, "{} {{", LoopText { of, number, depth: self.depth }.head())?;
        match of.count() {
            Some(n) => writeln!(f, "  -- {} times", of.batch.iter().fold(n.clone(), |all, n| all.mul(n)))?,
            None => writeln!(f)?,
        }
        for body in bodies {
            let of = self.of_body(of, Some(body));
            let is_all = body.told.is_true();
            if !is_all {
                self.line(f, 1)?;
                writeln!(f, "where {}:", body.told)?;
            }
            let indent = self.indent + if is_all { 1 } else { 2 };
            let inner = Block {
                of: body,
                indent,
                depth: self.depth + 1,
                loops: self.loops,
                note: &|_| None,
                said: Cell::default(),
            };
            for (var, stmt) in (0..).map(Var).zip(&of.body.stmts) {
                if let Rhs::Input(k) = &stmt.rhs {
                    inner.line(f, 0)?;
                    let given = LoopText { of: &of, number, depth: self.depth }.argument(*k);
                    writeln!(f, "{} = {given}", inner.name(var))?;
                }
            }
            fmt::Display::fmt(&inner, f)?;
        }
        self.line(f, 0)?;
        writeln!(f, "}}")
    }

    fn rhs(&self, var: Var, rhs: &Rhs) -> String {
        let of = self.ssa().stmts.get(var.0 as usize).and_then(|s| s.scalar).unwrap_or(Scalar::F64);
        let rhs = rhs.map(&mut |a| self.access(a), &|p| self.poly(p), &|p| self.pred(p));
        rhs_text(self.ssa(), &rhs, of, self.depth)
    }

    fn access(&self, of: &Access) -> Access {
        Access { var: of.var, at: of.at.iter().map(|p| self.poly(p)).collect() }
    }

    /// With what it reads called as it is called here.
    fn poly(&self, p: &Poly) -> Poly {
        if self.depth == 0 {
            return p.clone();
        }
        p.substitute(&|a| {
            let Atom::Read(x, _, at) = a else { return None };
            let at = at.iter().map(|p| self.poly(p)).collect();
            Some(Poly::atom(Atom::Read(*x, self.name(Var::of_local(*x)?), at)))
        })
    }

    fn pred(&self, p: &Pred) -> Pred {
        if self.depth == 0 {
            return p.clone();
        }
        p.map(&|p| self.poly(p)).replace_opaque(&|x| {
            let name = self.name(Var::of_local(x.of)?);
            let (of, at) = (x.of, x.at.into());
            Some(if x.array { Pred::Is(of, name, at, true) } else { Pred::Member(of, name, at, true) })
        })
    }

    fn polys(&self, all: &[Poly]) -> Vec<String> {
        all.iter().map(|p| self.poly(p).to_string()).collect()
    }

    /// The greatest or the least of these.
    fn bound(&self, of: &[Poly], word: &str) -> String {
        match self.polys(of).as_slice() {
            [one] => one.clone(),
            all => format!("{word}({})", all.join(", ")),
        }
    }

    fn place(&self, p: &Place) -> String {
        let axes: Vec<String> = p.axes.iter().flatten().map(|p| self.poly(p).to_string()).collect();
        self.element(p.var, &axes)
    }

    fn element(&self, var: Var, at: &[String]) -> String {
        let name = self.name(var);
        if at.is_empty() { name.to_string() } else { format!("{name}[{}]", at.join(", ")) }
    }

    fn in_chunks(&self, own: &[(Var, Own)]) -> String {
        let of = |which: fn(&Own) -> bool, word: &str| {
            let own = own.iter().filter(|(_, own)| which(own));
            let vars: Vec<String> = own.map(|(v, _)| self.name(*v).to_string()).collect();
            if vars.is_empty() { String::new() } else { format!(", {} {word}", vars.join(" and ")) }
        };
        let joined = of(|own| matches!(own, Own::Chunk(_)), "joined");
        let by_thread = of(|own| matches!(own, Own::Thread), "of each thread");
        format!(", in chunks{joined}{by_thread}")
    }
}

impl Block<'_> {
    fn kernel(&self, f: &mut fmt::Formatter<'_>, kernel: &Kernel, needs: &[u32]) -> fmt::Result {
        let of = |role: Role, word: &str| {
            let places = kernel.places.iter().filter(|p| p.role == role && !p.is_register());
            let all: Vec<String> = places.map(|p| self.place(p)).collect();
            if all.is_empty() { None } else { Some(format!("{word} {}", all.join(", "))) }
        };
        let heads = [of(Role::Given, "given"), of(Role::Made, "makes"), of(Role::Within, "within")];
        self.line(f, 0)?;
        writeln!(f, "kernel {}", heads.into_iter().flatten().collect::<Vec<_>>().join("; "))?;
        if !needs.is_empty() {
            self.line(f, 1)?;
            writeln!(f, "after checks {}", listed(needs))?;
        }
        let around = Around::new(self.ssa());
        for node in &kernel.body {
            let own = if let Node::Loop(of) = node { chunks::own(self.ssa(), kernel, of) } else { None };
            self.node(f, node, &around, own.as_deref())?;
        }
        Ok(())
    }

    /// A node; of a loop that runs in chunks, what each of these has of its own.
    fn node(
        &self,
        f: &mut fmt::Formatter<'_>,
        node: &Node,
        around: &Around,
        own: Option<&[(Var, Own)]>,
    ) -> fmt::Result {
        let within = |f: &mut fmt::Formatter<'_>, body: &[Node], around: &Around| {
            body.iter().try_for_each(|node| self.node(f, node, around, None))
        };
        self.line(f, around.depth())?;
        match node {
            Node::Loop(of @ Loop { index, goes_on: Some(goes_on), body, .. }) => {
                let asked = self.element(goes_on.var, &self.polys(&goes_on.at));
                writeln!(f, "for {} while {asked}:", index.name)?;
                within(f, body, &around.within(of))
            }
            Node::Loop(of @ Loop { index, from, to, in_order, body, .. }) => {
                let inside = around.within(of);
                let (least, most) = (around.greatest(from), around.least(&index.extent, to));
                let (from, to) = (self.bound(&least, "max"), self.bound(&most, "min"));
                let range = if from == "0" { format!("< {to}") } else { format!("in {from}..{to}") };
                let order = if *in_order {
                    ", in order".to_owned()
                } else {
                    own.map(|own| self.in_chunks(own)).unwrap_or_default()
                };
                writeln!(f, "for {} {range}{order}:  -- {}", index.name, inside.times(&|p| self.poly(p)))?;
                within(f, body, &inside)
            }
            Node::Told { index, value, body } => {
                writeln!(f, "at {} = {} if < {}:", index.name, self.poly(value), self.poly(&index.extent))?;
                within(f, body, &around.told(index, value))
            }
            Node::If(p, body) => {
                writeln!(f, "if {}:", self.pred(p))?;
                within(f, body, &around.asked(p))
            }
            Node::Product(of) => {
                let Product { var, at: own, neg, along: [m, n, k], factors, body, .. } = &**of;
                let [a, b] = factors.each_ref().map(|f| self.element(f.var, &self.polys(&f.at)));
                let sign = if *neg { "-" } else { "" };
                let range = |i: &Index| format!("{} < {}", i.name, self.poly(&i.extent));
                let product = format!("{} = {sign}sum {}: {a} * {b}", self.element(*var, &self.polys(own)), range(k));
                writeln!(f, "matrices {product} for {}, {}; by loops, if they are small:", range(m), range(n))?;
                within(f, body, &around.deeper())
            }
            Node::Clear(var, at, with) => {
                let of_all = |p: &Option<Poly>| p.as_ref().map_or("_".to_owned(), |p| self.poly(p).to_string());
                let at: Vec<String> = at.iter().map(of_all).collect();
                let with = match with {
                    Constant::Int(k) => k.to_string(),
                    Constant::Real(x) => format!("{x:?}"),
                    other => self.rhs(*var, &Rhs::Constant(*other)),
                };
                writeln!(f, "{} = {with}", self.element(*var, &at))
            }
            Node::Set(set) => self.set(f, set),
        }
    }

    fn set(&self, f: &mut fmt::Formatter<'_>, set: &Set) -> fmt::Result {
        let sign = match set.join {
            None => "=",
            Some(Join::Sum) => "+=",
            Some(Join::Reduce(Reducer::Prod)) => "*=",
            Some(Join::Reduce(Reducer::Min)) => "min=",
            Some(Join::Reduce(Reducer::Max)) => "max=",
            Some(Join::Reduce(Reducer::Argmin)) => "argmin=",
            Some(Join::Reduce(Reducer::Argmax)) => "argmax=",
        };
        let rhs = match &set.rhs {
            Rhs::Reduce(r) => {
                let of = self.element(r.of.var, &self.polys(&r.of.at));
                if r.reducer.gives_place() { format!("{of} at {}", self.poly(&r.place)) } else { of }
            }
            rhs => self.rhs(set.var, rhs),
        };
        write!(f, "{} {sign} {rhs}", self.element(set.var, &self.polys(&set.at)))?;
        self.noted(f, set.var)
    }
}

fn listed(checks: &[u32]) -> String {
    checks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
