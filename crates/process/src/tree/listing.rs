use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::Pid;

use super::{Process, sort_below};

/// All processes at some time.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// Those that run.
    pub(super) running: BTreeMap<i32, Process>,
    /// Those that ended before this could read them, or that nobody has reaped, with their start times, if known.
    pub(super) ended: Vec<(i32, Option<u64>)>,
}

impl Snapshot {
    pub(super) fn take() -> Self {
        let mut all = Self::default();
        let names = fs::read_dir("/proc").into_iter().flatten().flatten();
        for pid in names.filter_map(|name| name.file_name().to_str()?.parse().ok()) {
            all.add(pid);
        }
        // A process whose parent ended while `/proc` was read has another parent by now.
        let orphans = all.running.values().filter(|process| process.parent != 0 && !all.running.contains_key(&process.parent));
        for orphan in orphans.map(|process| process.pid).collect::<Vec<_>>() {
            all.running.remove(&orphan);
            all.add(orphan);
        }
        all
    }

    fn add(&mut self, pid: i32) {
        match Process::stat(pid) {
            Some((process, true)) => drop(self.running.insert(pid, process)),
            Some((process, false)) => self.ended.push((pid, Some(process.started))),
            None => self.ended.push((pid, None)),
        }
    }
}

/// Lists processes again and again, so that none escapes a look by starting another and ending.
#[derive(Debug)]
pub(crate) struct Lister<'a> {
    roots: &'a [Pid],
    spared: &'a [Pid],
    /// All that were there at some time, wherever they are.
    known: BTreeSet<(i32, u64)>,
}

/// The result of one list.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// The ids of those below that no list had before, the newest first.
    pub(crate) fresh: Vec<i32>,
    /// The ids of all below.
    pub(crate) all: Vec<i32>,
    /// Whether a new process ended before this could read it: it may have started another one that is not in this list.
    pub(crate) may_lack_some: bool,
}

impl<'a> Lister<'a> {
    pub(crate) fn new(roots: &'a [Pid], spared: &'a [Pid]) -> Self {
        Self { roots, spared, known: BTreeSet::new() }
    }

    /// Lists the processes that run below the roots, without the spared ones.
    pub(crate) fn next(&mut self) -> Listed {
        let Snapshot { running, ended } = Snapshot::take();
        let is_known = |(pid, started): &(i32, Option<u64>)| match started {
            Some(started) => self.known.contains(&(*pid, *started)),
            None => self.known.range((*pid, 0)..=(*pid, u64::MAX)).next().is_some(),
        };
        let may_lack_some = !ended.iter().all(is_known);
        self.known.extend(ended.iter().filter_map(|(pid, started)| Some((*pid, (*started)?))));
        let others: Vec<_> = running.values().map(Process::key).collect();
        let all = sort_below(running, self.roots, self.spared);
        let fresh = all.iter().filter(|process| !self.known.contains(&process.key())).map(|process| process.pid).collect();
        self.known.extend(others);
        Listed { fresh, all: all.iter().map(|process| process.pid).collect(), may_lack_some }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{WaitId, WaitIdOptions, getpid, waitid};

    use super::*;

    #[test]
    fn a_list_tells_what_is_new_and_whether_somebody_ended_unseen() {
        let first = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = |child: &std::process::Child| child.id().cast_signed();
        let own = [getpid()];
        let mut lister = Lister::new(&own, &[]);
        assert!(lister.next().fresh.contains(&pid(&first)));
        let second = Command::new("sleep").arg("600").spawn().unwrap();
        let mut third = Command::new("true").spawn().unwrap();
        waitid(WaitId::Pid(Pid::from_child(&third)), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        let listed = lister.next();
        assert!(listed.fresh.contains(&pid(&second)) && !listed.fresh.contains(&pid(&first)) && listed.all.contains(&pid(&first)));
        assert!(listed.may_lack_some && !listed.all.contains(&pid(&third)), "{listed:?}");
        // Who is known to have ended starts no other, and who was read counts already. Other tests start processes, too.
        assert!((0..1000).any(|_| !lister.next().may_lack_some));
        for mut child in [first, second] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        third.wait().unwrap();
    }
}
