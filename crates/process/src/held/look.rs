use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::SigSet;

use super::{LATEST_LOOK, pause_after};

/// The maximum time between two requests that counts. In a longer one, this process did not run itself.
const MOST_WAITED: Duration = Duration::from_secs(1);
/// The stack of a thread that looks.
const STACK_BYTES: usize = 256 << 10;

/// A thread that looks at processes, one look at a time. So the thread that watches them never waits, although a
/// process that forks or changes its mappings all the time can delay a look for seconds.
pub(super) struct Look<Q, A> {
    shared: Arc<Shared<Q, A>>,
    /// The number of the last look.
    number: u64,
    /// The time of the last request, if a look runs.
    asked_at: Option<Instant>,
    /// How long others have waited for that look.
    waited: Duration,
    /// The time before which no other look begins.
    due: Option<Instant>,
}

struct Shared<Q, A> {
    state: Mutex<State<Q, A>>,
    is_asked: Condvar,
    /// The number of the look whose answer is awaited.
    awaited: AtomicU64,
}

struct State<Q, A> {
    asked: Option<(u64, Q)>,
    found: Option<(u64, A, Duration)>,
    is_over: bool,
}

/// Ends this process if its thread panics. Without the thread nothing would check the limit, and nobody would notice.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

impl<Q, A> Shared<Q, A> {
    fn state(&self) -> MutexGuard<'_, State<Q, A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next look. Returns `None` if there will be none.
    fn next(&self) -> Option<(u64, Q)> {
        let mut state = self.state();
        loop {
            match state.asked.take() {
                _ if state.is_over => return None,
                Some(asked) => return Some(asked),
                None => state = self.is_asked.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl<Q: Send + 'static, A: Send + 'static> Look<Q, A> {
    /// Starts the thread. Start it before the processes: they may leave no room for another thread. The thread writes
    /// to `wake`, an eventfd, after each look. The second argument of `look` tells whether somebody still awaits the
    /// answer.
    pub(super) fn start(
        name: &str,
        wake: Arc<OwnedFd>,
        mut look: impl FnMut(Q, &dyn Fn() -> bool) -> A + Send + 'static,
    ) -> io::Result<Self> {
        let state = State { asked: None, found: None, is_over: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), is_asked: Condvar::new(), awaited: AtomicU64::new(0) });
        let its = shared.clone();
        let serve = move || {
            let _guard = AbortOnPanic;
            while let Some((number, asked)) = its.next() {
                let began = Instant::now();
                let found = look(asked, &|| its.awaited.load(Ordering::Relaxed) == number);
                its.state().found = Some((number, found, began.elapsed()));
                // It is full only if nobody has read it for as long as that takes.
                let _ = rustix::io::write(&*wake, &1_u64.to_ne_bytes());
            }
        };
        // Signals are for the other threads, which may wait for them in other ways.
        let before = SigSet::thread_get_mask()?;
        SigSet::all().thread_block()?;
        let started = thread::Builder::new().name(name.into()).stack_size(STACK_BYTES).spawn(serve);
        before.thread_set_mask()?;
        started?;
        Ok(Self { shared, number: 0, asked_at: None, waited: Duration::ZERO, due: None })
    }

    /// Begins a look, unless one runs or ended just now.
    pub(super) fn ask(&mut self, request: impl FnOnce() -> Q) {
        let now = Instant::now();
        if let Some(asked_at) = &mut self.asked_at {
            self.waited += now.duration_since(*asked_at).min(MOST_WAITED);
            *asked_at = now;
            return;
        }
        if self.due.is_some_and(|due| now < due) {
            return;
        }
        self.number += 1;
        (self.asked_at, self.waited) = (Some(now), Duration::ZERO);
        self.shared.awaited.store(self.number, Ordering::Relaxed);
        self.shared.state().asked = Some((self.number, request()));
        self.shared.is_asked.notify_one();
    }

    /// Returns the answer of the last look, once.
    pub(super) fn answer(&mut self) -> Option<A> {
        let (_, found, took) = self.shared.state().found.take().filter(|(number, ..)| *number == self.number && self.is_running())?;
        self.asked_at = None;
        self.due = Some(Instant::now() + pause_after(took, Duration::ZERO, LATEST_LOOK));
        Some(found)
    }

    pub(super) fn is_running(&self) -> bool {
        self.asked_at.is_some()
    }

    /// Returns the number of the last look that has begun.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether others have waited longer than this for the running look.
    pub(super) fn takes_longer_than(&self, time: Duration) -> bool {
        self.is_running() && self.waited > time
    }

    /// Lets the next look begin right after the last one.
    pub(super) fn hurry(&mut self) {
        self.due = None;
    }

    /// Drops the answer of the last look, and lets the next one begin at once.
    pub(super) fn forget(&mut self) {
        self.shared.awaited.store(0, Ordering::Relaxed);
        self.shared.state().asked = None;
        (self.asked_at, self.due) = (None, None);
    }
}

impl<Q, A> Drop for Look<Q, A> {
    fn drop(&mut self) {
        self.shared.awaited.store(0, Ordering::Relaxed);
        self.shared.state().is_over = true;
        self.shared.is_asked.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

    use super::*;

    #[test]
    fn a_look_that_is_held_up_holds_up_nobody_and_its_late_answer_is_dropped() {
        let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK).unwrap());
        let (release, is_released) = mpsc::channel();
        let look = Look::start("test", wake.clone(), move |number: u32, is_awaited: &dyn Fn() -> bool| {
            is_released.recv().unwrap();
            (number, is_awaited())
        });
        let mut look = look.unwrap();
        look.ask(|| 1);
        assert!(look.answer().is_none() && !look.takes_longer_than(Duration::ZERO));
        look.ask(|| unreachable!("one look runs at a time"));
        assert!(look.takes_longer_than(Duration::ZERO) && !look.takes_longer_than(Duration::MAX));
        look.forget();
        assert!(!look.takes_longer_than(Duration::ZERO));
        look.ask(|| 2);
        for _ in 0..2 {
            release.send(()).unwrap();
        }
        let answer = loop {
            poll(&mut [PollFd::new(&*wake, PollFlags::IN)], None).unwrap();
            let _ = rustix::io::read(&*wake, &mut [0_u8; 8]);
            if let Some(answer) = look.answer() {
                break answer;
            }
        };
        assert_eq!(answer, (2, true));
        assert!(look.answer().is_none());
    }
}
