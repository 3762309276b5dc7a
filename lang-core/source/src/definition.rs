//! **Printing a definition** from its lines: the signature, the checks, the `let`s and the results.
//! A line gets a `let` if it is read more than once, or if the program has a telling name for it.
//! The writer prepares the lines and calls this module.

use std::collections::HashSet;

use super::cases::Case;
use super::read::{Is, Line, Place, Scope};
use super::scatter::Scattered;
use super::shape::{Asked, Base, Head, is_only};
use super::tree::Ex;
use super::ways::Known;
use super::writer::{Named, Parts, Writer};
use super::{Definition, Outside};
use lang_base::Name;
use lang_ir::core::{Constant, CoreType, Derivation, Operation};
use lang_ir::ssa::{Check, Ssa, Var, for_each_read};
use lang_sizes::predicate::{Index, Pred};
use lang_syntax::ops::Scalar;

/// The `let`s of a body, and the value after them.
pub(super) struct Body {
    pub(super) lets: Vec<String>,
    /// The names that the `let`s bind, with their statements.
    pub(super) named: Vec<(Name, Var)>,
    pub(super) value: String,
    /// The derivatives that it calls, which must be printed before it.
    pub(super) before: Vec<Definition>,
}

fn tuple(items: Vec<String>) -> String {
    match <[String; 1]>::try_from(items) {
        Ok([one]) => one,
        Err(items) => format!("({})", items.join(", ")),
    }
}

impl Writer<'_> {
    /// Prints the lines before the result. The case determines how the parameters are constructed.
    pub(super) fn lets(&mut self, head: &Head, ssa: &Ssa, live: &[Var], case: &Case) -> Result<Vec<String>, Outside> {
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            if let lang_ir::ssa::Rhs::Input(input) = &stmt.rhs {
                let (base, path) = match case.known(self.asked, head, &ssa.inputs, *input as usize) {
                    Some(Known::Part(base, path)) => (base, path),
                    Some(Known::Constructor(_) | Known::Other) => continue,
                    None => self.asked.base(head, &ssa.inputs, *input as usize)?,
                };
                self.taken.take(&base.name);
                self.named.insert(Var(k), Named::Part(base, path));
            }
        }
        self.name_calls(live);
        let results: Vec<Var> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        Ok(self.block(None, &ssa.checks, live, &results))
    }

    /// Prints the lines of the loop `within`, or those outside all loops: the lines that checks
    /// read, then the checks, then the other lines.
    pub(super) fn block(
        &mut self,
        within: Option<u32>,
        checks: &[Check],
        live: &[Var],
        results: &[Var],
    ) -> Vec<String> {
        let own = |this: &Self, v: Var| this.lines.get(v.0 as usize).is_some_and(|l| l.within == within);
        let own: Vec<Var> = live.iter().copied().filter(|v| own(self, *v)).collect();
        let asked = self.asked_by_checks(checks);
        let mut lets = Vec::new();
        for v in own.iter().filter(|v| asked.contains(v)) {
            lets.extend(self.let_of(*v, live, results, true));
        }
        lets.extend(self.checks(checks, live));
        for v in &own {
            lets.extend(self.let_of(*v, live, results, asked.contains(v)));
        }
        lets
    }

    /// Prints the body of one case.
    pub(super) fn body(&mut self, head: &Head, ssa: &Ssa, live: &[Var], case: &Case) -> Result<Body, Outside> {
        let mut lets = self.lets(head, ssa, live, case)?;
        let results: Vec<Var> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        let mut given = results.iter();
        let mut values = Vec::new();
        for (of, ty, _) in &head.results {
            let mut parts: Parts = Vec::new();
            for leaf in ty.leaves() {
                if is_only(ty, &leaf.path) {
                    let indices = leaf.dims.iter().map(|n| self.table.index(n.clone())).collect();
                    parts.push((leaf.path, indices, Ex::Constant(Constant::Int(0))));
                    continue;
                }
                let Some(v) = given.next() else { return Err(Outside::Unreadable) };
                parts.push((leaf.path, self.indices_of(*v), self.root(*v)));
            }
            let name = of.and_then(|k| head.own.get(k)).map(|p| p.base.name.clone()).unwrap_or_default();
            values.push(self.value(ty, &mut Vec::new(), &mut Vec::new(), &parts, &name, true));
        }
        let mut value = tuple(values);
        // A last `let` that only names the value is inlined into the result.
        if let Some(line) = lets.pop_if(|line| line.starts_with(&format!("let {value} = "))) {
            value = line.trim_start_matches(&format!("let {value} = ")).to_owned();
        }
        Ok(Body { lets, named: std::mem::take(&mut self.written), value, before: self.before() })
    }
}

/// Joins the signature and the body. The caller must fill in `results`.
pub(super) fn whole(asked: &Asked<'_>, head: &Head, body: &Body) -> Definition {
    let params = head.own.iter().chain(head.beside.iter().map(|b| &b.1));
    let params: Vec<(Name, String)> = params.map(|p| (p.base.name.clone(), p.written.clone())).collect();
    let written: Vec<String> = params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let result = tuple(head.results.iter().map(|r| r.2.clone()).collect());
    let name: Name = format!("{}{}", asked.def.name, asked.which.suffix()).into();
    let mut text = format!("def {name}({}) -> {result} =\n", written.join(", "));
    for line in &body.lets {
        text += &format!("  {line}\n");
    }
    text += &format!("  {}{}\n", if body.lets.is_empty() { "" } else { "in " }, body.value);
    let varying = head.beside.iter().map(|b| b.0).chain(head.results.iter().map(|r| r.0)).flatten().collect();
    let (lets, results) = (body.named.clone(), Vec::new());
    Definition { name, params, varying, result, text, lets, results, before: body.before.clone() }
}

impl Writer<'_> {
    /// Prints the checks as assertions. `scatter_add` checks its places itself, so those checks are
    /// omitted.
    fn checks(&mut self, checks: &[Check], live: &[Var]) -> Vec<String> {
        let lines = live.iter().filter_map(|v| self.lines.get(v.0 as usize));
        let found = lines.filter_map(|l| self.scattering(&l.indices, l.element()?));
        let found: Vec<Scattered> = found.flat_map(|(_, found)| found).collect();
        let mut texts = Vec::new();
        for check in checks {
            let indices: Vec<Index> = check.dims.iter().map(|n| self.table.index(n.clone())).collect();
            let place = Place { values: indices.iter().map(Index::value).collect(), scope: &Scope::default() };
            let (guard, cond) = (place.pred(&check.guard), place.pred(&check.cond));
            if self.checks_places(&cond, &guard, &found) {
                continue;
            }
            let what: String = check.what.what.chars().filter(|c| !matches!(c, '"' | '\\')).collect();
            let cond = Pred::any_of([guard.negated(), cond]);
            if cond.is_true() {
                continue;
            }
            let (head, text) = if indices.is_empty() {
                (String::new(), self.pred(&cond).0)
            } else {
                let (head, body) = self.bound_by("all", &indices, &mut |this| this.pred(&cond).0);
                (format!("{head}: "), body)
            };
            // A check that holds trivially is omitted.
            if text == "true" {
                continue;
            }
            texts.push(format!("let _ = assert({head}{text}, \"{what}\")"));
        }
        texts
    }

    /// Returns the lines that the checks read, directly or through other lines.
    fn asked_by_checks(&self, checks: &[Check]) -> HashSet<Var> {
        let mut open = Vec::new();
        for check in checks {
            [&check.guard, &check.cond].into_iter().for_each(|p| for_each_read(p, &mut |v| open.push(v)));
        }
        let mut found = HashSet::new();
        while let Some(v) = open.pop() {
            if !found.insert(v) {
                continue;
            }
            let Some(line) = self.lines.get(v.0 as usize) else { continue };
            line.for_each_use(&mut |v, _| open.push(v));
            line.for_each_link(&mut |v| open.push(v));
        }
        found
    }

    /// Prints the `let` of a line that is read more than once or has a telling name.
    fn let_of(&mut self, v: Var, live: &[Var], results: &[Var], checked: bool) -> Vec<String> {
        let Some(line) = self.lines.get(v.0 as usize).cloned() else { return Vec::new() };
        if self.named.contains_key(&v) {
            return Vec::new();
        }
        if let Is::Loop(of) = &line.is {
            return self.loop_let(of, live);
        }
        self.plain_let(v, &line, live, results, checked).into_iter().collect()
    }

    fn plain_let(&mut self, v: Var, line: &Line, live: &[Var], results: &[Var], checked: bool) -> Option<String> {
        let (mut elements, mut asked) = (0_usize, 0_usize);
        for u in live {
            let Some(reader) = self.lines.get(u.0 as usize) else { continue };
            // A read in another loop counts twice, because the loop repeats it.
            let times = if reader.home(&self.table) == line.within { 1 } else { 2 };
            reader.for_each_use(&mut |w, in_index| {
                elements += if w == v && !in_index { times } else { 0 };
                asked += if w == v && in_index { times } else { 0 };
            });
        }
        let given = results.iter().filter(|r| **r == v).count();
        match &line.is {
            Is::Input | Is::Loop(_) | Is::Carried(_) => None,
            Is::Element(e) => {
                if e.is_free() || elements + asked == 0 && given <= 1 && !checked {
                    return None;
                }
                let own = line.name.clone().filter(|name| self.is_given(name));
                let own = match line.within {
                    Some(_) => own.map(|name| self.for_reader(&name)),
                    None => own.filter(|name| self.for_reader(name) == *name),
                };
                // A cheap line that is read once may be inlined into an index. Entries inline every
                // line that is read once.
                let once = own.is_none() && elements + asked + given <= 1;
                if once && (self.reader.is_some() || asked == 1 && !checked && is_cheap(e)) {
                    return None;
                }
                let seen = |name: &Name| self.reader.iter().flat_map(|r| &r.seen).find(|seen| seen.name == *name);
                let seen = own.as_ref().filter(|_| line.within.is_none()).and_then(seen).map(|seen| seen.rank);
                let wanted = own.clone().unwrap_or_else(|| self.name_for_reader(default_name(e)));
                if seen.is_some() && !self.written.iter().any(|(name, _)| *name == wanted) {
                    self.taken.release(&wanted);
                }
                let name = self.taken.fresh(&wanted);
                let text = self.array(&line.indices, e, &name, false);
                self.name_let(v, &name, &line.indices, e_scalar(line));
                self.written.push((name.clone(), v));
                // The reader already knows the value by this name.
                let known = seen == Some(line.indices.len()) && own == Some(name.clone());
                (!known).then(|| format!("let {name} = {text}"))
            }
            Is::Call(call, _) => {
                let call = call.clone();
                self.call_let(v, &call, live)
            }
            Is::Order(of) => {
                let wanted = line.name.clone().filter(|name| self.is_given(name)).unwrap_or_else(|| "order".into());
                let name = self.taken.fresh(&wanted);
                let text = self.sorted(of);
                self.name_let(v, &name, &line.indices, Scalar::I64);
                self.written.push((name.clone(), v));
                Some(format!("let {name} = {text}"))
            }
            Is::Update(of) => {
                let is_next = |u: &Var| matches!(self.lines.get(u.0 as usize).map(|l| &l.is), Some(Is::Carried(c)) if c.next == v);
                if elements + asked == 0 && given == 1 && live.iter().any(is_next) {
                    return None;
                }
                let wanted = line.name.clone().filter(|name| !is_no_name(name)).unwrap_or_else(|| "t".into());
                let name = self.taken.fresh(&wanted);
                let text = self.updated(of);
                self.name_let(v, &name, &line.indices, e_scalar(line));
                self.written.push((name.clone(), v));
                Some(format!("let {name} = {text}"))
            }
        }
    }

    /// Returns a name for an unnamed line. In entries it avoids the names of the program, because
    /// the reader would take it for that variable.
    fn name_for_reader(&self, name: &'static str) -> Name {
        let all = [name, "t", "v"].into_iter().chain(["t1", "t2", "t3", "t4"]);
        let free = all.filter(|_| self.reader.is_some()).find(|name| !self.is_given(name));
        free.unwrap_or(name).into()
    }

    /// Returns whether it is a name of the program, or derives from one by a suffix for a
    /// derivative or a part.
    pub(super) fn is_given(&self, name: &str) -> bool {
        let stem = ["_adj", "_tan"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        let is = |given: &Name| {
            stem.strip_prefix(given.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        !is_no_name(name) && self.given.iter().any(is)
    }

    pub(super) fn name_let(&mut self, v: Var, name: &Name, indices: &[Index], scalar: Scalar) {
        let ty = CoreType::Scalar(scalar).array(indices.iter().map(|i| i.extent.clone()));
        self.named.insert(v, Named::Let(Base { name: name.clone(), ty }, Vec::new()));
    }

    /// Prints one `let` for all results of a call.
    fn call_let(&mut self, v: Var, call: &super::read::Call, live: &[Var]) -> Option<String> {
        let (text, ty) = match self.call(call) {
            Ok(found) => found,
            Err(why) => {
                self.wrong = Some(why);
                return None;
            }
        };
        let wanted = self.lines.get(v.0 as usize).and_then(|l| l.name.clone());
        let wanted = wanted.filter(|name| !is_no_name(name)).unwrap_or_else(|| {
            let suffix = match call.callee.derived.last() {
                Some(Derivation::Adjoint { .. }) => "cotangents",
                Some(Derivation::Forward(_)) => "tangents",
                None => "value",
            };
            format!("{}_{suffix}", call.callee.def.name).into()
        });
        let name = self.taken.fresh(&wanted);
        self.written.push((name.clone(), v));
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

    /// Returns the expression for a line in the result: a read if the line has a name, else its
    /// element.
    pub(super) fn root(&self, v: Var) -> Ex {
        let own = self.indices_of(v);
        let read = || Ex::Read(v, own.iter().map(Index::value).collect());
        if self.named.contains_key(&v) {
            return read();
        }
        self.lines.get(v.0 as usize).and_then(Line::element).cloned().unwrap_or_else(read)
    }

    pub(super) fn indices_of(&self, v: Var) -> Vec<Index> {
        self.lines.get(v.0 as usize).map(|l| l.indices.clone()).unwrap_or_default()
    }
}

/// Returns whether the name derives from the program's `_`.
fn is_no_name(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

fn e_scalar(line: &Line) -> Scalar {
    line.scalar.unwrap_or(Scalar::F64)
}

/// Returns whether it contains neither a loop nor a predicate.
fn is_cheap(e: &Ex) -> bool {
    let mut cheap = true;
    e.visit(&mut |e| cheap &= !matches!(e, Ex::Total(..) | Ex::Reduce(_) | Ex::Guard(..) | Ex::Choice(..)));
    cheap
}

/// Returns a name for an unnamed line, by the kind of its expression.
fn default_name(e: &Ex) -> &'static str {
    match e {
        Ex::Total(..) => "s",
        Ex::Reduce(r) if r.reducer.gives_place() => "k",
        Ex::Guard(_, e) | Ex::Choice(_, e, _) => default_name(e),
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
