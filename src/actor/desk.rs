use std::collections::VecDeque;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::worker::Work;
use crate::model::JobId;
use crate::store::Claimed;

/// An actor as its foreman sees it: a worker with an engine, and more of them while concurrent jobs run side by side.
pub(super) struct Desk {
    pub(super) name: String,
    /// Taken ahead, for this actor only.
    pub(super) own: VecDeque<(Instant, Claimed)>,
    lanes: Vec<Lane>,
    /// How many jobs may run side by side when all of them are concurrent.
    most: usize,
    /// Set while a job waits that must run alone: nothing more is taken until the others have ended.
    clearing: bool,
}

struct Lane {
    work: mpsc::Sender<Work>,
    ready: bool,
    running: Option<Running>,
}

/// A run of a job.
pub(super) struct Running {
    pub(super) job: JobId,
    pub(super) claim: u32,
    stop: CancellationToken,
    concurrent: bool,
    /// Its lease was lost: it is told to stop, and how it ends concerns nobody.
    pub(super) lost: bool,
}

impl Desk {
    /// An actor with one worker, whose engine is about to start.
    pub(super) fn new(name: String, work: mpsc::Sender<Work>, most: usize) -> Self {
        Self { name, own: VecDeque::new(), lanes: vec![Lane { work, ready: false, running: None }], most, clearing: false }
    }

    /// How many more jobs it can take, if an actor may hold `depth` short ones.
    pub(super) fn room(&self, depth: usize) -> usize {
        let ready = self.lanes.first().is_some_and(|lane| lane.ready || lane.running.is_some());
        let room = match (self.running(), self.all_concurrent()) {
            _ if !ready || self.clearing => 0,
            (running @ 1.., true) => self.most.max(depth) - running.min(self.most.max(depth)),
            (running, _) => depth.saturating_sub(running),
        };
        room.saturating_sub(self.own.len())
    }

    /// How many jobs it runs.
    pub(super) fn running(&self) -> usize {
        self.runs().count()
    }

    fn runs(&self) -> impl Iterator<Item = &Running> {
        self.lanes.iter().filter_map(|lane| lane.running.as_ref())
    }

    fn all_concurrent(&self) -> bool {
        self.runs().all(|running| running.concurrent)
    }

    /// Whether a job can begin now: alone, or beside others if it and they are concurrent.
    pub(super) fn accepts(&self, job: &Claimed) -> bool {
        match self.running() {
            0 => self.lanes.first().is_some_and(|lane| lane.ready),
            running => !self.clearing && job.concurrent && running < self.most && self.all_concurrent(),
        }
    }

    /// Begins a job that it accepts. `hire` makes one more worker.
    pub(super) fn begin(&mut self, job: Claimed, hire: impl Fn(usize) -> mpsc::Sender<Work>) {
        let free = self.lanes.iter().position(|lane| lane.ready && lane.running.is_none() && !lane.work.is_closed());
        let at = free.unwrap_or_else(|| {
            // A worker that has left for want of work is replaced, else one is added; its job waits for its engine.
            let gone = self.lanes.iter().position(|lane| lane.running.is_none() && lane.work.is_closed());
            let at = gone.unwrap_or(self.lanes.len());
            let lane = Lane { work: hire(at), ready: false, running: None };
            if at < self.lanes.len() {
                self.lanes[at] = lane
            } else {
                self.lanes.push(lane)
            }
            at
        });
        let stop = CancellationToken::new();
        let lane = &mut self.lanes[at];
        let (id, claim, concurrent) = (job.job.clone(), job.claim, job.concurrent);
        lane.running = Some(Running { job: id, claim, stop: stop.clone(), concurrent, lost: false });
        // A worker takes one job at a time, so that its channel has room; one that has just left gets a successor.
        if let Err(TrySendError::Closed(work) | TrySendError::Full(work)) = lane.work.try_send(Work { job, stop }) {
            (lane.work, lane.ready) = (hire(at), false);
            // The channel of a new worker is empty.
            let _ = lane.work.try_send(work);
        }
    }

    /// Puts a new worker in the place of one that failed, and gives what it ran.
    pub(super) fn replace(&mut self, lane: usize, work: mpsc::Sender<Work>) -> Option<Running> {
        let lane = self.lanes.get_mut(lane)?;
        std::mem::replace(lane, Lane { work, ready: false, running: None }).running
    }

    /// Notes that the engine of a worker is ready.
    pub(super) fn ready(&mut self, lane: usize) {
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.ready = true;
        }
    }

    /// Notes that the job of a worker has ended, and whether its engine can take the next. Gives what it ran.
    pub(super) fn done(&mut self, lane: usize, ready: bool) -> Option<Running> {
        let ran = self.lanes.get_mut(lane).and_then(|lane| {
            lane.ready = ready;
            lane.running.take()
        });
        self.clearing &= self.running() > 0;
        ran
    }

    /// Takes nothing more until what runs side by side has ended, because a job waits that must run alone.
    pub(super) fn clear(&mut self) {
        self.clearing = self.running() > 0;
    }

    /// Stops a job that it runs. True: it does run it.
    pub(super) fn stop(&self, job: &JobId) -> bool {
        let running = self.runs().find(|running| running.job == *job && !running.lost);
        running.inspect(|running| running.stop.cancel()).is_some()
    }

    /// Ends runs of a job whose lease was lost. True: there were some.
    pub(super) fn lose(&mut self, job: &JobId, is_lost: impl Fn(u32) -> bool) -> bool {
        let mut some = false;
        for running in self.lanes.iter_mut().filter_map(|lane| lane.running.as_mut()) {
            if running.job == *job && !running.lost && is_lost(running.claim) {
                running.stop.cancel();
                (running.lost, some) = (true, true);
            }
        }
        some
    }

    /// Gives up what it runs.
    pub(super) fn abandon(&mut self) -> Vec<Running> {
        self.lanes.drain(..).filter_map(|lane| lane.running).collect()
    }
}
