use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use rhai::{Dynamic, EvalAltResult, Position};
use rustix::time::{ClockId, clock_gettime};

use super::pipe::{Pipe, RunMessage};
use crate::frame::FromEngine;
use crate::limits::cpu_time_is_over;
use crate::limits::{Piece, size};
use crate::log_room::{LogRoom, cost};
use crate::{Answer, Capability, EngineJob, HostCall, Limits, LogRecord, alloc};
use hero_model::{ErrorKind, JobError, Limit, LogLevel, Output, Usage};

/// The clock is read after this number of operations.
const CLOCK_EVERY: u64 = 128;
/// The clock is also read after this much memory was allocated, even if it is free again: such operations are slow.
const CLOCK_AFTER_BYTES: i64 = 128 << 10;
/// The number of short steps of a function between two checks of the script's limits.
const STEPS_PER_CHECK: usize = 1024;
/// Interval at which a running script checks for a stop and sends its log.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The log is sent once it has this size.
const LOG_BATCH_BYTES: usize = 32 << 10;

/// Returns the processor time of this thread.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Why a script was ended from outside. Scripts cannot catch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Stopped,
    Timeout,
    Operations,
    CpuTime,
    Memory,
    /// A text or an array is too long.
    TooLong(Piece),
}

/// The running job: its clock, its counters, its log. There is one per engine, which is reset for each job.
pub(super) struct Run {
    pub(super) pipe: Pipe,
    pub(super) limits: Limits,
    pub(super) capabilities: Vec<Capability>,
    memory: i64,
    operations: Cell<u64>,
    /// The operation at which to check the clock, the limit of operations, and whether the script is to end.
    closer: Cell<u64>,
    base: Cell<i64>,
    /// The number of allocated bytes above which the script exceeds its memory.
    most: Cell<i64>,
    /// The value of [`alloc::made`] when the clock was read last.
    made: Cell<i64>,
    began: Cell<Instant>,
    /// The processor time of this thread when the job began.
    processor: Cell<Duration>,
    deadline: Cell<Instant>,
    looked: Cell<Instant>,
    ended: Cell<Option<Ended>>,
    log: RefCell<Log>,
}

struct Log {
    pending: Vec<LogRecord>,
    /// Bytes in `pending`.
    unsent: usize,
    room: LogRoom,
}

impl Log {
    fn new(limits: &Limits) -> Self {
        Self { pending: Vec::new(), unsent: 0, room: LogRoom::new(limits.log) }
    }
}

impl Run {
    pub(super) fn new(pipe: Pipe, limits: Limits, capabilities: Vec<Capability>) -> Self {
        let now = Instant::now();
        Self {
            pipe,
            memory: i64::try_from(limits.memory).unwrap_or(i64::MAX),
            log: RefCell::new(Log::new(&limits)),
            limits,
            capabilities,
            operations: Cell::new(0),
            closer: Cell::new(0),
            base: Cell::new(0),
            most: Cell::new(0),
            made: Cell::new(0),
            began: Cell::new(now),
            processor: Cell::new(Duration::ZERO),
            deadline: Cell::new(now),
            looked: Cell::new(now),
            ended: Cell::new(None),
        }
    }

    /// Starts the clock and the counters for `job`.
    pub(super) fn begin(&self, job: &EngineJob) {
        let (now, allocated) = (Instant::now(), alloc::allocated());
        alloc::restart_peak();
        alloc::forget_large();
        alloc::allow_for(job.args.as_ref().map_or(0, |args| args.as_str().len()));
        self.operations.set(0);
        self.base.set(allocated);
        self.made.set(alloc::made());
        self.began.set(now);
        self.processor.set(processor_time());
        self.deadline.set(now + job.timeout.min(EngineJob::MAX_RUN_TIME));
        self.looked.set(now);
        self.ended.set(None);
        self.most.set(allocated.saturating_add(self.memory));
        self.look_closer_after(0);
        *self.log.borrow_mut() = Log::new(&self.limits);
    }

    /// Returns the usage of the job so far.
    pub(super) fn usage(&self) -> Usage {
        Usage {
            operations: self.operations.get(),
            peak_memory: u64::try_from(alloc::peak() - self.base.get()).unwrap_or(0),
            run_ms: u64::try_from(self.began.get().elapsed().as_millis()).unwrap_or(u64::MAX),
            cpu_us: u64::try_from(processor_time().saturating_sub(self.processor.get()).as_micros()).unwrap_or(u64::MAX),
        }
    }

    /// Counts an operation. Returns a token when the script is to end; Rhai then ends it, and no `catch` can stop that.
    ///
    /// This runs at each operation of a script, so it leaves out every check that can wait.
    #[inline]
    pub(super) fn step(&self) -> Option<Dynamic> {
        let operations = self.operations.get() + 1;
        self.operations.set(operations);
        let (allocated, made) = alloc::allocated_and_made();
        if operations < self.closer.get() && allocated <= self.most.get() && made.wrapping_sub(self.made.get()) <= CLOCK_AFTER_BYTES {
            return None;
        }
        self.look_closer(operations, made)
    }

    #[cold]
    fn look_closer(&self, operations: u64, made: i64) -> Option<Dynamic> {
        if operations.is_multiple_of(CLOCK_EVERY) || made.wrapping_sub(self.made.get()) > CLOCK_AFTER_BYTES {
            self.made.set(made);
            self.look();
        }
        self.weigh();
        if self.limits.operations.is_some_and(|most| operations > most) {
            self.end(Ended::Operations);
        }
        if self.ended.get().is_some() {
            return Some(Dynamic::UNIT);
        }
        self.look_closer_after(operations);
        None
    }

    fn look_closer_after(&self, operations: u64) {
        let clock = (operations / CLOCK_EVERY + 1) * CLOCK_EVERY;
        self.closer.set(self.limits.operations.map_or(clock, |most| clock.min(most.saturating_add(1))));
    }

    /// Ends the script if it holds too much memory, or has made a text or array that is too long.
    #[inline]
    fn weigh(&self) {
        if alloc::allocated() > self.most.get() {
            self.end(Ended::Memory);
        }
        if let Some(piece) = alloc::large() {
            self.end(Ended::TooLong(piece));
        }
    }

    /// Checks the clock and, at intervals, the pipe.
    fn look(&self) {
        let now = Instant::now();
        if now >= self.deadline.get() {
            self.end(Ended::Timeout);
        }
        if now - self.looked.get() >= LOOK_EVERY {
            self.looked.set(now);
            self.flush();
            if self.limits.cpu_time.is_some_and(|most| processor_time().saturating_sub(self.processor.get()) > most) {
                self.end(Ended::CpuTime);
            }
            if self.pipe.hears_stop_within(Duration::ZERO) {
                self.end(Ended::Stopped);
            }
        }
    }

    /// Ends the script at its next operation. The first reason stays.
    pub(super) fn end(&self, reason: Ended) {
        if self.ended.get().is_none() {
            self.ended.set(Some(reason));
            self.closer.set(0);
        }
    }

    /// Why the script was ended, if it was.
    pub(super) fn ended(&self) -> Option<Ended> {
        self.ended.get()
    }

    /// Sleeps, but not beyond the job's end or a stop.
    pub(super) fn sleep(&self, time: Duration) -> Result<(), Box<EvalAltResult>> {
        self.flush();
        let now = Instant::now();
        let until = (now + time.min(EngineJob::MAX_RUN_TIME)).min(self.deadline.get());
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if self.ended.get().is_some() {
                break;
            }
            if self.pipe.hears_stop_within(left) {
                self.end(Ended::Stopped);
            }
        }
        if Instant::now() >= self.deadline.get() {
            self.end(Ended::Timeout);
        }
        self.unless_ended()
    }

    /// Sends a host call and waits for the answer, but not beyond the job's end or a stop.
    pub(super) fn ask(&self, host_call: HostCall) -> Result<Answer, Box<EvalAltResult>> {
        self.go_on()?;
        self.flush();
        self.pipe.send(vec![FromEngine::Ask { host_call }]);
        while let Some(left) = self.deadline.get().checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            match self.pipe.hear_within(left) {
                RunMessage::Answer(answer) => return Ok(answer),
                RunMessage::Stop => {
                    self.end(Ended::Stopped);
                    break;
                }
                RunMessage::Nothing => {}
            }
        }
        // The host call may still take effect, but nobody waits for its answer.
        if Instant::now() >= self.deadline.get() {
            self.end(Ended::Timeout);
        }
        Err(self.unless_ended().expect_err("the script was stopped, or its time is over"))
    }

    /// Checks the script's limits in a function that takes long.
    pub(super) fn go_on(&self) -> Result<(), Box<EvalAltResult>> {
        self.look();
        self.weigh();
        self.unless_ended()
    }

    /// Like [`Self::go_on`], but for a loop of short steps: checks at intervals. `step` is the number of this step.
    pub(super) fn go_on_at(&self, step: usize) -> Result<(), Box<EvalAltResult>> {
        if step % STEPS_PER_CHECK == STEPS_PER_CHECK - 1 { self.go_on() } else { Ok(()) }
    }

    fn unless_ended(&self) -> Result<(), Box<EvalAltResult>> {
        match self.ended.get() {
            Some(_) => Err(Box::new(EvalAltResult::ErrorTerminated(Dynamic::UNIT, Position::NONE))),
            None => Ok(()),
        }
    }

    /// Logs a line, if there is room.
    pub(super) fn log(&self, level: LogLevel, text: &str) {
        let mut log = self.log.borrow_mut();
        if self.ended.get().is_some() {
            return;
        }
        let Some(record) = alloc::apart(|| log.room.take(level, text)) else { return };
        log.unsent += cost(&record.text);
        log.pending.push(record);
        let full = log.unsent >= LOG_BATCH_BYTES;
        drop(log);
        if full {
            self.flush();
        }
    }

    fn flush(&self) {
        if let Some(frame) = self.take_log() {
            self.pipe.send(vec![frame]);
        }
    }

    fn take_log(&self) -> Option<FromEngine> {
        let mut log = self.log.borrow_mut();
        log.unsent = 0;
        (!log.pending.is_empty()).then(|| FromEngine::Log(std::mem::take(&mut log.pending)))
    }

    /// Sends the rest of the log and the end of the job.
    pub(super) fn finish(&self, result: Result<Output, JobError>, usage: Usage) {
        let log = self.take_log();
        let allocated = u64::try_from(alloc::allocated()).unwrap_or(0);
        let done = FromEngine::Done { result, usage, allocated };
        match log {
            Some(log) => self.pipe.send(vec![log, done]),
            None => self.pipe.send(vec![done]),
        }
    }

    /// The error of a script that was ended.
    pub(super) fn ended_error(&self, reason: Ended) -> JobError {
        let limit = |limit, message| JobError { limit: Some(limit), ..JobError::new(ErrorKind::Limit, message) };
        match reason {
            Ended::Stopped => JobError::new(ErrorKind::Stopped, "stopped_by_request"),
            Ended::Timeout => JobError::new(ErrorKind::Timeout, "timeout"),
            Ended::Operations => limit(
                Limit::Operations,
                format!("the script took more than {} operations (script_operations)", self.limits.operations.unwrap_or_default()),
            ),
            Ended::CpuTime => limit(Limit::CpuTime, cpu_time_is_over(self.limits.cpu_time)),
            Ended::Memory => {
                limit(Limit::Memory, format!("the script held more than {} of memory (script_memory)", size(self.limits.memory)))
            }
            Ended::TooLong(what) => limit(Limit::Memory, what.too_long()),
        }
    }
}
