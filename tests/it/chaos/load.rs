use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hero::client::{Client, Error, Options, Reconnect, code};
use hero::model::{ContextId, JobId, JobSpec, Seconds};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::town::Addresses;
use crate::support::PATIENCE;

/// The error code for a job whose status does not allow the call: it already exists, or was already started.
const STATE: i32 = 1002;
/// The error code for a lack of room.
const FULL: i32 = 1007;
/// The maximum number of jobs of a client in flight.
const UNDER_WAY: usize = 12;

/// How a job has to end if it is not killed too often.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    Output(String),
    Thrown(u32),
}

/// Every job that a server acknowledged.
#[derive(Default)]
pub struct Jobs(Mutex<BTreeMap<JobId, End>>, Mutex<BTreeMap<String, End>>, AtomicUsize);

impl Jobs {
    pub fn acknowledged(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// The number of calls that were refused because Redis was full.
    pub fn refused(&self) -> usize {
        self.2.load(Ordering::Relaxed)
    }

    /// How a script has to end that was submitted without an id: if an answer gets lost, another job is made for it.
    pub fn of_script(&self, script: &str) -> Option<End> {
        self.1.lock().unwrap().get(script).cloned()
    }

    pub fn all(&self) -> BTreeMap<JobId, End> {
        self.0.lock().unwrap().clone()
    }
}

/// A job of some kind: most are short, some log, some sleep, some fail, and some of those are tried again.
fn job(random: &mut StdRng) -> (JobSpec, End) {
    let number: u32 = random.random_range(0..1_000_000);
    let (script, end, retries) = match random.random_range(0..10) {
        0..4 => (format!("{number} + 1"), End::Output((number + 1).to_string()), 0),
        4 | 5 => (format!("for i in 0..5 {{ print(i) }} {number}"), End::Output(number.to_string()), 0),
        6 | 7 => (format!("sleep({}); {number}", f64::from(number % 50) / 1000.0), End::Output(number.to_string()), 0),
        8 => (format!("sleep(0.01); throw \"{number}\""), End::Thrown(1), 0),
        _ => (format!("throw \"{number}\""), End::Thrown(3), 2),
    };
    let retry_backoff = (retries > 0).then(|| Seconds::new(0.02)).flatten();
    // None is deleted early because memory is short.
    let retention = Seconds::new(3600.0);
    (JobSpec { script, retries, retry_backoff, retention, job_id: Some(JobId::random()), ..JobSpec::default() }, end)
}

/// A client that goes to another server when its own is gone.
struct Caller {
    jobs: Arc<Jobs>,
    addresses: Addresses,
    at: usize,
    client: Option<Client>,
}

impl Caller {
    /// Calls until a server answers. Whether earlier calls were executed is not known then.
    async fn ask<T, F: Future<Output = Result<T, Error>>>(&mut self, call: impl Fn(Client) -> F) -> Result<T, Error> {
        let begun = std::time::Instant::now();
        loop {
            assert!(begun.elapsed() < 2 * PATIENCE, "no server answers");
            let client = match self.client.clone() {
                Some(client) => client,
                None => {
                    let address = self.addresses.lock().unwrap()[self.at].clone();
                    // It goes to another server instead.
                    let options = Options { reconnect: Reconnect::NEVER, ..Options::default() };
                    match Client::connect_with(&address, options).await {
                        Ok(client) => self.client.insert(client).clone(),
                        Err(_) => {
                            self.elsewhere().await;
                            continue;
                        }
                    }
                }
            };
            match call(client).await {
                Err(error) if error.has_code(FULL) => {
                    self.jobs.2.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                // Redis or the server is away: nobody knows what was done, so it is asked again.
                Err(error) if error.has_code(1009) => tokio::time::sleep(Duration::from_millis(10)).await,
                Err(Error::Closed(_) | Error::Unknown { .. } | Error::Unreachable { .. } | Error::Timeout { .. }) => self.elsewhere().await,
                answer => return answer,
            }
        }
    }

    async fn elsewhere(&mut self) {
        self.client = None;
        self.at = (self.at + 1) % 2;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Submits jobs until there are enough, every other one by `run_and_wait`.
pub async fn submit(client: usize, seed: u64, addresses: Addresses, jobs: Arc<Jobs>, enough: Arc<AtomicBool>) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut caller = Caller { jobs: jobs.clone(), addresses, at: client % 2, client: None };
    let context = ContextId::default();
    let mut under_way = Vec::new();
    while !enough.load(Ordering::Relaxed) {
        let (mut spec, end) = job(&mut random);
        let id = spec.job_id.clone().unwrap();
        if random.random_range(0..3) == 0 {
            // Without an id a job may start in the function that stores it.
            spec.job_id = None;
            spec.script = format!("{} // {id}", spec.script);
            jobs.1.lock().unwrap().insert(spec.script.clone(), end.clone());
            let spec = &spec;
            let answer = caller.ask(|client| async move { client.run_and_wait(spec, PATIENCE).await }).await;
            let id = match &answer {
                Ok(result) => result.job_id.clone(),
                Err(error) => error.rpc().and_then(|rpc| rpc.job_failure()).unwrap_or_else(|| panic!("{error}")).job_id.clone(),
            };
            check(&id, &end, answer.map(|result| result.output));
            jobs.0.lock().unwrap().insert(id, end);
            continue;
        }
        if random.random() {
            let spec = &spec;
            match caller.ask(|client| async move { client.run_and_wait(spec, PATIENCE).await }).await {
                // An earlier call did it.
                Err(error) if error.has_code(STATE) => under_way.push((id.clone(), end.clone())),
                answer => check(&id, &end, answer.map(|result| result.output)),
            }
        } else {
            let (spec, id) = (&spec, &id);
            match caller.ask(|client| async move { client.create_job(spec).await }).await {
                Err(error) => assert!(error.has_code(STATE), "{error}"),
                Ok(created) => assert_eq!(created, *id),
            }
            if let Err(error) = caller.ask(|client| async move { client.start_job(context, id).await }).await {
                assert!(error.has_code(STATE), "an acknowledged job is gone: {error}");
            }
            under_way.push((id.clone(), end.clone()));
        }
        jobs.0.lock().unwrap().insert(id, end);
        if under_way.len() >= UNDER_WAY {
            wait_for_all(&mut caller, &mut under_way).await;
        }
    }
    wait_for_all(&mut caller, &mut under_way).await;
}

/// Waits for everything that is under way.
async fn wait_for_all(caller: &mut Caller, under_way: &mut Vec<(JobId, End)>) {
    for (id, end) in under_way.drain(..) {
        let of = &id;
        let answer = caller.ask(|client| async move { client.wait_job(ContextId::default(), of, PATIENCE).await }).await;
        check(&id, &end, answer.map(|result| result.output));
    }
}

/// Checks that an answer to a caller is correct, too.
fn check(id: &JobId, end: &End, answer: Result<String, Error>) {
    match (answer, end) {
        (Ok(output), End::Output(expected)) => assert_eq!(output, *expected, "{id}"),
        (Err(error), _) if error.has_code(code::JOB_FAILED) => {
            let failure = error.rpc().unwrap().job_failure().expect("a failure");
            let kind = failure.error.kind.as_str();
            assert!(kind == "crashed" || (kind == "script" && matches!(end, End::Thrown(_))), "{id}: {failure:?}");
        }
        (answer, end) => panic!("{id}: {answer:?}, not {end:?}"),
    }
}
