use std::future::Future;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::connection::DEADLINE;
use super::error::Error;

/// At most so many requests go into one script call, so that none holds Redis for long.
pub(super) const LARGEST: usize = 128;

/// What arrives within this time shall go into one batch, because a round trip to Redis with one request costs as much as
/// one with several. It counts only where so much arrives; a lone request is sent at once.
const WORTH_WAITING: Duration = Duration::from_micros(700);
/// Fewer requests than this are not waited for: one quick caller is no crowd.
const FEWEST: usize = 4;
/// No request waits longer for company.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

/// Collects requests while the last batch is under way, and a little longer where many come, and sends them as one.
///
/// A request that was handed in is sent even if the caller stops waiting. The task ends with the last `Batch`.
pub(super) struct Batch<Request, Answer> {
    queue: mpsc::Sender<(Request, oneshot::Sender<Result<Answer, Error>>)>,
}

impl<Request: Send + 'static, Answer: Send + 'static> Batch<Request, Answer> {
    /// Starts the task; `send` answers each request of a batch, in order.
    pub(super) fn new<Send_, Sent>(send: Send_) -> Self
    where
        Send_: Fn(Vec<Request>) -> Sent + Send + 'static,
        Sent: Future<Output = Result<Vec<Answer>, Error>> + Send,
    {
        let (queue, mut requests) = mpsc::channel::<(Request, oneshot::Sender<Result<Answer, Error>>)>(4096);
        tokio::spawn(async move {
            let (mut batch, mut arrivals) = (Vec::with_capacity(LARGEST), Arrivals::new());
            while requests.recv_many(&mut batch, LARGEST).await > 0 {
                let (enough, until) = (arrivals.expected(WORTH_WAITING).min(LARGEST / 4), Instant::now() + LONGEST_WAIT);
                while batch.len() < enough {
                    let more = LARGEST - batch.len();
                    if !matches!(timeout_at(until, requests.recv_many(&mut batch, more)).await, Ok(1..)) {
                        arrivals.disappoint();
                        break;
                    }
                }
                arrivals.note(batch.len());
                let (requests, callers): (Vec<_>, Vec<_>) = batch.drain(..).unzip();
                let answers = send(requests).await;
                let mut answers = answers.map(Vec::into_iter);
                for caller in callers {
                    let answer = match &mut answers {
                        Ok(answers) => answers.next().ok_or(Error::Closed),
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
    pub(super) async fn ask(&self, request: Request) -> Result<Answer, Error> {
        let (caller, answer) = oneshot::channel();
        let asking = async {
            self.queue.send((request, caller)).await.map_err(|_| Error::Closed)?;
            answer.await.map_err(|_| Error::Closed)?
        };
        // While Redis is away batches fail one after another, and nobody shall wait for those before him as well.
        tokio::time::timeout(DEADLINE, asking).await.unwrap_or(Err(Error::Deadline(DEADLINE)))
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
