//! Host calls of jobs that are processes, in Python and as lines on a socket.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use hero::engine::{Answer, EngineJob, Host, HostCall, JobCall, LogRecord};
use hero::model::{ErrorKind, LogLevel, Progress};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::python::bench as of_python;
use super::super::{Bench, job};
use super::bash;

/// Answers host calls by a function, and keeps calls and log lines.
struct RecordingHost<F> {
    answer: F,
    host_calls: Vec<HostCall>,
    log: Vec<LogRecord>,
}

impl<F: FnMut(&HostCall) -> Option<Answer> + Send> Host for RecordingHost<F> {
    fn log(&mut self, records: Vec<LogRecord>) {
        self.log.extend(records);
    }

    fn answer(&mut self, host_call: HostCall) -> BoxFuture<'static, Answer> {
        let answer = (self.answer)(&host_call);
        self.host_calls.push(host_call);
        match answer {
            Some(answer) => Box::pin(std::future::ready(answer)),
            None => Box::pin(std::future::pending()),
        }
    }
}

impl<F> RecordingHost<F> {
    fn by(answer: F) -> Self {
        Self { answer, host_calls: Vec::new(), log: Vec::new() }
    }

    fn told(&self) -> Vec<(f64, &str)> {
        let told = self.host_calls.iter().filter_map(|host_call| match host_call {
            HostCall::Progress(Progress { value, text }) => Some((*value, text.as_str())),
            _ => None,
        });
        told.collect()
    }
}

/// As an actor does, with two prerequisites, and a refusal for a job without a script.
fn answer(host_call: &HostCall) -> Option<Answer> {
    let (one, other) = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002");
    Some(Ok(match host_call {
        HostCall::Jobs(JobCall::Spawn { spec, .. }) if spec.to_value().unwrap()["script"].is_null() => {
            return Some(Err("the job has\nno script".into()));
        }
        HostCall::Jobs(JobCall::Spawn { as_continuation, .. }) => json!(if *as_continuation { "continuation" } else { "child" }).into(),
        HostCall::Jobs(JobCall::Inputs) => {
            json!([{ "job_id": one, "name": "rows", "value": [1, 2.5, null] }, { "job_id": other, "name": null, "value": "text" }]).into()
        }
        HostCall::Jobs(JobCall::Occurrence) => json!("2026-01-31T12:00:00.000Z").into(),
        _ => Value::Null.into(),
    }))
}

async fn run<F: FnMut(&HostCall) -> Option<Answer> + Send>(bench: &mut Bench, job: &EngineJob, host: &mut RecordingHost<F>) -> String {
    let ended = bench.child.run(job, host, &bench.stop).await.unwrap();
    ended.result.unwrap_or_else(|error| panic!("{}: {error:?} {:?}", job.script, host.log)).text
}

#[tokio::test]
async fn python_asks_for_jobs_tells_progress_and_sees_what_came_before() {
    let Some(mut bench) = of_python().await else { return };
    let mut host = RecordingHost::by(answer);
    let script = "import hero\n\
         hero.progress(40, 'reading\\nfiles'); hero.progress(1e3); hero.progress(True)\n\
         ids = [hero.spawn({'script': '1', 'args': {'big': 2**63 - 1}}), hero.then(script='x', name='ü\\n'), hero.spawn({'a': 1}, script='2')]\n\
         from hero import inputs\n\
         hero.result([ids, inputs, hero.inputs is inputs, hero.slot, hero.attempt])";
    let text = run(&mut bench, &job(script), &mut host).await;
    let given: Value = serde_json::from_str(&text).unwrap();
    let inputs = json!({ "rows": [1, 2.5, null], "00000000-0000-4000-8000-000000000002": "text" });
    assert_eq!(given, json!([["child", "continuation", "child"], inputs, true, "2026-01-31T12:00:00.000Z", 1]));
    // Of what is told at once the newest may be all that is passed on.
    assert_eq!(host.told().last(), Some(&(1.0, "")), "{:?}", host.host_calls);
    let specs: Vec<Value> = host
        .host_calls
        .iter()
        .filter_map(|host_call| match host_call {
            HostCall::Jobs(JobCall::Spawn { spec, .. }) => spec.to_value().ok(),
            _ => None,
        })
        .collect();
    let expected =
        [json!({ "script": "1", "args": { "big": i64::MAX } }), json!({ "script": "x", "name": "ü\n" }), json!({ "a": 1, "script": "2" })];
    assert_eq!(specs, expected);
    // Each is asked for once.
    assert_eq!(
        host.host_calls.iter().filter(|host_call| matches!(host_call, HostCall::Jobs(JobCall::Inputs | JobCall::Occurrence))).count(),
        2
    );
}

#[tokio::test]
async fn what_is_refused_is_an_exception_in_python_with_the_words_of_the_server() {
    let Some(mut bench) = of_python().await else { return };
    let mut host = RecordingHost::by(answer);
    for (script, message) in [
        ("hero.spawn(name='x')", "Refused: the job has no script"),
        ("hero.spawn('1')", "TypeError: a job is given as a dict, or by keyword arguments, not as str"),
        ("hero.spawn(script={1})", "ValueError: the job is nothing that JSON can say: Object of type set is not JSON serializable"),
        ("hero.then(args=[2**63])", "ValueError: job.args[0] is beyond the integers of 64 bits; give it as a text, or as a float"),
        ("hero.progress('40')", "ValueError: a progress is a finite number, usually percent, and a text"),
        ("hero.progress(float('nan'))", "ValueError: a progress is a finite number, usually percent, and a text"),
        ("hero.nothing", "AttributeError: module 'hero' has no attribute 'nothing'"),
    ] {
        let ended = bench.child.run(&job(&format!("import hero\n{script}")), &mut host, &bench.stop).await.unwrap();
        let error = ended.result.unwrap_err();
        assert_eq!((error.message.as_str(), error.line), (message, Some(2)), "{script}");
    }
    let caught =
        "import hero\ntry:\n    hero.spawn()\nexcept hero.Refused as refused:\n    hero.result([str(refused), hero.spawn(script='1')])";
    assert_eq!(run(&mut bench, &job(caught), &mut host).await, r#"["the job has no script","child"]"#);
}

#[tokio::test]
async fn a_command_asks_by_lines() {
    let mut bench = Bench::with(bash()).await;
    let mut host = RecordingHost::by(answer);
    let script = r#"
        echo "progress 40 reading files" >&$HERO_ASK_FD
        echo 'spawn {"script": "1"}' >&4; read -r said child <&4
        echo 'then {"script": "1"}' >&4; read -r said continuation <&4
        echo inputs >&4; read -r said inputs <&4
        echo slot >&4; read -r said slot <&4
        echo 'spawn {}' >&4; read -r refused why <&4
        echo "progress much" >&4
        echo "progress 99.5 nearly" >&4
        echo "$child $continuation $slot $HERO_ATTEMPT $refused: $why $inputs" >&3
    "#;
    let text = run(&mut bench, &job(script), &mut host).await;
    assert!(text.starts_with("child continuation 2026-01-31T12:00:00.000Z 1 error: the job has no script {\"00000000"), "{text}");
    assert!(text.contains(r#""rows":[1,2.5,null]"#), "{text}");
    assert_eq!(host.told(), [(40.0, "reading files"), (99.5, "nearly")]);
    assert!(host.log.len() == 1 && host.log[0].level == LogLevel::Warn && host.log[0].text.contains("\"much\" is not a finite number"));
}

#[tokio::test]
async fn host_calls_right_before_the_end_are_carried_out_unread() {
    let mut bench = Bench::with(bash()).await;
    let mut host = RecordingHost::by(answer);
    let spawns =
        "for i in {1..100}; do echo \"spawn {\\\"script\\\": \\\"$i\\\"}\"; done >&4; echo slot >&4; echo progress 100 done >&4; exit 0";
    run(&mut bench, &job(spawns), &mut host).await;
    assert_eq!(host.host_calls.iter().filter(|host_call| matches!(host_call, HostCall::Jobs(JobCall::Spawn { .. }))).count(), 100);
    assert_eq!(host.told(), [(100.0, "done")]);
}

#[tokio::test]
async fn who_waits_for_an_answer_obeys_a_stop_and_its_timeout() {
    let Some(mut python) = of_python().await else { return };
    let mut of_bash = Bench::with(bash()).await;
    for (in_python, script) in [
        (true, "import hero; hero.spawn(script='1')"),
        (false, "echo 'spawn {\"script\": \"1\"}' >&4; read -r said child <&4"),
        // The job has ended, but what it has asked for is not done.
        (false, "echo 'spawn {\"script\": \"1\"}' >&4"),
    ] {
        let bench = if in_python { &mut python } else { &mut of_bash };
        // One that is stopped, and one that has so little time that it may take more than that to ask, on a busy machine.
        for (is_stopped, milliseconds) in [(true, 30_000), (false, 300), (false, 3_000), (false, 15_000)] {
            let (stop, asked) = (CancellationToken::new(), AtomicUsize::new(0));
            let mut host = RecordingHost::by(|_: &HostCall| {
                asked.fetch_add(1, Ordering::Relaxed);
                if is_stopped {
                    stop.cancel();
                }
                None
            });
            let mut waiting = job(script);
            waiting.timeout = Duration::from_millis(milliseconds);
            let began = Instant::now();
            let error = bench.child.run(&waiting, &mut host, &stop).await.unwrap().result.unwrap_err();
            assert_eq!(error.kind, if is_stopped { ErrorKind::Stopped } else { ErrorKind::Timeout }, "{script}");
            assert!(bench.child.is_alive() && began.elapsed() < Duration::from_secs(25), "{script}");
            bench.run("").await.result.unwrap();
            match asked.into_inner() {
                0 if milliseconds < 15_000 => {}
                asked => {
                    assert_eq!(asked, 1);
                    if !is_stopped {
                        break;
                    }
                }
            }
        }
    }
}

/// A stop and an answer may be on their way at the same time, in either order, and an answer may come when the process has ended.
#[tokio::test]
async fn answers_that_cross_a_stop_are_not_those_of_the_next_job() {
    let Some(mut bench) = of_python().await else { return };
    for round in 0..20 {
        let (stop, asked) = (CancellationToken::new(), AtomicUsize::new(0));
        let mut host = RecordingHost::by(|_: &HostCall| {
            if asked.fetch_add(1, Ordering::Relaxed) == round % 7 {
                stop.cancel();
            }
            Some(Ok(json!("stale").into()))
        });
        let script = job("import hero\nwhile True: hero.spawn(script='1')");
        let ended = bench.child.run(&script, &mut host, &stop).await.unwrap();
        assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Stopped);
        let mut next = RecordingHost::by(|_: &HostCall| Some(Ok(json!("fresh").into())));
        assert_eq!(run(&mut bench, &job("import hero\nhero.result(hero.spawn(script='1'))"), &mut next).await, "fresh");
    }
}

/// Neither waits for the other: the job writes more than a socket holds while its supervisor is written more than that.
#[tokio::test]
async fn a_long_answer_comes_beside_a_job_that_writes_much_and_the_next_job_runs() {
    let mut bench = Bench::with(bash()).await;
    let long = "x".repeat(3 << 20);
    let mut host = RecordingHost::by(|_: &HostCall| Some(Ok(json!(long).into())));
    let line = "y".repeat(500);
    let script = format!("yes {line} | head -c 900000 & echo slot >&4; read -r said answer <&4; wait; echo $said ${{#answer}} >&3");
    for _ in 0..3 {
        assert_eq!(run(&mut bench, &job(&script), &mut host).await, format!("ok {}", 3 << 20));
        assert_eq!(host.log.iter().map(|record| record.text.len() + 1).sum::<usize>() / 1000, 900);
        host.log.clear();
        assert_eq!(bench.text("echo 42 >&3").await, "42");
        assert!(bench.child.is_alive());
    }
}
