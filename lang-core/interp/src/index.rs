//! **Indexing, slices and updates** (ATL 4.11).
//!
//! Leading indices and leading slices return views; any other selection gathers a copy. If the base
//! of an index or update is a local, or a component of one, it is read after the subscripts and
//! values. Its slot can then be emptied, and the update happens in place.

use std::sync::Arc;

use super::Interp;
use super::eval::{component_type, position};
use super::lift::Join;
use lang_base::Code as ErrorCode;
use lang_runtime::Value;
use lang_runtime::array::{Array, Elem, Store};
use lang_runtime::code::{Code, Frame};
use lang_runtime::dual::may_vary;
use lang_runtime::failure::{At, Eval};
use lang_runtime::value::{take_fields, take_items};
use lang_sizes::predicate::LocalId;
use lang_types::phrase::Phrases;
use lang_types::tree::{Expr, Place, Subscript, TId, Update, is_path};
use lang_types::ty::Type;

/// An evaluated subscript.
#[derive(Clone, Copy)]
enum Sub {
    At(i64),
    Range(i64, i64),
    Whole,
}

/// The number of subscripts that need no allocation.
const FEW: usize = 4;

/// A list of evaluated subscripts.
struct Subs {
    few: [Sub; FEW],
    many: Vec<Sub>,
    len: usize,
}

impl Subs {
    fn new() -> Self {
        Self { few: [Sub::Whole; FEW], many: Vec::new(), len: 0 }
    }

    fn push(&mut self, sub: Sub) {
        match self.few.get_mut(self.len) {
            Some(slot) => *slot = sub,
            None => {
                if self.many.is_empty() {
                    self.many.extend_from_slice(&self.few);
                }
                self.many.push(sub);
            }
        }
        self.len += 1;
    }

    fn get(&self) -> &[Sub] {
        if self.many.is_empty() { self.few.get(..self.len).unwrap_or_default() } else { &self.many }
    }
}

/// A selection of elements of an array: those at `start + Σ kᵢ·strideᵢ`.
struct Selection {
    start: usize,
    /// The extent and stride of each remaining axis.
    axes: Vec<(usize, usize)>,
}

impl Selection {
    fn dims(&self) -> Vec<usize> {
        self.axes.iter().map(|a| a.0).collect()
    }

    fn count(&self) -> usize {
        self.axes.iter().map(|a| a.0).product()
    }

    /// Whether the elements are contiguous.
    fn contiguous(&self) -> bool {
        let mut packed = 1;
        for (n, stride) in self.axes.iter().rev() {
            if *n != 1 && *stride != packed {
                return false;
            }
            packed *= n;
        }
        true
    }

    /// Calls `f` with every position, in row-major order.
    fn each(&self, mut f: impl FnMut(usize)) {
        if self.count() == 0 {
            return;
        }
        let mut counters = vec![0usize; self.axes.len()];
        let mut at = self.start;
        loop {
            f(at);
            let mut axis = self.axes.len();
            loop {
                let Some(k) = axis.checked_sub(1) else { return };
                axis = k;
                let (Some((n, stride)), Some(counter)) = (self.axes.get(axis), counters.get_mut(axis)) else { return };
                *counter += 1;
                at += stride;
                if *counter < *n {
                    break;
                }
                at -= stride * n;
                *counter = 0;
            }
        }
    }
}

/// An update with evaluated operands. The value is `None` if the update adds a false bracket.
enum Pending<'c> {
    Index(&'c [Subscript], Subs, Option<Value>),
    Proj(u32, Option<Value>),
}

impl Interp<'_> {
    fn subscripts(&mut self, c: &Arc<Code>, f: &mut Frame, subscripts: &[Subscript]) -> Eval<Subs> {
        let mut subs = Subs::new();
        for s in subscripts {
            let sub = match s {
                Subscript::At { index, .. } => Sub::At(self.eval_i64(c, f, *index)?),
                Subscript::Range { from, to, .. } => {
                    let from = self.eval_i64(c, f, *from)?;
                    Sub::Range(from, self.eval_i64(c, f, *to)?)
                }
                Subscript::Whole => Sub::Whole,
            };
            subs.push(sub);
        }
        Ok(subs)
    }

    /// Evaluates `e[a]` (4.11), also partial and with slices.
    #[inline(never)]
    pub(super) fn eval_index(
        &mut self,
        c: &Arc<Code>,
        f: &mut Frame,
        at: At<'_>,
        base: TId,
        subscripts: &[Subscript],
    ) -> Eval {
        if let Expr::Local(l) = &c.body.nodes[base].kind
            && !c.plan.takes(base)
        {
            // The array is read in place, without a change of its reference count.
            let subs = self.subscripts(c, f, subscripts)?;
            let Some(Value::Array(array)) = f.get(*l) else { return Err(at.internal("what is indexed is no array")) };
            return self.select(c, at, array, subscripts, &subs);
        }
        let (value, subs) = if is_path(&c.body.nodes, base) {
            let subs = self.subscripts(c, f, subscripts)?;
            (self.eval(c, f, base)?, subs)
        } else {
            let value = self.eval(c, f, base)?;
            let subs = self.subscripts(c, f, subscripts)?;
            (value, subs)
        };
        let Value::Array(array) = &value else { return Err(at.internal("what is indexed is no array")) };
        self.select(c, at, array, subscripts, &subs)
    }

    fn select(&self, c: &Code, at: At<'_>, array: &Array, subscripts: &[Subscript], subs: &Subs) -> Eval {
        if subs.get().iter().all(|s| matches!(s, Sub::At(_))) {
            let start = place(c, at, array.dims(), subscripts, subs)?;
            let rest: usize = array.dims().get(subs.len..).unwrap_or_default().iter().product();
            let part = array.part(subs.len, start.saturating_mul(rest), &self.memory);
            return part.map_err(|e| at.too_large(&e))?.ok_or_else(|| at.internal("an element is missing"));
        }
        let selection = selection(c, at, array.dims(), subscripts, subs)?;
        let dims = selection.dims();
        if selection.contiguous() {
            // An empty selection may begin past the last element.
            return Ok(Value::Array(array.view(selection.start.min(array.count()), &dims)));
        }
        self.gather(at, array, &selection, &dims)
    }

    fn gather(&self, at: At<'_>, array: &Array, selection: &Selection, dims: &[usize]) -> Eval {
        fn typed<T: Elem>(this: &Interp<'_>, at: At<'_>, array: &Array, selection: &Selection, dims: &[usize]) -> Eval {
            let from = array.slice::<T>().unwrap_or_default();
            let (mut to, charge) = this.memory.vec(selection.count()).map_err(|e| at.too_large(&e))?;
            selection.each(|i| to.extend(from.get(i)));
            this.array(at, Array::new(dims, T::wrap(to), charge))
        }
        match array.store() {
            Store::F64(_) => typed::<f64>(self, at, array, selection, dims),
            Store::F32(_) => typed::<f32>(self, at, array, selection, dims),
            Store::I64(_) => typed::<i64>(self, at, array, selection, dims),
            Store::Bool(_) => typed::<bool>(self, at, array, selection, dims),
            Store::Columns(columns) => {
                let gathered = |part: &Array| match self.gather(at, part, selection, dims)? {
                    Value::Array(part) => Ok(part),
                    _ => Err(at.internal("a part of an array is none")),
                };
                let parts = array.all_columns().iter().map(gathered).collect::<Eval<Vec<_>>>()?;
                self.array(at, Array::of_columns(dims, columns.form().clone(), parts))
            }
            Store::Boxed(_) => {
                let from = array.boxed().unwrap_or_default();
                let (mut to, charge) = self.memory.vec(selection.count()).map_err(|e| at.too_large(&e))?;
                selection.each(|i| to.extend(from.get(i).cloned()));
                self.array(at, Array::new(dims, to.into(), charge))
            }
        }
    }

    /// Evaluates `x with [i] = e`: first all subscripts and values, left to right, then all
    /// updates.
    #[inline(never)]
    pub(super) fn with(&mut self, c: &Arc<Code>, f: &mut Frame, at: At<'_>, base: TId, updates: &[Update]) -> Eval {
        let path = is_path(&c.body.nodes, base);
        let early = if path { None } else { Some(self.eval(c, f, base)?) };
        let mut pending = Vec::with_capacity(updates.len());
        for u in updates {
            let subs = match &u.place {
                Place::Index(subs) => Some((subs, self.subscripts(c, f, subs)?)),
                Place::Proj(_) => None,
            };
            // Adding a false bracket adds nothing (4.24).
            let value = if u.add { self.summand(c, f, u.value)? } else { Some(self.eval(c, f, u.value)?) };
            pending.push(match (&u.place, subs) {
                (_, Some((subscripts, subs))) => Pending::Index(subscripts, subs, value),
                (Place::Proj(k), _) => Pending::Proj(*k, value),
                (Place::Index(_), None) => return Err(at.internal("no subscripts")),
            });
        }
        let mut value = match early {
            Some(value) => value,
            None => self.eval(c, f, base)?,
        };
        self.detach(at, &mut value, &mut pending)?;
        let ty = &c.body.nodes[base].ty;
        for (u, p) in updates.iter().zip(pending) {
            let at = c.at(u.span);
            value = match p {
                Pending::Index(subscripts, subs, new) => {
                    let Value::Array(array) = value else { return Err(at.internal("what is updated is no array")) };
                    self.update(c, at, array, (subscripts, &subs), new, u.add)?
                }
                Pending::Proj(k, None) if component_type(ty, k).is_some() => value,
                Pending::Proj(k, new) => self.replace(at, value, ty, k, new, u.add)?,
            };
        }
        Ok(value)
    }

    /// Makes the base unshared. Copies values that are views of it first: `a with [i] = a[i - 1]`
    /// copies a row instead of the whole `a`.
    fn detach(&mut self, at: At<'_>, base: &mut Value, pending: &mut [Pending<'_>]) -> Eval<()> {
        let Value::Array(array) = base else { return Ok(()) };
        if array.store_mut().is_some() {
            return Ok(());
        }
        for p in pending {
            if let Pending::Index(_, _, Some(Value::Array(v))) = p
                && v.shares_buffer(array)
            {
                *v = v.compact(&self.memory).map_err(|e| at.too_large(&e))?;
            }
        }
        if array.store_mut().is_none() {
            *array = array.compact(&self.memory).map_err(|e| at.too_large(&e))?;
        }
        Ok(())
    }

    fn update(
        &mut self,
        c: &Code,
        at: At<'_>,
        mut array: Array,
        (subscripts, subs): (&[Subscript], &Subs),
        new: Option<Value>,
        add: bool,
    ) -> Eval {
        let selection = selection(c, at, array.dims(), subscripts, subs)?;
        let Some(new) = new else { return Ok(Value::Array(array)) };
        if let Value::Array(v) = &new
            && v.dims() != selection.dims().as_slice()
        {
            let message = format!("a value of shape {:?} for a slice of shape {:?}", v.dims(), selection.dims());
            return Err(at.fail(ErrorCode::E0501, message));
        }
        if add && self.trap {
            let mut places = Vec::with_capacity(selection.count());
            selection.each(|i| places.push(i));
            self.watch_sums(at, &array, &places, &new)?;
        }
        if !self.put_scalars(&mut array, 0, &selection, &new, add)
            && !self.put_columns(at, &mut array, &selection, &new, add)?
        {
            self.put_boxed(at, &mut array, &selection, &new, add)?;
        }
        Ok(Value::Array(array))
    }

    /// Writes scalars into a selection of `array`, whose positions are relative to its element
    /// `from`. The buffer of `array` must be unshared. Returns false if the kinds differ.
    fn put_scalars(&mut self, array: &mut Array, from: usize, selection: &Selection, new: &Value, add: bool) -> bool {
        let done = put::<f64>(array, from, selection, new, add.then_some(|a, b| a + b))
            || put::<f32>(array, from, selection, new, add.then_some(|a, b| a + b))
            || put::<i64>(array, from, selection, new, add.then_some(i64::wrapping_add))
            || put::<bool>(array, from, selection, new, None);
        if done && add && !matches!(array.store(), Store::I64(_)) {
            self.work(selection.count());
        }
        done
    }

    /// Writes tuples or records into an array that stores such elements flat, scalar by scalar.
    /// Returns false if the shapes differ or the array is boxed.
    fn put_columns(
        &mut self,
        at: At<'_>,
        array: &mut Array,
        selection: &Selection,
        new: &Value,
        add: bool,
    ) -> Eval<bool> {
        let Some(form) = array.form().cloned() else { return Ok(false) };
        let mut scalars = Vec::new();
        match new {
            Value::Array(new) if new.form() == Some(&form) => {
                scalars.extend(new.all_columns().into_iter().map(Value::Array));
            }
            Value::Array(_) => return Ok(false),
            new => {
                if !form.each(new, &mut |scalar| scalars.push(scalar.clone())) {
                    return Ok(false);
                }
            }
        }
        let Some((Store::Columns(columns), start)) = array.store_mut() else { return Ok(false) };
        for (part, new) in columns.parts_mut().iter_mut().zip(&scalars) {
            if part.store_mut().is_none() {
                *part = part.compact(&self.memory).map_err(|e| at.too_large(&e))?;
            }
            if !self.put_scalars(part, start, selection, new, add) {
                return Err(at.internal("a scalar of another kind is put into an array"));
            }
        }
        Ok(true)
    }

    fn put_boxed(&mut self, at: At<'_>, array: &mut Array, selection: &Selection, new: &Value, add: bool) -> Eval<()> {
        if !array.is_boxed() && (may_vary(new) || array.form().is_some()) {
            *array = array.boxed_copy(&self.memory).map_err(|e| at.too_large(&e))?;
        }
        let Some((Store::Boxed(items), start)) = array.store_mut() else {
            return Err(at.internal("an element of another kind is put into an array"));
        };
        let mut places = Vec::with_capacity(selection.count());
        selection.each(|i| places.push(start + i));
        for (k, place) in places.into_iter().enumerate() {
            let value = match new {
                Value::Array(a) => a.element(k),
                other => Some(other.clone()),
            };
            let (Some(slot), Some(value)) = (items.values.get_mut(place), value) else {
                return Err(at.internal("an element is missing"));
            };
            *slot = if add {
                let old = std::mem::replace(slot, Value::Bool(false));
                self.join(at, Join::Add, old, &value)?
            } else {
                value
            };
        }
        Ok(())
    }

    /// Evaluates `r with name = e`.
    fn replace(&mut self, at: At<'_>, value: Value, ty: &Type, k: u32, new: Option<Value>, add: bool) -> Eval {
        let place = position(&value, ty, k);
        let (names, mut parts) = match value {
            Value::Tuple(t) => (None, take_items(t)),
            Value::Record(r) => (Some(r.names.clone()), take_fields(r)),
            _ => return Err(at.internal("what is updated has no components")),
        };
        let slot = place.and_then(|k| parts.get_mut(k)).ok_or_else(|| at.internal("no such component"))?;
        if let Some(new) = new {
            *slot = if add {
                let old = std::mem::replace(slot, Value::Bool(false));
                self.join(at, Join::Add, old, &new)?
            } else {
                new
            };
        }
        match names {
            None => self.make_tuple(at, parts),
            Some(names) => self.make_record(at, names, parts),
        }
    }
}

/// Writes one value, or one for every element, into a selection of an unshared array. Returns false
/// if the kinds differ.
fn put<T: Elem>(
    array: &mut Array,
    from: usize,
    selection: &Selection,
    new: &Value,
    add: Option<fn(T, T) -> T>,
) -> bool {
    let one;
    let values: &[T] = match new {
        Value::Array(v) => match v.slice() {
            Some(s) => s,
            None => return false,
        },
        other => match T::from_value(other) {
            Some(x) => {
                one = x;
                std::slice::from_ref(&one)
            }
            None => return false,
        },
    };
    let Some((store, start)) = array.store_mut() else { return false };
    let Some(target) = T::slice_mut(store).and_then(|s| s.get_mut(start + from..)) else { return false };
    let single = !matches!(new, Value::Array(_));
    let mut k = 0;
    selection.each(|i| {
        if let (Some(slot), Some(x)) = (target.get_mut(i), values.get(if single { 0 } else { k })) {
            *slot = add.map_or(*x, |op| op(*slot, *x));
        }
        k += 1;
    });
    true
}

/// Returns the row-major number of the subarray that the leading indices select.
fn place(c: &Code, at: At<'_>, dims: &[usize], subscripts: &[Subscript], subs: &Subs) -> Eval<usize> {
    let mut start = 0usize;
    for (axis, sub) in subs.get().iter().enumerate() {
        let n = *dims.get(axis).ok_or_else(|| at.internal("more indices than axes"))?;
        let Sub::At(i) = sub else { return Err(at.internal("not an index")) };
        let i = in_bounds(c, at, *i, axis, n, subscripts.get(axis))?;
        start = start.saturating_mul(n).saturating_add(i);
    }
    Ok(start)
}

/// Resolves subscripts to a selection. Axes without a subscript are whole.
fn selection(c: &Code, at: At<'_>, dims: &[usize], subscripts: &[Subscript], subs: &Subs) -> Eval<Selection> {
    let subs = subs.get();
    if subs.len() > dims.len() {
        return Err(at.internal("more indices than axes"));
    }
    let mut result = Selection { start: 0, axes: Vec::with_capacity(dims.len()) };
    // Failures are reported for the first axis, but strides accumulate from the last one.
    let mut parts = Vec::with_capacity(dims.len());
    for (axis, n) in dims.iter().enumerate() {
        let part = match subs.get(axis) {
            None | Some(Sub::Whole) => (0, Some(*n)),
            Some(Sub::At(i)) => (in_bounds(c, at, *i, axis, *n, subscripts.get(axis))?, None),
            Some(Sub::Range(from, to)) => {
                let bounds = (usize::try_from(*from), usize::try_from(*to));
                match bounds {
                    (Ok(a), Ok(b)) if a <= b && b <= *n => (a, Some(b - a)),
                    _ => {
                        let at = subscript_span(c, at, subscripts.get(axis));
                        let message = format!("slice {from}..{to} is out of bounds for axis {axis} of extent {n}");
                        let help = "a slice `a..b` needs 0 <= a <= b <= extent; `b` is not included";
                        return Err(with_help(at.fail(ErrorCode::E0500, message), help));
                    }
                }
            }
        };
        parts.push(part);
    }
    let mut stride = 1usize;
    for ((first, extent), n) in parts.iter().zip(dims).rev() {
        result.start = result.start.saturating_add(first.saturating_mul(stride));
        if let Some(extent) = extent {
            result.axes.push((*extent, stride));
        }
        stride = stride.saturating_mul(*n);
    }
    result.axes.reverse();
    Ok(result)
}

/// Returns the span of a subscript.
fn subscript_span<'c>(c: &'c Code, at: At<'c>, subscript: Option<&Subscript>) -> At<'c> {
    match subscript {
        Some(Subscript::At { index, .. }) => c.at(c.body.nodes[*index].span),
        Some(Subscript::Range { from, to, .. }) => c.at(c.body.nodes[*from].span.to(c.body.nodes[*to].span)),
        _ => at,
    }
}

fn in_bounds(c: &Code, at: At<'_>, i: i64, axis: usize, n: usize, subscript: Option<&Subscript>) -> Eval<usize> {
    match usize::try_from(i) {
        Ok(i) if i < n => Ok(i),
        _ => Err(out_of_bounds(c, subscript_span(c, at, subscript), i, axis, n, subscript)),
    }
}

#[cold]
fn out_of_bounds(
    c: &Code,
    at: At<'_>,
    i: i64,
    axis: usize,
    n: usize,
    subscript: Option<&Subscript>,
) -> Box<lang_runtime::Failure> {
    let failure = at.fail(ErrorCode::E0500, format!("index {i} is out of bounds for axis {axis} of extent {n}"));
    let help = match subscript {
        Some(Subscript::At { proved: true, .. }) => {
            "this index had been proved in bounds: a defect of Iverson, please report it".to_owned()
        }
        Some(Subscript::At { index, .. }) => inside(c, *index, axis, n),
        _ => GUARD.to_owned(),
    };
    with_help(failure, &help)
}

/// The advice for an index out of bounds, if the program's expressions are too long to quote.
const GUARD: &str = "guard it, as in `[0 <= k < n] * x[k]`, or let the index run less far";

/// Returns advice for an index out of bounds, in terms of the program's expressions.
fn inside(c: &Code, index: TId, axis: usize, n: usize) -> String {
    let nodes = &c.body.nodes;
    if matches!(nodes[index].kind, Expr::Int(_)) {
        return match n.checked_sub(1) {
            Some(0) => "the only index of this axis is 0".to_owned(),
            Some(last) => format!("the indices of this axis run from 0 to {last}"),
            None => "this axis has no elements".to_owned(),
        };
    }
    let name = |l: LocalId| c.body.locals.get(l.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
    let phrases = Phrases { nodes, name: &name, ty: &|node| nodes[node].ty.clone() };
    let phrase = phrases.alone(index);
    let of = |subscripts: &[Subscript]| {
        subscripts.iter().any(|s| matches!(s, Subscript::At { index: own, .. } if *own == index))
    };
    let access = nodes.iter().find_map(|(node, e)| match &e.kind {
        Expr::Index(base, subscripts) if of(subscripts) => Some((node, *base)),
        _ => None,
    });
    let Some((access, base)) = access else {
        return match phrase.contains('…') {
            true => "let the index run less far, or update only where it is inside".to_owned(),
            false => format!("let the index run less far, or update only where `0 <= {phrase} < {n}`"),
        };
    };
    let extent = nodes[base].ty.peel().0.get(axis).map_or_else(|| n.to_string(), ToString::to_string);
    let guarded = format!("[0 <= {phrase} < {extent}] * {}", phrases.alone(access));
    match guarded.contains(['…', '#']) {
        true => GUARD.to_owned(),
        false => format!("guard it, `{guarded}`, or let the index run less far"),
    }
}

fn with_help(mut failure: Box<lang_runtime::Failure>, help: &str) -> Box<lang_runtime::Failure> {
    failure.help = Some(help.to_owned());
    failure
}
