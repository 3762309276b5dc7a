//! The function of a kernel, and a call of it: addresses of buffers, how far apart elements are, extents and integers, as
//! the function expects them.
#![allow(unsafe_code, reason = "machine code is called with addresses of buffers")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cranelift_jit::JITModule;
use lang_core::exec::native::{Code, Copies, Elements, Interrupted, MOST_NUMBERS, Slot};
use lang_core::syntax::ops::Scalar;

use crate::apply::Applied;
use crate::arguments::HEAD;
use crate::pool::Pool;

/// What a function takes: the address of its arguments. It gives 0, or 1 if it was interrupted.
type Entry = unsafe extern "C" fn(*const i64) -> i32;

/// Enough for an element of any kind, where a buffer has none: what is read at an index that is brought below an extent of 0
/// is the first.
static NOTHING: [u64; 2] = [0; 2];

/// A place as a function expects it.
pub(crate) struct Expected {
    /// What it holds.
    pub(crate) scalar: Scalar,
    pub(crate) is_written: bool,
    pub(crate) axes: usize,
}

/// The function of a kernel.
pub(crate) struct Native {
    pub(crate) places: Vec<Expected>,
    pub(crate) integers: usize,
    /// The bytes of its frame, at most, and of what it calls.
    stack: usize,
    entry: Entry,
    /// Owns the code.
    module: Mutex<Option<JITModule>>,
    /// What the code calls; it has their addresses.
    _applied: Vec<Arc<Applied>>,
    /// Who runs chunks of it.
    pool: Arc<Pool>,
}

impl Native {
    /// The function at this address.
    ///
    /// # Safety
    /// It is an [`Entry`], of this module, that expects arguments as [`Native::run`] gives them.
    pub(crate) unsafe fn new(
        address: *const u8,
        module: JITModule,
        places: Vec<Expected>,
        integers: usize,
        stack: usize,
        applied: Vec<Arc<Applied>>,
        pool: Arc<Pool>,
    ) -> Self {
        // SAFETY: by the contract above.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        Self { places, integers, stack, entry, module: Mutex::new(Some(module)), _applied: applied, pool }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        let module = self.module.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(module) = module {
            // SAFETY: the functions of the module are called by `call` alone, which borrows `self`.
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

/// A place as a function is given it: its address, how many bytes a copy has, and its extents.
struct Given {
    at: i64,
    bytes: i64,
    copies: Copies,
    dims: Vec<i64>,
}

impl Native {
    /// The places, each of the kind and shape that the function was made for, with these numbers of copies.
    fn given(&self, slots: &mut [Slot<'_>], copies: &dyn Fn(usize) -> (Copies, usize)) -> Vec<Given> {
        assert_eq!(slots.len(), self.places.len(), "every place has a slot");
        let places = slots.iter_mut().zip(&self.places).enumerate();
        let given = places.map(|(k, (slot, expected))| {
            let (copies, number) = copies(k);
            let (kind, writable, start, count) = parts(&mut slot.items);
            let product = slot.dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d)).unwrap_or(usize::MAX);
            let is_allowed = writable || !expected.is_written;
            assert!(kind == expected.scalar && is_allowed, "a slot of the kind of its place");
            assert!(slot.dims.len() == expected.axes, "a slot of the shape of its place");
            assert!(product.checked_mul(number) == Some(count), "as many elements as there are in all copies");
            let start = if count == 0 { NOTHING.as_ptr().cast() } else { start };
            let bytes = product * crate::generate::ty(kind).bytes() as usize;
            Given {
                at: address(start),
                bytes: if count == 0 { 0 } else { bytes.cast_signed() as i64 },
                copies,
                dims: slot.dims.iter().map(|n| n.cast_signed() as i64).collect(),
            }
        });
        given.collect()
    }

    /// Calls the function, with this chunk's and this thread's copies of what there are several of.
    ///
    /// # Safety
    /// What is written is written by no one else until it returns.
    unsafe fn call(&self, head: [i64; HEAD], given: &[Given], integers: &[i64], [chunk, thread]: [usize; 2]) -> bool {
        let words: usize = given.iter().map(|of| of.dims.len() + 1).sum();
        let mut arguments: Vec<i64> = Vec::with_capacity(head.len() + words + integers.len());
        arguments.extend(head);
        for of in given {
            let nth = match of.copies {
                Copies::One => 0,
                Copies::Chunks => chunk,
                Copies::Threads => thread,
            };
            arguments.push(of.at + of.bytes * nth.cast_signed() as i64);
            arguments.extend(&of.dims);
        }
        arguments.extend(integers);
        // SAFETY: the addresses are those of buffers of the kinds and extents that the code was made for, those it
        // writes are borrowed mutably by the caller, and all live until it returns.
        unsafe { (self.entry)(arguments.as_ptr()) == 0 }
    }
}

fn address(p: *const u8) -> i64 {
    p.expose_provenance().cast_signed() as i64
}

impl Code for Native {
    fn run(
        &self,
        slots: &mut [Slot<'_>],
        integers: &[i64],
        interrupt: &AtomicBool,
        told: &dyn Fn(i64, i64),
    ) -> Result<(), Interrupted> {
        assert_eq!(integers.len(), self.integers, "every integer has a value");
        let given = self.given(slots, &|_| (Copies::One, 1));
        let pool = std::ptr::from_ref::<Pool>(&self.pool);
        let head = [interrupt.as_ptr().cast_const().cast(), std::ptr::from_ref(&told).cast(), pool.cast()].map(address);
        // SAFETY: the slots are borrowed until it returns.
        let done = unsafe { self.call(head, &given, integers, [0, 0]) };
        if done { Ok(()) } else { Err(Interrupted) }
    }

    fn run_numbers(&self, words: &mut [u64], integers: &[i64], interrupt: &AtomicBool) -> Result<(), Interrupted> {
        assert!(words.len() == self.places.len() && integers.len() == self.integers, "all have values");
        assert!(self.places.iter().all(|expected| expected.axes == 0), "all are numbers");
        assert!(words.len() + integers.len() <= MOST_NUMBERS, "they are few");
        let told: &dyn Fn(i64, i64) = &|_, _| {};
        let pool = std::ptr::from_ref::<Pool>(&self.pool);
        let head = [interrupt.as_ptr().cast_const().cast(), std::ptr::from_ref(&told).cast(), pool.cast()].map(address);
        let start = words.as_mut_ptr();
        let places = (0..words.len()).map(|k| address(start.wrapping_add(k).cast_const().cast()));
        let mut arguments = [0; HEAD + MOST_NUMBERS];
        arguments
            .iter_mut()
            .zip(head.into_iter().chain(places).chain(integers.iter().copied()))
            .for_each(|(slot, word)| *slot = word);
        // SAFETY: each place is a number, of 8 bytes at most, and has a word, at an address that is a multiple of 8; the words
        // are borrowed mutably until it returns.
        let done = unsafe { (self.entry)(arguments.as_ptr()) == 0 };
        if done { Ok(()) } else { Err(Interrupted) }
    }

    fn stack(&self) -> usize {
        self.stack
    }

    fn threads(&self) -> usize {
        self.pool.threads()
    }

    fn run_chunks(
        &self,
        slots: &mut [Slot<'_>],
        copies: &[Copies],
        integers: &[i64],
        chunks: &[(i64, i64)],
        interrupt: &AtomicBool,
        told: &dyn Fn(usize),
    ) -> Result<(), Interrupted> {
        assert_eq!(integers.len() + 2, self.integers, "every integer has a value");
        let given = self.given(slots, &|k| match copies.get(k).copied().unwrap_or(Copies::One) {
            Copies::One => (Copies::One, 1),
            Copies::Chunks => (Copies::Chunks, chunks.len()),
            Copies::Threads => (Copies::Threads, self.threads()),
        });
        // Chunks tell no one of their loops, and give no work to others.
        let head = [address(interrupt.as_ptr().cast_const().cast()), 0, 0];
        let stopped = AtomicBool::new(false);
        let work = |chunk: usize, thread: usize| {
            let Some((begin, end)) = chunks.get(chunk) else { return };
            let integers: Vec<i64> = integers.iter().copied().chain([*begin, *end]).collect();
            // SAFETY: the slots are borrowed until all chunks are done. Of what is there once no chunk writes what another
            // reads or writes, which is the contract of `run_chunks`; a copy belongs to one chunk, or to one thread.
            let done = unsafe { self.call(head, &given, &integers, [chunk, thread]) };
            if !done {
                stopped.store(true, Ordering::Relaxed);
            }
        };
        self.pool.run(chunks.len(), &work, told);
        if stopped.load(Ordering::Relaxed) { Err(Interrupted) } else { Ok(()) }
    }
}
