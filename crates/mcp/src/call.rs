use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use rmcp::model::{CallToolResult, JsonObject};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::follow::Teller;
use super::lazy_client::LazyClient;
use super::result::{failure, refusal, success};
use super::{Advice, Leaving};
use hero_client::{Client, Error, State, code};
use hero_model::ContextId;
use hero_rpc::methods::Wait;
use hero_service::away;

/// Timeout for the last lines of a job that has ended.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The answer to a call that was cancelled before the server was reached.
const NOT_MADE: &str = "the client cancelled the call, or ended, before the server was found; the call was not made";

/// A call of a tool.
pub(super) struct Call<'a> {
    pub(super) link: &'a LazyClient,
    pub(super) tool: &'static str,
    pub(super) arguments: JsonObject,
    pub(super) teller: Option<Teller>,
    pub(super) leaving: Leaving<'a>,
    pub(super) advice: Advice,
}

/// The kind of object that a tool waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Job,
    Flow,
}

impl Subject {
    /// Returns what the tool waits for, and whether the tool starts it.
    fn of(tool: &str) -> Option<(Self, bool)> {
        match tool {
            "run_and_wait" => Some((Self::Job, true)),
            "wait_job" => Some((Self::Job, false)),
            "run_flow_and_wait" => Some((Self::Flow, true)),
            "wait_flow" => Some((Self::Flow, false)),
            _ => None,
        }
    }

    const fn id(self) -> &'static str {
        match self {
            Self::Job => "job_id",
            Self::Flow => "flow_id",
        }
    }

    const fn wait(self) -> &'static str {
        match self {
            Self::Job => "wait_job",
            Self::Flow => "wait_flow",
        }
    }

    const fn stop(self) -> &'static str {
        match self {
            Self::Job => "stop_job",
            Self::Flow => "stop_flow",
        }
    }
}

impl Call<'_> {
    /// Makes the call, and returns the result in words for a model.
    pub(super) async fn made(mut self) -> CallToolResult {
        let waits = Subject::of(self.tool);
        let wait = match waits.map(|_| self.wait()) {
            Some(Err(wrong)) => return refusal(&wrong),
            Some(Ok(wait)) => wait,
            None => Duration::ZERO,
        };
        let client = tokio::select! {
            client = self.link.client() => match client {
                Ok(client) => client,
                Err(error) => return failure(&error, self.advice),
            },
            _ = self.leaving.left() => return refusal(NOT_MADE),
        };
        let answer = match waits {
            Some((subject, starts)) => self.waited(&client, subject, starts, wait).await,
            None => tokio::select! {
                answer = client.call_named(self.tool, &self.arguments) => answer.map_err(Ended::Error),
                _ = self.leaving.left() => Err(Ended::Left("the call was cancelled; whether it was carried out is not known".to_owned())),
            },
        };
        told(self.tool, answer, self.advice).await
    }

    /// Removes the parameter `wait_timeout` and parses it as the method does.
    fn wait(&mut self) -> Result<Duration, String> {
        match self.arguments.remove("wait_timeout") {
            None | Some(Value::Null) => Ok(Wait::default().duration()),
            Some(wait) => match serde_json::from_value::<Wait>(wait) {
                Ok(wait) => Ok(wait.duration()),
                Err(error) => Err(format!("parameter `wait_timeout`: {error}")),
            },
        }
    }

    /// Makes the call that starts the job or flow, and returns its answer. Fails with the reason if the client has left
    /// before the server was reached, or if the connection was lost since.
    async fn started(&self, client: &Client, wait: Duration) -> Result<Result<Box<RawValue>, Error>, Ended> {
        let is_sent = AtomicBool::new(false);
        let starting = client.call_named_waiting(wait, self.tool, |_| {
            is_sent.store(true, Ordering::Relaxed);
            &self.arguments
        });
        tokio::pin!(starting);
        tokio::select! {
            biased;
            answer = &mut starting => return Ok(answer),
            _ = self.leaving.left() => {}
        }
        if !is_sent.load(Ordering::Relaxed) {
            return Err(Ended::Left(NOT_MADE.to_owned()));
        }
        // A job or flow that has started is stopped by its id, which is in the answer. If the answer cannot come,
        // nothing is started a second time.
        let mut states = client.states();
        let lost = async { while let Some(State::Open) = states.next().await {} };
        tokio::select! {
            biased;
            answer = starting => Ok(answer),
            () = lost => Err(Ended::Left("the call was cancelled, and the connection was lost; whether it was carried out is not known".to_owned())),
        }
    }

    /// Starts the job or flow, if the tool does so, and waits for its end. The id is known before the wait, so that it
    /// can be followed and stopped.
    async fn waited(&mut self, client: &Client, subject: Subject, starts: bool, wait: Duration) -> Result<Box<RawValue>, Ended> {
        let deadline = Instant::now() + wait;
        let context = self.arguments.get("context_id").cloned().unwrap_or(json!(0));
        let params = if starts {
            self.arguments.insert("wait_timeout".to_owned(), json!(0));
            let id = match self.started(client, wait).await? {
                Err(Error::Rpc(error)) if error.code == code::WAIT_RAN_OUT && !wait.is_zero() => {
                    error.data.as_ref().and_then(|data| data.get(subject.id())).cloned().ok_or(error.into())
                }
                Err(error) => Err(error),
                Ok(ended) => return Ok(ended),
            };
            // The script and its arguments are no longer needed.
            self.arguments.clear();
            JsonObject::from_iter([(subject.id().to_owned(), id?), ("context_id".to_owned(), context.clone())])
        } else {
            std::mem::take(&mut self.arguments)
        };
        let id = params.get(subject.id()).cloned().unwrap_or_default();
        let left = deadline.saturating_duration_since(Instant::now());
        let told = tell(self.teller.take(), client, subject, &context, &id);
        let ended = client.call_named_waiting(left, subject.wait(), |left| {
            let mut params = params.clone();
            params.insert("wait_timeout".to_owned(), json!(left));
            params
        });
        tokio::pin!(told, ended);
        let mut tells = true;
        loop {
            tokio::select! {
                biased;
                stops = self.leaving.left() => return Err(left_alone(client, (subject, &id), &context, starts && stops).await),
                ended = &mut ended => {
                    let goes_on = matches!(&ended, Err(error) if error.has_code(code::WAIT_RAN_OUT) || error.rpc().is_none());
                    if tells && !goes_on {
                        let _ = timeout(LAST_LINES, told).await;
                    }
                    return ended.map_err(Ended::Error);
                }
                () = &mut told, if tells => tells = false,
            }
        }
    }
}

/// Sends the progress of a job or flow until there is no more.
async fn tell(teller: Option<Teller>, client: &Client, subject: Subject, context: &Value, id: &Value) {
    let (Some(mut teller), Ok(context)) = (teller, serde_json::from_value::<ContextId>(context.clone())) else { return };
    let told = match subject {
        Subject::Job => match serde_json::from_value(id.clone()) {
            Ok(id) => teller.job(client, context, &id).await,
            Err(_) => return, // The method reports the error in it.
        },
        Subject::Flow => match serde_json::from_value(id.clone()) {
            Ok(id) => teller.flow(client, context, id).await,
            Err(_) => return,
        },
    };
    if let Err(error) = told {
        tracing::debug!(%error, "a client is told no more of what it waits for");
    }
}

/// Ends a call whose client no longer waits: stops what it has started, if the client wants that.
async fn left_alone(client: &Client, (subject, id): (Subject, &Value), context: &Value, stops: bool) -> Ended {
    let name = match subject {
        Subject::Job => format!("job {}", id.as_str().unwrap_or_default()),
        Subject::Flow => format!("flow {id}"),
    };
    if !stops {
        return Ended::Left(format!("the wait was ended; {name} goes on"));
    }
    let params = json!({ subject.id(): id, "context_id": context });
    match client.call_named::<IgnoredAny>(subject.stop(), params).await {
        Ok(_) => Ended::Left(format!("{name} was stopped, because the call was cancelled")),
        Err(error) => Ended::Left(format!("the call was cancelled, but {name} could not be stopped: {error}")),
    }
}

/// Converts an answer for a model. Long answers are parsed and cut away from the threads that serve connections.
async fn told(tool: &'static str, answer: Result<Box<RawValue>, Ended>, advice: Advice) -> CallToolResult {
    let told = match answer {
        Ok(answer) => away(answer.get().len(), move || success(tool, &answer)).await,
        Err(Ended::Error(error)) => {
            // The length of its data is unknown.
            let bytes = if error.rpc().is_some_and(|rpc| rpc.data.is_some()) { usize::MAX } else { 0 };
            away(bytes, move || failure(&error, advice)).await
        }
        Err(Ended::Left(what)) => Some(refusal(&what)),
    };
    told.unwrap_or_else(|| refusal("the answer came, but could not be read: the server is about to end, or its log says what went wrong"))
}

/// The reason why a call has no result.
enum Ended {
    Error(Error),
    /// Its client does not wait for it any more.
    Left(String),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::{FutureExt as _, poll};
    use serde_json::value::to_raw_value;

    use super::*;

    #[test]
    fn long_answers_are_cut_on_no_thread_that_serves_connections() {
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let (release, held) = std::sync::mpsc::channel::<()>();
            let busy = tokio::task::spawn_blocking(move || held.recv());
            let answer = |bytes| Ok(to_raw_value(&"x".repeat(bytes)).unwrap());
            assert!(told("get_result", answer(100), |_| None).now_or_never().is_some(), "a short one waits for nobody");
            let mut long = pin!(told("get_result", answer(1 << 20), |_| None));
            assert!(poll!(&mut long).is_pending());
            release.send(()).unwrap();
            assert_eq!(long.await.content.len(), 2, "it is cut, and says so");
            busy.await.unwrap().unwrap();
        });
    }
}
