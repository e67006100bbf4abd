use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::engine::{Child, Died, EngineSettings};
use crate::model::JobError;
use crate::process::Spawner;

/// Has scripts compiled by an engine process of its own, one after another, so that no script is read by the process that serves, and no
/// check waits for scripts that run, or keeps them waiting.
#[derive(Debug)]
pub struct Checker {
    spawner: Spawner,
    settings: EngineSettings,
    engine: Arc<Mutex<Option<Child>>>,
    /// Ends the engine when it has had nothing to do for a while.
    rest: Mutex<Option<JoinHandle<()>>>,
}

/// So long a check may take, with the start of an engine and the checks before it.
const PATIENCE: Duration = Duration::from_secs(5);
/// An engine that has nothing to do for so long ends.
const REST: Duration = Duration::from_secs(60);

impl Checker {
    /// A checker for the scripts of a pool with these engines. It starts one when it has something to do.
    pub fn new(spawner: Spawner, settings: EngineSettings) -> Self {
        Self { spawner, settings, engine: Arc::default(), rest: Mutex::default() }
    }

    /// What is wrong with a script, if anything is known to be: nothing is known of a script that no engine could be asked about within 5 s.
    pub async fn check(&self, script: &str) -> Option<JobError> {
        let known = timeout(PATIENCE, self.compile(script)).await;
        self.rest().await;
        match known {
            Ok(Ok(error)) => error,
            Ok(Err(died)) => {
                tracing::warn!(%died, "a script could not be checked");
                None
            }
            Err(_) => {
                tracing::warn!("a script could not be checked within {} s", PATIENCE.as_secs());
                None
            }
        }
    }

    async fn compile(&self, script: &str) -> Result<Option<JobError>, Died> {
        let mut engine = self.engine.lock().await;
        // One that died, or was left in the middle of a check, goes.
        engine.take_if(|engine| !engine.is_alive());
        let engine = match &mut *engine {
            Some(engine) => engine,
            none => {
                let started = Child::start(&self.spawner, &self.settings).await;
                none.insert(started.map_err(|error| Died { how: error.to_string(), had_job: false })?)
            }
        };
        engine.check(script, PATIENCE).await
    }

    async fn rest(&self) {
        let engine = Arc::clone(&self.engine);
        let resting = tokio::spawn(async move {
            sleep(REST).await;
            drop(engine.lock().await.take());
        });
        if let Some(before) = self.rest.lock().await.replace(resting) {
            before.abort();
        }
    }
}
