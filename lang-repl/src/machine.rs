//! Memory limits of this machine, for the values of a run.

use std::path::{Path, PathBuf};

use lang_core::runtime::RunLimits;

/// Returns the default limits, but with 7/8 of the memory of the machine or its container. If that
/// is unknown, the limit is the default of 4 GiB.
pub(crate) fn machine_limits() -> RunLimits {
    let usual = RunLimits::default();
    let bytes = total_memory().map_or(usual.max_bytes, |bytes| bytes - bytes / 8);
    RunLimits { max_bytes: bytes, ..usual }
}

fn total_memory() -> Option<usize> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let all = line.split_whitespace().next()?.parse::<usize>().ok()?.checked_mul(1024)?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let read = |file: &Path| std::fs::read_to_string(file).ok()?.trim().parse::<usize>().ok();
    Some(cgroup_limit_files(&groups).iter().filter_map(|file| read(file)).fold(all, usize::min))
}

/// Returns the limit files of the process's control groups and of their ancestors. `groups` is the
/// text of `/proc/self/cgroup`: version 2 has lines `0::/group`, version 1 `4:memory:/group`.
fn cgroup_limit_files(groups: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|c| c == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        // A container sees its own group at the root.
        let inside = Path::new(group.trim_start_matches('/'));
        all.extend(inside.ancestors().map(|group| Path::new(root).join(group).join(file)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::cgroup_limit_files;

    fn files(groups: &str) -> String {
        cgroup_limit_files(groups).iter().map(|file| format!("{}\n", file.display())).collect()
    }

    #[test]
    fn groups_of_both_versions() {
        assert_eq!(files("0::/\n"), "/sys/fs/cgroup/memory.max\n");
        let nested = "0::/user.slice/run.scope\n";
        let wanted = "/sys/fs/cgroup/user.slice/run.scope/memory.max\n/sys/fs/cgroup/user.slice/memory.max\n/sys/fs/cgroup/memory.max\n";
        assert_eq!(files(nested), wanted);
        let first = "5:cpu,cpuacct:/a\n4:memory:/a\n";
        let wanted = "/sys/fs/cgroup/memory/a/memory.limit_in_bytes\n/sys/fs/cgroup/memory/memory.limit_in_bytes\n";
        assert_eq!(files(first), wanted);
        assert_eq!(files("nothing"), "");
    }
}
