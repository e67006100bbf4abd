use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::load::{HOME, IN_FLIGHT, Load, Run};
use crate::model::{Condition, Find, JobSpec, Json, Name, ObjectId};

/// The collection of the measurement, on a server started for it.
const COLLECTION: &str = "bench";
/// The number of objects per find.
const OBJECTS_PER_FIND: u32 = 10;

/// The cost of objects for a client.
#[derive(Debug, Serialize)]
pub(super) struct Objects {
    /// The number of objects.
    pub(super) objects: u64,
    /// Objects stored per second by 64 callers, with one index.
    pub(super) set_per_s: f64,
    /// Gets of one object by its id, by one caller.
    pub(super) get: Times,
    /// Finds of ten objects by an index, by one caller.
    pub(super) find: Times,
    /// The same finds within a script, without the time of its job.
    pub(super) find_in_script: Times,
}

/// The times of calls, in milliseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Times {
    pub(super) p50_ms: f64,
    pub(super) p95_ms: f64,
    pub(super) p99_ms: f64,
}

impl From<&Run> for Times {
    fn from(run: &Run) -> Self {
        let [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map(|share| run.quantile_ms(share));
        Self { p50_ms, p95_ms, p99_ms }
    }
}

impl Load {
    /// Stores `objects` objects with a number in an index, and times `calls` calls of each kind.
    pub(super) async fn objects(&self, objects: u64, calls: u64) -> anyhow::Result<Objects> {
        let collection: Name = COLLECTION.parse()?;
        self.script(format!(r#"osis::index("{COLLECTION}", ["number"])"#)).await?;
        let begun = Instant::now();
        let set = async |caller, number: u64| {
            let object = json!({"id": id(number), "number": number, "name": format!("object {number}"), "tags": ["a", "b"]});
            self.client(caller).set_object(HOME, &collection, &object.into()).await?;
            Ok(())
        };
        self.share(IN_FLIGHT, objects, set).await?;
        let set_per_s = objects as f64 / begun.elapsed().as_secs_f64();

        // Numbers spread over the collection, the same in each run.
        let at = Cell::new(0_u64);
        let next = || at.replace((at.get() + 7919) % objects.max(1));
        let get = self.timed(calls, async || {
            let number: ObjectId = id(next()).parse()?;
            self.client(0).get_object(HOME, &collection, &number).await?;
            Ok(())
        });
        let get = Times::from(&get.await?);
        let find = self.timed(calls, async || {
            let from = next();
            let range = Condition::try_from(Json::from(json!({"gte": from}))).map_err(anyhow::Error::msg)?;
            let conditions = BTreeMap::from([("number".to_owned(), range)]);
            let page = self
                .client(0)
                .find_objects(HOME, &collection, &Find { conditions, limit: Some(OBJECTS_PER_FIND), ..Find::default() })
                .await?;
            let expected = objects.saturating_sub(from).min(u64::from(OBJECTS_PER_FIND));
            anyhow::ensure!(page.objects.len() as u64 == expected, "{} objects were found, not {expected}", page.objects.len());
            Ok(())
        });
        let find = Times::from(&find.await?);
        let in_script = self.script(format!(
            r#"let times = [];
            for round in 0..{calls} {{
                let from = (round * 7919) % {objects};
                let begun = timestamp();
                osis::find("{COLLECTION}", #{{ filter: #{{ number: #{{ gte: from }} }}, limit: {OBJECTS_PER_FIND} }});
                times.push(begun.elapsed);
            }}
            times"#
        ));
        let seconds: Vec<f64> = serde_json::from_str(&in_script.await?)?;
        let run = Run::of(seconds.into_iter().map(Duration::from_secs_f64).collect());
        self.client(0).drop_collection(HOME, &collection).await?;
        Ok(Objects { objects, set_per_s, get, find, find_in_script: Times::from(&run) })
    }

    /// Runs a script and returns its result.
    async fn script(&self, script: String) -> anyhow::Result<String> {
        let spec = JobSpec { script, ..JobSpec::default() };
        Ok(self.client(0).run_and_wait(&spec, Duration::from_secs(60)).await?.output)
    }

    /// Makes `calls` calls, one after another.
    async fn timed<F: Future<Output = anyhow::Result<()>>>(&self, calls: u64, call: impl Fn() -> F) -> anyhow::Result<Run> {
        let mut times = Vec::with_capacity(usize::try_from(calls)?);
        for _ in 0..calls {
            let begun = Instant::now();
            call().await?;
            times.push(begun.elapsed());
        }
        Ok(Run::of(times))
    }
}

fn id(number: u64) -> String {
    format!("o{number:08}")
}
