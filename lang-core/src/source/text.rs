//! Expressions and definitions as text. What needs parentheses gets them; the layout is the formatter's.

use std::collections::HashMap;
use std::sync::Arc;

use super::hints::Hints;
use super::merge::Merging;
use super::names::{Taken, spelled};
use super::predicate::{closed, join, range};
use super::read::{Is, Line, Place, lines};
use super::scatter::{Scattered, scattered};
use super::shape::{Asked, Base, Head, axes, part};
use super::tree::{Compares, Ex, Table, Product};
use super::{Definition, Outside, Which};
use crate::base::{GlobalName, Name};
use crate::interp::scalar::convert;
use crate::ir::core::{Callee, Constant, CoreType, Operation};
use crate::ir::ssa::{FIRST_INDEX, Ssa, Var, for_each_read};
use crate::norm::Bodies;
use crate::predicate::{Atom, Context, Index, LocalId, Poly, Pred};
use crate::resolve::Names;
use crate::syntax::ops::{BinOp, Scalar};

/// How tightly a text holds together: what may stand around it without parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Level {
    /// Reaches as far to the right as it can.
    #[default]
    Open,
    Or,
    And,
    Not,
    Compare,
    Sum,
    Product,
    Sign,
    Power,
    Post,
}

/// How an input or let is read.
#[derive(Clone, Debug)]
enum Named {
    /// A part of a value.
    Part(Base, Vec<u32>),
    /// A `let`, or a part of one that a call gives: its base has the axes of the call before its own.
    Let(Base, Vec<u32>),
}

/// What writes.
pub(super) struct Writer<'a> {
    asked: &'a Asked<'a>,
    /// The names that the definition gives.
    given: Vec<Name>,
    lines: Vec<Line>,
    named: HashMap<Var, Named>,
    hints: Hints,
    taken: Taken,
    /// The indices around, with their names.
    scope: Vec<(LocalId, Name)>,
    pub(super) context: Context,
    table: Table,
    /// Whole arrays stand for their elements at these indices.
    lifted: Vec<Index>,
    /// What could not be written.
    wrong: Option<Outside>,
}

/// Parts of a value: for each path its indices and its element.
pub(super) type Parts = Vec<(Vec<u32>, Vec<Index>, Ex)>;

/// The definition, not laid out.
pub(super) fn definition(asked: &Asked<'_>) -> Result<Definition, Outside> {
    let head = asked.head()?;
    let ssa = asked.derived;
    // The results, and nothing that only others need.
    let primal = &asked.stages.ssa;
    let mut wanted = (**ssa).clone();
    wanted.outputs = ssa.outputs.iter().skip(primal.outputs.len()).cloned().collect();
    crate::norm::dead::remove(&mut wanted);
    let mut fresh = Table::default();
    let read = lines(&wanted, &mut fresh)?;
    let sizes: Vec<Poly> = wanted.sizes.iter().map(|l| Poly::atom(wanted.vars.atom(*l))).collect();
    let mut roots: Vec<Var> = wanted.outputs.iter().map(|(_, v)| *v).collect();
    for check in &wanted.checks {
        for_each_read(&check.guard, &mut |v| roots.push(v));
        for_each_read(&check.cond, &mut |v| roots.push(v));
    }
    let given = given_names(asked.bodies, asked.def);
    let names = |name: &str| given.iter().any(|n| n == name);
    let mut merging =
        Merging { lines: read, context: Context::new(&sizes), fresh: &mut fresh, roots, names: &names };
    if !merging.run() {
        return Err(Outside::TooLarge);
    }
    let (live, lines, context) = (merging.live(), merging.lines, merging.context);
    let mut taken = Taken::new(head.own.iter().chain(head.beside.iter().map(|b| &b.1)).map(|p| p.base.name.clone()));
    wanted.sizes.iter().for_each(|l| drop(taken.fresh(&wanted.vars.name(*l))));
    let hints = Hints::of(&asked.stages.core, asked.module);
    let mut writer = Writer {
        asked,
        given: given.clone(),
        lines,
        named: HashMap::new(),
        hints,
        taken,
        scope: Vec::new(),
        context,
        table: fresh,
        lifted: Vec::new(),
        wrong: None,
    };
    let text = writer.definition(&head, &wanted, &live)?;
    match writer.wrong {
        Some(why) => Err(why),
        None => Ok(text),
    }
}

/// The names that a definition gives with `let`, and its index variables.
fn given_names(bodies: &dyn Bodies, def: &GlobalName) -> Vec<Name> {
    let Some(body) = bodies.body(def) else { return Vec::new() };
    body.locals.iter().map(|l| l.name.clone()).collect()
}

impl Writer<'_> {
    fn definition(&mut self, head: &Head, ssa: &Ssa, live: &[Var]) -> Result<Definition, Outside> {
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            if let crate::ir::ssa::Rhs::Input(input) = &stmt.rhs {
                let (base, path) = self.asked.base(head, *input as usize)?;
                self.named.insert(Var(k), Named::Part(base, path));
            }
        }
        let mut lets = self.checks(ssa, live);
        let results: Vec<Var> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        for v in live {
            if let Some(line) = self.let_of(*v, live, &results) {
                lets.push(line);
            }
        }
        let mut given = results.iter();
        let mut values = Vec::new();
        for (of, ty, _) in &head.results {
            let mut parts: Parts = Vec::new();
            for leaf in ty.leaves() {
                let Some(v) = given.next() else { return Err(Outside::Unreadable) };
                parts.push((leaf.path, self.indices_of(*v), self.root(*v)));
            }
            let name = of.and_then(|k| head.own.get(k)).map(|p| p.base.name.clone()).unwrap_or_default();
            values.push(self.value(ty, &mut Vec::new(), &mut Vec::new(), &parts, &name, true));
        }
        let tuple = |items: Vec<String>| match <[String; 1]>::try_from(items) {
            Ok([one]) => one,
            Err(items) => format!("({})", items.join(", ")),
        };
        let params = head.own.iter().chain(head.beside.iter().map(|b| &b.1));
        let params: Vec<(Name, String)> = params.map(|p| (p.base.name.clone(), p.written.clone())).collect();
        let written: Vec<String> = params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        let result = tuple(head.results.iter().map(|r| r.2.clone()).collect());
        let name: Name = format!("{}{}", self.asked.def.name, self.asked.which.suffix()).into();
        let mut text = format!("def {name}({}) -> {result} =\n", written.join(", "));
        for line in &lets {
            text += &format!("  {line}\n");
        }
        text += &format!("  {}{}\n", if lets.is_empty() { "" } else { "in " }, tuple(values));
        let varying = head.beside.iter().map(|b| b.0).chain(head.results.iter().map(|r| r.0)).flatten().collect();
        Ok(Definition { name, params, varying, result, text })
    }

    /// What has to hold before anything is computed.
    fn checks(&mut self, ssa: &Ssa, live: &[Var]) -> Vec<String> {
        let lines = live.iter().filter_map(|v| self.lines.get(v.0 as usize));
        let found: Vec<Scattered> = lines
            .filter_map(|l| scattered(&l.indices, l.element()?))
            .filter(|found| self.scatters(found))
            .collect();
        let extents: Vec<Poly> = ssa.inputs.iter().flat_map(|i| i.leaf.dims.clone()).collect();
        let mut texts = Vec::new();
        for check in &ssa.checks {
            // An extent that an argument has is not negative.
            if matches!(&check.cond, Pred::Ge(p) if extents.contains(p)) {
                continue;
            }
            let indices: Vec<Index> = check.dims.iter().map(|n| self.table.index(n.clone())).collect();
            let place = Place { indices: indices.clone() };
            let (guard, cond) = (check.guard.map(&|p| place.poly(p)), check.cond.map(&|p| place.poly(p)));
            if self.checks_places(&cond, &guard, &found) {
                continue;
            }
            let what: String = check.what.what.chars().filter(|c| !matches!(c, '"' | '\\')).collect();
            let cond = Pred::any_of([guard.negated(), cond]);
            let text = if indices.is_empty() {
                self.pred(&cond).0
            } else {
                let (head, body) = self.bound_by("all", &indices, &mut |this| this.pred(&cond).0);
                format!("{head}: {body}")
            };
            texts.push(format!("let _ = assert({text}, \"{what}\")"));
        }
        texts
    }

    /// A line for a statement that is read more than once, or has a name that says something.
    fn let_of(&mut self, v: Var, live: &[Var], results: &[Var]) -> Option<String> {
        let line = self.lines.get(v.0 as usize)?.clone();
        if self.named.contains_key(&v) {
            return None;
        }
        let (mut elements, mut asked) = (0_usize, 0_usize);
        for u in live {
            let mut count = |w: Var, in_index: bool| {
                elements += usize::from(w == v && !in_index);
                asked += usize::from(w == v && in_index);
            };
            match self.lines.get(u.0 as usize).map(|l| &l.is) {
                Some(Is::Element(e)) => e.for_each_use(&mut count),
                Some(Is::Call(call, _)) => call.args.iter().for_each(|(_, e)| e.for_each_use(&mut count)),
                _ => {}
            }
        }
        let given = results.iter().filter(|r| **r == v).count();
        match &line.is {
            Is::Input => None,
            Is::Element(e) => {
                if e.is_free() || elements + asked == 0 && given <= 1 {
                    return None;
                }
                let own = line.name.clone().filter(|name| self.is_given(name));
                let wanted = own.unwrap_or_else(|| default_name(e).into());
                let name = self.taken.fresh(&wanted);
                let text = self.array(&line.indices, e, &name, false);
                self.name_let(v, &name, &line.indices, e_scalar(&line));
                Some(format!("let {name} = {text}"))
            }
            Is::Call(call, _) => {
                let call = call.clone();
                self.call_let(v, &call, live)
            }
        }
    }

    /// Is it a name of the program, or of what belongs to one?
    fn is_given(&self, name: &str) -> bool {
        let stem = ["_adj", "_tan"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        self.given.iter().any(|n| n == stem)
    }

    fn name_let(&mut self, v: Var, name: &Name, indices: &[Index], scalar: Scalar) {
        let ty = CoreType::Scalar(scalar).array(indices.iter().map(|i| i.extent.clone()));
        self.named.insert(v, Named::Let(Base { name: name.clone(), ty }, Vec::new()));
    }

    /// Parts of calls have one `let`.
    fn call_let(&mut self, v: Var, call: &super::read::Call, live: &[Var]) -> Option<String> {
        let (text, ty) = match self.call(call) {
            Ok(found) => found,
            Err(why) => {
                self.wrong = Some(why);
                return None;
            }
        };
        let wanted = self.lines.get(v.0 as usize).and_then(|l| l.name.clone());
        let wanted = wanted.unwrap_or_else(|| format!("{}_called", call.callee.def.name).into());
        let name = self.taken.fresh(&wanted);
        let own = call.batch.iter().map(|i| i.extent.clone());
        let base = Base { name: name.clone(), ty: ty.array(own) };
        for u in live {
            if let Some(Line { is: Is::Call(other, part), .. }) = self.lines.get(u.0 as usize)
                && other == call
            {
                match self.path_of(call, *part) {
                    Ok(path) => drop(self.named.insert(*u, Named::Let(base.clone(), path))),
                    Err(why) => self.wrong = Some(why),
                }
            }
        }
        Some(format!("let {name} = {text}"))
    }

    /// What a line holds, in the result.
    fn root(&self, v: Var) -> Ex {
        let own = self.indices_of(v);
        let read = || Ex::Read(v, own.iter().map(Index::value).collect());
        if self.named.contains_key(&v) {
            return read();
        }
        self.lines.get(v.0 as usize).and_then(Line::element).cloned().unwrap_or_else(read)
    }

    fn indices_of(&self, v: Var) -> Vec<Index> {
        self.lines.get(v.0 as usize).map(|l| l.indices.clone()).unwrap_or_default()
    }

    /// A value of a type by its parts, at indices that are around.
    pub(super) fn value(
        &mut self,
        ty: &CoreType,
        path: &mut Vec<u32>,
        at: &mut Vec<Index>,
        parts: &Parts,
        name: &str,
        expected: bool,
    ) -> String {
        let (dims, inner) = ty.peel();
        let below: Vec<(Vec<u32>, Vec<Index>, Ex)> =
            parts.iter().filter(|(p, ..)| p.starts_with(path)).cloned().collect();
        let mut own = Vec::new();
        for k in 0..dims.len() {
            let extent = below.first().and_then(|(_, i, _)| i.get(at.len() + k)).map(|i| i.extent.clone());
            own.push(self.table.index(extent.unwrap_or_default()));
        }
        let put = |i: &[Index], all: &[Index], e: &Ex| {
            e.map_polys(&|p| {
                p.substitute(&|a| i.iter().position(|i| i.atom() == *a).and_then(|k| all.get(k)).map(Index::value))
            })
        };
        if let CoreType::Scalar(_) | CoreType::Rel(_) = inner {
            let all: Vec<Index> = at.iter().chain(&own).cloned().collect();
            let e = match below.first() {
                Some((_, i, e)) => put(i, &all, e),
                None => Ex::real(0.0),
            };
            return self.array(&own, &e, name, expected);
        }
        let CoreType::Tuple(items, names) = inner else { return String::new() };
        let before = at.len();
        at.extend(own.iter().cloned());
        let text = self.generated(&own, &Ex::real(0.0), name, expected, &below, &mut |this| {
            let mut texts = Vec::new();
            for (k, item) in (0..).zip(items.iter()) {
                path.push(k);
                texts.push(this.value(item, path, at, parts, name, expected));
                path.pop();
            }
            match names {
                Some(names) => {
                    let fields = names.iter().zip(&texts).map(|(n, t)| format!("{n}: {t}"));
                    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
                }
                None if texts.len() == 1 => format!("({},)", texts.join("")),
                None => format!("({})", texts.join(", ")),
            }
        });
        at.truncate(before);
        text
    }

    /// `for i, j: …` around what is written inside, whose elements are these.
    fn generated(
        &mut self,
        own: &[Index],
        e: &Ex,
        name: &str,
        expected: bool,
        below: &Parts,
        inside: &mut dyn FnMut(&mut Self) -> String,
    ) -> String {
        if own.is_empty() {
            return inside(self);
        }
        let depth = self.scope.len();
        let mark = self.context.mark();
        let mut heads = Vec::new();
        for (k, i) in own.iter().enumerate() {
            let mut alone = self.alone(e, i);
            for (_, indices, e) in below {
                // Elements are written over their own indices.
                if let Some(own) = indices.get(k) {
                    alone.extend(self.alone(e, own));
                }
            }
            let hint = self.hint(name, k).or_else(|| alone.iter().find_map(|(n, axis, _)| self.hint(n, *axis)));
            let text = self.taken.index(hint.as_ref());
            let agree = alone.iter().all(|(.., n)| *n == i.extent);
            let bare = agree && (expected || !alone.is_empty());
            heads.push(if bare { text.to_string() } else { format!("{text} < {}", self.poly(&i.extent).0) });
            self.note(name, k, &text);
            self.scope.push((i.local, text));
            self.context.enter(i);
        }
        let inner = inside(self);
        self.context.release(mark);
        self.leave(depth);
        format!("for {}: {inner}", heads.join(", "))
    }

    fn leave(&mut self, depth: usize) {
        for (_, name) in self.scope.drain(depth..) {
            self.taken.release(&name);
        }
    }

    /// An array by its element.
    pub(super) fn array(&mut self, own: &[Index], e: &Ex, name: &str, expected: bool) -> String {
        if own.is_empty() {
            return self.ex(e).0;
        }
        if self.lifted.is_empty()
            && let Some(text) = self.scatter(own, e)
        {
            return text;
        }
        if self.lifted.is_empty() && self.lifts(e, own) && self.has_array(e, own) {
            self.lifted = own.to_vec();
            let text = self.ex(e).0;
            self.lifted.clear();
            return text;
        }
        self.generated(own, e, name, expected, &Vec::new(), &mut |this| this.ex(e).0)
    }

    // ---- whole arrays ----

    /// Can it be written of whole arrays?
    fn lifts(&self, e: &Ex, own: &[Index]) -> bool {
        if !own.iter().any(|i| e.mentions(&i.atom())) {
            // It is evaluated where there may be no element, too.
            return self.table.in_bounds(e, &mut self.context.clone());
        }
        match e {
            Ex::Read(..) => self.whole(e, own).is_some(),
            Ex::Sum(terms) => terms.iter().all(|(_, e)| self.lifts(e, own)),
            Ex::Product(p) => p.over.iter().chain(&p.under).all(|e| self.lifts(e, own)),
            Ex::Power(e, _) => self.lifts(e, own),
            Ex::Apply(Operation::Scalar(_), args) => args.iter().all(|e| self.lifts(e, own)),
            _ => false,
        }
    }

    fn has_array(&self, e: &Ex, own: &[Index]) -> bool {
        let mut found = false;
        e.visit(&mut |e| found |= self.whole(e, own).is_some());
        found
    }

    /// The indices before those of the whole, if it is an element of a whole array.
    fn whole(&self, e: &Ex, own: &[Index]) -> Option<Vec<Poly>> {
        let Ex::Read(v, at) = e else { return None };
        let first = at.len().checked_sub(own.len())?;
        let (before, last) = at.split_at_checked(first)?;
        let named = self.named.get(v)?;
        let (base, path) = match named {
            Named::Part(base, path) | Named::Let(base, path) => (base, path),
        };
        let (_, together) = axes(base, path);
        let extents = self.lines.get(v.0 as usize)?.extents();
        let same = last.iter().zip(own).all(|(p, i)| *p == i.value())
            && extents.iter().skip(first).zip(own).all(|(n, i)| *n == i.extent);
        let free = !before.iter().any(|p| own.iter().any(|i| p.mentions(&i.atom())));
        (together && same && free).then(|| before.to_vec())
    }

    // ---- names of indices ----

    /// Where an index stands alone: in which array, on which axis, and the extent of that.
    fn alone(&self, e: &Ex, i: &Index) -> Vec<(Name, usize, Poly)> {
        let mut found = Vec::new();
        let mut reads: Vec<(Var, Vec<Poly>)> = Vec::new();
        e.visit(&mut |e| {
            if let Ex::Read(v, at) = e {
                reads.push((*v, at.clone()));
            }
        });
        e.for_each_poly(&mut |p| {
            p.for_each_atom(&mut |a| {
                if let Atom::Read(x, _, at) = a
                    && let Some(v) = Var::of_local(*x)
                {
                    reads.push((v, at.to_vec()));
                }
            });
        });
        e.for_each_pred(&mut |p| asked(p, &mut reads));
        for (v, at) in reads {
            let (Some(line), name) = (self.lines.get(v.0 as usize), self.array_name(v)) else { continue };
            let Some(name) = name else {
                // It is written out: what it reads counts.
                let mut table = Table::default();
                if let Some(inner) = line.at(&at, &mut table) {
                    found.extend(self.alone(&inner, i));
                }
                continue;
            };
            for (axis, (p, n)) in at.iter().zip(line.extents()).enumerate() {
                if *p == i.value() {
                    found.push((name.clone(), axis, n));
                }
            }
        }
        found
    }

    /// What a whole array is called.
    pub(super) fn whole_name(&mut self, v: Var) -> Option<String> {
        let (Named::Part(base, path) | Named::Let(base, path)) = self.named.get(&v)?;
        axes(base, path).1.then(|| part(base, path, &[]))
    }

    /// Has it a name, and one axis of this extent?
    pub(super) fn has_extent(&self, v: Var, extent: &Poly) -> bool {
        self.named.contains_key(&v)
            && self.lines.get(v.0 as usize).is_some_and(|l| l.extents().as_slice() == std::slice::from_ref(extent))
    }

    fn array_name(&self, v: Var) -> Option<Name> {
        match self.named.get(&v)? {
            Named::Part(base, _) | Named::Let(base, _) => Some(base.name.clone()),
        }
    }

    /// What the program calls an axis of an array, or of what it is the derivative by.
    fn hint(&self, array: &str, axis: usize) -> Option<Name> {
        let own = |name: &str| self.hints.get(name, axis).cloned();
        let of = |suffix: &str| array.strip_suffix(suffix);
        own(array).or_else(|| own(of("_adj").or_else(|| of("_tan"))?)).or_else(|| {
            let result = self.asked.which == Which::Adjoint && matches!(array, "y_adj" | "out_adj" | "result_adj");
            if result { own("") } else { None }
        })
    }

    fn note(&mut self, array: &str, axis: usize, name: &Name) {
        self.hints.note(array, axis, name);
    }

    pub(super) fn is_index(&self, local: LocalId) -> bool {
        local.0 >= FIRST_INDEX || self.scope.iter().any(|(l, _)| *l == local)
    }

    /// The name of an index.
    pub(super) fn index_name(&self, local: LocalId) -> Option<Name> {
        self.scope.iter().find(|(l, _)| *l == local).map(|(_, name)| name.clone())
    }

    pub(super) fn global(&mut self, name: &GlobalName) -> Option<String> {
        let text = spelled(self.asked.names, &self.asked.def.module, name);
        if text.is_none() {
            self.wrong = Some(Outside::Foreign);
        }
        text
    }

    // ---- expressions ----

    /// An element of a statement.
    pub(super) fn element(&mut self, v: Var, at: &[Poly]) -> (String, Level) {
        let Some(named) = self.named.get(&v).cloned() else {
            let line = self.lines.get(v.0 as usize).cloned();
            return match line.and_then(|l| l.at(at, &mut self.table)) {
                Some(e) => self.ex(&e),
                None => {
                    self.wrong = Some(Outside::Unreadable);
                    ("_".to_owned(), Level::Post)
                }
            };
        };
        let (Named::Part(base, path) | Named::Let(base, path)) = named;
        let at: Vec<String> = at.iter().map(|p| self.poly(p).0).collect();
        (part(&base, &path, &at), Level::Post)
    }

    /// An expression.
    pub(super) fn ex(&mut self, e: &Ex) -> (String, Level) {
        crate::interp::guarded(|| self.ex_node(e))
    }

    fn ex_node(&mut self, e: &Ex) -> (String, Level) {
        match e {
            Ex::Constant(Constant::Int(i)) => (i.to_string(), if *i < 0 { Level::Sign } else { Level::Post }),
            Ex::Constant(Constant::Bool(b)) => (b.to_string(), Level::Post),
            Ex::Constant(Constant::Real(x)) => self.number(*x, false),
            Ex::Index(p) => self.poly(p),
            Ex::Read(v, at) => {
                if !self.lifted.is_empty()
                    && let Some(before) = self.whole(e, &self.lifted.clone())
                {
                    return self.element(*v, &before);
                }
                self.element(*v, at)
            }
            Ex::Sum(terms) => {
                let mut text = String::new();
                let others = terms.iter().any(|(_, e)| e.as_real().is_none());
                for (k, (neg, e)) in terms.iter().enumerate() {
                    text += match (k, *neg) {
                        (0, true) => "-",
                        (0, false) => "",
                        (_, true) => " - ",
                        (_, false) => " + ",
                    };
                    let term = match e.as_real() {
                        Some(x) => self.number(x, others),
                        None => self.ex(e),
                    };
                    text += &closed(term, if *neg && k == 0 { Level::Sign } else { Level::Product });
                }
                (text, Level::Sum)
            }
            Ex::Product(p) => self.product(p),
            Ex::Power(e, k) => {
                let base = self.ex(e);
                (format!("{}^{k}", closed(base, Level::Post)), Level::Power)
            }
            Ex::Guard(p, inner) => {
                let (p, _) = self.pred(p);
                match &**inner {
                    Ex::Constant(Constant::Bool(true)) => (p, Level::Or),
                    inner => {
                        let inner = self.ex(inner);
                        (format!("[{p}] * {}", closed(inner, Level::Product)), Level::Product)
                    }
                }
            }
            Ex::Total(indices, p, body) => self.total(indices, p, body),
            Ex::Choice(p, a, b) => {
                let p = self.pred(p).0;
                let (a, b) = (self.ex(a).0, self.ex(b).0);
                (format!("if {p} then {a} else {b}"), Level::Open)
            }
            Ex::Apply(operation, args) => self.apply(*operation, args),
        }
    }

    fn apply(&mut self, operation: Operation, args: &[Ex]) -> (String, Level) {
        let others = args.iter().any(|e| e.as_real().is_none());
        let mut texts = Vec::new();
        for e in args {
            texts.push(match e.as_real() {
                Some(x) => self.number(x, others && args.len() > 1),
                None => self.ex(e),
            });
        }
        let call = |name: &str, texts: Vec<(String, Level)>| {
            let texts: Vec<String> = texts.into_iter().map(|t| t.0).collect();
            (format!("{name}({})", texts.join(", ")), Level::Post)
        };
        match operation {
            Operation::Scalar(f) => call(f.name(), texts),
            Operation::Binary(op) if op.compares() => {
                (join(texts, &format!(" {} ", op.symbol()), Level::Sum), Level::Compare)
            }
            Operation::Binary(op) => {
                let level = match op {
                    BinOp::Or => Level::Or,
                    BinOp::And => Level::And,
                    _ => Level::Product,
                };
                let inner = if level == Level::Product { Level::Power } else { Level::Compare };
                (join(texts, &format!(" {} ", op.symbol()), inner), level)
            }
            Operation::Pow | Operation::PowInt => (join(texts, "^", Level::Post), Level::Power),
            Operation::Not => (format!("!{}", join(texts, "", Level::Post)), Level::Not),
            Operation::Convert(to) => call(to.name(), texts),
            Operation::Stop => call("stop", texts),
        }
    }

    /// Numbers first, then what does not change, then by how far inside the indices are.
    fn product(&mut self, p: &Product) -> (String, Level) {
        let whole = self.lifted.clone();
        let depth = |e: &Ex, this: &Self| {
            let around = this.scope.iter().map(|(l, _)| *l).chain(whole.iter().map(|i| i.local));
            let at: Vec<usize> = around
                .enumerate()
                .filter(|(_, l)| e.mentions(&Atom::Local(*l, this.name_of(*l))))
                .map(|(k, _)| k + 1)
                .collect();
            let total = matches!(e, Ex::Total(..));
            (at.last().copied().unwrap_or(0), total, at.first().copied().unwrap_or(0))
        };
        let mut over: Vec<&Ex> = p.over.iter().collect();
        over.sort_by_key(|e| depth(e, self));
        let mut parts: Vec<(String, Level)> = Vec::new();
        let negative = p.by == -1.0 && !over.is_empty();
        let plain = p.by == 1.0 && !over.is_empty();
        if !negative && !plain {
            let beside = !over.is_empty() || !p.under.is_empty();
            parts.push(self.number(p.by, beside));
        }
        for e in over {
            parts.push(self.ex(e));
        }
        // A sign may stand before the first of them.
        let mut text = match parts.first_mut() {
            Some(first) if first.1 == Level::Sign => {
                first.1 = Level::Power;
                join(parts, " * ", Level::Power)
            }
            _ => join(parts, " * ", Level::Power),
        };
        if negative {
            text = format!("-{text}");
        }
        let mut divisors: Vec<(String, Level)> = Vec::new();
        if p.per != 1.0 {
            divisors.push(self.number(p.per, true));
        }
        for e in &p.under {
            divisors.push(self.ex(e));
        }
        let alone = divisors.len() == 1;
        let divisor = join(divisors, " * ", Level::Power);
        match (divisor.is_empty(), alone) {
            (true, _) => {}
            (false, true) => text += &format!(" / {divisor}"),
            (false, false) => text += &format!(" / ({divisor})"),
        }
        let single = p.under.is_empty() && p.per == 1.0 && p.over.is_empty();
        (text, if single && p.by >= 0.0 { Level::Post } else { Level::Product })
    }

    fn name_of(&self, local: LocalId) -> Name {
        self.lifted
            .iter()
            .find(|i| i.local == local)
            .map_or_else(|| format!("i{}", local.0 - FIRST_INDEX - Table::FIRST).into(), |i| i.name.clone())
    }

    /// A number. Beside what is real a whole one needs no point.
    fn number(&mut self, x: f64, beside: bool) -> (String, Level) {
        let text = if x.is_nan() {
            "nan".to_owned()
        } else if x.is_infinite() {
            "inf".to_owned()
        } else if x.abs().to_bits() == std::f64::consts::PI.to_bits() {
            "pi".to_owned()
        } else if beside && x.fract() == 0.0 && x.abs() < 1e15 {
            convert::f64_to_i64(x.abs()).to_string()
        } else {
            format!("{:?}", x.abs())
        };
        let single = self.asked.single() && !(beside && x.fract() == 0.0);
        let text = if single { format!("f32({text})") } else { text };
        if x < 0.0 { (format!("-{text}"), Level::Sign) } else { (text, Level::Post) }
    }

    fn total(&mut self, indices: &[Index], p: &Pred, body: &Ex) -> (String, Level) {
        let depth = self.scope.len();
        let mark = self.context.mark();
        let mut p = p.clone();
        let mut body = body.clone();
        let mut heads = Vec::new();
        for (k, i) in indices.iter().enumerate() {
            let later = indices.get(k + 1..).unwrap_or_default();
            let found = range(i, &p, later, &self.context);
            let shift = if found.is_none() { shift(i, &p, &body) } else { None };
            let whole = Ex::guard(p.clone(), body.clone());
            let alone = self.alone(&whole, i);
            let hint = alone.iter().find_map(|(n, axis, _)| self.hint(n, *axis));
            let name = self.taken.index(hint.as_ref());
            heads.push(match (&found, shift) {
                (Some((from, to, rest)), _) => {
                    p = rest.clone();
                    let to = self.poly(to).0;
                    match from.as_constant() {
                        Some(0) => format!("{name} < {to}"),
                        _ => format!("{name} in {}..{to}", self.poly(from).0),
                    }
                }
                (None, Some(c)) => {
                    let moved = i.value().plus(-c);
                    let atom = i.atom();
                    let put = |p: &Poly| p.substitute(&|a| (*a == atom).then(|| moved.clone()));
                    p = p.map(&put);
                    body = body.map_polys(&put);
                    let to = self.poly(&i.extent.plus(c)).0;
                    format!("{name} in {c}..{to}")
                }
                (None, None) => {
                    let agree = !alone.is_empty() && alone.iter().all(|(.., n)| *n == i.extent);
                    if agree { name.to_string() } else { format!("{name} < {}", self.poly(&i.extent).0) }
                }
            });
            self.scope.push((i.local, name));
            self.context.enter(i);
        }
        let inner = Ex::guard(p, body);
        let text = match inner.as_real() {
            Some(x) => self.number(x, false).0,
            None => self.ex(&inner).0,
        };
        self.context.release(mark);
        self.leave(depth);
        (format!("sum {}: {text}", heads.join(", ")), Level::Open)
    }

    // ---- what calls ask ----

    pub(super) fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        self.asked.module.ssa(callee)
    }

    pub(super) fn names(&self) -> &dyn Names {
        self.asked.names
    }

    pub(super) fn home(&self) -> &Name {
        &self.asked.def.module
    }

    /// `for i, j: …` around what is written inside.
    pub(super) fn around(&mut self, own: &[Index], inside: &mut dyn FnMut(&mut Self) -> String) -> String {
        self.generated(own, &Ex::real(0.0), "", false, &Vec::new(), inside)
    }

    /// A function of those arguments that vary.
    pub(super) fn partly(&mut self, name: &str, args: &[String], varying: &[usize]) -> String {
        let mut inner = Vec::new();
        let mut params: Vec<Name> = Vec::new();
        for (k, arg) in args.iter().enumerate() {
            if varying.contains(&k) {
                let param = self.taken.fresh("v");
                inner.push(param.to_string());
                params.push(param);
            } else {
                inner.push(arg.clone());
            }
        }
        params.iter().for_each(|p| self.taken.release(p));
        format!("\\{}: {name}({})", params.join(", "), inner.join(", "))
    }

    /// A binder over whole ranges, and what is written inside.
    pub(super) fn bound_by(
        &mut self,
        word: &str,
        indices: &[Index],
        inside: &mut dyn FnMut(&mut Self) -> String,
    ) -> (String, String) {
        let depth = self.scope.len();
        let mut heads = Vec::new();
        for i in indices {
            let name = self.taken.index(None);
            heads.push(format!("{name} < {}", self.poly(&i.extent).0));
            self.scope.push((i.local, name));
        }
        let text = inside(self);
        self.leave(depth);
        (format!("{word} {}", heads.join(", ")), text)
    }
}

/// Arrays of truth values that a predicate asks.
fn asked(p: &Pred, reads: &mut Vec<(Var, Vec<Poly>)>) {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| asked(p, reads)),
        Pred::Is(x, _, at, _) => reads.extend(Var::of_local(*x).map(|v| (v, at.to_vec()))),
        Pred::Any(_, p, _) => asked(p, reads),
        _ => {}
    }
}

/// How far all that depends on an index is from it, if that is one constant: `x[i + 1]` for all of it.
fn shift(i: &Index, p: &Pred, body: &Ex) -> Option<i128> {
    let mut at = Vec::new();
    body.visit(&mut |e| {
        if let Ex::Read(_, polys) = e {
            at.extend(polys.iter().filter(|p| p.mentions(&i.atom())).cloned());
        }
    });
    let constants: Vec<i128> = at.iter().map(Poly::constant_part).collect();
    let first = constants.first().copied()?;
    let alike = constants.iter().all(|c| *c == first) && at.iter().all(|p| p.linear_in(&i.atom()).is_some_and(|l| l.0 == 1));
    let _ = p;
    (alike && first != 0).then_some(first)
}

fn e_scalar(line: &Line) -> Scalar {
    line.scalar.unwrap_or(Scalar::F64)
}

/// A name for what has none, by what it is.
fn default_name(e: &Ex) -> &'static str {
    match e {
        Ex::Total(..) => "s",
        Ex::Guard(_, e) => default_name(e),
        Ex::Apply(Operation::Scalar(f), _) => match f.name() {
            "exp" => "e",
            "sqrt" => "root",
            "log" => "l",
            _ => "t",
        },
        Ex::Product(p) if !p.under.is_empty() => "q",
        _ => "t",
    }
}

impl Asked<'_> {
    /// Does it compute in single precision throughout?
    fn single(&self) -> bool {
        let scalars = self.derived.stmts.iter().filter_map(|s| s.scalar);
        let mut reals = scalars.filter(|s| matches!(s, Scalar::F32 | Scalar::F64)).peekable();
        reals.peek().is_some() && reals.all(|s| s == Scalar::F32)
    }
}
