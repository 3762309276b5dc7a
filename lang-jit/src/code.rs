//! The function of a kernel, and a call of it: addresses of buffers, how far apart elements are, extents and integers, as
//! the function expects them.
#![allow(unsafe_code, reason = "machine code is called with addresses of buffers")]

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use cranelift_jit::JITModule;
use lang_core::exec::native::{Code, Elements, Interrupted, Slot};
use lang_core::syntax::ops::Scalar;

use crate::apply::Applied;

/// What a function takes: the address of its arguments. It gives 0, or 1 if it was interrupted.
type Entry = unsafe extern "C" fn(*const i64) -> i32;

/// Enough for an element of any kind, where a buffer has none: an index that is brought below an extent of 0 is 0.
static NOTHING: [u64; 2] = [0; 2];

/// The function of a kernel.
pub(crate) struct Native {
    /// What a place holds, whether it is written, and how many axes it has.
    pub(crate) places: Vec<(Scalar, bool, usize)>,
    pub(crate) integers: usize,
    entry: Entry,
    /// Owns the code.
    module: Mutex<Option<JITModule>>,
    /// What the code calls; it has their addresses.
    _applied: Vec<Arc<Applied>>,
}

impl Native {
    /// The function at this address.
    ///
    /// # Safety
    /// It is an [`Entry`], of this module, that expects arguments as [`Native::run`] gives them.
    pub(crate) unsafe fn new(
        address: *const u8,
        module: JITModule,
        places: Vec<(Scalar, bool, usize)>,
        integers: usize,
        applied: Vec<Arc<Applied>>,
    ) -> Self {
        // SAFETY: by the contract above.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        Self { places, integers, entry, module: Mutex::new(Some(module)), _applied: applied }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        let module = self.module.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(module) = module {
            // SAFETY: the only function of the module is called by `run` alone, which borrows `self`.
            unsafe { module.free_memory() };
        }
    }
}

/// The kind of elements, whether they may be written, their address and their number.
fn parts(items: &mut Elements<'_>) -> (Scalar, bool, *const u8, usize) {
    match items {
        Elements::F64(v) => (Scalar::F64, false, v.as_ptr().cast(), v.len()),
        Elements::F32(v) => (Scalar::F32, false, v.as_ptr().cast(), v.len()),
        Elements::I64(v) => (Scalar::I64, false, v.as_ptr().cast(), v.len()),
        Elements::Bool(v) => (Scalar::Bool, false, v.as_ptr().cast(), v.len()),
        Elements::RoomF64(v) => (Scalar::F64, true, v.as_mut_ptr().cast_const().cast(), v.len()),
        Elements::RoomF32(v) => (Scalar::F32, true, v.as_mut_ptr().cast_const().cast(), v.len()),
        Elements::RoomI64(v) => (Scalar::I64, true, v.as_mut_ptr().cast_const().cast(), v.len()),
        Elements::RoomBool(v) => (Scalar::Bool, true, v.as_mut_ptr().cast_const().cast(), v.len()),
    }
}

impl Code for Native {
    fn run(
        &self,
        slots: &mut [Slot<'_>],
        integers: &[i64],
        interrupt: &AtomicBool,
        told: &dyn Fn(i64, i64),
    ) -> Result<(), Interrupted> {
        assert_eq!(slots.len(), self.places.len(), "every place has a slot");
        assert_eq!(integers.len(), self.integers, "every integer has a value");
        let address = |p: *const u8| p.expose_provenance().cast_signed();
        let words = self.places.iter().map(|(_, _, axes)| axes + 1).sum::<usize>();
        let mut arguments: Vec<i64> = Vec::with_capacity(2 + words + integers.len());
        let mut push = |word: isize| arguments.push(word as i64);
        push(address(interrupt.as_ptr().cast_const().cast()));
        push(address(std::ptr::from_ref(&told).cast()));
        for (slot, (scalar, written, axes)) in slots.iter_mut().zip(&self.places) {
            let (kind, writable, start, count) = parts(&mut slot.items);
            let product = slot.dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d));
            assert!(kind == *scalar && (writable || !written), "a slot of the kind of its place");
            assert!(slot.dims.len() == *axes && product == Some(count), "a slot of the shape of its place");
            push(if count == 0 { address(NOTHING.as_ptr().cast()) } else { address(start) });
            for n in slot.dims {
                push((*n).cast_signed());
            }
        }
        arguments.extend(integers);
        // SAFETY: the addresses are those of buffers of the kinds and extents that the code was made for, those it
        // writes are borrowed mutably, and all live until it returns.
        match unsafe { (self.entry)(arguments.as_ptr()) } {
            0 => Ok(()),
            _ => Err(Interrupted),
        }
    }
}
