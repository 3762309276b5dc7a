//! The commands of the command line, a file each.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod cost;
pub(crate) mod doc;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod fmt;
pub(crate) mod gradbench;
pub(crate) mod run;
pub(crate) mod show;
