//! Values for examples.
//!
//! The examples of all methods, in the order of the document, are one story: each works on a fresh server after the ones before it. So they
//! name the same jobs, and the numbers are those of a fresh server. Values that a server generates (ids that nobody chose, secrets, times)
//! differ each time.

use std::collections::BTreeMap;

use hero_coordinator::flows::to_mermaid;
use hero_model::{
    Attempt, Context, ContextId, ContextLimits, Flow, FlowEvent, FlowId, FlowJob, FlowJobSpec, FlowSpec, FlowStatus, FlowSummary, Identity,
    IdentityId, Job, JobEvent, JobId, JobResult, JobSpec, LogLevel, LogLine, Message, MessageFormat, MessageStatus, MessageType, OnFailure,
    Pong, PongAnswer, Priority, PrivateKey, Queue, Runner, RunnerId, Schedule, ScheduleId, ScheduleSpec, ScriptType, SignerKey, Status,
    Target, Timestamp, Token, Usage,
};

/// The secret of the examples' token.
pub(super) const SECRET: &str = "hero_w3Qd…";

/// A nonce of the examples' server.
pub(super) const NONCE: &str =
    concat!("hero", ":127.0.0.1:8700:9d3c1f0ab4e85762c1d09e3f5a7b8246e0f1d2c3b4a5968778695a4b3c2d1e0f:1795255500");

/// The private key of the examples' identity, which everybody knows: the number 1.
pub(super) fn private_key() -> PrivateKey {
    format!("{:064x}", 1).parse().expect("1 is a private key")
}

pub(super) fn identity() -> Identity {
    Identity {
        identity_id: IdentityId(1),
        pubkey: Some(private_key().public_key()),
        address: vec!["3bb:2f3e::1".into()],
        created_at: time(0),
        updated_at: time(0),
    }
}

pub(super) fn token() -> Token {
    let token_id = "5f0c2b8e9a417d36".parse().expect("16 digits");
    Token { token_id, identity_id: IdentityId(1), name: Some("ci".into()), created_at: time(0), expires_at: None }
}

pub(super) fn message() -> Message {
    Message {
        caller_id: 0,
        message_id: 1,
        context_id: ContextId(0),
        message: "hello".into(),
        message_type: MessageType::Chat,
        message_format_type: MessageFormat::Text,
        timeout: 3900,
        timeout_ack: 300,
        timeout_result: 3600,
        job: Vec::new(),
        logs: Vec::new(),
        created_at: time(0),
        updated_at: time(0),
        status: MessageStatus::Dispatched,
        target_context: SHOP,
        topic: None,
        address: Some("here".parse().expect("an address")),
        public_key: None,
        answers: None,
        error: None,
    }
}

pub(super) fn pong() -> Pong {
    let answer = PongAnswer {
        key: node_key(),
        name: None,
        expected: None,
        is_trusted: true,
        trusts: true,
        time: time(0),
        clock_ahead: 0.0,
        round_trip: std::time::Duration::from_millis(1).into(),
    };
    Pong { route: "context 0 of this server".into(), answer: Some(answer), error: None }
}

/// Returns the message as its receiving context has it.
pub(super) fn message_that_came() -> Message {
    Message { context_id: SHOP, address: None, ..message() }
}

pub(super) fn node_key() -> SignerKey {
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a".parse().expect("64 digits")
}

pub(super) fn runner() -> Runner {
    Runner {
        runner_id: RunnerId(1),
        script_type: ScriptType::osis(),
        local: false,
        topic: RunnerId(1).group(),
        address: Some("here".parse().expect("an address")),
        pubkey: None,
        target_context: SHOP,
        name: Some("the one of the shop".into()),
        created_at: time(0),
        updated_at: time(0),
    }
}

pub(super) fn rights() -> Context {
    let callers = [IdentityId(1)].into();
    Context { callers, created_at: Some(time(0)), updated_at: Some(time(0)), ..Context::none(ContextId(0)) }
}

/// The examples' context that was created at run time.
pub(super) const SHOP: ContextId = ContextId(1);

pub(super) fn context() -> Context {
    let limits = ContextLimits { jobs_per_second: Some(100), max_running: Some(4), ..ContextLimits::default() };
    Context { name: Some("shop".into()), limits, created_at: Some(time(0)), updated_at: Some(time(0)), ..Context::none(SHOP) }
}

pub(super) fn flow_spec() -> FlowSpec {
    let build = FlowJobSpec { script: "40 + 2".into(), ..FlowJobSpec::default() };
    let tell =
        FlowJobSpec { script: r#"`the answer is ${inputs.build}`"#.into(), depends_on: vec!["build".into()], ..FlowJobSpec::default() };
    FlowSpec { jobs: [("build".to_owned(), build), ("tell".to_owned(), tell)].into(), name: Some("answer".into()), ..FlowSpec::default() }
}

/// Returns a finished flow with this number.
pub(super) fn flow(flow_id: u32) -> Flow {
    let job = |name: &str, number: u32, at: i64| FlowJob {
        name: name.into(),
        job_id: format!("{flow_id:08x}-{number:04x}-4f0a-8f52-1d2c3b4a5968").parse().expect("a UUID"),
        // `number_job` used the first number, and each flow before this one has two.
        number: 2 * (flow_id - 1) + 1 + number,
        status: Some(Status::Finished),
        depends_on: Vec::new(),
        script_type: ScriptType::osis(),
        runner: None,
        attempt: 1,
        started_at: Some(time(at)),
        finished_at: Some(time(at + 1)),
        error: None,
    };
    let jobs = vec![job("build", 1, 1), FlowJob { depends_on: vec!["build".into()], ..job("tell", 2, 3) }];
    Flow {
        flow_id: FlowId(flow_id),
        status: FlowStatus::Finished,
        name: Some("answer".into()),
        context_id: ContextId(0),
        caller_id: "anonymous".into(),
        on_failure: OnFailure::Stop,
        env_vars: BTreeMap::new(),
        stop_requested: false,
        created_at: time(0),
        updated_at: time(0),
        started_at: Some(time(1)),
        finished_at: Some(time(4)),
        result: [("build".to_owned(), "42".to_owned()), ("tell".to_owned(), "the answer is 42".to_owned())].into(),
        truncated: false,
        graph: to_mermaid(&jobs),
        jobs,
    }
}

pub(super) fn flow_summary() -> FlowSummary {
    FlowSummary {
        flow_id: FlowId(1),
        status: FlowStatus::Finished,
        name: Some("answer".into()),
        caller_id: "anonymous".into(),
        jobs: 2,
        open: 0,
        failed: 0,
        stop_requested: false,
        created_at: time(0),
        started_at: Some(time(1)),
        finished_at: Some(time(4)),
    }
}

pub(super) fn flow_event() -> FlowEvent {
    FlowEvent {
        flow_id: FlowId(1),
        status: FlowStatus::Finished,
        open: 0,
        cursor: Some("1795255200002-0".into()),
        job: None,
        job_id: None,
        job_status: None,
        kind: None,
        attempt: None,
    }
}

/// The job of most examples: it finishes.
pub(super) fn job_id() -> JobId {
    "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70".parse().expect("a UUID")
}

pub(super) fn job_spec() -> JobSpec {
    let args = serde_json::json!({"a": 40, "b": 2});
    JobSpec { script: r#"print("hello"); args.a + args.b"#.into(), args: Some(args.into()), job_id: Some(job_id()), ..JobSpec::default() }
}

/// A job that is stopped before it runs, and then runs after all.
pub(super) fn stopped_job_id() -> JobId {
    "b2b1c0de-3c55-4f0a-8f52-1d2c3b4a5968".parse().expect("a UUID")
}

/// A job that is never started.
pub(super) fn waiting_job_id() -> JobId {
    "c3d2e1f0-4b66-4a1b-9c63-2e3d4c5b6a79".parse().expect("a UUID")
}

/// A job that is deleted.
pub(super) fn deleted_job_id() -> JobId {
    "d4e3f201-5c77-4b2c-8d74-3f4e5d6c7b8a".parse().expect("a UUID")
}

pub(super) fn queue_name(script_type: ScriptType) -> String {
    hero_store::queue_name(&Queue { script_type, target: Target::Type, priority: Priority::Normal })
}

/// Returns the time `millis` after the start time of all examples.
pub(super) fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_795_255_200_000 + millis)
}

pub(super) fn result() -> JobResult {
    let usage = Usage { operations: 3, peak_memory: 2048, run_ms: 1, cpu_us: 250 };
    JobResult::of(job_id(), "42".into(), Some("json"), 1, [Some(time(1)), Some(time(2))], Some(usage))
}

pub(super) fn job() -> Job {
    let (spec, usage) = (job_spec(), Usage { operations: 3, peak_memory: 2048, run_ms: 1, cpu_us: 250 });
    // Fields that this job does not have are absent, as on the wire, so a new field needs no line here.
    let required = serde_json::json!({
        "job_id": job_id(), "status": Status::Finished, "context_id": 0, "script": spec.script,
        "priority": Priority::Normal, "retries": 0, "concurrent": false, "attempt": 1, "crashes": 0,
    });
    let (started_at, ended_at, usage) = (Some(time(1)), Some(time(2)), Some(usage));
    Job {
        caller_id: Some("anonymous".into()),
        script_type: Some(ScriptType::osis()),
        args: spec.args,
        created_at: Some(time(0)),
        updated_at: Some(time(2)),
        queued_at: Some(time(0)),
        started_at,
        finished_at: ended_at,
        output: Some("42".into()),
        usage,
        attempts: vec![Attempt { attempt: 1, actor: None, started_at, ended_at, error: None, usage }],
        ..serde_json::from_value(required).expect("a job")
    }
}

pub(super) fn schedule_id() -> ScheduleId {
    "9b2e6f0a-3c1d-4e5f-8a7b-6c5d4e3f2a10".parse().expect("a UUID")
}

pub(super) fn schedule_spec() -> ScheduleSpec {
    ScheduleSpec {
        job: JobSpec { script: "40 + 2".into(), ..JobSpec::default() },
        cron: Some("0 9 * * MON-FRI".into()),
        time_zone: Some("Europe/Berlin".into()),
        name: Some("answer".into()),
        schedule_id: Some(schedule_id()),
        ..ScheduleSpec::default()
    }
}

pub(super) fn schedule() -> Schedule {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let mut schedule = schedule_spec().shown(schedule_id(), time(0));
    // The next five of these mornings, from a Saturday on.
    schedule.next_runs = [2, 3, 4, 5, 6].map(|day| time(day * DAY - 2 * 60 * 60 * 1000)).to_vec();
    schedule
}

pub(super) fn event(job_id: JobId, status: Status) -> JobEvent {
    JobEvent {
        cursor: "1795255200002-0".into(),
        time: time(2),
        job_id,
        context_id: ContextId(0),
        status,
        attempt: u32::from(status == Status::Finished),
        kind: None,
        progress: None,
    }
}

pub(super) fn line() -> LogLine {
    LogLine { cursor: "1795255200001-0".into(), time: Some(time(1)), level: LogLevel::Info, text: "hello".into() }
}
