//! Values that examples are made of.

use std::collections::BTreeMap;

use crate::model::{
    ContextId, ContextRights, Identity, IdentityId, Job, JobEvent, JobId, JobResult, JobSpec, LogLevel, LogLine, Priority, Queue, Schedule,
    ScheduleId, ScheduleSpec, ScriptType, Status, Target, Timestamp, Token, Usage,
};

pub(super) fn identity() -> Identity {
    let generator = "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8";
    Identity {
        identity_id: IdentityId(1),
        pubkey: Some(generator.parse().expect("the generator is a point of the curve")),
        address: vec!["3bb:2f3e::1".into()],
        created_at: time(0),
        updated_at: time(0),
    }
}

pub(super) fn token() -> Token {
    let token_id = "5f0c2b8e9a417d36".parse().expect("16 digits");
    Token { token_id, identity_id: IdentityId(1), name: Some("ci".into()), created_at: time(0), expires_at: None }
}

pub(super) fn rights() -> ContextRights {
    let callers = [IdentityId(1)].into();
    ContextRights { callers, created_at: Some(time(0)), updated_at: Some(time(0)), ..ContextRights::none(ContextId(0)) }
}

pub(super) fn job_id() -> JobId {
    "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70".parse().expect("a UUID")
}

pub(super) fn other_job_id() -> JobId {
    "b2b1c0de-3c55-4f0a-8f52-1d2c3b4a5968".parse().expect("a UUID")
}

pub(super) fn queue_name(script_type: ScriptType) -> String {
    crate::store::queue_name(&Queue { script_type, target: Target::Type, priority: Priority::Normal })
}

/// `millis` after the moment of all examples.
pub(super) fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_795_255_200_000 + millis)
}

pub(super) fn result() -> JobResult {
    let usage = Usage { operations: 3, peak_memory: 2048, run_ms: 1, cpu_us: 250 };
    JobResult::of(job_id(), "42".into(), Some("json"), 1, [Some(time(1)), Some(time(2))], Some(usage))
}

pub(super) fn job() -> Job {
    Job {
        job_id: job_id(),
        status: Status::Finished,
        name: Some("answer".into()),
        labels: BTreeMap::new(),
        context_id: ContextId(0),
        caller_id: Some("anonymous".into()),
        script_type: Some(ScriptType::osis()),
        script: "40 + 2".into(),
        args: None,
        group: None,
        instance: None,
        worker_id: None,
        priority: Priority::Normal,
        timeout: None,
        retries: 0,
        concurrent: false,
        env_vars: BTreeMap::new(),
        prerequisites: Vec::new(),
        dependents: Vec::new(),
        parent_id: None,
        predecessor_id: None,
        run_at: None,
        log_path: None,
        client_rpc_id: None,
        attempt: 1,
        crashes: 0,
        actor: None,
        created_at: Some(time(0)),
        updated_at: Some(time(2)),
        queued_at: Some(time(0)),
        started_at: Some(time(1)),
        finished_at: Some(time(2)),
        stop_requested_at: None,
        progress: None,
        output: Some("42".into()),
        error: None,
        usage: Some(Usage { operations: 3, peak_memory: 2048, run_ms: 1, cpu_us: 250 }),
        truncated: Vec::new(),
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

pub(super) fn event() -> JobEvent {
    JobEvent {
        cursor: "1795255200002-0".into(),
        time: time(2),
        job_id: job_id(),
        context_id: ContextId(0),
        status: Status::Finished,
        attempt: 1,
        kind: None,
        progress: None,
    }
}

pub(super) fn line() -> LogLine {
    LogLine { cursor: "1795255200001-0".into(), time: Some(time(1)), level: LogLevel::Info, text: "hello".into() }
}
