//! Interp.
