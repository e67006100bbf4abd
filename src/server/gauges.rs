//! The gauges of `/metrics`, for state outside of this process's own events: queues, actors, Redis, engines.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use super::metric_families::{self, ACTORS, JOBS, LEASES, PROCESSOR, QUEUES};
use super::series::{LatestSeries, OTHER, largest};
use crate::actor::PoolStatus;
use crate::model::ScriptType;
use crate::service::Service;
use crate::store::{Error, Store};

/// Interval at which the gauges are read.
const READ_INTERVAL: Duration = Duration::from_secs(5);

/// The maximum number of events shown per script type. The functions in Redis count a dozen.
const MOST_EVENTS: usize = 32;

/// All metrics of this process.
#[derive(Clone)]
pub(crate) struct Metrics {
    handle: PrometheusHandle,
    latest: Arc<LatestSeries>,
}

impl Metrics {
    /// Renders all metrics in Prometheus' text format.
    pub(crate) fn render(&self) -> String {
        format!("{}{}", without_empty_buckets(&self.handle.render()), self.latest.render())
    }
}

/// Removes all buckets but the last of histograms without observations: they were most of the text.
fn without_empty_buckets(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut empty = String::new();
    for line in text.split_inclusive('\n') {
        let is_last = line.contains("le=\"+Inf\"");
        if line.contains("_bucket{") && line.ends_with(" 0\n") && !is_last {
            empty.push_str(line);
            continue;
        }
        // Buckets include the counts of lower ones, so the last tells whether the histogram has any.
        if !(is_last && line.ends_with(" 0\n")) {
            kept.push_str(&empty);
        }
        empty.clear();
        kept.push_str(line);
    }
    kept
}

/// Starts collecting metrics in this process.
pub(crate) fn collect() -> anyhow::Result<Metrics> {
    let buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0];
    let handle = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &buckets)?.install_recorder()?;
    metric_families::describe();
    // Creates rare metrics with 0, so that they are shown before their first event.
    for name in ["hero_log_files_failed_total", "hero_letters_set_aside_total"] {
        counter!(name).increment(0);
    }
    for bus in ["redis", "mycelium"] {
        counter!("hero_messages_unanswered_total", "bus" => bus).increment(0);
        drop(histogram!("hero_message_delivery_seconds", "bus" => bus));
    }
    Ok(Metrics { handle, latest: Arc::default() })
}

/// Reads the gauges of one context every few seconds. The number of the context is a label, except for context 0.
pub(crate) struct Gauges {
    store: Store,
    /// The pools that serve the context, with their script types.
    pools: Vec<(ScriptType, Arc<PoolStatus>)>,
    metrics: Metrics,
}

impl Gauges {
    pub(crate) fn new(store: Store, pools: Vec<(ScriptType, Arc<PoolStatus>)>, metrics: Metrics) -> Self {
        // Counters are created here, so that they are shown before their first event.
        counter!("hero_jobs_evicted_total", store.labels([])).increment(0);
        counter!("hero_jobs_noticed_total", store.labels([])).increment(0);
        for what in ["fired", "skipped", "missed", "refused"] {
            counter!("hero_schedule_slots_total", store.labels([("what", what.to_owned())])).increment(0);
        }
        for (script_type, _) in &pools {
            counter!("hero_engine_deaths_total", store.labels([("script_type", script_type.to_string())])).increment(0);
        }
        Self { store, pools, metrics }
    }

    /// Reads the gauges whose labels callers and foreign programs choose: queues, groups, script types.
    async fn read_lists(&self) -> Result<(), Error> {
        let (store, latest, context) = (&self.store, &self.metrics.latest, self.store.context());
        let one = |count| BTreeMap::from([(String::new(), count)]);
        let pair = || (OTHER.to_owned(), OTHER.to_owned());
        let queues = store.queues().list().await?.into_iter().map(|queue| ((queue.name, queue.script_type.to_string()), one(queue.depth)));
        let shown = largest(queues.collect(), &pair()).into_iter();
        let labels = |(name, script_type)| vec![("queue", name), ("script_type", script_type)];
        latest.show(QUEUES, context, shown.map(|(names, depth)| (labels(names), depth[""] as f64)).collect());

        let mut actors: BTreeMap<(String, String), u64> = BTreeMap::new();
        for actor in store.actors().list().await? {
            *actors.entry((actor.script_type.to_string(), actor.group.to_string())).or_default() += 1;
        }
        let shown = largest(actors.into_iter().map(|(names, count)| (names, one(count))).collect(), &pair()).into_iter();
        let labels = |(script_type, group)| vec![("script_type", script_type), ("group", group)];
        latest.show(ACTORS, context, shown.map(|(names, count)| (labels(names), count[""] as f64)).collect());

        let counters = store.queues().counters().await?.into_iter().map(|(script_type, counters)| (script_type.to_string(), counters));
        let (mut jobs, mut leases) = (Vec::new(), Vec::new());
        for (script_type, mut counters) in largest(counters.collect(), &OTHER.to_owned()) {
            let of_type = || ("script_type", script_type.clone());
            leases.push((vec![of_type()], counters.remove("lease_lost").unwrap_or_default() as f64));
            jobs.extend(counters.into_iter().take(MOST_EVENTS).map(|(event, count)| (vec![of_type(), ("event", event)], count as f64)));
        }
        latest.show(JOBS, context, jobs);
        latest.show(LEASES, context, leases);
        Ok(())
    }

    fn read_engines(&self) {
        let (mut resident, mut processor) = (BTreeMap::<&ScriptType, u64>::new(), BTreeMap::<&ScriptType, f64>::new());
        for (script_type, status) in &self.pools {
            *resident.entry(script_type).or_default() += status.engines().into_iter().filter_map(resident_of).sum::<u64>();
            *processor.entry(script_type).or_default() += status.processor_time().as_secs_f64();
        }
        for (script_type, memory) in resident {
            gauge!("hero_engine_memory_bytes", self.store.labels([("script_type", script_type.to_string())])).set(memory as f64);
        }
        let shown = processor.into_iter().map(|(script_type, seconds)| {
            // Redis counts hundredths of a second.
            (vec![("script_type", script_type.to_string())], (seconds * 100.0).round() / 100.0)
        });
        self.metrics.latest.show(PROCESSOR, self.store.context(), shown.collect());
    }
}

/// Returns the resident memory of a process, in bytes.
fn resident_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let pages = stat.rsplit_once(')')?.1.split_whitespace().nth(21)?.parse::<u64>().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

impl Service for Gauges {
    type Error = Error;

    const NAME: &'static str = "reading gauges for /metrics";

    async fn tick(&mut self) -> Result<Duration, Error> {
        self.metrics.handle.run_upkeep();
        self.read_engines();
        self.read_lists().await?;
        let store = &self.store;
        let info = store.health().info().await?;
        gauge!("hero_redis_memory_bytes", store.labels([])).set(info.used_memory as f64);
        gauge!("hero_redis_memory_limit_bytes", store.labels([])).set(info.max_memory as f64);
        counter!("hero_redis_evicted_keys_total", store.labels([])).absolute(info.evicted_keys);
        Ok(READ_INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::without_empty_buckets;

    #[test]
    fn a_histogram_without_observations_is_three_lines() {
        let of = |name: &str, counts: [u32; 3]| {
            let [a, b, all] = counts;
            format!(
                "# TYPE {name} histogram\n{name}_bucket{{le=\"1\"}} {a}\n{name}_bucket{{le=\"2\"}} {b}\n{name}_bucket{{le=\"+Inf\"}} {all}\n{name}_sum 0\n{name}_count {all}\n"
            )
        };
        let empty = "# TYPE a histogram\na_bucket{le=\"+Inf\"} 0\na_sum 0\na_count 0\n";
        assert_eq!(without_empty_buckets(&of("a", [0, 0, 0])), empty);
        for counts in [[0, 0, 1], [0, 1, 1], [1, 1, 1]] {
            assert_eq!(without_empty_buckets(&of("a", counts)), of("a", counts));
            assert_eq!(
                without_empty_buckets(&(of("a", [0, 0, 0]) + of("b", counts).as_str())),
                empty.to_owned() + of("b", counts).as_str()
            );
        }
    }
}
