//! Every metric of `/metrics`, with its name, labels and description. `docs/metrics.md` shows the same table.

use metrics::{describe_counter, describe_gauge, describe_histogram};

/// The type of a metric in Prometheus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A metric family: the name, type, labels and help of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) labels: &'static [&'static str],
    pub(crate) help: &'static str,
}

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Family {
    Family { name, kind: Kind::Counter, labels, help }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Family {
    Family { name, kind: Kind::Gauge, labels, help }
}

const fn histogram(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Family {
    Family { name, kind: Kind::Histogram, labels, help }
}

pub(crate) const QUEUES: Family = gauge("hero_queue_depth", &["queue", "script_type"], "Jobs that wait in a queue.");
pub(crate) const ACTORS: Family = gauge("hero_actors", &["script_type", "group"], "Live actors, on all machines that use this Redis.");
pub(crate) const JOBS: Family = counter(
    "hero_jobs_total",
    &["script_type", "event"],
    "Jobs by what became of them: created, started, finished, error and so on; over all servers of this Redis.",
);
pub(crate) const LEASES: Family = counter(
    "hero_leases_lost_total",
    &["script_type"],
    "Running jobs that were taken from actors that had fallen silent; over all servers of this Redis.",
);

pub(crate) const PROCESSOR: Family = counter(
    "hero_engine_cpu_seconds_total",
    &["script_type"],
    "Processor time of the engines of this process, with the processes that they have waited for.",
);

/// All metric families, in the order of the documentation.
const FAMILIES: &[Family] = &[
    QUEUES,
    JOBS,
    gauge("hero_jobs_running", &["script_type"], "Jobs that actors of this process hold: those that run, and the few taken ahead."),
    histogram("hero_job_wait_seconds", &["script_type"], "Time from queue to actor, of the jobs that actors of this process took."),
    histogram("hero_job_run_seconds", &["script_type"], "Time in the engine, of the jobs that actors of this process ran."),
    ACTORS,
    LEASES,
    counter("hero_engine_deaths_total", &["script_type"], "Engines of this process that died under a job."),
    gauge("hero_engine_memory_bytes", &["script_type"], "Resident memory of the engines of this process."),
    PROCESSOR,
    gauge("hero_redis_memory_bytes", &[], "Memory that Redis uses."),
    gauge("hero_redis_memory_limit_bytes", &[], "Memory that Redis may use; 0 is no limit."),
    counter("hero_jobs_evicted_total", &[], "Finished jobs that this process deleted early because the memory of Redis was short."),
    counter("hero_redis_evicted_keys_total", &[], "Keys that Redis itself threw away for want of memory; jobs can be among them."),
    counter("hero_jobs_noticed_total", &[], "Jobs written to Redis by other programs that this server was the first to find."),
    counter(
        "hero_schedule_slots_total",
        &["what"],
        "Runs of schedules that this process fired, skipped because of the run before, left out as missed, or refused because their creator may not create jobs.",
    ),
    histogram(
        "hero_message_delivery_seconds",
        &["bus"],
        "Time from handing a message to its bus (mycelium, redis) until the other side has said what became of it.",
    ),
    counter(
        "hero_messages_unanswered_total",
        &["bus"],
        "Attempts to bring a message to the other side of which it has said nothing: each is made again until its time is over, unless the bus refuses it.",
    ),
    gauge("hero_log_files_bytes", &[], "Bytes of the log files of jobs in the directory of this process, with the directories to each."),
    counter(
        "hero_log_files_failed_total",
        &[],
        "Times that a log file of a job could not be opened or written; the job went on without it.",
    ),
    counter("hero_log_files_removed_total", &["reason"], "Log files removed because their jobs were gone (job), or for the quota."),
    counter("hero_letters_set_aside_total", &[], "Members of lists of envelopes that were no nonces, and that this process took out."),
    counter("hero_audit_records_total", &[], "Records of the audit log that this process wrote."),
    counter(
        "hero_audit_lost_total",
        &[],
        "Records for which there was no room, because the audit log could not be written; how many is a record.",
    ),
    gauge("hero_audit_failing", &[], "1 while the audit log cannot be written and changes are refused."),
    gauge("hero_rpc_connections", &[], "Open connections of this server."),
    counter(
        "hero_rpc_held_full_total",
        &["setting"],
        "Requests and calls that waited a second or longer because as much memory was held as a setting allows.",
    ),
    counter("hero_rpc_made_way_total", &[], "Connections closed because others waited for memory, and they read nothing or sent slowly."),
    counter(
        "hero_rpc_strangers_closed_total",
        &["reason"],
        "Connections closed on which nobody had logged in, where callers have to: others needed their places (place), or they lasted ten minutes (time).",
    ),
    counter("hero_rpc_calls_total", &["method", "code"], "Calls by method and how they ended: ok, an error code, dropped, or panic."),
    histogram("hero_rpc_call_seconds", &["method"], "Time to answer a call."),
];

/// Registers the help of each metric with the recorder of this process.
pub(crate) fn describe() {
    for Family { name, kind, help, .. } in FAMILIES.iter().copied() {
        match kind {
            Kind::Counter => describe_counter!(name, help),
            Kind::Gauge => describe_gauge!(name, help),
            Kind::Histogram => describe_histogram!(name, help),
        }
    }
}

/// Renders the table for `docs/metrics.md`.
pub fn markdown() -> String {
    use std::fmt::Write as _;

    let mut text = String::from("| metric | kind | labels | tells |\n| --- | --- | --- | --- |\n");
    for Family { name, kind, labels, help } in FAMILIES {
        let labels = if labels.is_empty() { "–".to_owned() } else { format!("`{}`", labels.join("`, `")) };
        writeln!(text, "| `{name}` | {} | {labels} | {help} |", kind.word()).expect("writing to a String cannot fail");
    }
    text
}
