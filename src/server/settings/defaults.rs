//! Defaults that depend on the machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The assumed memory if the system does not report it.
const SOME_MEMORY: u64 = 2 << 30;

/// Returns the default data directory; `None` without a home directory.
pub(crate) fn data(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let var = |name: &str| env.get(name).filter(|value| Path::new(value).is_absolute()).map(PathBuf::from);
    var("XDG_DATA_HOME").or_else(|| var("HOME").map(|home| home.join(".local/share"))).map(|base| base.join("hero"))
}

/// Returns one `osis` actor for each core, and two of `sal`.
pub(super) fn pools() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("osis={cores},sal=2")
}

/// Returns half of the memory of this machine or container.
pub(super) fn redis_max_memory() -> String {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    });
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse::<u64>().ok());
    let memory = machine.into_iter().chain(container).min().unwrap_or(SOME_MEMORY);
    format!("{}MB", (memory / 2) >> 20)
}

/// Returns no limit on loopback without login, else 1000.
pub(super) fn calls_per_second(listen: &str, login: bool) -> &'static str {
    if !login && listen.parse::<super::Listen>().is_ok_and(|listen| listen.public().is_none()) { "0" } else { "1000" }
}
