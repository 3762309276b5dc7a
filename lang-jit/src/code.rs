//! **Calls of compiled kernels.** Owns the machine code of a kernel and marshals its arguments: the
//! addresses of buffers, extents and integers. Implements [`KernelCode`]: `lang_core::exec` calls
//! it with the memory of a run, and the code writes its results there.
#![allow(unsafe_code, reason = "machine code is called with addresses of buffers")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cranelift_jit::JITModule;
use lang_core::exec::native::{Copies, KernelCode, KernelInterrupted, MAX_SCALAR_WORDS, MemorySlot, SlotElements};
use lang_core::syntax::ops::Scalar;

use crate::argument_layout::HEAD_WORDS;
use crate::runtime_calls::RuntimeOp;
use crate::thread_pool::ThreadPool;

/// The type of compiled functions. The parameter is the address of the argument words, in the
/// layout of [`crate::argument_layout`]. The result is 0, or 1 after an interrupt.
type KernelEntry = unsafe extern "C" fn(*const i64) -> i32;

/// The memory of an empty buffer, large enough for one element of any type. Compiled code replaces
/// an index that is out of bounds by 0, so it may read the first element of an empty buffer.
static EMPTY_BUFFER: [u64; 2] = [0; 2];

/// The element type, access and rank that a compiled function expects of a place.
pub(crate) struct ExpectedPlace {
    /// The element type.
    pub(crate) scalar: Scalar,
    /// Whether the function writes the place.
    pub(crate) is_written: bool,
    /// The number of axes with memory.
    pub(crate) axes: usize,
}

/// The compiled function of a kernel.
pub(crate) struct CompiledKernel {
    /// The places with memory, in the order of the arguments.
    pub(crate) places: Vec<ExpectedPlace>,
    /// The number of integer arguments.
    pub(crate) integers: usize,
    /// An upper bound in bytes of its stack frame and of the stack that its callees use.
    stack: usize,
    entry: KernelEntry,
    /// The owner of the code; `None` only during `drop`.
    module: Mutex<Option<JITModule>>,
    /// The operations that the code calls; the code contains their addresses.
    _operations: Vec<Arc<RuntimeOp>>,
    /// The threads that run its chunks.
    pool: Arc<ThreadPool>,
}

impl CompiledKernel {
    /// Wraps the function at this address.
    ///
    /// # Safety
    /// It must be a [`KernelEntry`] of this module, and read its arguments in the layout of
    /// [`crate::argument_layout`].
    pub(crate) unsafe fn new(
        address: *const u8,
        module: JITModule,
        places: Vec<ExpectedPlace>,
        integers: usize,
        stack: usize,
        operations: Vec<Arc<RuntimeOp>>,
        pool: Arc<ThreadPool>,
    ) -> Self {
        // SAFETY: by the contract above.
        let entry = unsafe { std::mem::transmute::<*const u8, KernelEntry>(address) };
        Self { places, integers, stack, entry, module: Mutex::new(Some(module)), _operations: operations, pool }
    }
}

impl Drop for CompiledKernel {
    fn drop(&mut self) {
        let module = self.module.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(module) = module {
            // SAFETY: only `call` and `run_scalars` call the functions of the module, and both
            // borrow `self`.
            unsafe { module.free_memory() };
        }
    }
}

/// Returns the element type of a slot, whether its elements are writable, their address and their
/// number.
fn raw_parts(items: &mut SlotElements<'_>) -> (Scalar, bool, *const u8, usize) {
    match items {
        SlotElements::F64(v) => (Scalar::F64, false, v.as_ptr().cast(), v.len()),
        SlotElements::F32(v) => (Scalar::F32, false, v.as_ptr().cast(), v.len()),
        SlotElements::I64(v) => (Scalar::I64, false, v.as_ptr().cast(), v.len()),
        SlotElements::Bool(v) => (Scalar::Bool, false, v.as_ptr().cast(), v.len()),
        SlotElements::MutF64(v) => (Scalar::F64, true, v.as_mut_ptr().cast_const().cast(), v.len()),
        SlotElements::MutF32(v) => (Scalar::F32, true, v.as_mut_ptr().cast_const().cast(), v.len()),
        SlotElements::MutI64(v) => (Scalar::I64, true, v.as_mut_ptr().cast_const().cast(), v.len()),
        SlotElements::MutBool(v) => (Scalar::Bool, true, v.as_mut_ptr().cast_const().cast(), v.len()),
    }
}

/// A place as an argument.
struct PlaceArgument {
    /// The address of the first copy.
    address: i64,
    /// The size of one copy in bytes; 0 if the place is empty.
    bytes: i64,
    copies: Copies,
    /// The extents.
    dims: Vec<i64>,
}

impl CompiledKernel {
    /// Returns the arguments for the slots. Panics if a slot lacks the type and shape that the
    /// function expects, with the number of copies that `copies` returns for it.
    fn place_arguments(
        &self,
        slots: &mut [MemorySlot<'_>],
        copies: &dyn Fn(usize) -> (Copies, usize),
    ) -> Vec<PlaceArgument> {
        assert_eq!(slots.len(), self.places.len(), "every place has a slot");
        let places = slots.iter_mut().zip(&self.places).enumerate();
        let arguments = places.map(|(k, (slot, expected))| {
            let (copies, copy_count) = copies(k);
            let (scalar, writable, start, count) = raw_parts(&mut slot.items);
            let elements = slot.dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d)).unwrap_or(usize::MAX);
            let is_allowed = writable || !expected.is_written;
            assert!(scalar == expected.scalar && is_allowed, "a slot must have the element type of its place");
            assert!(slot.dims.len() == expected.axes, "a slot must have the rank of its place");
            assert!(elements.checked_mul(copy_count) == Some(count), "a slot must contain the elements of all copies");
            let start = if count == 0 { EMPTY_BUFFER.as_ptr().cast() } else { start };
            let bytes = elements * crate::generate::clif_type(scalar).bytes() as usize;
            PlaceArgument {
                address: address(start),
                bytes: if count == 0 { 0 } else { bytes.cast_signed() as i64 },
                copies,
                dims: slot.dims.iter().map(|n| n.cast_signed() as i64).collect(),
            }
        });
        arguments.collect()
    }

    /// Calls the function for a chunk on a thread. A place with several copies passes the copy of
    /// this chunk or thread. Returns false after an interrupt.
    ///
    /// # Safety
    /// Until the call returns, no other thread may access the elements that it writes.
    unsafe fn call(
        &self,
        head: [i64; HEAD_WORDS],
        places: &[PlaceArgument],
        integers: &[i64],
        [chunk, thread]: [usize; 2],
    ) -> bool {
        let words: usize = places.iter().map(|place| place.dims.len() + 1).sum();
        let mut arguments: Vec<i64> = Vec::with_capacity(head.len() + words + integers.len());
        arguments.extend(head);
        for place in places {
            let copy = match place.copies {
                Copies::One => 0,
                Copies::Chunks => chunk,
                Copies::Threads => thread,
            };
            arguments.push(place.address + place.bytes * copy.cast_signed() as i64);
            arguments.extend(&place.dims);
        }
        arguments.extend(integers);
        // SAFETY: the addresses are those of buffers of the types and extents that the code
        // expects, because `place_arguments` has checked them. The caller borrows the
        // written ones mutably, and all live until the call returns.
        unsafe { (self.entry)(arguments.as_ptr()) == 0 }
    }
}

fn address(p: *const u8) -> i64 {
    p.expose_provenance().cast_signed() as i64
}

impl KernelCode for CompiledKernel {
    fn run(
        &self,
        slots: &mut [MemorySlot<'_>],
        integers: &[i64],
        interrupt: &AtomicBool,
        report: &dyn Fn(i64, i64),
    ) -> Result<(), KernelInterrupted> {
        assert_eq!(integers.len(), self.integers, "every integer has a value");
        let places = self.place_arguments(slots, &|_| (Copies::One, 1));
        let pool = std::ptr::from_ref::<ThreadPool>(&self.pool);
        let head =
            [interrupt.as_ptr().cast_const().cast(), std::ptr::from_ref(&report).cast(), pool.cast()].map(address);
        // SAFETY: the slots are borrowed until the call returns.
        let done = unsafe { self.call(head, &places, integers, [0, 0]) };
        if done { Ok(()) } else { Err(KernelInterrupted) }
    }

    fn run_scalars(
        &self,
        words: &mut [u64],
        integers: &[i64],
        interrupt: &AtomicBool,
    ) -> Result<(), KernelInterrupted> {
        assert!(
            words.len() == self.places.len() && integers.len() == self.integers,
            "every place and integer has a value"
        );
        assert!(self.places.iter().all(|expected| expected.axes == 0), "every place must be a scalar");
        assert!(
            words.len() + integers.len() <= MAX_SCALAR_WORDS,
            "there must be at most MAX_SCALAR_WORDS words and integers"
        );
        let report: &dyn Fn(i64, i64) = &|_, _| {};
        let pool = std::ptr::from_ref::<ThreadPool>(&self.pool);
        let head =
            [interrupt.as_ptr().cast_const().cast(), std::ptr::from_ref(&report).cast(), pool.cast()].map(address);
        let start = words.as_mut_ptr();
        let places = (0..words.len()).map(|k| address(start.wrapping_add(k).cast_const().cast()));
        let mut arguments = [0; HEAD_WORDS + MAX_SCALAR_WORDS];
        arguments
            .iter_mut()
            .zip(head.into_iter().chain(places).chain(integers.iter().copied()))
            .for_each(|(slot, word)| *slot = word);
        // SAFETY: each place is a scalar of at most 8 bytes and has a word at an address that is a
        // multiple of 8. The words are borrowed mutably until the call returns.
        let done = unsafe { (self.entry)(arguments.as_ptr()) == 0 };
        if done { Ok(()) } else { Err(KernelInterrupted) }
    }

    fn stack(&self) -> usize {
        self.stack
    }

    fn threads(&self) -> usize {
        self.pool.threads()
    }

    fn run_chunks(
        &self,
        slots: &mut [MemorySlot<'_>],
        copies: &[Copies],
        integers: &[i64],
        chunks: &[(i64, i64)],
        interrupt: &AtomicBool,
        report: &dyn Fn(usize),
    ) -> Result<(), KernelInterrupted> {
        assert_eq!(integers.len() + 2, self.integers, "every integer has a value");
        let places = self.place_arguments(slots, &|k| match copies.get(k).copied().unwrap_or(Copies::One) {
            Copies::One => (Copies::One, 1),
            Copies::Chunks => (Copies::Chunks, chunks.len()),
            Copies::Threads => (Copies::Threads, self.threads()),
        });
        // Chunks report no progress of their loops and have no pool.
        let head = [address(interrupt.as_ptr().cast_const().cast()), 0, 0];
        let stopped = AtomicBool::new(false);
        let work = |chunk: usize, thread: usize| {
            let Some((begin, end)) = chunks.get(chunk) else { return };
            let integers: Vec<i64> = integers.iter().copied().chain([*begin, *end]).collect();
            // SAFETY: the slots are borrowed until all chunks are done. By the contract of
            // `run_chunks`, no chunk writes an element of a single copy that another reads or
            // writes. Each further copy belongs to one chunk or one thread.
            let done = unsafe { self.call(head, &places, &integers, [chunk, thread]) };
            if !done {
                stopped.store(true, Ordering::Relaxed);
            }
        };
        self.pool.run(chunks.len(), &work, report);
        if stopped.load(Ordering::Relaxed) { Err(KernelInterrupted) } else { Ok(()) }
    }
}
