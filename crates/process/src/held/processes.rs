use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::tree::{Lister, Stopped, is_first};

/// The maximum number of lists in a look. If the last one still has a process that no other had, the look is not whole.
const MOST_LISTS: usize = 10;
/// The maximum time for which a look stops the processes.
pub(super) const LONGEST_STOP: Duration = Duration::from_millis(500);
/// The number of looks in a row that were not whole, after which the next one stops the processes.
const MOST_MISSED: u32 = 2;
/// The number of those in a row after which the processes evade looks on purpose.
const MOST_EVADED: u32 = 5;

/// The processes that are looked at.
#[derive(Debug, Clone)]
pub(super) enum Processes {
    /// Those that run below another one, without the spared ones. Only one look at a time may stop them.
    Below { root: Pid, spared: Arc<[Pid]>, stops: Arc<Mutex<()>> },
    /// These. They are not stopped, and not looked for.
    These(Arc<[i32]>),
}

/// What a look at each process has found.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The processes that were there in the end.
    pub(super) left: Vec<i32>,
    /// Whether each of these was looked at. One that started another and ended has left nothing behind, then.
    pub(super) is_whole: bool,
}

impl Processes {
    /// Calls `look` with each process, the newest first, until it returns false. Then lists them again, until there is
    /// none that was not looked at.
    pub(super) fn each(&self, mut look: impl FnMut(i32) -> bool) -> Seen {
        let (root, spared) = match self {
            Self::Below { root, spared, .. } => (*root, spared),
            Self::These(these) => return Seen { left: these.to_vec(), is_whole: these.iter().all(|pid| look(*pid)) },
        };
        let mut lister = Lister::new(root, spared);
        let mut left = Vec::new();
        for _ in 0..MOST_LISTS {
            let listed = lister.next();
            left = listed.all;
            // Where others are listed, too, who ended unseen may be one of theirs.
            if listed.fresh.is_empty() && !(listed.may_lack_some && is_first()) {
                return Seen { left, is_whole: true };
            }
            if !listed.fresh.into_iter().all(&mut look) {
                break;
            }
        }
        Seen { left, is_whole: false }
    }

    /// Stops them until what this returns is dropped, unless nobody awaits the look any more: they may be of another job.
    pub(super) fn stop(&self, is_awaited: impl Fn() -> bool) -> Option<Stop<'_>> {
        let Self::Below { root, spared, stops } = self else { return None };
        let alone = stops.lock().unwrap_or_else(PoisonError::into_inner);
        is_awaited().then(|| Stop { _stopped: Stopped::below(*root, spared), _alone: alone, until: Instant::now() + LONGEST_STOP })
    }
}

/// Processes that are stopped until this is dropped.
pub(super) struct Stop<'a> {
    // They go on before another look may stop them.
    _stopped: Stopped,
    _alone: MutexGuard<'a, ()>,
    until: Instant,
}

impl Stop<'_> {
    pub(super) fn is_too_long(&self) -> bool {
        Instant::now() > self.until
    }
}

/// Lets the processes go on if they have been stopped for too long.
pub(super) fn go_on_in_time(stop: &mut Option<Stop<'_>>) {
    if stop.as_ref().is_some_and(Stop::is_too_long) {
        *stop = None;
    }
}

/// What looks have missed.
#[derive(Debug, Default)]
pub(super) struct Missed {
    /// The number of looks in a row that were not whole.
    looks: u32,
    /// The number of those that stopped the processes.
    stopped: u32,
}

impl Missed {
    /// Whether the next look is to stop the processes. That is seldom: also honest programs start others all the time,
    /// but then they pause.
    pub(super) fn stops(&self) -> bool {
        self.looks >= MOST_MISSED
    }

    /// Notes whether a look was whole, and whether it stopped the processes. Returns true if they evade looks.
    pub(super) fn note(&mut self, is_whole: bool, has_stopped: bool) -> bool {
        self.looks = if is_whole || has_stopped { 0 } else { self.looks + 1 };
        self.stopped = match (is_whole, has_stopped) {
            (true, _) => 0,
            (false, true) => self.stopped + 1,
            (false, false) => self.stopped,
        };
        self.stopped >= MOST_EVADED
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_look_is_whole_only_if_the_last_list_has_nobody_new() {
        // It starts another process whenever it reads a byte.
        let mut shell = Command::new("bash");
        shell.args(["-c", "echo; while read -rN 1; do sleep 600 & echo; done; kill $(jobs -p)"]);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, mut output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        let processes = Processes::Below { root: Pid::from_child(&shell), spared: Arc::default(), stops: Arc::default() };
        let mut start = || {
            std::io::Write::write_all(&mut input, b"x").unwrap();
            output.read_exact(&mut [0]).unwrap();
        };
        start();
        start();
        let mut looks = 0;
        let seen = processes.each(|_| {
            looks += 1;
            start();
            true
        });
        assert!(!seen.is_whole && looks >= MOST_LISTS, "{looks}: {seen:?}");
        let seen = processes.each(|_| true);
        assert!(seen.is_whole && seen.left.len() > looks, "{looks}: {seen:?}");
        let seen = processes.each(|_| false);
        assert!(!seen.is_whole);
        assert!(processes.stop(|| false).is_none());
        let stop = processes.stop(|| true);
        assert!(stop.is_some() && Processes::These([1].into()).stop(|| true).is_none());
        drop(stop);
        drop(input);
        shell.wait().unwrap();
    }

    #[test]
    fn processes_are_stopped_seldom_and_evade_only_if_they_do_always() {
        let mut missed = Missed::default();
        let mut look = |is_whole| {
            let stops = missed.stops();
            (stops, missed.note(is_whole, stops))
        };
        assert_eq!([false; 7].map(&mut look).map(|(stops, _)| stops), [false, false, true, false, false, true, false]);
        assert_eq!(look(true), (false, false));
        let evades = |looks: &mut dyn FnMut(bool) -> (bool, bool)| (1..=15).find(|_| looks(false).1);
        assert_eq!(evades(&mut look), Some(15));
    }
}
