//! Operations of scripts outside of their engines: granted ones work, others fail.

mod files;
mod home;
mod net;
mod processes;
mod redis;
mod users;

use std::path::PathBuf;
use std::sync::Arc;

use hero::actor::PoolSettings;
use hero::dispatch::Error;
use hero::engine::{Capability, EngineSettings};
use hero::model::{ErrorKind, JobError, JobId, JobResult, JobSpec, Status};
use hero::process::Spawner;
use hero::sal::{Files, Hosts, Net, Processes, Resources};
use hero::store::GrantedRedis;
use serde_json::{Value, json};

use crate::support::{CONTEXT, House, PATIENCE, hero, pool_settings, spec, until};

/// The maximum size of the files of a context here.
const QUOTA: u64 = 512 << 20;
/// The maximum memory of a process here.
const MEMORY: u64 = 512 << 20;

/// A house whose pool is granted something.
pub struct Ground {
    pub house: House,
}

impl Ground {
    /// Files and processes.
    pub async fn open() -> Self {
        Self::with_quota(QUOTA).await
    }

    /// The same, with room for this number of bytes.
    pub async fn with_quota(quota: u64) -> Self {
        let house = House::empty().await;
        Self::with(house, quota, MEMORY).await
    }

    /// The same, with so much memory for each process.
    pub async fn with_memory(memory: u64) -> Self {
        Self::with(House::empty().await, QUOTA, memory).await
    }

    async fn with(house: House, quota: u64, memory: u64) -> Self {
        let files = Some(Files::new(house.redis.directory(), CONTEXT, quota));
        let processes = Some(Processes::new(hero(), Spawner::start().unwrap(), memory));
        Self::on(house, Resources { files, processes, ..Resources::default() }).await
    }

    /// The network to these hosts.
    pub async fn with_hosts(hosts: &[&str]) -> Self {
        let net = Net::new(Hosts::new(hosts.iter().copied()).unwrap()).unwrap();
        Self::on(House::empty().await, Resources { net: Some(net), ..Resources::default() }).await
    }

    /// A Redis.
    pub async fn with_redis(house: House, redis: GrantedRedis) -> Self {
        Self::on(house, Resources { redis: Some(Arc::new(redis)), ..Resources::default() }).await
    }

    /// This, in this house.
    pub async fn on(mut house: House, resources: Resources) -> Self {
        let settings = sal_settings(&house, resources);
        house.hire(settings).await;
        Self { house }
    }

    /// The directory of the context.
    pub fn directory(&self) -> PathBuf {
        directory(&self.house)
    }

    pub async fn run(&self, script: &str) -> Result<JobResult, Error> {
        self.house.dispatcher.jobs().run_and_wait(job(script), PATIENCE).await
    }

    /// Returns the result of a script.
    pub async fn gives(&self, script: &str) -> Value {
        let result = self.run(script).await.unwrap_or_else(|error| panic!("{script}: {error}"));
        result.value.map_or_else(|| json!(result.output), |value| value.to_value().unwrap())
    }

    /// The error of a script that fails.
    pub async fn error(&self, script: &str) -> JobError {
        match self.run(script).await {
            Err(Error::Failed { error, .. }) => *error,
            other => panic!("{script}: {other:?}"),
        }
    }

    /// Starts a script, waits until `begun`, and stops it. It has to obey by itself: that its engine is not killed means that it did so within 100 ms.
    /// A machine that does so much else that it takes longer is given some more chances.
    pub async fn stop(&self, script: &str, begun: impl AsyncFn(&JobId)) {
        for _ in 0..8 {
            if self.obeys(script, &begun).await {
                return;
            }
        }
        panic!("{script}: its engine was killed");
    }

    async fn obeys(&self, script: &str, begun: impl AsyncFn(&JobId)) -> bool {
        let id = self.house.start(job(&format!("print(\"begun\"); {script}"))).await;
        until(&format!("{script} runs"), || async { logged(self, &id).await.iter().any(|line| line == "begun").then_some(()) }).await;
        begun(&id).await;
        self.house.dispatcher.jobs().stop(CONTEXT, &id).await.unwrap();
        self.house.is(&id, Status::Error).await;
        let job = self.house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap();
        assert_eq!(job.error.unwrap().kind, ErrorKind::Stopped, "{script}");
        job.usage.unwrap().operations > 0
    }

    pub async fn close(self) {
        self.house.close().await;
    }
}

fn directory(house: &House) -> PathBuf {
    house.redis.directory().join("files").join(CONTEXT.to_string())
}

/// A pool of sal actors that may use this.
fn sal_settings(house: &House, resources: Resources) -> PoolSettings {
    let granted = [
        (Capability::Fs, resources.files.is_some()),
        (Capability::Process, resources.processes.is_some()),
        (Capability::Net, resources.net.is_some()),
        (Capability::Redis, resources.redis.is_some()),
    ];
    let granted = granted.into_iter().filter(|(_, granted)| *granted).map(|(capability, _)| capability);
    let capabilities = granted.chain([Capability::Jobs]).collect();
    PoolSettings {
        script_type: "sal".parse().unwrap(),
        resources,
        engine: EngineSettings { capabilities, ..EngineSettings::new(hero()) },
        ..pool_settings(house.redis.directory(), 1)
    }
}

fn job(script: &str) -> JobSpec {
    JobSpec { script_type: "sal".parse().unwrap(), ..spec(script) }
}

/// The lines that a job logged.
async fn logged(ground: &Ground, id: &JobId) -> Vec<String> {
    let lines = ground.house.dispatcher.logs().page(CONTEXT, id, None, 1000).await.unwrap();
    lines.lines.into_iter().map(|line| line.text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_is_not_granted_says_what_grants_it() {
    let ground = Ground::on(House::empty().await, Resources::default()).await;
    for (script, told) in [
        ("http_get(\"http://example.org\")", "http_get is for pools and contexts with the grant net"),
        ("file_read(\"a\")", "file_read is for pools and contexts with the grant fs"),
        ("run(\"ls\").execute()", "run is for pools and contexts with the grant process"),
        ("redis_get(\"a\")", "redis_get is for pools and contexts with the grant redis"),
        ("!!redis.get a", "redis_get is for pools and contexts with the grant redis"),
        ("!!file_read path:a", "file_read is for pools and contexts with the grant fs"),
        ("osis::get(\"a\", \"b\")", "this script has no osis::; it is for scripts of type osis"),
    ] {
        assert_eq!(ground.error(script).await.message, told, "{script}");
    }
    ground.close().await;
    // What is granted, but called otherwise, says how it is called.
    let ground = Ground::open().await;
    let error = ground.error("file_write(\"a\", 1)").await;
    assert!(error.message.ends_with("; there is file_write(path: string, content: string) -> string"), "{}", error.message);
    assert_eq!(ground.gives("!!file_write path:'a.txt' content:'from HeroScript'\n!!file_read 'a.txt'").await[1], "from HeroScript");
    ground.close().await;
}
