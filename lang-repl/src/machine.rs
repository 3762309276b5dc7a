//! What this machine has: how much memory the values of a run may take.

use lang_core::interp::Limits;

/// The usual limits, with seven of eight bytes of the machine's memory, or of what its container may have. Where the system
/// does not tell how much that is, 4 GiB.
pub(crate) fn limits() -> Limits {
    let usual = Limits::default();
    let bytes = memory().map_or(usual.max_bytes, |bytes| bytes - bytes / 8);
    Limits { max_bytes: bytes, ..usual }
}

fn memory() -> Option<usize> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let all = line.split_whitespace().next()?.parse::<usize>().ok()?.checked_mul(1024)?;
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse::<usize>().ok());
    Some(container.map_or(all, |most| most.min(all)))
}
