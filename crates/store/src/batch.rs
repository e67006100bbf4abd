use std::collections::VecDeque;
use std::future::Future;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::error::Error;
use crate::network::deadline::in_time;

/// The most requests of one call, so that no call keeps Redis busy for long.
pub(super) const MAX_REQUESTS: usize = 128;
/// The most bytes and relations of a call with several requests. Redis needs about 6 ms for either.
const MAX_WEIGHT: Weight = Weight { bytes: 1024 * 1024, relations: 1000 };
/// Larger requests wait in a queue of their own, so that small ones do not wait for many of them.
const MAX_SMALL_WEIGHT: Weight = Weight { bytes: 64 * 1024, relations: 100 };

/// Requests that arrive within this time go into one batch, because a round trip to Redis with one request costs as much as
/// one with several. That holds only where many arrive; a lone request is sent at once.
const WORTH_WAITING: Duration = Duration::from_micros(700);
/// A batch waits for more requests only if at least this many are expected.
const MIN_EXPECTED_REQUESTS: usize = 4;
/// The longest time that a request waits for others.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

/// The load that a request puts on Redis, besides its share of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    /// Bytes of texts, roughly.
    pub bytes: usize,
    /// The number of other jobs that it names.
    pub relations: usize,
}

impl Weight {
    /// Whether it is too heavy for a call with other requests.
    pub(super) fn is_heavy(&self) -> bool {
        self.exceeds(MAX_WEIGHT)
    }

    /// Whether it waits in the queue of large requests.
    pub(super) fn is_large(&self) -> bool {
        self.exceeds(MAX_SMALL_WEIGHT)
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

/// A request that can share a call with others.
pub(super) trait Request: Send + 'static {
    /// The load that it puts on Redis.
    fn weight(&self) -> Weight;
}

struct QueuedRequest<R, Answer> {
    request: R,
    weight: Weight,
    caller: oneshot::Sender<Result<Answer, Error>>,
}

/// The result of a call: its requests, and for each the answer, or nothing if the request has to be sent again. A call always answers its
/// first request.
pub(super) type Sent<R, Answer> = (Vec<R>, Result<Vec<Option<Answer>>, Error>);

/// Collects requests while the last batch is under way, and a little longer while many arrive, and sends them as one.
///
/// A submitted request is sent even if the caller stops waiting. The task ends with the last `Batch`.
pub(super) struct Batch<R, Answer> {
    queue: mpsc::Sender<QueuedRequest<R, Answer>>,
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
                for QueuedRequest { request, weight, caller } in batch {
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
                                // The call did nothing for this request. If the caller has gone, it needs no answer.
                                if !caller.is_closed() {
                                    line.again.push_back(QueuedRequest { request, weight, caller });
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
            self.queue.send(QueuedRequest { request, weight, caller }).await.map_err(|_| Error::Closed)?;
            answer.await.map_err(|_| Error::Closed)?
        };
        // While Redis is away, batches fail one after another. A request does not wait for those before it as well.
        in_time(asking).await
    }
}

/// The requests that wait to be sent.
struct Line<R, Answer> {
    requests: mpsc::Receiver<QueuedRequest<R, Answer>>,
    arrivals: Arrivals,
    waiting: VecDeque<QueuedRequest<R, Answer>>,
    /// The requests that did not fit into their call.
    again: VecDeque<QueuedRequest<R, Answer>>,
    was_again: bool,
}

impl<R: Request, Answer: Send + 'static> Line<R, Answer> {
    /// Waits until there is a request to send. Returns false if no more will come.
    async fn fill(&mut self) -> bool {
        let before = self.waiting.len();
        while self.waiting.len() < MAX_REQUESTS
            && let Ok(one) = self.requests.try_recv()
        {
            self.waiting.push_back(one);
        }
        let left_over = !self.again.is_empty() || self.waiting.len() >= MAX_REQUESTS;
        if left_over {
            self.arrivals.note(self.waiting.len() - before);
            return true;
        }
        let mut batch = Vec::from(std::mem::take(&mut self.waiting));
        if batch.is_empty() && self.requests.recv_many(&mut batch, MAX_REQUESTS).await == 0 {
            return false;
        }
        let (enough, until) = (self.arrivals.expected(WORTH_WAITING).min(MAX_REQUESTS / 4), Instant::now() + LONGEST_WAIT);
        while batch.len() < enough {
            let more = MAX_REQUESTS - batch.len();
            if !matches!(timeout_at(until, self.requests.recv_many(&mut batch, more)).await, Ok(1..)) {
                self.arrivals.disappoint();
                break;
            }
        }
        self.arrivals.note(batch.len() - before);
        self.waiting = batch.into();
        true
    }

    /// Takes as many requests as one call may have, and at least one.
    fn take(&mut self) -> Vec<QueuedRequest<R, Answer>> {
        // Both queues take turns, so that neither waits for all of the other.
        self.was_again = !self.again.is_empty() && (!self.was_again || self.waiting.is_empty());
        let line = if self.was_again { &mut self.again } else { &mut self.waiting };
        let mut sum = Weight::default();
        let fits = |one: &&QueuedRequest<R, Answer>| {
            sum = [sum, one.weight].into_iter().sum();
            !sum.is_heavy()
        };
        let many = line.iter().take(MAX_REQUESTS).take_while(fits).count();
        line.drain(..many.clamp(1, line.len())).collect()
    }
}

/// The rate at which requests arrive.
struct Arrivals {
    per_second: f64,
    last: Instant,
}

impl Arrivals {
    fn new() -> Self {
        Self { per_second: 0.0, last: Instant::now() }
    }

    /// Records a batch. The rate moves by a quarter of the difference with each.
    fn note(&mut self, requests: usize) {
        let now = Instant::now();
        let rate = requests as f64 / (now - self.last).as_secs_f64().max(1e-6);
        self.per_second += (rate.min(1e6) - self.per_second) / 4.0;
        self.last = now;
    }

    /// Records that fewer requests arrived than expected.
    fn disappoint(&mut self) {
        self.per_second /= 2.0;
    }

    /// The number of requests expected within `time`; zero if they are too few to be worth a wait.
    fn expected(&self, time: Duration) -> usize {
        let expected = (self.per_second * time.as_secs_f64()) as usize;
        if expected < MIN_EXPECTED_REQUESTS { 0 } else { expected }
    }
}
