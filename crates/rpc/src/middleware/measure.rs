use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;
use metrics::{Counter, Histogram};

use super::{Answer, Rule, Rules};

/// The metrics of one method. They are looked up once, not for each call.
pub(super) struct Measurements {
    name: &'static str,
    succeeded: Counter,
    seconds: Histogram,
}

impl Measurements {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            succeeded: metrics::counter!("hero_rpc_calls_total", "method" => name, "code" => "ok"),
            seconds: metrics::histogram!("hero_rpc_call_seconds", "method" => name),
        }
    }

    fn count(&self, code: String) {
        metrics::counter!("hero_rpc_calls_total", "method" => self.name, "code" => code).increment(1);
    }

    fn record(&self, response: &MethodResponse, took: Duration) {
        self.seconds.record(took);
        match response.as_error_code() {
            None => self.succeeded.increment(1),
            Some(code) => self.count(code.to_string()),
        }
        tracing::debug!(method = self.name, code = response.as_error_code(), ?took, "answered");
    }
}

/// A call that has begun. A call without an answer, because its connection closed or it panicked, counts, too.
struct Running {
    entry: Arc<Rule>,
    began: Instant,
    answered: bool,
}

impl Running {
    fn end(mut self, response: &MethodResponse) {
        self.answered = true;
        self.entry.measurements.record(response, self.began.elapsed());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.answered {
            self.entry.measurements.count(if std::thread::panicking() { "panic".into() } else { "dropped".into() });
        }
    }
}

/// Counts calls by method and code, and measures how long they take.
pub(crate) struct Measure<S> {
    inner: S,
    rules: Arc<Rules>,
}

impl<S: Answer> Measure<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner, rules }
    }
}

impl<S: Answer> Answer for Measure<S> {
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a, S> {
        let entry = Arc::clone(self.rules.find(&request.method).unwrap_or(&self.rules.unknown));
        let running = Running { entry, began: Instant::now(), answered: false };
        let answer = self.inner.call(request);
        async move {
            let response = answer.await;
            running.end(&response);
            response
        }
    }
}
