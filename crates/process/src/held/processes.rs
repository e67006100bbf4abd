use std::slice;
use std::sync::{Arc, Mutex};

use rustix::process::Pid;

use crate::tree::{Lister, is_first};

/// The maximum number of lists in a look. If the last one still has a process that no other had, the look is not whole.
const MOST_LISTS: usize = 10;

/// The processes to look at.
#[derive(Debug, Clone)]
pub(super) enum Processes {
    /// Those that run below another one, without the spared ones. Only one look at a time may stop them.
    Below { root: Pid, spared: Arc<[Pid]>, stops: Arc<Mutex<()>> },
    /// Those that run below several others. These look at them, too, and may stop them.
    BelowAll(Arc<[Pid]>),
    /// These, without a list.
    #[cfg(test)]
    These(Arc<[i32]>),
}

/// The result of looking at each process.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The processes that were still there in the end.
    pub(super) left: Vec<i32>,
    /// Whether the look has seen each of them. Then a process that started another and ended has left nothing behind.
    pub(super) is_whole: bool,
}

impl Processes {
    /// Calls `look` with each process, newest first, until it returns false. Then lists them again, until a list has no
    /// process that it has not looked at.
    pub(super) fn each(&self, mut look: impl FnMut(i32) -> bool) -> Seen {
        let (roots, spared): (&[Pid], &[Pid]) = match self {
            Self::Below { root, spared, .. } => (slice::from_ref(root), spared),
            Self::BelowAll(roots) => (roots, &[]),
            #[cfg(test)]
            Self::These(these) => return Seen { left: these.to_vec(), is_whole: these.iter().all(|pid| look(*pid)) },
        };
        let mut lister = Lister::new(roots, spared);
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
        drop(input);
        shell.wait().unwrap();
    }
}
