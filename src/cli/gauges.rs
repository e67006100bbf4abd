//! What `/metrics` shows besides what happens in this process: queues, actors, Redis, engines.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::actor::PoolStatus;
use crate::model::ScriptType;
use crate::service::Service;
use crate::store::{Error, Store};

/// How often they are read.
const PERIOD: Duration = Duration::from_secs(5);
/// The kernel counts processor time in hundredths of a second.
const TICKS: f64 = 100.0;

/// Starts collecting metrics in this process.
pub(super) fn collect() -> anyhow::Result<PrometheusHandle> {
    let buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0];
    let handle = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &buckets)?.install_recorder()?;
    describe_counter!("hero_jobs_total", "Jobs by script type and what became of them, over all servers of this Redis.");
    describe_counter!(
        "hero_schedule_slots_total",
        "Runs of schedules that this process fired, skipped because of the run before, or left out as missed."
    );
    describe_counter!("hero_jobs_evicted_total", "Finished jobs deleted early because the memory of Redis was short.");
    describe_counter!("hero_jobs_noticed_total", "Jobs of outsiders that this server found first.");
    describe_counter!("hero_leases_lost_total", "Running jobs taken from actors that fell silent, over all servers of this Redis.");
    describe_counter!("hero_engine_deaths_total", "Engines that died under a job.");
    describe_counter!("hero_engine_cpu_seconds_total", "Processor time of the engines of this process.");
    describe_gauge!("hero_queue_depth", "Jobs that wait in a queue.");
    describe_gauge!("hero_actors", "Live actors of a script type and group.");
    describe_gauge!("hero_jobs_running", "Jobs that this process holds.");
    describe_gauge!("hero_engine_memory_bytes", "Resident memory of the engines of this process.");
    describe_gauge!("hero_redis_memory_bytes", "Memory that Redis uses.");
    describe_gauge!("hero_redis_memory_limit_bytes", "Memory that Redis may use; 0 is no limit.");
    describe_counter!("hero_redis_evicted_keys_total", "Keys that Redis threw away for want of memory.");
    describe_gauge!("hero_rpc_connections", "Open connections of this server.");
    describe_counter!("hero_rpc_calls_total", "Calls by method and how they ended: ok, an error code, dropped, or panic.");
    describe_histogram!("hero_rpc_call_seconds", "Time to answer a call.");
    describe_histogram!("hero_job_wait_seconds", "Time from queue to actor.");
    describe_histogram!("hero_job_run_seconds", "Time in the engine.");
    Ok(handle)
}

/// Reads those of one context every few seconds. All but those of context 0 have its number as a label.
pub(super) struct Gauges {
    store: Store,
    /// The pools that serve the context.
    pools: Vec<(ScriptType, Arc<PoolStatus>)>,
    handle: PrometheusHandle,
    /// Gauges that were shown, so that what is gone is shown as zero once.
    queues: HashMap<String, ScriptType>,
    actors: HashMap<(String, String), u32>,
    /// Processor time of each engine when it was last looked at.
    cpu: HashMap<u32, f64>,
}

impl Gauges {
    pub(super) fn new(store: Store, pools: Vec<(ScriptType, Arc<PoolStatus>)>, handle: PrometheusHandle) -> Self {
        // Counters are shown from the start, not from their first event.
        counter!("hero_jobs_evicted_total", store.labels([])).increment(0);
        counter!("hero_jobs_noticed_total", store.labels([])).increment(0);
        for what in ["fired", "skipped", "missed"] {
            counter!("hero_schedule_slots_total", store.labels([("what", what.to_owned())])).increment(0);
        }
        for (script_type, _) in &pools {
            counter!("hero_engine_deaths_total", store.labels([("script_type", script_type.to_string())])).increment(0);
        }
        Self { store, pools, handle, queues: HashMap::new(), actors: HashMap::new(), cpu: HashMap::new() }
    }

    fn read_engines(&mut self) {
        let (mut seen, mut resident_of) = (HashMap::new(), HashMap::new());
        for (script_type, status) in &self.pools {
            let memory: &mut u64 = resident_of.entry(script_type).or_default();
            for pid in status.engines() {
                let Some((cpu, resident)) = read_process(pid) else { continue };
                *memory += resident;
                let before = self.cpu.get(&pid).copied().unwrap_or(0.0);
                // The counter holds whole seconds; the rest waits for the next reading.
                counter!("hero_engine_cpu_seconds_total", self.store.labels([("script_type", script_type.to_string())]))
                    .increment((cpu - before).max(0.0) as u64);
                seen.insert(pid, before + (cpu - before).max(0.0).floor());
            }
        }
        for (script_type, memory) in resident_of {
            gauge!("hero_engine_memory_bytes", self.store.labels([("script_type", script_type.to_string())])).set(memory as f64);
        }
        self.cpu = seen;
    }
}

/// Processor seconds and resident bytes of a process.
fn read_process(pid: u32) -> Option<(f64, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    let pages = fields.get(21)?.parse::<u64>().ok()?;
    Some((ticks / TICKS, pages * rustix::param::page_size() as u64))
}

impl Service for Gauges {
    type Error = Error;

    const NAME: &'static str = "gauges";

    async fn tick(&mut self) -> Result<Duration, Error> {
        self.handle.run_upkeep();
        self.read_engines();
        let store = &self.store;
        let show = |name: &str, script_type: &ScriptType, depth: f64| {
            let labels = store.labels([("queue", name.to_owned()), ("script_type", script_type.to_string())]);
            gauge!("hero_queue_depth", labels).set(depth);
        };
        self.queues.iter().for_each(|(name, script_type)| show(name, script_type, 0.0));
        self.queues.clear();
        for queue in store.queues().await? {
            show(&queue.name, &queue.script_type, queue.depth as f64);
            self.queues.insert(queue.name, queue.script_type);
        }
        self.actors.values_mut().for_each(|count| *count = 0);
        for actor in store.actors().await? {
            *self.actors.entry((actor.script_type.to_string(), actor.group.to_string())).or_default() += 1;
        }
        for ((script_type, group), count) in &self.actors {
            let labels = store.labels([("script_type", script_type.clone()), ("group", group.clone())]);
            gauge!("hero_actors", labels).set(f64::from(*count));
        }
        for (script_type, mut counters) in store.counters().await? {
            let lost = counters.remove("lease_lost").unwrap_or_default();
            counter!("hero_leases_lost_total", store.labels([("script_type", script_type.to_string())])).absolute(lost);
            for (event, count) in counters {
                let labels = store.labels([("script_type", script_type.to_string()), ("event", event)]);
                counter!("hero_jobs_total", labels).absolute(count);
            }
        }
        let info = store.store_info().await?;
        gauge!("hero_redis_memory_bytes", store.labels([])).set(info.used_memory as f64);
        gauge!("hero_redis_memory_limit_bytes", store.labels([])).set(info.max_memory as f64);
        counter!("hero_redis_evicted_keys_total", store.labels([])).absolute(info.evicted_keys);
        Ok(PERIOD)
    }
}
