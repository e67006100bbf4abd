use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::processes::Processes;
use crate::tree::{StopOrder, Stopped, Unstopped};

/// The maximum time for which a look keeps the processes stopped.
pub(super) const LONGEST_STOP: Duration = Duration::from_millis(500);
/// The number of looks in a row that were not whole, after which the next one stops the processes.
const MOST_MISSED: u32 = 2;
/// After this number of evaded looks in a row, the processes do it on purpose.
const MOST_EVADED: u32 = 5;
/// The number of stops that failed in time since the last whole look, after which all processes are told to stop at once.
const MOST_SHORT: u32 = 5;

/// Keeps the processes stopped during a look that asks for it.
pub(super) struct Hold<'a> {
    /// Set while they are stopped.
    stop: Option<Stop<'a>>,
    held: Held,
}

struct Stop<'a> {
    // They go on before another look may stop them.
    stopped: Stopped<'a>,
    _alone: MutexGuard<'a, ()>,
    until: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// The look did not have to stop them.
    Free,
    /// They are stopped, or none ran until the look continued them.
    Stopped,
    /// They could not be stopped, or did not stay stopped.
    Not(Unstopped),
    /// They were stopped for the maximum time, and continued before the look had ended.
    TooLong,
}

/// How much a look has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    /// Everything.
    Whole,
    /// It may have missed something.
    Missed,
    /// It may have missed something although it stopped the processes: some did not stay stopped.
    Evaded,
    /// It may have missed something because the processes did not stop in time. That proves nothing: the machine may be
    /// busy.
    TooShort,
    /// It may have missed something because the processes continued before it had ended. That proves nothing either:
    /// the disk may be slow.
    TooLong,
}

impl<'a> Hold<'a> {
    /// Stops the processes if `stops` says so, unless nobody awaits the look any more: then they may belong to another
    /// job.
    pub(super) fn of(processes: &'a Processes, stops: Option<StopOrder>, is_awaited: &dyn Fn() -> bool) -> Self {
        let free = Self { stop: None, held: Held::Free };
        let (Processes::Below { root, spared, stops: alone }, Some(order)) = (processes, stops) else { return free };
        let alone = alone.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_awaited() {
            return free;
        }
        match Stopped::below(*root, spared, order, is_awaited) {
            Ok(stopped) => {
                let stop = Stop { stopped, _alone: alone, until: Instant::now() + LONGEST_STOP };
                Self { stop: Some(stop), held: Held::Stopped }
            }
            Err(why) => Self { stop: None, held: Held::Not(why) },
        }
    }

    /// Whether the processes are stopped now.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether they have been stopped for too long.
    pub(super) fn is_too_long(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| Instant::now() > stop.until)
    }

    /// Continues them if they have been stopped for too long.
    pub(super) fn go_on_in_time(&mut self) {
        if self.is_too_long() && self.end() {
            self.held = Held::TooLong;
        }
    }

    /// Continues them. Returns true if they were stopped, and none has run meanwhile.
    pub(super) fn end(&mut self) -> bool {
        let Some(stop) = self.stop.take() else { return false };
        if stop.stopped.has_run() {
            self.held = Held::Not(Unstopped::Evaded);
        }
        self.has_held()
    }

    /// Whether no process ran until the look had ended.
    pub(super) fn has_held(&self) -> bool {
        self.held == Held::Stopped
    }

    /// Returns how complete an ended look was. `is_whole` says whether it saw everything that was there at some time.
    pub(super) fn completeness(&self, is_whole: bool) -> Completeness {
        match self.held {
            Held::Not(Unstopped::Evaded) => Completeness::Evaded,
            _ if is_whole => Completeness::Whole,
            Held::Free => Completeness::Missed,
            Held::Stopped => Completeness::Evaded,
            Held::Not(Unstopped::TooShort) => Completeness::TooShort,
            Held::TooLong => Completeness::TooLong,
        }
    }
}

/// What looks have missed.
#[derive(Debug, Default)]
pub(super) struct Missed {
    /// The number of looks in a row that were not whole.
    looks: u32,
    /// The number of looks that the processes evaded although hero stopped them.
    evaded: u32,
    /// The number of stops that failed in time.
    short: u32,
}

impl Missed {
    /// Whether the next look has to stop the processes, and in which order. It rarely has to: honest programs also
    /// start others all the time, but pause in between.
    pub(super) fn stops(&self) -> Option<StopOrder> {
        let order = if self.short >= MOST_SHORT { StopOrder::AllAtOnce } else { StopOrder::ParentsFirst };
        (self.looks >= MOST_MISSED).then_some(order)
    }

    /// Notes how complete a look was. Returns true if the processes evade looks.
    pub(super) fn note(&mut self, completeness: Completeness) -> bool {
        *self = match completeness {
            Completeness::Whole => Self::default(),
            Completeness::Missed => Self { looks: self.looks + 1, ..*self },
            Completeness::Evaded => Self { looks: 0, evaded: self.evaded + 1, ..*self },
            Completeness::TooShort => Self { looks: 0, short: self.short + 1, ..*self },
            Completeness::TooLong => Self { looks: 0, ..*self },
        };
        self.evaded >= MOST_EVADED
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use std::thread;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    /// A shell with a child that does nothing.
    struct Parent(Child);

    impl Parent {
        fn start() -> Self {
            let mut shell = Command::new("sh");
            let mut shell =
                shell.args(["-c", "exec 3<&0; cat <&3 & echo; wait"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            Self(shell)
        }

        fn processes(&self) -> Processes {
            Processes::Below { root: Pid::from_child(&self.0), spared: Arc::default(), stops: Arc::default() }
        }

        fn continue_child(&self) {
            let child = crate::tree::pids(Pid::from_child(&self.0), &[])[0];
            kill_process(Pid::from_raw(child).unwrap(), Signal::CONT).unwrap();
        }
    }

    impl Drop for Parent {
        fn drop(&mut self) {
            drop(self.0.stdin.take());
            self.0.wait().unwrap();
        }
    }

    /// Stops the processes, however busy the machine is.
    fn hold(processes: &Processes) -> Hold<'_> {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let hold = Hold::of(processes, Some(StopOrder::ParentsFirst), &|| true);
            if hold.is_stopped() {
                return hold;
            }
            assert!(Instant::now() < until, "they do not stop");
            thread::yield_now();
        }
    }

    #[test]
    fn a_look_is_whole_only_if_nobody_ran_meanwhile() {
        let parent = Parent::start();
        let processes = parent.processes();
        let mut held = hold(&processes);
        assert!(held.end() && held.has_held() && !held.is_stopped());
        assert_eq!([true, false].map(|is_whole| held.completeness(is_whole)), [Completeness::Whole, Completeness::Evaded]);
        let mut continued = hold(&processes);
        parent.continue_child();
        assert!(!continued.end() && !continued.has_held());
        assert_eq!([true, false].map(|is_whole| continued.completeness(is_whole)), [Completeness::Evaded; 2]);
    }

    #[test]
    fn a_stop_that_was_too_short_is_told_from_one_that_was_evaded() {
        let parent = Parent::start();
        let processes = parent.processes();
        let is_over = || Instant::now().checked_sub(LONGEST_STOP).unwrap();
        let mut short = hold(&processes);
        short.go_on_in_time();
        assert!(short.is_stopped());
        short.stop.as_mut().unwrap().until = is_over();
        short.go_on_in_time();
        assert!(!short.is_stopped() && !short.end() && !short.has_held());
        assert_eq!([true, false].map(|is_whole| short.completeness(is_whole)), [Completeness::Whole, Completeness::TooLong]);
        let mut continued = hold(&processes);
        parent.continue_child();
        continued.stop.as_mut().unwrap().until = is_over();
        continued.go_on_in_time();
        assert!(!continued.is_stopped() && continued.completeness(true) == Completeness::Evaded);
    }

    #[test]
    fn nobody_is_stopped_unless_it_is_asked_for_and_awaited() {
        let parent = Parent::start();
        let (below, these) = (parent.processes(), Processes::These([1].into()));
        let stops = Some(StopOrder::ParentsFirst);
        for (processes, stops, is_awaited) in [(&below, None, true), (&below, stops, false), (&these, stops, true)] {
            let mut free = Hold::of(processes, stops, &|| is_awaited);
            assert!(!free.is_stopped() && !free.end() && !free.has_held());
            assert_eq!([true, false].map(|is_whole| free.completeness(is_whole)), [Completeness::Whole, Completeness::Missed]);
        }
    }

    fn stopped_looks(completeness: Completeness) -> (Vec<Option<StopOrder>>, Option<usize>) {
        let (mut missed, mut stops) = (Missed::default(), Vec::new());
        let evaded_at = (1..=30).find(|_| {
            stops.push(missed.stops());
            missed.note(if missed.stops().is_some() { completeness } else { Completeness::Missed })
        });
        (stops, evaded_at)
    }

    #[test]
    fn processes_are_stopped_seldom_and_evade_only_if_they_do_always() {
        let (stops, evaded_at) = stopped_looks(Completeness::Evaded);
        let stop = Some(StopOrder::ParentsFirst);
        assert_eq!((&stops[..7], evaded_at), (&[None, None, stop, None, None, stop, None][..], Some(15)));
        let mut missed = Missed { looks: 1, evaded: MOST_EVADED - 1, short: 0 };
        assert!(!missed.note(Completeness::Whole) && !missed.note(Completeness::Evaded));
    }

    #[test]
    fn a_stop_that_was_too_short_proves_nothing_and_takes_nothing_back() {
        let (stops, evaded_at) = stopped_looks(Completeness::TooShort);
        assert_eq!(evaded_at, None);
        let orders: Vec<_> = stops.into_iter().flatten().collect();
        assert_eq!(orders, [[StopOrder::ParentsFirst; 5], [StopOrder::AllAtOnce; 5]].concat());
        // Who did stop is told in the same order again.
        let (stops, _) = stopped_looks(Completeness::TooLong);
        assert!(!stops.contains(&Some(StopOrder::AllAtOnce)));
        let mut missed = Missed { looks: 0, evaded: MOST_EVADED - 1, short: 0 };
        assert!(!missed.note(Completeness::TooShort) && missed.note(Completeness::Evaded));
    }
}
