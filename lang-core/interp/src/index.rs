//! **Indexing, slices and updates** (ATL 4.11).
//!
//! Leading indices and leading slices return views; any other selection gathers a copy. If the base
//! of an index or update is a local, or a component of one, it is read after the subscripts and
//! values. Its slot can then be emptied, and the update happens in place.

use std::sync::Arc;

use super::Interp;
use super::broadcast::JoinOp;
use super::eval::{component_position, component_type};
use lang_base::Code as ErrorCode;
use lang_runtime::Value;
use lang_runtime::array::{Array, Store, UnboxedElement};
use lang_runtime::code::{LocalFrame, RunnableBody};
use lang_runtime::dual::may_hold_dual;
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::value::{take_components, take_fields};
use lang_sizes::predicate::LocalId;
use lang_types::phrase::PhrasePrinter;
use lang_types::tree::{TypedExpr, TypedId, TypedSubscript, TypedUpdateTarget, TypedWithUpdate, is_local_path};
use lang_types::ty::Type;

/// An evaluated subscript.
#[derive(Clone, Copy)]
enum SubscriptValue {
    Index(i64),
    Range(i64, i64),
    FullAxis,
}

/// The number of subscripts that need no allocation.
const INLINE_SUBSCRIPTS: usize = 4;

/// A list of evaluated subscripts.
struct SubscriptList {
    inline: [SubscriptValue; INLINE_SUBSCRIPTS],
    spilled: Vec<SubscriptValue>,
    len: usize,
}

impl SubscriptList {
    fn new() -> Self {
        Self { inline: [SubscriptValue::FullAxis; INLINE_SUBSCRIPTS], spilled: Vec::new(), len: 0 }
    }

    fn push(&mut self, sub: SubscriptValue) {
        match self.inline.get_mut(self.len) {
            Some(slot) => *slot = sub,
            None => {
                if self.spilled.is_empty() {
                    self.spilled.extend_from_slice(&self.inline);
                }
                self.spilled.push(sub);
            }
        }
        self.len += 1;
    }

    fn as_slice(&self) -> &[SubscriptValue] {
        if self.spilled.is_empty() { self.inline.get(..self.len).unwrap_or_default() } else { &self.spilled }
    }
}

/// A selection of elements of an array: those at `start + Σ kᵢ·strideᵢ`.
struct ElementSelection {
    start: usize,
    /// The extent and stride of each remaining axis.
    axes: Vec<(usize, usize)>,
}

impl ElementSelection {
    fn dims(&self) -> Vec<usize> {
        self.axes.iter().map(|a| a.0).collect()
    }

    fn count(&self) -> usize {
        self.axes.iter().map(|a| a.0).product()
    }

    /// Whether the elements are contiguous.
    fn is_contiguous(&self) -> bool {
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
    fn for_each_position(&self, mut f: impl FnMut(usize)) {
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
enum PendingUpdate<'c> {
    Index(&'c [TypedSubscript], SubscriptList, Option<Value>),
    Proj(u32, Option<Value>),
}

impl Interp<'_> {
    fn eval_subscripts(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        subscripts: &[TypedSubscript],
    ) -> InterpResult<SubscriptList> {
        let mut subs = SubscriptList::new();
        for s in subscripts {
            let sub = match s {
                TypedSubscript::Index { index, .. } => SubscriptValue::Index(self.eval_i64(c, f, *index)?),
                TypedSubscript::Range { from, to, .. } => {
                    let from = self.eval_i64(c, f, *from)?;
                    SubscriptValue::Range(from, self.eval_i64(c, f, *to)?)
                }
                TypedSubscript::FullAxis => SubscriptValue::FullAxis,
            };
            subs.push(sub);
        }
        Ok(subs)
    }

    /// Evaluates `e[a]` (4.11), also partial and with slices.
    #[inline(never)]
    pub(super) fn eval_index(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        at: FailureSite<'_>,
        base: TypedId,
        subscripts: &[TypedSubscript],
    ) -> InterpResult {
        if let TypedExpr::Local(l) = &c.body.nodes[base].kind
            && !c.last_uses.takes_operand(base)
        {
            // The array is read in place, without a change of its reference count.
            let subs = self.eval_subscripts(c, f, subscripts)?;
            let Some(Value::Array(array)) = f.get(*l) else {
                return Err(at.internal_error("the indexed value is not an array"));
            };
            return self.select_elements(c, at, array, subscripts, &subs);
        }
        let (value, subs) = if is_local_path(&c.body.nodes, base) {
            let subs = self.eval_subscripts(c, f, subscripts)?;
            (self.eval(c, f, base)?, subs)
        } else {
            let value = self.eval(c, f, base)?;
            let subs = self.eval_subscripts(c, f, subscripts)?;
            (value, subs)
        };
        let Value::Array(array) = &value else { return Err(at.internal_error("the indexed value is not an array")) };
        self.select_elements(c, at, array, subscripts, &subs)
    }

    fn select_elements(
        &self,
        c: &RunnableBody,
        at: FailureSite<'_>,
        array: &Array,
        subscripts: &[TypedSubscript],
        subs: &SubscriptList,
    ) -> InterpResult {
        if subs.as_slice().iter().all(|s| matches!(s, SubscriptValue::Index(_))) {
            let start = subarray_number(c, at, array.dims(), subscripts, subs)?;
            let rest: usize = array.dims().get(subs.len..).unwrap_or_default().iter().product();
            let part = array.index_leading(subs.len, start.saturating_mul(rest), &self.memory);
            return part
                .map_err(|e| at.allocation_failure(&e))?
                .ok_or_else(|| at.internal_error("an element is missing"));
        }
        let selection = resolve_selection(c, at, array.dims(), subscripts, subs)?;
        let dims = selection.dims();
        if selection.is_contiguous() {
            // An empty selection may begin past the last element.
            return Ok(Value::Array(array.view(selection.start.min(array.count()), &dims)));
        }
        self.gather_elements(at, array, &selection, &dims)
    }

    fn gather_elements(
        &self,
        at: FailureSite<'_>,
        array: &Array,
        selection: &ElementSelection,
        dims: &[usize],
    ) -> InterpResult {
        fn typed<T: UnboxedElement>(
            this: &Interp<'_>,
            at: FailureSite<'_>,
            array: &Array,
            selection: &ElementSelection,
            dims: &[usize],
        ) -> InterpResult {
            let from = array.slice::<T>().unwrap_or_default();
            let (mut to, charge) =
                this.memory.vec_with_capacity(selection.count()).map_err(|e| at.allocation_failure(&e))?;
            selection.for_each_position(|i| to.extend(from.get(i)));
            this.make_array(at, Array::new(dims, T::make_store(to), charge))
        }
        match array.store() {
            Store::F64(_) => typed::<f64>(self, at, array, selection, dims),
            Store::F32(_) => typed::<f32>(self, at, array, selection, dims),
            Store::I64(_) => typed::<i64>(self, at, array, selection, dims),
            Store::Bool(_) => typed::<bool>(self, at, array, selection, dims),
            Store::Columns(columns) => {
                let gathered = |part: &Array| match self.gather_elements(at, part, selection, dims)? {
                    Value::Array(part) => Ok(part),
                    _ => Err(at.internal_error("a column of an array is not an array")),
                };
                let parts = array.all_columns().iter().map(gathered).collect::<InterpResult<Vec<_>>>()?;
                self.make_array(at, Array::from_columns(dims, columns.form().clone(), parts))
            }
            Store::Boxed(_) => {
                let from = array.boxed_elements().unwrap_or_default();
                let (mut to, charge) =
                    self.memory.vec_with_capacity(selection.count()).map_err(|e| at.allocation_failure(&e))?;
                selection.for_each_position(|i| to.extend(from.get(i).cloned()));
                self.make_array(at, Array::new(dims, to.into(), charge))
            }
        }
    }

    /// Evaluates `x with [i] = e`: first all subscripts and values, left to right, then all
    /// updates.
    #[inline(never)]
    pub(super) fn eval_with(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        at: FailureSite<'_>,
        base: TypedId,
        updates: &[TypedWithUpdate],
    ) -> InterpResult {
        let path = is_local_path(&c.body.nodes, base);
        let early = if path { None } else { Some(self.eval(c, f, base)?) };
        let mut pending = Vec::with_capacity(updates.len());
        for u in updates {
            let subs = match &u.target {
                TypedUpdateTarget::Index(subs) => Some((subs, self.eval_subscripts(c, f, subs)?)),
                TypedUpdateTarget::Proj(_) => None,
            };
            // Adding a false bracket adds nothing (4.24).
            let value = if u.is_add { self.eval_summand(c, f, u.value)? } else { Some(self.eval(c, f, u.value)?) };
            pending.push(match (&u.target, subs) {
                (_, Some((subscripts, subs))) => PendingUpdate::Index(subscripts, subs, value),
                (TypedUpdateTarget::Proj(k), _) => PendingUpdate::Proj(*k, value),
                (TypedUpdateTarget::Index(_), None) => {
                    return Err(at.internal_error("an index update has no subscripts"));
                }
            });
        }
        let mut value = match early {
            Some(value) => value,
            None => self.eval(c, f, base)?,
        };
        self.make_unshared(at, &mut value, &mut pending)?;
        let ty = &c.body.nodes[base].ty;
        for (u, p) in updates.iter().zip(pending) {
            let at = c.site(u.span);
            value = match p {
                PendingUpdate::Index(subscripts, subs, new) => {
                    let Value::Array(array) = value else {
                        return Err(at.internal_error("the updated value is not an array"));
                    };
                    self.update_elements(c, at, array, (subscripts, &subs), new, u.is_add)?
                }
                PendingUpdate::Proj(k, None) if component_type(ty, k).is_some() => value,
                PendingUpdate::Proj(k, new) => self.update_component(at, value, ty, k, new, u.is_add)?,
            };
        }
        Ok(value)
    }

    /// Makes the base unshared. Copies values that are views of it first: `a with [i] = a[i - 1]`
    /// copies a row instead of the whole `a`.
    fn make_unshared(
        &mut self,
        at: FailureSite<'_>,
        base: &mut Value,
        pending: &mut [PendingUpdate<'_>],
    ) -> InterpResult<()> {
        let Value::Array(array) = base else { return Ok(()) };
        if array.store_mut().is_some() {
            return Ok(());
        }
        for p in pending {
            if let PendingUpdate::Index(_, _, Some(Value::Array(v))) = p
                && v.shares_buffer(array)
            {
                *v = v.compact(&self.memory).map_err(|e| at.allocation_failure(&e))?;
            }
        }
        if array.store_mut().is_none() {
            *array = array.compact(&self.memory).map_err(|e| at.allocation_failure(&e))?;
        }
        Ok(())
    }

    fn update_elements(
        &mut self,
        c: &RunnableBody,
        at: FailureSite<'_>,
        mut array: Array,
        (subscripts, subs): (&[TypedSubscript], &SubscriptList),
        new: Option<Value>,
        add: bool,
    ) -> InterpResult {
        let selection = resolve_selection(c, at, array.dims(), subscripts, subs)?;
        let Some(new) = new else { return Ok(Value::Array(array)) };
        if let Value::Array(v) = &new
            && v.dims() != selection.dims().as_slice()
        {
            let message =
                format!("a value of shape {:?} does not fit a slice of shape {:?}", v.dims(), selection.dims());
            return Err(at.fail(ErrorCode::E0501, message));
        }
        if add && self.traps_nan {
            let mut places = Vec::with_capacity(selection.count());
            selection.for_each_position(|i| places.push(i));
            self.check_sums(at, &array, &places, &new)?;
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
    fn put_scalars(
        &mut self,
        array: &mut Array,
        from: usize,
        selection: &ElementSelection,
        new: &Value,
        add: bool,
    ) -> bool {
        let done = put_unboxed::<f64>(array, from, selection, new, add.then_some(|a, b| a + b))
            || put_unboxed::<f32>(array, from, selection, new, add.then_some(|a, b| a + b))
            || put_unboxed::<i64>(array, from, selection, new, add.then_some(i64::wrapping_add))
            || put_unboxed::<bool>(array, from, selection, new, None);
        if done && add && !matches!(array.store(), Store::I64(_)) {
            self.count_work(selection.count());
        }
        done
    }

    /// Writes tuples or records into an array that stores such elements flat, scalar by scalar.
    /// Returns false if the shapes differ or the array is boxed.
    fn put_columns(
        &mut self,
        at: FailureSite<'_>,
        array: &mut Array,
        selection: &ElementSelection,
        new: &Value,
        add: bool,
    ) -> InterpResult<bool> {
        let Some(form) = array.form().cloned() else { return Ok(false) };
        let mut scalars = Vec::new();
        match new {
            Value::Array(new) if new.form() == Some(&form) => {
                scalars.extend(new.all_columns().into_iter().map(Value::Array));
            }
            Value::Array(_) => return Ok(false),
            new => {
                if !form.for_each_scalar(new, &mut |scalar| scalars.push(scalar.clone())) {
                    return Ok(false);
                }
            }
        }
        let Some((Store::Columns(columns), start)) = array.store_mut() else { return Ok(false) };
        for (part, new) in columns.arrays_mut().iter_mut().zip(&scalars) {
            if part.store_mut().is_none() {
                *part = part.compact(&self.memory).map_err(|e| at.allocation_failure(&e))?;
            }
            if !self.put_scalars(part, start, selection, new, add) {
                return Err(at.internal_error("a scalar does not have the element kind of its array"));
            }
        }
        Ok(true)
    }

    fn put_boxed(
        &mut self,
        at: FailureSite<'_>,
        array: &mut Array,
        selection: &ElementSelection,
        new: &Value,
        add: bool,
    ) -> InterpResult<()> {
        if !array.is_boxed() && (may_hold_dual(new) || array.form().is_some()) {
            *array = array.boxed_copy(&self.memory).map_err(|e| at.allocation_failure(&e))?;
        }
        let Some((Store::Boxed(items), start)) = array.store_mut() else {
            return Err(at.internal_error("an element does not have the element kind of its array"));
        };
        let mut places = Vec::with_capacity(selection.count());
        selection.for_each_position(|i| places.push(start + i));
        for (k, place) in places.into_iter().enumerate() {
            let value = match new {
                Value::Array(a) => a.element(k),
                other => Some(other.clone()),
            };
            let (Some(slot), Some(value)) = (items.values.get_mut(place), value) else {
                return Err(at.internal_error("an element is missing"));
            };
            *slot = if add {
                let old = std::mem::replace(slot, Value::Bool(false));
                self.join(at, JoinOp::Add, old, &value)?
            } else {
                value
            };
        }
        Ok(())
    }

    /// Evaluates `r with name = e`.
    fn update_component(
        &mut self,
        at: FailureSite<'_>,
        value: Value,
        ty: &Type,
        k: u32,
        new: Option<Value>,
        add: bool,
    ) -> InterpResult {
        let place = component_position(&value, ty, k);
        let (names, mut parts) = match value {
            Value::Tuple(t) => (None, take_components(t)),
            Value::Record(r) => (Some(r.names.clone()), take_fields(r)),
            _ => return Err(at.internal_error("the updated value has no components")),
        };
        let slot = place
            .and_then(|k| parts.get_mut(k))
            .ok_or_else(|| at.internal_error("the updated value has no such component"))?;
        if let Some(new) = new {
            *slot = if add {
                let old = std::mem::replace(slot, Value::Bool(false));
                self.join(at, JoinOp::Add, old, &new)?
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
fn put_unboxed<T: UnboxedElement>(
    array: &mut Array,
    from: usize,
    selection: &ElementSelection,
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
    selection.for_each_position(|i| {
        if let (Some(slot), Some(x)) = (target.get_mut(i), values.get(if single { 0 } else { k })) {
            *slot = add.map_or(*x, |op| op(*slot, *x));
        }
        k += 1;
    });
    true
}

/// Returns the row-major number of the subarray that the leading indices select.
fn subarray_number(
    c: &RunnableBody,
    at: FailureSite<'_>,
    dims: &[usize],
    subscripts: &[TypedSubscript],
    subs: &SubscriptList,
) -> InterpResult<usize> {
    let mut start = 0usize;
    for (axis, sub) in subs.as_slice().iter().enumerate() {
        let n = *dims.get(axis).ok_or_else(|| at.internal_error("an access has more indices than axes"))?;
        let SubscriptValue::Index(i) = sub else { return Err(at.internal_error("a subscript is not an index")) };
        let i = check_bounds(c, at, *i, axis, n, subscripts.get(axis))?;
        start = start.saturating_mul(n).saturating_add(i);
    }
    Ok(start)
}

/// Resolves subscripts to a selection. Axes without a subscript are whole.
fn resolve_selection(
    c: &RunnableBody,
    at: FailureSite<'_>,
    dims: &[usize],
    subscripts: &[TypedSubscript],
    subs: &SubscriptList,
) -> InterpResult<ElementSelection> {
    let subs = subs.as_slice();
    if subs.len() > dims.len() {
        return Err(at.internal_error("an access has more indices than axes"));
    }
    let mut result = ElementSelection { start: 0, axes: Vec::with_capacity(dims.len()) };
    // Failures are reported for the first axis, but strides accumulate from the last one.
    let mut parts = Vec::with_capacity(dims.len());
    for (axis, n) in dims.iter().enumerate() {
        let part = match subs.get(axis) {
            None | Some(SubscriptValue::FullAxis) => (0, Some(*n)),
            Some(SubscriptValue::Index(i)) => (check_bounds(c, at, *i, axis, *n, subscripts.get(axis))?, None),
            Some(SubscriptValue::Range(from, to)) => {
                let bounds = (usize::try_from(*from), usize::try_from(*to));
                match bounds {
                    (Ok(a), Ok(b)) if a <= b && b <= *n => (a, Some(b - a)),
                    _ => {
                        let at = subscript_site(c, at, subscripts.get(axis));
                        let message = format!("slice {from}..{to} is out of bounds for axis {axis} of extent {n}");
                        let help = "a slice `a..b` must satisfy `0 <= a <= b <= extent`; `b` is exclusive";
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
fn subscript_site<'c>(c: &'c RunnableBody, at: FailureSite<'c>, subscript: Option<&TypedSubscript>) -> FailureSite<'c> {
    match subscript {
        Some(TypedSubscript::Index { index, .. }) => c.site(c.body.nodes[*index].span),
        Some(TypedSubscript::Range { from, to, .. }) => c.site(c.body.nodes[*from].span.to(c.body.nodes[*to].span)),
        _ => at,
    }
}

fn check_bounds(
    c: &RunnableBody,
    at: FailureSite<'_>,
    i: i64,
    axis: usize,
    n: usize,
    subscript: Option<&TypedSubscript>,
) -> InterpResult<usize> {
    match usize::try_from(i) {
        Ok(i) if i < n => Ok(i),
        _ => Err(out_of_bounds_failure(c, subscript_site(c, at, subscript), i, axis, n, subscript)),
    }
}

#[cold]
fn out_of_bounds_failure(
    c: &RunnableBody,
    at: FailureSite<'_>,
    i: i64,
    axis: usize,
    n: usize,
    subscript: Option<&TypedSubscript>,
) -> Box<lang_runtime::Failure> {
    let failure = at.fail(ErrorCode::E0500, format!("index {i} is out of bounds for axis {axis} of extent {n}"));
    let help = match subscript {
        Some(TypedSubscript::Index { is_proved: true, .. }) => {
            "the compiler proved this index in bounds, so this is a bug in Iverson; please report it".to_owned()
        }
        Some(TypedSubscript::Index { index, .. }) => bounds_advice(c, *index, axis, n),
        _ => GUARD_ADVICE.to_owned(),
    };
    with_help(failure, &help)
}

/// The advice for an index out of bounds, if the program's expressions are too long to quote.
const GUARD_ADVICE: &str = "guard the access, as in `[0 <= k < n] * x[k]`, or shorten the index range";

/// Returns advice for an index out of bounds, in terms of the program's expressions.
fn bounds_advice(c: &RunnableBody, index: TypedId, axis: usize, n: usize) -> String {
    let nodes = &c.body.nodes;
    if matches!(nodes[index].kind, TypedExpr::Int(_)) {
        return match n.checked_sub(1) {
            Some(0) => "the only index of this axis is 0".to_owned(),
            Some(last) => format!("the indices of this axis run from 0 to {last}"),
            None => "this axis has no elements".to_owned(),
        };
    }
    let name = |l: LocalId| c.body.locals.get(l.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
    let phrases = PhrasePrinter { nodes, local_name: &name, node_type: &|node| nodes[node].ty.clone() };
    let phrase = phrases.print_standalone(index);
    let of = |subscripts: &[TypedSubscript]| {
        subscripts.iter().any(|s| matches!(s, TypedSubscript::Index { index: own, .. } if *own == index))
    };
    let access = nodes.iter().find_map(|(node, e)| match &e.kind {
        TypedExpr::Index(base, subscripts) if of(subscripts) => Some((node, *base)),
        _ => None,
    });
    let Some((access, base)) = access else {
        return match phrase.contains('…') {
            true => "shorten the index range, or update only where the index is in bounds".to_owned(),
            false => format!("shorten the index range, or update only where `0 <= {phrase} < {n}`"),
        };
    };
    let extent = nodes[base].ty.split_array().0.get(axis).map_or_else(|| n.to_string(), ToString::to_string);
    let guarded = format!("[0 <= {phrase} < {extent}] * {}", phrases.print_standalone(access));
    match guarded.contains(['…', '#']) {
        true => GUARD_ADVICE.to_owned(),
        false => format!("guard the access with `{guarded}`, or shorten the index range"),
    }
}

fn with_help(mut failure: Box<lang_runtime::Failure>, help: &str) -> Box<lang_runtime::Failure> {
    failure.help = Some(help.to_owned());
    failure
}
