//! Host calls of a script: one at a time, answered, refused, or too late.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hero::engine::{Answer, Capability, Child, EngineSettings, Host, HostCall, LogRecord, ObjectCall};
use hero::model::ErrorKind;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Bench, job, settings};

/// Answers by a function.
struct AnsweringHost<F>(F);

impl<F: Fn(HostCall) -> BoxFuture<'static, Answer> + Send> Host for AnsweringHost<F> {
    fn log(&mut self, _: Vec<LogRecord>) {}

    fn answer(&mut self, host_call: HostCall) -> BoxFuture<'static, Answer> {
        self.0(host_call)
    }
}

fn at_once(answer: Answer) -> BoxFuture<'static, Answer> {
    Box::pin(std::future::ready(answer))
}

fn with_objects() -> EngineSettings {
    EngineSettings { capabilities: vec![Capability::Objects], ..settings() }
}

const ASKS: &str = r#"osis::get("people", "ada")"#;

#[tokio::test]
async fn a_script_gets_the_answer_to_its_question() {
    let mut bench = Bench::with(with_objects()).await;
    let mut host = AnsweringHost(|host_call| match host_call {
        HostCall::Objects(ObjectCall::Get { collection, id }) => at_once(Ok(json!({"of": collection.as_str(), "id": id.as_str()}).into())),
        other => at_once(Err(format!("{other:?}"))),
    });
    let ended = bench.child.run(&job(&format!("let p = {ASKS}; p.id + p.of")), &mut host, &bench.stop).await.unwrap();
    assert_eq!(ended.result.unwrap().text, "adapeople");
    let ended = bench.child.run(&job("osis::exists(\"a\", \"b\")"), &mut host, &bench.stop).await.unwrap();
    let error = ended.result.unwrap_err();
    assert!(error.kind == ErrorKind::Script && error.message.starts_with("Objects(Has") && error.line == Some(1), "{error:?}");
}

#[tokio::test]
async fn a_script_that_waits_for_an_answer_obeys_a_stop_and_its_timeout() {
    let mut bench = Bench::with(with_objects()).await;
    let asked = AtomicUsize::new(0);
    for is_stopped in [true, false] {
        let stop = CancellationToken::new();
        let mut host = AnsweringHost(|_| {
            asked.fetch_add(1, Ordering::Relaxed);
            if is_stopped {
                stop.cancel();
            }
            Box::pin(std::future::pending()) as BoxFuture<'static, Answer>
        });
        let mut waiting = job(ASKS);
        waiting.timeout = if is_stopped { Duration::from_secs(30) } else { Duration::from_millis(50) };
        let error = bench.child.run(&waiting, &mut host, &stop).await.unwrap().result.unwrap_err();
        assert_eq!(error.kind, if is_stopped { ErrorKind::Stopped } else { ErrorKind::Timeout });
        assert!(bench.child.is_alive(), "it obeyed by itself");
        assert_eq!(bench.text("40 + 2").await, "42");
    }
    assert_eq!(asked.into_inner(), 2);
}

/// A stop and an answer may be on their way at the same time, in either order, and an answer may come when the script has ended.
#[tokio::test]
async fn answers_that_cross_a_stop_are_not_those_of_the_next_job() {
    let mut bench = Bench::with(with_objects()).await;
    for round in 0..200 {
        let stop = CancellationToken::new();
        let asked = AtomicUsize::new(0);
        let mut host = AnsweringHost(|_| {
            if asked.fetch_add(1, Ordering::Relaxed) == round % 7 {
                stop.cancel();
            }
            at_once(Ok(json!("stale").into()))
        });
        let ended = bench.child.run(&job(&format!("loop {{ {ASKS}; }}")), &mut host, &stop).await.unwrap();
        assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Stopped);
        // One that does not get to obey in time, because the machine is busy, is killed.
        if !bench.child.is_alive() {
            bench.child = Child::start(&bench.spawner, &bench.settings).await.unwrap();
        }
        let mut next = AnsweringHost(|_| at_once(Ok(json!("fresh").into())));
        let ended = bench.child.run(&job(ASKS), &mut next, &bench.stop).await.unwrap();
        assert_eq!(ended.result.unwrap().text, "fresh");
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_an_error_that_a_script_may_catch() {
    let mut bench = Bench::with(with_objects()).await;
    let mut host = AnsweringHost(|_| at_once(Ok(json!("x".repeat(17 << 20)).into())));
    let ended = bench.child.run(&job(&format!("try {{ {ASKS} }} catch (e) {{ return e }}")), &mut host, &bench.stop).await.unwrap();
    let told = ended.result.unwrap().text;
    assert!(told.contains("does not fit into an engine"), "{told}");
}

#[tokio::test]
async fn a_script_without_the_capability_is_told_who_has_it() {
    let mut bench = Bench::start().await;
    let error = bench.error(ASKS).await;
    assert_eq!(error.message, "this script has no osis::; it is for scripts of type osis");
    let error = bench.error("!!osis.get people ada").await;
    assert_eq!(error.message, "osis_get is for scripts of type osis");
    // In a session there is nobody to ask.
    let mut alone = Bench::with(with_objects()).await;
    assert!(alone.error(ASKS).await.message.starts_with("there is no server here"));
}
