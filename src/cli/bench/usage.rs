//! The resource usage of processes, from `/proc`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// A process that this program started, with all its descendants.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree(u32);

/// CPU seconds of each party; `None` if they cannot be determined.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Cpu {
    /// The server, its engines and its private Redis.
    pub(super) server: Option<f64>,
    /// The private Redis alone, which is included in `server`.
    pub(super) redis: Option<f64>,
    /// This program.
    pub(super) client: f64,
}

impl Cpu {
    pub(super) fn per_thousand(self, jobs: u64) -> Self {
        let per = |seconds: f64| seconds * 1000.0 / jobs.max(1) as f64;
        Self { server: self.server.map(per), redis: self.redis.map(per), client: per(self.client) }
    }
}

/// Counts CPU seconds between two points in time.
pub(super) struct Meter {
    tree: Option<Tree>,
    begun: Cpu,
}

impl Meter {
    pub(super) fn start(tree: Option<Tree>) -> Self {
        Self { tree, begun: now(tree) }
    }

    pub(super) fn stop(self) -> Cpu {
        let (begun, end) = (self.begun, now(self.tree));
        let spent = |from: Option<f64>, to: Option<f64>| Some((to? - from?).max(0.0));
        Cpu { server: spent(begun.server, end.server), redis: spent(begun.redis, end.redis), client: end.client - begun.client }
    }
}

fn now(tree: Option<Tree>) -> Cpu {
    let client = Stat::read(std::process::id()).map_or(0.0, |stat| stat.own);
    let Some(tree) = tree else { return Cpu { server: None, redis: None, client } };
    let stats = tree.stats();
    let redis = stats.iter().filter(|stat| stat.is_redis()).map(|stat| stat.own + stat.reaped).sum();
    Cpu { server: Some(stats.iter().map(|stat| stat.own + stat.reaped).sum()), redis: Some(redis), client }
}

/// The fields of `/proc/PID/stat` used here.
struct Stat {
    pid: u32,
    parent: u32,
    name: String,
    /// CPU seconds of the process.
    own: f64,
    /// CPU seconds of its children that have ended.
    reaped: f64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (head, tail) = text.rsplit_once(')')?; // The name may contain anything.
        let fields: Vec<&str> = tail.split_whitespace().collect();
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let seconds = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).map(|value| value / ticks);
        Some(Self {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            name: head.split_once('(')?.1.to_owned(),
            own: seconds(11)? + seconds(12)?,
            reaped: seconds(13)? + seconds(14)?,
        })
    }

    fn is_redis(&self) -> bool {
        self.name.starts_with("redis-server") || self.name.starts_with("valkey-server")
    }
}

impl Tree {
    pub(super) fn of(root: Option<u32>) -> Self {
        Self(root.unwrap_or_default())
    }

    fn stats(self) -> Vec<Stat> {
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let all: BTreeMap<u32, Stat> =
            all.filter_map(|entry| Stat::read(entry.file_name().to_str()?.parse().ok()?)).map(|stat| (stat.pid, stat)).collect();
        let mut members = BTreeSet::from([self.0]);
        loop {
            let more: Vec<u32> =
                all.values().filter(|stat| members.contains(&stat.parent) && !members.contains(&stat.pid)).map(|stat| stat.pid).collect();
            if more.is_empty() {
                return all.into_values().filter(|stat| members.contains(&stat.pid)).collect();
            }
            members.extend(more);
        }
    }

    /// Returns the current number of processes.
    pub(super) fn len(self) -> usize {
        self.stats().len()
    }

    /// Returns its memory in bytes. Shared memory counts once (proportional set size).
    pub(super) fn pss(self) -> anyhow::Result<u64> {
        let mut bytes = 0;
        for stat in self.stats() {
            let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", stat.pid)).unwrap_or_default(); // The process may have just ended.
            let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
            bytes += line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() << 10;
        }
        anyhow::ensure!(bytes > 0, "the memory of the server cannot be read from /proc");
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_its_root_and_its_children() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let tree = Tree::of(Some(std::process::id()));
        let found = tree.stats().iter().any(|stat| stat.pid == child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found && tree.pss().unwrap() > 0);
    }
}
