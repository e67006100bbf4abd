use std::collections::VecDeque;
use std::future::Future;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::deadline::in_time;
use super::error::Error;

/// How many requests go into one call, so that no call keeps Redis busy for long.
pub(super) const LARGEST: usize = 128;
/// How many bytes, and how many relations, go into one call with others. Redis needs about 6 ms for either.
const HEAVIEST: Weight = Weight { bytes: 1024 * 1024, relations: 1000 };
/// Requests that are larger stand in a line of their own, so that small ones do not wait for many of them.
const SMALL: Weight = Weight { bytes: 64 * 1024, relations: 100 };

/// Requests that arrive within this time go into one batch, because a round trip to Redis with one request costs as much as
/// one with several. That holds only where many arrive; a lone request is sent at once.
const WORTH_WAITING: Duration = Duration::from_micros(700);
/// A batch waits for more requests only if at least so many are expected.
const FEWEST: usize = 4;
/// How long a request waits for others.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

/// What a request costs Redis beside its share of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    /// Bytes of texts, roughly.
    pub bytes: usize,
    /// Other jobs that it names.
    pub relations: usize,
}

impl Weight {
    /// Whether it is too much for a call with others.
    pub(super) fn is_heavy(&self) -> bool {
        self.exceeds(HEAVIEST)
    }

    /// Whether it stands in line with others that are large.
    pub(super) fn is_large(&self) -> bool {
        self.exceeds(SMALL)
    }

    fn exceeds(&self, most: Self) -> bool {
        self.bytes > most.bytes || self.relations > most.relations
    }
}

impl std::iter::Sum for Weight {
    fn sum<Weights: Iterator<Item = Self>>(weights: Weights) -> Self {
        weights.fold(Self::default(), |sum, one| Self { bytes: sum.bytes + one.bytes, relations: sum.relations + one.relations })
    }
}

/// A request of which several go into one call.
pub(super) trait Request: Send + 'static {
    /// What it costs.
    fn weight(&self) -> Weight;
}

struct Asked<R, Answer> {
    request: R,
    weight: Weight,
    caller: oneshot::Sender<Result<Answer, Error>>,
}

/// What a call gave back: its requests, and for each the answer, or nothing where it has to be asked again: a call always answers its first.
pub(super) type Sent<R, Answer> = (Vec<R>, Result<Vec<Option<Answer>>, Error>);

/// Collects requests while the last batch is under way, and a little longer where many come, and sends them as one.
///
/// A request that was handed in is sent even if the caller stops waiting. The task ends with the last `Batch`.
pub(super) struct Batch<R, Answer> {
    queue: mpsc::Sender<Asked<R, Answer>>,
}

impl<R: Request, Answer: Send + 'static> Batch<R, Answer> {
    /// Starts the task; `send` answers each request of a batch, in order.
    pub(super) fn new<Send_, Sending>(send: Send_) -> Self
    where
        Send_: Fn(Vec<R>) -> Sending + Send + 'static,
        Sending: Future<Output = Sent<R, Answer>> + Send,
    {
        let (queue, requests) = mpsc::channel(4096);
        tokio::spawn(async move {
            let mut line = Line { requests, arrivals: Arrivals::new(), waiting: VecDeque::new(), again: VecDeque::new(), was_again: false };
            while line.fill().await {
                let batch = line.take();
                let (mut requests, mut callers) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
                for Asked { request, weight, caller } in batch {
                    requests.push(request);
                    callers.push((weight, caller));
                }
                let (requests, answers) = send(requests).await;
                let mut answers = answers.map(Vec::into_iter);
                for (request, (weight, caller)) in requests.into_iter().zip(callers) {
                    let answer = match &mut answers {
                        Ok(answers) => match answers.next() {
                            Some(Some(answer)) => Ok(answer),
                            Some(None) => {
                                // Nothing was done. If the caller has gone, no answer is needed.
                                if !caller.is_closed() {
                                    line.again.push_back(Asked { request, weight, caller });
                                }
                                continue;
                            }
                            None => Err(Error::Closed),
                        },
                        Err(error) => Err(error.clone()),
                    };
                    // A caller that has gone does not need its answer.
                    let _ = caller.send(answer);
                }
            }
        });
        Self { queue }
    }

    /// Waits for the answer to one request.
    pub(super) async fn ask(&self, request: R) -> Result<Answer, Error> {
        let (caller, answer) = oneshot::channel();
        let asking = async {
            let weight = request.weight();
            self.queue.send(Asked { request, weight, caller }).await.map_err(|_| Error::Closed)?;
            answer.await.map_err(|_| Error::Closed)?
        };
        // While Redis is away batches fail one after another, and no request shall wait for those before it as well.
        in_time(asking).await
    }
}

/// What is sent next.
struct Line<R, Answer> {
    requests: mpsc::Receiver<Asked<R, Answer>>,
    arrivals: Arrivals,
    waiting: VecDeque<Asked<R, Answer>>,
    /// They did not fit into their call.
    again: VecDeque<Asked<R, Answer>>,
    was_again: bool,
}

impl<R: Request, Answer: Send + 'static> Line<R, Answer> {
    /// Waits until there is something to send; false: there never will be.
    async fn fill(&mut self) -> bool {
        let before = self.waiting.len();
        while self.waiting.len() < LARGEST
            && let Ok(one) = self.requests.try_recv()
        {
            self.waiting.push_back(one);
        }
        let left_over = !self.again.is_empty() || self.waiting.len() >= LARGEST;
        if left_over {
            self.arrivals.note(self.waiting.len() - before);
            return true;
        }
        let mut batch = Vec::from(std::mem::take(&mut self.waiting));
        if batch.is_empty() && self.requests.recv_many(&mut batch, LARGEST).await == 0 {
            return false;
        }
        let (enough, until) = (self.arrivals.expected(WORTH_WAITING).min(LARGEST / 4), Instant::now() + LONGEST_WAIT);
        while batch.len() < enough {
            let more = LARGEST - batch.len();
            if !matches!(timeout_at(until, self.requests.recv_many(&mut batch, more)).await, Ok(1..)) {
                self.arrivals.disappoint();
                break;
            }
        }
        self.arrivals.note(batch.len() - before);
        self.waiting = batch.into();
        true
    }

    /// As many as one call may have, the first in any case.
    fn take(&mut self) -> Vec<Asked<R, Answer>> {
        // In turn, so that neither waits for all of the others.
        self.was_again = !self.again.is_empty() && (!self.was_again || self.waiting.is_empty());
        let line = if self.was_again { &mut self.again } else { &mut self.waiting };
        let mut sum = Weight::default();
        let fits = |one: &&Asked<R, Answer>| {
            sum = [sum, one.weight].into_iter().sum();
            !sum.is_heavy()
        };
        let many = line.iter().take(LARGEST).take_while(fits).count();
        line.drain(..many.clamp(1, line.len())).collect()
    }
}

/// How fast requests come.
struct Arrivals {
    per_second: f64,
    last: Instant,
}

impl Arrivals {
    fn new() -> Self {
        Self { per_second: 0.0, last: Instant::now() }
    }

    /// Notes a batch. The rate moves by a quarter with each.
    fn note(&mut self, requests: usize) {
        let now = Instant::now();
        let rate = requests as f64 / (now - self.last).as_secs_f64().max(1e-6);
        self.per_second += (rate.min(1e6) - self.per_second) / 4.0;
        self.last = now;
    }

    /// Notes that fewer came than were expected.
    fn disappoint(&mut self) {
        self.per_second /= 2.0;
    }

    /// How many are to be expected within `time`; none where they are too few to be worth a wait.
    fn expected(&self, time: Duration) -> usize {
        let expected = (self.per_second * time.as_secs_f64()) as usize;
        if expected < FEWEST { 0 } else { expected }
    }
}
