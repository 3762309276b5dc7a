//! **Stack growth.** Runs recursions whose depth the user's program controls.

/// The remaining stack, in bytes, below which a recursion allocates a new segment. One step of any
/// recursion here needs less.
const RED_ZONE: usize = 128 << 10;

/// The size of a new stack segment, in bytes.
const STACK_SEGMENT: usize = 4 << 20;

/// Runs one step of a recursion on a stack that grows on demand. User programs control the depth:
/// source trees have at most 256 levels, but a flat chain of operators becomes a deep tree, and
/// calls nest.
pub fn ensure_sufficient_stack<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, STACK_SEGMENT, step)
}
