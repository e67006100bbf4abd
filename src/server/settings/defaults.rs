//! The defaults that depend on the machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The memory that is assumed if the system does not tell it.
const SOME_MEMORY: u64 = 2 << 30;

/// Where data is kept by default; `None` without a home directory.
pub(crate) fn data(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let var = |name: &str| env.get(name).filter(|value| Path::new(value).is_absolute()).map(PathBuf::from);
    var("XDG_DATA_HOME").or_else(|| var("HOME").map(|home| home.join(".local/share"))).map(|base| base.join("hero"))
}

/// One `osis` actor for each core, and two of `sal`.
pub(super) fn pools() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("osis={cores},sal=2")
}

/// Half of the memory of this machine or container.
pub(super) fn redis_max_memory() -> String {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    });
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse::<u64>().ok());
    let memory = machine.into_iter().chain(container).min().unwrap_or(SOME_MEMORY);
    format!("{}MB", (memory / 2) >> 20)
}

/// No limit for programs on this machine where nobody logs in, 1000 for others.
pub(super) fn calls_per_second(listen: &str, login: bool) -> &'static str {
    if !login && listen.parse::<super::Listen>().is_ok_and(|listen| listen.public().is_none()) { "0" } else { "1000" }
}
